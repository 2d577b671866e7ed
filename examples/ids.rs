//! Body ids: the id of a removed body is never confused with that of a new body in the same slot.

use drystone::{Body, Command, CommandError, Scene, Shape, World};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut world = World::new(&Scene::new("ids"))?;
    let ball = Body::dynamic(0.0, 4.0).shape(Shape::circle(0.5));
    let first = world.add_bodies(std::slice::from_ref(&ball))?[0];
    world.step()?;
    world.remove_bodies(&[first])?;
    world.step()?;
    let second = world.add_bodies(&[ball])?[0];
    println!("{first} has gone, {second} has its slot");
    assert_eq!((first.index, world.contains(first), world.contains(second)), (second.index, false, true));

    let refused = world.command(first, Command::impulse([1.0, 0.0]));
    println!("a command to {first}: {}", refused.clone().unwrap_err());
    assert_eq!(refused, Err(CommandError::Gone(first)));
    world.command(second, Command::impulse([1.0, 0.0]))?;
    world.step()?;
    println!("{second} moves at {:.2} m/s", world.body(second)?.velocity().x);
    Ok(())
}
