// Framing: what a picture shows, as the window has it (crates/drystone-draw/src/framing.rs). A box is [low x, low y, high x, high y], m.

/** Free space on each side, as a share of the picture. */
const MARGIN = 0.06;
/** In worlds of more moving bodies one in so many may be left out, if that brings the others this many times closer. */
const SMALL_SCENE = 200, OUTLIERS = 200, WORTH_LEAVING_OUT = 1.25;
/** A body this many times as large as a typical one is never left out. */
const LARGE = 4;
/** A picture is at least so many typical bodies (centre to corner) high. */
const LEAST_HEIGHT = 7;
/** A fixed shape of at most this share of all that moves is shown whole, if the picture grows at most so many times by that. */
const SMALL_FIXED = 0.5, WHOLE = 1.4;
/** Of others the near side is shown, if the picture grows at most so many times, or to so many typical bodies, or for what lies below so many times. */
const NEAR_SIDE = 1.6, REACH = 24, FALL = 8;
/** Fixed shapes are cut off so far past everything else, as a share of its size. */
const CLIP = 0.06;
/** Places that are looked at for a median or a share. */
const MAX_SAMPLE = 1000;

const join_boxes = (a, b) => a ? [Math.min(a[0], b[0]), Math.min(a[1], b[1]), Math.max(a[2], b[2]), Math.max(a[3], b[3])] : b;
const seen_height = (box, w, h) => Math.max(box[3] - box[1], (box[2] - box[0]) * h / w);
/** The value below which a share of the numbers lies. */
function quantile(numbers, share) { return numbers.length ? numbers.sort((a, b) => a - b)[Math.floor(share * (numbers.length - 1))] : 0; }
const sample = list => { const every = Math.ceil(list.length / MAX_SAMPLE); return every < 2 ? [...list] : list.filter((_, i) => i % every === 0); };

/** The box around what moves, without a few that are far from all others. */
function moving_box(moving, w, h) {
  const all = moving.reduce(join_boxes, null);
  if (moving.length < SMALL_SCENE) return all;
  const some = sample(moving), x = quantile(some.map(b => b[0] + b[2]), 0.5) / 2, y = quantile(some.map(b => b[1] + b[3]), 0.5) / 2;
  const away = b => Math.hypot((b[0] + b[2]) / 2 - x, (b[1] + b[3]) / 2 - y), side = b => Math.max(b[2] - b[0], b[3] - b[1]);
  const distances = moving.map(away), far = distances.slice().sort((a, b) => a - b)[moving.length - 1 - Math.floor(moving.length / OUTLIERS)];
  const large = LARGE * quantile(some.map(side), 0.5);
  const most = moving.filter((b, i) => distances[i] <= far || side(b) > large).reduce(join_boxes, null);
  return seen_height(most, w, h) * WORTH_LEAVING_OUT < seen_height(all, w, h) ? most : all;
}

/** The upper side of a half plane over what moves, as a box without height; null if it is no ground. */
function ground_of(body, p, core) {
  const cos = Math.cos(body.angle), sin = Math.sin(body.angle), nx = cos * p.cos - sin * p.sin, ny = sin * p.cos + cos * p.sin;
  if (ny < 0.1) return null;
  const x = body.x + cos * p.x - sin * p.y, y = body.y + sin * p.x + cos * p.y, top = y - nx / ny * ((core[0] + core[2]) / 2 - x);
  return [core[0], top, core[2], top];
}

/** What is to be seen in a picture of so many px: the box of all that moves, that of the picture's content, and its least height; null if there is nothing. */
function content(w = $('canvas').clientWidth, h = $('canvas').clientHeight) {
  const moving = [], driven = [], fixed = [], planes = [], sizes = [];
  for (const body of bodies.values()) {
    const own = looks(body);
    if (!own) continue;
    if (isDynamic(body)) {
      const box = bounds(body, own);
      if (box[0] <= box[2] && isFinite(box[0] + box[1] + box[2] + box[3])) { moving.push(box); sizes.push(Math.hypot(own.parts[0].a, own.parts[0].b) + own.parts[0].r); }
    } else if (body.flags & 4) {
      const box = body.spin && isFinite(own.reach) ? [body.x - own.reach, body.y - own.reach, body.x + own.reach, body.y + own.reach] : bounds(body, own);
      if (box[0] <= box[2]) driven.push(box);
    } else {
      // Shape by shape: a room is one body with four walls.
      for (const p of own.parts) if (p.kind === HALF_PLANE) planes.push([body, p]); else fixed.push(bounds(body, own, p));
    }
  }
  let core = moving.length ? moving_box(moving, w, h) : null;
  const bodies_box = core;
  // A drum or a pusher belongs to the picture, a conveyor many times as long as the pile does not.
  for (const box of driven) if (core && seen_height(box, w, h) > 4 * seen_height(core, w, h)) fixed.push(box); else core = join_boxes(core, box);
  if (!core) {
    const all = fixed.reduce(join_boxes, null);
    return all && { box: all, core: all, least: 0 };
  }
  // The pin in the wall that a body hangs on is shown as a small fixed shape is.
  for (const ends of joints.map(ends_of)) if (ends) for (const [x, y] of [ends.a, ends.b]) fixed.push([x, y, x, y]);
  for (const [body, p] of planes) { const box = ground_of(body, p, core); if (box) fixed.push(box); }
  const typical = quantile(sample(sizes), 0.5), seen = seen_height(core, w, h), roomy = Math.max(seen, LEAST_HEIGHT * typical), side = Math.max(NEAR_SIDE * seen, REACH * typical);
  const [gx, gy] = gravity(), axis = Math.abs(gx) > Math.abs(gy) ? 0 : 1, down = [gx, gy][axis], across = 1 - axis;
  const is_below = box => down * ((box[axis] + box[axis + 2]) - (core[axis] + core[axis + 2])) > 0 && box[across] <= core[across + 2] && core[across] <= box[across + 2];
  let near = core;
  for (const box of fixed) {
    const clamp = (value, i) => Math.min(box[i + 2], Math.max(box[i], value));
    const nearest = [clamp(core[0], 0), clamp(core[1], 1), clamp(core[2], 0), clamp(core[3], 1)], with_nearest = seen_height(join_boxes(core, nearest), w, h);
    if (seen_height(box, w, h) <= SMALL_FIXED * roomy && seen_height(join_boxes(core, box), w, h) <= WHOLE * roomy) near = join_boxes(near, box);
    else if (with_nearest <= side || (with_nearest <= FALL * seen && is_below(box))) near = join_boxes(near, nearest);
  }
  const least = LEAST_HEIGHT * typical, rim = CLIP * Math.max(near[2] - near[0], near[3] - near[1], least);
  const cut = [near[0] - rim, near[1] - rim, near[2] + rim, near[3] + rim];
  const shown = fixed.map(b => [Math.max(b[0], cut[0]), Math.max(b[1], cut[1]), Math.min(b[2], cut[2]), Math.min(b[3], cut[3])]).filter(b => b[0] <= b[2] && b[1] <= b[3]);
  return { box: shown.reduce(join_boxes, near), core: bodies_box || core, least };
}

/** The view of the scene, if all that moves is in it. */
function is_given({ core: [x0, y0, x1, y1] }) {
  if (!scene_view) return null;
  const { min, max } = scene_view;
  return x0 >= min[0] && y0 >= min[1] && x1 <= max[0] && y1 <= max[1] ? scene_view : null;
}

/** The camera that shows a box. */
function framing({ box, least }) {
  const { clientWidth: w, clientHeight: h } = $('canvas');
  const scale = (1 - 2 * MARGIN) * Math.min(w / Math.max(box[2] - box[0], 1e-6), h / Math.max(box[3] - box[1], 1e-6));
  return { x: (box[0] + box[2]) / 2, y: (box[1] + box[3]) / 2, scale: least > 0 ? Math.min(scale, h / least) : scale };
}
