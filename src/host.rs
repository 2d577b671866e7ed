//! The host side of a world: ids, commands, bodies and joints that come and go, events, snapshots and restoring.
//! Written once for both engines, as none of it depends on where the tables are.
//!
//! An engine has tables and runs stages over them. It knows no ids, keeps no events and takes no commands. [`Host`]
//! holds all of these, and [`WorldEngine`] is the interface between the two:
//!
//! ```text
//! World, CpuWorld, GpuWorld, PooledWorld     methods for users: world_verbs!, written once
//!            │                               WorldBatch: the same methods, each with the index of a world
//!            ▼
//! WorldEngine   add_bodies · remove_bodies · add_joints · remove_joints · set_gravity · emit_due · load_with · restore
//!            │                               written once, in terms of Host and of the calls below to the tables
//!            ├── Host                        compiled, population, origin, commands, events, steps, limits
//!            ▼
//! tables     make_room · follow · clear_lists · state · finish_steps · make_room_for · put
//!            CpuWorld (vectors) · One (a slot in buffers on a device, of one world alone or of a batch)
//! ```
//!
//! **A change** of the population happens on the host first, in [`Compiled`] and [`Population`]. Then the engine grows
//! its tables and copies the change. If it cannot grow them, the host is set back to a copy from before, so a refused
//! change leaves no trace.
//!
//! **A snapshot** is one value with one builder, [`Snapshot::new`], of a [`SnapshotMoment`] of the host and the tables
//! of the engine. It carries its [`Lineage`]: the fingerprint of the scene, gravity and, if bodies or joints were added
//! or removed by hand, the population of that moment, shared by all snapshots between two changes. So a world can be
//! restored to a time before additions and removals, and refuses the snapshot of another scene. Bytes carry no lineage:
//! a journal takes its place ([`World::load_with`](crate::World::load_with)).
//!
//! **Restoring** a snapshot drops the events of later steps, which have not happened then. [`Host::undo_step`] returns
//! to the start of a step that outgrew its tables, for a single world and for one of a batch.

mod engine;
mod replay;
mod verbs;

use std::sync::{Arc, OnceLock};

use glam::Vec2;

pub(crate) use engine::WorldEngine;
pub(crate) use verbs::world_verbs;

use crate::cancel::StepLimits;
use crate::command::{Command, CommandError, JointCommand, forget, slot_of, wake_affected, wake_all, wake_bodies};
use crate::event::Event;
use crate::initial_loads::{InitialContacts, initial_contacts};
use crate::math::rotate;
use crate::population::{
    BodyId, JointId, Journal, Population, PopulationChange, PropertyEffects, SavedPopulation, ShapeEffects,
    TimelineEffects, body_of_slot, ends, joint_id, shifted,
};
use crate::scene::Compiled;
pub(crate) use crate::scene::PartCounts;
use crate::snapshot::{Force, Lineage, Snapshot, SnapshotError, SnapshotFileError, SnapshotMoment};
use crate::types::{
    self, COMMAND_ANGULAR_VELOCITY, COMMAND_FORCE, COMMAND_IMPULSE, COMMAND_JOINT_FIXED, COMMAND_TARGET,
    COMMAND_TELEPORT, COMMAND_VELOCITY, CommandData, JOINT_FIXED_A, JOINT_FIXED_B, Pose,
};
use crate::world_error::WorldError;

/// Command encoder of the caller, into which a change is recorded. `None` where the engine writes its tables directly.
#[cfg(feature = "gpu")]
pub(crate) type Recorder = wgpu::CommandEncoder;

/// Command encoder of the caller, which does not exist in a build without the feature `gpu`.
#[cfg(not(feature = "gpu"))]
pub(crate) enum Recorder {}

/// State of a world that does not depend on the engine that steps it.
#[derive(Clone, Debug)]
pub(crate) struct Host {
    /// The scene as it is laid out now.
    pub compiled: Compiled,
    /// Ids of bodies and joints; `None` until one is added or removed.
    pub population: Option<Population>,
    /// The scene as it was laid out at the start, if bodies or joints were added or removed since, or emitters will do
    /// so.
    pub origin: Option<Box<Compiled>>,
    /// Commands for the next step.
    pub commands: Vec<CommandData>,
    /// Events that have arrived and were not taken yet.
    pub events: Vec<Event>,
    /// Steps that dropped contacts or events, as far as known.
    pub overflowed: Vec<u64>,
    pub limits: StepLimits,
    /// Number of steps done, or recorded.
    pub steps: u64,
    /// First step in which all commands and changes so far have acted.
    pub asked: u64,
    /// Gravity at the start, m/s².
    gravity: [f32; 2],
    /// Fingerprint of the scene as it was at the start. Computed before the first change.
    fingerprint: OnceLock<u64>,
    /// True once bodies or joints were added or removed by hand: then the scene alone does not give this population.
    changed_by_hand: bool,
    /// The present population, shared by the snapshots that are taken before the next change.
    kept: OnceLock<Arc<SavedPopulation>>,
    initial: InitialState,
}

/// Largest number of contacts of the start that are kept for the next episode. Larger worlds find theirs again: they
/// would take some 100 B a contact.
const MAX_KEPT_CONTACTS: usize = 10_000;

/// Contacts with which the world begins.
#[derive(Clone, Debug, Default)]
struct InitialState {
    /// True once the tables have them, or need none.
    is_over: bool,
    /// Those of the scene as it was made, if they are few, and the forces for which they were found.
    of_scene: Option<(InitialForces, Option<Arc<InitialContacts>>)>,
}

/// Gravity, m/s², and the constant forces of the bodies that have one, at the start of a world.
#[derive(Clone, Debug, PartialEq)]
struct InitialForces {
    gravity: [f32; 2],
    forces: Vec<(usize, Force)>,
}

impl InitialForces {
    fn of(compiled: &Compiled) -> Self {
        let forces = compiled.bodies.iter().map(Force::of).enumerate();
        let forces = forces.filter(|(_, force)| *force != Force::default()).collect();
        Self { gravity: compiled.params.gravity, forces }
    }
}

/// Host state at the start of a step, to return to if the step outgrows its tables.
#[derive(Clone, Debug)]
pub(crate) struct HostStart {
    commands: Vec<CommandData>,
    /// Slots vacated since the previous step.
    vacated: Vec<u32>,
}

/// Host state before a change that the engine may refuse.
pub(crate) struct HostBackup {
    compiled: Compiled,
    population: Option<Population>,
    commands: Vec<CommandData>,
}

/// Bodies and joints of a world with their ids, without their state.
#[derive(Clone, Debug)]
pub struct Books {
    /// The scene as it is laid out now.
    pub compiled: Compiled,
    /// Ids of bodies and joints; `None` until one is added or removed.
    pub population: Option<Population>,
    /// The scene as it was laid out at the start, if it has changed since.
    pub origin: Option<Box<Compiled>>,
    /// Fingerprint of the scene as it was at the start.
    fingerprint: u64,
    /// True if bodies or joints were added or removed by hand.
    changed_by_hand: bool,
}

impl Host {
    /// Returns the host of a world at its start.
    pub fn new(compiled: Compiled) -> Self {
        Self {
            population: Population::of_script(&compiled),
            origin: (!compiled.script.is_empty()).then(|| Box::new(compiled.clone())),
            commands: Vec::new(),
            events: Vec::new(),
            overflowed: Vec::new(),
            limits: StepLimits::default(),
            steps: 0,
            asked: 0,
            gravity: compiled.params.gravity,
            fingerprint: OnceLock::new(),
            changed_by_hand: false,
            kept: OnceLock::new(),
            initial: InitialState::default(),
            compiled,
        }
    }

    /// Returns bodies and joints with their ids, without their state.
    pub fn into_books(self) -> Books {
        let (fingerprint, changed_by_hand) = (self.fingerprint(), self.changed_by_hand);
        let Self { compiled, population, origin, .. } = self;
        Books { compiled, population, origin, fingerprint, changed_by_hand }
    }

    /// Returns the host of a world with these bodies and joints. It continues from a snapshot, which must be restored
    /// next.
    pub fn from_books(books: Books) -> Self {
        let Books { compiled, population, origin, fingerprint, changed_by_hand } = books;
        Self { population, origin, fingerprint: OnceLock::from(fingerprint), changed_by_hand, ..Self::new(compiled) }
    }

    /// Copies ids, origin and limits from another host of the same world.
    pub fn take_over(&mut self, other: &Self) {
        self.fingerprint = OnceLock::from(other.fingerprint());
        (self.changed_by_hand, self.gravity) = (other.changed_by_hand, other.gravity);
        self.population.clone_from(&other.population);
        self.origin.clone_from(&other.origin);
        self.kept.clone_from(&other.kept);
        self.limits.clone_from(&other.limits);
    }

    /// Moves events and known overflows over from another host of the same world.
    pub fn take_reports(&mut self, other: &mut Self) {
        self.events = std::mem::take(&mut other.events);
        self.overflowed.clone_from(&other.overflowed);
    }

    /// Returns the hash of the scene as it was at the start, by which worlds know their snapshots.
    pub fn fingerprint(&self) -> u64 {
        *self.fingerprint.get_or_init(|| self.compiled.fingerprint_from(self.gravity))
    }

    /// Returns the slot of a body.
    ///
    /// # Errors
    /// The body does not exist or was removed.
    pub fn slot_of(&self, body: BodyId) -> Result<usize, CommandError> {
        slot_of(&self.compiled, self.population.as_ref(), body)
    }

    /// Appends a command to the body in a slot. `stays` is the present pose if the command puts the body exactly where
    /// it is: computed from position and angle, the pose would differ in its last bits.
    ///
    /// # Errors
    /// The body's type does not take the command, or a value is out of range.
    pub fn command_slot(&mut self, slot: usize, command: Command, stays: Option<Pose>) -> Result<(), CommandError> {
        let first = self.commands.len();
        let flat = command.push(&self.compiled, slot, &mut self.commands)?;
        if let Some(pose) = stays {
            let CommandData { kind, body, .. } = self.commands[first];
            self.commands[first] = CommandData::place(kind, body, &pose);
        }
        self.asked = self.steps;
        // The tables get it with the next step; this copy is for snapshots.
        flat.mirror(&mut self.compiled.bodies[slot]);
        Ok(())
    }

    /// Appends impulses on bodies, by their slots. Returns their number.
    ///
    /// # Errors
    /// The first that [`Self::command_slot`] refuses.
    pub fn push(&mut self, pushes: &[(usize, Command)]) -> Result<usize, CommandError> {
        pushes.iter().try_for_each(|&(slot, push)| self.command_slot(slot, push, None))?;
        Ok(pushes.len())
    }

    /// Appends a command to a joint.
    ///
    /// # Errors
    /// There is no such joint, its type does not take the command, or a value is out of range.
    pub fn command_joint(&mut self, joint: JointId, command: JointCommand) -> Result<(), CommandError> {
        let Self { compiled, commands, .. } = self;
        let records = command.flatten(compiled, joint)?;
        compiled.joints.may_part |= matches!(command, JointCommand::Enable(_));
        commands.extend(records);
        let ends = compiled.joints.place(joint.index).map(|place| ends(&compiled.joints.joints[place]));
        wake_bodies(compiled, ends.into_iter().flatten(), commands);
        self.asked = self.steps;
        Ok(())
    }

    /// Wakes every body at the start of the next step, where bodies sleep.
    pub fn wake_all(&mut self) {
        wake_all(&self.compiled, &mut self.commands);
        self.asked = self.steps;
    }

    /// Returns the id of the body in a slot, if there is one.
    pub fn body_id(&self, index: usize) -> Option<BodyId> {
        body_of_slot(&self.compiled, self.population.as_ref(), index)
    }

    /// Returns the id of the joint with an index, if there is one.
    pub fn joint_id(&self, index: usize) -> Option<JointId> {
        joint_id(&self.compiled, index)
    }

    /// Returns the largest number of contacts that a step may have.
    pub fn contact_limit(&self) -> usize {
        self.limits.contacts(self.compiled.shapes.len())
    }

    /// Returns true if no command, path or emitter acts in the next step, so that it can be skipped if all bodies
    /// sleep.
    pub fn is_idle(&self) -> bool {
        let emits = self.population.as_ref().is_some_and(|population| population.is_due(self.steps));
        self.compiled.settings.sleep && self.commands.is_empty() && self.compiled.paths.is_empty() && !emits
    }

    /// Returns the contacts with which the world begins, once, before its first step.
    fn take_initial_contacts(&mut self) -> Option<Arc<InitialContacts>> {
        if self.steps > 0 || std::mem::replace(&mut self.initial.is_over, true) {
            return None;
        }
        let forces = InitialForces::of(&self.compiled);
        let contacts = match &self.initial.of_scene {
            Some((of, contacts)) if !self.changed_by_hand && *of == forces => contacts.clone(),
            _ => {
                let contacts = initial_contacts(&self.compiled).map(Arc::new);
                let is_small = contacts.as_ref().is_none_or(|found| found.contacts.len() <= MAX_KEPT_CONTACTS);
                if !self.changed_by_hand && is_small {
                    self.initial.of_scene = Some((forces, contacts.clone()));
                }
                contacts
            }
        };
        contacts.filter(|contacts| contacts.contacts.len() <= self.contact_limit())
    }

    /// Counts a step. Slots vacated before it can be reused from here on.
    pub fn end_step(&mut self) {
        self.steps = self.steps.saturating_add(1);
        if let Some(population) = &mut self.population {
            population.stepped();
        }
    }

    /// Appends the events of a step.
    pub fn process_readbacks(&mut self, step: u64, events: impl IntoIterator<Item = types::EventData>) {
        let Self { compiled, population, events: heard, .. } = self;
        heard.extend(events.into_iter().map(|event| Event::new(compiled, population.as_ref(), step, &event)));
        if let Some(population) = population {
            population.forget_owners(step);
        }
    }

    /// Returns the host state at the start of the next step, for [`Self::undo_step`].
    pub fn start(&self) -> HostStart {
        let vacated = Population::vacated(self.population.as_ref()).to_vec();
        HostStart { commands: self.commands.clone(), vacated }
    }

    /// Returns to the start of the step that was just done.
    pub fn undo_step(&mut self, start: &HostStart) {
        self.steps -= 1;
        let step = self.steps;
        self.overflowed.retain(|&overflowed| overflowed != step);
        self.events.retain(|event| event.step != step);
        self.commands.clone_from(&start.commands);
        if let Some(population) = &mut self.population {
            population.restore(&self.compiled, &start.vacated);
        }
    }

    fn scene_and_population(&mut self) -> (&mut Compiled, &mut Population) {
        let Self { compiled, population, .. } = self;
        let population = population.get_or_insert_with(|| Population::new(compiled));
        (compiled, population)
    }

    /// Keeps a copy of the world as it began, before the first change by hand.
    fn keep_origin(&mut self) {
        self.fingerprint();
        self.origin.get_or_insert_with(|| Box::new(self.compiled.clone()));
    }

    /// Marks the population as changed by hand.
    fn mark_changed_by_hand(&mut self) {
        self.changed_by_hand = true;
        self.invalidate_kept();
    }

    /// Drops the shared copy of the population: the next snapshot is of another one.
    fn invalidate_kept(&mut self) {
        self.kept = OnceLock::new();
    }

    /// Gives the commands of the timeline for the next step. Those to bodies and joints that are gone, or are not what
    /// the scene made them, are dropped.
    fn give_timed(&mut self, effects: &TimelineEffects) {
        for &(body, command) in &effects.bodies {
            if let Ok(slot) = self.slot_of(body) {
                let _ = self.command_slot(slot, command, None);
            }
        }
        for &(joint, command) in &effects.joints {
            let _ = self.command_joint(joint, command);
        }
        if effects.gravity {
            self.wake_all();
        }
    }

    /// Gives the commands by which states and joints follow new properties of bodies.
    fn give_effects(&mut self, effects: &PropertyEffects) {
        let Self { compiled, commands, .. } = self;
        wake_affected(compiled, &effects.change, commands);
        let command = |kind, body| CommandData { kind, body, ..CommandData::default() };
        commands.extend(effects.stopped.iter().map(|&body| command(COMMAND_VELOCITY, body)));
        commands.extend(effects.stopped.union(&effects.unturned).map(|&body| command(COMMAND_ANGULAR_VELOCITY, body)));
        commands.extend(effects.joints.iter().map(|&place| {
            let fixed = |flag| f32::from(u8::from(compiled.joints.joints[place as usize].flags & flag != 0));
            CommandData { value: [fixed(JOINT_FIXED_A), fixed(JOINT_FIXED_B)], ..command(COMMAND_JOINT_FIXED, place) }
        }));
        self.asked = self.steps;
    }

    /// Wakes what the new shapes of a body affect, and moves the points of commands to it with its centre of mass.
    fn give_shapes(&mut self, body: u32, effects: &ShapeEffects) {
        let Self { compiled, commands, .. } = self;
        for command in commands.iter_mut().filter(|command| !command.is_for_joint() && command.body == body) {
            match command.kind {
                COMMAND_TELEPORT | COMMAND_TARGET => {
                    let arm = rotate(command.other.into(), effects.shift);
                    command.value = (Vec2::from(command.value) + arm).into();
                }
                COMMAND_IMPULSE | COMMAND_FORCE => command.other = shifted(command.other, effects.shift),
                _ => {}
            }
        }
        wake_affected(compiled, &effects.change, commands);
        self.asked = self.steps;
    }

    /// Drops commands to removed bodies and joints, and wakes the islands that they leave.
    fn let_go(&mut self, change: &PopulationChange) {
        forget(&mut self.commands, &self.compiled);
        wake_affected(&self.compiled, change, &mut self.commands);
    }

    fn backup(&self) -> HostBackup {
        let Self { compiled, population, commands, .. } = self;
        HostBackup { compiled: compiled.clone(), population: population.clone(), commands: commands.clone() }
    }

    /// Returns the lineage of snapshots that are taken now.
    pub fn lineage(&self) -> Lineage {
        let kept = self.population.as_ref().filter(|_| self.changed_by_hand).map(|population| {
            let kept = || Arc::new(SavedPopulation { compiled: self.compiled.clone(), population: population.clone() });
            self.kept.get_or_init(kept).clone()
        });
        Lineage::new(self.fingerprint(), self.compiled.params.gravity, kept)
    }

    /// Returns the host's part of a snapshot that is taken now.
    pub fn moment(&self) -> SnapshotMoment {
        SnapshotMoment {
            step: self.steps,
            sleeps: self.compiled.settings.sleep,
            commands: self.commands.clone(),
            population: Population::history(self.population.as_ref()),
            vacated: Population::vacated(self.population.as_ref()).to_vec(),
            timed_starts: self
                .population
                .as_ref()
                .map_or_else(Vec::new, |population| population.timed_starts(&self.compiled)),
            lineage: self.lineage(),
        }
    }

    /// Checks that a snapshot is of this world. Returns the scene and population of that time, if they differ from the
    /// present ones.
    ///
    /// # Errors
    /// The snapshot is of another world.
    pub fn rewound(&self, snapshot: &Snapshot) -> Result<Option<Rewound>, WorldError> {
        let rewound = match snapshot.lineage.kept() {
            Some(kept) if Population::history(Some(&kept.population)) == snapshot.population => {
                let is_now = self.kept.get().is_some_and(|now| Arc::ptr_eq(now, kept));
                (!is_now).then(|| Rewound {
                    compiled: kept.compiled.on_engine_of(&self.compiled),
                    population: kept.population.clone(),
                    changed_by_hand: true,
                })
            }
            _ => {
                let (origin, population) = (self.origin.as_deref(), self.population.as_ref());
                let rewound = Population::rewind(origin, &self.compiled, population, snapshot)?;
                rewound.map(|(compiled, population)| Rewound { compiled, population, changed_by_hand: false })
            }
        };
        match &rewound {
            Some(Rewound { compiled, population, .. }) => snapshot.check(compiled, Some(population))?,
            None => snapshot.check(&self.compiled, self.population.as_ref())?,
        }
        if let Some(found) = snapshot.lineage.fingerprint()
            && found != self.fingerprint()
        {
            return Err(SnapshotFileError::OtherWorld { found, expected: self.fingerprint() }.into());
        }
        Ok(rewound)
    }

    /// Sets the host to a snapshot of the present bodies and joints.
    fn go_back(&mut self, snapshot: &Snapshot, untaken: Untaken) {
        if untaken == Untaken::Dropped || self.limits.has_given_up() {
            self.events.retain(|event| event.step < snapshot.step);
        }
        self.limits.revive();
        self.overflowed.retain(|&step| step < snapshot.step);
        self.steps = snapshot.step;
        self.asked = snapshot.step;
        // A state of step 0 other than the scene's has contacts of its own.
        let Compiled { poses, states, .. } = &self.compiled;
        let is_scene = snapshot.pair_starts.is_empty() && snapshot.poses == *poses && snapshot.states == *states;
        self.initial.is_over = !is_scene;
        if let Some(gravity) = snapshot.lineage.gravity() {
            self.compiled.params.gravity = gravity;
        }
        if let Some(population) = &mut self.population {
            population.restore(&self.compiled, &snapshot.vacated);
        }
        for (body, force) in self.compiled.bodies.iter_mut().zip(&snapshot.forces) {
            force.put(body);
        }
        snapshot.put_goals(&mut self.compiled.joints);
        self.commands.clone_from(&snapshot.commands);
    }
}

/// Treatment of untaken events when a world is restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Untaken {
    /// Events of later steps are dropped, as those steps have not happened.
    Dropped,
    /// All events stay: an episode has ended and the next begins.
    Kept,
}

/// Scene and population of an earlier time.
pub(crate) struct Rewound {
    compiled: Compiled,
    population: Population,
    changed_by_hand: bool,
}

impl Host {
    /// Returns scene and population after the changes of a journal, up to the step of these bytes.
    ///
    /// # Errors
    /// This world has done a step, or an entry is refused.
    pub fn replay_journal(&self, bytes: &[u8], journal: &Journal) -> Result<Rewound, WorldError> {
        if self.steps > 0 {
            #[allow(clippy::cast_possible_truncation, reason = "for the message")]
            let found = self.steps as usize;
            return Err(SnapshotError { what: "steps done before it", found, expected: 0 }.into());
        }
        let mut compiled = self.compiled.clone();
        let mut population = Population::new(&compiled);
        // With a timeline the fingerprint is that of the start, so that it is known before the changes.
        let starts = if compiled.has_timeline() {
            Snapshot::from_bytes(bytes, compiled.fingerprint())?.timed_starts
        } else {
            Vec::new()
        };
        population.relive(&mut compiled, journal, Snapshot::step_of(bytes)?, &starts)?;
        Ok(Rewound { compiled, population, changed_by_hand: true })
    }
}

impl Rewound {
    pub fn compiled(&self) -> &Compiled {
        &self.compiled
    }
}
