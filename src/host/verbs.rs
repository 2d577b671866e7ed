//! Verbs of users, written once.

/// The verbs of a world, the same for every engine. In an `impl` of a type with `host`, `host_mut`,
/// `with_engine` and `stays_by`.
macro_rules! world_verbs {
    () => {
        /// Gives a command to a body. It acts at the start of the next step. Nothing waits. A body of the scene may be given by
        /// its index there, which never means a body that comes to its slot later.
        ///
        /// # Errors
        /// If there is no such body, or no longer, it does not move in this way, or a value is not finite.
        pub fn command(
            &mut self,
            body: impl Into<$crate::population::BodyId>,
            command: $crate::command::Command,
        ) -> Result<(), $crate::command::CommandError> {
            let slot = self.host_mut().slot_of(body.into())?;
            let stays = self.stays_by(slot, command);
            self.host_mut().command_slot(slot, command, stays)
        }

        /// Gives a command to a joint. It acts at the start of the next step. Nothing waits.
        ///
        /// # Errors
        /// If there is no such joint, it has nothing of the kind, or a value is out of range.
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

        /// Sets gravity from the next step on, m/s², and wakes all bodies, unless it is the same.
        ///
        /// # Errors
        /// A coordinate is not a number, or out of the range of a scene: then nothing has changed. Or the device is lost.
        pub fn set_gravity(&mut self, gravity: glam::Vec2) -> Result<(), $crate::world::WorldError> {
            self.with_engine(|engine| engine.set_gravity(gravity))
        }

        /// Adds bodies to the running world: all of them or, with an error, none. They take part from the next step on.
        /// Slots of bodies that were removed are given out again, the lowest first, once a step has run without them. On a
        /// device they are there in what is submitted next. Nothing waits.
        ///
        /// # Errors
        /// The first value that is out of range, as for a scene; more than 16 half planes beside those of the scene; or if
        /// they do not fit the device.
        pub fn add_bodies(
            &mut self,
            bodies: &[$crate::scene::Body],
        ) -> Result<Vec<$crate::population::BodyId>, $crate::world::WorldError> {
            self.with_engine(|engine| engine.add_bodies(bodies))
        }

        /// Removes bodies and their joints from the running world: all of them or, with an error, none. Nothing waits.
        ///
        /// # Errors
        /// If a body is not there, or no longer, or given twice; or the device is lost.
        pub fn remove_bodies(&mut self, ids: &[$crate::population::BodyId]) -> Result<(), $crate::world::WorldError> {
            self.with_engine(|engine| engine.remove_bodies(ids))
        }

        /// Gives a body another description from the next step on: place, velocity, material, mass, type or name. It keeps
        /// its id, its slot and the outlines of its shapes; its joints go. All bodies wake. Nothing waits.
        ///
        /// # Errors
        /// If the body is not there, or no longer; a value is out of range; the outlines are others; or it does not fit the
        /// device. Then nothing has changed.
        pub fn replace_body(
            &mut self,
            id: $crate::population::BodyId,
            body: &$crate::scene::Body,
        ) -> Result<(), $crate::world::WorldError> {
            self.with_engine(|engine| engine.replace_body(id, body))
        }

        /// Adds joints to the running world: all of them or, with an error, none. They hold from the next step on. Their
        /// bodies are given by their slots. A length or a reference angle that is not given is as the bodies stand when that
        /// step begins, a length then at least 0.1 mm. Indices of joints that are gone are given out again, the lowest first. This
        /// does not wait for a device.
        ///
        /// # Errors
        /// The first value that is out of range, as for a scene; or if they do not fit the device.
        pub fn add_joints(
            &mut self,
            joints: &[$crate::scene::Joint],
        ) -> Result<Vec<$crate::population::JointId>, $crate::world::WorldError> {
            self.with_engine(|engine| engine.add_joints(joints))
        }

        /// Adds joints between bodies by their ids, as [`Self::add_joints`]; `None` is the world. The bodies that a joint
        /// itself names do not count. An id never means the newcomer in a slot whose body has gone.
        ///
        /// # Errors
        /// If a body is not there, or no longer; else as [`Self::add_joints`].
        pub fn add_joints_between(
            &mut self,
            joints: &[(Option<$crate::population::BodyId>, $crate::population::BodyId, $crate::scene::Joint)],
        ) -> Result<Vec<$crate::population::JointId>, $crate::world::WorldError> {
            self.with_engine(|engine| engine.add_joints_between(joints))
        }

        /// Removes joints from the running world: all of them or, with an error, none. Their bodies touch again. Nothing
        /// waits.
        ///
        /// # Errors
        /// If a joint is not there, or no longer, or given twice; or the device is lost.
        pub fn remove_joints(&mut self, ids: &[$crate::population::JointId]) -> Result<(), $crate::world::WorldError> {
            self.with_engine(|engine| engine.remove_joints(ids))
        }

        /// Id of the joint with an index, if there is one: of the scene's, its place there.
        #[must_use]
        pub fn joint_id(&self, index: usize) -> Option<$crate::population::JointId> {
            self.host().joint_id(index)
        }

        /// Id of the body in a slot, if there is one. An id outlives its body; a slot is given to another.
        #[must_use]
        pub fn body_id(&self, index: usize) -> Option<$crate::population::BodyId> {
            self.host().body_id(index)
        }

        /// Continues from a snapshot, to the same bits: of this world, also if bodies or joints came or went since, or of
        /// another world of the same scene. Bodies and joints, their ids, and gravity are those of that time. Events of later
        /// steps that were not taken are dropped: those steps have not happened. On a device this waits.
        ///
        /// From bytes ([`crate::Snapshot::from_bytes`]) a snapshot has no bodies or joints that came by hand
        /// ([`crate::World::load_with`]).
        ///
        /// # Errors
        /// If it is of another scene, or of a population that neither it nor this world knows; or the device is lost. Then
        /// nothing has changed.
        pub fn restore(&mut self, snapshot: &$crate::snapshot::Snapshot) -> Result<(), $crate::world::WorldError> {
            self.with_engine(|engine| engine.restore(snapshot))
        }

        /// Sets how many contacts a step may have, those of sleeping bodies included. Of more it fails with
        /// [`crate::WorldError::TooManyContacts`] before there is memory for them. Without it the limit is 1,048,576, or 32
        /// a shape if that is more.
        pub fn set_contact_limit(&mut self, limit: usize) {
            self.host_mut().limits.set_contacts(limit);
        }

        /// Contacts that a step may have.
        #[must_use]
        pub fn contact_limit(&self) -> usize {
            self.host().contact_limit()
        }

        /// Steps that are known to have dropped contacts or events because a buffer was full. The CPU never does.
        #[must_use]
        pub fn overflowed_steps(&self) -> &[u64] {
            &self.host().overflowed
        }

        /// The scene as it is laid out now.
        #[must_use]
        pub fn compiled(&self) -> &$crate::scene::Compiled {
            &self.host().compiled
        }

        /// Steps done; on a device, steps recorded.
        #[must_use]
        pub fn steps(&self) -> u64 {
            self.host().steps
        }

        /// World that a snapshot of now would be of, for a state that was put together elsewhere.
        #[must_use]
        pub fn lineage(&self) -> $crate::snapshot::Lineage {
            self.host().lineage()
        }
    };
}
pub(crate) use world_verbs;
