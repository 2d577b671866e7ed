//! Fill colour of a shape, computed from the index of its body, or from one given to the body. Twin on the GPU:
//! `shaders/palette.wgsl`.

use super::Rgb;
use super::view::View;
use drystone::low_level::types::{BodyData, FIXED_SHAPE, KINEMATIC_SHAPE};

/// Hashes a body index (Wellons' lowbias32), so that adjacent indices get different values.
fn hash_body(body: u32) -> u32 {
    let mut h = body;
    h = (h ^ (h >> 16)).wrapping_mul(0x7feb_352d);
    h = (h ^ (h >> 15)).wrapping_mul(0x846c_a68b);
    h ^ (h >> 16)
}

/// Returns the index that the colour of a body follows: its own, or that of its row.
pub(crate) fn color_index(body: u32, bodies: &[BodyData]) -> u32 {
    bodies.get(body as usize).and_then(|row| row.color.checked_sub(1)).unwrap_or(body)
}

/// Returns the fill colour of a shape. Bodies of the scene get ramp colours in the order of their indices, like
/// geological strata, so that layers and mixing are visible; a little scatter along the ramp and in lightness separates
/// neighbours. Bodies added later get a random position on the ramp. Both depend on the body's own index alone, so no
/// body changes colour when others are added or removed.
#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "colours")]
pub(crate) fn fill_color(view: &View, body: u32, kind: u32) -> Rgb {
    if kind & KINEMATIC_SHAPE != 0 {
        return rgb(view.kinematic_fill);
    }
    if kind & FIXED_SHAPE != 0 {
        return rgb(view.fixed_fill);
    }
    let h = hash_body(body);
    let scatter = (h & 0xffff) as f32 / 65535.0 - 0.5;
    let lightness = (h >> 16) as f32 / 65535.0 - 0.5;
    let along = if body < view.ramp_bodies {
        (body as f32 + 0.5) / view.ramp_bodies as f32 + scatter * view.tuning[0]
    } else {
        scatter + 0.5
    };
    let at = along.clamp(0.0, 1.0) * 7.0;
    let stop = (at as usize).min(6);
    let color = mix(rgb(view.ramp[stop]), rgb(view.ramp[stop + 1]), at - stop as f32);
    color.map(|c| (c * (1.0 + lightness * view.tuning[1])).clamp(0.0, 1.0))
}

pub(crate) fn rgb([r, g, b, _]: [f32; 4]) -> Rgb {
    [r, g, b]
}

/// Interpolates from `a` (0) to `b` (1).
#[inline]
pub(crate) fn mix(a: Rgb, b: Rgb, t: f32) -> Rgb {
    [a[0] * (1.0 - t) + b[0] * t, a[1] * (1.0 - t) + b[1] * t, a[2] * (1.0 - t) + b[2] * t]
}
