//! **integrate_positions**: moves every body by its velocity over one substep, into the deltas.
//!
//! Reads bodies; reads and writes states. One thread a body. Semi-implicit Euler: the new velocity moves the body.

use glam::Vec2;

use crate::lanes::dispatch;
use crate::math::integrate_rotation;
use crate::threads::{LIGHT, Rows, Table, Threads};
use crate::types::{ASLEEP, Body, BodyState, Params, STATIC};

/// Advances the deltas by one substep.
pub fn integrate_positions(threads: &Threads, params: &Params, bodies: &[Body], states: &mut Rows<BodyState, 4>) {
    if threads.count() == 1 {
        return integrate_positions_in(0, bodies.len(), params, bodies, states.alone());
    }
    let states = &*states;
    threads.for_ranges(LIGHT, bodies.len(), |first, end| integrate_positions_in(first, end, params, bodies, states));
}

/// The same of the bodies `first .. end`.
pub fn integrate_positions_in(
    first: usize,
    end: usize,
    params: &Params,
    bodies: &[Body],
    states: impl Table<Item = BodyState>,
) {
    dispatch!(_ => for (index, body) in bodies[..end].iter().enumerate().skip(first) {
        advance(params, body, index, states);
    });
}

/// The same of some of the bodies.
pub fn integrate_positions_of(listed: &[u32], params: &Params, bodies: &[Body], states: impl Table<Item = BodyState>) {
    dispatch!(_ => for index in listed.iter().map(|&body| body as usize) {
        advance(params, &bodies[index], index, states);
    });
}

#[inline(always)]
fn advance(params: &Params, body: &Body, index: usize, states: impl Table<Item = BodyState>) {
    let mut state = states.get(index);
    if state.status & ASLEEP != 0 || body.kind == STATIC {
        return;
    }
    let moved = Vec2::from(state.delta_position) + Vec2::from(state.velocity) * params.h;
    state.delta_position = moved.into();
    state.delta_rotation = integrate_rotation(state.delta_rotation.into(), params.h * state.angular_velocity).into();
    states.set(index, state);
}
