//! Stepping a subset of a batch: each world reaches the same bits as alone after as many steps, independent of the
//! worlds that stepped with it.

use crate::support::{BACKENDS, Random, alone, build, gather, pile, row, together};
use drystone::low_level::state;
use drystone::{Body, BodyType, Command, Scene, Shape, World, WorldBatch, WorldError};
use glam::Vec2;

/// Returns variants of a world with all bodies slightly displaced.
fn nudged(scene: &Scene, count: usize) -> Vec<Scene> {
    WorldBatch::vary(scene, count, |world, scene| {
        for (index, body) in scene.bodies.iter_mut().enumerate().filter(|(_, body)| body.kind == BodyType::Dynamic) {
            body.position.x += 0.003 * world as f32 * ((index % 3) as f32 - 1.0);
        }
    })
}

/// Returns a random subset in random order; sometimes all, one or none.
fn subset(random: &mut Random, worlds: usize) -> Vec<usize> {
    let mut which: Vec<usize> = match random.below(8) {
        0 => (0..worlds).collect(),
        1 => vec![random.below(worlds as u64)],
        _ => (0..worlds).filter(|_| random.below(2) == 0).collect(),
    };
    for at in (1..which.len()).rev() {
        which.swap(at, random.below(at as u64 + 1));
    }
    which
}

/// Command to a world before one of its steps.
type Ask = fn(usize, u64) -> Option<(usize, Command)>;

/// Steps random subsets of the worlds beside each of them alone, and compares the complete states.
fn some_and_alone(backend: &str, scenes: &[Scene], rounds: usize, ask: Ask) {
    let mut worlds = together(backend, scenes);
    let mut singles: Vec<World> = scenes.iter().map(|scene| alone(backend, scene)).collect();
    let mut random = Random(scenes.len() as u64 + rounds as u64);
    for _ in 0..rounds {
        let which = subset(&mut random, scenes.len());
        for &world in &which {
            if let Some((body, command)) = ask(world, worlds.steps(world)) {
                worlds.command(world, body, command).unwrap();
                singles[world].command(body, command).unwrap();
            }
            singles[world].step().unwrap();
        }
        worlds.step_some(&which).unwrap();
    }
    worlds.wait().unwrap();
    let hashes = worlds.hashes().unwrap();
    for (index, single) in singles.iter_mut().enumerate() {
        single.wait().unwrap();
        let name = &scenes[index].name;
        assert_eq!(worlds.steps(index), single.steps(), "{backend}: world {index} of {name}");
        assert!(single.steps() > rounds as u64 / 4 && single.steps() < rounds as u64, "{}", single.steps());
        let expected = single.snapshot().unwrap();
        assert_eq!(hashes[index], state::hash(&expected), "{backend}: world {index} of {name}");
        assert!(
            worlds.snapshot(index).unwrap() == expected,
            "{backend}: world {index} of {name} carries another thing"
        );
        assert_eq!(worlds.take_events(index).unwrap(), single.take_events().unwrap(), "{backend}: events of {index}");
        assert_eq!(worlds.overflowed_steps(index), single.overflowed_steps(), "{backend}: world {index} of {name}");
    }
}

fn no_commands(_: usize, _: u64) -> Option<(usize, Command)> {
    None
}

#[test]
fn a_subset_steps_as_each_world_alone() {
    for backend in BACKENDS {
        some_and_alone(backend, &nudged(&build("large_pyramid:base=6"), 5), 60, no_commands);
        for spec in ["ragdoll", "particles_in_a_turning_box", "bouncing_ball"] {
            some_and_alone(backend, &nudged(&build(spec), 3), 50, no_commands);
        }
        let mut scenes = vec![build("large_pyramid:base=3"), build("card_house"), pile(5, 60), Scene::new("empty")];
        scenes.push(build("joint_grid:size=3"));
        for scene in &mut scenes {
            scene.settings = build("large_pyramid:base=3").settings;
            scene.settings.events = true;
        }
        let ask = |world, step| {
            let impulse = Vec2::new(2.0, 1.0 + world as f32);
            (world < 3 && step % 7 == 3).then_some((2, Command::Impulse { impulse, point: None }))
        };
        some_and_alone(backend, &scenes, 60, ask);
    }
}

#[test]
fn sleeping_worlds_may_skip_steps() {
    let mut sleepy = build("large_pyramid:base=4");
    sleepy.settings.sleep = true;
    // The last of ten boxes, when all sleep, and in worlds where some never do.
    let wake = |world, step| match (world, step) {
        (1, 90) => Some((10, Command::Wake)),
        (2, _) if step % 10 == 0 => Some((10, Command::Impulse { impulse: Vec2::new(0.0, 2.0), point: None })),
        _ => None,
    };
    for backend in BACKENDS {
        some_and_alone(backend, &nudged(&sleepy, 4), 220, wake);
    }
}

/// Worlds of the wrong parity cost one additional dispatch, all together.
#[test]
fn the_wrong_parity_costs_one_dispatch() {
    let mut worlds = together("gpu", &nudged(&build("large_pyramid:base=5"), 6));
    // The first steps are recorded without counters.
    (0..10).for_each(|_| worlds.step().unwrap());
    worlds.wait().unwrap();
    let mut dispatches = |which: &[usize]| {
        worlds.step_some(which).unwrap();
        worlds.wait().unwrap();
        worlds.dispatches().unwrap()
    };
    let all = dispatches(&[0, 1, 2, 3, 4, 5]);
    assert_eq!(dispatches(&[1, 4]), all);
    assert_eq!(dispatches(&[0, 1, 2, 3, 4, 5]), all + 1);
    assert_eq!(dispatches(&[0, 1, 2, 3, 4, 5]), all, "now their parities agree");
}

/// Worlds that step together cost no more dispatches than the most expensive one alone.
#[test]
fn worlds_of_several_sizes_share_their_dispatches() {
    let scenes = [build("large_pyramid:base=3"), build("large_pyramid:base=7"), build("vertical_stack"), pile(2, 40)];
    let scenes = scenes.map(|scene| Scene { settings: build("large_pyramid:base=3").settings, ..scene });
    let mut worlds = together("gpu", &scenes);
    let mut singles: Vec<World> = scenes.iter().map(|scene| alone("gpu", scene)).collect();
    // The first steps are recorded without counters.
    for _ in 0..8 {
        for single in &mut singles {
            single.step().unwrap();
            single.wait().unwrap();
        }
        worlds.step().unwrap();
        worlds.wait().unwrap();
    }
    let each: Vec<u32> = singles.iter().map(|single| single.dispatches().unwrap()).collect();
    let all = worlds.dispatches().unwrap();
    assert!(all <= each.iter().copied().max().unwrap(), "{all} together, {each:?} alone");
}

/// A world in which all bodies sleep has no batch slot until it receives a command.
#[test]
fn worlds_at_rest_cost_nothing() {
    let mut sleepy = build("large_pyramid:base=4");
    sleepy.settings.sleep = true;
    let scenes = nudged(&sleepy, 2);
    for strict in [false, true] {
        let scenes: Vec<Scene> = scenes
            .iter()
            .cloned()
            .map(|mut scene| {
                scene.settings.strict = strict;
                scene
            })
            .collect();
        let mut worlds = together("gpu", &scenes);
        let mut singles: Vec<_> = scenes.iter().map(|scene| crate::support::gpu(scene).without_rest()).collect();
        for _ in 0..140 {
            worlds.step().unwrap();
            for single in &mut singles {
                single.step().unwrap();
            }
        }
        worlds.wait().unwrap();
        worlds.step().unwrap();
        assert_eq!(worlds.dispatches(), Some(0));
        assert_eq!([0, 1].map(|world| worlds.steps(world)), [141; 2]);
        let shove = Command::Impulse { impulse: Vec2::new(3.0, 1.0), point: None };
        worlds.command(1, 10, shove).unwrap();
        for single in &mut singles {
            single.step().unwrap();
        }
        singles[1].command(10, shove).unwrap();
        for _ in 0..20 {
            worlds.step().unwrap();
            assert!(worlds.dispatches() > Some(0));
            for single in &mut singles {
                single.step().unwrap();
            }
        }
        for (world, single) in singles.iter_mut().enumerate() {
            assert!(worlds.snapshot(world).unwrap() == single.snapshot().unwrap(), "world {world}, strict: {strict}");
        }
        // Added bodies are not overlooked.
        let body = Body::dynamic(0.0, 9.0).shape(Shape::circle(0.3));
        worlds.add_bodies(0, std::slice::from_ref(&body)).unwrap();
        singles[0].add_bodies(&[body]).unwrap();
        for _ in 0..20 {
            worlds.step_some(&[0]).unwrap();
            singles[0].step().unwrap();
        }
        assert!(worlds.snapshot(0).unwrap() == singles[0].snapshot().unwrap(), "strict: {strict}");
    }
}

/// Returns worlds of both parities, of which one outgrows its capacity at its third step; strict or not.
fn crowd(strict: bool) -> (WorldBatch, Vec<World>) {
    let mut scene = row();
    scene.settings.strict = strict;
    scene.settings.events = true;
    let scenes = nudged(&scene, 4);
    let mut worlds = together("gpu", &scenes);
    let mut singles: Vec<World> = scenes.iter().map(|scene| alone("gpu", scene)).collect();
    let rounds: [&[usize]; 10] =
        [&[0, 1, 2, 3], &[3, 1], &[2], &[0, 1, 2], &[1, 3, 2], &[3], &[0, 1], &[0, 1, 2, 3], &[2, 0], &[3, 2, 1, 0]];
    for which in rounds {
        for &world in which {
            if world == 2 && worlds.steps(world) == 3 {
                for (body, command) in gather() {
                    worlds.command(world, body, command).unwrap();
                    singles[world].command(body, command).unwrap();
                }
            }
            singles[world].step().unwrap();
        }
        worlds.step_some(which).unwrap();
    }
    worlds.wait().unwrap();
    (worlds, singles)
}

#[test]
fn one_stepping_world_outgrows_its_capacity() {
    // Only that one loses contacts; the capacity grows, also for the worlds that did not step.
    let (mut worlds, mut singles) = crowd(false);
    assert_eq!(worlds.overflowed_steps(2).first(), Some(&3));
    for world in [0, 1, 3] {
        assert!(worlds.overflowed_steps(world).is_empty());
        assert!(worlds.snapshot(world).unwrap() == singles[world].snapshot().unwrap(), "world {world}");
    }
    // Strict: it alone repeats the step.
    let (mut worlds, mut singles) = crowd(true);
    let pairs = worlds.snapshot(2).unwrap().counters.pairs_found;
    assert!(pairs > 500, "{pairs} pairs are no crowd");
    for (world, single) in singles.iter_mut().enumerate() {
        assert!(worlds.overflowed_steps(world).is_empty());
        assert!(worlds.snapshot(world).unwrap() == single.snapshot().unwrap(), "world {world}");
        assert_eq!(worlds.take_events(world).unwrap(), single.take_events().unwrap(), "events of world {world}");
    }
}

#[test]
fn worlds_of_the_wrong_parity_restore_and_answer() {
    for backend in BACKENDS {
        let scenes = nudged(&build("large_pyramid:base=5"), 3);
        let mut worlds = together(backend, &scenes);
        let mut single = alone(backend, &scenes[1]);
        (0..20).for_each(|_| single.step().unwrap());
        (0..9).for_each(|_| worlds.step().unwrap());
        worlds.step_some(&[1]).unwrap();
        let kept = worlds.snapshot(1).unwrap();
        for which in [&[0, 1][..], &[1], &[2, 1], &[0]] {
            worlds.step_some(which).unwrap();
        }
        let asked: Vec<_> = (0..3).map(|world| (world, drystone::Query::ray([0.0, 20.0], [0.0, 0.0]))).collect();
        let answers = worlds.query(&asked).unwrap();
        for world in 0..3 {
            let alone = worlds.query(&asked[world..=world]).unwrap();
            assert!(alone.hit(0).is_some());
            assert_eq!(format!("{:?}", answers.hit(world)), format!("{:?}", alone.hit(0)));
        }
        worlds.restore(&[(1, &kept)]).unwrap();
        assert_eq!([0, 1, 2].map(|world| worlds.steps(world)), [11, 10, 10]);
        (0..10).for_each(|_| worlds.step_some(&[2, 1]).unwrap());
        assert!(worlds.snapshot(1).unwrap() == single.snapshot().unwrap(), "{backend}");
        worlds.reset(&[2]).unwrap();
        (0..20).for_each(|_| worlds.step_some(&[2]).unwrap());
        let mut third = alone(backend, &scenes[2]);
        (0..20).for_each(|_| third.step().unwrap());
        assert!(worlds.snapshot(2).unwrap() == third.snapshot().unwrap(), "{backend}");
    }
}

#[test]
fn missing_or_duplicate_worlds_are_rejected() {
    for backend in BACKENDS {
        let mut worlds = together(backend, &nudged(&build("large_pyramid:base=3"), 3));
        worlds.step().unwrap();
        let before = worlds.hashes().unwrap();
        for (which, expected) in [
            (&[0, 3][..], "there is no world 3 of 3"),
            (&[2, 0, 2], "world 2 is given twice"),
            (&[9, 9], "there is no world 9 of 3"),
        ] {
            let error = worlds.step_some(which).unwrap_err();
            assert!(matches!(&error, WorldError::Many(why) if why == expected), "{backend}: {error}");
        }
        worlds.step_some(&[]).unwrap();
        assert_eq!(worlds.hashes().unwrap(), before, "{backend}");
        assert_eq!([0, 1, 2].map(|world| worlds.steps(world)), [1; 3]);
    }
}
