//! Events: what happened in a step.

use bytemuck::{Pod, Zeroable};

/// [`Event::kind`].
pub const EVENT_BEGIN: u32 = 0;
/// [`Event::kind`].
pub const EVENT_END: u32 = 1;
/// [`Event::kind`].
pub const EVENT_SENSOR_BEGIN: u32 = 2;
/// [`Event::kind`].
pub const EVENT_SENSOR_END: u32 = 3;
/// [`Event::kind`]: then `shape_a` is the joint's index, `shape_b` its generation, and `point` holds the indices of its
/// bodies, −1 for the world: the joint may be gone when the host hears of it.
pub const EVENT_JOINT_BROKE: u32 = 4;

/// Something that happened to a pair of shapes in a step.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Event {
    /// [`EVENT_BEGIN`], …
    pub kind: u32,
    /// Index: the producer of the pair.
    pub shape_a: u32,
    /// Index.
    pub shape_b: u32,
    /// Speed of approach when a contact begins, m/s.
    pub approach_speed: f32,
    /// Place in the world where a contact begins, m.
    pub point: [f32; 2],
    /// Normal from A to B where a contact begins.
    pub normal: [f32; 2],
}
