//! **warm_start**: sums up, for every body, the velocity change due to the contact impulses of the previous step.
//!
//! Reads constraints and surfaces; writes accumulators. Visits the constraints in colour order.
//! [`integrate_velocities`](super::integrate_velocities) applies the sum; its docs say why later substeps need no such
//! sweep.

use glam::Vec2;

use super::color::split::Splits;
use super::prepare::ContactConstraint;
use crate::mass_scale::asked;
use crate::math::{cross, larger, right_perp};
use crate::types::{Accumulator, BodyState, FIXED_A, FIXED_B, Params, Surface};

/// Adds the contact impulses to `accumulators`.
pub fn warm_start(
    params: &Params,
    splits: &Splits,
    constraints: &[ContactConstraint],
    surfaces: &[Surface],
    states: &mut Vec<BodyState>,
    accumulators: &mut Vec<Accumulator>,
) {
    splits.sweep(constraints.len(), states, accumulators, |slot, states, accumulators| {
        warm_start_contact(params, &constraints[slot], surfaces.get(slot), states, accumulators);
    });
}

/// Adds the velocity changes due to one contact.
fn warm_start_contact(
    params: &Params,
    c: &ContactConstraint,
    surface: Option<&Surface>,
    states: &[BodyState],
    accumulators: &mut [Accumulator],
) {
    let normal = Vec2::from(c.normal);
    let tangent = right_perp(normal);
    let [p_0, p_1] = &c.points;
    let impulse_0 = normal * c.impulses[0] + tangent * c.impulses[1];
    let impulse_1 = normal * c.impulses[2] + tangent * c.impulses[3];
    let impulse = impulse_0 + impulse_1;
    let mut spin_a = cross(p_0.r_a.into(), impulse_0) + cross(p_1.r_a.into(), impulse_1);
    let mut spin_b = cross(p_0.r_b.into(), impulse_0) + cross(p_1.r_b.into(), impulse_1);
    if let Some(surface) = surface {
        spin_a += surface.rolling_impulse;
        spin_b += surface.rolling_impulse;
    }
    let mut masses = [0.0; 2];
    if params.mass_per_impulse > 0.0 {
        let statuses = [c.body_a, c.body_b].map(|body| states[body as usize].status);
        masses = asked(params, c.impulses[0] + c.impulses[2], [c.inv_mass_a, c.inv_mass_b], statuses);
    }
    if c.flags & FIXED_A == 0 {
        let sum = &mut accumulators[c.body_a as usize];
        sum.velocity = (Vec2::from(sum.velocity) - impulse * c.inv_mass_a).into();
        sum.angular_velocity -= c.inv_inertia_a * spin_a;
        sum.asked_mass = larger(sum.asked_mass, masses[0]);
    }
    if c.flags & FIXED_B == 0 {
        let sum = &mut accumulators[c.body_b as usize];
        sum.velocity = (Vec2::from(sum.velocity) + impulse * c.inv_mass_b).into();
        sum.angular_velocity += c.inv_inertia_b * spin_b;
        sum.asked_mass = larger(sum.asked_mass, masses[1]);
    }
}
