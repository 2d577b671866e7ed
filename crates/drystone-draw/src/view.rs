//! Camera and style as the uniform of the shaders (`shaders/view.wgsl`).

use bytemuck::{Pod, Zeroable};

use std::sync::Arc;

use super::text::{self, TextStrip};
use super::{Camera, Coloring, DrawError, Layers, Rgb, Scale, Style};
use drystone::low_level::types::NONE;

/// [`View::contact_parts`]: a line from body to body.
const CONSTRAINT_PART: u32 = 1;
/// [`View::contact_parts`]: normals.
const NORMAL_PART: u32 = 2;
/// [`View::contact_parts`]: arrows of friction impulses.
const FRICTION_PART: u32 = 3;
/// [`View::contact_parts`]: arrows of normal impulses.
const IMPULSE_PART: u32 = 4;
/// [`View::contact_parts`]: contact points.
const POINT_PART: u32 = 5;
/// [`View::contact_parts`]: arrows of contact forces.
const FORCE_PART: u32 = 6;

/// Maximum number of letters of the scale bar's text; a longer text means a zoom at which no length is readable.
const MAX_LABEL: usize = 8;
/// Minimum distance of grid lines, px.
const DENSEST_GRID: f64 = 6.0;

/// The uniform of all draw shaders; field by field the `View` of `view.wgsl`, which a test below compares.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub(crate) struct View {
    /// World position of the camera, m.
    pub center: [f32; 2],
    pub pixels_per_metre: f32,
    /// Outline width, px.
    pub outline: f32,
    /// Width and height of the picture, px.
    pub size: [f32; 2],
    /// Upper left corner of the picture on its target, px.
    pub origin: [f32; 2],
    pub shape_count: u32,
    /// Number of bodies in the tables.
    pub body_count: u32,
    /// 1 if the target encodes to sRGB by itself.
    pub linear_target: u32,
    pub pad_1: u32,
    pub background: [f32; 4],
    pub grid: [f32; 4],
    /// Position of a crossing of two major lines; distance of minor and of major lines. All px.
    pub grid_steps: [f32; 4],
    /// Opacity of minor and of major lines.
    pub grid_strength: [f32; 4],
    pub fixed_fill: [f32; 4],
    pub kinematic_fill: [f32; 4],
    pub ink: [f32; 4],
    /// Scatter, lightness, outline shade, mark opacity.
    pub tuning: [f32; 4],
    /// Left and top, length, and unit of the scale bar, px. Unit 0: no scale bar.
    pub bar: [f32; 4],
    /// Text of the scale bar: left, top, width and height, px.
    pub label: [f32; 4],
    pub ramp: [[f32; 4]; 8],
    /// Opacity of fills; 0 for wires.
    pub fill_opacity: f32,
    /// Index of a highlighted body, or [`NONE`].
    pub highlight: u32,
    /// 1 if the colours of bodies come from a table.
    pub tinted: u32,
    /// 1 if sleeping bodies are dimmed.
    pub dim: u32,
    /// Unit of lines and signs, px.
    pub unit: f32,
    /// Width of a typical body, px.
    pub length: f32,
    /// Length of an arrow, px, for the root of an impulse, √(N·s).
    pub arrow: f32,
    /// Parts of a contact to draw, four bits each, the first lowest.
    pub contact_parts: u32,
    /// Minimum of the colour scale, as a power of two.
    pub scale_low: f32,
    /// Share of the colour scale per factor of two.
    pub scale_per_octave: f32,
    /// Number of culling blocks.
    pub block_count: u32,
    /// Number of joint slots.
    pub joint_count: u32,
    /// Number of bodies that the colour ramp spans.
    pub ramp_bodies: u32,
    /// Length of an arrow, px, for 1 m/s.
    pub velocity_arrow: f32,
    /// Length of a force's arrow, px, per impulse of 1 N·s in the substep.
    pub force_arrow: f32,
    pub pad_0: u32,
    pub contact: [f32; 4],
    pub normal: [f32; 4],
    pub impulse: [f32; 4],
    pub friction: [f32; 4],
    pub joint: [f32; 4],
    pub aabb: [f32; 4],
    pub cell: [f32; 4],
    pub accent: [f32; 4],
    pub velocity: [f32; 4],
    pub force: [f32; 4],
    pub joint_force: [f32; 4],
    pub weight: [f32; 4],
    pub scale_ramp: [[f32; 4]; 8],
}

#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "pixels and colours need no more")]
impl View {
    /// Creates the uniform; fails if the camera is invalid.
    pub(crate) fn new(camera: &Camera, style: &Style, shape_count: u32, body_count: u32) -> Result<Self, DrawError> {
        let pixels_per_metre = 1.0 / camera.metres_per_pixel;
        let usable = camera.center.is_finite() && camera.origin.is_finite() && camera.metres_per_pixel > 0.0;
        if !usable || !pixels_per_metre.is_normal() || !camera.metres_per_pixel.is_normal() {
            return Err(DrawError::Camera { center: camera.center.into(), metres_per_pixel: camera.metres_per_pixel });
        }
        let size = [camera.size[0] as f32, camera.size[1] as f32];
        let (grid_steps, grid_strength) = grid(camera, style.grid_strength);
        let (bar, label) = scale_bar(camera)
            .filter(|_| style.scale_bar)
            .map_or(([0.0; 4], [0.0; 4]), |(bar, text)| (bar, label_place(bar, &text::strip(&text, bar[3]))));
        let row = |[r, g, b]: Rgb| [r, g, b, 1.0];
        Ok(Self {
            center: camera.center.into(),
            pixels_per_metre,
            outline: style.outline.max(0.0),
            size,
            origin: camera.origin.into(),
            shape_count,
            body_count,
            linear_target: 0,
            pad_1: 0,
            background: row(style.background),
            grid: row(style.grid),
            grid_steps,
            grid_strength,
            fixed_fill: row(style.fixed),
            kinematic_fill: row(style.kinematic),
            ink: row(style.ink),
            tuning: [style.scatter, style.lightness, style.outline_shade, style.marks],
            bar,
            label,
            ramp: style.ramp.map(row),
            fill_opacity: 1.0,
            highlight: NONE,
            tinted: 0,
            dim: 0,
            unit: 1.0,
            length: 0.0,
            arrow: 0.0,
            contact_parts: 0,
            scale_low: 0.0,
            scale_per_octave: 0.0,
            block_count: 0,
            joint_count: 0,
            ramp_bodies: body_count,
            velocity_arrow: 0.0,
            force_arrow: 0.0,
            pad_0: 0,
            contact: row(style.contact),
            normal: row(style.normal),
            impulse: row(style.impulse),
            friction: row(style.friction),
            joint: row(style.joint),
            aabb: row(style.aabb),
            cell: row(style.cell),
            accent: row(style.accent),
            velocity: row(style.velocity),
            force: row(style.force),
            joint_force: row(style.joint_force),
            weight: row(style.weight),
            scale_ramp: style.scale.map(row),
        })
    }

    /// Sets the fields that depend on layers.
    pub(crate) fn put_layers(&mut self, layers: &Layers, scale: Option<Scale>) {
        let positive = |value: f32, other: f32| if value.is_finite() && value > 0.0 { value } else { other };
        self.fill_opacity = if layers.shapes { 1.0 } else { 0.0 };
        self.highlight = layers.highlight.unwrap_or(NONE);
        self.tinted = u32::from(layers.coloring != Coloring::Body || layers.sleep);
        self.dim = u32::from(layers.sleep);
        self.unit = positive(layers.line_scale, 1.0);
        self.outline *= if layers.outlines { self.unit } else { 0.0 };
        if let Some(Scale { length, impulse, speed, .. }) = scale {
            self.length = positive(length, 1.0) * self.pixels_per_metre;
            let arrow = self.length * layers.arrow_scale.max(0.0);
            self.arrow = 0.6 * arrow / positive(impulse, 1.0).sqrt();
            // Forces in a stack are many times a body's weight.
            self.force_arrow = 0.25 * arrow / positive(impulse, 1.0);
            self.velocity_arrow = arrow / positive(speed, 1.0);
        }
        let parts = [
            (layers.constraints, CONSTRAINT_PART),
            (layers.normals, NORMAL_PART),
            (layers.friction, FRICTION_PART),
            (layers.impulses, IMPULSE_PART),
            (layers.forces, FORCE_PART),
            (layers.contacts, POINT_PART),
        ];
        self.contact_parts = parts.iter().filter(|(on, _)| *on).rev().fold(0, |all, (_, part)| all << 4 | part);
        if let Some([low, high]) = layers.scale_range() {
            let low = positive(low, f32::MIN_POSITIVE);
            self.scale_low = low.log2();
            self.scale_per_octave = 1.0 / (positive(high, 1.0).log2() - self.scale_low).max(1e-3);
        }
    }

    /// Returns true if there is a scale bar.
    pub(crate) fn has_bar(&self) -> bool {
        self.bar[3] > 0.0
    }
}

/// Returns grid lines at powers of ten of a metre. Computed in f64: a fine grid far from the origin needs more digits
/// than f32 has.
#[allow(clippy::cast_possible_truncation, reason = "pixels need no more than f32")]
fn grid(camera: &Camera, strength: f32) -> ([f32; 4], [f32; 4]) {
    let scale = 1.0 / f64::from(camera.metres_per_pixel);
    let minor = 10_f64.powf((DENSEST_GRID / scale).log10().ceil());
    let major = 10.0 * minor;
    // Both are continuous in the zoom: a line fades in as minor up to half strength and becomes major there.
    let fade = |step: f64| f64::from(strength) * 0.5 * (step * scale / DENSEST_GRID).log10().clamp(0.0, 2.0);
    let crossing = |middle: u32, center: f32, up: f64| {
        let center = f64::from(center);
        0.5 * f64::from(middle) + up * ((center / major).round() * major - center) * scale
    };
    (
        [
            crossing(camera.size[0], camera.center.x, 1.0) as f32,
            crossing(camera.size[1], camera.center.y, -1.0) as f32,
            (minor * scale) as f32,
            (major * scale) as f32,
        ],
        [fade(minor) as f32, fade(major) as f32, 0.0, 0.0],
    )
}

/// Returns the size of a legend unit, px: two at a picture height of 900 pixels.
#[allow(clippy::cast_precision_loss, reason = "at most 8")]
pub(crate) fn letter_unit(height: u32) -> f32 {
    ((height + 225) / 450).clamp(1, 8) as f32
}

/// Returns the height of the strip at the bottom of a picture that its scale bar takes, px; 0 for pictures without one.
#[must_use]
pub fn scale_bar_height([width, height]: [u32; 2]) -> f32 {
    if width < 240 || height < 120 { 0.0 } else { 22.0 * letter_unit(height) }
}

/// Returns the scale bar: the longest of 1, 2, 5 · 10ⁿ m that takes at most a tenth of the picture's width (at least 60
/// pixels). Left and top, length and unit, px; and its text.
#[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "pixels need no more than f32")]
fn scale_bar(camera: &Camera) -> Option<([f32; 4], String)> {
    let [width, height] = camera.size;
    if width < 240 || height < 120 {
        return None;
    }
    let metres_per_pixel = f64::from(camera.metres_per_pixel);
    let most = (0.1 * f64::from(width)).max(60.0) * metres_per_pixel;
    let exponent = most.log10().floor() as i32;
    let decade = 10_f64.powi(exponent);
    let digit = [5_u32, 2, 1].into_iter().find(|&d| f64::from(d) * decade <= most).unwrap_or(1);
    let text = length_text(digit, exponent);
    if text.len() > MAX_LABEL {
        return None;
    }
    let unit = letter_unit(height);
    let length = (f64::from(digit) * decade / metres_per_pixel) as f32;
    Some(([(12.0 * unit).floor(), height as f32 - 18.0 * unit, length, unit], text))
}

/// Rasterises the text of the scale bar; empty if there is none.
pub(crate) fn bar_text(camera: &Camera, style: &Style) -> Arc<TextStrip> {
    let text = scale_bar(camera).filter(|_| style.scale_bar);
    text.map_or_else(Arc::default, |(bar, text)| text::strip(&text, bar[3]))
}

/// Returns the rectangle of the text beside a scale bar.
#[allow(clippy::cast_precision_loss, reason = "pixels")]
fn label_place([x, y, length, unit]: [f32; 4], strip: &TextStrip) -> [f32; 4] {
    let left = (x + length + 4.0 * unit).floor();
    [left, y + strip.rise as f32, strip.width as f32, strip.height as f32]
}

/// Formats `digit · 10^exponent` metres: `20 m`, `5 cm`, `0.1 mm`, `2 km`.
fn length_text(digit: u32, exponent: i32) -> String {
    let (unit, power) = match exponent {
        3.. => ("km", 3),
        0.. => ("m", 0),
        -2.. => ("cm", -2),
        _ => ("mm", -3),
    };
    let zeros = exponent - power;
    if zeros >= 0 {
        format!("{digit}{} {unit}", "0".repeat(zeros.unsigned_abs() as usize))
    } else {
        format!("0.{}{digit} {unit}", "0".repeat(zeros.unsigned_abs() as usize - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::Vec2;

    /// The Rust struct matches the WGSL uniform in names and offsets, since a uniform is read by offset.
    #[test]
    fn uniform_matches_shader() {
        let module = wgpu::naga::front::wgsl::parse_str(include_str!("../shaders/view.wgsl")).unwrap();
        let (_, view) = module.types.iter().find(|(_, t)| t.name.as_deref() == Some("View")).unwrap();
        let wgpu::naga::TypeInner::Struct { members, span } = &view.inner else { panic!("View is a struct") };
        assert_eq!(*span as usize, size_of::<View>());
        macro_rules! offsets {
            ($($field:ident),*) => { vec![$((stringify!($field), std::mem::offset_of!(View, $field))),*] };
        }
        let ours = offsets!(
            center,
            pixels_per_metre,
            outline,
            size,
            origin,
            shape_count,
            body_count,
            linear_target,
            pad_1,
            background,
            grid,
            grid_steps,
            grid_strength,
            fixed_fill,
            kinematic_fill,
            ink,
            tuning,
            bar,
            label,
            ramp,
            fill_opacity,
            highlight,
            tinted,
            dim,
            unit,
            length,
            arrow,
            contact_parts,
            scale_low,
            scale_per_octave,
            block_count,
            joint_count,
            ramp_bodies,
            velocity_arrow,
            force_arrow,
            pad_0,
            contact,
            normal,
            impulse,
            friction,
            joint,
            aabb,
            cell,
            accent,
            velocity,
            force,
            joint_force,
            weight,
            scale_ramp
        );
        let theirs: Vec<_> = members.iter().map(|m| (m.name.as_deref().unwrap_or(""), m.offset as usize)).collect();
        assert_eq!(ours, theirs);
    }

    #[test]
    fn lengths_have_readable_units() {
        let written =
            [(2, 3), (5, 2), (1, 0), (2, -1), (5, -2), (1, -3), (1, -4), (2, 5)].map(|(d, e)| length_text(d, e));
        assert_eq!(written, ["2 km", "500 m", "1 m", "20 cm", "5 cm", "1 mm", "0.1 mm", "200 km"]);
        for letter in written.concat().chars().filter(|c| *c != ' ') {
            assert!(text::has(letter), "no glyph for {letter}");
        }
    }

    #[test]
    fn scale_bar_is_true_to_scale() {
        let camera = Camera { metres_per_pixel: 0.125, ..Camera::default() };
        let view = View::new(&camera, &Style::light(), 0, 0).unwrap();
        assert_eq!(scale_bar(&camera).unwrap().1, "20 m");
        let text = bar_text(&camera, &Style::light());
        assert_eq!([text.width as f32, text.height as f32], [view.label[2], view.label[3]]);
        assert!(view.label[0] >= view.bar[0] + view.bar[2] && text.coverage.iter().any(|&c| c > 200));
        assert_eq!(bar_text(&camera, &Style { scale_bar: false, ..Style::light() }).width, 0);
        assert!((view.bar[2] - 160.0).abs() < 1e-3, "20 m at 8 px/m: {}", view.bar[2]);
    }

    /// While zooming, no line appears, vanishes or jumps in strength.
    #[test]
    fn grid_fades_continuously() {
        let at = |metres_per_pixel| {
            let camera = Camera { metres_per_pixel, center: Vec2::new(12_345.678, -9.0), ..Camera::default() };
            View::new(&camera, &Style::light(), 0, 0).unwrap()
        };
        // Metre lines appear at 1 m = 6 px.
        let (before, after) = (at(1.0 / 5.999), at(1.0 / 6.001));
        assert!((before.grid_steps[2] - 10.0 * after.grid_steps[2]).abs() < 0.1);
        assert!((before.grid_strength[0] - after.grid_strength[1]).abs() < 1e-3);
        assert!(after.grid_strength[0] < 1e-3);
        // The crossing is at a multiple of 10 m: (pixel - middle) · metres + centre.
        let crossing = 12_345.678 + (after.grid_steps[0] - 800.0) / 6.001;
        assert!((crossing - 12_350.0).abs() < 0.01, "{crossing}");
    }

    #[test]
    fn invalid_cameras_are_rejected() {
        for metres_per_pixel in [0.0, -1.0, f32::NAN, f32::INFINITY, 1e-44, 3e38] {
            let camera = Camera { metres_per_pixel, ..Camera::default() };
            assert!(View::new(&camera, &Style::light(), 0, 0).is_err(), "{metres_per_pixel}");
        }
        let camera = Camera { center: Vec2::new(f32::NAN, 0.0), ..Camera::default() };
        assert!(View::new(&camera, &Style::light(), 0, 0).is_err());
    }
}
