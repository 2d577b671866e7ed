//! What comes and goes among many worlds: bodies and joints in each, and worlds themselves.

use super::{Inner, WorldBatch};
use crate::cpu::CpuWorld;
use crate::population::{BodyId, JointId};
use crate::scene::{Body, Compiled, Joint, Scene};
use crate::snapshot::Snapshot;
use crate::world::WorldError;

impl WorldBatch {
    /// Adds bodies to a world: all of them or, with an error, none. They take part from its next step on. Slots of bodies
    /// that were removed are given out again, the lowest first, once it has done a step without them. The other worlds notice
    /// nothing. Nothing waits.
    ///
    /// ```
    /// use drystone::{Body, Scene, Shape, WorldBatch};
    ///
    /// let mut worlds = WorldBatch::on_cpu(&vec![Scene::new("rain"); 3], 1)?;
    /// let ids = worlds.add_bodies(1, &[Body::dynamic(0.0, 4.0).shape(Shape::circle(0.5))])?;
    /// worlds.step()?;
    /// assert_eq!([0, 1].map(|world| worlds.bodies().map(|rows| rows.poses(world).len()).ok()), [Some(0), Some(1)]);
    /// worlds.remove_bodies(1, &ids)?;
    /// # Ok::<(), drystone::WorldError>(())
    /// ```
    ///
    /// # Errors
    /// If there is no such world; the first value that is out of range, as for a scene; more than 16 half planes beside
    /// those of the scene; or if they do not fit the device.
    pub fn add_bodies(&mut self, world: usize, bodies: &[Body]) -> Result<Vec<BodyId>, WorldError> {
        self.in_world(world, |engine| engine.add_bodies(bodies))?
    }

    /// Removes bodies and their joints from a world: all of them or, with an error, none. Nothing waits.
    ///
    /// # Errors
    /// If there is no such world, a body is not there, or no longer, or given twice; or the device is lost.
    pub fn remove_bodies(&mut self, world: usize, ids: &[BodyId]) -> Result<(), WorldError> {
        self.in_world(world, |engine| engine.remove_bodies(ids))?
    }

    /// Adds joints to a world: all of them or, with an error, none, as [`World::add_joints`](crate::World::add_joints).
    ///
    /// # Errors
    /// If there is no such world; the first value that is out of range, as for a scene; or if they do not fit the device.
    pub fn add_joints(&mut self, world: usize, joints: &[Joint]) -> Result<Vec<JointId>, WorldError> {
        self.in_world(world, |engine| engine.add_joints(joints))?
    }

    /// As [`Self::add_joints`], of bodies by their ids: `None` is the world. What the joints say of their bodies is not
    /// looked at. So a joint never ties the newcomer in a slot whose body has gone.
    ///
    /// # Errors
    /// If a body is not there, or no longer; else as [`Self::add_joints`].
    pub fn add_joints_between(
        &mut self,
        world: usize,
        joints: &[(Option<BodyId>, BodyId, Joint)],
    ) -> Result<Vec<JointId>, WorldError> {
        self.in_world(world, |engine| engine.add_joints_between(joints))?
    }

    /// Removes joints from a world: all of them or, with an error, none. Their bodies touch again.
    ///
    /// # Errors
    /// If there is no such world, a joint is not there, or no longer, or given twice; or the device is lost.
    pub fn remove_joints(&mut self, world: usize, ids: &[JointId]) -> Result<(), WorldError> {
        self.in_world(world, |engine| engine.remove_joints(ids))?
    }

    /// Id of the body in a slot of a world, if there is one. An id outlives its body; a slot is given to another.
    #[must_use]
    pub fn body_id(&self, world: usize, index: usize) -> Option<BodyId> {
        self.check(world).ok()?;
        self.host(world)?.body_id(index)
    }

    /// Puts a world of another scene in the place of one, or in an empty place: at its start, with nothing asked of it and
    /// no events. The others stay as they are and notice nothing. On the GPU this waits for the device.
    ///
    /// ```
    /// use drystone::{Body, Scene, Shape, WorldBatch};
    ///
    /// let mut worlds = WorldBatch::on_cpu(&vec![Scene::new("nothing"); 3], 1)?;
    /// let mut scene = Scene::new("drop").gravity(0.0, -1.6);
    /// scene.add(Body::dynamic(0.0, 4.0).shape(Shape::circle(0.5)));
    /// worlds.leave_empty(0)?;
    /// worlds.step()?;
    /// worlds.replace(0, &scene)?;
    /// worlds.step()?;
    /// assert_eq!([0, 1, 2].map(|world| worlds.steps(world)), [1, 2, 2]);
    /// # Ok::<(), drystone::WorldError>(())
    /// ```
    ///
    /// # Errors
    /// If there is no such place, or the scene is not valid; on the GPU also if its settings ask for other stages than those
    /// of the others, or it does not fit the device. Then nothing has changed.
    pub fn replace(&mut self, world: usize, scene: &Scene) -> Result<(), WorldError> {
        if world >= self.count() {
            return self.check(world);
        }
        let compiled = Compiled::new(scene)?;
        let start = Snapshot::of_start(&compiled);
        match &mut self.inner {
            Inner::Cpu { worlds, .. } => {
                let next = CpuWorld::from_compiled(compiled).with_limits_of(&worlds[world]);
                worlds[world] = next;
            }
            Inner::Gpu(worlds) => worlds.replace(world, compiled)?,
        }
        self.starts[world] = start;
        self.empty[world] = false;
        Ok(())
    }

    /// Lets go of a world. Its place stays, and does not step, until another is put there ([`Self::replace`]). Whatever is
    /// asked of it meanwhile is refused.
    ///
    /// # Errors
    /// If there is no such world, or the device is lost; then nothing has changed.
    pub fn leave_empty(&mut self, world: usize) -> Result<(), WorldError> {
        let settings = self.compiled(world).map(|compiled| compiled.settings);
        self.check(world)?;
        self.replace(world, &Scene { settings: settings.unwrap_or_default(), ..Scene::new("empty") })?;
        self.empty[world] = true;
        Ok(())
    }
}
