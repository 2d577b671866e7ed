//! Marks of joints: lines, springs and signs. Twin on the GPU: `shaders/joints.wgsl`.

use glam::Vec2;

use super::marks::{Mark, MarkShape, sign_size};
use super::view::View;
use super::{Camera, DrawError, Layers, Scale, Style};
use drystone::low_level::math::rotate;
use drystone::low_level::scene::Compiled;
use drystone::low_level::types::{
    BROKEN, JOINT_DISABLED, JOINT_FIXED_A, JOINT_FIXED_B, JOINT_TYPE_SHIFT, JOINT_VACANT, JointData, JointRow,
    JointState, Pose, ROW_COUNT_MASK, WORLD_A,
};

// Values of JointKind, from 0 (src/scene/joint.rs).
const DISTANCE: u32 = 0;
const SPRING: u32 = 1;
const REVOLUTE: u32 = 2;
const PRISMATIC: u32 = 3;
const WHEEL: u32 = 4;
const WELD: u32 = 5;
const MOTOR: u32 = 6;
const MOUSE: u32 = 7;
const VELOCITY: u32 = 8;
const GEAR: u32 = 9;

const DISABLED_OPACITY: f32 = 0.35;
const ARM_OPACITY: f32 = 0.55;

/// Returns the marks of all joints in drawing order. Broken joints, and joints whose bodies do not exist, have none.
pub(super) fn marks(
    view: &View,
    joints: &[JointData],
    rows: &[JointRow],
    states: &[JointState],
    poses: &[Pose],
) -> Vec<Mark> {
    let mut marks = Vec::new();
    for (index, joint) in joints.iter().enumerate() {
        let is_broken = states.get(index).is_some_and(|state| state.status & BROKEN != 0);
        if joint.flags & JOINT_VACANT == 0 && !is_broken {
            add(view, joint, rows, poses, true, &mut marks);
        }
    }
    marks
}

/// A drawn joint near a place on the picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JointHit {
    /// Index of the joint in the tables of its world.
    pub place: usize,
    /// Distance from its line or its nearest sign, px; 0 on it.
    pub distance: f32,
    /// True on the sign of a hinge, slider, wheel, weld or motor, which shows where it holds its bodies.
    pub is_on_sign: bool,
}

/// Returns the joint that is drawn nearest to a pixel of the target, at most `reach` px away. Lines from bodies to
/// their anchors do not count: they are inside the bodies. Without `states` no joint counts as broken.
///
/// # Errors
/// [`DrawError::Camera`].
pub fn joint_near(
    camera: &Camera,
    layers: &Layers,
    compiled: &Compiled,
    states: &[JointState],
    poses: &[Pose],
    pixel: Vec2,
    reach: f32,
) -> Result<Option<JointHit>, DrawError> {
    let mut view = View::new(camera, &Style::default(), 0, 0)?;
    view.put_layers(layers, Some(Scale::of(compiled)));
    let at = pixel - camera.origin;
    let mut found: Option<JointHit> = None;
    let mut marks = Vec::new();
    for (place, joint) in compiled.joints.joints.iter().enumerate() {
        let is_broken = states.get(place).is_some_and(|state| state.status & BROKEN != 0);
        if joint.flags & JOINT_VACANT != 0 || is_broken {
            continue;
        }
        marks.clear();
        add(&view, joint, &compiled.joints.rows, poses, false, &mut marks);
        let kind = (joint.flags >> JOINT_TYPE_SHIFT) & 15;
        let has_sign = matches!(kind, REVOLUTE | PRISMATIC | WHEEL | WELD | MOTOR | VELOCITY | GEAR);
        for mark in &marks {
            let distance = mark.away(&view, at).max(0.0);
            let hit = JointHit { place, distance, is_on_sign: has_sign && mark.is_sign() && distance <= 0.0 };
            let is_nearer = |other: JointHit| {
                distance < other.distance || (distance == other.distance && hit.is_on_sign && !other.is_on_sign)
            };
            if distance <= reach && found.is_none_or(is_nearer) {
                found = Some(hit);
            }
        }
    }
    Ok(found)
}

fn add(view: &View, joint: &JointData, rows: &[JointRow], poses: &[Pose], with_arms: bool, marks: &mut Vec<Mark>) {
    let (Some(pose_a), Some(pose_b)) = (poses.get(joint.body_a as usize), poses.get(joint.body_b as usize)) else {
        return;
    };
    let kind = (joint.flags >> JOINT_TYPE_SHIFT) & 15;
    let has = |flag: u32| joint.flags & flag != 0;
    let camera = Vec2::from(view.center);
    // The camera is subtracted first: keeps float precision far from the origin.
    let from_camera = |pose: &Pose| pose.vector_from(camera);
    let to_pixel = |at: Vec2| 0.5 * Vec2::from(view.size) + Vec2::new(at.x, -at.y) * view.pixels_per_metre;
    let (turn_a, anchor_a) = if has(WORLD_A) {
        (Vec2::X, Vec2::from(joint.anchor_a) - camera)
    } else {
        let turn = Vec2::from(pose_a.rotation);
        (turn, from_camera(pose_a) + rotate(turn, joint.anchor_a.into()))
    };
    let anchor_b = from_camera(pose_b) + rotate(pose_b.rotation.into(), joint.anchor_b.into());
    let (a, b) = (to_pixel(anchor_a), to_pixel(anchor_b));
    let way = rotate(turn_a, joint.axis.into());
    let axis = Vec2::new(way.x, -way.y);

    let unit = view.unit;
    let size = sign_size(view);
    let [red, green, blue, _] = view.joint;
    let opacity = if has(JOINT_DISABLED) { DISABLED_OPACITY } else { 1.0 };
    // Where bodies are a few pixels wide, only the connection between the anchors is drawn.
    let detail = opacity * ((view.length - 2.0) / 6.0).clamp(0.0, 1.0);
    let pen = (0.8 * unit).min(0.15 * view.length + 0.25);
    let [color, sign, arm] = [opacity, detail, detail * ARM_OPACITY].map(|alpha| [red, green, blue, alpha]);
    let slides = kind == PRISMATIC || kind == WHEEL;
    let mut mark = |form, a, b, pens, color| marks.extend(Mark::new(view, form, a, b, pens, color));

    if kind == VELOCITY {
        // It holds no distance: its anchor on A means nothing.
        mark(MarkShape::Square, b, b + Vec2::ONE, [0.0, 0.9 * size], sign);
        return;
    }
    let first = joint.first_row as usize;
    let own = rows.get(first..first + (joint.flags & ROW_COUNT_MASK) as usize).unwrap_or_default();
    if let Some(points) = joint.ground_points(own) {
        // The rope.
        let [over_a, over_b] = points.map(|point| to_pixel(Vec2::from(point) - camera));
        for [from, to] in [[over_a, a], [over_b, b], [over_a, over_b]] {
            mark(MarkShape::Line, from, to, [1.4 * pen, 0.0], color);
        }
        mark(MarkShape::Ring, over_a, over_a, [0.8 * unit, size], sign);
        mark(MarkShape::Ring, over_b, over_b, [0.8 * unit, size], sign);
        return;
    }
    if with_arms && !has(JOINT_FIXED_A) {
        mark(MarkShape::Line, to_pixel(from_camera(pose_a)), a, [0.5 * unit, 0.0], arm);
    }
    if with_arms && !has(JOINT_FIXED_B) {
        mark(MarkShape::Line, to_pixel(from_camera(pose_b)), b, [0.5 * unit, 0.0], arm);
    }
    match kind {
        _ if slides => {
            // The rail, a little longer than the distance to B.
            let travel = (b - a).dot(axis);
            let over = (0.35 * view.length).max(2.0 * size);
            let start = a + axis * (travel.min(0.0) - over);
            mark(MarkShape::Line, start, a + axis * (travel.max(0.0) + over), [pen, 0.0], color);
        }
        SPRING => mark(MarkShape::Zigzag, a, b, [pen, (1.1 * size).min(0.2 * (b - a).length())], color),
        MOTOR | MOUSE | GEAR => mark(MarkShape::Dashes, a, b, [pen, 0.0], color),
        // For a hinge or a weld this line shows the position error.
        _ => mark(MarkShape::Line, a, b, [pen * if kind == DISTANCE { 1.4 } else { 1.0 }, 0.0], color),
    }
    match kind {
        REVOLUTE => mark(MarkShape::Ring, a, b, [0.8 * unit, size], sign),
        WELD => mark(MarkShape::Square, a, a + axis, [0.0, 0.75 * size], sign),
        MOTOR => mark(MarkShape::Square, a, a + Vec2::ONE, [0.0, 0.9 * size], sign),
        GEAR => mark(MarkShape::Ring, a, a, [0.8 * unit, 1.2 * size], sign),
        MOUSE => mark(MarkShape::Cross, a, a, [0.8 * unit, 1.4 * size], sign),
        _ => mark(MarkShape::Disc, a, a, [0.0, 0.55 * size], sign),
    }
    match kind {
        REVOLUTE | WELD => mark(MarkShape::Disc, b, b, [0.0, 0.35 * size], sign),
        PRISMATIC => mark(MarkShape::Frame, b, b + axis, [0.8 * unit, size], sign),
        WHEEL | GEAR => mark(MarkShape::Ring, b, b, [0.8 * unit, 1.2 * size], sign),
        _ => mark(MarkShape::Disc, b, b, [0.0, 0.55 * size], sign),
    }
    if has(WORLD_A) && kind != MOUSE {
        // An anchor in the world is drawn in a frame.
        mark(MarkShape::Frame, a, a, [0.6 * unit, 1.6 * size], sign);
    }
}
