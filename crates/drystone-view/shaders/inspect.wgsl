// Query for the body at a point (src/inspect.rs), in four kernels: `rank` finds the highest rank of a shape, `pick` the
// topmost shape of that rank, `describe` reads the state of its body, `count` its contacts.

//#import types
//#import pose
//#import math

struct InspectionUniform {
    // Point to look at, m.
    point: vec2<f32>,
    // Body to describe, or NONE to find one at the point.
    body: u32,
    shape_count: u32,
    // Distance from the point up to which a shape is meant, m.
    reach: f32,
    // 1 if a shape under the point goes before a dynamic one near it, else 0.
    exact: u32,
    pad: vec2<u32>,
}

struct InspectedRow {
    // Index of the shape, plus one; 0 for none.
    picked: atomic<u32>,
    // Touching contacts of the body, their points, and their graph colours as bits.
    touching: atomic<u32>,
    points: atomic<u32>,
    colors: atomic<u32>,
    body: u32,
    status: u32,
    spin: f32,
    shape: u32,
    position: vec2<f32>,
    rotation: vec2<f32>,
    velocity: vec2<f32>,
    // Highest rank of a shape.
    best: atomic<u32>,
    pad: u32,
}

@group(0) @binding(0) var<uniform> request: InspectionUniform;
@group(0) @binding(1) var<storage, read> poses: array<Pose>;
@group(0) @binding(2) var<storage, read> shapes: array<ShapeData>;
@group(0) @binding(3) var<storage, read> vertices: array<vec2<f32>>;
@group(0) @binding(4) var<storage, read> states: array<BodyState>;
@group(0) @binding(5) var<storage, read> contacts: array<Contact>;
@group(0) @binding(6) var<storage, read> counters: Counters;
@group(0) @binding(7) var<storage, read_write> found: InspectedRow;

// Number of bits below the class of a rank, and the value in them for distance 0.
const CLASS_SHIFT: u32 = 28u;
const RANK_STEPS: f32 = 1048576.0;

/// Distance of a point from the edge of a polygon without its radius, m; negative inside. `p` is in the shape's frame.
fn polygon_distance(shape: u32, p: vec2<f32>) -> f32 {
    let count = (shapes[shape].kind >> VERTEX_COUNT_SHIFT) & 0xfu;
    var squared = 1e30;
    var inside = count > 2u;
    for (var index = 0u; index < count; index += 1u) {
        let start = vertices[shapes[shape].first_vertex + index];
        let end = vertices[shapes[shape].first_vertex + select(0u, index + 1u, index + 1u < count)];
        let edge = end - start;
        let away = p - start;
        let gap = away - edge * clamp(dot(away, edge) / max(dot(edge, edge), 1e-20), 0.0, 1.0);
        squared = min(squared, dot(gap, gap));
        inside = inside && edge.x * away.y - edge.y * away.x >= 0.0;
    }
    return select(sqrt(squared), -sqrt(squared), inside);
}

/// Distance of the point from a shape, m; 0 or less inside.
fn distance_to(index: u32) -> f32 {
    let shape = shapes[index];
    if shape.body >= arrayLength(&poses) {
        return 1e30;
    }
    let pose = poses[shape.body];
    let p = inv_rotate(shape.rotation, inv_rotate(pose.rotation, -vector_from(request.point, pose)) - shape.offset);
    switch shape.kind & GEOMETRY_MASK {
        case CIRCLE: {
            return length(p) - shape.radius;
        }
        case BOX: {
            return length(max(abs(p) - shape.half, vec2<f32>(0.0))) - shape.radius;
        }
        case POLYGON: {
            return polygon_distance(index, p) - shape.radius;
        }
        case HALF_PLANE: {
            return p.y;
        }
        default: {
            return 1e30;
        }
    }
}

/// Rank of a shape: its class in the highest bits, then its nearness; 0 if it is not meant.
fn rank_of(index: u32) -> u32 {
    let distance = distance_to(index);
    // False for NaN as well.
    if !(distance <= request.reach) {
        return 0u;
    }
    let moves = (shapes[index].kind & FIXED_SHAPE) == 0u;
    let under = distance <= 0.0;
    var group = 0u;
    if request.exact != 0u {
        group = select(select(1u, 2u, moves), select(3u, 4u, moves), under);
    } else if moves {
        group = 2u;
    } else if under {
        group = 1u;
    }
    if group == 0u {
        return 0u;
    }
    let share = select(1.0, 1.0 - max(distance, 0.0) / request.reach, !under);
    return (group << CLASS_SHIFT) | (1u + u32(clamp(share, 0.0, 1.0) * RANK_STEPS));
}

@compute @workgroup_size(64)
fn rank(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    if request.body != NONE {
        return;
    }
    for (var index = id.x; index < request.shape_count; index += groups.x * 64u) {
        atomicMax(&found.best, rank_of(index));
    }
}

@compute @workgroup_size(64)
fn pick(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let best = atomicLoad(&found.best);
    if request.body != NONE || best == 0u {
        return;
    }
    for (var index = id.x; index < request.shape_count; index += groups.x * 64u) {
        let own = rank_of(index);
        // A driver may round differently in the two kernels.
        if own + 2u >= best && (own >> CLASS_SHIFT) == (best >> CLASS_SHIFT) {
            atomicMax(&found.picked, index + 1u);
        }
    }
}

@compute @workgroup_size(1)
fn describe() {
    var body = request.body;
    let picked = atomicLoad(&found.picked);
    found.shape = NONE;
    if picked > 0u {
        found.shape = picked - 1u;
        body = shapes[picked - 1u].body;
    }
    found.body = NONE;
    if body < arrayLength(&poses) && body < arrayLength(&states) {
        found.body = body;
        found.position = poses[body].position;
        found.rotation = poses[body].rotation;
        found.velocity = states[body].velocity;
        found.spin = states[body].angular_velocity;
        found.status = states[body].status;
    }
}

@compute @workgroup_size(64)
fn count(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let all = min(counters.contacts, arrayLength(&contacts));
    for (var index = id.x; index < all; index += groups.x * 64u) {
        let contact = contacts[index];
        let points = contact.flags & POINT_COUNT_MASK;
        if points > 0u && found.body != NONE && (contact.body_a == found.body || contact.body_b == found.body) {
            atomicAdd(&found.touching, 1u);
            atomicAdd(&found.points, points);
            if contact.color < 32u {
                atomicOr(&found.colors, 1u << contact.color);
            }
        }
    }
}
