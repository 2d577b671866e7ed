//! Spatial queries on the device: the grid is built for the current poses, then each query runs in one thread.
//!
//! A ray has one result. Results of regions are counted, scanned and written, into a buffer whose capacity is an
//! estimate. A batch that finds more is repeated with capacity for all results, from a copy of the poses made when it
//! was first sent, so that answers read later still belong to that time.
//!
//! Buffers are reused by later batches, and grow. A batch larger than a buffer is sent in pieces. They share the same
//! buffers one after the other, so the encoder copies each piece's queries into place just before it runs them.

use std::sync::Arc;

use super::GpuWorld;
use super::ask::{QueryChunk, SPARES, check_found, collect};
use super::worlds::{BatchSlots, GpuWorlds};
use crate::host::Host;
use crate::population::{BodyId, owner};
use crate::query::{Answers, Flat, Query, QueryBounds, QueryError};
use crate::types::Params;
use crate::world_error::WorldError;

/// Tables that queries read, copied for a later repeat.
const STATE: [&str; 4] = ["poses", "states", "shapes", "vertices"];

/// Queries in flight. Dropping the value discards them.
#[derive(Debug)]
pub struct PendingQuery {
    flat: Flat,
    pieces: Vec<QueryChunk>,
    /// Identity of the queried world.
    world: Arc<()>,
    /// Identity of its population, its constants, and the body of each shape, at the time of the query.
    population: Arc<()>,
    params: Params,
    bodies: Arc<[BodyId]>,
    /// Copy of the [`STATE`] tables at that time, if there are regions.
    past: Vec<wgpu::Buffer>,
    /// Maximum number of shapes to be found.
    limit: usize,
}

impl GpuWorld {
    /// Answers a batch of queries about the world's current state ([`query`](crate::low_level::query)). Waits for the
    /// device.
    ///
    /// # Errors
    /// The first query with a value out of range; or if the device is lost or the batch does not fit.
    pub fn query(&mut self, queries: &[Query]) -> Result<Answers, WorldError> {
        self.query_within(queries, QueryBounds::default())
    }

    /// Answers as many of a batch of queries as the bounds allow, in order. Waits for the device.
    ///
    /// # Errors
    /// Those of [`Self::query`]; [`WorldError::TooManyFound`].
    pub fn query_within(&mut self, queries: &[Query], bounds: QueryBounds) -> Result<Answers, WorldError> {
        let count = bounds.batch(queries.len(), self.compiled().shapes.len());
        let mut pending = self.query_async(&queries[..count])?;
        pending.limit = bounds.found;
        loop {
            self.engine().context.wait()?;
            if let Some(answers) = self.query_poll(&mut pending)? {
                return Ok(answers);
            }
        }
    }

    /// Sends a batch of queries about the world's state after all steps submitted so far, and returns without waiting.
    /// Later steps do not change the answers.
    ///
    /// # Errors
    /// Those of [`Self::query`].
    pub fn query_async(&mut self, queries: &[Query]) -> Result<PendingQuery, WorldError> {
        let flat = Flat::new(queries, |body| self.host().slot_of(body).is_ok())?;
        self.poll()?;
        let mut encoder = self.engine().encoder();
        let past = if flat.regions.is_empty() { Vec::new() } else { self.copy_state(&mut encoder) };
        let GpuWorlds { slots: BatchSlots { query_stats, .. }, world_hosts } = &mut self.batch;
        let Host { compiled, population, .. } = &world_hosts[0].host;
        let owners = || (0..).take(compiled.shapes.len()).map(|shape| owner(compiled, population.as_ref(), shape));
        let bodies = query_stats.bodies.get_or_insert_with(|| owners().collect()).clone();
        let mut pending = PendingQuery {
            flat,
            pieces: Vec::new(),
            world: query_stats.world.clone(),
            population: query_stats.population.clone(),
            params: compiled.params,
            bodies,
            past,
            limit: usize::MAX,
        };
        if pending.flat.count > 0 {
            let slots = &mut self.batch.slots;
            slots.build_grids(&mut encoder, [0].into())?;
            pending.pieces = slots.query_sender().send_all(&mut encoder, &pending.flat)?;
            self.submit(encoder)?;
        }
        Ok(pending)
    }

    /// Returns the answers if they have arrived. Does not wait.
    ///
    /// # Errors
    /// If the device is lost, the answers do not fit, or the queries were sent to another world.
    pub fn query_poll(&mut self, pending: &mut PendingQuery) -> Result<Option<Answers>, WorldError> {
        if !Arc::ptr_eq(&pending.world, &self.batch.slots.query_stats.world) {
            return Err(QueryError {
                index: 0,
                problem: "belongs to another world".to_owned(),
                expected: "a query of this world".to_owned(),
            }
            .into());
        }
        self.poll()?;
        for piece in &mut pending.pieces {
            piece.take(&mut self.batch.slots.query_stats)?;
        }
        check_found(&pending.pieces, &pending.flat, pending.limit)?;
        if pending.pieces.iter().any(QueryChunk::is_outgrown) {
            self.repeat(pending)?;
        }
        if pending.pieces.iter().any(QueryChunk::is_in_flight) {
            return Ok(None);
        }
        self.keep_state(std::mem::take(&mut pending.past));
        let PendingQuery { flat, pieces, bodies, .. } = pending;
        Ok(Some(collect(pieces, flat, |_, shape| bodies[shape as usize])))
    }

    /// Limits the query buffers to fewer bytes than the device allows. For tests.
    #[doc(hidden)]
    #[must_use]
    pub fn with_query_limit(mut self, bytes: u64) -> Self {
        self.batch.slots.query_stats.limit = Some(bytes);
        self
    }

    /// Returns the number of pieces sent and of buffers created. For tests.
    #[doc(hidden)]
    #[must_use]
    pub fn query_effort(&self) -> [u64; 2] {
        [self.batch.slots.query_stats.pieces, self.batch.slots.query_stats.made]
    }

    /// Returns how often a batch, or a part of one, found more than fitted and was repeated.
    #[must_use]
    pub fn query_repeats(&self) -> u64 {
        self.batch.slots.query_stats.repeats
    }

    /// Repeats outgrown pieces with capacity for all their items, in the world as it was.
    fn repeat(&mut self, pending: &mut PendingQuery) -> Result<(), WorldError> {
        // Only capacities may differ otherwise, and queries do not use them.
        let moved_on = !Arc::ptr_eq(&pending.population, &self.batch.slots.query_stats.population);
        let params = self.compiled().params;
        if moved_on {
            self.host_mut().compiled.params = pending.params;
            self.rebind();
        }
        let repeated = self.repeat_in_place(pending);
        if moved_on {
            self.host_mut().compiled.params = params;
            self.rebind();
        }
        repeated
    }

    /// Repeats outgrown pieces on the past state, then restores the present one.
    fn repeat_in_place(&mut self, pending: &mut PendingQuery) -> Result<(), WorldError> {
        let mut encoder = self.engine().encoder();
        let present = self.copy_state(&mut encoder);
        self.put_state(&mut encoder, &pending.past);
        let slots = &mut self.batch.slots;
        slots.build_grids(&mut encoder, [0].into())?;
        let mut fresh = slots.query_sender().send_again(&mut encoder, &pending.flat, &pending.pieces)?;
        self.put_state(&mut encoder, &present);
        // Replaces the pieces once only a device loss can still fail.
        pending.pieces.retain(|piece| !piece.is_outgrown());
        pending.pieces.append(&mut fresh);
        self.submit(encoder)?;
        self.keep_state(present);
        Ok(())
    }

    /// Records a copy of the [`STATE`] tables.
    fn copy_state(&mut self, encoder: &mut wgpu::CommandEncoder) -> Vec<wgpu::Buffer> {
        let BatchSlots { engine, query_stats: stats, .. } = &mut self.batch.slots;
        let from = STATE.map(|name| &engine.buffers[name]);
        let fits = |spare: &Vec<wgpu::Buffer>| spare.iter().zip(from).all(|(spare, from)| spare.size() == from.size());
        let copies = match stats.spare_pasts.iter().position(fits) {
            Some(index) => stats.spare_pasts.swap_remove(index),
            None => {
                // Copies of another size will never fit again.
                stats.spare_pasts.clear();
                stats.made += STATE.len() as u64;
                let usage = wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
                let device = engine.context.device();
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

    /// Keeps a copy that is no longer needed for the next query. Work submitted with it comes first.
    fn keep_state(&mut self, copies: Vec<wgpu::Buffer>) {
        if !copies.is_empty() && self.batch.slots.query_stats.spare_pasts.len() < SPARES {
            self.batch.slots.query_stats.spare_pasts.push(copies);
        }
    }

    /// Records a copy back into the [`STATE`] tables.
    fn put_state(&self, encoder: &mut wgpu::CommandEncoder, state: &[wgpu::Buffer]) {
        for (name, from) in STATE.iter().zip(state) {
            encoder.copy_buffer_to_buffer(from, 0, &self.engine().buffers[name], 0, from.size());
        }
    }
}
