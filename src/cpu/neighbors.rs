//! Shorter ways through a step where no body sleeps, to the same bits: what is known from steps before, and what is
//! forgotten of it.
//!
//! The search for contacts has two plans. That of the grid is the one of [`step::plan`](crate::step::plan): `bound`, `bin`,
//! `pair`, `recall`. That of the neighbor list does without the grid while a list of earlier steps holds: `bound`, and then
//! the list finds the pairs with their contacts of the step before at once. Which of the two it is, is decided once a step
//! ([`Search`]), when the boxes are known.

use std::time::Instant;

use super::CpuWorld;
use crate::cpu::stages::bin::{bin_find, bin_place};
use crate::cpu::stages::bound::{bound, bound_and_find};
use crate::cpu::stages::continuous::continuous;
use crate::cpu::stages::pair::TooMany;
use crate::cpu::stages::pair::near::Moving;
use crate::cpu::stages::pair::pair;
use crate::cpu::stages::recall::{Past, recall};
use crate::scene::{Compiled, Joints};
use crate::stages::pair::tie;
use crate::step::Stage;
use crate::types::{BULLETS, Manifold, SLEEP};
use crate::world::WorldError;

/// Plan of the search for contacts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Search {
    /// By the grid of this step.
    #[default]
    Grid,
    /// By the neighbor list. The grid is that of an earlier step.
    List,
}

impl CpuWorld {
    /// Returns true if the stages that search for contacts come next in the plan, none is left out, and no body can sleep:
    /// for sleeping bodies there is a shorter way yet.
    pub(super) fn can_search_by_list(&self, next: usize) -> bool {
        let stages = [Stage::Bound, Stage::Bin, Stage::Pair, Stage::Recall];
        self.host.compiled.params.switches & SLEEP == 0
            && self.plan[next..].iter().map(|op| op.stage).take(stages.len()).eq(stages)
    }

    /// Searches for contacts by the neighbor list or, if it does not hold any more, by the grid, and then makes a new list.
    /// Returns where the plan goes on.
    ///
    /// # Errors
    /// Those of [`Self::run`].
    pub(super) fn search(&mut self, next: usize) -> Result<usize, WorldError> {
        let start = Instant::now();
        let Self { threads, poses, states, aabbs, own_cells, counters, near, .. } = self;
        let Compiled { params, shapes, vertices, joints, .. } = &self.host.compiled;
        if counters.quarantined == 0 {
            bound_and_find(threads, params, shapes, vertices, poses, aabbs, own_cells);
        } else {
            counters.awake_levels |= bound(threads, params, shapes, vertices, poses, states, aabbs);
            bin_find(threads, params, shapes, aabbs, own_cells);
        }
        // After a search that was cut short some cells are those of an older grid, which may have had more.
        if threads.is_cancelled() {
            return Err(WorldError::Cancelled);
        }
        self.search = if near.look(threads, aabbs, joints.may_part) { Search::List } else { Search::Grid };
        self.spend(Stage::Bound, start);

        let start = Instant::now();
        if self.search == Search::Grid {
            bin_place(&self.host.compiled.params, &self.own_cells, &mut self.cell_ends, &mut self.cell_shapes);
        }
        self.spend(Stage::Bin, start);
        self.host.limits.check()?;

        let start = Instant::now();
        let limit = self.contact_limit();
        let found = self.find_pairs(limit);
        found.map_err(|TooMany { found }| WorldError::TooManyContacts { found, limit })?;
        self.keep_count();
        self.spend(Stage::Pair, start);
        self.host.limits.check()?;

        let start = Instant::now();
        if self.search == Search::Grid {
            let past = Past { starts: &self.pair_starts_previous, contacts: &self.contacts_previous };
            recall(&self.threads, past, &mut self.contacts);
        }
        self.spend(Stage::Recall, start);
        Ok(next + 4)
    }

    /// Finds the pairs: from a list of earlier steps together with their contacts of the step before, else from a list that
    /// is made of this step's grid, else from the grid.
    fn find_pairs(&mut self, limit: usize) -> Result<(), TooMany> {
        let Self { threads, poses, states, aabbs, own_cells, cell_ends, cell_shapes, counters, scratch, .. } = self;
        let Self { pair_starts, pair_starts_previous, contacts, contacts_previous, near, shortcuts, .. } = self;
        let Compiled { params, shapes, joints, .. } = &mut self.host.compiled;
        let Joints { joints, ties, may_part, .. } = joints;
        let grid = (&own_cells[..], &cell_ends[..], &cell_shapes[..]);
        let mut past = None;
        let mut listed = true;
        match self.search {
            Search::List => {
                past = Some(Past { starts: pair_starts_previous, contacts: contacts_previous });
                shortcuts.listed += 1;
            }
            Search::Grid => {
                let moving = Moving { params, shapes, aabbs, poses, states };
                listed = near.make(threads, moving, grid, ties, *may_part, limit, contacts);
                shortcuts.lists += u64::from(listed);
            }
        }
        if *may_part {
            tie(joints, |place| self.joint_states.get(place), &mut ties.links);
        }
        if listed {
            return near.pair(threads, params, shapes, aabbs, own_cells, ties, past, pair_starts, contacts, limit);
        }
        let levels = counters.awake_levels;
        let scratch = &mut scratch.pair;
        pair(threads, params, shapes, aabbs, grid, ties, states, levels, pair_starts, contacts, limit, scratch)
    }

    /// Makes room for a manifold a contact, and counts the contacts.
    pub(super) fn keep_count(&mut self) {
        self.manifolds.resize(self.contacts.len(), Manifold::default());
        #[allow(clippy::cast_possible_truncation, reason = "contacts are counted in u32")]
        let count = self.contacts.len() as u32;
        (self.counters.pairs_found, self.counters.contacts) = (count, count);
    }

    /// Looks how joints stand eight at a time, where none can break or sleep. Returns false, and does nothing, elsewhere.
    pub(super) fn prepare_joint_blocks(&mut self) -> bool {
        let Self { threads, poses, joint_blocks, joint_states, counters, .. } = self;
        let Compiled { params, bodies, joints, .. } = &self.host.compiled;
        let Joints { joints, starts, fresh, .. } = joints;
        let stand = fresh.is_empty()
            && counters.quarantined == 0
            && params.switches & SLEEP == 0
            && self.plan.iter().all(|op| op.stage != Stage::ProjectJoints)
            && joint_blocks.stand(threads, starts, joints, bodies, poses, joint_states);
        self.shortcuts.joints += u64::from(stand);
        stand
    }

    /// Sweeps fast bodies against few walls, where no body can sleep. Returns false, and does nothing, if the walls are many.
    pub(super) fn sweep_against_walls(&mut self) -> bool {
        let Self { own_cells, poses, states, walls, .. } = self;
        let Compiled { params, shapes, vertices, .. } = &self.host.compiled;
        if params.switches & SLEEP != 0 || !walls.take(shapes, vertices, own_cells, poses, states) {
            return false;
        }
        self.shortcuts.walls += 1;
        if params.switches & BULLETS != 0 {
            // They may stop at any body.
            self.renew_grid();
        }
        let Self { threads, poses, states, cell_ends, cell_shapes, walls, scratch, counters, .. } = self;
        let Compiled { params, shapes, vertices, movers, joints, .. } = &self.host.compiled;
        let grid = (&cell_ends[..], &cell_shapes[..]);
        let (ties, scratch) = (&joints.ties, &mut scratch.continuous);
        let walls = Some(&*walls);
        counters.continuous =
            continuous(threads, params, shapes, vertices, ties, poses, states, grid, walls, movers, scratch);
        true
    }

    /// Makes the grid of this step, if there is only an older one.
    pub(super) fn renew_grid(&mut self) {
        if std::mem::take(&mut self.search) == Search::List {
            bin_place(&self.host.compiled.params, &self.own_cells, &mut self.cell_ends, &mut self.cell_shapes);
        }
    }

    /// Forgets what is known from steps before: it says nothing of the next.
    pub(super) fn forget(&mut self) {
        self.groups.forget();
        self.near.forget();
        self.walls.forget();
        self.joint_blocks.forget();
        self.search = Search::Grid;
    }
}
