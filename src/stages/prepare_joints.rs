//! **prepare_joints**: computes for every joint its lever arms, axis, angle and masses at the start of the step, and
//! breaks joints whose last impulse exceeded their limit. Box2D: `b2PrepareJointsTask`.
//!
//! A body under tension turns back towards its line like a pendulum, and if it is light and the tension great, faster
//! than a substep can follow: then a turn grows from one substep to the next, and a chain of light links with a heavy
//! ball flies apart. So a joint sees at least the inertia that makes this swing as fast as a substep can follow
//! ([`stiffened`]). Nothing changes where the inertia of the body is larger, as nearly everywhere.
//!
//! Reads bodies, poses, states; reads and writes joint_states and joint_impulses, and for joints added to a running
//! world also joints and joint_rows; writes joint_frames. Visits one joint after the other. A joint between sleeping
//! bodies gets no rows and keeps its state. Positions of bodies are subtracted before the anchors are added: far from
//! the origin the world positions of the anchors have too few digits left.

use std::f32::consts::TAU;

use glam::Vec2;

use super::solve_joints::{Stance, side, total, total_on_a};
use crate::constants::MIN_LENGTH;
use crate::mass_scale;
use crate::math::{angle_of, inv_mul_rotation, rotate};
use crate::types::{
    ASLEEP, BROKEN, BodyData, BodyState, DISENGAGED, JOINT_DISABLED, JOINT_FRESH, JointData, JointFrame, JointRow,
    JointState, Params, Pose, QUARANTINED, ROW_ALONG, ROW_ANGLE, ROW_COUNT_MASK, ROW_EQUALITY, ROW_GEOMETRY,
    ROW_MEASURE, ROW_POINT, ROW_PULLEY, ROW_ROLE, WORLD_A,
};

/// Fills `joint_frames`.
pub fn prepare_joints(
    params: &Params,
    bodies: &[BodyData],
    poses: &[Pose],
    states: &[BodyState],
    joints: &mut [JointData],
    joint_rows: &mut [JointRow],
    joint_states: &mut [JointState],
    joint_impulses: &mut [[f32; 2]],
    joint_frames: &mut [JointFrame],
) {
    let status = |body: u32| states[body as usize].status;
    for (index, frame) in joint_frames.iter_mut().enumerate() {
        let (joint, state) = (&mut joints[index], &mut joint_states[index]);
        measure(bodies, poses, joint, joint_rows);
        let rows = first_rows(joint);
        let (rules, impulses) = (&joint_rows[rows.clone()], &mut joint_impulses[rows]);
        *frame = prepare_joint(params, bodies, poses, status, joint, rules, impulses, state);
    }
}

/// Returns the rows of a joint, also if the joint is disabled.
#[must_use]
pub fn first_rows(joint: &JointData) -> std::ops::Range<usize> {
    let first = joint.first_row as usize;
    first..first + (joint.flags & ROW_COUNT_MASK) as usize
}

/// Returns the frame of one joint, given its rows and their impulses. Clears the impulses of a joint that is disabled,
/// broken or attached to a quarantined body.
#[inline(always)]
pub fn prepare_joint(
    params: &Params,
    bodies: &[BodyData],
    poses: &[Pose],
    status: impl Fn(u32) -> u32,
    joint: &JointData,
    rows: &[JointRow],
    impulses: &mut [[f32; 2]],
    state: &mut JointState,
) -> JointFrame {
    let mut frame = frame_of(joint, rows, bodies, poses, state);
    let is_world = joint.flags & WORLD_A != 0;
    let sleeps = |body: u32| status(body) & ASLEEP != 0;
    if sleeps(joint.body_b) && (is_world || sleeps(joint.body_a)) {
        // A sleeping joint keeps its impulses and cannot break.
        frame.flags &= !ROW_COUNT_MASK;
        return frame;
    }
    state.angle = frame.angle;
    if joint.is_gear() {
        state.turns = turns_of(joint, poses);
        state.status &= !DISENGAGED;
    }

    let rest = BodyState::default();
    let stance = Stance::new(&frame, &rest, &rest);
    // Most joints cannot break.
    if joint.break_force < f32::MAX || joint.break_torque < f32::MAX {
        let (impulse, spin) = total(rows, impulses, &stance);
        if impulse.length() > joint.break_force * params.h || spin.abs() > joint.break_torque * params.h {
            state.status |= BROKEN;
        }
    }
    let lost = |body: u32| status(body) & QUARANTINED != 0;
    let gone = lost(joint.body_b) || (!is_world && lost(joint.body_a));
    if gone || joint.flags & JOINT_DISABLED != 0 || state.status & BROKEN != 0 {
        impulses.fill([0.0; 2]);
        frame.flags &= !ROW_COUNT_MASK;
        if joint.is_gear() {
            state.status |= DISENGAGED;
        }
        return frame;
    }
    let [share_a, share_b] =
        [if is_world { 0 } else { status(joint.body_a) }, status(joint.body_b)].map(mass_scale::mass_share);
    frame.inv_mass_a *= share_a;
    frame.inv_inertia_a *= share_a;
    frame.inv_mass_b *= share_b;
    frame.inv_inertia_b *= share_b;
    let pull = tension(rows, impulses, &stance);
    let pull_a = total_on_a(rows, impulses, &stance, pull);
    frame.inv_inertia_a = stiffened(params.h, frame.inv_inertia_a, -Vec2::from(frame.r_a).dot(pull_a));
    frame.inv_inertia_b = stiffened(params.h, frame.inv_inertia_b, Vec2::from(frame.r_b).dot(pull));
    frame
}

/// Returns the part of a joint's impulse on B whose direction does not turn with a body, N·s: of points, and along the
/// line of the anchors or a rope. A joint that holds the angle has none: its bodies do not turn like a pendulum.
#[inline(always)]
#[must_use]
pub fn tension(rows: &[JointRow], impulses: &[[f32; 2]], stance: &Stance) -> Vec2 {
    let mut sum = Vec2::ZERO;
    for (rule, &part) in rows.iter().zip(impulses) {
        match rule.kind & ROW_GEOMETRY {
            ROW_POINT => sum += rotate(stance.axis, part.into()),
            geometry @ (ROW_ALONG | ROW_PULLEY) => sum += stance.direction(geometry) * (side(rule) * part[0]),
            ROW_ANGLE if rule.kind & ROW_ROLE == ROW_EQUALITY => return Vec2::ZERO,
            _ => {}
        }
    }
    sum
}

/// Returns the inverse inertia that a joint sees of a body, 1/(kg·m²), if its last impulse pulls at the lever arm by
/// `pull`, N·m·s, positive away from the centre of mass. A turn by an angle is resisted by `pull/h` times its sine,
/// and another joint, at the other end of a link, pulls as much: with an inertia of `2 h pull` the body swings by one
/// radian a substep. Two are the most that stays stable, and the tension may grow within a step.
#[inline(always)]
#[must_use]
pub fn stiffened(h: f32, inv_inertia: f32, pull: f32) -> f32 {
    let least = 2.0 * h * pull;
    if least * inv_inertia > 1.0 { 1.0 / least } else { inv_inertia }
}

/// Sets the reference angle and the length of a joint added to a running world from the current poses, if the scene
/// gave none.
pub fn measure(bodies: &[BodyData], poses: &[Pose], joint: &mut JointData, joint_rows: &mut [JointRow]) {
    if joint.flags & JOINT_FRESH == 0 {
        return;
    }
    joint.flags &= !JOINT_FRESH;
    joint.reference_angle = 0.0;
    let frame = frame_of(joint, &joint_rows[first_rows(joint)], bodies, poses, &JointState::default());
    joint.reference_angle = frame.angle;
    let rest = BodyState::default();
    let stance = Stance::new(&frame, &rest, &rest);
    for rule in &mut joint_rows[first_rows(joint)] {
        if rule.kind & ROW_MEASURE != 0 {
            rule.kind &= !ROW_MEASURE;
            rule.goal = stance.position(rule.kind & ROW_GEOMETRY).max(MIN_LENGTH);
        }
    }
}

/// Returns the angles of A and B, from −π to π, rad.
#[must_use]
pub fn turns_of(joint: &JointData, poses: &[Pose]) -> [f32; 2] {
    [joint.body_a, joint.body_b].map(|body| angle_of(poses[body as usize].rotation.into()))
}

/// Returns the full turn next to an angle, rad.
#[inline(always)]
fn full_turn(angle: f32) -> f32 {
    TAU * (angle / TAU + 0.5).floor()
}

/// Returns the angle of a gear: that of one step ago, and what the bodies have turned since, each by less than half a
/// turn; 0 where the gear engages.
#[must_use]
pub fn geared_angle(ratio: f32, last: &JointState, turns: [f32; 2]) -> f32 {
    if last.status & DISENGAGED != 0 {
        return 0.0;
    }
    let turned = [0, 1].map(|end: usize| {
        let by = turns[end] - last.turns[end];
        by - full_turn(by)
    });
    last.angle + (turned[1] - ratio * turned[0])
}

/// Returns the frame of a joint for the given poses. `rows` are its rows, of which only a pulley's matters. `last` is
/// its state one step ago: the new angle is the one nearest to that one among those that differ by full turns.
#[inline(always)]
#[must_use]
pub fn frame_of(
    joint: &JointData,
    rows: &[JointRow],
    bodies: &[BodyData],
    poses: &[Pose],
    last: &JointState,
) -> JointFrame {
    let world = joint.flags & WORLD_A != 0;
    let (a, b) = (joint.body_a as usize, joint.body_b as usize);
    let pose_a = if world { Pose::default() } else { poses[a] };
    let [inv_mass_a, inv_inertia_a] = if world { [0.0; 2] } else { [bodies[a].inv_mass, bodies[a].inv_inertia] };
    let (pose_b, body_b) = (poses[b], &bodies[b]);
    let (turn_a, turn_b) = (Vec2::from(pose_a.rotation), Vec2::from(pose_b.rotation));
    let (r_a, r_b) = (rotate(turn_a, joint.anchor_a.into()), rotate(turn_b, joint.anchor_b.into()));
    let mut between = if world { pose_b.vector_from(r_a) + r_b } else { pose_a.vector_to(&pose_b) + (r_b - r_a) };
    let mut axis = rotate(turn_a, joint.axis.into());
    if let Some([ground_a, ground_b]) = joint.ground_points(rows) {
        axis = pose_a.vector_from(ground_a.into()) + r_a;
        between = pose_b.vector_from(ground_b.into()) + r_b;
    }
    let angle = if joint.is_gear() {
        geared_angle(joint.ratio, last, turns_of(joint, poses))
    } else {
        let angle = angle_of(inv_mul_rotation(turn_a, turn_b)) - joint.reference_angle;
        angle + full_turn(last.angle - angle)
    };
    JointFrame {
        body_a: joint.body_a,
        body_b: joint.body_b,
        first_row: joint.first_row,
        flags: joint.flags,
        r_a: r_a.into(),
        r_b: r_b.into(),
        between: between.into(),
        axis: axis.into(),
        inv_mass_a,
        inv_inertia_a,
        inv_mass_b: body_b.inv_mass,
        inv_inertia_b: body_b.inv_inertia,
        angle,
        ratio: joint.ratio,
        pad: [0; 2],
    }
}
