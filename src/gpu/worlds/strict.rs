//! A step of some worlds in strict mode: those that had no room go back to its start and run it again, alone, until all
//! have. It is the only such loop over worlds that share their dispatches, in a batch or in a pool.

use std::ops::Range;

use super::member::{Known, Member};
use super::places::{Places, Seat};
use super::pool::Outcome;
use super::steps::{Layers, only, span};
use crate::gpu::strict::BACKUPS;
use crate::host::HostStart;
use crate::world::WorldError;

/// Host's part of the start of a step of a world, to go back to.
#[derive(Debug)]
struct Start {
    host: HostStart,
    /// Work of the newest step that had arrived by then.
    known: Option<Known>,
}

/// A step of some worlds, until each of them has done it or cannot.
#[derive(Debug)]
pub(super) struct Attempt {
    /// One a world, of those of which it is known.
    pub outcomes: Vec<Option<Outcome>>,
    starts: Vec<Start>,
    /// True if a world that needs more than a small one may have is to move out. Otherwise room is made for all.
    has_bounds: bool,
    is_backed_up: bool,
    /// Dispatches so far.
    pub dispatches: u32,
}

impl Attempt {
    pub fn new(has_bounds: bool) -> Self {
        Self { outcomes: Vec::new(), starts: Vec::new(), has_bounds, is_backed_up: false, dispatches: 0 }
    }

    /// Adds a world, which is at the start of the step; `outcome` if it is to take no part.
    pub fn push(&mut self, member: &Member, outcome: Option<Outcome>) {
        self.outcomes.push(outcome);
        self.starts.push(Start { host: member.host.start(), known: member.known });
    }

    /// The worlds that have yet to do the step.
    pub fn running(&self) -> Vec<bool> {
        self.outcomes.iter().map(Option::is_none).collect()
    }
}

impl Member {
    /// Returns true if the step that it has just done is known to have lacked room.
    fn lacked_room(&self) -> bool {
        self.host.steps.checked_sub(1).is_some_and(|step| self.host.overflowed.last() == Some(&step))
    }
}

impl Places {
    /// Advances worlds by one step: all of them or, with an error, none.
    ///
    /// # Errors
    /// If the device is lost, a buffer outgrows it, or a world has too many contacts or gives up.
    pub(super) fn step_strictly(&mut self, seats: &mut [Seat]) -> Result<(), WorldError> {
        self.emit(seats)?;
        let mut attempt = Attempt::new(false);
        for seat in &*seats {
            attempt.push(seat.member, None);
        }
        let Some(commands) = self.record_fitting(seats, &mut attempt)? else { return Ok(()) };
        self.engine.context.queue().submit([commands]);
        self.wait(seats)?;
        let ran = self.run_until_all_fit(seats, &mut attempt);
        if matches!(ran, Err(WorldError::Cancelled)) {
            return ran;
        }
        let done: Vec<bool> = attempt.outcomes.iter().map(|outcome| matches!(outcome, Some(Outcome::Done))).collect();
        let failed =
            attempt.outcomes.iter_mut().find_map(|outcome| outcome.take_if(|of| matches!(of, Outcome::Failed(_))));
        let ((Err(error), _) | (Ok(()), Some(Outcome::Failed(error)))) = (ran, failed) else { return Ok(()) };
        self.go_back(seats, &attempt, &done);
        for ((seat, start), _) in seats.iter_mut().zip(&attempt.starts).zip(&done).filter(|(_, done)| **done) {
            seat.member.known = start.known;
        }
        Err(error)
    }

    /// Records a step of those that have yet to do it; none if there are none. One for which there cannot be room is to move
    /// out, if it may.
    ///
    /// # Errors
    /// If the device is lost, or has no room; then nothing is recorded.
    pub(super) fn record_fitting(
        &mut self,
        seats: &mut [Seat],
        attempt: &mut Attempt,
    ) -> Result<Option<wgpu::CommandBuffer>, WorldError> {
        let mut encoder = self.encoder();
        let mut running = attempt.running();
        while running.contains(&true) {
            match self.grow(&mut encoder, &only(seats, &running)) {
                Ok(()) => break,
                Err(error @ WorldError::TooLarge { .. }) if attempt.has_bounds => {
                    let (contacts, events) = (u64::from(self.engine.contact_capacity), self.engine.event_capacity);
                    let mut found = false;
                    for (seat, outcome) in seats.iter().zip(&mut attempt.outcomes) {
                        let wanted = seat.member.known.map_or(0, |known| known.contacts);
                        if outcome.is_none() && (4 * wanted >= 3 * contacts || seat.member.event_need > events) {
                            (*outcome, found) = (Some(Outcome::Outgrown), true);
                        }
                    }
                    if !found {
                        return Err(error);
                    }
                    running = attempt.running();
                }
                Err(error) => return Err(error),
            }
        }
        if !running.contains(&true) {
            return Ok(None);
        }
        let mut those = only(seats, &running);
        // Once: when the step is run again, worlds between these have done it, and may have to go back as well.
        if !std::mem::replace(&mut attempt.is_backed_up, true) {
            self.back_up(&mut encoder, &span(&those), |pair| pair);
        }
        let layers = Layers::of(&those);
        self.record_layers(&mut encoder, &mut those, &layers)?;
        attempt.dispatches += self.engine.dispatches;
        Ok(Some(encoder.finish()))
    }

    /// Ends a step that the device has done. Those that had no room go back and run it again.
    ///
    /// # Errors
    /// If the device is lost, has no room, or the step is given up. Those whose outcome is known have theirs.
    pub(super) fn run_until_all_fit(&mut self, seats: &mut [Seat], attempt: &mut Attempt) -> Result<(), WorldError> {
        loop {
            self.poll()?;
            let mut lacked = attempt.running();
            for ((seat, outcome), lacked) in seats.iter_mut().zip(&mut attempt.outcomes).zip(&mut lacked) {
                if *lacked {
                    self.tell_news(seat.place, seat.member);
                    let too_many = seat.member.has_too_many(self.engine.contact_capacity);
                    *lacked = seat.member.lacked_room() || too_many.is_some();
                    if let Some((found, limit)) = too_many {
                        *outcome = Some(Outcome::Failed(WorldError::TooManyContacts { found, limit }));
                    } else if !*lacked {
                        *outcome = Some(Outcome::Done);
                    }
                }
            }
            if !lacked.contains(&true) {
                return Ok(());
            }
            self.go_back(seats, attempt, &lacked);
            let Attempt { outcomes, starts, has_bounds, .. } = attempt;
            let went = seats.iter_mut().zip(starts).zip(outcomes).zip(lacked).filter(|(_, lacked)| *lacked);
            for (((seat, start), outcome), _) in went {
                if outcome.is_some() {
                    seat.member.known = start.known;
                } else if *has_bounds && !seat.member.is_small() {
                    *outcome = Some(Outcome::Outgrown);
                }
            }
            let Some(commands) = self.record_fitting(seats, attempt)? else { return Ok(()) };
            self.engine.context.queue().submit([commands]);
            self.wait(seats)?;
        }
    }

    /// Waits for the device, unless a step of one of these worlds is given up.
    fn wait(&self, seats: &[Seat]) -> Result<(), WorldError> {
        let gives_up = || seats.iter().any(|seat| seat.member.host.limits.check().is_err());
        if self.engine.context.wait_unless(gives_up)? {
            return Ok(());
        }
        // Any of them may have lacked room.
        for seat in seats {
            seat.member.host.limits.give_up();
        }
        Err(WorldError::Cancelled)
    }

    /// Takes some of these worlds back to the start of the step that they have just done.
    fn go_back(&mut self, seats: &mut [Seat], attempt: &Attempt, which: &[bool]) {
        let mut encoder = self.engine.encoder();
        for ((seat, start), _) in seats.iter_mut().zip(&attempt.starts).zip(which).filter(|&(_, which)| *which) {
            self.back_up(&mut encoder, &(seat.place..seat.place + 1), |(from, to)| (to, from));
            seat.member.host.undo_step(&start.host);
            // The contacts of the step before still lie in the other table.
            seat.member.parity ^= 1;
        }
        self.engine.context.queue().submit([encoder.finish()]);
    }

    /// Copies what a step changes from the first of each pair to the second, of worlds that lie side by side.
    fn back_up(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        places: &Range<usize>,
        direction: impl Fn((&'static str, &'static str)) -> (&'static str, &'static str),
    ) {
        for pair in BACKUPS.into_iter().chain([("sleeping", "sleeping_backup")]) {
            let (from, to) = direction(pair);
            // Where a world has none of a table it has no copy of it either.
            let [begin, end] = [places.start, places.end].map(|place| self.engine.offset(pair.1, place));
            let (from, to) = (&self.engine.buffers[from], &self.engine.buffers[to]);
            encoder.copy_buffer_to_buffer(from, begin, to, begin, end - begin);
        }
    }
}
