//! **store_impulses**: copies the solved impulses back to the manifolds, where the next step finds them for warm
//! starting.
//!
//! Reads constraints, slots and surfaces; writes manifolds and the rolling impulses of contacts. Visits one constraint
//! after the other.

use super::prepare::ContactConstraint;
use crate::types::{Contact, Manifold, Surface};

/// Writes the impulses of `manifolds` and the rolling impulses of `contacts`.
pub fn store_impulses(
    slots: &[u32],
    constraints: &[ContactConstraint],
    surfaces: &[Surface],
    contacts: &mut [Contact],
    manifolds: &mut [Manifold],
) {
    for (slot, (&contact, constraint)) in slots.iter().zip(constraints).enumerate() {
        let (contact, manifold) = (&mut contacts[contact as usize], &mut manifolds[contact as usize]);
        let rolling = surfaces.get(slot).map(|surface| surface.rolling_impulse);
        store_impulses_of(contact, manifold, constraint.impulses, rolling);
    }
}

/// Writes the impulses of one contact to its manifold. `rolling` is absent if no surface resists rolling.
#[inline]
pub fn store_impulses_of(
    contact: &mut Contact,
    manifold: &mut Manifold,
    [normal_0, tangent_0, normal_1, tangent_1]: [f32; 4],
    rolling: Option<f32>,
) {
    [manifold.points[0].normal_impulse, manifold.points[0].tangent_impulse] = [normal_0, tangent_0];
    [manifold.points[1].normal_impulse, manifold.points[1].tangent_impulse] = [normal_1, tangent_1];
    if let Some(rolling) = rolling {
        contact.rolling_impulse = rolling;
    }
}
