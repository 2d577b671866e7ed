//! Rays and regions of a query, and what they find.

use bytemuck::{Pod, Zeroable};

/// A ray of a query (`src/query.rs`).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Ray {
    /// Where it starts, m.
    pub origin: [f32; 2],
    /// From its start to its end, m; exactly 0 if it is a point.
    pub delta: [f32; 2],
    /// Categories, as bits.
    pub category: u32,
    /// Categories that it hits, as bits.
    pub mask: u32,
    /// Group, with the meaning of [`Shape::group`](super::Shape::group).
    pub group: i32,
    /// Which of many worlds; 0 for one alone.
    pub world: u32,
}

/// First hit of a [`Ray`].
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Hit {
    /// m.
    pub point: [f32; 2],
    /// Out of the shape.
    pub normal: [f32; 2],
    /// Distance as a fraction of the ray's length.
    pub fraction: f32,
    /// Index, or [`NONE`](super::NONE).
    pub shape: u32,
    /// Unused.
    pub pad: [u32; 2],
}

/// A place of a query that shapes lie in or reach into: a point, a convex polygon with a radius, or a box that is
/// compared with the boxes of shapes.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Region {
    /// Low corner of what to search, m.
    pub min: [f32; 2],
    /// High corner likewise.
    pub max: [f32; 2],
    /// m.
    pub center: [f32; 2],
    /// Around the polygon, m.
    pub radius: f32,
    /// Vertices; 0 for a box, whose corners are the first two points.
    pub count: u32,
    /// Categories, as bits.
    pub category: u32,
    /// Categories that it meets, as bits.
    pub mask: u32,
    /// Group, with the meaning of [`Shape::group`](super::Shape::group).
    pub group: i32,
    /// Which of many worlds; 0 for one alone.
    pub world: u32,
    /// Vertices from the centre, world axes, counter-clockwise, m. A box's corners are in the world.
    pub points: [[f32; 2]; 8],
}
