//! Bodies that come and go: what the host decided ([`crate::population`]) reaches the device.

use std::collections::BTreeSet;

use bytemuck::Pod;

use super::{GpuWorld, PARTNER_WORDS};
use crate::command::wake_left;
use crate::population::{BodyId, Change, Population};
use crate::scene::{Body, Compiled};
use crate::snapshot::first_islands;
use crate::step::plan;
use crate::types::{MAX_VERTICES, SURFACES};
use crate::world::WorldError;

/// Elements for which the buffers have room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Room {
    pub bodies: usize,
    pub shapes: usize,
    pub vertices: usize,
    pub cells: usize,
}

impl Room {
    /// What a world needs.
    pub fn of(compiled: &Compiled) -> Self {
        Self {
            bodies: compiled.bodies.len(),
            shapes: compiled.shapes.len(),
            vertices: compiled.vertices.len(),
            cells: compiled.params.cell_count as usize,
        }
    }

    fn holds(self, need: Self) -> bool {
        self.bodies >= need.bodies
            && self.shapes >= need.shapes
            && self.vertices >= need.vertices
            && self.cells >= need.cells
    }

    /// Half as much again, so that a body at a time does not mean new buffers each time.
    fn grown(self, need: Self) -> Self {
        let grow = |has: usize, needs: usize| if needs > has { needs + needs / 2 } else { has };
        Self {
            bodies: grow(self.bodies, need.bodies),
            shapes: grow(self.shapes, need.shapes),
            vertices: grow(self.vertices, need.vertices),
            cells: grow(self.cells, need.cells),
        }
    }
}

impl GpuWorld {
    /// Adds bodies to the running world: all of them or, with an error, none. They are there in what is submitted
    /// next; what was recorded before should be submitted before. Nothing waits.
    ///
    /// # Errors
    /// The first value that is out of range, as for a scene; a half plane; or if they do not fit the device.
    pub fn add_bodies(&mut self, bodies: &[Body]) -> Result<Vec<BodyId>, WorldError> {
        let mut population = self.take_population();
        let switches = self.compiled.params.switches;
        // Enough in any case, also if no free slot is taken.
        let new_shapes: usize = bodies.iter().map(|body| body.shapes.len()).sum();
        let now = Room::of(&self.compiled);
        let most = Room {
            bodies: now.bodies + bodies.len(),
            shapes: now.shapes + new_shapes,
            vertices: now.vertices + MAX_VERTICES as usize * new_shapes,
            cells: now.cells,
        };
        // Larger buffers may be refused; then everything is as it was.
        let backup = (!self.room.holds(most)).then(|| (self.compiled.clone(), population.clone()));
        let added = population.add(&mut self.compiled, bodies);
        self.population = Some(population);
        let (ids, change) = added?;
        if let Err(error) = self.make_room(switches) {
            if let Some((compiled, population)) = backup {
                (self.compiled, self.population) = (compiled, Some(population));
            }
            return Err(error);
        }
        if self.compiled.settings.sleep {
            self.write("islands", &first_islands(&self.compiled), &change.bodies);
        }
        self.follow(&change)?;
        Ok(ids)
    }

    /// Removes bodies from the running world, and switches off their joints: all of them or, with an error, none. They
    /// are gone from what is submitted next. Nothing waits.
    ///
    /// # Errors
    /// If a body is not there, or no longer, or given twice.
    pub fn remove_bodies(&mut self, ids: &[BodyId]) -> Result<(), WorldError> {
        let mut population = self.take_population();
        let removed = population.remove(&mut self.compiled, ids);
        self.population = Some(population);
        let change = removed?;
        wake_left(&self.compiled, &change, &mut self.commands);
        self.follow(&change)
    }

    /// The body in a slot, if there is one.
    pub fn body_id(&mut self, index: usize) -> Option<BodyId> {
        let population = self.take_population();
        let id = population.id(&self.compiled, index);
        self.population = Some(population);
        id
    }

    fn take_population(&mut self) -> Population {
        self.population.take().unwrap_or_else(|| Population::new(&self.compiled))
    }

    /// Brings the device to what the host has.
    fn follow(&mut self, change: &Change) -> Result<(), WorldError> {
        self.query_load.forget_bodies();
        self.asked = self.steps;
        self.plan = plan(&self.compiled.settings, self.compiled.bounces, !self.compiled.joints.joints.is_empty());
        self.write("bodies", &self.compiled.bodies, &change.bodies);
        self.write("poses", &self.compiled.poses, &change.bodies);
        self.write("states", &self.compiled.states, &change.bodies);
        self.write("movers", &self.compiled.movers, &change.shapes);
        if change.grid {
            self.upload("shapes", &self.compiled.shapes);
        } else {
            self.write("shapes", &self.compiled.shapes, &change.shapes);
        }
        self.upload("vertices", &self.compiled.vertices);
        if change.joints {
            self.upload("joints", &self.compiled.joints.joints);
        }
        let joined = (PARTNER_WORDS * 4 * self.compiled.shapes.len()) as u64;
        let tied = bytemuck::cast_slice(&self.compiled.joints.joined);
        self.context.queue().write_buffer(&self.buffers["partners"], joined, tied);
        self.create_groups();
        self.context.check()?;
        Ok(())
    }

    /// Writes some elements, those that lie side by side at once.
    fn write<T: Pod>(&self, name: &str, elements: &[T], which: &BTreeSet<u32>) {
        let mut indices = which.iter().map(|&index| index as usize).peekable();
        while let Some(first) = indices.next() {
            let mut end = first + 1;
            while indices.next_if_eq(&end).is_some() {
                end += 1;
            }
            let offset = (first * size_of::<T>()) as u64;
            let bytes = bytemuck::cast_slice(&elements[first..end]);
            self.context.queue().write_buffer(&self.buffers[name], offset, bytes);
        }
    }

    /// Larger buffers where these are too small, with what the device alone knows carried over.
    fn make_room(&mut self, switches: u32) -> Result<(), WorldError> {
        let need = Room::of(&self.compiled);
        let surfaces = switches & SURFACES == 0 && self.compiled.params.switches & SURFACES != 0;
        if self.room.holds(need) && !surfaces {
            return Ok(());
        }
        let (old, old_room) = (self.buffers.clone(), self.room);
        let undo = |world: &mut Self, error| {
            world.buffers.clone_from(&old);
            world.room = old_room;
            Err(error)
        };
        let mut encoder = self.encoder();
        if surfaces {
            let capacity = self.contact_capacity;
            if let Err(error) = self.create_contact_buffers(capacity) {
                return undo(self, error);
            }
            for name in ["contacts_0", "contacts_1", "sleeping"] {
                encoder.copy_buffer_to_buffer(&old[name], 0, &self.buffers[name], 0, old[name].size());
            }
        }
        if !old_room.holds(need) {
            self.room = old_room.grown(need);
            if let Err(error) = self.create_buffers() {
                return undo(self, error);
            }
            for name in [
                "poses",
                "states",
                "counters",
                "joint_states",
                "joint_impulses",
                "pair_starts_0",
                "pair_starts_1",
                "islands",
                "sleeping_starts",
            ] {
                let bytes = old[name].size().min(self.buffers[name].size());
                encoder.copy_buffer_to_buffer(&old[name], 0, &self.buffers[name], 0, bytes);
            }
        }
        self.context.queue().submit([encoder.finish()]);
        Ok(())
    }

    /// Fills in the ends of lists that shapes of later steps have not got yet.
    pub(super) fn complete(pair_starts: &mut [u32]) {
        let mut last = 0;
        for start in pair_starts {
            last = last.max(*start);
            *start = last;
        }
    }
}
