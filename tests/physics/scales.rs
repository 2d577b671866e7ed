//! Bodies of any size under any gravity: a scene looks the same in its own units (Froude's similarity: lengths times
//! `L`, times times `√(L/g)`), as all distances, speeds and frequencies of the solver follow the units of the scene.

use drystone::low_level::scene::Units;
use drystone::{Body, Joint, JointKind, Scene, Shape};

use crate::common::{Backend, between, far, near};

on_every_backend!(
    stacks_of_any_size,
    strong_and_weak_gravity,
    a_small_copy_is_the_same_to_the_bit,
    beds_of_small_discs
);

const EARTH: f32 = 9.81;

/// Returns a stack of ten boxes of this size, m, under this gravity, m/s². The length of its step is 1/60 of the unit
/// of time, or the one that a scene file has which says none. It begins without loads, and so it sinks.
fn stack(size: f32, gravity: f32) -> Scene {
    let mut scene = Scene::new("stack").gravity(0.0, -gravity);
    scene.add(Body::fixed(0.0, -size).shape(Shape::half_box(5.0 * size, size)));
    for row in 0_u8..10 {
        scene.add(Body::dynamic(0.0, size * (f32::from(row) + 0.5)).shape(Shape::half_box(0.5 * size, 0.5 * size)));
    }
    scene.settings.initial_loads = false;
    let units = Units::of(&scene);
    scene.settings.dt = if units.time > 1.0 { units.time / 60.0 } else { units.fitting_dt() };
    scene
}

/// Returns how far each box of a stack has sunk and moved sideways after five units of time, in sizes of a box.
fn sunk(backend: Backend, scene: &Scene, size: f32, gravity: f32) -> Vec<[f64; 2]> {
    let time = 5.0 * (size * EARTH / gravity).sqrt();
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few thousand")]
    let steps = (time / scene.settings.dt) as usize;
    let bodies = backend.start(scene).advance(steps).bodies();
    let size = f64::from(size);
    let of = |(row, body): (u8, &drystone::low_level::state::ReportedBody)| {
        let [x, y] = body.position.map(f64::from);
        [x / size, f64::from(row) + 0.5 - y / size]
    };
    (0..).zip(&bodies[1..]).map(of).collect()
}

fn same_as_metres(backend: Backend, cases: &[(f32, f32)]) {
    let metres = sunk(backend, &stack(1.0, EARTH), 1.0, EARTH);
    // Springs of 30 Hz let ten boxes of 1 m sink by some millimetres each.
    between("the box on top of ten of 1 m has sunk", metres[9][1], 0.01, 0.05);
    for &(size, gravity) in cases {
        let scene = stack(size, gravity);
        let boxes = sunk(backend, &scene, size, gravity);
        let mut before = [0.0; 2];
        for (row, (own, metre)) in boxes.iter().zip(&metres).enumerate() {
            let what = format!("box {row} of {size} m at {gravity} m/s²");
            near(&format!("{what}: sideways"), own[0], metre[0], 0.01);
            let overlaps = [own[1] - before[0], metre[1] - before[1]];
            near(&format!("{what}: overlap with the one below"), overlaps[0], overlaps[1], 0.01);
            before = [own[1], metre[1]];
        }
    }
}

/// Overlaps in units of a box differ by less than 1 %. With the contacts of bodies of 1 m the boxes sink into each
/// other.
fn stacks_of_any_size(backend: Backend) {
    same_as_metres(backend, &[(1e-4, EARTH), (0.01, EARTH), (1e3, EARTH)]);
    let mut scene = stack(0.01, EARTH);
    (scene.settings.length_unit, scene.settings.contact_hertz) = (Some(1.0), Some(30.0));
    between("the box on top, as soft as boxes of 1 m", sunk(backend, &scene, 0.01, EARTH)[9][1], 1.0, 10.0);
}

fn strong_and_weak_gravity(backend: Backend) {
    same_as_metres(backend, &[(1.0, 0.01 * EARTH), (1.0, 100.0 * EARTH), (0.01, 100.0 * EARTH)]);
    let mut scene = stack(1.0, 100.0 * EARTH);
    scene.settings.contact_hertz = Some(30.0);
    between("the box on top, on springs of 30 Hz", sunk(backend, &scene, 1.0, 100.0 * EARTH)[9][1], 1.0, 10.0);
}

/// Returns a scene with everything that has a length or a speed in it: boxes, discs and capsules that fall and bounce,
/// a chain, and sleep. All lengths are multiplied by `scale`, a power of 4, and all speeds by its root.
fn everything(scale: f32) -> Scene {
    let speed = scale.sqrt();
    let at = |x: f32, y: f32| Body::dynamic(x * scale, y * scale);
    let mut scene = Scene::new("everything").gravity(0.0, -EARTH);
    scene.settings.dt = speed / 60.0;
    scene.settings.sleep = true;
    scene.add(
        Body::fixed(0.0, 0.0)
            .shape(Shape::half_plane([0.0, 1.0], 0.0))
            .shape(Shape::half_box(0.5 * scale, 4.0 * scale).offset(-6.0 * scale, 4.0 * scale)),
    );
    for row in 0_u8..6 {
        let y = 1.25 * f32::from(row);
        scene.add(at(0.1 * y, 0.75 + y).shape(Shape::half_box(0.5 * scale, 0.5 * scale)));
        let disc = Shape::circle(0.5 * scale).restitution(0.7);
        scene.add(at(3.0 - 0.2 * y, 0.75 + y).velocity(-2.0 * speed, 0.0).shape(disc));
        let capsule = Shape::capsule([-0.5 * scale, 0.0], [0.5 * scale, 0.0], 0.25 * scale);
        scene.add(at(-3.0 + 0.1 * y, 0.75 + y).angle(y).shape(capsule));
    }
    let first = scene.bodies.len();
    for link in 0_u8..5 {
        let x = 6.0 + f32::from(link);
        let body = scene.add(at(x, 9.0).shape(Shape::half_box(0.5 * scale, 0.25 * scale)));
        let joint = if body > first {
            Joint::new(JointKind::hinge(), body - 1, body).anchors([0.5 * scale, 0.0], [-0.5 * scale, 0.0])
        } else {
            Joint::to_world(JointKind::hinge(), body).anchors([5.5 * scale, 9.0 * scale], [-0.5 * scale, 0.0])
        };
        scene.join(joint);
    }
    scene
}

/// Powers of 2 change no digit, so a copy of a scene at a scale that is a power of 4 has the same digits. A constant of
/// the solver that does not follow the units would show in the last one.
fn a_small_copy_is_the_same_to_the_bit(backend: Backend) {
    let poses = |scale: f32, unit: Option<f32>| {
        let mut scene = everything(scale);
        scene.settings.length_unit = unit;
        let snapshot = backend.start(&scene).advance(240).snapshot();
        snapshot.poses.iter().map(|pose| (pose.position.map(|x| x / scale), pose.rotation)).collect::<Vec<_>>()
    };
    let metres = poses(1.0, Some(1.0));
    for exponent in [-10, -6, 4] {
        let scale = 2_f32.powi(exponent);
        assert_eq!(poses(scale, Some(scale)), metres, "2^{exponent}");
    }
    let small = 2_f32.powi(-6);
    far(
        "height of the box on top, in metres",
        f64::from(poses(small, Some(1.0))[16].0[1]),
        f64::from(metres[16].0[1]),
        1e-3,
    );
}

/// Discs of 5 mm in a bin fill four fifths of it, as grains do that are hard for their weight (random close packing of
/// discs with friction is 0.80 to 0.84, walls make it less). With the contacts of bodies of 1 m they lie inside each
/// other.
fn beds_of_small_discs(backend: Backend) {
    let (radius, columns, rows) = (2.5e-3_f32, 12_u8, 12_u8);
    let width = 2.3 * radius * f32::from(columns);
    let share = |unit: Option<f32>, hertz: Option<f32>| {
        let mut scene = Scene::new("bed");
        scene.add(
            Body::fixed(0.0, 0.0)
                .shape(Shape::half_plane([0.0, 1.0], 0.0))
                .shape(Shape::half_plane([1.0, 0.0], 0.0))
                .shape(Shape::half_plane([-1.0, 0.0], -width)),
        );
        let mut area = 0.0;
        for row in 0..rows {
            for column in 0..columns {
                let own = radius * (0.85 + 0.3 * f32::from((7 * row + 5 * column) % 11) / 10.0);
                area += std::f64::consts::PI * f64::from(own).powi(2);
                let x = radius * 2.3 * (f32::from(column) + 0.5);
                let shift = 0.1 * radius * f32::from(row % 3);
                scene.add(
                    Body::dynamic(x + shift - 0.1 * radius, 2.4 * radius * (f32::from(row) + 0.6))
                        .shape(Shape::circle(own)),
                );
            }
        }
        scene.settings.dt = Units::of(&scene).fitting_dt();
        (scene.settings.length_unit, scene.settings.contact_hertz) = (unit, hertz);
        let bodies = backend.start(&scene).advance(500).bodies();
        let heights: f64 = bodies[1..].iter().map(|body| f64::from(body.position[1])).sum();
        // The mean height of a bed is half its height.
        area / (f64::from(width) * 2.0 * heights / f64::from(rows * columns))
    };
    between("share of the area that discs of 5 mm fill", share(None, None), 0.76, 0.86);
    between("share with contacts of 30 Hz", share(Some(1.0), Some(30.0)), 1.1, 5.0);
}
