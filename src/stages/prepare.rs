//! **prepare**: the constraint of every touching contact, in colour order: lever arms, effective masses, the separation,
//! the approach speed before gravity.
//!
//! Reads slots, contacts, bodies, shapes (materials), states; writes constraints, and surfaces if there are any. One thread a constraint. Masses are
//! copied into the constraint so that a sweep touches nothing but constraints and states.

use glam::Vec2;

use crate::math::{cross, cross_scalar, right_perp};
use crate::threads::{Rows, Threads};
use crate::types::{
    Body, BodyState, Constraint, ConstraintPoint, Contact, POINT_COUNT_MASK, Params, RESTITUTION_MAX, SURFACES, Shape,
    Surface, WARM_START,
};

/// Contacts of which the constraints are made together: 128 KiB, so that they stay in a core's cache.
const BLOCK: u32 = 1024;
/// Pieces that one task takes at least.
const SEGMENTS: usize = 16;

/// Fills `constraints`.
pub fn prepare(
    threads: &Threads,
    params: &Params,
    bodies: &[Body],
    shapes: &[Shape],
    states: &Rows<BodyState, 4>,
    contacts: &[Contact],
    slots: &[u32],
    constraints: &mut Vec<Constraint>,
    surfaces: &mut Rows<Surface, 2>,
) {
    constraints.resize(slots.len(), Constraint::default());
    surfaces.resize(if params.switches & SURFACES == 0 { 0 } else { slots.len() });
    let surfaces = &*surfaces;
    let fill = |index: u32, constraint: &mut Constraint| {
        let contact = &contacts[index as usize];
        let (body_a, body_b) = (&bodies[contact.body_a as usize], &bodies[contact.body_b as usize]);
        let (shape_a, shape_b) = (&shapes[contact.shape_a as usize], &shapes[contact.shape_b as usize]);
        let (state_a, state_b) = (states.get(contact.body_a as usize), states.get(contact.body_b as usize));
        let normal = Vec2::from(contact.normal);
        let tangent = right_perp(normal);
        let mut fresh = Constraint {
            body_a: contact.body_a,
            body_b: contact.body_b,
            normal: contact.normal,
            inv_mass_a: body_a.inv_mass,
            inv_inertia_a: body_a.inv_inertia,
            inv_mass_b: body_b.inv_mass,
            inv_inertia_b: body_b.inv_inertia,
            friction: (shape_a.friction * shape_b.friction).sqrt(),
            restitution: if params.switches & RESTITUTION_MAX != 0 {
                shape_a.restitution.max(shape_b.restitution)
            } else {
                shape_a.restitution.min(shape_b.restitution)
            },
            flags: contact.flags,
            contact: index,
            ..Constraint::default()
        };
        for end in 0..(contact.flags & POINT_COUNT_MASK) as usize {
            let point = &contact.points[end];
            let (r_a, r_b) = (Vec2::from(point.anchor_a), Vec2::from(point.anchor_b));
            let effective_mass = |direction: Vec2| {
                let (arm_a, arm_b) = (cross(r_a, direction), cross(r_b, direction));
                let k = body_a.inv_mass
                    + body_b.inv_mass
                    + body_a.inv_inertia * arm_a * arm_a
                    + body_b.inv_inertia * arm_b * arm_b;
                if k > 0.0 { 1.0 / k } else { 0.0 }
            };
            let velocity_a = Vec2::from(state_a.velocity) + cross_scalar(state_a.angular_velocity, r_a);
            let velocity_b = Vec2::from(state_b.velocity) + cross_scalar(state_b.angular_velocity, r_b);
            fresh.points[end] = ConstraintPoint {
                r_a: point.anchor_a,
                r_b: point.anchor_b,
                separation: point.separation,
                normal_mass: effective_mass(normal),
                tangent_mass: effective_mass(tangent),
                relative_velocity: (velocity_b - velocity_a).dot(normal),
            };
            if params.switches & WARM_START != 0 {
                fresh.impulses[2 * end] = point.normal_impulse;
                fresh.impulses[2 * end + 1] = point.tangent_impulse;
            }
        }
        *constraint = fresh;
    };
    let mut segments = by_block(slots, constraints);
    threads.for_chunks(&mut segments, SEGMENTS, |_, segments| {
        for (first, part) in segments {
            for (offset, (constraint, &index)) in part.iter_mut().zip(&slots[*first..]).enumerate() {
                fill(index, constraint);
                if !surfaces.is_empty() {
                    surfaces.set(*first + offset, surface(params, shapes, &contacts[index as usize]));
                }
            }
        }
    });
}

/// What the materials of a contact need beside friction and restitution.
fn surface(params: &Params, shapes: &[Shape], contact: &Contact) -> Surface {
    let (a, b) = (&shapes[contact.shape_a as usize], &shapes[contact.shape_b as usize]);
    Surface {
        kinetic_friction: (a.kinetic_friction * b.kinetic_friction).sqrt(),
        tangent_speed: a.tangent_speed + b.tangent_speed,
        rolling_resistance: a.rolling_resistance.max(b.rolling_resistance) * a.radius.max(b.radius),
        rolling_impulse: if params.switches & WARM_START == 0 { 0.0 } else { contact.rolling_impulse },
    }
}

/// Cuts the constraints where their contacts pass from one block to the next, and lines the pieces up by block: the first
/// slot of each, and its constraints.
///
/// In colour order alone, every colour would walk through all contacts once more and miss the caches at each: with
/// 300,000 contacts that made this stage four times as slow a contact as with 3,000.
fn by_block<'a>(slots: &[u32], mut constraints: &'a mut [Constraint]) -> Vec<(usize, &'a mut [Constraint])> {
    let mut segments = Vec::new();
    let mut first = 0;
    while first < slots.len() {
        let block = slots[first] / BLOCK;
        // Within a colour the contacts go up; where the next colour begins they go down.
        let count = slots[first..]
            .windows(2)
            .position(|pair| pair[1] < pair[0] || pair[1] / BLOCK != block)
            .map_or(slots.len() - first, |last| last + 1);
        let (part, rest) = constraints.split_at_mut(count);
        segments.push((first, part));
        constraints = rest;
        first += count;
    }
    segments.sort_by_key(|(first, _)| slots[*first] / BLOCK);
    segments
}
