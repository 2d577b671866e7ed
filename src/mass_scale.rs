//! Mass scaling: bodies that are squeezed between others count as heavier than they are.
//!
//! A contact is as stiff as its lighter body, and a sweep hands a load on through a light body between heavy ones by
//! the share that it has of their mass. So a small stone under a large one is pressed into it, and no number of sweeps
//! finds its load. Both go away if the small one has more mass. So contacts, joints and gravity see at least the mass
//! with which its most loaded contact overlaps by a share of the slop: the true mass times a factor, inertia
//! included, with the true weight. Forces at rest are those of the true masses. A body in free flight, or pushed from
//! one side only, has its own mass.
//!
//! The status of a body holds the factor as a code, 128 an octave ([`MASS_SHIFT`]). [`warm_start`] finds what the
//! contacts of a step ask for, [`finalize`] the code of the next step. The factor
//!
//! - grows slowly, and from 1 more slowly still, and not while the contacts of the body are out of balance by more than
//!   [`CALM`] times the weight of the mass that they ask for: impacts, and worlds without gravity, have true masses;
//! - shrinks only if the load has become four times smaller: a spring whose stiffness followed its load would have no
//!   stiffness at all;
//! - is no larger than [`SCALED_FLOOR`], or than a share of the scaled mass of a neighbour: a falling heap of equal
//!   bodies that are all very heavy at its bottom falls apart.
//!
//! The damping ratio of a contact grows with the smaller factor of its two bodies ([`damped`]), so that a heap of
//! hundreds of rows, which swings slowly on its springs, does not swing for long. A damper holds no load: it may follow
//! the load, and a stiffness may not.
//!
//! While a body is squeezed, impulses that do not come in pairs move it less than they should: momentum is kept by
//! bodies of true mass alone. The [setting](crate::Settings::mass_scaling) turns it off.
//!
//! [`warm_start`]: crate::stages::warm_start
//! [`finalize`]: crate::stages::finalize

use glam::Vec2;

use crate::constants::{CALM, DAMPED_SHARE, SCALED_FLOOR, SCALED_SPREAD};
use crate::math::{inverse_mass_at, larger, smaller};
use crate::types::{ASLEEP, Accumulator, BodyData, BodyState, DYNAMIC, MASS_MASK, MASS_SHIFT, Params, QUARANTINED};

/// Bits of 1.0, and number of those of a float below a code.
const ONE: i32 = 0x3f80_0000;
const BELOW: i32 = 16;
/// Codes of an octave.
const MASS_OCTAVE: i32 = 128;
/// Codes by which a factor grows in a step, at most; the step from 1 is one code.
const MASS_GROWTH: i32 = MASS_OCTAVE / 16;
/// Codes by which a factor may exceed what the load asks for.
const MASS_SLACK: i32 = 2 * MASS_OCTAVE;
/// Largest code: a factor of 65,000.
const MASS_LARGEST: i32 = 2047;

/// Returns the share that the true mass of a body is of its scaled mass.
#[inline(always)]
#[must_use]
#[allow(clippy::cast_sign_loss, reason = "both are positive")]
pub fn mass_share(status: u32) -> f32 {
    f32::from_bits(ONE as u32 - (((status & MASS_MASK) >> MASS_SHIFT) << BELOW))
}

/// Returns the spring of a contact between two bodies that move, with the damping ratio for their masses: bias rate,
/// mass scale, impulse scale and slop, given those of true masses. How far it gives way under a load stays.
#[inline]
#[must_use]
pub fn damped(params: &Params, [bias_rate, mass_scale, impulse_scale, slop]: [f32; 4], statuses: [u32; 2]) -> [f32; 4] {
    let [share_a, share_b] = statuses.map(mass_share);
    let share = larger(larger(share_a, share_b), DAMPED_SHARE);
    if share == 1.0 {
        return [bias_rate, mass_scale, impulse_scale, slop];
    }
    // Twice the damping ratio and `h ω`, as a share of what they are with true masses, times `share`.
    let together = share + (1.0 - params.h * bias_rate) * (1.0 - share);
    let (scale, leak) = (mass_scale * together, impulse_scale * share);
    [bias_rate * (share / together), scale / (scale + leak), leak / (scale + leak), slop]
}

/// Returns the body as its contacts see it.
#[inline(always)]
#[must_use]
pub fn scaled(body: &BodyData, status: u32) -> BodyData {
    let share = mass_share(status);
    BodyData { inv_mass: body.inv_mass * share, inv_inertia: body.inv_inertia * share, ..*body }
}

/// Returns the masses that a contact with this normal impulse asks of its bodies, kg, given their scaled masses; 0 if
/// one of them is fixed.
#[inline(always)]
#[must_use]
pub fn asked(params: &Params, impulse: f32, inv_masses: [f32; 2], statuses: [u32; 2]) -> [f32; 2] {
    if inv_masses[0] == 0.0 || inv_masses[1] == 0.0 {
        return [0.0; 2];
    }
    let wanted = params.mass_per_impulse * impulse;
    let masses = inv_masses.map(|inv| 1.0 / inv);
    let most = |own: usize, other: usize| {
        let floor = SCALED_FLOOR * mass_share(statuses[own]) * masses[own];
        smaller(wanted, larger(floor, SCALED_SPREAD * masses[other]))
    };
    [most(0, 1), most(1, 0)]
}

/// Returns the status of a body with the mass of its next step, from what its contacts asked for in this one and from
/// the sum of all its impulses at the end of it.
#[inline]
#[must_use]
pub fn next_status(params: &Params, body: &BodyData, sum: &Accumulator, state: &BodyState) -> u32 {
    if params.mass_per_impulse == 0.0 || body.kind != DYNAMIC || state.status & (ASLEEP | QUARANTINED) != 0 {
        return state.status;
    }
    let old = code(state.status);
    let wanted = wanted(params, body, sum, state);
    let high = (wanted + MASS_SLACK).max(0);
    let new = if old < wanted {
        wanted.min(old + (old / 4).clamp(1, MASS_GROWTH))
    } else if old > high {
        high.max(old - MASS_OCTAVE)
    } else {
        old
    };
    with_code(state.status, new)
}

/// Returns the status of a body with the mass that it has under its load for long: that of the next step without the
/// limit of its growth. And true if it grew by more than that limit.
#[must_use]
pub fn grown_status(params: &Params, body: &BodyData, sum: &Accumulator, state: &BodyState) -> (u32, bool) {
    let old = code(state.status);
    let new = wanted(params, body, sum, state).clamp(old, MASS_LARGEST);
    (with_code(state.status, new), new > old + MASS_GROWTH)
}

#[inline]
#[allow(clippy::cast_possible_wrap, reason = "codes are at most 2047")]
fn code(status: u32) -> i32 {
    ((status & MASS_MASK) >> MASS_SHIFT) as i32
}

#[inline]
#[allow(clippy::cast_sign_loss, reason = "codes are at least 0")]
fn with_code(status: u32, code: i32) -> u32 {
    (status & !MASS_MASK) | (code.min(MASS_LARGEST) as u32) << MASS_SHIFT
}

/// Returns the code of the mass that the load asks for, rounded up; far below 0 if there is no load.
#[inline]
#[allow(clippy::cast_possible_wrap, reason = "a positive float")]
fn wanted(params: &Params, body: &BodyData, sum: &Accumulator, state: &BodyState) -> i32 {
    // As a factor of the scaled mass. What presses from one side only accelerates the body, and is no load.
    let asked = sum.asked_mass * body.inv_mass * mass_share(state.status);
    let kept = (Vec2::from(sum.velocity) + Vec2::from(state.velocity)).length();
    let load = asked - params.mass_per_impulse * kept;
    let is_calm = kept <= CALM * params.h * Vec2::from(params.gravity).length() * asked;
    if is_calm && load > 0.0 {
        code(state.status) + ((load.to_bits() as i32 - ONE + ((1 << BELOW) - 1)) >> BELOW)
    } else {
        -MASS_SLACK
    }
}

/// Returns how far the spring of a point gives way with scaled inverse masses and inertias, as a share of how far it
/// does with the true ones: 1 or less. Preloads are kept as lengths of the spring of the true masses, so that they push
/// alike at any scale.
#[inline(always)]
#[must_use]
pub fn softening_at(scaled: [f32; 4], unscaled: [f32; 4], r_a: Vec2, r_b: Vec2, normal: Vec2) -> f32 {
    let most = inverse_mass_at(unscaled, r_a, r_b, normal);
    if most > 0.0 { inverse_mass_at(scaled, r_a, r_b, normal) / most } else { 1.0 }
}

/// Returns about the same for all points of a contact, without their arms: by how much slower its preload changes.
#[inline(always)]
#[must_use]
pub fn softening(inv_masses: [f32; 2], statuses: [u32; 2]) -> f32 {
    if (statuses[0] | statuses[1]) & MASS_MASK == 0 {
        return 1.0;
    }
    let [a, b] = inv_masses;
    let true_sum = a / mass_share(statuses[0]) + b / mass_share(statuses[1]);
    if true_sum > 0.0 { (a + b) / true_sum } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bias rate, mass scale and impulse scale of a spring of 30 Hz with a damping ratio.
    fn spring(damping_ratio: f32, h: f32) -> [f32; 4] {
        let omega = std::f32::consts::TAU * 30.0;
        let a_1 = 2.0 * damping_ratio + h * omega;
        let a_2 = h * omega * a_1;
        [omega / a_1, a_2 / (1.0 + a_2), 1.0 / (1.0 + a_2), 0.005]
    }

    /// A contact of loaded bodies is the spring with as much more damping, up to four times.
    #[test]
    fn a_damped_spring_is_one_with_a_larger_damping_ratio() {
        let params = Params { h: 1.0 / 240.0, ..Params::default() };
        let plain = spring(10.0, params.h);
        let mut factors = Vec::new();
        for (codes, other) in [(0, 900), (64, 900), (128, 128), (256, 400), (700, 900)] {
            let statuses = [with_code(0, codes), with_code(0, other)];
            let factor = smaller(1.0 / mass_share(statuses[0]), 4.0);
            let (found, want) = (damped(&params, plain, statuses), spring(10.0 * factor, params.h));
            for (found, want) in found.into_iter().zip(want) {
                assert!((found - want).abs() <= 1e-5 * want, "{factor}: {found} and not {want}");
            }
            factors.push(factor);
        }
        assert_eq!(factors, [1.0, 1.0 / 0.75, 2.0, 4.0, 4.0]);
    }
}
