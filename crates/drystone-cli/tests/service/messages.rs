//! Messages of the service: no answer and no line of the log has a path of the machine that built it.

use serde_json::json;

use crate::build_paths::build_paths;
use crate::client::Service;

#[test]
fn no_answer_and_no_line_of_the_log_has_a_path_of_the_build() {
    let folder = tempfile::tempdir().unwrap();
    let settings = [("LOG_LEVEL", "trace"), ("LIMITS_BODIES", "500")];
    let mut service = Service::start(folder.path(), &settings);
    let world = service.make(&json!({ "scene": "large_pyramid:base=4" }));
    let json_header = [("Content-Type", "application/json")];
    let mut answers = Vec::new();
    let bodies: [&[u8]; 9] = [
        b"",
        b"{",
        b"hello",
        b"[1, 2]",
        &[0xff, 0x00],
        br#"{"scene":"tumblr"}"#,
        br#"{"scene":"large_pyramid:base=90"}"#,
        br#"{"scene":"large_pyramid:base=x"}"#,
        br#"{"version":1,"bodies":[{"kind":1}]}"#,
    ];
    let paths = ["/step", "/commands", "/play", "/query", "/checkpoint", "/restore", "/rewind"]
        .map(|path| format!("{world}{path}"));
    for path in paths.iter().map(String::as_str).chain(["/v1/worlds"]) {
        for body in bodies {
            answers.push(service.send("POST", path, &json_header, body).unwrap());
            answers.push(service.send("POST", path, &[("Content-Type", "text/html")], body).unwrap());
        }
    }
    for path in ["/v1/worlds/none", "/nothing", "/v1/worlds?limit=x", "/v1/scenes/none/picture", "/page/none.js"] {
        answers.push(service.get(path).unwrap());
        answers.push(service.send("PATCH", path, &[], b"").unwrap());
    }
    answers.push(service.get(&format!("{world}/checkpoints/none")).unwrap());
    answers.push(service.send("GET", "/v1/worlds", &[("Host", "elsewhere.example")], b"").unwrap());
    let refused = answers.iter().filter(|answer| answer.status >= 400).count();
    assert!(refused > 100, "{refused} of {} were refused", answers.len());
    for answer in &answers {
        let text = String::from_utf8_lossy(&answer.body);
        assert_eq!(build_paths(&text), Vec::<String>::new(), "{}: {text}", answer.status);
    }
    // A damaged world, a store that is taken, and the end.
    service.tell(&format!("{world}/pause"), &json!({}));
    for _ in 0..3 {
        service.tell(&format!("{world}/step"), &json!({ "steps": 1 }));
    }
    service.kill();
    let log = folder.path().join("worlds").join(world.rsplit('/').next().unwrap()).join("log-00000000");
    let mut bytes = std::fs::read(&log).unwrap();
    bytes[20] ^= 1;
    std::fs::write(&log, bytes).unwrap();
    let mut again = Service::start(folder.path(), &settings);
    let status = again.ask(&world);
    assert_eq!(status["state"], "failed", "{status}");
    let mut second = crate::client::command(folder.path(), &settings);
    let taken = second.args(["--backend", "cpu"]).output().unwrap();
    let refusal = String::from_utf8(taken.stderr).unwrap();
    assert!(!taken.status.success() && !refusal.is_empty());
    again.stop();
    for text in [service.log(), again.log(), refusal, status.to_string()] {
        assert!(text.len() > 20, "{text}");
        assert_eq!(build_paths(&text), Vec::<String>::new(), "{text}");
    }
    // The control: a line of a log with the place of a panic as the standard library writes it.
    let raw = format!("ERROR a bug in drystone place=\"{}\"", std::panic::Location::caller());
    assert_eq!(build_paths(&raw).len(), 1, "{raw}");
}
