//! **color**: gives every touching contact a colour, such that no two contacts of one colour share a dynamic body, and
//! sorts the contacts by colour. The contacts of one colour can then be solved in parallel. Box2D: the constraint
//! graph.
//!
//! If bodies may sleep: a contact between a sleeping and an awake body, which a buffer that was too small may leave for
//! a step, goes to the overflow. It must not take a colour that other contacts of the sleeping body still have.
//!
//! Reads and writes contacts (colour); reads states (sleep); writes slots (the contact of each constraint, in colour
//! order, within a colour by index) and the colour starts. Visits one contact after the other.
//!
//! Removing a contact never breaks a colouring, so contacts that persist keep their colour. The others try in rounds:
//! each proposes the lowest colour that is free at both bodies (with a static or kinematic body: the highest), claims
//! it at both with a unique hashed key, and gets it unless another contact claimed it with a larger key. The hash
//! matters: ties broken by index need hundreds of rounds on a pyramid. Contacts left after [`MAX_COLOR_ROUNDS`] rounds,
//! or without a free colour, are the overflow ([`OVERFLOW_COLOR`]) and try again in the next step. They are split
//! ([`split`]), or solved in order.
//!
//! The result of a round does not depend on the order in which contacts are visited. So the device may run rounds over
//! all contacts (`color_claim`, `color_commit`) or inside one workgroup (`color_finish`).

pub mod split;

use crate::types::{
    ASLEEP, BodyState, CLAIM_SLOTS, COLOR_COUNT, Contact, Counters, DYNAMIC_COLORS, FIXED_A, FIXED_B,
    FIXED_COLORS_START, FORCE_OVERFLOW, HUB_A, HUB_B, MAX_COLOR_ROUNDS, NONE, OVERFLOW_COLOR, POINT_COUNT_MASK, Params,
    SLEEP,
};

/// Colours for contacts of two dynamic bodies.
const DYNAMIC_MASK: u32 = (1 << DYNAMIC_COLORS) - 1;
/// Colours for contacts with a fixed body.
const FIXED_MASK: u32 = !((1 << FIXED_COLORS_START) - 1);

/// Colours the contacts, and fills `slots` and the colour starts of `counters`.
pub fn color(
    params: &Params,
    states: &[BodyState],
    contacts: &mut [Contact],
    slots: &mut Vec<u32>,
    counters: &mut Counters,
) {
    // Colours taken at each body, as bits.
    let mut masks = vec![0; states.len()];
    let mut uncolored = color_inherit(params, states, contacts, &mut masks);
    #[allow(clippy::cast_possible_truncation, reason = "contacts are counted in u32")]
    let count = uncolored.len() as u32;
    (counters.uncolored, counters.rounds) = (count, 0);
    // Contacts that found no free colour.
    let mut overflow = Vec::new();
    for round in 1..=MAX_COLOR_ROUNDS {
        if uncolored.is_empty() {
            break;
        }
        counters.rounds = round;
        color_round(round, &uncolored, contacts, &mut masks);
        overflow.extend(uncolored.iter().copied().filter(|&index| contacts[index as usize].color == OVERFLOW_COLOR));
        uncolored.retain(|&index| contacts[index as usize].color == NONE);
    }
    for index in uncolored {
        contacts[index as usize].color = OVERFLOW_COLOR;
    }
    if can_split(params, counters) {
        color_hubs(&overflow, &mut masks, contacts);
    }
    color_place(contacts, slots, counters);
}

/// Takes the colours of the contacts of new hubs back, so that all of their contacts are split together: bodies that
/// have all colours, and of which a contact found none.
fn color_hubs(overflow: &[u32], masks: &mut [u32], contacts: &mut [Contact]) {
    for &index in overflow {
        moving(&contacts[index as usize]).for_each(|body| masks[body] |= 1 << OVERFLOW_COLOR);
    }
    for contact in contacts.iter_mut().filter(|contact| contact.color < DYNAMIC_COLORS) {
        if contact.flags & (FIXED_A | FIXED_B) == 0
            && contact.flags & POINT_COUNT_MASK != 0
            && moving(contact).any(|body| is_hub(masks[body]))
        {
            contact.color = OVERFLOW_COLOR;
        }
    }
}

/// Returns true if all colours of contacts between dynamic bodies are taken at a body, and one of its contacts is in
/// the overflow.
#[inline]
#[must_use]
pub fn is_hub(mask: u32) -> bool {
    const ALL: u32 = DYNAMIC_MASK | 1 << OVERFLOW_COLOR;
    mask & ALL == ALL
}

/// Returns true if all of the overflow can be split, as that of the previous step, which `counters` still have.
#[inline]
#[must_use]
pub fn can_split(params: &Params, counters: &Counters) -> bool {
    splits_overflow(params) && counters.color_size(OVERFLOW_COLOR) <= split::max_splits(params.shape_count)
}

/// Returns true if the overflow is split, and not solved in order.
#[inline]
#[must_use]
pub fn splits_overflow(params: &Params) -> bool {
    params.switches & FORCE_OVERFLOW == 0 && split::max_splits(params.shape_count) > 0
}

/// Keeps the colours of contacts that persist, and lists the touching contacts without one.
fn color_inherit(params: &Params, states: &[BodyState], contacts: &mut [Contact], masks: &mut [u32]) -> Vec<u32> {
    let mut uncolored = Vec::new();
    for (index, contact) in (0..).zip(contacts).filter(|(_, contact)| contact.flags & POINT_COUNT_MASK != 0) {
        let sleeps = |body: usize| states[body].status & ASLEEP != 0;
        let half_asleep = params.switches & SLEEP != 0 && moving(contact).any(sleeps);
        let is_of_hub = contact.flags & (HUB_A | HUB_B) != 0;
        if params.switches & FORCE_OVERFLOW != 0 || half_asleep || is_of_hub {
            contact.color = OVERFLOW_COLOR;
        } else if contact.color < COLOR_COUNT && contact.color != OVERFLOW_COLOR {
            moving(contact).for_each(|body| masks[body] |= 1 << contact.color);
        } else {
            contact.color = NONE;
            uncolored.push(index);
        }
    }
    uncolored
}

/// Runs one round: all contacts propose and claim, then those whose claims hold get their colour.
fn color_round(round: u32, uncolored: &[u32], contacts: &mut [Contact], masks: &mut [u32]) {
    let mut claims = vec![0; masks.len() * CLAIM_SLOTS as usize];
    let proposals: Vec<u32> = uncolored.iter().map(|&index| propose(masks, &contacts[index as usize])).collect();
    for (&index, &proposal) in uncolored.iter().zip(&proposals) {
        if proposal == OVERFLOW_COLOR {
            contacts[index as usize].color = OVERFLOW_COLOR;
            continue;
        }
        for body in moving(&contacts[index as usize]) {
            let claim = &mut claims[slot(body, proposal)];
            *claim = claim_key(round, index).max(*claim);
        }
    }
    for (&index, &proposal) in uncolored.iter().zip(&proposals) {
        let contact = &mut contacts[index as usize];
        let holds = |body: usize| claims[slot(body, proposal)] == claim_key(round, index);
        if proposal != OVERFLOW_COLOR && moving(contact).all(holds) {
            contact.color = proposal;
            moving(contact).for_each(|body| masks[body] |= 1 << proposal);
        }
    }
}

/// Returns the dynamic bodies of a contact.
#[inline]
pub fn moving(contact: &Contact) -> impl Iterator<Item = usize> + use<> {
    let ends = [(FIXED_A, contact.body_a), (FIXED_B, contact.body_b)];
    let flags = contact.flags;
    ends.into_iter().filter(move |&(fixed, _)| flags & fixed == 0).map(|(_, body)| body as usize)
}

/// Returns the colour that a contact tries next, or [`OVERFLOW_COLOR`] if none is free.
fn propose(masks: &[u32], contact: &Contact) -> u32 {
    proposal(contact, moving(contact).fold(0, |taken, body| taken | masks[body]))
}

/// Returns the colour that a contact tries next if those of `taken` are not free, or [`OVERFLOW_COLOR`] if none is.
#[inline]
#[must_use]
pub fn proposal(contact: &Contact, taken: u32) -> u32 {
    let (dynamic, last) = (!taken & DYNAMIC_MASK, !taken & FIXED_MASK);
    if contact.flags & (FIXED_A | FIXED_B) == 0 {
        return if dynamic == 0 { OVERFLOW_COLOR } else { dynamic.trailing_zeros() };
    }
    match (last, dynamic) {
        (0, 0) => OVERFLOW_COLOR,
        (0, _) => dynamic.ilog2(),
        _ => last.ilog2(),
    }
}

/// Returns a unique key: later rounds have larger keys, and within a round a bijection of 27 bits shuffles the
/// contacts.
#[must_use]
pub fn claim_key(round: u32, contact: u32) -> u32 {
    const BITS: u32 = (1 << 27) - 1;
    let mut x = contact & BITS;
    x = x.wrapping_mul(0x02c1_b3c7) & BITS;
    x ^= x >> 13;
    x = x.wrapping_mul(0x0297_a2d5) & BITS;
    x ^= x >> 12;
    x = x.wrapping_mul(0x0456_7c5b) & BITS;
    x ^= x >> 14;
    (round << 27) | x
}

/// Returns the index of a body's claim on a colour.
#[inline]
#[must_use]
pub fn slot(body: usize, color: u32) -> usize {
    body * CLAIM_SLOTS as usize + (color % CLAIM_SLOTS) as usize
}

/// Sorts the touching contacts by colour, within a colour by index.
fn color_place(contacts: &[Contact], slots: &mut Vec<u32>, counters: &mut Counters) {
    slots.clear();
    for color in 0..COLOR_COUNT {
        counters.color_starts[color as usize] = length(slots);
        let of_color = |contact: &Contact| contact.flags & POINT_COUNT_MASK != 0 && contact.color == color;
        slots.extend((0..).zip(contacts).filter(|(_, contact)| of_color(contact)).map(|(index, _)| index));
    }
    counters.color_starts[COLOR_COUNT as usize] = length(slots);
    counters.touching = length(slots);
}

#[allow(clippy::cast_possible_truncation, reason = "contacts are counted in u32")]
fn length(slots: &[u32]) -> u32 {
    slots.len() as u32
}
