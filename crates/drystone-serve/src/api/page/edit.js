// Building: bodies drawn with the pointer, joints between two clicks, and undo.

/** Shortest drag, px, and distance to the first corner within which a click closes a polygon, px. */
const CLICK = 4, CLOSE = 14;
/** Maximum number of corners of a polygon; corners that turn inwards, and more than a shape may have, make several shapes. */
const MAX_CORNERS = 16;
/** Frequency of a new spring, Hz, and its damping ratio. */
const SPRING_HERTZ = 2, SPRING_DAMPING = 0.1;
/** Largest number of changes that can be undone: each is a checkpoint of the world, of which a service keeps 16 for undo. */
const MAX_UNDO = 6;
/** Age from which checkpoints for undo that another page has left behind are deleted if there is no room, s. */
const MAX_UNDO_AGE = 24 * 3600;
const HINTS = {
  drop: 'press the place to drop bodies at', shoot: 'press the place to shoot at', explode: 'press the place to explode at',
  box: 'drag from one corner to the other', circle: 'drag from the centre to the rim', polygon: 'press 3 to 16 corners, then the first one again',
  hinge: 'press where two bodies overlap, as a wheel and a car: they are pinned together there; or press a fixed point (ground or empty space) and the body that swings about it, in either order; two presses on one body nail it',
  spring: 'press a body, then the other one, or empty space for the world', rod: 'press a body, then the other one, or empty space for the world',
  weld: 'press where two bodies overlap; or press a body, then the one to fix it to, or empty space for the world',
};
const DRAWN = ['box', 'circle', 'polygon'], JOINED = ['hinge', 'spring', 'rod', 'weld'];
/** Unfinished drawing: { from, to } of a drag, { corners }, or { end } of a joint; and `at`, the position of the pointer, m. */
let draft = null;

// Undo: the world is restored to its state before the change.

/** Changes, the last one at the end: world, description, and checkpoint, or the reason why there is none. */
let undos = [];
/** Changes that were undone, the last one at the end: world, description and commands. */
let redos = [];
/** Change in progress, which records its commands. */
let making = null;
const undo_slots = Array.from({ length: MAX_UNDO }, (_, i) => `undo-${Math.floor(Date.now() / 1000).toString(36)}-${hand.slice(5)}-${i}`);

/** Deletes checkpoints for undo that pages have left behind; returns true if there were any. */
async function forget_old_undos(own) {
  const { checkpoints } = await call('GET', on(own, '/checkpoints')), now = Date.now() / 1000;
  const old = checkpoints.filter(name => { const [kind, at] = name.split('-'); return kind === 'undo' && now - parseInt(at, 36) > MAX_UNDO_AGE; });
  for (const name of old) await call('DELETE', on(own, '/checkpoints/' + name)).catch(() => {});
  return old.length > 0;
}
/** Saves the state before a change. Without a checkpoint the change is made all the same, but cannot be undone; the reason is then in `reason`. */
async function remember(own, words) {
  const mine = () => undos.filter(u => u.world === own), kept = { world: own, words, step: simulated.step };
  const save = async name => {
    // One checkpoint of a world is written at a time: another client may be writing one.
    for (let tries = 0; ; tries++) {
      try { return await post(own, '/checkpoint', { name }); } catch (error) { if (error.status !== 429 || tries > 5) throw error; }
      await pause(200);
    }
  };
  const free = undo_slots.find(slot => !mine().some(u => u.name === slot)), oldest = () => mine().find(u => u.name);
  const replace = async old => { undos = undos.filter(u => u !== old); await save(kept.name = old.name); };
  try {
    if (!free) await replace(oldest());
    else try { await save(kept.name = free); } catch (error) {
      if (error.status !== 422) throw error;
      // There is no room for one more.
      if (await forget_old_undos(own)) await save(free); else if (oldest()) await replace(oldest()); else throw error;
    }
  } catch (error) {
    if (error.away) throw error;
    delete kept.name;
    kept.reason = error.message;
  }
  // Of changes one after the other that cannot be undone, the last one is enough.
  if (kept.reason && undos.at(-1)?.reason && undos.at(-1).world === own) undos.pop();
  undos.push(kept);
  stay(own);
  return kept;
}
function forget_undo(kept) {
  undos = undos.filter(u => u !== kept);
  if (kept.name) call('DELETE', on(kept.world, '/checkpoints/' + kept.name)).catch(() => {});
}
/** Forgets changes made after the step to which the world was rewound. */
function forget_undos_after(step) { take_builds(world, builds_of(world).filter(b => b.step <= step)); redos = redos.filter(undone => undone.world !== world); for (const kept of undos) if (kept.world === world && kept.step > step) forget_undo(kept); }
/** Deletes the checkpoints of this page when the user leaves it. */
addEventListener('pagehide', () => {
  const headers = { 'Idempotency-Key': hand + Date.now() };
  if (token) headers.Authorization = 'Bearer ' + token;
  for (const { world: id, name } of undos) if (name) fetch(on(id, '/checkpoints/' + name), { method: 'DELETE', headers: { ...headers, 'Idempotency-Key': headers['Idempotency-Key'] + name }, keepalive: true }).catch(() => {});
});

/** Returns the selected body or joint, to be selected again when a change is undone. */
const selection = () => selected ? { id: selected.id } : selected_joint ? { joint: selected_joint.id } : null;
/** Makes a change, after earlier ones; it can be undone. A new one ends what could be made again. */
function change(words, work, { is_redo = false, is_build = false } = {}) {
  const own = world, run = guard(async () => {
    if (world !== own || !drawn) return;
    await keepStart();
    stay(own);
    const kept = await remember(own, words);
    making = kept;
    Object.assign(kept, { commands: [], results: [], selection: selection(), builds: builds_of(own), is_build });
    if (!is_redo) redos = redos.filter(undone => undone.world !== own);
    try { await work(own, kept.reason ? null : kept); } catch (error) { forget_undo(kept); throw error; } finally { making = null; buttons(); }
    if (is_build) take_builds(own, [...builds_of(own), kept]);
    if (kept.reason) tell(`${$('told').textContent || words} · this cannot be undone: ${kept.reason}`);
    await list();
  });
  return working = working.then(run);
}
/** Makes a building change, which a restart keeps. */
const build = (words, work) => change(words, work, { is_build: true });
/** Returns true if the shapes of a body are known: frames may be older. */
const shapes_have = id => { const [slot, generation] = id.split('.').map(Number); return shapes.get(slot)?.generation === generation; };
const undo = guard(async () => {
  await working;
  const own = world, last = undos.findLast(u => u.world === own);
  if (draft) return end_draft();
  if (!last) return tell('there is nothing to undo');
  let back_to = last;
  if (last.reason) {
    // The change before it can be undone, but this one would go with it.
    back_to = undos.findLast(u => u.world === own && u.name);
    const why = `${last.words} cannot be undone: ${last.reason}`;
    if (!back_to) return tell(why);
    if (!last.told) { last.told = true; return tell(`${why}; once more undoes it together with ${back_to.words}`); }
  }
  const before = simulated.step;
  letGo();
  asked_motions.clear();
  // The body whose rows are requested may go.
  making = { world: null };
  try {
    if (status.state === 'playing') await post(own, '/pause');
    await restore(own, back_to.name);
    const undone = undos.slice(undos.indexOf(back_to)).filter(later => later.world === own);
    undone.forEach(forget_undo);
    redos.push(...undone.reverse().map(({ words, commands, edit, again, is_build }) => ({ world: own, words, commands, edit, again, is_build })));
    stay(own);
    await Promise.all([load(), loadJoints(), list()]);
    stay(own);
    take_builds(own, back_to.builds);
    const { selection: before } = back_to;
    if (selected && !shapes_have(selected.id)) select(null);
    if (before && !selected && !shown_joint()) if (before.joint) select_joint(before.joint); else if (shapes_have(before.id)) select(before.id);
    refresh_card();
  } finally { making = null; }
  tell(`undone: ${back_to === last ? last.words : `${last.words} and ${back_to.words}`}${discarded(back_to.step, before)}`);
});

/** Returns the text about the steps that going back to an earlier one has discarded. */
const discarded = (step, before) => step < before ? `; steps after ${step} are discarded` : '';
/** Makes the last undone change again: its commands, at the present step. */
const redo = guard(async () => {
  await working;
  const own = world, next = redos.findLast(undone => undone.world === own);
  if (draft) return;
  if (!next) return tell('there is nothing to redo');
  redos = redos.filter(undone => undone !== next);
  await change(next.words, () => standing(own, async () => {
    await make_again(own, next, SAME_IDS);
    stay(own);
    await Promise.all([load(), loadJoints(), list()]);
    stay(own);
    tell(`redone: ${next.words}`);
  }), { is_redo: true, is_build: next.is_build });
});

// Bodies.

const area_of = points => points.reduce((sum, [x, y], i) => { const [u, v] = points[(i + 1) % points.length]; return sum + (x * v - u * y) / 2; }, 0);
const CROSSING = 'The outline crosses or touches itself: press a place from which no line is crossed, or Esc.';
/** Returns the body of a drawing, as in a scene. */
function body_of_drawing(name, { from, to, corners }) {
  const number = value => Number(value.toFixed(6)), place = ([x, y]) => [number(x), number(y)];
  if (name === 'box') return { position: place([(from[0] + to[0]) / 2, (from[1] + to[1]) / 2]), shapes: [{ box: { half: place([Math.abs(to[0] - from[0]) / 2, Math.abs(to[1] - from[1]) / 2]) } }] };
  if (name === 'circle') return { position: place(from), shapes: [{ circle: { radius: number(Math.hypot(to[0] - from[0], to[1] - from[1])) } }] };
  const x = corners.reduce((sum, p) => sum + p[0], 0) / corners.length, y = corners.reduce((sum, p) => sum + p[1], 0) / corners.length;
  const parts = convex_parts(corners.map(p => [p[0] - x, p[1] - y]));
  if (!parts) throw new Error(CROSSING);
  return { position: place([x, y]), shapes: parts.map(points => ({ polygon: { points: points.map(place) } })) };
}
function draw_body(name, drawing) {
  end_draft();
  let body;
  try { say(); body = body_of_drawing(name, drawing); } catch (error) { return say(error.message, 'drawing'); }
  return build(`new ${name}`, async own => {
    const { results } = await command(own, { spawn: { bodies: [body] } });
    stay(own);
    tell(`new ${name}: ${body_name(results[0].bodies[0])}`);
    select(results[0].bodies[0]);
  });
}

// Joints.

/** Returns one end of a joint: the body at a position, not the one with the id `but`, with the point in its frame; or the world. */
function end_at(place, slack, but = null) {
  const found = pick(place, slack, true, but);
  if (!found) return { id: null, anchor: place, place };
  return { id: found.id, anchor: found.point, place: place_on(found.body, found.point), body: found.body, mass: isDynamic(found.body) ? found.mass : 0 };
}
const local = (body, [x, y]) => { const cos = Math.cos(body.angle), sin = Math.sin(body.angle), dx = x - body.x, dy = y - body.y; return [cos * dx + sin * dy, cos * dy - sin * dx]; };
/** Returns the command for the joint of a tool between two ends. */
function joint_of(name, first, second) {
  if (first.id === null && second.id === null) throw new Error('A joint needs at least one body: press a body first.');
  if (first.id === second.id) throw new Error('Both ends are on the same body: press another one, or empty space for the world.');
  // A weld, and a hinge, is at the first pressed point, which may have moved since; but the hinge of a moving body and a
  // fixed one, or the world, is at the fixed point, in either order of presses.
  const is_fixed = end => end.id === null || !isDynamic(end.body), pins_second = name === 'hinge' && !second.nails && is_fixed(second) && !is_fixed(first);
  const is_pinned = name === 'hinge' || name === 'weld', pin_end = pins_second ? second : first, pin = pin_end.body ? place_on(pin_end.body, pin_end.anchor) : pin_end.place;
  const anchor = end => !is_pinned ? end.anchor : end.body ? local(end.body, pin) : pin;
  const [a, b] = second.id === null ? [second, first] : [first, second], joint = { anchor_a: anchor(a), anchor_b: anchor(b) };
  if (name === 'hinge') joint.type = 'revolute';
  if (name === 'weld') joint.type = 'weld';
  if (name === 'rod' || name === 'spring') {
    const length = Math.hypot(first.place[0] - second.place[0], first.place[1] - second.place[1]);
    joint.collide = true;
    if (name === 'rod') Object.assign(joint, { type: 'distance', length });
    else {
      const masses = [a.mass, b.mass].filter(mass => mass > 0), mass = masses.length ? 1 / masses.reduce((sum, m) => sum + 1 / m, 0) : 1, rate = 2 * Math.PI * SPRING_HERTZ;
      const given = name => { const field = $(`spring-${name}`); if (!field.checkValidity()) throw Object.assign(new Error(`${name}: ${field.value} is not valid; ${field.validationMessage}`), { about: field.id }); return field.value === '' ? undefined : Number(field.value); };
      const stiffness = given('stiffness') ?? mass * rate * rate;
      // A tenth of the critical damping, of the stiffness that was given.
      Object.assign(joint, { type: 'spring', rest_length: length, stiffness, damping: given('damping') ?? 2 * SPRING_DAMPING * Math.sqrt(mass * stiffness) });
    }
  }
  return { join: { ...(a.id === null ? {} : { a: a.id }), b: b.id, joint } };
}
function draw_joint(name, first, second) {
  end_draft();
  let wanted;
  try { say(); wanted = joint_of(name, first, second); } catch (error) { return say(error.message, error.about || 'drawing'); }
  return build(`new ${name}`, async own => {
    await command(own, wanted);
    tell(`${name} between ${body_name(first.id)} and ${body_name(second.id)}`);
  });
}

/** Joins the two uppermost bodies that overlap at a position by a hinge or a weld; returns false if there are no two, or the upper one is fixed. */
function pin_overlapping(name, place) {
  if (name !== 'hinge' && name !== 'weld') return false;
  const upper = end_at(place, 0), lower = upper.id === null ? upper : end_at(place, 0, upper.id);
  if (lower.id === null || !isDynamic(upper.body)) return false;
  const own = world, type = name === 'hinge' ? 'revolute' : 'weld', ids = [upper.id, lower.id];
  // Once the joints of earlier presses are known.
  working = working.then(guard(async () => {
    if (world !== own) return;
    await loadJoints();
    const [x, y] = place_on(upper.body, upper.anchor);
    const is_here = joint => {
      const ends = joint.type === type && ids.includes(joint.a) && ids.includes(joint.b) && ends_of(joint);
      return ends && Math.hypot(ends.b[0] - x, ends.b[1] - y) * camera.scale < 2 * CLICK;
    };
    if (joints.some(is_here)) tell(`there is a ${name} here already: one press is enough where bodies overlap`);
    else draw_joint(name, upper, lower);
  }));
  return true;
}

// The pointer while a drawing tool is active.

function end_draft() { draft = null; painted.key = ''; mended('drawing'); }
/** Handles a press with a drawing tool; returns true if the tool is one. */
function begin_drawing(name, place, slack) {
  mended('drawing');
  if (JOINED.includes(name)) {
    if (!draft?.end && pin_overlapping(name, place)) return true;
    const first = draft?.end, under = end_at(place, slack), is_same = Boolean(first) && under.id === first.id;
    let end = is_same ? end_at(place, slack, first.id) : under;
    // Two presses on one body nail it to the world; other joints are refused.
    if (is_same && end.id === null) end = name === 'hinge' ? { ...end, nails: true } : under;
    if (first) draw_joint(name, first, end);
    else { draft = { end, at: place }; tell(`${name}: ${body_name(end.id)}; now the other end`); }
  } else if (name === 'polygon') {
    say();
    const corners = draft?.corners || [], near = corners.length && Math.hypot(place[0] - corners[0][0], place[1] - corners[0][1]) * camera.scale < CLOSE;
    if (near) finish_polygon();
    else if (crosses_itself([...corners, place], false)) say(CROSSING, 'drawing');
    else {
      draft = { corners: [...corners, place], at: place };
      if (draft.corners.length === MAX_CORNERS) finish_polygon();
    }
  } else if (DRAWN.includes(name)) draft = { from: place, to: place, at: place };
  else return false;
  painted.key = '';
  return true;
}
function go_on_drawing(place) {
  if (!draft) return;
  draft.at = place;
  if (draft.from && pointers.size) draft.to = place;
  painted.key = '';
}
function end_drawing(name) {
  if (!draft?.from) return;
  const { from, to } = draft, px = Math.hypot(to[0] - from[0], to[1] - from[1]) * camera.scale;
  if (px < CLICK || (name === 'box' && Math.min(Math.abs(to[0] - from[0]), Math.abs(to[1] - from[1])) * camera.scale < 1)) { end_draft(); return tell(HINTS[name]); }
  draw_body(name, draft);
}
function finish_polygon() {
  if (!draft?.corners) return;
  if (draft.corners.length < 3) return tell('a polygon has 3 to 16 corners');
  if (crosses_itself(draft.corners, true)) return say(CROSSING, 'drawing');
  draw_body('polygon', draft);
}
/** Draws the unfinished drawing. */
function collect_draft(at, ratio) {
  if (!draft) return;
  const pen = ratio, mark = place => put(CIRCLE, ...at(place), 1, 0, 4 * ratio, 0, 0, 0, SELECTED, HELD, 0);
  if (draft.end) { line(at(draft.end.place), at(draft.at), pen, SELECTED, DASHES, 0, 8 * ratio); mark(draft.end.place); }
  else if (draft.corners) {
    const all = [...draft.corners, draft.at];
    all.forEach((place, i) => { if (i) line(at(all[i - 1]), at(place), pen, SELECTED); });
    draft.corners.forEach(mark);
  } else {
    const [a, b] = [at(draft.from), at(draft.to)], x = (a[0] + b[0]) / 2, y = (a[1] + b[1]) / 2;
    if (tool === 'box') put(BOX, x, y, 1, 0, Math.abs(b[0] - a[0]) / 2, Math.abs(b[1] - a[1]) / 2, 0, 0, faded(SELECTED, 0.3), SELECTED, 1.5 * ratio);
    else put(CIRCLE, ...a, 1, 0, Math.hypot(b[0] - a[0], b[1] - a[1]), 0, 0, 0, faded(SELECTED, 0.3), SELECTED, 1.5 * ratio);
  }
}
