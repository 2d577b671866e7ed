//! Read-only requests: states, bodies, joints, metrics, events and queries.

use std::fmt;
use std::io::Cursor;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;

use super::live::{Live, PastBody, PastState};
use super::series::SeriesRequest;
use super::{Answer, ReplySender};
use crate::answers::{self, Circle, HalfPlaneOutline, PolygonOutline, QueryAnswer, ShapeOf, ShapeOutline, wide};
use crate::config::Limits;
use crate::op::{BodySelector, body_from_text, find_body, read_shape};
use crate::problem::Problem;
use crate::stream::StreamFrame;
use drystone::EventKind;
use drystone::low_level::scene::JointTable;
use drystone::low_level::state;
use drystone::low_level::types::{
    BOX, BROKEN, CIRCLE, GEOMETRY_MASK, HALF_PLANE, JOINT_DISABLED, JOINT_VACANT, JointData, JointRow, NONE, POLYGON,
    ROW_ALONG, ROW_COUNT_MASK, ROW_EQUALITY, ROW_GEOMETRY, ROW_LOWER, ROW_PULLEY, ROW_ROLE, ROW_SPRING, ROW_UPPER,
    SENSOR_SHAPE, ShapeData, VACANT, VERTEX_COUNT_SHIFT, WORLD_A,
};
use drystone::{Answers, Filter, JointId, Query, QueryBounds, QueryKind, Snapshot, WorldError};
use drystone_scenes::npz;

/// Read-only request to a session.
pub enum Read {
    /// Poses and velocities.
    State(Format, Charge),
    /// Bodies with their shapes.
    Bodies(Charge),
    /// Joints with their anchors and targets.
    Joints(Charge),
    /// Changes and state, from which a scene can be made. The function receives them.
    Past(HandOver, Charge),
    /// Changes and state, from which a body and its joints can be described. The function receives them.
    Body(BodySelector, BodyHandOver, Charge),
    /// Energies and motion of a body, a row per step.
    Series(SeriesRequest),
    /// Quality and energy.
    Metrics,
    /// Events from a number on, with a limit on their count.
    Events {
        /// Number of the first event.
        from: u64,
        /// Largest number of events.
        most: usize,
    },
    /// Ray, point, box and overlap queries.
    Query(RequestQueries),
    /// Empty answer that shows that the world exists.
    Ping,
}

/// Receiver of a world's changes and state.
pub type HandOver = Box<dyn FnMut(PastState) + Send>;

/// Receiver of a world's changes and state, and of the ids of its bodies.
pub type BodyHandOver = Box<dyn FnMut(PastBody) + Send>;

/// Reserves memory for that many more bytes of an answer.
pub type Charge = Box<dyn FnMut(usize) -> Result<(), Problem> + Send>;

impl fmt::Debug for Read {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::State(..) => "State",
            Self::Bodies(_) => "Bodies",
            Self::Joints(_) => "Joints",
            Self::Past(..) => "Past",
            Self::Body(..) => "Body",
            Self::Series(..) => "Series",
            Self::Metrics => "Metrics",
            Self::Events { .. } => "Events",
            Self::Query(_) => "Query",
            Self::Ping => "Ping",
        })
    }
}

/// Queries of one request.
pub struct RequestQueries {
    /// Queries, in their order.
    pub queries: Vec<Query>,
    /// Called before the answer grows.
    pub charge: Charge,
}

impl fmt::Debug for RequestQueries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Questions({})", self.queries.len())
    }
}

/// Format of a state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// JSON.
    #[default]
    Json,
    /// Full frame, as in a stream.
    Binary,
    /// NumPy archive (.npz).
    Npz,
}

/// Answers a request.
///
/// # Errors
/// The device is lost.
pub fn answer(live: &mut Live, read: &mut Read) -> Result<Result<Answer, Problem>, WorldError> {
    match read {
        Read::State(format, charge) => match charge(state_bytes(live, *format)) {
            Ok(()) => state_as(live, *format).map(Ok),
            Err(problem) => Ok(Err(problem)),
        },
        Read::Bodies(charge) => Ok(charge(looks_bytes(live)).map(|()| Answer::json(&bodies(live)))),
        Read::Joints(charge) => match charge(joints_bytes(live)) {
            Ok(()) => joints(live).map(|joints| Ok(Answer::json(&joints))),
            Err(problem) => Ok(Err(problem)),
        },
        Read::Past(hand_over, charge) => match charge(past_bytes(live)) {
            Ok(()) => {
                hand_over(live.past()?);
                Ok(Ok(Answer::json(&json!({}))))
            }
            Err(problem) => Ok(Err(problem)),
        },
        Read::Body(body, hand_over, charge) => {
            // It is part of the path.
            let id = match find_body(&mut live.world, body) {
                Ok(id) => id,
                Err(problem) => return Ok(Err(Problem::not_found(problem.detail))),
            };
            if let Err(problem) = charge(past_bytes(live)) {
                return Ok(Err(problem));
            }
            let ids = (0..live.world.compiled().bodies.len()).map(|slot| live.world.body_id(slot)).collect();
            hand_over(PastBody { past: live.past()?, step: live.world.steps(), id, ids });
            Ok(Ok(Answer::json(&json!({}))))
        }
        Read::Metrics => metrics(live).map(Ok),
        &mut Read::Events { from, most } => Ok(Ok(events(live, from, most))),
        Read::Ping => Ok(Ok(Answer::json(&json!({})))),
        // Queries are executed in slices; series belong to the session.
        Read::Query(_) | Read::Series(_) => Ok(Err(Problem::internal("the request was read as a whole"))),
    }
}

/// Memory for a name in an answer, as a multiple of its length: a copy, and as JSON with every letter escaped.
const NAME_FACTOR: usize = 7;

/// Returns the bytes of the bodies' names.
fn name_bytes(live: &Live) -> usize {
    live.world.compiled().ids.iter().flatten().map(String::len).sum()
}

/// Returns the approximate memory of an answer with a state.
fn state_bytes(live: &Live, format: Format) -> usize {
    let bodies = live.world.compiled().bodies.len();
    match format {
        Format::Json => 320 * bodies + NAME_FACTOR * name_bytes(live),
        Format::Binary | Format::Npz => 48 * bodies,
    }
}

/// Returns the approximate memory of an answer with the shapes of all bodies.
fn looks_bytes(live: &Live) -> usize {
    let compiled = live.world.compiled();
    // Points of a polygon, as numbers and as text; a box has four.
    let (shapes, points) = (compiled.shapes.len(), compiled.vertices.len());
    256 * compiled.bodies.len() + 512 * shapes + 80 * points + NAME_FACTOR * name_bytes(live)
}

/// Returns the approximate bytes of an answer with all joints.
fn joints_bytes(live: &Live) -> usize {
    let joints = &live.world.compiled().joints;
    let names: usize = joints.ids.iter().flatten().map(String::len).sum();
    768 * joints.joints.len() + NAME_FACTOR * names
}

/// Returns the approximate bytes for converting a world to a scene: its state, the model, the text.
fn past_bytes(live: &Live) -> usize {
    let (bodies, entries) = (live.world.compiled().bodies.len(), live.has().bytes);
    2 * (looks_bytes(live) + joints_bytes(live) + entries) + 1024 * bodies
}

fn state_as(live: &mut Live, format: Format) -> Result<Answer, WorldError> {
    if format == Format::Binary {
        let body = StreamFrame::take(&mut live.world)?.full(0, 0);
        return Ok(Answer { status: 200, content_type: "application/octet-stream", body, again: false });
    }
    let snapshot = live.world.snapshot()?;
    let slots = state::body_slots(live.world.compiled(), &snapshot);
    if format == Format::Npz {
        let mut bytes = Cursor::new(Vec::new());
        let sleeps = live.world.compiled().settings.sleep;
        if let Err(error) = npz::write_state(&mut bytes, &slots, sleeps) {
            // Writing to memory does not fail.
            tracing::error!(%error, "npz");
        }
        let body = bytes.into_inner();
        return Ok(Answer { status: 200, content_type: "application/x-npz", body, again: false });
    }
    let mut bodies = Vec::with_capacity(slots.len());
    for (slot, body) in slots.into_iter().enumerate() {
        let (Some(body), Some(id)) = (body, live.world.body_id(slot)) else { continue };
        bodies.push(answers::BodyStateAnswer {
            id: id.to_string(),
            name: body.id,
            position: wide(body.position),
            angle: body.angle.into(),
            velocity: wide(body.velocity),
            angular_velocity: body.angular_velocity.into(),
            asleep: body.asleep,
        });
    }
    let (step, time, hash) = (live.world.steps(), live.time(), hash(&snapshot));
    Ok(Answer::json(&answers::StateAnswer { step, time, hash, bodies }))
}

fn hash(snapshot: &Snapshot) -> String {
    format!("{:016x}", state::hash(snapshot))
}

/// Returns all bodies with their shapes, in the frames of the bodies.
fn bodies(live: &mut Live) -> answers::BodiesAnswer {
    let count = live.world.compiled().bodies.len();
    let ids: Vec<Option<String>> = (0..count).map(|slot| live.world.body_id(slot).map(|id| id.to_string())).collect();
    let compiled = live.world.compiled();
    let mut shapes: Vec<Vec<ShapeOutline>> = Vec::new();
    shapes.resize_with(count, Vec::new);
    for shape in &compiled.shapes {
        let body = shape.body as usize;
        if let (Some(list), Some(mass)) = (shapes.get_mut(body), compiled.mass.get(body))
            && let Some(outline) = outline(shape, mass.center, &compiled.vertices)
        {
            list.push(outline);
        }
    }
    let rows = ids.into_iter().zip(shapes).enumerate().filter_map(|(slot, (id, shapes))| {
        let body = compiled.bodies.get(slot).filter(|body| body.kind != VACANT)?;
        let kind = ["static", "kinematic", "dynamic"].get(body.kind as usize)?;
        let mass = compiled.mass.get(slot)?.mass.into();
        let name = compiled.ids.get(slot).cloned().flatten();
        let color_index = body.color.checked_sub(1);
        let user_data = Some(compiled.user_data(slot)).filter(|&number| number != 0);
        Some(answers::BodyShapes { id: id?, name, kind, mass, color_index, user_data, shapes })
    });
    let corner = |at: glam::Vec2| wide(at.to_array());
    let view = compiled.view.map(|view| answers::ViewRect { min: corner(view.min), max: corner(view.max) });
    answers::BodiesAnswer { step: live.world.steps(), view, bodies: rows.collect() }
}

/// Returns a shape for drawing: a circle, points with a radius around them, or a half plane.
fn outline(shape: &ShapeData, center: glam::Vec2, vertices: &[[f32; 2]]) -> Option<ShapeOutline> {
    let turn = glam::Vec2::from(shape.rotation);
    let middle = glam::Vec2::from(shape.offset) + center;
    let place = |[x, y]: [f32; 2]| {
        let point = middle + glam::Vec2::new(turn.x * x - turn.y * y, turn.y * x + turn.x * y);
        wide([point.x, point.y])
    };
    let ([w, h], radius) = (shape.half, shape.radius.into());
    let polygon = |points: Vec<[f64; 2]>| ShapeOutline {
        polygon: Some(PolygonOutline { points, radius }),
        ..ShapeOutline::default()
    };
    let drawn = match shape.kind & GEOMETRY_MASK {
        CIRCLE => {
            ShapeOutline { circle: Some(Circle { center: place([0.0, 0.0]), radius }), ..ShapeOutline::default() }
        }
        BOX => polygon([[-w, -h], [w, -h], [w, h], [-w, h]].map(place).into()),
        POLYGON => {
            let count = (shape.kind >> VERTEX_COUNT_SHIFT & 0xf) as usize;
            let first = shape.first_vertex as usize;
            polygon(vertices.get(first..first + count)?.iter().map(|&vertex| place(vertex)).collect())
        }
        // The shape's y axis is the normal.
        HALF_PLANE => {
            let (normal, point) = (wide([-turn.y, turn.x]), wide([middle.x, middle.y]));
            ShapeOutline { half_plane: Some(HalfPlaneOutline { normal, point }), ..ShapeOutline::default() }
        }
        _ => return None,
    };
    Some(ShapeOutline { sensor: shape.kind & SENSOR_SHAPE != 0, ..drawn })
}

/// Returns all joints in the order of their indices, in their current state: commands move them, and loads break
/// them.
fn joints(live: &mut Live) -> Result<answers::JointsAnswer, WorldError> {
    let snapshot = live.world.snapshot()?;
    let count = live.world.compiled().bodies.len();
    let bodies: Vec<Option<String>> =
        (0..count).map(|slot| live.world.body_id(slot).map(|id| id.to_string())).collect();
    let compiled = live.world.compiled();
    let table = &compiled.joints;
    let mut looks: Vec<(u32, answers::JointLook)> = Vec::with_capacity(table.joints.len());
    for ((joint, state), goal) in table.joints.iter().zip(&snapshot.joint_states).zip(&snapshot.joint_goals) {
        let id = |body: u32| bodies.get(body as usize).cloned().flatten();
        let kind = joint.kind_name();
        let Some(b) = id(joint.body_b) else { continue };
        if joint.flags & JOINT_VACANT != 0 {
            continue;
        }
        let anchor = |body: u32, at: [f32; 2]| {
            let center = compiled.mass.get(body as usize).map_or(glam::Vec2::ZERO, |mass| mass.center);
            wide((glam::Vec2::from(at) + center).to_array())
        };
        let in_world = joint.flags & WORLD_A != 0;
        let held = |role: u32| row_goal(&snapshot, table, joint, ROW_ALONG | role);
        let slides = matches!(kind, "prismatic" | "wheel");
        let look = answers::JointLook {
            id: JointId { index: joint.id, generation: joint.generation }.to_string(),
            name: table.ids.get(joint.id as usize).cloned().flatten(),
            kind,
            a: if in_world { None } else { id(joint.body_a) },
            b,
            anchor_a: if in_world { wide(goal.anchor_a) } else { anchor(joint.body_a, goal.anchor_a) },
            anchor_b: anchor(joint.body_b, joint.anchor_b),
            axis: slides.then(|| wide(joint.axis)),
            ground_points: rows_of(table, joint).and_then(|rows| Some(joint.ground_points(rows)?.map(wide))),
            length: held(ROW_EQUALITY)
                .or_else(|| held(ROW_SPRING))
                .or_else(|| row_goal(&snapshot, table, joint, ROW_PULLEY | ROW_UPPER)),
            limits: held(ROW_UPPER).map(|upper| [held(ROW_LOWER).unwrap_or(0.0), upper]),
            breakable: joint.break_force < f32::MAX || joint.break_torque < f32::MAX,
            broken: state.status & BROKEN != 0,
            disabled: goal.flags & JOINT_DISABLED != 0,
        };
        looks.push((joint.id, look));
    }
    looks.sort_by_key(|&(index, _)| index);
    Ok(answers::JointsAnswer { step: live.world.steps(), joints: looks.into_iter().map(|(_, look)| look).collect() })
}

fn rows_of<'a>(table: &'a JointTable, joint: &JointData) -> Option<&'a [JointRow]> {
    let first = joint.first_row as usize;
    table.rows.get(first..first + (joint.flags & ROW_COUNT_MASK) as usize)
}

/// Returns the target of a joint's first row of a coordinate and a role.
fn row_goal(snapshot: &Snapshot, table: &JointTable, joint: &JointData, kind: u32) -> Option<f64> {
    let place = rows_of(table, joint)?.iter().position(|row| row.kind & (ROW_GEOMETRY | ROW_ROLE) == kind)?;
    snapshot.row_goals.get(joint.first_row as usize + place).map(|row| row.goal.into())
}

fn metrics(live: &mut Live) -> Result<Answer, WorldError> {
    let snapshot = live.world.snapshot()?;
    Ok(Answer::json(&answers::MetricsAnswer {
        step: live.world.steps(),
        time: live.time(),
        hash: hash(&snapshot),
        contacts: snapshot.contacts.len() + snapshot.sleeping.len(),
        quarantined: snapshot.counters.quarantined,
        overflowed_steps: live.world.overflowed_steps().len(),
        metrics: state::metrics(live.world.compiled(), &snapshot),
        stages_ms: live.world.stage_ms().into_iter().map(|(stage, ms)| (stage.name(), ms)).collect(),
    }))
}

fn events(live: &mut Live, from: u64, most: usize) -> Answer {
    let first = live.events.front().map_or(from, |(number, _)| *number);
    let found: Vec<(u64, drystone::Event)> =
        live.events.iter().filter(|(number, _)| *number >= from).take(most).copied().collect();
    let next = found.last().map_or(from.max(first), |(number, _)| number + 1);
    let mut id = |slot: u32| if slot == NONE { None } else { live.world.body_id(slot as usize) };
    let rows = found.iter().map(|(number, event)| {
        let begun = event.kind == EventKind::Begin;
        answers::EventAnswer {
            number: *number,
            step: event.step,
            kind: event.kind.to_string(),
            bodies: event.bodies.map(|slot| id(slot).map(|id| id.to_string())),
            point: begun.then(|| wide(event.point)),
            normal: begun.then(|| wide(event.normal)),
            approach_speed: begun.then(|| event.approach_speed.into()),
            joint: event.joint.map(|joint| joint.to_string()),
        }
    });
    // `missed` counts the events that the buffer has dropped.
    Answer::json(&answers::Events { events: rows.collect(), next, missed: first.saturating_sub(from) })
}

/// Effort of a slice of queries: about a millisecond on the CPU.
const EFFORT: u64 = 200_000;
/// Additional effort of a slice per shape, because each slice begins with a pass over all shapes.
const EFFORT_A_SHAPE: u64 = 4;
/// Effort of a slice on a device, which answers thousands of queries at the same time.
const DEVICE_EFFORT: u64 = 1 << 28;
/// Approximate bytes of a shape in an answer.
const SHAPE_BYTES: usize = 40;
/// Largest bytes of the answer to a query beside its shapes.
const HIT_BYTES: usize = 256;

/// Queries in progress, executed in slices. The world does not step meanwhile.
pub(super) struct Asking {
    questions: RequestQueries,
    reply: ReplySender,
    /// Number of queries answered.
    done: usize,
    /// Number of shapes found.
    found: usize,
    /// Computing time of the slices.
    took: Duration,
    body: Vec<u8>,
}

impl Asking {
    pub fn new(questions: RequestQueries, reply: ReplySender) -> Self {
        Self { questions, reply, done: 0, found: 0, took: Duration::ZERO, body: Vec::new() }
    }

    /// Returns the channel for the answer.
    pub fn into_reply(self) -> ReplySender {
        self.reply
    }

    /// Executes slices until `end`, at least one. Returns the complete answer or a problem, or None if slices
    /// remain. A disconnected client counts as a problem.
    ///
    /// # Errors
    /// The device is lost.
    pub fn continue_queries(
        &mut self,
        live: &mut Live,
        limits: &Limits,
        end: Instant,
    ) -> Result<Option<Result<Answer, Problem>>, WorldError> {
        loop {
            if self.reply.is_closed() {
                return Ok(Some(Err(Problem::unavailable("the client has disconnected"))));
            }
            let begun = Instant::now();
            let ended = self.slice(live, limits)?;
            self.took += begun.elapsed();
            if ended.is_some() {
                return Ok(ended);
            }
            if self.took.as_secs_f64() > limits.query_seconds {
                let detail = format!(
                    "the queries before this one took more than {} s of computing (limits.query_seconds)",
                    limits.query_seconds
                );
                return Ok(Some(Err(Problem::limit(detail).at(format!("queries[{}]", self.done)))));
            }
            if Instant::now() >= end {
                return Ok(None);
            }
        }
    }

    fn slice(&mut self, live: &mut Live, limits: &Limits) -> Result<Option<Result<Answer, Problem>>, WorldError> {
        let queries = &self.questions.queries[self.done..];
        let shapes = live.world.compiled().shapes.len() as u64;
        let on_cpu = EFFORT + EFFORT_A_SHAPE * shapes;
        let effort = if live.world.is_on_device() { DEVICE_EFFORT.max(on_cpu) } else { on_cpu };
        let bounds = QueryBounds { found: limits.found - self.found.min(limits.found), effort };
        let path = |index: usize| format!("queries[{}]", self.done + index);
        let answers = match live.world.query_within(queries, bounds) {
            Ok(answers) => answers,
            Err(WorldError::Query(error)) => {
                return Ok(Some(Err(Problem::invalid(error.problem).at(path(error.index)).expected(error.expected))));
            }
            Err(WorldError::TooManyFound { index, found, .. }) => {
                let (found, most) = (self.found + found, limits.found);
                let detail = format!("the queries up to this one find {found} shapes; at most {most} (limits.found)");
                return Ok(Some(Err(Problem::limit(detail).at(path(index)))));
            }
            Err(error) => return Err(error),
        };
        let shapes: usize = (0..answers.len()).map(|query| answers.found(query).len()).sum();
        let is_all = |query: &usize| matches!(queries[*query].kind, QueryKind::RayAll { .. });
        let hits: usize = (0..answers.len()).filter(is_all).map(|query| answers.hits(query).len()).sum();
        let found = shapes + hits;
        let more = shapes * SHAPE_BYTES + (answers.len() + hits) * HIT_BYTES;
        if let Err(problem) = (self.questions.charge)(more) {
            return Ok(Some(Err(problem)));
        }
        self.body.reserve_exact(more);
        if self.done == 0 {
            // The format of `answers::QueryAnswers`.
            self.body.extend(format!("{{\"step\":{},\"answers\":[", live.world.steps()).bytes());
        }
        self.write(live, &answers);
        self.done += answers.len();
        self.found += found;
        if self.done < self.questions.queries.len() {
            return Ok(None);
        }
        self.body.extend(b"]}");
        let body = std::mem::take(&mut self.body);
        Ok(Some(Ok(Answer { status: 200, content_type: "application/json", body, again: false })))
    }

    fn write(&mut self, live: &mut Live, found: &Answers) {
        let mut id = |slot: usize| live.world.body_id(slot).map(|id| id.to_string());
        for index in 0..found.len() {
            let kind = &self.questions.queries[self.done + index].kind;
            let mut hits = found.hits(index).iter().map(|hit| answers::RayAnswer {
                body: id(hit.body),
                shape: hit.shape,
                point: wide(hit.point.to_array()),
                normal: wide(hit.normal.to_array()),
                fraction: hit.fraction.into(),
                depth: matches!(kind, QueryKind::Cast { .. }).then(|| hit.depth.into()),
            });
            let row = match kind {
                QueryKind::Ray { .. } | QueryKind::Cast { .. } => QueryAnswer::Hit(hits.next()),
                QueryKind::RayAll { .. } => QueryAnswer::Hits(hits.collect()),
                QueryKind::Point { .. } | QueryKind::Aabb { .. } | QueryKind::Overlap { .. } => {
                    drop(hits);
                    let shapes = found.found(index).iter();
                    QueryAnswer::Found(shapes.map(|at| ShapeOf { body: id(at.body), shape: at.shape }).collect())
                }
            };
            if self.done + index > 0 {
                self.body.push(b',');
            }
            // Writing to memory does not fail.
            let _ = serde_json::to_writer(&mut self.body, &row);
        }
    }
}

/// Geometric query, as clients write it: an object whose only key is the kind of query.
#[derive(Clone, Debug, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum QueryRecord {
    /// Finds the first shape on the segment from one point to another.
    Ray {
        /// Start, m.
        from: [f32; 2],
        /// End, m.
        to: [f32; 2],
        /// Filter of the shapes that the ray can hit.
        #[serde(default)]
        filter: QueryFilterRecord,
        /// Id of a body that it does not meet.
        #[serde(default)]
        ignore: Option<String>,
    },
    /// Finds all shapes on the segment from one point to another, nearest first.
    RayAll {
        /// Start, m.
        from: [f32; 2],
        /// End, m.
        to: [f32; 2],
        /// Filter of the shapes that the ray can hit.
        #[serde(default)]
        filter: QueryFilterRecord,
        /// Id of a body that it does not meet.
        #[serde(default)]
        ignore: Option<String>,
    },
    /// Finds the first shape that a given shape meets as it moves without turning.
    Cast {
        /// Shape, written as in a scene, such as `{"circle": {"radius": 1}}`.
        #[schema(value_type = Object)]
        shape: Box<RawValue>,
        /// Position of the shape's origin at the start, m.
        position: [f32; 2],
        /// Angle, rad.
        #[serde(default)]
        angle: f32,
        /// Motion, m.
        motion: [f32; 2],
        /// Filter of the shapes that it can meet.
        #[serde(default)]
        filter: QueryFilterRecord,
        /// Id of a body that it does not meet.
        #[serde(default)]
        ignore: Option<String>,
    },
    /// Finds the shapes that contain a point.
    Point {
        /// Point, m.
        at: [f32; 2],
        /// Filter of the shapes to find.
        #[serde(default)]
        filter: QueryFilterRecord,
        /// Id of a body that it does not meet.
        #[serde(default)]
        ignore: Option<String>,
    },
    /// Finds the shapes whose bounding boxes overlap this box.
    Aabb {
        /// Lower left corner, m.
        min: [f32; 2],
        /// Upper right corner, m.
        max: [f32; 2],
        /// Filter of the shapes to find.
        #[serde(default)]
        filter: QueryFilterRecord,
        /// Id of a body that it does not meet.
        #[serde(default)]
        ignore: Option<String>,
    },
    /// Finds the shapes that overlap a given shape.
    Overlap {
        /// Shape, written as in a scene, such as `{"circle": {"radius": 1}}`.
        #[schema(value_type = Object)]
        shape: Box<RawValue>,
        /// Position of the shape's origin, m.
        position: [f32; 2],
        /// Angle, rad.
        #[serde(default)]
        angle: f32,
        /// Filter of the shapes to find.
        #[serde(default)]
        filter: QueryFilterRecord,
        /// Id of a body that it does not meet.
        #[serde(default)]
        ignore: Option<String>,
    },
}

/// Collision filter, as in a scene.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, utoipa::ToSchema)]
#[schema(as = FilterRecord)]
#[serde(default, deny_unknown_fields)]
pub struct QueryFilterRecord {
    /// Categories of the query, as bits.
    category: u32,
    /// Categories of the shapes to find, as bits.
    mask: u32,
    /// Group: shapes of the same positive group are always found, those of the same negative group never.
    group: i32,
}

impl Default for QueryFilterRecord {
    fn default() -> Self {
        let Filter { category, mask, group } = Filter::default();
        Self { category, mask, group }
    }
}

impl QueryRecord {
    /// Converts to the library's query.
    ///
    /// # Errors
    /// The shape is invalid.
    pub fn query(&self, index: usize) -> Result<Query, Problem> {
        let shape_of = |shape: &RawValue, kind: &str| {
            read_shape(shape).map_err(|problem| problem.within(&format!("queries[{index}].{kind}.shape")))
        };
        let (kind, query, filter, ignore) = match self {
            Self::Ray { from, to, filter, ignore } => ("ray", Query::ray(*from, *to), filter, ignore),
            Self::RayAll { from, to, filter, ignore } => ("ray_all", Query::ray_all(*from, *to), filter, ignore),
            Self::Point { at, filter, ignore } => ("point", Query::point(*at), filter, ignore),
            Self::Aabb { min, max, filter, ignore } => ("aabb", Query::aabb(*min, *max), filter, ignore),
            Self::Cast { shape, position, angle, motion, filter, ignore } => {
                ("cast", Query::cast(shape_of(shape, "cast")?, *position, *angle, *motion), filter, ignore)
            }
            Self::Overlap { shape, position, angle, filter, ignore } => {
                ("overlap", Query::overlap(shape_of(shape, "overlap")?, *position, *angle), filter, ignore)
            }
        };
        let QueryFilterRecord { category, mask, group } = *filter;
        let query = query.filter(Filter { category, mask, group });
        let Some(text) = ignore else { return Ok(query) };
        let body = body_from_text(text).map_err(|detail| {
            Problem::invalid(detail).at(format!("queries[{index}].{kind}.ignore")).expected("an id such as \"3.0\"")
        })?;
        Ok(query.ignoring(body))
    }
}
