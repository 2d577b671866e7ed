//! Explosions: one outward impulse on every dynamic shape in reach. An explosion is not a body: it pushes once and
//! leaves nothing behind.
//!
//! As in Box2D (`b2World_Explode`): each shape in reach gets an impulse away from the centre of the explosion, in
//! proportion to the width that it turns towards it: full within a radius, and falling linearly to zero over a distance
//! beyond.

use glam::Vec2;

use crate::command::{Command, CommandError};
use crate::constants::MAX_LENGTH;
use crate::math::{cross, inv_rotate, mul_rotation, rotate};
use crate::query::narrow::{from_middle, pushable_shapes};
use crate::scene::{Compiled, MAX_POSITION, MAX_VALUE};
use crate::stages::collide::hull::Hull;
use crate::types::{Pose, ShapeData};

/// Distance from the centre below which the direction of a push would be noise, so that it goes to the right, m.
const NEAREST: f32 = 1e-6;

/// An explosion: its centre, reach and strength ([`World::explode`](crate::World::explode)).
///
/// ```
/// use drystone::{Body, Explosion, Scene, Shape, World};
///
/// let mut scene = Scene::new("burst").gravity(0.0, 0.0);
/// let ball = scene.add(Body::dynamic(2.0, 0.0).shape(Shape::circle(0.5)));
/// let mut world = World::new(&scene)?;
/// assert_eq!(world.explode(&Explosion { impulse_per_length: 1.0, ..Explosion::default() })?, 1);
/// world.step()?;
/// assert!(world.body(ball)?.velocity().x > 1.0);
/// # Ok::<(), drystone::WorldError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Explosion {
    /// Centre, m.
    pub position: Vec2,
    /// Distance up to which shapes get the full impulse, m.
    pub radius: f32,
    /// Distance beyond the radius over which the impulse falls linearly to zero, m.
    pub falloff: f32,
    /// Impulse for a metre of width that a shape turns towards the centre, N·s/m. Negative values pull.
    pub impulse_per_length: f32,
    /// Categories of shapes that are pushed, as bits.
    pub mask: u32,
}

impl Default for Explosion {
    /// Returns an explosion at the origin of 10 N·s/m, with a radius of 5 m and a falloff of 5 m.
    fn default() -> Self {
        Self { position: Vec2::ZERO, radius: 5.0, falloff: 5.0, impulse_per_length: 10.0, mask: u32::MAX }
    }
}

impl Explosion {
    /// # Errors
    /// The first value that is out of range.
    pub(crate) fn check(&self) -> Result<(), CommandError> {
        let far = MAX_POSITION;
        let values = [
            ("the position", self.position.x, -far..=far, "within 10,000 km of (0, 0)"),
            ("the position", self.position.y, -far..=far, "within 10,000 km of (0, 0)"),
            ("the radius", self.radius, 0.0..=MAX_LENGTH, "from 0 to 100 km"),
            ("the falloff", self.falloff, 0.0..=MAX_LENGTH, "from 0 to 100 km"),
            ("the impulse per length", self.impulse_per_length, -MAX_VALUE..=MAX_VALUE, "of at most 1e15 in size"),
        ];
        CommandError::check_values(values)
    }

    /// Returns the impulses on the bodies of a world, by their slots.
    pub(crate) fn pushes(&self, compiled: &Compiled, poses: &[Pose]) -> Vec<(usize, Command)> {
        let push = |(shape, pose): (&ShapeData, &Pose)| {
            let (impulse, arm) = self.push(shape, &compiled.vertices, pose)?;
            let body = shape.body as usize;
            let point = inv_rotate(pose.rotation.into(), arm) + compiled.mass[body].center;
            Some((body, Command::Impulse { impulse, point: Some(point) }))
        };
        pushable_shapes(compiled, poses, self.mask).filter_map(push).collect()
    }

    /// Returns the impulse on a shape and the arm at which it acts, from the centre of mass, if the shape is in reach.
    fn push(&self, shape: &ShapeData, vertices: &[[f32; 2]], pose: &Pose) -> Option<(Vec2, Vec2)> {
        let turn = mul_rotation(pose.rotation.into(), shape.rotation.into());
        let place = inv_rotate(turn, from_middle(self.position, shape, pose));
        let reach = self.radius + self.falloff;
        if place.length() > reach + shape.bound {
            return None;
        }
        let hull = Hull::new(shape, vertices);
        let (nearest, distance) = nearest(&hull, place);
        if distance > reach {
            return None;
        }
        let away = nearest - place;
        let away = if away.length() > NEAREST { away.normalize() } else { inv_rotate(turn, Vec2::X) };
        let share = if distance > self.radius && self.falloff > 0.0 {
            ((reach - distance) / self.falloff).clamp(0.0, 1.0)
        } else {
            1.0
        };
        let impulse = away * (self.impulse_per_length * width(&hull, away) * share).clamp(-MAX_VALUE, MAX_VALUE);
        Some((rotate(turn, impulse), rotate(pose.rotation.into(), shape.offset.into()) + rotate(turn, nearest)))
    }
}

/// Returns the impulses on the bodies of a world with these poses. They are in the order of the shapes, so that both
/// backends give the same commands.
///
/// # Errors
/// The first value that is out of range.
pub fn explosion_pushes(
    explosion: &Explosion,
    compiled: &Compiled,
    poses: &[Pose],
) -> Result<Vec<(usize, Command)>, CommandError> {
    explosion.check()?;
    Ok(explosion.pushes(compiled, poses))
}

/// Returns the point of a shape nearest to a point of the world, and its distance. If that point is in the shape: the
/// shape's middle.
fn nearest(hull: &Hull, place: Vec2) -> (Vec2, f32) {
    let points = &hull.points[..hull.count];
    let mut best = (points[0], f32::INFINITY);
    let mut inside = hull.count > 2;
    for (index, &point) in points.iter().enumerate() {
        let edge = points[hull.next(index)] - point;
        let arm = place - point;
        let length = edge.length_squared();
        let along = if length > 0.0 { (arm.dot(edge) / length).clamp(0.0, 1.0) } else { 0.0 };
        let candidate = point + edge * along;
        let distance = place.distance(candidate);
        if distance < best.1 {
            best = (candidate, distance);
        }
        inside &= cross(edge, arm) >= 0.0;
    }
    let (core, distance) = best;
    if inside || distance <= hull.radius {
        #[allow(clippy::cast_precision_loss, reason = "at most 8")]
        let middle = points.iter().sum::<Vec2>() / hull.count as f32;
        return (middle, 0.0);
    }
    (core + (place - core) * (hull.radius / distance), distance - hull.radius)
}

/// Returns the width of a shape across a direction, m.
fn width(hull: &Hull, along: Vec2) -> f32 {
    let across = along.perp();
    let (mut low, mut high) = (f32::INFINITY, f32::NEG_INFINITY);
    for point in &hull.points[..hull.count] {
        let at = across.dot(*point);
        (low, high) = (low.min(at), high.max(at));
    }
    high - low + 2.0 * hull.radius
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::{Geometry, Shape as SceneShape};
    use crate::{Body, Scene};

    /// Shapes at the origin, each on a body of its own.
    fn compiled(shapes: Vec<Geometry>) -> Compiled {
        let mut scene = Scene::new("burst");
        for geometry in shapes {
            scene.add(Body::dynamic(0.0, 0.0).shape(SceneShape::new(geometry)));
        }
        Compiled::new(&scene).unwrap()
    }

    #[test]
    fn nearest_points_and_widths_are_those_of_geometry() {
        let world = compiled(vec![
            Geometry::Circle { radius: 0.5 },
            Geometry::Box { half: Vec2::new(2.0, 1.0), radius: 0.0 },
            Geometry::Capsule { a: Vec2::new(-1.0, 0.0), b: Vec2::new(1.0, 0.0), radius: 0.25 },
        ]);
        let hull = |index: usize| Hull::new(&world.shapes[index], &world.vertices);
        for (shape, place, expected, distance, seen) in [
            (0, Vec2::new(2.0, 0.0), Vec2::new(0.5, 0.0), 1.5, 1.0),
            (1, Vec2::new(0.0, 3.0), Vec2::new(0.0, 1.0), 2.0, 4.0),
            (1, Vec2::new(5.0, 5.0), Vec2::new(2.0, 1.0), 5.0, 0.0),
            (1, Vec2::new(1.5, 0.5), Vec2::ZERO, 0.0, 0.0),
            (2, Vec2::new(0.0, -2.0), Vec2::new(0.0, -0.25), 1.75, 2.5),
            (2, Vec2::new(3.0, 0.0), Vec2::new(1.25, 0.0), 1.75, 0.5),
        ] {
            let (point, away) = nearest(&hull(shape), place);
            assert!(
                point.distance(expected) < 1e-6 && (away - distance).abs() < 1e-6,
                "{shape} {place}: {point} {away}"
            );
            if seen > 0.0 {
                assert!((width(&hull(shape), (point - place).normalize()) - seen).abs() < 1e-6, "{shape} {place}");
            }
        }
        // The diagonal of a square is as wide as it is long.
        let square = compiled(vec![Geometry::Box { half: Vec2::ONE, radius: 0.0 }]);
        let seen = width(&Hull::new(&square.shapes[0], &square.vertices), Vec2::ONE.normalize());
        assert!((seen - 8_f32.sqrt()).abs() < 1e-6, "{seen}");
    }

    #[test]
    fn values_out_of_range_are_refused() {
        assert!(Explosion::default().check().is_ok());
        for (wrong, what) in [
            (Explosion { radius: -1.0, ..Explosion::default() }, "the radius"),
            (Explosion { falloff: f32::NAN, ..Explosion::default() }, "the falloff"),
            (Explosion { position: Vec2::splat(f32::INFINITY), ..Explosion::default() }, "the position"),
            (Explosion { impulse_per_length: 1e20, ..Explosion::default() }, "the impulse"),
        ] {
            let error = wrong.check().unwrap_err().to_string();
            assert!(error.starts_with(what), "{error}");
        }
    }
}
