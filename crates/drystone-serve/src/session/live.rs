//! World in memory, with the data that its session keeps beside the snapshot. Everything here depends only on the
//! world and the log records, so that a replay gives the same result.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io;

use glam::Vec2;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::keys::{AnswerIndex, Recent, RecordedAnswer, Spill};
use super::population;
use crate::hosted::Hosted;
use crate::op::{
    Additions, BodySelector, CommandRecord, ENTRY_BYTES, ID_BYTES, MAX_POINTERS, PartList, Plain, RequestKey,
    body_from_text, find_body, find_joint, joint_from_text, read_body, read_joint, read_parts,
};
use crate::problem::Problem;
use crate::store::Store;
use crate::unix_seconds;
use drystone::Event;
use drystone::low_level::population::{Alteration, Journal};
use drystone::{BodyId, Joint, JointCommand, JointId, JointKind, Scene, WorldError};
use drystone_scenes::SavedWorld;
use drystone_scenes::saved::Present;

/// Data of a world beside its snapshot, as stored in checkpoints.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SessionMemory {
    /// Number of requests for steps so far.
    pub requests: u64,
    /// Unfinished requests for steps; the first one is in progress.
    pub goals: VecDeque<Goal>,
    /// Play mode, if the world steps by itself.
    pub play: Option<Playback>,
    /// Seconds without a viewer after which the world paused, until it steps again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unwatched: Option<f64>,
    /// Joints held by pointers.
    pub pointers: BTreeMap<String, PointerJoint>,
    /// Bodies and joints added and removed at run time.
    pub journal: Vec<ReplayEntry>,
    /// Gravity, m/s², if it differs from that of the scene.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gravity: Option<[f32; 2]>,
    /// Answers to requests with keys, the oldest first; still older ones are in files.
    pub answers: Recent,
}

/// Request for steps.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Goal {
    /// Number of the request.
    pub request: u64,
    /// Number of steps requested.
    pub steps: u64,
    /// Number of steps left.
    pub remaining: u64,
    /// Idempotency key of the request.
    pub key: Option<RequestKey>,
}

/// Play mode: the world steps by itself.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Playback {
    /// Speed as a multiple of real time; None for as fast as possible.
    pub speed: Option<f64>,
    /// Seconds without a viewer after which the world pauses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unwatched: Option<f64>,
}

/// Joint by which a pointer holds a body.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PointerJoint {
    joint: String,
}

/// Change of the population, as recorded in checkpoints.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ReplayEntry {
    at: u64,
    what: ReplayedChange,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ReplayedChange {
    Spawn { bodies: PartList, joints: PartList, ids: Vec<String> },
    Remove { bodies: Vec<String> },
    Replace { body: String, with: Box<RawValue> },
    Join { a: Option<String>, b: String, joint: Box<RawValue> },
    Grab { body: String, point: [f32; 2], target: [f32; 2], max_force: f32, hertz: f32, damping_ratio: f32 },
    Unjoin { joints: Vec<String> },
}

impl ReplayEntry {
    /// Returns the approximate size in bytes.
    fn bytes(&self) -> usize {
        ENTRY_BYTES
            + match &self.what {
                ReplayedChange::Spawn { bodies, joints, ids } => bodies.bytes() + joints.bytes() + ID_BYTES * ids.len(),
                ReplayedChange::Remove { bodies: ids } | ReplayedChange::Unjoin { joints: ids } => ID_BYTES * ids.len(),
                ReplayedChange::Replace { with, .. } => ID_BYTES + with.get().len(),
                ReplayedChange::Join { joint, .. } => 2 * ID_BYTES + joint.get().len(),
                ReplayedChange::Grab { .. } => 3 * ENTRY_BYTES,
            }
    }
}

/// Result of a request, for the client.
pub type RequestOutcome = Result<Value, Problem>;

/// World in memory with its data beside the snapshot.
#[derive(Debug)]
pub(crate) struct Live {
    /// The world.
    pub world: Hosted,
    /// Generation of its device.
    pub device: u64,
    /// Data beside the snapshot.
    pub memory: SessionMemory,
    keys: AnswerIndex,
    /// Gravity of the scene, m/s².
    first_gravity: [f32; 2],
    /// Bytes of the journal.
    journal_bytes: usize,
    /// Newest events, with their numbers.
    pub events: VecDeque<(u64, Event)>,
    next_event: u64,
    /// Number of steps whose events were collected. Repeated steps do not collect theirs again.
    seen: u64,
    most_events: usize,
}

/// Changes at run time and state of a world, from which a scene can be made.
#[derive(Debug)]
pub struct PastState {
    changes: SessionMemory,
    state: Vec<u8>,
    /// True on a GPU, and where the scene says so.
    is_strict: bool,
}

impl PastState {
    /// Returns the scene that the world has become, given its original scene.
    ///
    /// # Errors
    /// The parts are inconsistent, or a body has left the range of a scene.
    pub fn scene(self, first: &Scene) -> Result<Scene, String> {
        let mut scene = self.saved(first)?.to_scene().map_err(|error| error.to_string())?;
        scene.settings.strict = first.settings.strict;
        Ok(scene)
    }

    /// Returns the world as saved, given its original scene.
    fn saved(self, first: &Scene) -> Result<SavedWorld, String> {
        let mut scene = first.clone();
        scene.settings.strict = self.is_strict;
        Ok(SavedWorld::from_parts(scene, journal(&self.changes)?, self.state))
    }
}

/// Changes and state of a world, for the description of one of its bodies.
#[derive(Debug)]
pub struct PastBody {
    pub(super) past: PastState,
    /// Steps done.
    pub step: u64,
    /// Id of the body.
    pub id: BodyId,
    /// Ids of all bodies, by slot.
    pub ids: Vec<Option<BodyId>>,
}

impl PastBody {
    /// Returns the body with its joints, which refer to bodies by slot, given the world's original scene. None if the
    /// body is not there.
    ///
    /// # Errors
    /// The parts are inconsistent.
    pub fn present(self, first: &Scene) -> Result<Option<Present>, String> {
        self.past.saved(first)?.present(self.id.index as usize).map_err(|error| error.to_string())
    }
}

/// Newest events and the number of the next one. They stay in memory while the world does not.
#[derive(Debug, Default)]
pub struct Ring {
    events: VecDeque<(u64, Event)>,
    next: u64,
    seen: u64,
}

/// Index of bodies by name, built once per batch of commands.
#[derive(Default)]
struct Names(Option<HashMap<String, u32>>);

impl Live {
    /// Creates a world at its start.
    pub fn new(world: Hosted, device: u64, most_events: usize) -> Self {
        let memory = SessionMemory::default();
        let keys = AnswerIndex::default();
        let first_gravity = world.compiled().params.gravity;
        Self {
            world,
            first_gravity,
            device,
            memory,
            keys,
            journal_bytes: 0,
            events: VecDeque::new(),
            next_event: 0,
            seen: 0,
            most_events,
        }
    }

    /// Loads a checkpoint.
    ///
    /// # Errors
    /// The checkpoint does not fit the world.
    pub fn load(&mut self, memory: SessionMemory, snapshot: &[u8]) -> Result<(), String> {
        let journal = journal(&memory)?;
        self.world.load_with(snapshot, &journal).map_err(|error| error.to_string())?;
        self.journal_bytes = memory.journal.iter().map(ReplayEntry::bytes).sum();
        self.memory = memory;
        Ok(())
    }

    /// Returns the changes and the state from which a scene can be made.
    ///
    /// # Errors
    /// The device is lost.
    pub fn past(&mut self) -> Result<PastState, WorldError> {
        let state = self.world.save()?;
        let SessionMemory { journal, gravity, .. } = &self.memory;
        Ok(PastState {
            changes: SessionMemory { journal: journal.clone(), gravity: *gravity, ..SessionMemory::default() },
            state,
            is_strict: self.world.compiled().settings.strict,
        })
    }

    /// Takes the events out, for a world that leaves memory.
    pub fn take_ring(&mut self) -> Ring {
        Ring { events: std::mem::take(&mut self.events), next: self.next_event, seen: self.seen }
    }

    /// Restores the events taken by [`Self::take_ring`].
    pub fn put_ring(&mut self, ring: Ring) {
        (self.events, self.next_event, self.seen) = (ring.events, ring.next, ring.seen);
    }

    /// Drops events of repeated steps that are not in the log. Event numbers are not reused.
    pub fn end_replay(&mut self) {
        let steps = self.world.steps();
        self.seen = self.seen.min(steps);
        while self.events.back().is_some_and(|(_, event)| event.step >= steps) {
            self.events.pop_back();
        }
    }

    /// Opens the index of stored answers. Must precede any new answer.
    ///
    /// # Errors
    /// The store's error.
    pub fn open_keys(&mut self, store: &Store, id: &str, files: &[u64]) -> io::Result<()> {
        self.keys = AnswerIndex::open(store, id, files, &mut self.memory.answers)?;
        Ok(())
    }

    /// Returns the quantities that are limited.
    pub fn has(&self) -> Additions {
        let (bodies, joints) = population(self);
        Additions {
            bodies,
            joints,
            shapes: self.world.compiled().shapes.len(),
            alterations: self.memory.journal.len(),
            bytes: self.journal_bytes,
        }
    }

    /// Collects the events of a step.
    ///
    /// # Errors
    /// The device's error.
    pub fn collect_events(&mut self) -> Result<(), WorldError> {
        if self.world.compiled().settings.events {
            for event in self.world.take_events()? {
                if event.step < self.seen {
                    continue;
                }
                self.events.push_back((self.next_event, event));
                self.next_event += 1;
            }
            while self.events.len() > self.most_events {
                self.events.pop_front();
            }
        }
        self.seen = self.seen.max(self.world.steps());
        Ok(())
    }

    /// Returns the answer to a request with this key, if it is in memory.
    pub fn answered(&self, key: &RequestKey) -> Option<&RecordedAnswer> {
        self.keys.find(&self.memory.answers, &key.name)
    }

    /// Returns the numbers of the files that may contain the answer to a request with this key.
    pub fn answered_in(&self, key: &RequestKey) -> Vec<u64> {
        self.keys.files_with(&key.name)
    }

    /// Checks that one more answer may be kept, in addition to those of `waiting` requests.
    ///
    /// # Errors
    /// The limit is reached.
    pub fn check_keys(&self, waiting: usize, most: usize) -> Result<(), Problem> {
        let (recent, now) = (&self.memory.answers, unix_seconds());
        if self.keys.is_full() {
            return Err(Problem::too_many("answers to requests with keys wait to be written to the store", 1));
        }
        if self.keys.len(recent, now) + waiting >= most {
            let seconds = u32::try_from(self.keys.seconds_to_drop(recent, now)).unwrap_or(u32::MAX);
            let detail = format!("{most} answers to requests with keys are already kept for this world (limits.keys)");
            return Err(Problem::too_many(detail, seconds));
        }
        Ok(())
    }

    /// Records an answer.
    pub fn remember(&mut self, key: Option<RequestKey>, outcome: &RequestOutcome) {
        let Some(key) = key else { return };
        let (status, body) = match outcome {
            Ok(body) => (200, body.to_string()),
            Err(problem) => (problem.status, serde_json::to_string(problem).unwrap_or_default()),
        };
        self.remember_as(key, status, body);
    }

    /// Records an answer with its status.
    pub fn remember_as(&mut self, key: RequestKey, status: u16, body: String) {
        self.keys.push(&mut self.memory.answers, RecordedAnswer { key, status, body, at: unix_seconds() });
    }

    /// Returns true if the answers are so large that a checkpoint is due.
    pub fn has_urgent_answers(&self) -> bool {
        self.keys.is_urgent()
    }

    /// Returns the memory for a checkpoint, the answers that should go to a file, and the files that are too old.
    pub fn remembered(&mut self) -> (Vec<u8>, Option<Spill>, Vec<u64>) {
        let now = unix_seconds();
        let spill = self.keys.spill(&self.memory.answers, now);
        let count = spill.as_ref().map_or(0, |spill| spill.count);
        let rest = self.memory.answers.split_off(count);
        let first = std::mem::replace(&mut self.memory.answers, rest);
        let memory = serde_json::to_vec(&self.memory).unwrap_or_default();
        let mut rest = std::mem::replace(&mut self.memory.answers, first);
        self.memory.answers.append(&mut rest);
        (memory, spill, self.keys.take_old(now))
    }

    /// Removes answers from memory whose file is durable.
    pub fn spilled(&mut self, spill: Spill) {
        self.keys.spilled(&mut self.memory.answers, spill);
    }

    /// Adds a request for steps. Returns its number.
    pub fn ask_steps(&mut self, steps: u64, key: Option<RequestKey>) -> u64 {
        let request = self.memory.requests;
        self.memory.requests += 1;
        self.memory.goals.push_back(Goal { request, steps, remaining: steps, key });
        request
    }

    /// Counts a step. Returns the request that it completed, with its answer, which the caller records.
    pub fn stepped(&mut self) -> Option<(Goal, Value)> {
        let goal = self.memory.goals.front_mut()?;
        goal.remaining = goal.remaining.saturating_sub(1);
        (goal.remaining == 0).then(|| self.end_goal(0, None)).flatten()
    }

    /// Ends a request for steps early; with `limit`, because a limit was exceeded.
    pub fn halt(&mut self, request: u64, reason: &str, limit: bool) -> Option<(u64, RequestOutcome)> {
        let place = self.memory.goals.iter().position(|goal| goal.request == request)?;
        let (goal, answer) = self.end_goal(place, Some(reason))?;
        let done = goal.steps - goal.remaining;
        let outcome = if limit { Err(Problem::limit(format!("{reason}; {done} steps were done"))) } else { Ok(answer) };
        self.remember(goal.key, &outcome);
        Some((request, outcome))
    }

    fn end_goal(&mut self, place: usize, reason: Option<&str>) -> Option<(Goal, Value)> {
        let goal = self.memory.goals.remove(place)?;
        let answer = json!({
            "step": self.world.steps(),
            "time": self.time(),
            "steps": goal.steps - goal.remaining,
            "stopped": reason,
        });
        Some((goal, answer))
    }

    /// Returns the simulated seconds.
    pub fn time(&self) -> f64 {
        self.world.steps() as f64 * f64::from(self.world.compiled().settings.dt)
    }

    /// Executes a batch of commands up to the first refused one.
    ///
    /// # Errors
    /// The reason of the refusal, with the number of commands executed.
    pub fn command(&mut self, commands: &[CommandRecord]) -> RequestOutcome {
        let mut names = Names::default();
        let mut results = Vec::with_capacity(commands.len());
        for (index, command) in commands.iter().enumerate() {
            match self.one(command, &mut names) {
                Ok(result) => results.push(result),
                // A lost device is not an answer to the command.
                Err(problem) if problem.status == 503 => return Err(problem),
                Err(problem) => {
                    return Err(problem.within(&format!("commands[{index}].{}", command.word())).after(index));
                }
            }
        }
        Ok(json!({ "step": self.world.steps(), "results": results }))
    }

    fn note(&mut self, what: ReplayedChange) {
        let entry = ReplayEntry { at: self.world.steps(), what };
        self.journal_bytes += entry.bytes();
        self.memory.journal.push(entry);
    }

    fn one(&mut self, command: &CommandRecord, names: &mut Names) -> RequestOutcome {
        match command.plain() {
            Some(Plain::Body(body, command)) => {
                let id = names.find(&mut self.world, &body).map_err(|problem| problem.at("body"))?;
                self.world.command(id, command)?;
                return Ok(json!({}));
            }
            Some(Plain::Joint(joint, command)) => {
                let id = find_joint(&self.world, &joint).map_err(|problem| problem.at("joint"))?;
                self.world.command_joint(id, command)?;
                return Ok(json!({}));
            }
            None => {}
        }
        match command {
            CommandRecord::WakeAll {} => {
                self.world.wake_all();
                Ok(json!({}))
            }
            CommandRecord::Gravity { gravity } => {
                self.world.set_gravity(gravity.unwrap_or(self.first_gravity).into())?;
                let now = self.world.compiled().params.gravity;
                self.memory.gravity = (now.map(f32::to_bits) != self.first_gravity.map(f32::to_bits)).then_some(now);
                Ok(json!({}))
            }
            CommandRecord::Spawn { bodies, joints } => self.spawn(bodies, joints, names),
            CommandRecord::Remove { bodies } => {
                let mut ids = Vec::new();
                bodies.try_each(|place, body| {
                    let id = names.find(&mut self.world, &body);
                    ids.push(id.map_err(|problem| problem.at(format!("bodies[{place}]")))?);
                    Ok(())
                })?;
                self.world.remove_bodies(&ids)?;
                self.note(ReplayedChange::Remove { bodies: ids.iter().map(ToString::to_string).collect() });
                Ok(json!({}))
            }
            CommandRecord::Replace { body, with } => {
                let id = names.find(&mut self.world, body).map_err(|problem| problem.at("body"))?;
                let built = read_body(with)?;
                self.world.replace_body(id, &built).map_err(|error| part_problem(error, "bodies[0]", "with"))?;
                names.learn(built.id.as_deref(), id);
                self.note(ReplayedChange::Replace { body: id.to_string(), with: with.clone() });
                Ok(json!({}))
            }
            CommandRecord::Join { a, b, joint } => {
                let a = a.as_ref().map(|a| names.find(&mut self.world, a)).transpose();
                let a = a.map_err(|problem| problem.at("a"))?;
                let id = names.find(&mut self.world, b).map_err(|problem| problem.at("b"))?;
                let built = read_joint(joint, a.is_none())?;
                let made = self.world.add_joints_between(&[(a, id, built)]).map_err(joint_problem)?;
                self.note(ReplayedChange::Join {
                    a: a.map(|a| a.to_string()),
                    b: id.to_string(),
                    joint: joint.clone(),
                });
                Ok(json!({ "joint": made.first().map(ToString::to_string) }))
            }
            CommandRecord::Unjoin { joints } => {
                let mut ids = Vec::new();
                joints.try_each(|place, joint| {
                    let id = find_joint(&self.world, &joint);
                    ids.push(id.map_err(|problem| problem.at(format!("joints[{place}]")))?);
                    Ok(())
                })?;
                self.unjoin(&ids)?;
                Ok(json!({}))
            }
            CommandRecord::Mouse { pointer, body, point, target, max_force, hertz, damping_ratio } => {
                let held = self.memory.pointers.get(pointer).and_then(|held| joint_from_text(&held.joint).ok());
                if let Some(joint) = held.filter(|joint| self.world.joint_id(joint.index as usize) == Some(*joint)) {
                    self.world.command_joint(joint, JointCommand::Target((*target).into()))?;
                    return Ok(json!({ "joint": joint.to_string() }));
                }
                self.memory.pointers.remove(pointer);
                let Some(body) = body else {
                    let detail = "the pointer holds nothing, and there is no body to grab";
                    return Err(Problem::invalid(detail).at("body"));
                };
                if self.memory.pointers.len() >= MAX_POINTERS {
                    return Err(Problem::limit(format!("at most {MAX_POINTERS} pointers hold bodies of a world")));
                }
                let id = names.find(&mut self.world, body).map_err(|problem| problem.at("body"))?;
                let grab = ReplayedChange::Grab {
                    body: id.to_string(),
                    point: *point,
                    target: *target,
                    max_force: *max_force,
                    hertz: *hertz,
                    damping_ratio: *damping_ratio,
                };
                let joint = grabbing(*point, *target, *max_force, *hertz, *damping_ratio);
                let made = self.world.add_joints_between(&[(None, id, joint)]).map_err(joint_problem)?;
                let joint = made.first().map(ToString::to_string).unwrap_or_default();
                self.note(grab);
                self.memory.pointers.insert(pointer.clone(), PointerJoint { joint: joint.clone() });
                Ok(json!({ "joint": joint }))
            }
            CommandRecord::Release { pointer } => {
                let Some(held) = self.memory.pointers.remove(pointer) else { return Ok(json!({ "released": false })) };
                let joint = joint_from_text(&held.joint).map_err(Problem::internal)?;
                // The joint may have been removed with its body.
                let there = self.world.joint_id(joint.index as usize) == Some(joint);
                if there {
                    self.unjoin(&[joint])?;
                }
                Ok(json!({ "released": there }))
            }
            // All other commands are plain.
            _ => Err(Problem::internal("unknown command")),
        }
    }

    fn unjoin(&mut self, joints: &[JointId]) -> Result<(), Problem> {
        self.world.remove_joints(joints)?;
        self.note(ReplayedChange::Unjoin { joints: joints.iter().map(ToString::to_string).collect() });
        Ok(())
    }

    fn spawn(&mut self, bodies: &PartList, joints: &PartList, names: &mut Names) -> RequestOutcome {
        let (built, ties) = read_parts(bodies, joints)?;
        let ids = self.world.add_bodies(&built)?;
        let texts: Vec<String> = ids.iter().map(ToString::to_string).collect();
        let ties: Vec<_> = ties.into_iter().filter_map(|joint| between(&ids, joint)).collect();
        if let Err(error) = self.world.add_joints_between(&ties) {
            // All or nothing.
            self.world.remove_bodies(&ids)?;
            self.note(ReplayedChange::Spawn {
                bodies: bodies.clone(),
                joints: PartList::default(),
                ids: texts.clone(),
            });
            self.note(ReplayedChange::Remove { bodies: texts });
            return Err(error.into());
        }
        for (body, id) in built.iter().zip(&ids) {
            names.learn(body.id.as_deref(), *id);
        }
        self.note(ReplayedChange::Spawn { bodies: bodies.clone(), joints: joints.clone(), ids: texts.clone() });
        Ok(json!({ "bodies": texts }))
    }
}

/// Replaces the library's path of a body or joint with that of the command.
fn part_problem(error: WorldError, from: &str, to: &str) -> Problem {
    let problem = Problem::from(error);
    let path = problem.path.as_deref().and_then(|path| path.strip_prefix(from));
    let path = path.map(|rest| format!("{to}{rest}"));
    Problem { path, ..problem }
}

fn joint_problem(error: WorldError) -> Problem {
    part_problem(error, "joints[0]", "joint")
}

fn grabbing(point: [f32; 2], target: [f32; 2], max_force: f32, hertz: f32, damping_ratio: f32) -> Joint {
    let kind = JointKind::Mouse { target: target.into(), max_force };
    Joint {
        id: None,
        a: None,
        b: 0,
        anchor_a: Vec2::ZERO,
        anchor_b: point.into(),
        kind,
        collide: false,
        hertz: Some(hertz),
        damping_ratio: Some(damping_ratio),
        break_force: None,
        break_torque: None,
        enabled: true,
    }
}

/// Returns a joint between new bodies, by their ids.
fn between(ids: &[BodyId], joint: Joint) -> Option<(Option<BodyId>, BodyId, Joint)> {
    let a = match joint.a {
        None => None,
        Some(a) => Some(*ids.get(a)?),
    };
    Some((a, *ids.get(joint.b)?, joint))
}

/// Converts the journal to the library's form.
fn journal(memory: &SessionMemory) -> Result<Journal, String> {
    let detail = |problem: Problem| problem.detail;
    let mut journal = Journal::default();
    if let Some(gravity) = memory.gravity {
        // Only the last value counts, and no table depends on its time.
        journal.push(0, Alteration::Gravity(gravity.into()));
    }
    for ReplayEntry { at, what } in &memory.journal {
        match what {
            ReplayedChange::Spawn { bodies, joints, ids } => {
                let (bodies, ties) = read_parts(bodies, joints).map_err(detail)?;
                let ids: Result<Vec<BodyId>, String> = ids.iter().map(|id| body_from_text(id)).collect();
                let ids = ids?;
                journal.push(*at, Alteration::AddBodies(bodies));
                if !ties.is_empty() {
                    let ties = ties.into_iter().filter_map(|joint| between(&ids, joint)).collect();
                    journal.push(*at, Alteration::AddJointsBetween(ties));
                }
            }
            ReplayedChange::Remove { bodies } => {
                let ids: Result<_, String> = bodies.iter().map(|id| body_from_text(id)).collect();
                journal.push(*at, Alteration::RemoveBodies(ids?));
            }
            ReplayedChange::Replace { body, with } => {
                let built = Box::new(read_body(with).map_err(detail)?);
                journal.push(*at, Alteration::ReplaceBody(body_from_text(body)?, built));
            }
            ReplayedChange::Join { a, b, joint } => {
                let a = a.as_deref().map(body_from_text).transpose()?;
                let joint = read_joint(joint, a.is_none()).map_err(detail)?;
                journal.push(*at, Alteration::AddJointsBetween(vec![(a, body_from_text(b)?, joint)]));
            }
            ReplayedChange::Grab { body, point, target, max_force, hertz, damping_ratio } => {
                let joint = grabbing(*point, *target, *max_force, *hertz, *damping_ratio);
                journal.push(*at, Alteration::AddJointsBetween(vec![(None, body_from_text(body)?, joint)]));
            }
            ReplayedChange::Unjoin { joints } => {
                let ids: Result<_, String> = joints.iter().map(|id| joint_from_text(id)).collect();
                journal.push(*at, Alteration::RemoveJoints(ids?));
            }
        }
    }
    Ok(journal)
}

impl Names {
    fn find(&mut self, world: &mut Hosted, body: &BodySelector) -> Result<BodyId, Problem> {
        let BodySelector::Name(name) = body else { return find_body(world, body) };
        if let Ok(id) = body_from_text(name)
            && world.body_id(id.index as usize) == Some(id)
        {
            return Ok(id);
        }
        let names = self.0.get_or_insert_with(|| {
            let ids = (0_u32..).zip(&world.compiled().ids);
            ids.filter_map(|(slot, id)| Some((id.clone()?, slot))).collect()
        });
        // Removed bodies are not found.
        let slot = names.get(name).map(|&slot| slot as usize);
        let slot = slot.filter(|&slot| world.compiled().ids.get(slot).and_then(Option::as_deref) == Some(name));
        let missing = || Problem::invalid(format!("there is no body {name:?}"));
        slot.and_then(|slot| world.body_id(slot)).ok_or_else(missing)
    }

    fn learn(&mut self, name: Option<&str>, id: BodyId) {
        if let (Some(names), Some(name)) = (&mut self.0, name) {
            names.insert(name.to_owned(), id.index);
        }
    }
}
