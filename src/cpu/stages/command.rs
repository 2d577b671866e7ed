//! Applies the user's commands to bodies and joints; the CPU engine's form of [`crate::stages::command`], to the same
//! bits.

use crate::stages::command::{obey, set_joint};
use crate::threads::Rows;
use crate::types::{
    Body, BodyState, COMMAND_WAKE_ALL, Command, Counters, ISLAND_WAKE, Joint, JointRow, JointState, Params, Pose, SLEEP,
};

/// Executes all commands.
pub fn command(
    params: &Params,
    commands: &[Command],
    bodies: &mut [Body],
    poses: &mut [Pose],
    states: &Rows<BodyState, 4>,
    islands: &[u32],
    island_flags: &mut [u32],
    counters: &mut Counters,
    joints: &mut [Joint],
    joint_rows: &mut [JointRow],
    joint_states: &Rows<JointState, 2>,
) {
    for command in commands {
        let place = command.body as usize;
        if command.is_for_joint() {
            let mut state = joint_states.get(place);
            set_joint(command, &mut joints[place], joint_rows, &mut state);
            joint_states.set(place, state);
            continue;
        }
        if command.kind == COMMAND_WAKE_ALL {
            if params.switches & SLEEP != 0 {
                counters.wake_all = 1;
            }
            continue;
        }
        let mut state = states.get(place);
        let wakes = obey(params, command, &mut bodies[place], &mut poses[place], &mut state);
        states.set(place, state);
        if wakes && let Some(flags) = island_flags.get_mut(islands[place] as usize) {
            *flags |= ISLAND_WAKE;
        }
    }
}
