//! Learning to throw a ball over a wall into a box: 64 worlds try at once, the best throws are varied, and all start
//! again.
//!
//! The method is the simplest possible (cross-entropy: keep the best eighth, sample around their mean). It shows how
//! [`WorldBatch`] sends commands, reads bodies, runs queries and resets for all worlds, each with one call.

use drystone::{Body, Command, Query, Scene, Shape, WorldBatch};
use glam::Vec2;

const WORLDS: usize = 64;
const ELITE: usize = 8;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut scene = Scene::new("throw");
    scene.add(Body::fixed(0.0, 0.0).shape(Shape::half_plane([0.0, 1.0], 0.0)));
    scene.add(Body::fixed(5.0, 1.5).shape(Shape::half_box(0.2, 1.5)));
    let ball = scene.add(Body::dynamic(0.0, 0.5).shape(Shape::circle(0.25)));
    let target = Vec2::new(9.0, 0.25);
    // On a GPU: `WorldBatch::on_gpu(&Context::new(AdapterChoice::Any)?, &scenes)`.
    let mut worlds = WorldBatch::on_cpu(&vec![scene; WORLDS], 2)?;
    let in_box: Vec<_> =
        (0..WORLDS).map(|world| (world, Query::aabb(target - Vec2::splat(0.75), target + Vec2::splat(0.75)))).collect();

    let (mut mean, mut spread) = (Vec2::new(4.0, 4.0), Vec2::splat(4.0));
    let mut random = 1_u32;
    for episode in 0..8 {
        worlds.reset(&(0..WORLDS).collect::<Vec<_>>())?;
        let throws: Vec<Vec2> =
            (0..WORLDS).map(|_| mean + spread * Vec2::new(draw(&mut random), draw(&mut random))).collect();
        for (world, &throw) in throws.iter().enumerate() {
            worlds.command(world, ball, Command::velocity(throw))?;
        }
        for _ in 0..120 {
            worlds.step()?;
        }
        let answers = worlds.query(&in_box)?;
        let hits = (0..WORLDS).filter(|&query| answers.found(query).iter().any(|found| found.body == ball)).count();
        let bodies = worlds.bodies()?;
        let miss = |world: usize| (Vec2::from(bodies.poses(world)[ball].position) - target).length();
        let mut order: Vec<usize> = (0..WORLDS).collect();
        order.sort_by(|&a, &b| miss(a).total_cmp(&miss(b)));
        println!("episode {episode}: {hits:2} of {WORLDS} in the box, the best {:.2} m off", miss(order[0]));
        let best = || order[..ELITE].iter().map(|&world| throws[world]);
        mean = best().sum::<Vec2>() / ELITE as f32;
        spread = best().map(|throw| (throw - mean).abs()).sum::<Vec2>() / ELITE as f32 * 1.5;
    }
    Ok(())
}

/// Returns numbers distributed about evenly from -1 to 1.
fn draw(random: &mut u32) -> f32 {
    *random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
    f32::from((*random >> 16) as u16) / 32_767.5 - 1.0
}
