//! The stages of a step, one file each, beside the shader of the same name. Together they are the reference, which
//! defines what a step does.
//!
//! A stage is a plain function over the tables named in the map of a step (crate docs). It visits bodies, shapes,
//! contacts or joints one after the other and does with each what one invocation of the kernel does, in the same order,
//! under the same names. [`Reference`](crate::reference::Reference) runs the stages in the order of
//! [`step::plan`](crate::step::plan); shaders are compared with it, and the CPU engine ([`crate::cpu`]) equals it to
//! the last bit.

pub mod bin;
pub mod bound;
pub mod collect_events;
pub mod collide;
pub mod color;
pub mod command;
pub mod continuous;
pub mod finalize;
pub mod integrate_positions;
pub mod integrate_velocities;
pub mod match_contacts;
pub mod pair;
pub mod prepare;
pub mod prepare_joints;
pub mod project;
pub mod project_joints;
pub mod quarantine;
pub mod restitution;
pub mod sleep;
pub mod solve;
pub mod solve_joints;
pub mod store_impulses;
pub mod wake;
pub mod warm_start;
pub mod warm_start_joints;
