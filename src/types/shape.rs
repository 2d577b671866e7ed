//! Rows of a shape: outline, place on its body, filter and material, and the bits of its kind.

use bytemuck::{Pod, Zeroable};

/// [`ShapeData::kind`], low byte: a disc.
pub const CIRCLE: u32 = 0;
/// [`ShapeData::kind`], low byte: a box, with or without rounded corners.
pub const BOX: u32 = 1;
/// [`ShapeData::kind`], low byte: [`VERTEX_COUNT_SHIFT`] vertices from [`ShapeData::first_vertex`] on,
/// counter-clockwise, and a radius. Two vertices are a segment or a capsule.
pub const POLYGON: u32 = 2;
/// [`ShapeData::kind`], low byte: all points below the line through the shape's centre along its x axis. A scene's half
/// planes come first among the shapes.
pub const HALF_PLANE: u32 = 3;
/// [`ShapeData::kind`], low byte: a vacant slot.
pub const NO_SHAPE: u32 = 4;
/// [`ShapeData::kind`]: the low byte is the geometry.
pub const GEOMETRY_MASK: u32 = 0xff;
/// [`ShapeData::kind`]: the body is static or kinematic.
pub const FIXED_SHAPE: u32 = 0x100;
/// [`ShapeData::kind`]: the body is kinematic. Set beside [`FIXED_SHAPE`].
pub const KINEMATIC_SHAPE: u32 = 0x200;
/// [`ShapeData::kind`]: the body is, or was, jointed to one that it does not touch ([`crate::scene::PairExclusions`]).
pub const JOINED_SHAPE: u32 = 0x400;
/// [`ShapeData::kind`]: the shape is a sensor: it detects overlaps and touches nothing.
pub const SENSOR_SHAPE: u32 = 0x800;
/// [`ShapeData::kind`]: the body is dynamic and a bullet: it does not tunnel through other dynamic bodies either.
pub const BULLET_SHAPE: u32 = 0x1_0000;
/// [`ShapeData::kind`]: the body is dynamic and nothing turns it. Read only by pictures.
pub const UPRIGHT_SHAPE: u32 = 0x10_0000;
/// [`ShapeData::kind`]: the polygon is a link of a chain, which touches what is on its right side: two vertices, and
/// behind them a row of two cosines, of the angles from its normal up to which contacts at its two ends are its own.
pub const LINK_SHAPE: u32 = 0x2_0000;
/// [`ShapeData::kind`]: contacts begin only from the outside. Set beside [`LINK_SHAPE`].
pub const ONE_WAY_SHAPE: u32 = 0x4_0000;
/// [`ShapeData::kind`]: first bit of the number of the shape's material, counted from 1; 0 if it has none with a name.
pub const MATERIAL_SHIFT: u32 = 24;
/// [`ShapeData::kind`] after a shift by [`MATERIAL_SHIFT`]: the bits of the number of the material.
pub const MATERIAL_MASK: u32 = 0x1f;
/// [`ShapeData::kind`]: first bit of the number of vertices, four bits.
pub const VERTEX_COUNT_SHIFT: u32 = 12;
/// Most vertices of a polygon.
pub const MAX_VERTICES: u32 = 8;

/// A shape on a body: its outline, place, filter and material.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct ShapeData {
    /// Half width and half height of a box, m.
    pub half: [f32; 2],
    /// Radius of a circle, or of the rounding, m.
    pub radius: f32,
    /// [`CIRCLE`], [`BOX`], [`POLYGON`] or [`HALF_PLANE`], the number of vertices, and [`FIXED_SHAPE`],
    /// [`KINEMATIC_SHAPE`], [`BULLET_SHAPE`], [`JOINED_SHAPE`], [`UPRIGHT_SHAPE`], [`LINK_SHAPE`], …, and the number of
    /// the material from [`MATERIAL_SHIFT`] on.
    pub kind: u32,
    /// Centre, relative to the body's centre of mass, in its frame, m.
    pub offset: [f32; 2],
    /// Cosine and sine of the angle on the body.
    pub rotation: [f32; 2],
    /// Coulomb's coefficient at rest; two are mixed by [`Params::friction_mix`](super::Params::friction_mix).
    pub friction: f32,
    /// Share of the approach speed that is given back.
    pub restitution: f32,
    /// Index of the body.
    pub body: u32,
    /// Grid level of the shape's size. In a step it may also be sorted into one of that level's bands.
    pub level: u32,
    /// Categories of this shape, as bits.
    pub category: u32,
    /// Categories that it collides with, as bits.
    pub mask: u32,
    /// Group: shapes of one positive group always collide, of one negative group never; else category and mask decide.
    pub group: i32,
    /// Distance from the shape's centre to its farthest point, m. 0 for a half plane.
    pub bound: f32,
    /// Coulomb's coefficient while sliding, mixed by the same rule.
    pub kinetic_friction: f32,
    /// Speed of the surface along itself, clockwise around the shape, m/s. Those of two shapes add up.
    pub tangent_speed: f32,
    /// Largest torque against rolling, as a share of normal force times radius; the larger of two counts.
    pub rolling_resistance: f32,
    /// Index of the first vertex of a polygon in the vertex table.
    pub first_vertex: u32,
}

impl ShapeData {
    /// Returns true for a disc about the centre of mass of its body: it looks the same at any angle.
    #[inline]
    #[must_use]
    pub fn is_centred_disc(&self) -> bool {
        self.kind & GEOMETRY_MASK == CIRCLE && self.offset == [0.0; 2]
    }

    /// Returns the number of the shape's material, counted from 1; 0 if it has none with a name.
    #[inline]
    #[must_use]
    pub fn material(&self) -> usize {
        (self.kind >> MATERIAL_SHIFT & MATERIAL_MASK) as usize
    }
}
