//! Checks of joints: ranges, values that go together, and the bodies that they connect.

use std::fmt::Arguments;

use glam::{DVec2, Vec2};

use super::{
    ANGLE, FINITE, LENGTH, MAX_HERTZ, MAX_LENGTH, MAX_VALUE, MIN_LENGTH, NOT_NEGATIVE, OFFSET, POSITION, Range,
    SceneError, check_direction, show,
};
use crate::scene::joint_table::{distance, rope_length};
use crate::scene::{Body, BodyType, Joint, JointKind, Motor, Spring};
use crate::types::{self, DYNAMIC, VACANT};

pub(crate) const REST_LENGTH: Range = Range::new("a length", 0.0, MAX_LENGTH, "m");
pub(crate) const TRAVEL: Range = Range::new("a travel", -MAX_LENGTH, MAX_LENGTH, "m");
const HERTZ: Range = Range::above("a frequency", 0.0, MAX_HERTZ, "Hz");
const DAMPING_RATIO: Range = Range::new("a damping ratio", 0.0, MAX_HERTZ, "");
const STIFFNESS: Range = Range::new("a stiffness", 0.0, MAX_VALUE, "N/m");
const DAMPING: Range = Range::new("a damping", 0.0, MAX_VALUE, "N·s/m");
const MAX_FORCE: Range = Range::new("a largest force", 0.0, MAX_VALUE, "N");
const MAX_TORQUE: Range = Range::new("a largest torque", 0.0, MAX_VALUE, "N·m");
const FORCE: Range = Range::new("a force", -MAX_VALUE, MAX_VALUE, "N, or a torque in N·m");
const BREAK_FORCE: Range = Range::above("a force", 0.0, MAX_VALUE, "N");
const BREAK_TORQUE: Range = Range::above("a torque", 0.0, MAX_VALUE, "N·m");

/// Smallest and largest size of the ratio of a gear.
const GEAR_RATIO: [f32; 2] = [1e-3, 1e3];
const PULLEY_RATIO: Range = Range::new("a ratio", GEAR_RATIO[0], GEAR_RATIO[1], "");

pub(crate) type JointCheck = Result<(), SceneError>;

/// The bodies that joints may connect: those of a scene or of a running world.
pub(crate) trait JointBodies {
    /// Returns the number of slots.
    fn count(&self) -> usize;
    /// Returns true if the body is dynamic, `None` if there is no such body.
    fn moves(&self, body: usize) -> Option<bool>;
    /// Returns the position of a point of the body in the world, m, if it is known.
    fn place(&self, body: usize, anchor: Vec2) -> Option<DVec2>;
}

/// Bodies of a scene, as it starts.
impl JointBodies for [Body] {
    fn count(&self) -> usize {
        self.len()
    }

    fn moves(&self, body: usize) -> Option<bool> {
        self.get(body).map(|body| body.kind == BodyType::Dynamic)
    }

    fn place(&self, body: usize, anchor: Vec2) -> Option<DVec2> {
        self.get(body).map(|body| body.place_of(anchor))
    }
}

/// Bodies of a running world; their positions may be on the device only.
impl JointBodies for [types::BodyData] {
    fn count(&self) -> usize {
        self.len()
    }

    fn moves(&self, body: usize) -> Option<bool> {
        self.get(body).filter(|body| body.kind != VACANT).map(|body| body.kind == DYNAMIC)
    }

    fn place(&self, _: usize, _: Vec2) -> Option<DVec2> {
        None
    }
}

pub(crate) fn check<B: JointBodies + ?Sized>(joint: &Joint, bodies: &B, at: Arguments<'_>) -> JointCheck {
    check_bodies(joint, bodies, at)?;
    // Without a body A it is a point of the world.
    let range = if joint.a.is_some() { OFFSET } else { POSITION };
    range.check_pair(joint.anchor_a, format_args!("{at}.anchor_a"))?;
    OFFSET.check_pair(joint.anchor_b, format_args!("{at}.anchor_b"))?;
    for (key, value, range) in [
        ("hertz", joint.hertz, HERTZ),
        ("damping_ratio", joint.damping_ratio, DAMPING_RATIO),
        ("break_force", joint.break_force, BREAK_FORCE),
        ("break_torque", joint.break_torque, BREAK_TORQUE),
    ] {
        given(value, range, format_args!("{at}.{key}"))?;
    }
    check_spring_range(joint, at)?;
    match &joint.kind {
        JointKind::Distance { length, limits, motor } => {
            given(*length, LENGTH, format_args!("{at}.length"))?;
            check_limits(*limits, REST_LENGTH, at)?;
            check_motor(*motor, at)?;
            check_distance(joint, bodies, at)
        }
        JointKind::Spring { rest_length, stiffness, damping } => {
            given(*rest_length, REST_LENGTH, format_args!("{at}.rest_length"))?;
            STIFFNESS.check(*stiffness, format_args!("{at}.stiffness"))?;
            DAMPING.check(*damping, format_args!("{at}.damping"))?;
            check_no_softness(joint, "a spring", "stiffness and damping", at)
        }
        JointKind::Revolute { reference_angle, limits, motor, spring } => {
            given(*reference_angle, ANGLE, format_args!("{at}.reference_angle"))?;
            check_limits(*limits, ANGLE, at)?;
            check_motor(*motor, at)?;
            check_spring(*spring, ANGLE, at)
        }
        JointKind::Prismatic { axis, reference_angle, limits, motor, spring } => {
            given(*reference_angle, ANGLE, format_args!("{at}.reference_angle"))?;
            check_rail(*axis, *limits, *motor, *spring, at)
        }
        JointKind::Wheel { axis, limits, motor, spring } => check_rail(*axis, *limits, *motor, *spring, at),
        JointKind::Weld { reference_angle, angular_hertz, angular_damping_ratio } => {
            given(*reference_angle, ANGLE, format_args!("{at}.reference_angle"))?;
            given(*angular_hertz, HERTZ, format_args!("{at}.angular_hertz"))?;
            given(*angular_damping_ratio, DAMPING_RATIO, format_args!("{at}.angular_damping_ratio"))
        }
        JointKind::Motor { linear_offset, angular_offset, max_force, max_torque } => {
            OFFSET.check_pair(*linear_offset, format_args!("{at}.linear_offset"))?;
            ANGLE.check(*angular_offset, format_args!("{at}.angular_offset"))?;
            MAX_FORCE.check(*max_force, format_args!("{at}.max_force"))?;
            MAX_TORQUE.check(*max_torque, format_args!("{at}.max_torque"))
        }
        JointKind::Velocity { axis, velocity, angular_velocity, max_force, max_torque } => {
            axis.map_or(Ok(()), |axis| check_direction(axis, format_args!("{at}.axis")))?;
            check_velocity(*velocity, *angular_velocity, at)?;
            MAX_FORCE.check(*max_force, format_args!("{at}.max_force"))?;
            MAX_TORQUE.check(*max_torque, format_args!("{at}.max_torque"))?;
            check_no_softness(joint, "a velocity joint", "a largest force and a largest torque", at)
        }
        JointKind::Gear { ratio } => check_gear(joint, *ratio, at),
        JointKind::Pulley { .. } => check_pulley(joint, bodies, at),
        JointKind::Mouse { target, max_force } => {
            POSITION.check_pair(*target, format_args!("{at}.target"))?;
            MAX_FORCE.check(*max_force, format_args!("{at}.max_force"))?;
            check_only_b(joint, at)
        }
    }
}

/// Checks that a joint that is not stiffened by a frequency has none.
fn check_no_softness(joint: &Joint, name: &str, expected: &str, at: Arguments<'_>) -> JointCheck {
    for (key, value) in [("hertz", joint.hertz), ("damping_ratio", joint.damping_ratio)] {
        if value.is_some() {
            return Err(SceneError::new(format!("{at}.{key}"), format!("is given to {name}"), expected));
        }
    }
    Ok(())
}

/// Returns true if the joint has a spring whose force [`Joint::spring_range`](field@Joint::spring_range) limits.
#[must_use]
pub fn has_spring(joint: &Joint) -> bool {
    match &joint.kind {
        JointKind::Spring { .. } => true,
        JointKind::Distance { .. } => joint.hertz.is_some(),
        JointKind::Revolute { spring, .. } | JointKind::Prismatic { spring, .. } | JointKind::Wheel { spring, .. } => {
            spring.is_some()
        }
        _ => false,
    }
}

/// Checks the target velocities of a velocity joint.
pub(crate) fn check_velocity(velocity: Vec2, angular_velocity: f32, at: Arguments<'_>) -> JointCheck {
    FINITE.check_pair(velocity, format_args!("{at}.velocity"))?;
    FINITE.check(angular_velocity, format_args!("{at}.angular_velocity"))
}

/// Checks that a range of forces is one, and that the joint has a spring that it limits.
fn check_spring_range(joint: &Joint, at: Arguments<'_>) -> JointCheck {
    let Some([low, high]) = joint.spring_range else { return Ok(()) };
    FORCE.check_pair(Vec2::new(low, high), format_args!("{at}.spring_range"))?;
    if low > high {
        let problem = format!("is [{}, {}], upside down", show(low), show(high));
        return Err(SceneError::new(format!("{at}.spring_range"), problem, "the smallest force, then the largest"));
    }
    if has_spring(joint) {
        return Ok(());
    }
    let expected = "a spring, a distance joint with hertz, or a spring on a hinge, slider or wheel";
    Err(SceneError::new(format!("{at}.spring_range"), "is given to a joint without a spring", expected))
}

/// Checks that a joint that acts between bodies alone has two.
fn check_two(joint: &Joint, expected: &str, at: Arguments<'_>) -> JointCheck {
    if joint.a.is_some() { Ok(()) } else { Err(SceneError::new(at.to_string(), "has no `a`", expected)) }
}

/// Checks that a gear joins two bodies in a ratio that turns both.
fn check_gear(joint: &Joint, ratio: f32, at: Arguments<'_>) -> JointCheck {
    check_two(joint, "two bodies in a gear joint", at)?;
    let [least, most] = GEAR_RATIO;
    if ratio.abs() >= least && ratio.abs() <= most {
        return Ok(());
    }
    let expected = format!("a ratio from {least} to {most}, or from -{most} to -{least}");
    Err(SceneError::new(format!("{at}.ratio"), format!("is {}", show(ratio)), expected))
}

/// Checks a pulley. Its length is given, or the rope has one when the scene starts.
fn check_pulley<B: JointBodies + ?Sized>(joint: &Joint, bodies: &B, at: Arguments<'_>) -> JointCheck {
    let JointKind::Pulley { ground_a, ground_b, ratio, length } = joint.kind else { return Ok(()) };
    check_two(joint, "two bodies in a pulley joint", at)?;
    POSITION.check_pair(ground_a, format_args!("{at}.ground_a"))?;
    POSITION.check_pair(ground_b, format_args!("{at}.ground_b"))?;
    PULLEY_RATIO.check(ratio, format_args!("{at}.ratio"))?;
    given(length, LENGTH, format_args!("{at}.length"))?;
    check_no_softness(joint, "a pulley joint", "a rope that does not stretch", at)?;
    let place = |body: usize, anchor| bodies.place(body, anchor);
    if length.is_none()
        && let (Some(at_a), Some(at_b)) =
            (joint.a.and_then(|a| place(a, joint.anchor_a)), place(joint.b, joint.anchor_b))
        && rope_length([at_a, at_b], [ground_a, ground_b], ratio) < MIN_LENGTH
    {
        let problem = "is missing, and both anchors start at their ground points";
        return Err(SceneError::new(format!("{at}.length"), problem, LENGTH.to_string()));
    }
    Ok(())
}

/// Checks that a mouse joint is given one body alone.
fn check_only_b(joint: &Joint, at: Arguments<'_>) -> JointCheck {
    let problem = "is given to a mouse joint";
    if joint.a.is_some() {
        return Err(SceneError::new(format!("{at}.a"), problem, "b and a target only"));
    }
    if joint.anchor_a != Vec2::ZERO {
        return Err(SceneError::new(format!("{at}.anchor_a"), problem, "anchor_b and a target only"));
    }
    Ok(())
}

fn check_bodies<B: JointBodies + ?Sized>(joint: &Joint, bodies: &B, at: Arguments<'_>) -> JointCheck {
    for (key, index) in [("a", joint.a), ("b", Some(joint.b))] {
        let Some(index) = index else { continue };
        if bodies.moves(index).is_none() {
            let expected = match bodies.count() {
                0 => "a body; the scene has none".to_owned(),
                count => format!("an index from 0 to {}, or an id", count - 1),
            };
            let problem = format!("is {index}, and there is no such body");
            return Err(SceneError::new(format!("{at}.{key}"), problem, expected));
        }
    }
    if joint.a == Some(joint.b) {
        return Err(SceneError::new(format!("{at}.b"), "is the same body as a", "another body"));
    }
    let moves = |body: usize| bodies.moves(body) == Some(true);
    if moves(joint.b) || joint.a.is_some_and(moves) {
        return Ok(());
    }
    let problem = match joint.a {
        Some(_) => "joins two bodies that are not dynamic",
        None => "joins a body that is not dynamic to the world",
    };
    Err(SceneError::new(at.to_string(), problem, "at least one dynamic body"))
}

fn given(value: Option<f32>, range: Range, path: Arguments<'_>) -> JointCheck {
    value.map_or(Ok(()), |value| range.check(value, path))
}

/// Checks limits. Equal limits are valid: they lock the joint.
pub(crate) fn check_limits(limits: Option<[f32; 2]>, range: Range, at: Arguments<'_>) -> JointCheck {
    let Some([lower, upper]) = limits else { return Ok(()) };
    range.check_pair(Vec2::new(lower, upper), format_args!("{at}.limits"))?;
    if lower > upper {
        let problem = format!("is [{}, {}], upside down", show(lower), show(upper));
        return Err(SceneError::new(format!("{at}.limits"), problem, "the lower limit, then the upper"));
    }
    Ok(())
}

pub(crate) fn check_motor(motor: Option<Motor>, at: Arguments<'_>) -> JointCheck {
    let Some(Motor { speed, max }) = motor else { return Ok(()) };
    FINITE.check(speed, format_args!("{at}.motor.speed"))?;
    NOT_NEGATIVE.check(max, format_args!("{at}.motor.max"))
}

/// Checks the axis of a slider or wheel, and what limits and drives it.
fn check_rail(
    axis: Vec2,
    limits: Option<[f32; 2]>,
    motor: Option<Motor>,
    spring: Option<Spring>,
    at: Arguments<'_>,
) -> JointCheck {
    check_direction(axis, format_args!("{at}.axis"))?;
    check_limits(limits, TRAVEL, at)?;
    check_motor(motor, at)?;
    check_spring(spring, TRAVEL, at)
}

fn check_spring(spring: Option<Spring>, target_range: Range, at: Arguments<'_>) -> JointCheck {
    let Some(Spring { hertz, damping_ratio, target }) = spring else { return Ok(()) };
    HERTZ.check(hertz, format_args!("{at}.spring.hertz"))?;
    DAMPING_RATIO.check(damping_ratio, format_args!("{at}.spring.damping_ratio"))?;
    target_range.check(target, format_args!("{at}.spring.target"))
}

/// Checks a distance joint. A rod has a length; a rope, a piston or a winch has one only if a spring holds it.
fn check_distance<B: JointBodies + ?Sized>(joint: &Joint, bodies: &B, at: Arguments<'_>) -> JointCheck {
    let JointKind::Distance { length, limits, motor } = &joint.kind else { return Ok(()) };
    if let Some([_, upper]) = limits
        && *upper < MIN_LENGTH
    {
        let expected = format!("a longest length of at least {MIN_LENGTH} m");
        return Err(SceneError::new(format!("{at}.limits[1]"), format!("is {}", show(*upper)), expected));
    }
    let free = (limits.is_some() || motor.is_some()) && joint.hertz.is_none();
    if free {
        let by = if limits.is_some() { "limits" } else { "a motor" };
        for (key, there) in [("length", length.is_some()), ("damping_ratio", joint.damping_ratio.is_some())] {
            if there {
                let problem = format!("has nothing to do, as the distance is left free by {by}");
                return Err(SceneError::new(format!("{at}.{key}"), problem, "hertz as well, or neither"));
            }
        }
        return Ok(());
    }
    let start = joint.a.map_or(Some(joint.anchor_a.into()), |a| bodies.place(a, joint.anchor_a));
    if length.is_none()
        && let (Some(start), Some(end)) = (start, bodies.place(joint.b, joint.anchor_b))
    {
        let apart = distance(start, end);
        if apart < MIN_LENGTH {
            let problem = format!("is missing, and the anchors start {} m apart", show(apart));
            return Err(SceneError::new(format!("{at}.length"), problem, LENGTH.to_string()));
        }
    }
    Ok(())
}
