//! Slots for worlds in shared device tables: the tables, the steps over them, and the results that wait while a world's
//! host-side state ([`Member`]) is elsewhere.

use std::collections::VecDeque;

use bytemuck::Zeroable;

use super::member::{Member, News};
use super::steps::{Flight, Turn};
use super::{LEAST_CONTACTS, MOST_WORLDS};
use crate::gpu::clock::Clock;
use crate::gpu::engine::Engine;
use crate::gpu::memory::Features;
use crate::gpu::readback::StepRing;
use crate::gpu::record::{Extent, joint_runs};
use crate::gpu::room::Room;
use crate::gpu::{Context, FIRST_EVENTS, RING, ask, estimate_contacts};
use crate::scene::{Compiled, Settings};
use crate::snapshot::Snapshot;
use crate::step::{Op, plan};
use crate::types::Params;
use crate::world::WorldError;

/// Minimum event capacity of a world, if it has events.
const LEAST_EVENTS: u32 = 16;

/// A slot for one world.
#[derive(Debug, Default)]
pub(super) struct Place {
    /// Dispatch bounds of the slot's world; `None` if the slot is free.
    pub extent: Option<Extent>,
    /// Results that have arrived and were not processed yet, oldest first.
    pub news: Vec<News>,
}

/// A world together with its slot.
#[derive(Debug)]
pub(super) struct Seat<'a> {
    pub place: usize,
    pub member: &'a mut Member,
}

/// Slots of a batch or pool: shared tables, the plan, and steps in flight.
#[derive(Debug)]
pub(super) struct Places {
    pub engine: Engine,
    /// All slots.
    pub all: Vec<Place>,
    /// Dispatch bounds of all worlds together.
    pub extent: Extent,
    /// Bounds of the last step, reused while the same worlds step.
    pub turn: Option<Turn>,
    pub plan: Vec<Op>,
    /// Number of steps recorded, each for any subset of the worlds.
    pub recorded: u64,
    pub ring: StepRing,
    /// Steps in flight, oldest first.
    pub flights: VecDeque<Flight>,
    pub query_load: ask::Load,
    /// Timer of whole steps, if they are timed.
    pub clock: Option<Clock>,
}

impl Places {
    /// Creates slots with these worlds at their start, whose settings must run the same stages, with `more` empty slots
    /// and an initial event capacity.
    ///
    /// # Errors
    /// If the list is empty or too long, the settings differ in their stages, or the worlds do not fit the device.
    pub fn new(context: &Context, members: &mut [Member], more: usize, events: u32) -> Result<Self, WorldError> {
        let refuse = |why: String| Err(WorldError::Many(why));
        let all: Vec<&Compiled> = members.iter().map(|member| &member.host.compiled).collect();
        let Some(&first) = all.first() else { return refuse("there are none".to_owned()) };
        let count = all.len() + more;
        if count > MOST_WORLDS {
            return refuse(format!("{count} worlds are too many: a dispatch has at most {MOST_WORLDS} layers"));
        }
        let features = all.iter().map(|compiled| Features::of(compiled)).reduce(Features::and);
        for (index, compiled) in all.iter().enumerate() {
            if !step_alike(&compiled.settings, &first.settings) {
                return refuse(format!("the settings of world {index} need other stages than those of world 0"));
            }
        }
        context.check()?;
        let room = all.iter().map(|compiled| Room::of_many(compiled)).reduce(Room::and).unwrap_or_default();
        let worlds = u32::try_from(count).unwrap_or(u32::MAX);
        let kernels = context.kernels(true)?;
        let mut engine = Engine::new(context, kernels, worlds, features.unwrap_or_default(), room);
        engine.contact_capacity = most_pairs(&all);
        engine.event_capacity = if engine.features.events { events.clamp(LEAST_EVENTS, FIRST_EVENTS) } else { 0 };
        engine.joint_runs = joint_runs(all.iter().map(|compiled| &compiled.joints));
        let bounces = all.iter().any(|compiled| compiled.bounces);
        let joints = all.iter().any(|compiled| compiled.joints.count() > 0);
        engine.create_tables(|_| true)?;
        engine.fill(&all);
        let mut this = Self {
            plan: plan(&first.settings, bounces, joints),
            extent: Extent::of(first),
            turn: None,
            recorded: 0,
            ring: StepRing::new(context.device(), RING),
            flights: VecDeque::new(),
            query_load: ask::Load::default(),
            clock: None,
            all: all.iter().map(|compiled| Place { extent: Some(Extent::of(compiled)), ..Place::default() }).collect(),
            engine,
        };
        this.all.resize_with(count, Place::default);
        this.bind();
        for member in members {
            this.engine.place(&mut member.host.compiled.params);
        }
        this.engine.follow(&this.plan);
        this.engine.compile(&this.plan, &this.extent)?;
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
        for extent in self.all.iter_mut().filter_map(|place| place.extent.as_mut()) {
            self.engine.place(&mut extent.params);
        }
        self.refresh();
        let params = |place: &Place| place.extent.map_or(Params::zeroed(), |extent| extent.params);
        let params: Vec<_> = self.all.iter().map(params).collect();
        self.engine.bind(&params, &self.extent.params);
    }

    /// Updates the constants of one changed world, where no table was replaced.
    pub fn rebind(&mut self, seat: &Seat) {
        self.turn = None;
        let own = Extent::of(&seat.member.host.compiled);
        self.all[seat.place].extent = Some(own);
        let extent = self.extent.and(&own);
        // The lengths of scanned lists are bound, too.
        if !extent.is_as_long_as(&self.extent) {
            return self.bind();
        }
        self.extent = extent;
        let at = (seat.place * size_of::<Params>()) as u64;
        let params = bytemuck::bytes_of(&own.params);
        self.engine.context.queue().write_buffer(&self.engine.buffers["params"], at, params);
    }

    /// Recomputes the common dispatch bounds.
    pub fn refresh(&mut self) {
        self.turn = None;
        let extents = self.all.iter().filter_map(|place| place.extent);
        if let Some(extent) = extents.reduce(|all, one| all.and(&one)) {
            self.extent = extent;
        }
    }

    /// Hands a world the results that have arrived for it.
    pub fn deliver_readbacks(&mut self, place: usize, member: &mut Member) {
        member.hear(&mut self.all[place].news);
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
fn most_pairs(members: &[&Compiled]) -> u32 {
    let mut seen = std::collections::HashMap::new();
    for &member in members {
        seen.entry(member.fingerprint()).or_insert(member);
    }
    let needs = seen.values().map(|&member| estimate_contacts(member, LEAST_CONTACTS, LEAST_CONTACTS));
    needs.max().unwrap_or(1).max(1)
}
