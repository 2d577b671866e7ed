//! Character movers: floors, walls, slopes, steps, and what they stand on, in one world and in batches.

use crate::support::{context, cpu, gpu};
use drystone::{Body, Geometry, Mover, Query, Scene, Shape, World, WorldBatch};
use glam::Vec2;

fn capsule() -> Geometry {
    Geometry::Capsule { a: Vec2::new(0.0, 0.3), b: Vec2::new(0.0, 1.3), radius: 0.3 }
}

/// A floor with stairs, a slope of 30°, a slope of 60°, a wall and a low ceiling.
fn level() -> Scene {
    let mut scene = Scene::new("level");
    scene.add(Body::fixed(0.0, 0.0).shape(Shape::half_plane([0.0, 1.0], 0.0)));
    for step in 1..=4_u8 {
        let height = 0.1 * f32::from(step);
        scene.add(Body::fixed(5.0 + 0.5 * f32::from(step), height).shape(Shape::half_box(0.25, height)));
    }
    scene.add(Body::fixed(20.0, 0.0).angle(30_f32.to_radians()).shape(Shape::half_box(4.0, 0.1)));
    scene.add(Body::fixed(40.0, 0.0).angle(60_f32.to_radians()).shape(Shape::half_box(4.0, 0.1)));
    scene.add(Body::fixed(-5.0, 2.0).shape(Shape::half_box(0.5, 2.0)));
    scene.add(Body::fixed(60.0, 2.0).shape(Shape::half_box(5.0, 0.8)));
    scene
}

fn worlds(scene: &Scene) -> Vec<(&'static str, World)> {
    vec![("cpu", cpu(scene).into()), ("gpu", gpu(scene).into())]
}

/// Moves a capsule a number of times, and returns its positions and whether it stands.
fn walk(world: &mut World, from: [f32; 2], motion: [f32; 2], times: usize) -> (Vec<Vec2>, bool) {
    let mut mover = Mover::new(capsule(), from).motion(motion);
    let (mut way, mut stands) = (Vec::new(), false);
    for _ in 0..times {
        let moved = world.move_characters(&[mover.clone()]).unwrap().remove(0);
        let at = moved.position;
        let met = world.query(&[Query::overlap(capsule(), at, 0.0)]).unwrap();
        assert_eq!(met.found(0).len(), 0, "inside something at {at}");
        (mover.position, stands) = (at, moved.ground.is_some());
        way.push(at);
    }
    (way, stands)
}

#[test]
fn it_walks_on_the_floor_and_stops_at_walls() {
    for (name, mut world) in worlds(&level()) {
        // It begins on the floor, without a gap.
        let (way, stands) = walk(&mut world, [0.0, 0.0], [0.1, 0.0], 30);
        assert!(stands && (way[29] - Vec2::new(3.0, 0.01)).length() < 0.02, "{name}: {}", way[29]);
        let (way, stands) = walk(&mut world, [0.0, 0.05], [-0.3, 0.0], 20);
        // The wall ends at −4.5.
        assert!(stands && (way[19] - Vec2::new(-4.19, 0.01)).length() < 0.02, "{name}: {}", way[19]);
    }
}

#[test]
fn it_climbs_stairs_and_walks_down_again() {
    for (name, mut world) in worlds(&level()) {
        let (way, stands) = walk(&mut world, [4.0, 0.02], [0.08, 0.0], 38);
        let top = way[37];
        assert!(stands && (top.y - 0.81).abs() < 0.02 && top.x > 6.6, "{name}: {top}");
        let (way, stands) = walk(&mut world, top.into(), [-0.08, 0.0], 40);
        assert!(stands && (way[39].y - 0.01).abs() < 0.02, "{name}: {}", way[39]);
        // Never in the air: it keeps to each step on the way down.
        assert!(way.windows(2).all(|pair| pair[1].y <= pair[0].y + 1e-3), "{name}: {way:?}");
        // Too high a step is a wall.
        let mover = Mover { step_height: 0.1, ..Mover::new(capsule(), [4.0, 0.02]).motion([3.0, 0.0]) };
        let moved = world.move_characters(&[mover]).unwrap().remove(0);
        assert!((moved.position.x - 4.95).abs() < 0.05 && moved.position.y < 0.05, "{name}: {}", moved.position);
    }
}

#[test]
fn slopes_are_climbed_up_to_the_steepest() {
    for (name, mut world) in worlds(&level()) {
        let (way, stands) = walk(&mut world, [16.0, 0.1], [0.1, 0.0], 60);
        assert!(stands && way[59].y > 0.9, "{name}: {}", way[59]);
        let (way, _) = walk(&mut world, [37.5, 0.1], [0.1, 0.0], 60);
        assert!(way[59].y < 0.3 && way[59].x < 40.5, "{name}: {}", way[59]);
        // With another limit it climbs the steep one too.
        let steep = Mover { max_slope: 1.2, snap: 0.5, ..Mover::new(capsule(), way[59]).motion([0.5, 0.0]) };
        let mut at = way[59];
        for _ in 0..4 {
            at = world.move_characters(&[Mover { position: at, ..steep.clone() }]).unwrap().remove(0).position;
        }
        assert!(at.y > 0.8, "{name}: {at}");
    }
}

#[test]
fn jumps_leave_the_ground_and_stop_under_ceilings() {
    for (name, mut world) in worlds(&level()) {
        let jump = |at: [f32; 2]| Mover::new(capsule(), at).motion([0.0, 0.5]);
        let moved = world.move_characters(&[jump([0.0, 0.01]), jump([60.0, 0.01])]).unwrap();
        assert!((moved[0].position.y - 0.51).abs() < 1e-3 && moved[0].ground.is_none(), "{name}");
        // The ceiling is at 1.2, the capsule 1.6 high: pushed down into the floor it cannot go, it stays where it fits.
        assert!(moved[1].position.y < 0.6, "{name}: {}", moved[1].position);
        let fall = Mover::new(capsule(), [0.0, 3.0]).motion([0.0, -5.0]);
        let moved = world.move_characters(&[fall]).unwrap().remove(0);
        assert!((moved.position.y - 0.01).abs() < 1e-3 && moved.ground.is_some(), "{name}: {}", moved.position);
        let ground = moved.ground.unwrap();
        assert_eq!((ground.body, ground.normal), (0, Vec2::Y), "{name}");
    }
}

#[test]
fn it_is_pushed_out_of_what_it_begins_in() {
    for (name, mut world) in worlds(&level()) {
        let moved = world.move_characters(&[Mover::new(capsule(), [-4.6, -0.2])]).unwrap().remove(0);
        assert!((moved.position - Vec2::new(-4.19, 0.01)).length() < 0.05, "{name}: {}", moved.position);
    }
}

#[test]
fn many_move_in_many_worlds_as_alone() {
    let scenes = vec![level(); 3];
    let movers: Vec<(usize, Mover)> = (0..30_u8)
        .map(|index| {
            let motion = [if index % 2 == 0 { 0.7 } else { -0.7 }, 0.1 * f32::from(index % 3) - 0.1];
            (usize::from(index % 3), Mover::new(capsule(), [f32::from(index) * 2.0 - 4.0, 0.3]).motion(motion))
        })
        .collect();
    let mut alone: World = cpu(&level()).into();
    let expected: Vec<Vec2> = movers
        .iter()
        .map(|(_, mover)| alone.move_characters(std::slice::from_ref(mover)).unwrap().remove(0).position)
        .collect();
    let batches = [WorldBatch::on_cpu(&scenes, 2).unwrap(), WorldBatch::on_gpu(context(), &scenes).unwrap()];
    for (mut batch, tolerance) in batches.into_iter().zip([0.0, 1e-4]) {
        let moved = batch.move_characters(&movers).unwrap();
        for (index, (moved, expected)) in moved.iter().zip(&expected).enumerate() {
            assert!(moved.position.distance(*expected) <= tolerance, "{index}: {} and {expected}", moved.position);
        }
        assert!(batch.move_characters(&[(3, movers[0].1.clone())]).is_err());
    }
    assert!(expected.iter().zip(&movers).all(|(at, (_, mover))| at.distance(mover.position) > 1e-3));
}

#[test]
fn values_out_of_range_are_named() {
    let mut world: World = cpu(&level()).into();
    let mover = Mover::new(capsule(), [0.0, 1.0]);
    for (bad, expected) in [
        (Mover { up: Vec2::new(0.0, 2.0), ..mover.clone() }, "query 1: up is [0, 2]; expected a direction of length 1"),
        (Mover { max_slope: f32::NAN, ..mover.clone() }, "query 1: max_slope is NaN; expected an angle from 0 to π/2"),
        (Mover { skin: 0.0, ..mover.clone() }, "query 1: skin is 0; expected a distance above 0"),
        (Mover { step_height: -1.0, ..mover.clone() }, "query 1: step_height is -1; expected a height from 0"),
        (Mover { snap: f32::INFINITY, ..mover.clone() }, "query 1: snap is inf; expected a distance from 0"),
        (mover.clone().motion([f32::NAN, 0.0]), "query 1: motion[0] is not a number (NaN)"),
    ] {
        let error = world.move_characters(&[mover.clone(), bad]).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
}

/// Coins are sensors, and a body that follows the character is where the character is.
#[test]
fn it_passes_sensors_and_its_own_body() {
    let mut scene = level();
    scene.add(Body::fixed(2.0, 0.5).shape(Shape::circle(0.4).sensor()));
    let own = scene.add(Body::kinematic(0.0, 0.05).shape(Shape::capsule([0.0, 0.3], [0.0, 1.3], 0.3)));
    for (name, mut world) in worlds(&scene) {
        let mover = Mover::new(capsule(), [0.0, 0.05]).motion([3.0, 0.0]);
        let moved = world.move_characters(&[Mover { ignore: Some(own.into()), ..mover.clone() }, mover]).unwrap();
        assert!((moved[0].position - Vec2::new(3.0, 0.01)).length() < 0.02, "{name}: {}", moved[0].position);
        assert!(moved[0].hits.is_empty(), "{name}");
        assert!((moved[1].position - moved[0].position).length() > 0.1, "{name}: held by the body around it");
    }
}
