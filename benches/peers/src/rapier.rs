//! Runs a scene in Rapier.
//!
//! As for Box2D, every property of a scene is converted or rejected by name. Everything else has Rapier's defaults,
//! which since 0.36 resemble Box2D's: soft contacts, substeps with a relaxing sweep, contact recycling, continuous
//! collision of fast bodies with static ones. Sleeping is off unless the scene enables it.
//!
//! Rejected: emitters, fields, restitution (Rapier has no speed threshold), different static and kinetic friction,
//! surface speeds, rolling resistance, filter groups, and all joints but rigid hinges (with or without limits) and
//! rigid welds, as springs and motors use other parameters.

use anyhow::{Context as _, Result, bail, ensure};
use drystone::low_level::scene::Compiled;
use drystone::{Geometry, Mode, Scene, Settings, Shape};
use drystone::{Joint, JointKind};
use rapier2d::prelude::{
    CoefficientCombineRule, Collider, ColliderBuilder, GenericJointBuilder, Group, InteractionGroups,
    InteractionTestMode, JointAxesMask, JointAxis, MassProperties, PhysicsWorld, Pose, RigidBodyBuilder,
    RigidBodyHandle, Rotation, SharedShape, Vector,
};

use crate::box2d::{HALF_PLANE, Start};
use crate::push::Pushes;
use crate::serve::World;

/// Version of Rapier.
pub const VERSION: &str = "rapier2d 0.36.1 (SIMD 4 wide)";

/// A Rapier world.
pub struct Rapier {
    world: PhysicsWorld,
    /// Bodies, in scene order.
    bodies: Vec<RigidBodyHandle>,
    /// Centre of mass of each body in its frame, m, whose position is reported.
    centers: Vec<Vector>,
    pushes: Pushes,
    steps: u64,
}

impl Rapier {
    /// Builds the scene.
    ///
    /// # Errors
    /// If Rapier lacks a feature of the scene.
    pub fn new(scene: &Scene) -> Result<Self> {
        let compiled = Compiled::new(scene)?;
        refuse(&scene.settings, &compiled)?;
        ensure!(scene.emitters.is_empty(), "Rapier does not support `emitters`");
        ensure!(scene.timeline.is_empty(), "Rapier does not support `timeline`");
        ensure!(scene.fields.is_empty(), "Rapier does not support `fields`: their forces depend on the position");
        let mut world = PhysicsWorld { gravity: vector(scene.gravity.into()), ..PhysicsWorld::new() };
        let parameters = &mut world.integration_parameters;
        parameters.dt = scene.settings.dt;
        parameters.num_solver_iterations = usize::try_from(scene.settings.substep_count())?;
        parameters.warmstart_coefficient = if scene.settings.warm_start { 1.0 } else { 0.0 };
        parameters.contact_recycling = scene.settings.recycle;

        let mut bodies = Vec::with_capacity(scene.bodies.len());
        for (index, body) in scene.bodies.iter().enumerate() {
            let handle = add(&mut world, body, &compiled, index).with_context(|| format!("bodies[{index}]"))?;
            bodies.push(handle);
        }
        if !scene.joints.is_empty() {
            let ground = world.insert_body(RigidBodyBuilder::fixed());
            for (index, joint) in scene.joints.iter().enumerate() {
                let start = Start::of(scene, joint);
                join(&mut world, joint, &bodies, ground, &compiled, &start)
                    .with_context(|| format!("joints[{index}]"))?;
            }
        }
        let centers = compiled.mass.iter().map(|mass| vector(mass.center.into())).collect();
        Ok(Self { world, bodies, centers, pushes: Pushes::of(scene), steps: 0 })
    }
}

impl World for Rapier {
    fn push(&mut self) -> Result<()> {
        for push in &self.pushes.forces {
            let body = &mut self.world.bodies[self.bodies[push.body]];
            body.reset_forces(true);
            body.reset_torques(true);
            match push.point {
                Some(point) => {
                    let at = body.position().transform_point(vector(point));
                    body.add_force_at_point(vector(push.force), at, true);
                }
                None => body.add_force(vector(push.force), true),
            }
            body.add_torque(push.torque, true);
        }
        let dt = self.world.integration_parameters.dt;
        for led in &self.pushes.led {
            let body = &mut self.world.bodies[self.bodies[led.body]];
            let (position, angle) = led.place(self.steps + 1, dt);
            let way = vector(position) - body.translation();
            let turn = Rotation::new(angle) * body.rotation().inverse();
            body.set_linvel(way / dt, true);
            body.set_angvel(turn.angle() / dt, true);
        }
        Ok(())
    }

    fn step(&mut self) -> Result<()> {
        self.world.step();
        self.steps += 1;
        Ok(())
    }

    // Rapier's counters need a feature that costs time.
    fn note_profile(&mut self) -> Result<()> {
        Ok(())
    }

    fn stage_ms(&self) -> &[(&'static str, f64)] {
        &[]
    }

    fn bodies(&mut self) -> Result<Vec<[f32; 7]>> {
        let bodies = self.bodies.iter().zip(&self.centers).map(|(&handle, &center)| {
            let body = &self.world.bodies[handle];
            let (at, turn, velocity) = (body.position().transform_point(center), body.rotation(), body.linvel());
            [at.x, at.y, turn.cos(), turn.sin(), velocity.x, velocity.y, body.angvel()]
        });
        Ok(bodies.collect())
    }
}

/// Rejects settings that Rapier does not have.
fn refuse(settings: &Settings, compiled: &Compiled) -> Result<()> {
    let wants = Settings::default();
    for (what, differs) in [
        ("mode", settings.mode != Mode::Soft),
        ("iterations", settings.iteration_count() != wants.iteration_count()),
        ("relax", !settings.relax),
        ("accumulate", !settings.accumulate),
        ("correct_position", !settings.correct_position),
        ("contact_hertz", settings.contact_hertz.is_some()),
        ("contact_damping_ratio", settings.contact_damping_ratio != wants.contact_damping_ratio),
        ("push_speed", settings.push_speed != wants.push_speed),
    ] {
        ensure!(!differs, "Rapier has no setting for `{what}`");
    }
    ensure!(!compiled.bounces, "Rapier has no speed threshold for `restitution`");
    Ok(())
}

fn add(world: &mut PhysicsWorld, body: &drystone::Body, compiled: &Compiled, index: usize) -> Result<RigidBodyHandle> {
    let never_turns =
        body.fixed_rotation || body.shapes.iter().any(|shape| matches!(shape.geometry, Geometry::Particle { .. }));
    let mut builder = match body.kind {
        drystone::BodyType::Static => RigidBodyBuilder::fixed(),
        drystone::BodyType::Kinematic => RigidBodyBuilder::kinematic_velocity_based(),
        drystone::BodyType::Dynamic => RigidBodyBuilder::dynamic(),
    };
    builder = builder
        .pose(Pose::new(vector(body.position.into()), body.angle))
        .gravity_scale(body.gravity_scale)
        .linear_damping(body.linear_damping)
        .angular_damping(body.angular_damping)
        .ccd_enabled(body.bullet)
        .can_sleep(compiled.settings.sleep && body.can_sleep);
    if never_turns {
        builder = builder.lock_rotations();
    }
    if body.kind != drystone::BodyType::Static {
        builder = builder.linvel(vector(body.velocity.into())).angvel(body.angular_velocity);
    }
    if body.kind == drystone::BodyType::Dynamic {
        // Drystone's mass of all shapes: Rapier also moves the corners of a rounded box outwards.
        let mass = &compiled.mass[index];
        builder = builder.additional_mass_properties(MassProperties::new(
            vector(mass.center.into()),
            mass.mass,
            mass.inertia,
        ));
    }
    let handle = world.insert_body(builder);
    for (number, shape) in body.shapes.iter().enumerate() {
        let collider = collider(shape).with_context(|| format!("shapes[{number}]"))?;
        world.insert_collider(collider, Some(handle));
    }
    Ok(handle)
}

fn collider(shape: &Shape) -> Result<Collider> {
    let material = &shape.material;
    for (what, wanted) in [
        ("kinetic_friction", material.kinetic_friction.is_some_and(|kinetic| kinetic < material.friction)),
        ("tangent_speed", material.tangent_speed != 0.0),
        ("rolling_resistance", material.rolling_resistance != 0.0),
        ("group", shape.filter.group != 0),
    ] {
        ensure!(!wanted, "Rapier has no `{what}`");
    }
    let mut at = Pose::new(vector(shape.offset.into()), shape.rotation);
    let form = match shape.geometry {
        // A particle is a circle on a body with locked rotation.
        Geometry::Circle { radius } | Geometry::Particle { radius } => SharedShape::ball(radius),
        Geometry::Box { half, radius: 0.0 } => SharedShape::cuboid(half.x, half.y),
        Geometry::Box { half, radius } => SharedShape::round_cuboid(half.x, half.y, radius),
        Geometry::Capsule { a, b, radius } => SharedShape::capsule(vector(a.into()), vector(b.into()), radius),
        Geometry::Polygon { ref points, radius } => {
            let corners = points.iter().map(|&corner| vector(corner.into())).collect();
            let polygon = if radius == 0.0 {
                SharedShape::convex_polyline(corners)
            } else {
                SharedShape::round_convex_polyline(corners, radius)
            };
            polygon.context("Rapier does not take this polygon")?
        }
        Geometry::Segment { a, b } => SharedShape::segment(vector(a.into()), vector(b.into())),
        Geometry::Link { .. } => bail!("Rapier has no links of a chain that know their neighbours"),
        // As for Box2D, a large box with one side on the plane.
        Geometry::HalfPlane { normal, offset } => {
            let middle = at.transform_point(vector((normal * (offset - HALF_PLANE)).into()));
            let turn = shape.rotation + normal.y.atan2(normal.x) - std::f32::consts::FRAC_PI_2;
            at = Pose::new(middle, turn);
            SharedShape::cuboid(HALF_PLANE, HALF_PLANE)
        }
    };
    let bits = Group::from_bits_retain;
    let builder = ColliderBuilder::new(form)
        .position(at)
        .density(0.0)
        .friction(material.friction)
        .friction_combine_rule(CoefficientCombineRule::GeometricMean)
        .restitution(0.0)
        .sensor(shape.sensor)
        .collision_groups(InteractionGroups::new(
            bits(shape.filter.category),
            bits(shape.filter.mask),
            InteractionTestMode::And,
        ));
    Ok(builder.build())
}

/// Adds a joint between two bodies. `ground` represents the world.
fn join(
    world: &mut PhysicsWorld,
    joint: &Joint,
    bodies: &[RigidBodyHandle],
    ground: RigidBodyHandle,
    compiled: &Compiled,
    start: &Start,
) -> Result<()> {
    if !joint.enabled {
        return Ok(());
    }
    // Joints below this frequency are springs in Drystone.
    let stiffest = (0.25 / compiled.params.h).min(60.0);
    let soft = |hertz: Option<f32>| hertz.is_some_and(|hertz| hertz < stiffest);
    for (what, wanted) in [
        ("break_force", joint.break_force.is_some()),
        ("break_torque", joint.break_torque.is_some()),
        ("hertz", soft(joint.hertz)),
        ("damping_ratio", joint.damping_ratio.is_some()),
    ] {
        ensure!(!wanted, "`{what}` of joints is not converted to Rapier");
    }
    let mut limited = None;
    let (locked, reference) = match &joint.kind {
        JointKind::Revolute { reference_angle, limits, motor: None, spring: None } => {
            limited = *limits;
            (JointAxesMask::LOCKED_REVOLUTE_AXES, reference_angle.unwrap_or(start.turned))
        }
        JointKind::Weld { reference_angle, angular_hertz, angular_damping_ratio: None } if !soft(*angular_hertz) => {
            (JointAxesMask::LOCKED_FIXED_AXES, reference_angle.unwrap_or(start.turned))
        }
        _ => bail!("only rigid hinges without motor and spring, and rigid welds, are converted to Rapier (`type`)"),
    };
    let mut builder = GenericJointBuilder::new(locked)
        .local_frame1(Pose::new(vector(joint.anchor_a.into()), reference))
        .local_frame2(Pose::new(vector(joint.anchor_b.into()), 0.0))
        .contacts_enabled(joint.collide);
    if let Some(limits) = limited {
        builder = builder.limits(JointAxis::AngX, limits);
    }
    let a = joint.a.map_or(ground, |a| bodies[a]);
    world.impulse_joints.insert(a, bodies[joint.b], builder.build(), true);
    Ok(())
}

fn vector([x, y]: [f32; 2]) -> Vector {
    Vector::new(x, y)
}

#[cfg(test)]
mod tests {
    use drystone::low_level::CpuWorld;
    use drystone::{BodyType, Filter};
    use drystone_scenes::catalogue;

    use super::*;

    fn ends(scene: &Scene, steps: u32) -> (Vec<[f32; 7]>, CpuWorld) {
        let (mut theirs, mut ours) = (Rapier::new(scene).unwrap(), CpuWorld::new(scene).unwrap());
        for _ in 0..steps {
            theirs.push().unwrap();
            theirs.step().unwrap();
            ours.step().unwrap();
        }
        (theirs.bodies().unwrap(), ours)
    }

    /// Scenes are converted with equal positions, velocities and masses, or rejected by name.
    #[test]
    fn every_scene_starts_alike_or_is_refused() {
        let mut mapped = Vec::new();
        for entry in catalogue::entries() {
            let scene = entry.build(&[]).unwrap();
            let compiled = Compiled::new(&scene).unwrap();
            let mut world = match Rapier::new(&scene) {
                Ok(world) => world,
                Err(error) => {
                    assert!(format!("{error:#}").contains('`'), "{}: {error:#}", entry.name);
                    continue;
                }
            };
            mapped.push(entry.name);
            // Rapier computes masses when a step begins.
            let handles = world.bodies.clone();
            for &handle in &handles {
                let PhysicsWorld { bodies, colliders, .. } = &mut world.world;
                bodies[handle].recompute_mass_properties_from_colliders(colliders);
            }
            let close = |a: f32, b: f32| (a - b).abs() <= 1e-4 * a.abs().max(b.abs()).max(1.0);
            let bodies = world.bodies().unwrap();
            for (index, body) in bodies.iter().enumerate() {
                let place = format!("{} bodies[{index}]", entry.name);
                let (pose, state) = (&compiled.poses[index], &compiled.states[index]);
                assert!(close(body[0], pose.position[0]) && close(body[1], pose.position[1]), "{place}: {body:?}");
                assert!(close(body[2], pose.rotation[0]) && close(body[3], pose.rotation[1]), "{place}: {body:?}");
                assert!(close(body[4], state.velocity[0]) && close(body[5], state.velocity[1]), "{place}: {body:?}");
                assert!(close(body[6], state.angular_velocity), "{place}: {body:?}");
                if scene.bodies[index].kind == BodyType::Dynamic {
                    let mass = world.world.bodies[handles[index]].mass();
                    assert!(close(mass, compiled.mass[index].mass), "{place}: {mass}");
                }
            }
        }
        for name in
            ["large_pyramid", "many_pyramids", "joint_grid", "smash", "tumbler", "washer", "compounds", "junkyard"]
        {
            assert!(mapped.contains(&name), "{name} is rejected");
        }
    }

    /// Stacks, hanging cloths and driven bodies end within centimetres of Drystone, and a modified scene is detected.
    #[test]
    #[allow(clippy::cast_precision_loss, reason = "a few bodies")]
    fn it_comes_out_alike() {
        let mean = |bodies: &[[f32; 7]]| bodies.iter().map(|body| body[1]).sum::<f32>() / bodies.len() as f32;
        for (spec, steps, bound) in [
            ("vertical_stack:count=5", 120, 2e-2),
            ("large_pyramid:base=10", 120, 2e-2),
            ("slope:friction=0.6", 120, 2e-2),
            ("joint_grid:size=8", 60, 0.1),
            ("thruster", 20, 5e-2),
        ] {
            let mut scene = catalogue::build(spec).unwrap();
            // Restitution is rejected and irrelevant here.
            scene
                .bodies
                .iter_mut()
                .flat_map(|body| &mut body.shapes)
                .for_each(|shape| shape.material.restitution = 0.0);
            let (theirs, ours) = ends(&scene, steps);
            let here: Vec<f32> = ours.poses().iter().map(|pose| pose.position[1]).collect();
            let ours = here.iter().sum::<f32>() / here.len() as f32;
            assert!((mean(&theirs) - ours).abs() < bound, "{spec}: {} {ours}", mean(&theirs));
            let mut other = scene.clone();
            other.gravity *= 0.0;
            for body in &mut other.bodies {
                body.position.y += 2.0 * bound;
            }
            assert!((mean(&ends(&other, steps).0) - ours).abs() > bound, "{spec}: the modified scene is not detected");
        }
    }

    /// The sliding distance shows how friction is mixed: the geometric mean of 0.9 and 0.1 is 0.3, the arithmetic mean
    /// 0.5.
    #[test]
    fn friction_is_the_geometric_mean() {
        let mut scene = Scene::new("").gravity(0.0, -10.0);
        scene.add(drystone::Body::fixed(0.0, -1.0).shape(Shape::half_box(100.0, 1.0).friction(0.9)));
        scene.add(drystone::Body::dynamic(0.0, 0.5).velocity(6.0, 0.0).shape(Shape::half_box(0.5, 0.5).friction(0.1)));
        let (theirs, ours) = ends(&scene, 180);
        assert!((theirs[1][0] - ours.poses()[1].position[0]).abs() < 0.1, "{theirs:?}");
        // 6²/(2·3) = 6 m.
        assert!((theirs[1][0] - 6.0).abs() < 0.2, "{theirs:?}");
    }

    #[test]
    fn filters_are_handed_over() {
        let lands = |filter: Filter| {
            let mut scene = Scene::new("").gravity(0.0, -10.0);
            scene.add(drystone::Body::fixed(0.0, -1.0).shape(Shape::half_box(10.0, 1.0)));
            scene.add(drystone::Body::dynamic(0.0, 1.0).shape(Shape::circle(0.5).filter(filter)));
            ends(&scene, 120).0[1][1] > 0.0
        };
        assert!(lands(Filter::default()));
        assert!(!lands(Filter { mask: 2, ..Filter::default() }));
        assert!(lands(Filter { category: 1 << 31, ..Filter::default() }));
    }

    #[test]
    fn what_rapier_cannot_do_is_refused() {
        let mut scene = Scene::new("");
        scene.add(drystone::Body::dynamic(0.0, 0.0).shape(Shape::circle(0.5)));
        scene.add(drystone::Body::dynamic(0.0, 0.0).shape(Shape::circle(0.5)));
        assert!(Rapier::new(&scene).is_ok());
        let refused = |change: &dyn Fn(&mut Scene), word: &str| {
            let mut scene = scene.clone();
            change(&mut scene);
            let error = Rapier::new(&scene).err().map(|error| format!("{error:#}")).unwrap_or_default();
            assert!(error.contains(word), "{word}: {error:?}");
        };
        refused(&|scene| scene.settings.relax = false, "`relax`");
        let bouncy = |scene: &mut Scene| {
            scene.settings.restitution_mix = drystone::Mixing::Max;
            scene.bodies[0].shapes[0].material.restitution = 0.5;
        };
        refused(&bouncy, "`restitution`");
        refused(
            &|scene| scene.bodies[1].shapes[0].material.tangent_speed = 0.5,
            "bodies[1]: shapes[0]: Rapier has no `tangent_speed`",
        );
        refused(&|scene| scene.bodies[1].shapes[0].filter.group = -1, "`group`");
        refused(
            &|scene| {
                scene.join(Joint::new(JointKind::rope(3.0), 0, 1));
            },
            "`type`",
        );
        refused(
            &|scene| {
                scene.join(Joint::new(JointKind::hinge(), 0, 1).soft(2.0, 0.5));
            },
            "`hertz`",
        );
    }
}
