//! Draws straight from the solver's buffers into any render pass.

use std::num::NonZeroU64;

use super::view::View;
use super::{Camera, DrawError, DrawInputs, Layers, Style};
use crate::types::{Pose, Shape};

const SHAPES: &str = concat!(
    include_str!("../../shaders/types.wgsl"),
    include_str!("../../shaders/draw/view.wgsl"),
    include_str!("../../shaders/draw/palette.wgsl"),
    include_str!("../../shaders/draw/shapes.wgsl"),
);
const BACKDROP: &str =
    concat!(include_str!("../../shaders/draw/view.wgsl"), include_str!("../../shaders/draw/backdrop.wgsl"));

/// Pipelines for one kind of target.
#[derive(Debug)]
pub struct Renderer {
    layout: wgpu::BindGroupLayout,
    backdrop: wgpu::RenderPipeline,
    shapes: wgpu::RenderPipeline,
    bar: wgpu::RenderPipeline,
    /// Stands in for the solver's buffers when there is nothing to draw.
    empty: wgpu::Buffer,
    linear_target: bool,
}

/// One picture, ready to be drawn. Keeps its own uniform, so several may be drawn in one submission.
#[derive(Debug)]
pub struct Frame {
    bind_group: wgpu::BindGroup,
    view: View,
}

impl Renderer {
    /// For targets of a colour format (sRGB or not: the colours come out the same) and a number of samples. One
    /// sample is enough, since outlines are analytic; more is for windows that need it for other reasons.
    #[must_use]
    pub fn new(device: &wgpu::Device, target_format: wgpu::TextureFormat, sample_count: u32) -> Self {
        let storage = |binding, bytes| wgpu::BindGroupLayoutEntry {
            binding,
            visibility: wgpu::ShaderStages::VERTEX_FRAGMENT,
            ty: wgpu::BindingType::Buffer {
                ty: wgpu::BufferBindingType::Storage { read_only: true },
                has_dynamic_offset: false,
                min_binding_size: NonZeroU64::new(bytes),
            },
            count: None,
        };
        let layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: Some("draw"),
            entries: &[
                wgpu::BindGroupLayoutEntry {
                    binding: 0,
                    visibility: wgpu::ShaderStages::VERTEX_FRAGMENT,
                    ty: wgpu::BindingType::Buffer {
                        ty: wgpu::BufferBindingType::Uniform,
                        has_dynamic_offset: false,
                        min_binding_size: NonZeroU64::new(size_of::<View>() as u64),
                    },
                    count: None,
                },
                storage(1, size_of::<Pose>() as u64),
                storage(2, size_of::<Shape>() as u64),
                storage(3, size_of::<[f32; 2]>() as u64),
            ],
        });
        let pipeline_layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: Some("draw"),
            bind_group_layouts: &[Some(&layout)],
            immediate_size: 0,
        });
        let module = |label, source: &'static str| {
            device.create_shader_module(wgpu::ShaderModuleDescriptor {
                label: Some(label),
                source: wgpu::ShaderSource::Wgsl(source.into()),
            })
        };
        let backdrop_module = module("draw backdrop", BACKDROP);
        let shape_module = module("draw shapes", SHAPES);
        let pipeline = |name: &str, module: &wgpu::ShaderModule, blend| {
            let (vertex, fragment) = (format!("{name}_vertex"), format!("{name}_fragment"));
            device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
                label: Some(name),
                layout: Some(&pipeline_layout),
                vertex: wgpu::VertexState {
                    module,
                    entry_point: Some(&vertex),
                    compilation_options: wgpu::PipelineCompilationOptions::default(),
                    buffers: &[],
                },
                primitive: wgpu::PrimitiveState {
                    topology: wgpu::PrimitiveTopology::TriangleStrip,
                    ..Default::default()
                },
                depth_stencil: None,
                multisample: wgpu::MultisampleState { count: sample_count, ..Default::default() },
                fragment: Some(wgpu::FragmentState {
                    module,
                    entry_point: Some(&fragment),
                    compilation_options: wgpu::PipelineCompilationOptions::default(),
                    targets: &[Some(wgpu::ColorTargetState {
                        format: target_format,
                        blend,
                        write_mask: wgpu::ColorWrites::ALL,
                    })],
                }),
                multiview_mask: None,
                cache: None,
            })
        };
        // The target stays opaque.
        let over =
            wgpu::BlendState { color: wgpu::BlendState::ALPHA_BLENDING.color, alpha: wgpu::BlendComponent::OVER };
        Self {
            backdrop: pipeline("backdrop", &backdrop_module, None),
            shapes: pipeline("shape", &shape_module, Some(over)),
            bar: pipeline("bar", &backdrop_module, Some(over)),
            layout,
            empty: device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("draw nothing"),
                size: size_of::<Shape>() as u64,
                usage: wgpu::BufferUsages::STORAGE,
                mapped_at_creation: false,
            }),
            linear_target: target_format.is_srgb(),
        }
    }

    /// Prepares a picture. Then, after what fills the buffers is submitted or in the same encoder, [`Self::prepare`] and
    /// [`Self::draw`]. A picture that is drawn again and again costs least with one frame that is brought up to date with
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
        let _ = layers;
        let limits = device.limits();
        let [width, height] = camera.size;
        let limit = limits.max_texture_dimension_2d;
        if !(1..=limit).contains(&width) || !(1..=limit).contains(&height) {
            return Err(DrawError::Size { width, height, limit });
        }
        let mut view = View::new(camera, style, inputs.shape_count, inputs.body_count)?;
        view.linear_target = u32::from(self.linear_target);
        let (poses, shapes, vertices) = if inputs.shape_count == 0 {
            (&self.empty, &self.empty, &self.empty)
        } else {
            let shape_bytes = u64::from(inputs.shape_count) * size_of::<Shape>() as u64;
            check_buffer("poses", inputs.poses, size_of::<Pose>() as u64, &limits)?;
            check_buffer("shapes", inputs.shapes, shape_bytes, &limits)?;
            check_buffer("vertices", inputs.vertices, size_of::<[f32; 2]>() as u64, &limits)?;
            (inputs.poses, inputs.shapes, inputs.vertices)
        };
        let uniform = device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("draw view"),
            size: size_of::<View>() as u64,
            usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        queue.write_buffer(&uniform, 0, bytemuck::bytes_of(&view));
        let bind_group = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("draw"),
            layout: &self.layout,
            entries: &[
                wgpu::BindGroupEntry { binding: 0, resource: uniform.as_entire_binding() },
                wgpu::BindGroupEntry { binding: 1, resource: poses.as_entire_binding() },
                wgpu::BindGroupEntry { binding: 2, resource: shapes.as_entire_binding() },
                wgpu::BindGroupEntry { binding: 3, resource: vertices.as_entire_binding() },
            ],
        });
        Ok(Frame { bind_group, view })
    }

    /// Makes a frame that of another moment, camera, style or choice of layers, and keeps its buffers where they fit. What
    /// was recorded with it before must have been submitted.
    ///
    /// # Errors
    /// As [`Self::frame`]; then the frame is as it was.
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
        *frame = self.frame(device, queue, inputs, camera, style, layers)?;
        Ok(())
    }

    /// Records what is computed before a picture is drawn: which shapes are in it, and colours. Outside of any pass, before
    /// the render pass of [`Self::draw`], in the same encoder or one submitted earlier.
    pub fn prepare(&self, encoder: &mut wgpu::CommandEncoder, frame: &Frame) {
        let _ = (encoder, frame);
    }

    /// Draws a picture over the part of the target that its camera names; what was there is covered. Leaves the
    /// viewport there.
    pub fn draw(&self, pass: &mut wgpu::RenderPass<'_>, frame: &Frame) {
        let View { origin: [x, y], size: [width, height], shape_count, .. } = frame.view;
        pass.set_viewport(x, y, width, height, 0.0, 1.0);
        pass.set_bind_group(0, &frame.bind_group, &[]);
        pass.set_pipeline(&self.backdrop);
        pass.draw(0..4, 0..1);
        if shape_count > 0 {
            pass.set_pipeline(&self.shapes);
            pass.draw(0..4, 0..2 * shape_count);
        }
        if frame.view.has_bar() {
            pass.set_pipeline(&self.bar);
            pass.draw(0..4, 0..1);
        }
    }
}

fn check_buffer(name: &'static str, buffer: &wgpu::Buffer, least: u64, limits: &wgpu::Limits) -> Result<(), DrawError> {
    if !buffer.usage().contains(wgpu::BufferUsages::STORAGE) {
        return Err(DrawError::Inputs { buffer: name, problem: "is not a storage buffer" });
    }
    if buffer.size() < least {
        return Err(DrawError::Inputs { buffer: name, problem: "is shorter than its count" });
    }
    let limit = limits.max_storage_buffer_binding_size;
    if buffer.size() > limit {
        return Err(DrawError::TooLarge { what: name, bytes: buffer.size(), limit });
    }
    Ok(())
}
