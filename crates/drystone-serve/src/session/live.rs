//! World in memory, with the data that its session keeps beside the snapshot. Everything here depends only on the
//! world and the log records, so that a replay gives the same result.

mod commands;
mod replay;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use self::replay::{ReplayEntry, ReplayedChange, journal};
use super::keys::{AnswerIndex, Recent, RecordedAnswer, Spill};
use super::population;
use crate::hosted::Hosted;
use crate::op::{Additions, BodySelector, CommandRecord, RequestKey, body_from_text, find_body};
use crate::problem::Problem;
use crate::store::Store;
use crate::unix_seconds;
use drystone::Event;
use drystone::{BodyId, Scene, WorldError};
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
        let journal = journal(&self.changes, &scene.materials)?;
        Ok(SavedWorld::from_parts(scene, journal, self.state))
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
        let journal = journal(&memory, &self.world.compiled().materials)?;
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
