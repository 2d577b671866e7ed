//! Colours the contacts, shared among threads in pieces; the fast form of [`crate::stages::color`], to the same colours
//! in the same order.
//!
//! Most contacts keep their colour, and the colours taken at a body are needed only for contacts without one. So each
//! piece lists those first; then, if there are any, the taken colours at their bodies are collected. The rounds run on
//! one thread, as few contacts take part.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::stages::color::{can_split, claim_key, is_hub, moving, proposal, slot};
use crate::threads::{Cut, LIGHT, Rows, Threads};
use crate::types::{
    ASLEEP, BodyState, CLAIM_SLOTS, COLOR_COUNT, Contact, Counters, DYNAMIC_COLORS, FIXED_A, FIXED_B, FORCE_OVERFLOW,
    HUB_A, HUB_B, MAX_COLOR_ROUNDS, NONE, OVERFLOW_COLOR, POINT_COUNT_MASK, Params, SLEEP,
};

/// [`NONE`] as a byte.
const COLORLESS: u8 = u8::MAX;

/// Flag in a mask: the colours of this body are wanted. It is the bit of the overflow, a colour that no body takes.
const WANTED: u32 = 1 << OVERFLOW_COLOR;

/// Memory of [`color`] and [`color_sort`]. Kept to avoid allocation.
#[derive(Debug, Default)]
pub struct ColorScratch {
    /// Colours taken at each body, as bits; 0 unless the body is [`WANTED`] for.
    masks: Vec<AtomicU32>,
    /// Largest claim on each slot, [`CLAIM_SLOTS`] per body.
    claims: Vec<u32>,
    /// Colour of each contact, [`COLORLESS`] if it does not touch: so contacts are read once, not in every pass.
    colors: Vec<u8>,
    /// Pieces of the contacts, of which the first `used` are valid.
    parts: Vec<ColorPart>,
    used: usize,
    /// Contacts without a colour so far.
    uncolored: Vec<u32>,
    proposals: Vec<u32>,
    /// New hubs: bodies that have all colours, and of which a contact found none.
    hubs: Vec<u32>,
}

/// Counts of one piece of the contacts.
#[derive(Debug, Default)]
struct ColorPart {
    first: usize,
    end: usize,
    /// Number of contacts of each colour; after sorting, the slot behind the last of them.
    counts: [u32; COLOR_COUNT as usize],
    /// Contacts that had no colour when the step began.
    fresh: Vec<u32>,
}

/// Colours the contacts, and fills the colour starts of `counters`. [`color_sort`] is the rest of the stage; worlds
/// that are solved by island batches do without it.
pub fn color(
    threads: &Threads,
    params: &Params,
    states: &Rows<BodyState, 4>,
    contacts: &mut [Contact],
    scratch: &mut ColorScratch,
    counters: &mut Counters,
) {
    color_inherit(threads, params, states, contacts, scratch);
    #[allow(clippy::cast_possible_truncation, reason = "contacts are counted in u32")]
    let uncolored = scratch.uncolored.len() as u32;
    counters.uncolored = uncolored;
    counters.rounds = 0;
    let can_split = can_split(params, counters);
    if uncolored > 0 {
        color_collect(threads, params, contacts, scratch);
        color_rounds(contacts, scratch, counters);
        if can_split {
            color_hubs(contacts, scratch);
        }
    }
    let ColorScratch { colors, parts, used, .. } = scratch;
    counters.color_starts = [0; COLOR_COUNT as usize + 1];
    for ColorPart { counts, fresh, .. } in &mut parts[..*used] {
        for &index in &*fresh {
            let color = byte(contacts[index as usize].color);
            colors[index as usize] = color;
            counts[color as usize] += 1;
        }
        for (start, &count) in counters.color_starts[1..].iter_mut().zip(&*counts) {
            *start += count;
        }
    }
    for color in 0..COLOR_COUNT as usize {
        counters.color_starts[color + 1] += counters.color_starts[color];
    }
    counters.touching = counters.color_starts[COLOR_COUNT as usize];
}

#[inline]
fn byte(color: u32) -> u8 {
    u8::try_from(color).unwrap_or(COLORLESS)
}

/// Keeps the colours of contacts that persist, and lists the touching contacts without one.
fn color_inherit(
    threads: &Threads,
    params: &Params,
    states: &Rows<BodyState, 4>,
    contacts: &mut [Contact],
    scratch: &mut ColorScratch,
) {
    let sleeps = |body: u32| states.get(body as usize).status & ASLEEP != 0;
    let ColorScratch { colors, parts, used, uncolored, .. } = scratch;
    colors.resize(contacts.len(), COLORLESS);
    let parts = threads.for_chunk_parts(LIGHT, contacts, colors, parts, |first, contacts, colors, part| {
        (part.first, part.end) = (first, first + contacts.len());
        let ColorPart { counts, fresh, .. } = part;
        counts.fill(0);
        fresh.clear();
        for (offset, (contact, to)) in contacts.iter_mut().zip(colors).enumerate() {
            if contact.flags & POINT_COUNT_MASK == 0 {
                *to = COLORLESS;
                continue;
            }
            let half_asleep = params.switches & SLEEP != 0
                && ((contact.flags & FIXED_A == 0 && sleeps(contact.body_a))
                    || (contact.flags & FIXED_B == 0 && sleeps(contact.body_b)));
            let is_of_hub = contact.flags & (HUB_A | HUB_B) != 0;
            if params.switches & FORCE_OVERFLOW != 0 || half_asleep || is_of_hub {
                contact.color = OVERFLOW_COLOR;
            } else if contact.color >= COLOR_COUNT || contact.color == OVERFLOW_COLOR {
                contact.color = NONE;
                *to = COLORLESS;
                #[allow(clippy::cast_possible_truncation, reason = "contacts are counted in u32")]
                fresh.push((first + offset) as u32);
                continue;
            }
            *to = byte(contact.color);
            counts[*to as usize] += 1;
        }
    });
    *used = parts.len();
    uncolored.clear();
    for ColorPart { fresh, .. } in &*parts {
        uncolored.extend_from_slice(fresh);
    }
}

/// Collects the colours taken at the bodies of contacts that have none.
fn color_collect(threads: &Threads, params: &Params, contacts: &[Contact], scratch: &mut ColorScratch) {
    let ColorScratch { masks, colors, uncolored, .. } = scratch;
    masks.clear();
    masks.resize_with(params.body_count as usize, || AtomicU32::new(0));
    for &index in &*uncolored {
        for body in moving(&contacts[index as usize]) {
            *masks[body].get_mut() = WANTED;
        }
    }
    let masks = &*masks;
    threads.for_ranges(LIGHT, contacts.len(), |first, end| {
        for (contact, &color) in contacts[first..end].iter().zip(&colors[first..end]) {
            if u32::from(color) < COLOR_COUNT && u32::from(color) != OVERFLOW_COLOR {
                for body in moving(contact).filter(|&body| masks[body].load(Ordering::Relaxed) & WANTED != 0) {
                    masks[body].fetch_or(1 << color, Ordering::Relaxed);
                }
            }
        }
    });
}

/// Marks the colour of a contact as taken at its dynamic bodies.
fn mark_taken(masks: &mut [AtomicU32], contact: &Contact) {
    for body in moving(contact) {
        *masks[body].get_mut() |= 1 << contact.color;
    }
}

/// Returns the colour that a contact tries next, or [`OVERFLOW_COLOR`] if none is free.
fn propose(masks: &[AtomicU32], contact: &Contact) -> u32 {
    proposal(contact, moving(contact).fold(0, |taken, body| taken | masks[body].load(Ordering::Relaxed)))
}

fn color_rounds(contacts: &mut [Contact], scratch: &mut ColorScratch, counters: &mut Counters) {
    let ColorScratch { masks, claims, uncolored, proposals, hubs, .. } = scratch;
    hubs.clear();
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
                #[allow(clippy::cast_possible_truncation, reason = "bodies are counted in u32")]
                hubs.extend(moving(contact).map(|body| body as u32));
                continue;
            }
            let key = claim_key(round, index);
            for body in moving(contact) {
                let claim = &mut claims[slot(body, proposal)];
                *claim = key.max(*claim);
            }
        }
        for (&index, &proposal) in uncolored.iter().zip(proposals.iter()) {
            let contact = &mut contacts[index as usize];
            if proposal == OVERFLOW_COLOR {
                continue;
            }
            let key = claim_key(round, index);
            if moving(contact).all(|body| claims[slot(body, proposal)] == key) {
                contact.color = proposal;
                mark_taken(masks, contact);
            }
        }
        uncolored.retain(|&index| contacts[index as usize].color == NONE);
    }
    for &index in uncolored.iter() {
        contacts[index as usize].color = OVERFLOW_COLOR;
    }
}

/// Takes the colours of the contacts of new hubs back.
fn color_hubs(contacts: &mut [Contact], scratch: &mut ColorScratch) {
    let ColorScratch { masks, colors, parts, used, hubs, .. } = scratch;
    hubs.sort_unstable();
    hubs.dedup();
    hubs.retain(|&body| is_hub(masks[body as usize].load(Ordering::Relaxed) | 1 << OVERFLOW_COLOR));
    if hubs.is_empty() {
        return;
    }
    for ColorPart { first, end, counts, .. } in &mut parts[..*used] {
        for (contact, color) in contacts[*first..*end].iter_mut().zip(&mut colors[*first..*end]) {
            let is_of_hub = || [contact.body_a, contact.body_b].iter().any(|body| hubs.binary_search(body).is_ok());
            let has_color = contact.color < DYNAMIC_COLORS && contact.flags & POINT_COUNT_MASK != 0;
            if !has_color || contact.flags & (FIXED_A | FIXED_B) != 0 || !is_of_hub() {
                continue;
            }
            contact.color = OVERFLOW_COLOR;
            // Those of new contacts are counted later.
            if *color != COLORLESS {
                counts[*color as usize] -= 1;
                *color = byte(OVERFLOW_COLOR);
                counts[OVERFLOW_COLOR as usize] += 1;
            }
        }
    }
}

/// Fills `slots` with the touching contacts, sorted by colour.
pub fn color_sort(threads: &Threads, scratch: &mut ColorScratch, slots: &mut Vec<AtomicU32>, counters: &Counters) {
    let ColorScratch { colors, parts, used, .. } = scratch;
    let mut starts = counters.color_starts;
    slots.resize_with(starts[COLOR_COUNT as usize] as usize, AtomicU32::default);
    for ColorPart { counts, .. } in &mut parts[..*used] {
        for (count, start) in counts.iter_mut().zip(&mut starts) {
            (*count, *start) = (*start, *start + *count);
        }
    }
    let (slots, colors) = (&*slots, &*colors);
    threads.for_each(
        Cut { unit: 1, least: 1 },
        &mut parts[..*used],
        |_, ColorPart { first, end, counts: next, .. }| {
            let colors = colors[*first..*end].iter().zip(*first..).filter(|&(&color, _)| color != COLORLESS);
            #[allow(clippy::cast_possible_truncation, reason = "contacts are counted in u32")]
            for (&color, contact) in colors {
                let slot = &mut next[color as usize];
                slots[*slot as usize].store(contact as u32, Ordering::Relaxed);
                *slot += 1;
            }
        },
    );
}
