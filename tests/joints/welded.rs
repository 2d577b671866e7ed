//! Light bodies welded to heavy ones, and on sliders with them: trees solve these joints exactly, too.

use drystone::low_level::CpuWorld;
use drystone::low_level::stages::solve_joints::tree::trees;
use drystone::{Body, Joint, JointKind, Mode, Property, Scene, Settings, Shape};

use crate::common::{Backend, between, near};
use crate::joints::heavy::{
    GRAVITY, add_beside, chain, energy, equal_the_reference, have_a_twin, is_detected, largest_stretch,
};
use crate::joints::world;
use crate::support::{assert_equal_to_reference, compile, cpu};

on_every_backend!(
    welds_gain_no_energy,
    welds_stretch_nothing,
    a_welded_beam_stays_level,
    a_welded_tree_keeps_its_spin,
    a_light_cart_stays_on_its_slider,
    a_heavy_ball_beside_a_slider_falls_straight,
    a_slider_on_a_hinge_gains_no_energy,
);

/// Returns a [`chain`] whose joints are welds where `kinds` has a `w`, from the world to the ball.
fn welded(kinds: &str, ball: f32) -> Scene {
    let mut scene = chain(kinds.len() - 1, ball);
    for (joint, kind) in scene.joints.iter_mut().zip(kinds.chars()) {
        if kind == 'w' {
            joint.kind = JointKind::weld();
        }
    }
    scene
}

/// Swept, a link welded to 3000 times its mass reached 538 m/s.
fn welds_gain_no_energy(backend: Backend) {
    for kinds in ["hw", "ww", "wh", "hwww", "hhww", "hwhwhw", "hwwwwwwwwwwwwwwwwwww"] {
        for ball in [400.0, 3000.0, 10_000.0] {
            #[allow(clippy::cast_precision_loss, reason = "few links")]
            let scale = f64::from(ball) * GRAVITY * (kinds.len() - 1) as f64;
            let mut sim = backend.start(&welded(kinds, ball));
            let steps = if backend == Backend::Gpu { 30 } else { 600 };
            for step in 0..steps {
                let gained = energy(sim.advance(1), ball) / scale;
                assert!(gained <= 0.01, "{kinds}, {ball} : 1, step {step}: {gained} of M g L gained");
            }
        }
    }
}

fn welds_stretch_nothing(backend: Backend) {
    for (kinds, ball) in [("hw", 3000.0), ("hwww", 10_000.0), ("hhww", 3000.0), ("hwwwww", 1000.0), ("hwhwhw", 3000.0)]
    {
        let found = largest_stretch(backend, &welded(kinds, ball), kinds.len() - 1, 10);
        between(&format!("{kinds}, {ball} : 1"), found, 0.0, 0.001);
    }
}

/// A beam of five links welded to a wall carries 3,000 times the mass of a link at its end, level to a tenth of a
/// millimetre; its joints hold the load and the moment of it.
fn a_welded_beam_stays_level(backend: Backend) {
    let mut sim = backend.start(&welded("wwwwww", 3000.0));
    let bodies = sim.advance(if backend == Backend::Gpu { 30 } else { 300 }).bodies();
    for (index, body) in bodies.iter().enumerate() {
        near(&format!("height of {index}"), f64::from(body.position[1]), 0.0, 1e-4);
        near(&format!("angle of {index}"), f64::from(body.angle), 0.0, 1e-4);
    }
}

/// Returns a heavy disc on an axle, with a rigid arm, without gravity, that turns.
fn club() -> Scene {
    let mut scene = world(0.0);
    let mut last = None;
    for link in 0..4_u8 {
        let x = f32::from(link);
        let shape = if link == 0 { Shape::circle(0.3) } else { Shape::half_box(0.5, 0.05) };
        let mut body = Body::dynamic(x, 0.0).angular_velocity(2.0).velocity(0.0, 2.0 * x).shape(shape);
        body.mass = Some(if link == 0 { 400.0 } else { 1.0 });
        let body = scene.add(body);
        let (inner, outer) = ([0.5, 0.0], [-0.5, 0.0]);
        scene.join(match last {
            None => Joint::to_world(JointKind::hinge(), body),
            Some(last) if link % 2 == 0 => Joint::new(JointKind::weld(), last, body).anchors(inner, outer),
            // Also with the leaf as A.
            Some(last) => Joint::new(JointKind::weld(), body, last).anchors(outer, inner),
        });
        last = Some(body);
    }
    scene
}

/// Welded bodies turn as one: after a second by two radians, and each as fast.
fn a_welded_tree_keeps_its_spin(backend: Backend) {
    assert_eq!(trees(&compile(&club()).joints.starts).map(|tree| tree.joints().count()).collect::<Vec<_>>(), [4]);
    let mut sim = backend.start(&club());
    for (index, body) in sim.advance(60).bodies().iter().enumerate() {
        near(&format!("spin of {index}"), f64::from(body.angular_velocity), 2.0, 2e-3);
        near(&format!("angle of {index}"), f64::from(body.angle), 2.0, 2e-3);
    }
}

/// Returns a box of 1 kg at the origin, and a ball at (1, 0).
fn box_and_ball(ball: f32) -> Scene {
    let mut scene = world(10.0);
    for (x, mass, shape) in [(0.0, 1.0, Shape::half_box(0.3, 0.1)), (1.0, ball, Shape::circle(0.3))] {
        let mut body = Body::dynamic(x, 0.0).shape(shape);
        body.mass = Some(mass);
        scene.add(body);
    }
    scene
}

/// A ball swings under a light cart on a level slider, which lets go of no momentum along it. Swept, the cart left its
/// slider by 3 m.
fn a_light_cart_stays_on_its_slider(backend: Backend) {
    for ball in [400.0, 3000.0, 10_000.0] {
        let mut scene = box_and_ball(ball);
        scene.join(Joint::to_world(JointKind::slider([1.0, 0.0]), 0));
        scene.join(Joint::new(JointKind::hinge(), 0, 1).anchors([0.0, 0.0], [-1.0, 0.0]));
        let mut sim = backend.start(&scene);
        for step in 0..if backend == Backend::Gpu { 40 } else { 300 } {
            let bodies = sim.advance(1).bodies();
            let [cart, ball_now] = [&bodies[0], &bodies[1]];
            near(&format!("{ball} : 1, step {step}, height"), f64::from(cart.position[1]), 0.0, 2e-3);
            near(&format!("{ball} : 1, step {step}, angle"), f64::from(cart.angle), 0.0, 1e-3);
            let momentum = f64::from(cart.velocity[0]) + f64::from(ball) * f64::from(ball_now.velocity[0]);
            near(&format!("{ball} : 1, step {step}, momentum"), momentum / f64::from(ball), 0.0, 2e-3);
        }
    }
}

/// A plate on an upright slider, with a heavy ball welded beside it, falls freely and does not turn. Swept, it turned
/// over, at 300 : 1 as well.
fn a_heavy_ball_beside_a_slider_falls_straight(backend: Backend) {
    for ball in [400.0, 3000.0, 10_000.0] {
        let mut scene = box_and_ball(ball);
        scene.join(Joint::to_world(JointKind::slider([0.0, 1.0]), 0));
        scene.join(Joint::new(JointKind::weld(), 1, 0).anchors([0.0, 0.0], [1.0, 0.0]));
        let mut sim = backend.start(&scene);
        for (index, body) in sim.advance(60).bodies().iter().enumerate() {
            near(&format!("{ball} : 1, speed of {index}"), f64::from(body.velocity[1]), -10.0, 1e-2);
            near(&format!("{ball} : 1, angle of {index}"), f64::from(body.angle), 0.0, 1e-3);
        }
    }
}

/// A light arm on a hinge, along which a heavy ball slides: the energy of both grows by less than 1 %, and the ball
/// stays on the arm's line.
fn a_slider_on_a_hinge_gains_no_energy(backend: Backend) {
    for ball in [400.0, 3000.0] {
        let mut scene = box_and_ball(ball);
        scene.join(Joint::to_world(JointKind::hinge(), 0));
        // Also with the leaf as A.
        scene.join(Joint::new(JointKind::slider([1.0, 0.0]), 1, 0).anchors([0.0, 0.0], [1.0, 0.0]));
        let mut sim = backend.start(&scene);
        let inertia = 0.5 * f64::from(ball) * 0.09;
        for step in 0..if backend == Backend::Gpu { 30 } else { 60 } {
            let bodies = sim.advance(1).bodies();
            let [arm, end] = [&bodies[0], &bodies[1]];
            let [vx, vy] = end.velocity.map(f64::from);
            let spin = f64::from(end.angular_velocity);
            let mass = f64::from(ball);
            let kinetic = 0.5 * mass * (vx * vx + vy * vy) + 0.5 * inertia * spin * spin;
            let gained = (kinetic + mass * GRAVITY * f64::from(end.position[1])) / (mass * GRAVITY);
            assert!(gained <= 0.01, "{ball} : 1, step {step}: {gained} of M g L gained");
            let (sin, cos) = f64::from(arm.angle).sin_cos();
            let off = cos * f64::from(end.position[1]) - sin * f64::from(end.position[0]);
            near(&format!("{ball} : 1, step {step}, across"), off, 0.0, 5e-3);
            near(&format!("{ball} : 1, step {step}, angle"), f64::from(end.angle), f64::from(arm.angle), 5e-3);
        }
    }
}

/// Returns mechanisms above a floor that their ends touch, and may sleep: a chain of hinges and welds with an arm that
/// has its leaf as A, a driven cart under a ball, and a ball that slides on a swinging arm.
fn mechanisms(mode: Mode) -> Scene {
    let mut scene = world(10.0);
    scene.settings = Settings { mode, events: true, ..scene.settings };
    scene.add(Body::fixed(0.0, -1.5).shape(Shape::half_box(30.0, 0.5)));
    let mut chain = welded("hwhw", 400.0);
    let arm = chain.add(Body::dynamic(1.5, -0.5).shape(Shape::half_box(0.1, 0.4)));
    chain.join(Joint::new(JointKind::weld(), arm, 1).anchors([0.0, 0.5], [0.0, 0.0]));
    add_beside(&mut scene, &chain, 0.0);
    let mut cart = box_and_ball(400.0);
    cart.join(Joint::to_world(JointKind::slider([0.8, 0.6]).motor(1.0, 50.0), 0));
    cart.join(Joint::new(JointKind::hinge(), 0, 1).anchors([0.0, 0.0], [-1.0, 0.0]));
    add_beside(&mut scene, &cart, 12.0);
    let mut arm = box_and_ball(400.0);
    arm.join(Joint::to_world(JointKind::hinge(), 0));
    arm.join(Joint::new(JointKind::slider([1.0, 0.0]), 1, 0).anchors([0.0, 0.0], [1.0, 0.0]));
    add_beside(&mut scene, &arm, -12.0);
    scene
}

#[test]
fn welds_and_sliders_equal_the_reference() {
    equal_the_reference(mechanisms, 3);
}

#[test]
fn welds_and_sliders_have_a_twin() {
    have_a_twin(mechanisms);
}

/// Negative controls: a mass on a weld that is wrong by a thousandth is found, and on a slider.
#[test]
fn a_wrong_weld_or_slider_is_detected() {
    for (from, to) in [
        ("m[2] * v.x + m[4] * v.y + m[5] * v.z,", "m[2] * v.x + m[4] * v.y + 1.001 * m[5] * v.z,"),
        ("let by = across * mass.x;", "let by = across * (1.001 * mass.x);"),
    ] {
        is_detected(&mechanisms(Mode::Soft), from, to);
    }
}

/// Returns a heavy table on light legs, which stand on a floor.
fn table(top: f32) -> Scene {
    let mut scene = world(10.0);
    scene.add(Body::fixed(0.0, -0.5).shape(Shape::half_box(20.0, 0.5)));
    let mut body = Body::dynamic(0.0, 1.1).shape(Shape::half_box(1.0, 0.1));
    body.mass = Some(top);
    let board = scene.add(body);
    for x in [-0.9, 0.9] {
        let mut leg = Body::dynamic(x, 0.5).shape(Shape::half_box(0.05, 0.5));
        leg.mass = Some(1.0);
        let leg = scene.add(leg);
        scene.join(Joint::new(JointKind::weld(), board, leg).anchors([x, -0.1], [0.0, 0.5]));
    }
    scene
}

/// Feet would see the mass of a leg alone: a table that stands is swept, and stands.
#[test]
fn a_heavy_table_stands_on_light_legs() {
    let mut sim = Backend::Cpu1.start(&table(100.0));
    let bodies = sim.advance(600).bodies();
    near("height", f64::from(bodies[1].position[1]), 1.1, 0.01);
    near("angle", f64::from(bodies[1].angle), 0.0, 0.01);
}

/// Rigid welds between bodies that turn form trees, if these hang on something fixed and lean on no limit.
#[test]
fn welds_form_trees_where_nothing_light_is_pressed() {
    let count = |scene: &Scene| trees(&compile(scene).joints.starts).count();
    assert_eq!(count(&welded("hww", 1000.0)), 1);
    assert_eq!(count(&welded("hww", 300.0)), 0, "at the ratio");
    let mut stiff = welded("www", 1000.0);
    stiff.bodies.iter_mut().for_each(|body| body.fixed_rotation = true);
    assert_eq!(count(&stiff), 0);
    let mut soft = welded("www", 1000.0);
    soft.joints.iter_mut().for_each(|joint| *joint = joint.clone().soft(2.0, 1.0));
    assert_eq!(count(&soft), 0);
    assert_eq!(count(&table(1000.0)), 0);
    let mut limited = welded("hww", 1000.0);
    limited.joints[0].kind = JointKind::hinge().limits(-0.5, 0.5);
    assert_eq!(count(&limited), 0, "leans on a limit");
    // Hinges beside welds that are swept form a tree, as they would without these.
    let mut mixed = welded("hhhw", 1000.0);
    mixed.joints[0].kind = JointKind::hinge().limits(-0.5, 0.5);
    mixed.bodies[0].mass = Some(100.0);
    let found: Vec<usize> = trees(&compile(&mixed).joints.starts).map(|tree| tree.joints().count()).collect();
    assert_eq!(found, [3]);
}

/// Trees of welds follow the bodies of a running world that stop turning, with the bits of the reference.
#[test]
fn a_body_that_stops_turning_leaves_its_tree() {
    let scene = welded("hwww", 1000.0);
    let mut worlds = [cpu(&scene), cpu(&scene).with_threads(3).expect("threads").with_sharing_from(0)];
    assert_equal_to_reference("stops turning", &mut worlds, 60, |step, world| {
        let id = world.body_id(1).expect("a link");
        let count = |world: &CpuWorld| -> usize {
            trees(&world.compiled().joints.starts).map(|tree| tree.joints().count()).sum()
        };
        if step == 20 {
            world.set(id, Property::FixedRotation(true)).expect("a link");
            assert_eq!(count(world), 0);
        }
        if step == 40 {
            world.set(id, Property::FixedRotation(false)).expect("a link");
            assert_eq!(count(world), 4);
        }
    });
}
