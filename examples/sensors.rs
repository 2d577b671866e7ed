//! Sensors: coins that a rolling ball collects.

use drystone::{Body, EventKind, Scene, Settings, Shape, World};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut scene = Scene::new("coins").settings(Settings::default().events(true));
    scene.add(Body::fixed(0.0, 0.0).shape(Shape::half_plane([0.0, 1.0], 0.0)));
    let ball = scene.add(Body::dynamic(0.0, 0.5).velocity(3.0, 0.0).shape(Shape::circle(0.5)));
    for coin in 1..=5_u8 {
        // Sensors notice bodies of all types, also those that stand.
        scene.add(Body::fixed(2.0 * f32::from(coin), 0.5).shape(Shape::circle(0.2).sensor()));
    }

    let mut world = World::new(&scene)?;
    let ball = world.body(ball)?.id();
    for _ in 0..240 {
        world.step()?;
        for event in world.take_events()? {
            let [Some(a), Some(b)] = event.ids else { continue };
            if event.kind == EventKind::SensorBegin && (a == ball || b == ball) {
                let coin = if a == ball { b } else { a };
                println!("step {:3}: coin {coin} is collected", event.step);
                world.remove_bodies(&[coin])?;
            }
        }
    }
    Ok(())
}
