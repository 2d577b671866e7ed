//! Queries on the device: the grid is laid for the present poses, then one thread answers one query.
//!
//! Rays have one answer each. What regions find is counted, scanned and written; the room for it is a guess. A batch that
//! finds more is run again with room for all, from a copy of the poses that it began with, so that an answer that is
//! asked for later is still of its time.
//!
//! Buffers stay for the next batch, and grow. A batch larger than a buffer may be goes in pieces; all of them use the
//! same buffers, one after the other, so what a piece asks is copied to its place by the encoder that answers it.

use std::sync::Arc;

use super::GpuWorld;
use super::ask::{Asker, Piece, SPARES, check_found, collect};
use crate::population::{BodyId, owner};
use crate::query::{Answers, Flat, Query, QueryBounds, QueryError};
use crate::step::{Op, Stage};
use crate::types::Params;
use crate::world::WorldError;

/// What queries are about, and what is kept of it to look at the past.
const STATE: [&str; 4] = ["poses", "states", "shapes", "vertices"];

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
    bodies: Arc<[BodyId]>,
    /// Its [`STATE`] at the time, if there are regions.
    past: Vec<wgpu::Buffer>,
    /// Shapes that may be found.
    limit: usize,
}

impl GpuWorld {
    /// Answers a batch of queries about the world as it is now ([`query`](crate::low_level::query)). Waits for the device.
    ///
    /// # Errors
    /// The first query with a value out of range; if the device is lost or has no room for the batch.
    pub fn query(&mut self, queries: &[Query]) -> Result<Answers, WorldError> {
        self.query_within(queries, QueryBounds::default())
    }

    /// Answers a batch of queries as [`Self::query`], or the first of them, within bounds. Waits for the device.
    ///
    /// # Errors
    /// As [`Self::query`]; [`WorldError::TooManyFound`].
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

    /// Sends a batch of queries about the world as it is after all steps submitted so far, and returns without waiting.
    /// Steps may go on meanwhile; the answers do not change.
    ///
    /// # Errors
    /// As [`Self::query`].
    pub fn query_async(&mut self, queries: &[Query]) -> Result<PendingQuery, WorldError> {
        let flat = Flat::new(queries)?;
        self.poll()?;
        let mut encoder = self.engine.encoder();
        let past = if flat.regions.is_empty() { Vec::new() } else { self.copy_state(&mut encoder) };
        let (compiled, population) = (&self.host.compiled, self.host.population.as_ref());
        let owners = || (0..).take(compiled.shapes.len()).map(|shape| owner(compiled, population, shape)).collect();
        let bodies = self.query_load.bodies.get_or_insert_with(owners).clone();
        let mut pending = PendingQuery {
            flat,
            pieces: Vec::new(),
            world: self.query_load.world.clone(),
            population: self.query_load.population.clone(),
            params: self.host.compiled.params,
            bodies,
            past,
            limit: usize::MAX,
        };
        if pending.flat.count > 0 {
            self.lay_grid(&mut encoder)?;
            pending.pieces = self.asker().send_all(&mut encoder, &pending.flat)?;
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
            piece.take(&mut self.query_load)?;
        }
        check_found(&pending.pieces, &pending.flat, pending.limit)?;
        if pending.pieces.iter().any(Piece::is_outgrown) {
            self.repeat(pending)?;
        }
        if pending.pieces.iter().any(Piece::is_on_its_way) {
            return Ok(None);
        }
        self.keep_state(std::mem::take(&mut pending.past));
        let PendingQuery { flat, pieces, bodies, .. } = pending;
        Ok(Some(collect(pieces, flat, |_, shape| bodies[shape as usize])))
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

    fn repeat_in_place(&mut self, pending: &mut PendingQuery) -> Result<(), WorldError> {
        let mut encoder = self.engine.encoder();
        let present = self.copy_state(&mut encoder);
        self.put_state(&mut encoder, &pending.past);
        self.lay_grid(&mut encoder)?;
        let mut fresh = self.asker().send_again(&mut encoder, &pending.flat, &pending.pieces)?;
        self.put_state(&mut encoder, &present);
        // Pieces are exchanged once nothing can fail any more but the device.
        pending.pieces.retain(|piece| !piece.is_outgrown());
        pending.pieces.append(&mut fresh);
        self.submit(encoder)?;
        self.keep_state(present);
        Ok(())
    }

    fn asker(&mut self) -> Asker<'_> {
        let Self { engine, query_load: load, host, .. } = self;
        Asker { engine, load, shapes: host.compiled.params.shape_count }
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
}
