//! Sums up the velocity changes due to stored impulses, eight constraints at a time, shared among threads; the fast
//! form of [`crate::stages::warm_start`], to the same bits.

use super::solve::SurfaceLanes;
use crate::cpu::blocks::{Block, ContactBatch, Visit};
use crate::lanes::{Simd, SimdBase, cross, dispatch, f32x8, right_perp};
use crate::threads::{Halves, RowTable, Rows};
use crate::types::{Accumulator, FIXED_A, FIXED_B, Surface};

/// Adds the contact impulses to `accumulators`.
pub fn warm_start(
    constraints: &mut impl Visit,
    accumulators: impl RowTable<Item = Accumulator> + Sync,
    surfaces: &Rows<Surface, 2>,
) {
    constraints.visit_batches(|batch| warm_start_batch(batch, accumulators, surfaces));
}

/// Adds the impulses of some blocks of one colour to `accumulators`.
pub fn warm_start_batch(
    batch: ContactBatch,
    accumulators: impl RowTable<Item = Accumulator>,
    surfaces: &Rows<Surface, 2>,
) {
    dispatch!(simd => for (slot, block, _) in batch.blocks() {
        accumulate(simd, block, SurfaceLanes::load(slot, block, surfaces).as_ref(), accumulators);
    });
}

/// Adds the velocity changes due to the impulses of one block.
#[inline(always)]
fn accumulate<S: Simd>(
    simd: S,
    block: &Block,
    surface: Option<&SurfaceLanes>,
    accumulators: impl RowTable<Item = Accumulator>,
) {
    let normal = block.normal.on(simd);
    let tangent = right_perp(normal);
    let impulses = block
        .points
        .each_ref()
        .map(|point| normal * point.normal_impulse.on(simd) + tangent * point.tangent_impulse.on(simd));
    let [p_0, p_1] = &block.points;
    let impulse = impulses[0] + impulses[1];
    let mut spin_a = cross(p_0.r_a.on(simd), impulses[0]) + cross(p_1.r_a.on(simd), impulses[1]);
    let mut spin_b = cross(p_0.r_b.on(simd), impulses[0]) + cross(p_1.r_b.on(simd), impulses[1]);
    if let Some(surface) = surface {
        spin_a += surface.rolling_impulse.on(simd);
        spin_b += surface.rolling_impulse.on(simd);
    }
    let (push_a, push_b) = (impulse * block.inv_mass_a.on(simd), impulse * block.inv_mass_b.on(simd));
    let zero = f32x8::splat(simd, 0.0);
    let columns_a = [push_a.x, push_a.y, block.inv_inertia_a.on(simd) * spin_a, zero];
    let columns_b = [push_b.x, push_b.y, block.inv_inertia_b.on(simd) * spin_b, zero];
    let flags = block.flags;
    accumulators.eight(block.body_a).update(
        columns_a,
        |lane| flags[lane] & FIXED_A == 0,
        |sum, lanes| sum.set_lanes(0, sum.lanes(simd, 0) - lanes),
    );
    accumulators.eight(block.body_b).update(
        columns_b,
        |lane| flags[lane] & FIXED_B == 0,
        |sum, lanes| sum.set_lanes(0, sum.lanes(simd, 0) + lanes),
    );
}
