// integrate_velocities: src/stages/integrate_velocities.rs. Applies gravity, forces, fields and damping over one
// substep, then the warm-start impulses.

//#import types
//#import math
//#import pose
//#import mass_scale
//#import constants

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> bodies: array<BodyData>;
@group(0) @binding(2) var<storage, read> poses: array<Pose>;
@group(0) @binding(3) var<storage, read_write> states: array<BodyState>;
@group(0) @binding(4) var<storage, read_write> accumulators: array<Accumulator>;

fn integrate_velocity(index: u32) {
    if bodies[index].kind != DYNAMIC || (states[index].status & (QUARANTINED | ASLEEP)) != 0u {
        return;
    }
    let before = states[index].velocity;
    let spin_before = states[index].angular_velocity;
    let warm = (params.switches & WARM_START) != 0u;
    var kept_velocity = vec2<f32>(0.0);
    var kept_spin = 0.0;
    if warm {
        let bound = vec2<f32>(MAX_SUM);
        kept_velocity = min(max(accumulators[index].velocity + before, -bound), bound);
        kept_spin = min(max(accumulators[index].angular_velocity + spin_before, -MAX_SUM), MAX_SUM);
    }
    let inv_mass = bodies[index].inv_mass;
    let force = bodies[index].force;
    var torque = bodies[index].torque;
    // Most bodies have no force, so that their rotation is not needed.
    if force.x != 0.0 || force.y != 0.0 {
        let turn = mul_rotation(states[index].delta_rotation, poses[index].rotation);
        torque += cross_2d(rotate(turn, bodies[index].force_point), force);
    }
    var acceleration = params.gravity * bodies[index].gravity_scale + force * inv_mass;
    for (var field = 0u; field < params.field_count; field += 1u) {
        let away = vector_from(params.fields[field].position, poses[index]) + states[index].delta_position;
        let distance = length(away);
        if distance > params.fields[field].core {
            acceleration += -away * ((params.fields[field].acceleration + params.fields[field].force * inv_mass) / distance);
        }
    }
    // The weight is that of the true mass.
    let share = mass_share(states[index].status);
    let push = acceleration * params.h * share;
    let spin = params.h * bodies[index].inv_inertia * torque * share;
    var velocity = before * (1.0 / (1.0 + params.h * bodies[index].linear_damping));
    var angular_velocity = spin_before * (1.0 / (1.0 + params.h * bodies[index].angular_damping));
    velocity = velocity + push + kept_velocity;
    angular_velocity = angular_velocity + spin + kept_spin;
    velocity = clamp(velocity, vec2<f32>(-params.max_speed), vec2<f32>(params.max_speed));
    let speed = length(velocity);
    if speed > params.max_speed {
        velocity = velocity * (params.max_speed / speed);
    }
    let is_disc = bodies[index].extent == bodies[index].min_extent;
    let max_spin = select(params.max_spin, params.max_disc_spin, is_disc);
    angular_velocity = clamp(angular_velocity, -max_spin, max_spin);
    states[index].velocity = velocity;
    states[index].angular_velocity = angular_velocity;
    if warm {
        accumulators[index] = Accumulator(kept_velocity - velocity, kept_spin - angular_velocity, accumulators[index].asked_mass);
    }
}

@compute @workgroup_size(LANES)
fn integrate_velocities(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let index = flat_index(workgroup, workgroups, LANES, lane);
    if index < params.body_count {
        integrate_velocity(index);
    }
}
