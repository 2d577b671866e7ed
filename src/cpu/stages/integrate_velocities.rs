//! Applies gravity, forces and damping, two bodies at a time, shared among threads; the fast form of
//! [`crate::stages::integrate_velocities`], to the same bits.

use glam::Vec2;

use crate::lanes::{
    Select, Simd, SimdBase, SimdCombine, SimdMask, SimdSplit, dispatch, f32x4, f32x8, mask32x4, mask32x8,
};
use crate::mass_scale::mass_share;
use crate::stages::integrate_velocities::{MAX_SUM, max_spin, pushed};
use crate::threads::{Halves, LIGHT, RowTable, Rows, Threads};
use crate::types::{
    ASLEEP, Accumulator, BodyData, BodyState, DYNAMIC, MASS_MASK, Params, Pose, QUARANTINED, WARM_START,
};

/// Share of the largest speed: a velocity with both components below this share is below that speed.
const SURELY_SLOW: f32 = 0.7;

/// Advances the velocities by one substep.
pub fn integrate_velocities(
    threads: &Threads,
    params: &Params,
    bodies: &[BodyData],
    poses: &[Pose],
    states: &mut Rows<BodyState, 4>,
    accumulators: &mut Rows<Accumulator, 2>,
) {
    if threads.count() == 1 {
        let (states, accumulators) = (states.alone(), accumulators.alone());
        return integrate_velocities_in(0, bodies.len(), params, bodies, poses, states, accumulators);
    }
    let (states, accumulators) = (&*states, &*accumulators);
    threads.for_ranges(LIGHT, bodies.len(), |first, end| {
        integrate_velocities_in(first, end, params, bodies, poses, states, accumulators);
    });
}

/// Advances the velocities of the bodies `first .. end`.
pub fn integrate_velocities_in(
    first: usize,
    end: usize,
    params: &Params,
    bodies: &[BodyData],
    poses: &[Pose],
    states: impl RowTable<Item = BodyState>,
    accumulators: impl RowTable<Item = Accumulator>,
) {
    let ((pairs, last), poses) = (bodies[first..end].as_chunks(), &poses[..end]);
    dispatch!(simd => {
        for (pair, index) in pairs.iter().zip((first..).step_by(2)) {
            if !advance_two(simd, params, pair, index, states, accumulators) {
                for (body, index) in pair.iter().zip(index..) {
                    advance(simd, params, body, &poses[index], index, states, accumulators);
                }
            }
        }
        for (body, index) in last.iter().zip(end - last.len()..) {
            advance(simd, params, body, &poses[index], index, states, accumulators);
        }
    });
}

/// Advances the velocities of the listed bodies.
pub fn integrate_velocities_of(
    listed: &[u32],
    params: &Params,
    bodies: &[BodyData],
    poses: &[Pose],
    states: impl RowTable<Item = BodyState>,
    accumulators: impl RowTable<Item = Accumulator>,
) {
    dispatch!(simd => for index in listed.iter().map(|&body| body as usize) {
        advance(simd, params, &bodies[index], &poses[index], index, states, accumulators);
    });
}

/// Advances the velocities of two adjacent bodies that feel nothing but gravity. Returns false, and does nothing, if
/// one of them feels more or may be too fast.
#[inline(always)]
fn advance_two<S: Simd>(
    simd: S,
    params: &Params,
    bodies: &[BodyData; 2],
    index: usize,
    states: impl RowTable<Item = BodyState>,
    accumulators: impl RowTable<Item = Accumulator>,
) -> bool {
    let both = |a: [f32; 4], b: [f32; 4]| f32x4::load_array(simd, a).combine(f32x4::load_array(simd, b));
    let (state, next_state) = (states.row(index), states.row(index + 1));
    let (first, second) = (state.lanes(simd, 0), next_state.lanes(simd, 0));
    let [own, next] = [first.to_array()[3].to_bits(), second.to_array()[3].to_bits()];
    let status = own | next;
    let plain = |body: &BodyData| body.kind == DYNAMIC && is_plain(params, body);
    if status & (QUARANTINED | ASLEEP) != 0 || !bodies.iter().all(plain) {
        return false;
    }
    let row = first.combine(second);
    // The fourth lane is the status, not a number.
    let numbers = mask32x8::from_bitmask(simd, 0b0111_0111);
    let zero = f32x8::splat(simd, 0.0);
    let mut motion = numbers.select(row, zero);
    let warm = params.switches & WARM_START != 0;
    let (sum, next_sum) = (accumulators.row(index), accumulators.row(index + 1));
    let kept = if warm {
        let largest = f32x8::splat(simd, MAX_SUM);
        (sum.lanes(simd, 0).combine(next_sum.lanes(simd, 0)) + motion).max(-largest).min(largest)
    } else {
        zero
    };
    let ([x, y], [scale, next_scale]) = (params.gravity, bodies.each_ref().map(|body| body.gravity_scale));
    let scales = f32x4::splat(simd, scale).combine(f32x4::splat(simd, next_scale));
    let mut push = (both([x, y, 0.0, 0.0], [x, y, 0.0, 0.0]) * scales + 0.0) * params.h;
    if status & MASS_MASK != 0 {
        push *= f32x4::splat(simd, mass_share(own)).combine(f32x4::splat(simd, mass_share(next)));
    }
    motion = motion + push + kept;
    let most = [params.max_speed, params.max_speed, params.max_spin, 0.0];
    let most = both(most, most);
    motion = motion.max(-most).min(most);
    if motion.abs().simd_gt(most * SURELY_SLOW).any_true() {
        return false;
    }
    let (first, second) = numbers.select(motion, row).split();
    state.set_lanes(0, first);
    next_state.set_lanes(0, second);
    if warm {
        let (first, second) = (kept - motion).split();
        sum.set_lanes(0, first);
        next_sum.set_lanes(0, second);
    }
    true
}

#[inline(always)]
fn advance<S: Simd>(
    simd: S,
    params: &Params,
    body: &BodyData,
    pose: &Pose,
    index: usize,
    states: impl RowTable<Item = BodyState>,
    accumulators: impl RowTable<Item = Accumulator>,
) {
    // Velocity, spin and status: for a sleeping body nothing else is loaded.
    let (state, sum) = (states.row(index), || accumulators.row(index));
    let row = state.lanes(simd, 0);
    if row.to_array()[3].to_bits() & (QUARANTINED | ASLEEP) != 0 || body.kind != DYNAMIC {
        return;
    }
    // The fourth lane is the status, not a number.
    let numbers = mask32x4::from_bitmask(simd, 0b111);
    let zero = f32x4::splat(simd, 0.0);
    let mut motion = numbers.select(row, zero);
    let warm = params.switches & WARM_START != 0;
    let largest = f32x4::splat(simd, MAX_SUM);
    let kept = if warm { (sum().lanes(simd, 0) + motion).max(-largest).min(largest) } else { zero };
    let push = if is_plain(params, body) {
        let [x, y] = params.gravity;
        // Plus zero, as adding the missing force would do: it turns a negative zero positive.
        (f32x4::load_array(simd, [x, y, 0.0, 0.0]) * body.gravity_scale + 0.0)
            * params.h
            * mass_share(row.to_array()[3].to_bits())
    } else {
        let linear = 1.0 / (1.0 + params.h * body.linear_damping);
        motion *= f32x4::load_array(simd, [linear, linear, 1.0 / (1.0 + params.h * body.angular_damping), 1.0]);
        let (push, spin) = pushed(params, body, pose, &states.get(index));
        f32x4::load_array(simd, [push.x, push.y, spin, 0.0])
    };
    motion = motion + push + kept;
    // Componentwise first, so that an infinite force gives a finite velocity.
    let most = f32x4::load_array(simd, [params.max_speed, params.max_speed, max_spin(params, body), 0.0]);
    motion = motion.max(-most).min(most);
    // The square root is only for bodies that may be too fast: not if both components are below 0.7 of the largest
    // speed.
    if motion.abs().simd_gt(most * SURELY_SLOW).any_true() {
        let [x, y, ..] = motion.to_array();
        let speed = Vec2::new(x, y).length();
        if speed > params.max_speed {
            let share = params.max_speed / speed;
            motion *= f32x4::load_array(simd, [share, share, 1.0, 1.0]);
        }
    }
    state.set_lanes(0, numbers.select(motion, row));
    if warm {
        sum().set_lanes(0, kept - motion);
    }
}

/// Returns true if gravity is all that a body feels, as for most. A force of −0 does not count as none: it may change
/// the sign of a zero.
#[inline(always)]
fn is_plain(params: &Params, body: &BodyData) -> bool {
    let BodyData { linear_damping, angular_damping, force: [x, y], torque, .. } = *body;
    let any = [linear_damping, angular_damping, x, y, torque].iter().fold(0, |any, value| any | value.to_bits());
    params.field_count == 0 && any == 0
}
