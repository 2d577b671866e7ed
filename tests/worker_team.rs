//! Sweeps by a team of worker threads: the same bits as on one thread.

use crate::support::{build, cpu, pile, trace_cpu};
use drystone::{Mode, Scene, Settings};

const STEPS: usize = 60;

fn assert_no_trace(scene: &Scene, what: &str) {
    let alone = trace_cpu(&mut cpu(scene).with_island_batches_of(0), STEPS);
    for threads in [2, 5] {
        let mut world =
            cpu(scene).with_island_batches_of(0).with_threads(threads).expect("threads").with_sharing_from(0);
        trace_cpu(&mut world, STEPS).assert_is(&alone, &format!("{} {what} on {threads} threads", scene.name));
        // Steps in which all bodies sleep have no sweeps.
        assert!(world.team_steps() > STEPS as u64 / 3, "{}: {}", scene.name, world.team_steps());
    }
    // By default small worlds are not solved by a team.
    let mut world = cpu(scene).with_island_batches_of(0).with_threads(2).expect("threads");
    trace_cpu(&mut world, 1);
    assert_eq!(world.team_steps(), 0, "{}", scene.name);
}

/// Scenes with bodies that rest, fall, bounce, roll and slide, and one without contacts.
#[test]
fn team_sweeps_leave_no_trace() {
    let specs = [
        "large_pyramid:base=25",
        "smash:columns=12,rows=8",
        "confined:grid=8",
        "bouncing_ball",
        "static_and_kinetic",
        "circle_stack",
        "thruster",
    ];
    for scene in specs.map(build).into_iter().chain([pile(7, 200)]) {
        assert_no_trace(&scene, "as it is");
    }
}

#[test]
fn team_sweeps_leave_no_trace_in_any_mode() {
    for mode in [Mode::Baumgarte, Mode::Projection] {
        let scene = pile(3, 150);
        let settings = Settings { mode, ..scene.settings };
        assert_no_trace(&Scene { settings, ..scene }, &format!("{mode:?}"));
    }
    let scene = build("large_pyramid:base=12");
    let settings = Settings { sleep: true, ..scene.settings };
    assert_no_trace(&Scene { settings, ..scene }, "asleep");
}

/// All contacts in the overflow, which is solved in order.
#[test]
fn team_sweeps_keep_the_order_of_the_overflow() {
    let scene = pile(5, 80);
    let alone = trace_cpu(&mut cpu(&scene).with_forced_overflow(), STEPS);
    let mut world = cpu(&scene).with_forced_overflow().with_threads(3).expect("threads").with_sharing_from(0);
    trace_cpu(&mut world, STEPS).assert_is(&alone, "forced overflow");
    assert!(world.team_steps() > 0);
}
