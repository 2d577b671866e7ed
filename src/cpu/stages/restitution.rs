//! Applies impacts, with constraints in blocks of eight shared among threads; the fast form of
//! [`crate::stages::restitution`], to the same bits. Most blocks have no point that approaches fast enough, which eight
//! lanes find out at once; the others are visited lane by lane.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::constants::RESTITUTION_ROUNDS;
use crate::cpu::blocks::{Block, Bounce, ContactBatch, Visit};
use crate::lanes::{Lanes, Simd, SimdBase, SimdMask, Vec2x8, WIDTH, cross_scalar, dispatch, f32x8};
use crate::stages::restitution::{bounce_contact, impact_speed};
use crate::threads::{RowTable, Rows};
use crate::types::{Accumulator, BodyState, FIXED_A, FIXED_B, Params, Surface};

/// Tables of the impacts of a world.
#[derive(Clone, Copy, Debug)]
pub struct ImpactTables<'a> {
    /// Settings.
    pub params: &'a Params,
    /// Velocities of the bodies.
    pub states: &'a Rows<BodyState, 4>,
    /// Sums of impulses of the bodies.
    pub accumulators: &'a Rows<Accumulator, 2>,
    /// Materials with more than friction and restitution; empty if there are none.
    pub surfaces: &'a Rows<Surface, 2>,
}

/// Rounds of a step, of which those that cannot change anything are left out: after a round without impacts the next
/// one of the same substep would be without, too.
#[derive(Debug, Default)]
pub struct ImpactRounds {
    /// Number of the round after the last one with an impact.
    next: AtomicU32,
}

impl ImpactRounds {
    /// Returns true if the round with this number in the step may have impacts. Never false for one that has; may be
    /// true for another while later rounds are made.
    #[must_use]
    pub fn is_needed(&self, number: u32) -> bool {
        number.is_multiple_of(RESTITUTION_ROUNDS) || self.next.load(Ordering::Relaxed) >= number
    }

    /// Returns the round with this number.
    #[must_use]
    pub fn round(&self, number: u32) -> ImpactRound<'_> {
        ImpactRound { rounds: self, number }
    }
}

/// A round of a step.
#[derive(Clone, Copy, Debug)]
pub struct ImpactRound<'a> {
    rounds: &'a ImpactRounds,
    number: u32,
}

/// Makes one round over all contacts. A worker of a team visits them even if the round is not needed, as all workers
/// must make the same passes and a late one cannot tell what the others knew.
pub fn restitution(tables: ImpactTables, round: ImpactRound, constraints: &mut impl Visit) {
    constraints.visit_batches(|batch| {
        if round.rounds.is_needed(round.number) {
            dispatch!(simd => visit_batch(simd, tables, round, batch));
        }
    });
}

/// Visits some blocks of one colour.
#[inline(always)]
fn visit_batch<S: Simd>(simd: S, tables: ImpactTables, round: ImpactRound, batch: ContactBatch) {
    for (slot, block, bounce) in batch.blocks() {
        let Some(bounce) = bounce else { continue };
        if let Some(velocities) = fast_approaches(simd, tables.params, tables.states, block, bounce) {
            bounce_block(tables, round, slot, block, bounce, &velocities);
        }
    }
}

/// Returns the normal velocities of the points of a block, m/s, if one of a lane that bounces approaches faster than
/// the threshold. A missing point moves like the centres of its bodies and may be a false alarm.
#[inline(always)]
fn fast_approaches<S: Simd>(
    simd: S,
    params: &Params,
    states: &Rows<BodyState, 4>,
    block: &Block,
    bounce: &Bounce,
) -> Option<[Lanes; 2]> {
    let zero = f32x8::splat(simd, 0.0);
    let bounces = bounce.restitution.on(simd).simd_gt(zero);
    if !bounces.any_true() {
        return None;
    }
    let [v_a_x, v_a_y, w_a, _] = states.eight(block.body_a).columns(simd, 0);
    let [v_b_x, v_b_y, w_b, _] = states.eight(block.body_b).columns(simd, 0);
    let (v_a, v_b) = (Vec2x8::new(v_a_x, v_a_y), Vec2x8::new(v_b_x, v_b_y));
    let (normal, threshold) = (block.normal.on(simd), f32x8::splat(simd, -impact_speed(params)));
    let mut velocities = [Lanes::default(); 2];
    let mut is_fast = false;
    for (point, lanes) in block.points.iter().zip(&mut velocities) {
        let (r_a, r_b) = (point.r_a.on(simd), point.r_b.on(simd));
        let velocity = ((v_b + cross_scalar(w_b, r_b)) - (v_a + cross_scalar(w_a, r_a))).dot(normal);
        is_fast |= (velocity.simd_lt(threshold) & bounces).any_true();
        lanes.put(velocity);
    }
    is_fast.then_some(velocities)
}

/// Visits the lanes of a block that approach fast enough one by one.
fn bounce_block(
    tables: ImpactTables,
    round: ImpactRound,
    slot: usize,
    block: &mut Block,
    bounce: &mut Bounce,
    velocities: &[Lanes; 2],
) {
    let ImpactTables { params, states, accumulators, surfaces } = tables;
    let threshold = -impact_speed(params);
    for lane in 0..WIDTH {
        let is_fast = velocities.iter().any(|velocity| velocity.0[lane] < threshold);
        if bounce.restitution.0[lane] == 0.0 || !is_fast {
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
        round.rounds.next.store(round.number + 1, Ordering::Relaxed);
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
