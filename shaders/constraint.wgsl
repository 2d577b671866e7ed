// Access to the contact constraints. They are stored in tiles, each field side by side for the constraints of a tile,
// so that neighbouring lanes read and write neighbouring words. The importer declares `constraints`.

//#import types

// A contact constraint, as `Constraint` of src/types/constraint.rs.
struct Constraint {
    body_a: u32,
    body_b: u32,
    flags: u32,
    friction: f32,
    normal: vec2<f32>,
    separations: vec2<f32>,
    // Inverse mass and inverse inertia of A, then of B.
    inv: vec4<f32>,
    r_a_0: vec2<f32>,
    r_a_1: vec2<f32>,
    r_b: vec2<f32>,
    measured: vec2<f32>,
    impulses: vec4<f32>,
}

// Reads a constraint. A compiler leaves out the fields that its caller does not use.
fn constraint_at(slot: u32) -> Constraint {
    let lane = slot % TILE_LANES;
    let links = constraints[slot / TILE_LANES].links[lane];
    let frame = constraints[slot / TILE_LANES].frames[lane];
    let r_a = constraints[slot / TILE_LANES].r_a[lane];
    return Constraint(
        links.x,
        links.y,
        links.z,
        bitcast<f32>(links.w),
        frame.xy,
        frame.zw,
        constraints[slot / TILE_LANES].inv_masses[lane],
        r_a.xy,
        r_a.zw,
        constraints[slot / TILE_LANES].r_b[lane],
        constraints[slot / TILE_LANES].measured[lane],
        constraints[slot / TILE_LANES].impulses[lane],
    );
}

// The largest friction impulse of a point. Twin: `friction_limit` of src/stages/solve.rs.
fn friction_limit(coefficient: f32, normal_impulse: f32) -> f32 {
    return coefficient * normal_impulse;
}

// Returns the rotation of an arm since the start of the step: that of its body, unless the shape is round there
// (ROUND_A, ROUND_B).
fn turn_of_arm(round: u32, rotation: vec2<f32>) -> vec2<f32> {
    return select(vec2<f32>(1.0, 0.0), rotation, round == 0u);
}

fn set_impulses(slot: u32, impulses: vec4<f32>) {
    constraints[slot / TILE_LANES].impulses[slot % TILE_LANES] = impulses;
}

fn set_measured(slot: u32, measured: vec2<f32>) {
    constraints[slot / TILE_LANES].measured[slot % TILE_LANES] = measured;
}

// Changes the geometry of a constraint's first point.
fn set_geometry(slot: u32, normal: vec2<f32>, separations: vec2<f32>, r_a: vec4<f32>, r_b: vec2<f32>) {
    constraints[slot / TILE_LANES].frames[slot % TILE_LANES] = vec4<f32>(normal, separations);
    constraints[slot / TILE_LANES].r_a[slot % TILE_LANES] = r_a;
    constraints[slot / TILE_LANES].r_b[slot % TILE_LANES] = r_b;
}

fn set_constraint(slot: u32, row: Constraint) {
    constraints[slot / TILE_LANES].links[slot % TILE_LANES] =
        vec4<u32>(row.body_a, row.body_b, row.flags, bitcast<u32>(row.friction));
    constraints[slot / TILE_LANES].inv_masses[slot % TILE_LANES] = row.inv;
    set_geometry(slot, row.normal, row.separations, vec4<f32>(row.r_a_0, row.r_a_1), row.r_b);
    set_measured(slot, row.measured);
    set_impulses(slot, row.impulses);
}
