//! **integrate_velocities**: gravity, forces and damping over one substep, then the warm-start impulses.
//!
//! Reads bodies, poses (for forces at a point); reads and writes states and accumulators. One thread a body.
//! `v = v/(1 + h·c) + h (f/m + s·g)`, and what fields do: the damping is implicit and stable for any coefficient.
//!
//! What the impulses of a body's contacts add up to need not be summed anew: since it was last applied, it has changed
//! by as much as the sweeps changed the velocity. So an accumulator holds the sum less the velocity that a substep began
//! with, and adding the velocity of its end gives the sum that the next substep begins with. [`guard`](super::guard)
//! starts it with the velocity alone, [`warm_start`](super::warm_start) adds the impulses kept from the step before, and joints, whose
//! directions turn, see to their share ([`solve_joints`](super::solve_joints)).

use glam::Vec2;

use crate::lanes::f32x4;
use crate::math::{cross, mul_rotation, rotate};
use crate::threads::{LIGHT, Rows, Threads};
use crate::types::{ASLEEP, Accumulator, Body, BodyState, DYNAMIC, Field, Params, Pose, QUARANTINED, WARM_START};

/// Bound on the sums, m/s and rad/s: what once was infinite would stay so.
const LARGEST_SUM: f32 = 1e30;

/// Advances the velocities by one substep.
pub fn integrate_velocities(
    threads: &Threads,
    params: &Params,
    bodies: &[Body],
    poses: &[Pose],
    states: &Rows<BodyState, 4>,
    accumulators: &Rows<Accumulator, 2>,
) {
    threads.for_ranges(LIGHT, bodies.len(), |first, end| {
        integrate_velocities_in(first, end, params, bodies, poses, states, accumulators);
    });
}

/// The same of the bodies `first .. end`.
pub fn integrate_velocities_in(
    first: usize,
    end: usize,
    params: &Params,
    bodies: &[Body],
    poses: &[Pose],
    states: &Rows<BodyState, 4>,
    accumulators: &Rows<Accumulator, 2>,
) {
    for (offset, (body, pose)) in bodies[first..end].iter().zip(&poses[first..end]).enumerate() {
        advance(params, body, pose, first + offset, states, accumulators);
    }
}

/// The same of some of the bodies.
pub fn integrate_velocities_of(
    listed: &[u32],
    params: &Params,
    bodies: &[Body],
    poses: &[Pose],
    states: &Rows<BodyState, 4>,
    accumulators: &Rows<Accumulator, 2>,
) {
    for index in listed.iter().map(|&body| body as usize) {
        advance(params, &bodies[index], &poses[index], index, states, accumulators);
    }
}

#[inline(always)]
fn advance(
    params: &Params,
    body: &Body,
    pose: &Pose,
    index: usize,
    states: &Rows<BodyState, 4>,
    accumulators: &Rows<Accumulator, 2>,
) {
    // Velocity, spin and status: of a body that sleeps nothing else is fetched.
    let row = states.lanes(index, 0);
    if row.to_array()[3].to_bits() & (QUARANTINED | ASLEEP) != 0 || body.kind != DYNAMIC {
        return;
    }
    // The fourth is no number.
    let numbers: f32x4 = bytemuck::cast([u32::MAX, u32::MAX, u32::MAX, 0]);
    let mut motion = row & numbers;
    let warm = params.switches & WARM_START != 0;
    let largest = f32x4::splat(LARGEST_SUM);
    let kept = if warm {
        (accumulators.lanes(index, 0) + motion).fast_max(-largest).fast_min(largest)
    } else {
        f32x4::splat(0.0)
    };
    let force = Vec2::from(body.force);
    let mut torque = body.torque;
    // Most bodies have none, and need not know how they are turned.
    if force != Vec2::ZERO {
        let turn = mul_rotation(states.get(index).delta_rotation.into(), pose.rotation.into());
        torque += cross(rotate(turn, body.force_point.into()), force);
    }
    let mut acceleration = Vec2::from(params.gravity) * body.gravity_scale + force * body.inv_mass;
    for field in &params.fields[..params.field_count as usize] {
        acceleration += pull(field, body, Vec2::from(pose.position) + Vec2::from(states.get(index).delta_position));
    }
    let push = acceleration * params.h;
    let spin = params.h * body.inv_inertia * torque;
    // Most are not damped, and a division takes as long as all the rest.
    if body.linear_damping != 0.0 || body.angular_damping != 0.0 {
        let linear = 1.0 / (1.0 + params.h * body.linear_damping);
        motion *= f32x4::from([linear, linear, 1.0 / (1.0 + params.h * body.angular_damping), 1.0]);
    }
    motion = motion + f32x4::from([push.x, push.y, spin, 0.0]) + kept;
    // First by component, so that an infinite force ends up finite.
    let most = f32x4::from([params.max_speed, params.max_speed, params.max_spin, 0.0]);
    motion = motion.fast_max(-most).fast_min(most);
    // The root is for those that may be too fast.
    let [x, y, ..] = motion.to_array();
    let velocity = Vec2::new(x, y);
    if velocity.length_squared() > 0.99 * params.max_speed * params.max_speed {
        let speed = velocity.length();
        if speed > params.max_speed {
            let share = params.max_speed / speed;
            motion *= f32x4::from([share, share, 1.0, 1.0]);
        }
    }
    states.set_lanes(index, 0, numbers.bitselect(motion, row));
    if warm {
        accumulators.set_lanes(index, 0, kept - motion);
    }
}

/// The acceleration towards the point of a field, m/s².
fn pull(field: &Field, body: &Body, position: Vec2) -> Vec2 {
    let way = Vec2::from(field.position) - position;
    let distance = way.length();
    if distance > field.core {
        way * ((field.acceleration + field.force * body.inv_mass) / distance)
    } else {
        Vec2::ZERO
    }
}
