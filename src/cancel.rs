//! Giving up a step: a token that another thread sets, and what a world remembers of it and of its limit of contacts.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::world::WorldError;

/// A request to give up a step, which any thread may make.
///
/// ```
/// use drystone::low_level::CpuWorld;
/// use drystone::{Body, CancelToken, Scene, Shape, WorldError};
///
/// let mut scene = Scene::new("drop");
/// scene.add(Body::dynamic(0.0, 4.0).shape(Shape::circle(0.5)));
/// let mut world = CpuWorld::new(&scene)?;
/// let start = world.snapshot();
///
/// let token = CancelToken::default();
/// world.set_cancel_token(token.clone());
/// std::thread::spawn(move || token.cancel()).join().unwrap();
/// assert!(matches!(world.step(), Err(WorldError::Cancelled)));
///
/// // A world that has given up goes on from a snapshot.
/// world.set_cancel_token(CancelToken::default());
/// assert!(matches!(world.step(), Err(WorldError::Cancelled)));
/// world.restore(&start)?;
/// world.step()?;
/// # Ok::<(), WorldError>(())
/// ```
///
/// Clones are one token. A step on the CPU looks at it after every pass over the bodies, contacts or joints, and more
/// often where a pass is long: within 100 ms. On the GPU it is looked at before a step is recorded and while the world waits
/// for the device; what was submitted runs to its end there. A long step in strict mode is submitted in batches of about
/// 10 ms, two of them at a time.
#[derive(Clone, Debug, Default)]
pub struct CancelToken(Arc<AtomicBool>);

impl CancelToken {
    /// Asks every world with this token to give up its step.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Returns whether it was cancelled and not reset since.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Makes it as new. Worlds that gave up a step meanwhile still need a snapshot to go on from.
    pub fn reset(&self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// Smallest limit of contacts of a world of which the user sets none.
const MIN_DEFAULT_CONTACTS: usize = 1 << 20;
/// Contacts a shape in the limit of a larger world: the densest pile of circles has 3, of boxes that overlap 8.
const DEFAULT_CONTACTS_PER_SHAPE: usize = 32;
/// Contacts that any world may have: so many colouring can tell apart ([`crate::stages::color::claim_key`]).
const MAX_CONTACTS: usize = 1 << 27;

/// A token, and whether the world has seen it cancelled: from then on the step is given up, also if the token is reset
/// meanwhile, as parts of the step have been left out.
///
/// Every thread reads it all the time, so it has its cache lines to itself: beside it lie the counts of the `Arc`, which are
/// written whenever the threads of a stage are handed on.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Latch {
    token: CancelToken,
    gave_up: AtomicBool,
}

impl Latch {
    /// Returns whether the step is to be given up. Once it is, it stays so.
    pub fn is_cancelled(&self) -> bool {
        let cancelled = self.token.is_cancelled();
        if cancelled {
            self.gave_up.store(true, Ordering::Relaxed);
        }
        cancelled || self.has_given_up()
    }

    /// Returns whether a step was given up.
    pub fn has_given_up(&self) -> bool {
        self.gave_up.load(Ordering::Relaxed)
    }
}

/// The bounds of a world's steps: its token, whether it has given up, and its limit of contacts.
#[derive(Debug, Default)]
pub(crate) struct StepLimits {
    latch: Arc<Latch>,
    /// `None` for the default, which grows with the world.
    contacts: Option<usize>,
}

impl Clone for StepLimits {
    /// The same token and limit for another world, which has not given up.
    fn clone(&self) -> Self {
        let mut limits = Self { contacts: self.contacts, ..Self::default() };
        limits.set_token(self.latch.token.clone());
        limits
    }
}

impl StepLimits {
    /// Changes the token, between two steps.
    pub fn set_token(&mut self, token: CancelToken) {
        self.latch = Arc::new(Latch { token, gave_up: AtomicBool::new(self.has_given_up()) });
    }

    /// Returns the latch that the loops of a step check.
    pub fn latch(&self) -> &Arc<Latch> {
        &self.latch
    }

    /// Refuses to go on with a step that is given up or is to be.
    pub fn check(&self) -> Result<(), WorldError> {
        if self.latch.is_cancelled() { Err(WorldError::Cancelled) } else { Ok(()) }
    }

    /// Returns whether a step was given up since a snapshot was loaded.
    pub fn has_given_up(&self) -> bool {
        self.latch.has_given_up()
    }

    /// Remembers that a step was given up, as another world of the same dispatches was.
    pub fn give_up(&self) {
        self.latch.gave_up.store(true, Ordering::Relaxed);
    }

    /// Makes the world usable: it continues from a snapshot.
    pub fn revive(&self) {
        self.latch.gave_up.store(false, Ordering::Relaxed);
    }

    pub fn set_contacts(&mut self, limit: usize) {
        self.contacts = Some(limit);
    }

    /// Contacts that a step of a world of so many shapes may have.
    pub fn contacts(&self, shapes: usize) -> usize {
        let default = || MIN_DEFAULT_CONTACTS.max(DEFAULT_CONTACTS_PER_SHAPE.saturating_mul(shapes));
        self.contacts.unwrap_or_else(default).min(MAX_CONTACTS)
    }
}

/// The search for pairs found more than it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooMany {
    /// Pairs that were found until the search was given up.
    pub found: usize,
}

/// Pairs that are allowed in one search, which several threads share. It ends early where there are more, or the step is
/// given up; whether there are more does not depend on the threads.
#[derive(Debug)]
pub(crate) struct ContactBudget<'a> {
    latch: Option<&'a Latch>,
    limit: usize,
    found: AtomicUsize,
}

impl<'a> ContactBudget<'a> {
    pub fn new(latch: Option<&'a Latch>, limit: usize) -> Self {
        Self { latch, limit, found: AtomicUsize::new(0) }
    }

    /// Adds pairs that were found. Returns false if the search is to end.
    pub fn add(&self, found: usize) -> bool {
        let before = if found == 0 { self.found() } else { self.found.fetch_add(found, Ordering::Relaxed) };
        before.saturating_add(found) <= self.limit && self.goes_on()
    }

    /// Returns whether the step is not given up.
    pub fn goes_on(&self) -> bool {
        self.latch.is_none_or(|latch| !latch.is_cancelled())
    }

    pub fn found(&self) -> usize {
        self.found.load(Ordering::Relaxed)
    }

    /// Returns the result of the search, once all threads have added the pairs that they found.
    ///
    /// # Errors
    /// If more were found than are allowed.
    pub fn outcome(&self) -> Result<(), TooMany> {
        let found = self.found();
        if found > self.limit { Err(TooMany { found }) } else { Ok(()) }
    }
}

/// Pairs that one thread has yet to add to a [`ContactBudget`]: it does so now and then, as others write there as well.
#[derive(Debug)]
pub(crate) struct Tally<'b, 'a> {
    budget: &'b ContactBudget<'a>,
    added: usize,
    calls: u32,
}

/// Pairs that a thread keeps to itself, at most.
const UNTOLD: usize = 4096;
/// Calls of [`Tally::goes_on`] after which it looks whether the step is given up.
const CALLS: u32 = 64;

impl<'b, 'a> Tally<'b, 'a> {
    pub fn new(budget: &'b ContactBudget<'a>) -> Self {
        Self { budget, added: 0, calls: 0 }
    }

    /// Learns that the thread has found so many in all. Returns false if the search is to end.
    #[inline]
    pub fn goes_on(&mut self, found: usize) -> bool {
        if found - self.added >= UNTOLD {
            return self.tell(found);
        }
        self.calls = self.calls.wrapping_add(1);
        !self.calls.is_multiple_of(CALLS) || self.budget.goes_on()
    }

    /// As [`Self::goes_on`], and adds all of them now.
    #[cold]
    pub fn tell(&mut self, found: usize) -> bool {
        let more = found - self.added;
        self.added = found;
        self.budget.add(more)
    }
}
