//! Tokens: each world belongs to one owner, requests are counted and logged per token, and tokens change while the
//! service runs.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tungstenite::Message;
use tungstenite::client::IntoClientRequest;

use crate::browser::Browser;
use crate::client::{Answer, Service, command};
use crate::connections::{open, rest, until};
use crate::sockets::Socket;

/// Tokens named `lab`, `other` and `boss`; the last is admin.
const THREE: &str = "[[tokens]]\nname = 'lab'\ntoken = 'token-of-the-lab'\n\
                     [[tokens]]\nname = 'other'\ntoken = 'token-of-the-other'\n\
                     [[tokens]]\nname = 'boss'\ntoken = 'token-of-the-boss'\nadmin = true\n";

/// Starts the service with this configuration in a folder with its worlds.
fn start(folder: &Path, config: &str, settings: &[(&str, &str)]) -> (Service, PathBuf) {
    let file = folder.join("serve.toml");
    std::fs::write(&file, config).unwrap();
    let mut command = command(&folder.join("store"), settings);
    command.args(["--backend", "cpu", "--config"]).arg(&file);
    (Service::run(command), file)
}

fn send(service: &Service, token: &str, method: &str, path: &str, body: Option<&Value>, key: Option<&str>) -> Answer {
    let bearer = format!("Bearer token-of-the-{token}");
    let mut headers = vec![("Authorization", bearer.as_str())];
    headers.extend(body.map(|_| ("Content-Type", "application/json")));
    headers.extend(key.map(|key| ("Idempotency-Key", key)));
    let body = body.map(Value::to_string).unwrap_or_default();
    service.send(method, path, &headers, body.as_bytes()).unwrap()
}

fn get(service: &Service, token: &str, path: &str) -> Answer {
    send(service, token, "GET", path, None, None)
}

fn make(service: &Service, token: &str, key: Option<&str>) -> String {
    let answer = send(service, token, "POST", "/v1/worlds", Some(&json!({ "scene": "slope" })), key);
    assert_eq!(answer.status, 201, "{answer:?}");
    format!("/v1/worlds/{}", answer.json()["id"].as_str().unwrap())
}

fn listed(service: &Service, token: &str) -> Vec<Value> {
    get(service, token, "/v1/worlds").json()["worlds"].as_array().unwrap().clone()
}

fn stream(service: &Service, token: &str, world: &str) -> Result<Socket, u16> {
    let mut request = format!("ws://{}{world}/stream", service.address).into_client_request().unwrap();
    let protocols = format!("drystone.v1, bearer.token-of-the-{token}");
    request.headers_mut().insert("Sec-WebSocket-Protocol", protocols.parse().unwrap());
    let socket = std::net::TcpStream::connect(&service.address).unwrap();
    socket.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
    match tungstenite::client::client(request, socket) {
        Ok((socket, _)) => Ok(socket),
        Err(tungstenite::HandshakeError::Failure(tungstenite::Error::Http(answer))) => Err(answer.status().as_u16()),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn a_world_belongs_to_its_token() {
    let folder = tempfile::tempdir().unwrap();
    let (mut service, _) = start(folder.path(), THREE, &[]);
    let world = make(&service, "lab", None);
    let saved = send(&service, "lab", "POST", &format!("{world}/checkpoint"), Some(&json!({ "name": "kept" })), None);
    assert_eq!(saved.status, 200);
    let asks: &[(&str, &str, Option<Value>)] = &[
        ("GET", "", None),
        ("GET", "/state", None),
        ("GET", "/bodies", None),
        ("GET", "/joints", None),
        ("GET", "/metrics", None),
        ("GET", "/events", None),
        ("GET", "/checkpoints", None),
        ("POST", "/step", Some(json!({ "steps": 1 }))),
        ("POST", "/commands", Some(json!({ "commands": [ { "wake_all": {} } ] }))),
        ("POST", "/query", Some(json!({ "queries": [ { "point": { "at": [0, 0] } } ] }))),
        ("POST", "/play", Some(json!({}))),
        ("POST", "/pause", Some(json!({}))),
        ("POST", "/checkpoint", Some(json!({ "name": "mine" }))),
        ("POST", "/restore", Some(json!({ "name": "kept" }))),
        ("POST", "/rewind", Some(json!({ "steps": 1 }))),
        ("DELETE", "/checkpoints/kept", None),
        ("DELETE", "", None),
    ];
    let never = "/v1/worlds/wabcdefghijkmn";
    let id = |path: &str| path.rsplit('/').next().unwrap().to_owned();
    for round in 0..2 {
        for (method, path, body) in asks {
            let ask = |world: &str| {
                let answer = send(&service, "other", method, &format!("{world}{path}"), body.as_ref(), None);
                (answer.status, String::from_utf8(answer.body).unwrap().replace(&id(world), "ID"))
            };
            let (theirs, none) = (ask(&world), ask(never));
            assert_eq!(theirs.0, 404, "round {round}: {method} {path}");
            assert_eq!(theirs, none, "round {round}: {method} {path}");
        }
        assert_eq!(stream(&service, "other", &world).err(), Some(404));
        assert!(stream(&service, "lab", &world).is_ok() && stream(&service, "boss", &world).is_ok());
        // The owner finds everything unchanged.
        let status = get(&service, "lab", &world).json();
        assert_eq!((&status["step"], status.get("owner")), (&json!(0), None), "{status}");
        let kept = get(&service, "lab", &format!("{world}/checkpoints")).json();
        assert_eq!(kept["checkpoints"], json!(["kept"]));
        assert_eq!((listed(&service, "lab").len(), listed(&service, "other").len()), (1, 0));
        let seen = listed(&service, "boss");
        assert_eq!((seen.len(), &seen[0]["owner"]), (1, &json!("lab")));
        assert_eq!(get(&service, "boss", &world).json()["owner"], "lab");
        // A list cannot continue from a world of another owner.
        assert_eq!(get(&service, "other", &format!("/v1/worlds?after={}", id(&world))).status, 400);
        if round == 0 {
            assert_eq!(service.stop(), Some(0));
            service = start(folder.path(), THREE, &[]).0;
        }
    }
    assert_eq!(send(&service, "boss", "POST", &format!("{world}/step"), None, None).status, 200);
    assert_eq!(send(&service, "boss", "DELETE", &world, None, None).status, 204);
    assert_eq!(get(&service, "lab", &world).status, 404);
}

#[test]
fn keys_belong_to_owners() {
    let folder = tempfile::tempdir().unwrap();
    let config = format!("{THREE}[[tokens]]\nname = 'lab-2'\ntoken = 'token-of-the-lab-2'\nowner = 'lab'\n");
    let (mut service, _) = start(folder.path(), &config, &[]);
    for round in 0..2 {
        let of_lab = make(&service, "lab", Some("the same"));
        let of_other = make(&service, "other", Some("the same"));
        assert_ne!(of_lab, of_other);
        assert_eq!(make(&service, "lab-2", Some("the same")), of_lab, "another token of the owner");
        assert_eq!((listed(&service, "lab-2").len(), listed(&service, "boss").len()), (1, 2), "round {round}");
        service.kill();
        service = start(folder.path(), &config, &[]).0;
    }
}

#[test]
fn worlds_from_before_there_were_tokens() {
    let folder = tempfile::tempdir().unwrap();
    let mut service = Service::start(&folder.path().join("store"), &[]);
    let world = service.make(&json!({ "scene": "slope" }));
    assert!(service.ask(&world).get("owner").is_none());
    assert_eq!(service.stop(), Some(0));
    let (mut service, _) = start(folder.path(), THREE, &[]);
    assert_eq!((listed(&service, "lab").len(), get(&service, "lab", &world).status), (0, 404));
    assert_eq!(listed(&service, "boss")[0]["owner"], "anybody");
    assert_eq!(service.stop(), Some(0));
    // Without an admin the world is invisible, and the log says so.
    let (service, _) = start(folder.path(), &THREE.replace("admin = true", ""), &[]);
    assert!(listed(&service, "boss").is_empty());
    until("said", || service.log().contains("worlds whose owners have no token"));
}

#[test]
fn a_service_behind_a_proxy_demands_a_token() {
    let folder = tempfile::tempdir().unwrap();
    let hosts = [("HOSTS", r#"["worlds.example.org"]"#)];
    let mut bare = command(&folder.path().join("store"), &hosts);
    let output = bare.stdin(Stdio::null()).args(["--backend", "cpu"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("worlds.example.org") && said.contains("set a token"), "{said}");
    let settings = [hosts[0], ("TOKEN", "sixteen letters!")];
    let service = Service::start(folder.path(), &settings);
    let status = |host: &str| service.send("GET", "/v1/worlds", &[("Host", host)], b"").unwrap().status;
    assert_eq!((status("worlds.example.org"), status("evil.example.org")), (200, 403));
}

#[test]
fn the_token_of_the_environment_is_one_more() {
    let folder = tempfile::tempdir().unwrap();
    let (service, _) = start(folder.path(), THREE, &[("TOKEN", "token-of-the-environment")]);
    for token in ["environment", "lab"] {
        assert_eq!(get(&service, token, "/v1/worlds").status, 200, "{token}");
    }
    assert!(service.log().contains("DRYSTONE_TOKEN adds a token"), "{}", service.log());
}

/// Replaces a token without a gap and without a restart.
#[test]
fn tokens_change_while_it_runs() {
    let folder = tempfile::tempdir().unwrap();
    let (service, file) = start(folder.path(), THREE, &[]);
    let world = make(&service, "lab", None);
    let (mut leaving, mut staying) =
        (stream(&service, "lab", &world).unwrap(), stream(&service, "boss", &world).unwrap());
    let change = |text: &str, says: &str| {
        std::fs::write(&file, text).unwrap();
        let before = service.log().matches(says).count();
        service.signal("HUP");
        until(says, || service.log().matches(says).count() > before);
    };
    // An invalid file changes nothing.
    change("[[tokens]]\nname = 'lab'\ntoken = 'token-of-the-lab'\ntoken = 7\n", "tokens not reloaded");
    change("", "tokens not reloaded");
    change(&THREE.replace("token-of-the-lab", "short"), "tokens not reloaded");
    assert_eq!(get(&service, "lab", &world).status, 200);
    // Both for a while, with the same owner.
    let new = "[[tokens]]\nname = 'lab-2'\ntoken = 'token-of-the-lab-2'\nowner = 'lab'\n";
    change(&format!("{THREE}{new}"), "tokens reloaded");
    assert_eq!((get(&service, "lab", &world).status, get(&service, "lab-2", &world).status), (200, 200));
    // Steps that the old token's client waits for end with the token.
    let body = r#"{"steps":1000000}"#;
    let text = format!(
        "POST {world}/step HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nAuthorization: Bearer token-of-the-lab\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        service.address,
        body.len()
    );
    let mut stepping = open(&service, &text);
    until("under way", || get(&service, "boss", &world).json()["state"] == "stepping");
    let old = "[[tokens]]\nname = 'lab'\ntoken = 'token-of-the-lab'\n";
    change(&format!("{}{new}", THREE.replace(old, "")), "removed=[\"lab\"]");
    assert!(rest(&mut stepping).0.starts_with("HTTP/1.1 401"));
    assert_eq!((get(&service, "lab", &world).status, get(&service, "lab-2", &world).status), (401, 200));
    let reason = loop {
        if let Message::Close(frame) = leaving.read().unwrap() {
            break frame.unwrap().reason.to_string();
        }
    };
    assert_eq!(reason, "the token is no longer valid");
    staying.send(Message::text(r#"{"id":1,"pause":{}}"#)).unwrap();
    until("answered", || matches!(staying.read().unwrap(), Message::Text(text) if text.contains("\"ok\"")));
    let log = service.log();
    assert!(log.contains("added=[\"lab-2\"]") && !log.contains("token-of-the"), "{log}");
}

/// Removing a token ends its streams immediately: of a world in a long step, and one that is not read.
#[test]
fn streams_end_with_their_token_whatever_holds_them_up() {
    let folder = tempfile::tempdir().unwrap();
    // No other cause ends a stream within the time of this test.
    let settings = [("LIMITS_STEP_WORK", "300000000"), ("LIMITS_IDLE_SECONDS", "600")];
    let (service, file) = start(folder.path(), THREE, &settings);
    let create = |body: &Value| {
        let answer = send(&service, "lab", "POST", "/v1/worlds", Some(body), None);
        format!("/v1/worlds/{}", answer.json()["id"].as_str().unwrap())
    };
    let streams = || {
        let text = String::from_utf8(get(&service, "boss", "/metrics").body).unwrap();
        text.lines().find_map(|line| line.strip_prefix("drystone_streams ")?.parse::<f64>().ok())
    };
    // With a key, so that the step continues without its client.
    let (slow, large) = (create(&crate::hostile::slow()), create(&json!({ "scene": "large_pyramid:base=400" })));
    let mut watching = stream(&service, "lab", &slow).unwrap();
    let mut stuck = stream(&service, "lab", &large).unwrap();
    let step = format!(
        "POST {slow}/step HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer token-of-the-lab\r\nIdempotency-Key: long\r\n\
         Content-Length: 0\r\n\r\n",
        service.address
    );
    // Frames of 2 MB each, until the buffers are full.
    stuck.send(Message::text(r#"{"id":1,"stream":{"format":"full","rate":240}}"#)).unwrap();
    for _ in 0..40 {
        let wake = json!({ "commands": [ { "wake_all": {} } ] });
        assert_eq!(send(&service, "lab", "POST", &format!("{large}/commands"), Some(&wake), None).status, 200);
    }
    let _stepping = open(&service, &step);
    until("stepping", || get(&service, "boss", &slow).json()["state"] == "stepping");
    assert_eq!(streams(), Some(2.0));
    std::fs::write(file, THREE.replacen("[[tokens]]\nname = 'lab'\ntoken = 'token-of-the-lab'\n", "", 1)).unwrap();
    service.signal("HUP");
    let reason = loop {
        if let Message::Close(frame) = watching.read().unwrap() {
            break frame.unwrap().reason.to_string();
        }
    };
    assert_eq!(reason, "the token is no longer valid");
    let status = get(&service, "boss", &slow).json();
    assert_eq!((&status["state"], &status["step"]), (&json!("stepping"), &json!(0)), "the step goes on");
    // The other one is not read.
    until("both gone", || streams() == Some(0.0));
    drop(stuck);
}

/// A client that floods the service with long requests writes no more log lines than its rate allows.
#[test]
fn a_flood_fills_no_log() {
    let folder = tempfile::tempdir().unwrap();
    let (service, _) = start(folder.path(), THREE, &[("LIMITS_RATE", "10")]);
    let (begun, long) = (Instant::now(), "x".repeat(6000));
    let path = format!("/v1/worlds/{long}");
    let headers = [
        ("Authorization", "Bearer token-of-the-lab"),
        ("X-Request-Id", long.as_str()),
        ("traceparent", long.as_str()),
        ("User-Agent", long.as_str()),
    ];
    let statuses: Vec<u16> = (0..400).map(|_| service.send("GET", &path, &headers, b"").unwrap().status).collect();
    let (passed, refused) = (statuses.iter().filter(|status| **status == 404).count(), statuses.len());
    let refused = refused - passed;
    assert!(passed >= 10 && refused > 100, "{passed} passed, {refused} were refused");
    let lines = || {
        let log = service.log();
        log.lines().filter(|line| line.contains("/v1/worlds/xxx")).map(str::len).collect::<Vec<_>>()
    };
    until("noted", || lines().len() >= passed);
    // Twenty lines in each period of ten seconds about refused requests; the first period began before.
    let quiet = 20 * (2 + begun.elapsed().as_secs() as usize / 10);
    let lines = lines();
    assert!(lines.len() <= passed + quiet, "{} lines for {passed} requests that passed", lines.len());
    assert!(lines.iter().all(|length| *length < 1000), "{lines:?}");
}

/// The page asks for the token, uses it for all requests, and shows only the worlds of its owner.
#[test]
fn the_page_with_a_token() {
    let folder = tempfile::tempdir().unwrap();
    let (service, _) = start(folder.path(), THREE, &[]);
    make(&service, "other", None);
    let mut browser = Browser::open("about:blank", 1000, 700);
    browser.call("Page.navigate", &json!({ "url": format!("http://{}/", service.address) }));
    browser.until("asking && document.activeElement === $('token')");
    browser.text("token-of-the-lab");
    browser.key("Enter");
    browser.until("!asking && $('catalogue').options.length > 5 && !$('none').hidden");
    browser.until("!document.querySelector('#worlds button')");
    browser.errors.clear();
    browser.eval("$('scene').focus()");
    let scene = json!({ "version": 1, "name": "one ball", "bodies": [
        { "position": [0, 4], "shapes": [ { "circle": { "radius": 0.5 } } ] } ] });
    browser.text(&scene.to_string());
    browser.eval("$('run').checked = false");
    browser.click("#create .main");
    browser.until("world && bodies.size === 1 && shapes.size === 1 && !$('step').disabled");
    browser.click("#step");
    browser.until("simulated.step === 1");
    let world = format!("/v1/worlds/{}", browser.eval("world").as_str().unwrap());
    assert_eq!(get(&service, "lab", &world).json()["step"], 1);
    assert_eq!(browser.eval("document.querySelectorAll('#worlds button').length"), 1);
    assert_eq!((listed(&service, "boss").len(), get(&service, "other", &world).status), (2, 404));
    assert_eq!(browser.errors, Vec::<String>::new());
}

#[test]
fn requests_are_noted() {
    let (folder, begun) = (tempfile::tempdir().unwrap(), Instant::now());
    let (service, _) = start(folder.path(), THREE, &[]);
    let world = make(&service, "lab", None);
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    let parent = format!("00-{trace}-00f067aa0ba902b7-01");
    let ask = |id: &str, token: &str| {
        let bearer = format!("Bearer {token}");
        let headers = [("X-Request-Id", id), ("Authorization", bearer.as_str()), ("traceparent", parent.as_str())];
        service.send("GET", &format!("{world}/metrics"), &headers, b"").unwrap()
    };
    let answer = ask("my-id.1", "token-of-the-lab");
    assert_eq!(answer.header("x-request-id"), Some("my-id.1"));
    let made = ask("not one; at all", "token-of-the-lab").header("x-request-id").unwrap().to_owned();
    assert!(made.len() > 8 && !made.contains(' '), "{made}");
    assert_eq!(ask("third", "a guess that is wrong").status, 401);
    until("all are there", || service.log().contains("third"));
    let log = service.log();
    let line = |word: &str| log.lines().find(|line| line.contains(word)).unwrap_or_else(|| panic!("{word}: {log}"));
    let noted = line("my-id.1");
    for part in ["INFO", "lab", "GET", &format!("{world}/metrics"), "status=200", "seconds=", "bytes=", trace] {
        assert!(noted.contains(part), "{part}: {noted}");
    }
    assert!(line(&made).contains("INFO"));
    let refused = line("third");
    for part in ["WARN", "127.0.0.1:", "status=401", "a wrong token"] {
        assert!(refused.contains(part), "{part}: {refused}");
    }
    assert!(!log.contains("a guess that") && !log.contains("token-of-the") && !log.contains('\u{1b}'), "{log}");
    assert!(!log.contains("/health/"), "probes are not noted: {log}");
    // Continuously refused requests do not fill the log.
    for _ in 0..60 {
        service.send("GET", "/v1/worlds", &[], b"").unwrap();
    }
    let most = 5 + 20 * (1 + begun.elapsed().as_secs() as usize / 10);
    assert!(service.log().matches("refused").count() <= most, "{}", service.log());
    drop(service);
    let (service, _) = start(folder.path(), THREE, &[("LOG_ACCESS", "false"), ("LOG_FORMAT", "json")]);
    get(&service, "lab", &world);
    service.send("GET", "/v1/worlds", &[], b"").unwrap();
    until("refused", || service.log().contains("refused"));
    let log = service.log();
    let json: Vec<Value> = log.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    assert!(json.iter().all(|line| line["fields"]["message"] != "request"), "{log}");
    assert!(json.iter().any(|line| line["target"] == "access" && line["fields"]["status"] == 401), "{log}");
}

#[test]
fn figures_of_tokens() {
    let folder = tempfile::tempdir().unwrap();
    let scraper = "[[tokens]]\nname = 'prometheus'\ntoken = 'token-of-the-prometheus'\nmetrics = true\n";
    let (service, file) = start(folder.path(), &format!("{THREE}{scraper}"), &[]);
    let world = make(&service, "lab", None);
    assert_eq!(
        send(&service, "lab", "POST", &format!("{world}/step"), Some(&json!({ "steps": 50 })), None).status,
        200
    );
    get(&service, "other", &world);
    let figures = |token: &str| String::from_utf8(get(&service, token, "/metrics").body).unwrap();
    let _watching = stream(&service, "lab", &world).unwrap();
    until("counted", || figures("boss").contains("drystone_streams 1"));
    // The last request counts itself only afterwards.
    let (all, scraped, own) = (figures("boss"), figures("prometheus"), figures("lab"));
    for line in [
        r#"drystone_token_requests_total{token="lab",status="2xx"} 2"#,
        r#"drystone_token_requests_total{token="other",status="4xx"} 1"#,
        r#"drystone_owner_worlds{owner="lab"} 1"#,
        r#"drystone_owner_worlds{owner="other"} 0"#,
        r#"drystone_owner_compute_microseconds_total{owner="lab"}"#,
    ] {
        assert!(all.contains(line) && scraped.contains(line), "{line}: {all}");
        assert_eq!(own.contains(line), !line.contains("other"), "{line}: {own}");
    }
    // Sums over all tokens are not shown to one of them: they would reveal the others' activity.
    for name in ["drystone_process_resident_bytes", "drystone_worlds ", "drystone_streams", "drystone_requests_total"] {
        assert!(all.contains(name) && scraped.contains(name), "{name}: {all}");
        assert!(!own.contains(name), "{name}: {own}");
    }
    for line in own.lines() {
        let is_own = [r#"token="lab""#, r#"owner="lab""#].iter().any(|label| line.contains(label));
        assert!(is_own || line.starts_with("# "), "{line}");
    }
    assert!(own.contains("# TYPE drystone_owner_worlds gauge"), "{own}");
    // It may read figures, and nothing else of others.
    assert_eq!((get(&service, "prometheus", &world).status, listed(&service, "prometheus").len()), (404, 0));
    let resident = all.lines().find_map(|line| line.strip_prefix("drystone_process_resident_bytes ")).unwrap();
    assert!(resident.parse::<f64>().unwrap() > 1e6, "{resident}");
    // Tokens of a single owner see all figures.
    let two = "[[tokens]]\nname = 'lab'\ntoken = 'token-of-the-lab'\n\
               [[tokens]]\nname = 'new'\nowner = 'lab'\ntoken = 'token-of-the-new'\n";
    std::fs::write(file, two).unwrap();
    service.signal("HUP");
    until("alone", || figures("lab").contains("drystone_process_resident_bytes"));
}

#[test]
fn strangers_hear_little() {
    let folder = tempfile::tempdir().unwrap();
    let (service, _) = start(folder.path(), THREE, &[]);
    let told = |token: Option<&str>| match token {
        None => service.get("/health/ready").unwrap().json(),
        Some(token) => get(&service, token, "/health/ready").json(),
    };
    assert_eq!(told(None), json!({ "ready": true }));
    assert!(told(Some("lab"))["version"].is_string() && told(Some("lab"))["store_bytes"].is_number());
    assert_eq!(get(&service, "thief", "/health/ready").status, 401, "no way to guess in peace");
    // A token works with any case of the scheme.
    let with = |scheme: &str| {
        let bearer = format!("{scheme} token-of-the-lab");
        service.send("GET", "/v1/worlds", &[("Authorization", bearer.as_str())], b"").unwrap().status
    };
    assert_eq!(["Bearer", "bearer", "BEARER", "Basic"].map(with), [200, 200, 200, 401]);
    drop(service);
    let service = Service::start(&folder.path().join("store"), &[]);
    assert!(service.ask("/health/ready")["version"].is_string(), "on loopback without tokens");
    let headers = [("Host", "evil.example.org")];
    let elsewhere = service.send("GET", "/health/ready", &headers, b"").unwrap();
    assert_eq!((elsewhere.status, elsewhere.json()), (200, json!({ "ready": true })));
    for (site, path, status) in [
        ("cross-site", "/v1/worlds", 403),
        ("same-site", "/v1/worlds", 403),
        ("same-origin", "/v1/worlds", 200),
        ("none", "/v1/worlds", 200),
        ("cross-site", "/", 403),
    ] {
        let headers = [("Sec-Fetch-Site", site), ("Sec-Fetch-Mode", "no-cors")];
        assert_eq!(service.send("GET", path, &headers, b"").unwrap().status, status, "{site} {path}");
    }
    let link = [("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", "document")];
    assert_eq!(service.send("GET", "/", &link, b"").unwrap().status, 200);
}

/// Each wrong token takes longer than the one before; clients with a valid token do not wait.
#[test]
fn guessing_is_slow() {
    let folder = tempfile::tempdir().unwrap();
    let (service, _) = start(folder.path(), THREE, &[]);
    let start = Instant::now();
    let guess = || assert_eq!(get(&service, "thief", "/v1/worlds").status, 401);
    for _ in 0..4 {
        guess();
        assert_eq!(get(&service, "lab", "/v1/worlds").status, 200);
    }
    assert!(start.elapsed() >= Duration::from_millis(1500), "0.1, 0.2, 0.4 and 0.8 s: {:?}", start.elapsed());
    // While guesses wait, up to 5 s.
    std::thread::scope(|scope| {
        let guesses = [0; 3].map(|_| scope.spawn(guess));
        let figures = || String::from_utf8(get(&service, "boss", "/metrics").body).unwrap();
        until("counted", || figures().contains("drystone_wrong_tokens_total 7"));
        for _ in 0..4 {
            assert_eq!(get(&service, "lab", "/v1/worlds").status, 200);
        }
        assert!(guesses.iter().any(|guess| !guess.is_finished()), "they do not wait, too");
    });
}

/// A token that holds its whole memory leaves the others their share, and itself the memory for small requests.
#[test]
fn memory_is_shared_out() {
    let folder = tempfile::tempdir().unwrap();
    let settings = [("LIMITS_BYTES", "1000000"), ("LIMITS_MEMORY_BYTES", "4000000"), ("LIMITS_BODY_SECONDS", "60")];
    let (service, _) = start(folder.path(), THREE, &settings);
    let (world, theirs) = (make(&service, "lab", None), make(&service, "other", None));
    let head = |token: &str, world: &str, length: usize| {
        format!(
            "POST {world}/step HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer token-of-the-{token}\r\n\
             Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n",
            service.address
        )
    };
    // Bodies that do not end.
    let blanks = " ".repeat(400_000);
    let mut held: Vec<_> = (0..2).map(|_| open(&service, &head("lab", &world, 900_000))).collect();
    for stream in &mut held {
        stream.write_all(blanks.as_bytes()).unwrap();
    }
    let padded = format!("{}{{\"steps\":1}}", " ".repeat(300_000));
    let large = |token: &str, world: &str| {
        let bearer = format!("Bearer token-of-the-{token}");
        let headers = [("Authorization", bearer.as_str()), ("Content-Type", "application/json")];
        service.send("POST", &format!("{world}/step"), &headers, padded.as_bytes()).unwrap()
    };
    until("full", || large("lab", &world).status == 429);
    assert!(large("lab", &world).json()["detail"].as_str().unwrap().contains("this token"));
    for _ in 0..5 {
        assert_eq!(large("other", &theirs).status, 200, "others have theirs");
        let small = send(&service, "lab", "POST", &format!("{world}/step"), Some(&json!({ "steps": 1 })), None);
        assert_eq!(small.status, 200, "small ones pass");
        assert_eq!(get(&service, "lab", &format!("{world}/state")).status, 200);
    }
    drop(held);
    until("free again", || large("lab", &world).status == 200);
}

/// A body does not stay in memory during its steps.
#[test]
fn blanks_are_not_kept() {
    let folder = tempfile::tempdir().unwrap();
    let settings = [("LIMITS_BYTES", "1000000"), ("LIMITS_MEMORY_BYTES", "1500000")];
    let service = Service::start(folder.path(), &settings);
    let world = service.make(&json!({ "scene": "large_pyramid:base=20" }));
    let padded = format!("{}{{\"steps\":1000000}}", " ".repeat(900_000));
    let text = format!(
        "POST {world}/step HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{padded}",
        service.address,
        padded.len()
    );
    // Any two of them together exceed the memory.
    let mut stepping = Vec::new();
    for number in 1..=3 {
        stepping.push(open(&service, &text));
        until("under way", || service.ask(&world)["steps_to_go"].as_u64().unwrap() > number * 1_000_000 - 500_000);
    }
}

/// Commands over a stream take as much memory as over HTTP: the text, the parsed values, and the record for the log.
#[test]
fn commands_are_charged_alike() {
    let folder = tempfile::tempdir().unwrap();
    let settings = [("LIMITS_BYTES", "3000000"), ("LIMITS_MEMORY_BYTES", "4000000"), ("LIMITS_BODY_SECONDS", "600")];
    let service = Service::start(folder.path(), &settings);
    let world = service.make(&json!({ "scene": "slope" }));
    let padded = |bytes: usize| format!("{}{{\"commands\":[{{\"wake_all\":{{}}}}]}}", " ".repeat(bytes));
    let mut socket = crate::sockets::connect(&service, &format!("{world}/stream?rate=1"));
    let mut told = |text: String| {
        socket.send(Message::text(text)).unwrap();
        let answer = crate::sockets::next_answer(&mut socket);
        if answer["ok"].is_null() { answer["problem"]["status"].as_u64().unwrap() } else { 200 }
    };
    let posted = |text: String| {
        let headers = [("Content-Type", "application/json")];
        let path = format!("{world}/commands");
        u64::from(service.send("POST", &path, &headers, text.as_bytes()).unwrap().status)
    };
    // A body that does not end holds 2.9 of the 4 MB.
    let head = format!(
        "POST {world}/step HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: 2950000\r\n\r\n",
        service.address
    );
    let mut held = open(&service, &head);
    held.write_all(" ".repeat(2_900_000).as_bytes()).unwrap();
    // Short texts that become many commands.
    let many = format!(r#"{{"commands":[{}]}}"#, vec![r#"{"wake_all":{}}"#; 9000].join(","));
    // The service takes it in piece by piece.
    until("held", || posted(padded(900_000)) == 429 && posted(many.clone()) == 429);
    // Texts that fit into the memory once, and not three times.
    assert_eq!(told(padded(900_000)), 429);
    assert_eq!((posted(padded(250_000)), told(padded(250_000))), (200, 200));
    assert_eq!(told(many.clone()), 429, "{} bytes", many.len());
    drop(held);
    until("free again", || posted(padded(1_900_000)) == 200);
    assert_eq!((posted(padded(900_000)), told(padded(900_000))), (200, 200));
    assert_eq!((posted(many.clone()), told(many)), (200, 200));
}

/// Clients that disconnect during a creation, and retry with the same key: one world each.
#[test]
fn creations_that_are_cut_off() {
    let folder = tempfile::tempdir().unwrap();
    let mut service = Service::start(folder.path(), &[]);
    let body = json!({ "scene": "large_pyramid:base=80" });
    let text = |number: usize| {
        let body = body.to_string();
        format!(
            "POST /v1/worlds HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nIdempotency-Key: cut-{number}\r\n\
             Content-Length: {}\r\n\r\n{body}",
            service.address,
            body.len()
        )
    };
    for number in 0..16 {
        let stream = open(&service, &text(number));
        std::thread::sleep(Duration::from_millis(3 * number as u64));
        drop(stream);
    }
    // Immediately, so that some are still being created; and twice at the same time.
    let ask = |number: usize| {
        let answer = service.post_once("/v1/worlds", &body, &format!("cut-{number}")).unwrap();
        assert_eq!(answer.status, 201, "{answer:?}");
        answer.json()["id"].as_str().unwrap().to_owned()
    };
    let mut ids: Vec<String> = std::thread::scope(|scope| {
        let asked: Vec<_> = (0..32).map(|number| scope.spawn(move || ask(number % 16))).collect();
        asked.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(ids[..16], ids[16..]);
    ids.truncate(16);
    let other = service.post_once("/v1/worlds", &json!({ "scene": "slope" }), "cut-0").unwrap();
    assert_eq!(other.status, 422, "the key is used");
    let listed = |service: &Service| {
        let worlds = service.ask("/v1/worlds")["worlds"].as_array().unwrap().clone();
        let mut ids: Vec<String> = worlds.iter().map(|world| world["id"].as_str().unwrap().to_owned()).collect();
        ids.sort_unstable();
        ids
    };
    let mut sorted = ids.clone();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!((sorted.len(), &listed(&service)), (16, &sorted));
    service.kill();
    service = Service::start(folder.path(), &[]);
    assert_eq!(listed(&service), sorted, "no other on disk");
    let again = service.post_once("/v1/worlds", &body, "cut-3").unwrap();
    assert_eq!((again.status, again.json()["id"].as_str()), (201, Some(ids[3].as_str())));
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
}

/// Interrupted creations without a key: each world on disk is in the list.
#[test]
fn nothing_is_made_behind_the_list() {
    let folder = tempfile::tempdir().unwrap();
    let mut service = Service::start(folder.path(), &[]);
    let body = r#"{"scene":"large_pyramid:base=80"}"#;
    let text = format!(
        "POST /v1/worlds HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        service.address,
        body.len()
    );
    for number in 0..16 {
        let stream = open(&service, &text);
        std::thread::sleep(Duration::from_millis(3 * number));
        drop(stream);
    }
    // One more after all of them.
    service.make(&json!({ "scene": "slope" }));
    let count = |service: &Service| service.ask("/v1/worlds")["worlds"].as_array().unwrap().len();
    // Those that the service has begun may take a while.
    let (mut seen, mut since) = (count(&service), Instant::now());
    until("settled", || {
        let now = count(&service);
        if std::mem::replace(&mut seen, now) != now {
            since = Instant::now();
        }
        since.elapsed() > Duration::from_secs(3)
    });
    assert_eq!(service.stop(), Some(0));
    service = Service::start(folder.path(), &[]);
    assert_eq!(count(&service), seen);
}

/// A list continues at its position, though the world there was deleted.
#[test]
fn all_are_deleted_page_by_page() {
    let service = Service::start(Path::new("memory"), &[]);
    for _ in 0..25 {
        service.make(&json!({ "scene": "slope" }));
    }
    let (mut after, mut deleted) = (String::new(), 0);
    loop {
        let page = service.ask(&format!("/v1/worlds?limit=10{after}"));
        for world in page["worlds"].as_array().unwrap() {
            let path = format!("/v1/worlds/{}", world["id"].as_str().unwrap());
            assert_eq!(service.send("DELETE", &path, &[], b"").unwrap().status, 204);
            deleted += 1;
        }
        let Some(next) = page["next"].as_str() else { break };
        after = format!("&after={next}");
    }
    assert_eq!((deleted, &service.ask("/v1/worlds")["worlds"]), (25, &json!([])));
    // The id of an existing world works as well.
    let worlds = [0, 1].map(|_| service.make(&json!({ "scene": "slope" })));
    let ids: Vec<String> = service.ask("/v1/worlds")["worlds"]
        .as_array()
        .unwrap()
        .iter()
        .map(|world| world["id"].as_str().unwrap().to_owned())
        .collect();
    let rest = service.ask(&format!("/v1/worlds?after={}", ids[0]));
    assert_eq!(rest["worlds"][0]["id"], json!(ids[1]));
    assert_eq!(service.send("DELETE", &worlds[0], &[], b"").unwrap().status, 204);
    for wrong in
        [worlds[0].rsplit('/').next().unwrap(), "garbage", "1.", ".w", "x.w", "-1.w", "1.W", "99999999999999999999.w"]
    {
        let answer = service.get(&format!("/v1/worlds?after={wrong}")).unwrap();
        assert_eq!((answer.status, &answer.json()["path"]), (400, &json!("after")), "{wrong}");
    }
}

/// A token among several leaves half of the worlds and bodies to the others.
#[test]
fn one_token_leaves_half_to_others() {
    let folder = tempfile::tempdir().unwrap();
    let two = THREE.split("[[tokens]]\nname = 'boss'").next().unwrap();
    let limits = [("LIMITS_WORLDS", "6"), ("LIMITS_BODIES", "100"), ("LIMITS_TOTAL_BODIES", "300")];
    let limits = [limits[0], limits[1], limits[2], ("LIMITS_RESIDENT_BODIES", "300")];
    let (service, _) = start(folder.path(), two, &limits);
    let create = |token: &str, scene: &str| {
        let answer = send(&service, token, "POST", "/v1/worlds", Some(&json!({ "scene": scene })), None);
        (answer.status, answer.json()["detail"].as_str().unwrap_or_default().to_owned())
    };
    // 79 bodies each.
    let scene = "large_pyramid:base=12";
    assert_eq!(create("lab", scene).0, 201);
    let (status, detail) = create("lab", scene);
    assert!(status == 429 && detail.contains("half of limits.total_bodies"), "{detail}");
    assert_eq!(create("other", scene).0, 201);
    for _ in 0..2 {
        make(&service, "lab", None);
    }
    let (status, detail) = create("lab", "slope");
    assert!(status == 429 && detail.contains("3 worlds of this token"), "{detail}");
    make(&service, "other", None);
}
