// Graphs over simulated time: energies of the world and motion of the selected body; also as tables.

/** Largest number of samples of a graph: beyond it every other one is dropped. */
const MAX_SAMPLES = 4000;
/** Minimum milliseconds between two requests for the energies, and between two paintings. */
const ENERGY_EVERY = 40, PAINT_EVERY = 100;
const X = '#4c78a8', Y = '#f58518', THIRD = '#54a24b', ALL = '';
/** Graphs: unit, and lines by name with their columns and colours. The colour '' is that of text. */
const GRAPHS = [
  { of: 'energies', title: 'Energy', unit: 'J', meaning: 'Energies of all dynamic bodies; the total is constant where nothing rubs, bounces, drives or damps', lines: [['kinetic', 1, X], ['potential', 2, Y], ['elastic', 3, THIRD], ['total', 4, ALL]] },
  { of: 'body', title: 'Position', unit: 'm', meaning: 'Position of the origin of the selected body', lines: [['x', 1, X], ['y', 2, Y]] },
  { of: 'body', title: 'Velocity', unit: 'm/s', meaning: 'Velocity of the selected body, and its size', lines: [['x', 4, X], ['y', 5, Y], ['speed', 12, ALL]] },
  { of: 'body', title: 'Acceleration', unit: 'm/s²', meaning: 'Change of its velocity from frame to frame', lines: [['x', 7, X], ['y', 8, Y]] },
  { of: 'body', title: 'Net force', unit: 'N', meaning: 'Mass times acceleration', lines: [['x', 9, X], ['y', 10, Y]] },
  { of: 'body', title: 'Spin', unit: 'rad/s', meaning: 'Angular velocity, counter-clockwise', lines: [['spin', 6, X]] },
];
const COLUMNS = {
  energies: ['time_s', 'kinetic_J', 'potential_J', 'elastic_J', 'total_J', 'step'],
  body: ['time_s', 'x_m', 'y_m', 'angle_rad', 'vx_m_per_s', 'vy_m_per_s', 'spin_rad_per_s', 'ax_m_per_s2', 'ay_m_per_s2', 'net_force_x_N', 'net_force_y_N', 'step', 'speed_m_per_s'],
};
/** Rows of samples; the first column is the time. */
let samples = { energies: [], body: [] }, sampled_body = '', sampled_world = null, graphs_shown = false, graphs_changed = false, measuring = false;

/** Adds a row, and drops later rows, which were discarded by a rewind. */
function add_sample(of, row) {
  const rows = samples[of];
  while (rows.length && rows.at(-1)[0] >= row[0] - 1e-9) rows.pop();
  rows.push(row);
  if (rows.length > MAX_SAMPLES) samples[of] = rows.filter((_, i) => i % 2 === 0);
  graphs_changed = true;
}
function forget_samples() {
  if (sampled_world === world) return;
  samples = { energies: [], body: [] };
  sampled_world = world;
  graphs_changed = true;
}
/** Starts the graphs of another body. If it replaces `before`, the graphs continue. */
function graph_selection(before = '') {
  const id = selected ? selected.id : '';
  if (id === sampled_body) return;
  if (!before || before !== sampled_body) samples.body = [];
  sampled_body = id;
  graphs_changed = true;
}

/** Samples the motion of the selected body from a frame with velocities. */
function sample_body() {
  const body = graphs_shown && selected_body();
  if (!body) return;
  forget_samples();
  const last = samples.body.at(-1), { time, step } = simulated, own = looks(body);
  if (last && last[11] === step) return;
  const by = last && time > last[0] && step - last[11] <= 30 ? 1 / (time - last[0]) : 0, mass = own && isDynamic(body) ? own.mass : 0;
  // Unknown in the first row: a change needs two.
  const ax = by ? (body.vx - last[4]) * by : NaN, ay = by ? (body.vy - last[5]) * by : NaN;
  add_sample('body', [time, body.x, body.y, body.angle, body.vx, body.vy, body.spin, ax, ay, mass * ax, mass * ay, step, Math.hypot(body.vx, body.vy)]);
}
/** Requests the energies, at most as often as the service answers easily. */
async function sample_energies() {
  if (!graphs_shown || measuring || !drawn || away || !status || status.state === 'failed') return;
  forget_samples();
  const own = world;
  if (samples.energies.at(-1)?.[5] === simulated.step) return;
  measuring = true;
  const begun = performance.now();
  try {
    const { metrics: m, time, step } = await call('GET', on(own, '/metrics'));
    if (own === world) add_sample('energies', [time, m.kinetic_energy, m.potential_energy, m.elastic_energy, m.total_energy, step]);
  } catch { /* The list shows the problem. */ } finally { setTimeout(() => { measuring = false; }, 3 * (performance.now() - begun)); }
}
setInterval(sample_energies, ENERGY_EVERY);

function show_graphs(shown) {
  graphs_shown = shown;
  $('graphs').hidden = !shown;
  $('graph').setAttribute('aria-pressed', shown);
  graphs_changed = true;
  want_stream();
  if (shown) sample_energies();
}

// The pictures.

const figures = GRAPHS.map(graph => {
  const figure = document.createElement('figure'), caption = document.createElement('figcaption'), canvas = document.createElement('canvas');
  caption.append(`${graph.title}, ${graph.unit}`);
  figure.title = graph.meaning;
  for (const [name, , color] of graph.lines) {
    const key = document.createElement('span');
    key.textContent = name; key.style.setProperty('--line-color', color || 'var(--ink)');
    caption.append(' ', key);
  }
  canvas.setAttribute('role', 'img');
  figure.append(caption, canvas);
  $('figures').append(figure);
  return { ...graph, figure, canvas };
});
/** Returns round numbers from `low` to `high`, about as many as wanted. */
function ticks(low, high, wanted) {
  const rough = (high - low) / wanted, power = 10 ** Math.floor(Math.log10(rough)), every = power * [1, 2, 5, 10].find(n => n * power >= rough * 0.999), found = [];
  for (let i = Math.ceil(low / every - 1e-9); i * every <= high + 1e-9 * every; i++) found.push(i * every);
  return { found, text: value => Math.abs(value) >= 1e5 || (every < 1e-4 && value) ? value.toExponential(1) : value.toFixed(Math.max(0, Math.min(6, -Math.floor(Math.log10(every) + 1e-9)))) };
}
function paint_graph({ of, title, unit, lines, canvas }, ink, soft, ratio) {
  const rows = samples[of], { clientWidth: width, clientHeight: height } = canvas, c = canvas.getContext('2d');
  if (!width || !height) return;
  canvas.width = Math.round(width * ratio); canvas.height = Math.round(height * ratio);
  c.setTransform(ratio, 0, 0, ratio, 0, 0);
  c.font = '10px system-ui, sans-serif'; c.fillStyle = ink; c.lineWidth = 1;
  let low = Infinity, high = -Infinity;
  for (const row of rows) for (const [, column] of lines) if (isFinite(row[column])) { low = Math.min(low, row[column]); high = Math.max(high, row[column]); }
  if (rows.length < 2 || low > high) {
    c.fillText(of === 'body' && !selected ? 'Click a body.' : 'Run the world.', 8, height / 2);
    canvas.setAttribute('aria-label', `${title}: no data yet`);
    return;
  }
  // A nearly constant line is not magnified.
  const least = Math.max(1e-3 * Math.max(Math.abs(low), Math.abs(high)), 1e-6);
  if (high - low < least) { low -= least; high += least; }
  const [left, right, top, bottom] = [46, 8, 6, 18], from = rows[0][0], to = rows.at(-1)[0], down = ticks(low, high, 4), along = ticks(from, to, 4);
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
    for (const row of rows) if (isFinite(row[column])) c.lineTo(x(row[0]), y(row[column]));
    c.stroke();
  }
  const last = rows.at(-1);
  canvas.setAttribute('aria-label', `${title} at ${last[0].toFixed(2)} s: ` + lines.map(([name, column]) => `${name} ${isFinite(last[column]) ? Number(last[column].toPrecision(4)) : 'unknown'} ${unit}`).join(', '));
}
function paint_graphs(now) {
  if (!graphs_shown || now - (paint_graphs.since || 0) < PAINT_EVERY) return;
  const { color, colorScheme } = getComputedStyle($('graphs')), soft = getComputedStyle($('canvas')).color, ratio = devicePixelRatio || 1, key = [color, soft, colorScheme, $('figures').clientWidth, ratio].join();
  if (!graphs_changed && key === paint_graphs.key) return;
  Object.assign(paint_graphs, { since: now, key });
  graphs_changed = false;
  forget_samples();
  write($('graphs-of'), selected ? `World, and body ${selected.id}` : 'World; click a body for its motion');
  for (const one of figures) paint_graph(one, color, soft, ratio);
  $('csv-body').disabled = samples.body.length === 0;
  $('csv-energies').disabled = samples.energies.length === 0;
}

// Tables.

const table = of => [COLUMNS[of].join(','), ...samples[of].map(row => row.map(value => Number.isNaN(value) ? '' : value).join(','))].join('\n') + '\n';
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
$('csv-body').onclick = () => save_file(`${file_name()}-body-${sampled_body}.csv`, 'text/csv', table('body'));
$('graphs-close').onclick = () => show_graphs(false);
$('graph').onclick = () => show_graphs(!graphs_shown);
