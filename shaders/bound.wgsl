// bound: src/stages/bound.rs.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> shapes: array<Shape>;
@group(0) @binding(2) var<storage, read> poses: array<Pose>;
@group(0) @binding(3) var<storage, read> states: array<BodyState>;
@group(0) @binding(4) var<storage, read_write> aabbs: array<Aabb>;

@compute @workgroup_size(LANES)
fn bound(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = flat_index(workgroup, workgroups, LANES, lane);
    if index >= params.shape_count {
        return;
    }
    let body = shapes[index].body;
    if (states[body].status & QUARANTINED) != 0u {
        aabbs[index] = Aabb(vec2<f32>(1e30), vec2<f32>(-1e30));
        return;
    }
    let pose = poses[body];
    let center = pose.position + rotate(pose.rotation, shapes[index].offset);
    var reach = vec2<f32>(shapes[index].radius);
    if (shapes[index].kind & GEOMETRY_MASK) != CIRCLE {
        let turn = abs(mul_rotation(pose.rotation, shapes[index].rotation));
        let half = shapes[index].half;
        reach = vec2<f32>(turn.x * half.x + turn.y * half.y, turn.y * half.x + turn.x * half.y);
    }
    reach = reach + params.aabb_margin;
    aabbs[index] = Aabb(center - reach, center + reach);
}
