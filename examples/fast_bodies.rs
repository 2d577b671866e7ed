//! Continuous collision of fast bodies: all are stopped by static bodies, but only bullets by dynamic ones.

use drystone::{Body, Scene, Shape, World};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut scene = Scene::new("shots").gravity(0.0, 0.0);
    let shot = |y: f32| Body::dynamic(0.0, y).velocity(200.0, 0.0).shape(Shape::circle(0.05));
    let wall = |y: f32| Body::dynamic(4.5, y).shape(Shape::half_box(0.1, 0.5).density(100.0));
    let at_rest = scene.add(shot(0.0));
    scene.add(Body::fixed(4.5, 0.0).shape(Shape::half_box(0.1, 0.5)));
    let plain = scene.add(shot(2.0));
    scene.add(wall(2.0));
    let bullet = scene.add(shot(4.0).bullet());
    scene.add(wall(4.0));

    let mut world = World::new(&scene)?;
    for _ in 0..30 {
        world.step()?;
    }
    for (what, body) in [("a static wall", at_rest), ("a dynamic wall", plain), ("a dynamic wall, as a bullet", bullet)]
    {
        let x = world.body(body)?.position().x;
        println!("{what}: x = {x:6.2} m, {}", if x > 6.0 { "it passed through" } else { "it was stopped" });
    }
    Ok(())
}
