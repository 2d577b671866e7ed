//! Bodies dropped and shot into the world, and explosions: actions at the pointer that a restart leaves out.

use std::f32::consts::TAU;

use glam::Vec2;

use super::super::app::App;
use super::super::camera_follow::Poses;
use super::super::edit::Edit;
use drystone::low_level::explosion_pushes;
use drystone::low_level::types::Pose;
use drystone::{Body, BodyType, Geometry, Scene, Shape};
use drystone::{Explosion, Query};
use drystone::{World, WorldError};
use drystone_draw::Scale;

/// Radius of full strength of an explosion, as a share of the height of the picture; the strength falls to 0 over the
/// same distance again.
const BLAST: f32 = 0.16;
/// Speed that an explosion gives to a typical box at the edge of its radius, in units of √(g · 2 radius).
const BLAST_SPEED: f32 = 1.4;

impl App {
    /// Size of a dropped body, m ([`drop_size`] of the scene).
    pub(crate) fn drop_size(&self) -> f32 {
        drop_size(self.run.scene())
    }

    /// Drops bodies of the chosen kind and number at a place, m: side by side, row upon row, in places that are free.
    pub fn drop_bodies(&mut self, at: Vec2) {
        let size = self.drop_size();
        let count = self.prefs.drop_count.clamp(1, 10_000);
        let Some(run) = self.run.here_mut() else { return };
        let places = match free_places(run.world_mut(), at, count, size) {
            Ok(places) => places,
            Err(error) => return self.say(format!("nothing was dropped: {error}")),
        };
        let bodies: Vec<Body> = places
            .iter()
            .zip(0..)
            .map(|(&position, index)| {
                let geometry = shape_of(&self.prefs.drop, index, 0.5 * size);
                Body { position, ..Body::default() }.shape(Shape::new(geometry))
            })
            .collect();
        let dropped = bodies.len();
        match self.edit(&Edit::Add(bodies.into())) {
            Ok(_) if dropped < count as usize => {
                self.say(format!("{dropped} of {count} were dropped: there is no room above for more"));
            }
            Ok(_) => {}
            Err(error) => self.say(format!("nothing was dropped: {error}")),
        }
    }

    /// Shoots a heavy ball from the left edge of the picture at a place, m.
    pub fn shoot(&mut self, at: Vec2) {
        let size = self.drop_size();
        let left = self
            .world_at(self.camera.origin + Vec2::new(0.0, 0.25) * self.camera.height() / self.camera.metres_per_pixel);
        let way = (at - left).try_normalize().unwrap_or(Vec2::X);
        let speed = (2.0 * self.camera.height()).clamp(10.0, 200.0);
        let velocity = way * speed;
        self.pointer.shots += 1;
        let ball = Shape::circle(0.75 * size).density(8.0).friction(0.3);
        let body = Body { position: left, velocity, bullet: true, ..Body::default() }.shape(ball);
        if let Err(error) = self.edit(&Edit::Add([body].into())) {
            self.say(format!("no shot: {error}"));
        }
    }

    /// Makes an explosion at a place, m, as soon as the poses of all bodies are known.
    pub fn explode(&mut self, at: Vec2) {
        let Some(compiled) = self.run.here().map(|run| run.world().compiled()) else { return };
        let radius = BLAST * self.camera.height();
        let Scale { length, impulse, .. } = Scale::of(compiled);
        // Mass of a typical body, from the impulse that carries it for a substep.
        let gravity = Vec2::from(compiled.params.gravity).length();
        let mass = impulse / ((if gravity > 0.0 { gravity } else { 10.0 }) * compiled.params.h);
        let speed = BLAST_SPEED * (9.81 * 2.0 * radius).sqrt();
        let explosion = Explosion {
            position: at,
            radius,
            falloff: radius,
            impulse_per_length: mass * speed / length,
            ..Explosion::default()
        };
        match self.poses() {
            Some(Poses::Here(poses)) => self.burst(&explosion, &poses),
            Some(Poses::Coming(arrival)) => self.pointer.blast = Some((explosion, arrival)),
            None => {}
        }
    }

    /// Pushes the bodies around an explosion, which are at these poses.
    pub(super) fn burst(&mut self, explosion: &Explosion, poses: &[Pose]) {
        let Some(run) = self.run.here_mut() else { return };
        let pushes = match explosion_pushes(explosion, run.world().compiled(), poses) {
            Ok(pushes) => pushes,
            Err(error) => return self.say(format!("no explosion: {error}")),
        };
        let world = run.world_mut();
        let pushes: Vec<_> = pushes.into_iter().filter_map(|(body, push)| Some((world.body_id(body)?, push))).collect();
        if pushes.is_empty() {
            return self.say("no body is near enough to be pushed");
        }
        if let Err(error) = self.edit(&Edit::Command(pushes.into())) {
            self.say(format!("no explosion: {error}"));
        }
    }
}

/// Maximum number of bodies of a scene whose sizes are looked at.
const SAMPLE: usize = 1024;

/// Size of bodies that are dropped into a scene, m: that of its median dynamic body; without one a share of its view,
/// or of its median body. It depends on the description of the scene alone: neither on the zoom, nor on bodies that
/// were dropped before.
pub(crate) fn drop_size(scene: &Scene) -> f32 {
    let of_emitters = scene.emitters.iter().flat_map(|emitter| &emitter.bodies);
    let median = |is_wanted: &dyn Fn(&Body) -> bool| {
        let all = || scene.bodies.iter().chain(of_emitters.clone()).filter(|body| is_wanted(body));
        let every = all().count().div_ceil(SAMPLE).max(1);
        let widest = |body: &Body| body.shapes.iter().filter_map(|shape| width(&shape.geometry)).reduce(f32::max);
        let mut widths: Vec<f32> = all().step_by(every).filter_map(widest).collect();
        let middle = widths.len() / 2;
        (!widths.is_empty()).then(|| *widths.select_nth_unstable_by(middle, f32::total_cmp).1)
    };
    median(&|body| body.kind == BodyType::Dynamic)
        .or(scene.view.map(|view| (view.max.y - view.min.y) / 24.0))
        .or_else(|| median(&|_| true).map(|width| 0.25 * width))
        .filter(|size| size.is_finite() && *size > 0.0)
        .unwrap_or(1.0)
}

/// Width of a shape, m; of an oblong one the geometric mean of length and thickness. `None` for lines and half planes.
fn width(geometry: &Geometry) -> Option<f32> {
    match geometry {
        Geometry::Circle { radius } | Geometry::Particle { radius } => Some(2.0 * radius),
        Geometry::Box { half, radius } => {
            let sides = 2.0 * (*half + *radius);
            Some((sides.x * sides.y).sqrt())
        }
        Geometry::Capsule { a, b, radius } => Some(((a.distance(*b) + 2.0 * radius) * 2.0 * radius).sqrt()),
        Geometry::Polygon { points, radius } => {
            let low = points.iter().copied().reduce(Vec2::min)?;
            let high = points.iter().copied().reduce(Vec2::max)?;
            let sides = high - low + 2.0 * *radius;
            Some((sides.x * sides.y).sqrt())
        }
        _ => None,
    }
}

/// Numbers of bodies that can be dropped together.
pub(crate) const DROP_COUNTS: [u32; 5] = [1, 10, 100, 1000, 10_000];
/// Maximum number of rows above the pointer in which free places are looked for.
const MAX_DROP_ROWS: u32 = 1000;
/// Distance of two dropped bodies, in units of their size.
const DROP_PITCH: f32 = 1.15;

/// Finds up to `count` places that no shape covers, for bodies of a size, m, in rows from a place upwards: the lowest
/// first, in a row those in the middle first.
///
/// # Errors
/// The device is lost.
#[allow(clippy::cast_precision_loss, reason = "at most 10,000")]
fn free_places(world: &mut World, at: Vec2, count: u32, size: f32) -> Result<Vec<Vec2>, WorldError> {
    let columns = count.isqrt() + u32::from(count.isqrt().pow(2) < count);
    let middle = (columns as f32 - 1.0) / 2.0;
    let mut across: Vec<f32> = (0..columns).map(|column| column as f32 - middle).collect();
    across.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
    let pitch = DROP_PITCH * size;
    // Each place reaches half way to its neighbours.
    let whole = Geometry::Box { half: Vec2::splat(0.5 * pitch), radius: 0.0 };
    let (mut places, mut row) = (Vec::with_capacity(count as usize), 0);
    while places.len() < count as usize && row < MAX_DROP_ROWS {
        let missing = (count as usize - places.len()).div_ceil(columns as usize);
        let rows = row..MAX_DROP_ROWS.min(row + u32::try_from(missing).unwrap_or(MAX_DROP_ROWS));
        row = rows.end;
        let tried: Vec<Vec2> =
            rows.flat_map(|row| across.iter().map(move |&x| at + Vec2::new(x, row as f32) * pitch)).collect();
        let queries: Vec<Query> = tried.iter().map(|&place| Query::overlap(whole.clone(), place, 0.0)).collect();
        let answers = world.query(&queries)?;
        let free = tried.iter().zip(0..).filter(|&(_, index)| answers.found(index).is_empty());
        places.extend(free.map(|(&place, _)| place).take(count as usize - places.len()));
    }
    Ok(places)
}

/// Kinds of bodies that can be dropped.
pub(crate) const DROPS: [&str; 6] = ["box", "circle", "capsule", "polygon", "particle", "mix"];

/// Shape of a kind with about this half width, m; `index` varies polygons and the mix.
fn shape_of(name: &str, index: u32, half: f32) -> Geometry {
    match name {
        "circle" => Geometry::Circle { radius: half },
        "capsule" => {
            Geometry::Capsule { a: Vec2::new(-0.5 * half, 0.0), b: Vec2::new(0.5 * half, 0.0), radius: 0.5 * half }
        }
        "polygon" => {
            let corners = 3 + index % 6;
            #[allow(clippy::cast_precision_loss, reason = "at most 8")]
            let corner = |k: u32| half * drystone::low_level::math::rotation(TAU * (k as f32 / corners as f32 - 0.5));
            Geometry::Polygon { points: (0..corners).map(corner).collect(), radius: 0.0 }
        }
        "particle" => Geometry::Particle { radius: half },
        "mix" => shape_of(DROPS[index as usize % 4], index / 4, half),
        _ => Geometry::Box { half: Vec2::splat(half), radius: 0.0 },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Drops bodies over a heap, on a floor beside a wall, and returns the deepest overlap of two shapes, m.
    fn deepest_after(kind: &str, counts: &[u32], place: impl Fn(&mut World, u32) -> Vec<Vec2>) -> f64 {
        let mut scene = Scene::new("heap");
        scene.add(Body::fixed(0.0, -1.0).shape(Shape::half_box(500.0, 1.0)));
        scene.add(Body::fixed(2.0, 5.0).shape(Shape::half_box(0.5, 5.0)));
        for row in 0..4_u8 {
            scene.add(Body::dynamic(0.2 * f32::from(row), 0.5 + f32::from(row)).shape(Shape::half_box(0.5, 0.5)));
        }
        let mut world = World::from(drystone::low_level::CpuWorld::new(&scene).unwrap());
        for &count in counts {
            let places = place(&mut world, count);
            assert_eq!(places.len(), count as usize);
            let bodies: Vec<Body> = places
                .iter()
                .zip(0..)
                .map(|(at, index)| Body::dynamic(at.x, at.y).shape(Shape::new(shape_of(kind, index, 0.5))))
                .collect();
            world.add_bodies(&bodies).unwrap();
        }
        world.step().unwrap();
        let snapshot = world.snapshot().unwrap();
        drystone::low_level::state::metrics(world.compiled(), &snapshot).max_penetration
    }

    #[test]
    fn dropped_bodies_overlap_nothing() {
        let at = Vec2::new(0.0, 0.6);
        for kind in DROPS {
            let free = |world: &mut World, count| free_places(world, at, count, 1.0).unwrap();
            let deepest = deepest_after(kind, &[1, 100, 1, 100], free);
            assert!(deepest < 0.006, "{kind}: {deepest} m");
        }
        let free = |world: &mut World, count| free_places(world, at, count, 1.0).unwrap();
        let deepest = deepest_after("mix", &[10_000], free);
        assert!(deepest < 0.006, "{deepest} m");
        // Negative control: without the search for free places they overlap.
        let blind = |_: &mut World, count: u32| (0..count).map(|index| at + index as f32 * Vec2::Y).collect();
        assert!(deepest_after("box", &[100], blind) > 0.1);
    }

    /// Dropped bodies have the size of the scene's median dynamic body, with any dropped or static bodies beside them;
    /// without a dynamic body that of its view.
    #[test]
    fn dropped_bodies_are_as_large_as_those_of_the_scene() {
        let mut scene = Scene::new("boxes").view([-6.0, -1.2], [6.0, 10.8]);
        scene.add(Body::fixed(0.0, -1.0).shape(Shape::half_box(50.0, 1.0)));
        assert_eq!(drop_size(&scene), 0.5, "a 24th of its view");
        for half in [0.2, 0.3, 5.0] {
            scene.add(Body::dynamic(0.0, 1.0).shape(Shape::half_box(half, half)));
        }
        assert!((drop_size(&scene) - 0.6).abs() < 1e-6, "{}", drop_size(&scene));
        // A body dropped with this size does not change it, as it did when sizes were those of bounding circles.
        let half = 0.5 * drop_size(&scene);
        (0..9).for_each(|_| _ = scene.add(Body::dynamic(0.0, 1.0).shape(Shape::half_box(half, half))));
        assert!((drop_size(&scene) - 0.6).abs() < 1e-6, "{}", drop_size(&scene));
        scene.view = None;
        scene.bodies.truncate(1);
        assert!((drop_size(&scene) - 3.5355).abs() < 1e-3, "a quarter of √(100 m · 2 m): {}", drop_size(&scene));
    }

    #[test]
    fn what_can_be_dropped_is_valid() {
        for name in DROPS {
            let mut scene = Scene::new(name);
            for index in 0..24 {
                scene.add(Body::dynamic(0.0, 0.0).shape(Shape::new(shape_of(name, index, 0.5))));
            }
            scene.check().unwrap();
        }
    }
}
