//! Applies impacts, with constraints in blocks of eight shared among threads; the fast form of
//! [`crate::stages::restitution`], to the same bits. Most blocks have no point that approaches fast enough, which eight
//! lanes find out at once; the others are visited lane by lane.

use crate::cpu::blocks::{Block, Bounce, ContactBatch, Visit};
use crate::cpu::lanes::{Simd, SimdBase, SimdMask, Vec2x8, WIDTH, cross_scalar, dispatch, f32x8};
use crate::stages::restitution::bounce_contact;
use crate::threads::{RowTable, Rows};
use crate::types::{Accumulator, BodyState, FIXED_A, FIXED_B, Params, Surface};

/// Makes one round over all contacts.
pub fn restitution(
    params: &Params,
    states: &Rows<BodyState, 4>,
    accumulators: &Rows<Accumulator, 2>,
    constraints: &mut impl Visit,
    surfaces: &Rows<Surface, 2>,
) {
    constraints.visit_batches(|batch| {
        dispatch!(simd => visit_batch(simd, params, states, accumulators, batch, surfaces));
    });
}

/// Visits some blocks of one colour.
#[inline(always)]
fn visit_batch<S: Simd>(
    simd: S,
    params: &Params,
    states: &Rows<BodyState, 4>,
    accumulators: &Rows<Accumulator, 2>,
    batch: ContactBatch,
    surfaces: &Rows<Surface, 2>,
) {
    for (slot, block, bounce) in batch.blocks() {
        let Some(bounce) = bounce else { continue };
        if may_bounce(simd, params, states, block, bounce) {
            bounce_block(params, states, accumulators, slot, block, bounce, surfaces);
        }
    }
}

/// Returns true if a point of a lane that bounces approaches faster than the threshold. A missing point moves like the
/// centres of its bodies and may be a false alarm.
#[inline(always)]
fn may_bounce<S: Simd>(simd: S, params: &Params, states: &Rows<BodyState, 4>, block: &Block, bounce: &Bounce) -> bool {
    let zero = f32x8::splat(simd, 0.0);
    let bounces = bounce.restitution.on(simd).simd_gt(zero);
    if !bounces.any_true() {
        return false;
    }
    let [v_a_x, v_a_y, w_a, _] = states.eight(block.body_a).columns(simd, 0);
    let [v_b_x, v_b_y, w_b, _] = states.eight(block.body_b).columns(simd, 0);
    let (v_a, v_b) = (Vec2x8::new(v_a_x, v_a_y), Vec2x8::new(v_b_x, v_b_y));
    let (normal, threshold) = (block.normal.on(simd), f32x8::splat(simd, -params.restitution_threshold));
    block.points.iter().any(|point| {
        let (r_a, r_b) = (point.r_a.on(simd), point.r_b.on(simd));
        let velocity = ((v_b + cross_scalar(w_b, r_b)) - (v_a + cross_scalar(w_a, r_a))).dot(normal);
        (velocity.simd_lt(threshold) & bounces).any_true()
    })
}

/// Visits the lanes of a block one by one.
fn bounce_block(
    params: &Params,
    states: &Rows<BodyState, 4>,
    accumulators: &Rows<Accumulator, 2>,
    slot: usize,
    block: &mut Block,
    bounce: &mut Bounce,
    surfaces: &Rows<Surface, 2>,
) {
    for lane in 0..WIDTH {
        if bounce.restitution.0[lane] == 0.0 {
            continue;
        }
        let mut constraint = block.get(lane);
        constraint.rebound = bounce.get(lane);
        let (a, b, flags) = (constraint.body_a as usize, constraint.body_b as usize, constraint.flags);
        let pair = [states.get(a), states.get(b)];
        let surface = (!surfaces.is_empty()).then(|| surfaces.get(slot + lane));
        let rebounded = bounce_contact(params, &mut constraint, surface.as_ref(), pair);
        if constraint.rebound.radii > 0.0 {
            block.set(lane, &constraint);
        }
        let Some([new_a, new_b]) = rebounded else { continue };
        bounce.set(lane, &constraint.rebound);
        if flags & FIXED_A == 0 {
            let (state, sum) = new_a.applied(pair[0], accumulators.get(a));
            states.set(a, state);
            accumulators.set(a, sum);
        }
        if flags & FIXED_B == 0 {
            let (state, sum) = new_b.applied(pair[1], accumulators.get(b));
            states.set(b, state);
            accumulators.set(b, sum);
        }
    }
}
