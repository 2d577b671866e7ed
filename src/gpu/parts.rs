//! Steps submitted in parts, so that a window can draw between them. Frames are queued behind the step: without parts,
//! a step that takes a second would freeze the window for that long.

use std::collections::VecDeque;

use super::GpuWorld;
use super::profile::StageTimes;
use super::worlds::BatchLayers;
use crate::host::WorldEngine;
use crate::world_error::WorldError;

/// Maximum number of measured steps kept until they are taken.
const MOST: usize = 64;

/// Progress of a step.
#[derive(Debug)]
pub(super) struct StepPart {
    /// Next line of the plan.
    next: usize,
    /// Slot of the profiler, if the step is measured.
    measured: Option<usize>,
    layers: BatchLayers,
}

/// Times of measured steps that have arrived.
#[derive(Debug, Default)]
pub(super) struct MeasuredSteps {
    untaken: VecDeque<StageTimes>,
    /// Milliseconds of each line of the plan in the latest measured step.
    last: Vec<f64>,
}

impl MeasuredSteps {
    pub fn arrived(&mut self, times: StageTimes) {
        self.last = times.ops.iter().map(|(_, ms)| *ms).collect();
        if self.untaken.len() == MOST {
            self.untaken.pop_front();
        }
        self.untaken.push_back(times);
    }
}

impl GpuWorld {
    /// Returns the stage times that have arrived since the last call, oldest first.
    pub fn take_times(&mut self) -> Vec<StageTimes> {
        self.times.untaken.drain(..).collect()
    }

    /// Returns the device time of the latest measured step, in ms.
    #[must_use]
    pub fn measured_ms(&self) -> Option<f64> {
        Some(self.times.last.iter().sum()).filter(|&ms: &f64| ms > 0.0)
    }

    /// Returns true while only a part of a step has been submitted. Until the rest is submitted, no other operation on
    /// the world is allowed, and only the tables of whole bodies are still as before the step.
    #[must_use]
    pub fn is_mid_step(&self) -> bool {
        self.part.is_some()
    }

    /// Submits about this share of a step, judged by recent stage times, and returns true if the step is complete.
    /// Together the parts submit exactly the work of [`Self::step`]. Every step is measured if the device can.
    ///
    /// # Errors
    /// Those of [`Self::step`].
    pub fn step_part(&mut self, share: f64) -> Result<bool, WorldError> {
        if self.compiled().settings.strict {
            // A strict step may have to return to its start, so it is not split.
            self.step_measured()?;
            return Ok(true);
        }
        self.host().limits.check()?;
        let mut encoder = self.engine().encoder();
        let part = match self.part.take() {
            Some(part) => part,
            None => {
                self.batch.make_way(&[0])?;
                self.batch.one(0).begin_timed()?;
                if self.is_idle() {
                    return Ok(true);
                }
                self.emit(None)?;
                let (slots, mut slot_refs) = self.batch.slots_and(&[0]);
                slots.grow(&mut encoder, &mut slot_refs)?;
                let layers = BatchLayers::of(&slot_refs);
                slots.begin_step(&layers);
                slots.measures = true;
                StepPart { next: 0, measured: slots.begin_measuring(), layers }
            }
        };
        let end = self.end_of_part(part.next, share);
        let (slots, mut slot_refs) = self.batch.slots_and(&[0]);
        slots.record_lines(&mut encoder, &mut slot_refs, &part.layers, part.next..end, part.measured)?;
        let complete = end == slots.plan.len();
        if complete {
            slots.end_step(&mut encoder, &mut slot_refs, part.measured);
        } else {
            self.part = Some(StepPart { next: end, ..part });
        }
        self.submit(encoder)?;
        Ok(complete)
    }

    /// Returns the end of a part that begins at this line of the plan.
    fn end_of_part(&self, begin: usize, share: f64) -> usize {
        let lines = self.plan().len();
        let known = self.times.last.len() == lines && self.measured_ms().is_some();
        #[allow(clippy::cast_precision_loss, reason = "a few dozen lines")]
        let total = self.measured_ms().filter(|_| known).unwrap_or(lines as f64);
        let cost = |line: usize| if known { self.times.last[line] } else { 1.0 };
        let mut end = (begin + 1).min(lines);
        let mut sum = cost(begin);
        // A line belongs to the part in which its midpoint lies.
        while end < lines && sum + 0.5 * cost(end) <= share * total {
            sum += cost(end);
            end += 1;
        }
        end
    }
}
