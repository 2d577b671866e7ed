//! Adding and removing in a batch of worlds: bodies and joints of each world, and worlds themselves.

use super::{BatchEngine, WorldBatch};
use crate::cpu::CpuWorld;
use crate::population::{BodyId, JointId};
use crate::scene::{Body, Compiled, Joint, Property, Scene, Shape};
use crate::snapshot::Snapshot;
use crate::world_error::WorldError;

impl WorldBatch {
    /// Adds bodies to a world, all or none. They take part from its next step on. Slots of removed bodies are reused,
    /// the lowest first, once it has done a step without them. The other worlds stay as they are. This does not wait
    /// for a device.
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
    /// There is no such world; the first value that is out of range, as for a scene; more than 16 half planes beside
    /// those of the scene; or the bodies do not fit the device.
    pub fn add_bodies(&mut self, world: usize, bodies: &[Body]) -> Result<Vec<BodyId>, WorldError> {
        self.in_world(world, |engine| engine.add_bodies(bodies))?
    }

    /// Sets properties of bodies of a world from its next step on, in their order, all or none, as
    /// [`World::set`](crate::World::set). This does not wait for a device.
    ///
    /// # Errors
    /// There is no such world; those of [`World::set`](crate::World::set), of the first property that is refused.
    pub fn set_all(&mut self, world: usize, properties: &[(BodyId, Property)]) -> Result<(), WorldError> {
        self.in_world(world, |engine| engine.set(properties))?
    }

    /// Replaces the shapes of a body of a world, which keeps its place, its velocity and its joints, as
    /// [`World::set_shapes`](crate::World::set_shapes). On a GPU this waits for the device.
    ///
    /// # Errors
    /// There is no such world; those of [`World::set_shapes`](crate::World::set_shapes).
    pub fn set_shapes(&mut self, world: usize, body: BodyId, shapes: &[Shape]) -> Result<(), WorldError> {
        self.in_world(world, |engine| engine.set_shapes(body, shapes))?
    }

    /// Removes bodies and their joints from a world, all or none. This does not wait for a device.
    ///
    /// # Errors
    /// There is no such world; a body does not exist, was removed, or is given twice; or the device is lost.
    pub fn remove_bodies(&mut self, world: usize, ids: &[BodyId]) -> Result<(), WorldError> {
        self.in_world(world, |engine| engine.remove_bodies(ids))?
    }

    /// Adds joints to a world, all or none, as [`World::add_joints`](crate::World::add_joints).
    ///
    /// # Errors
    /// There is no such world; the first value that is out of range, as for a scene; or the joints do not fit the
    /// device.
    pub fn add_joints(&mut self, world: usize, joints: &[Joint]) -> Result<Vec<JointId>, WorldError> {
        self.in_world(world, |engine| engine.add_joints(joints))?
    }

    /// Adds joints between bodies by their ids, all or none; `None` is the world. The bodies in the joints themselves
    /// are ignored. An id never means another body that got the slot later.
    ///
    /// # Errors
    /// A body does not exist or was removed; those of [`Self::add_joints`].
    pub fn add_joints_between(
        &mut self,
        world: usize,
        joints: &[(Option<BodyId>, BodyId, Joint)],
    ) -> Result<Vec<JointId>, WorldError> {
        self.in_world(world, |engine| engine.add_joints_between(joints))?
    }

    /// Replaces a joint of a world, which keeps its id and its bodies, as
    /// [`World::replace_joint`](crate::World::replace_joint). On a GPU this waits for the device.
    ///
    /// # Errors
    /// There is no such world; those of [`World::replace_joint`](crate::World::replace_joint).
    pub fn replace_joint(&mut self, world: usize, id: JointId, joint: &Joint) -> Result<(), WorldError> {
        self.in_world(world, |engine| engine.replace_joint(id, joint))?
    }

    /// Removes joints from a world, all or none. Their bodies touch again.
    ///
    /// # Errors
    /// There is no such world; a joint does not exist, was removed, or is given twice; or the device is lost.
    pub fn remove_joints(&mut self, world: usize, ids: &[JointId]) -> Result<(), WorldError> {
        self.in_world(world, |engine| engine.remove_joints(ids))?
    }

    /// Returns the id of the body in a slot of a world, if there is one. Ids are never reused; slots are.
    #[must_use]
    pub fn body_id(&self, world: usize, index: usize) -> Option<BodyId> {
        self.check(world).ok()?;
        self.host(world)?.body_id(index)
    }

    /// Replaces a world, or fills an empty slot, with a world of another scene at its start, without commands or
    /// events. The other worlds stay as they are. On the GPU this waits for the device.
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
    /// There is no such slot, or the scene is not valid; on the GPU also: its settings or its contact rule need other
    /// stages than those of the other worlds, or it does not fit the device. Then nothing has changed.
    pub fn replace(&mut self, world: usize, scene: &Scene) -> Result<(), WorldError> {
        if world >= self.count() {
            return self.check(world);
        }
        let compiled = Compiled::new(scene)?;
        let start = Snapshot::of_start(&compiled);
        match &mut self.inner {
            BatchEngine::Cpu { worlds, .. } => {
                let next = CpuWorld::from_compiled(compiled).with_limits_of(&worlds[world]);
                worlds[world] = next;
            }
            BatchEngine::Gpu(worlds) => worlds.replace(world, compiled)?,
        }
        self.starts[world] = start;
        self.empty[world] = false;
        Ok(())
    }

    /// Removes a world. Its slot stays and does not step until another world is put there ([`Self::replace`]); all
    /// calls for it fail meanwhile.
    ///
    /// # Errors
    /// There is no such world, or the device is lost; then nothing has changed.
    pub fn leave_empty(&mut self, world: usize) -> Result<(), WorldError> {
        self.check(world)?;
        let kept =
            self.compiled(world).map(|Compiled { settings, contact_rule, .. }| (*settings, contact_rule.clone()));
        let (settings, contact_rule) = kept.unwrap_or_default();
        self.replace(world, &Scene { settings, contact_rule, ..Scene::new("empty") })?;
        self.empty[world] = true;
        Ok(())
    }
}
