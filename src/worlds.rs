//! [`WorldBatch`]: many independent worlds stepped together, for reinforcement learning and parameter sweeps.

mod population;

use std::sync::{Mutex, PoisonError};

use glam::Vec2;
use rayon::prelude::*;

use crate::body_rows::BodyRows;
use crate::cancel::CancelToken;
use crate::command::{Command, JointCommand};
use crate::cpu::{CpuWorld, WorldGroup};
use crate::event::Event;
use crate::explosion::Explosion;
#[cfg(feature = "gpu")]
use crate::gpu::Context;
use crate::gpu::worlds::GpuWorlds;
use crate::host::{Host, Untaken, WorldEngine};
use crate::mover::{Moved, Mover, move_characters};
use crate::population::{BodyId, JointId};
use crate::query::{Answers, Flat, Query};
use crate::scene::{Compiled, Scene};
use crate::snapshot::Snapshot;
use crate::state;
use crate::threads::Threads;
use crate::types::{BodyState, Pose};
use crate::wind::Wind;
use crate::world_error::WorldError;

/// Many independent worlds, on the CPU or side by side on the GPU.
///
/// ```
/// use drystone::{Body, Scene, Shape, WorldBatch};
///
/// let mut scene = Scene::new("drop");
/// scene.add(Body::fixed(0.0, -1.0).shape(Shape::half_box(50.0, 1.0)));
/// let ball = scene.add(Body::dynamic(0.0, 4.0).shape(Shape::circle(0.5)));
///
/// // Eight worlds: in each the ball is a metre higher than in the one before.
/// let scenes = WorldBatch::vary(&scene, 8, |world, scene| scene.bodies[ball].position.y += world as f32);
/// let mut worlds = WorldBatch::on_cpu(&scenes, 1)?;
/// for _ in 0..30 {
///     worlds.step()?;
/// }
/// let bodies = worlds.bodies()?;
/// assert!(bodies.poses(7)[ball].position[1] > bodies.poses(0)[ball].position[1] + 6.9);
/// # Ok::<(), drystone::WorldError>(())
/// ```
///
/// Every world has its own scene, commands, events, snapshots, hash and number of steps. All worlds step together or
/// only some ([`WorldBatch::step_some`]), and each can be reset alone, to its start or to a snapshot
/// ([`WorldBatch::reset`], [`WorldBatch::restore`]), as learning does when an episode ends. Observations come for
/// all worlds at once: bodies as one array ([`WorldBatch::bodies`]), rays and regions as one batch
/// ([`WorldBatch::query`]). The scenes may differ in everything, including their sizes, except some settings.
///
/// **Each world has the same bits as alone on the same backend**: none can reach into another. On the GPU all worlds of
/// a step share its dispatches, with one layer of workgroups for each, so that a thousand worlds cost little more than
/// one until the device is full. On the CPU a thread steps sixteen worlds at a time: small ones with the same settings
/// and gravity share the lanes of its vector unit, which is up to 2.5 times as fast as each alone.
///
/// All worlds have the same contact capacity, that of the busiest. A world that outgrows it reports so for itself
/// ([`WorldBatch::overflowed_steps`]), without effect on the others; with [`Settings::strict`](crate::Settings::strict)
/// it repeats the step alone with a larger capacity. A world in which all bodies sleep costs nothing until one wakes.
///
/// Bodies and joints can be added to and removed from each world ([`WorldBatch::add_bodies`],
/// [`WorldBatch::add_joints`], emitters). If a world outgrows its tables, those of all worlds grow, without any other
/// effect on them.
///
/// Worlds can be replaced too, by another scene ([`WorldBatch::replace`]) or by an empty slot
/// ([`WorldBatch::leave_empty`]). On the GPU all worlds run the same stages: their settings may differ in numbers such
/// as gravity, the length of a step or the slop, and not in settings that decide the stages, such as the mode, the
/// number of substeps, or sleeping.
#[derive(Debug)]
pub struct WorldBatch {
    inner: BatchEngine,
    /// Snapshot of each world at its start.
    starts: Vec<Snapshot>,
    /// True for slots without a world.
    empty: Vec<bool>,
}

/// Work of a step that does not depend on the size of the world, in bodies.
const STEP_WORK: usize = 8;
/// Number of bodies, contacts and joints, with [`STEP_WORK`] for each world, from which on threads share the worlds of
/// a step: some fifty microseconds for one thread. To wake another takes half of that.
const SHARE_FROM: usize = 256;

/// Number of worlds that a thread steps at a time, as one group: with it the lanes of small worlds are nearly full, and
/// their tables fit the second-level cache.
const GROUP: usize = 16;

#[derive(Debug)]
enum BatchEngine {
    Cpu { worlds: Vec<CpuWorld>, threads: Threads, groups: Vec<Mutex<WorldGroup>> },
    Gpu(Box<GpuWorlds>),
}

impl WorldBatch {
    /// Returns `count` copies of a scene, each changed by `change`, which gets the index of the world, from 0: as a
    /// seed, or as a row of a table of parameters.
    #[must_use]
    pub fn vary(scene: &Scene, count: usize, mut change: impl FnMut(usize, &mut Scene)) -> Vec<Scene> {
        let varied = |world| {
            let mut scene = scene.clone();
            change(world, &mut scene);
            scene
        };
        (0..count).map(varied).collect()
    }

    /// Makes a world for each scene on the CPU, on a number of threads.
    ///
    /// # Errors
    /// A scene is not valid, there are no scenes, or the operating system refuses to start threads.
    pub fn on_cpu(scenes: &[Scene], threads: usize) -> Result<Self, WorldError> {
        if scenes.is_empty() {
            return Err(WorldError::Many("there are none".to_owned()));
        }
        let worlds = scenes.iter().map(CpuWorld::new).collect::<Result<Vec<_>, _>>()?;
        let starts = worlds.iter().map(CpuWorld::snapshot).collect();
        let empty = vec![false; worlds.len()];
        let threads = Threads::new(threads)?;
        let groups = (0..threads.count()).map(|_| WorldGroup::new().map(Mutex::new)).collect::<Result<_, _>>()?;
        Ok(Self { inner: BatchEngine::Cpu { worlds, threads, groups }, starts, empty })
    }

    /// Makes a world for each scene on the GPU, at most 65,535.
    ///
    /// # Errors
    /// A scene is not valid, there are none or too many, their settings need different stages, they do not fit the
    /// device, or it allows less than 10 storage buffers for a kernel.
    #[cfg(feature = "gpu")]
    pub fn on_gpu(context: &Context, scenes: &[Scene]) -> Result<Self, WorldError> {
        let members = scenes.iter().map(Compiled::new).collect::<Result<Vec<_>, _>>()?;
        let starts = members.iter().map(Snapshot::of_start).collect();
        let empty = vec![false; members.len()];
        Ok(Self { inner: BatchEngine::Gpu(Box::new(GpuWorlds::new(context, members)?)), starts, empty })
    }

    /// Returns the number of worlds, including empty slots.
    #[must_use]
    pub fn count(&self) -> usize {
        match &self.inner {
            BatchEngine::Cpu { worlds, .. } => worlds.len(),
            BatchEngine::Gpu(worlds) => worlds.len(),
        }
    }

    /// Advances every world by one step. On the GPU this returns without waiting, unless several steps are in flight.
    ///
    /// # Errors
    /// The device is lost or refused something, or a buffer outgrows it; a world was cancelled or has too many contacts
    /// ([`CpuWorld::step`](crate::low_level::CpuWorld::step)). On the GPU no world has done the step then. On the CPU
    /// all other worlds have ([`Self::steps`]), and the error of the lowest world is returned.
    pub fn step(&mut self) -> Result<(), WorldError> {
        let which: Vec<usize> = (0..self.count()).filter(|&world| !self.empty[world]).collect();
        self.step_some(&which)
    }

    /// Advances some worlds by one step, given in any order; the others stay as they are. On the GPU the worlds share
    /// the dispatches; worlds whose number of steps has another parity than that of most cost one more dispatch, all
    /// together. It returns without waiting, unless several steps are in flight.
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
    /// There is no such world, or one is given twice: then nothing has changed. Those of [`Self::step`].
    pub fn step_some(&mut self, which: &[usize]) -> Result<(), WorldError> {
        let given = self.check_all(which.iter().copied())?;
        match &mut self.inner {
            BatchEngine::Cpu { worlds, threads, groups } => {
                let mut those: Vec<_> = worlds
                    .iter_mut()
                    .zip(given)
                    .filter_map(|(world, given)| given.then_some((world, Ok::<(), WorldError>(()))))
                    .collect();
                // A few small worlds are done before another thread is awake.
                let work: usize = those.iter().map(|(world, _)| STEP_WORK + world.size()).sum();
                let here = Threads::default();
                let threads = if those.len() > 1 && work >= SHARE_FROM { &*threads } else { &here };
                let share = those.len().div_ceil(threads.count()).min(GROUP);
                let shares: Vec<_> = those.chunks_mut(share.max(1)).map(Mutex::new).collect();
                threads.for_tasks(shares.len(), |task, thread| {
                    let mut worlds = shares[task].lock().unwrap_or_else(PoisonError::into_inner);
                    let mut group = groups[thread].lock().unwrap_or_else(PoisonError::into_inner);
                    group.step(&mut worlds);
                });
                those.into_iter().try_for_each(|(_, stepped)| stepped)
            }
            BatchEngine::Gpu(worlds) => worlds.step(which),
        }
    }

    /// Sets the token by which another thread can end a step of all worlds early, with [`WorldError::Cancelled`]. Each
    /// world that has given up a step must be restored from a snapshot ([`Self::restore`], [`Self::reset`]).
    pub fn set_cancel_token(&mut self, token: &CancelToken) {
        match &mut self.inner {
            BatchEngine::Cpu { worlds, .. } => {
                for world in worlds.iter_mut() {
                    world.set_cancel_token(token.clone());
                }
            }
            BatchEngine::Gpu(worlds) => worlds.set_cancel_token(token),
        }
    }

    /// Sets the largest number of contacts of a step of each world ([`crate::World::set_contact_limit`]).
    pub fn set_contact_limit(&mut self, limit: usize) {
        match &mut self.inner {
            BatchEngine::Cpu { worlds, .. } => worlds.iter_mut().for_each(|world| world.set_contact_limit(limit)),
            BatchEngine::Gpu(worlds) => worlds.set_contact_limit(limit),
        }
    }

    /// Waits until all steps are done.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn wait(&self) -> Result<(), WorldError> {
        match &self.inner {
            BatchEngine::Cpu { .. } => Ok(()),
            BatchEngine::Gpu(worlds) => Ok(worlds.context().wait()?),
        }
    }

    fn host(&self, world: usize) -> Option<&Host> {
        match &self.inner {
            BatchEngine::Cpu { worlds, .. } => worlds.get(world).map(WorldEngine::host),
            BatchEngine::Gpu(worlds) => (world < worlds.len()).then(|| worlds.host(world)),
        }
    }

    fn host_mut(&mut self, world: usize) -> Result<&mut Host, WorldError> {
        self.check(world)?;
        Ok(match &mut self.inner {
            BatchEngine::Cpu { worlds, .. } => worlds[world].host_mut(),
            BatchEngine::Gpu(worlds) => worlds.host_mut(world),
        })
    }

    /// Calls a function with the engine of a world.
    #[cfg_attr(not(feature = "gpu"), allow(unreachable_code, reason = "there are no worlds on a GPU"))]
    fn in_world<T>(&mut self, world: usize, what: impl FnOnce(&mut dyn WorldEngine) -> T) -> Result<T, WorldError> {
        self.check(world)?;
        Ok(match &mut self.inner {
            BatchEngine::Cpu { worlds, .. } => what(&mut worlds[world]),
            BatchEngine::Gpu(worlds) => what(&mut worlds.one(world)),
        })
    }

    fn check(&self, world: usize) -> Result<(), WorldError> {
        match self.empty.get(world) {
            Some(false) => Ok(()),
            Some(true) => Err(WorldError::Many(format!("the slot of world {world} is empty"))),
            None => Err(WorldError::Many(format!("there is no world {world} of {}", self.count()))),
        }
    }

    /// Checks that worlds exist and are given once. Returns true for each given world.
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

    /// Gives a command to a body of a world. It acts at the start of the next step. This does not wait for a device. A
    /// body of the scene may be given by its index there.
    ///
    /// # Errors
    /// There is no such world; the body does not exist or was removed; its type does not take the command; or a value
    /// is out of range.
    pub fn command(&mut self, world: usize, body: impl Into<BodyId>, command: Command) -> Result<(), WorldError> {
        let slot = self.host_mut(world)?.slot_of(body.into())?;
        let stays = match &self.inner {
            BatchEngine::Cpu { worlds, .. } => worlds[world].stays_by(slot, command),
            BatchEngine::Gpu(_) => None,
        };
        Ok(self.host_mut(world)?.command_slot(slot, command, stays)?)
    }

    /// Returns the id of the joint of a world with an index, as in its scene.
    #[must_use]
    pub fn joint_id(&self, world: usize, index: usize) -> Option<JointId> {
        self.check(world).ok()?;
        self.host(world)?.joint_id(index)
    }

    /// Gives a command to a joint of a world. It acts at the start of the next step. This does not wait for a device.
    ///
    /// # Errors
    /// There is no such world; the joint does not exist or was removed; its type does not take the command; or a value
    /// is out of range.
    pub fn command_joint(&mut self, world: usize, joint: JointId, command: JointCommand) -> Result<(), WorldError> {
        Ok(self.host_mut(world)?.command_joint(joint, command)?)
    }

    /// Pushes bodies away from points, each in the world given with it, as [`World::explode`](crate::World::explode).
    /// Returns the number of impulses. On the GPU this waits for the device and reads the bodies of all worlds back,
    /// once.
    ///
    /// # Errors
    /// There is no such world, a value is out of range, or the device is lost; then nothing has changed.
    pub fn explode(&mut self, explosions: &[(usize, Explosion)]) -> Result<usize, WorldError> {
        explosions.iter().try_for_each(|(_, explosion)| explosion.check())?;
        self.push(explosions, |explosion, compiled, poses, _| explosion.pushes(compiled, poses))
    }

    /// Lets a wind press on the bodies of each world given with it in its next step, as
    /// [`World::apply_wind`](crate::World::apply_wind). Returns the number of impulses. On the GPU this waits for the
    /// device and reads the bodies of all worlds back, once.
    ///
    /// # Errors
    /// There is no such world, a value is out of range, or the device is lost; then nothing has changed.
    pub fn apply_wind(&mut self, winds: &[(usize, Wind)]) -> Result<usize, WorldError> {
        winds.iter().try_for_each(|(_, wind)| wind.check())?;
        self.push(winds, Wind::pushes)
    }

    /// Gives the commands that a function finds for the bodies of each given world. Returns their number.
    fn push<T>(
        &mut self,
        given: &[(usize, T)],
        pushes: impl Fn(&T, &Compiled, &[Pose], &[BodyState]) -> Vec<(usize, Command)>,
    ) -> Result<usize, WorldError> {
        given.iter().try_for_each(|&(world, _)| self.check(world))?;
        let rows = self.bodies()?;
        let mut count = 0;
        for &(world, ref from) in given {
            let host = self.host_mut(world)?;
            let pushes = pushes(from, &host.compiled, rows.poses(world), rows.states(world));
            count += host.push(&pushes)?;
        }
        Ok(count)
    }

    /// Wakes every body of a world at the start of the next step, where bodies sleep.
    ///
    /// # Errors
    /// If there is no such world.
    pub fn wake_all(&mut self, world: usize) -> Result<(), WorldError> {
        self.host_mut(world)?.wake_all();
        Ok(())
    }

    /// Sets gravity of one world from its next step on, m/s². Wakes its bodies if it differs.
    ///
    /// # Errors
    /// There is no such world; a coordinate is NaN or out of the range of a scene; or the device is lost.
    pub fn set_gravity(&mut self, world: usize, gravity: Vec2) -> Result<(), WorldError> {
        self.in_world(world, |engine| engine.set_gravity(gravity))?
    }

    /// Returns the events of a world since the last call, oldest first, if the scenes have them switched on. On the
    /// GPU: those that have arrived; after [`Self::wait`] that is all.
    ///
    /// # Errors
    /// If there is no such world, or the device is lost.
    pub fn take_events(&mut self, world: usize) -> Result<Vec<Event>, WorldError> {
        self.check(world)?;
        if let BatchEngine::Gpu(worlds) = &mut self.inner {
            worlds.poll()?;
        }
        Ok(std::mem::take(&mut self.host_mut(world)?.events))
    }

    /// Returns poses and velocities of all bodies of all worlds. On the GPU this is one download, and waits for the
    /// device.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn bodies(&mut self) -> Result<BodyRows, WorldError> {
        match &mut self.inner {
            BatchEngine::Cpu { worlds, .. } => {
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
            BatchEngine::Gpu(worlds) => worlds.bodies(),
        }
    }

    /// Returns the hash of every world's state, as [`state::hash`] of its snapshot; for an empty slot that of no
    /// bodies. On the GPU this waits for the device.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn hashes(&mut self) -> Result<Vec<u64>, WorldError> {
        match &mut self.inner {
            BatchEngine::Cpu { worlds, .. } => Ok(worlds.iter().map(|world| state::hash(&world.snapshot())).collect()),
            BatchEngine::Gpu(worlds) => worlds.hashes(),
        }
    }

    /// Returns the state of a world between two steps; a [`World`](crate::World) of the same scene can restore it too.
    /// On the GPU this waits for the device.
    ///
    /// # Errors
    /// If there is no such world, or the device is lost.
    pub fn snapshot(&mut self, world: usize) -> Result<Snapshot, WorldError> {
        self.in_world(world, |engine| engine.snapshot())?
    }

    /// Restores worlds, each from a snapshot, its own or one of a [`World`](crate::World) of the same scene, to the
    /// same bits. The other worlds stay as they are. On the GPU this waits for the device once.
    ///
    /// # Errors
    /// There is no such world, one is given twice, a snapshot does not fit its world
    /// ([`World::restore`](crate::World::restore) lists the checks), or the device is lost. Then nothing has changed in
    /// any world.
    pub fn restore(&mut self, which: &[(usize, &Snapshot)]) -> Result<(), WorldError> {
        self.check_all(which.iter().map(|&(world, _)| world))?;
        self.inner.restore(which, Untaken::Dropped)
    }

    /// Resets worlds to their start, to the bits of new ones, as learning does when an episode ends. Pending commands
    /// are dropped, and bodies and joints are those of the scene; earlier events can still be taken. On the GPU this
    /// waits for the device once.
    ///
    /// # Errors
    /// There is no such world, one is given twice, or the device is lost; then nothing has changed.
    pub fn reset(&mut self, which: &[usize]) -> Result<(), WorldError> {
        self.check_all(which.iter().copied())?;
        let starts: Vec<_> = which.iter().map(|&world| (world, &self.starts[world])).collect();
        self.inner.restore(&starts, Untaken::Kept)
    }

    /// Answers a batch of queries, each about the world given with it, as it is now
    /// ([`query`](crate::low_level::query)): one answer for each query, in their order, with slots of bodies and
    /// indices of shapes in that world. On the GPU all of them share the same dispatches, and this waits for the
    /// device.
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
    /// There is no such world; the first query with a value out of range; on the GPU, the device is lost or has no
    /// memory for the batch.
    pub fn query(&mut self, queries: &[(usize, Query)]) -> Result<Answers, WorldError> {
        queries.iter().try_for_each(|&(world, _)| self.check(world))?;
        match &mut self.inner {
            BatchEngine::Cpu { worlds, threads, .. } => query_each(worlds, threads, queries),
            BatchEngine::Gpu(worlds) => worlds.query(queries),
        }
    }

    /// Moves characters, each in the world named beside it, all in the same few batches of casts, as
    /// [`World::move_characters`](crate::World::move_characters).
    ///
    /// # Errors
    /// There is no such world; the first mover with a value out of range; those of [`Self::query`].
    pub fn move_characters(&mut self, movers: &[(usize, Mover)]) -> Result<Vec<Moved>, WorldError> {
        let (worlds, movers): (Vec<usize>, Vec<Mover>) = movers.iter().cloned().unzip();
        worlds.iter().try_for_each(|&world| self.check(world))?;
        move_characters(&movers, |casts| {
            let casts: Vec<_> = casts.iter().map(|(index, cast)| (worlds[*index], cast.clone())).collect();
            self.query(&casts)
        })
    }

    /// Returns how often queries on the GPU found more than their buffers hold and were run again. For tests.
    #[doc(hidden)]
    #[must_use]
    pub fn query_repeats(&self) -> u64 {
        match &self.inner {
            BatchEngine::Cpu { .. } => 0,
            BatchEngine::Gpu(worlds) => worlds.query_repeats(),
        }
    }

    /// Returns the number of steps of worlds that were made in groups. For tests.
    #[doc(hidden)]
    #[must_use]
    pub fn grouped_steps(&self) -> u64 {
        let BatchEngine::Cpu { groups, .. } = &self.inner else { return 0 };
        groups.iter().map(|group| group.lock().unwrap_or_else(PoisonError::into_inner).steps()).sum()
    }

    /// Returns the scene of a world as it is laid out now.
    #[must_use]
    pub fn compiled(&self, world: usize) -> Option<&Compiled> {
        self.check(world).ok()?;
        self.host(world).map(|host| &host.compiled)
    }

    /// Returns the number of steps that a world has done; 0 if there is no such world.
    #[must_use]
    pub fn steps(&self, world: usize) -> u64 {
        self.host(world).map_or(0, |host| host.steps)
    }

    /// Returns the steps in which a world dropped contacts or events, as
    /// [`World::overflowed_steps`](crate::World::overflowed_steps) does.
    #[must_use]
    pub fn overflowed_steps(&self, world: usize) -> &[u64] {
        self.host(world).map_or(&[], |host| &host.overflowed)
    }

    /// Returns the number of dispatches of the last step of all worlds together on the GPU; `None` on the CPU.
    #[must_use]
    pub fn dispatches(&self) -> Option<u32> {
        match &self.inner {
            BatchEngine::Cpu { .. } => None,
            BatchEngine::Gpu(worlds) => Some(worlds.dispatches()),
        }
    }

    /// Returns the bytes of all buffers on the device; `None` on the CPU.
    #[must_use]
    pub fn device_bytes(&self) -> Option<u64> {
        match &self.inner {
            BatchEngine::Cpu { .. } => None,
            BatchEngine::Gpu(worlds) => Some(worlds.device_bytes()),
        }
    }
}

impl BatchEngine {
    fn restore(&mut self, which: &[(usize, &Snapshot)], untaken: Untaken) -> Result<(), WorldError> {
        match self {
            Self::Cpu { worlds, .. } => {
                let mut rewound = Vec::with_capacity(which.len());
                for &(world, snapshot) in which {
                    rewound.push(worlds[world].host().rewound(snapshot)?);
                }
                for (&(world, snapshot), rewound) in which.iter().zip(rewound) {
                    if let Some(rewound) = rewound {
                        worlds[world].reset_to(rewound)?;
                    }
                    worlds[world].resume(snapshot, untaken, None);
                }
                Ok(())
            }
            Self::Gpu(worlds) => worlds.restore(which, untaken),
        }
    }
}

/// Answers the queries of every world, the worlds in parallel.
fn query_each(worlds: &mut [CpuWorld], threads: &Threads, queries: &[(usize, Query)]) -> Result<Answers, WorldError> {
    // All queries are checked first, so that an error has the index in the batch and none is answered.
    #[allow(clippy::cast_possible_truncation, reason = "worlds are counted in u32")]
    let of_world = queries.iter().map(|(world, query)| (*world as u32, query));
    Flat::of(of_world, |world, body| worlds[world as usize].host().slot_of(body).is_ok())?;
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
    /// Calls `run` for every element in parallel, each as a task of its own. For elements that take long.
    fn each<T: Send>(&self, elements: &mut [T], run: impl Fn(&mut T) + Send + Sync) {
        match self.pool() {
            Some(pool) => pool.install(|| elements.par_iter_mut().for_each(run)),
            None => elements.iter_mut().for_each(run),
        }
    }
}
