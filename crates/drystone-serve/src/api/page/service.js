// Connection to the service: requests, the list of worlds, and the stream of the displayed world.
'use strict';
const $ = id => document.getElementById(id);
const HEADER = 64, FULL = 36, DELTA = 12;
/** Number of joints beyond which the page does not check every second which ones broke. */
const MAX_WATCHED_JOINTS = 20000;
let token = sessionStorage.getItem('token') || '';
let world = null, socket = null, status = null;
/** Bodies by slot: their shapes, and their poses. */
let shapes = new Map(), bodies = new Map();
/** Region that the scene wants to be shown, or null. */
let scene_view = null;
/** Joints from the service, and the numbers of bodies and joints when they were requested. */
let joints = [], jointed = '';
/** Number of changes of bodies and joints up to which the shapes are known. */
let altered = 0;
/** True if a pointer holds a body. */
let holds = false;
let frames = [], dropped = 0, simulated = { step: 0, time: 0 }, serial = 0;
/** World whose bodies are being requested, and whether they have changed since. */
let fetching = null, again = false;
/** Numbers of lists requested and applied, and of worlds opened: a late answer is ignored. */
let asked = 0, applied = 0, opening = 0;
/** World that is being deleted here. */
let deleting = null;
/** True while the service does not answer. */
let away = false;
/** Pending prompt for a token, and the callback of the requests that wait for it. */
let asking = null, accepted = null;
/** Work in progress, shown with a bar: its text, its start, and its completed fraction (0 to 1, or unknown). */
let busy = { text: 'Loading the list of worlds', since: performance.now() };
/** Reason why the displayed world could not be opened. */
let trouble = '';
let known = -1, drawn = false;
/** Pictures of worlds displayed in this tab, by id. */
const thumbnails = new Map();
/** Number of frames and lists of joints so far. */
let taken = 0;

const pause = milliseconds => new Promise(resolve => { setTimeout(resolve, milliseconds); });

/** Returns the text of a problem: the path once, and the line where the text was parsed by line. */
function told(problem) {
  const path = problem.path && !problem.detail.startsWith(problem.path) ? problem.path + ': ' : '';
  const line = problem.line && !problem.detail.includes('line') ? `line ${problem.line}, column ${problem.column}: ` : '';
  const detail = problem.detail === 'syntax error' ? 'this is not JSON' : problem.detail;
  return line + path + detail + (problem.expected ? '; expected ' + problem.expected : '');
}

/** Returns an error with the text of a problem. A proxy may answer instead of the service, in another format. */
async function problem(answer) {
  const json = await answer.json().catch(() => null);
  const text = json && json.detail ? told(json) : `The service answered ${answer.status} ${answer.statusText}.`;
  return Object.assign(new Error(text), { status: answer.status, line: json && json.line, column: json && json.column });
}

/** Reads JSON, and reports the fraction that has arrived. */
async function read(answer, tell) {
  const total = Number(answer.headers.get('Content-Length'));
  if (!tell || !total || !answer.body) return answer.json();
  const reader = answer.body.getReader(), parts = [];
  for (let got = 0; ;) {
    const { done, value } = await reader.read();
    if (done) return new Response(new Blob(parts)).json();
    parts.push(value);
    got += value.length;
    tell(got / total);
  }
}

const AWAY = 'The service does not answer. Retrying.';
/** Returns the error of a request without an answer: the connection is lost. */
function lost() {
  away = true;
  return Object.assign(new Error(AWAY), { away });
}

/** Sends a request, and asks the user for a token if the service requires one. */
async function call(method, path, body, tell, as = 'json') {
  const key = crypto.getRandomValues(new Uint32Array(4)).join('-');
  for (;;) {
    const headers = {}, used = token;
    if (used) headers.Authorization = 'Bearer ' + used;
    if (body !== undefined) headers['Content-Type'] = 'application/json';
    if (method !== 'GET') headers['Idempotency-Key'] = key;
    const answer = await fetch(path, { method, headers, body }).catch(() => { throw lost(); });
    if (answer.status === 401) {
      // Another request may have obtained a new one meanwhile.
      if (token === used) await ask(used ? 'The service no longer accepts this token.' : '');
      continue;
    }
    if (answer.status === 204) return null;
    if (!answer.ok) throw await problem(answer);
    // A connection that breaks in the middle of an answer counts as lost, too.
    return (as === 'text' ? answer.text() : as === 'blob' ? answer.blob() : read(answer, tell)).catch(error => { throw error instanceof TypeError ? lost() : error; });
  }
}

/** Shows an error over the world. It stays until what it is about is mended, until the next action, or until another world is opened. It is about a field, by its id, a drawing, a request, or about an action. */
const say = (text, about = '') => { $('say').textContent = text || ''; say.about = text ? about : ''; };
/** Ends the error about something that is mended. */
const mended = about => { if (about && say.about === about) say(); };
/** Shows a message for some seconds. */
const tell = text => {
  $('told').textContent = text;
  clearTimeout(tell.timer);
  tell.timer = setTimeout(() => { $('told').textContent = ''; }, 5000);
};
/** Ends an action silently once another world is displayed than at its start. */
const LEFT = new Error('another world is displayed');
const stay = own => { if (world !== own) throw LEFT; };
const guard = work => async (...args) => { try { say(); await work(...args); } catch (error) { if (error !== LEFT) say(error.message, error.about); } };
/** Path of a resource of a world. An action keeps the id of its world, because another one may be displayed meanwhile. */
const on = (id, path) => '/v1/worlds/' + id + path;
const post = (id, path, body = {}) => call('POST', on(id, path), JSON.stringify(body));

/** Prompts for a token, once for all requests that wait for it. */
function ask(text) {
  if (!asking) {
    asking = new Promise(resolve => { accepted = resolve; });
    token = '';
    sessionStorage.removeItem('token');
    $('wrong').textContent = text;
    panel();
    $('token').focus();
  }
  return asking;
}
$('token').addEventListener('input', () => { $('wrong').textContent = ''; });
$('ask').onsubmit = async event => {
  event.preventDefault();
  const given = $('token').value.trim();
  if (!given || $('enter').disabled) return;
  $('enter').disabled = true;
  try {
    const answer = await fetch('/v1/worlds?limit=1', { headers: { Authorization: 'Bearer ' + given } });
    if (answer.ok) {
      token = given;
      sessionStorage.setItem('token', token);
      $('token').value = $('wrong').textContent = '';
      asking = null;
      accepted();
    } else $('wrong').textContent = answer.status === 401 ? 'The service does not accept this token.' : (await problem(answer)).message;
  } catch (error) { $('wrong').textContent = error instanceof TypeError ? 'This is not a valid token, or the service does not answer.' : error.message; }
  $('enter').disabled = false;
  panel();
  if (asking) $('token').select();
};
$('forget').onclick = () => { sessionStorage.removeItem('token'); location.replace(location.pathname); };

/** Shows the panel over the view: a prompt for a token, work in progress, a failure, or an empty service. */
function panel() {
  const failed = status && status.state === 'failed';
  const shown = asking ? 'ask' : busy ? 'opening' : !world ? (known === 0 ? 'none' : 'opening') : failed || trouble ? 'failed' : drawn ? '' : 'opening';
  $('panel').hidden = !shown;
  for (const part of $('panel').children) part.hidden = part.id !== shown;
  $('forget').hidden = !token;
  if (shown === 'opening') {
    const waiting = refused < MAX_REFUSED || away ? 'Waiting for the first frame' : 'The stream of the world does not open: a proxy on the way may refuse WebSocket connections. Retrying';
    const { text, since, done } = busy || { text: waiting };
    const seconds = since === undefined ? 0 : Math.floor((performance.now() - since) / 1000);
    $('doing').textContent = `${text} …` + (seconds > 1 ? ` ${seconds} s` : '');
    if (done > 0) $('progress').value = done; else $('progress').removeAttribute('value');
  } else if (shown === 'failed') {
    $('failure').textContent = failed ? `${status.name || status.id} has failed` : 'The world cannot be shown';
    $('reason').textContent = failed ? status.problem || 'The service gives no reason.' : trouble;
    $('remedy').textContent = failed ? 'Its files are unchanged, and the operator may restore them from a backup. Delete the world if it is not needed. Other worlds are not affected.' : '';
    $('again').hidden = Boolean(failed);
  } else if (shown === 'none') {
    const header = token ? " -H 'Authorization: Bearer TOKEN'" : '';
    show_choices();
    $('curl').textContent = `curl${header} -H 'Content-Type: application/json' -d '{"scene":"large_pyramid:base=20"}' ${location.origin}/v1/worlds`;
  }
}
setInterval(() => { if (busy || !drawn) panel(); }, 500);

/** Reads the list of worlds, newest first. A list requested while another world was displayed does not affect this one. */
async function list() {
  const worlds = [], before = world, turn = ++asked;
  for (let after = ''; after !== undefined;) {
    const part = await call('GET', '/v1/worlds?limit=1000' + (after && '&after=' + encodeURIComponent(after)));
    worlds.push(...part.worlds);
    after = part.next;
  }
  worlds.reverse();
  if (world !== before || turn < applied) return worlds;
  applied = turn;
  known = worlds.length;
  show(worlds);
  status = worlds.find(w => w.id === world) || null;
  buttons();
  if (status && drawn && jointed !== population()) loadJoints().then(() => mended('joints'), error => say(error.message, 'joints'));
  // Another client may have changed a body.
  if (status && drawn && altered !== status.alterations) { altered = status.alterations; load_again(); }
  if (world && !status) {
    const was_deleted = world !== deleting;
    close();
    if (was_deleted) tell('the displayed world was deleted by another client');
  }
  if (!world && !busy && worlds.length) open_world((worlds.find(w => w.state !== 'failed') || worlds[0]).id);
  panel();
  return worlds;
}

/** Rows of the list, by world. They are kept, so that a press that begins on one ends on it. */
const items = new Map();
function make_item(id) {
  const row = document.createElement('li'), button = document.createElement('button');
  const [image, name, facts, fault] = ['img', 'span', 'small', 'small'].map(kind => document.createElement(kind));
  image.alt = ''; fault.className = 'bad';
  button.dataset.id = id;
  button.onclick = guard(() => open_world(id));
  button.append(name, facts);
  row.append(button);
  return { row, button, image, name, facts, fault };
}
const write = (element, text) => { if (element.textContent !== text) element.textContent = text; };

/** Shows the list. */
function show(worlds) {
  const there = new Set(worlds.map(w => w.id));
  for (const map of [items, thumbnails]) for (const id of map.keys()) if (!there.has(id)) map.delete(id);
  let current = null;
  const rows = worlds.map(w => {
    if (!items.has(w.id)) items.set(w.id, make_item(w.id));
    const { row, button, image, name, facts, fault } = items.get(w.id), picture = thumbnails.get(w.id);
    write(name, w.name || w.id);
    write(facts, `${unwatched(w) ? 'paused: no viewers' : w.state}, ${w.bodies.toLocaleString()} ${w.bodies === 1 ? 'body' : 'bodies'}, step ${w.step}`);
    write(fault, w.problem || '');
    if (w.problem && !fault.isConnected) button.append(fault); else if (!w.problem) fault.remove();
    if (picture && image.src !== picture) { image.src = picture; button.prepend(image); }
    button.setAttribute('aria-current', w.id === world);
    if (w.id === world) current = row;
    return row;
  });
  const shown = $('worlds').children;
  if (rows.length !== shown.length || rows.some((row, i) => row !== shown[i])) {
    const focused = document.activeElement;
    $('worlds').replaceChildren(...rows);
    if (focused && focused.dataset.id && focused.isConnected) focused.focus({ preventScroll: true });
  }
  // The displayed world is in sight when it is opened.
  if (current && show.current !== world) {
    show.current = world;
    const list = $('worlds'), [top, height] = [current.offsetTop - list.offsetTop, current.offsetHeight];
    list.scrollTop = Math.max(top + height - list.clientHeight, Math.min(top, list.scrollTop));
  }
}

/** Enables the buttons that can work. */
function buttons() {
  const works = Boolean(status) && status.state !== 'failed' && !away, playing = Boolean(status) && status.state === 'playing';
  for (const button of [...['play', 'step', 'back', 'gravity', 'gravity-open', 'gravity-menu', 'restart', 'fit', 'measure', 'picture', 'keep', 'kept-menu', 'save-scene', 'run-here', 'build', 'graph'].map($), ...document.querySelectorAll('[data-tool]')]) button.disabled = !works;
  $('remove').disabled = !status || away;
  $('undo').disabled = !works || !undos.some(u => u.world === world);
  $('redo').disabled = !works || !redos.some(r => r.world === world);
  $('play').textContent = playing ? 'Pause' : 'Play';
  $('title').textContent = status ? status.name || status.id : '';
  document.title = status ? `${status.name || status.id} – Drystone` : 'Drystone';
}

/** Closes the displayed world. */
function close() {
  letGo();
  select(null);
  select_joint(null);
  end_draft();
  // What was said was about this world.
  say();
  undos.forEach(forget_undo);
  redos = [];
  const old = socket;
  world = socket = status = null;
  again = false;
  bodies = new Map(); shapes = new Map(); joints = []; jointed = ''; scene_view = null; frames = []; trouble = ''; drawn = false; simulated = { step: 0, time: 0 };
  $('metrics').textContent = '';
  buttons();
  if (old) old.close();
  history.replaceState(null, '', location.pathname + location.search);
}

/** Opens a world, with a progress bar until it is drawn. */
async function open_world(id) {
  close();
  const turn = ++opening, is_on = () => world === id && turn === opening;
  world = id; camera.fitted = false; camera.follows = true; dropped = 0;
  const own = busy = { text: 'Opening', since: performance.now() };
  history.replaceState(null, '', '#' + id);
  recall_builds(id);
  panel();
  show_lists(false);
  try {
    for (await list(); is_on() && status?.state === 'starting'; await list()) {
      own.text = `Opening ${status.name || id}` + (status.step ? `, at step ${status.step}` : '');
      panel();
      await pause(300);
    }
    if (!is_on() || !status || status.state === 'failed') return;
    own.text = `Loading ${status.bodies.toLocaleString()} bodies`;
    altered = status.alterations;
    await Promise.all([load(done => { own.done = done; }), loadJoints()]);
    if (!is_on()) return;
    connect();
    if (unwatched(status) && status.step > 0) tell(`paused: no viewers; ${by_hand('Space', 'Play')} plays on`);
  } catch (error) {
    if (is_on()) trouble = error.message;
  } finally {
    if (busy === own) busy = null;
    panel();
  }
}
$('again').onclick = guard(() => open_world(world));

/** Opens the world of the address, else the newest that can be drawn, else the newest; none if the user has begun to create one. */
async function choose() {
  const own = busy, worlds = await list(), wanted = location.hash.slice(1);
  if (busy !== own || world) return;
  const first = worlds.find(w => w.id === wanted) || worlds.find(w => w.state !== 'failed') || worlds[0];
  busy = null;
  if (first) await open_world(first.id);
  panel();
}

// Another world in the address, as from a link or the history.
addEventListener('hashchange', guard(async () => {
  const wanted = location.hash.slice(1);
  if (!wanted || wanted === world) return;
  const worlds = await list();
  if (worlds.some(w => w.id === wanted)) await open_world(wanted); else say(`there is no world ${wanted}`);
}));

/** Loading of shapes in progress, with the repetition that was asked for meanwhile. */
let loading = null;
/** Loads the shapes of the bodies: again when an unknown body arrives, and after a rewind. */
function load(tell) {
  if (fetching === world && !tell) { again = true; return loading; }
  return loading = load_shapes(tell);
}
const load_again = () => { load().then(() => mended('bodies'), error => say(error.message, 'bodies')); };
async function load_shapes(tell) {
  const own = fetching = world;
  try {
    const answer = await call('GET', on(own, '/bodies'), undefined, tell);
    if (own !== world) return;
    shapes = new Map(answer.bodies.map(look));
    scene_view = answer.view || null;
  } finally { if (fetching === own) fetching = null; }
  // The answer may be older than a body that has arrived meanwhile.
  if (again && own === world) { again = false; await load_shapes(); }
}

/** Returns true if a world has paused because no client watched it. */
const unwatched = w => Boolean(w && w.unwatched && w.state === 'paused');

/** Numbers on which the joints of a world depend. */
const population = () => status ? [status.joints, status.bodies, status.alterations].join() : '';

/** Loads the joints: again when bodies or joints are added or removed, and while one may break. */
async function loadJoints() {
  const own = world;
  jointed = population();
  const answer = await call('GET', on(own, '/joints')).catch(error => { jointed = ''; throw error; });
  if (own !== world) return;
  holds = answer.joints.some(joint => joint.type === 'mouse');
  joints = answer.joints.filter(joint => !joint.broken && joint.type !== 'mouse');
  taken++;
  check_joint();
}
setInterval(() => {
  if (drawn && !away && status && status.state !== 'paused' && joints.length <= MAX_WATCHED_JOINTS && joints.some(joint => joint.breakable)) loadJoints().catch(() => {});
}, 1000);

/** Settings of the stream as last requested. */
let wanted = { rate: 60, format: 'delta' };
/** Returns settings of a stream at a rate at which a browser can draw this number of bodies; with velocities where they are shown. */
function wanted_stream() {
  const full = Boolean(layers.velocities || layers.forces || selected);
  return { rate: shapes.size > 200000 ? 5 : shapes.size > 20000 || (full && shapes.size > 5000) ? 20 : 60, format: full ? 'full' : 'delta' };
}
function want_stream() {
  const now = wanted_stream();
  if (now.rate === wanted.rate && now.format === wanted.format) return;
  wanted = now;
  send({ stream: now });
}

function connect() {
  const protocols = ['drystone.v1'];
  // Not every token is a valid protocol name.
  if (token) protocols.push('bearer-hex.' + [...new TextEncoder().encode(token)].map(byte => byte.toString(16).padStart(2, '0')).join(''));
  const { rate, format } = wanted = wanted_stream();
  const old = socket, own = socket = new WebSocket((location.protocol === 'https:' ? 'wss://' : 'ws://') + location.host + on(world, `/stream?rate=${rate}&format=${format}`), protocols);
  if (old) old.close();
  own.binaryType = 'arraybuffer';
  own.onmessage = ({ data }) => {
    if (own !== socket) return;
    if (typeof data === 'string') {
      const answer = JSON.parse(data);
      if (answer.problem) say(told(answer.problem));
    } else take(new DataView(data));
  };
  // Reconnects for as long as the world is displayed.
  own.onopen = () => { refused = 0; };
  own.onclose = () => { refused++; if (own === socket) setTimeout(() => { if (own === socket && world) connect(); }, 1000); };
}

/** Number of streams in a row that did not open, and from which on the page says so. */
let refused = 0;
const MAX_REFUSED = 4;
/** Number of the last full frame: a body that is not in it was removed. */
let census = 0;
/** Applies a frame of the stream to the bodies. */
function take(view) {
  if (view.getUint32(0, true) !== 0x46595244) return;
  const has_all = view.getUint16(6, true) & 1;
  dropped = view.getUint32(12, true);
  const before = simulated.step;
  simulated = { step: Number(view.getBigUint64(16, true)), time: view.getFloat64(24, true) };
  const full = view.getUint32(32, true), deltas = view.getUint32(36, true), gone = view.getUint32(40, true);
  // A rewound world may have other bodies with the same ids.
  let p = HEADER, unknown = simulated.step < before;
  census++;
  // Rows are aligned to four bytes; frames are little-endian, like every machine with a browser.
  for (let i = 0; i < full; i++, p += FULL) {
    const slot = view.getUint32(p, true), generation = view.getUint32(p + 4, true);
    let body = bodies.get(slot);
    // A body is one object for its whole life, so that frames create no garbage.
    if (!body || body.generation !== generation) bodies.set(slot, body = { slot, generation, x: 0, y: 0, angle: 0, vx: 0, vy: 0, spin: 0, fx: 0, fy: 0, flags: 0, since: -1, census, color: undefined, shapes: null, own: null });
    const vx = view.getFloat32(p + 20, true), vy = view.getFloat32(p + 24, true);
    // Net force: the cause of the velocity's change since the last frame with velocities.
    const seconds = simulated.time - body.since, share = body.since >= 0 && seconds > 0 && seconds < 1 && !(body.flags & 6) ? (looks(body)?.mass ?? 0) / seconds : 0;
    if (seconds !== 0) { body.fx = (vx - body.vx) * share; body.fy = (vy - body.vy) * share; }
    body.x = view.getFloat32(p + 8, true); body.y = view.getFloat32(p + 12, true); body.angle = view.getFloat32(p + 16, true);
    body.vx = vx; body.vy = vy; body.spin = view.getFloat32(p + 28, true); body.flags = view.getUint32(p + 32, true);
    body.since = simulated.time; body.census = census;
    unknown ||= !looks(body);
  }
  if (has_all && bodies.size > full) for (const body of bodies.values()) if (body.census !== census) bodies.delete(body.slot);
  const numbers = new Int16Array(view.buffer, view.byteOffset + p, deltas * DELTA / 2), words = new Uint32Array(view.buffer, view.byteOffset + p, deltas * DELTA / 4);
  const q = view.getFloat32(44, true), qa = view.getFloat32(48, true);
  for (let i = 0, word = 0, number = 2; i < deltas; i++, word += 3, number += 6) {
    const body = bodies.get(words[word]);
    if (!body) continue;
    body.x += numbers[number] * q;
    body.y += numbers[number + 1] * q;
    body.angle += numbers[number + 2] * qa;
    body.flags = numbers[number + 3];
  }
  p += deltas * DELTA;
  for (let i = 0; i < gone; i++, p += 4) bodies.delete(view.getUint32(p, true));
  if (drag) drag.body = bodies.get(drag.body.slot) || drag.body;
  taken++;
  const now = performance.now();
  while (frames.length && now - frames[0] >= 1000) frames.shift();
  frames.push(now);
  if (unknown) load_again();
  if (!camera.fitted) fit();
  if (!drawn) { drawn = true; panel(); }
}
