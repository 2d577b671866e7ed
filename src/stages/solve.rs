//! **solve** and **relax**: one sweep of sequential impulses over all contacts, colour by colour. Box2D:
//! `b2SolveContactsTask` with and without bias.
//!
//! Reads and writes constraints (impulses), rebounds, surfaces, states (velocities) and accumulators. Visits the
//! constraints in colour order; the device solves those of one colour in parallel, as they share no dynamic body.
//! `relax` is the same sweep without bias.
//!
//! One formula serves every mode: `λ = −m (mass_scale·v + bias) − impulse_scale·Λ`, with the accumulated impulse `Λ`
//! clamped, not `λ`. The soft step derives its three coefficients from a spring-damper; Baumgarte's method has mass
//! scale 1 and impulse scale 0. A gap `s > 0` closes at most at the speed `s/h` in every mode (speculative contact).
//! Friction is solved if the sweep has [`USE_FRICTION`]: in the soft step only when relaxing, when the normal impulses
//! carry no bias.
//!
//! A contact that [`collide`](super::collide) found ahead is an impact and not a load ([`land_contact`]).
//!
//! A missing second point is all zero. It is visited like any other and takes no impulse.

use glam::Vec2;

use super::color::split::Splits;
use super::prepare::{ConstraintPoint, ContactConstraint};
use super::restitution::{impact_speed, land_contact, pressing_speed};
use crate::constants::FAR;
pub use crate::constants::GAP;
use crate::mass_scale::damped;
use crate::math::{cross, cross_scalar, larger, right_perp, smaller};
use crate::types::{
    ACCUMULATE, Accumulator, BodyState, FIXED_A, FIXED_B, FRESH, IMPACT, LEAVE_IMPACTS, LOADED, MATERIAL_SPRINGS,
    MEASURED, Params, SPRING_MASK, SPRING_SHIFT, Surface, USE_BIAS, USE_FRICTION,
};

/// Makes one sweep over all contacts.
pub fn solve(
    params: &Params,
    flags: u32,
    splits: &Splits,
    constraints: &mut [ContactConstraint],
    surfaces: &mut [Surface],
    states: &mut Vec<BodyState>,
    accumulators: &mut Vec<Accumulator>,
) {
    splits.sweep(constraints.len(), states, accumulators, |slot, states, accumulators| {
        let c = &mut constraints[slot];
        let (a, b) = (c.body_a as usize, c.body_b as usize);
        let pair = [states[a], states[b]];
        let (mut sums, mut solved) = ([accumulators[a], accumulators[b]], pair);
        if c.flags & IMPACT == 0 {
            solved = solve_contact(params, flags, c, surfaces.get_mut(slot), pair);
        } else if let Some([new_a, new_b]) = land_contact(params, flags, c, surfaces.get(slot), pair) {
            (solved[0], sums[0]) = new_a.applied(pair[0], sums[0]);
            (solved[1], sums[1]) = new_b.applied(pair[1], sums[1]);
        }
        if c.flags & FIXED_A == 0 {
            (states[a], accumulators[a]) = (solved[0], sums[0]);
        }
        if c.flags & FIXED_B == 0 {
            (states[b], accumulators[b]) = (solved[1], sums[1]);
        }
    });
}

/// Solves one contact: rolling resistance and friction after the normal impulses. Returns the states of its bodies
/// afterwards.
#[must_use]
#[allow(clippy::too_many_lines, reason = "read beside the kernel, from top to bottom")]
pub fn solve_contact(
    params: &Params,
    sweep_flags: u32,
    c: &mut ContactConstraint,
    mut surface: Option<&mut Surface>,
    [mut state_a, mut state_b]: [BodyState; 2],
) -> [BodyState; 2] {
    // Contacts without restitution have no impacts: their approach ends in this sweep.
    let sweep_flags = if c.rebound.restitution == 0.0 { sweep_flags & !LEAVE_IMPACTS } else { sweep_flags };
    let normal = Vec2::from(c.normal);
    let mut motion = ContactMotion::new(c, &state_a, &state_b);
    if sweep_flags & MEASURED == 0 {
        c.measure(&state_a, &state_b);
    }
    let mut softness = softness(params, c.flags);
    if sweep_flags & USE_BIAS != 0 && c.flags & (FIXED_A | FIXED_B) == 0 {
        softness = damped(params, softness, [state_a.status, state_b.status]);
    }
    if sweep_flags & FRESH != 0 {
        c.impulses = [0.0; 4];
        if let Some(surface) = &mut surface {
            surface.rolling_impulse = 0.0;
        }
    }

    let order = visits(sweep_flags);
    for end in order {
        let point = &c.points[end];
        let velocity = motion.velocity(point).dot(normal);
        let old = c.impulses[2 * end];
        let new =
            normal_impulse(params, sweep_flags, softness, c.flags, c.measured[end], velocity, point.normal_mass, old);
        c.impulses[2 * end] = new;
        motion.push(point, normal * (new - old));
    }

    if sweep_flags & USE_FRICTION != 0 {
        let tangent = right_perp(normal);
        if let Some(surface) = &mut surface {
            let k = c.inv_inertia_a + c.inv_inertia_b;
            let mass = if k > 0.0 { 1.0 / k } else { 0.0 };
            let most = surface.rolling_resistance * (c.impulses[0] + c.impulses[2]);
            let old = surface.rolling_impulse;
            let new = clamp(old - mass * (motion.w_b - motion.w_a), most);
            surface.rolling_impulse = new;
            motion.w_a -= c.inv_inertia_a * (new - old);
            motion.w_b += c.inv_inertia_b * (new - old);
        }
        // A contact slides if none of its points holds any more; only then kinetic friction bounds the impulse. One
        // point alone proves nothing: the point visited first is asked to hold the whole load.
        let mut slides = true;
        for end in order {
            let point = &c.points[end];
            let mut velocity = motion.velocity(point).dot(tangent);
            if let Some(surface) = &surface {
                velocity -= surface.tangent_speed;
            }
            let most = friction_limit(c.friction, c.impulses[2 * end]);
            let old = c.impulses[2 * end + 1];
            let wanted = old - point.tangent_mass * velocity;
            slides &= wanted.abs() >= most + point.tangent_mass * params.stick_speed;
            let new = clamp(wanted, most);
            c.impulses[2 * end + 1] = new;
            motion.push(point, tangent * (new - old));
        }
        if let Some(surface) = surface {
            for end in order {
                let point = &c.points[end];
                let most = friction_limit(surface.kinetic_friction, c.impulses[2 * end]);
                let old = c.impulses[2 * end + 1];
                let new = if slides { clamp(old, most) } else { old };
                c.impulses[2 * end + 1] = new;
                motion.push(point, tangent * (new - old));
            }
        }
    }

    (state_a.velocity, state_a.angular_velocity) = (motion.v_a.into(), motion.w_a);
    (state_b.velocity, state_b.angular_velocity) = (motion.v_b.into(), motion.w_b);
    [state_a, state_b]
}

/// Returns the order in which a sweep visits the points of a contact, of which the deeper one has index 0. The relax
/// sweep begins with it, biased sweeps end with it. With one order for both the load of a falling heap overshoots, and
/// throws the heap back.
#[inline]
#[must_use]
pub fn visits(sweep_flags: u32) -> [usize; 2] {
    if sweep_flags & USE_BIAS == 0 { [0, 1] } else { [1, 0] }
}

/// Returns the largest friction impulse of a point, N·s, from its coefficient of friction and its normal impulse:
/// Coulomb's law, in sweeps and in impacts. The lanes of the CPU engine and the shaders have functions of this name.
#[inline]
#[must_use]
pub fn friction_limit(coefficient: f32, normal_impulse: f32) -> f32 {
    coefficient * normal_impulse
}

/// Returns bias rate, mass scale, impulse scale and slop of the spring of a contact with these flags.
#[inline]
#[must_use]
pub fn softness(params: &Params, flags: u32) -> [f32; 4] {
    let is_fixed = flags & (FIXED_A | FIXED_B) != 0;
    let kind = (flags & SPRING_MASK) >> SPRING_SHIFT;
    if params.switches & MATERIAL_SPRINGS != 0 && kind != 0 {
        return params.springs[kind as usize][usize::from(is_fixed)];
    }
    if is_fixed { params.fixed_softness } else { params.contact_softness }
}

/// Returns the accumulated normal impulse of a point after this visit, N·s.
fn normal_impulse(
    params: &Params,
    sweep_flags: u32,
    softness: [f32; 4],
    flags: u32,
    separation: f32,
    velocity: f32,
    mass: f32,
    old: f32,
) -> f32 {
    let (mut bias, mut mass_scale, mut impulse_scale) = (0.0, 1.0, 0.0);
    if separation > GAP * params.linear_slop {
        bias = separation / params.h;
    } else if sweep_flags & USE_BIAS != 0 {
        let [bias_rate, soft_mass_scale, soft_impulse_scale, slop] = softness;
        let depth = smaller(separation + slop, 0.0);
        let fastest = if flags & LOADED == 0 { params.push_speed } else { FAR };
        bias = larger(soft_mass_scale * bias_rate * depth, -fastest);
        (mass_scale, impulse_scale) = (soft_mass_scale, soft_impulse_scale);
    }
    // A fast approach is left to the next impacts, which give it its rebound.
    let impact = if old > 0.0 { pressing_speed(params) } else { impact_speed(params) };
    if sweep_flags & LEAVE_IMPACTS != 0 && velocity < -impact {
        return old;
    }
    let wanted = -(mass * (mass_scale * velocity + bias)) - impulse_scale * old;
    if params.switches & ACCUMULATE != 0 { larger(old + wanted, 0.0) } else { old + larger(wanted, 0.0) }
}

/// Returns `value` between `-most` and `most`.
fn clamp(value: f32, most: f32) -> f32 {
    larger(smaller(value, most), -most)
}

/// Velocities of the two bodies while a contact is solved.
struct ContactMotion {
    v_a: Vec2,
    w_a: f32,
    v_b: Vec2,
    w_b: f32,
    /// Inverse mass and inverse inertia of A, then of B.
    inv: [f32; 4],
}

impl ContactMotion {
    fn new(c: &ContactConstraint, state_a: &BodyState, state_b: &BodyState) -> Self {
        Self {
            v_a: state_a.velocity.into(),
            w_a: state_a.angular_velocity,
            v_b: state_b.velocity.into(),
            w_b: state_b.angular_velocity,
            inv: [c.inv_mass_a, c.inv_inertia_a, c.inv_mass_b, c.inv_inertia_b],
        }
    }

    /// Returns the velocity of B relative to A at a point, m/s.
    fn velocity(&self, point: &ConstraintPoint) -> Vec2 {
        (self.v_b + cross_scalar(self.w_b, point.r_b.into())) - (self.v_a + cross_scalar(self.w_a, point.r_a.into()))
    }

    /// Applies an impulse to B at a point, and the opposite one to A.
    fn push(&mut self, point: &ConstraintPoint, impulse: Vec2) {
        let [m_a, i_a, m_b, i_b] = self.inv;
        self.v_a -= impulse * m_a;
        self.w_a -= i_a * cross(point.r_a.into(), impulse);
        self.v_b += impulse * m_b;
        self.w_b += i_b * cross(point.r_b.into(), impulse);
    }
}
