//! Emitters: the time, number and slots of the bodies that they add and remove; equal on every backend, from snapshots,
//! in a caller's encoder, in strict mode, and equal to adding and removing the same bodies by calls.

use crate::support::{context, cpu, gpu, gpu_with, hash_of, on_all, shower_on};
use drystone::low_level::snapshot::Lineage;
use drystone::low_level::types::VACANT;
use drystone::low_level::{CpuWorld, GpuWorld, state};
use drystone::{Body, BodyId, Emitter, Joint, JointKind, PopulationError, Scene, Shape, Snapshot, World, WorldError};
use drystone_scenes::catalogue;

/// Returns a scene with a near floor and three emitters: pairs on a rod, every six steps, three pairs at a time; a box
/// after ten steps, for twenty steps; and a wedge once, permanently.
fn shower() -> Scene {
    let mut scene = Scene::new("shower").gravity(0.0, -10.0);
    scene.add(Body::fixed(0.0, -0.5).shape(Shape::half_box(20.0, 0.5)));
    scene.add(Body::dynamic(0.0, 0.5).id("first").shape(Shape::half_box(0.5, 0.5)));
    shower_on(&mut scene);
    let wedge = Shape::polygon([[-0.4, -0.3], [0.4, -0.3], [0.0, 0.5]]);
    scene.emit(Emitter::new([Body::dynamic(0.2, 2.0).shape(wedge)]).start(15));
    scene
}

fn bodies(world: &World) -> usize {
    world.compiled().bodies.iter().filter(|body| body.kind != VACANT).count()
}

/// Returns the id of the body in each slot.
fn tenants(world: &mut World) -> Vec<Option<BodyId>> {
    (0..world.compiled().bodies.len()).map(|slot| world.body_id(slot)).collect()
}

/// Box2D's numbers: the floors, and 5 rows of 5 ragdolls of 11 bones and 10 joints each for every started period of
/// eight steps, up to forty columns. 250 hinges per column.
#[test]
fn rain_matches_box2ds_numbers() {
    let scene = catalogue::build("rain").unwrap();
    assert_eq!((scene.bodies.len(), scene.most_parts().bodies), (1, 1 + 40 * 275));
    let mut world = World::from(cpu(&scene));
    assert_eq!(bodies(&world), 1, "before the first step there is only the ground");
    for (steps, columns) in [(1, 1), (7, 1), (8, 1), (9, 2), (16, 2), (17, 3)] {
        while world.steps() < steps {
            world.step().unwrap();
        }
        let joints = world.compiled().joints.count();
        assert_eq!((bodies(&world), joints), (1 + 275 * columns, 250 * columns), "after {steps} steps");
    }
    // Column by column from the left, the ragdolls of a row side by side.
    let snapshot = world.snapshot().unwrap();
    let x = |body: usize| snapshot.poses[body].position[0];
    assert!((x(1) + 121.875).abs() < 0.2 && (x(1 + 275) + 115.625).abs() < 0.2, "{} {}", x(1), x(1 + 275));
}

/// All forty columns, and twenty that were replaced, with one bone per ragdoll to save time.
#[test]
fn forty_columns_are_added_and_the_oldest_removed() {
    let mut scene = catalogue::build("rain").unwrap();
    for emitter in &mut scene.emitters {
        emitter.joints.clear();
        emitter.bodies = emitter.bodies.iter().step_by(55).cloned().collect();
    }
    scene.bodies[0].shapes.truncate(1);
    let mut world = World::from(cpu(&scene));
    let column = |world: &mut World, column: usize| -> Vec<Option<BodyId>> {
        (1 + 5 * column..).take(5).map(|slot| world.body_id(slot)).collect()
    };
    for step in 0..1000_u64 {
        let before = (step > 0).then(|| tenants(&mut world));
        world.step().unwrap();
        // At step 320 the forty-first column is added, and the first removed.
        let columns = usize::try_from(step / 8 + 1).unwrap().min(40);
        assert_eq!(bodies(&world), 1 + 5 * columns, "after step {step}");
        if let Some(before) = before {
            let after = tenants(&mut world);
            let stay = before.iter().zip(&after).filter(|(before, after)| before.is_some() && before == after).count();
            let expected = match step {
                _ if step % 8 != 0 => 1 + 5 * columns,
                320.. => 1 + 5 * 39,
                _ => 1 + 5 * (columns - 1),
            };
            assert_eq!(stay, expected, "step {step}: columns other than the due one were removed");
        }
        if step == 319 {
            assert!(column(&mut world, 0).iter().all(|id| id.is_some_and(|id| id.generation == 0)));
        }
        if step == 320 {
            // The replacement of a column uses other slots, one column's worth more.
            assert_eq!(column(&mut world, 0), [None; 5]);
            assert_eq!(world.compiled().bodies.len(), 1 + 41 * 5);
        }
        if step == 328 {
            // The second column is removed, and the slots of the first are free.
            assert!(column(&mut world, 0).iter().all(|id| id.is_some_and(|id| id.generation == 1)));
            assert_eq!(column(&mut world, 1), [None; 5]);
        }
    }
    assert_eq!(world.compiled().bodies.len(), 1 + 41 * 5, "the number of slots is bounded");
    assert_eq!(world.compiled().most_slots(), 1 + 41 * 5, "and known in advance");
}

/// The numbers of bodies and joints of `shower` after each of 40 steps match a computation by hand.
#[test]
fn batches_are_added_and_removed_on_time() {
    for (name, mut world) in on_all(&shower()) {
        for step in 0..60_usize {
            world.step().unwrap();
            let pairs = (step / 6 + 1).min(3);
            let lone = usize::from((10..30).contains(&step));
            let wedge = usize::from(step >= 15);
            assert_eq!(bodies(&world), 2 + 2 * pairs + lone + wedge, "{name}, after step {step}");
            assert_eq!(world.compiled().joints.count(), pairs, "{name}, after step {step}");
        }
    }
    // An emitter with a count of two and a lifetime: the first batch expires.
    let mut scene = shower();
    scene.emitters.truncate(1);
    scene.emitters[0] = scene.emitters[0].clone().count(2).lifetime(10);
    scene.emitters[0].keep = None;
    let mut world = World::from(cpu(&scene));
    let mut counts = Vec::new();
    for _ in 0..20 {
        world.step().unwrap();
        counts.push((bodies(&world) - 2) / 2);
    }
    assert_eq!(counts, [1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0]);
}

/// Adding and removing the same bodies and joints by calls at the same steps gives the same bits, with sleeping too.
#[test]
fn emitters_equal_adding_and_removing_by_calls() {
    for sleep in [false, true] {
        let mut scene = shower();
        scene.settings.sleep = sleep;
        let mut bare = scene.clone();
        let emitters = std::mem::take(&mut bare.emitters);
        for ((name, mut script), (_, mut hand)) in on_all(&scene).into_iter().zip(on_all(&bare)) {
            let (mut pairs, mut lone) = (Vec::new(), Vec::new());
            for step in 0..80 {
                let mut gone: Vec<BodyId> = Vec::new();
                if step % 6 == 0 && pairs.len() == 3 {
                    gone.extend::<Vec<BodyId>>(pairs.remove(0));
                }
                if step == 30 {
                    gone.append(&mut lone);
                }
                if !gone.is_empty() {
                    hand.remove_bodies(&gone).unwrap();
                }
                if step % 6 == 0 {
                    let ids = hand.add_bodies(&emitters[0].bodies).unwrap();
                    let rod = emitters[0].joints[0].clone();
                    hand.add_joints_between(&[(Some(ids[0]), ids[1], rod)]).unwrap();
                    pairs.push(ids);
                }
                if step == 10 {
                    lone = hand.add_bodies(&emitters[1].bodies).unwrap();
                }
                if step == 15 {
                    hand.add_bodies(&emitters[2].bodies).unwrap();
                }
                hand.step().unwrap();
                script.step().unwrap();
                assert_eq!(tenants(&mut script), tenants(&mut hand), "{name}, step {step}");
                assert_eq!(hash_of(&mut script), hash_of(&mut hand), "{name}, sleep {sleep}, step {step}");
            }
        }
    }
}

/// On any number of threads and on the GPU, the same bodies are in the same slots; on the CPU they are at the same
/// positions too.
#[test]
fn backends_assign_the_same_slots() {
    let mut all = on_all(&shower());
    for step in 0..50 {
        for (_, world) in &mut all {
            world.step().unwrap();
        }
        let expected = tenants(&mut all[0].1);
        let bits = hash_of(&mut all[0].1);
        for (name, world) in &mut all[1..] {
            assert_eq!(tenants(world), expected, "{name}, step {step}");
            assert!(*name == "gpu" || hash_of(world) == bits, "{name}, step {step}");
        }
    }
}

/// A restored world, a fresh one, and one loaded from bytes continue to the same bits and the same bodies.
#[test]
fn a_snapshot_continues_to_the_same_bits() {
    for sleep in [false, true] {
        let mut scene = shower();
        scene.settings.sleep = sleep;
        for (name, mut world) in on_all(&scene) {
            let mut marks = Vec::new();
            for step in 0..48_u64 {
                if [0, 1, 6, 7, 13, 31].contains(&step) {
                    marks.push((step, world.snapshot().unwrap(), world.save().unwrap()));
                }
                world.step().unwrap();
            }
            let (end, last) = (hash_of(&mut world), tenants(&mut world));
            for (step, snapshot, bytes) in marks.iter().rev().chain(&marks) {
                world.restore(snapshot).unwrap();
                assert_eq!(world.snapshot().unwrap(), *snapshot, "{name}, back to {step}");
                let mut fresh = match name {
                    "gpu" => World::from(gpu(&scene)),
                    _ => cpu(&scene).into(),
                };
                fresh.load(bytes).unwrap();
                assert_eq!(tenants(&mut fresh), tenants(&mut world), "{name}, from {step}");
                for world in [&mut world, &mut fresh] {
                    while world.steps() < 48 {
                        world.step().unwrap();
                    }
                    assert_eq!(hash_of(world), end, "{name}, sleep {sleep}, from {step}");
                    assert_eq!(tenants(world), last, "{name}, from {step}");
                }
            }
        }
    }
}

#[test]
fn a_snapshot_with_other_emitters_or_history_is_rejected() {
    let mut world = World::from(cpu(&shower()));
    (0..20).for_each(|_| world.step().unwrap());
    let (snapshot, bytes) = (world.snapshot().unwrap(), world.save().unwrap());
    let mut other = shower();
    other.emitters[0] = other.emitters[0].clone().every(5);
    let mut other = World::from(cpu(&other));
    assert!(matches!(other.load(&bytes), Err(WorldError::SnapshotFile(_))));
    assert!(matches!(other.restore(&snapshot), Err(WorldError::Snapshot(_))));
    assert_eq!((other.steps(), bodies(&other)), (0, 2), "nothing has changed");
    // A snapshot of a world that was edited by calls.
    world.add_bodies(&[Body::dynamic(9.0, 1.0).shape(Shape::circle(0.5))]).unwrap();
    world.step().unwrap();
    let snapshot = Snapshot { lineage: Lineage::default(), ..world.snapshot().unwrap() };
    let mut fresh = World::from(cpu(&shower()));
    assert!(matches!(fresh.restore(&snapshot), Err(WorldError::Snapshot(_))));
    fresh.step().unwrap();
    assert_eq!(bodies(&fresh), 4);
    // A forged snapshot from the far future is rejected immediately.
    let mut forged = fresh.snapshot().unwrap();
    (forged.step, forged.population) = (u64::MAX, 1);
    assert!(matches!(fresh.restore(&forged), Err(WorldError::Snapshot(_))));
}

/// Several steps in one encoder of the caller: a batch added at the third step is absent in the first.
#[test]
fn steps_of_one_encoder_see_the_bodies_of_their_time() {
    let mut stepped = gpu_with(&shower(), 1024);
    let mut recorded = gpu_with(&shower(), 1024);
    for turn in 0..4 {
        let device = context().device();
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        for _ in 0..13 {
            recorded.record(&mut encoder).unwrap();
            stepped.step().unwrap();
        }
        context().queue().submit([encoder.finish()]);
        let [one, other] = [&mut recorded, &mut stepped].map(|world| world.snapshot().unwrap());
        assert_eq!(state::hash(&one), state::hash(&other), "turn {turn}");
        assert_eq!(one.poses.len(), other.poses.len(), "turn {turn}");
    }
    // Bodies added by calls during recording are present in all of the steps, so a difference would be visible.
    let mut scene = shower();
    let late = scene.emitters.swap_remove(0).bodies;
    scene.emitters.clear();
    let mut hand = gpu_with(&scene, 1024);
    let mut stepped = gpu_with(&scene, 1024);
    let mut encoder = context().device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    for step in 0..13 {
        if step == 6 {
            hand.add_bodies(&late).unwrap();
            stepped.add_bodies(&late).unwrap();
        }
        hand.record(&mut encoder).unwrap();
        stepped.step().unwrap();
    }
    context().queue().submit([encoder.finish()]);
    let [one, other] = [&mut hand, &mut stepped].map(|world| state::hash(&world.snapshot().unwrap()));
    assert_ne!(one, other);
}

/// A step that is repeated after a contact overflow adds its batch once.
#[test]
fn strict_steps_emit_once() {
    let mut scene = shower();
    let mut roomy = gpu_with(&scene, 4096);
    scene.settings.strict = true;
    let mut tight = gpu_with(&scene, 1);
    for step in 0..40 {
        roomy.step().unwrap();
        tight.step().unwrap();
        let [one, other] = [&mut tight, &mut roomy].map(|world| state::hash(&world.snapshot().unwrap()));
        assert_eq!(one, other, "step {step}");
    }
    assert!(tight.contact_capacity() > 1 && tight.overflowed_steps().is_empty());
}

/// The maximum number of bodies is known in advance, so no buffer is reallocated.
#[test]
fn capacity_is_reserved() {
    let mut world = gpu_with(&shower(), 4096);
    let bytes = world.device_bytes();
    (0..100).for_each(|_| world.step().unwrap());
    assert_eq!(world.device_bytes(), bytes);
    // A scene without emitters takes as much memory as before.
    let mut bare = shower();
    bare.emitters.clear();
    let without = gpu_with(&bare, 4096).device_bytes();
    assert!(without < bytes, "{without} {bytes}");
}

/// Emitters are unaffected by bodies that a user adds and removes.
#[test]
fn calls_and_emitters_mix() {
    for (name, mut world) in on_all(&shower()) {
        let mut mine = Vec::new();
        for step in 0..40_usize {
            if step % 4 == 1 {
                mine.extend(
                    world.add_bodies(&[Body::dynamic(9.0, 1.0 + 0.2 * step as f32).shape(Shape::circle(0.1))]).unwrap(),
                );
            }
            if step == 21 {
                // A body of an emitter, whose slot another body of the user reuses.
                let theirs = tenants(&mut world).into_iter().flatten().find(|id| id.index > 1 && !mine.contains(id));
                world.remove_bodies(&[theirs.unwrap()]).unwrap();
            }
            world.step().unwrap();
        }
        let there = tenants(&mut world);
        assert!(mine.iter().all(|id| there.contains(&Some(*id))), "{name}: the script took one of mine");
        // Ten of the user, two of the scene, three pairs and the wedge; removed bodies would have expired by then.
        assert_eq!(bodies(&world), 10 + 2 + 6 + 1, "{name}");
        assert_eq!(world.compiled().joints.count(), 3, "{name}");
    }
}

#[test]
fn joints_between_ids_reject_removed_bodies() {
    for (name, mut world) in on_all(&shower()) {
        let first = world.body_id(1).unwrap();
        let ball = Body::dynamic(5.0, 3.0).shape(Shape::circle(0.2));
        let old = world.add_bodies(std::slice::from_ref(&ball)).unwrap()[0];
        world.step().unwrap();
        world.remove_bodies(&[old]).unwrap();
        world.step().unwrap();
        let new = world.add_bodies(&[ball]).unwrap()[0];
        assert_eq!((new.index, new.generation), (old.index, old.generation + 1), "{name}");
        let rod = || Joint::new(JointKind::rod(), 0, 0);
        let before = world.compiled().joints.count();
        for (a, b) in [(Some(first), old), (Some(old), first), (None, old)] {
            let error = world.add_joints_between(&[(Some(first), new, rod()), (a, b, rod())]).unwrap_err();
            assert!(matches!(error, WorldError::Population(PopulationError::Gone(id)) if id == old), "{name}: {error}");
        }
        assert_eq!(world.compiled().joints.count(), before, "{name}: none of them");
        world.add_joints_between(&[(Some(first), new, rod()), (None, new, rod())]).unwrap();
        assert_eq!(world.compiled().joints.count(), before + 2, "{name}");
        world.step().unwrap();
    }
}

/// A world in which only emitters move anything can be created, and wakes when they add bodies.
#[test]
fn a_sleeping_world_wakes_for_its_emitters() {
    let mut scene = Scene::new("late").gravity(0.0, -10.0);
    scene.settings.sleep = true;
    scene.add(Body::fixed(0.0, -0.5).shape(Shape::half_box(20.0, 0.5)));
    scene.add(Body::dynamic(0.0, 0.5).shape(Shape::half_box(0.5, 0.5)));
    scene.emit(Emitter::new([Body::dynamic(0.0, 2.0).shape(Shape::half_box(0.5, 0.5))]).start(150));
    for (name, mut world) in on_all(&scene) {
        while world.steps() < 150 {
            world.step().unwrap();
            world.wait().unwrap();
        }
        assert_eq!((bodies(&world), world.snapshot().unwrap().counters.awake), (2, 0), "{name}");
        (0..60).for_each(|_| world.step().unwrap());
        let snapshot = world.snapshot().unwrap();
        let height = snapshot.poses[2].position[1];
        assert!((height - 1.5).abs() < 0.02, "{name}: at {height} m");
    }
}

/// CPU and GPU worlds emit without the wrapper `World` too.
#[test]
fn a_bare_backend_emits_too() {
    let mut host = CpuWorld::new(&shower()).unwrap();
    let mut device = GpuWorld::new(context(), &shower()).unwrap();
    for _ in 0..7 {
        host.step().unwrap();
        device.step_profiled().unwrap();
    }
    assert_eq!((host.snapshot().poses.len(), device.snapshot().unwrap().poses.len()), (6, 6));
}
