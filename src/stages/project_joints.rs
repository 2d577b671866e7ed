//! **project_joints**: corrects the error of rigid joints and limits by position alone (projection mode).
//!
//! Reads joint_frames, joint_rows, joint_starts; reads and writes states (deltas). Visits the joints in the order of
//! joint colours. Only rigid rows and limits are corrected: springs and motors act through velocities.

use glam::Vec2;

use super::solve_joints::tree::{Tree, trees};
use super::solve_joints::{
    Stance, in_order, inverse_mass, inverse_point_mass, rows_of, shortened, side, solve_symmetric,
};
use crate::constants::MAX_ANGULAR_CORRECTION;
use crate::math::{cross, integrate_rotation};
use crate::types::{
    BodyState, JOINT_FIXED_A, JOINT_FIXED_B, JointFrame, JointRow, Params, ROW_ANGLE, ROW_EQUALITY, ROW_GEOMETRY,
    ROW_LOWER, ROW_POINT, ROW_ROLE, ROW_UPPER, WORLD_A,
};

/// Makes one sweep over all joints.
pub fn project_joints(
    params: &Params,
    joint_starts: &[u32],
    joint_frames: &[JointFrame],
    joint_rows: &[JointRow],
    states: &mut [BodyState],
) {
    for joint in in_order(joint_starts).chain(trees(joint_starts).flat_map(Tree::joints)) {
        let frame = &joint_frames[joint];
        let (a, b) = (frame.body_a as usize, frame.body_b as usize);
        let mut ends = [states[b]; 2];
        ends[0] = if frame.flags & WORLD_A != 0 { BodyState::default() } else { states[a] };
        project_joint(params, frame, &joint_rows[rows_of(frame)], &mut ends);
        if frame.flags & JOINT_FIXED_A == 0 {
            states[a] = ends[0];
        }
        if frame.flags & JOINT_FIXED_B == 0 {
            states[b] = ends[1];
        }
    }
}

/// Corrects the positions of the bodies of one joint, given its rows.
pub fn project_joint(params: &Params, frame: &JointFrame, rows: &[JointRow], states: &mut [BodyState; 2]) {
    let [state_a, state_b] = states;
    for rule in rows {
        let (geometry, role) = (rule.kind & ROW_GEOMETRY, rule.kind & ROW_ROLE);
        let limit = role == ROW_LOWER || role == ROW_UPPER;
        if !limit && role != ROW_EQUALITY {
            continue;
        }
        let stance = Stance::new(frame, state_a, state_b);
        let ([mut on_a, mut on_b], mut spin) = ([Vec2::ZERO; 2], 0.0);
        if geometry == ROW_POINT {
            let error = shortened(stance.between * params.projection_rate, params.max_correction);
            on_b = -solve_symmetric(inverse_point_mass(frame, stance.arm_a, stance.arm_b), error);
            on_a = on_b;
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
                on_b = stance.direction(geometry) * size;
                on_a = stance.on_a(geometry, size, on_b);
            }
        }
        let turn_a = frame.inv_inertia_a * (cross(stance.arm_a, on_a) + stance.ratio * spin);
        let turn_b = frame.inv_inertia_b * (cross(stance.arm_b, on_b) + spin);
        state_a.delta_position = (Vec2::from(state_a.delta_position) - on_a * frame.inv_mass_a).into();
        state_a.delta_rotation = integrate_rotation(state_a.delta_rotation.into(), -turn_a).into();
        state_b.delta_position = (Vec2::from(state_b.delta_position) + on_b * frame.inv_mass_b).into();
        state_b.delta_rotation = integrate_rotation(state_b.delta_rotation.into(), turn_b).into();
    }
}
