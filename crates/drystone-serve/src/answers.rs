//! What is told of a world, as it is written and as the description of the API has it.

use std::collections::BTreeMap;

use serde::Serialize;
use utoipa::ToSchema;

/// Where everything is.
#[derive(Debug, Serialize, ToSchema)]
pub struct State {
    /// Steps done.
    pub step: u64,
    /// Simulated seconds.
    pub time: f64,
    /// Of poses and velocities, 16 hexadecimal digits: equal runs have equal ones.
    pub hash: String,
    /// In the order of their slots.
    pub bodies: Vec<BodyState>,
}

/// Where a body is.
#[derive(Debug, Serialize, ToSchema)]
pub struct BodyState {
    /// `slot.generation`.
    pub id: String,
    /// As the scene calls it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub name: Option<String>,
    /// Of its origin, m.
    pub position: [f64; 2],
    /// rad, in (−π, π].
    pub angle: f64,
    /// Of its centre of mass, m/s.
    pub velocity: [f64; 2],
    /// rad/s.
    pub angular_velocity: f64,
    /// Left out if it is awake.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    pub asleep: bool,
}

/// What everything is and looks like.
#[derive(Debug, Serialize, ToSchema)]
pub struct Bodies {
    /// Steps done.
    pub step: u64,
    /// Part of the world that the scene wants to be shown at first. Left out if it does not say.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub view: Option<View>,
    /// In the order of their slots.
    pub bodies: Vec<Look>,
}

/// A box of the world.
#[derive(Debug, Serialize, ToSchema)]
pub struct View {
    /// Lower left corner, m.
    pub min: [f64; 2],
    /// Upper right corner, m.
    pub max: [f64; 2],
}

/// What a body is and looks like.
#[derive(Debug, Serialize, ToSchema)]
pub struct Look {
    /// `slot.generation`.
    pub id: String,
    /// As the scene calls it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub name: Option<String>,
    /// `static`, `kinematic` or `dynamic`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// kg; 0 if it is not dynamic.
    pub mass: f64,
    /// In the frame of the body.
    pub shapes: Vec<Outline>,
}

/// A shape for drawing. One of the first three is there.
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
    /// All that is below a line.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub half_plane: Option<HalfPlane>,
    /// It notices others and pushes none. Left out if not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    pub sensor: bool,
}

/// A circle.
#[derive(Debug, Serialize, ToSchema)]
pub struct Circle {
    /// m.
    pub center: [f64; 2],
    /// m.
    pub radius: f64,
}

/// Points with a radius about them.
#[derive(Debug, Serialize, ToSchema)]
pub struct Polygon {
    /// m, counter-clockwise.
    pub points: Vec<[f64; 2]>,
    /// m.
    pub radius: f64,
}

/// All that is below a line.
#[derive(Debug, Serialize, ToSchema)]
pub struct HalfPlane {
    /// Out of it.
    pub normal: [f64; 2],
    /// On the line, m.
    pub point: [f64; 2],
}

/// Joints of a world.
#[derive(Debug, Serialize, ToSchema)]
pub struct Joints {
    /// Steps done.
    pub step: u64,
    /// In the order of their indices.
    pub joints: Vec<JointLook>,
}

/// Kind and place of a joint.
#[derive(Debug, Serialize, ToSchema)]
pub struct JointLook {
    /// `index.generation`.
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

/// How good and how lively a world is.
#[derive(Debug, Serialize, ToSchema)]
pub struct Metrics {
    /// Steps done.
    pub step: u64,
    /// Simulated seconds.
    pub time: f64,
    /// As in a state.
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

/// What happened.
#[derive(Debug, Serialize, ToSchema)]
pub struct Events {
    /// The oldest first.
    pub events: Vec<Event>,
    /// `from` of the next request.
    pub next: u64,
    /// Events between `from` and the first that is still kept.
    pub missed: u64,
}

/// Something that happened.
#[derive(Debug, Serialize, ToSchema)]
pub struct Event {
    /// Counted from the start of the service or the world.
    pub number: u64,
    /// In which step.
    pub step: u64,
    /// `begin`, `end`, `sensor_begin`, `sensor_end` or `joint_broke`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Ids, `null` for one that is gone.
    pub bodies: [Option<String>; 2],
    /// Of a contact that began: where, m.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub point: Option<[f64; 2]>,
    /// Likewise: from the first body to the second.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub normal: Option<[f64; 2]>,
    /// Likewise: m/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub approach_speed: Option<f64>,
    /// Of a joint that broke.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub joint: Option<String>,
}

/// Answers to queries, in their order.
#[derive(Debug, Serialize, ToSchema)]
pub struct Answers {
    /// Steps done.
    pub step: u64,
    /// One a query.
    pub answers: Vec<Found>,
}

/// The answer to a query.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Found {
    /// To a ray: the first hit, or `null`.
    Hit(Option<Hit>),
    /// To the others.
    Found(Vec<ShapeOf>),
}

/// Where a ray ends.
#[derive(Debug, Serialize, ToSchema)]
pub struct Hit {
    /// Its id.
    pub body: Option<String>,
    /// Index of the shape in the world.
    pub shape: usize,
    /// m.
    pub point: [f64; 2],
    /// Out of the shape.
    pub normal: [f64; 2],
    /// Of the ray's length.
    pub fraction: f64,
}

/// A shape of a body.
#[derive(Debug, Serialize, ToSchema)]
pub struct ShapeOf {
    /// Its id.
    pub body: Option<String>,
    /// Index of the shape in the world.
    pub shape: usize,
}

/// How a world plays.
#[derive(Debug, Serialize, ToSchema)]
pub struct Played {
    /// Steps done before it.
    pub step: u64,
    /// Whether it steps by itself from now on.
    pub playing: bool,
    /// Times real time; `null` if as fast as it goes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speed: Option<f64>,
}

/// A checkpoint that was made.
#[derive(Debug, Serialize, ToSchema)]
pub struct Saved {
    /// Its name.
    pub checkpoint: String,
    /// Steps done.
    pub step: u64,
}

/// Names of checkpoints.
#[derive(Debug, Serialize, ToSchema)]
pub struct Checkpoints {
    /// In their order.
    pub checkpoints: Vec<String>,
}

/// A world that was put back.
#[derive(Debug, Serialize, ToSchema)]
pub struct Restored {
    /// Steps done, as of then.
    pub step: u64,
}

/// Built-in scenes.
#[derive(Debug, Serialize, ToSchema)]
pub struct Scenes {
    /// All of them.
    pub scenes: Vec<SceneEntry>,
}

/// A built-in scene.
#[derive(Debug, Serialize, ToSchema)]
pub struct SceneEntry {
    /// By which it is called.
    pub name: &'static str,
    /// What one sees.
    pub summary: &'static str,
    /// Where its numbers are from.
    pub source: &'static str,
    /// How many steps show what it is for.
    pub steps: u32,
    /// With the defaults of its parameters.
    pub bodies: Option<u64>,
    /// What can be changed.
    pub parameters: Vec<SceneParameter>,
}

/// What can be changed of a built-in scene.
#[derive(Debug, Serialize, ToSchema)]
pub struct SceneParameter {
    /// Left of the `=`.
    pub name: &'static str,
    /// If it is not given.
    pub default: f64,
    /// Least.
    pub min: f64,
    /// Most.
    pub max: f64,
    /// Whether it is a whole number.
    pub integer: bool,
    /// What it is, with its unit.
    pub meaning: &'static str,
}

/// Numbers as clients read them.
#[must_use]
pub fn wide<const N: usize>(numbers: [f32; N]) -> [f64; N] {
    numbers.map(f64::from)
}
