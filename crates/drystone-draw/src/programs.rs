//! Pipelines of pictures. The buffers that a pipeline needs are read from the WGSL; a buffer is found by the name of
//! its variable.

use super::DrawError;
use drystone::low_level::gpu::kernel::{Binding, BindingKind, reflect};
use drystone::low_level::gpu::shader::{Composer, SHARED, ShaderSource};

/// Shaders of this crate; imports from `shaders/` of the solver have no prefix.
const SOURCES: &[ShaderSource] = drystone::shader_sources!("draw/":
    "view", "palette", "marks", "anchors", "backdrop", "shapes", "cull", "tint", "cells", "boxes", "joints", "contacts", "velocities",
    "forces", "legend",
);

/// Composer for the shaders of this crate.
pub(crate) const COMPOSER: Composer<'static> = Composer::new(&[SHARED, SOURCES]);

/// Maximum number of workgroups in one dimension of a dispatch.
const MAX_WORKGROUPS: u32 = 65_535;

/// Colour format and sample count of a render pipeline.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RenderTarget {
    pub format: wgpu::TextureFormat,
    pub samples: u32,
}

/// A render pipeline as data: the entry points `NAME_vertex` and `FRAGMENT_fragment` of a shader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PenSource {
    pub name: &'static str,
    /// Name of the file in `shaders/`.
    pub shader: &'static str,
    pub fragment: &'static str,
    /// The vertices are a strip of triangles, not a list.
    pub is_strip: bool,
    /// Blends with what is there by its alpha.
    pub blends: bool,
}

impl PenSource {
    const fn new(name: &'static str, shader: &'static str, fragment: &'static str) -> Self {
        Self { name, shader, fragment, is_strip: false, blends: true }
    }
}

pub(crate) const BACKDROP: PenSource =
    PenSource { is_strip: true, blends: false, ..PenSource::new("backdrop", "backdrop", "backdrop") };
pub(crate) const SHAPES: PenSource = PenSource::new("shape", "shapes", "shape");
const BAR: PenSource = PenSource { is_strip: true, ..PenSource::new("bar", "backdrop", "bar") };
pub(crate) const CELLS: PenSource = PenSource::new("cell", "cells", "cell");
pub(crate) const BOXES: PenSource = PenSource::new("box", "boxes", "box");
pub(crate) const JOINTS: PenSource = PenSource::new("joint", "joints", "mark");
pub(crate) const CONTACTS: PenSource = PenSource::new("contact", "contacts", "mark");
pub(crate) const SLEEPING: PenSource = PenSource::new("sleeping", "contacts", "mark");
pub(crate) const VELOCITIES: PenSource = PenSource::new("velocity", "velocities", "mark");
pub(crate) const WEIGHTS: PenSource = PenSource::new("weight", "forces", "mark");
pub(crate) const PULLS: PenSource = PenSource::new("pull", "forces", "mark");
const LEGEND: PenSource = PenSource::new("legend", "legend", "legend");

/// A pipeline and its bindings.
#[derive(Clone, Debug)]
pub(crate) struct Program<P> {
    pipeline: P,
    layout: wgpu::BindGroupLayout,
    bindings: Vec<Binding>,
    lanes: u32,
}

pub(crate) type DrawKernel = Program<wgpu::ComputePipeline>;
pub(crate) type Pen = Program<wgpu::RenderPipeline>;

impl<P: Clone> Program<P> {
    /// Binds the buffers that the pipeline needs, found by name.
    pub fn bind<'a>(
        &self,
        device: &wgpu::Device,
        buffer: impl Fn(&str) -> Option<&'a wgpu::Buffer>,
    ) -> Result<BoundPipeline<P>, DrawError> {
        let mut entries = Vec::with_capacity(self.bindings.len());
        for binding in &self.bindings {
            let Some(buffer) = buffer(&binding.name) else {
                return Err(DrawError::Device(format!("no buffer for the binding {}", binding.name)));
            };
            entries.push(wgpu::BindGroupEntry { binding: binding.index, resource: buffer.as_entire_binding() });
        }
        let group = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("draw"),
            layout: &self.layout,
            entries: &entries,
        });
        Ok(BoundPipeline { pipeline: self.pipeline.clone(), group, lanes: self.lanes })
    }
}

/// A pipeline with its buffers.
#[derive(Debug)]
pub(crate) struct BoundPipeline<P> {
    pipeline: P,
    group: wgpu::BindGroup,
    lanes: u32,
}

impl BoundPipeline<wgpu::ComputePipeline> {
    pub fn dispatch(&self, pass: &mut wgpu::ComputePass<'_>, threads: u32) {
        let groups = threads.div_ceil(self.lanes.max(1));
        if groups > 0 {
            pass.set_pipeline(&self.pipeline);
            pass.set_bind_group(0, &self.group, &[]);
            pass.dispatch_workgroups(groups.min(MAX_WORKGROUPS), groups.div_ceil(MAX_WORKGROUPS), 1);
        }
    }
}

impl BoundPipeline<wgpu::RenderPipeline> {
    pub fn set(&self, pass: &mut wgpu::RenderPass<'_>) {
        pass.set_pipeline(&self.pipeline);
        pass.set_bind_group(0, &self.group, &[]);
    }
}

/// Parsed shader.
pub(crate) struct ParsedShader {
    module: wgpu::ShaderModule,
    points: Vec<(String, drystone::low_level::gpu::kernel::Reflection)>,
}

impl ParsedShader {
    /// Parses `shaders/NAME.wgsl`.
    pub fn new(device: &wgpu::Device, name: &str) -> Result<Self, DrawError> {
        let composed =
            COMPOSER.compose(&format!("draw/{name}")).map_err(|error| DrawError::Device(error.to_string()))?;
        let points = reflect(&composed).map_err(|error| DrawError::Device(error.to_string()))?;
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some(composed.name()),
            source: wgpu::ShaderSource::Wgsl(composed.text().into()),
        });
        Ok(Self { module, points })
    }

    fn find(&self, name: &str) -> Result<&drystone::low_level::gpu::kernel::Reflection, DrawError> {
        let found = self.points.iter().find(|(point, _)| point == name);
        found.map(|(_, point)| point).ok_or_else(|| DrawError::Device(format!("shader entry point {name} not found")))
    }

    /// Creates a compute pipeline.
    pub fn kernel(&self, device: &wgpu::Device, name: &str) -> Result<DrawKernel, DrawError> {
        let point = self.find(name)?;
        let layout = layout(device, name, &point.bindings, |_| wgpu::ShaderStages::COMPUTE);
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(name),
            layout: Some(&pipeline_layout(device, name, &layout)),
            module: &self.module,
            entry_point: Some(name),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            cache: None,
        });
        Ok(Program { pipeline, layout, bindings: point.bindings.clone(), lanes: point.workgroup_size })
    }

    /// Creates a render pipeline.
    pub fn pen(&self, device: &wgpu::Device, target: RenderTarget, source: &PenSource) -> Result<Pen, DrawError> {
        let &PenSource { name, fragment, is_strip, blends, .. } = source;
        let topology =
            if is_strip { wgpu::PrimitiveTopology::TriangleStrip } else { wgpu::PrimitiveTopology::TriangleList };
        let (vertex, fragment) = (format!("{name}_vertex"), format!("{fragment}_fragment"));
        let (above, below) = (&self.find(&vertex)?.bindings, &self.find(&fragment)?.bindings);
        let mut bindings = above.clone();
        bindings.extend(below.iter().filter(|&binding| !above.contains(binding)).cloned());
        let layout = layout(device, name, &bindings, |binding| {
            let of = |stage, used: bool| if used { stage } else { wgpu::ShaderStages::NONE };
            of(wgpu::ShaderStages::VERTEX, above.contains(binding))
                | of(wgpu::ShaderStages::FRAGMENT, below.contains(binding))
        });
        // The target stays opaque.
        let over =
            wgpu::BlendState { color: wgpu::BlendState::ALPHA_BLENDING.color, alpha: wgpu::BlendComponent::OVER };
        let pipeline = device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
            label: Some(name),
            layout: Some(&pipeline_layout(device, name, &layout)),
            vertex: wgpu::VertexState {
                module: &self.module,
                entry_point: Some(&vertex),
                compilation_options: wgpu::PipelineCompilationOptions::default(),
                buffers: &[],
            },
            primitive: wgpu::PrimitiveState { topology, ..Default::default() },
            depth_stencil: None,
            multisample: wgpu::MultisampleState { count: target.samples, ..Default::default() },
            fragment: Some(wgpu::FragmentState {
                module: &self.module,
                entry_point: Some(&fragment),
                compilation_options: wgpu::PipelineCompilationOptions::default(),
                targets: &[Some(wgpu::ColorTargetState {
                    format: target.format,
                    blend: blends.then_some(over),
                    write_mask: wgpu::ColorWrites::ALL,
                })],
            }),
            multiview_mask: None,
            cache: None,
        });
        Ok(Program { pipeline, layout, bindings, lanes: 1 })
    }
}

fn layout(
    device: &wgpu::Device,
    name: &str,
    bindings: &[Binding],
    visibility: impl Fn(&Binding) -> wgpu::ShaderStages,
) -> wgpu::BindGroupLayout {
    let entries: Vec<wgpu::BindGroupLayoutEntry> = bindings
        .iter()
        .map(|binding| wgpu::BindGroupLayoutEntry {
            binding: binding.index,
            visibility: visibility(binding),
            ty: wgpu::BindingType::Buffer {
                ty: match binding.kind {
                    BindingKind::Uniform => wgpu::BufferBindingType::Uniform,
                    BindingKind::Read => wgpu::BufferBindingType::Storage { read_only: true },
                    BindingKind::ReadWrite => wgpu::BufferBindingType::Storage { read_only: false },
                },
                has_dynamic_offset: false,
                min_binding_size: None,
            },
            count: None,
        })
        .collect();
    device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: Some(name), entries: &entries })
}

fn pipeline_layout(device: &wgpu::Device, name: &str, layout: &wgpu::BindGroupLayout) -> wgpu::PipelineLayout {
    device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label: Some(name),
        bind_group_layouts: &[Some(layout)],
        immediate_size: 0,
    })
}

/// Pipelines that every picture needs.
#[derive(Debug)]
pub(crate) struct Base {
    pub backdrop: Pen,
    pub shapes: Pen,
    pub bar: Pen,
    pub count: DrawKernel,
    pub scan: DrawKernel,
    pub emit: DrawKernel,
}

impl Base {
    pub fn new(device: &wgpu::Device, target: RenderTarget) -> Result<Self, DrawError> {
        let backdrop = ParsedShader::new(device, BACKDROP.shader)?;
        let cull = ParsedShader::new(device, "cull")?;
        Ok(Self {
            backdrop: backdrop.pen(device, target, &BACKDROP)?,
            shapes: ParsedShader::new(device, SHAPES.shader)?.pen(device, target, &SHAPES)?,
            bar: backdrop.pen(device, target, &BAR)?,
            count: cull.kernel(device, "cull_count")?,
            scan: cull.kernel(device, "cull_scan")?,
            emit: cull.kernel(device, "cull_emit")?,
        })
    }
}

/// Pipelines that only layers need. Created when a layer is first drawn.
#[derive(Debug)]
pub(crate) struct More {
    pub cells: Pen,
    pub boxes: Pen,
    pub joints: Pen,
    pub contacts: Pen,
    pub sleeping: Pen,
    pub velocities: Pen,
    pub weights: Pen,
    pub pulls: Pen,
    pub legend: Pen,
    pub legend_value: DrawKernel,
    pub cull_contacts: DrawKernel,
    tints: Vec<(&'static str, DrawKernel)>,
}

/// The kernels of `tint.wgsl`.
pub(crate) const TINTS: [&str; 12] = [
    "tint_plain",
    "tint_speed",
    "tint_difference",
    "tint_sleep",
    "tint_clear",
    "tint_colors",
    "tint_graph",
    "tint_alone",
    "tint_unite",
    "tint_unite_joints",
    "tint_roots",
    "tint_island",
];

impl More {
    pub fn new(device: &wgpu::Device, target: RenderTarget) -> Result<Self, DrawError> {
        let pen = |shader: &ParsedShader, source: &PenSource| shader.pen(device, target, source);
        let alone = |source: &PenSource| pen(&ParsedShader::new(device, source.shader)?, source);
        let contacts = ParsedShader::new(device, CONTACTS.shader)?;
        let forces = ParsedShader::new(device, WEIGHTS.shader)?;
        let legend = ParsedShader::new(device, LEGEND.shader)?;
        let tint = ParsedShader::new(device, "tint")?;
        Ok(Self {
            cells: alone(&CELLS)?,
            boxes: alone(&BOXES)?,
            joints: alone(&JOINTS)?,
            contacts: pen(&contacts, &CONTACTS)?,
            sleeping: pen(&contacts, &SLEEPING)?,
            velocities: alone(&VELOCITIES)?,
            weights: pen(&forces, &WEIGHTS)?,
            pulls: pen(&forces, &PULLS)?,
            legend: pen(&legend, &LEGEND)?,
            legend_value: legend.kernel(device, "legend_value")?,
            cull_contacts: ParsedShader::new(device, "cull")?.kernel(device, "cull_contacts")?,
            tints: TINTS
                .into_iter()
                .map(|name| Ok((name, tint.kernel(device, name)?)))
                .collect::<Result<_, DrawError>>()?,
        })
    }

    pub fn tint(&self, name: &str) -> Result<&DrawKernel, DrawError> {
        let found = self.tints.iter().find(|(known, _)| *known == name);
        found.map(|(_, kernel)| kernel).ok_or_else(|| DrawError::Device(format!("kernel {name} not found")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wgpu::naga;

    /// The shaders run on every device that wgpu supports: no optional feature, at most eight storage buffers per
    /// stage, and none that a vertex shader writes.
    #[test]
    fn shaders_need_no_optional_feature() {
        let most = wgpu::Limits::default().max_storage_buffers_per_shader_stage as usize;
        let mut points = 0;
        for source in SOURCES {
            let composed = COMPOSER.compose(source.name).unwrap_or_else(|error| panic!("{error}"));
            composed.module_with(naga::valid::Capabilities::empty()).unwrap_or_else(|error| panic!("{error}"));
            for (point, reflection) in reflect(&composed).unwrap() {
                points += 1;
                let storage = reflection.bindings.iter().filter(|b| b.kind != BindingKind::Uniform);
                assert!(storage.clone().count() <= most, "{point} has {} storage buffers", storage.count());
                let draws = point.ends_with("_vertex") || point.ends_with("_fragment");
                let writes = reflection.bindings.iter().any(|b| b.kind == BindingKind::ReadWrite);
                assert!(!(draws && writes), "{point} writes a buffer");
            }
        }
        assert!(points > 30, "only {points} entry points");
    }
}
