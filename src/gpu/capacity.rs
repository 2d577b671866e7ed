//! Capacities of the device tables, and growth: replaces tables that are too small by larger ones and copies the state
//! that only the device has, for all worlds in the tables.

use std::collections::HashMap;

use super::engine::{Engine, part_bytes};
use super::memory::TABLES;
use super::memory::{Features, Group, Sizes};
use crate::scene::PartCounts;
use crate::scene::{Compiled, MAX_ROWS};
use crate::types::{Constraint, Counters, EventData, MAX_VERTICES, OVERFLOW_CONTACTS, OVERFLOW_CROWD};
use crate::world_error::WorldError;

/// Number of spare joints in any world.
const SPARE_JOINTS: usize = 64;
/// Minimum words of the lists of joints by colour; enough for a few joints.
const FEW_WORDS: usize = 256;

/// Element capacities of the buffers, per world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Capacity {
    pub bodies: usize,
    pub shapes: usize,
    pub vertices: usize,
    pub cells: usize,
    pub joints: usize,
    pub rows: usize,
    /// Capacity of [`crate::scene::JointTable::starts`], in words.
    pub order: usize,
}

impl Capacity {
    /// Returns the initial capacity of a single world: its present size, a few joints (so that a user's mouse joint
    /// costs no new buffers), and everything that the scene's emitters will create.
    pub fn first(compiled: &Compiled) -> Self {
        let need = Self::of(compiled);
        let more = compiled.script.most;
        Self {
            bodies: need.bodies + more.bodies,
            shapes: need.shapes + more.shapes,
            vertices: need.vertices + more.vertices,
            cells: need.cells,
            joints: need.joints + SPARE_JOINTS + more.joints,
            rows: need.rows + 4 * SPARE_JOINTS + MAX_ROWS * more.joints,
            // Rebuilt lists of colours have 1.5 times the capacity, and several of them may be in use.
            order: need.order.max(FEW_WORDS) + need.joints / 2 + SPARE_JOINTS + 5 * more.joints,
        }
    }

    /// Returns the initial capacity of a world in a batch: its present size and what its emitters will create, without
    /// spares, as there are many small worlds.
    pub fn of_many(compiled: &Compiled) -> Self {
        if compiled.script.is_empty() { Self::of(compiled) } else { Self::first(compiled) }
    }

    /// Returns the present size of a world.
    pub fn of(compiled: &Compiled) -> Self {
        Self {
            bodies: compiled.bodies.len(),
            shapes: compiled.shapes.len(),
            vertices: compiled.vertices.len(),
            cells: compiled.params.cell_count as usize,
            joints: compiled.joints.joints.len(),
            rows: compiled.joints.rows.len(),
            order: compiled.joints.starts.len(),
        }
    }

    /// Returns a capacity that is enough for the given additions even if no free slot can be reused.
    pub fn with(self, more: PartCounts) -> Self {
        // A rebuilt list of colours has 1.5 times the capacity in each colour; a tree of two hinges has nine words.
        let order = if more.joints > 0 { 5 * (self.order + more.joints) + FEW_WORDS } else { self.order };
        Self {
            bodies: self.bodies + more.bodies,
            shapes: self.shapes + more.shapes,
            vertices: self.vertices + MAX_VERTICES as usize * more.shapes,
            joints: self.joints + more.joints,
            rows: self.rows + MAX_ROWS * more.joints,
            order,
            ..self
        }
    }

    /// Returns the larger capacity of two worlds, per element.
    pub fn and(self, other: Self) -> Self {
        self.each(other, usize::max)
    }

    /// Returns true if every capacity is at least the need.
    pub fn holds(self, need: Self) -> bool {
        self.and(need) == self
    }

    /// Returns the capacity for a need: capacities that are too small become 1.5 times the need, so that adding bodies
    /// one at a time does not create new buffers each time.
    fn grown(self, need: Self) -> Self {
        self.each(need, |has, needs| if needs > has { needs + needs / 2 } else { has })
    }

    /// Combines two capacities per element.
    fn each(self, other: Self, join: impl Fn(usize, usize) -> usize) -> Self {
        Self {
            bodies: join(self.bodies, other.bodies),
            shapes: join(self.shapes, other.shapes),
            vertices: join(self.vertices, other.vertices),
            cells: join(self.cells, other.cells),
            joints: join(self.joints, other.joints),
            rows: join(self.rows, other.rows),
            order: join(self.order, other.order),
        }
    }
}

/// Returns the number of contacts found by a step if it is more than `limit`; `capacity` is what the step could hold.
/// A crowd, whose contacts are not counted, has too many for any limit. Sleeping contacts count only where contacts did
/// not fit, as the capacity never grows beyond the limit.
pub(super) fn too_many_contacts(counters: &Counters, limit: usize, capacity: u32) -> Option<usize> {
    let (pairs, sleeping) = (counters.pairs_found as usize, counters.sleeping_contacts as usize);
    let (all, is_full) = (pairs.saturating_add(sleeping), counters.overflow_bits & OVERFLOW_CONTACTS != 0);
    let is_crowded = counters.overflow_bits & OVERFLOW_CROWD != 0;
    if is_crowded || (is_full && (all > limit || capacity as usize >= limit)) {
        return Some(all.max(limit.saturating_add(1)));
    }
    (pairs > limit).then_some(pairs)
}

/// Buffers and capacities before an attempt to grow.
#[derive(Debug)]
pub(super) struct Before {
    pub buffers: HashMap<&'static str, wgpu::Buffer>,
    worlds: u32,
    capacity: Capacity,
    features: Features,
    contact_capacity: u32,
    event_capacity: u32,
}

impl Before {
    fn sizes(&self) -> Sizes {
        Sizes::new(self.capacity, self.contact_capacity, self.event_capacity)
    }

    fn part_bytes(&self, name: &str) -> u64 {
        part_bytes(&self.sizes(), self.features, name)
    }
}

impl Engine {
    /// Saves the buffers and capacities, to be restored if larger buffers are rejected.
    pub fn before(&self) -> Before {
        Before {
            buffers: self.buffers.clone(),
            worlds: self.worlds,
            capacity: self.capacity,
            features: self.features,
            contact_capacity: self.contact_capacity,
            event_capacity: self.event_capacity,
        }
    }

    /// Restores buffers and capacities.
    pub fn undo(&mut self, before: &Before) {
        self.buffers.clone_from(&before.buffers);
        let Before { worlds, capacity, features, contact_capacity, event_capacity, .. } = *before;
        (self.worlds, self.capacity, self.features) = (worlds, capacity, features);
        (self.contact_capacity, self.event_capacity) = (contact_capacity, event_capacity);
    }

    /// Replaces the tables that are too small for one world's need, for all worlds, and copies their contents: with the
    /// next submission, or at the current position of the caller's encoder. Returns true if there are new tables; then
    /// the constants of the worlds must be updated. Host changes made since are uploaded afterwards as usual.
    ///
    /// # Errors
    /// If the new tables do not fit the device; then nothing is changed.
    pub fn make_room(
        &mut self,
        need: Capacity,
        features: Features,
        recorded: Option<&mut wgpu::CommandEncoder>,
    ) -> Result<bool, WorldError> {
        const CONTACTS: &[&str] = &["contacts_0", "contacts_1", "manifolds_0", "manifolds_1", "sleeping"];
        const BODIES: &[&str] = &[
            "bodies",
            "poses",
            "states",
            "shapes",
            "vertices",
            "ccd_bodies",
            "counters",
            "pair_starts_0",
            "pair_starts_1",
            "islands",
            "sleeping_starts",
        ];
        const JOINTS: &[&str] = &["joints", "joint_rows", "joint_starts", "joint_states", "joint_impulses"];
        // A material may need tables that no earlier one did. (Features are never withdrawn.)
        let features = self.features.and(features);
        let materials = features != self.features;
        let small = !self.capacity.holds(need);
        if !small && !materials {
            return Ok(false);
        }
        let before = self.before();
        // A few joints must not cause the tables of many bodies to be copied.
        let only_joints =
            Capacity { joints: need.joints, rows: need.rows, order: need.order, ..self.capacity }.holds(need);
        let capacity = self.capacity.grown(need);
        // The list of contacts has rows for the contacts of hubs.
        let more_splits = self.sizes().splits() != Sizes::new(capacity, 0, 0).splits();
        let of = |group: Group| match group {
            Group::Contacts => materials || more_splits,
            Group::Joints => small,
            Group::Bodies => small && !only_joints,
            Group::Events => false,
        };
        self.features = features;
        self.capacity = capacity;
        if let Err(error) = self.create_tables(of) {
            self.undo(&before);
            return Err(error);
        }
        let groups = [(Group::Contacts, CONTACTS), (Group::Bodies, BODIES), (Group::Joints, JOINTS)];
        let names = groups.into_iter().filter(|&(group, _)| of(group)).flat_map(|(_, names)| names);
        let copy = |encoder: &mut wgpu::CommandEncoder| {
            names.for_each(|name| self.carry_over(encoder, &before, name));
            if small {
                self.carry_ties_over(encoder, &before);
            }
        };
        if let Some(encoder) = recorded {
            copy(encoder);
        } else {
            let mut encoder = self.encoder();
            copy(&mut encoder);
            self.context.queue().submit([encoder.finish()]);
        }
        Ok(true)
    }

    /// Creates slots for this many worlds, and copies the present contents with the next submission. New slots are
    /// empty. Does nothing if there are enough already.
    ///
    /// # Errors
    /// If they do not fit the device; then nothing is changed.
    pub fn grow_worlds(&mut self, worlds: u32) -> Result<bool, WorldError> {
        if worlds <= self.worlds {
            return Ok(false);
        }
        let before = self.before();
        self.worlds = worlds;
        if let Err(error) = self.create_tables(|_| true) {
            self.undo(&before);
            return Err(error);
        }
        let mut encoder = self.encoder();
        for table in TABLES {
            self.carry_over(&mut encoder, &before, table.name);
        }
        self.context.queue().submit([encoder.finish()]);
        Ok(true)
    }

    /// Grows the event capacity to 1.5 times a known need. If the device allows no more, worlds continue with what
    /// fits; in strict mode that is an error. Returns true if there are new tables.
    ///
    /// # Errors
    /// If the new tables do not fit the device; then nothing is changed.
    pub fn grow_events(&mut self, needed: u32) -> Result<bool, WorldError> {
        if needed <= self.event_capacity {
            return Ok(false);
        }
        let (most, event) = (self.most_events(), size_of::<EventData>() as u64 * u64::from(self.worlds));
        if needed > most && self.features.strict {
            let bytes = u64::from(needed) * event;
            return Err(WorldError::TooLarge { buffer: "events", bytes, limit: u64::from(most) * event });
        }
        let capacity = needed.saturating_add(needed / 2).min(most);
        if capacity <= self.event_capacity {
            return Ok(false);
        }
        let before = self.before();
        self.event_capacity = capacity;
        if let Err(error) = self.create_tables(|group| group == Group::Events) {
            self.undo(&before);
            return Err(error);
        }
        Ok(true)
    }

    /// Grows the contact capacity to 1.5 times a known need, in multiples of `unit`, once the need reaches three
    /// quarters of the capacity, but never beyond `limit`. Copies the contacts of the last step. If the device allows
    /// no more, worlds continue with what fits; in strict mode that is an error. Returns true if there are new tables.
    ///
    /// # Errors
    /// If the new tables do not fit the device; then nothing is changed.
    pub fn grow_for_contacts(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        needed: u64,
        unit: u64,
        limit: usize,
    ) -> Result<bool, WorldError> {
        if needed * 4 < u64::from(self.contact_capacity) * 3 {
            return Ok(false);
        }
        let limit = (limit as u64).max(1);
        let (needed, most) = (needed.min(limit), self.most_contacts());
        let wanted = (needed * 3 / 2).next_multiple_of(unit).min(limit);
        self.grow_contacts(encoder, if needed > most && self.features.strict { needed } else { wanted.min(most) })
    }

    /// Creates contact tables of this capacity and copies the present contacts. Does nothing if the capacity is large
    /// enough. Returns true if there are new tables.
    ///
    /// # Errors
    /// If the new tables do not fit the device; then nothing is changed.
    pub fn grow_contacts(&mut self, encoder: &mut wgpu::CommandEncoder, wanted: u64) -> Result<bool, WorldError> {
        let capacity = u32::try_from(wanted).map_err(|_| WorldError::TooLarge {
            buffer: "contacts",
            bytes: wanted.saturating_mul(size_of::<Constraint>() as u64),
            limit: u64::from(u32::MAX) * size_of::<Constraint>() as u64,
        })?;
        if capacity <= self.contact_capacity {
            return Ok(false);
        }
        let before = self.before();
        // In a batch, worlds may differ in parity, and some may have to return to the start of a step.
        let carried = ["contacts_0", "contacts_1", "manifolds_0", "manifolds_1", "sleeping", "sleeping_backup"];
        self.contact_capacity = capacity;
        if let Err(error) = self.create_tables(|group| group == Group::Contacts) {
            self.undo(&before);
            return Err(error);
        }
        for name in carried {
            self.carry_over(encoder, &before, name);
        }
        Ok(true)
    }

    /// Copies each world's rows of a table to their new position.
    pub fn carry_over(&self, encoder: &mut wgpu::CommandEncoder, before: &Before, name: &str) {
        let (old, new) = (before.part_bytes(name), self.part_bytes(name));
        let (from, to) = (&before.buffers[name], &self.buffers[name]);
        if old == new {
            encoder.copy_buffer_to_buffer(from, 0, to, 0, u64::from(before.worlds) * old);
            return;
        }
        for world in 0..u64::from(before.worlds) {
            encoder.copy_buffer_to_buffer(from, world * old, to, world * new, old.min(new));
        }
    }

    /// Copies the pair exclusions of bodies and joints, stored after the partners, to their new position.
    fn carry_ties_over(&self, encoder: &mut wgpu::CommandEncoder, before: &Before) {
        let (old, new) = (before.part_bytes("partners"), self.part_bytes("partners"));
        let (from, to) = (before.sizes().exclusions(), self.sizes().exclusions());
        let words = [2 * before.capacity.bodies, 4 * before.capacity.joints];
        for world in 0..u64::from(before.worlds) {
            for ((from, to), words) in from.into_iter().zip(to).zip(words) {
                encoder.copy_buffer_to_buffer(
                    &before.buffers["partners"],
                    world * old + 4 * from as u64,
                    &self.buffers["partners"],
                    world * new + 4 * to as u64,
                    4 * words as u64,
                );
            }
        }
    }
}
