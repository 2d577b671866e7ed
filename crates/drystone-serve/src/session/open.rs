//! Opening of a world from the store: its newest intact checkpoint and the log records after it; also the limits on
//! scenes.

use std::collections::VecDeque;
use std::io;

use super::keep::read_first_part;
use super::live::Live;
use super::{ReservedBodies, Shared, WorldFacts};
use crate::config::Limits;
use crate::op::LogRecord;
use crate::problem::Problem;
use crate::store::{Listing, LogEnd, LogHead, Store, Tail, Trouble, WORLD, checkpoint_name, closing, log_name};
use drystone::Scene;
use drystone::low_level::scene::Compiled;
use drystone::{Snapshot, WorldError};
use drystone_scenes::file;

/// Value of `other_build` that refuses to replay the log of another build.
pub(crate) const OTHER_REFUSE: &str = "refuse";

/// World as of a checkpoint, with the records to replay.
pub(crate) struct CheckpointedWorld {
    /// The world.
    pub live: Box<Live>,
    /// Records since the checkpoint.
    pub records: VecDeque<LogRecord>,
    /// Position of the next record.
    pub log: LogEnd,
    /// Number of the checkpoint; 0 is the scene.
    pub good: u64,
    /// Checkpoints that are obsolete once the world has been rewound to `until`.
    pub needless: Vec<u64>,
    /// True if the log has records of another build.
    pub others: bool,
}

/// Reason why a world cannot be opened.
pub enum OpenError {
    /// The device of this generation is lost.
    Device(String, u64),
    /// The store does not answer.
    Away(Box<Problem>),
    /// Any other problem, which is permanent.
    Problem(Box<Problem>),
}

impl From<Problem> for OpenError {
    fn from(problem: Problem) -> Self {
        Self::Problem(Box::new(problem))
    }
}

/// Parses the constant properties of a world.
///
/// # Errors
/// They cannot be parsed.
pub fn facts(bytes: &[u8]) -> io::Result<WorldFacts> {
    serde_json::from_slice(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))
}

/// Opens a world, outside of a pool if `apart` is set. With `until`, the world is opened for its state after that
/// many steps: later records are left out, though they stay in the log.
///
/// # Errors
/// Nothing intact is left of it, `until` is too far back, or the device is lost.
pub(crate) fn open(shared: &Shared, id: &str, apart: bool, until: Option<u64>) -> Result<CheckpointedWorld, OpenError> {
    let store = &shared.store;
    let damaged = |error: &dyn std::fmt::Display| OpenError::from(Problem::damaged(error.to_string()));
    let unread = |error: io::Error| match Trouble::of(&error) {
        Some(_) => OpenError::Away(Box::new(Problem::of_store(&error))),
        None => damaged(&error),
    };
    let listing = store.list(id).map_err(unread)?;
    store.settle(id, listing.logs.last().copied()).map_err(|error| match error.kind() {
        io::ErrorKind::InvalidData | io::ErrorKind::NotFound => unread(error),
        // A retry may succeed.
        _ => OpenError::Away(Box::new(Problem::away(error.to_string()))),
    })?;
    let (version, _, text) = store.read_versioned(id, WORLD).map_err(unread)?;
    let text = String::from_utf8(text).map_err(|error| damaged(&error))?;
    let scene = file::parse(&text, "scene.json").map_err(|error| damaged(&error))?;
    drop(text);
    // The scene itself is the start of the first log, as long as that log is kept.
    let is_kept = match until {
        None => listing.checkpoints.iter().all(|&number| number < 2),
        Some(_) => listing.logs.contains(&0),
    };
    let base = is_kept.then_some(0);
    // Earliest step of the kept history.
    let mut earliest = None;
    let mut needless = Vec::new();
    let candidates = listing.checkpoints.iter().rev().copied().chain(base);
    let mut problems = Vec::new();
    for number in candidates {
        let (world, device) = shared.device.world(&scene, apart).map_err(|error| failed(shared, error))?;
        let mut live = Box::new(Live::new(world, device, shared.config.limits.events));
        // The start of a world is not a checkpoint, so it has no header.
        let mut head = (version > 1).then(|| store.first_head(id));
        if number > 0 {
            match load(shared, id, number, until, &mut live) {
                Ok(found) => head = found,
                Err(LoadError::Later(step, head)) => {
                    if head.as_ref().is_some_and(|head| is_log_due(store, head) && !listing.logs.contains(&number)) {
                        continue;
                    }
                    earliest = Some(earliest.map_or(step, |earliest: u64| earliest.min(step)));
                    needless.push(number);
                    if head.is_none_or(|head| head.restored && !head.rewound) {
                        break;
                    }
                    continue;
                }
                // Earlier checkpoints are not known to belong to its history.
                Err(LoadError::Damaged(_)) if until.is_some() => break,
                Err(LoadError::Device(error)) => return Err(OpenError::Device(error, device)),
                Err(LoadError::Away(problem)) => return Err(OpenError::Away(problem)),
                Err(LoadError::Damaged(error)) => {
                    tracing::error!(
                        world = id,
                        checkpoint = number,
                        error,
                        "a checkpoint is damaged; using an older one"
                    );
                    metrics::counter!("drystone_checkpoints_damaged_total").increment(1);
                    problems.push(error);
                    continue;
                }
            }
        }
        // Some answers may be in files and in memory: the last one written is the same.
        live.open_keys(store, id, &listing.keys).map_err(unread)?;
        let (records, step) = (VecDeque::new(), live.world.steps());
        let mut trail = Trail { store, id, listing: &listing, until, step, records, others: Vec::new() };
        let end = match trail.follow(number, head.as_ref()) {
            Ok(end) => end,
            Err(TrailError::Uncommitted | TrailError::Forgotten) => continue,
            Err(TrailError::Store(error)) => {
                problems.push(error.to_string());
                return Err(match Trouble::of(&error) {
                    Some(_) => unread(error),
                    None => damaged(&problems.join("; ")),
                });
            }
        };
        let Trail { mut records, others, .. } = trail;
        if let Some(until) = until {
            records.retain(|record| record.at <= until);
        }
        check_build(shared, id, &others)?;
        if head.is_some_and(|head| head.rewound) && (is_kept || listing.checkpoints.first() < Some(&number)) {
            // An older checkpoint does as well, with its logs.
            needless.push(number);
        }
        return Ok(CheckpointedWorld { live, records, log: end, good: number, needless, others: !others.is_empty() });
    }
    if let Some(until) = until {
        let remedy = match earliest {
            Some(earliest) => format!("the earliest step is {earliest}"),
            None => "the world cannot be rewound".to_owned(),
        };
        return Err(Problem::invalid(format!("step {until} is no longer available: {remedy}")).at("steps").into());
    }
    if problems.is_empty() {
        problems.push("there is none".to_owned());
    }
    Err(Problem::damaged(format!("no checkpoint of world {id} is intact: {}", problems.join("; "))).into())
}

/// Warns, or refuses, if records of another build would be replayed: the result may differ in bits.
fn check_build(shared: &Shared, id: &str, others: &[(u64, String)]) -> Result<(), OpenError> {
    let Some((log, build)) = others.last() else { return Ok(()) };
    let own = shared.store.build();
    metrics::counter!("drystone_replays_of_other_builds_total").increment(1);
    if shared.config.other_build == OTHER_REFUSE {
        let detail = format!(
            "{} of world {id} was written by {build}, this is {own}: start that build once more and stop it with \
             SIGTERM, which leaves nothing to replay; or set other_build = \"warn\"",
            log_name(*log)
        );
        return Err(Problem::other_build(detail).into());
    }
    tracing::warn!(
        world = id,
        log,
        build,
        own,
        "the log of another build is replayed: the bits of the result may differ. SIGTERM before an upgrade leaves \
         nothing to replay"
    );
    Ok(())
}

enum LoadError {
    Device(String),
    Away(Box<Problem>),
    Damaged(String),
    /// The checkpoint is of a later step. With its header.
    Later(u64, Option<LogHead>),
}

/// Loads a checkpoint. Returns its header; version 1 has none.
fn load(
    shared: &Shared,
    id: &str,
    number: u64,
    until: Option<u64>,
    live: &mut Live,
) -> Result<Option<LogHead>, LoadError> {
    let name = checkpoint_name(number);
    let read = shared.store.read(id, &name);
    let (first, snapshot) = read.map_err(|error| match Trouble::of(&error) {
        Some(_) => LoadError::Away(Box::new(Problem::of_store(&error))),
        None => LoadError::Damaged(error.to_string()),
    })?;
    let damaged = |error: String| LoadError::Damaged(format!("{name} of world {id}: {error}"));
    let (head, memory) = read_first_part(&first).map_err(damaged)?;
    if let Some(head) = head.as_ref().filter(|head| head.world != id || head.log != number) {
        return Err(damaged(format!("it is {} of world {}", checkpoint_name(head.log), head.world)));
    }
    let step = Snapshot::step_of(&snapshot).map_err(|error| damaged(error.to_string()))?;
    if until.is_some_and(|until| step > until) {
        return Err(LoadError::Later(step, head));
    }
    live.load(memory, &snapshot).map_err(|error| {
        let lost = live.world.check_device().is_err();
        if lost { LoadError::Device(error) } else { damaged(error) }
    })?;
    Ok(head)
}

/// Returns true for a checkpoint that counts only once its log exists: one that was restored or rewound to. In a
/// store behind a network a restored one counts immediately, because logs begin with their first records there.
fn is_log_due(store: &Store, head: &LogHead) -> bool {
    head.restored && (head.rewound || !store.is_remote())
}

/// Reason why the logs since a checkpoint cannot be replayed.
enum TrailError {
    /// The checkpoint does not count: its log, which would complete the restore, was never begun.
    Uncommitted,
    /// The world was rewound to a step before the checkpoint's.
    Forgotten,
    /// A log is missing, damaged, or unreadable at the moment.
    Store(io::Error),
}

impl From<io::Error> for TrailError {
    fn from(error: io::Error) -> Self {
        Self::Store(error)
    }
}

/// Reader of a world's successive logs.
struct Trail<'a> {
    store: &'a Store,
    id: &'a str,
    listing: &'a Listing,
    /// Wanted step, if not the last.
    until: Option<u64>,
    /// Step of the checkpoint.
    step: u64,
    records: VecDeque<LogRecord>,
    /// Logs with records of another build, and that build.
    others: Vec<(u64, String)>,
}

impl Trail<'_> {
    fn damaged(&self, what: &str) -> TrailError {
        let detail = format!("world {}: {what}", self.id);
        io::Error::new(io::ErrorKind::InvalidData, detail).into()
    }

    fn missing(&self, log: u64, why: &str) -> TrailError {
        let detail = format!("{} of world {} is missing, {why}: what was acknowledged is lost", log_name(log), self.id);
        io::Error::new(io::ErrorKind::InvalidData, detail).into()
    }

    /// Collects the records since a checkpoint; `head` is None in version 1. Returns the position of the next
    /// record.
    fn follow(&mut self, base: u64, head: Option<&LogHead>) -> Result<LogEnd, TrailError> {
        let remote = self.store.is_remote();
        let mut number = base;
        let mut last = head.and_then(|head| head.before);
        // Log that names this one as its successor.
        let mut from: Option<u64> = None;
        loop {
            let next = self.listing.logs.iter().copied().find(|log| *log > number);
            let Some(log) = self.store.log(self.id, number)? else {
                // A log names it, or its checkpoint was written after it.
                match (from, head) {
                    (Some(from), _) => return Err(self.missing(number, &format!("which {} names", log_name(from)))),
                    (None, Some(head)) if is_log_due(self.store, head) => return Err(TrailError::Uncommitted),
                    (None, Some(_)) if !remote && base == 0 => {
                        return Err(self.missing(number, "which the world began with, and there is no checkpoint"));
                    }
                    (None, Some(_)) if !remote => {
                        return Err(self.missing(number, &format!("which {} began with", checkpoint_name(base))));
                    }
                    _ => {}
                }
                let Some(next) = next else {
                    return match head.filter(|_| number == base) {
                        // It begins with its first records.
                        Some(head) if head.build == self.store.build() => Ok(LogEnd::new(head.clone())?),
                        Some(_) => Ok(LogEnd::new(LogHead { before: last, ..self.fresh(number + 1) })?),
                        None => Ok(LogEnd::new(LogHead { before: last, ..self.fresh(number) })?),
                    };
                };
                last = last.or(Some(Tail { log: number, ..Tail::default() }));
                number = next;
                continue;
            };
            let is_base = number == base;
            match (&log.head, head) {
                (Some(found), Some(head)) if is_base && base > 0 && found != head => {
                    let detail = format!("{} and {} do not belong together", checkpoint_name(base), log_name(number));
                    return if head.restored { Err(TrailError::Uncommitted) } else { Err(self.damaged(&detail)) };
                }
                (None, Some(_)) if !remote || log.tail.bytes > 0 => {
                    return Err(self.damaged(&format!("{} has no head, it is damaged or cut off", log_name(number))));
                }
                (Some(found), _) if !is_base && found.rewound && self.until.is_some() => {
                    // Earlier steps belong to its history, later ones are discarded.
                    if found.step < self.step {
                        return Err(TrailError::Forgotten);
                    }
                    self.records.retain(|record| record.at <= found.step);
                }
                (Some(found), _) if !is_base => self.check_before(found, last)?,
                _ => {}
            }
            if !log.records.is_empty() {
                let build = log.head.as_ref().map_or("a version without build ids", |head| &head.build);
                if build != self.store.build() {
                    self.others.push((number, build.to_owned()));
                }
            }
            for record in &log.records {
                let record: LogRecord = serde_json::from_slice(record).map_err(|error| {
                    let detail = format!("{} of world {}: {error}", log_name(number), self.id);
                    io::Error::new(io::ErrorKind::InvalidData, detail)
                })?;
                self.records.push_back(record);
            }
            match (log.next, next) {
                (Some(named), _) if next != Some(named) => {
                    return Err(self.missing(named, &format!("which {} names", log_name(number))));
                }
                (None, Some(next)) if log.head.is_some() && !remote => {
                    // The service ended after the next log had begun and before this one was closed.
                    let sealed =
                        closing(self.id, log.tail, next).and_then(|closing| self.store.seal(self.id, &closing));
                    if let Err(error) = sealed {
                        tracing::warn!(world = self.id, log = number, %error, "a log could not be closed");
                    }
                }
                _ => {}
            }
            let Some(next) = next else {
                let own = log.head.as_ref().is_some_and(|head| head.build == self.store.build());
                return match LogEnd::of(&log).filter(|_| own) {
                    Some(end) => Ok(end),
                    // A log of another build, or of version 1, takes no more records.
                    None => Ok(LogEnd::new(LogHead { before: Some(log.tail), ..self.fresh(number + 1) })?),
                };
            };
            from = log.next.map(|_| number);
            last = Some(log.tail);
            number = next;
        }
    }

    /// Returns the header of a new log of this build. Its number is at least that of the newest checkpoint, so that no
    /// later checkpoint takes the number of an existing one, which may be damaged.
    fn fresh(&self, log: u64) -> LogHead {
        let most = self.listing.checkpoints.last().copied().unwrap_or(0);
        let step = self.records.back().map_or(0, |record| record.at);
        LogHead { log: log.max(most), step, ..self.store.first_head(self.id) }
    }

    /// Checks that a log continues where the previous one ended.
    fn check_before(&self, head: &LogHead, last: Option<Tail>) -> Result<(), TrailError> {
        let name = log_name(head.log);
        if head.restored {
            let detail = format!(
                "{name} goes on from {}, to which the world was restored and which is missing or damaged",
                checkpoint_name(head.log)
            );
            return Err(self.damaged(&detail));
        }
        // Follows a log of version 1 that was never written.
        let unknown = head.before.is_none() && last.is_none_or(|last| !last.is_headed);
        if head.before == last || unknown {
            return Ok(());
        }
        let say = |tail: Option<Tail>| match tail {
            None => "nothing".to_owned(),
            Some(tail) => {
                format!("{} records, {} bytes, CRC {:08x} of {}", tail.rows, tail.bytes, tail.crc, log_name(tail.log))
            }
        };
        let (expected, found) = (say(head.before), say(last));
        Err(self
            .damaged(&format!("{name} was begun after {expected}; there is {found}. What was acknowledged is missing")))
    }
}

fn failed(shared: &Shared, error: WorldError) -> OpenError {
    match error {
        WorldError::Device(error) => OpenError::Device(error.to_string(), shared.device.generation()),
        error => Problem::from(error).into(),
    }
}

/// Returns the work of a step: parts × substeps × iterations.
#[must_use]
pub fn step_work(parts: usize, substeps: u32, iterations: u32) -> u64 {
    (parts as u64).saturating_mul(u64::from(substeps.max(1))).saturating_mul(u64::from(iterations.max(1)))
}

/// Number of contacts always allowed, independent of their work.
const MIN_CONTACTS: usize = 1024;
/// Number of contacts whose work roughly equals that of a body.
const CONTACTS_A_BODY: u64 = 4;

/// Returns the largest number of contacts of a world, whose work counts like that of bodies.
#[must_use]
pub fn contact_limit(compiled: &Compiled, limits: &Limits) -> usize {
    let settings = &compiled.settings;
    let each = step_work(1, settings.substep_count(), settings.iteration_count());
    let most = usize::try_from(limits.step_work.saturating_mul(CONTACTS_A_BODY) / each).unwrap_or(usize::MAX);
    limits.contacts.min(most.max(MIN_CONTACTS))
}

/// Returns the configuration key from which a limit of contacts comes.
#[must_use]
pub fn contact_key(limit: usize, limits: &Limits) -> &'static str {
    if limit == limits.contacts { "limits.contacts" } else { "limits.step_work" }
}

/// Checks the work of a step of a world with that many bodies (or shapes) and joints.
///
/// # Errors
/// The work exceeds `limits.step_work`.
pub fn check_work(parts: usize, substeps: u32, iterations: u32, shared: &Shared) -> Result<(), Problem> {
    let (work, most) = (step_work(parts, substeps, iterations), shared.config.limits.step_work);
    if work <= most {
        return Ok(());
    }
    Err(Problem::limit(format!(
        "a step would take about {work} units of work: {parts} bodies (or shapes) and joints × {substeps} substeps × \
         {iterations} iterations; at most {most} (limits.step_work)"
    )))
}

/// Checks that a scene is within the limits, without asking the device. Its bodies count among those of all worlds
/// until the result is dropped, or longer if the world has been added by then.
///
/// # Errors
/// The first exceeded limit.
pub fn check_limits(scene: &Scene, shared: &Shared, owner: &str) -> Result<ReservedBodies, Problem> {
    let limits = &shared.config.limits;
    let bodies = scene.most_parts().bodies;
    if bodies > limits.bodies {
        let detail = format!("the scene has {bodies} bodies; at most {} in a world of this service", limits.bodies);
        return Err(Problem::limit(detail).at("bodies"));
    }
    let shapes = scene.most_parts().shapes;
    if shapes > limits.shapes {
        let most = limits.shapes;
        let detail =
            format!("the scene has {shapes} shapes; at most {most} in a world of this service (limits.shapes)");
        return Err(Problem::limit(detail).at("bodies"));
    }
    let joints = scene.joints.len();
    if joints > limits.joints {
        let detail = format!("the scene has {joints} joints; at most {} in a world of this service", limits.joints);
        return Err(Problem::limit(detail).at("joints"));
    }
    let shapes: usize = scene.bodies.iter().map(|body| body.shapes.len()).sum();
    let settings = &scene.settings;
    check_work(bodies.max(shapes) + joints, settings.substep_count(), settings.iteration_count(), shared)
        .map_err(|problem| problem.at("settings"))?;
    shared.reserve(owner, bodies)
}
