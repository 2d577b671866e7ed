// The built-in scenes: the form with sliders for their parameters, and the gallery, which shows them in groups with
// pictures.

/** Scenes and groups of the service. */
let catalogue = { groups: [], scenes: [] };
const is_dark = () => {
  const now = getComputedStyle(document.documentElement).colorScheme;
  return now === 'dark' || (now !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches);
};

// Pictures: requested when they are shown. The token is in a header, so they are no links.

/** Pictures that have been requested, by name and colours. */
const pictures = new Map();
/** Returns the picture of a scene as a data URL. */
function picture_of(name, dark) {
  const key = `${name} ${dark}`;
  if (!pictures.has(key)) {
    const wanted = call('GET', `/v1/scenes/${name}/picture?dark=${dark}`, undefined, undefined, 'blob').then(blob => new Promise((resolve, reject) => {
      const reader = new FileReader();
      reader.onload = () => resolve(reader.result);
      reader.onerror = () => reject(reader.error);
      reader.readAsDataURL(blob);
    }));
    pictures.set(key, wanted);
    // It is requested again the next time.
    wanted.catch(() => pictures.delete(key));
  }
  return pictures.get(key);
}
/** Shows the picture of a scene in an image, unless the image is for another one by then. */
async function fill_picture(image, name, dark = is_dark()) {
  const key = `${name} ${dark}`;
  if (image.dataset.key === key) return;
  image.dataset.key = key;
  try {
    const url = await picture_of(name, dark);
    if (image.dataset.key === key) { image.src = url; image.hidden = false; }
  } catch { if (image.dataset.key === key) image.dataset.key = ''; }
}
/** Fills all images in view that are empty or of other colours; those of the gallery a few at a time. */
function show_pictures() {
  if (chosen()) fill_picture($('scene-picture'), chosen().name);
  if (!$('none').hidden) show_choices();
  if ($('gallery').open) fill_gallery();
}
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', show_pictures);

// The form.

const chosen = () => catalogue.scenes.find(scene => scene.name === $('catalogue').value);
const short = value => String(Number(value.toPrecision(7)));
/** Returns the unit of a parameter with a space before it: it ends the first clause of the meaning. Counts, ratios and switches have none. */
const unit_of = ({ meaning }) => { const unit = meaning.split(';')[0].match(/, ([^ ]+)$/); return unit ? ' ' + unit[1] : ''; };
/** Takes the list of the service. */
function take_scenes(answer) {
  catalogue = answer;
  const first = answer.scenes[0]?.name;
  $('catalogue').replaceChildren(...answer.groups.map(group => {
    const part = document.createElement('optgroup');
    part.label = group;
    for (const { name, summary } of of_group(group)) { const option = new Option(name, name); option.title = summary; part.append(option); }
    return part;
  }));
  $('catalogue').value = first;
  $('catalogue').onchange = () => { $('parameters').value = ''; describe(); outrank_text(); };
  describe();
  make_gallery();
}
const of_group = group => catalogue.scenes.filter(scene => scene.group === group);

/** Gravity of scenes that do not mention it, m/s². */
const USUAL_GRAVITY = 9.81;
/** Returns the description of a scene, with its gravity if that is unusual and no parameter. */
function about({ summary, gravity: [x, y], parameters }) {
  if (parameters.some(p => p.name === 'gravity') || Math.hypot(x, y + USUAL_GRAVITY) < 1e-4) return summary;
  const text = x || y ? `gravity ${x ? `(${short(x)}, ${short(y)})` : short(-y)} m/s²` : 'no gravity';
  // Some descriptions say so themselves.
  return !x && !y && summary.includes('without gravity') ? summary : `${summary}; ${text}`;
}
/** Describes the chosen scene, with a slider for each of its parameters. */
function describe() {
  const scene = chosen();
  if (!scene) return;
  $('summary').textContent = about(scene);
  $('known').textContent = scene.parameters.map(p => `${p.name}=${short(p.default)}`).join(', ');
  fill_picture($('scene-picture'), scene.name);
  $('sliders').replaceChildren(...scene.parameters.map(parameter => {
    const row = document.createElement('label'), name = document.createElement('span'), slider = document.createElement('input'), value = document.createElement('output');
    row.title = parameter.meaning; name.textContent = parameter.name;
    slider.type = 'range'; slider.min = 0; slider.max = 1; slider.step = 'any'; slider.dataset.name = parameter.name;
    slider.setAttribute('aria-description', parameter.meaning);
    slider.oninput = () => { set_parameter(parameter, value_at(parameter, Number(slider.value))); outrank_text(); };
    row.append(name, slider, value);
    return row;
  }));
  show_parameters();
}
/** Smallest step of a logarithmic slider near zero. */
const grain = ({ integer, default: usual, max }) => integer ? 1 : (Math.abs(usual) || max / 1000) / 10;
/** Returns the value of a parameter at a place of its slider, from 0 to 1; the places of logarithmic ones go by powers. */
function value_at(parameter, place) {
  const { min, max, integer, logarithmic } = parameter, g = grain(parameter);
  const value = logarithmic ? min + g * ((1 + (max - min) / g) ** place - 1) : min + (max - min) * place;
  return Math.min(max, Math.max(min, integer ? Math.round(value) : Number(value.toPrecision(3))));
}
function place_of(parameter, value) {
  const { min, max, logarithmic } = parameter, g = grain(parameter), at = Math.min(max, Math.max(min, value));
  if (max <= min) return 0;
  return logarithmic ? Math.log1p((at - min) / g) / Math.log1p((max - min) / g) : (at - min) / (max - min);
}
/** Returns the parameters in the text field: names and texts of values. */
const given = () => $('parameters').value.split(',').map(part => part.split('=').map(text => text.trim())).filter(([name]) => name);
function set_parameter(parameter, value) {
  const others = given().filter(([name]) => name !== parameter.name);
  if (value !== parameter.default) others.push([parameter.name, short(value)]);
  $('parameters').value = others.map(pair => pair.join('=')).join(', ');
  show_parameters();
}
/** Sets the sliders to the values in the text field, and shows how many bodies they make. */
function show_parameters() {
  const scene = chosen(), values = new Map(given());
  if (!scene) return;
  for (const slider of $('sliders').querySelectorAll('input')) {
    const parameter = scene.parameters.find(p => p.name === slider.dataset.name), text = values.get(parameter.name), value = text === undefined || text === '' || isNaN(text) ? parameter.default : Number(text);
    if (document.activeElement !== slider || value_at(parameter, Number(slider.value)) !== value) slider.value = place_of(parameter, value);
    slider.setAttribute('aria-valuetext', short(value) + unit_of(parameter));
    slider.nextElementSibling.textContent = Number(value.toPrecision(4)) + unit_of(parameter);
  }
  show_size();
}
const spec_of = () => { const text = given().map(pair => pair.join('=')).join(','); return chosen().name + (text && ':' + text); };
/** Shows the number of bodies of the chosen scene. Of values set during a request only the last is asked for. */
async function show_size() {
  const spec = spec_of();
  show_size.wanted = spec;
  if (show_size.busy) return;
  show_size.busy = true;
  try {
    for (let last; last !== show_size.wanted;) {
      last = show_size.wanted;
      let text, is_bad = false;
      try {
        const { bodies, most } = await call('GET', `/v1/scenes/${encodeURIComponent(last)}/size`);
        text = `${bodies.toLocaleString()} ${bodies === 1 ? 'body' : 'bodies'}`;
        if (bodies > most) { is_bad = true; text += `; a world of this service has at most ${most.toLocaleString()}`; }
      } catch (error) {
        // The list of worlds says that the connection is lost.
        if (!error.status) return;
        text = error.message; is_bad = true;
      }
      write($('size'), text);
      $('size').classList.toggle('bad', is_bad);
    }
  } finally { show_size.busy = false; }
}
$('parameters').oninput = () => { show_parameters(); outrank_text(); };

// The gallery.

/** Requests for pictures at a time. */
const AT_ONCE = 3;
const cards = [];
function make_gallery() {
  cards.length = 0;
  $('groups').replaceChildren(...catalogue.groups.map(group => {
    const part = document.createElement('section'), title = document.createElement('h3'), grid = document.createElement('div');
    title.textContent = group; grid.className = 'grid';
    for (const scene of of_group(group)) {
      const card = document.createElement('button'), image = document.createElement('img'), text = document.createElement('span'), name = document.createElement('strong'), summary = document.createElement('small');
      image.alt = ''; image.width = 72; image.height = 48;
      name.textContent = scene.name; summary.textContent = about(scene);
      card.type = 'button'; card.dataset.scene = scene.name; card.title = `${about(scene)}\n\n${scene.source}`;
      text.append(name, summary); card.append(image, text);
      card.onclick = guard(async () => {
        $('gallery').close();
        $('catalogue').value = scene.name;
        $('catalogue').onchange();
        await make(JSON.stringify({ scene: scene.name }), scene.name);
      });
      cards.push({ card, image, scene, part });
      grid.append(card);
    }
    part.append(title, grid);
    return part;
  }));
}
/** Fills the pictures of the gallery from top to bottom, while it is open. */
async function fill_gallery() {
  const dark = is_dark(), own = fill_gallery.turn = (fill_gallery.turn || 0) + 1, waiting = cards.filter(({ card }) => !card.hidden);
  const work = async () => {
    while (waiting.length && $('gallery').open && own === fill_gallery.turn) { const { image, scene } = waiting.shift(); await fill_picture(image, scene.name, dark); }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}
function search_gallery() {
  const words = $('gallery-search').value.toLowerCase().replaceAll('_', ' ').split(/\s+/).filter(Boolean);
  let found = 0;
  for (const { card, scene } of cards) {
    const text = `${scene.name.replaceAll('_', ' ')} ${scene.summary} ${scene.group} ${scene.keywords.join(' ')}`.toLowerCase();
    card.hidden = !words.every(word => text.includes(word));
    found += !card.hidden;
  }
  for (const part of $('groups').children) part.hidden = !part.querySelector('button:not([hidden])');
  $('no-scene').hidden = found > 0;
  fill_gallery();
}
function show_gallery() {
  if (!cards.length) return;
  show_lists(false);
  $('gallery-search').value = '';
  $('gallery').showModal();
  search_gallery();
  $('groups').scrollTop = 0;
}
$('gallery-search').oninput = search_gallery;
// Enter takes the first scene found.
$('gallery-search').onkeydown = event => { if (event.key === 'Enter' && $('gallery-search').value) { event.preventDefault(); cards.find(({ card }) => !card.hidden)?.card.click(); } };
$('gallery-close').onclick = () => $('gallery').close();
// A press beside the gallery closes it.
$('gallery').addEventListener('click', event => { if (event.target === $('gallery')) $('gallery').close(); });
$('browse').onclick = $('all-scenes').onclick = show_gallery;

// Scenes offered while there is no world.

for (const spec of ['card_house', 'large_pyramid:base=20', 'tumbler:grid=12', 'bridge', 'springs', 'smash']) {
  const button = document.createElement('button'), image = document.createElement('img');
  image.alt = ''; image.width = 72; image.height = 48; image.hidden = true;
  button.append(image, spec);
  button.onclick = guard(() => make(JSON.stringify({ scene: spec }), spec));
  $('choices').append(button);
}
/** Fills the pictures of these scenes, once the service has told its scenes. */
function show_choices() {
  if (!catalogue.scenes.length) return;
  for (const button of $('choices').children) fill_picture(button.firstChild, button.textContent.split(':')[0]);
}
