//! Draws pictures into memory, on a device without a window.
//!
//! ```no_run
//! use drystone::low_level::GpuWorld;
//! use drystone::{AdapterChoice, Context, Scene};
//! use drystone_draw::{Camera, DrawInputs, Style, offscreen};
//!
//! let context = Context::new(AdapterChoice::Any)?;
//! let world = GpuWorld::new(&context, &Scene::new("empty"))?;
//! let (device, queue) = (context.device(), context.queue());
//! let image = offscreen::picture(device, queue, &DrawInputs::of(&world), &Camera::default(), &Style::light())?;
//! println!("{} × {} pixels", image.width, image.height);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::sync::mpsc;

use super::{Camera, DrawError, DrawInputs, Frame, Image, Layers, Renderer, Style};
use drystone::low_level::types::{Pose, ShapeData};

/// sRGB-encoded values, blended as they are, as in the rasteriser.
const FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::Rgba8Unorm;

/// Renderer into memory, for repeated use.
#[derive(Debug)]
pub struct Offscreen {
    device: wgpu::Device,
    queue: wgpu::Queue,
    renderer: Renderer,
    frame: Option<Frame>,
    target: Option<OffscreenTarget>,
}

/// Render target and readback buffer for one picture size.
#[derive(Debug)]
struct OffscreenTarget {
    size: [u32; 2],
    texture: wgpu::Texture,
    readback: wgpu::Buffer,
    /// Bytes per row in `readback`.
    pitch: u32,
}

impl Offscreen {
    /// Builds the pipelines.
    ///
    /// # Errors
    /// [`DrawError::Device`].
    pub fn new(device: &wgpu::Device, queue: &wgpu::Queue) -> Result<Self, DrawError> {
        let renderer = guarded(device, || Ok(Renderer::new(device, FORMAT, 1)))?;
        Ok(Self { device: device.clone(), queue: queue.clone(), renderer, frame: None, target: None })
    }

    /// Draws the solver's buffers as they are when the work submitted so far is done; blocks until then.
    ///
    /// # Errors
    /// Any [`DrawError`] except those of files: invalid sizes, cameras or buffers, a device that fails or is lost.
    pub fn picture(&mut self, inputs: &DrawInputs<'_>, camera: &Camera, style: &Style) -> Result<Image, DrawError> {
        self.layered_picture(inputs, camera, style, &Layers::default())
    }

    /// Draws the solver's buffers with layers; blocks until the work submitted so far is done.
    ///
    /// # Errors
    /// Those of [`Self::picture`].
    pub fn layered_picture(
        &mut self,
        inputs: &DrawInputs<'_>,
        camera: &Camera,
        style: &Style,
        layers: &Layers,
    ) -> Result<Image, DrawError> {
        let Self { device, queue, renderer, frame, target } = self;
        guarded(device, || {
            // The picture fills the target.
            let camera = Camera { origin: glam::Vec2::ZERO, ..*camera };
            let frame = match frame {
                Some(frame) => {
                    renderer.update(frame, device, queue, inputs, &camera, style, layers)?;
                    frame
                }
                None => frame.insert(renderer.frame(device, queue, inputs, &camera, style, layers)?),
            };
            if target.as_ref().is_none_or(|t| t.size != camera.size) {
                // Dropped before the new one is created, so that only one is in memory.
                *target = None;
                *target = Some(OffscreenTarget::new(device, camera.size)?);
            }
            let Some(target) = target else {
                return Err(DrawError::Device("no target".into()));
            };
            target.picture(device, queue, renderer, frame)
        })
        .inspect_err(|_| (self.frame, self.target) = (None, None))
    }

    /// Draws shapes and bodies from main memory.
    ///
    /// # Errors
    /// Those of [`Self::picture`].
    pub fn picture_of(
        &mut self,
        poses: &[Pose],
        shapes: &[ShapeData],
        vertices: &[[f32; 2]],
        camera: &Camera,
        style: &Style,
    ) -> Result<Image, DrawError> {
        let (device, queue) = (&self.device, &self.queue);
        let (pose_buffer, shape_buffer, vertex_buffer) = guarded(device, || {
            let poses = upload(device, queue, "poses", poses)?;
            let shapes = upload(device, queue, "shapes", shapes)?;
            Ok((poses, shapes, upload(device, queue, "vertices", vertices)?))
        })?;
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let inputs = DrawInputs {
            poses: &pose_buffer,
            shapes: &shape_buffer,
            vertices: &vertex_buffer,
            // Without bodies no shape has a position.
            shape_count: if poses.is_empty() { 0 } else { count(shapes.len()) },
            body_count: count(poses.len()),
            ramp_bodies: count(poses.len()),
            tables: None,
            bodies: None,
            reference: None,
        };
        self.picture(&inputs, camera, style)
    }
}

/// Draws a single picture of the solver's buffers. For several pictures keep an [`Offscreen`]: building the pipelines
/// takes longer than drawing.
///
/// # Errors
/// Those of [`Offscreen::picture`].
pub fn picture(
    device: &wgpu::Device,
    queue: &wgpu::Queue,
    inputs: &DrawInputs<'_>,
    camera: &Camera,
    style: &Style,
) -> Result<Image, DrawError> {
    Offscreen::new(device, queue)?.picture(inputs, camera, style)
}

/// Draws a single picture of arrays in main memory.
///
/// # Errors
/// Those of [`Offscreen::picture`].
pub fn picture_of(
    device: &wgpu::Device,
    queue: &wgpu::Queue,
    poses: &[Pose],
    shapes: &[ShapeData],
    vertices: &[[f32; 2]],
    camera: &Camera,
    style: &Style,
) -> Result<Image, DrawError> {
    Offscreen::new(device, queue)?.picture_of(poses, shapes, vertices, camera, style)
}

impl OffscreenTarget {
    fn new(device: &wgpu::Device, size: [u32; 2]) -> Result<Self, DrawError> {
        let [width, height] = size;
        let pitch = (u64::from(width) * 4).next_multiple_of(u64::from(wgpu::COPY_BYTES_PER_ROW_ALIGNMENT));
        let bytes = pitch * u64::from(height);
        let limit = device.limits().max_buffer_size;
        let too_large = DrawError::TooLarge { what: "the picture", bytes, limit };
        let Ok(pitch) = u32::try_from(pitch) else {
            return Err(too_large);
        };
        if bytes > limit {
            return Err(too_large);
        }
        let texture = device.create_texture(&wgpu::TextureDescriptor {
            label: Some("picture"),
            size: extent(size),
            mip_level_count: 1,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D2,
            format: FORMAT,
            usage: wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::COPY_SRC,
            view_formats: &[],
        });
        let readback = device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("picture readback"),
            size: bytes,
            usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ,
            mapped_at_creation: false,
        });
        Ok(Self { size, texture, readback, pitch })
    }

    fn picture(
        &self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        renderer: &Renderer,
        frame: &Frame,
    ) -> Result<Image, DrawError> {
        let view = self.texture.create_view(&wgpu::TextureViewDescriptor::default());
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("picture") });
        renderer.prepare(&mut encoder, frame);
        let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
            label: Some("picture"),
            color_attachments: &[Some(wgpu::RenderPassColorAttachment {
                view: &view,
                depth_slice: None,
                resolve_target: None,
                ops: wgpu::Operations { load: wgpu::LoadOp::Clear(wgpu::Color::BLACK), store: wgpu::StoreOp::Store },
            })],
            ..Default::default()
        });
        renderer.draw(&mut pass, frame);
        drop(pass);
        encoder.copy_texture_to_buffer(
            self.texture.as_image_copy(),
            wgpu::TexelCopyBufferInfo {
                buffer: &self.readback,
                layout: wgpu::TexelCopyBufferLayout {
                    offset: 0,
                    bytes_per_row: Some(self.pitch),
                    rows_per_image: None,
                },
            },
            extent(self.size),
        );
        queue.submit([encoder.finish()]);

        let failed = |what: &dyn std::fmt::Display| DrawError::Device(what.to_string());
        let (sender, receiver) = mpsc::channel();
        self.readback.slice(..).map_async(wgpu::MapMode::Read, move |result| {
            // The receiver is gone if waiting failed.
            let _ = sender.send(result);
        });
        device.poll(wgpu::PollType::wait_indefinitely()).map_err(|e| failed(&e))?;
        receiver.try_recv().map_err(|e| failed(&e))?.map_err(|e| failed(&e))?;
        let row = self.size[0] as usize * 4;
        let mut rgba = Vec::with_capacity(row * self.size[1] as usize);
        {
            let mapped = self.readback.get_mapped_range(..).map_err(|e| failed(&e))?;
            for padded in mapped.chunks_exact(self.pitch as usize) {
                rgba.extend_from_slice(&padded[..row]);
            }
        }
        self.readback.unmap();
        Ok(Image { width: self.size[0], height: self.size[1], rgba })
    }
}

fn extent([width, height]: [u32; 2]) -> wgpu::Extent3d {
    wgpu::Extent3d { width, height, depth_or_array_layers: 1 }
}

fn upload<T: bytemuck::Pod>(
    device: &wgpu::Device,
    queue: &wgpu::Queue,
    label: &'static str,
    items: &[T],
) -> Result<wgpu::Buffer, DrawError> {
    let bytes: &[u8] = bytemuck::cast_slice(items);
    // Empty buffers cannot be bound.
    let size = bytes.len().max(size_of::<T>()) as u64;
    let limits = device.limits();
    let limit = limits.max_storage_buffer_binding_size.min(limits.max_buffer_size);
    if size > limit {
        return Err(DrawError::TooLarge { what: label, bytes: size, limit });
    }
    let buffer = device.create_buffer(&wgpu::BufferDescriptor {
        label: Some(label),
        size,
        usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    });
    queue.write_buffer(&buffer, 0, bytes);
    Ok(buffer)
}

/// Turns errors reported by the device into a [`DrawError`], where wgpu would panic.
fn guarded<T>(device: &wgpu::Device, work: impl FnOnce() -> Result<T, DrawError>) -> Result<T, DrawError> {
    let scopes = [wgpu::ErrorFilter::Internal, wgpu::ErrorFilter::OutOfMemory, wgpu::ErrorFilter::Validation]
        .map(|filter| device.push_error_scope(filter));
    let result = work();
    let mut reported = None;
    // Error scopes are popped in reverse order.
    for scope in scopes.into_iter().rev() {
        reported = pollster::block_on(scope.pop()).or(reported);
    }
    match reported {
        // The device's own error explains the errors that followed from it.
        Some(error) => Err(DrawError::Device(error.to_string())),
        None => result,
    }
}
