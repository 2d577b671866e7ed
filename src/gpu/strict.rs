//! A step in strict mode: where it outgrew a buffer it is run again from its start, with more room. Of one world, or of
//! several that share a submission and a wait.

use super::GpuWorld;
#[cfg(feature = "serve")]
use super::clock::Clock;
use super::room::FoundContacts;
use crate::population::Population;
use crate::types::{self, Counters, SleepingContact};
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

/// What the host has to know of the start of a step to go back there.
#[derive(Debug)]
pub(crate) struct StepStart {
    commands: Vec<types::Command>,
    /// Slots of bodies that left since the step before.
    vacated: Vec<u32>,
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
        let vacated = Population::vacated(self.population.as_ref()).to_vec();
        Ok(Some(StepStart { commands: self.commands.clone(), vacated, put_by, known: self.known.map(Box::new) }))
    }

    fn run_until_it_fits(&mut self, start: &StepStart) -> Result<(), WorldError> {
        loop {
            let encoder = self.record_strictly(start)?;
            self.submit(encoder)?;
            self.wait()?;
            if self.has_fitted(start)? {
                return Ok(());
            }
        }
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
        let step = self.steps - 1;
        let limit = self.contact_limit();
        let found = self.known.map(|(_, counters)| FoundContacts::new(&counters));
        let too_many = found.and_then(|found| found.too_many(limit, self.engine.contact_capacity));
        if self.overflowed.last() != Some(&step) && too_many.is_none() {
            return Ok(true);
        }
        self.overflowed.retain(|&overflowed| overflowed != step);
        self.events.retain(|event| event.step != step);
        // Back to the start: the contacts of the step before still lie in the other buffer.
        self.steps = step;
        self.engine.parity ^= 1;
        self.commands.clone_from(&start.commands);
        if let Some(population) = &mut self.population {
            population.restore(&self.compiled, &start.vacated);
        }
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
#[cfg(feature = "serve")]
impl GpuWorld {
    /// The same world, which learns how long its steps keep the device busy, where that can tell.
    #[must_use]
    pub(crate) fn with_clock(mut self) -> Self {
        let context = &self.engine.context;
        self.clock = context.has_timestamps().then(|| Clock::new(context.device()));
        self
    }

    /// Seconds for which the device was busy with the steps that have arrived since this was last asked.
    pub(crate) fn take_device_seconds(&mut self) -> Option<f64> {
        self.clock.as_mut()?.take()
    }

    /// Records a step of a strict world, of which none is on its way. None if the world rests: then the step is done.
    ///
    /// # Errors
    /// As [`Self::step`].
    pub(crate) fn record_step(&mut self) -> Result<Option<(StepStart, wgpu::CommandBuffer)>, WorldError> {
        let Some(start) = self.begin_strictly()? else { return Ok(None) };
        let encoder = self.record_strictly(&start)?;
        Ok(Some((start, encoder.finish())))
    }

    /// Ends a step once the device has done what was recorded. If it outgrew a buffer, it is run again, alone.
    ///
    /// # Errors
    /// As [`Self::step`].
    pub(crate) fn end_recorded(&mut self, start: &StepStart) -> Result<(), WorldError> {
        if self.has_fitted(start)? { Ok(()) } else { self.run_until_it_fits(start) }
    }
}

#[cfg(all(test, feature = "serve"))]
mod tests {
    use super::*;
    use crate::scene::{Compiled, catalogue};
    use crate::{AdapterChoice, Context, state};

    /// One with hardly any room, which it has to ask for more than once, and some that have enough.
    fn worlds(context: &Context) -> Vec<GpuWorld> {
        let room = [("large_pyramid:base=5", Some(1)), ("card_house", None), ("rod_chain", None), ("domino", Some(2))];
        let world = |(spec, room): (&str, Option<u32>)| {
            let mut scene = catalogue::build(spec).unwrap();
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
                world.end_recorded(start).unwrap();
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
}
