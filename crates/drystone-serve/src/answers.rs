//! Response bodies about worlds, as JSON and as schemas of the API description.
//!
//! ```
//! use drystone_serve::answers::StateAnswer;
//!
//! let state = StateAnswer { step: 60, time: 1.0, hash: "0123456789abcdef".to_owned(), bodies: Vec::new() };
//! assert_eq!(serde_json::to_value(&state)?["step"], 60);
//! # Ok::<(), serde_json::Error>(())
//! ```

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use utoipa::openapi::schema::Schema;
use utoipa::openapi::{Ref, RefOr};

/// State of a world: its bodies and their velocities.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = State)]
pub struct StateAnswer {
    /// Steps done.
    pub step: u64,
    /// Simulated seconds.
    pub time: f64,
    /// Hash of poses and velocities, 16 hexadecimal digits. Equal runs have equal hashes.
    pub hash: String,
    /// Bodies, in the order of their slots.
    pub bodies: Vec<BodyStateAnswer>,
}

/// Position and velocity of a body.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = BodyState)]
pub struct BodyStateAnswer {
    /// Id of the body: `slot.generation`.
    pub id: String,
    /// Name in the scene.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub name: Option<String>,
    /// Position of the body's origin, m.
    pub position: [f64; 2],
    /// Angle, rad, in (−π, π].
    pub angle: f64,
    /// Velocity of its centre of mass, m/s.
    pub velocity: [f64; 2],
    /// Angular velocity, rad/s.
    pub angular_velocity: f64,
    /// True if the body sleeps. Omitted if not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    pub asleep: bool,
}

/// Bodies of a world with their shapes.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Bodies)]
pub struct BodiesAnswer {
    /// Steps done.
    pub step: u64,
    /// Region that the scene wants to be shown first. Omitted if the scene names none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub view: Option<ViewRect>,
    /// Bodies, in the order of their slots.
    pub bodies: Vec<BodyShapes>,
}

/// Axis-aligned rectangle in world coordinates.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = View)]
pub struct ViewRect {
    /// Lower left corner, m.
    pub min: [f64; 2],
    /// Upper right corner, m.
    pub max: [f64; 2],
}

/// Type, mass and shapes of a body.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Look)]
pub struct BodyShapes {
    /// Id of the body: `slot.generation`.
    pub id: String,
    /// Name in the scene.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub name: Option<String>,
    /// `static`, `kinematic` or `dynamic`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Mass, kg; 0 for static and kinematic bodies.
    pub mass: f64,
    /// Number that the colour follows in pictures. Omitted if it is the slot of the body.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub color_index: Option<u32>,
    /// Number of the user's, from the scene or the command `set`. Omitted if it is 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub user_data: Option<u64>,
    /// Shapes, in the frame of the body.
    pub shapes: Vec<ShapeOutline>,
}

/// Shape for drawing. Exactly one of `circle`, `polygon` and `half_plane` is present.
#[derive(Debug, Default, Serialize, ToSchema)]
#[schema(as = Outline)]
pub struct ShapeOutline {
    /// A circle.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub circle: Option<Circle>,
    /// Points with a radius around them: also boxes, capsules and segments.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub polygon: Option<PolygonOutline>,
    /// Everything below a line.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub half_plane: Option<HalfPlaneOutline>,
    /// True for a sensor, which detects other shapes and pushes none. Omitted if not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    pub sensor: bool,
}

/// A circle.
#[derive(Debug, Serialize, ToSchema)]
pub struct Circle {
    /// Centre, m.
    pub center: [f64; 2],
    /// Radius, m.
    pub radius: f64,
}

/// Points with a radius around them.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Polygon)]
pub struct PolygonOutline {
    /// Corners, m, counter-clockwise.
    pub points: Vec<[f64; 2]>,
    /// Radius, m.
    pub radius: f64,
}

/// Everything below a line.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = HalfPlane)]
pub struct HalfPlaneOutline {
    /// Unit vector out of the half plane.
    pub normal: [f64; 2],
    /// Point on the line, m.
    pub point: [f64; 2],
}

/// A body as in a scene, with its joints.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = BodyDetails)]
pub struct BodyDetailsAnswer {
    /// Steps done.
    pub step: u64,
    /// Id of the body: `slot.generation`.
    pub id: String,
    /// The body in its current state, written as in a scene: the command `spawn` takes it.
    #[schema(schema_with = scene_body)]
    pub body: Value,
    /// Its joints that are not broken, pointers excluded.
    pub joints: Vec<BodyJoint>,
}

/// Joint of a body, as the command `join` takes it.
#[derive(Debug, Serialize, ToSchema)]
pub struct BodyJoint {
    /// Id of the joint: `index.generation`.
    pub id: String,
    /// Id of the first body, `null` for the world.
    pub a: Option<String>,
    /// Id of the second body.
    pub b: String,
    /// The joint in its current state, written as in a scene without `a` and `b`.
    #[schema(value_type = Object)]
    pub joint: Value,
}

/// Returns the schema of a body, defined beside the schema of scenes.
fn scene_body() -> RefOr<Schema> {
    Ref::from_schema_name("SceneBody").into()
}

/// Energies of a world and motion of a body, a row per step, the oldest first.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Series)]
pub struct SeriesAnswer {
    /// Steps done.
    pub step: u64,
    /// Length of a step, s.
    pub dt: f32,
    /// Energies of all dynamic bodies and joints.
    pub energies: Vec<EnergyRow>,
    /// Motion of the requested body.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub body: Option<BodySeries>,
}

/// Energies after a step.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct EnergyRow {
    /// Steps done.
    pub step: u64,
    /// Kinetic energy, moving and turning, J.
    pub kinetic: f64,
    /// Potential energy, J: 0 at the world's origin.
    pub potential: f64,
    /// Energy of the springs of joints, J.
    pub elastic: f64,
}

/// Motion of a body.
#[derive(Debug, Serialize, ToSchema)]
pub struct BodySeries {
    /// Id of the body: `slot.generation`.
    pub id: String,
    /// Rows, the oldest first.
    pub rows: Vec<MotionRow>,
}

/// Motion of a body after a step.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct MotionRow {
    /// Steps done.
    pub step: u64,
    /// Position of the body's origin, m.
    pub position: [f32; 2],
    /// Angle, rad, in (−π, π].
    pub angle: f32,
    /// Velocity of its centre of mass, m/s.
    pub velocity: [f32; 2],
    /// Angular velocity, rad/s.
    pub angular_velocity: f32,
}

/// Joints of a world.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Joints)]
pub struct JointsAnswer {
    /// Steps done.
    pub step: u64,
    /// Joints, in the order of their indices.
    pub joints: Vec<JointLook>,
}

/// Kind and anchors of a joint.
#[derive(Debug, Serialize, ToSchema)]
pub struct JointLook {
    /// Id of the joint: `index.generation`.
    pub id: String,
    /// Name in the scene.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub name: Option<String>,
    /// `distance`, `spring`, `revolute`, `prismatic`, `wheel`, `weld`, `motor`, `mouse`, `velocity`, `gear` or
    /// `pulley`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Id of the first body, `null` for the world.
    pub a: Option<String>,
    /// Id of the second body.
    pub b: String,
    /// Anchor on the first body, in its frame; in the world if `a` is `null`, m.
    pub anchor_a: [f64; 2],
    /// Anchor on the second body, in its frame, m.
    pub anchor_b: [f64; 2],
    /// Direction in which a `prismatic` or `wheel` joint slides, in the frame of the first body.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub axis: Option<[f64; 2]>,
    /// Points of the world over which the rope of a `pulley` joint goes to the first and to the second body, m.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub ground_points: Option<[[f64; 2]; 2]>,
    /// Rest distance between the anchors of a `distance` or `spring` joint, m; length of the rope of a `pulley` joint.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub length: Option<f64>,
    /// Minimum and maximum distance between the anchors of a `distance` joint, m.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub limits: Option<[f64; 2]>,
    /// True if a force or a torque can break the joint. Omitted if not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    pub breakable: bool,
    /// True if the joint is broken. Omitted if not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    pub broken: bool,
    /// True if the joint is disabled. Omitted if not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    pub disabled: bool,
}

/// Quality and energy of a world.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Metrics)]
pub struct MetricsAnswer {
    /// Steps done.
    pub step: u64,
    /// Simulated seconds.
    pub time: f64,
    /// Hash of poses and velocities, as in the state.
    pub hash: String,
    /// Pairs of shapes that touch or are about to touch.
    pub contacts: usize,
    /// Bodies that were stopped because their values had become invalid.
    pub quarantined: u32,
    /// Steps in which a buffer was too small.
    pub overflowed_steps: usize,
    /// Penetration, energy, momentum and so on, as in the reports of `drystone run --json`.
    #[schema(value_type = Object)]
    pub metrics: drystone::low_level::state::Metrics,
    /// Mean milliseconds of each stage in a step, of one step in 16, where the backend measures them.
    pub stages_ms: BTreeMap<&'static str, f64>,
}

/// Events of a world.
#[derive(Debug, Serialize, ToSchema)]
pub struct Events {
    /// Events, the oldest first.
    pub events: Vec<EventAnswer>,
    /// Value of `from` for the next request.
    pub next: u64,
    /// Number of events between `from` and the oldest event still kept.
    pub missed: u64,
}

/// Contact that began or ended, sensor overlap, or joint that broke.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Event)]
pub struct EventAnswer {
    /// Number of the event, counted from the creation of the world or the start of the service.
    pub number: u64,
    /// Step in which it happened.
    pub step: u64,
    /// `begin`, `end`, `sensor_begin`, `sensor_end` or `joint_broke`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Ids of the bodies, of a sensor and its visitor in this order; `null` for a removed one.
    pub bodies: [Option<String>; 2],
    /// Position of a contact that began, m.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub point: Option<[f64; 2]>,
    /// Direction of a contact that began, from the first body to the second.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub normal: Option<[f64; 2]>,
    /// Approach speed of the bodies of a contact that began, m/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub approach_speed: Option<f64>,
    /// Id of the joint that broke.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub joint: Option<String>,
}

/// Answers to queries, in the order of the queries.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Answers)]
pub struct QueryAnswers {
    /// Steps done.
    pub step: u64,
    /// Answers, one per query.
    pub answers: Vec<QueryAnswer>,
}

/// Answer to one query.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Found)]
#[serde(rename_all = "snake_case")]
pub enum QueryAnswer {
    /// Answer to a ray or a cast: the first hit, or `null`.
    Hit(Option<RayAnswer>),
    /// Answer to a ray whose hits are all wanted, nearest first.
    Hits(Vec<RayAnswer>),
    /// Answer to other queries: all shapes found.
    Found(Vec<ShapeOf>),
}

/// Hit of a ray or a cast.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Hit)]
pub struct RayAnswer {
    /// Id of the body.
    pub body: Option<String>,
    /// Index of the shape in the world.
    pub shape: usize,
    /// Hit point, m.
    pub point: [f64; 2],
    /// Unit normal out of the shape.
    pub normal: [f64; 2],
    /// Fraction of the way from start to end, 0 to 1.
    pub fraction: f64,
    /// Way out along the normal, m, of a cast that begins in the shape; else 0. Rays have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depth: Option<f64>,
}

/// A shape of a body.
#[derive(Debug, Serialize, ToSchema)]
pub struct ShapeOf {
    /// Id of the body.
    pub body: Option<String>,
    /// Index of the shape in the world.
    pub shape: usize,
}

/// Answer to play and pause.
#[derive(Debug, Serialize, ToSchema)]
pub struct Played {
    /// Number of steps done before the request.
    pub step: u64,
    /// True if the world now steps by itself.
    pub playing: bool,
    /// Speed as a multiple of real time; `null` for as fast as possible.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speed: Option<f64>,
}

/// Checkpoint that was written.
#[derive(Debug, Serialize, ToSchema)]
pub struct Saved {
    /// Name of the checkpoint.
    pub checkpoint: String,
    /// Steps done.
    pub step: u64,
}

/// Names of checkpoints.
#[derive(Debug, Serialize, ToSchema)]
pub struct Checkpoints {
    /// Names, sorted.
    pub checkpoints: Vec<String>,
}

/// Answer to restore and rewind.
#[derive(Debug, Serialize, ToSchema)]
pub struct Restored {
    /// Step of the state to which the world was set back.
    pub step: u64,
}

/// Built-in scenes.
#[derive(Debug, Serialize, ToSchema)]
pub struct Scenes {
    /// Groups of scenes, in the order of lists.
    pub groups: Vec<&'static str>,
    /// Scenes, in the order of the catalogue.
    pub scenes: Vec<SceneEntry>,
}

/// A built-in scene.
#[derive(Debug, Serialize, ToSchema)]
pub struct SceneEntry {
    /// Name, the first word of a spec.
    pub name: &'static str,
    /// Group of scenes on one topic, for lists: `Stacks`, `Joints and mechanisms`, …
    pub group: &'static str,
    /// Description in one sentence.
    pub summary: &'static str,
    /// Words for a search, beside those of name and summary.
    pub keywords: &'static [&'static str],
    /// Source of its numbers.
    pub source: &'static str,
    /// Number of steps that shows the effect the scene is for.
    pub steps: u32,
    /// Number of bodies with the default parameters.
    pub bodies: Option<u64>,
    /// Gravity of the scene with the default parameters, m/s².
    pub gravity: [f32; 2],
    /// Parameters.
    pub parameters: Vec<SceneParameter>,
}

/// Size of a built-in scene with given parameters.
#[derive(Debug, Serialize, ToSchema)]
pub struct SceneSize {
    /// Number of bodies, static ones and those of emitters included.
    pub bodies: u64,
    /// Largest number of bodies of a world of this service (limits.bodies).
    pub most: u64,
}

/// Parameter of a built-in scene.
#[derive(Debug, Serialize, ToSchema)]
pub struct SceneParameter {
    /// Name, left of the `=`.
    pub name: &'static str,
    /// Default value.
    pub default: f64,
    /// Smallest value.
    pub min: f64,
    /// Largest value.
    pub max: f64,
    /// True if the parameter is an integer.
    pub integer: bool,
    /// True if a slider for it should be logarithmic: its usual values are far below its largest.
    pub logarithmic: bool,
    /// Meaning, with unit.
    pub meaning: &'static str,
}

/// Widens numbers to `f64`, the width that clients read.
#[must_use]
pub fn wide<const N: usize>(numbers: [f32; N]) -> [f64; N] {
    numbers.map(f64::from)
}
