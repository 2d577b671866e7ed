//! The scene file as it is written down: one struct an object, one field a key. Defaults are the model's.
//!
//! JSON and RON share these. In RON an object is `(key: value)`, a pair is `(1, 2)` or `[1, 2]`, and the words of
//! `type`, `mode` and `restitution_mix` have no quotes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::joint_records::JointRecord;
use super::schema;
use super::values::{Element, Named, Pair, at_most, given, given_object, object};
use drystone::low_level::scene::check;
use drystone::low_level::types::MAX_FIELDS;
use drystone::{Body, BodyType, Mode, RestitutionMix, Scene, Settings, Shape};

/// The keys of which a shape has exactly one.
pub const GEOMETRIES: [&str; 7] = ["circle", "box", "capsule", "polygon", "segment", "half_plane", "particle"];

/// A scene for Drystone, a 2D rigid-body solver. SI units, y up, angles in radians, counter-clockwise.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename = "Scene", deny_unknown_fields, expecting = "a scene object")]
pub struct SceneRecord {
    /// Where an editor finds this schema; Drystone does not read it.
    #[serde(rename = "$schema", default, deserialize_with = "given")]
    #[schemars(with = "String")]
    #[expect(dead_code, reason = "for editors")]
    pub schema: Option<String>,
    /// Of the format: 1.
    #[schemars(extend("const" = 1))]
    pub version: u32,
    /// What you call it.
    #[serde(default)]
    #[schemars(length(max = check::MAX_NAME))]
    pub name: String,
    /// m/s².
    #[serde(default = "default_gravity")]
    pub gravity: Pair,
    /// How it is solved.
    #[serde(default, deserialize_with = "object")]
    pub settings: SettingsRecord,
    /// In the order in which states are reported.
    #[serde(default, deserialize_with = "at_most::<_, _, { check::MAX_BODIES }>")]
    #[schemars(length(max = check::MAX_BODIES))]
    pub bodies: Vec<BodyRecord>,
    /// What ties bodies together.
    #[serde(default, deserialize_with = "at_most::<_, _, { check::MAX_JOINTS }>")]
    #[schemars(length(max = check::MAX_JOINTS))]
    pub joints: Vec<JointRecord>,
    /// What draws bodies to places, beside gravity.
    #[serde(default, deserialize_with = "at_most::<_, _, MAX_FIELDS>")]
    #[schemars(length(max = MAX_FIELDS))]
    pub fields: Vec<FieldRecord>,
    /// What makes bodies while the world runs.
    #[serde(default, deserialize_with = "at_most::<_, _, { check::MAX_EMITTERS }>")]
    #[schemars(length(max = check::MAX_EMITTERS))]
    pub emitters: Vec<EmitterRecord>,
    /// Part of the plane that windows, pictures and movies show. Left out: they frame the bodies.
    #[serde(default, deserialize_with = "given_object")]
    #[schemars(with = "ViewRecord")]
    pub view: Option<ViewRecord>,
}

/// A rectangle that is shown whole.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename = "View", deny_unknown_fields, expecting = "a view object")]
pub struct ViewRecord {
    /// Left and bottom, m.
    #[schemars(schema_with = "schema::position")]
    pub min: Pair,
    /// Right and top, m: above min on both axes.
    #[schemars(schema_with = "schema::position")]
    pub max: Pair,
}

/// Makes a batch of bodies, with joints among them, before a step, again and again if it says so. One that goes on for
/// ever has keep or lifetime.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename = "Emitter", default, deny_unknown_fields, expecting = "an emitter object")]
#[schemars(extend("required" = ["bodies"]))]
pub struct EmitterRecord {
    /// Of a batch, no half planes among them. Their ids are for the emitter's own joints.
    #[serde(deserialize_with = "at_most::<_, _, { check::MAX_BODIES }>")]
    #[schemars(length(min = 1, max = check::MAX_BODIES))]
    pub bodies: Vec<BodyRecord>,
    /// What ties the bodies of a batch together, or to the world: by their index in it, or their id.
    #[serde(deserialize_with = "at_most::<_, _, { check::MAX_JOINTS }>")]
    #[schemars(length(max = check::MAX_JOINTS))]
    pub joints: Vec<JointRecord>,
    /// Steps done when the first batch comes.
    pub start: u32,
    /// Steps from one batch to the next. Left out: there is only one.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "u32", range(min = 1))]
    pub every: Option<u32>,
    /// How many batches there are in all. Left out: no end.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "u32", range(min = 1))]
    pub count: Option<u32>,
    /// How many batches there may be at a time: as another comes the oldest goes.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "u32", range(min = 1))]
    pub keep: Option<u32>,
    /// Steps that a batch takes part in before it goes.
    #[serde(deserialize_with = "given")]
    #[schemars(with = "u32", range(min = 1))]
    pub lifetime: Option<u32>,
}

impl Element for EmitterRecord {
    fn lack(&self) -> Option<String> {
        self.bodies.is_empty().then(|| "no bodies, expected at least one".to_owned())
    }
}

/// Something that moves all dynamic bodies.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename = "Field", deny_unknown_fields, expecting = "a field object")]
pub struct FieldRecord {
    /// Draws them to a point, equally hard from everywhere; negative values drive them away.
    #[serde(deserialize_with = "object")]
    pub point: PointField,
}

impl Element for FieldRecord {
    fn lack(&self) -> Option<String> {
        None
    }
}

/// Draws bodies to a point.
#[derive(Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename = "PointField", default, deny_unknown_fields, expecting = "a point object")]
pub struct PointField {
    /// In the world, m.
    #[schemars(schema_with = "schema::position")]
    pub position: Pair,
    /// At the centre of mass, N: light bodies come faster.
    #[schemars(range(min = -check::MAX_VALUE, max = check::MAX_VALUE))]
    pub force: f32,
    /// m/s²: all come equally fast.
    #[schemars(range(min = -check::MAX_VALUE, max = check::MAX_VALUE))]
    pub acceleration: f32,
    /// Up to this distance from the point it is not felt, m.
    #[schemars(range(min = 0, max = check::MAX_LENGTH))]
    pub core: f32,
}

/// Leads a kinematic body: amplitude · sin(rate · t + phase) beside its position, and turned likewise.
#[derive(Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename = "Path", default, deny_unknown_fields, expecting = "a path object")]
pub struct PathRecord {
    /// How far it swings to either side, m.
    #[schemars(schema_with = "schema::position")]
    pub amplitude: Pair,
    /// How far it turns to either side, rad.
    #[schemars(range(min = -check::MAX_ANGLE, max = check::MAX_ANGLE))]
    pub turn: f32,
    /// rad/s.
    #[schemars(range(min = -check::MAX_ANGLE, max = check::MAX_ANGLE))]
    pub rate: f32,
    /// rad.
    #[schemars(range(min = -check::MAX_ANGLE, max = check::MAX_ANGLE))]
    pub phase: f32,
}

fn default_gravity() -> Pair {
    Pair(Scene::default().gravity)
}

/// How the scene is solved. The defaults are Box2D's.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename = "Settings", default, deny_unknown_fields, expecting = "a settings object")]
#[allow(clippy::struct_excessive_bools, reason = "as in the file")]
pub struct SettingsRecord {
    /// Length of a step, s.
    #[schemars(range(min = check::MIN_DT, max = check::MAX_DT))]
    pub dt: f32,
    /// Substeps a step. Left out: 4 in soft mode, 1 in the others.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", range(min = 1, max = check::MAX_SUBSTEPS))]
    pub substeps: Option<u32>,
    /// Sweeps a substep. Left out: 1 in soft mode, 10 in the others.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", range(min = 1, max = check::MAX_ITERATIONS))]
    pub iterations: Option<u32>,
    /// soft: soft contacts in substeps (Box2D); baumgarte: sequential impulses with bias; projection: sequential
    /// impulses, then a projection of the positions.
    pub mode: Named<Mode>,
    /// Soft mode: one more sweep without bias after positions moved.
    pub relax: bool,
    /// Start from the impulses of the step before.
    pub warm_start: bool,
    /// Clamp the accumulated impulse, not each increment. Off is wrong, and shows why.
    pub accumulate: bool,
    /// Share of the penetration that is removed in a step (baumgarte) or a sweep (projection).
    #[schemars(range(min = 0, max = 1))]
    pub baumgarte: f32,
    /// Soft mode: stiffness of contacts, Hz; at most a quarter of the substep rate acts. Left out: 30, at most an eighth of
    /// the substep rate.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f32", extend("exclusiveMinimum" = 0), range(max = check::MAX_HERTZ))]
    pub contact_hertz: Option<f32>,
    /// Soft mode: damping ratio of contacts; 1 is critical damping.
    #[schemars(extend("exclusiveMinimum" = 0), range(max = check::MAX_HERTZ))]
    pub contact_damping_ratio: f32,
    /// Soft mode: fastest speed at which overlaps are pushed out, m/s.
    #[schemars(range(min = 0, max = check::MAX_VALUE))]
    pub push_speed: f32,
    /// Penetration that is left alone, m.
    #[schemars(range(min = 0, max = check::MAX_LENGTH))]
    pub slop: f32,
    /// Correct penetration at all.
    pub correct_position: bool,
    /// Keep contact manifolds while a pair hardly moves.
    pub recycle: bool,
    /// Impacts slower than this do not bounce, m/s.
    #[schemars(range(min = 0, max = check::MAX_VALUE))]
    pub restitution_threshold: f32,
    /// Which of two restitutions counts.
    pub restitution_mix: Named<RestitutionMix>,
    /// Repeat a step that outgrew a buffer, so that the result never depends on capacities.
    pub strict: bool,
    /// Report contacts that begin and cease, and what sensors notice.
    pub events: bool,
    /// Bodies at rest fall asleep, and wake when something touches them.
    pub sleep: bool,
}

impl Default for SettingsRecord {
    fn default() -> Self {
        let s = Settings::default();
        Self {
            dt: s.dt,
            substeps: s.substeps,
            iterations: s.iterations,
            mode: Named(s.mode),
            relax: s.relax,
            warm_start: s.warm_start,
            accumulate: s.accumulate,
            baumgarte: s.baumgarte,
            contact_hertz: s.contact_hertz,
            contact_damping_ratio: s.contact_damping_ratio,
            push_speed: s.push_speed,
            slop: s.slop,
            correct_position: s.correct_position,
            recycle: s.recycle,
            restitution_threshold: s.restitution_threshold,
            restitution_mix: Named(s.restitution_mix),
            strict: s.strict,
            events: s.events,
            sleep: s.sleep,
        }
    }
}

/// A rigid body: a frame with velocity, and the shapes that are fixed to it.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename = "Body", default, deny_unknown_fields, expecting = "a body object")]
#[schemars(extend("required" = ["shapes"]))]
pub struct BodyRecord {
    /// Name for reports and joints; unique in the scene.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(min = 1, max = check::MAX_NAME))]
    pub id: Option<String>,
    /// static never moves; kinematic moves by its velocity alone; dynamic moves by forces.
    #[serde(rename = "type")]
    pub kind: Named<BodyType>,
    /// Origin of its frame (not its centre of mass), m.
    #[schemars(schema_with = "schema::position")]
    pub position: Pair,
    /// rad.
    #[schemars(range(min = -check::MAX_ANGLE, max = check::MAX_ANGLE))]
    pub angle: f32,
    /// Of the centre of mass, m/s. Not used by static bodies.
    pub velocity: Pair,
    /// rad/s. Not used by static bodies.
    #[schemars(range(min = -check::MAX_VALUE, max = check::MAX_VALUE))]
    pub angular_velocity: f32,
    /// Factor on gravity.
    #[schemars(range(min = -check::MAX_VALUE, max = check::MAX_VALUE))]
    pub gravity_scale: f32,
    /// 1/s.
    #[schemars(range(min = 0, max = check::MAX_VALUE))]
    pub linear_damping: f32,
    /// 1/s.
    #[schemars(range(min = 0, max = check::MAX_VALUE))]
    pub angular_damping: f32,
    /// Never turns.
    pub fixed_rotation: bool,
    /// Swept against moving bodies as well when fast, not only against static ones.
    pub bullet: bool,
    /// May fall asleep, where bodies do.
    pub can_sleep: bool,
    /// Constant force in world axes, N.
    pub force: Pair,
    /// Where the force acts: a point fixed on the body, in its frame, m. Left out: the centre of mass.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::position")]
    pub force_point: Option<Pair>,
    /// Constant torque, N·m.
    #[schemars(range(min = -check::MAX_VALUE, max = check::MAX_VALUE))]
    pub torque: f32,
    /// kg; overrides what the shapes give (inertia is scaled along unless given).
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f32", extend("exclusiveMinimum" = 0))]
    pub mass: Option<f32>,
    /// kg·m² about the centre of mass; overrides what the shapes give.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f32", extend("exclusiveMinimum" = 0))]
    pub inertia: Option<f32>,
    /// Leads it, instead of its velocity. Kinematic bodies only.
    #[serde(deserialize_with = "given_object", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "PathRecord")]
    pub path: Option<PathRecord>,
    /// At least one.
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
            position: Pair(b.position),
            angle: b.angle,
            velocity: Pair(b.velocity),
            angular_velocity: b.angular_velocity,
            gravity_scale: b.gravity_scale,
            linear_damping: b.linear_damping,
            angular_damping: b.angular_damping,
            fixed_rotation: b.fixed_rotation,
            bullet: b.bullet,
            can_sleep: b.can_sleep,
            force: Pair(b.force),
            force_point: b.force_point.map(Pair),
            torque: b.torque,
            mass: b.mass,
            inertia: b.inertia,
            path: None,
            shapes: Vec::new(),
        }
    }
}

impl Element for BodyRecord {
    fn lack(&self) -> Option<String> {
        self.shapes.is_empty().then(|| "no shapes, expected at least one".to_owned())
    }
}

/// A collider on a body. Exactly one of `circle`, `box`, `capsule`, `polygon`, `segment`, `half_plane`, `particle`.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename = "Shape", default, deny_unknown_fields, expecting = "a shape object")]
#[schemars(transform = schema::one_geometry)]
pub struct ShapeRecord {
    /// About the shape's origin.
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
    /// A line, solid from both sides. It has no area, hence no mass.
    #[serde(deserialize_with = "given_object", skip_serializing)]
    #[schemars(with = "Segment")]
    pub segment: Option<Box<Segment>>,
    /// Everything below a line, seen along its normal. On static and kinematic bodies only.
    #[serde(deserialize_with = "given_object", skip_serializing)]
    #[schemars(with = "HalfPlane")]
    pub half_plane: Option<Box<HalfPlane>>,
    /// A disc on a body that never turns, and the only shape of it.
    #[serde(deserialize_with = "given_object", skip_serializing)]
    #[schemars(with = "Round")]
    pub particle: Option<Round>,
    /// In the body's frame, m.
    #[schemars(schema_with = "schema::position")]
    pub offset: Pair,
    /// On the body, rad.
    #[schemars(range(min = -check::MAX_ANGLE, max = check::MAX_ANGLE))]
    pub rotation: f32,
    /// kg/m².
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub density: f32,
    /// Coulomb's coefficient; two are mixed by √(ab). At rest, if `kinetic_friction` is given.
    #[schemars(range(min = 0, max = check::MAX_VALUE))]
    pub friction: f32,
    /// Coulomb's coefficient while sliding, at most `friction`; mixed likewise. Left out: as `friction`.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f32", range(min = 0, max = check::MAX_VALUE))]
    pub kinetic_friction: Option<f32>,
    /// Share of the approach speed that is given back.
    #[schemars(range(min = 0, max = 1))]
    pub restitution: f32,
    /// Speed of the surface along itself, as a conveyor belt's, m/s: positive carries what lies on top to the right.
    #[schemars(range(min = -check::MAX_VALUE, max = check::MAX_VALUE))]
    pub tangent_speed: f32,
    /// Torque that resists rolling, over normal force times radius; the larger of two counts.
    #[schemars(range(min = 0, max = check::MAX_VALUE))]
    pub rolling_resistance: f32,
    /// What it touches.
    #[serde(deserialize_with = "object")]
    pub filter: FilterRecord,
    /// Notices what overlaps it, and touches nothing.
    pub sensor: bool,
}

impl Default for ShapeRecord {
    fn default() -> Self {
        let s = Shape::circle(1.0);
        Self {
            circle: None,
            rectangle: None,
            capsule: None,
            polygon: None,
            segment: None,
            half_plane: None,
            particle: None,
            offset: Pair(s.offset),
            rotation: s.rotation,
            density: s.density,
            friction: s.material.friction,
            kinetic_friction: s.material.kinetic_friction,
            restitution: s.material.restitution,
            tangent_speed: s.material.tangent_speed,
            rolling_resistance: s.material.rolling_resistance,
            filter: FilterRecord::default(),
            sensor: false,
        }
    }
}

impl ShapeRecord {
    /// Which of [`GEOMETRIES`] it has.
    pub fn geometries(&self) -> [bool; 7] {
        [
            self.circle.is_some(),
            self.rectangle.is_some(),
            self.capsule.is_some(),
            self.polygon.is_some(),
            self.segment.is_some(),
            self.half_plane.is_some(),
            self.particle.is_some(),
        ]
    }
}

impl Element for ShapeRecord {
    fn lack(&self) -> Option<String> {
        let none = self.geometries() == [false; 7];
        none.then(|| format!("no outline, expected one of {}", GEOMETRIES.join(", ")))
    }
}

/// What a shape touches.
#[derive(Debug, Deserialize, Serialize, JsonSchema, PartialEq)]
#[serde(rename = "Filter", default, deny_unknown_fields, expecting = "a filter object")]
pub struct FilterRecord {
    /// What it is, as bits.
    pub category: u32,
    /// What it meets, as bits. Both shapes must agree.
    pub mask: u32,
    /// Equal and positive: always meet; equal and negative: never; else category and mask decide.
    pub group: i32,
}

impl Default for FilterRecord {
    fn default() -> Self {
        let filter = drystone::Filter::default();
        Self { category: filter.category, mask: filter.mask, group: filter.group }
    }
}

/// 0, but not −0, which is written.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(value: &f32) -> bool {
    value.to_bits() == 0
}

/// A circle or a particle.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "an object with a radius")]
pub struct Round {
    /// m.
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
    /// Of the rounding, added on all sides, m.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(range(min = 0, max = check::MAX_LENGTH))]
    pub radius: f32,
}

/// All points within `radius` of a segment.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a capsule object")]
pub struct Capsule {
    /// One end of the segment, m.
    #[schemars(schema_with = "schema::position")]
    pub a: Pair,
    /// The other end, m.
    #[schemars(schema_with = "schema::position")]
    pub b: Pair,
    /// m.
    #[schemars(range(min = check::MIN_LENGTH, max = check::MAX_LENGTH))]
    pub radius: f32,
}

/// A convex polygon.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a polygon object")]
pub struct Polygon {
    /// 3 to 8 corners, convex, counter-clockwise, each at least 0.1 mm out of the line through its neighbours, m.
    #[schemars(schema_with = "schema::corners")]
    pub points: Vec<Pair>,
    /// Of the rounding, added on all sides, m.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(range(min = 0, max = check::MAX_LENGTH))]
    pub radius: f32,
}

/// A line from `a` to `b`.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a segment object")]
pub struct Segment {
    /// m.
    #[schemars(schema_with = "schema::position")]
    pub a: Pair,
    /// m.
    #[schemars(schema_with = "schema::position")]
    pub b: Pair,
}

/// Everything below a line. Static and kinematic bodies only.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a half_plane object")]
pub struct HalfPlane {
    /// Out of the solid side; need not have length 1.
    pub normal: Pair,
    /// Distance of the line from the origin along the normal, m.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(range(min = -check::MAX_POSITION, max = check::MAX_POSITION))]
    pub offset: f32,
}
