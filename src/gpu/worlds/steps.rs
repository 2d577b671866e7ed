//! Steps of all worlds or of some: who has a layer, what is recorded for them, what arrives of it, and what happens where a
//! world had no room.
//!
//! A world that sits a step out stays as it is, but the two tables of contacts trade places with every step that is
//! recorded. So a world remembers which of them has its own. Where those of a step disagree, the fewer have theirs carried
//! over first, by one dispatch (`shaders/carry.wgsl`).

use std::collections::HashSet;
use std::ops::Range;

use super::{GpuWorlds, Known, LEAST_CONTACTS, Member};
use crate::command::by_body;
use crate::event;
use crate::gpu::readback::{Arrived, cast};
use crate::gpu::record::{Extent, Work, joint_runs};
use crate::gpu::strict::BACKUPS;
use crate::step::Stage;
use crate::types::{self, Counters, Event, OVERFLOW_CONTACTS};
use crate::world::WorldError;

/// A step of some worlds.
#[derive(Debug)]
pub(super) struct Turn {
    /// The worlds, as they were asked for.
    which: Vec<usize>,
    /// What does for all of them.
    extent: Extent,
}

/// The layers of a step.
#[derive(Clone, Debug)]
struct Layers {
    /// The world of each.
    worlds: Vec<u32>,
    /// The first so many have their contacts in the table that is to be written.
    astray: u32,
    /// Parity of the tables that it writes.
    parity: usize,
}

/// What the host has to know of the start of a step to go back there.
#[derive(Debug)]
struct Start {
    commands: Vec<types::Command>,
    /// Slots of bodies that had gone since the step before.
    vacated: Vec<u32>,
}

impl Member {
    fn start(&self) -> Start {
        let vacated = self.population.as_ref().map_or(Vec::new(), |population| population.vacated().to_vec());
        Start { commands: self.commands.clone(), vacated }
    }
}

/// A step of a world.
#[derive(Debug)]
struct Done {
    world: usize,
    step: u64,
    /// Where the number of its events is among the words that say where they are.
    last: usize,
}

/// What is on its way of a step.
#[derive(Debug)]
pub(super) struct Flight {
    serial: u64,
    /// The worlds that did it.
    steps: Vec<Done>,
    /// Worlds whose counters and events were sent: from the first of these to the last.
    span: Range<usize>,
    /// Words of a world that say where events are; none without events.
    starts: usize,
    /// Events of a world that there was room for.
    events: usize,
}

impl GpuWorlds {
    /// Advances some worlds by one step, each of which there is and is given once, without waiting for it unless several
    /// are on their way.
    ///
    /// # Errors
    /// If the device is lost or refused something, or a buffer outgrows it. In strict mode an overflow in any world is
    /// repaired here; if it cannot be, all worlds are as they were before the step.
    pub fn step(&mut self, which: &[usize]) -> Result<(), WorldError> {
        let strict = self.engine.features.strict;
        self.poll()?;
        if strict || !self.ring.has_room() {
            self.engine.context.wait()?;
            self.poll()?;
        }
        let (resting, others): (Vec<usize>, Vec<usize>) = which.iter().partition(|&&world| self.members[world].rests());
        match &others[..] {
            [] => self.engine.dispatches = 0,
            others if strict => self.step_strictly(others)?,
            others => self.step_once(others)?,
        }
        for world in resting {
            let steps = &mut self.members[world].steps;
            *steps = steps.saturating_add(1);
        }
        Ok(())
    }

    fn step_once(&mut self, which: &[usize]) -> Result<(), WorldError> {
        self.emit(which)?;
        let mut encoder = self.engine.encoder();
        self.record(&mut encoder, which)?;
        self.engine.context.queue().submit([encoder.finish()]);
        self.poll()
    }

    /// Runs the step; those that had no room go back to its start and run it again, alone, until all have.
    fn step_strictly(&mut self, which: &[usize]) -> Result<(), WorldError> {
        self.emit(which)?;
        let starts: Vec<_> = which.iter().map(|&world| self.members[world].start()).collect();
        let mut left: Vec<usize> = (0..which.len()).collect();
        let mut encoder = self.engine.encoder();
        self.back_up(&mut encoder, &span(which), |pair| pair);
        let mut worlds = which.to_vec();
        loop {
            if let Err(error) = self.record(&mut encoder, &worlds) {
                // Then nobody has done the step.
                let done = (0..which.len()).filter(|index| !left.contains(index));
                self.go_back(&done.map(|index| (which[index], &starts[index])).collect::<Vec<_>>());
                return Err(error);
            }
            self.engine.context.queue().submit([encoder.finish()]);
            self.engine.context.wait()?;
            self.poll()?;
            let outgrown: HashSet<usize> = self.outgrown.drain(..).collect();
            if outgrown.is_empty() {
                return Ok(());
            }
            left.retain(|&index| outgrown.contains(&which[index]));
            self.go_back(&left.iter().map(|&index| (which[index], &starts[index])).collect::<Vec<_>>());
            worlds = left.iter().map(|&index| which[index]).collect();
            encoder = self.engine.encoder();
        }
    }

    /// Takes worlds back to the start of the step that they have just done.
    fn go_back(&mut self, which: &[(usize, &Start)]) {
        let mut encoder = self.engine.encoder();
        for &(world, start) in which {
            self.back_up(&mut encoder, &(world..world + 1), |(from, to)| (to, from));
            let member = &mut self.members[world];
            member.steps -= 1;
            // The contacts of the step before still lie in the other table.
            member.parity ^= 1;
            let step = member.steps;
            member.overflowed.retain(|&overflowed| overflowed != step);
            member.events.retain(|event| event.step != step);
            member.commands.clone_from(&start.commands);
            if let Some(population) = &mut member.population {
                population.restore(&member.compiled, &start.vacated);
            }
        }
        self.engine.context.queue().submit([encoder.finish()]);
    }

    /// Copies what a step changes from the first of each pair to the second, of worlds that lie side by side.
    fn back_up(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        worlds: &Range<usize>,
        direction: impl Fn((&'static str, &'static str)) -> (&'static str, &'static str),
    ) {
        for pair in BACKUPS.into_iter().chain([("sleeping", "sleeping_backup")]) {
            let (from, to) = direction(pair);
            // Where a world has none of a table it has no copy of it either.
            let [begin, end] = [worlds.start, worlds.end].map(|world| self.engine.offset(pair.1, world));
            let (from, to) = (&self.engine.buffers[from], &self.engine.buffers[to]);
            encoder.copy_buffer_to_buffer(from, begin, to, begin, end - begin);
        }
    }

    fn record(&mut self, encoder: &mut wgpu::CommandEncoder, which: &[usize]) -> Result<(), WorldError> {
        self.grow(encoder, which)?;
        let layers = self.layers(which);
        self.record_layers(encoder, which, &layers)
    }

    /// Who is in which layer, those first that have their contacts in the table that is to be written.
    fn layers(&self, which: &[usize]) -> Layers {
        let on_one = which.iter().filter(|&&world| self.members[world].parity == 1).count();
        let newest = usize::from(2 * on_one > which.len());
        #[allow(clippy::cast_possible_truncation, reason = "worlds are counted in u32")]
        let of = |astray: bool| {
            let those = move |&&world: &&usize| (self.members[world].parity != newest) == astray;
            which.iter().filter(those).map(|&world| world as u32)
        };
        let mut worlds: Vec<u32> = of(true).collect();
        let astray = u32::try_from(worlds.len()).unwrap_or(u32::MAX);
        worlds.extend(of(false));
        Layers { worlds, astray, parity: newest ^ 1 }
    }

    fn record_layers(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        which: &[usize],
        layers: &Layers,
    ) -> Result<(), WorldError> {
        let extent = self.extent_of(which);
        self.engine.parity = layers.parity;
        self.engine.dispatches = 0;
        self.engine.set_layers(&layers.worlds);
        let known = which.iter().filter_map(|&world| self.members[world].known);
        let load = known.map(|known| known.load).reduce(|all, one| all.and(&one));
        {
            let mut pass = encoder
                .begin_compute_pass(&wgpu::ComputePassDescriptor { label: Some("step"), timestamp_writes: None });
            if layers.astray > 0 {
                let threads = self.engine.contact_capacity.max(extent.params.shape_count + 1);
                self.engine.execute_in(&mut pass, &Work::new("carry", threads), layers.astray)?;
            }
            for index in 0..self.plan.len() {
                let op = self.plan[index];
                if op.stage == Stage::Command {
                    let commands = self.take_commands(which);
                    self.engine.send_commands(&mut pass, &commands)?;
                } else {
                    self.engine.run_line(&mut pass, (index, op), &extent, load.as_ref())?;
                }
            }
        }
        self.send(encoder, which);
        for &world in which {
            let member = &mut self.members[world];
            (member.steps, member.parity) = (member.steps + 1, layers.parity);
            if let Some(population) = &mut member.population {
                population.stepped();
            }
        }
        Ok(())
    }

    /// What does for these worlds. Most of the time they are those of the last step.
    fn extent_of(&mut self, which: &[usize]) -> Extent {
        if let Some(turn) = self.turn.as_ref().filter(|turn| turn.which == which) {
            return turn.extent;
        }
        let those = || which.iter().map(|&world| &self.members[world].compiled);
        let extent = those().map(Extent::of).reduce(|all, one| all.and(&one)).unwrap_or(self.extent);
        self.engine.joint_runs = joint_runs(those().map(|compiled| &compiled.joints));
        self.turn = Some(Turn { which: which.to_vec(), extent });
        extent
    }

    /// What was asked of worlds since their last step.
    fn take_commands(&mut self, which: &[usize]) -> Vec<types::Command> {
        let mut all = Vec::new();
        for &world in which {
            let member = &mut self.members[world];
            member.compiled.lead_on(&mut member.commands, member.steps);
            by_body(&mut member.commands);
            #[allow(clippy::cast_possible_truncation, reason = "worlds are counted in u32")]
            all.extend(member.commands.drain(..).map(|command| types::Command { world: world as u32, ..command }));
        }
        all
    }

    /// Sends the counters and events of a step on their way.
    fn send(&mut self, encoder: &mut wgpu::CommandEncoder, which: &[usize]) {
        let (engine, span) = (&self.engine, span(which));
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
        self.ring.record(engine.context.device(), encoder, &parts, self.recorded);
        let done = |&world: &usize| {
            let Member { compiled, steps, .. } = &self.members[world];
            Done { world, step: *steps, last: (compiled.params.shape_count + compiled.params.joint_count) as usize }
        };
        let steps = which.iter().map(done).collect();
        self.flights.push_back(Flight { serial: self.recorded, steps, span, starts, events });
        self.recorded += 1;
    }

    /// Learns what arrived, without waiting.
    pub(super) fn poll(&mut self) -> Result<(), WorldError> {
        self.engine.context.poll(wgpu::PollType::Poll)?;
        for arrived in self.ring.take() {
            // What was refused never arrives.
            while let Some(flight) = self.flights.pop_front() {
                if flight.serial == arrived.step {
                    self.learn(&flight, &arrived);
                    break;
                }
            }
        }
        if self.ring.take_refused() {
            // A device that was just lost refuses steps in silence, and says so only once it has nothing left to do.
            self.engine.context.wait()?;
        }
        Ok(())
    }

    fn learn(&mut self, flight: &Flight, arrived: &Arrived) {
        let Flight { span, starts: words, events: room, .. } = flight;
        let (counters, rest) = arrived.bytes.split_at(span.len() * size_of::<Counters>());
        let (starts, events) = rest.split_at(span.len() * words * 4);
        let (counters, starts, events): (Vec<Counters>, Vec<u32>, Vec<Event>) =
            (cast(counters), cast(starts), cast(events));
        self.outgrown.clear();
        for &Done { world, step, last } in &flight.steps {
            let (at, member) = (world - span.start, &mut self.members[world]);
            let counters = &counters[at];
            member.known = Some(Known::new(step, counters));
            let count = if *words > last { starts[at * words + last] } else { 0 };
            let lost_events = count as usize > *room;
            if lost_events {
                self.event_need = self.event_need.max(count);
            }
            if counters.overflow_bits & OVERFLOW_CONTACTS != 0 || lost_events {
                member.overflowed.push(step);
                self.outgrown.push(world);
            }
            let told = &events[at * room..][..(*room).min(count as usize)];
            member.events.extend(told.iter().map(|event| event::Event::new(&member.compiled, step, event)));
        }
    }

    /// Makes room when one of these worlds is known to use three quarters of its own.
    fn grow(&mut self, encoder: &mut wgpu::CommandEncoder, which: &[usize]) -> Result<(), WorldError> {
        if self.engine.grow_events(self.event_need)? {
            self.bind();
        }
        let known = which.iter().filter_map(|&world| self.members[world].known);
        let needed = known.map(|known| known.contacts).max().unwrap_or(0);
        if self.engine.grow_for_contacts(encoder, needed, LEAST_CONTACTS)? {
            self.bind();
        }
        Ok(())
    }
}

/// From the first of some worlds to the last.
fn span(which: &[usize]) -> Range<usize> {
    let first = which.iter().copied().min().unwrap_or(0);
    first..which.iter().copied().max().map_or(first, |last| last + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::{Compiled, catalogue};
    use crate::{AdapterChoice, Context};

    /// Three piles in motion, of which the second is one step behind.
    fn out_of_step(context: &Context) -> GpuWorlds {
        let members = (0..3_u8).map(|world| {
            let mut scene = catalogue::build("large_pyramid:base=5").unwrap();
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

    /// A step of all, in which something about its layers is changed, and some more; the hashes then.
    fn hashes_with(context: &Context, which: &[usize], change: impl FnOnce(&mut Layers)) -> Vec<u64> {
        let mut worlds = out_of_step(context);
        let mut layers = worlds.layers(which);
        change(&mut layers);
        let mut encoder = worlds.engine.encoder();
        worlds.record_layers(&mut encoder, which, &layers).unwrap();
        worlds.engine.context.queue().submit([encoder.finish()]);
        (0..8).for_each(|_| worlds.step(&[0, 1, 2]).unwrap());
        worlds.hashes().unwrap()
    }

    /// Negative control of the tests of `step_some`, all of which compare with worlds alone: a world whose contacts are not
    /// carried over, tables that trade places when they should not, and layers that are not those of the worlds asked for.
    #[test]
    fn wrong_parities_and_wrong_layers_are_seen() {
        let context = Context::new(AdapterChoice::Any).expect("a device, if only a software one");
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
