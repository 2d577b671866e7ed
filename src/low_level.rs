//! The engine under [`World`](crate::World) and [`WorldBatch`](crate::WorldBatch): tables, stages, both backends. For
//! code that looks inside, records into a command encoder of its own or compares the backends. Documented, but without
//! a promise of stability.
//!
//! # The map of a step
//!
//! A stage is one word and two files: the function in `src/stages/` is the reference, the kernel of the same name in
//! `shaders/` runs on the GPU. [`step::plan`] returns their order, which [`CpuWorld`] and [`GpuWorld`] both follow.
//! Stages communicate only through these tables (beside the constants in [`types::Params`]):
//!
//! ```text
//! stage                 reads                                       writes
//! ── each step ───────────────────────────────────────────────────────────────────────────────────────────────────
//! command               bodies commands counters island_flags       bodies counters island_flags joint_rows
//!                       islands joint_rows joint_states joints      joint_states joints poses states
//!                       poses states
//! quarantine            bodies counters poses states                accumulators color_claims color_masks counters
//!                                                                   motions poses states
//! bound                 counters motions poses shapes states        aabbs counters partners
//!                       vertices
//! bin                   aabbs cell_ends cell_unsorted shape_cells   cell_ends cell_shapes cell_unsorted shape_cells
//!                       shapes
//! pair                  aabbs cell_ends cell_shapes contacts        contacts counters pair_starts partners
//!                       counters joint_states joints pair_starts
//!                       partners shapes
//! match_contacts        contacts contacts_previous counters         contacts
//!                       pair_starts_previous
//! collide               contacts counters manifolds_previous        contacts counters manifolds
//!                       motions poses shapes vertices
//! wake                  bodies contacts contacts_previous counters  contacts contacts_previous counters island_flags
//!                       island_flags islands joint_states joints    manifolds manifolds_previous merged_starts
//!                       manifolds manifolds_previous merged_starts  pair_starts_previous partners sleeping states
//!                       pair_starts_previous shapes sleeping
//!                       sleeping_starts states
//! collect_events        contacts contacts_previous event_starts     event_starts events joint_states
//!                       joint_states joints manifolds pair_starts
//!                       pair_starts_previous poses states
//! color                 color_claims color_histogram color_masks    color_claims color_histogram color_masks
//!                       color_starts contacts counters slots        color_starts contact_slots contacts counters
//!                       states uncolored                            slots uncolored
//! prepare               bodies contacts manifolds shapes slots      constraints rebounds surfaces
//!                       states
//! prepare_joints        bodies joint_impulses joint_rows            joint_frames joint_impulses joint_rows
//!                       joint_states joints poses states            joint_states joints
//! warm_start            accumulators color_starts constraints       accumulators states
//!                       states surfaces
//! ── each substep ────────────────────────────────────────────────────────────────────────────────────────────────
//! warm_start_joints     accumulators joint_frames joint_impulses    accumulators joint_trees
//!                       joint_rows joint_starts joint_trees states
//! restitution           accumulators color_starts constraints       accumulators constraints rebounds states
//!                       rebounds states surfaces
//! integrate_velocities  accumulators bodies poses states            accumulators states
//! solve_joints          accumulators joint_frames joint_impulses    accumulators joint_impulses joint_trees states
//!                       joint_rows joint_starts joint_trees states
//! solve                 accumulators color_starts constraints       accumulators constraints states surfaces
//!                       rebounds states surfaces
//! integrate_positions   bodies states                               states
//! relax_joints          accumulators joint_frames joint_impulses    accumulators joint_impulses joint_trees states
//!                       joint_rows joint_starts joint_trees states
//! relax                 accumulators color_starts constraints       accumulators constraints states surfaces
//!                       rebounds states surfaces
//! project_joints        joint_frames joint_rows joint_starts        states
//!                       states
//! project               accumulators color_starts constraints       accumulators states
//!                       states
//! ── at the end of the step ──────────────────────────────────────────────────────────────────────────────────────
//! store_impulses        constraints contact_slots contacts          contacts manifolds
//!                       counters manifolds rebounds states
//!                       surfaces
//! continuous            ccd_bodies cell_ends cell_shapes counters   ccd_bodies counters states
//!                       partners poses shapes states vertices
//! finalize              accumulators bodies poses states            poses states
//! sleep                 bodies contacts contacts_previous counters  contacts contacts_previous counters island_flags
//!                       island_flags islands joint_states joints    islands manifolds_previous merged_starts
//!                       manifolds manifolds_previous merged_starts  sleeping sleeping_starts states
//!                       pair_starts sleeping sleeping_starts
//!                       states
//! ```
//!
//! 1. [`command`](stages::command) applies the commands since the last step.
//! 2. [`bound`](stages::bound), [`bin`](stages::bin) and [`pair`](stages::pair) find the pairs of shapes whose boxes
//!    overlap.
//! 3. [`match_contacts`](stages::match_contacts) finds each pair's contact of the previous step,
//!    [`collide`](stages::collide) its contact points now.
//! 4. [`color`](stages::color) sorts the contacts into colours, so that no two of a colour move the same body, and
//!    [`prepare`](stages::prepare) lays them out for the solver. Joints are sorted into colours once.
//! 5. In each substep: impacts ([`restitution`](stages::restitution)), gravity and the last impulses, a
//!    [`solve`](stages::solve) sweep that pushes bodies apart, motion, and a relax sweep that takes back the speed that
//!    the push added. Joints have sweeps of their own, before those of the contacts
//!    ([`solve_joints`](stages::solve_joints)).
//! 6. Impulses are stored for the next step, and [`continuous`](stages::continuous) stops fast bodies that would have
//!    tunnelled.
//!
//! The [`Settings`](crate::Settings) choose which stages run; the code is the same.
//!
//! # Sleep
//!
//! With [`Settings::sleep`](crate::Settings::sleep) bodies that have been quiet for half a second fall asleep by whole
//! islands: bodies connected by contacts and joints ([`sleep`](stages::sleep)). Sleeping bodies do not move by a bit,
//! their contacts are archived with their impulses, and pairs among them are not searched. A body that touches one of
//! them, or a command to one ([`Command::Wake`](crate::Command::Wake)), wakes its island within the same step
//! ([`wake`](stages::wake)); so pairs and contacts are then searched once more. A body can be kept from sleeping
//! ([`Body::sleepless`](crate::Body::sleepless)); it keeps awake what touches it. A step in which all bodies sleep
//! changes nothing: it is counted and not run. All of this is decided on the device and replays exactly.

pub use crate::body_rows::BodyRows;
pub use crate::cpu::CpuWorld;
pub use crate::explosion::explosion_pushes;
#[cfg(feature = "gpu")]
pub use crate::gpu::GpuWorld;
pub use crate::population::{Alteration, Journal};
pub use crate::world::{lineage, pending_commands};

#[cfg(test)]
mod public_items;

/// Constants of the physics: unit, usual value, and what breaks with another value.
///
/// ```
/// use drystone::low_level::constants::{DEFAULT_SLOP, SPECULATIVE_DISTANCE};
///
/// assert!(SPECULATIVE_DISTANCE > DEFAULT_SLOP, "contacts begin before they push");
/// ```
pub mod constants {
    pub use crate::constants::*;
}

/// The CPU engine: the stages for eight rows at a time, on one thread or several.
///
/// ```
/// use drystone::low_level::CpuWorld;
/// use drystone::low_level::state::hash;
/// use drystone::{Body, Scene, Shape};
///
/// let mut scene = Scene::new("ball");
/// scene.add(Body::dynamic(0.0, 4.0).shape(Shape::circle(0.5)));
///
/// let (mut one, mut two) = (CpuWorld::new(&scene)?, CpuWorld::new(&scene)?.with_threads(2)?);
/// for _ in 0..60 {
///     one.step()?;
///     two.step()?;
/// }
/// assert_eq!(hash(&one.snapshot()), hash(&two.snapshot()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub mod cpu {
    pub use crate::cpu::*;
}

/// The GPU engine: shaders, buffers, and the recording of steps.
///
/// ```no_run
/// use drystone::low_level::gpu::GpuWorld;
/// use drystone::{AdapterChoice, Body, Context, Scene, Shape};
///
/// let mut scene = Scene::new("ball");
/// scene.add(Body::dynamic(0.0, 4.0).shape(Shape::circle(0.5)));
/// let mut world = GpuWorld::new(&Context::new(AdapterChoice::Any)?, &scene)?;
/// world.step()?; // Records and submits the step; nothing is waited for.
/// println!("{:?}", world.snapshot()?.poses); // Waits for the device.
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[cfg(feature = "gpu")]
pub mod gpu {
    pub use crate::gpu::*;
}

/// The hash of scenes and states, FNV-1a.
///
/// ```
/// use drystone::low_level::hash::Fnv;
///
/// // The published hash of "a".
/// assert_eq!(Fnv::START.bytes(b"a").0, 0xaf63_dc4c_8601_ec8c);
/// ```
pub mod hash {
    pub use crate::hash::*;
}

/// Arithmetic on eight constraints at a time, by the instructions that the processor has.
///
/// ```
/// use drystone::low_level::lanes::WIDTH;
///
/// assert_eq!(WIDTH, 8);
/// ```
pub mod lanes {
    pub use crate::lanes::*;
}

/// Vector and rotation arithmetic that Rust and WGSL share, to the same bits on every CPU.
///
/// ```
/// use drystone::low_level::math::{rotate, rotation};
///
/// let north = rotate(rotation(std::f32::consts::FRAC_PI_2), [1.0, 0.0].into());
/// assert!(north.x.abs() < 1e-6 && (north.y - 1.0).abs() < 1e-6);
/// ```
pub mod math {
    pub use crate::math::*;
}

/// Slots and ids of bodies and joints that are added to and removed from a running world, and the journal of
/// changes.
///
/// ```
/// use drystone::{Body, Scene, Shape, World};
///
/// let mut scene = Scene::new("ball");
/// scene.add(Body::dynamic(0.0, 4.0).shape(Shape::circle(0.5)));
///
/// let mut world = World::new(&scene)?;
/// let first = world.add_bodies(&[Body::dynamic(2.0, 4.0).shape(Shape::circle(0.5))])?[0];
/// world.remove_bodies(&[first])?;
/// world.step()?;
/// let second = world.add_bodies(&[Body::dynamic(2.0, 4.0).shape(Shape::circle(0.5))])?[0];
/// assert_eq!(first.index, second.index, "the slot is used again");
/// assert_ne!(first.generation, second.generation, "the id is not");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub mod population {
    pub use crate::population::*;
}

/// Queries between two steps: rays, points, boxes and shapes ([`Query`](crate::Query)).
///
/// ```
/// use drystone::{Body, Query, Scene, Shape, World};
///
/// let mut scene = Scene::new("ball");
/// scene.add(Body::dynamic(0.0, 4.0).shape(Shape::circle(0.5)));
///
/// let mut world = World::new(&scene)?;
/// let answers = world.query(&[Query::ray([0.0, 10.0], [0.0, -20.0])])?;
/// let hit = answers.hit(0).expect("the ball is below");
/// assert!((hit.point[1] - 4.5).abs() < 1e-3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub mod query {
    pub use crate::query::*;
}

/// The reference: a world stepped by the plain functions of [`stages`] alone.
///
/// ```
/// use drystone::low_level::CpuWorld;
/// use drystone::low_level::reference::Reference;
/// use drystone::{Body, Scene, Shape};
///
/// let mut scene = Scene::new("ball");
/// scene.add(Body::dynamic(0.0, 4.0).shape(Shape::circle(0.5)));
///
/// let (mut reference, mut engine) = (Reference::new(&scene)?, CpuWorld::new(&scene)?);
/// for _ in 0..60 {
///     reference.step();
///     engine.step()?;
/// }
/// assert_eq!(reference.tables().poses, engine.tables().poses);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub mod reference {
    pub use crate::reference::*;
}

/// The tables of a world as made from a scene, and the bounds of a scene's values.
///
/// ```
/// use drystone::low_level::scene::Compiled;
/// use drystone::{Body, Scene, Shape};
///
/// let mut scene = Scene::new("ball");
/// scene.add(Body::dynamic(0.0, 4.0).shape(Shape::circle(0.5)));
/// assert_eq!(Compiled::new(&scene)?.shapes.len(), 1);
/// # Ok::<(), drystone::SceneError>(())
/// ```
pub mod scene {
    pub use crate::scene::*;
}

/// The state between two steps, and its check against a world.
///
/// ```
/// use drystone::{Body, Scene, Shape, World};
///
/// let mut scene = Scene::new("ball");
/// scene.add(Body::dynamic(0.0, 4.0).shape(Shape::circle(0.5)));
///
/// let mut world = World::new(&scene)?;
/// let start = world.snapshot()?;
/// world.step()?;
/// world.restore(&start)?;
/// assert_eq!(world.snapshot()?.poses, start.poses);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub mod snapshot {
    pub use crate::snapshot::*;
}

/// The stages of a step as plain functions on the tables: the reference for both engines.
///
/// ```
/// use drystone::low_level::scene::Compiled;
/// use drystone::low_level::stages::finalize::finalize;
/// use drystone::low_level::types::Accumulator;
/// use drystone::{Body, Scene, Shape};
///
/// let mut scene = Scene::new("ball");
/// scene.add(Body::dynamic(0.0, 4.0).shape(Shape::circle(0.5)));
///
/// let Compiled { params, bodies, mut states, mut poses, .. } = Compiled::new(&scene)?;
/// states[0].delta_position = [0.25, 0.0];
/// finalize(&params, &bodies, &[Accumulator::default()], &mut states, &mut poses);
/// assert_eq!(poses[0].position, [0.25, 4.0]);
/// # Ok::<(), drystone::SceneError>(())
/// ```
pub mod stages {
    pub use crate::stages::*;
}

/// Hash, metrics and reports of a state.
///
/// ```
/// use drystone::low_level::state::{hash, metrics};
/// use drystone::{Body, Scene, Shape, World};
///
/// let mut scene = Scene::new("ball");
/// scene.add(Body::dynamic(0.0, 4.0).shape(Shape::circle(0.5)).velocity(2.0, 0.0));
/// let mut world = World::new(&scene)?;
/// let start = world.snapshot()?;
/// assert!(metrics(world.compiled(), &start).kinetic_energy > 1.0);
/// world.step()?;
/// assert_ne!(hash(&start), hash(&world.snapshot()?));
/// # Ok::<(), drystone::WorldError>(())
/// ```
pub mod state {
    pub use crate::state::*;
}

/// The order of the stages in a step.
///
/// ```
/// use drystone::Settings;
/// use drystone::low_level::step::{Stage, plan};
///
/// let plan = plan(&Settings::default(), false, false);
/// assert_eq!(plan.iter().filter(|op| op.stage == Stage::Solve).count(), 4, "once in each substep");
/// ```
pub mod step {
    pub use crate::step::*;
}

/// Copies of all tables of a world, by which the backends are compared stage by stage.
///
/// ```
/// use drystone::low_level::CpuWorld;
/// use drystone::{Body, Scene, Shape};
///
/// let mut scene = Scene::new("ball");
/// scene.add(Body::dynamic(0.0, 4.0).shape(Shape::circle(0.5)));
///
/// assert_eq!(CpuWorld::new(&scene)?.tables().poses[0].position, [0.0, 4.0]);
/// # Ok::<(), drystone::WorldError>(())
/// ```
pub mod tables {
    pub use crate::tables::*;
}

/// Parallel loops whose results do not depend on the number of threads.
///
/// ```
/// use drystone::low_level::threads::Threads;
///
/// let threads = Threads::new(2)?;
/// assert_eq!(threads.enter(|| 6 * 7), 42);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub mod threads {
    pub use crate::threads::*;
}

/// Structs and bits that Rust and WGSL share: the rows of the tables.
///
/// ```
/// use drystone::low_level::types::Pose;
///
/// assert_eq!(size_of::<Pose>(), 32, "as in shaders/types.wgsl");
/// ```
pub mod types {
    pub use crate::types::*;
}
