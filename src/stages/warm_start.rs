//! **warm_start**: adds up, for every body, what the impulses kept from the step before do to its velocity.
//!
//! Reads constraints and surfaces; writes accumulators. By colour, one thread a constraint, a block of four on the CPU. The sum is applied in
//! [`integrate_velocities`](super::integrate_velocities), which also says why later substeps need no such sweep.

use super::solve::SurfaceLanes;
use crate::blocks::{Block, Visit};
use crate::lanes::{WIDTH, cross, f32x4, right_perp};
use crate::threads::Rows;
use crate::types::{Accumulator, FIXED_A, FIXED_B, Surface};

/// Fills `accumulators`.
pub fn warm_start(constraints: &mut impl Visit, accumulators: &Rows<Accumulator, 2>, surfaces: &Rows<Surface, 2>) {
    constraints.visit(|slot, block, _| {
        accumulate(block, SurfaceLanes::load(slot, block, surfaces).as_ref(), accumulators);
    });
}

/// Adds what the impulses of a block do to the velocities of the bodies.
fn accumulate(block: &Block, surface: Option<&SurfaceLanes>, accumulators: &Rows<Accumulator, 2>) {
    let tangent = right_perp(block.normal);
    let [p_0, p_1] = &block.points;
    let impulse_0 = block.normal * p_0.normal_impulse + tangent * p_0.tangent_impulse;
    let impulse_1 = block.normal * p_1.normal_impulse + tangent * p_1.tangent_impulse;
    let impulse = impulse_0 + impulse_1;
    let mut spin_a = cross(p_0.r_a, impulse_0) + cross(p_1.r_a, impulse_1);
    let mut spin_b = cross(p_0.r_b, impulse_0) + cross(p_1.r_b, impulse_1);
    if let Some(surface) = surface {
        spin_a += surface.rolling_impulse;
        spin_b += surface.rolling_impulse;
    }
    let (push_a, push_b) = (impulse * block.inv_mass_a, impulse * block.inv_mass_b);
    let zero = f32x4::splat(0.0);
    let rows_a = f32x4::transpose([push_a.x, push_a.y, block.inv_inertia_a * spin_a, zero]);
    let rows_b = f32x4::transpose([push_b.x, push_b.y, block.inv_inertia_b * spin_b, zero]);
    for lane in 0..WIDTH {
        if block.flags[lane] & FIXED_A == 0 {
            let sum = accumulators.row(block.body_a[lane] as usize);
            sum.set_lanes(0, sum.lanes(0) - rows_a[lane]);
        }
        if block.flags[lane] & FIXED_B == 0 {
            let sum = accumulators.row(block.body_b[lane] as usize);
            sum.set_lanes(0, sum.lanes(0) + rows_b[lane]);
        }
    }
}
