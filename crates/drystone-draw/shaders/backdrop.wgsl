// The background with its grid (drawn first) and the scale bar (drawn last). Twin on the CPU: src/backdrop.rs, function
// by function.

//#import draw/view

// Coverage of all texts, four bytes per word. The scale bar's text comes first.
@group(0) @binding(1) var<storage, read> glyphs: array<u32>;

struct Corner {
    @builtin(position) clip: vec4<f32>,
}

/// Returns the share of a pixel that a grid of one-pixel lines covers.
fn grid_cover(p: vec2<f32>, step: f32) -> f32 {
    let from_line = abs(p - round(p / step) * step);
    return max(cover(from_line.x, 0.5), cover(from_line.y, 0.5));
}

@vertex
fn backdrop_vertex(@builtin(vertex_index) corner: u32) -> Corner {
    let unit = vec2<f32>(select(0.0, 1.0, (corner & 1u) != 0u), select(0.0, 1.0, (corner & 2u) != 0u));
    return Corner(to_clip(unit * view.size));
}

@fragment
fn backdrop_fragment(corner: Corner) -> @location(0) vec4<f32> {
    let p = corner.clip.xy - view.origin - view.grid_steps.xy;
    let minor = grid_cover(p, view.grid_steps.z) * view.grid_strength.x;
    let major = grid_cover(p, view.grid_steps.w) * view.grid_strength.y;
    return to_target(mix(view.background.rgb, view.grid.rgb, max(minor, major)), 1.0);
}

/// Returns x, y, width and height of the scale bar's background plate, px.
fn plate() -> vec4<f32> {
    let unit = view.bar.w;
    let width = view.bar.z + view.label.z + 11.0 * unit;
    return vec4<f32>(view.bar.x - 4.0 * unit, view.bar.y - 4.0 * unit, width, 14.0 * unit);
}

@vertex
fn bar_vertex(@builtin(vertex_index) corner: u32) -> Corner {
    let unit = vec2<f32>(select(0.0, 1.0, (corner & 1u) != 0u), select(0.0, 1.0, (corner & 2u) != 0u));
    let at = plate();
    return Corner(to_clip(floor(at.xy + unit * at.zw)));
}

@fragment
fn bar_fragment(corner: Corner) -> @location(0) vec4<f32> {
    let unit = view.bar.w;
    let p = corner.clip.xy - view.origin - view.bar.xy;
    var ink = 0.0;
    if p.x < view.bar.z + 1.0 {
        // A line with a tick at each end, six units high, about the height of capitals.
        let along = clamp(min(p.x + 0.5, view.bar.z) - max(p.x - 0.5, 0.0), 0.0, 1.0);
        let at_end = p.x < unit || p.x > view.bar.z - unit;
        let inside = p.y >= 0.0 && p.y < 6.0 * unit;
        let on_line = p.y >= 5.0 * unit && p.y < 6.0 * unit;
        ink = select(0.0, along, on_line || (at_end && inside));
    } else {
        let cell = floor(corner.clip.xy - view.origin - view.label.xy);
        if all(cell >= vec2<f32>(0.0)) && all(cell < view.label.zw) {
            let at = u32(cell.y * view.label.z + cell.x);
            ink = f32((glyphs[min(at / 4u, arrayLength(&glyphs) - 1u)] >> (8u * (at % 4u))) & 0xffu) / 255.0;
        }
    }
    // Opaque: no edge behind it strikes the text through.
    return to_target(mix(view.background.rgb, view.ink.rgb, ink), 1.0);
}
