//! Pictures of a world.
//!
//! ```text
//! poses, shapes (the solver's GPU buffers) ─ Renderer ─┬─ a window's surface
//!                                                      └─ Offscreen ── Image ── PNG
//! poses, shapes (slices) ─┬─ Offscreen::picture_of ─────────┘            │
//!                         └─ raster::picture (no GPU needed) ────────────┘
//! ```
//!
//! Outlines are analytic: every pixel knows how much of it a shape covers, so that edges are smooth without
//! multisampling, and the rasteriser computes the same numbers as the shaders. `tests/draw.rs` compares the two.
//!
//! | shader (`shaders/draw/`) | twin | what |
//! |---|---|---|
//! | `view.wgsl` | `view.rs` | camera and style as a uniform |
//! | `backdrop.wgsl` | `backdrop.rs` | background, grid, scale bar |
//! | `palette.wgsl` | `palette.rs` | the colour of a body |
//! | `shapes.wgsl` | `sprite.rs` | outlines |

mod backdrop;
mod camera;
mod image;
pub mod offscreen;
mod palette;
pub mod raster;
mod render;
mod sprite;
mod style;
mod view;

pub use camera::{Bounds, Camera, DEFAULT_SIZE};
pub use image::Image;
pub use offscreen::Offscreen;
pub use render::{DrawInputs, Frame, Renderer};
pub use style::{Rgb, Style};

/// Why there is no picture.
#[derive(Debug, thiserror::Error)]
pub enum DrawError {
    /// No pixels, or more than can be drawn.
    #[error("a picture of {width} × {height} pixels: expected 1 to {limit} a side")]
    Size {
        /// px.
        width: u32,
        /// px.
        height: u32,
        /// Longest side that this device (or the rasteriser) draws, px.
        limit: u32,
    },
    /// More bytes than the device holds in one buffer.
    #[error("{what} takes {bytes} bytes; this device allows {limit}")]
    TooLarge {
        /// Which data.
        what: &'static str,
        /// How many.
        bytes: u64,
        /// Allowed.
        limit: u64,
    },
    /// The camera is not finite, or its scale is not positive.
    #[error("the camera looks at {center:?} with {metres_per_pixel} m a pixel: expected finite numbers, scale above 0")]
    Camera {
        /// m.
        center: [f32; 2],
        /// m/px.
        metres_per_pixel: f32,
    },
    /// The buffers do not hold what they should.
    #[error("the {buffer} buffer {problem}")]
    Inputs {
        /// `poses`, `shapes` or `vertices`.
        buffer: &'static str,
        /// What is wrong.
        problem: &'static str,
    },
    /// The device failed or was lost.
    #[error("the graphics device failed: {0}")]
    Device(String),
    /// A PNG could not be written.
    #[error("the PNG was not written: {0}")]
    Png(#[from] png::EncodingError),
    /// A file could not be written.
    #[error("{path}: {source}")]
    File {
        /// Which.
        path: String,
        /// Why.
        source: std::io::Error,
    },
}
