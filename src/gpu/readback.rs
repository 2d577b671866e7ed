//! Transfers from the device to the host: whole buffers, waiting; counters and events of each step, without waiting.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use bytemuck::Pod;

use super::context::{Context, DeviceError, note_read_back};

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
    note_read_back(context, 1, total);
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

/// A buffer, an offset and a length, in bytes.
pub(crate) type BufferRange<'a> = (&'a wgpu::Buffer, u64, u64);

const PENDING: u8 = 0;
const READY: u8 = 1;
const FAILED: u8 = 2;

/// Readback of parts of buffers, in flight to the host.
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
        Self::send_parts(device, encoder, &[(from, 0, bytes)], spare)
    }

    /// Records copies of parts of buffers, one after the other, as they are after `encoder` has run, as [`Self::send`].
    pub(crate) fn send_parts(
        device: &wgpu::Device,
        encoder: &mut wgpu::CommandEncoder,
        parts: &[BufferRange],
        spare: Option<wgpu::Buffer>,
    ) -> Self {
        let bytes: u64 = parts.iter().map(|(.., bytes)| bytes).sum();
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
        let mut at = 0;
        for &(from, offset, bytes) in parts {
            encoder.copy_buffer_to_buffer(from, offset, &buffer, at, bytes);
            at += bytes;
        }
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
            (FAILED, _) => Err(DeviceError::Lost("results did not arrive".to_owned())),
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
