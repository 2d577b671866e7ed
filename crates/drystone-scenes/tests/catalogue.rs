//! The catalogue: built-in scenes match their sources, and specs are parsed strictly.

use std::collections::HashSet;

use drystone::JointKind;
use drystone::low_level::math::{inv_rotate, rotation};
use drystone::low_level::scene::Compiled;
use drystone::{Body, BodyType, Geometry, Joint, Mixing, Mode, Scene};
use drystone_scenes::catalogue::{self, CatalogueError, Entry, Parameter};
use drystone_scenes::file;
use glam::Vec2;

/// Returns the scene with one batch of each emitter there from the start.
pub fn unfolded(scene: &Scene) -> Scene {
    let mut all = Scene { emitters: Vec::new(), ..scene.clone() };
    for emitter in &scene.emitters {
        let first = all.bodies.len();
        all.bodies.extend(emitter.bodies.iter().map(|body| Body { id: None, ..body.clone() }));
        all.joints.extend(emitter.joints.iter().map(|joint| Joint {
            a: joint.a.map(|a| first + a),
            b: first + joint.b,
            id: None,
            ..joint.clone()
        }));
    }
    all
}

/// Maximum number of bodies of scenes built here; larger ones would only take time.
const SMALL: u64 = 100_000;

fn build(spec: &str) -> Scene {
    catalogue::build(spec).unwrap_or_else(|error| panic!("{spec}: {error}"))
}

/// Checks the invariants of every scene, independently of `Scene::check`.
fn assert_sound(scene: &Scene) {
    let name = &scene.name;
    scene.check().unwrap_or_else(|error| panic!("{name}: {error}"));
    assert!(!scene.bodies.is_empty(), "{name} is empty");
    let length = |value: f32| (1e-4..=1e5).contains(&value);
    let mut ids = HashSet::new();
    for (index, body) in scene.bodies.iter().enumerate() {
        assert!(body.position.abs().max_element() <= 1e7, "{name}: body {index} is at {}", body.position);
        assert!(body.angle.is_finite() && body.velocity.is_finite() && body.angular_velocity.is_finite());
        assert!(body.id.as_ref().is_none_or(|id| ids.insert(id.clone())), "{name}: id of body {index} is not unique");
        assert!(!body.shapes.is_empty(), "{name}: body {index} has no shape");
        for shape in &body.shapes {
            let fits = match &shape.geometry {
                Geometry::Circle { radius } | Geometry::Particle { radius } => length(*radius),
                Geometry::Box { half, radius } => length(half.x) && length(half.y) && *radius >= 0.0,
                Geometry::Capsule { a, b, radius } => length(a.distance(*b)) && length(*radius),
                Geometry::Segment { a, b } | Geometry::Link { a, b, .. } => length(a.distance(*b)),
                Geometry::Polygon { points, radius } => (3..=8).contains(&points.len()) && *radius >= 0.0,
                Geometry::HalfPlane { normal, .. } => {
                    (normal.length() - 1.0).abs() < 1e-5 && body.kind != BodyType::Dynamic
                }
            };
            assert!(fits, "{name}: body {index} has {:?}", shape.geometry);
            assert!(shape.offset.abs().max_element() <= 1e5 && shape.rotation.is_finite(), "{name}: body {index}");
            assert!(shape.density > 0.0 && shape.material.friction >= 0.0, "{name}: body {index}");
            assert!((0.0..=1.0).contains(&shape.material.restitution), "{name}: body {index}");
        }
    }
}

/// Returns values of one parameter other than its default, the ends of its range first.
fn others(parameter: &Parameter) -> Vec<f64> {
    let middle = parameter.default + if parameter.default < parameter.max { 1.0 } else { -1.0 };
    [parameter.min, parameter.max, middle].into_iter().filter(|value| *value != parameter.default).collect()
}

fn built_if_small(entry: &Entry, parameter: &Parameter, value: f64) -> Option<Scene> {
    let given = [(parameter.name, value)];
    let count = entry.body_count(&given).ok()?;
    (count <= SMALL).then(|| {
        let scene = entry.build(&given).unwrap_or_else(|error| panic!("{}: {error}", entry.name));
        assert_eq!(scene.most_parts().bodies as u64, count, "{}", scene.name);
        scene
    })
}

#[test]
fn every_scene_of_the_contract_exists_or_is_planned() {
    let box2d = "large_pyramid many_pyramids joint_grid smash tumbler washer spinner compounds junkyard rain";
    let solver2d = "vertical_stack card_house arch domino high_mass_ratio_1 high_mass_ratio_2 high_mass_ratio_3 \
                    friction_ramp overlap_recovery circle_stack confined rush bridge ball_and_chain ragdoll \
                    far_pyramid far_stack";
    let own = "mixed_sizes loaded_plate gears pulleys";
    let seeds = "small_si thruster particles_in_a_turning_box circle_masses pendulum rod_chain naphy_bridge springs \
                 bouncing_ball slope rope_winch_piston motors static_and_kinetic conveyor";
    let samples = "weeble bounce_house ghost_bumps pinball sensor_funnel convex_hull rolling_resistance restitution \
                   platformer";
    let mut left: HashSet<&str> =
        [box2d, solver2d, samples, seeds, own].iter().flat_map(|names| names.split(' ')).collect();
    left.remove("");
    for name in catalogue::entries().iter().map(|e| e.name).chain(catalogue::waiting().iter().map(|w| w.0)) {
        assert!(left.remove(name), "{name} occurs twice, or is not in the contract");
    }
    assert!(left.is_empty(), "missing: {left:?}");
}

#[test]
fn every_scene_builds_with_defaults_and_at_both_ends_of_each_range() {
    let mut built = 0;
    for entry in catalogue::entries() {
        assert!(!entry.summary.is_empty() && !entry.source.is_empty() && entry.steps > 0, "{}", entry.name);
        let scene = build(entry.name);
        assert_eq!(scene.name, entry.name);
        assert_eq!(scene.most_parts().bodies as u64, entry.body_count(&[]).unwrap(), "{}", entry.name);
        assert_sound(&scene);
        let mut names = HashSet::new();
        for parameter in entry.parameters {
            assert!(names.insert(parameter.name), "{}: {} occurs twice", entry.name, parameter.name);
            assert!(parameter.min <= parameter.default && parameter.default <= parameter.max, "{}", parameter.name);
            for end in [parameter.min, parameter.max] {
                if let Some(scene) = built_if_small(entry, parameter, end) {
                    assert_sound(&scene);
                    built += 1;
                }
            }
        }
    }
    // Two ends per parameter, less those of large scenes: the loop did run.
    let ends: usize = catalogue::entries().iter().map(|entry| 2 * entry.parameters.len()).sum();
    assert!(built > ends * 3 / 4, "only {built} of {ends} ends were built");
}

/// Returns the numbers in a summary that a parameter changes: defaults of whole parameters and the body counts they
/// give, except up to two bodies that are not part of the crowd.
fn sizes_in(summary: &str, entry: &Entry) -> Vec<f64> {
    let bodies = entry.body_count(&[]).unwrap() as f64;
    let crowd = entry.parameters.iter().any(|parameter| parameter.integer);
    let numbers = summary.split(|c: char| !c.is_ascii_digit() && !".,".contains(c));
    let numbers = numbers.filter_map(|word| word.trim_matches(['.', ',']).replace(',', "").parse().ok());
    numbers
        .filter(|&number: &f64| {
            let is_default = entry.parameters.iter().any(|parameter| parameter.integer && parameter.default == number);
            is_default || (crowd && (bodies - 2.0..=bodies).contains(&number))
        })
        .collect()
}

#[test]
fn summaries_are_true_for_any_size() {
    for entry in catalogue::entries() {
        assert!(sizes_in(entry.summary, entry).is_empty(), "{}: {}", entry.name, entry.summary);
    }
    // Negative controls: default sizes are detected, single or multiplied; constant numbers are allowed.
    let of = |name: &str, summary: &str| sizes_in(summary, catalogue::find(name).expect("a scene"));
    assert_eq!(of("rush", "400 circles, drawn to one"), [400.0]);
    assert_eq!(of("joint_grid", "10,000 circles"), [10_000.0]);
    assert_eq!(of("tumbler", "a drum with 2025 boxes of 0.4 m"), [2025.0]);
    assert!(of("large_pyramid", "boxes of 1 m, and 17 of them").is_empty());
}

#[test]
fn every_parameter_changes_the_scene_and_the_name_rebuilds_it() {
    for entry in catalogue::entries() {
        let default = build(entry.name);
        for parameter in entry.parameters {
            let mut values = others(parameter);
            if (entry.name, parameter.name) == ("rain", "stay") {
                // A round of the default columns takes as long as the default: a shorter stay acts with fewer columns.
                values.retain(|value| *value > parameter.default);
            }
            let value = *values
                .iter()
                .find(|value| entry.body_count(&[(parameter.name, **value)]).is_ok_and(|count| count <= SMALL))
                .unwrap_or_else(|| panic!("{}: {} has one value only", entry.name, parameter.name));
            let changed = built_if_small(entry, parameter, value).unwrap();
            assert_eq!(changed.name, format!("{}:{}={value}", entry.name, parameter.name));
            let renamed = Scene { name: default.name.clone(), ..changed.clone() };
            assert!(renamed != default, "{}: {} changes nothing", entry.name, parameter.name);
            assert!(build(&changed.name) == changed, "{} builds another scene", changed.name);
        }
    }
}

#[test]
fn scenes_survive_being_written() {
    let mut written = 0;
    for entry in catalogue::entries().iter().filter(|entry| entry.body_count(&[]).is_ok_and(|count| count < 3_500)) {
        let scene = build(entry.name);
        assert!(file::parse(&file::write_json(&scene), "x.json") == Ok(scene.clone()), "{} as JSON", entry.name);
        assert!(file::parse(&file::write_ron(&scene), "x.ron") == Ok(scene), "{} as RON", entry.name);
        written += 1;
    }
    assert!(written > 25, "only {written} are small");
}

#[test]
fn body_and_shape_counts_are_those_of_the_sources() {
    for (spec, bodies, shapes) in [
        ("large_pyramid", 5_051, 5_051),
        ("large_pyramid:base=1", 2, 2),
        ("large_pyramid:base=200", 20_101, 20_101),
        ("many_pyramids", 22_001, 22_020),
        ("many_pyramids:rows=3,columns=5,base=4", 151, 153),
        ("smash", 9_601, 9_601),
        // Box2D's 2027 bodies include an empty one to which the motor is fixed.
        ("tumbler", 2_026, 2_029),
        ("vertical_stack", 11, 11),
        ("vertical_stack:count=50", 51, 51),
        ("card_house", 41, 41),
        ("domino", 16, 16),
        ("high_mass_ratio_1", 166, 166),
        ("high_mass_ratio_2", 4, 4),
        ("high_mass_ratio_3", 4, 4),
        ("friction_ramp", 6, 11),
        ("overlap_recovery", 11, 11),
        ("circle_stack", 11, 11),
        ("confined", 626, 629),
        ("far_pyramid", 56, 56),
        ("far_stack", 6, 6),
        ("small_si", 17, 17),
        ("thruster", 1, 1),
        ("circle_masses", 2, 2),
        ("bouncing_ball", 2, 2),
        ("slope", 2, 2),
        ("joint_grid", 10_000, 10_000),
        // Box2D's 8102 bodies include an empty one.
        ("washer", 8_101, 8_140),
        ("spinner", 6_078, 6_437),
        ("compounds", 3_001, 6_282),
        ("junkyard", 8_002, 8_262),
        ("rain", 11_001, 15_505),
        ("mixed_sizes", 1_501, 1_503),
        ("loaded_plate", 1_002, 1_002),
        ("loaded_plate:fixed=1", 1_002, 1_002),
        ("many_pyramids:segments=1", 22_001, 22_020),
        ("tumbler:motor=1", 2_026, 2_029),
        ("arch", 22, 22),
        ("bridge", 160, 160),
        ("rush", 401, 401),
        ("ball_and_chain", 41, 41),
        ("ragdoll", 12, 14),
        ("confined:capsules=1", 626, 629),
        ("particles_in_a_turning_box", 101, 104),
        ("pendulum", 2, 2),
        ("pendulum:bobs=2", 3, 3),
        ("rod_chain", 9, 9),
        ("naphy_bridge", 17, 17),
        ("springs", 5, 5),
        ("rope_winch_piston", 5, 5),
        ("motors", 7, 7),
        ("gears", 66, 141),
        ("pulleys", 7, 13),
        ("weeble", 2, 3),
        ("bounce_house", 2, 5),
        ("ghost_bumps", 2, 21),
        ("ghost_bumps:chain=0", 2, 10),
        ("pinball", 8, 14),
        // Box2D adds the rings while it runs.
        ("sensor_funnel", 172, 192),
        ("convex_hull", 101, 103),
        // Box2D has a body for each segment.
        ("rolling_resistance", 21, 40),
        ("restitution", 41, 41),
        ("platformer", 10, 10),
        ("static_and_kinetic", 3, 3),
        ("conveyor", 10, 10),
    ] {
        let scene = unfolded(&build(spec));
        assert_eq!(scene.bodies.len(), bodies, "bodies of {spec}");
        assert_eq!(scene.bodies.iter().map(|b| b.shapes.len()).sum::<usize>(), shapes, "shapes of {spec}");
    }
    let million = catalogue::find("many_pyramids").unwrap().body_count(&[("rows", 135.0), ("columns", 135.0)]);
    assert_eq!(million, Ok(1_002_376));
}

#[test]
fn bodies_are_where_the_sources_put_them() {
    // (spec, body, x, y, angle)
    let lean = 25.0_f32.to_radians();
    for (spec, body, x, y, angle) in [
        ("large_pyramid", 0, 0.0, -1.0, 0.0),
        ("large_pyramid", 1, -49.5, 0.5, 0.0),
        ("large_pyramid", 100, 49.5, 0.5, 0.0),
        ("large_pyramid", 101, -49.0, 1.5, 0.0),
        ("large_pyramid", 5_050, 0.0, 99.5, 0.0),
        ("many_pyramids", 1, -109.0, 0.5, 0.0),
        ("many_pyramids", 55, -104.5, 9.5, 0.0),
        ("many_pyramids", 22_000, 104.5, 218.5, 0.0),
        ("smash", 0, -20.0, 0.0, 0.0),
        ("smash", 1, 30.0, -16.0, 0.0),
        ("smash", 2, 30.0, -15.6, 0.0),
        ("smash", 9_600, 77.6, 15.6, 0.0),
        ("tumbler", 0, 0.0, 10.0, 0.0),
        ("tumbler", 1, -9.0, 1.0, 0.0),
        ("tumbler", 2_025, 8.6, 18.6, 0.0),
        ("vertical_stack", 10, 0.0, 9.5, 0.0),
        ("vertical_stack:count=15,jitter=0.01,pitch=1.1,friction=0.3", 1, -0.01, 0.55, 0.0),
        ("vertical_stack:count=15,jitter=0.01,pitch=1.1,friction=0.3", 14, 0.01, 14.85, 0.0),
        ("card_house", 1, 0.25, 0.365, std::f32::consts::FRAC_PI_2),
        ("card_house", 2, 0.0, 0.18, -lean),
        ("card_house", 3, 0.175, 0.18, lean),
        ("card_house", 40, 0.875, 1.66, lean),
        ("domino", 1, -7.5, 0.5, 0.0),
        ("high_mass_ratio_1", 1, -30.0, 1.0, 0.0),
        ("high_mass_ratio_1", 55, -21.0, 21.0, 0.0),
        ("high_mass_ratio_1", 165, 23.0, 21.0, 0.0),
        ("high_mass_ratio_2", 3, 0.0, 26.0, 0.0),
        ("friction_ramp", 5, 1.0, 28.0, 0.0),
        ("overlap_recovery", 1, -1.5, 0.5, 0.0),
        ("overlap_recovery", 5, -1.125, 1.25, 0.0),
        ("overlap_recovery", 10, -0.375, 2.75, 0.0),
        ("circle_stack", 10, 0.0, 31.0, 0.0),
        ("confined", 1, -8.75, 1.5, 0.0),
        ("confined", 625, 8.53, 18.78, 0.0),
        ("far_pyramid:x=0,y=0", 1, -4.375, 1.125, 0.0),
        ("far_pyramid", 1, 99_995.625, -79_998.875, 0.0),
        ("far_stack:x=0,y=0", 5, -0.55, 1.7, 0.0),
        ("bouncing_ball", 1, 0.0, 10.0, 0.0),
        ("joint_grid", 9_999, 99.0, -99.0, 0.0),
        ("washer", 1, -9.9, 0.1, 0.0),
        ("washer", 8_100, 8.79, 18.79, 0.0),
        ("spinner", 1, 0.0, 12.0, 0.0),
        ("spinner", 2, -23.0, 2.0, 0.0),
        ("spinner", 93, 22.5, 2.0, 0.0),
        ("spinner", 94, -23.0, 2.5, 0.0),
        ("compounds", 1, -18.75, 5.575, 0.0),
        ("compounds", 2, -19.25, 7.825, 0.0),
        ("compounds", 3_000, 18.75, 340.825, 0.0),
        ("junkyard", 1, -75.1, 15.0, 0.0),
        ("junkyard", 8_000, 74.35, 54.0, 0.0),
        ("junkyard", 8_001, 0.0, 0.0, 0.0),
        // Hip, torso, and the hip of the second ragdoll.
        ("rain", 1, -121.875, 40.95, 0.0),
        ("rain", 2, -121.875, 41.2, 0.0),
        ("rain", 12, -121.375, 40.95, 0.0),
        ("rain", 11_000, 123.875, 220.975, 0.0),
        ("arch", 18, 0.0, 11.572_229, 0.0),
        ("rush", 1, 5.0, 0.0, 0.0),
        ("rush", 2, 4.949_336, 1.003_28, 0.0),
        ("bridge", 0, -79.5, 20.0, 0.0),
        ("bridge", 159, 79.5, 20.0, 0.0),
        ("ball_and_chain", 0, 0.5, 20.0, 0.0),
        ("ball_and_chain", 40, 48.0, 20.0, 0.0),
        ("ragdoll", 3, 0.0, 5.475, 0.0),
        ("pendulum:angle=0", 1, 0.0, -1.0, 0.0),
        ("pendulum:bobs=2,length=2", 2, 1.917_702_2, -3.510_330_2, 0.0),
        ("rod_chain", 8, 4.0, 0.0, 0.0),
    ] {
        let scene = unfolded(&build(spec));
        let there = &scene.bodies[body];
        let off = (there.position - Vec2::new(x, y)).abs().max_element();
        assert!(off < 1e-5, "{spec}: body {body} is at {}, expected {x}, {y}", there.position);
        assert!((there.angle - angle).abs() < 1e-6, "{spec}: body {body} is turned by {}", there.angle);
    }
}

/// Returns the lower left and upper right corners of each box, with its body; for scenes with upright boxes only.
fn upright_boxes(scene: &Scene) -> Vec<(usize, Vec2, Vec2)> {
    let mut boxes = Vec::new();
    for (index, body) in scene.bodies.iter().enumerate() {
        assert!(body.angle == 0.0, "{}: body {index} is turned", scene.name);
        for shape in &body.shapes {
            let Geometry::Box { half, .. } = shape.geometry else { panic!("{}: body {index} is round", scene.name) };
            let center = body.position + shape.offset;
            boxes.push((index, center - half, center + half));
        }
    }
    boxes.sort_by(|a, b| a.1.x.total_cmp(&b.1.x));
    boxes
}

/// Returns the number of pairs of boxes closer than 1 mm, and the deepest overlap, m.
fn touching(scene: &Scene) -> (usize, f32) {
    let boxes = upright_boxes(scene);
    let fixed = |body: usize| scene.bodies[body].kind != BodyType::Dynamic;
    let (mut pairs, mut deepest) = (0, 0.0_f32);
    for (i, &(a, min_a, max_a)) in boxes.iter().enumerate() {
        for &(b, min_b, max_b) in boxes[i + 1..].iter().take_while(|b| b.1.x < max_a.x + 1e-3) {
            let apart = (min_b - max_a).max(min_a - max_b).max_element();
            if a != b && !(fixed(a) && fixed(b)) && apart < 1e-3 {
                pairs += 1;
                deepest = deepest.max(-apart);
            }
        }
    }
    (pairs, deepest)
}

#[test]
fn boxes_touch_where_they_should_and_overlap_where_they_should() {
    for (spec, pairs, deepest) in [
        // The number of contacts that Box2D reports at the end of its runs, in which nothing falls over.
        ("large_pyramid", 14_950, 0.0),
        ("many_pyramids", 58_000, 0.0),
        // A grid of 120 × 80 with its diagonals: 119·80 + 120·79 + 2·119·79.
        ("smash", 37_802, 0.0),
        ("tumbler", 0, 0.0),
        ("vertical_stack", 10, 0.0),
        ("vertical_stack:pitch=1.1", 0, 0.0),
        ("domino", 15, 0.0),
        ("overlap_recovery:overlap=0", 22, 0.0),
        ("overlap_recovery", 22, 0.25),
        ("far_pyramid", 0, 0.0),
    ] {
        let (found, depth) = touching(&build(spec));
        assert_eq!(found, pairs, "touching pairs of {spec}");
        assert!((depth - deepest).abs() < 1e-5, "{spec}: deepest overlap is {depth} m");
    }
}

#[test]
fn mass_and_inertia_are_those_of_rectangles_and_disks() {
    for (spec, body, mass, inertia) in [
        ("large_pyramid", 1, 1.0, 1.0 * (1.0 + 1.0) / 12.0),
        ("large_pyramid", 0, 0.0, 0.0),
        ("smash", 0, 512.0, 512.0 * (64.0 + 64.0) / 12.0),
        ("smash", 1, 0.16, 0.16 * (0.16 + 0.16) / 12.0),
        ("card_house", 1, 0.0008, 0.0008 * (0.002 * 0.002 + 0.4 * 0.4) / 12.0),
        ("domino", 1, 0.25, 0.25 * (0.0625 + 1.0) / 12.0),
        ("high_mass_ratio_1", 165, 1_200.0, 1_200.0 * 8.0 / 12.0),
        ("high_mass_ratio_3", 3, 400.0, 400.0 * 800.0 / 12.0),
        ("friction_ramp", 1, 25.0, 25.0 * 2.0 / 12.0),
        ("circle_stack", 1, std::f32::consts::PI, 0.5 * std::f32::consts::PI),
        ("circle_masses", 0, 1.0, 0.125),
        ("circle_masses", 1, 0.5, 0.0625),
        ("thruster", 0, 1.0, 1.0 / 6.0),
        ("tumbler", 0, 0.0, 0.0),
        // Four walls of 20 × 1 m and 50 kg/m², a tenth of their length from the middle.
        ("tumbler:motor=1", 0, 4_000.0, 4_000.0 * (401.0 / 12.0 + 100.0)),
        ("joint_grid", 1, 0.16 * std::f32::consts::PI, 0.0128 * std::f32::consts::PI),
        // Two triangles of 1 kg: area/36 times the sum of squared sides, each a sixth of a metre from the middle.
        ("compounds", 1, 2.0, 2.0 * ((3.25 + 1.25 + 5.0) / 36.0 + 1.0 / 36.0)),
        ("bridge", 0, 5.0, 5.0 * (1.0 + 0.0625) / 12.0),
        ("ball_and_chain", 40, 1_280.0 * std::f32::consts::PI, 32.0 * 1_280.0 * std::f32::consts::PI),
        ("springs", 0, 1.0, 0.5 / 12.0),
    ] {
        let found = Compiled::new(&build(spec)).unwrap().mass[body];
        assert!((found.mass - mass).abs() <= 1e-5 * mass, "{spec}: body {body} has {} kg, expected {mass}", found.mass);
        let close = (found.inertia - inertia).abs() <= 1e-5 * inertia;
        assert!(close, "{spec}: body {body} has {} kg·m², expected {inertia}", found.inertia);
    }
}

#[test]
fn settings_are_those_of_the_sources() {
    for entry in catalogue::entries() {
        let scene = build(entry.name);
        // The tutorials' scenes are the last of the list.
        let first = catalogue::entries().iter().position(|entry| entry.name == "small_si").unwrap();
        let tutorial = catalogue::entries()[first..].iter().any(|other| other.name == entry.name);
        let weightless = ["smash", "confined", "circle_masses"].contains(&entry.name);
        let gravity = match (weightless, tutorial) {
            (true, _) => 0.0,
            (false, true) => -9.81,
            (false, false) => -10.0,
        };
        assert_eq!(scene.gravity, Vec2::new(0.0, gravity), "{}", entry.name);
        let mix = if tutorial { Mixing::Min } else { Mixing::Max };
        assert_eq!(scene.settings.restitution_mix, mix, "{}", entry.name);
        let mode = match entry.name {
            "small_si" => Mode::Baumgarte,
            "naphy_bridge" => Mode::Projection,
            _ => Mode::Soft,
        };
        assert_eq!(scene.settings.mode, mode, "{}", entry.name);
    }
}

#[test]
fn the_tumbler_turns_by_25_degrees_a_second_and_holds_its_boxes() {
    for (spec, half) in [("tumbler", 10.0), ("tumbler:grid=5", 2.0), ("tumbler:grid=100", 21.0)] {
        let scene = build(spec);
        let drum = &scene.bodies[0];
        assert_eq!(drum.kind, BodyType::Kinematic);
        assert!((drum.angular_velocity - 0.436_332_3).abs() < 1e-6);
        assert!((drum.shapes[0].offset.x - half).abs() < 1e-5, "{spec}: wall at {}", drum.shapes[0].offset.x);
        for body in &scene.bodies[1..] {
            let reach = (body.position - drum.position).abs().max_element() + 0.125;
            assert!(reach < half - 0.5, "{spec}: a box reaches {reach} m");
        }
    }
}

/// Returns the initial position of an anchor in the world.
fn anchor(scene: &Scene, body: Option<usize>, anchor: Vec2) -> Vec2 {
    body.map_or(anchor, |body| {
        let body = &scene.bodies[body];
        body.position + drystone::low_level::math::rotate(rotation(body.angle), anchor)
    })
}

/// Returns the initial distance of a joint's anchors, m.
fn gap(scene: &Scene, joint: &Joint) -> f32 {
    anchor(scene, joint.a, joint.anchor_a).distance(anchor(scene, Some(joint.b), joint.anchor_b))
}

#[test]
fn joints_are_as_many_as_in_the_sources_and_start_closed() {
    for (spec, joints) in [
        // Box2D's 19,800 less the six between held bodies.
        ("joint_grid", 19_794),
        ("joint_grid:size=10", 2 * 10 * 9 - 6),
        ("joint_grid:size=1", 0),
        ("spinner", 1),
        ("tumbler", 0),
        ("tumbler:motor=1", 1),
        ("rain", 10_000),
        ("bridge", 161),
        ("bridge:planks=1", 2),
        ("ball_and_chain", 41),
        ("ragdoll", 10),
        ("motors", 4),
    ] {
        let scene = unfolded(&build(spec));
        assert_eq!(scene.joints.len(), joints, "joints of {spec}");
        for (index, joint) in scene.joints.iter().enumerate() {
            // At 220 m an f32 resolves 0.015 mm.
            assert!(gap(&scene, joint) < 1e-4, "{spec}: joint {index} starts {} m apart", gap(&scene, joint));
        }
    }
    // Negative control: a gap is found.
    let mut scene = build("bridge");
    scene.bodies[3].position.x += 0.01;
    assert!(scene.joints.iter().any(|joint| gap(&scene, joint) > 5e-3));
}

#[test]
fn rods_ropes_and_springs_fit_their_initial_lengths() {
    for (spec, joints) in
        [("rod_chain", 8), ("pendulum", 1), ("springs", 5), ("naphy_bridge", 26), ("rope_winch_piston", 4)]
    {
        let scene = build(spec);
        assert_eq!(scene.joints.len(), joints, "joints of {spec}");
        for (index, joint) in scene.joints.iter().enumerate() {
            let gap = gap(&scene, joint);
            let fits = match joint.kind {
                JointKind::Distance { length: Some(length), limits: None, .. } => (gap - length).abs() < 1e-5,
                JointKind::Distance { limits: Some([low, high]), .. } => (low..=high).contains(&gap),
                JointKind::Spring { rest_length, .. } => rest_length.is_none_or(|length| (gap - length).abs() < 1e-5),
                JointKind::Prismatic { .. } => gap == 0.0,
                _ => false,
            };
            assert!(fits, "{spec}: joint {index} starts {gap} m long, and is {:?}", joint.kind);
        }
    }
}

#[test]
fn limits_of_the_ragdoll_allow_standing_except_for_its_elbows() {
    let scene = build("ragdoll");
    let out: Vec<&str> = scene
        .joints
        .iter()
        .filter(|joint| {
            let JointKind::Revolute { reference_angle: Some(reference), limits: Some([low, high]), .. } = joint.kind
            else {
                panic!("hinges only")
            };
            // All bones start upright.
            !(low..=high).contains(&-reference)
        })
        .map(|joint| scene.bodies[joint.b].id.as_deref().unwrap_or(""))
        .collect();
    assert_eq!(out, ["lower_left_leg", "lower_right_leg", "lower_left_arm", "lower_right_arm"]);
}

#[test]
fn the_drum_of_the_washer_is_closed_and_holds_its_boxes() {
    for (spec, inner) in [("washer", 16.0_f32), ("washer:grid=30", 16.0), ("washer:grid=180", 32.0)] {
        let scene = build(spec);
        let drum = &scene.bodies[0];
        // Neighbours overlap by 2°: every direction is within a piece.
        for degree in 0..360 {
            let direction = rotation((degree as f32 + 0.5).to_radians());
            let covered = drum.shapes.iter().any(|shape| {
                let Geometry::Polygon { points, .. } = &shape.geometry else { panic!("polygons only") };
                let inside = |at: Vec2| {
                    (0..points.len())
                        .all(|i| (points[(i + 1) % points.len()] - points[i]).perp_dot(at - points[i]) >= 0.0)
                };
                inside(1.05 * inner * direction)
            });
            assert!(covered, "{spec}: a hole at {degree}°");
        }
        for body in &scene.bodies[1..] {
            let reach = (body.position - drum.position).length() + 0.1 * std::f32::consts::SQRT_2;
            assert!(reach < inner * 0.99, "{spec}: a box reaches {reach} m");
        }
    }
}

#[test]
fn a_dropped_pyramid_is_the_same_higher_up() {
    let [there, higher] = ["large_pyramid:base=5", "large_pyramid:base=5,drop=2"].map(build);
    for (there, higher) in there.bodies.iter().zip(&higher.bodies).skip(1) {
        assert!((higher.position - there.position - Vec2::new(0.0, 2.0)).length() < 1e-5);
    }
    assert_eq!(there.bodies[0].position, higher.bodies[0].position);
}

#[test]
fn the_first_domino_starts_as_if_struck_at_its_top() {
    let scene = build("domino:impulse=0.4");
    let mass = Compiled::new(&scene).unwrap().mass[1];
    let first = &scene.bodies[1];
    let (arm, impulse) = (Vec2::new(0.0, 0.5), Vec2::new(0.4, 0.0));
    assert!((first.velocity * mass.mass - impulse).length() < 1e-6);
    assert!((first.angular_velocity * mass.inertia - arm.perp_dot(impulse)).abs() < 1e-6);
    assert!(scene.bodies[2..].iter().all(|b| b.velocity == Vec2::ZERO && b.angular_velocity == 0.0));
}

#[test]
fn the_box_on_the_slope_lies_on_it() {
    for tangent in [0.0, 0.5, 2.0] {
        let scene = build(&format!("slope:tangent={tangent},friction=0.3"));
        let [slab, sliding] = &scene.bodies[..] else { panic!("two bodies") };
        assert!((slab.angle.tan() - tangent).abs() < 1e-6);
        assert_eq!(slab.angle, sliding.angle);
        // Half the slab's thickness plus half the box, without offset along the slope.
        let apart = inv_rotate(rotation(slab.angle), sliding.position - slab.position);
        assert!((apart - Vec2::new(0.0, 1.5)).length() < 1e-6, "{apart}");
        assert!(scene.bodies.iter().all(|b| (b.shapes[0].material.friction - 0.3).abs() < 1e-7));
    }
}

#[test]
fn the_thruster_pushes_at_its_point() {
    let scene = build("thruster:force=20,arm=-0.5");
    assert_eq!(scene.bodies[0].force, Vec2::new(0.0, 20.0));
    assert_eq!(scene.bodies[0].force_point, Some(Vec2::new(-0.5, 0.0)));
}

#[test]
fn both_bodies_of_a_bounce_have_restitution() {
    // The minimum of two restitutions counts, so one elastic body is not enough.
    for spec in ["bouncing_ball:restitution=0.5", "circle_masses:restitution=0.5", "small_si"] {
        let scene = build(spec);
        assert!(scene.bodies.iter().flat_map(|b| &b.shapes).all(|s| s.material.restitution == 0.5), "{spec}");
    }
}

#[test]
fn boxes_on_the_chute_of_small_si_lie_on_it_in_a_row() {
    let scene = build("small_si:boxes=9,tower=0");
    let chute = &scene.bodies[3];
    let Geometry::Box { half, .. } = chute.shapes[0].geometry else { panic!("the chute is a box") };
    let mut last = f32::NEG_INFINITY;
    for body in &scene.bodies[6..] {
        let at = inv_rotate(rotation(chute.angle), body.position - chute.position);
        assert!((at.y - half.y - 0.385).abs() < 1e-5, "{} above the chute", at.y - half.y);
        assert!(at.x.abs() + 0.37 < half.x && at.x - last > 0.74, "{} along the chute", at.x);
        last = at.x;
    }
}

#[test]
fn invalid_specs_are_rejected_with_the_reason() {
    for (spec, message) in [
        ("large_piramid", "there is no scene \"large_piramid\"; did you mean large_pyramid"),
        ("stack", "there is no scene \"stack\"; did you mean"),
        ("zzzz", "there is no scene \"zzzz\""),
        ("", "there is no scene \"\""),
        ("large_pyramid:", "cannot read \"\" in \"large_pyramid:\"; expected name:key=value,key=value"),
        ("large_pyramid:base", "cannot read \"base\""),
        ("large_pyramid:=3", "cannot read \"=3\""),
        ("large_pyramid:base=", "cannot read \"base=\""),
        ("large_pyramid:base=3,", "cannot read \"\""),
        ("large_pyramid:base=3=4", "base is \"3=4\"; expected a number"),
        ("large_pyramid:base=ten", "base is \"ten\"; expected a number"),
        ("large_pyramid:size=10", "scene large_pyramid has no parameter \"size\"; it has base, drop"),
        ("vertical_stack:n=1", "no parameter \"n\"; it has count, jitter, pitch, friction"),
        ("large_pyramid:base=0", "base of scene large_pyramid is 0; expected 1 to 10000"),
        ("large_pyramid:base=100000", "base of scene large_pyramid is 100000; expected 1 to 10000"),
        ("large_pyramid:base=NaN", "base of scene large_pyramid is NaN; expected 1 to 10000"),
        ("large_pyramid:base=inf", "base of scene large_pyramid is inf"),
        ("large_pyramid:base=2.5", "base of scene large_pyramid is 2.5; expected a whole number"),
        ("large_pyramid:base=2,base=2", "base of scene large_pyramid is given twice"),
        ("large_pyramid:base=10000", "would have 50005001 bodies with these parameters; the maximum is 20000000"),
        ("many_pyramids:rows=900,columns=900,base=100", "would have 4090500001 bodies"),
    ] {
        let error = catalogue::build(spec).map(|scene| scene.name).unwrap_err().to_string();
        assert!(error.contains(message), "{spec:?}: {error:?} does not contain {message:?}");
    }
    assert!(matches!(catalogue::find("nothing_like_it"), Err(CatalogueError::UnknownScene { .. })));
    let error = catalogue::build("large_pyramid:base=9000").map(|scene| scene.bodies.len());
    assert_eq!(error, Err(CatalogueError::TooManyBodies { scene: "large_pyramid", bodies: 40_504_501 }));
}

#[test]
fn specs_may_have_spaces_and_exponents() {
    let plain = build("vertical_stack:count=20,jitter=0.01");
    assert!(build(" vertical_stack : count = 2e1 , jitter = 1e-2 ") == plain);
    assert_eq!(plain.name, "vertical_stack:count=20,jitter=0.01");
    // In the entry's order, without values that equal the default.
    assert_eq!(build("vertical_stack:jitter=0.01,pitch=1,count=20").name, plain.name);
}

/// A size maps to exactly these parameters: results of different machines are of the same scenes.
#[test]
fn sizes_pick_exactly_these_scenes() {
    let expected = [
        ("large_pyramid", 100, "base=14", 105),
        ("large_pyramid", 1_000, "base=44", 990),
        ("large_pyramid", 10_000, "base=141", 10_011),
        ("large_pyramid", 100_000, "base=447", 100_128),
        ("large_pyramid", 1_000_000, "base=1414", 1_000_405),
        ("many_pyramids", 100, "rows=1,columns=2", 110),
        ("many_pyramids", 10_000, "rows=13,columns=14", 10_010),
        ("many_pyramids", 1_000_000, "rows=135,columns=135", 1_002_375),
        ("joint_grid", 10_000, "size=100", 9_993),
        ("joint_grid", 1_000_000, "size=1000", 999_993),
        ("smash", 9_600, "columns=120,rows=80", 9_601),
        ("smash", 1_000_000, "columns=1225,rows=816", 999_601),
        ("tumbler", 2_025, "grid=45", 2_025),
        ("tumbler", 1_000_000, "grid=1000", 1_000_000),
        ("washer", 100, "grid=10", 100),
        ("compounds", 3_000, "columns=20,rows=150", 3_000),
        ("compounds", 100_000, "columns=39,rows=2564", 99_996),
        ("junkyard", 8_000, "columns=200,rows=40", 8_000),
        ("mixed_sizes", 20_000, "bodies=20000", 20_000),
        ("loaded_plate", 3_000, "boxes=3000", 3_001),
        ("vertical_stack", 7, "count=7", 7),
        ("bridge", 160, "planks=160", 160),
        ("large_pyramid", 1, "base=1", 1),
        // Equally near to 2² = 4: the smaller one.
        ("overlap_recovery", 2, "base=1", 1),
    ];
    for (name, size, parameters, moving) in expected {
        let given = catalogue::find(name).unwrap().sized(size).unwrap().unwrap();
        let told: Vec<String> = given.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(told.join(","), parameters, "{name} of {size}");
        let bodies = catalogue::check(&format!("{name}:{parameters}")).unwrap();
        if bodies <= SMALL {
            let scene = build(&format!("{name}:{parameters}"));
            let free = scene.bodies.iter().filter(|body| body.kind == BodyType::Dynamic).count();
            assert_eq!((free, scene.bodies.len() as u64), (moving, bodies), "{name} of {size}");
        }
    }
}

#[test]
fn sizes_out_of_range_are_rejected() {
    let sized = |name: &str, bodies| catalogue::find(name).unwrap().sized(bodies);
    assert_eq!(sized("arch", 100), Ok(None), "it has one size");
    let error = sized("spinner", 20_000).unwrap_err();
    assert_eq!(error.to_string(), "scene spinner cannot have 20000 bodies; its maximum is 11000");
    assert!(sized("spinner", 11_000).unwrap().is_some());
    for entry in catalogue::entries() {
        // Every scene with a rule can be built near the requested size.
        for size in [100, 1_000, 10_000] {
            let Ok(Some(given)) = entry.sized(size) else { continue };
            let bodies = entry.body_count(&given).unwrap();
            assert!((0.9..1.15).contains(&(bodies as f64 / size as f64)), "{} of {size}: {bodies}", entry.name);
        }
    }
    // The reported maximum is the true one.
    for name in ["compounds", "confined", "washer", "rush", "many_pyramids"] {
        let Err(CatalogueError::Size { most, .. }) = sized(name, catalogue::MAX_BODIES) else { continue };
        assert!(sized(name, most).unwrap().is_some() && sized(name, most + 1).is_err(), "{name}: {most}");
    }
    assert!(matches!(catalogue::check("tumbler:grid=5000"), Err(CatalogueError::OutOfRange { .. })));
    assert_eq!(catalogue::check("tumbler:grid=3"), Ok(10));
}

/// Units of parameters are those of physics, and parameters of one name have a unit in all scenes or in none.
#[test]
fn parameters_have_units() {
    const UNITS: [&str; 13] =
        ["m", "m/s", "m/s²", "rad", "rad/s", "kg", "kg/m²", "N", "N·m", "N·s", "N/m", "N·s/m", "Hz"];
    let all = || catalogue::entries().iter().flat_map(|entry| entry.parameters.iter().map(move |p| (entry.name, p)));
    let of = |name: &str| all().find(|(_, p)| p.name == name).and_then(|(_, p)| p.unit());
    for (scene, parameter) in all() {
        let (unit, description) = (parameter.unit(), parameter.description());
        assert!(unit.is_none_or(|unit| UNITS.contains(&unit)), "{scene}: {}: {unit:?}", parameter.name);
        assert_eq!(unit.is_some(), description != parameter.meaning, "{scene}: {}", parameter.name);
        assert_eq!(unit.is_some(), of(parameter.name).is_some(), "{scene}: {}", parameter.name);
        let is_said_again = unit.is_some_and(|unit| description.ends_with(&format!(", {unit}")));
        assert!(!is_said_again, "{scene}: {}: {description}", parameter.name);
        assert!(!parameter.integer || unit.is_none(), "{scene}: {} is a count", parameter.name);
    }
    let of_scene =
        |scene: &str, name: &str| all().find(|(known, p)| *known == scene && p.name == name).unwrap().1.unit();
    for (scene, name, unit) in [
        ("pendulum", "gravity", "m/s²"),
        ("conveyor", "speed", "m/s"),
        ("tumbler", "speed", "rad/s"),
        ("thruster", "force", "N"),
        ("ragdoll", "hertz", "Hz"),
        ("springs", "damping", "N·s/m"),
    ] {
        assert_eq!(of_scene(scene, name), Some(unit), "{scene}: {name}");
    }
    assert_eq!(of_scene("tumbler", "grid"), None);
}
