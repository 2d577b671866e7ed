//! Steps of a batch on their way: the bounds of the one that is recorded, and the results and poses in flight.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use glam::Vec2;

use crate::body_view::BodyTransform;
use crate::gpu::context::SubmittedWork;
use crate::gpu::readback::Arrival;
use crate::gpu::record::DispatchBounds;
use crate::population::BodyId;

/// Worlds of a step and their dispatch bounds.
#[derive(Debug)]
pub(in crate::gpu) struct BatchStep {
    /// Slots of the worlds, in the order of the call.
    pub which: Vec<usize>,
    /// Dispatch bounds of all of them together.
    pub bounds: DispatchBounds,
}

/// A world's share of a step in flight.
#[derive(Debug)]
pub(in crate::gpu) struct InFlightStep {
    pub slot: usize,
    pub step: u64,
    /// Index of the world's event count among its `event_starts`.
    pub last: usize,
}

/// Results of a step, in flight to the host.
#[derive(Debug)]
pub(in crate::gpu) struct InFlight {
    pub arrival: Arrival,
    /// Work up to the step; `None` if the caller submits the recording.
    pub submitted: Option<SubmittedWork>,
    /// Worlds that took part.
    pub steps: Vec<InFlightStep>,
    /// Range of slots whose counters and events are read back.
    pub span: Range<usize>,
    /// Words of `event_starts` per world that are read back: 0 without events, 1 for the count of one world alone.
    pub starts: usize,
    /// Event capacity per world.
    pub events: usize,
}

/// Copies of the poses in flight to the host, and the latest that arrived.
#[derive(Debug, Default)]
pub(in crate::gpu) struct SentPoses {
    /// Copies in flight, oldest first.
    pub copies: VecDeque<PoseCopy>,
    pub newest: Option<(u64, Vec<BodyTransform>)>,
    /// Bodies with their centres of mass, and the population history they belong to.
    pub bodies: Option<(u64, BodyCenters)>,
    pub spare: Option<wgpu::Buffer>,
}

/// Existing bodies, with the local centre of mass of each.
pub(in crate::gpu) type BodyCenters = Arc<[(BodyId, Vec2)]>;

/// Copy of the poses in flight.
#[derive(Debug)]
pub(in crate::gpu) struct PoseCopy {
    pub step: u64,
    pub bodies: BodyCenters,
    pub poses: Arrival,
}
