//! Sums up the velocity changes due to stored impulses, eight constraints at a time, shared among threads; the fast
//! form of [`crate::stages::warm_start`], to the same bits.

use super::solve::SurfaceLanes;
use crate::constants::SCALED_SPREAD;
use crate::cpu::blocks::{Block, ContactBatch, Visit};
use crate::lanes::{Select, Simd, SimdBase, SimdMask, WIDTH, cross, dispatch, f32x8, right_perp};
use crate::mass_scale::asked;
use crate::threads::{RowTable, Rows};
use crate::types::{Accumulator, BodyState, FIXED_A, FIXED_B, Params, Surface};

/// Adds the contact impulses to `accumulators`.
pub fn warm_start(
    params: &Params,
    constraints: &mut impl Visit,
    states: impl RowTable<Item = BodyState> + Sync,
    accumulators: impl RowTable<Item = Accumulator> + Sync,
    surfaces: &Rows<Surface, 2>,
) {
    constraints.visit_batches(|batch| warm_start_batch(params, batch, states, accumulators, surfaces));
}

/// Adds the impulses of some blocks of one colour to `accumulators`.
pub fn warm_start_batch(
    params: &Params,
    batch: ContactBatch,
    states: impl RowTable<Item = BodyState>,
    accumulators: impl RowTable<Item = Accumulator>,
    surfaces: &Rows<Surface, 2>,
) {
    dispatch!(simd => for (slot, block, _) in batch.blocks() {
        accumulate(simd, params, block, SurfaceLanes::load(slot, block, surfaces).as_ref(), states, accumulators);
    });
}

/// Adds the velocity changes due to the impulses of one block.
#[inline(always)]
fn accumulate<S: Simd>(
    simd: S,
    params: &Params,
    block: &Block,
    surface: Option<&SurfaceLanes>,
    states: impl RowTable<Item = BodyState>,
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
    let flags = block.flags;
    let [asked_a, asked_b] = if params.mass_per_impulse > 0.0 {
        asked_lanes(simd, params, block, states)
    } else {
        [f32x8::splat(simd, 0.0); 2]
    };
    let columns_a = [-push_a.x, -push_a.y, -(block.inv_inertia_a.on(simd) * spin_a), asked_a];
    let columns_b = [push_b.x, push_b.y, block.inv_inertia_b.on(simd) * spin_b, asked_b];
    accumulators.eight(block.body_a).add_sums(simd, columns_a, |lane| flags[lane] & FIXED_A == 0);
    accumulators.eight(block.body_b).add_sums(simd, columns_b, |lane| flags[lane] & FIXED_B == 0);
}

/// Returns the masses that the contacts of a block ask of their bodies, as [`asked`].
#[inline(always)]
fn asked_lanes<S: Simd>(
    simd: S,
    params: &Params,
    block: &Block,
    states: impl RowTable<Item = BodyState>,
) -> [f32x8<S>; 2] {
    let (zero, one) = (f32x8::splat(simd, 0.0), f32x8::splat(simd, 1.0));
    let load = block.points[0].normal_impulse.on(simd) + block.points[1].normal_impulse.on(simd);
    let wanted = load * params.mass_per_impulse;
    let (inv_a, inv_b) = (block.inv_mass_a.on(simd), block.inv_mass_b.on(simd));
    let both_move = inv_a.simd_gt(zero) & inv_b.simd_gt(zero);
    // Few contacts press so hard that the limits of the masses matter.
    let is_limited =
        both_move & (wanted.simd_gt((one / inv_a) * SCALED_SPREAD) | wanted.simd_gt((one / inv_b) * SCALED_SPREAD));
    let asked_all = both_move.select(wanted, zero);
    if !is_limited.any_true() {
        return [asked_all; 2];
    }
    let [mut asked_a, mut asked_b] = [asked_all.to_array(); 2];
    let (load, inv_a, inv_b) = (load.to_array(), inv_a.to_array(), inv_b.to_array());
    for lane in (0..WIDTH).filter(|lane| is_limited.to_bitmask() >> lane & 1 != 0) {
        let statuses = [block.body_a[lane], block.body_b[lane]].map(|body| states.get(body as usize).status);
        [asked_a[lane], asked_b[lane]] = asked(params, load[lane], [inv_a[lane], inv_b[lane]], statuses);
    }
    [f32x8::load_array(simd, asked_a), f32x8::load_array(simd, asked_b)]
}
