//! **collide**: computes the manifold of every pair: normal, points, separations. Points that persist keep their
//! impulses. Box2D: `b2UpdateContact`.
//!
//! Reads shapes, vertices, poses, motions and manifolds_previous; reads and writes contacts; writes manifolds.
//! Visits one contact after the other. A contact that [`match_contacts`](super::match_contacts) found starts with the
//! manifold, impulses and colour of the previous step.
//!
//! Boxes: separating axes, then clipping. The face with the largest separation is the reference face, and the most
//! antiparallel face of the other box is clipped to its width. Ties go to box A and to x, by a margin, so that aligned
//! boxes do not flip from step to step or between CPU and GPU. Boxes that are apart and nearest at two corners get one
//! point, with the normal from corner to corner, as in Box2D. Polygons, capsules, segments, half planes and rounded
//! shapes: `collide/hull.rs`.
//!
//! **Looking ahead.** A fast body that meets a fixed shape within the step gets a contact already, with the points that
//! it will have there and the gap that is left; the sweeps stop it at the surface in the substep in which it arrives.
//!
//! **Recycling.** While a pair hardly moves, its manifold is kept and only the separations are updated, from the
//! anchors of the step that computed it. Aligned stacks stand because of this: points that wander between features lose
//! their impulses. The idea is Box2D's (Erin Catto, `b2CollideTask`), which asks to be cited. The motion of B is
//! measured in A's frame; the surface of a half plane may be at any distance from its body's centre, so there the
//! motion of A is measured in B's. Discs have their manifold computed in each step; where two of them approach each
//! other, for the time at which they touch.

pub(crate) mod hull;

use glam::Vec2;

use hull::{Hull, hull_circle, hull_half_plane, hulls};

pub use crate::constants::FACE_PREFERENCE;
use crate::constants::{GAP, RECYCLE_COS, ROUNDING};
use crate::math::{cross_scalar, inv_mul_rotation, inv_rotate, larger, mul_rotation, rotate, smaller, touch_time};
use crate::scene::Compiled;
use crate::tables::Tables;
use crate::types::{
    BOX, BodyMotion, CACHED, CIRCLE, COLOR_COUNT, Contact, ContactPoint, FIXED_A, FIXED_B, GEOMETRY_MASK, HALF_PLANE,
    HUB_A, HUB_B, IMPACT, Manifold, NONE, ONE_WAY_SHAPE, OVERLAPS, PAST_COLOR_SHIFT, POINT_COUNT_MASK, Params, Pose,
    RECYCLE, RECYCLED, SENSOR, ShapeData, TOUCHED,
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
    let (shape_a, shape_b) = (&shapes[contact.shape_a as usize], &shapes[contact.shape_b as usize]);
    let (distance, slop) = (params.speculative_distance, params.linear_slop);
    let mut touch = manifold(shape_a, shape_b, vertices, pose_a, pose_b, distance, slop);
    let sensed = contact.flags & SENSOR != 0;
    let mut ahead = None;
    let was_apart = contact.flags & POINT_COUNT_MASK == 0 || contact.flags & IMPACT != 0;
    let is_one_way = (shape_a.kind | shape_b.kind) & ONE_WAY_SHAPE != 0;
    let from_inside = is_one_way && contact.flags & POINT_COUNT_MASK == 0 && lowest(&touch) < -slop;
    if from_inside {
        touch = Touch::default();
    }
    if was_apart && !sensed && !from_inside && contact.flags & (FIXED_A | FIXED_B) != 0 {
        let moved = closing_motion(contact.flags, [motion_a, motion_b], [pose_a, pose_b]);
        if touch.count == 0 {
            let met = touch_ahead(params, [shape_a, shape_b], vertices, [pose_a, pose_b], moved);
            (touch, ahead) = met.map_or((touch, None), |(touch, until)| (touch, Some(until)));
        } else if lowest(&touch) > 0.0 && -moved.dot(touch.normal) > distance {
            ahead = Some(Vec2::ZERO);
        }
    }
    let overlaps = sensed && touch.points[..touch.count as usize].iter().any(|point| point.separation <= 0.0);
    if sensed {
        touch = Touch::default();
    }
    turn_discs(&mut touch, [shape_a, shape_b], [pose_a, pose_b], [motion_a, motion_b], was_apart, GAP * slop);
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

/// Returns the motion in the step of B relative to A, of which one is static or kinematic, at the centre of the other,
/// m.
fn closing_motion(flags: u32, [a, b]: [&BodyMotion; 2], [pose_a, pose_b]: [&Pose; 2]) -> Vec2 {
    let between = Vec2::from(pose_b.position) - Vec2::from(pose_a.position);
    let moved = Vec2::from(b.moved) - Vec2::from(a.moved);
    let turned = if flags & FIXED_B != 0 { b.turned } else { a.turned };
    moved - cross_scalar(turned, between)
}

/// Returns the least separation of the points, m; [`f32::MAX`] without points.
fn lowest(touch: &Touch) -> f32 {
    touch.points[..touch.count as usize].iter().fold(f32::MAX, |gap, point| smaller(gap, point.separation))
}

/// Returns the contact points of a pair that is apart now and meets within the step, and the motion of B relative to A
/// until then, m. The points are those of the time at which they meet: a body that passes by a corner gets none.
/// `moved` is the motion of B relative to A in the step, m.
fn touch_ahead(
    params: &Params,
    [shape_a, shape_b]: [&ShapeData; 2],
    vertices: &[[f32; 2]],
    [pose_a, pose_b]: [&Pose; 2],
    moved: Vec2,
) -> Option<(Touch, Vec2)> {
    let (distance, slop) = (params.speculative_distance, params.linear_slop);
    let reach = moved.length();
    if reach <= distance {
        return None;
    }
    let now = manifold(shape_a, shape_b, vertices, pose_a, pose_b, reach + distance, slop);
    let gap = lowest(&now);
    let closing = -moved.dot(now.normal);
    if gap - closing > distance {
        return None;
    }
    let ahead = moved * smaller(gap / closing, 1.0);
    let then = Pose { position: (Vec2::from(pose_b.position) + ahead).into(), ..*pose_b };
    let then = manifold(shape_a, shape_b, vertices, pose_a, &then, distance, slop);
    if then.count == 0 {
        return None;
    }
    let are_round = [shape_a, shape_b].iter().all(|shape| shape.kind & GEOMETRY_MASK == CIRCLE);
    // The impact of two discs finds its normal from where they are now.
    Some(if are_round { (now, Vec2::ZERO) } else { (then, ahead) })
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
    let between = Vec2::from(pose_b.position) - Vec2::from(pose_a.position);
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
        let between = Vec2::from(pose_b.position) - Vec2::from(pose_a.position);
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
    let kept = FIXED_A | FIXED_B | HUB_A | HUB_B | SENSOR | TOUCHED;
    contact.flags = contact.flags & kept | CACHED | touch.count;
    if touch.count == 0 || old_count == 0 {
        contact.rolling_impulse = 0.0;
    }
    if touch.count == 0 {
        contact.color = NONE;
    }
    let between = Vec2::from(pose_b.position) - Vec2::from(pose_a.position);
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
    let (q_a, q_b) = (Vec2::from(pose_a.rotation), Vec2::from(pose_b.rotation));
    // All positions are relative to A's centre: no precision is lost far from the origin.
    let between = Vec2::from(pose_b.position) - Vec2::from(pose_a.position);
    let center_a = rotate(q_a, a.offset.into());
    let center_b = rotate(q_b, b.offset.into());
    // Nor far from a body's centre: the long offset of a tile of a wide ground is subtracted first.
    let tile_a = Vec2::from(a.offset).length_squared() > Vec2::from(b.offset).length_squared();
    let d = if tile_a { between - center_a + center_b } else { between + center_b - center_a };
    let turn_a = mul_rotation(q_a, a.rotation.into());
    let turn_b = mul_rotation(q_b, b.rotation.into());
    let local = match (a.kind & GEOMETRY_MASK, b.kind & GEOMETRY_MASK) {
        (CIRCLE, CIRCLE) => circles(a.radius, b.radius, d, speculative_distance),
        (BOX, CIRCLE) if a.radius == 0.0 => {
            box_circle(a.half.into(), turn_a, b.radius, d, speculative_distance, linear_slop)
        }
        (CIRCLE, BOX) if b.radius == 0.0 => {
            flip(box_circle(b.half.into(), turn_b, a.radius, -d, speculative_distance, linear_slop), d)
        }
        (BOX, BOX) if a.radius == 0.0 && b.radius == 0.0 => {
            boxes(a.half.into(), b.half.into(), turn_a, turn_b, d, speculative_distance, linear_slop)
        }
        (_, HALF_PLANE) => {
            let normal = Vec2::new(-turn_b.y, turn_b.x);
            hull_half_plane(&Hull::new(a, vertices), turn_a, normal, d, speculative_distance)
        }
        (_, CIRCLE) => hull_circle(&Hull::new(a, vertices), turn_a, b.radius, d, speculative_distance, linear_slop),
        (CIRCLE, _) => {
            flip(hull_circle(&Hull::new(b, vertices), turn_b, a.radius, -d, speculative_distance, linear_slop), d)
        }
        _ => {
            let (a, b) = (Hull::new(a, vertices), Hull::new(b, vertices));
            hulls(&a, &b, turn_a, turn_b, d, speculative_distance, linear_slop)
        }
    };
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
    Local {
        normal,
        count: 1,
        points: [normal * (radius_a + 0.5 * separation), Vec2::ZERO],
        separations: [separation, 0.0],
        features: [0; 2],
    }
}

/// Returns the manifold of a box rotated by `turn` and a circle at `d` from its centre.
fn box_circle(half: Vec2, turn: Vec2, radius: f32, d: Vec2, speculative_distance: f32, linear_slop: f32) -> Local {
    let center = inv_rotate(turn, d);
    let nearest = center.clamp(-half, half);
    let gap = center - nearest;
    let distance = gap.length();
    let (normal, surface, separation) = if distance > FACE_PREFERENCE * linear_slop.min(0.1 * radius) {
        (gap / distance, nearest, distance - radius)
    } else {
        // The centre is inside, or too near to a corner to tell its direction: push out through the nearest face.
        let depth = half - center.abs();
        if depth.x < depth.y - ROUNDING * half.y {
            let side = if center.x < 0.0 { -1.0 } else { 1.0 };
            (Vec2::new(side, 0.0), Vec2::new(side * half.x, center.y), -depth.x - radius)
        } else {
            let side = if center.y < 0.0 { -1.0 } else { 1.0 };
            (Vec2::new(0.0, side), Vec2::new(center.x, side * half.y), -depth.y - radius)
        }
    };
    if separation > speculative_distance {
        return Local::default();
    }
    Local {
        normal: rotate(turn, normal),
        count: 1,
        points: [rotate(turn, surface + normal * (0.5 * separation)), Vec2::ZERO],
        separations: [separation, 0.0],
        features: [0; 2],
    }
}

/// Returns the index of a box's vertex, counter-clockwise from the lower left.
fn vertex(right: bool, upper: bool) -> u32 {
    if upper { if right { 2 } else { 3 } } else { u32::from(right) }
}

/// Axis with the largest separation of two boxes.
struct BestAxis {
    separation: f32,
    axis: usize,
    on_b: bool,
}

impl BestAxis {
    /// Returns the best of the axes of A and B, with their separations.
    #[inline]
    fn of(along_a: Vec2, along_b: Vec2, preference: f32) -> Self {
        let mut best = Self { separation: along_a.x, axis: 0, on_b: false };
        for (separation, axis, on_b) in [(along_a.y, 1, false), (along_b.x, 0, true), (along_b.y, 1, true)] {
            if separation > best.separation + preference {
                best = Self { separation, axis, on_b };
            }
        }
        best
    }
}

/// Two boxes in the frame of the one that has the reference face.
struct FacingBoxes {
    half: Vec2,
    other: Vec2,
    /// True if the reference face is on B.
    on_b: bool,
    /// From the centre of A to the centre of B, world axes.
    d: Vec2,
    /// Rotation of the frame.
    turn: Vec2,
    /// Centre of the other box.
    at: Vec2,
    /// Rotation of the other box.
    rel: Vec2,
    /// Axis of the face's normal.
    axis: usize,
    /// Direction of the normal along it.
    side: f32,
}

impl FacingBoxes {
    /// Returns the point at these places along the normal's axis and along the face.
    #[inline]
    fn point(&self, across: f32, along: f32) -> Vec2 {
        let mut point = Vec2::ZERO;
        point[self.axis] = across;
        point[1 - self.axis] = along;
        point
    }

    /// Returns the ends of the incident face, with their vertices: the face whose normal is most antiparallel to the
    /// reference normal.
    #[inline]
    fn incident(&self) -> ([Vec2; 2], [u32; 2]) {
        let facing = inv_rotate(self.rel, self.point(self.side, 0.0));
        let face = usize::from(facing.y.abs() > facing.x.abs());
        let face_side = if facing[face] > 0.0 { -1.0 } else { 1.0 };
        let mut ends = [Vec2::ZERO; 2];
        let mut vertices = [0; 2];
        for (end, sign) in [-1.0_f32, 1.0].into_iter().enumerate() {
            let mut corner = Vec2::ZERO;
            corner[face] = face_side * self.other[face];
            corner[1 - face] = sign * self.other[1 - face];
            vertices[end] = vertex(corner.x > 0.0, corner.y > 0.0);
            ends[end] = self.at + rotate(self.rel, corner);
        }
        if ends[0][1 - self.axis] > ends[1][1 - self.axis] {
            ends.swap(0, 1);
            vertices.swap(0, 1);
        }
        (ends, vertices)
    }

    /// Clips the incident face to the width of the reference face.
    #[inline]
    fn clip(&self, [low, high]: [Vec2; 2]) -> [Vec2; 2] {
        let (axis, tangent_axis) = (self.axis, 1 - self.axis);
        let width = self.half[tangent_axis];
        let span = high[tangent_axis] - low[tangent_axis];
        let cut = |end: Vec2, limit: f32| {
            if span <= 0.0 {
                return end;
            }
            let share = (limit - low[tangent_axis]) / span;
            self.point(low[axis] + (high[axis] - low[axis]) * share, limit)
        };
        [
            if low[tangent_axis] < -width { cut(low, -width) } else { low },
            if high[tangent_axis] > width { cut(high, width) } else { high },
        ]
    }

    /// Writes a point between the upper or lower corner of the face and a vertex of the other box.
    #[inline]
    fn put(&self, local: &mut Local, upper: bool, other: u32, middle: Vec2, separation: f32) {
        let corner = self.point(self.side, if upper { 1.0 } else { -1.0 });
        let corner = vertex(corner.x > 0.0, corner.y > 0.0);
        let middle = rotate(self.turn, middle);
        let index = local.count as usize;
        local.points[index] = if self.on_b { middle + self.d } else { middle };
        local.separations[index] = separation;
        local.features[index] = if self.on_b { 4 * other + corner } else { 4 * corner + other };
        local.count += 1;
    }

    /// Returns the manifold of the clipped face, and the least separation; infinite if there is no point.
    #[inline]
    fn over_face(&self, ends: [Vec2; 2], vertices: [u32; 2], speculative_distance: f32) -> (Local, f32) {
        let (axis, tangent_axis) = (self.axis, 1 - self.axis);
        let width = self.half[tangent_axis];
        let reaches = ends[1][tangent_axis] >= -width && ends[0][tangent_axis] <= width;
        let normal = self.point(self.side, 0.0);
        let out = rotate(self.turn, if self.on_b { -normal } else { normal });
        let (mut local, mut nearest) = (Local { normal: out, ..Local::default() }, f32::INFINITY);
        for (end, clipped) in self.clip(ends).into_iter().enumerate() {
            let separation = self.side * clipped[axis] - self.half[axis];
            if !reaches || separation > speculative_distance {
                continue;
            }
            nearest = nearest.min(separation);
            // Halfway between the two surfaces.
            self.put(&mut local, end == 1, vertices[end], clipped - normal * (0.5 * separation), separation);
        }
        (local, nearest)
    }

    /// Returns the manifold of two corners beside the reference face, if they are nearer than `nearest`.
    #[inline]
    fn between_corners(
        &self,
        ends: [Vec2; 2],
        vertices: [u32; 2],
        mut nearest: f32,
        preference: f32,
        speculative_distance: f32,
    ) -> Option<Local> {
        let (axis, tangent_axis) = (self.axis, 1 - self.axis);
        let width = self.half[tangent_axis];
        let mut found = None;
        for end in 0..2 {
            let along = ends[end][tangent_axis];
            let at_corner = self.point(self.side * self.half[axis], along.clamp(-width, width));
            let gap = ends[end] - at_corner;
            let distance = gap.length();
            if along.abs() <= width || distance > speculative_distance || distance + preference >= nearest {
                continue;
            }
            nearest = distance;
            let out = rotate(self.turn, gap / distance);
            let mut local = Local { normal: if self.on_b { -out } else { out }, ..Local::default() };
            self.put(&mut local, along > 0.0, vertices[end], at_corner + gap * 0.5, distance);
            found = Some(local);
        }
        found
    }
}

/// Returns the manifold of two boxes, `d` from the centre of A to the centre of B.
fn boxes(
    half_a: Vec2,
    half_b: Vec2,
    turn_a: Vec2,
    turn_b: Vec2,
    d: Vec2,
    speculative_distance: f32,
    linear_slop: f32,
) -> Local {
    let between = inv_mul_rotation(turn_a, turn_b);
    let turn = between.abs();
    let d_a = inv_rotate(turn_a, d);
    let d_b = inv_rotate(turn_b, d);
    // Separation along the axes of A, then of B.
    let reach_b = Vec2::new(turn.x * half_b.x + turn.y * half_b.y, turn.y * half_b.x + turn.x * half_b.y);
    let reach_a = Vec2::new(turn.x * half_a.x + turn.y * half_a.y, turn.y * half_a.x + turn.x * half_a.y);
    let along_a = d_a.abs() - (half_a + reach_b);
    let along_b = d_b.abs() - (half_b + reach_a);

    let thinnest = half_a.x.min(half_a.y).min(half_b.x.min(half_b.y));
    let preference = FACE_PREFERENCE * linear_slop.min(0.1 * thinnest);
    let best = BestAxis::of(along_a, along_b, preference);
    if best.separation > speculative_distance {
        return Local::default();
    }

    let BestAxis { axis, on_b, .. } = best;
    let (half, other, turn, at, rel) = if on_b {
        (half_b, half_a, turn_b, -d_b, Vec2::new(between.x, -between.y))
    } else {
        (half_a, half_b, turn_a, d_a, between)
    };
    let side = if at[axis] < 0.0 { -1.0 } else { 1.0 };
    let pair = FacingBoxes { half, other, on_b, d, turn, at, rel, axis, side };
    let (ends, vertices) = pair.incident();
    let (local, nearest) = pair.over_face(ends, vertices, speculative_distance);
    // Boxes that are apart may be nearest at two corners, beside the reference face: there clipping finds nothing, or
    // only points that are further off. Example: two cards that lean on each other.
    if best.separation > preference
        && let Some(corners) = pair.between_corners(ends, vertices, nearest, preference, speculative_distance)
    {
        return corners;
    }
    local
}
