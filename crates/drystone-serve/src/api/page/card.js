// The card of the selected body: its properties and its motion.

/** Id of the selected body and its world, or null. */
let selected = null;
/** True while a body is being replaced by its changed version. */
let replacing = false;
/** Largest number of bodies of a world in which bodies can be changed: each change reads the whole scene. */
const MAX_EDITED = 100000;
const selected_body = () => selected && selected.world === world ? body_of(selected.id) : null;
const is_small = () => matchMedia('(max-width: 700px)').matches;
/** Inputs of the card, by the property that they set. */
const fields = Object.fromEntries(['type', 'density', 'friction', 'restitution', 'vx', 'vy', 'spin', 'fixed_rotation'].map(name => [name, $('card-' + name)]));

/** Shows the card, unless a tool is active: it would cover part of the drawing area. */
function show_card() { $('card').hidden = !selected || Boolean(tool); }
/** Selects a body by its id, or none. */
function select(id) {
  if (selected && selected.world === world && selected.id === id) return;
  selected = id === null ? null : { id, world };
  show_card();
  graph_selection();
  want_stream();
  painted.key = '';
  if (!selected) return;
  // The body may be too new to be known: the card is filled later.
  $('card-title').textContent = `Body ${id}`;
  fill_card().catch(error => { if (error !== LEFT) say(error.message); });
}

/** Returns the whole scene and the position of a body in it. Bodies are in the order of their slots. */
async function description(own, id) {
  const [text, answer] = await Promise.all([call('GET', on(own, '/scene'), undefined, undefined, 'text'), call('GET', on(own, '/bodies'))]);
  stay(own);
  const scene = JSON.parse(text), index = answer.bodies.findIndex(body => body.id === id);
  if (scene.bodies.length !== answer.bodies.length) throw new Error('The bodies of the world have changed meanwhile: try again.');
  if (index < 0) throw new Error(`Body ${id} was removed.`);
  return { scene, index, ids: answer.bodies.map(body => body.id), body: scene.bodies[index] };
}
const of_shapes = (body, name, usual) => { const shape = body.shapes?.[0]; return shape && shape[name] !== undefined ? shape[name] : usual; };
async function fill_card() {
  if (!selected) return;
  const { id, world: own } = selected;
  if (bodies.size > MAX_EDITED) { $('card-more').hidden = true; return; }
  const { body } = await description(own, id);
  if (selected?.id !== id || selected.world !== own) return;
  $('card-more').hidden = false;
  $('card-title').textContent = `Body ${id}` + (body.id ? ` (${body.id})` : '');
  // A body whose mass is given keeps it: its mass is then shown in place of the density.
  const has_mass = body.mass !== undefined;
  $('card-density-label').textContent = has_mass ? 'Mass, kg' : 'Density, kg/m²';
  fields.density.dataset.name = has_mass ? 'mass' : 'density';
  const values = { type: body.type || 'dynamic', density: has_mass ? body.mass : of_shapes(body, 'density', 1), friction: of_shapes(body, 'friction', 0.6), restitution: of_shapes(body, 'restitution', 0) };
  for (const [name, value] of Object.entries(values)) {
    const text = String(typeof value === 'number' ? Number(value.toPrecision(6)) : value), field = fields[name];
    if (document.activeElement !== field || field.value === field.dataset.value) field.value = text;
    field.dataset.value = text;
  }
  fields.fixed_rotation.checked = Boolean(body.fixed_rotation);
  for (const name of ['vx', 'vy', 'spin']) fields[name].disabled = values.type === 'static';
  show_motion(true);
}

/** Shows the position and speed of the body, a few times a second. */
function show_motion(now = false) {
  if (!selected || selected.world !== world) return;
  const body = selected_body(), time = performance.now();
  if (!body) {
    // A removed body is deselected; one that has not arrived yet is not.
    if (selected.seen && !replacing) select(null);
    return;
  }
  selected.seen = true;
  if (!now && time - (show_motion.since || 0) < 200) return;
  show_motion.since = time;
  const own = looks(body), speed = Math.hypot(body.vx, body.vy);
  write($('card-now'), `${own && isDynamic(body) ? `${Number(own.mass.toPrecision(4))} kg, ` : ''}at ${body.x.toFixed(2)}, ${body.y.toFixed(2)} m, ${speed.toFixed(2)} m/s${body.flags & 1 ? ', asleep' : ''}`);
  for (const [name, value] of [['vx', body.vx], ['vy', body.vy], ['spin', body.spin]]) if (document.activeElement !== fields[name]) fields[name].value = Number(value.toFixed(3));
}

/** Changes the properties of a body by replacing it, with the same joints. */
async function replace_body(own, id, edit) {
  await standing(own, async () => {
    const { scene, index, ids, body } = await description(own, id), slot_of = end => typeof end === 'number' ? end : scene.bodies.findIndex(other => other.id === end);
    edit(body);
    const held = (scene.joints || []).map(joint => ({ ...joint, a: joint.a === undefined || joint.a === null ? null : slot_of(joint.a), b: slot_of(joint.b) })).filter(joint => joint.a === index || joint.b === index);
    const { results } = await command(own, { remove: { bodies: [id] } }, { spawn: { bodies: [body] } }), made = results[1].bodies[0];
    const named = place => place === index ? made : ids[place];
    if (held.length) await command(own, ...held.map(({ a, b, id: _, ...joint }) => ({ join: { ...(a === null ? {} : { a: named(a) }), b: named(b), joint } })));
    stay(own);
    await Promise.all([load(), loadJoints()]);
    stay(own);
    if (selected?.id === id) { selected = { id: made, world: own }; graph_selection(id); await fill_card(); }
  });
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
    if (typeof value === 'number' && (input.value.trim() === '' || !input.checkValidity())) { say(`${input.dataset.name}: ${input.value || 'nothing'} is not valid; ${input.validationMessage || 'a number is required'}`); input.value = input.dataset.value ?? ''; return; }
    // A change that the service refuses is undone, and the card shows the current values.
    const work = async (own, kept) => {
      const number = field => Number(fields[field].value) || 0;
      if (name === 'vx' || name === 'vy') await command(own, { velocity: { body: id, velocity: [number('vx'), number('vy')] } });
      else if (name === 'spin') await command(own, { angular_velocity: { body: id, angular_velocity: value } });
      else {
        replacing = true;
        try { await replace_body(own, id, body => CHANGES[name](body, value)); } catch (error) {
          if (kept) await post(own, '/restore', { name: kept.name }).then(() => Promise.all([load(), loadJoints()]), () => {});
          if (name !== 'fixed_rotation') input.value = input.dataset.value;
          fill_card().catch(() => {});
          throw error;
        } finally { replacing = false; }
      }
      tell(`${input.dataset.name} changed`);
    };
    change(`${input.dataset.name} of body ${id}`, work);
  };
}
$('card').onsubmit = event => event.preventDefault();
// Enter ends the input of a number, and returns the focus to the world.
$('card').addEventListener('keydown', event => { if (event.key === 'Enter' && event.target.type === 'number') { event.preventDefault(); $('canvas').focus({ preventScroll: true }); } });
$('card-close').onclick = () => { select(null); $('canvas').focus({ preventScroll: true }); };
$('card-remove').onclick = () => remove_body(selected.id);
$('card-graph').onclick = () => show_graphs(true);

/** Saves the world as a scene file. */
const save_scene = guard(async () => {
  const own = world, text = await call('GET', on(own, '/scene'), undefined, undefined, 'text');
  stay(own);
  save_file(`${file_name()}.json`, 'application/json', text);
});
