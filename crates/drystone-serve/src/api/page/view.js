// The view: shapes of bodies, the camera, and the pointer over the world.

const camera = { x: 0, y: 0, scale: 20, fitted: false, follows: true, given: false };
/** Target of the camera while it follows. */
let goal = null;
/** Surroundings of the first picture: bodies that have fallen out of it have left the scene. */
let stage = null;
const GRAB_MOUSE = 8, GRAB_TOUCH = 16;

// Looks: the shapes of a body, measured once.

const CIRCLE = 0, BOX = 1, CAPSULE = 2, POLYGON = 3, HALF_PLANE = 9;

/** Returns a shape as drawn: kind, middle, angle and half sizes, in the frame of the body. */
function part({ circle, polygon, half_plane: half, sensor = false }) {
  if (circle) return { kind: CIRCLE, x: circle.center[0], y: circle.center[1], cos: 1, sin: 0, a: circle.radius, b: 0, r: 0, sensor };
  if (half) return { kind: HALF_PLANE, x: half.point[0], y: half.point[1], cos: half.normal[0], sin: half.normal[1], a: 0, b: 0, r: 0, sensor };
  const { points, radius: r } = polygon, n = points.length;
  const x = points.reduce((sum, p) => sum + p[0], 0) / n, y = points.reduce((sum, p) => sum + p[1], 0) / n;
  const a = Math.hypot(points[1][0] - points[0][0], points[1][1] - points[0][1]) / 2;
  const cos = a ? (points[1][0] - points[0][0]) / (2 * a) : 1, sin = a ? (points[1][1] - points[0][1]) / (2 * a) : 0;
  if (n === 2) return { kind: CAPSULE, x, y, cos, sin, a, b: 0, r, sensor };
  const b = n === 4 ? Math.hypot(points[2][0] - points[1][0], points[2][1] - points[1][1]) / 2 : 0;
  const corners = [[-a, -b], [a, -b], [a, b], [-a, b]];
  const isBox = n === 4 && corners.every(([u, v], i) => Math.hypot(x + cos * u - sin * v - points[i][0], y + sin * u + cos * v - points[i][1]) < 1e-3 * (a + b));
  if (isBox) return { kind: BOX, x, y, cos, sin, a, b, r, sensor };
  const own = points.map(p => [p[0] - x, p[1] - y]);
  return { kind: POLYGON, x, y, cos: 1, sin: 0, a: Math.max(...own.map(p => Math.hypot(...p))), b: 0, r, sensor, points: own };
}

/** Returns a body of the service with its shapes, its radius about the origin, and the start of its arrows. */
function look(body) {
  const [slot, generation] = body.id.split('.').map(Number), parts = body.shapes.map(part);
  const reach = Math.max(0, ...parts.map(p => p.kind === HALF_PLANE ? Infinity : Math.hypot(p.x, p.y) + Math.hypot(p.a, p.b) + p.r));
  // Arrows begin at the centroid of the shapes, which is the centre of mass if all have the same density.
  const areas = parts.map(p => p.kind === HALF_PLANE ? 0 : (p.a + p.r) * (p.b + p.r || p.a) || 1e-9), sum = areas.reduce((a, b) => a + b, 0) || 1;
  const middle = ['x', 'y'].map(axis => parts.reduce((at, p, i) => at + p[axis] * areas[i] / sum, 0));
  return [slot, { ...body, generation, parts, reach, middle }];
}
/** Returns the looks of a body, or null while they are unknown. Cached in the body, because each frame needs them. */
function looks(body) {
  if (body.shapes !== shapes) {
    const own = shapes.get(body.slot);
    body.shapes = shapes;
    body.own = own && own.generation === body.generation ? own : null;
  }
  return body.own;
}
const isDynamic = body => !(body.flags & 6);

/** Returns the box of a body or of one of its shapes: low x, low y, high x, high y. Half planes have none. */
function bounds(body, own, only = null, box = [0, 0, 0, 0]) {
  const cos = Math.cos(body.angle), sin = Math.sin(body.angle);
  box[0] = box[1] = Infinity; box[2] = box[3] = -Infinity;
  for (const p of own.parts) {
    if (p.kind === HALF_PLANE || (only && p !== only)) continue;
    const x = body.x + cos * p.x - sin * p.y, y = body.y + sin * p.x + cos * p.y;
    const c = cos * p.cos - sin * p.sin, s = sin * p.cos + cos * p.sin;
    let w = p.a, h = p.a, dx = 0, dy = 0;
    if (p.kind === BOX || p.kind === CAPSULE) { w = Math.abs(c) * p.a + Math.abs(s) * p.b; h = Math.abs(s) * p.a + Math.abs(c) * p.b; }
    if (p.kind === POLYGON) {
      const xs = p.points.map(q => cos * q[0] - sin * q[1]), ys = p.points.map(q => sin * q[0] + cos * q[1]);
      w = (Math.max(...xs) - Math.min(...xs)) / 2; h = (Math.max(...ys) - Math.min(...ys)) / 2;
      dx = Math.min(...xs) + w; dy = Math.min(...ys) + h;
    }
    grow(box, x + dx - w - p.r, y + dy - h - p.r, x + dx + w + p.r, y + dy + h + p.r);
  }
  return box;
}
function grow(box, x0, y0, x1, y1) {
  if (x0 < box[0]) box[0] = x0;
  if (y0 < box[1]) box[1] = y0;
  if (x1 > box[2]) box[2] = x1;
  if (y1 > box[3]) box[3] = y1;
}

// The camera: the position of the world in the picture.

/** Shows the scene's view if all moving bodies are in it, and keeps it. Otherwise shows everything, and follows it from then on. Ignores bodies that have fallen out of a box. */
function fit(within = null) {
  const found = content(within), given = found && is_given(found);
  const at = given ? framing({ box: [...given.min, ...given.max], least: 0 }, 0)
    : found ? framing(found) : { x: 0, y: 0, scale: 20 };
  Object.assign(camera, at, { fitted: Boolean(found), follows: true, given: Boolean(given) });
  goal = null;
  if (!within) {
    const { clientWidth: w, clientHeight: h } = $('canvas'), reach = LEFT_SCENE * Math.max(w, h) / at.scale, x = w / 2 / at.scale + reach, y = h / 2 / at.scale + reach;
    stage = [at.x - x, at.y - y, at.x + x, at.y + y];
  }
}

/** Follows moving bodies smoothly: the view changes when something is about to leave it, or when everything has become small. */
function follow_bodies(seconds) {
  if (!camera.follows || !camera.fitted || pointers.size) return;
  const now = performance.now(), { clientWidth: w, clientHeight: h } = $('canvas'), area = [w, h, ...covered()].join(), key = [taken, area].join();
  // Graphs, the palette or the card were opened, or the window has another size.
  if (area !== follow_bodies.area && !draft) {
    if (follow_bodies.area) fit(stage);
    follow_bodies.area = area;
  }
  // The view stays while a shape is drawn, as in the window.
  if (camera.given || DRAWN.includes(tool) || JOINED.includes(tool)) { goal = null; return; }
  if (key !== follow_bodies.key && now - (follow_bodies.since || 0) > (bodies.size > 10000 ? 200 : bodies.size > 2000 ? 100 : 30)) {
    follow_bodies.key = key; follow_bodies.since = now;
    const found = content(stage);
    if (found) {
      const at = goal || camera, wanted = framing(found);
      if (leaves(at, found.box, w, h) || wanted.scale > 2 * at.scale) goal = wanted;
      // A fast body stays in view during the motion.
      if (goal && leaves(camera, found.box, 1.02 * w, 1.02 * h)) hold(found.box, w, h);
    }
  }
  if (!goal) return;
  const share = 1 - Math.exp(-4 * seconds), near = Math.abs(goal.x - camera.x) * goal.scale < 0.5 && Math.abs(goal.y - camera.y) * goal.scale < 0.5 && Math.abs(goal.scale / camera.scale - 1) < 1e-3;
  if (near) { Object.assign(camera, goal); goal = null; return; }
  camera.x += (goal.x - camera.x) * share; camera.y += (goal.y - camera.y) * share;
  camera.scale *= (goal.scale / camera.scale) ** share;
}
/** Returns true if a box is not within 98 % of a camera's picture. */
function leaves(at, [x0, y0, x1, y1], w, h) {
  return Math.max(at.x - x0, x1 - at.x) * at.scale > 0.49 * w || Math.max(at.y - y0, y1 - at.y) * at.scale > 0.49 * h;
}
/** Moves the camera as little as needed to show a box. */
function hold([x0, y0, x1, y1], w, h) {
  camera.scale = Math.min(camera.scale, 0.96 * w / (x1 - x0), 0.96 * h / (y1 - y0));
  const x = 0.48 * w / camera.scale, y = 0.48 * h / camera.scale;
  camera.x = Math.max(x1 - x, Math.min(x0 + x, camera.x));
  camera.y = Math.max(y1 - y, Math.min(y0 + y, camera.y));
}

/** Shows a hint when no moving body is in view; in a world without moving bodies, when no body is. */
function look_for_bodies() {
  const key = [taken, camera.x, camera.y, camera.scale, world, shapes.size].join(), now = performance.now();
  if (key === look_for_bodies.key || now - (look_for_bodies.since || 0) < 100) return;
  look_for_bodies.key = key; look_for_bodies.since = now;
  const { clientWidth: w, clientHeight: h } = $('canvas'), x = w / 2 / camera.scale, y = h / 2 / camera.scale;
  let some = false, still = false;
  for (const body of bodies.values()) {
    const own = looks(body);
    if (!own) continue;
    const inside = Math.abs(body.x - camera.x) < x + own.reach && Math.abs(body.y - camera.y) < y + own.reach;
    if (!isDynamic(body)) { still ||= inside; continue; }
    some = true;
    if (inside) { $('lost').hidden = true; return; }
  }
  $('lost').hidden = !drawn || bodies.size === 0 || (!some && still);
}

/** Zooms around a point of the canvas, px. */
function zoom(factor, px = $('canvas').clientWidth / 2, py = $('canvas').clientHeight / 2) {
  const [x, y] = world_at(px, py), scale = Math.min(1e6, Math.max(1e-4, camera.scale * factor)), by = 1 / camera.scale - 1 / scale;
  camera.x += (px - $('canvas').clientWidth / 2) * by; camera.y -= (py - $('canvas').clientHeight / 2) * by;
  camera.scale = scale;
  take_camera();
  return [x, y];
}
function pan(dx, dy) { camera.x -= dx / camera.scale; camera.y += dy / camera.scale; take_camera(); }
/** Ends following: the user moves the view. */
function take_camera() { camera.follows = camera.given = false; goal = null; }
const world_at = (px, py) => [camera.x + (px - $('canvas').clientWidth / 2) / camera.scale, camera.y - (py - $('canvas').clientHeight / 2) / camera.scale];
const pixel_of = ([x, y]) => [(x - camera.x) * camera.scale + $('canvas').clientWidth / 2, $('canvas').clientHeight / 2 - (y - camera.y) * camera.scale];

// Joints: the current positions of their ends.

const body_of = id => { const [slot, generation] = id.split('.').map(Number), body = bodies.get(slot); return body && body.generation === generation ? body : null; };
const place_on = (body, [x, y]) => { const cos = Math.cos(body.angle), sin = Math.sin(body.angle); return [body.x + cos * x - sin * y, body.y + sin * x + cos * y]; };
function ends_of(joint) {
  const first = joint.a === null ? null : body_of(joint.a), second = body_of(joint.b);
  if (!second || (joint.a !== null && !first)) return null;
  return { first, second, a: first ? place_on(first, joint.anchor_a) : joint.anchor_a, b: place_on(second, joint.anchor_b) };
}
/** Returns the points that the line of a joint connects: its anchors, and between them those over which the rope of a pulley goes. */
const line_of = (joint, ends) => [ends.a, ...joint.ground_points ?? [], ends.b];

// Picking: the body nearest to a point.

/** Returns the point of a shape nearest to a position, both in the frame of the body. */
function nearest(p, x, y) {
  const dx = x - p.x, dy = y - p.y, u = p.cos * dx + p.sin * dy, v = p.cos * dy - p.sin * dx;
  const out = (a, b) => [p.x + p.cos * a - p.sin * b, p.y + p.sin * a + p.cos * b];
  // From the nearest point of the core, as far as the radius.
  const rounded = (a, b, r) => { const l = Math.hypot(u - a, v - b); return l <= r ? [x, y] : out(a + (u - a) * r / l, b + (v - b) * r / l); };
  if (p.kind === CIRCLE) return rounded(0, 0, p.a);
  if (p.kind === HALF_PLANE) { const d = dx * p.cos + dy * p.sin; return d <= 0 ? [x, y] : [x - d * p.cos, y - d * p.sin]; }
  if (p.kind !== POLYGON) return rounded(Math.max(-p.a, Math.min(p.a, u)), Math.max(-p.b, Math.min(p.b, v)), p.r);
  let best = null, inside = true, least = Infinity;
  p.points.forEach(([ax, ay], i) => {
    const [bx, by] = p.points[(i + 1) % p.points.length], ex = bx - ax, ey = by - ay;
    if (ex * (dy - ay) - ey * (dx - ax) < 0) inside = false;
    const t = Math.max(0, Math.min(1, ((dx - ax) * ex + (dy - ay) * ey) / (ex * ex + ey * ey))), d = Math.hypot(ax + t * ex - dx, ay + t * ey - dy);
    if (d < least) { least = d; best = [ax + t * ex, ay + t * ey]; }
  });
  return inside || least <= p.r ? [x, y] : rounded(best[0], best[1], p.r);
}

/** Returns the body nearest to a point, at most `slack` px away, and the point on it in its frame. Static ones only with `all`, never the one with the id `but`. */
function pick([x, y], slack, all = false, but = null) {
  let found = null, least = slack / camera.scale;
  for (const body of bodies.values()) {
    const own = looks(body), dx = x - body.x, dy = y - body.y;
    if (!own || own.id === but || (!all && !isDynamic(body)) || Math.hypot(dx, dy) > own.reach + least) continue;
    const cos = Math.cos(body.angle), sin = Math.sin(body.angle), px = cos * dx + sin * dy, py = cos * dy - sin * dx;
    for (const p of own.parts) {
      const point = nearest(p, px, py), d = Math.hypot(point[0] - px, point[1] - py);
      // Among equally near bodies, the one drawn last; a moving one before a fixed one.
      if (d > least || (found && d === least && isDynamic(found.body) && !isDynamic(body))) continue;
      least = d;
      found = { body, id: own.id, name: own.name, mass: own.mass, point };
    }
  }
  return found;
}

// The pointer: pulls bodies, moves the view, pinches, uses tools.

/** Pressed pointers by id, px of the canvas; and the position of the last one, px, while it is over the world. */
const pointers = new Map();
let hovered = null;
/** True if that pointer is one that can be over something without a press. */
let hovers = false;
/** True if the user touched the screen last, and has no keys at hand. */
let touches = matchMedia('(pointer: coarse)').matches;
addEventListener('pointerdown', event => { touches = event.pointerType === 'touch'; }, true);
addEventListener('keydown', () => { touches = false; }, true);
/** Returns the text for a user with a keyboard, or for one with a touch screen. */
const by_hand = (key, touch) => touches ? touch : key;
/** Held body, or null. */
let drag = null;
/** Press that may become a drag or a click, or null. */
let press = null;
/** Milliseconds after which a press on a body holds it. */
const HOLD = 250;
const hand = 'page-' + crypto.getRandomValues(new Uint32Array(1))[0];

function send(message) { if (socket && socket.readyState === 1) socket.send(JSON.stringify({ id: ++serial, ...message })); }
/** Sends the position of the pointer to the service, at most every 33 ms. */
function pull() {
  if (!drag || !drag.moved || !drag.ready) return;
  drag.moved = false; drag.sent = true;
  send({ commands: [{ mouse: { pointer: hand, body: drag.id, point: drag.point, target: drag.target, max_force: 1000 * Math.max(drag.mass, 0.1) } }] });
}
setInterval(pull, 33);
function letGo() {
  if (drag && drag.sent) {
    const commands = [{ release: { pointer: hand } }];
    pull();
    // Also sent to a world without a stream: it would otherwise hold the body forever.
    if (socket && socket.readyState === 1) send({ commands }); else post(drag.world, '/commands', { commands }).catch(() => {});
  }
  drag = null;
}
async function grab(found, target) {
  const own = drag = { ...found, world, target, moved: true, ready: false };
  if (status && status.state === 'paused') tell(by_hand('paused: Space runs', 'paused: Play runs'));
  await keepStart();
  own.ready = true;
  pull();
}

const offset = event => { const box = $('canvas').getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
const slack_of = event => event.pointerType === 'touch' ? GRAB_TOUCH : GRAB_MOUSE;
$('canvas').onpointerdown = event => {
  const at = offset(event);
  // The next action ends an error about the last one.
  if (!say.about && $('say').textContent !== AWAY) say();
  hovers = false;
  $('canvas').setPointerCapture(event.pointerId);
  $('canvas').focus({ preventScroll: true });
  hovered = at;
  pointers.set(event.pointerId, at);
  if (pointers.size > 1) { if (press) { clearTimeout(press.timer); press = null; } if (draft?.from) end_draft(); return letGo(); }
  if (tool && event.button === 0) {
    if (!drawn) return;
    if (!begin_drawing(tool, world_at(...at), slack_of(event))) use(tool, world_at(...at));
    return;
  }
  press = event.button === 0 && drawn ? { at, moved: false, found: pick(world_at(...at), slack_of(event)) } : null;
  // A long press grabs a body like a drag does; a short one selects it.
  if (press?.found) press.timer = setTimeout(take_hold, HOLD, press);
  cursor(event);
};
$('canvas').onpointermove = event => {
  const at = offset(event), before = pointers.get(event.pointerId);
  hovered = at; hovers = event.pointerType !== 'touch';
  go_on_drawing(world_at(...at));
  if (!before) return cursor(event);
  if (pointers.size === 1) {
    if (press && !press.moved) {
      if (Math.hypot(at[0] - press.at[0], at[1] - press.at[1]) < CLICK) return;
      press.moved = true;
      if (press.found) take_hold(press);
    }
    if (drag) { drag.target = world_at(...at); drag.moved = true; }
    else if (!tool) pan(at[0] - before[0], at[1] - before[1]);
  } else {
    const other = [...pointers].find(([id]) => id !== event.pointerId)[1];
    const apart = p => Math.max(1, Math.hypot(p[0] - other[0], p[1] - other[1]));
    // First the middle moves, then the picture is scaled around it.
    pan((at[0] - before[0]) / 2, (at[1] - before[1]) / 2);
    zoom(apart(at) / apart(before), (at[0] + other[0]) / 2, (at[1] + other[1]) / 2);
  }
  pointers.set(event.pointerId, at);
};
$('canvas').onpointerup = event => {
  const was = press, last = pointers.size === 1;
  lift(event);
  if (tool) { if (last) end_drawing(tool); } else if (last && was && !was.moved && !was.held) {
    const hit = pick_any(world_at(...was.at), slack_of(event));
    if (hit?.joint) select_joint(hit.joint.id); else { if (!hit) select_joint(null); select(hit ? hit.body.id : null); }
  }
};
$('canvas').onpointercancel = event => { end_draft(); lift(event); };
function lift(event) { pointers.delete(event.pointerId); if (press) clearTimeout(press.timer); press = null; letGo(); cursor(event); }
/** Grabs the pressed body. */
function take_hold(own) {
  clearTimeout(own.timer);
  if (own !== press || drag || pointers.size !== 1) return;
  own.held = true;
  grab(own.found, world_at(...[...pointers.values()][0])).catch(error => say(error.message));
  painted.key = '';
}
$('canvas').onpointerleave = () => { if (!pointers.size) hovered = null; };
$('canvas').oncontextmenu = event => event.preventDefault();
$('canvas').onwheel = event => { event.preventDefault(); zoom(Math.exp(-event.deltaY * 0.001), ...offset(event)); };
/** Shows a hand over bodies that can be grabbed, and another one over joints. */
function cursor(event) {
  const place = world_at(...offset(event)), slack = slack_of(event), is_free = drawn && !drag && !tool && !pointers.size;
  const over = drag ? 'held' : tool ? 'tool' : pointers.size ? 'pan' : is_free && pick_any(place, slack)?.joint ? 'joint' : is_free && pick(place, slack) ? 'body' : '';
  $('canvas').dataset.over = over;
}
/** Milliseconds between two texts about what is under the pointer. */
const HOVER_EVERY = 150;
/** Shows what is under the pointer, beside it. */
function show_hover(now) {
  const { clientWidth: w, clientHeight: h } = $('canvas'), is_on = hovers && hovered && drawn && !tool && !pointers.size && $('panel').hidden;
  const key = [taken, hovered, camera.x, camera.y, camera.scale, is_on].join();
  if (key === show_hover.key || (is_on && now - (show_hover.since || 0) < HOVER_EVERY)) return;
  Object.assign(show_hover, { key, since: now });
  const found = is_on ? pick_any(here(), GRAB_MOUSE) : null;
  $('hover').hidden = !found;
  if (!found) return;
  write($('hover'), found.joint ? about_joint(found.joint) : about_body(found.body));
  // Its width is measured where it has the whole picture.
  $('hover').style.left = $('hover').style.top = '0px';
  const { offsetWidth: across, offsetHeight: down } = $('hover'), [x, y] = hovered;
  const beside = (at, size, room) => at + 16 + size <= room ? at + 16 : at - 16 - size >= 0 ? at - 16 - size : Math.max(0, room - size);
  const left = beside(x, across, w), is_under = left <= x && x <= left + across;
  $('hover').style.left = `${left}px`;
  // Where it has no room beside the pointer it is above or below it.
  $('hover').style.top = `${is_under && y + 16 + down > h && y - 16 - down < 0 ? 0 : beside(y, down, h)}px`;
}
/** Returns a number with this number of digits after the point, and no sign if all are 0. */
const fixed = (value, digits) => (Number(value.toFixed(digits)) + 0).toFixed(digits);
function about_body({ body, id, name, mass }) {
  const kind = ['dynamic', '', 'static', '', 'kinematic'][body.flags & 6], speed = Math.hypot(body.vx, body.vy);
  const where = `at ${fixed(body.x, 2)}, ${fixed(body.y, 2)} m, ${fixed(body.angle * 180 / Math.PI, 1)}°`;
  // Velocities are known if they are shown somewhere.
  return `${body_name(id)}${name ? ` (${name})` : ''}, ${kind}${isDynamic(body) ? `, ${Number(mass.toPrecision(4))} kg` : ''}\n${where}${wanted.format === 'full' && kind !== 'static' ? `, ${speed.toFixed(2)} m/s` : ''}${body.flags & 1 ? ', asleep' : ''}`;
}
function about_joint(joint) {
  const text = motion_of(joint, ends_of(joint));
  return `${joint_name(joint)}${joint.name ? ` (${joint.name})` : ''}\n${body_name(joint.a)} and ${body_name(joint.b)}${text && `, ${text}`}`;
}
$('closer').onclick = () => zoom(1.4);
$('wider').onclick = () => zoom(1 / 1.4);
$('fit').onclick = $('lost').onclick = () => fit();
