//! Device time of whole steps: two timestamps around the passes of a step, read back with its counters. Unlike the
//! stage times of [`super::profile`], this does not change how a step runs.

use super::readback::{BufferRange, cast};

/// Size of the two timestamps of a step (begin, end), in bytes.
const BYTES: u64 = 2 * wgpu::QUERY_SIZE as u64;

/// Timer of whole steps, with timestamp queries.
#[derive(Debug)]
pub(super) struct Clock {
    queries: wgpu::QuerySet,
    resolved: wgpu::Buffer,
    /// Total seconds of the steps that have arrived since the last [`Self::take`].
    seconds: Option<f64>,
    /// Seconds of the latest step that has arrived.
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

    /// Returns the timestamp writes of a pass that is the first of its step, the last, or both; none for a pass in
    /// between.
    pub fn writes(&self, is_first: bool, is_last: bool) -> Option<wgpu::ComputePassTimestampWrites<'_>> {
        (is_first || is_last).then(|| wgpu::ComputePassTimestampWrites {
            query_set: &self.queries,
            beginning_of_pass_write_index: is_first.then_some(0),
            end_of_pass_write_index: is_last.then_some(1),
        })
    }

    /// Resolves the timestamps after the last pass; they are to be read back as the last part of the step.
    pub fn resolve(&self, encoder: &mut wgpu::CommandEncoder) -> BufferRange<'_> {
        encoder.resolve_query_set(&self.queries, 0..2, &self.resolved, 0);
        (&self.resolved, 0, BYTES)
    }

    /// Reads the timestamps from the end of a step's readback and returns the bytes before them. `period` is that of a
    /// tick, in ns.
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

    /// Returns the duration of the latest step that has arrived, in seconds.
    pub fn last(&self) -> Option<f64> {
        self.last
    }

    /// Returns the total seconds since the last call, if any step has arrived.
    pub fn take(&mut self) -> Option<f64> {
        self.seconds.take()
    }
}
