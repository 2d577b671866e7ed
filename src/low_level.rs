//! The engine under [`World`](crate::World) and [`WorldBatch`](crate::WorldBatch): tables, stages, both backends. For
//! code that looks inside, records into a command encoder of its own or compares the backends. Documented, but without
//! a promise of stability.

pub use crate::cpu::CpuWorld;
#[cfg(feature = "gpu")]
pub use crate::gpu::GpuWorld;
pub use crate::population::{Alteration, Journal};
pub use crate::worlds::BodyRows;

#[cfg(test)]
mod public_items;

macro_rules! modules {
    ($($(#[$attribute:meta])* $module:ident: $about:literal;)*) => {
        $(
            #[doc = $about]
            $(#[$attribute])*
            pub mod $module {
                pub use crate::$module::*;
            }
        )*
    };
}

modules! {
    constants: "Numbers of the physics: units, usual values, what goes wrong with others.";
    cpu: "The CPU engine.";
    #[cfg(feature = "gpu")]
    gpu: "The GPU backend.";
    math: "Arithmetic that Rust and WGSL share.";
    population: "Slots, and the bodies and joints that come and go in them.";
    query: "Queries between two steps.";
    reference: "A world stepped by the reference alone.";
    scene: "Scenes as laid out for a world, with limits of what they may hold.";
    snapshot: "State between two steps.";
    stages: "Stages of a step: the reference.";
    state: "Hash and metrics of a state.";
    step: "Order of the stages.";
    tables: "All tables of a world, for comparing stage by stage.";
    threads: "Loops over several threads.";
    types: "Structs and constants that Rust and WGSL share.";
}
