//! Bodies and joints that come and go, and what is asked of them.

use super::Books;
use super::CpuWorld;
use crate::command::{Command, CommandError, JointCommand, forget, rouse, wake_all, wake_left};
use crate::population::{BodyId, Change, JointId, Journal, Population, ends, joint_id, slot_of};
use crate::scene::{Body, Compiled, Joint, Joints};
use crate::step::plan;
use crate::types::{Aabb, JointFrame, Pose};
use crate::world::WorldError;

impl CpuWorld {
    /// Makes what the scene's emitters make before this step, and lets go of what they let go of.
    pub fn emit(&mut self) {
        let Some(mut population) = self.population.take_if(|population| population.is_due(self.steps)) else { return };
        if let Some(change) = population.retire(&mut self.compiled, self.steps) {
            self.let_go(&change);
        }
        let [came, tied] = population.emit(&mut self.compiled, self.steps);
        self.population = Some(population);
        self.welcome(&came);
        wake_left(&self.compiled, &tied, &mut self.commands);
        self.follow(&tied);
    }

    /// Wakes every body at the start of the next step, where bodies sleep.
    pub fn wake_all(&mut self) {
        wake_all(&self.compiled, &mut self.commands);
    }

    /// Adds bodies to the running world: all of them or, with an error, none.
    ///
    /// # Errors
    /// The first value that is out of range, as for a scene; or more than 16 half planes beside those of the scene.
    pub fn add_bodies(&mut self, bodies: &[Body]) -> Result<Vec<BodyId>, WorldError> {
        let population = self.population.get_or_insert_with(|| Population::new(&self.compiled));
        let (ids, change) = population.add(&mut self.compiled, bodies, self.steps)?;
        self.welcome(&change);
        Ok(ids)
    }

    pub(super) fn welcome(&mut self, change: &Change) {
        self.follow(change);
        for &body in change.bodies.iter().filter(|_| self.compiled.settings.sleep) {
            self.islands[body as usize] = body;
        }
    }

    /// Remembers how it is now, before anything comes or goes by hand, so that a snapshot from before can be gone back to.
    pub(crate) fn keep_origin(&mut self) {
        self.origin.get_or_insert_with(|| Box::new(self.compiled.clone()));
    }

    /// Removes bodies and their joints from the running world: all of them or, with an error, none.
    ///
    /// # Errors
    /// If a body is not there, or no longer, or given twice.
    pub fn remove_bodies(&mut self, ids: &[BodyId]) -> Result<(), WorldError> {
        let population = self.population.get_or_insert_with(|| Population::new(&self.compiled));
        let change = population.remove(&mut self.compiled, ids)?;
        self.let_go(&change);
        Ok(())
    }

    pub(super) fn let_go(&mut self, change: &Change) {
        forget(&mut self.commands, &self.compiled);
        wake_left(&self.compiled, change, &mut self.commands);
        self.follow(change);
    }

    /// Adds joints to the running world: all of them or, with an error, none.
    ///
    /// # Errors
    /// The first value that is out of range, as for a scene.
    pub fn add_joints(&mut self, joints: &[Joint]) -> Result<Vec<JointId>, WorldError> {
        let population = self.population.get_or_insert_with(|| Population::new(&self.compiled));
        let (ids, change) = population.add_joints(&mut self.compiled, joints)?;
        wake_left(&self.compiled, &change, &mut self.commands);
        self.follow(&change);
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
        let population = self.population.get_or_insert_with(|| Population::new(&self.compiled));
        let joints = population.between(&self.compiled, joints)?;
        self.add_joints(&joints)
    }

    /// Removes joints from the running world: all of them or, with an error, none.
    ///
    /// # Errors
    /// If a joint is not there, or no longer, or given twice.
    pub fn remove_joints(&mut self, ids: &[JointId]) -> Result<(), WorldError> {
        let population = self.population.get_or_insert_with(|| Population::new(&self.compiled));
        let change = population.remove_joints(&mut self.compiled, ids)?;
        self.let_go(&change);
        Ok(())
    }

    /// The joint with an index, if there is one.
    #[must_use]
    pub fn joint_id(&self, index: usize) -> Option<JointId> {
        joint_id(&self.compiled, index)
    }

    /// Asks something of a joint; it happens at the start of the next step.
    ///
    /// # Errors
    /// If there is no such joint, it has nothing of the kind, or a value is out of range.
    pub fn command_joint(&mut self, joint: JointId, command: JointCommand) -> Result<(), CommandError> {
        let records = command.flatten(&self.compiled, joint)?;
        self.compiled.joints.may_part |= matches!(command, JointCommand::Enable(_));
        self.commands.extend(records);
        let ends = self.compiled.joints.place(joint.index).map(|place| ends(&self.compiled.joints.joints[place]));
        rouse(&self.compiled, ends.into_iter().flatten(), &mut self.commands);
        Ok(())
    }

    /// Brings the tables to the bodies that there are now.
    pub(super) fn follow(&mut self, change: &Change) {
        self.forget();
        let Compiled { bodies, poses, states, shapes, .. } = &self.compiled;
        self.plan = plan(&self.compiled.settings, self.compiled.bounces, self.compiled.joints.count() > 0);
        self.rests = false;
        self.poses.resize(bodies.len(), Pose::default());
        if self.compiled.settings.sleep {
            #[allow(clippy::cast_possible_truncation, reason = "bodies are counted in u32")]
            let new = self.islands.len() as u32..bodies.len() as u32;
            self.islands.extend(new);
            self.island_flags.resize(bodies.len(), 0);
        }
        self.states.resize(bodies.len());
        self.accumulators.resize(bodies.len());
        self.swings.resize(bodies.len(), 0.0);
        self.aabbs.resize(shapes.len(), Aabb::default());
        for &index in &change.bodies {
            self.poses[index as usize] = poses[index as usize];
            self.states.set(index as usize, states[index as usize]);
        }
        let Joints { joints, rows, states, .. } = &self.compiled.joints;
        self.joint_frames.resize(joints.len(), JointFrame::default());
        self.joint_states.resize(joints.len());
        self.joint_impulses.resize(rows.len());
        change.joints.places.iter().for_each(|&at| self.joint_states.set(at as usize, states[at as usize]));
        change.joints.rows.iter().for_each(|&row| self.joint_impulses.set(row as usize, [0.0; 2]));
        // Shapes that were not there produced nothing.
        if let Some(&end) = self.pair_starts.last() {
            self.pair_starts.resize(shapes.len() + 1, end);
        }
    }

    /// Asks something of a body; it happens at the start of the next step. A body of the scene may be given by its index.
    ///
    /// # Errors
    /// If there is no such body, or no longer, it does not move in this way, or a value is not finite.
    pub fn command(&mut self, body: impl Into<BodyId>, command: Command) -> Result<(), CommandError> {
        let slot = slot_of(&self.compiled, self.population.as_ref(), body.into())?;
        self.command_slot(slot, command)
    }

    /// Asks something of the body in a slot.
    pub(crate) fn command_slot(&mut self, slot: usize, command: Command) -> Result<(), CommandError> {
        let first = self.commands.len();
        command.push(&self.compiled, slot, &mut self.commands)?;
        if let Some(pose) = self.body_in(slot).and_then(|body| body.stays_by(command)) {
            // From a position and an angle the same pose comes but for the last bits.
            (self.commands[first].value, self.commands[first].other) = (pose.position, pose.rotation);
        }
        Ok(())
    }

    /// The body in a slot, if there is one.
    pub fn body_id(&mut self, index: usize) -> Option<BodyId> {
        self.population.get_or_insert_with(|| Population::new(&self.compiled)).id(&self.compiled, index)
    }

    /// What a world knows without having stepped.
    #[must_use]
    pub fn into_books(self) -> Books {
        Books { compiled: self.compiled, population: self.population, origin: self.origin }
    }

    /// A world in which bodies and joints have come and gone. It waits for a snapshot to continue from.
    #[must_use]
    pub fn from_books(books: Books) -> Self {
        let Books { compiled, population, origin } = books;
        Self { population, origin, ..Self::from_compiled(compiled) }
    }

    /// Which bodies and joints came and went.
    #[must_use]
    pub fn population(&self) -> Option<&Population> {
        self.population.as_ref()
    }

    /// Lets a world that has done no step see the changes of a journal, up to a step.
    pub(crate) fn relive(&mut self, journal: &Journal, until: u64) -> Result<(), WorldError> {
        let mut compiled = self.compiled.clone();
        let mut population = Population::new(&compiled);
        population.relive(&mut compiled, journal, until)?;
        self.compiled = compiled;
        self.population = Some(population);
        self.follow(&Change::default());
        Ok(())
    }

    /// Only keeps the books of a step: which bodies come and go.
    pub fn skip_step(&mut self) {
        self.emit();
        self.commands.clear();
        self.end_step();
    }

    /// Keeps the books up to a step. Steps before which nothing comes or goes are passed over at once.
    pub fn skip_to(&mut self, until: u64) {
        while self.steps < until {
            self.skip_step();
            let next = self.population.as_ref().map_or(u64::MAX, Population::next);
            self.steps = self.steps.max(next.min(until));
        }
    }
}
