//! Replacing worlds in a batch: a world in a reused slot reaches the same bits as alone, and its neighbours are
//! unaffected. Settings that are numbers of a world may differ.

use crate::support::{BACKENDS, Random, alone, build, pile, together};
use drystone::low_level::state;
use drystone::{Body, Command, Joint, JointKind, Scene, Shape, World, WorldBatch, WorldError};
use glam::Vec2;

/// Enables strict mode: a single world has another capacity than one in a batch, and neither may drop contacts.
fn strict(mut scene: Scene) -> Scene {
    let settings = build("large_pyramid:base=3").settings;
    let gravity = scene.gravity;
    scene.settings = settings;
    (scene.settings.strict, scene.settings.events, scene.settings.sleep) = (true, true, true);
    scene.gravity = gravity;
    scene
}

/// Returns scenes small and large, with and without joints, bouncing, rolling, on paths, and with emitters.
fn kinds() -> Vec<Scene> {
    let specs = [
        "large_pyramid:base=4",
        "card_house",
        "ragdoll",
        "particles_in_a_turning_box",
        "bouncing_ball",
        "joint_grid:size=4",
        "rain:rows=1,columns=5,group=1,stay=1",
    ];
    let mut scenes: Vec<Scene> = specs.iter().map(|spec| strict(build(spec))).collect();
    scenes.push(strict(pile(3, 70)));
    scenes.push(strict(Scene::new("nothing")));
    // These settings are numbers of a world.
    let mut heavy = strict(build("large_pyramid:base=5"));
    (heavy.gravity, heavy.settings.dt) = (Vec2::new(3.0, -25.0), 0.01);
    heavy.settings.slop = Some(0.01);
    scenes.push(heavy);
    scenes
}

#[test]
fn a_replacement_equals_a_world_alone() {
    for backend in BACKENDS {
        let kinds = kinds();
        let mut worlds = together(backend, &[kinds[0].clone(), kinds[8].clone(), kinds[2].clone(), kinds[3].clone()]);
        let mut singles: Vec<Option<World>> = [0, 8, 2, 3].map(|kind| Some(alone(backend, &kinds[kind]))).into();
        let mut random = Random(11);
        let (mut came, mut compared) = (0, 0);
        for _ in 0..110 {
            let world = random.below(4);
            match random.below(12) {
                0 | 1 => {
                    let kind = random.below(kinds.len() as u64);
                    worlds.replace(world, &kinds[kind]).unwrap();
                    singles[world] = Some(alone(backend, &kinds[kind]));
                    came += 1;
                }
                2 if singles[world].is_some() => {
                    worlds.leave_empty(world).unwrap();
                    singles[world] = None;
                }
                3 => {
                    if let Some(single) = &mut singles[world] {
                        let bodies = [Body::dynamic(0.3, 9.0).shape(Shape::circle(0.4).restitution(0.7))];
                        assert_eq!(worlds.add_bodies(world, &bodies).unwrap(), single.add_bodies(&bodies).unwrap());
                    }
                }
                _ => {}
            }
            let mut which: Vec<usize> = (0..4).filter(|&world| singles[world].is_some()).collect();
            if random.below(3) == 0 {
                which.retain(|_| random.below(2) == 0);
                worlds.step_some(&which).unwrap();
            } else {
                worlds.step().unwrap();
            }
            for world in which {
                singles[world].as_mut().unwrap().step().unwrap();
            }
            let world = random.below(4);
            if let Some(single) = &mut singles[world] {
                let expected = single.snapshot().unwrap();
                assert!(worlds.snapshot(world).unwrap() == expected, "{backend}: {world} after {}", expected.step);
                compared += 1;
            }
        }
        assert!(came > 6 && compared > 50, "{came} came, {compared} were compared");
        let hashes = worlds.hashes().unwrap();
        for (world, single) in singles.iter_mut().enumerate() {
            let Some(single) = single else { continue };
            assert_eq!(hashes[world], state::hash(&single.snapshot().unwrap()), "{backend}: world {world}");
            assert_eq!(worlds.take_events(world).unwrap(), single.take_events().unwrap(), "{backend}: world {world}");
        }
    }
}

/// A world in the slot of a crowd: nothing that the crowd left in the tables has an effect.
#[test]
fn a_replaced_world_leaves_no_trace() {
    for backend in BACKENDS {
        let crowd = strict(pile(3, 90));
        let small = strict(build("large_pyramid:base=4"));
        let mut worlds = together(backend, &[crowd.clone(), crowd]);
        (0..45).for_each(|_| worlds.step().unwrap());
        worlds.command(1, 5, Command::Velocity(Vec2::new(9.0, 9.0))).unwrap();
        worlds.replace(1, &small).unwrap();
        assert!(worlds.take_events(1).unwrap().is_empty());
        assert_eq!([0, 1].map(|world| worlds.steps(world)), [45, 0]);
        let mut single = alone(backend, &small);
        let later = [
            Body::dynamic(6.0, 3.0).shape(Shape::half_box(0.5, 0.5)),
            Body::dynamic(6.1, 4.5).shape(Shape::circle(0.3)),
        ];
        for step in 0..30 {
            if step == 10 {
                let ids = worlds.add_bodies(1, &later).unwrap();
                assert_eq!(single.add_bodies(&later).unwrap(), ids);
                let rod = [Joint::new(JointKind::rod(), ids[0].index as usize, ids[1].index as usize)];
                assert_eq!(worlds.add_joints(1, &rod).unwrap(), single.add_joints(&rod).unwrap());
            }
            worlds.step_some(&[1]).unwrap();
            single.step().unwrap();
            assert!(worlds.snapshot(1).unwrap() == single.snapshot().unwrap(), "{backend}: step {step}");
        }
        assert_eq!(worlds.take_events(1).unwrap(), single.take_events().unwrap());
        // A reset restores the new world.
        worlds.reset(&[1]).unwrap();
        assert!(worlds.snapshot(1).unwrap() == alone(backend, &small).snapshot().unwrap());
    }
}

#[test]
fn an_empty_slot_does_nothing_and_rejects_calls() {
    for backend in BACKENDS {
        let scenes = vec![strict(build("large_pyramid:base=3")); 3];
        let (mut worlds, mut control) = (together(backend, &scenes), together(backend, &scenes));
        worlds.leave_empty(1).unwrap();
        for _ in 0..12 {
            worlds.step().unwrap();
            control.step().unwrap();
        }
        assert_eq!([0, 1, 2].map(|world| worlds.steps(world)), [12, 0, 12]);
        let (found, expected) = (worlds.hashes().unwrap(), control.hashes().unwrap());
        assert_eq!([found[0], found[2]], [expected[0], expected[2]]);
        assert_ne!(found[1], expected[1]);
        assert!(worlds.bodies().unwrap().poses(1).is_empty());
        assert!(worlds.compiled(1).is_none());
        let refused = [
            worlds.step_some(&[0, 1]).unwrap_err(),
            worlds.command(1, 0, Command::Wake).unwrap_err(),
            worlds.add_bodies(1, &[]).unwrap_err(),
            worlds.snapshot(1).unwrap_err(),
            worlds.reset(&[1]).unwrap_err(),
            worlds.leave_empty(1).unwrap_err(),
        ];
        for error in refused {
            assert!(matches!(&error, WorldError::Many(why) if why == "the slot of world 1 is empty"), "{error}");
        }
        assert_eq!(worlds.hashes().unwrap(), found, "{backend}: a refused step was done");
        worlds.leave_empty(0).unwrap();
        worlds.leave_empty(2).unwrap();
        worlds.step().unwrap();
        worlds.replace(1, &scenes[0]).unwrap();
        worlds.step().unwrap();
        assert_eq!([0, 1, 2].map(|world| worlds.steps(world)), [0, 1, 0]);
    }
}

#[test]
fn worlds_with_other_stages_are_rejected() {
    let base = strict(build("large_pyramid:base=3"));
    let mut worlds: WorldBatch = together("gpu", &vec![base.clone(); 2]);
    (0..5).for_each(|_| worlds.step().unwrap());
    let before = worlds.hashes().unwrap();
    let mut others = vec![base.clone(); 5];
    others[0].settings.substeps = Some(2);
    others[1].settings.sleep = false;
    others[2].settings.strict = false;
    others[3].settings.events = false;
    others[4].settings.warm_start = false;
    for other in &others {
        let error = worlds.replace(1, other).unwrap_err().to_string();
        assert_eq!(error, "many worlds: it needs other stages than the batch: its settings or its contact rule differ");
    }
    let mut invalid = base.clone();
    invalid.gravity.x = f32::NAN;
    assert!(matches!(worlds.replace(1, &invalid), Err(WorldError::Scene(_))));
    assert!(worlds.replace(2, &base).is_err());
    assert_eq!(worlds.hashes().unwrap(), before);
    assert_eq!(worlds.steps(1), 5);
    // Each world on the CPU is independent.
    let mut free = together("cpu", &vec![base; 2]);
    for other in &others {
        free.replace(1, other).unwrap();
    }
}
