// parity_copy: copies the contacts of worlds that skip a step, in batches of worlds. A step swaps the two contact
// buffers for all worlds, also for those that skip it. For these the kernel copies the contacts from the buffer that
// will be overwritten to the one that match_contacts reads. One thread per contact, and one per shape plus one for the
// end. It is no stage: a single world needs no copy.

//#import types
//#import math

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> counters: Counters;
@group(0) @binding(2) var<storage, read> pair_starts: array<u32>;
@group(0) @binding(3) var<storage, read_write> pair_starts_previous: array<u32>;
@group(0) @binding(4) var<storage, read> contacts: array<Contact>;
@group(0) @binding(5) var<storage, read_write> contacts_previous: array<Contact>;
@group(0) @binding(6) var<storage, read> manifolds: array<Manifold>;
@group(0) @binding(7) var<storage, read_write> manifolds_previous: array<Manifold>;

@compute @workgroup_size(LANES)
fn parity_copy(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = flat_index(workgroup, workgroups, LANES, lane);
    if index <= params.shape_count {
        pair_starts_previous[index] = pair_starts[index];
    }
    if index < min(counters.contacts, params.contact_capacity) {
        contacts_previous[index] = contacts[index];
        manifolds_previous[index] = manifolds[index];
    }
}
