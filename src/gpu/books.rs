//! Time travel on the GPU: [`DeviceCopy`], a copy of a world's state that stays in device memory until it is read, and
//! worlds rebuilt together with the history of their added and removed bodies and joints.

use super::engine::at_parity;
use super::readback::{cast, download};
use super::state::complete;
use super::{Context, GpuWorld};
use crate::host::{Books, Host};
use crate::population::Population;
use crate::snapshot::{Carried, Snapshot, SnapshotMoment};
use crate::types::{self, BodyState, Contact, Counters, JointState, Manifold, Pose, SleepingContact};
use crate::world::WorldError;

/// Tables that make up a state.
const KEPT: [&str; 14] = [
    "counters",
    "poses",
    "states",
    "pair_starts",
    "islands",
    "sleeping_starts",
    "joint_states",
    "joint_impulses",
    "joints",
    "joint_rows",
    "bodies",
    "contacts",
    "manifolds",
    "sleeping",
];
/// First of the tables whose copies hold only the rows that may be in use.
const LONG_PARTS_START: usize = 11;

/// State between two steps, in buffers of the device. Read back only on request ([`Self::read`]).
#[derive(Debug)]
pub struct DeviceCopy {
    context: Context,
    moment: SnapshotMoment,
    parts: Vec<wgpu::Buffer>,
    bodies: usize,
    shapes: usize,
    joints: usize,
    rows: usize,
    capacity: u64,
}

impl DeviceCopy {
    /// Returns the size of all its buffers, in bytes.
    pub fn bytes(&self) -> u64 {
        self.parts.iter().map(wgpu::Buffer::size).sum()
    }

    /// Returns the number of steps done.
    #[must_use]
    pub fn step(&self) -> u64 {
        self.moment.step
    }

    /// Returns the hash of the history of added and removed bodies and joints ([`Population::history`]).
    #[must_use]
    pub fn population(&self) -> u64 {
        self.moment.population
    }

    /// Reads the snapshot. Waits for the device.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn read(&self) -> Result<Snapshot, WorldError> {
        let sleepers = if self.moment.sleeps { self.bodies } else { 0 };
        let producers = if self.moment.sleeps { self.shapes + 1 } else { 0 };
        let lengths = [
            size_of::<Counters>(),
            self.bodies * size_of::<Pose>(),
            self.bodies * size_of::<BodyState>(),
            (self.shapes + 1) * 4,
            sleepers * 4,
            producers * 4,
            self.joints * size_of::<JointState>(),
            self.rows * size_of::<[f32; 2]>(),
            self.joints * size_of::<types::JointData>(),
            self.rows * size_of::<types::JointRow>(),
            self.bodies * size_of::<types::BodyData>(),
        ];
        let wanted: Vec<_> = self.parts.iter().zip(lengths).map(|(buffer, bytes)| (buffer, 0, bytes as u64)).collect();
        let head = download(&self.context, &wanted)?;
        let counters = cast::<Counters>(&head[0]).first().copied().unwrap_or_default();
        let mut pair_starts: Vec<u32> = cast(&head[3]);
        complete(&mut pair_starts);
        let mut sleeping_starts: Vec<u32> = cast(&head[5]);
        complete(&mut sleeping_starts);
        let contacts = u64::from(counters.contacts).min(self.capacity);
        let archived = u64::from(sleeping_starts.last().copied().unwrap_or(0)).min(self.capacity);
        let tail = download(
            &self.context,
            &[
                (&self.parts[LONG_PARTS_START], 0, contacts * size_of::<Contact>() as u64),
                (&self.parts[LONG_PARTS_START + 1], 0, contacts * size_of::<Manifold>() as u64),
                (&self.parts[LONG_PARTS_START + 2], 0, archived * size_of::<SleepingContact>() as u64),
            ],
        )?;
        let mut bodies: Vec<types::BodyData> = cast(&head[10]);
        // Commands that are queued but not executed yet are unknown to the device: applies them to the bodies here.
        for command in self.moment.commands.iter().filter(|command| !command.is_for_joint()) {
            if let Some(body) = bodies.get_mut(command.body as usize) {
                command.mirror(body);
            }
        }
        let carried = Carried {
            poses: cast(&head[1]),
            states: cast(&head[2]),
            pair_starts: if self.moment.step == 0 { Vec::new() } else { pair_starts },
            contacts: cast(&tail[0]),
            manifolds: cast(&tail[1]),
            islands: &cast::<u32>(&head[4]),
            sleeping_starts,
            sleeping: cast(&tail[2]),
            counters,
            bodies: &bodies,
            joints: &cast::<types::JointData>(&head[8]),
            joint_rows: &cast::<types::JointRow>(&head[9]),
            joint_states: cast(&head[6]),
            joint_impulses: cast(&head[7]),
        };
        Ok(Snapshot::new(self.moment.clone(), carried))
    }
}

impl GpuWorld {
    /// Copies the state on the device. Does not wait.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn device_copy(&mut self) -> Result<DeviceCopy, WorldError> {
        self.poll()?;
        // The exact lengths if the counters of the last step have arrived, else the capacities.
        let known = self.known.filter(|(step, _)| step + 1 == self.host.steps).map(|(_, counters)| counters);
        let capacity = u64::from(self.engine.contact_capacity);
        let contacts = known.map_or(capacity, |counters| u64::from(counters.contacts).min(capacity));
        let archived = known.map_or(capacity, |counters| u64::from(counters.sleeping_contacts).min(capacity));
        let lengths = [
            contacts * size_of::<Contact>() as u64,
            contacts * size_of::<Manifold>() as u64,
            archived * size_of::<SleepingContact>() as u64,
        ];
        let device = self.context().device().clone();
        let mut encoder = self.engine.encoder();
        let mut parts = Vec::with_capacity(KEPT.len());
        for (index, name) in KEPT.iter().enumerate() {
            let from = &self.engine.buffers[at_parity(name, self.engine.parity)];
            let most = index.checked_sub(LONG_PARTS_START).map_or(from.size(), |long| lengths[long].min(from.size()));
            let size = most.next_multiple_of(4).max(16).min(from.size());
            let to = device.create_buffer(&wgpu::BufferDescriptor {
                label: Some("checkpoint"),
                size,
                usage: wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation: false,
            });
            encoder.copy_buffer_to_buffer(from, 0, &to, 0, size);
            parts.push(to);
        }
        self.submit(encoder)?;
        Ok(DeviceCopy {
            context: self.context().clone(),
            moment: self.host.moment(),
            parts,
            bodies: self.host.compiled.bodies.len(),
            shapes: self.host.compiled.shapes.len(),
            joints: self.host.compiled.joints.joints.len(),
            rows: self.host.compiled.joints.rows.len(),
            capacity: contacts.max(archived),
        })
    }

    /// Creates a world whose bodies and joints have changed since its scene; it needs a snapshot to continue from.
    ///
    /// # Errors
    /// If it does not fit the device.
    pub fn from_books(context: &Context, books: Books) -> Result<Self, WorldError> {
        Self::from_host(context, Host::from_books(books), None, context.kernels(false)?)
    }

    /// Returns the record of added and removed bodies and joints, if there were any.
    #[must_use]
    pub fn population(&self) -> Option<&Population> {
        self.host.population.as_ref()
    }

    /// Returns the latest counters that have arrived, and their step.
    #[must_use]
    pub fn known_counters(&self) -> Option<&(u64, Counters)> {
        self.known.as_ref()
    }
}
