//! Strict mode for worlds that share dispatches, in a batch or a pool: worlds that overflow a buffer return to the
//! start of the step and repeat it without the others, until the contacts of all fit. Batches and pools share this
//! loop.

use std::ops::Range;

use super::pool::StepOutcome;
use super::slots::{BatchSlots, SlotRef};
use super::steps::{BatchLayers, only, span};
use super::world_host::{LastReadback, WorldHost};
use crate::gpu::strict::BACKUPS;
use crate::host::HostStart;
use crate::world::WorldError;

/// Host-side state of a world at the start of a step, to return to.
#[derive(Debug)]
struct WorldStart {
    host: HostStart,
    /// Latest statistics at that time.
    known: Option<LastReadback>,
}

/// A step of some worlds, in progress until each has done it or failed.
#[derive(Debug)]
pub(super) struct Attempt {
    /// Result of each world, once known.
    pub outcomes: Vec<Option<StepOutcome>>,
    starts: Vec<WorldStart>,
    /// True in a pool, where a world that is no longer small must move out; otherwise capacities grow for all.
    has_bounds: bool,
    is_backed_up: bool,
    /// Number of dispatches so far.
    pub dispatches: u32,
}

impl Attempt {
    pub fn new(has_bounds: bool) -> Self {
        Self { outcomes: Vec::new(), starts: Vec::new(), has_bounds, is_backed_up: false, dispatches: 0 }
    }

    /// Adds a world, at the start of the step; with an outcome if it does not take part.
    pub fn push(&mut self, world_host: &WorldHost, outcome: Option<StepOutcome>) {
        self.outcomes.push(outcome);
        self.starts.push(WorldStart { host: world_host.host.start(), known: world_host.known });
    }

    /// Returns, for each world, true if it has yet to do the step.
    pub fn running(&self) -> Vec<bool> {
        self.outcomes.iter().map(Option::is_none).collect()
    }
}

impl WorldHost {
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
        let mut attempt = Attempt::new(false);
        for slot_ref in &*slot_refs {
            attempt.push(slot_ref.world_host, None);
        }
        let Some(commands) = self.record_fitting(slot_refs, &mut attempt)? else { return Ok(()) };
        self.engine.context.queue().submit([commands]);
        self.wait(slot_refs)?;
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
    pub(super) fn record_fitting(
        &mut self,
        slot_refs: &mut [SlotRef],
        attempt: &mut Attempt,
    ) -> Result<Option<wgpu::CommandBuffer>, WorldError> {
        let mut encoder = self.encoder();
        let mut running = attempt.running();
        while running.contains(&true) {
            match self.grow(&mut encoder, &only(slot_refs, &running)) {
                Ok(()) => break,
                Err(error @ WorldError::TooLarge { .. }) if attempt.has_bounds => {
                    let (contacts, events) = (u64::from(self.engine.contact_capacity), self.engine.event_capacity);
                    let mut found = false;
                    for (slot_ref, outcome) in slot_refs.iter().zip(&mut attempt.outcomes) {
                        let wanted = slot_ref.world_host.known.map_or(0, |known| known.contacts);
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
            self.back_up(&mut encoder, &span(&those), |pair| pair);
        }
        let layers = BatchLayers::of(&those);
        self.record_layers(&mut encoder, &mut those, &layers)?;
        attempt.dispatches += self.engine.dispatches;
        Ok(Some(encoder.finish()))
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
            let Some(commands) = self.record_fitting(slot_refs, attempt)? else { return Ok(()) };
            self.engine.context.queue().submit([commands]);
            self.wait(slot_refs)?;
        }
    }

    /// Waits for the device, unless a step of one of these worlds is cancelled.
    fn wait(&self, slot_refs: &[SlotRef]) -> Result<(), WorldError> {
        let gives_up = || slot_refs.iter().any(|slot_ref| slot_ref.world_host.host.limits.check().is_err());
        if self.engine.context.wait_unless(gives_up)? {
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
            self.back_up(&mut encoder, &(slot_ref.slot..slot_ref.slot + 1), |(from, to)| (to, from));
            slot_ref.world_host.host.undo_step(&start.host);
            // The contacts of the previous step are still in the other table.
            slot_ref.world_host.parity ^= 1;
        }
        self.engine.context.queue().submit([encoder.finish()]);
    }

    /// Copies the tables that a step changes, from the first of each pair to the second after applying `direction`, for
    /// worlds in adjacent slots.
    fn back_up(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        slots: &Range<usize>,
        direction: impl Fn((&'static str, &'static str)) -> (&'static str, &'static str),
    ) {
        for pair in BACKUPS.into_iter().chain([("sleeping", "sleeping_backup")]) {
            let (from, to) = direction(pair);
            // A world without a table has no backup of it either.
            let [begin, end] = [slots.start, slots.end].map(|slot| self.engine.offset(pair.1, slot));
            let (from, to) = (&self.engine.buffers[from], &self.engine.buffers[to]);
            encoder.copy_buffer_to_buffer(from, begin, to, begin, end - begin);
        }
    }
}
