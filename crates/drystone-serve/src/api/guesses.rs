//! Defence against guessed tokens: the delay grows with each wrong token of an address, and few log lines are
//! written.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;

use crate::problem::Problem;

/// Delay of the answer to the first wrong token of an address; each further one doubles it.
const MIN_DELAY: Duration = Duration::from_millis(100);
/// Longest delay.
const MAX_DELAY: Duration = Duration::from_secs(5);
/// Number of delayed requests at the same time. Further ones get 429.
const MAX_DELAYED: usize = 64;
/// Largest number of addresses recorded.
const MAX_ADDRESSES: usize = 4096;
/// Time after which one wrong token is forgotten.
const FORGET: Duration = Duration::from_secs(10);

/// Number of log lines about refused requests per [`LINES_PERIOD`].
const MAX_LINES: u32 = 20;
/// Period of [`MAX_LINES`].
const LINES_PERIOD: Duration = Duration::from_secs(10);

/// Recent wrong tokens, by address.
#[derive(Debug)]
pub struct Guesses {
    addresses: Mutex<HashMap<IpAddr, Guess>>,
    delayed: Arc<Semaphore>,
}

#[derive(Clone, Copy, Debug)]
struct Guess {
    count: u32,
    last: Instant,
}

impl Guess {
    /// Returns the number of guesses that are not forgotten.
    fn left(self, now: Instant) -> u32 {
        let forgotten = now.duration_since(self.last).as_secs() / FORGET.as_secs();
        self.count.saturating_sub(u32::try_from(forgotten).unwrap_or(u32::MAX))
    }
}

impl Default for Guesses {
    fn default() -> Self {
        Self { addresses: Mutex::default(), delayed: Arc::new(Semaphore::new(MAX_DELAYED)) }
    }
}

impl Guesses {
    /// Counts a wrong token. Returns the delay of its answer.
    fn count(&self, address: Option<IpAddr>, now: Instant) -> Duration {
        let mut addresses = self.addresses.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(address) = address else { return MAX_DELAY };
        if addresses.len() >= MAX_ADDRESSES && !addresses.contains_key(&address) {
            addresses.retain(|_, guess| guess.left(now) > 0);
            if addresses.len() >= MAX_ADDRESSES {
                return MAX_DELAY;
            }
        }
        let guess = addresses.entry(address).or_insert(Guess { count: 0, last: now });
        *guess = Guess { count: guess.left(now).saturating_add(1), last: now };
        MIN_DELAY.saturating_mul(1 << (guess.count - 1).min(16)).min(MAX_DELAY)
    }

    /// Counts a wrong token, and waits for the delay of its address.
    ///
    /// # Errors
    /// Too many requests wait already: 429.
    pub async fn wait(&self, address: Option<IpAddr>) -> Result<(), Problem> {
        metrics::counter!("drystone_wrong_tokens_total").increment(1);
        let delay = self.count(address, Instant::now());
        let Ok(_permit) = self.delayed.try_acquire() else {
            return Err(Problem::too_many("there are too many requests with a wrong token", 5));
        };
        tokio::time::sleep(delay).await;
        Ok(())
    }
}

/// Rate limit for log lines of one kind.
#[derive(Debug)]
pub struct Quiet(Mutex<(Instant, u32)>);

impl Default for Quiet {
    fn default() -> Self {
        Self(Mutex::new((Instant::now(), 0)))
    }
}

impl Quiet {
    /// Returns the number of lines omitted before this one, or None if this one is to be omitted.
    pub fn admit(&self) -> Option<u32> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (since, count) = *state;
        if since.elapsed() >= LINES_PERIOD {
            *state = (Instant::now(), 1);
            return Some(count.saturating_sub(MAX_LINES));
        }
        state.1 = count.saturating_add(1);
        (count < MAX_LINES).then_some(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_grow_and_are_forgotten() {
        let guesses = Guesses::default();
        let (one, other) = (Some(IpAddr::from([10, 0, 0, 1])), Some(IpAddr::from([10, 0, 0, 2])));
        let now = Instant::now();
        let delays: Vec<u128> = (0..8).map(|_| guesses.count(one, now).as_millis()).collect();
        assert_eq!(delays, [100, 200, 400, 800, 1600, 3200, 5000, 5000]);
        assert_eq!(guesses.count(other, now), MIN_DELAY);
        assert_eq!(guesses.count(one, now + 6 * FORGET).as_millis(), 400);
        assert_eq!(guesses.count(one, now + 100 * FORGET), MIN_DELAY);
        assert!((0..100).all(|_| guesses.count(one, now) <= MAX_DELAY));
    }

    #[test]
    fn addresses_are_bounded() {
        let guesses = Guesses::default();
        let now = Instant::now();
        for number in 0..10_000_u32 {
            guesses.count(Some(IpAddr::from(number.to_be_bytes())), now);
        }
        assert_eq!(guesses.addresses.lock().unwrap().len(), MAX_ADDRESSES);
        assert_eq!(guesses.count(Some(IpAddr::from([99, 0, 0, 1])), now), MAX_DELAY);
        // Forgotten addresses make room for new ones.
        assert_eq!(guesses.count(Some(IpAddr::from([99, 0, 0, 1])), now + 2 * FORGET), MIN_DELAY);
    }

    #[test]
    fn the_log_is_not_filled() {
        let quiet = Quiet::default();
        assert_eq!((0..100).filter(|_| quiet.admit().is_some()).count(), 20);
        let early = Instant::now().checked_sub(LINES_PERIOD).unwrap();
        quiet.0.lock().unwrap().0 = early;
        assert_eq!(quiet.admit(), Some(80));
    }
}
