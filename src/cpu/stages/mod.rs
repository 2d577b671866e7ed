//! The stages of a step, one file each, beside the shader of the same name. The functions here are the CPU reference:
//! [`crate::cpu::CpuWorld`] runs them, and every test of a shader compares with them.

pub mod bin;
pub mod bound;
pub mod collide;
pub mod color;
pub mod command;
pub mod continuous;
pub mod finalize;
pub mod guard;
pub mod integrate_positions;
pub mod integrate_velocities;
pub mod pair;
pub mod prepare;
pub mod prepare_joints;
pub mod project;
pub mod project_joints;
pub mod recall;
pub mod report;
pub mod restitution;
pub mod sleep;
pub mod solve;
pub mod solve_joints;
pub mod store_impulses;
pub mod wake;
pub mod warm_start;
pub mod warm_start_joints;
