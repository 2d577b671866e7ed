//! Body transforms from a GPU in every frame without waiting: the latest that have arrived.

use drystone::{AdapterChoice, Body, Context, Scene, Shape, World};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut scene = Scene::new("drop");
    scene.add(Body::fixed(0.0, 0.0).shape(Shape::half_plane([0.0, 1.0], 0.0)));
    scene.add(Body::dynamic(0.0, 20.0).shape(Shape::circle(0.5)));

    let mut world = World::on_gpu(&Context::new(AdapterChoice::Any)?, &scene)?;
    let mut places = Vec::new();
    for frame in 1..=60 {
        world.step()?;
        // Here a frame would be drawn.
        if let Some(step) = world.transforms_latest(&mut places)?
            && frame % 10 == 0
        {
            println!("frame {frame}: the ball was at y = {:.2} m after step {step}", places[1].position.y);
        }
    }
    Ok(())
}
