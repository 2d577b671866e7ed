//! Island batches: the solver goes through all substeps of a step with some islands, then with the next ones.
//!
//! A batch is a set of bodies that share no contact with those of another batch. So the order of batches does not
//! matter, and within a batch the order is that of the stages: the result is the same to the last bit. What matters is
//! memory: the constraints of a batch fit the processor's second-level cache, those of 100,000 boxes do not, and a step
//! reads them nine times. Threads take whole batches, and need not wait for each other at the end of every colour.
//!
//! Batches are used if islands are many and small; one heap of everything is solved stage by stage. Islands are
//! searched from scratch only now and then; in between, batches are merged as contacts connect them. Batches that could
//! be split may stay merged, but no island is ever cut.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use bytemuck::{Pod, Zeroable};

use crate::cpu::StageTotals;
use crate::cpu::blocks::Blocks;
use crate::cpu::shares::Shares;
use crate::cpu::stages::integrate_positions::integrate_positions_of;
use crate::cpu::stages::integrate_velocities::integrate_velocities_of;
use crate::cpu::stages::prepare::{ConstraintTables, prepare_of};
use crate::cpu::stages::project::project;
use crate::cpu::stages::restitution::{ImpactRounds, ImpactTables, restitution};
use crate::cpu::stages::solve::solve;
use crate::cpu::stages::store_impulses::store_impulses_listed;
use crate::cpu::stages::warm_start::warm_start;
use crate::lanes::WIDTH;
use crate::scene::Compiled;
use crate::stages::color::split::{Hub, Splits};
use crate::stages::store_impulses::{ContactImpulses, store_impulses_of};
use crate::step::{PlannedStage, Stage};
use crate::threads::{LIGHT, Rows, Threads};
use crate::types::{
    Accumulator, BOUNCES, BodyState, COLOR_COUNT, Contact, Counters, FIXED_A, FIXED_B, KINEMATIC, Manifold, NONE,
    OVERFLOW_COLOR, POINT_COUNT_MASK, Pose, RuleContact, STATIC, SURFACES, Surface,
};

/// Contacts and bodies at which a batch is full. A thousand boxes of a pile with their contacts take about 600 KB, half
/// of a small second-level cache.
const FULL: u32 = 3000;
/// Smallest size of full batches. Several threads use smaller batches, so that there are a few for each; below this,
/// handing them over costs too much.
const LEAST: u32 = 256;
/// Minimum number of full batches in a world that is solved by batches, and the factor over the full size beyond which
/// a batch is split if possible.
const TIMES: u32 = 4;
/// Steps between two attempts to split batches; doubled after each attempt that did not help.
const PATIENCE: u32 = 16;
/// Largest number of steps between two attempts.
const MAX_PATIENCE: u32 = 1024;

/// Island batches of a world, and the memory to solve them.
#[derive(Debug)]
pub struct IslandBatches {
    /// Contacts and bodies at which a batch is full.
    full: u32,
    /// Batch of each body when islands were last searched; [`NONE`] for a static body. Empty if there are no batches.
    found: Vec<u32>,
    /// Batches merged since, as a union-find forest: the parent of each.
    merged: Vec<u32>,
    /// Number of bodies of each batch, before merging.
    body_counts: Vec<u32>,
    /// Index of each batch in this step; merged batches share one.
    places: Vec<u32>,
    /// Bodies sorted by batch index, and the start of each batch.
    bodies: Vec<u32>,
    body_starts: Vec<u32>,
    /// Touching contacts of this step, sorted by batch index (`contact_starts`) and in ascending order within a batch.
    contacts: Vec<u32>,
    contact_starts: Vec<u32>,
    /// Touching contacts of this step in ascending order, in parts, of which the first `used` are valid.
    touching: Vec<Touching>,
    used: usize,
    /// Memory of [`Self::split`] and [`Self::list`]. Kept to avoid allocation.
    parents: Vec<u32>,
    sizes: Vec<u32>,
    before: Vec<u32>,
    next: Vec<u32>,
    /// Steps until the next attempt to split, and from there to the one after.
    wait: u32,
    patience: u32,
    /// Solver memory of each thread.
    scratches: Vec<Mutex<IslandScratch>>,
    /// Result of each contact, if several threads work.
    returned: Rows<Returned, 4>,
    room: ThreadCapacity,
    /// Number of batches in the last step.
    count: usize,
    /// True if contacts are ignored, so that batches are wrong. For tests.
    blind: bool,
}

/// Solver memory of a thread, for one batch.
#[derive(Debug, Default)]
struct IslandScratch {
    slots: Vec<u32>,
    counters: Counters,
    constraints: Blocks,
    surfaces: Rows<Surface, 2>,
    /// Contacts of the batch that are split, and their hubs.
    splits: Vec<usize>,
    hubs: Vec<Hub>,
    rounds: ImpactRounds,
}

/// Capacity of each thread's memory: contacts of a batch, and those of them in the overflow.
#[derive(Clone, Copy, Debug, Default)]
struct ThreadCapacity {
    contacts: u32,
    overflow: u32,
}

/// Touching contacts in a range of the contacts.
#[derive(Debug, Default)]
struct Touching {
    contacts: Vec<u32>,
    /// Runs of contacts in one batch.
    runs: Vec<ContactRun>,
    /// Pairs of batches that a contact connects.
    ties: Vec<(u32, u32)>,
}

/// Consecutive touching contacts in one batch.
#[derive(Clone, Copy, Debug)]
struct ContactRun {
    batch: u32,
    /// Index of the first contact in the part's list.
    first: u32,
    count: u32,
}

/// [`Returned::marks`]: something resists rolling.
const ROLLS: u32 = 1;
/// [`Returned::marks`]: the impulses include those of impacts.
const HAS_IMPACT: u32 = 2;

/// Result of the solver for one contact.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
struct Returned {
    impulses: [f32; 4],
    rolling: f32,
    /// [`ROLLS`] and [`HAS_IMPACT`].
    marks: u32,
    inv_masses: [f32; 2],
}

impl Returned {
    fn of(ContactImpulses { points, has_impact, rolling, inv_masses }: ContactImpulses) -> Self {
        let marks = if rolling.is_some() { ROLLS } else { 0 } | if has_impact { HAS_IMPACT } else { 0 };
        Self { impulses: points, rolling: rolling.unwrap_or(0.0), marks, inv_masses }
    }

    fn impulses(self) -> ContactImpulses {
        let Self { impulses, rolling, marks, inv_masses } = self;
        let (rolling, has_impact) = ((marks & ROLLS != 0).then_some(rolling), marks & HAS_IMPACT != 0);
        ContactImpulses { points: impulses, has_impact, rolling, inv_masses }
    }
}

/// Tables of a world that the solver reads and writes.
#[derive(Clone, Copy, Debug)]
pub struct SolverTables<'a> {
    /// Settings, bodies, shapes.
    pub compiled: &'a Compiled,
    /// Pose of each body.
    pub poses: &'a [Pose],
    /// State of each body; velocities and deltas are written.
    pub states: &'a Rows<BodyState, 4>,
    /// Accumulator of each body, written.
    pub accumulators: &'a Rows<Accumulator, 2>,
    /// Rows that the scene's rule has returned; empty without one.
    pub ruled: &'a [RuleContact],
    /// Shares of hubs.
    pub splits: &'a Splits,
}

impl Default for IslandBatches {
    fn default() -> Self {
        Self::of(FULL)
    }
}

impl IslandBatches {
    /// Creates island batches that are full with `full` contacts and bodies; none if 0.
    pub fn of(full: u32) -> Self {
        Self {
            full,
            found: Vec::new(),
            merged: Vec::new(),
            body_counts: Vec::new(),
            places: Vec::new(),
            bodies: Vec::new(),
            body_starts: Vec::new(),
            contacts: Vec::new(),
            contact_starts: Vec::new(),
            touching: Vec::new(),
            used: 0,
            parents: Vec::new(),
            sizes: Vec::new(),
            before: Vec::new(),
            next: Vec::new(),
            wait: 0,
            patience: PATIENCE,
            scratches: Vec::new(),
            returned: Rows::default(),
            room: ThreadCapacity::default(),
            count: 0,
            blind: false,
        }
    }

    /// Ignores contacts, so that islands are cut (fault injection for tests).
    pub fn blind(mut self) -> Self {
        self.blind = true;
        self
    }

    /// Returns the number of batches in the last step; 0 if it was solved as a whole.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Invalidates the batches after bodies came or went.
    pub fn forget(&mut self) {
        if !self.found.is_empty() {
            self.found.clear();
            self.wait = 0;
        }
    }

    /// Finds the batches of a step. Returns false if the world is better solved as a whole.
    pub fn find(&mut self, threads: &Threads, compiled: &Compiled, contacts: &[Contact], touching: u32) -> bool {
        self.count = 0;
        #[allow(clippy::cast_possible_truncation, reason = "at most FULL")]
        let full = match threads.count() {
            _ if self.full < LEAST => self.full,
            0 | 1 => self.full,
            count => (touching as usize / (TIMES as usize * count)).clamp(LEAST as usize, self.full as usize) as u32,
        };
        // Joints connect bodies as well, and have sweeps of their own.
        if full == 0 || compiled.joints.count() > 0 || touching < TIMES * full {
            return false;
        }
        let known = !self.found.is_empty() && self.found.len() == compiled.bodies.len();
        let mut largest = if known { self.merge(threads, contacts) } else { u32::MAX };
        if largest > TIMES * full {
            if self.wait == 0 {
                self.split(full, compiled, contacts);
                if !self.found.is_empty() {
                    largest = self.merge(threads, contacts);
                }
            } else {
                self.wait -= 1;
            }
        }
        if largest <= TIMES * full {
            self.patience = PATIENCE;
        }
        if self.found.is_empty() {
            return false;
        }
        self.list();
        self.count = self.contact_starts.len() - 1;
        true
    }

    /// Searches islands from scratch and collects them into batches of at least `full`; none if most of the world is
    /// one island.
    fn split(&mut self, full: u32, compiled: &Compiled, contacts: &[Contact]) {
        self.wait = self.patience;
        self.patience = (2 * self.patience).min(MAX_PATIENCE);
        self.found.clear();
        let bodies = &compiled.bodies;
        // A body on a path takes part in every batch that it touches.
        if bodies.iter().any(|body| body.kind == KINEMATIC) {
            return;
        }
        // The lowest body of an island is its root.
        let Ok(count) = u32::try_from(bodies.len()) else { return };
        let Self { parents: roots, sizes, next: batches, blind, .. } = self;
        let blind = *blind;
        roots.clear();
        roots.extend(0..count);
        let touching = || contacts.iter().filter(|contact| !blind && contact.flags & POINT_COUNT_MASK != 0);
        for contact in touching().filter(|contact| contact.flags & (FIXED_A | FIXED_B) == 0) {
            join(roots, contact.body_a, contact.body_b);
        }
        sizes.clear();
        sizes.resize(bodies.len(), 0);
        for body in 0..count {
            sizes[root(roots, body) as usize] += 1;
        }
        for contact in touching() {
            sizes[root(roots, moving(contact)) as usize] += 1;
        }
        let (largest, all) = sizes.iter().fold((0, 0), |(most, all), &size| (most.max(size), all + u64::from(size)));
        if u64::from(largest) * 4 > all * 3 {
            return;
        }
        // Islands in the order of their roots, so that a batch is as contiguous in memory as touching bodies are.
        let (mut batch, mut size) = (0, 0);
        batches.clear();
        batches.resize(bodies.len(), NONE);
        self.body_counts.clear();
        for body in 0..count {
            if bodies[body as usize].kind == STATIC {
                self.found.push(NONE);
                continue;
            }
            let root = root(roots, body) as usize;
            if batches[root] == NONE {
                if size >= full {
                    (batch, size) = (batch + 1, 0);
                }
                batches[root] = batch;
                size += sizes[root];
            }
            self.body_counts.resize(batch as usize + 1, 0);
            self.body_counts[batches[root] as usize] += 1;
            self.found.push(batches[root]);
        }
        self.merged.clear();
        self.merged.extend((0..).take(self.body_counts.len()));
        self.places.clear();
    }

    /// Merges batches that a contact connects. Returns the size of the largest.
    fn merge(&mut self, threads: &Threads, contacts: &[Contact]) -> u32 {
        let Self { found, merged, touching, used, body_counts, sizes, blind, .. } = self;
        let touching = threads.for_parts(LIGHT, contacts.len(), touching, |first, end, part| {
            part.collect(found, contacts, first, end, *blind);
        });
        *used = touching.len();
        for &(one, other) in touching.iter().flat_map(|part| &part.ties) {
            join(merged, one, other);
        }
        sizes.clone_from(body_counts);
        for run in touching.iter().flat_map(|part| &part.runs) {
            sizes[run.batch as usize] += run.count;
        }
        for batch in (0..).take(sizes.len()) {
            let root = root(merged, batch);
            if root != batch {
                sizes[root as usize] += sizes[batch as usize];
            }
        }
        sizes.iter().copied().max().unwrap_or(0)
    }

    /// Lists bodies and contacts by batch.
    fn list(&mut self) {
        let Self { found, merged, places, bodies, body_starts, contacts, contact_starts, touching, used, .. } = self;
        let Self { before, next, .. } = self;
        let touching = &touching[..*used];
        before.clone_from(places);
        let mut count = 0;
        places.clear();
        for batch in (0..).take(merged.len()) {
            // A root is lower than all batches merged into it.
            let place = match root(merged, batch) {
                root if root == batch => count,
                root => places[root as usize],
            };
            count += u32::from(place == count);
            places.push(place);
        }
        if places != before {
            body_starts.clear();
            body_starts.resize(count as usize + 1, 0);
            let place = |batch: u32| places.get(batch as usize).map(|&place| place as usize);
            for place in found.iter().copied().filter_map(place) {
                body_starts[place + 1] += 1;
            }
            add_up(body_starts);
            bodies.resize(body_starts[count as usize] as usize, 0);
            next.clone_from(body_starts);
            for (body, &batch) in (0..).zip(&*found) {
                let Some(place) = place(batch) else { continue };
                bodies[next[place] as usize] = body;
                next[place] += 1;
            }
        }
        // Runs are few and long if touching bodies are near each other in memory.
        contact_starts.clear();
        contact_starts.resize(count as usize + 1, 0);
        for run in touching.iter().flat_map(|part| &part.runs) {
            contact_starts[places[run.batch as usize] as usize + 1] += run.count;
        }
        add_up(contact_starts);
        contacts.resize(contact_starts[count as usize] as usize, 0);
        next.clone_from(contact_starts);
        for part in touching {
            for run in &part.runs {
                let next = &mut next[places[run.batch as usize] as usize];
                contacts[*next as usize..][..run.count as usize]
                    .copy_from_slice(&part.contacts[run.first as usize..][..run.count as usize]);
                *next += run.count;
            }
        }
    }

    /// Allocates memory for the largest batch at each thread, whichever will take it.
    fn reserve_scratch(&mut self, threads: usize, switches: u32, counters: &Counters) {
        let Self { scratches, contact_starts, room, .. } = self;
        if scratches.len() < threads {
            scratches.resize_with(threads, Mutex::default);
            *room = ThreadCapacity::default();
        }
        let contacts = contact_starts.windows(2).map(|ends| ends[1] - ends[0]).max().unwrap_or(0);
        let overflow = contacts.min(counters.color_size(OVERFLOW_COLOR));
        if threads == 1 || (contacts <= room.contacts && overflow <= room.overflow) {
            return;
        }
        room.contacts = room.contacts.max(contacts.next_power_of_two());
        room.overflow = room.overflow.max(overflow.next_power_of_two());
        for scratch in scratches {
            scratch.get_mut().unwrap_or_else(PoisonError::into_inner).reserve(*room, switches);
        }
    }

    /// Runs the solver stages in `ops`, batch by batch, and adds the time of each to `times` in a profiled step.
    pub fn run(
        &mut self,
        threads: &Threads,
        ops: &[PlannedStage],
        given: SolverTables,
        contacts: &mut [Contact],
        manifolds: &mut [Manifold],
        counters: &Counters,
        times: &mut StageTotals,
    ) {
        self.reserve_scratch(threads.count(), given.compiled.params.switches, counters);
        let Self { bodies, body_starts, contacts: listed, contact_starts, scratches, returned, count, .. } = self;
        let scratches = &mut scratches[..threads.count()];
        let spent = Stage::ALL.map(|_| AtomicU64::new(0));
        let start = times.begin();
        let params = &given.compiled.params;
        let state = |body: u32| given.states.get(body as usize);
        let solve = |batch: usize, scratch: &mut IslandScratch, contacts: &[Contact], manifolds: &[Manifold]| {
            let part = |starts: &[u32]| starts[batch] as usize..starts[batch + 1] as usize;
            let (listed, bodies) = (&listed[part(contact_starts)], &bodies[part(body_starts)]);
            for &op in ops {
                if threads.is_cancelled() {
                    return;
                }
                let start = times.begin();
                scratch.run(op, given, contacts, manifolds, listed, bodies);
                spend(&spent, op.stage, start);
            }
        };
        let stores = ops.iter().any(|op| op.stage == Stage::StoreImpulses);
        if let [alone] = scratches {
            let scratch = alone.get_mut().unwrap_or_else(PoisonError::into_inner);
            for batch in 0..*count {
                solve(batch, scratch, contacts, manifolds);
                // The memory may still hold another batch.
                if threads.is_cancelled() {
                    return;
                }
                let start = times.begin();
                if stores {
                    scratch.store(|contact, impulses| {
                        let (contact, manifold) = (&mut contacts[contact], &mut manifolds[contact]);
                        store_impulses_of(params, contact, manifold, impulses, state);
                    });
                }
                spend(&spent, Stage::StoreImpulses, start);
            }
        } else {
            returned.resize(contacts.len());
            let (returned, scratches) = (&*returned, &*scratches);
            threads.for_tasks(*count, |batch, thread| {
                let mut scratch = scratches[thread].lock().unwrap_or_else(PoisonError::into_inner);
                solve(batch, &mut scratch, contacts, manifolds);
                if threads.is_cancelled() {
                    return;
                }
                let start = times.begin();
                scratch.store(|contact, impulses| returned.set(contact, Returned::of(impulses)));
                spend(&spent, Stage::StoreImpulses, start);
            });
            if stores {
                threads.for_each_pair(LIGHT, contacts, manifolds, |index, contact, manifold| {
                    if contact.flags & POINT_COUNT_MASK != 0 {
                        store_impulses_of(params, contact, manifold, returned.get(index).impulses(), state);
                    }
                });
            }
        }
        times.share_out(start, spent.map(AtomicU64::into_inner));
    }
}

impl Touching {
    /// Lists the touching contacts in `first .. end`.
    fn collect(&mut self, found: &[u32], contacts: &[Contact], first: usize, end: usize, blind: bool) {
        let Self { contacts: touching, runs, ties } = self;
        touching.clear();
        runs.clear();
        ties.clear();
        let mut run = ContactRun { batch: NONE, first: 0, count: 0 };
        #[allow(clippy::cast_possible_truncation, reason = "contacts are counted in u32")]
        for (index, contact) in (first as u32..).zip(&contacts[first..end]) {
            if contact.flags & POINT_COUNT_MASK == 0 {
                continue;
            }
            let batch = found[moving(contact) as usize];
            if contact.flags & (FIXED_A | FIXED_B) == 0 {
                let other = found[contact.body_a as usize];
                if other != batch && !blind && ties.last() != Some(&(batch, other)) {
                    ties.push((batch, other));
                }
            }
            if batch != run.batch {
                runs.extend((run.count > 0).then_some(run));
                run = ContactRun { batch, first: run.first + run.count, count: 0 };
            }
            run.count += 1;
            touching.push(index);
        }
        runs.extend((run.count > 0).then_some(run));
    }
}

impl IslandScratch {
    fn reserve(&mut self, room: ThreadCapacity, switches: u32) {
        // As if all were of one colour, with one more block per colour that does not fill its last.
        #[allow(clippy::cast_possible_truncation, reason = "lanes of a block")]
        let others = room.contacts + COLOR_COUNT * WIDTH as u32;
        let mut most = Counters::default();
        most.color_starts[1..].fill(others);
        most.color_starts[OVERFLOW_COLOR as usize + 1..].fill(others + room.overflow);
        self.constraints.build(&most, 0, switches & BOUNCES != 0);
        let contacts = room.contacts as usize;
        self.slots.reserve(contacts.saturating_sub(self.slots.len()));
        self.surfaces.resize(if switches & SURFACES == 0 { 0 } else { contacts });
    }

    /// Runs a stage for one batch.
    fn run(
        &mut self,
        op: PlannedStage,
        given: SolverTables,
        contacts: &[Contact],
        manifolds: &[Manifold],
        listed: &[u32],
        listed_bodies: &[u32],
    ) {
        let SolverTables { compiled, poses, states, accumulators, ruled, splits } = given;
        let Compiled { params, bodies, shapes, .. } = compiled;
        let Self { slots, counters, constraints, surfaces, splits: own_splits, hubs, rounds } = self;
        if op.stage == Stage::Prepare {
            *rounds = ImpactRounds::default();
            let source = ConstraintTables { params, bodies, shapes, states, contacts, manifolds, ruled, splits };
            prepare_of(listed, &source, slots, counters, constraints, surfaces, own_splits, hubs);
            return;
        }
        let alone = Threads::default();
        let sweep = &mut constraints.by(&alone, counters, Shares { splits, hubs, states, accumulators });
        match op.stage {
            Stage::WarmStart => warm_start(params, sweep, states, accumulators, surfaces),
            Stage::IntegrateVelocities => {
                integrate_velocities_of(listed_bodies, params, bodies, poses, states, accumulators);
            }
            Stage::Solve | Stage::Relax => solve(params, op.flags, states, accumulators, sweep, surfaces),
            Stage::IntegratePositions => integrate_positions_of(listed_bodies, params, bodies, states),
            Stage::Project => project(params, states, sweep),
            Stage::Restitution if rounds.is_needed(op.flags) => {
                restitution(ImpactTables { params, states, accumulators, surfaces }, rounds.round(op.flags), sweep);
            }
            // Impulses are stored by `store`, where the contacts may be written.
            _ => {}
        }
    }

    fn store(&self, keep: impl FnMut(usize, ContactImpulses)) {
        store_impulses_listed(&self.slots, &self.counters, &self.constraints, &self.surfaces, keep);
    }
}

/// Returns the range of the solver in a plan without joints, if it begins at `first` and is complete.
pub fn solver(plan: &[PlannedStage], first: usize) -> Option<std::ops::Range<usize>> {
    let last = plan.iter().rposition(|op| op.stage == Stage::StoreImpulses)?;
    (plan.get(first)?.stage == Stage::Prepare && first < last).then_some(first..last + 1)
}

/// Adds the time since `start` to a stage's, in a profiled step.
fn spend(spent: &[AtomicU64], stage: Stage, start: Option<Instant>) {
    let Some(start) = start else { return };
    let nanoseconds = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
    spent[stage as usize].fetch_add(nanoseconds, Ordering::Relaxed);
}

/// Returns a dynamic body of a contact.
fn moving(contact: &Contact) -> u32 {
    if contact.flags & FIXED_B == 0 { contact.body_b } else { contact.body_a }
}

/// Returns the root of an element of a union-find forest; halves the path on the way.
fn root(parents: &mut [u32], mut element: u32) -> u32 {
    while parents[element as usize] != element {
        let above = parents[parents[element as usize] as usize];
        parents[element as usize] = above;
        element = above;
    }
    element
}

/// Merges two trees. The root is the lower of the two.
fn join(parents: &mut [u32], one: u32, other: u32) {
    let (one, other) = (root(parents, one), root(parents, other));
    parents[one.max(other) as usize] = one.min(other);
}

/// Turns counts into ends (inclusive prefix sum).
fn add_up(counts: &mut [u32]) {
    let mut sum = 0;
    for count in counts {
        sum += *count;
        *count = sum;
    }
}
