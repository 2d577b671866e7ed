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

mod engine;
mod verbs;

use std::sync::{Arc, OnceLock};

pub(crate) use engine::WorldEngine;
pub(crate) use verbs::world_verbs;

use crate::cancel::StepLimits;
use crate::command::{Command, CommandError, JointCommand, forget, rouse, wake_all, wake_left};
use crate::event::Event;
use crate::population::{BodyId, Change, JointId, Journal, Population, body_of_slot, ends, joint_id, slot_of};
use crate::scene::{Body, Compiled};
use crate::snapshot::{Lineage, Moment, Snapshot, SnapshotError, SnapshotFileError};
use crate::types::{self, Pose};
use crate::world::WorldError;

/// Commands of the caller to a device, at whose end a change is recorded. None where the engine has its tables at hand.
#[cfg(feature = "gpu")]
pub(crate) type Recorder = wgpu::CommandEncoder;

/// Commands of the caller to a device, of which there is none in a build without the feature `gpu`.
#[cfg(not(feature = "gpu"))]
pub(crate) enum Recorder {}

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

    /// Slot of a body.
    ///
    /// # Errors
    /// If there is no such body, or no longer.
    pub fn slot_of(&self, body: BodyId) -> Result<usize, CommandError> {
        slot_of(&self.compiled, self.population.as_ref(), body)
    }

    /// Puts a command to the body in a slot behind the others. Nothing waits. With `stays`, the command puts the body exactly
    /// where it is: from a position and an angle the same pose comes but for the last bits.
    ///
    /// # Errors
    /// If it does not move in this way, or a value is not finite.
    pub fn command_slot(&mut self, slot: usize, command: Command, stays: Option<Pose>) -> Result<(), CommandError> {
        let first = self.commands.len();
        let flat = command.push(&self.compiled, slot, &mut self.commands)?;
        if let Some(pose) = stays {
            (self.commands[first].value, self.commands[first].other) = (pose.position, pose.rotation);
        }
        self.asked = self.steps;
        // The tables learn it with the step; this copy is for snapshots.
        flat.mirror(&mut self.compiled.bodies[slot]);
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
    pub fn body_id(&self, index: usize) -> Option<BodyId> {
        body_of_slot(&self.compiled, self.population.as_ref(), index)
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
        let Self { compiled, population, events: heard, .. } = self;
        heard.extend(events.into_iter().map(|event| Event::new(compiled, population.as_ref(), step, &event)));
        if let Some(population) = population {
            population.forget_owners(step);
        }
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
        self.forget_kept();
    }

    /// Notes that bodies or joints came or went: the next snapshot is of another population.
    fn forget_kept(&mut self) {
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
