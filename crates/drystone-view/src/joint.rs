//! Joints under the pointer and the selected joint: which one a place means, what it does at the moment, and changes of
//! its settings. A change replaces the joint by another one between the same bodies.

use glam::Vec2;

use super::app::App;
use super::build::Tool;
use super::camera_follow::Poses;
use super::drawing::split;
use super::inspect::{Inspection, InspectionResult, InspectionTarget, distance_to};
use drystone::low_level::gpu::{Arrival, note_read_back};
use drystone::low_level::population::joint_place;
use drystone::low_level::scene::Compiled;
use drystone::low_level::stages::prepare_joints::frame_of;
use drystone::low_level::stages::solve_joints::{Stance, total};
use drystone::low_level::types::{
    BROKEN, BodyData, BodyState, DYNAMIC, JointData, JointRow, JointState, Pose, ROW_COUNT_MASK, ROW_PULLEY, WORLD_A,
};
use drystone::{BodyId, Joint, JointId, JointKind, World, WorldError};
use drystone_draw::{DrawInputs, JointHit, joint_near};

/// Number of bodies above which no joint is looked for under the pointer: reading all poses takes longer than a frame.
const MAX_BODIES: usize = 100_000;
/// Frames between two queries for the joint under the pointer, and for the state of the selected one.
const LOOK_EVERY: u64 = 3;
/// Distance from a joint up to which it goes before a static body behind it, px.
const ON_STATIC: f32 = 3.0;

/// Force, torque, length and angle of a joint after a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct JointReading {
    /// Anchors of A and B, m.
    pub anchors: [Vec2; 2],
    /// Points over which a pulley's rope goes from A to B, m.
    pub ground_points: Option<[Vec2; 2]>,
    /// Force on B in the last substep, N.
    pub force: Vec2,
    /// Torque on B beside that of the force, N·m.
    pub torque: f32,
    /// Position of B along the axis of a slider or wheel, or length of a pulley's rope, m.
    pub travel: f32,
    /// Angle of B against A, less the reference angle, rad.
    pub angle: f32,
    pub broken: bool,
}

impl JointReading {
    /// Distance of the anchors, m.
    pub fn length(&self) -> f32 {
        self.anchors[0].distance(self.anchors[1])
    }
}

/// Tables from which a joint is read.
#[derive(Clone, Debug)]
pub(crate) struct LaidJoint {
    joint: JointData,
    bodies: [BodyData; 2],
    rows: Vec<JointRow>,
    /// Length of a substep, s.
    h: f32,
}

impl LaidJoint {
    fn of(compiled: &Compiled, place: usize) -> Option<Self> {
        let joint = *compiled.joints.joints.get(place)?;
        let body = |slot: u32| compiled.bodies.get(slot as usize).copied();
        let first = joint.first_row as usize;
        let rows = compiled.joints.rows.get(first..first + (joint.flags & ROW_COUNT_MASK) as usize)?.to_vec();
        Some(Self { bodies: [body(joint.body_a)?, body(joint.body_b)?], joint, rows, h: compiled.params.h })
    }

    /// Reads the joint from the poses of its bodies, its state, and the impulses of its rows.
    fn read(&self, poses: [Pose; 2], state: &JointState, impulses: &[[f32; 2]]) -> JointReading {
        let joint = JointData { body_a: 0, body_b: 1, ..self.joint };
        let frame = frame_of(&joint, &self.rows, &self.bodies, &poses, state);
        let rest = BodyState::default();
        let stance = Stance::new(&frame, &rest, &rest);
        let (impulse, spin) = total(&self.rows, impulses, &stance);
        let at_b = Vec2::from(poses[1].position) + Vec2::from(frame.r_b);
        let ground_points = joint.ground_points(&self.rows).map(|points| points.map(Vec2::from));
        let (between, axis) = (Vec2::from(frame.between), Vec2::from(frame.axis));
        let (at_a, travel) = match ground_points {
            Some([over_a, _]) => (over_a + axis, stance.position(ROW_PULLEY)),
            None => (at_b - between, between.dot(axis)),
        };
        JointReading {
            anchors: [at_a, at_b],
            ground_points,
            force: impulse / self.h,
            torque: spin / self.h,
            travel,
            angle: frame.angle,
            broken: state.status & BROKEN != 0,
        }
    }
}

/// Answer to a query for a joint.
#[derive(Clone, Copy, Debug, PartialEq)]
enum JointResult {
    OnItsWay,
    Gone,
    Joint(JointReading),
}

/// Query for a joint that may not be answered yet.
#[derive(Debug)]
pub(crate) enum PendingJoint {
    Done(Option<JointReading>),
    Sent(Box<LaidJoint>, Arrival),
}

impl PendingJoint {
    /// Returns the answer, if it has arrived.
    ///
    /// # Errors
    /// If the device is lost.
    fn poll(&self) -> Result<JointResult, WorldError> {
        let (tables, arrival) = match self {
            Self::Done(reading) => return Ok(reading.map_or(JointResult::Gone, JointResult::Joint)),
            Self::Sent(tables, arrival) => (tables, arrival),
        };
        let Some(bytes) = arrival.take()? else { return Ok(JointResult::OnItsWay) };
        let (poses, rest) = bytes.split_at(2 * size_of::<Pose>());
        let (state, impulses) = rest.split_at(size_of::<JointState>());
        let pose = |at: usize| bytemuck::pod_read_unaligned(&poses[at * size_of::<Pose>()..][..size_of::<Pose>()]);
        let impulses: Vec<[f32; 2]> = impulses.chunks_exact(8).map(bytemuck::pod_read_unaligned).collect();
        Ok(JointResult::Joint(tables.read([pose(0), pose(1)], &bytemuck::pod_read_unaligned(state), &impulses)))
    }
}

/// Joint that was found under the pointer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct HoveredJoint {
    pub id: JointId,
    hit: JointHit,
    /// Place of the pointer, px.
    pixel: Vec2,
    pub reading: Option<JointReading>,
}

/// Joints near the pointer.
#[derive(Debug, Default)]
pub(crate) struct PointedJoints {
    /// The joint that a click would select.
    pub over: Option<HoveredJoint>,
    /// Poses on their way, with the place of the pointer, px.
    poses: Option<(Vec2, Arrival)>,
    /// Query for the joint under the pointer.
    reading: Option<(JointId, PendingJoint)>,
    /// Frame of the last query.
    looked: u64,
}

impl PointedJoints {
    /// Returns true while an answer is awaited.
    pub fn is_busy(&self) -> bool {
        self.poses.is_some() || self.reading.is_some()
    }
}

/// Selected joint.
#[derive(Debug)]
pub(crate) struct JointSelection {
    pub id: JointId,
    /// Description at a step, with the slots of its bodies.
    pub now: Joint,
    /// Its bodies; `None` for the world.
    pub bodies: [Option<BodyId>; 2],
    /// Names of the bodies.
    pub names: [String; 2],
    /// Effective mass of its bodies along a line through their centres, kg; 0 if none of them moves.
    pub mass: f32,
    /// Number of the last change to the world's bodies and joints when the description was read.
    changes: u64,
    look: Option<PendingJoint>,
    looked: u64,
    /// Answer to the last query.
    pub seen: Option<JointReading>,
}

impl JointSelection {
    /// Returns true while an answer is awaited.
    pub fn is_busy(&self) -> bool {
        self.seen.is_none() || self.look.is_some()
    }
}

/// Name of a joint for users.
pub(crate) fn kind_words(joint: &Joint) -> &'static str {
    match &joint.kind {
        JointKind::Distance { motor: Some(_), .. } => "winch",
        JointKind::Distance { limits: Some(_), .. } => "rope",
        JointKind::Distance { .. } => "rod",
        JointKind::Spring { .. } => "spring",
        JointKind::Revolute { .. } => "hinge",
        JointKind::Prismatic { .. } => "slider",
        JointKind::Wheel { .. } => "wheel",
        JointKind::Weld { .. } => "weld",
        JointKind::Motor { .. } => "motor",
        JointKind::Velocity { .. } => "drive",
        JointKind::Gear { .. } => "gear",
        JointKind::Pulley { .. } => "pulley",
        JointKind::Mouse { .. } => "pull",
    }
}

/// Effective mass of two bodies on a line through their centres, kg, by their inverse masses, 1/kg; 0 if both are
/// fixed.
pub(crate) fn effective_mass(inverse: [f32; 2]) -> f32 {
    let sum = inverse[0] + inverse[1];
    if sum > 0.0 { 1.0 / sum } else { 0.0 }
}

/// Stiffness, N/m, and damping, N·s/m, of a spring with a frequency, Hz, and a damping ratio on a mass, kg.
pub(crate) fn spring_constants(mass: f32, hertz: f32, ratio: f32) -> [f32; 2] {
    let rate = std::f32::consts::TAU * hertz;
    [mass * rate * rate, 2.0 * ratio * mass * rate]
}

/// Frequency, Hz, and damping ratio of a spring with a stiffness, N/m, and a damping, N·s/m, on a mass, kg.
pub(crate) fn spring_swing(mass: f32, stiffness: f32, damping: f32) -> Option<[f32; 2]> {
    let rate = (stiffness / mass).sqrt();
    (mass > 0.0 && rate > 0.0).then(|| [rate / std::f32::consts::TAU, damping / (2.0 * mass * rate)])
}

/// Returns true if a place means a joint and not the body there. `body` is its type and its distance, px, 0 or less
/// inside.
fn is_meant(hit: JointHit, body: Option<(u32, f32)>) -> bool {
    match body {
        None => true,
        Some((_, away)) if away > 0.0 => hit.distance <= away,
        // A body is taken by its inside; a hinge in it by the sign.
        Some((DYNAMIC, _)) => hit.is_on_sign,
        Some(_) => hit.distance <= ON_STATIC,
    }
}

impl App {
    /// Returns true if joints are drawn and can be pointed at.
    fn has_joints(&self) -> bool {
        self.layers.joints && self.facts().joints > 0 && self.facts().bodies <= MAX_BODIES
    }

    /// Joint that is drawn nearest to a pixel, within reach, when bodies are at these poses.
    fn joint_hit(&self, pixel: Vec2, poses: &[Pose]) -> Option<(JointId, JointHit)> {
        let run = self.run.here()?;
        let compiled = run.world().compiled();
        let states = match run.world() {
            World::Cpu(world) => world.world_tables().joint_states,
            World::Gpu(_) => Vec::new(),
        };
        let mut layers = self.layers;
        layers.line_scale = self.points_to_pixels;
        let cameras = split(&self.camera, self.worlds());
        let camera = cameras.iter().rev().find(|camera| pixel.x >= camera.origin.x).or(cameras.first())?;
        let reach = self.reach(false) / self.camera.metres_per_pixel;
        let hit = joint_near(camera, &layers, compiled, &states, poses, pixel, reach).ok().flatten()?;
        let index = compiled.joints.joints.get(hit.place)?.id;
        Some((run.world().joint_id(index as usize)?, hit))
    }

    /// Type of a body that was found at a place, m, and its distance from there, px.
    fn body_near(&self, found: &Inspection, at: Vec2) -> Option<(u32, f32)> {
        let kind = self.run.here()?.world().compiled().bodies.get(found.body)?.kind;
        let (shape, vertices) = self.outline(found.shape)?;
        Some((kind, distance_to(&shape, &vertices, &found.pose, at) / self.camera.metres_per_pixel))
    }

    /// Poses of all bodies. Waits for the device.
    fn poses_now(&self) -> Result<Option<Vec<Pose>>, WorldError> {
        match self.poses() {
            None => Ok(None),
            Some(Poses::Here(poses)) => Ok(Some(poses)),
            Some(Poses::Coming(arrival)) => loop {
                if let Some(bytes) = arrival.take()? {
                    return Ok(Some(drystone::low_level::gpu::cast(&bytes)));
                }
                self.context.wait()?;
            },
        }
    }

    /// Joint that a place means, m, if it does not mean a body. Waits for the device.
    ///
    /// # Errors
    /// If the device is lost.
    pub(super) fn joint_at(&mut self, at: Vec2) -> Result<Option<JointId>, WorldError> {
        if !self.has_joints() {
            return Ok(None);
        }
        let Some(poses) = self.poses_now()? else { return Ok(None) };
        let Some(camera) = split(&self.camera, self.worlds()).first().copied() else { return Ok(None) };
        let Some((id, hit)) = self.joint_hit(camera.to_pixel(at), &poses) else { return Ok(None) };
        let mut pending = self.ask(InspectionTarget::Under(at, self.reach(false)))?;
        let body = loop {
            match pending.poll()? {
                InspectionResult::OnItsWay => self.context.wait()?,
                InspectionResult::Nobody => break None,
                InspectionResult::Body(found) => break self.body_near(&found, at),
            }
        };
        let is_broken = self.reading_now(id)?.is_none_or(|reading| reading.broken);
        Ok(Some(id).filter(|_| is_meant(hit, body) && !is_broken))
    }

    /// Submits a query for the state of a joint.
    fn ask_joint(&self, id: JointId) -> PendingJoint {
        let Some(run) = self.run.here() else { return PendingJoint::Done(None) };
        let compiled = run.world().compiled();
        let place = joint_place(compiled, id);
        let Some((place, tables)) = place.and_then(|place| Some((place, LaidJoint::of(compiled, place)?))) else {
            return PendingJoint::Done(None);
        };
        let (a, b, first) = (tables.joint.body_a, tables.joint.body_b, tables.joint.first_row as usize);
        match run.world() {
            World::Cpu(world) => {
                let all = world.world_tables();
                let pose = |slot: u32| world.poses().get(slot as usize).copied().unwrap_or_default();
                let impulses = all.joint_impulses.get(first..first + tables.rows.len()).unwrap_or_default();
                let state = all.joint_states.get(place).copied().unwrap_or_default();
                PendingJoint::Done(Some(tables.read([pose(a), pose(b)], &state, impulses)))
            }
            World::Gpu(world) => {
                let inputs = DrawInputs::of(world);
                let Some(from) = inputs.tables.as_ref() else { return PendingJoint::Done(None) };
                let (pose, state) = (size_of::<Pose>() as u64, size_of::<JointState>() as u64);
                let impulses = 8 * tables.rows.len() as u64;
                let bytes = 2 * pose + state + impulses;
                let device = self.context.device();
                let found = device.create_buffer(&wgpu::BufferDescriptor {
                    label: Some("joint"),
                    size: bytes,
                    usage: wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST,
                    mapped_at_creation: false,
                });
                let mut encoder =
                    device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("joint") });
                let mut to = 0;
                for (buffer, at, size) in [
                    (inputs.poses, u64::from(a) * pose, pose),
                    (inputs.poses, u64::from(b) * pose, pose),
                    (from.joint_states, place as u64 * state, state),
                    (from.joint_impulses, 8 * first as u64, impulses),
                ] {
                    if size > 0 {
                        encoder.copy_buffer_to_buffer(buffer, at, &found, to, size);
                    }
                    to += size;
                }
                let arrival = Arrival::send(device, &mut encoder, &found, bytes, None);
                note_read_back(&self.context, 1, bytes);
                self.context.queue().submit([encoder.finish()]);
                PendingJoint::Sent(Box::new(tables), arrival)
            }
        }
    }

    /// Present state of a joint. Waits for the device.
    fn reading_now(&self, id: JointId) -> Result<Option<JointReading>, WorldError> {
        let pending = self.ask_joint(id);
        loop {
            match pending.poll()? {
                JointResult::OnItsWay => self.context.wait()?,
                JointResult::Gone => return Ok(None),
                JointResult::Joint(reading) => return Ok(Some(reading)),
            }
        }
    }

    /// Looks for the joint under the pointer, and updates the selected one. Once a frame, all worlds being settled.
    ///
    /// # Errors
    /// If the device is lost.
    pub(super) fn look_at_joints(&mut self) -> Result<(), WorldError> {
        self.look_at_selected_joint()?;
        let pixel = self.pointer.pixel.filter(|_| self.build.tool == Tool::Move && !self.pointer.is_pulling());
        let Some(pixel) = pixel.filter(|_| self.has_joints()) else {
            self.joints = PointedJoints { looked: self.joints.looked, ..PointedJoints::default() };
            return Ok(());
        };
        if let Some((id, pending)) = &self.joints.reading {
            let (id, answer) = (*id, pending.poll()?);
            if answer != JointResult::OnItsWay {
                self.joints.reading = None;
            }
            match (&mut self.joints.over, answer) {
                (_, JointResult::OnItsWay) => {}
                (Some(over), JointResult::Joint(reading)) if over.id == id && !reading.broken => {
                    over.reading = Some(reading);
                }
                (Some(over), _) if over.id == id => self.joints.over = None,
                _ => {}
            }
        }
        if let Some((asked_at, arrival)) = &self.joints.poses
            && let Some(bytes) = arrival.take()?
        {
            let asked_at = *asked_at;
            self.joints.poses = None;
            self.find_joint(asked_at, &drystone::low_level::gpu::cast::<Pose>(&bytes));
        }
        if self.joints.poses.is_none() && self.frames >= self.joints.looked + LOOK_EVERY {
            self.joints.looked = self.frames;
            match self.poses() {
                Some(Poses::Here(poses)) => self.find_joint(pixel, &poses),
                Some(Poses::Coming(arrival)) => self.joints.poses = Some((pixel, arrival)),
                None => {}
            }
        }
        Ok(())
    }

    /// Notes the joint that a pixel means when bodies are at these poses.
    fn find_joint(&mut self, pixel: Vec2, poses: &[Pose]) {
        let at = self.world_at(pixel);
        let body = self.pointer.over.filter(|_| self.pointer.is_fresh).and_then(|over| self.body_near(&over, at));
        let found = self.joint_hit(pixel, poses).filter(|&(_, hit)| is_meant(hit, body));
        let Some((id, hit)) = found else {
            self.joints.over = None;
            return;
        };
        let reading = self.joints.over.filter(|over| over.id == id).and_then(|over| over.reading);
        self.joints.over = Some(HoveredJoint { id, hit, pixel, reading });
        if self.joints.reading.is_none() {
            self.joints.reading = Some((id, self.ask_joint(id)));
        }
    }

    /// The joint under the pointer with its place on the screen, px, if the pointer is still there.
    pub(super) fn told_joint(&self) -> Option<(&HoveredJoint, Vec2)> {
        let pixel = self.pointer.pixel?;
        let reach = self.reach(false) / self.camera.metres_per_pixel;
        self.joints.over.as_ref().filter(|over| over.pixel.distance(pixel) < reach).map(|over| (over, pixel))
    }

    /// Updates the state of the selected joint by queries, and its description after changes.
    fn look_at_selected_joint(&mut self) -> Result<(), WorldError> {
        let frames = self.frames;
        let Some(selection) = &mut self.build.joint else { return Ok(()) };
        let Some(run) = self.run.here_mut() else { return Ok(()) };
        if selection.changes != run.changes() {
            // It may have been replaced, removed or restored.
            let id = run.joint_now(selection.id);
            let seen = selection.seen;
            self.build.joint = None;
            self.take_in_joint(id);
            if let Some(selection) = &mut self.build.joint {
                selection.seen = seen;
            }
            return Ok(());
        }
        if let Some(pending) = &selection.look {
            let answer = pending.poll()?;
            if answer != JointResult::OnItsWay {
                selection.look = None;
            }
            match answer {
                JointResult::Joint(reading) if !reading.broken => selection.seen = Some(reading),
                JointResult::OnItsWay => {}
                _ => {
                    self.build.joint = None;
                    self.say("the selected joint is gone or broken");
                }
            }
        } else if selection.seen.is_none() || frames >= selection.looked + LOOK_EVERY {
            selection.looked = frames;
            let id = selection.id;
            let pending = self.ask_joint(id);
            if let Some(selection) = &mut self.build.joint {
                selection.look = Some(pending);
            }
        }
        Ok(())
    }

    /// Selects a joint.
    pub(super) fn select_joint(&mut self, id: JointId) {
        self.build.selection = None;
        self.build.joint = None;
        self.take_in_joint(id);
    }

    /// Reads the description of a joint and makes it the selected one.
    fn take_in_joint(&mut self, id: JointId) {
        let Some(run) = self.run.here_mut() else { return };
        match run.joint(id) {
            Ok(Some(now)) => {
                let changes = run.changes();
                let bodies = [now.a.and_then(|slot| run.world().body_id(slot)), run.world().body_id(now.b)];
                let compiled = run.world().compiled();
                let inverse = |slot: Option<usize>| {
                    slot.and_then(|slot| compiled.bodies.get(slot)).map_or(0.0, |body| body.inv_mass)
                };
                let mass = effective_mass([inverse(now.a), inverse(Some(now.b))]);
                let names = [now.a, Some(now.b)].map(|slot| self.body_name(slot));
                let selection =
                    JointSelection { id, now, bodies, names, mass, changes, look: None, looked: 0, seen: None };
                self.build.joint = Some(selection);
            }
            Ok(None) => self.build.joint = None,
            Err(error) => self.say(format!("joint {}: {error}", id.index)),
        }
    }

    /// Name of the body in a slot, `None` for the world.
    pub(super) fn body_name(&self, slot: Option<usize>) -> String {
        let Some(slot) = slot else { return "the world".to_owned() };
        let compiled = self.run.here().map(|run| run.world().compiled());
        let name = compiled.and_then(|compiled| compiled.ids.get(slot).cloned().flatten());
        name.unwrap_or_else(|| format!("body {slot}"))
    }

    /// Lines of the hover text about a joint.
    pub(super) fn joint_lines(&self, over: &HoveredJoint) -> Vec<String> {
        let amount = super::panel::amount;
        let Some(compiled) = self.run.here().map(|run| run.world().compiled()) else { return Vec::new() };
        let Some(tables) = joint_place(compiled, over.id).and_then(|place| LaidJoint::of(compiled, place)) else {
            return Vec::new();
        };
        let JointData { body_a, body_b, flags, .. } = tables.joint;
        let name = compiled.joints.ids.get(over.id.index as usize).cloned().flatten();
        let kind = match tables.joint.kind_name() {
            "distance" => "rod",
            "revolute" => "hinge",
            "prismatic" => "slider",
            "mouse" => "pull",
            "velocity" => "drive",
            kind => kind,
        };
        let a = (flags & WORLD_A == 0).then_some(body_a as usize);
        let mut lines = vec![match name {
            Some(name) => format!("{name}  ({kind})"),
            None => format!("{kind}, joint {}", over.id.index),
        }];
        lines.push(format!("between {} and {}", self.body_name(a), self.body_name(Some(body_b as usize))));
        if let Some(reading) = &over.reading {
            lines.push(format!("force {} N, torque {} N·m", amount(reading.force.length()), amount(reading.torque)));
            lines.push(measure(kind, reading));
        }
        let inverse = [a, Some(body_b as usize)]
            .map(|slot| slot.and_then(|slot| compiled.bodies.get(slot)).map_or(0.0, |body| body.inv_mass));
        let mass = effective_mass(inverse);
        let swing = tables.rows.first().filter(|_| kind == "spring");
        if let Some([hertz, ratio]) = swing.and_then(|row| spring_swing(mass, row.softness[0], row.softness[1])) {
            lines.push(format!("swings at {} Hz, damping ratio {}", amount(hertz), amount(ratio)));
        }
        lines
    }

    /// Gives the selected joint other settings; `what` names the one that was changed.
    pub(super) fn change_joint(&mut self, what: &'static str, joint: &Joint) {
        let Some(selection) = &self.build.joint else { return self.say("no joint is selected: click one") };
        let id = selection.id;
        let made = match self.run.here_mut() {
            Some(run) => run.change_joint(id, what, joint),
            None => Err("the world is in the middle of a step".to_owned()),
        };
        if self.follow_result(made) {
            self.follow_changed_joint(id, joint);
        }
    }

    /// Says the number of a joint that was made again with other settings, if it is another one: a new joint has the
    /// lowest free number.
    fn follow_changed_joint(&mut self, id: JointId, joint: &Joint) {
        let now = self.run.here().map_or(id, |run| run.resolve_joint(id));
        if now.index != id.index {
            let kind = kind_words(joint);
            let (old, new) = (id.index, now.index);
            self.say(format!(
                "{kind} {old} is {kind} {new} now: a changed joint is made again, with the lowest free number"
            ));
        }
    }

    /// Removes a joint, and says which.
    pub(super) fn remove_joint(&mut self, id: JointId) {
        let Some(run) = self.run.here_mut() else { return };
        match run.joint(id) {
            Ok(Some(joint)) => match run.remove_joint(id) {
                Ok(deed) => {
                    self.follow_new_deed(deed);
                    let [a, b] = [joint.a, Some(joint.b)].map(|slot| self.body_name(slot));
                    self.say(format!("removed the {} between {a} and {b} · Z brings it back", kind_words(&joint)));
                    self.build.joint = None;
                    self.joints = PointedJoints::default();
                }
                Err(error) => self.say(format!("the joint was not removed: {error}")),
            },
            Ok(None) => self.say("the joint is gone: nothing was removed"),
            Err(error) => self.say(format!("the joint was not removed: {error}")),
        }
    }
}

/// Text with the length, travel or angle of a joint.
pub(crate) fn measure(kind: &str, reading: &JointReading) -> String {
    let amount = super::panel::amount;
    let angle = reading.angle.to_degrees();
    let angle = amount(if angle.abs() < 0.005 { 0.0 } else { angle });
    match kind {
        "rod" | "rope" | "winch" | "spring" | "pull" => format!("length {} m", amount(reading.length())),
        "slider" => format!("travel {} m", amount(reading.travel)),
        "pulley" => format!("rope {} m", amount(reading.travel)),
        "wheel" => format!("travel {} m, angle {angle}°", amount(reading.travel)),
        "motor" => format!("offset {} m, angle {angle}°", amount(reading.length())),
        _ => format!("angle {angle}°"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use drystone::low_level::types::{KINEMATIC, STATIC};

    #[test]
    fn a_place_means_a_joint_if_no_body_is_nearer() {
        let hit = |distance: f32, is_on_sign: bool| JointHit { place: 0, distance, is_on_sign };
        assert!(is_meant(hit(7.0, false), None));
        assert!(is_meant(hit(3.0, false), Some((DYNAMIC, 3.5))) && !is_meant(hit(3.0, false), Some((DYNAMIC, 2.0))));
        // Inside a body its own inside counts, and the sign of a hinge.
        assert!(!is_meant(hit(0.0, false), Some((DYNAMIC, -4.0))) && is_meant(hit(0.0, true), Some((DYNAMIC, -4.0))));
        for fixed in [STATIC, KINEMATIC] {
            assert!(is_meant(hit(1.0, false), Some((fixed, 0.0))) && !is_meant(hit(6.0, false), Some((fixed, 0.0))));
        }
    }

    /// Stiffness and damping follow from the equation of a swing: a mass of 3 kg at 2 Hz, by hand 473.7 N/m.
    #[test]
    fn springs_have_both_kinds_of_constants() {
        let [stiffness, damping] = spring_constants(3.0, 2.0, 0.25);
        assert!((stiffness - 473.741).abs() < 0.01 && (damping - 18.8496).abs() < 1e-3, "{stiffness} {damping}");
        let [hertz, ratio] = spring_swing(3.0, stiffness, damping).unwrap();
        assert!((hertz - 2.0).abs() < 1e-5 && (ratio - 0.25).abs() < 1e-5);
        assert_eq!((spring_swing(0.0, 10.0, 1.0), spring_swing(1.0, 0.0, 1.0)), (None, None));
        assert_eq!([effective_mass([0.5, 0.0]), effective_mass([0.5, 0.5]), effective_mass([0.0; 2])], [2.0, 1.0, 0.0]);
    }
}
