// Poses and the vectors between them (twin: `Pose` in src/types/body.rs).

//#import types

fn default_pose() -> Pose {
    return Pose(vec2<f32>(0.0), vec2<f32>(1.0, 0.0), vec2<f32>(0.0), vec2<f32>(0.0));
}

// Returns the vector from the centre of mass of a body to that of another.
fn vector_to(a: Pose, b: Pose) -> vec2<f32> {
    return (b.position - a.position) + (b.low - a.low);
}

// Returns the vector from a point of the world to the centre of mass.
fn vector_from(point: vec2<f32>, pose: Pose) -> vec2<f32> {
    return (pose.position - point) + pose.low;
}
