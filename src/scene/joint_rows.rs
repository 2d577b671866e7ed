//! From the joints of a scene to the flat arrays of the solver: a joint becomes a list of rows, and joints are sorted
//! by colour.
//!
//! The colouring is done here, once: which bodies a joint ties does not change while it runs. It is that of contacts
//! ([`crate::stages::color`]) in that no two joints of a colour move the same body, but joints are solved in passes of
//! their own before the contacts: then contacts keep the low colours for themselves, the number of passes is the same,
//! and contacts have the last word, so that no joint pulls a body through a wall.

use glam::Vec2;

use super::compile::{MassProperties, soft, u32_from};
use super::{BodyType, Joint, JointKind, Mode, Motor, Scene, Settings, Spring};
use crate::math::{rotate, rotation};
use crate::types::{
    self, JOINT_COLORS, JOINT_DISABLED, JOINT_FIXED_A, JOINT_FIXED_B, JOINT_OVERFLOW, JointRow, JointState, ROW_ACROSS,
    ROW_ALONG, ROW_ANGLE, ROW_AXIS, ROW_BY_MASS, ROW_EQUALITY, ROW_LOWER, ROW_MOTOR, ROW_POINT, ROW_SPRING, ROW_UPPER,
    WORLD_A,
};

/// Stiffness of a joint that is meant to be rigid, Hz; never above a quarter of the substep rate. Box2D.
const RIGID_HERTZ: f32 = 60.0;
/// Its damping. Box2D.
const RIGID_DAMPING_RATIO: f32 = 2.0;
/// A mouse joint that is not told otherwise, Hz. Box2D's samples.
const MOUSE_HERTZ: f32 = 5.0;
/// Likewise.
const MOUSE_DAMPING_RATIO: f32 = 0.7;

/// The joints of a world, laid out for the solver.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Joints {
    /// By colour, within a colour in scene order.
    pub joints: Vec<types::Joint>,
    /// Of all joints, those of a joint side by side, in the order in which they are solved.
    pub rows: Vec<JointRow>,
    /// One a joint, as the scene starts.
    pub states: Vec<JointState>,
    /// Joints of colour `c` are `starts[c] .. starts[c + 1]`; one more than [`JOINT_COLORS`].
    pub starts: Vec<u32>,
    /// Which bodies touch none of which others, because a joint says so: the others of body `i` are
    /// `joined[joined[i]] .. joined[joined[i + 1]]`. Empty if there are none. A joint that breaks changes nothing here.
    pub joined: Vec<u32>,
    /// Names, one a joint, in scene order.
    pub ids: Vec<Option<String>>,
}

impl Joints {
    /// Lays out the joints of a scene that was checked.
    pub(super) fn new(scene: &Scene, masses: &[MassProperties]) -> Self {
        let colors = colors(scene);
        let mut order: Vec<usize> = (0..scene.joints.len()).collect();
        order.sort_by_key(|&index| (colors[index], index));
        let mut starts = vec![0; JOINT_COLORS as usize + 1];
        for &color in &colors {
            starts[color as usize + 1] += 1;
        }
        for color in 0..JOINT_COLORS as usize {
            starts[color + 1] += starts[color];
        }
        let (mut joints, mut rows, mut states) = (Vec::new(), Vec::new(), Vec::new());
        for index in order {
            let first_row = rows.len();
            let (mut joint, state) = lay(scene, masses, &scene.joints[index], &mut rows);
            joint.first_row = u32_from(first_row);
            joint.flags |= u32_from(rows.len() - first_row);
            joint.id = u32_from(index);
            joints.push(joint);
            states.push(state);
        }
        let ids = scene.joints.iter().map(|joint| joint.id.clone()).collect();
        Self { joints, rows, states, starts, joined: joined(scene), ids }
    }
}

/// Pairs of bodies that do not touch: first where the list of each body begins, then the lists.
fn joined(scene: &Scene) -> Vec<u32> {
    let mut pairs: Vec<(usize, usize)> = scene
        .joints
        .iter()
        .filter(|joint| joint.enabled && !joint.collide)
        .filter_map(|joint| joint.a.map(|a| (a, joint.b)))
        .flat_map(|(a, b)| [(a, b), (b, a)])
        .collect();
    if pairs.is_empty() {
        return Vec::new();
    }
    pairs.sort_unstable();
    pairs.dedup();
    let first = scene.bodies.len() + 1;
    let begin = |body: usize| u32_from(first + pairs.partition_point(|&(a, _)| a < body));
    let mut joined: Vec<u32> = (0..first).map(begin).collect();
    joined.extend(pairs.iter().map(|&(_, b)| u32_from(b)));
    joined
}

/// The lowest colour that is free at both bodies, joint by joint.
fn colors(scene: &Scene) -> Vec<u32> {
    let mut taken = vec![0_u32; scene.bodies.len()];
    let moves = |body: usize| scene.bodies[body].kind == BodyType::Dynamic;
    let color_of = |joint: &Joint| {
        let ends = [joint.a, Some(joint.b)].into_iter().flatten().filter(|&body| moves(body));
        let free = !ends.clone().fold(0, |mask, body| mask | taken[body]);
        let color = free.trailing_zeros().min(JOINT_OVERFLOW);
        ends.for_each(|body| taken[body] |= 1 << color);
        color
    };
    scene.joints.iter().map(color_of).collect()
}

/// One joint, without its place in the tables.
fn lay(
    scene: &Scene,
    masses: &[MassProperties],
    joint: &Joint,
    rows: &mut Vec<JointRow>,
) -> (types::Joint, JointState) {
    let moves = |body: usize| scene.bodies[body].kind == BodyType::Dynamic;
    let mut flags = 0;
    for (on, flag) in [
        (joint.a.is_none(), WORLD_A),
        (!joint.a.is_some_and(moves), JOINT_FIXED_A),
        (!moves(joint.b), JOINT_FIXED_B),
        (!joint.enabled, JOINT_DISABLED),
    ] {
        if on {
            flags |= flag;
        }
    }
    // A motor joint holds a place beside A's anchor, a mouse one in the world.
    let anchor_a = match &joint.kind {
        JointKind::Motor { linear_offset, .. } => joint.anchor_a + *linear_offset,
        JointKind::Mouse { target, .. } => *target,
        _ => joint.anchor_a,
    };
    // As the scene starts: the place of an anchor and the angle of a body.
    let place = |body: Option<usize>, anchor: Vec2| match body {
        Some(body) => scene.bodies[body].position + rotate(rotation(scene.bodies[body].angle), anchor),
        None => anchor,
    };
    let angle = |body: Option<usize>| body.map_or(0.0, |body| scene.bodies[body].angle);
    let distance = (place(Some(joint.b), joint.anchor_b) - place(joint.a, anchor_a)).length();
    let turned = angle(Some(joint.b)) - angle(joint.a);
    let reference = match &joint.kind {
        JointKind::Revolute { reference_angle, .. }
        | JointKind::Prismatic { reference_angle, .. }
        | JointKind::Weld { reference_angle, .. } => reference_angle.unwrap_or(turned),
        JointKind::Motor { angular_offset, .. } => *angular_offset,
        _ => turned,
    };
    let axis = match &joint.kind {
        JointKind::Prismatic { axis, .. } | JointKind::Wheel { axis, .. } => *axis,
        _ => Vec2::X,
    };
    lay_rows(&scene.settings, joint, distance, rows);
    let center = |body: usize| masses[body].center;
    let laid = types::Joint {
        body_a: u32_from(joint.a.unwrap_or(joint.b)),
        body_b: u32_from(joint.b),
        first_row: 0,
        flags,
        anchor_a: (anchor_a - joint.a.map_or(Vec2::ZERO, center)).into(),
        anchor_b: (joint.anchor_b - center(joint.b)).into(),
        axis: axis.into(),
        reference_angle: reference,
        id: 0,
        break_force: joint.break_force.unwrap_or(f32::MAX),
        break_torque: joint.break_torque.unwrap_or(f32::MAX),
        pad: [0; 2],
    };
    (laid, JointState { angle: turned - reference, ..JointState::default() })
}

/// Rows in the order in which they are solved: springs, motors and limits first, what must hold last (Box2D).
fn lay_rows(settings: &Settings, joint: &Joint, distance: f32, rows: &mut Vec<JointRow>) {
    let mut laying = Laying { settings, rows };
    let (hertz, damping_ratio) = (joint.hertz, joint.damping_ratio);
    let none = f32::MAX;
    match &joint.kind {
        JointKind::Distance { length, limits, motor } => {
            laying.motor(ROW_ALONG, *motor);
            laying.limits(ROW_ALONG, *limits);
            if hertz.is_some() || (limits.is_none() && motor.is_none()) {
                laying.hold(ROW_ALONG, length.unwrap_or(distance), hertz, damping_ratio, none);
            }
        }
        JointKind::Spring { rest_length, stiffness, damping } => {
            let goal = rest_length.unwrap_or(distance);
            laying.row(ROW_ALONG | ROW_SPRING, goal, none, [*stiffness, *damping, 0.0]);
        }
        JointKind::Revolute { limits, motor, spring, .. } => {
            laying.spring(ROW_ANGLE, *spring);
            laying.motor(ROW_ANGLE, *motor);
            laying.limits(ROW_ANGLE, *limits);
            laying.hold(ROW_POINT, 0.0, hertz, damping_ratio, none);
        }
        JointKind::Prismatic { limits, motor, spring, .. } => {
            laying.spring(ROW_AXIS, *spring);
            laying.motor(ROW_AXIS, *motor);
            laying.limits(ROW_AXIS, *limits);
            laying.hold(ROW_ANGLE, 0.0, hertz, damping_ratio, none);
            laying.hold(ROW_ACROSS, 0.0, hertz, damping_ratio, none);
        }
        JointKind::Wheel { limits, motor, spring, .. } => {
            laying.spring(ROW_AXIS, *spring);
            laying.motor(ROW_ANGLE, *motor);
            laying.limits(ROW_AXIS, *limits);
            laying.hold(ROW_ACROSS, 0.0, hertz, damping_ratio, none);
        }
        JointKind::Weld { angular_hertz, angular_damping_ratio, .. } => {
            let angular = (angular_hertz.or(hertz), angular_damping_ratio.or(damping_ratio));
            laying.hold(ROW_ANGLE, 0.0, angular.0, angular.1, none);
            laying.hold(ROW_POINT, 0.0, hertz, damping_ratio, none);
        }
        JointKind::Motor { max_force, max_torque, .. } => {
            laying.hold(ROW_ANGLE, 0.0, hertz, damping_ratio, *max_torque);
            laying.hold(ROW_POINT, 0.0, hertz, damping_ratio, *max_force);
        }
        JointKind::Mouse { max_force, .. } => {
            let spring = Spring {
                hertz: hertz.unwrap_or(MOUSE_HERTZ),
                damping_ratio: damping_ratio.unwrap_or(MOUSE_DAMPING_RATIO),
                target: 0.0,
            };
            laying.swinging(ROW_POINT, spring, *max_force);
        }
    }
}

struct Laying<'a> {
    settings: &'a Settings,
    rows: &'a mut Vec<JointRow>,
}

impl Laying<'_> {
    fn h(&self) -> f32 {
        #[allow(clippy::cast_precision_loss, reason = "at most 64")]
        let h = self.settings.dt / self.settings.substep_count() as f32;
        h
    }

    /// `max` is a force or a torque.
    fn row(&mut self, kind: u32, goal: f32, max: f32, softness: [f32; 3]) {
        let max_impulse = (max * self.h()).min(f32::MAX);
        self.rows.push(JointRow {
            kind,
            goal,
            max_impulse: if max == f32::MAX { max } else { max_impulse },
            softness,
            ..JointRow::default()
        });
    }

    /// Bias rate, mass scale and impulse scale of what is meant to be rigid.
    fn rigid(&self, hertz: f32, damping_ratio: f32) -> [f32; 3] {
        let h = self.h();
        match self.settings.mode {
            Mode::Soft if self.settings.correct_position => soft(hertz.min(0.25 / h), damping_ratio, h),
            Mode::Baumgarte if self.settings.correct_position => [self.settings.baumgarte / h, 1.0, 0.0],
            _ => [0.0, 1.0, 0.0],
        }
    }

    /// What the joint holds: rigid, or swinging where a lower frequency is given. What has a limited force is a spring in
    /// any case: of a rigid row the relaxing sweep would take back the little speed that so little force gave.
    fn hold(&mut self, geometry: u32, goal: f32, hertz: Option<f32>, damping_ratio: Option<f32>, max: f32) {
        let damping_ratio = damping_ratio.unwrap_or(RIGID_DAMPING_RATIO);
        match hertz {
            _ if max < f32::MAX => {
                let hertz = hertz.unwrap_or(RIGID_HERTZ).min(0.25 / self.h());
                self.swinging(geometry, Spring { hertz, damping_ratio, target: goal }, max);
            }
            Some(hertz) if hertz < RIGID_HERTZ.min(0.25 / self.h()) => {
                self.swinging(geometry, Spring { hertz, damping_ratio, target: goal }, max);
            }
            _ => {
                let softness = self.rigid(RIGID_HERTZ, damping_ratio);
                self.row(geometry | ROW_EQUALITY, goal, max, softness);
            }
        }
    }

    fn swinging(&mut self, geometry: u32, spring: Spring, max: f32) {
        let omega = 2.0 * std::f32::consts::PI * spring.hertz;
        let softness = [omega * omega, 2.0 * spring.damping_ratio * omega, 0.0];
        self.row(geometry | ROW_SPRING | ROW_BY_MASS, spring.target, max, softness);
    }

    fn spring(&mut self, geometry: u32, spring: Option<Spring>) {
        if let Some(spring) = spring {
            self.swinging(geometry, spring, f32::MAX);
        }
    }

    fn motor(&mut self, geometry: u32, motor: Option<Motor>) {
        if let Some(Motor { speed, max }) = motor {
            self.row(geometry | ROW_MOTOR, speed, max, [0.0, 1.0, 0.0]);
        }
    }

    /// Limits that leave nothing free hold.
    fn limits(&mut self, geometry: u32, limits: Option<[f32; 2]>) {
        let softness = self.rigid(RIGID_HERTZ, RIGID_DAMPING_RATIO);
        match limits {
            Some([lower, upper]) if lower < upper => {
                self.row(geometry | ROW_LOWER, lower, f32::MAX, softness);
                self.row(geometry | ROW_UPPER, upper, f32::MAX, softness);
            }
            Some([both, _]) => self.row(geometry | ROW_EQUALITY, both, f32::MAX, softness),
            None => {}
        }
    }
}
