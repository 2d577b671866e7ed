//! Slots for worlds in shared device tables: the tables, the steps over them, and the results that wait while a world's
//! host-side state ([`WorldHost`]) is elsewhere. One world alone has the only slot, and kernels without the offset of a
//! world in their indices.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytemuck::Zeroable;

use super::in_flight::{BatchStep, InFlight, SentPoses};
use super::world_host::{Readback, WorldHost};
use super::{MAX_WORLDS, MIN_CONTACTS};
use crate::gpu::capacity::Capacity;
use crate::gpu::clock::Clock;
use crate::gpu::engine::Engine;
use crate::gpu::kernel::Kernels;
use crate::gpu::memory::Features;
use crate::gpu::profile::Profiler;
use crate::gpu::record::{DispatchBounds, joint_runs};
use crate::gpu::{Context, INITIAL_EVENTS, ask, estimate_contacts};
use crate::host::Recorder;
use crate::scene::{Compiled, ContactRule, Settings};
use crate::snapshot::Snapshot;
use crate::step::{PlannedStage, plan};
use crate::types::Params;
use crate::world_error::WorldError;

/// Number of steps that may be in flight before a step waits.
const STEPS_IN_FLIGHT: usize = 3;
/// Minimum event capacity of a world, if it has events.
const MIN_EVENTS: u32 = 16;
/// Minimum contact capacity of a world alone that is estimated.
pub(in crate::gpu) const MIN_CONTACTS_ALONE: u64 = 256;
/// Unit by which the contact capacity of a world alone grows.
pub(in crate::gpu) const LOT_ALONE: u64 = 1024;

/// A slot for one world.
#[derive(Debug, Default)]
pub(in crate::gpu) struct BatchSlot {
    /// Dispatch bounds of the slot's world; `None` if the slot is free.
    pub bounds: Option<DispatchBounds>,
    /// Results that have arrived and were not processed yet, oldest first.
    pub readbacks: Vec<Readback>,
    /// Transforms in flight to the host.
    pub transforms: SentPoses,
}

/// A world together with its slot.
#[derive(Debug)]
pub(in crate::gpu) struct SlotRef<'a> {
    pub slot: usize,
    pub world_host: &'a mut WorldHost,
}

/// Slots of a batch or pool: shared tables, the plan, and steps in flight.
#[derive(Debug)]
pub(in crate::gpu) struct BatchSlots {
    pub engine: Engine,
    /// All slots.
    pub all: Vec<BatchSlot>,
    /// Dispatch bounds of all worlds together.
    pub bounds: DispatchBounds,
    /// Bounds of the last step, reused while the same worlds step.
    pub batch_step: Option<BatchStep>,
    pub plan: Vec<PlannedStage>,
    /// Steps in flight, oldest first.
    pub in_flight: VecDeque<InFlight>,
    /// Number of steps that may be in flight: more if a user records many into one encoder.
    pub room: usize,
    /// Spare staging buffers for the results of steps.
    pub spares: Vec<wgpu::Buffer>,
    pub query_stats: ask::QueryStats,
    /// Timer of whole steps, if they are timed.
    pub clock: Option<Clock>,
    /// Timer of the lines of steps.
    pub profiler: Profiler,
    /// The next recorded step is to be measured line by line.
    pub measures: bool,
    /// Duration of the last strict step, and the number of shapes in it.
    pub last_duration: Option<(Duration, u32)>,
}

impl BatchSlots {
    /// Creates slots with these worlds at their start, whose settings must run the same stages, with `more` empty slots
    /// and an initial event capacity. The contact capacity is estimated if `None`.
    ///
    /// # Errors
    /// If the list is empty or too long, the settings differ in their stages, or the worlds do not fit the device.
    pub fn new(
        context: &Context,
        kernels: Arc<Kernels>,
        world_hosts: &mut [WorldHost],
        more: usize,
        contacts: Option<u32>,
        events: u32,
    ) -> Result<Self, WorldError> {
        let refuse = |why: String| Err(WorldError::Many(why));
        let all: Vec<&Compiled> = world_hosts.iter().map(|world_host| &world_host.host.compiled).collect();
        let Some(&first) = all.first() else { return refuse("there are none".to_owned()) };
        let count = all.len() + more;
        if count > MAX_WORLDS {
            return refuse(format!("{count} worlds are too many: a dispatch has at most {MAX_WORLDS} layers"));
        }
        let features = all.iter().map(|compiled| Features::of(compiled)).reduce(Features::and);
        let kind = StepKind::of(first);
        if let Some(odd) = all.iter().position(|compiled| !kind.is_of(compiled)) {
            let why = "needs other stages than world 0: its settings or its contact rule differ";
            return refuse(format!("world {odd} {why}"));
        }
        context.check()?;
        let kernels = Kernels::ruled(kernels, first.contact_rule.as_ref())?;
        let many = kernels.are_for_many();
        let capacity = if many { Capacity::of_many } else { Capacity::first };
        let capacity = all.iter().map(|compiled| capacity(compiled)).reduce(Capacity::and).unwrap_or_default();
        let worlds = u32::try_from(count).unwrap_or(u32::MAX);
        let mut engine = Engine::new(context, kernels, worlds, features.unwrap_or_default(), capacity);
        engine.contact_capacity = contacts
            .unwrap_or_else(|| {
                if many { most_pairs(&all) } else { estimate_contacts(first, MIN_CONTACTS_ALONE, LOT_ALONE) }
            })
            .max(1);
        engine.event_capacity = if engine.features.events { events.clamp(MIN_EVENTS, INITIAL_EVENTS) } else { 0 };
        engine.joint_runs = joint_runs(all.iter().map(|compiled| &compiled.joints));
        let bounces = all.iter().any(|compiled| compiled.bounces);
        let joints = all.iter().any(|compiled| compiled.joints.count() > 0);
        engine.create_tables(|_| true)?;
        engine.fill(&all);
        let mut this = Self {
            plan: plan(&first.settings, bounces, joints),
            bounds: DispatchBounds::of(first),
            batch_step: None,
            in_flight: VecDeque::new(),
            room: STEPS_IN_FLIGHT,
            spares: Vec::new(),
            query_stats: ask::QueryStats::default(),
            clock: None,
            profiler: Profiler::default(),
            measures: false,
            last_duration: None,
            all: all
                .iter()
                .map(|compiled| BatchSlot { bounds: Some(DispatchBounds::of(compiled)), ..BatchSlot::default() })
                .collect(),
            engine,
        };
        this.all.resize_with(count, BatchSlot::default);
        for world_host in world_hosts {
            this.engine.place(&mut world_host.host.compiled.params);
        }
        this.bind();
        this.engine.follow(&this.plan);
        this.engine.compile(&this.plan, &this.bounds)?;
        this.engine.context.check()?;
        Ok(this)
    }

    pub fn context(&self) -> &Context {
        &self.engine.context
    }

    pub fn encoder(&self) -> wgpu::CommandEncoder {
        self.engine.encoder()
    }

    pub fn dispatches(&self) -> u32 {
        self.engine.dispatches
    }

    pub fn device_bytes(&self) -> u64 {
        self.engine.device_bytes()
    }

    /// Returns true for worlds that share tables; false for one alone.
    pub fn is_for_many(&self) -> bool {
        self.engine.kernels.are_for_many()
    }

    /// Returns the unit by which the contact capacity grows.
    pub fn contact_lot(&self) -> u64 {
        if self.is_for_many() { MIN_CONTACTS } else { LOT_ALONE }
    }

    /// Updates constants and bind groups of all worlds after tables were replaced.
    pub fn bind(&mut self) {
        for bounds in self.all.iter_mut().filter_map(|slot| slot.bounds.as_mut()) {
            self.engine.place(&mut bounds.params);
        }
        self.refresh();
        let params = |slot: &BatchSlot| slot.bounds.map_or(Params::zeroed(), |bounds| bounds.params);
        let params: Vec<_> = self.all.iter().map(params).collect();
        self.engine.bind(&params, &self.bounds.params);
    }

    /// Updates the constants of one changed world, where no table was replaced.
    pub fn rebind(&mut self, slot_ref: &SlotRef) {
        self.batch_step = None;
        let own = DispatchBounds::of(&slot_ref.world_host.host.compiled);
        let before = self.all[slot_ref.slot].bounds.replace(own);
        // Most changes leave the constants of a world alone as they are. New ones get new buffers, as steps that are
        // recorded but not yet submitted still refer to theirs.
        if !self.is_for_many() && before.is_some_and(|before| before.params == own.params) {
            self.bounds = own;
            return;
        }
        let mut bounds = self.bounds;
        bounds.cover(&own);
        // The lengths of scanned lists are bound, too.
        if !self.is_for_many() || !bounds.is_as_long_as(&self.bounds) {
            return self.bind();
        }
        self.bounds = bounds;
        let at = (slot_ref.slot * size_of::<Params>()) as u64;
        let params = bytemuck::bytes_of(&own.params);
        self.engine.context.queue().write_buffer(&self.engine.buffers["params"], at, params);
    }

    /// Recomputes the common dispatch bounds.
    pub fn refresh(&mut self) {
        self.batch_step = None;
        let all_bounds = self.all.iter().filter_map(|slot| slot.bounds.as_ref());
        if let Some(bounds) = DispatchBounds::of_all(all_bounds) {
            self.bounds = bounds;
        }
    }

    /// Hands a world the results that have arrived for it.
    pub fn deliver_readbacks(&mut self, slot: usize, world_host: &mut WorldHost) {
        world_host.process_readbacks(&mut self.all[slot].readbacks);
    }

    /// Grows the contact tables for snapshots.
    ///
    /// # Errors
    /// If they do not fit the device; then nothing is changed.
    pub fn make_room_for<'a>(&mut self, snapshots: impl Iterator<Item = &'a Snapshot>) -> Result<(), WorldError> {
        let wanted = snapshots.map(|snapshot| snapshot.contacts.len() + snapshot.sleeping.len()).max();
        self.make_room_for_contacts(wanted.unwrap_or(0) as u64, None)?;
        self.poll()
    }

    /// Grows the contact tables, at once or where a recorder is.
    ///
    /// # Errors
    /// If they do not fit the device; then nothing is changed.
    pub fn make_room_for_contacts(&mut self, count: u64, recorder: Option<&mut Recorder>) -> Result<(), WorldError> {
        let mut own = self.engine.encoder();
        if self.engine.grow_contacts(recorder.unwrap_or(&mut own), count)? {
            self.bind();
            self.engine.context.queue().submit([own.finish()]);
        }
        Ok(())
    }
}

/// Settings and contact rule of a world, which decide the stages that it runs, and their tables and kernels.
#[derive(Clone, Debug)]
pub(super) struct StepKind {
    settings: Settings,
    contact_rule: Option<ContactRule>,
}

impl StepKind {
    pub fn of(Compiled { settings, contact_rule, .. }: &Compiled) -> Self {
        Self { settings: *settings, contact_rule: contact_rule.clone() }
    }

    /// Returns true if a world can share dispatches with this one: they run the same stages over the same tables, with
    /// the same contact rule, independently of their scenes. All other settings are constants of each world.
    pub fn is_of(&self, Compiled { settings, contact_rule, .. }: &Compiled) -> bool {
        let tables = |Settings { sleep, strict, events, .. }: Settings| (sleep, strict, events);
        tables(self.settings) == tables(*settings)
            && plan(&self.settings, true, true) == plan(settings, true, true)
            && self.contact_rule == *contact_rule
    }
}

/// Returns a contact capacity for the first step of the busiest world. Equal worlds are estimated once.
fn most_pairs(world_hosts: &[&Compiled]) -> u32 {
    let mut seen = std::collections::HashMap::new();
    for &world_host in world_hosts {
        seen.entry(world_host.fingerprint()).or_insert(world_host);
    }
    let needs = seen.values().map(|&world_host| estimate_contacts(world_host, MIN_CONTACTS, MIN_CONTACTS));
    needs.max().unwrap_or(1)
}
