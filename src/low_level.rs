//! The engine under [`World`](crate::World) and [`Worlds`](crate::Worlds): tables, stages, both backends. Documented for
//! those who look inside, record into an encoder of their own or compare the backends; not promised to stay as it is.

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
    blocks: "Constraints of contacts, eight side by side.";
    cpu: "The CPU backend.";
    #[cfg(feature = "gpu")]
    gpu: "The GPU backend.";
    joint_blocks: "Joints, eight side by side.";
    lanes: "Eight numbers at a time.";
    math: "Arithmetic that Rust and WGSL share.";
    population: "Slots, and the bodies and joints that come and go in them.";
    query: "Queries between two steps.";
    scene: "Scenes as laid out for a world, with limits of what they may hold.";
    snapshot: "State between two steps.";
    stages: "Stages of a step: the reference.";
    state: "Hash and metrics of a state.";
    step: "Order of the stages.";
    tables: "All tables of a world, for comparing stage by stage.";
    threads: "Loops over several threads.";
    types: "Structs and constants that Rust and WGSL share.";
}
