//! Body transforms read back from the device, waiting or without waiting.

use glam::Vec2;

use super::GpuWorld;
use super::context::note_read_back;
use super::readback::{Arrival, cast, download};
use super::worlds::{BodyCenters, GpuWorlds, PoseCopy, SentPoses};
use crate::body_view::{BodyTransform, BodyView, transforms_of};
use crate::command::slot_of;
use crate::host::Host;
use crate::population::{BodyId, Population, living};
use crate::types::{BodyState, Pose};
use crate::world_error::WorldError;

/// Maximum number of copies in flight.
const MAX_IN_FLIGHT: usize = 3;

impl GpuWorld {
    /// Returns the current state of a body. A body of the scene may be given by its index. Waits for the device.
    ///
    /// # Errors
    /// If the body does not or no longer exists; if the device is lost or a step was cancelled.
    pub fn body(&self, body: impl Into<BodyId>) -> Result<BodyView, WorldError> {
        let id = body.into();
        let slot = slot_of(self.compiled(), self.host().population.as_ref(), id)? as u64;
        self.check_cancelled()?;
        let row = |name, bytes: usize| (&self.engine().buffers[name], slot * bytes as u64, bytes as u64);
        let wanted = [row("poses", size_of::<Pose>()), row("states", size_of::<BodyState>())];
        let parts = download(&self.engine().context, &wanted)?;
        let (poses, states) = (cast::<Pose>(&parts[0]), cast::<BodyState>(&parts[1]));
        Ok(BodyView::new(self.compiled(), id, poses[0], states[0]))
    }

    /// Writes the current transforms of all bodies, by slot. Waits for the device.
    ///
    /// # Errors
    /// If the device is lost or a step was cancelled.
    pub fn transforms(&mut self, out: &mut Vec<BodyTransform>) -> Result<(), WorldError> {
        self.check_cancelled()?;
        let poses = self.read_poses()?;
        transforms_of(self.compiled(), self.host().population.as_ref(), &poses, out);
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
        let (steps, copies) = (self.steps(), &self.sent().copies);
        if copies.len() < MAX_IN_FLIGHT && copies.back().is_none_or(|copy| copy.step != steps) {
            self.send_copy()?;
        }
        out.clear();
        Ok(self.sent().newest.as_ref().map(|(step, places)| {
            out.extend_from_slice(places);
            *step
        }))
    }

    /// Iterates over all existing bodies, by slot.
    pub fn bodies(&self) -> impl Iterator<Item = BodyId> + '_ {
        living(self.compiled(), self.host().population.as_ref())
    }

    /// Returns an error if a step was cancelled.
    fn check_cancelled(&self) -> Result<(), WorldError> {
        if self.host().limits.has_given_up() { Err(WorldError::Cancelled) } else { Ok(()) }
    }

    /// Processes the copies that have arrived.
    fn take_copies(&mut self) -> Result<(), WorldError> {
        let sent = self.sent();
        while let Some(copy) = sent.copies.front() {
            let Some(bytes) = copy.poses.take()? else { break };
            let Some(mut copy) = sent.copies.pop_front() else { break };
            sent.spare = copy.poses.buffer();
            let poses: Vec<Pose> = cast(&bytes);
            let mut places = sent.newest.take().map(|(_, places)| places).unwrap_or_default();
            places.clear();
            let place = |&(id, center): &(BodyId, Vec2)| BodyTransform::new(id, poses[id.index as usize], center);
            places.extend(copy.bodies.iter().map(place));
            sent.newest = Some((copy.step, places));
        }
        Ok(())
    }

    /// Starts a copy of the current poses.
    fn send_copy(&mut self) -> Result<(), WorldError> {
        let bodies = self.bodies_with_centers();
        let (step, bytes) = (self.steps(), self.compiled().poses.len() as u64 * size_of::<Pose>() as u64);
        if bytes == 0 {
            self.sent().newest = Some((step, Vec::new()));
            return Ok(());
        }
        let mut encoder = self.engine().encoder();
        let spare = self.sent().spare.take();
        let context = &self.engine().context;
        let poses = Arrival::send(context.device(), &mut encoder, &self.engine().buffers["poses"], bytes, spare);
        note_read_back(context, 1, bytes);
        self.sent().copies.push_back(PoseCopy { step, bodies, poses });
        self.submit(encoder)
    }

    fn bodies_with_centers(&mut self) -> BodyCenters {
        let GpuWorlds { slots, world_hosts } = &mut self.batch;
        let Host { compiled, population, .. } = &world_hosts[0].host;
        let history = Population::history(population.as_ref());
        match &slots.all[0].transforms.bodies {
            Some((then, bodies)) if *then == history => bodies.clone(),
            _ => {
                let center = |id: BodyId| (id, compiled.mass[id.index as usize].center);
                let bodies: BodyCenters = living(compiled, population.as_ref()).map(center).collect();
                slots.all[0].transforms.bodies = Some((history, bodies.clone()));
                bodies
            }
        }
    }

    fn sent(&mut self) -> &mut SentPoses {
        &mut self.batch.slots.all[0].transforms
    }
}
