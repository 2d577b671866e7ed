//! The scene file: what is refused and how it is told, what is read, what is written, and the schema.
//!
//! `DRYSTONE_FUZZ_SECONDS=600 cargo test --release --test scenes mutated` fuzzes for ten minutes.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use drystone::scene::file::{self, FileError, FileErrorKind};
use drystone::{Body, BodyType, Filter, Geometry, Mode, RestitutionMix, Scene, Settings, Shape};
use glam::Vec2;
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;

const TWO_BOXES: &str = include_str!("good_scenes/two_boxes.json");
const EVERYTHING_JSON: &str = include_str!("good_scenes/everything.json");
const EVERYTHING_RON: &str = include_str!("good_scenes/everything.ron");
const GOOD: [(&str, &str); 3] =
    [("two_boxes.json", TWO_BOXES), ("everything.json", EVERYTHING_JSON), ("everything.ron", EVERYTHING_RON)];

/// `tests/bad_scenes/cases.txt`, as name and text.
fn bad_scenes() -> Vec<(&'static str, &'static str)> {
    let cases = include_str!("bad_scenes/cases.txt").split("\n=== ").skip(1);
    cases.map(|case| case.split_once('\n').expect("a line of its own for the name")).collect()
}

fn schema() -> jsonschema::Validator {
    let schema = serde_json::from_str(&file::json_schema()).expect("the schema is JSON");
    jsonschema::draft202012::new(&schema).expect("the schema is a schema")
}

/// What holds for every complaint, whatever it is about.
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
fn bad_scenes_are_told_what_is_wrong() {
    let schema = schema();
    let mut told = String::new();
    let cases = bad_scenes();
    assert!(cases.len() >= 200, "only {} cases", cases.len());
    for (name, text) in cases {
        let error = file::parse(text, name).expect_err(name);
        assert_tells(&error, text, name);
        let place = error.place.as_ref().expect("a place");
        let _ = writeln!(told, "{error}\n  {:?} at {:?}", error.kind, &text[place.span.clone()]);
        if let (true, Ok(value)) = (name.ends_with(".json"), serde_json::from_str::<serde_json::Value>(text)) {
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
    // The path of a complaint leads, in an independent reader, to the very text its span covers.
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
    assert!(followed > 100, "followed only {followed}");
}

#[test]
fn the_example_of_the_contract_is_read() {
    let mut expected = Scene::new("two boxes");
    expected.settings.dt = 0.016_666_667;
    expected.settings.substeps = Some(4);
    expected.add(Body::fixed(0.0, 0.0).shape(Shape::half_box(50.0, 1.0).offset(0.0, -1.0)));
    let mut a = Body::dynamic(0.0, 0.5).id("a").shape(Shape::half_box(0.5, 0.5));
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
        mode: Mode::Projection,
        relax: false,
        warm_start: false,
        accumulate: false,
        baumgarte: 0.3,
        slop: 0.001,
        correct_position: false,
        recycle: false,
        restitution_threshold: 0.5,
        restitution_mix: RestitutionMix::Max,
        strict: true,
    };
    let body = Body {
        id: Some("spinner \u{1f300}".to_owned()),
        kind: BodyType::Kinematic,
        position: Vec2::new(-1.5, 2.25),
        angle: 0.5,
        velocity: Vec2::new(1.0, -2.0),
        angular_velocity: 3.0,
        gravity_scale: 0.5,
        linear_damping: 0.1,
        angular_damping: 0.2,
        fixed_rotation: true,
        bullet: false,
        force: Vec2::new(4.0, 5.0),
        force_point: Some(Vec2::new(0.25, -0.25)),
        torque: 6.0,
        mass: Some(7.0),
        inertia: Some(8.0),
        shapes: vec![
            Shape::circle(0.75)
                .offset(0.5, -0.5)
                .rotation(1.5)
                .density(2.5)
                .friction(0.4)
                .restitution(0.9)
                .filter(Filter { category: 2, mask: 4_294_967_293, group: -3 }),
            Shape::half_box(1.0, 0.125),
        ],
    };
    let expected =
        Scene { name: "everything".to_owned(), gravity: Vec2::new(0.5, -1.62), settings, bodies: vec![body] };
    assert_eq!(file::parse(EVERYTHING_JSON, "everything.json").as_ref(), Ok(&expected));
    assert_eq!(file::parse(EVERYTHING_RON, "everything.ron").as_ref(), Ok(&expected));
    assert_eq!(file::parse(EVERYTHING_JSON, "-").as_ref(), Ok(&expected), "told apart by content");
    assert_eq!(file::parse(EVERYTHING_RON, "-").as_ref(), Ok(&expected), "told apart by content");
}

#[test]
fn what_is_left_out_has_the_models_default() {
    let expected = Scene { bodies: vec![Body::default().shape(Shape::circle(1.0))], ..Scene::default() };
    let json = r#"{ "version": 1, "settings": {}, "bodies": [{ "shapes": [{ "circle": { "radius": 1 } }] }] }"#;
    assert_eq!(file::parse(json, "json").as_ref(), Ok(&expected));
    let ron = "Scene(version: 1, bodies: [Body(shapes: [Shape(circle: Round(radius: 1))])])";
    assert_eq!(file::parse(ron, "ron").as_ref(), Ok(&expected));
    assert_eq!(file::parse(r#"{ "version": 1, "$schema": "x" }"#, "").as_ref(), Ok(&Scene::default()));
}

#[test]
fn what_changes_nothing_is_accepted() {
    let text = r#"{ "version": 1, "bodies": [ { "shapes": [
        { "box": { "half": [1, 1], "radius": 0 }, "friction": 0.3, "kinetic_friction": 0.3 } ] } ], "joints": [] }"#;
    let shape = Shape::half_box(1.0, 1.0).friction(0.3);
    assert_eq!(file::parse(text, "").map(|scene| scene.bodies[0].shapes[0]), Ok(shape));
}

#[test]
fn written_text_is_as_expected() {
    insta::assert_snapshot!("written_json", file::write_json(&file::parse(EVERYTHING_JSON, ".json").expect("good")));
    insta::assert_snapshot!("written_ron", file::write_ron(&file::parse(EVERYTHING_JSON, ".json").expect("good")));
}

#[test]
fn the_shipped_schema_is_up_to_date() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/schema/scene-v1.schema.json");
    if std::env::var_os("DRYSTONE_UPDATE_SCHEMA").is_some() {
        std::fs::write(path, file::json_schema()).expect("writable");
    }
    let shipped = std::fs::read_to_string(path).expect("schema/scene-v1.schema.json");
    assert!(shipped == file::json_schema(), "{path} is stale: run this test with DRYSTONE_UPDATE_SCHEMA=1");
}

#[test]
fn the_schema_accepts_good_scenes() {
    let schema = schema();
    for (name, text) in GOOD.iter().filter(|(name, _)| name.ends_with(".json")) {
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
    text.push_str(&body.repeat(drystone::scene::MAX_BODIES));
    let most = format!("{}]}}", text.trim_end_matches(','));
    let scene = file::parse(&most, "most.json").expect("as many as there may be");
    assert_eq!(scene.bodies.len(), drystone::scene::MAX_BODIES);
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
fn files_that_cannot_be_read_are_told_by_name() {
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

#[test]
fn scenes_from_rust_are_checked_like_files() {
    let ok = || Scene { bodies: vec![Body::default().shape(Shape::circle(1.0))], ..Scene::default() };
    assert_eq!(ok().check(), Ok(()));
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        // Every number of the model, by its path.
        type Set = fn(&mut Scene, f32);
        let numbers: [(&str, Set); 24] = [
            ("gravity[0]", |s, x| s.gravity.x = x),
            ("gravity[1]", |s, x| s.gravity.y = x),
            ("settings.dt", |s, x| s.settings.dt = x),
            ("settings.baumgarte", |s, x| s.settings.baumgarte = x),
            ("settings.slop", |s, x| s.settings.slop = x),
            ("settings.restitution_threshold", |s, x| s.settings.restitution_threshold = x),
            ("bodies[0].position[0]", |s, x| s.bodies[0].position.x = x),
            ("bodies[0].angle", |s, x| s.bodies[0].angle = x),
            ("bodies[0].velocity[1]", |s, x| s.bodies[0].velocity.y = x),
            ("bodies[0].angular_velocity", |s, x| s.bodies[0].angular_velocity = x),
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
                s.bodies[0].shapes[0].geometry = Geometry::Box { half: Vec2::new(1.0, x) };
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
            // RON can say it, JSON cannot; neither is read back.
            assert!(file::parse(&file::write_ron(&scene), ".ron").is_err(), "{path}");
            assert!(file::parse(&file::write_json(&scene), ".json").is_err(), "{path}");
        }
    }
}

#[test]
fn the_ends_of_every_range_are_in() {
    use drystone::scene::MAX_BODIES;
    assert_eq!(MAX_BODIES, 4_000_000);
    let schema = schema();
    for (key, inside) in [
        ("dt", "1e-9"),
        ("dt", "1000"),
        ("substeps", "1"),
        ("substeps", "64"),
        ("iterations", "64"),
        ("baumgarte", "0"),
        ("baumgarte", "1"),
        ("slop", "0"),
        ("restitution_threshold", "0"),
    ] {
        accepted(&schema, &format!(r#"{{ "version": 1, "settings": {{ "{key}": {inside} }} }}"#));
    }
    for inside in [
        r#""circle": { "radius": 0.0001 }"#,
        r#""circle": { "radius": 100000 }"#,
        r#""box": { "half": [0.0001, 100000] }"#,
        r#""circle": { "radius": 1 }, "friction": 0, "restitution": 0"#,
        r#""circle": { "radius": 1 }, "friction": 1000, "restitution": 1"#,
        r#""circle": { "radius": 1 }, "offset": [-100000, 100000]"#,
        r#""circle": { "radius": 1 }, "density": 1e-30"#,
        r#""circle": { "radius": 1 }, "density": 1e30"#,
    ] {
        accepted(
            &schema,
            &format!(
                r#"{{ "version": 1, "bodies": [{{ "position": [100000, -100000], "shapes": [{{ {inside} }}] }}] }}"#
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

/// Any number in a range, favouring its ends, zero and numbers with few digits.
fn number(min: f32, max: f32) -> impl Strategy<Value = f32> {
    let tidy = (-1000_i16..1000).prop_map(move |n| (f32::from(n) / 8.0).clamp(min, max));
    prop_oneof![Just(min), Just(max), Just((-0.0_f32).clamp(min, max)), tidy, min..=max]
}

fn pair(min: f32, max: f32) -> impl Strategy<Value = Vec2> {
    (number(min, max), number(min, max)).prop_map(|(x, y)| Vec2::new(x, y))
}

fn any_shape() -> impl Strategy<Value = Shape> {
    let geometry = prop_oneof![
        number(0.001, 1e5).prop_map(|radius| Geometry::Circle { radius }),
        pair(0.001, 1e5).prop_map(|half| Geometry::Box { half }),
    ];
    let filter = (any::<u32>(), any::<u32>(), any::<i32>());
    let filter = prop_oneof![
        Just(Filter::default()),
        filter.prop_map(|(category, mask, group)| Filter { category, mask, group })
    ];
    // Small enough that no centre of mass drowns the inertia of a small shape.
    (geometry, pair(-10.0, 10.0), number(-1e5, 1e5), number(1e-3, 1e3), number(0.0, 1e15), number(0.0, 1.0), filter)
        .prop_map(|(geometry, offset, rotation, density, friction, restitution, filter)| {
            let shape = Shape::new(geometry).offset(offset.x, offset.y).rotation(rotation).density(density);
            shape.friction(friction).restitution(restitution).filter(filter)
        })
}

fn any_body() -> impl Strategy<Value = Body> {
    let kind = prop_oneof![Just(BodyType::Static), Just(BodyType::Kinematic), Just(BodyType::Dynamic)];
    let big = || number(-1e15, 1e15);
    (
        (kind, pair(-1e5, 1e5), number(-1e5, 1e5), pair(-1e15, 1e15), big(), big()),
        (number(0.0, 1e15), number(0.0, 1e15), any::<bool>(), pair(-1e15, 1e15)),
        (prop::option::of(pair(-1e5, 1e5)), big(), prop::option::of(number(1e-9, 1e9))),
        (prop::option::of(number(1e-9, 1e9)), prop::collection::vec(any_shape(), 1..4)),
    )
        .prop_map(|(a, b, c, d)| Body {
            id: None,
            kind: a.0,
            position: a.1,
            angle: a.2,
            velocity: a.3,
            angular_velocity: a.4,
            gravity_scale: a.5,
            linear_damping: b.0,
            angular_damping: b.1,
            fixed_rotation: b.2,
            bullet: false,
            force: b.3,
            force_point: c.0,
            torque: c.1,
            mass: c.2,
            inertia: d.0,
            shapes: d.1,
        })
}

fn any_settings() -> impl Strategy<Value = Settings> {
    let mode = prop_oneof![Just(Mode::Soft), Just(Mode::Baumgarte), Just(Mode::Projection)];
    let mix = prop_oneof![Just(RestitutionMix::Min), Just(RestitutionMix::Max)];
    (
        (number(1e-9, 1e3), prop::option::of(1_u32..=64), prop::option::of(1_u32..=64), mode, mix),
        (number(0.0, 1.0), number(0.0, 1e5), number(0.0, 1e15)),
        any::<[bool; 6]>(),
    )
        .prop_map(|(a, b, c)| Settings {
            dt: a.0,
            substeps: a.1,
            iterations: a.2,
            mode: a.3,
            restitution_mix: a.4,
            baumgarte: b.0,
            slop: b.1,
            restitution_threshold: b.2,
            relax: c[0],
            warm_start: c[1],
            accumulate: c[2],
            correct_position: c[3],
            recycle: c[4],
            strict: c[5],
        })
}

fn any_scene() -> impl Strategy<Value = Scene> {
    let settings = prop_oneof![Just(Settings::default()), any_settings()];
    let bodies = prop::collection::vec((any_body(), prop::option::of(any::<String>())), 0..5);
    (any::<String>(), pair(-1e15, 1e15), settings, bodies).prop_map(|(name, gravity, settings, bodies)| {
        let with_id = |(index, (body, id)): (usize, (Body, Option<String>))| Body {
            id: id.map(|id| format!("{index} {id}").chars().take(60).collect()),
            ..body
        };
        Scene {
            name: name.chars().take(60).collect(),
            gravity,
            settings,
            bodies: bodies.into_iter().enumerate().map(with_id).collect(),
        }
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(scene in any_scene()) {
        // Debug tells −0 from 0, which `==` does not.
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
fn the_schema_accepts_what_is_written() {
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

/// Good and bad scenes, cut, joined, and with words of the format thrown in. Runs 3,000 texts, or as many as
/// `DRYSTONE_FUZZ_SECONDS` allows; `DRYSTONE_FUZZ_SEED` starts elsewhere. The same seed gives the same texts.
#[test]
fn mutated_scenes_never_panic() {
    let variable = |name: &str| std::env::var(name).ok().map(|value| value.parse::<u64>().expect(name));
    let limit = variable("DRYSTONE_FUZZ_SECONDS").map(Duration::from_secs);
    let mut random = Random(variable("DRYSTONE_FUZZ_SEED").unwrap_or(1));
    let mut seeds: Vec<(String, &str)> = Vec::new();
    for (name, text) in GOOD.into_iter().chain(bad_scenes()) {
        seeds.push((text.to_owned(), if name.ends_with(".ron") { "x.ron" } else { "x.json" }));
    }
    let words: Vec<String> = seeds.iter().flat_map(|(text, _)| tokens(text)).collect();
    let start = Instant::now();
    let (mut runs, mut good) = (0_u64, 0_u64);
    while limit.map_or(runs < 3000, |limit| start.elapsed() < limit) {
        // Good scenes half the time, so that mutants get past the syntax.
        let pick = if random.below(2) == 0 { random.below(GOOD.len()) } else { random.below(seeds.len()) };
        let (seed, name) = &seeds[pick];
        let mut text = tokens(seed);
        for _ in 0..=random.below(4) {
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

/// `SplitMix64` (Steele, Lea and Flood 2014).
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % end.max(1) as u64).expect("below a usize")
    }
}

/// Words, numbers, and single other characters.
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

fn mutate(text: &mut Vec<String>, words: &[String], random: &mut Random) {
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
    let at = random.below(text.len());
    let length = random.below(8);
    match random.below(9) {
        0 if !text.is_empty() => drop(text.remove(at)),
        1 if !text.is_empty() => text[at] = words[random.below(words.len())].clone(),
        2 => text.insert(at, words[random.below(words.len())].clone()),
        3 => text.insert(at, ODD[random.below(ODD.len())].to_owned()),
        4 if !text.is_empty() => text[at] = ODD[random.below(ODD.len())].to_owned(),
        5 => text.truncate(at),
        6 => {
            let end = (at + length * length).min(text.len());
            let copy = text[at..end].to_vec();
            let to = random.below(text.len());
            text.splice(to..to, copy);
        }
        7 => drop(text.drain(at..(at + length).min(text.len()))),
        _ if !text.is_empty() => {
            let to = random.below(text.len());
            text.swap(at, to);
        }
        _ => {}
    }
}
