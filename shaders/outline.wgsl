// Outline of a shape as a convex polygon of 1 to 8 vertices, for collide, continuous and query (twin: `Hull` of
// src/stages/collide/hull.rs). Vertices are fetched when they are needed: an array of them per thread would spill out
// of the registers.

//#import types

fn hull_count(shape: u32) -> u32 {
    let kind = shapes[shape].kind;
    switch kind & GEOMETRY_MASK {
        case BOX: { return 4u; }
        case POLYGON: { return (kind >> VERTEX_COUNT_SHIFT) & 0xfu; }
        default: { return 1u; }
    }
}

fn box_corner(half: vec2<f32>, index: u32) -> vec2<f32> {
    return vec2<f32>(select(-half.x, half.x, index == 1u || index == 2u), select(-half.y, half.y, index > 1u));
}

fn hull_point(shape: u32, index: u32) -> vec2<f32> {
    switch shapes[shape].kind & GEOMETRY_MASK {
        case BOX: {
            return box_corner(shapes[shape].half, index);
        }
        case POLYGON: { return vertices[shapes[shape].first_vertex + index]; }
        default: { return vec2<f32>(0.0); }
    }
}

fn hull_next(shape: u32, index: u32) -> u32 {
    return select(0u, index + 1u, index + 1u < hull_count(shape));
}
