//! The background with its grid (drawn first) and the scale bar (drawn last). Twin on the GPU: `shaders/backdrop.wgsl`,
//! function by function.

use glam::Vec2;

use super::Rgb;
use super::palette::{mix, rgb};
use super::sprite::cover;
use super::view::View;

/// Returns the share of a pixel that a line one pixel wide covers, along one axis.
pub(crate) fn grid_cover(p: f32, step: f32) -> f32 {
    cover((p - (p / step).round_ties_even() * step).abs(), 0.5)
}

/// Returns the opacity of minor and major lines along one axis (0: x, 1: y). The larger of the two axes counts.
pub(crate) fn grid_strength(view: &View, axis: usize, pixel: f32) -> f32 {
    let p = pixel - view.grid_steps[axis];
    let minor = grid_cover(p, view.grid_steps[2]) * view.grid_strength[0];
    let major = grid_cover(p, view.grid_steps[3]) * view.grid_strength[1];
    minor.max(major)
}

pub(crate) fn background(view: &View, strength: f32) -> Rgb {
    mix(rgb(view.background), rgb(view.grid), strength)
}

/// Returns x, y, width and height of the scale bar's background plate, px.
pub(crate) fn plate(view: &View) -> [f32; 4] {
    let [x, y, length, unit] = view.bar;
    let width = length + view.label[2] + 11.0 * unit;
    [x - 4.0 * unit, y - 4.0 * unit, width, 14.0 * unit]
}

/// Returns colour and opacity of a pixel of the plate, from the coverage of its text.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small counts")]
pub(crate) fn bar(view: &View, text: &[u8], pixel: Vec2) -> (Rgb, f32) {
    let [x, y, length, unit] = view.bar;
    let p = pixel - Vec2::new(x, y);
    let mut ink = 0.0;
    if p.x < length + 1.0 {
        // A line with a tick at each end, six units high, about the height of capitals.
        let along = ((p.x + 0.5).min(length) - (p.x - 0.5).max(0.0)).clamp(0.0, 1.0);
        let at_end = p.x < unit || p.x > length - unit;
        let inside = p.y >= 0.0 && p.y < 6.0 * unit;
        let on_line = p.y >= 5.0 * unit && p.y < 6.0 * unit;
        if on_line || (at_end && inside) {
            ink = along;
        }
    } else {
        let [left, top, width, height] = view.label;
        let cell = (pixel - Vec2::new(left, top)).floor();
        if cell.cmpge(Vec2::ZERO).all() && cell.x < width && cell.y < height {
            ink = f32::from(text.get((cell.y * width + cell.x) as usize).copied().unwrap_or(0)) / 255.0;
        }
    }
    // Opaque: no edge behind it strikes the text through.
    (mix(rgb(view.background), rgb(view.ink), ink), 1.0)
}
