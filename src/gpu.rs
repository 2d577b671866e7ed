//! GPU backend: a world whose steps run as compute shaders through wgpu.
//!
//! The host records all dispatches of a step in advance, without knowing how many contacts, pairs or islands the step
//! will have: every count stays on the device. Counters and events come back some steps later; the host uses them to
//! grow buffers and to choose between equivalent kernels, never to change a result.
//!
//! [`GpuWorld`] is one world with buffers of its own; `worlds` holds many worlds side by side in the same buffers.
//! `record` turns a stage into dispatches, `engine` owns buffers and bind groups, `shader` composes the WGSL, `memory`
//! lists all tables with their sizes, `strict` repairs steps that overflowed.

mod ask;
mod books;
mod capacity;
mod clock;
mod context;
mod engine;
pub mod kernel;
pub mod memory;
mod parts;
mod population;
mod profile;
mod query;
mod readback;
mod record;
pub mod shader;
mod state;
mod strict;
mod transforms;
pub(crate) mod worlds;
mod writes;

pub use worlds::pool;

use std::sync::Arc;
use std::time::Duration;

use capacity::Capacity;
use clock::Clock;
pub use context::{AdapterChoice, Context, ContextError, DeviceError, adapters, is_software};
use engine::{Engine, at_parity};
use kernel::{KernelError, Kernels, Patch};
use memory::Features;
use profile::Profiler;
pub use profile::StageTimes;
pub use query::PendingQuery;
pub use readback::cast;
use readback::{Arrived, StepRing};
use record::{DispatchBounds, StepStats, joint_runs};
pub use strict::StepStart;

pub use books::DeviceCopy;
pub use readback::Arrival;

use crate::cancel::CancelToken;
use crate::command::by_body;
use crate::cpu::CpuWorld;
use crate::event;
use crate::host::{Host, WorldEngine, world_verbs};
use crate::scene::{Compiled, Scene};
use crate::snapshot::{Snapshot, is_at_rest};
use crate::state::{JointReaction, joint_reactions};
use crate::step::{PlannedStage, Stage, plan};
use crate::tables::Tables;
use crate::types::{self, Counters, EventData, FORCE_OVERFLOW, OVERFLOW_CONTACTS};
use crate::world::WorldError;

/// Maximum workgroups in one dimension of a dispatch (wgpu's default limit).
const MAX_WORKGROUPS: u32 = 65_535;
/// Elements of one scan block (`shaders/scan.wgsl`).
const SCAN_BLOCK: u32 = 1024;
/// Words per shape that store its pairs between counting and emitting (`shaders/pair.wgsl`).
const PARTNER_WORDS: usize = 8;
/// Initial capacity for events of one step.
const INITIAL_EVENTS: u32 = 1024;
/// Number of steps whose counters may be in flight.
const RING: usize = 3;

/// A world on the GPU.
///
/// The same scene on the same adapter, driver and build gives bitwise identical results, at any buffer capacity.
#[derive(Debug)]
pub struct GpuWorld {
    engine: Engine,
    host: Host,
    plan: Vec<PlannedStage>,

    ring: StepRing,
    /// Event capacity that a past step has lacked.
    event_need: u32,
    /// Latest counters that have arrived, and their step.
    known: Option<(u64, Counters)>,
    never_rests: bool,
    stage_ms: Vec<(Stage, f64)>,
    profiled: u64,
    profiler: Profiler,
    /// Timer of whole steps, if they are timed.
    clock: Option<Clock>,
    /// Duration of the last strict step, and the number of shapes in it.
    last_duration: Option<(Duration, u32)>,
    /// The next recorded step is to be measured.
    measures: bool,
    /// Stage times that have arrived and were not taken yet.
    times: parts::MeasuredSteps,
    /// Progress of a step that is submitted in parts.
    part: Option<parts::StepPart>,
    /// Buffer sizes learned from past queries of this world.
    query_stats: ask::QueryStats,
    /// Transforms in flight to the host.
    transforms: transforms::Sent,
}

impl GpuWorld {
    /// Creates the world that the scene describes.
    ///
    /// # Errors
    /// If the scene is not valid or does not fit the device.
    pub fn new(context: &Context, scene: &Scene) -> Result<Self, WorldError> {
        Self::from_compiled(context, Compiled::new(scene)?, None)
    }

    /// Creates a world from compiled arrays. `contact_capacity` is estimated if `None`.
    ///
    /// # Errors
    /// If it does not fit the device.
    pub fn from_compiled(
        context: &Context,
        compiled: Compiled,
        contact_capacity: Option<u32>,
    ) -> Result<Self, WorldError> {
        Self::from_host(context, Host::new(compiled), contact_capacity, context.kernels(false)?)
    }

    /// Creates a world with modified shaders, for tests that break a stage on purpose.
    ///
    /// # Errors
    /// If a patch does not match exactly once or the result is not a valid shader.
    #[doc(hidden)]
    pub fn patched(context: &Context, scene: &Scene, patches: &[Patch]) -> Result<Self, WorldError> {
        let kernels = Arc::new(Kernels::new(context.device(), patches, false)?);
        Self::from_host(context, Host::new(Compiled::new(scene)?), None, kernels)
    }

    fn from_host(
        context: &Context,
        host: Host,
        contact_capacity: Option<u32>,
        kernels: Arc<Kernels>,
    ) -> Result<Self, WorldError> {
        context.check()?;
        let compiled = &host.compiled;
        let features = Features::of(compiled);
        let mut engine = Engine::new(context, kernels, 1, features, Capacity::first(compiled));
        engine.contact_capacity = contact_capacity.unwrap_or_else(|| estimate_contacts(compiled, 256, 1024)).max(1);
        engine.event_capacity = if features.events { INITIAL_EVENTS } else { 0 };
        engine.joint_runs = joint_runs([&compiled.joints]);
        let mut world = Self {
            engine,
            plan: plan(&compiled.settings, compiled.bounces, compiled.joints.count() > 0),
            ring: StepRing::new(context.device(), RING),
            event_need: 0,
            known: None,
            never_rests: false,
            stage_ms: Stage::ALL.map(|stage| (stage, 0.0)).into(),
            profiled: 0,
            profiler: Profiler::default(),
            clock: None,
            last_duration: None,
            measures: false,
            times: parts::MeasuredSteps::default(),
            part: None,
            query_stats: ask::QueryStats::default(),
            transforms: transforms::Sent::default(),
            host,
        };
        world.engine.create_tables(|_| true)?;
        world.engine.place(&mut world.host.compiled.params);
        world.engine.fill(&[&world.host.compiled]);
        world.bind();
        world.engine.follow(&world.plan);
        world.engine.compile(&world.plan, &DispatchBounds::of(&world.host.compiled))?;
        world.engine.context.check()?;
        Ok(world)
    }

    world_verbs!();

    fn bind(&mut self) {
        let params = self.host.compiled.params;
        self.engine.bind(&[params], &params);
    }

    /// Disables skipping of steps while all bodies sleep. For tests.
    #[doc(hidden)]
    #[must_use]
    pub fn without_rest(mut self) -> Self {
        self.never_rests = true;
        self
    }

    /// Forces the fused kernel with 8, 64 or 256 lanes; any other number forces one dispatch per stage, independently
    /// of the size of the world. For tests.
    #[doc(hidden)]
    #[must_use]
    pub fn with_lanes(mut self, lanes: u32) -> Self {
        self.engine.forced_lanes = Some(lanes);
        self
    }

    /// Sets the token by which another thread may cancel a step: before it is recorded, or while the world waits for
    /// the device. Work that was already submitted still runs to its end on the device after the call has returned: in
    /// strict mode two batches at most.
    pub fn set_cancel_token(&mut self, token: CancelToken) {
        self.host.limits.set_token(token);
    }

    /// Skips the step if it is known to change nothing: all bodies sleep, and a step that included the latest command
    /// has arrived and began and ended with all bodies asleep. Then the step count advances and nothing is recorded.
    fn is_idle(&mut self) -> bool {
        let sleeps = !self.never_rests && self.host.is_idle();
        let known = self.known.is_some_and(|(step, counters)| step >= self.host.asked && is_at_rest(&counters));
        if sleeps && known {
            self.engine.dispatches = 0;
            self.host.steps = self.host.steps.saturating_add(1);
        }
        sleeps && known
    }

    /// Returns the events of the steps that have arrived since the last call, oldest first; none unless the scene asks
    /// for events.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn take_events(&mut self) -> Result<Vec<event::Event>, WorldError> {
        self.poll()?;
        Ok(std::mem::take(&mut self.host.events))
    }

    /// Advances the world by one step: records it, submits it and returns without waiting for it, unless several steps
    /// are already in flight.
    ///
    /// # Errors
    /// If the device is lost, rejects a command, or does not allow a buffer as large as needed. In strict mode an
    /// overflow is repaired here; if it cannot be, the world is as it was before the step, and the error is
    /// [`WorldError::TooManyContacts`] if it has more contacts than its limit. Without strict mode the step keeps the
    /// contacts that fit.
    /// [`WorldError::Cancelled`] if the token was cancelled before the step or while it waited for the device, and for
    /// every later step until the world continues from a snapshot ([`Self::restore`]). A long step in strict mode is
    /// submitted in batches; after cancellation the remaining batches are not submitted, and [`Self::steps`] does not
    /// count the step.
    pub fn step(&mut self) -> Result<(), WorldError> {
        self.host.limits.check()?;
        if self.host.compiled.settings.strict {
            return self.step_strictly();
        }
        self.wait_for_room()?;
        if self.is_idle() {
            return Ok(());
        }
        let mut encoder = self.engine.encoder();
        self.record(&mut encoder)?;
        self.submit(encoder)
    }

    fn submit(&mut self, encoder: wgpu::CommandEncoder) -> Result<(), WorldError> {
        self.engine.context.queue().submit([encoder.finish()]);
        self.poll()
    }

    /// Processes the counters, events and times that have arrived, without waiting.
    fn poll(&mut self) -> Result<(), WorldError> {
        self.engine.context.poll(wgpu::PollType::Poll)?;
        let period = self.engine.context.queue().get_timestamp_period();
        for Arrived { step, bytes } in self.ring.take() {
            let bytes = match &mut self.clock {
                Some(clock) => clock.read(&bytes, period),
                None => &bytes,
            };
            let (counters, events, event_count) = readback::unpack(bytes);
            let lost_events = event_count as usize > events.len();
            if counters.overflow_bits & OVERFLOW_CONTACTS != 0 || lost_events {
                self.host.overflowed.push(step);
            }
            if lost_events {
                self.event_need = self.event_need.max(event_count);
            }
            self.host.process_readbacks(step, events);
            if self.known.is_none_or(|(known, _)| known <= step) {
                self.known = Some((step, counters));
            }
        }
        for times in self.profiler.take(period) {
            for (op, ms) in &times.ops {
                self.stage_ms[op.stage as usize].1 += ms;
            }
            self.profiled += 1;
            self.times.arrived(times);
        }
        if self.ring.take_refused() {
            // A device that was just lost drops steps silently and reports the loss only once it has nothing left to
            // do.
            self.engine.context.wait()?;
        }
        Ok(())
    }

    fn wait_for_room(&mut self) -> Result<(), WorldError> {
        self.poll()?;
        if !self.ring.has_room() {
            self.wait()?;
            self.poll()?;
        }
        Ok(())
    }

    /// Waits for the device, unless the step is cancelled.
    fn wait(&self) -> Result<(), WorldError> {
        self.wait_for(None)
    }

    /// Waits for one submission, or for all work of the device if `None`, unless the step is cancelled.
    fn wait_for(&self, submission: Option<&wgpu::SubmissionIndex>) -> Result<(), WorldError> {
        let latch = self.host.limits.latch();
        let done = self.engine.context.wait_for_unless(submission, || latch.is_cancelled())?;
        if done { Ok(()) } else { Err(WorldError::Cancelled) }
    }

    /// Records one step into the caller's encoder, including the bodies that the scene's emitters create before it.
    /// Nothing is submitted: submit the encoders yourself, in order.
    ///
    /// # Errors
    /// If the device is lost, a buffer outgrows it, or the world was cancelled; then nothing was recorded.
    pub fn record(&mut self, encoder: &mut wgpu::CommandEncoder) -> Result<(), WorldError> {
        self.host.limits.check()?;
        self.poll()?;
        if self.is_idle() {
            return Ok(());
        }
        self.begin_recording(encoder)?;
        let measured = self.begin_measuring();
        self.record_ops(encoder, 0..self.plan.len(), measured)?;
        self.end_recording(encoder, measured);
        Ok(())
    }

    /// Begins to measure the step being recorded, if requested; returns its slot.
    fn begin_measuring(&mut self) -> Option<usize> {
        // A step that is timed as a whole must run as a whole.
        let can = self.engine.context.has_timestamps() && self.clock.is_none();
        let wanted = std::mem::take(&mut self.measures) && can;
        if wanted { self.profiler.begin(self.engine.context.device(), &self.plan) } else { None }
    }

    /// Records a range of the plan; if it is measured, with one pass per line.
    fn record_ops(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        ops: std::ops::Range<usize>,
        measured: Option<usize>,
    ) -> Result<(), WorldError> {
        // A step in parts dispatches each line separately: counters that arrive between two parts could change the
        // choice of the fused kernel.
        let apart = ops.len() < self.plan.len();
        let Some(slot) = measured else {
            let (is_first, is_last) = (ops.start == 0, ops.end == self.plan.len());
            let timestamp_writes = self.clock.as_ref().and_then(|clock| clock.writes(is_first, is_last));
            let mut pass =
                encoder.begin_compute_pass(&wgpu::ComputePassDescriptor { label: Some("step"), timestamp_writes });
            return ops.into_iter().try_for_each(|index| self.run_line(&mut pass, index, apart));
        };
        for index in ops {
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
                label: Some(self.plan[index].stage.name()),
                timestamp_writes: self.profiler.writes(slot, index),
            });
            self.run_line(&mut pass, index, true)?;
        }
        Ok(())
    }

    /// Grows buffers if necessary, and starts a step in `encoder`.
    fn begin_recording(&mut self, encoder: &mut wgpu::CommandEncoder) -> Result<(), WorldError> {
        self.grow(encoder)?;
        self.emit(Some(encoder))?;
        self.begin_step();
        self.engine.dispatches = 0;
        Ok(())
    }

    /// Records the copy of the step's counters and events to the host.
    fn end_recording(&mut self, encoder: &mut wgpu::CommandEncoder, measured: Option<usize>) {
        if let Some(slot) = measured {
            self.profiler.end(slot, encoder, self.host.steps.saturating_add(1));
        }
        let mut parts = vec![(&self.engine.buffers["counters"], 0, size_of::<Counters>() as u64)];
        if self.host.compiled.settings.events {
            let total = u64::from(self.host.compiled.params.shape_count + self.host.compiled.params.joint_count) * 4;
            parts.push((&self.engine.buffers["event_starts"], total, 4));
            let bytes = u64::from(self.engine.event_capacity) * size_of::<EventData>() as u64;
            parts.push((&self.engine.buffers["events"], 0, bytes));
        }
        if let Some(clock) = &self.clock {
            parts.push(clock.resolve(encoder));
        }
        self.engine.context.note_sent(0, parts.iter().map(|(.., bytes)| bytes).sum());
        self.ring.record(self.engine.context.device(), encoder, &parts, self.host.steps);
        self.end_step();
    }

    /// Swaps the current and previous contact buffers.
    pub fn begin_step(&mut self) {
        self.engine.parity ^= 1;
    }

    /// Runs one line of the plan; if `apart`, without fusing it with the lines around it.
    fn run_line(&mut self, pass: &mut wgpu::ComputePass, index: usize, apart: bool) -> Result<(), WorldError> {
        let op = self.plan[index];
        if op.stage == Stage::Command {
            return self.send_commands(pass);
        }
        let known = self.known.map(|(_, counters)| StepStats::of(&counters));
        let (line, bounds) = ((index, op), DispatchBounds::of(&self.host.compiled));
        if apart {
            return self.engine.run_apart(pass, line, &bounds, known.as_ref());
        }
        self.engine.run_line(pass, line, &bounds, known.as_ref())
    }

    /// Runs one stage without the rest of the plan.
    fn run(&mut self, pass: &mut wgpu::ComputePass, op: PlannedStage) -> Result<(), WorldError> {
        if op.stage == Stage::Command {
            return self.send_commands(pass);
        }
        let known = self.known.map(|(_, counters)| StepStats::of(&counters));
        self.engine.run(pass, op, &DispatchBounds::of(&self.host.compiled), known.as_ref())
    }

    /// Uploads and dispatches the commands since the last step, in a new buffer each time, as steps that are recorded
    /// but not yet submitted still refer to theirs.
    fn send_commands(&mut self, pass: &mut wgpu::ComputePass) -> Result<(), WorldError> {
        self.host.compiled.lead_on(&mut self.host.commands, self.host.steps);
        by_body(&mut self.host.commands);
        let commands = std::mem::take(&mut self.host.commands);
        self.engine.send_commands(pass, &commands)
    }

    /// Grows the contact buffers when the latest counters show that three quarters are in use, and keeps the contacts
    /// of the last step. If the device allows no more, the world continues with the contacts that fit; in strict mode
    /// that is an error.
    fn grow(&mut self, encoder: &mut wgpu::CommandEncoder) -> Result<(), WorldError> {
        if self.engine.grow_events(self.event_need)? {
            self.bind();
        }
        let Some((_, counters)) = self.known else { return Ok(()) };
        // All archived contacts may return in one step.
        let needed = u64::from(counters.pairs_found) + u64::from(counters.sleeping_contacts);
        if self.engine.grow_for_contacts(encoder, needed, 1024, self.contact_limit())? {
            self.bind_contacts();
        }
        Ok(())
    }

    /// Updates constants and bind groups after the contact tables were replaced.
    fn bind_contacts(&mut self) {
        self.engine.place(&mut self.host.compiled.params);
        self.bind();
    }

    /// Advances the world by one step and adds the device time of every stage to [`Self::stage_ms`]. Waits for the
    /// device. The sweeps of a small world run one dispatch per stage here instead of in the fused kernel. Equivalent
    /// to [`Self::step`] if the device has no timestamps.
    ///
    /// # Errors
    /// Those of [`Self::step`].
    pub fn step_profiled(&mut self) -> Result<(), WorldError> {
        if !self.engine.context.has_timestamps() {
            return self.step();
        }
        if !self.profiler.has_room() {
            self.wait()?;
            self.poll()?;
        }
        self.step_measured()?;
        self.wait()?;
        self.poll()
    }

    /// Advances the world by one step and adds its stage times to [`Self::stage_ms`] once they have arrived. Does not
    /// wait for them; measures nothing while several measured steps are in flight.
    ///
    /// # Errors
    /// Those of [`Self::step`].
    pub fn step_measured(&mut self) -> Result<(), WorldError> {
        self.measures = true;
        let stepped = self.step();
        self.measures = false;
        stepped
    }

    /// Returns the total milliseconds of each stage over all measured steps, and the number of those steps.
    #[must_use]
    pub fn stage_ms(&self) -> (&[(Stage, f64)], u64) {
        (&self.stage_ms, self.profiled)
    }

    /// Puts every contact into the overflow color, which is solved serially. For tests.
    #[must_use]
    pub fn with_forced_overflow(mut self) -> Self {
        self.host.compiled.params.switches |= FORCE_OVERFLOW;
        self.bind();
        self
    }

    /// Removes a stage from every step. For tests.
    #[doc(hidden)]
    #[must_use]
    pub fn without(mut self, stage: Stage) -> Self {
        self.plan.retain(|op| op.stage != stage);
        self.engine.follow(&self.plan);
        self
    }

    /// Returns the stages of a step, in order.
    #[must_use]
    pub fn plan(&self) -> &[PlannedStage] {
        &self.plan
    }

    /// Returns the device and queue of the world.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.engine.context
    }

    /// Returns the number of dispatches of the last step.
    #[must_use]
    pub fn dispatches(&self) -> u32 {
        self.engine.dispatches
    }

    /// Returns the number of contacts that fit the buffers.
    #[must_use]
    pub fn contact_capacity(&self) -> u32 {
        self.engine.contact_capacity
    }

    /// Returns the size of all buffers on the device, in bytes.
    #[must_use]
    pub fn device_bytes(&self) -> u64 {
        self.engine.device_bytes()
    }

    /// Returns the buffer `array<Pose>`, one per body, of its centre of mass, for drawing.
    #[must_use]
    pub fn poses(&self) -> &wgpu::Buffer {
        &self.engine.buffers["poses"]
    }

    /// Returns the buffer `array<Shape>`, for drawing.
    #[must_use]
    pub fn shapes(&self) -> &wgpu::Buffer {
        &self.engine.buffers["shapes"]
    }

    /// Returns the buffer `array<vec2<f32>>` of the vertices of all polygons, for drawing.
    #[must_use]
    pub fn vertices(&self) -> &wgpu::Buffer {
        &self.engine.buffers["vertices"]
    }

    /// Returns the buffer of a table, by its name in the map of a step ([`low_level`](crate::low_level)), as the steps
    /// recorded so far leave it; `None` if no table has that name. Valid until the next step: a world swaps its buffers
    /// as it steps and replaces them as it grows.
    #[must_use]
    pub fn table(&self, name: &str) -> Option<&wgpu::Buffer> {
        self.engine.buffers.get(at_parity(name, self.engine.parity))
    }

    /// Returns the state between two steps. Waits for the device.
    ///
    /// # Errors
    /// If the device is lost, or a step was cancelled.
    pub fn snapshot(&mut self) -> Result<Snapshot, WorldError> {
        WorldEngine::snapshot(self)
    }

    /// Returns the poses of all bodies. Waits for the device.
    pub(crate) fn read_poses(&mut self) -> Result<Vec<types::Pose>, WorldError> {
        let bytes = self.host.compiled.poses.len() as u64 * size_of::<types::Pose>() as u64;
        let parts = readback::download(&self.engine.context, &[(&self.engine.buffers["poses"], 0, bytes)])?;
        self.poll()?;
        Ok(cast(&parts[0]))
    }

    /// Returns the forces and torques of all joints, by joint index. Waits for the device.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn joint_reactions(&mut self) -> Result<Vec<JointReaction>, WorldError> {
        let snapshot = self.snapshot()?;
        Ok(joint_reactions(&self.host.compiled, &snapshot))
    }

    /// Runs one stage without the rest of the plan, to compare backends stage by stage.
    ///
    /// # Errors
    /// If the device is lost or has no kernel for the stage.
    pub fn run_stage(&mut self, op: PlannedStage) -> Result<(), WorldError> {
        let mut encoder = self.engine.encoder();
        {
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
            self.run(&mut pass, op)?;
        }
        self.submit(encoder)
    }

    /// Ends a step of stages that were run one by one.
    pub fn end_step(&mut self) {
        self.host.end_step();
    }

    /// Returns the contents of all tables. Waits for the device.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn tables(&self) -> Result<Tables, WorldError> {
        self.engine.tables(&self.host.compiled, 0, self.engine.parity)
    }
}

/// Returns an initial contact capacity: 1.5 times the pairs of the scene's first step, at least four contacts per shape
/// (a pile) and at least `least`, rounded up to a multiple of `lot`.
fn estimate_contacts(compiled: &Compiled, least: u64, lot: u64) -> u32 {
    let mut probe = CpuWorld::from_compiled(compiled.clone());
    // Pairs beyond the default limit of a world are not counted; the tables grow once their number is known.
    let stages = [Stage::Quarantine, Stage::Bound, Stage::Bin, Stage::Pair];
    let _ = stages.into_iter().try_for_each(|stage| probe.run(PlannedStage { stage, flags: 0 }));
    let start = u64::from(probe.counters().pairs_found) * 3 / 2;
    let pile = 4 * (u64::from(compiled.params.shape_count) + compiled.script.most.shapes as u64);
    u32::try_from(start.max(pile).max(least).next_multiple_of(lot)).unwrap_or(u32::MAX)
}

impl From<KernelError> for WorldError {
    fn from(error: KernelError) -> Self {
        Self::Kernel(error.to_string())
    }
}
