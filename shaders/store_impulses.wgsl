// store_impulses: src/stages/store_impulses.rs. Copies the solved impulses back to the manifolds, and adapts each
// contact's preload to its load.

//#import types
//#import math
//#import mass_scale
//#import constants
//#import manifold_rows

@group(0) @binding(0) var<storage, read> constraints: array<ConstraintTile>;
@group(0) @binding(1) var<storage, read_write> manifolds: array<ManifoldRows>;
@group(0) @binding(2) var<storage, read_write> counters: Counters;
@group(0) @binding(3) var<storage, read> surfaces: array<Surface>;
@group(0) @binding(4) var<uniform> params: Params;
@group(0) @binding(5) var<storage, read_write> contacts: array<Contact>;
@group(0) @binding(6) var<storage, read> contact_slots: array<u32>;
@group(0) @binding(7) var<storage, read> rebounds: array<Rebound>;
@group(0) @binding(8) var<storage, read> states: array<BodyState>;

fn is_quiet(body: u32) -> bool {
    let velocity = states[body].velocity;
    return dot(velocity, velocity) <= params.sleep_speed * params.sleep_speed;
}

// Returns how much softer the spring of a contact would be with true masses.
fn softened(slot: u32, index: u32) -> f32 {
    if params.mass_per_impulse == 0.0 {
        return 1.0;
    }
    let inv = constraints[slot / TILE_LANES].inv_masses[slot % TILE_LANES];
    return softening(inv.x, inv.z, states[contacts[index].body_a].status, states[contacts[index].body_b].status);
}

// Returns the preloads of a contact with these loads and separations of its points for the next step, m. Both change by
// the same length.
fn preloads(slot: u32, index: u32, loads: vec2<f32>, separations: vec2<f32>) -> vec2<f32> {
    let load = loads.x + loads.y;
    if load == 0.0 {
        return vec2<f32>(0.0);
    }
    let overlap = -dot(loads, separations) / load;
    let old = manifolds[index].preloads.xy;
    let slop = params.linear_slop;
    if overlap < params.unload_overlap - UNLOAD_SHARE * slop {
        return vec2<f32>(0.0);
    }
    let missing = params.unload_overlap - overlap;
    if missing > 0.0 {
        return max(old - UNLOAD_RATE * missing / softened(slot, index), vec2<f32>(0.0));
    }
    let excess = overlap - slop;
    let is_load = excess > 0.0 && overlap < MAX_PRELOAD * slop;
    if is_load && is_quiet(contacts[index].body_a) && is_quiet(contacts[index].body_b) {
        let share = softened(slot, index);
        let grown = old + params.preload_rate * excess / share;
        return max(min(grown, vec2<f32>(MAX_PRELOAD * slop / share)), old);
    }
    return old;
}

@compute @workgroup_size(LANES)
fn store_impulses(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    // In the order of the contacts, whose rows are larger than the impulses.
    let contact = flat_index(workgroup, workgroups, LANES, lane);
    if contact >= counters.contacts {
        return;
    }
    let count = contacts[contact].flags & POINT_COUNT_MASK;
    if count == 0u {
        return;
    }
    let slot = contact_slots[contact];
    var impulses = constraints[slot / TILE_LANES].impulses[slot % TILE_LANES];
    if (params.switches & BOUNCES) != 0u {
        let impacts = rebounds[slot].impulses;
        if any(impacts != vec4<f32>(0.0)) {
            impulses += impacts;
            contacts[contact].flags |= IMPACT;
        }
    }
    let point_0 = manifolds[contact].points[0].state;
    let point_1 = manifolds[contact].points[1].state;
    impulses = select(impulses, impulses.zwxy, deeper_point(point_0.y, point_1.y, count) == 1u);
    manifolds[contact].points[0].state = vec4<f32>(point_0.xy, impulses.xy);
    manifolds[contact].points[1].state = vec4<f32>(point_1.xy, impulses.zw);
    if params.preload_rate > 0.0 {
        let separations = vec2<f32>(point_0.y, point_1.y);
        let kept = preloads(slot, contact, impulses.xz, separations);
        manifolds[contact].preloads = vec4<f32>(kept, 0.0, 0.0);
    }
    if (params.switches & SURFACES) != 0u {
        contacts[contact].rolling_impulse = surfaces[slot].rolling_impulse;
    }
}
