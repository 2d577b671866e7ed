// Joints: picked by the pointer, shown in the card, changed and removed.

/** Id of the selected joint and its world, or null. */
let selected_joint = null;
/** Distance from the pin of a hinge or from a weld within which it is picked although a body is under it, px. Bodies must be several times as large. */
const PIN = 7, PIN_TOUCH = 12, PIN_SHARE = 3;
/** Maximum number of joints in the list of a body. */
const MAX_LISTED = 30;
const KINDS = { distance: 'rod', spring: 'spring', revolute: 'hinge', prismatic: 'slider', wheel: 'wheel', weld: 'weld', motor: 'motor joint', velocity: 'drive', gear: 'gear', pulley: 'pulley' };
/** Returns the name of a body or a joint: its index. The generation in an id only tells it from removed ones. */
const short_id = id => id.split('.')[0];
const body_name = id => id === null ? 'the world' : `body ${short_id(id)}`;
const joint_of_id = id => joints.find(joint => joint.id === id);
const kind_of = ({ type, limits, length }) => type === 'distance' && limits && length === undefined ? 'rope' : KINDS[type] || type;
const joint_name = joint => `${kind_of(joint)} ${short_id(joint.id)}`;
const shown_joint = () => selected_joint && selected_joint.world === world ? joint_of_id(selected_joint.id) : null;

// Picking.

/** Returns the joint nearest to a position, at most `slack` px away, with its distance, px, and whether it is a point rather than a line. */
function pick_joint([x, y], slack) {
  let found = null, least = slack / camera.scale;
  if (!layers.joints) return null;
  for (const joint of joints) {
    const ends = ends_of(joint);
    if (!ends) continue;
    const points = line_of(joint, ends), reach = Math.hypot(ends.b[0] - ends.a[0], ends.b[1] - ends.a[1]);
    const d = Math.min(...points.slice(1).map(([bx, by], i) => {
      const [ax, ay] = points[i], dx = bx - ax, dy = by - ay, length = Math.hypot(dx, dy);
      const t = length > 0 ? Math.max(0, Math.min(1, ((x - ax) * dx + (y - ay) * dy) / length ** 2)) : 0;
      return Math.hypot(ax + t * dx - x, ay + t * dy - y);
    }));
    if (d > least) continue;
    least = d;
    found = { joint, ends, px: d * camera.scale, is_point: reach * camera.scale < PIN && !['spring', 'distance', 'pulley'].includes(joint.type) };
  }
  return found;
}
/** Returns what is nearest to a position: { joint } or { body }; null if nothing is near. On a body the body is meant, unless the position is on a pin. */
function pick_any(place, slack) {
  const body = pick(place, slack, true), near = pick_joint(place, slack);
  if (!near) return body && { body };
  if (!body) return { joint: near.joint };
  const [x, y] = place_on(body.body, body.point), px = Math.hypot(x - place[0], y - place[1]) * camera.scale, pin = slack > GRAB_MOUSE ? PIN_TOUCH : PIN;
  const reach = Math.min(...[near.ends.first, near.ends.second].map(end => end && isDynamic(end) ? looks(end)?.reach ?? 0 : Infinity)) * camera.scale;
  return near.px < px || (near.is_point && near.px <= pin && reach > PIN_SHARE * pin) ? { joint: near.joint } : { body };
}

// The card.

/** Number fields by type of joint: the key in a scene, with a dot for one of several numbers; text; least value. */
const LIMIT_TEXTS = { distance: ['Shortest, m', 'Longest, m'], revolute: ['Lower limit, rad', 'Upper limit, rad'], other: ['Lower limit, m', 'Upper limit, m'] };
const DRIVE_TEXTS = { revolute: ['Motor speed, rad/s', 'Motor torque, N·m'], wheel: ['Motor speed, rad/s', 'Motor torque, N·m'], other: ['Motor speed, m/s', 'Motor force, N'] };
function fields_of(type) {
  const [lower, upper] = LIMIT_TEXTS[type] || LIMIT_TEXTS.other, [speed, max] = DRIVE_TEXTS[type] || DRIVE_TEXTS.other, least = type === 'distance' ? 0 : undefined;
  const limits = [['limits.0', lower, least, 'none'], ['limits.1', upper, least, 'none']], drive = [['motor.speed', speed, undefined, 'none'], ['motor.max', max, 0, 'none']];
  const spring = [['spring.hertz', 'Spring, Hz', 0, 'none'], ['spring.damping_ratio', 'Spring damping ratio', 0, ''], ['spring.target', type === 'revolute' ? 'Spring angle, rad' : 'Spring rest, m', undefined, '']];
  const stiff = [['hertz', 'Stiffness, Hz', 0, 'stiff'], ['damping_ratio', 'Damping ratio', 0, 'usual']], breaks = [['break_force', 'Breaks at, N', 0, 'never'], ['break_torque', 'Breaks at, N·m', 0, 'never']];
  const own = {
    spring: [['stiffness', 'Stiffness, N/m', 0, ''], ['damping', 'Damping, N·s/m', 0, '0'], ['rest_length', 'Rest length, m', 0, '']],
    distance: [['length', 'Length, m', 0, ''], ...limits, ...drive, ...stiff], revolute: [...limits, ...drive, ...spring, ...stiff],
    prismatic: [...limits, ...drive, ...spring, ...stiff], wheel: [...limits, ...drive, ...spring, ...stiff], weld: stiff, gear: [['ratio', 'Turns of the second body for one of the first', undefined, ''], ...stiff],
    pulley: [['ratio', 'Force on the second body for one on the first', 0, '1'], ['length', 'Rope, m', 0, ''], ...['a', 'b'].flatMap((end, i) => ['x', 'y'].map((axis, j) => [`ground_${end}.${j}`, `Point of the ${i ? 'second' : 'first'} body, ${axis}, m`, undefined, '']))],
    motor: [['linear_offset.0', 'Offset x, m', undefined, '0'], ['linear_offset.1', 'Offset y, m', undefined, '0'], ['angular_offset', 'Angle, rad', undefined, '0'], ['max_force', 'Largest force, N', 0, 'any'], ['max_torque', 'Largest torque, N·m', 0, 'any']],
  }[type] || [];
  return [...own, ...(type === 'spring' ? breaks.slice(0, 1) : breaks)];
}
/** Values of the other numbers of a pair or an object of which the user sets one. */
const COMPLETE = {
  limits: (joint, index, value) => { const least = { revolute: -Math.PI, distance: 0 }[joint.type] ?? -1, most = joint.type === 'revolute' ? Math.PI : 1; return index === 0 ? [value, Math.max(most, value)] : [Math.min(least, value), value]; },
  motor: (_, key, value) => ({ speed: 0, max: 1000, [key]: value }),
  spring: (_, key, value) => ({ hertz: 1, damping_ratio: 0.1, [key]: value }),
  linear_offset: (_, index, value) => index === '0' ? [value, 0] : [0, value],
};
function value_of(joint, key) { const [first, second] = key.split('.'), value = joint[first]; return second === undefined ? value : value?.[second]; }
/** Sets a number of a joint; without a value, removes it: without one of its numbers a motor, a spring or a pair of limits goes. */
function set_value(joint, key, value) {
  const [first, second] = key.split('.');
  if (value === undefined) { if (second !== 'damping_ratio' && second !== 'target') delete joint[first]; else if (joint[first]) delete joint[first][second]; return; }
  if (second === undefined) joint[first] = value;
  else if (joint[first] === undefined) joint[first] = COMPLETE[first](joint, first === 'limits' ? Number(second) : second, value);
  else joint[first][second] = value;
}

/** Selects a joint by its id, or none. */
function select_joint(id) {
  if (id !== null) select(null);
  end_card_error();
  selected_joint = id === null ? null : { id, world };
  show_card();
  painted.key = '';
  if (id !== null) fill_joint_card().catch(error => { if (error !== LEFT) say(error.message); });
}
/** Deselects a joint that is no longer there. */
function check_joint() {
  if (selected_joint && !changing_joint && !shown_joint()) select_joint(null);
  list_joints();
}
/** True while a joint is being replaced by its changed version. */
let changing_joint = false;

/** Returns a joint in its current state, as the command `join` takes it. */
async function joint_details(own, id) {
  const known = joint_of_id(id);
  if (!known) throw new Error(`There is no joint ${id} any more.`);
  const { joints: all } = await call('GET', on(own, `/bodies/${known.b}`)), found = all.find(joint => joint.id === id);
  stay(own);
  if (!found) throw new Error(`There is no joint ${id} any more.`);
  return found;
}
const link = (text, act) => { const button = document.createElement('button'); button.type = 'button'; button.className = 'link'; button.textContent = text; button.onclick = act; return button; };
const number_text = value => String(Number(value.toPrecision(6)));

async function fill_joint_card() {
  const own = world, id = selected_joint?.id;
  if (!id) return;
  const known = shown_joint();
  if (known) show_joint_head(known);
  const { a, b, joint } = await joint_details(own, id);
  if (selected_joint?.id !== id || selected_joint.world !== own) return;
  show_joint_head({ ...known, a, b, name: joint.id });
  const rows = fields_of(joint.type).flatMap(([key, text, least, empty]) => {
    const label = document.createElement('label'), input = document.createElement('input'), value = value_of(joint, key);
    label.htmlFor = input.id = `joint-${key.replace('.', '-')}`; label.textContent = text;
    Object.assign(input, { type: 'number', step: 'any', placeholder: empty, inputMode: least === undefined ? 'text' : 'decimal', value: value === undefined ? '' : number_text(value) });
    if (least !== undefined) input.min = least;
    input.dataset.value = input.value;
    input.onchange = () => {
      const word = text.split(',')[0].toLowerCase();
      if ((input.value === '' && input.validity.badInput) || !input.checkValidity() || (input.value === '' && (key === 'stiffness' || key === 'length' || key === 'rest_length'))) {
        say(`${word}: ${input.value || 'nothing'} is not valid; ${input.validationMessage || 'a number is required'}`, input.id);
        input.value = input.dataset.value;
        return;
      }
      change_joint(word, id, joint => set_value(joint, key, input.value === '' ? undefined : Number(input.value)));
    };
    return [label, input];
  });
  for (const [key, text, usual, title] of [['enabled', 'Acts', true, 'Off: the joint does nothing, and stays'], ['collide', 'Its bodies collide', false, 'On: the two bodies of the joint touch each other']]) {
    const label = document.createElement('label'), input = document.createElement('input');
    label.htmlFor = input.id = `joint-${key}`; label.textContent = text; label.title = input.title = title;
    Object.assign(input, { type: 'checkbox', checked: joint[key] ?? usual });
    input.onchange = () => change_joint(key === 'enabled' ? 'switch' : 'collisions', id, joint => { joint[key] = input.checked; });
    rows.push(label, input);
  }
  const focused = $('card-joint').contains(document.activeElement) ? document.activeElement.id : '';
  $('card-joint').replaceChildren(...rows);
  if (focused) $(focused)?.focus({ preventScroll: true });
}
/** Shows the kind of the selected joint, and its bodies as links. */
function show_joint_head({ id, type, limits, length, a, b, name }) {
  const words = joint_name({ id, type, limits, length });
  write($('card-title'), words[0].toUpperCase() + words.slice(1) + (name ? ` (${name})` : ''));
  const end = id => id === null ? 'the world' : link(body_name(id), () => select(id));
  $('card-ends').replaceChildren('between ', end(a), ' and ', end(b));
  show_joint_motion(true);
}
/** Returns the length or the angle of a joint as a text. */
function motion_of(joint, { first, second, a, b }) {
  const length = Math.hypot(a[0] - b[0], a[1] - b[1]);
  if (joint.type === 'revolute') return `turned by ${(second.angle - (first ? first.angle : 0)).toFixed(2)} rad`;
  return joint.axis ? `moved by ${length.toFixed(2)} m` : joint.type === 'weld' ? '' : `${length.toFixed(2)} m long`;
}
/** Shows the length or the angle of the selected joint, a few times a second. */
function show_joint_motion(now = false) {
  const joint = shown_joint(), time = performance.now(), ends = joint && ends_of(joint);
  if (!ends || (!now && time - (show_joint_motion.since || 0) < 200)) return;
  show_joint_motion.since = time;
  write($('card-now'), motion_of(joint, ends));
}

/** Changes a joint by replacing it, between the same bodies. */
function change_joint(word, id, edit) {
  const known = joint_of_id(id);
  if (!known) return;
  let made = null;
  build(`${word} of ${joint_name(known)}`, async (own, kept) => {
    changing_joint = true;
    try {
      await standing(own, async () => {
        const { a, b, joint } = await joint_details(own, id);
        edit(joint);
        const { results } = await command(own, { unjoin: { joints: [id] } }, { join: { ...(a === null ? {} : { a }), b, joint } });
        made = results[1].joint;
        stay(own);
        await loadJoints();
        stay(own);
        if (selected_joint?.id === id) { selected_joint = { id: made, world: own }; await fill_joint_card(); }
      });
    } catch (error) {
      if (kept) await restore(own, kept.name).then(() => Promise.all([load(), loadJoints()]), () => {});
      fill_joint_card().catch(() => {});
      throw error;
    } finally { changing_joint = false; }
    // A new joint has the lowest free number.
    const now = made && short_id(made) !== short_id(id) ? joint_of_id(made) : null;
    tell(`${word} changed` + (now ? `; ${joint_name(known)} is ${joint_name(now)} now, the lowest free number` : ''));
  });
}
function remove_joint(id) {
  const joint = joint_of_id(id);
  if (!joint) return;
  letGo();
  build('a joint removed', async own => {
    await command(own, { unjoin: { joints: [id] } });
    if (selected_joint?.id === id) select_joint(null);
    tell(`removed ${joint_name(joint)} between ${body_name(joint.a)} and ${body_name(joint.b)}; ${brings_back()}`);
  });
}

/** Lists the joints of the selected body as links. */
function list_joints() {
  const id = selected && selected.world === world ? selected.id : null, own = id ? joints.filter(joint => joint.a === id || joint.b === id) : [];
  const key = [id, ...own.slice(0, MAX_LISTED).map(joint => joint.id + kind_of(joint)), own.length].join();
  if (key === list_joints.key) return;
  list_joints.key = key;
  $('card-joints').hidden = own.length === 0;
  $('card-joints').replaceChildren(own.length === 1 ? 'Joint: ' : `${own.length} joints: `, ...own.slice(0, MAX_LISTED).flatMap((joint, i) => {
    const other = joint.a === id ? joint.b : joint.a, go = link(joint_name(joint), () => select_joint(joint.id));
    return [...(i ? [', '] : []), go, ` to ${body_name(other)}`];
  }), ...(own.length > MAX_LISTED ? [` and ${own.length - MAX_LISTED} more`] : []));
}
$('joint-remove').onclick = () => { if (selected_joint) remove_joint(selected_joint.id); };
