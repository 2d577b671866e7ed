//! Steps of all worlds of a batch, of some, or of one alone: assigns worlds to layers, records the dispatches, and
//! processes the results.
//!
//! A world that skips a step stays as it is, but the two contact tables swap roles with every recorded step. Each world
//! therefore remembers the parity of its own contacts. Where the worlds of a step disagree, one dispatch first copies
//! the contacts of the minority to the other table (`shaders/parity_copy.wgsl`).

use std::ops::Range;

use super::in_flight::{BatchStep, InFlight, InFlightStep};
use super::slots::{BatchSlots, SlotRef};
use super::world_host::Readback;
use crate::command::by_body;
use crate::gpu::context::note_read_back;
use crate::gpu::readback::{Arrival, cast};
use crate::gpu::record::{Dispatch, DispatchBounds, StepStats, joint_runs};
use crate::host::WorldEngine;
use crate::step::{PlannedStage, Stage};
use crate::types::{self, Counters, EventData};
use crate::world_error::WorldError;

/// Assignment of worlds to layers.
#[derive(Clone, Debug)]
pub(in crate::gpu) struct BatchLayers {
    /// Slot of each layer's world.
    worlds: Vec<u32>,
    /// Number of leading layers with the wrong parity: their contacts are in the table to be written.
    wrong_parity: u32,
    /// Parity of the tables that the step writes.
    parity: usize,
}

impl BatchLayers {
    /// Assigns layers to worlds, those with the wrong parity first.
    pub fn of(slot_refs: &[SlotRef]) -> Self {
        let on_one = slot_refs.iter().filter(|slot_ref| slot_ref.world_host.parity == 1).count();
        let newest = usize::from(2 * on_one > slot_refs.len());
        #[allow(clippy::cast_possible_truncation, reason = "worlds are counted in u32")]
        let of = |wrong_parity: bool| {
            let those = move |slot_ref: &&SlotRef| (slot_ref.world_host.parity != newest) == wrong_parity;
            slot_refs.iter().filter(those).map(|slot_ref| slot_ref.slot as u32)
        };
        let mut worlds: Vec<u32> = of(true).collect();
        let wrong_parity = u32::try_from(worlds.len()).unwrap_or(u32::MAX);
        worlds.extend(of(false));
        Self { worlds, wrong_parity, parity: newest ^ 1 }
    }
}

impl BatchSlots {
    /// Processes what has arrived, and waits if necessary until a step can be recorded.
    ///
    /// # Errors
    /// If the device is lost, or the step is cancelled.
    pub fn make_way(&mut self, gives_up: impl Fn() -> bool) -> Result<(), WorldError> {
        self.poll()?;
        if self.engine.features.strict || self.in_flight.len() >= self.room {
            // Only the oldest step has to end: the device computes the others while the next is recorded. Strict steps
            // have no mark.
            let oldest = self.in_flight.front().and_then(|flight| flight.submitted.clone());
            let work = oldest.unwrap_or_else(|| self.engine.context.submitted_work());
            if !self.engine.context.wait_unless(&work, gives_up)? {
                return Err(WorldError::Cancelled);
            }
            self.poll()?;
        }
        Ok(())
    }

    /// Advances worlds by one step. Their pending results must have been processed.
    ///
    /// # Errors
    /// If the device is lost or does not allow a buffer as large as needed; in strict mode also if a world has too many
    /// contacts or is cancelled.
    pub fn step(&mut self, mut slot_refs: Vec<SlotRef>) -> Result<(), WorldError> {
        slot_refs.iter_mut().try_for_each(|slot_ref| self.one(slot_ref).begin_timed())?;
        let (resting, mut others): (Vec<_>, Vec<_>) =
            slot_refs.into_iter().partition(|slot_ref| slot_ref.world_host.is_idle());
        match &mut others[..] {
            [] => self.engine.dispatches = 0,
            others if self.engine.features.strict => self.step_strictly(others)?,
            others => self.step_once(others)?,
        }
        for slot_ref in resting {
            slot_ref.world_host.host.steps = slot_ref.world_host.host.steps.saturating_add(1);
        }
        Ok(())
    }

    fn step_once(&mut self, slot_refs: &mut [SlotRef]) -> Result<(), WorldError> {
        self.emit(slot_refs)?;
        let mut encoder = self.engine.encoder();
        self.record(&mut encoder, slot_refs)?;
        self.engine.context.queue().submit([encoder.finish()]);
        if let Some(flight) = self.in_flight.back_mut() {
            flight.submitted = Some(self.engine.context.submitted_work());
        }
        self.poll()
    }

    /// Records a step of some worlds, growing buffers to their known needs.
    ///
    /// # Errors
    /// If the buffers cannot grow, or a kernel does not compile; then nothing is recorded.
    pub fn record(&mut self, encoder: &mut wgpu::CommandEncoder, slot_refs: &mut [SlotRef]) -> Result<(), WorldError> {
        self.grow(encoder, slot_refs)?;
        let layers = BatchLayers::of(slot_refs);
        self.record_layers(encoder, slot_refs, &layers, self.plan.len())
    }

    /// Records a step with the given assignment of layers, in pieces of this many lines of the plan. All pieces but the
    /// last are submitted here: while the device runs one, the next is already queued, so that it is never idle.
    pub(super) fn record_layers(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        slot_refs: &mut [SlotRef],
        layers: &BatchLayers,
        piece: usize,
    ) -> Result<(), WorldError> {
        self.begin_step(layers);
        let lines = self.plan.len();
        let measured = if piece < lines { None } else { self.begin_measuring() };
        let (mut next, mut before) = (0_usize, None);
        loop {
            let end = next.saturating_add(piece).min(lines);
            self.record_lines(encoder, slot_refs, layers, next..end, measured)?;
            if end == lines {
                break;
            }
            next = end;
            let recorded = std::mem::replace(encoder, self.engine.encoder());
            self.engine.context.queue().submit([recorded.finish()]);
            if let Some(before) = before.replace(self.engine.context.submitted_work()) {
                self.wait(slot_refs, &before)?;
            }
        }
        self.end_step(encoder, slot_refs, measured);
        Ok(())
    }

    /// Begins a step: swaps the current and previous contact tables.
    pub fn begin_step(&mut self, layers: &BatchLayers) {
        self.engine.parity = layers.parity;
        self.engine.dispatches = 0;
        if self.is_for_many() {
            self.engine.set_layers(&layers.worlds);
        }
    }

    /// Begins to measure the step being recorded, if requested; returns its slot.
    pub fn begin_measuring(&mut self) -> Option<usize> {
        // A step that is timed as a whole must run as a whole.
        let can = self.engine.context.has_timestamps() && self.clock.is_none();
        let wanted = std::mem::take(&mut self.measures) && can;
        if wanted { self.profiler.begin(self.engine.context.device(), &self.plan) } else { None }
    }

    /// Records a range of the plan; if it is measured, with one pass per line.
    pub fn record_lines(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        slot_refs: &mut [SlotRef],
        layers: &BatchLayers,
        lines: Range<usize>,
        measured: Option<usize>,
    ) -> Result<(), WorldError> {
        let (bounds, known) = (self.bounds_of(slot_refs), known_stats(slot_refs));
        // A step in parts dispatches each line separately: counters that arrive between two parts could change the
        // choice of the fused kernel.
        let apart = measured.is_some() || lines.len() < self.plan.len();
        let passes: Vec<_> = if measured.is_none() { vec![lines] } else { lines.map(|line| line..line + 1).collect() };
        for lines in passes {
            let (is_first, is_last) = (lines.start == 0, lines.end == self.plan.len());
            let (label, timestamp_writes) = match measured {
                Some(slot) => (self.plan[lines.start].stage.name(), self.profiler.writes(slot, lines.start)),
                None => ("step", self.clock.as_ref().and_then(|clock| clock.writes(is_first, is_last))),
            };
            let mut pass =
                encoder.begin_compute_pass(&wgpu::ComputePassDescriptor { label: Some(label), timestamp_writes });
            if is_first && layers.wrong_parity > 0 {
                let threads = self.engine.contact_capacity.max(bounds.params.shape_count + 1);
                self.engine.execute_in(&mut pass, &Dispatch::new("parity_copy", threads), layers.wrong_parity)?;
            }
            for index in lines {
                let op = self.plan[index];
                if op.stage == Stage::Command {
                    self.engine.send_commands(&mut pass, &take_commands(slot_refs))?;
                } else if apart {
                    self.engine.run_apart(&mut pass, (index, op), &bounds, known.as_ref())?;
                } else {
                    self.engine.run_line(&mut pass, (index, op), &bounds, known.as_ref())?;
                }
            }
        }
        Ok(())
    }

    /// Runs one stage without the rest of the plan.
    pub fn run(
        &mut self,
        pass: &mut wgpu::ComputePass,
        slot_refs: &mut [SlotRef],
        op: PlannedStage,
    ) -> Result<(), WorldError> {
        if op.stage == Stage::Command {
            return self.engine.send_commands(pass, &take_commands(slot_refs));
        }
        let bounds = self.bounds_of(slot_refs);
        self.engine.run(pass, op, &bounds, known_stats(slot_refs).as_ref())
    }

    /// Ends the recording of a step: reads back its results, and counts it.
    pub fn end_step(&mut self, encoder: &mut wgpu::CommandEncoder, slot_refs: &mut [SlotRef], measured: Option<usize>) {
        if let (Some(slot), [slot_ref, ..]) = (measured, &*slot_refs) {
            let step = slot_ref.world_host.host.steps.saturating_add(1);
            self.profiler.end(self.engine.context.device(), slot, encoder, step);
        }
        self.send(encoder, slot_refs);
        for SlotRef { world_host, .. } in slot_refs {
            world_host.host.end_step();
            world_host.parity = self.engine.parity;
        }
    }

    /// Returns the common dispatch bounds of these worlds, cached while the same worlds step.
    fn bounds_of(&mut self, slot_refs: &[SlotRef]) -> DispatchBounds {
        for slot_ref in slot_refs {
            // Added or removed bodies and joints are reported; only this flag can change otherwise.
            let may_part = slot_ref.world_host.host.compiled.joints.may_part;
            if let Some(bounds) = &mut self.all[slot_ref.slot].bounds
                && may_part != bounds.may_part
            {
                bounds.may_part = may_part;
                self.bounds.may_part |= may_part;
                self.batch_step = None;
            }
        }
        let which: Vec<usize> = slot_refs.iter().map(|slot_ref| slot_ref.slot).collect();
        if let Some(batch_step) = self.batch_step.as_ref().filter(|batch_step| batch_step.which == which) {
            return batch_step.bounds;
        }
        let all_bounds = which.iter().filter_map(|&slot| self.all[slot].bounds.as_ref());
        let bounds = DispatchBounds::of_all(all_bounds).unwrap_or(self.bounds);
        self.engine.joint_runs = joint_runs(slot_refs.iter().map(|slot_ref| &slot_ref.world_host.host.compiled.joints));
        self.batch_step = Some(BatchStep { which, bounds });
        bounds
    }

    /// Records the readback of the counters and events of a step.
    fn send(&mut self, encoder: &mut wgpu::CommandEncoder, slot_refs: &[SlotRef]) {
        let (engine, span) = (&self.engine, span(slot_refs));
        let of = |name: &str| {
            let begin = engine.offset(name, span.start);
            (&engine.buffers[name], begin, engine.offset(name, span.end) - begin)
        };
        let done = |&SlotRef { slot, ref world_host }: &SlotRef| {
            let types::Params { shape_count, joint_count, .. } = world_host.host.compiled.params;
            InFlightStep { slot, step: world_host.host.steps, last: (shape_count + joint_count) as usize }
        };
        let mut steps: Vec<_> = slot_refs.iter().map(done).collect();
        let mut parts = vec![of("counters")];
        let (mut starts, mut events) = (0, 0);
        if engine.features.events {
            (starts, events) = (engine.stride("event_starts"), engine.event_capacity as usize);
            let (buffer, begin, bytes) = of("event_starts");
            if let [alone] = &mut steps[..] {
                // The number of its events is enough: a large world has many starts.
                parts.push((buffer, begin + 4 * alone.last as u64, 4));
                (starts, alone.last) = (1, 0);
            } else {
                parts.push((buffer, begin, bytes));
            }
            parts.push(of("events"));
        }
        if let Some(clock) = &self.clock {
            parts.push(clock.resolve(encoder));
        }
        note_read_back(&engine.context, 0, parts.iter().map(|(.., bytes)| bytes).sum());
        let arrival = Arrival::send_parts(engine.context.device(), encoder, &parts, self.spares.pop());
        self.in_flight.push_back(InFlight { arrival, submitted: None, steps, span, starts, events });
        self.room = self.room.max(self.in_flight.len());
    }

    /// Processes what has arrived, without waiting. Results wait in the slots for their worlds
    /// ([`Self::deliver_readbacks`]).
    pub(super) fn poll(&mut self) -> Result<(), WorldError> {
        self.engine.context.poll(wgpu::PollType::Poll)?;
        let period = self.engine.context.queue().get_timestamp_period();
        let (mut index, mut is_refused) = (0, false);
        // Those of a recording that is never submitted stay.
        while let Some(flight) = self.in_flight.get(index) {
            let arrived = flight.arrival.take();
            if matches!(arrived, Ok(None)) {
                index += 1;
                continue;
            }
            let Some(mut flight) = self.in_flight.remove(index) else { break };
            if let Ok(Some(bytes)) = arrived {
                self.learn(&flight, &bytes, period);
                self.spares.extend(flight.arrival.buffer());
            } else {
                is_refused = true;
            }
        }
        if is_refused {
            // A device that was just lost drops steps silently and reports the loss only once it has nothing left to
            // do.
            self.engine.context.wait()?;
        }
        Ok(())
    }

    /// Sorts the results of a step into the slots of its worlds.
    fn learn(&mut self, flight: &InFlight, bytes: &[u8], period: f32) {
        let bytes = match &mut self.clock {
            Some(clock) => clock.read(bytes, period),
            None => bytes,
        };
        let InFlight { span, starts: words, events: capacity, .. } = flight;
        let (counters, rest) = bytes.split_at(span.len() * size_of::<Counters>());
        let (starts, events) = rest.split_at(span.len() * words * 4);
        let (counters, starts): (Vec<Counters>, Vec<u32>) = (cast(counters), cast(starts));
        for &InFlightStep { slot, step, last } in &flight.steps {
            let at = slot - span.start;
            let counters = counters[at];
            let event_count = if *words > last { starts[at * words + last] } else { 0 };
            let overflowed = counters.overflow_bits != 0 || event_count as usize > *capacity;
            let [begin, end] = [0, (*capacity).min(event_count as usize)]
                .map(|event| (at * capacity + event) * size_of::<EventData>());
            let events = cast(&events[begin..end]);
            self.all[slot].readbacks.push(Readback { step, counters, overflowed, event_count, events });
        }
    }

    /// Grows capacities when one of these worlds is known to use three quarters of its own.
    pub fn grow(&mut self, encoder: &mut wgpu::CommandEncoder, slot_refs: &mut [SlotRef]) -> Result<(), WorldError> {
        let events = slot_refs.iter().map(|slot_ref| slot_ref.world_host.event_need).max().unwrap_or(0);
        if self.engine.grow_events(events)? {
            self.bind();
        }
        let limit = |slot_ref: &SlotRef| slot_ref.world_host.host.contact_limit();
        let needed = |slot_ref: &SlotRef| slot_ref.world_host.wanted_contacts().min(limit(slot_ref) as u64);
        let (needed, most) = (slot_refs.iter().map(needed).max(), slot_refs.iter().map(limit).max());
        let (needed, most, lot) = (needed.unwrap_or(0), most.unwrap_or(usize::MAX), self.contact_lot());
        if self.engine.grow_for_contacts(encoder, needed, lot, most)? {
            for slot_ref in slot_refs {
                self.engine.place(&mut slot_ref.world_host.host.compiled.params);
            }
            self.bind();
        }
        Ok(())
    }
}

/// Returns the statistics of the busiest of these worlds, as far as known.
fn known_stats(slot_refs: &[SlotRef]) -> Option<StepStats> {
    let known = slot_refs.iter().filter_map(|slot_ref| slot_ref.world_host.known.as_ref());
    known.map(|(_, counters)| StepStats::of(counters)).reduce(|all, one| all.and(&one))
}

/// Takes the commands of the worlds since their last step, with their worlds filled in.
fn take_commands(slot_refs: &mut [SlotRef]) -> Vec<types::CommandData> {
    let mut all = Vec::new();
    for SlotRef { slot, world_host } in slot_refs {
        world_host.host.compiled.lead_on(&mut world_host.host.commands, world_host.host.steps);
        by_body(&mut world_host.host.commands);
        #[allow(clippy::cast_possible_truncation, reason = "worlds are counted in u32")]
        all.extend(
            world_host.host.commands.drain(..).map(|command| types::CommandData { world: *slot as u32, ..command }),
        );
    }
    all
}

/// Returns the selected worlds.
pub(super) fn only<'a>(slot_refs: &'a mut [SlotRef], which: &[bool]) -> Vec<SlotRef<'a>> {
    let marked = slot_refs.iter_mut().zip(which).filter(|(_, which)| **which);
    marked.map(|(slot_ref, _)| SlotRef { slot: slot_ref.slot, world_host: slot_ref.world_host }).collect()
}

/// Returns the range of slots from the first to the last of these worlds.
pub(super) fn span(slot_refs: &[SlotRef]) -> Range<usize> {
    let first = slot_refs.iter().map(|slot_ref| slot_ref.slot).min().unwrap_or(0);
    first..slot_refs.iter().map(|slot_ref| slot_ref.slot).max().map_or(first, |last| last + 1)
}

#[cfg(test)]
mod tests {
    use super::super::GpuWorlds;
    use super::*;
    use crate::scene::{Compiled, samples};
    use crate::{AdapterChoice, Context};

    /// Three piles in motion, of which the second is one step behind.
    fn out_of_step(context: &Context) -> GpuWorlds {
        let world_hosts = (0..3_u8).map(|world| {
            let mut scene = samples::pyramid(5);
            for body in scene.bodies.iter_mut().skip(1) {
                body.position.x *= 1.0 + 0.02 * f32::from(world);
            }
            Compiled::new(&scene).unwrap()
        });
        let mut worlds = GpuWorlds::new(context, world_hosts.collect()).unwrap();
        for which in [&[0, 1, 2][..]; 12].into_iter().chain([&[0, 2][..]]) {
            worlds.step(which).unwrap();
        }
        worlds
    }

    /// Runs one step with modified layers and eight more, and returns the hashes of the states.
    fn hashes_with(context: &Context, which: &[usize], change: impl FnOnce(&mut BatchLayers)) -> Vec<u64> {
        let mut worlds = out_of_step(context);
        let GpuWorlds { slots, world_hosts } = &mut worlds;
        let slot_refs = world_hosts.iter_mut().enumerate().filter(|(slot, _)| which.contains(slot));
        let mut slot_refs: Vec<_> = slot_refs.map(|(slot, world_host)| SlotRef { slot, world_host }).collect();
        let mut layers = BatchLayers::of(&slot_refs);
        change(&mut layers);
        let mut encoder = slots.engine.encoder();
        slots.record_layers(&mut encoder, &mut slot_refs, &layers, usize::MAX).unwrap();
        context.queue().submit([encoder.finish()]);
        (0..8).for_each(|_| worlds.step(&[0, 1, 2]).unwrap());
        worlds.hashes().unwrap()
    }

    /// Negative control of the tests of `step_some`, which compare with single worlds: contacts that are not copied,
    /// swapped tables, and layers of the wrong worlds are all detected.
    #[test]
    fn wrong_parities_and_wrong_layers_are_seen() {
        let context = Context::new(AdapterChoice::Any).expect("a hardware or software adapter");
        let right = hashes_with(&context, &[0, 1, 2], |layers| {
            assert_eq!((&layers.worlds[..], layers.wrong_parity), (&[1, 0, 2][..], 1));
        });
        let left_behind = hashes_with(&context, &[0, 1, 2], |layers| layers.wrong_parity = 0);
        assert_ne!(left_behind[1], right[1]);
        assert_eq!([left_behind[0], left_behind[2]], [right[0], right[2]]);
        let traded = hashes_with(&context, &[0, 1, 2], |layers| {
            (layers.parity, layers.wrong_parity) = (layers.parity ^ 1, 0);
        });
        assert_ne!(traded[0], right[0]);
        assert_ne!(traded[2], right[2]);

        let two = hashes_with(&context, &[0, 2], |_| {});
        let others = hashes_with(&context, &[0, 2], |layers| layers.worlds = vec![0, 1]);
        assert_eq!(others[0], two[0]);
        assert_ne!(others[1], two[1]);
        assert_ne!(others[2], two[2]);
    }
}
