//! The scene file: errors and their positions, reading, writing, and the schema.
//!
//! `DRYSTONE_FUZZ_SECONDS=600 cargo test --release --test scenes mutated` fuzzes for ten minutes.

mod catalogue;
mod catalogue_runs;
mod catalogue_samples;
mod materials;

use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use drystone::low_level::scene::check::has_spring;
use drystone::low_level::scene::{StartCondition, TimedAction, TimedCommand};
use drystone::{Body, BodyType, Emitter, Field, Filter, Geometry, Mixing, Mode, Scene, Settings, Shape, ViewBox};
use drystone::{Command, Joint, JointCommand, JointKind, Material, Motor, Spring};
use drystone_rules::contact_rule;
use drystone_scenes::file::{self, FileError, FileErrorKind};
use drystone_scenes::random::SplitMix;
use glam::Vec2;
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;

const TWO_BOXES: &str = include_str!("good_scenes/two_boxes.json");
const EVERYTHING_JSON: &str = include_str!("good_scenes/everything.json");
const EVERYTHING_RON: &str = include_str!("good_scenes/everything.ron");
const ALL_KINDS_JSON: &str = include_str!("good_scenes/all_kinds.json");
const ALL_KINDS_RON: &str = include_str!("good_scenes/all_kinds.ron");
const GOOD: [(&str, &str); 5] = [
    ("two_boxes.json", TWO_BOXES),
    ("everything.json", EVERYTHING_JSON),
    ("everything.ron", EVERYTHING_RON),
    ("all_kinds.json", ALL_KINDS_JSON),
    ("all_kinds.ron", ALL_KINDS_RON),
];

/// Returns name and text of each case in `tests/bad_scenes/cases.txt`.
fn bad_scenes() -> Vec<(&'static str, &'static str)> {
    let cases = include_str!("bad_scenes/cases.txt").split("\n=== ").skip(1);
    cases.map(|case| case.split_once('\n').expect("a line of its own for the name")).collect()
}

fn is(name: &str, extension: &str) -> bool {
    Path::new(name).extension().is_some_and(|found| found == extension)
}

fn schema() -> jsonschema::Validator {
    let schema = serde_json::from_str(&file::json_schema()).expect("the schema is JSON");
    jsonschema::draft202012::new(&schema).expect("the schema is a schema")
}

/// Checks what holds for every error message.
fn assert_tells(error: &FileError, text: &str, name: &str) {
    let shown = error.to_string();
    assert!(!error.problem.is_empty() && !error.expected.is_empty(), "{shown}");
    assert!(shown.starts_with(&format!("{name}:")), "no name: {shown}");
    assert!(shown.contains(&error.path), "no path: {shown}");
    assert!(!shown.contains(char::is_control), "control characters: {shown:?}");
    assert!(shown.len() < 3000, "too long: {shown}");
    let place = error.place.as_ref().expect("a place");
    assert!(shown.starts_with(&format!("{name}:{}:{}: ", place.line, place.column)), "no place: {shown}");
    assert_eq!(place.text, text);
    assert!(text.get(place.span.clone()).is_some(), "span {:?}: {shown}", place.span);
    if error.kind == FileErrorKind::Value {
        assert!(!error.path.is_empty(), "no path: {shown}");
    }
}

#[test]
fn bad_scenes_have_precise_errors() {
    let schema = schema();
    let mut told = String::new();
    let cases = bad_scenes();
    assert!(cases.len() >= 400, "only {} cases", cases.len());
    let accepted: Vec<&str> =
        cases.iter().filter(|(name, text)| file::parse(text, name).is_ok()).map(|(name, _)| *name).collect();
    assert!(accepted.is_empty(), "{accepted:?} are read");
    for (name, text) in cases {
        let error = file::parse(text, name).expect_err(name);
        assert_tells(&error, text, name);
        let place = error.place.as_ref().expect("a place");
        let _ = writeln!(told, "{error}\n  {:?} at {:?}", error.kind, &text[place.span.clone()]);
        if let (true, Ok(value)) = (is(name, "json"), serde_json::from_str::<serde_json::Value>(text)) {
            let refused = !schema.is_valid(&value);
            // serde_json's Value keeps only the last of two equal keys.
            if error.kind == FileErrorKind::Structure && error.problem != "is given twice" {
                assert!(refused, "the schema accepts {name}: {error}");
            }
            let _ = writeln!(told, "  schema {}", if refused { "refuses" } else { "accepts" });
        }
    }
    insta::assert_snapshot!("bad_scenes", told);
}

#[test]
fn paths_and_places_are_those_of_the_value() {
    // An independent reader that follows the path of an error finds the very text that its span covers.
    let mut followed = 0;
    for (name, text) in bad_scenes() {
        let Err(error) = file::parse(text, name) else { panic!("{name} is read") };
        let Ok(value) = serde_json::from_str::<serde_json::Value>(text) else { continue };
        if error.kind != FileErrorKind::Value || error.path.is_empty() {
            continue;
        }
        let pointer = error.path.replace(['.', '['], "/").replace(']', "");
        let Some(found) = value.pointer(&format!("/{pointer}")) else {
            assert!(error.problem.contains("missing"), "{name}: no {}", error.path);
            continue;
        };
        let place = error.place.expect("a place");
        let covered = &text[place.span];
        match found {
            serde_json::Value::Object(_) => assert_eq!(covered, "{", "{name}"),
            serde_json::Value::Array(_) => assert_eq!(covered, "[", "{name}"),
            found => assert_eq!(&serde_json::from_str::<serde_json::Value>(covered).expect(name), found, "{name}"),
        }
        followed += 1;
    }
    assert!(followed > 200, "followed only {followed}");
}

#[test]
fn the_example_of_the_contract_is_read() {
    let mut expected = Scene::new("two boxes");
    expected.settings.dt = 0.016_666_667;
    expected.settings.substeps = Some(4);
    expected.add(Body::fixed(0.0, 0.0).shape(Shape::half_box(50.0, 1.0).offset(0.0, -1.0)));
    let mut a = Body::dynamic(0.0, 0.5).id("a").shape(Shape::half_box(0.5, 0.5).kinetic_friction(0.6));
    a.force_point = Some(Vec2::new(0.5, 0.0));
    expected.add(a);
    assert_eq!(file::parse(TWO_BOXES, "two_boxes.json"), Ok(expected));
}

#[test]
fn every_key_is_read() {
    let settings = Settings {
        dt: 0.01,
        substeps: Some(8),
        iterations: Some(20),
        length_unit: Some(0.5),
        mode: Mode::Projection,
        relax: false,
        warm_start: false,
        initial_loads: false,
        mass_scaling: false,
        accumulate: false,
        baumgarte: 0.3,
        contact_hertz: Some(90.0),
        contact_damping_ratio: 5.0,
        push_speed: Some(2.0),
        slop: Some(0.001),
        correct_position: false,
        recycle: false,
        continuous: false,
        restitution_threshold: Some(0.5),
        restitution_mix: Mixing::Max,
        friction_mix: Mixing::Mean,
        max_speed: Some(300.0),
        max_spin: Some(50.0),
        strict: true,
        events: true,
        sleep: true,
    };
    let (materials, material_pairs) = materials::everything();
    let [ice, rubber] = [materials[0].material, materials[1].material];
    let body = Body {
        id: Some("spinner \u{1f300}".to_owned()),
        kind: BodyType::Kinematic,
        position: Vec2::new(-1.5, 2.25),
        position_low: Vec2::new(2.0_f32.powi(-30), 0.0),
        angle: 0.5,
        velocity: Vec2::new(1.0, -2.0),
        angular_velocity: 3.0,
        gravity_scale: 0.5,
        linear_damping: 0.1,
        angular_damping: 0.2,
        fixed_rotation: true,
        bullet: true,
        can_sleep: false,
        sleep_speed: Some(0.125),
        force: Vec2::new(4.0, 5.0),
        force_point: Some(Vec2::new(0.25, -0.25)),
        torque: 6.0,
        mass: Some(7.0),
        inertia: Some(8.0),
        path: None,
        color_index: Some(9),
        user_data: u64::MAX,
        shapes: vec![
            Shape::circle(0.75)
                .offset(0.5, -0.5)
                .rotation(1.5)
                .density(2.5)
                .friction(0.4)
                .kinetic_friction(0.3)
                .restitution(0.9)
                .tangent_speed(-1.5)
                .rolling_resistance(0.01)
                .filter(Filter { category: 2, mask: 4_294_967_293, group: -3 })
                .sensor(),
            Shape::half_box(1.0, 0.125),
            Shape::circle(1.0).material(rubber),
            Shape::circle(2.0).material(Material { friction: 0.5, kinetic_friction: None, restitution: 0.0, ..rubber }),
            Shape::circle(3.0).material(ice),
        ],
    };
    let expected = Scene {
        name: "everything".to_owned(),
        gravity: Vec2::new(0.5, -1.62),
        settings,
        materials,
        material_pairs,
        bodies: vec![body],
        joints: vec![],
        fields: vec![],
        emitters: vec![],
        timeline: vec![],
        view: Some(ViewBox { min: Vec2::new(-8.0, -1.5), max: Vec2::new(8.0, 7.5) }),
        contact_rule: Some(
            contact_rule("fn rule(contact: RuleContact) -> RuleContact {\n    return contact;\n}\n").unwrap(),
        ),
    };
    assert_eq!(file::parse(EVERYTHING_JSON, "everything.json").as_ref(), Ok(&expected));
    assert_eq!(file::parse(EVERYTHING_RON, "everything.ron").as_ref(), Ok(&expected));
    assert_eq!(file::parse(EVERYTHING_JSON, "-").as_ref(), Ok(&expected), "recognised by content");
    assert_eq!(file::parse(EVERYTHING_RON, "-").as_ref(), Ok(&expected), "recognised by content");
}

/// Returns a scene with every shape and every type of joint, with all their keys.
fn all_kinds() -> Scene {
    let mut scene = Scene::new("all kinds");
    let post = Body::fixed(0.0, 0.0)
        .id("post")
        .shape(Shape::segment([-5.0, 0.0], [5.0, 0.5]))
        .shape(Shape::half_plane([0.6, 0.8], -3.0).tangent_speed(2.0))
        .shape(Shape::half_plane([1.0, 0.0], 0.0));
    scene.add(post);
    scene.add(Body::dynamic(0.0, 1.0).id("a").shape(Shape::rounded_box(0.5, 0.25, 0.1)));
    scene.add(Body::dynamic(0.0, 2.0).id("b").shape(Shape::capsule([-0.5, 0.0], [0.5, 0.0], 0.25)));
    let triangle =
        Geometry::Polygon { points: vec![Vec2::new(0.0, 0.0), Vec2::new(1.0, 0.0), Vec2::new(0.0, 1.0)], radius: 0.05 };
    let pentagon = [[1.0, 0.0], [0.31, 0.95], [-0.81, 0.59], [-0.81, -0.59], [0.31, -0.95]];
    scene.add(Body::dynamic(0.0, 3.0).shape(Shape::new(triangle)).shape(Shape::polygon(pentagon)));
    scene.add(Body::dynamic(0.0, 4.0).shape(Shape::particle(0.1)));
    let mut wire = Body::dynamic(0.0, 5.0).shape(Shape::segment([0.0, 0.0], [1.0, 0.0]));
    (wire.mass, wire.inertia) = (Some(1.0), Some(0.5));
    scene.add(wire);
    let (motor, limits) = (Some(Motor { speed: -1.5, max: 20.0 }), Some([-0.5, 0.75]));
    let spring = Some(Spring { hertz: 2.0, damping_ratio: 0.5, target: 0.25 });
    let axis = Vec2::new(0.6, 0.8);
    let mut rod = Joint::new(JointKind::Distance { length: Some(1.25), limits: Some([1.0, 2.0]), motor }, 0, 1)
        .id("rod")
        .anchors([0.5, 0.25], [-0.25, 0.0])
        .collide()
        .soft(5.0, 0.7)
        .break_force(100.0)
        .break_torque(50.0);
    rod.enabled = false;
    scene.join(rod);
    scene.join(Joint::to_world(JointKind::rope(2.0), 1));
    let spring_of_two = JointKind::Spring { rest_length: Some(0.0), stiffness: 40.0, damping: 0.5 };
    scene.join(Joint::new(spring_of_two, 1, 2).spring_range(-20.0, 0.0));
    scene.join(Joint::new(JointKind::Revolute { reference_angle: Some(0.1), limits, motor, spring }, 2, 3));
    scene.join(Joint::new(JointKind::Prismatic { axis, reference_angle: Some(-0.1), limits, motor, spring }, 3, 0));
    scene.join(Joint::to_world(JointKind::Wheel { axis: Vec2::Y, limits, motor, spring }, 4));
    let angular = (Some(3.0), Some(1.5));
    scene.join(Joint::new(
        JointKind::Weld { reference_angle: Some(0.2), angular_hertz: angular.0, angular_damping_ratio: angular.1 },
        4,
        5,
    ));
    let linear_offset = Vec2::new(0.5, 1.0);
    scene.join(Joint::to_world(
        JointKind::Motor { linear_offset, angular_offset: 0.5, max_force: 30.0, max_torque: 40.0 },
        5,
    ));
    scene.join(Joint::to_world(JointKind::Mouse { target: Vec2::new(3.0, 4.0), max_force: 50.0 }, 2));
    scene.join(Joint::new(JointKind::velocity([1.0, -2.0], 0.5, 60.0, 70.0), 1, 2));
    let velocity = Vec2::new(3.0, 0.0);
    scene.join(Joint::to_world(
        JointKind::Velocity { axis: Some(axis), velocity, angular_velocity: 0.0, max_force: 80.0, max_torque: 0.0 },
        1,
    ));
    scene.join(Joint::new(JointKind::Gear { ratio: -2.5 }, 1, 2).soft(8.0, 0.5));
    let (ground_a, ground_b) = (Vec2::new(1.0, 9.0), Vec2::new(3.0, 8.0));
    scene.join(Joint::new(JointKind::Pulley { ground_a, ground_b, ratio: 2.0, length: Some(12.0) }, 1, 2));
    scene
}

#[test]
fn every_kind_of_shape_and_joint_is_read() {
    let expected = all_kinds();
    assert_eq!(file::parse(ALL_KINDS_JSON, "all_kinds.json").as_ref(), Ok(&expected));
    assert_eq!(file::parse(ALL_KINDS_RON, "all_kinds.ron").as_ref(), Ok(&expected));
    insta::assert_snapshot!("all_kinds_json", file::write_json(&expected));
    insta::assert_snapshot!("all_kinds_ron", file::write_ron(&expected));
}

#[test]
fn joints_have_the_models_defaults() {
    let text = |joint: &str| {
        format!(
            r#"{{ "version": 1, "bodies": [ {{ "type": "static", "shapes": [{{ "circle": {{ "radius": 1 }} }}] }},
                {{ "position": [0, 3], "shapes": [{{ "circle": {{ "radius": 1 }} }}] }} ], "joints": [{joint}] }}"#
        )
    };
    let axis = Vec2::new(0.6, 0.8);
    for (joint, kind) in [
        (r#""type": "distance""#, JointKind::rod()),
        (r#""type": "distance", "limits": [0, 4]"#, JointKind::rope(4.0)),
        (r#""type": "spring", "stiffness": 5"#, JointKind::spring(5.0, 0.0)),
        (r#""type": "revolute""#, JointKind::hinge()),
        // Normalised, in f64.
        (r#""type": "prismatic", "axis": [3, 4]"#, JointKind::slider(axis)),
        (
            r#""type": "wheel", "axis": [0, 1e-3]"#,
            JointKind::Wheel { axis: Vec2::Y, limits: None, motor: None, spring: None },
        ),
        (r#""type": "weld""#, JointKind::weld()),
        (
            r#""type": "motor""#,
            JointKind::Motor { linear_offset: Vec2::ZERO, angular_offset: 0.0, max_force: 1e15, max_torque: 1e15 },
        ),
        (r#""type": "velocity""#, JointKind::velocity(Vec2::ZERO, 0.0, 1e15, 1e15)),
    ] {
        let between = file::parse(&text(&format!(r#"{{ {joint}, "a": 0, "b": 1 }}"#)), "").expect(joint);
        assert_eq!(between.joints, [Joint::new(kind.clone(), 0, 1)], "{joint}");
        let to_world = file::parse(&text(&format!(r#"{{ "b": 1, {joint} }}"#)), "").expect(joint);
        assert_eq!(to_world.joints, [Joint::to_world(kind, 1)], "{joint}");
    }
    let mouse = file::parse(&text(r#"{ "type": "mouse", "b": 1, "target": [1, 2] }"#), "").expect("a mouse joint");
    let kind = JointKind::Mouse { target: Vec2::new(1.0, 2.0), max_force: 1e15 };
    assert_eq!(mouse.joints, [Joint::to_world(kind, 1)]);
    // An axis of almost length 1 stays as written.
    let near = file::parse(&text(r#"{ "type": "prismatic", "b": 1, "axis": [0.600001, 0.8] }"#), "").expect("near");
    assert_eq!(near.joints[0].kind, JointKind::slider([0.600_001, 0.8]));
}

/// Fields and paths survive writing and reading in both syntaxes; invalid ones have precise errors.
#[test]
fn fields_and_paths_are_read_and_written() {
    let json = r#"{ "version": 1,
  "bodies": [{ "type": "kinematic", "path": { "amplitude": [60, 0], "turn": 0.5, "rate": 0.2, "phase": 1 },
    "shapes": [{ "circle": { "radius": 1 } }] }],
  "fields": [{ "point": { "position": [1, 2], "force": 1000, "acceleration": -3, "core": 0.1 } }, { "point": {} }] }"#;
    let scene = file::parse(json, "json").expect("a scene");
    let field = Field { position: Vec2::new(1.0, 2.0), force: 1000.0, acceleration: -3.0, core: 0.1 };
    assert_eq!(scene.fields, [field, Field::default()]);
    let path = drystone::Path { amplitude: Vec2::new(60.0, 0.0), turn: 0.5, rate: 0.2, phase: 1.0 };
    assert_eq!(scene.bodies[0].path, Some(path));
    assert_eq!(file::parse(&file::write_json(&scene), "json").as_ref(), Ok(&scene));
    assert_eq!(file::parse(&file::write_ron(&scene), "ron").as_ref(), Ok(&scene));
    let schema = schema();
    assert!(schema.is_valid(&serde_json::from_str(json).expect("JSON")));
    for (from, to, says) in [
        ("\"core\": 0.1", "\"core\": -1", "fields[0].point.core: is -1; expected a distance from 0 to 100000 m"),
        ("\"point\": {}", "\"ring\": {}", "fields[1].ring: is an unknown key; expected point"),
        ("\"force\": 1000", "\"force\": \"big\"", "fields[0].point.force: is \"big\"; expected a number"),
        ("\"rate\": 0.2", "\"speed\": 0.2", "bodies[0].path.speed: is an unknown key; expected one of amplitude"),
        ("kinematic", "dynamic", "bodies[0].path: is given to a body that is not kinematic"),
    ] {
        let text = json.replace(from, to);
        let error = file::parse(&text, "json").expect_err(says).to_string();
        assert!(error.contains(says), "{error}, expected {says}");
    }
    let mut many = scene;
    many.fields = vec![field; 5];
    let error = many.check().expect_err("five").to_string();
    assert_eq!(error, "fields: has 5 fields; expected at most 4");
}

/// Emitters survive writing and reading in both syntaxes; invalid ones have precise errors.
#[test]
fn emitters_are_read_and_written() {
    let json = r#"{ "version": 1,
  "bodies": [{ "type": "static", "id": "lid", "shapes": [{ "box": { "half": [1, 1] } }] }],
  "emitters": [
    { "start": 8, "every": 320, "keep": 2, "count": 5, "lifetime": 700,
      "bodies": [{ "id": "hand", "position": [0, 1], "shapes": [{ "circle": { "radius": 1 } }] },
                 { "id": "arm", "position": [0, 4], "shapes": [{ "circle": { "radius": 1 } }] }],
      "joints": [{ "type": "distance", "a": "hand", "b": "arm" }, { "type": "weld", "b": 1 }] },
    { "bodies": [{ "shapes": [{ "circle": { "radius": 2 } }] }] }] }"#;
    let scene = file::parse(json, "json").expect("a scene");
    let ball = |y: f32| Body::dynamic(0.0, y).shape(Shape::circle(1.0));
    let mut first = Emitter::new([ball(1.0).id("hand")]).start(8).every(320).keep(2).count(5).lifetime(700);
    let arm = first.add(ball(4.0).id("arm"));
    first.join(Joint::new(JointKind::rod(), 0, arm));
    first.join(Joint::to_world(JointKind::weld(), arm));
    let second = Emitter::new([Body::dynamic(0.0, 0.0).shape(Shape::circle(2.0))]);
    assert_eq!(scene.emitters, [first, second]);
    // Two batches of two, and one of one.
    assert_eq!(scene.most_parts().bodies, 1 + 2 * 2 + 1);
    assert_eq!(file::parse(&file::write_json(&scene), "json").as_ref(), Ok(&scene));
    assert_eq!(file::parse(&file::write_ron(&scene), "ron").as_ref(), Ok(&scene));
    let schema = schema();
    assert!(schema.is_valid(&serde_json::from_str(json).expect("JSON")));
    let rod = r#""a": "hand", "b": "arm""#;
    let forms = "expected a whole number from 1 to 4294967295";
    for (from, to, says, seen) in [
        ("\"every\": 320", "\"every\": 0", &*format!("emitters[0].every: is 0; {forms}"), true),
        ("\"keep\": 2", "\"keep\": 0", &*format!("emitters[0].keep: is 0; {forms}"), true),
        ("\"lifetime\": 700", "\"lifetime\": 0", &*format!("emitters[0].lifetime: is 0; {forms}"), true),
        ("\"start\": 8", "\"start\": -1", "emitters[0].start: is -1; expected a whole number from 0", true),
        ("\"start\": 8", "\"begin\": 8", "emitters[0].begin: is an unknown key; expected one of bodies", true),
        ("\"every\": 320, ", "", "emitters[0].count: has nothing to do, as there is only one batch", false),
        (
            "\"keep\": 2, \"count\": 5, \"lifetime\": 700",
            "\"keep\": 2, \"count\": 5000000, \"lifetime\": 4000000000",
            "",
            false,
        ),
        (
            "\"keep\": 2, \"count\": 5, \"lifetime\": 700",
            "\"count\": 2100000",
            "emitters: can bring the number of bodies to 4200002; expected at most 4000000 in a world",
            false,
        ),
        ("\"keep\": 2, \"count\": 5, \"lifetime\": 700", "\"joints\": []", "emitters[0].joints: is given twice", false),
        (
            ", \"keep\": 2, \"count\": 5, \"lifetime\": 700",
            "",
            "emitters[0].every: makes bodies without end; expected `keep`, `lifetime` or `count` beside it",
            false,
        ),
        (
            "\"bodies\": [{ \"shapes\": [{ \"circle\": { \"radius\": 2 } }] }]",
            "\"bodies\": []",
            "emitters[1]: has no bodies; expected at least one",
            true,
        ),
        (
            "\"circle\": { \"radius\": 2 }",
            "\"circle\": { \"radius\": -2 }",
            "emitters[1].bodies[0].shapes[0].circle.radius: is -2; expected a length",
            true,
        ),
        (
            "{ \"shapes\": [{ \"circle\": { \"radius\": 2 } }] }",
            "{ \"type\": \"static\", \"shapes\": [{ \"half_plane\": { \"normal\": [0, 1], \"offset\": 0 } }] }",
            "emitters[1].bodies[0].shapes[0]: is a half plane; expected a shape with an end",
            false,
        ),
        (
            "{ \"shapes\": [{ \"circle\": { \"radius\": 2 } }] }",
            "{ \"id\": \"x\", \"shapes\": [{ \"circle\": { \"radius\": 2 } }] }, \
             { \"id\": \"x\", \"shapes\": [{ \"circle\": { \"radius\": 2 } }] }",
            "emitters[1].bodies[1].id: is \"x\", as emitters[1].bodies[0].id is",
            false,
        ),
        (rod, "\"a\": \"lid\", \"b\": \"arm\"", "emitters[0].joints[0].a: is \"lid\", and no body has this id", false),
        (rod, "\"a\": 0, \"b\": 2", "emitters[0].joints[0].b: is 2, and there is no such body", false),
        (rod, "\"a\": 1, \"b\": 1", "emitters[0].joints[0].b: is the same body as a", false),
        (
            "\"emitters\":",
            "\"joints\": [{ \"type\": \"weld\", \"a\": \"lid\", \"b\": \"arm\" }], \"emitters\":",
            "joints[0].b: is \"arm\", a body that an emitter makes, which joints of the scene cannot refer to",
            false,
        ),
        (
            "\"emitters\":",
            "\"joints\": [{ \"type\": \"weld\", \"a\": 0, \"b\": 1 }], \"emitters\":",
            "joints[0].b: is 1, and there is no such body",
            false,
        ),
    ] {
        assert!(json.contains(from), "{from}");
        let text = json.replace(from, to);
        if says.is_empty() {
            // The smallest of the limits counts.
            assert_eq!(file::parse(&text, "json").expect("large numbers").most_parts().bodies, 1 + 2 * 2 + 1);
            continue;
        }
        let error = file::parse(&text, "json").expect_err(says).to_string();
        assert!(error.contains(says), "{error}, expected {says}");
        assert!(!seen || !schema.is_valid(&serde_json::from_str(&text).expect("JSON")), "{says}: the schema takes it");
    }
    let mut many = scene;
    many.emitters = vec![many.emitters[1].clone(); 10_001];
    let error = many.check().expect_err("one too many").to_string();
    assert_eq!(error, "emitters: has 10001 emitters; expected at most 10000");
}

#[test]
fn timelines_are_read_and_written() {
    let json = r#"{ "version": 1,
  "bodies": [{ "type": "static", "id": "floor", "shapes": [{ "box": { "half": [9, 1] } }] },
             { "id": "wall left", "position": [0, 3], "shapes": [{ "circle": { "radius": 1 } }] },
             { "id": "wall right", "position": [0, 6], "shapes": [{ "circle": { "radius": 1 } }] }],
  "joints": [{ "id": "crank", "type": "revolute", "b": "wall left", "motor": { "speed": 1, "max": 5 } }],
  "timeline": [
    { "at": 0.5, "over": 2, "gravity": [1, -5] },
    { "when": { "speed_below": 0.01 }, "remove": { "bodies": ["wall*"], "joints": ["crank"] } },
    { "at": 3, "when": { "bodies": 7 }, "body": 1, "force": [1, 2], "point": [0.5, 0] },
    { "at": 0, "body": "wall right", "angular_impulse": 4 },
    { "at": 1, "over": 0.25, "joint": "crank", "motor": { "speed": -2, "max": 10 } },
    { "at": 1, "joint": 0, "enabled": false }] }"#;
    let scene = file::parse(json, "json").expect("a scene");
    let force = Command::force_at([1.0, 2.0], [0.5, 0.0]);
    let expected = [
        TimedCommand { over: 2.0, ..TimedCommand::at(0.5, TimedAction::Gravity(Vec2::new(1.0, -5.0))) },
        TimedCommand::when(
            StartCondition::SpeedBelow(0.01),
            TimedAction::Remove { bodies: vec![1, 2], joints: vec![0] },
        ),
        TimedCommand { at: 3.0, ..TimedCommand::when(StartCondition::Bodies(7), TimedAction::Body(1, force)) },
        TimedCommand::at(0.0, TimedAction::Body(2, Command::AngularImpulse(4.0))),
        TimedCommand {
            over: 0.25,
            ..TimedCommand::at(1.0, TimedAction::Joint(0, JointCommand::Motor { speed: -2.0, max: 10.0 }))
        },
        TimedCommand::at(1.0, TimedAction::Joint(0, JointCommand::Enable(false))),
    ];
    assert_eq!(scene.timeline, expected);
    assert_eq!(file::parse(&file::write_json(&scene), "json").as_ref(), Ok(&scene));
    assert_eq!(file::parse(&file::write_ron(&scene), "ron").as_ref(), Ok(&scene));
    let schema = schema();
    let written = serde_json::from_str(&file::write_json(&scene)).expect("JSON");
    assert!(schema.is_valid(&serde_json::from_str(json).expect("JSON")) && schema.is_valid(&written));
    for (from, to, says, seen) in [
        ("\"at\": 0.5, ", "", "timeline[0]: has neither `at` nor `when`; expected one of them", true),
        ("\"gravity\": [1, -5]", "\"note\": 1", "timeline[0].note: is an unknown key", true),
        (", \"gravity\": [1, -5]", "", "timeline[0]: has no action; expected one of gravity, force", true),
        ("\"over\": 2", "\"over\": -2", "timeline[0].over: is -2; expected a time from 0 to 1e9 s", true),
        ("\"gravity\": [1, -5]", "\"gravity\": [1, -5], \"torque\": 1", "timeline[0]: has gravity and torque", true),
        ("\"body\": 1, ", "", "timeline[2]: has `force` and no `body`; expected the key `body` as well", false),
        ("\"body\": 1, ", "\"body\": 3, ", "timeline[2].body: refers to body 3 of 3", false),
        ("\"body\": 1, ", "\"body\": 0, ", "timeline[2].force: is for a body that is static", false),
        ("[\"wall*\"]", "[\"door*\"]", "timeline[1].remove.bodies[0]: stands for no body", false),
        (
            "\"joints\": [\"crank\"] }",
            "\"joints\": [\"crankshaft\"] }",
            "refers to \"crankshaft\", which is no joint",
            false,
        ),
        ("{ \"bodies\": 7 }", "{}", "timeline[2].when: is empty; expected `speed_below` or `bodies`", false),
        ("\"speed_below\": 0.01", "\"speed_below\": 0", "timeline[1].when.speed_below: is 0", true),
        (
            "\"joint\": 0, \"enabled\"",
            "\"joint\": 0, \"over\": 1, \"enabled\"",
            "timeline[5].over: makes a ramp of",
            false,
        ),
        ("\"joint\": \"crank\", ", "\"joint\": true, ", "expected the index or the id of a joint", true),
        (", \"motor\": { \"speed\": 1, \"max\": 5 }", "", "timeline[4].motor: is for a joint of type revolute", false),
    ] {
        assert!(json.contains(from), "{from}");
        let text = json.replace(from, to);
        let error = file::parse(&text, "json").expect_err(says);
        assert_tells(&error, &text, "json");
        assert!(error.to_string().contains(says), "{error}, expected {says}");
        assert!(!seen || !schema.is_valid(&serde_json::from_str(&text).expect("JSON")), "{says}: the schema takes it");
    }
}

#[test]
fn omitted_keys_have_the_models_defaults() {
    let expected = Scene { bodies: vec![Body::default().shape(Shape::circle(1.0))], ..Scene::default() };
    let json = r#"{ "version": 1, "settings": {}, "bodies": [{ "shapes": [{ "circle": { "radius": 1 } }] }] }"#;
    assert_eq!(file::parse(json, "json").as_ref(), Ok(&expected));
    let ron = "Scene(version: 1, bodies: [Body(shapes: [Shape(circle: Round(radius: 1))])])";
    assert_eq!(file::parse(ron, "ron").as_ref(), Ok(&expected));
    assert_eq!(file::parse(r#"{ "version": 1, "$schema": "x" }"#, "").as_ref(), Ok(&Scene::default()));
}

#[test]
fn redundant_keys_are_accepted() {
    let text = r#"{ "version": 1, "bodies": [ { "shapes": [
        { "box": { "half": [1, 1], "radius": 0 }, "friction": 0.3, "kinetic_friction": 0.3 } ] } ], "joints": [] }"#;
    let shape = Shape::half_box(1.0, 1.0).friction(0.3).kinetic_friction(0.3);
    assert_eq!(file::parse(text, "").map(|scene| scene.bodies[0].shapes[0].clone()), Ok(shape));
}

#[test]
fn written_text_is_as_expected() {
    insta::assert_snapshot!("written_json", file::write_json(&file::parse(EVERYTHING_JSON, ".json").expect("good")));
    insta::assert_snapshot!("written_ron", file::write_ron(&file::parse(EVERYTHING_JSON, ".json").expect("good")));
}

#[test]
fn the_shipped_schema_is_up_to_date() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schema/scene-v1.schema.json");
    if std::env::var_os("DRYSTONE_UPDATE_SCHEMA").is_some() {
        std::fs::write(path, file::json_schema()).expect("writable");
    }
    let shipped = std::fs::read_to_string(path).expect("schema/scene-v1.schema.json");
    assert!(shipped == file::json_schema(), "{path} is stale: run this test with DRYSTONE_UPDATE_SCHEMA=1");
}

#[test]
fn the_schema_accepts_good_scenes() {
    let schema = schema();
    for (name, text) in GOOD.iter().filter(|(name, _)| is(name, "json")) {
        let value = serde_json::from_str(text).expect(name);
        let errors: Vec<String> = schema.iter_errors(&value).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{name}: {errors:?}");
    }
}

#[test]
fn deep_nesting_neither_overflows_nor_hangs() {
    for depth in [100, 127, 128, 129, 10_000, 1_000_000] {
        for (open, close) in
            [("[", "]"), ("{\"a\":", "}"), ("{\"bodies\":[", "]}"), ("(", ")"), ("(a:", ")"), ("Some(", ")")]
        {
            let nest = format!("{}{}", open.repeat(depth), close.repeat(depth));
            for text in [
                nest.clone(),
                format!("{{\"version\":1,\"bodies\":{nest}}}"),
                format!("{{\"name\":{nest},\"version\":1}}"),
                format!("{{\"x\":{nest},\"version\":2}}"),
                format!("(version:1,gravity:{nest})"),
                format!("(bodies:[{nest}],version:2)"),
                format!("(x:{nest},version:2)"),
                format!("(version:1,gravity:(0,0,{nest}))"),
                open.repeat(depth),
            ] {
                for name in ["deep.json", "deep.ron"] {
                    let error = file::parse(&text, name).expect_err("nonsense");
                    assert_tells(&error, &text, name);
                }
            }
        }
    }
    let comments = format!("(version: 1 {}{})", "/*".repeat(100_000), "*/".repeat(100_000));
    assert_eq!(file::parse(&comments, "comments.ron"), Ok(Scene::default()));
}

#[test]
fn sizes_are_limited() {
    let text = " ".repeat(file::MAX_FILE_BYTES + 1);
    let error = file::parse(&text, "large.json").expect_err("too large");
    assert_eq!((error.kind, error.place.clone()), (FileErrorKind::TooLarge, None));
    assert!(error.to_string().starts_with("large.json: has 268435457 bytes; expected at most 268435456"), "{error}");
}

#[test]
#[ignore = "takes 3 GB and half a minute"]
fn bodies_are_limited() {
    let body = r#"{"shapes":[{"circle":{"radius":1}}]},"#;
    let mut text = String::from(r#"{"version":1,"bodies":["#);
    text.push_str(&body.repeat(drystone::low_level::scene::MAX_BODIES));
    let most = format!("{}]}}", text.trim_end_matches(','));
    let scene = file::parse(&most, "most.json").expect("as many as there may be");
    assert_eq!(scene.bodies.len(), drystone::low_level::scene::MAX_BODIES);
    text.push_str("{}]}");
    let error = file::parse(&text, "many.json").expect_err("too many bodies");
    assert_tells(&error, &text, "many.json");
    assert_eq!((error.kind, error.path.as_str()), (FileErrorKind::Structure, "bodies[4000000]"));
    let one_more = text.replace("{}]}", "{\"shapes\":[{\"circle\":{\"radius\":1}}]}]}");
    let error = file::parse(&one_more, "many.json").expect_err("too many bodies");
    assert_eq!((error.kind, error.path.as_str()), (FileErrorKind::Structure, "bodies"));
    assert_eq!(error.problem, "has 4000001 elements");
}

#[test]
fn errors_of_unreadable_files_name_the_file() {
    let directory = std::env::temp_dir().join(format!("drystone-scenes-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a temporary directory");
    let good = directory.join("good.json");
    std::fs::write(&good, TWO_BOXES).expect("writable");
    assert_eq!(file::read(&good), file::parse(TWO_BOXES, "x.json"));
    let latin = directory.join("latin.json");
    std::fs::write(&latin, b"{ \"version\": 1,\n\"name\": \"h\xf6he\" }").expect("writable");
    for (path, problem) in [
        (directory.join("none.json"), "cannot be read: "),
        (directory.clone(), "cannot be read: "),
        (latin, "is not UTF-8 at byte 26, in line 2"),
    ] {
        let error = file::read(&path).expect_err("unreadable");
        assert_eq!((error.kind, &error.place), (FileErrorKind::Io, &None));
        assert!(error.to_string().starts_with(&format!("{}: {problem}", path.display())), "{error}");
    }
    std::fs::remove_dir_all(&directory).expect("removable");
}

/// Makes this the only shape, on a static body, which any shape may have.
fn shape(scene: &mut Scene, shape: Shape) {
    scene.bodies[0].kind = BodyType::Static;
    scene.bodies[0].shapes = vec![shape];
}

/// Adds a joint from the only body to the world.
fn joint(scene: &mut Scene, kind: JointKind) -> &mut Joint {
    scene.join(Joint::to_world(kind, 0));
    &mut scene.joints[0]
}

#[test]
fn models_that_a_file_cannot_express_are_checked_too() {
    let pulley = |x: f32| {
        let (ground_a, ground_b) = (Vec2::new(0.0, 9.0), Vec2::new(x, 9.0));
        JointKind::Pulley { ground_a, ground_b, ratio: 1.0, length: None }
    };
    let mut scene = Scene { bodies: vec![Body::default().shape(Shape::circle(1.0)); 2], ..Scene::default() };
    let mouse = JointKind::Mouse { target: Vec2::ZERO, max_force: 1.0 };
    for (joint, told) in [
        (Joint::to_world(JointKind::slider([3.0, 4.0]), 0), "joints[0].axis: has length 5; expected a direction"),
        (Joint::to_world(JointKind::spring(1.0, 0.0), 0).soft(1.0, 1.0), "joints[0].hertz: is given to a spring"),
        (
            Joint::to_world(JointKind::velocity(Vec2::ZERO, 0.0, 1.0, 1.0), 0).soft(1.0, 1.0),
            "joints[0].hertz: is given to a velocity joint; expected a largest force and a largest torque",
        ),
        (
            Joint::to_world(JointKind::rod().length(1.0), 0).spring_range(-1.0, 1.0),
            "joints[0].spring_range: is given to a joint without a spring; expected a spring, a distance joint with",
        ),
        (
            Joint::to_world(JointKind::spring(1.0, 0.0), 0).spring_range(1.0, -1.0),
            "joints[0].spring_range: is [1, -1], upside down",
        ),
        (Joint::new(mouse.clone(), 0, 1), "joints[0].a: is given to a mouse joint"),
        (Joint::to_world(mouse, 1).anchors([1.0, 0.0], [0.0, 0.0]), "joints[0].anchor_a: is given to a mouse joint"),
        (
            Joint::to_world(JointKind::Gear { ratio: 1.0 }, 0),
            "joints[0]: has no `a`; expected two bodies in a gear joint",
        ),
        (
            Joint::new(JointKind::Gear { ratio: -1001.0 }, 0, 1),
            "joints[0].ratio: is -1001; expected a ratio from 0.001 to 1000, or",
        ),
        (Joint::new(JointKind::Gear { ratio: f32::NAN }, 0, 1), "joints[0].ratio: is NaN; expected a ratio from"),
        (Joint::to_world(pulley(1.0), 0), "joints[0]: has no `a`; expected two bodies in a pulley joint"),
        (
            Joint::new(pulley(f32::NAN), 0, 1),
            "joints[0].ground_b[0]: is not a number (NaN); expected a coordinate from -1e7 to 1e7 m",
        ),
        (
            Joint::new(pulley(1.0), 0, 1).soft(5.0, 1.0),
            "joints[0].hertz: is given to a pulley joint; expected a rope that does not stretch",
        ),
        (Joint::to_world(JointKind::weld(), 2), "joints[0].b: is 2, and there is no such body; expected an index from"),
    ] {
        scene.joints = vec![joint];
        let error = scene.check().expect_err(told).to_string();
        assert!(error.starts_with(told), "{error}");
    }
    scene.joints.clear();
    scene.bodies[0].kind = BodyType::Static;
    scene.bodies[0].shapes = vec![Shape::half_plane([0.0, 2.0], 0.0)];
    let error = scene.check().expect_err("a long normal").to_string();
    assert!(error.starts_with("bodies[0].shapes[0].half_plane.normal: has length 2; expected"), "{error}");
}

#[test]
fn scenes_from_rust_are_checked_like_files() {
    let ok = || Scene { bodies: vec![Body::default().shape(Shape::circle(1.0))], ..Scene::default() };
    assert_eq!(ok().check(), Ok(()));
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        // Every number of the model, by its path.
        type Set = fn(&mut Scene, f32);
        let numbers: [(&str, Set); 68] = [
            ("gravity[0]", |s, x| s.gravity.x = x),
            ("gravity[1]", |s, x| s.gravity.y = x),
            ("settings.dt", |s, x| s.settings.dt = x),
            ("settings.length_unit", |s, x| s.settings.length_unit = Some(x)),
            ("settings.max_speed", |s, x| s.settings.max_speed = Some(x)),
            ("settings.max_spin", |s, x| s.settings.max_spin = Some(x)),
            ("settings.baumgarte", |s, x| s.settings.baumgarte = x),
            ("settings.contact_hertz", |s, x| s.settings.contact_hertz = Some(x)),
            ("settings.contact_damping_ratio", |s, x| s.settings.contact_damping_ratio = x),
            ("settings.push_speed", |s, x| s.settings.push_speed = Some(x)),
            ("settings.slop", |s, x| s.settings.slop = Some(x)),
            ("settings.restitution_threshold", |s, x| s.settings.restitution_threshold = Some(x)),
            ("bodies[0].position[0]", |s, x| s.bodies[0].position.x = x),
            ("bodies[0].angle", |s, x| s.bodies[0].angle = x),
            ("bodies[0].velocity[1]", |s, x| s.bodies[0].velocity.y = x),
            ("bodies[0].angular_velocity", |s, x| s.bodies[0].angular_velocity = x),
            ("bodies[0].sleep_speed", |s, x| s.bodies[0].sleep_speed = Some(x)),
            ("bodies[0].gravity_scale", |s, x| s.bodies[0].gravity_scale = x),
            ("bodies[0].linear_damping", |s, x| s.bodies[0].linear_damping = x),
            ("bodies[0].angular_damping", |s, x| s.bodies[0].angular_damping = x),
            ("bodies[0].force[0]", |s, x| s.bodies[0].force.x = x),
            ("bodies[0].force_point[1]", |s, x| s.bodies[0].force_point = Some(Vec2::new(0.0, x))),
            ("bodies[0].torque", |s, x| s.bodies[0].torque = x),
            ("bodies[0].mass", |s, x| s.bodies[0].mass = Some(x)),
            ("bodies[0].inertia", |s, x| s.bodies[0].inertia = Some(x)),
            ("bodies[0].shapes[0].circle.radius", |s, x| {
                s.bodies[0].shapes[0].geometry = Geometry::Circle { radius: x }
            }),
            ("bodies[0].shapes[0].box.half[1]", |s, x| {
                s.bodies[0].shapes[0].geometry = Geometry::Box { half: Vec2::new(1.0, x), radius: 0.0 };
            }),
            ("bodies[0].shapes[0].box.radius", |s, x| shape(s, Shape::rounded_box(1.0, 1.0, x))),
            ("bodies[0].shapes[0].capsule.a[0]", |s, x| shape(s, Shape::capsule([x, 0.0], [1.0, 0.0], 1.0))),
            ("bodies[0].shapes[0].capsule.b[1]", |s, x| shape(s, Shape::capsule([0.0, 0.0], [1.0, x], 1.0))),
            ("bodies[0].shapes[0].capsule.radius", |s, x| shape(s, Shape::capsule([0.0, 0.0], [1.0, 0.0], x))),
            ("bodies[0].shapes[0].polygon.points[2][0]", |s, x| {
                shape(s, Shape::polygon([[0.0, 0.0], [1.0, 0.0], [x, 1.0]]));
            }),
            ("bodies[0].shapes[0].polygon.radius", |s, x| {
                let points = vec![Vec2::ZERO, Vec2::X, Vec2::Y];
                shape(s, Shape::new(Geometry::Polygon { points, radius: x }));
            }),
            ("bodies[0].shapes[0].segment.a[1]", |s, x| shape(s, Shape::segment([0.0, x], [1.0, 0.0]))),
            ("bodies[0].shapes[0].segment.b[0]", |s, x| shape(s, Shape::segment([0.0, 0.0], [x, 0.0]))),
            ("bodies[0].shapes[0].half_plane.normal[1]", |s, x| shape(s, Shape::half_plane([0.0, x], 0.0))),
            ("bodies[0].shapes[0].half_plane.offset", |s, x| shape(s, Shape::half_plane([0.0, 1.0], x))),
            ("bodies[0].shapes[0].particle.radius", |s, x| shape(s, Shape::particle(x))),
            ("bodies[0].shapes[0].kinetic_friction", |s, x| {
                s.bodies[0].shapes[0].material.kinetic_friction = Some(x);
            }),
            ("bodies[0].shapes[0].restitution", |s, x| s.bodies[0].shapes[0].material.restitution = x),
            ("bodies[0].shapes[0].tangent_speed", |s, x| s.bodies[0].shapes[0].material.tangent_speed = x),
            ("bodies[0].shapes[0].rolling_resistance", |s, x| {
                s.bodies[0].shapes[0].material.rolling_resistance = x;
            }),
            ("joints[0].anchor_a[0]", |s, x| joint(s, JointKind::weld()).anchor_a.x = x),
            ("joints[0].anchor_b[1]", |s, x| joint(s, JointKind::weld()).anchor_b.y = x),
            ("joints[0].hertz", |s, x| joint(s, JointKind::weld()).hertz = Some(x)),
            ("joints[0].damping_ratio", |s, x| joint(s, JointKind::weld()).damping_ratio = Some(x)),
            ("joints[0].break_force", |s, x| joint(s, JointKind::weld()).break_force = Some(x)),
            ("joints[0].break_torque", |s, x| joint(s, JointKind::weld()).break_torque = Some(x)),
            ("joints[0].length", |s, x| {
                joint(s, JointKind::Distance { length: Some(x), limits: None, motor: None });
            }),
            ("joints[0].limits[1]", |s, x| {
                joint(s, JointKind::rope(x));
            }),
            ("joints[0].rest_length", |s, x| {
                joint(s, JointKind::Spring { rest_length: Some(x), stiffness: 1.0, damping: 0.0 });
            }),
            ("joints[0].stiffness", |s, x| {
                joint(s, JointKind::spring(x, 0.0));
            }),
            ("joints[0].damping", |s, x| {
                joint(s, JointKind::spring(1.0, x));
            }),
            ("joints[0].axis[0]", |s, x| {
                joint(s, JointKind::slider([x, 0.0]));
            }),
            ("joints[0].spring.hertz", |s, x| {
                joint(s, JointKind::wheel(Vec2::Y, Spring { hertz: x, damping_ratio: 1.0, target: 0.0 }));
            }),
            ("joints[0].spring.damping_ratio", |s, x| {
                joint(s, JointKind::wheel(Vec2::Y, Spring { hertz: 1.0, damping_ratio: x, target: 0.0 }));
            }),
            ("joints[0].spring.target", |s, x| {
                joint(s, JointKind::wheel(Vec2::Y, Spring { hertz: 1.0, damping_ratio: 1.0, target: x }));
            }),
            ("joints[0].motor.speed", |s, x| {
                let motor = Some(Motor { speed: x, max: 1.0 });
                joint(s, JointKind::Distance { length: None, limits: None, motor });
            }),
            ("joints[0].angular_hertz", |s, x| {
                let (reference_angle, angular_damping_ratio) = (None, None);
                joint(s, JointKind::Weld { reference_angle, angular_hertz: Some(x), angular_damping_ratio });
            }),
            ("joints[0].linear_offset[0]", |s, x| {
                let linear_offset = Vec2::new(x, 0.0);
                joint(s, JointKind::Motor { linear_offset, angular_offset: 0.0, max_force: 1.0, max_torque: 1.0 });
            }),
            ("joints[0].spring_range[0]", |s, x| {
                joint(s, JointKind::spring(1.0, 0.0)).spring_range = Some([x, 1.0]);
            }),
            ("joints[0].velocity[1]", |s, x| {
                joint(s, JointKind::velocity([0.0, x], 0.0, 1.0, 1.0));
            }),
            ("joints[0].angular_velocity", |s, x| {
                joint(s, JointKind::velocity([0.0, 0.0], x, 1.0, 1.0));
            }),
            ("joints[0].target[1]", |s, x| {
                joint(s, JointKind::Mouse { target: Vec2::new(0.0, x), max_force: 1.0 });
            }),
            ("bodies[0].shapes[0].offset[0]", |s, x| s.bodies[0].shapes[0].offset.x = x),
            ("bodies[0].shapes[0].rotation", |s, x| s.bodies[0].shapes[0].rotation = x),
            ("bodies[0].shapes[0].density", |s, x| s.bodies[0].shapes[0].density = x),
            ("bodies[0].shapes[0].friction", |s, x| s.bodies[0].shapes[0].material.friction = x),
        ];
        for (path, set) in numbers {
            let mut scene = ok();
            set(&mut scene, bad);
            let error = scene.check().expect_err(path);
            assert_eq!(error.path, path);
            assert!(error.problem.contains("NaN") || error.problem.contains("infinite"), "{error}");
            // RON can express the value, JSON cannot; neither can be read.
            assert!(file::parse(&file::write_ron(&scene), ".ron").is_err(), "{path}");
            assert!(file::parse(&file::write_json(&scene), ".json").is_err(), "{path}");
        }
    }
}

#[test]
fn the_ends_of_every_range_are_valid() {
    use drystone::low_level::scene::MAX_BODIES;
    assert_eq!(MAX_BODIES, 4_000_000);
    let schema = schema();
    for (key, inside) in [
        ("dt", "1e-9"),
        ("dt", "1000"),
        ("length_unit", "1e-5"),
        ("length_unit", "100000"),
        ("max_speed", "1e15"),
        ("max_spin", "1e-30"),
        ("substeps", "1"),
        ("substeps", "64"),
        ("iterations", "64"),
        ("baumgarte", "0"),
        ("baumgarte", "1"),
        ("contact_hertz", "1000000"),
        ("contact_damping_ratio", "1000000"),
        ("push_speed", "0"),
        ("slop", "0"),
        ("restitution_threshold", "0"),
    ] {
        accepted(&schema, &format!(r#"{{ "version": 1, "settings": {{ "{key}": {inside} }} }}"#));
    }
    for inside in [
        r#""circle": { "radius": 0.00001 }"#,
        r#""circle": { "radius": 100000 }"#,
        r#""box": { "half": [0.00001, 100000] }"#,
        r#""circle": { "radius": 1 }, "friction": 0, "restitution": 0"#,
        r#""circle": { "radius": 1 }, "friction": 1000, "restitution": 1"#,
        r#""circle": { "radius": 1 }, "offset": [-100000, 100000]"#,
        r#""circle": { "radius": 1 }, "density": 1e-30"#,
        r#""circle": { "radius": 1 }, "density": 1e30"#,
        r#""circle": { "radius": 1 }, "friction": 0.5, "kinetic_friction": 0.5"#,
        r#""circle": { "radius": 1 }, "friction": 0.5, "kinetic_friction": 0"#,
        r#""circle": { "radius": 1 }, "tangent_speed": -1e15, "rolling_resistance": 1e15"#,
        r#""box": { "half": [1, 1], "radius": 100000 }"#,
        r#""capsule": { "a": [0, 0], "b": [0.0001, 0], "radius": 0.00001 }"#,
        r#""polygon": { "points": [[0, 0], [0.0002, 0], [0.0001, 0.0002]] }"#,
        // Vertices a tenth of a millimetre off the line through their neighbours.
        r#""polygon": { "points": [[-1, 0], [0, -0.0001], [1, 0], [0, 0.0001]] }"#,
        r#""polygon": { "points": [[3, 0], [2, 2], [0, 3], [-2, 2], [-3, 0], [-2, -2], [0, -3], [2, -2]] }"#,
        r#""particle": { "radius": 0.00001 }"#,
    ] {
        accepted(
            &schema,
            &format!(
                r#"{{ "version": 1, "bodies": [{{ "position": [100000, -100000], "shapes": [{{ {inside} }}] }}] }}"#
            ),
        );
    }
}

#[test]
fn the_ends_of_every_range_of_joints_are_valid() {
    let schema = schema();
    for joint in [
        r#""type": "weld", "hertz": 1e6, "damping_ratio": 0, "break_force": 1e-30, "break_torque": 1e15"#,
        r#""type": "weld", "anchor_a": [-100000, 100000], "anchor_b": [100000, -100000]"#,
        r#""type": "distance", "length": 0.0001"#,
        r#""type": "distance", "limits": [0, 0.0001]"#,
        r#""type": "distance", "limits": [2, 2]"#,
        r#""type": "distance", "limits": [1, 2], "length": 5, "hertz": 1"#,
        r#""type": "distance", "motor": { "speed": 1, "max": 0 }, "length": 5, "hertz": 1, "damping_ratio": 0"#,
        r#""type": "spring", "rest_length": 0, "stiffness": 0, "damping": 1e15"#,
        r#""type": "revolute", "limits": [-100, 100], "motor": { "speed": -1e15, "max": 1e15 }"#,
        r#""type": "revolute", "spring": { "hertz": 1e-30 }"#,
        r#""type": "prismatic", "axis": [1e15, -1e15], "limits": [-100000, 100000]"#,
        r#""type": "wheel", "axis": [0, -0.00001], "limits": [0, 0]"#,
        r#""type": "motor", "max_force": 0, "max_torque": 0, "angular_offset": 100000"#,
    ] {
        accepted(
            &schema,
            &format!(
                r#"{{ "version": 1, "bodies": [
                {{ "id": "b", "position": [0, 1], "shapes": [{{ "circle": {{ "radius": 1 }} }}] }}, {{ "shapes": [{{ "particle": {{ "radius": 1 }} }}] }}],
                "joints": [{{ "a": 1, "b": "b", {joint} }}] }}"#
            ),
        );
    }
}

fn accepted(schema: &jsonschema::Validator, text: &str) {
    if let Err(error) = file::parse(text, "inside.json") {
        panic!("{error}");
    }
    assert!(schema.is_valid(&serde_json::from_str(text).expect("JSON")), "the schema refuses {text}");
}

/// Generates numbers in a range, favouring its ends, zero and numbers with few digits.
fn number(min: f32, max: f32) -> impl Strategy<Value = f32> {
    let tidy = (-1000_i16..1000).prop_map(move |n| (f32::from(n) / 8.0).clamp(min, max));
    prop_oneof![Just(min), Just(max), Just((-0.0_f32).clamp(min, max)), tidy, min..=max]
}

fn pair(min: f32, max: f32) -> impl Strategy<Value = Vec2> {
    (number(min, max), number(min, max)).prop_map(|(x, y)| Vec2::new(x, y))
}

fn any_geometry() -> impl Strategy<Value = Geometry> {
    let length = || number(0.001, 1e5);
    let rounding = || prop_oneof![Just(0.0_f32), number(-0.0, 1e5)];
    // A capsule and a segment from one end and the vector to the other.
    let ends = || {
        (pair(-10.0, 10.0), number(0.01, 50.0), any::<bool>()).prop_map(|(a, length, upright)| {
            (a, a + if upright { Vec2::new(0.0, length) } else { Vec2::new(-length, 0.0) })
        })
    };
    // A polygon as points on a circle, at least a ninth of it apart.
    let polygon = (3_usize..=8, number(0.01, 100.0), 0.0_f32..1.0, pair(-10.0, 10.0), rounding()).prop_map(
        |(count, size, turn, middle, radius)| {
            let point = |index: usize| {
                let angle = std::f32::consts::TAU * (index as f32 + turn) / count as f32;
                middle + size * Vec2::from_angle(angle)
            };
            Geometry::Polygon { points: (0..count).map(point).collect(), radius }
        },
    );
    prop_oneof![
        length().prop_map(|radius| Geometry::Circle { radius }),
        (pair(0.001, 1e5), rounding()).prop_map(|(half, radius)| Geometry::Box { half, radius }),
        (ends(), length()).prop_map(|((a, b), radius)| Geometry::Capsule { a, b, radius }),
        polygon,
        ends().prop_map(|(a, b)| Geometry::Segment { a, b }),
        (ends(), any::<(bool, bool)>(), number(0.01, 50.0)).prop_map(|((a, b), (has_before, has_after), beside)| {
            let beside = Vec2::new(beside, beside);
            let (before, after) = (has_before.then_some(a - beside), has_after.then_some(b + beside));
            Geometry::Link { a, b, before, after }
        }),
        ((-4.0_f32..4.0).prop_map(Vec2::from_angle), number(-1e5, 1e5))
            .prop_map(|(normal, offset)| Geometry::HalfPlane { normal, offset }),
        length().prop_map(|radius| Geometry::Particle { radius }),
    ]
}

fn any_material() -> impl Strategy<Value = Material> {
    let share = prop_oneof![Just(1.0_f32), Just(0.0_f32), 0.0_f32..1.0];
    (number(0.0, 1e15), prop::option::of(share), number(0.0, 1.0), number(-1e15, 1e15), number(0.0, 1e15)).prop_map(
        |(friction, kinetic, restitution, tangent_speed, rolling_resistance)| Material {
            friction,
            kinetic_friction: kinetic.map(|share| share * friction),
            restitution,
            tangent_speed,
            rolling_resistance,
            index: None,
        },
    )
}

fn any_shape() -> impl Strategy<Value = Shape> {
    let filter = (any::<u32>(), any::<u32>(), any::<i32>());
    let filter = prop_oneof![
        Just(Filter::default()),
        filter.prop_map(|(category, mask, group)| Filter { category, mask, group })
    ];
    let material = prop_oneof![Just(Material::default()), any_material()];
    // Small enough that no centre of mass swamps the inertia of a small shape.
    let sensor = any::<bool>();
    (any_geometry(), pair(-10.0, 10.0), number(-1e5, 1e5), number(1e-3, 1e3), material, filter, sensor).prop_map(
        |(geometry, offset, rotation, density, material, filter, sensor)| {
            let one_way = sensor && matches!(geometry, Geometry::Link { .. });
            let shape = Shape::new(geometry).offset(offset.x, offset.y).rotation(rotation).density(density);
            Shape { material, sensor, one_way, ..shape }.filter(filter)
        },
    )
}

fn any_body() -> impl Strategy<Value = Body> {
    let kind = prop_oneof![Just(BodyType::Static), Just(BodyType::Kinematic), Just(BodyType::Dynamic)];
    let big = || number(-1e15, 1e15);
    // In single and in double precision.
    let place = (pair(-9.9e6, 9.9e6), prop_oneof![Just(0.0), 0.0..1e-3])
        .prop_map(|(at, rest)| Body::default().position(at.as_dvec2() + rest));
    (
        (kind, place, number(-1e5, 1e5), pair(-1e15, 1e15), big(), big()),
        (number(0.0, 1e15), number(0.0, 1e15), any::<(bool, bool, bool)>(), pair(-1e15, 1e15), any::<u64>()),
        (prop::option::of(pair(-1e5, 1e5)), big(), prop::option::of(number(1e-9, 1e9))),
        (prop::option::of(number(1e-9, 1e9)), prop::collection::vec(any_shape(), 1..4)),
    )
        .prop_map(|(a, b, c, d)| Body {
            id: None,
            kind: a.0,
            position: a.1.position,
            position_low: a.1.position_low,
            angle: a.2,
            velocity: a.3,
            angular_velocity: a.4,
            gravity_scale: a.5,
            linear_damping: b.0,
            angular_damping: b.1,
            fixed_rotation: b.2.0,
            bullet: b.2.1,
            can_sleep: b.2.2,
            sleep_speed: d.0,
            force: b.3,
            force_point: c.0,
            torque: c.1,
            mass: c.2,
            inertia: d.0,
            path: None,
            color_index: c.2.map(f32::to_bits),
            user_data: b.4,
            shapes: d.1,
        })
        .prop_map(made_sound)
}

/// Enforces rules across several values: which shapes may be on which bodies.
fn made_sound(mut body: Body) -> Body {
    let has = |body: &Body, which: fn(&Geometry) -> bool| body.shapes.iter().any(|shape| which(&shape.geometry));
    if has(&body, |geometry| matches!(geometry, Geometry::Particle { .. })) {
        body.shapes.retain(|shape| matches!(shape.geometry, Geometry::Particle { .. }));
        body.shapes.truncate(1);
    }
    let stays = |geometry: &Geometry| matches!(geometry, Geometry::HalfPlane { .. } | Geometry::Link { .. });
    if body.kind == BodyType::Dynamic && has(&body, stays) {
        body.kind = BodyType::Kinematic;
    }
    if !has(&body, |geometry| !matches!(geometry, Geometry::Segment { .. })) {
        body.mass = body.mass.or(Some(2.0));
        body.inertia = body.inertia.or(Some(0.5));
    }
    body
}

/// A chain in a file is the links that the builder makes, behind the other shapes; its mistakes are named.
#[test]
fn a_chain_becomes_links() {
    let text = |chain: &str| {
        format!(
            r#"{{ "version": 1, "bodies": [{{ "type": "static", "shapes": [
                {{ "chain": {chain}, "friction": 0.25, "one_way": true }}, {{ "circle": {{ "radius": 1 }} }}] }}] }}"#
        )
    };
    let points = [[2.0, 0.0], [1.0, 0.5], [0.0, 0.0]];
    for (chain, links) in [
        (r#"{ "points": [[2, 0], [1, 0.5], [0, 0]] }"#, Shape::chain(points)),
        (r#"{ "points": [[2, 0], [1, 0.5], [0, 0]], "loop": true }"#, Shape::chain_loop(points)),
    ] {
        let scene = file::parse(&text(chain), "chain.json").unwrap();
        let mut expected: Vec<Shape> = links.into_iter().map(|link| link.friction(0.25).one_way()).collect();
        expected.insert(1, Shape::circle(1.0));
        assert_eq!(scene.bodies[0].shapes, expected, "{chain}");
    }
    for (chain, message) in [
        (r#"{ "points": [[2, 0]] }"#, "bodies[0].shapes[0].chain.points: has 1 points; expected at least 2"),
        (r#"{ "points": [[2, 0], [1, 0]], "loop": true }"#, "has 2 points; expected at least 3"),
        (r#"{ "points": [[2, 0], [2, 0]] }"#, "bodies[0].shapes[0].chain.points[1]: is at the point before it"),
    ] {
        let error = file::parse(&text(chain), "chain.json").unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}

/// An outline and a height field in a file are the shapes that the builders make, behind the other shapes; their
/// mistakes are named, with the schema's consent where it knows better.
#[test]
fn outlines_and_height_fields_become_shapes() {
    let text = |shape: &str| {
        format!(
            r#"{{ "version": 1, "bodies": [{{ "type": "static", "shapes": [
                {{ {shape}, "friction": 0.25, "offset": [1, 2], "rotation": 0.5 }}, {{ "circle": {{ "radius": 1 }} }}] }}] }}"#
        )
    };
    let l = [[0.0, 0.0], [2.0, 0.0], [2.0, 1.0], [1.0, 1.0], [1.0, 3.0], [0.0, 3.0]];
    let schema = schema();
    for (shape, made) in [
        (r#""outline": { "points": [[0, 0], [2, 0], [2, 1], [1, 1], [1, 3], [0, 3]] }"#, Shape::outline(l).unwrap()),
        (
            r#""outline": { "points": [[0, 0], [0, 3], [1, 3]] }"#,
            Shape::outline([[0.0, 0.0], [0.0, 3.0], [1.0, 3.0]]).unwrap(),
        ),
        (
            r#""height_field": { "spacing": 0.5, "heights": [1, 2, 1.5] }"#,
            Shape::height_field(0.5, [1.0, 2.0, 1.5]).unwrap(),
        ),
    ] {
        let scene = file::parse(&text(shape), "several.json").unwrap();
        let mut expected: Vec<Shape> =
            made.into_iter().map(|shape| shape.friction(0.25).offset(1.0, 2.0).rotation(0.5)).collect();
        expected.insert(1, Shape::circle(1.0));
        assert_eq!(scene.bodies[0].shapes, expected, "{shape}");
        accepted(&schema, &text(shape));
        // Written, it is the same scene.
        assert_eq!(file::parse(&file::write_json(&scene), "several.json").unwrap(), scene);
    }
    for (shape, message) in [
        (
            r#""outline": { "points": [[0, 0], [1, 0]] }"#,
            "bodies[0].shapes[0].outline.points: has 2 corners; expected 3 to 1024",
        ),
        (
            r#""outline": { "points": [[0, 0], [2, 2], [2, 0], [0, 2]] }"#,
            "bodies[0].shapes[0].outline.points[0]: begins a side that crosses or touches the side from points[2]",
        ),
        (r#""outline": { "points": [[0, 0], [1, 1], [3, 3]] }"#, "bodies[0].shapes[0].outline.points: has no area"),
        (r#""outline": { "points": [[0, 0], [1, 0], [0, 1e9]] }"#, "bodies[0].shapes[0].outline.points[2][1]: is 1e9"),
        (r#""height_field": { "spacing": 0, "heights": [1, 2] }"#, "bodies[0].shapes[0].height_field.spacing: is 0"),
        (
            r#""height_field": { "spacing": 1, "heights": [1] }"#,
            "bodies[0].shapes[0].height_field.heights: has 1 of them",
        ),
        (
            r#""height_field": { "spacing": 1, "heights": [1, 1e9] }"#,
            "bodies[0].shapes[0].height_field.heights[1]: is 1e9",
        ),
        (r#""height_field": { "heights": [1, 2] }"#, "spacing"),
        (r#""outline": { "points": [[0, 0], [1, 0], [0, 1]] }, "circle": { "radius": 1 }"#, "has circle and outline"),
    ] {
        let error = file::parse(&text(shape), "several.json").unwrap_err().to_string();
        assert!(error.contains(message), "{error}, not {message}");
    }
}

fn any_joint_kind() -> impl Strategy<Value = JointKind> {
    let option = |range: std::ops::Range<f32>| prop::option::of(number(range.start, range.end));
    let limits = |least: f32| {
        let pair = (number(least, 1e5), number(least, 1e5));
        prop::option::of(pair.prop_map(|(a, b)| [a.min(b), a.max(b).max(0.001)]))
    };
    let motor =
        || prop::option::of((number(-1e15, 1e15), number(0.0, 1e15)).prop_map(|(speed, max)| Motor { speed, max }));
    let spring = || {
        let spring = (number(1e-9, 1e6), number(0.0, 1e6), number(-1e5, 1e5));
        prop::option::of(spring.prop_map(|(hertz, damping_ratio, target)| Spring { hertz, damping_ratio, target }))
    };
    let axis = || (-4.0_f32..4.0).prop_map(Vec2::from_angle);
    let angle = || option(-1e5..1e5);
    prop_oneof![
        // A length where one is held; any_joint removes it otherwise.
        (number(0.001, 1e5), limits(0.0), motor())
            .prop_map(|(length, limits, motor)| JointKind::Distance { length: Some(length), limits, motor })
            .boxed(),
        (option(0.0..1e5), number(0.0, 1e15), number(0.0, 1e15))
            .prop_map(|(rest_length, stiffness, damping)| JointKind::Spring { rest_length, stiffness, damping })
            .boxed(),
        (angle(), limits(-1e5), motor(), spring())
            .prop_map(|(reference_angle, limits, motor, spring)| {
                JointKind::Revolute { reference_angle, limits, motor, spring }
            })
            .boxed(),
        (axis(), angle(), limits(-1e5), motor(), spring())
            .prop_map(|(axis, reference_angle, limits, motor, spring)| {
                JointKind::Prismatic { axis, reference_angle, limits, motor, spring }
            })
            .boxed(),
        (axis(), limits(-1e5), motor(), spring())
            .prop_map(|(axis, limits, motor, spring)| JointKind::Wheel { axis, limits, motor, spring })
            .boxed(),
        (angle(), option(1e-9..1e6), option(0.0..1e6))
            .prop_map(|(reference_angle, angular_hertz, angular_damping_ratio)| JointKind::Weld {
                reference_angle,
                angular_hertz,
                angular_damping_ratio
            })
            .boxed(),
        (pair(-1e5, 1e5), number(-1e5, 1e5), number(0.0, 1e15), number(0.0, 1e15))
            .prop_map(|(linear_offset, angular_offset, max_force, max_torque)| JointKind::Motor {
                linear_offset,
                angular_offset,
                max_force,
                max_torque
            })
            .boxed(),
        (pair(-1e5, 1e5), number(0.0, 1e15))
            .prop_map(|(target, max_force)| JointKind::Mouse { target, max_force })
            .boxed(),
        (prop::option::of(axis()), pair(-1e15, 1e15), number(-1e15, 1e15), number(0.0, 1e15), number(0.0, 1e15))
            .prop_map(|(axis, velocity, angular_velocity, max_force, max_torque)| JointKind::Velocity {
                axis,
                velocity,
                angular_velocity,
                max_force,
                max_torque
            })
            .boxed(),
        (number(1e-3, 1e3), any::<bool>())
            .prop_map(|(ratio, meets)| JointKind::Gear { ratio: if meets { -ratio } else { ratio } })
            .boxed(),
        (pair(-100.0, 100.0), pair(-100.0, 100.0), number(1e-3, 1e3), number(0.1, 1e3))
            .prop_map(|(ground_a, ground_b, ratio, length)| JointKind::Pulley {
                ground_a,
                ground_b,
                ratio,
                length: Some(length)
            })
            .boxed(),
    ]
}

/// Generates the smallest and the largest force of a spring.
fn range() -> impl Strategy<Value = [f32; 2]> {
    let force = || number(-1e15, 1e15);
    (force(), force()).prop_map(|(one, other)| [one.min(other), one.max(other)])
}

/// Generates joints between the world or a body named `a`, and the first body, which is dynamic.
fn any_joint() -> impl Strategy<Value = Joint> {
    (
        (any_joint_kind().boxed(), prop::option::of(1_usize..5), pair(-1e5, 1e5), pair(-1e5, 1e5), any::<[bool; 2]>()),
        (prop::option::of(number(1e-9, 1e6)), prop::option::of(number(0.0, 1e6)), prop::option::of(range())),
        (prop::option::of(number(1e-9, 1e15)), prop::option::of(number(1e-9, 1e15)), prop::option::of(any::<String>())),
    )
        .prop_map(|((kind, a, anchor_a, anchor_b, switches), soft, (break_force, break_torque, id))| {
            let mut joint = Joint {
                id,
                a,
                b: 0,
                anchor_a,
                anchor_b,
                kind,
                collide: switches[0],
                hertz: soft.0,
                damping_ratio: soft.1,
                break_force,
                break_torque,
                spring_range: soft.2,
                enabled: switches[1],
            };
            let own =
                matches!(joint.kind, JointKind::Spring { .. } | JointKind::Velocity { .. } | JointKind::Pulley { .. });
            if let JointKind::Distance { length, limits, motor } = &mut joint.kind
                && joint.hertz.is_none()
                && (limits.is_some() || motor.is_some())
            {
                *length = None;
                joint.damping_ratio = None;
            }
            if own {
                (joint.hertz, joint.damping_ratio) = (None, None);
            }
            if !has_spring(&joint) {
                joint.spring_range = None;
            }
            if matches!(joint.kind, JointKind::Mouse { .. }) {
                (joint.a, joint.anchor_a) = (None, Vec2::ZERO);
            }
            joint
        })
}

fn any_settings() -> impl Strategy<Value = Settings> {
    let mode = prop_oneof![Just(Mode::Soft), Just(Mode::Baumgarte), Just(Mode::Projection)];
    let mix = prop_oneof![
        Just(Mixing::Min),
        Just(Mixing::Max),
        Just(Mixing::Geometric),
        Just(Mixing::Mean),
        Just(Mixing::Product)
    ];
    (
        (number(1e-9, 1e3), prop::option::of(1_u32..=64), prop::option::of(1_u32..=64), mode, [mix.clone(), mix]),
        (number(0.0, 1.0), prop::option::of(number(0.0, 1e5)), prop::option::of(number(0.0, 1e15))),
        (
            prop::option::of(number(1e-5, 1e5)),
            prop::option::of(number(1e-3, 1e15)),
            prop::option::of(number(1e-3, 1e15)),
        ),
        any::<[bool; 11]>(),
        (prop::option::of(number(1e-3, 1e6)), number(1e-3, 1e6), prop::option::of(number(0.0, 1e15))),
    )
        .prop_map(|(a, b, e, c, d)| Settings {
            dt: a.0,
            substeps: a.1,
            iterations: a.2,
            mode: a.3,
            restitution_mix: a.4[0],
            friction_mix: a.4[1],
            baumgarte: b.0,
            contact_hertz: d.0,
            contact_damping_ratio: d.1,
            push_speed: d.2,
            slop: b.1,
            restitution_threshold: b.2,
            length_unit: e.0,
            max_speed: e.1,
            max_spin: e.2,
            relax: c[0],
            warm_start: c[1],
            accumulate: c[2],
            correct_position: c[3],
            recycle: c[4],
            strict: c[5],
            events: c[6],
            sleep: c[7],
            initial_loads: c[8],
            mass_scaling: c[9],
            continuous: c[10],
        })
}

fn any_scene() -> impl Strategy<Value = Scene> {
    // On the heap, as the trees of values are larger than a test's stack without optimisation.
    let settings = prop_oneof![Just(Settings::default()), any_settings()].boxed();
    let bodies = prop::collection::vec((any_body().boxed(), prop::option::of(any::<String>())), 0..5);
    let joints = prop::collection::vec(any_joint().boxed(), 0..4);
    let emitters = prop::collection::vec((any::<u32>(), prop::option::of(1..=u32::MAX), 1..1000_u32, 0..4_u8), 0..3);
    let materials = prop::collection::vec((any::<String>(), any_material().boxed()), 0..4);
    let view = prop::option::of((pair(-1e5, 0.0), pair(1.0, 1e5)).prop_map(|(min, max)| ViewBox { min, max }));
    let parts = (any::<String>(), pair(-1e15, 1e15), settings, bodies, joints, emitters, view);
    (parts, materials).prop_map(|((name, gravity, settings, bodies, joints, emitters, view), materials)| {
        let with_id = |(index, (body, id)): (usize, (Body, Option<String>))| Body {
            id: id.map(|id| format!("{index} {id}").chars().take(60).collect()),
            ..body
        };
        let mut bodies: Vec<Body> = bodies.into_iter().enumerate().map(with_id).collect();
        let mut joints = joints;
        if let Some(first) = bodies.first_mut().filter(|_| !joints.is_empty()) {
            first.kind = BodyType::Dynamic;
            if first
                .shapes
                .iter()
                .any(|shape| matches!(shape.geometry, Geometry::HalfPlane { .. } | Geometry::Link { .. }))
            {
                first.shapes = vec![Shape::circle(1.0)];
            }
        } else {
            joints.clear();
        }
        for (index, joint) in joints.iter_mut().enumerate() {
            joint.id = joint.id.take().map(|id| format!("{index} {id}").chars().take(60).collect());
            joint.a = joint.a.filter(|&a| a < bodies.len());
            if joint.a.is_none() && matches!(joint.kind, JointKind::Gear { .. } | JointKind::Pulley { .. }) {
                joint.kind = JointKind::hinge();
            }
        }
        let scene = materials::scene_of(materials);
        materials::spread(&mut bodies, &scene.materials);
        // The scene's own bodies and joints, except half planes.
        let plane = |shape: &Shape| matches!(shape.geometry, Geometry::HalfPlane { .. });
        let whole = !bodies.iter().flat_map(|body| &body.shapes).any(plane);
        let emitter = |(start, every, many, ending): (u32, Option<u32>, u32, u8)| Emitter {
            bodies: bodies.clone(),
            joints: joints.clone(),
            start,
            every,
            count: every.and((ending == 1 || ending == 3).then_some(many)),
            keep: every.and((ending == 2 || ending == 3).then_some(many)),
            lifetime: (ending == 0).then_some(every.unwrap_or(many)),
        };
        let emitters = emitters.into_iter().filter(|_| whole && !bodies.is_empty()).map(emitter).collect();
        let name = name.chars().take(60).collect();
        Scene { name, gravity, settings, bodies, joints, emitters, view, ..scene }
    })
}

proptest! {
    #[test]
    fn scenes_survive_writing_and_reading(scene in any_scene()) {
        // Debug distinguishes −0 from 0, which `==` does not.
        let same = |text: &str, name: &str| {
            let back = file::parse(text, name).unwrap_or_else(|error| panic!("{error}\n{text}"));
            assert_eq!(format!("{back:?}"), format!("{scene:?}"));
        };
        let json = file::write_json(&scene);
        same(&json, "written.json");
        same(&json, "-");
        let ron = file::write_ron(&scene);
        same(&ron, "written.ron");
        same(&ron, "-");
    }

    #[test]
    fn arbitrary_text_never_panics(text in any::<String>()) {
        for name in ["x.json", "x.ron", "x"] {
            let error = file::parse(&text, name).expect_err("no scene by chance");
            assert_tells(&error, &text, name);
        }
    }
}

#[test]
fn the_schema_accepts_written_scenes() {
    let schema = schema();
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    for _ in 0..100 {
        let scene = any_scene().new_tree(&mut runner).expect("a scene").current();
        let text = file::write_json(&scene);
        let value = serde_json::from_str(&text).expect("JSON");
        let errors: Vec<String> = schema.iter_errors(&value).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{errors:?} in {text}");
    }
}

/// Mutated good and bad scenes: cut, joined, and with words of the format inserted. Runs 3,000 texts, or as many as
/// `DRYSTONE_FUZZ_SECONDS` allows; `DRYSTONE_FUZZ_SEED` selects another start. The same seed gives the same texts.
#[test]
fn mutated_scenes_never_panic() {
    let variable = |name: &str| std::env::var(name).ok().map(|value| value.parse::<u64>().expect(name));
    let limit = variable("DRYSTONE_FUZZ_SECONDS").map(Duration::from_secs);
    let mut random = SplitMix(variable("DRYSTONE_FUZZ_SEED").unwrap_or(1));
    let mut seeds: Vec<(String, &str)> = Vec::new();
    for (name, text) in GOOD.into_iter().chain(bad_scenes()) {
        seeds.push((text.to_owned(), if is(name, "ron") { "x.ron" } else { "x.json" }));
    }
    let words: Vec<String> = seeds.iter().flat_map(|(text, _)| tokens(text)).collect();
    let start = Instant::now();
    let (mut runs, mut good) = (0_u64, 0_u64);
    while limit.map_or(runs < 3000, |limit| start.elapsed() < limit) {
        // Good scenes half the time, so that mutants get past the syntax.
        let pick =
            if below(&mut random, 2) == 0 { below(&mut random, GOOD.len()) } else { below(&mut random, seeds.len()) };
        let (seed, name) = &seeds[pick];
        let mut text = tokens(seed);
        for _ in 0..=below(&mut random, 4) {
            mutate(&mut text, &words, &mut random);
        }
        let text = text.concat();
        match file::parse(&text, name) {
            Err(error) => assert_tells(&error, &text, name),
            Ok(scene) => {
                good += 1;
                assert_eq!(scene.check(), Ok(()), "{text}");
                assert_eq!(file::parse(&file::write_json(&scene), "x.json").as_ref(), Ok(&scene), "{text}");
                assert_eq!(file::parse(&file::write_ron(&scene), "x.ron").as_ref(), Ok(&scene), "{text}");
            }
        }
        runs += 1;
    }
    println!("{runs} texts, {good} of them scenes, in {:?}", start.elapsed());
    assert!(good > 0 && good < runs, "{good} of {runs} are scenes: the mutations do not explore");
}

/// Returns a random number below `end`.
fn below(random: &mut SplitMix, end: usize) -> usize {
    usize::try_from(random.bits() % end.max(1) as u64).expect("below a usize")
}

/// Splits a text into words, numbers, and other single characters.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    let mut in_word = false;
    for character in text.chars() {
        let word = character.is_alphanumeric() || "_.-+".contains(character);
        match tokens.last_mut().filter(|_| word && in_word) {
            Some(last) => last.push(character),
            None => tokens.push(character.to_string()),
        }
        in_word = word;
    }
    tokens
}

fn mutate(text: &mut Vec<String>, words: &[String], random: &mut SplitMix) {
    const ODD: [&str; 24] = [
        "0",
        "-0",
        "1e400",
        "1e-400",
        "1e39",
        "-1",
        "99999999999999999999",
        "NaN",
        "inf",
        "null",
        "true",
        "\u{0}",
        "\\",
        "\"",
        "[[[[",
        "((((",
        "{{{{",
        "\\ud800",
        "\u{feff}",
        "\u{10ffff}",
        "/*",
        "//",
        "Some(",
        "r#",
    ];
    let at = below(random, text.len());
    let length = below(random, 8);
    match below(random, 9) {
        0 if !text.is_empty() => drop(text.remove(at)),
        1 if !text.is_empty() => text[at].clone_from(&words[below(random, words.len())]),
        2 => text.insert(at, words[below(random, words.len())].clone()),
        3 => text.insert(at, ODD[below(random, ODD.len())].to_owned()),
        4 if !text.is_empty() => ODD[below(random, ODD.len())].clone_into(&mut text[at]),
        5 => text.truncate(at),
        6 => {
            let end = (at + length * length).min(text.len());
            let copy = text[at..end].to_vec();
            let to = below(random, text.len());
            text.splice(to..to, copy);
        }
        7 => drop(text.drain(at..(at + length).min(text.len()))),
        _ if !text.is_empty() => {
            let to = below(random, text.len());
            text.swap(at, to);
        }
        _ => {}
    }
}

/// A file that says no step gets one that bodies of its size need, and is written without it again; from Rust a scene
/// has what it says.
#[test]
fn steps_follow_the_size_of_bodies() {
    let scene = |half: f32, more: &str| {
        let body = format!(r#"{{ "type": "dynamic", "shapes": [{{ "box": {{ "half": [{half}, {half}] }} }}] }}"#);
        file::parse(&format!(r#"{{ "version": 1, "bodies": [{body}]{more} }}"#), ".json").expect("a valid scene")
    };
    let step = |half: f32, more: &str| f64::from(60.0 * scene(half, more).settings.dt);
    let g100 = r#", "gravity": [0, -981]"#;
    // Halved until at most the root of the size, a power of 2 itself: 2^-3.5 for 2^-7 m.
    for (half, more, expected) in [
        (0.5, "", 1.0),
        (5.0, "", 1.0),
        (0.05, "", 1.0),
        (500.0, "", 1.0),
        (0.005, "", 0.0625),
        (5e-5, "", 0.007_812_5),
        (0.5, g100, 0.0625),
        (0.5, r#", "gravity": [0, -20]"#, 1.0),
        (0.5, r#", "gravity": [0, -0.1]"#, 1.0),
        (0.005, r#", "settings": { "length_unit": 1 }"#, 1.0),
        (0.005, r#", "settings": { "dt": 0.016666668 }"#, 1.0),
    ] {
        let found = step(half, more);
        assert!((found - expected).abs() < 1e-5, "{half} m{more}: {found} sixtieths of a second");
        let scene = scene(half, more);
        for text in [file::write_json(&scene), file::write_ron(&scene)] {
            let source = if text.starts_with('{') { ".json" } else { ".ron" };
            assert_eq!(file::parse(&text, source).as_ref(), Ok(&scene), "{text}");
        }
    }
}
