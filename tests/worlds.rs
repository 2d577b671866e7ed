//! Batches of worlds: each reaches the same bits as alone on the same backend, independent of its neighbours.

use crate::support::{BACKENDS, alone, build, context, gather, row, together};
use drystone::low_level::GpuWorld;
use drystone::{Body, BodyType, Command, Joint, JointCommand, JointKind, Motor, Scene, Shape, WorldBatch, WorldError};
use drystone_scenes::catalogue;
use glam::Vec2;

/// Runs each scene alone and all of them together, with the same commands, and compares the complete states.
fn same_bits(backend: &str, scenes: &[Scene], steps: u64, ask: impl Fn(usize, u64) -> Option<(usize, Command)>) {
    let mut worlds = together(backend, scenes);
    for step in 0..steps {
        for world in 0..scenes.len() {
            if let Some((body, command)) = ask(world, step) {
                worlds.command(world, body, command).unwrap();
            }
        }
        worlds.step().unwrap();
    }
    worlds.wait().unwrap();
    let hashes = worlds.hashes().unwrap();
    for (index, scene) in scenes.iter().enumerate() {
        let mut world = alone(backend, scene);
        for step in 0..steps {
            if let Some((body, command)) = ask(index, step) {
                world.command(body, command).unwrap();
            }
            world.step().unwrap();
        }
        world.wait().unwrap();
        let (expected, found) = (world.snapshot().unwrap(), worlds.snapshot(index).unwrap());
        let hash = drystone::low_level::state::hash(&expected);
        assert_eq!(hashes[index], hash, "{backend}: world {index} of {}", scene.name);
        assert!(found == expected, "{backend}: world {index} of {} carries something else", scene.name);
        assert_eq!(worlds.take_events(index).unwrap(), world.take_events().unwrap(), "{backend}: events of {index}");
        assert_eq!(worlds.overflowed_steps(index), world.overflowed_steps());
    }
}

fn no_commands(_: usize, _: u64) -> Option<(usize, Command)> {
    None
}

/// Returns variants of a world, each with all bodies slightly further to the right than in the one before.
fn nudged(scene: &Scene, count: usize) -> Vec<Scene> {
    WorldBatch::vary(scene, count, |world, scene| {
        for (index, body) in scene.bodies.iter_mut().enumerate().filter(|(_, body)| body.kind == BodyType::Dynamic) {
            body.position.x += 0.003 * world as f32 * ((index % 3) as f32 - 1.0);
        }
    })
}

fn scene(spec: &str) -> Scene {
    catalogue::build(spec).unwrap()
}

#[test]
fn stacks_and_piles() {
    for backend in BACKENDS {
        same_bits(backend, &nudged(&scene("large_pyramid:base=7"), 4), 60, no_commands);
        same_bits(backend, &nudged(&scene("card_house"), 3), 40, no_commands);
    }
}

#[test]
fn joints_springs_and_walls_that_turn() {
    for backend in BACKENDS {
        for spec in ["joint_grid:size=5", "ragdoll", "naphy_bridge", "particles_in_a_turning_box", "springs"] {
            same_bits(backend, &nudged(&scene(spec), 3), 40, no_commands);
        }
    }
}

#[test]
fn bodies_that_fall_asleep_and_are_woken() {
    let mut sleepy = scene("large_pyramid:base=4");
    sleepy.settings.sleep = true;
    let last = sleepy.bodies.len() - 1;
    // World 1 is woken again when all sleep, world 2 never rests.
    let wake = |world, step| match (world, step) {
        (1, 100) => Some((last, Command::Wake)),
        (2, _) if step % 10 == 0 => Some((last, Command::Impulse { impulse: Vec2::new(0.0, 2.0), point: None })),
        _ => None,
    };
    for backend in BACKENDS {
        same_bits(backend, &nudged(&sleepy, 3), 140, wake);
    }
    let mut worlds = together("gpu", &nudged(&sleepy, 2));
    (0..120).for_each(|_| worlds.step().unwrap());
    assert_eq!(worlds.snapshot(0).unwrap().counters.awake, 0, "all bodies must sleep");
}

#[test]
fn worlds_of_any_size_and_kind_side_by_side() {
    let mut mixed =
        vec![scene("large_pyramid:base=3"), scene("card_house"), scene("joint_grid:size=3"), Scene::new("")];
    mixed.push(scene("bouncing_ball"));
    for scene in &mut mixed {
        scene.settings = scene_settings();
    }
    for backend in BACKENDS {
        same_bits(backend, &mixed, 50, no_commands);
    }
}

fn scene_settings() -> drystone::Settings {
    scene("large_pyramid:base=3").settings
}

#[test]
fn every_world_has_its_own_commands_and_events() {
    let mut scene = scene("large_pyramid:base=4");
    scene.settings.events = true;
    let last = scene.bodies.len() - 1;
    let ask = |world: usize, step: u64| {
        let impulse = Vec2::new(world as f32 - 1.0, 3.0);
        (step == 5 + world as u64).then_some((last - world, Command::Impulse { impulse, point: None }))
    };
    for backend in BACKENDS {
        same_bits(backend, &vec![scene.clone(); 3], 60, ask);
    }
    let mut worlds = together("gpu", &vec![scene; 2]);
    worlds.command(1, last, Command::Velocity(Vec2::new(0.0, 9.0))).unwrap();
    (0..30).for_each(|_| worlds.step().unwrap());
    worlds.wait().unwrap();
    let events = [0, 1].map(|world| worlds.take_events(world).unwrap());
    assert!(events[1].len() > events[0].len(), "only world 1 was thrown about: {events:?}");
}

fn motor_scene() -> (Scene, usize) {
    let mut scene = Scene::new("motor");
    scene.add(Body::fixed(0.0, -1.0).shape(Shape::half_box(50.0, 1.0)));
    let body = scene.add(Body::dynamic(0.0, 3.0).shape(Shape::half_box(1.0, 0.1)));
    let kind = JointKind::Revolute {
        reference_angle: None,
        limits: None,
        motor: Some(Motor { speed: 1.0, max: 1e4 }),
        spring: None,
    };
    scene.joints.push(Joint::to_world(kind, body).anchors([0.0, 3.0], [0.0, 0.0]));
    (scene, body)
}

#[test]
fn joints_are_commanded_world_by_world() {
    let (scene, body) = motor_scene();
    for backend in BACKENDS {
        let mut worlds = together(backend, &vec![scene.clone(); 3]);
        let mut single = alone(backend, &scene);
        let joint = worlds.joint_id(1, 0).unwrap();
        let command = JointCommand::Motor { speed: -2.0, max: 1e4 };
        worlds.command_joint(1, joint, command).unwrap();
        single.command_joint(single.joint_id(0).unwrap(), command).unwrap();
        for _ in 0..20 {
            worlds.step().unwrap();
            single.step().unwrap();
        }
        let hashes = worlds.hashes().unwrap();
        assert_eq!(hashes[1], drystone::low_level::state::hash(&single.snapshot().unwrap()));
        assert_eq!(hashes[0], hashes[2]);
        assert_ne!(hashes[0], hashes[1]);
        let rows = worlds.bodies().unwrap();
        assert!(rows.states(1)[body].angular_velocity < -1.0 && rows.states(0)[body].angular_velocity > 0.5);
        assert!(rows.states(3).is_empty());
    }
}

#[test]
fn restoring_one_world_does_not_affect_others() {
    for backend in BACKENDS {
        let scenes = nudged(&scene("large_pyramid:base=5"), 3);
        let (mut worlds, mut control) = (together(backend, &scenes), together(backend, &scenes));
        (0..10).for_each(|_| worlds.step().unwrap());
        let episode = worlds.snapshot(1).unwrap();
        (0..15).for_each(|_| worlds.step().unwrap());
        worlds.restore(&[(1, &episode)]).unwrap();
        assert_eq!((worlds.steps(0), worlds.steps(1)), (25, 10));
        (0..20).for_each(|_| worlds.step().unwrap());
        (0..30).for_each(|_| control.step().unwrap());
        let middle = control.hashes().unwrap();
        (0..15).for_each(|_| control.step().unwrap());
        let end = control.hashes().unwrap();
        assert_eq!(worlds.hashes().unwrap(), [end[0], middle[1], end[2]], "{backend}");
        assert_ne!(end[1], middle[1], "a pile at rest would make the test void");
        // A snapshot of another world changes nothing.
        let foreign = together(backend, &[scene("card_house")]).snapshot(0).unwrap();
        assert!(worlds.restore(&[(0, &foreign)]).is_err());
        assert_eq!(worlds.hashes().unwrap()[0], end[0]);
    }
}

fn gather_at(step: u64) -> impl Iterator<Item = (usize, Command)> {
    gather().filter(move |_| step == 3)
}

#[test]
fn an_overflow_is_reported_per_world() {
    let (mut worlds, mut calm) = (together("gpu", &[row(), row()]), alone("gpu", &row()));
    for step in 0..8 {
        gather_at(step).for_each(|(body, command)| worlds.command(1, body, command).unwrap());
        worlds.step().unwrap();
        calm.step().unwrap();
    }
    worlds.wait().unwrap();
    assert_eq!(worlds.hashes().unwrap()[0], drystone::low_level::state::hash(&calm.snapshot().unwrap()));
    assert!(worlds.overflowed_steps(0).is_empty());
    assert_eq!(worlds.overflowed_steps(1).first(), Some(&3));

    // Strict: the step is repeated until all contacts fit, and both worlds match their single runs.
    let mut strict = row();
    strict.settings.strict = true;
    let mut worlds = together("gpu", &[strict.clone(), strict.clone()]);
    let (mut calm, mut crowded) = (alone("gpu", &strict), alone("gpu", &strict));
    for step in 0..8 {
        for (body, command) in gather_at(step) {
            worlds.command(1, body, command).unwrap();
            crowded.command(body, command).unwrap();
        }
        worlds.step().unwrap();
        calm.step().unwrap();
        crowded.step().unwrap();
    }
    assert!(worlds.overflowed_steps(1).is_empty());
    let pairs = worlds.snapshot(1).unwrap().counters.pairs_found;
    assert!(pairs > 500, "{pairs} pairs are no crowd");
    for (world, alone) in [&mut calm, &mut crowded].into_iter().enumerate() {
        assert!(worlds.snapshot(world).unwrap() == alone.snapshot().unwrap(), "world {world}");
    }
}

#[test]
fn incompatible_worlds_are_rejected() {
    let message = |scenes: &[Scene]| WorldBatch::on_gpu(context(), scenes).unwrap_err().to_string();
    assert_eq!(message(&[]), "many worlds: there are none");
    let mut other = scene("large_pyramid:base=3");
    other.settings.substeps = Some(2);
    let differs = "many worlds: world 1 needs other stages than world 0: its settings or its contact rule differ";
    assert_eq!(message(&[scene("large_pyramid:base=3"), other]), differs);
    let mut worlds = together("gpu", &[scene("large_pyramid:base=3")]);
    for error in [
        worlds.command(1, 0, Command::Wake).unwrap_err(),
        worlds.snapshot(1).unwrap_err(),
        worlds.take_events(1).unwrap_err(),
    ] {
        assert!(matches!(&error, WorldError::Many(why) if why == "there is no world 1 of 1"), "{error}");
    }
    let error = worlds.command(0, 99, Command::Wake).unwrap_err();
    assert!(matches!(error, WorldError::Command(_)), "{error}");
    assert!(WorldBatch::on_cpu(&[], 1).is_err());
    assert_eq!(worlds.steps(5), 0);
}

/// Negative control: a kernel that reads its neighbour's table is detected. The worlds differ, so one that reads the
/// first world's table in all of them would give the same bits everywhere.
#[test]
fn different_worlds_reach_different_bits() {
    for backend in BACKENDS {
        let mut worlds = together(backend, &nudged(&scene("large_pyramid:base=5"), 4));
        (0..20).for_each(|_| worlds.step().unwrap());
        let mut hashes = worlds.hashes().unwrap();
        hashes.sort_unstable();
        hashes.dedup();
        assert_eq!(hashes.len(), 4, "{backend}");
    }
}

#[test]
fn emitters_run_in_every_world() {
    same_bits("cpu", &nudged(&scene("rain"), 2), 130, no_commands);
    let mut shower = scene("rain:rows=1,columns=5,group=1,stay=1");
    // A single world has another capacity than one in a batch.
    shower.settings.strict = true;
    for backend in BACKENDS {
        same_bits(backend, &nudged(&shower, 2), 90, no_commands);
    }
}

/// Threads share a device: one waits for strict steps of many milliseconds while another submits small work all the
/// time, as the sessions of a service and a window do. With waits of wgpu that end by a timeout, this lost the device.
#[test]
fn a_wait_is_not_disturbed_by_other_submissions() {
    let context = context();
    let mut scene = build("large_pyramid:base=60");
    scene.settings.strict = true;
    let is_over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                let encoder = context.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
                context.queue().submit([encoder.finish()]);
            }
        });
        let stepped = GpuWorld::new(context, &scene).and_then(|mut world| (0..30).try_for_each(|_| world.step()));
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
        stepped.expect("steps");
    });
}
