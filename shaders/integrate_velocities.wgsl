// integrate_velocities: src/stages/integrate_velocities.rs.

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> bodies: array<Body>;
@group(0) @binding(2) var<storage, read> poses: array<Pose>;
@group(0) @binding(3) var<storage, read_write> states: array<BodyState>;
@group(0) @binding(4) var<storage, read_write> accumulators: array<Accumulator>;

@compute @workgroup_size(LANES)
fn integrate_velocities(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = flat_index(workgroup, workgroups, LANES, lane);
    if index >= params.body_count {
        return;
    }
    let body = bodies[index];
    let state = states[index];
    if body.kind != DYNAMIC || (state.status & QUARANTINED) != 0u {
        return;
    }
    let kept = accumulators[index];
    let turn = mul_rotation(state.delta_rotation, poses[index].rotation);
    let arm = rotate(turn, body.force_point);
    let torque = body.torque + cross_2d(arm, body.force);
    let push = (params.gravity * body.gravity_scale + body.force * body.inv_mass) * params.h;
    let spin = params.h * body.inv_inertia * torque;
    var velocity = state.velocity * (1.0 / (1.0 + params.h * body.linear_damping));
    var angular_velocity = state.angular_velocity * (1.0 / (1.0 + params.h * body.angular_damping));
    velocity = velocity + push + kept.velocity;
    angular_velocity = angular_velocity + spin + kept.angular_velocity;
    velocity = clamp(velocity, vec2<f32>(-params.max_speed), vec2<f32>(params.max_speed));
    let speed = length(velocity);
    if speed > params.max_speed {
        velocity = velocity * (params.max_speed / speed);
    }
    angular_velocity = clamp(angular_velocity, -params.max_spin, params.max_spin);
    states[index].velocity = velocity;
    states[index].angular_velocity = angular_velocity;
    accumulators[index] = Accumulator(vec2<f32>(0.0), 0.0, 0u);
}
