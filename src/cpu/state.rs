//! What a world holds between two steps: to look at, to keep, to go back to, to compare.

use std::sync::atomic::{AtomicU32, Ordering};

use super::{CpuWorld, WorldTables};
use crate::population::owner;
use crate::query::{Answers, Flat, Query, QueryBounds, walk};
use crate::scene::{Compiled, Joints};
use crate::snapshot::{Carried, Snapshot};
use crate::state::{JointReaction, joint_reactions, max_speed};
use crate::step::{Op, Stage};
use crate::tables::Tables;
use crate::threads::Rows;
use crate::types::{BodyState, Counters, JointFrame, Pose};
use crate::types::{Contact, Manifold};
use crate::world::WorldError;
use crate::{event, query};

impl CpuWorld {
    /// Contacts of the last step and how they touch.
    #[must_use]
    pub fn contacts(&self) -> (&[Contact], &[Manifold]) {
        (&self.contacts, &self.manifolds)
    }

    /// Its velocity and status.
    #[must_use]
    pub fn body_state(&self, body: usize) -> Option<BodyState> {
        (body < self.host.compiled.bodies.len()).then(|| self.states.get(body))
    }

    /// What happened since this was last asked, if the scene wants events.
    pub fn take_events(&mut self) -> Vec<event::Event> {
        // A copy, so that the next step has the memory.
        self.host.events.drain(..).collect()
    }

    /// Answers a batch of queries about the world as it is now ([`query`](crate::low_level::query)).
    ///
    /// # Errors
    /// The first query with a value out of range.
    pub fn query(&mut self, queries: &[Query]) -> Result<Answers, WorldError> {
        self.answer(queries, false, &QueryBounds::default())
    }

    /// Answers a batch of queries as [`Self::query`], or the first of them, within bounds.
    ///
    /// # Errors
    /// The first query with a value out of range; [`WorldError::TooManyFound`].
    pub fn query_within(&mut self, queries: &[Query], bounds: QueryBounds) -> Result<Answers, WorldError> {
        self.answer(queries, false, &bounds)
    }

    /// The same answers without the grid, by looking at every shape for every query: what the others are checked against.
    ///
    /// # Errors
    /// As [`Self::query`].
    #[doc(hidden)]
    pub fn query_brute(&mut self, queries: &[Query]) -> Result<Answers, WorldError> {
        self.answer(queries, true, &QueryBounds::default())
    }

    fn answer(&mut self, queries: &[Query], brute: bool, bounds: &QueryBounds) -> Result<Answers, WorldError> {
        let flat = Flat::new(queries)?;
        // The tables are those of the step's start, and each step makes its own.
        // A token is for steps: a grid that was cut short would give wrong answers.
        let unwatched = self.threads.unwatched();
        let watching = std::mem::replace(&mut self.threads, unwatched);
        let ran = [Stage::Bound, Stage::Bin].into_iter().try_for_each(|stage| self.run(Op { stage, flags: 0 }));
        let unwatched = std::mem::replace(&mut self.threads, watching);
        ran?;
        let Compiled { params, shapes, vertices, .. } = &self.host.compiled;
        let Self { poses, aabbs, cell_ends, cell_shapes, .. } = self;
        let tables = walk::Tables { params, shapes, vertices, poses, aabbs, cell_ends, cell_shapes };
        let body_of = |shape| owner(&self.host.compiled, self.host.population.as_ref(), shape);
        query::answer(&unwatched, &tables, &flat, brute, bounds, body_of)
    }

    /// The stages of a step.
    #[must_use]
    pub fn plan(&self) -> &[Op] {
        &self.plan
    }

    /// Makes this the world as it is after so many steps, for bodies on paths.
    pub fn set_steps(&mut self, steps: u64) {
        self.host.steps = steps;
    }

    /// Threads in use.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.threads.count()
    }

    /// Steps that [`Self::stage_ms`] is about.
    pub(crate) fn measured_steps(&self) -> u64 {
        self.measured_steps
    }

    /// Speed of the fastest dynamic body, m/s.
    #[must_use]
    pub fn max_speed(&self) -> f64 {
        max_speed(&self.host.compiled, (0..self.host.compiled.bodies.len()).map(|body| self.states.get(body)))
    }

    /// Milliseconds spent in each stage so far.
    #[must_use]
    pub fn stage_ms(&self) -> &[(Stage, f64)] {
        &self.stage_ms
    }

    /// Poses of the centres of mass, one a slot; those of empty slots mean nothing. [`Self::body`] and [`Self::transforms`]
    /// give the origins, which [`Command::Teleport`](crate::Command::Teleport) sets.
    #[must_use]
    pub fn poses(&self) -> &[Pose] {
        &self.poses
    }

    /// One a body.
    pub fn states(&self) -> impl Iterator<Item = BodyState> + '_ {
        (0..self.host.compiled.bodies.len()).map(|body| self.states.get(body))
    }

    /// The tables as they are between two steps.
    #[must_use]
    pub fn world_tables(&self) -> WorldTables<'_> {
        WorldTables {
            states: self.states.to_vec(),
            aabbs: &self.aabbs,
            cell_ends: &self.cell_ends,
            cell_shapes: &self.cell_shapes,
            contacts: &self.contacts,
            manifolds: &self.manifolds,
            sleeping: &self.sleeping,
            islands: &self.islands,
            joint_states: self.joint_states.to_vec(),
            joint_impulses: self.joint_impulses(),
        }
    }

    /// Counts of the last step.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The state between two steps. After a step that was given up it is that of half a step, and of no use.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        let Compiled { bodies, joints, .. } = &self.host.compiled;
        let carried = Carried {
            poses: self.poses.clone(),
            states: self.states.to_vec(),
            pair_starts: self.pair_starts.clone(),
            contacts: self.contacts.clone(),
            manifolds: self.manifolds.clone(),
            islands: &self.islands,
            sleeping_starts: self.sleeping_starts.clone(),
            sleeping: self.sleeping.clone(),
            counters: self.counters,
            bodies,
            joints: &joints.joints,
            joint_rows: &joints.rows,
            joint_states: self.joint_states.to_vec(),
            joint_impulses: self.joint_impulses.to_vec(),
        };
        Snapshot::new(self.host.moment(), carried)
    }

    /// What the joints do, in the order of their indices.
    #[must_use]
    pub fn joint_reactions(&self) -> Vec<JointReaction> {
        joint_reactions(&self.host.compiled, &self.snapshot())
    }

    /// Every table as it stands, for comparing stage by stage.
    #[must_use]
    pub fn tables(&self) -> Tables {
        let (constraints, rebounds) = self.constraints.to_vec(&self.counters);
        Tables {
            poses: self.poses.clone(),
            states: self.states.to_vec(),
            accumulators: self.accumulators.to_vec(),
            swings: self.swings.clone(),
            aabbs: self.aabbs.clone(),
            cell_ends: self.cell_ends.clone(),
            cell_shapes: self.cell_shapes.clone(),
            pair_starts_previous: self.pair_starts_previous.clone(),
            contacts_previous: self.contacts_previous.clone(),
            manifolds_previous: self.manifolds_previous.clone(),
            pair_starts: self.pair_starts.clone(),
            contacts: self.contacts.clone(),
            manifolds: self.manifolds.clone(),
            islands: self.islands.clone(),
            island_flags: self.island_flags.clone(),
            sleeping_starts: self.sleeping_starts.clone(),
            sleeping: self.sleeping.clone(),
            events: self.step_events.clone(),
            slots: self.slots.iter().map(|slot| slot.load(Ordering::Relaxed)).collect(),
            constraints,
            rebounds,
            surfaces: self.surfaces.to_vec(),
            joints: self.host.compiled.joints.joints.clone(),
            joint_rows: self.host.compiled.joints.rows.clone(),
            joint_frames: self.joint_frames(),
            joint_states: self.joint_states.to_vec(),
            joint_impulses: self.joint_impulses(),
            counters: self.counters,
        }
    }

    /// One a joint, also while blocks hold them. For tests.
    #[doc(hidden)]
    #[must_use]
    pub fn joint_frames(&self) -> Vec<JointFrame> {
        let mut frames = self.joint_frames.clone();
        self.joint_blocks.frames(&mut frames);
        frames
    }

    /// One a row of the joints, also while blocks hold them.
    pub(super) fn joint_impulses(&self) -> Vec<[f32; 2]> {
        self.joint_blocks.store(&self.joint_impulses);
        self.joint_impulses.to_vec()
    }

    /// Takes over every table.
    pub fn load(&mut self, tables: &Tables) {
        self.forget();
        self.poses.clone_from(&tables.poses);
        self.states = Rows::new(&tables.states);
        self.accumulators = Rows::new(&tables.accumulators);
        self.swings.clone_from(&tables.swings);
        self.aabbs.clone_from(&tables.aabbs);
        self.cell_ends.clone_from(&tables.cell_ends);
        self.cell_shapes.clone_from(&tables.cell_shapes);
        self.pair_starts_previous.clone_from(&tables.pair_starts_previous);
        self.contacts_previous.clone_from(&tables.contacts_previous);
        self.manifolds_previous.clone_from(&tables.manifolds_previous);
        self.pair_starts.clone_from(&tables.pair_starts);
        self.contacts.clone_from(&tables.contacts);
        self.manifolds.clone_from(&tables.manifolds);
        self.islands.clone_from(&tables.islands);
        self.island_flags.clone_from(&tables.island_flags);
        self.sleeping_starts.clone_from(&tables.sleeping_starts);
        self.sleeping.clone_from(&tables.sleeping);
        self.slots = tables.slots.iter().copied().map(AtomicU32::new).collect();
        self.constraints.load(&tables.counters, &tables.constraints, &tables.rebounds);
        self.surfaces = Rows::new(&tables.surfaces);
        self.host.compiled.joints.joints.clone_from(&tables.joints);
        self.host.compiled.joints.rows.clone_from(&tables.joint_rows);
        self.host.compiled.joints.refresh();
        self.joint_frames.clone_from(&tables.joint_frames);
        let Joints { joints, starts, rows, .. } = &self.host.compiled.joints;
        self.joint_states = Rows::new(&tables.joint_states);
        self.joint_impulses = Rows::new(&tables.joint_impulses);
        self.joint_blocks.lay(starts, joints, &self.joint_frames, rows, &self.joint_impulses);
        self.counters = tables.counters;
    }
}
