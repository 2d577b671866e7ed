// Graphs over simulated time: energies of the world and motion of the selected body; also as tables.

/** Number of rows that are kept: ten minutes at 60 steps a second. Beyond it the oldest are dropped. */
const MAX_SAMPLES = 36000;
/** Milliseconds between two requests for rows, those of a paused world in which nothing changes, and between two paintings. */
const SERIES_EVERY = 100, PAUSED_EVERY = 2000, PAINT_EVERY = 100;
/** Steps before the present of which rows are requested first: another client may have had them recorded. */
const RECALLED = 600;
/** Column of the step in all rows. */
const STEP = 1;
const X = '#4c78a8', Y = '#f58518', THIRD = '#54a24b', ALL = '';
/** Graphs: unit, and lines by name with their columns and colours. The colour '' is that of text. With `zero`, the lines of some columns are drawn as they have changed since the first row, by what that column was then. */
const GRAPHS = [
  { of: 'energies', title: 'Energy', unit: 'J', zero: { of: 3, name: 'potential', columns: [3, 5] }, meaning: 'Energies of all dynamic bodies and of springs. Potential energy, whose zero is arbitrary, and with it the total are drawn as they have changed since the first step of the graph; the total is constant where nothing rubs, bounces, drives or damps', lines: [['kinetic', 2, X], ['potential', 3, Y], ['elastic', 4, THIRD], ['total', 5, ALL]] },
  { of: 'body', title: 'Position', unit: 'm', meaning: 'Position of the origin of the selected body', lines: [['x', 2, X], ['y', 3, Y]] },
  { of: 'body', title: 'Velocity', unit: 'm/s', meaning: 'Velocity of the selected body, and its size', lines: [['x', 5, X], ['y', 6, Y], ['speed', 12, ALL]] },
  { of: 'body', title: 'Acceleration', unit: 'm/s²', meaning: 'Change of its velocity from step to step', lines: [['x', 8, X], ['y', 9, Y]] },
  { of: 'body', title: 'Net force', unit: 'N', meaning: 'Mass times acceleration', lines: [['x', 10, X], ['y', 11, Y]] },
  { of: 'body', title: 'Spin', unit: 'rad/s', meaning: 'Angular velocity, counter-clockwise', lines: [['spin', 7, X]] },
];
/** Names of columns, as those of `drystone run --csv`. */
const COLUMNS = {
  energies: ['step', 'time_s', 'kinetic_energy_J', 'potential_energy_J', 'elastic_energy_J', 'total_energy_J'],
  body: ['step', 'time_s', 'x_m', 'y_m', 'angle_rad', 'vx_m_per_s', 'vy_m_per_s', 'spin_rad_per_s', 'ax_m_per_s2', 'ay_m_per_s2', 'net_force_x_N', 'net_force_y_N', 'speed_m_per_s'],
};
/** Rows of samples, one a step; and whether earlier ones were dropped. */
let samples = { energies: [], body: [] }, dropped_rows = {}, sampled_body = '', sampled_world = null, graphs_shown = false, graphs_changed = false, fetching_series = false;

function forget_samples() {
  if (sampled_world === world) return;
  samples = { energies: [], body: [] }; dropped_rows = {};
  sampled_world = world;
  graphs_changed = true;
}
/** Starts the graphs of another body. */
function graph_selection() {
  const id = selected ? selected.id : '';
  if (id === sampled_body) return;
  samples.body = []; dropped_rows.body = false;
  sampled_body = id;
  graphs_changed = true;
}

/** Simulated time at a step: a fraction, if the length of a step is one. */
let seconds_at = step => step;
function take_step_length(dt) {
  const rate = Math.round(1 / dt);
  // As f32, 1/60 s is not exactly that.
  seconds_at = Math.abs(rate * dt - 1) < 1e-6 ? step => step / rate : step => step * dt;
}
/** Requests the rows since the last ones. The service records one in each step, while it is asked for them. None during a change: it may remove the body. */
async function fetch_series() {
  if (!graphs_shown || fetching_series || making || !drawn || away || !status || status.state === 'failed') return;
  forget_samples();
  const now = performance.now(), is_new = taken !== fetch_series.taken || sampled_body !== fetch_series.body;
  // A paused world is asked seldom: the recording ends unless the page asks for it.
  if (status.state === 'paused' && !is_new && now - (fetch_series.since || 0) < PAUSED_EVERY) return;
  const own = world, body = selected_body() && selected.id === sampled_body ? sampled_body : '';
  const last = rows => rows.length ? rows.at(-1)[STEP] : Math.max(0, simulated.step - RECALLED), [energies, motion] = [last(samples.energies), last(samples.body)];
  Object.assign(fetch_series, { since: now, taken, body: sampled_body });
  fetching_series = true;
  try {
    const answer = await call('GET', on(own, `/series?from=${Math.min(simulated.step, energies, body ? motion : energies)}` + (body && `&body=${body}`)));
    if (own !== world) return;
    take_step_length(answer.dt);
    take_rows('energies', answer.step, answer.energies.map(row => [seconds_at(row.step), row.step, row.kinetic, row.potential, row.elastic, row.kinetic + row.potential + row.elastic]));
    if (answer.body && answer.body.id === sampled_body) take_rows('body', answer.step, motion_rows(answer.body.rows));
  } catch { /* The list shows the problem. */ } finally { fetching_series = false; }
}
setInterval(fetch_series, SERIES_EVERY);

/** Adds rows. Those of the same steps are replaced, and later ones dropped, which a rewind has discarded. */
function take_rows(of, step, added) {
  const rows = samples[of], first = added.length ? added[0][STEP] : Infinity;
  const before = rows.length;
  while (rows.length && (rows.at(-1)[STEP] >= first || rows.at(-1)[STEP] > step)) rows.pop();
  if (rows.length === before && !added.length) return;
  for (const row of added) rows.push(row);
  if (rows.length > MAX_SAMPLES + MAX_SAMPLES / 10) { rows.splice(0, rows.length - MAX_SAMPLES); dropped_rows[of] = true; }
  graphs_changed = true;
}
/** Returns rows of the motion of the selected body. */
function motion_rows(rows) {
  const own = looks(selected_body() || {}), mass = own && isDynamic(selected_body()) ? own.mass : 0;
  const before = rows.length && samples.body.findLast(row => row[STEP] === rows[0].step - 1);
  let last = before ? { step: before[STEP], velocity: [before[5], before[6]] } : null;
  return rows.map(row => {
    const { step, position: [x, y], angle, velocity: [vx, vy], angular_velocity: spin } = row;
    // A change of velocity is unknown in the first row, and after missing ones.
    const by = last && last.step === step - 1 ? 1 / (seconds_at(step) - seconds_at(step - 1)) : NaN, ax = by * (vx - last?.velocity[0]), ay = by * (vy - last?.velocity[1]);
    last = row;
    return [seconds_at(step), step, x, y, angle, vx, vy, spin, ax, ay, mass * ax, mass * ay, Math.hypot(vx, vy)];
  });
}

function show_graphs(shown) {
  graphs_shown = shown;
  $('graphs').hidden = !shown;
  $('graph').setAttribute('aria-pressed', shown);
  graphs_changed = true;
  fold_card(shown);
  want_stream();
  if (shown) fetch_series();
}

// The pictures.

const figures = GRAPHS.map(graph => {
  const figure = document.createElement('figure'), caption = document.createElement('figcaption'), canvas = document.createElement('canvas');
  const title = document.createTextNode(`${graph.title}, ${graph.unit}`);
  caption.append(title);
  figure.title = graph.meaning;
  for (const [name, , color] of graph.lines) {
    const key = document.createElement('span');
    key.textContent = name; key.style.setProperty('--line-color', color || 'var(--ink)');
    caption.append(' ', key);
  }
  canvas.setAttribute('role', 'img');
  figure.append(caption, canvas);
  $('figures').append(figure);
  return { ...graph, figure, canvas, caption: title };
});
/** Returns round numbers from `low` to `high`, about as many as wanted. */
function ticks(low, high, wanted) {
  const rough = (high - low) / wanted, power = 10 ** Math.floor(Math.log10(rough)), every = power * [1, 2, 5, 10].find(n => n * power >= rough * 0.999), found = [];
  for (let i = Math.ceil(low / every - 1e-9); i * every <= high + 1e-9 * every; i++) found.push(i * every);
  return { found, text: value => Math.abs(value) >= 1e5 || (every < 1e-4 && value) ? value.toExponential(1) : value.toFixed(Math.max(0, Math.min(6, -Math.floor(Math.log10(every) + 1e-9)))) };
}
/** Traces a line. It has a gap where steps are missing. Of several rows in a column of pixels the lowest and the highest are drawn. */
function trace_line(c, rows, column, x, y) {
  let before = NaN, at = NaN, low = 0, high = 0, end = 0;
  const finish = () => { if (low !== high) { c.lineTo(at, y(low)); c.lineTo(at, y(high)); c.lineTo(at, y(end)); } };
  for (const row of rows) {
    const value = row[column], place = Math.round(2 * x(row[0])) / 2;
    if (!isFinite(value)) { before = NaN; continue; }
    const is_next = row[STEP] === before + 1;
    before = row[STEP];
    if (is_next && place === at) { low = Math.min(low, value); high = Math.max(high, value); end = value; continue; }
    finish();
    if (is_next) c.lineTo(place, y(value)); else c.moveTo(place, y(value));
    at = place; low = high = end = value;
  }
  finish();
}
/** Returns what is taken off the values of a column: of energies the potential energy at the start of the graph. */
const start_of = (rows, zero, column) => zero && zero.columns.includes(column) ? rows[0][zero.of] : 0;
function paint_graph({ of, title, unit, lines, canvas, caption, zero }, ink, soft, ratio) {
  const rows = samples[of], { clientWidth: width, clientHeight: height } = canvas, c = canvas.getContext('2d');
  if (!width || !height) return;
  const name = zero && rows.length ? `${title}, ${zero.name} since step ${rows[0][STEP]}` : title;
  if (caption.data !== `${name}, ${unit}`) caption.data = `${name}, ${unit}`;
  canvas.width = Math.round(width * ratio); canvas.height = Math.round(height * ratio);
  c.setTransform(ratio, 0, 0, ratio, 0, 0);
  c.font = '10px system-ui, sans-serif'; c.fillStyle = ink; c.lineWidth = 1;
  let low = Infinity, high = -Infinity;
  for (const [, column] of lines) {
    const start = rows.length ? start_of(rows, zero, column) : 0;
    for (const row of rows) if (isFinite(row[column])) { low = Math.min(low, row[column] - start); high = Math.max(high, row[column] - start); }
  }
  if (rows.length < 2 || low > high) {
    c.fillText(of === 'body' && !selected ? by_hand('Click a body.', 'Tap a body.') : 'Run the world.', 8, height / 2);
    canvas.setAttribute('aria-label', `${name}: no data yet`);
    return;
  }
  // A nearly constant line is not magnified.
  const most = Math.max(Math.abs(low), Math.abs(high));
  if (high - low < Math.max(1e-3 * most, 1e-6)) { const least = most < 1e-6 ? 1 : 0.1 * most; low -= least; high += least; }
  const [left, right, top, bottom] = [46, 8, 6, 18], from = rows[0][0], to = rows.at(-1)[0], few = ticks(low, high, 4), down = few.found.length < 3 ? ticks(low, high, 8) : few, along = ticks(from, to, 4);
  const x = time => left + (time - from) / (to - from) * (width - left - right), y = value => height - bottom - (value - low) / (high - low) * (height - top - bottom);
  c.strokeStyle = soft;
  c.beginPath();
  c.textAlign = 'right'; c.textBaseline = 'middle';
  for (const value of down.found) { c.moveTo(left, y(value)); c.lineTo(width - right, y(value)); c.fillText(down.text(value), left - 4, y(value)); }
  c.textAlign = 'center'; c.textBaseline = 'alphabetic';
  for (const time of along.found) { c.moveTo(x(time), height - bottom); c.lineTo(x(time), height - bottom + 3); c.fillText(`${along.text(time)} s`, Math.min(width - 14, x(time)), height - 4); }
  c.stroke();
  c.lineWidth = 1.5; c.lineJoin = 'round';
  for (const [, column, color] of lines) {
    c.strokeStyle = color || ink;
    c.beginPath();
    const start = start_of(rows, zero, column);
    trace_line(c, rows, column, x, value => y(value - start));
    c.stroke();
  }
  const last = rows.at(-1);
  canvas.setAttribute('aria-label', `${name} at ${last[0].toFixed(2)} s: ` + lines.map(([line, column]) => `${line} ${isFinite(last[column]) ? Number((last[column] - start_of(rows, zero, column)).toPrecision(4)) : 'unknown'} ${unit}`).join(', '));
}
function paint_graphs(now) {
  if (!graphs_shown || now - (paint_graphs.since || 0) < PAINT_EVERY) return;
  const { color, colorScheme } = getComputedStyle($('graphs')), soft = getComputedStyle($('canvas')).color, ratio = devicePixelRatio || 1, key = [color, soft, colorScheme, $('figures').clientWidth, ratio].join();
  if (!graphs_changed && key === paint_graphs.key) return;
  Object.assign(paint_graphs, { since: now, key });
  graphs_changed = false;
  forget_samples();
  write($('graphs-of'), selected ? `World, and ${body_name(selected.id)}` : by_hand('World; click a body for its motion', 'Tap a body for its motion'));
  for (const one of figures) paint_graph(one, color, soft, ratio);
  $('csv-body').disabled = samples.body.length === 0;
  $('csv-energies').disabled = samples.energies.length === 0;
}

// Tables.

/** Returns the shortest text of a number that is the same in the service, which computes with 32 bits. */
function number_of(value) {
  if (!isFinite(value)) return '';
  for (let digits = 1; digits < 9; digits++) { const text = Number(value.toPrecision(digits)); if (Math.fround(text) === Math.fround(value)) return String(text); }
  return String(Number(value.toPrecision(9)));
}
/** Returns the reasons why a table is not of all steps. */
function notes_of(of) {
  const rows = samples[of], notes = [], first = rows[0][STEP], gaps = [];
  if (first > 0) notes.push(dropped_rows[of] ? `begins at step ${first}: the page keeps the last ${MAX_SAMPLES} steps` : `begins at step ${first}: rows are recorded while the graphs are shown${of === 'body' ? ', of the selected body' : ''}`);
  rows.forEach((row, i) => { if (i && row[STEP] !== rows[i - 1][STEP] + 1) gaps.push([rows[i - 1][STEP] + 1, row[STEP] - 1]); });
  if (gaps.length) notes.push(`not recorded: steps ${gaps.map(([from, to]) => from === to ? from : `${from} to ${to}`).join(', ')}`);
  return notes;
}
const table = of => [...notes_of(of).map(note => `# ${note}`), COLUMNS[of].join(','),
  ...samples[of].map(([time, step, ...values]) => [step, time, ...values.map(number_of)].join(','))].join('\n') + '\n';
const file_name = () => `${(status.name || status.id).replace(/[^\w-]+/g, '_')}-step-${simulated.step}`;
/** Offers a text or a blob to the user as a file. */
function save_file(name, type, content) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type })); link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  tell(`saved ${name}`);
}
$('csv-energies').onclick = () => save_file(`${file_name()}-energies.csv`, 'text/csv', table('energies'));
$('csv-body').onclick = () => save_file(`${file_name()}-body-${short_id(sampled_body)}.csv`, 'text/csv', table('body'));
$('graphs-close').onclick = () => show_graphs(false);
$('graph').onclick = () => show_graphs(!graphs_shown);
