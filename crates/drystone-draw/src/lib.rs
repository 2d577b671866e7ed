//! Pictures of a world.
//!
//! ```text
//! poses, shapes (the solver's GPU buffers) ─ Renderer ─┬─ a window's surface
//!                                                      └─ Offscreen ── Image ── PNG
//! poses, shapes (slices) ─┬─ Offscreen::picture_of ─────────┘            │
//!                         └─ raster::picture (no GPU needed) ────────────┘
//! ```
//!
//! What is in a picture beside the bodies ([`Layers`]) is drawn from the tables of the solver as well
//! ([`DrawInputs::tables`]). Nothing comes back to the CPU on the way, neither a position nor a count.
//!
//! In your own render loop, on any surface or texture, with the device that the world lives on:
//!
//! ```no_run
//! # fn frame(world: &drystone::low_level::GpuWorld, format: wgpu::TextureFormat, target: &wgpu::TextureView)
//! # -> Result<(), drystone_draw::DrawError> {
//! use drystone_draw::{Camera, DrawInputs, Layers, Renderer, Style};
//!
//! let (device, queue) = (world.context().device(), world.context().queue());
//! // Once …
//! let renderer = Renderer::new(device, format, 1);
//! let (camera, style, layers) = (Camera::default(), Style::light(), Layers { joints: true, ..Layers::default() });
//! let mut frame = renderer.frame(device, queue, &DrawInputs::of(world), &camera, &style, &layers)?;
//! // … and for every frame:
//! renderer.update(&mut frame, device, queue, &DrawInputs::of(world), &camera, &style, &layers)?;
//! let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
//! renderer.prepare(&mut encoder, &frame);
//! let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
//!     color_attachments: &[Some(wgpu::RenderPassColorAttachment {
//!         view: target,
//!         depth_slice: None,
//!         resolve_target: None,
//!         ops: wgpu::Operations { load: wgpu::LoadOp::Clear(wgpu::Color::BLACK), store: wgpu::StoreOp::Store },
//!     })],
//!     ..Default::default()
//! });
//! renderer.draw(&mut pass, &frame);
//! drop(pass);
//! queue.submit([encoder.finish()]);
//! # Ok(())
//! # }
//! ```
//!
//! A [`CpuWorld`](drystone::low_level::CpuWorld) is drawn by the same shaders, from what an [`Upload`] keeps on the device.
//!
//! Outlines are analytic: every pixel knows how much of it a shape covers, so that edges are smooth without
//! multisampling, and the rasteriser computes the same numbers as the shaders. `tests/draw.rs` compares the two.
//!
//! | shader (`shaders/`) | twin | what |
//! |---|---|---|
//! | `view.wgsl` | `view.rs` | camera and style as a uniform |
//! | `backdrop.wgsl` | `backdrop.rs` | background, grid, scale bar |
//! | `palette.wgsl` | `palette.rs` | the colour of a body |
//! | `shapes.wgsl` | `sprite.rs` | outlines |
//! | `marks.wgsl`, `anchors.wgsl`, `joints.wgsl` | `marks.rs`, `joints.rs` | lines and signs of joints |
//!
//! Each names the files that it builds on, those of the solver among them ([`drystone::low_level::gpu::shader`]).
//!
//! On the GPU alone, straight from tables:
//!
//! | shader (`shaders/`) | what |
//! |---|---|
//! | `cull.wgsl` | which shapes are in the picture, in order |
//! | `tint.wgsl` | colours of bodies by what they do |
//! | `cells.wgsl`, `boxes.wgsl` | the grid, boxes around shapes |
//! | `contacts.wgsl`, `marks.wgsl` | lines and arrows of contacts |
//! | `velocities.wgsl`, `forces.wgsl`, `marks.wgsl` | arrows of bodies, forces of joints, weights |
//! | `legend.wgsl` | what colours and lengths of arrows mean |
//!
//! # What it costs
//!
//! A pass over all shapes decides which are in the picture and writes their indices (count, scan, emit: the order
//! does not depend on threads, so nothing flickers where bodies overlap); one indirect draw then runs six vertices
//! for each of those. Leaving shapes out in the vertex stage instead would run its code four times for every shape of
//! the world, and twice that to draw fixed bodies first: at a million shapes of which a thousand are seen, 8 million
//! runs and as many fetches of 96 bytes, against one million. wgpu checks the arguments of indirect draws with one
//! small dispatch a render pass. Shapes below a pixel are quads of the two or three pixels a side that they touch. Contacts,
//! joints and boxes are not gathered but left out in the vertex stage: drawing them costs so much more than looking
//! at them that it would not pay, and counts that only the device knows bound the draws.

mod backdrop;
mod camera;
mod frame;
mod framing;
mod held;
mod image;
mod inputs;
mod joints;
mod keys;
mod layers;
mod legend;
mod marks;
pub mod movie;
pub mod offscreen;
mod palette;
mod programs;
pub mod raster;
mod render;
mod sprite;
mod still;
mod style;
mod text;
mod upload;
mod view;

pub use camera::{Bounds, Camera, DEFAULT_SIZE};
pub use frame::Frame;
pub use framing::Framing;
pub use image::Image;
pub use inputs::{DrawInputs, Scale, Tables};
pub use layers::{Coloring, Layers};
pub use offscreen::Offscreen;
pub use render::Renderer;
pub use still::Still;
pub use style::{Rgb, Style};
pub use upload::Upload;
pub use view::scale_bar_height;

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
        /// `poses`, `shapes`, …: as in [`DrawInputs`] and [`Tables`].
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
