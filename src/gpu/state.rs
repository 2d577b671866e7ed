//! Reads the tables of a world back to the host, as a snapshot or for comparison, and writes a snapshot back to the
//! device.

use std::mem::offset_of;

use super::context::Context;
use super::engine::{Engine, at_parity};
use super::readback::{BufferRange, cast, download};
use super::writes::Writes;
use crate::initial_loads::InitialContacts;
use crate::scene::{Compiled, JointTable};
use crate::snapshot::{Carried, Snapshot, SnapshotMoment};
use crate::tables::Tables;
use crate::types::{
    self, Aabb, Accumulator, BodyData, BodyState, COLOR_COUNT, ConstraintTile, Contact, Counters, EventData, JointData,
    JointFrame, JointRow, JointState, Manifold, Params, Pose, Rebound, SURFACES, SleepingContact, Surface, TILE_LANES,
};
use crate::world_error::WorldError;

/// Numbers of rows of the tables that a snapshot is read from.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeptRows {
    bodies: usize,
    shapes: usize,
    joints: usize,
    /// Rows of joints.
    rows: usize,
    /// Most contacts, and most archived contacts.
    contacts: u64,
}

impl KeptRows {
    /// Returns the rows of a world with at most this number of contacts.
    pub fn of(compiled: &Compiled, contacts: u64) -> Self {
        let JointTable { joints, rows, .. } = &compiled.joints;
        let (bodies, shapes) = (compiled.bodies.len(), compiled.shapes.len());
        Self { bodies, shapes, joints: joints.len(), rows: rows.len(), contacts }
    }
}

/// Reads a snapshot from the tables that a world carries from one step to the next. `of` returns the place of that many
/// bytes of a table. The bodies are read from the device too if they are `None`. Waits for the device.
///
/// # Errors
/// If the device is lost.
pub(super) fn read_snapshot<'a>(
    context: &Context,
    moment: SnapshotMoment,
    bodies: Option<&[BodyData]>,
    kept: KeptRows,
    of: impl Fn(&'static str, u64) -> BufferRange<'a>,
) -> Result<Snapshot, WorldError> {
    let (sleepers, producers) = if moment.sleeps { (kept.bodies, kept.shapes + 1) } else { (0, 0) };
    let read = if bodies.is_none() { kept.bodies } else { 0 };
    let head = [
        ("counters", size_of::<Counters>()),
        ("poses", kept.bodies * size_of::<Pose>()),
        ("states", kept.bodies * size_of::<BodyState>()),
        ("pair_starts", (kept.shapes + 1) * 4),
        ("islands", sleepers * 4),
        ("sleeping_starts", producers * 4),
        ("joint_states", kept.joints * size_of::<JointState>()),
        ("joint_impulses", kept.rows * size_of::<[f32; 2]>()),
        ("joints", kept.joints * size_of::<JointData>()),
        ("joint_rows", kept.rows * size_of::<JointRow>()),
        ("bodies", read * size_of::<BodyData>()),
    ];
    let head = download(context, &head.map(|(name, bytes)| of(name, bytes as u64)))?;
    let counters = cast::<Counters>(&head[0]).first().copied().unwrap_or_default();
    let [mut pair_starts, mut sleeping_starts] = [cast::<u32>(&head[3]), cast::<u32>(&head[5])];
    complete(&mut pair_starts);
    complete(&mut sleeping_starts);
    let contacts = u64::from(counters.contacts).min(kept.contacts);
    let archived = u64::from(sleeping_starts.last().copied().unwrap_or(0)).min(kept.contacts);
    let tail = [
        ("contacts", contacts * size_of::<Contact>() as u64),
        ("manifolds", contacts * size_of::<Manifold>() as u64),
        ("sleeping", archived * size_of::<SleepingContact>() as u64),
    ];
    let tail = download(context, &tail.map(|(name, bytes)| of(name, bytes)))?;
    let mut found: Vec<BodyData> = cast(&head[10]);
    // Commands that are queued but not executed yet are unknown to the device: applies them to the bodies here.
    for command in moment.commands.iter().filter(|command| !command.is_for_joint()) {
        if let Some(body) = found.get_mut(command.body as usize) {
            command.mirror(body);
        }
    }
    let carried = Carried {
        poses: cast(&head[1]),
        states: cast(&head[2]),
        // Before the first step the table has no valid contents.
        pair_starts: if moment.step == 0 { Vec::new() } else { pair_starts },
        contacts: cast(&tail[0]),
        manifolds: cast(&tail[1]),
        islands: &cast::<u32>(&head[4]),
        sleeping_starts,
        sleeping: cast(&tail[2]),
        counters,
        bodies: bodies.unwrap_or(&found),
        joints: &cast::<JointData>(&head[8]),
        joint_rows: &cast::<JointRow>(&head[9]),
        joint_states: cast(&head[6]),
        joint_impulses: cast(&head[7]),
    };
    Ok(Snapshot::new(moment, carried))
}

/// Completes prefix sums for shapes that the last step did not have: their lists are empty.
fn complete(pair_starts: &mut [u32]) {
    let mut last = 0;
    for start in pair_starts {
        last = last.max(*start);
        *start = last;
    }
}

/// Returns the writes that continue a world from a snapshot, for which its tables are large enough. `parity` selects
/// the world's current contact tables. `compiled` already contains the snapshot's changes of bodies and joints.
pub(super) fn restored(compiled: &Compiled, parity: usize, snapshot: &Snapshot) -> Writes {
    let mut writes = Writes::default();
    writes.all("poses", &snapshot.poses);
    writes.all("states", &snapshot.states);
    let starts = vec![0; compiled.shapes.len() + 1];
    let starts = if snapshot.pair_starts.is_empty() { &starts } else { &snapshot.pair_starts };
    writes.all(at_parity("pair_starts", parity), starts);
    writes.all(at_parity("contacts", parity), &snapshot.contacts);
    writes.all(at_parity("manifolds", parity), &snapshot.manifolds);
    if compiled.settings.sleep {
        let mut starts = snapshot.sleeping_starts.clone();
        starts.resize(compiled.shapes.len() + 1, starts.last().copied().unwrap_or(0));
        writes.all("sleeping_starts", &starts);
        writes.all("sleeping", &snapshot.sleeping);
        writes.all("islands", &snapshot.islands);
        writes.all("island_flags", &vec![0_u32; snapshot.islands.len()]);
    }
    writes.all("counters", &[snapshot.counters]);
    writes.all("bodies", &compiled.bodies);
    writes.all("joints", &compiled.joints.joints);
    writes.all("joint_rows", &compiled.joints.rows);
    writes.all("joint_states", &snapshot.joint_states);
    writes.all("joint_impulses", &snapshot.joint_impulses);
    writes
}

/// Returns the writes of the contacts with which a world begins. `parity` selects its current contact tables.
pub(super) fn begun(parity: usize, initial: &InitialContacts) -> Writes {
    let mut writes = Writes::default();
    writes.all(at_parity("pair_starts", parity), &initial.pair_starts);
    writes.all(at_parity("contacts", parity), &initial.contacts);
    writes.all(at_parity("manifolds", parity), &initial.manifolds);
    writes.all("states", &initial.states);
    // A world that waits while others step has as many contacts copied.
    #[allow(clippy::cast_possible_truncation, reason = "contacts are counted in u32")]
    writes.push("counters", offset_of!(Counters, contacts) as u64, &[initial.contacts.len() as u32]);
    writes
}

impl Engine {
    /// Reads all tables of a world whose current contact tables have this parity.
    ///
    /// # Errors
    /// If the device is lost.
    #[allow(clippy::too_many_lines, reason = "one line a table")]
    pub fn tables(&self, compiled: &Compiled, world: usize, parity: usize) -> Result<Tables, WorldError> {
        let Params { body_count, shape_count, cell_count, joint_count, .. } = compiled.params;
        let (bodies, shapes, joints) = (u64::from(body_count), u64::from(shape_count), u64::from(joint_count));
        let (sleepers, producers) = if compiled.settings.sleep { (bodies, shapes + 1) } else { (0, 0) };
        let rows = compiled.joints.rows.len() as u64;
        let of = |name: &str, bytes: u64| (&self.buffers[name], self.offset(name, world), bytes);
        let head = download(
            &self.context,
            &[
                of("counters", size_of::<Counters>() as u64),
                of("poses", bodies * size_of::<Pose>() as u64),
                of("states", bodies * size_of::<BodyState>() as u64),
                of("accumulators", bodies * size_of::<Accumulator>() as u64),
                of("aabbs", shapes * size_of::<Aabb>() as u64),
                of("cell_ends", (u64::from(cell_count) + 1) * 4),
                of("cell_shapes", shapes * 4),
                of(at_parity("pair_starts_previous", parity), (shapes + 1) * 4),
                of(at_parity("pair_starts", parity), (shapes + 1) * 4),
                of("joint_frames", joints * size_of::<JointFrame>() as u64),
                of("joint_states", joints * size_of::<JointState>() as u64),
                of("joint_impulses", rows * size_of::<[f32; 2]>() as u64),
                of("islands", sleepers * 4),
                of("island_flags", sleepers * 4),
                of("sleeping_starts", producers * 4),
                of("event_starts", if compiled.settings.events { (shapes + joints + 1) * 4 } else { 0 }),
                of("joints", joints * size_of::<JointData>() as u64),
                of("joint_rows", rows * size_of::<JointRow>() as u64),
                of("motions", bodies * size_of::<types::BodyMotion>() as u64),
            ],
        )?;
        let counters = cast::<Counters>(&head[0])[0];
        let mut pair_starts_previous: Vec<u32> = cast(&head[7]);
        let mut pair_starts: Vec<u32> = cast(&head[8]);
        complete(&mut pair_starts_previous);
        complete(&mut pair_starts);
        let mut sleeping_starts: Vec<u32> = cast(&head[14]);
        complete(&mut sleeping_starts);
        let archived = u64::from(sleeping_starts.last().copied().unwrap_or(0).min(self.contact_capacity));
        let contacts = u64::from(counters.contacts.min(self.contact_capacity));
        let previous = u64::from(pair_starts_previous.last().copied().unwrap_or(0).min(self.contact_capacity));
        let constraints = u64::from(counters.color_starts[COLOR_COUNT as usize].min(self.contact_capacity));
        let tiles = constraints.div_ceil(u64::from(TILE_LANES));
        let surfaces = if compiled.params.switches & SURFACES == 0 { 0 } else { constraints };
        let rebounds = if compiled.bounces { constraints } else { 0 };
        let reported = head.get(15).and_then(|bytes| cast::<u32>(bytes).last().copied()).unwrap_or(0);
        let reported = u64::from(reported.min(self.event_capacity));
        let tail = download(
            &self.context,
            &[
                of(at_parity("contacts_previous", parity), previous * size_of::<Contact>() as u64),
                of(at_parity("contacts", parity), contacts * size_of::<Contact>() as u64),
                of("slots", constraints * 4),
                of("constraints", tiles * size_of::<ConstraintTile>() as u64),
                of("surfaces", surfaces * size_of::<Surface>() as u64),
                of("events", reported * size_of::<EventData>() as u64),
                of("sleeping", archived * size_of::<SleepingContact>() as u64),
                of(at_parity("manifolds_previous", parity), previous * size_of::<Manifold>() as u64),
                of(at_parity("manifolds", parity), contacts * size_of::<Manifold>() as u64),
                of("rebounds", rebounds * size_of::<Rebound>() as u64),
            ],
        )?;
        let slots: Vec<u32> = cast(&tail[2]);
        Ok(Tables {
            poses: cast(&head[1]),
            states: cast(&head[2]),
            accumulators: cast(&head[3]),
            motions: cast(&head[18]),
            aabbs: cast(&head[4]),
            cell_ends: cast(&head[5]),
            cell_shapes: cast(&head[6]),
            pair_starts_previous,
            pair_starts,
            contacts_previous: cast(&tail[0]),
            contacts: cast(&tail[1]),
            manifolds_previous: cast(&tail[7]),
            manifolds: cast(&tail[8]),
            constraints: cast::<ConstraintTile>(&tail[3])
                .iter()
                .flat_map(ConstraintTile::constraints)
                .take(slots.len())
                .collect(),
            slots,
            rebounds: cast(&tail[9]),
            surfaces: cast(&tail[4]),
            events: cast(&tail[5]),
            islands: cast(&head[12]),
            island_flags: cast(&head[13]),
            sleeping_starts,
            sleeping: cast(&tail[6]),
            joints: cast(&head[16]),
            joint_rows: cast(&head[17]),
            joint_frames: cast(&head[9]),
            joint_states: cast(&head[10]),
            joint_impulses: cast(&head[11]),
            counters,
        })
    }
}
