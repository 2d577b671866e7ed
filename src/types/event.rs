//! Events of a step as the device writes them: contacts and sensor overlaps that began or ended, broken joints.

use bytemuck::{Pod, Zeroable};

/// [`EventData::kind`]: two shapes came into contact.
pub const EVENT_BEGIN: u32 = 0;
/// [`EventData::kind`]: a contact ended.
pub const EVENT_END: u32 = 1;
/// [`EventData::kind`]: a shape began to overlap a sensor.
pub const EVENT_SENSOR_BEGIN: u32 = 2;
/// [`EventData::kind`]: a shape no longer overlaps a sensor.
pub const EVENT_SENSOR_END: u32 = 3;
/// [`EventData::kind`]: a joint broke. `shape_a` is the joint's index, `shape_b` its generation, and `point` holds the
/// indices of its bodies, −1 for the world: the joint may be gone when the host reads the event.
pub const EVENT_JOINT_BROKE: u32 = 4;

/// An event of a pair of shapes, or of a joint.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct EventData {
    /// Kind: [`EVENT_BEGIN`], …
    pub kind: u32,
    /// Index of the producer of the pair.
    pub shape_a: u32,
    /// Index of the other shape.
    pub shape_b: u32,
    /// Speed of approach when a contact begins, m/s.
    pub approach_speed: f32,
    /// Point in the world where a contact begins, m.
    pub point: [f32; 2],
    /// Normal from A to B where a contact begins.
    pub normal: [f32; 2],
}
