//! Commands to bodies and joints between two steps, as the stage `command` reads them.

use bytemuck::{Pod, Zeroable};

use super::body::{BodyData, Pose};

/// [`CommandData::kind`]: an impulse at a point.
pub const COMMAND_IMPULSE: u32 = 0;
/// [`CommandData::kind`]: an angular impulse.
pub const COMMAND_ANGULAR_IMPULSE: u32 = 1;
/// [`CommandData::kind`]: sets the constant force.
pub const COMMAND_FORCE: u32 = 2;
/// [`CommandData::kind`]: sets the constant torque.
pub const COMMAND_TORQUE: u32 = 3;
/// [`CommandData::kind`]: sets the velocity.
pub const COMMAND_VELOCITY: u32 = 4;
/// [`CommandData::kind`]: sets the angular velocity.
pub const COMMAND_ANGULAR_VELOCITY: u32 = 5;
/// [`CommandData::kind`]: sets the pose.
pub const COMMAND_TELEPORT: u32 = 6;
/// [`CommandData::kind`]: sets the velocities that reach a pose in one step.
pub const COMMAND_TARGET: u32 = 7;
/// [`CommandData::kind`]: wakes a body and its island; of a static or kinematic body, what touches it. Also given for
/// the slot of a removed body: what slept with it wakes. With [`WAKE_TOUCHED`] also what touched it before it slept.
pub const COMMAND_WAKE: u32 = 8;
/// [`CommandData::row`] of [`COMMAND_WAKE`]: the body is fixed or was, and it or one of its shapes is gone.
pub const WAKE_TOUCHED: u32 = 1;
/// [`CommandData::kind`]: wakes every body.
pub const COMMAND_WAKE_ALL: u32 = 9;
/// [`CommandData::kind`]: sets the goal of a joint's row. This kind and all that follow are for joints.
pub const COMMAND_JOINT_GOAL: u32 = 10;
/// [`CommandData::kind`]: sets the goal of a row and its largest impulse.
pub const COMMAND_JOINT_MOTOR: u32 = 11;
/// [`CommandData::kind`]: sets the anchor on A, or in the world.
pub const COMMAND_JOINT_ANCHOR: u32 = 12;
/// [`CommandData::kind`]: sets the reference angle.
pub const COMMAND_JOINT_REFERENCE: u32 = 13;
/// [`CommandData::kind`]: switches the joint on if the value is not 0, else off.
pub const COMMAND_JOINT_ENABLE: u32 = 14;

/// [`CommandData::kind`]: sets that end A (first value not 0) and end B (second value not 0) are fixed, after the type
/// of a body changed.
pub const COMMAND_JOINT_FIXED: u32 = 15;

/// A command to a body or a joint; it acts at the start of a step.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct CommandData {
    /// Kind: [`COMMAND_IMPULSE`], …
    pub kind: u32,
    /// Index of the body, or slot of the joint.
    pub body: u32,
    /// Index of the joint's row, for commands to joints.
    pub row: u32,
    /// Index of the world in a batch; 0 for a single world.
    pub world: u32,
    /// Impulse, N·s, force, N, velocity, m/s, or position of the centre of mass, m; or an angular value and a 0.
    pub value: [f32; 2],
    /// Point from the centre of mass, in the body's frame, m; or cosine and sine of an angle.
    pub other: [f32; 2],
    /// For positions, as [`Pose::low`](super::Pose::low), m.
    pub low: [f32; 2],
    /// Zero.
    pub pad: [f32; 2],
}

impl CommandData {
    /// Returns a command with the position and rotation of a pose: [`COMMAND_TELEPORT`] or [`COMMAND_TARGET`].
    pub(crate) fn place(kind: u32, body: u32, pose: &Pose) -> Self {
        Self { kind, body, value: pose.position, other: pose.rotation, low: pose.low, ..Self::default() }
    }

    /// Returns the pose that the command gives ([`COMMAND_TELEPORT`], [`COMMAND_TARGET`]).
    #[must_use]
    pub fn pose(&self) -> Pose {
        Pose { position: self.value, rotation: self.other, low: self.low, ..Pose::default() }
    }

    /// Returns true if the command is for a joint.
    #[must_use]
    pub fn is_for_joint(&self) -> bool {
        self.kind >= COMMAND_JOINT_GOAL
    }

    /// Copies the lasting part of the command, force and torque, to the host's copy of the body.
    pub(crate) fn mirror(&self, body: &mut BodyData) {
        match self.kind {
            COMMAND_FORCE => (body.force, body.force_point) = (self.value, self.other),
            COMMAND_TORQUE => body.torque = self.value[0],
            _ => {}
        }
    }
}
