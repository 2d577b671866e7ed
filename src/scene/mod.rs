//! Scenes: bodies, shapes, materials, joints, emitters and settings as plain data; the checks of every value; and the
//! tables that a world is made of ([`Compiled`]).

mod builders;
pub mod check;
mod compile;
mod emitter;
mod joint;
mod joint_rows;
mod joint_table;
mod joint_trees;
mod model;
#[cfg(test)]
pub(crate) mod samples;
mod units;

pub(crate) use check::check_gravity;
pub use check::{MAX_ANGLE, MAX_BODIES, MAX_EMITTERS, MAX_JOINTS, MAX_POSITION, MAX_SHAPES, MAX_VALUE, SceneError};
pub(crate) use check::{check_angle, check_geometry, check_joint_command, check_new_joints, check_position};
pub(crate) use compile::Outline;
pub use compile::{Compiled, MassProperties, PathBody};
pub use emitter::Emitter;
#[cfg(feature = "gpu")]
pub(crate) use emitter::MAX_ROWS;
pub use joint::{Joint, JointKind, Motor, Spring};
pub(crate) use joint_table::JointChange;
pub use joint_table::{JointTable, PairExclusions};
pub use model::{
    Body, BodyType, Field, Filter, Geometry, Material, Mode, Path, RestitutionMix, Scene, Settings, Shape, ViewBox,
};
pub use units::Units;
