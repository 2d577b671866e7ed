// Fill colour of a shape, computed from the index of its body, or from one given to the body. Twin on the CPU:
// src/palette.rs.

//#import types
//#import draw/view

/// Hashes a body index (Wellons' lowbias32), so that adjacent indices get different values.
fn hash_body(body: u32) -> u32 {
    var h = body;
    h = (h ^ (h >> 16u)) * 0x7feb352du;
    h = (h ^ (h >> 15u)) * 0x846ca68bu;
    return h ^ (h >> 16u);
}

/// Returns the index that the colour of a body follows: its own, or that of its row, which is one more.
fn color_index(body: u32, color: u32) -> u32 {
    return select(color - 1u, body, color == 0u);
}

/// Returns the fill colour of a shape. Bodies of the scene get ramp colours in the order of their indices, like
/// geological strata, so that layers and mixing are visible; a little scatter along the ramp and in lightness separates
/// neighbours. Bodies added later get a random position on the ramp. Both depend on the body's own index alone, so no
/// body changes colour when others are added or removed.
fn fill_color(body: u32, kind: u32) -> vec3<f32> {
    if (kind & KINEMATIC_SHAPE) != 0u {
        return view.kinematic_fill.rgb;
    }
    if (kind & FIXED_SHAPE) != 0u {
        return view.fixed_fill.rgb;
    }
    let h = hash_body(body);
    let scatter = f32(h & 0xffffu) / 65535.0 - 0.5;
    let lightness = f32(h >> 16u) / 65535.0 - 0.5;
    var along = scatter + 0.5;
    if body < view.ramp_bodies {
        along = (f32(body) + 0.5) / f32(view.ramp_bodies) + scatter * view.tuning.x;
    }
    let at = clamp(along, 0.0, 1.0) * 7.0;
    let stop = min(u32(at), 6u);
    let color = mix(view.ramp[stop].rgb, view.ramp[stop + 1u].rgb, at - f32(stop));
    return clamp(color * (1.0 + lightness * view.tuning.y), vec3<f32>(0.0), vec3<f32>(1.0));
}

/// Returns the colour of a value on the scale, from the minimum (0) to the maximum (1).
fn scale_color(share: f32) -> vec3<f32> {
    let at = clamp(share, 0.0, 1.0) * 7.0;
    let stop = min(u32(at), 6u);
    return mix(view.scale_ramp[stop].rgb, view.scale_ramp[stop + 1u].rgb, at - f32(stop));
}

/// Returns the colour of bodies without a value.
fn none_color() -> vec3<f32> {
    return mix(view.background.rgb, view.ink.rgb, 0.35);
}

/// Returns the colour of a hue, 0 … 1, equally bright in the light and the dark style.
fn hue_color(hue: f32) -> vec3<f32> {
    let wave = 0.5 + 0.5 * cos(6.2831853 * (vec3<f32>(0.0, 0.33, 0.67) - hue));
    return mix(vec3<f32>(0.28), vec3<f32>(0.86), wave);
}

/// Returns the colour of a graph color: distinct hues for contacts between moving bodies, tones of one hue for contacts
/// with fixed bodies, and a separate colour for the overflow.
fn graph_color(color: u32) -> vec3<f32> {
    if color >= COLOR_COUNT {
        return none_color();
    }
    if color == OVERFLOW_COLOR {
        return view.accent.rgb;
    }
    if color >= FIXED_COLORS_START {
        return mix(none_color(), view.cell.rgb, f32(color - FIXED_COLORS_START) / 7.0);
    }
    // Golden-ratio steps: neighbours, and neighbours of neighbours, are far apart.
    return hue_color(fract(0.08 + f32(color) * 0.618034));
}

/// Returns a colour from awake (0) through resting (below the sleep threshold) to asleep (1).
fn sleep_color(share: f32) -> vec3<f32> {
    return scale_color(0.78 * (1.0 - share));
}
