// World positions of a joint's two anchors. Twin on the CPU: src/joints.rs.

//#import types
//#import pose
//#import math
//#import draw/view

struct Anchors {
    // Relative to the camera, m: keeps float precision far from the origin.
    a: vec2<f32>,
    b: vec2<f32>,
    // Rotation of joint frame A; the joint's axis is given in that frame.
    turn_a: vec2<f32>,
}

fn joint_anchors(joint: JointData, pose_a: Pose, pose_b: Pose) -> Anchors {
    let anchor_b = vector_from(view.center, pose_b) + rotate(pose_b.rotation, joint.anchor_b);
    if (joint.flags & WORLD_A) != 0u {
        return Anchors(joint.anchor_a - view.center, anchor_b, vec2<f32>(1.0, 0.0));
    }
    let anchor_a = vector_from(view.center, pose_a) + rotate(pose_a.rotation, joint.anchor_a);
    return Anchors(anchor_a, anchor_b, pose_a.rotation);
}
