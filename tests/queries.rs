//! Queries: every geometry against results by hand and against an independent f64 oracle; the grid against brute force;
//! the GPU against the CPU.

mod oracle;
mod slices;

use std::collections::BTreeMap;
use std::sync::OnceLock;

use crate::common::{Backend, near};
use drystone::low_level::gpu::kernel::Patch;
use drystone::low_level::math::rotate;
use drystone::low_level::query::MAX_QUERIES;
use drystone::low_level::types::ShapeData;
use drystone::low_level::{CpuWorld, GpuWorld};
use drystone::{
    AdapterChoice, Answers, Body, Command, Context, Filter, Geometry, Query, QueryBounds, QueryKind, RayHit, Scene,
    Shape, World, WorldError,
};
use drystone_scenes::catalogue;
use glam::Vec2;
use oracle::Rng;

const BACKENDS: [Backend; 3] = [Backend::Cpu1, Backend::Cpu3, Backend::Gpu];

/// Returns the context shared by all tests of a process: its kernels are compiled once.
fn context() -> Context {
    static CONTEXT: OnceLock<Context> = OnceLock::new();
    CONTEXT.get_or_init(|| Context::new(AdapterChoice::Any).expect("an adapter; a software one will do")).clone()
}

fn start(backend: Backend, scene: &Scene) -> World {
    match backend {
        Backend::Cpu1 => CpuWorld::new(scene).unwrap().into(),
        Backend::Cpu3 => CpuWorld::new(scene).unwrap().with_threads(3).unwrap().into(),
        Backend::Gpu => GpuWorld::new(&context(), scene).unwrap().into(),
    }
}

/// Returns a scene with one shape at the origin.
fn alone(shape: Shape) -> Scene {
    let mut scene = Scene::new("alone");
    scene.add(Body::fixed(0.0, 0.0).shape(shape));
    scene
}

type Ray = ([f32; 2], [f32; 2]);

/// A case with its fraction and normal, computed by hand.
struct Case {
    what: &'static str,
    shape: Shape,
    ray: Ray,
    hit: Option<(f32, [f32; 2])>,
}

fn cases() -> Vec<Case> {
    let case = |what, shape: &Shape, from, to, hit| Case { what, shape: shape.clone(), ray: (from, to), hit };
    let diagonal = std::f32::consts::FRAC_1_SQRT_2;
    let circle = Shape::circle(1.0);
    let square = Shape::half_box(1.0, 1.0);
    let rounded = Shape::rounded_box(1.0, 1.0, 0.5);
    let capsule = Shape::capsule([-1.0, 0.0], [1.0, 0.0], 0.5);
    let segment = Shape::segment([-1.0, 0.0], [1.0, 0.0]);
    let triangle = Shape::polygon([[-1.0, -1.0], [1.0, -1.0], [0.0, 1.0]]);
    let floor = Shape::half_plane([0.0, 1.0], 1.0);
    // Intersection of x + y = 0 with the quarter circle at (1, 1): 1 + 0.5/√2 on both axes.
    let corner = 1.0 + 0.5 * diagonal;
    vec![
        case("circle", &circle, [-4.0, 0.0], [4.0, 0.0], Some((0.375, [-1.0, 0.0]))),
        case("circle, backwards", &circle, [4.0, 0.0], [-4.0, 0.0], Some((0.375, [1.0, 0.0]))),
        case("circle, tangent", &circle, [-4.0, 1.0], [4.0, 1.0], Some((0.5, [0.0, 1.0]))),
        case("circle, just missed", &circle, [-4.0, 1.000_001], [4.0, 1.000_001], None),
        case("circle, behind", &circle, [2.0, 0.0], [4.0, 0.0], None),
        case("circle, too short", &circle, [-4.0, 0.0], [-1.001, 0.0], None),
        case("circle, just reached", &circle, [-4.0, 0.0], [-1.0, 0.0], Some((1.0, [-1.0, 0.0]))),
        case("circle, from within", &circle, [0.5, 0.0], [4.0, 0.0], Some((0.0, [-1.0, 0.0]))),
        case("circle, from its boundary", &circle, [1.0, 0.0], [4.0, 0.0], Some((0.0, [-1.0, 0.0]))),
        case("circle, no length inside", &circle, [0.5, 0.0], [0.5, 0.0], Some((0.0, [0.0, 0.0]))),
        case("circle, no length outside", &circle, [1.5, 0.0], [1.5, 0.0], None),
        case("circle, hardly any length", &circle, [0.5, 0.0], [0.5, 1e-30], Some((0.0, [0.0, 0.0]))),
        case("box", &square, [-5.0, 0.5], [5.0, 0.5], Some((0.4, [-1.0, 0.0]))),
        case("box, from above", &square, [0.5, 5.0], [0.5, -5.0], Some((0.4, [0.0, 1.0]))),
        case("box, aslant", &square, [-3.0, -3.0], [1.0, 0.0], Some((2.0 / 3.0, [0.0, -1.0]))),
        case("box, along a face", &square, [-5.0, 1.0], [5.0, 1.0], Some((0.4, [-1.0, 0.0]))),
        case("box, beside a face", &square, [-5.0, 1.001], [5.0, 1.001], None),
        case("box, past a corner", &square, [-2.1, 0.0], [0.0, 2.1], None),
        case("box, from within", &square, [0.0, 0.0], [0.0, 3.0], Some((0.0, [0.0, -1.0]))),
        case("rounded box", &rounded, [-5.0, 0.5], [5.0, 0.5], Some((0.35, [-1.0, 0.0]))),
        case("rounded corner", &rounded, [5.0, 5.0], [-5.0, -5.0], Some(((5.0 - corner) / 10.0, [diagonal, diagonal]))),
        case("rounded corner, in the spike, missed", &rounded, [1.48, 1.48], [1.48, 3.0], None),
        case(
            "rounded corner, from the spike",
            &rounded,
            [1.45, 1.45],
            [0.0, 0.0],
            Some(((1.45 - corner) / 1.45, [diagonal, diagonal])),
        ),
        case(
            "rounded corner, high",
            &rounded,
            [-5.0, 1.3],
            [5.0, 1.3],
            // 0.5² = 0.3² + 0.4² about the corner (−1, 1).
            Some((0.36, [-0.8, 0.6])),
        ),
        case("capsule, side", &capsule, [0.5, 3.0], [0.5, -3.0], Some((2.5 / 6.0, [0.0, 1.0]))),
        case("capsule, nose", &capsule, [-5.0, 0.0], [5.0, 0.0], Some((0.35, [-1.0, 0.0]))),
        case("capsule, nose, high", &capsule, [-5.0, 0.3], [5.0, 0.3], Some((0.36, [-0.8, 0.6]))),
        case("capsule, nose, from above", &capsule, [1.3, 3.0], [1.3, -3.0], Some((2.6 / 6.0, [0.6, 0.8]))),
        case("capsule, before its nose", &capsule, [1.6, 3.0], [1.6, -3.0], None),
        case("capsule, parallel", &capsule, [-5.0, 0.51], [5.0, 0.51], None),
        case("capsule, from within its nose", &capsule, [1.3, 0.3], [5.0, 0.3], Some((0.0, [-1.0, 0.0]))),
        case("segment, from above", &segment, [0.5, 1.0], [0.5, -3.0], Some((0.25, [0.0, 1.0]))),
        case("segment, from below", &segment, [0.5, -1.0], [0.5, 3.0], Some((0.25, [0.0, -1.0]))),
        case("segment, at its end", &segment, [1.0, 1.0], [1.0, -1.0], Some((0.5, [0.0, 1.0]))),
        case("segment, past its end", &segment, [1.001, 1.0], [1.001, -1.0], None),
        case("segment, end-on", &segment, [-5.0, 0.0], [5.0, 0.0], Some((0.4, [-1.0, 0.0]))),
        case("segment, parallel", &segment, [-5.0, 0.001], [5.0, 0.001], None),
        case("segment, from upon it", &segment, [0.5, 0.0], [0.5, 1.0], Some((0.0, [0.0, -1.0]))),
        case("polygon, base", &triangle, [0.0, -3.0], [0.0, 1.0], Some((0.5, [0.0, -1.0]))),
        case("polygon, past its vertex", &triangle, [-4.0, 1.001], [4.0, 1.001], None),
        case("polygon, side", &triangle, [4.0, 0.0], [-4.0, 0.0], {
            let slope = 5.0_f32.sqrt();
            Some((3.5 / 8.0, [2.0 / slope, 1.0 / slope]))
        }),
        case("half plane", &floor, [3.0, 5.0], [7.0, 0.0], Some((0.8, [0.0, 1.0]))),
        case("half plane, parallel", &floor, [3.0, 1.5], [70.0, 1.5], None),
        case("half plane, away", &floor, [3.0, 1.5], [3.0, 9.0], None),
        case("half plane, too short", &floor, [3.0, 9.0], [3.0, 1.5], None),
        case("half plane, from within", &floor, [3.0, -5.0], [3.0, 9.0], Some((0.0, [0.0, -1.0]))),
        case("half plane, no length within", &floor, [3.0, -5.0], [3.0, -5.0], Some((0.0, [0.0, 0.0]))),
    ]
}

#[test]
fn rays_hit_at_the_expected_points() {
    for backend in BACKENDS {
        for Case { what, shape, ray: (from, to), hit } in cases() {
            let mut world = start(backend, &alone(shape));
            let answers = world.query(&[Query::ray(from, to)]).unwrap();
            assert_eq!(answers.found(0), []);
            match (answers.hit(0), hit) {
                (None, None) => {}
                (Some(found), Some((fraction, normal))) => {
                    near(what, found.fraction, fraction.into(), 1e-6);
                    // At a tangent point the square root of the rounding error remains.
                    let tolerance = if what.contains("tangent") { 1e-3 } else { 2e-6 };
                    near(what, found.normal.x, normal[0].into(), tolerance);
                    near(what, found.normal.y, normal[1].into(), tolerance);
                    let point = Vec2::from(from) + fraction * (Vec2::from(to) - Vec2::from(from));
                    near(what, found.point.distance(point), 0.0, 1e-5);
                    assert_eq!((found.body, found.shape), (0, 0), "{what}");
                }
                (found, expected) => panic!("{backend:?}, {what}: {found:?}, not {expected:?}"),
            }
        }
    }
}

/// At a vertex either face may be reported.
#[test]
fn a_ray_at_a_vertex_hits_one_of_its_faces() {
    let slope = 5.0_f64.sqrt();
    let apex = Shape::polygon([[-1.0, -1.0], [1.0, -1.0], [0.0, 1.0]]);
    for backend in BACKENDS {
        let mut world = start(backend, &alone(apex.clone()));
        let hit = world.query(&[Query::ray([0.0, 3.0], [0.0, -1.0])]).unwrap().hit(0).expect("the vertex");
        near("at the vertex", hit.fraction, 0.5, 1e-6);
        near("either face", hit.normal.x.abs(), 2.0 / slope, 1e-6);
        near("either face", hit.normal.y, 1.0 / slope, 1e-6);
    }
}

/// Regions that find a shape at the origin, and regions that do not, by hand.
#[test]
fn regions_find_shapes_they_touch() {
    let circle = |x: f32, y: f32, radius: f32| Query::overlap(Geometry::Circle { radius }, [x, y], 0.0);
    let square =
        |x: f32, y: f32, angle: f32| Query::overlap(Geometry::Box { half: Vec2::ONE, radius: 0.0 }, [x, y], angle);
    let rod = |x: f32, y: f32, angle: f32| {
        Query::overlap(Geometry::Capsule { a: Vec2::NEG_X, b: Vec2::X, radius: 0.25 }, [x, y], angle)
    };
    let line =
        |a: [f32; 2], b: [f32; 2]| Query::overlap(Geometry::Segment { a: a.into(), b: b.into() }, [0.0, 0.0], 0.0);
    let wedge = |x: f32, y: f32| {
        let points = vec![Vec2::ZERO, Vec2::new(1.0, -0.2), Vec2::new(1.0, 0.2)];
        Query::overlap(Geometry::Polygon { points, radius: 0.0 }, [x, y], 0.0)
    };
    let eighth = std::f32::consts::FRAC_PI_4;
    let cases: Vec<(Shape, Vec<(Query, bool)>)> = vec![
        (
            Shape::circle(1.0),
            vec![
                (Query::point([0.6, 0.7]), true),
                (Query::point([1.0, 0.0]), true),
                (Query::point([0.8, 0.8]), false),
                (circle(2.0, 0.0, 1.0), true),
                (circle(2.01, 0.0, 1.0), false),
                (square(1.9, 0.0, 0.0), true),
                (square(1.8, 1.8, 0.0), false),
                (rod(0.0, 1.25, 0.0), true),
                (rod(0.0, 1.26, 0.0), false),
                (rod(2.24, 0.0, 0.0), true),
                (line([1.5, -2.0], [0.5, 2.0]), true),
                (line([1.5, -2.0], [1.5, 2.0]), false),
                (wedge(0.99, 0.0), true),
                (wedge(1.01, 0.0), false),
                (Query::aabb([0.9, 0.9], [2.0, 2.0]), true),
                (Query::aabb([1.01, 0.0], [2.0, 2.0]), false),
                (Query::aabb([1.0, 1.0], [1.0, 1.0]), true),
            ],
        ),
        (
            Shape::half_box(1.0, 1.0),
            vec![
                (Query::point([1.0, 1.0]), true),
                (Query::point([1.001, 1.0]), false),
                (square(2.0, 0.0, 0.0), true),
                (square(2.0, 2.0, 0.0), true),
                (square(2.001, 0.0, 0.0), false),
                (square(2.4, 0.0, eighth), true),
                (square(2.42, 0.0, eighth), false),
                (square(2.0, 2.0, eighth), false),
                (circle(1.7, 1.7, 1.0), true),
                (circle(1.72, 1.72, 1.0), false),
                (circle(0.0, 0.0, 0.1), true),
                (rod(1.6, 1.6, 3.0 * eighth), false),
                (rod(1.1, 1.1, 3.0 * eighth), true),
                (line([-5.0, 0.0], [5.0, 0.0]), true),
                (line([0.0, 0.0], [0.1, 0.0]), true),
                (line([1.0, 3.0], [3.0, 1.0]), false),
                (wedge(1.0, 0.0), true),
            ],
        ),
        (
            Shape::capsule([-1.0, 0.0], [1.0, 0.0], 0.5),
            vec![
                (Query::point([1.5, 0.0]), true),
                (Query::point([1.4, 0.4]), false),
                (Query::point([1.3, 0.39]), true),
                (Query::point([0.0, 0.5]), true),
                (rod(2.75, 0.0, 0.0), true),
                (rod(2.8, 0.0, 0.0), false),
                (rod(0.0, 0.0, 2.0 * eighth), true),
                (rod(0.0, 0.7, 0.0), true),
                (rod(0.0, 0.8, 0.0), false),
                (circle(1.9, 0.0, 0.5), true),
                (circle(2.1, 0.0, 0.5), false),
            ],
        ),
        (
            Shape::segment([-1.0, 0.0], [1.0, 0.0]),
            vec![
                (Query::point([0.5, 0.0]), true),
                (Query::point([1.5, 0.0]), false),
                (Query::point([0.5, 0.001]), false),
                (line([0.0, -1.0], [0.0, 1.0]), true),
                (line([0.0, 0.0], [0.0, 1.0]), true),
                (line([1.0, 0.0], [3.0, 0.0]), true),
                (line([1.1, 0.0], [3.0, 0.0]), false),
                (line([0.5, 0.0], [3.0, 0.0]), true),
                (line([1.1, -1.0], [1.1, 1.0]), false),
                (line([-1.0, 0.1], [1.0, 0.1]), false),
                (square(0.0, 1.0, 0.0), true),
                (square(0.0, 1.1, 0.0), false),
            ],
        ),
        (
            Shape::half_plane([0.0, 1.0], 1.0),
            vec![
                (Query::point([1e4, 1.0]), true),
                (Query::point([1e4, 1.1]), false),
                (circle(-1e3, 2.0, 1.0), true),
                (circle(-1e3, 2.1, 1.0), false),
                (square(0.0, 2.4, eighth), true),
                (square(0.0, 2.5, eighth), false),
                (rod(3.0, 2.2, 2.0 * eighth), true),
                (line([0.0, 1.5], [1.0, 0.5]), true),
                (Query::aabb([0.0, 0.5], [1.0, 3.0]), true),
                (Query::aabb([0.0, 1.1], [1.0, 3.0]), false),
            ],
        ),
    ];
    for backend in BACKENDS {
        for (shape, cases) in &cases {
            let mut world = start(backend, &alone(shape.clone()));
            let queries: Vec<Query> = cases.iter().map(|(query, _)| query.clone()).collect();
            let answers = world.query(&queries).unwrap();
            for (index, (query, found)) in cases.iter().enumerate() {
                assert_eq!(answers.found(index).len(), usize::from(*found), "{backend:?}: {shape:?}, {query:?}");
                assert_eq!(answers.hit(index), None);
            }
        }
    }
}

/// Compares answers and returns the number of differences, which rounding may cause.
fn compare(what: &str, a: &Answers, b: &Answers, queries: &[Query], scale: f32) -> usize {
    assert_eq!(a.len(), queries.len());
    assert_eq!(b.len(), queries.len());
    let mut ties = 0;
    for (index, query) in queries.iter().enumerate() {
        if let QueryKind::Ray { from, to } = &query.kind {
            let tolerance = 4e-6 * (scale + from.distance(*to)) / from.distance(*to).max(1e-3);
            match (a.hit(index), b.hit(index)) {
                (Some(a), Some(b)) => {
                    assert!((a.fraction - b.fraction).abs() <= tolerance, "{what}, {query:?}: {a:?}, {b:?}");
                    ties += usize::from(a.shape != b.shape);
                }
                (a, b) => ties += usize::from(a.is_some() != b.is_some()),
            }
        }
        if let QueryKind::Cast { motion, .. } = &query.kind {
            let tolerance = 4e-5 * (scale + motion.length()) / motion.length().max(1e-2);
            match (a.hit(index), b.hit(index)) {
                (Some(a), Some(b)) if a.shape == b.shape => {
                    assert!((a.fraction - b.fraction).abs() <= tolerance, "{what}, {query:?}: {a:?}, {b:?}");
                    assert!((a.depth - b.depth).abs() <= 1e-4 * scale.max(1.0), "{what}, {query:?}: {a:?}, {b:?}");
                }
                (a, b) => ties += usize::from(a.is_some() || b.is_some()),
            }
        }
        if let QueryKind::RayAll { from, to } = &query.kind {
            let tolerance = 4e-6 * (scale + from.distance(*to)) / from.distance(*to).max(1e-3);
            let by_shape = |answers: &Answers| -> BTreeMap<usize, f32> {
                answers.hits(index).iter().map(|hit| (hit.shape, hit.fraction)).collect()
            };
            let (a, b) = (by_shape(a), by_shape(b));
            ties += usize::from(!a.keys().eq(b.keys()));
            for (shape, fraction) in &a {
                let other = b.get(shape).unwrap_or(fraction);
                assert!((fraction - other).abs() <= tolerance, "{what}, {query:?}, {shape}: {fraction}, {other}");
            }
        }
        ties += usize::from(a.found(index) != b.found(index));
    }
    ties
}

/// Returns the approximate extent of a world's bodies, m.
fn span(world: &mut World) -> (Vec2, Vec2) {
    let poses = world.snapshot().unwrap().poses;
    let low = poses.iter().fold(Vec2::INFINITY, |low, pose| low.min(pose.position.into()));
    let high = poses.iter().fold(Vec2::NEG_INFINITY, |high, pose| high.max(pose.position.into()));
    (low - 2.0, high + 2.0)
}

/// Returns the same state on the CPU and on the GPU, after some steps on the CPU.
fn both(scene: &Scene, steps: usize) -> (CpuWorld, GpuWorld) {
    let mut cpu = CpuWorld::new(scene).unwrap();
    for _ in 0..steps {
        cpu.step().unwrap();
    }
    let mut gpu = GpuWorld::new(&context(), scene).unwrap();
    gpu.restore(&cpu.snapshot()).unwrap();
    (cpu, gpu)
}

/// Maximum share of answers that rounding may decide.
const TIES: f32 = 1e-3;

fn agree(name: &str, scene: &Scene, steps: usize, seed: u64, count: usize) {
    let (mut cpu, mut gpu) = both(scene, steps);
    let (low, high) = span(&mut World::from(CpuWorld::from_compiled(cpu.compiled().clone())));
    let scale = low.abs().max(high.abs()).max_element();
    let queries = Rng::new(seed).queries(low, high, count);
    let grid = cpu.query(&queries).unwrap();
    assert_eq!(grid, cpu.query_brute(&queries).unwrap(), "{name}: the grid and all shapes");
    let hits = (0..count).filter(|&index| grid.hit(index).is_some()).count();
    let found: usize = (0..count).map(|index| grid.found(index).len()).sum();
    assert!(hits > count / 20 && found > count / 20, "{name}: {hits} hits and {found} finds show little");
    let ties = compare(name, &grid, &gpu.query(&queries).unwrap(), &queries, scale);
    println!("{name}: {hits} hits, {found} found, {ties} of {count} decided by rounding");
    assert!(ties as f32 <= TIES * count as f32, "{name}: {ties} of {count} differ between CPU and GPU");
    let casts = Rng::new(seed + 1).casts(low, high, count / 4);
    let grid = cpu.query(&casts).unwrap();
    assert_eq!(grid, cpu.query_brute(&casts).unwrap(), "{name}: casts by the grid and all shapes");
    let hits = (0..casts.len()).filter(|&index| grid.hit(index).is_some()).count();
    assert!(hits > casts.len() / 20, "{name}: {hits} hits of casts show little");
    let ties = compare(name, &grid, &gpu.query(&casts).unwrap(), &casts, scale);
    assert!(ties as f32 <= 1.0 + TIES * count as f32, "{name}: {ties} casts differ between CPU and GPU");
}

#[test]
fn grid_brute_force_and_gpu_agree_on_random_scenes() {
    for seed in 1..=4 {
        let mut rng = Rng::new(seed);
        let scene = rng.scene(200);
        for steps in [0, 40] {
            agree(&format!("random {seed} after {steps}"), &scene, steps, seed + 100, 4000);
        }
    }
}

#[test]
fn grid_brute_force_and_gpu_agree_on_piles() {
    agree("pyramid", &catalogue::build("large_pyramid:base=30").unwrap(), 30, 7, 4000);
    agree("tumbler", &catalogue::build("tumbler:grid=12").unwrap(), 60, 8, 4000);
    agree("circles", &catalogue::build("confined").unwrap(), 60, 9, 4000);
}

#[test]
fn answers_agree_far_from_the_origin_and_beyond_the_torus() {
    let mut scene = Rng::new(5).scene(60);
    for body in scene.bodies.iter_mut().filter(|body| !oracle::is_half_plane(body)) {
        body.position += Vec2::new(8e4, -7e4);
    }
    agree("far", &scene, 20, 50, 3000);
    // Bodies that leave: the torus is sized for their initial positions.
    let mut scene = Rng::new(6).scene(80).gravity(0.0, 0.0);
    scene.bodies.retain(|body| !oracle::is_half_plane(body));
    for (index, body) in scene.bodies.iter_mut().enumerate() {
        body.velocity = 300.0 * Vec2::from_angle(index as f32);
    }
    let (mut cpu, mut gpu) = both(&scene, 60);
    let reach = Vec2::splat(400.0);
    let queries = Rng::new(60).queries(-reach, reach, 3000);
    let grid = cpu.query(&queries).unwrap();
    assert_eq!(grid, cpu.query_brute(&queries).unwrap());
    // Rays at each shape, since random rays would miss them.
    let poses = cpu.snapshot().poses;
    let middle = |shape: &ShapeData| {
        let pose = &poses[shape.body as usize];
        Vec2::from(pose.position) + rotate(pose.rotation.into(), shape.offset.into())
    };
    let aimed: Vec<Query> = cpu.compiled().shapes.iter().map(|shape| Query::ray([3.0, 4.0], middle(shape))).collect();
    let hits = cpu.query(&aimed).unwrap();
    assert_eq!(hits, cpu.query_brute(&aimed).unwrap());
    let struck = (0..aimed.len()).filter(|&ray| hits.hit(ray).is_some()).count();
    assert!(struck > aimed.len() * 9 / 10, "{struck} of {}", aimed.len());
    for (queries, answers) in [(&queries, &grid), (&aimed, &hits)] {
        assert!(compare("wrap", answers, &gpu.query(queries).unwrap(), queries, 400.0) <= 3);
    }
}

/// Checks rays, points and overlaps against independent f64 arithmetic. Returns the number of wrong answers.
fn against_oracle(cpu: &mut CpuWorld, queries: &[Query], tolerance: f64) -> usize {
    let answers = cpu.query(queries).unwrap();
    let snapshot = cpu.snapshot();
    let world = oracle::World::new(cpu.compiled(), &snapshot.poses);
    (0..queries.len()).filter(|&index| !world.confirms(&queries[index], index, &answers, tolerance)).count()
}

#[test]
fn the_oracle_confirms_the_answers() {
    for seed in 11..=14 {
        let scene = Rng::new(seed).scene(60);
        let mut cpu = CpuWorld::new(&scene).unwrap();
        let mut queries = Rng::new(seed + 100).queries(Vec2::splat(-12.0), Vec2::splat(12.0), 1500);
        queries.extend(Rng::new(seed + 200).casts(Vec2::splat(-12.0), Vec2::splat(12.0), 600));
        for _ in 0..20 {
            cpu.step().unwrap();
        }
        assert_eq!(against_oracle(&mut cpu, &queries, 2e-5), 0, "seed {seed}");
    }
}

/// Negative control: after further steps, the oracle rejects the earlier answers.
#[test]
fn the_oracle_denies_other_answers() {
    let scene = Rng::new(11).scene(60);
    let mut cpu = CpuWorld::new(&scene).unwrap();
    let queries = Rng::new(111).queries(Vec2::splat(-12.0), Vec2::splat(12.0), 1500);
    let casts = Rng::new(211).casts(Vec2::splat(-12.0), Vec2::splat(12.0), 500);
    let (before, casts_before) = (cpu.query(&queries).unwrap(), cpu.query(&casts).unwrap());
    for _ in 0..5 {
        cpu.step().unwrap();
    }
    let snapshot = cpu.snapshot();
    let world = oracle::World::new(cpu.compiled(), &snapshot.poses);
    let denied = (0..queries.len()).filter(|&index| !world.confirms(&queries[index], index, &before, 2e-5)).count();
    assert!(denied > 50, "only {denied} of 1500 denied");
    let is_denied = |&index: &usize| !world.confirms(&casts[index], index, &casts_before, 2e-5);
    let denied = (0..casts.len()).filter(is_denied).count();
    assert!(denied > 20, "only {denied} of 500 casts denied");
    // So does the comparison of two backends.
    let after = cpu.query(&queries).unwrap();
    let changed = (0..queries.len())
        .filter(|&index| before.hit(index) != after.hit(index) || before.found(index) != after.found(index))
        .count();
    assert!(changed > 50, "only {changed} of 1500 changed");
}

/// Negative control: wrong shaders give other answers.
#[test]
fn a_wrong_query_shader_is_detected() {
    let scene = Rng::new(21).scene(150);
    let mut cpu = CpuWorld::new(&scene).unwrap();
    let mut queries = Rng::new(121).queries(Vec2::splat(-15.0), Vec2::splat(15.0), 4000);
    queries.extend(Rng::new(122).casts(Vec2::splat(-15.0), Vec2::splat(15.0), 500));
    let right = cpu.query(&queries).unwrap();
    for (shader, from, to) in [
        (
            "ray",
            "if slices >= cells / SLICE_CELLS ||",
            "if slices >= cells / SLICE_CELLS {\n        return nearest;\n    }\n    if",
        ),
        ("region", "keep(bitcast<u32>(hit.fraction), emits, item + 1u);", "keep(0u, emits, item + 1u);"),
        ("ray", "let left = cell_of(grid, min(here, there) - reach);", "let left = cell_of(grid, min(here, there));"),
        ("ray", "if enter > nearest.fraction {", "if enter > 0.5 * nearest.fraction {"),
        (
            "ray",
            "let corner = corner_of(shape, of_sum, select(next, face, along < 0.0));",
            "let corner = vec2<f32>(1e6);",
        ),
        ("ray", "exit = min(height / -rate, exit);", "exit = min(height / rate, exit);"),
        ("ray", "let fraction = max(nearest - sqrt(rest / squared), 0.0);", "let fraction = nearest;"),
        ("ray", "if origin.y <= 0.0 {", "if origin.y <= 0.5 {"),
        ("region", "let apart = max(gap(meeting, false), gap(meeting, true));", "let apart = gap(meeting, false);"),
        ("region", "(near(meeting, false, radius * radius) || near(meeting, true, radius * radius))", "true"),
        ("ray", "(mask & shapes[shape].category) != 0u && ", ""),
        (
            "region",
            "return Aabb(center + low - radius, center + high + radius);",
            "return Aabb(center + low, center + high);",
        ),
        ("region", "visit(region, bounds, rest_of_row(level, range, row), emit", "visit(region, bounds, Run(), emit"),
        ("query", "let turns = cross_2d(edge, other_edge);", "let turns = cross_2d(other_edge, edge);"),
        ("query", "first = cast_run(ray, index, bounds, reach, run, first);", ""),
    ] {
        let patch = Patch { shader, from, to };
        let mut gpu = GpuWorld::patched(&context(), &scene, &[patch]).unwrap();
        let wrong = gpu.query(&queries).unwrap();
        let differs = (0..queries.len()).any(|index| {
            let fractions = [&right, &wrong].map(|answers| answers.hit(index).map_or(2.0, |hit| hit.fraction));
            (fractions[0] - fractions[1]).abs() > 1e-3
                || right.hits(index).len() != wrong.hits(index).len()
                || right.found(index).len().abs_diff(wrong.found(index).len()) > 0
        });
        let many = compare_count(&right, &wrong, queries.len());
        assert!(differs && many > 4, "{shader}: {from} → {to}: {many} answers differ");
    }
}

/// Returns the number of answers with other shapes, no shapes, or another position.
fn compare_count(a: &Answers, b: &Answers, count: usize) -> usize {
    let place = |answers: &Answers, index: usize| answers.hit(index).map_or(2.0, |hit| hit.fraction);
    (0..count)
        .filter(|&index| {
            let differs =
                (place(a, index) - place(b, index)).abs() > 1e-4 || a.hits(index).len() != b.hits(index).len();
            differs || a.found(index) != b.found(index)
        })
        .count()
}

#[test]
fn of_two_shapes_at_the_same_fraction_the_first_is_hit() {
    let mut scene = Scene::new("twins");
    for _ in 0..5 {
        scene.add(Body::fixed(3.0, 0.0).shape(Shape::circle(1.0)).shape(Shape::half_box(1.0, 1.0)));
    }
    for backend in BACKENDS {
        let mut world = start(backend, &scene);
        let answers = world.query(&[Query::ray([0.0, 0.0], [4.0, 0.0]), Query::point([3.0, 0.5])]).unwrap();
        let hit = answers.hit(0).unwrap();
        assert_eq!((hit.body, hit.shape, hit.fraction), (0, 0, 0.5));
        let found: Vec<(usize, usize)> = answers.found(1).iter().map(|found| (found.body, found.shape)).collect();
        assert_eq!(found, (0..10).map(|shape| (shape / 2, shape)).collect::<Vec<_>>());
    }
}

#[test]
fn filters_select_shapes() {
    let filters = [
        Filter { category: 1, mask: u32::MAX, group: 0 },
        Filter { category: 2, mask: u32::MAX, group: 0 },
        Filter { category: 4, mask: 8, group: 0 },
        Filter { category: 1, mask: 0, group: 7 },
    ];
    let mut scene = Scene::new("filters");
    scene.add(Body::fixed(0.0, 0.0).shape(Shape { filter: filters[1], ..Shape::half_plane([1.0, 0.0], -1.0) }));
    for (x, filter) in (0_u8..).zip(filters) {
        scene.add(Body::fixed(f32::from(x) * 3.0, 0.0).shape(Shape { filter, ..Shape::circle(1.0) }));
    }
    let cases = [
        // Default filter: finds all but the one that collides only with category 8 and the one without a mask.
        (Filter::default(), vec![0, 1, 2], Some(1)),
        (Filter { mask: 2, ..Filter::default() }, vec![0, 2], Some(2)),
        (Filter { category: 8, ..Filter::default() }, vec![0, 1, 2, 3], Some(1)),
        (Filter { category: 0, mask: 0, group: 7 }, vec![4], Some(4)),
        (Filter { group: -7, ..Filter::default() }, vec![0, 1, 2], Some(1)),
        (Filter { mask: 0, ..Filter::default() }, vec![], None),
    ];
    for backend in BACKENDS {
        let mut world = start(backend, &scene);
        for (filter, bodies, first) in &cases {
            let batch = [
                Query::aabb([-5.0, -1.0], [20.0, 1.0]),
                Query::overlap(Geometry::Box { half: Vec2::new(15.0, 0.1), radius: 0.1 }, [0.0, 0.0], 0.0),
                Query::ray([-0.99, 0.0], [20.0, 0.0]),
            ]
            .map(|query| query.filter(*filter));
            let answers = world.query(&batch).unwrap();
            for index in 0..2 {
                let found: Vec<usize> = answers.found(index).iter().map(|found| found.body).collect();
                assert_eq!(found, *bodies, "{backend:?}, {filter:?}");
            }
            assert_eq!(answers.hit(2).map(|hit| hit.body), *first, "{backend:?}, {filter:?}");
        }
    }
}

#[test]
fn small_worlds_and_empty_batches() {
    for backend in BACKENDS {
        let mut nothing = start(backend, &Scene::new("nothing"));
        assert!(nothing.query(&[]).unwrap().is_empty());
        let batch =
            [Query::ray([0.0, 0.0], [1e5, 1e5]), Query::point([0.0, 0.0]), Query::aabb([-1e5, -1e5], [1e5, 1e5])];
        let answers = nothing.query(&batch).unwrap();
        assert_eq!(answers.len(), 3);
        assert!((0..3).all(|index| answers.hit(index).is_none() && answers.found(index).is_empty()));
        assert_eq!((answers.hit(99), answers.found(99).len()), (None, 0));
        nothing.step().unwrap();
        assert_eq!(nothing.query(&batch).unwrap(), answers);

        let mut one = start(backend, &alone(Shape::circle(1.0)));
        let answers = one.query(&batch).unwrap();
        assert_eq!(answers.hit(0).map(|hit| hit.fraction), Some(0.0));
        assert_eq!((answers.found(1).len(), answers.found(2).len()), (1, 1));
        // 282 km, and the only body on the way is as wide as a house.
        let long = one.query(&[Query::ray([-1e5, -1e5], [1e5, 1e5])]).unwrap().hit(0).expect("in the middle");
        near("half way", long.fraction, 0.5, 1e-5);
    }
}

#[test]
fn errors_name_the_invalid_query() {
    let good = Query::point([0.0, 0.0]);
    let nan = f32::NAN;
    let cases: Vec<(Query, &str)> = vec![
        (Query::ray([nan, 0.0], [1.0, 0.0]), "query 1: from[0] is not a number (NaN); expected a coordinate"),
        (Query::ray([0.0, 0.0], [1.0, f32::INFINITY]), "query 1: to[1] is infinite; expected a coordinate"),
        (Query::ray([0.0, 0.0], [2e7, 0.0]), "query 1: to[0] is 2e7; expected a coordinate from -1e7 to 1e7 m"),
        (Query::point([0.0, -1e8]), "query 1: at[1] is -1e8; expected"),
        (Query::aabb([0.0, 2.0], [1.0, 1.0]), "query 1: min[1] is 2, above max[1], which is 1; expected"),
        (Query::aabb([0.0, nan], [1.0, 1.0]), "query 1: min[1] is not a number (NaN)"),
        (
            Query::overlap(Geometry::Circle { radius: 0.0 }, [0.0, 0.0], 0.0),
            "query 1: shape.circle.radius is 0; expected a length",
        ),
        (
            Query::overlap(Geometry::Circle { radius: 1.0 }, [0.0, 0.0], nan),
            "query 1: angle is not a number (NaN); expected an angle",
        ),
        (
            Query::overlap(Geometry::Circle { radius: 1.0 }, [nan, 0.0], 0.0),
            "query 1: position[0] is not a number (NaN)",
        ),
        (
            Query::overlap(Geometry::HalfPlane { normal: Vec2::Y, offset: 0.0 }, [0.0, 0.0], 0.0),
            "query 1: shape is a half plane; expected a shape that ends somewhere",
        ),
        (
            Query::overlap(
                Geometry::Polygon { points: vec![Vec2::ZERO, Vec2::X, Vec2::new(2.0, 0.0)], radius: 0.0 },
                [0.0, 0.0],
                0.0,
            ),
            "query 1: shape.polygon.points has no area; expected corners",
        ),
        (
            Query::overlap(Geometry::Segment { a: Vec2::ONE, b: Vec2::ONE }, [0.0, 0.0], 0.0),
            "query 1: shape.segment has ends 0 m apart; expected",
        ),
    ];
    let many = vec![good.clone(); MAX_QUERIES + 1];
    for backend in BACKENDS {
        let mut world = start(backend, &alone(Shape::circle(1.0)));
        for (bad, message) in &cases {
            let error = world.query(&[good.clone(), bad.clone(), good.clone()]).expect_err(message).to_string();
            assert!(error.starts_with(message), "{error}, not {message}");
        }
        let error = world.query(&many).expect_err("too many").to_string();
        assert_eq!(error, "query 4194304: is one of 4194305; expected at most 4194304 in a batch");
        assert_eq!(world.query(std::slice::from_ref(&good)).unwrap().found(0).len(), 1, "and the world can be used");
    }
}

#[test]
fn a_hundred_thousand_rays_at_once() {
    let scene = catalogue::build("large_pyramid:base=20").unwrap();
    let (mut cpu, mut gpu) = both(&scene, 10);
    let queries = Rng::new(77).rays(Vec2::new(-15.0, -2.0), Vec2::new(15.0, 25.0), 100_000);
    let answers = cpu.query(&queries).unwrap();
    assert_eq!(cpu.with_threads(3).unwrap().query(&queries).unwrap(), answers, "for any number of threads");
    let hits = (0..queries.len()).filter(|&index| answers.hit(index).is_some()).count();
    assert!(hits > 30_000, "{hits} hits");
    let ties = compare("many", &answers, &gpu.query(&queries).unwrap(), &queries, 25.0);
    assert!(ties < 100, "{ties} of 100000 decided by rounding");
}

/// Many small queries and a few that find everything: more results than the initial capacity.
#[test]
fn no_result_is_dropped_beyond_the_capacity() {
    let scene = catalogue::build("large_pyramid:base=30").unwrap();
    let (mut cpu, mut gpu) = both(&scene, 0);
    let all = Query::aabb([-1e5, -1e5], [1e5, 1e5]);
    let shapes = cpu.compiled().shapes.len();
    let mut batch = Rng::new(78).queries(Vec2::splat(-20.0), Vec2::splat(20.0), 500);
    batch.extend(vec![all.clone(); 40]);
    let (expected, found) = (cpu.query(&batch).unwrap(), gpu.query(&batch).unwrap());
    assert_eq!(gpu.query_repeats(), 1, "40 times {shapes} items fit no guess");
    assert!((500..540).all(|index| found.found(index).len() == shapes));
    assert!(compare("grown", &expected, &found, &batch, 30.0) <= 1);
    assert_eq!(gpu.query(&batch).unwrap(), found, "the next time there is room");
    assert_eq!(gpu.query_repeats(), 1);
    // Exactly the capacity is not too much: 4 per region, and at least 1024.
    let mut small = GpuWorld::new(&context(), &scene).unwrap();
    let exact: Vec<Query> = vec![all; 2];
    assert!(2 * shapes <= 1024 && 3 * shapes > 1024, "{shapes} shapes");
    assert_eq!(small.query(&exact).unwrap().found(1).len(), shapes);
    assert_eq!(small.query_repeats(), 0);
    let mut small = GpuWorld::new(&context(), &scene).unwrap();
    let more = vec![exact[0].clone(); 3];
    let answers = small.query(&more).unwrap();
    assert!((0..3).all(|index| answers.found(index).len() == shapes));
    assert_eq!(small.query_repeats(), 1);
}

/// A batch that does not fit the buffers of a small device is split, without a visible effect.
#[test]
fn a_large_batch_is_split() {
    let scene = catalogue::build("large_pyramid:base=20").unwrap();
    let all = Query::aabb([-1e5, -1e5], [1e5, 1e5]);
    let mut batch = Rng::new(80).queries(Vec2::splat(-15.0), Vec2::splat(15.0), 1500);
    for index in 0..60 {
        batch.insert(25 * index, all.clone());
    }
    let mut whole = GpuWorld::new(&context(), &scene).unwrap();
    let mut cut = GpuWorld::new(&context(), &scene).unwrap().with_query_limit(16 << 10);
    let expected = whole.query(&batch).unwrap();
    assert_eq!(cut.query(&batch).unwrap(), expected);
    let ([one, _], [many, _]) = (whole.query_effort(), cut.query_effort());
    assert!(one <= 3 && many > 12, "{one} and {many} pieces");
    assert!(cut.query_repeats() > 2, "a piece that finds more than a buffer holds is cut again");
    // Each part has its own queries, or the same batch in reverse order would have the same answers.
    let turned: Vec<Query> = batch.iter().rev().cloned().collect();
    let backwards = cut.query(&turned).unwrap();
    assert_ne!(backwards, expected);
    assert_eq!(backwards, whole.query(&turned).unwrap());
    // Submitted before a step, answered after it.
    let mut pending = cut.query_async(&batch).unwrap();
    cut.step().unwrap();
    let answers = loop {
        if let Some(answers) = cut.query_poll(&mut pending).unwrap() {
            break answers;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    };
    assert_eq!(answers, expected);
    whole.step().unwrap();
    assert_eq!(cut.snapshot().unwrap(), whole.snapshot().unwrap());
}

#[test]
fn buffers_are_reused_for_the_next_batch() {
    let scene = catalogue::build("large_pyramid:base=20").unwrap();
    let mut world = GpuWorld::new(&context(), &scene).unwrap();
    let batch = Rng::new(81).queries(Vec2::splat(-15.0), Vec2::splat(15.0), 300);
    let expected = world.query(&batch).unwrap();
    // Results of the first batch determine the capacity for the second.
    assert_eq!(world.query(&batch).unwrap(), expected);
    let [pieces, made] = world.query_effort();
    for _ in 0..10 {
        assert_eq!(world.query(&batch).unwrap(), expected);
        assert_eq!(world.query(&batch[..40]).unwrap().len(), 40);
    }
    let after = world.query_effort();
    assert!(after[0] >= pieces + 40, "{after:?}");
    assert_eq!(after[1], made, "buffers made for batches like those before");
    let more = Rng::new(82).queries(Vec2::splat(-15.0), Vec2::splat(15.0), 3000);
    world.query(&more).unwrap();
    assert!(world.query_effort()[1] > made, "larger ones for a larger batch");
    // The world's own buffers are reallocated meanwhile.
    let added = world.add_bodies(&vec![Body::dynamic(0.0, 40.0).shape(Shape::circle(0.5)); 300]).unwrap();
    let found = world.query(&[Query::point([0.0, 40.0])]).unwrap();
    assert_eq!(found.found(0).len(), added.len());
}

#[test]
fn queries_see_the_present_and_change_nothing() {
    let scene = catalogue::build("large_pyramid:base=8").unwrap();
    for backend in BACKENDS {
        let (mut asked, mut plain) = (start(backend, &scene), start(backend, &scene));
        let everywhere = Rng::new(79).queries(Vec2::splat(-10.0), Vec2::splat(10.0), 200);
        for _ in 0..30 {
            asked.query(&everywhere).unwrap();
            asked.step().unwrap();
            plain.step().unwrap();
        }
        assert_eq!(asked.snapshot().unwrap(), plain.snapshot().unwrap(), "{backend:?}");
        // A teleport happens with the step, not before it.
        let body = scene.bodies.len() - 1;
        let there = Query::point([500.0, 500.0]);
        let away = Command::Teleport { position: Vec2::splat(500.0).into(), angle: 0.0 };
        let early = asked.save().unwrap();
        asked.command(body, away).unwrap();
        assert_eq!(asked.query(std::slice::from_ref(&there)).unwrap().found(0), []);
        asked.step().unwrap();
        assert_eq!(asked.query(std::slice::from_ref(&there)).unwrap().found(0)[0].body, body);
        // After a restore it is gone again, before any step.
        let late = asked.save().unwrap();
        asked.load(&early).unwrap();
        assert_eq!(asked.query(std::slice::from_ref(&there)).unwrap().found(0), []);
        assert_eq!(asked.query(&everywhere).unwrap(), plain.query(&everywhere).unwrap());
        asked.load(&late).unwrap();
        assert_eq!(asked.query(&[there]).unwrap().found(0)[0].body, body);
    }
}

#[test]
fn quarantined_bodies_are_not_hit() {
    let mut scene = Scene::new("lost").gravity(0.0, 0.0);
    scene.add(Body::dynamic(0.0, 0.0).shape(Shape::half_box(1.0, 1.0)));
    scene.add(Body::dynamic(5.0, 0.0).shape(Shape::half_box(1.0, 1.0)));
    scene.add(Body::kinematic(0.0, 0.0).shape(Shape::half_plane([-1.0, 0.0], -9.0)));
    let batch = [
        Query::ray([-5.0, 0.0], [20.0, 0.0]),
        Query::aabb([-1e5, -1e5], [1e5, 1e5]),
        Query::ray([8.0, 0.0], [20.0, 0.0]),
    ];
    for backend in BACKENDS {
        let mut world = start(backend, &scene);
        let mut snapshot = world.snapshot().unwrap();
        snapshot.poses[0].position[0] = f32::NAN;
        snapshot.poses[2].rotation[1] = f32::INFINITY;
        world.restore(&snapshot).unwrap();
        // Before a step quarantines them, and after.
        for steps in 0..2 {
            let answers = world.query(&batch).unwrap();
            assert_eq!(answers.hit(0).map(|hit| hit.body), Some(1), "{backend:?} after {steps}");
            assert_eq!(answers.found(1).iter().map(|found| found.body).collect::<Vec<_>>(), [1]);
            assert_eq!(answers.hit(2), None);
            world.step().unwrap();
        }
    }
}

#[test]
fn late_answers_refer_to_their_submission() {
    let context = context();
    let mut scene = Scene::new("falling");
    for x in 0..40_u8 {
        scene.add(Body::dynamic(f32::from(x) * 3.0, 0.0).velocity(0.0, -60.0).shape(Shape::circle(0.5)));
    }
    let mut world = GpuWorld::new(&context, &scene).unwrap();
    let mut reference = GpuWorld::new(&context, &scene).unwrap();
    // Finds 40 · 60 bodies: more than the capacity, so that the past has to be queried again.
    let mut batch = vec![Query::aabb([-1.0, -0.6], [200.0, 0.6]); 60];
    batch.push(Query::ray([0.0, 20.0], [0.0, -100.0]));
    let mut pending = Vec::new();
    for _ in 0..4 {
        pending.push(world.query_async(&batch).unwrap());
        world.step().unwrap();
    }
    let expected: Vec<Answers> = (0..4)
        .map(|_| {
            let answers = reference.query(&batch).unwrap();
            reference.step().unwrap();
            answers
        })
        .collect();
    assert_eq!(expected[0].found(0).len(), 40);
    assert_eq!(expected[3].found(0).len(), 0, "they have fallen out of the box");
    let heights: Vec<f32> = expected.iter().map(|answers| answers.hit(60).unwrap().point.y).collect();
    assert!(heights.is_sorted_by(|a, b| a > b), "{heights:?}");
    // Polled in reverse order until they are complete.
    for (index, mut pending) in pending.into_iter().enumerate().rev() {
        let mut answers = None;
        for _ in 0..60_000 {
            answers = world.query_poll(&mut pending).unwrap();
            if answers.is_some() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        assert_eq!(answers.as_ref(), Some(&expected[index]), "batch {index}");
        assert_eq!(world.query_poll(&mut pending).unwrap(), answers, "and once more");
        let error = reference.query_poll(&mut pending).expect_err("another world").to_string();
        assert!(error.contains("another world"), "{error}");
    }
    assert!(world.query_repeats() > 0, "the past was asked again");
    // The steps are unaffected by the queries.
    assert_eq!(world.snapshot().unwrap(), reference.snapshot().unwrap());
}

/// A ray that winds around the torus many times without a hit, and one that ends in the last body.
#[test]
fn long_rays_wind_around_the_torus() {
    let mut scene = Scene::new("line");
    for x in 0..300_u16 {
        scene.add(Body::fixed(f32::from(x) * 2.0, 0.0).shape(Shape::circle(0.2)));
    }
    scene.add(Body::fixed(9e4, 3.0).shape(Shape::circle(0.2)));
    for backend in BACKENDS {
        let mut world = start(backend, &scene);
        let hit = |answers: &Answers, index: usize| answers.hit(index).map(|hit: RayHit| hit.body);
        let batch = [
            Query::ray([-1e5, 3.0], [1e5, 3.0]),
            Query::ray([1e5, 3.0], [-1e5, 3.0]),
            Query::ray([-1e5, 5.0], [1e5, 5.0]),
            Query::ray([1e5, 0.0], [-1e5, 0.0]),
            Query::ray([-1e5, 0.0], [1e5, 0.0]),
            Query::ray([598.0, 1e5], [598.0, -1e5]),
            Query::ray([599.0, 1e5], [599.0, -1e5]),
        ];
        let answers = world.query(&batch).unwrap();
        let bodies: Vec<Option<usize>> = (0..batch.len()).map(|index| hit(&answers, index)).collect();
        assert_eq!(bodies, [Some(300), Some(300), None, Some(299), Some(0), Some(299), None], "{backend:?}");
    }
}

/// All hits of a ray, nearest first: each shape once, also if the ray winds around the torus. Without the shader's rule
/// for that it finds some of them twice.
#[test]
fn all_hits_of_a_ray_come_in_order() {
    let mut scene = Scene::new("line");
    for x in 0..300_u16 {
        scene.add(Body::fixed(f32::from(x) * 2.0, 0.0).shape(Shape::circle(0.5)));
    }
    scene.add(Body::fixed(-3.0, 0.0).shape(Shape::half_plane([1.0, 0.0], 0.0)));
    let batch = [
        Query::ray_all([-1.0, 0.0], [599.0, 0.0]),
        Query::ray_all([599.0, 0.0], [-1.0, 0.0]),
        Query::ray_all([-1.0, 0.0], [1e5, 0.0]),
        Query::ray_all([9.0, 3.0], [1.0, -5.0]),
        Query::ray_all([8.0, 0.25], [8.0, 0.25]),
        Query::ray_all([-5.0, 0.0], [0.0, 0.0]),
        Query::ray_all([9.0, 3.0], [9.0, 4.0]),
        Query::ray_all([-2.0, 0.0], [-2.0, 7.0]),
        Query::point([8.0, 0.0]),
        Query::ray([-1.0, 0.0], [599.0, 0.0]),
    ];
    let wound = [
        Query::ray_all([1.5, -60.0], [2.5, 60.0]),
        Query::ray_all([1.5, -1e5], [2.5, 1e5]),
        Query::ray_all([-1e5, -1.0], [1e5, 1.0]),
    ];
    for backend in BACKENDS {
        let mut world = start(backend, &scene);
        let answers = world.query(&batch).unwrap();
        let bodies = |index: usize| -> Vec<usize> { answers.hits(index).iter().map(|hit: &RayHit| hit.body).collect() };
        assert_eq!(bodies(0), (0..300).collect::<Vec<_>>(), "{backend:?}");
        assert_eq!(bodies(1), (0..300).rev().collect::<Vec<_>>(), "{backend:?}");
        assert_eq!(bodies(2), (0..300).collect::<Vec<_>>(), "{backend:?}");
        assert_eq!(bodies(3), [3], "{backend:?}: aslant");
        assert_eq!(bodies(4), [4], "{backend:?}: a point");
        // The half plane, from within; then the first disc.
        assert_eq!((bodies(5), answers.hits(5)[0].fraction), (vec![300, 0], 0.0), "{backend:?}");
        assert!(bodies(6).is_empty() && bodies(7).is_empty(), "{backend:?}");
        assert!(answers.hits(8).is_empty() && answers.found(8).len() == 1);
        assert_eq!(answers.hits(9), &answers.hits(0)[..1], "{backend:?}: the first one");
        assert_eq!(answers.found(0), []);
        for (place, hit) in answers.hits(0).iter().enumerate() {
            near("where", hit.point.x, 2.0 * place as f64 - 0.5, 1e-4);
            // A device may round a quotient by 2.5 units in the last place.
            assert!(hit.normal.distance(Vec2::NEG_X) < 1e-6 && hit.depth == 0.0, "{hit:?}");
        }
        let answers = world.query(&wound).unwrap();
        let bodies = |index: usize| answers.hits(index).iter().map(|hit| hit.body).collect::<Vec<_>>();
        assert_eq!([bodies(0), bodies(1)], [[1], [1]], "{backend:?}");
        let all: Vec<usize> = answers.hits(2).iter().map(|hit| hit.body).collect();
        assert_eq!(all[1..], (0..300).collect::<Vec<_>>(), "{backend:?}: behind the half plane, from within");
        let bounds = |found: usize| QueryBounds { found, ..QueryBounds::default() };
        assert!(world.query_within(&batch[..2], bounds(600)).is_ok());
        match world.query_within(&batch[..2], bounds(599)) {
            Err(WorldError::TooManyFound { index: 1, found, limit: 599 }) => assert!(found >= 600, "{found}"),
            other => panic!("{other:?}"),
        }
    }
    let patch = Patch { shader: "ray", from: " || (TAKES_ONCE && slices > around)", to: "" };
    let mut wrong = GpuWorld::patched(&context(), &scene, &[patch]).unwrap();
    let twice = wrong.query(&wound).unwrap().hits(0).len();
    assert!(twice > 1, "{twice}");
}

/// Queries of every kind leave out the body that they ignore; one that is gone is an error.
#[test]
fn an_ignored_body_is_not_met() {
    let mut scene = Scene::new("two").gravity(0.0, 0.0);
    let first = scene.add(Body::dynamic(0.0, 0.0).shape(Shape::circle(1.0)).shape(Shape::half_box(1.0, 1.0)));
    let second = scene.add(Body::dynamic(3.0, 0.0).shape(Shape::half_box(1.0, 1.0)));
    let all = [
        Query::ray([0.0, 0.0], [9.0, 0.0]),
        Query::ray_all([-9.0, 0.0], [9.0, 0.0]),
        Query::cast(Geometry::Circle { radius: 0.5 }, [0.0, 0.0], 0.0, [9.0, 0.0]),
        Query::aabb([-9.0, -9.0], [9.0, 9.0]),
        Query::overlap(Geometry::Box { half: Vec2::splat(4.0), radius: 0.0 }, [0.0, 0.0], 0.0),
        Query::point([0.0, 0.0]),
    ];
    let met = |answers: &Answers, query: usize| -> Vec<usize> {
        let hits = answers.hits(query).iter().map(|hit| hit.body);
        let mut bodies: Vec<usize> = hits.chain(answers.found(query).iter().map(|found| found.body)).collect();
        bodies.dedup();
        bodies
    };
    for backend in BACKENDS {
        let mut world = start(backend, &scene);
        let answers = world.query(&all).unwrap();
        let bodies: Vec<Vec<usize>> = (0..all.len()).map(|query| met(&answers, query)).collect();
        assert_eq!(bodies, [vec![0], vec![0, 1], vec![0], vec![0, 1], vec![0, 1], vec![0]], "{backend:?}");
        let others: Vec<Query> = all.iter().map(|query| query.clone().ignoring(first)).collect();
        let answers = world.query(&others).unwrap();
        let bodies: Vec<Vec<usize>> = (0..all.len()).map(|query| met(&answers, query)).collect();
        assert_eq!(bodies, [vec![1], vec![1], vec![1], vec![1], vec![1], vec![]], "{backend:?}");
        near("from within", answers.hit(0).unwrap().point.x, 2.0, 1e-5);
        let id = world.body_id(second).unwrap();
        world.remove_bodies(&[id]).unwrap();
        world.add_bodies(&[Body::fixed(3.0, 0.0).shape(Shape::circle(1.0))]).unwrap();
        let error = world.query(&[all[0].clone(), all[0].clone().ignoring(id)]).unwrap_err().to_string();
        assert_eq!(
            error,
            format!("query 1: ignores body {id}, which does not exist; expected the id of a body of the world")
        );
    }
}

/// Removed bodies are not found, added ones are, and late answers refer to the time of their submission.
#[test]
fn late_answers_ignore_later_additions_and_removals() {
    let mut scene = Scene::new("crowd").gravity(0.0, 0.0);
    scene.add(Body::fixed(0.0, -50.0).shape(Shape::half_plane([0.0, 1.0], 0.0)));
    for x in 0..40_u8 {
        let wedge = Shape::polygon([[-0.4, -0.4], [0.4, -0.4], [0.0, 0.4]]);
        scene.add(Body::fixed(f32::from(x), 0.0).shape(wedge).shape(Shape::circle(0.2)));
    }
    let everything = Query::aabb([-1e4, -40.0], [1e4, 1e4]);
    let mut batch = vec![everything; 60];
    batch.extend([Query::ray([-9.0, 0.0], [99.0, 0.0]), Query::ray([7.0, -1.0], [7.0, -99.0])]);
    let bodies = |answers: &Answers| answers.found(0).iter().map(|found| found.body).collect::<Vec<_>>();
    let hit = |answers: &Answers, ray: usize| answers.hit(ray).map(|hit: RayHit| hit.body);
    let newcomers: Vec<Body> =
        (0..200_u8).map(|x| Body::fixed(100.0 + f32::from(x), 5.0).shape(Shape::rounded_box(0.2, 0.3, 0.1))).collect();
    let mut seen = Vec::new();
    for backend in BACKENDS {
        let mut world = start(backend, &scene);
        let pending = if let World::Gpu(gpu) = &mut world { Some(gpu.query_async(&batch).unwrap()) } else { None };
        let before = start(backend, &scene).query(&batch).unwrap();
        assert_eq!((bodies(&before).len(), hit(&before, 60), hit(&before, 61)), (80, Some(1), Some(0)));

        let gone = [0, 1, 8].map(|index| world.body_id(index).unwrap());
        world.remove_bodies(&gone).unwrap();
        let less = world.query(&batch).unwrap();
        assert!(bodies(&less).iter().all(|body| ![0, 1, 8].contains(body)));
        assert_eq!((bodies(&less).len(), hit(&less, 60), hit(&less, 61)), (76, Some(2), None), "{backend:?}");
        world.step().unwrap();
        world.add_bodies(&newcomers).unwrap();
        let more = world.query(&batch).unwrap();
        assert_eq!((bodies(&more).len(), hit(&more, 60), hit(&more, 61)), (276, Some(2), None), "{backend:?}");
        seen.push(bodies(&more));

        if let (Some(mut pending), World::Gpu(gpu)) = (pending, &mut world) {
            let late = loop {
                gpu.context().wait().unwrap();
                if let Some(answers) = gpu.query_poll(&mut pending).unwrap() {
                    break answers;
                }
            };
            assert_eq!(late, before, "as it was asked");
            assert!(gpu.query_repeats() > 1, "the past was asked again");
            assert_eq!(gpu.query(&batch).unwrap(), more, "and the present is as it was");
            gpu.step().unwrap();
        }
    }
    assert!(seen.windows(2).all(|pair| pair[0] == pair[1]), "on every backend the same");
}

/// Fixed boxes, each with categories of its own, are an index of boxes: added, removed and found without a step.
#[test]
fn a_world_of_fixed_boxes_is_an_index_of_boxes() {
    let entry = |x: f32, category: u32| {
        let filter = Filter { category, ..Filter::default() };
        Body::fixed(x, 0.0).shape(Shape::half_box(1.0, 1.0).filter(filter))
    };
    for backend in BACKENDS {
        let mut world = start(backend, &Scene::new("index"));
        let ids = world.add_bodies(&[entry(0.0, 1), entry(5.0, 2), entry(10.0, 1)]).unwrap();
        let found = |world: &mut World, query: &Query| -> Vec<_> {
            world.query(std::slice::from_ref(query)).unwrap().found(0).iter().map(|found| found.id).collect()
        };
        let all = Query::aabb([-0.5, 0.0], [10.5, 0.5]);
        assert_eq!(found(&mut world, &all), ids, "{backend:?}");
        let ones = all.clone().filter(Filter { mask: 1, ..Filter::everything() });
        assert_eq!(found(&mut world, &ones), [ids[0], ids[2]], "{backend:?}");
        let along = world.query(&[Query::ray_all([-2.0, 0.0], [8.0, 0.0])]).unwrap();
        let entered: Vec<_> = along.hits(0).iter().map(|hit| (hit.id, hit.point.x)).collect();
        assert_eq!(entered, [(ids[0], -1.0), (ids[1], 4.0)], "{backend:?}");
        world.remove_bodies(&ids[1..2]).unwrap();
        let moved = world.add_bodies(&[entry(20.0, 2)]).unwrap();
        assert_eq!(found(&mut world, &all), [ids[0], ids[2]], "{backend:?}");
        assert_eq!(found(&mut world, &Query::aabb([19.5, 0.0], [19.6, 0.1])), moved, "{backend:?}");
    }
}

/// Queries of all kinds meet sensors, and none that are solid.
#[test]
fn solid_queries_meet_no_sensors() {
    let mut scene = Scene::new("solid");
    scene.add(Body::fixed(2.0, 0.0).shape(Shape::half_box(0.5, 0.5).sensor()));
    let wall = scene.add(Body::fixed(4.0, 0.0).shape(Shape::half_box(0.5, 5.0)));
    let disc = Geometry::Circle { radius: 0.2 };
    let queries = [
        Query::ray([0.0, 0.0], [9.0, 0.0]),
        Query::cast(disc.clone(), [0.0, 0.0], 0.0, [9.0, 0.0]),
        Query::ray_all([0.0, 0.0], [9.0, 0.0]),
        Query::point([2.0, 0.0]),
        Query::aabb([1.0, -1.0], [3.0, 1.0]),
        Query::overlap(disc, [2.0, 0.0], 0.0),
    ];
    let solid = queries.clone().map(|query| Query { solid: true, ..query });
    for backend in BACKENDS {
        let mut world = start(backend, &scene);
        let seen = [&queries, &solid].map(|queries| {
            let answers = world.query(queries).unwrap();
            let first = [0, 1].map(|at| answers.hit(at).unwrap().body);
            (first, answers.hits(2).len(), [3, 4, 5].map(|at| answers.found(at).len()))
        });
        assert_eq!(seen, [([0, 0], 2, [1, 1, 1]), ([wall, wall], 1, [0, 0, 0])], "{backend:?}");
    }
}
