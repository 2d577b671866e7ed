//! **report**: which pairs began to touch in this step, and which ceased to; which joints broke in the step before.
//!
//! Reads contacts and contacts_previous with their pair_starts, manifolds, poses, states; writes event_starts and
//! events. One thread a shape, for the pairs that it produces, and one a joint; on the device `report_count`, scan,
//! `report_end`, `report_begin`, `report_joints`. So events come in an order
//! that is always the same: by producer, first what ceased, then what began, each as the contacts lie. Runs only if the
//! scene asks for events. A pair that falls asleep does not cease; [`wake`](super::wake) puts it back before it is asked.
//!
//! [`recall`](super::recall) has found out already whether a pair touched before ([`TOUCHED`]).
//!
//! To touch is to have contact points, also across a gap below the speculative distance; with a sensor it is to overlap.

use glam::Vec2;

use crate::math::cross_scalar;
use crate::threads::{LIGHT, Rows, Threads};
use crate::types::{
    ASLEEP, BREAK_TOLD, BROKEN, BodyState, Contact, EVENT_BEGIN, EVENT_END, EVENT_JOINT_BROKE, EVENT_SENSOR_BEGIN,
    EVENT_SENSOR_END, Event, Joint, JointState, Manifold, OVERLAPS, POINT_COUNT_MASK, Pose, SENSOR, TOUCHED, WORLD_A,
};

/// Fills `events`; `scratch` is kept from step to step.
#[allow(clippy::cast_precision_loss, reason = "bodies are fewer than an f32 counts")]
pub fn report(
    threads: &Threads,
    poses: &[Pose],
    states: &Rows<BodyState, 4>,
    pair_starts_previous: &[u32],
    contacts_previous: &[Contact],
    pair_starts: &[u32],
    contacts: &[Contact],
    manifolds: &[Manifold],
    joints: &[Joint],
    joint_states: &Rows<JointState, 2>,
    events: &mut Vec<Event>,
    scratch: &mut Vec<Vec<Event>>,
) {
    let shapes = pair_starts.len().saturating_sub(1);
    let parts = threads.for_parts(LIGHT, shapes, scratch, |first, end, found| {
        found.clear();
        for producer in first..end {
            let before = produced(pair_starts_previous, contacts_previous, producer);
            let now = produced(pair_starts, contacts, producer);
            // Lists are short, but for those of a crowd.
            if (producer.is_multiple_of(64) || before.len() > 64) && threads.is_cancelled() {
                return;
            }
            let mut next = 0;
            let ceased = before.iter().filter(|contact| {
                touches(contact) && !is_among(now, contact, &mut next) && !sleeps_on(states, contact)
            });
            found.extend(ceased.map(end_of));
            let made = produced(pair_starts, manifolds, producer);
            let began = now.iter().zip(made).filter(|(now, _)| touches(now) && now.flags & TOUCHED == 0);
            found.extend(began.map(|(contact, manifold)| begin_of(poses, states, contact, manifold)));
        }
    });
    events.clear();
    for found in parts {
        events.extend_from_slice(found);
    }
    for (place, joint) in joints.iter().enumerate() {
        let mut state = joint_states.get(place);
        if state.status & (BROKEN | BREAK_TOLD) == BROKEN {
            state.status |= BREAK_TOLD;
            joint_states.set(place, state);
            let (kind, shape_a, shape_b) = (EVENT_JOINT_BROKE, joint.id, joint.generation);
            let a = if joint.flags & WORLD_A == 0 { joint.body_a as f32 } else { -1.0 };
            events.push(Event { kind, shape_a, shape_b, point: [a, joint.body_b as f32], ..Event::default() });
        }
    }
}

/// The contacts of a producer, or what else there is one of for each; none if it was not there yet.
pub(super) fn produced<'a, T>(starts: &[u32], contacts: &'a [T], producer: usize) -> &'a [T] {
    match starts.get(producer..producer + 2) {
        Some(&[start, end]) => &contacts[start as usize..end as usize],
        _ => &[],
    }
}

/// Whether the pair was put by because both sleep: then it touches as it did.
fn sleeps_on(states: &Rows<BodyState, 4>, contact: &Contact) -> bool {
    let status = |body: u32| states.get(body as usize).status;
    status(contact.body_a) & status(contact.body_b) & ASLEEP != 0
}

fn touches(contact: &Contact) -> bool {
    contact.flags & (POINT_COUNT_MASK | OVERLAPS) != 0
}

/// Finds the contact with a partner in a producer's list, first at the place behind the last that was found: lists mostly
/// come in the same order again, and one may be long.
pub(super) fn find<'a>(list: &'a [Contact], shape_b: u32, next: &mut usize) -> Option<&'a Contact> {
    let is_same = |other: &Contact| other.shape_b == shape_b;
    let here = list.get(*next).is_some_and(is_same).then_some(*next);
    let place = here.or_else(|| list.iter().position(is_same))?;
    *next = place + 1;
    list.get(place)
}

/// Whether a pair touches in this list of its producer's contacts.
fn is_among(list: &[Contact], contact: &Contact, next: &mut usize) -> bool {
    find(list, contact.shape_b, next).is_some_and(touches)
}

fn end_of(contact: &Contact) -> Event {
    let kind = if contact.flags & SENSOR == 0 { EVENT_END } else { EVENT_SENSOR_END };
    Event { kind, shape_a: contact.shape_a, shape_b: contact.shape_b, ..Event::default() }
}

fn begin_of(poses: &[Pose], states: &Rows<BodyState, 4>, contact: &Contact, manifold: &Manifold) -> Event {
    let mut event = Event {
        kind: EVENT_BEGIN,
        shape_a: contact.shape_a,
        shape_b: contact.shape_b,
        normal: manifold.normal,
        ..Event::default()
    };
    if contact.flags & SENSOR != 0 {
        return Event { kind: EVENT_SENSOR_BEGIN, normal: [0.0; 2], ..event };
    }
    let (state_a, state_b) = (states.get(contact.body_a as usize), states.get(contact.body_b as usize));
    let normal = Vec2::from(manifold.normal);
    // At the point that approaches fastest.
    for (index, point) in manifold.points[..(contact.flags & POINT_COUNT_MASK) as usize].iter().enumerate() {
        let (r_a, r_b) = (Vec2::from(point.anchor_a), Vec2::from(point.anchor_b));
        let velocity_a = Vec2::from(state_a.velocity) + cross_scalar(state_a.angular_velocity, r_a);
        let velocity_b = Vec2::from(state_b.velocity) + cross_scalar(state_b.angular_velocity, r_b);
        let approach = -(velocity_b - velocity_a).dot(normal);
        if index == 0 || approach > event.approach_speed {
            event.approach_speed = approach;
            event.point = (Vec2::from(poses[contact.body_a as usize].position) + r_a).into();
        }
    }
    event
}
