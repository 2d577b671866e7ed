//! Kernels: one entry point of a shader each. The shader declares its bindings, access and workgroup size; here they are
//! read from the WGSL and never stated again.

use wgpu::naga;

/// A shader that could not be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KernelError {
    /// The WGSL does not parse or validate.
    #[error("shader {shader}: {reason}")]
    Shader {
        /// Its file.
        shader: &'static str,
        /// What naga says, with the place.
        reason: String,
    },
    /// A patch that is not found exactly once.
    #[error("patch for shader {shader}: found {count} times, expected once: {from}")]
    Patch {
        /// Its file.
        shader: String,
        /// How often it was found.
        count: usize,
        /// What was looked for.
        from: String,
    },
}

/// A change of a shader's text, for tests that break a stage on purpose.
#[derive(Clone, Copy, Debug)]
pub struct Patch {
    /// File stem of the shader, such as `solve`.
    pub shader: &'static str,
    /// Text that occurs exactly once.
    pub from: &'static str,
    /// Text in its place.
    pub to: &'static str,
}

const TYPES: &str = include_str!("../../shaders/types.wgsl");
const MATH: &str = include_str!("../../shaders/math.wgsl");
const GRID: &str = include_str!("../../shaders/grid.wgsl");
const JOINED: &str = include_str!("../../shaders/joined.wgsl");
const OUTLINE: &str = include_str!("../../shaders/outline.wgsl");
const HULL: &str = include_str!("../../shaders/hull.wgsl");
const SWEEP: &str = include_str!("../../shaders/sweep.wgsl");
const JOINT_SWEEP: &str = include_str!("../../shaders/joint_sweep.wgsl");

macro_rules! shader {
    ($name:literal $(, $shared:expr)*) => {
        Shader {
            name: $name,
            shared: &[TYPES, MATH $(, $shared)*],
            source: include_str!(concat!("../../shaders/", $name, ".wgsl")),
        }
    };
}

/// A shader file and what it builds on.
#[derive(Clone, Copy, Debug)]
pub struct Shader {
    /// File stem: the stage's name, `scan` or `query`.
    pub name: &'static str,
    /// Sources before it.
    pub shared: &'static [&'static str],
    /// Its own source.
    pub source: &'static str,
}

impl Shader {
    /// The whole module.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = self.shared.concat();
        text.push_str(self.source);
        text
    }
}

/// All shaders of the pipeline.
pub const SHADERS: &[Shader] = &[
    shader!("command"),
    shader!("guard"),
    shader!("bound", GRID, JOINED),
    shader!("bin", GRID),
    shader!("scan"),
    shader!("pair", GRID, JOINED),
    shader!("recall"),
    shader!("collide", OUTLINE, HULL),
    shader!("wake", GRID, JOINED),
    shader!("report"),
    shader!("color"),
    shader!("prepare"),
    shader!("prepare_joints"),
    shader!("warm_start", SWEEP),
    shader!("warm_start_joints", JOINT_SWEEP),
    shader!("integrate_velocities"),
    shader!("solve_joints", JOINT_SWEEP),
    shader!("solve", SWEEP),
    shader!("integrate_positions"),
    shader!("project_joints", JOINT_SWEEP),
    shader!("project", SWEEP),
    shader!("restitution", SWEEP),
    shader!("store_impulses"),
    shader!("continuous", GRID, JOINED, OUTLINE),
    shader!("finalize"),
    shader!("sleep"),
    shader!("query", GRID),
];

/// A binding of group 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// Index in the group.
    pub index: u32,
    /// Name of the WGSL variable, which is that of the buffer.
    pub name: String,
    /// As declared.
    pub kind: BindingKind,
}

/// How a kernel sees a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BindingKind {
    /// `var<uniform>`
    Uniform,
    /// `var<storage, read>`
    Read,
    /// `var<storage, read_write>`
    ReadWrite,
}

/// What naga finds at an entry point.
#[derive(Clone, Debug)]
pub struct Reflection {
    /// Bindings of group 0 that the entry point uses.
    pub bindings: Vec<Binding>,
    /// Whether it uses the `sweep` uniform of group 1.
    pub uses_sweep: bool,
    /// Threads in a workgroup.
    pub workgroup_size: u32,
}

/// Entry points of a module with their reflection.
///
/// # Errors
/// If the text does not parse or validate.
pub fn reflect(shader: &'static str, text: &str) -> Result<Vec<(String, Reflection)>, KernelError> {
    let fail = |reason: String| KernelError::Shader { shader, reason };
    let module = naga::front::wgsl::parse_str(text).map_err(|error| fail(error.emit_to_string(text)))?;
    let info = naga::valid::Validator::new(naga::valid::ValidationFlags::all(), naga::valid::Capabilities::all())
        .validate(&module)
        .map_err(|error| fail(error.emit_to_string(text)))?;
    let mut points = Vec::new();
    for (index, point) in module.entry_points.iter().enumerate() {
        let mut reflection = Reflection {
            bindings: Vec::new(),
            uses_sweep: false,
            workgroup_size: point.workgroup_size.iter().product(),
        };
        for (handle, global) in module.global_variables.iter() {
            let Some(place) = global.binding else { continue };
            if info.get_entry_point(index)[handle].is_empty() {
                continue;
            }
            if place.group == 1 {
                reflection.uses_sweep = true;
                continue;
            }
            let kind = match global.space {
                naga::AddressSpace::Storage { access } if access.contains(naga::StorageAccess::STORE) => {
                    BindingKind::ReadWrite
                }
                naga::AddressSpace::Storage { .. } => BindingKind::Read,
                _ => BindingKind::Uniform,
            };
            let name = global.name.clone().unwrap_or_default();
            reflection.bindings.push(Binding { index: place.binding, name, kind });
        }
        points.push((point.name.clone(), reflection));
    }
    Ok(points)
}

/// One compiled entry point.
#[derive(Debug)]
pub(crate) struct Kernel {
    pub name: String,
    pub reflection: Reflection,
    pub pipeline: wgpu::ComputePipeline,
    pub layout: wgpu::BindGroupLayout,
}

/// All kernels, compiled for one device.
#[derive(Debug)]
pub(crate) struct Kernels {
    pub list: Vec<Kernel>,
    pub sweep_layout: wgpu::BindGroupLayout,
}

impl Kernels {
    /// Compiles all entry points of all shaders, in parallel.
    pub fn new(device: &wgpu::Device, patches: &[Patch]) -> Result<Self, KernelError> {
        let sweep_layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: Some("sweep"),
            entries: &[wgpu::BindGroupLayoutEntry {
                binding: 0,
                visibility: wgpu::ShaderStages::COMPUTE,
                ty: wgpu::BindingType::Buffer {
                    ty: wgpu::BufferBindingType::Uniform,
                    has_dynamic_offset: true,
                    min_binding_size: None,
                },
                count: None,
            }],
        });
        let compiled: Vec<Result<Vec<Kernel>, KernelError>> = std::thread::scope(|scope| {
            let tasks: Vec<_> =
                SHADERS.iter().map(|shader| scope.spawn(|| compile(device, &sweep_layout, shader, patches))).collect();
            tasks
                .into_iter()
                .map(|task| {
                    task.join().unwrap_or_else(|_| {
                        Err(KernelError::Shader { shader: "?", reason: "the compiler panicked".to_owned() })
                    })
                })
                .collect()
        });
        let mut list = Vec::new();
        for kernels in compiled {
            list.extend(kernels?);
        }
        Ok(Self { list, sweep_layout })
    }

    /// Index of an entry point.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.list.iter().position(|kernel| kernel.name == name)
    }
}

fn compile(
    device: &wgpu::Device,
    sweep_layout: &wgpu::BindGroupLayout,
    shader: &Shader,
    patches: &[Patch],
) -> Result<Vec<Kernel>, KernelError> {
    let mut text = shader.text();
    for patch in patches.iter().filter(|patch| patch.shader == shader.name) {
        let count = text.matches(patch.from).count();
        if count != 1 {
            return Err(KernelError::Patch { shader: shader.name.to_owned(), count, from: patch.from.to_owned() });
        }
        text = text.replacen(patch.from, patch.to, 1);
    }
    let points = reflect(shader.name, &text)?;
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: Some(shader.name),
        source: wgpu::ShaderSource::Wgsl(text.into()),
    });
    let mut kernels = Vec::new();
    for (name, reflection) in points {
        let entries: Vec<wgpu::BindGroupLayoutEntry> = reflection
            .bindings
            .iter()
            .map(|binding| wgpu::BindGroupLayoutEntry {
                binding: binding.index,
                visibility: wgpu::ShaderStages::COMPUTE,
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
        let layout =
            device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: Some(&name), entries: &entries });
        let groups = [Some(&layout), Some(sweep_layout)];
        let pipeline_layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: Some(&name),
            bind_group_layouts: &groups[..if reflection.uses_sweep { 2 } else { 1 }],
            immediate_size: 0,
        });
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(&name),
            layout: Some(&pipeline_layout),
            module: &module,
            entry_point: Some(&name),
            compilation_options: wgpu::PipelineCompilationOptions {
                // wgpu clears workgroup memory before use; ours is always written first.
                zero_initialize_workgroup_memory: false,
                ..wgpu::PipelineCompilationOptions::default()
            },
            cache: None,
        });
        kernels.push(Kernel { name, reflection, pipeline, layout });
    }
    Ok(kernels)
}
