//! Island batches: the CPU solves batches of islands separately, to the same bits as stage by stage, for any batch
//! size.

use crate::support::{Trace, build, cpu, pile, trace_cpu};
use drystone::low_level::CpuWorld;
use drystone::{Body, Mode, Scene, Settings, Shape};

const STEPS: usize = 90;

/// Returns scenes with heaps that merge, separate, bounce, roll, slide and rest.
fn scenes() -> Vec<Scene> {
    let mut scenes: Vec<Scene> = [
        "many_pyramids:rows=2,columns=3,base=4",
        "smash:columns=12,rows=8",
        "confined:grid=8",
        "overlap_recovery",
        "circle_stack",
        "card_house",
        "static_and_kinetic",
        "high_mass_ratio_1:base=4",
    ]
    .map(build)
    .into();
    scenes.extend([pile(7, 120), pile(8, 300)]);
    scenes
}

/// Returns the trace of a run, and the maximum number of batches in a step.
fn trace(mut world: CpuWorld) -> (Trace, usize) {
    let mut most = 0;
    let mut states = Vec::new();
    for _ in 1..STEPS {
        states.extend(trace_cpu(&mut world, 1).states);
        most = most.max(world.island_batch_count());
    }
    let end = trace_cpu(&mut world, 1);
    states.extend(end.states);
    (Trace { states, last: end.last }, most)
}

/// Returns the maximum number of batches in a step.
fn assert_no_trace(scene: &Scene, what: &str) -> usize {
    let mut groups = 0;
    let (whole, none) = trace(cpu(scene).with_island_batches_of(0));
    assert_eq!(none, 0);
    for size in [1, 9] {
        for threads in [1, 3] {
            let world =
                cpu(scene).with_island_batches_of(size).with_threads(threads).expect("threads").with_sharing_from(0);
            let (grouped, most) = trace(world);
            grouped.assert_is(&whole, &format!("{} {what}, groups of {size}, {threads} threads", scene.name));
            groups = groups.max(most);
        }
    }
    groups
}

#[test]
fn island_batches_leave_no_trace() {
    let groups: Vec<_> =
        scenes().iter().map(|scene| (scene.name.clone(), assert_no_trace(scene, "as it is"))).collect();
    let split = groups.iter().filter(|(_, groups)| *groups > 1).count();
    assert!(split >= 5, "too few scenes fall into groups: {groups:?}");
}

#[test]
fn island_batches_leave_no_trace_in_any_mode() {
    for mode in [Mode::Baumgarte, Mode::Projection] {
        for scene in [build("many_pyramids:rows=2,columns=2,base=3"), pile(3, 60)] {
            let settings = Settings { mode, ..scene.settings };
            assert!(assert_no_trace(&Scene { settings, ..scene }, &format!("{mode:?}")) > 1);
        }
    }
}

#[test]
fn island_batches_leave_no_trace_where_bodies_sleep() {
    let scene = build("many_pyramids:rows=2,columns=3,base=3");
    let settings = Settings { sleep: true, ..scene.settings };
    assert!(assert_no_trace(&Scene { settings, ..scene }, "asleep") > 1);
}

/// Batches of 3,000 contacts and bodies, the default.
#[test]
fn large_worlds_are_solved_in_island_batches() {
    let scene = build("many_pyramids:rows=10,columns=10");
    let mut whole = cpu(&scene).with_island_batches_of(0);
    let whole = trace_cpu(&mut whole, 20);
    for threads in [1, 2] {
        let mut world = cpu(&scene).with_threads(threads).expect("threads");
        trace_cpu(&mut world, 20).assert_is(&whole, &format!("{threads} threads"));
        assert!(world.island_batch_count() > 3, "{threads} threads: {} groups", world.island_batch_count());
    }
}

/// A single heap is not split, and neither are bodies connected by a kinematic body.
#[test]
fn one_island_is_solved_as_a_whole() {
    for scene in ["large_pyramid:base=20", "tumbler:grid=12"] {
        let mut world = cpu(&build(scene)).with_island_batches_of(5);
        let settled = trace_cpu(&mut world, 150);
        assert_eq!(world.island_batch_count(), 0, "{scene}");
        trace_cpu(&mut cpu(&build(scene)).with_island_batches_of(0), 150).assert_is(&settled, scene);
    }
}

/// Bodies are added and removed between the steps.
#[test]
fn island_batches_follow_added_and_removed_bodies() {
    let run = |size: u32| {
        let mut world = cpu(&build("many_pyramids:rows=1,columns=4,base=4")).with_island_batches_of(size);
        let mut hashes = Vec::new();
        let mut groups = 0;
        for round in 0..6_u8 {
            let x = f32::from(round) * 3.0 - 10.0;
            let falling = [0.0, 1.1].map(|y| Body::dynamic(x, 9.0 + y).shape(Shape::half_box(0.5, 0.5)));
            let came = world.add_bodies(&falling).expect("room");
            hashes.extend(trace_cpu(&mut world, 12).states);
            groups = groups.max(world.island_batch_count());
            world.remove_bodies(&came[..1]).expect("it exists");
            hashes.extend(trace_cpu(&mut world, 6).states);
        }
        (hashes, groups)
    };
    let (whole, none) = run(0);
    let (grouped, some) = run(2);
    assert_eq!(grouped, whole);
    assert!(none == 0 && some > 1, "{none} and {some} groups");
}

/// Negative control: batches that split islands give wrong results, and the comparison detects it.
#[test]
fn split_islands_are_detected() {
    let scene = build("many_pyramids:rows=2,columns=2,base=4");
    let (whole, _) = trace(cpu(&scene).with_island_batches_of(0));
    let (cut, groups) = trace(cpu(&scene).with_blind_island_batches_of(1));
    assert!(groups > 4, "{groups} groups");
    assert_ne!(cut.states, whole.states);
}
