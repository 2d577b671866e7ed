//! Box2D's ragdoll (`shared/human.c` at 617d32ab): eleven capsules, two feet, ten hinges. A hinge has limits, a spring
//! towards its initial pose, and a motor of speed 0 whose maximum torque is the joint's friction.

use std::f32::consts::PI;

use glam::Vec2;

use drystone::{Body, Filter, Geometry, Joint, JointKind, Motor, Shape, Spring};

/// Number of bodies in a ragdoll.
pub(super) const BONES: u64 = TABLE.len() as u64;

/// Stiffness and friction of a ragdoll's hinges.
#[derive(Clone, Copy)]
pub(super) struct Hinges {
    /// Friction torque of the hips, N·m; other hinges have a fraction of it.
    pub friction_torque: f32,
    /// Frequency of the springs, Hz; 0 for limp joints.
    pub hertz: f32,
    pub damping_ratio: f32,
}

struct Bone {
    name: &'static str,
    /// Height of the bone's origin, m.
    height: f32,
    /// Lower end, upper end and radius of the capsule, m.
    capsule: [f32; 3],
    /// Angular damping, 1/s.
    damping: f32,
    foot: bool,
    hinge: Option<Hinge>,
}

struct Hinge {
    parent: usize,
    /// Height of the hinge, m.
    height: f32,
    /// Minimum and maximum angle, in half turns.
    limits: [f32; 2],
    /// Fraction of the hips' friction torque.
    friction: f32,
    /// Reference angle relative to the parent, in half turns.
    reference: f32,
}

const fn hinge(parent: usize, height: f32, limits: [f32; 2], friction: f32) -> Hinge {
    Hinge { parent, height, limits, friction, reference: 0.0 }
}

const fn bone(name: &'static str, height: f32, capsule: [f32; 3], hinge: Hinge) -> Bone {
    Bone { name, height, capsule, damping: 0.0, foot: false, hinge: Some(hinge) }
}

const fn upper_leg(name: &'static str) -> Bone {
    bone(name, 0.775, [-0.125, 0.125, 0.06], hinge(0, 0.9, [-0.05, 0.4], 1.0))
}

const fn lower_leg(name: &'static str, parent: usize) -> Bone {
    let capsule = [-0.155, 0.125, 0.045];
    Bone { foot: true, ..bone(name, 0.475, capsule, hinge(parent, 0.625, [-0.5, -0.02], 0.5)) }
}

const fn upper_arm(name: &'static str) -> Bone {
    bone(name, 1.225, [-0.125, 0.125, 0.035], hinge(1, 1.35, [-0.1, 0.8], 0.5))
}

/// Returns a lower arm. The elbow's reference angle is off by an eighth of a turn, so that arms start stretched beyond
/// their limit and bend at once.
const fn lower_arm(name: &'static str, parent: usize) -> Bone {
    let elbow = Hinge { parent, height: 1.1, limits: [-0.2, 0.3], friction: 0.1, reference: 0.25 };
    Bone { damping: 0.1, ..bone(name, 0.975, [-0.125, 0.125, 0.03], elbow) }
}

const TABLE: [Bone; 11] = [
    Bone { name: "hip", height: 0.95, capsule: [-0.02, 0.02, 0.095], damping: 0.0, foot: false, hinge: None },
    bone("torso", 1.2, [-0.135, 0.135, 0.09], hinge(0, 1.0, [-0.25, 0.0], 0.5)),
    Bone { damping: 0.1, ..bone("head", 1.475, [-0.038, 0.039, 0.075], hinge(1, 1.4, [-0.3, 0.1], 0.25)) },
    upper_leg("upper_left_leg"),
    lower_leg("lower_left_leg", 3),
    upper_leg("upper_right_leg"),
    lower_leg("lower_right_leg", 5),
    upper_arm("upper_left_arm"),
    lower_arm("lower_left_arm", 7),
    upper_arm("upper_right_arm"),
    lower_arm("lower_right_arm", 9),
];

/// Outline of the foot, m.
const FOOT: [[f32; 2]; 4] = [[-0.03, -0.185], [0.11, -0.185], [0.11, -0.16], [-0.03, -0.14]];
const FOOT_RADIUS: f32 = 0.015;

/// Adds a ragdoll at a position; its feet are a quarter metre above it. Ragdolls of the same `group` (above 0) do not
/// collide, and neither do the limbs of one ragdoll. `named` gives bodies the bones' names, which must be unique in a
/// scene.
pub(super) fn add(
    (bodies, joints): (&mut Vec<Body>, &mut Vec<Joint>),
    at: Vec2,
    group: i32,
    hinges: Hinges,
    named: bool,
) {
    let first = bodies.len();
    // Limbs collide with the world (1) and other limbs (2), feet only with the world.
    let limb = Filter { category: 2, mask: 1 | 2, group: -group };
    let sole = Filter { mask: 1, ..limb };
    for bone in &TABLE {
        let [low, high, radius] = bone.capsule;
        let capsule = Shape::capsule([0.0, low], [0.0, high], radius).friction(0.2).filter(limb);
        let mut body = Body::dynamic(at.x, at.y + bone.height).shape(capsule);
        if bone.foot {
            let points = FOOT.map(Vec2::from).to_vec();
            let foot = Shape::new(Geometry::Polygon { points, radius: FOOT_RADIUS });
            body = body.shape(foot.friction(0.05).filter(sole));
        }
        body.linear_damping = bone.damping;
        body.id = named.then(|| bone.name.to_owned());
        let index = bodies.len();
        bodies.push(body);
        let Some(hinge) = &bone.hinge else { continue };
        let kind = JointKind::Revolute {
            reference_angle: Some(hinge.reference * PI),
            limits: Some(hinge.limits.map(|limit| limit * PI)),
            motor: Some(Motor { speed: 0.0, max: hinge.friction * hinges.friction_torque }),
            spring: (hinges.hertz > 0.0).then_some(Spring {
                hertz: hinges.hertz,
                damping_ratio: hinges.damping_ratio,
                target: 0.0,
            }),
        };
        let anchor = |bone: &Bone| Vec2::new(0.0, hinge.height - bone.height);
        let joint = Joint::new(kind, first + hinge.parent, index);
        joints.push(joint.anchors(anchor(&TABLE[hinge.parent]), anchor(bone)));
    }
}
