//! Chains: ground without bumps, solid from one side, and platforms that bodies pass from below.

use crate::support::{cpu, gpu};
use drystone::{Body, Command, Scene, Shape, World};
use glam::Vec2;

fn worlds(scene: &Scene) -> Vec<(&'static str, World)> {
    vec![("cpu", cpu(scene).into()), ("gpu", gpu(scene).into())]
}

fn advance(world: &mut World, steps: usize) {
    (0..steps).for_each(|_| world.step().unwrap());
}

/// Shapes that slide, each with the height of its centre over the ground.
fn sliders() -> Vec<(&'static str, Shape, f32)> {
    vec![
        ("box", Shape::half_box(0.4, 0.4), 0.4),
        ("circle", Shape::circle(0.4), 0.4),
        ("capsule", Shape::capsule([0.0, -0.4], [0.0, 0.4], 0.4), 0.8),
        ("rounded box", Shape::rounded_box(0.3, 0.3, 0.1), 0.4),
        ("polygon", Shape::polygon([[-0.5, -0.3], [0.5, -0.3], [0.3, 0.3], [-0.3, 0.3]]), 0.3),
    ]
}

/// Returns a scene in which shapes slide without friction, 10 m apart, and their bodies.
fn slides(ground: Vec<Shape>) -> (Scene, Vec<(&'static str, usize, f32)>) {
    let mut scene = Scene::new("slides").gravity(0.0, -10.0);
    scene.add(Body::fixed(0.0, 0.0).shapes(ground));
    let bodies = sliders().into_iter().enumerate().map(|(index, (name, shape, height))| {
        let x = -60.0 + 10.0 * index as f32;
        let body = Body { fixed_rotation: true, ..Body::dynamic(x, height).velocity(5.0, 0.0) };
        (name, scene.add(body.shape(shape.friction(0.0))), height)
    });
    let bodies = bodies.collect();
    (scene, bodies)
}

/// A thousand links of 0.2 m, 100 m of which each shape passes.
#[test]
fn a_chain_has_no_bumps() {
    let points = (0..=1000_i16).map(|index| [100.0 - 0.2 * f32::from(index), 0.0]);
    let (scene, bodies) = slides(Shape::chain(points.clone()));
    let worst = |world: &mut World, steps: usize| {
        let mut worst = vec![[0.0_f32; 2]; bodies.len()];
        for _ in 0..steps {
            world.step().unwrap();
            for (worst, &(_, body, height)) in worst.iter_mut().zip(&bodies) {
                let body = world.body(body).unwrap();
                worst[0] = worst[0].max((body.position().y - height).abs());
                // A contact with the next link begins without impulses.
                let off = body.velocity() - Vec2::new(5.0, 0.0);
                worst[1] = worst[1].max(off.x.abs().max(0.02 * off.y.abs()));
            }
        }
        worst
    };
    for (name, mut world) in worlds(&scene) {
        // On the device each look at a body waits.
        let steps = if name == "cpu" { 1200 } else { 120 };
        for ((shape, body, _), [height, speed]) in bodies.iter().zip(worst(&mut world, steps)) {
            assert!(height < 1e-3 && speed < 1e-3, "{name}, {shape}: off by {height} m and {speed} m/s");
            let passed = world.body(*body).unwrap().position().x;
            assert!(steps < 1200 || passed > 39.0, "{name}, {shape}: got to {passed} m");
        }
    }
    // Negative control: every second segment is 5 cm higher. Segments that lie flush have no corners either.
    let slowed = |higher: f32| {
        let ends: Vec<[f32; 2]> = points.clone().collect();
        let row = ends.windows(2).enumerate().map(|(index, ends)| {
            let up = if index % 2 == 0 { 0.0 } else { higher };
            Shape::segment([ends[0][0], up], [ends[1][0], up])
        });
        let (scene, bodies) = slides(row.collect());
        let mut world: World = cpu(&scene).into();
        advance(&mut world, 120);
        bodies.iter().filter(|(_, body, _)| world.body(*body).unwrap().velocity().x < 4.99).count()
    };
    let (flush, steps) = (slowed(0.0), slowed(0.05));
    assert!(flush == 0 && steps >= 4, "{flush} of 5 were slowed by flush segments, {steps} by steps");
}

/// A ball that rolls over hills keeps its energy, and a box that slides down a slope into the plain its way.
#[test]
fn hills_are_smooth() {
    let hill = |index: i16| {
        let x = 20.0 - 0.05 * f32::from(index);
        [x, 0.25 * x.cos()]
    };
    let mut scene = Scene::new("hills").gravity(0.0, -10.0);
    scene.add(Body::fixed(0.0, 0.0).shapes(Shape::chain((0..=800).map(hill))));
    let ball = Body { fixed_rotation: true, ..Body::dynamic(-15.708, 0.1).velocity(5.0, 0.0) };
    let ball = scene.add(ball.shape(Shape::circle(0.35).friction(0.0)));
    for (name, mut world) in worlds(&scene) {
        let energy = |world: &World| {
            let body = world.body(ball).unwrap();
            0.5 * body.velocity().length_squared() + 10.0 * body.position().y
        };
        advance(&mut world, 2);
        let before = energy(&world);
        advance(&mut world, 240);
        let body = world.body(ball).unwrap();
        assert!(body.position().x > 0.0, "{name}: {}", body.position());
        let lost = before - energy(&world);
        // Corners that stand in turn the velocity by up to 0.7°, without restitution.
        assert!(lost > -0.1 && lost < 1.2, "{name}: {lost} J of {before}");
    }
}

#[test]
fn corners_that_stand_out_hold_and_hollow_ones_catch() {
    let mut scene = Scene::new("roof and valley").gravity(0.0, -10.0);
    // From right to left: a valley at x = 4, a ridge at x = 0, a valley at x = −4.
    let roof = Shape::chain([[8.0, 4.0], [4.0, 0.0], [0.0, 4.0], [-4.0, 0.0], [-8.0, 4.0]]);
    scene.add(Body::fixed(0.0, 0.0).shapes(roof));
    let ball = scene.add(Body::dynamic(4.0, 3.0).shape(Shape::circle(0.5)));
    let diamond = Body::dynamic(-4.0, 2.0).angle(std::f32::consts::FRAC_PI_4).shape(Shape::half_box(0.5, 0.5));
    let diamond = scene.add(diamond);
    let beam = scene.add(Body::dynamic(0.0, 4.1).shape(Shape::half_box(1.0, 0.1).friction(1.0)));
    for (name, mut world) in worlds(&scene) {
        advance(&mut world, 30);
        // Balanced on the ridge, for a while.
        let at = world.body(beam).unwrap().position();
        assert!((at - Vec2::new(0.0, 4.1)).length() < 0.02, "{name}: beam at {at}");
        advance(&mut world, 270);
        let at = world.body(ball).unwrap().position();
        let rests = Vec2::new(4.0, 0.5 * 2.0_f32.sqrt());
        assert!(at.distance(rests) < 0.02, "{name}: ball at {at}");
        let at = world.body(diamond).unwrap().position();
        let rests = Vec2::new(-4.0, 0.5 * 2.0_f32.sqrt());
        assert!(at.distance(rests) < 0.02, "{name}: box at {at}");
    }
}

#[test]
fn loops_are_solid_from_one_side() {
    let corners = [[-5.0, -5.0], [5.0, -5.0], [5.0, 5.0], [-5.0, 5.0]];
    let mut scene = Scene::new("loops").gravity(0.0, -10.0);
    scene.add(Body::fixed(0.0, 0.0).shapes(Shape::chain_loop(corners)));
    let mut inward = corners;
    inward.reverse();
    scene.add(Body::fixed(20.0, 0.0).shapes(Shape::chain_loop(inward)));
    let on_top = scene.add(Body::dynamic(0.0, 6.0).shape(Shape::half_box(0.5, 0.5)));
    let leaves = scene.add(Body::dynamic(2.0, 0.0).shape(Shape::circle(0.5)));
    let in_bowl = scene.add(Body::dynamic(20.0, 0.0).velocity(30.0, 30.0).shape(Shape::circle(0.5).restitution(0.5)));
    let enters = scene.add(Body::dynamic(18.0, 7.0).shape(Shape::half_box(0.4, 0.4)));
    for (name, mut world) in worlds(&scene) {
        advance(&mut world, 600);
        let at = |body: usize| world.body(body).unwrap().position();
        assert!((at(on_top) - Vec2::new(0.0, 5.5)).length() < 0.02, "{name}: {}", at(on_top));
        assert!(at(leaves).y < -20.0, "{name}: {}", at(leaves));
        assert!((at(in_bowl).y + 4.5).abs() < 0.02 && (at(in_bowl).x - 20.0).abs() < 4.6, "{name}: {}", at(in_bowl));
        assert!((at(enters).y + 4.6).abs() < 0.02, "{name}: {}", at(enters));
    }
}

/// A body jumps through a platform from below and lands on it; without the flag it is pushed as soon as its centre is
/// above.
#[test]
fn bodies_jump_through_a_platform_and_land_on_it() {
    let platform = |one_way: bool| {
        let mut scene = Scene::new("platform").gravity(0.0, -10.0);
        scene.add(Body::fixed(0.0, 0.0).shape(Shape::half_plane([0.0, 1.0], 0.0)));
        let links = Shape::chain([[2.0, 2.0], [0.5, 2.0], [-2.0, 2.0]]);
        let links = links.into_iter().map(|link| if one_way { link.one_way() } else { link });
        scene.add(Body::fixed(0.0, 0.0).shapes(links));
        let player = scene.add(Body { fixed_rotation: true, ..Body::dynamic(0.0, 0.5) }.shape(Shape::capsule(
            [0.0, -0.2],
            [0.0, 0.2],
            0.3,
        )));
        (scene, player)
    };
    let jump = |world: &mut World, player: usize, speed: f32| {
        world.command(player, Command::velocity([0.0, speed])).unwrap();
        let mut highest = 0.0_f32;
        for _ in 0..120 {
            world.step().unwrap();
            highest = highest.max(world.body(player).unwrap().position().y);
        }
        highest
    };
    let (scene, player) = platform(true);
    for (name, mut world) in worlds(&scene) {
        advance(&mut world, 10);
        // 2.09 m up is the centre above the platform for a moment, and the feet below: it falls back.
        let highest = jump(&mut world, player, 5.6);
        assert!((highest - (0.5 + 5.6 * 5.6 / 20.0)).abs() < 0.06, "{name}: {highest} m");
        assert!((world.body(player).unwrap().position().y - 0.5).abs() < 0.01, "{name}");
        let highest = jump(&mut world, player, 9.0);
        assert!((highest - (0.5 + 81.0 / 20.0)).abs() < 0.1, "{name}: {highest} m");
        let landed = world.body(player).unwrap();
        assert!(
            (landed.position().y - 2.5).abs() < 0.01 && landed.velocity().length() < 1e-2,
            "{name}: {}",
            landed.position()
        );
    }
    let (scene, player) = platform(false);
    let mut world: World = cpu(&scene).into();
    advance(&mut world, 10);
    let highest = jump(&mut world, player, 5.6);
    assert!(highest > 2.3, "{highest} m");
}

#[test]
fn bad_chains_are_named() {
    let bad = |body: Body| {
        let mut scene = Scene::new("bad");
        scene.add(body);
        World::new(&scene).unwrap_err().to_string()
    };
    let link = Shape::chain([[1.0, 0.0], [0.0, 0.0]]).remove(0);
    let dynamic = bad(Body { mass: Some(1.0), ..Body::dynamic(0.0, 0.0).shape(link.clone()) });
    assert_eq!(dynamic, "bodies[0].shapes[0].link: is on a dynamic body; expected a static or kinematic body");
    let round = bad(Body::fixed(0.0, 0.0).shape(Shape::circle(1.0).one_way()));
    assert_eq!(round, "bodies[0].shapes[0].one_way: is given to another shape than a link; expected a link");
    let twice = bad(Body::fixed(0.0, 0.0).shapes(Shape::chain([[1.0, 0.0], [0.0, 0.0], [0.0, 0.0]])));
    assert!(twice.starts_with("bodies[0].shapes[0].link.after: has ends 0 m apart"), "{twice}");
    assert_eq!(Shape::chain([[1.0_f32, 0.0]]).len(), 0);
    assert_eq!(Shape::chain_loop(Vec::<Vec2>::new()).len(), 0);
}
