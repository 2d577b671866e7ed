//! The host's part of a world: ids, commands, population, events, snapshots and the way back, once for every engine.
//!
//! An engine has tables and runs stages over them. It knows no ids, keeps no events and takes no commands. [`Host`] holds
//! what does not depend on where the tables lie, and [`WorldEngine`] is the seam between the two:
//!
//! ```text
//! World, CpuWorld, GpuWorld, PooledWorld     verbs of users: world_verbs!, written once
//!            │                               WorldBatch: the same verbs, each with the number of a world
//!            ▼
//! WorldEngine   add_bodies · remove_bodies · add_joints · remove_joints · set_gravity · emit_due · load_with · restore
//!            │                               written once, in terms of Host and of eight calls to the tables
//!            ├── Host                        compiled, population, origin, commands, events, steps, limits
//!            ▼
//! tables     make_room · follow · clear_lists · state · settle · make_room_for · put
//!            CpuWorld (vectors) · GpuWorld (buffers of its own) · One (layers of buffers that many worlds share)
//! ```
//!
//! **A change** of the population happens on the host first, in [`Compiled`] and [`Population`]. Then the engine makes room
//! and follows. If it has no room the host goes back to a copy from before, so a refused change leaves nothing behind.
//!
//! **A snapshot** is one value with one builder, [`Snapshot::new`], of a [`Moment`] of the host and the tables of the engine.
//! It carries its [`Lineage`]: the fingerprint of the scene, gravity and, where bodies or joints came or went by hand, the
//! population of that moment, shared by all snapshots between two changes. So a world goes back over additions and removals,
//! and refuses the snapshot of another scene. Bytes carry no lineage: a journal takes its place
//! ([`World::load_with`](crate::World::load_with)).
//!
//! **The way back** to a snapshot drops the events of the steps that did not happen. The way back to the start of a step
//! that outgrew its tables ([`Host::undo_step`]) is the same for a world alone and for one of many.

use std::sync::{Arc, OnceLock};

use crate::cancel::StepLimits;
use crate::command::{Command, CommandError, JointCommand, forget, rouse, wake_all, wake_left};
use crate::event::Event;
use crate::population::{BodyId, Change, JointId, Journal, Population, ends, joint_id};
use crate::scene::{Body, Compiled, Joint, check_gravity};
use crate::snapshot::{Lineage, Moment, Snapshot, SnapshotError, SnapshotFileError};
use crate::types;
use crate::world::WorldError;

/// Commands of the caller to a device, at whose end a change is recorded. None where the engine has its tables at hand.
pub(crate) type Recorder = wgpu::CommandEncoder;

/// A number of bodies, shapes and joints.
#[derive(Clone, Copy, Debug, Default)]
pub struct Parts {
    /// Bodies.
    pub bodies: usize,
    /// Shapes, over all bodies.
    pub shapes: usize,
    /// Joints.
    pub joints: usize,
}

impl Parts {
    /// Bodies with their shapes, without joints.
    #[must_use]
    pub fn of_bodies(bodies: &[Body]) -> Self {
        Self { bodies: bodies.len(), shapes: bodies.iter().map(|body| body.shapes.len()).sum(), joints: 0 }
    }
}

/// State of a world that does not depend on the engine that steps it.
#[derive(Clone, Debug)]
pub(crate) struct Host {
    /// The scene as it is laid out now.
    pub compiled: Compiled,
    /// Ids of bodies and joints; none before one comes or goes.
    pub population: Option<Population>,
    /// The scene as it was laid out at the start, where bodies or joints have come or gone since, or will by emitters.
    pub origin: Option<Box<Compiled>>,
    /// Commands for the next step.
    pub commands: Vec<types::Command>,
    /// Events that have arrived and were not taken yet.
    pub events: Vec<Event>,
    /// Steps known to have dropped contacts or events.
    pub overflowed: Vec<u64>,
    pub limits: StepLimits,
    /// Steps done, or recorded.
    pub steps: u64,
    /// First step that knows of all commands and changes so far.
    pub asked: u64,
    /// Gravity at the start, m/s².
    gravity: [f32; 2],
    /// Fingerprint of the scene as it was at the start. Computed before the first change.
    fingerprint: OnceLock<u64>,
    /// True once bodies or joints came or went by hand: then the scene alone does not lead to this population.
    altered: bool,
    /// Population as it is, for the snapshots that are taken before the next change.
    kept: OnceLock<Arc<Kept>>,
}

/// A population and the scene laid out for it, as a snapshot carries them.
#[derive(Debug)]
pub(crate) struct Kept {
    compiled: Compiled,
    population: Population,
}

/// Host's part of the start of a step, to go back to if the step outgrows its tables.
#[derive(Clone, Debug)]
pub(crate) struct HostStart {
    commands: Vec<types::Command>,
    /// Slots that bodies left since the step before.
    vacated: Vec<u32>,
}

/// Host's part of a world before a change that its engine may refuse.
pub(crate) struct Backup {
    compiled: Compiled,
    population: Option<Population>,
    commands: Vec<types::Command>,
}

/// A world as bodies and joints came and went, without where they are.
#[derive(Clone, Debug)]
pub struct Books {
    /// The scene as it is laid out now.
    pub compiled: Compiled,
    /// Ids of bodies and joints; none before the first comes or goes.
    pub population: Option<Population>,
    /// The scene as it was laid out at the start, where it has changed since.
    pub origin: Option<Box<Compiled>>,
    /// Fingerprint of the scene as it was at the start.
    fingerprint: u64,
    /// True if bodies or joints came or went by hand.
    altered: bool,
}

impl Host {
    /// Host of a world at its start.
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
            altered: false,
            kept: OnceLock::new(),
            compiled,
        }
    }

    /// The population, its ids and all, without the state.
    pub fn into_books(self) -> Books {
        let (fingerprint, altered) = (self.fingerprint(), self.altered);
        let Self { compiled, population, origin, .. } = self;
        Books { compiled, population, origin, fingerprint, altered }
    }

    /// Host of a world in which bodies and joints have come and gone. It waits for a snapshot to continue from.
    pub fn from_books(books: Books) -> Self {
        let Books { compiled, population, origin, fingerprint, altered } = books;
        Self { population, origin, fingerprint: OnceLock::from(fingerprint), altered, ..Self::new(compiled) }
    }

    /// Takes over ids, origin and limits of the host of the same world elsewhere.
    pub fn take_over(&mut self, other: &Self) {
        self.fingerprint = OnceLock::from(other.fingerprint());
        (self.altered, self.gravity) = (other.altered, other.gravity);
        self.population.clone_from(&other.population);
        self.origin.clone_from(&other.origin);
        self.kept.clone_from(&other.kept);
        self.limits.clone_from(&other.limits);
    }

    /// Takes events and known overflows of the host of the same world elsewhere.
    pub fn take_reports(&mut self, other: &mut Self) {
        self.events = std::mem::take(&mut other.events);
        self.overflowed.clone_from(&other.overflowed);
    }

    /// Hash of the scene as it was at the start, by which worlds know their snapshots.
    pub fn fingerprint(&self) -> u64 {
        *self.fingerprint.get_or_init(|| self.compiled.fingerprint_from(self.gravity))
    }

    /// Puts a command behind the others. Nothing waits.
    ///
    /// # Errors
    /// If there is no such body, it does not move in this way, or a value is not finite.
    pub fn command(&mut self, body: usize, command: Command) -> Result<(), CommandError> {
        let flat = command.push(&self.compiled, body, &mut self.commands)?;
        self.asked = self.steps;
        // The tables learn it with the step; this copy is for snapshots.
        flat.mirror(&mut self.compiled.bodies[body]);
        Ok(())
    }

    /// Puts a command to a joint behind the others. Nothing waits.
    ///
    /// # Errors
    /// If there is no such joint, it has nothing of the kind, or a value is out of range.
    pub fn command_joint(&mut self, joint: JointId, command: JointCommand) -> Result<(), CommandError> {
        let Self { compiled, commands, .. } = self;
        let records = command.flatten(compiled, joint)?;
        compiled.joints.may_part |= matches!(command, JointCommand::Enable(_));
        commands.extend(records);
        let ends = compiled.joints.place(joint.index).map(|place| ends(&compiled.joints.joints[place]));
        rouse(compiled, ends.into_iter().flatten(), commands);
        self.asked = self.steps;
        Ok(())
    }

    /// Wakes every body at the start of the next step, where bodies sleep.
    pub fn wake_all(&mut self) {
        wake_all(&self.compiled, &mut self.commands);
        self.asked = self.steps;
    }

    /// Id of the body in a slot, if there is one.
    pub fn body_id(&mut self, index: usize) -> Option<BodyId> {
        let (compiled, population) = self.people();
        population.id(compiled, index)
    }

    /// Id of the joint with an index, if there is one.
    pub fn joint_id(&self, index: usize) -> Option<JointId> {
        joint_id(&self.compiled, index)
    }

    /// Contacts that a step may have.
    pub fn contact_limit(&self) -> usize {
        self.limits.contacts(self.compiled.shapes.len())
    }

    /// Returns true if nothing happens in the next step where all bodies sleep: no command, path or emitter.
    pub fn is_idle(&self) -> bool {
        let emits = self.population.as_ref().is_some_and(|population| population.is_due(self.steps));
        self.compiled.settings.sleep && self.commands.is_empty() && self.compiled.paths.is_empty() && !emits
    }

    /// Counts a step. The slots that bodies left before it are free from here on.
    pub fn end_step(&mut self) {
        self.steps = self.steps.saturating_add(1);
        if let Some(population) = &mut self.population {
            population.stepped();
        }
    }

    /// Events of a step that has arrived.
    pub fn hear(&mut self, step: u64, events: impl IntoIterator<Item = types::Event>) {
        let Self { compiled, events: heard, .. } = self;
        heard.extend(events.into_iter().map(|event| Event::new(compiled, step, &event)));
    }

    /// Start of the step that comes next, to go back to.
    pub fn start(&self) -> HostStart {
        let vacated = Population::vacated(self.population.as_ref()).to_vec();
        HostStart { commands: self.commands.clone(), vacated }
    }

    /// Goes back to the start of the step that was just done.
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

    fn people(&mut self) -> (&mut Compiled, &mut Population) {
        let Self { compiled, population, .. } = self;
        let population = population.get_or_insert_with(|| Population::new(compiled));
        (compiled, population)
    }

    /// Remembers the world as it began, before a first change by hand.
    fn keep_origin(&mut self) {
        self.fingerprint();
        self.origin.get_or_insert_with(|| Box::new(self.compiled.clone()));
    }

    /// Notes that bodies or joints came or went by hand.
    fn alter(&mut self) {
        self.altered = true;
        self.kept = OnceLock::new();
    }

    /// Drops commands to bodies and joints that have gone, and wakes what leant on them.
    fn let_go(&mut self, change: &Change) {
        forget(&mut self.commands, &self.compiled);
        wake_left(&self.compiled, change, &mut self.commands);
    }

    fn backup(&self) -> Backup {
        let Self { compiled, population, commands, .. } = self;
        Backup { compiled: compiled.clone(), population: population.clone(), commands: commands.clone() }
    }

    /// Lineage of the snapshots that are taken now.
    pub fn lineage(&self) -> Lineage {
        let kept = self.population.as_ref().filter(|_| self.altered).map(|population| {
            let kept = || Arc::new(Kept { compiled: self.compiled.clone(), population: population.clone() });
            self.kept.get_or_init(kept).clone()
        });
        Lineage::new(self.fingerprint(), self.compiled.params.gravity, kept)
    }

    /// The host's part of a snapshot that is taken now.
    pub fn moment(&self) -> Moment {
        Moment {
            step: self.steps,
            sleeps: self.compiled.settings.sleep,
            commands: self.commands.clone(),
            population: Population::history(self.population.as_ref()),
            vacated: Population::vacated(self.population.as_ref()).to_vec(),
            lineage: self.lineage(),
        }
    }

    /// Checks that a snapshot is of this world. Returns the scene and the population of that time, if they are not those of
    /// now.
    ///
    /// # Errors
    /// If it is of another world.
    pub fn rewound(&self, snapshot: &Snapshot) -> Result<Option<Rewound>, WorldError> {
        let rewound = match snapshot.lineage.kept() {
            Some(kept) if Population::history(Some(&kept.population)) == snapshot.population => {
                let is_now = self.kept.get().is_some_and(|now| Arc::ptr_eq(now, kept));
                (!is_now).then(|| Rewound {
                    compiled: kept.compiled.on_engine_of(&self.compiled),
                    population: kept.population.clone(),
                    altered: true,
                })
            }
            _ => {
                let (origin, population) = (self.origin.as_deref(), self.population.as_ref());
                let rewound = Population::rewind(origin, &self.compiled, population, snapshot)?;
                rewound.map(|(compiled, population)| Rewound { compiled, population, altered: false })
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

    /// Goes back to a snapshot, of which the bodies and joints are there.
    fn go_back(&mut self, snapshot: &Snapshot, untaken: Untaken) {
        if untaken == Untaken::Dropped || self.limits.has_given_up() {
            self.events.retain(|event| event.step < snapshot.step);
        }
        self.limits.revive();
        self.overflowed.retain(|&step| step < snapshot.step);
        self.steps = snapshot.step;
        self.asked = snapshot.step;
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

/// Events that were not taken when a world goes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Untaken {
    /// Those of later steps are dropped, as these have not happened now.
    Dropped,
    /// All stay: an episode has ended and the next begins.
    Kept,
}

/// A scene and a population of another time.
pub(crate) struct Rewound {
    compiled: Compiled,
    population: Population,
    altered: bool,
}

/// Seam between the host and the tables of a world: on the CPU, on a device, or beside others on a device. What changes on a
/// device holds in what is submitted next, or from this place of the caller's encoder on.
pub(crate) trait WorldEngine {
    fn host(&self) -> &Host;

    fn host_mut(&mut self) -> &mut Host;

    /// Returns true if the tables have room for so much more than there is.
    fn has_room_for(&self, more: Parts) -> bool;

    /// Returns true if larger tables may be refused.
    fn is_limited(&self) -> bool;

    /// Makes larger tables where these are too small for what the host has.
    ///
    /// # Errors
    /// If they do not fit the device; then nothing is done.
    fn make_room(&mut self, recorder: Option<&mut Recorder>) -> Result<(), WorldError>;

    /// Brings the tables and constants to what the host has.
    ///
    /// # Errors
    /// If the device is lost.
    fn follow(&mut self, change: &Change, recorder: Option<&mut Recorder>) -> Result<(), WorldError>;

    /// Empties the lists of contacts, as they are before the first step.
    fn clear_lists(&mut self);

    /// State between two steps. Waits for the device.
    ///
    /// # Errors
    /// If the device is lost.
    fn state(&mut self) -> Result<Snapshot, WorldError>;

    /// Waits until all steps are done, and learns what has arrived.
    ///
    /// # Errors
    /// If the device is lost.
    fn settle(&mut self) -> Result<(), WorldError>;

    /// Makes room for the contacts of a snapshot.
    ///
    /// # Errors
    /// If they do not fit the device; then nothing has changed.
    fn make_room_for(&mut self, snapshot: &Snapshot) -> Result<(), WorldError>;

    /// Writes the tables of a snapshot, of which there is room for all and to which the host has gone back.
    fn put(&mut self, snapshot: &Snapshot, recorder: Option<&mut Recorder>);

    /// Does something with the engine of this world.
    fn with_engine<T>(&mut self, what: impl FnOnce(&mut dyn WorldEngine) -> T) -> T
    where
        Self: Sized,
    {
        what(self)
    }

    /// Adds bodies: all of them or, with an error, none.
    ///
    /// # Errors
    /// The first value that is out of range; or if they do not fit the device.
    fn add_bodies(&mut self, bodies: &[Body]) -> Result<Vec<BodyId>, WorldError> {
        let backup = self.backup_for(Parts::of_bodies(bodies));
        let host = self.host_mut();
        host.keep_origin();
        let steps = host.steps;
        let (compiled, population) = host.people();
        let (ids, change) = population.add(compiled, bodies, steps)?;
        self.make_room_or_undo(backup, None)?;
        self.host_mut().alter();
        self.follow(&change, None)?;
        Ok(ids)
    }

    /// Adds joints: all of them or, with an error, none.
    ///
    /// # Errors
    /// The first value that is out of range; or if they do not fit the device.
    fn add_joints(&mut self, joints: &[Joint]) -> Result<Vec<JointId>, WorldError> {
        let backup = self.backup_for(Parts { joints: joints.len(), ..Parts::default() });
        let host = self.host_mut();
        host.keep_origin();
        let (compiled, population) = host.people();
        let (ids, change) = population.add_joints(compiled, joints)?;
        self.make_room_or_undo(backup, None)?;
        let host = self.host_mut();
        host.alter();
        wake_left(&host.compiled, &change, &mut host.commands);
        self.follow(&change, None)?;
        Ok(ids)
    }

    /// Adds joints between bodies by their ids: `None` is the world. All of them or, with an error, none.
    ///
    /// # Errors
    /// If a body is not there, or no longer; else as [`Self::add_joints`].
    fn add_joints_between(&mut self, joints: &[(Option<BodyId>, BodyId, Joint)]) -> Result<Vec<JointId>, WorldError> {
        let (compiled, population) = self.host_mut().people();
        let joints = population.between(compiled, joints)?;
        self.add_joints(&joints)
    }

    /// Removes joints: all of them or, with an error, none.
    ///
    /// # Errors
    /// If a joint is not there, or no longer, or given twice.
    fn remove_joints(&mut self, ids: &[JointId]) -> Result<(), WorldError> {
        let host = self.host_mut();
        host.keep_origin();
        let (compiled, population) = host.people();
        let change = population.remove_joints(compiled, ids)?;
        host.alter();
        host.let_go(&change);
        self.follow(&change, None)
    }

    /// Removes bodies and their joints: all of them or, with an error, none.
    ///
    /// # Errors
    /// If a body is not there, or no longer, or given twice.
    fn remove_bodies(&mut self, ids: &[BodyId]) -> Result<(), WorldError> {
        let host = self.host_mut();
        host.keep_origin();
        let (compiled, population) = host.people();
        let change = population.remove(compiled, ids)?;
        host.alter();
        host.let_go(&change);
        self.follow(&change, None)
    }

    /// Sets gravity from the next step on, m/s², and wakes all bodies, unless it is the same.
    ///
    /// # Errors
    /// A coordinate is not a number, or out of the range of a scene; or the device is lost.
    fn set_gravity(&mut self, gravity: glam::Vec2) -> Result<(), WorldError> {
        check_gravity(gravity)?;
        let host = self.host_mut();
        host.fingerprint();
        if host.compiled.change_gravity(gravity.into()) {
            self.follow(&Change::default(), None)?;
            self.host_mut().wake_all();
        }
        Ok(())
    }

    /// Makes what the scene's emitters make before this step, and lets go of what they let go of. Does nothing if that is
    /// done.
    ///
    /// # Errors
    /// If it does not fit the device, which can only be if bodies or joints were added by hand; then nothing is done.
    fn emit_due(&mut self, mut recorder: Option<&mut Recorder>) -> Result<(), WorldError> {
        let host = self.host();
        let steps = host.steps;
        let Some(population) = host.population.as_ref().filter(|population| population.is_due(steps)) else {
            return Ok(());
        };
        // For what the script alone makes there is room; else larger buffers may be refused.
        let backup = (population.by_hand() && self.is_limited()).then(|| host.backup());
        let host = self.host_mut();
        host.kept = OnceLock::new();
        let (compiled, population) = host.people();
        let left = population.retire(compiled, steps);
        if let Some(change) = &left {
            // Before others have their places.
            host.let_go(change);
        }
        let (compiled, population) = host.people();
        let [came, tied] = population.emit(compiled, steps);
        wake_left(&host.compiled, &tied, &mut host.commands);
        self.make_room_or_undo(backup, recorder.as_deref_mut())?;
        for change in left.iter().chain([&came, &tied]) {
            self.follow(change, recorder.as_deref_mut())?;
        }
        Ok(())
    }

    /// Continues from bytes, in a world that has done no step if there were changes by hand, which it sees first.
    ///
    /// # Errors
    /// If an entry of the journal is refused, the bytes are not of this world, or it does not fit the device.
    fn load_with(&mut self, bytes: &[u8], journal: &Journal) -> Result<(), WorldError> {
        if !journal.is_empty() {
            let relived = self.host().relived_from(bytes, journal)?;
            self.become_another(relived)?;
        }
        let snapshot = Snapshot::from_bytes(bytes, self.host().compiled.fingerprint())?;
        self.restore(&snapshot)
    }

    /// Becomes a world of other bodies, which waits for a snapshot to go on from.
    ///
    /// # Errors
    /// If it does not fit the device; then nothing is done.
    fn become_another(&mut self, other: Rewound) -> Result<(), WorldError> {
        let host = self.host_mut();
        host.keep_origin();
        let backup = host.backup();
        (host.compiled, host.population) = (other.compiled, Some(other.population));
        self.make_room_or_undo(Some(backup), None)?;
        let host = self.host_mut();
        host.altered = other.altered;
        host.kept = OnceLock::new();
        let all = Change::all(&host.compiled);
        self.follow(&all, None)?;
        self.clear_lists();
        Ok(())
    }

    /// State between two steps, unless a step was given up. Waits for the device.
    ///
    /// # Errors
    /// If the device is lost, or a step was given up.
    fn snapshot(&mut self) -> Result<Snapshot, WorldError> {
        if self.host().limits.has_given_up() { Err(WorldError::Cancelled) } else { self.state() }
    }

    /// Continues from a snapshot, to the same bits, with the bodies and joints of that time. Waits for the device.
    ///
    /// # Errors
    /// If it is of another world, or the device is lost; then nothing has changed.
    fn restore(&mut self, snapshot: &Snapshot) -> Result<(), WorldError> {
        let rewound = self.host().rewound(snapshot)?;
        self.settle()?;
        if let Some(rewound) = rewound {
            self.become_another(rewound)?;
        }
        self.make_room_for(snapshot)?;
        self.resume(snapshot, Untaken::Dropped, None);
        Ok(())
    }

    /// Takes host and tables to a snapshot that was checked, of which there is room for all.
    fn resume(&mut self, snapshot: &Snapshot, untaken: Untaken, recorder: Option<&mut Recorder>) {
        self.host_mut().go_back(snapshot, untaken);
        self.put(snapshot, recorder);
    }

    /// Copies the host if its engine may refuse room for so much more, as everything shall be as it was then.
    fn backup_for(&self, more: Parts) -> Option<Backup> {
        (!self.has_room_for(more)).then(|| self.host().backup())
    }

    fn make_room_or_undo(&mut self, backup: Option<Backup>, recorder: Option<&mut Recorder>) -> Result<(), WorldError> {
        let made = self.make_room(recorder);
        if let (Err(_), Some(Backup { compiled, population, commands })) = (&made, backup) {
            let host = self.host_mut();
            (host.compiled, host.population, host.commands) = (compiled, population, commands);
        }
        made
    }
}

impl Host {
    /// The scene and the population after the changes of a journal, up to the step of these bytes.
    ///
    /// # Errors
    /// If this world has done a step, or an entry is refused.
    pub fn relived_from(&self, bytes: &[u8], journal: &Journal) -> Result<Rewound, WorldError> {
        if self.steps > 0 {
            #[allow(clippy::cast_possible_truncation, reason = "for the message")]
            let found = self.steps as usize;
            return Err(SnapshotError { what: "steps done before it", found, expected: 0 }.into());
        }
        let mut compiled = self.compiled.clone();
        let mut population = Population::new(&compiled);
        population.relive(&mut compiled, journal, Snapshot::step_of(bytes)?)?;
        Ok(Rewound { compiled, population, altered: true })
    }
}

impl Rewound {
    pub fn compiled(&self) -> &Compiled {
        &self.compiled
    }
}

/// The verbs of a world, the same for every engine. In an `impl` of a type with `host`, `host_mut` and `with_engine`.
macro_rules! world_verbs {
    () => {
        /// Gives a command to a body. It acts at the start of the next step. Nothing waits.
        ///
        /// # Errors
        /// If there is no such body, it does not move in this way, or a value is not finite.
        pub fn command(
            &mut self,
            body: usize,
            command: $crate::command::Command,
        ) -> Result<(), $crate::command::CommandError> {
            self.host_mut().command(body, command)
        }

        /// Gives a command to a joint. It acts at the start of the next step. Nothing waits.
        ///
        /// # Errors
        /// If there is no such joint, it has nothing of the kind, or a value is out of range.
        pub fn command_joint(
            &mut self,
            joint: $crate::population::JointId,
            command: $crate::command::JointCommand,
        ) -> Result<(), $crate::command::CommandError> {
            self.host_mut().command_joint(joint, command)
        }

        /// Wakes every body at the start of the next step, where bodies sleep ([`crate::Settings::sleep`]).
        pub fn wake_all(&mut self) {
            self.host_mut().wake_all();
        }

        /// Sets gravity from the next step on, m/s², and wakes all bodies, unless it is the same.
        ///
        /// # Errors
        /// A coordinate is not a number, or out of the range of a scene: then nothing has changed. Or the device is lost.
        pub fn set_gravity(&mut self, gravity: glam::Vec2) -> Result<(), $crate::world::WorldError> {
            self.with_engine(|engine| engine.set_gravity(gravity))
        }

        /// Adds bodies to the running world: all of them or, with an error, none. They take part from the next step on.
        /// Slots of bodies that were removed are given out again, the lowest first, once a step has run without them. On a
        /// device they are there in what is submitted next. Nothing waits.
        ///
        /// # Errors
        /// The first value that is out of range, as for a scene; more than 16 half planes beside those of the scene; or if
        /// they do not fit the device.
        pub fn add_bodies(
            &mut self,
            bodies: &[$crate::scene::Body],
        ) -> Result<Vec<$crate::population::BodyId>, $crate::world::WorldError> {
            self.with_engine(|engine| engine.add_bodies(bodies))
        }

        /// Removes bodies and their joints from the running world: all of them or, with an error, none. Nothing waits.
        ///
        /// # Errors
        /// If a body is not there, or no longer, or given twice; or the device is lost.
        pub fn remove_bodies(&mut self, ids: &[$crate::population::BodyId]) -> Result<(), $crate::world::WorldError> {
            self.with_engine(|engine| engine.remove_bodies(ids))
        }

        /// Adds joints to the running world: all of them or, with an error, none. They hold from the next step on. Their
        /// bodies are given by their slots. A length or a reference angle that is not given is as the bodies stand when that
        /// step begins, a length then at least 0.1 mm. Indices of joints that are gone are given out again, the lowest first.
        /// Nothing waits.
        ///
        /// # Errors
        /// The first value that is out of range, as for a scene; or if they do not fit the device.
        pub fn add_joints(
            &mut self,
            joints: &[$crate::scene::Joint],
        ) -> Result<Vec<$crate::population::JointId>, $crate::world::WorldError> {
            self.with_engine(|engine| engine.add_joints(joints))
        }

        /// Adds joints between bodies by their ids, as [`Self::add_joints`]; `None` is the world. The bodies that a joint
        /// itself names do not count. An id never means the newcomer in a slot whose body has gone.
        ///
        /// # Errors
        /// If a body is not there, or no longer; else as [`Self::add_joints`].
        pub fn add_joints_between(
            &mut self,
            joints: &[(Option<$crate::population::BodyId>, $crate::population::BodyId, $crate::scene::Joint)],
        ) -> Result<Vec<$crate::population::JointId>, $crate::world::WorldError> {
            self.with_engine(|engine| engine.add_joints_between(joints))
        }

        /// Removes joints from the running world: all of them or, with an error, none. Their bodies touch again. Nothing
        /// waits.
        ///
        /// # Errors
        /// If a joint is not there, or no longer, or given twice; or the device is lost.
        pub fn remove_joints(&mut self, ids: &[$crate::population::JointId]) -> Result<(), $crate::world::WorldError> {
            self.with_engine(|engine| engine.remove_joints(ids))
        }

        /// Id of the joint with an index, if there is one: of the scene's, its place there.
        #[must_use]
        pub fn joint_id(&self, index: usize) -> Option<$crate::population::JointId> {
            self.host().joint_id(index)
        }

        /// Id of the body in a slot, if there is one. An id outlives its body; a slot is given to another.
        pub fn body_id(&mut self, index: usize) -> Option<$crate::population::BodyId> {
            self.host_mut().body_id(index)
        }

        /// Continues from a snapshot, to the same bits: of this world, also if bodies or joints came or went since, or of
        /// another world of the same scene. Bodies and joints, their ids, and gravity are those of that time. Events of later
        /// steps that were not taken are dropped: those steps have not happened. On a device this waits.
        ///
        /// From bytes ([`crate::Snapshot::from_bytes`]) a snapshot has no bodies or joints that came by hand
        /// ([`crate::World::load_with`]).
        ///
        /// # Errors
        /// If it is of another scene, or of a population that neither it nor this world knows; or the device is lost. Then
        /// nothing has changed.
        pub fn restore(&mut self, snapshot: &$crate::snapshot::Snapshot) -> Result<(), $crate::world::WorldError> {
            self.with_engine(|engine| engine.restore(snapshot))
        }

        /// Sets how many contacts a step may have, those of sleeping bodies included. Of more it fails with
        /// [`crate::WorldError::TooManyContacts`] before there is memory for them. Without it the limit is 1,048,576, or 32
        /// a shape if that is more.
        pub fn set_contact_limit(&mut self, limit: usize) {
            self.host_mut().limits.set_contacts(limit);
        }

        /// Contacts that a step may have.
        #[must_use]
        pub fn contact_limit(&self) -> usize {
            self.host().contact_limit()
        }

        /// Steps that are known to have dropped contacts or events because a buffer was full. The CPU never does.
        #[must_use]
        pub fn overflowed_steps(&self) -> &[u64] {
            &self.host().overflowed
        }

        /// The scene as it is laid out now.
        #[must_use]
        pub fn compiled(&self) -> &$crate::scene::Compiled {
            &self.host().compiled
        }

        /// Steps done; on a device, steps recorded.
        #[must_use]
        pub fn steps(&self) -> u64 {
            self.host().steps
        }

        /// World that a snapshot of now would be of, for a state that was put together elsewhere.
        #[must_use]
        pub fn lineage(&self) -> $crate::snapshot::Lineage {
            self.host().lineage()
        }
    };
}
pub(crate) use world_verbs;
