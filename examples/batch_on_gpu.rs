//! Many worlds stepped by the same dispatches on a GPU: 32 balls, each thrown harder than the one before.

use drystone::{AdapterChoice, Body, Context, Scene, Shape, WorldBatch};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut scene = Scene::new("throw");
    scene.add(Body::fixed(0.0, 0.0).shape(Shape::half_plane([0.0, 1.0], 0.0)));
    let ball = scene.add(Body::dynamic(0.0, 0.25).shape(Shape::circle(0.25)));

    // `Any` accepts a software adapter if there is no GPU.
    let context = Context::new(AdapterChoice::Any)?;
    println!("on {}", context.info().name);
    let scenes = WorldBatch::vary(&scene, 32, |world, scene| {
        scene.bodies[ball].velocity = [0.25 * world as f32, 5.0].into();
    });
    let mut worlds = WorldBatch::on_gpu(&context, &scenes)?;
    for _ in 0..60 {
        worlds.step()?;
    }
    // One download for all worlds.
    let bodies = worlds.bodies()?;
    for world in (0..worlds.count()).step_by(8) {
        println!(
            "world {world:2}: the ball is at x = {:5.2} m after one second",
            bodies.poses(world)[ball].position[0]
        );
    }
    Ok(())
}
