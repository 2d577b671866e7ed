//! Bodies and joints that are added and removed while a world runs: the engine's tables follow those of the host.

use super::CpuWorld;
use crate::command::Command;
use crate::host::{Books, Host, PartCounts, Recorder, WorldEngine, world_verbs};
use crate::initial_loads::InitialContacts;
use crate::population::{Population, PopulationChange};
use crate::scene::{Compiled, JointTable};
use crate::snapshot::Snapshot;
use crate::step::plan;
use crate::threads::Rows;
use crate::types::{Aabb, BodyMotion, BodyState, JointFrame, Pose, VACANT};
use crate::world_error::WorldError;

impl WorldEngine for CpuWorld {
    fn host(&self) -> &Host {
        &self.host
    }

    fn host_mut(&mut self) -> &mut Host {
        &mut self.host
    }

    fn fastest(&mut self) -> Result<f64, WorldError> {
        Ok(self.max_speed())
    }

    fn stays_by(&self, slot: usize, command: Command) -> Option<Pose> {
        // Only this engine can: for others looking at the body would cost a readback.
        matches!(command, Command::Teleport { .. }).then(|| self.body_in(slot)).flatten()?.stays_by(command)
    }

    fn present(&mut self, slot: usize) -> Result<(Pose, BodyState), WorldError> {
        // The goals of joints are in the host's tables alone.
        if self.host.limits.has_given_up() {
            return Err(WorldError::Cancelled);
        }
        Ok((self.bodies.poses[slot], self.bodies.states.get(slot)))
    }

    fn has_room_for(&self, _: PartCounts) -> bool {
        true
    }

    fn is_limited(&self) -> bool {
        false
    }

    fn make_room(&mut self, _: Option<&mut Recorder>) -> Result<(), WorldError> {
        Ok(())
    }

    fn follow(&mut self, change: &PopulationChange, _: Option<&mut Recorder>) -> Result<(), WorldError> {
        self.forget();
        let Compiled { bodies, poses, states, shapes, settings, bounces, joints, .. } = &self.host.compiled;
        self.plan = plan(settings, *bounces, joints.count() > 0);
        self.is_idle = false;
        self.bodies.poses.resize(bodies.len(), Pose::default());
        self.bodies.states.resize(bodies.len());
        self.bodies.accumulators.resize(bodies.len());
        self.bodies.motions.resize(bodies.len(), BodyMotion::default());
        self.grid.aabbs.resize(shapes.len(), Aabb::default());
        if settings.sleep {
            #[allow(clippy::cast_possible_truncation, reason = "bodies are counted in u32")]
            let new = self.sleep.islands.len() as u32..bodies.len() as u32;
            self.sleep.islands.extend(new);
            self.sleep.island_flags.resize(bodies.len(), 0);
        }
        for &index in &change.bodies {
            let slot = index as usize;
            self.bodies.poses[slot] = poses[slot];
            self.bodies.states.set(slot, states[slot]);
            // A body that slept in the slot before has yet to be woken.
            if settings.sleep && bodies[slot].kind != VACANT {
                self.sleep.islands[slot] = index;
            }
        }
        for &index in &change.moved {
            self.bodies.poses[index as usize] = poses[index as usize];
            self.bodies.states.set(index as usize, states[index as usize]);
        }
        let JointTable { joints, rows, states, .. } = joints;
        self.joints.frames.resize(joints.len(), JointFrame::default());
        self.joints.states.resize(joints.len());
        self.joints.impulses.resize(rows.len());
        change.joints.places.iter().for_each(|&at| self.joints.states.set(at as usize, states[at as usize]));
        change.joints.rows.iter().for_each(|&row| self.joints.impulses.set(row as usize, [0.0; 2]));
        // New shapes have produced no contacts.
        if let Some(&end) = self.current.pair_starts.last() {
            self.current.pair_starts.resize(shapes.len() + 1, end);
        }
        Ok(())
    }

    /// Lists are as long as their content, and the snapshot that follows replaces them.
    fn clear_lists(&mut self) {}

    fn state(&mut self) -> Result<Snapshot, WorldError> {
        Ok(Self::snapshot(self))
    }

    fn finish_steps(&mut self) -> Result<(), WorldError> {
        Ok(())
    }

    fn make_room_for(&mut self, _: &Snapshot) -> Result<(), WorldError> {
        Ok(())
    }

    fn put(&mut self, snapshot: &Snapshot, _: Option<&mut Recorder>) {
        self.forget();
        self.is_idle = false;
        self.bodies.poses.clone_from(&snapshot.poses);
        self.bodies.states = Rows::new(&snapshot.states);
        self.current.pair_starts.clone_from(&snapshot.pair_starts);
        self.current.contacts.clone_from(&snapshot.contacts);
        self.current.manifolds.clone_from(&snapshot.manifolds);
        self.sleep.islands.clone_from(&snapshot.islands);
        // A step that ended between waking and falling asleep leaves flags.
        self.sleep.island_flags.fill(0);
        self.sleep.starts.clone_from(&snapshot.sleeping_starts);
        self.sleep.contacts.clone_from(&snapshot.sleeping);
        self.counters = snapshot.counters;
        self.joints.states = Rows::new(&snapshot.joint_states);
        self.joints.impulses = Rows::new(&snapshot.joint_impulses);
    }

    fn put_contacts(&mut self, initial: &InitialContacts, _: Option<&mut Recorder>) -> Result<(), WorldError> {
        self.current.pair_starts.clone_from(&initial.pair_starts);
        self.current.contacts.clone_from(&initial.contacts);
        self.current.manifolds.clone_from(&initial.manifolds);
        self.bodies.states = Rows::new(&initial.states);
        Ok(())
    }
}

impl CpuWorld {
    world_verbs!();

    /// Runs the scene's emitters before this step: adds and removes their bodies.
    pub fn emit(&mut self) {
        let made = self.emit_due(None);
        debug_assert!(made.is_ok(), "there is room for all: {made:?}");
    }

    /// Returns what a world knows before its first step.
    #[must_use]
    pub fn into_books(self) -> Books {
        self.host.into_books()
    }

    /// Creates a world with the host state of another. It waits for a snapshot to continue from.
    #[must_use]
    pub fn from_books(books: Books) -> Self {
        Self::from_host(Host::from_books(books))
    }

    /// Returns the slots and ids of bodies and joints that came and went.
    #[must_use]
    pub fn population(&self) -> Option<&Population> {
        self.host.population.as_ref()
    }

    /// Skips a step: only bodies that come and go are tracked.
    pub fn skip_step(&mut self) {
        self.emit();
        self.host.commands.clear();
        self.end_step();
    }

    /// Skips all steps before `until`. Steps in which no body comes or goes cost nothing.
    pub fn skip_to(&mut self, until: u64) {
        while self.host.steps < until {
            self.skip_step();
            let next = self.host.population.as_ref().map_or(u64::MAX, Population::next);
            self.host.steps = self.host.steps.max(next.min(until));
        }
    }
}
