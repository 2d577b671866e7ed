//! Shares of hubs in the sweeps of the CPU engine; the fast form of [`Splits::sweep`], to the same bits.

use glam::Vec2;

use super::BodyTables;
use super::blocks::SPLIT_GROUP;
use crate::lanes::{Simd, SimdBase, dispatch, f32x4};
use crate::stages::color::split::{Hub, ShareSum, Splits};
use crate::threads::{Halves as _, RowTable, Rows};
use crate::types::{Accumulator, BodyData, BodyState, Contact, Counters, Params, SHARE_CHUNK};

/// Hubs whose contacts a sweep visits, and the tables in which their shares have rows.
#[derive(Clone, Copy, Debug)]
pub struct Shares<'a> {
    /// Shares of the step.
    pub splits: &'a Splits,
    /// Hubs of this sweep.
    pub hubs: &'a [Hub],
    /// States of bodies and shares.
    pub states: &'a Rows<BodyState, 4>,
    /// Accumulators of bodies and shares.
    pub accumulators: &'a Rows<Accumulator, 2>,
}

/// Visits the blocks of a group by one thread, with the shares of all hubs if they are those that are split.
#[inline]
pub fn around_split(
    splits: &Splits,
    group: usize,
    states: impl RowTable<Item = BodyState>,
    accumulators: impl RowTable<Item = Accumulator>,
    visit: impl FnOnce(),
) {
    if group != SPLIT_GROUP {
        return visit();
    }
    hand_out(splits, splits.hubs(), states, accumulators);
    visit();
    merge(splits, splits.hubs(), states, accumulators);
}

impl BodyTables {
    /// Splits the overflow of contacts that have their colours, and adds rows for the shares.
    pub(super) fn split_overflow(
        &mut self,
        params: &Params,
        contacts: &mut [Contact],
        counters: &Counters,
        splits: &mut Splits,
    ) {
        splits.split(params, contacts, counters);
        splits.mark_hubs(contacts);
        self.add_shares(splits);
    }

    /// Adds rows for the shares of a step behind those of the bodies.
    pub(super) fn add_shares(&mut self, splits: &Splits) {
        self.states.resize(splits.row_count());
        self.accumulators.resize(splits.row_count());
    }

    /// Removes the rows of shares.
    pub(super) fn drop_shares(&mut self, bodies: &[BodyData]) {
        self.states.resize(bodies.len());
        self.accumulators.resize(bodies.len());
    }
}

impl Shares<'_> {
    /// Gives the shares the state of their body.
    pub fn hand_out(&self) {
        hand_out(self.splits, self.hubs, self.states, self.accumulators);
    }

    /// Moves the bodies by the mean of their shares.
    pub fn merge(&self) {
        merge(self.splits, self.hubs, self.states, self.accumulators);
    }
}

/// Gives the shares of these hubs the state of their body.
pub fn hand_out(
    splits: &Splits,
    hubs: &[Hub],
    states: impl RowTable<Item = BodyState>,
    accumulators: impl RowTable<Item = Accumulator>,
) {
    for hub in hubs {
        let (state, sum) = (states.get(hub.body as usize), accumulators.get(hub.body as usize));
        for &row in splits.rows_of(hub) {
            states.set(row as usize, state);
            accumulators.set(row as usize, sum);
        }
    }
}

/// Moves these hubs by the mean of their shares.
pub fn merge(
    splits: &Splits,
    hubs: &[Hub],
    states: impl RowTable<Item = BodyState>,
    accumulators: impl RowTable<Item = Accumulator>,
) {
    dispatch!(simd => for hub in hubs {
        merge_hub(simd, splits, hub, states, accumulators);
    });
}

/// Moves a hub by the mean of its shares: [`Splits::merged`], with the numbers of a row side by side. Status bits are
/// summed up with them, and ignored.
#[inline(always)]
fn merge_hub<S: Simd>(
    simd: S,
    splits: &Splits,
    hub: &Hub,
    states: impl RowTable<Item = BodyState>,
    accumulators: impl RowTable<Item = Accumulator>,
) {
    let halves = |row: u32| {
        let (state, sum) = (states.row(row as usize), accumulators.row(row as usize));
        [state.lanes(simd, 0), state.lanes(simd, 1), sum.lanes(simd, 0)]
    };
    let (from, zero) = (halves(hub.body), [f32x4::splat(simd, 0.0); 3]);
    let mut all = zero;
    for chunk in splits.rows_of(hub).chunks(SHARE_CHUNK as usize) {
        let mut part = zero;
        for &row in chunk {
            let to = halves(row);
            part = std::array::from_fn(|half| part[half] + (to[half] - from[half]));
        }
        all = std::array::from_fn(|half| all[half] + part[half]);
    }
    let [[v_x, v_y, spin, _], [p_x, p_y, q_x, q_y], [i_x, i_y, i_spin, _]] = all.map(SimdBase::to_array);
    let sum = ShareSum {
        velocity: Vec2::new(v_x, v_y),
        angular_velocity: spin,
        position: Vec2::new(p_x, p_y),
        rotation: Vec2::new(q_x, q_y),
        impulse_velocity: Vec2::new(i_x, i_y),
        impulse_angular_velocity: i_spin,
    };
    let body = hub.body as usize;
    let (state, sum) = splits.moved(hub, sum, states.get(body), accumulators.get(body));
    states.set(body, state);
    accumulators.set(body, sum);
}
