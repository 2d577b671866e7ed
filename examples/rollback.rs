//! Rollback, as in networked games: an input arrives late, so the world returns to an earlier step and steps again with
//! it.

use drystone::{Body, Command, Scene, Shape, World};

const LATE: usize = 8;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut scene = Scene::new("rollback");
    scene.add(Body::fixed(0.0, 0.0).shape(Shape::half_plane([0.0, 1.0], 0.0)));
    let player = scene.add(Body::dynamic(0.0, 0.5).shape(Shape::half_box(0.5, 0.5)).fixed_rotation());
    let mut world = World::new(&scene)?;
    let jump = Command::velocity([2.0, 6.0]);

    // One snapshot per step; the latest LATE of them would be enough.
    let mut past = Vec::new();
    for _ in 0..30 {
        past.push(world.snapshot()?);
        world.step()?;
    }
    println!("without the jump the player is at {}", world.body(player)?.position());

    world.restore(&past[30 - LATE])?;
    world.command(player, jump)?;
    for _ in 0..LATE {
        world.step()?;
    }
    let again = world.body(player)?;
    println!("with the jump, {LATE} steps ago, it is at {}", again.position());

    // Bitwise equal to a run in which the input arrived in time.
    let mut in_time = World::new(&scene)?;
    for step in 0..30 {
        if step == 30 - LATE {
            in_time.command(player, jump)?;
        }
        in_time.step()?;
    }
    assert_eq!(again, in_time.body(player)?);
    Ok(())
}
