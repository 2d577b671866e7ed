//! The interface between host and engine: the calls that an engine implements on its tables, and the methods of a world
//! that are written once in terms of them: adding and removing, gravity, emitters, snapshots.

use super::{Host, HostBackup, PartCounts, Recorder, Rewound, Untaken};
use crate::command::{Command, drop_commands_to, drop_commands_to_joints, wake_affected};
use crate::initial_loads::InitialContacts;
use crate::population::{BodyId, JointId, Journal, PopulationChange, PopulationError};
use crate::scene::{Body, Joint, Property, Shape, check_gravity};
use crate::snapshot::Snapshot;
use crate::state::max_speed;
use crate::types::{BodyState, Pose};
use crate::world_error::WorldError;

/// Interface between the host and the tables of a world, on the CPU or on a device. Changes on a device take effect
/// with the next submission, or from the present end of the caller's encoder on.
pub(crate) trait WorldEngine {
    fn host(&self) -> &Host;

    fn host_mut(&mut self) -> &mut Host;

    /// Returns true if the tables have room for these additions.
    fn has_room_for(&self, more: PartCounts) -> bool;

    /// Returns true if growing the tables can fail.
    fn is_limited(&self) -> bool;

    /// Grows the tables to the sizes that the host needs.
    ///
    /// # Errors
    /// The tables do not fit the device; then nothing is done.
    fn make_room(&mut self, recorder: Option<&mut Recorder>) -> Result<(), WorldError>;

    /// Copies a change of the host to the tables and constants.
    ///
    /// # Errors
    /// If the device is lost.
    fn follow(&mut self, change: &PopulationChange, recorder: Option<&mut Recorder>) -> Result<(), WorldError>;

    /// Empties the contact tables, as before the first step.
    fn clear_lists(&mut self);

    /// Returns the state between two steps. Waits for the device.
    ///
    /// # Errors
    /// If the device is lost.
    fn state(&mut self) -> Result<Snapshot, WorldError>;

    /// Waits until all steps are done, and reads back their events and counters.
    ///
    /// # Errors
    /// If the device is lost.
    fn finish_steps(&mut self) -> Result<(), WorldError>;

    /// Grows the tables for the contacts of a snapshot.
    ///
    /// # Errors
    /// The tables do not fit the device; then nothing has changed.
    fn make_room_for(&mut self, snapshot: &Snapshot) -> Result<(), WorldError>;

    /// Writes a snapshot to the tables, which are large enough, after the host was set to it.
    fn put(&mut self, snapshot: &Snapshot, recorder: Option<&mut Recorder>);

    /// Writes the contacts with which the world begins to the tables of the step before the first.
    ///
    /// # Errors
    /// They do not fit the device; then the tables have not changed.
    fn put_contacts(&mut self, contacts: &InitialContacts, recorder: Option<&mut Recorder>) -> Result<(), WorldError>;

    /// Returns the pose of the body in a slot, if the command puts it exactly there and the pose is known without a
    /// wait.
    fn stays_by(&self, _slot: usize, _command: Command) -> Option<Pose> {
        None
    }

    /// Calls a function with this engine.
    fn with_engine<T>(&mut self, what: impl FnOnce(&mut dyn WorldEngine) -> T) -> T
    where
        Self: Sized,
    {
        what(self)
    }

    /// Adds bodies, all or none.
    ///
    /// # Errors
    /// The first value that is out of range; or the tables do not fit the device.
    fn add_bodies(&mut self, bodies: &[Body]) -> Result<Vec<BodyId>, WorldError> {
        let backup = self.backup_for(PartCounts::of_bodies(bodies));
        let host = self.host_mut();
        host.keep_origin();
        let steps = host.steps;
        let (compiled, population) = host.scene_and_population();
        let (ids, change) = population.add(compiled, bodies, steps)?;
        self.make_room_or_undo(backup, None)?;
        self.host_mut().mark_changed_by_hand();
        self.follow(&change, None)?;
        Ok(ids)
    }

    /// Adds joints, all or none.
    ///
    /// # Errors
    /// The first value that is out of range; or the tables do not fit the device.
    fn add_joints(&mut self, joints: &[Joint]) -> Result<Vec<JointId>, WorldError> {
        let backup = self.backup_for(PartCounts { joints: joints.len(), ..PartCounts::default() });
        let host = self.host_mut();
        host.keep_origin();
        let (compiled, population) = host.scene_and_population();
        let (ids, change) = population.add_joints(compiled, joints)?;
        self.make_room_or_undo(backup, None)?;
        let host = self.host_mut();
        host.mark_changed_by_hand();
        wake_affected(&host.compiled, &change, &mut host.commands);
        self.follow(&change, None)?;
        Ok(ids)
    }

    /// Adds joints between bodies by their ids, all or none. `None` is the world.
    ///
    /// # Errors
    /// A body does not exist or was removed; those of [`Self::add_joints`].
    fn add_joints_between(&mut self, joints: &[(Option<BodyId>, BodyId, Joint)]) -> Result<Vec<JointId>, WorldError> {
        let (compiled, population) = self.host_mut().scene_and_population();
        let joints = population.between(compiled, joints)?;
        self.add_joints(&joints)
    }

    /// Replaces a joint, which keeps its id and its bodies. Waits for the device.
    ///
    /// # Errors
    /// The joint does not exist or was removed; a value is out of range; or the tables do not fit the device.
    fn replace_joint(&mut self, id: JointId, joint: &Joint) -> Result<(), WorldError> {
        let backup = self.is_limited().then(|| self.host().backup());
        // Measured angles and lengths are in the tables of the engine alone.
        let now = self.snapshot()?;
        let host = self.host_mut();
        host.keep_origin();
        let (compiled, population) = host.scene_and_population();
        now.put_goals(&mut compiled.joints);
        compiled.joints.states.clone_from(&now.joint_states);
        let change = population.replace_joint(compiled, id, joint)?;
        self.make_room_or_undo(backup, None)?;
        let host = self.host_mut();
        host.mark_changed_by_hand();
        drop_commands_to_joints(&mut host.commands, &change.joints.places);
        wake_affected(&host.compiled, &change, &mut host.commands);
        self.follow(&change, None)
    }

    /// Removes joints, all or none.
    ///
    /// # Errors
    /// A joint does not exist, was removed, or is given twice.
    fn remove_joints(&mut self, ids: &[JointId]) -> Result<(), WorldError> {
        let host = self.host_mut();
        host.keep_origin();
        let (compiled, population) = host.scene_and_population();
        let change = population.remove_joints(compiled, ids)?;
        host.mark_changed_by_hand();
        host.let_go(&change);
        self.follow(&change, None)
    }

    /// Removes bodies and their joints, all or none.
    ///
    /// # Errors
    /// A body does not exist, was removed, or is given twice.
    fn remove_bodies(&mut self, ids: &[BodyId]) -> Result<(), WorldError> {
        let host = self.host_mut();
        host.keep_origin();
        let (compiled, population) = host.scene_and_population();
        let change = population.remove(compiled, ids)?;
        host.mark_changed_by_hand();
        host.let_go(&change);
        self.follow(&change, None)
    }

    /// Replaces the description of a body. It keeps its id; its joints are removed.
    ///
    /// # Errors
    /// The body does not exist or was removed; a value is out of range; or the tables do not fit the device.
    fn replace_body(&mut self, id: BodyId, body: &Body) -> Result<(), WorldError> {
        // The new description may need buffers for features that the world did not use.
        let backup = self.is_limited().then(|| self.host().backup());
        let host = self.host_mut();
        host.keep_origin();
        let steps = host.steps;
        let (compiled, population) = host.scene_and_population();
        let change = population.replace(compiled, id, body, steps)?;
        self.make_room_or_undo(backup, None)?;
        let host = self.host_mut();
        host.mark_changed_by_hand();
        drop_commands_to(&mut host.commands, id.index);
        host.let_go(&change);
        self.follow(&change, None)
    }

    /// Returns pose and state of the body in a slot, after the host's copies of joint goals were brought up to date.
    /// Waits for the device.
    ///
    /// # Errors
    /// If the device is lost, or a step was given up.
    fn present(&mut self, slot: usize) -> Result<(Pose, BodyState), WorldError> {
        let now = self.snapshot()?;
        now.put_goals(&mut self.host_mut().compiled.joints);
        Ok((now.poses[slot], now.states[slot]))
    }

    /// Replaces the shapes of a body, which keeps its place, velocity and joints. Waits for the device.
    ///
    /// # Errors
    /// The body does not exist or was removed; a shape is refused; or the tables do not fit the device.
    fn set_shapes(&mut self, id: BodyId, shapes: &[Shape]) -> Result<(), WorldError> {
        let slot = id.index as usize;
        if self.host().body_id(slot) != Some(id) {
            return Err(PopulationError::Gone(id).into());
        }
        let now = self.present(slot)?;
        let backup = self.is_limited().then(|| self.host().backup());
        let host = self.host_mut();
        host.keep_origin();
        let steps = host.steps;
        let (compiled, population) = host.scene_and_population();
        let effects = population.set_shapes(compiled, id, shapes, steps, Some(now))?;
        self.make_room_or_undo(backup, None)?;
        let host = self.host_mut();
        host.mark_changed_by_hand();
        host.give_shapes(id.index, &effects);
        self.follow(&effects.change, None)
    }

    /// Sets properties of bodies, all or none.
    ///
    /// # Errors
    /// A body does not exist or was removed; a value is out of range; or the tables do not fit the device.
    fn set(&mut self, changes: &[(BodyId, Property)]) -> Result<(), WorldError> {
        let host = self.host();
        let has_joints = host.compiled.joints.count() > 0;
        let may_grow = changes.iter().any(|(_, property)| property.may_need_room(has_joints));
        let backup = (may_grow && self.is_limited()).then(|| host.backup());
        let host = self.host_mut();
        host.keep_origin();
        let (compiled, population) = host.scene_and_population();
        let effects = population.set(compiled, changes)?;
        if backup.is_some() {
            self.make_room_or_undo(backup, None)?;
        }
        let host = self.host_mut();
        host.mark_changed_by_hand();
        host.give_effects(&effects);
        self.follow(&effects.change, None)
    }

    /// Sets gravity from the next step on, m/s². Wakes all bodies if it differs.
    ///
    /// # Errors
    /// A coordinate is NaN or out of the range of a scene; or the device is lost.
    fn set_gravity(&mut self, gravity: glam::Vec2) -> Result<(), WorldError> {
        check_gravity(gravity)?;
        let host = self.host_mut();
        host.fingerprint();
        if host.compiled.change_gravity(gravity.into()) {
            self.follow(&PopulationChange::default(), None)?;
            self.host_mut().wake_all();
        }
        Ok(())
    }

    /// Returns the speed of the fastest dynamic body, m/s. Waits for the device.
    ///
    /// # Errors
    /// If the device is lost.
    fn fastest(&mut self) -> Result<f64, WorldError> {
        let states = self.state()?.states;
        Ok(max_speed(&self.host().compiled, states.into_iter()))
    }

    /// Begins the timed commands whose conditions hold now. Waits for the device while a command waits for a speed.
    ///
    /// # Errors
    /// If the device is lost.
    fn begin_timed(&mut self) -> Result<(), WorldError> {
        let Host { compiled, population, steps, .. } = self.host();
        let steps = *steps;
        let awaited = population.as_ref().and_then(|population| population.awaits_speed(compiled, steps));
        let Some(is_on_speed) = awaited else { return Ok(()) };
        let speed = if is_on_speed { self.fastest()? } else { 0.0 };
        let (compiled, population) = self.host_mut().scene_and_population();
        population.begin_timed(compiled, steps, speed);
        Ok(())
    }

    /// Before the first step, gives the tables the contacts with which the world begins, if they fit. Runs the scene's
    /// timeline and emitters for the next step: timed commands act, old batches are removed and those that are due are
    /// added. A second call does nothing.
    ///
    /// # Errors
    /// The tables do not fit the device; then nothing is done.
    fn emit_due(&mut self, mut recorder: Option<&mut Recorder>) -> Result<(), WorldError> {
        if let Some(contacts) = self.host_mut().take_initial_contacts() {
            match self.put_contacts(&contacts, recorder.as_deref_mut()) {
                // The step finds that its contacts do not fit, and reports it.
                Ok(()) | Err(WorldError::TooLarge { .. }) => {}
                Err(error) => {
                    self.host_mut().initial.is_over = false;
                    return Err(error);
                }
            }
        }
        let host = self.host();
        let steps = host.steps;
        let Some(population) = host.population.as_ref().filter(|population| population.is_due(steps)) else {
            return Ok(());
        };
        // Emitters alone never outgrow the tables; with bodies added by hand, larger buffers may be refused.
        let backup = (population.by_hand() && self.is_limited()).then(|| host.backup());
        let host = self.host_mut();
        host.invalidate_kept();
        let (compiled, population) = host.scene_and_population();
        let effects = population.act(compiled, steps);
        let left = population.retire(compiled, steps);
        for change in effects.removed.iter().chain(&left) {
            // Before other bodies take the slots.
            host.let_go(change);
        }
        host.give_timed(&effects);
        let (compiled, population) = host.scene_and_population();
        let [came, tied] = population.emit(compiled, steps);
        wake_affected(&host.compiled, &tied, &mut host.commands);
        self.make_room_or_undo(backup, recorder.as_deref_mut())?;
        let gravity = effects.gravity.then(PopulationChange::default);
        for change in effects.removed.iter().chain(&left).chain([&came, &tied]).chain(&gravity) {
            self.follow(change, recorder.as_deref_mut())?;
        }
        Ok(())
    }

    /// Continues from bytes. Changes by hand are made first, from the journal; then the world must not have done a
    /// step.
    ///
    /// # Errors
    /// An entry of the journal is refused, the bytes are not of this world, or the tables do not fit the device.
    fn load_with(&mut self, bytes: &[u8], journal: &Journal) -> Result<(), WorldError> {
        if !journal.is_empty() {
            let replayed = self.host().replay_journal(bytes, journal)?;
            self.reset_to(replayed)?;
        }
        let snapshot = Snapshot::from_bytes(bytes, self.host().compiled.fingerprint())?;
        self.restore(&snapshot)
    }

    /// Sets the world to another scene and population. A snapshot must be restored next.
    ///
    /// # Errors
    /// If it does not fit the device; then nothing is done.
    fn reset_to(&mut self, other: Rewound) -> Result<(), WorldError> {
        let host = self.host_mut();
        host.keep_origin();
        let backup = host.backup();
        (host.compiled, host.population) = (other.compiled, Some(other.population));
        self.make_room_or_undo(Some(backup), None)?;
        let host = self.host_mut();
        host.changed_by_hand = other.changed_by_hand;
        host.invalidate_kept();
        let all = PopulationChange::all(&host.compiled);
        self.follow(&all, None)?;
        self.clear_lists();
        Ok(())
    }

    /// Returns the state between two steps, unless a step was given up. Waits for the device.
    ///
    /// # Errors
    /// If the device is lost, or a step was given up.
    fn snapshot(&mut self) -> Result<Snapshot, WorldError> {
        if self.host().limits.has_given_up() { Err(WorldError::Cancelled) } else { self.state() }
    }

    /// Continues from a snapshot, to the same bits, with the bodies and joints of that time. Waits for the device.
    ///
    /// # Errors
    /// If it is of another world, or the device is lost; then nothing has changed.
    fn restore(&mut self, snapshot: &Snapshot) -> Result<(), WorldError> {
        let rewound = self.host().rewound(snapshot)?;
        self.finish_steps()?;
        if let Some(rewound) = rewound {
            self.reset_to(rewound)?;
        }
        self.make_room_for(snapshot)?;
        self.resume(snapshot, Untaken::Dropped, None);
        Ok(())
    }

    /// Sets host and tables to a snapshot that was checked. The tables are large enough.
    fn resume(&mut self, snapshot: &Snapshot, untaken: Untaken, recorder: Option<&mut Recorder>) {
        self.host_mut().go_back(snapshot, untaken);
        self.put(snapshot, recorder);
    }

    /// Copies the host if the engine may fail to grow for these additions, so that the change can be undone.
    fn backup_for(&self, more: PartCounts) -> Option<HostBackup> {
        (!self.has_room_for(more)).then(|| self.host().backup())
    }

    fn make_room_or_undo(
        &mut self,
        backup: Option<HostBackup>,
        recorder: Option<&mut Recorder>,
    ) -> Result<(), WorldError> {
        let made = self.make_room(recorder);
        if let (Err(_), Some(HostBackup { compiled, population, commands })) = (&made, backup) {
            let host = self.host_mut();
            (host.compiled, host.population, host.commands) = (compiled, population, commands);
        }
        made
    }
}
