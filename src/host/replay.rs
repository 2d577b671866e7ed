//! Population of another moment: by the entries of a journal, or by the batches of the scene's emitters. No step is run
//! again.

use crate::population::{Alteration, Journal, Population, PopulationError};
use crate::scene::{Compiled, check_gravity};
use crate::snapshot::{Snapshot, SnapshotError};
use crate::world_error::WorldError;

/// Most steps with batches that are replayed for a snapshot: minutes of work, for a day and a half of rain.
const MAX_TURNS: usize = 1_000_000;

/// Checks the number of steps with batches to replay.
///
/// # Errors
/// The number is too large.
fn check_turns(turns: usize) -> Result<(), SnapshotError> {
    if turns <= MAX_TURNS {
        return Ok(());
    }
    let what = "steps with batches of emitters to replay, or more";
    Err(SnapshotError { what, found: turns, expected: MAX_TURNS })
}

/// Checks the number of batches before any is replayed, as it may come from a file: the batches of one emitter come at
/// steps of their own, so there are at least as many steps with batches.
///
/// # Errors
/// There are too many batches before step `until`.
fn check_batches(compiled: &Compiled, until: u64) -> Result<(), SnapshotError> {
    let batches = compiled.script.emitters.iter().map(|emitter| emitter.batches_before(until)).max();
    check_turns(usize::try_from(batches.unwrap_or(0)).unwrap_or(usize::MAX))
}

impl Population {
    /// Brings the population of a newly made world to the one after all changes of the journal and `until` steps.
    /// `starts` are the starts of timed commands of the snapshot that it continues from
    /// ([`Snapshot::timed_starts`](crate::Snapshot::timed_starts)).
    ///
    /// # Errors
    /// An entry is refused or out of order; or there are too many batches of emitters.
    pub fn relive(
        &mut self,
        compiled: &mut Compiled,
        journal: &Journal,
        until: u64,
        starts: &[u64],
    ) -> Result<(), WorldError> {
        self.set_timed_starts(compiled, starts);
        check_batches(compiled, until)?;
        let mut turns = 0;
        let mut done = 0;
        for (at, alteration) in journal.entries() {
            if *at < done || *at > until {
                let what = "step of a change by hand";
                #[allow(clippy::cast_possible_truncation, reason = "for the message")]
                return Err(SnapshotError { what, found: *at as usize, expected: until as usize }.into());
            }
            self.skip_steps(compiled, done, *at, &mut turns)?;
            done = *at;
            self.apply(compiled, alteration, done)?;
        }
        self.skip_steps(compiled, done, until, &mut turns)
    }

    fn apply(&mut self, compiled: &mut Compiled, alteration: &Alteration, steps: u64) -> Result<(), PopulationError> {
        match alteration {
            Alteration::AddBodies(bodies) => self.add(compiled, bodies, steps).map(drop),
            Alteration::RemoveBodies(ids) => self.remove(compiled, ids).map(drop),
            Alteration::ReplaceBody(id, body) => self.replace(compiled, *id, body, steps).map(drop),
            Alteration::SetProperties(properties) => self.set(compiled, properties).map(drop),
            Alteration::SetShapes(id, shapes) => self.set_shapes(compiled, *id, shapes, steps, None).map(drop),
            Alteration::AddJoints(joints) => self.add_joints(compiled, joints).map(drop),
            Alteration::AddJointsBetween(joints) => {
                let joints = self.between(compiled, joints)?;
                self.add_joints(compiled, &joints).map(drop)
            }
            Alteration::ReplaceJoint(id, joint) => self.replace_joint(compiled, *id, joint).map(drop),
            Alteration::RemoveJoints(ids) => self.remove_joints(compiled, ids).map(drop),
            Alteration::Gravity(gravity) => {
                check_gravity(*gravity)?;
                compiled.params.gravity = (*gravity).into();
                Ok(())
            }
        }
    }

    /// Runs the emitters for the steps `from .. to`, without the steps themselves.
    fn skip_steps(&mut self, compiled: &mut Compiled, from: u64, to: u64, turns: &mut usize) -> Result<(), WorldError> {
        if from >= to {
            return Ok(());
        }
        while self.next < to {
            *turns += 1;
            check_turns(*turns)?;
            let step = self.next.max(from);
            if step > from {
                self.stepped();
            }
            self.act(compiled, step);
            self.retire(compiled, step);
            self.emit(compiled, step);
            self.stepped();
        }
        self.stepped();
        Ok(())
    }

    /// Returns the bodies and joints of a snapshot's time, if they are others than now and all changes came from the
    /// scene's emitters and timeline: replays these from `origin`, the world as it began. Constants that the backend
    /// has set stay.
    ///
    /// # Errors
    /// There are too many batches.
    pub(crate) fn rewind(
        origin: Option<&Compiled>,
        now: &Compiled,
        population: Option<&Self>,
        snapshot: &Snapshot,
    ) -> Result<Option<(Compiled, Self)>, SnapshotError> {
        let Some(origin) = origin.filter(|_| snapshot.population != Self::history(population)) else { return Ok(None) };
        check_batches(origin, snapshot.step)?;
        let mut compiled = origin.on_engine_of(now);
        let mut population = Self::new(&compiled);
        population.set_timed_starts(&compiled, &snapshot.timed_starts);
        let mut turns = 0;
        loop {
            let step = population.next;
            // A step that failed may have added its batches.
            let is_last = step >= snapshot.step;
            if is_last && (step > snapshot.step || Self::history(Some(&population)) == snapshot.population) {
                break;
            }
            turns += 1;
            check_turns(turns)?;
            population.act(&mut compiled, step);
            population.retire(&mut compiled, step);
            population.emit(&mut compiled, step);
            if is_last {
                break;
            }
            population.stepped();
        }
        Ok((Self::history(Some(&population)) == snapshot.population).then_some((compiled, population)))
    }
}
