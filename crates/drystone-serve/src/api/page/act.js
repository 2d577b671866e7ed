// Actions of the page: buttons, tools and keys, the form for new worlds, and the start.

const here = () => world_at(...(hovered || [$('canvas').clientWidth / 2, $('canvas').clientHeight / 2]));
const command = (own, ...commands) => post(own, '/commands', { commands });
const START = 'start';
/** Worlds whose state at step 0 has been saved, so that they can be restarted. */
const kept = new Set();

/** Saves the state at step 0 before this page changes anything. */
async function keepStart() {
  if (!status || kept.has(world) || simulated.step > 0 || status.step > 0 || status.alterations > 0) return;
  const own = world;
  // The world works without it; only a restart then reports the problem.
  await post(own, '/checkpoint', { name: START }).then(() => kept.add(own), error => { if (error.away) throw error; });
}

/** Runs an action while the world is paused, and then plays on. */
async function standing(own, work) {
  const { state, speed } = status;
  if (state !== 'playing') return work();
  await post(own, '/pause');
  try { return await work(); } finally { await post(own, '/play', { speed: speed ?? 'max', unwatched: UNWATCHED }); }
}

// Time.

/** Seconds without a viewer after which a world played from here pauses. */
const UNWATCHED = 60;
const speed = () => { const value = $('speed').value; return { speed: value === 'max' ? value : Number(value), unwatched: UNWATCHED }; };
async function play(own = world) { await keepStart(); await post(own, '/play', speed()); }
const toggle = guard(async () => {
  if (status && status.state === 'playing') await post(world, '/pause'); else await play();
  await list();
});
const steps = count => guard(async () => {
  const own = world, plays = status.state === 'playing';
  const step = () => post(own, '/step', { steps: count }), stop = () => post(own, '/pause');
  await keepStart();
  if (plays) await stop();
  // It may have begun to play since the list was read.
  await step().catch(async error => { if (error.status !== 409) throw error; await stop(); await step(); });
  await list();
});
/** Steps still to be rewound, and whether a rewind is in progress. Steps requested meanwhile come next. */
let behind = 0, going = false;
const back = count => guard(async () => {
  const own = world;
  behind += count;
  if (going) return;
  going = true;
  letGo();
  try {
    // The number of its steps is known once it is paused.
    let { step } = await post(own, '/pause');
    if (step === 0) return tell('the world is at its start');
    while (behind && step) {
      const count = Math.min(behind, step), waits = setTimeout(() => tell(`rewinding ${count} ${count === 1 ? 'step' : 'steps'} …`), 300);
      behind -= count;
      ({ step } = await post(own, '/rewind', { steps: count }).finally(() => clearTimeout(waits)));
      stay(own);
      await Promise.all([load(), loadJoints()]);
      stay(own);
      // The pointer held a body at that step.
      if (holds) { await command(own, { release: { pointer: hand } }); stay(own); }
    }
    forget_undos_after(step);
    tell(`rewound to step ${step}`);
    await list();
  } finally { behind = 0; going = false; }
});
const quicker = by => () => {
  const index = $('speed').selectedIndex + by;
  if (index >= 0 && index < $('speed').length) { $('speed').selectedIndex = index; $('speed').onchange(); }
  tell('speed ' + $('speed').selectedOptions[0].text);
};
$('speed').onchange = guard(async () => { if (status && status.state === 'playing') { await post(world, '/play', speed()); await list(); } });
const restart = guard(async () => {
  letGo();
  if (simulated.step === 0 && status.alterations === 0 && !kept.has(world)) return tell('the world is at its start');
  const own = world, plays = status.state === 'playing';
  if (plays) await post(own, '/pause');
  try {
    await post(own, '/restore', { name: START });
  } catch (error) {
    if (error.status === 404) throw new Error('The start of this world was not saved: it had run before this page changed it. Create it again from its scene.');
    throw error;
  } finally { if (plays) await post(own, '/play', speed()); }
  stay(own);
  await Promise.all([load(), loadJoints(), list()]);
  stay(own);
  forget_undos_after(0);
  fit();
  tell('restarted');
});
const keepState = guard(async () => { const { checkpoint } = await post(world, '/checkpoint'); tell(`saved as checkpoint ${checkpoint}`); });

// Tools that act at a position.

/** Active tool, or ''. */
let tool = '';
function take_tool(name) {
  tool = tool === name ? '' : name;
  for (const button of document.querySelectorAll('[data-tool]')) button.setAttribute('aria-pressed', button.dataset.tool === tool);
  $('canvas').dataset.over = tool ? 'tool' : '';
  end_draft();
  say();
  show_card();
  if (tool && (DRAWN.includes(tool) || JOINED.includes(tool))) show_palette(true);
  if (tool) tell(`${HINTS[tool]}; press the button again to end the tool`);
}
let working = Promise.resolve();
/** Uses a tool; uses run one after the other. */
function use(name, place) {
  change({ drop: 'bodies dropped', shoot: 'a shot', explode: 'an explosion' }[name], own => ({ drop, shoot, explode })[name](own, place));
}

/** Typical width of a body, m. */
function usual() {
  const sizes = [];
  for (const body of bodies.values()) { const own = looks(body); if (own && isDynamic(body) && sizes.length < 1000) { const [x0, y0, x1, y1] = bounds(body, own); sizes.push(Math.min(x1 - x0, y1 - y0)); } }
  return sizes.sort((a, b) => a - b)[sizes.length >> 1] || $('canvas').clientHeight / camera.scale / 24;
}
const MAX_ROWS = 1000, PITCH = 1.15;
/** Returns free positions for bodies of a size, in rows of a square from a position upwards. */
async function free_places(own, [x, y], count, size) {
  const columns = Math.ceil(Math.sqrt(count)), pitch = PITCH * size, places = [];
  const across = Array.from({ length: columns }, (_, i) => i - (columns - 1) / 2).sort((a, b) => Math.abs(a) - Math.abs(b));
  for (let row = 0; places.length < count && row < MAX_ROWS;) {
    const end = Math.min(MAX_ROWS, row + Math.ceil((count - places.length) / columns)), tried = [];
    for (; row < end; row++) tried.push(...across.map(column => [x + column * pitch, y + row * pitch]));
    const queries = tried.map(position => ({ overlap: { shape: { box: { half: [pitch / 2, pitch / 2] } }, position } }));
    const { answers } = await post(own, '/query', { queries });
    places.push(...tried.filter((_, i) => answers[i].found.length === 0));
  }
  return places.slice(0, count);
}
const drop = (own, place) => standing(own, async () => {
  const size = usual(), wanted = Number($('count').value), places = await free_places(own, place, wanted, size);
  if (!places.length) throw new Error('No body was dropped: there is no room above this place.');
  const shapes = [{ box: { half: [size / 2, size / 2] } }, { circle: { radius: size / 2 } }];
  await command(own, { spawn: { bodies: places.map((position, i) => ({ position, shapes: [shapes[wanted === 1 ? 0 : i % 2]] })) } });
  tell(`dropped ${places.length} of ${wanted}`);
});
async function shoot(own, [x, y]) {
  const size = usual(), height = $('canvas').clientHeight / camera.scale, from = world_at(0, $('canvas').clientHeight / 4);
  const length = Math.hypot(x - from[0], y - from[1]) || 1, speed = Math.min(200, Math.max(10, 2 * height));
  const velocity = [(x - from[0]) / length * speed, (y - from[1]) / length * speed];
  await command(own, { spawn: { bodies: [{ position: from, velocity, bullet: true, shapes: [{ circle: { radius: 0.75 * size }, density: 8, friction: 0.3 }] }] } });
}
/** Pushes nearby bodies away: fully up to a radius, decreasing up to twice that distance. */
async function explode(own, [x, y]) {
  const radius = 0.16 * $('canvas').clientHeight / camera.scale, speed = 1.4 * Math.sqrt(9.81 * 2 * radius), pushes = [];
  for (const body of bodies.values()) {
    const known = looks(body), dx = body.x - x, dy = body.y - y, d = Math.hypot(dx, dy) || 1;
    const share = Math.min(1, 2 - d / radius);
    if (!known || !isDynamic(body) || share <= 0) continue;
    pushes.push({ impulse: { body: known.id, impulse: [dx / d, dy / d].map(way => way * known.mass * speed * share) } });
  }
  if (!pushes.length) return tell('no body is close enough to be pushed');
  for (let i = 0; i < pushes.length; i += 1000) await command(own, ...pushes.slice(i, i + 1000));
  tell(`pushed ${pushes.length} ${pushes.length === 1 ? 'body' : 'bodies'}`);
}
/** Removes the body under the pointer at the moment of the key press, or else the selected one. */
const removeBody = () => {
  const found = hovered && drawn ? pick(here(), GRAB_MOUSE, true) : null, id = found ? found.id : selected_body() && selected.id;
  if (id) remove_body(id); else tell('no body is under the pointer or selected');
};
function remove_body(id) {
  const body = body_of(id), own = body && looks(body);
  if (!own) return;
  const kind = ['dynamic', '', 'static', '', 'kinematic'][body.flags & 6];
  letGo();
  change('a body removed', async at => {
    await command(at, { remove: { bodies: [id] } });
    if (selected?.id === id) select(null);
    tell(`removed ${kind} body ${id}` + (own.name ? ` (${own.name})` : '') + '; Z brings it back');
  });
}
const removeWorld = guard(async () => {
  if (!status || !confirm(`Delete the world ${status.name || status.id} with all its checkpoints?`)) return;
  const own = deleting = world, old = socket;
  letGo();
  // The page would reconnect when the service ends the stream.
  socket = null;
  if (old) old.close();
  try { await call('DELETE', on(own, '')); } catch (error) { if (world === own) connect(); throw error; } finally { deleting = null; }
  // Its checkpoints were deleted with it.
  undos = undos.filter(kept => kept.world !== own);
  if (world === own) close();
  if (!world) await choose();
});

// Buttons.

$('play').onclick = toggle; $('step').onclick = steps(1); $('back').onclick = back(1); $('restart').onclick = restart; $('remove').onclick = removeWorld;
$('picture').onclick = guard(() => save_picture()); $('keep').onclick = keepState; $('keys').onclick = () => show_keys();
for (const button of document.querySelectorAll('[data-tool]')) button.onclick = () => take_tool(button.dataset.tool);
for (const box of document.querySelectorAll('[data-layer]')) box.onchange = () => { layers[box.dataset.layer] = box.checked; want_stream(); };
const layer = name => () => { const box = document.querySelector(`[data-layer=${name}]`); box.checked = layers[name] = !layers[name]; want_stream(); };
function show_palette(shown) { $('palette').hidden = !shown; $('build').setAttribute('aria-pressed', shown); }
$('build').onclick = () => { show_palette($('palette').hidden); if ($('palette').hidden && (DRAWN.includes(tool) || JOINED.includes(tool))) take_tool(''); };
$('undo').onclick = undo; $('save-scene').onclick = save_scene;
/** On a narrow screen the list and the form are shown on demand. */
function show_lists(shown) {
  document.body.classList.toggle('lists', shown);
  $('lists').setAttribute('aria-expanded', shown);
  if (shown) $('side-close').focus(); else if ($('side').contains(document.activeElement) && is_small()) $('lists').focus();
}
$('lists').onclick = () => show_lists(true);
$('side-close').onclick = () => show_lists(false);
$('measure').onclick = guard(async () => {
  const own = world, { metrics: m, hash } = await call('GET', on(own, '/metrics'));
  stay(own);
  const figures = [
    [`kinetic ${m.kinetic_energy.toPrecision(4)} J`, 'Kinetic energy of all dynamic bodies, moving and turning'],
    [`total ${m.total_energy.toPrecision(4)} J`, 'Kinetic, potential and elastic energy: constant where nothing rubs, bounces, drives or damps'],
    [`deepest overlap ${(1e3 * m.max_penetration).toFixed(2)} mm`, 'How far the two shapes that overlap most are inside each other'],
    [`fastest ${m.max_speed.toFixed(2)} m/s`, 'Speed of the fastest dynamic body'],
    [`hash ${hash}`, 'Number of the whole state: the same for the same bits'],
  ];
  $('metrics').replaceChildren(...figures.flatMap(([text, title], i) => {
    const figure = document.createElement('span');
    figure.textContent = text; figure.title = title;
    return i ? [', ', figure] : [figure];
  }));
});
// A button pressed with the pointer does not keep the focus: Space runs the world.
for (const bar of [document.querySelector('main > header'), $('palette'), $('zoom'), $('gravity')]) bar.addEventListener('click', event => { if (event.detail && event.target.closest('button:not(#lists)')) $('canvas').focus({ preventScroll: true }); });
// The menu closes on a press outside of it, or on one of its buttons.
document.addEventListener('pointerdown', event => {
  if (!$('more').contains(event.target)) $('more').open = false;
  if (!$('side').contains(event.target) && document.body.classList.contains('lists')) { event.preventDefault(); show_lists(false); }
});
document.querySelector('.menu').addEventListener('click', event => { if (event.target.tagName === 'BUTTON') $('more').open = false; });

// Keys, as in the window; those that only the page has are at the end.

const dark = () => { document.documentElement.style.colorScheme = is_dark() ? 'light' : 'dark'; show_pictures(); };
const KEYS = [
  [' ', 'Space', 'run or pause', toggle],
  ['ArrowRight', '→', 'one step', steps(1)],
  ['ArrowLeft', '←', 'one step back', back(1)],
  ['PageDown', 'Page down', '60 steps', steps(60)],
  ['PageUp', 'Page up', '60 steps back', back(60)],
  ['r', 'R', 'restart the scene', restart],
  ['-', '−', 'slower', quicker(-1)],
  ['=', '=', 'faster', quicker(1)],
  ['f', 'F', 'frame everything, and follow it', fit],
  ['d', 'D', 'drop bodies at the pointer', () => use('drop', here())],
  ['s', 'S', 'shoot at the pointer', () => use('shoot', here())],
  ['x', 'X', 'explode at the pointer', () => use('explode', here())],
  ['Delete', 'Delete', 'remove the body pointed at, or selected', removeBody],
  ['w', 'W', 'graph the body under the pointer', () => { const found = hovered && drawn ? pick(here(), GRAB_MOUSE, true) : null; if (found) select(found.id); show_graphs(Boolean(found) || !graphs_shown); }],
  ['v', 'V', 'arrows of velocity', layer('velocities')],
  ['z', 'Z', 'undo the last change', () => undo()],
  ['1', '1', 'select and pull bodies', () => take_tool('')],
  ['2', '2', 'draw boxes', () => take_tool('box')],
  ['3', '3', 'draw circles', () => take_tool('circle')],
  ['4', '4', 'draw polygons', () => take_tool('polygon')],
  ['Enter', 'Enter', 'close the polygon', () => finish_polygon()],
  ['5', '5', 'hinge between two clicks', () => take_tool('hinge')],
  ['6', '6', 'spring between two clicks', () => take_tool('spring')],
  ['7', '7', 'rod between two clicks', () => take_tool('rod')],
  ['8', '8', 'weld between two clicks', () => take_tool('weld')],
  ['[', '[', 'tilt gravity to the left', tilt(-TILT)],
  [']', ']', 'tilt gravity to the right', tilt(TILT)],
  ['\\', '\\', 'gravity as in the scene', scene_gravity],
  ['l', 'L', 'light or dark', dark],
  ['p', 'P', 'save a picture', guard(() => save_picture())],
  ['k', 'K', 'keep the state as a checkpoint', keepState],
  ['j', 'J', 'save as a scene file (JSON)', save_scene],
  ['Escape', 'Esc', 'cancel, end the tool, deselect', () => { if (draft) end_draft(); else if (tool) take_tool(''); else select(null); }],
  ['?', '?', 'these keys', () => show_keys()],
  ['i', 'I', 'joints', layer('joints')],
  ['o', 'O', 'open a built-in scene', () => show_gallery()],
  ['.', '.', 'zoom in', () => zoom(1.25)],
  [',', ',', 'zoom out', () => zoom(0.8)],
  ['Shift+ArrowLeft', 'Shift ← → ↑ ↓', 'move the view', () => pan(40, 0)],
  ['Shift+ArrowRight', 'Shift →', 'move the view', () => pan(-40, 0)],
  ['Shift+ArrowUp', 'Shift ↑', 'move the view', () => pan(0, 40)],
  ['Shift+ArrowDown', 'Shift ↓', 'move the view', () => pan(0, -40)],
  ['Shift+Delete', 'Shift Delete', 'delete the world, after confirmation', removeWorld],
];
const POINTER = [['click a body', 'select it, to change it'], ['drag a body', 'pull it along'], ['drag elsewhere', 'move the view'], ['wheel, two fingers', 'zoom']];
const ACTS = new Map(KEYS.map(([code, , , act]) => [code, act]));
ACTS.set('+', ACTS.get('='));
const rows = [...KEYS.map(key => key.slice(1, 3)).filter(([, meaning], i, all) => !i || meaning !== all[i - 1][1]), ...POINTER];
for (const [word, meaning] of rows) {
  const term = document.createElement('dt'), text = document.createElement('dd'), key = document.createElement('kbd');
  key.textContent = word; text.textContent = meaning;
  term.append(key);
  $('key-list').append(term, text);
}
function show_keys() { if ($('help').open) $('help').close(); else { $('help').showModal(); $('help').scrollTop = 0; } }
document.onkeydown = event => {
  const { target } = event, is_text = /^(TEXTAREA|SELECT)$/.test(target.tagName) || (target.tagName === 'INPUT' && target.type !== 'checkbox');
  if ($('gallery').open) return;
  if (event.key === 'Escape' && document.body.classList.contains('lists')) return show_lists(false);
  if (event.key.toLowerCase() === 'z' && (event.ctrlKey || event.metaKey) && !event.shiftKey && !is_text && status) { event.preventDefault(); undo(); return; }
  if (is_text || event.ctrlKey || event.metaKey || event.altKey) return;
  if ($('help').open) { if (event.key === '?') { event.preventDefault(); $('help').close(); } return; }
  // A focused button is pressed with Space, as everywhere.
  if (/^( |Enter)$/.test(event.key) && /^(BUTTON|SUMMARY|INPUT)$/.test(target.tagName)) return;
  const name = event.key.length === 1 ? event.key.toLowerCase() : event.key, act = ACTS.get((event.shiftKey && event.key.length > 1 ? 'Shift+' : '') + name);
  if (name === 'Escape' && $('more').open) { $('more').open = false; return; }
  if (!act || (!status && !/^[?o]$/.test(name)) || (status && status.state === 'failed' && !/Delete|[?oO]/.test(event.key))) return;
  event.preventDefault();
  // A held key moves the view or rewinds, and repeats nothing else.
  if (!event.repeat || /^[.,]$/.test(name) || (name === 'ArrowLeft' && !going) || event.shiftKey) act();
};

// The form for new worlds.

$('create').onsubmit = async event => {
  event.preventDefault();
  const text = $('scene').value.trim(), parameters = $('parameters').value.replace(/\s+/g, '');
  const spec = $('catalogue').value + (parameters ? ':' + parameters : '');
  $('mistake').textContent = '';
  try {
    say();
    await make(text || JSON.stringify({ scene: spec }), text ? 'the scene' : spec);
  } catch (error) {
    $('mistake').textContent = error.message;
    // Beside the pressed button, in view, with the position in the text.
    $('mistake').scrollIntoView({ block: 'nearest' });
    if (text && error.line) show_place(error);
  }
};
/** Marks the line of a mistake in the text. */
function show_place({ line, column }) {
  const whole = $('scene').value, from = whole.length - whole.trimStart().length, rows = whole.slice(from).split('\n');
  const start = from + rows.slice(0, line - 1).reduce((sum, row) => sum + row.length + 1, 0) + Math.max(0, (column || 1) - 1);
  $('scene').setSelectionRange(start, Math.min(whole.length, start + 1));
}
/** Creates a world and opens it. A large one takes seconds; one progress bar covers both. */
async function make(body, name) {
  const own = busy = { text: 'Creating ' + name, since: performance.now() };
  panel();
  try {
    const made = await call('POST', '/v1/worlds', body);
    if (busy !== own) return;
    await open(made.id);
    if ($('run').checked && world === made.id && !trouble) { await play(made.id); await list(); }
  } finally {
    if (busy === own) busy = null;
    panel();
  }
}
/** An empty scene: ground with room to build on. */
const EMPTY = { version: 1, name: 'new scene', view: { min: [-8, -1.5], max: [8, 7.5] }, bodies: [{ id: 'ground', type: 'static', position: [0, -0.5], shapes: [{ box: { half: [50, 0.5] } }] }] };
$('empty').onclick = guard(async () => { $('run').checked = false; await make(JSON.stringify(EMPTY), 'an empty scene'); show_palette(true); });
// Start of the page.

/** Updates the list every two seconds. The message of a lost connection disappears when the service answers. */
async function watch() {
  for (let said = ''; ; await pause(2000)) {
    try {
      await list();
      if (said && $('say').textContent === said) say();
      said = '';
      recovered();
    } catch (error) { say(said = error.message); buttons(); }
  }
}
function recovered() {
  away = false;
  for (const id of ['say', 'mistake']) if ($(id).textContent === AWAY) $(id).textContent = '';
  if (trouble === AWAY && world) open(world);
  buttons();
}
draw();
guard(async () => {
  for (; ;) {
    try {
      take_scenes(await call('GET', '/v1/scenes'));
      await choose();
      recovered();
      break;
    } catch (error) { say(error.message); }
    await pause(2000);
  }
  await watch();
})();
