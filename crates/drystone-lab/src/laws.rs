//! The laws, by group, and what several of them share.

mod conservation;
mod granular;
mod impacts;
mod joints;
mod rotation;
mod statics;

use drystone::{Geometry, Scene, Shape};

use crate::law::{Disturbance, Law};

/// All laws, by group.
pub(crate) const GROUPS: [&[Law]; 6] =
    [statics::LAWS, impacts::LAWS, joints::LAWS, rotation::LAWS, granular::LAWS, conservation::LAWS];

/// Standard gravity of scenes, m/s².
const EARTH: f64 = 9.81;

/// Stronger gravity.
const GRAVITY: Disturbance = Disturbance { what: "gravity 5 % stronger", apply: |scene| scene.gravity *= 1.05 };
/// Less friction.
const FRICTION: Disturbance =
    Disturbance { what: "friction 5 % less", apply: |scene| shapes(scene, |shape| shape.material.friction *= 0.95) };
/// Less restitution.
const RESTITUTION: Disturbance = Disturbance {
    what: "restitution 10 % less",
    apply: |scene| shapes(scene, |shape| shape.material.restitution *= 0.9),
};
/// Soft contacts.
const SOFT_CONTACTS: Disturbance =
    Disturbance { what: "contacts of 3 Hz", apply: |scene| scene.settings.contact_hertz = Some(3.0) };
/// Drag on all bodies.
const DRAG: Disturbance = Disturbance {
    what: "drag of 0.1/s",
    apply: |scene| {
        for body in &mut scene.bodies {
            (body.linear_damping, body.angular_damping) = (0.1, 0.1);
        }
    },
};

/// Changes all shapes of a scene.
fn shapes(scene: &mut Scene, change: impl Fn(&mut Shape)) {
    scene.bodies.iter_mut().flat_map(|body| &mut body.shapes).for_each(change);
}

/// Changes the width of all boxes of dynamic bodies.
fn widen(scene: &mut Scene, factor: f32) {
    let dynamic = scene.bodies.iter_mut().filter(|body| body.kind == drystone::BodyType::Dynamic);
    for shape in dynamic.flat_map(|body| &mut body.shapes) {
        if let Geometry::Box { half, .. } = &mut shape.geometry {
            half.x *= factor;
        }
    }
}
