//! Rigid bodies and particles in 2D, stepped by compute shaders on the GPU, with a CPU reference that runs the same
//! stages in the same order.
//!
//! ```
//! use drystone::{Body, Scene, Shape, World};
//!
//! let mut scene = Scene::new("hello");
//! scene.add(Body::fixed(0.0, -1.0).shape(Shape::half_box(50.0, 1.0)));
//! let ball = scene.add(Body::dynamic(0.0, 4.0).shape(Shape::circle(0.5)));
//!
//! let mut world = World::new(&scene)?;
//! for _ in 0..120 {
//!     world.step()?;
//! }
//! let height = world.body(ball)?.position().y;
//! assert!((height - 0.5).abs() < 0.01, "the ball rests on the ground, not at {height} m");
//! # Ok::<(), drystone::WorldError>(())
//! ```
//!
//! The same scene on the GPU: `World::on_gpu(&Context::new(AdapterChoice::Any)?, &scene)?`. On your own device, in your
//! own encoder, for your own renderer: `examples/gpu.rs`. Either backend, chosen at run time: [`World`]. Thousands of
//! worlds in the same dispatches, as learning needs them: [`WorldBatch`], `examples/batch_on_gpu.rs`. A program that steps on the CPU
//! alone leaves out the feature `gpu`, and with it wgpu.
//!
//! **A debug build steps 66 to 150 times slower than an optimised one.** Cargo applies the profiles of your program, not
//! those of this crate; three lines in its `Cargo.toml` mend it:
//!
//! ```toml
//! [profile.dev.package."*"]
//! opt-level = 3
//! debug = false
//! ```
//!
//! | to do | see |
//! |---|---|
//! | read a body, or all | [`World::body`], [`World::transforms`], [`World::transforms_latest`] |
//! | push, move, stop a body | [`World::command`] |
//! | add, remove, find bodies | [`World::add_bodies`], [`World::remove_bodies`], [`World::find`] |
//! | hear of contacts and sensors | [`World::take_events`], `examples/sensors.rs` |
//! | cast rays, pick | [`World::query`], `examples/queries.rs` |
//! | go back, save, load | [`World::restore`], [`World::save`], `examples/rollback.rs`, `examples/save_and_load.rs` |
//! | make bodies by a script | [`Emitter`], `examples/emitters.rs` |
//! | keep fast bodies from passing through others | [`Body::bullet`], `examples/fast_bodies.rs` |
//! | see what a solver's parts are for | `examples/clamping.rs` (accumulated impulses), `examples/drift.rs` (bias) |
//!
//! Units are SI, y is up, angles are in radians, counter-clockwise.
//!
//! # The map of a step
//!
//! A stage is one word and two files: the function in `src/stages/` is the reference, the kernel of the same name in
//! `shaders/` is what the GPU runs. [`step::plan`] says in which order; [`CpuWorld`](low_level::CpuWorld) and
//! [`GpuWorld`](low_level::GpuWorld) both follow it.
//! Between stages there are only these tables (the constants in [`types::Params`] aside):
//!
//! ```text
//! stage                 reads                                       writes
//! ── each step ───────────────────────────────────────────────────────────────────────────────────────────────────
//! command               bodies commands island_flags islands        bodies counters island_flags joint_rows
//!                       joint_rows joint_states joints poses        joint_states joints poses states
//!                       states
//! guard                 bodies counters poses states                accumulators color_claims color_masks counters
//!                                                                   poses states swings
//! bound                 counters poses shapes states vertices       aabbs counters partners
//! bin                   aabbs cell_ends cell_unsorted shape_cells   cell_ends cell_shapes cell_unsorted shape_cells
//!                       shapes
//! pair                  aabbs cell_ends cell_shapes contacts        contacts counters pair_starts partners
//!                       counters joint_states joints pair_starts
//!                       partners shapes
//! recall                contacts contacts_previous counters         contacts
//!                       pair_starts_previous
//! collide               contacts counters manifolds_previous poses  contacts counters manifolds
//!                       shapes swings vertices
//! wake                  bodies contacts contacts_previous counters  contacts contacts_previous counters island_flags
//!                       island_flags islands joint_states joints    manifolds manifolds_previous merged_starts
//!                       manifolds manifolds_previous merged_starts  pair_starts_previous partners sleeping states
//!                       pair_starts_previous shapes sleeping
//!                       sleeping_starts states
//! report                contacts contacts_previous event_starts     event_starts events joint_states
//!                       joint_states joints manifolds pair_starts
//!                       pair_starts_previous poses states
//! color                 color_claims color_histogram color_masks    color_claims color_histogram color_masks
//!                       contacts counters states uncolored          color_starts contacts counters slots uncolored
//! prepare               bodies contacts manifolds shapes slots      constraints rebounds surfaces
//!                       states
//! prepare_joints        bodies joint_impulses joint_rows            joint_frames joint_impulses joint_rows
//!                       joint_states joints poses states            joint_states joints
//! warm_start            accumulators color_starts constraints       accumulators
//!                       surfaces
//! ── each substep ────────────────────────────────────────────────────────────────────────────────────────────────
//! warm_start_joints     accumulators joint_frames joint_impulses    accumulators
//!                       joint_rows joint_starts states
//! integrate_velocities  accumulators bodies poses states            accumulators states
//! solve_joints          accumulators joint_frames joint_impulses    accumulators joint_impulses states
//!                       joint_rows joint_starts states
//! solve                 color_starts constraints rebounds states    constraints rebounds states surfaces
//!                       surfaces
//! integrate_positions   bodies states                               states
//! relax_joints          accumulators joint_frames joint_impulses    accumulators joint_impulses states
//!                       joint_rows joint_starts states
//! relax                 color_starts constraints rebounds states    constraints rebounds states surfaces
//!                       surfaces
//! project_joints        joint_frames joint_rows joint_starts        states
//!                       states
//! project               color_starts constraints states             states
//! ── at the end of the step ──────────────────────────────────────────────────────────────────────────────────────
//! restitution           color_starts constraints rebounds states    constraints rebounds states
//! store_impulses        constraints counters slots surfaces         contacts manifolds
//! continuous            cell_ends cell_shapes counters movers       counters movers states
//!                       partners poses shapes states vertices
//! finalize              bodies poses states                         poses
//! sleep                 bodies contacts contacts_previous counters  contacts contacts_previous counters island_flags
//!                       island_flags islands joint_states joints    islands manifolds_previous merged_starts
//!                       manifolds manifolds_previous merged_starts  sleeping sleeping_starts states
//!                       pair_starts sleeping sleeping_starts
//!                       states
//! ```
//!
//! In words: do what was asked of bodies since the last step ([`command`](low_level::stages::command)); find the pairs of shapes
//! whose boxes overlap ([`bound`](low_level::stages::bound), [`bin`](low_level::stages::bin), [`pair`](low_level::stages::pair)); find each pair's contact
//! of a step ago ([`recall`](low_level::stages::recall)) and its contact points now
//! ([`collide`](low_level::stages::collide)); sort the contacts into colours, so that no two of a colour move the same body
//! ([`color`](low_level::stages::color)); lay them out for the solver ([`prepare`](low_level::stages::prepare)). Then several times, in
//! short substeps: gravity and last impulses, one [`solve`](low_level::stages::solve) sweep that pushes bodies apart, motion, one
//! that takes back the speed the push added (relax). Joints, if there are any, are sorted into colours once and have
//! sweeps of their own, before those of the contacts ([`solve_joints`](low_level::stages::solve_joints)). Last: bounces
//! ([`restitution`](low_level::stages::restitution)), impulses put by for the next step, and fast bodies stopped before what they
//! would have jumped over ([`continuous`](low_level::stages::continuous)). Which of this happens is data ([`Settings`]), not other
//! code.
//!
//! # Sleep
//!
//! With [`Settings::sleep`] bodies that have been quiet for half a second fall asleep, by whole islands: what hangs together
//! by contacts and joints ([`sleep`](low_level::stages::sleep)). Asleep they do not move by a bit, their contacts are put by with
//! their impulses, and pairs among them are not looked for. What touches one of them, or a command to one
//! ([`Command::Wake`]), wakes its island within the same step ([`wake`](low_level::stages::wake)), which is why pairs and contacts are
//! then found once more. Whoever must not sleep says so ([`Body::sleepless`]), and keeps awake what touches it. When nobody
//! is awake a step changes nothing: it is counted and not run. All of this is found on the device and replays exactly.
//!
//! | where | what |
//! |---|---|
//! | [`Scene`] | what a user builds: bodies, shapes, joints, settings |
//! | [`World`], [`WorldBatch`] | one world on either backend, and many |
//! | [`Command`], [`JointCommand`], [`Explosion`] | what may be asked of bodies and joints between two steps |
//! | [`Event`] | what happened in a step: contacts that began and ceased, sensors |
//! | [`BodyId`], [`JointId`], [`Emitter`] | bodies and joints that come and go while a world runs, by hand or by a script |
//! | [`Query`] | rays, points, boxes and shapes against the world between two steps |
//! | [`Snapshot`] | the state between two steps |
//! | [`low_level`] | the pipeline, the structs it shares with WGSL, the backends, hash and metrics of a state |
//!
//! # What is promised
//!
//! - **A step never waits.** The host records it without knowing a single count; the GPU decides them. Counters come
//!   back a few steps later.
//! - **Replay is exact.** On the same adapter, driver and build a scene gives the same bits every time, whatever the
//!   capacities; on the CPU for any number of threads as well. [`state::hash`] is equal or it is a bug.
//! - **The backends agree.** What is counted, sorted and coloured is the same bit for bit, from the same input; what is
//!   computed in floats agrees within stated tolerances, stage by stage. Long runs agree in their metrics.
//! - **Nothing is dropped silently.** Every table has a capacity and an overflow bit. A step that finds more contacts
//!   than fit solves those that do, reports it ([`World::overflowed_steps`]) and the table grows. With
//!   [`Settings::strict`] such a step is run again instead. A body that comes to hold a NaN is taken out and counted
//!   ([`quarantined`](low_level::types::Counters::quarantined)).
//! - **Nothing panics on input.** Scenes are checked before anything is made from them, and errors name the place.

#![cfg_attr(not(feature = "gpu"), allow(dead_code, reason = "what only worlds on a GPU use"))]

mod body_view;
mod cancel;
mod command;
mod constants;
mod cpu;
mod device_error;
mod event;
mod explosion;
#[cfg(feature = "gpu")]
mod gpu;
#[cfg(not(feature = "gpu"))]
#[path = "gpu_absent.rs"]
mod gpu;
mod host;
pub mod low_level;
mod math;
mod population;
mod query;
mod reference;
mod scene;
mod snapshot;
mod stages;
mod state;
mod step;
mod tables;
mod threads;
mod types;
mod world;
mod worlds;

/// Hash of the compiler, the target and the sources of this library, 16 hexadecimal digits: two builds with the same one
/// step a world to the same bits.
pub const FINGERPRINT: &str = env!("DRYSTONE_FINGERPRINT");

pub use body_view::{BodyTransform, BodyView};
pub use cancel::CancelToken;
pub use command::{Command, CommandError, JointCommand};
pub use device_error::DeviceError;
pub use event::{Event, EventKind};
pub use explosion::Explosion;
#[cfg(feature = "gpu")]
pub use gpu::{AdapterChoice, Context, ContextError};
pub use population::{BodyId, JointId, PopulationError};
pub use query::{Answers, Query, QueryBounds, QueryError, RayHit};
pub use scene::{
    Body, BodyType, Emitter, Field, Filter, Geometry, Joint, JointKind, Material, Mode, Motor, Path, RestitutionMix,
    Scene, SceneError, Settings, Shape, Spring, ViewBox,
};
pub use snapshot::{Snapshot, SnapshotError, SnapshotFileError};
pub use state::JointReaction;
pub use threads::ThreadsError;
pub use world::{World, WorldError};
pub use worlds::WorldBatch;

// Types of theirs are in signatures: with these a user need not find the version that fits.
pub use glam;
#[cfg(feature = "gpu")]
pub use wgpu;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(doctest)]
#[doc = include_str!("../docs/book/src/getting-started.md")]
struct GettingStarted;

#[cfg(doctest)]
#[doc = include_str!("../docs/book/src/scene-files.md")]
struct SceneFiles;
