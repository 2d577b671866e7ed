// Outlines split into convex parts, as the shapes of a body are convex; as in the solver (src/scene/outline.rs).

/** Maximum number of corners of a shape. */
const MAX_PART_CORNERS = 8;
/** Sine of the turn below which a corner is on the straight line between its neighbours. */
const STRAIGHT = 1e-4;

/** Returns the turn of a path at its second point: positive if it turns left; twice the area of the triangle, m². */
const turn = (a, b, c) => (b[0] - a[0]) * (c[1] - b[1]) - (b[1] - a[1]) * (c[0] - b[0]);
const ahead = (a, b, c) => (b[0] - a[0]) * (c[0] - b[0]) + (b[1] - a[1]) * (c[1] - b[1]);
/** Returns the sine of the turn of a path at its second point. */
function sine(a, b, c) {
  const lengths = Math.hypot(b[0] - a[0], b[1] - a[1]) * Math.hypot(c[0] - b[0], c[1] - b[1]);
  return lengths > 0 ? turn(a, b, c) / lengths : 0;
}
/** Returns true if two segments have a point in common. */
function meet([a, b], [c, d]) {
  const between = (p, a, b) => turn(a, b, p) === 0 && ahead(a, p, b) >= 0, apart = (a, b, c, d) => turn(a, b, c) * turn(a, b, d) < 0;
  return between(c, a, b) || between(d, a, b) || between(a, c, d) || between(b, c, d) || (apart(a, b, c, d) && apart(c, d, a, b));
}
/** Returns true if a path of segments, closed or open, crosses or touches itself. */
function crosses_itself(points, is_closed) {
  const count = points.length, edges = is_closed ? count : count - 1, edge = i => [points[i], points[(i + 1) % count]];
  // Neighbours meet at their common corner; they overlap if the path turns back on itself.
  const back = (i, j) => turn(...edge(i), edge(j)[1]) === 0 && ahead(...edge(i), edge(j)[1]) <= 0;
  for (let i = 0; i < edges; i++) for (let j = i + 1; j < edges; j++) {
    const is_last = is_closed && i === 0 && j === edges - 1;
    if (j === i + 1 ? back(i, j) : is_last ? back(j, i) : meet(edge(i), edge(j))) return true;
  }
  return false;
}

const neighbours = (ring, i) => [ring.at(i - 1), ring[i], ring[(i + 1) % ring.length]];
const is_convex = ring => ring.every((_, i) => sine(...neighbours(ring, i)) >= STRAIGHT);
/** Returns the corner whose triangle with its neighbours has no other corner in it; the roundest of these triangles. */
function find_ear(ring) {
  let best = -1, roundest = -Infinity;
  ring.forEach((_, i) => {
    const [a, b, c] = neighbours(ring, i), is_in = p => turn(a, b, p) >= 0 && turn(b, c, p) >= 0 && turn(c, a, p) >= 0;
    const roundness = Math.min(sine(a, b, c), sine(b, c, a), sine(c, a, b));
    if (turn(a, b, c) > 0 && roundness > roundest && !ring.some(p => p !== a && p !== b && p !== c && is_in(p))) { best = i; roundest = roundness; }
  });
  return best;
}
/** Returns the union of two parts with a common edge, if it is convex and no larger than a shape may be. */
function merged(first, second) {
  for (let i = 0; i < first.length; i++) for (let j = 0; j < second.length; j++) {
    if (first[i] !== second[(j + 1) % second.length] || first[(i + 1) % first.length] !== second[j]) continue;
    const ring = first.map((_, k) => first[(i + 1 + k) % first.length]);
    for (let k = 2; k < second.length; k++) ring.push(second[(j + k) % second.length]);
    return ring.length <= MAX_PART_CORNERS && is_convex(ring) ? ring : null;
  }
  return null;
}
/** Splits an outline, clockwise or counter-clockwise, into convex parts, each counter-clockwise; null if it crosses itself. */
function convex_parts(outline) {
  if (crosses_itself(outline, true)) return null;
  const ring = area_of(outline) < 0 ? [...outline].reverse() : [...outline], parts = [];
  for (let i; (i = ring.findIndex((_, i) => Math.abs(sine(...neighbours(ring, i))) < STRAIGHT)) >= 0;) ring.splice(i, 1);
  if (ring.length < 3) return null;
  while (ring.length > 3 && !is_convex(ring)) {
    const ear = find_ear(ring);
    if (ear < 0) return null;
    parts.push(neighbours(ring, ear));
    ring.splice(ear, 1);
  }
  for (let from = 1; from < ring.length - 1; from += MAX_PART_CORNERS - 2) parts.push([ring[0], ...ring.slice(from, from + MAX_PART_CORNERS - 1)]);
  for (let first = 0; first < parts.length; first++) for (let second = first + 1; second < parts.length; second++) {
    const both = merged(parts[first], parts[second]);
    if (both) { parts.splice(second, 1); parts[first] = both; first = -1; break; }
  }
  return parts;
}
