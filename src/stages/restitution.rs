//! **restitution**: impacts, before the velocities of each substep are integrated, in several rounds.
//!
//! Reads constraints, rebounds and surfaces; reads and writes states (velocities) and accumulators; writes the impulses
//! of rebounds, and the contact arms and normals of round pairs. Visits the constraints in colour order.
//!
//! A point has an impact if it approaches faster than [`impact_speed`] and would close within the substep. A point that
//! carries an impulse already is pressed, not hit, below a higher speed ([`pressing_speed`]): otherwise loads that
//! settle in a heap would bounce from contact to contact, and it would never rest.
//!
//! An impact is complete at once: the approach is reversed by Newton's law, with Coulomb's friction for the whole
//! impulse, rebound included. The next contact sees the new velocities. So an impulse travels through touching bodies
//! as through a row of bodies with small gaps, and as each impact keeps or loses energy, all of them do. Two points of
//! one contact are solved together: a box that falls flat rises flat. The rounds repeat this; what still approaches
//! after the last is left to the sweeps, without rebound.
//!
//! An impact is made at the start of its substep, a little before the surface, with the speed that Newton's law gives
//! at the surface (`rebound_speed`): so the height of a bounce does not depend on when the impact is found.
//!
//! `velocity` lags half a substep behind the poses (semi-implicit Euler is a leapfrog method). The law is applied to
//! the velocity at the time of the poses, which needs the acceleration of the pair: without it, a ball loses the height
//! `v·h` in each bounce.
//!
//! Two discs touch earlier or later than the poses say. Their normal is that of the time at which they touch.

use glam::Vec2;

use super::color::split::Splits;
use super::prepare::{ConstraintPoint, ContactConstraint};
use super::solve::{GAP, friction_limit};
use crate::constants::MIN_DETERMINANT;
use crate::math::{cross, cross_scalar, larger, right_perp, smaller, touch_time, turned};
use crate::types::{
    Accumulator, BOUNCES, BodyState, FIXED_A, FIXED_B, LEAVE_IMPACTS, MEASURED, POINT_COUNT_MASK, Params, Surface,
};

/// Makes one round over all contacts.
pub fn restitution(
    params: &Params,
    splits: &Splits,
    constraints: &mut [ContactConstraint],
    surfaces: &[Surface],
    states: &mut Vec<BodyState>,
    accumulators: &mut Vec<Accumulator>,
) {
    if params.switches & BOUNCES == 0 {
        return;
    }
    splits.sweep(constraints.len(), states, accumulators, |slot, states, accumulators| {
        let constraint = &mut constraints[slot];
        let (a, b, flags) = (constraint.body_a as usize, constraint.body_b as usize, constraint.flags);
        let pair = [states[a], states[b]];
        let Some([new_a, new_b]) = bounce_contact(params, constraint, surfaces.get(slot), pair) else { return };
        if flags & FIXED_A == 0 {
            (states[a], accumulators[a]) = new_a.applied(states[a], accumulators[a]);
        }
        if flags & FIXED_B == 0 {
            (states[b], accumulators[b]) = new_b.applied(states[b], accumulators[b]);
        }
    });
}

/// Returns the approach speed from which on there is an impact, m/s: the threshold, or a multiple of what gravity adds
/// in a substep, as bodies at rest have no impacts.
#[inline]
#[must_use]
pub fn impact_speed(params: &Params) -> f32 {
    let [x, y] = params.gravity;
    larger(params.restitution_threshold, params.impact_time * larger(x.abs(), y.abs()))
}

/// Returns the approach speed from which on there is an impact at a point that carries an impulse, m/s.
#[inline]
#[must_use]
pub fn pressing_speed(params: &Params) -> f32 {
    larger(params.pressing_threshold, impact_speed(params))
}

/// Returns the speed after an impact, m/s, of a point with this approach speed (negative), relative acceleration along
/// the normal, m/s², and separation, m. Newton's law holds at the surface: a point that is still apart gains speed on
/// its way there, and loses more on its way back.
fn rebound_speed(restitution: f32, approach: f32, acceleration: f32, separation: f32) -> f32 {
    let kept = restitution * restitution;
    larger(kept * (approach * approach) + 2.0 * (1.0 - kept) * (acceleration * separation), 0.0).sqrt()
}

/// Velocity of a body after an impact.
#[derive(Clone, Copy, Debug)]
pub struct Rebounded {
    velocity: Vec2,
    angular_velocity: f32,
}

impl Rebounded {
    /// Returns the state with this velocity, and an accumulator that does not count the change as an impulse of the
    /// sweeps.
    #[inline]
    #[must_use]
    pub fn applied(self, state: BodyState, sum: Accumulator) -> (BodyState, Accumulator) {
        let Self { velocity, angular_velocity } = self;
        let changed = velocity - Vec2::from(state.velocity);
        let turned = angular_velocity - state.angular_velocity;
        (
            BodyState { velocity: velocity.into(), angular_velocity, ..state },
            Accumulator {
                velocity: (Vec2::from(sum.velocity) - changed).into(),
                angular_velocity: sum.angular_velocity - turned,
                ..sum
            },
        )
    }
}

/// Velocities of the two bodies of a contact.
struct Motion {
    v_a: Vec2,
    w_a: f32,
    v_b: Vec2,
    w_b: f32,
}

impl Motion {
    fn new(state_a: &BodyState, state_b: &BodyState) -> Self {
        Self {
            v_a: state_a.velocity.into(),
            w_a: state_a.angular_velocity,
            v_b: state_b.velocity.into(),
            w_b: state_b.angular_velocity,
        }
    }

    /// Returns the velocity of B relative to A at a point, m/s.
    fn velocity(&self, point: &ConstraintPoint) -> Vec2 {
        (self.v_b + cross_scalar(self.w_b, point.r_b.into())) - (self.v_a + cross_scalar(self.w_a, point.r_a.into()))
    }

    fn rebounded(&self) -> [Rebounded; 2] {
        [
            Rebounded { velocity: self.v_a, angular_velocity: self.w_a },
            Rebounded { velocity: self.v_b, angular_velocity: self.w_b },
        ]
    }

    /// Applies an impulse to B at a point, and the opposite one to A.
    fn push(&mut self, c: &ContactConstraint, end: usize, impulse: Vec2) {
        let point = &c.points[end];
        self.v_a -= impulse * c.inv_mass_a;
        self.w_a -= c.inv_inertia_a * cross(point.r_a.into(), impulse);
        self.v_b += impulse * c.inv_mass_b;
        self.w_b += c.inv_inertia_b * cross(point.r_b.into(), impulse);
    }
}

/// Applies the impact of one contact. Returns the velocities of its bodies afterwards, or `None` without an impact.
#[inline]
#[must_use]
pub fn bounce_contact(
    params: &Params,
    c: &mut ContactConstraint,
    surface: Option<&Surface>,
    [state_a, state_b]: [BodyState; 2],
) -> Option<[Rebounded; 2]> {
    let count = (c.flags & POINT_COUNT_MASK) as usize;
    let rebound = c.rebound;
    if rebound.restitution == 0.0 {
        return None;
    }
    let mut motion = Motion::new(&state_a, &state_b);
    let threshold = -impact_speed(params);
    let normal = Vec2::from(c.normal);
    if !c.points[..count].iter().any(|point| motion.velocity(point).dot(normal) < threshold) {
        return None;
    }
    let moved = Vec2::from(state_b.delta_position) - Vec2::from(state_a.delta_position);
    if rebound.radii > 0.0 && !turn_normal(params, c, moved, motion.v_b - motion.v_a) {
        return None;
    }

    let normal = Vec2::from(c.normal);
    let acceleration = Vec2::from(rebound.acceleration).dot(normal);
    let [turn_a, turn_b] = c.turns([&state_a, &state_b]);
    // Wanted changes of the normal velocities; 0 for a point without an impact.
    let mut wanted = [0.0; 2];
    for (end, (point, wanted)) in c.points[..count].iter().zip(&mut wanted).enumerate() {
        let threshold = if c.impulses[2 * end] > 0.0 { -pressing_speed(params) } else { threshold };
        let velocity = motion.velocity(point).dot(normal);
        let swung = turned(turn_b, point.r_b.into()) - turned(turn_a, point.r_a.into());
        let separation = point.separation + (moved + swung).dot(normal);
        let closes = separation + params.h * (velocity + params.h * acceleration) < 0.0;
        if velocity < threshold && closes {
            let approach = velocity + 0.5 * params.h * acceleration;
            *wanted = larger(rebound_speed(rebound.restitution, approach, acceleration, separation) - approach, 0.0);
        }
    }
    let impulses = impact(c, surface, &mut motion, wanted)?;
    c.rebound.impulses = std::array::from_fn(|at| c.rebound.impulses[at] + impulses[at]);
    Some(motion.rebounded())
}

/// Stops a contact that was found ahead ([`IMPACT`](crate::types::IMPACT)) at the surface, in the sweep in which it
/// would pass it. Returns the velocities of its bodies afterwards, or `None` if it does not arrive yet. Like a rebound,
/// the impulse is complete at once and is no load with which the next substep begins: as one it would throw the body
/// back.
#[inline]
#[must_use]
pub fn land_contact(
    params: &Params,
    sweep_flags: u32,
    c: &mut ContactConstraint,
    surface: Option<&Surface>,
    [state_a, state_b]: [BodyState; 2],
) -> Option<[Rebounded; 2]> {
    if sweep_flags & MEASURED == 0 {
        c.measure(&state_a, &state_b);
    }
    let mut motion = Motion::new(&state_a, &state_b);
    let normal = Vec2::from(c.normal);
    let count = (c.flags & POINT_COUNT_MASK) as usize;
    let leaves = sweep_flags & LEAVE_IMPACTS != 0 && c.rebound.restitution != 0.0;
    let mut wanted = [0.0; 2];
    for (end, point) in c.points[..count].iter().enumerate() {
        let velocity = motion.velocity(point).dot(normal);
        let gap = if c.measured[end] > GAP * params.linear_slop { c.measured[end] } else { 0.0 };
        // A fast approach is left to the next impacts, which give it its rebound.
        if !(leaves && velocity < -impact_speed(params)) {
            wanted[end] = larger(-(velocity + gap / params.h), 0.0);
        }
    }
    let impulses = impact(c, surface, &mut motion, wanted)?;
    c.impulses = std::array::from_fn(|at| c.impulses[at] + impulses[at]);
    Some(motion.rebounded())
}

/// Changes the normal velocities of the points of a contact by `wanted`, with friction for the whole impulse. Returns
/// the impulses, normal and tangent of each point, N·s; `None` if nothing changes.
fn impact(c: &ContactConstraint, surface: Option<&Surface>, motion: &mut Motion, wanted: [f32; 2]) -> Option<[f32; 4]> {
    let normal = Vec2::from(c.normal);
    let impulses = normal_impulses(c, normal, wanted);
    if impulses == [0.0; 2] {
        return None;
    }
    for (end, &impulse) in impulses.iter().enumerate() {
        motion.push(c, end, normal * impulse);
    }
    let tangent = right_perp(normal);
    let mut all = [impulses[0], 0.0, impulses[1], 0.0];
    for (end, &impulse) in impulses.iter().enumerate() {
        let point = &c.points[end];
        let mut slip = motion.velocity(point).dot(tangent);
        if let Some(surface) = surface {
            slip -= surface.tangent_speed;
        }
        let held = -(point.tangent_mass * slip);
        let mut most = friction_limit(c.friction, impulse);
        if let Some(surface) = surface
            && held.abs() > most
        {
            most = friction_limit(surface.kinetic_friction, impulse);
        }
        let tangent_impulse = larger(smaller(held, most), -most);
        motion.push(c, end, tangent * tangent_impulse);
        all[2 * end + 1] = tangent_impulse;
    }
    Some(all)
}

/// Returns the normal impulses that change the normal velocities of the points by `wanted`, N·s. Where one would pull,
/// only the point with the larger change gets an impulse.
fn normal_impulses(c: &ContactConstraint, normal: Vec2, wanted: [f32; 2]) -> [f32; 2] {
    let [p_0, p_1] = &c.points;
    let alone = [wanted[0] * p_0.normal_mass, wanted[1] * p_1.normal_mass];
    if wanted[0] == 0.0 || wanted[1] == 0.0 {
        return alone;
    }
    let arm = |r: [f32; 2]| cross(r.into(), normal);
    let coupling = c.inv_mass_a
        + c.inv_mass_b
        + c.inv_inertia_a * arm(p_0.r_a) * arm(p_1.r_a)
        + c.inv_inertia_b * arm(p_0.r_b) * arm(p_1.r_b);
    let (share_0, share_1) = (coupling * p_0.normal_mass, coupling * p_1.normal_mass);
    let determinant = 1.0 - share_0 * share_1;
    if determinant < MIN_DETERMINANT {
        // Half of the mean each: more, for the slower of the two, would make energy.
        let change = 0.25 * (wanted[0] + wanted[1]);
        return [change * p_0.normal_mass, change * p_1.normal_mass];
    }
    let both = [(alone[0] - share_0 * alone[1]) / determinant, (alone[1] - share_1 * alone[0]) / determinant];
    if both[0] >= 0.0 && both[1] >= 0.0 {
        return both;
    }
    if wanted[0] >= wanted[1] { [alone[0], 0.0] } else { [0.0, alone[1]] }
}

/// Gives the constraint of two discs the normal, the arms and the separation of the time at which they touch: in this
/// substep, or in the step before if they were too far apart for a contact. Returns false if they miss each other.
fn turn_normal(params: &Params, c: &mut ContactConstraint, moved: Vec2, velocity: Vec2) -> bool {
    let rebound = &c.rebound;
    let start = Vec2::from(rebound.between);
    let between = start + moved;
    let Some((time, false)) = touch_time(between, velocity, rebound.radii) else { return false };
    let touch = between + velocity * larger(smaller(time, params.h), -params.dt);
    let distance = touch.length();
    // Deep in each other they have no direction to trust; the old one is as good.
    if distance > 0.5 * rebound.radii {
        let normal = touch / distance;
        let point = &mut c.points[0];
        c.normal = normal.into();
        point.r_a = (normal * rebound.radius_a).into();
        point.r_b = (normal * (rebound.radius_a - rebound.radii)).into();
        point.separation = start.dot(normal) - rebound.radii;
        c.find_masses();
    }
    true
}
