//! Sweeps of sequential impulses over the contacts, eight constraints at a time, shared among threads; the fast form of
//! [`crate::stages::solve`], to the same bits.

use crate::constants::{DAMPED_SHARE, FAR};
use crate::cpu::blocks::{Block, Bounce, ContactBatch, Visit};
use crate::lanes::{
    Lanes, Select, Simd, SimdBase, SimdMask, Vec2x8, WIDTH, cross, cross_scalar, dispatch, f32x8, inverse, mask32x8,
    right_perp, turned, u32x8,
};
use crate::mass_scale::mass_share;
use crate::stages::restitution::{impact_speed, land_contact, pressing_speed};
use crate::stages::solve::{GAP, softness, solve_contact, visits};
use crate::threads::{RowTable, Rows};
use crate::types::{
    ACCUMULATE, Accumulator, BodyState, FIXED_A, FIXED_B, FRESH, IMPACT, LEAVE_IMPACTS, LOADED, MASS_MASK,
    MATERIAL_SPRINGS, MEASURED, Params, ROUND_A, ROUND_B, Surface, USE_BIAS, USE_FRICTION,
};

/// Flags of the soft step's sweeps: biased with new separations, biased with the same separations, relax.
const FIRST: u32 = USE_BIAS;
const BIASED: u32 = USE_BIAS | MEASURED;
const RELAX: u32 = USE_FRICTION;
/// Flags of the relax sweep in worlds that bounce.
const RELAX_LEAVING: u32 = USE_FRICTION | LEAVE_IMPACTS;
/// Value for any other flags.
const ANY: u32 = u32::MAX;

/// Makes one sweep over all contacts.
pub fn solve(
    params: &Params,
    flags: u32,
    states: impl RowTable<Item = BodyState> + Sync,
    accumulators: &Rows<Accumulator, 2>,
    constraints: &mut impl Visit,
    surfaces: &Rows<Surface, 2>,
) {
    constraints.visit_batches(|batch| solve_batch(params, flags, states, accumulators, batch, surfaces));
}

/// Makes one sweep over some blocks of one colour.
pub fn solve_batch(
    params: &Params,
    flags: u32,
    states: impl RowTable<Item = BodyState>,
    accumulators: &Rows<Accumulator, 2>,
    batch: ContactBatch,
    surfaces: &Rows<Surface, 2>,
) {
    // The sweeps that nearly every step consists of have specialised code, without branches on what is known.
    let plain = surfaces.is_empty() && params.switches & ACCUMULATE != 0;
    dispatch!(simd => match flags {
        FIRST if plain => visit_batch::<FIRST, _>(simd, params, flags, states, accumulators, batch, surfaces),
        BIASED if plain => visit_batch::<BIASED, _>(simd, params, flags, states, accumulators, batch, surfaces),
        RELAX if plain => visit_batch::<RELAX, _>(simd, params, flags, states, accumulators, batch, surfaces),
        RELAX_LEAVING if plain => visit_batch::<RELAX_LEAVING, _>(simd, params, flags, states, accumulators, batch, surfaces),
        _ => visit_batch::<ANY, _>(simd, params, flags, states, accumulators, batch, surfaces),
    });
}

/// Solves blocks one by one. `KNOWN` are the flags of the sweep, or [`ANY`] if they are known only at run time. Known
/// flags imply that impulses are accumulated and clamped, and no surface needs more than friction.
#[inline(always)]
fn visit_batch<const KNOWN: u32, S: Simd>(
    simd: S,
    params: &Params,
    flags: u32,
    states: impl RowTable<Item = BodyState>,
    accumulators: &Rows<Accumulator, 2>,
    batch: ContactBatch,
    surfaces: &Rows<Surface, 2>,
) {
    let lands = |block: &Block| (u32x8::load_array(simd, block.flags) & IMPACT).simd_ne(0).any_true();
    if KNOWN != ANY && KNOWN != RELAX_LEAVING {
        for block in batch.blocks {
            if lands(block) {
                land_block(params, KNOWN, states, accumulators, 0, block, None, surfaces);
            } else {
                visit(simd, params, KNOWN, true, states, block, None, None);
            }
        }
        return;
    }
    let accumulate = params.switches & ACCUMULATE != 0;
    for (slot, block, bounce) in batch.blocks() {
        let bounce = bounce.map(|bounce| &*bounce);
        if lands(block) {
            land_block(params, flags, states, accumulators, slot, block, bounce, surfaces);
        } else if KNOWN == RELAX_LEAVING {
            visit(simd, params, KNOWN, true, states, block, bounce, None);
        } else {
            let mut surface = SurfaceLanes::load(slot, block, surfaces);
            visit(simd, params, flags, accumulate, states, block, bounce, surface.as_mut());
            if let Some(surface) = &surface {
                surface.store_rolling(slot, block, surfaces);
            }
        }
    }
}

/// Solves a block with a contact that was found ahead, lane by lane.
#[cold]
#[inline(never)]
fn land_block(
    params: &Params,
    flags: u32,
    states: impl RowTable<Item = BodyState>,
    accumulators: &Rows<Accumulator, 2>,
    slot: usize,
    block: &mut Block,
    bounce: Option<&Bounce>,
    surfaces: &Rows<Surface, 2>,
) {
    for lane in 0..WIDTH {
        let mut c = block.get(lane);
        if c.flags & (FIXED_A | FIXED_B) == FIXED_A | FIXED_B {
            // Not in use.
            continue;
        }
        if let Some(bounce) = bounce {
            c.rebound = bounce.get(lane);
        }
        let (a, b) = (c.body_a as usize, c.body_b as usize);
        let pair = [states.get(a), states.get(b)];
        let mut surface = (!surfaces.is_empty()).then(|| surfaces.get(slot + lane));
        let (mut sums, mut solved) = ([accumulators.get(a), accumulators.get(b)], pair);
        if c.flags & IMPACT == 0 {
            solved = solve_contact(params, flags, &mut c, surface.as_mut(), pair);
        } else if let Some([new_a, new_b]) = land_contact(params, flags, &mut c, surface.as_ref(), pair) {
            (solved[0], sums[0]) = new_a.applied(pair[0], sums[0]);
            (solved[1], sums[1]) = new_b.applied(pair[1], sums[1]);
        }
        block.set(lane, &c);
        if let Some(surface) = surface {
            surfaces.set(slot + lane, surface);
        }
        if c.flags & FIXED_A == 0 {
            states.set(a, solved[0]);
            accumulators.set(a, sums[0]);
        }
        if c.flags & FIXED_B == 0 {
            states.set(b, solved[1]);
            accumulators.set(b, sums[1]);
        }
    }
}

/// Eight rows of [`Surface`], one per lane.
#[derive(Clone, Copy, Debug, Default)]
pub struct SurfaceLanes {
    kinetic_friction: Lanes,
    tangent_speed: Lanes,
    rolling_resistance: Lanes,
    pub(super) rolling_impulse: Lanes,
}

/// Returns the lanes of a block that are in use.
fn in_use(block: &Block) -> impl Iterator<Item = usize> {
    let flags = block.flags.into_iter().enumerate();
    flags.filter(|(_, flags)| flags & (FIXED_A | FIXED_B) != FIXED_A | FIXED_B).map(|(lane, _)| lane)
}

impl SurfaceLanes {
    /// Loads the surfaces of the block whose first constraint is `slot`, if there are any.
    #[must_use]
    pub fn load(slot: usize, block: &Block, surfaces: &Rows<Surface, 2>) -> Option<Self> {
        if surfaces.is_empty() {
            return None;
        }
        let mut lanes = Self::default();
        for lane in in_use(block) {
            let surface = surfaces.get(slot + lane);
            lanes.kinetic_friction.0[lane] = surface.kinetic_friction;
            lanes.tangent_speed.0[lane] = surface.tangent_speed;
            lanes.rolling_resistance.0[lane] = surface.rolling_resistance;
            lanes.rolling_impulse.0[lane] = surface.rolling_impulse;
        }
        Some(lanes)
    }

    /// Writes the rolling impulses back.
    fn store_rolling(&self, slot: usize, block: &Block, surfaces: &Rows<Surface, 2>) {
        for lane in in_use(block) {
            let rolling_impulse = self.rolling_impulse.0[lane];
            surfaces.set(slot + lane, Surface { rolling_impulse, ..surfaces.get(slot + lane) });
        }
    }
}

/// Solves one block: rolling resistance and friction after the normal impulses.
#[inline(always)]
#[allow(clippy::too_many_lines, reason = "read beside `solve_contact` of the reference, from top to bottom")]
fn visit<S: Simd>(
    simd: S,
    params: &Params,
    flags: u32,
    accumulate: bool,
    states: impl RowTable<Item = BodyState>,
    block: &mut Block,
    bounce: Option<&Bounce>,
    mut surface: Option<&mut SurfaceLanes>,
) {
    let splat = |value: f32| f32x8::splat(simd, value);
    let (states_a, states_b) = (states.eight(block.body_a), states.eight(block.body_b));
    let [v_a_x, v_a_y, mut w_a, status_a] = states_a.columns(simd, 0);
    let [v_b_x, v_b_y, mut w_b, status_b] = states_b.columns(simd, 0);
    let (mut v_a, mut v_b) = (Vec2x8::new(v_a_x, v_a_y), Vec2x8::new(v_b_x, v_b_y));
    let normal = block.normal.on(simd);
    let (m_a, i_a) = (block.inv_mass_a.on(simd), block.inv_inertia_a.on(simd));
    let (m_b, i_b) = (block.inv_mass_b.on(simd), block.inv_inertia_b.on(simd));
    if flags & MEASURED == 0 {
        let [p_a_x, p_a_y, q_a_x, q_a_y] = states_a.columns(simd, 1);
        let [p_b_x, p_b_y, q_b_x, q_b_y] = states_b.columns(simd, 1);
        let moved = Vec2x8::new(p_b_x, p_b_y) - Vec2x8::new(p_a_x, p_a_y);
        let flags = u32x8::load_array(simd, block.flags);
        let (turns_a, turns_b) = ((flags & ROUND_A).simd_eq(0), (flags & ROUND_B).simd_eq(0));
        let turn_a = Vec2x8::new(turns_a.select(q_a_x, splat(1.0)), turns_a.select(q_a_y, splat(0.0)));
        let turn_b = Vec2x8::new(turns_b.select(q_b_x, splat(1.0)), turns_b.select(q_b_y, splat(0.0)));
        for point in &mut block.points {
            let turned = turned(turn_b, point.r_b.on(simd)) - turned(turn_a, point.r_a.on(simd));
            point.measured.put(point.separation.on(simd) + (moved + turned).dot(normal));
        }
    }
    let tangent = right_perp(normal);
    let (zero, one) = (splat(0.0), splat(1.0));

    let (h, gap) = (splat(params.h), splat(GAP * params.linear_slop));
    let use_bias = flags & USE_BIAS != 0;
    let moving = (u32x8::load_array(simd, block.flags) & (FIXED_A | FIXED_B)).simd_eq(0);
    let all_move = moving.all_true();
    let spring = if use_bias && params.switches & MATERIAL_SPRINGS != 0 {
        let springs = block.flags.map(|flags| softness(params, flags));
        std::array::from_fn(|value| f32x8::load_array(simd, springs.map(|spring| spring[value])))
    } else if use_bias && all_move {
        params.contact_softness.map(splat)
    } else if use_bias {
        let (contact, fixed) = (params.contact_softness, params.fixed_softness);
        let of = |value: usize| moving.select(splat(contact[value]), splat(fixed[value]));
        [of(0), of(1), of(2), of(3)]
    } else {
        [zero, one, zero, zero]
    };
    let [bias_rate, soft_mass_scale, soft_impulse_scale, slop] =
        if use_bias { damped(simd, params, spring, [status_a, status_b], moving) } else { spring };
    let loaded = !(u32x8::load_array(simd, block.flags) & LOADED).simd_eq(0);
    let push_speed = loaded.select(splat(-FAR), splat(-params.push_speed));
    if flags & FRESH != 0 {
        for point in &mut block.points {
            point.normal_impulse.put(zero);
            point.tangent_impulse.put(zero);
        }
        if let Some(surface) = surface.as_deref_mut() {
            surface.rolling_impulse.put(zero);
        }
    }

    let order = visits(flags);
    for end in order {
        let point = &mut block.points[end];
        let (r_a, r_b, separation) = (point.r_a.on(simd), point.r_b.on(simd), point.measured.on(simd));
        let apart = separation.simd_gt(gap);
        let (bias, mass_scale, impulse_scale) = if use_bias {
            let depth = (separation + slop).min(zero);
            let push = (soft_mass_scale * bias_rate * depth).max(push_speed);
            (
                apart.select(separation / h, push),
                apart.select(one, soft_mass_scale),
                apart.select(zero, soft_impulse_scale),
            )
        } else {
            (apart.select(separation / h, zero), one, zero)
        };
        let velocity = ((v_b + cross_scalar(w_b, r_b)) - (v_a + cross_scalar(w_a, r_a))).dot(normal);
        let old = point.normal_impulse.on(simd);
        let wanted = -(point.normal_mass.on(simd) * (mass_scale * velocity + bias)) - impulse_scale * old;
        let mut new = if accumulate { (old + wanted).max(zero) } else { old + wanted.max(zero) };
        if flags & LEAVE_IMPACTS != 0
            && let Some(bounce) = bounce
        {
            let bounces = !bounce.restitution.on(simd).simd_eq(zero);
            let impact = old.simd_gt(zero).select(splat(-pressing_speed(params)), splat(-impact_speed(params)));
            let leaves = velocity.simd_lt(impact) & bounces;
            new = leaves.select(old, new);
        }
        point.normal_impulse.put(new);
        let impulse = normal * (new - old);
        v_a -= impulse * m_a;
        w_a -= i_a * cross(r_a, impulse);
        v_b += impulse * m_b;
        w_b += i_b * cross(r_b, impulse);
    }

    if flags & USE_FRICTION != 0 {
        if let Some(surface) = surface.as_deref_mut() {
            let mass = inverse(simd, i_a + i_b);
            let load = block.points[0].normal_impulse.on(simd) + block.points[1].normal_impulse.on(simd);
            let most = surface.rolling_resistance.on(simd) * load;
            let old = surface.rolling_impulse.on(simd);
            let new = (old - mass * (w_b - w_a)).min(most).max(-most);
            surface.rolling_impulse.put(new);
            w_a -= i_a * (new - old);
            w_b += i_b * (new - old);
        }
        // True at first. A missing point is neutral.
        let mut slides = zero.simd_eq(zero);
        for end in order {
            let point = &mut block.points[end];
            let (r_a, r_b) = (point.r_a.on(simd), point.r_b.on(simd));
            let mut velocity = ((v_b + cross_scalar(w_b, r_b)) - (v_a + cross_scalar(w_a, r_a))).dot(tangent);
            let most = friction_limit(block.friction.on(simd), point.normal_impulse.on(simd));
            let (old, mass) = (point.tangent_impulse.on(simd), point.tangent_mass.on(simd));
            if let Some(surface) = &surface {
                velocity -= surface.tangent_speed.on(simd);
            }
            let wanted = old - mass * velocity;
            if surface.is_some() {
                slides &= wanted.abs().simd_ge(most + mass * params.stick_speed);
            }
            let new = wanted.min(most).max(-most);
            point.tangent_impulse.put(new);
            let impulse = tangent * (new - old);
            v_a -= impulse * m_a;
            w_a -= i_a * cross(r_a, impulse);
            v_b += impulse * m_b;
            w_b += i_b * cross(r_b, impulse);
        }
        if let Some(surface) = &surface {
            // A contact slides if none of its points holds any more; only then kinetic friction bounds the impulse. One
            // point alone proves nothing: the point visited first is asked to hold the whole load.
            for end in order {
                let point = &mut block.points[end];
                let (r_a, r_b) = (point.r_a.on(simd), point.r_b.on(simd));
                let most = friction_limit(surface.kinetic_friction.on(simd), point.normal_impulse.on(simd));
                let old = point.tangent_impulse.on(simd);
                let new = slides.select(old.min(most).max(-most), old);
                point.tangent_impulse.put(new);
                let impulse = tangent * (new - old);
                v_a -= impulse * m_a;
                w_a -= i_a * cross(r_a, impulse);
                v_b += impulse * m_b;
                w_b += i_b * cross(r_b, impulse);
            }
        }
    }

    // Velocities, and nothing else of a body's state.
    let flags = block.flags;
    states_a.set_columns(0, [v_a.x, v_a.y, w_a, status_a], |lane| all_move || flags[lane] & FIXED_A == 0);
    states_b.set_columns(0, [v_b.x, v_b.y, w_b, status_b], |lane| all_move || flags[lane] & FIXED_B == 0);
}

/// [`crate::stages::solve::friction_limit`] of eight points.
#[inline(always)]
fn friction_limit<S: Simd>(coefficient: f32x8<S>, normal_impulse: f32x8<S>) -> f32x8<S> {
    coefficient * normal_impulse
}

/// Returns the springs of contacts with the damping ratios for the masses of their bodies: the fast form of
/// [`crate::mass_scale::damped`]. Only contacts in `moving` are between two bodies that move.
#[inline(always)]
fn damped<S: Simd>(
    simd: S,
    params: &Params,
    [bias_rate, mass_scale, impulse_scale, slop]: [f32x8<S>; 4],
    statuses: [f32x8<S>; 2],
    moving: mask32x8<S>,
) -> [f32x8<S>; 4] {
    let [statuses_a, statuses_b] = statuses.map(|status| status.to_array().map(f32::to_bits));
    let both = |lane: usize| statuses_a[lane] & MASS_MASK != 0 && statuses_b[lane] & MASS_MASK != 0;
    if !(0..WIDTH).any(both) {
        return [bias_rate, mass_scale, impulse_scale, slop];
    }
    let [share_a, share_b] = [statuses_a, statuses_b].map(|all| f32x8::load_array(simd, all.map(mass_share)));
    let one = f32x8::splat(simd, 1.0);
    let share = share_a.max(share_b).max(f32x8::splat(simd, DAMPED_SHARE));
    let is_damped = moving & !share.simd_eq(one);
    let together = share + (one - f32x8::splat(simd, params.h) * bias_rate) * (one - share);
    let (scale, leak) = (mass_scale * together, impulse_scale * share);
    [
        is_damped.select(bias_rate * (share / together), bias_rate),
        is_damped.select(scale / (scale + leak), mass_scale),
        is_damped.select(leak / (scale + leak), impulse_scale),
        slop,
    ]
}
