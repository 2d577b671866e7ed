//! Outlines split into convex parts, as the shapes of a body are convex.
//!
//! Ears are cut off until the rest is convex (Meisters, 1975), then parts are merged across a common edge while they
//! stay convex (Hertel and Mehlhorn, 1983): at most four times as many parts as needed.

use glam::{DVec2, Vec2};

/// Maximum number of corners of a convex part, as of a shape.
const MAX_PART_CORNERS: usize = 8;
/// Sine of the turn below which a corner is on the straight line between its neighbours.
const STRAIGHT: f64 = 1e-4;

/// Turn of a path at its second point: positive if it turns left. Twice the area of the triangle, m².
fn turn(a: DVec2, b: DVec2, c: DVec2) -> f64 {
    (b - a).perp_dot(c - b)
}

/// Sine of the turn of a path at its second point.
fn sine(a: DVec2, b: DVec2, c: DVec2) -> f64 {
    let lengths = (b - a).length() * (c - b).length();
    if lengths > 0.0 { turn(a, b, c) / lengths } else { 0.0 }
}

/// Returns true if two segments have a point in common.
fn meet([a, b]: [DVec2; 2], [c, d]: [DVec2; 2]) -> bool {
    let between = |p: DVec2, a: DVec2, b: DVec2| turn(a, b, p) == 0.0 && (p - a).dot(p - b) <= 0.0;
    let apart = |a, b, c, d| turn(a, b, c).signum() * turn(a, b, d).signum() < 0.0;
    let touch = between(c, a, b) || between(d, a, b) || between(a, c, d) || between(b, c, d);
    touch || (apart(a, b, c, d) && apart(c, d, a, b))
}

/// Returns true if a path of segments, closed or open, crosses or touches itself.
pub(crate) fn crosses_itself(points: &[Vec2], is_closed: bool) -> bool {
    let count = points.len();
    let edges = if is_closed { count } else { count.saturating_sub(1) };
    let edge = |index: usize| [points[index].as_dvec2(), points[(index + 1) % count].as_dvec2()];
    (0..edges).any(|i| {
        let back = |j: usize| {
            // Neighbours meet at their common corner; they overlap if the path turns back on itself.
            let ([a, b], [_, c]) = (edge(i), edge(j));
            turn(a, b, c) == 0.0 && (b - a).dot(c - b) <= 0.0
        };
        (i + 1..edges).any(|j| match j - i {
            1 => back(j),
            n if is_closed && n + 1 == edges => {
                let ([a, b], [_, c]) = (edge(j), edge(i));
                turn(a, b, c) == 0.0 && (b - a).dot(c - b) <= 0.0
            }
            _ => meet(edge(i), edge(j)),
        })
    })
}

/// Splits an outline, clockwise or counter-clockwise, into convex parts that cover it without overlap, each
/// counter-clockwise. Returns `None` if it crosses itself or has no area.
pub(crate) fn convex_parts(outline: &[Vec2]) -> Option<Vec<Vec<Vec2>>> {
    if crosses_itself(outline, true) {
        return None;
    }
    let mut ring: Vec<DVec2> = outline.iter().map(|point| point.as_dvec2()).collect();
    let area: f64 = (0..ring.len()).map(|i| ring[i].perp_dot(ring[(i + 1) % ring.len()])).sum();
    if area < 0.0 {
        ring.reverse();
    }
    while let Some(straight) = find_corner(&ring, |a, b, c| sine(a, b, c).abs() < STRAIGHT) {
        ring.remove(straight);
    }
    if ring.len() < 3 {
        return None;
    }
    let mut parts = Vec::new();
    while ring.len() > 3 && !is_convex(&ring) {
        let ear = find_ear(&ring)?;
        let count = ring.len();
        parts.push(vec![ring[(ear + count - 1) % count], ring[ear], ring[(ear + 1) % count]]);
        ring.remove(ear);
    }
    parts.extend(pieces(&ring));
    while merge_two(&mut parts) {}
    Some(parts.iter().map(|part| part.iter().map(|point| point.as_vec2()).collect()).collect())
}

/// Index of the first corner that fits, given with its neighbours.
fn find_corner(ring: &[DVec2], fits: impl Fn(DVec2, DVec2, DVec2) -> bool) -> Option<usize> {
    let count = ring.len();
    (0..count).find(|&i| fits(ring[(i + count - 1) % count], ring[i], ring[(i + 1) % count]))
}

/// Returns true if a simple counter-clockwise ring turns left at every corner.
fn is_convex(ring: &[DVec2]) -> bool {
    find_corner(ring, |a, b, c| sine(a, b, c) < STRAIGHT).is_none()
}

/// Index of a corner whose triangle with its neighbours has no other corner in it; of these the one with the largest
/// smallest angle, as slivers make poor shapes.
fn find_ear(ring: &[DVec2]) -> Option<usize> {
    let count = ring.len();
    let corners = |i: usize| [ring[(i + count - 1) % count], ring[i], ring[(i + 1) % count]];
    let roundness = |[a, b, c]: [DVec2; 3]| sine(a, b, c).min(sine(b, c, a)).min(sine(c, a, b));
    let is_ear = |i: usize| {
        let [a, b, c] = corners(i);
        let is_in = |p: DVec2| turn(a, b, p) >= 0.0 && turn(b, c, p) >= 0.0 && turn(c, a, p) >= 0.0;
        turn(a, b, c) > 0.0 && !ring.iter().any(|&p| p != a && p != b && p != c && is_in(p))
    };
    (0..count).filter(|&i| is_ear(i)).max_by(|&i, &j| roundness(corners(i)).total_cmp(&roundness(corners(j))))
}

/// Splits a convex ring into fans of as many corners as a shape may have.
fn pieces(ring: &[DVec2]) -> Vec<Vec<DVec2>> {
    let fan = |chunk: usize| {
        let from = 1 + chunk * (MAX_PART_CORNERS - 2);
        let to = (from + MAX_PART_CORNERS - 1).min(ring.len());
        [&ring[..1], &ring[from..to]].concat()
    };
    (0..(ring.len() - 2).div_ceil(MAX_PART_CORNERS - 2)).map(fan).collect()
}

/// Merges the first two parts that make a convex one together; returns false if there are none.
fn merge_two(parts: &mut Vec<Vec<DVec2>>) -> bool {
    for first in 0..parts.len() {
        for second in first + 1..parts.len() {
            if let Some(merged) = merged(&parts[first], &parts[second]) {
                parts.remove(second);
                parts[first] = merged;
                return true;
            }
        }
    }
    false
}

/// Returns the union of two parts with a common edge, if it is convex and no larger than a shape may be.
fn merged(first: &[DVec2], second: &[DVec2]) -> Option<Vec<DVec2>> {
    let at = |part: &[DVec2], index: usize| part[index % part.len()];
    let (i, j) = (0..first.len()).find_map(|i| {
        let is_common = |j: &usize| at(first, i) == at(second, j + 1) && at(first, i + 1) == at(second, *j);
        Some((i, (0..second.len()).find(is_common)?))
    })?;
    // From the end of the common edge around the first part, then around the second one without the edge.
    let mut ring: Vec<DVec2> = (0..first.len()).map(|k| at(first, i + 1 + k)).collect();
    ring.extend((2..second.len()).map(|k| at(second, j + k)));
    (ring.len() <= MAX_PART_CORNERS && is_convex(&ring)).then_some(ring)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(list: &[[f32; 2]]) -> Vec<Vec2> {
        list.iter().copied().map(Vec2::from).collect()
    }

    /// Number of times that an outline goes round a point, by summing angles.
    fn winding(outline: &[Vec2], point: Vec2) -> i32 {
        let sum: f64 = (0..outline.len())
            .map(|i| {
                let (a, b) = (outline[i] - point, outline[(i + 1) % outline.len()] - point);
                a.as_dvec2().angle_to(b.as_dvec2())
            })
            .sum();
        #[allow(clippy::cast_possible_truncation, reason = "a small whole number")]
        let round = (sum / std::f64::consts::TAU).round() as i32;
        round
    }

    /// Each point of a grid is in exactly one part where the outline goes round it, else in none; parts are convex.
    #[test]
    fn parts_cover_the_outline_once() {
        let round: Vec<[f32; 2]> = (0_u8..16)
            .map(|n| {
                let angle = f32::from(n) * std::f32::consts::TAU / 16.0;
                [3.0 * angle.cos(), 3.0 * angle.sin()]
            })
            .collect();
        let star: Vec<[f32; 2]> = (0_u8..16)
            .map(|n| {
                let (angle, radius) = (f32::from(n) * std::f32::consts::TAU / 16.0, if n % 2 == 0 { 3.0 } else { 1.0 });
                [radius * angle.cos(), radius * angle.sin()]
            })
            .collect();
        let l = vec![[0.0, 0.0], [2.0, 0.0], [2.0, 1.0], [1.0, 1.0], [1.0, 3.0], [0.0, 3.0]];
        let u = vec![[0.0, 0.0], [3.0, 0.0], [3.0, 3.0], [2.0, 3.0], [2.0, 1.0], [1.0, 1.0], [1.0, 3.0], [0.0, 3.0]];
        let dart = vec![[-2.0, -1.0], [0.0, 0.0], [2.0, -1.0], [0.0, 3.0]];
        let straight = vec![[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [2.0, 2.0], [0.0, 2.0]];
        let cases = [(l, 2), (u, 3), (dart, 2), (straight, 1), (round, 3), (star, 9)];
        for (outline, most) in cases {
            let outline = points(&outline);
            for outline in [outline.clone(), outline.iter().rev().copied().collect()] {
                let parts = convex_parts(&outline).unwrap();
                assert!(parts.len() <= most, "{} parts of {outline:?}", parts.len());
                for part in &parts {
                    assert!((3..=MAX_PART_CORNERS).contains(&part.len()), "{part:?}");
                    assert!(is_convex(&part.iter().map(|point| point.as_dvec2()).collect::<Vec<_>>()), "{part:?}");
                }
                for (x, y) in (-34_i8..35).flat_map(|x| (-34_i8..35).map(move |y| (x, y))) {
                    let point = Vec2::new(f32::from(x) * 0.0971 + 0.0137, f32::from(y) * 0.0973 + 0.0171);
                    let found = parts.iter().filter(|part| winding(part, point) != 0).count();
                    assert_eq!(found, usize::from(winding(&outline, point) != 0), "{point} in {outline:?}");
                }
            }
        }
    }

    /// Outlines that cross or touch themselves, or have no area, have no parts.
    #[test]
    fn outlines_that_cross_themselves_are_refused() {
        let bow = [[0.0, 0.0], [2.0, 2.0], [2.0, 0.0], [0.0, 2.0]];
        let touching = [[0.0, 0.0], [4.0, 0.0], [4.0, 2.0], [2.0, 0.0], [0.0, 2.0]];
        let back = [[0.0, 0.0], [2.0, 0.0], [1.0, 0.0]];
        let twice = [[0.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0]];
        for outline in [&bow[..], &touching, &back, &twice] {
            assert_eq!(convex_parts(&points(outline)), None, "{outline:?}");
        }
        assert!(!crosses_itself(&points(&bow[..3]), false), "its first lines do not cross");
        assert!(convex_parts(&points(&bow[..3])).is_some());
    }
}
