//! Outlines as convex parts, ellipses, height fields and tiles.

use drystone::geometry::{PlacedShape, convex_hull, convex_parts, crosses_itself, mass, tiles_to_chains};
use drystone::{Body, Geometry, Scene, Shape, World};
use glam::{DVec2, Vec2};

use crate::shapes::kit::Random;

fn points(list: &[[f32; 2]]) -> Vec<Vec2> {
    list.iter().copied().map(Vec2::from).collect()
}

/// Number of times that an outline goes round a point, by summing angles.
fn winding(outline: &[Vec2], point: DVec2) -> i64 {
    let arm = |index: usize| outline[index % outline.len()].as_dvec2() - point;
    let sum: f64 = (0..outline.len()).map(|index| arm(index).angle_to(arm(index + 1))).sum();
    (sum / std::f64::consts::TAU).round() as i64
}

/// Area of an outline; negative if it goes clockwise.
fn area(outline: &[Vec2]) -> f64 {
    let at = |index: usize| outline[index % outline.len()].as_dvec2();
    0.5 * (0..outline.len()).map(|index| at(index).perp_dot(at(index + 1))).sum::<f64>()
}

/// Distance of a point from the sides of an outline.
fn to_rim(outline: &[Vec2], point: DVec2) -> f64 {
    let at = |index: usize| outline[index % outline.len()].as_dvec2();
    let to_side = |index: usize| {
        let (from, side) = (at(index), at(index + 1) - at(index));
        let share = ((point - from).dot(side) / side.length_squared()).clamp(0.0, 1.0);
        point.distance(from + side * share)
    };
    (0..outline.len()).map(to_side).fold(f64::INFINITY, f64::min)
}

/// Describes a point that is in more or fewer parts than it should be, a part that is no shape, or a wrong area.
fn parts_fault(outline: &[Vec2], parts: &[Vec<Vec2>]) -> Option<String> {
    for part in parts {
        let shape = Shape::polygon(part.iter().copied());
        if let Err(error) = PlacedShape::new(&shape, [0.0, 0.0], 0.0) {
            return Some(format!("{part:?}: {error}"));
        }
    }
    let (whole, sum) = (area(outline).abs(), parts.iter().map(|part| area(part)).sum::<f64>());
    if (sum - whole).abs() > 1e-4 * whole + 1e-5 {
        return Some(format!("area {sum} of {whole}"));
    }
    let low = outline.iter().fold(Vec2::INFINITY, |low, point| low.min(*point)).as_dvec2();
    let high = outline.iter().fold(Vec2::NEG_INFINITY, |high, point| high.max(*point)).as_dvec2();
    for place in 0..3600 {
        // A raster that no side lies on.
        let share = DVec2::new((f64::from(place % 60) + 0.5137) / 60.0, (f64::from(place / 60) + 0.4871) / 60.0);
        let point = low + (high - low) * share;
        let found = parts.iter().filter(|part| winding(part, point) != 0).count();
        let is_in = winding(outline, point) != 0;
        // Parts thinner than a shape may be are left out.
        let is_in_crack = || parts.iter().any(|part| to_rim(part, point) < 2e-5);
        if found != usize::from(is_in) && !(is_in && found == 0 && is_in_crack()) {
            return Some(format!("{point} is in {found} parts"));
        }
    }
    None
}

/// Returns outlines of some kinds, with the most parts that they may have.
fn outlines() -> Vec<(&'static str, Vec<Vec2>, usize)> {
    let round = |count: u16, radius: &dyn Fn(u16) -> f32| -> Vec<Vec2> {
        let angle = |n: u16| f32::from(n) * std::f32::consts::TAU / f32::from(count);
        (0..count).map(|n| Vec2::from_angle(angle(n)) * radius(n)).collect()
    };
    let spiral =
        |turn: u16, radius: f32| Vec2::from_angle(f32::from(turn) * 0.3) * radius * (1.0 + 0.1 * f32::from(turn));
    let mut snail: Vec<Vec2> = (0..60).map(|turn| spiral(turn, 1.0)).collect();
    snail.extend((0..60).rev().map(|turn| spiral(turn, 0.85)));
    let comb: Vec<Vec2> = (0_u8..40)
        .map(|n| Vec2::new(f32::from(n), if n % 2 == 0 { 5.0 } else { 0.5 }))
        .chain([Vec2::new(39.0, 0.0), Vec2::ZERO])
        .collect();
    vec![
        ("l", points(&[[0.0, 0.0], [2.0, 0.0], [2.0, 1.0], [1.0, 1.0], [1.0, 3.0], [0.0, 3.0]]), 2),
        (
            "u",
            points(&[[0.0, 0.0], [3.0, 0.0], [3.0, 3.0], [2.0, 3.0], [2.0, 1.0], [1.0, 1.0], [1.0, 3.0], [0.0, 3.0]]),
            3,
        ),
        ("dart", points(&[[-2.0, -1.0], [0.0, 0.0], [2.0, -1.0], [0.0, 3.0]]), 2),
        ("straight corners", points(&[[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [2.0, 2.0], [0.0, 2.0]]), 1),
        ("octagon", round(8, &|_| 1.0), 1),
        ("sixteen corners", round(16, &|_| 3.0), 3),
        ("star", round(16, &|n| if n % 2 == 0 { 3.0 } else { 1.0 }), 9),
        ("gear", round(200, &|n| if n / 2 % 2 == 0 { 3.0 } else { 2.7 }), 100),
        ("snail", snail, 110),
        ("comb", comb, 24),
    ]
}

#[test]
fn parts_cover_an_outline_once() {
    for (name, outline, most) in outlines() {
        for outline in [outline.clone(), outline.iter().rev().copied().collect()] {
            let parts = convex_parts(&outline).unwrap();
            assert!(parts.len() <= most, "{name} has {} parts", parts.len());
            assert_eq!(parts_fault(&outline, &parts), None, "{name}");
            // Negative controls: a part too few, a part twice, a corner elsewhere.
            assert!(parts_fault(&outline, &parts[1..]).is_some(), "{name}");
            let twice = [&parts[..], &parts[..1]].concat();
            assert!(parts_fault(&outline, &twice).is_some(), "{name}");
        }
    }
}

/// Random outlines: distances from a middle, some of which make slivers and needles.
#[test]
fn random_outlines_are_covered() {
    let mut random = Random(0xabc_def1);
    for round in 0..300 {
        let count = 3 + random.below(60);
        let scale = [1e-2, 1.0, 1e3][round % 3];
        let at = |index: usize| std::f64::consts::TAU * index as f64 / count as f64;
        let outline: Vec<Vec2> = (0..count)
            .map(|index| (DVec2::from_angle(at(index)) * (scale * random.between(0.05, 1.0))).as_vec2())
            .collect();
        if crosses_itself(&outline, true) {
            continue;
        }
        let parts = convex_parts(&outline).unwrap();
        assert_eq!(parts_fault(&outline, &parts), None, "{outline:?}");
        let shapes = Shape::outline(outline.iter().copied()).unwrap();
        let sum: f64 = shapes.iter().map(|shape| f64::from(mass(shape).unwrap().mass)).sum();
        assert!((sum - area(&outline).abs()).abs() < 1e-3 * sum + 1e-5, "{sum}");
    }
}

/// Describes a point that is out of a hull, a corner that is no point or does not turn left.
fn hull_fault(points: &[Vec2], hull: &[Vec2]) -> Option<String> {
    let at = |index: usize| hull[index % hull.len()].as_dvec2();
    for (index, corner) in hull.iter().enumerate() {
        let (from, side) = (at(index), at(index + 1) - at(index));
        if !points.contains(corner) {
            return Some(format!("{from} is not among the points"));
        }
        if side.perp_dot(at(index + 2) - at(index + 1)) <= 0.0 {
            return Some(format!("no turn to the left at {}", at(index + 1)));
        }
        let right = |point: &&Vec2| side.perp_dot(point.as_dvec2() - from) / side.length() < -2e-5;
        if let Some(out) = points.iter().find(right) {
            return Some(format!("{out} is outside"));
        }
    }
    None
}

#[test]
fn hulls_are_those_of_brute_force() {
    let mut random = Random(0x1234_5678_9abc);
    for round in 0..600 {
        let count = 3 + random.below(200);
        let scale = [1e-2, 1.0, 1e3][round % 3];
        // On a coarse grid, many are equal or on one line.
        let place = |random: &mut Random| {
            let value = random.between(-1.0, 1.0);
            (scale * if round % 2 == 0 { value } else { (5.0 * value).round() / 5.0 }) as f32
        };
        let points: Vec<Vec2> = (0..count).map(|_| Vec2::new(place(&mut random), place(&mut random))).collect();
        let Ok(hull) = convex_hull(&points) else {
            // Few points of a grid may be on one line.
            assert!(count < 6 && round % 2 == 1, "{points:?}");
            continue;
        };
        assert_eq!(hull_fault(&points, &hull), None, "{points:?}: {hull:?}");
        // Negative controls: a corner too few or moved, and the hull turned round.
        if hull.len() > 3 {
            assert!(hull_fault(&points, &hull[1..]).is_some(), "{points:?}");
        }
        assert!(hull_fault(&points, &[&[hull[0] * 1.5], &hull[1..]].concat()).is_some(), "{points:?}");
        let reversed: Vec<Vec2> = hull.iter().rev().copied().collect();
        assert!(hull_fault(&points, &reversed).is_some(), "{points:?}");
        if hull.len() <= 8 {
            let shape = Shape::polygon(hull.iter().copied());
            assert!(PlacedShape::new(&shape, [0.0, 0.0], 0.0).is_ok(), "{hull:?}");
        }
        assert!(Shape::outline(hull.iter().copied()).is_ok(), "{hull:?}");
    }
}

#[test]
fn hulls_of_no_area_are_refused_by_their_place() {
    let line: Vec<Vec2> = (0..9_u8).map(|n| Vec2::splat(f32::from(n))).collect();
    for (given, expected) in [
        (points(&[[0.0, 0.0], [1.0, 0.0]]), "points: has 2 points; expected 3 or more"),
        (points(&[[1.0, 1.0]; 4]), "points: has no area"),
        (line, "points: has no area"),
        (points(&[[0.0, 0.0], [1.0, f32::NAN], [1.0, 1.0]]), "points[1]"),
        (points(&[[0.0, 0.0], [1.0, 0.0], [1e9, 1.0]]), "points[2]"),
    ] {
        let error = convex_hull(&given).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
    // Points on a circle, nearer to each other than a corner stands out: far fewer corners, and all points within.
    let round: Vec<Vec2> = (0..100_000).map(|n| Vec2::from_angle(n as f32 * 1e-4)).collect();
    let hull = convex_hull(&round).unwrap();
    assert!(hull.len() > 100 && hull.len() < 1_500, "{}", hull.len());
    assert!(hull.windows(2).all(|pair| pair[0].perp_dot(pair[1] - pair[0]) > 0.0));
}

/// The largest outline that is taken is split, and one more corner is refused.
#[test]
fn large_outlines_are_split() {
    let saw = |count: u16| -> Vec<Vec2> {
        let tooth = |n: u16| Vec2::from_angle(f32::from(n) * std::f32::consts::TAU / f32::from(count));
        (0..count).map(|n| tooth(n) * (10.0 + f32::from(n % 3))).collect()
    };
    let outline = saw(1023);
    let parts = convex_parts(&outline).unwrap();
    let sum: f64 = parts.iter().map(|part| area(part)).sum();
    assert!((sum - area(&outline)).abs() < 1e-3 * sum, "{sum}");
    let error = convex_parts(&saw(1026)).unwrap_err();
    assert_eq!(error.to_string(), "points: has 1026 corners; expected 3 to 1024");
}

#[test]
fn outlines_that_are_none_are_refused() {
    let cases: [(&str, Vec<Vec2>); 8] = [
        ("points: has 2 corners; expected 3 to 1024", points(&[[0.0, 0.0], [1.0, 0.0]])),
        (
            "points[1][0]: is not a number (NaN); expected a coordinate",
            points(&[[0.0, 0.0], [f32::NAN, 0.0], [0.0, 1.0]]),
        ),
        ("points[2][1]: is infinite; expected", points(&[[0.0, 0.0], [1.0, 0.0], [0.0, f32::INFINITY]])),
        (
            "points[2]: is 0 m from corner 1; expected corners at least 0.00001 m apart",
            points(&[[0.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]),
        ),
        (
            "points: has no area; expected corners that are not on one line",
            points(&[[0.0, 0.0], [2.0, 0.0], [1.0, 0.0]]),
        ),
        (
            "points[0]: begins a side that crosses or touches the side from points[2]; expected an outline that does not",
            points(&[[0.0, 0.0], [2.0, 2.0], [2.0, 0.0], [0.0, 2.0]]),
        ),
        (
            "points[0]: begins a side that crosses or touches the side from points[2]; expected an outline that does not",
            points(&[[0.0, 0.0], [4.0, 0.0], [4.0, 2.0], [2.0, 0.0], [0.0, 2.0]]),
        ),
        (
            "points[1]: begins a side that crosses or touches the side from points[2]; expected an outline that does not",
            points(&[[0.0, 0.0], [1.0, 0.0], [1.0, 2.0], [1.0, 1.0], [0.0, 1.0]]),
        ),
    ];
    for (expected, outline) in cases {
        let error = convex_parts(&outline).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}, not {expected}");
        assert!(Shape::outline(outline).is_err());
    }
    assert!(!crosses_itself(&points(&[[0.0, 0.0], [2.0, 2.0], [2.0, 0.0]]), false));
    assert!(crosses_itself(&points(&[[0.0, 0.0], [2.0, 2.0], [2.0, 0.0], [0.0, 2.0]]), false));
}

/// A body with corners that turn inwards lies over an edge and stays, with the mass of its area.
#[test]
fn a_body_of_parts_rests() {
    let arch = [[-2.0, 0.0], [-1.0, 0.0], [-1.0, 1.0], [1.0, 1.0], [1.0, 0.0], [2.0, 0.0], [2.0, 2.0], [-2.0, 2.0]];
    let mut scene = Scene::new("an arch over a post");
    scene.add(Body::fixed(0.0, 0.0).shape(Shape::half_plane([0.0, 1.0], 0.0)));
    scene.add(Body::fixed(0.0, 0.4).shape(Shape::half_box(0.8, 0.4)));
    let body = scene.add(Body::dynamic(0.0, 0.05).shapes(Shape::outline(arch).unwrap()));
    let mut world = World::new(&scene).unwrap();
    assert!((world.body(body).unwrap().mass() - 6.0).abs() < 1e-5);
    (0..240).for_each(|_| world.step().unwrap());
    let view = world.body(body).unwrap();
    assert!(view.position().y.abs() < 0.01 && view.angle().abs() < 1e-3, "{view:?}");
}

#[test]
fn ellipses_are_polygons() {
    for corners in [3_u16, 8, 9, 32, 100] {
        let shapes = Shape::ellipse(2.0, 0.5, corners).unwrap();
        let sum: f64 = shapes.iter().map(|shape| f64::from(mass(shape).unwrap().mass)).sum();
        // Area of a regular polygon in a circle, stretched.
        let count = f64::from(corners);
        let expected = 0.5 * count * (std::f64::consts::TAU / count).sin() * 2.0 * 0.5;
        assert!((sum - expected).abs() < 1e-4, "{corners} corners: {sum}, expected {expected}");
        for shape in &shapes {
            let Geometry::Polygon { points, .. } = &shape.geometry else { panic!("{shape:?}") };
            assert!(points.len() <= 8);
            for point in points {
                let off = (point.x / 2.0).powi(2) + (point.y / 0.5).powi(2) - 1.0;
                assert!(off.abs() < 1e-5, "{point}");
            }
        }
    }
    assert_eq!(Shape::ellipse(2.0, 0.5, 8).unwrap().len(), 1);
    let error = |half_width: f32, corners: u16| Shape::ellipse(half_width, 1.0, corners).unwrap_err().to_string();
    assert_eq!(error(1.0, 2), "corners: is 2; expected 3 to 1024");
    assert!(error(f32::NAN, 8).starts_with("half_width: is not a number (NaN); expected a length"));
    assert!(error(0.0, 8).starts_with("half_width: is 0"));
}

/// A height field is its chain, from right to left; a box slides over it without a bump.
#[test]
fn height_fields_are_chains() {
    let field = Shape::height_field(0.5, [1.0, 2.0, 1.5]).unwrap();
    assert_eq!(field, Shape::chain([[1.0, 1.5], [0.5, 2.0], [0.0, 1.0]]));
    let mut scene = Scene::new("a plain").gravity(0.0, -10.0);
    scene.add(Body::fixed(-20.0, 0.0).shapes(Shape::height_field(0.25, (0..400).map(|_| 0.0)).unwrap()));
    let body = scene.add(Body::dynamic(-10.0, 0.4).velocity(8.0, 0.0).shape(Shape::half_box(0.4, 0.4).friction(0.0)));
    let mut world = World::new(&scene).unwrap();
    for _ in 0..300 {
        world.step().unwrap();
        let view = world.body(body).unwrap();
        assert!((view.position().y - 0.4).abs() < 0.006 && view.velocity().y.abs() < 0.05, "{view:?}");
    }
    assert!((world.body(body).unwrap().velocity().x - 8.0).abs() < 1e-3);
    let error = |spacing: f32, heights: Vec<f32>| Shape::height_field(spacing, heights).unwrap_err().to_string();
    assert!(
        error(1.0, vec![0.0, 1.0, f32::NAN]).starts_with("heights[2]: is not a number (NaN); expected a coordinate")
    );
    assert_eq!(error(1.0, vec![0.0]), "heights: has 1 of them; expected at least 2");
    assert!(error(0.0, vec![0.0, 1.0]).starts_with("spacing: is 0; expected a length"));
    assert!(error(6e4, vec![0.0; 3]).starts_with("heights: is 180000 m long"));
}

/// Returns a map as tiles, its last line first.
fn tiles(map: &str) -> (Vec<bool>, usize) {
    let rows: Vec<&str> = map.split_whitespace().collect();
    (rows.iter().rev().flat_map(|row| row.chars().map(|tile| tile == '#')).collect(), rows[0].len())
}

/// Describes an error of the chains of a map: they go round each solid tile once more than round the others, turn at
/// each corner, and have all sides between solid and empty tiles.
fn chains_fault(solid: &[bool], columns: usize, size: Vec2, chains: &[Vec<Vec2>]) -> Option<String> {
    for (index, &is_solid) in solid.iter().enumerate() {
        let middle = Vec2::new((index % columns) as f32 + 0.5, (index / columns) as f32 + 0.5) * size;
        let round: i64 = chains.iter().map(|chain| winding(chain, middle.as_dvec2())).sum();
        if round != i64::from(is_solid) {
            return Some(format!("{round} times round tile {index}"));
        }
    }
    let side = |a: Vec2, b: Vec2| ((b - a) / size).abs();
    let at = |x: usize, y: usize| x < columns && solid.get(y * columns + x).is_some_and(|solid| *solid);
    let mut wanted = 0;
    for (y, x) in (0..solid.len() / columns).flat_map(|y| (0..columns).map(move |x| (y, x))) {
        let others = [at(x + 1, y), at(x, y + 1), x > 0 && at(x - 1, y), y > 0 && at(x, y - 1)];
        wanted += if at(x, y) { others.iter().filter(|other| !*other).count() } else { 0 };
    }
    let mut length = 0.0;
    for chain in chains {
        for (index, &point) in chain.iter().enumerate() {
            let (next, after) = (chain[(index + 1) % chain.len()], chain[(index + 2) % chain.len()]);
            if (next - point).perp_dot(after - next) == 0.0 {
                return Some(format!("no corner at {next}"));
            }
            length += side(point, next).element_sum();
        }
    }
    ((length - wanted as f32).abs() > 1e-3).then(|| format!("{length} sides of {wanted}"))
}

#[test]
fn tiles_become_chains() {
    let maps = [
        ("#", 1),
        ("##", 1),
        ("###\n#.#\n###", 2),
        ("#.\n.#", 2),
        (".#\n#.", 2),
        ("#####\n#.#.#\n##.##\n#.#.#\n#####", 2),
        ("####\n#..#\n#.##\n####", 2),
        ("###.\n#.##\n####", 2),
        ("...", 0),
        ("#..#\n.##.\n.##.\n#..#", 5),
    ];
    for (map, count) in maps {
        let (solid, columns) = tiles(map);
        let size = Vec2::new(0.5, 2.0);
        let chains = tiles_to_chains(&solid, columns, size).unwrap();
        assert_eq!(chains_fault(&solid, columns, size, &chains), None, "{map}\n{chains:?}");
        assert_eq!(chains.len(), count, "{map}\n{chains:?}");
        if count > 0 {
            // Negative controls: a chain too few, or the other way round.
            assert!(chains_fault(&solid, columns, size, &chains[1..]).is_some(), "{map}");
            let mut turned = chains.clone();
            turned[0].reverse();
            assert!(chains_fault(&solid, columns, size, &turned).is_some(), "{map}");
        }
    }
    let mut random = Random(31);
    for _ in 0..200 {
        let (columns, rows) = (1 + random.below(9), 1 + random.below(9));
        let solid: Vec<bool> = (0..columns * rows).map(|_| random.unit() < 0.55).collect();
        let chains = tiles_to_chains(&solid, columns, [1.0, 1.0]).unwrap();
        assert_eq!(chains_fault(&solid, columns, Vec2::ONE, &chains), None, "{solid:?} in rows of {columns}");
    }
    assert_eq!(tiles_to_chains(&[], 4, [1.0, 1.0]).unwrap(), Vec::<Vec<Vec2>>::new());
    let error =
        |solid: &[bool], columns: usize, size: [f32; 2]| tiles_to_chains(solid, columns, size).unwrap_err().to_string();
    assert!(error(&[true; 5], 2, [1.0, 1.0]).starts_with("solid: has 5 tiles in rows of 2; expected whole rows"));
    assert!(error(&[true; 4], 0, [1.0, 1.0]).starts_with("solid: has 4 tiles in rows of 0"));
    assert!(error(&[true; 4], 2, [1.0, f32::NAN]).starts_with("size[1]: is not a number"));
    assert!(error(&[true; 4], 2, [6e4, 1.0]).starts_with("columns: is 120000 m long"));
}

/// Balls stay in a box of tiles and on top of it, and do not get into the tiles.
#[test]
fn tiles_hold_bodies_inside_and_outside() {
    let (solid, columns) = tiles("#####\n#...#\n#...#\n#####");
    let chains = tiles_to_chains(&solid, columns, [1.0, 1.0]).unwrap();
    let mut scene = Scene::new("a box of tiles");
    scene.add(Body::fixed(0.0, 0.0).shapes(chains.into_iter().flat_map(Shape::chain_loop)));
    let inside = scene.add(Body::dynamic(2.5, 2.0).velocity(6.0, 1.0).shape(Shape::circle(0.3).restitution(0.5)));
    let above = scene.add(Body::dynamic(1.3, 5.0).shape(Shape::half_box(0.4, 0.4)));
    let mut world = World::new(&scene).unwrap();
    (0..400).for_each(|_| world.step().unwrap());
    let at = |body: usize| world.body(body).unwrap().position();
    assert!((at(inside).y - 1.3).abs() < 0.01 && (1.2..3.8).contains(&at(inside).x), "{}", at(inside));
    assert!((at(above).y - 4.4).abs() < 0.01, "{}", at(above));
}
