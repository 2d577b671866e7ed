// Restart: back to the start of the world, with what was built, changed and removed since, as in the window.

const START = 'start';
/** Worlds whose start has been saved. */
const kept = new Set();
/** Building changes since the start, in their order: world, step, commands, results, and the edit of a body. */
let builds = [];

/** Saves the state at step 0 before a page changes anything. */
async function keepStart() {
  if (!status || kept.has(world) || simulated.step > 0 || status.step > 0) return;
  const own = world;
  // The world works without it; only a restart then reports the problem.
  try {
    const is_there = status.alterations > 0 && (await call('GET', on(own, '/checkpoints'))).checkpoints.includes(START);
    if (!is_there) await post(own, '/checkpoint', { name: START });
    kept.add(own);
  } catch (error) { if (error.away) throw error; }
}
/** Takes another list of building changes of a world. It outlasts a reload of the page. */
function take_builds(own, list) {
  builds = [...builds.filter(b => b.world !== own), ...list];
  const key = 'builds-' + own, text = JSON.stringify(list.map(({ world, step, commands, results, edit }) => ({ world, step, commands, results, edit })));
  try { if (list.length) sessionStorage.setItem(key, text); else sessionStorage.removeItem(key); } catch { /* There is no room: a reload forgets them. */ }
}
const builds_of = own => builds.filter(b => b.world === own);
/** Reads the building changes of a world from before a reload of the page. */
function recall_builds(own) {
  if (builds_of(own).length) return;
  try { builds.push(...JSON.parse(sessionStorage.getItem('builds-' + own) || '[]')); } catch { /* They are no list. */ }
}

/** Returns commands with the present ids of bodies and joints. */
const renamed = (commands, { body, joint }) => commands.map(command => {
  const [[kind, value]] = Object.entries(command), now = { ...value };
  for (const key of ['a', 'b', 'body']) if (typeof now[key] === 'string') now[key] = body(now[key]);
  if (kind === 'remove') now.bodies = now.bodies.map(body);
  if (kind === 'unjoin') now.joints = now.joints.map(joint);
  return { [kind]: now };
});
/** Ids as they are: of a change that is made again in the world in which it was undone. */
const SAME_IDS = { body: id => id, joint: id => id };
/** Makes a change again; returns its results. */
async function make_again(own, { commands, edit, again }, ids) {
  if (again) { await again(own); return []; }
  if (edit) return [(await replace_body(own, ids.body(edit.id), edit)).results];
  const results = [];
  for (const some of commands) results.push((await command(own, ...renamed(some, ids))).results);
  return results;
}
/** Repeats building changes after the start was restored. Returns the number of those whose bodies were not built, and the present ids. */
async function rebuild(own, mine) {
  const first = { bodies: new Set([...shapes.values()].map(body => body.id)), joints: new Set(joints.map(joint => joint.id)) }, bodies = new Map(), ties = new Map();
  const find = (now, first) => id => { const found = now.get(id) ?? (first.has(id) ? id : null); if (found === null) throw Object.assign(new Error(`there is no ${id}`), { is_gone: true }); return found; };
  const ids = { body: find(bodies, first.bodies), joint: find(ties, first.joints) };
  let left_out = 0;
  for (const build of mine) {
    try {
      const results = await make_again(own, build, ids);
      build.results.flat().forEach((before, i) => {
        const now = results.flat()[i] || {};
        (before.bodies || []).forEach((id, k) => { if (now.bodies?.[k]) bodies.set(id, now.bodies[k]); });
        if (before.joint && now.joint) ties.set(before.joint, now.joint);
      });
    } catch (error) { if (!error.is_gone && error.status !== 422 && error.status !== 404) throw error; left_out++; }
    stay(own);
  }
  return { left_out, ids };
}

/** Goes back to the start, and repeats what was built. */
async function go_to_start(own) {
  const mine = builds_of(own);
  await restore(own, START).catch(async error => {
    if (error.status !== 404) throw error;
    // It had run before a page changed it; its history may reach back to the start.
    await post(own, '/rewind', { steps: (await call('GET', on(own, ''))).step }).catch(error => {
      if (error.status !== 422) throw error;
      throw new Error('The start of this world is not available: it had run for long before this page changed it. Create it again from its scene.');
    });
  });
  stay(own);
  await Promise.all([load(), loadJoints()]);
  stay(own);
  const { left_out, ids } = await rebuild(own, mine);
  await Promise.all([load(), loadJoints(), list()]);
  stay(own);
  if (making?.world === own) making.again = go_to_start;
  if (selected) { let id = null; try { id = ids.body(selected.id); } catch { /* It was not built. */ } select(id); }
  fit();
  const count = left_out === 1 ? 'one change is' : `${left_out} changes are`;
  tell(left_out ? `restarted; ${count} left out, of bodies that were dropped or shot` : 'restarted');
}
const restart = guard(async () => {
  letGo();
  if (simulated.step === 0 && status.alterations === 0 && !kept.has(world)) return tell('the world is at its start');
  const own = world, plays = status.state === 'playing';
  if (plays) await post(own, '/pause');
  await change('restart', go_to_start);
  if (plays && world === own) { await post(own, '/play', speed()); await list(); }
});
