//! The parts of each stage, from which dispatches follow once capacities and the counts of a past step are known
//! ([`super::record`]).

use super::record::DispatchBounds;
use crate::step::{PlannedStage, Stage};
use crate::types::{
    BOUNCES, BULLETS, COLOR_BLOCK, COLOR_COUNT, MIN_SPLIT_SHAPES, MOVING_WALLS, ONLY_BULLETS, Params, RULED, SLEEP,
    Sweep,
};

/// Element of the contact tables that a dispatch has a thread for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThreadUnit {
    /// None: the number of threads does not depend on the contact capacity.
    Nothing,
    /// A unit of contact capacity.
    Contact,
    /// A contact of a colour block, also of the last one, which may not be full.
    BlockContact,
    /// A colour of a colour block.
    BlockColor,
}

/// Number of threads of a dispatch, or length of a list: that of an element, and at least a fixed number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadCount {
    /// Fixed number.
    pub least: u32,
    /// Element whose number is the count, if that is more.
    pub per: ThreadUnit,
}

impl ThreadCount {
    /// One thread per unit of contact capacity.
    const CONTACTS: Self = Self { least: 0, per: ThreadUnit::Contact };

    /// Returns a count that is at least `least`.
    const fn or(self, least: u32) -> Self {
        Self { least, ..self }
    }

    /// Returns the count at this contact capacity, with contacts counted by colour in this number of blocks.
    #[must_use]
    pub fn at(self, contacts: u32, color_blocks: u32) -> u32 {
        let count = match self.per {
            ThreadUnit::Nothing => 0,
            ThreadUnit::Contact => contacts,
            ThreadUnit::BlockContact => color_blocks * COLOR_BLOCK,
            ThreadUnit::BlockColor => color_blocks * COLOR_COUNT,
        };
        count.max(self.least)
    }
}

impl From<u32> for ThreadCount {
    fn from(least: u32) -> Self {
        Self { least, per: ThreadUnit::Nothing }
    }
}

/// Part of a stage, from which dispatches follow once capacities and the counts of a past step are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StageWork {
    /// One dispatch.
    Kernel {
        /// Entry point.
        name: &'static str,
        /// Number of threads.
        threads: ThreadCount,
        /// Parameters, if the kernel has any.
        sweep: Option<Sweep>,
    },
    /// Replaces the counts of a list by their prefix sums.
    Scan {
        /// Name of the list.
        list: &'static str,
        /// Length of the list.
        length: ThreadCount,
    },
    /// Rounds of colouring.
    ColorRounds,
    /// Sweep over the contacts, one colour after the other.
    ContactSweep {
        /// Kernel of one colour.
        wide: &'static str,
        /// Kernel of several colours, in one workgroup.
        tail: &'static str,
        /// Flags of the sweep ([`Sweep::flags`]).
        flags: u32,
    },
    /// Sweep over the joints, one colour after the other.
    JointSweep {
        /// Kernel of one colour.
        wide: &'static str,
        /// Kernel of several colours, in one workgroup.
        tail: &'static str,
        /// Flags of the sweep.
        flags: u32,
    },
}

/// Lists the parts of a stage.
#[derive(Debug, Default)]
struct StageWorks(Vec<StageWork>);

impl StageWorks {
    fn dispatch(&mut self, name: &'static str, threads: impl Into<ThreadCount>) {
        self.0.push(StageWork::Kernel { name, threads: threads.into(), sweep: None });
    }

    fn dispatch_sweep(&mut self, name: &'static str, sweep: Sweep, threads: impl Into<ThreadCount>) {
        self.0.push(StageWork::Kernel { name, threads: threads.into(), sweep: Some(sweep) });
    }

    fn scan(&mut self, list: &'static str, length: impl Into<ThreadCount>) {
        self.0.push(StageWork::Scan { list, length: length.into() });
    }

    fn sweep(&mut self, wide: &'static str, tail: &'static str, flags: u32) {
        self.0.push(StageWork::ContactSweep { wide, tail, flags });
    }

    fn joint_sweep(&mut self, wide: &'static str, tail: &'static str, flags: u32) {
        self.0.push(StageWork::JointSweep { wide, tail, flags });
    }
}

/// Returns the parts of a stage, in order; none for [`Stage::Command`], which the owner of the tables dispatches.
#[allow(clippy::too_many_lines, reason = "one arm a stage and its kernels")]
pub(super) fn stage_works(op: PlannedStage, bounds: &DispatchBounds) -> Vec<StageWork> {
    let Params { body_count: bodies, shape_count: shapes, cell_count: cells, joint_count: joints, switches, .. } =
        bounds.params;
    let contacts = ThreadCount::CONTACTS;
    let mut works = StageWorks::default();
    match op.stage {
        Stage::Command => {}
        Stage::Quarantine => works.dispatch("quarantine", bodies.max(1)),

        Stage::Bound => works.dispatch("bound", shapes),
        Stage::Bin => {
            works.dispatch("bin_clear", cells + 1);
            works.dispatch("bin_count", shapes);
            works.scan("cells", cells + 1);
            works.dispatch("bin_place", shapes);
            works.dispatch("bin_sort", shapes);
        }
        Stage::Pair => {
            if bounds.may_part {
                works.dispatch("pair_exclude", joints);
            }
            works.dispatch("pair_count", shapes + 1);
            if switches & SLEEP != 0 {
                works.dispatch("pair_count_asleep", shapes);
            }
            works.scan("pairs", shapes + 1);
            works.dispatch("pair_emit", shapes + 1);
        }

        Stage::MatchContacts => works.dispatch("match_contacts", contacts),
        Stage::Collide => {
            let kernel = if bounds.hulls { "collide" } else { "collide_sharp" };
            works.dispatch(kernel, contacts);
            if switches & RULED != 0 {
                works.dispatch("rule_contacts", contacts);
            }
        }
        Stage::Wake => {
            works.dispatch("wake_find", contacts.or(1));
            works.dispatch("wake_joints", joints);
            works.dispatch("wake_bodies", bodies);
            works.dispatch("wake_shapes", shapes);
            works.dispatch("wake_count", shapes + 1);
            works.scan("merged", shapes + 1);
            works.dispatch("wake_gather", shapes);
            works.dispatch("wake_copy", contacts.or(shapes + 1));
        }
        Stage::CollectEvents => {
            works.dispatch("collect_events_count", shapes + joints + 1);
            works.scan("events", shapes + joints + 1);
            works.dispatch("collect_events_end", shapes);
            works.dispatch("collect_events_begin", shapes);
            works.dispatch("collect_events_joints", joints);
        }
        Stage::Color => {
            works.dispatch("color_inherit", contacts);
            works.0.push(StageWork::ColorRounds);
            works.dispatch("color_count", ThreadCount { least: 0, per: ThreadUnit::BlockContact });
            works.scan("colors", ThreadCount { least: 0, per: ThreadUnit::BlockColor });
            works.dispatch("color_place", ThreadCount { least: 0, per: ThreadUnit::BlockContact });
            if shapes >= MIN_SPLIT_SHAPES {
                works.dispatch("color_split", 1);
            }
        }
        Stage::Prepare => {
            works.dispatch("prepare", contacts);
            if switches & BOUNCES != 0 {
                works.dispatch("prepare_rebounds", contacts);
            }
            if switches & RULED != 0 {
                works.dispatch("rule_constraints", contacts);
            }
        }
        Stage::PrepareJoints => works.dispatch("prepare_joints", joints),

        Stage::WarmStart => works.sweep("warm_start", "warm_start_tail", op.flags),
        Stage::WarmStartJoints => {
            works.joint_sweep("warm_start_joints", "warm_start_joints_tail", op.flags);
        }
        Stage::IntegrateVelocities => works.dispatch("integrate_velocities", bodies),
        Stage::SolveJoints | Stage::RelaxJoints => {
            works.joint_sweep("solve_joints", "solve_joints_tail", op.flags);
        }
        Stage::Solve | Stage::Relax => works.sweep("solve", "solve_tail", op.flags),
        Stage::IntegratePositions => works.dispatch("integrate_positions", bodies),
        Stage::ProjectJoints => works.joint_sweep("project_joints", "project_joints_tail", op.flags),
        Stage::Project => works.sweep("project", "project_tail", op.flags),

        Stage::Restitution => works.sweep("restitution", "restitution_tail", 0),
        Stage::StoreImpulses => works.dispatch("store_impulses", contacts),
        Stage::Continuous => {
            if switches & MOVING_WALLS != 0 {
                works.dispatch("continuous_reach", shapes);
            }
            works.dispatch_sweep("continuous_sweep", Sweep::default(), shapes);
            works.dispatch("continuous_move", shapes);
            if switches & BULLETS != 0 {
                let sweep = Sweep { flags: ONLY_BULLETS, ..Sweep::default() };
                works.dispatch_sweep("continuous_sweep", sweep, shapes);
                works.dispatch("continuous_move", shapes);
            }
        }
        Stage::Finalize => works.dispatch("finalize", bodies),
        Stage::Sleep => {
            works.dispatch("sleep_timer", bodies.max(1));
            works.dispatch("sleep_unite", contacts);
            works.dispatch("sleep_unite_joints", joints);
            works.dispatch("sleep_block", contacts);
            works.dispatch("sleep_block_joints", joints);
            works.dispatch("sleep_settle", bodies);
            works.dispatch("sleep_count", shapes + 1);
            works.scan("merged", shapes + 1);
            works.dispatch("sleep_gather", shapes);
            works.dispatch("sleep_copy", contacts.or(shapes + 1));
        }
    }
    works.0
}
