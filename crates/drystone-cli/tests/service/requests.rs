//! Requests have the results of the library; mistakes are reported with their position.

use drystone::low_level::{CpuWorld, state};
use drystone::{BodyId, Command, World};
use drystone_scenes::{catalogue, file};
use serde_json::{Value, json};

use crate::client::{Dice, Service};

fn service() -> (tempfile::TempDir, Service) {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    (folder, service)
}

pub fn hash(world: &mut World) -> String {
    format!("{:016x}", state::hash(&world.snapshot().unwrap()))
}

#[test]
fn as_the_library_does_it() {
    let (_folder, service) = service();
    let path = service.make(&json!({ "scene": "large_pyramid:base=8", "name": "mine" }));
    let mut world: World = CpuWorld::new(&catalogue::build("large_pyramid:base=8").unwrap()).unwrap().into();
    assert_eq!(service.hash(&path), hash(&mut world));
    let stepped = service.tell(&format!("{path}/step"), &json!({ "steps": 50 }));
    assert_eq!((&stepped["steps"], &stepped["step"], &stepped["stopped"]), (&json!(50), &json!(50), &Value::Null));
    assert_ne!(service.hash(&path), hash(&mut world), "fifty steps are seen");
    (0..50).for_each(|_| world.step().unwrap());
    assert_eq!(service.hash(&path), hash(&mut world));

    let commands = json!({ "commands": [
        { "impulse": { "body": 7, "impulse": [2, 1], "point": [0.25, 0] } },
        { "force": { "body": "9.0", "force": [0, 30] } },
        { "velocity": { "body": 12, "velocity": [-3, 4] } },
        { "teleport": { "body": 20, "position": [0, 30], "angle": 0.5 } },
        { "remove": { "bodies": [30] } } ] });
    let answer = service.tell(&format!("{path}/commands"), &commands);
    assert_eq!(answer, json!({ "step": 50, "results": [{}, {}, {}, {}, {}] }));
    let at = |x: f32, y: f32| glam::Vec2::new(x, y);
    world.command(7, Command::Impulse { impulse: at(2.0, 1.0), point: Some(at(0.25, 0.0)) }).unwrap();
    world.command(9, Command::Force { force: at(0.0, 30.0), point: None }).unwrap();
    world.command(12, Command::Velocity(at(-3.0, 4.0))).unwrap();
    world.command(20, Command::Teleport { position: at(0.0, 30.0).into(), angle: 0.5 }).unwrap();
    world.remove_bodies(&[BodyId { index: 30, generation: 0 }]).unwrap();
    service.tell(&format!("{path}/step"), &json!({ "steps": 40 }));
    (0..40).for_each(|_| world.step().unwrap());
    assert_eq!(service.hash(&path), hash(&mut world));

    // The old id of a reused slot matches no body.
    let spawn = json!({ "commands": [ { "spawn": { "bodies": [ { "position": [0, 60], "shapes": [ { "circle": { "radius": 1 } } ] } ] } } ] });
    let made = service.tell(&format!("{path}/commands"), &spawn);
    assert_eq!(made["results"][0]["bodies"], json!(["30.1"]));
    let old = json!({ "commands": [ { "wake": { "body": "30.0" } } ] });
    assert_eq!(service.post(&format!("{path}/commands"), &old).unwrap().status, 422);
}

#[test]
fn asked_in_every_form() {
    let (_folder, service) = service();
    let scene = catalogue::build("card_house").unwrap();
    let text: Value = serde_json::from_str(&file::write_json(&scene)).unwrap();
    let path = service.make(&text);
    service.tell(&format!("{path}/step"), &json!({ "steps": 3 }));
    let state = service.ask(&format!("{path}/state"));
    let bodies = state["bodies"].as_array().unwrap();
    assert_eq!((bodies.len(), &state["step"]), (scene.bodies.len(), &json!(3)));

    let binary = service.get(&format!("{path}/state?format=binary")).unwrap().body;
    let word = |at: usize| u32::from_le_bytes(binary[at..at + 4].try_into().unwrap());
    assert_eq!((&binary[..4], word(32) as usize, word(16)), (&b"DRYF"[..], bodies.len(), 3));
    assert_eq!(binary.len(), 64 + 36 * bodies.len());
    for (row, body) in binary[64..].chunks_exact(36).zip(bodies) {
        let y = f32::from_le_bytes(row[12..16].try_into().unwrap());
        assert!((f64::from(y) - body["position"][1].as_f64().unwrap()).abs() < 1e-9);
    }
    let npz = service.send("GET", &format!("{path}/state"), &[("Accept", "application/x-npz")], b"").unwrap();
    let mut archive = npyz::npz::NpzArchive::new(std::io::Cursor::new(npz.body)).unwrap();
    assert_eq!(archive.by_name("position").unwrap().unwrap().shape(), [bodies.len() as u64, 2]);

    let looks = service.ask(&format!("{path}/bodies"));
    assert_eq!(looks["bodies"].as_array().unwrap().len(), bodies.len());
    let metrics = service.ask(&format!("{path}/metrics"));
    assert!(metrics["metrics"]["kinetic_energy"].as_f64().unwrap() > 0.0);
    let first = service.make(&json!({ "scene": { "version": 1, "bodies": [
        { "type": "static", "position": [5, 0], "shapes": [ { "circle": { "radius": 1 } } ] } ] } }));
    let queries = json!({ "queries": [
        { "ray": { "from": [0, 0], "to": [10, 0] } },
        { "point": { "at": [5.5, 0] } },
        { "aabb": { "min": [20, 20], "max": [21, 21] } },
        { "overlap": { "shape": { "box": { "half": [0.5, 0.5] } }, "position": [3.6, 0] } } ] });
    let answers = service.tell(&format!("{first}/query"), &queries);
    assert_eq!(answers["answers"][0]["hit"]["fraction"].as_f64().unwrap() as f32, 0.4);
    assert_eq!(answers["answers"][1]["found"][0]["body"], "0.0");
    assert_eq!(answers["answers"][2]["found"], json!([]));
    assert_eq!(answers["answers"][3]["found"][0]["body"], "0.0");

    let listed = service.ask("/v1/worlds?limit=1");
    assert_eq!(listed["worlds"].as_array().unwrap().len(), 1);
    let next = listed["next"].as_str().unwrap();
    assert_eq!(service.ask(&format!("/v1/worlds?after={next}"))["worlds"].as_array().unwrap().len(), 1);
    assert_eq!(service.send("DELETE", &first, &[], b"").unwrap().status, 204);
    assert_eq!(service.get(&first).unwrap().status, 404);
    assert!(service.ask("/v1/scenes")["scenes"].as_array().unwrap().len() > 30);
    let figures = String::from_utf8(service.get("/metrics").unwrap().body).unwrap();
    assert!(figures.contains("drystone_steps_total 3"), "{figures}");
}

/// Joints are listed with kind, bodies and anchors, in the frames used by scenes.
#[test]
fn joints_are_told() {
    let (_folder, service) = service();
    let shape = json!([ { "circle": { "radius": 0.5 }, "offset": [0.25, 0] } ]);
    let path = service.make(&json!({ "version": 1, "gravity": [0, 0], "bodies": [
            { "position": [0, 0], "shapes": shape }, { "position": [2, 0], "shapes": shape } ],
        "joints": [
            { "id": "rope", "type": "distance", "a": 0, "b": 1, "limits": [0, 3], "anchor_a": [0.5, 0], "anchor_b": [-0.5, 0] },
            { "type": "spring", "b": 1, "anchor_a": [5, 1], "anchor_b": [0, 0], "rest_length": 2, "stiffness": 0.001, "damping": 0 },
            { "type": "prismatic", "a": 0, "b": 1, "axis": [1, 0], "break_force": 1e6 } ] }));
    let told = service.ask(&format!("{path}/joints"));
    let rope = &told["joints"][0];
    assert_eq!((&told["step"], told["joints"].as_array().unwrap().len()), (&json!(0), 3));
    assert_eq!(
        *rope,
        json!({ "id": "0.0", "name": "rope", "type": "distance", "a": "0.0", "b": "1.0", "anchor_a": [0.5, 0.0],
            "anchor_b": [-0.5, 0.0], "limits": [0.0, 3.0] })
    );
    let spring = &told["joints"][1];
    assert_eq!(
        (&spring["type"], &spring["a"], &spring["anchor_a"]),
        (&json!("spring"), &Value::Null, &json!([5.0, 1.0]))
    );
    assert_eq!((&spring["length"], spring.get("breakable")), (&json!(2.0), None));
    let slide = &told["joints"][2];
    assert_eq!((&slide["axis"], &slide["breakable"]), (&json!([1.0, 0.0]), &json!(true)));
    // Changed by commands, after a step has applied them.
    let commands = json!({ "commands": [ { "length": { "joint": 1, "length": 1.5 } }, { "enable": { "joint": 2, "enabled": false } },
        { "unjoin": { "joints": [0] } } ] });
    service.tell(&format!("{path}/commands"), &commands);
    service.tell(&format!("{path}/step"), &json!({ "steps": 1 }));
    let told = service.ask(&format!("{path}/joints"));
    assert_eq!(told["joints"].as_array().unwrap().len(), 2);
    assert_eq!((&told["joints"][0]["length"], &told["joints"][1]["disabled"]), (&json!(1.5), &json!(true)));
}

#[test]
fn events_come_in_order() {
    let (_folder, service) = service();
    let path = service.make(&json!({ "version": 1, "settings": { "events": true }, "bodies": [
        { "type": "static", "shapes": [ { "box": { "half": [9, 1] }, "offset": [0, -1], "restitution": 0.8 } ] },
        { "position": [0, 1.5], "shapes": [ { "circle": { "radius": 0.5 }, "restitution": 0.8 } ] } ] }));
    service.tell(&format!("{path}/step"), &json!({ "steps": 120 }));
    let events = service.ask(&format!("{path}/events"));
    let list = events["events"].as_array().unwrap();
    let mut bodies: Vec<_> = list[0]["bodies"].as_array().unwrap().iter().map(|id| id.as_str().unwrap()).collect();
    bodies.sort_unstable();
    assert_eq!((&list[0]["type"], bodies), (&json!("begin"), vec!["0.0", "1.0"]));
    assert!(list.len() >= 2 && list.windows(2).all(|two| two[0]["step"].as_u64() <= two[1]["step"].as_u64()));
    let rest = service.ask(&format!("{path}/events?from={}", events["next"]));
    assert_eq!(rest["events"], json!([]));
}

#[test]
fn kept_and_put_back() {
    let (_folder, service) = service();
    let path = service.make(&json!({ "scene": "large_pyramid:base=5" }));
    service.tell(&format!("{path}/step"), &json!({ "steps": 20 }));
    let spawn = json!({ "commands": [ { "spawn": { "bodies": [ { "position": [0, 20], "shapes": [ { "circle": { "radius": 1 } } ] } ] } } ] });
    service.tell(&format!("{path}/commands"), &spawn);
    service.tell(&format!("{path}/step"), &json!({ "steps": 20 }));
    let kept = service.hash(&path);
    assert_eq!(service.tell(&format!("{path}/checkpoint"), &json!({ "name": "good" }))["checkpoint"], "good");
    service.tell(&format!("{path}/commands"), &json!({ "commands": [ { "remove": { "bodies": [3, 4] } } ] }));
    service.tell(&format!("{path}/step"), &json!({ "steps": 30 }));
    assert_ne!(service.hash(&path), kept);
    assert_eq!(service.tell(&format!("{path}/restore"), &json!({ "name": "good" }))["step"], 40);
    assert_eq!(service.hash(&path), kept);
    assert_eq!(service.ask(&format!("{path}/checkpoints"))["checkpoints"], json!(["good"]));
    assert_eq!(service.post(&format!("{path}/restore"), &json!({ "name": "bad" })).unwrap().status, 404);
    assert_eq!(service.send("DELETE", &format!("{path}/checkpoints/good"), &[], b"").unwrap().status, 204);
}

#[test]
fn done_once_with_a_key() {
    let (_folder, service) = service();
    let scene = json!({ "scene": "large_pyramid:base=3" });
    let made = service.post_once("/v1/worlds", &scene, "make").unwrap();
    let again = service.post_once("/v1/worlds", &scene, "make").unwrap();
    assert_eq!((made.status, again.status, &made.json()["id"]), (201, 201, &again.json()["id"]));
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
    assert_eq!(service.ask("/v1/worlds")["worlds"].as_array().unwrap().len(), 1);
    let path = format!("/v1/worlds/{}", made.json()["id"].as_str().unwrap());
    let (spawn, other) = (
        json!({ "commands": [ { "spawn": { "bodies": [ { "shapes": [ { "circle": { "radius": 1 } } ] } ] } } ] }),
        json!({ "commands": [ { "wake_all": {} } ] }),
    );
    let first = service.post_once(&format!("{path}/commands"), &spawn, "k").unwrap();
    let second = service.post_once(&format!("{path}/commands"), &spawn, "k").unwrap();
    assert_eq!((first.status, first.json()), (200, second.json()));
    assert_eq!(service.ask(&path)["bodies"], 8);
    assert_eq!(service.post_once(&format!("{path}/commands"), &other, "k").unwrap().status, 422);
    // Without a key it is executed again.
    service.tell(&format!("{path}/commands"), &spawn);
    assert_eq!(service.ask(&path)["bodies"], 9);
}

/// Mistakes, with the status and the text that the answer must contain.
#[test]
fn mistakes_are_told_and_where() {
    let folder = tempfile::tempdir().unwrap();
    let limits = [
        ("LIMITS_BYTES", "20000"),
        ("LIMITS_BODIES", "100"),
        ("LIMITS_STEPS", "1000"),
        ("LIMITS_COMMANDS", "3"),
        ("LIMITS_WORLDS", "3"),
    ];
    let service = Service::start(folder.path(), &limits);
    let world = service.make(&json!({ "scene": "large_pyramid:base=3" }));
    let (step, commands) = (format!("{world}/step"), format!("{world}/commands"));
    let (stream, query) = (format!("{world}/stream"), format!("{world}/query"));
    let long = "x".repeat(30_000);
    let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
    let table: &[(&str, &str, &str, u16, &str)] = &[
        ("POST", "/v1/worlds", "", 400, "is empty"),
        ("POST", "/v1/worlds", "{", 400, "line"),
        ("POST", "/v1/worlds", "[]", 422, "expected"),
        ("POST", "/v1/worlds", &deep, 422, "is an array"),
        ("POST", "/v1/worlds", &long, 413, "limits.bytes"),
        ("POST", "/v1/worlds", r#"{"version":2,"bodies":[]}"#, 422, r#""path":"version""#),
        (
            "POST",
            "/v1/worlds",
            r#"{"version":1,"bodies":[{"shapes":[{"circle":{"radius":-1}}]}]}"#,
            422,
            r#""path":"bodies[0].shapes[0].circle.radius""#,
        ),
        (
            "POST",
            "/v1/worlds",
            r#"{"scene":{"version":1,"bodies":[{"mas":1}]}}"#,
            422,
            r#""path":"scene.bodies[0].mas""#,
        ),
        ("POST", "/v1/worlds", r#"{"scene":"large_pyramid:base=100"}"#, 422, "at most 100"),
        ("POST", "/v1/worlds", r#"{"scene":"no_such_scene"}"#, 422, r#""path":"scene""#),
        ("POST", "/v1/worlds", r#"{"scene":"../../etc/passwd"}"#, 422, "no scene"),
        ("POST", "/v1/worlds", r#"{"scene":7}"#, 422, r#""path":"scene""#),
        ("POST", "/v1/worlds", r#"{"scene":"slope","more":1}"#, 422, "more"),
        ("GET", "/v1/worlds?limit=many", "", 400, "limit"),
        ("GET", "/v1/worlds?limits=1", "", 400, "limits"),
        ("GET", "/v1/worlds/nobody", "", 404, "nobody"),
        ("GET", "/v1/worlds/..%2f..%2fetc%2fpasswd", "", 404, ""),
        ("GET", "/v1/worlds/%00", "", 404, ""),
        ("GET", "/v1/worlds/%ff", "", 400, ""),
        ("DELETE", "/v1/worlds/nobody", "", 404, "nobody"),
        ("PUT", "/v1/worlds", "", 405, ""),
        ("GET", "/etc/passwd", "", 404, ""),
        ("POST", &step, r#"{"steps":0}"#, 422, r#""path":"steps""#),
        ("POST", &step, r#"{"steps":1001}"#, 422, r#""path":"steps""#),
        ("POST", &step, r#"{"steps":-1}"#, 422, r#""path":"steps""#),
        ("POST", &step, r#"{"steps":1e3}"#, 422, r#""path":"steps""#),
        ("POST", &step, r#"{"steps":1,"timeout":-5}"#, 422, r#""path":"timeout""#),
        ("POST", &step, r#"{"step":1}"#, 422, "unknown field `step`"),
        ("POST", &step, r#"{"steps":1} x"#, 400, "trailing characters at line 1, column 13"),
        ("POST", &commands, r#"{"commands":[]}"#, 422, r#""path":"commands""#),
        (
            "POST",
            &commands,
            r#"{"commands":[{"wake_all":{}},{"wake_all":{}},{"wake_all":{}},{"wake_all":{}}]}"#,
            422,
            "at most 3",
        ),
        ("POST", &commands, r#"{"commands":[{"fly":{"body":1}}]}"#, 422, "fly"),
        (
            "POST",
            &commands,
            r#"{"commands":[{"wake_all":{}},{"impulse":{"body":1,"impulse":[1]}}]}"#,
            422,
            r#""path":"commands[1].impulse.impulse""#,
        ),
        (
            "POST",
            &commands,
            r#"{"commands":[{"impulse":{"body":1.5,"impulse":[1,2]}}]}"#,
            422,
            r#""path":"commands[0].impulse.body""#,
        ),
        ("POST", &commands, r#"{"commands":[{"impulse":{"body":1,"impulse":[1e39,2]}}]}"#, 422, "out of range"),
        ("POST", &commands, r#"{"commands":[{"impulse":{"body":0,"impulse":[1,2]}}]}"#, 422, "static"),
        (
            "POST",
            &commands,
            r#"{"commands":[{"impulse":{"body":999,"impulse":[1,2]}}]}"#,
            422,
            r#""path":"commands[0].impulse.body""#,
        ),
        (
            "POST",
            &commands,
            r#"{"commands":[{"spawn":{"bodies":[{"shapes":[]}]}}]}"#,
            422,
            r#""path":"commands[0].spawn.bodies[0]""#,
        ),
        (
            "POST",
            &commands,
            r#"{"commands":[{"join":{"b":1,"joint":{"type":"weld","a":1}}}]}"#,
            422,
            r#""path":"commands[0].join.joint.a""#,
        ),
        (
            "POST",
            &commands,
            r#"{"commands":[{"join":{"a":2,"b":1,"joint":{"type":"spring"}}}]}"#,
            422,
            r#""path":"commands[0].join.joint""#,
        ),
        (
            "POST",
            &commands,
            r#"{"commands":[{"join":{"a":1,"b":1,"joint":{"type":"weld"}}}]}"#,
            422,
            "commands[0].join",
        ),
        ("POST", &commands, r#"{"commands":[{"mouse":{"target":[0,0]}}]}"#, 422, r#""path":"commands[0].mouse.body""#),
        (
            "POST",
            &commands,
            r#"{"commands":[{"motor":{"joint":0,"speed":1,"max":1}}]}"#,
            422,
            r#""path":"commands[0].motor.joint""#,
        ),
        ("POST", &format!("{world}/play"), r#"{"speed":0}"#, 422, r#""path":"speed""#),
        ("POST", &format!("{world}/play"), r#"{"speed":"fast"}"#, 422, r#""path":"speed""#),
        ("POST", &format!("{world}/checkpoint"), r#"{"name":"../x"}"#, 422, r#""path":"name""#),
        ("POST", &format!("{world}/restore"), r#"{"name":"a/b"}"#, 422, r#""path":"name""#),
        ("POST", &query, r#"{"queries":[{"ray":{"from":[0,0],"to":[1e9,0]}}]}"#, 422, r#""path":"queries[0]""#),
        (
            "POST",
            &query,
            r#"{"queries":[{"overlap":{"shape":{"circle":{"radius":0}},"position":[0,0]}}]}"#,
            422,
            r#""path":"queries[0].overlap.shape.circle.radius""#,
        ),
        ("GET", &format!("{world}/state?format=xml"), "", 400, ""),
        ("GET", &stream, "", 400, ""),
        ("GET", &format!("{stream}?rate=0"), "", 400, "rate"),
        ("GET", &format!("{stream}?region=1,2,3"), "", 400, "region"),
    ];
    let mut wrong = Vec::new();
    for (method, path, body, status, says) in table {
        let answer = service.send(method, path, &[("Content-Type", "application/json")], body.as_bytes()).unwrap();
        let text = String::from_utf8_lossy(&answer.body);
        let shown: String = body.chars().take(100).collect();
        let kind = answer.header("content-type");
        if (answer.status, kind) != (*status, Some("application/problem+json")) || !text.contains(says) {
            wrong.push(format!("{method} {path} {shown}: {status} {says:?} expected, {kind:?} {text}"));
        } else {
            assert_eq!(answer.json()["status"], *status);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    for (headers, status) in [
        (&[("Content-Type", "text/plain")][..], 415),
        (&[], 415),
        (&[("Content-Type", "application/json"), ("Host", "evil.example")], 403),
        (&[("Content-Type", "application/json"), ("Origin", "http://evil.example")], 403),
        (&[("Content-Type", "application/json"), ("Idempotency-Key", "")], 400),
        (&[("Content-Type", "application/json"), ("Idempotency-Key", &long[..200])], 400),
    ] {
        assert_eq!(service.send("POST", &step, headers, b"{}").unwrap().status, status, "{headers:?}");
    }
    // Bytes that are not HTTP do no harm.
    for bytes in [&b"\r\n\r\n"[..], b"GET", b"\x16\x03\x01\x02\x00", b"GET / HTTP/9\r\n\r\n", &[0; 4096]] {
        service.spill(bytes);
    }
    service.make(&json!({ "scene": "slope" }));
    service.make(&json!({ "scene": "slope" }));
    let full = service.post("/v1/worlds", &json!({ "scene": "slope" })).unwrap();
    assert_eq!((full.status, full.header("retry-after").is_some()), (429, true));
    assert_eq!(service.tell(&step, &json!({}))["steps"], 1, "the world is as well as before");
}

/// Mutated requests never get an internal server error.
#[test]
fn spoiled_requests_are_no_mistakes_of_ours() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[("LIMITS_RATE", "100000"), ("LIMITS_WORLDS", "5")]);
    let world = service.make(&json!({ "scene": "card_house" }));
    let count = std::env::var("SERVICE_SPOILED").ok().and_then(|text| text.parse().ok()).unwrap_or(400);
    let good = [
        (
            "/v1/worlds".to_owned(),
            r#"{"version":1,"gravity":[0,-9.81],"settings":{"dt":0.01,"mode":"soft"},"bodies":[{"type":"static","shapes":[{"box":{"half":[5,1]}}]},{"id":"a","position":[0,3],"shapes":[{"polygon":{"points":[[0,0],[1,0],[0,1]]},"density":2}]}],"joints":[{"type":"revolute","a":0,"b":"a","anchor_a":[0,1],"anchor_b":[0,0]}]}"#,
        ),
        ("/v1/worlds".to_owned(), r#"{"scene":"large_pyramid:base=4","name":"n"}"#),
        (
            format!("{world}/commands"),
            r#"{"commands":[{"impulse":{"body":"2.0","impulse":[1,2],"point":[0,0]}},{"spawn":{"bodies":[{"position":[0,9],"shapes":[{"circle":{"radius":0.5}}]}]}},{"mouse":{"pointer":"p","body":3,"target":[1,1]}},{"release":{"pointer":"p"}}]}"#,
        ),
        (format!("{world}/step"), r#"{"steps":3,"timeout":10}"#),
        (
            format!("{world}/query"),
            r#"{"queries":[{"ray":{"from":[0,0],"to":[10,0],"filter":{"mask":1}}},{"overlap":{"shape":{"capsule":{"a":[0,0],"b":[1,0],"radius":0.2}},"position":[0,0],"angle":1}}]}"#,
        ),
    ];
    let words =
        ["null", "-1", "1e999", "99999999999", "\"\"", "[]", "{}", "true", "\\u0000", "\"0.0\"", "1e-400", "NaN"];
    let mut dice = Dice::new(5);
    let mut seen = std::collections::BTreeMap::new();
    for round in 0..count {
        let (path, text) = &good[dice.below(good.len() as u64) as usize];
        let mut bytes = text.as_bytes().to_vec();
        for _ in 0..=dice.below(3) {
            if bytes.is_empty() {
                break;
            }
            let at = dice.below(bytes.len() as u64) as usize;
            match dice.below(5) {
                0 => bytes[at] = dice.below(256) as u8,
                1 => drop(bytes.drain(at..(at + 1 + dice.below(8) as usize).min(bytes.len()))),
                2 => bytes.truncate(at.max(1)),
                3 => {
                    let word = words[dice.below(words.len() as u64) as usize];
                    bytes.splice(at..at, word.bytes());
                }
                // In place of an integer.
                _ => {
                    if let Some(digit) = bytes[at..].iter().position(u8::is_ascii_digit) {
                        let word = words[dice.below(words.len() as u64) as usize];
                        bytes.splice(at + digit..=at + digit, word.bytes());
                    }
                }
            }
        }
        let answer = service.send("POST", path, &[("Content-Type", "application/json")], &bytes).unwrap();
        let shown = String::from_utf8_lossy(&bytes);
        assert!(answer.status < 500, "round {round}: {path} {shown}: {answer:?}");
        *seen.entry(answer.status).or_insert(0) += 1;
        if answer.status == 201 {
            let made = format!("/v1/worlds/{}", answer.json()["id"].as_str().unwrap());
            assert_eq!(service.send("DELETE", &made, &[], b"").unwrap().status, 204);
        }
    }
    assert!(seen[&400] > 0 && seen[&422] > 0 && seen.contains_key(&200), "{seen:?}");
    assert_eq!(service.ask(&world)["state"], "paused");
    eprintln!("{count} spoiled requests: {seen:?}");
}
