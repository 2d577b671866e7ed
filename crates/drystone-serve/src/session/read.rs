//! Questions that change nothing.

use std::fmt;
use std::io::Cursor;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;

use super::live::{Live, Past};
use super::{Answer, Reply};
use crate::answers::{self, Circle, Found, HalfPlane, Outline, Polygon, ShapeOf, wide};
use crate::config::Limits;
use crate::op::read_shape;
use crate::problem::Problem;
use crate::stream::Frame;
use drystone::EventKind;
use drystone::low_level::scene::Joints;
use drystone::low_level::state;
use drystone::low_level::types::{
    BOX, BROKEN, CIRCLE, GEOMETRY_MASK, HALF_PLANE, JOINT_DISABLED, JOINT_TYPE_SHIFT, JOINT_VACANT, Joint, NONE,
    POLYGON, ROW_ALONG, ROW_COUNT_MASK, ROW_EQUALITY, ROW_GEOMETRY, ROW_LOWER, ROW_ROLE, ROW_SPRING, ROW_UPPER,
    SENSOR_SHAPE, Shape, VACANT, VERTEX_COUNT_SHIFT, WORLD_A,
};
use drystone::{Answers, Filter, JointId, JointKind, Query, QueryBounds, Snapshot, WorldError};
use drystone_scenes::npz;

/// A question.
pub enum Read {
    /// Where everything is.
    State(Format, Charge),
    /// What everything is.
    Bodies(Charge),
    /// Joints, where they are and what they hold.
    Joints(Charge),
    /// Changes and state, for the scene that the world has become. The function takes them.
    Past(HandOver, Charge),
    /// How good and how lively it is.
    Metrics,
    /// What happened since the event with this number, so many at most.
    Events {
        /// First number.
        from: u64,
        /// Most.
        most: usize,
    },
    /// Rays, points, boxes, shapes.
    Query(Questions),
    /// Whether it is there.
    Ping,
}

/// Takes what a world has become.
pub type HandOver = Box<dyn FnMut(Past) + Send>;

/// Sets memory aside for so many bytes more of an answer.
pub type Charge = Box<dyn FnMut(usize) -> Result<(), Problem> + Send>;

impl fmt::Debug for Read {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::State(..) => "State",
            Self::Bodies(_) => "Bodies",
            Self::Joints(_) => "Joints",
            Self::Past(..) => "Past",
            Self::Metrics => "Metrics",
            Self::Events { .. } => "Events",
            Self::Query(_) => "Query",
            Self::Ping => "Ping",
        })
    }
}

/// Queries of a request.
pub struct Questions {
    /// Queries, in their order.
    pub queries: Vec<Query>,
    /// Called before the answer grows.
    pub charge: Charge,
}

impl fmt::Debug for Questions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Questions({})", self.queries.len())
    }
}

/// How a state is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// JSON.
    #[default]
    Json,
    /// A full frame, as in a stream.
    Binary,
    /// For NumPy.
    Npz,
}

/// The answer, or the problem with the question.
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
        Read::Metrics => metrics(live).map(Ok),
        &mut Read::Events { from, most } => Ok(Ok(events(live, from, most))),
        Read::Ping => Ok(Ok(Answer::json(&json!({})))),
        // It is worked off in slices.
        Read::Query(_) => Ok(Err(Problem::internal("a request for queries was read as a whole"))),
    }
}

/// Memory for a name in an answer, times its length: a copy, and as JSON with every letter escaped.
const NAME_FACTOR: usize = 7;

/// Bytes of the names of bodies.
fn name_bytes(live: &Live) -> usize {
    live.world.compiled().ids.iter().flatten().map(String::len).sum()
}

/// Memory that the answer with a state takes, about.
fn state_bytes(live: &Live, format: Format) -> usize {
    let bodies = live.world.compiled().bodies.len();
    match format {
        Format::Json => 320 * bodies + NAME_FACTOR * name_bytes(live),
        Format::Binary | Format::Npz => 48 * bodies,
    }
}

/// Memory that the answer with the looks of bodies takes, about.
fn looks_bytes(live: &Live) -> usize {
    let compiled = live.world.compiled();
    // Points of a polygon, as numbers and as text; a box has four.
    let (shapes, points) = (compiled.shapes.len(), compiled.vertices.len());
    256 * compiled.bodies.len() + 512 * shapes + 80 * points + NAME_FACTOR * name_bytes(live)
}

/// Returns about how many bytes the answer with all joints takes.
fn joints_bytes(live: &Live) -> usize {
    let joints = &live.world.compiled().joints;
    let names: usize = joints.ids.iter().flatten().map(String::len).sum();
    768 * joints.joints.len() + NAME_FACTOR * names
}

/// Returns about how many bytes it takes to make a scene of a world: its state, the model, the text.
fn past_bytes(live: &Live) -> usize {
    let (bodies, entries) = (live.world.compiled().bodies.len(), live.has().bytes);
    2 * (looks_bytes(live) + joints_bytes(live) + entries) + 1024 * bodies
}

fn state_as(live: &mut Live, format: Format) -> Result<Answer, WorldError> {
    if format == Format::Binary {
        let body = Frame::take(&mut live.world)?.full(0, 0);
        return Ok(Answer { status: 200, content_type: "application/octet-stream", body, again: false });
    }
    let snapshot = live.world.snapshot()?;
    let slots = state::body_slots(live.world.compiled(), &snapshot);
    if format == Format::Npz {
        let mut bytes = Cursor::new(Vec::new());
        let sleeps = live.world.compiled().settings.sleep;
        if let Err(error) = npz::write_state(&mut bytes, &slots, sleeps) {
            // Memory does not fail.
            tracing::error!(%error, "npz");
        }
        let body = bytes.into_inner();
        return Ok(Answer { status: 200, content_type: "application/x-npz", body, again: false });
    }
    let mut bodies = Vec::with_capacity(slots.len());
    for (slot, body) in slots.into_iter().enumerate() {
        let (Some(body), Some(id)) = (body, live.world.body_id(slot)) else { continue };
        bodies.push(answers::BodyState {
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
    Ok(Answer::json(&answers::State { step, time, hash, bodies }))
}

fn hash(snapshot: &Snapshot) -> String {
    format!("{:016x}", state::hash(snapshot))
}

/// Of every body what it looks like, in its own frame.
fn bodies(live: &mut Live) -> answers::Bodies {
    let count = live.world.compiled().bodies.len();
    let ids: Vec<Option<String>> = (0..count).map(|slot| live.world.body_id(slot).map(|id| id.to_string())).collect();
    let compiled = live.world.compiled();
    let mut shapes: Vec<Vec<Outline>> = Vec::new();
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
        Some(answers::Look { id: id?, name: compiled.ids.get(slot).cloned().flatten(), kind, mass, shapes })
    });
    let corner = |at: glam::Vec2| wide(at.to_array());
    let view = compiled.view.map(|view| answers::View { min: corner(view.min), max: corner(view.max) });
    answers::Bodies { step: live.world.steps(), view, bodies: rows.collect() }
}

/// A shape for drawing: a circle, or points with a radius about them, or a half plane.
fn outline(shape: &Shape, center: glam::Vec2, vertices: &[[f32; 2]]) -> Option<Outline> {
    let turn = glam::Vec2::from(shape.rotation);
    let middle = glam::Vec2::from(shape.offset) + center;
    let place = |[x, y]: [f32; 2]| {
        let point = middle + glam::Vec2::new(turn.x * x - turn.y * y, turn.y * x + turn.x * y);
        wide([point.x, point.y])
    };
    let ([w, h], radius) = (shape.half, shape.radius.into());
    let polygon = |points: Vec<[f64; 2]>| Outline { polygon: Some(Polygon { points, radius }), ..Outline::default() };
    let drawn = match shape.kind & GEOMETRY_MASK {
        CIRCLE => Outline { circle: Some(Circle { center: place([0.0, 0.0]), radius }), ..Outline::default() },
        BOX => polygon([[-w, -h], [w, -h], [w, h], [-w, h]].map(place).into()),
        POLYGON => {
            let count = (shape.kind >> VERTEX_COUNT_SHIFT & 0xf) as usize;
            let first = shape.first_vertex as usize;
            polygon(vertices.get(first..first + count)?.iter().map(|&vertex| place(vertex)).collect())
        }
        // Its y axis is the normal.
        HALF_PLANE => {
            let (normal, point) = (wide([-turn.y, turn.x]), wide([middle.x, middle.y]));
            Outline { half_plane: Some(HalfPlane { normal, point }), ..Outline::default() }
        }
        _ => return None,
    };
    Some(Outline { sensor: shape.kind & SENSOR_SHAPE != 0, ..drawn })
}

/// Returns all joints in the order of their indices, as they stand: a joint is moved by commands, and may have broken.
fn joints(live: &mut Live) -> Result<answers::Joints, WorldError> {
    let snapshot = live.world.snapshot()?;
    let count = live.world.compiled().bodies.len();
    let bodies: Vec<Option<String>> =
        (0..count).map(|slot| live.world.body_id(slot).map(|id| id.to_string())).collect();
    let compiled = live.world.compiled();
    let table = &compiled.joints;
    let mut looks: Vec<(u32, answers::JointLook)> = Vec::with_capacity(table.joints.len());
    for ((joint, state), goal) in table.joints.iter().zip(&snapshot.joint_states).zip(&snapshot.joint_goals) {
        let id = |body: u32| bodies.get(body as usize).cloned().flatten();
        let kind = (joint.flags >> JOINT_TYPE_SHIFT & 0xf) as usize;
        let (Some(&kind), Some(b)) = (JointKind::NAMES.get(kind), id(joint.body_b)) else { continue };
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
            length: held(ROW_EQUALITY).or_else(|| held(ROW_SPRING)),
            limits: held(ROW_UPPER).map(|upper| [held(ROW_LOWER).unwrap_or(0.0), upper]),
            breakable: joint.break_force < f32::MAX || joint.break_torque < f32::MAX,
            broken: state.status & BROKEN != 0,
            disabled: goal.flags & JOINT_DISABLED != 0,
        };
        looks.push((joint.id, look));
    }
    looks.sort_by_key(|&(index, _)| index);
    Ok(answers::Joints { step: live.world.steps(), joints: looks.into_iter().map(|(_, look)| look).collect() })
}

/// Returns the goal of the first row of a joint that moves and acts as `kind` says.
fn row_goal(snapshot: &Snapshot, table: &Joints, joint: &Joint, kind: u32) -> Option<f64> {
    let first = joint.first_row as usize;
    let rows = table.rows.get(first..first + (joint.flags & ROW_COUNT_MASK) as usize)?;
    let place = rows.iter().position(|row| row.kind & (ROW_GEOMETRY | ROW_ROLE) == kind)?;
    snapshot.row_goals.get(first + place).map(|row| row.goal.into())
}

fn metrics(live: &mut Live) -> Result<Answer, WorldError> {
    let snapshot = live.world.snapshot()?;
    Ok(Answer::json(&answers::Metrics {
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
        let kind = match event.kind {
            EventKind::Begin => "begin",
            EventKind::End => "end",
            EventKind::SensorBegin => "sensor_begin",
            EventKind::SensorEnd => "sensor_end",
            EventKind::JointBroke => "joint_broke",
        };
        let begun = event.kind == EventKind::Begin;
        answers::Event {
            number: *number,
            step: event.step,
            kind,
            bodies: event.bodies.map(|slot| id(slot).map(|id| id.to_string())),
            point: begun.then(|| wide(event.point)),
            normal: begun.then(|| wide(event.normal)),
            approach_speed: begun.then(|| event.approach_speed.into()),
            joint: event.joint.map(|joint| joint.to_string()),
        }
    });
    // What the ring has let go of since is told.
    Answer::json(&answers::Events { events: rows.collect(), next, missed: first.saturating_sub(from) })
}

/// Effort of a slice of queries: about a millisecond on the CPU.
const EFFORT: u64 = 200_000;
/// Effort of a slice for each shape, as each slice begins with looking at all shapes.
const EFFORT_A_SHAPE: u64 = 4;
/// Effort of a slice on a device, which answers thousands at the same time.
const DEVICE_EFFORT: u64 = 1 << 28;
/// Bytes of a shape in an answer, about.
const SHAPE_BYTES: usize = 40;
/// Bytes of the answer to a query beside its shapes, at most.
const HIT_BYTES: usize = 256;

/// Queries that are being worked off, slice by slice. The world stands still meanwhile.
pub(super) struct Asking {
    questions: Questions,
    reply: Reply,
    /// Queries answered.
    done: usize,
    /// Shapes found.
    found: usize,
    /// Time that slices have taken.
    took: Duration,
    body: Vec<u8>,
}

impl Asking {
    pub fn new(questions: Questions, reply: Reply) -> Self {
        Self { questions, reply, done: 0, found: 0, took: Duration::ZERO, body: Vec::new() }
    }

    /// Takes the sender of the answer.
    pub fn into_reply(self) -> Reply {
        self.reply
    }

    /// Works slices off until `end`, at least one. The answer once it is whole, or a problem; nothing if the client has
    /// gone, which is told by `Some` all the same.
    ///
    /// # Errors
    /// The device is lost.
    pub fn go_on(
        &mut self,
        live: &mut Live,
        limits: &Limits,
        end: Instant,
    ) -> Result<Option<Result<Answer, Problem>>, WorldError> {
        loop {
            if self.reply.is_closed() {
                return Ok(Some(Err(Problem::unavailable("the client has gone"))));
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
                let detail = format!("the queries find {found} shapes up to this one; at most {most} (limits.found)");
                return Ok(Some(Err(Problem::limit(detail).at(path(index)))));
            }
            Err(error) => return Err(error),
        };
        let found: usize = (0..answers.len()).map(|query| answers.found(query).len()).sum();
        let more = found * SHAPE_BYTES + answers.len() * HIT_BYTES;
        if let Err(problem) = (self.questions.charge)(more) {
            return Ok(Some(Err(problem)));
        }
        self.body.reserve_exact(more);
        if self.done == 0 {
            // As `answers::Answers` is written.
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
            let row = if matches!(self.questions.queries[self.done + index], Query::Ray { .. }) {
                Found::Hit(found.hit(index).map(|hit| answers::Hit {
                    body: id(hit.body),
                    shape: hit.shape,
                    point: wide(hit.point.to_array()),
                    normal: wide(hit.normal.to_array()),
                    fraction: hit.fraction.into(),
                }))
            } else {
                let shapes = found.found(index).iter();
                Found::Found(shapes.map(|found| ShapeOf { body: id(found.body), shape: found.shape }).collect())
            };
            if self.done + index > 0 {
                self.body.push(b',');
            }
            // Memory takes it.
            let _ = serde_json::to_writer(&mut self.body, &row);
        }
    }
}

/// Query about places, as clients write it: an object whose only key names it.
#[derive(Clone, Debug, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum QueryRecord {
    /// Finds the first shape on the way from one point to another.
    Ray {
        /// Start, m.
        from: [f32; 2],
        /// End, m.
        to: [f32; 2],
        /// Filter of the shapes that it hits.
        #[serde(default)]
        filter: FilterRecord,
    },
    /// Finds the shapes that contain a point.
    Point {
        /// Point, m.
        at: [f32; 2],
        /// Filter of the shapes that it finds.
        #[serde(default)]
        filter: FilterRecord,
    },
    /// Finds the shapes whose boxes meet this one.
    Aabb {
        /// Lower left corner, m.
        min: [f32; 2],
        /// Upper right corner, m.
        max: [f32; 2],
        /// Filter of the shapes that it finds.
        #[serde(default)]
        filter: FilterRecord,
    },
    /// Finds the shapes that overlap this one.
    Overlap {
        /// Shape, written as in a scene, such as `{"circle": {"radius": 1}}`.
        #[schema(value_type = Object)]
        shape: Box<RawValue>,
        /// Position of its origin, m.
        position: [f32; 2],
        /// Angle, rad.
        #[serde(default)]
        angle: f32,
        /// Filter of the shapes that it finds.
        #[serde(default)]
        filter: FilterRecord,
    },
}

/// Filter, as in a scene.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FilterRecord {
    /// Categories of the query, as bits.
    category: u32,
    /// Categories of the shapes that it finds, as bits.
    mask: u32,
    /// Group: shapes of an equal positive one are always found, those of an equal negative one never.
    group: i32,
}

impl Default for FilterRecord {
    fn default() -> Self {
        let Filter { category, mask, group } = Filter::default();
        Self { category, mask, group }
    }
}

impl QueryRecord {
    /// Returns the query of the library.
    ///
    /// # Errors
    /// What is wrong with its shape.
    pub fn query(&self, index: usize) -> Result<Query, Problem> {
        let with = |query: Query, filter: &FilterRecord| {
            query.filter(Filter { category: filter.category, mask: filter.mask, group: filter.group })
        };
        Ok(match self {
            Self::Ray { from, to, filter } => with(Query::ray(*from, *to), filter),
            Self::Point { at, filter } => with(Query::point(*at), filter),
            Self::Aabb { min, max, filter } => with(Query::aabb(*min, *max), filter),
            Self::Overlap { shape, position, angle, filter } => {
                let shape =
                    read_shape(shape).map_err(|problem| problem.within(&format!("queries[{index}].overlap.shape")))?;
                with(Query::overlap(shape, *position, *angle), filter)
            }
        })
    }
}
