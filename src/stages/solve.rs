//! **solve** and **relax**: one sweep of sequential impulses over all contacts, colour by colour.
//!
//! Reads and writes constraints (impulses), states (velocities) and, in the last sweep of a substep, accumulators. By
//! colour, one thread a constraint on the device, four constraints side by side on the CPU. `relax` is the same sweep
//! without bias.
//!
//! One formula serves every mode: `λ = −m (mass_scale·v + bias) − impulse_scale·Λ`, with `Λ` clamped, not `λ`. The soft
//! step takes its three coefficients from a spring-damper; Baumgarte's method is mass scale 1, impulse scale 0.
//! A gap `s > 0` closes at most at the speed `s/h` in every mode (speculative contact). Friction is solved where
//! [`USE_FRICTION`] says so: in the soft step only when relaxing, when the normal impulses carry no bias.

use bytemuck::cast_ref;

use crate::lanes::{Vec2x4, WIDTH, cross, cross_scalar, f32x4, right_perp, turned};
use crate::threads::{Rows, Threads};
use crate::types::{
    ACCUMULATE, Accumulator, BOUNCES, BodyState, COLOR_COUNT, Constraint, Counters, FIXED_A, FIXED_B, FRESH,
    LAST_SWEEP, MEASURED, OVERFLOW_COLOR, Params, Surface, USE_BIAS, USE_FRICTION, WARM_START,
};

/// Share of the slop from which on a gap counts as one. The formulae for gap and touch differ by a few per cent of the
/// impulse; bodies placed exactly side by side would be handed to either by rounding if the line were at zero.
pub(crate) const GAP: f32 = 1e-3;
/// A contact that slides slower than this after friction did what it can at rest still counts as at rest, m/s. Without
/// it, a load that lets go for one substep, as it may while impulses settle, would never hold again.
const STICK_SPEED: f32 = 0.01;
/// Constraints that one task solves at least.
const CHUNK: usize = 64 * WIDTH;

/// Visits the constraints colour by colour, with the slot of the first, in groups of up to [`WIDTH`] that share no dynamic body. Groups of one
/// colour may be visited at the same time; the overflow is visited one by one, in order.
pub fn for_groups(
    threads: &Threads,
    counters: &Counters,
    constraints: &mut [Constraint],
    each: impl Fn(usize, &mut [Constraint]) + Sync,
) {
    for color in 0..COLOR_COUNT as usize {
        let (start, end) = (counters.color_starts[color] as usize, counters.color_starts[color + 1] as usize);
        let range = &mut constraints[start..end];
        if color == OVERFLOW_COLOR as usize {
            range.iter_mut().enumerate().for_each(|(slot, one)| each(start + slot, std::slice::from_mut(one)));
        } else {
            threads.for_chunks(range, CHUNK, |first, chunk| {
                let groups = chunk.chunks_mut(WIDTH).enumerate();
                groups.for_each(|(group, part)| each(start + first + group * WIDTH, part));
            });
        }
    }
}

/// As [`for_groups`], one constraint at a time.
pub fn for_constraints(
    threads: &Threads,
    counters: &Counters,
    constraints: &mut [Constraint],
    each: impl Fn(&mut Constraint) + Sync,
) {
    for_groups(threads, counters, constraints, |_, group| group.iter_mut().for_each(&each));
}

/// One sweep.
pub fn solve(
    threads: &Threads,
    params: &Params,
    flags: u32,
    counters: &Counters,
    states: &Rows<BodyState, 4>,
    accumulators: &Rows<Accumulator, 2>,
    constraints: &mut [Constraint],
    surfaces: &Rows<Surface, 2>,
) {
    for_groups(threads, counters, constraints, |slot, group| {
        let mut lanes = Lanes::load(slot, group, surfaces);
        lanes.solve(params, flags, states);
        if flags & LAST_SWEEP != 0 && params.switches & WARM_START != 0 {
            lanes.accumulate(accumulators);
        }
        lanes.store(group, params.switches & BOUNCES != 0, flags & MEASURED == 0);
        lanes.store_rolling(slot, surfaces);
    });
}

/// Writes back the velocity of a body, and nothing else of its state.
#[inline(always)]
pub fn set_velocity(states: &Rows<BodyState, 4>, body: u32, row: f32x4) {
    states.set_lanes(body as usize, 0, row);
}

/// A constraint that moves nothing, for the lanes of a group that is not full.
const NEUTRAL: Constraint = Constraint {
    body_a: 0,
    body_b: 0,
    normal: [0.0; 2],
    inv_mass_a: 0.0,
    inv_inertia_a: 0.0,
    inv_mass_b: 0.0,
    inv_inertia_b: 0.0,
    friction: 0.0,
    restitution: 0.0,
    flags: FIXED_A | FIXED_B,
    contact: 0,
    points: [crate::types::ConstraintPoint {
        r_a: [0.0; 2],
        r_b: [0.0; 2],
        separation: 0.0,
        normal_mass: 0.0,
        tangent_mass: 0.0,
        relative_velocity: 0.0,
    }; 2],
    impulses: [0.0; 4],
    max_impulses: [0.0; 2],
    separations: [0.0; 2],
};

/// A group of constraints, a lane each. Points that a contact does not have are zero and take no impulse.
#[derive(Debug)]
pub struct Lanes {
    count: usize,
    body_a: [u32; WIDTH],
    body_b: [u32; WIDTH],
    flags: [u32; WIDTH],
    normal: Vec2x4,
    inv_mass_a: f32x4,
    inv_inertia_a: f32x4,
    inv_mass_b: f32x4,
    inv_inertia_b: f32x4,
    friction: f32x4,
    points: [PointLanes; 2],
    max_impulses: [f32x4; 2],
    separations: [f32x4; 2],
    surface: Option<SurfaceLanes>,
}

/// [`Surface`], a lane each.
#[derive(Clone, Copy, Debug)]
struct SurfaceLanes {
    kinetic_friction: f32x4,
    tangent_speed: f32x4,
    rolling_resistance: f32x4,
    rolling_impulse: f32x4,
}

#[derive(Debug)]
struct PointLanes {
    r_a: Vec2x4,
    r_b: Vec2x4,
    separation: f32x4,
    normal_mass: f32x4,
    tangent_mass: f32x4,
    normal_impulse: f32x4,
    tangent_impulse: f32x4,
}

impl SurfaceLanes {
    #[inline(always)]
    fn load(slot: usize, count: usize, surfaces: &Rows<Surface, 2>) -> Self {
        let zero = f32x4::splat(0.0);
        let row = |lane: usize| if lane < count { surfaces.lanes(slot + lane, 0) } else { zero };
        let [kinetic_friction, tangent_speed, rolling_resistance, rolling_impulse] =
            f32x4::transpose([row(0), row(1), row(2), row(3)]);
        Self { kinetic_friction, tangent_speed, rolling_resistance, rolling_impulse }
    }
}

impl Lanes {
    /// Reads a group of one to four constraints, of which `slot` is the first, and their surfaces if there are any.
    #[inline(always)]
    #[must_use]
    pub fn load(slot: usize, group: &[Constraint], surfaces: &Rows<Surface, 2>) -> Self {
        let lanes: [&Constraint; WIDTH] = std::array::from_fn(|lane| group.get(lane).unwrap_or(&NEUTRAL));
        let row = |row: usize| {
            let lane = |lane: usize| f32x4::from(cast_ref::<_, [[f32; 4]; 9]>(lanes[lane])[row]);
            f32x4::transpose([lane(0), lane(1), lane(2), lane(3)])
        };
        let [_, _, normal_x, normal_y] = row(0);
        let [inv_mass_a, inv_inertia_a, inv_mass_b, inv_inertia_b] = row(1);
        let [normal_impulse_0, tangent_impulse_0, normal_impulse_1, tangent_impulse_1] = row(7);
        let [max_impulse_0, max_impulse_1, separation_0, separation_1] = row(8);
        let point = |end: usize, normal_impulse: f32x4, tangent_impulse: f32x4| {
            let [r_a_x, r_a_y, r_b_x, r_b_y] = row(3 + 2 * end);
            let [separation, normal_mass, tangent_mass, _] = row(4 + 2 * end);
            PointLanes {
                r_a: Vec2x4::new(r_a_x, r_a_y),
                r_b: Vec2x4::new(r_b_x, r_b_y),
                separation,
                normal_mass,
                tangent_mass,
                normal_impulse,
                tangent_impulse,
            }
        };
        Self {
            count: group.len(),
            body_a: lanes.map(|constraint| constraint.body_a),
            body_b: lanes.map(|constraint| constraint.body_b),
            flags: lanes.map(|constraint| constraint.flags),
            normal: Vec2x4::new(normal_x, normal_y),
            inv_mass_a,
            inv_inertia_a,
            inv_mass_b,
            inv_inertia_b,
            friction: row(2)[0],
            points: [point(0, normal_impulse_0, tangent_impulse_0), point(1, normal_impulse_1, tangent_impulse_1)],
            max_impulses: [max_impulse_0, max_impulse_1],
            separations: [separation_0, separation_1],
            surface: (!surfaces.is_empty()).then(|| SurfaceLanes::load(slot, group.len(), surfaces)),
        }
    }

    /// Writes the impulses back, and what was `measured`.
    #[inline(always)]
    fn store(&self, group: &mut [Constraint], bounces: bool, measured: bool) {
        let [p_0, p_1] = &self.points;
        let impulses =
            f32x4::transpose([p_0.normal_impulse, p_0.tangent_impulse, p_1.normal_impulse, p_1.tangent_impulse]);
        for (constraint, impulses) in group.iter_mut().zip(impulses) {
            constraint.impulses = impulses.to_array();
        }
        if bounces || measured {
            let most = if bounces { self.max_impulses } else { [f32x4::splat(0.0); 2] };
            let rows = f32x4::transpose([most[0], most[1], self.separations[0], self.separations[1]]);
            for (constraint, row) in group.iter_mut().zip(rows) {
                let [most_0, most_1, separation_0, separation_1] = row.to_array();
                constraint.max_impulses = [most_0, most_1];
                constraint.separations = [separation_0, separation_1];
            }
        }
    }

    /// Writes the impulses against rolling back.
    #[inline(always)]
    fn store_rolling(&self, slot: usize, surfaces: &Rows<Surface, 2>) {
        let Some(SurfaceLanes { kinetic_friction, tangent_speed, rolling_resistance, rolling_impulse }) = self.surface
        else {
            return;
        };
        let rows = f32x4::transpose([kinetic_friction, tangent_speed, rolling_resistance, rolling_impulse]);
        for (lane, row) in rows.into_iter().enumerate().take(self.count) {
            surfaces.set_lanes(slot + lane, 0, row);
        }
    }

    /// One visit: normal impulses, then friction, on the velocities of the bodies.
    #[inline(always)]
    fn solve(&mut self, params: &Params, flags: u32, states: &Rows<BodyState, 4>) {
        let load = |bodies: &[u32; WIDTH], half: usize| {
            // Spelled out: `map` on an array is not always inlined, and then the lanes go through memory.
            let [a, b, c, d] = bodies.map(|body| body as usize);
            f32x4::transpose([
                states.lanes(a, half),
                states.lanes(b, half),
                states.lanes(c, half),
                states.lanes(d, half),
            ])
        };
        let [v_a_x, v_a_y, mut w_a, status_a] = load(&self.body_a, 0);
        let [v_b_x, v_b_y, mut w_b, status_b] = load(&self.body_b, 0);
        let (mut v_a, mut v_b) = (Vec2x4::new(v_a_x, v_a_y), Vec2x4::new(v_b_x, v_b_y));
        if flags & MEASURED == 0 {
            let [p_a_x, p_a_y, q_a_x, q_a_y] = load(&self.body_a, 1);
            let [p_b_x, p_b_y, q_b_x, q_b_y] = load(&self.body_b, 1);
            let moved = Vec2x4::new(p_b_x, p_b_y) - Vec2x4::new(p_a_x, p_a_y);
            let (turn_a, turn_b) = (Vec2x4::new(q_a_x, q_a_y), Vec2x4::new(q_b_x, q_b_y));
            for (point, separation) in self.points.iter().zip(&mut self.separations) {
                let turned = turned(turn_b, point.r_b) - turned(turn_a, point.r_a);
                *separation = point.separation + (moved + turned).dot(self.normal);
            }
        }
        let Self { normal, inv_mass_a: m_a, inv_inertia_a: i_a, inv_mass_b: m_b, inv_inertia_b: i_b, .. } = *self;
        let tangent = right_perp(normal);
        let (zero, one) = (f32x4::splat(0.0), f32x4::splat(1.0));

        let (h, gap) = (f32x4::splat(params.h), f32x4::splat(GAP * params.linear_slop));
        let use_bias = flags & USE_BIAS != 0;
        let softness: [f32x4; 4] = if use_bias {
            let lane = |lane: usize| {
                let fixed = self.flags[lane] & (FIXED_A | FIXED_B) != 0;
                f32x4::from(if fixed { params.fixed_softness } else { params.contact_softness })
            };
            f32x4::transpose([lane(0), lane(1), lane(2), lane(3)])
        } else {
            [zero, one, zero, zero]
        };
        let [bias_rate, soft_mass_scale, soft_impulse_scale, slop] = softness;
        let push_speed = f32x4::splat(-params.push_speed);
        let accumulate = params.switches & ACCUMULATE != 0;
        if let Some(surface) = &mut self.surface
            && flags & FRESH != 0
        {
            surface.rolling_impulse = zero;
        }

        for ((point, most), separation) in self.points.iter_mut().zip(&mut self.max_impulses).zip(self.separations) {
            let (r_a, r_b) = (point.r_a, point.r_b);
            if flags & FRESH != 0 {
                point.normal_impulse = zero;
                point.tangent_impulse = zero;
            }
            let apart = separation.simd_gt(gap);
            let (bias, mass_scale, impulse_scale) = if use_bias {
                let depth = (separation + slop).fast_min(zero);
                let push = (soft_mass_scale * bias_rate * depth).fast_max(push_speed);
                (
                    apart.bitselect(separation / h, push),
                    apart.bitselect(one, soft_mass_scale),
                    apart.bitselect(zero, soft_impulse_scale),
                )
            } else {
                (apart.bitselect(separation / h, zero), one, zero)
            };
            let velocity = ((v_b + cross_scalar(w_b, r_b)) - (v_a + cross_scalar(w_a, r_a))).dot(normal);
            let old = point.normal_impulse;
            let wanted = -(point.normal_mass * (mass_scale * velocity + bias)) - impulse_scale * old;
            let new = if accumulate { (old + wanted).fast_max(zero) } else { old + wanted.fast_max(zero) };
            point.normal_impulse = new;
            *most = most.fast_max(new);
            let impulse = normal * (new - old);
            v_a -= impulse * m_a;
            w_a -= i_a * cross(r_a, impulse);
            v_b += impulse * m_b;
            w_b += i_b * cross(r_b, impulse);
        }

        if flags & USE_FRICTION != 0 {
            if let Some(surface) = &mut self.surface {
                let k = i_a + i_b;
                let mass = k.simd_gt(zero).bitselect(one / k, zero);
                let load = self.points[0].normal_impulse + self.points[1].normal_impulse;
                let most = surface.rolling_resistance * load;
                let old = surface.rolling_impulse;
                let new = (old - mass * (w_b - w_a)).fast_min(most).fast_max(-most);
                surface.rolling_impulse = new;
                w_a -= i_a * (new - old);
                w_b += i_b * (new - old);
            }
            // All ones at first. A point that the contact does not have agrees with the other.
            let mut slides = zero.simd_eq(zero);
            for point in &mut self.points {
                let (r_a, r_b) = (point.r_a, point.r_b);
                let mut velocity = ((v_b + cross_scalar(w_b, r_b)) - (v_a + cross_scalar(w_a, r_a))).dot(tangent);
                let most = self.friction * point.normal_impulse;
                let old = point.tangent_impulse;
                if let Some(surface) = &self.surface {
                    velocity -= surface.tangent_speed;
                }
                let wanted = old - point.tangent_mass * velocity;
                if self.surface.is_some() {
                    slides &= wanted.abs().simd_ge(most + point.tangent_mass * f32x4::splat(STICK_SPEED));
                }
                let new = wanted.fast_min(most).fast_max(-most);
                point.tangent_impulse = new;
                let impulse = tangent * (new - old);
                v_a -= impulse * m_a;
                w_a -= i_a * cross(r_a, impulse);
                v_b += impulse * m_b;
                w_b += i_b * cross(r_b, impulse);
            }
            if let Some(surface) = &self.surface {
                // A contact slides when none of its points holds any more, and then has what sliding gives. One point alone
                // says nothing: the first that is visited is asked to hold everything.
                for point in &mut self.points {
                    let (r_a, r_b) = (point.r_a, point.r_b);
                    let most = surface.kinetic_friction * point.normal_impulse;
                    let old = point.tangent_impulse;
                    let new = slides.bitselect(old.fast_min(most).fast_max(-most), old);
                    point.tangent_impulse = new;
                    let impulse = tangent * (new - old);
                    v_a -= impulse * m_a;
                    w_a -= i_a * cross(r_a, impulse);
                    v_b += impulse * m_b;
                    w_b += i_b * cross(r_b, impulse);
                }
            }
        }

        let rows_a = f32x4::transpose([v_a.x, v_a.y, w_a, status_a]);
        let rows_b = f32x4::transpose([v_b.x, v_b.y, w_b, status_b]);
        for lane in 0..self.count {
            if self.flags[lane] & FIXED_A == 0 {
                set_velocity(states, self.body_a[lane], rows_a[lane]);
            }
            if self.flags[lane] & FIXED_B == 0 {
                set_velocity(states, self.body_b[lane], rows_b[lane]);
            }
        }
    }

    /// Adds what the impulses do to the velocities of the bodies.
    #[inline(always)]
    pub fn accumulate(&self, accumulators: &Rows<Accumulator, 2>) {
        let tangent = right_perp(self.normal);
        let [p_0, p_1] = &self.points;
        let impulse_0 = self.normal * p_0.normal_impulse + tangent * p_0.tangent_impulse;
        let impulse_1 = self.normal * p_1.normal_impulse + tangent * p_1.tangent_impulse;
        let impulse = impulse_0 + impulse_1;
        let mut spin_a = cross(p_0.r_a, impulse_0) + cross(p_1.r_a, impulse_1);
        let mut spin_b = cross(p_0.r_b, impulse_0) + cross(p_1.r_b, impulse_1);
        if let Some(surface) = &self.surface {
            spin_a += surface.rolling_impulse;
            spin_b += surface.rolling_impulse;
        }
        let (push_a, push_b) = (impulse * self.inv_mass_a, impulse * self.inv_mass_b);
        let zero = f32x4::splat(0.0);
        let rows_a = f32x4::transpose([push_a.x, push_a.y, self.inv_inertia_a * spin_a, zero]);
        let rows_b = f32x4::transpose([push_b.x, push_b.y, self.inv_inertia_b * spin_b, zero]);
        for lane in 0..self.count {
            if self.flags[lane] & FIXED_A == 0 {
                let body = self.body_a[lane] as usize;
                accumulators.set_lanes(body, 0, accumulators.lanes(body, 0) - rows_a[lane]);
            }
            if self.flags[lane] & FIXED_B == 0 {
                let body = self.body_b[lane] as usize;
                accumulators.set_lanes(body, 0, accumulators.lanes(body, 0) + rows_b[lane]);
            }
        }
    }
}
