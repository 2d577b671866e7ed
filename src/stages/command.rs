//! **command**: applies the user's commands since the last step to bodies and joints: impulses, forces, velocities,
//! poses, targets, motor goals.
//!
//! Reads commands and islands; reads and writes bodies (constant forces), poses and states, joints, joint_rows and
//! joint_states; writes island_flags and counters (all wake). Visits one command after the other; on the device the
//! thread of a body's (or joint's) first command executes all of them in order. Does not run if there are no commands.
//!
//! Any command to a sleeping body wakes the body here, and its island in [`wake`](super::wake). A static or kinematic
//! body that is woken is awake for this step, so that what touches it wakes.
//!
//! A target becomes the velocity that leads there in one step.

use glam::Vec2;

use crate::math::{angle_of, cross, inv_mul_rotation, rotate};
use crate::scene::{Compiled, JointTable};
use crate::tables::Tables;
use crate::types::{
    ASLEEP, BodyData, BodyState, COMMAND_ANGULAR_IMPULSE, COMMAND_ANGULAR_VELOCITY, COMMAND_FORCE, COMMAND_IMPULSE,
    COMMAND_JOINT_ANCHOR, COMMAND_JOINT_ENABLE, COMMAND_JOINT_FIXED, COMMAND_JOINT_GOAL, COMMAND_JOINT_MOTOR,
    COMMAND_JOINT_REFERENCE, COMMAND_TARGET, COMMAND_TELEPORT, COMMAND_TORQUE, COMMAND_VELOCITY, COMMAND_WAKE,
    COMMAND_WAKE_ALL, CommandData, Counters, DYNAMIC, ISLAND_WAKE, JOINT_DISABLED, JOINT_FIXED_A, JOINT_FIXED_B,
    JointData, JointRow, JointState, Params, Pose, QUIET_MASK, ROW_MEASURE, SLEEP, VACANT, WAKE_ALL, WAKE_MOVED,
    WAKE_TOUCHED, WOKEN,
};

/// Executes all commands.
pub fn command(commands: &[CommandData], compiled: &mut Compiled, tables: &mut Tables) {
    let Compiled { params, bodies, joints, .. } = compiled;
    let JointTable { joints, rows: joint_rows, .. } = joints;
    let Tables { poses, states, islands, island_flags, counters, joint_states, .. } = tables;
    for command in commands {
        let place = command.body as usize;
        if command.is_for_joint() {
            set_joint(command, &mut joints[place], joint_rows, &mut joint_states[place]);
        } else if command.kind == COMMAND_WAKE_ALL {
            if params.switches & SLEEP != 0 {
                counters.wake_flags |= WAKE_ALL;
            }
        } else if obey(params, command, &mut bodies[place], &mut poses[place], &mut states[place], counters)
            && let Some(flags) = island_flags.get_mut(islands[place] as usize)
        {
            *flags |= ISLAND_WAKE;
        }
    }
}

/// Executes a command to a body. Returns true if that wakes the body.
pub fn obey(
    params: &Params,
    command: &CommandData,
    body: &mut BodyData,
    pose: &mut Pose,
    state: &mut BodyState,
    counters: &mut Counters,
) -> bool {
    let mut wakes = false;
    if params.switches & SLEEP != 0 {
        let sleeps = body.kind == DYNAMIC && state.status & ASLEEP != 0;
        let left = body.kind == VACANT && command.kind == COMMAND_WAKE;
        wakes = sleeps || left;
        let moves_fixed = body.kind != DYNAMIC && command.kind == COMMAND_TELEPORT;
        if moves_fixed || (command.kind == COMMAND_WAKE && command.row == WAKE_TOUCHED) {
            counters.wake_flags |= WAKE_MOVED;
        }
        // Bodies that touch a fixed body which is awake wake in this step.
        let is_fixed = moves_fixed || (body.kind != DYNAMIC && command.kind == COMMAND_WAKE);
        if wakes || is_fixed {
            state.status = (state.status & !(ASLEEP | QUIET_MASK)) | WOKEN;
        }
    }
    let (value, other) = (Vec2::from(command.value), Vec2::from(command.other));
    match command.kind {
        COMMAND_IMPULSE => {
            let arm = rotate(pose.rotation.into(), other);
            state.velocity = (Vec2::from(state.velocity) + value * body.inv_mass).into();
            state.angular_velocity += body.inv_inertia * cross(arm, value);
        }
        COMMAND_ANGULAR_IMPULSE => state.angular_velocity += body.inv_inertia * value.x,
        COMMAND_FORCE => {
            body.force = command.value;
            body.force_point = command.other;
        }
        COMMAND_TORQUE => body.torque = value.x,
        COMMAND_VELOCITY => state.velocity = command.value,
        COMMAND_ANGULAR_VELOCITY => state.angular_velocity = value.x,
        COMMAND_TELEPORT => *pose = command.pose(),
        COMMAND_TARGET => {
            let turn = inv_mul_rotation(pose.rotation.into(), other);
            state.velocity = (pose.vector_to(&command.pose()) / params.dt).into();
            state.angular_velocity = angle_of(turn) / params.dt;
        }
        _ => {}
    }
    wakes
}

/// Executes a command to a joint.
pub fn set_joint(command: &CommandData, joint: &mut JointData, joint_rows: &mut [JointRow], state: &mut JointState) {
    let [value, most] = command.value;
    match command.kind {
        COMMAND_JOINT_GOAL => {
            let row = &mut joint_rows[command.row as usize];
            [row.goal, row.goal_y] = command.value;
            row.kind &= !ROW_MEASURE;
        }
        COMMAND_JOINT_MOTOR => {
            let row = &mut joint_rows[command.row as usize];
            row.goal = value;
            row.max_impulse = most;
        }
        COMMAND_JOINT_ANCHOR => joint.anchor_a = command.value,
        COMMAND_JOINT_REFERENCE => {
            // The angle is counted from the new reference, with all turns made so far.
            state.angle -= value - joint.reference_angle;
            joint.reference_angle = value;
        }
        COMMAND_JOINT_ENABLE => {
            joint.flags = if value == 0.0 { joint.flags | JOINT_DISABLED } else { joint.flags & !JOINT_DISABLED };
        }
        COMMAND_JOINT_FIXED => {
            let fixed = if value == 0.0 { 0 } else { JOINT_FIXED_A } | if most == 0.0 { 0 } else { JOINT_FIXED_B };
            joint.flags = joint.flags & !(JOINT_FIXED_A | JOINT_FIXED_B) | fixed;
        }
        _ => {}
    }
}
