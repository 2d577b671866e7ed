//! Small pictures of scenes, for lists.

use std::time::{Duration, Instant};

use super::{Framing, Image, Style, raster};
use drystone::Scene;
use drystone::low_level::cpu::CpuWorld;
use drystone::low_level::scene::Compiled;

/// Maximum number of bodies of a scene that is stepped before its picture; a larger one is drawn as it begins.
pub const MAX_THUMBNAIL_BODIES: usize = 1_000;
/// Steps done before the picture: by then things move, and few have come to rest.
const STEPS: u32 = 75;
/// Longest time for these steps; a slow machine does fewer.
const TIME: Duration = Duration::from_secs(2);

/// Draws a scene shortly after its start, in light and in dark colours, on the CPU; `None` if it cannot be drawn or was
/// cancelled.
pub fn thumbnail(scene: &Scene, size: [u32; 2], is_cancelled: &dyn Fn() -> bool) -> Option<[Image; 2]> {
    let mut world = CpuWorld::from_compiled(Compiled::new(scene).ok()?);
    let framing = Framing::new(world.compiled(), &world.compiled().poses, size);
    let steps = if scene.bodies.len() > MAX_THUMBNAIL_BODIES { 0 } else { STEPS };
    let began = Instant::now();
    for _ in 0..steps {
        if is_cancelled() {
            return None;
        }
        if began.elapsed() > TIME {
            break;
        }
        world.step().ok()?;
    }
    let snapshot = world.snapshot();
    let camera = framing.camera_later(world.compiled(), &snapshot.poses);
    // In a picture this small, grid and ticks would hide the scene.
    let plain = |style: Style| Style { grid_strength: 0.0, marks: 0.0, ..style };
    let draw = |style: Style| raster::picture_of_world(world.compiled(), &snapshot, true, &camera, &style).ok();
    Some([draw(plain(Style::light()))?, draw(plain(Style::dark()))?])
}
