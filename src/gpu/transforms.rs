//! Places of bodies on their way from the device: waiting for them, or without.

use std::collections::VecDeque;
use std::sync::Arc;

use glam::Vec2;

use super::GpuWorld;
use super::readback::{Arrival, cast, download};
use crate::body_view::{BodyTransform, BodyView, transforms_of};
use crate::population::{BodyId, Population, living, slot_of};
use crate::types::{BodyState, Pose};
use crate::world::WorldError;

/// Copies that may be on their way at a time.
const MAX_ON_THEIR_WAY: usize = 3;

/// Copies of the poses on their way to the host, and the newest that came.
#[derive(Debug, Default)]
pub(super) struct Sent {
    /// Oldest first.
    copies: VecDeque<PoseCopy>,
    newest: Option<(u64, Vec<BodyTransform>)>,
    /// Bodies with their centres of mass, and the population that has them.
    bodies: Option<(u64, Bodies)>,
    spare: Option<wgpu::Buffer>,
}

/// Bodies that there are, with the centre of mass of each in its frame.
type Bodies = Arc<[(BodyId, Vec2)]>;

#[derive(Debug)]
struct PoseCopy {
    step: u64,
    bodies: Bodies,
    poses: Arrival,
}

impl GpuWorld {
    /// Returns a body as it is now. A body of the scene may be given by its index. Waits for the device.
    ///
    /// # Errors
    /// If there is no such body, or no longer; if the device is lost or a step was given up.
    pub fn body(&self, body: impl Into<BodyId>) -> Result<BodyView, WorldError> {
        let id = body.into();
        let slot = slot_of(&self.host.compiled, self.host.population.as_ref(), id)? as u64;
        self.check_given_up()?;
        let row = |name, bytes: usize| (&self.engine.buffers[name], slot * bytes as u64, bytes as u64);
        let wanted = [row("poses", size_of::<Pose>()), row("states", size_of::<BodyState>())];
        let parts = download(&self.engine.context, &wanted)?;
        let (poses, states) = (cast::<Pose>(&parts[0]), cast::<BodyState>(&parts[1]));
        Ok(BodyView::new(&self.host.compiled, id, poses[0], states[0]))
    }

    /// Writes the place of every body as it is now, by slot. Waits for the device.
    ///
    /// # Errors
    /// If the device is lost or a step was given up.
    pub fn transforms(&mut self, out: &mut Vec<BodyTransform>) -> Result<(), WorldError> {
        self.check_given_up()?;
        let poses = self.read_poses()?;
        transforms_of(&self.host.compiled, self.host.population.as_ref(), &poses, out);
        Ok(())
    }

    /// Writes the newest places of all bodies that came back from the device, and returns how many steps were done then.
    /// Sends a copy of the present ones on its way, and waits for nothing. Steps that were recorded should be submitted
    /// before. `None`: none has come back yet, and `out` is empty.
    ///
    /// # Errors
    /// If the device is lost or a step was given up.
    pub fn transforms_latest(&mut self, out: &mut Vec<BodyTransform>) -> Result<Option<u64>, WorldError> {
        self.check_given_up()?;
        self.poll()?;
        self.take_copies()?;
        let is_new = self.transforms.copies.back().is_none_or(|copy| copy.step != self.host.steps);
        if is_new && self.transforms.copies.len() < MAX_ON_THEIR_WAY {
            self.send_copy()?;
        }
        out.clear();
        Ok(self.transforms.newest.as_ref().map(|(step, places)| {
            out.extend_from_slice(places);
            *step
        }))
    }

    /// Bodies that there are, by slot.
    pub fn bodies(&self) -> impl Iterator<Item = BodyId> + '_ {
        living(&self.host.compiled, self.host.population.as_ref())
    }

    fn check_given_up(&self) -> Result<(), WorldError> {
        if self.host.limits.has_given_up() { Err(WorldError::Cancelled) } else { Ok(()) }
    }

    /// Takes in the copies that came back.
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

    fn bodies_with_centers(&mut self) -> Bodies {
        let population = self.host.population.as_ref();
        let history = Population::history(population);
        match &self.transforms.bodies {
            Some((then, bodies)) if *then == history => bodies.clone(),
            _ => {
                let center = |id: BodyId| (id, self.host.compiled.mass[id.index as usize].center);
                let bodies: Bodies = living(&self.host.compiled, population).map(center).collect();
                self.transforms.bodies = Some((history, bodies.clone()));
                bodies
            }
        }
    }
}
