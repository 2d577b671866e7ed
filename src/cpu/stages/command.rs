//! Applies the user's commands to bodies and joints; the CPU engine's form of [`crate::stages::command`], to the same
//! bits.

use crate::cpu::{BodyTables, SleepTables};
use crate::scene::Compiled;
use crate::stages::command::{obey, set_joint};
use crate::threads::Rows;
use crate::types::{COMMAND_WAKE_ALL, CommandData, Counters, ISLAND_WAKE, JointState, SLEEP, WAKE_ALL};

/// Executes all commands.
pub fn command(
    commands: &[CommandData],
    compiled: &mut Compiled,
    tables: &mut BodyTables,
    joint_states: &Rows<JointState, 2>,
    sleep: &mut SleepTables,
    counters: &mut Counters,
) {
    let Compiled { params, bodies, joints, .. } = compiled;
    let BodyTables { poses, states, .. } = tables;
    let SleepTables { islands, island_flags, .. } = sleep;
    for command in commands {
        let place = command.body as usize;
        if command.is_for_joint() {
            let mut state = joint_states.get(place);
            set_joint(command, &mut joints.joints[place], &mut joints.rows, &mut state);
            joint_states.set(place, state);
            continue;
        }
        if command.kind == COMMAND_WAKE_ALL {
            if params.switches & SLEEP != 0 {
                counters.wake_flags |= WAKE_ALL;
            }
            continue;
        }
        let mut state = states.get(place);
        let wakes = obey(params, command, &mut bodies[place], &mut poses[place], &mut state, counters);
        states.set(place, state);
        if wakes && let Some(flags) = island_flags.get_mut(islands[place] as usize) {
            *flags |= ISLAND_WAKE;
        }
    }
}
