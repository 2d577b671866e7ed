//! Bodies and joints that come and go: what the host decided ([`population`](crate::low_level::population)) reaches the device. It is the same for
//! a world alone and for one of many ([`Peopled`]).

use super::GpuWorld;
use super::engine::Engine;
use super::memory::Features;
use super::record::joint_runs;
use super::room::{FEW_WORDS, Room};
use super::writes::Writes;
use crate::command::{forget, wake_left};
use crate::population::{BodyId, Change, JointId, Journal, Population, joint_id};
use crate::scene::{Body, Compiled, Joint, JointChange, Joints, MOST_ROWS};
use crate::snapshot::{Snapshot, first_islands};
use crate::step::plan;
use crate::types::{self, JOINT_COLORS, MAX_VERTICES, Params, VACANT};
use crate::world::WorldError;

/// What the host knows of a world.
#[derive(Debug)]
pub(super) struct Host<'a> {
    pub compiled: &'a mut Compiled,
    pub population: &'a mut Option<Population>,
    /// As it began, if that may be gone back to where other bodies were there.
    pub origin: Option<&'a Compiled>,
    pub commands: &'a mut Vec<types::Command>,
    pub steps: u64,
}

impl Host<'_> {
    fn people(&mut self) -> (&mut Compiled, &mut Population) {
        let Self { compiled, population, .. } = self;
        let population = population.get_or_insert_with(|| Population::new(compiled));
        (compiled, population)
    }

    /// Commands to what has gone go with it, and what leant on it wakes.
    fn let_go(&mut self, change: &Change) {
        forget(self.commands, self.compiled);
        wake_left(self.compiled, change, self.commands);
    }

    /// What may have to be gone back to.
    fn backup(&self) -> Backup {
        (self.compiled.clone(), self.population.clone(), self.commands.clone())
    }
}

type Backup = (Compiled, Option<Population>, Vec<types::Command>);

/// A world in which bodies and joints come and go: one alone, or one of many. What is told to the device here holds in what
/// is submitted next, or from this place of the caller's encoder on.
pub(super) trait Peopled {
    fn host(&mut self) -> Host<'_>;

    /// Elements for which the tables have room.
    fn room(&self) -> Room;

    /// Larger tables where these are too small for what the host has.
    ///
    /// # Errors
    /// If they do not fit the device; then nothing is done.
    fn make_room(&mut self, recorded: Option<&mut wgpu::CommandEncoder>) -> Result<(), WorldError>;

    /// Brings the device to what the host has.
    ///
    /// # Errors
    /// If the device is lost.
    fn follow(&mut self, change: &Change, recorded: Option<&mut wgpu::CommandEncoder>) -> Result<(), WorldError>;

    /// Of shapes that are not there the lists are empty, as they are before their first step.
    fn clear_lists(&mut self);

    /// Adds bodies: all of them or, with an error, none.
    ///
    /// # Errors
    /// The first value that is out of range; or if they do not fit the device.
    fn bring(&mut self, bodies: &[Body]) -> Result<Vec<BodyId>, WorldError> {
        // Enough in any case, also if no free slot is taken.
        let new_shapes: usize = bodies.iter().map(|body| body.shapes.len()).sum();
        let now = Room::of(self.host().compiled);
        let most = Room {
            bodies: now.bodies + bodies.len(),
            shapes: now.shapes + new_shapes,
            vertices: now.vertices + MAX_VERTICES as usize * new_shapes,
            ..now
        };
        let backup = self.backup_unless_room(most);
        let mut host = self.host();
        let steps = host.steps;
        let (compiled, population) = host.people();
        let (ids, change) = population.add(compiled, bodies, steps)?;
        self.make_room_or_undo(backup, None)?;
        self.follow(&change, None)?;
        Ok(ids)
    }

    /// Adds joints: all of them or, with an error, none.
    ///
    /// # Errors
    /// The first value that is out of range; or if they do not fit the device.
    fn tie(&mut self, joints: &[Joint]) -> Result<Vec<JointId>, WorldError> {
        let now = Room::of(self.host().compiled);
        // A list of colours that is laid anew has room for half as many again in each.
        let order = 2 * (now.order + joints.len()) + FEW_WORDS;
        let most = Room { joints: now.joints + joints.len(), rows: now.rows + MOST_ROWS * joints.len(), order, ..now };
        let backup = self.backup_unless_room(most);
        let mut host = self.host();
        let (compiled, population) = host.people();
        let (ids, change) = population.add_joints(compiled, joints)?;
        self.make_room_or_undo(backup, None)?;
        let Host { compiled, commands, .. } = self.host();
        wake_left(compiled, &change, commands);
        self.follow(&change, None)?;
        Ok(ids)
    }

    /// As [`Self::tie`], of bodies by their ids: `None` is the world.
    ///
    /// # Errors
    /// If a body is not there, or no longer; else as [`Self::tie`].
    fn tie_between(&mut self, joints: &[(Option<BodyId>, BodyId, Joint)]) -> Result<Vec<JointId>, WorldError> {
        let mut host = self.host();
        let (compiled, population) = host.people();
        let joints = population.between(compiled, joints)?;
        self.tie(&joints)
    }

    /// Removes joints: all of them or, with an error, none.
    ///
    /// # Errors
    /// If a joint is not there, or no longer, or given twice.
    fn untie(&mut self, ids: &[JointId]) -> Result<(), WorldError> {
        let mut host = self.host();
        let (compiled, population) = host.people();
        let change = population.remove_joints(compiled, ids)?;
        host.let_go(&change);
        self.follow(&change, None)
    }

    /// Removes bodies and their joints: all of them or, with an error, none.
    ///
    /// # Errors
    /// If a body is not there, or no longer, or given twice.
    fn send_away(&mut self, ids: &[BodyId]) -> Result<(), WorldError> {
        let mut host = self.host();
        let (compiled, population) = host.people();
        let change = population.remove(compiled, ids)?;
        host.let_go(&change);
        self.follow(&change, None)
    }

    /// The body in a slot, if there is one.
    fn body_in(&mut self, index: usize) -> Option<BodyId> {
        let mut host = self.host();
        let (compiled, population) = host.people();
        population.id(compiled, index)
    }

    /// Makes what the scene's emitters make before this step, and lets go of what they let go of. Does nothing if that is
    /// done.
    ///
    /// # Errors
    /// If it does not fit the device, which can only be if bodies or joints were added by hand; then nothing is done.
    fn emit_due(&mut self, mut recorded: Option<&mut wgpu::CommandEncoder>) -> Result<(), WorldError> {
        let mut host = self.host();
        let steps = host.steps;
        if !host.population.as_ref().is_some_and(|population| population.is_due(steps)) {
            return Ok(());
        }
        // For what the script alone makes there is room; else larger buffers may be refused.
        let by_hand = host.population.as_ref().is_some_and(Population::by_hand);
        let backup = by_hand.then(|| host.backup());
        let (compiled, population) = host.people();
        let left = population.retire(compiled, steps);
        if let Some(change) = &left {
            // Before others have their places.
            host.let_go(change);
        }
        let (compiled, population) = host.people();
        let [came, tied] = population.emit(compiled, steps);
        wake_left(host.compiled, &tied, host.commands);
        self.make_room_or_undo(backup, recorded.as_deref_mut())?;
        for change in left.iter().chain([&came, &tied]) {
            self.follow(change, recorded.as_deref_mut())?;
        }
        Ok(())
    }

    /// Lets a world that has done no step see the changes of a journal, up to a step.
    ///
    /// # Errors
    /// If an entry is refused or it does not fit the device; then nothing is done.
    fn live_through(&mut self, journal: &Journal, until: u64) -> Result<(), WorldError> {
        let mut compiled = self.host().compiled.clone();
        let mut population = Population::new(&compiled);
        population.relive(&mut compiled, journal, until)?;
        self.become_another(compiled, population)
    }

    /// Becomes a world of other bodies, which waits for a snapshot to go on from.
    ///
    /// # Errors
    /// If it does not fit the device; then nothing is done.
    fn become_another(&mut self, compiled: Compiled, population: Population) -> Result<(), WorldError> {
        let backup = self.host().backup();
        let host = self.host();
        *host.compiled = compiled;
        *host.population = Some(population);
        self.make_room_or_undo(Some(backup), None)?;
        let all = Change::all(self.host().compiled);
        self.follow(&all, None)?;
        self.clear_lists();
        Ok(())
    }

    /// Looks whether a snapshot is of this world. If other bodies were there then, those.
    ///
    /// # Errors
    /// If it is not.
    fn rewound(&mut self, snapshot: &Snapshot) -> Result<Option<(Compiled, Population)>, WorldError> {
        let host = self.host();
        let rewound = Population::rewind(host.origin, host.compiled, host.population.as_ref(), snapshot)?;
        match &rewound {
            Some((compiled, population)) => snapshot.check(compiled, Some(population))?,
            None => snapshot.check(host.compiled, host.population.as_ref())?,
        }
        Ok(rewound)
    }

    /// Larger buffers may be refused; then everything shall be as it was.
    fn backup_unless_room(&mut self, most: Room) -> Option<Backup> {
        let fits = self.room().holds(most);
        (!fits).then(|| self.host().backup())
    }

    fn make_room_or_undo(
        &mut self,
        backup: Option<Backup>,
        recorded: Option<&mut wgpu::CommandEncoder>,
    ) -> Result<(), WorldError> {
        let made = self.make_room(recorded);
        if let (Err(_), Some(backup)) = (&made, backup) {
            let host = self.host();
            (*host.compiled, *host.population, *host.commands) = backup;
        }
        made
    }
}

impl Peopled for GpuWorld {
    fn host(&mut self) -> Host<'_> {
        Host {
            compiled: &mut self.compiled,
            population: &mut self.population,
            origin: self.origin.as_deref(),
            commands: &mut self.commands,
            steps: self.steps,
        }
    }

    fn room(&self) -> Room {
        self.engine.room
    }

    fn make_room(&mut self, recorded: Option<&mut wgpu::CommandEncoder>) -> Result<(), WorldError> {
        let features = Features::of(&self.compiled);
        if self.engine.make_room(Room::of(&self.compiled), features, recorded)? {
            self.engine.place(&mut self.compiled.params);
        }
        Ok(())
    }

    fn follow(&mut self, change: &Change, recorded: Option<&mut wgpu::CommandEncoder>) -> Result<(), WorldError> {
        self.asked = self.steps;
        let plan = plan(&self.compiled.settings, self.compiled.bounces, self.compiled.joints.count() > 0);
        if plan != self.plan {
            self.engine.follow(&plan);
            self.plan = plan;
        }
        if !change.bodies.is_empty() {
            self.query_load.forget_bodies();
        }
        if !change.joints.places.is_empty() {
            self.engine.joint_runs = joint_runs([&self.compiled.joints]);
        }
        self.engine.tell(&told(&self.compiled, change), 0, recorded);
        // Most of the time nothing but a few words has changed.
        if !self.engine.is_bound_for(&self.compiled.params) {
            self.bind();
        }
        self.engine.context.check()?;
        Ok(())
    }

    fn clear_lists(&mut self) {
        self.engine.tell(&self.engine.cleared_lists(), 0, None);
    }
}

impl GpuWorld {
    /// Adds bodies to the running world: all of them or, with an error, none. They are there in what is submitted
    /// next; what was recorded before should be submitted before. Nothing waits.
    ///
    /// # Errors
    /// The first value that is out of range, as for a scene; more than 16 half planes beside those of the scene; or if they
    /// do not fit the device.
    pub fn add_bodies(&mut self, bodies: &[Body]) -> Result<Vec<BodyId>, WorldError> {
        self.bring(bodies)
    }

    /// Adds joints to the running world: all of them or, with an error, none. They hold in what is submitted next. Nothing
    /// waits.
    ///
    /// # Errors
    /// The first value that is out of range, as for a scene; or if they do not fit the device.
    pub fn add_joints(&mut self, joints: &[Joint]) -> Result<Vec<JointId>, WorldError> {
        self.tie(joints)
    }

    /// As [`Self::add_joints`], of bodies by their ids: `None` is the world. What the joints say of their bodies is not
    /// looked at.
    ///
    /// # Errors
    /// If a body is not there, or no longer; else as [`Self::add_joints`].
    pub fn add_joints_between(
        &mut self,
        joints: &[(Option<BodyId>, BodyId, Joint)],
    ) -> Result<Vec<JointId>, WorldError> {
        self.tie_between(joints)
    }

    /// Removes joints from the running world: all of them or, with an error, none. Nothing waits.
    ///
    /// # Errors
    /// If a joint is not there, or no longer, or given twice.
    pub fn remove_joints(&mut self, ids: &[JointId]) -> Result<(), WorldError> {
        self.untie(ids)
    }

    /// The joint with an index, if there is one.
    #[must_use]
    pub fn joint_id(&self, index: usize) -> Option<JointId> {
        joint_id(&self.compiled, index)
    }

    /// Removes bodies and their joints from the running world: all of them or, with an error, none. They
    /// are gone from what is submitted next. Nothing waits.
    ///
    /// # Errors
    /// If a body is not there, or no longer, or given twice.
    pub fn remove_bodies(&mut self, ids: &[BodyId]) -> Result<(), WorldError> {
        self.send_away(ids)
    }

    /// The body in a slot, if there is one.
    pub fn body_id(&mut self, index: usize) -> Option<BodyId> {
        self.body_in(index)
    }

    /// As `Peopled::emit_due`.
    ///
    /// # Errors
    /// Likewise.
    pub fn emit(&mut self, recorded: Option<&mut wgpu::CommandEncoder>) -> Result<(), WorldError> {
        self.emit_due(recorded)
    }

    /// As [`Peopled::live_through`].
    ///
    /// # Errors
    /// Likewise.
    pub(crate) fn relive(&mut self, journal: &Journal, until: u64) -> Result<(), WorldError> {
        self.live_through(journal, until)
    }
}

/// What the device is to know of what came or went.
pub(super) fn told(compiled: &Compiled, change: &Change) -> Writes {
    let mut writes = Writes::default();
    if !change.bodies.is_empty() {
        writes.all("vertices", &compiled.vertices);
        if compiled.settings.sleep {
            // Who slept in a slot that was left has yet to be woken by it.
            let there = |&&body: &&u32| compiled.bodies[body as usize].kind != VACANT;
            let came = change.bodies.iter().filter(there).copied().collect();
            writes.some("islands", &first_islands(compiled), &came);
        }
    }
    writes.some("bodies", &compiled.bodies, &change.bodies);
    writes.some("poses", &compiled.poses, &change.bodies);
    writes.some("states", &compiled.states, &change.bodies);
    writes.some("movers", &compiled.movers, &change.shapes);
    if change.grid {
        writes.all("shapes", &compiled.shapes);
    } else {
        writes.some("shapes", &compiled.shapes, &change.shapes);
    }
    told_of_joints(compiled, &change.joints, &mut writes);
    writes
}

/// What the device knows better of other joints, their impulses, angles and goals, stays where it is.
fn told_of_joints(compiled: &Compiled, change: &JointChange, writes: &mut Writes) {
    let Joints { joints, rows, states, starts, ties, .. } = &compiled.joints;
    writes.some("joints", joints, &change.places);
    writes.some("joint_states", states, &change.places);
    writes.some("joint_rows", rows, &change.rows);
    if !change.rows.is_empty() {
        writes.some("joint_impulses", &vec![[0.0_f32; 2]; rows.len()], &change.rows);
    }
    if change.relaid {
        writes.all("joint_starts", starts);
    } else if !change.places.is_empty() {
        writes.all("joint_starts", &starts[..2 * JOINT_COLORS as usize]);
        writes.some("joint_starts", starts, &change.order);
    }
    let Params { tie_heads, tie_links, .. } = compiled.params;
    writes.some_from("partners", 4 * u64::from(tie_heads), &ties.heads, &change.heads);
    writes.some_from("partners", 4 * u64::from(tie_links), &ties.links, &change.links);
}

impl Engine {
    /// Of shapes that a world has not got yet, the lists of contacts are empty.
    pub fn cleared_lists(&self) -> Writes {
        let mut writes = Writes::default();
        for name in ["pair_starts_0", "pair_starts_1", "sleeping_starts"] {
            writes.all(name, &vec![0_u32; self.stride(name)]);
        }
        writes
    }
}
