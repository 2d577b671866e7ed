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
use super::ask::{QueryChunk, QuerySender, SPARES, check_found, collect};
use crate::population::{BodyId, owner};
use crate::query::{Answers, Flat, Query, QueryBounds, QueryError};
use crate::step::{PlannedStage, Stage};
use crate::types::Params;
use crate::world::WorldError;

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
        let count = bounds.batch(queries.len(), self.host.compiled.shapes.len());
        let mut pending = self.query_async(&queries[..count])?;
        pending.limit = bounds.found;
        loop {
            self.engine.context.wait()?;
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
        let flat = Flat::new(queries)?;
        self.poll()?;
        let mut encoder = self.engine.encoder();
        let past = if flat.regions.is_empty() { Vec::new() } else { self.copy_state(&mut encoder) };
        let (compiled, population) = (&self.host.compiled, self.host.population.as_ref());
        let owners = || (0..).take(compiled.shapes.len()).map(|shape| owner(compiled, population, shape)).collect();
        let bodies = self.query_stats.bodies.get_or_insert_with(owners).clone();
        let mut pending = PendingQuery {
            flat,
            pieces: Vec::new(),
            world: self.query_stats.world.clone(),
            population: self.query_stats.population.clone(),
            params: self.host.compiled.params,
            bodies,
            past,
            limit: usize::MAX,
        };
        if pending.flat.count > 0 {
            self.build_grid(&mut encoder)?;
            pending.pieces = self.query_sender().send_all(&mut encoder, &pending.flat)?;
            self.submit(encoder)?;
        }
        Ok(pending)
    }

    /// Returns the answers if they have arrived. Does not wait.
    ///
    /// # Errors
    /// If the device is lost, the answers do not fit, or the queries were sent to another world.
    pub fn query_poll(&mut self, pending: &mut PendingQuery) -> Result<Option<Answers>, WorldError> {
        if !Arc::ptr_eq(&pending.world, &self.query_stats.world) {
            return Err(QueryError {
                index: 0,
                problem: "belongs to another world".to_owned(),
                expected: "a query of this world".to_owned(),
            }
            .into());
        }
        self.poll()?;
        for piece in &mut pending.pieces {
            piece.take(&mut self.query_stats)?;
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
        self.query_stats.limit = Some(bytes);
        self
    }

    /// Returns the number of pieces sent and of buffers created. For tests.
    #[doc(hidden)]
    #[must_use]
    pub fn query_effort(&self) -> [u64; 2] {
        [self.query_stats.pieces, self.query_stats.made]
    }

    /// Returns how often a batch, or a part of one, found more than fitted and was repeated.
    #[must_use]
    pub fn query_repeats(&self) -> u64 {
        self.query_stats.repeats
    }

    /// Repeats outgrown pieces with capacity for all their items, in the world as it was.
    fn repeat(&mut self, pending: &mut PendingQuery) -> Result<(), WorldError> {
        // Only capacities may differ otherwise, and queries do not use them.
        let moved_on = !Arc::ptr_eq(&pending.population, &self.query_stats.population);
        let params = self.host.compiled.params;
        if moved_on {
            self.host.compiled.params = pending.params;
            self.bind();
        }
        let repeated = self.repeat_in_place(pending);
        if moved_on {
            self.host.compiled.params = params;
            self.bind();
        }
        repeated
    }

    /// Repeats outgrown pieces on the past state, then restores the present one.
    fn repeat_in_place(&mut self, pending: &mut PendingQuery) -> Result<(), WorldError> {
        let mut encoder = self.engine.encoder();
        let present = self.copy_state(&mut encoder);
        self.put_state(&mut encoder, &pending.past);
        self.build_grid(&mut encoder)?;
        let mut fresh = self.query_sender().send_again(&mut encoder, &pending.flat, &pending.pieces)?;
        self.put_state(&mut encoder, &present);
        // Replaces the pieces once only a device loss can still fail.
        pending.pieces.retain(|piece| !piece.is_outgrown());
        pending.pieces.append(&mut fresh);
        self.submit(encoder)?;
        self.keep_state(present);
        Ok(())
    }

    fn query_sender(&mut self) -> QuerySender<'_> {
        let Self { engine, query_stats: stats, host, .. } = self;
        QuerySender { engine, stats, shapes: host.compiled.params.shape_count }
    }

    /// Records a copy of the [`STATE`] tables.
    fn copy_state(&mut self, encoder: &mut wgpu::CommandEncoder) -> Vec<wgpu::Buffer> {
        let from = STATE.map(|name| &self.engine.buffers[name]);
        let fits = |spare: &Vec<wgpu::Buffer>| spare.iter().zip(from).all(|(spare, from)| spare.size() == from.size());
        let stats = &mut self.query_stats;
        let copies = match stats.spare_pasts.iter().position(fits) {
            Some(index) => stats.spare_pasts.swap_remove(index),
            None => {
                // Copies of another size will never fit again.
                stats.spare_pasts.clear();
                stats.made += STATE.len() as u64;
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

    /// Keeps a copy that is no longer needed for the next query. Work submitted with it comes first.
    fn keep_state(&mut self, copies: Vec<wgpu::Buffer>) {
        if !copies.is_empty() && self.query_stats.spare_pasts.len() < SPARES {
            self.query_stats.spare_pasts.push(copies);
        }
    }

    /// Records a copy back into the [`STATE`] tables.
    fn put_state(&self, encoder: &mut wgpu::CommandEncoder, state: &[wgpu::Buffer]) {
        for (name, from) in STATE.iter().zip(state) {
            encoder.copy_buffer_to_buffer(from, 0, &self.engine.buffers[name], 0, from.size());
        }
    }

    /// Records the grid of the current poses. The grid tables belong to the last step's start, and each step rebuilds
    /// them, so overwriting them is safe.
    fn build_grid(&mut self, encoder: &mut wgpu::CommandEncoder) -> Result<(), WorldError> {
        let dispatches = self.engine.dispatches;
        let mut pass = encoder
            .begin_compute_pass(&wgpu::ComputePassDescriptor { label: Some("query grid"), timestamp_writes: None });
        for stage in [Stage::Bound, Stage::Bin] {
            self.run(&mut pass, PlannedStage { stage, flags: 0 })?;
        }
        self.engine.dispatches = dispatches;
        Ok(())
    }
}
