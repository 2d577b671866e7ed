//! Joints in Box2D.
//!
//! Both hold what is rigid alike: 60 Hz, damping 2, at most a quarter of the substep rate, in the biased sweep, and
//! without bias in the relaxing one. What swings (a spring, a distance or a weld of a lower frequency) is a spring in
//! both sweeps, stated by the frequency of the effective mass. So all numbers are handed over as they are, but for:
//!
//! - Hooke's spring, whose stiffness becomes a frequency by the effective mass. That is constant only where the spring
//!   acts on the centres of mass, or on what cannot turn; others are refused.
//! - Box2D's mouse joint is gone since 3.2: a motor joint with a linear spring and no turning does the same.
//!
//! Refused: hinges, sliders and wheels softer than rigid (Box2D softens only one of its two sweeps), joints that break
//! (Box2D only reports it), a wheel's spring about a place other than 0, welds that are rigid with two dampings.

use anyhow::{Result, bail, ensure};
use boxdd::{
    BodyId, ConstraintTuning, DistanceJointDef, JointBase, MotorJointDef, PrismaticJointDef, RevoluteJointDef,
    Transform, Vec2, WeldJointDef, WheelJointDef, World,
};
use drystone::scene::{Compiled, Joint, JointKind, Motor, Spring};

use super::vector;

/// Stiffness of what is meant to be rigid, Hz, and its damping ratio; on both sides.
const RIGID: (f32, f32) = (60.0, 2.0);
/// A mouse joint's, where the scene is silent.
const MOUSE: (f32, f32) = (5.0, 0.7);
/// Box2D lets no distance be shorter, m.
const SHORTEST: f32 = 0.005;

/// Ties two bodies. `ground` stands for the world.
pub fn add(
    world: &mut World,
    joint: &Joint,
    bodies: &[BodyId],
    ground: BodyId,
    compiled: &Compiled,
    start: &Start,
) -> Result<()> {
    if !joint.enabled {
        return Ok(());
    }
    if joint.break_force.is_some() || joint.break_torque.is_some() {
        bail!("Box2D has no joint that breaks (`break_force`, `break_torque`)");
    }
    let damping = joint.damping_ratio.unwrap_or(RIGID.1);
    // Below this it swings.
    let stiffest = RIGID.0.min(0.25 / compiled.params.h);
    let soft = |hertz: Option<f32>| hertz.filter(|&hertz| hertz < stiffest);
    let base = world
        .joint_base(joint.a.map_or(ground, |a| bodies[a]), bodies[joint.b])?
        .with_collide_connected(joint.collide)
        .with_constraint_tuning(ConstraintTuning::new(RIGID.0, damping)?);
    let only_rigid = |what: &str| {
        ensure!(soft(joint.hertz).is_none(), "Box2D has no {what} that is soft across its free direction (`hertz`)");
        Ok(())
    };
    let (anchor_a, anchor_b) = (joint.anchor_a, joint.anchor_b);
    let framed = |base: JointBase, turn_a: f32, turn_b: f32| -> Result<JointBase> {
        Ok(base.with_local_frame_components(vector(anchor_a.into()), turn_a, vector(anchor_b.into()), turn_b)?)
    };
    match &joint.kind {
        JointKind::Distance { length, limits, motor } => {
            let spring = soft(joint.hertz);
            let free = joint.hertz.is_none() && (limits.is_some() || motor.is_some());
            let mut definition = DistanceJointDef::new(framed(base, 0.0, 0.0)?);
            let mut goal = length.unwrap_or(start.distance);
            if let Some([lower, upper]) = *limits {
                definition = definition.enable_limit(true).min_length(lower).max_length(upper);
                // Then Box2D has a rod of that length.
                goal = if lower < upper { goal } else { upper };
            }
            ensure!(free || goal >= SHORTEST, "Box2D has no distance below {SHORTEST} m");
            if let Some(Motor { speed, max }) = *motor {
                definition = definition.enable_motor(true).motor_speed(speed).max_motor_force(max);
            }
            // A spring of 0 Hz leaves the distance free.
            definition = definition
                .length(goal.max(SHORTEST))
                .enable_spring(free || spring.is_some())
                .hertz(spring.unwrap_or(0.0))
                .damping_ratio(damping);
            world.create_distance_joint(&definition)?;
        }
        JointKind::Spring { rest_length, stiffness, damping } => {
            let goal = rest_length.unwrap_or(start.distance);
            ensure!(goal >= SHORTEST, "Box2D has no distance below {SHORTEST} m");
            let Spring { hertz, damping_ratio, .. } = hooke(joint, *stiffness, *damping, compiled)?;
            let definition = DistanceJointDef::new(framed(base, 0.0, 0.0)?)
                .length(goal)
                .enable_spring(true)
                .hertz(hertz)
                .damping_ratio(damping_ratio);
            world.create_distance_joint(&definition)?;
        }
        JointKind::Revolute { reference_angle, limits, motor, spring } => {
            only_rigid("hinge")?;
            let reference = reference_angle.unwrap_or(start.turned);
            let mut definition = RevoluteJointDef::new(framed(base, reference, 0.0)?).enable_spring(false);
            if let Some([lower, upper]) = *limits {
                definition = definition.enable_limit(true).lower_angle(lower).upper_angle(upper);
            }
            if let Some(Motor { speed, max }) = *motor {
                definition = definition.enable_motor(true).motor_speed(speed).max_motor_torque(max);
            }
            if let Some(Spring { hertz, damping_ratio, target }) = *spring {
                definition =
                    definition.enable_spring(true).hertz(hertz).damping_ratio(damping_ratio).target_angle(target);
            }
            world.create_revolute_joint(&definition)?;
        }
        JointKind::Prismatic { axis, reference_angle, limits, motor, spring } => {
            only_rigid("slider")?;
            let turn = axis.y.atan2(axis.x);
            let reference = reference_angle.unwrap_or(start.turned);
            let mut definition = PrismaticJointDef::new(framed(base, turn, turn - reference)?).enable_spring(false);
            if let Some([lower, upper]) = *limits {
                definition = definition.enable_limit(true).lower_translation(lower).upper_translation(upper);
            }
            if let Some(Motor { speed, max }) = *motor {
                definition = definition.enable_motor(true).motor_speed(speed).max_motor_force(max);
            }
            if let Some(Spring { hertz, damping_ratio, target }) = *spring {
                definition =
                    definition.enable_spring(true).hertz(hertz).damping_ratio(damping_ratio).translation(target);
            }
            world.create_prismatic_joint(&definition)?;
        }
        JointKind::Wheel { axis, limits, motor, spring } => {
            only_rigid("wheel")?;
            let turn = axis.y.atan2(axis.x);
            let mut definition = WheelJointDef::new(framed(base, turn, 0.0)?).enable_spring(false);
            if let Some([lower, upper]) = *limits {
                definition = definition.enable_limit(true).lower_translation(lower).upper_translation(upper);
            }
            if let Some(Motor { speed, max }) = *motor {
                definition = definition.enable_motor(true).motor_speed(speed).max_motor_torque(max);
            }
            if let Some(Spring { hertz, damping_ratio, target }) = *spring {
                ensure!(target == 0.0, "Box2D's wheels spring about 0 only (`target`)");
                definition = definition.enable_spring(true).hertz(hertz).damping_ratio(damping_ratio);
            }
            world.create_wheel_joint(&definition)?;
        }
        JointKind::Weld { reference_angle, angular_hertz, angular_damping_ratio } => {
            let (linear, angular) = (soft(joint.hertz), soft(angular_hertz.or(joint.hertz)));
            let angular_damping = angular_damping_ratio.unwrap_or(damping);
            // A rigid part takes the damping of the joint, a soft one has its own.
            #[allow(clippy::float_cmp, reason = "one and the same number, or not")]
            let alike = angular.is_some() || linear.is_some() || angular_damping == damping;
            ensure!(alike, "Box2D has no weld that is rigid with two dampings (`angular_damping_ratio`)");
            let rigid = if linear.is_none() { damping } else { angular_damping };
            let base = base.with_constraint_tuning(ConstraintTuning::new(RIGID.0, rigid)?);
            let definition = WeldJointDef::new(framed(base, reference_angle.unwrap_or(start.turned), 0.0)?)
                .linear_hertz(linear.unwrap_or(0.0))
                .linear_damping_ratio(damping)
                .angular_hertz(angular.unwrap_or(0.0))
                .angular_damping_ratio(angular_damping);
            world.create_weld_joint(&definition)?;
        }
        JointKind::Motor { linear_offset, angular_offset, max_force, max_torque } => {
            let hertz = joint.hertz.unwrap_or(RIGID.0).min(0.25 / compiled.params.h);
            let place = Transform::from_pos_angle(vector((anchor_a + *linear_offset).into()), *angular_offset)?;
            let there = Transform::from_pos_angle(vector(anchor_b.into()), 0.0)?;
            let definition = MotorJointDef::new(base.with_local_frames(place, there))
                .max_velocity_force(0.0)
                .max_velocity_torque(0.0)
                .linear_hertz(hertz)
                .linear_damping_ratio(damping)
                .max_spring_force(*max_force)
                .angular_hertz(hertz)
                .angular_damping_ratio(damping)
                .max_spring_torque(*max_torque);
            world.create_motor_joint(&definition)?;
        }
        JointKind::Mouse { target, max_force } => {
            let place = Transform::from_pos_angle(vector((*target).into()), 0.0)?;
            let there = Transform::from_pos_angle(vector(anchor_b.into()), 0.0)?;
            let definition = MotorJointDef::new(base.with_local_frames(place, there))
                .max_velocity_force(0.0)
                .max_velocity_torque(0.0)
                .linear_hertz(joint.hertz.unwrap_or(MOUSE.0))
                .linear_damping_ratio(joint.damping_ratio.unwrap_or(MOUSE.1))
                .max_spring_force(*max_force)
                .angular_hertz(0.0)
                .max_spring_torque(0.0);
            world.create_motor_joint(&definition)?;
        }
    }
    Ok(())
}

/// How the two bodies of a joint stand when the scene starts: what a joint holds that is not given a length or an angle.
pub struct Start {
    /// Of the anchors, m.
    distance: f32,
    /// Angle of B less that of A, rad.
    turned: f32,
}

impl Start {
    /// Of one joint.
    pub fn of(scene: &drystone::Scene, joint: &Joint) -> Self {
        let place = |body: Option<usize>, anchor: [f32; 2]| match body.map(|body| &scene.bodies[body]) {
            Some(body) => {
                let (sine, cosine) = body.angle.sin_cos();
                let [x, y] = anchor;
                Vec2::new(body.position.x + cosine * x - sine * y, body.position.y + sine * x + cosine * y)
            }
            None => vector(anchor),
        };
        let (from, to) = (place(joint.a, joint.anchor_a.into()), place(Some(joint.b), joint.anchor_b.into()));
        let angle = |body: usize| scene.bodies[body].angle;
        Self {
            distance: (to.x - from.x).hypot(to.y - from.y),
            turned: angle(joint.b) - joint.a.map_or(0.0, angle),
        }
    }
}

/// Hooke's law as a frequency, if it has one.
fn hooke(joint: &Joint, stiffness: f32, damping: f32, compiled: &Compiled) -> Result<Spring> {
    let mut inverse = 0.0;
    for (body, anchor) in [(joint.a, joint.anchor_a), (Some(joint.b), joint.anchor_b)] {
        let Some(body) = body else { continue };
        let arm = anchor - compiled.mass[body].center;
        let turns = compiled.bodies[body].inv_inertia > 0.0;
        ensure!(
            !turns || arm.length() <= 1e-6,
            "Box2D states springs by frequency, which varies for one off the centre of mass (`spring`)"
        );
        inverse += compiled.bodies[body].inv_mass;
    }
    let omega = (stiffness * inverse).sqrt();
    ensure!(omega > 0.0 || damping == 0.0, "Box2D has no damper without a spring (`stiffness` is 0)");
    // Drystone softens what a substep cannot follow, Box2D does not.
    ensure!(omega * compiled.params.h <= std::f32::consts::SQRT_2, "a spring too stiff for a substep (`stiffness`)");
    let damping_ratio = if omega > 0.0 { damping * inverse / (2.0 * omega) } else { 0.0 };
    Ok(Spring { hertz: omega / std::f32::consts::TAU, damping_ratio, target: 0.0 })
}
