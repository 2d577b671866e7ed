// What the impulses of a constraint do to its bodies, shared by warm_start and solve (src/stages/solve.rs).

fn accumulate(slot: u32) {
    let normal = constraints[slot].normal;
    let tangent = right_perp(normal);
    let impulses = constraints[slot].impulses;
    let impulse_0 = normal * impulses.x + tangent * impulses.y;
    let impulse_1 = normal * impulses.z + tangent * impulses.w;
    let impulse = impulse_0 + impulse_1;
    let flags = constraints[slot].flags;
    if (flags & FIXED_A) == 0u {
        let a = constraints[slot].body_a;
        let spin = cross_2d(constraints[slot].points[0].r_a, impulse_0)
            + cross_2d(constraints[slot].points[1].r_a, impulse_1);
        accumulators[a].velocity -= impulse * constraints[slot].inv_mass_a;
        accumulators[a].angular_velocity -= constraints[slot].inv_inertia_a * spin;
    }
    if (flags & FIXED_B) == 0u {
        let b = constraints[slot].body_b;
        let spin = cross_2d(constraints[slot].points[0].r_b, impulse_0)
            + cross_2d(constraints[slot].points[1].r_b, impulse_1);
        accumulators[b].velocity += impulse * constraints[slot].inv_mass_b;
        accumulators[b].angular_velocity += constraints[slot].inv_inertia_b * spin;
    }
}
