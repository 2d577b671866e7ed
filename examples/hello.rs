//! A world in a few lines: a ball falls onto the ground.

use drystone::{Body, Scene, Shape, World};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut scene = Scene::new("hello");
    scene.add(Body::fixed(0.0, -1.0).shape(Shape::half_box(50.0, 1.0)));
    let ball = scene.add(Body::dynamic(0.0, 4.0).shape(Shape::circle(0.5)));

    let mut world = World::new(&scene)?;
    for step in 0..=120 {
        if step % 20 == 0 {
            println!("{:4.2} s  y = {:.3} m", f64::from(step) / 60.0, world.body(ball)?.position().y);
        }
        world.step()?;
    }
    Ok(())
}
