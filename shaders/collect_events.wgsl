// collect_events: src/stages/collect_events.rs. Collects the events of a step: collect_events_count, scan,
// collect_events_end, collect_events_begin, collect_events_joints.

//#import types
//#import math

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> pair_starts_previous: array<u32>;
@group(0) @binding(2) var<storage, read> contacts_previous: array<Contact>;
@group(0) @binding(3) var<storage, read> pair_starts: array<u32>;
@group(0) @binding(4) var<storage, read> contacts: array<Contact>;
@group(0) @binding(5) var<storage, read_write> event_starts: array<u32>;
@group(0) @binding(6) var<storage, read> poses: array<Pose>;
@group(0) @binding(7) var<storage, read> states: array<BodyState>;
@group(0) @binding(8) var<storage, read_write> events: array<EventData>;
@group(0) @binding(9) var<storage, read> joints: array<JointData>;
@group(0) @binding(10) var<storage, read_write> joint_states: array<JointState>;
@group(0) @binding(11) var<storage, read> manifolds: array<Manifold>;

const TOUCHES: u32 = 515u;

// Returns true if a pair that touched still does, and none of its shapes has become a sensor or ceased to be one.
fn goes_on(producer: u32, old: u32) -> bool {
    for (var index = pair_starts[producer]; index < pair_starts[producer + 1u]; index += 1u) {
        if contacts[index].shape_b == contacts_previous[old].shape_b {
            let flags = contacts[index].flags;
            return (flags & TOUCHES) != 0u && ((flags ^ contacts_previous[old].flags) & (SENSOR | SENSOR_B)) == 0u;
        }
    }
    return false;
}

// Returns true if the pair ceased to touch. `index` is that of the previous step.
fn ceased(producer: u32, index: u32) -> bool {
    return (contacts_previous[index].flags & TOUCHES) != 0u && !goes_on(producer, index) && !sleeps_on(index);
}

// Returns true if the pair begins to touch.
fn begins(index: u32) -> bool {
    return (contacts[index].flags & TOUCHES) != 0u && (contacts[index].flags & TOUCHED) == 0u;
}

// Returns true if the pair is archived, as both sleep: it touches as before.
fn sleeps_on(index: u32) -> bool {
    let status = states[contacts_previous[index].body_a].status & states[contacts_previous[index].body_b].status;
    return (status & ASLEEP) != 0u;
}

// Returns the shapes of a contact as events list them: a sensor before its visitor.
fn in_order(contact: Contact) -> vec2<u32> {
    let shapes = vec2<u32>(contact.shape_a, contact.shape_b);
    return select(shapes, shapes.yx, (contact.flags & SENSOR_B) != 0u);
}

fn began(index: u32) -> EventData {
    let contact = contacts[index];
    let normal = manifolds[index].normal;
    let shapes = in_order(contact);
    var event = EventData(EVENT_BEGIN, shapes.x, shapes.y, 0.0, vec2<f32>(0.0), normal);
    if (contact.flags & SENSOR) != 0u {
        event.kind = EVENT_SENSOR_BEGIN;
        event.normal = vec2<f32>(0.0);
        return event;
    }
    let a = contact.body_a;
    let b = contact.body_b;
    for (var end = 0u; end < (contact.flags & POINT_COUNT_MASK); end += 1u) {
        let r_a = manifolds[index].points[end].anchor_a;
        let r_b = manifolds[index].points[end].anchor_b;
        let velocity_a = states[a].velocity + cross_scalar(states[a].angular_velocity, r_a);
        let velocity_b = states[b].velocity + cross_scalar(states[b].angular_velocity, r_b);
        let approach = -dot(velocity_b - velocity_a, normal);
        if end == 0u || approach > event.approach_speed {
            event.approach_speed = approach;
            // A pair that meets within the step touches where the fixed body is.
            let is_ahead = (contact.flags & (IMPACT | FIXED_B)) == (IMPACT | FIXED_B);
            event.point = select(poses[a].position + r_a, poses[b].position + r_b, is_ahead);
        }
    }
    return event;
}

// One thread per shape, then one per joint, and one more for the total.
@compute @workgroup_size(LANES)
fn collect_events_count(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let producer = flat_index(workgroup, workgroups, LANES, lane);
    let last = params.shape_count + params.joint_count;
    if producer > last {
        return;
    }
    var count = 0u;
    if producer >= params.shape_count && producer < last {
        let status = joint_states[producer - params.shape_count].status;
        count = select(0u, 1u, (status & (BROKEN | BREAK_TOLD)) == BROKEN);
    }
    if producer < params.shape_count {
        for (var index = pair_starts_previous[producer]; index < pair_starts_previous[producer + 1u]; index += 1u) {
            count += select(0u, 1u, ceased(producer, index));
        }
        for (var index = pair_starts[producer]; index < pair_starts[producer + 1u]; index += 1u) {
            count += select(0u, 1u, begins(index));
        }
    }
    event_starts[producer] = count;
}

// One thread per shape. Events that do not fit are only counted: the host reads the total and grows the buffer.
@compute @workgroup_size(LANES)
fn collect_events_end(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let producer = flat_index(workgroup, workgroups, LANES, lane);
    if producer >= params.shape_count {
        return;
    }
    var next = event_starts[producer];
    if next == event_starts[producer + 1u] {
        return;
    }
    for (var index = pair_starts_previous[producer]; index < pair_starts_previous[producer + 1u]; index += 1u) {
        if !ceased(producer, index) {
            continue;
        }
        if next < arrayLength(&events) {
            let kind = select(EVENT_END, EVENT_SENSOR_END, (contacts_previous[index].flags & SENSOR) != 0u);
            let shapes = in_order(contacts_previous[index]);
            events[next] = EventData(kind, shapes.x, shapes.y, 0.0, vec2<f32>(0.0), vec2<f32>(0.0));
        }
        next += 1u;
    }
}

// One thread per shape: its begun touches, which come last. A single kernel for both would need nine buffers.
@compute @workgroup_size(LANES)
fn collect_events_begin(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let producer = flat_index(workgroup, workgroups, LANES, lane);
    if producer >= params.shape_count || event_starts[producer] == event_starts[producer + 1u] {
        return;
    }
    var next = event_starts[producer + 1u];
    for (var index = pair_starts[producer + 1u]; index > pair_starts[producer]; index -= 1u) {
        if !begins(index - 1u) {
            continue;
        }
        next -= 1u;
        if next < arrayLength(&events) {
            events[next] = began(index - 1u);
        }
    }
}

// One thread per joint.
@compute @workgroup_size(LANES)
fn collect_events_joints(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = flat_index(workgroup, workgroups, LANES, lane);
    if index >= params.joint_count || (joint_states[index].status & (BROKEN | BREAK_TOLD)) != BROKEN {
        return;
    }
    joint_states[index].status |= BREAK_TOLD;
    let place = event_starts[params.shape_count + index];
    if place < arrayLength(&events) {
        let a = select(f32(joints[index].body_a), -1.0, (joints[index].flags & WORLD_A) != 0u);
        let bodies = vec2<f32>(a, f32(joints[index].body_b));
        let id = joints[index].id;
        events[place] = EventData(EVENT_JOINT_BROKE, id, joints[index].generation, 0.0, bodies, vec2<f32>(0.0));
    }
}
