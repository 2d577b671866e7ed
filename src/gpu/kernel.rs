//! Compute kernels, one per shader entry point, with bindings, access and workgroup size reflected from the WGSL, so
//! that Rust never states them a second time.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use wgpu::naga;

pub use super::shader::Patch;
use super::shader::{Composed, Composer, LAYERS, SHADERS, ShaderError, ShaderSource};
use crate::scene::ContactRule;

/// Kernels that call the rule of a scene.
const RULE_KERNELS: [&str; 2] = ["rule_contacts", "rule_constraints"];

/// A kernel that could not be created.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KernelError {
    /// Composing or validating its shader failed.
    #[error(transparent)]
    Shader(#[from] ShaderError),
    /// The compiler panicked.
    #[error("the shader compiler panicked: report it with the adapter and driver of `drystone info`")]
    Panicked,
    /// No shader has this entry point.
    #[error("no shader has the entry point {name}")]
    Missing {
        /// Its name.
        name: &'static str,
    },
    /// A kernel for many worlds that uses more storage buffers than the device allows.
    #[error("many worlds: kernel {name} uses {buffers} storage buffers, the device allows {limit}")]
    Buffers {
        /// Name of the kernel.
        name: &'static str,
        /// Storage buffers used.
        buffers: u32,
        /// Storage buffers allowed.
        limit: u32,
    },
}

/// A binding of group 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// Index in the group.
    pub index: u32,
    /// Name of the WGSL variable and of the buffer.
    pub name: String,
    /// Address space and access.
    pub kind: BindingKind,
}

/// Address space and access of a binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BindingKind {
    /// `var<uniform>`
    Uniform,
    /// `var<storage, read>`
    Read,
    /// `var<storage, read_write>`
    ReadWrite,
}

/// Reflection of an entry point by naga.
#[derive(Clone, Debug)]
pub struct Reflection {
    /// Bindings of group 0 that the entry point uses.
    pub bindings: Vec<Binding>,
    /// True if it uses the `sweep` uniform of group 1.
    pub uses_sweep: bool,
    /// True if it uses the `strides` uniform of group 2 (kernels for many worlds only).
    pub uses_strides: bool,
    /// True if it reads the `layers` of group 3 (all kernels for many worlds).
    pub uses_layers: bool,
    /// Threads per workgroup.
    pub workgroup_size: u32,
}

impl Reflection {
    /// Returns the number of storage buffers, which devices limit per kernel.
    #[must_use]
    pub fn storage_buffers(&self) -> u32 {
        let tables = self.bindings.iter().filter(|binding| binding.kind != BindingKind::Uniform);
        u32::try_from(tables.count() + usize::from(self.uses_layers)).unwrap_or(u32::MAX)
    }
}

/// Returns the entry points of a module with their reflection.
///
/// # Errors
/// If the WGSL does not parse or validate.
pub fn reflect(composed: &Composed) -> Result<Vec<(String, Reflection)>, ShaderError> {
    let (module, info) = composed.module()?;
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

/// A compiled entry point.
#[derive(Debug)]
pub(crate) struct Kernel {
    pub reflection: Reflection,
    pub pipeline: wgpu::ComputePipeline,
    pub layout: wgpu::BindGroupLayout,
    /// Tables of the strides uniform, in its order ([`Reflection::uses_strides`]).
    pub strided: Arc<[String]>,
}

/// A parsed shader module.
#[derive(Debug)]
struct Module {
    compiled: wgpu::ShaderModule,
    points: HashMap<String, Reflection>,
    strided: Arc<[String]>,
}

/// Kernels of a device, for one world or for many; each is compiled on first use.
#[derive(Debug)]
pub(crate) struct Kernels {
    device: wgpu::Device,
    patches: Vec<Patch>,
    /// The scene's rule, and the kernels beside those of the rule; without a rule all are here.
    rule: Option<(ContactRule, Arc<Self>)>,
    many: bool,
    pub sweep_layout: wgpu::BindGroupLayout,
    pub strides_layout: wgpu::BindGroupLayout,
    pub layers_layout: wgpu::BindGroupLayout,
    /// Parsed modules, in the order of `SHADERS`.
    modules: Vec<OnceLock<Result<Module, KernelError>>>,
    compiled: Mutex<HashMap<&'static str, Arc<Kernel>>>,
}

impl Kernels {
    /// Creates the layouts; compiles nothing yet.
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
            rule: None,
            many,
            sweep_layout: layout("sweep", wgpu::BufferBindingType::Uniform, true),
            strides_layout: layout("strides", wgpu::BufferBindingType::Uniform, false),
            layers_layout: layout(LAYERS, wgpu::BufferBindingType::Storage { read_only: true }, false),
            modules: SHADERS.iter().map(|_| OnceLock::new()).collect(),
            compiled: Mutex::default(),
        };
        let composer = Composer::SOLVER.with_patches(patches);
        composer.check_patches()?;
        for (index, shader) in SHADERS.iter().enumerate().filter(|_| !patches.is_empty()) {
            let composed = composer.compose(shader.name)?;
            if patches.iter().any(|patch| composed.has(patch.shader)) {
                kernels.module(index)?;
            }
        }
        Ok(kernels)
    }

    /// Returns kernels with those of a scene's rule, if it has one.
    ///
    /// # Errors
    /// If the WGSL of the rule is not valid.
    pub fn ruled(others: Arc<Self>, rule: Option<&ContactRule>) -> Result<Arc<Self>, KernelError> {
        let Some(rule) = rule else { return Ok(others) };
        let kernels = Self {
            device: others.device.clone(),
            patches: others.patches.clone(),
            many: others.many,
            sweep_layout: others.sweep_layout.clone(),
            strides_layout: others.strides_layout.clone(),
            layers_layout: others.layers_layout.clone(),
            modules: SHADERS.iter().map(|_| OnceLock::new()).collect(),
            compiled: Mutex::default(),
            rule: Some((rule.clone(), others)),
        };
        // Both are in one module, which is composed and validated here.
        kernels.fits(RULE_KERNELS[0])?;
        Ok(Arc::new(kernels))
    }

    /// Returns the owner of a kernel: these, or those that do not depend on a rule.
    fn owner(&self, name: &str) -> &Self {
        match &self.rule {
            Some((_, others)) if !RULE_KERNELS.contains(&name) => others,
            _ => self,
        }
    }

    /// Returns true for kernels that serve many worlds.
    pub fn are_for_many(&self) -> bool {
        self.many
    }

    /// Returns a kernel, compiled on first use.
    pub fn get(&self, name: &'static str) -> Result<Arc<Kernel>, KernelError> {
        let owner = self.owner(name);
        if let Some(kernel) = owner.lock().get(name) {
            return Ok(kernel.clone());
        }
        let kernel = Arc::new(owner.compile(name)?);
        Ok(owner.lock().entry(name).or_insert(kernel).clone())
    }

    /// Compiles the given kernels in parallel, except those that are already compiled.
    pub fn prepare(&self, names: impl IntoIterator<Item = &'static str>) -> Result<(), KernelError> {
        let missing: HashSet<&'static str> =
            names.into_iter().filter(|name| !self.owner(name).lock().contains_key(name)).collect();
        std::thread::scope(|scope| {
            let tasks: Vec<_> =
                missing.into_iter().map(|name| scope.spawn(move || self.get(name).map(|_| ()))).collect();
            tasks.into_iter().try_for_each(|task| task.join().unwrap_or(Err(KernelError::Panicked)))
        })
    }

    /// Returns true if the device allows as many storage buffers as the kernel uses.
    pub fn fits(&self, name: &'static str) -> Result<bool, KernelError> {
        let shader = shader_of(name).ok_or(KernelError::Missing { name })?;
        let reflection = self.owner(name).module(shader)?.points.get(name).ok_or(KernelError::Missing { name })?;
        Ok(reflection.storage_buffers() <= self.device.limits().max_storage_buffers_per_shader_stage)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<&'static str, Arc<Kernel>>> {
        self.compiled.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn module(&self, index: usize) -> Result<&Module, KernelError> {
        let rule = self.rule.as_ref().map(|(rule, _)| rule.wgsl());
        let read = || read(&self.device, SHADERS[index].name, &self.patches, rule, self.many);
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
                // wgpu would clear workgroup memory before use; these kernels always write it first.
                zero_initialize_workgroup_memory: false,
                ..wgpu::PipelineCompilationOptions::default()
            },
            cache: None,
        });
        Ok(Kernel { reflection, pipeline, layout, strided: strided.clone() })
    }
}

/// Returns the shader of an entry point, by its name: `collide_sharp` is in `collide`.
pub(super) fn shader_of(name: &str) -> Option<usize> {
    let is_of = |shader: &&(usize, &ShaderSource)| {
        name.strip_prefix(shader.1.name).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
    };
    let all: Vec<_> = SHADERS.iter().enumerate().collect();
    all.iter().filter(is_of).max_by_key(|(_, shader)| shader.name.len()).map(|&(index, _)| index)
}

/// Composes, validates and creates a shader module.
fn read(
    device: &wgpu::Device,
    shader: &str,
    patches: &[Patch],
    rule: Option<&str>,
    for_many: bool,
) -> Result<Module, KernelError> {
    let mut composed = Composer::SOLVER.with_patches(patches).with_rule(rule).compose(shader)?;
    if for_many {
        composed = composed.batched();
    }
    let points = reflect(&composed)?.into_iter().collect();
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: Some(shader),
        source: wgpu::ShaderSource::Wgsl(composed.text().into()),
    });
    Ok(Module { compiled: module, points, strided: composed.strided().into() })
}
