//! **collide**: computes the manifold of every pair: normal, points, separations. Points that persist keep their
//! impulses. Box2D: `b2UpdateContact`.
//!
//! Reads shapes, vertices, poses, motions and manifolds_previous; reads and writes contacts; writes manifolds.
//! Visits one contact after the other. A contact that [`match_contacts`](super::match_contacts) found starts with the
//! manifold, impulses and colour of the previous step.
//!
//! Boxes: separating axes, then clipping. The face with the largest separation is the reference face, and the most
//! antiparallel face of the other box is clipped to its width. Ties go to the static or kinematic box, to box A and to
//! x, by a margin, so that a fast body slides along the floor and not along its own tilt, and aligned boxes do not flip
//! from step to step or between CPU and GPU. Boxes that are apart and nearest at two corners get one
//! point, with the normal from corner to corner, as in Box2D. Polygons, capsules, segments, half planes and rounded
//! shapes: `collide/hull.rs`.
//!
//! **Looking ahead.** A fast body that meets a fixed shape within the step gets a contact already, with the points that
//! it will have there and the gap that is left; the sweeps stop it at the surface in the substep in which it arrives.
//!
//! **Ghost collisions.** A body that slides over a row of boxes that lie flush is nearest to the side of the next one,
//! and would stop there. A pair that moves along a face, and overlaps there by no more than the slop, has points on
//! that face only (`collide/ahead.rs`): steps of up to the slop are no obstacle, and a corner that rests on another by
//! no more than the slop slips off. Links of chains know their neighbours, and do it exactly (`collide/hull.rs`).
//!
//! **Recycling.** While a pair hardly moves, its manifold is kept and only the separations are updated, from the
//! anchors of the step that computed it. Aligned stacks stand because of this: points that wander between features lose
//! their impulses. The idea is Box2D's (Erin Catto, `b2CollideTask`), which asks to be cited. The motion of B is
//! measured in A's frame; the surface of a half plane may be at any distance from its body's centre, so there the
//! motion of A is measured in B's. Discs have their manifold computed in each step; where two of them approach each
//! other, for the time at which they touch.

mod ahead;
mod boxes;
pub(crate) mod hull;
pub mod rule;

use glam::Vec2;

use ahead::{Passing, is_swept, lowest, touch_ahead};
use boxes::{box_circle, boxes};
use hull::{Hull, hull_circle, hull_half_plane, hulls};

pub use crate::constants::FACE_PREFERENCE;
use crate::constants::{GAP, RECYCLE_COS};
use crate::math::{inv_mul_rotation, inv_rotate, larger, mul_rotation, rotate, smaller, touch_time};
use crate::scene::Compiled;
use crate::tables::Tables;
use crate::types::{
    BOX, BodyMotion, CACHED, CIRCLE, COLOR_COUNT, Contact, ContactPoint, FIXED_A, FIXED_B, FIXED_SHAPE, GEOMETRY_MASK,
    HALF_PLANE, HUB_A, HUB_B, IMPACT, Manifold, NONE, ONE_WAY_SHAPE, OVERLAPS, PAST_COLOR_SHIFT, POINT_COUNT_MASK,
    Params, Pose, RECYCLE, RECYCLED, SENSOR, SENSOR_B, ShapeData, TOUCHED,
};

/// Fills `manifolds`. Marks contacts that kept their manifold as [`RECYCLED`], and returns their number.
pub fn collide(compiled: &Compiled, tables: &mut Tables) -> u32 {
    let Compiled { params, shapes, vertices, .. } = compiled;
    let Tables { poses, motions, manifolds_previous, contacts, manifolds, .. } = tables;
    let mut recycled = 0;
    for (contact, manifold) in contacts.iter_mut().zip(manifolds) {
        let kept = collide_contact(params, shapes, vertices, poses, motions, manifolds_previous, contact, manifold);
        recycled += u32::from(kept);
    }
    recycled
}

/// Computes the manifold of one contact. Returns true if it was recycled.
#[inline]
pub fn collide_contact(
    params: &Params,
    shapes: &[ShapeData],
    vertices: &[[f32; 2]],
    poses: &[Pose],
    motions: &[BodyMotion],
    manifolds_previous: &[Manifold],
    contact: &mut Contact,
    to: &mut Manifold,
) -> bool {
    let (a, b) = (contact.body_a as usize, contact.body_b as usize);
    let (pose_a, pose_b) = (&poses[a], &poses[b]);
    let old = manifolds_previous.get(contact.color as usize);
    contact.color = NONE;
    if old.is_some() {
        let color = contact.flags >> PAST_COLOR_SHIFT;
        contact.color = if color < COLOR_COUNT { color } else { NONE };
    }
    contact.flags &= (1 << PAST_COLOR_SHIFT) - 1;
    let on_plane = contact.shape_b < params.half_plane_count;
    let (motion_a, motion_b) = (&motions[a], &motions[b]);
    let extents = [motion_a.extent, motion_b.extent];
    // The normal of a disc turns as soon as the pair moves.
    let is_round = |shape: u32| shapes[shape as usize].kind & GEOMETRY_MASK == CIRCLE;
    if params.switches & RECYCLE != 0
        && !(is_round(contact.shape_a) || is_round(contact.shape_b))
        && contact.flags & (CACHED | SENSOR | IMPACT) == CACHED
        && extents.iter().all(|&extent| extent >= 0.0)
        && let Some(old) = old
        && recycle(params, extents, pose_a, pose_b, on_plane, old, contact, to)
    {
        return true;
    }
    let pair = [contact.shape_a, contact.shape_b].map(|shape| &shapes[shape as usize]);
    let TouchInStep { mut touch, ahead, overlaps } =
        find(params, pair, vertices, [pose_a, pose_b], [motion_a, motion_b], contact.flags);
    let was_apart = was_apart(contact.flags);
    turn_discs(&mut touch, pair, [pose_a, pose_b], [motion_a, motion_b], was_apart, GAP * params.linear_slop);
    renew(contact, to, old, &touch, pose_a, pose_b, on_plane);
    if let Some(ahead) = ahead {
        contact.flags |= IMPACT;
        for point in &mut to.points[..touch.count as usize] {
            let separation = point.base_separation - ahead.dot(touch.normal);
            *point = ContactPoint { separation, normal_impulse: 0.0, tangent_impulse: 0.0, ..*point };
        }
    }
    contact.flags |= if overlaps { OVERLAPS } else { 0 };
    false
}

/// Contact points that [`find`] finds.
struct TouchInStep {
    touch: Touch,
    /// For points of the time at which the pair meets: the motion of B relative to A until then, m.
    ahead: Option<Vec2>,
    /// True if one of the shapes is a sensor and they overlap.
    overlaps: bool,
}

/// Finds the contact points of a pair, now or where it meets in the step. A sensor has none.
#[inline]
fn find(
    params: &Params,
    [shape_a, shape_b]: [&ShapeData; 2],
    vertices: &[[f32; 2]],
    [pose_a, pose_b]: [&Pose; 2],
    motions: [&BodyMotion; 2],
    flags: u32,
) -> TouchInStep {
    let (distance, slop) = (params.speculative_distance, params.linear_slop);
    let sensed = flags & SENSOR != 0;
    let between = pose_a.vector_to(pose_b);
    let passing = || Passing::new(flags, [shape_a, shape_b], motions, between);
    let may_pass = || (!sensed).then(passing);
    let mut touch = manifold_in_motion(shape_a, shape_b, vertices, pose_a, pose_b, distance, slop, may_pass);
    if sensed {
        let overlaps = lowest(&touch) <= 0.0;
        return TouchInStep { touch: Touch::default(), ahead: None, overlaps };
    }
    let is_one_way = (shape_a.kind | shape_b.kind) & ONE_WAY_SHAPE != 0;
    let from_inside = is_one_way && flags & POINT_COUNT_MASK == 0 && lowest(&touch) < -slop;
    if from_inside {
        touch = Touch::default();
    }
    let may_land = was_apart(flags) && flags & (FIXED_A | FIXED_B) != 0 && !from_inside && !is_swept(motions);
    let mut ahead = None;
    if may_land && !touch.passes {
        if touch.count == 0 {
            let met = touch_ahead(params, [shape_a, shape_b], vertices, [pose_a, pose_b], passing());
            (touch, ahead) = met.map_or((touch, None), |(touch, until)| (touch, Some(until)));
        } else if lowest(&touch) > 0.0 && passing().closing(touch.normal) > distance {
            ahead = Some(Vec2::ZERO);
        }
    }
    TouchInStep { touch, ahead, overlaps: false }
}

/// Returns true if the pair had no points in the step before, or those of an impact.
#[inline]
fn was_apart(flags: u32) -> bool {
    flags & POINT_COUNT_MASK == 0 || flags & IMPACT != 0
}

/// Gives two discs that approach each other the normal of the time at which they touch if they move as at the start of
/// the step, or are nearest: in this step, or in the one before if they were apart. Motions of up to `least`, m, and
/// other shapes change nothing.
#[inline]
fn turn_discs(
    touch: &mut Touch,
    shapes: [&ShapeData; 2],
    [pose_a, pose_b]: [&Pose; 2],
    [motion_a, motion_b]: [&BodyMotion; 2],
    was_apart: bool,
    least: f32,
) {
    let [radius_a, radius_b] = shapes.map(|shape| shape.radius);
    let between = pose_a.vector_to(pose_b);
    let moved = Vec2::from(motion_b.moved) - Vec2::from(motion_a.moved);
    let radii = radius_a + radius_b;
    let may_turn = touch.count > 0 && (was_apart || touch.points[0].separation > 0.0);
    if !may_turn || !shapes.iter().all(|shape| shape.is_centred_disc()) || moved.dot(moved) <= least * least {
        return;
    }
    let Some((time, _)) = touch_time(between, moved, radii) else { return };
    let then = between + moved * larger(smaller(time, 1.0), -1.0);
    // Deep in each other they have no direction to trust; the present one is as good.
    if then.length() <= 0.5 * radii {
        return;
    }
    touch.normal = then / then.length();
    let separation = between.dot(touch.normal) - radii;
    let anchor_a = touch.normal * (radius_a + 0.5 * separation);
    touch.points[0] = TouchPoint { anchor_a, anchor_b: anchor_a - between, separation, ..touch.points[0] };
}

/// Motion of a pair since its manifold was computed.
#[derive(Debug)]
pub struct Drift {
    turn_a: Vec2,
    turn_b: Vec2,
    /// Vector from A to B, m.
    pub between: Vec2,
    /// Motion of B in A's frame, or of A in the frame of a half plane, m.
    pub moved: Vec2,
    /// Motion of the farthest points by rotation, m.
    pub turned: f32,
    /// Bound on the sum of `moved` and `turned` up to which a manifold is kept, m.
    pub limit: f32,
}

impl Drift {
    /// Computes the motion. `extents` ([`BodyMotion::extent`]) must not be negative (slow bodies).
    #[inline]
    #[must_use]
    pub fn new(
        params: &Params,
        extents: [f32; 2],
        pose_a: &Pose,
        pose_b: &Pose,
        on_plane: bool,
        flags: u32,
        manifold: &Manifold,
    ) -> Self {
        let (q_a, q_b) = (Vec2::from(pose_a.rotation), Vec2::from(pose_b.rotation));
        let (cached_a, cached_b) = (Vec2::from(manifold.cached_rotation_a), Vec2::from(manifold.cached_rotation_b));
        let turn_a = inv_mul_rotation(cached_a, q_a);
        let turn_b = inv_mul_rotation(cached_b, q_b);
        let between = pose_a.vector_to(pose_b);
        let moved = inv_rotate(if on_plane { q_b } else { q_a }, between) - Vec2::from(manifold.cached_position);
        let extent_b = if on_plane { 0.0 } else { extents[1] };
        // Uses the sine of the rotation of B relative to A.
        let turned = extents[0].max(extent_b) * inv_mul_rotation(turn_a, turn_b).y.abs();
        let touches = flags & POINT_COUNT_MASK > 0;
        let limit = if touches { params.recycle_distance } else { params.recycle_distance_apart };
        Self { turn_a, turn_b, between, moved, turned, limit }
    }
}

/// Takes over the old manifold, updates its separations and returns true, unless the pair moved too far.
#[inline]
fn recycle(
    params: &Params,
    extents: [f32; 2],
    pose_a: &Pose,
    pose_b: &Pose,
    on_plane: bool,
    old: &Manifold,
    contact: &mut Contact,
    manifold: &mut Manifold,
) -> bool {
    let Drift { turn_a, turn_b, between, moved, turned, limit } =
        Drift::new(params, extents, pose_a, pose_b, on_plane, contact.flags, old);
    if turn_a.x <= RECYCLE_COS || turn_b.x <= RECYCLE_COS || moved.length() + turned >= limit {
        return false;
    }
    *manifold = *old;
    let count = contact.flags & POINT_COUNT_MASK;
    let normal = Vec2::from(old.normal);
    for point in &mut manifold.points[..count as usize] {
        let (anchor_a, anchor_b) = (Vec2::from(point.anchor_a), Vec2::from(point.anchor_b));
        let (r_a, r_b) = (rotate(turn_a, anchor_a), rotate(turn_b, anchor_b));
        // The long way first, there and back: the rest is short, and keeps its digits 100 m from the centre of a
        // ground.
        let long_a = anchor_a.length_squared() > anchor_b.length_squared();
        let apart = if long_a { between - r_a + r_b } else { between + r_b - r_a };
        point.separation = point.base_separation + apart.dot(normal);
    }
    contact.flags |= RECYCLED;
    true
}

/// Stores a new manifold. Points with the same feature keep their impulses, except those of impacts, and a pair that
/// still touches its preload.
#[inline]
fn renew(
    contact: &mut Contact,
    manifold: &mut Manifold,
    old: Option<&Manifold>,
    touch: &Touch,
    pose_a: &Pose,
    pose_b: &Pose,
    on_plane: bool,
) {
    let old_features = contact.features;
    let old_count = (contact.flags & POINT_COUNT_MASK) as usize;
    let kept_count = if contact.flags & IMPACT == 0 { old_count } else { 0 };
    let old_points = old.map_or(&[][..], |old| &old.points[..kept_count]);
    contact.features = 0;
    let mut points = [ContactPoint::default(); 2];
    let old_preloads = old.filter(|_| old_count > 0 && touch.count > 0).map_or([0.0; 2], |old| old.preloads);
    let mean = if old_count > 1 { 0.5 * (old_preloads[0] + old_preloads[1]) } else { old_preloads[0] };
    let mut preloads = [mean; 2];
    for (index, (point, fresh)) in touch.points[..touch.count as usize].iter().zip(&mut points).enumerate() {
        contact.features |= point.feature << (16 * index);
        *fresh = ContactPoint {
            anchor_a: point.anchor_a.into(),
            anchor_b: point.anchor_b.into(),
            base_separation: point.separation,
            separation: point.separation,
            ..ContactPoint::default()
        };
        for (other, old) in old_points.iter().enumerate() {
            if old_features >> (16 * other) & 0xffff == point.feature {
                fresh.normal_impulse = old.normal_impulse;
                fresh.tangent_impulse = old.tangent_impulse;
            }
        }
        for (other, &preload) in old_preloads[..old_count].iter().enumerate() {
            if old_features >> (16 * other) & 0xffff == point.feature {
                preloads[index] = preload;
            }
        }
    }
    let kept = FIXED_A | FIXED_B | HUB_A | HUB_B | SENSOR | SENSOR_B | TOUCHED;
    // A pair that passes by is not kept: the next step may find points.
    let cached = if touch.passes { 0 } else { CACHED };
    contact.flags = contact.flags & kept | cached | touch.count;
    if touch.count == 0 || old_count == 0 {
        contact.rolling_impulse = 0.0;
    }
    if touch.count == 0 {
        contact.color = NONE;
    }
    let between = pose_a.vector_to(pose_b);
    let frame = if on_plane { pose_b.rotation } else { pose_a.rotation };
    *manifold = Manifold {
        normal: touch.normal.into(),
        cached_rotation_a: pose_a.rotation,
        cached_rotation_b: pose_b.rotation,
        cached_position: inv_rotate(frame.into(), between).into(),
        points,
        preloads,
        pad: [0; 2],
    };
}

/// Contact points of two shapes, from which a [`Manifold`] is made.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Touch {
    /// Unit normal from A to B, world axes.
    pub normal: Vec2,
    /// Number of points, 0 to 2.
    pub count: u32,
    /// Points, of which the first `count` are valid.
    pub points: [TouchPoint; 2],
    /// True if the shapes are near and do not meet in the step, as they move along a face of one. There are no points.
    pub passes: bool,
}

/// Contact point of a [`Touch`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TouchPoint {
    /// Position relative to A's centre of mass, world axes, m.
    pub anchor_a: Vec2,
    /// Position relative to B's centre of mass, world axes, m.
    pub anchor_b: Vec2,
    /// Separation, m; negative for penetration.
    pub separation: f32,
    /// Feature id: the vertices of A and B that made the point.
    pub feature: u32,
}

/// Manifold relative to the centre of shape A.
#[derive(Clone, Copy, Default)]
struct Local {
    normal: Vec2,
    count: u32,
    points: [Vec2; 2],
    separations: [f32; 2],
    features: [u32; 2],
    /// True if the normal may lie between those of two faces.
    at_corner: bool,
    passes: bool,
}

impl Local {
    /// Returns a manifold of one point without a feature.
    #[inline]
    fn of_point(normal: Vec2, point: Vec2, separation: f32) -> Self {
        Self { normal, count: 1, points: [point, Vec2::ZERO], separations: [separation, 0.0], ..Self::default() }
    }
}

/// Returns the contact points of two shapes at two poses; none if they are further apart than `speculative_distance`. A
/// half plane can only be B.
#[inline]
#[must_use]
pub fn manifold(
    a: &ShapeData,
    b: &ShapeData,
    vertices: &[[f32; 2]],
    pose_a: &Pose,
    pose_b: &Pose,
    speculative_distance: f32,
    linear_slop: f32,
) -> Touch {
    manifold_in_motion(a, b, vertices, pose_a, pose_b, speculative_distance, linear_slop, || None)
}

/// As [`manifold`], and none if the pair passes by a face.
#[inline]
fn manifold_in_motion<'a>(
    a: &ShapeData,
    b: &ShapeData,
    vertices: &[[f32; 2]],
    pose_a: &Pose,
    pose_b: &Pose,
    speculative_distance: f32,
    linear_slop: f32,
    passing: impl FnOnce() -> Option<Passing<'a>>,
) -> Touch {
    let (q_a, q_b) = (Vec2::from(pose_a.rotation), Vec2::from(pose_b.rotation));
    // All positions are relative to A's centre: no precision is lost far from the origin.
    let between = pose_a.vector_to(pose_b);
    let center_a = rotate(q_a, a.offset.into());
    let center_b = rotate(q_b, b.offset.into());
    // Nor far from a body's centre: the long offset of a tile of a wide ground is subtracted first.
    let tile_a = Vec2::from(a.offset).length_squared() > Vec2::from(b.offset).length_squared();
    let d = if tile_a { between - center_a + center_b } else { between + center_b - center_a };
    let turn_a = mul_rotation(q_a, a.rotation.into());
    let turn_b = mul_rotation(q_b, b.rotation.into());
    let b_first = a.kind & FIXED_SHAPE == 0 && b.kind & FIXED_SHAPE != 0;
    let local = match (a.kind & GEOMETRY_MASK, b.kind & GEOMETRY_MASK) {
        (CIRCLE, CIRCLE) => circles(a.radius, b.radius, d, speculative_distance),
        (BOX, CIRCLE) if a.radius == 0.0 => {
            box_circle(a.half.into(), turn_a, b.radius, d, speculative_distance, linear_slop, passing())
        }
        (CIRCLE, BOX) if b.radius == 0.0 => {
            let back = passing().map(Passing::reversed);
            flip(box_circle(b.half.into(), turn_b, a.radius, -d, speculative_distance, linear_slop, back), d)
        }
        (BOX, BOX) if a.radius == 0.0 && b.radius == 0.0 => {
            let halves = [a.half.into(), b.half.into()];
            boxes(halves, [turn_a, turn_b], d, speculative_distance, linear_slop, b_first, passing())
        }
        (_, HALF_PLANE) => {
            let normal = Vec2::new(-turn_b.y, turn_b.x);
            hull_half_plane(&Hull::new(a, vertices), turn_a, normal, d, speculative_distance)
        }
        (_, CIRCLE) => {
            hull_circle(&Hull::new(a, vertices), turn_a, b.radius, d, speculative_distance, linear_slop, passing())
        }
        (CIRCLE, _) => {
            let (hull, back) = (Hull::new(b, vertices), passing().map(Passing::reversed));
            flip(hull_circle(&hull, turn_b, a.radius, -d, speculative_distance, linear_slop, back), d)
        }
        _ => {
            let (a, b) = (Hull::new(a, vertices), Hull::new(b, vertices));
            hulls([&a, &b], [turn_a, turn_b], d, speculative_distance, linear_slop, b_first, passing())
        }
    };
    if local.passes {
        return Touch { passes: true, ..Touch::default() };
    }
    let mut touch = Touch { normal: local.normal, count: local.count, ..Touch::default() };
    for index in 0..local.count as usize {
        let anchor_a = center_a + local.points[index];
        touch.points[index] = TouchPoint {
            anchor_a,
            anchor_b: anchor_a - between,
            separation: local.separations[index],
            feature: local.features[index],
        };
    }
    touch
}

/// Returns a manifold of one point with A and B exchanged; `d` is from the new A to the new B.
fn flip(local: Local, d: Vec2) -> Local {
    Local { normal: -local.normal, points: [local.points[0] + d, Vec2::ZERO], ..local }
}

/// Returns the manifold of two circles, `d` from the first to the second.
fn circles(radius_a: f32, radius_b: f32, d: Vec2, speculative_distance: f32) -> Local {
    let distance = d.length();
    let separation = distance - radius_a - radius_b;
    if separation > speculative_distance {
        return Local::default();
    }
    // Concentric circles have no direction; up is as good as any and the same on all devices.
    let normal = if distance > 1e-12 { d / distance } else { Vec2::new(0.0, 1.0) };
    Local::of_point(normal, normal * (radius_a + 0.5 * separation), separation)
}
