// Colours of bodies, one thread per body, packed to four bytes each. Coloring by contacts first visits every contact.
// Coloring by islands finds connected components with union_find.wgsl, as the sleep stage does.

//#import types
//#import pose
//#import math
//#import union_find
//#import draw/view
//#import draw/palette

@group(0) @binding(1) var<storage, read> poses: array<Pose>;
@group(0) @binding(2) var<storage, read> states: array<BodyState>;
@group(0) @binding(3) var<storage, read_write> tints: array<u32>;
// One word per body: the graph colors of its contacts as bits, or its parent in its island. Behind these, one word per
// body: 1 if it is the root of other bodies.
@group(0) @binding(4) var<storage, read_write> labels: array<atomic<u32>>;
// The largest value on a scale, as the bits of a float.
@group(0) @binding(5) var<storage, read_write> measures: array<atomic<u32>>;
@group(0) @binding(6) var<storage, read_write> counters: Counters;
@group(0) @binding(7) var<storage, read> contacts: array<Contact>;
@group(0) @binding(8) var<storage, read> sleeping: array<SleepingContact>;
@group(0) @binding(9) var<storage, read> islands: array<u32>;
@group(0) @binding(10) var<storage, read> joints: array<JointData>;
@group(0) @binding(11) var<storage, read> joint_states: array<JointState>;
@group(0) @binding(12) var<storage, read> reference: array<Pose>;
@group(0) @binding(13) var<uniform> params: Params;
@group(0) @binding(14) var<storage, read> bodies: array<BodyData>;

// Share of the background in the colour of a sleeping body.
const DIMMED: f32 = 0.6;

var<workgroup> highest: atomic<u32>;

fn is_there(body: u32) -> bool {
    return body < view.body_count && body < arrayLength(&tints) && body < arrayLength(&states);
}

fn put_tint(body: u32, color: vec3<f32>) {
    let asleep = view.dim != 0u && (states[body].status & ASLEEP) != 0u;
    let shown = select(color, mix(color, view.background.rgb, DIMMED), asleep);
    tints[body] = pack4x8unorm(vec4<f32>(shown, 1.0));
}

/// Writes a colour from the logarithmic scale and updates the largest value. All threads of a workgroup must call this.
fn put_measured(body: u32, lane: u32, value: f32) {
    if lane == 0u {
        atomicStore(&highest, 0u);
    }
    workgroupBarrier();
    let known = is_there(body) && is_finite(value);
    if known {
        // Positive floats are ordered like their bits.
        atomicMax(&highest, bitcast<u32>(value));
        let share = (log2(max(value, 1e-30)) - view.scale_low) * view.scale_per_octave;
        put_tint(body, select(none_color(), scale_color(share), value > 0.0));
    } else if is_there(body) {
        put_tint(body, none_color());
    }
    workgroupBarrier();
    if lane == 0u {
        atomicMax(&measures[0], atomicLoad(&highest));
    }
}

@compute @workgroup_size(LANES)
fn tint_plain(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let body = flat_index(workgroup, workgroups, LANES, lane);
    if is_there(body) {
        var color = 0u;
        if body < arrayLength(&bodies) {
            color = bodies[body].color;
        }
        put_tint(body, fill_color(color_index(body, color), 0u));
    }
}

@compute @workgroup_size(LANES)
fn tint_speed(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let body = flat_index(workgroup, workgroups, LANES, lane);
    var speed = 0.0;
    if is_there(body) {
        speed = length(states[body].velocity);
    }
    put_measured(body, lane, speed);
}

@compute @workgroup_size(LANES)
fn tint_difference(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let body = flat_index(workgroup, workgroups, LANES, lane);
    var apart = 0.0;
    if is_there(body) && body < arrayLength(&poses) && body < arrayLength(&reference) {
        apart = length(vector_to(reference[body], poses[body]));
    }
    put_measured(body, lane, apart);
}

@compute @workgroup_size(LANES)
fn tint_sleep(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let body = flat_index(workgroup, workgroups, LANES, lane);
    if !is_there(body) {
        return;
    }
    let status = states[body].status;
    let quiet = f32(status >> QUIET_SHIFT) / f32(max(params.sleep_steps, 1u));
    put_tint(body, sleep_color(select(0.75 * clamp(quiet, 0.0, 1.0), 1.0, (status & ASLEEP) != 0u)));
}

@compute @workgroup_size(LANES)
fn tint_clear(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let body = flat_index(workgroup, workgroups, LANES, lane);
    if body < view.body_count {
        atomicStore(&labels[body], 0u);
    }
}

fn note_color(contact: Contact) {
    if (contact.flags & POINT_COUNT_MASK) == 0u || contact.color >= COLOR_COUNT {
        return;
    }
    if contact.body_a < view.body_count && (contact.flags & FIXED_A) == 0u {
        atomicOr(&labels[contact.body_a], 1u << contact.color);
    }
    if contact.body_b < view.body_count && (contact.flags & FIXED_B) == 0u {
        atomicOr(&labels[contact.body_b], 1u << contact.color);
    }
}

// One thread per stored contact, of awake or of sleeping bodies.
@compute @workgroup_size(LANES)
fn tint_colors(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = flat_index(workgroup, workgroups, LANES, lane);
    if index < min(counters.contacts, arrayLength(&contacts)) {
        note_color(contacts[index]);
    }
    if index < min(atomicLoad(&counters.sleeping_contacts), arrayLength(&sleeping)) {
        note_color(sleeping[index].contact);
    }
}

@compute @workgroup_size(LANES)
fn tint_graph(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let body = flat_index(workgroup, workgroups, LANES, lane);
    if !is_there(body) {
        return;
    }
    let mask = atomicLoad(&labels[body]);
    // An empty mask gives a color past the last.
    put_tint(body, graph_color(select(COLOR_COUNT, 31u - countLeadingZeros(mask), mask != 0u)));
}

@compute @workgroup_size(LANES)
fn tint_alone(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let body = flat_index(workgroup, workgroups, LANES, lane);
    if !is_there(body) {
        return;
    }
    var root = body;
    if (states[body].status & ASLEEP) != 0u && body < arrayLength(&islands) && islands[body] <= body {
        root = islands[body];
    }
    atomicStore(&labels[body], root);
    atomicStore(&labels[view.body_count + body], 0u);
}

// Accessors required by union_find.wgsl.
fn parent_of(body: u32) -> u32 {
    return atomicLoad(&labels[body]);
}

fn lower_parent(body: u32, parent: u32) {
    atomicMin(&labels[body], parent);
}

fn adopt(root: u32, parent: u32) -> bool {
    return atomicCompareExchangeWeak(&labels[root], root, parent).exchanged;
}

// One thread per stored contact of awake bodies. Sleeping bodies are in islands already.
@compute @workgroup_size(LANES)
fn tint_unite(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = flat_index(workgroup, workgroups, LANES, lane);
    if index >= min(counters.contacts, arrayLength(&contacts)) {
        return;
    }
    let contact = contacts[index];
    if (contact.flags & POINT_COUNT_MASK) != 0u && (contact.flags & (FIXED_A | FIXED_B)) == 0u
        && contact.body_a < view.body_count && contact.body_b < view.body_count {
        unite(contact.body_a, contact.body_b);
    }
}

@compute @workgroup_size(LANES)
fn tint_unite_joints(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = flat_index(workgroup, workgroups, LANES, lane);
    if index >= min(view.joint_count, min(arrayLength(&joints), arrayLength(&joint_states))) {
        return;
    }
    let joint = joints[index];
    let loose = joint.flags & (WORLD_A | JOINT_FIXED_A | JOINT_FIXED_B | JOINT_DISABLED | JOINT_VACANT);
    if loose == 0u && (joint_states[index].status & BROKEN) == 0u
        && joint.body_a < view.body_count && joint.body_b < view.body_count {
        unite(joint.body_a, joint.body_b);
    }
}

// Marks roots that have other bodies in their island.
@compute @workgroup_size(LANES)
fn tint_roots(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let body = flat_index(workgroup, workgroups, LANES, lane);
    if !is_there(body) {
        return;
    }
    let root = root_of(body);
    if root != body {
        atomicStore(&labels[view.body_count + root], 1u);
    }
}

@compute @workgroup_size(LANES)
fn tint_island(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let body = flat_index(workgroup, workgroups, LANES, lane);
    if !is_there(body) {
        return;
    }
    let root = root_of(body);
    let alone = root == body && atomicLoad(&labels[view.body_count + body]) == 0u;
    put_tint(body, select(hue_color(f32(hash_body(root) & 0xffffu) / 65536.0), none_color(), alone));
}
