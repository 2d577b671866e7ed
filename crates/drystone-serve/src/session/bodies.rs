//! Counts of bodies per owner and of all owners, checked against the limits on bodies.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use super::lock;

/// Counts of bodies, per owner and of all owners.
#[derive(Debug, Default)]
pub struct BodyQuota(Mutex<BodyCounts>);

#[derive(Debug, Default)]
struct BodyCounts {
    all: usize,
    owners: HashMap<String, usize>,
}

impl BodyCounts {
    fn of(&self, owner: &str) -> usize {
        self.owners.get(owner).copied().unwrap_or_default()
    }

    fn change(&mut self, owner: &str, before: usize, now: usize) {
        self.all = self.all.saturating_sub(before).saturating_add(now);
        let own = self.of(owner).saturating_sub(before).saturating_add(now);
        if own == 0 {
            self.owners.remove(owner);
        } else {
            self.owners.insert(owner.to_owned(), own);
        }
    }
}

/// Refusal of bodies beyond a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoRoom {
    /// Number of bodies already counted, of the owner or of all.
    pub there: usize,
    /// Largest number allowed.
    pub most: usize,
    /// True if the owner's share is exceeded, false if the limit of all owners is.
    pub is_own: bool,
}

impl BodyQuota {
    /// Adds bodies of an owner, unless there would be more than `most` in all, or more than `own_most` of this
    /// owner. The first world is accepted with any size.
    ///
    /// # Errors
    /// A limit would be exceeded.
    pub fn reserve(&self, owner: &str, bodies: usize, most: usize, own_most: usize) -> Result<(), NoRoom> {
        let mut counts = lock(&self.0);
        let (all, own) = (counts.all, counts.of(owner));
        if own > 0 && own.saturating_add(bodies) > own_most {
            return Err(NoRoom { there: own, most: own_most, is_own: true });
        }
        if all > 0 && all.saturating_add(bodies) > most {
            return Err(NoRoom { there: all, most, is_own: false });
        }
        counts.change(owner, 0, bodies);
        Ok(())
    }

    /// Checks that bodies of an owner fit, for worlds that already exist.
    ///
    /// # Errors
    /// A limit would be exceeded.
    pub fn check(&self, owner: &str, bodies: usize, most: usize, own_most: usize) -> Result<(), NoRoom> {
        let counts = lock(&self.0);
        let (all, own) = (counts.all, counts.of(owner));
        if own.saturating_add(bodies) > own_most {
            return Err(NoRoom { there: own, most: own_most, is_own: true });
        }
        if all.saturating_add(bodies) > most {
            return Err(NoRoom { there: all, most, is_own: false });
        }
        Ok(())
    }

    /// Changes the count of an owner's world from `before` bodies to `now`.
    pub fn change(&self, owner: &str, before: usize, now: usize) {
        if before != now {
            lock(&self.0).change(owner, before, now);
        }
    }
}

/// Bodies of a world that is being created. Dropping this removes them from the counts.
#[derive(Debug)]
#[must_use]
pub struct ReservedBodies {
    total: Arc<BodyQuota>,
    owner: String,
    bodies: usize,
}

impl ReservedBodies {
    /// Takes charge of bodies that are already counted.
    pub(super) fn new(total: Arc<BodyQuota>, owner: &str, bodies: usize) -> Self {
        Self { total, owner: owner.to_owned(), bodies }
    }
}

impl Drop for ReservedBodies {
    fn drop(&mut self) {
        self.total.change(&self.owner, self.bodies, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_are_counted_by_owner() {
        let bodies = BodyQuota::default();
        bodies.reserve("a", 1000, 100, 50).unwrap();
        bodies.change("a", 1000, 40);
        assert_eq!(bodies.reserve("a", 11, 100, 50), Err(NoRoom { there: 40, most: 50, is_own: true }));
        assert_eq!(bodies.reserve("b", 61, 100, 100), Err(NoRoom { there: 40, most: 100, is_own: false }));
        bodies.reserve("b", 50, 100, 50).unwrap();
        assert!(bodies.check("a", 10, 100, 50).is_ok() && bodies.check("a", 11, 100, 51).is_err());
        bodies.change("a", 40, 0);
        bodies.change("b", 50, 0);
        let counts = lock(&bodies.0);
        assert!(counts.all == 0 && counts.owners.is_empty());
    }
}
