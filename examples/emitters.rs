//! Bodies added and removed by the scene itself: hail, one stone every ten steps, each for three seconds.

use drystone::{Body, Emitter, Scene, Shape, World};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut scene = Scene::new("hail");
    scene.add(Body::fixed(0.0, 0.0).shape(Shape::half_plane([0.28, 0.96], 0.0)));
    let stone = Body::dynamic(0.0, 6.0).shape(Shape::circle(0.2).friction(0.1));
    scene.emit(Emitter::new([stone]).every(10).lifetime(180));

    let mut world = World::new(&scene)?;
    for step in 1..=360 {
        world.step()?;
        if step % 60 == 0 {
            println!("after {} s there are {} bodies", step / 60, world.bodies().count());
        }
    }
    Ok(())
}
