// rule: src/stages/collide/rule.rs. Calls the scene's rule for each contact that touches: rule_contacts, after
// collide, drops contacts; rule_constraints, after prepare, gives the others friction, restitution, ….

//#import types
//#import math
//#import constraint
//#import material
//#import own_rule

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> shapes: array<ShapeData>;
@group(0) @binding(2) var<storage, read> states: array<BodyState>;
@group(0) @binding(3) var<storage, read_write> contacts: array<Contact>;
@group(0) @binding(4) var<storage, read_write> manifolds: array<Manifold>;
@group(0) @binding(5) var<storage, read> slots: array<u32>;
@group(0) @binding(6) var<storage, read_write> constraints: array<ConstraintTile>;
@group(0) @binding(7) var<storage, read_write> surfaces: array<Surface>;
@group(0) @binding(8) var<storage, read_write> rebounds: array<Rebound>;
@group(0) @binding(9) var<storage, read_write> counters: Counters;

// Returns the velocity of a point of a body, `r` from its centre of mass.
fn velocity_at(body: u32, r: vec2<f32>) -> vec2<f32> {
    return states[body].velocity + cross_scalar(states[body].angular_velocity, r);
}

// Returns a contact as the rule sees it.
fn seen_by_rule(index: u32) -> RuleContact {
    let a = contacts[index].body_a;
    let b = contacts[index].body_b;
    let shape_a = contacts[index].shape_a;
    let shape_b = contacts[index].shape_b;
    var r_a = manifolds[index].points[0].anchor_a;
    var r_b = manifolds[index].points[0].anchor_b;
    var separation = manifolds[index].points[0].separation;
    if (contacts[index].flags & POINT_COUNT_MASK) > 1u {
        r_a = (r_a + manifolds[index].points[1].anchor_a) * 0.5;
        r_b = (r_b + manifolds[index].points[1].anchor_b) * 0.5;
        separation = min(separation, manifolds[index].points[1].separation);
    }
    let surface = surface_of(shape_a, shape_b);
    return RuleContact(
        manifolds[index].normal,
        velocity_at(b, r_b) - velocity_at(a, r_a),
        separation,
        friction_of(shape_a, shape_b),
        surface.kinetic_friction,
        restitution_of(shape_a, shape_b),
        surface.tangent_speed,
        surface.rolling_resistance,
        1u,
        select(0u, 1u, (contacts[index].flags & TOUCHED) == 0u),
        material_of(shape_a),
        material_of(shape_b),
        shapes[shape_a].category,
        shapes[shape_b].category,
        a,
        b,
        shape_a,
        shape_b,
    );
}

// Returns a value, or the usual one if it is no number.
fn number_or(value: f32, usual: f32) -> f32 {
    return select(usual, value, is_finite(value));
}

// One thread per contact.
@compute @workgroup_size(LANES)
fn rule_contacts(
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
    let flags = contacts[index].flags;
    if (flags & POINT_COUNT_MASK) == 0u || (flags & SENSOR) != 0u {
        return;
    }
    if rule(seen_by_rule(index)).touches == 0u {
        // Not cached either: in the next step the shapes are compared again, also where they have not moved.
        contacts[index].flags = flags & ~(POINT_COUNT_MASK | CACHED | IMPACT);
        contacts[index].color = NONE;
        contacts[index].features = 0u;
        contacts[index].rolling_impulse = 0.0;
        manifolds[index] = Manifold();
    }
}

// One thread per constraint.
@compute @workgroup_size(LANES)
fn rule_constraints(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let slot = flat_index(workgroup, workgroups, LANES, lane);
    if slot >= slots[params.contact_capacity] {
        return;
    }
    let usual = seen_by_rule(slots[slot]);
    let solved = rule(usual);
    let friction = max(number_or(solved.friction, usual.friction), 0.0);
    constraints[slot / TILE_LANES].links[slot % TILE_LANES].w = bitcast<u32>(friction);
    surfaces[slot].kinetic_friction =
        min(max(number_or(solved.kinetic_friction, usual.kinetic_friction), 0.0), friction);
    surfaces[slot].tangent_speed = number_or(solved.tangent_speed, usual.tangent_speed);
    surfaces[slot].rolling_resistance =
        max(number_or(solved.rolling_resistance, usual.rolling_resistance), 0.0);
    rebounds[slot].restitution = min(max(number_or(solved.restitution, usual.restitution), 0.0), 1.0);
}
