//! [`Snapshot`]: the complete state of a world between two steps, for saving, going back, and moving between the
//! backends.

mod check;
mod file;

use std::sync::Arc;

use bytemuck::{Pod, Zeroable};

pub use file::SnapshotFileError;

use crate::population::{Population, SavedPopulation};
use crate::scene::{Compiled, JointTable};
use crate::types::{
    ASLEEP, BodyData, BodyState, CommandData, Contact, Counters, DYNAMIC, JOINT_DISABLED, JOINT_FRESH, JointData,
    JointRow, JointState, Manifold, Pose, ROW_MEASURE, SleepingContact,
};

/// The state of a world between two steps. Both backends write and restore it, so a run can move from one to the other.
///
/// ```
/// use drystone::{Body, Scene, Shape, World};
///
/// let mut scene = Scene::new("drop");
/// let ball = scene.add(Body::dynamic(0.0, 4.0).shape(Shape::circle(0.5)));
/// let mut world = World::new(&scene)?;
/// let start = world.snapshot()?;
/// world.step()?;
/// let after = world.body(ball)?.position();
/// // Back to the start, and to the same bits again.
/// world.restore(&start)?;
/// world.step()?;
/// assert_eq!(world.body(ball)?.position(), after);
/// # Ok::<(), drystone::WorldError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// Number of steps done.
    pub step: u64,
    /// Poses of the bodies' centres of mass.
    pub poses: Vec<Pose>,
    /// Velocities and status of the bodies.
    pub states: Vec<BodyState>,
    /// Shape `i` produced contacts `pair_starts[i] .. pair_starts[i + 1]`. One more than shapes; empty before the first
    /// step.
    pub pair_starts: Vec<u32>,
    /// Contacts of the last step, touching or not.
    pub contacts: Vec<Contact>,
    /// Manifold of each contact.
    pub manifolds: Vec<Manifold>,
    /// Island of each body: while it sleeps, the lowest index in its island, else its own. Empty, as the next two
    /// tables, where bodies do not sleep.
    pub islands: Vec<u32>,
    /// Shape `i` produced the archived contacts `sleeping_starts[i] .. sleeping_starts[i + 1]`. Empty before the first
    /// was archived.
    pub sleeping_starts: Vec<u32>,
    /// Archived contacts, of pairs of which both sleep.
    pub sleeping: Vec<SleepingContact>,
    /// Counters of the last step.
    pub counters: Counters,
    /// Constant force and torque of each body, which commands change.
    pub forces: Vec<Force>,
    /// Commands given since the last step.
    pub commands: Vec<CommandData>,
    /// Hash of all additions and removals before. A world with a different history can be restored to this one if the
    /// snapshot has its [`Lineage`], or if all changes are those of the scene's emitters.
    pub population: u64,
    /// Slots vacated since the last step.
    pub vacated: Vec<u32>,
    /// State of each joint, by slot, as in [`crate::scene::JointTable::joints`].
    pub joint_states: Vec<JointState>,
    /// Fields of each joint that commands change, by slot.
    pub joint_goals: Vec<JointGoal>,
    /// Fields of each joint row that commands change.
    pub row_goals: Vec<RowGoal>,
    /// Impulses of the last substep, N·s, or N·m·s for angles, for each row of [`crate::scene::JointTable::rows`]. Only
    /// rows of points use the second coordinate.
    pub joint_impulses: Vec<[f32; 2]>,
    /// Steps before which the scene's timed commands begin to act, `u64::MAX` for those that wait for their condition.
    /// Empty in scenes without such conditions.
    pub timed_starts: Vec<u64>,
    /// World of which it was taken. Not in bytes.
    pub lineage: Lineage,
}

/// Origin of a snapshot: the scene and gravity of the world of which it was taken, and its bodies and joints if some
/// had been added or removed by hand. With it a world can be restored over additions and removals, and refuses the
/// snapshot of another scene. The default fits every world with as many bodies, shapes and joints.
///
/// All lineages compare equal, so that two snapshots are compared by their state alone.
#[derive(Clone, Debug, Default)]
pub struct Lineage {
    fingerprint: Option<u64>,
    gravity: Option<[f32; 2]>,
    kept: Option<Arc<SavedPopulation>>,
}

impl PartialEq for Lineage {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Lineage {
    pub(crate) fn new(fingerprint: u64, gravity: [f32; 2], kept: Option<Arc<SavedPopulation>>) -> Self {
        Self { fingerprint: Some(fingerprint), gravity: Some(gravity), kept }
    }

    pub(crate) fn fingerprint(&self) -> Option<u64> {
        self.fingerprint
    }

    pub(crate) fn gravity(&self) -> Option<[f32; 2]> {
        self.gravity
    }

    pub(crate) fn kept(&self) -> Option<&Arc<SavedPopulation>> {
        self.kept.as_ref()
    }
}

/// Host's part of a snapshot: the number of steps, commands, and the population.
#[derive(Clone, Debug, Default)]
pub(crate) struct SnapshotMoment {
    /// Number of steps done.
    pub step: u64,
    /// True if bodies sleep.
    pub sleeps: bool,
    /// Commands for the next step.
    pub commands: Vec<CommandData>,
    /// Hash of all additions and removals ([`Population::history`]).
    pub population: u64,
    /// Slots vacated since the last step.
    pub vacated: Vec<u32>,
    /// Steps before which timed commands begin to act.
    pub timed_starts: Vec<u64>,
    pub lineage: Lineage,
}

/// Engine's part of a snapshot: the tables that a world carries from one step to the next.
#[derive(Debug)]
pub(crate) struct Carried<'a> {
    pub poses: Vec<Pose>,
    pub states: Vec<BodyState>,
    pub pair_starts: Vec<u32>,
    pub contacts: Vec<Contact>,
    pub manifolds: Vec<Manifold>,
    pub islands: &'a [u32],
    pub sleeping_starts: Vec<u32>,
    pub sleeping: Vec<SleepingContact>,
    pub counters: Counters,
    pub bodies: &'a [BodyData],
    pub joints: &'a [JointData],
    pub joint_rows: &'a [JointRow],
    pub joint_states: Vec<JointState>,
    pub joint_impulses: Vec<[f32; 2]>,
}

/// Constant force and torque of a body.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Force {
    /// Force in world axes, N.
    pub force: [f32; 2],
    /// Point at which the force acts, from the centre of mass, in the body's frame, m.
    pub point: [f32; 2],
    /// Torque, N·m.
    pub torque: f32,
}

impl Force {
    /// Returns the constant force and torque of a body.
    #[must_use]
    pub fn of(body: &BodyData) -> Self {
        Self { force: body.force, point: body.force_point, torque: body.torque }
    }

    pub(crate) fn put(self, body: &mut BodyData) {
        body.force = self.force;
        body.force_point = self.point;
        body.torque = self.torque;
    }
}

/// Fields of a joint that commands change, or that are measured when it is added.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct JointGoal {
    /// Value of [`JointData::anchor_a`], m.
    pub anchor_a: [f32; 2],
    /// Value of [`JointData::reference_angle`], rad.
    pub reference_angle: f32,
    /// Flags [`JOINT_DISABLED`] and [`JOINT_FRESH`] of [`JointData::flags`].
    pub flags: u32,
}

/// Fields of a joint row that commands change, or that are measured when the joint is added.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct RowGoal {
    /// Value of [`JointRow::goal`].
    pub goal: f32,
    /// Value of [`JointRow::max_impulse`].
    pub max_impulse: f32,
    /// Flag [`ROW_MEASURE`] of [`JointRow::kind`].
    pub kind: u32,
    /// Value of [`JointRow::goal_y`].
    pub goal_y: f32,
}

impl JointGoal {
    const FLAGS: u32 = JOINT_DISABLED | JOINT_FRESH;

    pub(crate) fn of(joint: &JointData) -> Self {
        let JointData { anchor_a, reference_angle, flags, .. } = *joint;
        Self { anchor_a, reference_angle, flags: flags & Self::FLAGS }
    }

    fn put(self, joint: &mut JointData) {
        (joint.anchor_a, joint.reference_angle) = (self.anchor_a, self.reference_angle);
        joint.flags = joint.flags & !Self::FLAGS | self.flags;
    }
}

impl RowGoal {
    /// Returns the goal of a row.
    #[must_use]
    pub fn of(row: &JointRow) -> Self {
        Self { goal: row.goal, max_impulse: row.max_impulse, kind: row.kind & ROW_MEASURE, goal_y: row.goal_y }
    }

    fn put(self, row: &mut JointRow) {
        (row.goal, row.goal_y, row.max_impulse) = (self.goal, self.goal_y, self.max_impulse);
        row.kind = row.kind & !ROW_MEASURE | self.kind;
    }
}

/// Checks that a snapshot is of a world with these tables, bodies and joints.
///
/// # Errors
/// The first table, index or count that does not fit.
pub fn check_snapshot(
    snapshot: &Snapshot,
    compiled: &Compiled,
    population: Option<&Population>,
) -> Result<(), SnapshotError> {
    snapshot.check(compiled, population)
}

impl Snapshot {
    /// Writes the goals of the snapshot to the joints.
    pub(crate) fn put_goals(&self, joints: &mut JointTable) {
        for (joint, goal) in joints.joints.iter_mut().zip(&self.joint_goals) {
            goal.put(joint);
        }
        for (row, goal) in joints.rows.iter_mut().zip(&self.row_goals) {
            goal.put(row);
        }
        joints.refresh();
    }

    /// Returns a snapshot. Every snapshot of a world is made here.
    pub(crate) fn new(moment: SnapshotMoment, carried: Carried) -> Self {
        let SnapshotMoment { step, sleeps, commands, population, vacated, timed_starts, lineage } = moment;
        let Carried { bodies, joints, joint_rows, states, .. } = carried;
        Self {
            step,
            islands: sleeping_islands(bodies, sleeps, &states, carried.islands, &vacated),
            sleeping_starts: carried.sleeping_starts,
            sleeping: carried.sleeping,
            poses: carried.poses,
            states,
            pair_starts: carried.pair_starts,
            contacts: carried.contacts,
            manifolds: carried.manifolds,
            counters: carried.counters,
            forces: bodies.iter().map(Force::of).collect(),
            commands,
            population,
            vacated,
            joint_states: carried.joint_states,
            joint_goals: joints.iter().map(JointGoal::of).collect(),
            row_goals: joint_rows.iter().map(RowGoal::of).collect(),
            joint_impulses: carried.joint_impulses,
            timed_starts,
            lineage,
        }
    }

    /// Returns the snapshot of a world before its first step.
    pub(crate) fn of_start(compiled: &Compiled) -> Self {
        let moment = SnapshotMoment {
            sleeps: compiled.settings.sleep,
            population: Population::history(None),
            timed_starts: Population::new(compiled).timed_starts(compiled),
            lineage: Lineage { gravity: Some(compiled.params.gravity), ..Lineage::default() },
            ..SnapshotMoment::default()
        };
        let JointTable { joints, rows, states, .. } = &compiled.joints;
        let carried = Carried {
            poses: compiled.poses.clone(),
            states: compiled.states.clone(),
            pair_starts: Vec::new(),
            contacts: Vec::new(),
            manifolds: Vec::new(),
            islands: &first_islands(compiled),
            sleeping_starts: Vec::new(),
            sleeping: Vec::new(),
            counters: Counters::default(),
            bodies: &compiled.bodies,
            joints,
            joint_rows: rows,
            joint_states: states.clone(),
            joint_impulses: vec![[0.0; 2]; rows.len()],
        };
        Self::new(moment, carried)
    }
}

/// Returns the islands before any body slept.
#[must_use]
pub fn first_islands(compiled: &Compiled) -> Vec<u32> {
    #[allow(clippy::cast_possible_truncation, reason = "bodies are counted in u32")]
    let bodies = compiled.bodies.len() as u32;
    if compiled.settings.sleep { (0..bodies).collect() } else { Vec::new() }
}

/// Returns the islands of sleeping bodies, without the scratch values that the search leaves. Slots that were just
/// vacated keep theirs: what slept with their bodies has yet to wake.
fn sleeping_islands(
    bodies: &[BodyData],
    sleeps: bool,
    states: &[BodyState],
    islands: &[u32],
    vacated: &[u32],
) -> Vec<u32> {
    let rows = (0_u32..).zip(islands).zip(states.iter().zip(bodies));
    let is_asleep = |state: &BodyState, body: &BodyData| body.kind == DYNAMIC && state.status & ASLEEP != 0;
    let mut roots: Vec<u32> =
        rows.map(|((index, &island), (state, body))| if is_asleep(state, body) { island } else { index }).collect();
    for &slot in vacated.iter().filter(|_| sleeps) {
        let root = islands.get(slot as usize).copied().unwrap_or(slot);
        // A root that is none any more is a scratch value of an awake body.
        if roots.get(root as usize) == Some(&root) {
            roots[slot as usize] = root;
        }
    }
    roots
}

/// Returns true if a step with these counters began and ended with all bodies asleep. Then the next steps change
/// nothing, unless there are commands.
pub(crate) fn is_at_rest(counters: &Counters) -> bool {
    counters.was_awake == 0 && counters.awake == 0 && counters.woken == 0 && counters.slept == 0
}

/// Error of a snapshot that is of another world.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the snapshot does not belong to this world: {what}: found {found}, expected {expected}")]
pub struct SnapshotError {
    /// Name of the table or value.
    pub what: &'static str,
    /// Value in the snapshot: a length, a count or an index.
    pub found: usize,
    /// Value that this world expects: a length, a count, or for an index the bound above it.
    pub expected: usize,
}
