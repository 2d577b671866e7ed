//! GPU backend: a world whose steps run as compute shaders through wgpu.
//!
//! The host records all dispatches of a step in advance, without knowing how many contacts, pairs or islands the step
//! will have: every count stays on the device. Counters and events come back some steps later; the host uses them to
//! grow buffers and to choose between equivalent kernels, never to change a result.
//!
//! `worlds` holds worlds side by side in the same buffers and steps them; [`GpuWorld`] is one that has them alone.
//! `record` turns a stage into dispatches, `engine` owns buffers and bind groups, `shader` composes the WGSL, `memory`
//! lists all tables with their sizes.

mod ask;
mod books;
mod capacity;
mod clock;
mod context;
mod engine;
pub mod kernel;
pub mod memory;
mod parts;
mod profile;
mod query;
mod readback;
pub mod recipe;
mod record;
mod recorded;
pub mod shader;
mod state;
mod thresholds;
mod transforms;
mod works;
pub(crate) mod worlds;
mod writes;

pub use worlds::{StepStart, pool};

use std::sync::Arc;

pub use context::{
    AdapterChoice, Context, ContextError, DeviceError, adapters, bytes_read_back, is_software, note_read_back,
};
use engine::{Engine, at_parity};
use kernel::{KernelError, Kernels, Patch};
pub use profile::StageTimes;
pub use query::PendingQuery;
pub use readback::cast;
use worlds::GpuWorlds;

pub use books::DeviceCopy;
pub use readback::Arrival;
pub use works::{StageWork, ThreadCount, ThreadUnit};

use crate::cancel::CancelToken;
use crate::command::Command;
use crate::cpu::CpuWorld;
use crate::event;
use crate::host::{Host, WorldEngine, world_verbs};
use crate::scene::{Compiled, Scene};
use crate::snapshot::Snapshot;
use crate::state::{JointReaction, joint_reactions};
use crate::step::{PlannedStage, Stage};
use crate::tables::Tables;
use crate::types::{FORCE_OVERFLOW, Pose};
use crate::world_error::WorldError;

/// Maximum workgroups in one dimension of a dispatch (wgpu's default limit).
const MAX_WORKGROUPS: u32 = 65_535;
/// Elements of one scan block (`shaders/scan.wgsl`).
const SCAN_BLOCK: u32 = 1024;
/// Words per shape that store its pairs between counting and emitting (`shaders/pair.wgsl`).
const PARTNER_WORDS: usize = 10;
/// Initial capacity for events of one step.
const INITIAL_EVENTS: u32 = 1024;

/// A world on the GPU: a batch of one.
///
/// The same scene on the same adapter, driver and build gives bitwise identical results, at any buffer capacity.
#[derive(Debug)]
pub struct GpuWorld {
    batch: GpuWorlds,
    stage_ms: Vec<(Stage, f64)>,
    profiled: u64,
    /// Stage times that have arrived and were not taken yet.
    times: parts::MeasuredSteps,
    /// Progress of a step that is submitted in parts.
    part: Option<parts::StepPart>,
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
        Ok(Self {
            batch: GpuWorlds::alone(context, kernels, host, contact_capacity)?,
            stage_ms: Stage::ALL.map(|stage| (stage, 0.0)).into(),
            profiled: 0,
            times: parts::MeasuredSteps::default(),
            part: None,
        })
    }

    world_verbs!();

    pub(crate) fn host(&self) -> &Host {
        self.batch.host(0)
    }

    pub(crate) fn host_mut(&mut self) -> &mut Host {
        self.batch.host_mut(0)
    }

    /// Returns `None`: poses are on the device.
    #[allow(clippy::unused_self, reason = "as of the other worlds")]
    pub(crate) fn stays_by(&self, _slot: usize, _command: Command) -> Option<Pose> {
        None
    }

    /// Calls a function on the world in its slot.
    pub(crate) fn with_engine<T>(&mut self, what: impl FnOnce(&mut dyn WorldEngine) -> T) -> T {
        what(&mut self.batch.one(0))
    }

    fn engine(&self) -> &Engine {
        &self.batch.slots.engine
    }

    /// Uploads the constants if they have changed.
    fn rebind(&mut self) {
        let (slots, slot_refs) = self.batch.slots_and(&[0]);
        for slot_ref in &slot_refs {
            slots.rebind(slot_ref);
        }
    }

    /// Disables skipping of steps while all bodies sleep. For tests.
    #[doc(hidden)]
    #[must_use]
    pub fn without_rest(mut self) -> Self {
        self.batch.world_hosts[0].never_rests = true;
        self
    }

    /// Forces the fused kernel with 8, 64 or 256 lanes; any other number forces one dispatch per stage, independently
    /// of the size of the world. For tests.
    #[doc(hidden)]
    #[must_use]
    pub fn with_lanes(mut self, lanes: u32) -> Self {
        self.batch.slots.engine.forced_lanes = Some(lanes);
        self
    }

    /// Sets the token by which another thread may cancel a step: before it is recorded, or while the world waits for
    /// the device. Work that was already submitted still runs to its end on the device after the call has returned: in
    /// strict mode two pieces at most.
    pub fn set_cancel_token(&mut self, token: CancelToken) {
        self.host_mut().limits.set_token(token);
    }

    /// Skips the step if it is known to change nothing. Then the step count advances and nothing is recorded.
    fn is_idle(&mut self) -> bool {
        let is_idle = self.batch.world_hosts[0].is_idle();
        if is_idle {
            self.batch.slots.engine.dispatches = 0;
            self.host_mut().steps = self.host().steps.saturating_add(1);
        }
        is_idle
    }

    /// Returns the events of the steps that have arrived since the last call, oldest first; none unless the scene asks
    /// for events.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn take_events(&mut self) -> Result<Vec<event::Event>, WorldError> {
        self.poll()?;
        Ok(std::mem::take(&mut self.host_mut().events))
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
    /// submitted in pieces; after cancellation the remaining pieces are not submitted, and [`Self::steps`] does not
    /// count the step.
    pub fn step(&mut self) -> Result<(), WorldError> {
        if self.batch.slots.measures {
            // Times that have arrived make room for more.
            self.poll()?;
        }
        let stepped = self.batch.step(&[0]);
        self.take_stage_times();
        stepped
    }

    fn submit(&mut self, encoder: wgpu::CommandEncoder) -> Result<(), WorldError> {
        self.engine().context.queue().submit([encoder.finish()]);
        self.poll()
    }

    /// Processes the counters, events and times that have arrived, without waiting.
    fn poll(&mut self) -> Result<(), WorldError> {
        self.batch.poll()?;
        self.take_stage_times();
        Ok(())
    }

    fn take_stage_times(&mut self) {
        let period = self.engine().context.queue().get_timestamp_period();
        for times in self.batch.slots.profiler.take(period) {
            for (op, ms) in &times.ops {
                self.stage_ms[op.stage as usize].1 += ms;
            }
            self.profiled += 1;
            self.times.arrived(times);
        }
    }

    /// Records one step into the caller's encoder, including the bodies that the scene's emitters create before it and
    /// the scene's timed commands; those that wait for a condition go on waiting, as the state is not known here.
    /// Nothing is submitted: submit the encoders yourself, in order.
    ///
    /// # Errors
    /// If the device is lost, a buffer outgrows it, or the world was cancelled; then nothing was recorded.
    pub fn record(&mut self, encoder: &mut wgpu::CommandEncoder) -> Result<(), WorldError> {
        self.host().limits.check()?;
        self.poll()?;
        if self.is_idle() {
            return Ok(());
        }
        self.emit(Some(encoder))?;
        let (slots, mut slot_refs) = self.batch.slots_and(&[0]);
        slots.record(encoder, &mut slot_refs)
    }

    /// Applies the scene's emitters that are due before the next step: adds new bodies and removes expired ones, at the
    /// end of the caller's encoder if given.
    ///
    /// # Errors
    /// If the result does not fit the device; then nothing is changed.
    pub fn emit(&mut self, recorded: Option<&mut wgpu::CommandEncoder>) -> Result<(), WorldError> {
        self.batch.one(0).emit_due(recorded)
    }

    /// Swaps the current and previous contact buffers.
    pub fn begin_step(&mut self) {
        self.batch.world_hosts[0].parity ^= 1;
        self.batch.slots.engine.parity ^= 1;
    }

    /// Advances the world by one step and adds the device time of every stage to [`Self::stage_ms`]. Waits for the
    /// device. The sweeps of a small world run one dispatch per stage here instead of in the fused kernel. Equivalent
    /// to [`Self::step`] if the device has no timestamps.
    ///
    /// # Errors
    /// Those of [`Self::step`].
    pub fn step_profiled(&mut self) -> Result<(), WorldError> {
        if !self.engine().context.has_timestamps() {
            return self.step();
        }
        if !self.batch.slots.profiler.has_room() {
            self.wait()?;
        }
        self.step_measured()?;
        self.wait()
    }

    /// Advances the world by one step and adds its stage times to [`Self::stage_ms`] once they have arrived. Does not
    /// wait for them; measures nothing while several measured steps are in flight.
    ///
    /// # Errors
    /// Those of [`Self::step`].
    pub fn step_measured(&mut self) -> Result<(), WorldError> {
        self.batch.slots.measures = true;
        let stepped = self.step();
        self.batch.slots.measures = false;
        stepped
    }

    /// Waits for the device, unless the step is cancelled, and processes what has arrived.
    fn wait(&mut self) -> Result<(), WorldError> {
        let (slots, slot_refs) = self.batch.slots_and(&[0]);
        slots.wait(&slot_refs, &slots.engine.context.submitted_work())?;
        self.poll()
    }

    /// Returns the total milliseconds of each stage over all measured steps, and the number of those steps.
    #[must_use]
    pub fn stage_ms(&self) -> (&[(Stage, f64)], u64) {
        (&self.stage_ms, self.profiled)
    }

    /// Puts every contact into the overflow color, which is solved serially. For tests.
    #[must_use]
    pub fn with_forced_overflow(mut self) -> Self {
        self.host_mut().compiled.params.switches |= FORCE_OVERFLOW;
        self.rebind();
        self
    }

    /// Removes a stage from every step. For tests.
    #[doc(hidden)]
    #[must_use]
    pub fn without(mut self, stage: Stage) -> Self {
        let slots = &mut self.batch.slots;
        slots.plan.retain(|op| op.stage != stage);
        slots.engine.follow(&slots.plan);
        self
    }

    /// Returns the stages of a step, in order.
    #[must_use]
    pub fn plan(&self) -> &[PlannedStage] {
        &self.batch.slots.plan
    }

    /// Returns the device and queue of the world.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.engine().context
    }

    /// Returns the number of dispatches of the last step.
    #[must_use]
    pub fn dispatches(&self) -> u32 {
        self.engine().dispatches
    }

    /// Returns the number of contacts that fit the buffers.
    #[must_use]
    pub fn contact_capacity(&self) -> u32 {
        self.engine().contact_capacity
    }

    /// Returns the size of all buffers on the device, in bytes.
    #[must_use]
    pub fn device_bytes(&self) -> u64 {
        self.engine().device_bytes()
    }

    /// Returns the buffer `array<Pose>`, one per body, of its centre of mass, for drawing.
    #[must_use]
    pub fn poses(&self) -> &wgpu::Buffer {
        &self.engine().buffers["poses"]
    }

    /// Returns the buffer `array<Shape>`, for drawing.
    #[must_use]
    pub fn shapes(&self) -> &wgpu::Buffer {
        &self.engine().buffers["shapes"]
    }

    /// Returns the buffer `array<vec2<f32>>` of the vertices of all polygons, for drawing.
    #[must_use]
    pub fn vertices(&self) -> &wgpu::Buffer {
        &self.engine().buffers["vertices"]
    }

    /// Returns the buffer of a table, by its name in the map of a step ([`low_level`](crate::low_level)), as the steps
    /// recorded so far leave it; `None` if no table has that name. Valid until the next step: a world swaps its buffers
    /// as it steps and replaces them as it grows.
    #[must_use]
    pub fn table(&self, name: &str) -> Option<&wgpu::Buffer> {
        self.engine().buffers.get(at_parity(name, self.engine().parity))
    }

    /// Returns the state between two steps. Waits for the device.
    ///
    /// # Errors
    /// If the device is lost, or a step was cancelled.
    pub fn snapshot(&mut self) -> Result<Snapshot, WorldError> {
        self.with_engine(|engine| engine.snapshot())
    }

    /// Returns the poses of all bodies. Waits for the device.
    pub(crate) fn read_poses(&mut self) -> Result<Vec<Pose>, WorldError> {
        let bytes = self.host().compiled.poses.len() as u64 * size_of::<Pose>() as u64;
        let parts = readback::download(&self.engine().context, &[(&self.engine().buffers["poses"], 0, bytes)])?;
        self.poll()?;
        Ok(cast(&parts[0]))
    }

    /// Returns the forces and torques of all joints, by joint index. Waits for the device.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn joint_reactions(&mut self) -> Result<Vec<JointReaction>, WorldError> {
        let snapshot = self.snapshot()?;
        Ok(joint_reactions(&self.host().compiled, &snapshot))
    }

    /// Runs one stage without the rest of the plan, to compare backends stage by stage.
    ///
    /// # Errors
    /// If the device is lost or has no kernel for the stage.
    pub fn run_stage(&mut self, op: PlannedStage) -> Result<(), WorldError> {
        let mut encoder = self.engine().encoder();
        {
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
            let (slots, mut slot_refs) = self.batch.slots_and(&[0]);
            slots.run(&mut pass, &mut slot_refs, op)?;
        }
        self.submit(encoder)
    }

    /// Ends a step of stages that were run one by one.
    pub fn end_step(&mut self) {
        self.host_mut().end_step();
    }

    /// Returns the contents of all tables. Waits for the device.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn tables(&self) -> Result<Tables, WorldError> {
        self.engine().tables(&self.host().compiled, 0, self.engine().parity)
    }
}

/// Returns an initial contact capacity: 1.5 times the pairs of the scene's first step, at least four contacts per shape
/// (a pile) and at least `least`, rounded up to a multiple of `lot`.
fn estimate_contacts(compiled: &Compiled, least: u64, lot: u64) -> u32 {
    // Pairs beyond the default limit of a world are not counted; the tables grow once their number is known.
    let start = u64::from(CpuWorld::first_pairs(compiled)) * 3 / 2;
    let pile = 4 * (u64::from(compiled.params.shape_count) + compiled.script.most.shapes as u64);
    u32::try_from(start.max(pile).max(least).next_multiple_of(lot)).unwrap_or(u32::MAX)
}

impl From<KernelError> for WorldError {
    fn from(error: KernelError) -> Self {
        Self::Kernel(error.to_string())
    }
}
