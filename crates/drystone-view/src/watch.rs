//! Graphed bodies: their places and motion, step by step, for graphs and tables.
//!
//! A world on the CPU gives them after each step. On the device their rows are copied after each step, and arrive on
//! the host later without any wait.

use std::collections::VecDeque;
use std::sync::Arc;

use glam::{DVec2, Vec2};

use super::app::App;
use super::inspect::{InspectionResult, Pending};
use super::run::{LogEntry, On, Rebuilt, WorldRun};
use drystone::BodyId;
use drystone::Context;
use drystone::low_level::gpu::{Arrival, note_read_back};
use drystone::low_level::scene::{Compiled, MassProperties};
use drystone::low_level::state::body_energies;
use drystone::low_level::types::{BodyState, DYNAMIC, Params, Pose};
use drystone::{World, WorldError};
use drystone_draw::DrawInputs;

/// Maximum number of graphed bodies.
pub(crate) const MAX_WATCHED: usize = 4;
/// Number of steps that are kept of each: a minute at 60 steps per second.
pub(crate) const KEPT: usize = 3600;

/// State of a graphed body after a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct WatchSample {
    pub step: u64,
    /// Length of the step, s.
    pub dt: f64,
    /// Centre of mass, m.
    pub position: DVec2,
    /// Angle, with full turns counted while it is graphed, rad.
    pub angle: f64,
    /// Velocity of the centre of mass, m/s.
    pub velocity: DVec2,
    /// Angular velocity, rad/s.
    pub spin: f64,
    /// Kinetic energy, of translation and rotation, J.
    pub kinetic: f64,
    /// Potential energy in gravity and fields, J.
    pub potential: f64,
    /// Mass, kg.
    pub mass: f64,
}

impl WatchSample {
    fn new(step: u64, params: &Params, weighed: &Weighed, pose: &Pose, state: &BodyState) -> Self {
        let [kinetic, potential] = weighed.energies(params, pose, state);
        Self {
            step,
            dt: f64::from(params.dt),
            position: Vec2::from(pose.position).as_dvec2(),
            angle: f64::from(pose.rotation[1].atan2(pose.rotation[0])),
            velocity: Vec2::from(state.velocity).as_dvec2(),
            spin: f64::from(state.angular_velocity),
            kinetic,
            potential,
            mass: f64::from(weighed.mass.mass),
        }
    }

    /// Simulated time, s.
    #[allow(clippy::cast_possible_truncation, reason = "made from an f32")]
    pub fn time(&self) -> f64 {
        drystone_scenes::time::after(self.step, self.dt as f32)
    }
}

/// Quantity of which a graph can be drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quantity {
    X,
    Y,
    Speed,
    VelocityX,
    VelocityY,
    Acceleration,
    AccelerationX,
    AccelerationY,
    Force,
    ForceX,
    ForceY,
    Angle,
    Spin,
    Energy,
    Kinetic,
    Potential,
}

impl Quantity {
    /// Quantities in the order in which they are shown.
    pub const ALL: [Self; 16] = [
        Self::X,
        Self::Y,
        Self::Speed,
        Self::VelocityX,
        Self::VelocityY,
        Self::Acceleration,
        Self::AccelerationX,
        Self::AccelerationY,
        Self::Force,
        Self::ForceX,
        Self::ForceY,
        Self::Angle,
        Self::Spin,
        Self::Energy,
        Self::Kinetic,
        Self::Potential,
    ];

    /// Name, unit and meaning.
    pub const fn words(self) -> [&'static str; 3] {
        match self {
            Self::X => ["x", "m", "place of the centre of mass, to the right"],
            Self::Y => ["y", "m", "place of the centre of mass, upwards"],
            Self::Speed => ["speed", "m/s", "of the centre of mass"],
            Self::VelocityX => ["vx", "m/s", "velocity to the right"],
            Self::VelocityY => ["vy", "m/s", "velocity upwards"],
            Self::Acceleration => ["a", "m/s²", "acceleration: change of velocity in a step, over its length"],
            Self::AccelerationX => ["ax", "m/s²", "acceleration to the right"],
            Self::AccelerationY => ["ay", "m/s²", "acceleration upwards"],
            Self::Force => ["force", "N", "net force, averaged over a step: mass times acceleration"],
            Self::ForceX => ["Fx", "N", "net force to the right"],
            Self::ForceY => ["Fy", "N", "net force upwards"],
            Self::Angle => ["angle", "rad", "counter-clockwise, full turns counted on"],
            Self::Spin => ["spin", "rad/s", "angular velocity, counter-clockwise"],
            Self::Energy => [
                "energy",
                "J",
                "kinetic and potential energy of this body together. That of springs is left out, as a spring belongs to both \
                 of its bodies: \"energies of the scene\" has it",
            ],
            Self::Kinetic => ["kinetic", "J", "energy of moving and turning"],
            Self::Potential => ["potential", "J", "energy in gravity and fields, 0 at the height 0"],
        }
    }

    /// Name of the column in a table, with its unit: that of the tables of `drystone run` and of the service's page.
    pub const fn column(self) -> &'static str {
        match self {
            Self::X => "x_m",
            Self::Y => "y_m",
            Self::Speed => "speed_m_per_s",
            Self::VelocityX => "vx_m_per_s",
            Self::VelocityY => "vy_m_per_s",
            Self::Acceleration => "acceleration_m_per_s2",
            Self::AccelerationX => "ax_m_per_s2",
            Self::AccelerationY => "ay_m_per_s2",
            Self::Force => "net_force_N",
            Self::ForceX => "net_force_x_N",
            Self::ForceY => "net_force_y_N",
            Self::Angle => "angle_rad",
            Self::Spin => "spin_rad_per_s",
            Self::Energy => "energy_J",
            Self::Kinetic => "kinetic_energy_J",
            Self::Potential => "potential_energy_J",
        }
    }

    /// Value at a step; `None` if it depends on the step before, which is not known.
    pub fn of(self, before: Option<&WatchSample>, now: &WatchSample) -> Option<f64> {
        let acceleration = || {
            let before = before.filter(|before| before.step + 1 == now.step)?;
            Some((now.velocity - before.velocity) / now.dt)
        };
        Some(match self {
            Self::X => now.position.x,
            Self::Y => now.position.y,
            Self::Speed => now.velocity.length(),
            Self::VelocityX => now.velocity.x,
            Self::VelocityY => now.velocity.y,
            Self::Acceleration => acceleration()?.length(),
            Self::AccelerationX => acceleration()?.x,
            Self::AccelerationY => acceleration()?.y,
            Self::Force => now.mass * acceleration()?.length(),
            Self::ForceX => now.mass * acceleration()?.x,
            Self::ForceY => now.mass * acceleration()?.y,
            Self::Angle => now.angle,
            Self::Spin => now.spin,
            Self::Energy => now.kinetic + now.potential,
            Self::Kinetic => now.kinetic,
            Self::Potential => now.potential,
        })
    }
}

/// Graphed body with its states so far.
#[derive(Clone, Debug)]
pub(crate) struct Track {
    pub body: BodyId,
    pub name: String,
    /// Index of its colour, which no other graphed body has.
    pub color: usize,
    pub moments: VecDeque<WatchSample>,
}

impl Track {
    /// Adds a state, and removes those of the same and later steps.
    fn push(&mut self, mut moment: WatchSample) {
        self.cut(moment.step);
        if let Some(last) = self.moments.back() {
            let turn = std::f64::consts::TAU;
            moment.angle += turn * ((last.angle - moment.angle) / turn).round();
        }
        if self.moments.len() == KEPT {
            self.moments.pop_front();
        }
        self.moments.push_back(moment);
    }

    /// Removes states of this step and later ones.
    fn cut(&mut self, step: u64) {
        while self.moments.back().is_some_and(|last| last.step >= step) {
            self.moments.pop_back();
        }
    }

    /// Graph of a quantity: pairs of time, s, and value.
    pub fn curve(&self, quantity: Quantity) -> Vec<[f64; 2]> {
        let before = std::iter::once(None).chain(self.moments.iter().map(Some));
        let value = |(before, now): (Option<&WatchSample>, &WatchSample)| {
            quantity.of(before, now).map(|value| [now.time(), value])
        };
        before.zip(&self.moments).filter_map(value).collect()
    }

    /// Newest value of a quantity.
    pub fn now(&self, quantity: Quantity) -> Option<f64> {
        let mut last = self.moments.iter().rev();
        let now = last.next()?;
        quantity.of(last.next(), now)
    }
}

/// Mass and gravity of a graphed body, on which its energies depend beside its state.
#[derive(Clone, Copy, Debug)]
struct Weighed {
    body: BodyId,
    mass: MassProperties,
    gravity_scale: f32,
}

impl Weighed {
    fn of(compiled: &Compiled, body: BodyId) -> Self {
        let slot = body.index as usize;
        let moves = compiled.bodies[slot].kind == DYNAMIC;
        let mass = if moves { compiled.mass[slot] } else { MassProperties::default() };
        Self { body, mass, gravity_scale: compiled.bodies[slot].gravity_scale }
    }

    fn energies(&self, params: &Params, pose: &Pose, state: &BodyState) -> [f64; 2] {
        body_energies(params, &self.mass, self.gravity_scale, pose, state)
    }
}

/// Rows of graphed bodies on their way from the device.
#[derive(Debug)]
struct InFlightRows {
    step: u64,
    params: Params,
    bodies: Vec<Weighed>,
    arrival: Arrival,
}

/// All graphed bodies.
#[derive(Debug)]
pub(crate) struct WatchedBodies {
    pub tracks: Vec<Track>,
    /// Quantities whose graphs are shown.
    pub shown: Vec<Quantity>,
    /// True if the energies of the whole scene are graphed.
    pub energies: bool,
    /// True until the panel has opened its section.
    pub opens: bool,
    /// Query for the body to graph.
    asked: Option<Pending>,
    /// Last change of the world's bodies when names were looked up.
    changes: u64,
    flights: VecDeque<InFlightRows>,
}

impl Default for WatchedBodies {
    fn default() -> Self {
        let shown = vec![Quantity::Y, Quantity::Speed, Quantity::Acceleration];
        Self {
            tracks: Vec::new(),
            shown,
            energies: true,
            opens: false,
            asked: None,
            changes: 0,
            flights: VecDeque::new(),
        }
    }
}

/// World in which bodies are graphed again.
#[derive(Debug)]
pub(crate) enum WatchAgain<'a> {
    /// Another scene: no body is graphed.
    Nothing,
    /// World of an unchanged scene, with what a restart built again.
    Same(Option<&'a Rebuilt>),
    /// World of a scene whose parameters have other values: its bodies are graphed by their index. The log is of the
    /// world before, whose built bodies are gone.
    OtherValues(Arc<Vec<LogEntry>>),
}

impl WatchedBodies {
    /// Track of the body in a slot.
    pub fn of(&self, slot: usize) -> Option<&Track> {
        self.tracks.iter().find(|track| track.body.index as usize == slot)
    }

    /// Returns true while an answer is awaited.
    pub fn is_busy(&self) -> bool {
        self.asked.is_some() || !self.flights.is_empty()
    }

    /// Drops requests that a lost device cannot answer.
    pub fn lose_device(&mut self) {
        self.flights.clear();
        self.asked = None;
    }

    /// Adds states of bodies to their tracks.
    pub fn note(&mut self, seen: impl IntoIterator<Item = (BodyId, WatchSample)>) {
        for (body, moment) in seen {
            if let Some(track) = self.tracks.iter_mut().find(|track| track.body == body) {
                track.push(moment);
            }
        }
    }

    /// Removes what is later than a step, to which the world has gone back.
    fn cut(&mut self, now: u64) {
        self.tracks.iter_mut().for_each(|track| track.cut(now + 1));
        self.flights.retain(|flight| flight.step <= now);
    }

    /// Table of all tracks: a row per step, a column for each quantity of each body, with its unit. Columns of several
    /// bodies begin with the body's name.
    pub fn csv(&self) -> String {
        let plain =
            |name: &str| -> String { name.chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).collect() };
        let mut text = String::from("step,time_s");
        for track in &self.tracks {
            let body = if self.tracks.len() > 1 { plain(&track.name) + "_" } else { String::new() };
            for quantity in Quantity::ALL {
                text += &format!(",{body}{}", quantity.column());
            }
        }
        text.push('\n');
        let mut next = vec![0; self.tracks.len()];
        while let Some(first) =
            self.tracks.iter().zip(&next).filter_map(|(track, &at)| track.moments.get(at)).min_by_key(|m| m.step)
        {
            text += &format!("{},{}", first.step, first.time());
            let step = first.step;
            for (track, at) in self.tracks.iter().zip(&mut next) {
                let now = track.moments.get(*at).filter(|moment| moment.step == step);
                let before = at.checked_sub(1).and_then(|before| track.moments.get(before));
                for quantity in Quantity::ALL {
                    text.push(',');
                    if let Some(value) = now.and_then(|now| quantity.of(before, now)) {
                        // A zero has no sign.
                        text += &(value + 0.0).to_string();
                    }
                }
                *at += usize::from(now.is_some());
            }
            text.push('\n');
        }
        text
    }
}

impl WorldRun {
    /// Graphed bodies that exist now.
    fn watched_now(&self) -> Vec<Weighed> {
        let compiled = self.world().compiled();
        let is_there = |body: &&BodyId| self.world().contains(**body);
        self.watched.iter().filter(is_there).map(|&body| Weighed::of(compiled, body)).collect()
    }

    /// Present states of graphed bodies; none for a world on the device.
    pub fn seen(&self) -> Vec<(BodyId, WatchSample)> {
        let World::Cpu(world) = self.world() else { return Vec::new() };
        let params = &world.compiled().params;
        let moment = |weighed: Weighed| {
            let slot = weighed.body.index as usize;
            let (pose, state) = (world.poses().get(slot)?, world.body_state(slot)?);
            Some((weighed.body, WatchSample::new(self.steps(), params, &weighed, pose, &state)))
        };
        self.watched_now().into_iter().filter_map(moment).collect()
    }

    /// Requests the states of graphed bodies after all work submitted so far.
    fn send_watched(&self, context: &Context) -> Option<InFlightRows> {
        let World::Gpu(world) = self.world() else { return None };
        let bodies = self.watched_now();
        let inputs = DrawInputs::of(world);
        let states = inputs.tables.as_ref()?.states;
        if bodies.is_empty() {
            return None;
        }
        let device = context.device();
        let [pose_bytes, state_bytes] = [size_of::<Pose>(), size_of::<BodyState>()].map(|size| size as u64);
        let bytes = bodies.len() as u64 * (pose_bytes + state_bytes);
        let rows = device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("watched bodies"),
            size: bytes,
            usage: wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let mut encoder =
            device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("watched bodies") });
        let mut at = 0;
        for weighed in &bodies {
            let slot = u64::from(weighed.body.index);
            for (from, size) in [(inputs.poses, pose_bytes), (states, state_bytes)] {
                encoder.copy_buffer_to_buffer(from, slot * size, &rows, at, size);
                at += size;
            }
        }
        let arrival = Arrival::send(device, &mut encoder, &rows, bytes, None);
        note_read_back(context, 1, bytes);
        context.queue().submit([encoder.finish()]);
        Some(InFlightRows { step: self.steps(), params: world.compiled().params, bodies, arrival })
    }
}

impl InFlightRows {
    /// Reads the states from the rows that have arrived.
    fn read(&self, bytes: &[u8]) -> Vec<(BodyId, WatchSample)> {
        let each = size_of::<Pose>() + size_of::<BodyState>();
        let moment = |(weighed, row): (&Weighed, &[u8])| {
            let (pose, state) = row.split_at(size_of::<Pose>());
            let pose: Pose = bytemuck::pod_read_unaligned(pose);
            let state: BodyState = bytemuck::pod_read_unaligned(state);
            (weighed.body, WatchSample::new(self.step, &self.params, weighed, &pose, &state))
        };
        self.bodies.iter().zip(bytes.chunks_exact(each)).map(moment).collect()
    }
}

impl App {
    /// Graphs the body at a place, m, or stops graphing it.
    ///
    /// # Errors
    /// If the place is too far out.
    pub fn watch_at(&mut self, at: Option<Vec2>) -> Result<(), WorldError> {
        match at {
            Some(at) => self.watch.asked = Some(self.ask_near(at)?),
            None => self.say("point at a body to graph it"),
        }
        Ok(())
    }

    /// Graphs the body in a slot, or stops graphing it.
    pub fn watch_body(&mut self, slot: usize) {
        let Some(run) = self.run.here_mut() else { return };
        let compiled = run.world().compiled();
        let Some(body) = run.world().body_id(slot) else { return };
        if let Some(at) = self.watch.tracks.iter().position(|track| track.body == body) {
            return self.unwatch(at);
        }
        let name = compiled.ids[slot].clone().unwrap_or_else(|| format!("body {slot}"));
        if self.watch.tracks.len() == MAX_WATCHED {
            return self.say(format!("at most {MAX_WATCHED} bodies are graphed: stop graphing one to add {name}"));
        }
        let taken = |color: &usize| self.watch.tracks.iter().any(|track| track.color == *color);
        let color = (0..MAX_WATCHED).find(|color| !taken(color)).unwrap_or(0);
        let said = format!("graphing {name}: see Graphs");
        self.watch.tracks.push(Track { body, name, color, moments: VecDeque::new() });
        self.watch.opens = true;
        run.watched.push(body);
        let seen = run.seen();
        self.watch.note(seen);
        self.send_watched();
        self.say(said);
    }

    /// Stops graphing a body, by its index among the tracks.
    pub fn unwatch(&mut self, at: usize) {
        if at >= self.watch.tracks.len() {
            return;
        }
        let track = self.watch.tracks.remove(at);
        if let Some(run) = self.run.here_mut() {
            run.watched.retain(|&body| body != track.body);
        }
        self.say(format!("stopped graphing {}", track.name));
    }

    /// Requests the states of graphed bodies of the first world, if it is on the device, after a step.
    pub(super) fn send_watched(&mut self) {
        if self.run.on() == On::Gpu
            && let Some(flight) = self.run.here().and_then(|run| run.send_watched(&self.context))
        {
            self.watch.flights.push_back(flight);
        }
    }

    /// Takes over states that have arrived, and removes those of steps from which the world has gone back. Once a
    /// frame.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn look_at_watched(&mut self) -> Result<(), WorldError> {
        self.follow_names();
        self.watch.cut(self.run.steps());
        while let Some(flight) = self.watch.flights.front() {
            let Some(bytes) = flight.arrival.take()? else { break };
            let seen = flight.read(&bytes);
            self.watch.flights.pop_front();
            self.watch.note(seen);
        }
        if let Some(pending) = self.watch.asked.as_mut().filter(|_| self.run.here().is_some()) {
            let answer = pending.poll()?;
            if answer == InspectionResult::OnItsWay {
                return Ok(());
            }
            self.watch.asked = None;
            match answer {
                InspectionResult::Body(found) => self.watch_body(found.body),
                _ => match self.build.selection.as_ref().map(|selection| selection.id.index as usize) {
                    Some(selected) => self.watch_body(selected),
                    None => self.say("there is no body under the pointer to graph, and none is selected"),
                },
            }
        }
        Ok(())
    }

    /// Updates names and ids of graphed bodies, which may have been renamed, or restored under other ids.
    fn follow_names(&mut self) {
        let Some(run) = self.run.here_mut() else { return };
        if self.watch.tracks.is_empty() || self.watch.changes == run.changes() {
            return;
        }
        self.watch.changes = run.changes();
        for track in &mut self.watch.tracks {
            track.body = run.resolve(track.body);
            let compiled = run.world().compiled();
            if run.world().contains(track.body) {
                let slot = track.body.index as usize;
                track.name = compiled.ids[slot].clone().unwrap_or_else(|| format!("body {slot}"));
            }
        }
        run.watched = self.watch.tracks.iter().map(|track| track.body).collect();
    }

    /// Graphs the bodies again that a new world has as well. Returns the names of the others.
    pub(super) fn watch_again(&mut self, of: &WatchAgain<'_>) -> Vec<String> {
        self.watch.lose_device();
        let tracks = std::mem::take(&mut self.watch.tracks);
        let Some(run) = self.run.here_mut() else { return Vec::new() };
        let name_of = |body: BodyId| {
            let name = run.world().compiled().ids.get(body.index as usize).cloned().flatten();
            name.unwrap_or_else(|| format!("body {}", body.index))
        };
        let there = |track: &Track| match of {
            WatchAgain::Nothing => None,
            WatchAgain::Same(rebuilt) => {
                let again = rebuilt.and_then(|rebuilt| rebuilt.id(track.body));
                let wanted = again.unwrap_or(track.body);
                // In a changed file another body may have the same index.
                run.world()
                    .contains(wanted)
                    .then_some(wanted)
                    .filter(|&id| again.is_some() || name_of(id) == track.name)
            }
            WatchAgain::OtherValues(log) => {
                let is_built = log.iter().any(|entry| entry.made.bodies.contains(&track.body));
                run.world().body_id(track.body.index as usize).filter(|_| !is_built)
            }
        };
        let mut lost = Vec::new();
        for track in tracks {
            match there(&track) {
                Some(body) => {
                    self.watch.tracks.push(Track { body, name: name_of(body), moments: VecDeque::new(), ..track });
                }
                None => lost.push(track.name),
            }
        }
        run.watched = self.watch.tracks.iter().map(|track| track.body).collect();
        let seen = run.seen();
        self.watch.note(seen);
        self.send_watched();
        if matches!(of, WatchAgain::Nothing) { Vec::new() } else { lost }
    }

    /// Says which bodies are graphed no longer, after what was said about the new world.
    pub(super) fn tell_lost_graphs(&mut self, lost: &[String]) {
        if lost.is_empty() {
            return;
        }
        let text = format!("no longer graphed, as the world does not have it: {}", lost.join(", "));
        let said = self.note().map(|note| format!("{note} · {text}"));
        self.say(said.unwrap_or(text));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(step: u64, angle: f64, vy: f64) -> WatchSample {
        WatchSample {
            step,
            dt: 0.1,
            position: DVec2::new(1.0, 2.0),
            angle,
            velocity: DVec2::new(0.0, vy),
            spin: 0.0,
            kinetic: 3.0,
            potential: -1.0,
            mass: 2.0,
        }
    }

    fn track() -> Track {
        let body = BodyId { index: 3, generation: 0 };
        Track { body, name: "a, b".to_owned(), color: 0, moments: VecDeque::new() }
    }

    #[test]
    fn curves_are_cut_where_the_world_went_back_and_never_too_long() {
        let mut track = track();
        for step in 0..=10 {
            track.push(moment(step, 0.0, 0.0));
        }
        track.push(moment(5, 0.0, 0.0));
        let steps: Vec<u64> = track.moments.iter().map(|moment| moment.step).collect();
        assert_eq!(steps, [0, 1, 2, 3, 4, 5]);
        for step in 6..5000 {
            track.push(moment(step, 0.0, 0.0));
        }
        assert_eq!((track.moments.len(), track.moments[0].step), (KEPT, 5000 - KEPT as u64));
    }

    #[test]
    fn turns_are_counted_on_and_accelerations_need_the_step_before() {
        let mut track = track();
        for (step, angle, vy) in [(1, 3.0, 0.0), (2, -3.0, -1.0), (3, 0.0, -2.0), (7, 0.1, -9.0)] {
            track.push(moment(step, angle, vy));
        }
        let angles: Vec<f64> = track.moments.iter().map(|moment| moment.angle).collect();
        assert!((angles[1] - 3.283).abs() < 1e-3 && (angles[2] - std::f64::consts::TAU).abs() < 1e-3, "{angles:?}");
        // Not of the first, and not across the gap.
        let forces = track.curve(Quantity::ForceY);
        assert_eq!(forces.len(), 2);
        assert!(forces.iter().all(|[_, newton]| (newton + 20.0).abs() < 1e-9), "{forces:?}");
        assert_eq!((track.now(Quantity::Energy), track.now(Quantity::Force)), (Some(2.0), None));
    }

    #[test]
    fn a_table_has_units_and_a_row_a_step() {
        let mut first = track();
        let mut second = Track { body: BodyId { index: 4, generation: 0 }, name: "ball".to_owned(), ..track() };
        for step in 0..4 {
            first.push(moment(step, 0.0, 0.0));
        }
        for step in 2..6 {
            second.push(moment(step, 0.0, 0.0));
        }
        let watch = WatchedBodies { tracks: vec![first, second], ..WatchedBodies::default() };
        let csv = watch.csv();
        let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
        assert_eq!(rows.len(), 7, "{csv}");
        assert!(rows.iter().all(|row| row.len() == 2 + 2 * Quantity::ALL.len()), "{csv}");
        assert_eq!(rows[0][2..4], ["a__b_x_m", "a__b_y_m"]);
        let vy = rows[0].iter().position(|name| *name == "ball_vy_m_per_s").unwrap();
        assert_eq!((rows[1][vy], rows[3][vy], rows[6][vy]), ("", "0", "0"));
        assert_eq!((rows[6][0], rows[6][2]), ("5", ""));
    }
}
