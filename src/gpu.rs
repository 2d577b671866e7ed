//! The GPU backend. The host records a step without knowing a single count; the device decides them all.

mod ask;
mod books;
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
mod room;
pub mod shader;
mod state;
mod strict;
mod transforms;
pub(crate) mod worlds;
mod writes;

pub use worlds::pool;

use std::sync::Arc;
use std::time::Duration;

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
use record::{Extent, Load, joint_runs};
use room::Room;
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
use crate::step::{Op, Stage, plan};
use crate::tables::Tables;
use crate::types::{self, Counters, Event, FORCE_OVERFLOW, OVERFLOW_CONTACTS};
use crate::world::WorldError;

/// Workgroups that fit in one dimension of a dispatch.
const MAX_WORKGROUPS: u32 = 65_535;
/// Elements of a scan block (`shaders/scan.wgsl`).
const SCAN_BLOCK: u32 = 1024;
/// Words a shape in which the pairs are remembered between counting and emitting (`shaders/pair.wgsl`).
const PARTNER_WORDS: usize = 8;
/// Events of a step for which there is room at first.
const FIRST_EVENTS: u32 = 1024;
/// Steps whose counters may be in flight.
const RING: usize = 3;

/// A world on the GPU.
///
/// The same scene on the same adapter, driver and build gives the same result to the last bit, at any capacity.
#[derive(Debug)]
pub struct GpuWorld {
    engine: Engine,
    host: Host,
    plan: Vec<Op>,

    ring: StepRing,
    /// Room that a step is known to have lacked.
    event_need: u32,
    /// The newest counters known, and the step they belong to.
    known: Option<(u64, Counters)>,
    never_rests: bool,
    stage_ms: Vec<(Stage, f64)>,
    profiled: u64,
    profiler: Profiler,
    /// Of steps as a whole, where they are to be timed.
    clock: Option<Clock>,
    /// Time of the last strict step, and the shapes that it had.
    pace: Option<(Duration, u32)>,
    /// Whether the next step that is recorded is measured.
    measures: bool,
    /// What has arrived of measured steps and nobody has taken.
    times: parts::Times,
    /// How far a step is that is given to the device in parts.
    part: Option<parts::Part>,
    /// What the queries of the world have found so far.
    query_load: ask::Load,
    /// Transforms on their way to the host.
    transforms: transforms::Sent,
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
        Self::from_host(context, Host::new(compiled), contact_capacity, context.kernels(false)?)
    }

    /// A world whose shaders are changed, for tests that break a stage on purpose.
    ///
    /// # Errors
    /// If a patch does not match exactly once or the result is no valid shader.
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
        let mut engine = Engine::new(context, kernels, 1, features, Room::first(compiled));
        engine.contact_capacity = contact_capacity.unwrap_or_else(|| estimate_contacts(compiled, 256, 1024)).max(1);
        engine.event_capacity = if features.events { FIRST_EVENTS } else { 0 };
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
            pace: None,
            measures: false,
            times: parts::Times::default(),
            part: None,
            query_load: ask::Load::default(),
            transforms: transforms::Sent::default(),
            host,
        };
        world.engine.create_tables(|_| true)?;
        world.engine.place(&mut world.host.compiled.params);
        world.engine.fill(&[&world.host.compiled]);
        world.bind();
        world.engine.follow(&world.plan);
        world.engine.compile(&world.plan, &Extent::of(&world.host.compiled))?;
        world.engine.context.check()?;
        Ok(world)
    }

    world_verbs!();

    fn bind(&mut self) {
        let params = self.host.compiled.params;
        self.engine.bind(&[params], &params);
    }

    /// The same world that runs every step, also where all sleep and none changes anything. For tests.
    #[doc(hidden)]
    #[must_use]
    pub fn without_rest(mut self) -> Self {
        self.never_rests = true;
        self
    }

    /// The same world that runs its sweeps in one workgroup of 8, 64 or 256 lanes, or else stage by stage, however small
    /// it is. For tests.
    #[doc(hidden)]
    #[must_use]
    pub fn with_lanes(mut self, lanes: u32) -> Self {
        self.engine.forced_lanes = Some(lanes);
        self
    }

    /// Sets the token by which another thread may end a step early: before it is recorded, or while the world waits for the
    /// device. What was submitted runs to its end there, after the call has returned: in strict mode two batches at most.
    pub fn set_cancel_token(&mut self, token: CancelToken) {
        self.host.limits.set_token(token);
    }

    /// Whether a step is known to change nothing: a step that had heard of all that was asked has arrived, and it began
    /// and ended with nobody awake. The count of steps goes on, and nothing is recorded.
    fn rests(&mut self) -> bool {
        let sleeps = !self.never_rests && self.host.is_idle();
        let known = self.known.is_some_and(|(step, counters)| step >= self.host.asked && is_at_rest(&counters));
        if sleeps && known {
            self.engine.dispatches = 0;
            self.host.steps = self.host.steps.saturating_add(1);
        }
        sleeps && known
    }

    /// What happened since this was last asked, oldest first, if the scene wants events: of the steps that have arrived.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn take_events(&mut self) -> Result<Vec<event::Event>, WorldError> {
        self.poll()?;
        Ok(std::mem::take(&mut self.host.events))
    }

    /// Advances the world by one step: records it, submits it and returns without waiting for it, unless several steps
    /// are on their way already.
    ///
    /// # Errors
    /// If the device is lost or refused something, or a buffer outgrows it. In strict mode an overflow is repaired
    /// here; if it cannot be, the world is as it was before the step: with [`WorldError::TooManyContacts`] where it has more
    /// than it may have. Without strict mode the step goes on with those that fit, as ever.
    /// [`WorldError::Cancelled`] if its token was cancelled before the step or while it waited for the device, and of every
    /// step after that until the world continues from a snapshot ([`Self::restore`]). A long step in strict mode is given to
    /// the device in batches, and those that follow are left out then; [`Self::steps`] does not count it.
    pub fn step(&mut self) -> Result<(), WorldError> {
        self.host.limits.check()?;
        if self.host.compiled.settings.strict {
            return self.step_strictly();
        }
        self.wait_for_room()?;
        if self.rests() {
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

    /// Learns what arrived, without waiting.
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
            self.host.hear(step, events);
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
            // A device that was just lost refuses steps in silence, and says so only once it has nothing left to do.
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

    /// Waits for the device, unless the step is given up.
    fn wait(&self) -> Result<(), WorldError> {
        self.wait_for(None)
    }

    /// Waits for the device up to a submission, or for all it was given, unless the step is given up.
    fn wait_for(&self, submission: Option<&wgpu::SubmissionIndex>) -> Result<(), WorldError> {
        let latch = self.host.limits.latch();
        let done = self.engine.context.wait_for_unless(submission, || latch.is_cancelled())?;
        if done { Ok(()) } else { Err(WorldError::Cancelled) }
    }

    /// Records one step into the caller's encoder. Nothing is submitted; submit it yourself, in order. What the scene's
    /// emitters make before this step is recorded as well.
    ///
    /// # Errors
    /// If the device is lost, a buffer outgrows it, or the world was cancelled; then nothing was recorded.
    pub fn record(&mut self, encoder: &mut wgpu::CommandEncoder) -> Result<(), WorldError> {
        self.host.limits.check()?;
        self.poll()?;
        if self.rests() {
            return Ok(());
        }
        self.begin_recording(encoder)?;
        let measured = self.begin_measuring();
        self.record_ops(encoder, 0..self.plan.len(), measured)?;
        self.end_recording(encoder, measured);
        Ok(())
    }

    /// Begins to measure the step that is recorded, if that is wanted.
    fn begin_measuring(&mut self) -> Option<usize> {
        // One that is timed as a whole shall run as a whole.
        let can = self.engine.context.has_timestamps() && self.clock.is_none();
        let wanted = std::mem::take(&mut self.measures) && can;
        if wanted { self.profiler.begin(self.engine.context.device(), &self.plan) } else { None }
    }

    /// Records lines of the plan; if they are measured, each in a pass of its own.
    fn record_ops(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        ops: std::ops::Range<usize>,
        measured: Option<usize>,
    ) -> Result<(), WorldError> {
        // In parts each line runs by itself, whatever becomes known between two of them.
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

    /// Makes room if need be, and starts a step in `encoder`.
    fn begin_recording(&mut self, encoder: &mut wgpu::CommandEncoder) -> Result<(), WorldError> {
        self.grow(encoder)?;
        self.emit(Some(encoder))?;
        self.begin_step();
        self.engine.dispatches = 0;
        Ok(())
    }

    /// Sends the counters of the step in `encoder` on their way.
    fn end_recording(&mut self, encoder: &mut wgpu::CommandEncoder, measured: Option<usize>) {
        if let Some(slot) = measured {
            self.profiler.end(slot, encoder, self.host.steps.saturating_add(1));
        }
        let mut parts = vec![(&self.engine.buffers["counters"], 0, size_of::<Counters>() as u64)];
        if self.host.compiled.settings.events {
            let total = u64::from(self.host.compiled.params.shape_count + self.host.compiled.params.joint_count) * 4;
            parts.push((&self.engine.buffers["event_starts"], total, 4));
            let bytes = u64::from(self.engine.event_capacity) * size_of::<Event>() as u64;
            parts.push((&self.engine.buffers["events"], 0, bytes));
        }
        if let Some(clock) = &self.clock {
            parts.push(clock.resolve(encoder));
        }
        self.engine.context.note_sent(0, parts.iter().map(|(.., bytes)| bytes).sum());
        self.ring.record(self.engine.context.device(), encoder, &parts, self.host.steps);
        self.end_step();
    }

    /// Yesterday's contacts become those to recall from.
    pub fn begin_step(&mut self) {
        self.engine.parity ^= 1;
    }

    /// Runs one line of the plan, `apart` from others that are usually run with it.
    fn run_line(&mut self, pass: &mut wgpu::ComputePass, index: usize, apart: bool) -> Result<(), WorldError> {
        let op = self.plan[index];
        if op.stage == Stage::Command {
            return self.send_commands(pass);
        }
        let known = self.known.map(|(_, counters)| Load::of(&counters));
        let (line, extent) = ((index, op), Extent::of(&self.host.compiled));
        if apart {
            return self.engine.run_apart(pass, line, &extent, known.as_ref());
        }
        self.engine.run_line(pass, line, &extent, known.as_ref())
    }

    /// Runs one stage by itself.
    fn run(&mut self, pass: &mut wgpu::ComputePass, op: Op) -> Result<(), WorldError> {
        if op.stage == Stage::Command {
            return self.send_commands(pass);
        }
        let known = self.known.map(|(_, counters)| Load::of(&counters));
        self.engine.run(pass, op, &Extent::of(&self.host.compiled), known.as_ref())
    }

    /// What was asked since the last step. A new buffer each time: steps recorded but not submitted yet keep theirs.
    fn send_commands(&mut self, pass: &mut wgpu::ComputePass) -> Result<(), WorldError> {
        self.host.compiled.lead_on(&mut self.host.commands, self.host.steps);
        by_body(&mut self.host.commands);
        let commands = std::mem::take(&mut self.host.commands);
        self.engine.send_commands(pass, &commands)
    }

    /// Makes room when the newest counters say that three quarters are in use, keeping the contacts of the last step.
    /// Where the device allows no more, the world goes on with what fits; in strict mode that is an error.
    fn grow(&mut self, encoder: &mut wgpu::CommandEncoder) -> Result<(), WorldError> {
        if self.engine.grow_events(self.event_need)? {
            self.bind();
        }
        let Some((_, counters)) = self.known else { return Ok(()) };
        // What was put by may come back all at once.
        let needed = u64::from(counters.pairs_found) + u64::from(counters.sleeping_contacts);
        if self.engine.grow_for_contacts(encoder, needed, 1024, self.contact_limit())? {
            self.bind_contacts();
        }
        Ok(())
    }

    /// Says where the tables of contacts are, which are new.
    fn bind_contacts(&mut self) {
        self.engine.place(&mut self.host.compiled.params);
        self.bind();
    }

    /// Advances the world by one step and adds the time of every stage on the device to [`Self::stage_ms`], for which the
    /// sweeps of a small world are run stage by stage, too. Waits for the device. Does as [`Self::step`] where the device has no timestamps.
    ///
    /// # Errors
    /// As [`Self::step`].
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

    /// As [`Self::step`]; the times of its stages are added to [`Self::stage_ms`] when they have arrived. Does not wait for
    /// them, and measures nothing while several measured steps are on their way.
    ///
    /// # Errors
    /// As [`Self::step`].
    pub fn step_measured(&mut self) -> Result<(), WorldError> {
        self.measures = true;
        let stepped = self.step();
        self.measures = false;
        stepped
    }

    /// Milliseconds spent in each stage so far by [`Self::step_profiled`], and the number of those steps.
    #[must_use]
    pub fn stage_ms(&self) -> (&[(Stage, f64)], u64) {
        (&self.stage_ms, self.profiled)
    }

    /// Puts every contact into the overflow path, which is solved in order. For tests.
    #[must_use]
    pub fn with_forced_overflow(mut self) -> Self {
        self.host.compiled.params.switches |= FORCE_OVERFLOW;
        self.bind();
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

    /// The device it lives on.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.engine.context
    }

    /// Dispatches of the last step.
    #[must_use]
    pub fn dispatches(&self) -> u32 {
        self.engine.dispatches
    }

    /// Contacts that fit.
    #[must_use]
    pub fn contact_capacity(&self) -> u32 {
        self.engine.contact_capacity
    }

    /// Bytes of all buffers on the device.
    #[must_use]
    pub fn device_bytes(&self) -> u64 {
        self.engine.device_bytes()
    }

    /// `array<Pose>`, one a body, of its centre of mass: draw from it.
    #[must_use]
    pub fn poses(&self) -> &wgpu::Buffer {
        &self.engine.buffers["poses"]
    }

    /// `array<Shape>`: draw from it.
    #[must_use]
    pub fn shapes(&self) -> &wgpu::Buffer {
        &self.engine.buffers["shapes"]
    }

    /// `array<vec2<f32>>`, the vertices of all polygons: draw from it.
    #[must_use]
    pub fn vertices(&self) -> &wgpu::Buffer {
        &self.engine.buffers["vertices"]
    }

    /// The buffer of a table, by its name in the map of a step (the front page of this documentation), as the steps
    /// recorded so far leave it; `None` if there is no table of that name. Valid until the next step: a world exchanges
    /// its buffers as it steps and grows.
    #[must_use]
    pub fn table(&self, name: &str) -> Option<&wgpu::Buffer> {
        self.engine.buffers.get(at_parity(name, self.engine.parity))
    }

    /// The state between two steps. Waits for the device.
    ///
    /// # Errors
    /// If the device is lost, or a step was given up.
    pub fn snapshot(&mut self) -> Result<Snapshot, WorldError> {
        WorldEngine::snapshot(self)
    }

    /// Where the bodies are. Waits for the device.
    pub(crate) fn read_poses(&mut self) -> Result<Vec<types::Pose>, WorldError> {
        let bytes = self.host.compiled.poses.len() as u64 * size_of::<types::Pose>() as u64;
        let parts = readback::download(&self.engine.context, &[(&self.engine.buffers["poses"], 0, bytes)])?;
        self.poll()?;
        Ok(cast(&parts[0]))
    }

    /// What the joints do, in the order of their indices. Waits for the device.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn joint_reactions(&mut self) -> Result<Vec<JointReaction>, WorldError> {
        let snapshot = self.snapshot()?;
        Ok(joint_reactions(&self.host.compiled, &snapshot))
    }

    /// Runs one stage by itself, for comparing stage by stage.
    ///
    /// # Errors
    /// If the device is lost or has no such kernel.
    pub fn run_alone(&mut self, op: Op) -> Result<(), WorldError> {
        let mut encoder = self.engine.encoder();
        {
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
            self.run(&mut pass, op)?;
        }
        self.submit(encoder)
    }

    /// Ends a step of stages run by themselves.
    pub fn end_step(&mut self) {
        self.host.end_step();
    }

    /// Every table as it stands. Waits for the device.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn tables(&self) -> Result<Tables, WorldError> {
        self.engine.tables(&self.host.compiled, 0, self.engine.parity)
    }
}

/// Room for half as many pairs again as the scene starts with, and for a pile of its shapes: so many at least, in whole
/// lots.
fn estimate_contacts(compiled: &Compiled, least: u64, lot: u64) -> u32 {
    let mut probe = CpuWorld::from_compiled(compiled.clone());
    // Pairs beyond the default limit of a world are not counted: then tables grow when their number is known.
    let stages = [Stage::Guard, Stage::Bound, Stage::Bin, Stage::Pair];
    let _ = stages.into_iter().try_for_each(|stage| probe.run(Op { stage, flags: 0 }));
    let start = u64::from(probe.counters().pairs_found) * 3 / 2;
    let pile = 4 * (u64::from(compiled.params.shape_count) + compiled.script.most.shapes as u64);
    u32::try_from(start.max(pile).max(least).next_multiple_of(lot)).unwrap_or(u32::MAX)
}

impl From<KernelError> for WorldError {
    fn from(error: KernelError) -> Self {
        Self::Kernel(error.to_string())
    }
}
