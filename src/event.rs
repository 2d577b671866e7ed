//! What happened in a step: contacts that began or ceased, sensors that something entered or left.
//!
//! A scene asks for it with [`Settings::events`](crate::Settings::events). On the GPU events arrive a few steps later,
//! without anyone waiting; none is lost, and their order is always the same.

use crate::scene::Compiled;
use crate::types::{self, EVENT_BEGIN, EVENT_END, EVENT_SENSOR_BEGIN};

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventKind {
    /// Two shapes have come closer than the speculative distance, 2 cm.
    Begin,
    /// They are apart again, or one of them is gone.
    End,
    /// A shape overlaps a sensor.
    SensorBegin,
    /// It no longer does, or one of them is gone.
    SensorEnd,
}

/// Something that happened in a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContactEvent {
    /// The step, counted from 0.
    pub step: u64,
    /// What.
    pub kind: EventKind,
    /// Indices of the two shapes.
    pub shapes: [u32; 2],
    /// Slots of their bodies.
    pub bodies: [u32; 2],
    /// Where, m. Of [`EventKind::Begin`]; of the others 0.
    pub point: [f32; 2],
    /// From the first shape to the second, likewise.
    pub normal: [f32; 2],
    /// How fast they approached when the step began, m/s, likewise. A hit is a beginning with a speed that matters.
    pub approach_speed: f32,
}

impl ContactEvent {
    pub(crate) fn new(compiled: &Compiled, step: u64, event: &types::Event) -> Self {
        let body = |shape: u32| compiled.shapes.get(shape as usize).map_or(types::NONE, |shape| shape.body);
        Self {
            step,
            kind: match event.kind {
                EVENT_BEGIN => EventKind::Begin,
                EVENT_END => EventKind::End,
                EVENT_SENSOR_BEGIN => EventKind::SensorBegin,
                _ => EventKind::SensorEnd,
            },
            shapes: [event.shape_a, event.shape_b],
            bodies: [body(event.shape_a), body(event.shape_b)],
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
