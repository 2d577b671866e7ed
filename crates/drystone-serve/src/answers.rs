//! Answers about a world, as they are written and as the description of the API has them.

use std::collections::BTreeMap;

use serde::Serialize;
use utoipa::ToSchema;

/// State of a world: its bodies and their velocities.
#[derive(Debug, Serialize, ToSchema)]
pub struct State {
    /// Steps done.
    pub step: u64,
    /// Simulated seconds.
    pub time: f64,
    /// Hash of poses and velocities, 16 hexadecimal digits: equal runs have equal ones.
    pub hash: String,
    /// Bodies, in the order of their slots.
    pub bodies: Vec<BodyState>,
}

/// Position and velocity of a body.
#[derive(Debug, Serialize, ToSchema)]
pub struct BodyState {
    /// Id of the body: `slot.generation`.
    pub id: String,
    /// Name in the scene.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub name: Option<String>,
    /// Position of its origin, m.
    pub position: [f64; 2],
    /// Angle, rad, in (−π, π].
    pub angle: f64,
    /// Velocity of its centre of mass, m/s.
    pub velocity: [f64; 2],
    /// Angular velocity, rad/s.
    pub angular_velocity: f64,
    /// True if it sleeps. Left out if not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    pub asleep: bool,
}

/// Bodies of a world with their shapes.
#[derive(Debug, Serialize, ToSchema)]
pub struct Bodies {
    /// Steps done.
    pub step: u64,
    /// Part of the world that the scene wants to be shown at first. Left out if it does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub view: Option<View>,
    /// Bodies, in the order of their slots.
    pub bodies: Vec<Look>,
}

/// Rectangle of the world.
#[derive(Debug, Serialize, ToSchema)]
pub struct View {
    /// Lower left corner, m.
    pub min: [f64; 2],
    /// Upper right corner, m.
    pub max: [f64; 2],
}

/// Type, mass and shapes of a body.
#[derive(Debug, Serialize, ToSchema)]
pub struct Look {
    /// Id of the body: `slot.generation`.
    pub id: String,
    /// Name in the scene.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub name: Option<String>,
    /// `static`, `kinematic` or `dynamic`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Mass, kg; 0 if it is not dynamic.
    pub mass: f64,
    /// Shapes, in the frame of the body.
    pub shapes: Vec<Outline>,
}

/// Shape for drawing. One of the first three is there.
#[derive(Debug, Default, Serialize, ToSchema)]
pub struct Outline {
    /// A circle.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub circle: Option<Circle>,
    /// Points with a radius about them: also boxes, capsules, segments.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub polygon: Option<Polygon>,
    /// Everything below a line.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub half_plane: Option<HalfPlane>,
    /// True for a sensor, which notices other shapes and pushes none. Left out if not.
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

/// Points with a radius about them.
#[derive(Debug, Serialize, ToSchema)]
pub struct Polygon {
    /// Corners, m, counter-clockwise.
    pub points: Vec<[f64; 2]>,
    /// Radius, m.
    pub radius: f64,
}

/// Everything below a line.
#[derive(Debug, Serialize, ToSchema)]
pub struct HalfPlane {
    /// Direction out of it.
    pub normal: [f64; 2],
    /// Point on the line, m.
    pub point: [f64; 2],
}

/// Joints of a world.
#[derive(Debug, Serialize, ToSchema)]
pub struct Joints {
    /// Steps done.
    pub step: u64,
    /// Joints, in the order of their indices.
    pub joints: Vec<JointLook>,
}

/// Kind and place of a joint.
#[derive(Debug, Serialize, ToSchema)]
pub struct JointLook {
    /// Id of the joint: `index.generation`.
    pub id: String,
    /// Name in the scene.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub name: Option<String>,
    /// `distance`, `spring`, `revolute`, `prismatic`, `wheel`, `weld`, `motor` or `mouse`.
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
    /// Direction in which a `prismatic` joint or a `wheel` slides, in the frame of the first body.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub axis: Option<[f64; 2]>,
    /// Distance of the anchors that a `distance` joint or a `spring` holds, m.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub length: Option<f64>,
    /// Least and greatest distance of the anchors of a `distance` joint, m.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub limits: Option<[f64; 2]>,
    /// True if a force or a torque can break it. Left out if not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    pub breakable: bool,
    /// True if it broke. Left out if not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    pub broken: bool,
    /// True if it is switched off. Left out if not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    pub disabled: bool,
}

/// Quality and energy of a world.
#[derive(Debug, Serialize, ToSchema)]
pub struct Metrics {
    /// Steps done.
    pub step: u64,
    /// Simulated seconds.
    pub time: f64,
    /// Hash, as in a state.
    pub hash: String,
    /// Pairs of shapes that touch or are about to.
    pub contacts: usize,
    /// Bodies that were stopped because their numbers had become useless.
    pub quarantined: u32,
    /// Steps in which a buffer was too small.
    pub overflowed_steps: usize,
    /// Penetration, energy, momentum and so on, as in the reports of `drystone run --json`.
    #[schema(value_type = Object)]
    pub metrics: drystone::low_level::state::Metrics,
    /// Milliseconds of each stage in the last step, where that is measured.
    pub stages_ms: BTreeMap<&'static str, f64>,
}

/// Events of a world.
#[derive(Debug, Serialize, ToSchema)]
pub struct Events {
    /// Events, the oldest first.
    pub events: Vec<Event>,
    /// `from` of the next request.
    pub next: u64,
    /// Events between `from` and the first that is still kept.
    pub missed: u64,
}

/// Contact that began or ended, sensor, or joint that broke.
#[derive(Debug, Serialize, ToSchema)]
pub struct Event {
    /// Number of the event, counted from the start of the service or the world.
    pub number: u64,
    /// Step in which it happened.
    pub step: u64,
    /// `begin`, `end`, `sensor_begin`, `sensor_end` or `joint_broke`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Ids of the bodies, `null` for one that is gone.
    pub bodies: [Option<String>; 2],
    /// Place of a contact that began, m.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub point: Option<[f64; 2]>,
    /// Direction of a contact that began, from the first body to the second.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub normal: Option<[f64; 2]>,
    /// Speed at which the bodies of a contact that began approached each other, m/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub approach_speed: Option<f64>,
    /// Id of a joint that broke.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub joint: Option<String>,
}

/// Answers to queries, in their order.
#[derive(Debug, Serialize, ToSchema)]
pub struct Answers {
    /// Steps done.
    pub step: u64,
    /// Answers, one for each query.
    pub answers: Vec<Found>,
}

/// The answer to a query.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Found {
    /// Answer to a ray: the first hit, or `null`.
    Hit(Option<Hit>),
    /// Answer to other queries: all shapes that were found.
    Found(Vec<ShapeOf>),
}

/// End of a ray.
#[derive(Debug, Serialize, ToSchema)]
pub struct Hit {
    /// Id of the body.
    pub body: Option<String>,
    /// Index of the shape in the world.
    pub shape: usize,
    /// Place, m.
    pub point: [f64; 2],
    /// Direction out of the shape.
    pub normal: [f64; 2],
    /// Part of the ray's length, 0 to 1.
    pub fraction: f64,
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
    /// Steps done before it.
    pub step: u64,
    /// True if it steps by itself from now on.
    pub playing: bool,
    /// Multiple of real time; `null` if as fast as it goes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speed: Option<f64>,
}

/// Checkpoint that was made.
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
    /// Names, in their order.
    pub checkpoints: Vec<String>,
}

/// Answer to restore and rewind.
#[derive(Debug, Serialize, ToSchema)]
pub struct Restored {
    /// Steps done at the state that the world was put back to.
    pub step: u64,
}

/// Built-in scenes.
#[derive(Debug, Serialize, ToSchema)]
pub struct Scenes {
    /// Scenes, in the order in which they are listed to users.
    pub scenes: Vec<SceneEntry>,
}

/// A built-in scene.
#[derive(Debug, Serialize, ToSchema)]
pub struct SceneEntry {
    /// Name, the first word of a spec.
    pub name: &'static str,
    /// Description in a sentence.
    pub summary: &'static str,
    /// Origin of its numbers.
    pub source: &'static str,
    /// Number of steps that show what it is for.
    pub steps: u32,
    /// Number of bodies with the defaults of its parameters.
    pub bodies: Option<u64>,
    /// Parameters.
    pub parameters: Vec<SceneParameter>,
}

/// Parameter of a built-in scene.
#[derive(Debug, Serialize, ToSchema)]
pub struct SceneParameter {
    /// Name, left of the `=`.
    pub name: &'static str,
    /// Value if it is not given.
    pub default: f64,
    /// Smallest value.
    pub min: f64,
    /// Largest value.
    pub max: f64,
    /// True if it is a whole number.
    pub integer: bool,
    /// Meaning, with its unit.
    pub meaning: &'static str,
}

/// Numbers as clients read them.
#[must_use]
pub fn wide<const N: usize>(numbers: [f32; N]) -> [f64; N] {
    numbers.map(f64::from)
}
