//! Strict mode: a step that overflows a buffer is undone and repeated with larger buffers, so that no contact is ever
//! dropped. Worlds that share dispatches repeat it without the others, until the contacts of all fit. One world alone,
//! batches and pools share this loop.

use std::ops::Range;
use std::time::{Duration, Instant};

use super::slots::{BatchSlots, SlotRef};
use super::steps::{BatchLayers, only, span};
use super::world_host::{StepOutcome, WorldHost};
use crate::gpu::context::SubmittedWork;
use crate::host::HostStart;
use crate::types::{Counters, SleepingContact};
use crate::world_error::WorldError;

/// Tables that a step changes, with their backups, which restore them after an overflow.
const BACKUPS: [(&str, &str); 7] = [
    ("poses", "poses_backup"),
    ("states", "states_backup"),
    ("counters", "counters_backup"),
    ("islands", "islands_backup"),
    ("sleeping_starts", "sleeping_starts_backup"),
    ("joint_states", "joint_states_backup"),
    ("joint_impulses", "joint_impulses_backup"),
];
/// Archived contacts and their backup. They rarely change, and their table is as large as that of all contacts: of a
/// world alone only the part in use is copied.
const ARCHIVE: (&str, &str) = ("sleeping", "sleeping_backup");

/// Minimum duration of a step of a world alone to be submitted in pieces, so that it can be cancelled between two of
/// them.
const LONG: Duration = Duration::from_millis(20);
/// Target duration of a piece. A submission costs about 0.05 ms.
const PIECE: Duration = Duration::from_millis(10);
/// Maximum work of a step that is submitted whole before any step was timed, in shapes times lines of the plan: four
/// thousand shapes with the default settings.
const LITTLE_WORK: usize = 250_000;
/// Lines of the plan per piece while the duration of a step is unknown.
const INITIAL_PIECE: usize = 8;

/// Host-side state of a world at the start of a step, to return to.
#[derive(Clone, Debug)]
pub struct StepStart {
    host: HostStart,
    step: u64,
    /// Latest counters at that time, and their step.
    known: Option<(u64, Counters)>,
}

/// A step of some worlds, in progress until each has done it or failed.
#[derive(Debug)]
pub(in crate::gpu) struct Attempt {
    /// Result of each world, once known.
    pub outcomes: Vec<Option<StepOutcome>>,
    pub starts: Vec<StepStart>,
    /// True in a pool, where a world that is no longer small must move out; otherwise capacities grow for all.
    has_bounds: bool,
    /// The step is submitted by the caller, together with those of other worlds.
    is_whole: bool,
    is_backed_up: bool,
    /// Number of dispatches so far.
    pub dispatches: u32,
}

impl Attempt {
    /// A step that is recorded and run here.
    pub fn new() -> Self {
        let (outcomes, starts) = (Vec::new(), Vec::new());
        Self { outcomes, starts, has_bounds: false, is_whole: false, is_backed_up: false, dispatches: 0 }
    }

    /// A step of worlds in a pool.
    pub fn in_pool() -> Self {
        Self { has_bounds: true, ..Self::new() }
    }

    /// A step of one world, which the caller submits or has submitted.
    pub fn of_one(start: StepStart, is_backed_up: bool) -> Self {
        Self { outcomes: vec![None], starts: vec![start], is_whole: true, is_backed_up, ..Self::new() }
    }

    /// Adds a world, at the start of the step; with an outcome if it does not take part.
    pub fn push(&mut self, world_host: &WorldHost, outcome: Option<StepOutcome>) {
        self.outcomes.push(outcome);
        self.starts.push(world_host.start());
    }

    /// Returns, for each world, true if it has yet to do the step.
    pub fn running(&self) -> Vec<bool> {
        self.outcomes.iter().map(Option::is_none).collect()
    }
}

impl WorldHost {
    /// Returns the state at the start of the next step.
    pub fn start(&self) -> StepStart {
        StepStart { host: self.host.start(), step: self.host.steps, known: self.known }
    }

    /// Returns true if its last step is known to have overflowed.
    fn lacked_room(&self) -> bool {
        self.host.steps.checked_sub(1).is_some_and(|step| self.host.overflowed.last() == Some(&step))
    }
}

impl BatchSlots {
    /// Advances worlds by one step: all of them or, on error, none.
    ///
    /// # Errors
    /// If the device is lost or does not allow a buffer as large as needed, or a world has too many contacts or is
    /// cancelled.
    pub(super) fn step_strictly(&mut self, slot_refs: &mut [SlotRef]) -> Result<(), WorldError> {
        self.emit(slot_refs)?;
        let mut attempt = Attempt::new();
        for slot_ref in &*slot_refs {
            attempt.push(slot_ref.world_host, None);
        }
        if self.run_fitting(slot_refs, &mut attempt)? { self.end_strictly(slot_refs, attempt) } else { Ok(()) }
    }

    /// Ends a step that the device has run: all worlds have done it or, on error, none.
    ///
    /// # Errors
    /// Those of [`Self::step_strictly`].
    pub fn end_strictly(&mut self, slot_refs: &mut [SlotRef], mut attempt: Attempt) -> Result<(), WorldError> {
        let ran = self.run_until_all_fit(slot_refs, &mut attempt);
        if matches!(ran, Err(WorldError::Cancelled)) {
            return ran;
        }
        let done: Vec<bool> =
            attempt.outcomes.iter().map(|outcome| matches!(outcome, Some(StepOutcome::Done))).collect();
        let failed =
            attempt.outcomes.iter_mut().find_map(|outcome| outcome.take_if(|of| matches!(of, StepOutcome::Failed(_))));
        let ((Err(error), _) | (Ok(()), Some(StepOutcome::Failed(error)))) = (ran, failed) else { return Ok(()) };
        self.go_back(slot_refs, &attempt, &done);
        for ((slot_ref, start), _) in slot_refs.iter_mut().zip(&attempt.starts).zip(&done).filter(|(_, done)| **done) {
            slot_ref.world_host.known = start.known;
        }
        Err(error)
    }

    /// Records a step of the worlds that have yet to do it; `None` if there are none. In a pool, a world whose capacity
    /// cannot be provided is marked to move out.
    ///
    /// # Errors
    /// If the device is lost or does not fit the tables; then nothing is recorded.
    pub fn record_fitting(
        &mut self,
        slot_refs: &mut [SlotRef],
        attempt: &mut Attempt,
    ) -> Result<Option<wgpu::CommandBuffer>, WorldError> {
        let mut encoder = self.encoder();
        let mut running = attempt.running();
        while running.contains(&true) {
            match self.grow(&mut encoder, &mut only(slot_refs, &running)) {
                Ok(()) => break,
                Err(error @ WorldError::TooLarge { .. }) if attempt.has_bounds => {
                    let (contacts, events) = (u64::from(self.engine.contact_capacity), self.engine.event_capacity);
                    let mut found = false;
                    for (slot_ref, outcome) in slot_refs.iter().zip(&mut attempt.outcomes) {
                        let wanted = slot_ref.world_host.wanted_contacts();
                        if outcome.is_none() && (4 * wanted >= 3 * contacts || slot_ref.world_host.event_need > events)
                        {
                            (*outcome, found) = (Some(StepOutcome::Outgrown), true);
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
        let mut those = only(slot_refs, &running);
        // Once only: by the time of a repetition, other worlds in the same range have done the step, and may still have
        // to return to its start.
        if !std::mem::replace(&mut attempt.is_backed_up, true) {
            self.back_up(&mut encoder, &span(&those), &attempt.starts[0], |pair| pair);
        }
        let layers = BatchLayers::of(&those);
        let piece = if attempt.is_whole { self.plan.len() } else { self.piece_lines() };
        self.record_layers(&mut encoder, &mut those, &layers, piece)?;
        attempt.dispatches += self.engine.dispatches;
        Ok(Some(encoder.finish()))
    }

    /// Records and runs a step of the worlds that have yet to do it, and waits for it; false if there are none.
    fn run_fitting(&mut self, slot_refs: &mut [SlotRef], attempt: &mut Attempt) -> Result<bool, WorldError> {
        let begun = Instant::now();
        let Some(commands) = self.record_fitting(slot_refs, attempt)? else { return Ok(false) };
        self.engine.context.queue().submit([commands]);
        if let Err(error) = self.wait(slot_refs, &self.engine.context.submitted_work()) {
            // It may still run on the device, but its results are discarded.
            let starts = slot_refs.iter_mut().zip(&attempt.starts).zip(&attempt.outcomes);
            for ((slot_ref, start), _) in starts.filter(|(_, outcome)| outcome.is_none()) {
                slot_ref.world_host.host.steps = start.step;
            }
            return Err(error);
        }
        self.record_duration(begun.elapsed());
        Ok(true)
    }

    /// Returns the number of lines of the plan per piece of the next step.
    pub fn piece_lines(&self) -> usize {
        let (lines, shapes) = (self.plan.len(), self.bounds.params.shape_count);
        if self.is_for_many() {
            return lines;
        }
        // After the number of shapes has doubled, the old duration says nothing.
        match self.last_duration.filter(|&(_, then)| shapes / 2 <= then) {
            Some((last_duration, _)) if last_duration < LONG => lines,
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most as many as there are")]
            Some((last_duration, _)) => {
                (lines as f64 * (PIECE.as_secs_f64() / last_duration.as_secs_f64())).ceil() as usize
            }
            None if shapes as usize * lines <= LITTLE_WORK => lines,
            None => INITIAL_PIECE.min(lines),
        }
    }

    /// Records the duration of a strict step, by which the next ones are submitted in pieces.
    pub fn record_duration(&mut self, time: Duration) {
        self.last_duration = Some((time, self.bounds.params.shape_count));
    }

    /// Ends a step that the device has run. Worlds that overflowed go back and repeat it.
    ///
    /// # Errors
    /// If the device is lost or full, or the step is cancelled. Worlds whose outcome is known keep it.
    pub(super) fn run_until_all_fit(
        &mut self,
        slot_refs: &mut [SlotRef],
        attempt: &mut Attempt,
    ) -> Result<(), WorldError> {
        loop {
            self.poll()?;
            let mut lacked = attempt.running();
            for ((slot_ref, outcome), lacked) in slot_refs.iter_mut().zip(&mut attempt.outcomes).zip(&mut lacked) {
                if *lacked {
                    self.deliver_readbacks(slot_ref.slot, slot_ref.world_host);
                    let too_many = slot_ref.world_host.has_too_many(self.engine.contact_capacity);
                    *lacked = slot_ref.world_host.lacked_room() || too_many.is_some();
                    if let Some((found, limit)) = too_many {
                        *outcome = Some(StepOutcome::Failed(WorldError::TooManyContacts { found, limit }));
                    } else if !*lacked {
                        *outcome = Some(StepOutcome::Done);
                    }
                }
            }
            if !lacked.contains(&true) {
                return Ok(());
            }
            self.go_back(slot_refs, attempt, &lacked);
            let Attempt { outcomes, starts, has_bounds, .. } = attempt;
            let went = slot_refs.iter_mut().zip(starts).zip(outcomes).zip(lacked).filter(|(_, lacked)| *lacked);
            for (((slot_ref, start), outcome), _) in went {
                if outcome.is_some() {
                    slot_ref.world_host.known = start.known;
                } else if *has_bounds && !slot_ref.world_host.is_small() {
                    *outcome = Some(StepOutcome::Outgrown);
                }
            }
            // A repetition is recorded and submitted here: in pieces, if the step has proved long.
            attempt.is_whole = false;
            if !self.run_fitting(slot_refs, attempt)? {
                return Ok(());
            }
        }
    }

    /// Waits for submitted work, unless a step of one of these worlds is cancelled.
    pub fn wait(&self, slot_refs: &[SlotRef], work: &SubmittedWork) -> Result<(), WorldError> {
        let gives_up = || slot_refs.iter().any(|slot_ref| slot_ref.world_host.host.limits.check().is_err());
        if self.engine.context.wait_unless(work, gives_up)? {
            return Ok(());
        }
        // Any of them may have overflowed.
        for slot_ref in slot_refs {
            slot_ref.world_host.host.limits.give_up();
        }
        Err(WorldError::Cancelled)
    }

    /// Returns some of these worlds to the start of the step that they have just done.
    fn go_back(&mut self, slot_refs: &mut [SlotRef], attempt: &Attempt, which: &[bool]) {
        let mut encoder = self.engine.encoder();
        for ((slot_ref, start), _) in slot_refs.iter_mut().zip(&attempt.starts).zip(which).filter(|&(_, which)| *which)
        {
            let slot = slot_ref.slot..slot_ref.slot + 1;
            self.back_up(&mut encoder, &slot, start, |(from, to)| (to, from));
            slot_ref.world_host.host.undo_step(&start.host);
            // The contacts of the previous step are still in the other table.
            slot_ref.world_host.parity ^= 1;
            self.engine.parity = slot_ref.world_host.parity;
        }
        self.engine.context.queue().submit([encoder.finish()]);
    }

    /// Copies the tables that a step changes, from the first of each pair to the second after applying `direction`, for
    /// worlds in adjacent slots. `start` is that of a world alone.
    fn back_up(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        slots: &Range<usize>,
        start: &StepStart,
        direction: impl Fn((&'static str, &'static str)) -> (&'static str, &'static str),
    ) {
        let archived = start.known.map_or(0, |(_, counters)| u64::from(counters.sleeping_contacts));
        let archived = if self.is_for_many() { u64::MAX } else { archived * size_of::<SleepingContact>() as u64 };
        for (pair, most) in BACKUPS.into_iter().map(|pair| (pair, u64::MAX)).chain([(ARCHIVE, archived)]) {
            let (from, to) = direction(pair);
            // A world without a table has no backup of it either.
            let [begin, end] = [slots.start, slots.end].map(|slot| self.engine.offset(pair.1, slot));
            let (from, to) = (&self.engine.buffers[from], &self.engine.buffers[to]);
            encoder.copy_buffer_to_buffer(from, begin, to, begin, most.min(end - begin));
        }
    }
}
