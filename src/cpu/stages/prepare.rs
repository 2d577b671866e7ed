//! Builds the contact constraints in blocks of eight of one colour, shared among threads; the fast form of
//! [`crate::stages::prepare`], to the same bits. The docs of `cut` explain the order of the work.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::cpu::blocks::{Block, Blocks, Bounce};
use crate::cpu::{ConstraintSet, ContactTables};
use crate::lanes::{WIDTH, dispatch};
use crate::scene::Compiled;
use crate::stages::color::split::{Hub, Splits};
use crate::stages::prepare::{ContactConstraint, prepare_contact, prepare_surface, surface_by_rule};
use crate::threads::{Cut, Rows, Threads, emptied};
use crate::types::{
    BOUNCES, BodyData, BodyState, COLOR_COUNT, Contact, Counters, Manifold, OVERFLOW_COLOR, Params, RuleContact, SLEEP,
    SURFACES, ShapeData, Surface,
};

/// Minimum number of contacts of a task.
pub(super) const BLOCK: usize = 1024;

/// Memory of [`prepare`] and `store_impulses` on several threads. Kept to avoid allocation.
#[derive(Debug, Default)]
pub struct PrepareScratch {
    parts: Vec<BlockRange<'static>>,
    /// Cuts computed by [`cut`].
    pub(super) cuts: Vec<[usize; COLOR_COUNT as usize]>,
    /// Row that the scene's rule has returned for each contact of this step; empty without a rule.
    pub ruled: Vec<RuleContact>,
}

/// Fills `constraints` and `surfaces`.
pub fn prepare(
    threads: &Threads,
    compiled: &Compiled,
    states: &Rows<BodyState, 4>,
    current: &ContactTables,
    counters: &Counters,
    solver: &mut ConstraintSet,
    scratch: &mut PrepareScratch,
) {
    let Compiled { params, bodies, shapes, .. } = compiled;
    let ContactTables { contacts, manifolds, .. } = current;
    let PrepareScratch { parts: kept, cuts, ruled } = scratch;
    let ConstraintSet { slots, splits, constraints, surfaces, .. } = solver;
    let bounces = params.switches & BOUNCES != 0;
    constraints.build(counters, splits.len(), bounces);
    surfaces.resize(if params.switches & SURFACES == 0 { 0 } else { slots.len() });
    let surfaces = &*surfaces;
    let source = ConstraintTables { params, bodies, shapes, states, contacts, manifolds, ruled, splits };
    if threads.count() == 1 {
        prepare_alone(&source, counters, constraints, surfaces);
        return;
    }

    cut(slots, counters, contacts.len(), cuts);
    let places = *constraints.places();
    let mut parts: Vec<BlockRange> = emptied(std::mem::take(kept));
    parts.resize_with(cuts.len() - 1, BlockRange::default);
    hand_out(constraints, counters, cuts, &mut parts);
    threads.for_chunks(Cut { unit: 1, least: 1 }, &mut parts, |first_part, parts| {
        for (index, BlockRange(streams)) in parts.iter_mut().enumerate() {
            let index = first_part + index;
            let put = |stream: &mut Stream, color: usize, slot: usize, contact: u32| {
                let (block, lane) = places.place(color, slot - counters.color_starts[color] as usize);
                let Some(block) = block.checked_sub(stream.first_block) else { return };
                let Some(to) = stream.blocks.get_mut(block) else { return };
                let constraint = source.constraint(contact, splits.split_at(slot));
                to.set(lane, &constraint);
                if let Some(bounce) = stream.bounces.get_mut(block) {
                    bounce.set(lane, &constraint.rebound);
                }
                if !surfaces.is_empty() {
                    surfaces.set(slot, source.surface(contact));
                }
            };
            let mut slots_next = cuts[index];
            for (color, stream) in streams.iter_mut().enumerate() {
                // The first block may begin with contacts of the previous part.
                let first = stream.first_slot;
                for (offset, slot) in slots.get(first..slots_next[color]).unwrap_or_default().iter().enumerate() {
                    put(stream, color, first + offset, slot.load(Ordering::Relaxed));
                }
            }
            let start = index * BLOCK;
            for (offset, contact) in contacts[start..].iter().take(BLOCK).enumerate() {
                let color = contact.color as usize;
                if let Some(stream) = streams.get_mut(color) {
                    let slot = slots_next[color];
                    slots_next[color] += 1;
                    #[allow(clippy::cast_possible_truncation, reason = "contacts are counted in u32")]
                    put(stream, color, slot, (start + offset) as u32);
                }
            }
            for stream in streams {
                find_masses(stream.blocks);
            }
        }
    });
    *kept = emptied(parts);
}

/// Builds the constraints on one thread, which walks through all contacts and needs no cuts.
fn prepare_alone(
    source: &ConstraintTables,
    counters: &Counters,
    constraints: &mut Blocks,
    surfaces: &Rows<Surface, 2>,
) {
    const COLORS: usize = COLOR_COUNT as usize;
    let mut next = counters.color_starts;
    // Number of blocks of each colour whose masses are computed.
    let mut ready = [0; COLORS];
    for (part, contacts) in source.contacts.chunks(BLOCK).enumerate() {
        #[allow(clippy::cast_possible_truncation, reason = "contacts are counted in u32")]
        for (index, contact) in ((part * BLOCK) as u32..).zip(contacts) {
            let color = contact.color as usize;
            if color >= COLORS || next[color] == counters.color_starts[color + 1] {
                continue;
            }
            let slot = next[color];
            next[color] += 1;
            let constraint = source.constraint(index, source.splits.split_at(slot as usize));
            constraints.set(color, (slot - counters.color_starts[color]) as usize, &constraint);
            if !surfaces.is_empty() {
                surfaces.set(slot as usize, source.surface(index));
            }
        }
        // Masses of full blocks are computed while these are in the cache, all others at the end.
        let is_last = (part + 1) * BLOCK >= source.contacts.len();
        let of_color: [_; COLORS] = std::array::from_fn(|color| constraints.places().of_color(color));
        let (blocks, _) = constraints.parts();
        for (color, ready) in ready.iter_mut().enumerate() {
            // Blocks of the overflow have one constraint or eight.
            let full = if color == OVERFLOW_COLOR as usize {
                0
            } else {
                (next[color] - counters.color_starts[color]) as usize / WIDTH
            };
            let blocks = &mut blocks[of_color[color].clone()];
            let end = if is_last { blocks.len() } else { full };
            if *ready < end {
                find_masses(&mut blocks[*ready..end]);
                *ready = end;
            }
        }
    }
}

/// Adds the constraints of a world to blocks in which other worlds have theirs ([`crate::cpu::WorldGroup`]), with
/// bodies whose indices grow by `first_body`. `next` are the next slots of the colours. There is no overflow, and
/// masses are computed when all worlds have added theirs ([`find_masses`]).
pub(crate) fn prepare_beside(
    source: &ConstraintTables,
    first_body: u32,
    counters: &Counters,
    next: &mut [u32; COLOR_COUNT as usize + 1],
    constraints: &mut Blocks,
    surfaces: &Rows<Surface, 2>,
) {
    for (index, contact) in (0..).zip(source.contacts) {
        let color = contact.color as usize;
        if color >= COLOR_COUNT as usize {
            continue;
        }
        let slot = next[color];
        next[color] += 1;
        let mut constraint = source.constraint(index, None);
        constraint.body_a += first_body;
        constraint.body_b += first_body;
        constraints.set(color, (slot - counters.color_starts[color]) as usize, &constraint);
        if !surfaces.is_empty() {
            surfaces.set(slot as usize, source.surface(index));
        }
    }
}

/// Builds the constraints of the listed contacts, which are in ascending order. Fills `slots`,
/// the colour starts and the hubs, too.
pub(crate) fn prepare_of(
    listed: &[u32],
    source: &ConstraintTables,
    slots: &mut Vec<u32>,
    counters: &mut Counters,
    constraints: &mut Blocks,
    surfaces: &mut Rows<Surface, 2>,
    splits: &mut Vec<usize>,
    hubs: &mut Vec<Hub>,
) {
    let color_of = |contact: u32| source.contacts[contact as usize].color as usize;
    let mut starts = [0; COLOR_COUNT as usize + 1];
    for &contact in listed {
        starts[color_of(contact) + 1] += 1;
    }
    for color in 0..COLOR_COUNT as usize {
        starts[color + 1] += starts[color];
    }
    counters.color_starts = starts;
    let overflow = listed.iter().filter(|&&contact| color_of(contact) == OVERFLOW_COLOR as usize);
    let overflow = overflow.map_while(|&contact| source.splits.split_of(contact));
    splits.clear();
    splits.extend(overflow);
    find_hubs(source, splits, hubs);
    constraints.build(counters, splits.len(), source.params.switches & BOUNCES != 0);
    surfaces.resize(if source.params.switches & SURFACES == 0 { 0 } else { listed.len() });
    slots.resize(listed.len(), 0);
    let mut next = starts;
    for &contact in listed {
        let color = color_of(contact);
        let slot = next[color] as usize;
        next[color] += 1;
        slots[slot] = contact;
        let rank = slot - starts[color] as usize;
        let split = if color == OVERFLOW_COLOR as usize { splits.get(rank).copied() } else { None };
        constraints.set(color, rank, &source.constraint(contact, split));
        if !surfaces.is_empty() {
            surfaces.set(slot, source.surface(contact));
        }
    }
    find_masses(constraints.parts().0);
}

/// Lists the hubs of some of the contacts that are split.
fn find_hubs(source: &ConstraintTables, splits: &[usize], hubs: &mut Vec<Hub>) {
    hubs.clear();
    hubs.extend(splits.iter().flat_map(|&split| source.splits.hubs_of(split, source.contacts)));
    hubs.sort_unstable_by_key(|hub| hub.body);
    hubs.dedup();
}

/// Computes the effective masses of full blocks.
pub(crate) fn find_masses(blocks: &mut [Block]) {
    dispatch!(simd => for block in blocks {
        block.find_masses(simd);
    });
}

/// Tables from which constraints are built.
#[derive(Clone, Copy)]
pub(crate) struct ConstraintTables<'a> {
    pub params: &'a Params,
    pub bodies: &'a [BodyData],
    pub shapes: &'a [ShapeData],
    pub states: &'a Rows<BodyState, 4>,
    pub contacts: &'a [Contact],
    pub manifolds: &'a [Manifold],
    /// Rows that the scene's rule has returned; empty without one.
    pub ruled: &'a [RuleContact],
    pub splits: &'a Splits,
}

impl ConstraintTables<'_> {
    /// Returns the constraint of a contact, without effective masses: [`Block::find_masses`]. `split` is its number
    /// among those that are split.
    #[inline(always)]
    pub fn constraint(&self, index: u32, split: Option<usize>) -> ContactConstraint {
        let (contact, manifold) = (&self.contacts[index as usize], &self.manifolds[index as usize]);
        let bodies = [contact.body_a, contact.body_b].map(|body| &self.bodies[body as usize]);
        let looks_at_states = self.params.switches & SLEEP != 0 || self.params.mass_per_impulse > 0.0;
        let states = [contact.body_a, contact.body_b].map(|body| {
            // States are loaded only if they are needed.
            if looks_at_states { self.states.get(body as usize) } else { BodyState::default() }
        });
        let mut constraint = prepare_contact(self.params, bodies, self.shapes_of(contact), states, contact, manifold);
        if let Some(solved) = self.ruled.get(index as usize) {
            constraint.follow(solved);
        }
        if let Some(split) = split {
            constraint.split(self.splits.shares(split, contact));
        }
        constraint
    }

    fn shapes_of(&self, contact: &Contact) -> [&ShapeData; 2] {
        [contact.shape_a, contact.shape_b].map(|shape| &self.shapes[shape as usize])
    }

    /// Returns the material parameters of a contact beside friction and restitution.
    pub fn surface(&self, index: u32) -> Surface {
        let contact = &self.contacts[index as usize];
        let surface = prepare_surface(self.params, self.shapes_of(contact), contact);
        surface_by_rule(surface, self.ruled.get(index as usize))
    }
}

/// Blocks that one part of the contacts fills, by colour.
#[derive(Debug, Default)]
struct BlockRange<'a>([Stream<'a>; COLOR_COUNT as usize]);

/// Blocks of one colour that a part fills, the index of the first, and the slot of its first constraint.
#[derive(Debug, Default)]
struct Stream<'a> {
    first_block: usize,
    first_slot: usize,
    blocks: &'a mut [Block],
    bounces: &'a mut [Bounce],
}

/// Hands out the blocks: each part of the contacts fills the blocks of each colour whose first constraint belongs to
/// one of its contacts.
fn hand_out<'a>(
    constraints: &'a mut Blocks,
    counters: &Counters,
    cuts: &[[usize; COLOR_COUNT as usize]],
    parts: &mut [BlockRange<'a>],
) {
    let places = *constraints.places();
    let first_block = |part: usize, color: usize| {
        let rank = cuts[part][color] - counters.color_starts[color] as usize;
        if part + 1 == cuts.len() { places.of_color(color).end } else { places.place(color, rank).0 }
    };
    let (mut blocks, mut bounce_blocks) = constraints.parts();
    for color in 0..COLOR_COUNT as usize {
        for (index, part) in parts.iter_mut().enumerate() {
            let first = first_block(index, color);
            let count = first_block(index + 1, color) - first;
            let stream = &mut part.0[color];
            stream.first_block = first;
            stream.first_slot = counters.color_starts[color] as usize + places.first_rank(color, first);
            (stream.blocks, blocks) = blocks.split_at_mut(count);
            let count = count.min(bounce_blocks.len());
            (stream.bounces, bounce_blocks) = bounce_blocks.split_at_mut(count);
        }
    }
}

/// Cuts the contacts into blocks of [`BLOCK`], and finds the first constraint of each block in each colour. Returns one
/// row per block in `cuts`, and one more for the end.
///
/// Within a colour the constraints are in the order of the contacts. So a walk through the contacts is a walk through
/// as many rows of constraints as there are colours, each in order too, and the processor prefetches all of them. In
/// colour order the walk would jump through the contacts, and wait for each: with 300,000 of them, out of the caches,
/// three times as long a contact as with 3,000.
pub(super) fn cut(
    slots: &[AtomicU32],
    counters: &Counters,
    contacts: usize,
    cuts: &mut Vec<[usize; COLOR_COUNT as usize]>,
) {
    let contact_of = |slot: &AtomicU32| slot.load(Ordering::Relaxed) as usize;
    cuts.clear();
    cuts.resize(contacts.div_ceil(BLOCK) + 1, [0; COLOR_COUNT as usize]);
    for color in 0..COLOR_COUNT as usize {
        let [mut slot, end] = [0, 1].map(|next| (counters.color_starts[color + next] as usize).min(slots.len()));
        for (block, cut) in cuts.iter_mut().enumerate() {
            let most = end.min(slot + BLOCK).max(slot);
            slot += slots[slot..most].partition_point(|slot| contact_of(slot) < block * BLOCK);
            cut[color] = slot;
        }
    }
}
