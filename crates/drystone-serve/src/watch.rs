//! Watch of the time slices in progress: a thread that cancels steps whose result is no longer wanted.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::session::Handle;

/// Interval of the checks.
const TICK: Duration = Duration::from_millis(10);
/// Number of checks without a time slice in progress after which the thread sleeps.
const IDLE_TICKS: u32 = 100;

/// Time slices in progress, and the state of the thread that watches them.
#[derive(Debug, Default)]
pub struct Watchdog {
    time_slices: Mutex<Turns>,
    changed: Condvar,
    is_asleep: AtomicBool,
}

#[derive(Debug, Default)]
struct Turns {
    next: u64,
    running: Vec<Running>,
    has_ended: bool,
}

#[derive(Debug)]
struct Running {
    number: u64,
    began: Instant,
    worlds: Vec<Arc<Handle>>,
}

impl Watchdog {
    fn lock(&self) -> MutexGuard<'_, Turns> {
        self.time_slices.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Registers a time slice. Returns its number, for [`Self::end`].
    pub fn begin(&self, worlds: Vec<Arc<Handle>>) -> u64 {
        let mut time_slices = self.lock();
        let number = time_slices.next;
        time_slices.next += 1;
        time_slices.running.push(Running { number, began: Instant::now(), worlds });
        drop(time_slices);
        if self.is_asleep.load(Ordering::SeqCst) {
            self.changed.notify_all();
        }
        number
    }

    /// Removes a time slice.
    pub fn end(&self, number: u64) {
        self.lock().running.retain(|running| running.number != number);
    }

    /// Returns the age of the oldest time slice in progress.
    #[must_use]
    pub fn longest(&self) -> Option<Duration> {
        self.lock().running.iter().map(|running| running.began.elapsed()).max()
    }

    /// Returns the number of time slices in progress with at least that age.
    #[must_use]
    pub fn count_older(&self, age: Duration) -> usize {
        self.lock().running.iter().filter(|running| running.began.elapsed() >= age).count()
    }

    /// Ends the thread.
    pub fn stop(&self) {
        self.lock().has_ended = true;
        self.changed.notify_all();
    }

    /// Watches until [`Self::stop`]. While `draining` is true all steps are cancelled.
    pub fn run(&self, draining: &AtomicBool) {
        let mut idle = 0;
        let mut time_slices = self.lock();
        while !time_slices.has_ended {
            let now = Instant::now();
            idle = if time_slices.running.is_empty() { idle + 1 } else { 0 };
            for world in time_slices.running.iter().flat_map(|running| &running.worlds) {
                world.give_up_if_unwanted(now, draining.load(Ordering::SeqCst));
            }
            time_slices = if idle > IDLE_TICKS {
                self.is_asleep.store(true, Ordering::SeqCst);
                let woken = self
                    .changed
                    .wait_while(time_slices, |time_slices| time_slices.running.is_empty() && !time_slices.has_ended);
                self.is_asleep.store(false, Ordering::SeqCst);
                idle = 0;
                woken.unwrap_or_else(PoisonError::into_inner)
            } else {
                self.changed.wait_timeout(time_slices, TICK).unwrap_or_else(PoisonError::into_inner).0
            };
        }
    }
}
