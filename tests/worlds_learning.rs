//! Batches of worlds for reinforcement learning: queries in each world, bodies of all worlds as arrays, and resets.

use crate::support::{BACKENDS, alone, build, together};
use drystone::{Body, Command, Geometry, JointCommand, Query, Scene, Shape, World, WorldBatch, WorldError};
use glam::Vec2;

/// Returns scenes of several sizes, one with a half plane, one empty.
fn scenes() -> Vec<Scene> {
    let mut scenes =
        vec![build("large_pyramid:base=6"), build("card_house"), build("large_pyramid:base=3"), Scene::new("empty")];
    let mut plane = Scene::new("plane");
    plane.add(Body::fixed(0.0, 0.0).shape(Shape::half_plane([0.0, 1.0], 0.0)));
    for index in 0..5_u8 {
        plane.add(Body::dynamic(f32::from(index), 1.0).shape(Shape::circle(0.3)));
    }
    scenes.push(plane);
    for scene in &mut scenes {
        scene.settings = build("large_pyramid:base=3").settings;
    }
    scenes
}

/// Returns queries of all kinds, alternating between the worlds. Some in the first two worlds, and behind the empty
/// one, ignore the first body.
fn questions(worlds: usize, count: usize) -> Vec<(usize, Query)> {
    let question = |index: usize| {
        let x = (index % 13) as f32 * 0.6 - 3.9;
        let query = match index % 6 {
            0 => Query::ray([x, 12.0], [x + 0.3, -2.0]),
            1 => Query::point([x, 0.5]),
            2 => Query::aabb([x - 1.0, -1.0], [x + 1.0, 3.0]),
            3 => Query::overlap(Geometry::Circle { radius: 2.0 }, [x, 1.0], 0.0),
            4 => Query::ray_all([x, 12.0], [x + 0.3, -2.0]),
            _ => Query::cast(Geometry::Circle { radius: 0.4 }, [x, 12.0], 0.0, [0.3, -14.0]),
        };
        let world = index * 7 % worlds;
        (world, if index.is_multiple_of(4) && ![2, 3].contains(&world) { query.ignoring(0) } else { query })
    };
    (0..count).map(question).collect()
}

/// Returns the answers of each world alone, in the order of the batch, as text.
fn answers_alone(worlds: &mut [World], asked: &[(usize, Query)]) -> Vec<String> {
    let mut answers = vec![String::new(); asked.len()];
    for (index, world) in worlds.iter_mut().enumerate() {
        let places: Vec<usize> = (0..asked.len()).filter(|&place| asked[place].0 == index).collect();
        let own: Vec<Query> = places.iter().map(|&place| asked[place].1.clone()).collect();
        let found = world.query(&own).unwrap();
        for (query, place) in places.into_iter().enumerate() {
            answers[place] = format!("{:?} {:?}", found.hits(query), found.found(query));
        }
    }
    answers
}

#[test]
fn each_world_answers_as_it_does_alone() {
    let scenes = scenes();
    for backend in BACKENDS {
        let mut worlds = together(backend, &scenes);
        let mut control = together(backend, &scenes);
        let mut singles: Vec<World> = scenes.iter().map(|scene| alone(backend, scene)).collect();
        for steps in [0, 1, 30] {
            for _ in 0..steps {
                worlds.step().unwrap();
                control.step().unwrap();
                for world in &mut singles {
                    world.step().unwrap();
                }
            }
            let asked = questions(scenes.len(), 3_000);
            let answers = worlds.query(&asked).unwrap();
            assert_eq!(answers.len(), asked.len());
            let found: Vec<String> =
                (0..asked.len()).map(|query| format!("{:?} {:?}", answers.hits(query), answers.found(query))).collect();
            let expected = answers_alone(&mut singles, &asked);
            assert!(found == expected, "{backend}, after {steps} steps more");
            assert!(found.iter().filter(|answer| answer.contains("body")).count() > 1_000, "hardly anything was met");

            // Negative control: asked in the next world, most answers differ.
            let turned: Vec<_> =
                asked.iter().map(|(world, query)| ((world + 1) % scenes.len(), query.clone())).collect();
            let others = answers_alone(&mut singles, &turned);
            assert!(found.iter().zip(&others).filter(|(one, other)| one != other).count() > 1_000);
        }
        // Queries do not affect steps.
        assert_eq!(worlds.hashes().unwrap(), control.hashes().unwrap(), "{backend}");
    }
}

/// On the device the capacity for the results of regions is an estimate.
#[test]
fn regions_beyond_the_capacity_are_repeated() {
    let scenes = vec![build("large_pyramid:base=8"); 3];
    let asked: Vec<_> = (0..300).map(|index| (index % 3, Query::aabb([-90.0, -90.0], [90.0, 90.0]))).collect();
    let mut worlds = together("gpu", &scenes);
    for repeats in [1, 1] {
        let answers = worlds.query(&asked).unwrap();
        assert!((0..300).all(|query| answers.found(query).len() == 37), "36 boxes and the ground");
        // The capacity has grown.
        assert_eq!(worlds.query_repeats(), repeats);
    }
}

#[test]
fn invalid_queries_are_rejected() {
    for backend in BACKENDS {
        let mut worlds = together(backend, &[build("large_pyramid:base=3")]);
        let right = Query::point([0.0, 0.0]);
        let error = worlds.query(&[(0, right.clone()), (1, right.clone())]).unwrap_err();
        assert!(matches!(&error, WorldError::Many(why) if why == "there is no world 1 of 1"), "{error}");
        let error = worlds.query(&[(0, right.clone()), (0, right.clone().ignoring(99))]).unwrap_err();
        assert!(error.to_string().starts_with("query 1: ignores body 99.0"), "{error}");
        let error = worlds.query(&[(0, right), (0, Query::point([f32::NAN, 0.0]))]).unwrap_err();
        assert!(error.to_string().contains("query 1"), "{error}");
        assert!(worlds.query(&[]).unwrap().is_empty());
        assert!(worlds.reset(&[0, 1]).is_err());
    }
}

/// Returns a motor with a weight, over a pile that falls asleep.
fn motor() -> Scene {
    let mut scene = build("motors");
    scene.settings.sleep = true;
    scene
}

#[test]
fn a_reset_does_not_affect_other_worlds() {
    for backend in BACKENDS {
        for scene in [build("large_pyramid:base=5"), motor(), build("ragdoll")] {
            let scenes = WorldBatch::vary(&scene, 4, |world, scene| {
                scene.bodies.iter_mut().for_each(|body| body.gravity_scale *= 1.0 - 0.1 * world as f32);
            });
            let last = scene.bodies.len() - 1;
            // Commands change forces and goals, and some are pending when the world is reset.
            let ask = |worlds: &mut WorldBatch, world: usize| {
                worlds.command(world, last, Command::Force { force: Vec2::new(30.0, 5.0), point: None }).unwrap();
                if let Some(joint) = worlds.joint_id(world, 0) {
                    worlds.command_joint(world, joint, JointCommand::Enable(false)).unwrap();
                }
            };
            let (mut worlds, mut control) = (together(backend, &scenes), together(backend, &scenes));
            ask(&mut worlds, 1);
            (0..20).for_each(|_| worlds.step().unwrap());
            ask(&mut worlds, 3);
            worlds.reset(&[3, 1]).unwrap();
            assert_eq!([0, 1, 2, 3].map(|world| worlds.steps(world)), [20, 0, 20, 0]);
            let at_start = control.bodies().unwrap();
            let bodies = worlds.bodies().unwrap();
            assert_eq!((bodies.poses(1), bodies.states(3)), (at_start.poses(1), at_start.states(3)));
            assert!(bodies.poses(0) != at_start.poses(0) || bodies.states(0) != at_start.states(0));
            (0..15).for_each(|_| worlds.step().unwrap());
            (0..15).for_each(|_| control.step().unwrap());
            let young = [1, 3].map(|world| control.snapshot(world).unwrap());
            (0..20).for_each(|_| control.step().unwrap());
            let old = [0, 2].map(|world| control.snapshot(world).unwrap());
            for (world, expected) in [(1, &young[0]), (3, &young[1]), (0, &old[0]), (2, &old[1])] {
                let found = worlds.snapshot(world).unwrap();
                assert!(found == *expected, "{backend}: world {world} of {}", scene.name);
            }
            // Negative control: the commands do have an effect.
            let mut marked = together(backend, &scenes);
            ask(&mut marked, 1);
            (0..15).for_each(|_| marked.step().unwrap());
            assert!(marked.snapshot(1).unwrap() != young[0], "{backend}: {}", scene.name);
        }
    }
}

#[test]
fn several_worlds_are_restored_at_once() {
    let scenes = vec![build("large_pyramid:base=5"); 3];
    for backend in BACKENDS {
        let mut worlds = together(backend, &scenes);
        worlds.command(2, 3, Command::Velocity(Vec2::new(4.0, 4.0))).unwrap();
        (0..10).for_each(|_| worlds.step().unwrap());
        let kept = [0, 2].map(|world| worlds.snapshot(world).unwrap());
        (0..10).for_each(|_| worlds.step().unwrap());
        // Worlds of one scene accept each other's snapshots.
        worlds.restore(&[(1, &kept[1]), (2, &kept[0])]).unwrap();
        let hashes = worlds.hashes().unwrap();
        assert_eq!([hashes[1], hashes[2]], [&kept[1], &kept[0]].map(drystone::low_level::state::hash));
        assert_eq!([0, 1, 2].map(|world| worlds.steps(world)), [20, 10, 10]);
        assert!(worlds.restore(&[(0, &kept[0]), (5, &kept[0])]).is_err());
        assert_eq!(worlds.hashes().unwrap(), hashes);
    }
}

#[test]
fn all_bodies_are_one_array() {
    for backend in BACKENDS {
        let mut worlds = together(backend, &scenes());
        (0..5).for_each(|_| worlds.step().unwrap());
        let bodies = worlds.bodies().unwrap();
        let stride = bodies.stride();
        assert_eq!(stride * worlds.count(), bodies.all_poses().len());
        assert_eq!(bodies.all_states().len(), bodies.all_poses().len());
        for world in 0..worlds.count() {
            let own = bodies.poses(world);
            assert_eq!(own.len(), worlds.compiled(world).unwrap().bodies.len());
            assert_eq!(own, &bodies.all_poses()[world * stride..][..own.len()]);
            assert_eq!(bodies.states(world), &bodies.all_states()[world * stride..][..own.len()]);
        }
    }
}
