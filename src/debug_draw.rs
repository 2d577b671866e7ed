//! Debug drawing: a world as lines, circles, polygons and text, for a renderer of your own.
//!
//! ```
//! use drystone::debug_draw::{DebugDraw, DebugDrawOptions};
//! use drystone::glam::Vec2;
//! use drystone::{Body, Scene, Shape, World};
//!
//! /// Counts lines: circles, polygons and points become lines where a renderer has nothing better.
//! struct Count(usize);
//!
//! impl DebugDraw for Count {
//!     fn line(&mut self, _: Vec2, _: Vec2, _color: u32) {
//!         self.0 += 1;
//!     }
//! }
//!
//! let mut scene = Scene::new("a box");
//! scene.add(Body::dynamic(0.0, 4.0).shape(Shape::half_box(0.5, 0.5)));
//! let mut count = Count(0);
//! World::new(&scene)?.debug_draw(&mut count, &DebugDrawOptions::default())?;
//! assert_eq!(count.0, 4);
//! # Ok::<(), drystone::WorldError>(())
//! ```
//!
//! The crate `drystone-draw` makes pictures and movies on the GPU, for worlds of any size. This here goes through all
//! shapes on one thread.

use glam::Vec2;

use crate::math::{inv_mul_rotation, mul_rotation, rotate, rotation};
use crate::population::{Population, living};
use crate::scene::Compiled;
use crate::snapshot::Snapshot;
use crate::stages::bound::bound_shape;
use crate::stages::collide::hull::Hull;
use crate::state::is_asleep;
use crate::types::{
    Aabb, BROKEN, CIRCLE, Contact, DYNAMIC, FIXED_SHAPE, GEOMETRY_MASK, HALF_PLANE, JOINT_DISABLED, JOINT_VACANT,
    KINEMATIC_SHAPE, Manifold, NO_SHAPE, POINT_COUNT_MASK, Pose, QUARANTINED, SENSOR_SHAPE, ShapeData, WORLD_A,
};

/// Colour of shapes of static bodies, 0xRRGGBB, as all others.
pub const STATIC_COLOR: u32 = 0x7f_8c_8d;
/// Colour of shapes of kinematic bodies.
pub const KINEMATIC_COLOR: u32 = 0x29_80_b9;
/// Colour of shapes of dynamic bodies that are awake.
pub const DYNAMIC_COLOR: u32 = 0xe6_7e_22;
/// Colour of shapes of dynamic bodies that sleep.
pub const ASLEEP_COLOR: u32 = 0xa8_8a_6c;
/// Colour of sensors.
pub const SENSOR_COLOR: u32 = 0x27_ae_60;
/// Colour of joints.
pub const JOINT_COLOR: u32 = 0x8e_44_ad;
/// Colour of axis-aligned boxes.
pub const BOUNDS_COLOR: u32 = 0xbd_c3_c7;
/// Colour of contact points.
pub const CONTACT_COLOR: u32 = 0xc0_39_2b;
/// Colour of contact normals.
pub const NORMAL_COLOR: u32 = 0xf1_c4_0f;
/// Colour of centres of mass.
pub const CENTER_COLOR: u32 = 0x2c_3e_50;
/// Colour of velocities.
pub const VELOCITY_COLOR: u32 = 0x16_a0_85;
/// Colour of names.
pub const NAME_COLOR: u32 = 0x34_49_5e;

/// Corners of a circle, and of a whole turn of rounded corners, that is drawn as lines.
const CIRCLE_CORNERS: u8 = 24;
/// Half the length of the line that stands for a half plane, in length units, where no part of the plane is given.
const PLANE_REACH: f32 = 100.0;

/// A renderer of lines and figures in the coordinates of a world, m, with colours 0xRRGGBB. Only lines are needed: the
/// others are drawn as lines, and text is left out, unless a renderer has something better.
pub trait DebugDraw {
    /// Draws a line.
    fn line(&mut self, from: Vec2, to: Vec2, color: u32);

    /// Draws a closed polygon.
    fn polygon(&mut self, points: &[Vec2], color: u32) {
        for (index, &point) in points.iter().enumerate() {
            self.line(point, points[(index + 1) % points.len()], color);
        }
    }

    /// Draws a circle.
    fn circle(&mut self, center: Vec2, radius: f32, color: u32) {
        let step = std::f32::consts::TAU / f32::from(CIRCLE_CORNERS);
        let corner = |index: u8| center + rotation(step * f32::from(index)) * radius;
        self.polygon(&(0..CIRCLE_CORNERS).map(corner).collect::<Vec<_>>(), color);
    }

    /// Draws a point; `size` is half the width of the cross that stands for it, m.
    fn point(&mut self, at: Vec2, size: f32, color: u32) {
        for arm in [Vec2::new(size, 0.0), Vec2::new(0.0, size)] {
            self.line(at - arm, at + arm, color);
        }
    }

    /// Draws text that begins at a point.
    fn text(&mut self, _at: Vec2, _text: &str, _color: u32) {}
}

/// Parts of a world that [`World::debug_draw`](crate::World::debug_draw) draws. By default shapes and joints.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DebugDrawOptions {
    /// Draw shapes. Circles have a radius that shows their angle.
    pub shapes: bool,
    /// Draw joints: lines from the centres of both bodies to their anchors, and from anchor to anchor.
    pub joints: bool,
    /// Draw axis-aligned boxes of shapes, without the margin of the solver.
    pub bounds: bool,
    /// Draw contact points of the last step.
    pub contacts: bool,
    /// Draw contact normals of the last step, from shape A to shape B of a contact.
    pub normals: bool,
    /// Draw centres of mass.
    pub centers: bool,
    /// Draw velocities of centres of mass.
    pub velocities: bool,
    /// Draw names of bodies ([`Body::id`](crate::Body::id)) at their centres of mass.
    pub names: bool,
    /// Half the width of points, m. `None`: 0.05 length units. A normal is four times as long.
    pub point_size: Option<f32>,
    /// Length of the line for a velocity of 1 m/s, m: a time, s. Default 0.1.
    pub velocity_scale: f32,
    /// Part of the plane, by its lowest and highest corner, m: shapes outside are left out. `None`: all are drawn.
    pub within: Option<[Vec2; 2]>,
}

impl Default for DebugDrawOptions {
    fn default() -> Self {
        Self {
            shapes: true,
            joints: true,
            bounds: false,
            contacts: false,
            normals: false,
            centers: false,
            velocities: false,
            names: false,
            point_size: None,
            velocity_scale: 0.1,
            within: None,
        }
    }
}

impl DebugDrawOptions {
    /// Returns options by which everything is drawn.
    #[must_use]
    pub fn everything() -> Self {
        Self {
            bounds: true,
            contacts: true,
            normals: true,
            centers: true,
            velocities: true,
            names: true,
            ..Self::default()
        }
    }
}

/// Draws the state of a world.
pub(crate) fn debug_draw(
    compiled: &Compiled,
    population: Option<&Population>,
    snapshot: &Snapshot,
    options: &DebugDrawOptions,
    to: &mut dyn DebugDraw,
) {
    let picture = Picture { compiled, snapshot, options };
    for shape in compiled.shapes.iter().filter(|shape| picture.has_shape(shape)) {
        picture.shape(shape, to);
    }
    if options.joints {
        picture.joints(to);
    }
    let awake = snapshot.contacts.iter().zip(&snapshot.manifolds);
    let asleep = snapshot.sleeping.iter().map(|row| (&row.contact, &row.manifold));
    for (contact, manifold) in awake.chain(asleep) {
        picture.contact(contact, manifold, to);
    }
    for slot in living(compiled, population).map(|body| body.index as usize) {
        picture.body(slot, to);
    }
}

struct Picture<'a> {
    compiled: &'a Compiled,
    snapshot: &'a Snapshot,
    options: &'a DebugDrawOptions,
}

impl Picture<'_> {
    fn pose(&self, body: u32) -> Pose {
        self.snapshot.poses[body as usize]
    }

    fn point_size(&self) -> f32 {
        self.options.point_size.unwrap_or(0.05 * self.compiled.units.length)
    }

    fn shows(&self, low: Vec2, high: Vec2) -> bool {
        let Some([from, to]) = self.options.within else { return true };
        low.cmple(to).all() && high.cmpge(from).all()
    }

    fn is_lost(&self, body: u32) -> bool {
        self.snapshot.states[body as usize].status & QUARANTINED != 0
    }

    fn has_shape(&self, shape: &ShapeData) -> bool {
        (self.options.shapes || self.options.bounds)
            && shape.kind & GEOMETRY_MASK != NO_SHAPE
            && !self.is_lost(shape.body)
    }

    fn color(&self, shape: &ShapeData) -> u32 {
        let kind = shape.kind;
        if kind & SENSOR_SHAPE != 0 {
            SENSOR_COLOR
        } else if kind & KINEMATIC_SHAPE != 0 {
            KINEMATIC_COLOR
        } else if kind & FIXED_SHAPE != 0 {
            STATIC_COLOR
        } else if is_asleep(self.compiled, self.snapshot, shape.body as usize) {
            ASLEEP_COLOR
        } else {
            DYNAMIC_COLOR
        }
    }

    fn shape(&self, shape: &ShapeData, to: &mut dyn DebugDraw) {
        let (pose, color) = (self.pose(shape.body), self.color(shape));
        let turn = mul_rotation(pose.rotation.into(), shape.rotation.into());
        let center = Vec2::from(pose.position) + rotate(pose.rotation.into(), shape.offset.into());
        if shape.kind & GEOMETRY_MASK == HALF_PLANE {
            if self.options.shapes {
                self.half_plane(center, turn, color, to);
            }
            return;
        }
        let Aabb { min, max } = bound_shape(shape, &self.compiled.vertices, &pose, Vec2::ZERO);
        let (low, high) = (Vec2::from(min), Vec2::from(max));
        if !self.shows(low, high) {
            return;
        }
        if self.options.shapes && shape.kind & GEOMETRY_MASK == CIRCLE {
            to.circle(center, shape.radius, color);
            to.line(center, center + turn * shape.radius, color);
        } else if self.options.shapes {
            let hull = Hull::new(shape, &self.compiled.vertices);
            let outline: Vec<Vec2> = outline(&hull).into_iter().map(|point| center + rotate(turn, point)).collect();
            if let [from, end] = outline[..] { to.line(from, end, color) } else { to.polygon(&outline, color) }
        }
        if self.options.bounds {
            to.polygon(&[low, Vec2::new(high.x, low.y), high, Vec2::new(low.x, high.y)], BOUNDS_COLOR);
        }
    }

    /// Draws the surface of a half plane, as far as the picture goes.
    fn half_plane(&self, center: Vec2, along: Vec2, color: u32, to: &mut dyn DebugDraw) {
        let (middle, reach) = match self.options.within {
            Some([from, end]) => (0.5 * (from + end), 0.5 * from.distance(end)),
            None => (center, PLANE_REACH * self.compiled.units.length),
        };
        let foot = center + along * along.dot(middle - center);
        to.line(foot - along * reach, foot + along * reach, color);
    }

    fn joints(&self, to: &mut dyn DebugDraw) {
        let (joints, goals) = (&self.compiled.joints.joints, &self.snapshot.joint_goals);
        for ((joint, goal), state) in joints.iter().zip(goals).zip(&self.snapshot.joint_states) {
            let is_off = joint.flags & JOINT_VACANT != 0 || goal.flags & JOINT_DISABLED != 0;
            if is_off || state.status & BROKEN != 0 || self.is_lost(joint.body_a) || self.is_lost(joint.body_b) {
                continue;
            }
            let arm = |body: u32, anchor: [f32; 2]| {
                let pose = self.pose(body);
                let center = Vec2::from(pose.position);
                [center, center + rotate(pose.rotation.into(), anchor.into())]
            };
            let [center_b, anchor_b] = arm(joint.body_b, joint.anchor_b);
            let is_of_world = joint.flags & WORLD_A != 0;
            let [center_a, anchor_a] =
                if is_of_world { [goal.anchor_a.into(); 2] } else { arm(joint.body_a, goal.anchor_a) };
            let lines = [(anchor_b, center_b), (center_a, anchor_a), (anchor_a, anchor_b)];
            // A velocity joint holds no distance: its anchor on A means nothing.
            let count = if joint.kind_name() == "velocity" { 1 } else { lines.len() };
            for (from, end) in lines.into_iter().take(count).filter(|(from, end)| from != end) {
                to.line(from, end, JOINT_COLOR);
            }
            for anchor in [anchor_b, anchor_a].into_iter().take(count.min(2)) {
                to.point(anchor, 0.5 * self.point_size(), JOINT_COLOR);
            }
        }
    }

    fn contact(&self, contact: &Contact, manifold: &Manifold, to: &mut dyn DebugDraw) {
        if !(self.options.contacts || self.options.normals)
            || self.is_lost(contact.body_a)
            || self.is_lost(contact.body_b)
        {
            return;
        }
        // Anchors are those of the step that made the manifold; the bodies have turned since.
        let at = |body: u32, cached: [f32; 2], anchor: [f32; 2]| {
            let pose = self.pose(body);
            Vec2::from(pose.position) + rotate(inv_mul_rotation(cached.into(), pose.rotation.into()), anchor.into())
        };
        for point in &manifold.points[..(contact.flags & POINT_COUNT_MASK) as usize] {
            let on_a = at(contact.body_a, manifold.cached_rotation_a, point.anchor_a);
            let on_b = at(contact.body_b, manifold.cached_rotation_b, point.anchor_b);
            let (middle, size) = (0.5 * (on_a + on_b), self.point_size());
            if self.options.contacts {
                to.point(middle, size, CONTACT_COLOR);
            }
            if self.options.normals {
                to.line(middle, middle + Vec2::from(manifold.normal) * (4.0 * size), NORMAL_COLOR);
            }
        }
    }

    fn body(&self, slot: usize, to: &mut dyn DebugDraw) {
        let state = &self.snapshot.states[slot];
        if state.status & QUARANTINED != 0 {
            return;
        }
        let center = Vec2::from(self.snapshot.poses[slot].position);
        if !self.shows(center, center) {
            return;
        }
        if self.options.centers && self.compiled.bodies[slot].kind == DYNAMIC {
            to.point(center, self.point_size(), CENTER_COLOR);
        }
        let velocity = Vec2::from(state.velocity);
        if self.options.velocities && velocity != Vec2::ZERO {
            to.line(center, center + velocity * self.options.velocity_scale, VELOCITY_COLOR);
        }
        if let Some(name) = self.compiled.ids[slot].as_ref().filter(|_| self.options.names) {
            to.text(center, name, NAME_COLOR);
        }
    }
}

/// Returns the outline of a hull: its corners, or arcs about them.
fn outline(hull: &Hull) -> Vec<Vec2> {
    let corners = hull.outline();
    if hull.radius == 0.0 {
        return corners.to_vec();
    }
    let step = std::f32::consts::TAU / f32::from(CIRCLE_CORNERS);
    let out = |index: usize| {
        let (edge, _) = hull.edge(index);
        Vec2::new(edge.y, -edge.x)
    };
    let mut points = Vec::new();
    for (index, &corner) in corners.iter().enumerate() {
        let (from, end) = (out((index + corners.len() - 1) % corners.len()), out(index));
        points.push(corner + from * hull.radius);
        let mut normal = from;
        for _ in 0..CIRCLE_CORNERS {
            let next = rotate(rotation(step), normal);
            let is_past = from.perp_dot(next) < 0.0 || end.perp_dot(next) >= 0.0 && end.dot(next) > 0.0;
            if is_past {
                break;
            }
            normal = next;
            points.push(corner + normal * hull.radius);
        }
        points.push(corner + end * hull.radius);
    }
    points
}
