// bound: src/stages/bound.rs. Computes the world AABB of every shape, with a margin.

//#import types
//#import math
//#import constants
//#import grid
//#import partners

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> shapes: array<ShapeData>;
@group(0) @binding(2) var<storage, read> poses: array<Pose>;
@group(0) @binding(3) var<storage, read> states: array<BodyState>;
@group(0) @binding(4) var<storage, read_write> aabbs: array<Aabb>;
@group(0) @binding(5) var<storage, read> vertices: array<vec2<f32>>;
@group(0) @binding(6) var<storage, read_write> partners: array<u32>;
@group(0) @binding(7) var<storage, read_write> counters: Counters;
@group(0) @binding(8) var<storage, read> motions: array<BodyMotion>;

// Stores the motion by which a shape looks ahead for fixed shapes: zero for a slow one.
fn note_motion(index: u32) {
    let motion = motions[shapes[index].body];
    let moved = motion.moved;
    let may_look = (shapes[index].kind & FIXED_SHAPE) == 0u && motion.extent != SWEPT;
    let looks_ahead = may_look && any(abs(moved) > vec2<f32>(params.aabb_margin));
    let ahead = bitcast<vec2<u32>>(select(vec2<f32>(0.0), moved, looks_ahead));
    partners[index * PARTNER_WORDS + AHEAD_WORD] = ahead.x;
    partners[index * PARTNER_WORDS + AHEAD_WORD + 1u] = ahead.y;
}

// Stores whether a shape is asleep and, if it is not, the levels on which it may lie.
fn note_sleep(index: u32) {
    let status = states[shapes[index].body].status;
    let kind = shapes[index].kind;
    if (status & ASLEEP) != 0u {
        partners[index * PARTNER_WORDS] = SHAPE_ASLEEP;
        return;
    }
    partners[index * PARTNER_WORDS] = 0u;
    if (kind & GEOMETRY_MASK) == NO_SHAPE || (status & QUARANTINED) != 0u {
        return;
    }
    let bits = level_bits(kind, shapes[index].level);
    if (atomicLoad(&counters.awake_levels) & bits) != bits {
        atomicOr(&counters.awake_levels, bits);
    }
}

@compute @workgroup_size(LANES)
fn bound(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = flat_index(workgroup, workgroups, LANES, lane);
    if index >= params.shape_count {
        return;
    }
    let body = shapes[index].body;
    if (params.switches & SLEEP) != 0u {
        note_sleep(index);
    }
    note_motion(index);
    if (shapes[index].kind & GEOMETRY_MASK) == NO_SHAPE || (states[body].status & QUARANTINED) != 0u {
        aabbs[index] = Aabb(vec2<f32>(1e30), vec2<f32>(-1e30));
        return;
    }
    let pose = poses[body];
    let center = pose.position + rotate(pose.rotation, shapes[index].offset);
    let kind = shapes[index].kind & GEOMETRY_MASK;
    let margin = vec2<f32>(params.aabb_margin) + abs(pose.position) * FAR_MARGIN;
    let turn = mul_rotation(pose.rotation, shapes[index].rotation);
    if kind == POLYGON {
        let first = shapes[index].first_vertex;
        let count = (shapes[index].kind >> VERTEX_COUNT_SHIFT) & 0xfu;
        var low = vec2<f32>(1e30);
        var high = vec2<f32>(-1e30);
        for (var vertex = first; vertex < first + count; vertex += 1u) {
            let point = rotate(turn, vertices[vertex]);
            low = min(low, point);
            high = max(high, point);
        }
        let rim = margin + shapes[index].radius;
        aabbs[index] = Aabb(center + low - rim, center + high + rim);
        return;
    }
    if kind == HALF_PLANE {
        let normal = vec2<f32>(-turn.y, turn.x);
        aabbs[index] = Aabb(vec2<f32>(f32(HALF_PLANE_ROW), dot(normal, center) + max(margin.x, margin.y)), normal);
        return;
    }
    var reach = vec2<f32>(shapes[index].radius);
    if kind != CIRCLE {
        let half = shapes[index].half;
        let spread = abs(turn);
        reach += vec2<f32>(spread.x * half.x + spread.y * half.y, spread.y * half.x + spread.x * half.y);
    }
    reach = reach + margin;
    aabbs[index] = Aabb(center - reach, center + reach);
}
