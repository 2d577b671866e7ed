//! Bodies and joints that come and go: the tables follow the host.

use super::CpuWorld;
use crate::command::Command;
use crate::host::{Books, Host, Parts, Recorder, WorldEngine, world_verbs};
use crate::population::{Change, Population};
use crate::scene::{Compiled, Joints};
use crate::snapshot::Snapshot;
use crate::step::plan;
use crate::threads::Rows;
use crate::types::{Aabb, JointFrame, Pose, VACANT};
use crate::world::WorldError;

impl WorldEngine for CpuWorld {
    fn host(&self) -> &Host {
        &self.host
    }

    fn host_mut(&mut self) -> &mut Host {
        &mut self.host
    }

    fn stays_by(&self, slot: usize, command: Command) -> Option<Pose> {
        // Only this one can: others have no use for a look at the body.
        matches!(command, Command::Teleport { .. }).then(|| self.body_in(slot)).flatten()?.stays_by(command)
    }

    fn has_room_for(&self, _: Parts) -> bool {
        true
    }

    fn is_limited(&self) -> bool {
        false
    }

    fn make_room(&mut self, _: Option<&mut Recorder>) -> Result<(), WorldError> {
        Ok(())
    }

    fn follow(&mut self, change: &Change, _: Option<&mut Recorder>) -> Result<(), WorldError> {
        self.forget();
        let Compiled { bodies, poses, states, shapes, settings, bounces, joints, .. } = &self.host.compiled;
        self.plan = plan(settings, *bounces, joints.count() > 0);
        self.rests = false;
        self.poses.resize(bodies.len(), Pose::default());
        self.states.resize(bodies.len());
        self.accumulators.resize(bodies.len());
        self.swings.resize(bodies.len(), 0.0);
        self.aabbs.resize(shapes.len(), Aabb::default());
        if settings.sleep {
            #[allow(clippy::cast_possible_truncation, reason = "bodies are counted in u32")]
            let new = self.islands.len() as u32..bodies.len() as u32;
            self.islands.extend(new);
            self.island_flags.resize(bodies.len(), 0);
        }
        for &index in &change.bodies {
            let slot = index as usize;
            self.poses[slot] = poses[slot];
            self.states.set(slot, states[slot]);
            // A body that slept in a slot that was left has yet to be woken by it.
            if settings.sleep && bodies[slot].kind != VACANT {
                self.islands[slot] = index;
            }
        }
        let Joints { joints, rows, states, .. } = joints;
        self.joint_frames.resize(joints.len(), JointFrame::default());
        self.joint_states.resize(joints.len());
        self.joint_impulses.resize(rows.len());
        change.joints.places.iter().for_each(|&at| self.joint_states.set(at as usize, states[at as usize]));
        change.joints.rows.iter().for_each(|&row| self.joint_impulses.set(row as usize, [0.0; 2]));
        // Shapes that were not there produced nothing.
        if let Some(&end) = self.pair_starts.last() {
            self.pair_starts.resize(shapes.len() + 1, end);
        }
        Ok(())
    }

    /// Lists are as long as what is in them, and are written as a whole by the snapshot that follows.
    fn clear_lists(&mut self) {}

    fn state(&mut self) -> Result<Snapshot, WorldError> {
        Ok(Self::snapshot(self))
    }

    fn settle(&mut self) -> Result<(), WorldError> {
        Ok(())
    }

    fn make_room_for(&mut self, _: &Snapshot) -> Result<(), WorldError> {
        Ok(())
    }

    fn put(&mut self, snapshot: &Snapshot, _: Option<&mut Recorder>) {
        self.forget();
        self.rests = false;
        self.poses.clone_from(&snapshot.poses);
        self.states = Rows::new(&snapshot.states);
        self.pair_starts.clone_from(&snapshot.pair_starts);
        self.contacts.clone_from(&snapshot.contacts);
        self.manifolds.clone_from(&snapshot.manifolds);
        self.islands.clone_from(&snapshot.islands);
        // A step that ended between waking and falling asleep left some.
        self.island_flags.fill(0);
        self.sleeping_starts.clone_from(&snapshot.sleeping_starts);
        self.sleeping.clone_from(&snapshot.sleeping);
        self.counters = snapshot.counters;
        self.joint_states = Rows::new(&snapshot.joint_states);
        self.joint_impulses = Rows::new(&snapshot.joint_impulses);
    }
}

impl CpuWorld {
    world_verbs!();

    /// Makes what the scene's emitters make before this step, and lets go of what they let go of.
    pub fn emit(&mut self) {
        let made = self.emit_due(None);
        debug_assert!(made.is_ok(), "there is room for all: {made:?}");
    }

    /// What a world knows without having stepped.
    #[must_use]
    pub fn into_books(self) -> Books {
        self.host.into_books()
    }

    /// A world in which bodies and joints have come and gone. It waits for a snapshot to continue from.
    #[must_use]
    pub fn from_books(books: Books) -> Self {
        Self::from_host(Host::from_books(books))
    }

    /// Which bodies and joints came and went.
    #[must_use]
    pub fn population(&self) -> Option<&Population> {
        self.host.population.as_ref()
    }

    /// Only keeps the books of a step: which bodies come and go.
    pub fn skip_step(&mut self) {
        self.emit();
        self.host.commands.clear();
        self.end_step();
    }

    /// Keeps the books up to a step. Steps before which nothing comes or goes are passed over at once.
    pub fn skip_to(&mut self, until: u64) {
        while self.host.steps < until {
            self.skip_step();
            let next = self.host.population.as_ref().map_or(u64::MAX, Population::next);
            self.host.steps = self.host.steps.max(next.min(until));
        }
    }
}
