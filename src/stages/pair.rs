//! **pair**: finds the pairs of shapes whose AABBs overlap and that may touch, and creates their contacts, grouped by
//! producer: the one shape of a pair that searches for the other. Box2D: `b2UpdateBroadPhasePairs`.
//!
//! Reads aabbs, shapes, motions, the grid and the pairs that joints exclude; writes pair_starts (shape `i` produced
//! contacts `pair_starts[i] .. pair_starts[i + 1]`) and contacts: shapes, bodies, flags. Visits one shape after the
//! other; the device runs `pair_count`, scan, `pair_emit`.
//!
//! The producer is the shape on the finer level; on the same level, the one that is not fixed, or else the one with the
//! lower index ([`produces`]; bands count as the level they belong to). This rule never changes for a pair, so that
//! [`match_contacts`](super::match_contacts) finds last step's contact in the list of the same shape. The price is that
//! each shape searches all of the up to nine cells around it instead of half of them.
//!
//! A fast body looks ahead for fixed shapes ([`look_ahead`]): it gets a contact with the floor in the step in which it
//! lands, not in the one after, when it would be inside. It finds those for which it is the producer: fixed shapes that
//! are not much smaller than itself.
//!
//! Half planes are in no cell. Every shape tests each of them, before the grid: scenes have a handful.
//!
//! If bodies may sleep (reads states and, in the counters, the levels that have an awake shape): two [`ASLEEP`] shapes
//! make no pair. A sleeping shape searches only where there may be an awake one: on the coarser levels that have any,
//! and on its own level if an awake shape that is not the producer met it and marked it. For these marks the awake
//! shapes search first; on the device `pair_count`, then `pair_count_asleep`. The producer of a pair stays the same.

use glam::Vec2;

use super::bin::{cells, cells_between, runs_of_row};
use crate::constants::SWEPT;
use crate::math::{larger, smaller};
use crate::scene::{Compiled, JointTable, PairExclusions};
use crate::tables::Tables;
use crate::types::{
    ASLEEP, AWAKE_HALF_PLANE, Aabb, BROKEN, BodyMotion, Contact, FIXED_A, FIXED_B, FIXED_SHAPE, HALF_PLANE_ROW,
    JOINED_SHAPE, JOINT_APART, JOINT_DISABLED, JointData, JointState, NONE, Params, SENSOR, SENSOR_B, SENSOR_SHAPE,
    SLEEP, ShapeData,
};

/// Fills `pair_starts` and `contacts`.
pub fn pair(compiled: &Compiled, tables: &mut Tables) {
    let Compiled { params, shapes, joints: JointTable { exclusions, .. }, .. } = compiled;
    let Tables { aabbs, cell_ends, cell_shapes, states, motions, counters, pair_starts, contacts, .. } = tables;
    let awake_levels = counters.awake_levels;
    let sleeps = params.switches & SLEEP != 0;
    let asleep = shapes.iter().map(|shape| sleeps && states[shape.body as usize].status & ASLEEP != 0).collect();
    let search =
        PairSearch { params, shapes, motions, aabbs, cell_ends, cell_shapes, exclusions, asleep, awake_levels };
    // pair_count, for the marks it leaves.
    let mut marked = vec![false; shapes.len()];
    if sleeps {
        let awake = (0..shapes.len()).filter(|&index| !search.asleep[index]);
        awake.for_each(|index| search.pairs_of(index, false, |_| {}, |other| marked[other] = true));
    }
    // pair_emit
    pair_starts.clear();
    contacts.clear();
    for (index, &is_marked) in marked.iter().enumerate() {
        pair_starts.push(length(contacts));
        search.pairs_of(index, is_marked, |other| contacts.push(emit_contact(shapes, index, other)), |_| {});
    }
    pair_starts.push(length(contacts));
}

/// Tables that a search reads.
struct PairSearch<'a> {
    params: &'a Params,
    shapes: &'a [ShapeData],
    motions: &'a [BodyMotion],
    aabbs: &'a [Aabb],
    cell_ends: &'a [u32],
    cell_shapes: &'a [u32],
    exclusions: &'a PairExclusions,
    /// True for each shape whose body is asleep.
    asleep: Vec<bool>,
    awake_levels: u32,
}

impl PairSearch<'_> {
    /// Calls `found` for each shape that pairs with `index`, which is its producer, and `mark` for each sleeping shape
    /// that meets `index` and is the producer itself. `is_marked`: an awake shape has met this sleeping one.
    fn pairs_of(&self, index: usize, is_marked: bool, mut found: impl FnMut(usize), mut mark: impl FnMut(usize)) {
        let Self { params, shapes, motions, aabbs, cell_ends, cell_shapes, ref asleep, awake_levels, .. } = *self;
        let aabb = &aabbs[index];
        if !aabb.has_room() {
            return;
        }
        let shape = &shapes[index];
        let ahead = &look_ahead(params, shape, &motions[shape.body as usize], aabb);
        if !asleep[index] || awake_levels & AWAKE_HALF_PLANE != 0 {
            for plane in params.planes().map(|plane| plane as usize) {
                let both_asleep = asleep[index] && asleep[plane];
                if reaches(ahead, &aabbs[plane]) && self.may_pair(shape, &shapes[plane]) && !both_asleep {
                    found(plane);
                }
            }
        }
        let last_own = shape.level + params.levels[shape.level as usize].bands;
        for level_index in shape.level..params.level_count {
            let own_level = level_index <= last_own;
            if asleep[index] && (awake_levels >> level_index & 1 == 0 || (own_level && !is_marked)) {
                continue;
            }
            let level = &params.levels[level_index as usize];
            let half = Vec2::from(level.half_cell);
            let near = search_box(params, level_index, aabb, ahead);
            let (low, high) = (Vec2::from(near.min) - half, Vec2::from(near.max) + half);
            let [left, bottom, right, top] = cells_between(level, low, high);
            let mut meet = |other: usize| {
                let near = if shapes[other].kind & FIXED_SHAPE == 0 { aabb } else { ahead };
                if !overlap(near, &aabbs[other]) || !self.may_pair(shape, &shapes[other]) {
                    return;
                }
                if own_level && !produces(shapes, index, other) {
                    // If the producer sleeps it is marked.
                    if asleep[other] && !asleep[index] {
                        mark(other);
                    }
                } else if !(asleep[index] && asleep[other]) {
                    found(other);
                }
            };
            for row in bottom..=top {
                runs_of_row(level, left, right, row, |first, last| {
                    for &other in cells(cell_ends, cell_shapes, first, last) {
                        meet(other as usize);
                    }
                });
            }
        }
    }

    /// Returns true if two shapes whose boxes overlap may touch.
    fn may_pair(&self, a: &ShapeData, b: &ShapeData) -> bool {
        a.body != b.body && may_meet(a, b) && !kept_apart(self.exclusions, a, b)
    }
}

/// Returns true if `index` is the producer of its pair with `other` on one level: the shape that is not fixed, as it
/// looks ahead; if that tells nothing, the one with the lower index.
#[inline]
#[must_use]
pub fn produces(shapes: &[ShapeData], index: usize, other: usize) -> bool {
    let [own, others] = [index, other].map(|shape| shapes[shape].kind & FIXED_SHAPE != 0);
    if own == others { index < other } else { others }
}

/// Returns true if a dynamic body moves so far in a step that it looks ahead, and is not swept.
#[inline]
#[must_use]
pub fn looks_ahead(params: &Params, motion: &BodyMotion) -> bool {
    motion.extent != SWEPT && motion.moved.iter().any(|moved| moved.abs() > params.aabb_margin)
}

/// Returns the box in which a shape looks for fixed shapes: its AABB, extended by the motion of the body in the step if
/// the body is dynamic and moves further than the margin. At most twice as wide and as high: a body that moves further
/// is stopped by [`continuous`](super::continuous) before it hits.
#[inline]
#[must_use]
pub fn look_ahead(params: &Params, shape: &ShapeData, motion: &BodyMotion, aabb: &Aabb) -> Aabb {
    if !looks_ahead(params, motion) || shape.kind & FIXED_SHAPE != 0 {
        return *aabb;
    }
    let mut ahead = *aabb;
    for axis in 0..2 {
        let size = aabb.max[axis] - aabb.min[axis];
        let moved = larger(smaller(motion.moved[axis], size), -size);
        ahead.min[axis] = aabb.min[axis] + smaller(moved, 0.0);
        ahead.max[axis] = aabb.max[axis] + larger(moved, 0.0);
    }
    ahead
}

/// Returns true if fixed shapes lie on a level.
#[inline]
#[must_use]
pub fn has_fixed(params: &Params, level: u32) -> bool {
    params.fixed_levels >> level & 1 != 0
}

/// Returns the box with which a shape searches a level: `ahead`, or its own if no fixed shapes lie there.
#[inline]
#[must_use]
pub fn search_box<'a>(params: &Params, level: u32, own: &'a Aabb, ahead: &'a Aabb) -> &'a Aabb {
    if has_fixed(params, level) { ahead } else { own }
}

/// Returns a new contact, without points.
#[inline]
#[must_use]
pub fn emit_contact(shapes: &[ShapeData], index: usize, other: usize) -> Contact {
    let (producer, partner) = (&shapes[index], &shapes[other]);
    let mut flags = 0;
    if producer.kind & FIXED_SHAPE != 0 {
        flags |= FIXED_A;
    }
    if partner.kind & FIXED_SHAPE != 0 {
        flags |= FIXED_B;
    }
    if producer.kind & SENSOR_SHAPE != 0 {
        flags |= SENSOR;
    } else if partner.kind & SENSOR_SHAPE != 0 {
        flags |= SENSOR | SENSOR_B;
    }
    #[allow(clippy::cast_possible_truncation, reason = "shapes are counted in u32")]
    let [shape_a, shape_b] = [index, other].map(|shape| shape as u32);
    let (body_a, body_b) = (producer.body, partner.body);
    Contact { shape_a, shape_b, body_a, body_b, flags, color: NONE, features: 0, rolling_impulse: 0.0 }
}

/// Returns true if the filters of two shapes let them touch (Box2D's rule), and one is not fixed or is a sensor.
#[inline]
#[must_use]
pub fn may_meet(a: &ShapeData, b: &ShapeData) -> bool {
    if a.kind & b.kind & FIXED_SHAPE != 0 && (a.kind | b.kind) & SENSOR_SHAPE == 0 {
        return false;
    }
    if a.group == b.group && a.group != 0 {
        return a.group > 0;
    }
    a.mask & b.category != 0 && b.mask & a.category != 0
}

/// Updates the pairs that joints exclude: a joint that broke or is disabled excludes none. Visits one joint after the
/// other, before the search (`pair_exclude`), in worlds where that can change.
pub fn update_exclusions(joints: &[JointData], joint_state: impl Fn(usize) -> JointState, links: &mut [[u32; 2]]) {
    for (place, joint) in joints.iter().enumerate().filter(|(_, joint)| joint.flags & JOINT_APART != 0) {
        let holds = joint.flags & JOINT_DISABLED == 0 && joint_state(place).status & BROKEN == 0;
        links[2 * place][0] = if holds { joint.body_b } else { NONE };
        links[2 * place + 1][0] = if holds { joint.body_a } else { NONE };
    }
}

/// Returns true if a joint excludes contacts between two shapes.
#[inline]
#[must_use]
pub fn kept_apart(exclusions: &PairExclusions, a: &ShapeData, b: &ShapeData) -> bool {
    a.kind & b.kind & JOINED_SHAPE != 0 && exclusions.keep_apart(a.body, b.body)
}

/// Returns true if two AABBs overlap.
#[inline]
#[must_use]
pub fn overlap(a: &Aabb, b: &Aabb) -> bool {
    (0..2).all(|axis| a.min[axis] <= b.max[axis] && b.min[axis] <= a.max[axis])
}

/// Returns true if an AABB reaches the surface of a half plane, both with their margins. For axis-aligned planes all
/// devices round alike; for a tilted one a device that fuses products may decide a tie differently.
#[inline]
#[must_use]
pub fn reaches(aabb: &Aabb, plane: &Aabb) -> bool {
    let normal = plane.max;
    let lowest = [
        if normal[0] > 0.0 { aabb.min[0] } else { aabb.max[0] },
        if normal[1] > 0.0 { aabb.min[1] } else { aabb.max[1] },
    ];
    // The row of a quarantined half plane has another value here.
    plane.min[0] == HALF_PLANE_ROW as f32 && normal[0] * lowest[0] + normal[1] * lowest[1] <= plane.min[1]
}

#[allow(clippy::cast_possible_truncation, reason = "contacts are counted in u32")]
fn length(contacts: &[Contact]) -> u32 {
    contacts.len() as u32
}
