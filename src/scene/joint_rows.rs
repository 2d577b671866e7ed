//! A joint of a scene as rows of the solver: each row holds, limits, drives or pulls one coordinate.

use glam::Vec2;

use super::compile::params::soft;
use super::{Joint, JointKind, Mode, Motor, Settings, Spring, Units};
use crate::constants::{MAX_HERTZ_SHARE, MAX_SWING, MOUSE_DAMPING_RATIO, MOUSE_HERTZ, RIGID_DAMPING_RATIO};
use crate::types::{
    self, DISENGAGED, JOINT_APART, JOINT_DISABLED, JOINT_FIXED_A, JOINT_FIXED_B, JOINT_FRESH, JOINT_TYPE_SHIFT,
    JointRow, JointState, ROW_ACROSS, ROW_ALONG, ROW_ANGLE, ROW_AXIS, ROW_BY_MASS, ROW_EQUALITY, ROW_LOWER,
    ROW_MEASURE, ROW_MOTOR, ROW_POINT, ROW_PULLEY, ROW_RANGED, ROW_SPRING, ROW_UPPER, WORLD_A, u32_from,
};

/// The two bodies of a joint, as far as its rows depend on them.
pub(super) struct JointEnds {
    /// True for A and B if the body is dynamic.
    pub moves: [bool; 2],
    /// Centres of mass of A and B, in their frames, m.
    pub centers: [Vec2; 2],
    /// Positions of the bodies at the start; `None` in a running world, where they are measured on the device.
    pub start: Option<InitialPoses>,
}

/// Relative position of two bodies when a scene starts.
pub(super) struct InitialPoses {
    /// Distance of the anchors, m; length of a pulley's rope.
    pub distance: f32,
    /// Angle of B against A, rad.
    pub turned: f32,
}

impl Joint {
    /// Returns the anchor on A that the rows use: a motor joint's with its offset, a mouse joint's target in the world.
    pub(super) fn anchor_on_a(&self) -> Vec2 {
        match &self.kind {
            JointKind::Motor { linear_offset, .. } => self.anchor_a + *linear_offset,
            JointKind::Mouse { target, .. } => *target,
            _ => self.anchor_a,
        }
    }
}

/// Returns a joint and its state, without its slot in the tables, and appends its rows.
pub(super) fn build_joint(
    settings: &Settings,
    units: &Units,
    joint: &Joint,
    ends: &JointEnds,
    rows: &mut Vec<JointRow>,
) -> (types::JointData, JointState) {
    let mut flags = joint.kind.number() << JOINT_TYPE_SHIFT;
    let given = match &joint.kind {
        JointKind::Revolute { reference_angle, .. }
        | JointKind::Prismatic { reference_angle, .. }
        | JointKind::Weld { reference_angle, .. } => *reference_angle,
        JointKind::Motor { angular_offset, .. } => Some(*angular_offset),
        // Its angle is counted from where it engages.
        JointKind::Gear { .. } => Some(0.0),
        _ => None,
    };
    for (on, flag) in [
        (joint.a.is_none(), WORLD_A),
        (!ends.moves[0], JOINT_FIXED_A),
        (!ends.moves[1], JOINT_FIXED_B),
        (!joint.enabled, JOINT_DISABLED),
        (joint.a.is_some() && !joint.collide, JOINT_APART),
        (ends.start.is_none() && given.is_none(), JOINT_FRESH),
    ] {
        if on {
            flags |= flag;
        }
    }
    let turned = ends.start.as_ref().map(|start| start.turned);
    let reference = given.or(turned).unwrap_or(0.0);
    let axis = match &joint.kind {
        JointKind::Prismatic { axis, .. }
        | JointKind::Wheel { axis, .. }
        | JointKind::Velocity { axis: Some(axis), .. } => *axis,
        JointKind::Pulley { ground_a, .. } => *ground_a,
        _ => Vec2::X,
    };
    let ratio = match joint.kind {
        JointKind::Gear { ratio } | JointKind::Pulley { ratio, .. } => ratio,
        _ => 1.0,
    };
    push_rows(settings, units, joint, ends.start.as_ref().map(|start| start.distance), rows);
    let laid = types::JointData {
        body_a: u32_from(joint.a.unwrap_or(joint.b)),
        body_b: u32_from(joint.b),
        first_row: 0,
        flags,
        anchor_a: (joint.anchor_on_a() - ends.centers[0]).into(),
        anchor_b: (joint.anchor_b - ends.centers[1]).into(),
        axis: axis.into(),
        reference_angle: reference,
        id: 0,
        break_force: joint.break_force.unwrap_or(f32::MAX),
        break_torque: joint.break_torque.unwrap_or(f32::MAX),
        generation: 0,
        ratio,
    };
    // Full turns are counted from the start of a scene; in a running world from the nearest angle.
    let angle = turned.map_or(0.0, |turned| turned - reference);
    let status = if laid.is_gear() { DISENGAGED } else { 0 };
    (laid, JointState { angle, status, ..JointState::default() })
}

/// Appends the rows in the order in which they are solved: springs, motors and limits first, equalities last (Box2D).
fn push_rows(settings: &Settings, units: &Units, joint: &Joint, distance: Option<f32>, rows: &mut Vec<JointRow>) {
    let mut laying = RowBuilder { settings, rows };
    let (hertz, damping_ratio) = (joint.hertz, joint.damping_ratio);
    let none = f32::MAX;
    // A length that is neither given nor known yet is measured.
    let length_of = |given: Option<f32>| match given.or(distance) {
        Some(length) => (0, length),
        None => (ROW_MEASURE, 0.0),
    };
    match &joint.kind {
        JointKind::Distance { length, limits, motor } => {
            laying.motor(ROW_ALONG, *motor);
            laying.limits(ROW_ALONG, *limits);
            if hertz.is_some() || (limits.is_none() && motor.is_none()) {
                let (measure, length) = length_of(*length);
                let most = joint.spring_range.map_or(none, |[_, high]| high);
                laying.hold(ROW_ALONG | measure, length, hertz, damping_ratio, most);
                laying.range(joint.spring_range);
            }
        }
        JointKind::Spring { rest_length, stiffness, damping } => {
            let (measure, goal) = length_of(*rest_length);
            laying.row(ROW_ALONG | ROW_SPRING | measure, goal, none, [*stiffness, *damping, 0.0]);
            laying.range(joint.spring_range);
        }
        JointKind::Revolute { limits, motor, spring, .. } => {
            laying.spring(ROW_ANGLE, *spring, joint.spring_range);
            laying.motor(ROW_ANGLE, *motor);
            laying.limits(ROW_ANGLE, *limits);
            laying.hold(ROW_POINT, 0.0, hertz, damping_ratio, none);
        }
        JointKind::Prismatic { limits, motor, spring, .. } => {
            laying.spring(ROW_AXIS, *spring, joint.spring_range);
            laying.motor(ROW_AXIS, *motor);
            laying.limits(ROW_AXIS, *limits);
            laying.hold(ROW_ANGLE, 0.0, hertz, damping_ratio, none);
            laying.hold(ROW_ACROSS, 0.0, hertz, damping_ratio, none);
        }
        JointKind::Wheel { limits, motor, spring, .. } => {
            laying.spring(ROW_AXIS, *spring, joint.spring_range);
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
        JointKind::Velocity { axis, velocity, angular_velocity, max_force, max_torque } => {
            laying.motor(ROW_ANGLE, Some(Motor { speed: *angular_velocity, max: *max_torque }));
            laying.drive(*axis, *velocity, *max_force);
        }
        JointKind::Gear { .. } => laying.hold(ROW_ANGLE, 0.0, hertz, damping_ratio, none),
        JointKind::Pulley { ground_b, length, .. } => laying.rope(length_of(*length), *ground_b),
        JointKind::Mouse { max_force, .. } => {
            let spring = Spring {
                hertz: hertz.unwrap_or(MOUSE_HERTZ * units.stiffness()),
                damping_ratio: damping_ratio.unwrap_or(MOUSE_DAMPING_RATIO),
                target: 0.0,
            };
            laying.swinging(ROW_POINT, spring, *max_force);
        }
    }
}

struct RowBuilder<'a> {
    settings: &'a Settings,
    rows: &'a mut Vec<JointRow>,
}

impl RowBuilder<'_> {
    fn h(&self) -> f32 {
        #[allow(clippy::cast_precision_loss, reason = "at most 64")]
        let h = self.settings.dt / self.settings.substep_count() as f32;
        h
    }

    /// Appends a row; `max` is a force or a torque.
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

    /// Returns the largest stiffness that a substep can follow, Hz: that of rigid rows, so that a finer step is nearer
    /// to a rigid joint.
    fn most_hertz(&self) -> f32 {
        MAX_HERTZ_SHARE / self.h()
    }

    /// Returns bias rate, mass scale and impulse scale of a rigid row.
    fn rigid(&self, hertz: f32, damping_ratio: f32) -> [f32; 3] {
        match self.settings.mode {
            Mode::Soft if self.settings.correct_position => soft(hertz, damping_ratio, self.h()),
            Mode::Baumgarte if self.settings.correct_position => [self.settings.baumgarte / self.h(), 1.0, 0.0],
            _ => [0.0, 1.0, 0.0],
        }
    }

    /// Appends a row that holds a position: rigid, or a spring if a lower frequency is given. A row with limited force
    /// is always a spring: in a rigid row the relax sweep would take back the little speed that a small force gave.
    fn hold(&mut self, geometry: u32, goal: f32, hertz: Option<f32>, damping_ratio: Option<f32>, max: f32) {
        let damping_ratio = damping_ratio.unwrap_or(RIGID_DAMPING_RATIO);
        let most = self.most_hertz();
        let acting = hertz.map_or(most, |hertz| hertz.min(most));
        match hertz {
            _ if max < f32::MAX => {
                self.swinging(geometry, Spring { hertz: acting, damping_ratio, target: goal }, max);
            }
            // A stiffer spring would be limited to this (`MAX_SWING`).
            Some(hertz) if std::f32::consts::TAU * hertz * self.h() < MAX_SWING.sqrt() => {
                self.swinging(geometry, Spring { hertz, damping_ratio, target: goal }, max);
            }
            _ => {
                let softness = self.rigid(acting, damping_ratio);
                self.row(geometry | ROW_EQUALITY, goal, max, softness);
            }
        }
    }

    fn swinging(&mut self, geometry: u32, spring: Spring, max: f32) {
        let omega = 2.0 * std::f32::consts::PI * spring.hertz;
        let softness = [omega * omega, 2.0 * spring.damping_ratio * omega, 0.0];
        self.row(geometry | ROW_SPRING | ROW_BY_MASS, spring.target, max, softness);
    }

    /// Gives the last row, a spring, a smallest and a largest force, N, or torque, N·m.
    fn range(&mut self, range: Option<[f32; 2]>) {
        let h = self.h();
        if let (Some([low, high]), Some(row)) = (range, self.rows.last_mut()) {
            row.kind |= ROW_RANGED;
            row.max_impulse = high * h;
            row.softness[2] = low * h;
        }
    }

    fn spring(&mut self, geometry: u32, spring: Option<Spring>, range: Option<[f32; 2]>) {
        if let Some(spring) = spring {
            self.swinging(geometry, spring, f32::MAX);
            self.range(range);
        }
    }

    /// Appends a motor of the velocity along an axis, or of the whole velocity.
    fn drive(&mut self, axis: Option<Vec2>, velocity: Vec2, max: f32) {
        let (geometry, goal) = match axis {
            Some(axis) => (ROW_AXIS, Vec2::new(velocity.dot(axis), 0.0)),
            None => (ROW_POINT, velocity),
        };
        self.motor(geometry, Some(Motor { speed: goal.x, max }));
        if let Some(row) = self.rows.last_mut() {
            row.goal_y = goal.y;
        }
    }

    fn motor(&mut self, geometry: u32, motor: Option<Motor>) {
        if let Some(Motor { speed, max }) = motor {
            self.row(geometry | ROW_MOTOR, speed, max, [0.0, 1.0, 0.0]);
        }
    }

    /// Appends the row of a pulley.
    fn rope(&mut self, (measure, length): (u32, f32), ground_b: Vec2) {
        let softness = self.rigid(self.most_hertz(), RIGID_DAMPING_RATIO);
        self.row(ROW_PULLEY | ROW_UPPER | measure, length, f32::MAX, softness);
        if let Some(row) = self.rows.last_mut() {
            [row.goal_y, row.ground_y] = ground_b.into();
        }
    }

    /// Appends the rows of limits; equal limits become one row that holds.
    fn limits(&mut self, geometry: u32, limits: Option<[f32; 2]>) {
        let softness = self.rigid(self.most_hertz(), RIGID_DAMPING_RATIO);
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
