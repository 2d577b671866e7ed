//! Many independent worlds at once, for learning and for sweeps over parameters.
//!
//! ```
//! use drystone::{Body, Scene, Shape, WorldBatch};
//!
//! let mut scene = Scene::new("drop");
//! scene.add(Body::fixed(0.0, -1.0).shape(Shape::half_box(50.0, 1.0)));
//! let ball = scene.add(Body::dynamic(0.0, 4.0).shape(Shape::circle(0.5)));
//!
//! // Eight worlds: in each the ball is a metre higher than in the one before.
//! let scenes = WorldBatch::vary(&scene, 8, |world, scene| scene.bodies[ball].position.y += world as f32);
//! let mut worlds = WorldBatch::on_cpu(&scenes, 1)?;
//! for _ in 0..30 {
//!     worlds.step()?;
//! }
//! let bodies = worlds.bodies()?;
//! assert!(bodies.poses(7)[ball].position[1] > bodies.poses(0)[ball].position[1] + 6.9);
//! # Ok::<(), drystone::WorldError>(())
//! ```
//!
//! Every world has its own scene, commands, events, snapshots, hash and count of steps. All of them step together or only
//! some ([`WorldBatch::step_some`]), and each may be set back alone, to its start or to a snapshot ([`WorldBatch::reset`],
//! [`WorldBatch::restore_all`]), as learning does when an episode ends. What an
//! agent sees comes for all worlds at once: bodies as one array ([`WorldBatch::bodies`]), rays and regions as one batch
//! ([`WorldBatch::query`]). The scenes may differ in everything, their sizes too, but for some settings.
//!
//! **Each world comes to the bits to which it comes alone on the same backend**: none can reach into another. On the GPU
//! all that step do so by the same dispatches, with one layer of workgroups for each world, so that a thousand worlds
//! cost little more than one until the device is full. On the CPU a thread steps a world at a time.
//!
//! All worlds have room for as many contacts as the busiest needs. A world that outgrows its room says so for itself
//! ([`WorldBatch::overflowed_steps`]), and no other notices; with [`Settings::strict`](crate::Settings::strict) it runs the
//! step again, alone, with more room. A world in which all sleep costs nothing until somebody is woken.
//!
//! Bodies and joints come and go in each world as in one alone ([`WorldBatch::add_bodies`], [`WorldBatch::add_joints`], a scene's
//! emitters). A world that outgrows its room has more made, in all of them, and no other notices.
//!
//! Worlds themselves come and go, too: another scene may take the place of one at any time ([`WorldBatch::replace`]), or nothing
//! ([`WorldBatch::leave_empty`]). On the GPU all of them run the same stages: their settings may differ in what is a number of
//! each world, as gravity, the length of a step or of slop, and not in what decides the stages, as the mode, the number of
//! substeps, or whether bodies sleep.

mod population;

use glam::Vec2;
use rayon::prelude::*;

use crate::cancel::CancelToken;
use crate::command::{Command, JointCommand};
use crate::cpu::CpuWorld;
use crate::event::Event;
#[cfg(feature = "gpu")]
use crate::gpu::Context;
use crate::gpu::worlds::GpuWorlds;
use crate::host::{Host, Untaken, WorldEngine};
use crate::population::{BodyId, JointId};
use crate::query::{Answers, Flat, Query};
use crate::scene::{Compiled, Scene};
use crate::snapshot::Snapshot;
use crate::state;
use crate::threads::Threads;
use crate::types::{BodyState, Pose};
use crate::world::WorldError;

/// Many independent worlds, on the CPU or side by side on the GPU.
#[derive(Debug)]
pub struct WorldBatch {
    inner: Inner,
    /// Each as it began.
    starts: Vec<Snapshot>,
    /// Places that have no world.
    empty: Vec<bool>,
}

#[derive(Debug)]
enum Inner {
    Cpu { worlds: Vec<CpuWorld>, threads: Threads },
    Gpu(Box<GpuWorlds>),
}

/// Poses and velocities of the bodies of many worlds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BodyRows {
    pub(crate) poses: Vec<Pose>,
    pub(crate) states: Vec<BodyState>,
    /// From the first body of a world to that of the next.
    pub(crate) stride: usize,
    pub(crate) counts: Vec<usize>,
}

impl BodyRows {
    /// One a body of this world, of its centre of mass. Empty if there is no such world.
    #[must_use]
    pub fn poses(&self, world: usize) -> &[Pose] {
        self.of(&self.poses, world)
    }

    /// One a body of this world. Empty if there is no such world.
    #[must_use]
    pub fn states(&self, world: usize) -> &[BodyState] {
        self.of(&self.states, world)
    }

    /// Poses of the bodies of every world: those of world `w` from `w * stride()` on. A world with fewer bodies than others
    /// has rows at its end that mean nothing.
    #[must_use]
    pub fn all_poses(&self) -> &[Pose] {
        &self.poses
    }

    /// As [`Self::all_poses`].
    #[must_use]
    pub fn all_states(&self) -> &[BodyState] {
        &self.states
    }

    /// Rows from the first body of a world to that of the next: as many as the largest has.
    #[must_use]
    pub fn stride(&self) -> usize {
        self.stride
    }

    fn of<'a, T>(&self, rows: &'a [T], world: usize) -> &'a [T] {
        let count = self.counts.get(world).copied().unwrap_or(0);
        rows.get(world * self.stride..).and_then(|rows| rows.get(..count)).unwrap_or(&[])
    }
}

impl WorldBatch {
    /// As many scenes, each the given one as `change` leaves it: the hook by which worlds differ. It is told which world
    /// it is about, from 0, so that what it does can depend on it: as a seed, or as a place in a table of parameters.
    #[must_use]
    pub fn vary(scene: &Scene, count: usize, mut change: impl FnMut(usize, &mut Scene)) -> Vec<Scene> {
        let varied = |world| {
            let mut scene = scene.clone();
            change(world, &mut scene);
            scene
        };
        (0..count).map(varied).collect()
    }

    /// A world for each scene on the CPU, on so many threads.
    ///
    /// # Errors
    /// If a scene is not valid, there are none, or the operating system refuses to start threads.
    pub fn on_cpu(scenes: &[Scene], threads: usize) -> Result<Self, WorldError> {
        if scenes.is_empty() {
            return Err(WorldError::Many("there are none".to_owned()));
        }
        let worlds = scenes.iter().map(CpuWorld::new).collect::<Result<Vec<_>, _>>()?;
        let starts = worlds.iter().map(CpuWorld::snapshot).collect();
        let empty = vec![false; worlds.len()];
        Ok(Self { inner: Inner::Cpu { worlds, threads: Threads::new(threads)? }, starts, empty })
    }

    /// A world for each scene on the GPU, at most 65,535 of them.
    ///
    /// # Errors
    /// If a scene is not valid, there are none or too many, their settings ask for other stages, they do not fit the device, or it has less than 10 storage buffers for a kernel.
    #[cfg(feature = "gpu")]
    pub fn on_gpu(context: &Context, scenes: &[Scene]) -> Result<Self, WorldError> {
        let members = scenes.iter().map(Compiled::new).collect::<Result<Vec<_>, _>>()?;
        let starts = members.iter().map(Snapshot::of_start).collect();
        let empty = vec![false; members.len()];
        Ok(Self { inner: Inner::Gpu(Box::new(GpuWorlds::new(context, members)?)), starts, empty })
    }

    /// How many there are, with places that are empty.
    #[must_use]
    pub fn count(&self) -> usize {
        match &self.inner {
            Inner::Cpu { worlds, .. } => worlds.len(),
            Inner::Gpu(worlds) => worlds.len(),
        }
    }

    /// Advances every world by one step. On the GPU this returns without waiting, unless several steps are on their way.
    ///
    /// # Errors
    /// If the device is lost or refused something, or a buffer outgrows it; if a world was cancelled or has too many contacts
    /// ([`CpuWorld::step`](crate::low_level::CpuWorld::step)). On the GPU nobody has done the step then. On the CPU all other worlds have,
    /// as [`Self::steps`] says, and of several errors that of the lowest world is returned.
    pub fn step(&mut self) -> Result<(), WorldError> {
        let which: Vec<usize> = (0..self.count()).filter(|&world| !self.empty[world]).collect();
        self.step_some(&which)
    }

    /// Advances some worlds by one step, in any order; the others stay as they are and notice nothing. On the GPU those that
    /// step do so by the same dispatches; worlds that have stepped an odd number of times apart from most of them cost one
    /// dispatch more, all together. It returns without waiting, unless several steps are on their way.
    ///
    /// ```
    /// use drystone::{Body, Scene, Shape, WorldBatch};
    ///
    /// let mut scene = Scene::new("drop");
    /// scene.add(Body::dynamic(0.0, 4.0).shape(Shape::circle(0.5)));
    /// let mut worlds = WorldBatch::on_cpu(&vec![scene; 3], 1)?;
    /// worlds.step()?;
    /// worlds.step_some(&[2, 0])?;
    /// assert_eq!([0, 1, 2].map(|world| worlds.steps(world)), [2, 1, 2]);
    /// assert!(worlds.step_some(&[1, 1]).is_err());
    /// # Ok::<(), drystone::WorldError>(())
    /// ```
    ///
    /// # Errors
    /// If there is no such world, or one is given twice: then nothing has changed. As [`Self::step`].
    pub fn step_some(&mut self, which: &[usize]) -> Result<(), WorldError> {
        let given = self.check_all(which.iter().copied())?;
        match &mut self.inner {
            Inner::Cpu { worlds, threads } => {
                let mut those: Vec<_> = worlds
                    .iter_mut()
                    .zip(given)
                    .filter_map(|(world, given)| given.then_some((world, Ok::<(), WorldError>(()))))
                    .collect();
                threads.each(&mut those, |(world, stepped)| *stepped = world.step());
                those.into_iter().try_for_each(|(_, stepped)| stepped)
            }
            Inner::Gpu(worlds) => worlds.step(which),
        }
    }

    /// Sets the token by which another thread may end a step of all worlds early, with [`WorldError::Cancelled`]. Each world that
    /// has given up a step needs a snapshot to go on from ([`Self::restore`], [`Self::reset`]).
    pub fn set_cancel_token(&mut self, token: &CancelToken) {
        match &mut self.inner {
            Inner::Cpu { worlds, .. } => worlds.iter_mut().for_each(|world| world.set_cancel_token(token.clone())),
            Inner::Gpu(worlds) => worlds.set_cancel_token(token),
        }
    }

    /// Sets how many contacts a step of each world may have ([`crate::World::set_contact_limit`]).
    pub fn set_contact_limit(&mut self, limit: usize) {
        match &mut self.inner {
            Inner::Cpu { worlds, .. } => worlds.iter_mut().for_each(|world| world.set_contact_limit(limit)),
            Inner::Gpu(worlds) => worlds.set_contact_limit(limit),
        }
    }

    /// Contacts that a step of a world may have; 0 if there is no such world.
    #[must_use]
    pub fn contact_limit(&self, world: usize) -> usize {
        self.host(world).map_or(0, Host::contact_limit)
    }

    /// Waits until all steps are done.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn wait(&self) -> Result<(), WorldError> {
        match &self.inner {
            Inner::Cpu { .. } => Ok(()),
            Inner::Gpu(worlds) => Ok(worlds.context().wait()?),
        }
    }

    fn host(&self, world: usize) -> Option<&Host> {
        match &self.inner {
            Inner::Cpu { worlds, .. } => worlds.get(world).map(WorldEngine::host),
            Inner::Gpu(worlds) => (world < worlds.len()).then(|| worlds.host(world)),
        }
    }

    fn host_mut(&mut self, world: usize) -> Result<&mut Host, WorldError> {
        self.check(world)?;
        Ok(match &mut self.inner {
            Inner::Cpu { worlds, .. } => worlds[world].host_mut(),
            Inner::Gpu(worlds) => worlds.host_mut(world),
        })
    }

    /// Does something with the engine of a world.
    #[cfg_attr(not(feature = "gpu"), allow(unreachable_code, reason = "there are no worlds on a GPU"))]
    fn in_world<T>(&mut self, world: usize, what: impl FnOnce(&mut dyn WorldEngine) -> T) -> Result<T, WorldError> {
        self.check(world)?;
        Ok(match &mut self.inner {
            Inner::Cpu { worlds, .. } => what(&mut worlds[world]),
            Inner::Gpu(worlds) => what(&mut worlds.one(world)),
        })
    }

    fn check(&self, world: usize) -> Result<(), WorldError> {
        match self.empty.get(world) {
            Some(false) => Ok(()),
            Some(true) => Err(WorldError::Many(format!("the place of world {world} is empty"))),
            None => Err(WorldError::Many(format!("there is no world {world} of {}", self.count()))),
        }
    }

    /// Which of all worlds are given, each once.
    fn check_all(&self, which: impl IntoIterator<Item = usize>) -> Result<Vec<bool>, WorldError> {
        let mut given = vec![false; self.count()];
        for world in which {
            self.check(world)?;
            if std::mem::replace(&mut given[world], true) {
                return Err(WorldError::Many(format!("world {world} is given twice")));
            }
        }
        Ok(given)
    }

    /// Asks something of a body of a world; it happens at the start of the next step. Nothing waits. A body of its scene may
    /// be given by its index there.
    ///
    /// # Errors
    /// If there is no such world or body, or no longer, it does not move in this way, or a value is not finite.
    pub fn command(&mut self, world: usize, body: impl Into<BodyId>, command: Command) -> Result<(), WorldError> {
        let slot = self.host_mut(world)?.slot_of(body.into())?;
        let stays = match &self.inner {
            Inner::Cpu { worlds, .. } => worlds[world].stays_by(slot, command),
            Inner::Gpu(_) => None,
        };
        Ok(self.host_mut(world)?.command_slot(slot, command, stays)?)
    }

    /// The joint of a world with an index, as in its scene.
    #[must_use]
    pub fn joint_id(&self, world: usize, index: usize) -> Option<JointId> {
        self.check(world).ok()?;
        self.host(world)?.joint_id(index)
    }

    /// Asks something of a joint of a world; it happens at the start of the next step. Nothing waits.
    ///
    /// # Errors
    /// If there is no such world or joint, it has nothing of the kind, or a value is out of range.
    pub fn command_joint(&mut self, world: usize, joint: JointId, command: JointCommand) -> Result<(), WorldError> {
        Ok(self.host_mut(world)?.command_joint(joint, command)?)
    }

    /// Wakes every body of a world at the start of the next step, where bodies sleep.
    ///
    /// # Errors
    /// If there is no such world.
    pub fn wake_all(&mut self, world: usize) -> Result<(), WorldError> {
        self.host_mut(world)?.wake_all();
        Ok(())
    }

    /// Sets gravity of a world from its next step on, m/s², and wakes its bodies, unless it is the same. The others keep
    /// theirs.
    ///
    /// # Errors
    /// If there is no such world, a coordinate is not a number or out of the range of a scene; or the device is lost.
    pub fn set_gravity(&mut self, world: usize, gravity: Vec2) -> Result<(), WorldError> {
        self.in_world(world, |engine| engine.set_gravity(gravity))?
    }

    /// What happened in a world since this was last asked, oldest first, if the scenes want events. On the GPU what has
    /// arrived; after [`Self::wait`] that is all.
    ///
    /// # Errors
    /// If there is no such world, or the device is lost.
    pub fn take_events(&mut self, world: usize) -> Result<Vec<Event>, WorldError> {
        self.check(world)?;
        if let Inner::Gpu(worlds) = &mut self.inner {
            worlds.poll()?;
        }
        Ok(std::mem::take(&mut self.host_mut(world)?.events))
    }

    /// Poses and velocities of all bodies of all worlds. On the GPU this is one download, and waits for the device.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn bodies(&mut self) -> Result<BodyRows, WorldError> {
        match &mut self.inner {
            Inner::Cpu { worlds, .. } => {
                let counts: Vec<usize> = worlds.iter().map(|world| world.poses().len()).collect();
                let stride = counts.iter().copied().max().unwrap_or(0);
                let mut rows = BodyRows { stride, counts, ..BodyRows::default() };
                for (world, from) in worlds.iter().enumerate() {
                    rows.poses.extend_from_slice(from.poses());
                    rows.poses.resize((world + 1) * stride, Pose::default());
                    rows.states.extend(from.states());
                    rows.states.resize((world + 1) * stride, BodyState::default());
                }
                Ok(rows)
            }
            Inner::Gpu(worlds) => worlds.bodies(),
        }
    }

    /// The hash of every world's state, as [`state::hash`] of its snapshot; in an empty place that of nothing. On the GPU this
    /// waits for the device.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn hashes(&mut self) -> Result<Vec<u64>, WorldError> {
        match &mut self.inner {
            Inner::Cpu { worlds, .. } => Ok(worlds.iter().map(|world| state::hash(&world.snapshot())).collect()),
            Inner::Gpu(worlds) => worlds.hashes(),
        }
    }

    /// The state of a world between two steps; the same world alone takes it too. On the GPU this waits for the device.
    ///
    /// # Errors
    /// If there is no such world, or the device is lost.
    pub fn snapshot(&mut self, world: usize) -> Result<Snapshot, WorldError> {
        let snapshot = self.in_world(world, |engine| engine.snapshot())??;
        if let Inner::Gpu(worlds) = &mut self.inner {
            worlds.poll()?;
        }
        Ok(snapshot)
    }

    /// Lets a world go on from a snapshot, to the same bits, one of its own or of the same world alone. The others notice
    /// nothing. On the GPU this waits for the device.
    ///
    /// # Errors
    /// If there is no such world, the snapshot does not fit it ([`World::restore`](crate::World::restore) says what is
    /// checked), or the device is lost; then nothing has changed.
    pub fn restore(&mut self, world: usize, snapshot: &Snapshot) -> Result<(), WorldError> {
        self.restore_all(&[(world, snapshot)])
    }

    /// As [`Self::restore`], of several worlds, each with the snapshot that it shall go on from. On the GPU this waits
    /// for the device once.
    ///
    /// # Errors
    /// Those of [`Self::restore`], and if a world is given twice; then nothing has changed in any of them.
    pub fn restore_all(&mut self, which: &[(usize, &Snapshot)]) -> Result<(), WorldError> {
        self.check_all(which.iter().map(|&(world, _)| world))?;
        self.inner.restore(which, Untaken::Dropped)
    }

    /// Sets worlds back to how they began, as learning does when an episode ends: to the bits of new ones. What was asked
    /// of them is forgotten, and who came has gone and who went is back; events that happened before can still be taken. On
    /// the GPU this waits for the device once.
    ///
    /// # Errors
    /// If there is no such world, one is given twice, or the device is lost; then nothing has changed.
    pub fn reset(&mut self, which: &[usize]) -> Result<(), WorldError> {
        self.check_all(which.iter().copied())?;
        let starts: Vec<_> = which.iter().map(|&world| (world, &self.starts[world])).collect();
        self.inner.restore(&starts, Untaken::Kept)
    }

    /// Answers a batch of queries, each about the world that stands beside it, as that is now ([`query`](crate::low_level::query)): one
    /// answer a query, in their order, with slots of bodies and indices of shapes in the world that was asked. On the GPU
    /// all of them are answered by the same dispatches, and this waits for the device.
    ///
    /// ```
    /// use drystone::{Body, Query, Scene, Shape, WorldBatch};
    ///
    /// let mut scene = Scene::new("drop");
    /// scene.add(Body::dynamic(0.0, 4.0).shape(Shape::circle(0.5)));
    /// let scenes = WorldBatch::vary(&scene, 8, |world, scene| scene.bodies[0].position.y += world as f32);
    /// let mut worlds = WorldBatch::on_cpu(&scenes, 1)?;
    /// let down: Vec<_> = (0..8).map(|world| (world, Query::ray([0.0, 20.0], [0.0, 0.0]))).collect();
    /// let answers = worlds.query(&down)?;
    /// assert_eq!(answers.hit(3).map(|hit| hit.point.y), Some(7.5));
    /// # Ok::<(), drystone::WorldError>(())
    /// ```
    ///
    /// # Errors
    /// If there is no such world; the first query with a value out of range; on the GPU, if the device is lost or has no
    /// room for the batch.
    pub fn query(&mut self, queries: &[(usize, Query)]) -> Result<Answers, WorldError> {
        queries.iter().try_for_each(|&(world, _)| self.check(world))?;
        match &mut self.inner {
            Inner::Cpu { worlds, threads } => query_each(worlds, threads, queries),
            Inner::Gpu(worlds) => worlds.query(queries),
        }
    }

    /// Times that queries found more than there was room for on the GPU, and were run again. For tests.
    #[doc(hidden)]
    #[must_use]
    pub fn query_repeats(&self) -> u64 {
        match &self.inner {
            Inner::Cpu { .. } => 0,
            Inner::Gpu(worlds) => worlds.query_repeats(),
        }
    }

    /// What a world was made from.
    #[must_use]
    pub fn compiled(&self, world: usize) -> Option<&Compiled> {
        self.check(world).ok()?;
        self.host(world).map(|host| &host.compiled)
    }

    /// Steps that a world has done; 0 if there is no such world.
    #[must_use]
    pub fn steps(&self, world: usize) -> u64 {
        self.host(world).map_or(0, |host| host.steps)
    }

    /// Steps in which a world is known to have dropped contacts or events because it was out of room. The CPU never does.
    #[must_use]
    pub fn overflowed_steps(&self, world: usize) -> &[u64] {
        self.host(world).map_or(&[], |host| &host.overflowed)
    }

    /// Dispatches of the last step, of all worlds together, on the GPU.
    #[must_use]
    pub fn dispatches(&self) -> Option<u32> {
        match &self.inner {
            Inner::Cpu { .. } => None,
            Inner::Gpu(worlds) => Some(worlds.dispatches()),
        }
    }

    /// Bytes of all buffers on the device, on the GPU.
    #[must_use]
    pub fn device_bytes(&self) -> Option<u64> {
        match &self.inner {
            Inner::Cpu { .. } => None,
            Inner::Gpu(worlds) => Some(worlds.device_bytes()),
        }
    }
}

impl Inner {
    fn restore(&mut self, which: &[(usize, &Snapshot)], untaken: Untaken) -> Result<(), WorldError> {
        match self {
            Self::Cpu { worlds, .. } => {
                let mut rewound = Vec::with_capacity(which.len());
                for &(world, snapshot) in which {
                    rewound.push(worlds[world].host().rewound(snapshot)?);
                }
                for (&(world, snapshot), rewound) in which.iter().zip(rewound) {
                    if let Some(rewound) = rewound {
                        worlds[world].become_another(rewound)?;
                    }
                    worlds[world].resume(snapshot, untaken, None);
                }
                Ok(())
            }
            Self::Gpu(worlds) => worlds.restore(which, untaken),
        }
    }
}

/// Asks every world what is asked of it, each on any thread.
fn query_each(worlds: &mut [CpuWorld], threads: &Threads, queries: &[(usize, Query)]) -> Result<Answers, WorldError> {
    // All of them are looked at before any is answered, by their index in the batch.
    Flat::of(queries.iter().map(|(_, query)| (0, query)))?;
    let mut asked: Vec<_> = worlds.iter_mut().map(|world| (world, Vec::new(), Ok(Answers::default()))).collect();
    let mut places = Vec::with_capacity(queries.len());
    for (world, query) in queries {
        places.push((*world, asked[*world].1.len()));
        asked[*world].1.push(query.clone());
    }
    threads.each(&mut asked, |(world, queries, answers)| {
        if !queries.is_empty() {
            *answers = world.query(queries);
        }
    });
    let answers = asked.into_iter().map(|(.., answers)| answers).collect::<Result<Vec<_>, _>>()?;
    Ok(Answers::gather(places.into_iter().map(|(world, query)| (&answers[world], query))))
}

impl Threads {
    /// Calls `run` for every element, each on any thread. For work that is long for one of them.
    fn each<T: Send>(&self, elements: &mut [T], run: impl Fn(&mut T) + Send + Sync) {
        match self.pool() {
            Some(pool) => pool.install(|| elements.par_iter_mut().for_each(run)),
            None => elements.iter_mut().for_each(run),
        }
    }
}
