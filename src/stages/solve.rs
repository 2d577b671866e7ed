//! **solve** and **relax**: one sweep of sequential impulses over all contacts, colour by colour.
//!
//! Reads and writes constraints (impulses), states (velocities) and, in the last sweep of a substep, accumulators. By
//! colour, one thread a constraint. `relax` is the same sweep without bias.
//!
//! One formula serves every mode: `λ = −m (mass_scale·v + bias) − impulse_scale·Λ`, with `Λ` clamped, not `λ`. The soft
//! step takes its three coefficients from a spring-damper; Baumgarte's method is mass scale 1, impulse scale 0.
//! A gap `s > 0` closes at most at the speed `s/h` in every mode (speculative contact). Friction is solved where
//! [`USE_FRICTION`] says so: in the soft step only when relaxing, when the normal impulses carry no bias.

use glam::Vec2;

use crate::math::{cross, cross_scalar, right_perp, turned};
use crate::threads::{Rows, Threads};
use crate::types::{
    ACCUMULATE, Accumulator, BodyState, COLOR_COUNT, Constraint, Counters, FIXED_A, FIXED_B, FRESH, LAST_SWEEP,
    OVERFLOW_COLOR, POINT_COUNT_MASK, Params, USE_BIAS, USE_FRICTION, WARM_START,
};

/// Share of the slop from which on a gap counts as one. The formulae for gap and touch differ by a few per cent of the
/// impulse; bodies placed exactly side by side would be handed to either by rounding if the line were at zero.
const GAP: f32 = 1e-3;
/// Constraints that one task solves at least.
const CHUNK: usize = 256;

/// Visits the constraints colour by colour; those of one colour may be visited at the same time.
pub fn for_colors(
    threads: &Threads,
    counters: &Counters,
    constraints: &mut [Constraint],
    each: impl Fn(&mut Constraint) + Sync,
) {
    for color in 0..COLOR_COUNT as usize {
        let (start, end) = (counters.color_starts[color] as usize, counters.color_starts[color + 1] as usize);
        let range = &mut constraints[start..end];
        if color == OVERFLOW_COLOR as usize {
            range.iter_mut().for_each(&each);
        } else {
            threads.for_chunks(range, CHUNK, |_, chunk| chunk.iter_mut().for_each(&each));
        }
    }
}

/// One sweep.
pub fn solve(
    threads: &Threads,
    params: &Params,
    flags: u32,
    counters: &Counters,
    states: &Rows<BodyState, 4>,
    accumulators: &Rows<Accumulator, 2>,
    constraints: &mut [Constraint],
) {
    for_colors(threads, counters, constraints, |constraint| {
        solve_constraint(params, flags, constraint, states, accumulators);
    });
}

/// Writes back the velocity of a body, and nothing else of its state.
#[inline(always)]
pub fn set_velocity(states: &Rows<BodyState, 4>, body: u32, velocity: Vec2, angular_velocity: f32, status: u32) {
    states.set_head(
        body as usize,
        [
            u64::from(velocity.x.to_bits()) | u64::from(velocity.y.to_bits()) << 32,
            u64::from(angular_velocity.to_bits()) | u64::from(status) << 32,
        ],
    );
}

#[inline(always)]
fn solve_constraint(
    params: &Params,
    flags: u32,
    constraint: &mut Constraint,
    states: &Rows<BodyState, 4>,
    accumulators: &Rows<Accumulator, 2>,
) {
    let state_a = states.get(constraint.body_a as usize);
    let state_b = states.get(constraint.body_b as usize);
    let (mut v_a, mut w_a) = (Vec2::from(state_a.velocity), state_a.angular_velocity);
    let (mut v_b, mut w_b) = (Vec2::from(state_b.velocity), state_b.angular_velocity);
    let (m_a, i_a) = (constraint.inv_mass_a, constraint.inv_inertia_a);
    let (m_b, i_b) = (constraint.inv_mass_b, constraint.inv_inertia_b);
    let normal = Vec2::from(constraint.normal);
    let tangent = right_perp(normal);
    let moved = Vec2::from(state_b.delta_position) - Vec2::from(state_a.delta_position);
    let (turn_a, turn_b) = (Vec2::from(state_a.delta_rotation), Vec2::from(state_b.delta_rotation));
    let fixed = constraint.flags & (FIXED_A | FIXED_B) != 0;
    let [bias_rate, mass_scale, impulse_scale, slop] =
        if fixed { params.fixed_softness } else { params.contact_softness };
    if flags & FRESH != 0 {
        constraint.impulses = [0.0; 4];
    }

    for end in 0..(constraint.flags & POINT_COUNT_MASK) as usize {
        let point = &constraint.points[end];
        let (r_a, r_b) = (Vec2::from(point.r_a), Vec2::from(point.r_b));
        let separation = point.separation + (moved + (turned(turn_b, r_b) - turned(turn_a, r_a))).dot(normal);
        let (bias, mass_scale, impulse_scale) = if separation > GAP * params.linear_slop {
            (separation / params.h, 1.0, 0.0)
        } else if flags & USE_BIAS != 0 {
            let depth = (separation + slop).min(0.0);
            ((mass_scale * bias_rate * depth).max(-params.push_speed), mass_scale, impulse_scale)
        } else {
            (0.0, 1.0, 0.0)
        };
        let velocity = ((v_b + cross_scalar(w_b, r_b)) - (v_a + cross_scalar(w_a, r_a))).dot(normal);
        let old = constraint.impulses[2 * end];
        let wanted = -point.normal_mass * (mass_scale * velocity + bias) - impulse_scale * old;
        let new = if params.switches & ACCUMULATE != 0 { (old + wanted).max(0.0) } else { old + wanted.max(0.0) };
        constraint.impulses[2 * end] = new;
        constraint.max_impulses[end] = constraint.max_impulses[end].max(new);
        let impulse = normal * (new - old);
        v_a -= impulse * m_a;
        w_a -= i_a * cross(r_a, impulse);
        v_b += impulse * m_b;
        w_b += i_b * cross(r_b, impulse);
    }

    if flags & USE_FRICTION != 0 {
        for end in 0..(constraint.flags & POINT_COUNT_MASK) as usize {
            let point = &constraint.points[end];
            let (r_a, r_b) = (Vec2::from(point.r_a), Vec2::from(point.r_b));
            let velocity = ((v_b + cross_scalar(w_b, r_b)) - (v_a + cross_scalar(w_a, r_a))).dot(tangent);
            let most = constraint.friction * constraint.impulses[2 * end];
            let old = constraint.impulses[2 * end + 1];
            let new = (old - point.tangent_mass * velocity).min(most).max(-most);
            constraint.impulses[2 * end + 1] = new;
            let impulse = tangent * (new - old);
            v_a -= impulse * m_a;
            w_a -= i_a * cross(r_a, impulse);
            v_b += impulse * m_b;
            w_b += i_b * cross(r_b, impulse);
        }
    }

    if constraint.flags & FIXED_A == 0 {
        set_velocity(states, constraint.body_a, v_a, w_a, state_a.status);
    }
    if constraint.flags & FIXED_B == 0 {
        set_velocity(states, constraint.body_b, v_b, w_b, state_b.status);
    }
    if flags & LAST_SWEEP != 0 && params.switches & WARM_START != 0 {
        accumulate(constraint, normal, accumulators);
    }
}

/// Adds what the impulses of a constraint do to its bodies.
#[inline(always)]
pub fn accumulate(constraint: &Constraint, normal: Vec2, accumulators: &Rows<Accumulator, 2>) {
    let tangent = right_perp(normal);
    let impulse_0 = normal * constraint.impulses[0] + tangent * constraint.impulses[1];
    let impulse_1 = normal * constraint.impulses[2] + tangent * constraint.impulses[3];
    let impulse = impulse_0 + impulse_1;
    let [p_0, p_1] = &constraint.points;
    if constraint.flags & FIXED_A == 0 {
        let mut sum = accumulators.get(constraint.body_a as usize);
        let spin = cross(p_0.r_a.into(), impulse_0) + cross(p_1.r_a.into(), impulse_1);
        sum.velocity = (Vec2::from(sum.velocity) - impulse * constraint.inv_mass_a).into();
        sum.angular_velocity -= constraint.inv_inertia_a * spin;
        accumulators.set(constraint.body_a as usize, sum);
    }
    if constraint.flags & FIXED_B == 0 {
        let mut sum = accumulators.get(constraint.body_b as usize);
        let spin = cross(p_0.r_b.into(), impulse_0) + cross(p_1.r_b.into(), impulse_1);
        sum.velocity = (Vec2::from(sum.velocity) + impulse * constraint.inv_mass_b).into();
        sum.angular_velocity += constraint.inv_inertia_b * spin;
        accumulators.set(constraint.body_b as usize, sum);
    }
}
