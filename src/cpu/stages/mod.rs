//! Fast forms of the stages: eight rows at a time where it pays, and shared among threads. Each computes the same bits
//! as the stage of the same name in [`stages`](crate::low_level::stages), whose docs say what it does.

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
