//! Time travel on the GPU: [`DeviceCopy`], a copy of a world's state that stays in device memory until it is read, and
//! worlds rebuilt together with the history of their added and removed bodies and joints.

use super::engine::at_parity;
use super::state::{KeptRows, read_snapshot};
use super::{Context, GpuWorld};
use crate::host::{Books, Host};
use crate::population::Population;
use crate::snapshot::{Snapshot, SnapshotMoment};
use crate::types::{Contact, Counters, Manifold, SleepingContact};
use crate::world_error::WorldError;

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
    rows: KeptRows,
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
        read_snapshot(&self.context, self.moment.clone(), None, self.rows, |name, bytes| {
            let part = KEPT.iter().position(|kept| *kept == name).unwrap_or_default();
            (&self.parts[part], 0, bytes)
        })
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
        let known = self.known_counters().filter(|(step, _)| step + 1 == self.steps()).map(|(_, counters)| counters);
        let capacity = u64::from(self.contact_capacity());
        let contacts = known.map_or(capacity, |counters| u64::from(counters.contacts).min(capacity));
        let archived = known.map_or(capacity, |counters| u64::from(counters.sleeping_contacts).min(capacity));
        let lengths = [
            contacts * size_of::<Contact>() as u64,
            contacts * size_of::<Manifold>() as u64,
            archived * size_of::<SleepingContact>() as u64,
        ];
        let device = self.context().device().clone();
        let mut encoder = self.engine().encoder();
        let mut parts = Vec::with_capacity(KEPT.len());
        for (index, name) in KEPT.iter().enumerate() {
            let from = &self.engine().buffers[at_parity(name, self.engine().parity)];
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
            moment: self.host().moment(),
            parts,
            rows: KeptRows::of(self.compiled(), contacts.max(archived)),
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
        self.host().population.as_ref()
    }

    /// Returns the latest counters that have arrived, and their step.
    #[must_use]
    pub fn known_counters(&self) -> Option<&(u64, Counters)> {
        self.batch.world_hosts[0].known.as_ref()
    }
}
