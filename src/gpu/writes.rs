//! Buffer writes from the host between two steps.

use std::collections::BTreeSet;

use bytemuck::Pod;

use super::engine::Engine;

/// Buffer writes, in order of execution.
#[derive(Debug, Default)]
pub(super) struct Writes(Vec<Write>);

#[derive(Debug)]
struct Write {
    /// Name of the buffer.
    name: &'static str,
    offset: u64,
    bytes: Vec<u8>,
}

impl Writes {
    /// Adds a write to the start of a buffer.
    pub fn all<T: Pod>(&mut self, name: &'static str, elements: &[T]) {
        self.push(name, 0, elements);
    }

    /// Adds writes of selected elements; adjacent ones are combined.
    pub fn some<T: Pod>(&mut self, name: &'static str, elements: &[T], which: &BTreeSet<u32>) {
        self.some_from(name, 0, elements, which);
    }

    /// Adds writes of selected elements of a list that starts at byte `begin` of a buffer.
    pub fn some_from<T: Pod>(&mut self, name: &'static str, begin: u64, elements: &[T], which: &BTreeSet<u32>) {
        let mut indices = which.iter().map(|&index| index as usize).peekable();
        while let Some(first) = indices.next() {
            let mut end = first + 1;
            while indices.next_if_eq(&end).is_some() {
                end += 1;
            }
            self.push(name, begin + (first * size_of::<T>()) as u64, &elements[first..end]);
        }
    }

    /// Returns the writes as names of buffers, offsets in bytes, and contents.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64, &[u8])> {
        self.0.iter().map(|write| (write.name, write.offset, &write.bytes[..]))
    }

    /// Adds a write at a byte offset of a buffer.
    pub fn push<T: Pod>(&mut self, name: &'static str, offset: u64, elements: &[T]) {
        if !elements.is_empty() {
            self.0.push(Write { name, offset, bytes: bytemuck::cast_slice(elements).to_vec() });
        }
    }
}

impl Engine {
    /// Writes to the tables of a world: before the next submission, or at the current position of the caller's encoder.
    pub fn upload_writes(&self, writes: &Writes, world: usize, recorded: Option<&mut wgpu::CommandEncoder>) {
        let begin = |write: &Write| self.offset(write.name, world) + write.offset;
        let Some(encoder) = recorded else {
            for write in &writes.0 {
                self.context.queue().write_buffer(&self.buffers[write.name], begin(write), &write.bytes);
            }
            return;
        };
        // Work recorded earlier but not yet submitted must not see the new contents, so the encoder copies them.
        let contents: Vec<u8> = writes.0.iter().flat_map(|write| &write.bytes).copied().collect();
        if contents.is_empty() {
            return;
        }
        let staged = self.context.buffer_with("writes", &contents, wgpu::BufferUsages::COPY_SRC);
        let mut from = 0;
        for write in &writes.0 {
            let bytes = write.bytes.len() as u64;
            encoder.copy_buffer_to_buffer(&staged, from, &self.buffers[write.name], begin(write), bytes);
            from += bytes;
        }
    }
}
