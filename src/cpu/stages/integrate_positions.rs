//! Moves the bodies by their velocities, eight at a time, shared among threads; the fast form of
//! [`crate::stages::integrate_positions`], to the same bits.

use glam::Vec2;

use crate::lanes::{Simd, SimdBase, Vec2x8, WIDTH, dispatch, f32x8, integrate_rotation};
use crate::math;
use crate::threads::{Eight, Halves, LIGHT, RowTable, Rows, Threads};
use crate::types::{ASLEEP, BodyData, BodyState, Params, STATIC};

/// Advances the deltas by one substep.
pub fn integrate_positions(threads: &Threads, params: &Params, bodies: &[BodyData], states: &mut Rows<BodyState, 4>) {
    if threads.count() == 1 {
        return integrate_positions_in(0, bodies.len(), params, bodies, states.alone());
    }
    let states = &*states;
    threads.for_ranges(LIGHT, bodies.len(), |first, end| integrate_positions_in(first, end, params, bodies, states));
}

/// Advances the deltas of the bodies `first .. end`.
pub fn integrate_positions_in(
    first: usize,
    end: usize,
    params: &Params,
    bodies: &[BodyData],
    states: impl RowTable<Item = BodyState>,
) {
    #[allow(clippy::cast_possible_truncation, reason = "bodies are counted in u32")]
    let start = first as u32;
    dispatch!(simd => {
        let (eights, rest) = bodies[first..end].as_chunks();
        for (eight, index) in eights.iter().zip((start..).step_by(WIDTH)) {
            let indices = [0, 1, 2, 3, 4, 5, 6, 7].map(|lane| index + lane);
            advance_eight(simd, params, eight, states.eight(indices));
        }
        for (body, index) in rest.iter().zip(end - rest.len()..) {
            advance(params, body, index, states);
        }
    });
}

/// Advances the deltas of the listed bodies.
pub fn integrate_positions_of(
    listed: &[u32],
    params: &Params,
    bodies: &[BodyData],
    states: impl RowTable<Item = BodyState>,
) {
    dispatch!(_ => for index in listed.iter().map(|&body| body as usize) {
        advance(params, &bodies[index], index, states);
    });
}

/// Advances the deltas of eight bodies.
#[inline(always)]
fn advance_eight<S: Simd>(simd: S, params: &Params, bodies: &[BodyData; WIDTH], states: Eight<impl Halves>) {
    let [x, y, spin, status] = states.columns(simd, 0);
    let [delta_x, delta_y, cos, sin] = states.columns(simd, 1);
    let moved = Vec2x8::new(delta_x, delta_y) + Vec2x8::new(x, y) * f32x8::splat(simd, params.h);
    let turned = integrate_rotation(Vec2x8::new(cos, sin), spin * params.h);
    let status = status.to_array();
    let moves = |lane: usize| status[lane].to_bits() & ASLEEP == 0 && bodies[lane].kind != STATIC;
    states.set_columns(1, [moved.x, moved.y, turned.x, turned.y], moves);
}

#[inline(always)]
fn advance(params: &Params, body: &BodyData, index: usize, states: impl RowTable<Item = BodyState>) {
    let mut state = states.get(index);
    if state.status & ASLEEP != 0 || body.kind == STATIC {
        return;
    }
    let moved = Vec2::from(state.delta_position) + Vec2::from(state.velocity) * params.h;
    state.delta_position = moved.into();
    state.delta_rotation =
        math::integrate_rotation(state.delta_rotation.into(), params.h * state.angular_velocity).into();
    states.set(index, state);
}
