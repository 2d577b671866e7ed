//! A fan of rays: what a robot in the middle of a pile would see.

use drystone::{Body, Query, Scene, Shape, World};
use glam::Vec2;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut scene = Scene::new("lidar");
    scene.add(Body::fixed(0.0, 0.0).shape(Shape::half_plane([0.0, 1.0], 0.0)));
    for row in 0..8_u8 {
        let y = 0.5 + f32::from(row);
        scene.add(Body::dynamic(-4.0, y).shape(Shape::half_box(0.5, 0.5)));
        scene.add(Body::dynamic(5.0 + 0.3 * f32::from(row % 2), y).shape(Shape::circle(0.5)));
    }
    let mut world = World::new(&scene)?;
    for _ in 0..60 {
        world.step()?;
    }

    let (eye, range) = (Vec2::new(0.0, 1.0), 10.0);
    let angles: Vec<f32> = (-2..=14).map(|step| 15.0 * step as f32).collect();
    let fan: Vec<Query> =
        angles.iter().map(|angle| Query::ray(eye, eye + range * Vec2::from_angle(angle.to_radians()))).collect();
    let answers = world.query(&fan)?;
    for (ray, angle) in angles.iter().enumerate() {
        match answers.hit(ray) {
            Some(hit) => println!("{angle:5.0}°  {:6.3} m  body {}", range * hit.fraction, hit.body),
            None => println!("{angle:5.0}°  nothing within {range} m"),
        }
    }
    Ok(())
}
