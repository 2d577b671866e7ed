//! Methods of a world for users, written once for every engine: commands, adding and removing, gravity, restoring,
//! counts.

/// Writes the methods that every world has. Used in an `impl` of a type with `host`, `host_mut`, `with_engine` and
/// `stays_by`.
macro_rules! world_verbs {
    () => {
        /// Gives a command to a body. It acts at the start of the next step. This does not wait for a device. A body of
        /// the scene may be given by its index there, which never means a body that gets its slot later.
        ///
        /// # Errors
        /// The body does not exist or was removed, its type does not take the command, or a value is out of range.
        pub fn command(
            &mut self,
            body: impl Into<$crate::population::BodyId>,
            command: $crate::command::Command,
        ) -> Result<(), $crate::command::CommandError> {
            let slot = self.host_mut().slot_of(body.into())?;
            let stays = self.stays_by(slot, command);
            self.host_mut().command_slot(slot, command, stays)
        }

        /// Gives a command to a joint. It acts at the start of the next step. This does not wait for a device.
        ///
        /// # Errors
        /// The joint does not exist or was removed, its type does not take the command, or a value is out of range.
        pub fn command_joint(
            &mut self,
            joint: $crate::population::JointId,
            command: $crate::command::JointCommand,
        ) -> Result<(), $crate::command::CommandError> {
            self.host_mut().command_joint(joint, command)
        }

        /// Wakes every body at the start of the next step, where bodies sleep ([`crate::Settings::sleep`]).
        pub fn wake_all(&mut self) {
            self.host_mut().wake_all();
        }

        /// Sets gravity from the next step on, m/s². Wakes all bodies if it differs.
        ///
        /// # Errors
        /// A coordinate is NaN or out of the range of a scene: then nothing has changed. Or the device is lost.
        pub fn set_gravity(&mut self, gravity: glam::Vec2) -> Result<(), $crate::world_error::WorldError> {
            self.with_engine(|engine| engine.set_gravity(gravity))
        }

        /// Adds bodies to the running world, all or none. They take part from the next step on. Slots of removed bodies
        /// are reused, the lowest first, once a step has run without them. This does not wait for a device; the bodies
        /// are there in the next submission.
        ///
        /// # Errors
        /// The first value that is out of range, as for a scene; more than 16 half planes beside those of the scene; or
        /// the bodies do not fit the device.
        pub fn add_bodies(
            &mut self,
            bodies: &[$crate::scene::Body],
        ) -> Result<Vec<$crate::population::BodyId>, $crate::world_error::WorldError> {
            self.with_engine(|engine| engine.add_bodies(bodies))
        }

        /// Removes bodies and their joints from the running world, all or none. This does not wait for a device.
        ///
        /// # Errors
        /// A body does not exist, was removed, or is given twice; or the device is lost.
        pub fn remove_bodies(
            &mut self,
            ids: &[$crate::population::BodyId],
        ) -> Result<(), $crate::world_error::WorldError> {
            self.with_engine(|engine| engine.remove_bodies(ids))
        }

        /// Replaces the description of a body from the next step on: position, velocity, shapes, material, mass, type
        /// or name. It keeps its id and its slot; its joints are removed. All bodies wake. This does not wait for a
        /// device.
        ///
        /// # Errors
        /// The body does not exist or was removed; a value is out of range; it has more or fewer half planes than
        /// before; or the world no longer fits the device. Then nothing has changed.
        pub fn replace_body(
            &mut self,
            id: $crate::population::BodyId,
            body: &$crate::scene::Body,
        ) -> Result<(), $crate::world_error::WorldError> {
            self.with_engine(|engine| engine.replace_body(id, body))
        }

        /// Sets a property of a body from the next step on; the body keeps its pose, its contacts and its joints. A
        /// sleeping body wakes, and if it is static or kinematic, what touches it. This does not wait for a device.
        ///
        /// # Errors
        /// The body does not exist or was removed; the value is out of range, or one that the body cannot have; or the
        /// world no longer fits the device. Then nothing has changed.
        pub fn set(
            &mut self,
            body: impl Into<$crate::population::BodyId>,
            property: $crate::scene::Property,
        ) -> Result<(), $crate::world_error::WorldError> {
            let body = body.into();
            self.with_engine(|engine| engine.set(&[(body, property)]))
        }

        /// Sets properties of many bodies, in their order, all or none, as [`Self::set`].
        ///
        /// # Errors
        /// Those of [`Self::set`], of the first that is refused.
        pub fn set_all(
            &mut self,
            properties: &[($crate::population::BodyId, $crate::scene::Property)],
        ) -> Result<(), $crate::world_error::WorldError> {
            self.with_engine(|engine| engine.set(properties))
        }

        /// Replaces the shapes of a body from the next step on: adds some, removes some, or changes their outline,
        /// density or material. The body keeps its place, its velocity and its joints. Shapes that are as before keep
        /// their contacts, unless the centre of mass moves by a little: less than 0.1 length units. Mass, centre of
        /// mass and moment of inertia follow from the shapes, except those that were given for the body. It wakes. If
        /// it is static or kinematic, what touches it wakes; and if one of its shapes goes or changes, all bodies do.
        /// On a GPU this waits for the device.
        ///
        /// ```
        /// use drystone::{Body, Scene, Shape, World};
        ///
        /// let mut scene = Scene::new("hammer");
        /// let handle = Shape::half_box(1.0, 0.1);
        /// let hammer = scene.add(Body::dynamic(0.0, 5.0).shape(handle.clone()));
        /// let mut world = World::new(&scene)?;
        /// world.step()?;
        /// let head = Shape::half_box(0.2, 0.4).offset(1.0, 0.0).density(8.0);
        /// world.set_shapes(hammer, &[handle, head])?;
        /// assert!(world.body(hammer).is_ok_and(|body| body.local_center().x > 0.8));
        /// # Ok::<(), drystone::WorldError>(())
        /// ```
        ///
        /// # Errors
        /// The body does not exist or was removed; there are no shapes, a value is out of range, or the body cannot
        /// have the shape; there are more or fewer half planes than before; or the world no longer fits the device.
        /// Then nothing has changed.
        pub fn set_shapes(
            &mut self,
            body: impl Into<$crate::population::BodyId>,
            shapes: &[$crate::scene::Shape],
        ) -> Result<(), $crate::world_error::WorldError> {
            let body = body.into();
            self.with_engine(|engine| engine.set_shapes(body, shapes))
        }

        /// Adds joints to the running world, all or none. They act from the next step on. Their bodies are given by
        /// their slots. A length or reference angle that is not given is measured when that step begins; a measured
        /// length is at least 0.1 mm. Indices of removed joints are reused, the lowest first. This does not wait for a
        /// device.
        ///
        /// # Errors
        /// The first value that is out of range, as for a scene; or the joints do not fit the device.
        pub fn add_joints(
            &mut self,
            joints: &[$crate::scene::Joint],
        ) -> Result<Vec<$crate::population::JointId>, $crate::world_error::WorldError> {
            self.with_engine(|engine| engine.add_joints(joints))
        }

        /// Adds joints between bodies by their ids, all or none; `None` is the world. The bodies in the
        /// [`Joint`](crate::Joint) itself are ignored. An id never means another body that got the slot later. See
        /// [`Self::add_joints`].
        ///
        /// # Errors
        /// A body does not exist or was removed; those of [`Self::add_joints`].
        pub fn add_joints_between(
            &mut self,
            joints: &[(Option<$crate::population::BodyId>, $crate::population::BodyId, $crate::scene::Joint)],
        ) -> Result<Vec<$crate::population::JointId>, $crate::world_error::WorldError> {
            self.with_engine(|engine| engine.add_joints_between(joints))
        }

        /// Replaces a joint from the next step on: with a motor, limits, a spring, another softness or type. It keeps
        /// its id and its bodies, and those in the [`Joint`](crate::Joint) are ignored. Between joints of one type a
        /// reference angle or a length that is not given stays as it is. It begins unbroken and without impulses;
        /// commands to it since the last step are lost. On a GPU this waits for the device.
        ///
        /// # Errors
        /// The joint does not exist or was removed; a value is out of range; or the world no longer fits the device.
        /// Then nothing has changed.
        pub fn replace_joint(
            &mut self,
            id: $crate::population::JointId,
            joint: &$crate::scene::Joint,
        ) -> Result<(), $crate::world_error::WorldError> {
            self.with_engine(|engine| engine.replace_joint(id, joint))
        }

        /// Removes joints from the running world, all or none. Their bodies touch again. This does not wait for a
        /// device.
        ///
        /// # Errors
        /// A joint does not exist, was removed, or is given twice; or the device is lost.
        pub fn remove_joints(
            &mut self,
            ids: &[$crate::population::JointId],
        ) -> Result<(), $crate::world_error::WorldError> {
            self.with_engine(|engine| engine.remove_joints(ids))
        }

        /// Returns the id of the joint with an index, if there is one. Joints of the scene have their index there.
        #[must_use]
        pub fn joint_id(&self, index: usize) -> Option<$crate::population::JointId> {
            self.host().joint_id(index)
        }

        /// Returns the id of the body in a slot, if there is one. Ids are never reused; slots are.
        #[must_use]
        pub fn body_id(&self, index: usize) -> Option<$crate::population::BodyId> {
            self.host().body_id(index)
        }

        /// Continues from a snapshot, to the same bits: of this world, also if bodies or joints were added or removed
        /// since, or of another world of the same scene. Bodies and joints, their ids, and gravity are those of that
        /// time. Untaken events of later steps are dropped: those steps have not happened. This waits for a device.
        ///
        /// A snapshot made from bytes ([`crate::Snapshot::from_bytes`]) has no bodies or joints that were added by hand
        /// ([`crate::World::load_with`]).
        ///
        /// # Errors
        /// The snapshot is of another scene, or of a population that neither it nor this world knows; or the device is
        /// lost. Then nothing has changed.
        pub fn restore(
            &mut self,
            snapshot: &$crate::snapshot::Snapshot,
        ) -> Result<(), $crate::world_error::WorldError> {
            self.with_engine(|engine| engine.restore(snapshot))
        }

        /// Sets the largest number of contacts of a step, those of sleeping bodies included. A step with more fails
        /// with [`crate::WorldError::TooManyContacts`] before memory is allocated for them. The default is 1,048,576,
        /// or 32 a shape if that is more.
        pub fn set_contact_limit(&mut self, limit: usize) {
            self.host_mut().limits.set_contacts(limit);
        }

        /// Returns the steps that dropped contacts or events, as far as known: a buffer was full, or more than about
        /// 16,000 shapes lay within a few cells of the broad phase, where they do not meet each other. The CPU never
        /// drops any.
        #[must_use]
        pub fn overflowed_steps(&self) -> &[u64] {
            &self.host().overflowed
        }

        /// Returns the scene as it is laid out now.
        #[must_use]
        pub fn compiled(&self) -> &$crate::scene::Compiled {
            &self.host().compiled
        }

        /// Returns the number of steps done; on a device, of steps recorded.
        #[must_use]
        pub fn steps(&self) -> u64 {
            self.host().steps
        }
    };
}
pub(crate) use world_verbs;
