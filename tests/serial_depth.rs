//! The least time of a step on hardware: its dispatches, one after the other, and the turns that the lanes of a
//! single workgroup take one after the other. A software adapter hides both, as one of its lanes is as fast as all.

use std::collections::BTreeMap;

use crate::support::{build, cpu};
use drystone::Scene;
use drystone::low_level::gpu::recipe::{RecipeDispatch, RecipeKernel, StepRecipe};
use drystone::low_level::scene::Compiled;
use drystone::low_level::stages::color::split::max_splits;
use drystone::low_level::types::{
    COLOR_COUNT, Counters, OP_INTEGRATE_POSITIONS, OP_INTEGRATE_VELOCITIES, OP_SOLVE, OP_WARM_START, OVERFLOW_COLOR,
    SPLIT_DONE, Sweep,
};

/// Time of a dispatch, and of one turn of a lane in a sweep, µs: on an NVIDIA H100 (benches/results/nvidia-h100).
const DISPATCH: f64 = 2.3;
const TURN: f64 = 1.1;

/// Serial depth of a step.
#[derive(Debug)]
struct Depth {
    dispatches: usize,
    /// Turns of the dispatch that takes most.
    most: (String, u32),
    /// Turns of all dispatches.
    turns: u32,
}

impl Depth {
    /// Returns the time that this takes at least, µs.
    #[allow(clippy::cast_precision_loss, reason = "thousands")]
    fn least(&self) -> f64 {
        DISPATCH * self.dispatches as f64 + TURN * f64::from(self.turns)
    }
}

/// Returns the turns of one workgroup that visits the constraints of several colours.
fn turns_of_colors(counters: &Counters, sweep: Sweep, lanes: u32, most_splits: u32) -> u32 {
    let splits = if sweep.flags & SPLIT_DONE == 0 { 0 } else { most_splits };
    let turns = |color: u32| match counters.color_size(color) {
        // One lane solves those that are not split, in order.
        size if color == OVERFLOW_COLOR => size.saturating_sub(splits),
        size => size.div_ceil(lanes),
    };
    (sweep.first_color..sweep.end_color).map(turns).sum()
}

/// Returns the depth of the step after these, recorded with the bounds of hardware or of a software adapter.
fn depth_of(scene: &Scene, steps: u64, is_software: bool) -> Depth {
    let mut world = cpu(scene);
    while world.steps() < steps {
        world.step().expect("a step");
    }
    let counters = world.counters();
    let recipe = StepRecipe::new(Compiled::new(scene).expect("a scene"));
    let capacity = recipe.contact_capacity().max(counters.contacts + counters.contacts / 2);
    let kernels: BTreeMap<String, RecipeKernel> =
        recipe.kernels().expect("kernels").kernels.into_iter().map(|kernel| (kernel.name.clone(), kernel)).collect();
    let dispatches = recipe.dispatches(Some(counters), capacity, is_software, true);
    let body_count = recipe.compiled().params.body_count;
    let most_splits = max_splits(recipe.compiled().params.shape_count);
    let cells = recipe.compiled().params.cell_count;
    let program = recipe.uniforms().into_iter().find(|(name, _)| *name == "program").expect("a program").1;
    let ops: Vec<u32> =
        program.chunks_exact(16).map(|line| u32::from_le_bytes([line[0], line[1], line[2], line[3]])).collect();
    let all_colors = Sweep { first_color: 0, end_color: COLOR_COUNT, flags: 0, round: 0 };
    let turns = |dispatch: &RecipeDispatch| {
        let lanes = kernels[&dispatch.kernel].lanes;
        let name = dispatch.kernel.as_str();
        if name.starts_with("fused") {
            let of = |&op: &u32| match op {
                OP_INTEGRATE_VELOCITIES | OP_INTEGRATE_POSITIONS => body_count.div_ceil(lanes),
                OP_WARM_START | OP_SOLVE => turns_of_colors(counters, all_colors, lanes, 0),
                _ => 0,
            };
            return ops.iter().map(of).sum();
        }
        match dispatch.sweep {
            Some(sweep) if name.ends_with("_tail") && !name.contains("joints") => {
                turns_of_colors(counters, sweep, lanes, most_splits)
            }
            // Those that the rounds before have left, three passes over them.
            Some(sweep) if name == "color_finish" => 3 * (counters.uncolored >> (sweep.round - 1)).div_ceil(lanes),
            // Four passes over the contacts that are split.
            _ if name == "color_split" => 4 * counters.color_size(OVERFLOW_COLOR).min(most_splits).div_ceil(lanes),
            _ if name == "scan_blocks/cells" => cells.div_ceil(4 * lanes),
            _ => 1,
        }
    };
    let each: Vec<(String, u32)> =
        dispatches.iter().map(|dispatch| (dispatch.kernel.clone(), turns(dispatch))).collect();
    let most = each.iter().max_by_key(|(_, turns)| *turns).cloned().expect("dispatches");
    Depth { dispatches: each.len(), most, turns: each.iter().map(|(_, turns)| turns).sum() }
}

/// Bounds: the least time of a step, µs, and the turns of its longest dispatch. They are a tenth above the present
/// figures; a step of an H100 takes 1.3 to 1.6 times that least time (benches/NOTES.md, Serial depth).
#[test]
fn steps_are_not_deep() {
    for (spec, steps, time, turns) in [
        ("large_pyramid:base=5", 60, 170.0, 80),
        ("large_pyramid:base=44", 60, 300.0, 200),
        ("large_pyramid:base=100", 60, 450.0, 8),
        ("large_pyramid:base=200", 20, 500.0, 12),
        ("many_pyramids", 60, 470.0, 8),
        ("washer", 300, 610.0, 16),
        ("tumbler", 300, 440.0, 320),
        ("smash", 100, 950.0, 48),
        ("mixed_sizes", 300, 360.0, 240),
        ("loaded_plate", 60, 370.0, 24),
        ("loaded_plate:boxes=10000", 30, 470.0, 170),
        ("rain", 200, 210.0, 100),
        ("junkyard", 100, 240.0, 12),
        ("joint_grid", 30, 290.0, 8),
    ] {
        let depth = depth_of(&build(spec), steps, false);
        assert!(depth.least() <= time && depth.most.1 <= turns, "{spec}: at least {:.0} µs, {depth:?}", depth.least());
    }
}

/// Negative control: with the bounds of a software adapter one lane would solve the contacts of a plate in order.
#[test]
fn a_lane_that_solves_a_hub_is_noticed() {
    let plate = build("loaded_plate:boxes=500");
    let [hardware, software] = [false, true].map(|is_software| depth_of(&plate, 30, is_software).most);
    assert!(hardware.1 < 16, "{hardware:?}");
    assert!(software.0 == "solve_tail" && software.1 > 400, "{software:?}");
}
