// Materials of two shapes, for prepare and rule. The importer declares `params` and `shapes`. Twins: `friction`,
// `restitution` and `prepare_surface` of src/stages/prepare.rs.

//#import types

// Returns the number of a shape's material, counted from 1; 0 if it has none with a name.
fn material_of(shape: u32) -> u32 {
    return (shapes[shape].kind >> MATERIAL_SHIFT) & MATERIAL_MASK;
}

// Returns the materials of two shapes, the smaller number first.
fn materials_of(shape_a: u32, shape_b: u32) -> vec2<u32> {
    let a = material_of(shape_a);
    let b = material_of(shape_b);
    return vec2<u32>(min(a, b), max(a, b));
}

// Returns the index of the pair of materials of two shapes; NONE if they have none with a name, or there is no table.
fn pair_index(shape_a: u32, shape_b: u32) -> u32 {
    if (params.switches & MATERIAL_PAIRS) == 0u {
        return NONE;
    }
    let pair = materials_of(shape_a, shape_b);
    return select(pair.y * (pair.y - 1u) / 2u + pair.x - 1u, NONE, pair.x == 0u);
}

// Returns the kind of the spring between the materials of two shapes.
fn spring_of(shape_a: u32, shape_b: u32) -> u32 {
    if (params.switches & MATERIAL_SPRINGS) == 0u {
        return 0u;
    }
    let pair = materials_of(shape_a, shape_b);
    let index = pair.y * (pair.y + 1u) / 2u + pair.x;
    return (params.pair_springs[index >> 5u][(index >> 3u) & 3u] >> ((index & 7u) * 4u)) & 15u;
}

// Returns the value of a pair if it has one, else the mixed one: `own` is below 0 where the mixing rule holds.
fn or_mixed(own: f32, mixed: f32) -> f32 {
    return select(mixed, own, own >= 0.0);
}

// Returns a coefficient of two shapes by a mixing rule.
fn mix_by(rule: u32, a: f32, b: f32) -> f32 {
    switch rule {
        case MIX_MIN: { return min(a, b); }
        case MIX_MAX: { return max(a, b); }
        case MIX_MEAN: { return 0.5 * (a + b); }
        case MIX_PRODUCT: { return a * b; }
        default: { return sqrt(a * b); }
    }
}

// Returns the coefficient of friction at rest of two shapes.
fn friction_of(shape_a: u32, shape_b: u32) -> f32 {
    let mixed = mix_by(params.friction_mix, shapes[shape_a].friction, shapes[shape_b].friction);
    let pair = pair_index(shape_a, shape_b);
    if pair == NONE {
        return mixed;
    }
    return or_mixed(params.pair_friction[pair >> 2u][pair & 3u], mixed);
}

// Returns the coefficient of restitution of two shapes.
fn restitution_of(shape_a: u32, shape_b: u32) -> f32 {
    let mixed = mix_by(params.restitution_mix, shapes[shape_a].restitution, shapes[shape_b].restitution);
    let pair = pair_index(shape_a, shape_b);
    if pair == NONE {
        return mixed;
    }
    return or_mixed(params.pair_restitution[pair >> 2u][pair & 3u], mixed);
}

// Returns the material parameters of two shapes beside friction and restitution, without an impulse.
fn surface_of(shape_a: u32, shape_b: u32) -> Surface {
    var kinetic = mix_by(params.friction_mix, shapes[shape_a].kinetic_friction, shapes[shape_b].kinetic_friction);
    let pair = pair_index(shape_a, shape_b);
    if pair != NONE {
        kinetic = or_mixed(params.pair_kinetic_friction[pair >> 2u][pair & 3u], kinetic);
    }
    return Surface(
        kinetic,
        shapes[shape_a].tangent_speed + shapes[shape_b].tangent_speed,
        max(shapes[shape_a].rolling_resistance, shapes[shape_b].rolling_resistance)
            * max(shapes[shape_a].radius, shapes[shape_b].radius),
        0.0,
    );
}
