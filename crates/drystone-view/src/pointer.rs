//! The pointer over the world: it grabs, drags and removes bodies, and asks which body is under it.
//!
//! Answers about a world on the device arrive some frames after the question ([`Pending`]); a grab goes through the stages
//! of [`Grab`] meanwhile. Drops, shots and explosions are in `pointer/play.rs`.

mod play;

use glam::Vec2;

use super::action::Action;
use super::app::App;
use super::build::CLICK;
use super::edit::{Deed, Edit, Made, Meaning};
use super::inspect::{Answer, Inspection, Pending, Wanted, ask_cpu, distance_to};
use super::run::Run;
use super::seat::Seat;
use super::select::Choice;
use drystone::Explosion;
use drystone::JointCommand;
use drystone::low_level::gpu::Arrival;
use drystone::low_level::math::rotate;
use drystone::low_level::state::body_energies;
use drystone::low_level::types::{BodyState, DYNAMIC, KINEMATIC, Pose, VERTEX_COUNT_SHIFT};
use drystone::{BodyId, JointId};
use drystone::{Joint, JointKind};
use drystone::{World, WorldError};
use drystone_draw::DrawInputs;
pub(crate) use play::DROPS;

/// The pull on a grabbed body is at most this many times its weight in earth's gravity.
const PULL: f32 = 60.0;
/// How a grabbed body follows, Hz.
const PULL_HERTZ: f32 = 5.0;
/// Points at which a body beside the pointer is still meant, and beside a finger.
const REACH: f32 = 8.0;
const TOUCH_REACH: f32 = 16.0;
/// Pixels that the pointer may have moved on since it was asked what is under it.
const STALE: f32 = 16.0;
/// Frames after which a press that has not moved takes hold of the body.
const LONG_PRESS: u64 = 15;
/// Frames between two looks at what is under a resting pointer.
const LOOK_EVERY: u64 = 6;
/// Frames between two looks where nothing is known of what is under it.
const LOOK_SOON: u64 = 3;

/// What is held.
#[derive(Debug, Default)]
enum Grab {
    #[default]
    None,
    /// The button went down at this place, m, by a finger or not; it is looked there for a body as soon as the world can be
    /// asked.
    Wanted(Vec2, bool),
    /// Looking for a body at that place.
    Asked(Vec2, Pending),
    /// A body under a press that may yet be a click, and the place of the press, m.
    Found(Inspection, Vec2),
    /// A body, and where it is to be pulled from now on, m.
    Holding(Hold, Option<Vec2>),
    /// There is none: the view moves.
    Panning,
}

/// A body in the hand.
#[derive(Clone, Copy, Debug)]
struct Hold {
    joint: JointId,
    /// Slot of the body.
    body: usize,
    /// Where it is held, from its centre of mass in its frame, m.
    anchor: Vec2,
}

/// A button that went down.
#[derive(Clone, Copy, Debug)]
struct Press {
    /// px.
    pixel: Vec2,
    /// m.
    at: Vec2,
    /// Distance that the pointer moves in a click at most, px.
    slack: f32,
    /// Number of the frame in which it went down.
    frame: u64,
}

/// The pointer over the world.
#[derive(Debug, Default)]
pub(crate) struct Pointer {
    /// px, while it is over the world.
    pub pixel: Option<Vec2>,
    grab: Grab,
    /// The press that is a click if it ends where it began.
    press: Option<Press>,
    /// What was let go of, and is yet to be parted from the hand.
    parted: Vec<JointId>,
    /// Place, px, and step of a question on its way.
    look: Option<(Vec2, u64, Pending)>,
    /// What is under it.
    pub over: Option<Inspection>,
    /// What else is told of that.
    pub about: About,
    /// Where it was looked for, px.
    over_at: Vec2,
    /// True while the body found last is still under the pointer.
    pub is_fresh: bool,
    frame: u64,
    looked: u64,
    /// Poses on their way, to frame them all.
    pub poses: Option<Arrival>,
    /// An explosion that waits for the poses.
    blast: Option<(Explosion, Arrival)>,
    /// A body that is to be removed, looked for at this place, m.
    removal: Option<(Vec2, Pending)>,
    shots: u32,
}

/// What a world knows of a body beside its state.
#[derive(Clone, Debug, Default)]
pub(crate) struct About {
    /// Its id in the scene.
    pub name: Option<String>,
    /// [`drystone::low_level::types::DYNAMIC`] …
    pub kind: u32,
    /// kg.
    pub mass: f32,
    /// Kinetic and potential energy, J.
    pub energies: [f64; 2],
    /// Shape that was meant, and the vertices of all.
    outline: Option<(drystone::low_level::types::Shape, Vec<[f32; 2]>)>,
    /// Steps done when it was asked about.
    step: u64,
}

impl Pointer {
    /// Whether an answer is awaited or something is held.
    pub fn is_busy(&self) -> bool {
        !matches!(self.grab, Grab::None) || self.awaits() || self.look.is_some()
    }

    /// Whether an answer is awaited that something depends on.
    pub fn awaits(&self) -> bool {
        let asked = matches!(self.grab, Grab::Wanted(..) | Grab::Asked(..)) || self.removal.is_some();
        asked || self.poses.is_some() || self.blast.is_some() || !self.parted.is_empty()
    }

    /// Whether no step may be done before an answer is there: it is about the world as it is.
    pub fn stops_time(&self) -> bool {
        self.blast.is_some() || self.removal.is_some()
    }

    /// Whether a body is held.
    pub fn holds(&self) -> bool {
        matches!(self.grab, Grab::Holding(..))
    }

    /// Returns true if a press would take hold of the body under the pointer.
    pub fn can_hold(&self) -> bool {
        let is_near = self.pixel.is_some_and(|pixel| pixel.distance(self.over_at) < STALE);
        is_near && self.over.is_some() && self.about.kind == DYNAMIC && !self.holds() && !self.pans()
    }

    /// Where the held body is held, in the world, m, as far as is known.
    pub fn held_at(&self) -> Option<Vec2> {
        let Grab::Holding(hold, _) = &self.grab else { return None };
        let over = self.over.filter(|over| over.body == hold.body)?;
        Some(Vec2::from(over.pose.position) + rotate(over.pose.rotation.into(), hold.anchor))
    }

    /// Whether a drag moves the view.
    pub fn pans(&self) -> bool {
        matches!(self.grab, Grab::Panning)
    }

    /// The body to be set off.
    pub fn highlighted(&self) -> Option<u32> {
        self.over
            .filter(|_| self.pixel.is_some() && self.is_fresh || self.holds())
            .and_then(|over| u32::try_from(over.body).ok())
    }

    /// Answer for the body under the pointer and where it is shown; none once the body is elsewhere.
    pub fn told(&self) -> Option<(&Inspection, Vec2)> {
        let pixel = self.pixel?;
        self.over.as_ref().filter(|_| self.is_fresh && !self.holds()).map(|over| (over, pixel))
    }

    /// Notes whether the body that was found is under the pointer now, at this place, m, after so many steps of `dt` s: the pointer
    /// rests where it was asked, within reach of the body, or the place is inside the body, as far as it has moved meanwhile.
    pub fn refresh(&mut self, at: Vec2, reach: f32, steps: u64, dt: f32) {
        let (Some(over), Some(pixel)) = (&self.over, self.pixel) else {
            self.is_fresh = false;
            return;
        };
        let rests = pixel.distance(self.over_at) <= 1.0;
        let since = u16::try_from(steps.abs_diff(self.about.step)).unwrap_or(u16::MAX);
        let ahead = if steps >= self.about.step { f32::from(since) * dt } else { 0.0 };
        let pose = Pose { position: (Vec2::from(over.pose.position) + over.velocity * ahead).into(), ..over.pose };
        let outline = self.about.outline.as_ref();
        let is_inside = outline.is_some_and(|(shape, vertices)| {
            distance_to(shape, vertices, &pose, at) <= if rests { reach } else { 0.0 }
        });
        self.is_fresh = (rests && since == 0) || is_inside;
    }
}

/// Does the same to both worlds.
fn edit_both(seat: &mut Seat, twin: &mut Option<Seat>, deed: Deed) -> Result<Made, String> {
    let away = || "the world is in the middle of a step".to_owned();
    let made = seat.here_mut().ok_or_else(away)?.edit(deed.clone())?;
    seat.learn();
    if let Some(other) = twin {
        // Bodies and joints come to the same places in both.
        other.here_mut().ok_or_else(away)?.edit(deed)?;
        other.learn();
    }
    Ok(made)
}

impl App {
    /// Does something to the world, and to the one beside it.
    ///
    /// # Errors
    /// Why not; then nothing has changed.
    pub fn edit(&mut self, deed: impl Into<Deed>) -> Result<Made, String> {
        let made = edit_both(&mut self.run, &mut self.twin, deed.into())?;
        self.left.forget_after();
        Ok(made)
    }

    pub(super) fn ask(&mut self, wanted: Wanted) -> Result<Pending, WorldError> {
        match self.run.here_mut().map(Run::world_mut) {
            None => Ok(Pending::Done(None)),
            Some(World::Cpu(world)) => ask_cpu(world, wanted),
            Some(World::Gpu(world)) => Ok(self.inspector.ask(&self.context, &DrawInputs::of(world), wanted)),
        }
    }

    /// Asks which body is meant by a place, m.
    ///
    /// # Errors
    /// If the place is too far out.
    pub fn ask_near(&mut self, at: Vec2) -> Result<Pending, WorldError> {
        self.ask(Wanted::Near(at, self.reach(false)))
    }

    /// Distance at which a body beside the pointer, or a finger, is still meant, m.
    pub(super) fn reach(&self, touched: bool) -> f32 {
        let points = if touched { TOUCH_REACH } else { REACH };
        points * self.points_to_pixels * self.camera.metres_per_pixel
    }

    /// The button went down over the world, or a finger.
    pub fn press(&mut self, pixel: Vec2, touched: bool) {
        let (at, frame) = (self.world_at(pixel), self.pointer.frame);
        self.pointer.grab = Grab::Wanted(at, touched);
        let slack = CLICK * self.points_to_pixels * if touched { 2.0 } else { 1.0 };
        self.pointer.press = Some(Press { pixel, at, slack, frame });
    }

    /// The button came up.
    pub fn release(&mut self) {
        let grab = std::mem::take(&mut self.pointer.grab);
        if let Some(press) = self.pointer.press.take() {
            let meant = match &grab {
                Grab::Found(found, _) => self.run.here_mut().and_then(|run| run.world_mut().body_id(found.body)),
                _ => None,
            };
            let choice = meant.map_or(Choice::At(press.at), Choice::Body);
            // A press on a body is for a while a click or a drag; one on nothing that ends where it began is a click.
            if !matches!(grab, Grab::Holding(..) | Grab::None) {
                self.queue.push(Action::Select(choice));
            }
        }
        if let Grab::Holding(hold, _) = grab {
            self.pointer.parted.push(hold.joint);
        }
        if self.is_settled() {
            self.part();
        }
    }

    /// Lets go of what is not held any more.
    fn part(&mut self) {
        for joint in std::mem::take(&mut self.pointer.parted) {
            if let Err(error) = self.edit(&Edit::Part(joint)) {
                self.say(error);
            }
        }
    }

    /// The pointer moved while the button is down.
    pub fn drag(&mut self, pixel: Vec2, moved: Vec2) {
        let at = self.world_at(pixel);
        self.pointer.press = self.pointer.press.filter(|press| press.pixel.distance(pixel) <= press.slack);
        match &mut self.pointer.grab {
            Grab::Holding(_, target) => *target = Some(at),
            Grab::Panning => self.camera.pan(moved),
            _ => {}
        }
    }

    /// Once a frame: takes answers that have arrived, and asks what is under the pointer. A world in the middle of a step
    /// is not asked, and what the hand does waits for its end.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn look(&mut self) -> Result<(), WorldError> {
        self.pointer.frame += 1;
        if !self.is_settled() {
            return Ok(());
        }
        if let Some(arrival) = &self.pointer.poses
            && let Some(bytes) = arrival.take()?
        {
            self.pointer.poses = None;
            let poses: Vec<Pose> = drystone::low_level::gpu::cast(&bytes);
            self.look_at(&poses);
        }
        if let Some((explosion, arrival)) = &self.pointer.blast
            && let Some(bytes) = arrival.take()?
        {
            let (explosion, poses) = (*explosion, drystone::low_level::gpu::cast(&bytes));
            self.pointer.blast = None;
            self.burst(&explosion, &poses);
        }
        if let Some((at, pending)) = &mut self.pointer.removal {
            let at = *at;
            match pending.poll()? {
                Answer::OnItsWay => {}
                Answer::Nobody => {
                    self.pointer.removal = None;
                    self.remove_selected("there is no body under the pointer");
                }
                Answer::Body(found) => {
                    self.pointer.removal = None;
                    self.take_out(found.body, at);
                }
            }
        }
        self.part();
        if let Grab::Holding(hold, target) = &mut self.pointer.grab
            && let (joint, Some(to)) = (hold.joint, target.take())
            && let Err(error) = self.edit(&Edit::Joint(joint, JointCommand::Target(to)))
        {
            self.say(error);
        }
        if let Grab::Wanted(at, touched) = self.pointer.grab {
            self.pointer.grab = match self.ask(Wanted::Near(at, self.reach(touched))) {
                Ok(pending) => Grab::Asked(at, pending),
                Err(_) => Grab::Panning,
            };
        }
        if let Grab::Asked(at, pending) = &mut self.pointer.grab {
            match pending.poll()? {
                Answer::OnItsWay => {}
                Answer::Nobody => self.pointer.grab = Grab::Panning,
                Answer::Body(found) => self.pointer.grab = Grab::Found(found, *at),
            }
        }
        if let Grab::Found(found, at) = self.pointer.grab
            && self.pointer.press.is_none_or(|press| self.pointer.frame > press.frame + LONG_PRESS)
        {
            self.pointer.press = None;
            self.hold(found, at);
        }
        self.look_at_selection()?;
        self.look_at_overlap()?;
        if let Some((pixel, asked_at, pending)) = &mut self.pointer.look {
            let asked_at = *asked_at;
            let answer = pending.poll()?;
            if answer != Answer::OnItsWay {
                self.pointer.over_at = *pixel;
                self.pointer.look = None;
                self.pointer.over = if let Answer::Body(found) = answer { Some(found) } else { None };
                self.pointer.about = self
                    .pointer
                    .over
                    .map(|over| About {
                        energies: self.energies(&over),
                        outline: self.outline(over.shape),
                        step: asked_at,
                        ..self.about(over.body)
                    })
                    .unwrap_or_default();
            }
        }
        // A pointer that has moved on is answered sooner.
        let every = if self.pointer.is_fresh { LOOK_EVERY } else { LOOK_SOON };
        if self.pointer.look.is_none() && self.pointer.frame >= self.pointer.looked + every {
            self.pointer.looked = self.pointer.frame;
            let held = self.pointer.over.filter(|_| self.pointer.holds());
            let wanted = match (held, self.pointer.pixel) {
                (Some(held), _) => u32::try_from(held.body).ok().map(Wanted::Body),
                (None, Some(pixel)) => Some(Wanted::Near(self.world_at(pixel), self.reach(false))),
                (None, None) => None,
            };
            match wanted {
                Some(wanted) => {
                    let pending = self.ask(wanted)?;
                    let asked_at = self.run.steps();
                    self.pointer.look = Some((self.pointer.pixel.unwrap_or_default(), asked_at, pending));
                }
                None => self.pointer.over = None,
            }
        }
        Ok(())
    }

    /// What the world knows of a body.
    fn about(&self, body: usize) -> About {
        let Some(compiled) = self.run.here().map(|run| run.world().compiled()) else { return About::default() };
        let Some(of) = compiled.bodies.get(body) else { return About::default() };
        let name = compiled.ids.get(body).and_then(Clone::clone);
        About { name, kind: of.kind, mass: compiled.mass[body].mass, ..About::default() }
    }

    /// Copy of a shape with its vertices, which tells whether it is under the pointer also while its world is away.
    fn outline(&self, shape: Option<usize>) -> Option<(drystone::low_level::types::Shape, Vec<[f32; 2]>)> {
        let compiled = self.run.here()?.world().compiled();
        let mut shape = *compiled.shapes.get(shape?)?;
        let (first, count) = (shape.first_vertex as usize, (shape.kind >> VERTEX_COUNT_SHIFT & 0xf) as usize);
        shape.first_vertex = 0;
        Some((shape, compiled.vertices.get(first..first + count).unwrap_or_default().to_vec()))
    }

    /// Kinetic and potential energy of a body, J.
    fn energies(&self, over: &Inspection) -> [f64; 2] {
        let Some(compiled) = self.run.here().map(|run| run.world().compiled()) else { return [0.0; 2] };
        let (Some(mass), Some(of)) = (compiled.mass.get(over.body), compiled.bodies.get(over.body)) else {
            return [0.0; 2];
        };
        let state = BodyState { velocity: over.velocity.into(), angular_velocity: over.spin, ..BodyState::default() };
        body_energies(&compiled.params, mass, of.gravity_scale, &over.pose, &state)
    }

    /// Takes hold of what was found at the place where the button went down.
    fn hold(&mut self, found: Inspection, at: Vec2) {
        self.pointer.grab = Grab::Panning;
        let target = self.pointer.pixel.map_or(at, |pixel| self.world_at(pixel));
        let Some(run) = self.run.here_mut() else { return };
        let compiled = run.world().compiled();
        let Some(body) = compiled.bodies.get(found.body).filter(|body| body.kind == DYNAMIC) else { return };
        let mass = compiled.mass[found.body];
        let [cos, sin] = found.pose.rotation;
        let own = rotate(Vec2::new(cos, -sin), at - Vec2::from(found.pose.position));
        // The body may have moved on since it was found.
        let own = own.clamp_length_max(body.extent.max(1e-3)) + mass.center;
        let kind = JointKind::Mouse { target, max_force: (PULL * 9.81 * mass.mass).max(1e-6) };
        let joint = Joint::to_world(kind, found.body).anchors(Vec2::ZERO, own).soft(PULL_HERTZ, 1.0);
        let Some(id) = run.world_mut().body_id(found.body) else { return };
        let anchor = own - mass.center;
        match self.edit(&Edit::Join(id, Box::new(joint))) {
            Ok(made) => {
                if let Some(&joint) = made.joints.first() {
                    self.pointer.grab = Grab::Holding(Hold { joint, body: found.body, anchor }, None);
                    self.pointer.over = Some(found);
                }
            }
            Err(error) => self.say(error),
        }
    }

    /// Removes the body at a place, m: the one that is there now, and not the one that was under the pointer a frame ago.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn remove(&mut self, at: Option<Vec2>) -> Result<(), WorldError> {
        let Some(at) = at else {
            self.remove_selected("the pointer is not over the world");
            return Ok(());
        };
        self.release();
        let pending = self.ask(Wanted::Under(at, self.reach(false)))?;
        self.pointer.removal = Some((at, pending));
        Ok(())
    }

    /// Removes the selected body; if there is none, says why nothing was removed.
    fn remove_selected(&mut self, why: &str) {
        let step = self.run.steps();
        let selected = self.build.selection.as_ref().map(|selection| (selection.id.index as usize, selection));
        let compiled = self.run.here().map(|run| run.world().compiled());
        let center =
            |slot: usize| compiled.and_then(|compiled| compiled.mass.get(slot)).map_or(Vec2::ZERO, |m| m.center);
        match selected.map(|(slot, selection)| (slot, selection.place(step, center(slot)).0)) {
            Some((slot, at)) => self.take_out(slot, at),
            None => self.say(format!("{why}: nothing was removed")),
        }
    }

    /// Removes bodies, and keeps what it takes to bring them back.
    pub(super) fn remove_bodies(&mut self, ids: Vec<BodyId>) -> Result<(), String> {
        let run = self.run.here_mut().ok_or("the world is in the middle of a step")?;
        let taken = run.taken(&ids)?;
        self.edit(Deed::new(Edit::Remove(ids.into()), Meaning::Remove(taken))).map(drop)
    }

    /// Removes a body and says so.
    fn take_out(&mut self, body: usize, at: Vec2) {
        let About { name, kind, .. } = self.about(body);
        let Some(id) = self.run.here_mut().and_then(|run| run.world_mut().body_id(body)) else { return };
        self.pointer.over = None;
        let kind = match kind {
            DYNAMIC => "dynamic",
            KINEMATIC => "kinematic",
            _ => "static",
        };
        let name = name.map_or_else(|| format!("body {body}"), |name| format!("{name} (body {body})"));
        match self.remove_bodies(vec![id]) {
            Ok(()) => self.say(format!("removed {name}, {kind}, at {:.2}, {:.2} m · Z brings it back", at.x, at.y)),
            Err(error) => self.say(format!("{name} was not removed: {error}")),
        }
    }
}
