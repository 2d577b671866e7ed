//! Worlds in a bucket have the guarantees of a folder, also with failing networks and other writers.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::client::{Answer, Service, command};
use crate::connections::{figure, until};
use crate::crash::{OUTSIDE, count, rounds, scene};
use crate::rewind::{WALK, goes_back_and_forth, is_killed_on_its_way, walks};
use crate::s3::{Fault, KEY, S3, SECRET};

fn start(s3: &S3, place: &str, more: &[(&str, &str)]) -> Service {
    Service::start(Path::new(place), &[&s3.settings()[..], more].concat())
}

/// Setting for tests that do not wait for patience to end: a busy machine may take more than the usual second for an
/// object.
const PATIENT: (&str, &str) = ("S3_PATIENCE_SECONDS", "20");

fn push(by: f64) -> Value {
    json!({ "commands": [ { "impulse": { "body": "c", "impulse": [by, 2.0 * by] } } ] })
}

/// Retries a request as a client should, until it succeeds.
fn insist(service: &Service, path: &str, body: &Value, key: &str) -> Answer {
    for _ in 0..600 {
        let answer = service.post_once(path, body, key).unwrap();
        if answer.status != 503 && answer.status != 409 {
            return answer;
        }
        assert!(answer.header("retry-after").is_some() || answer.status == 409, "{answer:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("it does not come back");
}

#[test]
fn killed_at_any_moment_with_a_bucket() {
    let s3 = S3::start();
    rounds(count(3), 17, |folder| {
        let place = format!("s3://worlds/{}", folder.file_name().unwrap().to_string_lossy().replace('.', "x"));
        start(&s3, &place, &[("CHECKPOINT_SECONDS", "0.01"), ("S3_TAKE_OVER", "true"), PATIENT])
    });
}

/// Guarantees also hold with a store that loses or fails every few answers.
#[test]
fn killed_while_the_bucket_stutters() {
    let s3 = S3::start();
    let mut asked = 0_u32;
    s3.rule(move |method, _| {
        asked += 1;
        match asked % 11 {
            3 => Fault::Status(503),
            5 if method == "PUT" => Fault::Lost,
            7 => Fault::Cut,
            9 if method == "PUT" => Fault::Slow(Duration::from_millis(60)),
            _ => Fault::No,
        }
    });
    rounds(count(2), 23, |folder| {
        let place = format!("s3://worlds/{}", folder.file_name().unwrap().to_string_lossy().replace('.', "x"));
        start(&s3, &place, &[("CHECKPOINT_SECONDS", "0.05"), PATIENT, ("S3_TAKE_OVER", "true")])
    });
}

#[test]
fn kept_listed_restored_and_deleted() {
    let s3 = S3::start();
    let mut service = start(&s3, "s3://worlds/some/where", &[("CHECKPOINT_SECONDS", "0.01")]);
    let (world, gone) = (service.make(&scene()), service.make(&scene()));
    service.tell(&format!("{world}/step"), &json!({ "steps": 20 }));
    service.tell(&format!("{world}/checkpoint"), &json!({ "name": "early" }));
    let early = service.hash(&world);
    for round in 0..5 {
        service.tell(&format!("{world}/commands"), &push(f64::from(round)));
        service.tell(&format!("{world}/step"), &json!({ "steps": 50 }));
    }
    let late = service.hash(&world);
    assert_ne!(early, late);
    assert_eq!(service.send("DELETE", &gone, &[], b"").unwrap().status, 204);
    let id = |path: &str| path.rsplit('/').next().unwrap().to_owned();
    assert!(s3.keys().iter().all(|key| !key.contains(&id(&gone))), "{:?}", s3.keys());
    assert!(s3.keys().iter().all(|key| key.starts_with("some/where/")));

    service.kill();
    service = start(&s3, "s3://worlds/some/where/", &[]);
    assert_eq!(service.hash(&world), late, "the same bits");
    assert_eq!(service.get(&gone).unwrap().status, 404);
    assert_eq!(service.ask(&format!("{world}/checkpoints"))["checkpoints"], json!(["early"]));
    service.tell(&format!("{world}/restore"), &json!({ "name": "early" }));
    assert_eq!(service.hash(&world), early);
    assert_eq!(service.stop(), Some(0));
    service = start(&s3, "s3://worlds/some/where", &[]);
    assert_eq!(service.hash(&world), early);
    let path = format!("{world}/checkpoints/early");
    assert_eq!(service.send("DELETE", &path, &[], b"").unwrap().status, 204);
    assert_eq!(service.send("DELETE", &path, &[], b"").unwrap().status, 404);
    assert_eq!(service.post(&format!("{world}/restore"), &json!({ "name": "early" })).unwrap().status, 404);
}

/// Keys of the configuration are not combined with a foreign session token of the environment.
#[test]
fn keys_are_used_with_their_own_session() {
    let s3 = S3::start();
    let started = |settings: &[(&str, &str)], foreign: &[(&str, &str)]| {
        let mut command = command(Path::new("s3://worlds/keys"), settings);
        command.args(["--backend", "cpu"]).envs(foreign.iter().copied());
        let service = Service::run(command);
        service.make(&scene());
        s3.tokens()
    };
    let own = s3.settings();
    let foreign = [("AWS_ACCESS_KEY_ID", "AKIAFOREIGN"), ("AWS_SESSION_TOKEN", "foreign")];
    assert_eq!(started(&own, &foreign), [""]);
    assert_eq!(started(&[&own[..], &[("S3_SESSION_TOKEN", "own")]].concat(), &foreign), ["own"]);
    // Negative control: with the keys of the environment, the token of the environment is used.
    let without: Vec<_> = own.iter().copied().filter(|(name, _)| !name.contains("KEY")).collect();
    let theirs = [("AWS_ACCESS_KEY_ID", KEY), ("AWS_SECRET_ACCESS_KEY", SECRET), ("AWS_SESSION_TOKEN", "foreign")];
    assert_eq!(started(&without, &theirs), ["foreign"]);
}

#[test]
fn what_is_no_longer_needed_goes() {
    let s3 = S3::start();
    let service = start(&s3, "s3://worlds", &[("CHECKPOINT_SECONDS", "0.01"), PATIENT]);
    let world = service.make(&json!({ "scene": "large_pyramid:base=10" }));
    for round in 0..200 {
        service.tell(
            &format!("{world}/commands"),
            &json!({ "commands": [ { "impulse": { "body": 3, "impulse": [0.1, round] } } ] }),
        );
        service.tell(&format!("{world}/step"), &json!({ "steps": 30 }));
    }
    let put = s3.puts();
    assert!(put > 400, "{put}: each change is an object");
    // Checkpoints are due by computing time: on a quick machine there are few.
    let mut done = 0;
    until("fewer than 200 are left", || {
        done = service.tell(&format!("{world}/step"), &json!({ "steps": 30 }))["step"].as_u64().unwrap();
        s3.keys().len() < 200
    });
    // The steps just done can still be undone.
    let answer = service.post(&format!("{world}/rewind"), &json!({ "steps": 1 })).unwrap();
    assert_eq!((answer.status, &service.ask(&world)["step"]), (200, &json!(done - 1)), "{answer:?}");
}

#[test]
fn what_cannot_be_written_has_not_happened() {
    let s3 = S3::start();
    let service = start(&s3, "s3://worlds", &[]);
    let (world, twin) = (service.make(&scene()), service.make(&scene()));
    let own = world.rsplit('/').next().unwrap().to_owned();
    for one in [&world, &twin] {
        service.tell(&format!("{one}/step"), &json!({ "steps": 30 }));
    }
    let path = format!("{world}/commands");

    // Refused with 507; read requests continue.
    s3.rule(|method, _| if method == "PUT" { Fault::Status(403) } else { Fault::No });
    let answer = service.post(&path, &push(9.0)).unwrap();
    assert_eq!((answer.status, answer.json()["type"].as_str()), (507, Some("urn:drystone:store")), "{answer:?}");
    assert!(answer.header("retry-after").is_some());
    assert_eq!(service.ask(&format!("{world}/state"))["step"], 30);
    s3.heal();
    assert_eq!(service.hash(&world), service.hash(&twin));

    // Unreachable for one world: it waits and reports that; the other one continues.
    for fault in [Fault::Status(503), Fault::Cut] {
        let mine = own.clone();
        s3.rule(move |_, key| if key.contains(&mine) { fault } else { Fault::No });
        let answer = service.post(&path, &push(9.0)).unwrap();
        assert_eq!(
            (answer.status, answer.json()["type"].as_str()),
            (503, Some("urn:drystone:store-away")),
            "{answer:?}"
        );
        assert!(answer.header("retry-after").is_some());
        assert_eq!(
            service.get(&format!("{world}/state")).unwrap().status,
            503,
            "rather than something that may change"
        );
        service.tell(&format!("{twin}/commands"), &push(0.0));
        s3.heal();
        insist(&service, &path, &push(0.0), &format!("nothing {fault:?}"));
        assert_eq!(service.hash(&world), service.hash(&twin), "{fault:?}");
    }

    // The control: an acknowledged change makes a difference.
    insist(&service, &path, &push(9.0), "something");
    for one in [&world, &twin] {
        service.tell(&format!("{one}/step"), &json!({ "steps": 1 }));
    }
    assert_ne!(service.hash(&world), service.hash(&twin));
}

/// Accepts a number of parts of the log from now on, and refuses all others.
fn let_through(s3: &S3, mut parts: u32) {
    s3.rule(move |method, key| match (method, key.contains("/log/")) {
        ("PUT", true) if parts == 0 => Fault::Status(403),
        ("PUT", true) => {
            parts -= 1;
            Fault::No
        }
        _ => Fault::No,
    });
}

/// Steps whose end cannot be logged for a while are not acknowledged before it is, not repeated, and the state is
/// not restored in between.
#[test]
fn steps_are_done_once_though_their_end_is_written_late() {
    let s3 = S3::start();
    let mut service = start(&s3, "s3://worlds", &[]);
    let world = service.make(&scene());
    let (path, body) = (format!("{world}/step"), json!({ "steps": 7 }));
    service.tell(&format!("{world}/checkpoint"), &json!({ "name": "early" }));
    let ask = |service: &Service| insist(service, &path, &body, "seven");
    let is_done = |service: &Service| service.ask(&world)["step"] == 7 && service.ask(&world)["steps_to_go"] == 0;
    // The record of the request is written, that of its end is not.
    let_through(&s3, 1);
    let first = std::thread::scope(|scope| {
        let asked = scope.spawn(|| ask(&service));
        until("done", || is_done(&service));
        let answer = service.post(&format!("{world}/restore"), &json!({ "name": "early" })).unwrap();
        let detail = answer.json()["detail"].as_str().unwrap_or_default().to_owned();
        assert!(answer.status == 503 && detail.contains("end of earlier requests"), "{answer:?}");
        assert!(!asked.is_finished(), "not acknowledged");
        s3.heal();
        asked.join().unwrap().json()
    });
    assert_eq!((&first["steps"], &first["step"], &first["stopped"]), (&json!(7), &json!(7), &Value::Null), "{first}");

    // The same if the service ends in between. The retry does not begin it again.
    let (path, body) = (format!("{world}/step"), json!({ "steps": 5 }));
    let ask = |service: &Service| insist(service, &path, &body, "five");
    let is_done = |service: &Service| service.ask(&world)["step"] == 12 && service.ask(&world)["steps_to_go"] == 0;
    let_through(&s3, 1);
    std::thread::scope(|scope| {
        let asked = scope.spawn(|| service.post_once(&path, &body, "five"));
        until("done", || is_done(&service));
        assert!(!asked.is_finished(), "not acknowledged");
        service.signal("KILL");
        assert!(asked.join().unwrap().is_err());
    });
    // The fence of the world is accepted, and nothing after it.
    let_through(&s3, 1);
    service = start(&s3, "s3://worlds", &[]);
    until("done again", || is_done(&service));
    let again = std::thread::scope(|scope| {
        let asked = scope.spawn(|| ask(&service));
        let before = service.ask("/v1/worlds");
        until("asked", || service.get(&format!("{world}/state")).is_ok_and(|answer| answer.status == 200));
        assert!(!asked.is_finished(), "{before}");
        s3.heal();
        asked.join().unwrap().json()
    });
    assert_eq!((&again["steps"], &again["step"]), (&json!(5), &json!(12)), "{again}");
    assert_eq!(service.ask(&world)["step"], 12);
}

/// A cancelled step whose end cannot be recorded by the store: clients get a 503 and the step is not
/// repeated; once the record is written the request has its answer.
#[test]
fn a_step_was_given_up_and_the_log_does_not_take_it() {
    let s3 = S3::start();
    let service = start(&s3, "s3://worlds", &[("LIMITS_STEP_WORK", "300000000"), PATIENT]);
    let world = service.make(&crate::hostile::slow());
    let (path, body) = (format!("{world}/step"), json!({ "timeout": 2 }));
    let_through(&s3, 1);
    let refused = service.post_once(&path, &body, "given up").unwrap();
    let told = refused.json()["detail"].as_str().unwrap_or_default().to_owned();
    assert!(refused.status == 503 && told.contains("cannot record the end of its request"), "{refused:?}");
    let given_up = || figure(&service, "drystone_steps_given_up_total");
    for _ in 0..3 {
        let other = service.post(&path, &json!({ "timeout": 0.5 })).unwrap();
        assert_eq!(other.status, 503, "{other:?}");
    }
    assert_eq!(given_up(), 1.0, "it is not begun again");
    s3.heal();
    let answer = insist(&service, &path, &body, "given up").json();
    assert_eq!((&answer["stopped"], &answer["steps"]), (&json!("the deadline has passed"), &json!(0)), "{answer}");
    assert_eq!(given_up(), 1.0);
}

/// Each world writes one named checkpoint at a time; those of other worlds continue.
#[test]
fn checkpoints_with_names_do_not_pile_up() {
    let s3 = S3::start();
    let service = start(&s3, "s3://worlds", &[PATIENT]);
    let (world, other) = (service.make(&scene()), service.make(&scene()));
    let own = world.rsplit('/').next().unwrap().to_owned();
    let save =
        |world: &str, name: &str| service.post(&format!("{world}/checkpoint"), &json!({ "name": name })).unwrap();
    let is_there = |name: &str| service.ask(&format!("{world}/checkpoints"))["checkpoints"] == json!([name]);
    let held = std::sync::Arc::new(std::sync::atomic::AtomicU32::new(0));
    let seen = held.clone();
    s3.rule(move |method, key| {
        if method == "PUT" && key.contains(&own) && key.contains("/saved-") {
            seen.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            return Fault::Held;
        }
        Fault::No
    });
    std::thread::scope(|scope| {
        let first = scope.spawn(|| save(&world, "first"));
        until("on its way", || held.load(std::sync::atomic::Ordering::SeqCst) > 0);
        for _ in 0..20 {
            let refused = save(&world, "second");
            assert_eq!((refused.status, refused.header("retry-after")), (429, Some("1")), "{refused:?}");
        }
        assert_eq!(save(&other, "other").status, 200);
        service.tell(&format!("{world}/step"), &json!({ "steps": 3 }));
        s3.heal();
        assert_eq!(first.join().unwrap().status, 200);
    });
    assert!(is_there("first"));
    until("free again", || save(&world, "first").status == 200);
}

/// An object was written and its response lost, also for the following read. The change has happened, once.
#[test]
fn an_answer_that_is_lost_is_settled() {
    let s3 = S3::start();
    let service = start(&s3, "s3://worlds", &[]);
    let (world, twin) = (service.make(&scene()), service.make(&scene()));
    let path = format!("{world}/commands");
    let mut puts = 0;
    s3.rule(move |method, key| {
        let is_log = method == "PUT" && key.contains("/log/");
        puts += u32::from(is_log);
        if is_log && puts == 1 { Fault::Lost } else { Fault::No }
    });
    assert_eq!(service.post_once(&path, &push(3.0), "first").unwrap().status, 200, "found to be there");

    s3.rule(|method, key| match method {
        "PUT" if key.contains("/log/") => Fault::Lost,
        "GET" => Fault::Cut,
        _ => Fault::No,
    });
    let answer = service.post_once(&path, &push(4.0), "second").unwrap();
    assert_eq!(answer.status, 503, "{answer:?}");
    s3.heal();
    let answer = insist(&service, &path, &push(4.0), "second");
    assert_eq!(answer.status, 200, "{answer:?}");
    for by in [3.0, 4.0] {
        service.tell(&format!("{twin}/commands"), &push(by));
    }
    for one in [&world, &twin] {
        service.tell(&format!("{one}/step"), &json!({ "steps": 5 }));
    }
    assert_eq!(service.hash(&world), service.hash(&twin));
}

/// The usual environment variable can set the address of a store without TLS.
#[test]
fn an_address_of_the_environment_is_as_good_as_one_of_ours() {
    let s3 = S3::start();
    let settings: Vec<_> = s3.settings().into_iter().filter(|(name, _)| *name != "S3_ENDPOINT").collect();
    let mut command = command(Path::new("s3://worlds/address"), &settings);
    command.args(["--backend", "cpu"]).env("AWS_ENDPOINT_URL", &s3.address);
    let service = Service::run(command);
    let world = service.make(&scene());
    service.tell(&format!("{world}/step"), &json!({ "steps": 2 }));
    assert!(s3.keys().iter().all(|key| key.starts_with("address/")) && s3.puts() > 1, "{:?}", s3.keys());
}

#[test]
fn whoever_comes_last_has_the_worlds() {
    let s3 = S3::start();
    // With long heartbeats, so that it notices only when it writes.
    let mut first = start(&s3, "s3://worlds", &[("S3_PATIENCE_SECONDS", "100")]);
    let (world, twin) = (first.make(&scene()), first.make(&scene()));
    for one in [&world, &twin] {
        first.tell(&format!("{one}/commands"), &push(2.0));
        first.tell(&format!("{one}/step"), &json!({ "steps": 10 }));
    }
    let own = [("S3_TAKE_OVER", "true"), ("S3_PATIENCE_SECONDS", "100")];
    let second = start(&s3, "s3://worlds", &own);
    assert_eq!(second.hash(&world), first.hash(&world));
    let answer = first.post(&format!("{world}/commands"), &push(1.0)).unwrap();
    assert_eq!(answer.status, 507, "{answer:?}");
    let detail = answer.json()["detail"].as_str().unwrap().to_owned();
    assert!(detail.contains(&format!("process {}", second.pid())), "{detail}");
    // Answers of the first service may now be stale: it stops, and logs the reason.
    assert_eq!(first.wait(), Some(1));
    assert!(first.get("/health/live").is_err());
    // The new owner continues as if the other had not asked.
    for one in [&world, &twin] {
        second.tell(&format!("{one}/step"), &json!({ "steps": 10 }));
    }
    assert_eq!(second.hash(&world), second.hash(&twin));
    drop(first);
    let third = start(&s3, "s3://worlds", &own);
    assert_eq!(third.hash(&world), second.hash(&twin));
}

/// A second service started by mistake on the same place leaves the first one alone and explains the remedy.
#[test]
fn a_second_service_does_not_start() {
    let s3 = S3::start();
    let settings = [&s3.settings()[..], &[("S3_PATIENCE_SECONDS", "10")]].concat();
    let mut first = start(&s3, "s3://worlds/one", &settings);
    let world = first.make(&scene());
    let output = command(Path::new("s3://worlds/one"), &settings).args(["--backend", "cpu"]).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    for part in [&format!("process {}", first.pid()), "another service uses it", "s3.take_over = true"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    first.tell(&format!("{world}/step"), &json!({ "steps": 3 }));
    // Another prefix is free.
    drop(start(&s3, "s3://worlds/other", &[]));
    // After an orderly stop the next service does not wait; after a kill it does, for a while.
    assert!(s3.keys().contains(&"one/owner".to_owned()), "{:?}", s3.keys());
    assert_eq!(first.stop(), Some(0));
    assert!(!s3.keys().contains(&"one/owner".to_owned()), "{:?}", s3.keys());
    let mut second = start(&s3, "s3://worlds/one", &[]);
    assert_eq!(second.ask(&world)["step"], 3);
    second.kill();
    let third = start(&s3, "s3://worlds/one", &[]);
    assert_eq!(third.ask(&world)["step"], 3);
    assert!(third.log().contains("checking whether it is alive"), "{}", third.log());
}

/// A service whose worlds are taken over stops even without requests, so that no client reads stale answers from it.
#[test]
fn a_service_that_is_not_asked_notices_who_came() {
    let s3 = S3::start();
    let mut first = start(&s3, "s3://worlds", &[]);
    first.make(&scene());
    let second = start(&s3, "s3://worlds", &[("S3_TAKE_OVER", "true")]);
    assert_eq!(first.wait(), Some(1));
    until("said", || first.log().contains(&format!("process {}", second.pid())));
    assert!(s3.keys().contains(&"owner".to_owned()), "the mark of the second stays: {:?}", s3.keys());
}

#[test]
fn damage_in_a_bucket_is_told() {
    let s3 = S3::start();
    let settings = [("CHECKPOINT_SECONDS", "0.01")];
    let mut service = start(&s3, "s3://worlds", &settings);
    let world = service.make(&json!({ "scene": "large_pyramid:base=10" }));
    for round in 0..6 {
        service.tell(&format!("{world}/step"), &json!({ "steps": 200 }));
        service.tell(
            &format!("{world}/commands"),
            &json!({ "commands": [ { "impulse": { "body": 3, "impulse": [1, round] } } ] }),
        );
    }
    let checkpoints = || -> Vec<String> { s3.keys().into_iter().filter(|key| key.contains("/checkpoint-")).collect() };
    // They are due by computing time.
    until("two checkpoints are there", || {
        service.tell(&format!("{world}/step"), &json!({ "steps": 200 }));
        checkpoints().len() >= 2
    });
    let hash = service.hash(&world);
    service.kill();
    s3.spoil(checkpoints().last().unwrap());
    service = start(&s3, "s3://worlds", &[]);
    assert_eq!(service.hash(&world), hash, "from the one before, and two logs");
    service.kill();
    for key in checkpoints() {
        s3.spoil(&key);
    }
    // This made the newest one intact again.
    s3.spoil(checkpoints().last().unwrap());
    for key in s3.keys().iter().filter(|key| key.contains("/log/")) {
        s3.spoil(key);
    }
    service = start(&s3, "s3://worlds", &[]);
    assert_eq!(service.ask(&world)["state"], "failed");
    let answer = service.get(&format!("{world}/state")).unwrap();
    assert_eq!((answer.status, answer.json()["type"].as_str()), (500, Some("urn:drystone:damaged")), "{answer:?}");
    assert_eq!(service.send("DELETE", &world, &[], b"").unwrap().status, 204);
}

/// Returns the error message of a service that does not start.
fn refusal(s3: &S3, secret: &str) -> String {
    let mut settings = s3.settings();
    settings.retain(|(name, _)| *name != "S3_SECRET_ACCESS_KEY");
    settings.push(("S3_SECRET_ACCESS_KEY", secret));
    let mut command = command(Path::new("s3://worlds/x"), &settings);
    let output = command.args(["--backend", "cpu"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn a_bucket_that_cannot_be_used_is_refused() {
    let s3 = S3::start();
    s3.rule(|_, _| Fault::Blind);
    let said = refusal(&s3, SECRET);
    assert!(said.contains("If-None-Match"), "{said}");
    s3.rule(|_, _| Fault::Status(403));
    let said = refusal(&s3, SECRET);
    assert!(said.contains("SignatureDoesNotMatch: So it is.") && said.contains("s3://worlds/x"), "{said}");
    assert!(!said.contains(SECRET) && !said.contains(KEY) && !said.contains("StringToSign"), "{said}");
    s3.rule(|_, _| Fault::Cut);
    let said = refusal(&s3, SECRET);
    assert!(said.contains("s3://worlds/x"), "{said}");
}

/// After a kill the mark of the dead service still exists.
const AFTER_KILLS: (&str, &str) = ("S3_TAKE_OVER", "true");

#[test]
fn a_world_in_a_bucket_goes_back() {
    let s3 = S3::start();
    goes_back_and_forth(&|| start(&s3, "s3://worlds/back", &[AFTER_KILLS, PATIENT]));
    let settings = [&WALK[..], &[AFTER_KILLS, PATIENT]].concat();
    let [went, refused, redone] = walks(50, &|| start(&s3, "s3://worlds/walk", &settings));
    assert!(went > 4 && redone > 2, "{went} went back, {refused} could not, {redone} were done again");
    // Obsolete checkpoints are removed, however long the walk was.
    let is_checkpoint = |key: &&String| key.starts_with("walk/") && key.contains("/checkpoint-");
    until("four checkpoints are left", || s3.keys().iter().filter(is_checkpoint).count() <= 4);
}

#[test]
fn killed_while_a_world_in_a_bucket_goes_back() {
    let s3 = S3::start();
    is_killed_on_its_way(&[3, 30, 120, 400], &|| start(&s3, "s3://worlds/killed", &[OUTSIDE, AFTER_KILLS, PATIENT]));
}

/// A checkpoint of a rewound world does not count before its log exists: a service killed in between leaves the
/// world as it was.
#[test]
fn a_world_has_gone_back_with_its_log() {
    let s3 = &S3::start();
    let place = "s3://worlds/between";
    let mut service = start(s3, place, &[]);
    let world = &service.make(&scene());
    let mut hashes = vec![service.hash(world)];
    for _ in 0..12 {
        service.tell(&format!("{world}/step"), &json!({}));
        hashes.push(service.hash(world));
    }
    let count = |what: &str| s3.keys().iter().filter(|key| key.contains(what)).count();
    // The world is claimed by a part of its log; the next part begins the new log.
    let (before, mut written) = (count("/log/"), 0);
    s3.rule(move |method, key| {
        let is_log = method == "PUT" && key.contains("/log/");
        written += u32::from(is_log && written < 2);
        if is_log && written > 1 { Fault::Cut } else { Fault::No }
    });
    std::thread::scope(|scope| {
        let (address, path) = (service.address.clone(), format!("{world}/rewind"));
        let asked = scope.spawn(move || {
            let body = json!({ "steps": 5 }).to_string();
            let mut stream = std::net::TcpStream::connect(&address).unwrap();
            let head = format!(
                "POST {path} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
                body.len()
            );
            std::io::Write::write_all(&mut stream, (head + &body).as_bytes()).unwrap();
            let mut answer = Vec::new();
            let _ = std::io::Read::read_to_end(&mut stream, &mut answer);
            String::from_utf8_lossy(&answer).into_owned()
        });
        until("written without its log", || count("/checkpoint-") == 1);
        service.kill();
        let answer = asked.join().unwrap();
        assert!(!answer.starts_with("HTTP/1.1 200"), "acknowledged, and not done: {answer}");
    });
    assert_eq!(count("/log/"), before + 1, "the new log was held back");
    s3.heal();
    service = start(s3, place, &[AFTER_KILLS]);
    let now = |service: &Service| (service.ask(world)["step"].as_u64().unwrap(), service.hash(world));
    assert_eq!(now(&service), (12, hashes[12].clone()));
    // The control: with its log the rewind has happened, and stays.
    assert_eq!(service.tell(&format!("{world}/rewind"), &json!({ "steps": 5 })), json!({ "step": 7 }));
    service.kill();
    service = start(s3, place, &[AFTER_KILLS]);
    assert_eq!(now(&service), (7, hashes[7].clone()));
}

/// A request for steps gets its deadline's answer while the world is being deleted, even if the store does not
/// finish a checkpoint.
#[test]
fn deadlines_do_not_wait_for_a_checkpoint_of_a_world_that_is_deleted() {
    let s3 = S3::start();
    let service = &start(&s3, "s3://worlds/deleted", &[("CHECKPOINT_SECONDS", "0.01"), PATIENT]);
    let world = &service.make(&scene());
    s3.rule(|_, key| if key.contains("/checkpoint-") { Fault::Held } else { Fault::No });
    std::thread::scope(|scope| {
        let body = json!({ "steps": 1_000_000, "timeout": 6.0 });
        let steps = scope.spawn(move || service.post(&format!("{world}/step"), &body).unwrap());
        until("stepping", || service.ask(world)["step"].as_u64() > Some(100));
        let deleted = scope.spawn(|| service.send("DELETE", world, &[], b"").unwrap().status);
        let answer = steps.join().unwrap();
        assert_eq!(answer.status, 409, "{answer:?}");
        assert!(answer.json()["detail"].as_str().unwrap().contains("being deleted"), "{answer:?}");
        // The control: the store still holds the checkpoint, so the world exists.
        assert!(!deleted.is_finished());
        s3.heal();
        assert_eq!(deleted.join().unwrap(), 204);
    });
    assert_eq!(service.get(world).unwrap().status, 404);
}

/// A world with an expired request for steps whose end cannot be logged answers other requests, even while other
/// worlds occupy all workers but the one for short time slices, which does not run long answers.
#[test]
fn reads_are_answered_while_the_store_refuses_the_end_of_steps() {
    let s3 = S3::start();
    let service = &start(&s3, "s3://worlds/refused", &[("WORKERS", "2"), ("CHECKPOINT_SECONDS", "1000"), PATIENT]);
    let busy = service.make(&json!({ "scene": "large_pyramid:base=20" }));
    // Large enough that writing its state takes long on any machine, while its steps are short.
    let wide = |count: u32| {
        let shapes = json!([ { "circle": { "radius": 0.1 } } ]);
        let bodies: Vec<Value> = (0..count)
            .map(|at| json!({ "type": "static", "position": [at, 0], "shapes": shapes }))
            .chain([json!({ "position": [0, 5], "shapes": shapes })])
            .collect();
        service.make(&json!({ "scene": { "version": 1, "bodies": bodies } }))
    };
    let world = &[500, 1000, 2000, 4000, 8000]
        .map(|count| (count, wide(count)))
        .into_iter()
        .find(|(count, world)| {
            service.tell(&format!("{world}/step"), &json!({ "steps": 3 }));
            let begun = std::time::Instant::now();
            service.ask(&format!("{world}/state"));
            begun.elapsed() > Duration::from_millis(60) || *count == 8000
        })
        .unwrap()
        .1;
    service.tell(&format!("{busy}/play"), &json!({}));
    let body = json!({ "steps": 1_000_000, "timeout": 3.0 });
    std::thread::scope(|scope| {
        let steps = scope.spawn(move || service.post(&format!("{world}/step"), &body).unwrap());
        until("stepping", || service.ask(world)["step"].as_u64() > Some(3));
        s3.rule(|method, key| if method == "PUT" && key.contains("/log/") { Fault::Status(403) } else { Fault::No });
        // The deadline has passed once the world no longer steps; before it, the world may only wait.
        let (begun, mut last) = (std::time::Instant::now(), 0);
        until("over", || {
            std::thread::sleep(Duration::from_secs(1));
            let now = service.ask(world)["step"].as_u64().unwrap();
            std::mem::replace(&mut last, now) == now && begun.elapsed() > Duration::from_secs(4)
        });
        for _ in 0..8 {
            let answer = service.get(&format!("{world}/state")).unwrap();
            // A cancelled step leaves no state to read until the log has its end.
            assert!(answer.status == 503 || answer.json()["step"] == last, "{answer:?}");
        }
        assert!(!steps.is_finished() || steps.join().is_ok_and(|answer| answer.status == 503));
        s3.heal();
        until("open", || service.get(&format!("{world}/state")).unwrap().status == 200);
    });
}
