// Drawing. All shapes become one list of instances, which WebGL 2 draws in one call and a 2D canvas one by one.

const colors = ['#4c78a8', '#f58518', '#54a24b', '#b279a2', '#e4b02f', '#72b7b2', '#e45756', '#9d755d'];
const RING = 4, ZIGZAG = 5, DASHES = 6, COILS = 10, STRIDE = 12;
const layers = { joints: true, boxes: false, grid: true, velocities: false, forces: false };
/** Key of the last painting. */
let painted = { key: '', shapes: null };

/** Returns a colour as a number, as in the list of instances. */
function rgba(css, alpha = 1) {
  const [r, g, b] = css.startsWith('#') ? [1, 3, 5].map(i => parseInt(css.slice(i, i + 2), 16)) : css.match(/\d+/g).map(Number);
  return (r | g << 8 | b << 16 | Math.round(255 * alpha) << 24) >>> 0;
}
const faded = (color, alpha) => (color & 0xffffff | Math.round((color >>> 24) * alpha) << 24) >>> 0;
const PALETTE = colors.map(color => rgba(color)), FIXED = rgba('#8a8f98'), EDGE = rgba('#000000', 0.4), FADED_EDGE = rgba('#000000', 0.22), HELD = rgba('#000000'), JOINT = rgba('#9b59d0'), AABB = rgba('#2fa5a5', 0.8), BAND = rgba('#ffd54a'), SELECTED = rgba('#e6007a');
/** Returns a colour by the id of a body, or by the number that its scene gives: it does not depend on other bodies. Eight neighbouring slots have eight colours. */
function color_of({ slot: own_slot, generation: own_generation, own }) {
  const given = own?.color_index, slot = given ?? own_slot, generation = given === undefined ? own_generation : 0;
  let h = Math.imul((slot >> 3) + 0x9e37 * (generation + 1), 0x7feb352d) >>> 0;
  h = Math.imul(h ^ h >>> 15, 0x846ca68b) >>> 0;
  return PALETTE[(5 * slot + (h >>> 13)) & 7];
}

// The list of instances: position, px from the upper left; cosine and sine of the angle; three sizes and one more
// number; two colours, kind and width.

let instances = new Float32Array(STRIDE * 1024), words = new Uint32Array(instances.buffer), count = 0;
function put(kind, x, y, cos, sin, a, b, r, more, fill, edge, width) {
  if ((count + 1) * STRIDE > instances.length) {
    const larger = new Float32Array(2 * instances.length);
    larger.set(instances);
    instances = larger; words = new Uint32Array(instances.buffer);
  }
  const i = STRIDE * count++;
  instances[i] = x; instances[i + 1] = y; instances[i + 2] = cos; instances[i + 3] = sin; instances[i + 4] = a; instances[i + 5] = b; instances[i + 6] = r; instances[i + 7] = more;
  words[i + 8] = fill; words[i + 9] = edge; instances[i + 10] = kind; instances[i + 11] = width;
}
/** Adds a line between two points, px. */
function line([ax, ay], [bx, by], half, color, kind = CAPSULE, b = 0, more = 0) {
  const length = Math.hypot(bx - ax, by - ay) || 1e-6;
  put(kind, (ax + bx) / 2, (ay + by) / 2, (bx - ax) / length, (ay - by) / length, length / 2, b, half, more, color, color, 0);
}

/** Points of all polygons, in the order of the numbers in the list, in rows of a texture. */
let corners = { of: null, points: [], changed: false };
function number_corners() {
  if (corners.of === shapes) return;
  corners = { of: shapes, points: [], changed: true };
  for (const own of shapes.values()) {
    for (const p of own.parts) if (p.points) { p.first = corners.points.length; corners.points.push(...p.points); }
  }
}

/** Selected body while a picture is being collected. */
let shown_body = null;
/** Collects all visible shapes for a picture of a size in px. */
function collect(w, h, ratio) {
  count = 0;
  shown_body = selected_body();
  number_corners();
  const s = camera.scale * ratio, at = ([x, y]) => [(x - camera.x) * s + w / 2, h / 2 - (y - camera.y) * s];
  if (layers.grid) collect_grid(w, h, ratio, s);
  for (const body of bodies.values()) collect_body(body, w, h, ratio, s);
  if (layers.boxes) {
    for (const body of bodies.values()) {
      const own = looks(body), box = own && bounds(body, own);
      if (!box || !isFinite(box[0])) continue;
      const [x, y] = at([(box[0] + box[2]) / 2, (box[1] + box[3]) / 2]);
      put(BOX, x, y, 1, 0, (box[2] - box[0]) / 2 * s, (box[3] - box[1]) / 2 * s, 0, 0, 0, AABB, ratio);
    }
  }
  if (layers.joints) collect_joints(at, w, h, ratio, s);
  for (const arrow of ARROWS) collect_arrows(arrow, w, h, ratio, s);
  collect_draft(at, ratio);
  if (drag) {
    const from = at(place_on(drag.body, drag.point)), to = at(drag.target);
    // Light on dark, so that it is visible on bodies of all colours.
    line(from, to, 2.5 * ratio, HELD);
    line(from, to, 1.25 * ratio, BAND);
    for (const [x, y] of [from, to]) put(CIRCLE, x, y, 1, 0, 4 * ratio, 0, 0, 0, BAND, HELD, 0);
  }
}

/** Returns the distance between grid lines and of the scale bar, m: the smallest round number of at least a given width, px. */
function round_metres(px) {
  const least = px / camera.scale, power = 10 ** Math.floor(Math.log10(least));
  return power * [1, 2, 5, 10].find(n => n * power >= least);
}
function collect_grid(w, h, ratio, s) {
  const every = round_metres(60), color = rgba(getComputedStyle($('canvas')).color, 0.55), half = Math.max(1, Math.round(ratio)) / 2;
  const [left, low] = [camera.x - w / 2 / s, camera.y - h / 2 / s];
  const pixel = at => Math.floor(at) + (half % 1);
  for (let i = Math.ceil(left / every); (i * every - left) * s < w; i++) put(BOX, pixel((i * every - left) * s), h / 2, 1, 0, half, h, 0, 0, color, 0, 0);
  for (let i = Math.ceil(low / every); (i * every - low) * s < h; i++) put(BOX, w / 2, pixel(h - (i * every - low) * s), 1, 0, w, half, 0, 0, color, 0, 0);
}

function collect_body(body, w, h, ratio, s) {
  const own = looks(body);
  if (!own) return;
  const { parts } = own, ox = (body.x - camera.x) * s + w / 2, oy = h / 2 - (body.y - camera.y) * s, reach = own.reach * s + 2;
  if (ox + reach < 0 || ox - reach > w || oy + reach < 0 || oy - reach > h) return;
  const cos = Math.cos(body.angle), sin = Math.sin(body.angle), held = (drag && drag.body === body) || body === shown_body, alpha = body.flags & 1 ? 0.55 : 1, least = 0.7 * ratio;
  const full = body.flags & 6 ? FIXED : body.color ??= color_of(body), color = alpha < 1 ? faded(full, alpha) : full, edge = body === shown_body ? SELECTED : held ? HELD : alpha < 1 ? FADED_EDGE : EDGE;
  for (let n = 0; n < parts.length; n++) {
    const p = parts[n];
    const x = ox + (cos * p.x - sin * p.y) * s, y = oy - (sin * p.x + cos * p.y) * s, c = cos * p.cos - sin * p.sin, i = sin * p.cos + cos * p.sin;
    const fill = p.sensor ? 0 : color, thin = Math.max(p.a + p.r, p.b + p.r) * s < 4 * ratio;
    // Outlines of shapes of a few pixels would hide their colour.
    const width = held ? 2 * ratio : thin && !p.sensor ? 0 : ratio, r = p.r * s, rim = p.sensor ? color : edge;
    if (p.kind === BOX) put(BOX, x, y, c, i, Math.max(p.a * s, least), Math.max(p.b * s, least), r, 0, fill, rim, Math.min(p.a, p.b) * s > ratio || p.sensor ? width : 0);
    else if (p.kind === HALF_PLANE) {
      // A box as large as the picture, with its upper edge on the line, at the line's point closest to the middle.
      const d = (x - w / 2) * c - (y - h / 2) * i, far = 2 * (w + h);
      put(BOX, w / 2 + c * (d - far), h / 2 - i * (d - far), i, -c, far, far, 0, 0, fill, rim, width);
    } else if (p.kind === CIRCLE) put(CIRCLE, x, y, c, i, Math.max(p.a * s, least), 0, 0, 0, fill, rim, width);
    else if (p.kind === CAPSULE) put(CAPSULE, x, y, c, i, p.a * s, 0, Math.max(r, least), 0, fill, rim, r > 2 * ratio ? width : 0);
    else put(POLYGON, x, y, c, i, p.a * s, p.first, r, p.points.length, fill, rim, width);
  }
}

/** Kinds of arrows: layer, components in a body, unit and colour; and the current scale, px per unit. */
const ARROWS = [
  { layer: 'velocities', x: 'vx', y: 'vy', unit: 'm/s', color: '#1f9e89', scale: 0 },
  { layer: 'forces', x: 'fx', y: 'fy', unit: 'N', color: '#d4610c', scale: 0 },
];
/** Pixels of a long arrow, and the range in which the scale is kept. Below the last number, m/s or N, a body counts as still. */
const LONG = 60, TOO_SHORT = 20, TOO_LONG = 140, STILL = 0.01;
function collect_arrows(arrow, w, h, ratio, s) {
  if (!layers[arrow.layer]) { arrow.scale = 0; return; }
  const sizes = [], every = Math.ceil(bodies.size / 500);
  let i = 0;
  for (const body of bodies.values()) if (i++ % every === 0 && isDynamic(body)) { const size = Math.hypot(body[arrow.x], body[arrow.y]); if (size > STILL) sizes.push(size); }
  const long = quantile(sizes, 0.95);
  if (!(long * arrow.scale > TOO_SHORT && long * arrow.scale < TOO_LONG) && long > 0) arrow.scale = LONG / long;
  if (!arrow.scale) return;
  const color = rgba(arrow.color), pen = 0.9 * ratio, k = arrow.scale * ratio;
  for (const body of bodies.values()) {
    if (!isDynamic(body) && !(body.flags & 4)) continue;
    const own = looks(body), dx = body[arrow.x] * k, dy = -body[arrow.y] * k, length = Math.hypot(dx, dy);
    if (!own || length < 3 * ratio || length < STILL * k) continue;
    const cos = Math.cos(body.angle), sin = Math.sin(body.angle), [mx, my] = own.middle, x = (body.x + cos * mx - sin * my - camera.x) * s + w / 2, y = h / 2 - (body.y + sin * mx + cos * my - camera.y) * s;
    if (Math.max(x, x + dx) < 0 || Math.min(x, x + dx) > w || Math.max(y, y + dy) < 0 || Math.min(y, y + dy) > h) continue;
    const ux = dx / length, uy = dy / length, head = Math.min(6 * ratio, 0.4 * length), to = [x + dx, y + dy];
    line([x, y], to, pen, color);
    line([to[0] - head * (ux + 0.6 * uy), to[1] - head * (uy - 0.6 * ux)], to, pen, color);
    line([to[0] - head * (ux - 0.6 * uy), to[1] - head * (uy + 0.6 * ux)], to, pen, color);
  }
}
/** Updates the legend: the length of an arrow of a round size. */
function arrow_scales() {
  const shown = ARROWS.filter(arrow => layers[arrow.layer] && arrow.scale), key = shown.map(arrow => [arrow.layer, arrow.scale]).join();
  if (key === arrow_scales.key) return;
  arrow_scales.key = key;
  $('arrow-scales').replaceChildren(...shown.map(arrow => {
    const least = 30 / arrow.scale, power = 10 ** Math.floor(Math.log10(least)), size = power * [1, 2, 5, 10].find(n => n * power >= least), row = document.createElement('span'), bar = document.createElement('i');
    bar.style.width = size * arrow.scale + 'px'; bar.style.background = arrow.color;
    row.append(bar, `${arrow.layer === 'forces' ? 'net force' : 'velocity'} ${Number(size.toPrecision(3))} ${arrow.unit}`);
    return row;
  }));
}

/** Draws joints, with a symbol for each kind: thin lines from the bodies to the anchors, a symbol between the anchors, and symbols at them. */
function collect_joints(at, w, h, ratio, s) {
  const highlighted = shown_joint();
  for (const joint of joints) {
    const ends = ends_of(joint);
    if (!ends) continue;
    const rope = line_of(joint, ends).map(at), a = rope[0], b = rope.at(-1), far = 40 * ratio, xs = rope.map(p => p[0]), ys = rope.map(p => p[1]);
    if (Math.max(...xs) < -far || Math.min(...xs) > w + far || Math.max(...ys) < -far || Math.min(...ys) > h + far) continue;
    const reach = Math.min(looks(ends.second)?.reach ?? 1, 100) * s / ratio, size = Math.max(1.5, Math.min(5, 0.2 * reach)) * ratio, pen = (joint === highlighted ? 1.75 : 0.75) * ratio;
    const is_shown = joint === highlighted, color = is_shown ? SELECTED : joint.disabled ? faded(JOINT, 0.35) : JOINT, pale = faded(color, 0.5), length = Math.hypot(ends.b[0] - ends.a[0], ends.b[1] - ends.a[1]);
    // On bodies of a few pixels only the symbol between the anchors is drawn.
    if (reach < 5 && !is_shown && joint.type !== 'velocity') { if (length * s > 2 * ratio) rope.slice(1).forEach((p, i) => line(rope[i], p, pen, color)); continue; }
    // A drive of the velocity holds no distance: its anchor on A means nothing.
    if (joint.type === 'velocity') { put(BOX, ...b, 1, 0, 0.9 * size, 0.9 * size, 0, 0, color, color, 0); continue; }
    for (const [body, end] of [[ends.first, a], [ends.second, b]]) if (body && isDynamic(body)) line(at([body.x, body.y]), end, 0.5 * ratio, pale);
    const disc = ([x, y], r) => put(CIRCLE, x, y, 1, 0, r, 0, 0, 0, color, color, 0);
    const ring = ([x, y], r) => put(RING, x, y, 1, 0, r, 0, pen, 0, color, color, 0);
    const square = ([x, y], r) => put(BOX, x, y, 1, 0, r, r, 0, 0, 0, color, 1.5 * ratio);
    if (joint.a === null) square(a, 1.5 * size);
    if (joint.type === 'spring') {
      line(a, b, pen, color, ZIGZAG, Math.max(2 * ratio, Math.min(7 * ratio, 0.15 * (joint.length ?? length) * s)), COILS);
      disc(a, 0.5 * size); disc(b, 0.5 * size);
    } else if (joint.type === 'distance') {
      // A slack rope is dashed.
      const loose = joint.length === undefined && joint.limits && length < 0.999 * joint.limits[1];
      line(a, b, loose ? pen : 1.2 * pen, color, loose ? DASHES : CAPSULE, 0, 8 * ratio);
      disc(a, 0.6 * size); disc(b, 0.6 * size);
    } else if (joint.type === 'pulley') {
      rope.slice(1).forEach((p, i) => line(rope[i], p, 1.2 * pen, color));
      rope.slice(1, -1).forEach(p => ring(p, 1.2 * size));
      disc(a, 0.6 * size); disc(b, 0.6 * size);
    } else if (joint.axis) {
      const turn = ends.first ? ends.first.angle : 0, c = Math.cos(turn), i = Math.sin(turn), [x, y] = joint.axis;
      const ux = c * x - i * y, uy = -(i * x + c * y), t = (b[0] - a[0]) * ux + (b[1] - a[1]) * uy, over = 3 * size;
      const on = k => [a[0] + ux * k, a[1] + uy * k];
      line(on(Math.min(t, 0) - over), on(Math.max(t, 0) + over), pen, color);
      if (joint.type === 'wheel') ring(b, 1.4 * size); else square(b, 1.2 * size);
    } else {
      line(a, b, pen, color, joint.type === 'motor' || joint.type === 'gear' ? DASHES : CAPSULE, 0, 8 * ratio);
      if (joint.type === 'gear') { ring(a, 1.4 * size); ring(b, 1.4 * size); }
      else if (joint.type === 'revolute') { ring(a, 1.2 * size); disc(b, 0.4 * size); } else put(BOX, ...a, 1, 0, 0.8 * size, 0.8 * size, 0, 0, color, color, 0);
    }
  }
}

// WebGL 2: an instance is a quad, and the fragment shader computes its distance to the edge of the shape.

const VERTEX = `#version 300 es
precision highp float;
layout(location=0) in vec4 pose; layout(location=1) in vec4 size; layout(location=2) in vec4 fill; layout(location=3) in vec4 edge; layout(location=4) in vec2 kind;
uniform vec2 view;
out vec2 at; flat out vec4 sizes, inside, rim; flat out vec2 form;
void main() {
  vec2 half_size = vec2(size.x + size.z);
  if (kind.x == 1.0 || kind.x == 5.0) half_size.y = size.y + size.z;
  if (kind.x == 2.0 || kind.x == 6.0) half_size.y = size.z;
  at = (vec2(gl_VertexID & 1, gl_VertexID >> 1) * 2.0 - 1.0) * (half_size + 1.5);
  vec2 px = pose.xy + vec2(pose.z * at.x - pose.w * at.y, -(pose.w * at.x + pose.z * at.y));
  gl_Position = vec4(px / view * vec2(2.0, -2.0) + vec2(-1.0, 1.0), 0.0, 1.0);
  sizes = size; inside = fill; rim = edge; form = kind;
}`;
const FRAGMENT = `#version 300 es
precision highp float;
in vec2 at; flat in vec4 sizes, inside, rim; flat in vec2 form;
uniform highp sampler2D points; uniform float scale;
out vec4 color;
vec2 corner(int i) { return texelFetch(points, ivec2(i & 1023, i >> 10), 0).xy * scale; }
float to_segment(vec2 p, vec2 a, vec2 b) { vec2 e = b - a; return distance(p, a + e * clamp(dot(p - a, e) / max(dot(e, e), 1e-12), 0.0, 1.0)); }
float polygon() {
  int first = int(sizes.y), n = int(sizes.w);
  float d = 1e9; bool is_inside = true;
  vec2 a = corner(first + n - 1);
  for (int i = 0; i < n; i++) {
    vec2 b = corner(first + i), e = b - a, v = at - a;
    d = min(d, to_segment(at, a, b));
    if (e.x * v.y - e.y * v.x < 0.0) is_inside = false;
    a = b;
  }
  return (is_inside ? -d : d) - sizes.z;
}
float away() {
  int kind = int(form.x);
  if (kind == 0) return length(at) - sizes.x;
  if (kind == 1) { vec2 q = abs(at) - sizes.xy; return length(max(q, 0.0)) + min(max(q.x, q.y), 0.0) - sizes.z; }
  if (kind == 3) return polygon();
  if (kind == 4) return abs(length(at) - sizes.x) - sizes.z;
  if (kind == 5) {
    float period = 2.0 * sizes.x / sizes.w, phase = (at.x + sizes.x) / period, wave = sizes.y * (4.0 * abs(fract(phase - 0.25) - 0.5) - 1.0);
    float slope = 4.0 * sizes.y / period;
    return max(abs(at.y - wave) * inversesqrt(1.0 + slope * slope) - sizes.z, abs(at.x) - sizes.x);
  }
  float d = length(vec2(max(abs(at.x) - sizes.x, 0.0), at.y)) - sizes.z;
  if (kind == 6) d = max(d, abs(fract((at.x + sizes.x) / sizes.w) - 0.3) * sizes.w - 0.3 * sizes.w);
  return d;
}
void main() {
  float d = away(), cover = clamp(0.5 - d, 0.0, 1.0);
  if (cover <= 0.0) discard;
  vec4 body = vec4(inside.rgb * inside.a, inside.a), line = vec4(rim.rgb * rim.a, rim.a);
  float border = form.y > 0.0 ? clamp(0.5 + d + form.y, 0.0, 1.0) : 0.0;
  if (form.y > 0.0 && form.x == 0.0 && at.x > 0.0) border = max(border, clamp(0.5 + 0.5 * form.y - abs(at.y), 0.0, 1.0));
  // The outline covers the fill.
  color = mix(body, line + body * (1.0 - line.a), border) * cover;
}`;

/** Returns true if WebGL is rendered in software, as on a machine without a graphics card. Tested on a separate canvas, because a canvas can have only one kind of context. */
function is_software() {
  const gl = document.createElement('canvas').getContext('webgl2', { failIfMajorPerformanceCaveat: true });
  if (!gl) return true;
  const names = gl.getExtension('WEBGL_debug_renderer_info'), renderer = gl.getParameter(names ? names.UNMASKED_RENDERER_WEBGL : gl.RENDERER);
  gl.getExtension('WEBGL_lose_context')?.loseContext();
  return /swiftshader|llvmpipe|softpipe|software|basic render/i.test(renderer);
}

/** Starts WebGL 2. Returns null if it is missing or rendered in software: the 2D canvas is then faster. `?draw=webgl` and `?draw=2d` override this. */
function start_webgl(canvas, is_again = false) {
  const wanted = new URLSearchParams(location.search).get('draw'), options = { antialias: false, alpha: true, premultipliedAlpha: true };
  if (wanted === '2d' || (wanted !== 'webgl' && !is_again && is_software())) return null;
  const gl = canvas.getContext('webgl2', options);
  if (!gl) return null;
  const program = gl.createProgram();
  for (const [type, text] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
    const shader = gl.createShader(type);
    gl.shaderSource(shader, text);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS)) {
    if (!gl.isContextLost()) console.error(gl.getProgramInfoLog(program));
    return { gl, lost: true };
  }
  const buffer = gl.createBuffer(), texture = gl.createTexture(), uniform = name => gl.getUniformLocation(program, name);
  gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
  [[4, gl.FLOAT, false, 0], [4, gl.FLOAT, false, 16], [4, gl.UNSIGNED_BYTE, true, 32], [4, gl.UNSIGNED_BYTE, true, 36], [2, gl.FLOAT, false, 40]].forEach(([size, type, norm, from], i) => {
    gl.enableVertexAttribArray(i);
    gl.vertexAttribPointer(i, size, type, norm, 4 * STRIDE, from);
    gl.vertexAttribDivisor(i, 1);
  });
  gl.bindTexture(gl.TEXTURE_2D, texture);
  for (const [name, value] of [[gl.TEXTURE_MIN_FILTER, gl.NEAREST], [gl.TEXTURE_MAG_FILTER, gl.NEAREST]]) gl.texParameteri(gl.TEXTURE_2D, name, value);
  gl.useProgram(program);
  gl.enable(gl.BLEND);
  gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  corners.changed = true;
  return { gl, view: uniform('view'), scale: uniform('scale') };
}

function paint_webgl({ gl, view, scale }, w, h, ratio) {
  if (corners.changed) {
    const rows = Math.max(1, Math.ceil(corners.points.length / 1024)), data = new Float32Array(2048 * rows);
    corners.points.forEach(([x, y], i) => { data[2 * i] = x; data[2 * i + 1] = y; });
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RG32F, 1024, rows, 0, gl.RG, gl.FLOAT, data);
    corners.changed = false;
  }
  gl.viewport(0, 0, w, h);
  gl.clearColor(0, 0, 0, 0);
  gl.clear(gl.COLOR_BUFFER_BIT);
  gl.uniform2f(view, w, h);
  gl.uniform1f(scale, camera.scale * ratio);
  gl.bufferData(gl.ARRAY_BUFFER, instances.subarray(0, count * STRIDE), gl.STREAM_DRAW);
  gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, count);
}

// 2D canvas, where there is no WebGL 2.

const css = new Map();
function css_of(word) {
  if (!css.has(word)) css.set(word, `rgba(${word & 255},${word >> 8 & 255},${word >> 16 & 255},${(word >>> 24) / 255})`);
  return css.get(word);
}
function trace(c, kind, a, b, r, more, s) {
  c.beginPath();
  if (kind === CIRCLE || kind === RING) c.arc(0, 0, a, 0, 2 * Math.PI);
  else if (kind === BOX) { if (r > 0) c.roundRect(-a - r, -b - r, 2 * (a + r), 2 * (b + r), r); else c.rect(-a, -b, 2 * a, 2 * b); }
  else if (kind === POLYGON) { for (let k = 0; k < more; k++) { const [x, y] = corners.points[b + k]; c.lineTo(x * s, -y * s); } c.closePath(); }
  else if (kind === ZIGZAG) { c.moveTo(-a, 0); for (let k = 0; k < more; k++) { c.lineTo(a * (2 * (k + 0.25) / more - 1), -b); c.lineTo(a * (2 * (k + 0.75) / more - 1), b); } c.lineTo(a, 0); }
  else { c.moveTo(-a, 0); c.lineTo(a, 0); }
}
function paint_2d(c, w, h, ratio) {
  c.setTransform(1, 0, 0, 1, 0, 0);
  c.clearRect(0, 0, w, h);
  for (let n = 0, i = 0; n < count; n++, i += STRIDE) {
    const cos = instances[i + 2], sin = instances[i + 3], a = instances[i + 4], b = instances[i + 5], r = instances[i + 6], more = instances[i + 7], kind = instances[i + 10], width = instances[i + 11];
    c.setTransform(cos, -sin, sin, cos, instances[i], instances[i + 1]);
    c.lineCap = kind === DASHES ? 'butt' : 'round'; c.lineJoin = 'round';
    trace(c, kind, a, b, r, more, camera.scale * ratio);
    const fill = words[i + 8];
    if (kind === CAPSULE || kind > POLYGON) {
      c.strokeStyle = css_of(fill); c.lineWidth = 2 * r; c.setLineDash(kind === DASHES ? [0.6 * more, 0.4 * more] : []);
      c.stroke();
      c.setLineDash([]);
      continue;
    }
    if (fill) { c.fillStyle = css_of(fill); c.fill(); }
    if (fill && kind === POLYGON && r > 0) { c.strokeStyle = c.fillStyle; c.lineWidth = 2 * r; c.stroke(); }
    if (width > 0) {
      if (kind === CIRCLE) { c.moveTo(0, 0); c.lineTo(a, 0); }
      c.strokeStyle = css_of(words[i + 9]); c.lineWidth = width;
      c.stroke();
    }
  }
}

// The picture: painted when something has changed.

let webgl = start_webgl($('canvas'));
/** Reloads the page without WebGL: a canvas with a WebGL context cannot be drawn in any other way. */
function draw_without_webgl() { if (webgl && webgl.lost) location.replace(location.pathname + '?draw=2d' + location.hash); }
const MAX_LOST = 10000;
if (webgl && webgl.lost) draw_without_webgl();
$('canvas').addEventListener('webglcontextlost', event => { event.preventDefault(); webgl.lost = true; setTimeout(draw_without_webgl, MAX_LOST); });
$('canvas').addEventListener('webglcontextrestored', () => { webgl = start_webgl($('canvas'), true) || webgl; painted.key = ''; });

function paint(w, h, ratio) {
  collect(w, h, ratio);
  if (webgl) { if (!webgl.lost) paint_webgl(webgl, w, h, ratio); } else paint_2d($('canvas').getContext('2d'), w, h, ratio);
}

let last = performance.now();
function draw(now = performance.now()) {
  requestAnimationFrame(draw);
  follow_bodies(Math.min(0.1, (now - last) / 1000));
  last = now;
  look_for_bodies();
  const canvas = $('canvas'), ratio = devicePixelRatio || 1, w = Math.round(canvas.clientWidth * ratio), h = Math.round(canvas.clientHeight * ratio);
  if (w && h && (canvas.width !== w || canvas.height !== h)) { canvas.width = w; canvas.height = h; }
  // A paused world costs nothing, however many bodies it has.
  const key = [world, taken, bodies.size, camera.x, camera.y, camera.scale, w, h, drag ? drag.target : '', getComputedStyle(canvas).color, Object.values(layers)].join();
  if (w && h && (key !== painted.key || shapes !== painted.shapes)) {
    painted = { key, shapes };
    paint(w, h, ratio);
    scale_bar();
    arrow_scales();
    keep_thumbnail(now);
  }
  footer(now);
  show_motion();
  show_joint_motion();
  place_card(now);
  show_hover(now);
  paint_graphs(now);
}

function scale_bar() {
  const metres = round_metres(70);
  $('scale').hidden = !world;
  $('scale').style.width = metres * camera.scale + 'px';
  $('scale').firstChild.textContent = metres >= 1000 ? `${metres / 1000} km` : metres >= 1 ? `${metres} m` : metres >= 0.01 ? `${Number((metres * 100).toPrecision(3))} cm` : `${Number((metres * 1000).toPrecision(3))} mm`;
}

function footer(now) {
  dial();
  // Changing text makes the browser lay out the page again: ten times a second is enough to read.
  if (now - (footer.since || -1e9) < 100) return;
  footer.since = now;
  while (frames.length && now - frames[0] >= 1000) frames.shift();
  const plays = status && status.state === 'playing', number = bodies.size.toLocaleString() + (bodies.size === 1 ? ' body' : ' bodies');
  const texts = {
    now: world ? `step ${simulated.step}, ${simulated.time.toFixed(2)} s, ${number}` : 'Create a world, or select one.',
    rate: !world ? '' : away ? 'connection lost, reconnecting' : [unwatched(status) ? 'paused: no viewers' : '', plays ? `${frames.length} frames/s` : '', plays && dropped ? `${dropped} left out` : '',
      status && status.ms_per_step ? `${status.ms_per_step.toFixed(2)} ms a step on the ${status.backend.toUpperCase()}` : ''].filter(Boolean).join(', '),
  };
  for (const [id, text] of Object.entries(texts)) if ($(id).textContent !== text) $(id).textContent = text;
  show_timeline();
}

/** Copies the canvas with its background, right after it was painted. */
function copy(w, h, cut = false) {
  const to = document.createElement('canvas'), c = to.getContext('2d'), from = $('canvas');
  to.width = w; to.height = h;
  c.fillStyle = getComputedStyle(document.body).backgroundColor;
  c.fillRect(0, 0, w, h);
  const by = cut ? Math.max(w / from.width, h / from.height) : 1;
  c.drawImage(from, (w - from.width * by) / 2, (h - from.height * by) / 2, from.width * by, from.height * by);
  return to;
}
function keep_thumbnail(now) {
  if (!drawn || now - (keep_thumbnail.since || -1e9) < 3000) return;
  keep_thumbnail.since = now;
  thumbnails.set(world, copy(120, 80, true).toDataURL('image/jpeg', 0.7));
}
/** Saves the picture as a file, with the scale bar. */
function save_picture() {
  const canvas = $('canvas'), ratio = devicePixelRatio || 1;
  paint(canvas.width, canvas.height, ratio);
  const to = copy(canvas.width, canvas.height), c = to.getContext('2d'), length = parseFloat($('scale').style.width) * ratio, x = 12 * ratio, y = to.height - 10 * ratio;
  c.strokeStyle = c.fillStyle = getComputedStyle($('scale').firstChild).color; c.lineWidth = ratio; c.font = `${11 * ratio}px system-ui, sans-serif`; c.textAlign = 'center';
  c.beginPath(); c.moveTo(x, y - 7 * ratio); c.lineTo(x, y); c.lineTo(x + length, y); c.lineTo(x + length, y - 7 * ratio); c.stroke();
  c.fillText($('scale').textContent, x + length / 2, y - 9 * ratio);
  const name = `${file_name()}.png`;
  to.toBlob(blob => save_file(name, 'image/png', blob));
}
