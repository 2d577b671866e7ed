//! Draws pictures of a world: on the GPU into a window or into memory, or on the CPU without a GPU.
//!
//! ```text
//! poses, shapes (the solver's GPU buffers) ─ Renderer ─┬─ a window's surface
//!                                                      └─ Offscreen ── Image ── PNG
//! poses, shapes (slices) ─┬─ Offscreen::picture_of ─────────┘            │
//!                         └─ raster::picture (no GPU needed) ────────────┘
//! ```
//!
//! Layers other than the bodies ([`Layers`]) are also drawn from the solver's tables ([`DrawInputs::tables`]). Nothing
//! is read back to the CPU on the way, neither positions nor counts.
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
//! A [`CpuWorld`](drystone::low_level::CpuWorld) is drawn by the same shaders, from the buffers of an [`Upload`].
//!
//! Outlines are analytic: every pixel computes the share of it that a shape covers. Edges are thus smooth without
//! multisampling, and the rasteriser computes the same numbers as the shaders. `tests/draw.rs` compares the two.
//!
//! | shader (`shaders/`) | twin | content |
//! |---|---|---|
//! | `view.wgsl` | `view.rs` | camera and style as a uniform |
//! | `backdrop.wgsl` | `backdrop.rs` | background, grid, scale bar |
//! | `palette.wgsl` | `palette.rs` | the colour of a body |
//! | `shapes.wgsl` | `sprite.rs` | outlines |
//! | `marks.wgsl`, `anchors.wgsl`, `joints.wgsl` | `marks.rs`, `joints.rs` | lines and signs of joints |
//!
//! Each shader imports the files that it builds on, including some of the solver
//! ([`drystone::low_level::gpu::shader`]).
//!
//! Shaders without a twin, drawing directly from the tables on the GPU:
//!
//! | shader (`shaders/`) | content |
//! |---|---|
//! | `cull.wgsl` | selection of visible shapes, in order |
//! | `tint.wgsl` | colours of bodies by speed, sleep, island, … |
//! | `cells.wgsl`, `boxes.wgsl` | broadphase grid, AABBs |
//! | `contacts.wgsl`, `marks.wgsl` | lines and arrows of contacts |
//! | `velocities.wgsl`, `forces.wgsl`, `marks.wgsl` | arrows of bodies, forces of joints, weights |
//! | `legend.wgsl` | legend of colours and arrow lengths |
//!
//! # Cost
//!
//! A pass over all shapes selects the visible ones and writes their indices (count, scan, emit: the order does not
//! depend on threads, so nothing flickers where bodies overlap). One indirect draw then runs six vertices for each
//! visible shape. Rejecting shapes in the vertex stage instead would run its code four times for every shape of the
//! world, and twice that to draw fixed bodies first: at a million shapes of which a thousand are visible, 8 million
//! runs and as many fetches of 96 bytes, against one million. wgpu validates the arguments of indirect draws with one
//! small dispatch per render pass. Shapes below a pixel are quads of the two or three pixels per side that they touch.
//! Contacts, joints and boxes are rejected in the vertex stage instead: drawing them costs so much more than testing
//! them that compaction would not pay off, and counts known only to the device bound the draws.

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
pub mod recipe;
mod render;
mod sprite;
mod still;
mod style;
mod text;
mod thumbnail;
mod upload;
mod view;

pub use camera::{Bounds, Camera, DEFAULT_SIZE};
pub use frame::Frame;
pub use framing::Framing;
pub use image::Image;
pub use inputs::{DrawInputs, DrawTables, Scale};
pub use joints::{JointHit, joint_near};
pub use layers::{Coloring, Layers};
pub use offscreen::Offscreen;
pub use render::Renderer;
pub use still::Still;
pub use style::{Rgb, Style};
pub use thumbnail::{MAX_THUMBNAIL_BODIES, thumbnail};
pub use upload::Upload;
pub use view::scale_bar_height;

/// Error of drawing or writing a picture.
#[derive(Debug, thiserror::Error)]
pub enum DrawError {
    /// The picture has no pixels, or more than can be drawn.
    #[error("picture size {width} × {height} px: expected 1 to {limit} px per side")]
    Size {
        /// Width, px.
        width: u32,
        /// Height, px.
        height: u32,
        /// Maximum side length on this device (or of the rasteriser), px.
        limit: u32,
    },
    /// The data exceed the device's maximum buffer size.
    #[error("{what} needs {bytes} bytes; the device's limit is {limit}")]
    TooLarge {
        /// Name of the data.
        what: &'static str,
        /// Size, bytes.
        bytes: u64,
        /// Limit, bytes.
        limit: u64,
    },
    /// The camera is not finite, or its scale is not positive.
    #[error("camera at {center:?} with {metres_per_pixel} m per pixel: expected finite numbers and a scale above 0")]
    Camera {
        /// Centre, m.
        center: [f32; 2],
        /// Scale, m/px.
        metres_per_pixel: f32,
    },
    /// A buffer does not meet its requirements.
    #[error("the {buffer} buffer {problem}")]
    Inputs {
        /// Name of the buffer, such as `poses`: a field of [`DrawInputs`] or [`DrawTables`].
        buffer: &'static str,
        /// Description of the violated requirement.
        problem: &'static str,
    },
    /// The device failed or was lost.
    #[error("the graphics device failed: {0}")]
    Device(String),
    /// PNG encoding failed.
    #[error("PNG encoding failed: {0}")]
    Png(#[from] png::EncodingError),
    /// A file could not be written.
    #[error("{path}: {source}")]
    File {
        /// Path of the file.
        path: String,
        /// Cause.
        source: std::io::Error,
    },
}
