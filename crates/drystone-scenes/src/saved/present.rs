//! Converts a saved world to a scene of its present state, for export as a scene file.

use std::f32::consts::TAU;

use glam::Vec2;

use super::{SavedWorld, SavedWorldError};
use drystone::JointId;
use drystone::Snapshot;
use drystone::low_level::math::{rotate, rotation};
use drystone::low_level::population::{Models, Population, joint_place};
use drystone::low_level::scene::Compiled;
use drystone::low_level::snapshot::{Force, JointGoal, RowGoal, check_snapshot};
use drystone::low_level::state::{ReportedBody, body_slot, body_slots};
use drystone::low_level::types::{
    self, BROKEN, JOINT_DISABLED, JOINT_FRESH, ROW_ALONG, ROW_ANGLE, ROW_AXIS, ROW_COUNT_MASK, ROW_EQUALITY,
    ROW_GEOMETRY, ROW_LOWER, ROW_MEASURE, ROW_MOTOR, ROW_ROLE, ROW_SPRING, ROW_UPPER, VACANT, split_position,
};
use drystone::{Body, Joint, JointKind, Path, Scene};
use drystone::{World, WorldError};

impl SavedWorld {
    /// Converts the world to a scene that starts at the saved moment: existing bodies with their positions and
    /// velocities; joints with their present lengths, speeds and targets; gravity; batches that emitters have not made
    /// yet, and commands with a time that have not acted yet. Contacts start without impulses, so the motion continues
    /// much the same but not to the same bits.
    ///
    /// Omits broken joints and the pull of a user's mouse (a mouse joint added by an edit). Bodies made by emitters
    /// become permanent. Velocities and impulses commanded since the last step are included; a target of that time is
    /// lost.
    ///
    /// # Errors
    /// The sections are inconsistent, or a body's position is not finite or out of a scene's range.
    pub fn to_scene(&self) -> Result<Scene, SavedWorldError> {
        let Relived { compiled, population, models, snapshot, steps } = self.relive()?;
        let now = Now { compiled: &compiled, snapshot: &snapshot };
        let (bodies, places) = now.bodies(&models, steps);
        let angle = |slot: usize| places.get(slot).copied().flatten().map_or(0.0, |place| bodies[place].angle);
        let joints = now.joints(&models.joints, |slot| places.get(slot).copied().flatten(), angle, |_| true);
        let place = |slot: usize| {
            let id = population.id(&compiled, slot)?;
            places.get(slot).copied().flatten().filter(|_| id.generation == 0)
        };
        let joint_place =
            |index: usize| joints.iter().position(|(id, _)| id.index as usize == index && id.generation == 0);
        let timeline = population.timeline_left(&compiled, steps, place, joint_place);
        let joints = joints.into_iter().map(|(_, joint)| joint).collect();
        let scene = Scene {
            name: self.scene.name.clone(),
            gravity: compiled.params.gravity.into(),
            settings: self.scene.settings,
            materials: self.scene.materials.clone(),
            material_pairs: self.scene.material_pairs.clone(),
            bodies,
            joints,
            view: self.scene.view,
            fields: self.scene.fields.clone(),
            emitters: population.emitters_left(&compiled, &self.scene.emitters, steps),
            timeline,
            contact_rule: self.scene.contact_rule.clone(),
        };
        scene.check().map_err(WorldError::from)?;
        Ok(scene)
    }

    /// Returns the present body in a slot, and its joints; `None` if the slot is empty.
    ///
    /// # Errors
    /// The sections are inconsistent.
    pub fn present(&self, slot: usize) -> Result<Option<Present>, SavedWorldError> {
        let Relived { compiled, models, snapshot, .. } = self.relive()?;
        let now = Now { compiled: &compiled, snapshot: &snapshot };
        let reports = body_slots(&compiled, &snapshot);
        let there = |slot: usize| reports.get(slot).and_then(Option::as_ref);
        let (Some(report), Some(model)) = (there(slot), models.bodies.get(slot).and_then(Option::as_ref)) else {
            return Ok(None);
        };
        // The world's time continues, so the phase of its path stays.
        let body = now.body(slot, report.clone(), model, 0);
        let angle = |other: usize| if other == slot { body.angle } else { there(other).map_or(0.0, |body| body.angle) };
        let holds = |joint: &Joint| joint.a == Some(slot) || joint.b == slot;
        let joints = now.joints(&models.joints, |slot| there(slot).map(|_| slot), angle, holds);
        Ok(Some(Present { body, joints }))
    }

    /// Rebuilds the tables of the world as saved, and the descriptions of their contents.
    pub(super) fn relive(&self) -> Result<Relived, SavedWorldError> {
        let mut compiled = Compiled::new(&self.scene).map_err(WorldError::from)?;
        let steps = Snapshot::step_of(&self.state)?;
        let mut population = Population::new(&compiled);
        population.keep_models(&compiled, &self.scene);
        // With timed commands the fingerprint is that of the start, which is known before the journal is replayed.
        let starts = if compiled.has_timeline() {
            Snapshot::from_bytes(&self.state, compiled.fingerprint())?.timed_starts
        } else {
            Vec::new()
        };
        population.relive(&mut compiled, &self.journal, steps, &starts)?;
        let snapshot = Snapshot::from_bytes(&self.state, compiled.fingerprint())?;
        check_snapshot(&snapshot, &compiled, Some(&population)).map_err(WorldError::from)?;
        let models = population.take_models().unwrap_or_default();
        Ok(Relived { compiled, population, models, snapshot, steps })
    }
}

/// The present state of a body, with its joints; joints refer to bodies by slot.
#[derive(Clone, Debug)]
pub struct Present {
    /// The body with its present position and velocity.
    pub body: Body,
    /// Joints of the body, with their ids.
    pub joints: Vec<(JointId, Joint)>,
}

/// Original description of a joint, with bodies by slot, and true if an edit added it.
pub type JointModel = (JointId, Joint, bool);

impl Present {
    /// Returns the present bodies in slots of a running world, each with its joints. `models` are the bodies' original
    /// descriptions, `joints` those of all joints of these bodies. Of other bodies, only the angles are read.
    ///
    /// # Errors
    /// The device is lost.
    pub fn of(world: &mut World, models: &[(usize, Body)], joints: &[JointModel]) -> Result<Vec<Self>, WorldError> {
        let snapshot = world.snapshot()?;
        let compiled = world.compiled();
        let now = Now { compiled, snapshot: &snapshot };
        let is_there = |slot: usize| compiled.bodies.get(slot).is_some_and(|body| body.kind != VACANT);
        let angle_of = |slot: usize| {
            let [cos, sin] = snapshot.poses.get(slot).map_or([1.0, 0.0], |pose| pose.rotation);
            sin.atan2(cos)
        };
        let present = |(slot, model): &(usize, Body)| {
            let slot = *slot;
            let body = now.body(slot, body_slot(compiled, &snapshot, slot)?, model, 0);
            let angle = |other: usize| if other == slot { body.angle } else { angle_of(other) };
            let holds = |joint: &Joint| joint.a == Some(slot) || joint.b == slot;
            let joints = now.joints(joints, |other| is_there(other).then_some(other), angle, holds);
            Some(Self { body, joints })
        };
        Ok(models.iter().filter_map(present).collect())
    }
}

/// Tables of a saved world.
pub(super) struct Relived {
    pub compiled: Compiled,
    population: Population,
    models: Box<Models>,
    pub snapshot: Snapshot,
    steps: u64,
}

struct Now<'a> {
    compiled: &'a Compiled,
    snapshot: &'a Snapshot,
}

impl Now<'_> {
    /// Returns the present bodies, and their indices by slot.
    fn bodies(&self, models: &Models, steps: u64) -> (Vec<Body>, Vec<Option<usize>>) {
        let slots = body_slots(self.compiled, self.snapshot);
        let mut bodies = Vec::new();
        let mut places = vec![None; slots.len()];
        for (slot, report) in slots.into_iter().enumerate() {
            let model = models.bodies.get(slot).and_then(Option::as_ref);
            if let (Some(report), Some(model)) = (report, model) {
                let index = bodies.len();
                places[slot] = Some(index);
                let mut body = self.body(slot, report, model, steps);
                // Its colour follows its index, which is another where bodies before it are gone.
                body.color_index = body.color_index.or_else(|| u32::try_from(slot).ok().filter(|_| slot != index));
                bodies.push(body);
            }
        }
        (bodies, places)
    }

    fn body(&self, slot: usize, report: ReportedBody, model: &Body, steps: u64) -> Body {
        let (compiled, snapshot) = (self.compiled, self.snapshot);
        debug_assert_ne!(compiled.bodies[slot].kind, VACANT);
        let mut body = Body { id: report.id, ..model.clone() };
        if let Some(path) = model.path {
            // Its path depends on the world's time, which starts at 0 again.
            let swing = f64::from(path.rate) * f64::from(compiled.params.dt) * steps as f64;
            #[allow(clippy::cast_possible_truncation, reason = "rounded to f32 on purpose")]
            let phase = (f64::from(path.phase) + swing).rem_euclid(std::f64::consts::TAU) as f32;
            body.path = Some(Path { phase, ..path });
        } else {
            let pose = snapshot.poses[slot];
            // A body that has not moved keeps its exact numbers.
            if pose != compiled.poses[slot] {
                body.position = report.position.into();
                body.position_low = report.position_low.into();
                body.angle = report.angle;
            }
            body.velocity = report.velocity.into();
            body.angular_velocity = report.angular_velocity;
        }
        let force = snapshot.forces[slot];
        if force != Force::of(&compiled.bodies[slot]) {
            body.force = force.force.into();
            body.force_point = Some(Vec2::from(force.point) + compiled.mass[slot].center);
            body.torque = force.torque;
        }
        self.push(slot, &mut body);
        body
    }

    /// Applies the commands since the last step to a body: velocities, impulses, forces and positions.
    fn push(&self, slot: usize, body: &mut Body) {
        let mass = &self.compiled.mass[slot];
        let own = |command: &&types::CommandData| !command.is_for_joint() && command.body as usize == slot;
        for command in self.snapshot.commands.iter().filter(own) {
            let (value, other) = (Vec2::from(command.value), Vec2::from(command.other));
            match command.kind {
                types::COMMAND_VELOCITY => body.velocity = value,
                types::COMMAND_ANGULAR_VELOCITY => body.angular_velocity = value.x,
                types::COMMAND_IMPULSE if mass.mass > 0.0 => {
                    body.velocity += value / mass.mass;
                    if mass.inertia > 0.0 {
                        body.angular_velocity += rotate(rotation(body.angle), other).perp_dot(value) / mass.inertia;
                    }
                }
                types::COMMAND_ANGULAR_IMPULSE if mass.inertia > 0.0 => body.angular_velocity += value.x / mass.inertia,
                types::COMMAND_FORCE => (body.force, body.force_point) = (value, Some(other + mass.center)),
                types::COMMAND_TORQUE => body.torque = value.x,
                types::COMMAND_TELEPORT => {
                    [body.position, body.position_low] = split_position(command.pose().origin(mass.center));
                    body.angle = other.y.atan2(other.x);
                }
                _ => {}
            }
        }
    }

    /// Returns the existing joints that the filter accepts, between bodies by slot and at the given angles.
    fn joints(
        &self,
        models: &[JointModel],
        place_of: impl Fn(usize) -> Option<usize>,
        angle_of: impl Fn(usize) -> f32,
        is_wanted: impl Fn(&Joint) -> bool,
    ) -> Vec<(JointId, Joint)> {
        let mut joints = Vec::new();
        for (id, model, by_hand) in models {
            let Some(place) = joint_place(self.compiled, *id) else { continue };
            let is_broken = self.snapshot.joint_states[place].status & BROKEN != 0;
            let is_pull = *by_hand && matches!(model.kind, JointKind::Mouse { .. });
            if is_broken || is_pull || !is_wanted(model) {
                continue;
            }
            let (Some(b), Ok(a)) = (place_of(model.b), model.a.map(|a| place_of(a).ok_or(())).transpose()) else {
                continue;
            };
            let turned = angle_of(model.b) - model.a.map_or(0.0, &angle_of);
            let name = self.compiled.joints.ids.get(id.index as usize).cloned().flatten();
            joints.push((*id, Joint { a, b, id: name, ..self.joint(place, model, turned) }));
        }
        joints
    }

    /// Returns a joint with its present lengths and commanded targets. `turned` is the angle of B relative to A.
    fn joint(&self, place: usize, model: &Joint, turned: f32) -> Joint {
        let (laid, goal) = (&self.compiled.joints.joints[place], &self.snapshot.joint_goals[place]);
        let mut joint = Joint { enabled: goal.flags & JOINT_DISABLED == 0, ..model.clone() };
        let rows = self.rows(laid);
        let h = self.compiled.params.h;
        let goal_of = |wanted: &dyn Fn(u32) -> bool| {
            let found = rows.iter().rev().find(|(kind, ..)| wanted(*kind));
            found.map(|(_, _, now)| now.goal).filter(|_| found.is_none_or(|(.., now)| now.kind & ROW_MEASURE == 0))
        };
        let role = |role: u32| move |kind: u32| kind & ROW_ROLE == role;
        let is_held =
            |kind: u32| kind & ROW_GEOMETRY == ROW_ALONG && matches!(kind & ROW_ROLE, ROW_EQUALITY | ROW_SPRING);
        let reference = self.reference(goal, place, turned);
        let motor = |motor: &mut Option<drystone::Motor>| {
            let row = rows.iter().find(|(kind, ..)| kind & ROW_ROLE == ROW_MOTOR);
            if let (Some(motor), Some((_, laid, now))) = (motor, row)
                && laid != now
            {
                motor.speed = now.goal;
                motor.max = if now.max_impulse < f32::MAX { now.max_impulse / h } else { f32::MAX };
            }
        };
        let limits = |limits: &mut Option<[f32; 2]>| {
            if let (Some(limits), Some(lower), Some(upper)) =
                (limits, goal_of(&role(ROW_LOWER)), goal_of(&role(ROW_UPPER)))
            {
                *limits = [lower, upper];
            }
        };
        let spring = |spring: &mut Option<drystone::Spring>, geometry: u32| {
            let first =
                rows.first().filter(|(kind, ..)| kind & ROW_ROLE == ROW_SPRING && kind & ROW_GEOMETRY == geometry);
            if let (Some(spring), Some((.., now))) = (spring, first) {
                spring.target = now.goal;
            }
        };
        match &mut joint.kind {
            JointKind::Distance { length, limits: range, motor: drive } => {
                *length = goal_of(&is_held).or(*length);
                limits(range);
                motor(drive);
            }
            JointKind::Spring { rest_length, .. } => *rest_length = goal_of(&is_held).or(*rest_length),
            JointKind::Revolute { reference_angle, limits: range, motor: drive, spring: pull } => {
                *reference_angle = reference.or(*reference_angle);
                limits(range);
                motor(drive);
                spring(pull, ROW_ANGLE);
            }
            JointKind::Prismatic { reference_angle, limits: range, motor: drive, spring: pull, .. } => {
                *reference_angle = reference.or(*reference_angle);
                limits(range);
                motor(drive);
                spring(pull, ROW_AXIS);
            }
            JointKind::Wheel { limits: range, motor: drive, spring: pull, .. } => {
                limits(range);
                motor(drive);
                spring(pull, ROW_AXIS);
            }
            JointKind::Weld { reference_angle, .. } => *reference_angle = reference.or(*reference_angle),
            JointKind::Motor { linear_offset, angular_offset, .. } => {
                if goal.anchor_a != laid.anchor_a {
                    #[allow(clippy::cast_possible_truncation, reason = "joints are counted in u32")]
                    let base = self.compiled.joints.base(place as u32);
                    *linear_offset = Vec2::from(goal.anchor_a) - base;
                }
                *angular_offset = reference.unwrap_or(*angular_offset);
            }
            JointKind::Velocity { axis, velocity, angular_velocity, .. } => {
                if let [(_, laid_spin, spin), (_, laid, now)] = rows[..]
                    && [laid_spin, laid] != [spin, now]
                {
                    *angular_velocity = spin.goal;
                    *velocity = axis.map_or(Vec2::new(now.goal, now.goal_y), |axis| axis * now.goal);
                }
            }
            JointKind::Gear { .. } => {}
            JointKind::Pulley { length, .. } => *length = goal_of(&role(ROW_UPPER)).or(*length),
            JointKind::Mouse { target, .. } => {
                if goal.anchor_a != laid.anchor_a {
                    *target = goal.anchor_a.into();
                }
            }
        }
        joint
    }

    /// Returns the reference angle, if it is known. A scene counts full turns from the angles of its bodies, which have
    /// none, so the reference includes them.
    fn reference(&self, goal: &JointGoal, place: usize, turned: f32) -> Option<f32> {
        if goal.flags & JOINT_FRESH != 0 {
            return None;
        }
        let turns = ((turned - goal.reference_angle - self.snapshot.joint_states[place].angle) / TAU).round();
        Some(goal.reference_angle + turns * TAU)
    }

    /// Returns the rows of a joint: their kinds, their original goals and their present goals.
    fn rows(&self, joint: &types::JointData) -> Vec<(u32, RowGoal, RowGoal)> {
        let first = joint.first_row as usize;
        let rows = first..first + (joint.flags & ROW_COUNT_MASK) as usize;
        let laid = &self.compiled.joints.rows[rows.clone()];
        let told = &self.snapshot.row_goals[rows];
        laid.iter().zip(told).map(|(laid, told)| (laid.kind, RowGoal::of(laid), *told)).collect()
    }
}
