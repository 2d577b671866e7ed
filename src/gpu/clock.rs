//! Times for which the steps of a world keep the device busy, each as a whole: two timestamps about its passes, which
//! arrive with its counters. Unlike the times of stages ([`super::profile`]) this changes nothing about how a step runs.

use super::readback::{Part, cast};

/// Ticks of a step: when it began, and when it ended.
const BYTES: u64 = 2 * wgpu::QUERY_SIZE as u64;

/// See the module.
#[derive(Debug)]
pub(super) struct Clock {
    queries: wgpu::QuerySet,
    resolved: wgpu::Buffer,
    /// Of the steps that have arrived and nobody has asked for.
    seconds: Option<f64>,
    /// Seconds of the newest step that has arrived.
    last: Option<f64>,
}

impl Clock {
    pub fn new(device: &wgpu::Device) -> Self {
        Self {
            queries: device.create_query_set(&wgpu::QuerySetDescriptor {
                label: Some("step"),
                ty: wgpu::QueryType::Timestamp,
                count: 2,
            }),
            resolved: device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("step times"),
                size: BYTES,
                usage: wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC,
                mapped_at_creation: false,
            }),
            seconds: None,
            last: None,
        }
    }

    /// Timestamps of a pass, which may be the first of its step, the last, or both. None if it is neither.
    pub fn writes(&self, is_first: bool, is_last: bool) -> Option<wgpu::ComputePassTimestampWrites<'_>> {
        (is_first || is_last).then(|| wgpu::ComputePassTimestampWrites {
            query_set: &self.queries,
            beginning_of_pass_write_index: is_first.then_some(0),
            end_of_pass_write_index: is_last.then_some(1),
        })
    }

    /// Behind the pass: what is to arrive last of the step.
    pub fn resolve(&self, encoder: &mut wgpu::CommandEncoder) -> Part<'_> {
        encoder.resolve_query_set(&self.queries, 0..2, &self.resolved, 0);
        (&self.resolved, 0, BYTES)
    }

    /// Reads the end of what has arrived of a step, and gives back the rest. `period` is of a tick, ns.
    pub fn read<'a>(&mut self, bytes: &'a [u8], period: f32) -> &'a [u8] {
        #[allow(clippy::cast_possible_truncation, reason = "sixteen")]
        let Some((rest, ticks)) = bytes.split_at_checked(bytes.len().saturating_sub(BYTES as usize)) else {
            return bytes;
        };
        if let [begin, end] = cast::<u64>(ticks)[..] {
            let seconds = end.saturating_sub(begin) as f64 * f64::from(period) * 1e-9;
            self.last = Some(seconds);
            self.seconds = Some(self.seconds.unwrap_or(0.0) + seconds);
        }
        rest
    }

    /// Returns the seconds of the newest step that has arrived.
    pub fn last(&self) -> Option<f64> {
        self.last
    }

    pub fn take(&mut self) -> Option<f64> {
        self.seconds.take()
    }
}
