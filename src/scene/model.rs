//! Bodies, shapes, force fields and settings of a scene. Plain data with builder methods. Values are checked
//! when a world is made from the scene ([`Scene::check`](crate::Scene::check)).
//!
//! SI units, y up, angles in radians, counter-clockwise.

use glam::Vec2;

use super::{ContactRule, Emitter, Joint, Material, MaterialPair, NamedMaterial, Path, TimedCommand};
use crate::constants::{
    DEFAULT_BAUMGARTE, DEFAULT_CONTACT_DAMPING_RATIO, DEFAULT_DT, DEFAULT_GRAVITY, DEFAULT_ITERATIONS, DEFAULT_SUBSTEPS,
};
use crate::types;

/// The start of a world: settings, bodies, joints and emitters, and commands with a time.
#[derive(Clone, Debug, PartialEq)]
pub struct Scene {
    /// Name for reports.
    pub name: String,
    /// Gravity, m/s². Default (0, −9.81); Box2D's scenes use (0, −10).
    pub gravity: Vec2,
    /// Settings of the solver.
    pub settings: Settings,
    /// Materials with a name, at most [`MAX_MATERIALS`](crate::types::MAX_MATERIALS) ([`Self::add_material`]).
    pub materials: Vec<NamedMaterial>,
    /// Friction and restitution of pairs of these materials, in place of those by the mixing rules.
    pub material_pairs: Vec<MaterialPair>,
    /// Bodies, in the order in which states are reported.
    pub bodies: Vec<Body>,
    /// Joints between bodies, or between a body and the world.
    pub joints: Vec<Joint>,
    /// Force fields beside gravity, at most [`MAX_FIELDS`](crate::types::MAX_FIELDS).
    pub fields: Vec<Field>,
    /// Emitters, which add bodies while the world runs.
    pub emitters: Vec<Emitter>,
    /// Commands with a time, in the order in which they act at the same time.
    pub timeline: Vec<TimedCommand>,
    /// Part of the plane that windows, pictures and movies show. `None`: they frame the bodies. It has no effect on the
    /// simulation.
    pub view: Option<ViewBox>,
    /// A law of the user's own about contacts. On a GPU all worlds of a batch have the same one.
    pub contact_rule: Option<ContactRule>,
}

/// A rectangle that pictures of a scene show whole.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ViewBox {
    /// Lower left corner, m.
    pub min: Vec2,
    /// Upper right corner, m; above `min` on both axes.
    pub max: Vec2,
}

impl Default for Scene {
    fn default() -> Self {
        Self {
            name: String::new(),
            gravity: Vec2::new(0.0, -DEFAULT_GRAVITY),
            settings: Settings::default(),
            materials: Vec::new(),
            material_pairs: Vec::new(),
            bodies: Vec::new(),
            joints: Vec::new(),
            fields: Vec::new(),
            emitters: Vec::new(),
            timeline: Vec::new(),
            view: None,
            contact_rule: None,
        }
    }
}

/// A force field that pulls every dynamic body towards a point with a force that does not depend on the distance;
/// negative values push. Its potential energy is zero at the rim of the core.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Field {
    /// Point in the world, m.
    pub position: Vec2,
    /// Force at the centre of mass, N: light bodies accelerate faster.
    pub force: f32,
    /// Acceleration, m/s², equal for all bodies.
    pub acceleration: f32,
    /// Distance from the point up to which the field does not act, m, at least 0.
    pub core: f32,
}

impl Scene {
    /// Returns an empty scene.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// Returns the scene with this gravity, m/s².
    #[must_use]
    pub fn gravity(mut self, x: f32, y: f32) -> Self {
        self.gravity = Vec2::new(x, y);
        self
    }

    /// Returns the scene with this part of the plane shown in pictures, by its lower left and upper right corner, m.
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

/// Method of the solver. All three share one contact kernel with different coefficients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Soft contacts in substeps, then a relax sweep without bias (Box2D's Soft Step). Stacks are the most stable.
    #[default]
    Soft,
    /// Sequential impulses with Baumgarte's bias and slop. Not for heavy ends, or more than some hundred bodies: a
    /// pyramid of 5,050 boxes blows apart at 32 m/s.
    Baumgarte,
    /// Sequential impulses without bias, then a projection of the positions (NGS). Not for joints that turn freely: two
    /// hinged bars lose 64 % of their angular momentum in 60 s at the default step.
    Projection,
}

/// Rule by which the friction or restitution of two materials is mixed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Mixing {
    /// The smaller of the two, the default for restitution: both materials must bounce.
    Min = types::MIX_MIN,
    /// The larger of the two, Box2D's rule for restitution: one material that bounces is enough.
    Max = types::MIX_MAX,
    /// The geometric mean √(ab), the default for friction, as in Box2D.
    Geometric = types::MIX_GEOMETRIC,
    /// The mean (a + b)/2, Rapier's default.
    Mean = types::MIX_MEAN,
    /// The product ab.
    Product = types::MIX_PRODUCT,
}

/// Settings of the solver for a scene. The defaults are those of Box2D's soft step but for four: the smaller of two
/// restitutions counts ([`Mixing::Min`]), so that a ball of 0.9 does not bounce from a ground of 0; bodies do not
/// sleep; there are no events; and gravity is 9.81 m/s² ([`Scene::gravity`]), not 10.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Length of a step, s. Above 0. Default 1/60.
    pub dt: f32,
    /// Substeps a step, 1 – 64. `None`: 4 in soft mode, 1 in the others.
    pub substeps: Option<u32>,
    /// Solver sweeps a substep, 1 – 64. `None`: 1 in soft mode, 10 in the others.
    pub iterations: Option<u32>,
    /// Unit of length, m, from 1e-5 to 1e5: about the size of the bodies. Distances and speeds of the solver follow it:
    /// the distance at which contacts begin, the slop, limits of speed, the speed below which bodies sleep. `None`: 1
    /// if the median size of the dynamic shapes is from 0.1 to 10 m, else the power of 2 that is nearest to it. Too
    /// large: small bodies sink into each other. Too small: contacts are found too late.
    pub length_unit: Option<f32>,
    /// Method of the solver.
    pub mode: Mode,
    /// Soft mode: one more sweep without bias after positions moved. Without it, the bias velocity stays as kinetic
    /// energy.
    pub relax: bool,
    /// Start from the impulses of the previous step. Without it, stacks need many more sweeps.
    pub warm_start: bool,
    /// Soft mode without [`Self::contact_hertz`]: bodies that rest on each other when the world begins press on their
    /// contacts from the first step on, and stay where they are. Without it, contacts begin as springs without load,
    /// and heaps sink until these carry them, a pyramid of 100 rows by 0.3 m. Finding the loads takes about as long as
    /// a few steps.
    pub initial_loads: bool,
    /// Soft mode without [`Self::contact_hertz`]: bodies that are squeezed between others count with more mass than
    /// they have, so that small ones carry large ones. Without it a stone under one 64 times its mass is pressed into
    /// it. Equal bodies count with up to four times their mass, from about 11 times their weight on a contact on. While
    /// they are squeezed, what pushes them from one side moves them less.
    pub mass_scaling: bool,
    /// Clamp the accumulated impulse, not each increment. Off is wrong on purpose: `examples/clamping.rs` shows the
    /// error.
    pub accumulate: bool,
    /// Share of the penetration removed in a step (baumgarte) or a sweep (projection), 0 – 1. Default 0.2.
    pub baumgarte: f32,
    /// Soft mode: stiffness of contacts as the frequency of a mass on their spring, Hz; contacts with static and
    /// kinematic bodies have twice that. At most a quarter of the substep rate acts. `None`: an eighth of it, 30 Hz at
    /// the default step, and contacts at rest are preloaded until they overlap by the slop or less. Of a frequency
    /// given here two equal bodies at rest overlap by `2g / (2πf)²` for each body's weight that the contact carries,
    /// 0.55 mm at 30 Hz. More: less overlap, but tall stacks take longer to come to rest; 120 Hz needs 8
    /// substeps.
    pub contact_hertz: Option<f32>,
    /// Soft mode: damping ratio of contacts, above 0; 1 is critical damping. Default 10. Less: stacks ring. More:
    /// overlaps are pushed out more slowly.
    pub contact_damping_ratio: f32,
    /// Soft mode: fastest speed at which overlaps are pushed out, m/s. `None`: 3, times the unit of speed
    /// ([`Self::length_unit`]). More: bodies that begin inside each other fly apart. 0: overlaps stay.
    pub push_speed: Option<f32>,
    /// Penetration that is not corrected, m; in soft mode that of heavy loads at rest. `None`: 0.005 length units.
    pub slop: Option<f32>,
    /// Correct penetration. Off: overlaps stay, and no bounce gains energy from being pushed out.
    pub correct_position: bool,
    /// Keep contact manifolds while a pair hardly moves. Without it, aligned stacks of 20 fall.
    pub recycle: bool,
    /// Stop fast bodies where they meet static shapes within a step, and [bullets](Body::bullet) also where they meet
    /// others. Off: what moves by more than about its own size in a step can get through walls.
    pub continuous: bool,
    /// Impacts slower than this do not bounce, m/s. `None`: 1, times the unit of speed, for bodies that press on each
    /// other, and six times what gravity adds in a substep (0.25) for others.
    pub restitution_threshold: Option<f32>,
    /// Mixing rule for restitution.
    pub restitution_mix: Mixing,
    /// Mixing rule for friction, at rest and while sliding.
    pub friction_mix: Mixing,
    /// Largest speed, m/s; faster bodies are slowed to it. `None`: 400, times the unit of speed. Less: what falls far
    /// is slowed. More: a step moves a body by more than its contacts can follow.
    pub max_speed: Option<f32>,
    /// Largest angular speed, rad/s; faster spins are slowed to it. `None`: a quarter of π a step, 47.1 rad/s at 60
    /// steps a second, and none for a disc about its centre of mass. Less: rotors are slowed. More: contacts of a
    /// turning body lag behind it.
    pub max_spin: Option<f32>,
    /// Repeat a step that outgrew a buffer after the buffer has grown, so that the result never depends on capacities.
    pub strict: bool,
    /// Report contacts and sensor overlaps that begin and end ([`World::take_events`](crate::World::take_events)). Off
    /// by default.
    pub events: bool,
    /// Let bodies at rest fall asleep by whole islands, and wake when something touches them. Off by default.
    pub sleep: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            dt: DEFAULT_DT,
            substeps: None,
            iterations: None,
            length_unit: None,
            mode: Mode::Soft,
            relax: true,
            warm_start: true,
            initial_loads: true,
            mass_scaling: true,
            accumulate: true,
            baumgarte: DEFAULT_BAUMGARTE,
            contact_hertz: None,
            contact_damping_ratio: DEFAULT_CONTACT_DAMPING_RATIO,
            push_speed: None,
            slop: None,
            correct_position: true,
            recycle: true,
            continuous: true,
            restitution_threshold: None,
            restitution_mix: Mixing::Min,
            friction_mix: Mixing::Geometric,
            max_speed: None,
            max_spin: None,
            strict: false,
            events: false,
            sleep: false,
        }
    }
}

impl Settings {
    /// Returns the substeps a step, with the default filled in.
    #[must_use]
    pub fn substep_count(&self) -> u32 {
        self.substeps.unwrap_or(if self.mode == Mode::Soft { DEFAULT_SUBSTEPS } else { 1 })
    }

    /// Returns the solver sweeps a substep, with the default filled in.
    #[must_use]
    pub fn iteration_count(&self) -> u32 {
        self.iterations.unwrap_or(if self.mode == Mode::Soft { 1 } else { DEFAULT_ITERATIONS })
    }
}

/// Type of a body: whether it moves, and whether by velocity alone or by forces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BodyType {
    /// Never moves.
    Static,
    /// Moves by its velocity alone; nothing stops it. A fast kinematic body may tunnel through a slow dynamic one if it
    /// moves further in a step than both are thick, unless the slow one is a [bullet](Body::bullet). Fast dynamic
    /// bodies do not pass through it.
    Kinematic,
    /// Moves by forces and impulses.
    #[default]
    Dynamic,
}

/// A rigid body: a frame with velocity, and the shapes that are fixed to it.
///
/// ```
/// use drystone::{Body, Scene, Shape, World};
///
/// let hammer = Body::dynamic(0.0, 2.0)
///     .shape(Shape::half_box(0.05, 0.5))
///     .shape(Shape::half_box(0.2, 0.1).offset(0.0, 0.5).density(8.0))
///     .angular_velocity(6.0);
/// let mut scene = Scene::new("hammer");
/// let hammer = scene.add(hammer);
/// assert!(World::new(&scene)?.body(hammer)?.mass() > 0.7);
/// # Ok::<(), drystone::WorldError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Body {
    /// Name for reports; unique in the scene.
    pub id: Option<String>,
    /// Type: static, kinematic or dynamic.
    pub kind: BodyType,
    /// Position of the body's origin (not its centre of mass), m, within 10,000 km of (0, 0).
    pub position: Vec2,
    /// Vector from there to the origin, m: what a 32-bit position far from (0, 0) rounds away. [`Body::position`] sets
    /// both.
    pub position_low: Vec2,
    /// Angle, rad.
    pub angle: f32,
    /// Velocity of the centre of mass, m/s.
    pub velocity: Vec2,
    /// Angular velocity, rad/s.
    pub angular_velocity: f32,
    /// Factor on gravity.
    pub gravity_scale: f32,
    /// Damping of the velocity, 1/s, at least 0.
    pub linear_damping: f32,
    /// Damping of the angular velocity, 1/s, at least 0.
    pub angular_damping: f32,
    /// True if the body never turns.
    pub fixed_rotation: bool,
    /// True for a bullet: a fast body that does not tunnel through dynamic bodies either. No fast body passes through
    /// static and kinematic ones; only a bullet is swept against dynamic ones too, which costs more. A slow bullet is
    /// also swept against fast kinematic bodies. The flag is about this body alone: another fast body that is no bullet
    /// may tunnel through a slow bullet.
    pub bullet: bool,
    /// True if the body may fall asleep, where bodies do ([`Settings::sleep`]).
    pub can_sleep: bool,
    /// Speed below which the body counts as at rest, m/s, above 0. `None`: 0.05 m/s, times the unit of length.
    pub sleep_speed: Option<f32>,
    /// Constant force in world axes, N.
    pub force: Vec2,
    /// Point at which the force acts, fixed on the body, in its frame, m. `None` is the centre of mass.
    pub force_point: Option<Vec2>,
    /// Constant torque, N·m.
    pub torque: f32,
    /// Mass, kg, in place of that of the shapes. The inertia is scaled with it unless given.
    pub mass: Option<f32>,
    /// Moment of inertia about the centre of mass, kg·m², in place of that of the shapes.
    pub inertia: Option<f32>,
    /// Path, in place of the velocity. Kinematic bodies only.
    pub path: Option<Path>,
    /// Number that the colour follows in pictures, in place of the body's index. A world that is saved as a scene gives
    /// it to bodies whose index is another there, so that they keep their colours.
    pub color_index: Option<u32>,
    /// Number of the user's, such as the key of a table beside the world ([`BodyView::user_data`](crate::BodyView)). It
    /// has no effect on the simulation.
    pub user_data: u64,
    /// Shapes, at least one.
    pub shapes: Vec<Shape>,
}

impl Default for Body {
    fn default() -> Self {
        Self {
            id: None,
            kind: BodyType::Dynamic,
            position: Vec2::ZERO,
            position_low: Vec2::ZERO,
            angle: 0.0,
            velocity: Vec2::ZERO,
            angular_velocity: 0.0,
            gravity_scale: 1.0,
            linear_damping: 0.0,
            angular_damping: 0.0,
            fixed_rotation: false,
            bullet: false,
            can_sleep: true,
            sleep_speed: None,
            force: Vec2::ZERO,
            force_point: None,
            torque: 0.0,
            mass: None,
            inertia: None,
            path: None,
            color_index: None,
            user_data: 0,
            shapes: Vec::new(),
        }
    }
}

impl Body {
    /// Returns a dynamic body with the origin of its frame at a position, m.
    #[must_use]
    pub fn dynamic(x: f32, y: f32) -> Self {
        Self { position: Vec2::new(x, y), ..Self::default() }
    }

    /// Returns a static body with the origin of its frame at a position, m.
    #[must_use]
    pub fn fixed(x: f32, y: f32) -> Self {
        Self { kind: BodyType::Static, ..Self::dynamic(x, y) }
    }

    /// Returns a kinematic body with the origin of its frame at a position, m.
    #[must_use]
    pub fn kinematic(x: f32, y: f32) -> Self {
        Self { kind: BodyType::Kinematic, ..Self::dynamic(x, y) }
    }

    /// Returns the body with one more shape.
    #[must_use]
    pub fn shape(mut self, shape: Shape) -> Self {
        self.shapes.push(shape);
        self
    }

    /// Returns the body with this angle, rad.
    #[must_use]
    pub fn angle(mut self, angle: f32) -> Self {
        self.angle = angle;
        self
    }

    /// Returns the body with this velocity, m/s.
    #[must_use]
    pub fn velocity(mut self, x: f32, y: f32) -> Self {
        self.velocity = Vec2::new(x, y);
        self
    }

    /// Returns the body with this angular velocity, rad/s.
    #[must_use]
    pub fn angular_velocity(mut self, angular_velocity: f32) -> Self {
        self.angular_velocity = angular_velocity;
        self
    }

    /// Returns the body as one that never falls asleep and keeps awake what touches it.
    #[must_use]
    pub fn sleepless(mut self) -> Self {
        self.can_sleep = false;
        self
    }

    /// Returns the body with a path.
    #[must_use]
    pub fn path(mut self, path: Path) -> Self {
        self.path = Some(path);
        self
    }

    /// Returns the body with a name.
    #[must_use]
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }
}

/// The outline of a shape, about its own origin.
#[derive(Clone, Debug, PartialEq)]
pub enum Geometry {
    /// A disc about the shape's origin.
    Circle {
        /// Radius, m, above 0.
        radius: f32,
    },
    /// A rectangle, its corners rounded if there is a radius.
    Box {
        /// Half width and half height, m, above 0.
        half: Vec2,
        /// Radius of the rounding, added on all sides, m, at least 0.
        radius: f32,
    },
    /// All points within `radius` of a segment.
    Capsule {
        /// First end, m.
        a: Vec2,
        /// Second end, m.
        b: Vec2,
        /// Radius, m, above 0.
        radius: f32,
    },
    /// A convex polygon, its corners rounded if there is a radius.
    Polygon {
        /// Corners, 3 – 8, counter-clockwise, m.
        points: Vec<Vec2>,
        /// Radius of the rounding, added on all sides, m, at least 0.
        radius: f32,
    },
    /// A line segment, solid from both sides. It has no area and so no mass.
    Segment {
        /// First end, m.
        a: Vec2,
        /// Second end, m.
        b: Vec2,
    },
    /// A link of a chain ([`Shape::chain`]): a line segment that touches bodies on the right side of the way from `a`
    /// to `b`, and lets pass what comes from the left. A body that slides over its end meets no corner where the next
    /// link goes straight on or turns to the right. On static and kinematic bodies only. It has no mass.
    Link {
        /// Start, m.
        a: Vec2,
        /// End, m.
        b: Vec2,
        /// Start of the link before it, m. `None`: the chain begins here, at a corner.
        before: Option<Vec2>,
        /// End of the link after it, m. `None`: the chain ends here, at a corner.
        after: Option<Vec2>,
    },
    /// All points `x` with `normal·x ≤ offset`. On static and kinematic bodies only.
    HalfPlane {
        /// Normal out of the solid side, of length 1.
        normal: Vec2,
        /// Position of the surface along the normal, m.
        offset: f32,
    },
    /// A disc that is the only shape of its body; the body never turns.
    Particle {
        /// Radius, m, above 0.
        radius: f32,
    },
}

/// A collider on a body.
#[derive(Clone, Debug, PartialEq)]
pub struct Shape {
    /// Outline of the shape.
    pub geometry: Geometry,
    /// Position of the shape's origin in the body's frame, m.
    pub offset: Vec2,
    /// Angle on the body, rad.
    pub rotation: f32,
    /// Density, kg/m², above 0.
    pub density: f32,
    /// Friction, restitution and surface speed.
    pub material: Material,
    /// Filter: the shapes that it collides with.
    pub filter: Filter,
    /// True for a sensor: it reports shapes that overlap it, of any kind of body, and touches nothing. It has mass like
    /// any other shape. Its filter may leave out shapes that are no visitors, such as the ground.
    pub sensor: bool,
    /// True for a platform that bodies pass from the inside: a contact begins only when they are outside. Links of a
    /// chain only.
    pub one_way: bool,
}

impl Shape {
    /// Returns a circle about the body's origin, by its radius, m.
    #[must_use]
    pub fn circle(radius: f32) -> Self {
        Self::new(Geometry::Circle { radius })
    }

    /// Returns a box about the body's origin, by half width and half height, m.
    #[must_use]
    pub fn half_box(half_width: f32, half_height: f32) -> Self {
        Self::new(Geometry::Box { half: Vec2::new(half_width, half_height), radius: 0.0 })
    }

    /// Returns a box with rounded corners: `radius` is added on all sides, m.
    #[must_use]
    pub fn rounded_box(half_width: f32, half_height: f32, radius: f32) -> Self {
        Self::new(Geometry::Box { half: Vec2::new(half_width, half_height), radius })
    }

    /// Returns a capsule: all points within `radius` of the segment from `a` to `b`, m.
    #[must_use]
    pub fn capsule(a: impl Into<Vec2>, b: impl Into<Vec2>, radius: f32) -> Self {
        Self::new(Geometry::Capsule { a: a.into(), b: b.into(), radius })
    }

    /// Returns a convex polygon of 3 – 8 corners, counter-clockwise, m.
    #[must_use]
    pub fn polygon(points: impl IntoIterator<Item = impl Into<Vec2>>) -> Self {
        Self::new(Geometry::Polygon { points: points.into_iter().map(Into::into).collect(), radius: 0.0 })
    }

    /// Returns a line segment from `a` to `b`, m, solid from both sides, without mass.
    #[must_use]
    pub fn segment(a: impl Into<Vec2>, b: impl Into<Vec2>) -> Self {
        Self::new(Geometry::Segment { a: a.into(), b: b.into() })
    }

    /// Returns a shape with this outline, a density of 1 kg/m² and the default material.
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
            one_way: false,
        }
    }

    /// Returns the shape as a sensor: it reports shapes that overlap it, and touches nothing.
    #[must_use]
    pub fn sensor(mut self) -> Self {
        self.sensor = true;
        self
    }

    /// Returns the shape at this position on the body, m.
    #[must_use]
    pub fn offset(mut self, x: f32, y: f32) -> Self {
        self.offset = Vec2::new(x, y);
        self
    }

    /// Returns the shape with this angle on the body, rad.
    #[must_use]
    pub fn rotation(mut self, rotation: f32) -> Self {
        self.rotation = rotation;
        self
    }

    /// Returns the shape with this density, kg/m².
    #[must_use]
    pub fn density(mut self, density: f32) -> Self {
        self.density = density;
        self
    }

    /// Returns the shape with this coefficient of friction.
    #[must_use]
    pub fn friction(mut self, friction: f32) -> Self {
        self.material.friction = friction;
        self
    }

    /// Returns the shape with this coefficient of friction while sliding.
    #[must_use]
    pub fn kinetic_friction(mut self, friction: f32) -> Self {
        self.material.kinetic_friction = Some(friction);
        self
    }

    /// Returns the shape with a surface that runs like a conveyor belt, m/s.
    #[must_use]
    pub fn tangent_speed(mut self, speed: f32) -> Self {
        self.material.tangent_speed = speed;
        self
    }

    /// Returns the shape with this resistance to rolling ([`Material::rolling_resistance`]).
    #[must_use]
    pub fn rolling_resistance(mut self, resistance: f32) -> Self {
        self.material.rolling_resistance = resistance;
        self
    }

    /// Returns the shape with this restitution, 0 – 1.
    #[must_use]
    pub fn restitution(mut self, restitution: f32) -> Self {
        self.material.restitution = restitution;
        self
    }

    /// Returns the shape with this filter.
    #[must_use]
    pub fn filter(mut self, filter: Filter) -> Self {
        self.filter = filter;
        self
    }
}

/// Collision filter of a shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Filter {
    /// Categories of the shape, as bits.
    pub category: u32,
    /// Categories that it collides with, as bits. Both shapes must agree.
    pub mask: u32,
    /// Group: shapes of one positive group always collide, of one negative group never; else category and mask decide.
    pub group: i32,
}

impl Default for Filter {
    fn default() -> Self {
        Self { category: 1, mask: u32::MAX, group: 0 }
    }
}
