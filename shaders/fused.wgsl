// Fused kernel: all sweeps of a step in one workgroup, for worlds so small that a dispatch takes longer to start than
// to run. It goes through the plan (src/step.rs) as a list, and calls for each line the function that the stage's own
// kernel calls. It is no stage and has no twin: its result equals that of the stages' kernels to the bit
// (tests/fused.rs).
//
// A barrier ends each colour and each pass over the bodies. All loops are strided: counts larger than expected cost
// time and nothing else.

//#import types
//#import math
//#import sweep
//#import impact
//#functions joint_sweep
//#functions warm_start
//#functions warm_start_joints
//#functions integrate_velocities
//#functions solve_joints
//#functions solve
//#functions integrate_positions
//#functions project_joints
//#functions project
//#functions restitution

@group(0) @binding(7) var<storage, read> bodies: array<BodyData>;
@group(0) @binding(8) var<storage, read> poses: array<Pose>;
@group(0) @binding(9) var<storage, read> joint_frames: array<JointFrame>;
@group(0) @binding(10) var<storage, read> joint_rows: array<JointRow>;
@group(0) @binding(11) var<storage, read> joint_starts: array<u32>;
@group(0) @binding(12) var<storage, read_write> joint_impulses: array<vec2<f32>>;
@group(0) @binding(13) var<storage, read_write> joint_trees: array<TreeRow>;
@group(0) @binding(14) var<uniform> program: Program;

const NARROW_LANES: u32 = 8u;
const WIDE_LANES: u32 = 256u;

// Line of the list: OP_SOLVE, …, and the sweep's flags. The list ends with OP_END.
struct Program {
    lines: array<vec4<u32>, MAX_OPS>,
}

// Index of the current line.
var<private> stage: u32;
var<private> op_flags: u32;

fn each_constraint(slot: u32) {
    switch stage {
        case OP_WARM_START: {
            warm_start_contact(slot);
        }
        case OP_SOLVE: {
            sweep_contact(slot, op_flags);
        }
        case OP_PROJECT: {
            project_contact(slot);
        }
        case OP_RESTITUTION: {
            bounce_contact(slot);
        }
        default: {
        }
    }
}

fn each_joint(joint: u32) {
    switch stage {
        case OP_WARM_START_JOINTS: {
            warm_start_joint(joint);
        }
        case OP_SOLVE_JOINTS: {
            solve_joint(joint, op_flags);
        }
        case OP_PROJECT_JOINTS: {
            project_joint(joint);
        }
        default: {
        }
    }
}

fn each_tree(tree: u32) {
    switch stage {
        case OP_WARM_START_JOINTS: {
            warm_start_tree(tree);
        }
        case OP_SOLVE_JOINTS: {
            solve_tree(tree, op_flags);
        }
        case OP_PROJECT_JOINTS: {
            project_tree(tree);
        }
        default: {
        }
    }
}

fn each_body(lane: u32, lanes: u32) {
    storageBarrier();
    for (var index = lane; index < params.body_count; index += lanes) {
        if stage == OP_INTEGRATE_VELOCITIES {
            integrate_velocity(index);
        } else {
            integrate_position(index);
        }
    }
}

fn is_of_bodies(line: u32) -> bool {
    return line == OP_INTEGRATE_VELOCITIES || line == OP_INTEGRATE_POSITIONS;
}

fn is_of_joints(line: u32) -> bool {
    return line == OP_WARM_START_JOINTS || line == OP_SOLVE_JOINTS || line == OP_PROJECT_JOINTS;
}

fn without_joints(lane: u32, lanes: u32) {
    for (var at = 0u; program.lines[at].x != OP_END; at += 1u) {
        stage = program.lines[at].x;
        op_flags = program.lines[at].y;
        if is_of_bodies(program.lines[at].x) {
            each_body(lane, lanes);
        } else {
            tail(lane, lanes, 0u, COLOR_COUNT, false);
        }
    }
}

fn with_joints(lane: u32, lanes: u32) {
    for (var at = 0u; program.lines[at].x != OP_END; at += 1u) {
        stage = program.lines[at].x;
        op_flags = program.lines[at].y;
        if is_of_bodies(program.lines[at].x) {
            each_body(lane, lanes);
        } else if is_of_joints(program.lines[at].x) {
            tail_joints(lane, lanes, 0u, JOINT_COLORS + 1u);
        } else {
            tail(lane, lanes, 0u, COLOR_COUNT, false);
        }
    }
}

@compute @workgroup_size(NARROW_LANES)
fn fused_narrow(@builtin(local_invocation_index) lane: u32) {
    without_joints(lane, NARROW_LANES);
}

@compute @workgroup_size(LANES)
fn fused(@builtin(local_invocation_index) lane: u32) {
    without_joints(lane, LANES);
}

@compute @workgroup_size(WIDE_LANES)
fn fused_wide(@builtin(local_invocation_index) lane: u32) {
    without_joints(lane, WIDE_LANES);
}

@compute @workgroup_size(NARROW_LANES)
fn fused_joints_narrow(@builtin(local_invocation_index) lane: u32) {
    with_joints(lane, NARROW_LANES);
}

@compute @workgroup_size(LANES)
fn fused_joints(@builtin(local_invocation_index) lane: u32) {
    with_joints(lane, LANES);
}

@compute @workgroup_size(WIDE_LANES)
fn fused_joints_wide(@builtin(local_invocation_index) lane: u32) {
    with_joints(lane, WIDE_LANES);
}
