//! Commands to joints: motor speeds, limits, targets, lengths, on and off.

use std::fmt::Arguments;

use glam::Vec2;

use super::CommandError;
use crate::population::{JointId, joint_place};
use crate::scene::check::joint::{JointCheck, REST_LENGTH, TRAVEL, check_limits, check_motor, check_velocity};
use crate::scene::check::{ANGLE, LENGTH, MIN_LENGTH, OFFSET, POSITION, SceneError, show};
use crate::scene::{Compiled, Motor};
use crate::types::{
    self, COMMAND_JOINT_ANCHOR, COMMAND_JOINT_ENABLE, COMMAND_JOINT_GOAL, COMMAND_JOINT_MOTOR, COMMAND_JOINT_REFERENCE,
    ROW_COUNT_MASK, ROW_GEOMETRY, ROW_LOWER, ROW_MOTOR, ROW_POINT, ROW_ROLE, ROW_SPRING, ROW_UPPER, is_length,
};

/// A command to a joint; it lasts until it is changed. A joint without a motor or limits in its scene cannot be given
/// them. The ranges are those of a scene.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum JointCommand {
    /// Sets speed and strength of a joint's motor.
    Motor {
        /// Speed, m/s, or rad/s for motors that turn.
        speed: f32,
        /// Largest force, N, or torque, N·m.
        max: f32,
    },
    /// Sets the velocities to which a velocity joint drives. With an axis, the part of `linear` along it counts.
    Velocity {
        /// Velocity of B's anchor against A, in A's frame, m/s.
        linear: Vec2,
        /// Angular velocity of B against A, rad/s.
        angular: f32,
    },
    /// Sets the lower and upper limit, m or rad, of a joint with limits that differ. Equal limits lock it.
    Limits([f32; 2]),
    /// Sets the point of the world to which a mouse joint pulls, m.
    Target(Vec2),
    /// Sets the offset of a motor joint.
    Offset {
        /// Position of B's anchor against A's, in A's frame, m.
        linear: Vec2,
        /// Angle of B against A, rad. Full turns count.
        angular: f32,
    },
    /// Sets the length of a rod or of a pulley's rope, m, or the rest length of a spring, which may be 0.
    Length(f32),
    /// Sets the rest position of the spring of a hinge, slider or wheel, rad or m.
    SpringTarget(f32),
    /// Switches the joint on or off. A joint that is off does not act, and its bodies touch. A broken joint stays
    /// broken.
    Enable(bool),
}

impl JointCommand {
    /// Returns the records of the command for a step, checked against the world.
    pub(crate) fn flatten(self, compiled: &Compiled, id: JointId) -> Result<Vec<types::CommandData>, CommandError> {
        let place = joint_place(compiled, id).ok_or(CommandError::NoJoint(id))?;
        let joint = &compiled.joints.joints[place];
        let name = joint.kind_name();
        check(self, name, format_args!("joint {id}"))?;
        let last = joint.first_row + (joint.flags & ROW_COUNT_MASK);
        let kinds = (joint.first_row..last).map(|row| (row, compiled.joints.rows[row as usize].kind));
        // A rod's own row comes after those of equal limits.
        let find = |wanted: &dyn Fn(u32) -> bool| kinds.clone().filter(|&(_, kind)| wanted(kind)).last();
        let role = |role: u32| find(&|kind| kind & ROW_ROLE == role);
        let refuse = |expected: &'static str| Err(CommandError::JointKind { joint: id, found: name, expected });
        #[allow(clippy::cast_possible_truncation, reason = "joints are counted in u32")]
        let record = |kind, row, value: [f32; 2]| types::CommandData {
            kind,
            body: place as u32,
            row,
            value,
            ..types::CommandData::default()
        };
        let h = compiled.params.h;
        Ok(match self {
            Self::Velocity { linear, angular } if name == "velocity" => {
                let Some((row, kind)) = role(ROW_MOTOR) else { return refuse("a velocity joint") };
                let along = Vec2::new(linear.dot(joint.axis.into()), 0.0);
                let goal = if kind & ROW_GEOMETRY == ROW_POINT { linear } else { along };
                vec![
                    record(COMMAND_JOINT_GOAL, joint.first_row, [angular, 0.0]),
                    record(COMMAND_JOINT_GOAL, row, goal.into()),
                ]
            }
            Self::Velocity { .. } => return refuse("a velocity joint"),
            Self::Motor { .. } if name == "velocity" => return refuse("a joint with a motor"),
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
                let Some((row, _)) = find(&is_length) else { return refuse("a rod, a spring or a pulley") };
                // In the row of a pulley the second value is a coordinate of a ground point, and stays.
                vec![record(COMMAND_JOINT_GOAL, row, [length, compiled.joints.rows[row as usize].goal_y])]
            }
            Self::SpringTarget(target) => {
                // The joint's spring is its first row; other spring rows hold something softly.
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

/// Checks the values of a command for a joint of this type.
fn check(command: JointCommand, name: &str, at: Arguments<'_>) -> JointCheck {
    let travels = matches!(name, "prismatic" | "wheel");
    match command {
        JointCommand::Motor { speed, max } => check_motor(Some(Motor { speed, max }), at),
        JointCommand::Velocity { linear, angular } => check_velocity(linear, angular, at),
        JointCommand::Limits(limits) => {
            let range = if name == "distance" {
                REST_LENGTH
            } else if travels {
                TRAVEL
            } else {
                ANGLE
            };
            check_limits(Some(limits), range, at)?;
            if name == "distance" && limits[1] < MIN_LENGTH {
                let expected = format!("a longest length of at least {MIN_LENGTH} m");
                return Err(SceneError::new(format!("{at}.limits[1]"), format!("is {}", show(limits[1])), expected));
            }
            Ok(())
        }
        JointCommand::Target(target) => POSITION.check_pair(target, format_args!("{at}.target")),
        JointCommand::Offset { linear, angular } => {
            OFFSET.check_pair(linear, format_args!("{at}.linear_offset"))?;
            ANGLE.check(angular, format_args!("{at}.angular_offset"))
        }
        JointCommand::Length(length) if name == "spring" => REST_LENGTH.check(length, format_args!("{at}.rest_length")),
        JointCommand::Length(length) => LENGTH.check(length, format_args!("{at}.length")),
        JointCommand::SpringTarget(target) => {
            let range = if travels { TRAVEL } else { ANGLE };
            range.check(target, format_args!("{at}.spring.target"))
        }
        JointCommand::Enable(_) => Ok(()),
    }
}
