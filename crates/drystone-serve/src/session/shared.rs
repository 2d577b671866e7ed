//! Parts of the service that all sessions share, and their messages to the scheduler.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use super::bodies::{Bodies, NoRoom, Reserved};
use crate::config::Config;
use crate::device::Device;
use crate::problem::Problem;
use crate::store::Store;
use crate::writer::Writer;

/// State that all sessions share.
#[derive(Debug)]
pub struct Shared {
    /// Limits and times.
    pub config: Arc<Config>,
    /// Device on which worlds run.
    pub device: Device,
    /// Where they are kept.
    pub store: Arc<Store>,
    /// Writer of logs and checkpoints.
    pub writer: Writer,
    /// Ids of worlds that should have a turn.
    pub pokes: std::sync::mpsc::Sender<Poke>,
    /// Bodies of all worlds, in memory or not.
    pub total: Arc<Bodies>,
    /// Bodies of the worlds in memory.
    pub resident: Bodies,
    /// Worlds that a store behind a network is asked for at this time.
    pub taking: AtomicUsize,
    /// There are several tokens: no owner may have all bodies.
    pub several_tokens: AtomicBool,
}

impl Shared {
    /// Part of a limit of bodies that one owner may have: all of it, or half of it if there are several tokens.
    #[must_use]
    pub fn share(&self, most: usize) -> usize {
        if self.several_tokens.load(Ordering::SeqCst) { (most / 2).max(self.config.limits.bodies) } else { most }
    }

    /// Counts bodies of a world that is to be made, until the result is dropped.
    ///
    /// # Errors
    /// There would be too many: 429.
    pub fn reserve(&self, owner: &str, bodies: usize) -> Result<Reserved, Problem> {
        let most = self.config.limits.total_bodies;
        self.total.reserve(owner, bodies, most, self.share(most)).map_err(|NoRoom { there, most, is_own }| {
            let (of, part) = if is_own { ("this token", "half of ") } else { ("this service", "") };
            let detail = format!(
                "the worlds of {of} have {there} bodies, and the scene has {bodies}; at most {most} \
                 ({part}limits.total_bodies): delete a world"
            );
            Problem::too_many(detail, 60)
        })?;
        Ok(Reserved::new(self.total.clone(), owner, bodies))
    }
}

/// A word to the scheduler.
#[derive(Debug)]
pub enum Poke {
    /// This world should have a turn.
    Turn(String),
    /// A world needs room for so many bodies: idle ones are to be put to disk; those of this owner, if one is named.
    Press(usize, Option<String>),
    /// Another service has taken a world over, and says so.
    Taken(String),
    /// No more of them.
    End,
}

/// When a session wants its next turn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Wake {
    /// At once.
    Now,
    /// Then.
    At(Instant),
    /// When somebody asks.
    Idle,
    /// Never: the world is gone.
    Gone,
}
