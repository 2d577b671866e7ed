//! What the pointer does to the world: it pulls bodies along, tells of them, drops, shoots and explodes.

use std::collections::VecDeque;
use std::f32::consts::TAU;
use std::sync::Arc;

use glam::Vec2;

use super::app::App;
use super::edit::{Edit, Made};
use super::inspect::{Answer, Inspection, Pending, Wanted, ask_cpu};
use super::run::Run;
use crate::JointCommand;
use crate::draw::Scale;
use crate::gpu::Arrival;
use crate::math::rotate;
use crate::population::{BodyId, JointId};
use crate::scene::{Body, Filter, Geometry, Joint, JointKind, Shape};
use crate::types::{DYNAMIC, Pose};
use crate::world::{World, WorldError};

/// The pull on a grabbed body is at most this many times its weight in earth's gravity.
const PULL: f32 = 60.0;
/// How a grabbed body follows, Hz.
const PULL_HERTZ: f32 = 5.0;
/// Frames between two looks at what is under a resting pointer.
const LOOK_EVERY: u64 = 6;
/// Splinters of an explosion, and the steps that they live.
const SPLINTERS: u32 = 72;
const SPLINTER_STEPS: u64 = 36;

/// What is held.
#[derive(Debug, Default)]
enum Grab {
    #[default]
    None,
    /// Looking for a body under the place where the button went down.
    Asked(Pending),
    Holding(JointId),
    /// There is none: the view moves.
    Panning,
}

/// The pointer over the world.
#[derive(Debug, Default)]
pub(crate) struct Pointer {
    /// px, while it is over the world.
    pub pixel: Option<Vec2>,
    grab: Grab,
    look: Option<Pending>,
    /// What is under it.
    pub over: Option<Inspection>,
    frame: u64,
    /// Poses on their way, to frame them all.
    pub poses: Option<Arrival>,
    /// What is taken out again, after which step.
    splinters: VecDeque<(u64, Arc<[BodyId]>)>,
    shots: u32,
}

impl Pointer {
    /// Whether an answer is awaited or something is held.
    pub fn is_busy(&self) -> bool {
        !matches!(self.grab, Grab::None) || self.poses.is_some() || self.look.is_some()
    }

    /// Whether an answer is awaited that something depends on.
    pub fn awaits(&self) -> bool {
        matches!(self.grab, Grab::Asked(_)) || self.poses.is_some()
    }

    /// Whether a body is held.
    pub fn holds(&self) -> bool {
        matches!(self.grab, Grab::Holding(_))
    }

    /// Whether a drag moves the view.
    pub fn pans(&self) -> bool {
        matches!(self.grab, Grab::Panning)
    }

    /// The body to be set off.
    pub fn highlighted(&self) -> Option<u32> {
        self.over.filter(|_| self.pixel.is_some() || self.holds()).and_then(|over| u32::try_from(over.body).ok())
    }

    /// After a step: takes splinters out whose time is over.
    pub fn stepped(&mut self, run: &mut Run, twin: &mut Option<Run>) {
        while self.splinters.front().is_some_and(|(step, _)| *step <= run.steps()) {
            let Some((_, ids)) = self.splinters.pop_front() else { break };
            // While the past is played again the log does it.
            if run.steps() == run.furthest() {
                edit_both(run, twin, &Edit::Remove(ids)).ok();
            }
        }
    }
}

/// Does the same to both worlds.
fn edit_both(run: &mut Run, twin: &mut Option<Run>, edit: &Edit) -> Result<Made, String> {
    let made = run.edit(edit.clone())?;
    if let Some(other) = twin {
        // Bodies and joints come to the same places in both.
        other.edit(edit.clone())?;
    }
    Ok(made)
}

impl App {
    /// Does something to the world, and to the one beside it.
    ///
    /// # Errors
    /// Why not; then nothing has changed.
    pub fn edit(&mut self, edit: &Edit) -> Result<Made, String> {
        edit_both(&mut self.run, &mut self.twin, edit)
    }

    fn ask(&mut self, wanted: Wanted) -> Result<Pending, WorldError> {
        match self.run.world_mut() {
            World::Cpu(world) => ask_cpu(world, wanted),
            World::Gpu(world) => Ok(self.inspector.ask(&self.context, &world.draw_inputs(), wanted)),
        }
    }

    /// The button went down over the world.
    pub fn press(&mut self, pixel: Vec2) {
        let at = self.world_at(pixel);
        self.pointer.grab = match self.ask(Wanted::At(at)) {
            Ok(pending) => Grab::Asked(pending),
            Err(_) => Grab::Panning,
        };
    }

    /// The button came up.
    pub fn release(&mut self) {
        if let Grab::Holding(joint) = std::mem::take(&mut self.pointer.grab)
            && let Err(error) = self.edit(&Edit::Part(joint))
        {
            self.say(error);
        }
    }

    /// The pointer moved while the button is down.
    pub fn drag(&mut self, pixel: Vec2, moved: Vec2) {
        match self.pointer.grab {
            Grab::Holding(joint) => {
                let at = self.world_at(pixel);
                if let Err(error) = self.edit(&Edit::Joint(joint, JointCommand::Target(at))) {
                    self.say(error);
                }
            }
            Grab::Panning => self.camera.pan(moved),
            _ => {}
        }
    }

    /// Once a frame: takes answers that have arrived, and asks what is under the pointer.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn look(&mut self) -> Result<(), WorldError> {
        self.pointer.frame += 1;
        if let Some(arrival) = &self.pointer.poses
            && let Some(bytes) = arrival.take()?
        {
            self.pointer.poses = None;
            let poses: Vec<Pose> = crate::gpu::cast(&bytes);
            self.look_at(&poses);
        }
        if let Grab::Asked(pending) = &mut self.pointer.grab {
            match pending.poll()? {
                Answer::OnItsWay => {}
                Answer::Nobody => self.pointer.grab = Grab::Panning,
                Answer::Body(found) => self.hold(found),
            }
        }
        if let Some(pending) = &mut self.pointer.look {
            let answer = pending.poll()?;
            if answer != Answer::OnItsWay {
                self.pointer.look = None;
                self.pointer.over = if let Answer::Body(found) = answer { Some(found) } else { None };
            }
        }
        if self.pointer.look.is_none() && self.pointer.frame.is_multiple_of(LOOK_EVERY) {
            let held = self.pointer.over.filter(|_| self.pointer.holds());
            let wanted = match (held, self.pointer.pixel) {
                (Some(held), _) => u32::try_from(held.body).ok().map(Wanted::Body),
                (None, Some(pixel)) => Some(Wanted::At(self.world_at(pixel))),
                (None, None) => None,
            };
            match wanted {
                Some(wanted) => self.pointer.look = Some(self.ask(wanted)?),
                None => self.pointer.over = None,
            }
        }
        Ok(())
    }

    /// Takes hold of what was found where the button went down.
    fn hold(&mut self, found: Inspection) {
        self.pointer.grab = Grab::Panning;
        let Some(pixel) = self.pointer.pixel else { return };
        let compiled = self.run.world().compiled();
        let Some(body) = compiled.bodies.get(found.body).filter(|body| body.kind == DYNAMIC) else { return };
        let mass = compiled.mass[found.body];
        let at = self.world_at(pixel);
        let [cos, sin] = found.pose.rotation;
        let own = rotate(Vec2::new(cos, -sin), at - Vec2::from(found.pose.position));
        // The body may have moved on since it was found.
        let own = own.clamp_length_max(body.extent.max(1e-3)) + mass.center;
        let kind = JointKind::Mouse { target: at, max_force: (PULL * 9.81 * mass.mass).max(1e-6) };
        let joint = Joint::to_world(kind, found.body).anchors(Vec2::ZERO, own).soft(PULL_HERTZ, 1.0);
        let Some(id) = self.run.world_mut().body_id(found.body) else { return };
        match self.edit(&Edit::Join(id, Box::new(joint))) {
            Ok(Made::Joint(joint)) => {
                self.pointer.grab = Grab::Holding(joint);
                self.pointer.over = Some(found);
            }
            Ok(_) => {}
            Err(error) => self.say(error),
        }
    }

    /// How large a body is here, m: as the others, or by the picture.
    fn typical(&self) -> f32 {
        let length = Scale::of(self.run.world().compiled()).length;
        let dynamic = self.run.world().compiled().bodies.iter().any(|body| body.kind == DYNAMIC);
        if dynamic { length } else { self.camera.height() / 24.0 }
    }

    /// Drops what is chosen around a place.
    pub fn drop_bodies(&mut self, at: Vec2) {
        let size = self.typical();
        let count = self.prefs.drop_count.clamp(1, 10_000);
        #[allow(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "small"
        )]
        let columns = (count as f32).sqrt().ceil() as u32;
        let bodies: Vec<Body> = (0..count)
            .map(|index| {
                #[allow(clippy::cast_precision_loss, reason = "at most a hundred")]
                let (column, row) = ((index % columns) as f32, (index / columns) as f32);
                #[allow(clippy::cast_precision_loss, reason = "at most a hundred")]
                let middle = (columns as f32 - 1.0) / 2.0;
                let place = at + Vec2::new(column - middle, row - middle.min(row)) * size * 1.15;
                let geometry = shape_of(&self.prefs.drop, index, 0.5 * size);
                Body { position: place, ..Body::default() }.shape(Shape::new(geometry))
            })
            .collect();
        match self.edit(&Edit::Add(bodies.into())) {
            Ok(_) => {}
            Err(error) => self.say(format!("nothing was dropped: {error}")),
        }
    }

    /// Shoots a heavy ball from the left edge of the picture at a place.
    pub fn shoot(&mut self, at: Vec2) {
        let size = self.typical();
        let left = self
            .world_at(self.camera.origin + Vec2::new(0.0, 0.25) * self.camera.height() / self.camera.metres_per_pixel);
        let way = (at - left).try_normalize().unwrap_or(Vec2::X);
        let speed = (2.0 * self.camera.height()).clamp(10.0, 200.0);
        let velocity = way * speed;
        self.pointer.shots += 1;
        let ball = Shape::circle(0.75 * size).density(8.0).friction(0.3);
        let body = Body { position: left, velocity, bullet: true, ..Body::default() }.shape(ball);
        if let Err(error) = self.edit(&Edit::Add([body].into())) {
            self.say(format!("no shot: {error}"));
        }
    }

    /// Bursts at a place: heavy splinters fly off in all directions, push what they meet, and are gone soon.
    pub fn explode(&mut self, at: Vec2) {
        let size = self.typical();
        let speed = (1.6 * self.camera.height()).clamp(15.0, 150.0);
        // They do not meet each other.
        let filter = Filter { group: -77, ..Filter::default() };
        let splinter = Shape::circle(0.09 * size).density(14.0).friction(0.0).restitution(0.9).filter(filter);
        let bodies: Vec<Body> = (0..SPLINTERS)
            .map(|index| {
                #[allow(clippy::cast_precision_loss, reason = "a few")]
                let way = crate::math::rotation(TAU * index as f32 / SPLINTERS as f32 - TAU / 2.0);
                Body {
                    position: at + way * 0.3 * size,
                    velocity: way * speed,
                    linear_damping: 4.0,
                    gravity_scale: 0.0,
                    bullet: true,
                    fixed_rotation: true,
                    ..Body::default()
                }
                .shape(splinter.clone())
            })
            .collect();
        match self.edit(&Edit::Add(bodies.into())) {
            Ok(Made::Bodies(ids)) => {
                self.pointer.splinters.push_back((self.run.steps() + SPLINTER_STEPS, ids.into()));
            }
            Ok(_) => {}
            Err(error) => self.say(format!("no explosion: {error}")),
        }
    }

    /// Takes out the body under the pointer.
    pub fn remove(&mut self) {
        let Some(over) = self.pointer.over else { return self.say("there is no body under the pointer") };
        let Some(id) = self.run.world_mut().body_id(over.body) else { return };
        self.release();
        self.pointer.over = None;
        if let Err(error) = self.edit(&Edit::Remove([id].into())) {
            self.say(error);
        }
    }
}

/// What can be dropped.
pub(crate) const DROPS: [&str; 6] = ["box", "circle", "capsule", "polygon", "particle", "mix"];

/// An outline of about this half width, m.
fn shape_of(name: &str, index: u32, half: f32) -> Geometry {
    match name {
        "circle" => Geometry::Circle { radius: half },
        "capsule" => {
            Geometry::Capsule { a: Vec2::new(-0.5 * half, 0.0), b: Vec2::new(0.5 * half, 0.0), radius: 0.5 * half }
        }
        "polygon" => {
            let corners = 3 + index % 6;
            #[allow(clippy::cast_precision_loss, reason = "at most 8")]
            let corner = |k: u32| half * crate::math::rotation(TAU * (k as f32 / corners as f32 - 0.5));
            Geometry::Polygon { points: (0..corners).map(corner).collect(), radius: 0.0 }
        }
        "particle" => Geometry::Particle { radius: half },
        "mix" => shape_of(DROPS[index as usize % 4], index / 4, half),
        _ => Geometry::Box { half: Vec2::splat(half), radius: 0.0 },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_dropped_is_valid() {
        for name in DROPS {
            let mut scene = crate::Scene::new(name);
            for index in 0..24 {
                scene.add(Body::dynamic(0.0, 0.0).shape(Shape::new(shape_of(name, index, 0.5))));
            }
            scene.check().unwrap();
        }
    }
}
