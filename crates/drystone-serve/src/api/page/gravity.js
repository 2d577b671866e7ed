// Gravity: a dial with an arrow that can be dragged, and keys that turn it.

/** Gravity at the rim of the dial, m/s², and its radius in the picture. */
const RIM = 16, DIAL = 28, EARTH = 9.81, TILT = Math.PI / 12;
/** Gravity that was set here and is not in the status yet, m/s², with its world. */
let wish = null;
/** True while the dial is being dragged. */
let turning = false;

const gravity = () => wish && wish.world === world ? wish.value : status ? status.gravity : [0, 0];
const said = ([x, y]) => `${Math.hypot(x, y).toFixed(2)} m/s²`;

/** Sets gravity, or that of the scene without a value. Of values set during a request only the last is sent. */
async function set_gravity(value) {
  const own = world, waits = wish && wish.world === own && wish.busy;
  wish = { world: own, value: value || wish?.value || status.gravity, asked: value, busy: true };
  if (waits) return;
  try {
    await keepStart();
    const kept = await remember_gravity(own);
    for (let last; wish?.world === own && last !== wish;) {
      last = wish;
      const commands = [{ gravity: last.asked ? { gravity: last.asked } : {} }];
      await post(own, '/commands', { commands });
      // Made again, the last value counts.
      if (kept) { kept.commands = [commands]; kept.gravity = performance.now(); }
      // A value that is set while the list is read is sent too.
      if (last === wish) await list();
    }
    if (world === own) tell(`gravity ${said(status.gravity)}`);
  } finally { if (wish?.world === own) wish = null; }
}
/** Milliseconds between two changes of gravity up to which they are undone together. */
const ONE_CHANGE = 1500;
/** Saves the state before a change of gravity, unless it continues the last one. */
async function remember_gravity(own) {
  await working;
  const last = undos.at(-1);
  if (last?.world === own && last.gravity && performance.now() - last.gravity < ONE_CHANGE) return last;
  const kept = await remember(own, 'gravity changed');
  redos = redos.filter(undone => undone.world !== own);
  Object.assign(kept, { gravity: performance.now(), builds: builds_of(own), commands: [], results: [] });
  buttons();
  return kept;
}
const tilt = by => guard(async () => {
  const [x, y] = gravity(), c = Math.cos(by), s = Math.sin(by);
  await set_gravity([x * c - y * s, x * s + y * c]);
});
const scene_gravity = guard(() => set_gravity(null));

/** Returns the gravity at a position on the dial. It snaps to zero close to the middle, to the Earth's value, and to the axes. */
function gravity_at({ clientX, clientY }) {
  const box = $('gravity').getBoundingClientRect(), by = RIM / DIAL * 64 / box.width;
  const x = (clientX - box.x - box.width / 2) * by, y = -(clientY - box.y - box.height / 2) * by;
  let size = Math.hypot(x, y);
  if (size < 1.5) return [0, 0];
  const quarter = Math.PI / 2, angle = Math.atan2(y, x), straight = Math.round(angle / quarter), to = size => {
    if (Math.abs(angle - straight * quarter) > 0.08) return [size * Math.cos(angle), size * Math.sin(angle)];
    // Exact, without the rounding error of a cosine near zero.
    return [[size, 0], [0, size], [-size, 0], [0, -size]][(straight + 4) % 4];
  };
  if (Math.abs(size - EARTH) < 1) size = EARTH;
  return to(Math.min(size, RIM)).map(value => Number(value.toFixed(3)));
}
const drag_gravity = guard(event => set_gravity(gravity_at(event)));
$('gravity').onpointerdown = event => {
  if (event.button !== 0) return;
  $('gravity').setPointerCapture(event.pointerId);
  turning = true;
  drag_gravity(event);
};
$('gravity').onpointermove = event => { if (turning) drag_gravity(event); };
$('gravity').onpointerup = $('gravity').onpointercancel = () => { turning = false; };

// Numbers beside the dial: the size, with which the direction stays, or both components.

/** Returns the number in a field of gravity. */
function gravity_in(field) {
  if (field.value.trim() === '' || !field.checkValidity()) {
    const wrong = field.value || 'nothing';
    dial.key = '';
    throw Object.assign(new Error(`gravity: ${wrong} is not valid; ${field.validationMessage || 'a number is required'}`), { about: field.id });
  }
  return Number(field.value);
}
$('gravity-size').onchange = guard(async () => {
  const size = gravity_in($('gravity-size')), [x, y] = gravity(), before = Math.hypot(x, y);
  await set_gravity(before > 0 ? [x / before * size, y / before * size] : [0, -size]);
});
for (const axis of ['x', 'y']) $(`gravity-${axis}`).onchange = guard(async () => {
  const value = gravity_in($(`gravity-${axis}`)), [x, y] = gravity();
  await set_gravity(axis === 'x' ? [value, y] : [x, value]);
});
function show_gravity(shown) {
  if (!shown) for (const name of ['size', 'x', 'y']) mended(`gravity-${name}`);
  $('gravity-numbers').hidden = !shown;
  $('gravity-open').setAttribute('aria-expanded', shown);
  if (shown) { $('gravity-size').focus({ preventScroll: true }); $('gravity-size').select(); } else $('canvas').focus({ preventScroll: true });
}
$('gravity-open').onclick = () => show_gravity($('gravity-numbers').hidden);
$('gravity-menu').onclick = () => show_gravity(true);
$('gravity-close').onclick = () => show_gravity(false);
$('gravity-numbers').onsubmit = event => event.preventDefault();
// Enter sets a number, and leaves the field; Esc closes the numbers.
$('gravity-numbers').addEventListener('keydown', event => {
  if (event.key === 'Enter' && event.target.type === 'number') { event.preventDefault(); $('canvas').focus({ preventScroll: true }); }
  if (event.key === 'Escape') { event.stopPropagation(); show_gravity(false); }
});

/** Draws the arrow. */
function dial() {
  const [x, y] = gravity(), size = Math.hypot(x, y), key = [world, x, y, Boolean(status)].join();
  if (key === dial.key) return;
  dial.key = key;
  const length = DIAL * Math.min(1, size / RIM), turn = Math.atan2(-y, x) * 180 / Math.PI;
  $('arrow').setAttribute('transform', `rotate(${turn})`);
  $('arrow').setAttribute('d', length > 1 ? `M0 0H${length}M${length} 0l-6 -4M${length} 0l-6 4` : '');
  const text = size > 0 ? said([x, y]) : 'none';
  for (const [name, value] of [['size', size], ['x', x], ['y', y]]) {
    const field = $(`gravity-${name}`);
    if (document.activeElement !== field) field.value = status ? Number(value.toPrecision(5)) : '';
  }
  write($('gravity-open'), status ? said([x, y]) : '');
  $('gravity').title = `Gravity: ${text}. Drag the arrow; [ and ] turn it, \\ restores that of the scene.`;
  $('gravity').setAttribute('aria-label', `Gravity ${text}`);
}
