//! Slots for worlds in shared device tables: the tables, the steps over them, and the results that wait while a world's
//! host-side state ([`WorldHost`]) is elsewhere.

use std::collections::VecDeque;

use bytemuck::Zeroable;

use super::steps::{BatchStep, InFlight};
use super::world_host::{Readback, WorldHost};
use super::{MAX_WORLDS, MIN_CONTACTS};
use crate::gpu::capacity::Capacity;
use crate::gpu::clock::Clock;
use crate::gpu::engine::Engine;
use crate::gpu::memory::Features;
use crate::gpu::readback::StepRing;
use crate::gpu::record::{DispatchBounds, joint_runs};
use crate::gpu::{Context, INITIAL_EVENTS, RING, ask, estimate_contacts};
use crate::scene::{Compiled, Settings};
use crate::snapshot::Snapshot;
use crate::step::{PlannedStage, plan};
use crate::types::Params;
use crate::world::WorldError;

/// Minimum event capacity of a world, if it has events.
const MIN_EVENTS: u32 = 16;

/// A slot for one world.
#[derive(Debug, Default)]
pub(super) struct BatchSlot {
    /// Dispatch bounds of the slot's world; `None` if the slot is free.
    pub bounds: Option<DispatchBounds>,
    /// Results that have arrived and were not processed yet, oldest first.
    pub readbacks: Vec<Readback>,
}

/// A world together with its slot.
#[derive(Debug)]
pub(super) struct SlotRef<'a> {
    pub slot: usize,
    pub world_host: &'a mut WorldHost,
}

/// Slots of a batch or pool: shared tables, the plan, and steps in flight.
#[derive(Debug)]
pub(super) struct BatchSlots {
    pub engine: Engine,
    /// All slots.
    pub all: Vec<BatchSlot>,
    /// Dispatch bounds of all worlds together.
    pub bounds: DispatchBounds,
    /// Bounds of the last step, reused while the same worlds step.
    pub batch_step: Option<BatchStep>,
    pub plan: Vec<PlannedStage>,
    /// Number of steps recorded, each for any subset of the worlds.
    pub recorded: u64,
    pub ring: StepRing,
    /// Steps in flight, oldest first.
    pub in_flight: VecDeque<InFlight>,
    pub query_stats: ask::QueryStats,
    /// Timer of whole steps, if they are timed.
    pub clock: Option<Clock>,
}

impl BatchSlots {
    /// Creates slots with these worlds at their start, whose settings must run the same stages, with `more` empty slots
    /// and an initial event capacity.
    ///
    /// # Errors
    /// If the list is empty or too long, the settings differ in their stages, or the worlds do not fit the device.
    pub fn new(context: &Context, world_hosts: &mut [WorldHost], more: usize, events: u32) -> Result<Self, WorldError> {
        let refuse = |why: String| Err(WorldError::Many(why));
        let all: Vec<&Compiled> = world_hosts.iter().map(|world_host| &world_host.host.compiled).collect();
        let Some(&first) = all.first() else { return refuse("there are none".to_owned()) };
        let count = all.len() + more;
        if count > MAX_WORLDS {
            return refuse(format!("{count} worlds are too many: a dispatch has at most {MAX_WORLDS} layers"));
        }
        let features = all.iter().map(|compiled| Features::of(compiled)).reduce(Features::and);
        for (index, compiled) in all.iter().enumerate() {
            if !step_alike(&compiled.settings, &first.settings) {
                return refuse(format!("the settings of world {index} need other stages than those of world 0"));
            }
        }
        context.check()?;
        let capacity = all.iter().map(|compiled| Capacity::of_many(compiled)).reduce(Capacity::and).unwrap_or_default();
        let worlds = u32::try_from(count).unwrap_or(u32::MAX);
        let kernels = context.kernels(true)?;
        let mut engine = Engine::new(context, kernels, worlds, features.unwrap_or_default(), capacity);
        engine.contact_capacity = most_pairs(&all);
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
            recorded: 0,
            ring: StepRing::new(context.device(), RING),
            in_flight: VecDeque::new(),
            query_stats: ask::QueryStats::default(),
            clock: None,
            all: all
                .iter()
                .map(|compiled| BatchSlot { bounds: Some(DispatchBounds::of(compiled)), ..BatchSlot::default() })
                .collect(),
            engine,
        };
        this.all.resize_with(count, BatchSlot::default);
        this.bind();
        for world_host in world_hosts {
            this.engine.place(&mut world_host.host.compiled.params);
        }
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
        self.all[slot_ref.slot].bounds = Some(own);
        let bounds = self.bounds.and(&own);
        // The lengths of scanned lists are bound, too.
        if !bounds.is_as_long_as(&self.bounds) {
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
        let all_bounds = self.all.iter().filter_map(|slot| slot.bounds);
        if let Some(bounds) = all_bounds.reduce(|all, one| all.and(&one)) {
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
        let mut encoder = self.engine.encoder();
        if self.engine.grow_contacts(&mut encoder, wanted.unwrap_or(0) as u64)? {
            self.bind();
        }
        self.engine.context.queue().submit([encoder.finish()]);
        self.poll()
    }
}

/// Returns true if worlds with these settings can share dispatches: they run the same stages over the same tables,
/// independently of their scenes. All other settings are constants of each world.
pub(super) fn step_alike(one: &Settings, other: &Settings) -> bool {
    let tables = |settings: &Settings| (settings.sleep, settings.strict, settings.events);
    tables(one) == tables(other) && plan(one, true, true) == plan(other, true, true)
}

/// Returns a contact capacity for the first step of the busiest world. Equal worlds are estimated once.
fn most_pairs(world_hosts: &[&Compiled]) -> u32 {
    let mut seen = std::collections::HashMap::new();
    for &world_host in world_hosts {
        seen.entry(world_host.fingerprint()).or_insert(world_host);
    }
    let needs = seen.values().map(|&world_host| estimate_contacts(world_host, MIN_CONTACTS, MIN_CONTACTS));
    needs.max().unwrap_or(1).max(1)
}
