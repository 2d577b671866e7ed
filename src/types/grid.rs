//! The broadphase grid's levels, and the axis-aligned boxes that are sorted into it.

use bytemuck::{Pod, Zeroable};

/// Most levels of the grid: for each of eight sizes of shapes one of square cells and two bands, of low and of narrow
/// cells.
pub const MAX_LEVELS: usize = 24;
/// [`Aabb::min`], x, of a half plane, as a float: above any coordinate of a normal.
pub const HALF_PLANE_ROW: u32 = 2;
/// [`Counters::awake_levels`](super::Counters::awake_levels): a half plane is not [`ASLEEP`](super::ASLEEP).
pub const AWAKE_HALF_PLANE: u32 = 0x8000_0000;

/// A level of the broadphase grid. The plane is wrapped around a torus of `2^log2_width × 2^log2_height` cells, so
/// no body is ever outside: cells that share a slot only cost a test.
///
/// The levels go from fine to coarse. Where many long shapes lie flat or upright, the level of their size is followed
/// by up to two bands, whose cells are as long but thinner; in square cells every small shape would meet all of them.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Level {
    /// 1 / width and 1 / height of a cell, in 1/m.
    pub inv_cell: [f32; 2],
    /// Half the width and height of a cell, in m. No shape of this level reaches further from its middle, margin
    /// included.
    pub half_cell: [f32; 2],
    /// Cells from west to east, as a power of two, at least 2 (four cells).
    pub log2_width: u32,
    /// Cells from south to north, as a power of two, at least 2.
    pub log2_height: u32,
    /// Index of this level's first cell.
    pub first_cell: u32,
    /// Number of bands of this level, which follow it. 0 for a band itself.
    pub bands: u32,
}

/// An axis-aligned box, margin included. Empty (`min.x > max.x`) for quarantined bodies.
///
/// A half plane's row is empty by the same rule, and says where its surface is in the world: `min` is
/// ([`HALF_PLANE_ROW`], offset along the normal, margin included), `max` the normal. A shape's own margin alone would
/// do for the speculative distance; that the plane has one too makes room for rounding 100 km from the origin.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Aabb {
    /// Low corner, m.
    pub min: [f32; 2],
    /// High corner, m.
    pub max: [f32; 2],
}

impl Aabb {
    /// Returns false for inverted boxes: those of half planes and of quarantined bodies.
    #[inline(always)]
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.min[0] <= self.max[0]
    }
}
