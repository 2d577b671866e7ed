//! Commands: what is asked of a body or a joint between two steps.

use bytemuck::{Pod, Zeroable};

use super::body::Body;

/// [`Command::kind`].
pub const COMMAND_IMPULSE: u32 = 0;
/// [`Command::kind`].
pub const COMMAND_ANGULAR_IMPULSE: u32 = 1;
/// [`Command::kind`].
pub const COMMAND_FORCE: u32 = 2;
/// [`Command::kind`].
pub const COMMAND_TORQUE: u32 = 3;
/// [`Command::kind`].
pub const COMMAND_VELOCITY: u32 = 4;
/// [`Command::kind`].
pub const COMMAND_ANGULAR_VELOCITY: u32 = 5;
/// [`Command::kind`].
pub const COMMAND_TELEPORT: u32 = 6;
/// [`Command::kind`].
pub const COMMAND_TARGET: u32 = 7;
/// [`Command::kind`]. Also of a slot whose body was removed: what slept with it wakes.
pub const COMMAND_WAKE: u32 = 8;
/// [`Command::kind`]: wakes every body.
pub const COMMAND_WAKE_ALL: u32 = 9;
/// [`Command::kind`], of a joint like all that follow: the goal of a row.
pub const COMMAND_JOINT_GOAL: u32 = 10;
/// [`Command::kind`]: the goal of a row and its largest impulse.
pub const COMMAND_JOINT_MOTOR: u32 = 11;
/// [`Command::kind`]: the anchor on A, or in the world.
pub const COMMAND_JOINT_ANCHOR: u32 = 12;
/// [`Command::kind`]: the reference angle.
pub const COMMAND_JOINT_REFERENCE: u32 = 13;
/// [`Command::kind`]: on if the value is not 0, or off.
pub const COMMAND_JOINT_ENABLE: u32 = 14;

/// Something asked of a body or a joint between two steps.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Command {
    /// [`COMMAND_IMPULSE`], …
    pub kind: u32,
    /// Index of the body, or place of the joint.
    pub body: u32,
    /// Index of the row of a joint.
    pub row: u32,
    /// Which of many worlds; 0 for one alone.
    pub world: u32,
    /// Impulse N·s, force N, velocity m/s, place of the centre of mass m; or an angular value, then with a 0.
    pub value: [f32; 2],
    /// Point from the centre of mass, in the body's frame, m; or cosine and sine.
    pub other: [f32; 2],
}

impl Command {
    /// Returns true if the command is for a joint.
    #[must_use]
    pub fn is_for_joint(&self) -> bool {
        self.kind >= COMMAND_JOINT_GOAL
    }

    /// Tells a copy of the body what stays with it.
    pub(crate) fn mirror(&self, body: &mut Body) {
        match self.kind {
            COMMAND_FORCE => (body.force, body.force_point) = (self.value, self.other),
            COMMAND_TORQUE => body.torque = self.value[0],
            _ => {}
        }
    }
}
