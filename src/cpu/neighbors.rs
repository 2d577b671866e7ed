//! Reuse of tables of earlier steps, as long as they are valid, in steps without sleeping bodies: for example a
//! neighbor list in place of the grid. Results are the same to the last bit.
//!
//! The search for contacts has two plans. That of the grid is the one of [`step::plan`](crate::step::plan): `bound`,
//! `bin`, `pair`, `match_contacts`. That of the neighbor list needs no grid while a list of an earlier step is valid:
//! `bound`, and then the list gives the pairs together with their contacts of the previous step. The choice is made
//! once a step ([`SearchKind`]), when the AABBs are known.

use super::{BodyTables, CpuWorld, GridTables, KeptTables};
use crate::cpu::stages::bin::{bin_find, bin_place};
use crate::cpu::stages::bound::{bound, bound_and_find};
use crate::cpu::stages::continuous::continuous;
use crate::cpu::stages::match_contacts::match_contacts;
use crate::cpu::stages::pair::TooMany;
use crate::cpu::stages::pair::neighbor_list::Moving;
use crate::cpu::stages::pair::pair;
use crate::scene::{Compiled, JointTable};
use crate::stages::pair::update_exclusions;
use crate::step::Stage;
use crate::types::{BULLETS, Manifold, SLEEP};
use crate::world_error::WorldError;

/// Manifolds that are cleared at once, 150 MB of them.
const CLEARED: usize = 1 << 20;

/// Plan of the search for contacts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum SearchKind {
    /// Grid of this step.
    #[default]
    Grid,
    /// Neighbor list. The grid is that of an earlier step.
    List,
}

impl CpuWorld {
    /// Returns true if the stages that search for contacts come next in the plan, none is left out, and no body can
    /// sleep: for sleeping bodies there is a faster way.
    pub(super) fn can_search_by_list(&self, next: usize) -> bool {
        let stages = [Stage::Bound, Stage::Bin, Stage::Pair, Stage::MatchContacts];
        self.host.compiled.params.switches & SLEEP == 0
            && self.plan[next..].iter().map(|op| op.stage).take(stages.len()).eq(stages)
    }

    /// Searches for contacts by the neighbor list or, if it is no longer valid, by the grid, and then builds a new
    /// list. Returns the index of the next stage in the plan.
    ///
    /// # Errors
    /// Those of [`Self::run`].
    pub(super) fn search(&mut self, next: usize) -> Result<usize, WorldError> {
        let begin = self.times.begin();
        let Self { threads, bodies, grid, counters, kept, .. } = self;
        let compiled = &self.host.compiled;
        if counters.quarantined == 0 {
            bound_and_find(threads, compiled, &bodies.poses, grid);
        } else {
            counters.awake_levels |= bound(threads, compiled, bodies, &mut grid.aabbs);
            bin_find(threads, &compiled.params, &compiled.shapes, &grid.aabbs, &mut grid.own_cells);
        }
        // After a cancelled search some cells are those of an older grid, which may have had more.
        if threads.is_cancelled() {
            return Err(WorldError::Cancelled);
        }
        let is_valid = kept.neighbor_list.is_valid(threads, compiled, bodies, &grid.aabbs);
        kept.search = if is_valid { SearchKind::List } else { SearchKind::Grid };
        self.times.add(Stage::Bound, begin);

        let begin = self.times.begin();
        if self.kept.search == SearchKind::Grid {
            self.build_grid();
        }
        self.times.add(Stage::Bin, begin);
        self.host.limits.check()?;

        let begin = self.times.begin();
        let limit = self.host.contact_limit();
        let found = self.find_pairs(limit);
        found.map_err(|TooMany { found }| WorldError::TooManyContacts { found, limit })?;
        self.count_contacts();
        self.times.add(Stage::Pair, begin);
        self.host.limits.check()?;

        let begin = self.times.begin();
        if self.kept.search == SearchKind::Grid {
            match_contacts(&self.threads, self.previous.past(), &mut self.current.contacts);
        }
        self.times.add(Stage::MatchContacts, begin);
        Ok(next + 4)
    }

    /// Finds the pairs: from a list of earlier steps together with their contacts of the previous step, else from a
    /// list built from this step's grid, else from the grid.
    fn find_pairs(&mut self, limit: usize) -> Result<(), TooMany> {
        let Self { threads, bodies, grid, previous, current, kept, counters, scratch, .. } = self;
        let KeptTables { search, neighbor_list, shortcuts, .. } = kept;
        let compiled = &mut self.host.compiled;
        let mut past = None;
        let mut listed = true;
        match search {
            SearchKind::List => {
                past = Some(previous.past());
                shortcuts.listed += 1;
            }
            SearchKind::Grid => {
                let (Compiled { params, shapes, joints, .. }, aabbs) = (&*compiled, &grid.aabbs);
                let BodyTables { poses, states, .. } = &*bodies;
                let moving = Moving { params, shapes, aabbs, poses, states };
                listed = neighbor_list.build(threads, moving, grid, joints, limit, &mut current.contacts);
                shortcuts.lists += u64::from(listed);
            }
        }
        let JointTable { joints, exclusions, may_part, .. } = &mut compiled.joints;
        if *may_part {
            update_exclusions(joints, |place| self.joints.states.get(place), &mut exclusions.links);
        }
        if listed {
            return neighbor_list.pair(threads, compiled, bodies, grid, past, current, limit);
        }
        pair(threads, compiled, bodies, grid, counters.awake_levels, current, limit, &mut scratch.pair)
    }

    /// Resizes the manifolds to the contacts, and counts the contacts. Stops if the step is cancelled: to clear
    /// gigabytes takes seconds.
    pub(super) fn count_contacts(&mut self) {
        let (manifolds, count) = (&mut self.current.manifolds, self.current.contacts.len());
        manifolds.truncate(count);
        manifolds.reserve(count - manifolds.len());
        while manifolds.len() < count && !self.threads.is_cancelled() {
            manifolds.resize(count.min(manifolds.len() + CLEARED), Manifold::default());
        }
        #[allow(clippy::cast_possible_truncation, reason = "contacts are counted in u32")]
        let count = count as u32;
        (self.counters.pairs_found, self.counters.contacts) = (count, count);
    }

    /// Computes the joint frames in blocks of eight, if no joint can break and no body sleep. Returns false, and does
    /// nothing, elsewhere.
    pub(super) fn prepare_joint_blocks(&mut self) -> bool {
        let Self { threads, bodies: BodyTables { poses, states, .. }, joints: tables, counters, .. } = self;
        let Compiled { params, bodies, joints, .. } = &self.host.compiled;
        let JointTable { joints, starts, fresh, .. } = joints;
        let is_done = fresh.is_empty()
            && counters.quarantined == 0
            && params.switches & SLEEP == 0
            && self.plan.iter().all(|op| op.stage != Stage::ProjectJoints)
            && tables.blocks.update_frames(threads, starts, joints, bodies, poses, states, &tables.states, params.h);
        self.kept.shortcuts.joints += u64::from(is_done);
        is_done
    }

    /// Sweeps fast bodies against a few candidates, if no body can sleep. Returns false, and does nothing, if there are
    /// many candidates.
    pub(super) fn sweep_against_walls(&mut self) -> bool {
        let compiled = &self.host.compiled;
        if compiled.params.switches & SLEEP != 0
            || !self.kept.ccd_candidates.update(compiled, &self.grid.own_cells, &self.bodies)
        {
            return false;
        }
        self.kept.shortcuts.ccd_candidates += 1;
        if compiled.params.switches & BULLETS != 0 {
            // Bullets may stop at any body.
            self.refresh_grid();
        }
        let Self { threads, bodies, grid, kept, counters, scratch, .. } = self;
        let ccd_candidates = Some(&kept.ccd_candidates);
        counters.continuous =
            continuous(threads, &self.host.compiled, bodies, grid, ccd_candidates, &mut scratch.continuous);
        true
    }

    /// Builds the grid of this step, if the present one is older.
    pub(super) fn refresh_grid(&mut self) {
        if std::mem::take(&mut self.kept.search) == SearchKind::List {
            self.build_grid();
        }
    }

    /// Sorts the shapes into the grid by the cells that have been found.
    fn build_grid(&mut self) {
        let GridTables { own_cells, cell_ends, cell_shapes, .. } = &mut self.grid;
        bin_place(&self.host.compiled.params, own_cells, cell_ends, cell_shapes);
    }

    /// Invalidates all tables kept from earlier steps.
    pub(super) fn forget(&mut self) {
        self.scheduling.island_batches.forget();
        self.kept.neighbor_list.forget();
        self.kept.ccd_candidates.forget();
        self.joints.blocks.forget();
        self.kept.search = SearchKind::Grid;
    }
}
