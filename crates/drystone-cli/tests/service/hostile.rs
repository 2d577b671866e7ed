//! Hostile worlds (endless steps, countless contacts, scenes that end the process) get errors, and other owners
//! notice nothing.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::client::{Answer, Service, command};
use crate::connections::{figure, until};

/// Longer than an immediate action takes on a busy machine, and shorter than a hostile step.
const AT_ONCE: Duration = Duration::from_secs(6);

fn boxes(columns: usize, rows: usize, settings: &Value) -> Value {
    let mut bodies =
        vec![json!({ "type": "static", "shapes": [ { "box": { "half": [1000, 1] }, "offset": [0, -1] } ] })];
    for column in 0..columns {
        for row in 0..rows {
            let at = [1.01 * (column as f64 - 0.5 * columns as f64), 0.5 + row as f64];
            bodies.push(json!({ "position": at, "shapes": [ { "box": { "half": [0.5, 0.5] } } ] }));
        }
    }
    json!({ "version": 1, "settings": settings, "bodies": bodies })
}

/// Returns a scene whose step takes many seconds, within the limits.
pub fn slow() -> Value {
    boxes(1800, 40, &json!({ "substeps": 64, "iterations": 64 }))
}

const SLOW: [(&str, &str); 1] = [("LIMITS_STEP_WORK", "300000000")];

fn small() -> Value {
    boxes(3, 3, &json!({}))
}

/// Returns a scene of circles at one point: each touches each.
fn heap(count: usize) -> Value {
    let circle = json!({ "position": [0, 5], "shapes": [ { "circle": { "radius": 0.5 } } ] });
    json!({ "version": 1, "bodies": vec![circle; count] })
}

fn limit(answer: &Answer, names: &str) {
    let problem = answer.json();
    assert_eq!((answer.status, &problem["type"]), (422, &json!("urn:drystone:limit")), "{problem}");
    assert!(problem["detail"].as_str().unwrap().contains(names), "{problem}");
}

/// Sends a request without waiting for the response. The connection is open until it is dropped.
fn begin(service: &Service, path: &str, body: &Value, key: Option<&str>) -> TcpStream {
    let (text, key) = (body.to_string(), key.map(|key| format!("Idempotency-Key: {key}\r\n")).unwrap_or_default());
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n{key}Content-Length: {}\r\n\r\n",
        service.address,
        text.len()
    );
    let mut stream = TcpStream::connect(&service.address).unwrap();
    stream.write_all((head + &text).as_bytes()).unwrap();
    stream
}

/// Reads the response to the request of [`begin`].
fn answer_of(stream: &mut TcpStream) -> String {
    stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
    let (mut answer, mut part) = (String::new(), [0; 4096]);
    loop {
        let length = stream.read(&mut part).unwrap();
        assert!(length > 0, "cut off: {answer}");
        answer += &String::from_utf8_lossy(&part[..length]);
        let Some((head, body)) = answer.split_once("\r\n\r\n") else { continue };
        let head = head.to_ascii_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
        if length.is_some_and(|length: usize| body.len() >= length) {
            return answer;
        }
    }
}

fn wait_for(service: &Service, world: &str, state: &str) -> Duration {
    let start = Instant::now();
    while service.ask(world)["state"] != state {
        assert!(start.elapsed() < Duration::from_mins(1), "{state}: {}", service.ask(world));
        std::thread::sleep(Duration::from_millis(5));
    }
    start.elapsed()
}

/// Starts a long step and waits until it is in progress.
fn in_a_step(service: &Service, world: &str, key: Option<&str>) -> TcpStream {
    let stream = begin(service, &format!("{world}/step"), &json!({}), key);
    wait_for(service, world, "stepping");
    // The state says so before the step begins. Asked seldom: more often the same text of the metrics comes again.
    let start = Instant::now();
    while figure(service, "drystone_turn_longest_seconds") < 0.3 {
        assert!(start.elapsed() < Duration::from_mins(1), "{}", service.ask(world));
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!((&service.ask(world)["state"], &service.ask(world)["step"]), (&json!("stepping"), &json!(0)));
    stream
}

#[test]
fn a_step_is_given_up() {
    let folder = tempfile::tempdir().unwrap();
    let mut service = Service::start(folder.path(), &SLOW);
    let world = service.make(&slow());

    // At its deadline, each time: no step is ever completed, and each request is answered.
    for _ in 0..2 {
        let start = Instant::now();
        let answer = service.tell(&format!("{world}/step"), &json!({ "steps": 5, "timeout": 0.3 }));
        let took = start.elapsed();
        eprintln!("deadline of 0.3 s: {took:?}");
        assert_eq!((&answer["stopped"], &answer["steps"]), (&json!("the deadline has passed"), &json!(0)));
        assert!(took < AT_ONCE, "{took:?}");
        wait_for(&service, &world, "paused");
    }

    // When its client has disconnected.
    drop(in_a_step(&service, &world, None));
    let took = wait_for(&service, &world, "paused");
    eprintln!("client gone, open again: {took:?}");
    assert!(took < 2 * AT_ONCE, "{took:?}");

    // To pause the world.
    let stream = in_a_step(&service, &world, Some("paused"));
    let start = Instant::now();
    service.tell(&format!("{world}/pause"), &json!({}));
    eprintln!("paused, open again: {:?}", start.elapsed());
    assert!(start.elapsed() < 2 * AT_ONCE, "{:?}", start.elapsed());
    let again = service.post_once(&format!("{world}/step"), &json!({}), "paused").unwrap().json();
    assert_eq!((&again["stopped"], &again["steps"]), (&json!("the world was paused"), &json!(0)));
    drop(stream);

    // SIGTERM: the request does not end, and continues after the restart.
    let stream = in_a_step(&service, &world, Some("on"));
    let start = Instant::now();
    assert_eq!(service.stop(), Some(0));
    eprintln!("stopped: {:?}", start.elapsed());
    assert!(start.elapsed() < AT_ONCE + Duration::from_secs(4), "{:?}", start.elapsed());
    drop(stream);
    service = Service::start(folder.path(), &SLOW);
    wait_for(&service, &world, "stepping");

    // To delete the world, which does not wait until it is open.
    let start = Instant::now();
    assert_eq!(service.send("DELETE", &world, &[], b"").unwrap().status, 204);
    eprintln!("deleted: {:?}", start.elapsed());
    assert!(start.elapsed() < AT_ONCE, "{:?}", start.elapsed());
    assert_eq!(service.get(&world).unwrap().status, 404);
}

/// A long step on a device is submitted in batches and cancelled between two of them: at its deadline, when its
/// client has disconnected, to pause or to delete the world.
#[test]
fn a_step_on_a_device_is_given_up() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::on_device(folder.path(), &SLOW);
    let world = service.make(&slow());
    let answer = service.tell(&format!("{world}/step"), &json!({ "steps": 5, "timeout": 0.05 }));
    assert_eq!((&answer["stopped"], &answer["steps"]), (&json!("the deadline has passed"), &json!(0)));
    wait_for(&service, &world, "paused");
    drop(in_a_step(&service, &world, None));
    wait_for(&service, &world, "paused");
    let stream = in_a_step(&service, &world, Some("paused"));
    service.tell(&format!("{world}/pause"), &json!({}));
    let again = service.post_once(&format!("{world}/step"), &json!({}), "paused").unwrap().json();
    assert_eq!(
        (&again["stopped"], &again["steps"], &again["step"]),
        (&json!("the world was paused"), &json!(0), &json!(0))
    );
    drop(stream);
    let stream = in_a_step(&service, &world, None);
    assert_eq!(service.send("DELETE", &world, &[], b"").unwrap().status, 204);
    assert_eq!(service.get(&world).unwrap().status, 404);
    drop(stream);

    // Cancelled steps leave no trace: worlds continue, and one reaches the same state as its twin.
    let scene = boxes(40, 10, &json!({ "substeps": 32, "iterations": 16 }));
    let (world, twin) = (service.make(&scene), service.make(&scene));
    let (mut done, mut stopped) = (0, 0);
    while done < 3 {
        let limits = json!({ "steps": 3 - done, "timeout": 0.05 + 0.2 * f64::from(stopped) });
        let answer = service.tell(&format!("{world}/step"), &limits);
        done += answer["steps"].as_u64().unwrap();
        stopped += i32::from(!answer["stopped"].is_null());
    }
    service.tell(&format!("{twin}/step"), &json!({ "steps": 3 }));
    eprintln!("three steps, given up {stopped} times");
    assert_eq!(service.hash(&world), service.hash(&twin));
}

/// Negative control of the previous test, and the cost of a cancelled step: only time.
#[test]
fn a_step_that_was_given_up_is_done_again() {
    let folder = tempfile::tempdir().unwrap();
    // With checkpoints in between, so that only a part is repeated.
    let service = Service::start(folder.path(), &[("CHECKPOINT_SECONDS", "0.01")]);
    let scene = boxes(120, 10, &json!({ "substeps": 32, "iterations": 64, "events": true }));
    let (world, twin) = (service.make(&scene), service.make(&scene));
    let path = format!("{world}/step");
    let (mut done, mut stopped) = (0, 0);
    while done < 3 {
        let answer = service.tell(&path, &json!({ "steps": 3 - done, "timeout": 0.05 + 0.2 * f64::from(stopped) }));
        done += answer["steps"].as_u64().unwrap();
        stopped += i32::from(!answer["stopped"].is_null());
    }
    service.tell(&format!("{twin}/step"), &json!({ "steps": 3 }));
    eprintln!("three steps, given up {stopped} times");
    assert_eq!(service.hash(&world), service.hash(&twin));
    // Each event once, with its number.
    let events = service.ask(&format!("{world}/events"));
    assert!(!events["events"].as_array().unwrap().is_empty());
    assert_eq!(events, service.ask(&format!("{twin}/events")));
}

/// Endless queries, each longer than a time slice, from several clients.
#[test]
fn queries_starve_no_steps() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[("LIMITS_RATE", "1000000")]);
    let world = service.make(&json!({ "scene": "large_pyramid:base=40" }));
    let ray = json!({ "ray": { "from": [-100, 5], "to": [100, 6] } });
    let body = json!({ "queries": vec![ray; 5000] });
    let is_done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while !is_done.load(std::sync::atomic::Ordering::SeqCst) {
                    let answer = service.post(&format!("{world}/query"), &body).unwrap();
                    assert!(matches!(answer.status, 200 | 429 | 503), "{answer:?}");
                }
            });
        }
        std::thread::sleep(Duration::from_millis(500));
        let start = Instant::now();
        let step = service.post(&format!("{world}/step"), &json!({ "steps": 5, "timeout": 60 }));
        is_done.store(true, std::sync::atomic::Ordering::SeqCst);
        let step = step.unwrap();
        eprintln!("five steps beside queries: {:?}", start.elapsed());
        assert_eq!((step.status, &step.json()["steps"]), (200, &json!(5)), "{step:?}");
    });
}

#[test]
fn work_of_a_step_is_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[("LIMITS_STEP_WORK", "1000")]);
    let most = json!({ "substeps": 64, "iterations": 64 });
    limit(&service.post("/v1/worlds", &boxes(3, 3, &most)).unwrap(), "limits.step_work");
    let world = service.make(&small());
    let ball = json!({ "position": [0, 20], "shapes": [ { "circle": { "radius": 0.5 } } ] });
    let spawn = |count: usize| json!({ "commands": [ { "spawn": { "bodies": vec![ball.clone(); count] } } ] });
    limit(&service.post(&format!("{world}/commands"), &spawn(300)).unwrap(), "limits.step_work");
    service.tell(&format!("{world}/commands"), &spawn(30));
    // By default a million bodies may step with usual settings, but not with the highest ones.
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    limit(&service.post("/v1/worlds", &boxes(200, 100, &most)).unwrap(), "limits.step_work");
    let lively = boxes(200, 50, &json!({ "substeps": 4 }));
    assert_eq!(service.post("/v1/worlds", &lively).unwrap().status, 201);
}

#[test]
fn contacts_of_a_world_are_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let settings = [("LIMITS_CONTACTS", "5000")];
    let mut service = Service::start(folder.path(), &settings);
    let (world, other) = (service.make(&heap(200)), service.make(&small()));
    let step = format!("{world}/step");
    limit(&service.post_once(&step, &json!({ "steps": 3 }), "one").unwrap(), "limits.contacts");
    limit(&service.post_once(&step, &json!({ "steps": 3 }), "one").unwrap(), "limits.contacts");
    let status = service.ask(&world);
    assert_eq!((&status["state"], &status["step"]), (&json!("paused"), &json!(0)));
    assert!(status["problem"].as_str().unwrap().contains("limits.contacts"), "{status}");
    service.tell(&format!("{other}/step"), &json!({ "steps": 3 }));
    service.kill();
    service = Service::start(folder.path(), &settings);
    assert_eq!(service.ask(&other)["step"], 3);
    // With fewer contacts the world continues, and the problem disappears.
    let most: Vec<usize> = (0..150).collect();
    service.tell(&format!("{world}/commands"), &json!({ "commands": [ { "remove": { "bodies": most } } ] }));
    service.tell(&step, &json!({ "steps": 3 }));
    assert_eq!(service.ask(&world)["problem"], Value::Null);
}

/// Returns a service with limited address space.
fn confined(store: &Path, kib: u64, settings: &[(&str, &str)]) -> Command {
    let inner = command(store, settings);
    let mut command = Command::new("sh");
    command.args(["-c", &format!("ulimit -v {kib}; exec \"$0\" \"$@\"")]).arg(inner.get_program());
    command.args(inner.get_args()).args(["--backend", "cpu"]);
    command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command
}

/// A scene that ends a process by its memory is refused by default. If the limit admits it, the process ends twice,
/// and then the world is not stepped any more.
#[test]
fn a_world_that_ends_the_process_does_so_twice_at_most() {
    let folder = tempfile::tempdir().unwrap();
    let settings = [("LIMITS_CONTACTS", "200000000"), ("WORKERS", "3")];
    let start = || confined(folder.path(), 3 << 20, &settings);
    let mut service = Service::run(start());
    let (other, world) = (service.make(&small()), service.make(&heap(12_000)));
    service.tell(&format!("{other}/play"), &json!({ "speed": "max" }));
    let stream = begin(&service, &format!("{world}/step"), &json!({}), Some("deadly"));
    assert_eq!(service.wait(), None, "a signal ends it");
    drop(stream);
    // Again, because the log had acknowledged the step.
    let mut again = start().stdin(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    assert_eq!(again.wait().unwrap().code(), None, "a signal ends it");
    service = Service::run(start());
    let status = service.ask(&world);
    assert_eq!(status["state"], "failed", "{status}");
    let problem = status["problem"].as_str().unwrap();
    assert!(problem.contains("the process ended 2 times") && problem.contains("retry_failed"), "{problem}");
    limit(&service.post(&format!("{world}/step"), &json!({})).unwrap(), "the process ended 2 times");
    // Other worlds survive, in a time slice at that moment or not.
    assert_eq!(service.ask(&other)["state"], "playing");
    let before = service.ask(&other)["step"].as_u64().unwrap();
    while service.ask(&other)["step"].as_u64().unwrap() < before + 100 {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(service.send("DELETE", &world, &[], b"").unwrap().status, 204);
    drop(service);

    // With the default limit the process survives.
    let folder = tempfile::tempdir().unwrap();
    let start = || confined(folder.path(), 3 << 20, &[]);
    let mut service = Service::run(start());
    let (other, world) = (service.make(&small()), service.make(&heap(12_000)));
    limit(&service.post(&format!("{world}/step"), &json!({})).unwrap(), "limits.contacts");
    service.tell(&format!("{other}/step"), &json!({ "steps": 3 }));
    service.kill();
    service = Service::run(start());
    assert_eq!((&service.ask(&world)["state"], &service.ask(&other)["step"]), (&json!("paused"), &json!(3)));
}

/// More hostile worlds than workers, by one.
#[test]
fn hostile_worlds_do_not_stop_others() {
    let folder = tempfile::tempdir().unwrap();
    let settings = [&SLOW[..], &[("WORKERS", "2"), ("LIMITS_TURN_SECONDS", "1")]].concat();
    let service = Service::start(folder.path(), &settings);
    let world = service.make(&small());
    let step = format!("{world}/step");
    (0..10).for_each(|_| drop(service.tell(&step, &json!({ "steps": 10 }))));
    let hostile: Vec<_> = (0..3).map(|_| service.make(&slow())).collect();
    let _streams: Vec<_> = hostile
        .iter()
        .map(|world| begin(&service, &format!("{world}/step"), &json!({ "steps": 1000 }), None))
        .collect();
    std::thread::sleep(Duration::from_secs(2));
    let mut times: Vec<Duration> = (0..200)
        .map(|_| {
            let start = Instant::now();
            service.tell(&step, &json!({}));
            start.elapsed()
        })
        .collect();
    times.sort();
    eprintln!(
        "a step beside three hostile worlds: median {:?}, p99 {:?}, worst {:?}",
        times[100], times[197], times[199]
    );
    assert!(times[197] < Duration::from_secs(1), "{times:?}");
    // The readiness probe reports the overload to monitoring, within each time slice once it has taken a second.
    let mut ready = Value::Null;
    until("overloaded", || {
        let answer = service.get("/health/ready").unwrap();
        ready = answer.json();
        answer.status == 503
    });
    assert!(ready["detail"].as_str().unwrap().contains("limits.turn_seconds"), "{ready}");
    // A new world is opened, too, if it is small.
    let start = Instant::now();
    let new = service.make(&small());
    service.tell(&format!("{new}/step"), &json!({ "steps": 3 }));
    eprintln!("a new world: {:?}", start.elapsed());
    assert!(start.elapsed() < 2 * AT_ONCE, "{:?}", start.elapsed());
    for world in hostile {
        assert_eq!(service.send("DELETE", &world, &[], b"").unwrap().status, 204);
    }
    until("ready again", || service.get("/health/ready").unwrap().status == 200);
}

/// Three hostile worlds on two workers, one of which is for short time slices: ending a world, or a request, waits
/// for no step of the others. The order of events proves it: no step is completed during the test.
#[test]
fn what_ends_a_hostile_world_waits_for_no_step() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[&SLOW[..], &[("WORKERS", "2")]].concat());
    let given_up = || figure(&service, "drystone_steps_given_up_total");
    let no_step_was_done = |after: &str| assert_eq!(figure(&service, "drystone_steps_total"), 0.0, "{after}");
    let [late, first, second, third] = [0; 4].map(|_| service.make(&slow()));
    let step = |world: &str, body: &Value| begin(&service, &format!("{world}/step"), body, None);
    let mut stepping = in_a_step(&service, &late, None);
    // These wait for the worker. So does one with a deadline, which passes without a step.
    let _waiting = [&first, &second, &third].map(|world| step(world, &json!({})));
    let answer = service.tell(&format!("{third}/step"), &json!({ "timeout": 0.5 }));
    assert_eq!((&answer["stopped"], &answer["steps"]), (&json!("the deadline has passed"), &json!(0)), "{answer}");
    no_step_was_done("a deadline of a world that waits");
    service.tell(&format!("{second}/pause"), &json!({}));
    no_step_was_done("a pause of a world that waits");
    assert_eq!(given_up(), 0.0);

    // The world in the step is deleted. Immediately another one gets the worker.
    assert_eq!(service.send("DELETE", &late, &[], b"").unwrap().status, 204);
    no_step_was_done("DELETE of the world in the step");
    assert_eq!(given_up(), 1.0);
    let answer = answer_of(&mut stepping);
    assert!(answer.starts_with("HTTP/1.1 409") && answer.contains("being deleted"), "{answer}");
    for world in [&third, &second, &first] {
        assert_eq!(service.send("DELETE", world, &[], b"").unwrap().status, 204);
        no_step_was_done("DELETE of one of the others");
    }
    assert_eq!(service.ask("/v1/worlds")["worlds"], json!([]));
}

/// A step cancelled at its deadline is answered while another hostile world has the worker.
#[test]
fn a_deadline_waits_for_no_step_of_another() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[("LIMITS_STEP_WORK", "1000000000"), ("WORKERS", "2")]);
    // Each of its steps takes many times as long as the deadline, within which the other's request comes.
    let scene = boxes(900, 120, &json!({ "substeps": 64, "iterations": 64 }));
    let [late, other] = [0; 2].map(|_| service.make(&scene));
    let body = json!({ "timeout": 4 });
    let mut stepping = begin(&service, &format!("{late}/step"), &body, None);
    wait_for(&service, &late, "stepping");
    let _waiting = begin(&service, &format!("{other}/step"), &json!({}), None);
    let answer = answer_of(&mut stepping);
    assert!(answer.contains("the deadline has passed"), "{answer}");
    assert_eq!(figure(&service, "drystone_steps_total"), 0.0);
    assert_eq!(service.send("DELETE", &other, &[], b"").unwrap().status, 204);
    assert_eq!(figure(&service, "drystone_steps_total"), 0.0);
}

/// The limit on contacts that follows from the work of a step, for a world with many substeps.
#[test]
fn contacts_are_bounded_by_the_work_of_a_step() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[("LIMITS_STEP_WORK", "1000000")]);
    let with = |settings: Value| {
        let mut scene = heap(150);
        scene["settings"] = settings;
        service.make(&scene)
    };
    // About 11,000 contacts, four of which count as a body: within the limit for one substep, and not for 4,096.
    let (plain, deep) = (with(json!({ "substeps": 1 })), with(json!({ "substeps": 64, "iterations": 64 })));
    service.tell(&format!("{plain}/step"), &json!({}));
    let refused = service.post(&format!("{deep}/step"), &json!({})).unwrap();
    limit(&refused, "limits.step_work");
    wait_for(&service, &deep, "paused");
    assert_eq!(service.ask(&deep)["step"], 0);
}

#[test]
fn many_worlds_of_one_token_starve_no_other_token() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("serve.toml");
    let token = |name: &str| format!("[[tokens]]\nname = '{name}'\ntoken = 'the token of {name} here'\n");
    std::fs::write(&config, token("many") + &token("one")).unwrap();
    let mut command = command(&folder.path().join("store"), &[("WORKERS", "1"), ("LIMITS_RATE", "100000")]);
    command.args(["--backend", "cpu", "--config"]).arg(&config);
    let service = Service::listen(command);
    let send = |of: &str, method: &str, path: &str, body: &Value| {
        let bearer = format!("Bearer the token of {of} here");
        let headers = [("Authorization", bearer.as_str()), ("Content-Type", "application/json")];
        let body = if method == "GET" { String::new() } else { body.to_string() };
        let answer = service.send(method, path, &headers, body.as_bytes()).unwrap();
        assert!(answer.status < 300, "{path}: {answer:?}");
        answer.json()
    };
    while service.send("GET", "/health/ready", &[], b"").unwrap().status != 200 {
        std::thread::sleep(Duration::from_millis(10));
    }
    let make = |of: &str| format!("/v1/worlds/{}", send(of, "POST", "/v1/worlds", &small())["id"].as_str().unwrap());
    let (one, many): (_, Vec<_>) = (make("one"), (0..40).map(|_| make("many")).collect());
    // All worlds of a token by one request: one for each would take as long as the measurement on a slow machine.
    let steps = |of: &str| -> f64 {
        let list = send(of, "GET", "/v1/worlds?limit=100", &json!({}));
        list["worlds"].as_array().unwrap().iter().map(|world| world["step"].as_u64().unwrap() as f64).sum()
    };
    let rate = || {
        let (start, before) = (Instant::now(), steps("one"));
        std::thread::sleep(Duration::from_secs(2));
        (steps("one") - before) / start.elapsed().as_secs_f64()
    };
    send("one", "POST", &format!("{one}/play"), &json!({ "speed": "max" }));
    let alone = rate();
    for world in &many {
        send("many", "POST", &format!("{world}/play"), &json!({ "speed": "max" }));
    }
    let (before, start) = (steps("many"), steps("one"));
    let beside = rate();
    let (own, others) = (steps("one") - start, steps("many") - before);
    eprintln!("{:.0} % of the rate alone, {:.0} % of all steps", 100.0 * beside / alone, 100.0 * own / (own + others));
    // The fraction of all steps, because the undisturbed rate was measured at another time.
    assert!(own > 0.3 * (own + others), "{own} of {}: one of forty-one would be 2 %", own + others);
}
