// Manifolds as rows of 16 bytes, for kernels that visit them in the order of the constraints: each row is one access.
// The same memory as `Manifold` of types.wgsl.

struct ManifoldRows {
    // Normal; cosine and sine of A (cached).
    normal: vec4<f32>,
    // Cosine and sine of B, position (cached).
    cache: vec4<f32>,
    points: array<PointRows, 2>,
    // Preloads, then nothing.
    preloads: vec4<f32>,
}

struct PointRows {
    // Anchor on A, anchor on B.
    anchors: vec4<f32>,
    // Separation at the last collision and now, normal impulse, tangent impulse.
    state: vec4<f32>,
}

// Returns the index of the deeper point of two, by their separations. Constraints have it first. Twin:
// `Manifold::by_depth` of src/types/contact.rs.
fn deeper_point(separation_0: f32, separation_1: f32, count: u32) -> u32 {
    return select(0u, 1u, count > 1u && separation_1 < separation_0);
}
