//! Records of the scene file: one struct per object, one field per key. Defaults are those of the model. The JSON
//! Schema takes its descriptions from the docs of these structs and fields.
//!
//! JSON and RON share these records. In RON an object is `(key: value)`, a pair is `(1, 2)` or `[1, 2]`, and the words
//! of `type`, `mode` and `…_mix` have no quotes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

use super::joint_records::JointRecord;
use super::material_records::{MaterialPairRecord, MaterialRecord, MaterialRef};
use super::schema;
use super::timeline_records::TimedCommandRecord;
use super::values::{Element, Named, Pair, Place, TextLines, at_most, given, given_object, object};
use drystone::low_level::constants::DEFAULT_FRICTION;
use drystone::low_level::scene::check;
use drystone::low_level::types::{MAX_FIELDS, MAX_MATERIAL_PAIRS, MAX_MATERIALS};
use drystone::{Body, BodyType, Mixing, Mode, Scene, Settings, Shape};

/// Geometry keys; a shape has exactly one.
pub const GEOMETRIES: [&str; 11] = [
    "circle",
    "box",
    "capsule",
    "polygon",
    "outline",
    "segment",
    "link",
    "chain",
    "height_field",
    "half_plane",
    "particle",
];

/// A scene for Drystone, a 2D rigid-body solver. SI units, y up, angles in radians, counter-clockwise.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename = "Scene", deny_unknown_fields, expecting = "a scene object")]
pub struct SceneRecord {
    /// Location of this schema, for editors; ignored by Drystone.
    #[serde(rename = "$schema", default, deserialize_with = "given")]
    #[schemars(with = "String")]
    #[expect(dead_code, reason = "for editors")]
    pub schema: Option<String>,
    /// Version of the format: 1.
    #[schemars(extend("const" = 1))]
    pub version: u32,
    /// Name of the scene.
    #[serde(default)]
    #[schemars(length(max = check::MAX_NAME))]
    pub name: String,
    /// Gravity, m/s².
    #[serde(default = "default_gravity")]
    pub gravity: Pair,
    /// Solver settings.
    #[serde(default, deserialize_with = "object")]
    pub settings: SettingsRecord,
    /// Materials with names, for shapes and for `material_pairs`.
    #[serde(default, deserialize_with = "at_most::<_, _, MAX_MATERIALS>")]
    #[schemars(length(max = MAX_MATERIALS))]
    pub materials: Vec<MaterialRecord>,
    /// Friction and restitution between two of the materials, in place of those by the mixing rules. Each pair once.
    #[serde(default, deserialize_with = "at_most::<_, _, MAX_MATERIAL_PAIRS>")]
    #[schemars(length(max = MAX_MATERIAL_PAIRS))]
    pub material_pairs: Vec<MaterialPairRecord>,
    /// Bodies, in the order in which states are reported.
    #[serde(default, deserialize_with = "at_most::<_, _, { check::MAX_BODIES }>")]
    #[schemars(length(max = check::MAX_BODIES))]
    pub bodies: Vec<BodyRecord>,
    /// Joints between bodies, or between a body and the world.
    #[serde(default, deserialize_with = "at_most::<_, _, { check::MAX_JOINTS }>")]
    #[schemars(length(max = check::MAX_JOINTS))]
    pub joints: Vec<JointRecord>,
    /// Force fields in addition to gravity.
    #[serde(default, deserialize_with = "at_most::<_, _, MAX_FIELDS>")]
    #[schemars(length(max = MAX_FIELDS))]
    pub fields: Vec<FieldRecord>,
    /// Emitters, which add bodies while the world runs.
    #[serde(default, deserialize_with = "at_most::<_, _, { check::MAX_EMITTERS }>")]
    #[schemars(length(max = check::MAX_EMITTERS))]
    pub emitters: Vec<EmitterRecord>,
    /// Commands with a time or a condition, and ramps; those of one time act in this order.
    #[serde(default, deserialize_with = "at_most::<_, _, { check::MAX_TIMED_COMMANDS }>")]
    #[schemars(length(max = check::MAX_TIMED_COMMANDS))]
    pub timeline: Vec<TimedCommandRecord>,
    /// Part of the plane shown in windows, pictures and movies. Left out: chosen from the bodies.
    #[serde(default, deserialize_with = "given_object")]
    #[schemars(with = "ViewRecord")]
    pub view: Option<ViewRecord>,
    /// Your own law about contacts: WGSL with a function `rule`, which is called for each contact in each step and
    /// returns it with another friction, restitution, …, or as none. A text, or a list of its lines.
    #[serde(default, deserialize_with = "given")]
    #[schemars(with = "TextLines")]
    pub contact_rule: Option<TextLines>,
}

/// A rectangle that is shown whole.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename = "View", deny_unknown_fields, expecting = "a view object")]
pub struct ViewRecord {
    /// Lower left corner, m.
    #[schemars(schema_with = "schema::position")]
    pub min: Pair,
    /// Upper right corner, m: above min on both axes.
    #[schemars(schema_with = "schema::position")]
    pub max: Pair,
}

/// Adds a batch of bodies, with joints among them, before a step, once or repeatedly. An emitter without end requires
/// `keep` or `lifetime`.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename = "Emitter", default, deny_unknown_fields, expecting = "an emitter object")]
#[schemars(extend("required" = ["bodies"]))]
pub struct EmitterRecord {
    /// Bodies of a batch; no half planes. Only the emitter's own joints can refer to their ids.
    #[serde(deserialize_with = "at_most::<_, _, { check::MAX_BODIES }>")]
    #[schemars(length(min = 1, max = check::MAX_BODIES))]
    pub bodies: Vec<BodyRecord>,
    /// Joints between the bodies of a batch, or to the world; bodies by index in the batch or by id.
    #[serde(deserialize_with = "at_most::<_, _, { check::MAX_JOINTS }>")]
    #[schemars(length(max = check::MAX_JOINTS))]
    pub joints: Vec<JointRecord>,
    /// Number of steps done before the first batch.
    pub start: u32,
    /// Steps between two batches. Left out: there is only one batch.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "u32", range(min = 1))]
    pub every: Option<u32>,
    /// Total number of batches. Left out: unlimited.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "u32", range(min = 1))]
    pub count: Option<u32>,
    /// Maximum number of batches at a time: the oldest is removed when another is added.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "u32", range(min = 1))]
    pub keep: Option<u32>,
    /// Number of steps after which a batch is removed.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "u32", range(min = 1))]
    pub lifetime: Option<u32>,
}

impl Element for EmitterRecord {
    fn lack(&self) -> Option<String> {
        self.bodies.is_empty().then(|| "no bodies, expected at least one".to_owned())
    }
}

/// A force field that acts on all dynamic bodies.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename = "Field", deny_unknown_fields, expecting = "a field object")]
pub struct FieldRecord {
    /// Attraction to a point, equally strong at any distance; negative values repel.
    #[serde(deserialize_with = "object")]
    pub point: PointField,
}

impl Element for FieldRecord {
    fn lack(&self) -> Option<String> {
        None
    }
}

/// Attraction of bodies to a point.
#[derive(Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename = "PointField", default, deny_unknown_fields, expecting = "a point object")]
pub struct PointField {
    /// Position in the world, m.
    #[schemars(schema_with = "schema::position")]
    pub position: Pair,
    /// Force at the centre of mass, N: light bodies accelerate more.
    #[schemars(range(min = -check::MAX_VALUE, max = check::MAX_VALUE))]
    pub force: f32,
    /// Acceleration, m/s²: the same for all bodies.
    #[schemars(range(min = -check::MAX_VALUE, max = check::MAX_VALUE))]
    pub acceleration: f32,
    /// Radius around the point without force, m.
    #[schemars(range(min = 0, max = check::MAX_LENGTH))]
    pub core: f32,
}

/// Motion of a kinematic body: the origin of its frame is offset by amplitude · sin(rate · t + phase), its angle by
/// turn · sin(rate · t + phase).
#[derive(Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename = "Path", default, deny_unknown_fields, expecting = "a path object")]
pub struct PathRecord {
    /// Amplitude of the origin, m.
    #[schemars(schema_with = "schema::offset")]
    pub amplitude: Pair,
    /// Amplitude of the angle, rad.
    #[schemars(range(min = -check::MAX_ANGLE, max = check::MAX_ANGLE))]
    pub turn: f32,
    /// Angular frequency, rad/s.
    #[schemars(range(min = -check::MAX_ANGLE, max = check::MAX_ANGLE))]
    pub rate: f32,
    /// Phase, rad.
    #[schemars(range(min = -check::MAX_ANGLE, max = check::MAX_ANGLE))]
    pub phase: f32,
}

fn default_gravity() -> Pair {
    Pair(Scene::default().gravity)
}

/// Solver settings. The defaults are Box2D's.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename = "Settings", default, deny_unknown_fields, expecting = "a settings object")]
#[allow(clippy::struct_excessive_bools, reason = "as in the file")]
pub struct SettingsRecord {
    /// Time step, s. Left out: 1/60, or less for bodies smaller than 0.1 m and gravity above 98 m/s²: 1/60 halved until
    /// it is at most 1/60 of √(length_unit / 1 m · 9.81 m/s² / gravity) s.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f32", range(min = check::MIN_DT, max = check::MAX_DT))]
    pub dt: Option<f32>,
    /// Substeps per step. Left out: 4 in soft mode, 1 in the others.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", range(min = 1, max = check::MAX_SUBSTEPS))]
    pub substeps: Option<u32>,
    /// Sweeps per substep. Left out: 1 in soft mode, 10 in the others.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", range(min = 1, max = check::MAX_ITERATIONS))]
    pub iterations: Option<u32>,
    /// Unit of length, m: about the size of the bodies. Distances and speeds of the solver follow it. Left out: 1 if
    /// the median size of the dynamic shapes is from 0.1 to 10 m, else the power of 2 that is nearest to it.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f32", range(min = check::MIN_LENGTH, max = check::MAX_LENGTH))]
    pub length_unit: Option<f32>,
    /// soft: soft contacts in substeps (Box2D); baumgarte: sequential impulses with bias, not for large stacks (a
    /// pyramid of 5,050 boxes blows apart at 32 m/s); projection: sequential impulses, then a projection of the
    /// positions, not for joints that turn freely (hinged bars lose 64 % of their angular momentum in 60 s).
    pub mode: Named<Mode>,
    /// Soft mode: another sweep without bias after positions were integrated.
    pub relax: bool,
    /// Start each step from the impulses of the previous one.
    pub warm_start: bool,
    /// Soft mode without `contact_hertz`: bodies that rest on each other when the world begins press on their contacts
    /// from the first step on, and stay where they are. False: heaps sink until their contacts carry them.
    pub initial_loads: bool,
    /// Soft mode without `contact_hertz`: bodies that are squeezed between others count with more mass than they have,
    /// so that small ones carry large ones. False: stones under one 64 times their mass are pressed into it.
    pub mass_scaling: bool,
    /// Clamp the accumulated impulse instead of each increment. False gives wrong results, for demonstration.
    pub accumulate: bool,
    /// Share of the penetration that is corrected per step (baumgarte) or sweep (projection).
    #[schemars(range(min = 0, max = 1))]
    pub baumgarte: f32,
    /// Soft mode: stiffness of contacts, Hz; at most a quarter of the substep rate acts. Left out: an eighth of
    /// it, 30 at the default step, and contacts at rest overlap by no more than the slop.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f32", extend("exclusiveMinimum" = 0), range(max = check::MAX_HERTZ))]
    pub contact_hertz: Option<f32>,
    /// Soft mode: damping ratio of contacts; 1 is critical damping.
    #[schemars(extend("exclusiveMinimum" = 0), range(max = check::MAX_HERTZ))]
    pub contact_damping_ratio: f32,
    /// Soft mode: fastest speed at which overlaps are pushed out, m/s. Left out: 3 for a length unit of 1 m, else with
    /// the square root of length unit times gravity.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f32", range(min = 0, max = check::MAX_VALUE))]
    pub push_speed: Option<f32>,
    /// Penetration that is tolerated, m. Left out: 0.005 length units.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f32", range(min = 0, max = check::MAX_LENGTH))]
    pub slop: Option<f32>,
    /// Correct penetration.
    pub correct_position: bool,
    /// Reuse contact manifolds while a pair hardly moves.
    pub recycle: bool,
    /// Stop fast bodies where they meet static shapes within a step, and bullets also where they meet others. False:
    /// what moves by more than about its own size in a step can get through walls.
    pub continuous: bool,
    /// Approach speed below which impacts do not bounce, m/s. Left out: six times what gravity adds in a substep, 0.25
    /// at the default step; for bodies that press on each other already 1, with the square root of length unit times
    /// gravity if they are not 1 m and that of Earth.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f32", range(min = 0, max = check::MAX_VALUE))]
    pub restitution_threshold: Option<f32>,
    /// Mixing rule for the restitutions of two shapes.
    pub restitution_mix: Named<Mixing>,
    /// Mixing rule for the frictions of two shapes, at rest and while sliding.
    pub friction_mix: Named<Mixing>,
    /// Largest speed, m/s; faster bodies are slowed to it. Left out: 400 for a length unit of 1 m, else with the square
    /// root of length unit times gravity.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f32", extend("exclusiveMinimum" = 0), range(max = check::MAX_VALUE))]
    pub max_speed: Option<f32>,
    /// Largest angular speed, rad/s; faster spins are slowed to it. Left out: a quarter of π per step, 47.1 at 60 steps
    /// per second; none for a disc about its centre of mass.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f32", extend("exclusiveMinimum" = 0), range(max = check::MAX_VALUE))]
    pub max_spin: Option<f32>,
    /// Repeat a step that overflowed a buffer, so that the result never depends on capacities.
    pub strict: bool,
    /// Report contacts that begin and end, and sensor overlaps.
    pub events: bool,
    /// Let bodies at rest fall asleep, and wake when something touches them.
    pub sleep: bool,
}

impl Default for SettingsRecord {
    fn default() -> Self {
        let s = Settings::default();
        Self {
            dt: None,
            substeps: s.substeps,
            iterations: s.iterations,
            length_unit: s.length_unit,
            mode: Named(s.mode),
            relax: s.relax,
            warm_start: s.warm_start,
            initial_loads: s.initial_loads,
            mass_scaling: s.mass_scaling,
            accumulate: s.accumulate,
            baumgarte: s.baumgarte,
            contact_hertz: s.contact_hertz,
            contact_damping_ratio: s.contact_damping_ratio,
            push_speed: s.push_speed,
            slop: s.slop,
            correct_position: s.correct_position,
            recycle: s.recycle,
            continuous: s.continuous,
            restitution_threshold: s.restitution_threshold,
            restitution_mix: Named(s.restitution_mix),
            friction_mix: Named(s.friction_mix),
            max_speed: s.max_speed,
            max_spin: s.max_spin,
            strict: s.strict,
            events: s.events,
            sleep: s.sleep,
        }
    }
}

/// A rigid body: a frame with velocity, and the shapes fixed to it.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename = "Body", default, deny_unknown_fields, expecting = "a body object")]
#[schemars(extend("required" = ["shapes"]))]
pub struct BodyRecord {
    /// Name in reports and joints; unique in the scene.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = check::MAX_NAME))]
    pub id: Option<String>,
    /// static never moves; kinematic moves with its velocity, unaffected by forces; dynamic moves under forces.
    #[serde(rename = "type")]
    pub kind: Named<BodyType>,
    /// Origin of the body's frame (not its centre of mass), m, in double precision.
    #[schemars(schema_with = "schema::position")]
    pub position: Place,
    /// Angle, rad.
    #[schemars(range(min = -check::MAX_ANGLE, max = check::MAX_ANGLE))]
    pub angle: f32,
    /// Velocity of the centre of mass, m/s. Ignored for static bodies.
    pub velocity: Pair,
    /// Angular velocity, rad/s. Ignored for static bodies.
    #[schemars(range(min = -check::MAX_VALUE, max = check::MAX_VALUE))]
    pub angular_velocity: f32,
    /// Factor on gravity.
    #[schemars(range(min = -check::MAX_VALUE, max = check::MAX_VALUE))]
    pub gravity_scale: f32,
    /// Linear damping, 1/s.
    #[schemars(range(min = 0, max = check::MAX_VALUE))]
    pub linear_damping: f32,
    /// Angular damping, 1/s.
    #[schemars(range(min = 0, max = check::MAX_VALUE))]
    pub angular_damping: f32,
    /// Fixed rotation: the body never turns.
    pub fixed_rotation: bool,
    /// Use continuous collision detection against dynamic bodies too when fast, not only against static ones.
    pub bullet: bool,
    /// Allow sleeping, if the settings enable it.
    pub can_sleep: bool,
    /// Speed below which the body counts as at rest, m/s. Left out: 0.05 m/s, times the unit of length.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f32", extend("exclusiveMinimum" = 0), range(max = check::MAX_VALUE))]
    pub sleep_speed: Option<f32>,
    /// Constant force in world axes, N.
    pub force: Pair,
    /// Point at which the force acts, fixed on the body, in its frame, m. Left out: the centre of mass.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::offset")]
    pub force_point: Option<Pair>,
    /// Constant torque, N·m.
    #[schemars(range(min = -check::MAX_VALUE, max = check::MAX_VALUE))]
    pub torque: f32,
    /// Mass, kg; overrides that of the shapes (inertia is scaled along unless given).
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f32", extend("exclusiveMinimum" = 0))]
    pub mass: Option<f32>,
    /// Moment of inertia about the centre of mass, kg·m²; overrides that of the shapes.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f32", extend("exclusiveMinimum" = 0))]
    pub inertia: Option<f32>,
    /// Prescribed motion instead of a velocity. Kinematic bodies only.
    #[serde(deserialize_with = "given_object", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "PathRecord")]
    pub path: Option<PathRecord>,
    /// Number that the colour follows in pictures. Left out: the index of the body.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32")]
    pub color_index: Option<u32>,
    /// Number of the user's, from 0 to 18446744073709551615, without effect on the simulation.
    pub user_data: u64,
    /// Shapes, at least one.
    #[serde(deserialize_with = "at_most::<_, _, { check::MAX_SHAPES }>", skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1))]
    pub shapes: Vec<ShapeRecord>,
}

impl Default for BodyRecord {
    fn default() -> Self {
        let b = Body::default();
        Self {
            id: b.id,
            kind: Named(b.kind),
            position: Place::default(),
            angle: b.angle,
            velocity: Pair(b.velocity),
            angular_velocity: b.angular_velocity,
            gravity_scale: b.gravity_scale,
            linear_damping: b.linear_damping,
            angular_damping: b.angular_damping,
            fixed_rotation: b.fixed_rotation,
            bullet: b.bullet,
            can_sleep: b.can_sleep,
            sleep_speed: b.sleep_speed,
            force: Pair(b.force),
            force_point: b.force_point.map(Pair),
            torque: b.torque,
            mass: b.mass,
            inertia: b.inertia,
            path: None,
            color_index: None,
            user_data: b.user_data,
            shapes: Vec::new(),
        }
    }
}

impl Element for BodyRecord {
    fn lack(&self) -> Option<String> {
        self.shapes.is_empty().then(|| "no shapes, expected at least one".to_owned())
    }
}

/// A collider on a body. Exactly one of `circle`, `box`, `capsule`, `polygon`, `outline`, `segment`, `link`, `chain`,
/// `height_field`, `half_plane`, `particle`.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename = "Shape", default, deny_unknown_fields, expecting = "a shape object")]
#[schemars(transform = schema::one_geometry)]
pub struct ShapeRecord {
    /// A circle about the shape's origin.
    #[serde(deserialize_with = "given_object", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Round")]
    pub circle: Option<Round>,
    /// A rectangle about the shape's origin.
    #[serde(rename = "box", deserialize_with = "given_object", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "BoxRecord")]
    pub rectangle: Option<BoxRecord>,
    /// All points within a radius of a segment.
    #[serde(deserialize_with = "given_object", skip_serializing)]
    #[schemars(with = "Capsule")]
    pub capsule: Option<Box<Capsule>>,
    /// A convex polygon, with rounded corners if it has a radius.
    #[serde(deserialize_with = "given_object", skip_serializing)]
    #[schemars(with = "Polygon")]
    pub polygon: Option<Box<Polygon>>,
    /// An outline whose corners may turn inwards, and of which there may be more than 8: it is split into convex
    /// polygons, which are as many shapes.
    #[serde(deserialize_with = "given_object", skip_serializing)]
    #[schemars(with = "OutlineRecord")]
    pub outline: Option<Box<OutlineRecord>>,
    /// A line, solid from both sides. It has no area, hence no mass.
    #[serde(deserialize_with = "given_object", skip_serializing)]
    #[schemars(with = "Segment")]
    pub segment: Option<Box<Segment>>,
    /// A link of a chain: a line that touches bodies on its right side. Static and kinematic bodies only.
    #[serde(deserialize_with = "given_object", skip_serializing)]
    #[schemars(with = "Link")]
    pub link: Option<Box<Link>>,
    /// A chain of links through points, which are as many shapes: a ground without bumps. Static and kinematic bodies
    /// only.
    #[serde(deserialize_with = "given_object", skip_serializing)]
    #[schemars(with = "Chain")]
    pub chain: Option<Box<Chain>>,
    /// A chain of links over heights at equal distances, which are as many shapes: a ground without bumps. Static and
    /// kinematic bodies only.
    #[serde(deserialize_with = "given_object", skip_serializing)]
    #[schemars(with = "HeightField")]
    pub height_field: Option<Box<HeightField>>,
    /// Everything below a line, relative to its normal. Static and kinematic bodies only.
    #[serde(deserialize_with = "given_object", skip_serializing)]
    #[schemars(with = "HalfPlane")]
    pub half_plane: Option<Box<HalfPlane>>,
    /// A disc on a body that never turns, and its only shape.
    #[serde(deserialize_with = "given_object", skip_serializing)]
    #[schemars(with = "Round")]
    pub particle: Option<Round>,
    /// Origin in the body's frame, m.
    #[schemars(schema_with = "schema::offset")]
    pub offset: Pair,
    /// Rotation in the body's frame, rad.
    #[schemars(range(min = -check::MAX_ANGLE, max = check::MAX_ANGLE))]
    pub rotation: f32,
    /// Density, kg/m².
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub density: f32,
    /// Material with a name, or its index among those of the scene. Values given beside it win over its own.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "MaterialRef")]
    pub material: Option<MaterialRef>,
    /// Coulomb friction coefficient; two are mixed by `settings.friction_mix`. Static friction if `kinetic_friction` is
    /// given. Left out: that of `material`.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f32", range(min = 0, max = check::MAX_VALUE), extend("default" = DEFAULT_FRICTION))]
    pub friction: Option<f32>,
    /// Coulomb friction coefficient while sliding, at most `friction`; mixed by the same rule. Left out: the same as
    /// `friction`; that of `material` if `friction` is left out too.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f32", range(min = 0, max = check::MAX_VALUE))]
    pub kinetic_friction: Option<f32>,
    /// Share of the approach speed that is returned. Left out: that of `material`.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f32", range(min = 0, max = 1), extend("default" = 0.0))]
    pub restitution: Option<f32>,
    /// Speed of the surface along itself, as of a conveyor belt, m/s: positive moves bodies on top to the right. Left
    /// out: that of `material`.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f32", range(min = -check::MAX_VALUE, max = check::MAX_VALUE), extend("default" = 0.0))]
    pub tangent_speed: Option<f32>,
    /// Torque against rolling, relative to normal force times radius; the larger of two counts. Left out: that of
    /// `material`.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f32", range(min = 0, max = check::MAX_VALUE), extend("default" = 0.0))]
    pub rolling_resistance: Option<f32>,
    /// Collision filter.
    #[serde(deserialize_with = "object")]
    pub filter: FilterRecord,
    /// Sensor: reports overlaps, and does not collide.
    pub sensor: bool,
    /// Platform that bodies pass from the inside: a contact begins only from outside. Links and chains only.
    pub one_way: bool,
}

impl Default for ShapeRecord {
    fn default() -> Self {
        let s = Shape::circle(1.0);
        Self {
            circle: None,
            rectangle: None,
            capsule: None,
            polygon: None,
            outline: None,
            segment: None,
            link: None,
            chain: None,
            height_field: None,
            half_plane: None,
            particle: None,
            offset: Pair(s.offset),
            rotation: s.rotation,
            density: s.density,
            material: None,
            friction: None,
            kinetic_friction: None,
            restitution: None,
            tangent_speed: None,
            rolling_resistance: None,
            filter: FilterRecord::default(),
            sensor: false,
            one_way: false,
        }
    }
}

impl ShapeRecord {
    /// Returns true for each of [`GEOMETRIES`] that it has.
    pub fn geometries(&self) -> [bool; 11] {
        [
            self.circle.is_some(),
            self.rectangle.is_some(),
            self.capsule.is_some(),
            self.polygon.is_some(),
            self.outline.is_some(),
            self.segment.is_some(),
            self.link.is_some(),
            self.chain.is_some(),
            self.height_field.is_some(),
            self.half_plane.is_some(),
            self.particle.is_some(),
        ]
    }
}

impl Element for ShapeRecord {
    fn lack(&self) -> Option<String> {
        let none = self.geometries() == [false; 11];
        none.then(|| format!("no outline, expected one of {}", GEOMETRIES.join(", ")))
    }
}

/// Collision filter of a shape.
#[derive(Debug, Deserialize, Serialize, JsonSchema, PartialEq)]
#[serde(rename = "Filter", default, deny_unknown_fields, expecting = "a filter object")]
pub struct FilterRecord {
    /// Categories of the shape, as bits.
    pub category: u32,
    /// Categories with which it collides, as bits. Both shapes must agree.
    pub mask: u32,
    /// Equal and positive: always collide; equal and negative: never; else category and mask decide.
    pub group: i32,
}

impl Default for FilterRecord {
    fn default() -> Self {
        let filter = drystone::Filter::default();
        Self { category: filter.category, mask: filter.mask, group: filter.group }
    }
}

/// Writes a value that is there as itself: RON would write `Some`.
#[allow(clippy::ref_option, reason = "serde calls it so")]
fn plain<S: Serializer>(value: &Option<Pair>, serializer: S) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => value.serialize(serializer),
        None => serializer.serialize_none(),
    }
}

/// Returns true for 0, but not for −0, which is written.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(value: &f32) -> bool {
    value.to_bits() == 0
}

/// A circle or a particle.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "an object with a radius")]
pub struct Round {
    /// Radius, m.
    #[schemars(range(min = check::MIN_LENGTH, max = check::MAX_LENGTH))]
    pub radius: f32,
}

/// A rectangle.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename = "Box", deny_unknown_fields, expecting = "a box object")]
pub struct BoxRecord {
    /// Half width and half height, m.
    #[schemars(schema_with = "schema::lengths")]
    pub half: Pair,
    /// Rounding radius, added on all sides, m.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(range(min = 0, max = check::MAX_LENGTH))]
    pub radius: f32,
}

/// All points within `radius` of a segment.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a capsule object")]
pub struct Capsule {
    /// First end of the segment, m.
    #[schemars(schema_with = "schema::offset")]
    pub a: Pair,
    /// Second end of the segment, m.
    #[schemars(schema_with = "schema::offset")]
    pub b: Pair,
    /// Radius, m.
    #[schemars(range(min = check::MIN_LENGTH, max = check::MAX_LENGTH))]
    pub radius: f32,
}

/// A convex polygon.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a polygon object")]
pub struct Polygon {
    /// 3 to 8 vertices, convex, counter-clockwise, each at least 0.1 mm off the line through its neighbours, m.
    #[schemars(schema_with = "schema::corners")]
    pub points: Vec<Pair>,
    /// Rounding radius, added on all sides, m.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(range(min = 0, max = check::MAX_LENGTH))]
    pub radius: f32,
}

/// A closed outline.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename = "Outline", deny_unknown_fields, expecting = "an outline object")]
pub struct OutlineRecord {
    /// 3 to 1024 corners, clockwise or counter-clockwise, each at least 0.01 mm from the one before, m. Its sides do
    /// not cross or touch.
    #[schemars(schema_with = "schema::outline")]
    pub points: Vec<Pair>,
}

/// A line from `a` to `b`.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a segment object")]
pub struct Segment {
    /// First end, m.
    #[schemars(schema_with = "schema::offset")]
    pub a: Pair,
    /// Second end, m.
    #[schemars(schema_with = "schema::offset")]
    pub b: Pair,
}

/// A line from `a` to `b` that touches bodies on the right side of the way from `a` to `b`.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a link object")]
pub struct Link {
    /// Start, m.
    #[schemars(schema_with = "schema::offset")]
    pub a: Pair,
    /// End, m.
    #[schemars(schema_with = "schema::offset")]
    pub b: Pair,
    /// Start of the link before it, m. Left out: the chain begins here, at a corner.
    #[serde(default, deserialize_with = "given", serialize_with = "plain", skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::offset")]
    pub before: Option<Pair>,
    /// End of the link after it, m. Left out: the chain ends here, at a corner.
    #[serde(default, deserialize_with = "given", serialize_with = "plain", skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::offset")]
    pub after: Option<Pair>,
}

/// Links through points.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a chain object")]
pub struct Chain {
    /// At least 2 points, each at least 0.1 mm from the one before, m. Bodies touch the right side of the way through
    /// them, so a ground goes from right to left.
    #[schemars(length(min = 2))]
    pub points: Vec<Pair>,
    /// True if the last point is linked to the first one; then at least 3 points.
    #[serde(rename = "loop", default)]
    pub is_loop: bool,
}

/// Heights at equal distances.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a height_field object")]
pub struct HeightField {
    /// Distance from one height to the next, m.
    #[schemars(range(min = check::MIN_LENGTH, max = check::MAX_LENGTH))]
    pub spacing: f32,
    /// At least 2 heights, from left to right, the first at the shape's origin, m. Bodies lie on top.
    #[schemars(schema_with = "schema::heights")]
    pub heights: Vec<f32>,
}

/// Everything below a line. Static and kinematic bodies only.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a half_plane object")]
pub struct HalfPlane {
    /// Normal, out of the solid side; need not have length 1.
    pub normal: Pair,
    /// Distance of the line from the origin along the normal, m.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(range(min = -check::MAX_LENGTH, max = check::MAX_LENGTH))]
    pub offset: f32,
}
