//! Queries on the device: the grid is laid for the present poses, then one thread answers one query.
//!
//! Rays have one answer each. What regions find is counted, scanned and written; the room for it is a guess. A batch that
//! finds more is run again with room for all, from a copy of the poses that it began with, so that an answer that is
//! asked for later is still of its time.
//!
//! Buffers stay for the next batch, and grow. A batch larger than a buffer may be goes in pieces; all of them use the
//! same buffers, one after the other, so what a piece asks is copied to its place by the encoder that answers it.

use std::sync::Arc;

use super::readback::{Arrival, cast};
use super::record::{Work, scan};
use super::{GpuWorld, SCAN_BLOCK};
use crate::query::{Answers, Flat, Query, QueryError};
use crate::step::{Op, Stage};
use crate::types::{Hit, Params, Ray, Region};
use crate::world::WorldError;

/// Shapes a region finds, before any have been asked for.
const FIRST_GUESS: u64 = 4;
/// Room for items that a piece has at least.
const LEAST_ITEMS: u64 = 1024;
/// What queries are about, and what is kept of it to look at the past.
const STATE: [&str; 4] = ["poses", "states", "shapes", "vertices"];
/// Bytes of a uniform.
const UNIFORM_BYTES: u64 = 16;
/// Buffers kept of each kind for answers and pasts to come: what a few batches at a time need.
const SPARES: usize = 8;
/// Kernels of rays and of regions.
const KERNELS: [&str; 7] =
    ["query_ray", "query_count", "query_emit", "scan_reduce", "scan_blocks", "scan_blocks of sums", "scan_apply"];

/// What the queries of a world found last: next time there is room for that.
#[derive(Debug, Default)]
pub(super) struct Load {
    /// Says which world this is, and how often bodies came or went; equal only to its clones.
    population: Arc<()>,
    world: Arc<()>,
    /// Body of each shape, until bodies come or go.
    bodies: Option<Arc<[u32]>>,
    /// Items a region.
    share: u64,
    /// Items.
    total: u64,
    /// Pieces that did not fit.
    repeats: u64,
    /// Pieces sent.
    pieces: u64,
    /// Buffers made.
    made: u64,
    /// Instead of the device's, bytes.
    limit: Option<u64>,
    /// For answers, and for [`STATE`].
    spare_arrivals: Vec<wgpu::Buffer>,
    spare_pasts: Vec<Vec<wgpu::Buffer>>,
}

impl Load {
    /// Bodies came or went.
    pub fn forget_bodies(&mut self) {
        (self.population, self.bodies) = (Arc::default(), None);
    }

    fn learn(&mut self, items: u64, regions: usize) {
        self.share = items.div_ceil(regions as u64);
        self.total = items;
    }

    /// Items to make room for: as many a region as last time and a quarter more, but never much more than all those, or
    /// a few large regions would make room by the gigabyte for many small ones.
    fn guess(&self, regions: usize) -> u64 {
        let regions = regions as u64;
        let like_before = (self.share * regions).min(2 * self.total);
        (like_before + like_before / 4).max(FIRST_GUESS * regions)
    }
}

/// Part of a batch that fits the device's buffers.
#[derive(Debug)]
struct Piece {
    rays: bool,
    /// Rays or regions of the batch.
    first: usize,
    end: usize,
    /// Items that fit.
    capacity: u64,
    state: PieceState,
}

#[derive(Debug)]
enum PieceState {
    OnItsWay(Arrival),
    /// Found this many items, and has to be run again.
    Outgrown(u64),
    Hits(Vec<Hit>),
    /// Starts, then items.
    Items(Vec<u32>),
}

/// Queries on their way. Dropping it forgets them.
#[derive(Debug)]
pub struct PendingQuery {
    flat: Flat,
    pieces: Vec<Piece>,
    /// The world that was asked.
    world: Arc<()>,
    /// Its population at the time, constants, and the body of each shape.
    population: Arc<()>,
    params: Params,
    bodies: Arc<[u32]>,
    /// Its [`STATE`] at the time, if there are regions.
    past: Vec<wgpu::Buffer>,
}

impl GpuWorld {
    /// Answers a batch of queries about the world as it is now ([`crate::query`]). Waits for the device.
    ///
    /// # Errors
    /// The first query with a value out of range; if the device is lost or has no room for the batch.
    pub fn query(&mut self, queries: &[Query]) -> Result<Answers, WorldError> {
        let mut pending = self.query_async(queries)?;
        loop {
            self.engine.context.wait()?;
            if let Some(answers) = self.query_poll(&mut pending)? {
                return Ok(answers);
            }
        }
    }

    /// Sends a batch of queries about the world as it is after all steps submitted so far, and returns without waiting.
    /// Steps may go on meanwhile; the answers do not change.
    ///
    /// # Errors
    /// As [`Self::query`].
    pub fn query_async(&mut self, queries: &[Query]) -> Result<PendingQuery, WorldError> {
        let flat = Flat::new(queries)?;
        self.poll()?;
        let mut pieces = Vec::new();
        for (rays, count, most) in
            [(true, flat.rays.len(), self.most_rays()), (false, flat.regions.len(), self.most_regions())]
        {
            for first in (0..count).step_by(most) {
                pieces.push((rays, first, count.min(first + most)));
            }
        }
        let mut encoder = self.engine.encoder();
        let past = if flat.regions.is_empty() { Vec::new() } else { self.copy_state(&mut encoder) };
        let shapes = &self.compiled.shapes;
        let bodies =
            self.query_load.bodies.get_or_insert_with(|| shapes.iter().map(|shape| shape.body).collect()).clone();
        let mut pending = PendingQuery {
            flat,
            pieces: Vec::new(),
            world: self.query_load.world.clone(),
            population: self.query_load.population.clone(),
            params: self.compiled.params,
            bodies,
            past,
        };
        if !pieces.is_empty() {
            self.lay_grid(&mut encoder)?;
            for (rays, first, end) in pieces {
                let room = self.query_load.guess(end - first);
                let piece = self.send(&mut encoder, &pending.flat, rays, first, end, room)?;
                pending.pieces.push(piece);
            }
            self.submit(encoder)?;
        }
        Ok(pending)
    }

    /// The answers, if they are there. Does not wait; ask again later.
    ///
    /// # Errors
    /// If the device is lost or has no room for the answers, or another world was asked.
    pub fn query_poll(&mut self, pending: &mut PendingQuery) -> Result<Option<Answers>, WorldError> {
        if !Arc::ptr_eq(&pending.world, &self.query_load.world) {
            return Err(QueryError {
                index: 0,
                problem: "was asked of another world".to_owned(),
                expected: "the world that was asked".to_owned(),
            }
            .into());
        }
        self.poll()?;
        for piece in &mut pending.pieces {
            let PieceState::OnItsWay(arrival) = &mut piece.state else { continue };
            let Some(bytes) = arrival.take()? else { continue };
            let spares = &mut self.query_load.spare_arrivals;
            spares.extend(arrival.buffer());
            if spares.len() > SPARES {
                spares.remove(0);
            }
            if piece.rays {
                piece.state = PieceState::Hits(cast(&bytes));
                continue;
            }
            let words: Vec<u32> = cast(&bytes);
            let regions = piece.end - piece.first;
            let total = u64::from(words[regions]);
            self.query_load.learn(total, regions);
            piece.state = if total > piece.capacity { PieceState::Outgrown(total) } else { PieceState::Items(words) };
        }
        if pending.pieces.iter().any(|piece| matches!(piece.state, PieceState::Outgrown(_))) {
            self.repeat(pending)?;
        }
        if pending.pieces.iter().any(|piece| matches!(piece.state, PieceState::OnItsWay(_))) {
            return Ok(None);
        }
        self.keep_state(std::mem::take(&mut pending.past));
        Ok(Some(collect(pending)))
    }

    /// The same world with less room than the device has for the buffers of queries, bytes. For tests.
    #[doc(hidden)]
    #[must_use]
    pub fn with_query_limit(mut self, bytes: u64) -> Self {
        self.query_load.limit = Some(bytes);
        self
    }

    /// Pieces in which batches were sent, and buffers that were made for them. For tests.
    #[doc(hidden)]
    #[must_use]
    pub fn query_effort(&self) -> [u64; 2] {
        [self.query_load.pieces, self.query_load.made]
    }

    /// Times that a batch, or a part of one, found more than there was room for, and was run again.
    #[must_use]
    pub fn query_repeats(&self) -> u64 {
        self.query_load.repeats
    }

    /// Runs outgrown pieces again with room for all that they found, in the world as it was.
    fn repeat(&mut self, pending: &mut PendingQuery) -> Result<(), WorldError> {
        // Capacities, which alone may differ otherwise, mean nothing to a query.
        let moved_on = !Arc::ptr_eq(&pending.population, &self.query_load.population);
        let params = self.compiled.params;
        if moved_on {
            self.compiled.params = pending.params;
            self.bind();
        }
        let repeated = self.repeat_in_place(pending);
        if moved_on {
            self.compiled.params = params;
            self.bind();
        }
        repeated
    }

    fn repeat_in_place(&mut self, pending: &mut PendingQuery) -> Result<(), WorldError> {
        let mut encoder = self.engine.encoder();
        let present = self.copy_state(&mut encoder);
        self.put_state(&mut encoder, &pending.past);
        self.lay_grid(&mut encoder)?;
        let most = self.query_limit() / 4;
        let mut fresh = Vec::new();
        for piece in &pending.pieces {
            let &Piece { first, end, state: PieceState::Outgrown(total), .. } = piece else { continue };
            self.query_load.repeats += 1;
            // More than a buffer holds is cut in two; what does not fit then either is cut again.
            let cut = total + (end - first) as u64 + 1 > most && end - first > 1;
            let middle = if cut { usize::midpoint(first, end) } else { end };
            for (first, end) in [(first, middle), (middle, end)] {
                if first < end {
                    fresh.push(self.send(&mut encoder, &pending.flat, false, first, end, total)?);
                }
            }
        }
        self.put_state(&mut encoder, &present);
        // Pieces are exchanged once nothing can fail any more but the device.
        pending.pieces.retain(|piece| !matches!(piece.state, PieceState::Outgrown(_)));
        pending.pieces.append(&mut fresh);
        self.submit(encoder)?;
        self.keep_state(present);
        Ok(())
    }

    /// A copy of [`STATE`].
    fn copy_state(&mut self, encoder: &mut wgpu::CommandEncoder) -> Vec<wgpu::Buffer> {
        let from = STATE.map(|name| &self.engine.buffers[name]);
        let fits = |spare: &Vec<wgpu::Buffer>| spare.iter().zip(from).all(|(spare, from)| spare.size() == from.size());
        let load = &mut self.query_load;
        let copies = match load.spare_pasts.iter().position(fits) {
            Some(index) => load.spare_pasts.swap_remove(index),
            None => {
                // Those that no longer fit never will again.
                load.spare_pasts.clear();
                load.made += STATE.len() as u64;
                let usage = wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
                let device = self.engine.context.device();
                let like = |from: &wgpu::Buffer| wgpu::BufferDescriptor {
                    label: Some("past"),
                    size: from.size(),
                    usage,
                    mapped_at_creation: false,
                };
                from.iter().map(|from| device.create_buffer(&like(from))).collect()
            }
        };
        for (from, copy) in from.iter().zip(&copies) {
            encoder.copy_buffer_to_buffer(from, 0, copy, 0, from.size());
        }
        copies
    }

    /// Keeps a copy that nobody needs any more for the next one. What was submitted with it comes first.
    fn keep_state(&mut self, copies: Vec<wgpu::Buffer>) {
        if !copies.is_empty() && self.query_load.spare_pasts.len() < SPARES {
            self.query_load.spare_pasts.push(copies);
        }
    }

    fn put_state(&self, encoder: &mut wgpu::CommandEncoder, state: &[wgpu::Buffer]) {
        for (name, from) in STATE.iter().zip(state) {
            encoder.copy_buffer_to_buffer(from, 0, &self.engine.buffers[name], 0, from.size());
        }
    }

    /// The tables are those of the step's start, and each step makes its own.
    fn lay_grid(&mut self, encoder: &mut wgpu::CommandEncoder) -> Result<(), WorldError> {
        let dispatches = self.engine.dispatches;
        let mut pass = encoder
            .begin_compute_pass(&wgpu::ComputePassDescriptor { label: Some("query grid"), timestamp_writes: None });
        for stage in [Stage::Bound, Stage::Bin] {
            self.run(&mut pass, Op { stage, flags: 0 })?;
        }
        self.engine.dispatches = dispatches;
        Ok(())
    }

    /// Bytes that a buffer may have; a few less than the device allows, so that none is rounded up beyond that. Enough for
    /// a region that finds everything, which no cutting in two makes smaller.
    fn query_limit(&self) -> u64 {
        let all = 4 * (u64::from(self.compiled.params.shape_count) + 2);
        let least = all.max(size_of::<Region>() as u64).next_multiple_of(16);
        (self.query_load.limit.unwrap_or(u64::MAX).max(least).min(self.engine.largest_buffer())) & !15
    }

    /// Rays whose records fit a buffer.
    fn most_rays(&self) -> usize {
        let record = size_of::<Ray>().max(size_of::<Hit>()) as u64;
        fit(self.query_limit() / record)
    }

    /// Regions whose records fit a buffer, and whose items can be counted in u32 even if all find everything.
    fn most_regions(&self) -> usize {
        let shapes = u64::from(self.compiled.params.shape_count).max(1);
        let records = self.query_limit() / size_of::<Region>() as u64;
        fit(records.min(u64::from(u32::MAX) / shapes))
    }

    /// Records rays or regions `first .. end` of a batch, with room for this many items.
    fn send(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        flat: &Flat,
        rays: bool,
        first: usize,
        end: usize,
        room: u64,
    ) -> Result<Piece, WorldError> {
        let dispatches = self.engine.dispatches;
        let count = u32::try_from(end - first).unwrap_or(u32::MAX);
        let words = u64::from(count) + 1;
        // Never more than all shapes for all, nor than the device has.
        let all = u64::from(count) * u64::from(self.compiled.params.shape_count);
        let most = (self.query_limit() / 4).saturating_sub(words);
        let capacity = room.max(LEAST_ITEMS).min(all).min(most);
        let blocks = words.div_ceil(u64::from(SCAN_BLOCK));
        #[allow(clippy::cast_possible_truncation, reason = "at most all items, which are counted in u32")]
        let uniforms = [
            ("query_params", [count, capacity as u32, 0, 0]),
            ("scan_regions", [count + 1, 0, 0, 0]),
            ("blocks_regions", [blocks as u32, 0, 0, 0]),
        ];
        let asked: &[u8] = if rays {
            bytemuck::cast_slice(&flat.rays[first..end])
        } else {
            bytemuck::cast_slice(&flat.regions[first..end])
        };
        let (records, results, bytes);
        if rays {
            (records, results, bytes) = ("rays", "ray_hits", u64::from(count) * size_of::<Hit>() as u64);
        } else {
            (records, results, bytes) = ("regions", "region_items", 4 * (words + capacity));
            self.make_query_room("region_block_sums", 4 * blocks)?;
        }
        self.make_query_room(records, asked.len() as u64)?;
        self.make_query_room(results, bytes)?;
        for (name, _) in uniforms {
            self.make_query_uniform(name);
        }

        let counts = uniforms.map(|(_, counts)| counts);
        self.put(encoder, &uniforms.map(|(name, _)| (name, UNIFORM_BYTES)), bytemuck::bytes_of(&counts));
        self.put(encoder, &[(records, asked.len() as u64)], asked);
        {
            let mut pass = encoder
                .begin_compute_pass(&wgpu::ComputePassDescriptor { label: Some("query"), timestamp_writes: None });
            if rays {
                self.engine.execute(&mut pass, &Work::new("query_ray", count))?;
            } else {
                self.engine.execute(&mut pass, &Work::new("query_count", count + 1))?;
                for work in scan("regions", count + 1) {
                    self.engine.execute(&mut pass, &work)?;
                }
                self.engine.execute(&mut pass, &Work::new("query_emit", count))?;
            }
        }
        self.engine.dispatches = dispatches;
        self.query_load.pieces += 1;
        // Not one much too large, which another batch may need.
        let fits = |spare: &wgpu::Buffer| spare.size() >= bytes && spare.size() / 4 <= bytes.max(4096);
        let load = &mut self.query_load;
        let spare = load.spare_arrivals.iter().position(fits).map(|index| load.spare_arrivals.swap_remove(index));
        load.made += u64::from(spare.is_none());
        let arrival = Arrival::send(self.engine.context.device(), encoder, &self.engine.buffers[results], bytes, spare);
        Ok(Piece { rays, first, end, capacity, state: PieceState::OnItsWay(arrival) })
    }

    /// Copies bytes to the start of buffers when the encoder runs: the pieces before have had their answers by then.
    fn put(&self, encoder: &mut wgpu::CommandEncoder, to: &[(&'static str, u64)], contents: &[u8]) {
        use wgpu::util::DeviceExt;
        let from = self.engine.context.device().create_buffer_init(&wgpu::util::BufferInitDescriptor {
            label: Some("queries"),
            contents,
            usage: wgpu::BufferUsages::COPY_SRC,
        });
        let mut offset = 0;
        for &(name, bytes) in to {
            encoder.copy_buffer_to_buffer(&from, offset, &self.engine.buffers[name], 0, bytes);
            offset += bytes;
        }
    }

    /// Makes a buffer larger if it is too small, by half as much again as is needed if there may be that much. The old
    /// one lives on in what was recorded with it.
    fn make_query_room(&mut self, name: &'static str, bytes: u64) -> Result<(), WorldError> {
        if self.engine.buffers.get(name).is_some_and(|buffer| buffer.size() >= bytes) {
            return Ok(());
        }
        self.engine.create(name, (bytes + bytes / 2).min(self.query_limit()).max(bytes))?;
        self.query_load.made += 1;
        for kernel in KERNELS {
            self.engine.unbind(kernel);
        }
        Ok(())
    }

    fn make_query_uniform(&mut self, name: &'static str) {
        if self.engine.buffers.contains_key(name) {
            return;
        }
        let buffer = self.engine.context.device().create_buffer(&wgpu::BufferDescriptor {
            label: Some(name),
            size: UNIFORM_BYTES,
            usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        self.query_load.made += 1;
        self.engine.buffers.insert(name, buffer);
    }
}

/// As a length of an array on this machine, at least 1.
fn fit(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX).max(1)
}

/// Puts the pieces together.
fn collect(pending: &mut PendingQuery) -> Answers {
    pending.pieces.sort_by_key(|piece| (piece.rays, piece.first));
    let mut hits = Vec::with_capacity(pending.flat.rays.len());
    let mut lists = Vec::with_capacity(pending.flat.regions.len());
    for piece in &mut pending.pieces {
        match &mut piece.state {
            PieceState::OnItsWay(_) | PieceState::Outgrown(_) => {}
            PieceState::Hits(found) => hits.extend_from_slice(found),
            PieceState::Items(words) => {
                let (starts, mut rest) = words.split_at_mut(piece.end - piece.first + 1);
                for pair in starts.windows(2) {
                    let (list, after) = rest.split_at_mut((pair[1] - pair[0]) as usize);
                    lists.push(list);
                    rest = after;
                }
            }
        }
    }
    Answers::new(&pending.flat, &pending.bodies, &hits, lists)
}
