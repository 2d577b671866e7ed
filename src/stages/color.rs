//! **color**: gives every touching contact a colour, such that no two contacts of one colour share a dynamic body, and
//! sorts the contacts by colour. A colour can then be solved in parallel.
//!
//! Where bodies sleep, a contact with one that sleeps on beside one that is awake, which an overflow may leave for a step,
//! has no colour either: it must not pass one on that others of the sleeping body have.
//!
//! Reads and writes contacts (colour); reads states (sleep); writes slots (the contact of each constraint, in colour order, within a colour
//! by index) and the colour starts. One thread a contact.
//!
//! Taking a contact away never breaks a colouring, so contacts that live on keep their colour. The others try in
//! rounds: each proposes the lowest colour that is free at both bodies (with a static or kinematic body: the highest),
//! claims it at both by a unique hashed key, and has it if no one claimed it with a larger one. The hash matters: ties
//! broken by index need hundreds of rounds on a pyramid. What is left after [`MAX_COLOR_ROUNDS`] rounds or finds no
//! free colour is solved in order ([`OVERFLOW_COLOR`]) and tries again in the next step.
//!
//! The outcome of a round does not depend on the order in which contacts are visited. So the device may run rounds
//! over all contacts (`color_claim`, `color_commit`) or inside one workgroup (`color_finish`) as it suits.

use crate::threads::Rows;
use crate::types::{
    ASLEEP, BodyState, CLAIM_SLOTS, COLOR_COUNT, Contact, Counters, DYNAMIC_COLORS, FIRST_FIXED_COLOR, FIXED_A,
    FIXED_B, FORCE_OVERFLOW, MAX_COLOR_ROUNDS, NONE, OVERFLOW_COLOR, POINT_COUNT_MASK, Params, SLEEP,
};

/// Colours for contacts of two dynamic bodies.
const DYNAMIC_MASK: u32 = (1 << DYNAMIC_COLORS) - 1;
/// Colours for contacts with a fixed body.
const FIXED_MASK: u32 = !((1 << FIRST_FIXED_COLOR) - 1);

/// [`NONE`] in a byte.
const COLORLESS: u8 = u8::MAX;

/// What [`color`] needs to remember only while it runs.
#[derive(Clone, Debug, Default)]
pub struct ColorScratch {
    /// Colours taken, as bits, a body.
    pub masks: Vec<u32>,
    /// Largest claim on each slot, [`CLAIM_SLOTS`] a body.
    pub claims: Vec<u32>,
    /// Colour of each contact, [`COLORLESS`] if it does not touch: contacts are read once, not for every pass.
    colors: Vec<u8>,
    /// Contacts that had no colour when the step began.
    fresh: Vec<u32>,
    /// Those of them that have none yet.
    uncolored: Vec<u32>,
    proposals: Vec<u32>,
}

/// Colours the contacts, and fills the colour starts of `counters`. What is left of the stage is [`color_sort`], which
/// worlds that are solved group by group do without.
pub fn color(
    params: &Params,
    states: &Rows<BodyState, 4>,
    contacts: &mut [Contact],
    scratch: &mut ColorScratch,
    counters: &mut Counters,
) {
    color_inherit(params, states, contacts, scratch, counters);
    color_rounds(contacts, scratch, counters);
    for &index in &scratch.fresh {
        scratch.colors[index as usize] = byte(contacts[index as usize].color);
    }
    let mut counts = [0; COLORLESS as usize + 1];
    for &color in &scratch.colors {
        counts[color as usize] += 1;
    }
    counters.color_starts = [0; COLOR_COUNT as usize + 1];
    for (color, &count) in counts[..COLOR_COUNT as usize].iter().enumerate() {
        counters.color_starts[color + 1] = counters.color_starts[color] + count;
    }
}

#[inline]
fn byte(color: u32) -> u8 {
    u8::try_from(color).unwrap_or(COLORLESS)
}

/// Keeps the colours of contacts that live on, and lists those without.
fn color_inherit(
    params: &Params,
    states: &Rows<BodyState, 4>,
    contacts: &mut [Contact],
    scratch: &mut ColorScratch,
    counters: &mut Counters,
) {
    let sleeps = |body: u32| states.get(body as usize).status & ASLEEP != 0;
    scratch.masks.clear();
    scratch.masks.resize(params.body_count as usize, 0);
    let ColorScratch { masks, colors, fresh, .. } = scratch;
    fresh.clear();
    colors.clear();
    counters.touching = 0;
    colors.extend((0_u32..).zip(contacts).map(|(index, contact)| {
        if contact.flags & POINT_COUNT_MASK == 0 {
            return COLORLESS;
        }
        counters.touching += 1;
        let half_asleep = params.switches & SLEEP != 0
            && ((contact.flags & FIXED_A == 0 && sleeps(contact.body_a))
                || (contact.flags & FIXED_B == 0 && sleeps(contact.body_b)));
        if params.switches & FORCE_OVERFLOW != 0 || half_asleep {
            contact.color = OVERFLOW_COLOR;
        } else if contact.color < COLOR_COUNT && contact.color != OVERFLOW_COLOR {
            take(masks, contact);
        } else {
            contact.color = NONE;
            fresh.push(index);
        }
        byte(contact.color)
    }));
    scratch.uncolored.clone_from(&scratch.fresh);
    #[allow(clippy::cast_possible_truncation, reason = "contacts are counted in u32")]
    let uncolored = scratch.uncolored.len() as u32;
    counters.uncolored = uncolored;
}

/// Marks the colour of a contact as taken at its dynamic bodies.
fn take(masks: &mut [u32], contact: &Contact) {
    if contact.flags & FIXED_A == 0 {
        masks[contact.body_a as usize] |= 1 << contact.color;
    }
    if contact.flags & FIXED_B == 0 {
        masks[contact.body_b as usize] |= 1 << contact.color;
    }
}

/// The colour that a contact tries next, or [`OVERFLOW_COLOR`] if there is none.
fn propose(masks: &[u32], contact: &Contact) -> u32 {
    let mask = |fixed: u32, body: u32| if contact.flags & fixed == 0 { masks[body as usize] } else { 0 };
    let free = !(mask(FIXED_A, contact.body_a) | mask(FIXED_B, contact.body_b));
    let dynamic = free & DYNAMIC_MASK;
    if contact.flags & (FIXED_A | FIXED_B) == 0 {
        return if dynamic == 0 { OVERFLOW_COLOR } else { dynamic.trailing_zeros() };
    }
    let last = free & FIXED_MASK;
    match (last, dynamic) {
        (0, 0) => OVERFLOW_COLOR,
        (0, _) => dynamic.ilog2(),
        _ => last.ilog2(),
    }
}

/// A unique key: rounds count up, and within a round the contacts are shuffled by a bijection of 27 bits.
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

fn color_rounds(contacts: &mut [Contact], scratch: &mut ColorScratch, counters: &mut Counters) {
    let ColorScratch { masks, claims, uncolored, proposals, .. } = scratch;
    counters.rounds = 0;
    if uncolored.is_empty() {
        return;
    }
    claims.clear();
    claims.resize(masks.len() * CLAIM_SLOTS as usize, 0);
    for round in 1..=MAX_COLOR_ROUNDS {
        if uncolored.is_empty() {
            break;
        }
        counters.rounds = round;
        proposals.clear();
        for &index in uncolored.iter() {
            let contact = &mut contacts[index as usize];
            let proposal = propose(masks, contact);
            proposals.push(proposal);
            if proposal == OVERFLOW_COLOR {
                contact.color = OVERFLOW_COLOR;
                continue;
            }
            let key = claim_key(round, index);
            for (fixed, body) in [(FIXED_A, contact.body_a), (FIXED_B, contact.body_b)] {
                if contact.flags & fixed == 0 {
                    let claim = &mut claims[(body * CLAIM_SLOTS + proposal % CLAIM_SLOTS) as usize];
                    *claim = key.max(*claim);
                }
            }
        }
        for (&index, &proposal) in uncolored.iter().zip(proposals.iter()) {
            let contact = &mut contacts[index as usize];
            if proposal == OVERFLOW_COLOR {
                continue;
            }
            let key = claim_key(round, index);
            let won = [(FIXED_A, contact.body_a), (FIXED_B, contact.body_b)].into_iter().all(|(fixed, body)| {
                contact.flags & fixed != 0 || claims[(body * CLAIM_SLOTS + proposal % CLAIM_SLOTS) as usize] == key
            });
            if won {
                contact.color = proposal;
                take(masks, contact);
            }
        }
        uncolored.retain(|&index| contacts[index as usize].color == NONE);
    }
    for &index in uncolored.iter() {
        contacts[index as usize].color = OVERFLOW_COLOR;
    }
}

/// Fills `slots` with the contacts that touch, by colour.
pub fn color_sort(scratch: &ColorScratch, slots: &mut Vec<u32>, counters: &Counters) {
    let mut next = counters.color_starts;
    slots.clear();
    slots.resize(next[COLOR_COUNT as usize] as usize, 0);
    for (index, &color) in (0_u32..).zip(&scratch.colors).filter(|&(_, &color)| color != COLORLESS) {
        let slot = &mut next[color as usize];
        slots[*slot as usize] = index;
        *slot += 1;
    }
}
