//! Draws directly from the solver's buffers into any render pass.

use std::sync::OnceLock;

use super::frame::{Buffers, Frame, FrameCapacity, FrameInputs};
use super::programs::{Base, More, RenderTarget};
use super::view::{View, bar_text};
use super::{Camera, DrawError, DrawInputs, Layers, Style, legend};

/// Render pipelines for one kind of target.
#[derive(Debug)]
pub struct Renderer {
    target: RenderTarget,
    base: Result<Base, DrawError>,
    more: OnceLock<Result<More, DrawError>>,
    /// Replaces the solver's buffers when there is nothing to draw.
    nothing: wgpu::Buffer,
}

impl Renderer {
    /// Creates a renderer for a colour format (sRGB or not: the colours come out the same) and a sample count. One
    /// sample is enough, since outlines are analytic; more samples are for windows that need them for other reasons.
    #[must_use]
    pub fn new(device: &wgpu::Device, target_format: wgpu::TextureFormat, sample_count: u32) -> Self {
        let target = RenderTarget { format: target_format, samples: sample_count };
        Self {
            target,
            base: Base::new(device, target),
            more: OnceLock::new(),
            nothing: device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("draw nothing"),
                size: 256,
                usage: wgpu::BufferUsages::STORAGE,
                mapped_at_creation: false,
            }),
        }
    }

    /// Prepares a picture. Call [`Self::prepare`] and [`Self::draw`] afterwards, once the commands that fill the
    /// buffers are submitted, or in the same encoder. For repeated pictures, reuse one frame and update it with
    /// [`Self::update`].
    ///
    /// # Errors
    /// [`DrawError::Size`], [`DrawError::Camera`], [`DrawError::Inputs`], [`DrawError::TooLarge`].
    pub fn frame(
        &self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        inputs: &DrawInputs<'_>,
        camera: &Camera,
        style: &Style,
        layers: &Layers,
    ) -> Result<Frame, DrawError> {
        self.make(None, device, queue, inputs, camera, style, layers)
    }

    /// Updates a frame for another moment, camera, style or choice of layers, and keeps its buffers where they fit.
    /// Commands recorded with the frame before must have been submitted.
    ///
    /// # Errors
    /// Those of [`Self::frame`]; the frame is then unchanged.
    pub fn update(
        &self,
        frame: &mut Frame,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        inputs: &DrawInputs<'_>,
        camera: &Camera,
        style: &Style,
        layers: &Layers,
    ) -> Result<(), DrawError> {
        *frame = self.make(Some(&frame.buffers), device, queue, inputs, camera, style, layers)?;
        Ok(())
    }

    fn make(
        &self,
        old: Option<&Buffers>,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        inputs: &DrawInputs<'_>,
        camera: &Camera,
        style: &Style,
        layers: &Layers,
    ) -> Result<Frame, DrawError> {
        let limits = device.limits();
        let [width, height] = camera.size;
        let limit = limits.max_texture_dimension_2d;
        if !(1..=limit).contains(&width) || !(1..=limit).contains(&height) {
            return Err(DrawError::Size { width, height, limit });
        }
        let mut view = View::new(camera, style, inputs.shape_count, inputs.body_count)?;
        view.ramp_bodies = inputs.ramp_bodies;
        view.linear_target = u32::from(self.target.format.is_srgb());
        view.put_layers(layers, inputs.tables.map(|tables| tables.scale));
        inputs.check(layers, &limits)?;
        let base = of(&self.base)?;
        view.joint_count = inputs.tables.map_or(0, |tables| tables.joint_count);
        let mut glyphs = bar_text(camera, style).coverage.clone();
        let (plates, texts) = legend::plates(&view, layers, inputs.tables.map(|tables| tables.scale), glyphs.len());
        glyphs.extend(texts);
        // Padded to whole words.
        glyphs.resize(glyphs.len().next_multiple_of(4), 0);
        let more = if layers.needs_tables() || !plates.is_empty() {
            Some(of(self.more.get_or_init(|| More::new(device, self.target)))?)
        } else {
            None
        };
        let need = FrameCapacity::of(inputs, layers, plates.len(), glyphs.len());
        view.block_count = need.blocks();
        let buffers = match old {
            Some(old) if old.room.holds(need) => old.clone(),
            Some(old) => Buffers::new(device, old.room.grown(need), &limits)?,
            None => Buffers::new(device, need, &limits)?,
        };
        queue.write_buffer(&buffers.view, 0, bytemuck::bytes_of(&view));
        if !plates.is_empty() {
            queue.write_buffer(&buffers.plates, 0, bytemuck::cast_slice(&plates));
        }
        if !glyphs.is_empty() {
            queue.write_buffer(&buffers.glyphs, 0, &glyphs);
        }
        let given = FrameInputs { device, inputs, layers, nothing: &self.nothing, plates: &plates };
        Frame::new(&view, buffers, base, more, &given)
    }

    /// Records the compute passes of a picture: culling and colours. Call it outside of any pass, before the render
    /// pass of [`Self::draw`], in the same encoder or one submitted earlier.
    pub fn prepare(&self, encoder: &mut wgpu::CommandEncoder, frame: &Frame) {
        frame.prepare(encoder);
    }

    /// Draws a picture over the part of the target that its camera names, and covers what was there. Changes the pass's
    /// viewport.
    pub fn draw(&self, pass: &mut wgpu::RenderPass<'_>, frame: &Frame) {
        frame.draw(pass);
    }
}

/// Returns the pipelines, or the error of their creation.
fn of<T>(made: &Result<T, DrawError>) -> Result<&T, DrawError> {
    made.as_ref().map_err(|error| DrawError::Device(error.to_string()))
}
