// warm_start: src/stages/warm_start.rs. Over sweep.wgsl and contact.wgsl.

fn each_constraint(slot: u32) {
    accumulate(slot);
}

@compute @workgroup_size(LANES)
fn warm_start(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    wide(workgroup, workgroups, lane);
}

@compute @workgroup_size(TAIL_LANES)
fn warm_start_tail(@builtin(local_invocation_index) lane: u32) {
    tail(lane);
}
