// Outline of a shape as a convex polygon of 1 to 8 vertices, for collide, continuous and query (twin: `Hull` of
// src/stages/collide/hull.rs). Vertices are fetched when they are needed: an array of them per thread would spill out
// of the registers.

//#import types
//#import math

// hull_count and hull_point are in many places of a kernel, and have one exit each: a compiler that inlines everything
// makes a loop of a function with several. With a `switch` of returns SwiftShader was stopped after 80 s and 6 GB in
// collide; now it takes 6 s and 0.3 GB.
fn hull_count(shape: u32) -> u32 {
    let kind = shapes[shape].kind;
    let geometry = kind & GEOMETRY_MASK;
    return select(select(1u, (kind >> VERTEX_COUNT_SHIFT) & 0xfu, geometry == POLYGON), 4u, geometry == BOX);
}

fn box_corner(half: vec2<f32>, index: u32) -> vec2<f32> {
    return vec2<f32>(select(-half.x, half.x, index == 1u || index == 2u), select(-half.y, half.y, index > 1u));
}

fn hull_point(shape: u32, index: u32) -> vec2<f32> {
    let geometry = shapes[shape].kind & GEOMETRY_MASK;
    var point = vec2<f32>(0.0);
    if geometry == BOX {
        point = box_corner(shapes[shape].half, index);
    } else if geometry == POLYGON {
        point = vertices[shapes[shape].first_vertex + index];
    }
    return point;
}

fn hull_next(shape: u32, index: u32) -> u32 {
    return select(0u, index + 1u, index + 1u < hull_count(shape));
}

fn is_link(shape: u32) -> bool {
    return (shapes[shape].kind & LINK_SHAPE) != 0u;
}

// Returns true if a point, in the frame of the shape, is on the side of a link that does not touch.
fn is_behind(shape: u32, point: vec2<f32>) -> bool {
    if !is_link(shape) {
        return false;
    }
    let first = hull_point(shape, 0u);
    let edge = hull_point(shape, 1u) - first;
    return dot(right_perp(edge / length(edge)), point - first) < 0.0;
}
