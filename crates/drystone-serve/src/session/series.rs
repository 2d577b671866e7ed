//! Series: energies of a world and the motion of some of its bodies, a row per step. They are recorded while a client
//! asks for them, so that tables have no gaps however seldom it does.

use std::collections::VecDeque;
use std::fmt;
use std::time::{Duration, Instant};

use super::live::Live;
use super::read::Charge;
use super::{Answer, Broken, Session};
use crate::answers::{BodySeries, EnergyRow, MotionRow, SeriesAnswer};
use crate::hosted::Hosted;
use crate::op::{BodySelector, find_body};
use crate::problem::Problem;
use drystone::low_level::state;
use drystone::{BodyId, WorldError};

/// Largest number of rows of a series that are kept for the next request. Beyond it the oldest ones are dropped.
const MAX_ROWS: usize = 4096;
/// Largest number of bodies of a world whose motion is recorded at a time. A further one takes the place of the one
/// requested the longest ago.
const MAX_BODIES: usize = 8;
/// Time after the last request for a series at which its recording ends.
const LEASE: Duration = Duration::from_secs(10);
/// Approximate bytes of a row in an answer.
const ROW_BYTES: usize = 200;

/// Request for series.
pub struct SeriesRequest {
    /// First wanted step.
    pub from: u64,
    /// Body whose motion is wanted, too.
    pub body: Option<BodySelector>,
    /// Called before the answer is made.
    pub charge: Charge,
}

impl fmt::Debug for SeriesRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SeriesRequest({}, {:?})", self.from, self.body)
    }
}

/// Recent rows, in the order of their steps.
type SeriesRows<T> = VecDeque<T>;

/// Row of a series.
trait SeriesRow {
    fn step(&self) -> u64;
}

impl SeriesRow for EnergyRow {
    fn step(&self) -> u64 {
        self.step
    }
}

impl SeriesRow for MotionRow {
    fn step(&self) -> u64 {
        self.step
    }
}

/// Adds the row of a step. Rows of later steps were discarded by a rewind; an earlier row of the same step is replaced.
fn push<T: SeriesRow>(rows: &mut SeriesRows<T>, row: T) {
    while rows.back().is_some_and(|last| last.step() >= row.step()) {
        rows.pop_back();
    }
    rows.push_back(row);
    if rows.len() > MAX_ROWS {
        rows.pop_front();
    }
}

fn rows_from<T: SeriesRow + Clone>(rows: &SeriesRows<T>, from: u64) -> Vec<T> {
    rows.iter().filter(|row| row.step() >= from).cloned().collect()
}

/// SeriesRecorder of the series of a world.
#[derive(Debug)]
pub(super) struct SeriesRecorder {
    used: Instant,
    energies: SeriesRows<EnergyRow>,
    bodies: Vec<RecordedBody>,
}

#[derive(Debug)]
struct RecordedBody {
    id: BodyId,
    used: Instant,
    rows: SeriesRows<MotionRow>,
}

impl SeriesRecorder {
    fn new(now: Instant) -> Self {
        Self { used: now, energies: SeriesRows::new(), bodies: Vec::new() }
    }

    /// Notes a request. Returns the place of the wanted body.
    fn note(&mut self, body: Option<BodyId>, now: Instant) -> Option<usize> {
        self.used = now;
        let id = body?;
        if let Some(place) = self.bodies.iter().position(|body| body.id == id) {
            self.bodies[place].used = now;
            return Some(place);
        }
        if self.bodies.len() == MAX_BODIES {
            let oldest = self.bodies.iter().enumerate().min_by_key(|(_, body)| body.used);
            if let Some((place, _)) = oldest {
                self.bodies.swap_remove(place);
            }
        }
        self.bodies.push(RecordedBody { id, used: now, rows: SeriesRows::new() });
        Some(self.bodies.len() - 1)
    }

    /// Returns true once no client asks any more. Forgets bodies that none asks for.
    fn is_over(&mut self, now: Instant) -> bool {
        self.bodies.retain(|body| now.saturating_duration_since(body.used) < LEASE);
        now.saturating_duration_since(self.used) >= LEASE
    }

    /// Adds rows of the present step. On a GPU this waits for the device.
    fn sample(&mut self, world: &mut Hosted) -> Result<(), WorldError> {
        let (step, snapshot) = (world.steps(), world.snapshot()?);
        let state::Energies { kinetic, potential, elastic } = state::energies(world.compiled(), &snapshot);
        push(&mut self.energies, EnergyRow { step, kinetic, potential, elastic });
        for RecordedBody { id, rows, .. } in &mut self.bodies {
            let slot = id.index as usize;
            let is_there = world.body_id(slot) == Some(*id);
            if let Some(body) = state::body_slot(world.compiled(), &snapshot, slot).filter(|_| is_there) {
                let state::ReportedBody { position, angle, velocity, angular_velocity, .. } = body;
                push(rows, MotionRow { step, position, angle, velocity, angular_velocity });
            }
        }
        Ok(())
    }
}

impl Session {
    /// Adds the state after a step to the series that clients ask for.
    pub(super) fn record_series(&mut self, live: &mut Live) -> Result<(), Broken> {
        let Some(recorder) = &mut self.recorder else { return Ok(()) };
        if recorder.is_over(Instant::now()) {
            self.recorder = None;
            return Ok(());
        }
        recorder.sample(&mut live.world).map_err(|error| Broken::of_world(&error))
    }

    /// Answers a request for series, and has them recorded for some time.
    pub(super) fn series(
        &mut self,
        live: &mut Live,
        asked: &mut SeriesRequest,
    ) -> Result<Result<Answer, Problem>, WorldError> {
        let body = asked.body.as_ref().map(|body| find_body(&mut live.world, body)).transpose();
        let body = match body {
            Ok(body) => body,
            Err(problem) => return Ok(Err(problem.at("body"))),
        };
        let now = Instant::now();
        let recorder = self.recorder.get_or_insert_with(|| SeriesRecorder::new(now));
        if recorder.is_over(now) {
            *recorder = SeriesRecorder::new(now);
        }
        let place = recorder.note(body, now);
        recorder.sample(&mut live.world)?;
        let motion = place.and_then(|place| recorder.bodies.get(place));
        let count = |wanted: usize| wanted.min(MAX_ROWS) * ROW_BYTES;
        let bytes = count(recorder.energies.len()) + motion.map_or(0, |motion| count(motion.rows.len()));
        if let Err(problem) = (asked.charge)(bytes) {
            return Ok(Err(problem));
        }
        Ok(Ok(Answer::json(&SeriesAnswer {
            step: live.world.steps(),
            dt: live.world.compiled().settings.dt,
            energies: rows_from(&recorder.energies, asked.from),
            body: motion
                .map(|motion| BodySeries { id: motion.id.to_string(), rows: rows_from(&motion.rows, asked.from) }),
        })))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(step: u64, kinetic: f64) -> EnergyRow {
        EnergyRow { step, kinetic, potential: 0.0, elastic: 0.0 }
    }

    #[test]
    fn rows_follow_the_present_and_their_number_is_bounded() {
        let mut rows = SeriesRows::new();
        for step in 0..10 {
            push(&mut rows, row(step, 0.0));
        }
        // A rewind to step 6, and a change there without a step.
        push(&mut rows, row(6, 1.0));
        push(&mut rows, row(6, 2.0));
        let found: Vec<(u64, f64)> = rows_from(&rows, 4).iter().map(|row| (row.step, row.kinetic)).collect();
        assert_eq!(found, [(4, 0.0), (5, 0.0), (6, 2.0)]);
        let end = 2 * MAX_ROWS as u64;
        (7..end).for_each(|step| push(&mut rows, row(step, 0.0)));
        assert_eq!((rows.len(), rows[0].step), (MAX_ROWS, end - MAX_ROWS as u64));
    }

    #[test]
    fn recording_ends_when_none_asks() {
        let (now, id) = (Instant::now(), |index| BodyId { index, generation: 0 });
        let mut recorder = SeriesRecorder::new(now);
        assert_eq!(recorder.note(None, now), None);
        let later = |seconds: u64| now + Duration::from_secs(seconds);
        for (place, index) in (0..MAX_BODIES).zip(0_u32..) {
            assert_eq!(recorder.note(Some(id(index)), later(index.into())), Some(place));
        }
        // One more replaces the one asked for the longest ago; a known one keeps its place.
        let there = |recorder: &SeriesRecorder, index| recorder.bodies.iter().any(|body| body.id == id(index));
        recorder.note(Some(id(0)), later(8));
        recorder.note(Some(id(99)), later(8));
        assert!(there(&recorder, 0) && !there(&recorder, 1) && there(&recorder, 99));
        // The second one is forgotten 10 s after its request, and all of it 10 s after the last one.
        assert!(!recorder.is_over(later(12)) && !there(&recorder, 2) && there(&recorder, 3));
        assert!(recorder.is_over(later(18)) && recorder.bodies.is_empty());
    }
}
