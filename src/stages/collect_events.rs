//! **collect_events**: collects the events of a step: pairs that began or ceased to touch, and joints that broke in the
//! previous step.
//!
//! Reads contacts and contacts_previous with their pair_starts, manifolds, poses, states; writes event_starts and
//! events. Visits the shapes, for the pairs that each produces, then the joints; the device runs
//! `collect_events_count`, scan, `collect_events_end`, `collect_events_begin`, `collect_events_joints`. So the order of
//! events is always the same: by producer, first the ended touches, then the begun ones, each in the order of contacts.
//! Runs only if the scene asks for events. A pair that falls asleep does not cease to touch; [`wake`](super::wake)
//! restores its contact before this stage runs.
//!
//! [`match_contacts`](super::match_contacts) has determined whether a pair touched before ([`TOUCHED`]).
//!
//! A pair touches if it has contact points, also across a gap below the speculative distance; with a sensor, if it
//! overlaps.

use glam::Vec2;

use crate::math::cross_scalar;
use crate::tables::Tables;
use crate::types::{
    ASLEEP, BREAK_TOLD, BROKEN, BodyState, Contact, EVENT_BEGIN, EVENT_END, EVENT_JOINT_BROKE, EVENT_SENSOR_BEGIN,
    EVENT_SENSOR_END, EventData, FIXED_B, IMPACT, JointData, JointState, Manifold, OVERLAPS, POINT_COUNT_MASK, Pose,
    SENSOR, SENSOR_B, TOUCHED, WORLD_A,
};

/// Fills `events`.
pub fn collect_events(joints: &[JointData], tables: &mut Tables) {
    let Tables { poses, states, pair_starts_previous, contacts_previous, .. } = tables;
    let Tables { pair_starts, contacts, manifolds, joint_states, events, .. } = tables;
    let status = |body: u32| states[body as usize].status;
    events.clear();
    for producer in 0..pair_starts.len().saturating_sub(1) {
        let before = produced(pair_starts_previous, contacts_previous, producer);
        let now = produced(pair_starts, contacts, producer);
        for old in before.iter().filter(|old| touches(old)) {
            let goes_on = now.iter().any(|contact| contact.shape_b == old.shape_b && goes_on(old, contact));
            // Archived, as both sleep: the pair touches as before.
            let sleeps_on = status(old.body_a) & status(old.body_b) & ASLEEP != 0;
            if !goes_on && !sleeps_on {
                events.push(end_of(old));
            }
        }
        for (contact, manifold) in now.iter().zip(produced(pair_starts, manifolds, producer)) {
            if touches(contact) && contact.flags & TOUCHED == 0 {
                let (a, b) = (contact.body_a as usize, contact.body_b as usize);
                events.push(begin_of([&poses[a], &poses[b]], [states[a], states[b]], contact, manifold));
            }
        }
    }
    for (joint, state) in joints.iter().zip(joint_states) {
        events.extend(break_of(joint, state));
    }
}

/// Returns the event that a joint broke, once per joint.
#[allow(clippy::cast_precision_loss, reason = "bodies are fewer than an f32 counts")]
pub fn break_of(joint: &JointData, state: &mut JointState) -> Option<EventData> {
    if state.status & (BROKEN | BREAK_TOLD) != BROKEN {
        return None;
    }
    state.status |= BREAK_TOLD;
    let (kind, shape_a, shape_b) = (EVENT_JOINT_BROKE, joint.id, joint.generation);
    let a = if joint.flags & WORLD_A == 0 { joint.body_a as f32 } else { -1.0 };
    Some(EventData { kind, shape_a, shape_b, point: [a, joint.body_b as f32], ..EventData::default() })
}

/// Returns the rows of a producer in a table with one row per contact; none for a new producer.
pub fn produced<'a, T>(starts: &[u32], contacts: &'a [T], producer: usize) -> &'a [T] {
    match starts.get(producer..producer + 2) {
        Some(&[start, end]) => &contacts[start as usize..end as usize],
        _ => &[],
    }
}

/// Returns true if a pair has contact points, or overlaps a sensor.
#[must_use]
pub fn touches(contact: &Contact) -> bool {
    contact.flags & (POINT_COUNT_MASK | OVERLAPS) != 0
}

/// Returns true if a pair that touched still does, and none of its shapes has become a sensor or ceased to be one.
#[must_use]
pub fn goes_on(old: &Contact, now: &Contact) -> bool {
    touches(now) && (old.flags ^ now.flags) & (SENSOR | SENSOR_B) == 0
}

/// Returns the shapes of a contact as events list them: a sensor before its visitor.
fn in_order(contact: &Contact) -> [u32; 2] {
    let [a, b] = [contact.shape_a, contact.shape_b];
    if contact.flags & SENSOR_B == 0 { [a, b] } else { [b, a] }
}

/// Returns the event of a pair that ceased to touch.
#[must_use]
pub fn end_of(contact: &Contact) -> EventData {
    let kind = if contact.flags & SENSOR == 0 { EVENT_END } else { EVENT_SENSOR_END };
    let [shape_a, shape_b] = in_order(contact);
    EventData { kind, shape_a, shape_b, ..EventData::default() }
}

/// Returns the event of a pair that begins to touch, at its fastest approaching point.
#[must_use]
pub fn begin_of(
    [pose_a, pose_b]: [&Pose; 2],
    [state_a, state_b]: [BodyState; 2],
    contact: &Contact,
    manifold: &Manifold,
) -> EventData {
    let [shape_a, shape_b] = in_order(contact);
    let mut event = EventData { kind: EVENT_BEGIN, shape_a, shape_b, normal: manifold.normal, ..EventData::default() };
    if contact.flags & SENSOR != 0 {
        return EventData { kind: EVENT_SENSOR_BEGIN, normal: [0.0; 2], ..event };
    }
    let normal = Vec2::from(manifold.normal);
    for (index, point) in manifold.points[..(contact.flags & POINT_COUNT_MASK) as usize].iter().enumerate() {
        let (r_a, r_b) = (Vec2::from(point.anchor_a), Vec2::from(point.anchor_b));
        let velocity_a = Vec2::from(state_a.velocity) + cross_scalar(state_a.angular_velocity, r_a);
        let velocity_b = Vec2::from(state_b.velocity) + cross_scalar(state_b.angular_velocity, r_b);
        let approach = -(velocity_b - velocity_a).dot(normal);
        if index == 0 || approach > event.approach_speed {
            event.approach_speed = approach;
            // A pair that meets within the step touches where the fixed body is.
            let is_ahead = contact.flags & (IMPACT | FIXED_B) == IMPACT | FIXED_B;
            let place = if is_ahead { Vec2::from(pose_b.position) + r_b } else { Vec2::from(pose_a.position) + r_a };
            event.point = place.into();
        }
    }
    event
}
