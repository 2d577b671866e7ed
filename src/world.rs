//! One world, whichever backend steps it.

use glam::Vec2;

use crate::cancel::CancelToken;
use crate::command::{Command, CommandError, JointCommand};
use crate::cpu::CpuWorld;
use crate::device_error::DeviceError;
use crate::event::Event;
use crate::explosion::Explosion;
use crate::gpu::GpuWorld;
use crate::population::{BodyId, JointId, Journal, PopulationError, joint_id};
use crate::query::{Answers, Query, QueryBounds, QueryError};
use crate::scene::{Body, Compiled, Joint, Scene, SceneError, check_gravity};
use crate::snapshot::{Snapshot, SnapshotError, SnapshotFileError};
use crate::state::{JointReaction, joint_reactions, max_speed};
use crate::step::Stage;
use crate::threads::ThreadsError;

/// Why a world could not be made or stepped.
#[derive(Debug, thiserror::Error)]
pub enum WorldError {
    /// The scene is not valid.
    #[error(transparent)]
    Scene(#[from] SceneError),
    /// A command to one of many worlds was refused.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// Bodies or joints could not be added or removed.
    #[error(transparent)]
    Population(#[from] PopulationError),
    /// The snapshot is of another world.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// The bytes are no snapshot of this world.
    #[error(transparent)]
    SnapshotFile(#[from] SnapshotFileError),
    /// A query has a value out of range.
    #[error(transparent)]
    Query(#[from] QueryError),
    /// The queries of a batch find more shapes than their bounds allow ([`crate::query::QueryBounds`]).
    #[error("query {index} brings the shapes found to {found}; at most {limit} are allowed")]
    TooManyFound {
        /// Index of the query in the batch.
        index: usize,
        /// Shapes found up to and with that query.
        found: usize,
        /// Shapes allowed.
        limit: usize,
    },
    /// The operating system refused to start threads.
    #[error(transparent)]
    Threads(#[from] ThreadsError),
    /// The device is lost or refused something.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// A shader does not compile: a mistake of ours, or of the driver.
    #[error("{0}")]
    Kernel(String),
    /// The step was given up, as its [`CancelToken`] was cancelled, or one before it was. The world is of no use until it
    /// continues from a snapshot.
    #[error("the step was cancelled; the world goes on from a snapshot only")]
    Cancelled,
    /// The step has more contacts than the world may have. The world is as before the step, but for commands, which are
    /// done: remove bodies or allow more, and step again.
    #[error(
        "the step finds {found} contacts or more, at most {limit} are allowed: too many shapes overlap; move or remove \
         some, or allow more"
    )]
    TooManyContacts {
        /// Contacts that were found until the search was given up.
        found: usize,
        /// Contacts that the world allows ([`World::set_contact_limit`]).
        limit: usize,
    },
    /// Worlds that cannot run side by side.
    #[error("many worlds: {0}")]
    Many(String),
    /// The world does not fit the device.
    #[error("buffer {buffer} needs {bytes} bytes, the device allows {limit}")]
    TooLarge {
        /// Which buffer.
        buffer: &'static str,
        /// Its size.
        bytes: u64,
        /// What the device allows.
        limit: u64,
    },
}

/// A world on either backend.
#[derive(Debug)]
pub enum World {
    /// On the CPU.
    Cpu(Box<CpuWorld>),
    /// On the GPU.
    Gpu(Box<GpuWorld>),
}

impl From<CpuWorld> for World {
    fn from(world: CpuWorld) -> Self {
        Self::Cpu(Box::new(world))
    }
}

impl From<GpuWorld> for World {
    fn from(world: GpuWorld) -> Self {
        Self::Gpu(Box::new(world))
    }
}

impl World {
    /// A world as the scene describes it, on the CPU, on one thread.
    ///
    /// # Errors
    /// If the scene is not valid.
    pub fn new(scene: &Scene) -> Result<Self, WorldError> {
        CpuWorld::new(scene).map(Self::from)
    }

    /// A world as the scene describes it, on the CPU, on so many threads. Their number does not change the result.
    ///
    /// # Errors
    /// If the scene is not valid, or the operating system refuses to start the threads.
    pub fn on_threads(scene: &Scene, count: usize) -> Result<Self, WorldError> {
        CpuWorld::new(scene)?.with_threads(count).map(Self::from)
    }

    /// A world as the scene describes it, on the GPU.
    ///
    /// # Errors
    /// If the scene is not valid or does not fit the device.
    #[cfg(feature = "gpu")]
    pub fn on_gpu(context: &crate::gpu::Context, scene: &Scene) -> Result<Self, WorldError> {
        GpuWorld::new(context, scene).map(Self::from)
    }

    /// Advances the world by one step.
    ///
    /// # Errors
    /// As [`CpuWorld::step`] and [`GpuWorld::step`].
    pub fn step(&mut self) -> Result<(), WorldError> {
        match self {
            Self::Cpu(world) => world.step(),
            Self::Gpu(world) => world.step(),
        }
    }

    /// Sets the token by which another thread may end a step early, with [`WorldError::Cancelled`].
    pub fn set_cancel_token(&mut self, token: CancelToken) {
        match self {
            Self::Cpu(world) => world.set_cancel_token(token),
            Self::Gpu(world) => world.set_cancel_token(token),
        }
    }

    /// Sets how many contacts a step may have, those of sleeping bodies included. Of more it fails with
    /// [`WorldError::TooManyContacts`] before there is memory for them. Without it the limit is 1,048,576, or 32 a shape if
    /// that is more.
    pub fn set_contact_limit(&mut self, limit: usize) {
        match self {
            Self::Cpu(world) => world.set_contact_limit(limit),
            Self::Gpu(world) => world.set_contact_limit(limit),
        }
    }

    /// Contacts that a step may have.
    #[must_use]
    pub fn contact_limit(&self) -> usize {
        match self {
            Self::Cpu(world) => world.contact_limit(),
            Self::Gpu(world) => world.contact_limit(),
        }
    }

    /// Advances the world by one step and measures its stages. On the GPU this waits for the device.
    ///
    /// # Errors
    /// As [`Self::step`].
    pub fn step_profiled(&mut self) -> Result<(), WorldError> {
        match self {
            Self::Cpu(_) => self.step(),
            Self::Gpu(world) => world.step_profiled(),
        }
    }

    /// Asks something of a body; it happens at the start of the next step. Nothing waits. A body of the scene may be given by
    /// its index there, which never means a body that comes to its slot later.
    ///
    /// # Errors
    /// If there is no such body, or no longer, it does not move in this way, or a value is not finite.
    pub fn command(&mut self, body: impl Into<BodyId>, command: Command) -> Result<(), CommandError> {
        match self {
            Self::Cpu(world) => world.command(body, command),
            Self::Gpu(world) => world.command(body, command),
        }
    }

    fn command_slot(&mut self, slot: usize, command: Command) -> Result<(), CommandError> {
        match self {
            Self::Cpu(world) => world.command_slot(slot, command),
            Self::Gpu(world) => world.command_slot(slot, command),
        }
    }

    /// Pushes what is around a place away from it, at the start of the next step: one impulse on each dynamic shape in reach.
    /// Returns how many. Who sleeps there wakes. On the GPU this waits for the device and reads the poses back.
    ///
    /// # Errors
    /// If a value is out of range or the device is lost.
    pub fn explode(&mut self, explosion: &Explosion) -> Result<usize, WorldError> {
        explosion.check()?;
        let pushes = match self {
            Self::Cpu(world) => explosion.pushes(world.compiled(), world.poses()),
            Self::Gpu(world) => {
                let poses = world.read_poses()?;
                explosion.pushes(world.compiled(), &poses)
            }
        };
        for &(body, push) in &pushes {
            self.command_slot(body, push)?;
        }
        Ok(pushes.len())
    }

    /// Wakes every body at the start of the next step, where bodies sleep ([`crate::Settings::sleep`]).
    pub fn wake_all(&mut self) {
        match self {
            Self::Cpu(world) => world.wake_all(),
            Self::Gpu(world) => world.wake_all(),
        }
    }

    /// Sets gravity from the next step on, m/s², and wakes all bodies, unless it is the same.
    ///
    /// # Errors
    /// A coordinate is not a number, or out of the range of a scene; then nothing has changed.
    pub fn set_gravity(&mut self, gravity: Vec2) -> Result<(), WorldError> {
        check_gravity(gravity)?;
        match self {
            Self::Cpu(world) => world.set_gravity(gravity.into()),
            Self::Gpu(world) => world.set_gravity(gravity.into()),
        }
        Ok(())
    }

    /// Adds bodies to the running world: all of them or, with an error, none. They take part from the next step on.
    /// Slots of bodies that were removed are given out again, the lowest first, once a step has run without them.
    ///
    /// # Errors
    /// The first value that is out of range, as for a scene; more than 16 half planes beside those of the scene; or if they
    /// do not fit the device.
    pub fn add_bodies(&mut self, bodies: &[Body]) -> Result<Vec<BodyId>, WorldError> {
        match self {
            Self::Cpu(world) => world.add_bodies(bodies),
            Self::Gpu(world) => world.add_bodies(bodies),
        }
    }

    /// Removes bodies and their joints from the running world: all of them or, with an error, none.
    ///
    /// # Errors
    /// If a body is not there, or no longer, or given twice; or the device is lost.
    pub fn remove_bodies(&mut self, ids: &[BodyId]) -> Result<(), WorldError> {
        match self {
            Self::Cpu(world) => world.remove_bodies(ids),
            Self::Gpu(world) => world.remove_bodies(ids),
        }
    }

    /// Adds joints to the running world: all of them or, with an error, none. They hold from the next step on. Their bodies
    /// are given by their slots. A length or a reference angle that is not given is as the bodies stand when that step
    /// begins, a length then at least 0.1 mm. Indices of joints that are gone are given out again, the lowest first.
    ///
    /// # Errors
    /// The first value that is out of range, as for a scene; or if they do not fit the device.
    pub fn add_joints(&mut self, joints: &[Joint]) -> Result<Vec<JointId>, WorldError> {
        match self {
            Self::Cpu(world) => world.add_joints(joints),
            Self::Gpu(world) => world.add_joints(joints),
        }
    }

    /// Adds joints as [`Self::add_joints`] does, between bodies that are given by id, which take the place of
    /// [`Joint::a`] and [`Joint::b`]; `None` is the world. A body that has gone is an error, whatever has come to its slot.
    ///
    /// # Errors
    /// If a body is not there, or no longer; else as [`Self::add_joints`].
    pub fn add_joints_between(
        &mut self,
        joints: &[(Option<BodyId>, BodyId, Joint)],
    ) -> Result<Vec<JointId>, WorldError> {
        match self {
            Self::Cpu(world) => world.add_joints_between(joints),
            Self::Gpu(world) => world.add_joints_between(joints),
        }
    }

    /// Removes joints from the running world: all of them or, with an error, none. Their bodies touch again.
    ///
    /// # Errors
    /// If a joint is not there, or no longer, or given twice; or the device is lost.
    pub fn remove_joints(&mut self, ids: &[JointId]) -> Result<(), WorldError> {
        match self {
            Self::Cpu(world) => world.remove_joints(ids),
            Self::Gpu(world) => world.remove_joints(ids),
        }
    }

    /// The joint with an index, if there is one: of the scene's, its place there.
    #[must_use]
    pub fn joint_id(&self, index: usize) -> Option<JointId> {
        joint_id(self.compiled(), index)
    }

    /// Asks something of a joint; it happens at the start of the next step. Nothing waits.
    ///
    /// # Errors
    /// If there is no such joint, it has nothing of the kind, or a value is out of range.
    pub fn command_joint(&mut self, joint: JointId, command: JointCommand) -> Result<(), CommandError> {
        match self {
            Self::Cpu(world) => world.command_joint(joint, command),
            Self::Gpu(world) => world.command_joint(joint, command),
        }
    }

    /// What happened since this was last asked, oldest first, if the scene wants events ([`crate::Settings::events`]). On
    /// the GPU what has arrived; after [`Self::wait`] that is all.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn take_events(&mut self) -> Result<Vec<Event>, WorldError> {
        match self {
            Self::Cpu(world) => Ok(world.take_events()),
            Self::Gpu(world) => world.take_events(),
        }
    }

    /// Returns the id of the body in a slot now, if there is one. Remember the id: a slot may come to have another body.
    pub fn body_id(&mut self, index: usize) -> Option<BodyId> {
        match self {
            Self::Cpu(world) => world.body_id(index),
            Self::Gpu(world) => world.body_id(index),
        }
    }

    /// Answers a batch of queries about the world as it is now. Ask all at once: each call lays the grid of the whole world
    /// anew, so that a call of one ray costs about fifty times what it costs in a batch of a hundred. On the GPU this waits
    /// for the device; `GpuWorld::query_async` does not.
    ///
    /// # Errors
    /// The first query with a value out of range; on the GPU also if the device is lost or has no room for them.
    pub fn query(&mut self, queries: &[Query]) -> Result<Answers, WorldError> {
        match self {
            Self::Cpu(world) => world.query(queries),
            Self::Gpu(world) => world.query(queries),
        }
    }

    /// Answers a batch of queries as [`Self::query`], within bounds: if their effort is used up before the end, the answers
    /// are those to the queries at the front.
    ///
    /// ```
    /// use drystone::QueryBounds;
    /// use drystone::{Body, Query, Scene, Shape, World, WorldError};
    ///
    /// let mut scene = Scene::new("two balls");
    /// for x in [0.0, 0.5] {
    ///     scene.add(Body::fixed(x, 0.0).shape(Shape::circle(1.0)));
    /// }
    /// let mut world = World::new(&scene)?;
    /// let bounds = QueryBounds { found: 1, ..QueryBounds::default() };
    /// let refused = world.query_within(&[Query::point([0.2, 0.0])], bounds);
    /// assert!(matches!(refused, Err(WorldError::TooManyFound { index: 0, found: 2, limit: 1 })));
    /// # Ok::<(), WorldError>(())
    /// ```
    ///
    /// # Errors
    /// As [`Self::query`]; [`WorldError::TooManyFound`].
    pub fn query_within(&mut self, queries: &[Query], bounds: QueryBounds) -> Result<Answers, WorldError> {
        match self {
            Self::Cpu(world) => world.query_within(queries, bounds),
            Self::Gpu(world) => world.query_within(queries, bounds),
        }
    }

    /// Waits until all steps are done.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn wait(&self) -> Result<(), WorldError> {
        match self {
            Self::Cpu(_) => Ok(()),
            Self::Gpu(world) => Ok(world.context().wait()?),
        }
    }

    /// The state between two steps.
    ///
    /// # Errors
    /// If the device is lost, or a step was given up: then the world is between no two steps.
    pub fn snapshot(&mut self) -> Result<Snapshot, WorldError> {
        match self {
            Self::Cpu(world) if world.has_given_up() => Err(WorldError::Cancelled),
            Self::Cpu(world) => Ok(world.snapshot()),
            Self::Gpu(world) => world.snapshot(),
        }
    }

    /// Speed of the fastest dynamic body, m/s. On the GPU this waits for the device and reads the state back.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn max_speed(&mut self) -> Result<f64, WorldError> {
        match self {
            Self::Cpu(world) => Ok(world.max_speed()),
            Self::Gpu(world) => {
                let states = world.snapshot()?.states;
                Ok(max_speed(world.compiled(), states.into_iter()))
            }
        }
    }

    /// What the joints do, in the order of their indices. On the GPU this waits for the device.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn joint_reactions(&mut self) -> Result<Vec<JointReaction>, WorldError> {
        let snapshot = self.snapshot()?;
        Ok(joint_reactions(self.compiled(), &snapshot))
    }

    /// Continues from a snapshot, to the same bits if it is of this world.
    ///
    /// The snapshot must fit: the sizes of its tables, the bodies and joints that came and went before it, and every index
    /// in it are checked. Gravity, masses, shapes and settings are not in a snapshot: those of this world stay, and a
    /// snapshot of another scene of the same sizes is taken. [`Self::load`] checks the scene as well. Events that were not
    /// taken before are kept; those of steps that are done again come again.
    ///
    /// # Errors
    /// If the snapshot does not fit or the device is lost; then nothing has changed.
    pub fn restore(&mut self, snapshot: &Snapshot) -> Result<(), WorldError> {
        match self {
            Self::Cpu(world) => world.restore(snapshot),
            Self::Gpu(world) => world.restore(snapshot),
        }
    }

    /// The state between two steps as bytes, versioned and checksummed, for [`Self::load`] of the same scene on either
    /// backend.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn save(&mut self) -> Result<Vec<u8>, WorldError> {
        Ok(self.snapshot()?.to_bytes(self.compiled().fingerprint()))
    }

    /// Continues from what [`Self::save`] gave, to the same bits on the same backend.
    ///
    /// # Errors
    /// If the bytes are damaged, of another version, or of another world, or the device is lost; then nothing has
    /// changed.
    pub fn load(&mut self, bytes: &[u8]) -> Result<(), WorldError> {
        let snapshot = Snapshot::from_bytes(bytes, self.compiled().fingerprint())?;
        self.restore(&snapshot)
    }

    /// As [`Self::load`], of a world to which bodies or joints were added by hand, or from which they were removed: with
    /// the journal of that. This world is as its scene made it and has done no step.
    ///
    /// # Errors
    /// If this world has done a step, the journal does not fit it, and as [`Self::load`]. Then the world is of no use:
    /// make another.
    pub fn load_with(&mut self, bytes: &[u8], journal: &Journal) -> Result<(), WorldError> {
        if journal.is_empty() {
            return self.load(bytes);
        }
        if self.steps() > 0 {
            #[allow(clippy::cast_possible_truncation, reason = "for the message")]
            let found = self.steps() as usize;
            return Err(SnapshotError { what: "steps done before it", found, expected: 0 }.into());
        }
        let until = Snapshot::step_of(bytes)?;
        match self {
            Self::Cpu(world) => world.relive(journal, until)?,
            Self::Gpu(world) => world.relive(journal, until)?,
        }
        self.load(bytes)
    }

    /// What the world was made from.
    #[must_use]
    pub fn compiled(&self) -> &Compiled {
        match self {
            Self::Cpu(world) => world.compiled(),
            Self::Gpu(world) => world.compiled(),
        }
    }

    /// Steps done.
    #[must_use]
    pub fn steps(&self) -> u64 {
        match self {
            Self::Cpu(world) => world.steps(),
            Self::Gpu(world) => world.steps(),
        }
    }

    /// Milliseconds a step spends in each stage, over the steps that were measured: all on the CPU, those of
    /// [`Self::step_profiled`] on the GPU. Empty if there were none.
    #[must_use]
    pub fn stage_ms(&self) -> Vec<(Stage, f64)> {
        let (stages, steps) = match self {
            Self::Cpu(world) => (world.stage_ms(), world.measured_steps()),
            Self::Gpu(world) => world.stage_ms(),
        };
        #[allow(clippy::cast_precision_loss, reason = "a number of steps")]
        let share = |ms: f64| ms / steps as f64;
        if steps == 0 { Vec::new() } else { stages.iter().map(|&(stage, ms)| (stage, share(ms))).collect() }
    }

    /// Dispatches of the last step, on the GPU.
    #[must_use]
    pub fn dispatches(&self) -> Option<u32> {
        match self {
            Self::Cpu(_) => None,
            Self::Gpu(world) => Some(world.dispatches()),
        }
    }

    /// Steps that are known to have dropped contacts because a buffer was full. The CPU never does.
    #[must_use]
    pub fn overflowed_steps(&self) -> &[u64] {
        match self {
            Self::Cpu(_) => &[],
            Self::Gpu(world) => world.overflowed_steps(),
        }
    }
}
