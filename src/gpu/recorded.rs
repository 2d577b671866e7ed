//! Steps of several worlds in one submission: call `record_step` of each, submit all command buffers, wait for the
//! device, then call `end_recorded` of each. Results are the same as alone: each world has its own tables, and each
//! command buffer belongs to one world.
//!
//! Each world keeps its own dispatches, as worlds may differ in size and settings. Small worlds with equal stages share
//! dispatches in a pool (`src/gpu/worlds/pool.rs`).

use std::time::Duration;

use super::GpuWorld;
use super::clock::Clock;
use super::worlds::{Attempt, StepStart};
use crate::host::WorldEngine;
use crate::world_error::WorldError;

impl GpuWorld {
    /// Enables device timing of steps, if the device supports timestamps.
    #[must_use]
    pub fn with_clock(mut self) -> Self {
        let context = self.context();
        self.batch.slots.clock = context.has_timestamps().then(|| Clock::new(context.device()));
        self
    }

    /// Returns true if the next step is expected to be long, and is to be submitted on its own and in pieces
    /// ([`Self::step`]).
    #[must_use]
    pub fn is_long(&self) -> bool {
        self.batch.slots.piece_lines() < self.plan().len()
    }

    /// Returns the device time of the steps that have arrived since the last call, in seconds.
    pub fn take_device_seconds(&mut self) -> Option<f64> {
        self.batch.slots.clock.as_mut()?.take()
    }

    /// Records a step of a strict world that has no step in flight. Returns `None` if the step was skipped because all
    /// bodies sleep.
    ///
    /// # Errors
    /// Those of [`Self::step`].
    pub fn record_step(&mut self) -> Result<Option<(StepStart, wgpu::CommandBuffer)>, WorldError> {
        self.poll()?;
        self.batch.one(0).begin_timed()?;
        if self.is_idle() {
            return Ok(None);
        }
        self.host().limits.check()?;
        self.emit(None)?;
        let start = self.batch.world_hosts[0].start();
        let (slots, mut slot_refs) = self.batch.slots_and(&[0]);
        let commands = slots.record_fitting(&mut slot_refs, &mut Attempt::of_one(start.clone(), false))?;
        Ok(commands.map(|commands| (start, commands)))
    }

    /// Ends a recorded step after the device has run it; `waited` is how long the host waited. A step that overflowed a
    /// buffer is repeated, alone.
    ///
    /// # Errors
    /// Those of [`Self::step`].
    pub fn end_recorded(&mut self, start: &StepStart, waited: Duration) -> Result<(), WorldError> {
        self.poll()?;
        let (slots, mut slot_refs) = self.batch.slots_and(&[0]);
        // Without a timer, the time of the whole submission is used; a step that then seems long is submitted and timed
        // alone next.
        let busy = slots.clock.as_ref().and_then(Clock::last);
        slots.record_duration(busy.map_or(waited, Duration::from_secs_f64));
        slots.end_strictly(&mut slot_refs, Attempt::of_one(start.clone(), true))
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
    fn pieces_are_the_step() {
        let context = Context::new(AdapterChoice::Any).expect("a hardware or software adapter");
        let (mut in_pieces, mut at_once) = (worlds(&context), worlds(&context));
        for _ in 0..20 {
            for world in &mut in_pieces {
                // One line of the plan per piece.
                world.batch.slots.record_duration(Duration::from_hours(1));
                assert!(world.is_long() && world.batch.slots.piece_lines() == 1);
                world.step().unwrap();
            }
            for world in &mut at_once {
                world.batch.slots.record_duration(Duration::ZERO);
                assert!(!world.is_long());
                world.step().unwrap();
            }
        }
        assert_eq!(hashes(&mut in_pieces), hashes(&mut at_once));
        assert!(in_pieces[0].contact_capacity() > 1, "the contact buffer must have grown");
    }

    /// A cancelled step is not counted, and its remaining pieces are not submitted.
    #[test]
    fn pieces_are_left_out() {
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
            world.batch.slots.record_duration(Duration::from_hours(1));
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
