//! Limits and failures: full buffers, empty and degenerate worlds, NaN and infinity, lost devices, cancelled steps.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::support::{
    Trace, assert_colored, build, compile, context, cpu, gpu, gpu_with, is_finite, new_context, pile, trace_cpu,
    trace_gpu,
};
use drystone::low_level::gpu::shader::Composer;
use drystone::low_level::gpu::{DeviceError, adapters};
use drystone::low_level::snapshot::Lineage;
use drystone::low_level::types::{
    BodyState, Constraint, Contact, Manifold, OVERFLOW_CONTACTS, OVERFLOW_CROWD, Pose, QUARANTINED,
};
use drystone::low_level::{CpuWorld, GpuWorld, constants::CROWD, state};
use drystone::{Body, CancelToken, Context, Filter, Query, Scene, Shape, Snapshot, World, WorldBatch, WorldError};

fn step_and_look(world: &mut GpuWorld) -> Snapshot {
    world.step().expect("a step");
    world.snapshot().expect("a snapshot")
}

/// Builds a scene that begins without contacts: those of loads at the start would make room for the first step.
fn without_loads(spec: &str) -> Scene {
    let mut scene = build(spec);
    scene.settings.initial_loads = false;
    scene
}

#[test]
fn contacts_fill_the_buffer_to_the_last_and_beyond() {
    let scene = without_loads("large_pyramid:base=12");
    let pairs = step_and_look(&mut gpu(&scene)).counters.pairs_found;
    let trace = trace_gpu(&mut gpu_with(&scene, 4 * pairs), 30);
    for capacity in [pairs - 1, pairs, pairs + 1] {
        let what = format!("{capacity} of {pairs}");
        let mut world = gpu_with(&scene, capacity);
        assert_eq!(world.contact_capacity(), capacity);
        let first = step_and_look(&mut world);
        let counters = &first.counters;
        assert_eq!(counters.pairs_found, pairs, "{what}");
        assert_eq!(counters.contacts, pairs.min(capacity), "{what}");
        assert_eq!(counters.overflow_bits == OVERFLOW_CONTACTS, capacity < pairs, "{what}");
        let overflowed: &[u64] = if capacity < pairs { &[0] } else { &[] };
        assert_eq!(world.overflowed_steps(), overflowed, "{what}");
        assert_colored(&first, &what);
        let mut states = vec![state::hash(&first)];
        for step in 1..30 {
            let next = step_and_look(&mut world);
            assert_eq!(next.counters.overflow_bits, 0, "{what} in step {step}");
            assert_eq!(next.counters.contacts, next.counters.pairs_found, "{what} in step {step}");
            assert_colored(&next, &what);
            states.push(state::hash(&next));
        }
        assert!(world.contact_capacity() > pairs, "{what}: it never grew");
        assert_eq!(world.overflowed_steps(), overflowed, "{what}");
        if capacity >= pairs {
            assert_eq!(states, trace.states, "{what}");
        }
        let last = world.snapshot().expect("a snapshot");
        let deepest = state::metrics(world.compiled(), &last).max_penetration;
        assert!(deepest < 0.02, "{what}: {deepest} m deep");
    }
}

/// Every step reports its overflow, also steps submitted in batches: their counters are not overwritten unread.
#[test]
fn overflows_of_recorded_steps_are_all_reported() {
    let scene = without_loads("large_pyramid:base=12");
    let mut world = gpu_with(&scene, 50);
    for batch in [9, 4] {
        let first = world.steps();
        let mut encoder = context().device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        for _ in 0..batch {
            world.record(&mut encoder).expect("recorded");
        }
        context().queue().submit([encoder.finish()]);
        let snapshot = world.snapshot().expect("a snapshot");
        assert!(is_finite(&snapshot));
        // The first batch was recorded without counters; before the second, the world knew them and grew.
        let expected: Vec<u64> = if first == 0 { (0..batch).collect() } else { (0..9).collect() };
        assert_eq!(world.overflowed_steps(), expected, "after {} steps", world.steps());
    }
}

#[test]
fn a_world_without_bodies_steps() {
    for strict in [false, true] {
        let mut scene = Scene::new("nothing");
        scene.settings.strict = strict;
        let (mut here, mut there) = (cpu(&scene).with_threads(2).expect("threads"), gpu(&scene));
        for _ in 0..5 {
            here.step().unwrap();
            there.step().expect("a step");
        }
        let (here_now, there_now) = (here.snapshot(), there.snapshot().expect("a snapshot"));
        assert_eq!(here_now, there_now);
        assert_eq!((here_now.step, here_now.poses.len(), here_now.counters.pairs_found), (5, 0, 0));
        here.restore(&there_now).expect("a snapshot of this world");
        there.restore(&here_now).expect("a snapshot of this world");
        assert_eq!(state::metrics(here.compiled(), &here_now), state::Metrics::default());
        assert_eq!(there.overflowed_steps(), &[] as &[u64]);
    }
}

#[test]
fn a_single_body_falls_and_a_single_wall_stays() {
    for body in [Body::dynamic(1.0, 2.0), Body::fixed(1.0, 2.0)] {
        let fixed = body.kind == drystone::BodyType::Static;
        let mut scene = Scene::new("one");
        scene.add(body.shape(Shape::circle(0.5)));
        let (mut here, mut there) = (cpu(&scene), gpu(&scene));
        for _ in 0..60 {
            here.step().unwrap();
            there.step().expect("a step");
        }
        for snapshot in [here.snapshot(), there.snapshot().expect("a snapshot")] {
            // ½ g t² after one second, plus half a substep's worth: the velocity is updated first.
            let expected = if fixed { 2.0 } else { 2.0 - 0.5 * 9.81 * (1.0 + 1.0 / 240.0) };
            let [x, y] = snapshot.poses[0].position;
            assert!(x.to_bits() == 1.0_f32.to_bits() && (y - expected).abs() < 1e-3, "{x} {y}, expected {expected}");
            assert_eq!(snapshot.contacts.len(), 0);
        }
    }
}

#[test]
fn a_body_without_shapes_is_rejected() {
    let mut scene = Scene::new("bare");
    scene.add(Body::dynamic(0.0, 0.0));
    assert!(matches!(CpuWorld::new(&scene), Err(WorldError::Scene(_))));
    assert!(matches!(GpuWorld::new(context(), &scene), Err(WorldError::Scene(_))));
}

/// Every pair overlaps fully, no direction is better than another, and most contacts get no colour.
#[test]
fn all_bodies_at_one_point_stay_finite() {
    for (boxes, circles, steps) in [(300, 300, 1), (60, 60, 40), (120, 0, 10), (0, 120, 10)] {
        let mut scene = Scene::new("one point");
        for index in 0..boxes + circles {
            let shape = if index < boxes { Shape::half_box(0.5, 0.5) } else { Shape::circle(0.5) };
            scene.add(Body::dynamic(0.0, 0.0).shape(shape));
        }
        let count = boxes + circles;
        let pairs = count * (count - 1) / 2;
        let (mut here, mut there) = (cpu(&scene), gpu(&scene));
        for step in 0..steps {
            here.step().unwrap();
            there.step().expect("a step");
            if step == 0 || step + 1 == steps {
                for snapshot in [here.snapshot(), there.snapshot().expect("a snapshot")] {
                    let what = format!("{boxes} boxes and {circles} circles in step {step}");
                    assert!(step > 0 || snapshot.counters.pairs_found == pairs, "{what}: {:?}", snapshot.counters);
                    assert!(is_finite(&snapshot), "{what}: a NaN");
                    assert_eq!(snapshot.counters.quarantined, 0, "{what}");
                    assert_colored(&snapshot, &what);
                }
            }
        }
        assert_eq!(there.overflowed_steps(), &[] as &[u64]);
    }
}

/// Returns two separate stacks: body 0 is the ground, 1 to 5 the left stack, 6 to 10 the right one.
fn two_stacks() -> Scene {
    let mut scene = Scene::new("two stacks");
    scene.add(Body::fixed(0.0, -0.5).shape(Shape::half_box(30.0, 0.5)));
    for x in [-10.0, 10.0] {
        for row in [0.5, 1.5, 2.5, 3.5, 4.5] {
            scene.add(Body::dynamic(x, row).shape(Shape::half_box(0.5, 0.5)));
        }
    }
    scene
}

type Spoil = fn(&mut Pose, &mut BodyState);

/// A body with any NaN or infinite number is quarantined and counted, and no other body is affected: its neighbours
/// stay finite and slow, the other stack does not change by a bit.
#[test]
fn bodies_with_nan_are_quarantined_alone() {
    const SPOILT: usize = 3;
    let scene = two_stacks();
    let changes: [(&str, Spoil); 8] = [
        ("velocity NaN", |_, state| state.velocity[0] = f32::NAN),
        ("velocity inf", |_, state| state.velocity[1] = f32::INFINITY),
        ("angular velocity inf", |_, state| state.angular_velocity = f32::NEG_INFINITY),
        ("angular velocity NaN", |_, state| state.angular_velocity = f32::NAN),
        ("position inf", |pose, _| pose.position[1] = f32::INFINITY),
        ("position NaN", |pose, _| pose.position = [f32::NAN; 2]),
        ("rotation NaN", |pose, _| pose.rotation[0] = f32::NAN),
        ("everything", |pose, state| {
            *pose = Pose { position: [f32::NAN; 2], rotation: [f32::INFINITY; 2], ..Pose::default() };
            state.velocity = [f32::NAN; 2];
            state.angular_velocity = f32::NAN;
        }),
    ];
    let mut settled = cpu(&scene);
    trace_cpu(&mut settled, 60);
    let healthy = settled.snapshot();
    let run = |snapshot: &Snapshot| {
        let (mut here, mut there) = (cpu(&scene), gpu(&scene));
        here.restore(snapshot).expect("a snapshot of this world");
        there.restore(snapshot).expect("a snapshot of this world");
        // The hash is defined for NaN too.
        assert_eq!(state::hash(&here.snapshot()), state::hash(&there.snapshot().expect("a snapshot")));
        let traces = (trace_cpu(&mut here, 30), trace_gpu(&mut there, 30));
        [(here.snapshot(), traces.0), (there.snapshot().expect("a snapshot"), traces.1)]
    };
    let undisturbed = run(&healthy);
    for (what, change) in changes {
        let mut spoilt = healthy.clone();
        change(&mut spoilt.poses[SPOILT], &mut spoilt.states[SPOILT]);
        let found = run(&spoilt);
        let again = run(&spoilt);
        for (backend, ((snapshot, trace), (plain, _))) in ["cpu", "gpu"].iter().zip(found.iter().zip(&undisturbed)) {
            let what = format!("{what} on {backend}");
            assert_eq!(snapshot.counters.quarantined, 1, "{what}");
            let out: Vec<usize> =
                (0..scene.bodies.len()).filter(|&body| snapshot.states[body].status & QUARANTINED != 0).collect();
            assert_eq!(out, [SPOILT], "{what}");
            assert!(is_finite(snapshot), "{what}: a NaN is left");
            for body in 1..6 {
                let speed = glam::Vec2::from(snapshot.states[body].velocity).length();
                // Boxes above the gap fall for at most half a second.
                assert!(speed < 5.5, "{what}: body {body} moves at {speed} m/s");
            }
            assert_eq!(snapshot.poses[6..], plain.poses[6..], "{what}: the other stack");
            assert_eq!(snapshot.states[6..], plain.states[6..], "{what}: the other stack");
            let same = again.iter().any(|(_, other)| other == trace);
            assert!(same, "{what}: a second run differs");
        }
    }
    assert!(undisturbed.iter().all(|(snapshot, _)| snapshot.counters.quarantined == 0));
}

/// Ground and several bodies at once; the count accumulates over steps.
#[test]
fn quarantine_counts_every_body_once() {
    let scene = two_stacks();
    let (mut here, mut there) = (cpu(&scene), gpu(&scene));
    let mut snapshot = here.snapshot();
    for (round, bodies) in [[0, 4], [4, 9]].into_iter().enumerate() {
        for body in bodies {
            snapshot.poses[body].position[0] = f32::NAN;
        }
        here.restore(&snapshot).expect("a snapshot of this world");
        there.restore(&snapshot).expect("a snapshot of this world");
        for _ in 0..10 {
            here.step().unwrap();
            there.step().expect("a step");
        }
        let expected = [2, 3][round];
        for now in [here.snapshot(), there.snapshot().expect("a snapshot")] {
            assert_eq!(now.counters.quarantined, expected);
            assert!(is_finite(&now));
        }
        snapshot = here.snapshot();
    }
}

/// Forces beyond the limit of scene files, on bodies from heavy to almost weightless: speeds are capped and stay
/// finite.
#[test]
fn extreme_forces_stay_finite() {
    let mut refused = two_stacks();
    refused.bodies[2].force.y = 1e30;
    assert!(matches!(CpuWorld::new(&refused), Err(WorldError::Scene(_))));
    let mut compiled = compile(&two_stacks());
    for (body, force) in [(2, [0.0, 1e30]), (4, [-1e30, 1e30]), (6, [f32::MAX, -f32::MAX]), (9, [1e30, 0.0])] {
        compiled.bodies[body].force = force;
        compiled.bodies[body].force_point = [0.3, -0.2];
    }
    compiled.bodies[9].inv_mass = 1e30;
    compiled.bodies[9].inv_inertia = 1e30;
    compiled.bodies[3].torque = 1e30;
    let max_speed = f64::from(compiled.params.max_speed);
    let mut here = CpuWorld::from_compiled(compiled.clone());
    let mut there = GpuWorld::from_compiled(context(), compiled, None).expect("a world");
    for step in 0..120 {
        here.step().unwrap();
        there.step().expect("a step");
        if step % 10 == 0 || step == 119 {
            for (backend, now) in [("cpu", here.snapshot()), ("gpu", there.snapshot().expect("a snapshot"))] {
                assert!(is_finite(&now), "{backend} in step {step}");
                let fastest = state::metrics(here.compiled(), &now).max_speed;
                assert!(fastest > 0.0 && fastest < 20.0 * max_speed, "{backend} in step {step}: {fastest} m/s");
            }
        }
    }
}

/// Runs `work` with a deadline, so that a hang is a failure. It is far away: a slow machine may need a minute for the
/// kernels that are compiled here.
fn without_hanging(work: impl FnOnce() + Send + 'static) {
    let (done, wait) = mpsc::channel();
    let worker = std::thread::spawn(move || {
        work();
        let _ = done.send(());
    });
    match wait.recv_timeout(Duration::from_mins(10)) {
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("it hangs"),
        // Finished or panicked: joining shows which.
        _ => worker.join().expect("no panic"),
    }
}

fn is_lost<T>(result: &Result<T, WorldError>) -> bool {
    matches!(result, Err(WorldError::Device(DeviceError::Lost(_))))
}

#[test]
fn a_lost_device_is_an_error_and_a_snapshot_survives_it() {
    without_hanging(|| {
        for (strict, in_flight) in [(false, 0), (false, 2), (true, 1)] {
            let mut scene = pile(4, 60);
            scene.settings.strict = strict;
            let what = format!("strict {strict}, {in_flight} steps in flight");
            let context = new_context();
            let mut world = GpuWorld::new(&context, &scene).expect("a world");
            trace_gpu(&mut world, 20);
            let snapshot = world.snapshot().expect("a snapshot");
            let kept = state::hash(&snapshot);
            for _ in 0..in_flight {
                world.step().expect("a step");
            }
            context.device().destroy();
            for _ in 0..3 {
                assert!(is_lost(&world.step()), "{what}: step");
            }
            assert!(is_lost(&world.step_profiled()), "{what}: step_profiled");
            let mut encoder = context.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
            assert!(is_lost(&world.record(&mut encoder)), "{what}: record");
            assert!(is_lost(&world.snapshot()), "{what}: snapshot");
            assert!(is_lost(&world.restore(&snapshot)), "{what}: restore");
            assert!(is_lost(&GpuWorld::new(&context, &scene)), "{what}: a new world on it");
            assert!(matches!(context.wait(), Err(DeviceError::Lost(_))), "{what}: wait");
            // The last snapshot is intact, and continues in another world to the same bits.
            assert_eq!(state::hash(&snapshot), kept);
            let mut here = cpu(&scene);
            here.restore(&snapshot).expect("a snapshot of this world");
            assert_eq!(state::hash(&here.snapshot()), kept);
            here.step().unwrap();
            let mut there = gpu(&scene);
            there.restore(&snapshot).expect("a snapshot of this world");
            let rest = trace_gpu(&mut there, 20);
            assert_eq!(rest.states, trace_gpu(&mut gpu(&scene), 40).states[20..], "{what}");
            drop(world);
        }
    });
}

/// A device that is lost while it computes refuses calls before it reports the loss; the error is the loss.
#[test]
fn a_device_lost_at_work_is_reported_as_lost() {
    without_hanging(|| {
        let scene = build("large_pyramid:base=30");
        for round in 0..8 {
            let context = new_context();
            let mut world = GpuWorld::new(&context, &scene).expect("a world");
            world.step().expect("a step");
            // Lost at another moment of the step in each round.
            std::thread::sleep(Duration::from_millis(round));
            context.device().destroy();
            let error = world.step();
            assert!(is_lost(&error), "round {round}: {error:?}");
        }
    });
}

/// Losing one device does not affect worlds on another.
#[test]
fn another_device_is_unaffected() {
    without_hanging(|| {
        let scene = pile(4, 60);
        let (first, second) = (new_context(), new_context());
        let mut stays = GpuWorld::new(&second, &scene).expect("a world");
        let mut goes = GpuWorld::new(&first, &scene).expect("a world");
        let before = trace_gpu(&mut stays, 10);
        trace_gpu(&mut goes, 10).assert_is(&before, "two devices");
        first.device().destroy();
        assert!(is_lost(&goes.step()));
        trace_gpu(&mut stays, 10);
    });
}

#[test]
fn a_world_too_large_for_the_device_is_rejected() {
    let limit = context().device().limits().max_storage_buffer_binding_size;
    let too_many = limit / size_of::<Contact>() as u64 + 1;
    for capacity in [u64::from(u32::MAX), 1 << 31, 1 << 30, too_many] {
        let Ok(capacity) = u32::try_from(capacity) else { continue };
        let refused = GpuWorld::from_compiled(context(), compile(&pile(1, 20)), Some(capacity));
        let Err(WorldError::TooLarge { buffer, bytes, limit: reported }) = refused else {
            panic!("{capacity} contacts gave {refused:?}");
        };
        assert!(bytes > reported && reported <= limit, "{buffer} {bytes} {reported}");
    }
    context().check().expect("the device received no commands");
    trace_gpu(&mut gpu(&pile(1, 20)), 3);
}

/// Largest binding of [`small_device`], in bytes.
const SMALL: usize = 128 << 10;

/// Returns a device that allows only small bindings.
fn small_device() -> Context {
    let all = adapters();
    let adapter = all.first().expect("these tests need an adapter");
    let limits = wgpu::Limits { max_storage_buffer_binding_size: SMALL as u64, ..wgpu::Limits::default() };
    let request = adapter
        .request_device(&wgpu::DeviceDescriptor { required_limits: limits, ..wgpu::DeviceDescriptor::default() });
    let (device, queue) = pollster::block_on(request).expect("a device");
    device.on_uncaptured_error(std::sync::Arc::new(|error| panic!("{error}")));
    Context::from_device(adapter.get_info(), device, queue)
}

/// Worlds whose buffer cannot grow by default solve the contacts that fit and report the overflow in every step; strict
/// worlds return an error and keep the state before the step.
#[test]
fn growing_beyond_the_device_is_reported() {
    let scene = build("large_pyramid:base=32");
    let device = small_device();
    let fits = u32::try_from(SMALL / size_of::<Manifold>().max(size_of::<Constraint>())).expect("few") - 1;
    let mut strict = scene.clone();
    strict.settings.strict = true;

    let mut world = GpuWorld::from_compiled(&device, compile(&scene), Some(fits)).expect("that much fits");
    for step in 0..5 {
        world.step().expect("what fits is solved");
        // Waits for the counters, so that the next step knows them.
        let after = world.snapshot().expect("a snapshot");
        assert!(is_finite(&after), "step {step}");
        assert_colored(&after, "default");
        assert_eq!(world.overflowed_steps().last(), Some(&step), "every step says that it dropped contacts");
    }
    assert!(world.contact_capacity() <= fits + 1, "{} contacts", world.contact_capacity());

    let mut world = GpuWorld::from_compiled(&device, compile(&strict), Some(fits)).expect("that much fits");
    let before = world.snapshot().expect("a snapshot");
    for _ in 0..2 {
        assert!(matches!(world.step(), Err(WorldError::TooLarge { .. })), "the buffer cannot grow");
        assert_eq!(world.contact_capacity(), fits);
        let after = world.snapshot().expect("a snapshot");
        assert_eq!(state::hash(&after), state::hash(&before), "the step that did not fit left no trace");
        assert_eq!((world.steps(), world.overflowed_steps()), (0, &[] as &[u64]));
    }

    // The failed step did not release slots vacated before it either: its tables may still refer to them. A fresh
    // world, which does not know the overflow yet, so that the step runs.
    let mut world = GpuWorld::from_compiled(&device, compile(&strict), Some(fits)).expect("that much fits");
    let top = world.body_id(528).expect("the box at the top");
    world.remove_bodies(&[top]).expect("it exists");
    let before = world.snapshot().expect("a snapshot");
    assert_eq!(before.vacated, [528]);
    assert!(matches!(world.step(), Err(WorldError::TooLarge { .. })), "the buffer cannot grow");
    let after = world.snapshot().expect("a snapshot");
    assert_eq!(after.vacated, before.vacated);
    let ids = world.add_bodies(&[Body::dynamic(0.0, 99.0).shape(Shape::circle(0.5))]).expect("a body");
    assert_ne!(ids[0].index, 528, "a slot is reused before a step has run without its body");
}

fn index(color: usize) -> u32 {
    u32::try_from(color).expect("few colours")
}

type Change = fn(&mut Snapshot);

/// A snapshot is untrusted input: whether it is restored or rejected, the world can step afterwards.
#[test]
fn modified_snapshots_do_no_harm() {
    let scene = pile(1, 40);
    let mut source = cpu(&scene);
    trace_cpu(&mut source, 60);
    let good = source.snapshot();
    assert!(good.contacts.len() > 20);
    let refused: [(&str, Change); 10] = [
        ("a pose too few", |s| s.poses.truncate(3)),
        ("a state too many", |s| s.states.push(BodyState::default())),
        ("no pair starts", |s| s.pair_starts.clear()),
        ("a contact too few", |s| s.contacts.truncate(7)),
        ("a manifold too few", |s| s.manifolds.truncate(7)),
        ("pair starts out of order", |s| s.pair_starts[3] = u32::MAX),
        ("shape out of range", |s| s.contacts[2].shape_b = 1_000_000),
        ("body out of range", |s| s.contacts[2].body_a = u32::MAX),
        ("three points", |s| s.contacts[5].flags |= 3),
        ("pair starts from 1", |s| s.pair_starts.iter_mut().for_each(|start| *start = (*start).max(1))),
    ];
    for (what, change) in refused {
        let mut bad = good.clone();
        change(&mut bad);
        let (mut here, mut there) = (cpu(&scene), gpu(&scene));
        let untouched = state::hash(&here.snapshot());
        let (here_says, there_says) = (here.restore(&bad), there.restore(&bad));
        assert!(matches!(here_says, Err(WorldError::Snapshot(_))), "{what}: {here_says:?}");
        assert!(matches!(there_says, Err(WorldError::Snapshot(_))), "{what}: {there_says:?}");
        assert_eq!(state::hash(&here.snapshot()), untouched, "{what}");
        assert_eq!(state::hash(&there.snapshot().expect("a snapshot")), untouched, "{what}");
        assert_eq!((here.steps(), there.steps()), (0, 0), "{what}");
    }
    let survived: [(&str, Change); 9] = [
        ("colours out of range", |s| s.contacts.iter_mut().for_each(|c| c.color = 77)),
        ("features out of range", |s| s.contacts.iter_mut().for_each(|c| c.features = u32::MAX)),
        ("colour counts falling", |s| s.counters.color_starts = std::array::from_fn(|c| 1_000_000 - index(c))),
        ("colour counts too large", |s| s.counters.color_starts = std::array::from_fn(|c| 100_000_000 * index(c))),
        ("all bodies counted out", |s| {
            s.counters.quarantined = u32::MAX;
            s.poses[7].position[0] = f32::NAN;
        }),
        ("huge impulses", |s| s.manifolds.iter_mut().for_each(|m| m.points[0].normal_impulse = 1e30)),
        ("unknown flags", |s| s.contacts.iter_mut().for_each(|c| c.flags |= 0xffff_ff00)),
        ("unknown status", |s| s.states.iter_mut().for_each(|state| state.status = 0xffff_fffe)),
        ("far away", |s| s.poses[9].position = [3e38, -3e38]),
    ];
    for (what, change) in survived {
        let mut odd = good.clone();
        change(&mut odd);
        let (mut here, mut there) = (cpu(&scene).with_threads(2).expect("threads"), gpu(&scene));
        here.restore(&odd).unwrap_or_else(|error| panic!("{what}: {error}"));
        there.restore(&odd).unwrap_or_else(|error| panic!("{what}: {error}"));
        for _ in 0..5 {
            here.step().unwrap();
            there.step().unwrap_or_else(|error| panic!("{what}: {error}"));
        }
        for now in [here.snapshot(), there.snapshot().expect("a snapshot")] {
            assert_eq!(now.step, good.step + 5, "{what}");
            assert_colored(&now, what);
        }
    }
}

/// A strict world with minimal capacity equals the ample one step by step, and never reports an overflow.
#[test]
fn strict_worlds_never_drop_contacts() {
    let mut scene = pile(6, 120);
    let plain: Trace = trace_gpu(&mut gpu_with(&scene, 8_192), 60);
    scene.settings.strict = true;
    let mut world = gpu_with(&scene, 2);
    for step in 0..60 {
        let snapshot = step_and_look(&mut world);
        assert_eq!(state::hash(&snapshot), plain.states[step], "step {step}");
        assert_eq!(snapshot.counters.overflow_bits, 0, "step {step}");
        assert_eq!(world.steps(), snapshot.step);
    }
    assert_eq!(world.overflowed_steps(), &[] as &[u64]);
}

/// Returns a scene of circles at one point, all overlapping, over a floor.
fn crowd(circles: usize) -> Scene {
    let mut scene = Scene::new("crowd");
    scene.add(Body::fixed(0.0, -20.0).shape(Shape::half_box(50.0, 1.0)));
    for _ in 0..circles {
        scene.add(Body::dynamic(0.0, 0.0).shape(Shape::circle(0.5)));
    }
    scene
}

fn pairs_of(circles: usize) -> usize {
    circles * (circles - 1) / 2
}

/// Returns the numbers in the error of a step that finds too many contacts: found, limit.
fn too_many(stepped: Result<(), WorldError>) -> (usize, usize) {
    match stepped {
        Err(WorldError::TooManyContacts { found, limit }) => (found, limit),
        other => panic!("{other:?} instead of too many contacts"),
    }
}

/// 12,000 circles at one point are 72 million pairs. Memory is never allocated for more than the limit: the step fails,
/// on any number of threads; the world is unchanged, and continues once most circles are removed.
#[test]
fn a_crowd_is_rejected_before_memory_is_allocated() {
    let scene = crowd(12_000);
    let mut hashes = Vec::new();
    for threads in [1, 3] {
        let mut world = cpu(&scene).with_threads(threads).expect("threads").with_sharing_from(1);
        let before = world.snapshot();
        for _ in 0..3 {
            let (found, limit) = too_many(world.step());
            assert_eq!(limit, 1 << 20);
            assert!(found > limit && found < limit + 100_000, "{found} on {threads} threads");
            assert!(world.snapshot() == before, "the step left a trace");
        }
        let leave: Vec<_> = (300..=12_000).filter_map(|body| world.body_id(body)).collect();
        world.remove_bodies(&leave).expect("they exist");
        for _ in 0..20 {
            world.step().expect("299 have 44,551 pairs");
        }
        assert_eq!(world.steps(), 20);
        assert!(is_finite(&world.snapshot()));
        hashes.push(state::hash(&world.snapshot()));
    }
    assert_eq!(hashes[0], hashes[1]);
    // A world without the failed steps reaches the same state.
    let mut fresh = cpu(&scene);
    let leave: Vec<_> = (300..=12_000).filter_map(|body| fresh.body_id(body)).collect();
    fresh.remove_bodies(&leave).expect("they exist");
    (0..20).for_each(|_| fresh.step().expect("a step"));
    assert_eq!(state::hash(&fresh.snapshot()), hashes[0]);
}

/// The limit is exact to the last contact, on any number of threads, with and without sleeping bodies and neighbor
/// lists.
#[test]
fn a_limit_of_contacts_is_exact() {
    const CIRCLES: usize = 150;
    for (threads, sleep) in [(1, false), (3, false), (1, true), (3, true)] {
        let mut scene = crowd(CIRCLES);
        scene.settings.sleep = sleep;
        let what = format!("{threads} threads, sleep {sleep}");
        let mut world = cpu(&scene).with_threads(threads).expect("threads").with_sharing_from(1);
        world.set_contact_limit(pairs_of(CIRCLES) - 1);
        let (found, limit) = too_many(world.step());
        assert_eq!((found, limit), (pairs_of(CIRCLES), pairs_of(CIRCLES) - 1), "{what}");
        // Negative control: with a limit higher by one, the step succeeds.
        world.set_contact_limit(pairs_of(CIRCLES));
        world.step().expect("that many are allowed");
        assert_eq!(world.counters().contacts as usize, pairs_of(CIRCLES), "{what}");
        // The same in the middle of a run, whose state is kept.
        let mut twin = cpu(&scene);
        twin.step().expect("a step");
        let before = world.snapshot();
        for _ in 0..10 {
            world.set_contact_limit(17);
            too_many(world.step());
            world.set_contact_limit(1 << 20);
            world.step().expect("a step");
            twin.step().expect("a step");
            assert_eq!(state::hash(&world.snapshot()), state::hash(&twin.snapshot()), "{what}");
        }
        world.set_contact_limit(17);
        too_many(world.step());
        world.restore(&before).expect("its own snapshot");
    }
}

/// A neighbor list has more pairs than there are contacts. If the limit is between the two numbers, worlds do without a
/// list, to the same bits.
#[test]
fn a_full_contact_limit_changes_no_bit() {
    let scene = build("large_pyramid:base=30");
    let (mut free, mut tight) = (cpu(&scene), cpu(&scene));
    for step in 0..40 {
        free.step().expect("a step");
        tight.set_contact_limit(free.counters().contacts as usize);
        tight.step().unwrap_or_else(|error| panic!("step {step}: {error}"));
        assert_eq!(state::hash(&free.snapshot()), state::hash(&tight.snapshot()), "step {step}");
    }
    assert!(free.shortcuts().listed > 0, "there was never a list");
    tight.set_contact_limit(free.counters().contacts as usize - 100);
    too_many(tight.step());
}

/// A pile is woken by a falling body and would have too many contacts: it stays awake, and nothing else changes.
#[test]
fn a_waking_crowd_is_rejected() {
    let mut scene = build("large_pyramid:base=8");
    scene.settings.sleep = true;
    let mut world = cpu(&scene);
    while world.counters().awake > 0 || world.steps() == 0 {
        world.step().expect("a step");
        assert!(world.steps() < 2_000, "it never fell asleep");
    }
    let asleep = world.counters().sleeping_contacts as usize;
    assert!(asleep > 50);
    world.set_contact_limit(asleep - 1);
    world.add_bodies(&[Body::dynamic(0.0, 9.0).shape(Shape::circle(0.5))]).expect("a body");
    let failed = (0..200).find_map(|_| world.step().err());
    assert!(matches!(failed, Some(WorldError::TooManyContacts { .. })), "{failed:?}");
    let after = world.snapshot();
    assert!(is_finite(&after));
    assert_eq!(after.counters.sleeping_contacts as usize, after.sleeping.len());
    // The state can be restored and continued.
    let mut other = cpu(&scene);
    other.add_bodies(&[Body::dynamic(0.0, 9.0).shape(Shape::circle(0.5))]).expect("a body");
    world.set_contact_limit(1 << 20);
    for _ in 0..600 {
        world.step().expect("a step");
    }
    assert_eq!(world.counters().awake, 0, "it comes to rest again");
    assert!(world.snapshot().sleeping.len() >= asleep);
}

/// Strict worlds on a device reject a crowd too, and keep the state before the step; others solve what fits, and their
/// tables grow to the limit only.
#[test]
fn a_crowd_is_rejected_on_a_device() {
    const CIRCLES: usize = 300;
    let (scene, limit) = (crowd(CIRCLES), pairs_of(CIRCLES) - 1);
    let mut strict = scene.clone();
    strict.settings.strict = true;
    let mut world = gpu_with(&strict, 64);
    world.set_contact_limit(limit);
    let before = world.snapshot().expect("a snapshot");
    for _ in 0..2 {
        assert_eq!(too_many(world.step()), (pairs_of(CIRCLES), limit));
        assert_eq!(state::hash(&world.snapshot().expect("a snapshot")), state::hash(&before));
        assert_eq!((world.steps(), world.contact_capacity()), (0, 64), "nothing grew");
    }
    // Negative control: with a limit higher by one, the step succeeds, to the bits of a world with enough capacity from
    // the start.
    world.set_contact_limit(limit + 1);
    let mut roomy = gpu(&strict);
    for _ in 0..3 {
        world.step().expect("that many are allowed");
        roomy.step().expect("a step");
    }
    let [one, other] = [&mut world, &mut roomy].map(|world| state::hash(&world.snapshot().expect("a snapshot")));
    assert_eq!(one, other);
    assert!(world.contact_capacity() as usize <= limit + 1, "{}", world.contact_capacity());

    let mut loose = gpu_with(&scene, 64);
    loose.set_contact_limit(1_000);
    for step in 0..4 {
        loose.step().expect("what fits is solved");
        assert!(is_finite(&loose.snapshot().expect("a snapshot")), "step {step}");
        assert_eq!(loose.overflowed_steps().last(), Some(&step));
    }
    assert_eq!(loose.contact_capacity(), 1_000);

    // In a batch on a device, no world has done the step, and the worlds without the crowd can still step.
    let mut calm = build("large_pyramid:base=5");
    calm.settings.strict = true;
    let mut worlds = WorldBatch::on_gpu(context(), &[calm.clone(), strict.clone()]).expect("worlds");
    worlds.set_contact_limit(limit);
    too_many(worlds.step());
    assert_eq!([0, 1].map(|world| worlds.steps(world)), [0, 0]);
    worlds.step_some(&[0]).expect("a step");
    assert_eq!([0, 1].map(|world| worlds.steps(world)), [1, 0]);
    // In a batch on the CPU, the other worlds have done it.
    let mut worlds = WorldBatch::on_cpu(&[calm, strict], 2).expect("worlds");
    worlds.set_contact_limit(limit);
    too_many(worlds.step());
    assert_eq!([0, 1].map(|world| worlds.steps(world)), [1, 0]);
}

/// Returns a pyramid beside discs at one point, which meet nothing but the ground.
fn pyramid_beside_crowd(discs: usize) -> Scene {
    let mut scene = build("large_pyramid:base=5");
    for _ in 0..discs {
        scene.add(Body::dynamic(100.0, 50.0).shape(Shape::circle(0.5).filter(Filter::default().group(-1))));
    }
    scene
}

/// Each of k shapes at one point searches all k. On a device shapes of a crowd do not meet: the step ends soon and is
/// reported, and everything elsewhere is as without it. In strict mode the step is an error, and leaves no trace.
#[test]
fn a_crowd_does_not_hold_a_device() {
    const DISCS: usize = CROWD as usize + 1;
    let scene = pyramid_beside_crowd(DISCS);
    let mut alone = cpu(&build("large_pyramid:base=5"));
    let mut world = gpu(&scene);
    for step in 0..10 {
        alone.step().expect("a step");
        world.step().expect("a step");
        let snapshot = world.snapshot().expect("a snapshot");
        assert_eq!(snapshot.counters.overflow_bits, OVERFLOW_CROWD, "step {step}");
        assert_eq!(snapshot.counters.contacts, alone.counters().contacts, "step {step}");
        assert_eq!(world.overflowed_steps().last(), Some(&step));
    }
    assert!(world.contact_capacity() < 100_000, "{} contacts of a crowd that has none", world.contact_capacity());

    let mut strict = scene;
    strict.settings.strict = true;
    let mut world = gpu(&strict);
    let before = state::hash(&world.snapshot().expect("a snapshot"));
    for _ in 0..2 {
        let (found, limit) = too_many(world.step());
        assert!(found > limit, "{found}, {limit}");
        assert_eq!(state::hash(&world.snapshot().expect("a snapshot")), before, "the step left a trace");
    }
    // Negative control, and the way out: with fewer the steps succeed.
    let first = strict.bodies.len() - DISCS;
    let leave: Vec<_> = (first..first + DISCS / 2).filter_map(|disc| world.body_id(disc)).collect();
    world.remove_bodies(&leave).expect("they exist");
    world.step().expect("half as many are no crowd");
    assert_eq!(world.snapshot().expect("a snapshot").counters.overflow_bits, 0);
}

/// Returns a scene, and its snapshot with all bodies asleep.
fn asleep(spec: &str) -> (Scene, Snapshot) {
    let mut scene = build(spec);
    scene.settings.sleep = true;
    let mut world = cpu(&scene);
    while world.counters().awake > 0 || world.steps() == 0 {
        world.step().expect("a step");
        assert!(world.steps() < 2_000, "it never fell asleep");
    }
    (scene, world.snapshot())
}

/// Sleeping contacts that do not fit below the limit count: the step fails instead of retrying forever.
#[test]
fn a_limit_below_the_sleeping_contacts_is_rejected_on_a_device() {
    const CIRCLES: usize = 45;
    // Awake contacts below the limit, together with the sleeping ones above it and above the initial capacity.
    const LIMIT: usize = 1_000;
    without_hanging(|| {
        let (mut scene, mut start) = asleep("large_pyramid:base=8");
        scene.settings.strict = true;
        // The bodies are equal; the settings differ, and so does the fingerprint.
        start.lineage = Lineage::default();
        let sleeping = start.sleeping.len();
        let found = pairs_of(CIRCLES) + sleeping;
        let crowd = [(); CIRCLES].map(|()| Body::dynamic(50.0, 50.0).shape(Shape::circle(0.5)));
        let mut here = cpu(&scene);
        let mut there = gpu_with(&scene, u32::try_from(sleeping).unwrap());
        here.set_contact_limit(LIMIT);
        there.set_contact_limit(LIMIT);
        here.restore(&start).expect("a snapshot of this world");
        there.restore(&start).expect("a snapshot of this world");
        here.add_bodies(&crowd).expect("bodies");
        there.add_bodies(&crowd).expect("bodies");
        for _ in 0..2 {
            assert_eq!(too_many(here.step()), (found, LIMIT));
            assert_eq!(too_many(there.step()), (found, LIMIT), "capacity {}", there.contact_capacity());
            assert_eq!(there.steps(), start.step);
        }
        // Negative control: with a higher limit all of them fit.
        here.set_contact_limit(found);
        there.set_contact_limit(found);
        here.step().expect("that many are allowed");
        there.step().expect("that many are allowed");
        assert_eq!(there.snapshot().expect("a snapshot").counters.sleeping_contacts as usize, sleeping);
    });
}

/// Cancels the step after a delay, and returns the time from then until it returned.
fn cancelled(step: impl FnOnce() -> Result<(), WorldError>, token: &CancelToken, after: Duration) -> Duration {
    let other = token.clone();
    let canceller = std::thread::spawn(move || {
        std::thread::sleep(after);
        other.cancel();
        Instant::now()
    });
    let stepped = step();
    let end = Instant::now();
    assert!(matches!(stepped, Err(WorldError::Cancelled)), "{stepped:?}");
    end.saturating_duration_since(canceller.join().expect("a thread"))
}

/// A long step returns soon after cancellation, in any stage; the world then refuses to step until it is restored, and
/// continues to the same bits as without the cancelled step.
#[test]
fn a_cancelled_step_is_undone_by_a_restore() {
    let mut heavy = build("large_pyramid:base=70");
    (heavy.settings.substeps, heavy.settings.iterations) = (Some(64), Some(64));
    let mut islands = build("many_pyramids:rows=10,columns=10");
    (islands.settings.substeps, islands.settings.iterations) = (Some(64), Some(64));
    // Many overlapping shapes that do not collide: no contacts, but a pair search as long as with them.
    let mut strangers = crowd(60_000);
    for body in &mut strangers.bodies {
        body.shapes.iter_mut().for_each(|shape| shape.filter.group = -1);
    }
    let crowded = crowd(6_000);
    for (scene, after) in [(heavy, 300), (islands, 300), (strangers, 300), (crowded.clone(), 300), (crowded, 900)] {
        for threads in [1, 3] {
            let what = format!("{} on {threads} threads", scene.name);
            let mut world = World::from(cpu(&scene).with_threads(threads).expect("threads"));
            world.set_contact_limit(1 << 26);
            let start = world.save().expect("bytes");
            let token = CancelToken::default();
            world.set_cancel_token(token.clone());
            let took = cancelled(|| (0..1_000).try_for_each(|_| world.step()), &token, Duration::from_millis(after));
            println!("{what}: {took:?} after it was cancelled");
            assert!(took < Duration::from_secs(5), "{what}: {took:?}");
            token.reset();
            for _ in 0..3 {
                assert!(matches!(world.step(), Err(WorldError::Cancelled)), "{what}: before it is restored");
                assert!(matches!(world.save(), Err(WorldError::Cancelled)), "{what}: a partial step is not a state");
            }
            world.load(&start).expect("its own bytes");
            assert_eq!(world.save().expect("bytes"), start, "{what}");
        }
    }
}

/// A cancelled step leaves no trace once the world is restored: it continues to the same bits.
#[test]
fn a_restored_world_steps_to_the_same_bits() {
    for spec in ["large_pyramid:base=60", "many_pyramids:rows=6,columns=6", "tumbler:grid=20", "joint_grid:size=30"] {
        for threads in [1, 3] {
            let scene = build(spec);
            let expected = trace_cpu(&mut cpu(&scene), 30).states;
            let mut world = cpu(&scene).with_threads(threads).expect("threads").with_sharing_from(1);
            let token = CancelToken::default();
            world.set_cancel_token(token.clone());
            let mut kept = world.snapshot();
            let mut given_up = 0_u32;
            for (step, expected) in expected.iter().enumerate() {
                let other = token.clone();
                // Some microseconds into this step or the next.
                let canceller = std::thread::spawn(move || {
                    std::thread::sleep(Duration::from_micros(150 * (step as u64 % 7)));
                    other.cancel();
                });
                let stepped = world.step();
                canceller.join().expect("a thread");
                token.reset();
                if stepped.is_err() {
                    given_up += 1;
                    world.restore(&kept).expect("its own snapshot");
                    world.step().expect("nothing cancels it");
                }
                kept = world.snapshot();
                assert_eq!(state::hash(&kept), *expected, "{spec}: step {step}");
            }
            println!("{spec} on {threads} threads: {given_up} of 30 steps were given up");
        }
    }
}

/// A step is cancelled after it has marked a sleeping body to wake, and before it was solved. No body wakes because of
/// it in the steps after the world was restored.
#[test]
fn bodies_marked_by_a_cancelled_step_stay_asleep() {
    let (mut scene, mut start) = asleep("large_pyramid:base=20");
    // The bodies are equal; the settings differ, and so does the fingerprint.
    start.lineage = Lineage::default();
    // Makes the solver slow in the step that wakes them.
    (scene.settings.substeps, scene.settings.iterations) = (Some(64), Some(64));
    let begin = || {
        let mut world = cpu(&scene);
        world.restore(&start).expect("a snapshot of this world");
        let top = start.poses.iter().map(|pose| pose.position[1]).fold(0.0, f32::max);
        world.add_bodies(&[Body::dynamic(0.0, top + 2.0).shape(Shape::circle(0.5))]).expect("a body");
        world.step().expect("a step");
        world
    };
    let mut twin = begin();
    let far = twin.snapshot();
    twin.step().expect("a step");
    let expected = state::hash(&twin.snapshot());
    let mut flight = 0;
    while twin.counters().woken == 0 {
        twin.step().expect("a step");
        flight += 1;
        assert!(flight < 600, "nothing fell on it");
    }
    let mut world = begin();
    let mut given_up = 0;
    for micros in [300, 600, 1_200, 2_400, 5_000] {
        (0..flight).for_each(|_| world.step().expect("a step"));
        let token = CancelToken::default();
        world.set_cancel_token(token.clone());
        let canceller = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_micros(micros));
            token.cancel();
        });
        given_up += u32::from(world.step().is_err());
        canceller.join().expect("a thread");
        world.set_cancel_token(CancelToken::default());
        world.restore(&far).expect("its own snapshot");
        world.step().expect("nothing cancels it");
        assert_eq!(world.counters().woken, 0, "after {micros} µs");
        assert_eq!(state::hash(&world.snapshot()), expected, "after {micros} µs");
        world.restore(&far).expect("its own snapshot");
        world.step().expect("nothing cancels it");
    }
    assert!(given_up > 0, "the step is too short to be given up");
}

/// Queries ignore the cancel token, and the world continues once it is reset.
#[test]
fn queries_ignore_the_cancel_token() {
    let scene = build("large_pyramid:base=100");
    let ask = [Query::ray([-200.0, 0.5], [200.0, 0.5])];
    let mut world = cpu(&scene).with_threads(2).expect("threads");
    world.step().expect("a step");
    let expected = world.query_brute(&ask).expect("answers");
    let token = CancelToken::default();
    world.set_cancel_token(token.clone());
    token.cancel();
    assert_eq!(world.query(&ask).expect("answers"), expected);
    token.reset();
    world.step().expect("the world can step");
}

/// On a device, a step is cancelled before it is recorded, or while the host waits for recorded work.
#[test]
fn a_step_on_a_device_can_be_cancelled() {
    for strict in [false, true] {
        let mut scene = build("large_pyramid:base=40");
        (scene.settings.substeps, scene.settings.strict) = (Some(64), strict);
        let mut world = gpu(&scene);
        world.step().expect("a step");
        let kept = world.snapshot().expect("a snapshot");
        let token = CancelToken::default();
        world.set_cancel_token(token.clone());
        let took = cancelled(|| (0..10_000).try_for_each(|_| world.step()), &token, Duration::from_millis(700));
        println!("strict {strict}: {took:?} after it was cancelled");
        assert!(took < Duration::from_mins(1), "{took:?}");
        token.reset();
        assert!(matches!(world.step(), Err(WorldError::Cancelled)));
        assert!(matches!(world.snapshot(), Err(WorldError::Cancelled)));
        world.restore(&kept).expect("its own snapshot");
        let mut fresh = gpu(&scene);
        (0..3).for_each(|_| fresh.step().expect("a step"));
        (0..2).for_each(|_| world.step().expect("a step"));
        let [one, other] = [&mut world, &mut fresh].map(|world| state::hash(&world.snapshot().expect("a snapshot")));
        assert_eq!(one, other, "strict {strict}");
    }
}

/// Returns exclusive prefix sums computed by `shaders/scan.wgsl`, in one workgroup or in three dispatches.
fn sums_on_device(text: &str, values: &[u32], in_blocks: bool) -> Vec<u32> {
    const BLOCK: usize = 1024;
    let context = context();
    let (device, queue) = (context.device(), context.queue());
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: Some("scan"),
        source: wgpu::ShaderSource::Wgsl(text.into()),
    });
    let buffer = |words: &[u32], usage: wgpu::BufferUsages| {
        let size = 4 * words.len().max(4) as u64;
        let usage = usage | wgpu::BufferUsages::COPY_DST;
        let buffer =
            device.create_buffer(&wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false });
        queue.write_buffer(&buffer, 0, bytemuck::cast_slice(words));
        buffer
    };
    let storage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC;
    let blocks = values.len().div_ceil(BLOCK);
    let list = buffer(values, storage);
    let block_sums = buffer(&vec![0; blocks], storage);
    let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("scan") });
    let mut run = |entry: &str, values: &wgpu::Buffer, sums: Option<&wgpu::Buffer>, length: usize, groups: usize| {
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(entry),
            layout: None,
            module: &module,
            entry_point: Some(entry),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            cache: None,
        });
        let params = buffer(&[u32::try_from(length).unwrap(), 0, 0, 0], wgpu::BufferUsages::UNIFORM);
        let entry = |binding: u32, buffer: &wgpu::Buffer| (binding, buffer.clone());
        let mut bound = vec![entry(0, values), entry(2, &params)];
        bound.extend(sums.map(|sums| entry(1, sums)));
        let entries: Vec<_> = bound
            .iter()
            .map(|(binding, buffer)| wgpu::BindGroupEntry { binding: *binding, resource: buffer.as_entire_binding() })
            .collect();
        let layout = pipeline.get_bind_group_layout(0);
        let group = wgpu::BindGroupDescriptor { label: None, layout: &layout, entries: &entries };
        let group = device.create_bind_group(&group);
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        pass.set_pipeline(&pipeline);
        pass.set_bind_group(0, &group, &[]);
        pass.dispatch_workgroups(u32::try_from(groups).unwrap(), 1, 1);
    };
    if in_blocks {
        run("scan_reduce", &list, Some(&block_sums), values.len(), blocks);
        run("scan_blocks", &block_sums, None, blocks, 1);
        run("scan_apply", &list, Some(&block_sums), values.len(), blocks);
    } else {
        run("scan_blocks", &list, None, values.len(), 1);
    }
    let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
    let size = 4 * values.len() as u64;
    let back = device.create_buffer(&wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false });
    encoder.copy_buffer_to_buffer(&list, 0, &back, 0, size);
    queue.submit([encoder.finish()]);
    back.map_async(wgpu::MapMode::Read, .., |mapped| mapped.expect("a buffer that can be read"));
    context.wait().expect("a device");
    let bytes = back.get_mapped_range(..).expect("a mapped buffer");
    bytemuck::cast_slice(&bytes).to_vec()
}

/// Pair counts above the u32 range saturate: 100,000 shapes at one point have five thousand million pairs.
#[test]
fn sums_on_the_device_saturate() {
    const MOST: u32 = 0x7fff_ffff;
    let composed = Composer::SOLVER.compose("scan").expect("the solver's scan");
    let text = composed.text();
    for (value, count) in [(3, 900), (7, 9000), (1_000_000, 900), (1_000_000, 3000), (1_000_000, 9000)] {
        let mut values = vec![value; count];
        values.push(0);
        let expected: Vec<u32> =
            (0..=count as u64).map(|index| u32::try_from(index * u64::from(value)).unwrap_or(MOST).min(MOST)).collect();
        for in_blocks in [false, true] {
            let sums = sums_on_device(text, &values, in_blocks);
            assert!(sums == expected, "{count} times {value}, {in_blocks}: the last is {:?}", sums.last());
        }
    }
    // Negative control: sums that wrap would pass as small ones.
    let wrapping = text.replace("return min(a + b, SCAN_MAX);", "return a + b;");
    assert_ne!(wrapping, text);
    let mut values = vec![1_000_000; 5000];
    values.push(0);
    assert_eq!(sums_on_device(&wrapping, &values, true).last(), Some(&705_032_704));
}
