//! Buffers, bind groups and dispatches of one world, or of many worlds side by side. The worlds that own an engine
//! handle the rest: added and removed bodies, commands and time.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use super::capacity::Capacity;
use super::context::Context;
use super::kernel::{Kernel, Kernels};
use super::memory::{Features, Group, Sizes, TABLES, buffer_bytes};
use super::record::{ColorRun, Dispatch, FUSED, program};
use super::shader::LAYERS;
use super::{MAX_WORKGROUPS, SCAN_BLOCK};
use crate::scene::{Compiled, JointTable};
use crate::snapshot::first_islands;
use crate::step::PlannedStage;
use crate::types::{COLOR_COUNT, CommandData, Constraint, EventData, Params, SleepingContact, Sweep};
use crate::world_error::WorldError;
use bytemuck::Pod;

/// Maximum number of different sweep parameters; a few hundred occur.
const MAX_SWEEPS: usize = 4096;
/// Spacing of uniforms in a buffer (wgpu's default limit).
const UNIFORM_STRIDE: usize = 256;

/// A kernel, and the list it scans if it is a scan kernel.
pub(super) type KernelKey = (&'static str, &'static str);

/// A kernel with its bind groups.
#[derive(Debug)]
struct BoundKernel {
    kernel: Arc<Kernel>,
    /// By parity, which alternates every step: it selects which of the two contact buffers is the current one.
    groups: [wgpu::BindGroup; 2],
    /// For many worlds: rows per world of each table.
    strides: Option<wgpu::BindGroup>,
}

/// Tables, bind groups and kernels of one or many worlds.
#[derive(Debug)]
pub(super) struct Engine {
    pub context: Context,
    pub kernels: Arc<Kernels>,
    /// Number of worlds side by side.
    pub worlds: u32,
    /// World of each layer of a dispatch.
    layers: Vec<u32>,
    /// Bind group of the same list, for kernels of many worlds.
    layer_group: Option<wgpu::BindGroup>,
    pub features: Features,
    pub capacity: Capacity,
    pub contact_capacity: u32,
    pub event_capacity: u32,
    pub joint_runs: Vec<ColorRun>,
    pub buffers: HashMap<&'static str, wgpu::Buffer>,
    bound: HashMap<KernelKey, BoundKernel>,
    pub parity: usize,
    sweeps: HashMap<Sweep, u32>,
    sweep_buffer: wgpu::Buffer,
    sweep_group: wgpu::BindGroup,
    /// Number of dispatches of the last step.
    pub dispatches: u32,
    /// Lines of the plan that the fused kernel can run in a small world; empty if there are too many for its program.
    pub solver: Range<usize>,
    /// Test override of the lanes of the fused kernel; a number without a kernel means one dispatch per stage.
    pub forced_lanes: Option<u32>,
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.context.settle();
    }
}

impl Engine {
    /// Creates an engine without buffers.
    pub fn new(context: &Context, kernels: Arc<Kernels>, worlds: u32, features: Features, capacity: Capacity) -> Self {
        let device = context.device();
        let sweep_buffer = device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("sweeps"),
            size: (MAX_SWEEPS * UNIFORM_STRIDE) as u64,
            usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let sweep_group = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("sweep"),
            layout: &kernels.sweep_layout,
            entries: &[wgpu::BindGroupEntry {
                binding: 0,
                resource: wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                    buffer: &sweep_buffer,
                    offset: 0,
                    size: std::num::NonZeroU64::new(size_of::<Sweep>() as u64),
                }),
            }],
        });
        Self {
            context: context.clone(),
            kernels,
            worlds,
            layers: vec![0],
            layer_group: None,
            features,
            capacity,
            contact_capacity: 0,
            event_capacity: 0,
            joint_runs: Vec::new(),
            buffers: HashMap::new(),
            bound: HashMap::new(),
            parity: 0,
            sweeps: HashMap::new(),
            sweep_buffer,
            sweep_group,
            dispatches: 0,
            solver: 0..0,
            forced_lanes: None,
        }
    }

    /// Uploads the program of the fused kernel for this plan, in a new buffer, as steps that are recorded but not yet
    /// submitted still refer to theirs.
    pub fn follow(&mut self, plan: &[PlannedStage]) {
        let (solver, program) = program(plan);
        self.solver = solver;
        let program = bytemuck::cast_slice(&program);
        self.buffers.insert("program", self.context.buffer_with("program", program, wgpu::BufferUsages::UNIFORM));
        for name in FUSED.into_iter().flat_map(|(_, names)| names) {
            self.unbind(name);
        }
    }

    /// Sets which worlds the layers of the next dispatches are. Makes a new buffer when they change, as steps that are
    /// recorded but not yet submitted still refer to theirs.
    pub fn set_layers(&mut self, worlds: &[u32]) {
        if self.layer_group.is_some() && self.layers == worlds {
            return;
        }
        self.layers = worlds.to_vec();
        let buffer = self.context.buffer_with(LAYERS, bytemuck::cast_slice(worlds), wgpu::BufferUsages::STORAGE);
        self.layer_group = Some(self.context.device().create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some(LAYERS),
            layout: &self.kernels.layers_layout,
            entries: &[wgpu::BindGroupEntry { binding: 0, resource: buffer.as_entire_binding() }],
        }));
    }

    /// Returns the element capacities of one world.
    pub fn sizes(&self) -> Sizes {
        Sizes::new(self.capacity, self.contact_capacity, self.event_capacity)
    }

    /// Returns the largest storage buffer that the device allows, in bytes.
    pub fn largest_buffer(&self) -> u64 {
        let limits = self.context.device().limits();
        limits.max_storage_buffer_binding_size.min(limits.max_buffer_size)
    }

    /// Returns the largest contact capacity per world that the device allows.
    pub fn most_contacts(&self) -> u64 {
        self.largest_buffer()
            / (size_of::<Constraint>().max(size_of::<SleepingContact>()) as u64 * u64::from(self.worlds))
    }

    /// Returns the largest event capacity per world that the device allows.
    pub fn most_events(&self) -> u32 {
        let most = self.largest_buffer() / (size_of::<EventData>() as u64 * u64::from(self.worlds));
        u32::try_from(most).unwrap_or(u32::MAX)
    }

    /// Returns the size of all buffers, in bytes.
    pub fn device_bytes(&self) -> u64 {
        self.buffers.values().map(wgpu::Buffer::size).sum::<u64>() + self.sweep_buffer.size()
    }

    /// Creates a buffer, replacing one of the same name.
    ///
    /// # Errors
    /// If the device does not allow a buffer of this size.
    pub fn create(&mut self, name: &'static str, bytes: u64) -> Result<(), WorldError> {
        let bytes = buffer_bytes(bytes);
        let limit = self.largest_buffer();
        if bytes > limit {
            return Err(WorldError::TooLarge { buffer: name, bytes, limit });
        }
        let buffer = self.context.device().create_buffer(&wgpu::BufferDescriptor {
            label: Some(name),
            size: bytes,
            usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        self.buffers.insert(name, buffer);
        Ok(())
    }

    /// Creates the tables of the selected groups, filled with zeros.
    ///
    /// # Errors
    /// If a table does not fit the device; then none is created.
    pub fn create_tables(&mut self, of: impl Fn(Group) -> bool) -> Result<(), WorldError> {
        let (sizes, features) = (self.sizes(), self.features);
        sizes.check(features, self.worlds, self.largest_buffer(), &of)?;
        for table in TABLES.iter().filter(|table| of(table.group())) {
            self.create(table.name, sizes.bytes_of(table, features, self.worlds))?;
        }
        Ok(())
    }

    /// Writes the capacities and offsets of the tables into the constants of a world.
    pub fn place(&self, params: &mut Params) {
        place(&self.sizes(), params);
    }

    /// Returns the rows per world of a table.
    pub fn stride(&self, name: &str) -> usize {
        let sizes = self.sizes();
        let table = TABLES.iter().find(|table| table.name == name);
        table.map_or(0, |table| sizes.rows_of(table, self.features))
    }

    /// Returns the offset of a world's rows in a table, in bytes.
    pub fn offset(&self, name: &str, world: usize) -> u64 {
        world as u64 * part_bytes(&self.sizes(), self.features, name)
    }

    /// Uploads each world's rows of a table.
    fn upload(&self, name: &'static str, members: &[Cow<[u8]>]) {
        let part = usize::try_from(self.part_bytes(name)).unwrap_or(usize::MAX);
        let all = match members {
            [alone] => Cow::Borrowed(&**alone),
            _ => {
                let mut all = vec![0; members.len() * part];
                for (rows, member) in all.chunks_exact_mut(part.max(1)).zip(members) {
                    rows[..member.len()].copy_from_slice(member);
                }
                Cow::Owned(all)
            }
        };
        if !all.is_empty() {
            self.context.queue().write_buffer(&self.buffers[name], 0, &all);
        }
    }

    /// Uploads tables of all worlds, which list theirs in the same order.
    fn upload_all(&self, members: &[&Compiled], of: impl for<'a> Fn(&'a Compiled) -> Vec<TableBytes<'a>>) {
        let mut lists: Vec<_> = members.iter().map(|member| of(member).into_iter()).collect();
        loop {
            let tables: Vec<_> = lists.iter_mut().filter_map(Iterator::next).collect();
            let Some(&(name, _)) = tables.first() else { return };
            self.upload(name, &tables.into_iter().map(|(_, bytes)| bytes).collect::<Vec<_>>());
        }
    }

    /// Uploads the initial contents of all tables of bodies, shapes, cells and joints.
    pub fn fill(&self, members: &[&Compiled]) {
        self.upload_all(members, first_bodies);
        self.upload_all(members, first_joints);
        // Pair exclusions are stored after the partners: the heads per body, then the links per joint.
        let sizes = self.sizes();
        if let [alone] = members {
            for (at, bytes) in first_exclusions(alone, &sizes) {
                self.context.queue().write_buffer(&self.buffers["partners"], at, bytes);
            }
            return;
        }
        self.upload_all(members, |member| {
            let mut all = Vec::new();
            for (at, bytes) in first_exclusions(member, &sizes) {
                all.resize(usize::try_from(at).unwrap_or(usize::MAX), 0);
                all.extend_from_slice(bytes);
            }
            vec![("partners", Cow::Owned(all))]
        });
    }

    /// Uploads the constants of a step, one set per world, in new buffers, as steps that are recorded but not yet
    /// submitted still refer to theirs. Clears all bind groups.
    pub fn bind(&mut self, params: &[Params], longest: &Params) {
        let many = self.kernels.are_for_many();
        let mut buffer = |name: &'static str, contents: &[u8], usage: wgpu::BufferUsages| {
            self.buffers.insert(name, self.context.buffer_with(name, contents, usage));
        };
        // For many worlds, constants are updated in place: steps are submitted as soon as they are recorded.
        let of_many = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST;
        let usage = if many { of_many } else { wgpu::BufferUsages::UNIFORM };
        buffer("params", bytemuck::cast_slice(params), usage);
        for (name, words) in scan_lengths(longest) {
            buffer(name, bytemuck::bytes_of(&words), wgpu::BufferUsages::UNIFORM);
        }
        self.bound.clear();
    }

    /// Drops the bind groups of a kernel after one of its buffers was replaced.
    pub fn unbind(&mut self, name: &'static str) {
        self.bound.retain(|key, _| key.0 != name);
    }

    /// Creates the bind groups of a kernel.
    fn bound(&self, name: &'static str, key: KernelKey) -> Result<BoundKernel, WorldError> {
        let kernel = self.kernels.get(name)?;
        let device = self.context.device();
        let group = |parity: usize| {
            let entries: Vec<wgpu::BindGroupEntry> = kernel
                .reflection
                .bindings
                .iter()
                .map(|binding| {
                    let name = at_parity(renamed(&binding.name, key), parity);
                    let buffer = &self.buffers[name];
                    wgpu::BindGroupEntry { binding: binding.index, resource: buffer.as_entire_binding() }
                })
                .collect();
            device.create_bind_group(&wgpu::BindGroupDescriptor {
                label: Some(name),
                layout: &kernel.layout,
                entries: &entries,
            })
        };
        let groups = [group(0), group(1)];
        let strides = kernel.reflection.uses_strides.then(|| {
            let stride = |table: &String| {
                let rows = self.stride(at_parity(renamed(table, key), 0));
                // Creation of the table has checked that all rows of all worlds can be counted in 32 bits.
                // `color_claims` is counted in words.
                let words = match table.as_str() {
                    "color_claims" => crate::types::CLAIM_SLOTS as usize,
                    _ => 1,
                };
                u32::try_from(rows * words).unwrap_or(u32::MAX)
            };
            let words: Vec<u32> = kernel.strided.iter().map(stride).collect();
            let words = [&words[..], &vec![0; words.len().next_multiple_of(4) - words.len()]].concat();
            let words = bytemuck::cast_slice(&words);
            let buffer = self.context.buffer_with("strides", words, wgpu::BufferUsages::UNIFORM);
            device.create_bind_group(&wgpu::BindGroupDescriptor {
                label: Some("strides"),
                layout: &self.kernels.strides_layout,
                entries: &[wgpu::BindGroupEntry { binding: 0, resource: buffer.as_entire_binding() }],
            })
        });
        Ok(BoundKernel { kernel, groups, strides })
    }

    /// Dispatches a kernel over all current layers.
    ///
    /// # Errors
    /// If it does not compile.
    pub fn execute(&mut self, pass: &mut wgpu::ComputePass, work: &Dispatch) -> Result<(), WorldError> {
        self.execute_in(pass, work, u32::try_from(self.layers.len()).unwrap_or(u32::MAX))
    }

    /// Dispatches a kernel over the first `layers` layers.
    ///
    /// # Errors
    /// If it does not compile.
    pub fn execute_in(&mut self, pass: &mut wgpu::ComputePass, work: &Dispatch, layers: u32) -> Result<(), WorldError> {
        let Dispatch { name, key, threads, sweep } = *work;
        if threads == 0 {
            return Ok(());
        }
        if !self.bound.contains_key(&key) {
            let bound = self.bound(name, key)?;
            self.bound.insert(key, bound);
        }
        if let Some(sweep) = sweep {
            let slot = self.slot_of(sweep)?;
            pass.set_bind_group(1, &self.sweep_group, &[slot]);
        }
        let BoundKernel { kernel, groups, strides } = &self.bound[&key];
        let workgroups = threads.div_ceil(kernel.reflection.workgroup_size);
        let (x, y) = (workgroups.min(MAX_WORKGROUPS), workgroups.div_ceil(MAX_WORKGROUPS));
        pass.set_pipeline(&kernel.pipeline);
        pass.set_bind_group(0, &groups[self.parity], &[]);
        if let Some(strides) = strides {
            pass.set_bind_group(2, strides, &[]);
        }
        if kernel.reflection.uses_layers {
            pass.set_bind_group(3, &self.layer_group, &[]);
        }
        pass.dispatch_workgroups(x, y, layers);
        self.dispatches += 1;
        Ok(())
    }

    /// Returns the offset of sweep parameters in the uniform buffer, and uploads them if they are new.
    fn slot_of(&mut self, sweep: Sweep) -> Result<u32, WorldError> {
        let next = self.sweeps.len();
        if let Some(&slot) = self.sweeps.get(&sweep) {
            return Ok(slot);
        }
        if next >= MAX_SWEEPS {
            return Err(WorldError::TooLarge {
                buffer: "sweeps",
                bytes: ((next + 1) * UNIFORM_STRIDE) as u64,
                limit: (MAX_SWEEPS * UNIFORM_STRIDE) as u64,
            });
        }
        // Entries are only ever added: steps recorded earlier keep theirs.
        let offset = next * UNIFORM_STRIDE;
        self.context.queue().write_buffer(&self.sweep_buffer, offset as u64, bytemuck::bytes_of(&sweep));
        let slot = u32::try_from(offset).unwrap_or(u32::MAX);
        self.sweeps.insert(sweep, slot);
        Ok(slot)
    }

    /// Dispatches commands for bodies and for joints, of which each world's are consecutive. Makes new buffers, as
    /// steps that are recorded but not yet submitted still refer to theirs.
    ///
    /// # Errors
    /// If a kernel does not compile.
    pub fn send_commands(&mut self, pass: &mut wgpu::ComputePass, commands: &[CommandData]) -> Result<(), WorldError> {
        // In pieces that the device allows; a body's commands may be split between two and stay in order.
        #[allow(clippy::cast_possible_truncation, reason = "a share of a buffer's limit")]
        let most = (self.largest_buffer() / size_of::<CommandData>() as u64).min(1 << 24) as usize;
        for piece in commands.chunks(most.max(1)) {
            let contents = bytemuck::cast_slice(piece);
            let buffer = self.context.buffer_with("commands", contents, wgpu::BufferUsages::STORAGE);
            self.buffers.insert("commands", buffer);
            let of_joints = piece.iter().filter(|command| command.is_for_joint()).count();
            for (name, count) in [("command", piece.len() - of_joints), ("command_joints", of_joints)] {
                self.unbind(name);
                if count > 0 {
                    // One layer: each command names its world.
                    let threads = u32::try_from(piece.len()).unwrap_or(u32::MAX);
                    self.execute_in(pass, &Dispatch::new(name, threads), 1)?;
                }
            }
        }
        Ok(())
    }

    /// Creates a command encoder for a step.
    pub fn encoder(&self) -> wgpu::CommandEncoder {
        self.context.device().create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("step") })
    }

    /// Returns the bytes per world of a table.
    pub fn part_bytes(&self, name: &str) -> u64 {
        self.offset(name, 1)
    }
}

/// A table and contents that begin with its first row.
pub(super) type TableBytes<'a> = (&'static str, Cow<'a, [u8]>);

/// Writes the capacities and offsets of tables of these sizes into the constants of a world.
pub(super) fn place(sizes: &Sizes, params: &mut Params) {
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    let [heads, links] = sizes.exclusions().map(count);
    params.contact_capacity = count(sizes.contacts);
    params.color_blocks = count(sizes.color_blocks());
    (params.exclusion_heads, params.exclusion_links) = (heads, links);
}

/// Returns the initial contents of all tables of bodies, shapes and cells.
pub(super) fn first_bodies(compiled: &Compiled) -> Vec<TableBytes<'_>> {
    fn bytes<T: Pod>(rows: &[T]) -> Cow<'_, [u8]> {
        Cow::Borrowed(bytemuck::cast_slice(rows))
    }
    vec![
        ("bodies", bytes(&compiled.bodies)),
        ("poses", bytes(&compiled.poses)),
        ("states", bytes(&compiled.states)),
        ("shapes", bytes(&compiled.shapes)),
        ("vertices", bytes(&compiled.vertices)),
        ("ccd_bodies", bytes(&compiled.ccd_bodies)),
        ("islands", Cow::Owned(bytemuck::cast_slice(&first_islands(compiled)).to_vec())),
    ]
}

/// Returns the initial contents of all tables of joints.
pub(super) fn first_joints(compiled: &Compiled) -> Vec<TableBytes<'_>> {
    fn bytes<T: Pod>(rows: &[T]) -> Cow<'_, [u8]> {
        Cow::Borrowed(bytemuck::cast_slice(rows))
    }
    let JointTable { joints, rows, starts, states, .. } = &compiled.joints;
    vec![
        ("joints", bytes(joints)),
        ("joint_rows", bytes(rows)),
        ("joint_starts", bytes(starts)),
        ("joint_states", bytes(states)),
    ]
}

/// Returns the pair exclusions of bodies and of joints, with their places in `partners`, in bytes.
pub(super) fn first_exclusions<'a>(compiled: &'a Compiled, sizes: &Sizes) -> [(u64, &'a [u8]); 2] {
    let JointTable { exclusions, .. } = &compiled.joints;
    let [heads, links] = sizes.exclusions().map(|words| 4 * words as u64);
    [(heads, bytemuck::cast_slice(&exclusions.heads)), (links, bytemuck::cast_slice(&exclusions.links))]
}

/// Returns the uniforms of all scans: the length of each list, and of the list of sums of its blocks.
pub(super) fn scan_lengths(longest: &Params) -> Vec<(&'static str, [u32; 4])> {
    let Params { cell_count, shape_count, joint_count, color_blocks, .. } = *longest;
    let lists = [
        ("scan_cells", "blocks_cells", cell_count + 1),
        ("scan_pairs", "blocks_pairs", shape_count + 1),
        ("scan_colors", "blocks_colors", color_blocks * COLOR_COUNT),
        ("scan_events", "blocks_events", shape_count + joint_count + 1),
    ];
    let uniforms = |(scan, blocks, length): (_, _, u32)| {
        [(scan, [length, 0, 0, 0]), (blocks, [length.div_ceil(SCAN_BLOCK), 0, 0, 0])]
    };
    lists.into_iter().flat_map(uniforms).collect()
}

/// Returns the bytes per world of a table; 0 for a name that is not a table.
pub(super) fn part_bytes(sizes: &Sizes, features: Features, name: &str) -> u64 {
    let table = TABLES.iter().find(|table| table.name == name);
    table.map_or(0, |table| (sizes.rows_of(table, features) * table.bytes) as u64)
}

/// Returns the buffer that a kernel's binding refers to.
pub(super) fn renamed(binding: &str, (name, list): KernelKey) -> &str {
    let of_sums = name == "scan_blocks of sums";
    match (binding, list) {
        ("values", "colors") if of_sums => "color_block_sums",
        ("values", "regions") if of_sums => "region_block_sums",
        ("values", _) if of_sums => "block_sums",
        ("values", "cells") => "cell_ends",
        ("values", "pairs") => "pair_starts",
        ("values", "merged") => "merged_starts",
        ("values", "events") => "event_starts",
        ("values", "colors") => "color_histogram",
        ("values", "regions") => "region_items",
        ("block_sums", "colors") => "color_block_sums",
        ("block_sums", "regions") => "region_block_sums",
        ("scan_params", "cells") if of_sums => "blocks_cells",
        ("scan_params", "pairs" | "merged") if of_sums => "blocks_pairs",
        ("scan_params", "events") if of_sums => "blocks_events",
        ("scan_params", "colors") if of_sums => "blocks_colors",
        ("scan_params", "regions") if of_sums => "blocks_regions",
        ("scan_params", "cells") => "scan_cells",
        ("scan_params", "pairs" | "merged") => "scan_pairs",
        ("scan_params", "events") => "scan_events",
        ("scan_params", "colors") => "scan_colors",
        ("scan_params", "regions") => "scan_regions",
        _ => binding,
    }
}

/// Returns the buffer behind a name whose meaning alternates every step.
pub(super) fn at_parity(name: &str, parity: usize) -> &str {
    match (name, parity) {
        ("contacts", 0) | ("contacts_previous", 1) => "contacts_0",
        ("contacts" | "contacts_previous", _) => "contacts_1",
        ("manifolds", 0) | ("manifolds_previous", 1) => "manifolds_0",
        ("manifolds" | "manifolds_previous", _) => "manifolds_1",
        ("pair_starts", 0) | ("pair_starts_previous", 1) => "pair_starts_0",
        ("pair_starts" | "pair_starts_previous", _) => "pair_starts_1",
        _ => name,
    }
}
