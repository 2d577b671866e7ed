//! Sweeps of several small worlds at once.
//!
//! A colour of a small world has one to three contacts, which fill as many of the eight lanes of a block. So small
//! worlds of a batch step in groups: each does the stages up to the colouring by itself; what the sweeps read is
//! copied, one world after the other, to the tables of one world, whose blocks hold contacts, joints and trees of
//! hinges of all; after the last sweep the results are copied back, and each world ends its step by itself. As worlds
//! share no body, the bits are those of each alone, as with island batches.

use std::mem::offset_of;
use std::ops::Range;

use bytemuck::{bytes_of, cast_slice};

use super::{BegunStep, BodyTables, ContactTables, CpuWorld, islands};
use crate::cpu::joint_blocks::of_color;
use crate::cpu::stages::prepare::{ConstraintTables, find_masses, prepare_beside};
use crate::cpu::stages::store_impulses::store_from;
use crate::scene::{Compiled, JointTable, Scene};
use crate::stages::solve_joints::tree::{row_count, trees};
use crate::step::Stage;
use crate::types::{
    BOUNCES, Counters, JOINT_COLORS, JOINT_TREES, JointData, JointFrame, MATERIAL_SPRINGS, OVERFLOW_COLOR, Params,
    SURFACES, u32_from,
};
use crate::world_error::WorldError;

/// Number of bodies, contacts and joints up to which a world steps in a group. Larger ones fill their lanes.
const MAX_SIZE: usize = 512;

/// Worlds of a batch that step together, and the memory for their sweeps.
#[derive(Debug)]
pub(crate) struct WorldGroup {
    /// World that has the bodies, contacts and joints of all while their sweeps are made.
    all: CpuWorld,
    /// Worlds that are part of it.
    members: Vec<Member>,
    /// Their stages from the preparation of constraints to the store of impulses.
    solver: Range<usize>,
    /// Number of steps of members.
    steps: u64,
}

/// World whose sweeps are made with those of others.
#[derive(Clone, Copy, Debug)]
struct Member {
    /// Index among the worlds of the group.
    index: usize,
    begun: BegunStep,
    /// Its first body, joint and joint row among those of all.
    first: [usize; 3],
}

/// World of a batch, and the result of its step.
pub(crate) type SteppedWorld<'a> = (&'a mut CpuWorld, Result<(), WorldError>);

impl WorldGroup {
    /// Creates a group without worlds.
    ///
    /// # Errors
    /// None: a scene without bodies is valid.
    pub fn new() -> Result<Self, WorldError> {
        Ok(Self { all: CpuWorld::new(&Scene::new("group"))?, members: Vec::new(), solver: 0..0, steps: 0 })
    }

    /// Returns the number of steps of worlds whose sweeps it has made.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Advances all worlds by one step.
    pub fn step(&mut self, worlds: &mut [SteppedWorld]) {
        self.members.clear();
        for (index, (world, stepped)) in worlds.iter_mut().enumerate() {
            *stepped = self.begin(index, world);
        }
        if let &[Member { index, begun, .. }] = &*self.members {
            let (world, stepped) = &mut worlds[index];
            *stepped = world.step_on_alone(&begun, self.solver.clone());
            return;
        }
        if self.members.is_empty() {
            return;
        }
        self.gather(worlds);
        self.sweep(worlds);
        self.scatter(worlds);
        self.steps = self.steps.wrapping_add(self.members.len() as u64);
        for &Member { index, begun, .. } in &self.members {
            let (world, stepped) = &mut worlds[index];
            let ran = world.run_plan(self.solver.end..world.plan.len());
            *stepped = world.finish(&begun, ran);
        }
    }

    /// Runs the stages of a world up to the colouring and adds it to the members, or does its whole step.
    fn begin(&mut self, index: usize, world: &mut CpuWorld) -> Result<(), WorldError> {
        let is_small = world.size() <= MAX_SIZE;
        // This may add bodies and joints, and with the first ones stages.
        let Some(begun) = world.begin()? else { return Ok(()) };
        let Some(solver) = world.solver_stages().filter(|_| is_small) else {
            let ran = world.run_plan(0..world.plan.len());
            return world.finish(&begun, ran);
        };
        if let Err(error) = world.run_plan(0..solver.start - 1) {
            return world.finish(&begun, Err(error));
        }
        world.color_contacts();
        let is_first = self.members.is_empty();
        let joins = world.counters.color_size(OVERFLOW_COLOR) == 0
            && (is_first || (self.all.plan == world.plan && sweep_alike(self.all.params(), world.params())));
        if !joins {
            return world.step_on_alone(&begun, solver);
        }
        if is_first {
            self.solver = solver;
            self.all.plan.clone_from(&world.plan);
            self.all.host.compiled.params = world.host.compiled.params;
        }
        self.members.push(Member { index, begun, first: [0; 3] });
        Ok(())
    }

    /// Copies what the sweeps read of the members.
    fn gather(&mut self, worlds: &mut [SteppedWorld]) {
        let Self { all, members, .. } = self;
        let CpuWorld { host, bodies: BodyTables { poses, states, accumulators, .. }, joints, counters, .. } = all;
        let Compiled { bodies, joints: table, .. } = &mut host.compiled;
        *counters = Counters::default();
        bodies.clear();
        poses.clear();
        let mut next = [0; 3];
        for member in &mut *members {
            let world = &mut *worlds[member.index].0;
            world.bodies.measure_fresh(&mut world.host.compiled);
            let from = &world.host.compiled;
            bodies.extend_from_slice(&from.bodies);
            poses.extend_from_slice(&world.bodies.poses);
            member.first = next;
            let sizes = world.table_sizes();
            next = std::array::from_fn(|table| next[table] + sizes[table]);
            counters.touching += world.counters.touching;
            counters.quarantined += world.counters.quarantined;
            for (start, own) in counters.color_starts.iter_mut().zip(world.counters.color_starts) {
                *start += own;
            }
        }
        let tables = members.iter().map(|member| (&worlds[member.index].0.host.compiled.joints, member.first));
        gather_joints(table, tables);
        let [body_count, joint_count, row_count] = next;
        states.resize(body_count);
        accumulators.resize(body_count);
        joints.states.resize(joint_count);
        joints.impulses.resize(row_count);
        joints.frames.resize(joint_count, JointFrame::default());
        joints.blocks.forget();
        for &Member { index, first: [body, joint, row], .. } in &*members {
            let world = &*worlds[index].0;
            let ([body_count, joint_count, row_count], from) = (world.table_sizes(), &world.bodies);
            states.copy(body, &from.states, 0, body_count);
            accumulators.copy(body, &from.accumulators, 0, body_count);
            joints.states.copy(joint, &world.joints.states, 0, joint_count);
            joints.impulses.copy(row, &world.joints.impulses, 0, row_count);
        }
    }

    /// Makes all sweeps.
    fn sweep(&mut self, worlds: &[SteppedWorld]) {
        for place in self.solver.start..self.solver.end - 1 {
            let op = self.all.plan[place];
            if op.stage == Stage::Prepare {
                self.prepare(worlds);
            } else {
                let ran = self.all.run(op);
                debug_assert!(ran.is_ok(), "no sweep fails");
            }
        }
    }

    /// Builds the constraints of all members.
    fn prepare(&mut self, worlds: &[SteppedWorld]) {
        let Self { all: CpuWorld { host, counters, solver, .. }, members, .. } = self;
        let switches = host.compiled.params.switches;
        solver.constraints.build(counters, 0, switches & BOUNCES != 0);
        solver.surfaces.resize(if switches & SURFACES == 0 { 0 } else { counters.touching as usize });
        let mut next = counters.color_starts;
        for &Member { index, first: [body, ..], .. } in &*members {
            let world = &*worlds[index].0;
            let Compiled { params, bodies, shapes, .. } = &world.host.compiled;
            let ContactTables { contacts, manifolds, .. } = &world.current;
            let ruled = &world.scratch.prepare.ruled;
            let (states, splits) = (&world.bodies.states, &solver.splits);
            let source = ConstraintTables { params, bodies, shapes, states, contacts, manifolds, ruled, splits };
            let (constraints, surfaces) = (&mut solver.constraints, &solver.surfaces);
            prepare_beside(&source, u32_from(body), counters, &mut next, constraints, surfaces);
        }
        find_masses(solver.constraints.parts().0);
    }

    /// Copies the results of the sweeps to the members.
    fn scatter(&mut self, worlds: &mut [SteppedWorld]) {
        let Self { all: CpuWorld { bodies, joints, counters, solver, .. }, members, .. } = self;
        joints.blocks.store(&joints.impulses);
        joints.blocks.release_impulses();
        let mut next = std::array::from_fn(|color| counters.color_starts[color] as usize);
        for &Member { index, first: [body, joint, row], .. } in &*members {
            let world = &mut *worlds[index].0;
            let [body_count, joint_count, row_count] = world.table_sizes();
            let CpuWorld { host, bodies: to, joints: own, current, .. } = world;
            to.states.copy(0, &bodies.states, body, body_count);
            to.accumulators.copy(0, &bodies.accumulators, body, body_count);
            own.states.copy(0, &joints.states, joint, joint_count);
            own.impulses.copy(0, &joints.impulses, row, row_count);
            own.blocks.forget();
            let (params, ContactTables { contacts, manifolds, .. }) = (&host.compiled.params, current);
            let (constraints, surfaces) = (&solver.constraints, &solver.surfaces);
            store_from(params, constraints, surfaces, counters, &mut next, &to.states, contacts, manifolds);
        }
    }
}

impl CpuWorld {
    fn params(&self) -> &Params {
        &self.host.compiled.params
    }

    /// Returns the numbers of bodies, joints and joint rows.
    fn table_sizes(&self) -> [usize; 3] {
        let Compiled { bodies, joints, .. } = &self.host.compiled;
        [bodies.len(), joints.joints.len(), joints.rows.len()]
    }

    /// Returns the stages from the preparation of constraints to the store of impulses, if none of them is left out.
    fn solver_stages(&self) -> Option<Range<usize>> {
        let color = self.plan.iter().position(|op| op.stage == Stage::Color)?;
        islands::solver(&self.plan, color + 1)
    }

    /// Ends the step of a world whose contacts have colours, by itself.
    fn step_on_alone(&mut self, begun: &BegunStep, solver: Range<usize>) -> Result<(), WorldError> {
        let ran = self.solve_colored(solver.start - 1, solver).and_then(|next| self.run_plan(next..self.plan.len()));
        self.finish(begun, ran)
    }
}

/// Fills a table with the joints of several worlds: those of each, and its first body, joint and joint row among those
/// of all. Only what sweeps read is filled.
fn gather_joints<'a>(all: &mut JointTable, worlds: impl Iterator<Item = (&'a JointTable, [usize; 3])> + Clone) {
    const ENDS: usize = JOINT_COLORS as usize;
    const TREES: usize = JOINT_TREES as usize;
    let worlds = worlds.map(|(table, first)| (table, first.map(u32_from)));
    let JointTable { joints, rows, starts, .. } = all;
    joints.clear();
    rows.clear();
    starts.clear();
    starts.resize(TREES + 2, 0);
    for (table, [first_body, _, first_row]) in worlds.clone() {
        joints.extend(table.joints.iter().map(|joint| JointData {
            body_a: joint.body_a + first_body,
            body_b: joint.body_b + first_body,
            first_row: joint.first_row + first_row,
            ..*joint
        }));
        rows.extend_from_slice(&table.rows);
        starts[TREES + 1] += table.starts.get(TREES + 1).copied().unwrap_or(0);
    }
    for color in 0..ENDS {
        starts[color] = u32_from(starts.len());
        for (table, [_, first_joint, _]) in worlds.clone() {
            starts.extend(of_color(&table.starts, color).iter().map(|place| place + first_joint));
        }
        starts[ENDS + color] = u32_from(starts.len());
    }
    let (mut list, count) = (starts.len(), starts[TREES + 1] as usize);
    starts[TREES] = u32_from(list);
    starts.resize(list + count, 0);
    let mut first_row = 0;
    for (table, [first_body, first_joint, _]) in worlds {
        for tree in trees(&table.starts) {
            starts[list] = u32_from(starts.len());
            list += 1;
            tree.copy_to(starts, first_body, first_joint, first_row);
        }
        first_row += u32_from(row_count(&table.starts));
    }
}

/// Returns true if the sweeps of two worlds read the same constants.
fn sweep_alike(one: &Params, other: &Params) -> bool {
    /// Constants that sweeps do not read and in which worlds of one kind differ: sizes of tables and of the grid.
    const OWN: [usize; 12] = [
        offset_of!(Params, body_count),
        offset_of!(Params, shape_count),
        offset_of!(Params, contact_capacity),
        offset_of!(Params, cell_count),
        offset_of!(Params, level_count),
        offset_of!(Params, color_blocks),
        offset_of!(Params, half_plane_count),
        offset_of!(Params, joint_count),
        offset_of!(Params, exclusion_heads),
        offset_of!(Params, exclusion_links),
        offset_of!(Params, late_plane_count),
        offset_of!(Params, fixed_levels),
    ];
    // The tables behind are those of single stages.
    fn scalars(params: &Params) -> &[u32] {
        &cast_slice(bytes_of(params))[..offset_of!(Params, pair_friction) / 4]
    }
    let differ = |(index, (one, other)): (usize, (&u32, &u32))| one != other && !OWN.contains(&(4 * index));
    !scalars(one).iter().zip(scalars(other)).enumerate().any(differ)
        && one.fields[..one.field_count as usize] == other.fields[..other.field_count as usize]
        && (one.switches & MATERIAL_SPRINGS == 0 || one.springs == other.springs)
}
