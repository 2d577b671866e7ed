//! Rigid bodies and particles in 2D, stepped by compute shaders on the GPU or by the CPU. Both run the same stages in
//! the same order; the CPU's are the reference against which each shader is tested.
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
//! The same scene on the GPU: `World::on_gpu(&Context::new(AdapterChoice::Any)?, &scene)?`. A program that steps on the
//! CPU alone leaves out the feature `gpu`, and with it wgpu.
//!
//! **A debug build steps 66 to 150 times slower than an optimised one.** Cargo applies the profiles of your program,
//! not those of this crate. Add to your `Cargo.toml`:
//!
//! ```toml
//! [profile.dev.package."*"]
//! opt-level = 3
//! debug = false
//! ```
//!
//! # Coming from Box2D
//!
//! A [`Scene`] is plain data: bodies with shapes, joints, settings. A [`World`] is made from it, and steps it.
//!
//! | Box2D | Drystone |
//! |---|---|
//! | `b2CreateWorld`, `b2World_Step` | [`World::new`], [`World::step`]; the length of a step is in [`Settings`] |
//! | `b2BodyDef`, `b2CreateBody` | [`Body`] in a [`Scene`], or [`World::add_bodies`], [`World::remove_bodies`] later |
//! | `b2ShapeDef`, `b2Circle`, `b2Polygon`, … | [`Shape`], with [`Material`] and [`Filter`] |
//! | `b2RevoluteJointDef`, … | [`Joint`] with a [`JointKind`]; [`World::add_joints`] |
//! | `b2BodyId` | [`BodyId`]; bodies of the scene are also found by index or by name, [`World::find`] |
//! | `b2Body_GetPosition`, … | [`World::body`]; of all bodies [`World::transforms`], [`World::transforms_latest`] |
//! | `b2Body_ApplyForce`, `b2Body_SetTransform`, … | [`World::command`] with a [`Command`], at the start of the next step |
//! | `b2World_GetContactEvents`, sensor events | [`World::take_events`], `examples/sensors.rs` |
//! | `b2World_CastRay`, `b2World_OverlapAABB` | [`World::query`] with a batch of [`Query`], `examples/queries.rs` |
//! | `b2BodyDef::isBullet` | [`Body::bullet`], `examples/fast_bodies.rs` |
//! | `b2World_Explode` | [`World::explode`] |
//! | `b2ShapeDistance`, `b2TimeOfImpact`, … | [`geometry`] |
//! | `b2World_Draw` | [`World::debug_draw`] |
//!
//! Beyond Box2D: snapshots and exact replay ([`World::snapshot`], [`World::restore`], [`World::save`],
//! `examples/rollback.rs`, `examples/save_and_load.rs`), thousands of worlds in the same dispatches ([`WorldBatch`],
//! `examples/batch_on_gpu.rs`), bodies by a script ([`Emitter`], `examples/emitters.rs`), your own device, encoder and
//! renderer (`examples/gpu.rs`), and solvers taken apart (`examples/clamping.rs`, `examples/drift.rs`).
//!
//! Units are SI, y is up, angles are in radians, counter-clockwise. Positions are those of a body's origin, not of its
//! centre of mass. Sleeping and events are off unless the [`Settings`] switch them on, and the smaller of two
//! restitutions counts ([`Mixing`]).
//!
//! # Guarantees
//!
//! - **A step never waits for the GPU.** It is recorded without reading back a count; counters arrive a few steps
//!   later.
//! - **Replay is exact.** On the same adapter, driver and build a scene gives the same bits every time, for any buffer
//!   capacities and, on the CPU, for any number of threads.
//! - **The backends agree.** From the same input, counts, orders and colours are equal bit for bit; floats agree within
//!   stated tolerances, stage by stage. Long runs agree in their metrics.
//! - **Nothing is dropped silently.** A step with more contacts than fit solves those that do, is listed in
//!   [`World::overflowed_steps`], and the tables grow. With [`Settings::strict`] it is run again instead. Shapes that
//!   lie on each other by the ten thousand do not hold a device for ever: there they do not meet, and the step is
//!   listed too, or with `strict` an error. A body with a NaN is quarantined and counted.
//! - **Nothing panics on input.** Scenes are checked before a world is made from them, and errors name the place.
//!
//! The stages of a step, the tables between them and both engines are in [`low_level`].

#![cfg_attr(not(feature = "gpu"), allow(dead_code, reason = "what only worlds on a GPU use"))]

mod body_rows;
mod body_view;
mod cancel;
mod command;
mod constants;
mod cpu;
pub mod debug_draw;
mod device_error;
mod event;
mod explosion;
pub mod geometry;
#[cfg(feature = "gpu")]
mod gpu;
#[cfg(not(feature = "gpu"))]
#[path = "gpu_absent.rs"]
mod gpu;
mod hash;
mod host;
mod initial_loads;
mod lanes;
pub mod low_level;
mod mass_scale;
mod math;
mod mover;
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
mod wind;
mod world;
mod world_error;
mod worlds;

/// Hash of the compiler, the target and the sources of this library, 16 hexadecimal digits: two builds with the same
/// one step a world to the same bits.
pub const FINGERPRINT: &str = env!("DRYSTONE_FINGERPRINT");

pub use body_view::{BodyTransform, BodyView};
pub use cancel::CancelToken;
pub use command::{Command, CommandError, JointCommand};
pub use device_error::DeviceError;
pub use event::{Event, EventKind};
pub use explosion::Explosion;
#[cfg(feature = "gpu")]
pub use gpu::{AdapterChoice, Context, ContextError};
pub use mover::{Moved, Mover};
pub use population::{BodyId, JointId, PopulationError};
pub use query::{Answers, Query, QueryBounds, QueryError, QueryKind, RayHit};
pub use scene::{
    Body, BodyType, Emitter, Field, Filter, Geometry, Joint, JointKind, Material, MaterialPair, Mixing, Mode, Motor,
    NamedMaterial, Path, Property, Scene, SceneError, Settings, Shape, ShapeProperty, Spring, ViewBox,
};
pub use snapshot::{Snapshot, SnapshotError, SnapshotFileError};
pub use state::JointReaction;
pub use threads::ThreadsError;
pub use wind::Wind;
pub use world::World;
pub use world_error::WorldError;
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
