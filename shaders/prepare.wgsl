// prepare: src/stages/prepare.rs. Builds the contact constraints in colour order, and in prepare_rebounds their
// restitution data.

//#import types
//#import math
//#import mass_scale
//#import constants
//#import disc
//#import manifold_rows
//#import constraint
//#import material

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> bodies: array<BodyData>;
@group(0) @binding(2) var<storage, read> shapes: array<ShapeData>;
@group(0) @binding(3) var<storage, read> states: array<BodyState>;
@group(0) @binding(4) var<storage, read> contacts: array<Contact>;
@group(0) @binding(5) var<storage, read> manifolds: array<ManifoldRows>;
@group(0) @binding(6) var<storage, read> slots: array<u32>;
@group(0) @binding(7) var<storage, read_write> constraints: array<ConstraintTile>;
@group(0) @binding(8) var<storage, read_write> surfaces: array<Surface>;
@group(0) @binding(9) var<storage, read_write> rebounds: array<Rebound>;

@compute @workgroup_size(LANES)
fn prepare(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let slot = flat_index(workgroup, workgroups, LANES, lane);
    // The number of slots is stored behind them.
    if slot >= slots[params.contact_capacity] {
        return;
    }
    let index = slots[slot];
    // Each value is read once: after a store the compiler must assume that it may have changed.
    let a = contacts[index].body_a;
    let b = contacts[index].body_b;
    let shape_a = contacts[index].shape_a;
    let shape_b = contacts[index].shape_b;
    let normal = manifolds[index].normal.xy;
    var preloads = manifolds[index].preloads.xy;
    let flags = contacts[index].flags;
    let count = flags & POINT_COUNT_MASK;
    var inv = vec4<f32>(bodies[a].inv_mass, bodies[a].inv_inertia, bodies[b].inv_mass, bodies[b].inv_inertia);
    if (params.switches & SLEEP) != 0u {
        if (states[a].status & ASLEEP) != 0u {
            inv = vec4<f32>(0.0, 0.0, inv.zw);
        }
        if (states[b].status & ASLEEP) != 0u {
            inv = vec4<f32>(inv.xy, 0.0, 0.0);
        }
    }
    let true_inv = inv;
    let is_scaled = params.mass_per_impulse > 0.0 && ((states[a].status | states[b].status) & MASS_MASK) != 0u;
    if is_scaled {
        let share_a = mass_share(states[a].status);
        let share_b = mass_share(states[b].status);
        inv *= vec4<f32>(share_a, share_a, share_b, share_b);
    }
    let spring = spring_of(shape_a, shape_b);
    if spring != 0u {
        preloads = vec2<f32>(0.0);
    }
    let scaled_inv = inv;
    // Shares of hubs: src/stages/color/split.rs.
    var row_a = a;
    var row_b = b;
    let split = slot - slots[params.contact_capacity + 1u];
    if slot >= slots[params.contact_capacity + 1u] && split < slots[params.contact_capacity + 2u] {
        let shares_a = slots[params.contact_capacity + 3u + 2u * split];
        let shares_b = slots[params.contact_capacity + 3u + 2u * split + 1u];
        row_a = select(a, params.body_count + 2u * split, shares_a > 1u);
        row_b = select(b, params.body_count + 2u * split + 1u, shares_b > 1u);
        inv *= vec4<f32>(vec2<f32>(f32(shares_a)), vec2<f32>(f32(shares_b)));
    }
    // Missing points are all zero.
    var separations = vec2<f32>(0.0);
    var r_a_0 = vec2<f32>(0.0);
    var r_a_1 = vec2<f32>(0.0);
    var r_b_0 = vec2<f32>(0.0);
    var impulses = vec4<f32>(0.0);
    let warm = (params.switches & WARM_START) != 0u;
    let first = deeper_point(manifolds[index].points[0].state.y, manifolds[index].points[1].state.y, count);
    let second = 1u - first;
    preloads = select(preloads, preloads.yx, first != 0u);
    let round = vec2<bool>(is_centred_disc(shape_a), is_centred_disc(shape_b));
    if count > 0u {
        let anchors = manifolds[index].points[first].anchors;
        let point = manifolds[index].points[first].state;
        r_a_0 = select(anchors.xy, normal * shapes[shape_a].radius, round.x);
        r_b_0 = select(anchors.zw, normal * -shapes[shape_b].radius, round.y);
        if is_scaled {
            preloads.x *= softening_at(scaled_inv, true_inv, r_a_0, r_b_0, normal);
        }
        separations.x = point.y - preloads.x;
        impulses = vec4<f32>(select(vec2<f32>(0.0), point.zw, warm), impulses.zw);
    }
    if count > 1u {
        let anchors = manifolds[index].points[second].anchors;
        let point = manifolds[index].points[second].state;
        r_a_1 = anchors.xy;
        if is_scaled {
            preloads.y *= softening_at(scaled_inv, true_inv, r_a_1, anchors.zw, normal);
        }
        separations.y = point.y - preloads.y;
        impulses = vec4<f32>(impulses.xy, select(vec2<f32>(0.0), point.zw, warm));
    }
    let is_loaded = max(preloads.x, preloads.y) > MAX_PRELOAD * params.linear_slop;
    set_constraint(slot, Constraint(
        row_a,
        row_b,
        (flags & ~SPRING_MASK) | (spring << SPRING_SHIFT)
            | select(0u, LOADED, is_loaded) | select(0u, ROUND_A, round.x) | select(0u, ROUND_B, round.y),
        friction_of(shape_a, shape_b),
        normal,
        separations,
        inv,
        r_a_0,
        r_a_1,
        r_b_0,
        vec2<f32>(0.0),
        impulses,
    ));
    if (params.switches & SURFACES) != 0u {
        var surface = surface_of(shape_a, shape_b);
        if (params.switches & WARM_START) != 0u {
            surface.rolling_impulse = contacts[index].rolling_impulse;
        }
        surfaces[slot] = surface;
    }
}

// Returns the acceleration of a body by gravity and its force, m/s².
fn pushed(body: u32) -> vec2<f32> {
    let inv_mass = bodies[body].inv_mass;
    let asleep = (params.switches & SLEEP) != 0u && (states[body].status & ASLEEP) != 0u;
    if inv_mass == 0.0 || asleep {
        return vec2<f32>(0.0);
    }
    return params.gravity * bodies[body].gravity_scale + bodies[body].force * inv_mass;
}

// Restitution data of every contact. Runs if any material bounces.
@compute @workgroup_size(LANES)
fn prepare_rebounds(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let slot = flat_index(workgroup, workgroups, LANES, lane);
    if slot >= slots[params.contact_capacity] || (params.switches & BOUNCES) == 0u {
        return;
    }
    let index = slots[slot];
    let shape_a = contacts[index].shape_a;
    let shape_b = contacts[index].shape_b;
    var radii = 0.0;
    var radius_a = 0.0;
    var between = vec2<f32>(0.0);
    if is_centred_disc(shape_a) && is_centred_disc(shape_b) {
        radius_a = shapes[shape_a].radius;
        radii = radius_a + shapes[shape_b].radius;
        let anchors = manifolds[index].points[0].anchors;
        between = anchors.xy - anchors.zw;
    }
    rebounds[slot].restitution = restitution_of(shape_a, shape_b);
    rebounds[slot].radii = radii;
    rebounds[slot].acceleration = pushed(contacts[index].body_b) - pushed(contacts[index].body_a);
    rebounds[slot].between = between;
    rebounds[slot].radius_a = radius_a;
    rebounds[slot].pad = 0u;
    rebounds[slot].impulses = vec4<f32>(0.0);
}
