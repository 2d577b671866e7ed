//! Legend entries for arrow lengths: for each kind of arrow in the picture, a sample arrow of a round value.

use super::legend::Sheet;
use super::text::HEIGHT;
use super::view::View;
use super::{Layers, Rgb, Scale};

/// Maximum length of a sample arrow, in legend units.
const LONGEST: f32 = 44.0;
/// Left edge of the arrows, in legend units.
const ARROWS: f32 = 72.0;
/// Height of a row, in legend units.
const ROW: f32 = 12.0;
/// Maximum length of an impulse's arrow, in widths of a typical body (`shaders/contacts.wgsl`).
const MAX_ARROW: f32 = 2.5;

/// A sample arrow with its value.
#[derive(Clone, Copy, Debug, PartialEq)]
struct ArrowKey {
    name: &'static str,
    measure: &'static str,
    color: [f32; 4],
    /// Value in its unit of measure.
    value: f32,
    /// Length of the arrow, px.
    length: f32,
}

/// Returns the length of an impulse's arrow, px. Twin on the GPU: `arrow_length` of `shaders/contacts.wgsl`.
fn impulse_length(view: &View, impulse: f32) -> f32 {
    let far = view.arrow * impulse.sqrt();
    far / (1.0 + far / (MAX_ARROW * view.length.max(1e-3)))
}

/// Returns the impulse whose arrow has this length, px.
fn impulse_of(view: &View, length: f32) -> f32 {
    let far = length / (1.0 - length / (MAX_ARROW * view.length.max(1e-3)));
    (far / view.arrow).powi(2)
}

/// Returns the sample arrows for the kinds that these layers draw. `most` is their maximum length, px.
fn keys(view: &View, layers: &Layers, scale: Scale, most: f32) -> Vec<ArrowKey> {
    let mut keys = Vec::new();
    let mut add = |on: bool, name, measure, color, value_of: &dyn Fn(f32) -> f32, length_of: &dyn Fn(f32) -> f32| {
        if let Some(value) = round(value_of(most)).filter(|_| on) {
            keys.push(ArrowKey { name, measure, color, value, length: length_of(value) });
        }
    };
    // Force per pixel of arrow. A force is its impulse over the substep.
    let newton = view.force_arrow * scale.impulse / scale.weight;
    let speed = view.velocity_arrow;
    add(layers.velocities, "velocity", "m/s", view.velocity, &|px| px / speed, &|value| value * speed);
    let forces = [
        (true, "contact force", view.force),
        (view.joint_count > 0, "joint force", view.joint_force),
        (true, "weight", view.weight),
    ];
    for (there, name, color) in forces {
        add(layers.forces && there, name, "N", color, &|px| px / newton, &|value| value * newton);
    }
    // Impulse arrows saturate; sample arrows stay below that length.
    let pressed = |px: f32| impulse_of(view, px.min(0.6 * MAX_ARROW * view.length));
    add(layers.impulses, "impulse", "N·s", view.impulse, &pressed, &|value| impulse_length(view, value));
    add(layers.friction, "friction", "N·s", view.friction, &pressed, &|value| impulse_length(view, value));
    keys
}

/// Returns the largest of 1, 2, 5 · 10ⁿ that is not above a value; `None` unless the value is a positive number.
fn round(value: f32) -> Option<f32> {
    if !(value.is_finite() && value > 1e-30) {
        return None;
    }
    let decade = 10_f32.powf(value.log10().floor());
    let digit = [5.0, 2.0, 1.0].into_iter().find(|digit| digit * decade <= value * 1.0001).unwrap_or(1.0);
    Some(digit * decade)
}

/// Formats a round value with its unit: `20 N`, `0.5 m/s`, `5 mN·s`, `2 kN`.
fn text(value: f32, measure: &str) -> String {
    // Tenths and hundredths are easier to read as decimals than as 100 and 10 milli-units.
    if (0.009..0.9).contains(&value) {
        let digits = if value < 0.09 { 2 } else { 1 };
        return format!("{value:.digits$} {measure}");
    }
    let powers = [(9, "G"), (6, "M"), (3, "k"), (0, ""), (-3, "m"), (-6, "µ"), (-9, "n")];
    let fits = |power: i32| value >= 0.9 * 10_f32.powi(power);
    let (power, prefix) = powers.into_iter().find(|&(power, _)| fits(power)).unwrap_or((-9, "n"));
    format!("{:.0} {prefix}{measure}", value / 10_f32.powi(power))
}

/// Lays the entries out upwards from a height, px.
pub(super) fn lay(sheet: &mut Sheet, view: &View, layers: &Layers, scale: Option<Scale>, bottom: f32) {
    let unit = sheet.unit;
    let mut keys = scale.map_or_else(Vec::new, |scale| keys(view, layers, scale, LONGEST * unit));
    // The smallest pictures have no space for all possible rows.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few rows")]
    let room = ((bottom - 5.0 * unit) / (ROW * unit)).max(0.0) as usize;
    keys.truncate(room);
    if keys.is_empty() {
        return;
    }
    let explains_root = keys.len() < room && keys.iter().any(|key| key.measure == "N·s");
    #[allow(clippy::cast_precision_loss, reason = "a few rows")]
    let rows = (keys.len() + usize::from(explains_root)) as f32;
    let top = (bottom - rows * ROW * unit).floor();
    sheet.back(view, top - 4.0 * unit, bottom);
    let mut y = top;
    for key in &keys {
        sheet.text(0.0, y, key.name);
        arrow(sheet, key, y + 0.5 * HEIGHT * unit);
        let value = text(key.value, key.measure);
        sheet.text_to_right(y, &value);
        y += ROW * unit;
    }
    if explains_root {
        sheet.text(0.0, y, "impulses on a root scale");
    }
}

/// Draws a horizontal arrow centred at a height, px: a shaft, and a head made of columns.
fn arrow(sheet: &mut Sheet, key: &ArrowKey, y: f32) {
    let unit = sheet.unit;
    let [r, g, b, _] = key.color;
    let color: Rgb = [r, g, b];
    let left = (sheet.left + ARROWS * unit).floor();
    let head = (4.0 * unit).min(key.length);
    sheet.fill([left, y - 0.5 * unit, key.length - head, unit], color, 1.0);
    // One column per pixel.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few pixels")]
    let columns = head.round().clamp(1.0, 64.0) as u8;
    let wide = head / f32::from(columns);
    for column in 0..columns {
        let share = f32::from(column) / f32::from(columns);
        let high = 6.0 * unit * (1.0 - share);
        let at = left + key.length - head + share * head;
        sheet.fill([at, y - 0.5 * high, wide, high], color, 1.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::has;
    use crate::{Camera, Style};

    fn view(layers: &Layers, metres_per_pixel: f32) -> (View, Scale) {
        let scale = Scale { length: 0.5, impulse: 0.02, weight: 4.8, speed: 2.2 };
        let mut view = View::new(&Camera { metres_per_pixel, ..Camera::default() }, &Style::light(), 0, 0).unwrap();
        view.put_layers(layers, Some(scale));
        view.joint_count = 1;
        (view, scale)
    }

    /// At any zoom and any arrow length the sample value is round, its arrow takes between a third and all of the
    /// available space, and is as long as the shaders draw that value.
    #[test]
    fn keys_are_round_and_as_long_as_arrows_are() {
        for metres_per_pixel in [1e-4, 3e-3, 0.02, 0.3] {
            for arrow_scale in [0.1, 1.0, 7.0] {
                let layers = Layers {
                    velocities: true,
                    forces: true,
                    impulses: true,
                    friction: true,
                    arrow_scale,
                    ..Layers::default()
                };
                let (view, scale) = view(&layers, metres_per_pixel);
                let keys = keys(&view, &layers, scale, 44.0);
                assert_eq!(keys.len(), 6);
                for key in keys {
                    let decade = 10_f32.powf(key.value.log10().floor() + 1e-6);
                    let digit = key.value / decade;
                    assert!([1.0, 2.0, 5.0, 10.0].iter().any(|d| (digit - d).abs() < 1e-3 * d), "{key:?}");
                    assert!(key.length <= 44.1 && key.length > 0.0, "{key:?}");
                    let drawn = match key.name {
                        "velocity" => key.value * view.velocity_arrow,
                        "contact force" | "joint force" | "weight" => {
                            key.value * (scale.impulse / scale.weight) * view.force_arrow
                        }
                        _ => impulse_length(&view, key.value),
                    };
                    assert!((key.length - drawn).abs() < 1e-2 * drawn, "{key:?}: {drawn}");
                    if matches!(key.measure, "m/s" | "N") {
                        assert!(key.length > 44.0 / 3.0, "{key:?}");
                    }
                }
            }
        }
        let (view, scale) = view(&Layers::default(), 0.01);
        assert_eq!(keys(&view, &Layers::default(), scale, 44.0), []);
        // A world without joints has no entry for their forces.
        let forces = Layers { forces: true, ..Layers::default() };
        let (view, scale) = self::view(&forces, 0.01);
        let names = |view: &View| keys(view, &forces, scale, 44.0).iter().map(|key| key.name).collect::<Vec<_>>();
        assert_eq!(names(&view), ["contact force", "joint force", "weight"]);
        assert_eq!(names(&View { joint_count: 0, ..view }), ["contact force", "weight"]);
        let none = Layers { forces: true, arrow_scale: 0.0, ..Layers::default() };
        assert_eq!(keys(&self::view(&none, 0.01).0, &none, scale, 44.0), []);
    }

    #[test]
    fn values_have_readable_units() {
        let written: Vec<_> =
            [0.002, 0.01, 0.5, 1.0, 20.0, 500.0, 2000.0, 1e6, 2e-7].map(|value| text(value, "N")).into();
        assert_eq!(written, ["2 mN", "0.01 N", "0.5 N", "1 N", "20 N", "500 N", "2 kN", "1 MN", "200 nN"]);
        let words = [
            "velocity",
            "contact force",
            "joint force",
            "weight",
            "impulse",
            "friction",
            "impulses on a root scale",
            "N·s",
            "m/s",
            "Mk",
        ];
        for letter in written.concat().chars().chain(words.concat().chars()).filter(|c| *c != ' ') {
            assert!(has(letter), "no glyph for {letter}");
        }
    }
}
