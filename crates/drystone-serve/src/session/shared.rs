//! State shared by all sessions, and their messages to the scheduler.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use super::bodies::{BodyQuota, NoRoom, ReservedBodies};
use crate::config::Config;
use crate::device::Device;
use crate::problem::Problem;
use crate::store::Store;
use crate::writer::Writer;

/// State shared by all sessions.
#[derive(Debug)]
pub struct Shared {
    /// Configuration.
    pub config: Arc<Config>,
    /// Device of the worlds.
    pub device: Device,
    /// Store of the worlds.
    pub store: Arc<Store>,
    /// Writer of logs and checkpoints.
    pub writer: Writer,
    /// Channel to the scheduler.
    pub pokes: std::sync::mpsc::Sender<Poke>,
    /// Bodies of all worlds, in memory or not.
    pub total: Arc<BodyQuota>,
    /// Bodies of the worlds in memory.
    pub resident: BodyQuota,
    /// Number of worlds being claimed in a store behind a network.
    pub taking: AtomicUsize,
    /// True if there are several tokens: no owner may then have all bodies.
    pub several_tokens: AtomicBool,
}

impl Shared {
    /// Returns the part of a limit on bodies that one owner may have: all of it, or half of it if there are several
    /// tokens.
    #[must_use]
    pub fn share(&self, most: usize) -> usize {
        if self.several_tokens.load(Ordering::SeqCst) { (most / 2).max(self.config.limits.bodies) } else { most }
    }

    /// Counts bodies of a world that is being created, until the result is dropped.
    ///
    /// # Errors
    /// A limit would be exceeded: 429.
    pub fn reserve(&self, owner: &str, bodies: usize) -> Result<ReservedBodies, Problem> {
        let most = self.config.limits.total_bodies;
        self.total.reserve(owner, bodies, most, self.share(most)).map_err(|NoRoom { there, most, is_own }| {
            let (of, part) = if is_own { ("this token", "half of ") } else { ("this service", "") };
            let detail = format!(
                "the worlds of {of} have {there} bodies, and the scene has {bodies}; at most {most} \
                 ({part}limits.total_bodies): delete a world"
            );
            Problem::too_many(detail, 60)
        })?;
        Ok(ReservedBodies::new(self.total.clone(), owner, bodies))
    }
}

/// Message to the scheduler.
#[derive(Debug)]
pub enum Poke {
    /// Gives the world a time slice.
    Turn(String),
    /// Makes room for that many bodies by writing idle worlds to disk; only worlds of the owner, if one is given.
    Press(usize, Option<String>),
    /// Reports that another service has fenced this one.
    Taken(String),
    /// Ends the receiver.
    End,
}

/// Time at which a session wants its next time slice.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NextWake {
    /// Immediately.
    Now,
    /// At that time.
    At(Instant),
    /// After the next request.
    Idle,
    /// Never: the world is deleted.
    Gone,
}
