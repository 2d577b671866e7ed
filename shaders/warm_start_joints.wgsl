// warm_start_joints: src/stages/warm_start_joints.rs. Sums up, for every body, the velocity change due to the impulses
// stored in its joints. Built on joint_sweep.wgsl.

//#import types
//#import math
//#import joint_sweep

fn warm_start_joint(joint: u32) {
    accumulate(joint, stance_now(joint), 1.0);
}

fn warm_start_tree(tree: u32) {
    if !tree_is_at_rest(tree) {
        weigh_tree(tree);
        add_up_tree(tree, 1.0);
    }
}

@compute @workgroup_size(LANES)
fn warm_start_joints(
    @builtin(workgroup_id) workgroup: vec3<u32>,
    @builtin(num_workgroups) workgroups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    wide_joints(workgroup, workgroups, lane);
}

@compute @workgroup_size(LANES)
fn warm_start_joints_tail(@builtin(local_invocation_index) lane: u32) {
    tail_joints(lane, LANES, sweep.first_color, sweep.end_color);
}

fn each_joint(joint: u32) {
    warm_start_joint(joint);
}

fn each_tree(tree: u32) {
    warm_start_tree(tree);
}
