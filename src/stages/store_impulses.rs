//! **store_impulses**: copies the solved impulses back to the manifolds, where the next step finds them for warm
//! starting, and adapts each contact's preload to its load.
//!
//! Reads constraints, rebounds, slots, states and surfaces; writes manifolds, and of contacts the rolling impulses and
//! the flag [`IMPACT`]. Visits one constraint after the other. Impulses of impacts are added for readers of the
//! contacts; the next step does not start with them.
//!
//! A contact is a spring, and a spring gives way under a load. The preload takes that back: while both bodies are at
//! rest and overlap by more than the slop, the place at which the spring is relaxed moves into the gap, until the
//! overlap is the slop for any load. That is the mean overlap of the points by their impulses: one that is apart counts
//! for nothing. It moves slowly, and both points of a contact share it: if it followed the impulses of sweeps that have
//! not converged, or each point by itself, tall stacks would rock.

use super::prepare::ContactConstraint;
use crate::constants::{MAX_PRELOAD, UNLOAD_RATE, UNLOAD_SHARE};
use crate::mass_scale;
use crate::math::{larger, smaller};
use crate::types::{BodyState, Contact, IMPACT, Manifold, Params, Surface};

/// Writes the impulses and preloads of `manifolds`, and the rolling impulses of `contacts`.
pub fn store_impulses(
    params: &Params,
    slots: &[u32],
    constraints: &[ContactConstraint],
    surfaces: &[Surface],
    states: &[BodyState],
    contacts: &mut [Contact],
    manifolds: &mut [Manifold],
) {
    for (slot, (&contact, constraint)) in slots.iter().zip(constraints).enumerate() {
        let (contact, manifold) = (&mut contacts[contact as usize], &mut manifolds[contact as usize]);
        let rolling = surfaces.get(slot).map(|surface| surface.rolling_impulse);
        let impulses = ContactImpulses::new(
            constraint.impulses,
            Some(constraint.rebound.impulses),
            rolling,
            [constraint.inv_mass_a, constraint.inv_mass_b],
        );
        store_impulses_of(params, contact, manifold, impulses, |body| states[body as usize]);
    }
}

/// Impulses of a contact at the end of a step.
#[derive(Clone, Copy, Debug)]
pub struct ContactImpulses {
    /// Normal and tangent impulse of point 0, then of point 1, N·s.
    pub points: [f32; 4],
    /// True if `points` include impulses of impacts.
    pub has_impact: bool,
    /// Rolling impulse, N·m·s; absent if no surface resists rolling.
    pub rolling: Option<f32>,
    /// Inverse masses of the constraint's bodies, 1/kg.
    pub inv_masses: [f32; 2],
}

impl ContactImpulses {
    /// Adds the impulses of impacts, absent if nothing bounces, to those of the sweeps.
    #[inline]
    #[must_use]
    pub fn new(swept: [f32; 4], impacts: Option<[f32; 4]>, rolling: Option<f32>, inv_masses: [f32; 2]) -> Self {
        match impacts {
            Some(impacts) if impacts != [0.0; 4] => Self {
                points: std::array::from_fn(|at| swept[at] + impacts[at]),
                has_impact: true,
                rolling,
                inv_masses,
            },
            _ => Self { points: swept, has_impact: false, rolling, inv_masses },
        }
    }
}

/// Writes the impulses and the preload of one contact to its manifold. `state` returns the state of a body; it is
/// called only if the preload may change.
#[inline]
pub fn store_impulses_of(
    params: &Params,
    contact: &mut Contact,
    manifold: &mut Manifold,
    impulses: ContactImpulses,
    state: impl Fn(u32) -> BodyState,
) {
    for (end, point) in manifold.by_depth(contact.flags).into_iter().enumerate() {
        let [normal, tangent] = [impulses.points[2 * end], impulses.points[2 * end + 1]];
        [manifold.points[point].normal_impulse, manifold.points[point].tangent_impulse] = [normal, tangent];
    }
    if params.preload_rate > 0.0 {
        let softening = || {
            let statuses = [contact.body_a, contact.body_b].map(|body| state(body).status);
            if params.mass_per_impulse > 0.0 { mass_scale::softening(impulses.inv_masses, statuses) } else { 1.0 }
        };
        manifold.preloads = preloads(params, contact, manifold, softening, &state);
    }
    if impulses.has_impact {
        contact.flags |= IMPACT;
    }
    if let Some(rolling) = impulses.rolling {
        contact.rolling_impulse = rolling;
    }
}

/// Returns the preloads of a contact for the next step, m. Both change by the same length.
#[inline]
fn preloads(
    params: &Params,
    contact: &Contact,
    manifold: &Manifold,
    softening: impl Fn() -> f32,
    state: impl Fn(u32) -> BodyState,
) -> [f32; 2] {
    let [p_0, p_1] = &manifold.points;
    let load = p_0.normal_impulse + p_1.normal_impulse;
    let (old, slop) = (manifold.preloads, params.linear_slop);
    if load == 0.0 {
        return [0.0; 2];
    }
    let overlap = -(p_0.normal_impulse * p_0.separation + p_1.normal_impulse * p_1.separation) / load;
    if overlap < params.unload_overlap - UNLOAD_SHARE * slop {
        return [0.0; 2];
    }
    let missing = params.unload_overlap - overlap;
    if missing > 0.0 {
        let loss = UNLOAD_RATE * missing / softening();
        return old.map(|old| larger(old - loss, 0.0));
    }
    let excess = overlap - slop;
    let is_quiet = |body: u32| {
        let [x, y] = state(body).velocity;
        x * x + y * y <= params.sleep_speed * params.sleep_speed
    };
    // Deeper overlaps are those of a press that does not open, or of bodies placed inside each other.
    let is_load = excess > 0.0 && overlap < MAX_PRELOAD * slop;
    if is_load && is_quiet(contact.body_a) && is_quiet(contact.body_b) {
        let softening = softening();
        let (growth, most) = (params.preload_rate * excess / softening, MAX_PRELOAD * slop / softening);
        return old.map(|old| larger(smaller(old + growth, most), old));
    }
    old
}
