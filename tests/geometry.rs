//! Geometry of shapes without a world, against brute force in f64 that does not know faces and corners, and against
//! cases by hand.

#![allow(clippy::cast_possible_truncation, reason = "poses are drawn in f64 and used in f32")]

mod oracle;
mod outlines;

use drystone::geometry::{PlacedShape, ShapeDistance, ShapeHit, ShapeImpact, ShapeSweep, mass};
use drystone::{Body, Geometry, Scene, Shape, World};
use glam::{DVec2, Vec2};

use crate::shapes::kit::{Random, regular, rounded, shapes};
use oracle::{Course, Solid, separation};

/// Rounding error of f32 in coordinates of up to 20 m.
const ROUNDING: f64 = 2e-5;

/// A shape with its pose, for both sides.
#[derive(Clone, Debug)]
struct Placed {
    shape: Shape,
    at: Vec2,
    angle: f32,
}

impl Placed {
    fn random(shape: &Shape, random: &mut Random, reach: f64) -> Self {
        let at = DVec2::new(random.between(-reach, reach), random.between(-reach, reach)).as_vec2();
        // Parallel faces now and then.
        let quarter = std::f64::consts::FRAC_PI_4 * random.below(8) as f64;
        let angle = if random.unit() < 0.3 { quarter } else { random.between(-3.2, 3.2) };
        Self { shape: shape.clone(), at, angle: angle as f32 }
    }

    fn ours(&self) -> PlacedShape {
        PlacedShape::new(&self.shape, self.at, self.angle).unwrap()
    }

    fn solid(&self) -> Solid {
        Solid::new(&self.shape, self.at.as_dvec2(), f64::from(self.angle))
    }

    fn course(&self, sweep: &ShapeSweep) -> Course<'_> {
        Course::new(&self.shape, self.at.as_dvec2(), f64::from(self.angle), sweep)
    }
}

/// Returns a half plane, a segment, a link and the shapes of the kit.
fn all_shapes() -> Vec<(&'static str, Shape)> {
    let mut all = shapes();
    let link = Geometry::Link { a: Vec2::new(1.0, 0.0), b: Vec2::new(-1.0, 0.2), before: None, after: None };
    all.push(("link", Shape::new(link)));
    all.push(("half plane", Shape::half_plane(Vec2::from_angle(0.7), 0.4).offset(0.2, 0.1).rotation(0.3)));
    all
}

/// Describes the error of a distance; `None` if it has none.
fn distance_fault(found: &ShapeDistance, a: &Solid, b: &Solid) -> Option<String> {
    let (truth, _) = separation(a, b);
    let normal = found.normal.as_dvec2();
    if (f64::from(found.distance) - truth).abs() > ROUNDING {
        return Some(format!("distance {}, truth {truth}", found.distance));
    }
    if (normal.length() - 1.0).abs() > 1e-5 {
        return Some(format!("normal of length {}", normal.length()));
    }
    let between = (found.point_b - found.point_a).as_dvec2() - normal * f64::from(found.distance);
    if between.length() > ROUNDING {
        return Some(format!("points are {between} off the normal"));
    }
    // A normal between corners is known to the rounding of their positions over their distance, and where a corner is
    // all but over the end of a side to its root.
    let slack = ROUNDING * f64::min(1.0 + 1.0 / truth.abs().max(ROUNDING), 1e3) + 1e-5 * truth.max(0.0);
    let along = a.along(b, normal);
    if along < truth - slack {
        return Some(format!("the normal separates by {along}, best is {truth}"));
    }
    for (name, solid, point) in [("A", a, found.point_a), ("B", b, found.point_b)] {
        let off = solid.distance(point.as_dvec2());
        // A deepest point is on the surface, or deeper where that is inclined.
        if off > ROUNDING || (truth > ROUNDING && off < -ROUNDING) {
            return Some(format!("the point of {name} is {off} from its surface"));
        }
    }
    None
}

#[test]
fn distances_are_those_of_brute_force() {
    let all = all_shapes();
    let mut random = Random(0x5eed_1234_9abc_def1);
    let (mut total, mut apart, mut faults) = (0, 0, Vec::new());
    for (name_a, a) in &all {
        for (name_b, b) in &all {
            for round in 0..24 {
                let reach = if round % 3 == 0 { 8.0 } else { 1.2 };
                let (a, b) = (Placed::random(a, &mut random, reach), Placed::random(b, &mut random, reach));
                let Some(found) = a.ours().distance(&b.ours()) else {
                    assert_eq!((*name_a, *name_b), ("half plane", "half plane"));
                    continue;
                };
                total += 1;
                apart += usize::from(found.distance > 0.0);
                if let Some(fault) = distance_fault(&found, &a.solid(), &b.solid()) {
                    faults.push(format!("{name_a} and {name_b}: {fault}: {a:?} {b:?} {found:?}"));
                }
            }
        }
    }
    println!("{total} pairs, {apart} apart");
    assert!(apart > total / 3 && apart < 9 * total / 10, "{apart} of {total}");
    assert!(faults.is_empty(), "{} of {total}:\n{}", faults.len(), faults[..faults.len().min(10)].join("\n"));
}

/// Negative control: the check notices every field that is wrong.
#[test]
fn wrong_distances_are_noticed() {
    let a = Placed { shape: Shape::half_box(0.5, 0.3), at: Vec2::ZERO, angle: 0.2 };
    let b = Placed { shape: rounded(regular(5, 0.4), 0.1), at: Vec2::new(1.8, 0.7), angle: 1.0 };
    let good = a.ours().distance(&b.ours()).unwrap();
    let fault = |found: ShapeDistance| distance_fault(&found, &a.solid(), &b.solid());
    assert_eq!(fault(good), None);
    let turned = Vec2::from_angle(0.05).rotate(good.normal);
    assert!(fault(ShapeDistance { distance: good.distance + 1e-3, ..good }).is_some());
    assert!(fault(ShapeDistance { normal: turned, point_b: good.point_a + turned * good.distance, ..good }).is_some());
    let slid = good.normal.perp() * 1e-2;
    let slid = ShapeDistance { point_a: good.point_a + slid, point_b: good.point_b + slid, ..good };
    assert!(fault(slid).is_some());
    assert!(fault(ShapeDistance { normal: -good.normal, ..good }).is_some());
}

#[test]
fn distances_by_hand() {
    let place = |shape: &Shape, x: f32, y: f32, angle: f32| PlacedShape::new(shape, [x, y], angle).unwrap();
    let (square, disc) = (Shape::half_box(1.0, 1.0), Shape::circle(0.5));
    let diagonal = place(&square, 0.0, 0.0, 0.0).distance(&place(&disc, 4.0, 5.0, 0.0)).unwrap();
    assert!((diagonal.distance - 4.5).abs() < 1e-6, "{diagonal:?}");
    assert!((diagonal.normal - Vec2::new(0.6, 0.8)).length() < 1e-6, "{diagonal:?}");
    assert!((diagonal.point_a - Vec2::ONE).length() < 1e-6, "{diagonal:?}");
    let deep = place(&square, 0.0, 0.0, 0.0).distance(&place(&disc, 0.0, 0.8, 0.0)).unwrap();
    assert!((deep.distance + 0.7).abs() < 1e-6 && deep.normal == Vec2::Y, "{deep:?}");
    let plane = Shape::half_plane([0.0, 1.0], 1.0);
    let over = place(&plane, 0.0, 2.0, 0.0).distance(&place(&square, 7.0, 5.0, 0.0)).unwrap();
    assert!((over.distance - 1.0).abs() < 1e-6 && (over.normal - Vec2::Y).length() < 1e-6, "{over:?}");
    assert_eq!(place(&plane, 0.0, 0.0, 0.0).distance(&place(&plane, 0.0, 0.0, 1.0)), None);
    // Far out the positions have a rounding of 8 mm, and the shapes none.
    let far = place(&square, 90_000.0, 0.0, 0.0).distance(&place(&square, 90_004.0, 0.0, 0.0)).unwrap();
    assert!((far.distance - 2.0).abs() < 1e-5, "{far:?}");
}

/// Contacts are those of a world, and their least separation is the distance.
#[test]
fn contact_points_are_those_of_a_world() {
    let mut random = Random(77);
    let (mut with_points, mut total) = (0, 0);
    for (name_a, a) in shapes() {
        for (name_b, b) in shapes() {
            for _ in 0..12 {
                let (a, b) = (Placed::random(&a, &mut random, 0.6), Placed::random(&b, &mut random, 0.6));
                let contact = a.ours().contact(&b.ours(), 0.02);
                let distance = a.ours().distance(&b.ours()).unwrap().distance;
                total += 1;
                if contact.points().is_empty() {
                    assert!(distance > 0.019, "{name_a} and {name_b}: no points at {distance}");
                    assert_eq!(contact.normal, Vec2::ZERO);
                    continue;
                }
                with_points += 1;
                let least = contact.points().iter().map(|point| point.separation).fold(f32::MAX, f32::min);
                assert!((least - distance).abs() < 6e-4, "{name_a} and {name_b}: {least}, distance {distance}");
                for point in contact.points() {
                    let half = 0.5 * f64::from(point.separation).abs() + 1e-3;
                    for solid in [a.solid(), b.solid()] {
                        let off = solid.distance(point.point.as_dvec2());
                        assert!(off < half, "{name_a} and {name_b}: {point:?} is {off} from a surface");
                    }
                }
            }
        }
    }
    assert!(with_points > total / 4 && with_points < total, "{with_points} of {total}");
    // One world beside it: the points of its manifold, at the same places.
    let (lower, upper) = (Shape::half_box(1.0, 0.2), Shape::half_box(0.4, 0.3));
    let mut scene = Scene::new("two boxes").gravity(0.0, 0.0);
    scene.add(Body::fixed(3.0, 2.0).angle(0.1).shape(lower.clone()));
    scene.add(Body::dynamic(3.0, 2.49).angle(0.12).shape(upper.clone()));
    let mut world = World::new(&scene).unwrap();
    world.step().unwrap();
    let snapshot = world.snapshot().unwrap();
    let (contact, manifold) = (snapshot.contacts[0], snapshot.manifolds[0]);
    let bodies = [
        Placed { shape: lower, at: Vec2::new(3.0, 2.0), angle: 0.1 },
        Placed { shape: upper, at: Vec2::new(3.0, 2.49), angle: 0.12 },
    ];
    let [a, b] = [contact.body_a, contact.body_b].map(|body| &bodies[body as usize]);
    let ours = a.ours().contact(&b.ours(), 0.02);
    assert_eq!(ours.normal, Vec2::from(manifold.normal));
    assert_eq!(ours.points().len(), (contact.flags & 3) as usize);
    for (ours, theirs) in ours.points().iter().zip(&manifold.points) {
        assert_eq!(ours.separation, theirs.base_separation);
        assert_eq!(ours.point, a.at + Vec2::from(theirs.anchor_a));
    }
}

/// A link touches what is on its right side, and at an end that goes straight on its neighbour has the corner.
#[test]
fn links_have_sides() {
    let link = |after: Option<Vec2>| {
        let geometry = Geometry::Link { a: Vec2::new(1.0, 0.0), b: Vec2::new(-1.0, 0.0), before: None, after };
        PlacedShape::new(&Shape::new(geometry), [0.0, 0.0], 0.0).unwrap()
    };
    let ball = |x: f32, y: f32| PlacedShape::new(&Shape::circle(0.5), [x, y], 0.0).unwrap();
    assert_eq!(link(None).contact(&ball(0.0, 0.4), 0.01).points().len(), 1);
    assert_eq!(link(None).contact(&ball(0.0, -0.4), 0.01).points().len(), 0, "from behind");
    assert_eq!(link(None).contact(&ball(-1.3, 0.3), 0.01).points().len(), 1, "a free end");
    assert_eq!(link(Some(Vec2::new(-2.0, 0.0))).contact(&ball(-1.3, 0.3), 0.01).points().len(), 0, "its neighbour's");
    assert!(link(None).distance(&ball(0.0, -0.4)).unwrap().distance < 0.0, "a distance has no sides");
}

/// Describes the error of a time of impact; `None` if it has none. `truth` is the shapes' motion in f64.
fn impact_fault(found: Option<ShapeImpact>, a: &Course, b: &Course, max_time: f64) -> Option<String> {
    let deep = -2e-3;
    let first = oracle::first_overlap(a, b, max_time, deep);
    let Some(found) = found else {
        return first.map(|time| format!("none, but they overlap by 2 mm at {time}"));
    };
    let time = f64::from(found.time);
    if first.is_some_and(|first| first < time) {
        return Some(format!("at {time}, but they overlap by 2 mm at {first:?}"));
    }
    let (here, _) = separation(&a.at(time), &b.at(time));
    if here > 2e-3 {
        return Some(format!("at {time}, but they are {here} apart"));
    }
    if time > 0.0 {
        for solid in [a.at(time), b.at(time)] {
            let off = solid.distance(found.point.as_dvec2());
            if off.abs() > 2e-3 {
                return Some(format!("the point is {off} from a surface"));
            }
        }
        // The normal parts them.
        let along = a.at(time).along(&b.at(time), found.normal.as_dvec2());
        if along < here - 4e-3 {
            return Some(format!("the normal separates by {along}, best is {here}"));
        }
    }
    None
}

#[test]
fn times_of_impact_are_those_of_brute_force() {
    let all = all_shapes();
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let (mut total, mut hits, mut faults) = (0, 0, Vec::new());
    for (name_a, a) in &all {
        for (name_b, b) in &all {
            for _ in 0..4 {
                let (a, b) = (Placed::random(a, &mut random, 4.0), Placed::random(b, &mut random, 4.0));
                let mut sweep = |from: Vec2, to: Vec2| ShapeSweep {
                    velocity: (to - from) * random.between(0.2, 1.5) as f32
                        + Vec2::new(random.between(-2.0, 2.0) as f32, random.between(-2.0, 2.0) as f32),
                    angular_velocity: if random.unit() < 0.3 { 0.0 } else { random.between(-6.0, 6.0) as f32 },
                    center: Vec2::new(random.between(-0.5, 0.5) as f32, random.between(-0.5, 0.5) as f32),
                };
                let (sweep_a, sweep_b) = (sweep(a.at, b.at), sweep(b.at, a.at));
                let found = a.ours().time_of_impact(&sweep_a, &b.ours(), &sweep_b, 1.5).unwrap();
                if *name_a == "half plane" && *name_b == "half plane" {
                    assert_eq!(found, None);
                    continue;
                }
                total += 1;
                hits += usize::from(found.is_some_and(|found| found.time > 0.0));
                let courses = [a.course(&sweep_a), b.course(&sweep_b)];
                if let Some(fault) = impact_fault(found, &courses[0], &courses[1], 1.5) {
                    faults.push(format!("{name_a} and {name_b}: {fault}: {a:?} {sweep_a:?} {b:?} {sweep_b:?}"));
                }
            }
        }
    }
    println!("{total} pairs, {hits} meet later");
    assert!(hits > total / 4 && hits < total, "{hits} of {total}");
    assert!(faults.is_empty(), "{} of {total}:\n{}", faults.len(), faults[..faults.len().min(10)].join("\n"));
}

/// Negative control: times, points and normals that are wrong are noticed.
#[test]
fn wrong_times_of_impact_are_noticed() {
    let a = Placed { shape: Shape::half_box(0.5, 0.3), at: Vec2::new(-3.0, 0.1), angle: 0.2 };
    let b = Placed { shape: Shape::capsule([-0.6, 0.0], [0.6, 0.0], 0.2), at: Vec2::new(3.0, 0.0), angle: 1.0 };
    let sweeps = [5.0, -5.0].map(|speed| ShapeSweep {
        velocity: Vec2::new(speed, 0.0),
        angular_velocity: 0.5 * speed,
        ..ShapeSweep::default()
    });
    let good = a.ours().time_of_impact(&sweeps[0], &b.ours(), &sweeps[1], 1.0).unwrap().unwrap();
    let courses = [a.course(&sweeps[0]), b.course(&sweeps[1])];
    let fault = |found| impact_fault(found, &courses[0], &courses[1], 1.0);
    assert_eq!(fault(Some(good)), None);
    assert!(fault(None).is_some());
    assert!(fault(Some(ShapeImpact { time: good.time + 1e-3, ..good })).is_some());
    assert!(fault(Some(ShapeImpact { time: good.time - 1e-3, ..good })).is_some());
    assert!(fault(Some(ShapeImpact { point: good.point + Vec2::new(0.1, 0.1), ..good })).is_some());
    assert!(fault(Some(ShapeImpact { normal: -good.normal, ..good })).is_some());
}

#[test]
fn times_of_impact_by_hand() {
    let place = |shape: &Shape, x: f32, y: f32| PlacedShape::new(shape, [x, y], 0.0).unwrap();
    let (disc, still) = (Shape::circle(0.5), ShapeSweep::default());
    // A bullet of 1 cm at 1 km/s through a wall of 1 mm, 40 m away.
    let bullet = place(&Shape::circle(0.01), -40.0, 0.3);
    let fast = ShapeSweep { velocity: Vec2::new(1000.0, 0.0), ..still };
    let wall = place(&Shape::half_box(0.0005, 1.0), 0.0, 0.0);
    let hit = bullet.time_of_impact(&fast, &wall, &still, 1.0).unwrap().unwrap();
    assert!((hit.time - (40.0 - 0.0105) / 1000.0).abs() < 1e-6, "{hit:?}");
    assert!(hit.normal.x > 0.999 && (hit.point - Vec2::new(-0.0005, 0.3)).length() < 1e-3, "{hit:?}");
    // A bar of 2 m turns about its end by 60 rad/s into a disc above: it meets it within a quarter of a turn.
    let bar = place(&Shape::segment([0.0, 0.0], [2.0, 0.0]), 0.0, 0.0);
    let turning = ShapeSweep { angular_velocity: 60.0, ..still };
    let hit = bar.time_of_impact(&turning, &place(&disc, 0.0, 1.5), &still, 1.0).unwrap().unwrap();
    let angle = std::f32::consts::FRAC_PI_2 - (0.5_f32 / 1.5).asin();
    assert!((hit.time * 60.0 - angle).abs() < 1e-3, "{hit:?}, expected {angle}");
    // Turned about its middle instead it reaches 1 m, up to the disc.
    let middle = ShapeSweep { angular_velocity: 60.0, center: Vec2::new(1.0, 0.0), ..still };
    assert_eq!(bar.time_of_impact(&middle, &place(&disc, 1.0, 1.6), &still, 10.0).unwrap(), None);
    assert_eq!(place(&disc, 0.0, 0.0).time_of_impact(&still, &place(&disc, 3.0, 0.0), &still, 9.0).unwrap(), None);
    let inside = place(&disc, 0.0, 0.0).time_of_impact(&still, &place(&disc, 0.3, 0.0), &still, 9.0).unwrap().unwrap();
    assert_eq!((inside.time, inside.normal), (0.0, Vec2::X));
    // 40 km in one step, met to the millimetre.
    let train = ShapeSweep { velocity: Vec2::new(50.0, 0.0), ..still };
    let hit = place(&disc, -40_000.0, 0.0).time_of_impact(&train, &place(&disc, 1.0, 0.0), &still, 900.0);
    assert!((hit.unwrap().unwrap().time - 800.0).abs() < 1e-3);
}

/// Descriptions of the error of a ray, with a tolerance for grazing ones.
fn ray_fault(found: Option<ShapeHit>, solid: &Solid, from: DVec2, to: DVec2) -> Option<String> {
    let [early, late] = [ROUNDING, -ROUNDING].map(|grazing| solid.ray(from, to, grazing));
    let Some(found) = found else { return late.map(|late| format!("missed, truth {late}")) };
    let (fraction, slack) = (f64::from(found.fraction), 2.0 * ROUNDING / from.distance(to));
    let Some(early) = early else { return Some(format!("hit at {fraction}, truth none")) };
    if fraction < early - slack || late.is_some_and(|late| fraction > late + slack) {
        return Some(format!("hit at {fraction}, truth from {early} to {late:?}"));
    }
    if (found.point.as_dvec2() - from.lerp(to, fraction)).length() > ROUNDING {
        return Some(format!("the point {} is not at {fraction}", found.point));
    }
    let along = found.normal.as_dvec2().dot(to - from);
    (along > ROUNDING).then(|| format!("the normal {} goes along the ray", found.normal))
}

#[test]
fn rays_and_points_are_those_of_brute_force() {
    let mut random = Random(4321);
    let (mut hits, mut inside, mut total) = (0, 0, 0);
    for (name, shape) in all_shapes() {
        for _ in 0..150 {
            let placed = Placed::random(&shape, &mut random, 2.0);
            let (ours, solid) = (placed.ours(), placed.solid());
            let mut point = || DVec2::new(random.between(-4.0, 4.0), random.between(-4.0, 4.0)).as_vec2();
            let (from, to) = (point(), point());
            total += 1;
            let found = ours.ray_cast(from, to);
            hits += usize::from(found.is_some());
            let fault = ray_fault(found, &solid, from.as_dvec2(), to.as_dvec2());
            assert_eq!(fault, None, "{name} {placed:?} from {from} to {to}");
            let distance = solid.distance(from.as_dvec2());
            inside += usize::from(ours.contains(from));
            if distance.abs() > ROUNDING {
                assert_eq!(ours.contains(from), distance < 0.0, "{name} {placed:?} at {from}: {distance}");
            }
            if let Some(found) = found.filter(|_| distance > ROUNDING) {
                let wrong = ShapeHit { fraction: found.fraction + 0.01, ..found };
                assert!(ray_fault(Some(wrong), &solid, from.as_dvec2(), to.as_dvec2()).is_some());
            }
        }
    }
    assert!(hits > total / 5 && hits < total && inside > total / 20, "{hits} hits, {inside} inside of {total}");
    let disc = PlacedShape::new(&Shape::circle(1.0), [0.0, 0.0], 0.0).unwrap();
    assert_eq!(disc.ray_cast([f32::NAN, 0.0], [1.0, 0.0]), None);
    assert!(!disc.contains([f32::NAN, 0.0]) && disc.contains([1.0, 0.0]));
    let hit = disc.ray_cast([-3.0, 0.0], [3.0, 0.0]).unwrap();
    assert!((hit.fraction - 1.0 / 3.0).abs() < 1e-6 && (hit.point + Vec2::X).length() < 1e-6, "{hit:?}");
    assert_eq!(hit.normal, Vec2::NEG_X);
}

#[test]
fn bounds_and_masses_are_those_of_brute_force() {
    let mut random = Random(99);
    for (name, shape) in all_shapes() {
        let placed = Placed::random(&shape.clone().density(2.5), &mut random, 1.0);
        let (ours, solid) = (placed.ours(), placed.solid());
        let Some([low, high]) = ours.bounds() else {
            assert_eq!(name, "half plane");
            continue;
        };
        let (truth_low, truth_high) = (
            -DVec2::new(solid.support(DVec2::NEG_X), solid.support(DVec2::NEG_Y)),
            DVec2::new(solid.support(DVec2::X), solid.support(DVec2::Y)),
        );
        let off = (low.as_dvec2() - truth_low).abs().max((high.as_dvec2() - truth_high).abs());
        assert!(off.max_element() < 1e-5, "{name}: {low} {high}, truth {truth_low} {truth_high}");

        let still = Solid::new(&placed.shape, DVec2::ZERO, 0.0);
        let (area, center, second) = oracle::raster(&still);
        let found = mass(&placed.shape).unwrap();
        if matches!(name, "segment" | "link") {
            assert_eq!((found.mass, found.inertia), (0.0, 0.0), "{name}");
            continue;
        }
        let near = |found: f32, truth: f64, size: f64| (f64::from(found) - truth).abs() < 0.02 * size;
        assert!(near(found.mass, 2.5 * area, 2.5 * area), "{name}: {found:?}, area {area}");
        assert!(found.center.as_dvec2().distance(center) < 0.01, "{name}: {found:?}, centre {center}");
        assert!(near(found.inertia, 2.5 * second, 2.5 * second), "{name}: {found:?}, second moment {second}");
        // Negative control: a tenth more is noticed.
        assert!(!near(found.mass * 1.1, 2.5 * area, 2.5 * area));
    }
    let square = mass(&Shape::half_box(0.5, 0.5).density(6.0)).unwrap();
    assert!((square.mass - 6.0).abs() < 1e-6 && (square.inertia - 1.0).abs() < 1e-6, "{square:?}");
    assert_eq!(mass(&Shape::half_plane([0.0, 1.0], 0.0)).unwrap().mass, 0.0);
}

#[test]
fn errors_name_the_place() {
    let error = |shape: &Shape, at: [f32; 2], angle: f32| {
        PlacedShape::new(shape, at, angle).map_or_else(|error| error.to_string(), |_| String::new())
    };
    let disc = Shape::circle(0.5);
    assert_eq!(error(&disc, [0.0, 0.0], 0.0), "");
    let not_a_number = error(&Shape::circle(f32::NAN), [0.0, 0.0], 0.0);
    assert!(
        not_a_number.starts_with("shape.circle.radius: is not a number (NaN); expected a length"),
        "{not_a_number}"
    );
    assert!(error(&disc, [0.0, f32::INFINITY], 0.0).starts_with("position[1]: is infinite; expected"));
    assert!(error(&disc, [0.0, 0.0], f32::NAN).starts_with("angle: is not a number"));
    assert!(mass(&disc.clone().density(-1.0)).unwrap_err().to_string().starts_with("shape.density: is -1"));
    let placed = PlacedShape::new(&disc, [0.0, 0.0], 0.0).unwrap();
    let still = ShapeSweep::default();
    let error =
        |sweep: ShapeSweep, time: f32| placed.time_of_impact(&still, &placed, &sweep, time).unwrap_err().to_string();
    assert!(error(still, -1.0).starts_with("max_time: is -1; expected a time from 0 to 1000 s"));
    let fast = ShapeSweep { velocity: Vec2::new(0.0, 1e6), ..still };
    assert!(error(fast, 1.0).starts_with("other_sweep.velocity * max_time[1]: is 1000000"), "{}", error(fast, 1.0));
    let spinning = ShapeSweep { angular_velocity: 2000.0, ..still };
    assert!(error(spinning, 1.0).starts_with("other_sweep.angular_velocity: turns the shape by 2000 rad"));
    assert!(error(ShapeSweep { center: Vec2::NAN, ..still }, 1.0).starts_with("other_sweep.center[0]"));
}
