//! State of a world between two steps: access, snapshots, comparison.

use std::sync::atomic::{AtomicU32, Ordering};

use super::{CpuWorld, GridTables, WorldTables};
use crate::body_view::{BodyTransform, BodyView, transforms_of};
use crate::command::slot_of;
use crate::population::{BodyId, living, owner};
use crate::query::{Answers, Flat, Query, QueryBounds, walk};
use crate::scene::{Compiled, JointTable};
use crate::snapshot::{Carried, Snapshot};
use crate::state::{JointReaction, joint_reactions, max_speed};
use crate::step::{PlannedStage, Stage};
use crate::tables::Tables;
use crate::threads::Rows;
use crate::types::{BodyState, Counters, JointFrame, Pose};
use crate::types::{Contact, Manifold};
use crate::world_error::WorldError;
use crate::{event, query};

impl CpuWorld {
    /// Returns the contacts of the last step and their manifolds.
    #[must_use]
    pub fn contacts(&self) -> (&[Contact], &[Manifold]) {
        (&self.current.contacts, &self.current.manifolds)
    }

    /// Returns velocity and status of a body.
    #[must_use]
    pub fn body_state(&self, body: usize) -> Option<BodyState> {
        (body < self.host.compiled.bodies.len()).then(|| self.bodies.states.get(body))
    }

    /// Returns the events since the last call, if the scene asks for events.
    pub fn take_events(&mut self) -> Vec<event::Event> {
        // A copy, so that the next step can use the memory again.
        self.host.events.drain(..).collect()
    }

    /// Answers a batch of queries about the present world ([`query`](crate::low_level::query)).
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

    /// Answers queries without the grid, by testing every shape for every query: the reference for the other queries.
    ///
    /// # Errors
    /// The first query with a value out of range.
    #[doc(hidden)]
    pub fn query_brute(&mut self, queries: &[Query]) -> Result<Answers, WorldError> {
        self.answer(queries, true, &QueryBounds::default())
    }

    fn answer(&mut self, queries: &[Query], brute: bool, bounds: &QueryBounds) -> Result<Answers, WorldError> {
        let flat = Flat::new(queries, |body| self.host.slot_of(body).is_ok())?;
        // The tables are those of the start of the step, and each step makes its own. A cancel token is for steps: a
        // grid that was cut short would give wrong answers.
        let unwatched = self.threads.unwatched();
        let watching = std::mem::replace(&mut self.threads, unwatched);
        let ran =
            [Stage::Bound, Stage::Bin].into_iter().try_for_each(|stage| self.run(PlannedStage { stage, flags: 0 }));
        let unwatched = std::mem::replace(&mut self.threads, watching);
        ran?;
        let Compiled { params, shapes, vertices, .. } = &self.host.compiled;
        let (poses, GridTables { aabbs, cell_ends, cell_shapes, .. }) = (&self.bodies.poses, &self.grid);
        let tables = walk::QueryTables { params, shapes, vertices, poses, aabbs, cell_ends, cell_shapes };
        let body_of = |shape| owner(&self.host.compiled, self.host.population.as_ref(), shape);
        Ok(query::answer(&unwatched, &tables, &flat, brute, bounds, body_of)?)
    }

    /// Returns the stages of a step.
    #[must_use]
    pub fn plan(&self) -> &[PlannedStage] {
        &self.plan
    }

    /// Sets the number of steps done, which determines where bodies on paths are.
    pub fn set_steps(&mut self, steps: u64) {
        self.host.steps = steps;
    }

    /// Returns the number of threads in use.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.threads.count()
    }

    /// Returns the number of steps that [`Self::stage_ms`] covers.
    pub(crate) fn measured_steps(&self) -> u64 {
        self.times.steps
    }

    /// Returns the speed of the fastest dynamic body, m/s.
    #[must_use]
    pub fn max_speed(&self) -> f64 {
        max_speed(&self.host.compiled, (0..self.host.compiled.bodies.len()).map(|body| self.bodies.states.get(body)))
    }

    /// Returns the milliseconds spent in each stage of the profiled steps ([`Self::step_profiled`]) so far.
    #[must_use]
    pub fn stage_ms(&self) -> &[(Stage, f64)] {
        &self.times.stage_ms
    }

    /// Returns the poses of the centres of mass, one per slot; those of vacant slots are undefined. [`Self::body`] and
    /// [`Self::transforms`] give the origins, which [`Command::Teleport`](crate::Command::Teleport) sets.
    #[must_use]
    pub fn poses(&self) -> &[Pose] {
        &self.bodies.poses
    }

    /// Returns the state of each body.
    pub fn states(&self) -> impl Iterator<Item = BodyState> + '_ {
        (0..self.host.compiled.bodies.len()).map(|body| self.bodies.states.get(body))
    }

    /// Returns the tables as they are between two steps.
    #[must_use]
    pub fn world_tables(&self) -> WorldTables<'_> {
        WorldTables {
            states: self.bodies.states.to_vec(),
            aabbs: &self.grid.aabbs,
            cell_ends: &self.grid.cell_ends,
            cell_shapes: &self.grid.cell_shapes,
            contacts: &self.current.contacts,
            manifolds: &self.current.manifolds,
            sleeping: &self.sleep.contacts,
            islands: &self.sleep.islands,
            joint_states: self.joints.states.to_vec(),
            joint_impulses: self.joint_impulses(),
        }
    }

    /// Returns the counts of the last step.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Returns the state between two steps. After a cancelled step it is that of half a step, and useless.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        let Compiled { bodies, joints, .. } = &self.host.compiled;
        let carried = Carried {
            poses: self.bodies.poses.clone(),
            states: self.bodies.states.to_vec(),
            pair_starts: self.current.pair_starts.clone(),
            contacts: self.current.contacts.clone(),
            manifolds: self.current.manifolds.clone(),
            islands: &self.sleep.islands,
            sleeping_starts: self.sleep.starts.clone(),
            sleeping: self.sleep.contacts.clone(),
            counters: self.counters,
            bodies,
            joints: &joints.joints,
            joint_rows: &joints.rows,
            joint_states: self.joints.states.to_vec(),
            joint_impulses: self.joints.impulses.to_vec(),
        };
        Snapshot::new(self.host.moment(), carried)
    }

    /// Returns forces and torques of the joints, in the order of their indices.
    #[must_use]
    pub fn joint_reactions(&self) -> Vec<JointReaction> {
        joint_reactions(&self.host.compiled, &self.snapshot())
    }

    /// Returns all tables, to compare the engines stage by stage.
    #[must_use]
    pub fn tables(&self) -> Tables {
        let (constraints, rebounds) = self.solver.constraints.to_vec(&self.counters);
        Tables {
            poses: self.bodies.poses.clone(),
            states: self.bodies.states.first(self.host.compiled.bodies.len()),
            accumulators: self.bodies.accumulators.first(self.host.compiled.bodies.len()),
            motions: self.bodies.motions.clone(),
            aabbs: self.grid.aabbs.clone(),
            cell_ends: self.grid.cell_ends.clone(),
            cell_shapes: self.grid.cell_shapes.clone(),
            pair_starts_previous: self.previous.pair_starts.clone(),
            contacts_previous: self.previous.contacts.clone(),
            manifolds_previous: self.previous.manifolds.clone(),
            pair_starts: self.current.pair_starts.clone(),
            contacts: self.current.contacts.clone(),
            manifolds: self.current.manifolds.clone(),
            islands: self.sleep.islands.clone(),
            island_flags: self.sleep.island_flags.clone(),
            sleeping_starts: self.sleep.starts.clone(),
            sleeping: self.sleep.contacts.clone(),
            events: self.step_events.clone(),
            slots: self.solver.slots.iter().map(|slot| slot.load(Ordering::Relaxed)).collect(),
            constraints,
            rebounds,
            surfaces: self.solver.surfaces.to_vec(),
            joints: self.host.compiled.joints.joints.clone(),
            joint_rows: self.host.compiled.joints.rows.clone(),
            joint_frames: self.joint_frames(),
            joint_states: self.joints.states.to_vec(),
            joint_impulses: self.joint_impulses(),
            counters: self.counters,
        }
    }

    /// Returns the frame of each joint, also while the blocks hold them. For tests.
    #[doc(hidden)]
    #[must_use]
    pub fn joint_frames(&self) -> Vec<JointFrame> {
        let mut frames = self.joints.frames.clone();
        self.joints.blocks.frames(&mut frames);
        frames
    }

    /// Returns the impulses of each joint row, also while the blocks hold them.
    pub(super) fn joint_impulses(&self) -> Vec<[f32; 2]> {
        self.joints.blocks.store(&self.joints.impulses);
        self.joints.impulses.to_vec()
    }

    /// Replaces all tables.
    pub fn load(&mut self, tables: &Tables) {
        self.forget();
        self.bodies.poses.clone_from(&tables.poses);
        self.bodies.states = Rows::new(&tables.states);
        self.bodies.accumulators = Rows::new(&tables.accumulators);
        self.bodies.motions.clone_from(&tables.motions);
        self.grid.aabbs.clone_from(&tables.aabbs);
        self.grid.cell_ends.clone_from(&tables.cell_ends);
        self.grid.cell_shapes.clone_from(&tables.cell_shapes);
        self.previous.pair_starts.clone_from(&tables.pair_starts_previous);
        self.previous.contacts.clone_from(&tables.contacts_previous);
        self.previous.manifolds.clone_from(&tables.manifolds_previous);
        self.current.pair_starts.clone_from(&tables.pair_starts);
        self.current.contacts.clone_from(&tables.contacts);
        self.current.manifolds.clone_from(&tables.manifolds);
        self.sleep.islands.clone_from(&tables.islands);
        self.sleep.island_flags.clone_from(&tables.island_flags);
        self.sleep.starts.clone_from(&tables.sleeping_starts);
        self.sleep.contacts.clone_from(&tables.sleeping);
        self.solver.slots = tables.slots.iter().copied().map(AtomicU32::new).collect();
        self.solver.splits.split(&self.host.compiled.params, &tables.contacts, &tables.counters);
        self.bodies.add_shares(&self.solver.splits);
        let split = self.solver.splits.len();
        self.solver.constraints.load(&tables.counters, split, &tables.constraints, &tables.rebounds);
        self.solver.surfaces = Rows::new(&tables.surfaces);
        self.host.compiled.joints.joints.clone_from(&tables.joints);
        self.host.compiled.joints.rows.clone_from(&tables.joint_rows);
        self.host.compiled.joints.refresh();
        self.joints.frames.clone_from(&tables.joint_frames);
        let JointTable { joints, starts, rows, .. } = &self.host.compiled.joints;
        self.joints.states = Rows::new(&tables.joint_states);
        self.joints.impulses = Rows::new(&tables.joint_impulses);
        self.joints.blocks.build(starts, joints, &self.joints.frames, rows, &self.joints.impulses);
        self.counters = tables.counters;
    }
}

impl CpuWorld {
    /// Returns a body as it is now. A body of the scene may be given by its index. This takes some nanoseconds.
    ///
    /// # Errors
    /// The body does not exist or was removed.
    pub fn body(&self, body: impl Into<BodyId>) -> Result<BodyView, WorldError> {
        let slot = slot_of(self.compiled(), self.population(), body.into())?;
        self.body_in(slot).ok_or(WorldError::Cancelled)
    }

    /// Returns the body in a slot, if there is one.
    pub(crate) fn body_in(&self, slot: usize) -> Option<BodyView> {
        let id = self.body_id(slot)?;
        Some(BodyView::new(self.compiled(), id, *self.poses().get(slot)?, self.body_state(slot)?))
    }

    /// Writes the transform of every body as it is now, by slot.
    pub fn transforms(&self, out: &mut Vec<BodyTransform>) {
        transforms_of(self.compiled(), self.population(), self.poses(), out);
    }

    /// Returns the ids of all bodies, by slot.
    pub fn bodies(&self) -> impl Iterator<Item = BodyId> + '_ {
        living(self.compiled(), self.population())
    }
}
