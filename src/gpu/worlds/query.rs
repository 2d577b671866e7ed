//! Queries about many worlds in one batch: the same dispatches build the grids of all worlds concerned, and each ray or
//! region runs in the world it names.

use std::collections::BTreeSet;

use super::slots::BatchSlots;
use crate::gpu::ask::{QuerySender, check_found, collect};
use crate::population::BodyId;
use crate::query::{Answers, Flat, Query};
use crate::step::{PlannedStage, Stage};
use crate::world_error::WorldError;

impl BatchSlots {
    /// Answers a batch of queries about the current state of occupied slots, if they find at most `limit` shapes;
    /// `contains` returns true if a world has a body, `body_of` the body of a shape in the world of a query. Waits for
    /// the device.
    ///
    /// # Errors
    /// The first query with a value out of range; or if the device is lost or the batch does not fit.
    pub fn query<'a>(
        &mut self,
        queries: &'a [(usize, Query)],
        limit: usize,
        contains: impl Fn(usize, BodyId) -> bool,
        body_of: impl Fn(usize, u32) -> BodyId,
    ) -> Result<Answers, WorldError> {
        let of_world = |(world, query): &'a (usize, Query)| (u32::try_from(*world).unwrap_or(u32::MAX), query);
        let flat = Flat::of(queries.iter().map(of_world), |world, body| contains(world as usize, body))?;
        if flat.count == 0 {
            return Ok(Answers::default());
        }
        self.poll()?;
        let mut encoder = self.engine.encoder();
        self.build_grids(&mut encoder, queries.iter().map(|&(world, _)| world).collect())?;
        let mut pieces = self.query_sender().send_all(&mut encoder, &flat)?;
        loop {
            self.engine.context.queue().submit([encoder.finish()]);
            self.engine.context.wait()?;
            self.poll()?;
            for piece in &mut pieces {
                piece.take(&mut self.query_stats)?;
            }
            check_found(&pieces, &flat, limit)?;
            if !pieces.iter().any(|piece| piece.is_outgrown() || piece.is_in_flight()) {
                break;
            }
            // The grids are still current: no world has stepped.
            encoder = self.engine.encoder();
            let mut fresh = self.query_sender().send_again(&mut encoder, &flat, &pieces)?;
            pieces.retain(|piece| !piece.is_outgrown());
            pieces.append(&mut fresh);
        }
        Ok(collect(&mut pieces, &flat, body_of))
    }

    pub fn query_sender(&mut self) -> QuerySender<'_> {
        let Self { engine, query_stats: stats, bounds, .. } = self;
        QuerySender { engine, stats, shapes: bounds.params.shape_count }
    }

    /// Records the grids of the queried worlds. The grid tables belong to the last step's start, and each step rebuilds
    /// them, so overwriting them is safe.
    pub fn build_grids(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        which: BTreeSet<usize>,
    ) -> Result<(), WorldError> {
        #[allow(clippy::cast_possible_truncation, reason = "worlds are counted in u32")]
        let layers: Vec<u32> = which.into_iter().map(|world| world as u32).collect();
        self.engine.set_layers(&layers);
        let dispatches = self.engine.dispatches;
        let mut pass = encoder
            .begin_compute_pass(&wgpu::ComputePassDescriptor { label: Some("query grids"), timestamp_writes: None });
        for stage in [Stage::Bound, Stage::Bin] {
            self.engine.run(&mut pass, PlannedStage { stage, flags: 0 }, &self.bounds, None)?;
        }
        self.engine.dispatches = dispatches;
        Ok(())
    }
}
