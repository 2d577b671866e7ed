//! Each change of state is executed once per key, for a day, across other requests and restarts.

use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::client::{Answer, Dice, Service};
use crate::connections::until;

fn is_again(answer: &Answer) -> bool {
    answer.header("idempotency-replayed") == Some("true")
}

fn delete(service: &Service, path: &str, key: Option<&str>) -> Answer {
    let headers: Vec<_> = key.map(|key| ("Idempotency-Key", key)).into_iter().collect();
    service.send("DELETE", path, &headers, b"").unwrap()
}

fn spawn() -> Value {
    json!({ "commands": [ { "spawn": { "bodies": [ { "position": [0, 30], "shapes": [ { "circle": { "radius": 1 } } ] } ] } } ] })
}

#[test]
fn keys_are_known_after_thousands_of_others() {
    let folder = tempfile::tempdir().unwrap();
    let settings = [("CHECKPOINT_SECONDS", "0.01"), ("LIMITS_RATE", "1000000")];
    let mut service = Service::start(folder.path(), &settings);
    let world = service.make(&json!({ "scene": "large_pyramid:base=3" }));
    let commands = format!("{world}/commands");
    let first = service.post_once(&commands, &spawn(), "first").unwrap();
    assert_eq!((first.status, is_again(&first)), (200, false));
    let bodies = service.ask(&world)["bodies"].clone();
    let check = |service: &Service| {
        let again = service.post_once(&commands, &spawn(), "first").unwrap();
        assert_eq!((again.status, is_again(&again), &again.body), (200, true, &first.body), "{again:?}");
        assert_eq!(service.ask(&world)["bodies"], bodies);
        let other = service.post_once(&commands, &json!({ "commands": [ { "wake_all": {} } ] }), "first").unwrap();
        assert_eq!((other.status, &other.json()["path"]), (422, &json!("Idempotency-Key")));
    };
    for number in 0..1100 {
        let wake = json!({ "commands": [ { "wake_all": {} } ] });
        assert_eq!(service.post_once(&commands, &wake, &format!("small {number}")).unwrap().status, 200);
    }
    check(&service);
    // Answers of 30 KB each, until they leave memory, and then others do.
    let wake = json!({ "commands": vec![json!({ "wake_all": {} }); 10_000] });
    for number in 0..600 {
        assert_eq!(service.post_once(&commands, &wake, &format!("large {number}")).unwrap().status, 200);
        if number % 40 == 0 {
            // So that a checkpoint may be due; with 8 MiB it is in any case.
            service.tell(&format!("{world}/step"), &json!({ "steps": 200 }));
        }
    }
    let spilled = || {
        let files = std::fs::read_dir(folder.path().join("worlds").join(world.rsplit('/').next().unwrap())).unwrap();
        files.filter(|file| file.as_ref().unwrap().file_name().to_string_lossy().starts_with("keys-")).count()
    };
    until("answers left memory, twice", || {
        service.tell(&format!("{world}/step"), &json!({ "steps": 50 }));
        spilled() > 1
    });
    check(&service);
    service.kill();
    service = Service::start(folder.path(), &settings);
    check(&service);
    let large = service.post_once(&commands, &wake, "large 3").unwrap();
    assert_eq!((large.status, is_again(&large)), (200, true));
}

#[test]
fn thousands_of_answers_leave_memory() {
    let folder = tempfile::tempdir().unwrap();
    let settings = [("CHECKPOINT_SECONDS", "0.01"), ("LIMITS_RATE", "1000000")];
    let mut service = Service::start(folder.path(), &settings);
    let world = service.make(&json!({ "scene": "large_pyramid:base=3" }));
    let pause = format!("{world}/pause");
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let (service, pause) = (&service, &pause);
            scope.spawn(move || {
                for number in 0..640 {
                    let answer = service.post_once(pause, &json!({}), &format!("many {thread} {number}")).unwrap();
                    assert_eq!(answer.status, 200, "{answer:?}");
                }
            });
        }
    });
    let store = folder.path().join(world.trim_start_matches("/v1/"));
    let files = |begin: &str| {
        let files = std::fs::read_dir(&store).unwrap().map(|file| file.unwrap().path());
        let mut files: Vec<_> =
            files.filter(|file| file.file_name().unwrap().to_string_lossy().starts_with(begin)).collect();
        files.sort();
        files
    };
    // Until a checkpoint without some of the answers exists.
    let kept = || {
        let newest = std::fs::read(files("checkpoint-").last()?).ok()?;
        Some(newest.windows(7).filter(|bytes| bytes == b"\"many 0" || bytes == b"\"many 7").count())
    };
    until("some answers are not in it", || {
        service.tell(&format!("{world}/step"), &json!({ "steps": 50 }));
        !files("keys-").is_empty() && kept().is_some_and(|kept| kept <= 1024)
    });
    for _ in 0..2 {
        for key in ["many 0 0", "many 3 9", "many 7 639"] {
            let again = service.post_once(&pause, &json!({}), key).unwrap();
            assert_eq!((again.status, is_again(&again)), (200, true), "{key}: {again:?}");
        }
        service.kill();
        service = Service::start(folder.path(), &settings);
    }
}

#[test]
fn what_is_kept_put_back_and_forgotten_is_so_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut service = Service::start(folder.path(), &[]);
    let world = service.make(&json!({ "scene": "large_pyramid:base=3" }));
    let (keep, back) = (format!("{world}/checkpoint"), format!("{world}/restore"));
    let step = |service: &Service| service.tell(&format!("{world}/step"), &json!({ "steps": 5 }))["step"].clone();
    let now = |service: &Service| service.ask(&world)["step"].clone();
    step(&service);
    let spawned = service.post_once(&format!("{world}/commands"), &spawn(), "spawn").unwrap();
    // Without a name it is named by the step.
    let kept = service.post_once(&keep, &json!({}), "keep").unwrap();
    assert_eq!((kept.status, kept.json()), (200, json!({ "checkpoint": "step-5", "step": 5 })));
    step(&service);
    let again = service.post_once(&keep, &json!({}), "keep").unwrap();
    assert_eq!((again.status, is_again(&again), again.json()), (200, true, kept.json()));
    assert_eq!(service.ask(&format!("{world}/checkpoints"))["checkpoints"], json!(["step-5"]));

    let restore = json!({ "name": "step-5" });
    let restored = service.post_once(&back, &restore, "back").unwrap();
    assert_eq!((restored.status, is_again(&restored), restored.json()), (200, false, json!({ "step": 5 })));
    for _ in 0..2 {
        step(&service);
    }
    let hash = service.hash(&world);
    for round in 0..2 {
        let again = service.post_once(&back, &restore, "back").unwrap();
        assert_eq!((again.status, is_again(&again), again.json()), (200, true, restored.json()), "round {round}");
        assert_eq!((now(&service), service.hash(&world)), (json!(15), hash.clone()), "nothing was undone");
        // Changes from before the restore are known, too.
        let again = service.post_once(&format!("{world}/commands"), &spawn(), "spawn").unwrap();
        assert_eq!((is_again(&again), &again.body), (true, &spawned.body));
        let other = service.post_once(&back, &json!({ "name": "other" }), "back").unwrap();
        assert_eq!(other.status, 422);
        service.kill();
        service = Service::start(folder.path(), &[]);
    }

    let checkpoint = format!("{world}/checkpoints/step-5");
    assert_eq!(delete(&service, &checkpoint, Some("forget")).status, 204);
    let again = delete(&service, &checkpoint, Some("forget"));
    assert_eq!((again.status, is_again(&again)), (204, true), "{again:?}");
    assert_eq!(delete(&service, &checkpoint, None).status, 404);
    // A key that was used for another request.
    assert_eq!(delete(&service, &world, Some("forget")).status, 422);
}

#[test]
fn a_world_is_deleted_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut service = Service::start(folder.path(), &[]);
    let world = service.make(&json!({ "scene": "slope" }));
    let gone = delete(&service, &world, Some("away"));
    assert_eq!((gone.status, is_again(&gone)), (204, false));
    for _ in 0..2 {
        let again = delete(&service, &world, Some("away"));
        assert_eq!((again.status, is_again(&again)), (204, true), "{again:?}");
        assert_eq!(delete(&service, &world, Some("another")).status, 404);
        assert_eq!(delete(&service, &world, None).status, 404);
        service.kill();
        service = Service::start(folder.path(), &[]);
    }
    assert_eq!(service.ask("/v1/worlds")["worlds"], json!([]));
}

#[test]
fn no_key_is_forgotten_for_a_new_one() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[("LIMITS_KEYS", "3")]);
    let world = service.make(&json!({ "scene": "slope" }));
    let step = format!("{world}/step");
    let ask = |key: &str| service.post_once(&step, &json!({}), key).unwrap();
    for key in ["a", "b", "c"] {
        assert_eq!(ask(key).status, 200);
    }
    let full = ask("d");
    assert_eq!(full.status, 429, "{full:?}");
    assert!(full.json()["detail"].as_str().unwrap().contains("limits.keys"), "{full:?}");
    let seconds: u64 = full.header("retry-after").unwrap().parse().unwrap();
    assert!(seconds > 24 * 3600, "{seconds} s");
    assert!(is_again(&ask("a")));
    assert_eq!(service.tell(&step, &json!({}))["step"], 4);
    // The answer to a deletion is not stored in the world.
    assert_eq!(delete(&service, &world, Some("e")).status, 204);
    assert!(is_again(&delete(&service, &world, Some("e"))));
}

/// Steps, named checkpoints and restores, each retried after a kill: the world is where it would be without kills.
#[test]
fn killed_at_any_moment_each_is_done_once() {
    let folder = tempfile::tempdir().unwrap();
    let start = || Service::start(folder.path(), &[("CHECKPOINT_SECONDS", "0.01"), crate::crash::OUTSIDE]);
    let mut service = start();
    let world = service.make(&json!({ "scene": "large_pyramid:base=3" }));
    let mut dice = Dice::new(5);
    let (mut step, mut saved, mut asked) = (0_u64, 0_u64, 0);
    service.tell(&format!("{world}/checkpoint"), &json!({ "name": "a" }));
    for round in 0..crate::crash::count(8) {
        let pid = service.pid();
        let wait = Duration::from_millis(dice.below(60));
        let mut killer = Some(std::thread::spawn(move || {
            std::thread::sleep(wait);
            assert!(Command::new("kill").args(["-KILL", &pid.to_string()]).status().unwrap().success());
        }));
        while killer.is_some() {
            asked += 1;
            let name = json!({ "name": "a" });
            let (what, body) = match dice.below(4) {
                0 => ("checkpoint", name),
                1 => ("restore", name),
                _ => ("step", json!({ "steps": 1 + dice.below(9) })),
            };
            let (path, key) = (format!("{world}/{what}"), format!("request {asked}"));
            let answer = service.post_once(&path, &body, &key).unwrap_or_else(|_| {
                killer.take().expect("only the killer ends it").join().unwrap();
                service.kill();
                service = start();
                service.post_once(&path, &body, &key).unwrap()
            });
            match what {
                "checkpoint" => saved = step,
                "restore" => step = saved,
                _ => step += body["steps"].as_u64().unwrap(),
            }
            assert_eq!(
                (answer.status, &answer.json()["step"]),
                (200, &json!(step)),
                "round {round}, {what}: {answer:?}"
            );
        }
        assert_eq!(service.ask(&world)["step"], step, "round {round}");
    }
    eprintln!("{asked} requests; step {step}");
}
