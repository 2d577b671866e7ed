//! Steps of all worlds of a batch, or of some: assigns worlds to layers, records the dispatches, and processes the
//! results.
//!
//! A world that skips a step stays as it is, but the two contact tables swap roles with every recorded step. Each world
//! therefore remembers the parity of its own contacts. Where the worlds of a step disagree, one dispatch first copies
//! the contacts of the minority to the other table (`shaders/carry.wgsl`).

use std::ops::Range;

use super::LEAST_CONTACTS;
use super::member::{Known, News};
use super::places::{Places, Seat};
use crate::command::by_body;
use crate::gpu::readback::{Arrived, cast};
use crate::gpu::record::{Extent, Work, joint_runs};
use crate::step::Stage;
use crate::types::{self, Counters, Event, OVERFLOW_CONTACTS};
use crate::world::WorldError;

/// Worlds of a step and their dispatch bounds.
#[derive(Debug)]
pub(super) struct Turn {
    /// Slots of the worlds, in the order of the call.
    which: Vec<usize>,
    /// Dispatch bounds of all of them together.
    extent: Extent,
}

/// Assignment of worlds to layers.
#[derive(Clone, Debug)]
pub(super) struct Layers {
    /// Slot of each layer's world.
    worlds: Vec<u32>,
    /// Number of leading layers with the wrong parity: their contacts are in the table to be written.
    astray: u32,
    /// Parity of the tables that the step writes.
    parity: usize,
}

impl Layers {
    /// Assigns layers to worlds, those with the wrong parity first.
    pub fn of(seats: &[Seat]) -> Self {
        let on_one = seats.iter().filter(|seat| seat.member.parity == 1).count();
        let newest = usize::from(2 * on_one > seats.len());
        #[allow(clippy::cast_possible_truncation, reason = "worlds are counted in u32")]
        let of = |astray: bool| {
            let those = move |seat: &&Seat| (seat.member.parity != newest) == astray;
            seats.iter().filter(those).map(|seat| seat.place as u32)
        };
        let mut worlds: Vec<u32> = of(true).collect();
        let astray = u32::try_from(worlds.len()).unwrap_or(u32::MAX);
        worlds.extend(of(false));
        Self { worlds, astray, parity: newest ^ 1 }
    }
}

/// A world's share of a step in flight.
#[derive(Debug)]
struct Done {
    place: usize,
    step: u64,
    /// Index of the world's event count among its `event_starts`.
    last: usize,
}

/// Results of a step, in flight to the host.
#[derive(Debug)]
pub(super) struct Flight {
    serial: u64,
    /// Worlds that took part.
    steps: Vec<Done>,
    /// Range of slots whose counters and events are read back.
    span: Range<usize>,
    /// Words of `event_starts` per world; 0 without events.
    starts: usize,
    /// Event capacity per world.
    events: usize,
}

impl Places {
    /// Processes what has arrived, and waits if necessary until a step can be recorded.
    ///
    /// # Errors
    /// If the device is lost, or the step is cancelled.
    pub fn make_way(&mut self, gives_up: impl Fn() -> bool) -> Result<(), WorldError> {
        self.poll()?;
        if self.engine.features.strict || !self.ring.has_room() {
            if !self.engine.context.wait_unless(gives_up)? {
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
    pub fn step(&mut self, seats: Vec<Seat>) -> Result<(), WorldError> {
        let (resting, mut others): (Vec<_>, Vec<_>) = seats.into_iter().partition(|seat| seat.member.rests());
        match &mut others[..] {
            [] => self.engine.dispatches = 0,
            others if self.engine.features.strict => self.step_strictly(others)?,
            others => self.step_once(others)?,
        }
        for seat in resting {
            seat.member.host.steps = seat.member.host.steps.saturating_add(1);
        }
        Ok(())
    }

    fn step_once(&mut self, seats: &mut [Seat]) -> Result<(), WorldError> {
        self.emit(seats)?;
        let mut encoder = self.engine.encoder();
        self.record(&mut encoder, seats)?;
        self.engine.context.queue().submit([encoder.finish()]);
        self.poll()
    }

    /// Records a step of some worlds, growing buffers to their known needs.
    ///
    /// # Errors
    /// If the buffers cannot grow, or a kernel does not compile; then nothing is recorded.
    pub(super) fn record(&mut self, encoder: &mut wgpu::CommandEncoder, seats: &mut [Seat]) -> Result<(), WorldError> {
        self.grow(encoder, seats)?;
        let layers = Layers::of(seats);
        self.record_layers(encoder, seats, &layers)
    }

    /// Records a step with the given assignment of layers.
    pub(super) fn record_layers(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        seats: &mut [Seat],
        layers: &Layers,
    ) -> Result<(), WorldError> {
        let extent = self.extent_of(seats);
        self.engine.parity = layers.parity;
        self.engine.dispatches = 0;
        self.engine.set_layers(&layers.worlds);
        let known = seats.iter().filter_map(|seat| seat.member.known);
        let load = known.map(|known| known.load).reduce(|all, one| all.and(&one));
        {
            let timestamp_writes = self.clock.as_ref().and_then(|clock| clock.writes(true, true));
            let mut pass =
                encoder.begin_compute_pass(&wgpu::ComputePassDescriptor { label: Some("step"), timestamp_writes });
            if layers.astray > 0 {
                let threads = self.engine.contact_capacity.max(extent.params.shape_count + 1);
                self.engine.execute_in(&mut pass, &Work::new("carry", threads), layers.astray)?;
            }
            for index in 0..self.plan.len() {
                let op = self.plan[index];
                if op.stage == Stage::Command {
                    let commands = take_commands(seats);
                    self.engine.send_commands(&mut pass, &commands)?;
                } else {
                    self.engine.run_line(&mut pass, (index, op), &extent, load.as_ref())?;
                }
            }
        }
        self.send(encoder, seats);
        for Seat { member, .. } in seats {
            member.host.end_step();
            member.parity = layers.parity;
        }
        Ok(())
    }

    /// Returns the common dispatch bounds of these worlds, cached while the same worlds step.
    fn extent_of(&mut self, seats: &[Seat]) -> Extent {
        for seat in seats {
            // Added or removed bodies and joints are reported; only this flag can change otherwise.
            let may_part = seat.member.host.compiled.joints.may_part;
            if let Some(extent) = &mut self.all[seat.place].extent
                && may_part != extent.may_part
            {
                extent.may_part = may_part;
                self.extent.may_part |= may_part;
                self.turn = None;
            }
        }
        let which: Vec<usize> = seats.iter().map(|seat| seat.place).collect();
        if let Some(turn) = self.turn.as_ref().filter(|turn| turn.which == which) {
            return turn.extent;
        }
        let extents = which.iter().filter_map(|&place| self.all[place].extent);
        let extent = extents.reduce(|all, one| all.and(&one)).unwrap_or(self.extent);
        self.engine.joint_runs = joint_runs(seats.iter().map(|seat| &seat.member.host.compiled.joints));
        self.turn = Some(Turn { which, extent });
        extent
    }

    /// Records the readback of the counters and events of a step.
    fn send(&mut self, encoder: &mut wgpu::CommandEncoder, seats: &[Seat]) {
        let (engine, span) = (&self.engine, span(seats));
        let of = |name: &str| {
            let begin = engine.offset(name, span.start);
            (&engine.buffers[name], begin, engine.offset(name, span.end) - begin)
        };
        let mut parts = vec![of("counters")];
        let (mut starts, mut events) = (0, 0);
        if engine.features.events {
            parts.extend([of("event_starts"), of("events")]);
            (starts, events) = (engine.stride("event_starts"), engine.event_capacity as usize);
        }
        if let Some(clock) = &self.clock {
            parts.push(clock.resolve(encoder));
        }
        self.ring.record(engine.context.device(), encoder, &parts, self.recorded);
        let done = |&Seat { place, ref member }: &Seat| {
            let types::Params { shape_count, joint_count, .. } = member.host.compiled.params;
            Done { place, step: member.host.steps, last: (shape_count + joint_count) as usize }
        };
        let steps = seats.iter().map(done).collect();
        self.flights.push_back(Flight { serial: self.recorded, steps, span, starts, events });
        self.recorded += 1;
    }

    /// Processes what has arrived, without waiting. Results wait in the slots for their worlds ([`Self::deliver_readbacks`]).
    pub(super) fn poll(&mut self) -> Result<(), WorldError> {
        self.engine.context.poll(wgpu::PollType::Poll)?;
        let period = self.engine.context.queue().get_timestamp_period();
        for arrived in self.ring.take() {
            // Results of rejected steps never arrive.
            while let Some(flight) = self.flights.pop_front() {
                if flight.serial == arrived.step {
                    self.learn(&flight, &arrived, period);
                    break;
                }
            }
        }
        if self.ring.take_refused() {
            // A device that was just lost drops steps silently and reports the loss only once it has nothing left to
            // do.
            self.engine.context.wait()?;
        }
        Ok(())
    }

    /// Sorts the results of a step into the slots of its worlds.
    fn learn(&mut self, flight: &Flight, arrived: &Arrived, period: f32) {
        let bytes = match &mut self.clock {
            Some(clock) => clock.read(&arrived.bytes, period),
            None => &arrived.bytes,
        };
        let Flight { span, starts: words, events: room, .. } = flight;
        let (counters, rest) = bytes.split_at(span.len() * size_of::<Counters>());
        let (starts, events) = rest.split_at(span.len() * words * 4);
        let (counters, starts, events): (Vec<Counters>, Vec<u32>, Vec<Event>) =
            (cast(counters), cast(starts), cast(events));
        for &Done { place, step, last } in &flight.steps {
            let at = place - span.start;
            let counters = &counters[at];
            let count = if *words > last { starts[at * words + last] } else { 0 };
            let overflowed = counters.overflow_bits & OVERFLOW_CONTACTS != 0 || count as usize > *room;
            let events = events[at * room..][..(*room).min(count as usize)].to_vec();
            let news = News { known: Known::new(step, counters), overflowed, event_count: count, events };
            self.all[place].news.push(news);
        }
    }

    /// Grows capacities when one of these worlds is known to use three quarters of its own.
    pub(super) fn grow(&mut self, encoder: &mut wgpu::CommandEncoder, seats: &[Seat]) -> Result<(), WorldError> {
        let events = seats.iter().map(|seat| seat.member.event_need).max().unwrap_or(0);
        if self.engine.grow_events(events)? {
            self.bind();
        }
        let limit = |seat: &Seat| seat.member.host.contact_limit();
        let needed = |seat: &Seat| seat.member.known.map_or(0, |known| known.contacts.min(limit(seat) as u64));
        let (needed, most) = (seats.iter().map(needed).max(), seats.iter().map(limit).max());
        if self.engine.grow_for_contacts(encoder, needed.unwrap_or(0), LEAST_CONTACTS, most.unwrap_or(usize::MAX))? {
            self.bind();
        }
        Ok(())
    }
}

/// Takes the commands of the worlds since their last step, with their worlds filled in.
fn take_commands(seats: &mut [Seat]) -> Vec<types::Command> {
    let mut all = Vec::new();
    for Seat { place, member } in seats {
        member.host.compiled.lead_on(&mut member.host.commands, member.host.steps);
        by_body(&mut member.host.commands);
        #[allow(clippy::cast_possible_truncation, reason = "worlds are counted in u32")]
        all.extend(member.host.commands.drain(..).map(|command| types::Command { world: *place as u32, ..command }));
    }
    all
}

/// Returns the selected worlds.
pub(super) fn only<'a>(seats: &'a mut [Seat], which: &[bool]) -> Vec<Seat<'a>> {
    let marked = seats.iter_mut().zip(which).filter(|(_, which)| **which);
    marked.map(|(seat, _)| Seat { place: seat.place, member: seat.member }).collect()
}

/// Returns the range of slots from the first to the last of these worlds.
pub(super) fn span(seats: &[Seat]) -> Range<usize> {
    let first = seats.iter().map(|seat| seat.place).min().unwrap_or(0);
    first..seats.iter().map(|seat| seat.place).max().map_or(first, |last| last + 1)
}

#[cfg(test)]
mod tests {
    use super::super::GpuWorlds;
    use super::*;
    use crate::scene::{Compiled, samples};
    use crate::{AdapterChoice, Context};

    /// Three piles in motion, of which the second is one step behind.
    fn out_of_step(context: &Context) -> GpuWorlds {
        let members = (0..3_u8).map(|world| {
            let mut scene = samples::pyramid(5);
            for body in scene.bodies.iter_mut().skip(1) {
                body.position.x *= 1.0 + 0.02 * f32::from(world);
            }
            Compiled::new(&scene).unwrap()
        });
        let mut worlds = GpuWorlds::new(context, members.collect()).unwrap();
        for which in [&[0, 1, 2][..]; 12].into_iter().chain([&[0, 2][..]]) {
            worlds.step(which).unwrap();
        }
        worlds
    }

    /// Runs one step with modified layers and eight more, and returns the hashes of the states.
    fn hashes_with(context: &Context, which: &[usize], change: impl FnOnce(&mut Layers)) -> Vec<u64> {
        let mut worlds = out_of_step(context);
        let GpuWorlds { places, members } = &mut worlds;
        let seats = members.iter_mut().enumerate().filter(|(place, _)| which.contains(place));
        let mut seats: Vec<_> = seats.map(|(place, member)| Seat { place, member }).collect();
        let mut layers = Layers::of(&seats);
        change(&mut layers);
        let mut encoder = places.engine.encoder();
        places.record_layers(&mut encoder, &mut seats, &layers).unwrap();
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
            assert_eq!((&layers.worlds[..], layers.astray), (&[1, 0, 2][..], 1));
        });
        let left_behind = hashes_with(&context, &[0, 1, 2], |layers| layers.astray = 0);
        assert_ne!(left_behind[1], right[1]);
        assert_eq!([left_behind[0], left_behind[2]], [right[0], right[2]]);
        let traded = hashes_with(&context, &[0, 1, 2], |layers| {
            (layers.parity, layers.astray) = (layers.parity ^ 1, 0);
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
