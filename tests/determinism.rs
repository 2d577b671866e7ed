//! Determinism: the same scene gives the same bits in every step, for any backend configuration, capacity, and number
//! of snapshots.

use crate::support::{
    Trace, build, chaotic, compile, context, cpu, full_hash, gpu, gpu_with, new_context, pile, trace_cpu, trace_gpu,
};
use drystone::low_level::gpu::kernel::Patch;
use drystone::low_level::snapshot::Lineage;
use drystone::low_level::types::Pose;
use drystone::low_level::{GpuWorld, state};
use drystone::{Body, Scene, Shape, Snapshot};

const STEPS: usize = 100;

/// Runs the steps and takes a snapshot only at the end, so that the host's counters are outdated.
fn last_of_blind_run(world: &mut GpuWorld, steps: usize) -> Snapshot {
    for _ in 0..steps {
        world.step().expect("a step");
    }
    world.snapshot().expect("a snapshot")
}

fn assert_ends_as(snapshot: &Snapshot, trace: &Trace, what: &str) {
    let index = usize::try_from(snapshot.step).expect("few steps") - 1;
    assert_eq!(state::hash(snapshot), trace.states[index], "{what}");
}

#[test]
fn cpu_runs_agree_for_any_number_of_threads() {
    for scene in chaotic() {
        let trace = trace_cpu(&mut cpu(&scene), 200);
        for threads in [1, 2, 3, 8] {
            let mut world = cpu(&scene).with_threads(threads).expect("threads").with_sharing_from(0);
            assert_eq!(world.threads(), threads);
            trace_cpu(&mut world, 200).assert_is(&trace, &format!("{} on {threads} threads", scene.name));
        }
    }
}

/// Loops are split from some hundred elements on: one heap, many islands, and a scene with new contacts in every step.
#[test]
fn cpu_threads_agree_in_large_scenes() {
    for spec in ["smash:columns=50,rows=40,speed=200", "many_pyramids:rows=7,columns=7", "tumbler:grid=40,speed=2"] {
        let scene = build(spec);
        let trace = trace_cpu(&mut cpu(&scene), 40);
        for threads in [2, 3, 8] {
            let mut world = cpu(&scene).with_threads(threads).expect("threads");
            trace_cpu(&mut world, 40).assert_is(&trace, &format!("{spec} on {threads} threads"));
        }
    }
}

#[test]
fn gpu_runs_agree() {
    for scene in chaotic() {
        let trace = trace_gpu(&mut gpu(&scene), STEPS);
        trace_gpu(&mut gpu(&scene), STEPS).assert_is(&trace, &scene.name);
    }
}

/// Colors above and below the size that gets its own dispatch, with recent and outdated counters.
#[test]
fn gpu_dispatch_sizes_leave_no_trace() {
    let scene = build("smash:columns=60,rows=40,speed=150");
    let mut ample = gpu_with(&scene, 60_000);
    let trace = trace_gpu(&mut ample, 22);
    let mut blind = gpu_with(&scene, 60_000);
    assert_ends_as(&last_of_blind_run(&mut blind, 22), &trace, "a run without looking");
    // More scan blocks than one workgroup can scan, in the middle of the run.
    let mut ample = gpu_with(&scene, 60_000);
    last_of_blind_run(&mut ample, 19);
    let mut large = gpu_with(&scene, 300_000);
    large.restore(&ample.snapshot().expect("a snapshot")).expect("a snapshot of this world");
    assert_ends_as(&last_of_blind_run(&mut large, 3), &trace, "300,000 contacts fit");
    for world in [&ample, &blind, &large] {
        assert_eq!(world.overflowed_steps(), &[] as &[u64]);
    }
}

/// From its counters, the host decides which colors get their own dispatch, whether hubs do, and how many coloring
/// rounds run over all contacts. Wrong counters cost time, but do not change bits.
#[test]
fn gpu_wrong_counters_leave_no_trace() {
    for scene in chaotic().into_iter().chain([loaded_plate()]) {
        let mut world = gpu_with(&scene, 16_384);
        for at in [1, 20, 80] {
            while world.steps() < at {
                world.step().expect("a step");
            }
            let snapshot = world.snapshot().expect("a snapshot");
            let mut dispatches = Vec::new();
            let mut hashes = Vec::new();
            for (size, uncolored) in [(0, 0), (640, 0), (5_000, 10_000), (100, 4_000)] {
                let mut wrong = snapshot.clone();
                wrong.counters.uncolored = uncolored;
                wrong.counters.color_starts = std::array::from_fn(|color| size * u32::try_from(color).expect("32"));
                // Not more contacts than exist, or the world would grow.
                let mut other = gpu_with(&scene, 16_384);
                other.restore(&wrong).expect("a snapshot of this world");
                other.step().expect("a step");
                dispatches.push(other.dispatches());
                hashes.push(full_hash(&other.snapshot().expect("a snapshot")));
            }
            assert!(hashes.iter().all(|&hash| hash == hashes[0]), "{} at {at}: {dispatches:?}", scene.name);
            assert!(dispatches[2] > 2 * dispatches[0], "the counters decided nothing: {dispatches:?}");
        }
    }
}

/// A plate on the ground, and boxes that fall onto it.
fn loaded_plate() -> Scene {
    let mut scene = Scene::new("loaded plate");
    scene.add(Body::fixed(0.0, 0.0).shape(Shape::half_plane([0.0, 1.0], 0.0)));
    scene.add(Body::dynamic(0.0, 0.25).shape(Shape::half_box(100.0, 0.25)));
    for index in 0..900_u16 {
        let x = 0.2 * f32::from(index) - 90.0;
        scene.add(Body::dynamic(x, 0.6 + 0.01 * f32::from(index % 7)).shape(Shape::half_box(0.075, 0.075)));
    }
    scene
}

/// The order in which workgroups run is the device's affair. A software adapter runs them in ascending order; here they
/// swap places, so that a result that depends on the order changes bits. Negative control: claims
/// that the last contact wins.
#[test]
fn gpu_order_of_workgroups_leaves_no_trace() {
    const FROM: &str = "return (workgroup.y * workgroups.x + workgroup.x) * lanes + lane;";
    let orders = [
        (
            "reversed",
            "return (workgroups.x * workgroups.y - 1u - (workgroup.y * workgroups.x + workgroup.x)) * lanes + lane;",
        ),
        (
            "in leaps",
            "let count = workgroups.x * workgroups.y; let leap = select(7919u, 1u, count % 7919u == 0u || count > 500000u); \
             return (((workgroup.y * workgroups.x + workgroup.x) * leap) % count) * lanes + lane;",
        ),
    ];
    let mut asleep = pile(1, 120);
    asleep.settings.sleep = true;
    asleep.settings.events = true;
    for scene in [pile(2, 80), loaded_plate(), asleep, build("joint_grid:size=12")] {
        // Stage by stage, as the fused kernel is one workgroup.
        let trace = trace_gpu(&mut gpu_with(&scene, 16_384).with_lanes(0), 20);
        for (order, to) in orders {
            let patch = Patch { shader: "math", from: FROM, to };
            let mut world = GpuWorld::patched(context(), &scene, &[patch]).expect("a patched shader").with_lanes(0);
            trace_gpu(&mut world, 20).assert_is(&trace, &format!("{} {order}", scene.name));
        }
    }
    // A claim that goes to the last contact instead of the one with the largest key.
    let last_wins = [
        (
            "atomicMax(&color_claims[contacts[contact].body_a *",
            "_ = atomicExchange(&color_claims[contacts[contact].body_a *",
        ),
        (
            "atomicMax(&color_claims[contacts[contact].body_b *",
            "_ = atomicExchange(&color_claims[contacts[contact].body_b *",
        ),
    ]
    .map(|(from, to)| Patch { shader: "color", from, to });
    let reversed = [last_wins[0], last_wins[1], Patch { shader: "math", from: FROM, to: orders[0].1 }];
    // In the first step the colours are claimed by many workgroups.
    let scene = build("large_pyramid:base=30");
    let [ascending, reversed] = [&last_wins[..], &reversed].map(|patches| {
        let mut world = GpuWorld::patched(context(), &scene, patches).expect("patched");
        trace_gpu(&mut world, 3).states
    });
    assert_ne!(ascending, reversed);
}

#[test]
fn gpu_snapshots_leave_no_trace() {
    for scene in chaotic() {
        let trace = trace_gpu(&mut gpu(&scene), STEPS);
        assert_ends_as(&last_of_blind_run(&mut gpu(&scene), STEPS), &trace, &scene.name);
    }
}

#[test]
fn cpu_worlds_side_by_side_agree_with_worlds_alone() {
    let scenes = chaotic();
    let traces: Vec<Trace> = scenes.iter().map(|scene| trace_cpu(&mut cpu(scene), STEPS)).collect();
    let mut worlds: Vec<_> = scenes.iter().map(cpu).collect();
    for step in 0..STEPS {
        for (world, trace) in worlds.iter_mut().zip(&traces) {
            world.step().unwrap();
            assert_eq!(state::hash(&world.snapshot()), trace.states[step], "step {step}");
        }
    }
}

#[test]
fn gpu_worlds_side_by_side_agree_with_worlds_alone() {
    let scenes = chaotic();
    let traces: Vec<Trace> = scenes.iter().map(|scene| trace_gpu(&mut gpu(scene), STEPS)).collect();
    let other = new_context();
    for (what, second) in [("one device", context()), ("two devices", &other)] {
        let mut worlds: Vec<GpuWorld> = scenes
            .iter()
            .enumerate()
            .map(|(index, scene)| {
                let context = if index % 2 == 0 { context() } else { second };
                GpuWorld::new(context, scene).expect("a world")
            })
            .collect();
        // The worlds run without synchronisation; a snapshot of the first is taken now and then.
        for step in 0..STEPS {
            for world in &mut worlds {
                world.step().expect("a step");
            }
            if step % 17 == 0 {
                assert_ends_as(&worlds[0].snapshot().expect("a snapshot"), &traces[0], what);
            }
        }
        for (world, trace) in worlds.iter_mut().zip(&traces) {
            let last = world.snapshot().expect("a snapshot");
            assert_ends_as(&last, trace, what);
            assert_eq!(full_hash(&last), trace.last, "{what}");
        }
    }
}

#[test]
fn gpu_worlds_on_two_threads_agree_with_worlds_alone() {
    let scenes = chaotic();
    std::thread::scope(|scope| {
        let both: Vec<_> = (0..2).map(|_| scope.spawn(|| trace_gpu(&mut gpu(&scenes[2]), 60))).collect();
        let alone = trace_gpu(&mut GpuWorld::new(&new_context(), &scenes[2]).expect("a world"), 60);
        for thread in both {
            thread.join().expect("no panic").assert_is(&alone, "a world a thread");
        }
    });
}

/// In strict mode the capacity has no effect: steps that overflowed are repeated.
#[test]
fn gpu_growth_leaves_no_trace_in_strict_mode() {
    for mut scene in chaotic() {
        let trace = trace_gpu(&mut gpu_with(&scene, 16_384), 60);
        scene.settings.strict = true;
        for capacity in [1, 300] {
            let mut world = gpu_with(&scene, capacity);
            let what = format!("{} from {capacity}", scene.name);
            trace_gpu(&mut world, 60).assert_is(&trace, &what);
            assert!(world.contact_capacity() > capacity, "{what}: it never grew");
            assert_eq!(world.overflowed_steps(), &[] as &[u64], "{what}");
        }
    }
}

/// Without strict mode a world that grows in time drops no contacts either.
#[test]
fn gpu_growth_ahead_of_need_leaves_no_trace() {
    for scene in [pile(1, 300), build("tumbler:grid=18")] {
        let trace = trace_gpu(&mut gpu_with(&scene, 16_384), STEPS);
        let mut world = gpu_with(&scene, 600);
        let found = trace_gpu(&mut world, STEPS);
        assert_eq!(world.overflowed_steps(), &[] as &[u64], "{}", scene.name);
        found.assert_is(&trace, &scene.name);
        assert!(world.contact_capacity() > 600, "{}: it never grew", scene.name);
    }
}

#[test]
fn cpu_restoring_and_continuing_equals_continuing() {
    for scene in chaotic() {
        let mut world = cpu(&scene);
        let trace = trace_cpu(&mut world, STEPS);
        for at in [0, 1, 50] {
            let mut first = cpu(&scene);
            trace_cpu(&mut first, at);
            let snapshot = first.snapshot();
            // Into the world that has run on, and into a fresh one on several threads.
            for mut other in [cpu(&scene), cpu(&scene).with_threads(3).expect("threads").with_sharing_from(0)] {
                trace_cpu(&mut other, 3 * (at % 2) + 10);
                other.restore(&snapshot).expect("a snapshot of this world");
                assert_eq!(other.snapshot(), snapshot, "{} at {at}", scene.name);
                let rest = trace_cpu(&mut other, STEPS - at);
                assert_eq!(rest.states, trace.states[at..], "{} at {at}", scene.name);
                assert_eq!(rest.last, trace.last, "{} at {at}", scene.name);
            }
        }
    }
}

#[test]
fn gpu_restoring_and_continuing_equals_continuing() {
    for scene in chaotic() {
        let trace = trace_gpu(&mut gpu(&scene), 60);
        for at in [0, 1, 40] {
            let mut first = gpu(&scene);
            trace_gpu(&mut first, at);
            let mut snapshot = first.snapshot().expect("a snapshot");
            // One of them has a different setting, which has no effect on the state.
            snapshot.lineage = Lineage::default();
            // Into a fresh world, one that has run an odd number of steps, one with too little capacity, and one far
            // ahead.
            let mut strict = scene.clone();
            strict.settings.strict = true;
            let kinds = [(&scene, false), (&scene, false), (&strict, true), (&scene, false)];
            let world = |(scene, small)| if small { gpu_with(scene, 1) } else { gpu(scene) };
            let mut others: Vec<_> = kinds.into_iter().map(world).collect();
            last_of_blind_run(&mut others[1], 7);
            last_of_blind_run(&mut others[3], at + 20);
            for (index, other) in others.iter_mut().enumerate() {
                let what = format!("{} at {at} into world {index}", scene.name);
                other.restore(&snapshot).expect("a snapshot of this world");
                assert_eq!(full_hash(&other.snapshot().expect("a snapshot")), full_hash(&snapshot), "{what}");
                let last = last_of_blind_run(other, 60 - at);
                assert_eq!(other.overflowed_steps(), &[] as &[u64], "{what}");
                assert_ends_as(&last, &trace, &what);
                assert_eq!(full_hash(&last), trace.last, "{what}");
            }
        }
    }
}

/// A snapshot moves between the backends without changing a bit.
#[test]
fn snapshots_move_between_backends() {
    let scene = pile(5, 120);
    let (mut here, mut there) = (cpu(&scene), gpu(&scene));
    trace_cpu(&mut here, 40);
    there.restore(&here.snapshot()).expect("a snapshot of this world");
    assert_eq!(full_hash(&there.snapshot().expect("a snapshot")), full_hash(&here.snapshot()));
    trace_gpu(&mut there, 40);
    let moved = there.snapshot().expect("a snapshot");
    here.restore(&moved).expect("a snapshot of this world");
    assert_eq!(full_hash(&here.snapshot()), full_hash(&moved));
    assert_eq!(here.steps(), 80);
    trace_cpu(&mut here, 40);
}

/// Steps recorded into a user's encoder equal ordinary steps.
#[test]
fn gpu_recorded_steps_are_steps() {
    for scene in chaotic() {
        let trace = trace_gpu(&mut gpu(&scene), STEPS);
        let mut world = gpu(&scene);
        let mut done = 0;
        for batch in [1, 2, 5, 12, 30, 50] {
            let device = world.context().device().clone();
            let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            for _ in 0..batch {
                world.record(&mut encoder).expect("recorded");
            }
            world.context().queue().submit([encoder.finish()]);
            done += batch;
            assert_eq!(world.steps(), done);
            assert_ends_as(&world.snapshot().expect("a snapshot"), &trace, &scene.name);
        }
        assert_eq!(full_hash(&world.snapshot().expect("a snapshot")), trace.last, "{}", scene.name);
    }
}

fn last_hash(scene: &Scene, steps: usize) -> u64 {
    trace_cpu(&mut cpu(scene), steps).states[steps - 1]
}

/// The hash detects a change by one ulp in every number it covers, and covers all bodies.
#[test]
fn hash_sees_one_ulp() {
    let scene = pile(2, 60);
    let world = cpu(&scene);
    let before = world.snapshot();
    let nudge = |value: &mut f32| *value = f32::from_bits(value.to_bits() + 1);
    for body in [0, 1, 30, 60] {
        let values: [fn(&mut Snapshot, usize) -> &mut f32; 7] = [
            |s, i| &mut s.poses[i].position[0],
            |s, i| &mut s.poses[i].position[1],
            |s, i| &mut s.poses[i].rotation[0],
            |s, i| &mut s.poses[i].rotation[1],
            |s, i| &mut s.states[i].velocity[0],
            |s, i| &mut s.states[i].velocity[1],
            |s, i| &mut s.states[i].angular_velocity,
        ];
        for (index, value) in values.iter().enumerate() {
            let mut after = before.clone();
            nudge(value(&mut after, body));
            assert_ne!(state::hash(&after), state::hash(&before), "body {body}, value {index}");
        }
    }
    let mut swapped = before.clone();
    swapped.poses.swap(3, 4);
    assert_ne!(state::hash(&swapped), state::hash(&before), "two poses swapped");
}

/// Runs that differ by an ulp at the start stay different, on either backend.
#[test]
fn one_ulp_and_different_seeds_make_different_runs() {
    let scene = pile(1, 180);
    assert_ne!(last_hash(&scene, STEPS), last_hash(&pile(3, 180), STEPS), "seeds");
    let mut nudged = compile(&scene);
    let Pose { position, .. } = &mut nudged.poses[90];
    position[0] = f32::from_bits(position[0].to_bits() + 1);
    let plain = trace_cpu(&mut cpu(&scene), STEPS);
    let other = trace_cpu(&mut drystone::low_level::CpuWorld::from_compiled(nudged.clone()), STEPS);
    assert!(plain.states.iter().zip(&other.states).all(|(a, b)| a != b), "cpu");
    let plain = trace_gpu(&mut gpu(&scene), STEPS);
    let mut other = GpuWorld::from_compiled(context(), nudged, None).expect("a world");
    let other = trace_gpu(&mut other, STEPS);
    assert!(plain.states.iter().zip(&other.states).all(|(a, b)| a != b), "gpu");
}

/// Hashes of states on the CPU after a number of steps.
///
/// They may change only with a change of the solver that is meant to change results (new constants, another order of
/// constraints or of arithmetic), and the commit must say why. They do not depend on the number of threads, the
/// operating system or the processor, nor on refactoring. To update them, run the test and copy the table it prints.
const GOLDEN: &[(&str, usize, u64)] = &[
    ("small_si", 120, 0x8569_f6bb_618d_6fd3),
    ("bouncing_ball", 120, 0x2758_b4b6_e69d_7737),
    ("large_pyramid:base=12", 120, 0x0c44_0d5c_6c84_cf6f),
    ("vertical_stack", 120, 0x4d65_6a8c_d0af_5285),
    ("smash:columns=16,rows=12,speed=100", 120, 0xd0ca_3eed_c01a_784a),
    ("tumbler:grid=10", 120, 0x1912_01c8_63c4_af34),
    ("card_house", 120, 0x3f3f_7f8f_19b6_2e33),
    ("circle_stack", 120, 0x9192_f4f8_fcdb_d1e7),
    ("domino", 120, 0x4336_37fa_00dc_b725),
    ("confined:grid=20", 120, 0xc24f_3897_9dca_2434),
];

#[test]
fn golden_hashes() {
    let specs = [
        ("small_si", 120),
        ("bouncing_ball", 120),
        ("large_pyramid:base=12", 120),
        ("vertical_stack", 120),
        ("smash:columns=16,rows=12,speed=100", 120),
        ("tumbler:grid=10", 120),
        ("card_house", 120),
        ("circle_stack", 120),
        ("domino", 120),
        ("confined:grid=20", 120),
    ];
    let found: Vec<_> = specs.map(|(spec, steps)| (spec, steps, last_hash(&build(spec), steps))).into();
    let table: String = found
        .iter()
        .map(|(spec, steps, hash)| {
            let digits = format!("{hash:016x}");
            let digits: Vec<&str> = (0..4).map(|part| &digits[4 * part..4 * part + 4]).collect();
            format!("    ({spec:?}, {steps}, 0x{}),\n", digits.join("_"))
        })
        .collect();
    assert!(found == GOLDEN, "the table would be\n{table}");
}
