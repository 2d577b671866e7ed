//! Limits on a step: a token with which another thread cancels it, and a maximum number of contacts.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// A token by which any thread can cancel the steps of a world.
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
/// // A world whose step was cancelled continues from a snapshot.
/// world.set_cancel_token(CancelToken::default());
/// assert!(matches!(world.step(), Err(WorldError::Cancelled)));
/// world.restore(&start)?;
/// world.step()?;
/// # Ok::<(), WorldError>(())
/// ```
///
/// Clones share one flag. A step on the CPU reads it after every pass over the bodies, contacts or joints, and more
/// often where a pass is long: within 100 ms. On the GPU it is read before a step is recorded and while the world waits
/// for the device; submitted work runs to its end. A long step in strict mode is submitted in batches of about 10 ms,
/// two of them at a time.
#[derive(Clone, Debug, Default)]
pub struct CancelToken(Arc<AtomicBool>);

impl CancelToken {
    /// Asks every world with this token to end its step early.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Returns true if the token was cancelled and not reset since.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Clears the flag. Worlds that gave up a step meanwhile still need a snapshot to continue from.
    pub fn reset(&self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// Smallest default limit of contacts of a world.
const MIN_DEFAULT_CONTACTS: usize = 1 << 20;
/// Contacts a shape in the default limit of a larger world: the densest pile of circles has 3, of boxes that overlap 8.
const DEFAULT_CONTACTS_PER_SHAPE: usize = 32;
/// Most contacts of any world: the number that colouring can tell apart ([`crate::stages::color::claim_key`]).
const MAX_CONTACTS: usize = 1 << 27;

/// A token, and a flag that stays set once the world has seen it cancelled: from then on the step is given up, also if
/// the token is reset meanwhile, as parts of the step have been left out.
///
/// Every thread reads it all the time, so it has cache lines of its own: beside it lie the counts of the `Arc`, which
/// are written whenever the threads of a stage are cloned.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Latch {
    token: CancelToken,
    gave_up: AtomicBool,
}

impl Latch {
    /// Returns true if the step is to be given up; from then on always.
    pub fn is_cancelled(&self) -> bool {
        let cancelled = self.token.is_cancelled();
        if cancelled {
            self.gave_up.store(true, Ordering::Relaxed);
        }
        cancelled || self.has_given_up()
    }

    /// Returns true if a step was given up.
    pub fn has_given_up(&self) -> bool {
        self.gave_up.load(Ordering::Relaxed)
    }
}

/// Error of a step that is given up, or of a world whose step was.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cancelled;

/// The bounds of a world's steps: its token, whether it has given up, and its limit of contacts.
#[derive(Debug, Default)]
pub(crate) struct StepLimits {
    latch: Arc<Latch>,
    /// `None` for the default, which grows with the world.
    contacts: Option<usize>,
}

impl Clone for StepLimits {
    /// Returns limits with this token and limit for another world, which has not given up a step.
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

    /// Checks that no step is given up or to be given up.
    pub fn check(&self) -> Result<(), Cancelled> {
        if self.latch.is_cancelled() { Err(Cancelled) } else { Ok(()) }
    }

    /// Returns true if a step was given up since a snapshot was last restored.
    pub fn has_given_up(&self) -> bool {
        self.latch.has_given_up()
    }

    /// Marks the step as given up, because another world of the same dispatches was.
    pub fn give_up(&self) {
        self.latch.gave_up.store(true, Ordering::Relaxed);
    }

    /// Clears the mark: the world continues from a snapshot.
    pub fn revive(&self) {
        self.latch.gave_up.store(false, Ordering::Relaxed);
    }

    pub fn set_contacts(&mut self, limit: usize) {
        self.contacts = Some(limit);
    }

    /// Returns the limit of contacts for a world with this number of shapes.
    pub fn contacts(&self, shapes: usize) -> usize {
        let default = || MIN_DEFAULT_CONTACTS.max(DEFAULT_CONTACTS_PER_SHAPE.saturating_mul(shapes));
        self.contacts.unwrap_or_else(default).min(MAX_CONTACTS)
    }
}

/// Error of the search for pairs: it found more than the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooMany {
    /// Pairs that were found until the search was given up.
    pub found: usize,
}

/// The number of pairs that a search may find, shared by its threads. The search ends early if it finds more or the
/// step is given up. Whether it finds more does not depend on the threads.
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

    /// Adds found pairs. Returns false if the search is to end.
    pub fn add(&self, found: usize) -> bool {
        let before = if found == 0 { self.found() } else { self.found.fetch_add(found, Ordering::Relaxed) };
        before.saturating_add(found) <= self.limit && self.goes_on()
    }

    /// Returns true unless the step is given up.
    pub fn goes_on(&self) -> bool {
        self.latch.is_none_or(|latch| !latch.is_cancelled())
    }

    pub fn found(&self) -> usize {
        self.found.load(Ordering::Relaxed)
    }

    /// Returns the result of the search, after all threads have added the pairs that they found.
    ///
    /// # Errors
    /// The search found more pairs than the limit.
    pub fn outcome(&self) -> Result<(), TooMany> {
        let found = self.found();
        if found > self.limit { Err(TooMany { found }) } else { Ok(()) }
    }
}

/// Pairs that one thread has found and not yet added to the [`ContactBudget`]. It adds them in batches, as all threads
/// write to the budget.
#[derive(Debug)]
pub(crate) struct Tally<'b, 'a> {
    budget: &'b ContactBudget<'a>,
    added: usize,
    calls: u32,
}

/// Most pairs that a thread counts before it adds them to the budget.
const BATCH: usize = 4096;
/// Calls of [`Tally::goes_on`] from one check of the cancel token to the next.
const CALLS: u32 = 64;

impl<'b, 'a> Tally<'b, 'a> {
    pub fn new(budget: &'b ContactBudget<'a>) -> Self {
        Self { budget, added: 0, calls: 0 }
    }

    /// Sets the number of pairs that the thread has found in all. Returns false if the search is to end.
    #[inline]
    pub fn goes_on(&mut self, found: usize) -> bool {
        if found - self.added >= BATCH {
            return self.tell(found);
        }
        self.calls = self.calls.wrapping_add(1);
        !self.calls.is_multiple_of(CALLS) || self.budget.goes_on()
    }

    /// Adds all pairs of the thread to the budget now. Returns false if the search is to end.
    #[cold]
    pub fn tell(&mut self, found: usize) -> bool {
        let more = found - self.added;
        self.added = found;
        self.budget.add(more)
    }
}
