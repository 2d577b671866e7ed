//! Moves a world with its state to another backend, other settings or a new device, and makes copies of it.

use std::sync::Arc;

use super::super::cancel::Cancel;
use super::{INITIAL_SPACING, On, StoredState, WorldRun};
use drystone::Context;
use drystone::Settings;
use drystone::Snapshot;
use drystone::low_level::cpu::{Books, CpuWorld};
use drystone::low_level::gpu::GpuWorld;
use drystone::low_level::lineage;
use drystone::low_level::population::Population;
use drystone::low_level::snapshot::{Lineage, first_islands};
use drystone::low_level::types::{ASLEEP, QUIET_MASK};
use drystone::{World, WorldError};

impl WorldRun {
    /// Moves the world to a backend and settings, with bodies, velocities and impulses. The history is dropped, as it
    /// is of another computation: the world can go back to the present step and not before. Returns false if it was
    /// cancelled.
    ///
    /// # Errors
    /// If it does not fit there, or a setting is out of range. Then, and if it was cancelled, nothing has changed.
    pub fn carry_over(
        &mut self,
        on: On,
        context: &Context,
        settings: Settings,
        cancel: &Cancel,
    ) -> Result<bool, WorldError> {
        let mut scene = (*self.scene).clone();
        scene.settings = settings;
        scene.check()?;
        let step = self.steps();
        let mut snapshot = self.world.snapshot()?;
        if cancel.is_cancelled() {
            return Ok(false);
        }
        let books = self.books(&scene, step, self.next)?;
        adapt(&mut snapshot, &books);
        let Some(mut world) = self.make(books, on, context, cancel)? else { return Ok(false) };
        world.restore(&snapshot)?;
        // The state belongs to the new world.
        snapshot.lineage = lineage(&world);
        if cancel.is_cancelled() {
            return Ok(false);
        }
        self.world = world;
        self.scene = Arc::new(scene);
        self.past.clear();
        self.first = step;
        self.end_at(step);
        Arc::make_mut(&mut self.log).truncate(self.next);
        self.undone.clear();
        self.keep_as(snapshot);
        Ok(true)
    }

    /// Makes a copy of the world on a backend, with its log and its state, to run beside this one. Returns `None` if it
    /// was cancelled.
    ///
    /// # Errors
    /// If it does not fit there.
    pub fn twin(&mut self, on: On, context: &Context, cancel: &Cancel) -> Result<Option<Self>, WorldError> {
        let step = self.steps();
        let mut snapshot = self.world.snapshot()?;
        if cancel.is_cancelled() {
            return Ok(None);
        }
        let books = self.books(&self.scene, step, self.next)?;
        adapt(&mut snapshot, &books);
        let Some(mut world) = self.make(books, on, context, cancel)? else { return Ok(None) };
        world.restore(&snapshot)?;
        // The state belongs to the copy.
        snapshot.lineage = lineage(&world);
        let mut twin = Self {
            scene: self.scene.clone(),
            world,
            threads: self.threads,
            log: Arc::new(self.log[..self.next].to_vec()),
            numbered: self.numbered,
            next: self.next,
            undone: Vec::new(),
            redoes: false,
            past: Vec::new(),
            spacing: INITIAL_SPACING,
            first: step,
            furthest: step,
            discarded: None,
            target: None,
            watched: Vec::new(),
        };
        twin.keep_as(snapshot);
        Ok(if cancel.is_cancelled() { None } else { Some(twin) })
    }

    /// Makes a world from tables of bodies and joints; returns `None` if it was cancelled.
    fn make(&self, books: Books, on: On, context: &Context, cancel: &Cancel) -> Result<Option<World>, WorldError> {
        if cancel.is_cancelled() {
            return Ok(None);
        }
        Ok(Some(match on {
            On::Cpu => CpuWorld::from_books(books).with_threads(self.threads)?.into(),
            On::Gpu => GpuWorld::from_books(context, books)?.into(),
        }))
    }

    /// Continues on a new device after the old one was lost. A world that was on it is computed again, from the start
    /// of the scene or from the step at which it came to the device.
    ///
    /// # Errors
    /// If it does not fit the new device.
    pub fn revive(&mut self, context: &Context) -> Result<(), WorldError> {
        if self.on() == On::Cpu {
            return Ok(());
        }
        let step = self.steps();
        self.past.retain(|kept| matches!(kept.state, StoredState::Host(_)));
        // Replaces the lost world, which gives `go_back` the backend and the device.
        self.world = GpuWorld::new(context, &self.scene)?.into();
        self.next = 0;
        // A state in memory is from the step at which the world came from a file or another backend.
        if !self.past.is_empty() {
            self.go_back(step)?;
        }
        self.target = (self.steps() < step).then_some(step);
        Ok(())
    }
}

/// Adapts a state to a world of the same bodies with other settings.
fn adapt(snapshot: &mut Snapshot, books: &Books) {
    let Books { compiled, population, .. } = books;
    snapshot.lineage = Lineage::default();
    snapshot.population = Population::history(population.as_ref());
    let slept = !snapshot.islands.is_empty();
    match (slept, compiled.settings.sleep) {
        (false, true) => snapshot.islands = first_islands(compiled),
        (true, false) => {
            for state in &mut snapshot.states {
                state.status &= !(ASLEEP | QUIET_MASK);
            }
            let starts = std::mem::take(&mut snapshot.sleeping_starts);
            let put_by = std::mem::take(&mut snapshot.sleeping);
            snapshot.islands.clear();
            merge(snapshot, &starts, &put_by);
            snapshot.counters.sleeping_contacts = 0;
        }
        _ => {}
    }
}

/// Merges archived contacts of sleeping bodies into the others, each after those of the same shape.
fn merge(snapshot: &mut Snapshot, starts: &[u32], put_by: &[drystone::low_level::types::SleepingContact]) {
    if put_by.is_empty() || snapshot.pair_starts.is_empty() {
        return;
    }
    let range = |starts: &[u32], shape: usize, most: usize| {
        let at = |index: usize| starts.get(index).or(starts.last()).map_or(0, |&start| (start as usize).min(most));
        at(shape)..at(shape + 1)
    };
    let (old_contacts, old_manifolds) =
        (std::mem::take(&mut snapshot.contacts), std::mem::take(&mut snapshot.manifolds));
    let shapes = snapshot.pair_starts.len() - 1;
    let mut pair_starts = Vec::with_capacity(shapes + 1);
    for shape in 0..shapes {
        pair_starts.push(u32::try_from(snapshot.contacts.len()).unwrap_or(u32::MAX));
        let awake = range(&snapshot.pair_starts, shape, old_contacts.len());
        let mut known: Vec<(u32, u32)> = Vec::new();
        for index in awake {
            known.push((old_contacts[index].shape_a, old_contacts[index].shape_b));
            snapshot.contacts.push(old_contacts[index]);
            snapshot.manifolds.push(old_manifolds[index]);
        }
        for kept in &put_by[range(starts, shape, put_by.len())] {
            if !known.contains(&(kept.contact.shape_a, kept.contact.shape_b)) {
                snapshot.contacts.push(kept.contact);
                snapshot.manifolds.push(kept.manifold);
            }
        }
    }
    pair_starts.push(u32::try_from(snapshot.contacts.len()).unwrap_or(u32::MAX));
    snapshot.pair_starts = pair_starts;
    snapshot.counters.contacts = u32::try_from(snapshot.contacts.len()).unwrap_or(u32::MAX);
}
