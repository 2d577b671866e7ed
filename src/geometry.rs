//! Geometry of shapes without a world: distance, contact points, time of impact, rays, mass and bounds of single
//! shapes, and outlines as shapes. The functions are those by which worlds are stepped and queries are answered.
//!
//! ```
//! use drystone::Shape;
//! use drystone::geometry::{PlacedShape, ShapeSweep};
//!
//! let floor = PlacedShape::new(&Shape::half_box(5.0, 0.5), [0.0, -0.5], 0.0)?;
//! let ball = PlacedShape::new(&Shape::circle(0.5), [1.0, 2.5], 0.0)?;
//! let gap = floor.distance(&ball).expect("not two half planes");
//! assert!((gap.distance - 2.0).abs() < 1e-6 && gap.normal.y > 0.999);
//!
//! let fall = ShapeSweep { velocity: [0.0, -4.0].into(), ..ShapeSweep::default() };
//! let hit = ball.time_of_impact(&fall, &floor, &ShapeSweep::default(), 1.0)?.expect("it falls on the floor");
//! assert!((hit.time - 0.5).abs() < 1e-3);
//! # Ok::<(), drystone::SceneError>(())
//! ```
//!
//! Angles are in radians, counter-clockwise. Rounding is that of f32, about 1e-6 of the lengths in a question.

use glam::{DVec2, Vec2};

use crate::constants::{DEFAULT_SLOP, FAR};
use crate::math::{mul_rotation, rotate, rotation};
use crate::query::narrow::{ray_shape, region_shape};
use crate::scene::{
    ANGLE, Body, OFFSET, POSITION, SPAN, SPIN, SceneError, Shape, VELOCITY, check_shape, dynamic_mass, flatten_shape,
    show,
};
pub use crate::scene::{MassProperties, convex_hull, convex_parts, crosses_itself, tiles_to_chains};
use crate::stages::bound::bound_shape;
use crate::stages::collide::{Touch, manifold};
use crate::stages::continuous::{Party, SweepMotion, gap, overlap, place, time_of_impact};
use crate::types::{GEOMETRY_MASK, HALF_PLANE, LINK_SHAPE, MAX_VERTICES, Pose, Ray, Region, ShapeData};

/// Rows of the vertex table that a shape has: its vertices, and the angles of a link.
const ROWS: usize = MAX_VERTICES as usize + 1;
/// Turn within which a motion is taken for even, rad: it is interpolated along the chord, with an error of 2e-6 rad.
const EVEN_TURN: f64 = std::f64::consts::PI / 64.0;
/// Largest turn of a sweep, rad. More: it would take seconds.
const MAX_SWEEP_TURN: f32 = 1000.0;
/// Distance at which two shapes count as meeting, as a share of the smaller one.
const MEETING: f32 = 2e-5;
/// Distance at which two shapes count as meeting, as a share of the way between their centres: above rounding.
const MEETING_FAR: f32 = 1e-6;
/// Most parts of a sweep. Then it ends at a time at which the shapes have not met yet.
const MAX_SWEEP_PARTS: usize = 1 << 16;

/// A shape at a pose in the plane, checked once, to be asked often.
///
/// Shapes are filled. Segments and links of chains have no inside, and are solid from both sides but for
/// [`Self::contact`].
#[derive(Clone, Debug, PartialEq)]
pub struct PlacedShape {
    shape: ShapeData,
    vertices: [[f32; 2]; ROWS],
    pose: Pose,
}

/// Distance of two shapes, and the points at which they are nearest.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ShapeDistance {
    /// Distance, m; the shortest way apart, negative, if they overlap.
    pub distance: f32,
    /// Direction from the first shape to the second, of length 1; to 1e-3 rad where a corner is all but over the end of
    /// a side.
    pub normal: Vec2,
    /// Nearest, or deepest, point of the first shape, m.
    pub point_a: Vec2,
    /// Nearest, or deepest, point of the second shape, m.
    pub point_b: Vec2,
}

/// Contact points of two shapes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ShapeContact {
    /// Direction from the first shape to the second, of length 1; (0, 0) without points.
    pub normal: Vec2,
    count: usize,
    points: [ShapeContactPoint; 2],
}

impl ShapeContact {
    /// Returns the points, at most two.
    #[must_use]
    pub fn points(&self) -> &[ShapeContactPoint] {
        &self.points[..self.count]
    }
}

/// A point of a [`ShapeContact`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ShapeContactPoint {
    /// Point halfway between the two surfaces, m.
    pub point: Vec2,
    /// Distance of the surfaces there along the normal, m; negative if they overlap.
    pub separation: f32,
    /// Number of the pair of corners that made the point: equal for the same point of shapes that moved a little.
    pub feature: u32,
}

/// Motion of a shape at constant velocities.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ShapeSweep {
    /// Velocity of [`Self::center`], m/s.
    pub velocity: Vec2,
    /// Angular velocity, rad/s.
    pub angular_velocity: f32,
    /// Point about which the shape turns, in the frame that was given with its pose, m: the centre of mass of a body.
    pub center: Vec2,
}

/// Meeting of two moving shapes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ShapeImpact {
    /// Time, s; 0 if they overlap at the start.
    pub time: f32,
    /// Point where they meet, m.
    pub point: Vec2,
    /// Direction from the first shape to the second, of length 1.
    pub normal: Vec2,
}

/// Hit of a ray on a shape.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ShapeHit {
    /// Fraction of the way from start to end, 0 – 1; 0 if the ray starts in the shape.
    pub fraction: f32,
    /// Point on the surface, m.
    pub point: Vec2,
    /// Normal out of the shape, of length 1; against the ray if it starts in the shape.
    pub normal: Vec2,
}

/// Returns mass, kg, moment of inertia about the centre of mass, kg·m², and centre of mass, m, of a shape with its
/// density, in the frame in which its offset and rotation are. Segments, links and half planes have no mass.
///
/// ```
/// use drystone::Shape;
/// use drystone::geometry::mass;
///
/// let of_box = mass(&Shape::half_box(0.5, 1.0).density(3.0).offset(2.0, 0.0))?;
/// assert_eq!((of_box.mass, of_box.center.x), (6.0, 2.0));
/// # Ok::<(), drystone::SceneError>(())
/// ```
///
/// # Errors
/// The first value of the shape that is out of range.
pub fn mass(shape: &Shape) -> Result<MassProperties, SceneError> {
    check_shape(shape, &Body::fixed(0.0, 0.0), format_args!("shape"))?;
    Ok(dynamic_mass(&Body::dynamic(0.0, 0.0).shape(shape.clone())))
}

impl PlacedShape {
    /// Returns a shape on a frame at a position, m, and an angle, rad. The offset and the rotation of the shape are
    /// within that frame, as on a body.
    ///
    /// # Errors
    /// The first value that is out of range, by its path, such as `shape.polygon.points[2]` or `angle`.
    pub fn new(shape: &Shape, position: impl Into<Vec2>, angle: f32) -> Result<Self, SceneError> {
        let position = position.into();
        check_shape(shape, &Body::fixed(0.0, 0.0), format_args!("shape"))?;
        POSITION.check_pair(position, format_args!("position"))?;
        ANGLE.check(angle, format_args!("angle"))?;
        let mut rows = Vec::with_capacity(ROWS);
        let flat = flatten_shape(shape, Vec2::ZERO, &mut rows);
        let mut vertices = [[0.0; 2]; ROWS];
        vertices[..rows.len()].copy_from_slice(&rows);
        let pose = Pose::new(position.as_dvec2(), rotation(angle));
        Ok(Self { shape: flat, vertices, pose })
    }

    /// Returns the shape where a motion has brought it after a time, s.
    #[must_use]
    pub fn moved(&self, sweep: &ShapeSweep, time: f32) -> Self {
        let course = Course::new(self, sweep);
        let turn = mul_rotation(course.turn(f64::from(time)), self.pose.rotation.into());
        let center = course.at(f64::from(time)).as_vec2();
        let pose = Pose::new((center - rotate(turn, sweep.center)).as_dvec2(), turn);
        Self { pose, ..self.clone() }
    }

    fn is_half_plane(&self) -> bool {
        self.shape.kind & GEOMETRY_MASK == HALF_PLANE
    }

    /// Returns the contact points with another shape, from the first to the second, as the solver finds them. Without
    /// `has_sides` links are solid from both sides. A half plane can only be the second.
    fn touch(&self, other: &Self, reach: f32, slop: f32, has_sides: bool) -> Touch {
        let (mut a, mut b) = (self.shape, other.shape);
        if !has_sides {
            a.kind &= !LINK_SHAPE;
            b.kind &= !LINK_SHAPE;
        }
        let mut vertices = [[0.0; 2]; 2 * ROWS];
        vertices[..ROWS].copy_from_slice(&self.vertices);
        vertices[ROWS..].copy_from_slice(&other.vertices);
        b.first_vertex = MAX_VERTICES + 1;
        manifold(&a, &b, &vertices, &self.pose, &other.pose, reach, slop)
    }

    /// Returns the distance from another shape, and the nearest points of both; if they overlap, the shortest way apart
    /// and the deepest points. `None` for two half planes.
    #[must_use]
    pub fn distance(&self, other: &Self) -> Option<ShapeDistance> {
        if self.is_half_plane() {
            let found = if other.is_half_plane() { None } else { other.distance(self) }?;
            return Some(ShapeDistance {
                normal: -found.normal,
                point_a: found.point_b,
                point_b: found.point_a,
                ..found
            });
        }
        let touch = self.touch(other, FAR, 0.0, false);
        let points = touch.points[..touch.count as usize].iter();
        let point = points.min_by(|a, b| a.separation.total_cmp(&b.separation))?;
        let middle = Vec2::from(self.pose.position) + point.anchor_a;
        let half = touch.normal * (0.5 * point.separation);
        Some(ShapeDistance {
            distance: point.separation,
            normal: touch.normal,
            point_a: middle - half,
            point_b: middle + half,
        })
    }

    /// Returns the points at which another shape is nearer than `reach`, m, as the solver finds them for bodies of
    /// about 1 m; none for two half planes. A link of a chain has contacts on its right side only, and at its ends
    /// those that are not its neighbour's.
    ///
    /// ```
    /// use drystone::Shape;
    /// use drystone::geometry::PlacedShape;
    ///
    /// let floor = PlacedShape::new(&Shape::half_plane([0.0, 1.0], 0.0), [0.0, 0.0], 0.0)?;
    /// let crate_on_it = PlacedShape::new(&Shape::half_box(0.5, 0.5), [3.0, 0.49], 0.0)?;
    /// let contact = crate_on_it.contact(&floor, 0.0);
    /// assert_eq!(contact.points().len(), 2);
    /// assert!((contact.points()[0].separation + 0.01).abs() < 1e-6 && contact.normal.y == -1.0);
    /// # Ok::<(), drystone::SceneError>(())
    /// ```
    #[must_use]
    pub fn contact(&self, other: &Self, reach: f32) -> ShapeContact {
        if self.is_half_plane() {
            let found = if other.is_half_plane() { ShapeContact::default() } else { other.contact(self, reach) };
            return ShapeContact { normal: -found.normal, ..found };
        }
        let touch = self.touch(other, reach, DEFAULT_SLOP, true);
        let mut contact = ShapeContact { count: touch.count as usize, ..ShapeContact::default() };
        for (point, found) in contact.points.iter_mut().zip(&touch.points).take(contact.count) {
            let at = Vec2::from(self.pose.position) + found.anchor_a;
            *point = ShapeContactPoint { point: at, separation: found.separation, feature: found.feature };
        }
        contact.normal = if contact.count > 0 { touch.normal } else { Vec2::ZERO };
        contact
    }

    /// Returns the first meeting with another shape until `max_time`, s, while both move and turn at constant
    /// velocities; `None` if there is none. By conservative advancement (Box2D: `b2TimeOfImpact`): at that time the
    /// shapes do not overlap, and are nearer than a ten-thousandth of the smaller one's size and 3e-6 of the way
    /// between their centres. At the start they may overlap: then the time is 0.
    ///
    /// # Errors
    /// A velocity that is not a number, or moves its shape by more than 100 km or 1000 rad until `max_time`; a time
    /// that is negative or above 1000 s.
    pub fn time_of_impact(
        &self,
        sweep: &ShapeSweep,
        other: &Self,
        other_sweep: &ShapeSweep,
        max_time: f32,
    ) -> Result<Option<ShapeImpact>, SceneError> {
        SPAN.check(max_time, format_args!("max_time"))?;
        check_sweep(sweep, max_time, "sweep")?;
        check_sweep(other_sweep, max_time, "other_sweep")?;
        let are_turned = self.is_half_plane();
        if are_turned && other.is_half_plane() {
            return Ok(None);
        }
        let pair = if are_turned {
            (Course::new(other, other_sweep), Course::new(self, sweep))
        } else {
            (Course::new(self, sweep), Course::new(other, other_sweep))
        };
        let Some(time) = first_meeting(&pair.0, &pair.1, f64::from(max_time)) else { return Ok(None) };
        #[allow(clippy::cast_possible_truncation, reason = "rounded to f32 on purpose")]
        let time = time as f32;
        let met = self.moved(sweep, time).distance(&other.moved(other_sweep, time)).unwrap_or_default();
        Ok(Some(ShapeImpact { time, point: 0.5 * (met.point_a + met.point_b), normal: met.normal }))
    }

    /// Returns the first point of the shape on the way from one point to another, m, by the rules of [`Query::ray`];
    /// `None` if it is not on the way, or a coordinate is not finite.
    ///
    /// [`Query::ray`]: crate::Query::ray
    #[must_use]
    pub fn ray_cast(&self, from: impl Into<Vec2>, to: impl Into<Vec2>) -> Option<ShapeHit> {
        let (from, to) = (from.into(), to.into());
        if !(from.is_finite() && to.is_finite()) {
            return None;
        }
        let ray = Ray { origin: from.into(), delta: (to - from).into(), ..Ray::default() };
        let (fraction, normal) = ray_shape(&ray, &self.shape, &self.vertices, &self.pose)?;
        Some(ShapeHit { fraction, point: from + (to - from) * fraction, normal })
    }

    /// Returns true if a point, m, is in the shape or on its boundary.
    #[must_use]
    pub fn contains(&self, point: impl Into<Vec2>) -> bool {
        let point = point.into();
        let region = Region { center: point.into(), count: 1, ..Region::default() };
        point.is_finite() && region_shape(&region, &self.shape, &self.vertices, &self.pose)
    }

    /// Returns the lowest and the highest corner of the axis-aligned box around the shape, m; `None` for a half plane.
    #[must_use]
    pub fn bounds(&self) -> Option<[Vec2; 2]> {
        let aabb = bound_shape(&self.shape, &self.vertices, &self.pose, Vec2::ZERO);
        (!self.is_half_plane()).then(|| [aabb.min.into(), aabb.max.into()])
    }
}

fn check_sweep(sweep: &ShapeSweep, max_time: f32, path: &str) -> Result<(), SceneError> {
    VELOCITY.check_pair(sweep.velocity, format_args!("{path}.velocity"))?;
    SPIN.check(sweep.angular_velocity, format_args!("{path}.angular_velocity"))?;
    OFFSET.check_pair(sweep.center, format_args!("{path}.center"))?;
    OFFSET.check_pair(sweep.velocity * max_time, format_args!("{path}.velocity * max_time"))?;
    let turn = (sweep.angular_velocity * max_time).abs();
    if turn > MAX_SWEEP_TURN {
        let expected = format!("a turn of at most {MAX_SWEEP_TURN} rad until max_time");
        let problem = format!("turns the shape by {} rad", show(turn));
        return Err(SceneError::new(format!("{path}.angular_velocity"), problem, expected));
    }
    Ok(())
}

/// A moving shape, in f64: rounding of a long way would be more than the distance at which shapes meet.
struct Course {
    /// The shape, about the point about which it turns.
    shape: ShapeData,
    vertices: [[f32; 2]; ROWS],
    start: DVec2,
    velocity: DVec2,
    rotation: Vec2,
    spin: f64,
}

impl Course {
    fn new(placed: &PlacedShape, sweep: &ShapeSweep) -> Self {
        let rotation = Vec2::from(placed.pose.rotation);
        let offset = Vec2::from(placed.shape.offset) - sweep.center;
        Self {
            shape: ShapeData { offset: offset.into(), ..placed.shape },
            vertices: placed.vertices,
            start: Vec2::from(placed.pose.position).as_dvec2() + rotate(rotation, sweep.center).as_dvec2(),
            velocity: sweep.velocity.as_dvec2(),
            rotation,
            spin: f64::from(sweep.angular_velocity),
        }
    }

    fn at(&self, time: f64) -> DVec2 {
        self.start + self.velocity * time
    }

    /// Returns the rotation within a time, s.
    fn turn(&self, time: f64) -> Vec2 {
        #[allow(clippy::cast_possible_truncation, reason = "rounded to f32 on purpose")]
        let angle = (self.spin * time % std::f64::consts::TAU) as f32;
        rotation(angle)
    }

    /// Returns the shape as it moves from one time to another, relative to a point.
    fn party(&self, from: f64, to: f64, base: DVec2) -> Party {
        let motion = SweepMotion {
            start: (self.at(from) - base).as_vec2(),
            rotation: mul_rotation(self.turn(from), self.rotation),
            moved: (self.velocity * (to - from)).as_vec2(),
            turned: self.turn(to - from),
        };
        Party::new(&self.shape, &self.vertices, motion)
    }
}

/// Returns the time at which two shapes first meet, s; `None` if not until `max_time`. Only the second may be a half
/// plane.
fn first_meeting(a: &Course, b: &Course, max_time: f64) -> Option<f64> {
    let spin = a.spin.abs().max(b.spin.abs());
    let longest = if spin > 0.0 { EVEN_TURN / spin } else { f64::INFINITY };
    let is_plane = b.shape.kind & GEOMETRY_MASK == HALF_PLANE;
    let size = if is_plane { a.shape.bound } else { a.shape.bound.min(b.shape.bound) };
    let mut time = 0.0;
    for _ in 0..MAX_SWEEP_PARTS {
        let end = max_time.min(time + longest);
        let base = a.at(time);
        let (first, second) = (a.party(time, end, base), b.party(time, end, base));
        let placed = place(&first, &second, 0.0);
        let far = (b.at(time) - base).as_vec2().length() + first.arm().max(second.arm());
        let target = size * MEETING + far * MEETING_FAR;
        if overlap(&first, &second, &placed) || gap(&first, &second, &placed).0 <= 2.0 * target {
            return Some(time);
        }
        if time >= max_time {
            return None;
        }
        let share = time_of_impact(&first, &second, target, 0.9 * target, 1.0);
        time = if share >= 1.0 { end } else { time + (end - time) * f64::from(share) };
    }
    Some(time)
}
