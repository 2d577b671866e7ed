//! What may be asked of a joint between two steps: speeds, limits, targets, lengths.

use glam::Vec2;

use super::CommandError;
use crate::population::{JointId, joint_place};
use crate::scene::{Compiled, JointKind, check_joint_command};
use crate::types::{
    self, COMMAND_JOINT_ANCHOR, COMMAND_JOINT_ENABLE, COMMAND_JOINT_GOAL, COMMAND_JOINT_MOTOR, COMMAND_JOINT_REFERENCE,
    JOINT_TYPE_SHIFT, ROW_ALONG, ROW_COUNT_MASK, ROW_EQUALITY, ROW_GEOMETRY, ROW_LOWER, ROW_MOTOR, ROW_ROLE,
    ROW_SPRING, ROW_UPPER,
};

/// Something asked of a joint; it lasts until it is changed. What a joint does not have from its start, a motor or
/// limits, it cannot be given. The ranges are those of a scene.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum JointCommand {
    /// Of joints with a motor.
    Motor {
        /// m/s, or rad/s where it turns.
        speed: f32,
        /// Largest force, N, or torque, N·m.
        max: f32,
    },
    /// Lowest and highest, m or rad, of joints with limits that leave something free. Equal ones hold.
    Limits([f32; 2]),
    /// Of a mouse joint: where it pulls to, in the world, m.
    Target(Vec2),
    /// Of a motor joint.
    Offset {
        /// Of B's anchor against A's, in A's frame, m.
        linear: Vec2,
        /// rad. Full turns count.
        angular: f32,
    },
    /// Length of a rod, m, or length at rest of a spring, which may be 0.
    Length(f32),
    /// Of the spring of a hinge, a slider or a wheel: its rest position, rad or m.
    SpringTarget(f32),
    /// Switches the joint on or off. One that is off does nothing, and its bodies touch. A broken one stays broken.
    Enable(bool),
}

impl JointCommand {
    /// The records that a step works from, checked against the world.
    pub(crate) fn flatten(self, compiled: &Compiled, id: JointId) -> Result<Vec<types::Command>, CommandError> {
        let place = joint_place(compiled, id).ok_or(CommandError::NoJoint(id))?;
        let joint = &compiled.joints.joints[place];
        let name = JointKind::NAMES[(joint.flags >> JOINT_TYPE_SHIFT) as usize & 7];
        check_joint_command(self, name, format_args!("joint {id}"))?;
        let last = joint.first_row + (joint.flags & ROW_COUNT_MASK);
        let kinds = (joint.first_row..last).map(|row| (row, compiled.joints.rows[row as usize].kind));
        // A rod's own row comes after equal limits.
        let find = |wanted: &dyn Fn(u32) -> bool| kinds.clone().filter(|&(_, kind)| wanted(kind)).last();
        let role = |role: u32| find(&|kind| kind & ROW_ROLE == role);
        let refuse = |expected: &'static str| Err(CommandError::JointKind { joint: id, found: name, expected });
        #[allow(clippy::cast_possible_truncation, reason = "joints are counted in u32")]
        let record = |kind, row, value: [f32; 2]| types::Command {
            kind,
            body: place as u32,
            row,
            value,
            ..types::Command::default()
        };
        let h = compiled.params.h;
        Ok(match self {
            Self::Motor { speed, max } => {
                let Some((row, _)) = role(ROW_MOTOR) else { return refuse("a joint with a motor") };
                vec![record(COMMAND_JOINT_MOTOR, row, [speed, max * h])]
            }
            Self::Limits([lower, upper]) => match (role(ROW_LOWER), role(ROW_UPPER)) {
                (Some((low, _)), Some((high, _))) => {
                    vec![record(COMMAND_JOINT_GOAL, low, [lower, 0.0]), record(COMMAND_JOINT_GOAL, high, [upper, 0.0])]
                }
                _ => return refuse("a joint with limits that leave something free"),
            },
            Self::Target(target) if name == "mouse" => vec![record(COMMAND_JOINT_ANCHOR, 0, target.into())],
            Self::Target(_) => return refuse("a mouse joint"),
            Self::Offset { linear, angular } if name == "motor" => {
                #[allow(clippy::cast_possible_truncation, reason = "joints are counted in u32")]
                let anchor = compiled.joints.base(place as u32) + linear;
                vec![record(COMMAND_JOINT_ANCHOR, 0, anchor.into()), record(COMMAND_JOINT_REFERENCE, 0, [angular, 0.0])]
            }
            Self::Offset { .. } => return refuse("a motor joint"),
            Self::Length(length) => {
                let held = |kind: u32| {
                    kind & ROW_GEOMETRY == ROW_ALONG && matches!(kind & ROW_ROLE, ROW_EQUALITY | ROW_SPRING)
                };
                let Some((row, _)) = find(&held) else { return refuse("a distance joint with a length, or a spring") };
                vec![record(COMMAND_JOINT_GOAL, row, [length, 0.0])]
            }
            Self::SpringTarget(target) => {
                // It is laid first; what else swings is held softly.
                let first = kinds.clone().next().filter(|&(_, kind)| kind & ROW_ROLE == ROW_SPRING);
                let wanted = match (name, first) {
                    ("revolute", Some((row, kind))) if kind & ROW_GEOMETRY == types::ROW_ANGLE => row,
                    ("prismatic" | "wheel", Some((row, kind))) if kind & ROW_GEOMETRY == types::ROW_AXIS => row,
                    _ => return refuse("a hinge, a slider or a wheel with a spring"),
                };
                vec![record(COMMAND_JOINT_GOAL, wanted, [target, 0.0])]
            }
            Self::Enable(on) => vec![record(COMMAND_JOINT_ENABLE, 0, [f32::from(u8::from(on)), 0.0])],
        })
    }
}
