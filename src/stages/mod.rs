//! The stages of a step.
pub use crate::cpu::stages::*;
