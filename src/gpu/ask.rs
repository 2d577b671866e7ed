//! Sends a batch of queries to the device, in pieces that fit its buffers, and collects the answers. Works on the
//! tables of one world or of many; the callers (`query`, `worlds/query`) decide when to send, wait and repeat.

use std::ops::Range;
use std::sync::Arc;

use super::SCAN_BLOCK;
use super::engine::Engine;
use super::readback::{Arrival, cast};
use super::record::{Dispatch, scan};
use crate::population::BodyId;
use crate::query::{Answers, Flat};
use crate::types::{Hit, RAY_ITEM_WORDS, Ray, Region};
use crate::world_error::WorldError;

/// Initial estimate of the shapes that one region finds.
const INITIAL_GUESS: u64 = 4;
/// Minimum item capacity of a piece.
const MIN_ITEMS: u64 = 1024;
/// Size of a uniform, in bytes.
const UNIFORM_BYTES: u64 = 16;
/// Number of spare buffers kept of each kind (results, copies of the state), enough for a few batches in flight.
pub(super) const SPARES: usize = 8;
/// Kernels for rays, casts and regions.
const KERNELS: [&str; 8] = [
    "query_ray",
    "query_cast",
    "region_count",
    "region_emit",
    "scan_reduce",
    "scan_blocks",
    "scan_blocks of sums",
    "scan_apply",
];

/// Result sizes of the last queries of a world, by which the next buffers are sized, and its spare buffers.
#[derive(Debug, Default)]
pub(super) struct QueryStats {
    /// Identity of the population, compared by pointer: replaced whenever bodies are added or removed.
    pub population: Arc<()>,
    /// Identity of the world, compared by pointer, to reject queries that another world was asked.
    pub world: Arc<()>,
    /// Body of each shape, until bodies are added or removed.
    pub bodies: Option<Arc<[BodyId]>>,
    /// Items per region in the last batch.
    share: u64,
    /// Items in the last batch.
    total: u64,
    /// Number of pieces that did not fit and were repeated.
    pub repeats: u64,
    /// Number of pieces sent.
    pub pieces: u64,
    /// Number of buffers created.
    pub made: u64,
    /// Test override of the device's buffer limit, in bytes.
    pub limit: Option<u64>,
    /// Spare staging buffers for results.
    spare_arrivals: Vec<wgpu::Buffer>,
    /// Spare copies of the queried state.
    pub spare_pasts: Vec<Vec<wgpu::Buffer>>,
}

impl QueryStats {
    /// Invalidates the cached bodies of shapes after bodies were added or removed.
    pub fn forget_bodies(&mut self) {
        (self.population, self.bodies) = (Arc::default(), None);
    }

    fn learn(&mut self, items: u64, regions: usize) {
        self.share = items.div_ceil(regions as u64);
        self.total = items;
    }

    /// Returns the item capacity for a number of regions: the items per region of the last batch plus a quarter, but at
    /// most about twice the last total. Without that bound, a few large regions would make the next batch of many small
    /// ones allocate gigabytes.
    pub fn guess(&self, regions: usize) -> u64 {
        let regions = regions as u64;
        let like_before = (self.share * regions).min(2 * self.total);
        (like_before + like_before / 4).max(INITIAL_GUESS * regions)
    }
}

/// Kind of the records of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum RecordKind {
    Rays,
    Casts,
    Regions,
}

/// Consecutive queries of one kind that fit the device's buffers together.
#[derive(Debug)]
pub(super) struct QueryChunk {
    pub kind: RecordKind,
    /// First query of this kind in the batch, and the one after the last.
    pub first: usize,
    pub end: usize,
    /// Item capacity.
    capacity: u64,
    pub state: QueryChunkState,
}

/// Progress of a piece.
#[derive(Debug)]
pub(super) enum QueryChunkState {
    InFlight(Arrival),
    /// More items than the capacity: their number, and the start of each region's items. To be repeated.
    Outgrown(u64, Vec<u32>),
    Hits(Vec<Hit>),
    /// Start of each region's items, then the items.
    Items(Vec<u32>),
}

impl QueryChunk {
    /// Reads the results, if they have arrived.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn take(&mut self, stats: &mut QueryStats) -> Result<(), WorldError> {
        let QueryChunkState::InFlight(arrival) = &mut self.state else { return Ok(()) };
        let Some(bytes) = arrival.take()? else { return Ok(()) };
        stats.spare_arrivals.extend(arrival.buffer());
        if stats.spare_arrivals.len() > SPARES {
            stats.spare_arrivals.remove(0);
        }
        if self.kind != RecordKind::Regions {
            self.state = QueryChunkState::Hits(cast(&bytes));
            return Ok(());
        }
        let mut words: Vec<u32> = cast(&bytes);
        let regions = self.end - self.first;
        let total = u64::from(words[regions]);
        stats.learn(total, regions);
        self.state = if total > self.capacity {
            words.truncate(regions + 1);
            QueryChunkState::Outgrown(total, words)
        } else {
            QueryChunkState::Items(words)
        };
        Ok(())
    }

    pub fn is_in_flight(&self) -> bool {
        matches!(self.state, QueryChunkState::InFlight(_))
    }

    pub fn is_outgrown(&self) -> bool {
        matches!(self.state, QueryChunkState::Outgrown(..))
    }
}

/// Records and sends queries for one world or a batch of worlds.
#[derive(Debug)]
pub(super) struct QuerySender<'a> {
    pub engine: &'a mut Engine,
    pub stats: &'a mut QueryStats,
    /// Number of shapes, in the world that has the most.
    pub shapes: u32,
}

impl QuerySender<'_> {
    /// Records all queries of a batch.
    ///
    /// # Errors
    /// If a buffer does not fit the device, or a kernel does not compile.
    pub fn send_all(&mut self, encoder: &mut wgpu::CommandEncoder, flat: &Flat) -> Result<Vec<QueryChunk>, WorldError> {
        let mut pieces = Vec::new();
        for (kind, count, most) in [
            (RecordKind::Rays, flat.rays.len(), self.most_rays()),
            (RecordKind::Casts, flat.casts.len(), self.most_casts()),
            (RecordKind::Regions, flat.regions.len(), self.most_regions()),
        ] {
            for first in (0..count).step_by(most) {
                let end = count.min(first + most);
                let capacity = self.stats.guess(end - first);
                pieces.push(self.send(encoder, flat, kind, first, end, capacity)?);
            }
        }
        Ok(pieces)
    }

    /// Records outgrown pieces again, with capacity for all items found, and returns the replacements.
    ///
    /// # Errors
    /// Those of [`Self::send_all`].
    pub fn send_again(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        flat: &Flat,
        pieces: &[QueryChunk],
    ) -> Result<Vec<QueryChunk>, WorldError> {
        let most = self.limit() / 4;
        let mut fresh = Vec::new();
        for piece in pieces {
            let &QueryChunk { first, end, state: QueryChunkState::Outgrown(total, _), .. } = piece else { continue };
            self.stats.repeats += 1;
            // A piece whose items exceed a buffer is split in two, again and again until each half fits.
            let cut = total + (end - first) as u64 + 1 > most && end - first > 1;
            let middle = if cut { usize::midpoint(first, end) } else { end };
            for (first, end) in [(first, middle), (middle, end)] {
                if first < end {
                    fresh.push(self.send(encoder, flat, RecordKind::Regions, first, end, total)?);
                }
            }
        }
        Ok(fresh)
    }

    /// Returns the largest buffer to create, in bytes: slightly below the device's limit, so that rounding up cannot
    /// exceed it, and at least enough for one region that finds every shape, as such a piece cannot be split further.
    fn limit(&self) -> u64 {
        let all = 4 * (u64::from(RAY_ITEM_WORDS) * u64::from(self.shapes) + 2);
        let least = all.max(size_of::<Region>() as u64).next_multiple_of(16);
        (self.stats.limit.unwrap_or(u64::MAX).max(least).min(self.engine.largest_buffer())) & !15
    }

    /// Returns the number of rays whose records fit a buffer.
    fn most_rays(&self) -> usize {
        let record = size_of::<Ray>().max(size_of::<Hit>()) as u64;
        fit(self.limit() / record)
    }

    /// Returns the number of casts whose records fit a buffer.
    fn most_casts(&self) -> usize {
        fit(self.limit() / size_of::<Region>() as u64)
    }

    /// Returns the number of regions whose records fit a buffer and whose words can be counted in `u32` even if each
    /// region finds every shape.
    fn most_regions(&self) -> usize {
        let words = u64::from(RAY_ITEM_WORDS) * u64::from(self.shapes).max(1);
        let records = self.limit() / size_of::<Region>() as u64;
        fit(records.min(u64::from(u32::MAX) / words))
    }

    /// Records the queries `first .. end` of a kind of a batch, with capacity for `capacity` items.
    fn send(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        flat: &Flat,
        kind: RecordKind,
        first: usize,
        end: usize,
        capacity: u64,
    ) -> Result<QueryChunk, WorldError> {
        let dispatches = self.engine.dispatches;
        let count = u32::try_from(end - first).unwrap_or(u32::MAX);
        let words = u64::from(count) + 1;
        // At most every shape for every region, and at most one buffer.
        let all = u64::from(count) * u64::from(self.shapes) * u64::from(RAY_ITEM_WORDS);
        let most = (self.limit() / 4).saturating_sub(words);
        let capacity = capacity.max(MIN_ITEMS).min(all).min(most);
        let blocks = words.div_ceil(u64::from(SCAN_BLOCK));
        #[allow(clippy::cast_possible_truncation, reason = "at most all items, which are counted in u32")]
        let uniforms = [
            ("query_params", [count, capacity as u32, 0, 0]),
            ("scan_regions", [count + 1, 0, 0, 0]),
            ("blocks_regions", [blocks as u32, 0, 0, 0]),
        ];
        let (records, asked) = records(flat, kind, first..end);
        let (results, bytes) = if kind == RecordKind::Regions {
            self.make_room("region_block_sums", 4 * blocks)?;
            ("region_items", 4 * (words + capacity))
        } else {
            ("ray_hits", u64::from(count) * size_of::<Hit>() as u64)
        };
        self.make_room(records, asked.len() as u64)?;
        self.make_room(results, bytes)?;
        for (name, _) in uniforms {
            self.make_uniform(name);
        }

        let counts = uniforms.map(|(_, counts)| counts);
        self.put(encoder, &uniforms.map(|(name, _)| (name, UNIFORM_BYTES)), bytemuck::bytes_of(&counts));
        self.put(encoder, &[(records, asked.len() as u64)], asked);
        {
            let mut pass = encoder
                .begin_compute_pass(&wgpu::ComputePassDescriptor { label: Some("query"), timestamp_writes: None });
            // One layer: each ray or region names its world.
            let thresholds = self.engine.thresholds();
            let mut one_layer = |work: &Dispatch| self.engine.execute_in(&mut pass, work, 1);
            match kind {
                RecordKind::Rays => one_layer(&Dispatch::new("query_ray", count))?,
                RecordKind::Casts => one_layer(&Dispatch::new("query_cast", count))?,
                RecordKind::Regions => {
                    one_layer(&Dispatch::new("region_count", count + 1))?;
                    for work in scan("regions", count + 1, thresholds) {
                        one_layer(&work)?;
                    }
                    one_layer(&Dispatch::new("region_emit", count))?;
                }
            }
        }
        self.engine.dispatches = dispatches;
        self.stats.pieces += 1;
        // Leaves much larger spare buffers to batches that need them.
        let fits = |spare: &wgpu::Buffer| spare.size() >= bytes && spare.size() / 4 <= bytes.max(4096);
        let stats = &mut *self.stats;
        let spare = stats.spare_arrivals.iter().position(fits).map(|index| stats.spare_arrivals.swap_remove(index));
        stats.made += u64::from(spare.is_none());
        let arrival = Arrival::send(self.engine.context.device(), encoder, &self.engine.buffers[results], bytes, spare);
        Ok(QueryChunk { kind, first, end, capacity, state: QueryChunkState::InFlight(arrival) })
    }

    /// Records a copy into buffers, executed by the encoder: earlier pieces have used their contents by then.
    fn put(&self, encoder: &mut wgpu::CommandEncoder, to: &[(&'static str, u64)], contents: &[u8]) {
        let from = self.engine.context.buffer_with("queries", contents, wgpu::BufferUsages::COPY_SRC);
        let mut offset = 0;
        for &(name, bytes) in to {
            encoder.copy_buffer_to_buffer(&from, offset, &self.engine.buffers[name], 0, bytes);
            offset += bytes;
        }
    }

    /// Grows a buffer if it is too small, to 1.5 times the need within the limit. Recorded work keeps the old one
    /// alive.
    fn make_room(&mut self, name: &'static str, bytes: u64) -> Result<(), WorldError> {
        if self.engine.buffers.get(name).is_some_and(|buffer| buffer.size() >= bytes) {
            return Ok(());
        }
        self.engine.create(name, (bytes + bytes / 2).min(self.limit()).max(bytes))?;
        self.stats.made += 1;
        for kernel in KERNELS {
            self.engine.unbind(kernel);
        }
        Ok(())
    }

    fn make_uniform(&mut self, name: &'static str) {
        if self.engine.buffers.contains_key(name) {
            return;
        }
        let buffer = self.engine.context.device().create_buffer(&wgpu::BufferDescriptor {
            label: Some(name),
            size: UNIFORM_BYTES,
            usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        self.stats.made += 1;
        self.engine.buffers.insert(name, buffer);
    }
}

/// Returns the buffer that holds queries of a kind, and its contents for some of them.
fn records(flat: &Flat, kind: RecordKind, which: Range<usize>) -> (&'static str, &[u8]) {
    match kind {
        RecordKind::Rays => ("rays", bytemuck::cast_slice(&flat.rays[which])),
        RecordKind::Casts => ("regions", bytemuck::cast_slice(&flat.casts[which])),
        RecordKind::Regions => ("regions", bytemuck::cast_slice(&flat.regions[which])),
    }
}

/// Converts a count to `usize`, at least 1.
fn fit(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX).max(1)
}

/// Checks the number of shapes found so far against a limit, before more is read back.
///
/// # Errors
/// [`WorldError::TooManyFound`].
pub(super) fn check_found(pieces: &[QueryChunk], flat: &Flat, limit: usize) -> Result<(), WorldError> {
    if limit == usize::MAX {
        return Ok(());
    }
    let mut known: Vec<(usize, &[u32])> = Vec::new();
    for piece in pieces {
        if let QueryChunkState::Outgrown(_, starts) | QueryChunkState::Items(starts) = &piece.state {
            known.push((piece.first, &starts[..=piece.end - piece.first]));
        }
    }
    known.sort_unstable_by_key(|(first, _)| *first);
    let mut found = 0;
    for (first, starts) in known {
        for (region, ends) in (first..).zip(starts.windows(2)) {
            found += (ends[1] - ends[0]) as usize / flat.regions[region].words_per_item();
            if found > limit {
                return Err(WorldError::TooManyFound { index: flat.region_places[region], found, limit });
            }
        }
    }
    Ok(())
}

/// Combines the pieces of a batch into answers, in the order of the queries.
pub(super) fn collect(pieces: &mut [QueryChunk], flat: &Flat, body_of: impl Fn(usize, u32) -> BodyId) -> Answers {
    pieces.sort_by_key(|piece| (piece.kind, piece.first));
    let mut hits = Vec::with_capacity(flat.rays.len() + flat.casts.len());
    let mut lists = Vec::with_capacity(flat.regions.len());
    for piece in pieces {
        match &mut piece.state {
            QueryChunkState::InFlight(_) | QueryChunkState::Outgrown(..) => {}
            QueryChunkState::Hits(found) => hits.extend_from_slice(found),
            QueryChunkState::Items(words) => {
                let (starts, mut rest) = words.split_at_mut(piece.end - piece.first + 1);
                for pair in starts.windows(2) {
                    let (list, after) = rest.split_at_mut((pair[1] - pair[0]) as usize);
                    lists.push(list);
                    rest = after;
                }
            }
        }
    }
    Answers::new(flat, flat.count, body_of, &hits, lists)
}
