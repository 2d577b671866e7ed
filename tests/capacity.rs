//! Limits and accidents: full buffers, empty and degenerate worlds, numbers that are none, a device that goes away.

mod support;

use std::sync::mpsc;
use std::time::Duration;

use drystone::gpu::{DeviceError, adapters};
use drystone::types::{BodyState, Constraint, Contact, OVERFLOW_CONTACTS, Pose, QUARANTINED};
use drystone::{Body, Context, CpuWorld, GpuWorld, Scene, Shape, Snapshot, WorldError, state};
use support::{
    Trace, assert_colored, build, compile, context, cpu, gpu, gpu_with, is_finite, new_context, pile, trace_cpu,
    trace_gpu,
};

fn step_and_look(world: &mut GpuWorld) -> Snapshot {
    world.step().expect("a step");
    world.snapshot().expect("a snapshot")
}

#[test]
fn contacts_fill_the_buffer_to_the_last_and_beyond() {
    let scene = build("large_pyramid:base=12");
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

/// Every step tells, also those that were never submitted one by one: their counters are not overwritten unseen.
#[test]
fn overflows_of_recorded_steps_are_all_reported() {
    let scene = build("large_pyramid:base=12");
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
        // The first batch was recorded blind; before the second, the world knew and grew.
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
            here.step();
            there.step().expect("a step");
        }
        let (here_now, there_now) = (here.snapshot(), there.snapshot().expect("a snapshot"));
        assert_eq!(here_now, there_now);
        assert_eq!((here_now.step, here_now.poses.len(), here_now.counters.pairs_found), (5, 0, 0));
        here.restore(&there_now).expect("it is of this world");
        there.restore(&here_now).expect("it is of this world");
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
            here.step();
            there.step().expect("a step");
        }
        for snapshot in [here.snapshot(), there.snapshot().expect("a snapshot")] {
            // ½ g t² after one second, and half a substep's worth more: the velocity is updated first.
            let expected = if fixed { 2.0 } else { 2.0 - 0.5 * 9.81 * (1.0 + 1.0 / 240.0) };
            let [x, y] = snapshot.poses[0].position;
            assert!(x.to_bits() == 1.0_f32.to_bits() && (y - expected).abs() < 1e-3, "{x} {y}, expected {expected}");
            assert_eq!(snapshot.contacts.len(), 0);
        }
    }
}

#[test]
fn a_body_without_shapes_is_refused() {
    let mut scene = Scene::new("bare");
    scene.add(Body::dynamic(0.0, 0.0));
    assert!(matches!(CpuWorld::new(&scene), Err(WorldError::Scene(_))));
    assert!(matches!(GpuWorld::new(context(), &scene), Err(WorldError::Scene(_))));
}

/// Every pair overlaps fully, no direction is better than another, and no colour is left for most contacts.
#[test]
fn all_bodies_in_one_point_are_survived() {
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
            here.step();
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

/// Two stacks that do not know of each other, body 0 the ground, 1 to 5 the left stack, 6 to 10 the right one.
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

/// Whichever number of a body is spoilt, the body is taken out, told, and no one else is hurt: its neighbours stay
/// finite and slow, the other stack does not change by a bit.
#[test]
fn spoilt_bodies_are_quarantined_and_spoil_no_one() {
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
            *pose = Pose { position: [f32::NAN; 2], rotation: [f32::INFINITY; 2] };
            state.velocity = [f32::NAN; 2];
            state.angular_velocity = f32::NAN;
        }),
    ];
    let mut settled = cpu(&scene);
    trace_cpu(&mut settled, 60);
    let healthy = settled.snapshot();
    let run = |snapshot: &Snapshot| {
        let (mut here, mut there) = (cpu(&scene), gpu(&scene));
        here.restore(snapshot).expect("it is of this world");
        there.restore(snapshot).expect("it is of this world");
        // A hash is defined at any time, also of what is not a number.
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

/// Ground and several bodies at once; the count adds up over steps.
#[test]
fn quarantine_counts_every_body_once() {
    let scene = two_stacks();
    let (mut here, mut there) = (cpu(&scene), gpu(&scene));
    let mut snapshot = here.snapshot();
    for (round, bodies) in [[0, 4], [4, 9]].into_iter().enumerate() {
        for body in bodies {
            snapshot.poses[body].position[0] = f32::NAN;
        }
        here.restore(&snapshot).expect("it is of this world");
        there.restore(&snapshot).expect("it is of this world");
        for _ in 0..10 {
            here.step();
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

/// More than a scene file may ask for, on bodies from heavy to almost weightless: speeds are capped, not overrun.
#[test]
fn absurd_forces_end_finite() {
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
        here.step();
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

/// Runs `work` with a deadline, so that a hang is a failure.
fn within_a_minute(work: impl FnOnce() + Send + 'static) {
    let (done, wait) = mpsc::channel();
    let worker = std::thread::spawn(move || {
        work();
        let _ = done.send(());
    });
    match wait.recv_timeout(Duration::from_mins(1)) {
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("it hangs"),
        // Finished, or panicked: joining tells.
        _ => worker.join().expect("no panic"),
    }
}

fn is_lost<T>(result: &Result<T, WorldError>) -> bool {
    matches!(result, Err(WorldError::Device(DeviceError::Lost(_))))
}

#[test]
fn a_lost_device_is_an_error_and_a_snapshot_survives_it() {
    within_a_minute(|| {
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
            // What was there before is still there, and goes on elsewhere to the same bits.
            assert_eq!(state::hash(&snapshot), kept);
            let mut here = cpu(&scene);
            here.restore(&snapshot).expect("it is of this world");
            assert_eq!(state::hash(&here.snapshot()), kept);
            here.step();
            let mut there = gpu(&scene);
            there.restore(&snapshot).expect("it is of this world");
            let rest = trace_gpu(&mut there, 20);
            assert_eq!(rest.states, trace_gpu(&mut gpu(&scene), 40).states[20..], "{what}");
            drop(world);
        }
    });
}

/// Losing one device leaves worlds on another alone.
#[test]
fn another_device_does_not_care() {
    within_a_minute(|| {
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
fn a_world_that_outgrows_the_device_is_refused() {
    let limit = context().device().limits().max_storage_buffer_binding_size;
    let too_many = limit / size_of::<Contact>() as u64 + 1;
    for capacity in [u64::from(u32::MAX), 1 << 31, 1 << 30, too_many] {
        let Ok(capacity) = u32::try_from(capacity) else { continue };
        let refused = GpuWorld::from_compiled(context(), compile(&pile(1, 20)), Some(capacity));
        let Err(WorldError::TooLarge { buffer, bytes, limit: told }) = refused else {
            panic!("{capacity} contacts gave {refused:?}");
        };
        assert!(bytes > told && told <= limit, "{buffer} {bytes} {told}");
    }
    context().check().expect("nothing was asked of the device");
    trace_gpu(&mut gpu(&pile(1, 20)), 3);
}

/// A device that allows bindings of 64 KiB.
fn small_device() -> Context {
    let all = adapters();
    let adapter = all.first().expect("these tests need an adapter");
    let limits = wgpu::Limits { max_storage_buffer_binding_size: 1 << 16, ..wgpu::Limits::default() };
    let request = adapter
        .request_device(&wgpu::DeviceDescriptor { required_limits: limits, ..wgpu::DeviceDescriptor::default() });
    let (device, queue) = pollster::block_on(request).expect("a device");
    device.on_uncaptured_error(std::sync::Arc::new(|error| panic!("{error}")));
    Context::from_device(adapter.get_info(), device, queue)
}

/// Where a buffer cannot grow, the default is to solve what fits and say so, step after step; strict worlds give an error
/// and are as they were before the step.
#[test]
fn growing_beyond_the_device_is_reported() {
    let scene = build("large_pyramid:base=24");
    let device = small_device();
    let fits = u32::try_from((1 << 16) / size_of::<Constraint>()).expect("few") - 1;
    let mut strict = scene.clone();
    strict.settings.strict = true;

    let mut world = GpuWorld::from_compiled(&device, compile(&scene), Some(fits)).expect("that much fits");
    for step in 0..5 {
        world.step().expect("what fits is solved");
        // Waits, so that the next step knows.
        let after = world.snapshot().expect("a snapshot");
        assert!(is_finite(&after), "step {step}");
        assert_colored(&after, "default");
        assert_eq!(world.overflowed_steps().last(), Some(&step), "every step says that it dropped contacts");
    }
    assert!(world.contact_capacity() <= fits + 1, "{} contacts", world.contact_capacity());

    let mut world = GpuWorld::from_compiled(&device, compile(&strict), Some(fits)).expect("that much fits");
    let before = world.snapshot().expect("a snapshot");
    for _ in 0..2 {
        assert!(matches!(world.step(), Err(WorldError::TooLarge { .. })), "there is no room");
        assert_eq!(world.contact_capacity(), fits);
        let after = world.snapshot().expect("a snapshot");
        assert_eq!(state::hash(&after), state::hash(&before), "the step that did not fit left no trace");
        assert_eq!((world.steps(), world.overflowed_steps()), (0, &[] as &[u64]));
    }

    // Nor has it set free what was vacated before it: what it was about is still known of that slot. A world that does not
    // know yet that there is no room, so that the step runs.
    let mut world = GpuWorld::from_compiled(&device, compile(&strict), Some(fits)).expect("that much fits");
    let top = world.body_id(300).expect("the box at the top");
    world.remove_bodies(&[top]).expect("it is there");
    let before = world.snapshot().expect("a snapshot");
    assert_eq!(before.vacated, [300]);
    assert!(matches!(world.step(), Err(WorldError::TooLarge { .. })), "there is no room");
    let after = world.snapshot().expect("a snapshot");
    assert_eq!(after.vacated, before.vacated);
    let ids = world.add_bodies(&[Body::dynamic(0.0, 99.0).shape(Shape::circle(0.5))]).expect("a body");
    assert_ne!(ids[0].index, 300, "a slot is taken before a step has run without its body");
}

fn index(color: usize) -> u32 {
    u32::try_from(color).expect("few colours")
}

type Change = fn(&mut Snapshot);

/// A snapshot is input: whatever it says, restoring it is an error or the world steps on.
#[test]
fn doctored_snapshots_do_no_harm() {
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
            here.step();
            there.step().unwrap_or_else(|error| panic!("{what}: {error}"));
        }
        for now in [here.snapshot(), there.snapshot().expect("a snapshot")] {
            assert_eq!(now.step, good.step + 5, "{what}");
            assert_colored(&now, what);
        }
    }
}

/// A strict world with hardly any room is the ample one, step by step, and never reports an overflow.
#[test]
fn strict_worlds_pay_with_time_only() {
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
