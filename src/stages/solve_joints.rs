//! **solve_joints** and **relax_joints**: one sweep of sequential impulses over all joints, colour by colour, row by
//! row. A row is one scalar constraint of a joint (limit, motor, spring, rigid axis) or the two of a point. Box2D:
//! `b2SolveJointsTask`.
//!
//! Reads joint_frames, joint_rows, joint_starts; reads and writes joint_impulses, states (velocities) and accumulators.
//! Before the bodies move, a joint subtracts its impulse from their accumulators; afterwards it adds the impulse again
//! in its new direction, as a tension along an old direction would do work. Visits the joints in the order of joint
//! colours; the device solves those of one colour in parallel. `relax_joints` is the same sweep without bias and
//! springs. It runs before the contacts' sweep, so that contacts have the last word.
//!
//! A row has a position `x` and a goal. Every visit computes its direction again from the motion of the bodies so far,
//! so that a rod pulls along itself also at the end of a step in which it turned. All rows apply their impulse to both
//! bodies at one place, the anchor of B: then no row creates a torque out of nothing, however far the anchors are
//! apart. The direction turns with A, to whose frame the position belongs.
//!
//! The impulse of a point is also kept in A's frame and turns with A from substep to substep. Kept in world
//! coordinates, with A pushed at B's anchor, it would be a follower force: A's torque would depend on the position of
//! B, but B's push not on the rotation of A, so that going round in a circle makes energy. A taut chain with a heavy
//! ball (tension on links of a few kilograms, anchors a quarter of a link apart) whipped itself to hundreds of m/s.
//! Box2D keeps the impulse in world coordinates and pushes each body at its own anchor, which is as stable but makes
//! torques out of nothing.
//!
//! Springs are integrated by a θ-scheme: the force is `−k (x − goal + θ h ẋ') − c ẋ'` with the velocity `ẋ'` after the
//! visit. `θ = max(0, ½ − 1/(8 k h² K))`, with `K` the inverse effective mass: a spring slower than half a radian per
//! substep has `θ = 0`, which is symplectic and loses no energy; a stiffer one is damped by as much as it needs.
//! Stiffness is limited to `2 / (h² K)`: one sweep per substep does not bring stiffer springs on a light body to agree,
//! their forces come late, and a late force does work. Solved for the impulse `Λ + λ` of the substep this is `λ = −(h k
//! (x − goal) + a ẋ + Λ)/(1 + a K)` with `a = h (c + θ h k)`.
//!
//! A spring at a point is given by its frequency, which holds in every direction: its stiffness is the matrix `k S⁻¹`,
//! where `S` is the inverse effective mass matrix over its mean. So a weight on a hinge of frequency `f` sags by
//! `g/(2πf)²` for any lever arms. Solved as above, `λ = −(S + a K)⁻¹ (h k x + a ẋ + S Λ)`. `S` is taken with
//! both anchors in one place: `K` grows with the square of their distance, and a spring that yields more the further it
//! is drawn would let go.
//!
//! Gears are bodies whose turns are in a ratio. Their angle is that of B less `ratio` times that of A, and their
//! velocity too. A gets `ratio` times the angular impulse that B gets: the axles carry the rest. All other joints have
//! the ratio 1.
//!
//! A pulley is a rope over two ground points. Its position is the length of the rope on A's side and `ratio` times that
//! on B's side; it has an upper limit only, so that the rope pulls and never pushes. It pulls each body at its own
//! anchor, along its own side of the rope, and B with `ratio` times the force: the ground points carry the rest. A side
//! that is shorter than [`MIN_LENGTH`] has no direction and does not pull, so that the rope then holds the other body
//! alone.
//!
//! A motor at a point drives both coordinates of the velocity, in A's frame; its impulse is limited by its length, so
//! that dry friction acts against the motion in every direction. A spring with a range pulls and pushes within it.
//!
//! Hinges between light and heavy bodies are not swept but solved exactly, after the others ([`tree`]).

pub mod tree;

use glam::{Mat2, Vec2};

use self::tree::{RowStore, row_count, trees};
pub use crate::constants::MAX_SWING;
use crate::constants::MIN_LENGTH;
use crate::math::{angle_of, clamped, cross, cross_scalar, inv_mul_rotation, inv_rotate, rotate, turned};
use crate::types::{
    ACCUMULATE, Accumulator, BodyState, DEPOSIT, FRESH, HELD, HELD_ALONE, JOINT_COLORS, JOINT_FIXED_A, JOINT_FIXED_B,
    JointFrame, JointRow, Params, ROW_ACROSS, ROW_ALONG, ROW_ANGLE, ROW_AXIS, ROW_BY_MASS, ROW_COUNT_MASK,
    ROW_EQUALITY, ROW_GEOMETRY, ROW_LOWER, ROW_MOTOR, ROW_POINT, ROW_PULLEY, ROW_RANGED, ROW_ROLE, ROW_SPRING,
    ROW_UPPER, TreeRow, USE_BIAS, WARM_START, WITHDRAW, WORLD_A,
};

/// Makes one sweep over all joints.
pub fn solve_joints(
    params: &Params,
    flags: u32,
    joint_starts: &[u32],
    joint_frames: &[JointFrame],
    joint_rows: &[JointRow],
    joint_impulses: &mut [[f32; 2]],
    states: &mut [BodyState],
    accumulators: &mut [Accumulator],
) {
    for joint in in_order(joint_starts) {
        let frame = &joint_frames[joint];
        let mut ends = BodyPair::of(frame, states, accumulators);
        let rows = rows_of(frame);
        solve_joint(params, flags, frame, &joint_rows[rows.clone()], &mut joint_impulses[rows], &mut ends);
        ends.put(frame, states, accumulators);
    }
    let mut rows = vec![TreeRow::default(); row_count(joint_starts)];
    for tree in trees(joint_starts) {
        tree.solve(params, flags, joint_frames, joint_rows, joint_impulses, states, accumulators, &mut rows);
    }
}

/// Returns the indices of the joints that are swept, colour by colour.
pub fn in_order(joint_starts: &[u32]) -> impl Iterator<Item = usize> {
    (0..JOINT_COLORS as usize).flat_map(|color| {
        let (start, end) = (joint_starts[color], joint_starts[JOINT_COLORS as usize + color]);
        joint_starts[start as usize..end as usize].iter().map(|&joint| joint as usize)
    })
}

/// Both bodies of a joint while it is solved. The world is a body at rest.
#[derive(Clone, Copy, Debug)]
pub struct BodyPair {
    /// States of A and B.
    pub states: [BodyState; 2],
    /// Accumulators of A and B.
    pub sums: [Accumulator; 2],
}

impl BodyPair {
    /// Reads the bodies of a joint.
    #[must_use]
    pub fn of(
        frame: &JointFrame,
        states: &(impl RowStore<BodyState> + ?Sized),
        accumulators: &(impl RowStore<Accumulator> + ?Sized),
    ) -> Self {
        let b = frame.body_b as usize;
        let mut ends = Self { states: [states.row(b); 2], sums: [accumulators.row(b); 2] };
        (ends.states[0], ends.sums[0]) = if frame.flags & WORLD_A != 0 {
            (BodyState::default(), Accumulator::default())
        } else {
            (states.row(frame.body_a as usize), accumulators.row(frame.body_a as usize))
        };
        ends
    }

    /// Writes back the bodies that the joint moves.
    pub fn put(
        &self,
        frame: &JointFrame,
        states: &mut (impl RowStore<BodyState> + ?Sized),
        accumulators: &mut (impl RowStore<Accumulator> + ?Sized),
    ) {
        for (end, body, fixed) in [(0, frame.body_a, JOINT_FIXED_A), (1, frame.body_b, JOINT_FIXED_B)] {
            if frame.flags & fixed == 0 {
                states.put(body as usize, self.states[end]);
                accumulators.put(body as usize, self.sums[end]);
            }
        }
    }
}

/// Solves one joint, given its rows and their impulses.
pub fn solve_joint(
    params: &Params,
    sweep_flags: u32,
    frame: &JointFrame,
    rows: &[JointRow],
    impulses: &mut [[f32; 2]],
    ends: &mut BodyPair,
) {
    let stance = Stance::new(frame, &ends.states[0], &ends.states[1]);
    let warm = params.switches & WARM_START != 0;
    if warm && sweep_flags & DEPOSIT != 0 {
        accumulate(frame, rows, impulses, &stance, 1.0, &mut ends.sums);
    }
    let [state_a, state_b] = &mut ends.states;
    let mut motion = JointMotion::of(state_a, state_b);
    for (rule, impulse) in rows.iter().zip(&mut *impulses) {
        let geometry = rule.kind & ROW_GEOMETRY;
        if rule.kind & ROW_ROLE == ROW_SPRING && sweep_flags & USE_BIAS == 0 {
            continue;
        }
        if sweep_flags & HELD != 0 && rule.kind & ROW_ROLE == ROW_EQUALITY {
            if sweep_flags & FRESH != 0 {
                *impulse = [0.0; 2];
            }
            continue;
        }
        if sweep_flags & HELD_ALONE != 0 && rule.kind & ROW_ROLE != ROW_EQUALITY {
            continue;
        }
        let old = if sweep_flags & FRESH == 0 { Vec2::from(*impulse) } else { Vec2::ZERO };
        let new = if geometry == ROW_POINT {
            let old = rotate(stance.axis, old);
            let new = solve_point(params, sweep_flags, frame, rule, &stance, &motion, old);
            motion.apply(frame, &stance, [new - old; 2], 0.0);
            inv_rotate(stance.axis, new)
        } else {
            let new = solve_row(params, sweep_flags, frame, rule, &stance, &motion, old.x);
            let size = side(rule) * (new - old.x);
            if geometry == ROW_ANGLE {
                motion.apply(frame, &stance, [Vec2::ZERO; 2], size);
            } else {
                let on_b = stance.direction(geometry) * size;
                motion.apply(frame, &stance, [stance.on_a(geometry, size, on_b), on_b], 0.0);
            }
            Vec2::new(new, 0.0)
        };
        *impulse = new.into();
    }
    (state_a.velocity, state_a.angular_velocity) = (motion.v_a.into(), motion.w_a);
    (state_b.velocity, state_b.angular_velocity) = (motion.v_b.into(), motion.w_b);
    if warm && sweep_flags & WITHDRAW != 0 {
        accumulate(frame, rows, impulses, &stance, -1.0, &mut ends.sums);
    }
}

/// Returns the rows of a joint that are solved: none if it is disabled, broken or quarantined, or if its bodies sleep.
#[must_use]
pub fn rows_of(frame: &JointFrame) -> std::ops::Range<usize> {
    let first = frame.first_row as usize;
    first..first + (frame.flags & ROW_COUNT_MASK) as usize
}

/// Geometry of a joint at the current positions of its bodies.
#[derive(Clone, Copy, Debug)]
pub struct Stance {
    /// Lever arm on A, m: from A's centre of mass to the anchor of B, where all rows act; of a pulley to that of A.
    pub arm_a: Vec2,
    /// Lever arm on B, m: from B's centre of mass to the anchor of B.
    pub arm_b: Vec2,
    /// Vector from the anchor of A to that of B, m. Of a pulley, from its ground point on B's side to the anchor of B.
    pub between: Vec2,
    /// Joint axis, turned with A. For a joint with a point row: A's x axis, used as the rotation from A's frame to the
    /// world. Of a pulley, the vector from its ground point on A's side to the anchor of A, m.
    pub axis: Vec2,
    /// Angle of B relative to A when the step began, rad, as [`JointFrame::angle`].
    pub angle: f32,
    /// Rotation of A since then.
    pub turn_a: Vec2,
    /// Rotation of B since then.
    pub turn_b: Vec2,
    /// Factor of A's turn, as [`JointFrame::ratio`].
    pub ratio: f32,
}

impl Stance {
    /// Computes the geometry from the motion of the bodies since the step began.
    #[inline]
    #[must_use]
    pub fn new(frame: &JointFrame, a: &BodyState, b: &BodyState) -> Self {
        let (turn_a, turn_b) = (Vec2::from(a.delta_rotation), Vec2::from(b.delta_rotation));
        let (r_a, r_b) = (Vec2::from(frame.r_a), Vec2::from(frame.r_b));
        let moved = Vec2::from(b.delta_position) - Vec2::from(a.delta_position);
        let mut between = Vec2::from(frame.between) + (moved + (turned(turn_b, r_b) - turned(turn_a, r_a)));
        let mut arm_a = rotate(turn_a, r_a) + between;
        let mut axis = rotate(turn_a, frame.axis.into());
        if frame.is_pulley() {
            arm_a = rotate(turn_a, r_a);
            between = Vec2::from(frame.between) + (Vec2::from(b.delta_position) + turned(turn_b, r_b));
            axis = Vec2::from(frame.axis) + (Vec2::from(a.delta_position) + turned(turn_a, r_a));
        }
        Self {
            arm_a,
            arm_b: rotate(turn_b, r_b),
            between,
            axis,
            angle: frame.angle,
            turn_a,
            turn_b,
            ratio: frame.ratio,
        }
    }

    /// Returns the direction in which a row pushes B, for a pulley `ratio` long; not for angle and point rows. Where
    /// the anchors coincide no line joins them; up is taken instead, so that a rod with a minimum length can still be
    /// driven apart.
    #[inline]
    #[must_use]
    pub fn direction(&self, geometry: u32) -> Vec2 {
        match geometry {
            ROW_AXIS => self.axis,
            ROW_ACROSS => Vec2::new(-self.axis.y, self.axis.x),
            ROW_PULLEY => rope(self.between) * self.ratio,
            _ => {
                let length = self.between.length();
                if length > 0.0 { self.between / length } else { Vec2::new(0.0, 1.0) }
            }
        }
    }

    /// Returns the impulse whose opposite acts on A where a row pushes B by `size` with the impulse `on_b`: the same,
    /// but for a pulley, which pulls A along its own side of the rope.
    #[inline]
    #[must_use]
    pub fn on_a(&self, geometry: u32, size: f32, on_b: Vec2) -> Vec2 {
        if geometry == ROW_PULLEY { rope(self.axis) * -size } else { on_b }
    }

    /// Returns the position of a row, m or rad.
    #[inline]
    #[must_use]
    pub fn position(&self, geometry: u32) -> f32 {
        match geometry {
            ROW_ANGLE if self.ratio == 1.0 => self.angle + angle_of(inv_mul_rotation(self.turn_a, self.turn_b)),
            ROW_ANGLE => self.angle + (angle_of(self.turn_b) - self.ratio * angle_of(self.turn_a)),
            ROW_ALONG => self.between.length(),
            ROW_PULLEY => self.axis.length() + self.ratio * self.between.length(),
            _ => self.between.dot(self.direction(geometry)),
        }
    }
}

/// Returns the direction of a rope from a ground point, 0 if it is too short to have one.
#[inline]
fn rope(line: Vec2) -> Vec2 {
    let length = line.length();
    if length > MIN_LENGTH { line / length } else { Vec2::ZERO }
}

/// Velocities of the two bodies while a joint is solved.
#[derive(Clone, Copy, Debug)]
struct JointMotion {
    v_a: Vec2,
    w_a: f32,
    v_b: Vec2,
    w_b: f32,
}

impl JointMotion {
    #[inline]
    fn of(a: &BodyState, b: &BodyState) -> Self {
        Self { v_a: a.velocity.into(), w_a: a.angular_velocity, v_b: b.velocity.into(), w_b: b.angular_velocity }
    }

    /// Returns the velocity of B relative to A at the point of action, m/s.
    #[inline]
    fn velocity(&self, stance: &Stance) -> Vec2 {
        (self.v_b + cross_scalar(self.w_b, stance.arm_b)) - (self.v_a + cross_scalar(self.w_a, stance.arm_a))
    }

    /// Returns the velocity of a row that is neither an angle nor a point, m/s.
    #[inline]
    fn along(&self, stance: &Stance, geometry: u32) -> f32 {
        let direction = stance.direction(geometry);
        if geometry == ROW_PULLEY {
            let at_a = self.v_a + cross_scalar(self.w_a, stance.arm_a);
            let at_b = self.v_b + cross_scalar(self.w_b, stance.arm_b);
            return at_a.dot(rope(stance.axis)) + at_b.dot(direction);
        }
        self.velocity(stance).dot(direction)
    }

    /// Applies an impulse and an angular impulse to B, and opposite ones to A, the angular one by the ratio.
    #[inline]
    fn apply(&mut self, frame: &JointFrame, stance: &Stance, [on_a, on_b]: [Vec2; 2], spin: f32) {
        self.v_a -= on_a * frame.inv_mass_a;
        self.w_a -= frame.inv_inertia_a * (cross(stance.arm_a, on_a) + stance.ratio * spin);
        self.v_b += on_b * frame.inv_mass_b;
        self.w_b += frame.inv_inertia_b * (cross(stance.arm_b, on_b) + spin);
    }
}

/// Returns the sign of a row's impulse along its direction: −1 for an upper limit, whose impulse is counted positive.
#[inline]
#[must_use]
pub fn side(rule: &JointRow) -> f32 {
    if rule.kind & ROW_ROLE == ROW_UPPER { -1.0 } else { 1.0 }
}

/// Returns the inverse effective mass of a row that is not a point row, 1/kg or 1/(kg·m²).
#[inline]
#[must_use]
pub fn inverse_mass(frame: &JointFrame, stance: &Stance, geometry: u32) -> f32 {
    if geometry == ROW_ANGLE {
        return frame.inv_inertia_a * (stance.ratio * stance.ratio) + frame.inv_inertia_b;
    }
    let direction = stance.direction(geometry);
    if geometry == ROW_PULLEY {
        let at_a = rope(stance.axis);
        let (arm_a, arm_b) = (cross(stance.arm_a, at_a), cross(stance.arm_b, direction));
        let masses = frame.inv_mass_a * at_a.dot(at_a) + frame.inv_mass_b * direction.dot(direction);
        return masses + frame.inv_inertia_a * arm_a * arm_a + frame.inv_inertia_b * arm_b * arm_b;
    }
    let (arm_a, arm_b) = (cross(stance.arm_a, direction), cross(stance.arm_b, direction));
    frame.inv_mass_a + frame.inv_mass_b + frame.inv_inertia_a * arm_a * arm_a + frame.inv_inertia_b * arm_b * arm_b
}

/// Returns the inverse effective mass matrix of a point with these lever arms, 1/kg.
#[inline]
#[must_use]
pub fn inverse_point_mass(frame: &JointFrame, r_a: Vec2, r_b: Vec2) -> Mat2 {
    let both = frame.inv_mass_a + frame.inv_mass_b;
    let xx = both + frame.inv_inertia_a * r_a.y * r_a.y + frame.inv_inertia_b * r_b.y * r_b.y;
    let xy = -frame.inv_inertia_a * r_a.x * r_a.y - frame.inv_inertia_b * r_b.x * r_b.y;
    let yy = both + frame.inv_inertia_a * r_a.x * r_a.x + frame.inv_inertia_b * r_b.x * r_b.x;
    Mat2::from_cols(Vec2::new(xx, xy), Vec2::new(xy, yy))
}

/// Solves `k x = b` for a symmetric `k`. Returns 0 if `k` is singular.
#[inline]
#[must_use]
pub fn solve_symmetric(k: Mat2, b: Vec2) -> Vec2 {
    let (xx, xy, yy) = (k.x_axis.x, k.x_axis.y, k.y_axis.y);
    let determinant = xx * yy - xy * xy;
    if determinant > 0.0 { Vec2::new(yy * b.x - xy * b.y, xx * b.y - xy * b.x) / determinant } else { Vec2::ZERO }
}

/// Returns stiffness and `a` (module docs) of a spring for the inverse mass `k`, if its coefficients are given for the
/// inverse mass `stated`.
#[inline]
fn spring(params: &Params, rule: &JointRow, k: f32, stated: f32) -> (f32, f32) {
    let mut scale = 1.0;
    if rule.kind & ROW_BY_MASS != 0 {
        scale = if stated > 0.0 { 1.0 / stated } else { 0.0 };
    }
    let (mut stiffness, damping) = (rule.softness[0] * scale, rule.softness[1] * scale);
    let mut swing = stiffness * params.h * params.h * k;
    if swing > MAX_SWING {
        stiffness *= MAX_SWING / swing;
        swing = MAX_SWING;
    }
    let theta = if swing > 0.25 { 0.5 - 0.125 / swing } else { 0.0 };
    (stiffness, params.h * (damping + theta * params.h * stiffness))
}

/// Returns the stiffness of a row's spring in the direction in which it is stretched, N/m or N·m/rad.
#[must_use]
pub fn stiffness(params: &Params, frame: &JointFrame, rule: &JointRow, stance: &Stance) -> f32 {
    let geometry = rule.kind & ROW_GEOMETRY;
    if geometry == ROW_POINT {
        let k = inverse_point_mass(frame, stance.arm_a, stance.arm_b);
        let (stiffness, _, shape) = point_spring(params, frame, rule, stance, k);
        let along = stance.between.normalize_or(Vec2::X);
        return stiffness * along.dot(solve_symmetric(shape, along));
    }
    let k = inverse_mass(frame, stance, geometry);
    spring(params, rule, k, k).0
}

/// Returns stiffness and `a` of a spring at a point, and the matrix `S` by whose inverse its stiffness differs with the
/// direction (module docs). `k` is the inverse effective mass matrix.
#[inline]
fn point_spring(params: &Params, frame: &JointFrame, rule: &JointRow, stance: &Stance, k: Mat2) -> (f32, f32, Mat2) {
    let met = inverse_point_mass(frame, stance.arm_a - stance.between, stance.arm_b);
    let mean = 0.5 * (met.x_axis.x + met.y_axis.y);
    let (stiffness, a) = spring(params, rule, 0.5 * (k.x_axis.x + k.y_axis.y), mean);
    (stiffness, a, met * if mean > 0.0 { 1.0 / mean } else { 0.0 })
}

/// Returns the accumulated impulse of a scalar row after this visit, N·s or N·m·s.
#[inline]
fn solve_row(
    params: &Params,
    flags: u32,
    frame: &JointFrame,
    rule: &JointRow,
    stance: &Stance,
    motion: &JointMotion,
    old: f32,
) -> f32 {
    let geometry = rule.kind & ROW_GEOMETRY;
    let role = rule.kind & ROW_ROLE;
    let k = inverse_mass(frame, stance, geometry);
    let mass = if k > 0.0 { 1.0 / k } else { 0.0 };
    let sign = side(rule);
    let velocity = if geometry == ROW_ANGLE {
        sign * (motion.w_b - stance.ratio * motion.w_a)
    } else {
        sign * motion.along(stance, geometry)
    };
    let error = sign * (stance.position(geometry) - rule.goal);
    let limit = role == ROW_LOWER || role == ROW_UPPER;
    let wanted = if role == ROW_MOTOR {
        -mass * (velocity - rule.goal)
    } else if role == ROW_SPRING {
        let (stiffness, a) = spring(params, rule, k, k);
        -(params.h * stiffness * error + a * velocity + old) / (1.0 + a * k)
    } else if limit && error > 0.0 {
        -mass * (velocity + error / params.h)
    } else if flags & USE_BIAS != 0 {
        let [bias_rate, mass_scale, impulse_scale] = rule.softness;
        -mass * mass_scale * (velocity + bias_rate * error) - impulse_scale * old
    } else {
        -mass * velocity
    };
    let low = if limit {
        0.0
    } else if rule.kind & ROW_RANGED != 0 {
        rule.softness[2]
    } else {
        -rule.max_impulse
    };
    if params.switches & ACCUMULATE != 0 {
        clamped(old + wanted, low, rule.max_impulse)
    } else {
        old + clamped(wanted, low, rule.max_impulse)
    }
}

/// Returns the accumulated impulse of a point row after this visit, N·s.
#[inline]
fn solve_point(
    params: &Params,
    flags: u32,
    frame: &JointFrame,
    rule: &JointRow,
    stance: &Stance,
    motion: &JointMotion,
    old: Vec2,
) -> Vec2 {
    let k = inverse_point_mass(frame, stance.arm_a, stance.arm_b);
    let velocity = motion.velocity(stance);
    let wanted = if rule.kind & ROW_ROLE == ROW_SPRING {
        let (stiffness, a, shape) = point_spring(params, frame, rule, stance, k);
        let damped = shape + k * a;
        -solve_symmetric(damped, stance.between * (params.h * stiffness) + velocity * a + shape * old)
    } else if rule.kind & ROW_ROLE == ROW_MOTOR {
        -solve_symmetric(k, velocity - rotate(stance.axis, Vec2::new(rule.goal, rule.goal_y)))
    } else if flags & USE_BIAS != 0 {
        let [bias_rate, mass_scale, impulse_scale] = rule.softness;
        -solve_symmetric(k, velocity + stance.between * bias_rate) * mass_scale - old * impulse_scale
    } else {
        -solve_symmetric(k, velocity)
    };
    if params.switches & ACCUMULATE != 0 {
        shortened(old + wanted, rule.max_impulse)
    } else {
        old + shortened(wanted, rule.max_impulse)
    }
}

/// Returns the vector, shortened to the length `most` if longer.
#[inline]
#[must_use]
pub fn shortened(v: Vec2, most: f32) -> Vec2 {
    let length = v.length();
    if length > most { v * (most / length) } else { v }
}

/// Returns the summed impulses of a joint's rows: an impulse on B at the point of action, N·s, and an angular one,
/// N·m·s.
#[inline]
#[must_use]
pub fn total(rows: &[JointRow], impulses: &[[f32; 2]], stance: &Stance) -> (Vec2, f32) {
    let (mut impulse, mut spin) = (Vec2::ZERO, 0.0);
    for (rule, &part) in rows.iter().zip(impulses) {
        let part = Vec2::from(part);
        match rule.kind & ROW_GEOMETRY {
            ROW_POINT => impulse += rotate(stance.axis, part),
            ROW_ANGLE => spin += side(rule) * part.x,
            geometry => impulse += stance.direction(geometry) * (side(rule) * part.x),
        }
    }
    (impulse, spin)
}

/// Returns the impulse whose opposite acts on A, N·s, given that on B ([`total`]).
#[inline]
#[must_use]
pub fn total_on_a(rows: &[JointRow], impulses: &[[f32; 2]], stance: &Stance, on_b: Vec2) -> Vec2 {
    match rows.first() {
        Some(rule) => stance.on_a(rule.kind & ROW_GEOMETRY, side(rule) * impulses[0][0], on_b),
        None => on_b,
    }
}

/// Adds `share` times the velocity changes due to a joint's impulses to the sums of its bodies.
pub fn accumulate(
    frame: &JointFrame,
    rows: &[JointRow],
    impulses: &[[f32; 2]],
    stance: &Stance,
    share: f32,
    [sum_a, sum_b]: &mut [Accumulator; 2],
) {
    let (impulse, spin) = total(rows, impulses, stance);
    let on_a = total_on_a(rows, impulses, stance, impulse) * share;
    let (impulse, spin) = (impulse * share, spin * share);
    sum_a.velocity = (Vec2::from(sum_a.velocity) - on_a * frame.inv_mass_a).into();
    sum_a.angular_velocity -= frame.inv_inertia_a * (cross(stance.arm_a, on_a) + stance.ratio * spin);
    sum_b.velocity = (Vec2::from(sum_b.velocity) + impulse * frame.inv_mass_b).into();
    sum_b.angular_velocity += frame.inv_inertia_b * (cross(stance.arm_b, impulse) + spin);
}
