// store_impulses: src/stages/store_impulses.rs. Copies the solved impulses back to the manifolds, and adapts each
// contact's preload to its load.

//#import types
//#import math
//#import constants

@group(0) @binding(0) var<storage, read> constraints: array<Constraint>;
@group(0) @binding(1) var<storage, read_write> manifolds: array<Manifold>;
@group(0) @binding(2) var<storage, read_write> counters: Counters;
@group(0) @binding(3) var<storage, read> surfaces: array<Surface>;
@group(0) @binding(4) var<uniform> params: Params;
@group(0) @binding(5) var<storage, read_write> contacts: array<Contact>;
@group(0) @binding(6) var<storage, read> slots: array<u32>;
@group(0) @binding(7) var<storage, read> rebounds: array<Rebound>;
@group(0) @binding(8) var<storage, read> states: array<BodyState>;

fn is_quiet(body: u32) -> bool {
    let velocity = states[body].velocity;
    return dot(velocity, velocity) <= params.sleep_speed * params.sleep_speed;
}

// Returns the preloads of a contact for the next step, m. Both change by the same length.
fn preloads(index: u32, load: f32) -> vec2<f32> {
    var overlap = -manifolds[index].points[0].separation;
    if (contacts[index].flags & POINT_COUNT_MASK) > 1u {
        overlap = -0.5 * (manifolds[index].points[0].separation + manifolds[index].points[1].separation);
    }
    let old = manifolds[index].preloads;
    let slop = params.linear_slop;
    if load == 0.0 || overlap < params.unload_overlap - UNLOAD_SHARE * slop {
        return vec2<f32>(0.0);
    }
    let missing = params.unload_overlap - overlap;
    if missing > 0.0 {
        return max(old - UNLOAD_RATE * missing, vec2<f32>(0.0));
    }
    let excess = overlap - slop;
    let is_load = excess > 0.0 && overlap < MAX_PRELOAD * slop;
    if is_load && is_quiet(contacts[index].body_a) && is_quiet(contacts[index].body_b) {
        return max(min(old + params.preload_rate * excess, vec2<f32>(MAX_PRELOAD * slop)), old);
    }
    return old;
}

@compute @workgroup_size(LANES)
fn store_impulses(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let slot = flat_index(workgroup, workgroups, LANES, lane);
    if slot >= counters.color_starts[COLOR_COUNT] {
        return;
    }
    let contact = slots[slot];
    var impulses = constraints[slot].impulses;
    if (params.switches & BOUNCES) != 0u {
        let impacts = rebounds[slot].impulses;
        if any(impacts != vec4<f32>(0.0)) {
            impulses += impacts;
            contacts[contact].flags |= IMPACT;
        }
    }
    manifolds[contact].points[0].normal_impulse = impulses.x;
    manifolds[contact].points[0].tangent_impulse = impulses.y;
    manifolds[contact].points[1].normal_impulse = impulses.z;
    manifolds[contact].points[1].tangent_impulse = impulses.w;
    if params.preload_rate > 0.0 {
        manifolds[contact].preloads = preloads(contact, impulses.x + impulses.z);
    }
    if (params.switches & SURFACES) != 0u {
        contacts[contact].rolling_impulse = surfaces[slot].rolling_impulse;
    }
}
