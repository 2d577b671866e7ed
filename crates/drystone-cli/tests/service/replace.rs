//! The commands `replace`, `set_shapes`, `set` and `replace_joint`, which change bodies and joints that keep their ids;
//! and queries.

use serde_json::{Value, json};

use crate::client::Service;
use crate::page::two_boxes;

/// Two boxes with a rod between them.
fn tied() -> Value {
    let mut scene = two_boxes();
    scene["joints"] =
        json!([ { "type": "distance", "a": "low", "b": "high", "anchor_a": [0, 0], "anchor_b": [0, 0] } ]);
    scene
}

/// Replaces the upper box by a heavier one where it is now, with its joint.
fn heavier(service: &Service, world: &str) {
    let found = service.ask(&format!("{world}/bodies/high"));
    let (mut body, tie) = (found["body"].clone(), &found["joints"][0]);
    body["shapes"][0]["density"] = json!(5);
    let join = json!({ "a": tie["a"], "b": tie["b"], "joint": tie["joint"] });
    let commands = json!([ { "replace": { "body": "high", "with": body } }, { "join": join } ]);
    service.tell(&format!("{world}/commands"), &json!({ "commands": commands }));
}

#[test]
fn a_replaced_body_keeps_its_id() {
    let (folder, calm) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (mut service, twin) = (Service::start(folder.path(), &[]), Service::start(calm.path(), &[]));
    let (world, other, plain) = (service.make(&tied()), twin.make(&tied()), twin.make(&tied()));
    for (service, world) in [(&service, &world), (&twin, &other), (&twin, &plain)] {
        service.tell(&format!("{world}/step"), &json!({ "steps": 10 }));
    }
    let before = service.ask(&format!("{world}/state"))["bodies"][2].clone();
    heavier(&service, &world);
    heavier(&twin, &other);
    let mass = |service: &Service, world: &str| {
        let bodies = service.ask(&format!("{world}/bodies"));
        let high = bodies["bodies"].as_array().unwrap().iter().find(|body| body["name"] == "high").unwrap().clone();
        assert_eq!(high["id"], "2.0", "{high}");
        high["mass"].as_f64().unwrap()
    };
    assert!((mass(&service, &world) - 5.0).abs() < 1e-5);
    let after = service.ask(&format!("{world}/state"))["bodies"][2].clone();
    assert_eq!((&after["position"], &after["id"]), (&before["position"], &json!("2.0")));
    assert_eq!(service.ask(&world)["joints"], 1);
    // From the log, from a checkpoint, and to the same bits as without a crash.
    service.kill();
    service = Service::start(folder.path(), &[]);
    let step = |service: &Service, world: &str| {
        service.tell(&format!("{world}/step"), &json!({ "steps": 40 }));
        service.hash(world)
    };
    assert!((mass(&service, &world) - 5.0).abs() < 1e-5);
    assert_eq!(step(&service, &world), step(&twin, &other));
    assert_eq!(service.stop(), Some(0));
    service = Service::start(folder.path(), &[]);
    let now = step(&service, &world);
    assert_eq!(now, step(&twin, &other));
    assert_ne!(now, step(&twin, &plain), "the mass counts");
    // As a scene, and rewound to before it.
    let scene = service.ask(&format!("{world}/scene"));
    assert_eq!(scene["bodies"][2]["shapes"][0]["density"], 5.0, "{scene}");
}

#[test]
fn what_cannot_be_replaced_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    let world = service.make(&tied());
    let first = service.hash(&world);
    let shape = json!([{ "box": { "half": [0.5, 0.5] }, "density": -1 }]);
    for (body, with, path) in [
        ("high", json!({ "shapes": shape }), "commands[0].replace.with.shapes[0].density"),
        ("high", json!({ "shape": 1 }), "commands[0].replace.with.shape"),
        ("high", json!({ "id": "low", "shapes": [{ "box": { "half": [0.5, 0.5] } }] }), "commands[0].replace.with.id"),
        ("highest", json!({ "shapes": [] }), "commands[0].replace.body"),
    ] {
        let commands = json!({ "commands": [ { "replace": { "body": body, "with": with } } ] });
        let answer = service.post(&format!("{world}/commands"), &commands).unwrap();
        let problem = answer.json();
        assert_eq!((answer.status, problem["path"].as_str()), (422, Some(path)), "{problem}");
    }
    // A half plane would need another body.
    let plane = json!({ "type": "static", "shapes": [{ "half_plane": { "normal": [0, 1] } }] });
    let commands = json!({ "commands": [ { "replace": { "body": "high", "with": plane } } ] });
    let answer = service.post(&format!("{world}/commands"), &commands).unwrap();
    assert_eq!((answer.status, answer.json()["path"].as_str()), (422, Some("commands[0].replace.with.shapes")));
    assert_eq!((service.hash(&world), &service.ask(&world)["joints"]), (first, &json!(1)));
}

/// In a pool of small worlds on a device, too; the other worlds of the pool stay as they are.
#[test]
fn a_body_of_a_pool_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::on_device(folder.path(), &[]);
    let worlds = [0; 3].map(|_| service.make(&tied()));
    heavier(&service, &worlds[1]);
    let hashes = worlds.each_ref().map(|world| {
        service.tell(&format!("{world}/step"), &json!({ "steps": 30 }));
        service.hash(world)
    });
    assert_eq!(hashes[0], hashes[2]);
    assert_ne!(hashes[0], hashes[1]);
    assert_eq!(service.ask(&format!("{}/bodies/high", worlds[1]))["id"], "2.0");
}

/// A world that was changed and has survived a crash, and one beside it without the changes.
struct Survived {
    service: Service,
    world: String,
    twin: Service,
    plain: String,
    _folders: [tempfile::TempDir; 2],
}

/// Gives commands to a world of boxes. It continues from the log of a killed service, and from a checkpoint, to the
/// same bits as a world whose service runs on; the world without the commands has others. Between these are `steps`
/// steps.
fn survived(commands: &Value, steps: u32) -> Survived {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let [mut service, twin] = folders.each_ref().map(|folder| Service::start(folder.path(), &[]));
    let (world, other, plain) = (service.make(&tied()), twin.make(&tied()), twin.make(&tied()));
    for (service, world) in [(&service, &world), (&twin, &other), (&twin, &plain)] {
        service.tell(&format!("{world}/step"), &json!({ "steps": 10 }));
    }
    service.tell(&format!("{world}/commands"), commands);
    twin.tell(&format!("{other}/commands"), commands);
    service.kill();
    service = Service::start(folders[0].path(), &[]);
    let step = |service: &Service, world: &str| {
        service.tell(&format!("{world}/step"), &json!({ "steps": steps }));
        service.hash(world)
    };
    assert_eq!(step(&service, &world), step(&twin, &other), "from the log");
    assert_eq!(service.stop(), Some(0));
    service = Service::start(folders[0].path(), &[]);
    let now = step(&service, &world);
    assert_eq!(now, step(&twin, &other), "from a checkpoint");
    assert_ne!(now, step(&twin, &plain), "the changes count");
    Survived { service, world, twin, plain, _folders: folders }
}

/// Fails unless a command is refused with a path, which begins after `commands[0]`.
fn refused(service: &Service, world: &str, command: &Value, path: &str) {
    let answer = service.post(&format!("{world}/commands"), &json!({ "commands": [command] })).unwrap();
    let problem = answer.json();
    let path = format!("commands[0].{path}");
    assert_eq!((answer.status, problem["path"].as_str()), (422, Some(path.as_str())), "{problem}");
}

/// Properties and joints are set on bodies that run, and stay so after a crash and a restart, to the same bits.
#[test]
fn properties_and_joints_are_set_while_it_runs() {
    let motor = json!({ "type": "distance", "motor": { "speed": 0.5, "max": 1e4 } });
    let commands = json!({ "commands": [
        { "set": { "bodies": ["low", "2.0"], "properties": { "gravity_scale": 0, "friction": 0.1 } } },
        { "set": { "bodies": [1], "properties": { "type": "kinematic" } } },
        { "replace_joint": { "joint": 0, "with": motor } },
    ] });
    let Survived { service, world, twin, plain, .. } = &survived(&commands, 60);
    // The motor moves the boxes apart, by 0.5 m/s for two seconds.
    let apart = |service: &Service, world: &str| {
        let bodies = service.ask(&format!("{world}/state"))["bodies"].clone();
        let at = |body: usize, axis: usize| bodies[body]["position"][axis].as_f64().unwrap();
        (at(2, 0) - at(1, 0)).hypot(at(2, 1) - at(1, 1))
    };
    let (rest, now) = (apart(twin, plain), apart(service, world));
    assert!((now - rest - 1.0).abs() < 0.05, "{rest} m, then {now} m");
    assert_eq!(service.ask(&format!("{world}/bodies/low"))["body"]["type"], "kinematic");

    let first = service.hash(world);
    for (command, path) in [
        (json!({ "set": { "bodies": ["low"], "properties": { "friction": -1 } } }), "set.properties.friction"),
        (
            json!({ "set": { "bodies": ["low", "high"], "properties": { "mass": 1, "inertia": 0 } } }),
            "set.properties.inertia",
        ),
        (json!({ "set": { "bodies": ["low"], "properties": { "colour": 1 } } }), "set.properties.colour"),
        (json!({ "set": { "bodies": ["low"], "properties": {} } }), "set.properties"),
        (json!({ "set": { "bodies": ["low", "lost"], "properties": { "mass": 1 } } }), "set.bodies[1]"),
        (json!({ "replace_joint": { "joint": 4, "with": motor } }), "replace_joint.joint"),
        (
            json!({ "replace_joint": { "joint": 0, "with": { "type": "distance", "length": -1 } } }),
            "replace_joint.with.length",
        ),
        (json!({ "replace_joint": { "joint": 0, "with": { "type": "distance", "b": 1 } } }), "replace_joint.with.b"),
    ] {
        refused(service, world, &command, path);
    }
    assert_eq!(service.hash(world), first);
}

/// Shapes of a body that runs are changed, and stay so after a crash and from a checkpoint, to the same bits.
#[test]
fn shapes_are_set_while_it_runs() {
    let shapes =
        json!([{ "box": { "half": [0.5, 0.5] } }, { "circle": { "radius": 0.25 }, "offset": [1, 0], "density": 8 }]);
    let commands = json!({ "commands": [ { "set_shapes": { "body": "high", "shapes": shapes } } ] });
    let Survived { service, world, .. } = &survived(&commands, 30);
    let found = service.ask(&format!("{world}/bodies/high"));
    assert_eq!((&found["id"], &found["body"]["shapes"][1]["density"]), (&json!("2.0"), &json!(8.0)), "{found}");
    assert_eq!(service.ask(world)["joints"], 1);

    let first = service.hash(world);
    for (shapes, path) in [
        (json!([]), "shapes"),
        (json!([{ "box": { "half": [0.5, 0.5] } }, { "circle": { "radius": -1 } }]), "shapes[1].circle.radius"),
        (json!([{ "half_plane": { "normal": [0, 1] } }]), "shapes[0].half_plane"),
        (json!([{ "ball": 1 }]), "shapes[0].ball"),
    ] {
        let command = json!({ "set_shapes": { "body": "high", "shapes": shapes } });
        refused(service, world, &command, &format!("set_shapes.{path}"));
    }
    assert_eq!(service.hash(world), first);
}

/// Neither a command nor many make a body have more shapes than the service allows.
#[test]
fn shapes_that_are_set_count_against_the_limit() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[("LIMITS_SHAPES", "8")]);
    let world = service.make(&tied());
    let circles = |count: usize| json!(vec![json!({ "circle": { "radius": 0.1 } }); count]);
    let told =
        |command: Value| service.post(&format!("{world}/commands"), &json!({ "commands": [command] })).unwrap().status;
    assert_eq!(told(json!({ "set_shapes": { "body": "high", "shapes": circles(7) } })), 422);
    assert_eq!(told(json!({ "replace": { "body": "high", "with": { "shapes": circles(7) } } })), 422);
    assert_eq!(told(json!({ "set_shapes": { "body": "high", "shapes": circles(6) } })), 200);
    assert_eq!(told(json!({ "set_shapes": { "body": "low", "shapes": circles(2) } })), 422);
}

/// Velocities of a joint are set by a command, and stay so after a crash and from a checkpoint, to the same bits.
#[test]
fn a_joint_drives_at_the_velocity_of_a_command() {
    let folder = tempfile::tempdir().unwrap();
    let mut service = Service::start(folder.path(), &[]);
    let world = service.make(&json!({ "scene": { "version": 1, "gravity": [0, 0],
        "bodies": [{ "id": "puck", "sleep_speed": 0.01, "shapes": [{ "circle": { "radius": 0.5 } }] }],
        "joints": [{ "id": "drive", "type": "velocity", "b": "puck", "max_force": 1e4, "max_torque": 1e4 }] } }));
    let drive = json!({ "joint_velocity": { "joint": "drive", "linear": [1, -2], "angular": 0.5 } });
    service.tell(&format!("{world}/commands"), &json!({ "commands": [drive] }));
    let moves = |service: &Service| {
        service.tell(&format!("{world}/step"), &json!({ "steps": 30 }));
        let body = service.ask(&format!("{world}/state"))["bodies"][0].clone();
        let [x, y] = [0, 1].map(|axis| body["velocity"][axis].as_f64().unwrap());
        assert!((x - 1.0).hypot(y + 2.0) < 1e-3, "{body}");
        assert!((body["angular_velocity"].as_f64().unwrap() - 0.5).abs() < 1e-3, "{body}");
        service.hash(&world)
    };
    moves(&service);
    service.kill();
    service = Service::start(folder.path(), &[]);
    moves(&service);
    // Its scene, with what commands have set, is a world of its own.
    let scene = service.ask(&format!("{world}/scene"));
    assert_eq!(scene["joints"][0]["velocity"], json!([1.0, -2.0]), "{scene}");
    assert_eq!(scene["bodies"][0]["sleep_speed"], json!(0.01), "{scene}");
    assert_eq!(service.stop(), Some(0));
    service = Service::start(folder.path(), &[]);
    moves(&service);
    let wrong = json!({ "commands": [{ "motor": { "joint": "drive", "speed": 1, "max": 1 } }] });
    assert_eq!(service.post(&format!("{world}/commands"), &wrong).unwrap().status, 422);
}

/// Casts, all hits of a ray, and queries that leave out a body.
#[test]
fn queries_find_the_first_and_all() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[("LIMITS_FOUND", "3")]);
    let world = service.make(&two_boxes());
    let ball = json!({ "circle": { "radius": 0.25 } });
    let ask = |queries: Value| service.post(&format!("{world}/query"), &json!({ "queries": queries })).unwrap();
    let through = json!({ "from": [3, 10], "to": [3, -10] });
    let ignoring = |mut query: Value| {
        query["ignore"] = json!("2.0");
        query
    };
    let answer = ask(json!([
        { "ray_all": through },
        { "ray": through },
        { "ray": ignoring(through.clone()) },
        { "cast": { "shape": ball, "position": [3, 10], "motion": [0, -20] } },
        { "cast": { "shape": ball, "position": [30, 10], "motion": [0, -1] } },
    ]));
    assert_eq!(answer.status, 200);
    let answers = answer.json()["answers"].clone();
    let bodies: Vec<&str> =
        answers[0]["hits"].as_array().unwrap().iter().map(|hit| hit["body"].as_str().unwrap()).collect();
    assert_eq!(bodies, ["2.0", "0.0"], "{answers}");
    assert_eq!(answers[1]["hit"], answers[0]["hits"][0]);
    assert_eq!(answers[2]["hit"]["body"], "0.0");
    let (ray, cast) = (&answers[1]["hit"], &answers[3]["hit"]);
    assert_eq!((&cast["body"], &cast["depth"], &ray["depth"]), (&json!("2.0"), &json!(0.0), &Value::Null));
    let nearer = ray["fraction"].as_f64().unwrap() - cast["fraction"].as_f64().unwrap();
    assert!((nearer - 0.25 / 20.0).abs() < 1e-4, "{answers}");
    assert_eq!(answers[4]["hit"], Value::Null);
    for (queries, status, path) in [
        (json!([{ "ray": { "from": [0, 0], "to": [1, 0], "ignore": "9.0" } }]), 422, "queries[0]"),
        (json!([{ "ray": { "from": [0, 0], "to": [1, 0], "ignore": "box" } }]), 422, "queries[0].ray.ignore"),
        (
            json!([{ "point": { "at": [0, 90] } }, { "cast": { "shape": { "circle": { "radius": 0 } }, "position": [0, 0], "motion": [0, 0] } }]),
            422,
            "queries[1].cast.shape.circle.radius",
        ),
        (json!([{ "ray_all": through }, { "ray_all": through }]), 422, "queries[1]"),
    ] {
        let answer = ask(queries);
        let problem = answer.json();
        assert_eq!((answer.status, problem["path"].as_str()), (status, Some(path)), "{problem}");
    }
}
