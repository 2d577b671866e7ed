//! The shorter ways around stages, to the same bits: what is known from steps before, and what is forgotten of it.

use super::CpuWorld;
use crate::scene::{Compiled, Joints};
use crate::stages::bin;
use crate::stages::pair::near::Moving;
use crate::step::{Op, Stage};
use crate::types::{BULLETS, SLEEP};

impl CpuWorld {
    /// Before a stage: whether it may look into the list of those that lay near each other, or at few walls, instead of into
    /// the grid.
    pub(super) fn look_for_list(&mut self, op: Op) {
        let limit = self.contact_limit();
        let Self { threads, aabbs, own_cells, cell_ends, cell_shapes, near, has_list, walls, has_walls, .. } = self;
        let Self { poses, states, contacts, recalls, .. } = self;
        let Compiled { params, shapes, vertices, joints, .. } = &self.host.compiled;
        let Joints { ties, may_part, .. } = joints;
        // Where bodies sleep there is a shorter way yet.
        let Some(shortcuts) = self.shortcuts.as_mut().filter(|_| params.switches & SLEEP == 0) else { return };
        match op.stage {
            Stage::Bin => {
                *has_list = near.look(threads, aabbs, *may_part);
                shortcuts.listed += u64::from(*has_list);
            }
            Stage::Pair if !*has_list => {
                let grid = (&own_cells[..], &cell_ends[..], &cell_shapes[..]);
                let moving = Moving { params, shapes, aabbs, poses, states };
                *has_list = near.make(threads, moving, grid, ties, *may_part, limit, contacts);
                shortcuts.lists += u64::from(*has_list);
            }
            // A list of an earlier step: since then no shape has become another.
            Stage::Pair => *recalls = self.plan.iter().any(|op| op.stage == Stage::Recall),
            Stage::Continuous => {
                let bullets = params.switches & BULLETS != 0;
                *has_walls = walls.take(shapes, vertices, own_cells, poses, states);
                shortcuts.walls += u64::from(*has_walls);
                if bullets || !*has_walls {
                    self.renew_grid();
                }
            }
            _ => {}
        }
    }

    /// Looks how joints stand eight at a time, where none can break or sleep.
    pub(super) fn run_joints(&mut self, op: Op) -> bool {
        let Self { threads, poses, joint_blocks, joint_states, counters, .. } = self;
        let Compiled { params, bodies, joints, .. } = &self.host.compiled;
        let Joints { joints, starts, fresh, .. } = joints;
        let Some(shortcuts) = &mut self.shortcuts else { return false };
        let steady = fresh.is_empty() && counters.quarantined == 0 && params.switches & SLEEP == 0;
        let stand = op.stage == Stage::PrepareJoints
            && steady
            && !self.one_by_one
            && self.plan.iter().all(|op| op.stage != Stage::ProjectJoints)
            && joint_blocks.stand(threads, starts, joints, bodies, poses, joint_states);
        shortcuts.joints += u64::from(stand);
        stand
    }

    /// Makes the grid of this step, if there is only an older one.
    pub(super) fn renew_grid(&mut self) {
        if std::mem::take(&mut self.grid_is_old) {
            bin::bin_place(&self.host.compiled.params, &self.own_cells, &mut self.cell_ends, &mut self.cell_shapes);
        }
    }

    /// What is known from steps before says nothing of the next.
    pub(super) fn forget(&mut self) {
        self.groups.forget();
        self.near.forget();
        self.walls.forget();
        self.joint_blocks.forget();
        (self.has_cells, self.has_list, self.has_walls, self.recalls) = (false, false, false, false);
    }
}
