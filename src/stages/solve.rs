//! **solve** and **relax**: one sweep of sequential impulses over all contacts, colour by colour.
//!
//! Reads and writes constraints (impulses) and states (velocities). By
//! colour, one thread a constraint on the device, a block of four on the CPU. `relax` is the same sweep
//! without bias.
//!
//! One formula serves every mode: `λ = −m (mass_scale·v + bias) − impulse_scale·Λ`, with `Λ` clamped, not `λ`. The soft
//! step takes its three coefficients from a spring-damper; Baumgarte's method is mass scale 1, impulse scale 0.
//! A gap `s > 0` closes at most at the speed `s/h` in every mode (speculative contact). Friction is solved where
//! [`USE_FRICTION`] says so: in the soft step only when relaxing, when the normal impulses carry no bias.

use crate::blocks::{Block, Bounce, Visit};
use crate::lanes::{Vec2x4, WIDTH, cross, cross_scalar, f32x4, right_perp, turned};
use crate::threads::{Row, Rows};
use crate::types::{
    ACCUMULATE, BOUNCES, BodyState, FIXED_A, FIXED_B, FRESH, MEASURED, Params, Surface, USE_BIAS, USE_FRICTION,
};

/// Share of the slop from which on a gap counts as one. The formulae for gap and touch differ by a few per cent of the
/// impulse; bodies placed exactly side by side would be handed to either by rounding if the line were at zero.
pub(crate) const GAP: f32 = 1e-3;
/// A contact that slides slower than this after friction did what it can at rest still counts as at rest, m/s. Without
/// it, a load that lets go for one substep, as it may while impulses settle, would never hold again.
const STICK_SPEED: f32 = 0.01;

/// The sweeps of the soft step: with bias, first as positions are measured and then as they were, and without.
const FIRST: u32 = USE_BIAS;
const BIASED: u32 = USE_BIAS | MEASURED;
const RELAX: u32 = USE_FRICTION;
/// Any sweep.
const ANY: u32 = u32::MAX;

/// One sweep.
pub fn solve(
    params: &Params,
    flags: u32,
    states: &Rows<BodyState, 4>,
    constraints: &mut impl Visit,
    surfaces: &Rows<Surface, 2>,
) {
    // The sweeps that nearly every step is made of have code of their own, in which nothing is asked that is known.
    let plain = surfaces.is_empty() && params.switches & (ACCUMULATE | BOUNCES) == ACCUMULATE;
    match flags {
        FIRST if plain => sweep::<FIRST>(params, flags, states, constraints, surfaces),
        BIASED if plain => sweep::<BIASED>(params, flags, states, constraints, surfaces),
        RELAX if plain => sweep::<RELAX>(params, flags, states, constraints, surfaces),
        _ => sweep::<ANY>(params, flags, states, constraints, surfaces),
    }
}

/// One sweep with the flags `KNOWN`, if these are not [`ANY`], of impulses that are accumulated and clamped, where no
/// surface has more than friction and nothing bounces.
fn sweep<const KNOWN: u32>(
    params: &Params,
    flags: u32,
    states: &Rows<BodyState, 4>,
    constraints: &mut impl Visit,
    surfaces: &Rows<Surface, 2>,
) {
    constraints.visit_batches(|batch| {
        if KNOWN != ANY {
            for block in batch.blocks {
                visit(params, KNOWN, true, states, block, None, None);
            }
            return;
        }
        let accumulate = params.switches & ACCUMULATE != 0;
        for (slot, block, bounce) in batch.blocks() {
            let mut surface = SurfaceLanes::load(slot, block, surfaces);
            visit(params, flags, accumulate, states, block, bounce, surface.as_mut());
            if let Some(surface) = &surface {
                surface.store_rolling(slot, block, surfaces);
            }
        }
    });
}

/// [`Surface`], a lane each.
#[derive(Clone, Copy, Debug)]
pub struct SurfaceLanes {
    kinetic_friction: f32x4,
    tangent_speed: f32x4,
    rolling_resistance: f32x4,
    pub(super) rolling_impulse: f32x4,
}

/// Whether a lane of a block is in use.
fn in_use(block: &Block, lane: usize) -> bool {
    block.flags[lane] & (FIXED_A | FIXED_B) != FIXED_A | FIXED_B
}

impl SurfaceLanes {
    /// The surfaces of a block of which `slot` is the first constraint, if there are any.
    #[inline(always)]
    #[must_use]
    pub fn load(slot: usize, block: &Block, surfaces: &Rows<Surface, 2>) -> Option<Self> {
        if surfaces.is_empty() {
            return None;
        }
        let zero = f32x4::splat(0.0);
        let row = |lane: usize| if in_use(block, lane) { surfaces.lanes(slot + lane, 0) } else { zero };
        let [kinetic_friction, tangent_speed, rolling_resistance, rolling_impulse] =
            f32x4::transpose([row(0), row(1), row(2), row(3)]);
        Some(Self { kinetic_friction, tangent_speed, rolling_resistance, rolling_impulse })
    }

    /// Writes the impulses against rolling back.
    #[inline(always)]
    fn store_rolling(&self, slot: usize, block: &Block, surfaces: &Rows<Surface, 2>) {
        let Self { kinetic_friction, tangent_speed, rolling_resistance, rolling_impulse } = *self;
        let rows = f32x4::transpose([kinetic_friction, tangent_speed, rolling_resistance, rolling_impulse]);
        for (lane, row) in rows.into_iter().enumerate().filter(|&(lane, _)| in_use(block, lane)) {
            surfaces.set_lanes(slot + lane, 0, row);
        }
    }
}

/// Visits a block: normal impulses, then friction, on the velocities of the bodies.
#[inline(always)]
fn visit(
    params: &Params,
    flags: u32,
    accumulate: bool,
    states: &Rows<BodyState, 4>,
    block: &mut Block,
    bounce: Option<&mut Bounce>,
    mut surface: Option<&mut SurfaceLanes>,
) {
    // Spelled out: `map` on an array is not always inlined, and then the lanes go through memory.
    let rows = |[a, b, c, d]: [u32; WIDTH]| {
        let row = |body: u32| states.row(body as usize);
        [row(a), row(b), row(c), row(d)]
    };
    let load = |[a, b, c, d]: [Row<4>; WIDTH], half: usize| {
        f32x4::transpose([a.lanes(half), b.lanes(half), c.lanes(half), d.lanes(half)])
    };
    let (states_a, states_b) = (rows(block.body_a), rows(block.body_b));
    let [v_a_x, v_a_y, mut w_a, status_a] = load(states_a, 0);
    let [v_b_x, v_b_y, mut w_b, status_b] = load(states_b, 0);
    let (mut v_a, mut v_b) = (Vec2x4::new(v_a_x, v_a_y), Vec2x4::new(v_b_x, v_b_y));
    let Block { normal, inv_mass_a: m_a, inv_inertia_a: i_a, inv_mass_b: m_b, inv_inertia_b: i_b, .. } = *block;
    if flags & MEASURED == 0 {
        let [p_a_x, p_a_y, q_a_x, q_a_y] = load(states_a, 1);
        let [p_b_x, p_b_y, q_b_x, q_b_y] = load(states_b, 1);
        let moved = Vec2x4::new(p_b_x, p_b_y) - Vec2x4::new(p_a_x, p_a_y);
        let (turn_a, turn_b) = (Vec2x4::new(q_a_x, q_a_y), Vec2x4::new(q_b_x, q_b_y));
        for point in &mut block.points {
            let turned = turned(turn_b, point.r_b) - turned(turn_a, point.r_a);
            point.measured = point.separation + (moved + turned).dot(normal);
        }
    }
    let tangent = right_perp(normal);
    let (zero, one) = (f32x4::splat(0.0), f32x4::splat(1.0));

    let (h, gap) = (f32x4::splat(params.h), f32x4::splat(GAP * params.linear_slop));
    let use_bias = flags & USE_BIAS != 0;
    let all_move = block.flags.iter().fold(0, |all, flags| all | flags) & (FIXED_A | FIXED_B) == 0;
    let softness: [f32x4; 4] = if use_bias && all_move {
        params.contact_softness.map(f32x4::splat)
    } else if use_bias {
        let lane = |lane: usize| {
            let fixed = block.flags[lane] & (FIXED_A | FIXED_B) != 0;
            f32x4::from(if fixed { params.fixed_softness } else { params.contact_softness })
        };
        f32x4::transpose([lane(0), lane(1), lane(2), lane(3)])
    } else {
        [zero, one, zero, zero]
    };
    let [bias_rate, soft_mass_scale, soft_impulse_scale, slop] = softness;
    let push_speed = f32x4::splat(-params.push_speed);
    if flags & FRESH != 0 {
        for point in &mut block.points {
            point.normal_impulse = zero;
            point.tangent_impulse = zero;
        }
        if let Some(surface) = surface.as_deref_mut() {
            surface.rolling_impulse = zero;
        }
    }

    for point in &mut block.points {
        let (r_a, r_b, separation) = (point.r_a, point.r_b, point.measured);
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
        let impulse = normal * (new - old);
        v_a -= impulse * m_a;
        w_a -= i_a * cross(r_a, impulse);
        v_b += impulse * m_b;
        w_b += i_b * cross(r_b, impulse);
    }
    if let Some(bounce) = bounce {
        for (most, point) in bounce.max_impulses.iter_mut().zip(&block.points) {
            *most = most.fast_max(point.normal_impulse);
        }
    }

    if flags & USE_FRICTION != 0 {
        if let Some(surface) = surface.as_deref_mut() {
            let k = i_a + i_b;
            let mass = k.simd_gt(zero).bitselect(one / k, zero);
            let load = block.points[0].normal_impulse + block.points[1].normal_impulse;
            let most = surface.rolling_resistance * load;
            let old = surface.rolling_impulse;
            let new = (old - mass * (w_b - w_a)).fast_min(most).fast_max(-most);
            surface.rolling_impulse = new;
            w_a -= i_a * (new - old);
            w_b += i_b * (new - old);
        }
        // All ones at first. A point that the contact does not have agrees with the other.
        let mut slides = zero.simd_eq(zero);
        for point in &mut block.points {
            let (r_a, r_b) = (point.r_a, point.r_b);
            let mut velocity = ((v_b + cross_scalar(w_b, r_b)) - (v_a + cross_scalar(w_a, r_a))).dot(tangent);
            let most = block.friction * point.normal_impulse;
            let old = point.tangent_impulse;
            if let Some(surface) = &surface {
                velocity -= surface.tangent_speed;
            }
            let wanted = old - point.tangent_mass * velocity;
            if surface.is_some() {
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
        if let Some(surface) = &surface {
            // A contact slides when none of its points holds any more, and then has what sliding gives. One point alone
            // says nothing: the first that is visited is asked to hold everything.
            for point in &mut block.points {
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

    // Velocities, and nothing else of a body's state.
    let rows_a = f32x4::transpose([v_a.x, v_a.y, w_a, status_a]);
    let rows_b = f32x4::transpose([v_b.x, v_b.y, w_b, status_b]);
    for lane in 0..WIDTH {
        if all_move || block.flags[lane] & FIXED_A == 0 {
            states_a[lane].set_lanes(0, rows_a[lane]);
        }
        if all_move || block.flags[lane] & FIXED_B == 0 {
            states_b[lane].set_lanes(0, rows_b[lane]);
        }
    }
}
