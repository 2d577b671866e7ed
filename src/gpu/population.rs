//! Bodies and joints that come and go: what the host decided ([`crate::population`]) reaches the device.

use super::GpuWorld;
use super::memory::{Features, Group};
use super::record::joint_runs;
use super::writes::Writes;
use crate::command::{forget, wake_left};
use crate::population::{BodyId, Change, JointId, Journal, Population, joint_id};
use crate::scene::{Body, Compiled, Joint, JointChange, Joints, MOST_ROWS};
use crate::snapshot::first_islands;
use crate::step::plan;
use crate::types::{JOINT_COLORS, MAX_VERTICES, Params, VACANT};
use crate::world::WorldError;

/// Joints for which there is room in any world.
const SPARE_JOINTS: usize = 64;
/// Words of a list of colours that holds a few joints.
const FEW_WORDS: usize = 256;

/// Elements for which the buffers have room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Room {
    pub bodies: usize,
    pub shapes: usize,
    pub vertices: usize,
    pub cells: usize,
    pub joints: usize,
    pub rows: usize,
    /// Words of [`crate::scene::Joints::starts`].
    pub order: usize,
}

impl Room {
    /// What a world starts with: what it needs, room for a few joints, so that one that a user drags a body with
    /// costs no new buffers, and for all that the scene's emitters will make.
    pub fn first(compiled: &Compiled) -> Self {
        let need = Self::of(compiled);
        let more = compiled.script.most;
        Self {
            bodies: need.bodies + more.bodies,
            shapes: need.shapes + more.shapes,
            vertices: need.vertices + more.vertices,
            cells: need.cells,
            joints: need.joints + SPARE_JOINTS + more.joints,
            rows: need.rows + 4 * SPARE_JOINTS + MOST_ROWS * more.joints,
            // Lists of colours that are laid anew have room for half as many again, and more than one may be.
            order: need.order.max(FEW_WORDS) + need.joints / 2 + SPARE_JOINTS + 2 * more.joints,
        }
    }

    /// What a world needs.
    pub fn of(compiled: &Compiled) -> Self {
        Self {
            bodies: compiled.bodies.len(),
            shapes: compiled.shapes.len(),
            vertices: compiled.vertices.len(),
            cells: compiled.params.cell_count as usize,
            joints: compiled.joints.joints.len(),
            rows: compiled.joints.rows.len(),
            order: compiled.joints.starts.len(),
        }
    }

    /// Room for either of two worlds.
    pub fn and(self, other: Self) -> Self {
        Self {
            bodies: self.bodies.max(other.bodies),
            shapes: self.shapes.max(other.shapes),
            vertices: self.vertices.max(other.vertices),
            cells: self.cells.max(other.cells),
            joints: self.joints.max(other.joints),
            rows: self.rows.max(other.rows),
            order: self.order.max(other.order),
        }
    }

    fn holds(self, need: Self) -> bool {
        self.bodies >= need.bodies
            && self.shapes >= need.shapes
            && self.vertices >= need.vertices
            && self.cells >= need.cells
            && self.holds_joints(need)
    }

    fn holds_joints(self, need: Self) -> bool {
        self.joints >= need.joints && self.rows >= need.rows && self.order >= need.order
    }

    /// Half as much again, so that a body at a time does not mean new buffers each time.
    fn grown(self, need: Self) -> Self {
        let grow = |has: usize, needs: usize| if needs > has { needs + needs / 2 } else { has };
        Self {
            bodies: grow(self.bodies, need.bodies),
            shapes: grow(self.shapes, need.shapes),
            vertices: grow(self.vertices, need.vertices),
            cells: grow(self.cells, need.cells),
            joints: grow(self.joints, need.joints),
            rows: grow(self.rows, need.rows),
            order: grow(self.order, need.order),
        }
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
        let mut population = self.take_population();
        // Enough in any case, also if no free slot is taken.
        let new_shapes: usize = bodies.iter().map(|body| body.shapes.len()).sum();
        let now = Room::of(&self.compiled);
        let most = Room {
            bodies: now.bodies + bodies.len(),
            shapes: now.shapes + new_shapes,
            vertices: now.vertices + MAX_VERTICES as usize * new_shapes,
            ..now
        };
        // Larger buffers may be refused; then everything is as it was.
        let backup = (!self.engine.room.holds(most)).then(|| (self.compiled.clone(), population.clone()));
        let added = population.add(&mut self.compiled, bodies, self.steps);
        self.population = Some(population);
        let (ids, change) = added?;
        if let Err(error) = self.make_room(None) {
            if let Some((compiled, population)) = backup {
                (self.compiled, self.population) = (compiled, Some(population));
            }
            return Err(error);
        }
        self.follow(&change, None)?;
        Ok(ids)
    }

    /// Makes what the scene's emitters make before this step, and lets go of what they let go of: in what is submitted
    /// next, or at this place of the caller's encoder. Does nothing if that is done.
    ///
    /// # Errors
    /// If it does not fit the device, which can only be if bodies or joints were added by hand; then nothing is done.
    pub(crate) fn emit(&mut self, mut recorded: Option<&mut wgpu::CommandEncoder>) -> Result<(), WorldError> {
        let Some(mut population) = self.population.take_if(|population| population.is_due(self.steps)) else {
            return Ok(());
        };
        // For what the script alone makes there is room; else larger buffers may be refused.
        let backup = population.by_hand().then(|| (self.compiled.clone(), population.clone(), self.commands.clone()));
        let left = population.retire(&mut self.compiled, self.steps);
        if let Some(change) = &left {
            // Before others have their places.
            self.let_go(change);
        }
        let [came, tied] = population.emit(&mut self.compiled, self.steps);
        wake_left(&self.compiled, &tied, &mut self.commands);
        self.population = Some(population);
        if let Err(error) = self.make_room(recorded.as_deref_mut()) {
            if let Some((compiled, population, commands)) = backup {
                (self.compiled, self.population, self.commands) = (compiled, Some(population), commands);
            }
            return Err(error);
        }
        for change in left.iter().chain([&came, &tied]) {
            self.follow(change, recorded.as_deref_mut())?;
        }
        Ok(())
    }

    /// Lets a world that has done no step see the changes of a journal, up to a step.
    ///
    /// # Errors
    /// If an entry is refused or it does not fit the device; then nothing is done.
    pub(crate) fn relive(&mut self, journal: &Journal, until: u64) -> Result<(), WorldError> {
        let mut compiled = self.compiled.clone();
        let mut population = Population::new(&compiled);
        population.relive(&mut compiled, journal, until)?;
        self.become_another(compiled, population)
    }

    /// The world of a snapshot in which the scene's emitters had made other bodies by then.
    ///
    /// # Errors
    /// If it does not fit the device; then nothing is done.
    pub(super) fn become_another(&mut self, compiled: Compiled, population: Population) -> Result<(), WorldError> {
        let before = (std::mem::replace(&mut self.compiled, compiled), self.population.replace(population));
        if let Err(error) = self.make_room(None) {
            (self.compiled, self.population) = before;
            return Err(error);
        }
        self.follow(&Change::all(&self.compiled), None)?;
        // Of shapes that are not there the lists are empty, as they are before their first step.
        for name in ["pair_starts_0", "pair_starts_1", "sleeping_starts"] {
            let bytes = self.engine.buffers[name].size();
            self.engine.context.queue().write_buffer(
                &self.engine.buffers[name],
                0,
                &vec![0; usize::try_from(bytes).unwrap_or(0)],
            );
        }
        Ok(())
    }

    /// Adds joints to the running world: all of them or, with an error, none. They hold in what is submitted next. Nothing
    /// waits.
    ///
    /// # Errors
    /// The first value that is out of range, as for a scene; or if they do not fit the device.
    pub fn add_joints(&mut self, joints: &[Joint]) -> Result<Vec<JointId>, WorldError> {
        let mut population = self.take_population();
        let now = Room::of(&self.compiled);
        // A list of colours that is laid anew has room for half as many again in each.
        let order = 2 * (now.order + joints.len()) + FEW_WORDS;
        let most = Room { joints: now.joints + joints.len(), rows: now.rows + MOST_ROWS * joints.len(), order, ..now };
        let backup = (!self.engine.room.holds(most)).then(|| (self.compiled.clone(), population.clone()));
        let added = population.add_joints(&mut self.compiled, joints);
        self.population = Some(population);
        let (ids, change) = added?;
        if let Err(error) = self.make_room(None) {
            if let Some((compiled, population)) = backup {
                (self.compiled, self.population) = (compiled, Some(population));
            }
            return Err(error);
        }
        wake_left(&self.compiled, &change, &mut self.commands);
        self.follow(&change, None)?;
        Ok(ids)
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
        let population = self.take_population();
        let joints = population.between(&self.compiled, joints);
        self.population = Some(population);
        self.add_joints(&joints?)
    }

    /// Removes joints from the running world: all of them or, with an error, none. Nothing waits.
    ///
    /// # Errors
    /// If a joint is not there, or no longer, or given twice.
    pub fn remove_joints(&mut self, ids: &[JointId]) -> Result<(), WorldError> {
        let mut population = self.take_population();
        let removed = population.remove_joints(&mut self.compiled, ids);
        self.population = Some(population);
        let change = removed?;
        self.let_go(&change);
        self.follow(&change, None)
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
        let mut population = self.take_population();
        let removed = population.remove(&mut self.compiled, ids);
        self.population = Some(population);
        let change = removed?;
        self.let_go(&change);
        self.follow(&change, None)
    }

    /// The body in a slot, if there is one.
    pub fn body_id(&mut self, index: usize) -> Option<BodyId> {
        let population = self.take_population();
        let id = population.id(&self.compiled, index);
        self.population = Some(population);
        id
    }

    /// Commands to what has gone go with it, and what leant on it wakes.
    fn let_go(&mut self, change: &Change) {
        forget(&mut self.commands, &self.compiled);
        wake_left(&self.compiled, change, &mut self.commands);
    }

    fn take_population(&mut self) -> Population {
        self.population.take().unwrap_or_else(|| Population::new(&self.compiled))
    }

    /// Brings the device to what the host has: with what is submitted next, or at this place of the caller's encoder.
    fn follow(&mut self, change: &Change, recorded: Option<&mut wgpu::CommandEncoder>) -> Result<(), WorldError> {
        self.asked = self.steps;
        let plan = plan(&self.compiled.settings, self.compiled.bounces, self.compiled.joints.count() > 0);
        if plan != self.plan {
            self.engine.follow(&plan);
            self.plan = plan;
        }
        let mut writes = Writes::default();
        if !change.bodies.is_empty() {
            self.query_load.forget_bodies();
            writes.all("vertices", &self.compiled.vertices);
            if self.compiled.settings.sleep {
                // Who slept in a slot that was left has yet to be woken by it.
                let there = |&&body: &&u32| self.compiled.bodies[body as usize].kind != VACANT;
                let came = change.bodies.iter().filter(there).copied().collect();
                writes.some("islands", &first_islands(&self.compiled), &came);
            }
        }
        writes.some("bodies", &self.compiled.bodies, &change.bodies);
        writes.some("poses", &self.compiled.poses, &change.bodies);
        writes.some("states", &self.compiled.states, &change.bodies);
        writes.some("movers", &self.compiled.movers, &change.shapes);
        if change.grid {
            writes.all("shapes", &self.compiled.shapes);
        } else {
            writes.some("shapes", &self.compiled.shapes, &change.shapes);
        }
        self.follow_joints(&change.joints, &mut writes);
        self.engine.tell(&writes, 0, recorded);
        // Most of the time nothing but a few words has changed.
        if !self.engine.is_bound_for(&self.compiled.params) {
            self.bind();
        }
        self.engine.context.check()?;
        Ok(())
    }

    /// What the device knows better of other joints, their impulses, angles and goals, stays where it is.
    fn follow_joints(&mut self, change: &JointChange, writes: &mut Writes) {
        let Joints { joints, rows, states, starts, ties, .. } = &self.compiled.joints;
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
        let Params { tie_heads, tie_links, .. } = self.compiled.params;
        writes.some_from("partners", 4 * u64::from(tie_heads), &ties.heads, &change.heads);
        writes.some_from("partners", 4 * u64::from(tie_links), &ties.links, &change.links);
        if !change.places.is_empty() {
            self.engine.joint_runs = joint_runs([&self.compiled.joints]);
        }
    }

    /// Larger buffers where these are too small, with what the device alone knows carried over.
    fn make_room(&mut self, recorded: Option<&mut wgpu::CommandEncoder>) -> Result<(), WorldError> {
        let need = Room::of(&self.compiled);
        // Materials that none had before. (What was granted once stays.)
        let features = self.engine.features.and(Features::of(&self.compiled));
        let materials = features != self.engine.features;
        if self.engine.room.holds(need) && !materials {
            return Ok(());
        }
        let before = self.engine.before();
        let old_room = self.engine.room;
        let undo = |world: &mut Self, error| {
            world.engine.undo(&before);
            world.engine.place(&mut world.compiled.params);
            Err(error)
        };
        let mut copies = Vec::new();
        if materials {
            self.engine.features = features;
            if let Err(error) = self.create_tables(|group| group == Group::Contacts) {
                return undo(self, error);
            }
            for name in ["contacts_0", "contacts_1", "manifolds_0", "manifolds_1", "sleeping"] {
                copies.push((name, before.buffers[name].size()));
            }
        }
        if !old_room.holds(need) {
            const BODIES: &[&str] =
                &["poses", "states", "counters", "pair_starts_0", "pair_starts_1", "islands", "sleeping_starts"];
            const JOINTS: &[&str] = &["joints", "joint_rows", "joint_states", "joint_impulses"];
            self.engine.room = old_room.grown(need);
            // Many bodies are not laid out again for a few joints.
            let only_joints = Room { joints: need.joints, rows: need.rows, order: need.order, ..old_room }.holds(need);
            let created =
                self.create_tables(|group| group == Group::Joints || (group == Group::Bodies && !only_joints));
            if let Err(error) = created {
                return undo(self, error);
            }
            for &name in JOINTS.iter().chain(if only_joints { &[] } else { BODIES }) {
                copies.push((name, before.buffers[name].size().min(self.engine.buffers[name].size())));
            }
        }
        let copy = |encoder: &mut wgpu::CommandEncoder| {
            for (name, bytes) in copies {
                encoder.copy_buffer_to_buffer(&before.buffers[name], 0, &self.engine.buffers[name], 0, bytes);
            }
        };
        if let Some(encoder) = recorded {
            copy(encoder);
        } else {
            let mut encoder = self.engine.encoder();
            copy(&mut encoder);
            self.engine.context.queue().submit([encoder.finish()]);
        }
        Ok(())
    }
}
