//! Small scenes for unit tests. The built-in scenes are in a crate of their own, which depends on this one.

use std::f32::consts::FRAC_PI_2;

use super::{Body, Joint, JointKind, Mixing, Scene, Shape, Spring};

fn on_ground(name: &str) -> Scene {
    let mut scene = Scene::new(name).gravity(0.0, -10.0);
    scene.settings.restitution_mix = Mixing::Max;
    scene.add(Body::fixed(0.0, -1.0).shape(Shape::half_box(100.0, 1.0)));
    scene
}

/// Pyramid of boxes of 1 m, `base` of them in the lowest row.
pub fn pyramid(base: u16) -> Scene {
    let mut scene = on_ground("pyramid");
    for row in 0..base {
        for column in 0..base - row {
            let x = 1.1 * (f32::from(column) + 0.5 * f32::from(row) - 0.5 * f32::from(base));
            scene.add(Body::dynamic(x, 0.55 + 1.1 * f32::from(row)).shape(Shape::half_box(0.5, 0.5)));
        }
    }
    scene
}

/// House of cards: thin boxes that lean on each other, with one across.
pub fn cards() -> Scene {
    let mut scene = on_ground("cards");
    let card = |x, y, angle| Body::dynamic(x, y).angle(angle).shape(Shape::half_box(0.001, 0.2).friction(0.7));
    for tent in 0..2_u8 {
        let x = 0.35 * f32::from(tent);
        scene.add(card(x, 0.18, -0.436));
        scene.add(card(x + 0.175, 0.18, 0.436));
    }
    scene.add(card(0.25, 0.365, FRAC_PI_2));
    scene
}

/// Chain of circles on rods of 1 m, the first fixed.
pub fn rods() -> Scene {
    let mut scene = Scene::new("rods");
    scene.add(Body::fixed(0.0, 0.0).shape(Shape::circle(0.3)));
    for link in 1..=8_u8 {
        let index = scene.add(Body::dynamic(f32::from(link), 0.0).shape(Shape::circle(0.3)));
        let kind = JointKind::Distance { length: Some(1.0), limits: None, motor: None };
        scene.join(Joint::new(kind, index - 1, index));
    }
    scene
}

/// Capsules on hinges with limits and springs, falling.
pub fn limbs() -> Scene {
    let mut scene = on_ground("limbs");
    let limb = Shape::capsule([0.0, -0.2], [0.0, 0.2], 0.05);
    let mut last = scene.add(Body::dynamic(0.0, 3.0).shape(limb.clone()));
    for row in 1..6_u8 {
        let y = 3.0 - 0.5 * f32::from(row);
        let next = scene.add(Body::dynamic(0.05 * f32::from(row), y).angle(0.1).shape(limb.clone()));
        let spring = Spring { hertz: 1.0, damping_ratio: 0.5, target: 0.0 };
        let kind =
            JointKind::Revolute { reference_angle: None, limits: Some([-0.5, 0.5]), motor: None, spring: Some(spring) };
        scene.join(Joint::new(kind, last, next).anchors([0.0, -0.25], [0.0, 0.25]));
        last = next;
    }
    scene
}

/// A ball that bounces with restitution 0.9.
pub fn ball() -> Scene {
    let mut scene = on_ground("ball");
    scene.add(Body::dynamic(0.0, 4.0).shape(Shape::circle(0.5).restitution(0.9)));
    scene
}

/// Dominoes, the first of which is falling.
pub fn dominoes() -> Scene {
    let mut scene = on_ground("dominoes");
    for place in 0..15_u8 {
        let domino = Body::dynamic(f32::from(place), 0.5).shape(Shape::half_box(0.125, 0.5));
        scene.add(if place == 0 { domino.velocity(0.8, 0.0).angular_velocity(-4.5) } else { domino });
    }
    scene
}
