//! The pointer over the world: it grabs, drags and removes bodies, and asks which body is under it.
//!
//! Answers about a world on the device arrive some frames after the question ([`Pending`]); a grab goes through the
//! stages of [`Grab`] meanwhile. Drops, shots and explosions are in `pointer/play.rs`.

mod play;

use glam::Vec2;

use super::action::Action;
use super::app::App;
use super::build::CLICK;
use super::edit::{BuiltParts, Edit, Meaning, RecordedEdit};
use super::inspect::{Inspection, InspectionResult, InspectionTarget, Pending, ask_cpu, distance_to};
use super::run::WorldRun;
use super::select::SelectionRequest;
use super::worker::WorkerHandle;
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
pub(crate) use play::{DROP_COUNTS, DROPS};

/// Maximum force on a grabbed body, in units of its weight on earth.
const PULL: f32 = 60.0;
/// Frequency of the soft joint by which a grabbed body follows the pointer, Hz.
const PULL_HERTZ: f32 = 5.0;
/// Distance up to which a body beside the pointer is grabbed or shown, and beside a finger, points.
const REACH: f32 = 8.0;
const TOUCH_REACH: f32 = 16.0;
/// Distance from the place of the last query up to which its answer shows the grab cursor, px.
const STALE: f32 = 16.0;
/// Frames after which a press that has not moved grabs the body.
const LONG_PRESS: u64 = 15;
/// Frames between two queries for the body under the pointer.
const LOOK_EVERY: u64 = 6;
/// Frames between two queries while the last answer is out of date.
const LOOK_SOON: u64 = 3;

/// Stage of a grab, from the press to the release.
#[derive(Debug, Default)]
enum Grab {
    #[default]
    None,
    /// Pressed at this place, m, by a finger (true) or not; the query for a body waits until the world is settled.
    Wanted(Vec2, bool),
    /// The query for a body at that place is on its way.
    Asked(Vec2, Pending),
    /// There is a body, but the press may still be a click; with the place of the press, m.
    Found(Inspection, Vec2),
    /// A body is held; with its new target, m, if the pointer has moved.
    Holding(HeldBody, Option<Vec2>),
    /// There is no body: the drag moves the view.
    Panning,
}

/// Grabbed body.
#[derive(Clone, Copy, Debug)]
struct HeldBody {
    /// Mouse joint that pulls it.
    joint: JointId,
    /// Slot of the body.
    body: usize,
    /// Point at which it is held, from its centre of mass in its frame, m.
    anchor: Vec2,
}

/// Press of the button that may become a click.
#[derive(Clone, Copy, Debug)]
struct Press {
    /// Place on the screen, px.
    pixel: Vec2,
    /// Place in the world, m.
    at: Vec2,
    /// Maximum movement of a click, px.
    slack: f32,
    /// Number of the frame of the press.
    frame: u64,
}

/// State of the pointer over the world: grab, press, and queries with their last answers.
#[derive(Debug, Default)]
pub(crate) struct Pointer {
    /// Its place, px, while it is over the world.
    pub pixel: Option<Vec2>,
    grab: Grab,
    /// Press that is a click if it ends where it began.
    press: Option<Press>,
    /// Mouse joints of released bodies that are still to be removed.
    parted: Vec<JointId>,
    /// Query for the body under it, with place, px, and step.
    look: Option<(Vec2, u64, Pending)>,
    /// Body found by the last query.
    pub over: Option<Inspection>,
    /// More facts about that body.
    pub about: BodyDetails,
    /// Place of the last query, px.
    over_at: Vec2,
    /// True while that body is still under the pointer.
    pub is_fresh: bool,
    /// Number of the frame.
    frame: u64,
    /// Frame of the last query.
    looked: u64,
    /// Poses on their way, to fit the view to all bodies.
    pub poses: Option<Arrival>,
    /// Explosion that waits for the poses.
    blast: Option<(Explosion, Arrival)>,
    /// Query for a body to remove, with its place, m.
    removal: Option<Pending>,
    /// Number of shots.
    shots: u32,
}

/// Facts about a body that a query does not answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct BodyDetails {
    /// Name of the body in the scene.
    pub name: Option<String>,
    /// Type of the body, such as [`drystone::low_level::types::DYNAMIC`].
    pub kind: u32,
    /// Mass, kg.
    pub mass: f32,
    /// Kinetic and potential energy, J.
    pub energies: [f64; 2],
    /// Shape under the pointer, with its vertices.
    outline: Option<(drystone::low_level::types::ShapeData, Vec<[f32; 2]>)>,
    /// Step of the query.
    step: u64,
}

impl Pointer {
    /// Returns true while a query is not answered or something is grabbed.
    pub fn is_busy(&self) -> bool {
        !matches!(self.grab, Grab::None) || self.awaits() || self.look.is_some()
    }

    /// Returns true while an action waits for an answer.
    pub fn awaits(&self) -> bool {
        let asked = matches!(self.grab, Grab::Wanted(..) | Grab::Asked(..)) || self.removal.is_some();
        asked || self.poses.is_some() || self.blast.is_some() || !self.parted.is_empty()
    }

    /// Returns true while no step may be done, as an action waits for an answer about the present state.
    pub fn stops_time(&self) -> bool {
        self.blast.is_some() || self.removal.is_some()
    }

    /// Returns true while a body is held.
    pub fn holds(&self) -> bool {
        matches!(self.grab, Grab::Holding(..))
    }

    /// Returns true if a press would grab the body under the pointer.
    pub fn can_hold(&self) -> bool {
        let is_near = self.pixel.is_some_and(|pixel| pixel.distance(self.over_at) < STALE);
        is_near && self.over.is_some() && self.about.kind == DYNAMIC && !self.holds() && !self.pans()
    }

    /// Returns true while a press or a drag is under way.
    pub fn is_pulling(&self) -> bool {
        !matches!(self.grab, Grab::None)
    }

    /// Point at which a body is held, in the world, m, by the last answer.
    pub fn held_at(&self) -> Option<Vec2> {
        let Grab::Holding(hold, _) = &self.grab else { return None };
        let over = self.over.filter(|over| over.body == hold.body)?;
        Some(Vec2::from(over.pose.position) + rotate(over.pose.rotation.into(), hold.anchor))
    }

    /// Place at which a body was pressed that is about to be held, m, if the pointer has been dragged away from it.
    pub fn pressed_at(&self) -> Option<Vec2> {
        match self.grab {
            Grab::Found(_, at) if self.press.is_none() => Some(at),
            _ => None,
        }
    }

    /// Returns true while a drag moves the view.
    pub fn pans(&self) -> bool {
        matches!(self.grab, Grab::Panning)
    }

    /// Slot of the body to highlight.
    pub fn highlighted(&self) -> Option<u32> {
        self.over
            .filter(|_| self.pixel.is_some() && self.is_fresh || self.holds())
            .and_then(|over| u32::try_from(over.body).ok())
    }

    /// Answer about the body under the pointer, and the place to show it, px; `None` once the body is elsewhere.
    pub fn told(&self) -> Option<(&Inspection, Vec2)> {
        let pixel = self.pixel?;
        self.over.as_ref().filter(|_| self.is_fresh && !self.holds()).map(|over| (over, pixel))
    }

    /// Updates `is_fresh`: whether the last body is still under the pointer, at this place, m, after `steps` steps of
    /// `dt`, s. That is so if the pointer rests within reach of the body, or is inside it, as it has moved since by its
    /// velocity.
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

/// Makes a change in the first world and its copy.
fn edit_both(
    worker: &mut WorkerHandle,
    twin: &mut Option<WorkerHandle>,
    deed: RecordedEdit,
) -> Result<BuiltParts, String> {
    let away = || "the world is in the middle of a step".to_owned();
    let made = worker.here_mut().ok_or_else(away)?.edit(deed.clone())?;
    worker.learn();
    if let Some(other) = twin {
        // New bodies and joints get the same ids in both.
        other.here_mut().ok_or_else(away)?.edit(deed)?;
        other.learn();
    }
    Ok(made)
}

impl App {
    /// Makes a change in the world, and in its copy if there is one.
    ///
    /// # Errors
    /// The reason, in words. Nothing has changed then.
    pub fn edit(&mut self, deed: impl Into<RecordedEdit>) -> Result<BuiltParts, String> {
        let made = edit_both(&mut self.run, &mut self.twin, deed.into())?;
        self.left.forget_after();
        Ok(made)
    }

    /// Submits a query for a body in the first world.
    ///
    /// # Errors
    /// If the place is too far out.
    pub(super) fn ask(&mut self, wanted: InspectionTarget) -> Result<Pending, WorldError> {
        match self.run.here_mut().map(WorldRun::world_mut) {
            None => Ok(Pending::Done(None)),
            Some(World::Cpu(world)) => ask_cpu(world, wanted),
            Some(World::Gpu(world)) => Ok(self.inspector.ask(&self.context, &DrawInputs::of(world), wanted)),
        }
    }

    /// Submits a query for the body that a place means, m.
    ///
    /// # Errors
    /// If the place is too far out.
    pub fn ask_near(&mut self, at: Vec2) -> Result<Pending, WorldError> {
        self.ask(InspectionTarget::Near(at, self.reach(false)))
    }

    /// Distance up to which a body beside the pointer, or a finger, is meant, m.
    pub(super) fn reach(&self, touched: bool) -> f32 {
        let points = if touched { TOUCH_REACH } else { REACH };
        points * self.points_to_pixels * self.camera.metres_per_pixel
    }

    /// Handles a press of the button or a finger over the world.
    pub fn press(&mut self, pixel: Vec2, touched: bool) {
        let (at, frame) = (self.world_at(pixel), self.pointer.frame);
        self.pointer.grab = Grab::Wanted(at, touched);
        let slack = CLICK * self.points_to_pixels * if touched { 2.0 } else { 1.0 };
        self.pointer.press = Some(Press { pixel, at, slack, frame });
    }

    /// Handles the release: a click selects, and a held body is let go.
    pub fn release(&mut self) {
        let grab = std::mem::take(&mut self.pointer.grab);
        let was_dragged = self.pointer.press.is_none() && matches!(grab, Grab::Holding(..) | Grab::Found(..));
        if let Some(press) = self.pointer.press.take() {
            let meant = match &grab {
                Grab::Found(found, _) => self.run.here_mut().and_then(|run| run.world_mut().body_id(found.body)),
                _ => None,
            };
            let choice = SelectionRequest::Click(press.at, meant);
            // Until a body is held, a press on it that has not moved is a click, as is one on nothing.
            if !matches!(grab, Grab::Holding(..) | Grab::None) {
                self.queue.push(Action::Select(choice));
            }
        }
        if was_dragged && !self.playing && self.owed == 0 && !self.seeks() {
            self.say("paused: a pulled body moves when time runs. Pull it again, and press Space meanwhile");
        }
        if let Grab::Holding(hold, _) = grab {
            self.pointer.parted.push(hold.joint);
        }
        if self.is_settled() {
            self.part();
        }
    }

    /// Removes the mouse joints of released bodies.
    fn part(&mut self) {
        for joint in std::mem::take(&mut self.pointer.parted) {
            if let Err(error) = self.edit(&Edit::Part(joint)) {
                self.say(error);
            }
        }
    }

    /// Handles a movement of the pointer while the button is down.
    pub fn drag(&mut self, pixel: Vec2, moved: Vec2) {
        let at = self.world_at(pixel);
        self.pointer.press = self.pointer.press.filter(|press| press.pixel.distance(pixel) <= press.slack);
        match &mut self.pointer.grab {
            Grab::Holding(_, target) => *target = Some(at),
            Grab::Panning => self.camera.pan(moved),
            _ => {}
        }
    }

    /// Evaluates answers that have arrived, carries out what waits for them, and submits the next queries. Once a
    /// frame; in the middle of a step all of it waits for the end of the step.
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
        if let Some(pending) = &mut self.pointer.removal {
            match pending.poll()? {
                InspectionResult::OnItsWay => {}
                InspectionResult::Nobody => {
                    self.pointer.removal = None;
                    self.remove_selected("there is no body under the pointer");
                }
                InspectionResult::Body(found) => {
                    self.pointer.removal = None;
                    self.take_out(found.body, found.pose.position.into());
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
            self.pointer.grab = match self.ask(InspectionTarget::Near(at, self.reach(touched))) {
                Ok(pending) => Grab::Asked(at, pending),
                Err(_) => Grab::Panning,
            };
        }
        if let Grab::Asked(at, pending) = &mut self.pointer.grab {
            match pending.poll()? {
                InspectionResult::OnItsWay => {}
                InspectionResult::Nobody => self.pointer.grab = Grab::Panning,
                InspectionResult::Body(found) => self.pointer.grab = Grab::Found(found, *at),
            }
        }
        if let Grab::Found(found, at) = self.pointer.grab
            && self.pointer.press.is_none_or(|press| self.pointer.frame > press.frame + LONG_PRESS)
        {
            self.pointer.press = None;
            self.hold(found, at);
        }
        self.look_at_selection()?;
        self.look_at_joints()?;
        self.look_at_overlap()?;
        if let Some((pixel, asked_at, pending)) = &mut self.pointer.look {
            let asked_at = *asked_at;
            let answer = pending.poll()?;
            if answer != InspectionResult::OnItsWay {
                self.pointer.over_at = *pixel;
                self.pointer.look = None;
                self.pointer.over = if let InspectionResult::Body(found) = answer { Some(found) } else { None };
                self.pointer.about = self
                    .pointer
                    .over
                    .map(|over| BodyDetails {
                        energies: self.energies(&over),
                        outline: self.outline(over.shape),
                        step: asked_at,
                        ..self.about(over.body)
                    })
                    .unwrap_or_default();
            }
        }
        // After a movement the next query comes sooner.
        let every = if self.pointer.is_fresh { LOOK_EVERY } else { LOOK_SOON };
        if self.pointer.look.is_none() && self.pointer.frame >= self.pointer.looked + every {
            self.pointer.looked = self.pointer.frame;
            let held = self.pointer.over.filter(|_| self.pointer.holds());
            let wanted = match (held, self.pointer.pixel) {
                (Some(held), _) => u32::try_from(held.body).ok().map(InspectionTarget::Body),
                (None, Some(pixel)) => Some(InspectionTarget::Near(self.world_at(pixel), self.reach(false))),
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

    /// Facts about a body from the tables of the world.
    fn about(&self, body: usize) -> BodyDetails {
        let Some(compiled) = self.run.here().map(|run| run.world().compiled()) else { return BodyDetails::default() };
        let Some(of) = compiled.bodies.get(body) else { return BodyDetails::default() };
        let name = compiled.ids.get(body).and_then(Clone::clone);
        BodyDetails { name, kind: of.kind, mass: compiled.mass[body].mass, ..BodyDetails::default() }
    }

    /// Copy of a shape with its vertices, to test whether it is under the pointer while its world is away.
    pub(super) fn outline(
        &self,
        shape: Option<usize>,
    ) -> Option<(drystone::low_level::types::ShapeData, Vec<[f32; 2]>)> {
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

    /// Grabs a dynamic body that was found at the place of the press, m.
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
                    self.pointer.grab = Grab::Holding(HeldBody { joint, body: found.body, anchor }, None);
                    self.pointer.over = Some(found);
                }
            }
            Err(error) => self.say(error),
        }
    }

    /// Removes the joint or the body at a place, m, by a query for the present state: another body may have been there
    /// a frame ago.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn remove(&mut self, at: Option<Vec2>) -> Result<(), WorldError> {
        let Some(at) = at else {
            self.remove_selected("the pointer is not over the world");
            return Ok(());
        };
        self.release();
        if let Some(joint) = self.joint_at(at)? {
            self.remove_joint(joint);
            return Ok(());
        }
        let pending = self.ask(InspectionTarget::Under(at, self.reach(false)))?;
        self.pointer.removal = Some(pending);
        Ok(())
    }

    /// Removes the selected body or joint; without one, shows the reason why nothing was removed.
    fn remove_selected(&mut self, why: &str) {
        if let Some(joint) = self.build.joint.as_ref().map(|selection| selection.id) {
            return self.remove_joint(joint);
        }
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

    /// Removes bodies, and keeps their descriptions for undo.
    ///
    /// # Errors
    /// The reason, in words. Nothing has changed then.
    pub(super) fn remove_bodies(&mut self, ids: Vec<BodyId>) -> Result<(), String> {
        let run = self.run.here_mut().ok_or("the world is in the middle of a step")?;
        let taken = run.taken(&ids)?;
        self.edit(RecordedEdit::new(Edit::Remove(ids.into()), Meaning::Remove(taken))).map(drop)
    }

    /// Removes a body and shows a message.
    fn take_out(&mut self, body: usize, at: Vec2) {
        let BodyDetails { name, kind, .. } = self.about(body);
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
