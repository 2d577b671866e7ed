//! Many worlds on the GPU, stepped by the same dispatches: one layer of workgroups for each ([`super::many`]).

mod query;

use super::ask;
use super::engine::Engine;
use super::memory::{Features, Group};
use super::population::Room;
use super::readback::{Arrived, StepRing, cast, download};
use super::record::{Extent, Load, joint_runs};
use super::strict::BACKUPS;
use super::{Context, FIRST_EVENTS, RING, estimate_contacts, state};
use crate::command::{Command, CommandError, JointCommand, by_body, rouse, wake_all};
use crate::event;
use crate::population::{JointId, ends};
use crate::scene::Compiled;
use crate::snapshot::Snapshot;
use crate::state::hash_of;
use crate::step::{Op, Stage, plan};
use crate::types::{self, BodyState, Counters, Event, JointState, OVERFLOW_CONTACTS, Pose};
use crate::world::WorldError;
use crate::worlds::BodyRows;

/// Layers that a dispatch may have.
const MOST_WORLDS: usize = 65_535;
/// Contacts that a world has room for at least, and by which that room grows: worlds of a few bodies shall cost little.
const LEAST_CONTACTS: u64 = 64;
/// Events of a step for which a world has room at first, all worlds together.
const FIRST_EVENTS_OF_ALL: u32 = 1 << 20;

/// What the newest step that has arrived had to do, of each world the most.
#[derive(Clone, Copy, Debug)]
struct Known {
    step: u64,
    load: Load,
    /// Contacts that a world wants room for.
    contacts: u64,
}

/// Many worlds on the GPU.
#[derive(Debug)]
pub(crate) struct GpuWorlds {
    engine: Engine,
    members: Vec<Compiled>,
    extent: Extent,
    plan: Vec<Op>,
    /// Steps recorded, of all.
    recorded: u64,
    /// By how many steps each world is ahead of that; a world that was restored may be behind.
    ahead: Vec<i128>,
    commands: Vec<Vec<types::Command>>,
    ring: StepRing,
    events: Vec<Vec<event::Event>>,
    /// Events that a world is known to have lacked room for.
    event_need: u32,
    known: Option<Known>,
    /// By world, steps known to have overflowed.
    overflowed: Vec<Vec<u64>>,
    /// Whether the last step that arrived did.
    last_overflowed: bool,
    query_load: ask::Load,
}

impl GpuWorlds {
    /// Worlds that differ in anything but their settings and what comes and goes.
    ///
    /// # Errors
    /// If there are none or too many, their settings differ, they have emitters, or they do not fit the device.
    pub fn new(context: &Context, members: Vec<Compiled>) -> Result<Self, WorldError> {
        let refuse = |why: String| Err(WorldError::Many(why));
        let Some(first) = members.first() else { return refuse("there are none".to_owned()) };
        if members.len() > MOST_WORLDS {
            return refuse(format!("{} are too many, a dispatch has at most {MOST_WORLDS} layers", members.len()));
        }
        let features = members.iter().map(Features::of).reduce(Features::and);
        for (index, member) in members.iter().enumerate() {
            if member.settings != first.settings {
                return refuse(format!("the settings of world {index} differ from those of world 0"));
            }
            if !member.script.is_empty() {
                return refuse(format!("world {index} has emitters, which only the CPU runs in many worlds"));
            }
        }
        context.check()?;
        let room = members.iter().map(Room::of).reduce(Room::and).unwrap_or_default();
        let worlds = u32::try_from(members.len()).unwrap_or(u32::MAX);
        let kernels = context.kernels(true)?;
        let mut engine = Engine::new(context, kernels, worlds, features.unwrap_or_default(), room);
        engine.contact_capacity = most_pairs(&members);
        let events = (FIRST_EVENTS_OF_ALL / worlds).clamp(16, FIRST_EVENTS);
        engine.event_capacity = if engine.features.events { events } else { 0 };
        engine.joint_runs = joint_runs(members.iter().map(|member| &member.joints));
        let bounces = members.iter().any(|member| member.bounces);
        let joints = members.iter().any(|member| member.joints.count() > 0);
        let mut this = Self {
            plan: plan(&first.settings, bounces, joints),
            // Until the tables are there.
            extent: Extent::of(first),
            recorded: 0,
            ahead: vec![0; members.len()],
            commands: vec![Vec::new(); members.len()],
            ring: StepRing::new(context.device(), RING),
            events: vec![Vec::new(); members.len()],
            event_need: 0,
            known: None,
            overflowed: vec![Vec::new(); members.len()],
            last_overflowed: false,
            query_load: ask::Load::default(),
            engine,
            members,
        };
        this.engine.create_tables(|_| true)?;
        this.engine.fill(&this.members.iter().collect::<Vec<_>>());
        this.bind();
        this.engine.follow(&this.plan);
        this.engine.compile(&this.plan, &this.extent)?;
        this.engine.context.check()?;
        Ok(this)
    }

    /// Tells the worlds where their tables are, and the kernels.
    fn bind(&mut self) {
        for member in &mut self.members {
            self.engine.place(&mut member.params);
        }
        self.refresh();
        let params: Vec<_> = self.members.iter().map(|member| member.params).collect();
        self.engine.bind(&params, &self.extent.params);
    }

    fn refresh(&mut self) {
        let extents = self.members.iter().map(Extent::of);
        if let Some(extent) = extents.reduce(|all, one| all.and(&one)) {
            self.extent = extent;
        }
    }

    pub fn compiled(&self, world: usize) -> Option<&Compiled> {
        self.members.get(world)
    }

    pub fn len(&self) -> usize {
        self.members.len()
    }

    pub fn context(&self) -> &Context {
        &self.engine.context
    }

    pub fn dispatches(&self) -> u32 {
        self.engine.dispatches
    }

    pub fn device_bytes(&self) -> u64 {
        self.engine.device_bytes()
    }

    /// Steps that a world has done; of one that there is.
    pub fn steps(&self, world: usize) -> u64 {
        u64::try_from(i128::from(self.recorded) + self.ahead[world]).unwrap_or(0)
    }

    pub fn command(&mut self, world: usize, body: usize, command: Command) -> Result<(), CommandError> {
        let member = &mut self.members[world];
        let flat = command.push(member, body, &mut self.commands[world])?;
        // The device's bodies learn it with the step; this copy is for snapshots.
        flat.mirror(&mut member.bodies[body]);
        Ok(())
    }

    pub fn command_joint(&mut self, world: usize, joint: JointId, command: JointCommand) -> Result<(), CommandError> {
        let member = &mut self.members[world];
        let records = command.flatten(member, joint)?;
        member.joints.may_part |= matches!(command, JointCommand::Enable(_));
        self.commands[world].extend(records);
        let ends = member.joints.place(joint.index).map(|place| ends(&member.joints.joints[place]));
        rouse(member, ends.into_iter().flatten(), &mut self.commands[world]);
        self.refresh();
        Ok(())
    }

    pub fn wake_all(&mut self, world: usize) {
        wake_all(&self.members[world], &mut self.commands[world]);
    }

    pub fn take_events(&mut self, world: usize) -> Result<Vec<event::Event>, WorldError> {
        self.poll()?;
        Ok(std::mem::take(&mut self.events[world]))
    }

    pub fn overflowed_steps(&self, world: usize) -> &[u64] {
        &self.overflowed[world]
    }

    /// Advances all worlds by one step, without waiting for it unless several are on their way.
    ///
    /// # Errors
    /// If the device is lost or refused something, or a buffer outgrows it. In strict mode an overflow in any world is
    /// repaired here; if it cannot be, the worlds are as they were before the step.
    pub fn step(&mut self) -> Result<(), WorldError> {
        if self.engine.features.strict {
            return self.step_strictly();
        }
        self.poll()?;
        if !self.ring.has_room() {
            self.engine.context.wait()?;
            self.poll()?;
        }
        let mut encoder = self.engine.encoder();
        self.record(&mut encoder)?;
        self.engine.context.queue().submit([encoder.finish()]);
        self.poll()
    }

    fn step_strictly(&mut self) -> Result<(), WorldError> {
        self.engine.context.wait()?;
        self.poll()?;
        let commands = self.commands.clone();
        loop {
            let mut encoder = self.engine.encoder();
            self.back_up(&mut encoder, |(from, to)| (from, to));
            self.record(&mut encoder)?;
            self.engine.context.queue().submit([encoder.finish()]);
            self.engine.context.wait()?;
            self.poll()?;
            if !std::mem::take(&mut self.last_overflowed) {
                return Ok(());
            }
            // Back to the start, in all worlds: those that had room come to the same bits again.
            let step = self.recorded - 1;
            self.recorded = step;
            self.engine.parity ^= 1;
            for world in 0..self.len() {
                let step = self.steps(world);
                self.overflowed[world].retain(|&overflowed| overflowed != step);
                self.events[world].retain(|event| event.step != step);
            }
            self.commands.clone_from(&commands);
            let mut encoder = self.engine.encoder();
            self.back_up(&mut encoder, |(from, to)| (to, from));
            // Before growing, which may fail: then the worlds are as they were before the step.
            self.engine.context.queue().submit([encoder.finish()]);
            let mut encoder = self.engine.encoder();
            self.grow(&mut encoder)?;
            self.engine.context.queue().submit([encoder.finish()]);
        }
    }

    fn back_up(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        direction: impl Fn((&'static str, &'static str)) -> (&'static str, &'static str),
    ) {
        for pair in BACKUPS.into_iter().chain([("sleeping", "sleeping_backup")]) {
            let (from, to) = direction(pair);
            let (from, to) = (&self.engine.buffers[from], &self.engine.buffers[to]);
            encoder.copy_buffer_to_buffer(from, 0, to, 0, from.size().min(to.size()));
        }
    }

    fn record(&mut self, encoder: &mut wgpu::CommandEncoder) -> Result<(), WorldError> {
        self.grow(encoder)?;
        self.engine.parity ^= 1;
        self.engine.dispatches = 0;
        let load = self.known.map(|known| known.load);
        {
            let mut pass = encoder
                .begin_compute_pass(&wgpu::ComputePassDescriptor { label: Some("step"), timestamp_writes: None });
            for index in 0..self.plan.len() {
                let op = self.plan[index];
                if op.stage == Stage::Command {
                    let commands = self.take_commands();
                    self.engine.send_commands(&mut pass, &commands)?;
                } else {
                    self.engine.run_line(&mut pass, (index, op), &self.extent, load.as_ref())?;
                }
            }
        }
        let (engine, worlds) = (&self.engine, self.members.len() as u64);
        let all = |name: &str| (&engine.buffers[name], 0, engine.part_bytes(name) * worlds);
        let mut parts = vec![all("counters")];
        if self.engine.features.events {
            parts.extend([all("event_starts"), all("events")]);
        }
        self.ring.record(self.engine.context.device(), encoder, &parts, self.recorded);
        self.recorded += 1;
        Ok(())
    }

    /// What was asked of all worlds since the last step.
    fn take_commands(&mut self) -> Vec<types::Command> {
        let mut all = Vec::new();
        for world in 0..self.len() {
            let steps = self.steps(world);
            let commands = &mut self.commands[world];
            self.members[world].lead_on(commands, steps);
            by_body(commands);
            #[allow(clippy::cast_possible_truncation, reason = "worlds are counted in u32")]
            all.extend(commands.drain(..).map(|command| types::Command { world: world as u32, ..command }));
        }
        all
    }

    /// Learns what arrived, without waiting.
    fn poll(&mut self) -> Result<(), WorldError> {
        self.engine.context.poll(wgpu::PollType::Poll)?;
        for arrived in self.ring.take() {
            self.learn(&arrived);
        }
        if self.ring.take_refused() {
            // A device that was just lost refuses steps in silence, and says so only once it has nothing left to do.
            self.engine.context.wait()?;
        }
        Ok(())
    }

    fn learn(&mut self, arrived: &Arrived) {
        let worlds = self.len();
        let (counters, rest) = arrived.bytes.split_at(worlds * size_of::<Counters>());
        let counters: Vec<Counters> = cast(counters);
        // Behind them the lists of where events are, and the events, each of as many for every world as there was room for.
        let starts = rest.len().min(worlds * self.reporters() * 4);
        let (starts, events) = rest.split_at(starts);
        let (starts, events): (Vec<u32>, Vec<Event>) = (cast(starts), cast(events));
        let event_room = events.len() / worlds;
        let mut known = Known { step: arrived.step, load: Load::default(), contacts: 0 };
        self.last_overflowed = false;
        for (world, counters) in counters.iter().enumerate() {
            known.load = known.load.and(&Load::of(counters));
            known.contacts =
                known.contacts.max(u64::from(counters.pairs_found) + u64::from(counters.sleeping_contacts));
            let step = u64::try_from(i128::from(arrived.step) + self.ahead[world]).unwrap_or(0);
            let member = &self.members[world];
            let last = (member.params.shape_count + member.params.joint_count) as usize;
            let count = starts.get(world * self.reporters() + last).copied().unwrap_or(0);
            let lost_events = count as usize > event_room;
            if lost_events {
                self.event_need = self.event_need.max(count);
            }
            if counters.overflow_bits & OVERFLOW_CONTACTS != 0 || lost_events {
                self.overflowed[world].push(step);
                self.last_overflowed = true;
            }
            let told = &events[world * event_room..][..event_room.min(count as usize)];
            self.events[world].extend(told.iter().map(|event| event::Event::new(member, step, event)));
        }
        if self.known.is_none_or(|before| before.step <= known.step) {
            self.known = Some(known);
        }
    }

    fn reporters(&self) -> usize {
        self.engine.stride("event_starts")
    }

    /// Makes room when a world is known to use three quarters of its own.
    fn grow(&mut self, encoder: &mut wgpu::CommandEncoder) -> Result<(), WorldError> {
        let strict = self.engine.features.strict;
        if self.event_need > self.engine.event_capacity {
            let (most, event) = (self.engine.most_events(), size_of::<Event>() as u64 * self.len() as u64);
            if self.event_need > most && strict {
                let bytes = u64::from(self.event_need) * event;
                return Err(WorldError::TooLarge { buffer: "events", bytes, limit: u64::from(most) * event });
            }
            let capacity = self.event_need.saturating_add(self.event_need / 2).min(most);
            if capacity > self.engine.event_capacity {
                let before = self.engine.before();
                self.engine.event_capacity = capacity;
                if let Err(error) = self.engine.create_tables(|group| group == Group::Events) {
                    self.engine.undo(&before);
                    return Err(error);
                }
                self.bind();
            }
        }
        let needed = self.known.map_or(0, |known| known.contacts);
        if needed * 4 < u64::from(self.engine.contact_capacity) * 3 {
            return Ok(());
        }
        let (wanted, most) = ((needed * 3 / 2).next_multiple_of(LEAST_CONTACTS), self.engine.most_contacts());
        let wanted = if needed > most && strict { needed } else { wanted.min(most) };
        if self.engine.grow_contacts(encoder, wanted)? {
            self.bind();
        }
        Ok(())
    }

    /// The state of a world between two steps. Waits for the device.
    pub fn snapshot(&mut self, world: usize) -> Result<Snapshot, WorldError> {
        let member = &self.members[world];
        let tables = self.engine.tables(member, world)?;
        let snapshot = state::snapshot(member, None, self.steps(world), &self.commands[world], tables);
        self.poll()?;
        Ok(snapshot)
    }

    /// Lets worlds go on from snapshots, to the same bits. Waits for the device; the other worlds notice nothing.
    pub fn restore(&mut self, which: &[(usize, &Snapshot)]) -> Result<(), WorldError> {
        for &(world, snapshot) in which {
            snapshot.check(&self.members[world], None)?;
        }
        self.engine.context.wait()?;
        self.poll()?;
        let mut encoder = self.engine.encoder();
        let wanted = which.iter().map(|(_, snapshot)| snapshot.contacts.len() + snapshot.sleeping.len()).max();
        if self.engine.grow_contacts(&mut encoder, wanted.unwrap_or(0) as u64)? {
            self.bind();
        }
        for &(world, snapshot) in which {
            self.put(world, snapshot, &mut encoder);
        }
        self.refresh();
        self.engine.context.queue().submit([encoder.finish()]);
        self.poll()
    }

    /// Records what takes a world to where a snapshot was taken, of which there is room for all.
    fn put(&mut self, world: usize, snapshot: &Snapshot, encoder: &mut wgpu::CommandEncoder) {
        self.ahead[world] = i128::from(snapshot.step) - i128::from(self.recorded);
        self.overflowed[world].retain(|&step| step < snapshot.step);
        let member = &mut self.members[world];
        for (body, force) in member.bodies.iter_mut().zip(&snapshot.forces) {
            force.put(body);
        }
        snapshot.put_goals(&mut member.joints);
        self.commands[world].clone_from(&snapshot.commands);
        // The next step shall have room for what the last one had.
        let pairs = u64::from(snapshot.counters.pairs_found) + u64::from(snapshot.counters.sleeping_contacts);
        if let Some(known) = &mut self.known {
            known.contacts = known.contacts.max(pairs);
        }
        let writes = self.engine.restored(&self.members[world], snapshot);
        self.engine.tell(&writes, world, Some(encoder));
    }

    /// Poses and velocities of all worlds, in one download. Waits for the device.
    pub fn bodies(&mut self) -> Result<BodyRows, WorldError> {
        let all = |name: &str| (&self.engine.buffers[name], 0, self.engine.part_bytes(name) * self.len() as u64);
        let parts = download(&self.engine.context, &[all("poses"), all("states")])?;
        let stride = self.engine.stride("poses");
        let (poses, states): (Vec<Pose>, Vec<BodyState>) = (cast(&parts[0]), cast(&parts[1]));
        self.poll()?;
        let counts = self.members.iter().map(|member| member.bodies.len()).collect();
        Ok(BodyRows { poses, states, stride, counts })
    }

    /// The hash of every world's state, in one download. Waits for the device.
    pub fn hashes(&mut self) -> Result<Vec<u64>, WorldError> {
        let rows = self.bodies()?;
        let all = |name: &str| (&self.engine.buffers[name], 0, self.engine.part_bytes(name) * self.len() as u64);
        let parts = download(&self.engine.context, &[all("joint_states"), all("joint_impulses")])?;
        let (states, impulses): (Vec<JointState>, Vec<[f32; 2]>) = (cast(&parts[0]), cast(&parts[1]));
        let strides = ["joint_states", "joint_impulses"].map(|name| self.engine.stride(name));
        let hash = |(world, member): (usize, &Compiled)| {
            hash_of(
                rows.poses(world),
                rows.states(world),
                &states[world * strides[0]..][..member.joints.joints.len()],
                &impulses[world * strides[1]..][..member.joints.rows.len()],
            )
        };
        Ok(self.members.iter().enumerate().map(hash).collect())
    }
}

/// Room for the pairs that the busiest of the worlds starts with. Equal worlds are looked at once.
fn most_pairs(members: &[Compiled]) -> u32 {
    let mut seen = std::collections::HashMap::new();
    for member in members {
        seen.entry(member.fingerprint()).or_insert(member);
    }
    let needs = seen.values().map(|&member| estimate_contacts(member, LEAST_CONTACTS, LEAST_CONTACTS));
    needs.max().unwrap_or(1).max(1)
}
