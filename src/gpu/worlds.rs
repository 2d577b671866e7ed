//! Many worlds on the GPU, stepped by the same dispatches: one layer of workgroups for each ([`super::many`]).

mod population;
mod query;
mod state;
mod steps;

use std::collections::VecDeque;

use super::ask;
use super::engine::Engine;
use super::memory::Features;
use super::readback::StepRing;
use super::record::{Extent, Load, joint_runs};
use super::room::Room;
use super::{Context, FIRST_EVENTS, RING, estimate_contacts};
use crate::command::{Command, CommandError, JointCommand, rouse, wake_all};
use crate::event;
use crate::population::{JointId, Population, ends};
use crate::scene::{Compiled, Settings};
use crate::snapshot::is_at_rest;
use crate::step::{Op, plan};
use crate::types::{self, Counters};
use crate::world::WorldError;
use steps::{Flight, Turn};

/// Layers that a dispatch may have.
const MOST_WORLDS: usize = 65_535;
/// Contacts that a world has room for at least, and by which that room grows: worlds of a few bodies shall cost little.
const LEAST_CONTACTS: u64 = 64;
/// Events of a step for which a world has room at first, all worlds together.
const FIRST_EVENTS_OF_ALL: u32 = 1 << 20;

/// What the newest step of a world that has arrived had to do.
#[derive(Clone, Copy, Debug)]
struct Known {
    step: u64,
    /// It began and ended with nobody awake.
    at_rest: bool,
    load: Load,
    /// Contacts that the world wants room for.
    contacts: u64,
}

impl Known {
    fn new(step: u64, counters: &Counters) -> Self {
        let contacts = u64::from(counters.pairs_found) + u64::from(counters.sleeping_contacts);
        Self { step, at_rest: is_at_rest(counters), load: Load::of(counters), contacts }
    }
}

/// One of the worlds.
#[derive(Debug)]
struct Member {
    compiled: Compiled,
    /// Who came and went, once somebody did.
    population: Option<Population>,
    /// As it began, once somebody came or went, or if its scene makes bodies as it runs.
    origin: Option<Box<Compiled>>,
    /// Shapes that have a place in the lists of contacts.
    listed: usize,
    /// Steps recorded.
    steps: u64,
    /// Parity of the tables that have the contacts of its last step.
    parity: usize,
    commands: Vec<types::Command>,
    /// Those that have arrived and nobody has taken.
    events: Vec<event::Event>,
    /// Steps known to have overflowed.
    overflowed: Vec<u64>,
    known: Option<Known>,
    /// The first step that knows of all that was asked so far.
    asked: u64,
}

impl Member {
    fn new(compiled: Compiled) -> Self {
        Self {
            population: Population::of_script(&compiled),
            origin: (!compiled.script.is_empty()).then(|| Box::new(compiled.clone())),
            listed: compiled.shapes.len(),
            compiled,
            steps: 0,
            parity: 0,
            commands: Vec::new(),
            events: Vec::new(),
            overflowed: Vec::new(),
            known: None,
            asked: 0,
        }
    }

    /// Whether a step is known to change nothing, as in a world alone: its count goes on, and nothing is recorded.
    fn rests(&self) -> bool {
        let emits = self.population.as_ref().is_some_and(|population| population.is_due(self.steps));
        let asked = !self.commands.is_empty() || !self.compiled.paths.is_empty() || emits;
        let known = self.known.is_some_and(|known| known.step >= self.asked && known.at_rest);
        self.compiled.settings.sleep && !asked && known
    }
}

/// Many worlds on the GPU.
#[derive(Debug)]
pub(crate) struct GpuWorlds {
    engine: Engine,
    members: Vec<Member>,
    /// What does for all of them.
    extent: Extent,
    /// The last step, if the next one of the same worlds is like it.
    turn: Option<Turn>,
    plan: Vec<Op>,
    /// Steps recorded, of whichever worlds.
    recorded: u64,
    ring: StepRing,
    /// What of them is on its way, oldest first.
    flights: VecDeque<Flight>,
    /// Events that a world is known to have lacked room for.
    event_need: u32,
    /// Worlds that the last step that arrived had no room for.
    outgrown: Vec<usize>,
    query_load: ask::Load,
}

impl GpuWorlds {
    /// Worlds that differ in anything but the stages of their steps.
    ///
    /// # Errors
    /// If there are none or too many, their settings ask for other stages, or they do not fit the device.
    pub fn new(context: &Context, members: Vec<Compiled>) -> Result<Self, WorldError> {
        let refuse = |why: String| Err(WorldError::Many(why));
        let Some(first) = members.first() else { return refuse("there are none".to_owned()) };
        if members.len() > MOST_WORLDS {
            return refuse(format!("{} are too many, a dispatch has at most {MOST_WORLDS} layers", members.len()));
        }
        let features = members.iter().map(Features::of).reduce(Features::and);
        for (index, member) in members.iter().enumerate() {
            if !step_alike(&member.settings, &first.settings) {
                return refuse(format!("the settings of world {index} ask for other stages than those of world 0"));
            }
        }
        context.check()?;
        let room = members.iter().map(Room::of_many).reduce(Room::and).unwrap_or_default();
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
            turn: None,
            recorded: 0,
            ring: StepRing::new(context.device(), RING),
            flights: VecDeque::new(),
            event_need: 0,
            outgrown: Vec::new(),
            query_load: ask::Load::default(),
            engine,
            members: members.into_iter().map(Member::new).collect(),
        };
        this.engine.create_tables(|_| true)?;
        this.engine.fill(&this.members.iter().map(|member| &member.compiled).collect::<Vec<_>>());
        this.bind();
        this.engine.follow(&this.plan);
        this.engine.compile(&this.plan, &this.extent)?;
        this.engine.context.check()?;
        Ok(this)
    }

    /// Tells the worlds where their tables are, and the kernels.
    fn bind(&mut self) {
        for member in &mut self.members {
            self.engine.place(&mut member.compiled.params);
        }
        self.refresh();
        let params: Vec<_> = self.members.iter().map(|member| member.compiled.params).collect();
        self.engine.bind(&params, &self.extent.params);
    }

    /// As [`Self::bind`], where a world was changed and no table is another.
    fn rebind(&mut self, world: usize) {
        self.turn = None;
        let params = self.members[world].compiled.params;
        let extent = self.extent.and(&Extent::of(&self.members[world].compiled));
        // As far as lists are scanned.
        if !extent.is_as_long_as(&self.extent) {
            return self.bind();
        }
        self.extent = extent;
        let at = (world * size_of::<types::Params>()) as u64;
        self.engine.context.queue().write_buffer(&self.engine.buffers["params"], at, bytemuck::bytes_of(&params));
    }

    /// Looks anew at what does for all.
    fn refresh(&mut self) {
        self.turn = None;
        let extents = self.members.iter().map(|member| Extent::of(&member.compiled));
        if let Some(extent) = extents.reduce(|all, one| all.and(&one)) {
            self.extent = extent;
        }
    }

    pub fn compiled(&self, world: usize) -> Option<&Compiled> {
        self.members.get(world).map(|member| &member.compiled)
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

    /// Steps that a world has done; of one that there is, like all below.
    pub fn steps(&self, world: usize) -> u64 {
        self.members[world].steps
    }

    pub fn command(&mut self, world: usize, body: usize, command: Command) -> Result<(), CommandError> {
        let Member { compiled, commands, asked, steps, .. } = &mut self.members[world];
        let flat = command.push(compiled, body, commands)?;
        *asked = *steps;
        // The device's bodies learn it with the step; this copy is for snapshots.
        flat.mirror(&mut compiled.bodies[body]);
        Ok(())
    }

    pub fn command_joint(&mut self, world: usize, joint: JointId, command: JointCommand) -> Result<(), CommandError> {
        let Member { compiled, commands, asked, steps, .. } = &mut self.members[world];
        let records = command.flatten(compiled, joint)?;
        *asked = *steps;
        if matches!(command, JointCommand::Enable(_)) && !compiled.joints.may_part {
            compiled.joints.may_part = true;
            self.extent.may_part = true;
            self.turn = None;
        }
        commands.extend(records);
        let ends = compiled.joints.place(joint.index).map(|place| ends(&compiled.joints.joints[place]));
        rouse(compiled, ends.into_iter().flatten(), commands);
        Ok(())
    }

    pub fn wake_all(&mut self, world: usize) {
        let Member { compiled, commands, asked, steps, .. } = &mut self.members[world];
        wake_all(compiled, commands);
        *asked = *steps;
    }

    pub fn take_events(&mut self, world: usize) -> Result<Vec<event::Event>, WorldError> {
        self.poll()?;
        Ok(std::mem::take(&mut self.members[world].events))
    }

    pub fn overflowed_steps(&self, world: usize) -> &[u64] {
        &self.members[world].overflowed
    }
}

/// Whether worlds with these settings can share dispatches: whatever the scenes, the same stages run over the same tables.
/// What else they say are constants, of which each world has its own.
fn step_alike(one: &Settings, other: &Settings) -> bool {
    let tables = |settings: &Settings| (settings.sleep, settings.strict, settings.events);
    tables(one) == tables(other) && plan(one, true, true) == plan(other, true, true)
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
