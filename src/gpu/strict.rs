//! Strict mode: a step that overflows a buffer is undone and repeated with larger buffers, so that no contact is ever
//! dropped. For one world, or for several that share a submission and a wait.

use std::time::{Duration, Instant};

use super::GpuWorld;
use super::capacity::FoundContacts;
use super::clock::Clock;
use crate::host::HostStart;
use crate::types::{Counters, SleepingContact};
use crate::world::WorldError;

/// Tables that a step changes, with their backups, which restore them after an overflow.
pub(super) const BACKUPS: [(&str, &str); 7] = [
    ("poses", "poses_backup"),
    ("states", "states_backup"),
    ("counters", "counters_backup"),
    ("islands", "islands_backup"),
    ("sleeping_starts", "sleeping_starts_backup"),
    ("joint_states", "joint_states_backup"),
    ("joint_impulses", "joint_impulses_backup"),
];

/// Minimum duration of a step to be submitted in batches, so that it can be cancelled between two of them.
const LONG: Duration = Duration::from_millis(20);
/// Target duration of a batch. A submission costs about 0.05 ms.
const BATCH: Duration = Duration::from_millis(10);
/// Maximum work of a step that is submitted whole before any step was timed, in shapes times lines of the plan: four
/// thousand shapes with the default settings.
const LITTLE_WORK: usize = 250_000;
/// Lines of the plan per batch while the duration of a step is unknown.
const INITIAL_BATCH: usize = 8;

/// Host-side state at the start of a step, to return to.
#[derive(Debug)]
pub struct StepStart {
    host: HostStart,
    /// Size of the archived contacts, in bytes.
    archived: u64,
    /// Latest counters at that time.
    known: Option<Box<(u64, Counters)>>,
}

impl GpuWorld {
    /// Runs a step; if it overflows a buffer, undoes it, grows and repeats it.
    pub(super) fn step_strictly(&mut self) -> Result<(), WorldError> {
        self.wait()?;
        match self.begin_strictly()? {
            Some(start) => self.run_until_it_fits(&start),
            None => Ok(()),
        }
    }

    /// Prepares a step, once however often it is repeated. Returns `None` if the step was skipped because all bodies
    /// sleep.
    fn begin_strictly(&mut self) -> Result<Option<StepStart>, WorldError> {
        self.poll()?;
        if self.is_idle() {
            return Ok(None);
        }
        self.emit(None)?;
        // Archived contacts rarely change, and their table is as large as that of all contacts: only the part in use is
        // copied.
        let archived = u64::from(self.known.map_or(0, |(_, counters)| counters.sleeping_contacts));
        let archived = archived * size_of::<SleepingContact>() as u64;
        Ok(Some(StepStart { host: self.host.start(), archived, known: self.known.map(Box::new) }))
    }

    fn run_until_it_fits(&mut self, start: &StepStart) -> Result<(), WorldError> {
        loop {
            let step = self.host.steps;
            let begun = Instant::now();
            self.run_in_batches(start).inspect_err(|error| {
                if matches!(error, WorldError::Cancelled) {
                    // The last batch may still run on the device, but its results are discarded.
                    self.host.steps = step;
                }
            })?;
            self.record_duration(begun.elapsed());
            if self.has_fitted(start)? {
                return Ok(());
            }
        }
    }

    /// Runs a step once and waits for it, in one batch, or in several if it is long. While the device runs one batch,
    /// the next is already queued, so that it is never idle.
    fn run_in_batches(&mut self, start: &StepStart) -> Result<(), WorldError> {
        self.host.limits.check()?;
        let lines = self.batch_lines();
        let mut encoder = self.engine.encoder();
        self.back_up(&mut encoder, start, |pair| pair);
        self.begin_recording(&mut encoder)?;
        let measured = if lines < self.plan.len() { None } else { self.begin_measuring() };
        let (mut next, mut before) = (0, None);
        loop {
            let end = (next + lines).min(self.plan.len());
            self.record_ops(&mut encoder, next..end, measured)?;
            next = end;
            if next == self.plan.len() {
                break;
            }
            let recorded = std::mem::replace(&mut encoder, self.engine.encoder());
            let submitted = self.engine.context.queue().submit([recorded.finish()]);
            if let Some(before) = before.replace(submitted) {
                self.wait_for(Some(&before))?;
            }
        }
        self.end_recording(&mut encoder, measured);
        self.submit(encoder)?;
        self.wait()
    }

    /// Returns the number of lines of the plan per batch.
    fn batch_lines(&self) -> usize {
        let (lines, shapes) = (self.plan.len(), self.host.compiled.params.shape_count);
        // After the number of shapes has doubled, the old duration says nothing.
        match self.last_duration.filter(|&(_, then)| shapes / 2 <= then) {
            Some((last_duration, _)) if last_duration < LONG => lines,
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most as many as there are")]
            Some((last_duration, _)) => {
                (lines as f64 * (BATCH.as_secs_f64() / last_duration.as_secs_f64())).ceil() as usize
            }
            None if shapes as usize * lines <= LITTLE_WORK => lines,
            None => INITIAL_BATCH.min(lines),
        }
    }

    fn record_duration(&mut self, time: Duration) {
        self.last_duration = Some((time, self.host.compiled.params.shape_count));
    }

    fn record_strictly(&mut self, start: &StepStart) -> Result<wgpu::CommandEncoder, WorldError> {
        let mut encoder = self.engine.encoder();
        self.back_up(&mut encoder, start, |pair| pair);
        self.record(&mut encoder)?;
        Ok(encoder)
    }

    /// Copies the tables that a step changes, from the first of each pair to the second after applying `direction`.
    fn back_up(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        start: &StepStart,
        direction: impl Fn((&'static str, &'static str)) -> (&'static str, &'static str),
    ) {
        let buffers = &self.engine.buffers;
        for pair in BACKUPS {
            let (from, to) = direction(pair);
            encoder.copy_buffer_to_buffer(&buffers[from], 0, &buffers[to], 0, buffers[pair.0].size());
        }
        let (from, to) = direction(("sleeping", "sleeping_backup"));
        encoder.copy_buffer_to_buffer(&buffers[from], 0, &buffers[to], 0, start.archived);
    }

    /// Returns true if the last step fitted. If not, restores the state before it and grows the buffers.
    fn has_fitted(&mut self, start: &StepStart) -> Result<bool, WorldError> {
        self.poll()?;
        let step = self.host.steps - 1;
        let limit = self.contact_limit();
        let found = self.known.map(|(_, counters)| FoundContacts::new(&counters));
        let too_many = found.and_then(|found| found.too_many(limit, self.engine.contact_capacity));
        if self.host.overflowed.last() != Some(&step) && too_many.is_none() {
            return Ok(true);
        }
        self.host.undo_step(&start.host);
        // The contacts of the previous step are still in the other buffer.
        self.engine.parity ^= 1;
        let mut encoder = self.engine.encoder();
        self.back_up(&mut encoder, start, |(from, to)| (to, from));
        // Before growing, which may fail: the world must then be as it was before the step.
        self.engine.context.queue().submit([encoder.finish()]);
        if let Some(found) = too_many {
            // The statistics of the undone step do not apply to the next one.
            self.known = start.known.as_deref().copied();
            return Err(WorldError::TooManyContacts { found, limit });
        }
        let mut encoder = self.engine.encoder();
        self.grow(&mut encoder)?;
        self.engine.context.queue().submit([encoder.finish()]);
        Ok(false)
    }
}

/// Steps of several worlds in one submission: call `record_step` of each, submit all command buffers, wait for the
/// device, then call `end_recorded` of each. Results are the same as alone: each world has its own tables, and each
/// command buffer belongs to one world.
///
/// Each world keeps its own dispatches, as worlds may differ in size and settings. Small worlds with equal stages share
/// dispatches in a pool (`src/gpu/worlds/pool.rs`).
impl GpuWorld {
    /// Enables device timing of steps, if the device supports timestamps.
    #[must_use]
    pub fn with_clock(mut self) -> Self {
        let context = &self.engine.context;
        self.clock = context.has_timestamps().then(|| Clock::new(context.device()));
        self
    }

    /// Returns true if the next step is expected to be long, and is to be submitted on its own and in batches
    /// ([`Self::step`]).
    #[must_use]
    pub fn is_long(&self) -> bool {
        self.batch_lines() < self.plan.len()
    }

    /// Returns the device time of the steps that have arrived since the last call, in seconds.
    pub fn take_device_seconds(&mut self) -> Option<f64> {
        self.clock.as_mut()?.take()
    }

    /// Records a step of a strict world that has no step in flight. Returns `None` if the step was skipped because all
    /// bodies sleep.
    ///
    /// # Errors
    /// Those of [`Self::step`].
    pub fn record_step(&mut self) -> Result<Option<(StepStart, wgpu::CommandBuffer)>, WorldError> {
        let Some(start) = self.begin_strictly()? else { return Ok(None) };
        let encoder = self.record_strictly(&start)?;
        Ok(Some((start, encoder.finish())))
    }

    /// Ends a recorded step after the device has run it; `waited` is how long the host waited. A step that overflowed a
    /// buffer is repeated, alone.
    ///
    /// # Errors
    /// Those of [`Self::step`].
    pub fn end_recorded(&mut self, start: &StepStart, waited: Duration) -> Result<(), WorldError> {
        if !self.has_fitted(start)? {
            return self.run_until_it_fits(start);
        }
        // Without a timer, the time of the whole submission is used; a step that then seems long is submitted and timed
        // alone next.
        let busy = self.clock.as_ref().and_then(Clock::last);
        self.record_duration(busy.map_or(waited, Duration::from_secs_f64));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::{Compiled, Scene, samples};
    use crate::{AdapterChoice, Context, state};

    /// Worlds of which the first and the last start with hardly any contact capacity and must grow it.
    fn worlds(context: &Context) -> Vec<GpuWorld> {
        let capacity = [
            (samples::pyramid(5), Some(1)),
            (samples::cards(), None),
            (samples::rods(), None),
            (samples::dominoes(), Some(2)),
        ];
        let world = |(mut scene, capacity): (Scene, Option<u32>)| {
            scene.settings.strict = true;
            GpuWorld::from_compiled(context, Compiled::new(&scene).unwrap(), capacity).unwrap().with_clock()
        };
        capacity.into_iter().map(world).collect()
    }

    fn hashes(worlds: &mut [GpuWorld]) -> Vec<u64> {
        worlds.iter_mut().map(|world| state::hash(&world.snapshot().unwrap())).collect()
    }

    #[test]
    fn steps_of_one_submission_are_those_of_each_alone() {
        let context = Context::new(AdapterChoice::Any).expect("a hardware or software adapter");
        let (mut together, mut alone) = (worlds(&context), worlds(&context));
        for _ in 0..20 {
            let recorded: Vec<_> = together.iter_mut().filter_map(|world| world.record_step().unwrap()).collect();
            assert_eq!(recorded.len(), together.len(), "none of them sleeps");
            let (starts, commands): (Vec<_>, Vec<_>) = recorded.into_iter().unzip();
            context.queue().submit(commands);
            context.wait().unwrap();
            for (world, start) in together.iter_mut().zip(&starts) {
                world.end_recorded(start, Duration::ZERO).unwrap();
                let seconds = world.take_device_seconds();
                assert_eq!(seconds.is_some_and(|seconds| seconds > 0.0), context.has_timestamps(), "{seconds:?}");
            }
            for world in &mut alone {
                world.step().unwrap();
            }
        }
        assert_eq!(hashes(&mut together), hashes(&mut alone));
        assert!(
            together[0].contact_capacity() > 1 && together[3].contact_capacity() > 2,
            "contact buffers must have grown"
        );
        assert!(together.iter().all(|world| world.steps() == 20 && world.overflowed_steps().is_empty()));
        // Negative control: one more step gives another state.
        for world in &mut alone {
            world.step().unwrap();
        }
        for (one, other) in hashes(&mut together).into_iter().zip(hashes(&mut alone)) {
            assert_ne!(one, other);
        }
    }

    #[test]
    fn batches_are_the_step() {
        let context = Context::new(AdapterChoice::Any).expect("a hardware or software adapter");
        let (mut in_batches, mut at_once) = (worlds(&context), worlds(&context));
        for _ in 0..20 {
            for world in &mut in_batches {
                // One line of the plan per batch.
                world.record_duration(Duration::from_hours(1));
                assert!(world.is_long() && world.batch_lines() == 1);
                world.step().unwrap();
            }
            for world in &mut at_once {
                world.record_duration(Duration::ZERO);
                assert!(!world.is_long());
                world.step().unwrap();
            }
        }
        assert_eq!(hashes(&mut in_batches), hashes(&mut at_once));
        assert!(in_batches[0].contact_capacity() > 1, "the contact buffer must have grown");
    }

    /// A cancelled step is not counted, and its remaining batches are not submitted.
    #[test]
    fn batches_are_left_out() {
        let context = Context::new(AdapterChoice::Any).expect("a hardware or software adapter");
        let mut scene = samples::pyramid(60);
        (scene.settings.strict, scene.settings.substeps) = (true, Some(64));
        let mut world = GpuWorld::new(&context, &scene).unwrap();
        assert!(world.is_long(), "judged by its work");
        world.step().unwrap();
        let (whole, kept) = (world.dispatches(), world.snapshot().unwrap());
        // The step may end before the other thread cancels it.
        let left_out = (1..=100).any(|after| {
            let token = crate::CancelToken::default();
            world.set_cancel_token(token.clone());
            world.record_duration(Duration::from_hours(1));
            let canceller = std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(after));
                token.cancel();
            });
            let stepped = world.step();
            canceller.join().unwrap();
            let (dispatches, given_up) = (world.dispatches(), matches!(stepped, Err(WorldError::Cancelled)));
            assert_eq!(world.steps(), if given_up { 1 } else { 2 });
            world.set_cancel_token(crate::CancelToken::default());
            world.restore(&kept).unwrap();
            assert!(dispatches <= whole);
            given_up && dispatches < whole
        });
        assert!(left_out);
        let mut fresh = GpuWorld::new(&context, &scene).unwrap();
        (0..2).for_each(|_| fresh.step().unwrap());
        world.step().unwrap();
        assert_eq!(hashes(&mut [world]), hashes(&mut [fresh]), "cancelled steps leave no trace");
    }
}
