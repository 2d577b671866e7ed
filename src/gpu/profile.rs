//! Device time of each stage of a step: timestamps resolved at the end of the step and read back later, without
//! waiting.

use super::readback::{Arrival, cast};
use crate::step::{PlannedStage, Stage};

/// Maximum number of measured steps in flight.
const SLOTS: usize = 3;

/// Device times of a measured step.
#[derive(Clone, Debug)]
pub struct StageTimes {
    /// Number of steps done at its end.
    pub step: u64,
    /// Milliseconds of each line of the plan.
    pub ops: Vec<(PlannedStage, f64)>,
}

impl StageTimes {
    /// Returns the milliseconds of each stage of [`Stage::ALL`].
    #[allow(clippy::cast_possible_truncation, reason = "ms for a plot")]
    #[must_use]
    pub fn stages(&self) -> [f32; Stage::ALL.len()] {
        let mut stages = [0.0; Stage::ALL.len()];
        for (op, ms) in &self.ops {
            stages[op.stage as usize] += *ms as f32;
        }
        stages
    }
}

#[derive(Debug)]
struct ProfileSlot {
    queries: wgpu::QuerySet,
    resolved: wgpu::Buffer,
    /// A step is being recorded or in flight.
    is_taken: bool,
    /// Times of a step in flight.
    arrival: Option<Arrival>,
    spare: Option<wgpu::Buffer>,
    plan: Vec<PlannedStage>,
    step: u64,
}

impl ProfileSlot {
    fn new(device: &wgpu::Device, plan: &[PlannedStage]) -> Self {
        let count = u32::try_from(2 * plan.len()).unwrap_or(u32::MAX);
        Self {
            queries: device.create_query_set(&wgpu::QuerySetDescriptor {
                label: Some("stages"),
                ty: wgpu::QueryType::Timestamp,
                count,
            }),
            resolved: device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("stage times"),
                size: u64::from(count) * u64::from(wgpu::QUERY_SIZE),
                usage: wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC,
                mapped_at_creation: false,
            }),
            is_taken: false,
            arrival: None,
            spare: None,
            plan: plan.to_vec(),
            step: 0,
        }
    }
}

/// Measured steps in flight.
#[derive(Debug, Default)]
pub(super) struct Profiler {
    slots: Vec<ProfileSlot>,
}

impl Profiler {
    /// Returns true if another step can be measured now.
    pub fn has_room(&self) -> bool {
        self.slots.len() < SLOTS || self.slots.iter().any(|slot| !slot.is_taken)
    }

    /// Begins to measure a step of this plan and returns its slot; `None` if too many are in flight.
    pub fn begin(&mut self, device: &wgpu::Device, plan: &[PlannedStage]) -> Option<usize> {
        let index = match self.slots.iter().position(|slot| !slot.is_taken) {
            Some(index) => index,
            None if self.slots.len() < SLOTS && !plan.is_empty() => {
                self.slots.push(ProfileSlot::new(device, plan));
                self.slots.len() - 1
            }
            None => return None,
        };
        let slot = &mut self.slots[index];
        if slot.plan != plan {
            *slot = ProfileSlot::new(device, plan);
        }
        slot.is_taken = true;
        Some(index)
    }

    /// Returns the timestamp writes of the pass for one line of the plan.
    pub fn writes(&self, slot: usize, op: usize) -> Option<wgpu::ComputePassTimestampWrites<'_>> {
        let first = u32::try_from(2 * op).ok()?;
        Some(wgpu::ComputePassTimestampWrites {
            query_set: &self.slots.get(slot)?.queries,
            beginning_of_pass_write_index: Some(first),
            end_of_pass_write_index: Some(first + 1),
        })
    }

    /// Records the readback of the times, after the last pass.
    pub fn end(&mut self, device: &wgpu::Device, slot: usize, encoder: &mut wgpu::CommandEncoder, step: u64) {
        let Some(slot) = self.slots.get_mut(slot) else { return };
        slot.step = step;
        let count = u32::try_from(2 * slot.plan.len()).unwrap_or(u32::MAX);
        encoder.resolve_query_set(&slot.queries, 0..count, &slot.resolved, 0);
        let bytes = slot.resolved.size();
        slot.arrival = Some(Arrival::send(device, encoder, &slot.resolved, bytes, slot.spare.take()));
    }

    /// Returns the measured steps that have arrived, oldest first. `period` is that of a tick, in ns.
    pub fn take(&mut self, period: f32) -> Vec<StageTimes> {
        let mut arrived = Vec::new();
        for slot in &mut self.slots {
            let Some(mut arrival) = slot.arrival.take() else { continue };
            let times = arrival.take();
            if matches!(times, Ok(None)) {
                slot.arrival = Some(arrival);
                continue;
            }
            if let Ok(Some(bytes)) = times {
                let ms = |pair: &[u64]| {
                    #[allow(clippy::cast_precision_loss, reason = "ticks of one step")]
                    let ticks = pair[1].saturating_sub(pair[0]) as f64;
                    ticks * f64::from(period) * 1e-6
                };
                let ops = slot.plan.iter().copied().zip(cast::<u64>(&bytes).chunks_exact(2).map(ms)).collect();
                arrived.push(StageTimes { step: slot.step, ops });
                slot.spare = arrival.buffer();
            }
            slot.is_taken = false;
        }
        arrived.sort_by_key(|times| times.step);
        arrived
    }
}
