// match_contacts: src/stages/match_contacts.rs. Finds the contact that every pair had in the previous step.

//#import types
//#import math

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> pair_starts_previous: array<u32>;
@group(0) @binding(2) var<storage, read> contacts_previous: array<Contact>;
@group(0) @binding(3) var<storage, read_write> contacts: array<Contact>;
@group(0) @binding(4) var<storage, read_write> counters: Counters;

const NO_PAST_COLOR: u32 = 0xffu;
const KEPT_FLAGS: u32 = ((1u << PAST_COLOR_SHIFT) - 1u) & ~(RECYCLED | TOUCHED | INITIAL);
const KIND_FLAGS: u32 = FIXED_A | FIXED_B | SENSOR | SENSOR_B;

@compute @workgroup_size(LANES)
fn match_contacts(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = flat_index(workgroup, workgroups, LANES, lane);
    if index >= counters.contacts {
        return;
    }
    if (params.switches & SLEEP) != 0u && atomicLoad(&counters.again) == 0u {
        return;
    }
    let producer = contacts[index].shape_a;
    let partner = contacts[index].shape_b;
    let end = pair_starts_previous[producer + 1u];
    for (var old = pair_starts_previous[producer]; old < end; old += 1u) {
        if contacts_previous[old].shape_b == partner {
            let flags = contacts_previous[old].flags;
            let past_color = min(contacts_previous[old].color, NO_PAST_COLOR);
            let did_touch = (flags & (POINT_COUNT_MASK | OVERLAPS)) != 0u && (flags & INITIAL) == 0u;
            let touched = select(0u, TOUCHED, did_touch);
            let kinds = contacts[index].flags & KIND_FLAGS;
            var carried = (flags & KEPT_FLAGS) | touched | (past_color << PAST_COLOR_SHIFT);
            if (carried & KIND_FLAGS) != kinds {
                // A shape that is a sensor now, or no longer, begins to touch again.
                if ((carried ^ kinds) & (SENSOR | SENSOR_B)) != 0u {
                    carried &= ~TOUCHED;
                }
                carried = (carried & ~(KIND_FLAGS | HUB_A | HUB_B)) | kinds | (NO_PAST_COLOR << PAST_COLOR_SHIFT);
            }
            contacts[index].flags = carried;
            contacts[index].color = old;
            contacts[index].features = contacts_previous[old].features;
            contacts[index].rolling_impulse = contacts_previous[old].rolling_impulse;
            return;
        }
    }
}
