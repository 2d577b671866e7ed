//! Views of a state between two steps: bodies and joint reactions for reports, a hash for replay, and the metrics by
//! which two runs are compared.

use glam::Vec2;
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use crate::constants::MAX_SHORT_POSITION;
pub use crate::constants::REST_SPEED;
use crate::hash::Fnv;
use crate::math::{cross_scalar, right_perp};
use crate::population::JointId;
use crate::scene::{Compiled, JointTable, MassProperties};
use crate::snapshot::{JointGoal, Snapshot};
use crate::stages::collide::manifold;
use crate::stages::prepare::friction;
use crate::stages::prepare_joints::{first_rows, frame_of};
use crate::stages::solve_joints::{Stance, rows_of, stiffness, total};
use crate::types::{
    ASLEEP, BROKEN, BodyState, Contact, DYNAMIC, FIXED_A, FIXED_B, JOINT_DISABLED, JOINT_VACANT, JointData, JointFrame,
    JointRow, JointState, Manifold, POINT_COUNT_MASK, Params, Pose, QUARANTINED, ROW_ANGLE, ROW_EQUALITY, ROW_GEOMETRY,
    ROW_LOWER, ROW_POINT, ROW_RANGED, ROW_ROLE, ROW_SPRING, ROW_UPPER, VACANT, join_position, split_position,
};

/// State of a body for reports, by the origin of its frame, not by its centre of mass.
///
/// It is written with its fields as keys, `asleep` only if it is true. A position is one of 32 bits up to 1,024 m from
/// (0, 0), and further out a double, rounded to 1 µm.
#[derive(Clone, Debug, PartialEq)]
pub struct ReportedBody {
    /// Name, if the scene gives one.
    pub id: Option<String>,
    /// Origin of the body's frame, m.
    pub position: [f32; 2],
    /// Vector from there to the origin, m: what a 32-bit position far from (0, 0) rounds away.
    pub position_low: [f32; 2],
    /// Angle, rad, in (−π, π].
    pub angle: f32,
    /// Velocity of the centre of mass, m/s.
    pub velocity: [f32; 2],
    /// Angular velocity, rad/s.
    pub angular_velocity: f32,
    /// True if the body is dynamic and sleeps.
    pub asleep: bool,
}

impl Serialize for ReportedBody {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { id, position, position_low, angle, velocity, angular_velocity, asleep } = self;
        let mut fields = serializer.serialize_struct("ReportedBody", 5 + usize::from(*asleep))?;
        fields.serialize_field("id", id)?;
        if Vec2::from(*position).abs().max_element() <= MAX_SHORT_POSITION {
            fields.serialize_field("position", position)?;
        } else {
            let place = join_position([*position, *position_low].map(Vec2::from));
            fields.serialize_field("position", &((place * 1e6).round() / 1e6).to_array())?;
        }
        fields.serialize_field("angle", angle)?;
        fields.serialize_field("velocity", velocity)?;
        fields.serialize_field("angular_velocity", angular_velocity)?;
        if *asleep {
            fields.serialize_field("asleep", asleep)?;
        }
        fields.end()
    }
}

/// Returns true if a body is dynamic and sleeps.
#[must_use]
pub fn is_asleep(compiled: &Compiled, snapshot: &Snapshot, body: usize) -> bool {
    let is_dynamic = compiled.bodies.get(body).is_some_and(|body| body.kind == DYNAMIC);
    is_dynamic && snapshot.states.get(body).is_some_and(|state| state.status & ASLEEP != 0)
}

/// Returns all bodies in the order of their slots, without vacant slots.
#[must_use]
pub fn body_states(compiled: &Compiled, snapshot: &Snapshot) -> Vec<ReportedBody> {
    body_slots(compiled, snapshot).into_iter().flatten().collect()
}

/// Returns the body of each slot, `None` for vacant slots.
#[must_use]
pub fn body_slots(compiled: &Compiled, snapshot: &Snapshot) -> Vec<Option<ReportedBody>> {
    (0..snapshot.poses.len()).map(|slot| body_slot(compiled, snapshot, slot)).collect()
}

/// Returns the body in a slot; none if the slot is vacant, or beyond the last.
#[must_use]
pub fn body_slot(compiled: &Compiled, snapshot: &Snapshot, slot: usize) -> Option<ReportedBody> {
    let (pose, state) = (snapshot.poses.get(slot)?, snapshot.states.get(slot)?);
    let turn = Vec2::from(pose.rotation);
    let [position, position_low] = split_position(pose.origin(compiled.mass[slot].center)).map(Into::into);
    (compiled.bodies[slot].kind != VACANT).then(|| ReportedBody {
        id: compiled.ids[slot].clone(),
        position,
        position_low,
        angle: turn.y.atan2(turn.x),
        velocity: state.velocity,
        angular_velocity: state.angular_velocity,
        asleep: is_asleep(compiled, snapshot, slot),
    })
}

/// Returns a hash of poses, velocities, quarantine flags and joint states (FNV-1a over their bits). Equal runs have
/// equal hashes.
#[must_use]
pub fn hash(snapshot: &Snapshot) -> u64 {
    hash_of(&snapshot.poses, &snapshot.states, &snapshot.joint_states, &snapshot.joint_impulses)
}

pub(crate) fn hash_of(
    poses: &[Pose],
    states: &[BodyState],
    joint_states: &[JointState],
    joint_impulses: &[[f32; 2]],
) -> u64 {
    let mut hash = Fnv::START;
    for (pose, BodyState { velocity, angular_velocity, status, .. }) in poses.iter().zip(states) {
        let Pose { position, rotation, low, .. } = pose;
        for &value in position.iter().chain(rotation).chain(low).chain(velocity).chain([angular_velocity]) {
            hash = hash.word(value.to_bits());
        }
        hash = hash.word(*status);
    }
    // The turns of gears are left out: they are those of the poses a step ago.
    for JointState { angle, status, .. } in joint_states {
        hash = hash.word(angle.to_bits()).word(*status);
    }
    for value in joint_impulses.iter().flatten() {
        hash = hash.word(value.to_bits());
    }
    hash.0
}

/// Force, torque and angle of a joint in the last substep.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JointReaction {
    /// Id of the joint.
    #[serde(skip)]
    pub joint: JointId,
    /// Name, if the scene gives one.
    pub id: Option<String>,
    /// Force on body B at its anchor, N; on A it is the opposite. A pulley pulls A along its own side of the rope, with
    /// this force over the ratio.
    pub force: [f32; 2],
    /// Torque on body B beside that of the force, N·m.
    pub torque: f32,
    /// From the anchor of A to that of B, world axes, m. Of a pulley, from B's ground point to the anchor of B.
    pub between: [f32; 2],
    /// Angle of B against A, less the reference angle, full turns counted, rad.
    pub angle: f32,
    /// True if the joint broke. It no longer acts.
    pub broken: bool,
}

/// Returns all joints in the order of their indices, without removed ones.
#[must_use]
pub fn joint_reactions(compiled: &Compiled, snapshot: &Snapshot) -> Vec<JointReaction> {
    let JointTable { joints, rows, ids, .. } = &compiled.joints;
    let mut reactions: Vec<_> = joints
        .iter()
        .zip(&snapshot.joint_states)
        .zip(&snapshot.joint_goals)
        .filter(|((joint, _), _)| joint.flags & JOINT_VACANT == 0)
        .map(|((joint, state), goal)| {
            let JointGoal { anchor_a, reference_angle, .. } = *goal;
            let joint = JointData { anchor_a, reference_angle, ..*joint };
            let (frame, stance) = stand(compiled, snapshot, &joint, state);
            let own = rows_of(&frame);
            let (impulse, spin) = total(&rows[own.clone()], &snapshot.joint_impulses[own], &stance);
            JointReaction {
                joint: JointId { index: joint.id, generation: joint.generation },
                id: ids[joint.id as usize].clone(),
                force: (impulse / compiled.params.h).into(),
                torque: spin / compiled.params.h,
                between: frame.between,
                angle: frame.angle,
                broken: state.status & BROKEN != 0,
            }
        })
        .collect();
    reactions.sort_by_key(|reaction| reaction.joint);
    reactions
}

/// Returns a joint's frame and coordinates at the poses of a snapshot.
fn stand(compiled: &Compiled, snapshot: &Snapshot, joint: &JointData, state: &JointState) -> (JointFrame, Stance) {
    let rows = &compiled.joints.rows[first_rows(joint)];
    let frame = frame_of(joint, rows, &compiled.bodies, &snapshot.poses, state);
    let rest = BodyState::default();
    (frame, Stance::new(&frame, &rest, &rest))
}

/// Quality and energy of a state, measured from the state alone, so that any two engines can be compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Metrics {
    /// Deepest overlap of two shapes, m, measured at the final poses.
    pub max_penetration: f64,
    /// Mean penetration of overlapping contact points, m.
    pub mean_penetration: f64,
    /// Kinetic energy, J.
    pub kinetic_energy: f64,
    /// Potential energy in gravity, zero at the origin, and in force fields, zero in their cores, J. That of springs is
    /// [`Self::elastic_energy`].
    pub potential_energy: f64,
    /// Momentum, kg·m/s.
    pub momentum: [f64; 2],
    /// Angular momentum about the origin, kg·m²/s.
    pub angular_momentum: f64,
    /// Speed of the fastest dynamic body, m/s.
    pub max_speed: f64,
    /// Upward impulse of fixed bodies in the last substep, divided by the impulse of the weight, less 1. 0 at rest.
    /// `None` without gravity or mass.
    pub ground_impulse_ratio: Option<f64>,
    /// Largest violation of complementarity, m/s: normal speed of a contact with an impulse, or approach speed of one
    /// without.
    pub complementarity: f64,
    /// Largest friction impulse beyond the friction cone, N·s.
    pub cone_violation: f64,
    /// Descent of the dynamic body that began highest, m.
    pub top_sink: f64,
    /// Sideways motion of the dynamic body that began highest, m.
    pub top_lean: f64,
    /// Largest error of a joint's position, m: of its anchors, or beyond a limit. Joints that are switched off or
    /// broken do not count, nor do springs and motors, which hold nothing.
    pub joint_error: f64,
    /// Largest error of a joint's angle, rad, counted as [`Self::joint_error`].
    pub joint_angle_error: f64,
    /// Energy of the springs of joints, J: spring joints, suspensions, hinges with a spring, soft rods and welds, motor
    /// and mouse joints. Rigid joints and contacts store none. Zero for springs at rest length.
    pub elastic_energy: f64,
    /// Kinetic, potential and elastic energy together, J.
    pub total_energy: f64,
}

/// Returns the speed of the fastest dynamic body, m/s ([`Metrics::max_speed`]).
#[must_use]
pub fn max_speed(compiled: &Compiled, states: impl Iterator<Item = BodyState>) -> f64 {
    let dynamic = compiled.bodies.iter().zip(states).filter(|(body, _)| body.kind == DYNAMIC);
    dynamic.map(|(_, state)| Vec2::from(state.velocity).as_dvec2().length()).fold(0.0, f64::max)
}

/// Returns the largest errors of a position and of an angle ([`Metrics::joint_error`]).
fn joint_errors(compiled: &Compiled, snapshot: &Snapshot) -> [f64; 2] {
    let mut worst = [0.0_f64; 2];
    for (joint, state) in compiled.joints.joints.iter().zip(&snapshot.joint_states) {
        let lost = |body: u32| snapshot.states[body as usize].status & QUARANTINED != 0;
        let off = joint.flags & (JOINT_DISABLED | JOINT_VACANT) != 0 || state.status & BROKEN != 0;
        if off || lost(joint.body_a) || lost(joint.body_b) {
            continue;
        }
        let (frame, stance) = stand(compiled, snapshot, joint, state);
        for rule in &compiled.joints.rows[rows_of(&frame)] {
            let geometry = rule.kind & ROW_GEOMETRY;
            let beyond = |position: f32| position - rule.goal;
            let error = match rule.kind & ROW_ROLE {
                ROW_EQUALITY if geometry == ROW_POINT => stance.between.length(),
                ROW_EQUALITY => beyond(stance.position(geometry)).abs(),
                ROW_LOWER => -beyond(stance.position(geometry)),
                ROW_UPPER => beyond(stance.position(geometry)),
                _ => 0.0,
            };
            let kind = usize::from(geometry == ROW_ANGLE);
            worst[kind] = worst[kind].max(f64::from(error));
        }
    }
    worst
}

/// Returns kinetic and potential energy of a dynamic body, J.
#[must_use]
pub fn body_energies(
    params: &Params,
    mass: &MassProperties,
    gravity_scale: f32,
    pose: &Pose,
    state: &BodyState,
) -> [f64; 2] {
    let (inertia, mass) = (f64::from(mass.inertia), f64::from(mass.mass));
    let at = pose.center();
    let spin = f64::from(state.angular_velocity);
    let kinetic = 0.5 * (mass * Vec2::from(state.velocity).as_dvec2().length_squared() + inertia * spin * spin);
    let mut potential = -mass * f64::from(gravity_scale) * Vec2::from(params.gravity).as_dvec2().dot(at);
    if mass > 0.0 {
        for field in &params.fields[..params.field_count as usize] {
            let beyond = (Vec2::from(field.position).as_dvec2().distance(at) - f64::from(field.core)).max(0.0);
            potential += (f64::from(field.force) + mass * f64::from(field.acceleration)) * beyond;
        }
    }
    [kinetic, potential]
}

/// Returns the energy in the springs of joints, J ([`Metrics::elastic_energy`]).
fn elastic_energy(compiled: &Compiled, snapshot: &Snapshot) -> f64 {
    let JointTable { joints, rows, .. } = &compiled.joints;
    let mut energy = 0.0;
    for ((joint, state), goal) in joints.iter().zip(&snapshot.joint_states).zip(&snapshot.joint_goals) {
        let lost = |body: u32| snapshot.states[body as usize].status & QUARANTINED != 0;
        let off = (joint.flags | goal.flags) & (JOINT_DISABLED | JOINT_VACANT) != 0 || state.status & BROKEN != 0;
        if off || lost(joint.body_a) || lost(joint.body_b) {
            continue;
        }
        // A joint added to a running world on a device has its length measured there, not here.
        let joint = JointData { anchor_a: goal.anchor_a, reference_angle: goal.reference_angle, ..*joint };
        let (frame, stance) = stand(compiled, snapshot, &joint, state);
        for row in rows_of(&frame) {
            let goal = snapshot.row_goals[row];
            let rule = JointRow { goal: goal.goal, max_impulse: goal.max_impulse, ..rows[row] };
            if rule.kind & ROW_ROLE != ROW_SPRING {
                continue;
            }
            let drawn = match rule.kind & ROW_GEOMETRY {
                ROW_POINT => stance.between.length(),
                geometry => stance.position(geometry) - rule.goal,
            };
            let stiffness = stiffness(&compiled.params, &frame, &rule, &stance);
            let least = if rule.kind & ROW_RANGED == 0 { -rule.max_impulse } else { rule.softness[2] };
            let range = [least, rule.max_impulse].map(|impulse| f64::from(impulse) / f64::from(compiled.params.h));
            energy += stored(f64::from(stiffness), f64::from(drawn), range);
        }
    }
    energy
}

/// Returns the work to stretch a spring by `drawn`, J, if its force is limited to a range; positive pushes.
fn stored(stiffness: f64, drawn: f64, [low, high]: [f64; 2]) -> f64 {
    if stiffness <= 0.0 {
        return 0.0;
    }
    let work = |drawn: f64| {
        let force = (-stiffness * drawn).clamp(low, high);
        // Beyond the place where the limit begins the force is constant.
        -force * (drawn + 0.5 * force / stiffness)
    };
    work(drawn) - work(0.0)
}

/// Kinetic and potential energy and that of springs, J, as in [`Metrics`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Energies {
    /// Kinetic energy.
    pub kinetic: f64,
    /// Potential energy in gravity and force fields.
    pub potential: f64,
    /// Energy of the springs of joints.
    pub elastic: f64,
}

/// Returns the energies of a world between two steps. Cheaper than [`metrics`], which measures overlaps too.
#[must_use]
pub fn energies(compiled: &Compiled, snapshot: &Snapshot) -> Energies {
    let mut energies = Energies { elastic: elastic_energy(compiled, snapshot), ..Energies::default() };
    let bodies = compiled.bodies.iter().zip(&compiled.mass).zip(snapshot.poses.iter().zip(&snapshot.states));
    for ((body, mass), (pose, state)) in bodies.filter(|((body, _), _)| body.kind == DYNAMIC) {
        let [kinetic, potential] = body_energies(&compiled.params, mass, body.gravity_scale, pose, state);
        energies.kinetic += kinetic;
        energies.potential += potential;
    }
    energies
}

/// Contact point of two bodies in the last substep.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReportedContact {
    /// Slots of bodies A and B.
    pub bodies: [u32; 2],
    /// Names of bodies A and B, if the scene gives them.
    pub ids: [Option<String>; 2],
    /// Number of the point in its manifold, 0 or 1.
    pub point: u32,
    /// Contact point in the world, m.
    pub position: [f32; 2],
    /// Unit vector from A to B.
    pub normal: [f32; 2],
    /// Separation when the step began, m. Negative is overlap.
    pub separation: f32,
    /// Impulse on B along the normal in the last substep, and by the impacts of the step, N·s.
    pub normal_impulse: f32,
    /// Impulse on B along the tangent, the normal turned clockwise, in the last substep, and by the impacts of the
    /// step, N·s.
    pub tangent_impulse: f32,
    /// These impulses on B divided by the time of a substep, N; on A it is the opposite.
    pub force: [f32; 2],
}

/// Returns all contact points, also those of sleeping bodies, with their forces. Bodies with two points have two.
#[must_use]
pub fn contact_points(compiled: &Compiled, snapshot: &Snapshot) -> Vec<ReportedContact> {
    let awake = snapshot.contacts.iter().zip(&snapshot.manifolds);
    let asleep = snapshot.sleeping.iter().map(|archived| (&archived.contact, &archived.manifold));
    let mut found = Vec::new();
    for (contact, manifold) in awake.chain(asleep) {
        let bodies = [contact.body_a, contact.body_b];
        let normal = Vec2::from(manifold.normal);
        let count = (contact.flags & POINT_COUNT_MASK) as usize;
        for (number, point) in (0..).zip(manifold.points.iter().take(count)) {
            let place = Vec2::from(snapshot.poses[contact.body_a as usize].position) + Vec2::from(point.anchor_a);
            let impulse = normal * point.normal_impulse + right_perp(normal) * point.tangent_impulse;
            found.push(ReportedContact {
                bodies,
                ids: bodies.map(|body| compiled.ids[body as usize].clone()),
                point: number,
                position: place.into(),
                normal: manifold.normal,
                separation: point.separation,
                normal_impulse: point.normal_impulse,
                tangent_impulse: point.tangent_impulse,
                force: (impulse / compiled.params.h).into(),
            });
        }
    }
    found
}

/// Measures a world between two steps.
#[must_use]
pub fn metrics(compiled: &Compiled, snapshot: &Snapshot) -> Metrics {
    let mut metrics = Metrics::default();
    let weight = measure_bodies(compiled, snapshot, &mut metrics);
    let support = measure_contacts(compiled, snapshot, &mut metrics);
    if weight > 0.0 {
        metrics.ground_impulse_ratio = Some(support / (weight * f64::from(compiled.params.h)) - 1.0);
    }
    measure_top(compiled, snapshot, &mut metrics);
    [metrics.joint_error, metrics.joint_angle_error] = joint_errors(compiled, snapshot);
    metrics.elastic_energy = elastic_energy(compiled, snapshot);
    metrics.total_energy = metrics.kinetic_energy + metrics.potential_energy + metrics.elastic_energy;
    metrics
}

/// Measures energies, momenta and the highest speed. Returns the weight of all dynamic bodies, N.
fn measure_bodies(compiled: &Compiled, snapshot: &Snapshot, metrics: &mut Metrics) -> f64 {
    let gravity = Vec2::from(compiled.params.gravity).as_dvec2();
    let mut weight = 0.0;
    for (index, body) in compiled.bodies.iter().enumerate() {
        if body.kind != DYNAMIC {
            continue;
        }
        let (pose, state) = (&snapshot.poses[index], &snapshot.states[index]);
        let [kinetic, potential] =
            body_energies(&compiled.params, &compiled.mass[index], body.gravity_scale, pose, state);
        metrics.kinetic_energy += kinetic;
        metrics.potential_energy += potential;
        let mass = f64::from(compiled.mass[index].mass);
        let inertia = f64::from(compiled.mass[index].inertia);
        let at = pose.center();
        let velocity = Vec2::from(state.velocity).as_dvec2();
        let spin = f64::from(state.angular_velocity);
        let scale = f64::from(body.gravity_scale);
        metrics.momentum[0] += mass * velocity.x;
        metrics.momentum[1] += mass * velocity.y;
        metrics.angular_momentum += inertia * spin + mass * at.perp_dot(velocity);
        metrics.max_speed = metrics.max_speed.max(velocity.length());
        weight += mass * scale * gravity.length();
    }
    weight
}

/// Measures penetrations and residuals. Returns the sum of the upward impulses of fixed bodies on dynamic ones, N·s.
fn measure_contacts(compiled: &Compiled, snapshot: &Snapshot, metrics: &mut Metrics) -> f64 {
    let gravity = Vec2::from(compiled.params.gravity).as_dvec2();
    let (mut overlaps, mut overlap_sum, mut support) = (0_u32, 0.0, 0.0);
    let up = if gravity.length() > 0.0 { -gravity / gravity.length() } else { glam::DVec2::ZERO };
    // Archived contacts of sleeping bodies touch and carry load as before. In the step in which the bodies fall asleep
    // they are still in the step's table as well.
    let sleeps = |body: u32| snapshot.states.get(body as usize).is_some_and(|state| state.status & ASLEEP != 0);
    let now = snapshot.contacts.iter().zip(&snapshot.manifolds);
    let awake = now.filter(|(contact, _)| !sleeps(contact.body_a) || !sleeps(contact.body_b));
    let archived = snapshot.sleeping.iter().map(|archived| (&archived.contact, &archived.manifold));
    for (contact, made) in awake.chain(archived) {
        if contact.flags & POINT_COUNT_MASK == 0 {
            continue;
        }
        for depth in depths(compiled, snapshot, contact).into_iter().filter(|&depth| depth > 0.0) {
            overlaps += 1;
            overlap_sum += depth;
            metrics.max_penetration = metrics.max_penetration.max(depth);
        }
        residuals(compiled, snapshot, contact, made, metrics);
        // Impulses act on B along the normal and on A against it.
        let on_dynamic = match contact.flags & (FIXED_A | FIXED_B) {
            FIXED_A => 1.0,
            FIXED_B => -1.0,
            _ => continue,
        };
        let normal = Vec2::from(made.normal);
        for point in &made.points[..(contact.flags & POINT_COUNT_MASK) as usize] {
            let impulse = normal * point.normal_impulse + right_perp(normal) * point.tangent_impulse;
            support += on_dynamic * up.dot(impulse.as_dvec2());
        }
    }
    if overlaps > 0 {
        metrics.mean_penetration = overlap_sum / f64::from(overlaps);
    }
    support
}

/// Measures how far the dynamic body that was the highest at the start has sunk, and gone aside.
fn measure_top(compiled: &Compiled, snapshot: &Snapshot, metrics: &mut Metrics) {
    let top = (0..compiled.bodies.len())
        .filter(|&index| compiled.bodies[index].kind == DYNAMIC)
        .max_by(|&a, &b| compiled.poses[a].position[1].total_cmp(&compiled.poses[b].position[1]));
    if let Some(top) = top {
        let moved = Vec2::from(snapshot.poses[top].position) - Vec2::from(compiled.poses[top].position);
        metrics.top_sink = -f64::from(moved.y);
        metrics.top_lean = f64::from(moved.x.abs());
    }
}

/// Returns the penetration of each point of a newly computed manifold, m.
fn depths(compiled: &Compiled, snapshot: &Snapshot, contact: &Contact) -> Vec<f64> {
    let fresh = manifold(
        &compiled.shapes[contact.shape_a as usize],
        &compiled.shapes[contact.shape_b as usize],
        &compiled.vertices,
        &snapshot.poses[contact.body_a as usize],
        &snapshot.poses[contact.body_b as usize],
        compiled.params.speculative_distance,
        compiled.params.linear_slop,
    );
    fresh.points[..fresh.count as usize].iter().map(|point| -f64::from(point.separation)).collect()
}

fn residuals(compiled: &Compiled, snapshot: &Snapshot, contact: &Contact, made: &Manifold, metrics: &mut Metrics) {
    let state_a = &snapshot.states[contact.body_a as usize];
    let state_b = &snapshot.states[contact.body_b as usize];
    let [shape_a, shape_b] = [contact.shape_a, contact.shape_b].map(|shape| &compiled.shapes[shape as usize]);
    let friction = friction(&compiled.params, shape_a, shape_b);
    let normal = Vec2::from(made.normal);
    for point in &made.points[..(contact.flags & POINT_COUNT_MASK) as usize] {
        let velocity_a = Vec2::from(state_a.velocity) + cross_scalar(state_a.angular_velocity, point.anchor_a.into());
        let velocity_b = Vec2::from(state_b.velocity) + cross_scalar(state_b.angular_velocity, point.anchor_b.into());
        let approach = f64::from((velocity_b - velocity_a).dot(normal));
        let residual = if point.normal_impulse > 0.0 {
            approach.abs()
        } else if point.separation <= 0.0 {
            (-approach).max(0.0)
        } else {
            0.0
        };
        metrics.complementarity = metrics.complementarity.max(residual);
        let beyond = f64::from(point.tangent_impulse.abs() - friction * point.normal_impulse);
        metrics.cone_violation = metrics.cone_violation.max(beyond);
    }
}
