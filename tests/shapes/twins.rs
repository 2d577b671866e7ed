//! GPU against CPU on the same poses, stage by stage, with wrong shaders as negative controls.

use drystone::low_level::GpuWorld;
use drystone::low_level::gpu::kernel::Patch;
use drystone::{AdapterChoice, Body, Context, Geometry, Scene, Shape};
use drystone_validate::{ValidationOptions, ValidationReport, compare, validate};
use glam::Vec2;

use crate::shapes::kit::{Random, regular, shapes};

fn context() -> Context {
    Context::new(AdapterChoice::Any).expect("these tests need an adapter; lavapipe will do")
}

fn body(shape: &Shape, at: Vec2, angle: f32) -> Body {
    let mass = matches!(shape.geometry, Geometry::Segment { .. }).then_some(1.0);
    Body { mass, inertia: mass, ..Body::dynamic(at.x, at.y) }.angle(angle).shape(shape.clone())
}

/// Returns every pair of shapes, several times, at random overlapping poses, each pair at a place of its own; and every
/// shape near the surface of a half plane far below.
fn every_pair(seed: u64, times: usize) -> Scene {
    let shapes = shapes();
    let mut random = Random(seed);
    let mut scene = Scene::new("every pair").gravity(0.0, 0.0);
    scene.add(Body::fixed(0.0, -40.0).angle(0.1).shape(Shape::half_plane([0.0, 1.0], 0.5)));
    let mut place = 0_u16;
    for (index, (_, a)) in shapes.iter().enumerate() {
        for (_, b) in &shapes[index..] {
            for _ in 0..times {
                let at = Vec2::new(20.0 * f32::from(place % 40) - 400.0, 20.0 * f32::from(place / 40) + 60.0);
                let reach = |shape: &Shape| match &shape.geometry {
                    Geometry::Box { half, .. } => f64::from(half.y),
                    _ => 0.4,
                };
                let away = random.between(0.0, 1.2 * (reach(a) + reach(b)));
                let direction = Vec2::from_angle(random.between(-3.2, 3.2) as f32);
                let mut turn = || random.between(-3.2, 3.2) as f32;
                scene.add(body(a, at, turn()));
                scene.add(body(b, at + direction * away as f32, turn()));
                place += 1;
            }
        }
        let x = 20.0 * index as f32 - 140.0;
        scene.add(body(a, Vec2::new(x, -39.5 + 0.1 * x + random.between(0.0, 0.6) as f32), 0.1 + 0.3 * index as f32));
    }
    scene
}

fn assert_passed(report: &ValidationReport) {
    let failed: Vec<_> = report.metrics.iter().filter(|metric| !metric.passed).collect();
    assert!(report.passed(), "{:#?} {failed:#?}", report.first_difference);
}

#[test]
fn every_pair_of_shapes() {
    for seed in [3, 77] {
        let report = validate(
            &context(),
            &every_pair(seed, 4),
            ValidationOptions { steps: 3, ..ValidationOptions::default() },
            |_| {},
        )
        .expect("a run");
        let collide = report.stages.iter().find(|stage| stage.stage == "collide").expect("collide was compared");
        println!("{collide:?}");
        assert_eq!(collide.checks, 3);
        assert_passed(&report);
    }
}

/// Returns polygons and segments corner to corner, up to half a millimetre apart, and boxes and triangles with the
/// centre of a disc as near to one of their corners.
fn corners(seed: u64) -> Scene {
    let mut random = Random(seed);
    let mut scene = Scene::new("corners").gravity(0.0, 0.0);
    // Otherwise momentum would have to be conserved to a billionth.
    scene.add(Body::fixed(0.0, -99.0).shape(Shape::half_plane([0.0, 1.0], 0.0)));
    for index in 0..196_u16 {
        let at = Vec2::new(3.0 * f32::from(index % 14) - 20.0, 3.0 * f32::from(index / 14) - 20.0);
        let mut shape = || match random.below(6) {
            0 => Shape::segment([-0.5, 0.0], [0.5, 0.0]),
            sides => Shape::polygon(regular(sides as u16 + 2, 0.5)),
        };
        let (first, second) = (shape(), shape());
        let angle = random.between(-3.2, 3.2) as f32;
        let gap = random.between(1e-5, 4.5e-4) as f32;
        // Segments in a line pass by each other.
        let are_segments = [&first, &second].iter().all(|shape| matches!(shape.geometry, Geometry::Segment { .. }));
        let bend = if are_segments { random.between(1.1, 1.4) } else { random.between(-0.3, 0.3) };
        let turned = angle + std::f32::consts::PI + bend as f32;
        scene.add(body(&first, at, angle));
        if index % 7 == 0 {
            scene.add(body(&Shape::circle(0.1), at + Vec2::from_angle(angle) * (0.5 + gap), 0.0));
            continue;
        }
        let foot = Vec2::from_angle(turned) * 0.5;
        scene.add(body(&second, at + Vec2::from_angle(angle) * (0.5 + gap) - foot, turned));
    }
    scene
}

/// The direction from corner to corner would differ by up to a hundredth here.
#[test]
fn corners_that_nearly_touch() {
    let context = context();
    for seed in [5, 6] {
        let report =
            validate(&context, &corners(seed), ValidationOptions { steps: 2, ..ValidationOptions::default() }, |_| {})
                .expect("a run");
        println!("{:?}", report.stages.iter().find(|stage| stage.stage == "collide"));
        assert_passed(&report);
    }
    let patches = [
        ("if distance > preference {", "if distance > 1e-12 {"),
        ("> FACE_PREFERENCE * slack {\n            normal = gap", "> 1e-12 {\n            normal = gap"),
        ("towards = apart / between_ends;", "towards = rotate(vec2<f32>(1.0, 1e-4), apart / between_ends);"),
    ];
    for (from, to) in patches {
        let patch = Patch { shader: "hull", from, to };
        let gpu = GpuWorld::patched(&context, &corners(5), &[patch]).expect("a patched shader");
        let report = compare(gpu, &corners(5), ValidationOptions { steps: 1, ..ValidationOptions::default() }, |_| {})
            .expect("a run");
        assert_eq!(report.first_failure(), Some("collide"), "{to}: {:?}", report.first_difference);
    }
}

/// Negative control: a small error in each routine is detected, in its stage.
#[test]
fn a_wrong_shape_shader_is_detected() {
    let context = context();
    let scene = every_pair(3, 4);
    let faults = [
        ("bound", "bound", "margin + shapes[index].radius", "margin + 0.99 * shapes[index].radius"),
        ("bound", "bound", "dot(normal, center) + max", "dot(normal, center) + 1.1 * max"),
        ("pair", "pair", "plane.max.y * lowest.y <= plane.min.y", "plane.max.y * lowest.y + 0.1 <= plane.min.y"),
        ("collide", "hull", "let gap = clipped.y - radius;", "let gap = clipped.y - 0.999 * radius;"),
        ("collide", "hull", "manifold.separations[0] = across - radius;", "manifold.separations[0] = across;"),
        ("collide", "hull", "distance = sqrt(least);\n        if", "distance = 1.01 * sqrt(least);\n        if"),
        ("collide", "hull", "let apart = height + dot(up, point);", "let apart = height + 1.001 * dot(up, point);"),
    ];
    for (stage, shader, from, to) in faults {
        let gpu = GpuWorld::patched(&context, &scene, &[Patch { shader, from, to }]).expect("a patched shader");
        let report = compare(gpu, &scene, ValidationOptions { steps: 1, ..ValidationOptions::default() }, |_| {})
            .expect("a run");
        assert_eq!(report.first_failure(), Some(stage), "{to}: {:?}", report.first_difference);
    }
}
