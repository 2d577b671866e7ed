//! What happened in a step: contacts that began or ceased, sensors that something entered or left, joints that broke.
//!
//! A scene asks for it with [`Settings::events`](crate::Settings::events). On the GPU events arrive a few steps later,
//! without anyone waiting; none is lost, and their order is always the same.

use crate::population::{BodyId, JointId, Population, body_in_step, owner_of_shape};
use crate::scene::Compiled;
use crate::types::{self, EVENT_BEGIN, EVENT_END, EVENT_JOINT_BROKE, EVENT_SENSOR_BEGIN, NONE};

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventKind {
    /// Two shapes have come closer than 2 cm, the distance at which the solver begins to look after them: up to that much
    /// before they touch.
    Begin,
    /// They are apart again, or one of them is gone.
    End,
    /// A shape overlaps a sensor.
    SensorBegin,
    /// It no longer does, or one of them is gone.
    SensorEnd,
    /// A joint was pulled or turned harder than it bears, in the step before. It does nothing any more.
    JointBroke,
}

/// Something that happened in a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Event {
    /// The step, counted from 0.
    pub step: u64,
    /// What.
    pub kind: EventKind,
    /// Indices of the two shapes; [`NONE`] of a joint.
    pub shapes: [u32; 2],
    /// Slots of their bodies, or of those that the joint tied; [`NONE`] is the world.
    pub bodies: [u32; 2],
    /// Their bodies by id, as they were in that step: an id stays that of the body, whatever comes to its slot later.
    /// `None` is the world.
    pub ids: [Option<BodyId>; 2],
    /// The joint.
    pub joint: Option<JointId>,
    /// Where, m. Of [`EventKind::Begin`]; of the others 0.
    pub point: [f32; 2],
    /// From the first shape to the second, likewise.
    pub normal: [f32; 2],
    /// How fast they approached when the step began, m/s, likewise. A hit is a beginning with a speed that matters.
    pub approach_speed: f32,
}

impl Event {
    /// `population` is that of now, by which the bodies of an earlier step are found as well.
    pub(crate) fn new(compiled: &Compiled, population: Option<&Population>, step: u64, event: &types::Event) -> Self {
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

    /// Whether two shapes began to touch at this speed, m/s, or a higher one.
    #[must_use]
    pub fn is_hit(&self, speed: f32) -> bool {
        self.kind == EventKind::Begin && self.approach_speed >= speed
    }
}
