//! Events of a step: contacts and sensor overlaps that began or ended, and joints that broke.
//!
//! [`Settings::events`](crate::Settings::events) switches them on, [`World::take_events`](crate::World::take_events)
//! takes them. On the GPU events arrive a few steps later, and no step waits for them; none is lost, and their order is
//! always the same.

use std::fmt;

use crate::population::{BodyId, JointId, Population, body_in_step, owner_of_shape};
use crate::scene::Compiled;
use crate::types::{self, EVENT_BEGIN, EVENT_END, EVENT_JOINT_BROKE, EVENT_SENSOR_BEGIN, NONE};

/// Kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventKind {
    /// Two shapes have come closer than 2 cm, the speculative distance, from which on the solver has a contact for
    /// them: up to that much before they touch.
    Begin,
    /// The two shapes are apart again, or one of them was removed.
    End,
    /// A shape overlaps a sensor.
    SensorBegin,
    /// The shape no longer overlaps the sensor, or one of them was removed.
    SensorEnd,
    /// A joint broke: in the previous step its force or torque was above its limit. It no longer acts.
    JointBroke,
}

/// Name in tables and answers: `begin`, `sensor_end`, `joint_broke`, …
impl fmt::Display for EventKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Begin => "begin",
            Self::End => "end",
            Self::SensorBegin => "sensor_begin",
            Self::SensorEnd => "sensor_end",
            Self::JointBroke => "joint_broke",
        })
    }
}

/// An event of a step: its kind, and the shapes, bodies or joint it is about.
///
/// ```
/// use drystone::{Body, EventKind, Scene, Shape, World};
///
/// let mut scene = Scene::new("events");
/// scene.settings.events = true;
/// scene.add(Body::fixed(0.0, -1.0).shape(Shape::half_box(50.0, 1.0)));
/// scene.add(Body::dynamic(0.0, 1.0).shape(Shape::circle(0.5)));
/// let mut world = World::new(&scene)?;
/// for _ in 0..60 {
///     world.step()?;
/// }
/// let events = world.take_events()?;
/// assert_eq!(events[0].kind, EventKind::Begin);
/// # Ok::<(), drystone::WorldError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Event {
    /// Number of the step, counted from 0.
    pub step: u64,
    /// Kind of the event.
    pub kind: EventKind,
    /// Indices of the two shapes, of a sensor and its visitor in this order; [`NONE`] for a joint.
    pub shapes: [u32; 2],
    /// Slots of the bodies of the shapes or the joint; [`NONE`] is the world.
    pub bodies: [u32; 2],
    /// Ids of the bodies that had those slots in that step, also if the slots have other bodies now. `None` is the
    /// world.
    pub ids: [Option<BodyId>; 2],
    /// The joint that broke, for [`EventKind::JointBroke`].
    pub joint: Option<JointId>,
    /// Contact point, m, for [`EventKind::Begin`]; else 0.
    pub point: [f32; 2],
    /// Unit normal from the first shape to the second, for [`EventKind::Begin`]; else 0.
    pub normal: [f32; 2],
    /// Approach speed when the step began, m/s, for [`EventKind::Begin`]; else 0 ([`Self::is_hit`]).
    pub approach_speed: f32,
}

impl Event {
    /// Returns the event for users. `population` is the present one, which also knows the bodies of earlier steps.
    pub(crate) fn new(
        compiled: &Compiled,
        population: Option<&Population>,
        step: u64,
        event: &types::EventData,
    ) -> Self {
        if event.kind == EVENT_JOINT_BROKE {
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an index, or -1")]
            let body = |index: f32| if index < 0.0 { NONE } else { index as u32 };
            let bodies = event.point.map(body);
            return Self {
                step,
                kind: EventKind::JointBroke,
                shapes: [NONE; 2],
                bodies,
                ids: bodies.map(|slot| body_in_step(compiled, population, slot, step)),
                joint: Some(JointId { index: event.shape_a, generation: event.shape_b }),
                point: [0.0; 2],
                normal: [0.0; 2],
                approach_speed: 0.0,
            };
        }
        let ids = [event.shape_a, event.shape_b].map(|shape| owner_of_shape(compiled, population, shape, step));
        Self {
            step,
            kind: match event.kind {
                EVENT_BEGIN => EventKind::Begin,
                EVENT_END => EventKind::End,
                EVENT_SENSOR_BEGIN => EventKind::SensorBegin,
                _ => EventKind::SensorEnd,
            },
            shapes: [event.shape_a, event.shape_b],
            bodies: ids.map(|id| id.map_or(NONE, |id| id.index)),
            ids,
            joint: None,
            point: event.point,
            normal: event.normal,
            approach_speed: event.approach_speed,
        }
    }

    /// Returns true if the event is the begin of a contact at this speed, m/s, or faster.
    #[must_use]
    pub fn is_hit(&self, speed: f32) -> bool {
        self.kind == EventKind::Begin && self.approach_speed >= speed
    }
}
