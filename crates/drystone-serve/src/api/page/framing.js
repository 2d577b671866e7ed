// Framing: the part of the world that a picture shows, as in the window (crates/drystone-draw/src/framing.rs). A box
// is [low x, low y, high x, high y], m.

/** Free space on each side, as a fraction of the picture. */
const MARGIN = 0.06;
/** In worlds with more moving bodies than the first number, one in the second number may be left out if that brings the others closer by the third. */
const SMALL_SCENE = 200, OUTLIERS = 200, WORTH_LEAVING_OUT = 1.25;
/** A body this many times as large as a typical one is never left out. */
const LARGE = 4;
/** Minimum height of a picture, in sizes of a typical body (centre to corner). */
const MIN_HEIGHT = 7;
/** A fixed shape of at most this fraction of all moving bodies is shown whole, if the picture grows by at most the second factor. */
const SMALL_FIXED = 0.5, WHOLE = 1.4;
/** Larger fixed shapes show their near side, if the picture grows by at most this factor, or to at most a given number of typical bodies; shapes below, by the third factor. */
const NEAR_SIDE = 1.6, REACH = 24, FALL = 8;
/** Fixed shapes are cut off this far past everything else, as a fraction of its size. */
const CLIP = 0.06;
/** A body that has fallen this far below the first picture, in multiples of its size, has left the scene if most others have not. */
const LEFT_SCENE = 1.5;
/** Number of samples for a median or a quantile. */
const MAX_SAMPLE = 1000;
/** Number of bodies beyond which boxes are not measured one by one. */
const MANY = 5000;

const join_boxes = (a, b) => a ? [Math.min(a[0], b[0]), Math.min(a[1], b[1]), Math.max(a[2], b[2]), Math.max(a[3], b[3])] : b;
const seen_height = (box, w, h) => Math.max(box[3] - box[1], (box[2] - box[0]) * h / w);
/** Returns the value below which a fraction of the numbers lies. */
function quantile(numbers, share) { return numbers.length ? numbers.sort((a, b) => a - b)[Math.floor(share * (numbers.length - 1))] : 0; }

/** Boxes of moving bodies, four numbers each: one list that is kept, as there may be thousands of them each time. */
let moving = new Float64Array(4096), moved = 0;
function add_moving(box) {
  if (4 * moved + 4 > moving.length) { const larger = new Float64Array(2 * moving.length); larger.set(moving); moving = larger; }
  moving.set(box, 4 * moved++);
}
/** Removes moving bodies that have fallen out of a box, if that leaves at least half of all. */
function leave_out_fallen([x0, y0, x1, y1]) {
  const [gx, gy] = gravity();
  const is_in = i => !((gx < 0 && moving[i + 2] < x0) || (gx > 0 && moving[i] > x1) || (gy < 0 && moving[i + 3] < y0) || (gy > 0 && moving[i + 1] > y1));
  let left = 0;
  for (let i = 0; i < moved; i++) left += is_in(4 * i);
  if (left === moved || 2 * left < moved) return;
  let next = 0;
  for (let i = 0; i < moved; i++) if (is_in(4 * i)) moving.copyWithin(4 * next++, 4 * i, 4 * i + 4);
  moved = next;
}
/** Returns the box around the wanted moving bodies. */
function around(wanted) {
  const box = [Infinity, Infinity, -Infinity, -Infinity];
  for (let i = 0; i < moved; i++) if (wanted(4 * i)) grow(box, moving[4 * i], moving[4 * i + 1], moving[4 * i + 2], moving[4 * i + 3]);
  return box;
}
/** Returns the box around the moving bodies, without a few that are far from all others. */
function moving_box(w, h) {
  const all = around(() => true);
  if (moved < SMALL_SCENE) return all;
  const every = Math.ceil(moved / MAX_SAMPLE), of_some = value => { const found = []; for (let i = 0; i < moved; i += every) found.push(value(4 * i)); return found; };
  const x = quantile(of_some(i => moving[i] + moving[i + 2]), 0.5) / 2, y = quantile(of_some(i => moving[i + 1] + moving[i + 3]), 0.5) / 2;
  const away = i => ((moving[i] + moving[i + 2]) / 2 - x) ** 2 + ((moving[i + 1] + moving[i + 3]) / 2 - y) ** 2, side = i => Math.max(moving[i + 2] - moving[i], moving[i + 3] - moving[i + 1]);
  const far = quantile(of_some(away), 1 - 1 / OUTLIERS), large = LARGE * quantile(of_some(side), 0.5);
  const most = around(i => away(i) <= far || side(i) > large);
  return seen_height(most, w, h) * WORTH_LEAVING_OUT < seen_height(all, w, h) ? most : all;
}

/** Returns the upper side of a half plane below the moving bodies, as a box without height; null if it is not ground. */
function ground_of(body, p, core) {
  const cos = Math.cos(body.angle), sin = Math.sin(body.angle), nx = cos * p.cos - sin * p.sin, ny = sin * p.cos + cos * p.sin;
  if (ny < 0.1) return null;
  const x = body.x + cos * p.x - sin * p.y, y = body.y + sin * p.x + cos * p.y, top = y - nx / ny * ((core[0] + core[2]) / 2 - x);
  return [core[0], top, core[2], top];
}

/** Returns the content of a picture of a size in px, without bodies that have fallen out of a box, the stage: its box, the box of all moving bodies (null if nothing moves), and its minimum height; null if there is no content. */
function content(stage = null, w = $('canvas').clientWidth, h = $('canvas').clientHeight) {
  const driven = [], fixed = [], planes = [], sizes = [], every = Math.ceil(bodies.size / MAX_SAMPLE), box = [0, 0, 0, 0];
  let nth = 0;
  moved = 0;
  for (const body of bodies.values()) {
    const own = looks(body);
    if (!own) continue;
    if (isDynamic(body)) {
      // In worlds of many bodies a box contains its body at any angle and needs no measuring.
      const { x, y } = body, { reach } = own;
      if (bodies.size > MANY && isFinite(reach)) { box[0] = x - reach; box[1] = y - reach; box[2] = x + reach; box[3] = y + reach; } else bounds(body, own, null, box);
      if (!(box[0] <= box[2]) || !isFinite(box[0] + box[1] + box[2] + box[3])) continue;
      add_moving(box);
      if (nth++ % every === 0) sizes.push(Math.hypot(own.parts[0].a, own.parts[0].b) + own.parts[0].r);
    } else if (body.flags & 4) {
      const box = body.spin && isFinite(own.reach) ? [body.x - own.reach, body.y - own.reach, body.x + own.reach, body.y + own.reach] : bounds(body, own);
      if (box[0] <= box[2]) driven.push(box);
    } else {
      // Shape by shape: a room is one body with four walls.
      for (const p of own.parts) if (p.kind === HALF_PLANE) planes.push([body, p]); else fixed.push(bounds(body, own, p));
    }
  }
  if (stage) leave_out_fallen(stage);
  let core = moved ? moving_box(w, h) : null;
  const bodies_box = core;
  // A drum, a vessel or a pusher belongs to the picture; a conveyor many times as long as the pile does not.
  const holds_all = box => box[0] <= core[0] && box[1] <= core[1] && box[2] >= core[2] && box[3] >= core[3];
  for (const box of driven) if (core && seen_height(box, w, h) > 4 * seen_height(core, w, h) && !holds_all(box)) fixed.push(box); else core = join_boxes(core, box);
  if (!core) {
    const all = fixed.reduce(join_boxes, null);
    return all && { box: all, core: null, least: 0 };
  }
  // The pin in the wall on which a body hangs is treated as a small fixed shape.
  for (const ends of joints.map(ends_of)) if (ends) for (const [x, y] of [ends.a, ends.b]) fixed.push([x, y, x, y]);
  for (const [body, p] of planes) { const box = ground_of(body, p, core); if (box) fixed.push(box); }
  const typical = quantile(sizes, 0.5), seen = seen_height(core, w, h), roomy = Math.max(seen, MIN_HEIGHT * typical), side = Math.max(NEAR_SIDE * seen, REACH * typical);
  const [gx, gy] = gravity(), axis = Math.abs(gx) > Math.abs(gy) ? 0 : 1, down = [gx, gy][axis], across = 1 - axis;
  const is_below = box => down * ((box[axis] + box[axis + 2]) - (core[axis] + core[axis + 2])) > 0 && box[across] <= core[across + 2] && core[across] <= box[across + 2];
  let near = core;
  for (const box of fixed) {
    const clamp = (value, i) => Math.min(box[i + 2], Math.max(box[i], value));
    const nearest = [clamp(core[0], 0), clamp(core[1], 1), clamp(core[2], 0), clamp(core[3], 1)], with_nearest = seen_height(join_boxes(core, nearest), w, h);
    if (seen_height(box, w, h) <= SMALL_FIXED * roomy && seen_height(join_boxes(core, box), w, h) <= WHOLE * roomy) near = join_boxes(near, box);
    else if (with_nearest <= side || (with_nearest <= FALL * seen && is_below(box))) near = join_boxes(near, nearest);
  }
  const least = MIN_HEIGHT * typical, rim = CLIP * Math.max(near[2] - near[0], near[3] - near[1], least);
  const cut = [near[0] - rim, near[1] - rim, near[2] + rim, near[3] + rim];
  const shown = fixed.map(b => [Math.max(b[0], cut[0]), Math.max(b[1], cut[1]), Math.min(b[2], cut[2]), Math.min(b[3], cut[3])]).filter(b => b[0] <= b[2] && b[1] <= b[3]);
  return { box: shown.reduce(join_boxes, near), core: bodies_box || core, least };
}

/** Returns the view of the scene, if all moving bodies are in it. */
function is_given({ core }) {
  if (!scene_view || !core) return scene_view;
  const [x0, y0, x1, y1] = core;
  const { min, max } = scene_view;
  return x0 >= min[0] && y0 >= min[1] && x1 <= max[0] && y1 <= max[1] ? scene_view : null;
}

/** Returns the widths of what covers the picture, px: [left, top, bottom]. The palette is at the left, on narrow screens at the top; the card is then at the bottom, or at the top. */
function covered() {
  const { clientWidth: w, clientHeight: h } = $('canvas'), { clientWidth: across, clientHeight: down } = $('palette'), card = $('card');
  const is_wide = across <= w / 2, over = card.clientWidth > w / 2 ? Math.min(card.clientHeight + 8, 0.55 * h) : 0, bottom = card.dataset.at === 'top' ? 0 : over;
  return [is_wide && across ? across + 10 : 0, Math.max(over - bottom, is_wide ? 0 : Math.min(down + 10, (h - bottom) / 2)), bottom];
}
/** Returns the camera that shows a box in the part of the picture that nothing covers. */
function framing({ box, least }, margin = MARGIN) {
  const { clientWidth: w, clientHeight: h } = $('canvas'), [left, top, bottom] = covered(), across = w - left, down = h - top - bottom;
  let scale = (1 - 2 * margin) * Math.min(across / Math.max(box[2] - box[0], 1e-6), down / Math.max(box[3] - box[1], 1e-6));
  if (least > 0) scale = Math.min(scale, down / least);
  return { x: (box[0] + box[2]) / 2 - left / 2 / scale, y: (box[1] + box[3]) / 2 + (top - bottom) / 2 / scale, scale };
}
