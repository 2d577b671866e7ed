//! A step that is given to the device in parts, so that pictures can be drawn between them. Where a step takes a second, a
//! window would stand still for that long: what it draws comes behind the step.

use std::collections::VecDeque;

use super::GpuWorld;
use super::profile::StageTimes;
use crate::world::WorldError;

/// Measured steps that are kept until somebody takes them.
const MOST: usize = 64;

/// How far a step is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    /// Line of the plan that comes next.
    next: usize,
    measured: Option<usize>,
}

/// What has arrived of measured steps.
#[derive(Debug, Default)]
pub(super) struct Times {
    untaken: VecDeque<StageTimes>,
    /// ms, one a line of the plan, of the last.
    last: Vec<f64>,
}

impl Times {
    pub fn arrived(&mut self, times: StageTimes) {
        self.last = times.ops.iter().map(|(_, ms)| *ms).collect();
        if self.untaken.len() == MOST {
            self.untaken.pop_front();
        }
        self.untaken.push_back(times);
    }
}

impl GpuWorld {
    /// Measured steps that have arrived since this was last asked, oldest first.
    pub fn take_times(&mut self) -> Vec<StageTimes> {
        self.times.untaken.drain(..).collect()
    }

    /// What the last measured step took, ms.
    #[must_use]
    pub fn measured_ms(&self) -> Option<f64> {
        Some(self.times.last.iter().sum()).filter(|&ms: &f64| ms > 0.0)
    }

    /// Whether part of a step has been given to the device, and the rest has yet to be. Until then nothing else may be
    /// done to the world, and of its tables only those of bodies as a whole are as they were.
    #[must_use]
    pub fn is_mid_step(&self) -> bool {
        self.part.is_some()
    }

    /// Submits about this share of a step, by what its stages took of late, and returns whether the step is complete. The
    /// parts of a step are what [`Self::step`] would have submitted at once. Every step is measured, if it can be.
    ///
    /// # Errors
    /// As [`Self::step`].
    pub fn step_part(&mut self, share: f64) -> Result<bool, WorldError> {
        if self.host.compiled.settings.strict {
            // It may have to go back to the start of the step.
            self.step_measured()?;
            return Ok(true);
        }
        self.host.limits.check()?;
        let (mut encoder, part) = match self.part.take() {
            Some(part) => (self.engine.encoder(), part),
            None => {
                self.wait_for_room()?;
                if self.rests() {
                    return Ok(true);
                }
                let mut encoder = self.engine.encoder();
                self.begin_recording(&mut encoder)?;
                self.measures = true;
                (encoder, Part { next: 0, measured: self.begin_measuring() })
            }
        };
        let end = self.end_of_part(part.next, share);
        self.record_ops(&mut encoder, part.next..end, part.measured)?;
        let complete = end == self.plan.len();
        if complete {
            self.end_recording(&mut encoder, part.measured);
        } else {
            self.part = Some(Part { next: end, ..part });
        }
        self.submit(encoder)?;
        Ok(complete)
    }

    /// Where a part ends that begins at this line of the plan.
    fn end_of_part(&self, begin: usize, share: f64) -> usize {
        let lines = self.plan.len();
        let known = self.times.last.len() == lines && self.measured_ms().is_some();
        #[allow(clippy::cast_precision_loss, reason = "a few dozen lines")]
        let total = self.measured_ms().filter(|_| known).unwrap_or(lines as f64);
        let cost = |line: usize| if known { self.times.last[line] } else { 1.0 };
        let mut end = (begin + 1).min(lines);
        let mut sum = cost(begin);
        // The middle of the line where it would be full is in this part or in the next.
        while end < lines && sum + 0.5 * cost(end) <= share * total {
            sum += cost(end);
            end += 1;
        }
        end
    }
}
