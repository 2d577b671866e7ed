// Contacts with up to two points each, read directly from the solver's tables. Each part of a contact (constraint line,
// normal, arrows, points) is an instance of its own, so that all lines lie below all points.

//#import types
//#import pose
//#import math
//#import draw/view
//#import draw/palette
//#import draw/marks

@group(0) @binding(1) var<storage, read> poses: array<Pose>;
@group(0) @binding(2) var<storage, read> states: array<BodyState>;
@group(0) @binding(3) var<storage, read> contacts: array<Contact>;
@group(0) @binding(4) var<storage, read> manifolds: array<Manifold>;
@group(0) @binding(5) var<storage, read> sleeping: array<SleepingContact>;

const CONSTRAINT_PART: u32 = 1u;
const NORMAL_PART: u32 = 2u;
const FRICTION_PART: u32 = 3u;
const IMPULSE_PART: u32 = 4u;
const POINT_PART: u32 = 5u;
const FORCE_PART: u32 = 6u;

// Opacity of marks of sleeping bodies, and of contact points without an impulse.
const ASLEEP_OPACITY: f32 = 0.45;
const IDLE_OPACITY: f32 = 0.5;
// Maximum length of an impulse arrow, in widths of a typical body.
const MAX_ARROW: f32 = 2.5;

/// Returns the rotation of a body since its manifold was computed.
fn turn_since(now: vec2<f32>, then: vec2<f32>) -> vec2<f32> {
    let turn = inv_mul_rotation(then, now);
    return select(vec2<f32>(1.0, 0.0), turn, dot(then, then) > 0.0);
}

/// Returns the length of an impulse's arrow, px, compressed so that impacts do not cross the whole picture. Twin on the
/// CPU: src/keys.rs.
fn arrow_length(impulse: f32) -> f32 {
    let far = view.arrow * sqrt(impulse);
    return far / (1.0 + far / (MAX_ARROW * max(view.length, 1e-3)));
}

fn push_mark(vertex: u32, at: vec2<f32>, far: vec2<f32>, pushes_both: bool, head: f32, color: vec4<f32>) -> Mark {
    let form = select(MARK_NONE, select(MARK_ARROW, MARK_ARROWS, pushes_both), dot(far, far) > 1.0);
    return make_mark(vertex, form, select(at, at - far, pushes_both), at + far, 0.8 * view.unit, head, color);
}

fn contact_mark(vertex: u32, instance: u32, contact: Contact, manifold: Manifold, opacity: f32) -> Mark {
    let part = (view.contact_parts >> (4u * instance)) & 15u;
    let end = (vertex / 6u) % 2u;
    let points = contact.flags & POINT_COUNT_MASK;
    let bodies = arrayLength(&poses);
    // The constraint line is drawn once for both points.
    if end >= points || (part == CONSTRAINT_PART && end > 0u) || contact.body_a >= bodies || contact.body_b >= bodies {
        return no_mark();
    }
    let pose_a = poses[contact.body_a];
    let pose_b = poses[contact.body_b];
    let from_a = vector_from(view.center, pose_a);
    let from_b = vector_from(view.center, pose_b);
    let point = manifold.points[end];
    let on_a = from_a + rotate(turn_since(pose_a.rotation, manifold.cached_rotation_a), point.anchor_a);
    let on_b = from_b + rotate(turn_since(pose_b.rotation, manifold.cached_rotation_b), point.anchor_b);
    let at = to_pixel(0.5 * (on_a + on_b));
    // The arrow points onto the pushed body: B, unless B is fixed. If both can move, each gets an arrow.
    let push = select(1.0, -1.0, (contact.flags & FIXED_B) != 0u);
    let pushes_both = (contact.flags & (FIXED_A | FIXED_B)) == 0u;
    let normal = vec2<f32>(manifold.normal.x, -manifold.normal.y);
    let tangent = vec2<f32>(manifold.normal.y, manifold.normal.x);
    let unit = view.unit;
    // Marks fade out where bodies are a few pixels wide.
    let shown = opacity * clamp((view.length - 1.5) / 6.0, 0.0, 1.0);
    let head = clamp(0.2 * view.length, 2.5 * unit, 6.0 * unit);
    switch part {
        case CONSTRAINT_PART: {
            let color = graph_color(contact.color);
            let ends = vec2<bool>((contact.flags & FIXED_A) != 0u, (contact.flags & FIXED_B) != 0u);
            // The centre of the ground may be far away, so the line starts at the contact instead.
            let a = select(to_pixel(from_a), at, ends.x);
            let b = select(to_pixel(from_b), at, ends.y);
            let dense = opacity * clamp((view.length - 0.5) / 2.0, 0.15, 1.0);
            let pen = min(0.9 * unit, 0.1 * view.length + 0.2);
            return make_mark(vertex, MARK_LINE, a, b, pen, 0.0, vec4<f32>(color, dense));
        }
        case NORMAL_PART: {
            let tip = at + normal * push * clamp(0.4 * view.length, 6.0 * unit, 22.0 * unit);
            return make_mark(vertex, MARK_ARROW, at, tip, 0.6 * unit, head, vec4<f32>(view.normal.rgb, shown));
        }
        case FRICTION_PART: {
            let impulse = point.tangent_impulse;
            let far = tangent * push * sign(impulse) * arrow_length(abs(impulse));
            return push_mark(vertex, at, far, pushes_both, head, vec4<f32>(view.friction.rgb, shown));
        }
        case IMPULSE_PART: {
            let far = normal * push * arrow_length(max(point.normal_impulse, 0.0));
            return push_mark(vertex, at, far, pushes_both, head, vec4<f32>(view.impulse.rgb, shown));
        }
        case FORCE_PART: {
            let impulse = normal * point.normal_impulse + tangent * point.tangent_impulse;
            let far = held_back(impulse * push * view.force_arrow);
            return push_mark(vertex, at, far, pushes_both, head, vec4<f32>(view.force.rgb, shown));
        }
        default: {
            let size = clamp(0.09 * view.length, 1.0 * unit, 3.5 * unit);
            let load = select(IDLE_OPACITY, 1.0, point.normal_impulse > 0.0);
            return make_mark(vertex, MARK_DISC, at, at, 0.0, size, vec4<f32>(view.contact.rgb, shown * load));
        }
    }
}

@vertex
fn contact_vertex(@builtin(vertex_index) vertex: u32, @builtin(instance_index) instance: u32) -> Mark {
    let index = vertex / 12u;
    if index >= arrayLength(&contacts) || index >= arrayLength(&manifolds) {
        return no_mark();
    }
    let contact = contacts[index];
    let bodies = arrayLength(&states);
    // Contacts of bodies that fell asleep in the last step are drawn from the other table.
    if contact.body_a < bodies && contact.body_b < bodies
        && (states[contact.body_a].status & states[contact.body_b].status & ASLEEP) != 0u {
        return no_mark();
    }
    return contact_mark(vertex, instance, contact, manifolds[index], 1.0);
}

@vertex
fn sleeping_vertex(@builtin(vertex_index) vertex: u32, @builtin(instance_index) instance: u32) -> Mark {
    let index = vertex / 12u;
    if index >= arrayLength(&sleeping) {
        return no_mark();
    }
    return contact_mark(vertex, instance, sleeping[index].contact, sleeping[index].manifold, ASLEEP_OPACITY);
}
