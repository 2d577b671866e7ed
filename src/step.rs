//! The plan of a step: its stages and their order, from the settings of a scene. Both backends follow it.

use crate::constants::RESTITUTION_ROUNDS;
use crate::scene::{Mode, Settings};
use crate::types::{DEPOSIT, FRESH, LEAVE_IMPACTS, MEASURED, USE_BIAS, USE_FRICTION, WITHDRAW};

/// A stage of a step. Its name is also that of its two files, its entry point, its row in the profile and its column in
/// reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stage {
    /// Applies commands ([`crate::stages::command`]).
    Command,
    /// Quarantines bodies with a NaN ([`crate::stages::quarantine`]).
    Quarantine,
    /// Computes the boxes of shapes ([`crate::stages::bound`]).
    Bound,
    /// Sorts shapes into the grid ([`crate::stages::bin`]).
    Bin,
    /// Finds pairs whose boxes overlap ([`crate::stages::pair`]).
    Pair,
    /// Finds the contacts of the previous step ([`crate::stages::match_contacts`]).
    MatchContacts,
    /// Computes contact points ([`crate::stages::collide`]).
    Collide,
    /// Wakes islands ([`crate::stages::wake`]).
    Wake,
    /// Collects events ([`crate::stages::collect_events`]).
    CollectEvents,
    /// Colours the contacts ([`crate::stages::color`]).
    Color,
    /// Lays out contact constraints ([`crate::stages::prepare`]).
    Prepare,
    /// Prepares joints ([`crate::stages::prepare_joints`]).
    PrepareJoints,
    /// Applies the impulses of the previous step ([`crate::stages::warm_start`]).
    WarmStart,
    /// Applies the joints' impulses ([`crate::stages::warm_start_joints`]).
    WarmStartJoints,
    /// Applies impacts ([`crate::stages::restitution`]).
    Restitution,
    /// Applies gravity, forces and impulses ([`crate::stages::integrate_velocities`]).
    IntegrateVelocities,
    /// Solves joints ([`crate::stages::solve_joints`]).
    SolveJoints,
    /// Solves contacts ([`crate::stages::solve`]).
    Solve,
    /// Moves bodies ([`crate::stages::integrate_positions`]).
    IntegratePositions,
    /// Solves joints without bias and springs ([`crate::stages::solve_joints`]).
    RelaxJoints,
    /// Solves contacts without bias ([`crate::stages::solve`]).
    Relax,
    /// Corrects positions at joints ([`crate::stages::project_joints`]).
    ProjectJoints,
    /// Corrects positions at contacts ([`crate::stages::project`]).
    Project,
    /// Stores impulses for the next step ([`crate::stages::store_impulses`]).
    StoreImpulses,
    /// Stops fast bodies that would tunnel ([`crate::stages::continuous`]).
    Continuous,
    /// Writes the poses ([`crate::stages::finalize`]).
    Finalize,
    /// Puts islands to sleep ([`crate::stages::sleep`]).
    Sleep,
}

/// Names of stages in files of earlier versions.
const FORMER_NAMES: [(&str, Stage); 3] =
    [("guard", Stage::Quarantine), ("recall", Stage::MatchContacts), ("report", Stage::CollectEvents)];

impl Stage {
    /// All stages, in the order in which they first run.
    pub const ALL: [Self; 27] = [
        Self::Command,
        Self::Quarantine,
        Self::Bound,
        Self::Bin,
        Self::Pair,
        Self::MatchContacts,
        Self::Collide,
        Self::Wake,
        Self::CollectEvents,
        Self::Color,
        Self::Prepare,
        Self::PrepareJoints,
        Self::WarmStart,
        Self::WarmStartJoints,
        Self::Restitution,
        Self::IntegrateVelocities,
        Self::SolveJoints,
        Self::Solve,
        Self::IntegratePositions,
        Self::RelaxJoints,
        Self::Relax,
        Self::ProjectJoints,
        Self::Project,
        Self::StoreImpulses,
        Self::Continuous,
        Self::Finalize,
        Self::Sleep,
    ];

    /// Returns the name in snake case.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Command => "command",
            Self::Quarantine => "quarantine",
            Self::Bound => "bound",
            Self::Bin => "bin",
            Self::Pair => "pair",
            Self::MatchContacts => "match_contacts",
            Self::Collide => "collide",
            Self::Wake => "wake",
            Self::CollectEvents => "collect_events",
            Self::Color => "color",
            Self::Prepare => "prepare",
            Self::PrepareJoints => "prepare_joints",
            Self::WarmStart => "warm_start",
            Self::WarmStartJoints => "warm_start_joints",
            Self::Restitution => "restitution",
            Self::IntegrateVelocities => "integrate_velocities",
            Self::SolveJoints => "solve_joints",
            Self::Solve => "solve",
            Self::IntegratePositions => "integrate_positions",
            Self::RelaxJoints => "relax_joints",
            Self::Relax => "relax",
            Self::ProjectJoints => "project_joints",
            Self::Project => "project",
            Self::StoreImpulses => "store_impulses",
            Self::Continuous => "continuous",
            Self::Finalize => "finalize",
            Self::Sleep => "sleep",
        }
    }

    /// Returns the stage with this name. Accepts the names in files of earlier versions.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let renamed = FORMER_NAMES.iter().find(|(former, _)| *former == name).map(|&(_, stage)| stage);
        renamed.or_else(|| Self::ALL.into_iter().find(|stage| stage.name() == name))
    }
}

/// A line of the plan: a stage with its flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedStage {
    /// Stage to run.
    pub stage: Stage,
    /// Flags of a solver sweep ([`crate::types::Sweep::flags`]); of restitution the number of the round in the step;
    /// else 0.
    pub flags: u32,
}

/// Returns the stages of one step in their order. `bounces` is true if two shapes can bounce, `joints` if there are
/// joints.
#[must_use]
#[allow(clippy::too_many_lines, reason = "the table of contents of a step, one line a stage")]
pub fn plan(settings: &Settings, bounces: bool, joints: bool) -> Vec<PlannedStage> {
    let mut ops = Vec::new();
    let mut run = |stage, flags| ops.push(PlannedStage { stage, flags });

    run(Stage::Command, 0);
    run(Stage::Quarantine, 0);
    run(Stage::Bound, 0);
    run(Stage::Bin, 0);
    run(Stage::Pair, 0);
    run(Stage::MatchContacts, 0);
    run(Stage::Collide, 0);
    if settings.sleep {
        run(Stage::Wake, 0);
        // A body that woke needs its contacts in this step: without them it would stand like a wall. These do nothing
        // if no body woke.
        run(Stage::Pair, 0);
        run(Stage::MatchContacts, 0);
        run(Stage::Collide, 0);
    }
    if settings.events {
        run(Stage::CollectEvents, 0);
    }
    run(Stage::Color, 0);
    run(Stage::Prepare, 0);
    if joints {
        run(Stage::PrepareJoints, 0);
    }
    let relax = settings.mode == Mode::Soft && settings.relax;
    if settings.warm_start {
        run(Stage::WarmStart, 0);
        // Before the next substep the impulses of joints must be turned into the new directions of the rows: a tension
        // along an old direction would do work. The relax sweep, which follows the motion, does that; without it, it is
        // done here.
        if joints && relax {
            run(Stage::WarmStartJoints, 0);
        }
    }

    let iterations = settings.iteration_count();
    for substep in 0..settings.substep_count() {
        if joints && settings.warm_start && !relax {
            run(Stage::WarmStartJoints, 0);
        }
        if bounces {
            for round in 0..RESTITUTION_ROUNDS {
                run(Stage::Restitution, substep * RESTITUTION_ROUNDS + round);
            }
        }
        run(Stage::IntegrateVelocities, 0);
        for iteration in 0..iterations {
            let mut flags = if settings.mode == Mode::Projection { 0 } else { USE_BIAS };
            if !relax {
                flags |= USE_FRICTION;
            }
            if iteration > 0 || (relax && substep > 0) {
                flags |= MEASURED;
            }
            if iteration == 0 && !settings.warm_start {
                flags |= FRESH;
            }
            if joints {
                let last = if iteration + 1 == iterations { WITHDRAW } else { 0 };
                run(Stage::SolveJoints, USE_BIAS | last | flags & FRESH);
            }
            run(Stage::Solve, flags);
        }
        run(Stage::IntegratePositions, 0);
        if relax {
            if joints {
                run(Stage::RelaxJoints, DEPOSIT);
            }
            run(Stage::Relax, USE_FRICTION | if bounces { LEAVE_IMPACTS } else { 0 });
        }
        if settings.mode == Mode::Projection && settings.correct_position {
            for _ in 0..iterations {
                if joints {
                    run(Stage::ProjectJoints, 0);
                }
                run(Stage::Project, 0);
            }
        }
    }

    run(Stage::StoreImpulses, 0);
    if settings.continuous {
        run(Stage::Continuous, 0);
    }
    run(Stage::Finalize, 0);
    if settings.sleep {
        run(Stage::Sleep, 0);
    }
    ops
}
