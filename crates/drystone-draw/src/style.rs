//! Colours and line widths of a picture.

/// A colour, sRGB-encoded, each channel 0 – 1.
pub type Rgb = [f32; 3];

/// Colours and line widths.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Style {
    /// Colour of the background.
    pub background: Rgb,
    /// Colour of grid lines.
    pub grid: Rgb,
    /// Opacity of the strongest grid lines, 0 – 1; 0 for no grid. Lines are powers of ten of a metre apart, and paler
    /// where they are dense.
    pub grid_strength: f32,
    /// Colour of static bodies.
    pub fixed: Rgb,
    /// Colour of kinematic bodies.
    pub kinematic: Rgb,
    /// Colour ramp of dynamic bodies, from the first in the scene to the last.
    pub ramp: [Rgb; 8],
    /// Random offset of a body along the ramp, as a share of it.
    pub scatter: f32,
    /// Random change of a body's lightness, as a share of it.
    pub lightness: f32,
    /// Width of outlines, px. Thinner on shapes of a few pixels; 0 for none.
    pub outline: f32,
    /// Brightness of outlines relative to the fill.
    pub outline_shade: f32,
    /// Opacity of the radius of circles and the tick of boxes, 0 – 1; 0 for none.
    pub marks: f32,
    /// Colour of the scale bar.
    pub ink: Rgb,
    /// Colour of contact points.
    pub contact: Rgb,
    /// Colour of contact normals.
    pub normal: Rgb,
    /// Colour of normal impulses.
    pub impulse: Rgb,
    /// Colour of friction impulses.
    pub friction: Rgb,
    /// Colour of joints.
    pub joint: Rgb,
    /// Colour of AABBs.
    pub aabb: Rgb,
    /// Colour of broadphase cells.
    pub cell: Rgb,
    /// Colour of highlighted bodies.
    pub accent: Rgb,
    /// Colour of velocities.
    pub velocity: Rgb,
    /// Colour of contact forces.
    pub force: Rgb,
    /// Colour of joint forces.
    pub joint_force: Rgb,
    /// Colour of weights.
    pub weight: Rgb,
    /// Colours of a scale, from minimum to maximum.
    pub scale: [Rgb; 8],
    /// Draws a scale bar, lower left. Pictures below 240 × 120 pixels have none.
    pub scale_bar: bool,
}

/// Converts `0xrrggbb`.
const fn hex(rgb: u32) -> Rgb {
    let [_, r, g, b] = rgb.to_be_bytes();
    [r as f32 / 255.0, g as f32 / 255.0, b as f32 / 255.0]
}

/// Slate, teal, sage, straw, sand, apricot, terracotta, mauve: strata.
const RAMP: [Rgb; 8] = [
    hex(0x3f_5f_86),
    hex(0x4d_8a_90),
    hex(0x80_ab_8f),
    hex(0xbf_be_85),
    hex(0xe8_c5_72),
    hex(0xe5_a0_69),
    hex(0xcd_70_5d),
    hex(0x8f_58_75),
];

/// Blue, through green, to red.
const SCALE: [Rgb; 8] = [
    hex(0x3b_5f_9a),
    hex(0x3f_8f_b0),
    hex(0x59_b3_9a),
    hex(0x9c_c4_6b),
    hex(0xe0_c7_5a),
    hex(0xee_9f_4a),
    hex(0xdd_63_42),
    hex(0xb0_2e_3f),
];

impl Style {
    /// Returns muted strata colours on a light background.
    #[must_use]
    pub const fn light() -> Self {
        Self {
            background: hex(0xf6_f4_ee),
            grid: hex(0x8c_8a_82),
            grid_strength: 0.36,
            fixed: hex(0xb4_b0_a7),
            kinematic: hex(0xa3_96_bd),
            ramp: RAMP,
            scatter: 0.08,
            lightness: 0.14,
            outline: 1.5,
            outline_shade: 0.42,
            marks: 0.7,
            ink: hex(0x3a_38_35),
            contact: hex(0xb3_26_3a),
            normal: hex(0x2b_6c_b0),
            impulse: hex(0xc9_4f_0c),
            friction: hex(0x2b_8a_3e),
            joint: hex(0x6b_3f_a0),
            aabb: hex(0x4f_6d_7a),
            cell: hex(0x3d_7e_a6),
            accent: hex(0xd6_2a_6c),
            velocity: hex(0x1f_5f_bf),
            force: hex(0xb8_1e_2c),
            joint_force: hex(0xa8_1d_9c),
            weight: hex(0x2a_2a_33),
            scale: SCALE,
            scale_bar: true,
        }
    }

    /// Returns the strata colours on a dark background.
    #[must_use]
    pub const fn dark() -> Self {
        Self {
            background: hex(0x16_19_1e),
            grid: hex(0x7d_88_99),
            grid_strength: 0.30,
            fixed: hex(0x59_5f_69),
            kinematic: hex(0x80_73_a3),
            outline_shade: 0.30,
            ink: hex(0xd8_dc_e3),
            contact: hex(0xff_6b_6b),
            normal: hex(0x74_b9_ff),
            impulse: hex(0xff_a9_4d),
            friction: hex(0x69_db_7c),
            joint: hex(0xc8_a2_ff),
            aabb: hex(0x9f_b6_c4),
            cell: hex(0x5f_a8_d3),
            accent: hex(0xff_d4_3b),
            velocity: hex(0x4d_c3_ff),
            force: hex(0xff_7a_59),
            joint_force: hex(0xf5_8a_f0),
            weight: hex(0xf0_f0_f4),
            ..Self::light()
        }
    }
}

impl Default for Style {
    fn default() -> Self {
        Self::light()
    }
}
