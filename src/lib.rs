pub mod cpu;
pub mod draw;
pub mod gpu;
pub mod math;
pub mod scene;
pub mod snapshot;
pub mod stages;
pub mod state;
pub mod step;
mod tables;
pub mod threads;
pub mod types;
pub mod validate;
pub mod world;

pub use cpu::CpuWorld;
pub use gpu::{AdapterChoice, Context, GpuWorld};
pub use scene::{
    Body, BodyType, Filter, Geometry, Material, Mode, RestitutionMix, Scene, SceneError, Settings, Shape,
};
pub use snapshot::Snapshot;
pub use world::{World, WorldError};
