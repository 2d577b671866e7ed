//! Changing a running world: a motor swings a paddle, bodies are added and pushed, and hit events are printed.

use drystone::{Body, Command, Joint, JointKind, Scene, Shape, World};
use glam::Vec2;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut scene = Scene::new("mechanism");
    scene.settings.events = true;
    scene.add(Body::fixed(0.0, 0.0).shape(Shape::half_plane([0.0, 1.0], 0.0)));
    let paddle = scene.add(Body::dynamic(0.0, 2.0).shape(Shape::capsule([-1.2, 0.0], [1.2, 0.0], 0.15).density(5.0)));
    scene.join(Joint::to_world(JointKind::hinge().motor(2.0, 200.0), paddle).anchors([0.0, 2.0], [0.0, 0.0]));

    let mut world = World::new(&scene)?;
    let hexagon = (0_u8..6).map(|corner| Vec2::from_angle(f32::from(corner) * std::f32::consts::FRAC_PI_3) * 0.3);
    let hexagon = Shape::polygon(hexagon).friction(0.8).kinetic_friction(0.4);
    for step in 0..300 {
        if step % 60 == 0 {
            let dropped = world.add_bodies(&[Body::dynamic(0.5, 6.0).shape(hexagon.clone())])?;
            world.command(dropped[0], Command::impulse([-0.2, 0.0]))?;
        }
        world.step()?;
        for event in world.take_events()?.iter().filter(|event| event.is_hit(1.0)) {
            println!("step {:3}: bodies {:?} meet at {:.1} m/s", event.step, event.ids, event.approach_speed);
        }
    }
    let reaction = &world.joint_reactions()?[0];
    println!(
        "the hinge carries {:.0} N; {} bodies",
        Vec2::from(reaction.force).length(),
        world.compiled().bodies.len()
    );
    Ok(())
}
