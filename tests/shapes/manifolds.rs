//! Manifolds of every pair of shapes, against an oracle.
//!
//! The oracle does not know features. For convex sets the signed separation is the largest, over all directions `u`, of
//! `min_b u·b − max_a u·a`: the distance if they are apart, minus the penetration depth if they overlap. The oracle
//! searches for it in f64, with 720 directions and a golden-section search around the best of them.

use drystone::low_level::scene::Compiled;
use drystone::low_level::stages::collide::{Touch, manifold};
use drystone::low_level::types::{
    BOX, CIRCLE, GEOMETRY_MASK, HALF_PLANE, POLYGON, Pose, ShapeData as Flat, VERTEX_COUNT_SHIFT,
};
use drystone::{Body, Scene, Shape};
use glam::{DVec2, Vec2};

use crate::shapes::kit::{Random, regular, rounded, shapes};
use crate::support::highest;

const SPECULATIVE: f64 = 0.02;
const SLOP: f32 = 0.005;
/// Rounding error of f32 in coordinates of up to 10 m.
const ROUNDING: f64 = 1e-5;

/// A shape in the world: the points of its core, and a radius.
#[derive(Clone, Debug)]
struct Core {
    points: Vec<DVec2>,
    radius: f64,
    bound: f64,
}

impl Core {
    fn new(shape: &Flat, vertices: &[[f32; 2]], pose: &Pose) -> Self {
        let turn = |by: [f32; 2], v: DVec2| {
            let (c, s) = (f64::from(by[0]), f64::from(by[1]));
            DVec2::new(c * v.x - s * v.y, s * v.x + c * v.y)
        };
        let wide = |v: [f32; 2]| DVec2::new(f64::from(v[0]), f64::from(v[1]));
        let own: Vec<DVec2> = match shape.kind & GEOMETRY_MASK {
            CIRCLE => vec![DVec2::ZERO],
            BOX => {
                let half = wide(shape.half);
                [[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]].map(|c: [f64; 2]| half * DVec2::from(c)).into()
            }
            POLYGON => {
                let first = shape.first_vertex as usize;
                let count = (shape.kind >> VERTEX_COUNT_SHIFT & 0xf) as usize;
                vertices[first..first + count].iter().map(|&v| wide(v)).collect()
            }
            other => panic!("kind {other} has no outline"),
        };
        let points = own
            .into_iter()
            .map(|v| {
                let on_body = wide(shape.offset) + turn(shape.rotation, v);
                wide(pose.position) + turn(pose.rotation, on_body)
            })
            .collect();
        Self { points, radius: f64::from(shape.radius), bound: f64::from(shape.bound) }
    }

    fn point(at: DVec2) -> Self {
        Self { points: vec![at], radius: 0.0, bound: 0.0 }
    }

    fn most(&self, u: DVec2) -> f64 {
        self.points.iter().map(|p| p.dot(u)).fold(f64::NEG_INFINITY, f64::max) + self.radius
    }
}

/// Returns the separation along a direction.
fn along(a: &Core, b: &Core, u: DVec2) -> f64 {
    -b.most(-u) - a.most(u)
}

/// Returns the largest separation and its direction.
fn oracle(a: &Core, b: &Core) -> (f64, DVec2) {
    const COUNT: usize = 720;
    let at = |angle: f64| along(a, b, DVec2::from_angle(angle));
    let step = std::f64::consts::TAU / COUNT as f64;
    let samples: Vec<f64> = (0..COUNT).map(|index| at(step * index as f64)).collect();
    let best = samples.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    // The function rises by at most the diameter of both per radian.
    let slack = 4.0 * step * (a.bound + b.bound + 0.1) + 1e-9;
    let (mut found, mut where_) = (f64::NEG_INFINITY, 0.0);
    for index in 0..COUNT {
        let here = samples[index];
        let is_peak = here >= samples[(index + 1) % COUNT] && here >= samples[(index + COUNT - 1) % COUNT];
        if !is_peak || here < best - slack {
            continue;
        }
        let angle = highest(at, step * (index as f64 - 1.0), step * (index as f64 + 1.0));
        if at(angle) > found {
            (found, where_) = (at(angle), angle);
        }
    }
    (found, DVec2::from_angle(where_))
}

/// Returns the separation that a manifold may give up to keep its features from step to step: see `preference` in
/// `collide`.
fn preference(a: &Core, b: &Core) -> f64 {
    0.1 * f64::from(SLOP).min(0.1 * a.bound.min(b.bound))
}

/// Describes the error of a manifold of A and B; `None` if it has none.
fn fault(found: &Touch, a: &Core, b: &Core, origin_a: DVec2, between: DVec2, rounding: f64) -> Option<String> {
    let (truth, _) = oracle(a, b);
    let tolerance = preference(a, b) + rounding;
    let count = found.count as usize;
    if count == 0 {
        return (truth < SPECULATIVE - tolerance).then(|| format!("no contact at {truth}"));
    }
    if truth > SPECULATIVE + rounding {
        return Some(format!("contact at {truth}"));
    }
    let normal = found.normal.as_dvec2();
    if (normal.length() - 1.0).abs() > 1e-6 {
        return Some(format!("normal {normal} of length {}", normal.length()));
    }
    let by_normal = along(a, b, normal);
    if by_normal < truth - tolerance {
        return Some(format!("normal {normal} separates by {by_normal}, best is {truth}"));
    }
    let points = &found.points[..count];
    let least = points.iter().map(|p| f64::from(p.separation)).fold(f64::INFINITY, f64::min);
    if (least - truth).abs() > tolerance {
        return Some(format!("separation {least}, truth {truth}"));
    }
    for point in points {
        let anchors = point.anchor_a.as_dvec2() - point.anchor_b.as_dvec2() - between;
        if anchors.length() > rounding {
            return Some(format!("anchors are {anchors} apart"));
        }
        let at = Core::point(origin_a + point.anchor_a.as_dvec2());
        let half = 0.5 * f64::from(point.separation).abs() + tolerance;
        for (name, core) in [("A", a), ("B", b)] {
            let (off, _) = oracle(core, &at);
            // Where a face is clipped and the other is inclined, the rounding is thicker across than along the normal.
            let rim = if f64::from(point.separation) > least + tolerance { core.radius } else { 0.0 };
            if off > half || off < -half - rim {
                return Some(format!(
                    "point {at:?} is {off} from the surface of {name}, separation {}",
                    point.separation
                ));
            }
        }
        if f64::from(point.separation) > SPECULATIVE {
            return Some(format!("a point at {}", point.separation));
        }
    }
    if count == 2 && found.points[0].feature == found.points[1].feature {
        return Some("two points of one feature".to_owned());
    }
    None
}

/// Two compiled bodies with one shape each.
struct Pair {
    compiled: Compiled,
}

impl Pair {
    fn new(a: &Shape, b: &Shape) -> Self {
        let mut scene = Scene::new("pair");
        for shape in [a, b] {
            let body = if matches!(shape.geometry, drystone::Geometry::HalfPlane { .. }) {
                Body::fixed(0.0, 0.0)
            } else {
                Body { mass: Some(1.0), inertia: Some(1.0), ..Body::dynamic(0.0, 0.0) }
            };
            scene.add(body.shape(shape.clone()));
        }
        Self { compiled: Compiled::new(&scene).expect("valid") }
    }

    fn shape(&self, body: u32) -> &Flat {
        self.compiled.shapes.iter().find(|shape| shape.body == body).expect("a shape")
    }

    fn core(&self, body: u32, pose: &Pose) -> Core {
        Core::new(self.shape(body), &self.compiled.vertices, pose)
    }

    fn manifold(&self, a: u32, b: u32, poses: &[Pose; 2]) -> Touch {
        manifold(
            self.shape(a),
            self.shape(b),
            &self.compiled.vertices,
            &poses[a as usize],
            &poses[b as usize],
            SPECULATIVE as f32,
            SLOP,
        )
    }

    /// Checks both orders and describes the error.
    fn fault(&self, poses: &[Pose; 2], rounding: f64) -> Option<String> {
        let at = |body: usize| Vec2::from(poses[body].position).as_dvec2();
        let cores = [self.core(0, &poses[0]), self.core(1, &poses[1])];
        for (a, b) in [(0, 1), (1, 0)] {
            let found = self.manifold(a, b, poses);
            let (a, b) = (a as usize, b as usize);
            if let Some(fault) = fault(&found, &cores[a], &cores[b], at(a), at(b) - at(a), rounding) {
                return Some(format!("{a} against {b}: {fault}: {found:?}"));
            }
        }
        None
    }
}

fn pose(x: f64, y: f64, angle: f64) -> Pose {
    Pose {
        position: [x as f32, y as f32],
        rotation: drystone::low_level::math::rotation(angle as f32).into(),
        ..Pose::default()
    }
}

/// Returns random poses; half of them at separations typical for contacts.
fn random_poses(pair: &Pair, random: &mut Random) -> [Pose; 2] {
    let steps = std::f64::consts::PI / 12.0;
    let mut angle = || {
        // Parallel faces now and then.
        if random.unit() < 0.4 { steps * random.below(24) as f64 } else { random.between(-3.2, 3.2) }
    };
    let (first, second) = (angle(), angle());
    let reach = f64::from(pair.shape(0).bound + pair.shape(1).bound);
    let away = DVec2::from_angle(random.between(-3.2, 3.2)) * reach * random.unit();
    let mut poses = [pose(0.3, -0.2, first), pose(0.3 + away.x, -0.2 + away.y, second)];
    if random.unit() < 0.7 {
        let (truth, u) = oracle(&pair.core(0, &poses[0]), &pair.core(1, &poses[1]));
        let goal = random.between(-0.03, 0.03);
        let moved = u * (goal - truth);
        poses[1] = pose(0.3 + away.x + moved.x, -0.2 + away.y + moved.y, second);
    }
    poses
}

#[test]
fn random_poses_of_every_pair() {
    let shapes = shapes();
    let mut random = Random(0x1234_5678_9abc_def1);
    let (mut touching, mut total, mut faults) = (0, 0, Vec::new());
    for (index, (name_a, a)) in shapes.iter().enumerate() {
        for (name_b, b) in &shapes[index..] {
            let pair = Pair::new(a, b);
            for _ in 0..150 {
                let poses = random_poses(&pair, &mut random);
                total += 1;
                touching += pair.manifold(0, 1, &poses).count.min(1);
                if let Some(fault) = pair.fault(&poses, ROUNDING) {
                    faults.push(format!("{name_a} and {name_b} at {poses:?}: {fault}"));
                }
            }
        }
    }
    println!("{total} poses, {touching} in contact");
    assert!(faults.is_empty(), "{} of {total}:\n{}", faults.len(), faults[..faults.len().min(12)].join("\n"));
    assert!(touching > total / 4 && touching < total, "{touching} of {total} in contact");
}

#[test]
fn special_poses() {
    let hexagon = Shape::polygon(regular(6, 0.5));
    let square = Shape::polygon([[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]]);
    let capsule = Shape::capsule([-0.5, 0.0], [0.5, 0.0], 0.2);
    let segment = Shape::segment([-1.0, 0.0], [1.0, 0.0]);
    let rounded_square = Shape::rounded_box(0.4, 0.4, 0.1);
    let half_turn = std::f64::consts::FRAC_PI_2;
    // Shapes, pose of B relative to A, and expected result: number of points, separation.
    let cases: [(&str, &Shape, &Shape, [f64; 3], u32, f64); 20] = [
        ("face on face", &square, &square, [0.0, 0.99, 0.0], 2, -0.01),
        ("face on face, beside", &square, &square, [0.6, 0.99, 0.0], 2, -0.01),
        ("corner over corner", &square, &square, [1.005, 1.005, 0.0], 1, 0.005 * 2.0_f64.sqrt()),
        ("identical", &square, &square, [0.0, 0.0, 0.0], 2, -1.0),
        ("identical hexagons", &hexagon, &hexagon, [0.0, 0.0, 0.0], 2, -0.75_f64.sqrt()),
        ("polygon on rounded box", &rounded_square, &square, [0.0, 1.01, 0.0], 2, 0.01),
        ("capsules side by side", &capsule, &capsule, [0.2, 0.39, 0.0], 2, -0.01),
        ("capsules nose to nose", &capsule, &capsule, [1.39, 0.0, 0.0], 1, -0.01),
        ("capsules nose to nose, turned round", &capsule, &capsule, [1.41, 0.0, 2.0 * half_turn], 1, 0.01),
        ("capsule standing on capsule", &capsule, &capsule, [0.0, 0.89, half_turn], 1, -0.01),
        ("capsules crossing", &capsule, &capsule, [0.3, 0.0, half_turn], 1, -0.2 - 0.4),
        ("segments crossing", &segment, &segment, [0.7, 0.0, half_turn], 1, -0.3),
        ("segment ends on segment", &segment, &segment, [0.0, 1.01, half_turn], 1, 0.01),
        ("segments in line", &segment, &segment, [2.01, 0.0, 0.0], 1, 0.01),
        ("box lies on segment", &segment, &square, [0.0, 0.495, 0.0], 2, -0.005),
        ("box hangs from segment", &segment, &square, [0.0, -0.495, 0.0], 2, -0.005),
        ("circle beside the end of a segment", &segment, &Shape::circle(0.3), [1.29, 0.0, 0.0], 1, -0.01),
        (
            "circle's centre in polygon",
            &hexagon,
            &Shape::circle(0.3),
            [0.0, 0.1, 0.0],
            1,
            0.1 - 0.1875_f64.sqrt() - 0.3,
        ),
        ("concentric circle", &hexagon, &Shape::circle(0.3), [0.0, 0.0, 0.0], 1, -0.1875_f64.sqrt() - 0.3),
        ("circle's centre on segment", &segment, &Shape::circle(0.3), [0.2, 0.0, 0.0], 1, -0.3),
    ];
    for (name, a, b, [x, y, angle], count, separation) in cases {
        let pair = Pair::new(a, b);
        let poses = [pose(0.0, 0.0, 0.0), pose(x, y, angle)];
        assert_eq!(pair.fault(&poses, ROUNDING), None, "{name}");
        for (a, b) in [(0, 1), (1, 0)] {
            let found = pair.manifold(a, b, &poses);
            assert_eq!(found.count, count, "{name}, {a} against {b}: {found:?}");
            let least = found.points[..count as usize].iter().map(|p| p.separation).fold(f32::INFINITY, f32::min);
            assert!((f64::from(least) - separation).abs() < ROUNDING, "{name}: {least}, expected {separation}");
        }
    }
}

/// Moves a pose by one rounding.
fn nudged(pose: &Pose) -> Pose {
    let [x, y] = pose.position;
    Pose { position: [x.next_up(), y.next_down()], ..*pose }
}

/// Between corners that almost touch, rounding makes the connecting direction arbitrary. The normal must be steady, and
/// still separate the shapes. With a larger gap it is the direction from corner to corner.
#[test]
fn corners_that_nearly_touch_have_a_steady_normal() {
    let sharp = |name: &str| ["segment", "triangle", "sliver", "hexagon", "octagon"].contains(&name);
    let shapes: Vec<_> = shapes().into_iter().filter(|(name, _)| sharp(name)).collect();
    let mut random = Random(21);
    let (mut near, mut astray, mut far) = (0, 0, 0);
    for (index, (name_a, a)) in shapes.iter().enumerate() {
        for (name_b, b) in &shapes[index..] {
            let pair = Pair::new(a, b);
            for turn in 0..100 {
                let gap = if turn % 4 == 0 { random.between(1e-3, 9e-3) } else { random.between(1e-5, 4e-4) };
                let mut poses = [0.0; 2].map(|_| pose(0.0, 0.0, random.between(-3.2, 3.2)));
                // B's lowest corner goes over A's highest, unless an edge is about as high.
                let u = DVec2::from_angle(random.between(-3.2, 3.2));
                let highest = |core: &Core, u: DVec2| {
                    let mut points = core.points.clone();
                    points.sort_by(|p, q| q.dot(u).total_cmp(&p.dot(u)));
                    ((points[0] - points[1]).dot(u) > 0.1).then_some(points[0])
                };
                let cores = [pair.core(0, &poses[0]), pair.core(1, &poses[1])];
                let (Some(top), Some(foot)) = (highest(&cores[0], u), highest(&cores[1], -u)) else { continue };
                let place = top + u * gap - foot;
                poses[1].position = place.as_vec2().into();

                let what = format!("{name_a} and {name_b} at {poses:?}, {gap} apart");
                assert_eq!(pair.fault(&poses, ROUNDING), None, "{what}");
                let moved = [poses[0], nudged(&poses[1])];
                let corners =
                    |poses: &[Pose; 2]| (foot + Vec2::from(poses[1].position).as_dvec2() - top).normalize().as_vec2();
                let normal = pair.manifold(0, 1, &poses).normal;
                if gap > 5e-4 {
                    // A face normal is allowed too, if its separation is within the preference.
                    far += u32::from((normal - corners(&poses)).length() < 1e-3);
                    continue;
                }
                assert!((pair.manifold(0, 1, &moved).normal - normal).length() < 1e-6, "{what}: {normal}");
                near += 1;
                astray += u32::from((corners(&moved) - corners(&poses)).length() > 1e-5);
            }
        }
    }
    println!("{near} near, {far} far");
    assert!(near > 300 && far > 100, "{near} near, {far} far: little is tested");
    assert!(astray > near * 9 / 10, "only {astray} of {near} directions from corner to corner went astray");

    // Segments have no face at their ends.
    let segment = Shape::segment([-1.0, 0.0], [1.0, 0.0]);
    let capsule = Shape::capsule([-0.5, 0.0], [0.5, 0.0], 0.2);
    let corner = std::f32::consts::FRAC_1_SQRT_2;
    let cases = [
        ("segments in line", &segment, [2.0002, 0.0, 0.0], [1.0, 0.0]),
        ("segments at a right angle", &segment, [1.0001, 1.0001, std::f64::consts::FRAC_PI_2], [corner, corner]),
        ("capsules pressed into each other", &capsule, [1.0003, 0.0, 0.0], [1.0, 0.0]),
    ];
    for (name, shape, [x, y, angle], want) in cases {
        let pair = Pair::new(shape, shape);
        let poses = [pose(0.0, 0.0, 0.0), pose(x, y, angle)];
        assert_eq!(pair.fault(&poses, ROUNDING), None, "{name}");
        let found = pair.manifold(0, 1, &poses);
        assert!((found.normal - Vec2::from(want)).length() < 1e-6, "{name}: {found:?}");
        assert_eq!(found.count, 1, "{name}");
    }
}

/// A scene 90 km from the origin gives the same result: everything is relative to A's centre.
#[test]
fn far_from_the_origin() {
    let shapes = shapes();
    let mut random = Random(99);
    for (index, (name_a, a)) in shapes.iter().enumerate() {
        for (name_b, b) in &shapes[index..] {
            let pair = Pair::new(a, b);
            let mut poses = random_poses(&pair, &mut random);
            for pose in &mut poses {
                // Positions that an f32 represents exactly there.
                let far = |x: f32, by: f32| (x * 64.0).round() / 64.0 + by;
                pose.position = [far(pose.position[0], 90_112.0), far(pose.position[1], -65_536.0)];
            }
            assert_eq!(pair.fault(&poses, ROUNDING), None, "{name_a} and {name_b} at {poses:?}");
        }
    }
}

/// A tile 110 m from the centre of its body equals a tile on a body of its own, to the bit.
#[test]
fn far_from_the_centre_of_a_body() {
    let corner = Vec2::new(-100.75, -44.75);
    let tile = Shape::half_box(0.5, 0.25);
    let limb = Shape::capsule([-0.1, -0.2], [0.1, -0.1], 0.05);
    let mut scene = Scene::new("tile");
    let ground = [corner, -corner].map(|at| tile.clone().offset(at.x, at.y));
    scene.add(ground.into_iter().fold(Body::fixed(0.0, 0.0), Body::shape));
    scene.add(Body::fixed(corner.x, corner.y).shape(tile));
    scene.add(Body::dynamic(0.0, 0.0).shape(limb).shape(Shape::circle(0.1)));
    let compiled = Compiled::new(&scene).expect("valid");
    let [ground, alone, limb] = [0, 2, 3].map(|index| &compiled.shapes[index]);
    assert_eq!((ground.offset, alone.offset), (corner.into(), [0.0; 2]));
    assert_ne!(limb.offset, [0.0; 2]);
    let still = |place: Vec2| Pose { position: place.into(), rotation: [1.0, 0.0], ..Pose::default() };
    let mut random = Random(4);
    let (mut touching, mut rounded) = (0, 0);
    for _ in 0..1000 {
        let mut between = |low: f64, high: f64| random.between(low, high) as f32;
        let place = corner + Vec2::new(between(-0.7, 0.7), between(-0.5, 0.5));
        let body =
            Pose { position: place.into(), rotation: Vec2::from_angle(between(-3.2, 3.2)).into(), ..Pose::default() };
        let of = |shape: &Flat, at: Vec2, swap: bool| {
            let (a, b) = if swap { ((limb, body), (shape, still(at))) } else { ((shape, still(at)), (limb, body)) };
            let found = manifold(a.0, b.0, &compiled.vertices, &a.1, &b.1, SPECULATIVE as f32, SLOP);
            (found.normal, found.count, found.points.map(|point| point.separation))
        };
        for swap in [false, true] {
            assert_eq!(of(ground, Vec2::ZERO, swap), of(alone, corner, swap), "{body:?}");
        }
        touching += of(alone, corner, false).1.min(1);
        // Not computed relative to the body's centre first, which would round.
        let turned = Vec2::from(body.rotation).rotate(limb.offset.into());
        rounded += u32::from(place + turned - corner != place - corner + turned);
    }
    assert!(touching > 300 && rounded > 900, "{touching} touch, {rounded} would be rounded");
}

#[test]
fn half_planes() {
    let mut random = Random(5);
    let mut touching = 0;
    for (name, shape) in shapes() {
        for _ in 0..60 {
            let tilt = random.between(-3.2, 3.2);
            let normal = DVec2::from_angle(tilt);
            let offset = random.between(-2.0, 2.0);
            let plane = Shape::half_plane(normal.as_vec2(), offset as f32).offset(0.3, 0.1).rotation(0.2);
            let pair = Pair::new(&shape, &plane);
            assert_eq!(pair.shape(1).kind & GEOMETRY_MASK, HALF_PLANE);
            let turn = random.between(-3.2, 3.2);
            let out = DVec2::from_angle(tilt + turn + 0.2);
            let origin = DVec2::new(1.0, -2.0);
            let surface = origin + DVec2::from_angle(turn).rotate(DVec2::new(0.3, 0.1));
            let angle = if random.unit() < 0.5 {
                tilt + turn + 0.2 - std::f64::consts::FRAC_PI_2
            } else {
                random.between(-3.2, 3.2)
            };
            let mut poses = [pose(0.0, 0.0, angle), pose(origin.x, origin.y, turn)];
            let core = pair.core(0, &poses[0]);
            let goal = random.between(-0.03, 0.03);
            let place =
                out * (goal + offset + surface.dot(out) + core.most(-out)) + out.perp() * random.between(-5.0, 5.0);
            poses[0] = pose(place.x, place.y, angle);
            let core = pair.core(0, &poses[0]);
            let truth = -core.most(-out) - offset - surface.dot(out);
            let found = pair.manifold(0, 1, &poses);
            if truth > SPECULATIVE + ROUNDING {
                assert_eq!(found.count, 0, "{name}: contact at {truth}");
                continue;
            }
            touching += 1;
            assert!(found.count > 0, "{name}: no contact at {truth}");
            assert!((found.normal.as_dvec2() + out).length() < 1e-6, "{name}: {found:?}");
            let points = &found.points[..found.count as usize];
            let least = points.iter().map(|p| f64::from(p.separation)).fold(f64::INFINITY, f64::min);
            assert!((least - truth).abs() < ROUNDING, "{name}: {least}, expected {truth}");
            for point in points {
                let at = place + point.anchor_a.as_dvec2();
                let height = at.dot(out) - offset - surface.dot(out);
                assert!((height - 0.5 * f64::from(point.separation)).abs() < ROUNDING, "{name}: {height}, {found:?}");
                let (off, _) = oracle(&core, &Core::point(at));
                assert!(off.abs() < 0.5 * f64::from(point.separation).abs() + ROUNDING, "{name}: {off}, {found:?}");
            }
        }
    }
    assert!(touching > 200, "{touching} contacts");
    // A box that lies flat touches with two corners, one that stands on a corner with one.
    let pair = Pair::new(&Shape::half_box(0.5, 0.5), &Shape::half_plane([0.0, 1.0], 0.0));
    assert_eq!(pair.manifold(0, 1, &[pose(3.0, 0.5, 0.0), pose(0.0, 0.0, 0.0)]).count, 2);
    assert_eq!(pair.manifold(0, 1, &[pose(3.0, 0.7, 0.785), pose(0.0, 0.0, 0.0)]).count, 1);
}

/// Tests the oracle itself: known distances, and faulty manifolds that it must detect.
#[test]
fn the_oracle_detects_faulty_manifolds() {
    let square = Shape::polygon([[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]]);
    let disc = Shape::circle(0.25);
    let known = [([2.0, 0.0, 0.0], 1.25), ([1.1, 1.3, 0.0], 0.75), ([0.3, 0.1, 0.0], -0.45)];
    for ([x, y, angle], want) in known {
        let pair = Pair::new(&square, &disc);
        let (got, _) = oracle(&pair.core(0, &pose(0.0, 0.0, 0.0)), &pair.core(1, &pose(x, y, angle)));
        assert!((got - want).abs() < 1e-7, "{got}, expected {want}");
    }

    let shape = rounded(regular(5, 0.5), 0.1);
    let pair = Pair::new(&shape, &square);
    let poses = [pose(0.0, 0.0, 0.3), pose(0.75, 0.7, 0.1)];
    let cores = [pair.core(0, &poses[0]), pair.core(1, &poses[1])];
    let (truth, u) = oracle(&cores[0], &cores[1]);
    let moved = u * (-0.01 - truth);
    let poses = [poses[0], pose(0.75 + moved.x, 0.7 + moved.y, 0.1)];
    let cores = [pair.core(0, &poses[0]), pair.core(1, &poses[1])];
    let between = Vec2::from(poses[1].position).as_dvec2();
    let good = pair.manifold(0, 1, &poses);
    let check = |found: &Touch| fault(found, &cores[0], &cores[1], DVec2::ZERO, between, ROUNDING);
    assert_eq!(check(&good), None);
    let broken: [(&str, &dyn Fn(&mut Touch)); 8] = [
        ("no points", &|m| m.count = 0),
        ("normal the other way", &|m| m.normal = -m.normal),
        ("normal turned", &|m| m.normal = Vec2::from_angle(0.3).rotate(m.normal)),
        ("normal too long", &|m| m.normal *= 1.001),
        ("separation off by a millimetre", &|m| m.points[0].separation += 1e-3),
        ("point off", &|m| {
            m.points[0].anchor_a += Vec2::new(0.02, 0.0);
            m.points[0].anchor_b += Vec2::new(0.02, 0.0);
        }),
        ("anchors that do not meet", &|m| m.points[0].anchor_b += Vec2::new(0.001, 0.0)),
        ("a point that is not there", &|m| {
            m.points[m.count as usize - 1].anchor_a += Vec2::new(0.0, 0.5);
            m.points[m.count as usize - 1].anchor_b += Vec2::new(0.0, 0.5);
        }),
    ];
    for (what, breaks) in broken {
        let mut bad = good;
        breaks(&mut bad);
        assert!(check(&bad).is_some(), "{what} was not seen");
    }
    let apart = [poses[0], pose(3.0, 0.0, 0.0)];
    let cores = [pair.core(0, &apart[0]), pair.core(1, &apart[1])];
    let far = fault(&good, &cores[0], &cores[1], DVec2::ZERO, DVec2::new(3.0, 0.0), ROUNDING);
    assert!(far.is_some(), "a contact of what is far apart was not seen");
}
