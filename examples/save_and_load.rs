//! A world saved as bytes and continued bitwise by another world of the same scene.

use drystone::{Body, Scene, Shape, World};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut scene = Scene::new("tower");
    scene.add(Body::fixed(0.0, 0.0).shape(Shape::half_plane([0.0, 1.0], 0.0)));
    for row in 0..10_u8 {
        let lean = 0.06 * f32::from(row);
        scene.add(Body::dynamic(lean, 0.5 + f32::from(row)).shape(Shape::half_box(0.5, 0.5)));
    }
    let mut world = World::new(&scene)?;
    for _ in 0..60 {
        world.step()?;
    }
    let bytes = world.save()?;
    println!("{} bytes after {} steps", bytes.len(), world.steps());

    let mut other = World::new(&scene)?;
    other.load(&bytes)?;
    for _ in 0..60 {
        world.step()?;
        other.step()?;
    }
    let (one, other) = (world.body(10)?, other.body(10)?);
    println!("the topmost box is at {} and at {}", one.position(), other.position());
    assert_eq!(one, other);
    Ok(())
}
