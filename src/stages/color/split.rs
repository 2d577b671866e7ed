//! Hubs: bodies that touch more others than there are colours. Their contacts beyond are the overflow, which one lane
//! would solve one after the other while thousands are idle. So each of these contacts gets a body of its own: a share
//! of the hub, with its part of the mass.
//!
//! A body of which a contact found no colour gives the colours of its others back, so that all of them are split: 23
//! colours with a contact each would take longer than the rest. From then on its contacts ask for none ([`HUB_A`]),
//! until there are as few as colours. Where not all of the overflow can be split, colours stay.
//!
//! [`prepare`](crate::stages::prepare) refers the constraints to the shares. A sweep ([`Splits::sweep`]), when it comes
//! to the overflow, gives the shares the state of their body, visits the contacts, which now share no body and may be
//! solved in parallel, and moves the body by the mean of its shares. A share has the mass and the inertia of the body
//! over the number of its shares, so that momentum is kept. Tonge, Benevolenski, Voroshilov: *Mass splitting for
//! jitter-free parallel rigid body simulation* (2012).
//!
//! The springs of contacts that are split are those of the shares, and softer. While bodies fall onto a light hub it
//! gives way by more; at rest the preload ([`store_impulses`](crate::stages::store_impulses)) takes that back. With the
//! springs of the whole bodies, plates that carry ten times their weight tremble, as they do if solved in order.

use glam::Vec2;

use super::{moving, splits_overflow};
use crate::math::larger;
use crate::types::{
    Accumulator, BodyState, Contact, Counters, DYNAMIC_COLORS, HUB_A, HUB_B, MAX_SPLITS, MIN_SPLIT_SHAPES, NONE,
    OVERFLOW_COLOR, POINT_COUNT_MASK, Params, SHARE_CHUNK,
};

/// Shares of a step.
#[derive(Clone, Debug, Default)]
pub struct Splits {
    /// Slot of the first contact that is split: the start of the overflow.
    first: usize,
    /// True if contacts of the overflow are left that are not split.
    has_rest: bool,
    /// Contacts that are split, in ascending order.
    contacts: Vec<u32>,
    /// Number of shares of body A and of body B of each of these contacts; 1 is the body itself.
    counts: Vec<[u32; 2]>,
    hubs: Vec<Hub>,
    /// Rows of the shares, by hub.
    rows: Vec<u32>,
    /// Number of bodies, and row of the first share.
    bodies: u32,
    /// Number of split contacts of each body, later index of its hub; [`NONE`] for a body that is none.
    hub_of: Vec<u32>,
}

/// A body with shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hub {
    /// Index of the body.
    pub body: u32,
    /// Index of its first share.
    first: u32,
    /// Number of its shares.
    count: u32,
}

/// Rows to which a constraint refers instead of its bodies, and the number of shares that each body has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConstraintShares {
    /// Rows of body A and of body B, or of their shares.
    pub rows: [u32; 2],
    /// Number of shares of body A and of body B; 1 is the body itself.
    pub counts: [u32; 2],
}

/// Returns the number of contacts that a world with this many shapes can split. Contacts beyond are solved in order.
#[must_use]
pub fn max_splits(shapes: u32) -> u32 {
    if shapes < MIN_SPLIT_SHAPES { 0 } else { MAX_SPLITS.min(shapes.saturating_mul(2)) }
}

impl Splits {
    /// Splits the overflow of contacts that have their colours. Replaces the shares of an earlier step.
    pub fn split(&mut self, params: &Params, contacts: &[Contact], counters: &Counters) {
        let limit = if splits_overflow(params) { max_splits(params.shape_count) } else { 0 };
        let size = counters.color_size(OVERFLOW_COLOR);
        self.has_rest = size > limit;
        let limit = limit.min(size) as usize;
        self.first = counters.color_starts[OVERFLOW_COLOR as usize] as usize;
        self.bodies = params.body_count;
        self.contacts.clear();
        self.hubs.clear();
        self.rows.clear();
        self.counts.clear();
        if limit == 0 {
            return;
        }
        let is_split = |contact: &Contact| contact.color == OVERFLOW_COLOR && contact.flags & POINT_COUNT_MASK != 0;
        let split = (0..).zip(contacts).filter(|(_, contact)| is_split(contact)).map(|(index, _)| index).take(limit);
        self.contacts.extend(split);
        self.counts.resize(self.contacts.len(), [1; 2]);
        self.hub_of.clear();
        self.hub_of.resize(self.bodies as usize, 0);
        let Self { contacts: splits, counts, hubs, rows, hub_of, .. } = self;
        for &index in &*splits {
            moving(&contacts[index as usize]).for_each(|body| hub_of[body] += 1);
        }
        // A body with one contact is itself.
        let mut length = 0;
        for (body, hub_of) in (0..).zip(hub_of.iter_mut()) {
            let count = std::mem::replace(hub_of, NONE);
            if count > 1 {
                #[allow(clippy::cast_possible_truncation, reason = "bodies are counted in u32")]
                let hub = hubs.len() as u32;
                *hub_of = hub;
                hubs.push(Hub { body, first: length, count: 0 });
                length += count;
            }
        }
        rows.resize(length as usize, 0);
        for (split, &index) in (0..).zip(&*splits) {
            let Contact { body_a, body_b, .. } = contacts[index as usize];
            for (end, body) in [(0, body_a), (1, body_b)] {
                if let Some(hub) = hubs.get_mut(hub_of[body as usize] as usize) {
                    rows[(hub.first + hub.count) as usize] = params.body_count + 2 * split + end;
                    hub.count += 1;
                }
            }
        }
        for (counts, &index) in counts.iter_mut().zip(&*splits) {
            let Contact { body_a, body_b, .. } = contacts[index as usize];
            *counts = [body_a, body_b].map(|body| hubs.get(hub_of[body as usize] as usize).map_or(1, |hub| hub.count));
        }
    }

    /// Flags the contacts of hubs, which ask for no colour in the next step. A body with as many contacts as there are
    /// colours, or fewer, is a hub no longer; nor is any if not all contacts can be split: colours are then better.
    pub fn mark_hubs(&self, contacts: &mut [Contact]) {
        if self.has_rest {
            for contact in contacts.iter_mut().filter(|contact| contact.color == OVERFLOW_COLOR) {
                contact.flags &= !(HUB_A | HUB_B);
            }
            return;
        }
        for (&index, &counts) in self.contacts.iter().zip(&self.counts) {
            let [hub_a, hub_b] = counts.map(|count| count > DYNAMIC_COLORS);
            let flags = if hub_a { HUB_A } else { 0 } | if hub_b { HUB_B } else { 0 };
            let contact = &mut contacts[index as usize];
            contact.flags = contact.flags & !(HUB_A | HUB_B) | flags;
        }
    }

    /// Returns the number of contacts that are split.
    #[must_use]
    pub fn len(&self) -> usize {
        self.contacts.len()
    }

    /// Returns true if no contact is split.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.contacts.is_empty()
    }

    /// Returns the number of rows of bodies and shares.
    #[must_use]
    pub fn row_count(&self) -> usize {
        self.bodies as usize + 2 * self.len()
    }

    /// Returns the bodies with shares, in ascending order.
    #[must_use]
    pub fn hubs(&self) -> &[Hub] {
        &self.hubs
    }

    /// Returns the hubs of a contact by its number among those that are split.
    pub fn hubs_of(&self, split: usize, contacts: &[Contact]) -> impl Iterator<Item = Hub> {
        let Contact { body_a, body_b, .. } = contacts[self.contacts[split] as usize];
        [body_a, body_b].into_iter().filter_map(|body| self.hubs.get(self.hub_of[body as usize] as usize).copied())
    }

    /// Returns the number of a contact of the overflow among those that are split.
    #[must_use]
    pub fn split_of(&self, contact: u32) -> Option<usize> {
        self.contacts.binary_search(&contact).ok()
    }

    /// Returns the number of the contact with this slot among those that are split.
    #[inline]
    #[must_use]
    pub fn split_at(&self, slot: usize) -> Option<usize> {
        slot.checked_sub(self.first).filter(|&split| split < self.len())
    }

    /// Returns the shares of a contact by its number among those that are split.
    #[inline]
    #[must_use]
    pub fn shares(&self, split: usize, contact: &Contact) -> ConstraintShares {
        let (counts, bodies) = (self.counts[split], [contact.body_a, contact.body_b]);
        let row = |end: usize| {
            #[allow(clippy::cast_possible_truncation, reason = "contacts are counted in u32")]
            let share = self.bodies + (2 * split + end) as u32;
            if counts[end] > 1 { share } else { bodies[end] }
        };
        ConstraintShares { rows: [row(0), row(1)], counts }
    }

    /// Visits `count` constraints in order, with the states and accumulators of bodies and shares. Before the first
    /// contact that is split the shares get the state of their body, after the last one the body that of its shares.
    pub fn sweep(
        &self,
        count: usize,
        states: &mut Vec<BodyState>,
        accumulators: &mut Vec<Accumulator>,
        mut each: impl FnMut(usize, &mut [BodyState], &mut [Accumulator]),
    ) {
        let bodies = states.len();
        let (start, end) = (self.first.min(count), (self.first + self.len()).min(count));
        (0..start).for_each(|slot| each(slot, states, accumulators));
        states.resize(self.row_count().max(bodies), BodyState::default());
        accumulators.resize(self.row_count().max(bodies), Accumulator::default());
        for hub in &self.hubs {
            for &row in self.rows_of(hub) {
                states[row as usize] = states[hub.body as usize];
                accumulators[row as usize] = accumulators[hub.body as usize];
            }
        }
        (start..end).for_each(|slot| each(slot, states, accumulators));
        for hub in &self.hubs {
            let body = hub.body as usize;
            (states[body], accumulators[body]) = self.merged(hub, |row| (states[row], accumulators[row]));
        }
        states.truncate(bodies);
        accumulators.truncate(bodies);
        (end..count).for_each(|slot| each(slot, states, accumulators));
    }

    /// Returns the rows of the shares of a hub.
    #[inline]
    #[must_use]
    pub fn rows_of(&self, hub: &Hub) -> &[u32] {
        &self.rows[hub.first as usize..][..hub.count as usize]
    }

    /// Returns state and accumulator of a hub, moved by the mean of its shares. `read` returns those of a row.
    #[must_use]
    pub fn merged(&self, hub: &Hub, read: impl Fn(usize) -> (BodyState, Accumulator)) -> (BodyState, Accumulator) {
        let (state, sum) = read(hub.body as usize);
        let rows = self.rows_of(hub);
        let mut all = ShareSum::default();
        for chunk in rows.chunks(SHARE_CHUNK as usize) {
            let mut part = ShareSum::default();
            for &row in chunk {
                let (share, share_sum) = read(row as usize);
                part.add(ShareSum::between(&state, &share, &sum, &share_sum));
            }
            all.add(part);
        }
        self.moved(hub, all, state, sum)
    }

    /// Returns state and accumulator of a hub, moved by the mean of its shares; `all` is the sum of their motions.
    #[must_use]
    pub fn moved(
        &self,
        hub: &Hub,
        all: ShareSum,
        mut state: BodyState,
        mut sum: Accumulator,
    ) -> (BodyState, Accumulator) {
        #[allow(clippy::cast_precision_loss, reason = "at most 2^18")]
        let count = hub.count as f32;
        state.velocity = (Vec2::from(state.velocity) + all.velocity / count).into();
        state.angular_velocity += all.angular_velocity / count;
        state.delta_position = (Vec2::from(state.delta_position) + all.position / count).into();
        if all.rotation != Vec2::ZERO {
            let turned = Vec2::from(state.delta_rotation) + all.rotation / count;
            state.delta_rotation = (turned / turned.length()).into();
        }
        sum.velocity = (Vec2::from(sum.velocity) + all.impulse_velocity / count).into();
        sum.angular_velocity += all.impulse_angular_velocity / count;
        // It has contacts ([`UNTOUCHED`](crate::constants::UNTOUCHED)).
        sum.asked_mass = larger(sum.asked_mass, 0.0);
        (state, sum)
    }
}

/// Changes of the rows of a share while its contact was solved, or the sum of those of several shares.
#[derive(Clone, Copy, Debug, Default)]
pub struct ShareSum {
    /// Change of the velocity, m/s.
    pub velocity: Vec2,
    /// Change of the angular velocity, rad/s.
    pub angular_velocity: f32,
    /// Change of the motion since the step began, m.
    pub position: Vec2,
    /// Change of the turn since the step began, as cosine and sine.
    pub rotation: Vec2,
    /// Change of the accumulator's velocity, m/s.
    pub impulse_velocity: Vec2,
    /// Change of the accumulator's angular velocity, rad/s.
    pub impulse_angular_velocity: f32,
}

impl ShareSum {
    fn between(body: &BodyState, share: &BodyState, sum: &Accumulator, share_sum: &Accumulator) -> Self {
        let change = |from: [f32; 2], to: [f32; 2]| Vec2::from(to) - Vec2::from(from);
        Self {
            velocity: change(body.velocity, share.velocity),
            angular_velocity: share.angular_velocity - body.angular_velocity,
            position: change(body.delta_position, share.delta_position),
            rotation: change(body.delta_rotation, share.delta_rotation),
            impulse_velocity: change(sum.velocity, share_sum.velocity),
            impulse_angular_velocity: share_sum.angular_velocity - sum.angular_velocity,
        }
    }

    fn add(&mut self, other: Self) {
        self.velocity += other.velocity;
        self.angular_velocity += other.angular_velocity;
        self.position += other.position;
        self.rotation += other.rotation;
        self.impulse_velocity += other.impulse_velocity;
        self.impulse_angular_velocity += other.impulse_angular_velocity;
    }
}
