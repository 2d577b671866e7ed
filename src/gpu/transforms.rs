//! Body transforms read back from the device, waiting or without waiting.

use std::collections::VecDeque;
use std::sync::Arc;

use glam::Vec2;

use super::GpuWorld;
use super::readback::{Arrival, cast, download};
use crate::body_view::{BodyTransform, BodyView, transforms_of};
use crate::population::{BodyId, Population, living, slot_of};
use crate::types::{BodyState, Pose};
use crate::world::WorldError;

/// Maximum number of copies in flight.
const MAX_IN_FLIGHT: usize = 3;

/// Copies of the poses in flight to the host, and the latest that arrived.
#[derive(Debug, Default)]
pub(super) struct Sent {
    /// Copies in flight, oldest first.
    copies: VecDeque<PoseCopy>,
    newest: Option<(u64, Vec<BodyTransform>)>,
    /// Bodies with their centres of mass, and the population history they belong to.
    bodies: Option<(u64, BodyCenters)>,
    spare: Option<wgpu::Buffer>,
}

/// Existing bodies, with the local centre of mass of each.
type BodyCenters = Arc<[(BodyId, Vec2)]>;

/// Copy of the poses in flight.
#[derive(Debug)]
struct PoseCopy {
    step: u64,
    bodies: BodyCenters,
    poses: Arrival,
}

impl GpuWorld {
    /// Returns the current state of a body. A body of the scene may be given by its index. Waits for the device.
    ///
    /// # Errors
    /// If the body does not or no longer exists; if the device is lost or a step was cancelled.
    pub fn body(&self, body: impl Into<BodyId>) -> Result<BodyView, WorldError> {
        let id = body.into();
        let slot = slot_of(&self.host.compiled, self.host.population.as_ref(), id)? as u64;
        self.check_cancelled()?;
        let row = |name, bytes: usize| (&self.engine.buffers[name], slot * bytes as u64, bytes as u64);
        let wanted = [row("poses", size_of::<Pose>()), row("states", size_of::<BodyState>())];
        let parts = download(&self.engine.context, &wanted)?;
        let (poses, states) = (cast::<Pose>(&parts[0]), cast::<BodyState>(&parts[1]));
        Ok(BodyView::new(&self.host.compiled, id, poses[0], states[0]))
    }

    /// Writes the current transforms of all bodies, by slot. Waits for the device.
    ///
    /// # Errors
    /// If the device is lost or a step was cancelled.
    pub fn transforms(&mut self, out: &mut Vec<BodyTransform>) -> Result<(), WorldError> {
        self.check_cancelled()?;
        let poses = self.read_poses()?;
        transforms_of(&self.host.compiled, self.host.population.as_ref(), &poses, out);
        Ok(())
    }

    /// Writes the latest transforms that have arrived and returns their step count; `None`, and an empty `out`, while
    /// none has arrived. Starts a copy of the present ones and never waits. Submit recorded steps before the call.
    ///
    /// # Errors
    /// If the device is lost or a step was cancelled.
    pub fn transforms_latest(&mut self, out: &mut Vec<BodyTransform>) -> Result<Option<u64>, WorldError> {
        self.check_cancelled()?;
        self.poll()?;
        self.take_copies()?;
        let is_new = self.transforms.copies.back().is_none_or(|copy| copy.step != self.host.steps);
        if is_new && self.transforms.copies.len() < MAX_IN_FLIGHT {
            self.send_copy()?;
        }
        out.clear();
        Ok(self.transforms.newest.as_ref().map(|(step, places)| {
            out.extend_from_slice(places);
            *step
        }))
    }

    /// Iterates over all existing bodies, by slot.
    pub fn bodies(&self) -> impl Iterator<Item = BodyId> + '_ {
        living(&self.host.compiled, self.host.population.as_ref())
    }

    /// Returns an error if a step was cancelled.
    fn check_cancelled(&self) -> Result<(), WorldError> {
        if self.host.limits.has_given_up() { Err(WorldError::Cancelled) } else { Ok(()) }
    }

    /// Processes the copies that have arrived.
    fn take_copies(&mut self) -> Result<(), WorldError> {
        while let Some(copy) = self.transforms.copies.front() {
            let Some(bytes) = copy.poses.take()? else { break };
            let Some(mut copy) = self.transforms.copies.pop_front() else { break };
            self.transforms.spare = copy.poses.buffer();
            let poses: Vec<Pose> = cast(&bytes);
            let mut places = self.transforms.newest.take().map(|(_, places)| places).unwrap_or_default();
            places.clear();
            let place = |&(id, center): &(BodyId, Vec2)| BodyTransform::new(id, poses[id.index as usize], center);
            places.extend(copy.bodies.iter().map(place));
            self.transforms.newest = Some((copy.step, places));
        }
        Ok(())
    }

    /// Starts a copy of the current poses.
    fn send_copy(&mut self) -> Result<(), WorldError> {
        let bodies = self.bodies_with_centers();
        let bytes = self.host.compiled.poses.len() as u64 * size_of::<Pose>() as u64;
        if bytes == 0 {
            self.transforms.newest = Some((self.host.steps, Vec::new()));
            return Ok(());
        }
        let mut encoder = self.engine.encoder();
        let spare = self.transforms.spare.take();
        let context = &self.engine.context;
        let poses = Arrival::send(context.device(), &mut encoder, &self.engine.buffers["poses"], bytes, spare);
        context.note_sent(1, bytes);
        self.transforms.copies.push_back(PoseCopy { step: self.host.steps, bodies, poses });
        self.submit(encoder)
    }

    fn bodies_with_centers(&mut self) -> BodyCenters {
        let population = self.host.population.as_ref();
        let history = Population::history(population);
        match &self.transforms.bodies {
            Some((then, bodies)) if *then == history => bodies.clone(),
            _ => {
                let center = |id: BodyId| (id, self.host.compiled.mass[id.index as usize].center);
                let bodies: BodyCenters = living(&self.host.compiled, population).map(center).collect();
                self.transforms.bodies = Some((history, bodies.clone()));
                bodies
            }
        }
    }
}
