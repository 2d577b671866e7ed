//! Transfers from the device to the host: whole buffers, waiting; counters and events of each step, without waiting.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use bytemuck::{Pod, Zeroable};

use super::context::{Context, DeviceError};
use crate::types::{Counters, EventData};

/// Copies parts of buffers to the host and waits for them.
pub(crate) fn download(context: &Context, wanted: &[BufferRange]) -> Result<Vec<Vec<u8>>, DeviceError> {
    let device = context.device();
    let total: u64 = wanted.iter().map(|(.., bytes)| bytes.next_multiple_of(8)).sum();
    if total == 0 {
        return Ok(vec![Vec::new(); wanted.len()]);
    }
    let staging = device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("download"),
        size: total,
        usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    });
    let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("download") });
    let mut offset = 0;
    for (buffer, begin, bytes) in wanted {
        if *bytes > 0 {
            encoder.copy_buffer_to_buffer(buffer, *begin, &staging, offset, *bytes);
        }
        offset += bytes.next_multiple_of(8);
    }
    context.queue().submit([encoder.finish()]);
    context.note_sent(1, total);
    staging.map_async(wgpu::MapMode::Read, .., |_| {});
    context.wait()?;
    let view = staging.get_mapped_range(..).map_err(|error| DeviceError::Lost(error.to_string()))?;
    let mut offset = 0;
    let mut parts = Vec::with_capacity(wanted.len());
    for (.., bytes) in wanted {
        #[allow(clippy::cast_possible_truncation, reason = "it was just allocated")]
        let range = offset as usize..(offset + bytes) as usize;
        parts.push(view[range].to_vec());
        offset += bytes.next_multiple_of(8);
    }
    drop(view);
    staging.unmap();
    Ok(parts)
}

/// Copies bytes into a vector of elements.
#[must_use]
pub fn cast<T: Pod>(bytes: &[u8]) -> Vec<T> {
    let mut elements = vec![T::zeroed(); bytes.len() / size_of::<T>()];
    bytemuck::cast_slice_mut(&mut elements).copy_from_slice(bytes);
    elements
}

const FREE: u8 = 0;
const PENDING: u8 = 1;
const READY: u8 = 2;
const FAILED: u8 = 3;

#[derive(Debug)]
struct ReadbackSlot {
    buffer: wgpu::Buffer,
    state: Arc<AtomicU8>,
    step: u64,
}

impl ReadbackSlot {
    fn new(device: &wgpu::Device, bytes: u64) -> Self {
        Self { buffer: Self::buffer(device, bytes), state: Arc::new(AtomicU8::new(FREE)), step: 0 }
    }

    fn buffer(device: &wgpu::Device, bytes: u64) -> wgpu::Buffer {
        device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("step readback"),
            size: bytes,
            usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        })
    }
}

/// Readback of one step.
#[derive(Debug)]
pub(crate) struct Arrived {
    pub step: u64,
    /// The parts given to [`StepRing::record`], concatenated.
    pub bytes: Vec<u8>,
}

/// A buffer, an offset and a length, in bytes.
pub(crate) type BufferRange<'a> = (&'a wgpu::Buffer, u64, u64);

/// Counters and events of recent steps, in flight to the host.
#[derive(Debug)]
pub(crate) struct StepRing {
    slots: Vec<ReadbackSlot>,
    refused: bool,
}

impl StepRing {
    pub fn new(device: &wgpu::Device, length: usize) -> Self {
        let bytes = size_of::<Counters>() as u64;
        Self { slots: (0..length).map(|_| ReadbackSlot::new(device, bytes)).collect(), refused: false }
    }

    /// Returns true if a readback failed since the last call; its step was not run.
    pub fn take_refused(&mut self) -> bool {
        std::mem::take(&mut self.refused)
    }

    /// Returns true if a slot is free.
    pub fn has_room(&self) -> bool {
        self.slots.iter().any(|slot| slot.state.load(Ordering::Acquire) == FREE)
    }

    /// Records copies of parts of buffers, the counters first, as they are after `encoder` has run. Adds a slot if all
    /// are in flight, as when a user records many steps into one encoder: otherwise a dropped contact could go
    /// unnoticed.
    pub fn record(
        &mut self,
        device: &wgpu::Device,
        encoder: &mut wgpu::CommandEncoder,
        parts: &[BufferRange],
        step: u64,
    ) {
        let total: u64 = parts.iter().map(|(.., bytes)| bytes).sum();
        let free = self.slots.iter().position(|slot| slot.state.load(Ordering::Acquire) == FREE);
        let index = free.unwrap_or_else(|| {
            self.slots.push(ReadbackSlot::new(device, total));
            self.slots.len() - 1
        });
        let slot = &mut self.slots[index];
        if slot.buffer.size() != total {
            slot.buffer = ReadbackSlot::buffer(device, total);
        }
        slot.step = step;
        slot.state.store(PENDING, Ordering::Release);
        let mut at = 0;
        for &(buffer, offset, bytes) in parts {
            encoder.copy_buffer_to_buffer(buffer, offset, &slot.buffer, at, bytes);
            at += bytes;
        }
        let state = slot.state.clone();
        encoder.map_buffer_on_submit(&slot.buffer, wgpu::MapMode::Read, .., move |result| {
            state.store(if result.is_ok() { READY } else { FAILED }, Ordering::Release);
        });
    }

    /// Returns the steps that have arrived, oldest first.
    pub fn take(&mut self) -> Vec<Arrived> {
        let mut arrived = Vec::new();
        for slot in &mut self.slots {
            match slot.state.load(Ordering::Acquire) {
                READY => {
                    if let Ok(view) = slot.buffer.get_mapped_range(..) {
                        arrived.push(Arrived { step: slot.step, bytes: view.to_vec() });
                    }
                    slot.buffer.unmap();
                    slot.state.store(FREE, Ordering::Release);
                }
                FAILED => {
                    self.refused = true;
                    slot.state.store(FREE, Ordering::Release);
                }
                _ => {}
            }
        }
        arrived.sort_by_key(|step| step.step);
        arrived
    }
}

/// Splits the readback of one world's step into its counters, the events that fitted, and the number of events.
pub(crate) fn unpack(bytes: &[u8]) -> (Counters, Vec<EventData>, u32) {
    let (head, rest) = bytes.split_at(size_of::<Counters>());
    let mut counters = Counters::zeroed();
    bytemuck::bytes_of_mut(&mut counters).copy_from_slice(head);
    let (mut events, mut event_count) = (Vec::new(), 0);
    if let Some((count, list)) = rest.split_first_chunk() {
        event_count = u32::from_le_bytes(*count);
        let fitted = list.len().min(event_count as usize * size_of::<EventData>());
        events = cast(&list[..fitted]);
    }
    (counters, events, event_count)
}

/// Readback of part of a buffer, in flight to the host.
#[derive(Debug)]
pub struct Arrival {
    /// Staging buffer; `None` after it was released.
    buffer: Option<wgpu::Buffer>,
    bytes: u64,
    state: Arc<AtomicU8>,
}

impl Arrival {
    /// Records a copy of the first `bytes` of `from`, as they are after `encoder` has run. Reuses `spare`, the staging
    /// buffer of an earlier readback, if it is large enough.
    pub fn send(
        device: &wgpu::Device,
        encoder: &mut wgpu::CommandEncoder,
        from: &wgpu::Buffer,
        bytes: u64,
        spare: Option<wgpu::Buffer>,
    ) -> Self {
        // Rounded up, so that later readbacks of about this size can reuse it.
        let size = bytes.next_power_of_two().min(device.limits().max_buffer_size).max(bytes);
        let fresh = || {
            device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("arrival"),
                size,
                usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation: false,
            })
        };
        let buffer = spare.filter(|spare| spare.size() >= bytes).unwrap_or_else(fresh);
        encoder.copy_buffer_to_buffer(from, 0, &buffer, 0, bytes);
        let state = Arc::new(AtomicU8::new(PENDING));
        let arrived = state.clone();
        encoder.map_buffer_on_submit(&buffer, wgpu::MapMode::Read, ..bytes, move |result| {
            arrived.store(if result.is_ok() { READY } else { FAILED }, Ordering::Release);
        });
        Self { buffer: Some(buffer), bytes, state }
    }

    /// Returns the bytes if they have arrived.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn take(&self) -> Result<Option<Vec<u8>>, DeviceError> {
        match (self.state.load(Ordering::Acquire), &self.buffer) {
            (READY, Some(buffer)) => {
                let lost = |error: wgpu::MapRangeError| DeviceError::Lost(error.to_string());
                Ok(Some(buffer.get_mapped_range(..self.bytes).map_err(lost)?.to_vec()))
            }
            (FAILED, _) => Err(DeviceError::Lost("query results did not arrive".to_owned())),
            _ => Ok(None),
        }
    }

    /// Releases the staging buffer for reuse, once the bytes have been taken.
    pub fn buffer(&mut self) -> Option<wgpu::Buffer> {
        let buffer = self.buffer.take()?;
        buffer.unmap();
        Some(buffer)
    }
}
