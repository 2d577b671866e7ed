//! The background with its grid, below everything, and the scale bar, above everything. Twin on the GPU:
//! `shaders/backdrop.wgsl`, function by function.

use glam::Vec2;

use super::Rgb;
use super::palette::{mix, rgb};
use super::sprite::cover;
use super::view::View;

/// How much of a pixel a line one pixel wide covers, along one axis.
pub(crate) fn grid_cover(p: f32, step: f32) -> f32 {
    cover((p - (p / step).round_ties_even() * step).abs(), 0.5)
}

/// Opacity of minor and major lines along one axis (0: x, 1: y). The two axes combine by the larger.
pub(crate) fn grid_strength(view: &View, axis: usize, pixel: f32) -> f32 {
    let p = pixel - view.grid_steps[axis];
    let minor = grid_cover(p, view.grid_steps[2]) * view.grid_strength[0];
    let major = grid_cover(p, view.grid_steps[3]) * view.grid_strength[1];
    minor.max(major)
}

pub(crate) fn background(view: &View, strength: f32) -> Rgb {
    mix(rgb(view.background), rgb(view.grid), strength)
}

/// x, y, width and height of the scale bar's plate, px.
#[allow(clippy::cast_precision_loss, reason = "at most eight letters")]
pub(crate) fn plate(view: &View) -> [f32; 4] {
    let [x, y, length, unit] = view.bar;
    let width = length + unit * (6.0 * view.label_length as f32 + 11.0);
    [x - 4.0 * unit, y - 4.0 * unit, width, 14.0 * unit]
}

/// Colour and opacity of a pixel of the plate.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "small counts")]
pub(crate) fn bar(view: &View, pixel: Vec2) -> (Rgb, f32) {
    let [x, y, length, unit] = view.bar;
    let p = pixel - Vec2::new(x, y);
    let mut ink = 0.0;
    if p.x < length + 1.0 {
        // A line with a tick at both ends, six units high as the letters are.
        let along = ((p.x + 0.5).min(length) - (p.x - 0.5).max(0.0)).clamp(0.0, 1.0);
        let at_end = p.x < unit || p.x > length - unit;
        let inside = p.y >= 0.0 && p.y < 6.0 * unit;
        let on_line = p.y >= 5.0 * unit && p.y < 6.0 * unit;
        if on_line || (at_end && inside) {
            ink = along;
        }
    } else {
        let cell = ((p - Vec2::new(length + 4.0 * unit, 0.0)) / unit).floor();
        let letter = (cell.x / 6.0).floor();
        let column = cell.x - 6.0 * letter;
        let on_letter = letter >= 0.0 && letter < view.label_length as f32 && column < 5.0;
        if on_letter && cell.y >= 0.0 && cell.y < 6.0 {
            let bits = view.label[letter as usize];
            ink = ((bits >> (29 - cell.y as u32 * 5 - column as u32)) & 1) as f32;
        }
    }
    (mix(rgb(view.background), rgb(view.ink), ink), ink.max(0.75))
}
