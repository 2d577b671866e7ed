//! Rules by which the friction and restitution of two materials are mixed, against the laws that hold for the mixed
//! coefficient, on all backends.

use crate::support::{cpu, gpu};
use drystone::{Body, Mixing, Scene, Settings, Shape, World};

/// Returns a world of the scene on one thread, on three, and on the device.
fn worlds(scene: &Scene) -> [(&'static str, World); 3] {
    [("cpu", cpu(scene).into()), ("3 threads", cpu(scene).with_threads(3).unwrap().into()), ("gpu", gpu(scene).into())]
}

/// Each rule, with what it makes of 0.2 and 0.8.
const RULES: [(Mixing, f32); 5] =
    [(Mixing::Min, 0.2), (Mixing::Max, 0.8), (Mixing::Geometric, 0.4), (Mixing::Mean, 0.5), (Mixing::Product, 0.16)];

/// Boxes on a plane with gravity aslant, one in each of the cases: at rest and while sliding.
fn pushed(mix: Mixing, coefficient: f32) -> Scene {
    let mut scene = Scene::new("pushed").gravity(coefficient * 10.0, -10.0);
    scene.settings = Settings::default().friction_mix(mix);
    scene.add(Body::fixed(0.0, 0.0).shape(Shape::half_plane([0.0, 1.0], 0.0).friction(0.8)));
    let crate_at = |x: f32| Body::dynamic(x, 0.25).shape(Shape::half_box(0.5, 0.25).friction(0.2));
    scene.add(crate_at(0.0));
    scene.add(crate_at(50.0).velocity(3.0, 0.0));
    scene
}

#[test]
fn boxes_slide_by_the_mixed_friction() {
    for (mix, friction) in RULES {
        // Pushed along by a little less than friction holds, and by a little more.
        for (share, holds) in [(0.97, true), (1.03, false)] {
            for (name, mut world) in worlds(&pushed(mix, share * friction)) {
                (0..60).for_each(|_| world.step().unwrap());
                let speed = world.body(1).unwrap().velocity().x;
                let expected = if holds { 0.0 } else { 0.3 * friction };
                assert!((speed - expected).abs() < 0.01, "{name}, {mix:?}, {share}: {speed} m/s, not {expected}");
            }
        }
        // A sliding one is slowed by μ g, less what pushes it.
        for (name, mut world) in worlds(&pushed(mix, 0.5 * friction)) {
            (0..12).for_each(|_| world.step().unwrap());
            let speed = world.body(2).unwrap().velocity().x;
            let expected = 3.0 - 0.5 * friction * 10.0 * 0.2;
            assert!((speed - expected).abs() < 0.01, "{name}, {mix:?}: {speed} m/s, not {expected}");
        }
    }
}

#[test]
fn kinetic_friction_is_mixed_by_the_same_rule() {
    for (mix, friction) in RULES {
        let mut scene = pushed(mix, 0.0);
        for body in &mut scene.bodies {
            for shape in &mut body.shapes {
                shape.material.kinetic_friction = Some(shape.material.friction);
                shape.material.friction = 1.0;
            }
        }
        for (name, mut world) in worlds(&scene) {
            (0..12).for_each(|_| world.step().unwrap());
            let speed = world.body(2).unwrap().velocity().x;
            let expected = 3.0 - friction * 10.0 * 0.2;
            assert!((speed - expected).abs() < 0.01, "{name}, {mix:?}: {speed} m/s, not {expected}");
        }
    }
}

#[test]
fn balls_bounce_by_the_mixed_restitution() {
    for (mix, restitution) in RULES {
        let mut scene = Scene::new("ball").gravity(0.0, 0.0);
        scene.settings = Settings::default().restitution_mix(mix);
        scene.add(Body::fixed(0.0, 0.0).shape(Shape::half_plane([0.0, 1.0], 0.0).restitution(0.8)));
        scene.add(Body::dynamic(0.0, 1.0).velocity(0.0, -6.0).shape(Shape::circle(0.5).restitution(0.2)));
        // One material that does not bounce is enough to hold the ball by three of the rules.
        scene.add(Body::dynamic(9.0, 1.0).velocity(0.0, -6.0).shape(Shape::circle(0.5)));
        for (name, mut world) in worlds(&scene) {
            (0..30).for_each(|_| world.step().unwrap());
            let speed = |body: usize| world.body(body).unwrap().velocity().y;
            let expected = 6.0 * restitution;
            assert!((speed(1) - expected).abs() < 0.01, "{name}, {mix:?}: {} m/s, not {expected}", speed(1));
            let alone = match mix {
                Mixing::Max => 0.8,
                Mixing::Mean => 0.4,
                Mixing::Min | Mixing::Geometric | Mixing::Product => 0.0,
            };
            assert!((speed(2) - 6.0 * alone).abs() < 0.01, "{name}, {mix:?}: {} m/s, not 6 × {alone}", speed(2));
        }
    }
}
