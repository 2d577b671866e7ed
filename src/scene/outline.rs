//! Outlines split into convex parts, as the shapes of a body are convex.
//!
//! Ears are cut off until the rest is convex (Meisters, 1975), then parts are merged across a common edge while they
//! stay convex (Hertel and Mehlhorn, 1983): at most four times as many parts as needed.

use std::collections::HashMap;

use glam::{DVec2, Vec2};

use super::check::{MIN_LENGTH, OFFSET, SceneError, show};
use crate::constants::MAX_OUTLINE_CORNERS;
use crate::types::MAX_VERTICES;

/// Most corners of a convex part, as of a shape.
const MAX_PART_CORNERS: usize = MAX_VERTICES as usize;
/// Sine of the turn below which a corner is on the straight line between its neighbours.
const STRAIGHT: f64 = 1e-4;
/// Sine of the turn below which two sides of a part are one: the rounding of points on a straight line.
const FLAT: f64 = 1e-6;

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

/// Returns the first two sides of a path that cross or touch each other, by the indices of their first points.
fn crossing(points: &[Vec2], is_closed: bool) -> Option<[usize; 2]> {
    let count = points.len();
    let sides = if is_closed { count } else { count.saturating_sub(1) };
    let side = |index: usize| [points[index].as_dvec2(), points[(index + 1) % count].as_dvec2()];
    // Neighbours meet at their common corner; they overlap if the path turns back on itself.
    let turns_back = |from: usize, to: usize| {
        let ([a, b], [_, c]) = (side(from), side(to));
        turn(a, b, c) == 0.0 && (b - a).dot(c - b) <= 0.0
    };
    (0..sides).find_map(|i| {
        let meets = |j: &usize| match j - i {
            1 => turns_back(i, *j),
            between if is_closed && between + 1 == sides => turns_back(*j, i),
            _ => meet(side(i), side(*j)),
        };
        Some([i, (i + 1..sides).find(meets)?])
    })
}

/// Returns true if a path through points, closed or open, crosses or touches itself, or turns back on itself. Compares
/// every two of its sides.
///
/// ```
/// use drystone::geometry::crosses_itself;
///
/// let hourglass = [[0.0, 0.0], [2.0, 2.0], [2.0, 0.0], [0.0, 2.0]].map(Into::into);
/// assert!(crosses_itself(&hourglass, true));
/// assert!(!crosses_itself(&hourglass[1..], true));
/// ```
#[must_use]
pub fn crosses_itself(points: &[Vec2], is_closed: bool) -> bool {
    crossing(points, is_closed).is_some()
}

/// Splits an outline, clockwise or counter-clockwise, which may have corners that turn inwards and more corners than a
/// shape, into convex parts of 3 to 8 corners, counter-clockwise, m. They cover it and do not overlap, up to 1e-5 m and
/// a ten-thousandth of its sides. [`Shape::outline`](crate::Shape::outline) makes shapes of them.
///
/// ```
/// use drystone::geometry::convex_parts;
///
/// let corner = [[0.0, 0.0], [2.0, 0.0], [2.0, 1.0], [1.0, 1.0], [1.0, 3.0], [0.0, 3.0]].map(Into::into);
/// assert_eq!(convex_parts(&corner)?.len(), 2);
/// # Ok::<(), drystone::SceneError>(())
/// ```
///
/// # Errors
/// By its path, such as `points[3]`: fewer than 3 corners or more than 1024, a coordinate that is NaN or out of range,
/// corners nearer than 1e-5 m to the one before, sides that cross or touch, no area.
pub fn convex_parts(outline: &[Vec2]) -> Result<Vec<Vec<Vec2>>, SceneError> {
    check_outline(outline)?;
    let points: Vec<DVec2> = outline.iter().map(|point| point.as_dvec2()).collect();
    let mut ring: Vec<usize> = (0..points.len()).collect();
    let area: f64 = (0..points.len()).map(|i| points[i].perp_dot(points[(i + 1) % points.len()])).sum();
    if area < 0.0 {
        ring.reverse();
    }
    let is_straight = |[a, b, c]: [DVec2; 3]| sine(a, b, c).abs() < STRAIGHT && (b - a).dot(c - b) > 0.0;
    while let Some(straight) = (0..ring.len()).find(|&place| is_straight(around(&points, &ring, place))) {
        ring.remove(straight);
    }
    let parts = triangles_and_rest(&points, ring).map(|parts| merged_parts(&points, parts));
    let tidy = |part: Vec<usize>| {
        let corners = (0..part.len()).filter(|&place| !is_flat(around(&points, &part, place)));
        tidied(corners.map(|place| points[part[place]]).collect())
    };
    let parts: Vec<Vec<Vec2>> = parts.into_iter().flatten().filter_map(tidy).collect();
    if parts.is_empty() {
        return Err(no_area());
    }
    Ok(parts)
}

/// Returns the corners of the smallest convex outline around points, counter-clockwise, m: 3 or more. Points may come
/// in any order, more than once, and on one line with others. A corner that stands out by less than 1e-5 m is left out.
///
/// ```
/// use drystone::geometry::convex_hull;
///
/// let points = [[0.0, 0.0], [2.0, 0.0], [1.0, 0.5], [2.0, 2.0], [0.0, 2.0], [1.0, 1.0]].map(Into::into);
/// assert_eq!(convex_hull(&points)?.len(), 4);
/// # Ok::<(), drystone::SceneError>(())
/// ```
///
/// A [polygon](crate::Shape::polygon) has at most 8 corners; for more, [`Shape::outline`](crate::Shape::outline) makes
/// several shapes of one body.
///
/// # Errors
/// By its path, such as `points[3]`: fewer than 3 points, a coordinate that is NaN or out of range, no area.
pub fn convex_hull(points: &[Vec2]) -> Result<Vec<Vec2>, SceneError> {
    if points.len() < 3 {
        return Err(SceneError::new("points", format!("has {} points", points.len()), "3 or more"));
    }
    for (index, point) in points.iter().enumerate() {
        OFFSET.check_pair(*point, format_args!("points[{index}]"))?;
    }
    let mut sorted: Vec<DVec2> = points.iter().map(|point| point.as_dvec2()).collect();
    sorted.sort_unstable_by(|a, b| a.x.total_cmp(&b.x).then(a.y.total_cmp(&b.y)));
    // Andrew's monotone chain (1979): the lower side from left to right, then the upper side back.
    let mut corners = side_of(sorted.iter());
    corners.pop();
    corners.extend(side_of(sorted.iter().rev()));
    corners.pop();
    tidied(corners).ok_or_else(no_area)
}

/// Returns the corners of the hull of sorted points from the first to the last, counter-clockwise.
fn side_of<'a>(path: impl Iterator<Item = &'a DVec2>) -> Vec<DVec2> {
    let mut side: Vec<DVec2> = Vec::new();
    for &point in path {
        while side.len() > 1 && turn(side[side.len() - 2], side[side.len() - 1], point) <= 0.0 {
            side.pop();
        }
        side.push(point);
    }
    side
}

fn no_area() -> SceneError {
    SceneError::new("points", "has no area", "corners that are not on one line")
}

fn check_outline(points: &[Vec2]) -> Result<(), SceneError> {
    let count = points.len();
    if !(3..=MAX_OUTLINE_CORNERS).contains(&count) {
        let expected = format!("3 to {MAX_OUTLINE_CORNERS}");
        return Err(SceneError::new("points", format!("has {count} corners"), expected));
    }
    for (index, point) in points.iter().enumerate() {
        OFFSET.check_pair(*point, format_args!("points[{index}]"))?;
    }
    for index in 0..count {
        let before = (index + count - 1) % count;
        let side = points[index].distance(points[before]);
        if side < MIN_LENGTH {
            let problem = format!("is {} m from corner {before}", show(side));
            let expected = format!("corners at least {MIN_LENGTH} m apart");
            return Err(SceneError::new(format!("points[{index}]"), problem, expected));
        }
    }
    let first = points[0].as_dvec2();
    let arms = points.iter().map(|point| point.as_dvec2() - first);
    let longest = arms.clone().fold(DVec2::ZERO, |far, arm| if arm.length() > far.length() { arm } else { far });
    if arms.map(|arm| longest.normalize_or_zero().perp_dot(arm).abs()).all(|off| off < f64::from(MIN_LENGTH)) {
        return Err(no_area());
    }
    if let Some([one, other]) = crossing(points, true) {
        let problem = format!("begins a side that crosses or touches the side from points[{other}]");
        return Err(SceneError::new(format!("points[{one}]"), problem, "an outline that does not cross itself"));
    }
    Ok(())
}

/// Returns a corner of a ring between its neighbours.
fn around(points: &[DVec2], ring: &[usize], place: usize) -> [DVec2; 3] {
    let count = ring.len();
    [points[ring[(place + count - 1) % count]], points[ring[place]], points[ring[(place + 1) % count]]]
}

/// Returns true if a simple counter-clockwise ring turns left at every corner.
fn is_convex(points: &[DVec2], ring: &[usize]) -> bool {
    (0..ring.len()).all(|place| {
        let [a, b, c] = around(points, ring, place);
        sine(a, b, c) >= STRAIGHT
    })
}

/// Returns the sine of the smallest angle of the triangle of a corner and its neighbours, as slivers make poor shapes;
/// `None` if it is no ear: another corner is in it, or it does not turn left.
fn roundness(points: &[DVec2], ring: &[usize], place: usize) -> Option<f64> {
    let [a, b, c] = around(points, ring, place);
    if turn(a, b, c) <= 0.0 {
        return None;
    }
    let is_in = |p: DVec2| turn(a, b, p) >= 0.0 && turn(b, c, p) >= 0.0 && turn(c, a, p) >= 0.0;
    let has_other = ring.iter().map(|&index| points[index]).any(|p| p != a && p != b && p != c && is_in(p));
    (!has_other).then(|| sine(a, b, c).min(sine(b, c, a)).min(sine(c, a, b)))
}

/// Cuts ears off a ring until it is convex, the roundest first; returns them and the rest. `None` if rounding leaves no
/// ear.
fn triangles_and_rest(points: &[DVec2], mut ring: Vec<usize>) -> Option<Vec<Vec<usize>>> {
    let all = |ring: &[usize]| (0..ring.len()).map(|place| roundness(points, ring, place)).collect::<Vec<_>>();
    let mut scores = Vec::new();
    let mut parts = Vec::new();
    while ring.len() > 3 && !is_convex(points, &ring) {
        // Only the neighbours of an ear change when it is cut off; rounding may change others.
        if scores.iter().all(Option::is_none) {
            scores = all(&ring);
        }
        let best = scores.iter().enumerate().filter_map(|(place, score)| Some((place, (*score)?)));
        let (ear, _) = best.max_by(|(_, one), (_, other)| one.total_cmp(other))?;
        let count = ring.len();
        parts.push(vec![ring[(ear + count - 1) % count], ring[ear], ring[(ear + 1) % count]]);
        ring.remove(ear);
        scores.remove(ear);
        for place in [(ear + count - 2) % (count - 1), ear % (count - 1)] {
            scores[place] = roundness(points, &ring, place);
        }
    }
    if ring.len() >= 3 {
        parts.extend(fans(&ring));
    }
    Some(parts)
}

/// Splits a convex ring into fans of at most as many corners as a shape may have.
fn fans(ring: &[usize]) -> Vec<Vec<usize>> {
    let fan = |chunk: usize| {
        let from = 1 + chunk * (MAX_PART_CORNERS - 2);
        let to = (from + MAX_PART_CORNERS - 1).min(ring.len());
        [&ring[..1], &ring[from..to]].concat()
    };
    (0..(ring.len() - 2).div_ceil(MAX_PART_CORNERS - 2)).map(fan).collect()
}

/// Merges parts across common edges while they stay convex. A union that is not convex stays so when more is merged, so
/// each pair is tried once.
fn merged_parts(points: &[DVec2], mut parts: Vec<Vec<usize>>) -> Vec<Vec<usize>> {
    let mut owners: HashMap<[usize; 2], usize> = HashMap::new();
    for (owner, part) in parts.iter().enumerate() {
        owners.extend((0..part.len()).map(|i| ([part[i], part[(i + 1) % part.len()]], owner)));
    }
    for first in 0..parts.len() {
        let union = |parts: &[Vec<usize>], i: usize| {
            let part = &parts[first];
            let second = *owners.get(&[part[(i + 1) % part.len()], part[i]])?;
            Some((second, merged(points, part, i, &parts[second])?))
        };
        let mut joined = Vec::new();
        while let Some((second, ring)) = (0..parts[first].len()).find_map(|i| union(&parts, i)) {
            joined.push(second);
            parts[second] = Vec::new();
            parts[first] = ring;
        }
        for owner in owners.values_mut().filter(|owner| joined.contains(owner)) {
            *owner = first;
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// Returns true if a path goes straight on at its second point.
fn is_flat([a, b, c]: [DVec2; 3]) -> bool {
    sine(a, b, c).abs() < FLAT && (b - a).dot(c - b) > 0.0
}

/// Returns the union of two parts whose common edge begins at corner `i` of the first, if it is convex and has no more
/// corners than a shape may have.
fn merged(points: &[DVec2], first: &[usize], i: usize, second: &[usize]) -> Option<Vec<usize>> {
    let at = |ring: &[usize], place: usize| ring[place % ring.len()];
    let j = second.iter().position(|&corner| corner == at(first, i + 1))?;
    // Only the corners at the ends of the edge change.
    let start = [at(first, i + first.len() - 1), first[i], at(second, j + 2)];
    let end = [at(second, j + second.len() - 1), second[j], at(first, i + 2)];
    for corner in [start, end] {
        let [a, b, c] = corner.map(|index| points[index]);
        if sine(a, b, c) < STRAIGHT && !is_flat([a, b, c]) {
            return None;
        }
    }
    // From the end of the common edge around the first part, then around the second one without the edge.
    let mut ring: Vec<usize> = (0..first.len()).map(|k| at(first, i + 1 + k)).collect();
    ring.extend((2..second.len()).map(|k| at(second, j + k)));
    let corners = (0..ring.len()).filter(|&place| !is_flat(around(points, &ring, place))).count();
    (corners <= MAX_PART_CORNERS).then_some(ring)
}

/// Returns a part without corners that stand out less than a shape's must; `None` if nothing is left.
fn tidied(mut ring: Vec<DVec2>) -> Option<Vec<Vec2>> {
    let least = f64::from(MIN_LENGTH);
    let is_flat = |ring: &[DVec2], i: usize| {
        let (a, b, c) = (ring[(i + ring.len() - 1) % ring.len()], ring[i], ring[(i + 1) % ring.len()]);
        turn(a, b, c) / (c - a).length().max(least) < least || a.distance(b) < least
    };
    let mut i = 0;
    while ring.len() > 2 && i < ring.len() {
        if is_flat(&ring, i) {
            ring.remove(i);
            // The corners on both sides have other neighbours now.
            i = if i == ring.len() { 0 } else { i.saturating_sub(1) };
        } else {
            i += 1;
        }
    }
    (ring.len() > 2).then(|| ring.iter().map(|point| point.as_vec2()).collect())
}
