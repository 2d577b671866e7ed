//! Rounding bounds of a manifold: how much its points and its normal may differ between two correct computations.
//!
//! Everything about a pair is computed from a few **lengths**: from the bodies' centres to the shapes', from shape to
//! shape, and from there to the corners. Each operation on them rounds to ε/2 of its result, and shader compilers may
//! fuse, reassociate and divide with an error of a few ε. Positions of points may differ by [`ROUNDINGS`]·ε·(sum of the
//! lengths).
//!
//! A **normal** is that of a face, exact to ε however large the face is, or the normalized gap between two corners or
//! between a corner and a centre. A gap of g metres between corners that are known to δ may turn by δ/g. `collide`
//! takes no normal from a gap below its preference for faces, which is proportionally smaller for thin shapes: between
//! cards 2 mm thick it is 10 µm, and corners 20 cm from the centres of their cards then leave two significant digits of
//! the direction. f32 corners contain no more. Points beside a rounded core turn with the normal.

use std::collections::BTreeMap;

use glam::Vec2;

use drystone::low_level::math::rotate;
use drystone::low_level::scene::Compiled;
use drystone::low_level::stages::collide::FACE_PREFERENCE;
use drystone::low_level::stages::solve_joints::rows_of;
use drystone::low_level::stages::solve_joints::tree::trees;
use drystone::low_level::tables::Tables;
use drystone::low_level::types::{
    BOX, CIRCLE, Contact, GEOMETRY_MASK, HALF_PLANE, JointFrame, Manifold, POINT_COUNT_MASK, ShapeData,
};

/// Number of combined roundings, in ε of the lengths involved. Against f64 the CPU's own error is a quarter of this, so
/// that two backends differ by half; the rest allows for divisions and roots, which shader compilers round less
/// accurately.
pub(super) const ROUNDINGS: f32 = 2.0;

/// Rounding bounds of one manifold.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Roundings {
    /// Bound of anchors and separations, m.
    pub place: f32,
    /// Bound of the normal.
    pub normal: f32,
    /// True if rounding may decide between a face normal and a corner normal.
    pub is_face_tie: bool,
}

/// Returns the bounds of a manifold.
impl Roundings {
    pub fn of(compiled: &Compiled, contact: &Contact, manifold: &Manifold) -> Self {
        let count = contact.flags & POINT_COUNT_MASK;
        let [a, b] = [contact.shape_a, contact.shape_b].map(|index| compiled.shapes.get(index as usize));
        let (Some(a), Some(b), 1..) = (a, b, count) else { return Self::default() };
        let point = &manifold.points[0];
        let arm = |anchor: [f32; 2], rotation: [f32; 2], shape: &ShapeData| {
            Vec2::from(anchor) - rotate(rotation.into(), shape.offset.into())
        };
        let arm_a = arm(point.anchor_a, manifold.cached_rotation_a, a);
        let arm_b = arm(point.anchor_b, manifold.cached_rotation_b, b);
        let centers = length(a.offset) + length(b.offset) + (arm_a - arm_b).length();
        // The core of a circle is its centre. An edge extends beyond the point, and is measured from its end.
        let outline = |shape: &ShapeData| if is_disc(shape) { 0.0 } else { 2.0 * shape.bound };
        let corner = |shape: &ShapeData, arm: Vec2| if is_disc(shape) { 0.0 } else { arm.length() };
        let rounding = ROUNDINGS * f32::EPSILON;
        let mut roundings =
            Self { place: rounding * (centers + outline(a) + outline(b)), normal: 0.0, is_face_tie: false };
        let gap = point.separation + a.radius + b.radius;
        let Some(preference) = preference(a, b, compiled.params.linear_slop) else { return roundings };
        if count == 1 {
            let off = rounding * (centers + corner(a, arm_a) + corner(b, arm_b));
            roundings.is_face_tie = (gap - preference).abs() <= off;
            if gap > 0.0 && gap >= preference - off {
                roundings.normal = (off / gap).min(2.0);
                roundings.place += roundings.normal * (a.radius + b.radius + point.separation.abs());
            }
        }
        roundings
    }
}

fn length(v: [f32; 2]) -> f32 {
    Vec2::from(v).length()
}

fn is_disc(shape: &ShapeData) -> bool {
    matches!(shape.kind & GEOMETRY_MASK, CIRCLE | HALF_PLANE)
}

/// Returns the gap between cores below which `collide` uses a face normal, m; `None` if it always does.
fn preference(a: &ShapeData, b: &ShapeData, linear_slop: f32) -> Option<f32> {
    let kinds = [a, b].map(|shape| shape.kind & GEOMETRY_MASK);
    let is_sharp_box = |shape: &ShapeData| shape.kind & GEOMETRY_MASK == BOX && shape.radius == 0.0;
    let thickness = match kinds {
        [_, HALF_PLANE] => return None,
        [CIRCLE, CIRCLE] => 0.0,
        [CIRCLE, _] => a.radius,
        [_, CIRCLE] => b.radius,
        _ if is_sharp_box(a) && is_sharp_box(b) => a.half.into_iter().chain(b.half).fold(f32::INFINITY, f32::min),
        _ => a.bound.min(b.bound),
    };
    Some(FACE_PREFERENCE * linear_slop.min(0.1 * thickness))
}

/// Returns the sums that a body's warm start consists of, without cancellation: Σ|impulse|/m and Σ|impulse|·|arm|/I.
/// The impulses at the two points under a small resting body each turn it by hundreds of rad/s, in opposite directions.
pub(super) fn sums_of_impulses(tables: &Tables) -> Vec<[f32; 2]> {
    let mut sums = vec![[0.0_f32; 2]; tables.states.len()];
    for row in &tables.constraints {
        let [a_0, a_1] = row.r_a.map(Vec2::from);
        let b_0 = Vec2::from(row.r_b);
        let [impulse_0, impulse_1] = [0, 2].map(|first| row.impulses[first].abs() + row.impulses[first + 1].abs());
        let mut add = |body: u32, inv_mass: f32, inv_inertia: f32, arms: [Vec2; 2]| {
            if let Some([push, spin]) = sums.get_mut(body as usize) {
                *push += inv_mass * (impulse_0 + impulse_1);
                *spin += inv_inertia * (impulse_0 * arms[0].length() + impulse_1 * arms[1].length());
            }
        };
        add(row.body_a, row.inv_mass_a, row.inv_inertia_a, [a_0, a_1]);
        add(row.body_b, row.inv_mass_b, row.inv_inertia_b, [b_0, a_1 + b_0 - a_0]);
    }
    sums
}

/// Sums of which the results of trees of hinges consist, without cancellation.
#[derive(Clone, Debug, Default)]
pub(super) struct TreeSums {
    /// For each joint row the impulse that moves its tree: the mass of the tree times the speeds of its bodies, and the
    /// impulse itself, N·s. A velocity is known to a rounding, and the hinge of a light body moves the heavy one. 0
    /// elsewhere.
    pub impulses: Vec<f32>,
    /// For each body those impulses by its mass and inertia, m/s and rad/s.
    pub bodies: Vec<[f32; 2]>,
}

impl TreeSums {
    pub fn of(compiled: &Compiled, tables: &Tables) -> Self {
        let impulses = vec![0.0_f32; tables.joint_impulses.len()];
        let mut sums = Self { impulses, bodies: vec![[0.0; 2]; tables.states.len()] };
        for tree in trees(&compiled.joints.starts) {
            let frames = || tree.joints().filter_map(|joint| tables.joint_frames.get(joint));
            let ends = |frame: &JointFrame| {
                let a = (frame.body_a as usize, frame.inv_mass_a, frame.inv_inertia_a, Vec2::from(frame.r_a).length());
                let b = (frame.body_b as usize, frame.inv_mass_b, frame.inv_inertia_b, Vec2::from(frame.r_b).length());
                [a, b].into_iter().filter(|&(_, inv_mass, ..)| inv_mass > 0.0)
            };
            let (mut mass, mut speed) = (BTreeMap::new(), 0.0);
            for (body, inv_mass, _, arm) in frames().flat_map(ends) {
                let Some(state) = tables.states.get(body) else { continue };
                mass.insert(body, 1.0 / inv_mass);
                speed += Vec2::from(state.velocity).length() + state.angular_velocity.abs() * arm;
            }
            let moved = mass.values().sum::<f32>() * speed;
            for frame in frames() {
                let mut all = moved;
                for row in rows_of(frame) {
                    let own =
                        moved + tables.joint_impulses.get(row).map_or(0.0, |&impulse| Vec2::from(impulse).length());
                    if let Some(sum) = sums.impulses.get_mut(row) {
                        *sum = own;
                    }
                    all = all.max(own);
                }
                for (body, inv_mass, inv_inertia, arm) in ends(frame) {
                    if let Some([push, spin]) = sums.bodies.get_mut(body) {
                        *push += inv_mass * all;
                        *spin += inv_inertia * arm * all;
                    }
                }
            }
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use glam::DVec2;

    use super::*;
    use drystone::low_level::cpu::CpuWorld;
    use drystone::low_level::scene::Shape as Piece;
    use drystone::low_level::stages::collide::manifold;
    use drystone::low_level::types::{POLYGON, Pose, VERTEX_COUNT_SHIFT};
    use drystone::{Body, Mode, Scene};

    /// Pseudo-random numbers from 0 to 1.
    struct Random(u32);

    impl Random {
        fn next(&mut self) -> f32 {
            self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            f32::from(u16::try_from(self.0 >> 16).unwrap()) / 65_536.0
        }

        fn between(&mut self, low: f32, high: f32) -> f32 {
            low + (high - low) * self.next()
        }
    }

    fn wide(v: [f32; 2]) -> DVec2 {
        DVec2::new(v[0].into(), v[1].into())
    }

    /// Returns the corners of a core in world coordinates, in f64.
    fn corners(compiled: &Compiled, shape: &ShapeData, pose: &Pose) -> Vec<DVec2> {
        let own: Vec<[f32; 2]> = match shape.kind & GEOMETRY_MASK {
            CIRCLE => vec![[0.0; 2]],
            BOX => {
                let [x, y] = shape.half;
                vec![[-x, -y], [x, -y], [x, y], [-x, y]]
            }
            POLYGON => {
                let count = (shape.kind >> VERTEX_COUNT_SHIFT & 0xf) as usize;
                compiled.vertices[shape.first_vertex as usize..][..count].to_vec()
            }
            other => panic!("kind {other} has no corners"),
        };
        let turn = |by: [f32; 2], v: DVec2| wide(by).normalize().rotate(v);
        own.into_iter()
            .map(|v| wide(pose.position) + turn(pose.rotation, wide(shape.offset) + turn(shape.rotation, wide(v))))
            .collect()
    }

    /// Returns one shape of each kind, `size` metres across, offset by `aside` from the body's centre.
    fn pieces(size: f32, aside: f32) -> Vec<Piece> {
        let triangle = [[-0.5, -0.4], [0.5, -0.3], [0.1, 0.5]].map(|[x, y]: [f32; 2]| [x * size, y * size]);
        let end = [0.5 * size, 0.0];
        let pieces = vec![
            Piece::half_box(0.005 * size, 0.5 * size),
            Piece::half_box(0.5 * size, 0.3 * size),
            Piece::rounded_box(0.4 * size, 0.3 * size, 0.01 * size),
            Piece::capsule([-end[0], 0.0], end, (0.003 * size).max(1e-4)),
            Piece::polygon(triangle),
            Piece::circle(0.3 * size),
        ];
        pieces.into_iter().map(|piece| piece.offset(aside, 0.3 * aside)).collect()
    }

    /// Two corners, a corner and a centre, or two centres, separated by a gap.
    struct Near {
        compiled: Compiled,
        contact: Contact,
        manifold: Manifold,
        /// Vector from one to the other, m, in f64.
        gap: DVec2,
        is_face: bool,
    }

    fn corners_near_each_other(count: u32) -> Vec<Near> {
        let mut random = Random(5);
        let mut pairs = Vec::new();
        for round in 0..count {
            let size = [0.02, 0.4, 1.0, 30.0][round as usize % 4];
            let mut piece = || {
                let aside = if random.next() < 0.3 { 2.0 * size } else { 0.0 };
                let mut pieces = pieces(size, aside);
                #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 5")]
                let which = (6.0 * random.next()) as usize;
                pieces.swap_remove(which)
            };
            let mut scene = Scene::new("a pair");
            scene.add(Body::fixed(0.0, 0.0).shape(piece()));
            scene.add(Body::fixed(0.0, 0.0).shape(piece()));
            let compiled = Compiled::new(&scene).expect("a scene");
            let index = [0, 1].map(|body| compiled.shapes.iter().position(|s| s.body == body).expect("a shape"));
            let [a, b] = index.map(|index| &compiled.shapes[index]);
            let turned = |random: &mut Random| drystone::low_level::math::rotation(random.between(-3.2, 3.2)).into();
            let mut poses =
                [0, 1].map(|_| Pose { position: [0.0; 2], rotation: turned(&mut random), ..Pose::default() });
            let up = DVec2::from_angle(random.between(-3.2, 3.2).into());
            let farthest = |corners: &[DVec2], up: DVec2| {
                corners.iter().copied().max_by(|a, b| a.dot(up).total_cmp(&b.dot(up))).expect("a corner")
            };
            let top = farthest(&corners(&compiled, a, &poses[0]), up);
            let foot = farthest(&corners(&compiled, b, &poses[1]), -up);
            let radii = (a.radius + b.radius) * random.between(0.5, 1.0);
            let apart = f64::from(radii.max(1e-6 * size * 10_f32.powf(random.between(0.0, 4.0))));
            poses[1].position = (top + up * apart - foot).as_vec2().into();
            let params = &compiled.params;
            let (far, slop) = (params.speculative_distance, params.linear_slop);
            let touch = manifold(a, b, &compiled.vertices, &poses[0], &poses[1], far, slop);

            let cores = [corners(&compiled, a, &poses[0]), corners(&compiled, b, &poses[1])];
            let mut gaps: Vec<DVec2> = cores[0].iter().flat_map(|&a| cores[1].iter().map(move |&b| b - a)).collect();
            gaps.sort_by(|a, b| a.length().total_cmp(&b.length()));
            if touch.count != 1 || gaps.get(1).is_some_and(|next| gaps[0].length() > 0.5 * next.length()) {
                continue;
            }
            let normal = touch.normal.as_dvec2();
            let is_face = cores.iter().any(|core| {
                let edge = |from: usize| (core[(from + 1) % core.len()] - core[from]).normalize_or_zero();
                core.len() > 1 && (0..core.len()).any(|from| edge(from).dot(normal).abs() < 1e-5)
            });
            let [shape_a, shape_b] = index.map(|index| u32::try_from(index).expect("two shapes"));
            let contact = Contact { shape_a, shape_b, flags: 1, ..Contact::default() };
            let mut manifold = Manifold {
                normal: touch.normal.into(),
                cached_rotation_a: poses[0].rotation,
                cached_rotation_b: poses[1].rotation,
                ..Manifold::default()
            };
            let [point, _] = &mut manifold.points;
            point.anchor_a = touch.points[0].anchor_a.into();
            point.anchor_b = touch.points[0].anchor_b.into();
            point.separation = touch.points[0].separation;
            pairs.push(Near { compiled, contact, manifold, gap: gaps[0], is_face });
        }
        pairs
    }

    /// The CPU's normals are as accurate as the bound assumes, and use a fair part of it. Below the preference they are
    /// face normals.
    #[test]
    fn normals_across_a_gap_are_as_exact_as_their_corners() {
        let (mut worst, mut coarse, mut compared, mut faces) = (0.0_f64, 0, 0, 0);
        for Near { compiled, contact, manifold, gap, is_face } in corners_near_each_other(40_000) {
            let [a, b] = [contact.shape_a, contact.shape_b].map(|index| &compiled.shapes[index as usize]);
            let preference = f64::from(preference(a, b, compiled.params.linear_slop).expect("no half plane"));
            let roundings = Roundings::of(&compiled, &contact, &manifold);
            let off = f64::from(roundings.place);
            // Two segments that meet at their ends have no face there.
            let is_segment = |shape: &ShapeData| shape.kind & GEOMETRY_MASK == POLYGON && shape.radius > 0.0;
            if gap.length() < preference - off && !(is_segment(a) && is_segment(b)) {
                assert!(is_face, "a gap of {} below {preference} has a corner normal: {manifold:?}", gap.length());
                faces += 1;
            }
            if gap.length() < preference + off || is_face {
                continue;
            }
            let error = (wide(manifold.normal) - gap.normalize()).length();
            compared += 1;
            coarse += u32::from(error > super::super::STAGE_TOLERANCE);
            worst = worst.max((error - 2.0 * f64::from(f32::EPSILON)) / f64::from(roundings.normal));
        }
        println!("{compared} normals and {faces} of faces; {coarse} are coarse, at most {worst} of the bound");
        assert!(compared > 2_000 && coarse > 200 && faces > 200, "{compared}, {coarse}, {faces}");
        assert!(worst < 0.5, "a normal differs by {worst} of the bound of two");
        assert!(worst > 0.05, "the bound is {} times the largest error", 1.0 / worst);
    }

    /// A small box at rest: two impulses support it, and either one alone would turn it.
    #[test]
    fn sums_of_impulses_are_what_cancels() {
        let mut scene = Scene::new("a small box").gravity(0.0, -10.0);
        scene.settings.mode = Mode::Baumgarte;
        scene.add(Body::fixed(0.0, -0.5).shape(Piece::half_box(5.0, 0.5)));
        scene.add(Body::dynamic(0.0, 0.01).shape(Piece::half_box(0.01, 0.01)));
        let mut world = CpuWorld::new(&scene).expect("a scene");
        (0..60).for_each(|_| world.step().expect("a step"));
        let Compiled { mass, params, .. } = world.compiled();
        let (weight, inertia) = (10.0 * mass[1].mass * params.dt, mass[1].inertia);
        let [push, spin] = sums_of_impulses(&world.tables())[1];
        assert!((push * mass[1].mass / weight - 1.0).abs() < 0.01, "{push}");
        // At the corners; the box has sunk by less than the slop.
        let arm = 0.01 * 2.0_f32.sqrt();
        assert!((0.8..1.01).contains(&(spin * inertia / (weight * arm))), "{spin}");
    }
}
