//! Worlds with a contact rule.

use serde_json::{Value, json};

use crate::client::Service;
use crate::page::two_boxes;

fn ruled(lines: &[&str]) -> Value {
    let mut scene = two_boxes();
    scene["contact_rule"] = json!(lines);
    scene
}

/// A rule lets the boxes fall through the floor, also after a crash and a restart, to the bits of a world that was not
/// disturbed; a world beside it has none.
#[test]
fn a_world_keeps_its_rule() {
    let scene = ruled(&[
        "fn rule(contact: RuleContact) -> RuleContact {",
        "    var solved = contact;",
        "    solved.touches = 0u;",
        "    return solved;",
        "}",
    ]);
    let (folder, calm) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (mut service, twin) = (Service::start(folder.path(), &[]), Service::start(calm.path(), &[]));
    let (world, plain, other) = (service.make(&scene), service.make(&two_boxes()), twin.make(&scene));
    let step = |service: &Service, world: &str| {
        service.tell(&format!("{world}/step"), &json!({ "steps": 30 }));
        service.hash(world)
    };
    assert_eq!(step(&service, &world), step(&twin, &other));
    service.kill();
    service = Service::start(folder.path(), &[]);
    assert_eq!(step(&service, &world), step(&twin, &other));
    assert_eq!(service.stop(), Some(0));
    service = Service::start(folder.path(), &[]);
    assert_eq!(step(&service, &world), step(&twin, &other));
    step(&service, &plain);
    let height = |world: &str| service.ask(&format!("{world}/state"))["bodies"][1]["position"][1].as_f64().unwrap();
    assert!(height(&world) < -2.0 && height(&plain) > 0.0, "{} {}", height(&world), height(&plain));
}

/// A stranger's rule cannot run without end, reach into tables, or be longer than allowed: the answer names the place.
#[test]
fn rules_of_strangers_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    let head = "fn rule(contact: RuleContact) -> RuleContact {";
    let long = format!("// {}", "x".repeat(5000));
    let deep = format!("    let x = {}1.0{};", "(".repeat(1500), ")".repeat(1500));
    for (lines, part) in [
        (vec![head, "    loop {}", "}"], "line 2, column 5"),
        (vec![head, "    contacts[0].flags = 0u;", "    return contact;", "}"], "line 2, column 5"),
        (vec![head, "    return contact;", "}", "@compute @workgroup_size(1) fn more() {}"], "line 4, column 1"),
        (vec!["var<private> kept: f32;", head, "    return contact;", "}"], "line 1, column 1"),
        (vec![head, "    return contact;", "}", &long], "bytes"),
        (vec![head, &deep, "    return contact;", "}"], "line 2"),
        (vec!["fn other() {}"], "rule"),
    ] {
        let answer = service.post("/v1/worlds", &ruled(&lines)).unwrap();
        let told = answer.json();
        assert_eq!(answer.status, 422, "{told}");
        let told = told.to_string();
        assert!(told.contains("contact_rule") && told.contains(part), "{told}");
    }
    service.make(&ruled(&[head, "    return contact;", "}"]));
}
