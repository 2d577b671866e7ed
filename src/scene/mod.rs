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
mod material;
mod model;
mod outline;
mod path;
mod property;
mod rule;
#[cfg(test)]
pub(crate) mod samples;
mod terrain;
pub(crate) mod timeline;
mod units;

pub(crate) use check::material::check_materials_of;
pub(crate) use check::shape::{check_geometry, check_kinetic_friction, check_shape};
pub(crate) use check::{
    ANGLE, OFFSET, POSITION, SPAN, SPIN, VELOCITY, check_count, check_gravity, check_new_joints, show,
};
pub use check::{MAX_ANGLE, MAX_BODIES, MAX_EMITTERS, MAX_JOINTS, MAX_POSITION, MAX_SHAPES, MAX_VALUE, SceneError};
pub(crate) use compile::body::{BodyTraits, CompiledBody};
pub use compile::mass::MassProperties;
pub(crate) use compile::mass::dynamic_mass;
pub(crate) use compile::shape::{Outline, flatten_shape};
pub use compile::{Compiled, PathBody};
#[cfg(feature = "gpu")]
pub(crate) use emitter::MAX_ROWS;
pub use emitter::{Emitter, PartCounts};
pub use joint::{Joint, JointKind, Motor, Spring};
pub(crate) use joint_table::JointChange;
pub use joint_table::{JointTable, PairExclusions};
pub use material::{Material, MaterialPair, NamedMaterial};
pub use model::{Body, BodyType, Field, Filter, Geometry, Mixing, Mode, Scene, Settings, Shape, ViewBox};
pub use outline::{convex_hull, convex_parts, crosses_itself};
pub use path::Path;
pub use property::{Property, ShapeProperty};
pub use rule::ContactRule;
pub use terrain::tiles_to_chains;
pub use timeline::{StartCondition, TimedAction, TimedCommand};
pub use units::Units;
