// The card of the selected body: its properties and its motion.

/** Id of the selected body and its world, or null. */
let selected = null;
/** Largest number of bodies of a world in which bodies can be changed: for each change the service goes through all of them. */
const MAX_EDITED = 100000;
const selected_body = () => selected && selected.world === world ? body_of(selected.id) : null;
const is_small = () => matchMedia('(max-width: 700px)').matches;
/** Inputs of the card, by the property that they set. */
const fields = Object.fromEntries(['type', 'density', 'friction', 'restitution', 'vx', 'vy', 'spin', 'fixed_rotation'].map(name => [name, $('card-' + name)]));

/** Shows the card of the selected body or joint, unless a tool is active: it would cover part of the drawing area. */
function show_card() {
  $('card').hidden = !(selected || selected_joint) || Boolean(tool);
  for (const id of ['card-joint', 'card-ends', 'joint-buttons']) $(id).hidden = !selected_joint;
  $('body-buttons').hidden = Boolean(selected_joint);
  if (selected_joint) { $('card-more').hidden = true; $('card-joints').hidden = true; list_joints.key = ''; }
}
/** Ends an error about a field of the card, which shows something else from here on. */
function end_card_error() { if (/^(card|joint)-/.test(say.about)) say(); }
// An error about a field ends when the field is changed.
document.addEventListener('input', event => mended(event.target.id));

/** Milliseconds between two looks at what is under the card. */
const PLACE_EVERY = 250;
/** Returns the box of the selected body or joint in the picture, px; null if it has none or is not in view. */
function selected_box() {
  const body = selected_body(), own = body && looks(body), joint = shown_joint(), ends = joint && ends_of(joint);
  const [x0, y0, x1, y1] = own ? bounds(body, own) : ends ? [Math.min(ends.a[0], ends.b[0]), Math.min(ends.a[1], ends.b[1]), Math.max(ends.a[0], ends.b[0]), Math.max(ends.a[1], ends.b[1])] : [Infinity];
  const { clientWidth: w, clientHeight: h } = $('canvas');
  if (!isFinite(x0 + y0 + x1 + y1)) return null;
  const [left, top] = pixel_of([x0, y1]), [right, bottom] = pixel_of([x1, y0]), pad = 8;
  const box = { left: Math.max(0, left - pad), top: Math.max(0, top - pad), right: Math.min(w, right + pad), bottom: Math.min(h, bottom + pad) };
  return box.left < box.right && box.top < box.bottom ? box : null;
}
/** Puts the card at the side of the picture where it does not cover what it is about: right or left, on narrow screens at the bottom or at the top. It stays where it is while it is used. */
function place_card(now) {
  const card = $('card'), key = [selected?.id, selected_joint?.id, tool, card.clientHeight].join();
  if (card.hidden || (key === place_card.key && now - (place_card.since || 0) < PLACE_EVERY)) return;
  const is_new = key !== place_card.key;
  Object.assign(place_card, { key, since: now });
  if (!is_new && (card.matches(':hover') || card.contains(document.activeElement))) return;
  const sides = is_small() ? ['bottom', 'top'] : ['right', 'left'], box = selected_box(), { clientWidth: w, clientHeight: h } = $('canvas');
  const { offsetWidth: across, offsetHeight: down } = card, left = $('palette').hidden ? 10 : PALETTE_WIDTH;
  const covers = side => {
    const x = side === 'left' ? left : side === 'right' ? w - 10 - across : 8, y = side === 'bottom' ? h - 8 - down : side === 'top' ? 8 : 10;
    return box.left < x + across && box.right > x && box.top < y + down && box.bottom > y;
  };
  const before = sides.includes(card.dataset.at) ? card.dataset.at : sides[0];
  card.dataset.at = !box || !covers(before) ? before : sides.find(side => !covers(side)) || before;
}
/** Width of the palette with its distance from the left edge, px. */
const PALETTE_WIDTH = 200;

/** Selects a body by its id, or none. */
function select(id) {
  if (selected && selected.world === world && selected.id === id) return;
  end_card_error();
  if (selected_joint) { selected_joint = null; $('card-joint').replaceChildren(); write($('card-now'), ''); }
  selected = id === null ? null : { id, world };
  show_card();
  list_joints();
  graph_selection();
  want_stream();
  painted.key = '';
  if (!selected) return;
  // The body may be too new to be known: the card is filled later.
  $('card-title').textContent = `Body ${short_id(id)}`;
  // Not the numbers of another body.
  for (const field of Object.values(fields)) { field.value = ''; field.disabled = true; }
  refresh_card();
}
/** Fills the card again, after the world came to another state. */
function refresh_card() { if (selected) fill_card().catch(error => { if (error !== LEFT) say(error.message); }); }

/** Returns a body in its current state and its joints, as the commands `spawn` and `join` take them. */
async function description(own, id) {
  const found = await call('GET', on(own, `/bodies/${id}`));
  stay(own);
  return found;
}
const of_shapes = (body, name, usual) => { const shape = body.shapes?.[0]; return shape && shape[name] !== undefined ? shape[name] : usual; };
async function fill_card() {
  if (!selected) return;
  const { id, world: own } = selected;
  if (bodies.size > MAX_EDITED) { $('card-more').hidden = true; return; }
  const { body } = await description(own, id);
  if (selected?.id !== id || selected.world !== own) return;
  $('card-more').hidden = false;
  $('card-title').textContent = `Body ${short_id(id)}` + (body.id ? ` (${body.id})` : '');
  // A body whose mass is given keeps it: its mass is then shown in place of the density.
  const has_mass = body.mass !== undefined;
  $('card-density-label').textContent = has_mass ? 'Mass, kg' : 'Density, kg/m²';
  fields.density.dataset.name = has_mass ? 'mass' : 'density';
  const values = { type: body.type || 'dynamic', density: has_mass ? body.mass : of_shapes(body, 'density', 1), friction: of_shapes(body, 'friction', 0.6), restitution: of_shapes(body, 'restitution', 0) };
  for (const [name, value] of Object.entries(values)) {
    const text = String(typeof value === 'number' ? Number(value.toPrecision(6)) : value), field = fields[name];
    if (document.activeElement !== field || field.value === '' || field.value === field.dataset.value) field.value = text;
    field.dataset.value = text;
  }
  for (const field of Object.values(fields)) field.disabled = false;
  fields.fixed_rotation.checked = Boolean(body.fixed_rotation);
  for (const name of ['vx', 'vy', 'spin']) fields[name].disabled = values.type === 'static';
  show_motion(true);
}

/** Velocities that the user has set at a step, by the id of the body: a world that is paused has them in its next step. */
const asked_motions = new Map();
function ask_motion(id, motion) { asked_motions.set(id, { world, step: simulated.step, ...motion }); show_motion(true); }
/** Returns velocity and spin of a body, or those that it will have in the next step. */
function shown_motion(body, id) {
  const asked = asked_motions.get(id);
  return asked && asked.world === world && asked.step === simulated.step ? asked : body;
}

/** Shows the position and speed of the body, a few times a second. */
function show_motion(now = false) {
  if (!selected || selected.world !== world) return;
  const body = selected_body(), time = performance.now();
  if (!body) {
    // A removed body is deselected; one that has not arrived yet is not.
    if (selected.seen) select(null);
    return;
  }
  selected.seen = true;
  if (!now && time - (show_motion.since || 0) < 200) return;
  show_motion.since = time;
  const own = looks(body), { vx, vy, spin } = shown_motion(body, selected.id), speed = Math.hypot(vx, vy);
  write($('card-now'), `${own && isDynamic(body) ? `${Number(own.mass.toPrecision(4))} kg, ` : ''}at ${fixed(body.x, 2)}, ${fixed(body.y, 2)} m, ${speed.toFixed(2)} m/s${body.flags & 1 ? ', asleep' : ''}`);
  for (const [name, value] of [['vx', vx], ['vy', vy], ['spin', spin]]) if (document.activeElement !== fields[name]) fields[name].value = Number(value.toFixed(3)) + 0;
}

/** Sets a property of a body, which keeps its id, and ties its joints again. Returns the answer of the service. */
async function replace_body(own, id, { name, value }) {
  const answer = await standing(own, async () => {
    const { body, joints: held } = await description(own, id), index = joint => Number(short_id(joint.id));
    CHANGES[name](body, value);
    // In the order of their numbers, which joints get again: the lowest free one first.
    const ties = held.sort((a, b) => index(a) - index(b)).map(({ a, b, joint }) => ({ join: { ...(a === null ? {} : { a }), b, joint } }));
    const answer = await command(own, { replace: { body: id, with: body } }, ...ties);
    stay(own);
    await Promise.all([load(), loadJoints()]);
    stay(own);
    if (selected?.id === id) { list_joints(); await fill_card(); }
    return answer;
  });
  // Made again, the body is changed where it is by then.
  if (making?.world === own) making.edit = { id, name, value };
  return answer;
}
const CHANGES = {
  type: (body, value) => { body.type = value; if (value !== 'kinematic') delete body.path; if (value === 'static') { delete body.velocity; delete body.angular_velocity; } },
  density: (body, value) => {
    if (body.mass === undefined) { delete body.inertia; for (const shape of body.shapes) shape.density = value; return; }
    if (body.inertia !== undefined) body.inertia *= value / body.mass;
    body.mass = value;
  },
  friction: (body, value) => { for (const shape of body.shapes) { shape.friction = value; delete shape.kinetic_friction; } },
  restitution: (body, value) => { for (const shape of body.shapes) shape.restitution = value; },
  fixed_rotation: (body, value) => { body.fixed_rotation = value; },
};
for (const [name, input] of Object.entries(fields)) {
  input.onchange = () => {
    if (!selected || selected.world !== world) return;
    const { id } = selected, value = name === 'fixed_rotation' ? input.checked : name === 'type' ? input.value : Number(input.value);
    if (typeof value === 'number' && (input.value.trim() === '' || !input.checkValidity())) { say(`${input.dataset.name}: ${input.value || 'nothing'} is not valid; ${input.validationMessage || 'a number is required'}`, input.id); input.value = input.dataset.value ?? ''; return; }
    // A change that the service refuses is undone, and the card shows the current values.
    const work = async (own, kept) => {
      if (name === 'vx' || name === 'vy' || name === 'spin') {
        // The fields show the motion of the world again by now.
        const { vx, vy, spin } = { ...shown_motion(bodies.get(Number(id.split('.')[0])), id), [name]: value };
        await command(own, name === 'spin' ? { angular_velocity: { body: id, angular_velocity: spin } } : { velocity: { body: id, velocity: [vx, vy] } });
        ask_motion(id, { vx, vy, spin });
      }
      else {
        try { await replace_body(own, id, { name, value }); } catch (error) {
          if (kept) await restore(own, kept.name).then(() => Promise.all([load(), loadJoints()]), () => {});
          if (name !== 'fixed_rotation') input.value = input.dataset.value;
          fill_card().catch(() => {});
          throw error;
        }
      }
      tell(`${input.dataset.name} changed`);
    };
    // A velocity is kept by a restart only if the body is to start with it.
    change(`${input.dataset.name} of ${body_name(id)}`, work, { is_build: !['vx', 'vy', 'spin'].includes(name) || simulated.step === 0 });
  };
}
/** Shows only the title and the motion on a narrow screen, where the card would cover the world; all of it elsewhere. */
function fold_card(is_folded) {
  $('card').classList.toggle('folded', is_folded);
  $('card-fold').textContent = is_folded ? '▴' : '▾';
  $('card-fold').setAttribute('aria-expanded', !is_folded);
}
$('card-fold').onclick = () => fold_card(!$('card').classList.contains('folded'));
$('card').onsubmit = event => event.preventDefault();
// Enter ends the input of a number, and returns the focus to the world.
$('card').addEventListener('keydown', event => { if (event.key === 'Enter' && event.target.type === 'number') { event.preventDefault(); $('canvas').focus({ preventScroll: true }); } });
$('card-close').onclick = () => { select(null); select_joint(null); $('canvas').focus({ preventScroll: true }); };
$('card-remove').onclick = () => remove_body(selected.id);
$('card-graph').onclick = () => show_graphs(true);

/** Saves the world as a scene file. */
const save_scene = guard(async () => {
  const own = world, text = await call('GET', on(own, '/scene'), undefined, undefined, 'text');
  stay(own);
  save_file(`${file_name()}.json`, 'application/json', text);
});
/** Opens the world, as it is now, in a new tab as a page that runs on the visitor's GPU. The tab is opened before the request: later, browsers take it for a pop-up. */
const run_here = guard(async () => {
  const own = world, tab = window.open('', '_blank');
  if (!tab) throw new Error('The browser has blocked the new tab: allow pop-ups for this address, and press again.');
  tab.document.title = 'Exporting …';
  tab.document.body.textContent = 'Exporting the world …';
  try {
    const html = await call('GET', on(own, '/page'), undefined, undefined, 'blob');
    if (!tab.closed) tab.location.replace(URL.createObjectURL(html));
  } catch (error) {
    tab.close();
    throw error;
  }
  tell('opened in a new tab');
});
