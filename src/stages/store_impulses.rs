//! **store_impulses**: copies the solved impulses back to the manifolds, where the next step finds them for warm
//! starting.
//!
//! Reads constraints, rebounds, slots and surfaces; writes manifolds, and of contacts the rolling impulses and the flag
//! [`IMPACT`]. Visits one constraint after the other. Impulses of impacts are added for readers of the contacts; the
//! next step does not start with them.

use super::prepare::ContactConstraint;
use crate::types::{Contact, IMPACT, Manifold, Surface};

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
        let impulses = ContactImpulses::new(constraint.impulses, Some(constraint.rebound.impulses), rolling);
        store_impulses_of(contact, manifold, impulses);
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
}

impl ContactImpulses {
    /// Adds the impulses of impacts, absent if nothing bounces, to those of the sweeps.
    #[inline]
    #[must_use]
    pub fn new(swept: [f32; 4], impacts: Option<[f32; 4]>, rolling: Option<f32>) -> Self {
        match impacts {
            Some(impacts) if impacts != [0.0; 4] => {
                Self { points: std::array::from_fn(|at| swept[at] + impacts[at]), has_impact: true, rolling }
            }
            _ => Self { points: swept, has_impact: false, rolling },
        }
    }
}

/// Writes the impulses of one contact to its manifold.
#[inline]
pub fn store_impulses_of(contact: &mut Contact, manifold: &mut Manifold, impulses: ContactImpulses) {
    let [normal_0, tangent_0, normal_1, tangent_1] = impulses.points;
    [manifold.points[0].normal_impulse, manifold.points[0].tangent_impulse] = [normal_0, tangent_0];
    [manifold.points[1].normal_impulse, manifold.points[1].tangent_impulse] = [normal_1, tangent_1];
    if impulses.has_impact {
        contact.flags |= IMPACT;
    }
    if let Some(rolling) = impulses.rolling {
        contact.rolling_impulse = rolling;
    }
}
