// Actions of the page: buttons, tools and keys, the form for new worlds, and the start.

const here = () => world_at(...(hovered || [$('canvas').clientWidth / 2, $('canvas').clientHeight / 2]));
/** Executes commands. Those of a change are recorded with their results, so that it can be made again. */
async function command(own, ...commands) {
  const change = making?.world === own ? making : null, answer = await post(own, '/commands', { commands });
  if (change) { change.commands.push(commands); change.results.push(answer.results); }
  return answer;
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
/** Rewinds a world from a step by a number of steps, or by fewer where its history begins: an undo begins another one. */
async function rewind(own, step, count) {
  try { return await post(own, '/rewind', { steps: count }); } catch (error) {
    const earliest = Number(error.message.match(/the earliest step is (\d+)/)?.[1]);
    if (error.status !== 422 || isNaN(earliest)) throw error;
    first_steps.set(own, earliest);
    if (earliest < step) return post(own, '/rewind', { steps: step - earliest });
    throw new Error(`The history begins at step ${earliest}, with the last undo or restart: ${by_hand('Z, R', 'Undo, Restart')} and kept states go further back.`);
  }
}
/** Restores a kept state; the history of the world begins there again. */
async function restore(own, name) {
  const restored = await post(own, '/restore', { name });
  first_steps.set(own, restored.step);
  return restored;
}
const back = count => guard(async () => {
  const own = world;
  behind += count;
  if (going) return;
  going = true;
  letGo();
  try {
    // The number of its steps is known once it is paused.
    let { step } = await post(own, '/pause');
    const before = step;
    if (step === 0) return tell('the world is at its start');
    // Presses may come until the last answer is there.
    do {
      while (behind && step) {
        const count = Math.min(behind, step), waits = setTimeout(() => tell(`rewinding ${count} ${count === 1 ? 'step' : 'steps'} …`), 300);
        behind -= count;
        ({ step } = await rewind(own, step, count).finally(() => clearTimeout(waits)));
        stay(own);
        await Promise.all([load(), loadJoints()]);
        stay(own);
        // The pointer held a body at that step.
        if (holds) { await post(own, '/commands', { commands: [{ release: { pointer: hand } }] }); stay(own); }
      }
      forget_undos_after(step);
      refresh_card();
      tell(`rewound to step ${step}${discarded(step, before)}`);
      await list();
    } while (behind && step);
  } finally { behind = 0; going = false; }
});
// The timeline: a slider over the steps so far, back to any of them.

/** First step to which a world goes back, as the service has said, by its id. */
const first_steps = new Map();
/** True while the slider is dragged: it then stays where the user holds it. */
let sliding = false;
/** Shows the steps of the world on the slider. */
function show_timeline() {
  const is_there = Boolean(status) && drawn && status.state !== 'failed' && !away;
  // Before that step another history has begun: another page went back.
  const known = first_steps.get(world) || 0, first = simulated.step < known ? 0 : known;
  $('timeline-label').classList.toggle('absent', !is_there);
  if (!is_there || sliding) return;
  const slider = $('timeline'), last = Math.max(simulated.step, first);
  slider.disabled = last === first;
  if (slider.max !== String(Math.max(last, first + 1)) || slider.min !== String(first)) { slider.min = first; slider.max = Math.max(last, first + 1); }
  if (slider.value !== String(last)) slider.value = last;
}
$('timeline').oninput = () => { sliding = true; tell(`back to step ${$('timeline').value}`); };
$('timeline').onchange = guard(async () => {
  const own = world, to = Number($('timeline').value);
  // Keys are those of the world again.
  if ($('timeline') === document.activeElement) $('canvas').focus({ preventScroll: true });
  if (going) { sliding = false; return tell('the world goes back already'); }
  // One way back at a time; `show_timeline` enables it again.
  $('timeline').disabled = true;
  try {
    // Steps that a playing world does meanwhile are gone back as well.
    const { step } = await post(own, '/pause');
    stay(own);
    if (to < step) await back(step - to)();
  } finally {
    sliding = false;
    // Where it could not go back it must not say that it did.
    if ($('told').textContent === `back to step ${to}`) tell('');
  }
});
const quicker = by => () => {
  const index = $('speed').selectedIndex + by;
  if (index >= 0 && index < $('speed').length) { $('speed').selectedIndex = index; $('speed').onchange(); }
  tell('speed ' + $('speed').selectedOptions[0].text);
};
$('speed').onchange = guard(async () => { if (status && status.state === 'playing') { await post(world, '/play', speed()); await list(); } });
const keepState = guard(async () => {
  const { checkpoint } = await post(world, '/checkpoint');
  tell(`state kept as ${checkpoint}; More, Kept states goes back to it`);
});
/** Shows the states that were kept, other than those for undo and restart. */
const show_kept = guard(async () => {
  const own = world, { checkpoints } = await call('GET', on(own, '/checkpoints'));
  stay(own);
  const names = checkpoints.filter(name => name !== START && !name.startsWith('undo-')).sort((a, b) => a.localeCompare(b, undefined, { numeric: true }));
  $('kept-list').replaceChildren(...names.map(name => {
    const row = document.createElement('li'), text = document.createElement('span'), [go, remove] = ['Go back', 'Delete'].map(label => {
      const button = document.createElement('button');
      button.type = 'button'; button.textContent = label; button.setAttribute('aria-label', `${label}: ${name}`);
      return button;
    });
    text.textContent = name;
    go.onclick = () => { $('kept').close(); return go_back_to(name); };
    remove.onclick = guard(async () => { await call('DELETE', on(own, '/checkpoints/' + name)); row.remove(); });
    row.append(text, go, remove);
    return row;
  }));
  if (!$('kept').open) $('kept').showModal();
});
/** Goes back to a state that was kept; this can be undone. */
function go_back_to(name) {
  return change(`going back to ${name}`, async own => {
    letGo();
    const before = simulated.step;
    let step = before;
    const go = async own => {
      ({ step } = await restore(own, name));
      take_builds(own, builds_of(own).filter(b => b.step <= step));
      stay(own);
      await Promise.all([load(), loadJoints()]);
    };
    await go(own);
    if (making?.world === own) making.again = go;
    stay(own);
    if (selected && !selected_body()) select(null);
    refresh_card();
    tell(`back at ${name}${discarded(step, before)}`);
  });
}

// Tools that act at a position.

/** Active tool, or ''. */
let tool = '';
const END_OF_TOOL = '; press the button again to end the tool';
function take_tool(name) {
  tool = tool === name ? '' : name;
  for (const button of document.querySelectorAll('[data-tool]')) button.setAttribute('aria-pressed', button.dataset.tool === tool);
  $('canvas').dataset.over = tool ? 'tool' : '';
  $('spring-settings').hidden = tool !== 'spring';
  end_draft();
  say();
  show_card();
  if (tool && (DRAWN.includes(tool) || JOINED.includes(tool))) show_palette(true);
  if (tool) tell(HINTS[tool] + END_OF_TOOL); else if ($('told').textContent.endsWith(END_OF_TOOL)) tell('');
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
/** Largest numbers of pushes and of queries in a request. */
const MAX_PUSHES = 5000;
const MAX_QUERIES = 2500;
/** Returns free positions for bodies of a size, in rows of a square from a position upwards. */
async function free_places(own, [x, y], count, size) {
  const columns = Math.ceil(Math.sqrt(count)), pitch = PITCH * size, places = [];
  const across = Array.from({ length: columns }, (_, i) => i - (columns - 1) / 2).sort((a, b) => Math.abs(a) - Math.abs(b));
  for (let row = 0; places.length < count && row < MAX_ROWS;) {
    const end = Math.min(MAX_ROWS, row + Math.ceil(Math.min(count - places.length, MAX_QUERIES - columns) / columns)), tried = [];
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
  tell('shot a ball');
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
  for (let i = 0; i < pushes.length; i += MAX_PUSHES) await command(own, ...pushes.slice(i, i + MAX_PUSHES));
  tell(`pushed ${pushes.length} ${pushes.length === 1 ? 'body' : 'bodies'}`);
}
const brings_back = () => by_hand('Z brings it back', 'Build, Undo brings it back');
/** Removes the body or the joint under the pointer at the moment of the key press, or else the selected one. */
const removeBody = () => {
  const found = hovered && drawn ? pick_any(here(), GRAB_MOUSE) : null, joint = found ? found.joint : shown_joint(), id = found ? found.body?.id : selected_body() && selected.id;
  if (joint) remove_joint(joint.id); else if (id) remove_body(id); else tell('no body or joint is under the pointer or selected');
};
function remove_body(id) {
  const body = body_of(id), own = body && looks(body);
  if (!own) return;
  const kind = ['dynamic', '', 'static', '', 'kinematic'][body.flags & 6];
  letGo();
  build('a body removed', async at => {
    await command(at, { remove: { bodies: [id] } });
    if (selected?.id === id) select(null);
    tell(`removed ${kind} ${body_name(id)}` + (own.name ? ` (${own.name})` : '') + `; ${brings_back()}`);
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
$('picture').onclick = guard(() => save_picture()); $('keep').onclick = keepState; $('kept-menu').onclick = show_kept; $('keys').onclick = () => show_keys();
for (const button of document.querySelectorAll('[data-tool]')) button.onclick = () => take_tool(button.dataset.tool);
for (const box of document.querySelectorAll('[data-layer]')) box.onchange = () => { layers[box.dataset.layer] = box.checked; want_stream(); };
const layer = name => () => { const box = document.querySelector(`[data-layer=${name}]`); box.checked = layers[name] = !layers[name]; want_stream(); };
function show_palette(shown) { $('palette').hidden = !shown; $('build').setAttribute('aria-pressed', shown); }
$('build').onclick = () => { show_palette($('palette').hidden); if ($('palette').hidden && (DRAWN.includes(tool) || JOINED.includes(tool))) take_tool(''); };
$('undo').onclick = undo; $('redo').onclick = redo; $('save-scene').onclick = save_scene; $('run-here').onclick = run_here;
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
  $('metrics').replaceChildren(`step ${status.step.toLocaleString()}: `, ...figures.flatMap(([text, title], i) => {
    const figure = document.createElement('span');
    figure.textContent = text; figure.title = title;
    return i ? [', ', figure] : [figure];
  }));
});
// A button pressed with the pointer does not keep the focus: Space runs the world.
for (const bar of [document.querySelector('main > header'), $('palette'), $('zoom'), $('gravity'), $('graphs')]) bar.addEventListener('click', event => { if (event.detail && event.target.closest('button:not(#lists, #gravity-menu)')) $('canvas').focus({ preventScroll: true }); });
// The menu closes on a press outside of it, or on one of its buttons.
document.addEventListener('pointerdown', event => {
  if (!$('more').contains(event.target)) $('more').open = false;
  if (!$('side').contains(event.target) && document.body.classList.contains('lists')) { event.preventDefault(); show_lists(false); }
});
document.querySelector('.menu').addEventListener('click', event => { if (event.target.tagName === 'BUTTON') $('more').open = false; });
for (const id of ['spring-stiffness', 'spring-damping']) $(id).onkeydown = event => { if (event.key === 'Enter') $('canvas').focus({ preventScroll: true }); };

// Keys, as in the window; those that only the page has are at the end.

const dark = () => { document.documentElement.style.colorScheme = is_dark() ? 'light' : 'dark'; show_pictures(); };
const KEYS = [
  [' ', 'Space', 'run or pause', toggle],
  ['ArrowRight', '→', 'one step', steps(1)],
  ['ArrowLeft', '←', 'one step back', back(1)],
  ['PageDown', 'Page down', '60 steps', steps(60)],
  ['PageUp', 'Page up', '60 steps back', back(60)],
  ['r', 'R', 'restart, with what was built', restart],
  ['-', '−', 'slower', quicker(-1)],
  ['=', '=', 'faster', quicker(1)],
  ['f', 'F', 'frame everything, and follow it', () => fit()],
  ['d', 'D', 'drop bodies at the pointer', () => use('drop', here())],
  ['s', 'S', 'shoot at the pointer', () => use('shoot', here())],
  ['x', 'X', 'explode at the pointer', () => use('explode', here())],
  ['Delete', 'Delete', 'remove the body or joint pointed at, or selected', removeBody],
  ['w', 'W', 'graph the body under the pointer', () => { const found = hovered && drawn ? pick(here(), GRAB_MOUSE, true) : null; if (found) select(found.id); show_graphs(Boolean(found) || !graphs_shown); }],
  ['v', 'V', 'arrows of velocity', layer('velocities')],
  ['z', 'Z', 'undo the last change: back to the step before it', () => undo()],
  ['y', 'Y', 'make the undone change again', () => redo()],
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
  ['Escape', 'Esc', 'cancel, end the tool, deselect', () => { if (draft) end_draft(); else if (!$('gravity-numbers').hidden) show_gravity(false); else if (tool) take_tool(''); else { select(null); select_joint(null); } }],
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
const POINTER = [['click a body or a joint', 'select it, to change it'], ['drag a body', 'pull it along'], ['drag elsewhere', 'move the view'], ['wheel, two fingers', 'zoom']];
const ACTS = new Map(KEYS.map(([code, , , act]) => [code, act]));
ACTS.set('+', ACTS.get('='));
const FINGERS = [['Tap a body or a joint', 'Select it, to change it'], ['Drag a body', 'Pull it along'], ['Drag elsewhere', 'Move the view'], ['Two fingers', 'Zoom']];
/** Returns the buttons with their meanings: a finger cannot hover over them. */
const buttons_told = () => [...document.querySelectorAll('main > header button[title], #palette button[title], .menu [title]')].filter(entry => !entry.hidden && entry.id !== 'lists')
  .map(entry => [entry.getAttribute('aria-label') || entry.textContent.trim(), entry.title.replace(/ \([^()]*\)/g, '')]);
/** Fills the help: with keys, or with what fingers and buttons do. */
function fill_help() {
  const keys = KEYS.map(key => key.slice(1, 3)).filter(([, meaning], i, all) => !i || meaning !== all[i - 1][1]);
  $('help-title').textContent = touches ? 'Fingers and buttons' : 'Keys';
  $('key-list').replaceChildren(...(touches ? [...FINGERS, ...buttons_told()] : [...keys, ...POINTER]).flatMap(([word, meaning]) => {
    const term = document.createElement('dt'), text = document.createElement('dd'), key = document.createElement(touches ? 'strong' : 'kbd');
    key.textContent = word; text.textContent = meaning;
    term.append(key);
    return [term, text];
  }));
}
function show_keys() { if ($('help').open) $('help').close(); else { fill_help(); $('help').showModal(); $('help').scrollTop = 0; } }
document.onkeydown = event => {
  const { target } = event, is_text = /^(TEXTAREA|SELECT)$/.test(target.tagName) || (target.tagName === 'INPUT' && target.type !== 'checkbox');
  if ($('gallery').open || $('kept').open) return;
  if (event.key === 'Escape' && document.body.classList.contains('lists')) return show_lists(false);
  if (/^[zy]$/i.test(event.key) && (event.ctrlKey || event.metaKey) && !event.altKey && !is_text && status && !$('help').open) {
    event.preventDefault();
    if (event.key.toLowerCase() === 'y' || event.shiftKey) redo(); else undo();
    return;
  }
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

// In English browsers a field for numbers drops a decimal comma: 2,5 would become 25.
document.addEventListener('beforeinput', event => {
  if (event.target.type !== 'number' || event.data !== ',') return;
  event.preventDefault();
  document.execCommand('insertText', false, '.');
});

// The form for new worlds.

/** Text of a scene that was there when the user chose a built-in one, which then counts; null if there was none. */
let outranked = null;
function outrank_text() {
  outranked = $('scene').value || null;
  $('scene').classList.toggle('outranked', outranked !== null);
  $('mistake').textContent = '';
}
function prefer_text() { outranked = null; $('scene').classList.remove('outranked'); }
$('scene').oninput = () => { prefer_text(); $('mistake').textContent = ''; };

$('create').onsubmit = async event => {
  event.preventDefault();
  const text = outranked === $('scene').value ? '' : $('scene').value.trim(), parameters = $('parameters').value.replace(/\s+/g, '');
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
/** Creates a world and opens it, playing or not. A large one takes seconds; one progress bar covers both. */
async function make(body, name, plays = $('run').checked) {
  const own = busy = { text: 'Creating ' + name, since: performance.now() };
  panel();
  try {
    const made = await call('POST', '/v1/worlds', body);
    if (busy !== own) return;
    await open_world(made.id);
    // Space then runs the world, and does not create another.
    if ($('create').contains(document.activeElement)) $('canvas').focus({ preventScroll: true });
    if (plays && world === made.id && !trouble) { await play(made.id); await list(); }
  } finally {
    if (busy === own) busy = null;
    panel();
  }
}
// Scene files.

/** Largest file that is read, and largest text that is shown with its mistake, bytes. */
const MAX_FILE = 256e6, MAX_SHOWN = 1e6;
/** Opens a scene file as a new world. Its text is shown if it has a mistake. */
async function open_file(file) {
  show_lists(false);
  $('mistake').textContent = '';
  if (/\.(snap|ron)$/i.test(file.name)) throw new Error(`${file.name} is not opened: the page opens scene files as JSON; \`drystone view\` opens this one, and J saves it as JSON there.`);
  if (file.size > MAX_FILE) throw new Error(`${file.name} is not opened: it has ${Math.round(file.size / 1e6)} MB; at most ${MAX_FILE / 1e6} MB.`);
  const text = await file.text();
  try { await make(text, file.name); } catch (error) {
    if (text.length > MAX_SHOWN) throw new Error(`${file.name}: ${error.message}`);
    if (is_small()) show_lists(true);
    $('scene').value = text;
    prefer_text();
    $('mistake').textContent = `${file.name}: ${error.message}`;
    $('mistake').scrollIntoView({ block: 'nearest' });
    if (error.line) show_place(error);
  }
}
const open_files = guard(async files => { if (files.length) await open_file(files[0]); });
$('open-file').onclick = () => $('file').click();
$('file').onchange = async () => { await open_files($('file').files); $('file').value = ''; };
const has_files = event => event.dataTransfer?.types.includes('Files');
addEventListener('dragover', event => { if (has_files(event)) { event.preventDefault(); document.body.classList.add('drop'); } });
addEventListener('dragleave', event => { if (!event.relatedTarget) document.body.classList.remove('drop'); });
addEventListener('drop', event => {
  if (!has_files(event)) return;
  event.preventDefault();
  document.body.classList.remove('drop');
  open_files(event.dataTransfer.files);
});

/** An empty scene: ground with room to build on. */
const EMPTY = { version: 1, name: 'new scene', view: { min: [-8, -1.5], max: [8, 7.5] }, bodies: [{ id: 'ground', type: 'static', position: [0, -0.5], shapes: [{ box: { half: [50, 0.5] } }] }] };
$('empty').onclick = guard(async () => {
  await make(JSON.stringify(EMPTY), 'an empty scene', false);
  show_palette(true);
});
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
  if (trouble === AWAY && world) open_world(world);
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
