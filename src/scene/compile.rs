//! From a [`Scene`] to the flat arrays that both backends start from.

use std::collections::BTreeSet;

use glam::Vec2;

use super::emitter::Script;
use super::joint_table::Joints;
use super::{BodyType, Geometry, Mode, RestitutionMix, Scene, SceneError, Settings, ViewBox};
use crate::constants::{
    DEFAULT_CONTACT_HERTZ, DEFAULT_HERTZ_SHARE, FEW_LONG, LONG, MAX_CORRECTION, MAX_HERTZ_SHARE, MAX_QUIET, MAX_SPEED,
    MAX_TURN, RECYCLE_DISTANCE, SLEEP_SPEED, SLEEP_TIME, SPECULATIVE_DISTANCE,
};
use crate::math::{self, rotation};
use crate::stages::{
    bin::{level_of, middle},
    bound::bound_shape,
};
use crate::state::Fnv;
use crate::types::{self, Aabb, BodyState, Level, Params, Pose};

/// Sizes of square grid cells; each is four times as wide as the one below.
const CELL_SIZES: usize = types::MAX_LEVELS / 3;

/// Mass, inertia and centre of one body.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MassProperties {
    /// kg; 0 for static and kinematic bodies.
    pub mass: f32,
    /// kg·m² about the centre of mass; 0 likewise and for fixed rotation.
    pub inertia: f32,
    /// In the body's frame, m.
    pub center: Vec2,
}

/// The flat arrays a world starts from. Bodies are in scene order; so are shapes, half planes first.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// As in the scene.
    pub name: String,
    /// As in the scene.
    pub settings: Settings,
    /// Constants of a step.
    pub params: Params,
    /// One a body.
    pub bodies: Vec<types::Body>,
    /// One a body, of its centre of mass.
    pub poses: Vec<Pose>,
    /// One a body.
    pub states: Vec<BodyState>,
    /// One a body.
    pub mass: Vec<MassProperties>,
    /// One a body.
    pub ids: Vec<Option<String>>,
    /// Shapes of all bodies.
    pub shapes: Vec<types::Shape>,
    /// One a shape: what sweeps fast bodies.
    pub movers: Vec<types::Mover>,
    /// Vertices of all polygons, about the centre of their shape, m.
    pub vertices: Vec<[f32; 2]>,
    /// Whether two shapes can bounce at all; if not, the restitution stage is left out.
    pub bounces: bool,
    /// Whether there are, or were, shapes beside circles and boxes with sharp corners.
    pub hulls: bool,
    /// Joints.
    pub joints: Joints,
    /// Bodies that are led along paths.
    pub paths: Vec<Led>,
    /// Part of the plane that pictures show, as in the scene.
    pub view: Option<ViewBox>,
    /// Slots of the bodies that the scene and its emitters bring: colours run over so many, whatever comes later.
    pub scene_slots: u32,
    /// What comes and goes.
    pub(crate) script: Script,
}

/// A body that is led along a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Led {
    /// Index.
    pub body: u32,
    /// About which it swings, m.
    pub position: Vec2,
    /// About which it turns, rad.
    pub angle: f32,
    /// How.
    pub path: super::Path,
}

impl Compiled {
    /// Whether bodies come and go by the scene's emitters.
    #[must_use]
    pub fn emits(&self) -> bool {
        !self.script.is_empty()
    }

    /// Sets gravity, m/s². Returns true if it differs from before, bit by bit: a journal that is gone through again sets
    /// −0 as well.
    pub(crate) fn change_gravity(&mut self, gravity: [f32; 2]) -> bool {
        let before = std::mem::replace(&mut self.params.gravity, gravity);
        before.map(f32::to_bits) != gravity.map(f32::to_bits)
    }

    /// Returns true if the scene's emitters bring joints.
    #[must_use]
    pub fn emits_joints(&self) -> bool {
        self.script.most.joints > 0
    }

    /// Moves the places at which the scene's emitters put dynamic bodies: each by what `away` returns for its number and
    /// its place, m.
    pub fn nudge_emitters(&mut self, away: impl Fn(u32, Vec2) -> Vec2) {
        self.script.nudge(away);
    }

    /// The same world with nothing that comes or goes any more.
    #[must_use]
    pub fn without_emitters(mut self) -> Self {
        self.script = Script::default();
        self
    }

    /// Checks the scene and lays it out.
    ///
    /// # Errors
    /// The first value that is out of range ([`Scene::check`]).
    pub fn new(scene: &Scene) -> Result<Self, SceneError> {
        scene.check()?;
        let mut compiled = Self {
            name: scene.name.clone(),
            settings: scene.settings,
            params: params(scene),
            bodies: Vec::with_capacity(scene.bodies.len()),
            poses: Vec::with_capacity(scene.bodies.len()),
            states: Vec::with_capacity(scene.bodies.len()),
            mass: Vec::with_capacity(scene.bodies.len()),
            ids: scene.bodies.iter().map(|b| b.id.clone()).collect(),
            shapes: Vec::new(),
            movers: Vec::new(),
            vertices: Vec::new(),
            bounces: false,
            hulls: false,
            joints: Joints::default(),
            paths: Vec::new(),
            view: scene.view,
            scene_slots: 0,
            script: Script::new(scene),
        };
        compiled.scene_slots = u32_from(compiled.most_slots().max(scene.bodies.len()));
        let mut shapes = Vec::with_capacity(scene.bodies.len());
        for (index, body) in (0_u32..).zip(&scene.bodies) {
            let mut laid = Self::lay_body(body, index);
            compiled.lead(body, index, 0, &mut laid.pose);
            compiled.bodies.push(laid.body);
            compiled.poses.push(laid.pose);
            compiled.states.push(laid.state);
            compiled.mass.push(laid.mass);
            for (mut shape, vertices) in laid.shapes {
                if !vertices.is_empty() {
                    shape.first_vertex = u32_from(compiled.vertices.len());
                    compiled.vertices.extend(vertices);
                }
                let half_plane = shape.kind & types::GEOMETRY_MASK == types::HALF_PLANE;
                if half_plane { &mut compiled.shapes } else { &mut shapes }.push(shape);
            }
        }
        compiled.params.half_plane_count = u32_from(compiled.shapes.len());
        compiled.shapes.append(&mut shapes);
        compiled.link_all();
        compiled.joints = Joints::new(scene, &compiled.mass);
        let heads = &compiled.joints.ties.heads;
        for shape in compiled.shapes.iter_mut().filter(|shape| heads[shape.body as usize][1] > 0) {
            shape.kind |= types::JOINED_SHAPE;
        }
        compiled.prepare_for_all();
        compiled.refresh_switches();
        if !compiled.script.is_empty() {
            let world = compiled.fingerprint();
            let script = Fnv(world).bytes(format!("{:?}", compiled.script.emitters).as_bytes());
            compiled.script.fingerprint = Some(script.0);
        }
        Ok(compiled)
    }

    /// One body, with its shapes and their vertices, which are not in the table yet.
    pub(crate) fn lay_body(body: &super::Body, index: u32) -> LaidBody {
        let mass = mass_properties(body);
        let turn = rotation(body.angle);
        let mut flags = 0;
        if body.kind != BodyType::Dynamic {
            flags |= types::FIXED_SHAPE;
        }
        if body.kind == BodyType::Kinematic {
            flags |= types::KINEMATIC_SHAPE;
        }
        if body.kind == BodyType::Dynamic && body.bullet {
            flags |= types::BULLET_SHAPE;
        }
        if body.kind == BodyType::Dynamic && never_turns(body) {
            flags |= types::UPRIGHT_SHAPE;
        }
        let (mut extent, mut min_extent) = (0.0_f32, 1e5_f32);
        let mut shapes = Vec::with_capacity(body.shapes.len());
        for shape in &body.shapes {
            let mut vertices = Vec::new();
            let mut flat = flatten_shape(shape, mass.center, &mut vertices);
            flat.body = index;
            flat.kind |= flags | if shape.sensor { types::SENSOR_SHAPE } else { 0 };
            // What touches nothing makes a body neither thin nor wide.
            if flat.kind & types::GEOMETRY_MASK != types::HALF_PLANE && !shape.sensor {
                extent = extent.max(Vec2::from(flat.offset).length() + flat.bound);
                min_extent = min_extent.min(thickness(&shape.geometry));
            }
            shapes.push((flat, vertices));
        }
        let invert = |x: f32| if x > 0.0 { 1.0 / x } else { 0.0 };
        let moves = body.kind != BodyType::Static;
        let turns = moves && !never_turns(body);
        LaidBody {
            body: types::Body {
                inv_mass: invert(mass.mass),
                inv_inertia: invert(mass.inertia),
                linear_damping: body.linear_damping,
                angular_damping: body.angular_damping,
                force: body.force.into(),
                force_point: (body.force_point.unwrap_or(mass.center) - mass.center).into(),
                torque: body.torque,
                gravity_scale: body.gravity_scale,
                extent,
                min_extent,
                kind: match body.kind {
                    BodyType::Static => types::STATIC,
                    BodyType::Kinematic => types::KINEMATIC,
                    BodyType::Dynamic => types::DYNAMIC,
                },
                can_sleep: u32::from(body.can_sleep),
                pad: [0; 2],
            },
            pose: Pose { position: (body.position + math::rotate(turn, mass.center)).into(), rotation: turn.into() },
            state: BodyState {
                velocity: if moves { body.velocity.into() } else { [0.0; 2] },
                angular_velocity: if turns { body.angular_velocity } else { 0.0 },
                ..BodyState::default()
            },
            mass,
            shapes,
        }
    }

    /// Takes on a body that has a path, and puts it where it is after so many steps.
    pub(crate) fn lead(&mut self, body: &super::Body, index: u32, steps: u64, pose: &mut Pose) {
        let Some(path) = body.path else { return };
        self.paths.push(Led { body: index, position: body.position, angle: body.angle, path });
        // A kinematic body's centre is its origin.
        let (position, angle) = path.place(body.position, body.angle, steps, self.settings.dt);
        *pose = Pose { position: position.into(), rotation: rotation(angle).into() };
    }

    /// The targets of bodies on paths for the end of a step, before what was asked of them.
    pub(crate) fn lead_on(&self, commands: &mut Vec<types::Command>, steps: u64) {
        let targets = self.paths.iter().map(|led| {
            let (position, angle) = led.path.place(led.position, led.angle, steps.saturating_add(1), self.settings.dt);
            types::Command {
                kind: types::COMMAND_TARGET,
                body: led.body,
                value: position.into(),
                other: rotation(angle).into(),
                ..types::Command::default()
            }
        });
        commands.splice(0..0, targets);
    }

    /// Says of every body which shapes it has.
    fn link_all(&mut self) {
        let mut own = vec![Vec::new(); self.bodies.len()];
        for (place, shape) in (0_u32..).zip(&self.shapes) {
            own[shape.body as usize].push(place);
        }
        for places in own {
            self.link(&places);
        }
    }

    /// Says that these shapes, and no others, are those of one body.
    pub(crate) fn link(&mut self, places: &[u32]) {
        self.movers.resize(self.shapes.len(), types::Mover::default());
        for (index, &place) in places.iter().enumerate() {
            let next = places.get(index + 1).copied().unwrap_or(types::NONE);
            self.movers[place as usize] = types::Mover { next, ..types::Mover::default() };
        }
        if let Some(&first) = places.first() {
            let body = &self.bodies[self.shapes[first as usize].body as usize];
            let mover = &mut self.movers[first as usize];
            mover.extent = body.extent;
            if body.kind == types::DYNAMIC {
                mover.min_extent = body.min_extent;
            }
        }
    }

    /// Lays the grid for the shapes that there are; each gets a level.
    pub(crate) fn lay_grid(&mut self) {
        let first = self.params.half_plane_count as usize;
        lay_grid(&mut self.params, &mut self.shapes[first..], &self.vertices, &self.poses);
    }

    /// Gives some shapes the finest level whose cells they fit. False if a shape fits none.
    pub(crate) fn fit_levels(&mut self, shapes: &BTreeSet<u32>) -> bool {
        let Params { levels, level_count, aabb_margin, .. } = self.params;
        let mut all_fit = true;
        for &index in shapes {
            let shape = &mut self.shapes[index as usize];
            if shape.kind & types::GEOMETRY_MASK == types::HALF_PLANE {
                continue;
            }
            let mut own = 0;
            while own < level_count && 2.0 * levels[own as usize].half_cell[0] < reach(shape.bound, aabb_margin) {
                own += levels[own as usize].bands + 1;
            }
            all_fit &= own < level_count;
            shape.level = own.min(level_count.saturating_sub(1));
        }
        all_fit
    }

    /// Takes on a half plane that came to this place.
    pub(crate) fn add_plane(&mut self, place: u32) {
        let count = self.params.late_plane_count as usize;
        if let Some(row) = self.params.late_planes.as_flattened_mut().get_mut(count) {
            *row = place;
            self.params.late_plane_count += 1;
        }
    }

    /// Drops the half planes that came and are gone.
    pub(crate) fn drop_planes(&mut self) {
        let kind = |place: u32| self.shapes[place as usize].kind & types::GEOMETRY_MASK;
        let late = self.params.planes().skip(self.params.half_plane_count as usize);
        let left: Vec<u32> = late.filter(|&place| kind(place) == types::HALF_PLANE).collect();
        self.params.late_planes = [[0; 4]; types::MAX_LATE_PLANES / 4];
        self.params.late_planes.as_flattened_mut()[..left.len()].copy_from_slice(&left);
        self.params.late_plane_count = u32_from(left.len());
    }

    /// Counts, and what the materials of the shapes switch on.
    pub(crate) fn refresh_switches(&mut self) {
        let shapes = &self.shapes;
        let bounces = match self.settings.restitution_mix {
            RestitutionMix::Max => shapes.iter().any(|s| s.restitution > 0.0),
            RestitutionMix::Min => shapes.iter().filter(|s| s.restitution > 0.0).count() > 1,
        };
        for (on, bit) in [
            (bounces, types::BOUNCES),
            (shapes.iter().any(|s| s.kinetic_friction < s.friction), types::KINETIC_FRICTION),
            (shapes.iter().any(|s| s.tangent_speed != 0.0), types::CONVEYORS),
            (shapes.iter().any(|s| s.rolling_resistance > 0.0), types::ROLLING),
            (shapes.iter().any(|s| s.kind & types::KINEMATIC_SHAPE != 0), types::MOVING_WALLS),
            (shapes.iter().any(|s| s.kind & types::BULLET_SHAPE != 0), types::BULLETS),
        ] {
            // What was switched on stays on: impulses of the step before may still be there.
            if on {
                self.params.switches |= bit;
            }
        }
        self.hulls |= shapes.iter().any(|shape| match shape.kind & types::GEOMETRY_MASK {
            types::CIRCLE | types::NO_SHAPE => false,
            types::BOX => shape.radius > 0.0,
            _ => true,
        });
        self.bounces = self.params.switches & types::BOUNCES != 0;
        self.params.body_count = u32_from(self.bodies.len());
        self.params.shape_count = u32_from(self.shapes.len());
        self.params.joint_count = u32_from(self.joints.joints.len());
    }
}

/// A body as [`Compiled`] holds it.
pub(crate) struct LaidBody {
    pub body: types::Body,
    pub pose: Pose,
    pub state: BodyState,
    pub mass: MassProperties,
    /// Each with its vertices.
    pub shapes: Vec<(types::Shape, Vec<[f32; 2]>)>,
}

impl Compiled {
    /// A hash of all that stays as it is while the world runs: two worlds with the same one understand each other's
    /// snapshots.
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        self.script.fingerprint.unwrap_or_else(|| self.hash_with(&self.params))
    }

    /// The fingerprint with gravity, m/s², as it was at the start, and without what tests force. A change of gravity by hand
    /// makes no other scene.
    pub(crate) fn fingerprint_from(&self, gravity: [f32; 2]) -> u64 {
        let switches = self.params.switches & !types::FORCE_OVERFLOW;
        let params = Params { gravity, switches, ..self.params };
        self.script.fingerprint.unwrap_or_else(|| self.hash_with(&params))
    }

    /// The scene with what the engine of another has set up in the constants: where its tables end, and what tests force.
    pub(crate) fn on_engine_of(&self, other: &Self) -> Self {
        let Params { contact_capacity, color_blocks, tie_heads, tie_links, switches, .. } = other.params;
        let switches = self.params.switches & !types::FORCE_OVERFLOW | switches & types::FORCE_OVERFLOW;
        let params = Params { contact_capacity, switches, color_blocks, tie_heads, tie_links, ..self.params };
        Self { params, ..self.clone() }
    }

    fn hash_with(&self, params: &Params) -> u64 {
        // Forces and goals of joints change by command, capacities by growth; neither makes it another world.
        let params = Params { contact_capacity: 0, color_blocks: 0, tie_heads: 0, tie_links: 0, ..*params };
        let mut hash = Fnv::START.bytes(bytemuck::bytes_of(&params));
        for body in &self.bodies {
            let body = types::Body { force: [0.0; 2], force_point: [0.0; 2], torque: 0.0, ..*body };
            hash = hash.bytes(bytemuck::bytes_of(&body));
        }
        hash = hash.bytes(bytemuck::cast_slice(&self.shapes)).bytes(bytemuck::cast_slice(&self.vertices));
        for joint in &self.joints.joints {
            let flags = joint.flags & !(types::JOINT_DISABLED | types::JOINT_FRESH);
            let joint = types::Joint { anchor_a: [0.0; 2], reference_angle: 0.0, flags, ..*joint };
            hash = hash.bytes(bytemuck::bytes_of(&joint));
        }
        for row in &self.joints.rows {
            let row = types::JointRow { kind: row.kind & !types::ROW_MEASURE, goal: 0.0, max_impulse: 0.0, ..*row };
            hash = hash.bytes(bytemuck::bytes_of(&row));
        }
        hash = hash.bytes(bytemuck::cast_slice(&self.joints.starts)).bytes(format!("{:?}", self.paths).as_bytes());
        hash.bytes(format!("{:?}", self.settings).as_bytes()).0
    }
}

/// Whether nothing can turn the body: it was told so, or it is a particle.
pub(super) fn never_turns(body: &super::Body) -> bool {
    body.fixed_rotation || body.shapes.iter().any(|shape| matches!(shape.geometry, Geometry::Particle { .. }))
}

pub(super) fn u32_from(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

fn flatten_shape(shape: &super::Shape, center: Vec2, vertices: &mut Vec<[f32; 2]>) -> types::Shape {
    let turn = rotation(shape.rotation);
    let material = &shape.material;
    let mut flat = types::Shape {
        offset: (shape.offset - center).into(),
        rotation: turn.into(),
        friction: material.friction,
        kinetic_friction: material.kinetic_friction.unwrap_or(material.friction),
        restitution: material.restitution,
        tangent_speed: material.tangent_speed,
        rolling_resistance: material.rolling_resistance,
        category: shape.filter.category,
        mask: shape.filter.mask,
        group: shape.filter.group,
        ..types::Shape::default()
    };
    match &shape.geometry {
        Geometry::Circle { radius } | Geometry::Particle { radius } => {
            flat.kind = types::CIRCLE;
            flat.radius = *radius;
            flat.bound = *radius;
        }
        Geometry::Box { half, radius } => {
            flat.kind = types::BOX;
            flat.half = (*half).into();
            flat.radius = *radius;
            flat.bound = half.length() + radius;
        }
        Geometry::HalfPlane { normal, offset } => {
            // Its y axis is the normal, its centre the point of the surface nearest to the shape's origin.
            let axis = Vec2::new(normal.y, -normal.x);
            flat.kind = types::HALF_PLANE;
            flat.rotation = math::mul_rotation(turn, axis).into();
            flat.offset = (shape.offset - center + math::rotate(turn, *normal * *offset)).into();
        }
        Geometry::Capsule { .. } | Geometry::Segment { .. } | Geometry::Polygon { .. } => {
            let outline = Outline::of(&shape.geometry);
            // About the middle of their bounding box, so that the bound is tight and no digits are lost.
            let (low, high) = outline
                .points
                .iter()
                .fold((Vec2::INFINITY, Vec2::NEG_INFINITY), |(low, high), &point| (low.min(point), high.max(point)));
            let middle = 0.5 * (low + high);
            flat.kind = types::POLYGON | u32_from(outline.points.len()) << types::VERTEX_COUNT_SHIFT;
            flat.first_vertex = u32_from(vertices.len());
            flat.offset = (shape.offset - center + math::rotate(turn, middle)).into();
            flat.radius = outline.radius;
            let reach = outline.points.iter().map(|&point| (point - middle).length()).fold(0.0, f32::max);
            flat.bound = reach + outline.radius;
            vertices.extend(outline.points.iter().map(|&point| <[f32; 2]>::from(point - middle)));
        }
    }
    flat
}

/// A shape as the points of a convex polygon, counter-clockwise, and a radius around it. One point is a disc, two a
/// capsule.
pub(crate) struct Outline {
    pub points: Vec<Vec2>,
    pub radius: f32,
}

impl Outline {
    /// Empty for a half plane, which has none.
    pub fn of(geometry: &Geometry) -> Self {
        let (points, radius) = match geometry {
            Geometry::Circle { radius } | Geometry::Particle { radius } => (vec![Vec2::ZERO], *radius),
            Geometry::Box { half, radius } => {
                let corner = |x: f32, y: f32| Vec2::new(x * half.x, y * half.y);
                (vec![corner(-1.0, -1.0), corner(1.0, -1.0), corner(1.0, 1.0), corner(-1.0, 1.0)], *radius)
            }
            Geometry::Capsule { a, b, radius } => (vec![*a, *b], *radius),
            Geometry::Segment { a, b } => (vec![*a, *b], 0.0),
            Geometry::Polygon { points, radius } => (points.clone(), *radius),
            Geometry::HalfPlane { .. } => (Vec::new(), 0.0),
        };
        Self { points, radius }
    }
}

/// Half of the thinnest part, m: what a fast body can jump over.
fn thickness(geometry: &Geometry) -> f32 {
    match geometry {
        Geometry::Circle { radius } | Geometry::Particle { radius } | Geometry::Capsule { radius, .. } => *radius,
        Geometry::Box { half, radius } => half.min_element() + radius,
        Geometry::Segment { .. } => 0.0,
        Geometry::HalfPlane { .. } => f32::INFINITY,
        Geometry::Polygon { points, radius } => {
            // The width across each edge; the smallest of them is that of the polygon.
            let width = (0..points.len()).map(|edge| {
                let (from, to) = (points[edge], points[(edge + 1) % points.len()]);
                let normal = Vec2::new(to.y - from.y, from.x - to.x).normalize_or_zero();
                points.iter().map(|&point| (from - point).dot(normal)).fold(0.0, f32::max)
            });
            0.5 * width.fold(f32::INFINITY, f32::min) + radius
        }
    }
}

/// Area, centre and second moment of area about that centre, of a shape about its own origin; m², m, m⁴.
fn area_integrals(geometry: &Geometry) -> (f64, glam::DVec2, f64) {
    // Parts: the polygon as signed triangles about the first point, a rectangle on each edge, a sector at each corner.
    let outline = Outline::of(geometry);
    let radius = f64::from(outline.radius);
    let points: Vec<glam::DVec2> = outline.points.iter().map(|point| point.as_dvec2()).collect();
    let (mut area, mut moment, mut about_origin) = (0.0, glam::DVec2::ZERO, 0.0);
    let mut add = |a: f64, center: glam::DVec2, own: f64| {
        area += a;
        moment += a * center;
        about_origin += own + a * center.length_squared();
    };
    let Some(&first) = points.first() else { return (0.0, glam::DVec2::ZERO, 0.0) };
    if let Geometry::Box { half, radius: 0.0 } = geometry {
        let half = half.as_dvec2();
        let area = 4.0 * half.x * half.y;
        return (area, glam::DVec2::ZERO, area * half.length_squared() / 3.0);
    }
    if points.len() == 1 {
        let disc = std::f64::consts::PI * radius * radius;
        return (disc, first, 0.5 * disc * radius * radius);
    }
    for pair in points.windows(2).skip(1) {
        let (u, v) = (pair[0] - first, pair[1] - first);
        let triangle = 0.5 * u.perp_dot(v);
        let center = (u + v) / 3.0;
        let about_first = triangle * (u.dot(u) + u.dot(v) + v.dot(v)) / 6.0;
        add(triangle, first + center, about_first - triangle * center.length_squared());
    }
    for (index, &from) in points.iter().enumerate() {
        let to = points[(index + 1) % points.len()];
        let next = points[(index + 2) % points.len()];
        let (edge, following) = (to - from, next - to);
        let length = edge.length();
        let outward = |edge: glam::DVec2| glam::DVec2::new(edge.y, -edge.x).normalize_or_zero();
        let strip = length * radius;
        add(
            strip,
            0.5 * (from + to) + 0.5 * radius * outward(edge),
            strip * (length * length + radius * radius) / 12.0,
        );
        let angle = edge.perp_dot(following).atan2(edge.dot(following)).rem_euclid(std::f64::consts::TAU);
        if angle > 0.0 && radius > 0.0 {
            let sector = 0.5 * angle * radius * radius;
            let reach = 2.0 * radius / 3.0 * (0.5 * angle).sin() / (0.5 * angle);
            let half_way = glam::DVec2::from_angle(0.5 * angle).rotate(outward(edge));
            let own = 0.5 * sector * radius * radius - sector * reach * reach;
            add(sector, to + reach * half_way, own);
        }
    }
    if area <= 0.0 {
        return (0.0, 0.5 * (first + points[points.len() - 1]), 0.0);
    }
    let center = moment / area;
    (area, center, about_origin - area * center.length_squared())
}

/// Area integrals in f64: compound bodies far from their origin would lose digits in f32.
pub(super) fn mass_properties(body: &super::Body) -> MassProperties {
    if body.kind == BodyType::Kinematic {
        // Its velocity is that of its origin, about which it turns.
        return MassProperties::default();
    }
    let (mut mass, mut moment, mut about_origin) = (0.0_f64, glam::DVec2::ZERO, 0.0_f64);
    for shape in &body.shapes {
        let (area, middle, own) = area_integrals(&shape.geometry);
        let density = f64::from(shape.density);
        let turn = rotation(shape.rotation).as_dvec2();
        let offset = shape.offset.as_dvec2() + turn.rotate(middle);
        mass += density * area;
        moment += density * area * offset;
        about_origin += density * (own + area * offset.length_squared());
    }
    let center = if mass > 0.0 { moment / mass } else { glam::DVec2::ZERO };
    if body.kind == BodyType::Static {
        // Any point will do for a body that never moves; the middle of it keeps lever arms short.
        return MassProperties { center: center.as_vec2(), ..MassProperties::default() };
    }
    let mut inertia = about_origin - mass * center.length_squared();
    if let Some(given) = body.mass {
        inertia = if mass > 0.0 { inertia * f64::from(given) / mass } else { 0.0 };
        mass = f64::from(given);
    }
    if let Some(given) = body.inertia {
        inertia = f64::from(given);
    }
    #[allow(clippy::cast_possible_truncation, reason = "rounded to f32 on purpose")]
    MassProperties {
        mass: mass as f32,
        inertia: if never_turns(body) { 0.0 } else { inertia as f32 },
        center: center.as_vec2(),
    }
}

/// Bias rate, mass scale and impulse scale of a spring-damper solved implicitly (Box2D's `b2MakeSoft`).
pub(super) fn soft(hertz: f32, damping_ratio: f32, h: f32) -> [f32; 3] {
    if hertz <= 0.0 {
        return [0.0, 1.0, 0.0];
    }
    let omega = 2.0 * std::f32::consts::PI * hertz;
    let a1 = 2.0 * damping_ratio + h * omega;
    let a2 = h * omega * a1;
    let a3 = 1.0 / (1.0 + a2);
    [omega / a1, a2 * a3, a3]
}

/// Steps that make up [`SLEEP_TIME`].
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 1 to 65,535")]
fn sleep_steps(dt: f32) -> u32 {
    // Half a second is 30 steps of a sixtieth, however the division is rounded.
    (SLEEP_TIME / dt - 1e-3).ceil().clamp(1.0, MAX_QUIET as f32) as u32
}

fn params(scene: &Scene) -> Params {
    let settings = &scene.settings;
    #[allow(clippy::cast_precision_loss, reason = "at most 64")]
    let h = settings.dt / settings.substep_count() as f32;
    let (contact_softness, fixed_softness) = match settings.mode {
        Mode::Soft if settings.correct_position => {
            let hertz = match settings.contact_hertz {
                Some(hertz) => hertz.min(MAX_HERTZ_SHARE / h),
                None => DEFAULT_CONTACT_HERTZ.min(DEFAULT_HERTZ_SHARE / h),
            };
            let [b, m, i] = soft(hertz, settings.contact_damping_ratio, h);
            let [fb, fm, fi] = soft(2.0 * hertz, settings.contact_damping_ratio, h);
            ([b, m, i, 0.0], [fb, fm, fi, 0.0])
        }
        Mode::Baumgarte if settings.correct_position => {
            let row = [settings.baumgarte / h, 1.0, 0.0, settings.slop];
            (row, row)
        }
        _ => ([0.0, 1.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]),
    };
    let mut switches = 0;
    for (on, bit) in [
        (settings.accumulate, types::ACCUMULATE),
        (settings.recycle, types::RECYCLE),
        (settings.warm_start, types::WARM_START),
        (settings.restitution_mix == RestitutionMix::Max, types::RESTITUTION_MAX),
        (settings.sleep, types::SLEEP),
    ] {
        if on {
            switches |= bit;
        }
    }
    let mut fields = [types::Field::default(); types::MAX_FIELDS];
    for (laid, field) in fields.iter_mut().zip(&scene.fields) {
        let super::Field { position, force, acceleration, core } = *field;
        *laid = types::Field { position: position.into(), force, acceleration, core, ..types::Field::default() };
    }
    Params {
        gravity: scene.gravity.into(),
        fields,
        field_count: u32_from(scene.fields.len()),
        dt: settings.dt,
        h,
        contact_capacity: u32::MAX,
        contact_softness,
        fixed_softness,
        push_speed: if settings.mode == Mode::Soft { settings.push_speed } else { f32::MAX },
        speculative_distance: SPECULATIVE_DISTANCE,
        restitution_threshold: settings.restitution_threshold,
        recycle_distance: RECYCLE_DISTANCE,
        recycle_distance_apart: SPECULATIVE_DISTANCE.min(RECYCLE_DISTANCE),
        aabb_margin: SPECULATIVE_DISTANCE,
        max_speed: MAX_SPEED,
        max_spin: MAX_TURN / settings.dt,
        projection_rate: settings.baumgarte,
        max_correction: MAX_CORRECTION,
        linear_slop: settings.slop,
        switches,
        sleep_speed: SLEEP_SPEED,
        sleep_steps: sleep_steps(settings.dt),
        ..Params::default()
    }
}

/// Chooses the sizes of the cells, gives every shape its level, and sizes the tori.
///
/// The finest cell is twice the 95th-percentile bound, so that most shapes share one level and find their neighbours
/// in 3 × 3 cells; each coarser one is four times as wide, the last as wide as the largest shape needs. Where many long
/// shapes lie flat, or stand upright, their level is followed by a band of cells that are as long but thinner.
///
/// The initial poses decide only what is fast. Wherever a shape goes and however it turns, it is found: what fits no band
/// lies in the square cells.
fn lay_grid(params: &mut Params, shapes: &mut [types::Shape], vertices: &[[f32; 2]], poses: &[Pose]) {
    params.cell_count = 0;
    params.level_count = 0;
    let margin = params.aabb_margin;
    // Half planes are in no cell.
    let there =
        |shape: &types::Shape| !matches!(shape.kind & types::GEOMETRY_MASK, types::NO_SHAPE | types::HALF_PLANE);
    let mut bounds: Vec<f32> = shapes.iter().filter(|shape| there(shape)).map(|shape| shape.bound).collect();
    if bounds.is_empty() {
        return;
    }
    bounds.sort_unstable_by(f32::total_cmp);
    let largest = bounds[bounds.len() - 1];
    let typical = bounds[(bounds.len() - 1) * 95 / 100];
    let reach = |bound: f32| reach(bound, margin);
    let mut cells = [reach(typical); CELL_SIZES];
    for size in 1..cells.len() {
        cells[size] = cells[size - 1] * 4.0;
    }
    cells[CELL_SIZES - 1] = cells[CELL_SIZES - 1].max(reach(largest));
    // The shapes of each size of cell.
    let mut sorted = [const { Vec::new() }; CELL_SIZES];
    for (index, shape) in shapes.iter().enumerate().filter(|(_, shape)| there(shape)) {
        let size = cells.iter().position(|&cell| reach(shape.bound) <= cell).unwrap_or(CELL_SIZES - 1);
        sorted[size].push(index);
    }

    let mut levels = Vec::new();
    for (size, members) in sorted.iter().enumerate().filter(|(_, members)| !members.is_empty()) {
        let own = levels.len();
        let aabbs: Vec<Aabb> = members
            .iter()
            .map(|&index| bound_shape(&shapes[index], vertices, &poses[shapes[index].body as usize], margin))
            .collect();
        for &index in members {
            shapes[index].level = u32_from(own);
        }
        let long = cells[size];
        let thinner = &cells[..size];
        levels.push(level(Vec2::splat(long)));
        let sizes = || aabbs.iter().map(|aabb| Vec2::from(aabb.max) - Vec2::from(aabb.min));
        let flat = sizes().filter(|size| size.y * LONG <= size.x).map(|size| size.y);
        let upright = sizes().filter(|size| size.x * LONG <= size.y).map(|size| size.x);
        levels.extend(band(thinner, flat).map(|low| level(Vec2::new(long, low))));
        levels.extend(band(thinner, upright).map(|narrow| level(Vec2::new(narrow, long))));
        levels[own].bands = u32_from(levels.len() - own - 1);
        params.levels[own..levels.len()].copy_from_slice(&levels[own..]);

        let mut places = vec![Vec::new(); levels.len() - own];
        for aabb in &aabbs {
            // Any shape may turn out of its band, so the square cells are laid out for all.
            places[0].push(middle(aabb));
            let lies_on = level_of(params, u32_from(own), aabb) as usize - own;
            if lies_on > 0 {
                places[lies_on].push(middle(aabb));
            }
        }
        for (level, places) in levels[own..].iter_mut().zip(&places) {
            lay_torus(level, places);
            level.first_cell = params.cell_count;
            params.cell_count += 1 << (level.log2_width + level.log2_height);
        }
    }
    params.level_count = u32_from(levels.len());
    params.levels[..levels.len()].copy_from_slice(&levels);
}

/// Width of a cell that a shape of this bound fits, m: a thousandth more than needed, so that rounding never makes a shape
/// reach over its neighbour cell.
fn reach(bound: f32, margin: f32) -> f32 {
    2.0 * (bound + margin) * 1.001
}

/// A level of cells of this size, in m.
fn level(cell: Vec2) -> Level {
    Level { inv_cell: (1.0 / cell).into(), half_cell: (0.5 * cell).into(), ..Level::default() }
}

/// How thin the cells of a band are for long shapes of these thicknesses, in m: the thinnest of `thinner` (ascending) that
/// three in four of them fit. None if the shapes are few.
fn band(thinner: &[f32], thicknesses: impl Iterator<Item = f32>) -> Option<f32> {
    let widest = *thinner.last()?;
    let mut thin: Vec<f32> = thicknesses.filter(|&thickness| thickness < widest).collect();
    if thin.len() <= FEW_LONG {
        return None;
    }
    thin.sort_unstable_by(f32::total_cmp);
    let most = thin[(thin.len() - 1) * 3 / 4];
    thinner.iter().copied().find(|&cell| most < cell)
}

/// Gives the torus about the aspect ratio of what lies on it, and one cell a shape or two.
fn lay_torus(level: &mut Level, places: &[Vec2]) {
    let (mut min, mut max) = (Vec2::INFINITY, Vec2::NEG_INFINITY);
    for &at in places {
        min = min.min(at);
        max = max.max(at);
    }
    let span = if places.is_empty() { Vec2::ZERO } else { (max - min) * Vec2::from(level.inv_cell) + 2.0 };
    let log2 = |cells_across: f32| {
        let mut log2 = 2_u32;
        #[allow(clippy::cast_precision_loss, reason = "a small power of two")]
        while log2 < 12 && ((1_u32 << log2) as f32) < cells_across {
            log2 += 1;
        }
        log2
    };
    let (mut width, mut height) = (log2(span.x), log2(span.y));
    // At most four cells a shape: sparse scenes wrap sooner instead of clearing empty cells.
    let most = (places.len() as u64).max(4) * 4;
    while (1_u64 << (width + height)) > most && width + height > 4 {
        if width >= height { width -= 1 } else { height -= 1 }
    }
    (level.log2_width, level.log2_height) = (width, height);
}
