//! **prepare_joints**: lays the joints out for the solver, as they stand when the step begins, and breaks those that
//! pulled too hard in the step before.
//!
//! Reads bodies, poses, states; reads and writes joint_states and joint_impulses, and of joints that came in a running
//! world joints and joint_rows; writes joint_frames. A joint between bodies asleep has no rows and keeps its state. One thread a joint. Distances are taken between the bodies before the anchors are added: far from the
//! origin the places of the anchors themselves have no digits to spare.

use std::f32::consts::TAU;

use glam::Vec2;

use super::solve_joints::{Stance, rows_of, total};
use crate::cpu::lanes::dispatch;
use crate::math::{angle_of, inv_mul_rotation, rotate};
use crate::threads::{HEAVY, Rows, Threads};
use crate::types::{
    ASLEEP, BROKEN, Body, BodyState, JOINT_DISABLED, JOINT_FRESH, Joint, JointFrame, JointRow, JointState, Params,
    Pose, QUARANTINED, ROW_COUNT_MASK, ROW_MEASURE, WORLD_A,
};

/// Shortest length that is measured, m: of a rod between anchors that coincide.
const MIN_LENGTH: f32 = 1e-4;

/// Fills `joint_frames`.
pub fn prepare_joints(
    threads: &Threads,
    params: &Params,
    bodies: &[Body],
    poses: &[Pose],
    states: &Rows<BodyState, 4>,
    joints: &[Joint],
    joint_rows: &[JointRow],
    joint_states: &Rows<JointState, 2>,
    joint_impulses: &Rows<[f32; 2], 1>,
    joint_frames: &mut [JointFrame],
) {
    threads.for_chunks(HEAVY, joint_frames, |first, frames| {
        dispatch!(_ => for (offset, place) in frames.iter_mut().enumerate() {
            let index = first + offset;
            let joint = &joints[index];
            let mut state = joint_states.get(index);
            let mut frame = frame_of(joint, bodies, poses, state.angle);
            let sleeps = |body: u32| states.get(body as usize).status & ASLEEP != 0;
            if sleeps(joint.body_b) && (joint.flags & WORLD_A != 0 || sleeps(joint.body_a)) {
                // It keeps its impulses, and nothing breaks in its sleep.
                frame.flags &= !ROW_COUNT_MASK;
                *place = frame;
                continue;
            }
            state.angle = frame.angle;

            // Most never do.
            if joint.break_force < f32::MAX || joint.break_torque < f32::MAX {
                let rest = BodyState::default();
                let (impulse, spin) =
                    total(&frame, joint_rows, |row| joint_impulses.get(row), &Stance::new(&frame, &rest, &rest));
                if impulse.length() > joint.break_force * params.h || spin.abs() > joint.break_torque * params.h {
                    state.status |= BROKEN;
                }
            }
            let lost = |body: u32| states.get(body as usize).status & QUARANTINED != 0;
            let gone = lost(joint.body_b) || (joint.flags & WORLD_A == 0 && lost(joint.body_a));
            if gone || joint.flags & JOINT_DISABLED != 0 || state.status & BROKEN != 0 {
                rows_of(&frame).for_each(|row| joint_impulses.set(row, [0.0; 2]));
                frame.flags &= !ROW_COUNT_MASK;
            }
            joint_states.set(index, state);
            *place = frame;
        });
    });
}

/// Takes the reference angles and lengths of joints that came while the world runs, and were not given any, from how
/// the bodies stand now. On the device `prepare_joints` does so itself.
pub fn measure(
    fresh: &mut Vec<u32>,
    bodies: &[Body],
    poses: &[Pose],
    joints: &mut [Joint],
    joint_rows: &mut [JointRow],
) {
    for place in fresh.drain(..) {
        let joint = &mut joints[place as usize];
        if joint.flags & JOINT_FRESH == 0 {
            continue;
        }
        joint.flags &= !JOINT_FRESH;
        joint.reference_angle = 0.0;
        let frame = frame_of(joint, bodies, poses, 0.0);
        joint.reference_angle = frame.angle;
        for row in rows_of(&frame) {
            let rule = &mut joint_rows[row];
            if rule.kind & ROW_MEASURE != 0 {
                rule.kind &= !ROW_MEASURE;
                rule.goal = Vec2::from(frame.between).length().max(MIN_LENGTH);
            }
        }
    }
}

/// A joint between bodies that stand like this. `last` is its angle a step ago: of the full turns the one nearest to it
/// is meant.
#[inline(always)]
#[must_use]
pub fn frame_of(joint: &Joint, bodies: &[Body], poses: &[Pose], last: f32) -> JointFrame {
    let world = joint.flags & WORLD_A != 0;
    let (a, b) = (joint.body_a as usize, joint.body_b as usize);
    let pose_a = if world { Pose::default() } else { poses[a] };
    let [inv_mass_a, inv_inertia_a] = if world { [0.0; 2] } else { [bodies[a].inv_mass, bodies[a].inv_inertia] };
    let (pose_b, body_b) = (poses[b], &bodies[b]);
    let (turn_a, turn_b) = (Vec2::from(pose_a.rotation), Vec2::from(pose_b.rotation));
    let (r_a, r_b) = (rotate(turn_a, joint.anchor_a.into()), rotate(turn_b, joint.anchor_b.into()));
    let between = if world {
        (Vec2::from(pose_b.position) - r_a) + r_b
    } else {
        (Vec2::from(pose_b.position) - Vec2::from(pose_a.position)) + (r_b - r_a)
    };
    let angle = angle_of(inv_mul_rotation(turn_a, turn_b)) - joint.reference_angle;
    JointFrame {
        body_a: joint.body_a,
        body_b: joint.body_b,
        first_row: joint.first_row,
        flags: joint.flags,
        r_a: r_a.into(),
        r_b: r_b.into(),
        between: between.into(),
        axis: rotate(turn_a, joint.axis.into()).into(),
        inv_mass_a,
        inv_inertia_a,
        inv_mass_b: body_b.inv_mass,
        inv_inertia_b: body_b.inv_inertia,
        angle: angle + TAU * ((last - angle) / TAU + 0.5).floor(),
        pad: [0; 3],
    }
}
