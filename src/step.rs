//! The table of contents of a step: which stages run, in which order. Both backends follow it.

use crate::scene::{Mode, Settings};
use crate::types::{DEPOSIT, FRESH, MEASURED, USE_BIAS, USE_FRICTION, WITHDRAW};

/// A stage. Its name is also that of its two files, its entry point, its row in the profile and its column in reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stage {
    /// [`crate::stages::command`]
    Command,
    /// [`crate::stages::guard`]
    Guard,
    /// [`crate::stages::bound`]
    Bound,
    /// [`crate::stages::bin`]
    Bin,
    /// [`crate::stages::pair`]
    Pair,
    /// [`crate::stages::recall`]
    Recall,
    /// [`crate::stages::collide`]
    Collide,
    /// [`crate::stages::wake`]
    Wake,
    /// [`crate::stages::report`]
    Report,
    /// [`crate::stages::color`]
    Color,
    /// [`crate::stages::prepare`]
    Prepare,
    /// [`crate::stages::prepare_joints`]
    PrepareJoints,
    /// [`crate::stages::warm_start`]
    WarmStart,
    /// [`crate::stages::warm_start_joints`]
    WarmStartJoints,
    /// [`crate::stages::integrate_velocities`]
    IntegrateVelocities,
    /// [`crate::stages::solve_joints`]
    SolveJoints,
    /// [`crate::stages::solve`]
    Solve,
    /// [`crate::stages::integrate_positions`]
    IntegratePositions,
    /// [`crate::stages::solve_joints`] without bias and springs.
    RelaxJoints,
    /// [`crate::stages::solve`] without bias.
    Relax,
    /// [`crate::stages::project_joints`]
    ProjectJoints,
    /// [`crate::stages::project`]
    Project,
    /// [`crate::stages::restitution`]
    Restitution,
    /// [`crate::stages::store_impulses`]
    StoreImpulses,
    /// [`crate::stages::continuous`]
    Continuous,
    /// [`crate::stages::finalize`]
    Finalize,
    /// [`crate::stages::sleep`]
    Sleep,
}

impl Stage {
    /// All of them, in the order in which they first run.
    pub const ALL: [Self; 27] = [
        Self::Command,
        Self::Guard,
        Self::Bound,
        Self::Bin,
        Self::Pair,
        Self::Recall,
        Self::Collide,
        Self::Wake,
        Self::Report,
        Self::Color,
        Self::Prepare,
        Self::PrepareJoints,
        Self::WarmStart,
        Self::WarmStartJoints,
        Self::IntegrateVelocities,
        Self::SolveJoints,
        Self::Solve,
        Self::IntegratePositions,
        Self::RelaxJoints,
        Self::Relax,
        Self::ProjectJoints,
        Self::Project,
        Self::Restitution,
        Self::StoreImpulses,
        Self::Continuous,
        Self::Finalize,
        Self::Sleep,
    ];

    /// The word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Command => "command",
            Self::Guard => "guard",
            Self::Bound => "bound",
            Self::Bin => "bin",
            Self::Pair => "pair",
            Self::Recall => "recall",
            Self::Collide => "collide",
            Self::Wake => "wake",
            Self::Report => "report",
            Self::Color => "color",
            Self::Prepare => "prepare",
            Self::PrepareJoints => "prepare_joints",
            Self::WarmStart => "warm_start",
            Self::WarmStartJoints => "warm_start_joints",
            Self::IntegrateVelocities => "integrate_velocities",
            Self::SolveJoints => "solve_joints",
            Self::Solve => "solve",
            Self::IntegratePositions => "integrate_positions",
            Self::RelaxJoints => "relax_joints",
            Self::Relax => "relax",
            Self::ProjectJoints => "project_joints",
            Self::Project => "project",
            Self::Restitution => "restitution",
            Self::StoreImpulses => "store_impulses",
            Self::Continuous => "continuous",
            Self::Finalize => "finalize",
            Self::Sleep => "sleep",
        }
    }
}

/// One line of the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Op {
    /// What runs.
    pub stage: Stage,
    /// [`crate::types::Sweep::flags`] of a solver sweep, else 0.
    pub flags: u32,
}

/// The stages of one step. `bounces` says whether any two shapes can, `joints` whether there are any.
#[must_use]
pub fn plan(settings: &Settings, bounces: bool, joints: bool) -> Vec<Op> {
    let mut ops = Vec::new();
    let mut run = |stage, flags| ops.push(Op { stage, flags });

    run(Stage::Command, 0);
    run(Stage::Guard, 0);
    run(Stage::Bound, 0);
    run(Stage::Bin, 0);
    run(Stage::Pair, 0);
    run(Stage::Recall, 0);
    run(Stage::Collide, 0);
    if settings.sleep {
        run(Stage::Wake, 0);
        // Who woke in this step has contacts in this step, or it would stand like a wall. Does nothing if nobody did.
        run(Stage::Pair, 0);
        run(Stage::Recall, 0);
        run(Stage::Collide, 0);
    }
    if settings.events {
        run(Stage::Report, 0);
    }
    run(Stage::Color, 0);
    run(Stage::Prepare, 0);
    if joints {
        run(Stage::PrepareJoints, 0);
    }
    let relax = settings.mode == Mode::Soft && settings.relax;
    if settings.warm_start {
        run(Stage::WarmStart, 0);
        // Before the next substep the impulses of joints must be turned into the new directions of the rows: a tension along an
        // old direction would do work. The relax sweep does that, as it comes after the bodies moved; else it is done here.
        if joints && relax {
            run(Stage::WarmStartJoints, 0);
        }
    }

    let iterations = settings.iteration_count();
    for substep in 0..settings.substep_count() {
        if joints && settings.warm_start && !relax {
            run(Stage::WarmStartJoints, 0);
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
            run(Stage::Relax, USE_FRICTION);
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

    if bounces {
        run(Stage::Restitution, 0);
    }
    run(Stage::StoreImpulses, 0);
    run(Stage::Continuous, 0);
    run(Stage::Finalize, 0);
    if settings.sleep {
        run(Stage::Sleep, 0);
    }
    ops
}
