//! Runs a scene in Box2D.
//!
//! Every property of a scene is converted or rejected by name: a comparison of two different scenes is worthless.
//! Everything else has Box2D's defaults: contact recycling, speculative contacts and continuous collision are on.
//! Sleeping is off unless the scene enables it, as in Box2D's own benchmarks of these scenes.

mod joints;
#[cfg(test)]
mod laws;
mod shapes;

pub use joints::Start;
pub use shapes::HALF_PLANE;

use anyhow::{Context as _, Result, bail};
use boxdd::{
    BodyId, BodyType, Foundation, MassData, MixerId, MotionLocks, Position, Profile, Rot, Vec2, WorkerCount, World,
    WorldTransform,
};
use drystone::low_level::scene::Compiled;
use drystone::low_level::types::{ASLEEP, BodyState, Pose};
use drystone::{Geometry, Mixing, Mode, Scene, Settings, Snapshot};

use crate::push::Pushes;
use crate::serve;

/// Version of Box2D in the pinned crate.
pub const VERSION: &str = "Box2D 3.2-dev 56edae79 through boxdd 0.6.0";

/// Instruction set that Box2D is built for: plain x86-64 or NEON unless the feature `avx2` is on.
pub const SIMD: &str = if cfg!(feature = "avx2") { "AVX2, 8 wide" } else { "SSE2 or NEON, 4 wide" };

/// Options that a scene does not determine.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Number of workers, 1 to 32.
    pub threads: usize,
    /// Continuous collision of fast bodies with static ones, the default of Box2D and Drystone.
    pub continuous: bool,
}

/// A Box2D world.
pub struct Box2d {
    world: World,
    /// Bodies, in scene order.
    bodies: Vec<BodyId>,
    /// Centre of mass of each body in its frame, m; snapshots contain its position.
    centers: Vec<[f32; 2]>,
    pushes: Pushes,
    dt: f32,
    substeps: i32,
    steps: u64,
    profile: Vec<(&'static str, f64)>,
}

impl Box2d {
    /// Builds the scene.
    ///
    /// # Errors
    /// If Box2D lacks a feature of the scene, or rejects a value.
    pub fn new(scene: &Scene, options: Options) -> Result<Self> {
        refuse(scene)?;
        let compiled = Compiled::new(scene)?;
        let foundation = Foundation::initialize_default()?;
        let settings = &scene.settings;
        let mut definition = foundation.world_builder();
        if let Some(hertz) = settings.contact_hertz {
            definition = definition.contact_hertz(hertz);
        }
        let definition = definition
            .contact_damping_ratio(settings.contact_damping_ratio)
            .contact_speed(compiled.params.push_speed)
            .gravity(vector(scene.gravity.into()))
            .restitution_threshold(compiled.params.restitution_threshold)
            .enable_sleep(scene.settings.sleep)
            .enable_continuous(options.continuous && scene.settings.continuous)
            .worker_count(WorkerCount::new(u32::try_from(options.threads)?)?)
            .build()?;
        let mut world = foundation.create_world(definition)?;
        if !scene.settings.recycle {
            world.set_contact_recycle_distance(0.0)?;
        }
        world.enable_warm_starting(scene.settings.warm_start)?;
        // Box2D uses the larger value. The callback costs time, so it is set only if needed.
        if scene.settings.restitution_mix == Mixing::Min && compiled.bounces {
            let smaller = MixerId::from_bytes(*b"the smaller of two restitutions ");
            world.set_restitution_callback(smaller, |a, b| a.coefficient.min(b.coefficient))?;
        }

        let mut bodies = Vec::with_capacity(scene.bodies.len());
        for (index, body) in scene.bodies.iter().enumerate() {
            let id = add(&mut world, body, &compiled, index).with_context(|| format!("bodies[{index}]"))?;
            bodies.push(id);
        }
        if !scene.joints.is_empty() {
            let ground = world.create_body(world.body_builder().body_type(BodyType::Static).build()?)?;
            for (index, joint) in scene.joints.iter().enumerate() {
                let start = joints::Start::of(scene, joint);
                joints::add(&mut world, joint, &bodies, ground, &compiled, &start)
                    .with_context(|| format!("joints[{index}]"))?;
            }
        }
        Ok(Self {
            world,
            bodies,
            centers: compiled.mass.iter().map(|mass| mass.center.into()).collect(),
            pushes: Pushes::of(scene),
            dt: scene.settings.dt,
            substeps: i32::try_from(scene.settings.substep_count())?,
            steps: 0,
            profile: Vec::new(),
        })
    }

    /// Returns the state between two steps in Drystone's format, without contacts.
    ///
    /// # Errors
    /// If Box2D reports an error.
    pub fn snapshot(&mut self) -> Result<Snapshot> {
        let mut snapshot = Snapshot { step: self.steps, ..Snapshot::default() };
        for (&id, &center) in self.bodies.iter().zip(&self.centers) {
            let body = self.world.body(id)?;
            // Equal to Box2D's centre of mass, except for static bodies, which have none there.
            let (center, turn) = (body.world_point(vector(center))?, body.rotation()?);
            let velocity = body.linear_velocity()?;
            snapshot.poses.push(Pose {
                position: [center.x, center.y],
                rotation: [turn.cosine(), turn.sine()],
                ..Pose::default()
            });
            snapshot.states.push(BodyState {
                velocity: [velocity.x, velocity.y],
                angular_velocity: body.angular_velocity()?,
                status: if body.is_awake()? { 0 } else { ASLEEP },
                ..BodyState::default()
            });
        }
        Ok(snapshot)
    }

    /// Returns mass (kg), inertia about the centre of mass (kg·m²) and centre of mass in the body's frame (m) of a
    /// body.
    #[cfg(test)]
    fn mass(&mut self, index: usize) -> Result<(f32, f32, [f32; 2])> {
        let body = self.world.body(self.bodies[index])?;
        let center = body.local_center_of_mass()?;
        Ok((body.mass()?, body.rotational_inertia()?, [center.x, center.y]))
    }
}

impl serve::World for Box2d {
    fn push(&mut self) -> Result<()> {
        for push in &self.pushes.forces {
            let mut body = self.world.body(self.bodies[push.body])?;
            match push.point {
                Some(point) => {
                    let at = body.world_point(vector(point))?;
                    body.apply_force(vector(push.force), at, true)?;
                }
                None => body.apply_force_to_center(vector(push.force), true)?,
            }
            body.apply_torque(push.torque, true)?;
        }
        for led in &self.pushes.led {
            let (position, angle) = led.place(self.steps + 1, self.dt);
            let target = WorldTransform::new(position.into(), Rot::from_radians(angle)?)?;
            self.world.body(self.bodies[led.body])?.set_target_transform(target, self.dt, true)?;
        }
        for &id in self.bodies.iter().filter(|_| !self.pushes.fields.is_empty()) {
            let mut body = self.world.body(id)?;
            let mass = body.mass()?;
            if mass > 0.0 {
                let center = body.world_center_of_mass()?;
                let force = self.pushes.pull([center.x, center.y], mass);
                body.apply_force_to_center(vector(force), true)?;
            }
        }
        Ok(())
    }

    fn step(&mut self) -> Result<()> {
        let done = self.world.step(self.dt, self.substeps)?;
        if let Some(error) = done.post_step_error() {
            bail!("Box2D: {error}");
        }
        self.steps += 1;
        Ok(())
    }

    fn note_profile(&mut self) -> Result<()> {
        let rows = rows(&self.world.profile()?);
        if self.profile.is_empty() {
            self.profile = rows.map(|(name, _)| (name, 0.0)).to_vec();
        }
        for (sum, (_, ms)) in self.profile.iter_mut().zip(rows) {
            sum.1 += f64::from(ms);
        }
        Ok(())
    }

    fn stage_ms(&self) -> &[(&'static str, f64)] {
        &self.profile
    }

    fn bodies(&mut self) -> Result<Vec<[f32; 7]>> {
        let Snapshot { poses, states, .. } = self.snapshot()?;
        let bodies = poses.iter().zip(&states).map(|(pose, state)| {
            let ([x, y], [cosine, sine], [u, v]) = (pose.position, pose.rotation, state.velocity);
            [x, y, cosine, sine, u, v, state.angular_velocity]
        });
        Ok(bodies.collect())
    }
}

/// Rejects settings that Box2D does not have, and emitters and timelines, which this program does not run.
fn refuse(scene: &Scene) -> Result<()> {
    for (key, is_given) in [("emitters", !scene.emitters.is_empty()), ("timeline", !scene.timeline.is_empty())] {
        if is_given {
            bail!("Box2D does not support `{key}`");
        }
    }
    let settings = &scene.settings;
    let wants = Settings::default();
    for (what, differs) in [
        ("mode", settings.mode != Mode::Soft),
        ("iterations", settings.iteration_count() != wants.iteration_count()),
        ("relax", !settings.relax),
        ("accumulate", !settings.accumulate),
        ("correct_position", !settings.correct_position),
    ] {
        if differs {
            bail!("Box2D has no setting for `{what}`");
        }
    }
    Ok(())
}

fn add(world: &mut World, body: &drystone::Body, compiled: &Compiled, index: usize) -> Result<BodyId> {
    let never_turns =
        body.fixed_rotation || body.shapes.iter().any(|shape| matches!(shape.geometry, Geometry::Particle { .. }));
    let definition = world
        .body_builder()
        .body_type(match body.kind {
            drystone::BodyType::Static => BodyType::Static,
            drystone::BodyType::Kinematic => BodyType::Kinematic,
            drystone::BodyType::Dynamic => BodyType::Dynamic,
        })
        .position(Position::from([body.position.x, body.position.y]))
        .angle(body.angle)
        .gravity_scale(body.gravity_scale)
        .linear_damping(body.linear_damping)
        .angular_damping(body.angular_damping)
        .bullet(body.bullet)
        .enable_sleep(body.can_sleep)
        .motion_locks(MotionLocks::new(false, false, never_turns))
        .build()?;
    let id = world.create_body(definition)?;
    let mut made = world.body(id)?;
    for (number, shape) in body.shapes.iter().enumerate() {
        shapes::add(&mut made, shape).with_context(|| format!("shapes[{number}]"))?;
    }
    let given = body.mass.is_some() || body.inertia.is_some() || !body.shapes.iter().all(shapes::has_exact_mass);
    if body.kind == drystone::BodyType::Dynamic && given {
        let mass = &compiled.mass[index];
        made.set_mass_data(MassData::new(mass.mass, vector(mass.center.into()), mass.inertia)?)?;
    }
    // A Box2D definition contains the velocity of the origin; scenes contain that of the centre of mass.
    if body.kind != drystone::BodyType::Static {
        made.set_linear_velocity(vector(body.velocity.into()))?;
        made.set_angular_velocity(body.angular_velocity)?;
    }
    Ok(id)
}

fn vector([x, y]: [f32; 2]) -> Vec2 {
    Vec2::new(x, y)
}

/// Returns Box2D's timers by its names, with parts indented below their sum.
fn rows(profile: &Profile) -> [(&'static str, f32); 14] {
    [
        ("step", profile.step),
        ("pairs", profile.pairs),
        ("collide", profile.collide),
        ("solve", profile.solve),
        ("  solver_setup", profile.solver_setup),
        ("  constraints", profile.constraints),
        ("    prepare", profile.prepare_constraints),
        ("    warm_start", profile.warm_start),
        ("    solve_impulses", profile.solve_impulses),
        ("    relax_impulses", profile.relax_impulses),
        ("    integrate", profile.integrate_velocities + profile.integrate_positions),
        ("    store_impulses", profile.store_impulses),
        ("  transforms", profile.transforms),
        ("  refit", profile.refit),
    ]
}

#[cfg(test)]
mod tests {
    use drystone::low_level::CpuWorld;
    use drystone::{Filter, Shape};
    use drystone_scenes::catalogue;

    use super::*;
    use crate::serve::World as _;

    const ONE: Options = Options { threads: 1, continuous: true };

    fn end(spec: &str, steps: u32) -> (Snapshot, Snapshot) {
        let scene = catalogue::build(spec).unwrap();
        let (mut theirs, mut ours) = (Box2d::new(&scene, ONE).unwrap(), CpuWorld::new(&scene).unwrap());
        for _ in 0..steps {
            theirs.push().unwrap();
            theirs.step().unwrap();
            ours.step().unwrap();
        }
        (theirs.snapshot().unwrap(), ours.snapshot())
    }

    /// The rest height of a stack of ten equals the value from a native Box2D build, which a wrong conversion would
    /// change.
    #[test]
    fn a_stack_of_ten_sinks_as_in_box2d_itself() {
        let (theirs, _) = end("vertical_stack:count=10", 1200);
        let top = theirs.poses.last().unwrap().position[1];
        assert!((top - 9.467).abs() < 0.0006, "{top}");
    }

    /// Bodies start in the same state in both, including compound bodies, given masses and fixed rotation.
    #[test]
    fn every_scene_starts_alike() {
        let mut scenes: Vec<Scene> = catalogue::entries().iter().map(|entry| entry.build(&[]).unwrap()).collect();
        let mut odd = Scene::new("odd");
        let mut body = drystone::Body::dynamic(1.0, 2.0).angle(0.7).velocity(3.0, 4.0).angular_velocity(5.0);
        body = body.shape(Shape::half_box(0.5, 0.2).offset(1.0, 0.5).rotation(0.3).density(2.0));
        body = body.shape(Shape::circle(0.3).offset(-1.0, 0.0).density(0.5));
        odd.add(body.clone());
        body.mass = Some(7.0);
        odd.add(body.clone());
        body.inertia = Some(9.0);
        odd.add(body.clone());
        // Box2D stops the rotation of a body with fixed rotation; Drystone keeps the scene's angular velocity.
        body.fixed_rotation = true;
        odd.add(body.angular_velocity(0.0));
        scenes.push(odd);

        let (mut mapped, mut refused) = (0, 0);
        for scene in scenes {
            let compiled = Compiled::new(&scene).unwrap();
            let mut world = match Box2d::new(&scene, ONE) {
                Ok(world) => world,
                Err(error) => {
                    let sliding = format!("{error:#}").contains("kinetic_friction");
                    let comes = format!("{error:#}").contains("emitters");
                    let named = sliding && scene.name == "static_and_kinetic" || comes && scene.name == "rain";
                    assert!(scene.settings.mode != Mode::Soft || named, "{}: {error:#}", scene.name);
                    refused += 1;
                    continue;
                }
            };
            mapped += 1;
            let start = world.snapshot().unwrap();
            let close = |a: f32, b: f32| (a - b).abs() <= 1e-5 * a.abs().max(b.abs()).max(1.0);
            for (index, mass) in compiled.mass.iter().enumerate() {
                let place = format!("{} bodies[{index}]", scene.name);
                let (kg, inertia, center) = world.mass(index).unwrap();
                assert!(close(kg, mass.mass), "{place}: {kg} {mass:?}");
                // Box2D keeps the inertia of bodies with fixed rotation.
                assert!(
                    close(inertia, mass.inertia) || compiled.bodies[index].inv_inertia == 0.0,
                    "{place}: {inertia} {mass:?}"
                );
                // A body without mass may have any centre.
                let same = close(center[0], mass.center.x) && close(center[1], mass.center.y);
                assert!(same || mass.mass == 0.0, "{place}: {center:?} {mass:?}");
                let (mine, state) = (&compiled.poses[index], &compiled.states[index]);
                let (theirs, moving) = (&start.poses[index], &start.states[index]);
                for axis in 0..2 {
                    assert!(close(mine.position[axis], theirs.position[axis]), "{place}: {mine:?} {theirs:?}");
                    assert!((mine.rotation[axis] - theirs.rotation[axis]).abs() < 1e-3, "{place}: {mine:?} {theirs:?}");
                    assert!(close(state.velocity[axis], moving.velocity[axis]), "{place}: {state:?} {moving:?}");
                }
                assert!(close(state.angular_velocity, moving.angular_velocity), "{place}: {state:?} {moving:?}");
            }
        }
        // Two scenes use other solvers, one has two friction coefficients, and one adds bodies while it runs.
        assert_eq!((mapped, refused), (catalogue::entries().len() - 3, 4));
    }

    /// Forces at a point, sliding and bounces end at the same position in both. The thruster runs for a shorter time:
    /// Box2D applies its torque for a step, Drystone for a substep, which soon shows.
    #[test]
    fn forces_and_bounces_agree() {
        for (spec, steps, tolerance) in [
            ("thruster", 20, 2e-2),
            ("circle_masses", 180, 1e-3),
            ("bouncing_ball:restitution=0.5", 300, 1e-2),
            ("slope", 120, 2e-2),
        ] {
            let (theirs, ours) = end(spec, steps);
            for (theirs, ours) in theirs.poses.iter().zip(&ours.poses) {
                for axis in 0..2 {
                    let apart = (theirs.position[axis] - ours.position[axis]).abs();
                    assert!(apart < tolerance, "{spec}: {theirs:?} {ours:?}");
                    let apart = (theirs.rotation[axis] - ours.rotation[axis]).abs();
                    assert!(apart < tolerance, "{spec}: {theirs:?} {ours:?}");
                }
            }
        }
    }

    /// Restitution is mixed by the minimum through the callback, by the maximum by default.
    #[test]
    fn restitution_is_mixed_as_the_scene_says() {
        let height = |mix| {
            let mut scene = Scene::new("").gravity(0.0, -10.0);
            scene.settings.restitution_mix = mix;
            scene.add(drystone::Body::fixed(0.0, -1.0).shape(Shape::half_box(10.0, 1.0).restitution(0.2)));
            scene.add(drystone::Body::dynamic(0.0, 5.0).shape(Shape::circle(0.5).restitution(0.8)));
            let mut world = Box2d::new(&scene, ONE).unwrap();
            let mut highest = f32::NEG_INFINITY;
            for step in 0..180 {
                world.step().unwrap();
                if step > 70 {
                    highest = highest.max(world.snapshot().unwrap().poses[1].position[1]);
                }
            }
            highest
        };
        let (smaller, larger) = (height(Mixing::Min), height(Mixing::Max));
        assert!(smaller < 0.8, "{smaller}");
        assert!(larger > 2.5, "{larger}");
    }

    #[test]
    fn filters_are_handed_over() {
        let lands = |filter: Filter| {
            let mut scene = Scene::new("").gravity(0.0, -10.0);
            scene.add(drystone::Body::fixed(0.0, -1.0).shape(Shape::half_box(10.0, 1.0)));
            scene.add(drystone::Body::dynamic(0.0, 1.0).shape(Shape::circle(0.5).filter(filter)));
            let mut world = Box2d::new(&scene, ONE).unwrap();
            for _ in 0..120 {
                world.step().unwrap();
            }
            world.snapshot().unwrap().poses[1].position[1] > 0.0
        };
        assert!(lands(Filter::default()));
        assert!(!lands(Filter { mask: 2, ..Filter::default() }));
        assert!(lands(Filter { category: 1 << 31, ..Filter::default() }));
    }

    /// The signs of surface speeds agree: a box is carried to the right by a belt with positive speed, whether the belt
    /// is its own surface or the floor's, and whether the floor is a box, a segment or a half plane.
    #[test]
    fn surfaces_run_the_same_way() {
        let speeds = |floor: Shape, carried: Shape| {
            let mut scene = Scene::new("").gravity(0.0, -10.0);
            scene.add(drystone::Body::fixed(0.0, 0.0).shape(floor));
            scene.add(drystone::Body::dynamic(0.0, 0.5).shape(carried));
            let (mut theirs, mut ours) = (Box2d::new(&scene, ONE).unwrap(), CpuWorld::new(&scene).unwrap());
            for _ in 0..60 {
                theirs.step().unwrap();
                ours.step().unwrap();
            }
            [theirs.snapshot().unwrap(), ours.snapshot()].map(|end| end.states[1].velocity[0])
        };
        let carried = Shape::half_box(0.5, 0.5);
        for floor in [
            Shape::half_box(10.0, 1.0).offset(0.0, -1.0),
            Shape::segment([-10.0, 0.0], [10.0, 0.0]),
            Shape::half_plane([0.0, 1.0], 0.0),
            Shape::half_plane([1.0, 0.0], -1.0).offset(0.0, 1.0).rotation(std::f32::consts::FRAC_PI_2),
            Shape::capsule([-10.0, -0.5], [10.0, -0.5], 0.5),
            Shape::rounded_box(10.0, 0.5, 0.5).offset(0.0, -1.0),
        ] {
            let [theirs, ours] = speeds(floor.clone().tangent_speed(0.5), carried.clone());
            assert!((theirs - 0.5).abs() < 1e-3 && (ours - 0.5).abs() < 1e-3, "{floor:?}: {theirs} {ours}");
            let [theirs, ours] = speeds(floor.clone(), carried.clone().tangent_speed(-0.5));
            // The carried box's own surface moves counter-clockwise: to the right at its bottom, which drives the box
            // to the left.
            assert!((theirs + 0.5).abs() < 1e-3 && (ours + 0.5).abs() < 1e-3, "{floor:?}: {theirs} {ours}");
        }
    }

    #[test]
    fn what_box2d_cannot_do_is_refused() {
        let error = Box2d::new(&catalogue::build("small_si").unwrap(), ONE).err().unwrap();
        assert!(error.to_string().contains("mode"), "{error}");
    }
}
