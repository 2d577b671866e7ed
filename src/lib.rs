pub mod draw;
pub mod math;
pub mod scene;
pub mod types;

pub use scene::{
    Body, BodyType, Filter, Geometry, Material, Mode, RestitutionMix, Scene, SceneError, Settings, Shape,
};
