//! Kernels: one entry point of a shader each. The shader declares its bindings, access and workgroup size; here they are
//! read from the WGSL and never stated again.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use wgpu::naga;

use super::many::{LAYERS, many};

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
    /// A kernel that no shader has.
    #[error("no shader has the entry point {name}")]
    Missing {
        /// Its name.
        name: &'static str,
    },
    /// A kernel for many worlds that uses more tables than the device lets a kernel use.
    #[error("many worlds: kernel {name} uses {buffers} storage buffers, the device allows {limit}")]
    Buffers {
        /// Its name.
        name: &'static str,
        /// How many it uses.
        buffers: u32,
        /// How many it may.
        limit: u32,
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

/// WGSL: the structs and constants of the solver's tables. Shaders of your own that read those tables begin with it.
pub const TYPES: &str = include_str!("../../shaders/types.wgsl");
/// WGSL: rotations and boxes; follows [`TYPES`].
pub const MATH: &str = include_str!("../../shaders/math.wgsl");
/// WGSL: cells of the broad phase; follows [`TYPES`] and [`MATH`].
pub const GRID: &str = include_str!("../../shaders/grid.wgsl");
const CELLS: &str = include_str!("../../shaders/cells.wgsl");
const JOINED: &str = include_str!("../../shaders/joined.wgsl");
const OUTLINE: &str = include_str!("../../shaders/outline.wgsl");
const HULL: &str = include_str!("../../shaders/hull.wgsl");
const SWEEP: &str = include_str!("../../shaders/sweep.wgsl");
const JOINT_SWEEP: &str = include_str!("../../shaders/joint_sweep.wgsl");

macro_rules! stage {
    ($name:literal) => {
        ($name, include_str!(concat!("../../shaders/", $name, ".wgsl")))
    };
}

macro_rules! shader {
    ($name:literal $(, $shared:expr)*) => {
        Shader {
            name: $name,
            shared: &[TYPES, MATH $(, $shared)*],
            stages: &[],
            source: include_str!(concat!("../../shaders/", $name, ".wgsl")),
        }
    };
}

/// A shader file and what it builds on.
#[derive(Clone, Copy, Debug)]
pub struct Shader {
    /// File stem: the stage's name, `scan`, `carry`, `query` or `alone`.
    pub name: &'static str,
    /// Sources before it.
    pub shared: &'static [&'static str],
    /// Shaders whose functions it calls, by name: what stands before their entry points, without their bindings, which it
    /// declares itself.
    pub stages: &'static [(&'static str, &'static str)],
    /// Its own source.
    pub source: &'static str,
}

impl Shader {
    /// The whole module.
    #[must_use]
    pub fn text(&self) -> String {
        self.text_with(&[])
    }

    /// The same where stages are patched whose functions it calls.
    fn text_with(&self, patches: &[Patch]) -> String {
        let mut text = self.shared.concat();
        for &(name, stage) in self.stages {
            let of_stage = patches.iter().filter(|patch| patch.shader == name);
            let patched = of_stage.fold(stage.to_owned(), |text, patch| text.replacen(patch.from, patch.to, 1));
            text.push_str(&functions_of(&patched));
        }
        text.push_str(self.source);
        text
    }
}

/// What stands before the first entry point, without bindings.
fn functions_of(text: &str) -> String {
    let before = text.lines().take_while(|line| !line.starts_with("@compute"));
    before.filter(|line| !line.starts_with("@group(")).flat_map(|line| [line, "\n"]).collect()
}

/// All shaders of the pipeline.
pub const SHADERS: &[Shader] = &[
    shader!("command"),
    shader!("guard"),
    shader!("bound", GRID, JOINED),
    shader!("bin", GRID),
    shader!("scan"),
    shader!("pair", GRID, CELLS, JOINED),
    shader!("recall"),
    shader!("carry"),
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
    shader!("continuous", GRID, CELLS, JOINED, OUTLINE),
    shader!("finalize"),
    shader!("sleep"),
    shader!("query", GRID, CELLS, OUTLINE),
    Shader {
        name: "alone",
        shared: &[TYPES, MATH, SWEEP],
        stages: &[
            ("joint_sweep", JOINT_SWEEP),
            stage!("warm_start"),
            stage!("warm_start_joints"),
            stage!("integrate_velocities"),
            stage!("solve_joints"),
            stage!("solve"),
            stage!("integrate_positions"),
            stage!("project_joints"),
            stage!("project"),
            stage!("restitution"),
        ],
        source: include_str!("../../shaders/alone.wgsl"),
    },
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
    /// Whether it uses the `strides` uniform of group 2, which only kernels for many worlds have.
    pub uses_strides: bool,
    /// Whether it reads the `layers` of group 3, as all kernels for many worlds do.
    pub uses_layers: bool,
    /// Threads in a workgroup.
    pub workgroup_size: u32,
}

impl Reflection {
    /// Tables, of which a device allows a kernel so many.
    #[must_use]
    pub fn storage_buffers(&self) -> u32 {
        let tables = self.bindings.iter().filter(|binding| binding.kind != BindingKind::Uniform);
        u32::try_from(tables.count() + usize::from(self.uses_layers)).unwrap_or(u32::MAX)
    }
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
            uses_strides: false,
            uses_layers: false,
            workgroup_size: point.workgroup_size.iter().product(),
        };
        for (handle, global) in module.global_variables.iter() {
            let Some(place) = global.binding else { continue };
            if info.get_entry_point(index)[handle].is_empty() {
                continue;
            }
            match place.group {
                1 => reflection.uses_sweep = true,
                2 => reflection.uses_strides = true,
                3 => reflection.uses_layers = true,
                _ => {}
            }
            if place.group > 0 {
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
    pub reflection: Reflection,
    pub pipeline: wgpu::ComputePipeline,
    pub layout: wgpu::BindGroupLayout,
    /// Tables of [`Reflection::uses_strides`], in the order of the uniform.
    pub strided: Arc<[String]>,
}

/// A shader that was read.
#[derive(Debug)]
struct Module {
    compiled: wgpu::ShaderModule,
    points: HashMap<String, Reflection>,
    strided: Arc<[String]>,
}

/// The kernels of a device, for one world or for many. Each is compiled when it is first needed.
#[derive(Debug)]
pub(crate) struct Kernels {
    device: wgpu::Device,
    patches: Vec<Patch>,
    many: bool,
    pub sweep_layout: wgpu::BindGroupLayout,
    pub strides_layout: wgpu::BindGroupLayout,
    pub layers_layout: wgpu::BindGroupLayout,
    /// One a shader.
    modules: Vec<OnceLock<Result<Module, KernelError>>>,
    compiled: Mutex<HashMap<&'static str, Arc<Kernel>>>,
}

impl Kernels {
    /// Compiles nothing yet.
    ///
    /// # Errors
    /// If a patch does not match exactly once, or a patched shader is not valid.
    pub fn new(device: &wgpu::Device, patches: &[Patch], many: bool) -> Result<Self, KernelError> {
        let layout = |label, ty, has_dynamic_offset| {
            device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
                label: Some(label),
                entries: &[wgpu::BindGroupLayoutEntry {
                    binding: 0,
                    visibility: wgpu::ShaderStages::COMPUTE,
                    ty: wgpu::BindingType::Buffer { ty, has_dynamic_offset, min_binding_size: None },
                    count: None,
                }],
            })
        };
        let kernels = Self {
            device: device.clone(),
            patches: patches.to_vec(),
            many,
            sweep_layout: layout("sweep", wgpu::BufferBindingType::Uniform, true),
            strides_layout: layout("strides", wgpu::BufferBindingType::Uniform, false),
            layers_layout: layout(LAYERS, wgpu::BufferBindingType::Storage { read_only: true }, false),
            modules: SHADERS.iter().map(|_| OnceLock::new()).collect(),
            compiled: Mutex::default(),
        };
        for (index, shader) in SHADERS.iter().enumerate() {
            if patches.iter().any(|patch| patch.shader == shader.name) {
                kernels.module(index)?;
            }
        }
        Ok(kernels)
    }

    /// Whether they are for many worlds.
    pub fn are_for_many(&self) -> bool {
        self.many
    }

    /// A kernel, compiled now unless it was before.
    pub fn get(&self, name: &'static str) -> Result<Arc<Kernel>, KernelError> {
        if let Some(kernel) = self.lock().get(name) {
            return Ok(kernel.clone());
        }
        let kernel = Arc::new(self.compile(name)?);
        Ok(self.lock().entry(name).or_insert(kernel).clone())
    }

    /// Compiles the kernels that are not compiled yet, on all cores.
    pub fn prepare(&self, names: impl IntoIterator<Item = &'static str>) -> Result<(), KernelError> {
        let missing: HashSet<&'static str> = {
            let compiled = self.lock();
            names.into_iter().filter(|name| !compiled.contains_key(name)).collect()
        };
        std::thread::scope(|scope| {
            let tasks: Vec<_> =
                missing.into_iter().map(|name| scope.spawn(move || self.get(name).map(|_| ()))).collect();
            tasks.into_iter().try_for_each(|task| {
                task.join().unwrap_or_else(|_| {
                    Err(KernelError::Shader { shader: "?", reason: "the compiler panicked".to_owned() })
                })
            })
        })
    }

    /// Whether the device lets a kernel use as many tables as it does.
    pub fn fits(&self, name: &'static str) -> Result<bool, KernelError> {
        let shader = shader_of(name).ok_or(KernelError::Missing { name })?;
        let reflection = self.module(shader)?.points.get(name).ok_or(KernelError::Missing { name })?;
        Ok(reflection.storage_buffers() <= self.device.limits().max_storage_buffers_per_shader_stage)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<&'static str, Arc<Kernel>>> {
        self.compiled.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn module(&self, index: usize) -> Result<&Module, KernelError> {
        let read = || read(&self.device, &SHADERS[index], &self.patches, self.many);
        self.modules[index].get_or_init(read).as_ref().map_err(Clone::clone)
    }

    fn compile(&self, name: &'static str) -> Result<Kernel, KernelError> {
        let shader = shader_of(name).ok_or(KernelError::Missing { name })?;
        let Module { compiled: module, points, strided } = self.module(shader)?;
        let reflection = points.get(name).ok_or(KernelError::Missing { name })?.clone();
        let device = &self.device;
        if self.many {
            let limit = device.limits().max_storage_buffers_per_shader_stage;
            let buffers = reflection.storage_buffers();
            if buffers > limit {
                return Err(KernelError::Buffers { name, buffers, limit });
            }
        }
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
            device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: Some(name), entries: &entries });
        let sweep = reflection.uses_sweep.then_some(&self.sweep_layout);
        let strides = reflection.uses_strides.then_some(&self.strides_layout);
        let groups = [Some(&layout), sweep, strides, reflection.uses_layers.then_some(&self.layers_layout)];
        let used = groups.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
        let pipeline_layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: Some(name),
            bind_group_layouts: &groups[..used],
            immediate_size: 0,
        });
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(name),
            layout: Some(&pipeline_layout),
            module,
            entry_point: Some(name),
            compilation_options: wgpu::PipelineCompilationOptions {
                // wgpu clears workgroup memory before use; ours is always written first.
                zero_initialize_workgroup_memory: false,
                ..wgpu::PipelineCompilationOptions::default()
            },
            cache: None,
        });
        Ok(Kernel { reflection, pipeline, layout, strided: strided.clone() })
    }
}

/// The shader that an entry point is in, by its name: `collide_sharp` is in `collide`.
fn shader_of(name: &str) -> Option<usize> {
    let is_of = |shader: &&(usize, &Shader)| {
        name.strip_prefix(shader.1.name).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
    };
    let all: Vec<_> = SHADERS.iter().enumerate().collect();
    all.iter().filter(is_of).max_by_key(|(_, shader)| shader.name.len()).map(|&(index, _)| index)
}

fn read(device: &wgpu::Device, shader: &Shader, patches: &[Patch], for_many: bool) -> Result<Module, KernelError> {
    let mut text = shader.text_with(patches);
    for patch in patches.iter().filter(|patch| patch.shader == shader.name) {
        let count = text.matches(patch.from).count();
        if count != 1 {
            return Err(KernelError::Patch { shader: shader.name.to_owned(), count, from: patch.from.to_owned() });
        }
        text = text.replacen(patch.from, patch.to, 1);
    }
    let mut strided = Vec::new();
    if for_many {
        strided = super::many::tables(&text).into_iter().map(str::to_owned).collect();
        text = many(&text);
    }
    let points = reflect(shader.name, &text)?.into_iter().collect();
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: Some(shader.name),
        source: wgpu::ShaderSource::Wgsl(text.into()),
    });
    Ok(Module { compiled: module, points, strided: strided.into() })
}
