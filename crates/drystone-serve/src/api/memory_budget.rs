//! Memory for bodies and answers in transit: one pool for all tokens, of which each may hold a share.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::problem::Problem;

/// Largest size of a small body or answer, bytes.
pub const MAX_SMALL: usize = 64 << 10;
/// Memory for small bodies and answers of each token, bytes, in addition to the shared pool.
const SMALL_POT: usize = 4 << 20;

/// Memory of one token for bodies and answers in transit.
#[derive(Debug)]
pub struct MemoryBudget {
    own: Arc<Semaphore>,
    own_kib: u32,
    all: Pot,
    small: Arc<Semaphore>,
}

/// Shared memory of all tokens for bodies and answers in transit.
#[derive(Clone, Debug)]
pub struct Pot {
    kib: Arc<Semaphore>,
    size: u32,
}

/// Reserved memory, until dropped.
#[derive(Debug)]
pub struct ReservedMemory {
    /// Permits of the token and of the shared pool.
    large: Option<[OwnedSemaphorePermit; 2]>,
    small: Option<OwnedSemaphorePermit>,
}

impl ReservedMemory {
    /// Returns the bytes reserved in the shared pool.
    #[must_use]
    pub fn large_bytes(&self) -> usize {
        self.large.as_ref().map_or(0, |[own, _]| own.num_permits() << 10)
    }

    /// Adds memory that was reserved in the same room.
    pub fn merge(&mut self, other: Self) {
        match (&mut self.large, other.large) {
            (Some(large), Some([own, all])) => {
                large[0].merge(own);
                large[1].merge(all);
            }
            (large, Some(other)) => *large = Some(other),
            (_, None) => {}
        }
        match (&mut self.small, other.small) {
            (Some(small), Some(other)) => small.merge(other),
            (small, Some(other)) => *small = Some(other),
            (_, None) => {}
        }
    }
}

/// Reserves more memory in addition to `held`. The sum never exceeds what the token may hold.
///
/// # Errors
/// The memory is in use at the moment: 429.
pub fn charge(memory_budget: &MemoryBudget, held: &mut Option<ReservedMemory>, bytes: usize) -> Result<(), Problem> {
    let large = held.as_ref().map_or(0, ReservedMemory::large_bytes);
    let more = bytes.min(memory_budget.own_bytes().saturating_sub(large));
    if more == 0 {
        return Ok(());
    }
    let more = memory_budget.take(more)?;
    match held {
        Some(held) => held.merge(more),
        None => *held = Some(more),
    }
    Ok(())
}

fn kib(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(1 << 10)).unwrap_or(u32::MAX)
}

impl Pot {
    /// Creates a pool of that many bytes.
    #[must_use]
    pub fn new(bytes: usize) -> Self {
        let size = u32::try_from(bytes >> 10).unwrap_or(u32::MAX).max(1);
        Self { kib: Arc::new(Semaphore::new(size as usize)), size }
    }
}

impl MemoryBudget {
    /// Creates the room of a token that may hold that many bytes of a pool.
    #[must_use]
    pub fn new(all: &Pot, bytes: usize) -> Self {
        let own_kib = u32::try_from(bytes >> 10).unwrap_or(u32::MAX).clamp(1, all.size);
        let (own, small) = (Semaphore::new(own_kib as usize), Semaphore::new(kib(SMALL_POT) as usize));
        Self { own: Arc::new(own), own_kib, all: all.clone(), small: Arc::new(small) }
    }

    /// Returns the bytes of the shared pool.
    #[must_use]
    pub fn pot_bytes(&self) -> usize {
        (self.all.size as usize) << 10
    }

    /// Returns the bytes of the shared pool that the token may hold.
    #[must_use]
    pub fn own_bytes(&self) -> usize {
        (self.own_kib as usize) << 10
    }

    /// Reserves memory. A request beyond the token's share reserves the whole share.
    ///
    /// # Errors
    /// The memory is in use at the moment: 429.
    pub fn take(&self, bytes: usize) -> Result<ReservedMemory, Problem> {
        if bytes <= MAX_SMALL
            && let Ok(small) = self.small.clone().try_acquire_many_owned(kib(bytes).max(1))
        {
            return Ok(ReservedMemory { large: None, small: Some(small) });
        }
        self.take_large(bytes)
    }

    /// Reserves memory in the shared pool.
    ///
    /// # Errors
    /// The memory is in use at the moment: 429.
    pub fn take_large(&self, bytes: usize) -> Result<ReservedMemory, Problem> {
        let kib = kib(bytes).clamp(1, self.own_kib);
        let full = |whose: &str| {
            metrics::counter!("drystone_memory_full_total").increment(1);
            let detail = format!("the memory for bodies and answers in transit is full{whose}");
            Problem::too_many(detail, 1)
        };
        let own = self.own.clone().try_acquire_many_owned(kib);
        let own = own.map_err(|_| full(" (this token's share of limits.memory_bytes)"))?;
        let all = self.all.kib.clone().try_acquire_many_owned(kib);
        let all = all.map_err(|_| full(" (limits.memory_bytes)"))?;
        Ok(ReservedMemory { large: Some([own, all]), small: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_given_back() {
        let memory_budget = MemoryBudget::new(&Pot::new(1 << 20), 1 << 20);
        let first = memory_budget.take(600 << 10).unwrap();
        assert_eq!(memory_budget.take(600 << 10).unwrap_err().status, 429);
        let second = memory_budget.take(400 << 10).unwrap();
        drop(first);
        assert!(memory_budget.take(600 << 10).is_ok());
        drop(second);
        // More than the share: alone.
        let all = memory_budget.take(1 << 30).unwrap();
        assert!(memory_budget.take_large(1).is_err());
        drop(all);
        assert!(memory_budget.take_large(1).is_ok());
    }

    #[test]
    fn tokens_have_parts_and_small_ones_their_own() {
        let pot = Pot::new(4 << 20);
        let (one, other) = (MemoryBudget::new(&pot, 1 << 20), MemoryBudget::new(&pot, 4 << 20));
        let held = one.take(1 << 30).unwrap();
        assert!(one.take(65 << 10).unwrap_err().detail.contains("this token"));
        let mut small: Vec<_> = (0..64).map(|_| one.take(MAX_SMALL).unwrap()).collect();
        assert!(one.take(1).is_err(), "the pot for small ones ends, too");
        let mut large = other.take(3 << 20).unwrap();
        let refused = other.take(1 << 20).unwrap_err();
        assert!(refused.detail.contains("(limits.memory_bytes)"), "{refused:?}");
        drop(held);
        // Merged amounts are returned with the rest.
        large.merge(other.take(1 << 20).unwrap());
        large.merge(other.take(1).unwrap());
        small.clear();
        assert!(one.take_large(1).is_err());
        drop(large);
        assert!(one.take_large(1 << 20).is_ok());
        assert_eq!(other.small.available_permits(), 4096);
    }
}
