//! The cost of a request is limited before it arises: memory for parsing, answers, computing time.

use std::io::Write;
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::client::{Answer, Service};

const JSON: &[(&str, &str)] = &[("Content-Type", "application/json")];

fn service(settings: &[(&str, &str)]) -> (tempfile::TempDir, Service) {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), settings);
    (folder, service)
}

fn refused(answer: &Answer, status: u16, path: &str, says: &str) {
    let problem = answer.json();
    assert_eq!((answer.status, problem["path"].as_str().unwrap_or_default()), (status, path), "{problem}");
    assert!(problem["detail"].as_str().unwrap().contains(says), "{problem}");
}

/// Returns the largest memory that the service ever had, bytes.
fn peak(service: &Service) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", service.pid())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches("kB").trim().parse::<u64>().unwrap() << 10
}

#[cfg(target_os = "linux")]
#[test]
fn a_refused_body_costs_little_more_than_its_size() {
    const BYTES: usize = 4 << 20;
    let fill = |before: &str, part: &str, after: &str| {
        let count = (BYTES - before.len() - after.len()) / part.len();
        let whole = format!("{before}{}", part.repeat(count));
        format!("{}{after}", whole.trim_end_matches(','))
    };
    let bodies = [
        ("commands", fill(r#"{"commands":[{"spawn":{"bodies":["#, r#"{"":0},"#, "]}}]}")),
        ("commands", fill(r#"{"commands":[{"spawn":{"bodies":[],"joints":["#, "{},", "]}}]}")),
        ("commands", fill(r#"{"commands":[{"join":{"b":0,"joint":{"#, r#""":0,"#, "}}}]}")),
        ("commands", fill(r#"{"commands":[{"remove":{"bodies":["#, "1,", "]}}]}")),
        ("commands", fill(r#"{"commands":["#, r#"{"wake_all":{}},"#, "]}")),
        ("commands", fill(r#"{"commands":[{"spawn":{"bodies":"#, "[", "")),
        ("query", fill(r#"{"queries":["#, r#"{"point":{"at":[0,0]}},"#, "]}")),
        ("query", fill(r#"{"queries":[{"overlap":{"position":[0,0],"shape":["#, r#"{"":0},"#, "]}}]}")),
        ("step", fill("{\"x\":[", "{},", "]}")),
    ];
    for (what, body) in bodies {
        let (_folder, service) = service(&[]);
        let path = format!("{}/{what}", service.make(&json!({ "scene": "slope" })));
        let small = service.send("POST", &path, JSON, b"{\"x\":0}").unwrap();
        assert_eq!(small.status, 422);
        let before = peak(&service);
        let answer = service.send("POST", &path, JSON, body.as_bytes()).unwrap();
        let grown = peak(&service) - before;
        eprintln!("{what} {}: {} -> {:.1} MiB", &body[..40], answer.status, grown as f64 / f64::from(1 << 20));
        assert!(matches!(answer.status, 400 | 422), "{answer:?}");
        assert!(answer.body.len() < 2000, "the body is not told back: {}", answer.body.len());
        assert!(grown <= (4 * BYTES + (16 << 20)) as u64, "{what} {}: {grown} bytes", &body[..40]);
    }
}

#[test]
fn what_is_no_json_is_told_with_line_and_column() {
    let (_folder, service) = service(&[]);
    let step = format!("{}/step", service.make(&json!({ "scene": "slope" })));
    for (path, body, says) in [
        ("/v1/worlds", r#"{"scene":"#, "invalid JSON: end of input at line 1, column 9"),
        ("/v1/worlds", "{\"scene\":\n \"slope\" x}", "at line 2, column 10"),
        (&step, r#"{"steps":"#, "invalid JSON: end of input at line 1, column 9"),
        (&step, r#"{"steps":1}}"#, "invalid JSON: trailing characters at line 1, column 12"),
    ] {
        let answer = service.send("POST", path, JSON, body.as_bytes()).unwrap();
        let problem = answer.json();
        assert_eq!((answer.status, &problem["type"]), (400, &json!("urn:drystone:malformed")), "{body}: {problem}");
        assert!(problem["detail"].as_str().unwrap().contains(says), "{body}: {problem}");
        assert!(problem["line"].is_u64() && problem["column"].is_u64(), "{problem}");
    }
    // Text that is only passed on must not be nested deeper than other text.
    let world = step.trim_end_matches("/step");
    let deep = format!(r#"{{"commands":[{{"spawn":{{"bodies":[{}{}]}}}}]}}"#, "[".repeat(5000), "]".repeat(5000));
    let answer = service.send("POST", &format!("{world}/commands"), JSON, deep.as_bytes()).unwrap();
    refused(&answer, 400, "", "nested deeper than");
}

/// Returns a scene of `count` fixed circles at one point.
fn heap(count: usize) -> Value {
    let circle = json!({ "type": "static", "shapes": [ { "circle": { "radius": 1 } } ] });
    json!({ "version": 1, "bodies": vec![circle; count] })
}

#[test]
fn shapes_that_queries_find() {
    let (_folder, service) = service(&[("LIMITS_FOUND", "250")]);
    let query = format!("{}/query", service.make(&heap(100)));
    let ask = |count: usize| {
        let all = json!({ "aabb": { "min": [-1, -1], "max": [1, 1] } });
        service.post(&query, &json!({ "queries": vec![all; count] })).unwrap()
    };
    refused(&ask(3), 422, "queries[2]", "limits.found");
    let answers = ask(2).json();
    let found: Vec<_> =
        answers["answers"].as_array().unwrap().iter().map(|answer| answer["found"].as_array()).collect();
    assert!(found.len() == 2 && found.iter().all(|found| found.unwrap().len() == 100), "{answers}");
    let mixed = json!({ "queries": [ { "ray": { "from": [-9, 0], "to": [9, 0] } }, { "point": { "at": [50, 0] } } ] });
    let answers = service.tell(&query, &mixed);
    assert_eq!((&answers["answers"][0]["hit"]["shape"], &answers["answers"][1]["found"]), (&json!(0), &json!([])));
    assert_eq!(service.tell(&query, &json!({ "queries": [] }))["answers"], json!([]));
}

/// Returns a scene of `count` fixed circles, apart from each other.
fn field(count: usize) -> Value {
    let circle = |index: usize| {
        let position = [3 * (index % 250), 3 * (index / 250)];
        json!({ "type": "static", "position": position, "shapes": [ { "circle": { "radius": 1 } } ] })
    };
    json!({ "version": 1, "bodies": (0..count).map(circle).collect::<Vec<_>>() })
}

/// Returns queries that test every shape and find none.
fn in_vain(count: usize) -> Value {
    let all = json!({ "aabb": { "min": [-1000, -1000], "max": [1000, 1000], "filter": { "mask": 0 } } });
    json!({ "queries": vec![all; count] })
}

#[test]
fn queries_do_not_hold_a_worker() {
    let (_folder, service) = service(&[("WORKERS", "1"), ("LIMITS_QUERY_SECONDS", "1000")]);
    let world = service.make(&field(50_000));
    service.tell(&format!("{world}/step"), &json!({}));
    let other = service.make(&json!({ "scene": "slope" }));
    let query = format!("{world}/query");
    let begun = Instant::now();
    let answer = std::thread::scope(|scope| {
        let asked = scope.spawn(|| service.tell(&query, &in_vain(10_000)));
        // Steps of another world in between.
        let mut steps = 0;
        while !asked.is_finished() {
            service.tell(&format!("{other}/step"), &json!({}));
            steps += 1;
        }
        assert!(steps > 5, "{steps} steps in {:?}", begun.elapsed());
        asked.join().unwrap()
    });
    let whole = begun.elapsed();
    assert_eq!(answer["answers"].as_array().unwrap().len(), 10_000);
    // A disconnected client is noticed.
    let body = in_vain(10_000).to_string();
    let mut stream = TcpStream::connect(&service.address).unwrap();
    let head = format!(
        "POST {query} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        service.address,
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    std::thread::sleep(Duration::from_millis(100));
    drop(stream);
    let begun = Instant::now();
    service.tell(&format!("{world}/step"), &json!({}));
    let after = begun.elapsed();
    eprintln!("10,000 queries: {whole:?}; after a client has gone: {after:?}");
    assert!(after < whole / 2 + Duration::from_millis(500), "{after:?} of {whole:?}");
}

#[test]
fn time_that_queries_take() {
    let (_folder, service) = service(&[("LIMITS_QUERY_SECONDS", "0.01")]);
    let query = format!("{}/query", service.make(&field(20_000)));
    let answer = service.post(&query, &in_vain(10_000)).unwrap();
    let problem = answer.json();
    assert_eq!(answer.status, 422, "{problem}");
    assert!(problem["detail"].as_str().unwrap().contains("limits.query_seconds"), "{problem}");
    assert!(problem["path"].as_str().unwrap().starts_with("queries["), "{problem}");
}

#[test]
fn shapes_of_a_world() {
    let (_folder, service) = service(&[("LIMITS_SHAPES", "5")]);
    refused(&service.post("/v1/worlds", &heap(6)).unwrap(), 422, "bodies", "limits.shapes");
    let commands = format!("{}/commands", service.make(&heap(3)));
    let circle = json!({ "circle": { "radius": 1 } });
    let spawn = |shapes: usize| {
        let bodies = json!([ { "position": [9, 9], "shapes": vec![circle.clone(); shapes] } ]);
        service.post(&commands, &json!({ "commands": [ { "spawn": { "bodies": bodies } } ] })).unwrap()
    };
    refused(&spawn(3), 422, "commands", "6 shapes; at most 5 (limits.shapes)");
    assert_eq!(spawn(2).status, 200);
    refused(&spawn(1), 422, "commands", "limits.shapes");
}

#[test]
fn bytes_of_a_journal() {
    let settings = [("LIMITS_JOURNAL_BYTES", "3000")];
    let (folder, mut service) = service(&settings);
    let world = service.make(&heap(1));
    let commands = format!("{world}/commands");
    let spawn = |service: &Service, blanks: usize, points: usize| {
        let angle = |index: usize| std::f64::consts::TAU * index as f64 / points as f64;
        let points: Vec<_> = (0..points).map(|index| [angle(index).cos(), angle(index).sin()]).collect();
        let bodies = json!([ { "position": [9, 9], "shapes": [ { "polygon": { "points": points } } ] } ]);
        let text = format!(r#"{{"commands":[{{"spawn":{{"bodies":{}{bodies}}}}}]}}"#, " ".repeat(blanks));
        let text = text.replace('{', &format!("{}{{", " ".repeat(blanks / 20)));
        service.send("POST", &commands, JSON, text.as_bytes()).unwrap()
    };
    // Blanks are not stored.
    assert_eq!(spawn(&service, 1 << 20, 4).status, 200);
    let files = std::fs::read_dir(folder.path().join(world.trim_start_matches("/v1/"))).unwrap();
    let kept: u64 = files.map(|file| file.unwrap().metadata().unwrap().len()).sum();
    assert!(kept < 10_000, "{kept} bytes");
    let mut count = 1;
    let full = loop {
        let answer = spawn(&service, 0, 8);
        if answer.status != 200 {
            break answer;
        }
        count += 1;
        assert!(count < 50);
    };
    refused(&full, 422, "commands", "limits.journal_bytes");
    assert!(count > 2, "{count}");
    let hash = service.hash(&world);
    service.kill();
    service = Service::start(folder.path(), &settings);
    assert_eq!(service.hash(&world), hash);
    refused(&spawn(&service, 0, 8), 422, "commands", "limits.journal_bytes");
}

#[test]
fn requests_for_steps_that_wait() {
    let (_folder, service) = service(&[("LIMITS_GOALS", "2"), ("LIMITS_STEPS", "100000")]);
    let world = service.make(&json!({ "scene": "large_pyramid:base=20" }));
    let step = format!("{world}/step");
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| service.post(&step, &json!({ "steps": 100_000 })).unwrap());
        }
        while service.ask(&world)["steps_to_go"].as_u64().unwrap() <= 100_000 {
            std::thread::sleep(Duration::from_millis(5));
        }
        let third = service.post(&step, &json!({ "steps": 1 })).unwrap();
        refused(&third, 429, "", "limits.goals");
        assert!(third.header("retry-after").is_some());
        service.tell(&format!("{world}/pause"), &json!({}));
    });
    assert_eq!(service.tell(&step, &json!({ "steps": 1 }))["steps"], 1);
}

/// A world of one body with many shapes: the memory of an answer is charged by its actual content.
#[test]
fn answers_are_charged_by_what_the_world_has() {
    let settings = [("LIMITS_BYTES", "1000000"), ("LIMITS_MEMORY_BYTES", "2000000")];
    let service = Service::start(Path::new("memory"), &settings);
    let shapes = vec![json!({ "circle": { "radius": 1 } }); 10_000];
    let scene = json!({ "version": 1, "bodies": [ { "type": "static", "shapes": shapes } ] });
    let world = service.make(&json!({ "scene": scene }));
    let refused = service.get(&format!("{world}/bodies")).unwrap();
    assert_eq!(refused.status, 422);
    assert!(refused.json()["detail"].as_str().unwrap().contains("limits.memory_bytes"), "{refused:?}");
    assert_eq!(service.get(&format!("{world}/state")).unwrap().status, 200);
    let joints = vec![json!({ "type": "weld", "b": 0 }); 3000];
    let bodies = json!([ { "shapes": [ { "circle": { "radius": 1 } } ] } ]);
    let world = service.make(&json!({ "version": 1, "bodies": bodies, "joints": joints }));
    let refused = service.get(&format!("{world}/joints")).unwrap();
    assert_eq!(refused.status, 422);
    assert!(refused.json()["detail"].as_str().unwrap().contains("limits.memory_bytes"), "{refused:?}");
}
