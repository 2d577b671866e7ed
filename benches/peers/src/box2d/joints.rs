//! Converts joints to Box2D.
//!
//! Both engines treat rigid joints alike: 60 Hz, damping ratio 2, at most a quarter of the substep rate, in the biased
//! sweep, and no bias in the relaxing sweep. Softer joints (springs, distance joints or welds with a lower frequency)
//! act as springs in both sweeps, given by the frequency of the effective mass (for springs at a point the laws differ:
//! `laws.rs`). All numbers are therefore passed unchanged, except:
//!
//! - Hooke's springs, whose stiffness is converted to a frequency with the effective mass. That is constant only if the
//! spring acts on centres of mass or on bodies that cannot rotate; other springs are rejected.
//! - Mouse joints, which Box2D removed in 3.2: a motor joint with a linear spring and no angular part is equivalent.
//!
//! Rejected: revolute, prismatic and wheel joints softer than rigid (Box2D softens only one of its two sweeps),
//! breakable joints (Box2D only reports overload), wheel springs with a rest position other than 0, rigid welds with
//! two damping ratios.

use anyhow::{Result, bail, ensure};
use boxdd::{
    BodyId, ConstraintTuning, DistanceJointDef, JointBase, MotorJointDef, PrismaticJointDef, RevoluteJointDef,
    Transform, Vec2, WeldJointDef, WheelJointDef, World,
};
use drystone::low_level::scene::Compiled;
use drystone::{Joint, JointKind, Motor, Spring};

use super::vector;

/// Frequency (Hz) and damping ratio of rigid joints, in both engines.
const RIGID: (f32, f32) = (60.0, 2.0);
/// Default frequency (Hz) and damping ratio of mouse joints.
const MOUSE: (f32, f32) = (5.0, 0.7);
/// Minimum length of a distance joint in Box2D, m.
const SHORTEST: f32 = 0.005;

/// Adds a joint between two bodies. `ground` represents the world.
#[allow(clippy::too_many_lines, reason = "an arm for each kind of joint")]
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
    // Joints below this frequency are springs.
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
                // Equal limits make a rod of that length in Box2D.
                goal = if lower < upper { goal } else { upper };
            }
            ensure!(free || goal >= SHORTEST, "Box2D has no distance below {SHORTEST} m");
            if let Some(Motor { speed, max }) = *motor {
                definition = definition.enable_motor(true).motor_speed(speed).max_motor_force(max);
            }
            // A spring of 0 Hz leaves the length free.
            definition = definition
                .length(goal.max(SHORTEST))
                .enable_spring(free || spring.is_some())
                .hertz(spring.unwrap_or(0.0))
                .damping_ratio(damping);
            ensure!(joint.spring_range.is_none() || spring.is_some(), "Box2D's rod is not soft (`spring_range`)");
            world.create_distance_joint(&ranged(definition, joint))?;
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
            world.create_distance_joint(&ranged(definition, joint))?;
        }
        JointKind::Revolute { .. } | JointKind::Prismatic { .. } | JointKind::Wheel { .. }
            if joint.spring_range.is_some() =>
        {
            bail!("Box2D has a range of forces for the spring of a distance joint only (`spring_range`)");
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
            // A rigid part uses the damping ratio of the joint, a soft part its own.
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
            let stiffest = 0.25 / compiled.params.h;
            let hertz = joint.hertz.map_or(stiffest, |hertz| hertz.min(stiffest));
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
        JointKind::Velocity { axis, velocity, angular_velocity, max_force, max_torque } => {
            ensure!(axis.is_none(), "Box2D's motor joint drives both directions (`axis`)");
            let there = Transform::from_pos_angle(vector(anchor_b.into()), 0.0)?;
            let definition = MotorJointDef::new(base.with_local_frames(there, there))
                .linear_velocity(vector((*velocity).into()))
                .angular_velocity(*angular_velocity)
                .max_velocity_force(*max_force)
                .max_velocity_torque(*max_torque)
                .max_spring_force(0.0)
                .max_spring_torque(0.0);
            world.create_motor_joint(&definition)?;
        }
        JointKind::Gear { .. } => bail!("Box2D 3 has no gears"),
        JointKind::Pulley { .. } => bail!("Box2D 3 has no pulleys"),
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

/// Returns the definition with the joint's range of forces.
fn ranged(definition: DistanceJointDef, joint: &Joint) -> DistanceJointDef {
    match joint.spring_range {
        Some([low, high]) => definition.lower_spring_force(low).upper_spring_force(high),
        None => definition,
    }
}

/// Configuration of a joint's bodies at the start of the scene, used where the joint gives no length or reference
/// angle.
pub struct Start {
    /// Distance of the anchors, m.
    pub distance: f32,
    /// Angle of B minus angle of A, rad.
    pub turned: f32,
}

impl Start {
    /// Returns the configuration of a joint.
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
        Self { distance: (to.x - from.x).hypot(to.y - from.y), turned: angle(joint.b) - joint.a.map_or(0.0, angle) }
    }
}

/// Converts a Hooke's spring to frequency and damping ratio, if constant.
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
    // Drystone limits the stiffness to what a substep can integrate, Box2D does not.
    ensure!(omega * compiled.params.h <= std::f32::consts::SQRT_2, "a spring too stiff for a substep (`stiffness`)");
    let damping_ratio = if omega > 0.0 { damping * inverse / (2.0 * omega) } else { 0.0 };
    Ok(Spring { hertz: omega / std::f32::consts::TAU, damping_ratio, target: 0.0 })
}

#[cfg(test)]
mod tests {
    use drystone::low_level::CpuWorld;
    use drystone::{Body, Filter, Scene, Shape, Snapshot};
    use drystone::{Joint, JointKind, Motor, Spring};

    use crate::box2d::laws::{Law, Swing};
    use crate::box2d::{Box2d, Options};
    use crate::serve::World as _;

    const SPRING: Spring = Spring { hertz: 4.0, damping_ratio: 0.7, target: 0.0 };
    /// Half a second, before small differences have grown.
    const STEPS: u32 = 480;

    /// A box on a fixed hinge with another one attached, both rotated. Short steps, as the engines integrate springs
    /// differently (Box2D's lose energy) and compute effective masses at different times. These differences shrink with
    /// the step (2.6 mm for the soft rod with steps of 1/240 s, 0.7 mm here), while a wrong conversion would remain. So
    /// would an initial gap, which each engine closes in its own way; hinge and anchors coincide within a micrometre.
    fn scene(joint: Joint) -> Scene {
        let mut scene = Scene::new("two boxes").gravity(0.0, -10.0);
        (scene.settings.dt, scene.settings.substeps) = (1.0 / 960.0, Some(8));
        // The boxes would touch unless the joint prevents it.
        let alone = Filter { group: -1, ..Filter::default() };
        let nailed = scene.add(Body::dynamic(0.0, 0.0).angle(0.2).shape(Shape::half_box(1.0, 0.5).filter(alone)));
        // The anchors of [`tied`] coincide.
        let other = Body::dynamic(1.243_423, 0.674_211).angle(0.5);
        scene.add(other.shape(Shape::half_box(0.5, 0.25).filter(alone)));
        scene.join(Joint::to_world(JointKind::hinge(), nailed).anchors([0.098_006_66, 0.019_866_93], [0.1, 0.0]));
        scene.join(joint);
        scene
    }

    fn places(snapshot: &Snapshot) -> Vec<[f64; 4]> {
        let place = |[x, y]: [f32; 2], [cosine, sine]: [f32; 2]| [x, y, cosine, sine].map(f64::from);
        snapshot.poses.iter().map(|pose| place(pose.position, pose.rotation)).collect()
    }

    fn apart(one: &[[f64; 4]], other: &[[f64; 4]]) -> f64 {
        let pairs = one.iter().flatten().zip(other.iter().flatten());
        pairs.map(|(one, other)| (one - other).abs()).fold(0.0, f64::max)
    }

    /// Final states of Drystone and of Box2D.
    fn ends(joint: &Joint) -> [Vec<[f64; 4]>; 2] {
        ends_of(&scene(joint.clone()))
    }

    fn ends_of(scene: &Scene) -> [Vec<[f64; 4]>; 2] {
        let mut theirs = Box2d::new(scene, Options { threads: 1, continuous: true }).unwrap();
        let mut ours = CpuWorld::new(scene).unwrap();
        for _ in 0..STEPS {
            theirs.step().unwrap();
            ours.step().unwrap();
        }
        [places(&ours.snapshot()), places(&theirs.snapshot().unwrap())]
    }

    fn tied(kind: JointKind) -> Joint {
        Joint::new(kind, 0, 1).anchors([1.0, 0.2], [-0.4, -0.1])
    }

    /// Every kind of joint agrees, and a slightly different number is detected for each.
    fn kinds() -> Vec<(&'static str, Joint, Joint)> {
        let motor = |speed, max| Some(Motor { speed, max });
        let spring = |hertz, damping_ratio, target| Some(Spring { hertz, damping_ratio, target });
        let distance =
            |length, limits, motor| tied(JointKind::Distance { length, limits, motor }).anchors([1.0, 0.2], [0.4, 0.1]);
        let hinge = |reference_angle, limits, motor, spring| {
            tied(JointKind::Revolute { reference_angle, limits, motor, spring })
        };
        let slider = |angle: f32, limits, motor, spring| {
            tied(JointKind::Prismatic { axis: axis_at(angle).into(), reference_angle: None, limits, motor, spring })
        };
        let wheel = |angle: f32, limits, motor, spring| {
            tied(JointKind::Wheel { axis: axis_at(angle).into(), limits, motor, spring })
        };
        let hooke = |stiffness| Joint::new(JointKind::spring(stiffness, 0.5), 0, 1);
        // Box2D states the velocity in the world's frame, Drystone in A's.
        let drive = |x: f32, force| {
            Joint::to_world(JointKind::velocity([x, 0.3], 1.0, force, 0.5), 1).anchors([0.0, 0.0], [0.2, 0.1])
        };
        vec![
            ("rod", distance(None, None, None), distance(Some(1.0), None, None)),
            ("soft rod", distance(None, None, None).soft(2.0, 0.3), distance(None, None, None).soft(2.2, 0.3)),
            ("rope", distance(None, Some([0.0, 0.9]), None), distance(None, Some([0.0, 1.0]), None)),
            ("winch", distance(None, None, motor(-0.5, 30.0)), distance(None, None, motor(-0.6, 30.0))),
            ("spring", hooke(20.0), hooke(22.0)),
            ("hinge", hinge(None, None, None, None), hinge(None, None, None, None).anchors([1.0, 0.2], [-0.4, 0.0])),
            (
                "hinge with limits",
                hinge(None, Some([-0.3, 0.2]), None, None),
                hinge(Some(0.1), Some([-0.3, 0.2]), None, None),
            ),
            ("driven hinge", hinge(None, None, motor(2.0, 50.0), None), hinge(None, None, motor(2.1, 50.0), None)),
            (
                "springy hinge",
                hinge(Some(0.1), None, None, spring(3.0, 0.5, 0.3)),
                hinge(Some(0.1), None, None, spring(3.0, 0.5, 0.4)),
            ),
            ("slider", slider(0.3, Some([-0.1, 0.1]), None, None), slider(0.3, Some([-0.2, 0.2]), None, None)),
            ("driven slider", slider(0.3, None, motor(1.0, 100.0), None), slider(0.3, None, motor(1.1, 100.0), None)),
            (
                "springy slider",
                slider(0.3, None, None, spring(2.0, 0.5, 0.2)),
                slider(0.3, None, None, spring(2.0, 0.5, 0.3)),
            ),
            (
                "wheel",
                wheel(1.2, Some([-0.3, 0.2]), motor(3.0, 5.0), spring(4.0, 0.7, 0.0)),
                wheel(1.2, Some([-0.3, 0.2]), motor(3.2, 5.0), spring(4.0, 0.7, 0.0)),
            ),
            ("weld", weld(None, None), weld(Some(0.2), None)),
            ("limited spring", hooke(40.0).spring_range(-0.1, 0.1), hooke(40.0).spring_range(-0.1, 0.4)),
            ("velocity", drive(0.4, 50.0), drive(0.5, 50.0)),
            ("weak velocity", drive(0.4, 3.0), drive(0.4, 3.3)),
        ]
    }

    fn weld(reference_angle: Option<f32>, angular_hertz: Option<f32>) -> Joint {
        tied(JointKind::Weld { reference_angle, angular_hertz, angular_damping_ratio: None })
    }

    /// Springs at a point follow each engine's own law ([`laws`](crate::box2d::laws)).
    fn soft_points() -> Vec<(&'static str, Joint, Joint)> {
        let drive = |x: f32, angular_offset, max_force| {
            let linear_offset = [x, 0.1].into();
            // Without a frequency Drystone's is as stiff as a substep allows.
            tied(JointKind::Motor { linear_offset, angular_offset, max_force, max_torque: 10.0 }).soft(60.0, 2.0)
        };
        let mouse = |x: f32| {
            Joint::to_world(JointKind::Mouse { target: [x, 1.0].into(), max_force: 100.0 }, 1)
                .anchors([0.0, 0.0], [0.3, 0.0])
        };
        vec![
            ("soft weld", weld(None, Some(2.0)).soft(3.0, 0.4), weld(None, Some(2.2)).soft(3.0, 0.4)),
            ("motor", drive(0.1, 0.4, 20.0), drive(0.15, 0.4, 20.0)),
            ("weak motor", drive(0.1, 0.4, 4.0), drive(0.1, 0.4, 4.4)),
            ("mouse", mouse(2.0), mouse(2.1)),
        ]
    }

    fn axis_at(angle: f32) -> [f32; 2] {
        [angle.cos(), angle.sin()]
    }

    #[test]
    fn every_kind_of_joint_moves_alike() {
        let mut worst = Vec::new();
        for (name, joint, other) in kinds() {
            let [ours, theirs] = ends(&joint);
            let (differ, noticed) = (apart(&ours, &theirs), apart(&ends(&other)[1], &ours));
            println!("{name:<20}{differ:>10.5}{noticed:>10.5}");
            worst.push((name, differ, noticed));
        }
        for (name, differ, noticed) in worst {
            assert!(differ < 2e-3, "{name}: {differ}");
            assert!(noticed > 5e-3, "{name}: {noticed}");
        }
    }

    /// Even shorter steps: the implicit part turns the direction of Drystone's force before its limit cuts the length
    /// (7 mm with 8 substeps), and Box2D's springs are damped by the step (2 mm).
    #[test]
    fn soft_points_keep_to_their_laws() {
        let by_law = |law, joint: &Joint| {
            let scene = scene(joint.clone());
            Swing::new(law, &scene).after(f64::from(STEPS) * f64::from(scene.settings.dt))
        };
        let ends = |joint: &Joint| {
            let mut scene = scene(joint.clone());
            scene.settings.substeps = Some(64);
            ends_of(&scene)
        };
        let mut worst = Vec::new();
        for (name, joint, other) in soft_points() {
            let laws = [by_law(Law::Drystone, &joint), by_law(Law::Box2d, &joint)];
            let between = apart(&laws[0], &laws[1]);
            let found = ends(&joint);
            for (who, found, law, kept) in
                [("drystone", &found[0], Law::Drystone, &laws[0]), ("box2d", &found[1], Law::Box2d, &laws[1])]
            {
                let (differ, noticed) = (apart(found, kept), apart(found, &by_law(law, &other)));
                println!("{name:<20}{who:<10}{differ:>10.5}{noticed:>10.5}{between:>10.5}");
                worst.push((name, who, differ, noticed, between));
            }
        }
        for (name, who, differ, noticed, between) in worst {
            assert!(differ < 2e-3, "{name}, {who}: {differ}");
            assert!(noticed > 5e-3, "{name}, {who}: {noticed}");
            // The two laws differ measurably; for a joint to the world, whose place on A does not count, they are one.
            assert!(if name == "mouse" { between < 1e-9 } else { between > 4e-3 }, "{name}: {between}");
        }
    }

    #[test]
    fn joints_that_box2d_cannot_do_are_refused_by_name() {
        let off_center = tied(JointKind::spring(20.0, 0.0)).anchors([1.0, 0.2], [0.4, 0.1]);
        let wheel = JointKind::wheel([0.0, 1.0], Spring { hertz: 4.0, damping_ratio: 0.7, target: 0.1 });
        let damper = Joint::new(JointKind::spring(0.0, 1.0), 0, 1);
        let stiff = Joint::new(JointKind::spring(1e9, 1.0), 0, 1);
        let weld = JointKind::Weld { reference_angle: None, angular_hertz: None, angular_damping_ratio: Some(1.0) };
        let (axis, velocity) = (Some([0.0, 1.0].into()), [0.0, 1.0].into());
        let along = JointKind::Velocity { axis, velocity, angular_velocity: 0.0, max_force: 1.0, max_torque: 0.0 };
        for (joint, word) in [
            (off_center, "`spring`"),
            (tied(wheel), "`target`"),
            (damper, "`stiffness`"),
            (stiff, "`stiffness`"),
            (tied(weld), "`angular_damping_ratio`"),
            (tied(JointKind::hinge()).soft(5.0, 1.0), "`hertz`"),
            (tied(JointKind::hinge()).break_force(5.0), "`break_force`"),
            (tied(JointKind::wheel([0.0, 1.0], SPRING)).spring_range(-1.0, 1.0), "`spring_range`"),
            (tied(along), "`axis`"),
        ] {
            let error = Box2d::new(&scene(joint), Options { threads: 1, continuous: true }).err().unwrap();
            let error = format!("{error:#}");
            assert!(error.contains("joints[1]") && error.contains(word), "{error}");
        }
    }

    #[test]
    fn a_joint_that_is_off_does_nothing() {
        let off = Joint { enabled: false, ..tied(JointKind::hinge()) };
        let [ours, theirs] = ends(&off);
        assert!(apart(&ours, &theirs) < 2e-3);
        // The box falls freely for half a second.
        let fallen = 0.674_21 - theirs[1][1];
        assert!((fallen - 1.25).abs() < 0.01, "{fallen}");
    }
}
