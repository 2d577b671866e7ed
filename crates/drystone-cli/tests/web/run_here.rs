//! Pages of the worlds of a service: made by a request, and opened by a button of the service's page.

use serde_json::{Value, json};

use crate::browser::{Browser, WEBGPU};
use crate::client::Service;

/// A button opens the world, as it is now, in a new tab, where it steps; with a token, and under the policy of the
/// service's page.
#[test]
fn worlds_open_as_pages() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[("TOKEN", "a-token-of-this-test")]);
    let world = service.make(&json!({ "scene": "vertical_stack:count=3" }));
    service.tell(&format!("{world}/step"), &json!({ "steps": 7 }));
    let shot = json!([{ "velocity": { "body": 3, "velocity": [3, 0] } }]);
    service.tell(&format!("{world}/commands"), &json!({ "commands": shot }));
    let before = service.ask(&format!("{world}/state"));

    let mut browser = Browser::open_with(&WEBGPU, &format!("http://{}/", service.address), 1280, 720);
    browser.until("asking && document.activeElement === $('token')");
    browser.text("a-token-of-this-test");
    browser.key("Enter");
    browser.until("drawn && status && status.state === 'paused'");
    browser.eval("$('more').open = true");
    browser.picture("run-here-menu");
    browser.click("#run-here");
    browser.until("$('told').textContent === 'opened in a new tab'");
    assert_eq!(browser.eval("$('say').textContent"), "");
    browser.follow("blob:");
    browser.until("window.drystone?.control");
    assert_eq!(browser.eval("document.title"), "vertical_stack:count=3 · Drystone");
    browser.eval("drystone.ready.then(() => { drystone.pause(); return drystone.restart().then(() => true); })");
    let poses = browser.eval("drystone.poses().then((all) => Array.from(all))");
    for (body, row) in before["bodies"].as_array().unwrap().iter().zip(poses.as_array().unwrap().chunks_exact(4)) {
        for axis in 0..2 {
            let away = body["position"][axis].as_f64().unwrap() - row[axis].as_f64().unwrap();
            assert!(away.abs() < 1e-5, "{body} {row:?}");
        }
    }
    browser.eval("drystone.step(10).then(() => true)");
    let moved = browser.eval("drystone.poses().then((all) => all[12])").as_f64().unwrap();
    let start = poses[12].as_f64().unwrap();
    assert!(moved - start > 0.2, "it begins with the present velocity: {start} to {moved}");
    assert_eq!(browser.eval("drystone.errors"), Value::Array(Vec::new()));
    // Its style sheet is allowed as well.
    assert_eq!(browser.eval("getComputedStyle(document.querySelector('canvas')).position"), "fixed");
    browser.picture("run-here");
    // Negative control: the policy lets no other program of a page run.
    let inserted = "(() => { const script = document.createElement('script'); script.textContent = 'window.strange = 1'; \
         document.body.append(script); return window.strange === undefined; })()";
    assert_eq!(browser.eval(inserted), true);
    assert_eq!(service.ask(&world)["step"], 7, "the world in the service stays");
    browser.errors.retain(|error| !error.contains("401") && !error.contains("Content Security Policy"));
    assert_eq!(browser.errors, Vec::<String>::new());
}

/// Requests for pages: headers, and refusals with their reasons.
#[test]
fn services_export_pages() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    let world = service.make(&json!({ "scene": "vertical_stack:count=3" }));
    let answer = service.get(&format!("{world}/page")).unwrap();
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("text/html; charset=utf-8")));
    let policy = answer.header("content-security-policy").unwrap();
    assert!(policy.contains("script-src 'sha256-") && !policy.contains("unsafe"), "{policy}");
    let html = String::from_utf8(answer.body).unwrap();
    assert_eq!(drystone_web::stamp_of(&html), Some(&*drystone_web::stamp().unwrap()));

    let rain = service.make(&json!({ "scene": "rain" }));
    let refused = service.get(&format!("{rain}/page")).unwrap();
    assert_eq!((refused.status, refused.header("content-type")), (422, Some("application/problem+json")));
    let detail = refused.json()["detail"].as_str().unwrap().to_owned();
    assert!(detail.contains("emitters[0] adds bodies"), "{detail}");
    assert_eq!(service.get("/v1/worlds/nothing/page").unwrap().status, 404);

    let large = service.make(&json!({ "scene": "large_pyramid:base=450" }));
    let refused = service.get(&format!("{large}/page")).unwrap();
    let detail = refused.json()["detail"].as_str().unwrap().to_owned();
    assert!(refused.status == 422 && detail.contains("at most 200000 in a page"), "{detail}");

    // A browser that opens it directly is under the page's own policy.
    let mut browser = Browser::open_with(&WEBGPU, &format!("http://{}{world}/page", service.address), 800, 600);
    browser.until("window.drystone?.control");
    assert_eq!(browser.eval("drystone.errors"), Value::Array(Vec::new()));
    assert_eq!(browser.errors, Vec::<String>::new());
}
