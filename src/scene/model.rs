//! What a user builds: bodies, shapes, materials, settings. Plain data with builder methods; nothing here is checked
//! until a world is made from it ([`Scene::check`](crate::Scene::check)).
//!
//! SI units, y up, angles in radians, counter-clockwise.

use glam::Vec2;

use super::{Emitter, Joint};
use crate::constants::{
    DEFAULT_BAUMGARTE, DEFAULT_CONTACT_DAMPING_RATIO, DEFAULT_DT, DEFAULT_FRICTION, DEFAULT_GRAVITY,
    DEFAULT_ITERATIONS, DEFAULT_PUSH_SPEED, DEFAULT_RESTITUTION_THRESHOLD, DEFAULT_SLOP, DEFAULT_SUBSTEPS,
};
use crate::math::rotation;

/// A world as it starts: settings, bodies and joints.
#[derive(Clone, Debug, PartialEq)]
pub struct Scene {
    /// What the user calls it.
    pub name: String,
    /// m/s². Box2D's scenes use (0, −10), the default is (0, −9.81).
    pub gravity: Vec2,
    /// How it is solved.
    pub settings: Settings,
    /// In the order in which states are reported.
    pub bodies: Vec<Body>,
    /// What ties bodies together.
    pub joints: Vec<Joint>,
    /// What draws bodies to places, beside gravity: at most [`MAX_FIELDS`](crate::types::MAX_FIELDS).
    pub fields: Vec<Field>,
    /// What makes bodies while the world runs.
    pub emitters: Vec<Emitter>,
    /// Part of the plane that windows, pictures and movies show. `None`: they frame the bodies. It changes nothing in
    /// the world.
    pub view: Option<ViewBox>,
}

/// A rectangle that pictures of a scene show whole.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ViewBox {
    /// Left and bottom, m.
    pub min: Vec2,
    /// Right and top, m: above `min` on both axes.
    pub max: Vec2,
}

impl Default for Scene {
    fn default() -> Self {
        Self {
            name: String::new(),
            gravity: Vec2::new(0.0, -DEFAULT_GRAVITY),
            settings: Settings::default(),
            bodies: Vec::new(),
            joints: Vec::new(),
            fields: Vec::new(),
            emitters: Vec::new(),
            view: None,
        }
    }
}

/// Pulls every dynamic body towards a point, equally hard from everywhere; negative values drive it away. Potential energy
/// counts it from the rim of the core.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Field {
    /// In the world, m.
    pub position: Vec2,
    /// At the centre of mass, N: light bodies come faster.
    pub force: f32,
    /// m/s²: all come equally fast.
    pub acceleration: f32,
    /// Up to this distance from the point it is not felt, m, at least 0.
    pub core: f32,
}

/// Leads a kinematic body: `amplitude · sin(rate · t + phase)` beside its position, and turned likewise. Of a world's
/// time `t` alone, so that it is where it should be after any number of steps, on either backend.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Path {
    /// How far it swings to either side, m.
    pub amplitude: Vec2,
    /// How far it turns to either side, rad.
    pub turn: f32,
    /// rad/s.
    pub rate: f32,
    /// rad.
    pub phase: f32,
}

impl Path {
    /// Where a body that is led along it is after so many steps of so many seconds: its origin, m, and its angle, rad.
    #[must_use]
    pub(crate) fn place(&self, position: Vec2, angle: f32, steps: u64, dt: f32) -> (Vec2, f32) {
        let swing = self.swing(steps, dt);
        (position + self.amplitude * swing, angle + self.turn * swing)
    }

    /// The sine after so many steps of so many seconds.
    #[must_use]
    pub(crate) fn swing(&self, steps: u64, dt: f32) -> f32 {
        // In double precision up to the last full turn: hours of it leave no trace.
        #[allow(clippy::cast_precision_loss, reason = "exact for the next million years")]
        let angle = f64::from(self.rate) * f64::from(dt) * steps as f64 + f64::from(self.phase);
        let turns = angle / std::f64::consts::TAU;
        #[allow(clippy::cast_possible_truncation, reason = "rounded to f32 on purpose")]
        let within = ((turns - turns.round()) * std::f64::consts::TAU) as f32;
        rotation(within).y
    }
}

impl Scene {
    /// An empty scene.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// With another gravity, m/s².
    #[must_use]
    pub fn gravity(mut self, x: f32, y: f32) -> Self {
        self.gravity = Vec2::new(x, y);
        self
    }

    /// With the part of the plane that pictures show, by its left bottom and its right top corner, m.
    #[must_use]
    pub fn view(mut self, min: impl Into<Vec2>, max: impl Into<Vec2>) -> Self {
        self.view = Some(ViewBox { min: min.into(), max: max.into() });
        self
    }

    /// Adds a body and returns its index in [`Self::bodies`]. A running world takes the index as the body's id
    /// ([`World::body`](crate::World::body), [`World::command`](crate::World::command)).
    pub fn add(&mut self, body: Body) -> usize {
        self.bodies.push(body);
        self.bodies.len() - 1
    }

    /// Adds a joint and returns its index.
    pub fn join(&mut self, joint: Joint) -> usize {
        self.joints.push(joint);
        self.joints.len() - 1
    }

    /// Adds an emitter and returns its index.
    pub fn emit(&mut self, emitter: Emitter) -> usize {
        self.emitters.push(emitter);
        self.emitters.len() - 1
    }
}

/// Which equations the solver uses. All three share one contact kernel with other coefficients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Soft contacts in substeps, then a relaxing sweep without bias (Box2D's Soft Step). Stands best.
    #[default]
    Soft,
    /// Sequential impulses with Baumgarte's bias and slop, as in the tutorials.
    Baumgarte,
    /// Sequential impulses without bias, then a projection of the positions (NGS).
    Projection,
}

/// How restitution of two materials is mixed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RestitutionMix {
    /// The smaller of the two, the default: both materials must bounce.
    #[default]
    Min,
    /// The larger of the two, as in Box2D: one material that bounces is enough.
    Max,
}

/// Settings of the solver for a scene.
///
/// The defaults of the solver are those of Box2D's soft step. Four defaults differ from Box2D's: the smaller of two
/// restitutions counts ([`RestitutionMix::Min`]), so that a ball of restitution 0.9 does not bounce from a ground of 0;
/// bodies do not sleep; there are no events; and gravity is 9.81 m/s² ([`Scene::gravity`]), not 10.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Length of a step, s. Above 0. Default 1/60.
    pub dt: f32,
    /// Substeps a step, 1 – 64. `None`: 4 in soft mode, 1 in the others.
    pub substeps: Option<u32>,
    /// Solver sweeps a substep, 1 – 64. `None`: 1 in soft mode, 10 in the others.
    pub iterations: Option<u32>,
    /// Equations.
    pub mode: Mode,
    /// Soft mode: one more sweep without bias after positions moved. Without it, bias velocity stays as energy.
    pub relax: bool,
    /// Start from the impulses of the step before. Without it, stacks need many more sweeps.
    pub warm_start: bool,
    /// Clamp the accumulated impulse, not each increment. Off is wrong on purpose: `examples/clamping.rs` shows the error.
    pub accumulate: bool,
    /// Share of the penetration removed in a step (baumgarte) or a sweep (projection), 0 – 1. Default 0.2.
    pub baumgarte: f32,
    /// Soft mode: stiffness of contacts as the frequency of a mass on their spring, Hz; contacts with a static or kinematic body
    /// have twice that. At most a quarter of the substep rate acts. `None`: 30 Hz, at most an eighth of the substep rate.
    /// At rest bodies overlap by about 0.65 mm a body's weight of load at 30 Hz, and by the square of the ratio less
    /// at a higher frequency, but tall stacks take longer to come to rest; 120 Hz wants 8 substeps.
    pub contact_hertz: Option<f32>,
    /// Soft mode: damping ratio of contacts. Default 10; 1 is critical damping. Less lets stacks ring, more pushes overlaps out more slowly.
    pub contact_damping_ratio: f32,
    /// Soft mode: fastest speed at which overlaps are pushed out, m/s. Default 3. More lets bodies that begin inside each
    /// other fly apart; 0 leaves overlaps as they are.
    pub push_speed: f32,
    /// Penetration that is left alone, m. Default 0.005.
    pub slop: f32,
    /// Correct penetration at all. Off, no bounce gains energy from being pushed out, and overlaps stay.
    pub correct_position: bool,
    /// Keep contact manifolds while a pair hardly moves. Without it, aligned stacks of 20 fall.
    pub recycle: bool,
    /// Impacts slower than this do not bounce, m/s. Default 1.
    pub restitution_threshold: f32,
    /// How restitution is mixed.
    pub restitution_mix: RestitutionMix,
    /// Repeat a step that outgrew a buffer, after growing it, so that the result never depends on capacities.
    pub strict: bool,
    /// Report contacts that begin and cease, and what sensors notice ([`World::take_events`](crate::World::take_events)). Off by
    /// default.
    pub events: bool,
    /// Bodies at rest fall asleep by whole islands, and wake when something touches them. Off by default.
    pub sleep: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            dt: DEFAULT_DT,
            substeps: None,
            iterations: None,
            mode: Mode::Soft,
            relax: true,
            warm_start: true,
            accumulate: true,
            baumgarte: DEFAULT_BAUMGARTE,
            contact_hertz: None,
            contact_damping_ratio: DEFAULT_CONTACT_DAMPING_RATIO,
            push_speed: DEFAULT_PUSH_SPEED,
            slop: DEFAULT_SLOP,
            correct_position: true,
            recycle: true,
            restitution_threshold: DEFAULT_RESTITUTION_THRESHOLD,
            restitution_mix: RestitutionMix::Min,
            strict: false,
            events: false,
            sleep: false,
        }
    }
}

impl Settings {
    /// Substeps a step, with the default filled in.
    #[must_use]
    pub fn substep_count(&self) -> u32 {
        self.substeps.unwrap_or(if self.mode == Mode::Soft { DEFAULT_SUBSTEPS } else { 1 })
    }

    /// Sweeps a substep, with the default filled in.
    #[must_use]
    pub fn iteration_count(&self) -> u32 {
        self.iterations.unwrap_or(if self.mode == Mode::Soft { 1 } else { DEFAULT_ITERATIONS })
    }
}

/// How a body moves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BodyType {
    /// Never.
    Static,
    /// By its velocity alone; nothing stops it. A fast kinematic body may jump over a slow dynamic one, where it moves
    /// further in a step than both are thick, unless the slow one is a [bullet](Body::bullet). Fast dynamic bodies do not
    /// pass through it.
    Kinematic,
    /// By forces and impulses.
    #[default]
    Dynamic,
}

/// A rigid body: a frame with velocity, and the shapes that are fixed to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Body {
    /// Name for reports; unique in the scene.
    pub id: Option<String>,
    /// How it moves.
    pub kind: BodyType,
    /// Origin of its frame (not its centre of mass), m.
    pub position: Vec2,
    /// rad.
    pub angle: f32,
    /// Of the centre of mass, m/s.
    pub velocity: Vec2,
    /// rad/s.
    pub angular_velocity: f32,
    /// Factor on gravity.
    pub gravity_scale: f32,
    /// 1/s, at least 0.
    pub linear_damping: f32,
    /// 1/s, at least 0.
    pub angular_damping: f32,
    /// Never turns.
    pub fixed_rotation: bool,
    /// Fast, it does not pass through dynamic bodies either. No fast body passes through static and kinematic ones; only a
    /// bullet is swept against dynamic ones too, which costs more. A slow bullet is also swept against fast kinematic bodies.
    /// The flag is about this body alone: another fast body that is no bullet may jump over a slow bullet.
    pub bullet: bool,
    /// May fall asleep, where bodies do ([`Settings::sleep`]).
    pub can_sleep: bool,
    /// Constant force in world axes, N.
    pub force: Vec2,
    /// Where it acts: a point fixed on the body, in its frame, m. `None` is the centre of mass.
    pub force_point: Option<Vec2>,
    /// Constant torque, N·m.
    pub torque: f32,
    /// kg; overrides the shapes' (inertia is scaled along unless given).
    pub mass: Option<f32>,
    /// kg·m² about the centre of mass; overrides the shapes'.
    pub inertia: Option<f32>,
    /// Leads it, instead of its velocity. Kinematic bodies only.
    pub path: Option<Path>,
    /// At least one.
    pub shapes: Vec<Shape>,
}

impl Default for Body {
    fn default() -> Self {
        Self {
            id: None,
            kind: BodyType::Dynamic,
            position: Vec2::ZERO,
            angle: 0.0,
            velocity: Vec2::ZERO,
            angular_velocity: 0.0,
            gravity_scale: 1.0,
            linear_damping: 0.0,
            angular_damping: 0.0,
            fixed_rotation: false,
            bullet: false,
            can_sleep: true,
            force: Vec2::ZERO,
            force_point: None,
            torque: 0.0,
            mass: None,
            inertia: None,
            path: None,
            shapes: Vec::new(),
        }
    }
}

impl Body {
    /// A body that forces move, at a position in m.
    #[must_use]
    pub fn dynamic(x: f32, y: f32) -> Self {
        Self { position: Vec2::new(x, y), ..Self::default() }
    }

    /// A body that never moves.
    #[must_use]
    pub fn fixed(x: f32, y: f32) -> Self {
        Self { kind: BodyType::Static, ..Self::dynamic(x, y) }
    }

    /// A body that moves by its velocity alone.
    #[must_use]
    pub fn kinematic(x: f32, y: f32) -> Self {
        Self { kind: BodyType::Kinematic, ..Self::dynamic(x, y) }
    }

    /// Adds a shape.
    #[must_use]
    pub fn shape(mut self, shape: Shape) -> Self {
        self.shapes.push(shape);
        self
    }

    /// Turned, rad.
    #[must_use]
    pub fn angle(mut self, angle: f32) -> Self {
        self.angle = angle;
        self
    }

    /// Moving, m/s.
    #[must_use]
    pub fn velocity(mut self, x: f32, y: f32) -> Self {
        self.velocity = Vec2::new(x, y);
        self
    }

    /// Spinning, rad/s.
    #[must_use]
    pub fn angular_velocity(mut self, angular_velocity: f32) -> Self {
        self.angular_velocity = angular_velocity;
        self
    }

    /// Never falls asleep, and keeps awake what touches it.
    #[must_use]
    pub fn sleepless(mut self) -> Self {
        self.can_sleep = false;
        self
    }

    /// Led along a path.
    #[must_use]
    pub fn path(mut self, path: Path) -> Self {
        self.path = Some(path);
        self
    }

    /// Named.
    #[must_use]
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }
}

/// The outline of a shape, about its own origin.
#[derive(Clone, Debug, PartialEq)]
pub enum Geometry {
    /// A disc.
    Circle {
        /// m, above 0.
        radius: f32,
    },
    /// A rectangle, its corners rounded if there is a radius.
    Box {
        /// Half width and half height, m, above 0.
        half: Vec2,
        /// Of the rounding, added on all sides, m, at least 0.
        radius: f32,
    },
    /// All points within `radius` of a segment.
    Capsule {
        /// One end, m.
        a: Vec2,
        /// The other, m.
        b: Vec2,
        /// m, above 0.
        radius: f32,
    },
    /// A convex polygon, its corners rounded if there is a radius.
    Polygon {
        /// 3 – 8, counter-clockwise, m.
        points: Vec<Vec2>,
        /// Of the rounding, added on all sides, m, at least 0.
        radius: f32,
    },
    /// A line from one point to another, solid from both sides. It has no area, hence no mass.
    Segment {
        /// One end, m.
        a: Vec2,
        /// The other, m.
        b: Vec2,
    },
    /// All points `x` with `normal·x ≤ offset`. On static and kinematic bodies only.
    HalfPlane {
        /// Out of the solid side, of length 1.
        normal: Vec2,
        /// Of the surface along the normal, m.
        offset: f32,
    },
    /// A disc on a body that never turns, and the only shape of it.
    Particle {
        /// m, above 0.
        radius: f32,
    },
}

/// A collider on a body.
#[derive(Clone, Debug, PartialEq)]
pub struct Shape {
    /// Outline.
    pub geometry: Geometry,
    /// In the body's frame, m.
    pub offset: Vec2,
    /// On the body, rad.
    pub rotation: f32,
    /// kg/m², above 0.
    pub density: f32,
    /// How it touches.
    pub material: Material,
    /// What it touches.
    pub filter: Filter,
    /// Notices what overlaps it, and touches nothing. Has mass like any other. Of the two bodies one must be dynamic: a sensor
    /// of a static or kinematic body does not notice static and kinematic bodies.
    pub sensor: bool,
}

impl Shape {
    /// A circle about the body's origin.
    #[must_use]
    pub fn circle(radius: f32) -> Self {
        Self::new(Geometry::Circle { radius })
    }

    /// A box about the body's origin, by half width and half height, m.
    #[must_use]
    pub fn half_box(half_width: f32, half_height: f32) -> Self {
        Self::new(Geometry::Box { half: Vec2::new(half_width, half_height), radius: 0.0 })
    }

    /// A box with rounded corners: `radius` is added on all sides, m.
    #[must_use]
    pub fn rounded_box(half_width: f32, half_height: f32, radius: f32) -> Self {
        Self::new(Geometry::Box { half: Vec2::new(half_width, half_height), radius })
    }

    /// All points within `radius` of the segment from `a` to `b`, m.
    #[must_use]
    pub fn capsule(a: impl Into<Vec2>, b: impl Into<Vec2>, radius: f32) -> Self {
        Self::new(Geometry::Capsule { a: a.into(), b: b.into(), radius })
    }

    /// A convex polygon, 3 – 8 points, counter-clockwise, m.
    #[must_use]
    pub fn polygon(points: impl IntoIterator<Item = impl Into<Vec2>>) -> Self {
        Self::new(Geometry::Polygon { points: points.into_iter().map(Into::into).collect(), radius: 0.0 })
    }

    /// A line from `a` to `b`, m, solid from both sides, without mass.
    #[must_use]
    pub fn segment(a: impl Into<Vec2>, b: impl Into<Vec2>) -> Self {
        Self::new(Geometry::Segment { a: a.into(), b: b.into() })
    }

    /// Everything below a line, seen along its normal (of length 1): `normal·x ≤ offset`, m.
    #[must_use]
    pub fn half_plane(normal: impl Into<Vec2>, offset: f32) -> Self {
        Self::new(Geometry::HalfPlane { normal: normal.into(), offset })
    }

    /// A particle: a disc that never turns.
    #[must_use]
    pub fn particle(radius: f32) -> Self {
        Self::new(Geometry::Particle { radius })
    }

    /// With density 1 kg/m² and the default material.
    #[must_use]
    pub fn new(geometry: Geometry) -> Self {
        Self {
            geometry,
            offset: Vec2::ZERO,
            rotation: 0.0,
            density: 1.0,
            material: Material::default(),
            filter: Filter::default(),
            sensor: false,
        }
    }

    /// Notices what overlaps it, and touches nothing. Of the two bodies one must be dynamic: a sensor of a static or kinematic
    /// body does not notice static and kinematic bodies.
    #[must_use]
    pub fn sensor(mut self) -> Self {
        self.sensor = true;
        self
    }

    /// Moved on the body, m.
    #[must_use]
    pub fn offset(mut self, x: f32, y: f32) -> Self {
        self.offset = Vec2::new(x, y);
        self
    }

    /// Turned on the body, rad.
    #[must_use]
    pub fn rotation(mut self, rotation: f32) -> Self {
        self.rotation = rotation;
        self
    }

    /// kg/m².
    #[must_use]
    pub fn density(mut self, density: f32) -> Self {
        self.density = density;
        self
    }

    /// Coulomb's coefficient.
    #[must_use]
    pub fn friction(mut self, friction: f32) -> Self {
        self.material.friction = friction;
        self
    }

    /// Coulomb's coefficient while sliding, where it differs from the one at rest.
    #[must_use]
    pub fn kinetic_friction(mut self, friction: f32) -> Self {
        self.material.kinetic_friction = Some(friction);
        self
    }

    /// The surface runs along itself, as a conveyor belt's, m/s.
    #[must_use]
    pub fn tangent_speed(mut self, speed: f32) -> Self {
        self.material.tangent_speed = speed;
        self
    }

    /// Resists rolling.
    #[must_use]
    pub fn rolling_resistance(mut self, resistance: f32) -> Self {
        self.material.rolling_resistance = resistance;
        self
    }

    /// Share of the approach speed given back.
    #[must_use]
    pub fn restitution(mut self, restitution: f32) -> Self {
        self.material.restitution = restitution;
        self
    }

    /// With another filter.
    #[must_use]
    pub fn filter(mut self, filter: Filter) -> Self {
        self.filter = filter;
        self
    }
}

/// How a shape touches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Material {
    /// Coulomb's coefficient, at least 0; two are mixed by √(ab). Default 0.6. At rest, if `kinetic_friction` is given.
    pub friction: f32,
    /// Coulomb's coefficient while sliding, from 0 to `friction`; mixed likewise. `None`: as at rest.
    pub kinetic_friction: Option<f32>,
    /// 0 – 1. Default 0.
    pub restitution: f32,
    /// Speed of the surface along itself, m/s: positive is clockwise around the shape, so that what lies on top is
    /// carried to the right. Those of two shapes add up. Default 0.
    pub tangent_speed: f32,
    /// At least 0: the torque that resists rolling is at most this times the normal force times the larger radius of
    /// the two shapes; the larger of two counts (Box2D). Default 0.
    pub rolling_resistance: f32,
}

impl Default for Material {
    fn default() -> Self {
        Self {
            friction: DEFAULT_FRICTION,
            kinetic_friction: None,
            restitution: 0.0,
            tangent_speed: 0.0,
            rolling_resistance: 0.0,
        }
    }
}

/// What a shape touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Filter {
    /// What it is, as bits.
    pub category: u32,
    /// What it meets, as bits. Both shapes must agree.
    pub mask: u32,
    /// Equal and positive: always meet; equal and negative: never; else category and mask decide.
    pub group: i32,
}

impl Default for Filter {
    fn default() -> Self {
        Self { category: 1, mask: u32::MAX, group: 0 }
    }
}
