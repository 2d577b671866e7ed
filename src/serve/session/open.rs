//! From what is stored of a world to the world.

use std::collections::VecDeque;
use std::io;

use super::live::{Live, Memory};
use super::{Facts, Shared};
use crate::WorldError;
use crate::scene::Scene;
use crate::scene::file;
use crate::serve::op::Record;
use crate::serve::problem::Problem;
use crate::serve::store::{Trouble, WORLD, checkpoint_name};

/// A world as its newest whole checkpoint has it, and what is to be gone through from there.
pub(crate) struct Opened {
    /// The world.
    pub live: Box<Live>,
    /// What was asked since.
    pub records: VecDeque<Record>,
    /// The log that goes on.
    pub log: u64,
    /// The checkpoint that was read; 0 is the scene.
    pub good: u64,
}

/// Why there is none.
pub enum OpenError {
    /// The device of this generation is lost.
    Device(String, u64),
    /// The store does not answer.
    Away(Box<Problem>),
    /// Anything else, which will not go away.
    Problem(Box<Problem>),
}

impl From<Problem> for OpenError {
    fn from(problem: Problem) -> Self {
        Self::Problem(Box::new(problem))
    }
}

/// Reads what never changes of a world.
///
/// # Errors
/// If it cannot be read.
pub fn facts(bytes: &[u8]) -> io::Result<Facts> {
    serde_json::from_slice(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))
}

/// Opens a world; `apart` from others even if it is small.
///
/// # Errors
/// If nothing whole is left of it, or the device is lost.
pub(crate) fn open(shared: &Shared, id: &str, apart: bool) -> Result<Opened, OpenError> {
    let store = &shared.store;
    let damaged = |error: &dyn std::fmt::Display| OpenError::from(Problem::damaged(error.to_string()));
    let unread = |error: io::Error| match Trouble::of(&error) {
        Some(_) => OpenError::Away(Box::new(Problem::of_store(&error))),
        None => damaged(&error),
    };
    let (_, text) = store.read(id, WORLD).map_err(unread)?;
    let text = String::from_utf8(text).map_err(|error| damaged(&error))?;
    let scene = file::parse(&text, "scene.json").map_err(|error| damaged(&error))?;
    drop(text);
    let listing = store.list(id).map_err(unread)?;
    let newest = listing.logs.iter().chain(&listing.checkpoints).max().copied().unwrap_or(0);
    // The scene itself is where the first log begins, as long as that is kept.
    let base = listing.checkpoints.iter().all(|&number| number < 2).then_some(0);
    let candidates = listing.checkpoints.iter().rev().copied().chain(base);
    let mut problems = Vec::new();
    for number in candidates {
        let (world, device) = shared.device.world(&scene, apart).map_err(|error| failed(shared, error))?;
        let mut live = Box::new(Live::new(world, device, shared.config.limits.events));
        if number > 0 {
            match load(shared, id, number, &mut live) {
                Ok(()) => {}
                Err(LoadError::Device(error)) => return Err(OpenError::Device(error, device)),
                Err(LoadError::Away(problem)) => return Err(OpenError::Away(problem)),
                Err(LoadError::Damaged(error)) => {
                    tracing::error!(
                        world = id,
                        checkpoint = number,
                        error,
                        "a checkpoint is damaged, an older one is used"
                    );
                    metrics::counter!("drystone_checkpoints_damaged_total").increment(1);
                    problems.push(error);
                    continue;
                }
            }
        }
        let mut records = VecDeque::new();
        for log in number..=newest {
            for record in store.records(id, log).map_err(unread)? {
                let record: Record = serde_json::from_slice(&record).map_err(|error| damaged(&error))?;
                records.push_back(record);
            }
        }
        return Ok(Opened { live, records, log: newest, good: number });
    }
    Err(Problem::damaged(format!("no checkpoint of world {id} is whole: {}", problems.join("; "))).into())
}

enum LoadError {
    Device(String),
    Away(Box<Problem>),
    Damaged(String),
}

fn load(shared: &Shared, id: &str, number: u64, live: &mut Live) -> Result<(), LoadError> {
    let read = shared.store.read(id, &checkpoint_name(number));
    let (memory, snapshot) = read.map_err(|error| match Trouble::of(&error) {
        Some(_) => LoadError::Away(Box::new(Problem::of_store(&error))),
        None => LoadError::Damaged(error.to_string()),
    })?;
    let memory: Memory = serde_json::from_slice(&memory).map_err(|error| LoadError::Damaged(error.to_string()))?;
    live.load(memory, &snapshot).map_err(|error| {
        let lost = live.world.check_device().is_err();
        if lost { LoadError::Device(error) } else { LoadError::Damaged(error) }
    })
}

fn failed(shared: &Shared, error: WorldError) -> OpenError {
    match error {
        WorldError::Device(error) => OpenError::Device(error.to_string(), shared.device.generation()),
        error => Problem::from(error).into(),
    }
}

/// Whether a world can be made of a scene, within the limits. The device is not asked.
///
/// # Errors
/// What is beyond.
pub fn check_limits(scene: &Scene, shared: &Shared) -> Result<(), Problem> {
    let limits = &shared.config.limits;
    let bodies = scene.most_bodies();
    if bodies > limits.bodies {
        let detail = format!("the scene has {bodies} bodies; at most {} in a world of this service", limits.bodies);
        return Err(Problem::limit(detail).at("bodies"));
    }
    let joints = scene.joints.len();
    if joints > limits.joints {
        let detail = format!("the scene has {joints} joints; at most {} in a world of this service", limits.joints);
        return Err(Problem::limit(detail).at("joints"));
    }
    Ok(())
}
