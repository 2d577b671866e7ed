// The rope of a pulley (twin: src/stages/solve_joints.rs).

//#import types
//#import constants

fn is_pulley(flags: u32) -> bool {
    return ((flags >> JOINT_TYPE_SHIFT) & 15u) == JOINT_PULLEY;
}

// Returns the direction of a rope from a ground point, 0 if it is too short to have one.
fn rope(line: vec2<f32>) -> vec2<f32> {
    let size = length(line);
    if size > MIN_LENGTH {
        return line / size;
    }
    return vec2<f32>(0.0);
}
