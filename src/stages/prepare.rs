//! **prepare**: the constraint of every touching contact, in colour order: lever arms, effective masses, the separation,
//! the approach speed before gravity.
//!
//! Reads slots, contacts, bodies, shapes (materials), states; writes constraints, and surfaces if there are any. One thread a constraint. Masses are
//! copied into the constraint so that a sweep touches nothing but constraints and states.

use glam::Vec2;

use crate::math::{cross, cross_scalar, right_perp};
use crate::threads::{Rows, Threads};
use crate::types::{
    ASLEEP, Body, BodyState, COLOR_COUNT, Constraint, ConstraintPoint, Contact, Counters, POINT_COUNT_MASK, Params,
    RESTITUTION_MAX, SURFACES, Shape, Surface, WARM_START,
};

/// Contacts that one task takes at least.
pub(super) const BLOCK: usize = 1024;

/// Fills `constraints`.
pub fn prepare(
    threads: &Threads,
    params: &Params,
    bodies: &[Body],
    shapes: &[Shape],
    states: &Rows<BodyState, 4>,
    contacts: &[Contact],
    slots: &[u32],
    counters: &Counters,
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
        // Who sleeps stands like a wall; nobody sleeps on in a contact, unless a buffer was too small.
        let resting = Body::default();
        let body_a = if state_a.status & ASLEEP == 0 { body_a } else { &resting };
        let body_b = if state_b.status & ASLEEP == 0 { body_b } else { &resting };
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
    let cuts = cut(slots, counters, contacts.len());
    // By block, the constraints of each colour that are made of its contacts.
    let mut blocks: Vec<[_; COLOR_COUNT as usize]> =
        cuts[1..].iter().map(|_| std::array::from_fn(|_| [].iter_mut())).collect();
    let mut rest = &mut constraints[..];
    for color in 0..COLOR_COUNT as usize {
        for (block, cut) in blocks.iter_mut().zip(cuts.windows(2)) {
            let (part, after) = rest.split_at_mut(cut[1][color] - cut[0][color]);
            block[color] = part.iter_mut();
            rest = after;
        }
    }
    threads.for_chunks(&mut blocks, 1, |first, blocks| {
        for (block, streams) in blocks.iter_mut().enumerate() {
            let start = (first + block) * BLOCK;
            let mut slots = cuts[first + block];
            for (offset, contact) in contacts[start..].iter().take(BLOCK).enumerate() {
                if let Some(constraint) = streams.get_mut(contact.color as usize).and_then(Iterator::next) {
                    #[allow(clippy::cast_possible_truncation, reason = "contacts are counted in u32")]
                    fill((start + offset) as u32, constraint);
                    let slot = &mut slots[contact.color as usize];
                    if !surfaces.is_empty() {
                        surfaces.set(*slot, surface(params, shapes, contact));
                    }
                    *slot += 1;
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

/// Cuts the contacts into blocks of [`BLOCK`], and says where the constraints of each begin, colour by colour; one row
/// a block, and one more for the end.
///
/// Within a colour the constraints go up with the contacts. So who walks through the contacts one after the other walks
/// through as many rows of constraints as there are colours, each in order too, and the processor fetches all of them
/// ahead. In colour order it would jump through the contacts, and wait for each: with 300,000 of them, out of the
/// caches, three times as long a contact as with 3,000.
pub(super) fn cut(slots: &[u32], counters: &Counters, contacts: usize) -> Vec<[usize; COLOR_COUNT as usize]> {
    let mut cuts = vec![[0; COLOR_COUNT as usize]; contacts.div_ceil(BLOCK) + 1];
    for color in 0..COLOR_COUNT as usize {
        let [mut slot, end] = [0, 1].map(|next| (counters.color_starts[color + next] as usize).min(slots.len()));
        for (block, cut) in cuts.iter_mut().enumerate() {
            let most = end.min(slot + BLOCK).max(slot);
            slot += slots[slot..most].partition_point(|&contact| (contact as usize) < block * BLOCK);
            cut[color] = slot;
        }
    }
    cuts
}
