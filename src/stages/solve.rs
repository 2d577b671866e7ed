//! **solve** and **relax**: one sweep of sequential impulses over all contacts, colour by colour.
//!
//! Reads and writes constraints (impulses), rebounds, surfaces and states (velocities). Constraint by constraint, in the
//! order of colours; on the device those of one colour at the same time, as they share no body that moves. `relax` is the same sweep
//! without bias.
//!
//! One formula serves every mode: `λ = −m (mass_scale·v + bias) − impulse_scale·Λ`, with `Λ` clamped, not `λ`. The soft
//! step takes its three coefficients from a spring-damper; Baumgarte's method is mass scale 1, impulse scale 0.
//! A gap `s > 0` closes at most at the speed `s/h` in every mode (speculative contact). Friction is solved where
//! [`USE_FRICTION`] says so: in the soft step only when relaxing, when the normal impulses carry no bias.
//!
//! A point that a contact does not have is all zero. It is visited as any other and takes no impulse.

use glam::Vec2;

use super::prepare::{ConstraintPoint, ContactConstraint};
pub use crate::constants::{GAP, STICK_SPEED};
use crate::math::{cross, cross_scalar, larger, right_perp, smaller, turned};
use crate::types::{
    ACCUMULATE, BOUNCES, BodyState, FIXED_A, FIXED_B, FRESH, MEASURED, Params, Surface, USE_BIAS, USE_FRICTION,
};

/// Makes one sweep.
pub fn solve(
    params: &Params,
    flags: u32,
    constraints: &mut [ContactConstraint],
    surfaces: &mut [Surface],
    states: &mut [BodyState],
) {
    for (slot, constraint) in constraints.iter_mut().enumerate() {
        solve_contact(params, flags, constraint, surfaces.get_mut(slot), states);
    }
}

/// Visits one contact: normal impulses, then friction.
fn solve_contact(
    params: &Params,
    how: u32,
    c: &mut ContactConstraint,
    mut surface: Option<&mut Surface>,
    states: &mut [BodyState],
) {
    let (state_a, state_b) = (states[c.body_a as usize], states[c.body_b as usize]);
    let normal = Vec2::from(c.normal);
    let mut motion = Motion::new(c, &state_a, &state_b);
    if how & MEASURED == 0 {
        let moved = Vec2::from(state_b.delta_position) - Vec2::from(state_a.delta_position);
        let (turn_a, turn_b) = (state_a.delta_rotation.into(), state_b.delta_rotation.into());
        for (point, measured) in c.points.iter().zip(&mut c.measured) {
            let swung = turned(turn_b, point.r_b.into()) - turned(turn_a, point.r_a.into());
            *measured = point.separation + (moved + swung).dot(normal);
        }
    }
    let softness = if c.flags & (FIXED_A | FIXED_B) == 0 { params.contact_softness } else { params.fixed_softness };
    if how & FRESH != 0 {
        c.impulses = [0.0; 4];
        if let Some(surface) = &mut surface {
            surface.rolling_impulse = 0.0;
        }
    }

    for (end, point) in c.points.iter().enumerate() {
        let velocity = motion.velocity(point).dot(normal);
        let old = c.impulses[2 * end];
        let new = normal_impulse(params, how, softness, c.measured[end], velocity, point.normal_mass, old);
        c.impulses[2 * end] = new;
        motion.push(point, normal * (new - old));
    }
    if params.switches & BOUNCES != 0 {
        for (end, most) in c.rebound.max_impulses.iter_mut().enumerate() {
            *most = larger(*most, c.impulses[2 * end]);
        }
    }

    if how & USE_FRICTION != 0 {
        let tangent = right_perp(normal);
        if let Some(surface) = &mut surface {
            let k = c.inv_inertia_a + c.inv_inertia_b;
            let mass = if k > 0.0 { 1.0 / k } else { 0.0 };
            let most = surface.rolling_resistance * (c.impulses[0] + c.impulses[2]);
            let old = surface.rolling_impulse;
            let new = clamp(old - mass * (motion.w_b - motion.w_a), most);
            surface.rolling_impulse = new;
            motion.w_a -= c.inv_inertia_a * (new - old);
            motion.w_b += c.inv_inertia_b * (new - old);
        }
        // A contact slides when none of its points holds any more, and then has what sliding gives. One point alone
        // says nothing: the first that is visited is asked to hold everything.
        let mut slides = true;
        for (end, point) in c.points.iter().enumerate() {
            let mut velocity = motion.velocity(point).dot(tangent);
            if let Some(surface) = &surface {
                velocity -= surface.tangent_speed;
            }
            let most = c.friction * c.impulses[2 * end];
            let old = c.impulses[2 * end + 1];
            let wanted = old - point.tangent_mass * velocity;
            slides &= wanted.abs() >= most + point.tangent_mass * STICK_SPEED;
            let new = clamp(wanted, most);
            c.impulses[2 * end + 1] = new;
            motion.push(point, tangent * (new - old));
        }
        if let Some(surface) = surface {
            for (end, point) in c.points.iter().enumerate() {
                let most = surface.kinetic_friction * c.impulses[2 * end];
                let old = c.impulses[2 * end + 1];
                let new = if slides { clamp(old, most) } else { old };
                c.impulses[2 * end + 1] = new;
                motion.push(point, tangent * (new - old));
            }
        }
    }

    if c.flags & FIXED_A == 0 {
        let state = &mut states[c.body_a as usize];
        (state.velocity, state.angular_velocity) = (motion.v_a.into(), motion.w_a);
    }
    if c.flags & FIXED_B == 0 {
        let state = &mut states[c.body_b as usize];
        (state.velocity, state.angular_velocity) = (motion.v_b.into(), motion.w_b);
    }
}

/// Returns the accumulated normal impulse of a point after this visit.
fn normal_impulse(
    params: &Params,
    how: u32,
    softness: [f32; 4],
    separation: f32,
    velocity: f32,
    mass: f32,
    old: f32,
) -> f32 {
    let (mut bias, mut mass_scale, mut impulse_scale) = (0.0, 1.0, 0.0);
    if separation > GAP * params.linear_slop {
        bias = separation / params.h;
    } else if how & USE_BIAS != 0 {
        let [bias_rate, soft_mass_scale, soft_impulse_scale, slop] = softness;
        let depth = smaller(separation + slop, 0.0);
        bias = larger(soft_mass_scale * bias_rate * depth, -params.push_speed);
        (mass_scale, impulse_scale) = (soft_mass_scale, soft_impulse_scale);
    }
    let wanted = -(mass * (mass_scale * velocity + bias)) - impulse_scale * old;
    if params.switches & ACCUMULATE != 0 { larger(old + wanted, 0.0) } else { old + larger(wanted, 0.0) }
}

/// Returns `value` between `-most` and `most`.
fn clamp(value: f32, most: f32) -> f32 {
    larger(smaller(value, most), -most)
}

/// Velocities of the two bodies while a contact is visited, and how a push changes them.
struct Motion {
    v_a: Vec2,
    w_a: f32,
    v_b: Vec2,
    w_b: f32,
    /// 1/mass and 1/inertia of A, then of B.
    inv: [f32; 4],
}

impl Motion {
    fn new(c: &ContactConstraint, state_a: &BodyState, state_b: &BodyState) -> Self {
        Self {
            v_a: state_a.velocity.into(),
            w_a: state_a.angular_velocity,
            v_b: state_b.velocity.into(),
            w_b: state_b.angular_velocity,
            inv: [c.inv_mass_a, c.inv_inertia_a, c.inv_mass_b, c.inv_inertia_b],
        }
    }

    /// Returns how fast B leaves A at a point, m/s.
    fn velocity(&self, point: &ConstraintPoint) -> Vec2 {
        (self.v_b + cross_scalar(self.w_b, point.r_b.into())) - (self.v_a + cross_scalar(self.w_a, point.r_a.into()))
    }

    /// Pushes B at a point, and A against it.
    fn push(&mut self, point: &ConstraintPoint, impulse: Vec2) {
        let [m_a, i_a, m_b, i_b] = self.inv;
        self.v_a -= impulse * m_a;
        self.w_a -= i_a * cross(point.r_a.into(), impulse);
        self.v_b += impulse * m_b;
        self.w_b += i_b * cross(point.r_b.into(), impulse);
    }
}
