//! Series of a world, a row per step, and bodies with their joints as in a scene.

use serde_json::{Value, json};

use crate::client::Service;
use crate::page::numbers;

/// A weight on a spring, and a ball that flies past.
fn weight() -> Value {
    json!({ "version": 1, "bodies": [
        { "id": "weight", "position": [0, -1], "mass": 2, "shapes": [ { "circle": { "radius": 0.2 } } ] },
        { "id": "ball", "position": [5, 0], "velocity": [1, 3], "shapes": [ { "circle": { "radius": 0.2 } } ] } ],
      "joints": [ { "id": "coil", "type": "spring", "b": "weight", "rest_length": 1, "stiffness": 30, "damping": 0.5 } ] })
}

fn steps(rows: &Value) -> Vec<u64> {
    rows.as_array().unwrap().iter().map(|row| row["step"].as_u64().unwrap()).collect()
}

/// Rows of all steps, though the client asks seldom; each is what the state and the metrics say after its step.
#[test]
fn series_have_a_row_per_step() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    let (world, twin) = (service.make(&weight()), service.make(&weight()));
    let series = |query: &str| service.ask(&format!("{world}/series{query}"));
    let run = |steps: u64| service.tell(&format!("{world}/step"), &json!({ "steps": steps }));
    run(3);
    let first = series("?body=weight");
    assert_eq!((steps(&first["energies"]), steps(&first["body"]["rows"])), (vec![3], vec![3]), "{first}");
    run(40);
    let all = series("?body=0.0&from=3");
    let expected: Vec<u64> = (3..=43).collect();
    assert_eq!((steps(&all["energies"]), steps(&all["body"]["rows"])), (expected.clone(), expected));
    assert_eq!((&all["body"]["id"], &all["step"]), (&json!("0.0"), &json!(43)));
    for step in 1..=43 {
        service.tell(&format!("{twin}/step"), &json!({}));
        if step < 3 {
            continue;
        }
        let (metrics, state) = (service.ask(&format!("{twin}/metrics")), service.ask(&format!("{twin}/state")));
        let (energy, motion) = (&all["energies"][step - 3], &all["body"]["rows"][step - 3]);
        for kind in ["kinetic", "potential", "elastic"] {
            assert_eq!(energy[kind], metrics["metrics"][format!("{kind}_energy")], "step {step}");
        }
        for key in ["position", "velocity"] {
            let (row, body) = (numbers(&motion[key]), numbers(&state["bodies"][0][key]));
            assert!(row.iter().zip(body).all(|(row, body)| *row as f32 == body as f32), "step {step}: {motion}");
        }
    }
    // The elastic energy is that of the spring at this length.
    let last = &all["body"]["rows"][40];
    let [x, y] = numbers(&last["position"]);
    let drawn = x.hypot(y) - 1.0;
    let elastic = all["energies"][40]["elastic"].as_f64().unwrap();
    assert!((elastic - 15.0 * drawn * drawn).abs() < 1e-4 * elastic, "{elastic} J at {drawn} m");
    // Another body has no rows before its first request; a part; a rewind drops rows.
    assert_eq!(steps(&series("?body=1")["body"]["rows"]), [43]);
    assert_eq!(steps(&series("?from=41")["energies"]), [41, 42, 43]);
    service.tell(&format!("{world}/rewind"), &json!({ "steps": 5 }));
    assert_eq!(steps(&series("?from=36")["energies"]), [36, 37, 38]);
    run(1);
    assert_eq!(steps(&series("?from=37")["energies"]), [37, 38, 39]);
    // A command changes the row of the present step.
    let before = series("?from=39")["energies"][0]["kinetic"].clone();
    service.tell(&format!("{world}/commands"), &json!({ "commands": [ { "gravity": { "gravity": [0, -1] } } ] }));
    let now = &series("?from=39")["energies"][0];
    assert_eq!(now["kinetic"], before);
    assert_ne!(now["potential"], all["energies"][36]["potential"]);
    // Mistakes.
    let wrong = service.get(&format!("{world}/series?body=7.0")).unwrap();
    assert_eq!((wrong.status, &wrong.json()["path"]), (422, &json!("body")));
    assert_eq!(service.get(&format!("{world}/series?from=x")).unwrap().status, 400);
}

/// Body and joints of the answer can be given back to `spawn` and `join`, with one number changed.
#[test]
fn a_body_is_had_with_its_joints() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    let world = service.make(&weight());
    service.tell(&format!("{world}/step"), &json!({ "steps": 30 }));
    let body = |name: &str| service.ask(&format!("{world}/bodies/{name}"));
    let weight = body("weight");
    assert_eq!((&weight["id"], &weight["body"]["mass"], &weight["step"]), (&json!("0.0"), &json!(2.0), &json!(30)));
    let state = service.ask(&format!("{world}/state"));
    let (own, there) = (numbers(&weight["body"]["position"]), numbers(&state["bodies"][0]["position"]));
    assert!((own[1] - there[1]).abs() < 1e-6 && own[1] < -1.01, "{own:?} {there:?}");
    let coil = &weight["joints"][0];
    assert_eq!((&coil["id"], &coil["a"], &coil["b"]), (&json!("0.0"), &Value::Null, &json!("0.0")));
    assert_eq!((&coil["joint"]["stiffness"], &coil["joint"]["id"]), (&json!(30.0), &json!("coil")));
    assert_eq!(body("1")["joints"], json!([]), "the ball has none");
    // The same joint, twice as stiff: nothing else has changed.
    let mut joint = coil["joint"].clone();
    joint["stiffness"] = json!(60);
    let commands = json!([ { "unjoin": { "joints": ["coil"] } }, { "join": { "b": "0.0", "joint": joint } } ]);
    service.tell(&format!("{world}/commands"), &json!({ "commands": commands }));
    let mut expected = coil["joint"].clone();
    expected["stiffness"] = json!(60.0);
    let now = &body("weight")["joints"][0];
    assert_eq!(now["joint"], expected);
    assert_ne!(now["id"], coil["id"]);
    // Ids of removed bodies are not those of others.
    service.tell(&format!("{world}/commands"), &json!({ "commands": [ { "remove": { "bodies": ["1.0"] } } ] }));
    for name in ["1.0", "1", "nobody"] {
        assert_eq!(service.get(&format!("{world}/bodies/{name}")).unwrap().status, 404, "{name}");
    }
}

/// Worlds on a device have series, and are had as scenes, as those on the CPU: alone, and in a pool with others.
#[test]
fn worlds_on_a_device_are_had_as_scenes() {
    let (folder, calm) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (device, cpu) = (Service::on_device(folder.path(), &[]), Service::start(calm.path(), &[]));
    let (worlds, twin) = ([device.make(&weight()), device.make(&weight())], cpu.make(&weight()));
    for (service, world) in worlds.iter().map(|world| (&device, world)).chain([(&cpu, &twin)]) {
        service.ask(&format!("{world}/series?body=weight"));
        service.tell(&format!("{world}/step"), &json!({ "steps": 20 }));
    }
    let expected = cpu.ask(&format!("{twin}/series?body=weight"));
    assert_eq!(device.ask(&worlds[0])["backend"], "gpu");
    for world in &worlds {
        let found = device.ask(&format!("{world}/series?body=weight"));
        assert_eq!(steps(&found["body"]["rows"]), (0..=20).collect::<Vec<u64>>());
        for (row, other) in [(&found, 20), (&found, 7)].map(|(all, step)| (&all["energies"][step], step)) {
            let twin = &expected["energies"][other];
            for kind in ["kinetic", "potential", "elastic"] {
                let (a, b) = (row[kind].as_f64().unwrap(), twin[kind].as_f64().unwrap());
                assert!((a - b).abs() < 1e-3 * b.abs().max(1.0), "{kind}: {a} J, on the CPU {b} J");
            }
        }
        let scene = device.ask(&format!("{world}/scene"));
        assert!(scene["bodies"].as_array().unwrap().len() == 2 && scene.get("settings").is_none(), "{scene}");
        assert_eq!(device.ask(&format!("{world}/bodies/weight"))["joints"][0]["joint"]["stiffness"], 30.0);
    }
}
