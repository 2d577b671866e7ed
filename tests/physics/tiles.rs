//! Bodies that slide over rows of boxes: corners that lie flush are no obstacle, and others are (ghost collisions).

use drystone::low_level::GpuWorld;
use drystone::low_level::gpu::kernel::Patch;
use drystone::{AdapterChoice, Body, Command, Context, Scene, Shape, World};

use crate::common::{Backend, between, near};
use crate::shapes::kit::regular;

on_every_backend!(
    flush_tiles_are_one_floor,
    a_box_in_line_with_the_tiles_is_pushed,
    boxes_slide_over_boxes_that_are_free,
    steps_up_to_the_slop_are_no_obstacle,
    what_rests_on_an_edge_stays,
);

const SPEEDS: [f32; 5] = [0.3, 1.0, 5.0, 10.0, 40.0];

/// Returns shapes with the height of their centre above the ground, m.
fn shapes() -> Vec<(&'static str, Shape, f32)> {
    let hexagon = Shape::polygon(regular(6, 0.5));
    vec![
        ("box", Shape::half_box(0.5, 0.25), 0.25),
        ("small box", Shape::half_box(0.05, 0.05), 0.05),
        ("hexagon", hexagon, 0.5 * 0.75_f32.sqrt()),
        ("rounded box", Shape::rounded_box(0.4, 0.2, 0.05), 0.25),
        ("capsule", Shape::capsule([-0.4, 0.0], [0.4, 0.0], 0.1), 0.1),
        ("disc", Shape::circle(0.5), 0.5),
    ]
}

/// Returns a floor of boxes of this width, from -10 m to 60 m, with its surface at 0.
fn tiles(width: f32) -> Scene {
    let mut scene = Scene::new("tiles").gravity(0.0, -10.0);
    let mut left = -10.0;
    while left < 60.0 {
        scene.add(Body::fixed(left + 0.5 * width, -0.5).shape(Shape::half_box(0.5 * width, 0.5)));
        left += width;
    }
    scene
}

/// Adds each shape at each speed, which do not collide with each other. Returns the index of the first.
fn add_sliders(scene: &mut Scene, friction: f32) -> usize {
    let first = scene.bodies.len();
    for (_, mut shape, height) in shapes() {
        shape.filter.group = -1;
        for speed in SPEEDS {
            scene.add(Body::dynamic(0.13, height).velocity(speed, 0.0).shape(shape.clone().friction(friction)));
        }
    }
    first
}

/// Bodies slide over tiles as over one floor: with friction and without, the same distance, and none rises.
fn flush_tiles_are_one_floor(backend: Backend) {
    for friction in [0.0, 0.3] {
        let run = |width: f32| {
            let mut scene = tiles(width);
            let first = add_sliders(&mut scene, friction);
            let mut sim = backend.start(&scene);
            let mut highest = vec![0.0_f32; scene.bodies.len() - first];
            for _ in 0..12 {
                let bodies = sim.advance(5).bodies();
                for (highest, (body, start)) in
                    highest.iter_mut().zip(bodies[first..].iter().zip(&scene.bodies[first..]))
                {
                    *highest = highest.max(body.position[1] - start.position[1]);
                }
            }
            let distances = sim.bodies()[first..].iter().map(|body| body.position[0] - 0.13).collect::<Vec<_>>();
            (distances, highest)
        };
        let (smooth, _) = run(70.0);
        let (distances, highest) = run(1.0);
        let cases = shapes().into_iter().flat_map(|(name, ..)| SPEEDS.map(|speed| format!("{name} at {speed} m/s")));
        for (index, case) in cases.enumerate() {
            let (over, smooth) = (distances[index], f64::from(smooth[index]));
            println!("friction {friction}: {case}: {over} m, {smooth} m on one floor; up by {} m", highest[index]);
            // Friction acts on whichever of two points is deeper, by a fraction of a millimetre.
            near(&format!("friction {friction}: distance of the {case}"), over, smooth, 0.01 * smooth.max(0.2));
            between(&format!("friction {friction}: rise of the {case}"), highest[index], 0.0, 1e-3);
        }
    }
}

/// A box that stands exactly on a tile, and so corner to corner with the next one, can be pushed over it.
fn a_box_in_line_with_the_tiles_is_pushed(backend: Backend) {
    let mut scene = tiles(1.0);
    let crates = [0.5, 20.5].map(|x| scene.add(Body::dynamic(x, 0.5).shape(Shape::half_box(0.5, 0.5).friction(0.0))));
    let mut sim = backend.start(&scene);
    sim.advance(30);
    for _ in 0..60 {
        for (body, force) in crates.into_iter().zip([3.0, -20.0]) {
            sim.world.command(body, Command::force([force, 0.0])).unwrap();
        }
        sim.advance(1);
    }
    let bodies = sim.bodies();
    // ½ a t², and half a substep more.
    near("distance at 3 N", bodies[bodies.len() - 2].position[0] - 0.5, 1.5 * (1.0 + 1.0 / 240.0), 2e-3);
    near("distance at 20 N", 20.5 - bodies[bodies.len() - 1].position[0], 10.0 * (1.0 + 1.0 / 240.0), 0.02);
}

/// Tiles may be free bodies: a box slides from one to the next.
fn boxes_slide_over_boxes_that_are_free(backend: Backend) {
    let mut scene = Scene::new("row").gravity(0.0, -10.0);
    scene.add(Body::fixed(0.0, -1.5).shape(Shape::half_box(40.0, 0.5)));
    for index in 0..12_u8 {
        scene.add(Body::dynamic(f32::from(index), -0.5).shape(Shape::half_box(0.5, 0.5).friction(0.9)));
    }
    let sliding = Shape::half_box(0.5, 0.25).friction(0.0).density(0.2);
    scene.add(Body::dynamic(0.2, 0.25).velocity(8.0, 0.0).shape(sliding));
    let mut sim = backend.start(&scene);
    let bodies = sim.advance(60).bodies();
    near("distance", bodies[13].position[0] - 0.2, 8.0, 0.02);
    near("height", bodies[13].position[1], 0.25, 3e-3);
}

/// A step of a slop is no obstacle; one of four slops stops bodies that slide into it.
fn steps_up_to_the_slop_are_no_obstacle(backend: Backend) {
    let run = |step: f32| {
        let mut scene = tiles(35.0);
        scene.bodies[1].position[1] += step;
        let places = [0.3, 1.5].map(|back| 25.0 - back);
        for x in places {
            let shape = Shape::half_box(0.25, 0.25).friction(0.0);
            let mut body = Body::dynamic(x, 0.25).velocity(3.0, 0.0).shape(shape);
            body.shapes[0].filter.group = -1;
            scene.add(body);
        }
        let bodies = backend.start(&scene).advance(90).bodies();
        [2, 3].map(|index| f64::from(bodies[index].position[0] - places[index - 2]))
    };
    for distance in run(0.004) {
        between("distance over a step of 4 mm", distance, 4.4, 4.51);
    }
    // They bounce off, or are lifted over it; they do not pass.
    for distance in run(0.02) {
        between("distance towards a step of 20 mm", distance, -10.0, 4.0);
    }
}

/// A box that overhangs an edge by less than half its width stays there, and so does one that rests on two edges.
fn what_rests_on_an_edge_stays(backend: Backend) {
    let mut scene = Scene::new("edges").gravity(0.0, -10.0);
    for x in [-5.0, 5.0] {
        scene.add(Body::fixed(x, -0.5).shape(Shape::half_box(4.0, 0.5)));
    }
    scene.add(Body::dynamic(8.8, 0.25).shape(Shape::half_box(0.5, 0.25)));
    // Rests on 1 cm at each end.
    scene.add(Body::dynamic(0.0, 0.1).shape(Shape::half_box(1.01, 0.1)));
    let mut sim = backend.start(&scene);
    let bodies = sim.advance(180).bodies();
    near("height of the box that overhangs", bodies[2].position[1], 0.25, 2e-3);
    near("height of the bridge", bodies[3].position[1], 0.1, 2e-3);
}

/// Negative control: without the rule the box stays where it is.
#[test]
fn the_rule_is_what_lets_it_pass() {
    let context = Context::new(AdapterChoice::Any).expect("an adapter");
    let mut scene = tiles(1.0);
    let body = scene.add(Body::dynamic(0.5, 0.5).shape(Shape::half_box(0.5, 0.5).friction(0.0)));
    let pushed = |mut world: World| {
        for _ in 0..60 {
            world.command(body, Command::force([3.0, 0.0])).unwrap();
            world.step().unwrap();
        }
        world.body(body).unwrap().position().x - 0.5
    };
    let rule = "let is_corner = lowest(touch) > -slack";
    let patch = Patch { shader: "collide", from: rule, to: "let is_corner = false && lowest(touch) > -slack" };
    let without = pushed(GpuWorld::patched(&context, &scene, &[patch]).expect("a patched shader").into());
    between("distance without the rule", without, -0.01, 0.01);
    near("distance with it", pushed(GpuWorld::new(&context, &scene).expect("a scene").into()), 1.5, 0.02);
}
