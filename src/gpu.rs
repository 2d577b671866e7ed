//! The GPU backend. The host records a step without knowing a single count; the device decides them all.

mod context;
pub mod kernel;
mod population;
mod query;
mod readback;

use std::collections::HashMap;
use std::sync::Arc;

use bytemuck::Pod;
use wgpu::util::DeviceExt;

pub use context::{AdapterChoice, Context, ContextError, DeviceError, adapters, is_software};
use kernel::{KernelError, Kernels, Patch};
use population::Room;
pub use query::PendingQuery;
use readback::{Arrived, StepRing, cast, download};

use crate::command::{Command, CommandError, JointCommand, by_body, rouse, wake_all};
use crate::cpu::CpuWorld;
use crate::event;
use crate::population::{JointId, Population, ends};
use crate::scene::{Compiled, Joints, Scene};
use crate::snapshot::{Force, JointGoal, RowGoal, Snapshot, first_islands, is_at_rest, sleeping_islands};
use crate::state::{JointReaction, joint_reactions};
use crate::step::{Op, Stage, plan};
use crate::tables::Tables;
use crate::types::{
    self, Aabb, Accumulator, BULLETS, BodyState, CLAIM_SLOTS, COLOR_BLOCK, COLOR_COUNT, COMMAND_FORCE, COMMAND_TORQUE,
    Constraint, Contact, Counters, Event, FORCE_OVERFLOW, JOINT_COLORS, JOINT_OVERFLOW, JointFrame, JointState,
    MOVING_WALLS, Manifold, ONLY_BULLETS, OVERFLOW_COLOR, OVERFLOW_CONTACTS, Params, Pose, SLEEP, SURFACES,
    SleepingContact, Surface, Sweep,
};
use crate::world::WorldError;

/// Workgroups that fit in one dimension of a dispatch.
const MAX_WORKGROUPS: u32 = 65_535;
/// Elements that one workgroup scans by itself; above, three dispatches are faster.
const SCAN_ALONE: u32 = 1 << 15;
/// Elements of a scan block (`shaders/scan.wgsl`).
const SCAN_BLOCK: u32 = 1024;
/// Words a shape in which the pairs are remembered between counting and emitting (`shaders/pair.wgsl`).
const PARTNER_WORDS: usize = 8;
/// Colours with fewer constraints share a workgroup with their neighbours.
const WIDE_COLOR: u32 = 640;
/// Colours that get a dispatch of their own before the first counters are back.
const BLIND_WIDE_COLORS: u32 = 12;
/// Rounds of colouring over all contacts, when many may be new; the rest happens in one workgroup.
const WIDE_ROUNDS: u32 = 4;
/// New contacts that one workgroup colours quickly enough alone.
const FEW_UNCOLORED: u32 = 2048;
/// Events of a step for which there is room at first.
const FIRST_EVENTS: u32 = 1024;
/// Steps whose counters may be in flight.
const RING: usize = 3;
/// Different sweeps a world can use; a few hundred occur.
const MAX_SWEEPS: usize = 4096;
/// Bytes of an empty array: a binding must hold one element at least, also in a world without bodies.
const SMALLEST_BUFFER: usize = 256;
/// Spacing of uniforms in a buffer (wgpu's default limit).
const UNIFORM_STRIDE: usize = 256;

/// Where the kernels of the scans find their arrays.
const SCANS: [(&str, &str); 5] = [
    ("cells", "cell_ends"),
    ("pairs", "pair_starts"),
    ("merged", "merged_starts"),
    ("events", "event_starts"),
    ("colors", "color_histogram"),
];

/// A run of colours that one dispatch solves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Run {
    Wide { color: u32, threads: u32 },
    Tail { first: u32, end: u32 },
}

/// A world on the GPU.
///
/// The same scene on the same adapter, driver and build gives the same result to the last bit, at any capacity.
#[derive(Debug)]
pub struct GpuWorld {
    context: Context,
    kernels: Arc<Kernels>,
    compiled: Compiled,
    plan: Vec<Op>,
    joint_runs: Vec<Run>,
    steps: u64,
    commands: Vec<types::Command>,
    population: Option<Population>,
    /// The world as it began, if its scene makes bodies as it runs.
    origin: Option<Box<Compiled>>,
    room: Room,

    buffers: HashMap<&'static str, wgpu::Buffer>,
    /// Bind groups by kernel, by parity. Which of the two buffers of contacts is the current one changes every step.
    groups: HashMap<(&'static str, &'static str), [wgpu::BindGroup; 2]>,
    /// The constants for which they were made, unless a buffer is another since.
    grouped: Option<Params>,
    parity: usize,
    contact_capacity: u32,
    sweeps: HashMap<Sweep, u32>,
    sweep_buffer: wgpu::Buffer,
    sweep_group: wgpu::BindGroup,

    ring: StepRing,
    /// Those that have arrived and nobody has taken.
    events: Vec<event::Event>,
    event_capacity: u32,
    /// Room that a step is known to have lacked.
    event_need: u32,
    /// The newest counters known, and the step they belong to.
    known: Option<(u64, Counters)>,
    /// Steps known to have overflowed.
    overflowed: Vec<u64>,
    /// The first step that knows of all that was asked so far.
    asked: u64,
    never_rests: bool,
    dispatches: u32,
    stage_ms: Vec<(Stage, f64)>,
    profiled: u64,
    /// What the queries of the world have found so far.
    query_load: query::Load,
}

impl GpuWorld {
    /// A world as the scene describes it.
    ///
    /// # Errors
    /// If the scene is not valid or does not fit the device.
    pub fn new(context: &Context, scene: &Scene) -> Result<Self, WorldError> {
        Self::from_compiled(context, Compiled::new(scene)?, None)
    }

    /// A world from arrays that are already laid out. `contact_capacity` is estimated unless given.
    ///
    /// # Errors
    /// If it does not fit the device.
    pub fn from_compiled(
        context: &Context,
        compiled: Compiled,
        contact_capacity: Option<u32>,
    ) -> Result<Self, WorldError> {
        let kernels = context.kernels()?;
        Self::with_kernels(context, compiled, contact_capacity, kernels)
    }

    /// A world whose shaders are changed, for tests that break a stage on purpose.
    ///
    /// # Errors
    /// If a patch does not match exactly once or the result is no valid shader.
    #[doc(hidden)]
    pub fn patched(context: &Context, scene: &Scene, patches: &[Patch]) -> Result<Self, WorldError> {
        let kernels = Arc::new(Kernels::new(context.device(), patches)?);
        Self::with_kernels(context, Compiled::new(scene)?, None, kernels)
    }

    fn with_kernels(
        context: &Context,
        compiled: Compiled,
        contact_capacity: Option<u32>,
        kernels: Arc<Kernels>,
    ) -> Result<Self, WorldError> {
        context.check()?;
        if let Some(missing) = ENTRY_POINTS.iter().find(|name| kernels.find(name).is_none()) {
            return Err(WorldError::Kernel(format!("no shader has the entry point {missing}")));
        }
        let device = context.device();
        let capacity = contact_capacity.unwrap_or_else(|| estimate_contacts(&compiled)).max(1);
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
        let mut world = Self {
            context: context.clone(),
            kernels,
            plan: plan(&compiled.settings, compiled.bounces, compiled.joints.count() > 0),
            joint_runs: joint_runs(&compiled.joints),
            steps: 0,
            commands: Vec::new(),
            population: Population::of_script(&compiled),
            origin: (!compiled.script.is_empty()).then(|| Box::new(compiled.clone())),
            room: Room::first(&compiled),
            buffers: HashMap::new(),
            groups: HashMap::new(),
            grouped: None,
            parity: 0,
            contact_capacity: capacity,
            sweeps: HashMap::new(),
            sweep_buffer,
            sweep_group,
            ring: StepRing::new(device, RING),
            events: Vec::new(),
            event_capacity: if compiled.settings.events { FIRST_EVENTS } else { 0 },
            event_need: 0,
            known: None,
            overflowed: Vec::new(),
            asked: 0,
            never_rests: false,
            dispatches: 0,
            stage_ms: Stage::ALL.map(|stage| (stage, 0.0)).into(),
            profiled: 0,
            query_load: query::Load::default(),
            compiled,
        };
        world.create_buffers()?;
        world.create_contact_buffers(capacity)?;
        world.create_groups();
        world.context.check()?;
        Ok(world)
    }

    fn create(&mut self, name: &'static str, bytes: usize) -> Result<(), WorldError> {
        let bytes = (bytes.max(SMALLEST_BUFFER).next_multiple_of(16)) as u64;
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
        self.grouped = None;
        Ok(())
    }

    fn upload<T: Pod>(&self, name: &str, elements: &[T]) {
        if !elements.is_empty() {
            self.context.queue().write_buffer(&self.buffers[name], 0, bytemuck::cast_slice(elements));
        }
    }

    /// What depends on the number of bodies, shapes and cells. Contents are as the scene starts.
    fn create_buffers(&mut self) -> Result<(), WorldError> {
        let Compiled { bodies, poses, states, shapes, vertices, movers, .. } = &self.compiled;
        let (bodies, poses, states, shapes) = (bodies.clone(), poses.clone(), states.clone(), shapes.clone());
        let (vertices, movers) = (vertices.clone(), movers.clone());
        let Room { bodies: body_room, shapes: shape_room, vertices: vertex_room, cells, .. } = self.room;
        self.create("bodies", body_room * size_of::<types::Body>())?;
        self.upload("bodies", &bodies);
        self.create("poses", body_room * size_of::<Pose>())?;
        self.upload("poses", &poses);
        self.create("states", body_room * size_of::<BodyState>())?;
        self.upload("states", &states);
        self.create("shapes", shape_room * size_of::<types::Shape>())?;
        self.upload("shapes", &shapes);
        self.create("vertices", vertex_room * size_of::<[f32; 2]>())?;
        self.upload("vertices", &vertices);
        self.create("movers", shape_room * size_of::<types::Mover>())?;
        self.upload("movers", &movers);
        self.create("poses_backup", body_room * size_of::<Pose>())?;
        self.create("states_backup", body_room * size_of::<BodyState>())?;
        self.create("accumulators", body_room * size_of::<Accumulator>())?;
        self.create("swings", body_room * 4)?;
        self.create("aabbs", shape_room * size_of::<Aabb>())?;
        self.create("cell_ends", (cells + 1) * 4)?;
        self.create("shape_cells", shape_room * 4)?;
        self.create("cell_unsorted", shape_room * 4)?;
        self.create("cell_shapes", shape_room * 4)?;
        self.create("pair_starts_0", (shape_room + 1) * 4)?;
        self.create("pair_starts_1", (shape_room + 1) * 4)?;
        self.create("events", self.event_capacity as usize * size_of::<Event>())?;
        let sleepers = if self.compiled.settings.sleep { body_room } else { 0 };
        self.create("islands", sleepers * 4)?;
        self.upload("islands", &first_islands(&self.compiled));
        self.create("islands_backup", sleepers * 4)?;
        self.create("island_flags", sleepers * 4)?;
        let producers = if self.compiled.settings.sleep { shape_room + 1 } else { 0 };
        self.create("sleeping_starts", producers * 4)?;
        self.create("sleeping_starts_backup", producers * 4)?;
        self.create("merged_starts", producers * 4)?;
        self.create("color_masks", body_room * 4)?;
        self.create("color_claims", body_room * 4 * CLAIM_SLOTS as usize)?;
        self.create("counters", size_of::<Counters>())?;
        self.create("color_starts", 4 * (COLOR_COUNT as usize + 1))?;
        self.create("counters_backup", size_of::<Counters>())?;
        self.create_joint_buffers()
    }

    /// What depends on the number of joints.
    fn create_joint_buffers(&mut self) -> Result<(), WorldError> {
        let Room { bodies: body_room, shapes: shape_room, cells, joints: joint_room, rows: row_room, order, .. } =
            self.room;
        self.create("joints", joint_room * size_of::<types::Joint>())?;
        self.create("joint_rows", row_room * size_of::<types::JointRow>())?;
        self.create("joint_starts", order * 4)?;
        self.create("joint_states", joint_room * size_of::<JointState>())?;
        self.create("joint_states_backup", joint_room * size_of::<JointState>())?;
        self.create("joint_impulses", row_room * size_of::<[f32; 2]>())?;
        self.create("joint_impulses_backup", row_room * size_of::<[f32; 2]>())?;
        self.create("joint_frames", joint_room * size_of::<JointFrame>())?;
        let reports = if self.compiled.settings.events { shape_room + joint_room + 1 } else { 0 };
        self.create("event_starts", reports * 4)?;
        let longest = (cells + 1).max(shape_room + joint_room + 1);
        self.create("block_sums", longest.div_ceil(SCAN_BLOCK as usize) * 4)?;
        // Ties lie behind the partners: a body's, then a joint's.
        let (heads, links) = (shape_room * PARTNER_WORDS, shape_room * PARTNER_WORDS + 2 * body_room);
        self.create("partners", (links + 4 * joint_room) * 4)?;
        // Both fit a buffer, so they fit 32 bits.
        self.compiled.params.tie_heads = u32::try_from(heads).unwrap_or(u32::MAX);
        self.compiled.params.tie_links = u32::try_from(links).unwrap_or(u32::MAX);
        let Joints { joints, rows, states, starts, ties, .. } = &self.compiled.joints;
        self.upload("joints", joints);
        self.upload("joint_rows", rows);
        self.upload("joint_starts", starts);
        self.upload("joint_states", states);
        for (at, words) in [(heads, &ties.heads), (links, &ties.links)] {
            if !words.is_empty() {
                let bytes = bytemuck::cast_slice(words);
                self.context.queue().write_buffer(&self.buffers["partners"], 4 * at as u64, bytes);
            }
        }
        Ok(())
    }

    /// What depends on the number of contacts. Contents are not kept.
    fn create_contact_buffers(&mut self, capacity: u32) -> Result<(), WorldError> {
        let contacts = capacity as usize;
        let blocks = contacts.div_ceil(COLOR_BLOCK as usize);
        self.create("contacts_0", contacts * size_of::<Contact>())?;
        self.create("contacts_1", contacts * size_of::<Contact>())?;
        self.create("manifolds_0", contacts * size_of::<Manifold>())?;
        self.create("manifolds_1", contacts * size_of::<Manifold>())?;
        let sleeping = if self.compiled.settings.sleep { contacts } else { 0 };
        self.create("sleeping", sleeping * size_of::<SleepingContact>())?;
        let backup = if self.compiled.settings.strict { sleeping } else { 0 };
        self.create("sleeping_backup", backup * size_of::<SleepingContact>())?;
        self.create("uncolored", contacts * 4)?;
        // And how many there are.
        self.create("slots", (contacts + 1) * 4)?;
        self.create("constraints", contacts * size_of::<Constraint>())?;
        let surfaces = if self.compiled.params.switches & SURFACES == 0 { 0 } else { contacts };
        self.create("surfaces", surfaces * size_of::<Surface>())?;
        self.create("color_histogram", blocks * 4 * COLOR_COUNT as usize)?;
        self.create("color_block_sums", (blocks * COLOR_COUNT as usize).div_ceil(SCAN_BLOCK as usize) * 4)?;
        self.contact_capacity = capacity;
        self.compiled.params.contact_capacity = capacity;
        self.compiled.params.color_blocks = u32::try_from(blocks).unwrap_or(u32::MAX);
        Ok(())
    }

    /// The constants of a step. A new buffer each time: steps recorded but not submitted yet keep theirs.
    fn create_uniforms(&mut self) {
        let device = self.context.device();
        let mut uniform = |name: &'static str, bytes: &[u8]| {
            let buffer = device.create_buffer_init(&wgpu::util::BufferInitDescriptor {
                label: Some(name),
                contents: bytes,
                usage: wgpu::BufferUsages::UNIFORM,
            });
            self.buffers.insert(name, buffer);
        };
        let Params { cell_count, shape_count, joint_count, color_blocks, .. } = self.compiled.params;
        let reports = shape_count + joint_count + 1;
        uniform("params", bytemuck::bytes_of(&self.compiled.params));
        uniform("scan_cells", bytemuck::bytes_of(&[cell_count + 1, 0, 0, 0]));
        uniform("scan_pairs", bytemuck::bytes_of(&[shape_count + 1, 0, 0, 0]));
        uniform("scan_colors", bytemuck::bytes_of(&[color_blocks * COLOR_COUNT, 0, 0, 0]));
        uniform("scan_events", bytemuck::bytes_of(&[reports, 0, 0, 0]));
        let blocks = [("blocks_cells", cell_count + 1), ("blocks_pairs", shape_count + 1), ("blocks_events", reports)];
        for (name, values) in blocks {
            uniform(name, bytemuck::bytes_of(&[values.div_ceil(SCAN_BLOCK), 0, 0, 0]));
        }
        uniform("blocks_colors", bytemuck::bytes_of(&[(color_blocks * COLOR_COUNT).div_ceil(SCAN_BLOCK), 0, 0, 0]));
    }

    fn create_groups(&mut self) {
        self.create_uniforms();
        self.grouped = Some(self.compiled.params);
        self.groups.clear();
        let kernels = self.kernels.clone();
        for kernel in &kernels.list {
            let Some(&name) = ENTRY_POINTS.iter().find(|&&name| name == kernel.name) else { continue };
            if name.starts_with("scan") {
                for (scan, values) in SCANS {
                    self.create_group(kernel, (name, scan), |binding| match binding {
                        "values" => values,
                        "block_sums" => block_sums_of(scan),
                        _ => scan_uniform(scan),
                    });
                    if name == "scan_blocks" {
                        self.create_group(kernel, ("scan_blocks of sums", scan), |binding| match binding {
                            "values" => block_sums_of(scan),
                            _ => block_uniform(scan),
                        });
                    }
                }
            } else {
                // The buffers of commands and queries are made when there are any.
                if !name.starts_with("command") && !name.starts_with("query_") {
                    self.create_group(kernel, (name, ""), |_| "");
                }
            }
        }
    }

    fn create_group<'a>(
        &mut self,
        kernel: &kernel::Kernel,
        key: (&'static str, &'static str),
        rename: impl Fn(&str) -> &'a str,
    ) {
        let group = |parity: usize| {
            let entries: Vec<wgpu::BindGroupEntry> = kernel
                .reflection
                .bindings
                .iter()
                .map(|binding| {
                    let renamed = rename(&binding.name);
                    let name = if renamed.is_empty() { binding.name.as_str() } else { renamed };
                    let buffer = &self.buffers[at_parity(name, parity)];
                    wgpu::BindGroupEntry { binding: binding.index, resource: buffer.as_entire_binding() }
                })
                .collect();
            self.context.device().create_bind_group(&wgpu::BindGroupDescriptor {
                label: Some(key.0),
                layout: &kernel.layout,
                entries: &entries,
            })
        };
        let both = [group(0), group(1)];
        self.groups.insert(key, both);
    }

    /// Asks something of a body; it happens at the start of the next step that is recorded. Nothing waits.
    ///
    /// # Errors
    /// If there is no such body, it does not move in this way, or a value is not finite.
    pub fn command(&mut self, body: usize, command: Command) -> Result<(), CommandError> {
        let flat = command.push(&self.compiled, body, &mut self.commands)?;
        self.asked = self.steps;
        // The device's bodies learn it with the step; this copy is for snapshots.
        let mirror = &mut self.compiled.bodies[body];
        match flat.kind {
            COMMAND_FORCE => (mirror.force, mirror.force_point) = (flat.value, flat.other),
            COMMAND_TORQUE => mirror.torque = flat.value[0],
            _ => {}
        }
        Ok(())
    }

    /// Wakes every body at the start of the next step, where bodies sleep.
    pub fn wake_all(&mut self) {
        wake_all(&self.compiled, &mut self.commands);
        self.asked = self.steps;
    }

    /// The same world that runs every step, also where all sleep and none changes anything. For tests.
    #[doc(hidden)]
    #[must_use]
    pub fn without_rest(mut self) -> Self {
        self.never_rests = true;
        self
    }

    /// Whether a step is known to change nothing: a step that had heard of all that was asked has arrived, and it began
    /// and ended with nobody awake. The count of steps goes on, and nothing is recorded.
    fn rests(&mut self) -> bool {
        let emits = self.population.as_ref().is_some_and(|population| population.is_due(self.steps));
        let asked = !self.commands.is_empty() || !self.compiled.paths.is_empty() || emits;
        let sleeps = self.compiled.settings.sleep && !self.never_rests && !asked;
        let known = self.known.is_some_and(|(step, counters)| step >= self.asked && is_at_rest(&counters));
        if sleeps && known {
            self.dispatches = 0;
            self.steps = self.steps.saturating_add(1);
        }
        sleeps && known
    }

    /// Asks something of a joint; it happens at the start of the next step that is recorded. Nothing waits.
    ///
    /// # Errors
    /// If there is no such joint, it has nothing of the kind, or a value is out of range.
    pub fn command_joint(&mut self, joint: JointId, command: JointCommand) -> Result<(), CommandError> {
        let records = command.flatten(&self.compiled, joint)?;
        self.compiled.joints.may_part |= matches!(command, JointCommand::Enable(_));
        self.commands.extend(records);
        let ends = self.compiled.joints.place(joint.index).map(|place| ends(&self.compiled.joints.joints[place]));
        rouse(&self.compiled, ends.into_iter().flatten(), &mut self.commands);
        self.asked = self.steps;
        Ok(())
    }

    /// What happened since this was last asked, oldest first, if the scene wants events: of the steps that have arrived.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn take_events(&mut self) -> Result<Vec<event::Event>, WorldError> {
        self.poll()?;
        Ok(std::mem::take(&mut self.events))
    }

    /// Advances the world by one step: records it, submits it and returns without waiting for it, unless several steps
    /// are on their way already.
    ///
    /// # Errors
    /// If the device is lost or refused something, or a buffer outgrows it. In strict mode an overflow is repaired
    /// here; if it cannot be, the world is as it was before the step.
    pub fn step(&mut self) -> Result<(), WorldError> {
        if self.compiled.settings.strict {
            return self.step_strictly();
        }
        self.wait_for_room()?;
        if self.rests() {
            return Ok(());
        }
        let mut encoder = self.encoder();
        self.record(&mut encoder)?;
        self.submit(encoder)
    }

    fn encoder(&self) -> wgpu::CommandEncoder {
        self.context.device().create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("step") })
    }

    fn submit(&mut self, encoder: wgpu::CommandEncoder) -> Result<(), WorldError> {
        self.context.queue().submit([encoder.finish()]);
        self.poll()
    }

    /// Learns what arrived, without waiting.
    fn poll(&mut self) -> Result<(), WorldError> {
        self.context.poll(wgpu::PollType::Poll)?;
        for Arrived { step, counters, events, event_count } in self.ring.take() {
            let lost_events = event_count as usize > events.len();
            if counters.overflow_bits & OVERFLOW_CONTACTS != 0 || lost_events {
                self.overflowed.push(step);
            }
            if lost_events {
                self.event_need = self.event_need.max(event_count);
            }
            let told = events.iter().map(|event| event::Event::new(&self.compiled, step, event));
            self.events.extend(told);
            if self.known.is_none_or(|(known, _)| known <= step) {
                self.known = Some((step, counters));
            }
        }
        if self.ring.take_refused() {
            // A device that was just lost refuses steps in silence, and says so only once it has nothing left to do.
            self.context.wait()?;
        }
        Ok(())
    }

    fn wait_for_room(&mut self) -> Result<(), WorldError> {
        self.poll()?;
        if !self.ring.has_room() {
            self.context.wait()?;
            self.poll()?;
        }
        Ok(())
    }

    /// Runs the step; if it outgrew a buffer, goes back to its start, grows and runs it again.
    fn step_strictly(&mut self) -> Result<(), WorldError> {
        const BACKUPS: [(&str, &str); 7] = [
            ("poses", "poses_backup"),
            ("states", "states_backup"),
            ("counters", "counters_backup"),
            ("islands", "islands_backup"),
            ("sleeping_starts", "sleeping_starts_backup"),
            ("joint_states", "joint_states_backup"),
            ("joint_impulses", "joint_impulses_backup"),
        ];
        self.context.wait()?;
        self.poll()?;
        if self.rests() {
            return Ok(());
        }
        // Once, however often the step is run.
        self.emit(None)?;
        let commands = self.commands.clone();
        // What was put by hardly ever changes, and is as large as all contacts.
        let put_by = u64::from(self.known.map_or(0, |(_, counters)| counters.sleeping_contacts));
        let put_by = put_by * size_of::<SleepingContact>() as u64;
        loop {
            let mut encoder = self.encoder();
            for (from, to) in BACKUPS {
                encoder.copy_buffer_to_buffer(&self.buffers[from], 0, &self.buffers[to], 0, self.buffers[from].size());
            }
            encoder.copy_buffer_to_buffer(&self.buffers["sleeping"], 0, &self.buffers["sleeping_backup"], 0, put_by);
            self.record(&mut encoder)?;
            self.submit(encoder)?;
            self.context.wait()?;
            self.poll()?;
            let step = self.steps - 1;
            if self.overflowed.last() != Some(&step) {
                return Ok(());
            }
            self.overflowed.pop();
            self.events.retain(|event| event.step != step);
            // Back to the start: the contacts of the step before still lie in the other buffer.
            self.steps = step;
            self.parity ^= 1;
            self.commands.clone_from(&commands);
            let mut encoder = self.encoder();
            for (to, from) in BACKUPS {
                encoder.copy_buffer_to_buffer(&self.buffers[from], 0, &self.buffers[to], 0, self.buffers[from].size());
            }
            encoder.copy_buffer_to_buffer(&self.buffers["sleeping_backup"], 0, &self.buffers["sleeping"], 0, put_by);
            // Before growing, which may fail: then the world is as it was before the step.
            self.context.queue().submit([encoder.finish()]);
            let mut encoder = self.encoder();
            self.grow(&mut encoder)?;
            self.context.queue().submit([encoder.finish()]);
        }
    }

    /// Records one step into the caller's encoder. Nothing is submitted; submit it yourself, in order. What the scene's
    /// emitters make before this step is recorded as well.
    ///
    /// # Errors
    /// If the device is lost, or a buffer outgrows it; then nothing was recorded.
    pub fn record(&mut self, encoder: &mut wgpu::CommandEncoder) -> Result<(), WorldError> {
        self.poll()?;
        if self.rests() {
            return Ok(());
        }
        self.begin_recording(encoder)?;
        {
            let mut pass = encoder
                .begin_compute_pass(&wgpu::ComputePassDescriptor { label: Some("step"), timestamp_writes: None });
            for index in 0..self.plan.len() {
                self.run(&mut pass, self.plan[index])?;
            }
        }
        self.end_recording(encoder);
        Ok(())
    }

    /// Makes room if need be, and starts a step in `encoder`.
    fn begin_recording(&mut self, encoder: &mut wgpu::CommandEncoder) -> Result<(), WorldError> {
        self.grow(encoder)?;
        self.emit(Some(encoder))?;
        self.begin_step();
        self.dispatches = 0;
        Ok(())
    }

    /// Sends the counters of the step in `encoder` on their way.
    fn end_recording(&mut self, encoder: &mut wgpu::CommandEncoder) {
        let mut parts = vec![(&self.buffers["counters"], 0, size_of::<Counters>() as u64)];
        if self.compiled.settings.events {
            let total = u64::from(self.compiled.params.shape_count + self.compiled.params.joint_count) * 4;
            parts.push((&self.buffers["event_starts"], total, 4));
            let bytes = u64::from(self.event_capacity) * size_of::<Event>() as u64;
            parts.push((&self.buffers["events"], 0, bytes));
        }
        self.ring.record(self.context.device(), encoder, &parts, self.steps);
        self.end_step();
    }

    /// Yesterday's contacts become those to recall from.
    pub(crate) fn begin_step(&mut self) {
        self.parity ^= 1;
    }

    /// Runs one stage.
    fn run(&mut self, pass: &mut wgpu::ComputePass, op: Op) -> Result<(), WorldError> {
        let Params {
            body_count: bodies,
            shape_count: shapes,
            cell_count: cells,
            color_blocks,
            joint_count: joints,
            switches,
            ..
        } = self.compiled.params;
        let contacts = self.contact_capacity;
        match op.stage {
            Stage::Command => self.send_commands(pass),
            Stage::Guard => self.dispatch(pass, "guard", bodies.max(1)),

            Stage::Bound => self.dispatch(pass, "bound", shapes),
            Stage::Bin => {
                self.dispatch(pass, "bin_clear", cells + 1);
                self.dispatch(pass, "bin_count", shapes);
                self.scan(pass, "cells", cells + 1);
                self.dispatch(pass, "bin_place", shapes);
                self.dispatch(pass, "bin_sort", shapes);
            }
            Stage::Pair => {
                if self.compiled.joints.may_part {
                    self.dispatch(pass, "pair_tie", joints);
                }
                self.dispatch(pass, "pair_count", shapes + 1);
                if switches & SLEEP != 0 {
                    self.dispatch(pass, "pair_count_asleep", shapes);
                }
                self.scan(pass, "pairs", shapes + 1);
                self.dispatch(pass, "pair_emit", shapes + 1);
            }

            Stage::Recall => self.dispatch(pass, "recall", contacts),
            Stage::Collide => {
                let kernel = if self.compiled.hulls { "collide" } else { "collide_sharp" };
                self.dispatch(pass, kernel, contacts);
            }
            Stage::Wake => {
                self.dispatch(pass, "wake_find", contacts.max(1));
                self.dispatch(pass, "wake_joints", joints);
                self.dispatch(pass, "wake_bodies", bodies);
                self.dispatch(pass, "wake_shapes", shapes);
                self.dispatch(pass, "wake_count", shapes + 1);
                self.scan(pass, "merged", shapes + 1);
                self.dispatch(pass, "wake_gather", shapes);
                self.dispatch(pass, "wake_copy", contacts.max(shapes + 1));
            }
            Stage::Report => {
                let joints = self.compiled.params.joint_count;
                self.dispatch(pass, "report_count", shapes + joints + 1);
                self.scan(pass, "events", shapes + joints + 1);
                self.dispatch(pass, "report_end", shapes);
                self.dispatch(pass, "report_begin", shapes);
                self.dispatch(pass, "report_joints", joints);
            }
            Stage::Color => {
                self.dispatch(pass, "color_inherit", contacts);
                let mut round = 1;
                if self.may_have_many_uncolored() {
                    while round <= WIDE_ROUNDS {
                        let sweep = Sweep { round, ..Sweep::default() };
                        self.dispatch_sweep(pass, "color_claim", sweep, contacts)?;
                        self.dispatch_sweep(pass, "color_commit", sweep, contacts)?;
                        round += 1;
                    }
                }
                self.dispatch_sweep(pass, "color_finish", Sweep { round, ..Sweep::default() }, 1)?;
                self.dispatch(pass, "color_count", color_blocks * COLOR_BLOCK);
                self.scan(pass, "colors", color_blocks * COLOR_COUNT);
                self.dispatch(pass, "color_place", color_blocks * COLOR_BLOCK);
            }
            Stage::Prepare => self.dispatch(pass, "prepare", contacts),
            Stage::PrepareJoints => self.dispatch(pass, "prepare_joints", joints),

            Stage::WarmStart => self.sweep(pass, "warm_start", "warm_start_tail", op.flags)?,
            Stage::WarmStartJoints => {
                self.joint_sweep(pass, "warm_start_joints", "warm_start_joints_tail", op.flags)?;
            }
            Stage::IntegrateVelocities => self.dispatch(pass, "integrate_velocities", bodies),
            Stage::SolveJoints | Stage::RelaxJoints => {
                self.joint_sweep(pass, "solve_joints", "solve_joints_tail", op.flags)?;
            }
            Stage::Solve | Stage::Relax => self.sweep(pass, "solve", "solve_tail", op.flags)?,
            Stage::IntegratePositions => self.dispatch(pass, "integrate_positions", bodies),
            Stage::ProjectJoints => self.joint_sweep(pass, "project_joints", "project_joints_tail", op.flags)?,
            Stage::Project => self.sweep(pass, "project", "project_tail", op.flags)?,

            Stage::Restitution => self.sweep(pass, "restitution", "restitution_tail", op.flags)?,
            Stage::StoreImpulses => self.dispatch(pass, "store_impulses", contacts),
            Stage::Continuous => {
                if switches & MOVING_WALLS != 0 {
                    self.dispatch(pass, "continuous_reach", shapes);
                }
                self.dispatch_sweep(pass, "continuous_sweep", Sweep::default(), shapes)?;
                self.dispatch(pass, "continuous_move", shapes);
                if switches & BULLETS != 0 {
                    let sweep = Sweep { flags: ONLY_BULLETS, ..Sweep::default() };
                    self.dispatch_sweep(pass, "continuous_sweep", sweep, shapes)?;
                    self.dispatch(pass, "continuous_move", shapes);
                }
            }
            Stage::Finalize => self.dispatch(pass, "finalize", bodies),
            Stage::Sleep => {
                self.dispatch(pass, "sleep_timer", bodies.max(1));
                self.dispatch(pass, "sleep_unite", contacts);
                self.dispatch(pass, "sleep_unite_joints", joints);
                self.dispatch(pass, "sleep_block", contacts);
                self.dispatch(pass, "sleep_block_joints", joints);
                self.dispatch(pass, "sleep_settle", bodies);
                self.dispatch(pass, "sleep_count", shapes + 1);
                self.scan(pass, "merged", shapes + 1);
                self.dispatch(pass, "sleep_gather", shapes);
                self.dispatch(pass, "sleep_copy", contacts.max(shapes + 1));
            }
        }
        Ok(())
    }

    /// One colour after the other. Which of them get a dispatch of their own depends on counts that may be old; the
    /// result does not.
    fn sweep(
        &mut self,
        pass: &mut wgpu::ComputePass,
        wide: &'static str,
        tail: &'static str,
        flags: u32,
    ) -> Result<(), WorldError> {
        self.sweep_runs(pass, wide, tail, flags, &self.color_runs())
    }

    /// The same over joints, of which the counts are known.
    fn joint_sweep(
        &mut self,
        pass: &mut wgpu::ComputePass,
        wide: &'static str,
        tail: &'static str,
        flags: u32,
    ) -> Result<(), WorldError> {
        self.sweep_runs(pass, wide, tail, flags, &self.joint_runs.clone())
    }

    fn sweep_runs(
        &mut self,
        pass: &mut wgpu::ComputePass,
        wide: &'static str,
        tail: &'static str,
        flags: u32,
        runs: &[Run],
    ) -> Result<(), WorldError> {
        for &run in runs {
            match run {
                Run::Wide { color, threads } => {
                    let sweep = Sweep { first_color: color, end_color: color + 1, flags, round: 0 };
                    self.dispatch_sweep(pass, wide, sweep, threads)?;
                }
                Run::Tail { first, end } => {
                    let sweep = Sweep { first_color: first, end_color: end, flags, round: 0 };
                    self.dispatch_sweep(pass, tail, sweep, 1)?;
                }
            }
        }
        Ok(())
    }

    fn color_runs(&self) -> Vec<Run> {
        let threads = |color: u32| match &self.known {
            // A little more than last known; a wide kernel loops if that is too few.
            Some((_, counters)) => {
                let size = counters.color_size(color);
                (size >= WIDE_COLOR).then_some(size.saturating_add(size / 16).min(self.contact_capacity))
            }
            None => {
                let large = self.contact_capacity / 4 >= WIDE_COLOR;
                let likely = color < BLIND_WIDE_COLORS || color >= COLOR_COUNT - 2;
                (large && likely).then_some(self.contact_capacity / 4)
            }
        };
        let mut runs = Vec::new();
        for color in 0..COLOR_COUNT {
            match (if color == OVERFLOW_COLOR { None } else { threads(color) }, runs.last_mut()) {
                (Some(threads), _) => runs.push(Run::Wide { color, threads }),
                (None, Some(Run::Tail { end, .. })) => *end = color + 1,
                (None, _) => runs.push(Run::Tail { first: color, end: color + 1 }),
            }
        }
        runs
    }

    /// What was asked since the last step. A new buffer each time: steps recorded but not submitted yet keep theirs.
    fn send_commands(&mut self, pass: &mut wgpu::ComputePass) {
        self.compiled.lead_on(&mut self.commands, self.steps);
        if self.commands.is_empty() {
            return;
        }
        by_body(&mut self.commands);
        let kernels = self.kernels.clone();
        // In pieces that the device takes; a body's commands may be cut in two, and stay in order.
        #[allow(clippy::cast_possible_truncation, reason = "a share of a buffer's limit")]
        let most = (self.largest_buffer() / size_of::<types::Command>() as u64).min(1 << 24) as usize;
        for piece in std::mem::take(&mut self.commands).chunks(most.max(1)) {
            let buffer = self.context.device().create_buffer_init(&wgpu::util::BufferInitDescriptor {
                label: Some("commands"),
                contents: bytemuck::cast_slice(piece),
                usage: wgpu::BufferUsages::STORAGE,
            });
            self.buffers.insert("commands", buffer);
            let of_joints = piece.iter().filter(|command| command.is_for_joint()).count();
            for (name, count) in [("command", piece.len() - of_joints), ("command_joints", of_joints)] {
                let Some(index) = kernels.find(name) else { unreachable!("no kernel {name}") };
                if count > 0 {
                    self.create_group(&kernels.list[index], (name, ""), |_| "");
                    self.dispatch(pass, name, u32::try_from(piece.len()).unwrap_or(u32::MAX));
                }
            }
        }
    }

    fn may_have_many_uncolored(&self) -> bool {
        match &self.known {
            Some((_, counters)) => counters.uncolored > FEW_UNCOLORED,
            None => self.contact_capacity > FEW_UNCOLORED,
        }
    }

    fn dispatch(&mut self, pass: &mut wgpu::ComputePass, name: &'static str, threads: u32) {
        self.dispatch_as(pass, name, (name, ""), threads);
    }

    fn dispatch_as(
        &mut self,
        pass: &mut wgpu::ComputePass,
        entry_point: &'static str,
        key: (&'static str, &'static str),
        threads: u32,
    ) {
        // Every name is one of ENTRY_POINTS, which were found when the world was made.
        let Some(index) = self.kernels.find(entry_point) else { unreachable!("no kernel {entry_point}") };
        let kernel = &self.kernels.list[index];
        let workgroups = threads.div_ceil(kernel.reflection.workgroup_size);
        if workgroups == 0 {
            return;
        }
        let (x, y) = (workgroups.min(MAX_WORKGROUPS), workgroups.div_ceil(MAX_WORKGROUPS));
        pass.set_pipeline(&kernel.pipeline);
        pass.set_bind_group(0, &self.groups[&key][self.parity], &[]);
        pass.dispatch_workgroups(x, y, 1);
        self.dispatches += 1;
    }

    fn dispatch_sweep(
        &mut self,
        pass: &mut wgpu::ComputePass,
        name: &'static str,
        sweep: Sweep,
        threads: u32,
    ) -> Result<(), WorldError> {
        let next = self.sweeps.len();
        let slot = match self.sweeps.get(&sweep) {
            Some(&slot) => slot,
            None if next >= MAX_SWEEPS => {
                return Err(WorldError::TooLarge {
                    buffer: "sweeps",
                    bytes: ((next + 1) * UNIFORM_STRIDE) as u64,
                    limit: (MAX_SWEEPS * UNIFORM_STRIDE) as u64,
                });
            }
            None => {
                // Entries are only ever added, so that steps recorded earlier keep theirs.
                let offset = next * UNIFORM_STRIDE;
                self.context.queue().write_buffer(&self.sweep_buffer, offset as u64, bytemuck::bytes_of(&sweep));
                let slot = u32::try_from(offset).unwrap_or(u32::MAX);
                self.sweeps.insert(sweep, slot);
                slot
            }
        };
        pass.set_bind_group(1, &self.sweep_group, &[slot]);
        self.dispatch(pass, name, threads);
        Ok(())
    }

    fn scan(&mut self, pass: &mut wgpu::ComputePass, which: &'static str, length: u32) {
        if length <= SCAN_ALONE {
            self.dispatch_as(pass, "scan_blocks", ("scan_blocks", which), 1);
            return;
        }
        let threads = length.div_ceil(SCAN_BLOCK) * COLOR_BLOCK;
        self.dispatch_as(pass, "scan_reduce", ("scan_reduce", which), threads);
        self.dispatch_as(pass, "scan_blocks", ("scan_blocks of sums", which), 1);
        self.dispatch_as(pass, "scan_apply", ("scan_apply", which), threads);
    }

    /// Makes room when the newest counters say that three quarters are in use, keeping the contacts of the last step.
    /// Where the device allows no more, the world goes on with what fits; in strict mode that is an error.
    fn grow(&mut self, encoder: &mut wgpu::CommandEncoder) -> Result<(), WorldError> {
        if self.event_need > self.event_capacity {
            let event = size_of::<Event>() as u64;
            let most = u32::try_from(self.largest_buffer() / event).unwrap_or(u32::MAX);
            if self.event_need > most && self.compiled.settings.strict {
                let bytes = u64::from(self.event_need) * event;
                return Err(WorldError::TooLarge { buffer: "events", bytes, limit: u64::from(most) * event });
            }
            let capacity = self.event_need.saturating_add(self.event_need / 2).min(most);
            if capacity > self.event_capacity {
                self.create("events", capacity as usize * size_of::<Event>())?;
                self.event_capacity = capacity;
                self.create_groups();
            }
        }
        let Some((_, counters)) = self.known else { return Ok(()) };
        // What was put by may come back all at once.
        let needed = u64::from(counters.pairs_found) + u64::from(counters.sleeping_contacts);
        if needed * 4 < u64::from(self.contact_capacity) * 3 {
            return Ok(());
        }
        let wanted = (needed * 3 / 2).next_multiple_of(1024);
        let most = self.most_contacts();
        if needed > most && self.compiled.settings.strict {
            return self.grow_to(encoder, needed);
        }
        self.grow_to(encoder, wanted.min(most))
    }

    /// Bytes that the device allows a storage buffer.
    fn largest_buffer(&self) -> u64 {
        let limits = self.context.device().limits();
        limits.max_storage_buffer_binding_size.min(limits.max_buffer_size)
    }

    /// Contacts for which the device allows buffers.
    fn most_contacts(&self) -> u64 {
        self.largest_buffer() / size_of::<Constraint>().max(size_of::<SleepingContact>()) as u64
    }

    fn grow_to(&mut self, encoder: &mut wgpu::CommandEncoder, wanted: u64) -> Result<(), WorldError> {
        let capacity = u32::try_from(wanted).map_err(|_| WorldError::TooLarge {
            buffer: "contacts",
            bytes: wanted.saturating_mul(size_of::<Constraint>() as u64),
            limit: u64::from(u32::MAX) * size_of::<Constraint>() as u64,
        })?;
        if capacity <= self.contact_capacity {
            return Ok(());
        }
        let current = ["contacts", "manifolds"].map(|name| at_parity(name, self.parity));
        let old = self.buffers.clone();
        let old_capacity = self.contact_capacity;
        if let Err(error) = self.create_contact_buffers(capacity) {
            // As it was.
            self.buffers = old;
            self.contact_capacity = old_capacity;
            self.compiled.params.contact_capacity = old_capacity;
            self.compiled.params.color_blocks = old_capacity.div_ceil(COLOR_BLOCK);
            return Err(error);
        }
        for name in [current[0], current[1], "sleeping"] {
            encoder.copy_buffer_to_buffer(&old[name], 0, &self.buffers[name], 0, old[name].size());
        }
        self.create_groups();
        Ok(())
    }

    /// Advances the world by one step and adds the time of every stage on the device to [`Self::stage_ms`]. Waits for
    /// the device. Does as [`Self::step`] where the device has no timestamps.
    ///
    /// # Errors
    /// As [`Self::step`].
    pub fn step_profiled(&mut self) -> Result<(), WorldError> {
        if !self.context.has_timestamps() {
            return self.step();
        }
        self.wait_for_room()?;
        if self.rests() {
            return Ok(());
        }
        let mut encoder = self.encoder();
        self.begin_recording(&mut encoder)?;
        let device = self.context.device().clone();
        let count = u32::try_from(2 * self.plan.len()).unwrap_or(u32::MAX);
        let queries = device.create_query_set(&wgpu::QuerySetDescriptor {
            label: Some("stages"),
            ty: wgpu::QueryType::Timestamp,
            count,
        });
        for (index, op) in self.plan.clone().into_iter().enumerate() {
            let first = u32::try_from(2 * index).unwrap_or(u32::MAX);
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
                label: Some(op.stage.name()),
                timestamp_writes: Some(wgpu::ComputePassTimestampWrites {
                    query_set: &queries,
                    beginning_of_pass_write_index: Some(first),
                    end_of_pass_write_index: Some(first + 1),
                }),
            });
            self.run(&mut pass, op)?;
        }
        let resolved = device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("stage times"),
            size: u64::from(count) * 8,
            usage: wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC,
            mapped_at_creation: false,
        });
        encoder.resolve_query_set(&queries, 0..count, &resolved, 0);
        self.end_recording(&mut encoder);
        self.submit(encoder)?;
        let bytes = download(&self.context, &[(&resolved, u64::from(count) * 8)])?;
        let times: Vec<u64> = cast(&bytes[0]);
        let period = f64::from(self.context.queue().get_timestamp_period()) * 1e-6;
        for (op, pair) in self.plan.iter().zip(times.chunks_exact(2)) {
            #[allow(clippy::cast_precision_loss, reason = "nanoseconds of one step")]
            let ticks = pair[1].saturating_sub(pair[0]) as f64;
            self.stage_ms[op.stage as usize].1 += ticks * period;
        }
        self.profiled += 1;
        self.poll()
    }

    /// Milliseconds spent in each stage so far by [`Self::step_profiled`], and the number of those steps.
    #[must_use]
    pub fn stage_ms(&self) -> (&[(Stage, f64)], u64) {
        (&self.stage_ms, self.profiled)
    }

    /// Puts every contact into the overflow path, which is solved in order. For tests.
    #[must_use]
    pub fn with_forced_overflow(mut self) -> Self {
        self.compiled.params.switches |= FORCE_OVERFLOW;
        self.create_groups();
        self
    }

    /// The same world with a stage left out of every step. For tests.
    #[doc(hidden)]
    #[must_use]
    pub fn without(mut self, stage: Stage) -> Self {
        self.plan.retain(|op| op.stage != stage);
        self
    }

    /// The stages of a step.
    #[must_use]
    pub fn plan(&self) -> &[Op] {
        &self.plan
    }

    /// What the world was made from.
    #[must_use]
    pub fn compiled(&self) -> &Compiled {
        &self.compiled
    }

    /// The device it lives on.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// Steps recorded.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Dispatches of the last step.
    #[must_use]
    pub fn dispatches(&self) -> u32 {
        self.dispatches
    }

    /// Contacts that fit.
    #[must_use]
    pub fn contact_capacity(&self) -> u32 {
        self.contact_capacity
    }

    /// Steps that are known to have outgrown a buffer and dropped contacts.
    #[must_use]
    pub fn overflowed_steps(&self) -> &[u64] {
        &self.overflowed
    }

    /// Bytes of all buffers on the device.
    #[must_use]
    pub fn device_bytes(&self) -> u64 {
        self.buffers.values().map(wgpu::Buffer::size).sum::<u64>() + self.sweep_buffer.size()
    }

    /// `array<Pose>`, one a body, of its centre of mass: draw from it.
    #[must_use]
    pub fn poses(&self) -> &wgpu::Buffer {
        &self.buffers["poses"]
    }

    /// `array<Shape>`: draw from it.
    #[must_use]
    pub fn shapes(&self) -> &wgpu::Buffer {
        &self.buffers["shapes"]
    }

    /// `array<vec2<f32>>`, the vertices of all polygons: draw from it.
    #[must_use]
    pub fn vertices(&self) -> &wgpu::Buffer {
        &self.buffers["vertices"]
    }

    /// The state between two steps. Waits for the device.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn snapshot(&mut self) -> Result<Snapshot, WorldError> {
        let tables = self.tables()?;
        self.poll()?;
        Ok(Snapshot {
            step: self.steps,
            islands: sleeping_islands(&self.compiled, &tables.states, &tables.islands, self.population.as_ref()),
            sleeping_starts: tables.sleeping_starts,
            sleeping: tables.sleeping,
            poses: tables.poses,
            states: tables.states,
            pair_starts: if self.steps == 0 { Vec::new() } else { tables.pair_starts },
            contacts: tables.contacts,
            manifolds: tables.manifolds,
            counters: tables.counters,
            forces: self.compiled.bodies.iter().map(Force::of).collect(),
            commands: self.commands.clone(),
            population: Population::history(self.population.as_ref()),
            vacated: self.population.as_ref().map_or(Vec::new(), |population| population.vacated().to_vec()),
            joint_states: tables.joint_states,
            joint_goals: tables.joints.iter().map(JointGoal::of).collect(),
            row_goals: tables.joint_rows.iter().map(RowGoal::of).collect(),
            joint_impulses: tables.joint_impulses,
        })
    }

    /// What the joints do, in the order of their indices. Waits for the device.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn joint_reactions(&mut self) -> Result<Vec<JointReaction>, WorldError> {
        let snapshot = self.snapshot()?;
        Ok(joint_reactions(&self.compiled, &snapshot))
    }

    /// Continues from a snapshot, to the same bits.
    ///
    /// # Errors
    /// If the snapshot is of another world or the device is lost; then nothing has changed.
    pub fn restore(&mut self, snapshot: &Snapshot) -> Result<(), WorldError> {
        let rewound = Population::rewind(self.origin.as_deref(), &self.compiled, self.population.as_ref(), snapshot)?;
        if let Some((compiled, population)) = rewound {
            snapshot.check(&compiled, Some(&population))?;
            self.context.wait()?;
            self.become_another(compiled, population)?;
        } else {
            snapshot.check(&self.compiled, self.population.as_ref())?;
        }
        if let Some(population) = &mut self.population {
            population.restore(&self.compiled, &snapshot.vacated);
        }
        self.context.wait()?;
        let mut encoder = self.encoder();
        self.grow_to(&mut encoder, snapshot.contacts.len() as u64 + snapshot.sleeping.len() as u64)?;
        self.submit(encoder)?;
        self.steps = snapshot.step;
        // The next step shall have room for what the last one had; what came later did not happen.
        self.known = snapshot.step.checked_sub(1).map(|step| (step, snapshot.counters));
        self.overflowed.retain(|&step| step < snapshot.step);
        self.upload("poses", &snapshot.poses);
        self.upload("states", &snapshot.states);
        let starts = vec![0; self.compiled.shapes.len() + 1];
        let starts = if snapshot.pair_starts.is_empty() { &starts } else { &snapshot.pair_starts };
        self.upload(at_parity("pair_starts", self.parity), starts);
        self.upload(at_parity("contacts", self.parity), &snapshot.contacts);
        self.upload(at_parity("manifolds", self.parity), &snapshot.manifolds);
        if self.compiled.settings.sleep {
            let mut starts = snapshot.sleeping_starts.clone();
            starts.resize(self.compiled.shapes.len() + 1, starts.last().copied().unwrap_or(0));
            self.upload("sleeping_starts", &starts);
            self.upload("sleeping", &snapshot.sleeping);
            self.upload("islands", &snapshot.islands);
            self.upload("island_flags", &vec![0_u32; snapshot.islands.len()]);
        }
        self.asked = snapshot.step;
        self.upload("counters", &[snapshot.counters]);
        for (body, force) in self.compiled.bodies.iter_mut().zip(&snapshot.forces) {
            force.put(body);
        }
        self.upload("bodies", &self.compiled.bodies);
        self.commands.clone_from(&snapshot.commands);
        snapshot.put_goals(&mut self.compiled.joints);
        self.upload("joints", &self.compiled.joints.joints);
        self.upload("joint_rows", &self.compiled.joints.rows);
        self.upload("joint_states", &snapshot.joint_states);
        self.upload("joint_impulses", &snapshot.joint_impulses);
        Ok(())
    }

    /// Runs one stage by itself, for comparing stage by stage.
    pub(crate) fn run_alone(&mut self, op: Op) -> Result<(), WorldError> {
        let mut encoder = self.encoder();
        {
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
            self.run(&mut pass, op)?;
        }
        self.submit(encoder)
    }

    /// Ends a step of stages run by themselves.
    pub(crate) fn end_step(&mut self) {
        self.steps = self.steps.saturating_add(1);
        if let Some(population) = &mut self.population {
            population.stepped();
        }
    }

    /// Every table as it stands.
    pub(crate) fn tables(&self) -> Result<Tables, WorldError> {
        let Params { body_count, shape_count, cell_count, joint_count, .. } = self.compiled.params;
        let (bodies, shapes, joints) = (u64::from(body_count), u64::from(shape_count), u64::from(joint_count));
        let (sleepers, producers) = if self.compiled.settings.sleep { (bodies, shapes + 1) } else { (0, 0) };
        let rows = self.compiled.joints.rows.len() as u64;
        let of = |name: &str, bytes: u64| (&self.buffers[name], bytes);
        let head = download(
            &self.context,
            &[
                of("counters", size_of::<Counters>() as u64),
                of("poses", bodies * size_of::<Pose>() as u64),
                of("states", bodies * size_of::<BodyState>() as u64),
                of("accumulators", bodies * size_of::<Accumulator>() as u64),
                of("aabbs", shapes * size_of::<Aabb>() as u64),
                of("cell_ends", (u64::from(cell_count) + 1) * 4),
                of("cell_shapes", shapes * 4),
                of(at_parity("pair_starts_previous", self.parity), (shapes + 1) * 4),
                of(at_parity("pair_starts", self.parity), (shapes + 1) * 4),
                of("joint_frames", joints * size_of::<JointFrame>() as u64),
                of("joint_states", joints * size_of::<JointState>() as u64),
                of("joint_impulses", rows * size_of::<[f32; 2]>() as u64),
                of("islands", sleepers * 4),
                of("island_flags", sleepers * 4),
                of("sleeping_starts", producers * 4),
                of("event_starts", if self.compiled.settings.events { (shapes + joints + 1) * 4 } else { 0 }),
                of("joints", joints * size_of::<types::Joint>() as u64),
                of("joint_rows", rows * size_of::<types::JointRow>() as u64),
                of("swings", bodies * 4),
            ],
        )?;
        let counters = cast::<Counters>(&head[0])[0];
        let mut pair_starts_previous: Vec<u32> = cast(&head[7]);
        let mut pair_starts: Vec<u32> = cast(&head[8]);
        Self::complete(&mut pair_starts_previous);
        Self::complete(&mut pair_starts);
        let mut sleeping_starts: Vec<u32> = cast(&head[14]);
        Self::complete(&mut sleeping_starts);
        let put_by = u64::from(sleeping_starts.last().copied().unwrap_or(0).min(self.contact_capacity));
        let contacts = u64::from(counters.contacts.min(self.contact_capacity));
        let previous = u64::from(pair_starts_previous.last().copied().unwrap_or(0).min(self.contact_capacity));
        let constraints = u64::from(counters.color_starts[COLOR_COUNT as usize].min(self.contact_capacity));
        let surfaces = if self.compiled.params.switches & SURFACES == 0 { 0 } else { constraints };
        let reported = head.get(15).and_then(|bytes| cast::<u32>(bytes).last().copied()).unwrap_or(0);
        let reported = u64::from(reported.min(self.event_capacity));
        let tail = download(
            &self.context,
            &[
                of(at_parity("contacts_previous", self.parity), previous * size_of::<Contact>() as u64),
                of(at_parity("contacts", self.parity), contacts * size_of::<Contact>() as u64),
                of("slots", constraints * 4),
                of("constraints", constraints * size_of::<Constraint>() as u64),
                of("surfaces", surfaces * size_of::<Surface>() as u64),
                of("events", reported * size_of::<Event>() as u64),
                of("sleeping", put_by * size_of::<SleepingContact>() as u64),
                of(at_parity("manifolds_previous", self.parity), previous * size_of::<Manifold>() as u64),
                of(at_parity("manifolds", self.parity), contacts * size_of::<Manifold>() as u64),
            ],
        )?;
        Ok(Tables {
            poses: cast(&head[1]),
            states: cast(&head[2]),
            accumulators: cast(&head[3]),
            swings: cast(&head[18]),
            aabbs: cast(&head[4]),
            cell_ends: cast(&head[5]),
            cell_shapes: cast(&head[6]),
            pair_starts_previous,
            pair_starts,
            contacts_previous: cast(&tail[0]),
            contacts: cast(&tail[1]),
            manifolds_previous: cast(&tail[7]),
            manifolds: cast(&tail[8]),
            slots: cast(&tail[2]),
            constraints: cast(&tail[3]),
            surfaces: cast(&tail[4]),
            events: cast(&tail[5]),
            islands: cast(&head[12]),
            island_flags: cast(&head[13]),
            sleeping_starts,
            sleeping: cast(&tail[6]),
            joints: cast(&head[16]),
            joint_rows: cast(&head[17]),
            joint_frames: cast(&head[9]),
            joint_states: cast(&head[10]),
            joint_impulses: cast(&head[11]),
            counters,
        })
    }
}

/// Kernels that are dispatched by name.
const ENTRY_POINTS: &[&str] = &[
    "command",
    "command_joints",
    "guard",
    "bound",
    "bin_clear",
    "bin_count",
    "bin_place",
    "bin_sort",
    "scan_reduce",
    "scan_blocks",
    "scan_apply",
    "pair_tie",
    "pair_count",
    "pair_count_asleep",
    "pair_emit",
    "recall",
    "collide",
    "collide_sharp",
    "wake_find",
    "wake_joints",
    "wake_bodies",
    "wake_shapes",
    "wake_count",
    "wake_gather",
    "wake_copy",
    "report_count",
    "report_end",
    "report_begin",
    "report_joints",
    "color_inherit",
    "color_claim",
    "color_commit",
    "color_finish",
    "color_count",
    "color_place",
    "prepare",
    "prepare_joints",
    "warm_start",
    "warm_start_tail",
    "warm_start_joints",
    "warm_start_joints_tail",
    "integrate_velocities",
    "solve_joints",
    "solve_joints_tail",
    "solve",
    "solve_tail",
    "integrate_positions",
    "project_joints",
    "project_joints_tail",
    "project",
    "project_tail",
    "restitution",
    "restitution_tail",
    "store_impulses",
    "continuous_reach",
    "continuous_sweep",
    "continuous_move",
    "finalize",
    "sleep_timer",
    "sleep_unite",
    "sleep_unite_joints",
    "sleep_block",
    "sleep_block_joints",
    "sleep_settle",
    "sleep_count",
    "sleep_gather",
    "sleep_copy",
    "query_ray",
    "query_count",
    "query_emit",
];

/// The buffer behind a name that changes its meaning every step.
fn at_parity(name: &str, parity: usize) -> &str {
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

fn block_sums_of(scan: &str) -> &'static str {
    if scan == "colors" { "color_block_sums" } else { "block_sums" }
}

fn scan_uniform(scan: &str) -> &'static str {
    match scan {
        "cells" => "scan_cells",
        "pairs" | "merged" => "scan_pairs",
        "events" => "scan_events",
        _ => "scan_colors",
    }
}

fn block_uniform(scan: &str) -> &'static str {
    match scan {
        "cells" => "blocks_cells",
        "pairs" | "merged" => "blocks_pairs",
        "events" => "blocks_events",
        _ => "blocks_colors",
    }
}

/// Which colours of joints get a dispatch of their own. Empty ones cost nothing.
fn joint_runs(joints: &Joints) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for color in 0..JOINT_COLORS {
        let size = u32::try_from(joints.of_color(color as usize).len()).unwrap_or(u32::MAX);
        match runs.last_mut() {
            _ if size == 0 => {}
            _ if size >= WIDE_COLOR && color != JOINT_OVERFLOW => runs.push(Run::Wide { color, threads: size }),
            Some(Run::Tail { end, .. }) => *end = color + 1,
            _ => runs.push(Run::Tail { first: color, end: color + 1 }),
        }
    }
    runs
}

/// Room for twice the pairs that the scene starts with, and for a pile of its shapes.
fn estimate_contacts(compiled: &Compiled) -> u32 {
    let mut probe = CpuWorld::from_compiled(compiled.clone());
    for stage in [Stage::Guard, Stage::Bound, Stage::Bin, Stage::Pair] {
        probe.run(Op { stage, flags: 0 });
    }
    let start = u64::from(probe.counters().pairs_found) * 3 / 2;
    let pile = 4 * (u64::from(compiled.params.shape_count) + compiled.script.most.shapes as u64);
    u32::try_from(start.max(pile).max(256).next_multiple_of(1024)).unwrap_or(u32::MAX)
}

impl From<KernelError> for WorldError {
    fn from(error: KernelError) -> Self {
        Self::Kernel(error.to_string())
    }
}
