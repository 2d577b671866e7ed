//! Rays and regions of a query, and the hits of rays.

use bytemuck::{Pod, Zeroable};

/// Words of a hit among the items of a region that finds the hits of a ray: shape, fraction, normal.
pub const RAY_ITEM_WORDS: u32 = 4;

/// [`Region::flags`]: a ray from `center` whose hits are all found, as records of [`RAY_ITEM_WORDS`] words.
pub const FINDS_HITS: u32 = 1;
/// [`Ray::flags`] and [`Region::flags`]: sensors are not met.
pub const SOLID_ONLY: u32 = 2;

/// A ray of a query (`src/query.rs`).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Ray {
    /// Start, m.
    pub origin: [f32; 2],
    /// From start to end, m; exactly 0 if the ray is a point.
    pub delta: [f32; 2],
    /// Categories of the query, as bits.
    pub category: u32,
    /// Categories that the ray hits, as bits.
    pub mask: u32,
    /// Group, with the meaning of [`ShapeData::group`](super::ShapeData::group).
    pub group: i32,
    /// Index of the world in a batch; 0 for a single world.
    pub world: u32,
    /// Slot of a body that the ray does not meet, or [`NONE`](super::NONE).
    pub ignore: u32,
    /// Flags: [`SOLID_ONLY`].
    pub flags: u32,
    /// Unused.
    pub pad: [u32; 2],
}

/// First hit of a [`Ray`].
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Hit {
    /// Point on the shape's surface, m.
    pub point: [f32; 2],
    /// Unit normal, out of the shape.
    pub normal: [f32; 2],
    /// Distance as a fraction of the ray's length.
    pub fraction: f32,
    /// Index of the shape hit, or [`NONE`](super::NONE).
    pub shape: u32,
    /// Way out along the normal, m, of a cast that begins in the shape; else 0.
    pub depth: f32,
    /// Unused.
    pub pad: u32,
}

/// A region of a query: a point, a convex polygon with a radius, or a box that is compared with the boxes of shapes.
/// The query finds the shapes that reach into it, or all hits of a ray.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Region {
    /// Low corner of the box to search, m.
    pub min: [f32; 2],
    /// High corner of the box to search, m.
    pub max: [f32; 2],
    /// Centre of the polygon, m.
    pub center: [f32; 2],
    /// Radius around the polygon, m.
    pub radius: f32,
    /// Number of vertices; 0 for a box, whose corners are the first two points.
    pub count: u32,
    /// Categories of the query, as bits.
    pub category: u32,
    /// Categories that the region meets, as bits.
    pub mask: u32,
    /// Group, with the meaning of [`ShapeData::group`](super::ShapeData::group).
    pub group: i32,
    /// Index of the world in a batch; 0 for a single world.
    pub world: u32,
    /// Motion of a cast, m, or from start to end of a ray whose hits are all found; else 0.
    pub delta: [f32; 2],
    /// Slot of a body that the region does not meet, or [`NONE`](super::NONE).
    pub ignore: u32,
    /// Flags: [`FINDS_HITS`], [`SOLID_ONLY`].
    pub flags: u32,
    /// Vertices from the centre, world axes, counter-clockwise, m. A box's corners are in the world.
    pub points: [[f32; 2]; 8],
}

impl Region {
    /// Returns the number of words of each of its items.
    #[must_use]
    pub fn words_per_item(&self) -> usize {
        if self.flags & FINDS_HITS == 0 { 1 } else { RAY_ITEM_WORDS as usize }
    }
}
