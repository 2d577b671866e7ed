//! A step in strict mode: where it outgrew a buffer it is run again from its start, with more room. Of one world, or of
//! several that share a submission and a wait.

use std::time::{Duration, Instant};

use super::GpuWorld;
use super::clock::Clock;
use super::room::FoundContacts;
use crate::host::HostStart;
use crate::types::{Counters, SleepingContact};
use crate::world::WorldError;

/// What strict mode goes back to when a step outgrew a buffer.
pub(super) const BACKUPS: [(&str, &str); 7] = [
    ("poses", "poses_backup"),
    ("states", "states_backup"),
    ("counters", "counters_backup"),
    ("islands", "islands_backup"),
    ("sleeping_starts", "sleeping_starts_backup"),
    ("joint_states", "joint_states_backup"),
    ("joint_impulses", "joint_impulses_backup"),
];

/// Time from which on a step is submitted in batches, so that it can be given up between two of them.
const LONG: Duration = Duration::from_millis(20);
/// Time of a batch. Submitting one costs about 0.05 ms.
const BATCH: Duration = Duration::from_millis(10);
/// Work of a step that is not taken for long before one was timed: shapes times lines of the plan. Four thousand shapes with
/// the default settings.
const LITTLE_WORK: usize = 250_000;
/// Lines of the plan in a batch of a step whose time is not known.
const FIRST_BATCH: usize = 8;

/// What the host has to know of the start of a step to go back there.
#[derive(Debug)]
pub struct StepStart {
    host: HostStart,
    /// Bytes of the contacts that were put by.
    put_by: u64,
    /// The newest counters then.
    known: Option<Box<(u64, Counters)>>,
}

impl GpuWorld {
    /// Runs the step; if it outgrew a buffer, goes back to its start, grows and runs it again.
    pub(super) fn step_strictly(&mut self) -> Result<(), WorldError> {
        self.wait()?;
        match self.begin_strictly()? {
            Some(start) => self.run_until_it_fits(&start),
            None => Ok(()),
        }
    }

    /// What comes before a step, once, however often it is run. None if the world rests: then it is done.
    fn begin_strictly(&mut self) -> Result<Option<StepStart>, WorldError> {
        self.poll()?;
        if self.rests() {
            return Ok(None);
        }
        self.emit(None)?;
        // What was put by hardly ever changes, and is as large as all contacts.
        let put_by = u64::from(self.known.map_or(0, |(_, counters)| counters.sleeping_contacts));
        let put_by = put_by * size_of::<SleepingContact>() as u64;
        Ok(Some(StepStart { host: self.host.start(), put_by, known: self.known.map(Box::new) }))
    }

    fn run_until_it_fits(&mut self, start: &StepStart) -> Result<(), WorldError> {
        loop {
            let step = self.host.steps;
            let begun = Instant::now();
            self.run_in_batches(start).inspect_err(|error| {
                if matches!(error, WorldError::Cancelled) {
                    // The last batch may be on its way, but nothing can come of it.
                    self.host.steps = step;
                }
            })?;
            self.took(begun.elapsed());
            if self.has_fitted(start)? {
                return Ok(());
            }
        }
    }

    /// Runs a step once, and waits for it: in one batch, or in several if it is long. While the device works at one, the
    /// next is recorded and waits there, so that it is never idle.
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

    /// Lines of the plan that are submitted at a time.
    fn batch_lines(&self) -> usize {
        let (lines, shapes) = (self.plan.len(), self.host.compiled.params.shape_count);
        // A world that has doubled since is another one.
        match self.pace.filter(|&(_, then)| shapes / 2 <= then) {
            Some((pace, _)) if pace < LONG => lines,
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most as many as there are")]
            Some((pace, _)) => (lines as f64 * (BATCH.as_secs_f64() / pace.as_secs_f64())).ceil() as usize,
            None if shapes as usize * lines <= LITTLE_WORK => lines,
            None => FIRST_BATCH.min(lines),
        }
    }

    fn took(&mut self, time: Duration) {
        self.pace = Some((time, self.host.compiled.params.shape_count));
    }

    fn record_strictly(&mut self, start: &StepStart) -> Result<wgpu::CommandEncoder, WorldError> {
        let mut encoder = self.engine.encoder();
        self.back_up(&mut encoder, start, |pair| pair);
        self.record(&mut encoder)?;
        Ok(encoder)
    }

    /// Copies what a step changes from the first of each pair to the second.
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
        encoder.copy_buffer_to_buffer(&buffers[from], 0, &buffers[to], 0, start.put_by);
    }

    /// Whether the step that has just been run had room. If not, the world is as it was before it, and has more.
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
        // The contacts of the step before still lie in the other buffer.
        self.engine.parity ^= 1;
        let mut encoder = self.engine.encoder();
        self.back_up(&mut encoder, start, |(from, to)| (to, from));
        // Before growing, which may fail: then the world is as it was before the step.
        self.engine.context.queue().submit([encoder.finish()]);
        if let Some(found) = too_many {
            // The work of the next step is not known.
            self.known = start.known.as_deref().copied();
            return Err(WorldError::TooManyContacts { found, limit });
        }
        let mut encoder = self.engine.encoder();
        self.grow(&mut encoder)?;
        self.engine.context.queue().submit([encoder.finish()]);
        Ok(false)
    }
}

/// Steps of several worlds with one submission: `record_step` of each, what that gave to the queue at once, a wait for the
/// device, and `end_recorded` of each. Worlds cannot tell: each has its own tables, and each command buffer its own world.
///
/// Each step keeps its own dispatches, as worlds may be of any size and kind. Small ones of one kind share them in a pool
/// (`src/gpu/worlds/pool.rs`).
impl GpuWorld {
    /// The same world, which learns how long its steps keep the device busy, where that can tell.
    #[must_use]
    pub fn with_clock(mut self) -> Self {
        let context = &self.engine.context;
        self.clock = context.has_timestamps().then(|| Clock::new(context.device()));
        self
    }

    /// Returns whether its steps are to be submitted alone and in batches ([`Self::step`]), by what is known of them.
    #[must_use]
    pub fn is_long(&self) -> bool {
        self.batch_lines() < self.plan.len()
    }

    /// Seconds for which the device was busy with the steps that have arrived since this was last asked.
    pub fn take_device_seconds(&mut self) -> Option<f64> {
        self.clock.as_mut()?.take()
    }

    /// Records a step of a strict world, of which none is on its way. None if the world rests: then the step is done.
    ///
    /// # Errors
    /// As [`Self::step`].
    pub fn record_step(&mut self) -> Result<Option<(StepStart, wgpu::CommandBuffer)>, WorldError> {
        let Some(start) = self.begin_strictly()? else { return Ok(None) };
        let encoder = self.record_strictly(&start)?;
        Ok(Some((start, encoder.finish())))
    }

    /// Ends a step once the device has done what was recorded, for which the host has waited so long. If it outgrew a
    /// buffer, it is run again, alone.
    ///
    /// # Errors
    /// As [`Self::step`].
    pub fn end_recorded(&mut self, start: &StepStart, waited: Duration) -> Result<(), WorldError> {
        if !self.has_fitted(start)? {
            return self.run_until_it_fits(start);
        }
        // Without a clock the time of all that was submitted together: a step that is taken for long is timed alone next.
        let busy = self.clock.as_ref().and_then(Clock::last);
        self.took(busy.map_or(waited, Duration::from_secs_f64));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::{Compiled, Scene, samples};
    use crate::{AdapterChoice, Context, state};

    /// One with hardly any room, which it has to ask for more than once, and some that have enough.
    fn worlds(context: &Context) -> Vec<GpuWorld> {
        let room = [
            (samples::pyramid(5), Some(1)),
            (samples::cards(), None),
            (samples::rods(), None),
            (samples::dominoes(), Some(2)),
        ];
        let world = |(mut scene, room): (Scene, Option<u32>)| {
            scene.settings.strict = true;
            GpuWorld::from_compiled(context, Compiled::new(&scene).unwrap(), room).unwrap().with_clock()
        };
        room.into_iter().map(world).collect()
    }

    fn hashes(worlds: &mut [GpuWorld]) -> Vec<u64> {
        worlds.iter_mut().map(|world| state::hash(&world.snapshot().unwrap())).collect()
    }

    #[test]
    fn steps_of_one_submission_are_those_of_each_alone() {
        let context = Context::new(AdapterChoice::Any).expect("a device, if only a software one");
        let (mut together, mut alone) = (worlds(&context), worlds(&context));
        for _ in 0..20 {
            let recorded: Vec<_> = together.iter_mut().filter_map(|world| world.record_step().unwrap()).collect();
            assert_eq!(recorded.len(), together.len(), "none of them rests");
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
        assert!(together[0].contact_capacity() > 1 && together[3].contact_capacity() > 2, "they had to grow");
        assert!(together.iter().all(|world| world.steps() == 20 && world.overflowed_steps().is_empty()));
        // Negative control: a step more is another state.
        for world in &mut alone {
            world.step().unwrap();
        }
        for (one, other) in hashes(&mut together).into_iter().zip(hashes(&mut alone)) {
            assert_ne!(one, other);
        }
    }

    #[test]
    fn batches_are_the_step() {
        let context = Context::new(AdapterChoice::Any).expect("a device, if only a software one");
        let (mut in_batches, mut at_once) = (worlds(&context), worlds(&context));
        for _ in 0..20 {
            for world in &mut in_batches {
                // A batch is a line of the plan.
                world.took(Duration::from_hours(1));
                assert!(world.is_long() && world.batch_lines() == 1);
                world.step().unwrap();
            }
            for world in &mut at_once {
                world.took(Duration::ZERO);
                assert!(!world.is_long());
                world.step().unwrap();
            }
        }
        assert_eq!(hashes(&mut in_batches), hashes(&mut at_once));
        assert!(in_batches[0].contact_capacity() > 1, "it had to grow");
    }

    /// A step that is given up is not counted, and the batches behind it are left out.
    #[test]
    fn batches_are_left_out() {
        let context = Context::new(AdapterChoice::Any).expect("a device, if only a software one");
        let mut scene = samples::pyramid(60);
        (scene.settings.strict, scene.settings.substeps) = (true, Some(64));
        let mut world = GpuWorld::new(&context, &scene).unwrap();
        assert!(world.is_long(), "by its work");
        world.step().unwrap();
        let (whole, kept) = (world.dispatches(), world.snapshot().unwrap());
        // The step may end before the other thread has its turn.
        let left_out = (1..=100).any(|after| {
            let token = crate::CancelToken::default();
            world.set_cancel_token(token.clone());
            world.took(Duration::from_hours(1));
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
        assert_eq!(hashes(&mut [world]), hashes(&mut [fresh]), "and leave no trace");
    }
}
