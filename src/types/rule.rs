//! A contact as a rule of the user sees it.

use bytemuck::{Pod, Zeroable};

/// Two shapes that touch, as a [contact rule](crate::low_level::scene::ContactRule) sees them. A rule returns it with
/// other values of `friction` to `touches`; changes of the other fields have no effect.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct RuleContact {
    /// Unit normal from A to B, world axes.
    pub normal: [f32; 2],
    /// Velocity of B relative to A at the points, when the step begins, m/s.
    pub velocity: [f32; 2],
    /// Least separation of the points, m. Negative is penetration.
    pub separation: f32,
    /// Coefficient of friction at rest, by the materials.
    pub friction: f32,
    /// Coefficient of friction while sliding.
    pub kinetic_friction: f32,
    /// Share of the approach speed that is given back.
    pub restitution: f32,
    /// Speed of the surfaces along themselves, m/s: B is driven to the right as seen along the normal.
    pub tangent_speed: f32,
    /// Largest torque against rolling, as a share of the normal force, m.
    pub rolling_resistance: f32,
    /// 1: the contact is solved. 0: the shapes pass through each other in this step, and no event tells of them.
    pub touches: u32,
    /// 1: the pair did not touch in the step before.
    pub is_new: u32,
    /// Number of A's material in the scene, counted from 1; 0 if it has none with a name.
    pub material_a: u32,
    /// Number of B's material.
    pub material_b: u32,
    /// Categories of A's shape, as bits.
    pub category_a: u32,
    /// Categories of B's shape.
    pub category_b: u32,
    /// Index of body A.
    pub body_a: u32,
    /// Index of body B.
    pub body_b: u32,
    /// Index of shape A.
    pub shape_a: u32,
    /// Index of shape B.
    pub shape_b: u32,
}
