//! **project_joints**: brings jointed bodies together by position alone (projection mode).
//!
//! Reads joint_frames, joint_rows, joint_starts; reads and writes states (deltas). By joint colour, one thread a joint.
//! Only what is meant to be rigid: springs and motors pull by velocity.

use glam::Vec2;

use super::solve_joints::{
    Stance, for_joints, inverse_mass, inverse_point_mass, rows_of, shortened, side, solve_symmetric, states_of,
};
use crate::math::{cross, integrate_rotation};
use crate::threads::{Rows, Threads};
use crate::types::{
    BodyState, JOINT_FIXED_A, JOINT_FIXED_B, JointFrame, JointRow, Params, ROW_ANGLE, ROW_EQUALITY, ROW_GEOMETRY,
    ROW_LOWER, ROW_POINT, ROW_ROLE, ROW_UPPER,
};

/// Largest correction of an angle in one sweep: 8°. Box2D 2.4.
const MAX_ANGULAR_CORRECTION: f32 = 2.0 / 45.0 * std::f32::consts::PI;

/// One sweep.
pub fn project_joints(
    threads: &Threads,
    params: &Params,
    joint_starts: &[u32],
    joint_frames: &[JointFrame],
    joint_rows: &[JointRow],
    states: &Rows<BodyState, 4>,
) {
    for_joints(threads, joint_starts, |index| {
        let frame = &joint_frames[index];
        let (mut state_a, mut state_b) = states_of(frame, states);
        for row in rows_of(frame) {
            let rule = &joint_rows[row];
            let (geometry, role) = (rule.kind & ROW_GEOMETRY, rule.kind & ROW_ROLE);
            let limit = role == ROW_LOWER || role == ROW_UPPER;
            if !limit && role != ROW_EQUALITY {
                continue;
            }
            let stance = Stance::new(frame, &state_a, &state_b);
            let (mut impulse, mut spin) = (Vec2::ZERO, 0.0);
            if geometry == ROW_POINT {
                let error = shortened(stance.between * params.projection_rate, params.max_correction);
                impulse = -solve_symmetric(inverse_point_mass(frame, stance.arm_a, stance.arm_b), error);
            } else {
                let mut error = side(rule) * (stance.position(geometry) - rule.goal);
                if limit {
                    error = error.min(0.0);
                }
                let most = if geometry == ROW_ANGLE { MAX_ANGULAR_CORRECTION } else { params.max_correction };
                let k = inverse_mass(frame, &stance, geometry);
                let wanted = (params.projection_rate * error).max(-most).min(most);
                let size = if k > 0.0 { -side(rule) * wanted / k } else { 0.0 };
                if geometry == ROW_ANGLE {
                    spin = size;
                } else {
                    impulse = stance.direction(geometry) * size;
                }
            }
            let turn_a = frame.inv_inertia_a * (cross(stance.arm_a, impulse) + spin);
            let turn_b = frame.inv_inertia_b * (cross(stance.arm_b, impulse) + spin);
            state_a.delta_position = (Vec2::from(state_a.delta_position) - impulse * frame.inv_mass_a).into();
            state_a.delta_rotation = integrate_rotation(state_a.delta_rotation.into(), -turn_a).into();
            state_b.delta_position = (Vec2::from(state_b.delta_position) + impulse * frame.inv_mass_b).into();
            state_b.delta_rotation = integrate_rotation(state_b.delta_rotation.into(), turn_b).into();
        }
        if frame.flags & JOINT_FIXED_A == 0 {
            states.set(frame.body_a as usize, state_a);
        }
        if frame.flags & JOINT_FIXED_B == 0 {
            states.set(frame.body_b as usize, state_b);
        }
    });
}
