//! [`World`]: one world on either backend, the CPU or the GPU, with the same methods.

use crate::body_view::{BodyTransform, BodyView};
use crate::cancel::CancelToken;
use crate::command::{Command, slot_of};
use crate::cpu::CpuWorld;
use crate::debug_draw::{DebugDraw, DebugDrawOptions, debug_draw};
use crate::event::Event;
use crate::explosion::Explosion;
use crate::gpu::GpuWorld;
use crate::host::{Host, WorldEngine, world_verbs};
use crate::mover::{Moved, Mover, move_characters};
use crate::population::{BodyId, Journal, Population, living};
use crate::query::{Answers, Query, QueryBounds};
use crate::scene::Scene;
use crate::snapshot::{Lineage, Snapshot};
use crate::state::{JointReaction, joint_reactions, max_speed};
use crate::step::Stage;
use crate::types::{BodyState, Pose};
use crate::wind::Wind;
use crate::world_error::WorldError;

/// A world: the bodies, joints and contacts of a [`Scene`], stepped on the CPU or the GPU.
///
/// ```
/// use drystone::{Body, Scene, Shape, World};
///
/// let mut scene = Scene::new("drop");
/// let ball = scene.add(Body::dynamic(0.0, 4.0).shape(Shape::circle(0.5)));
/// let mut world = World::new(&scene)?;
/// world.step()?;
/// assert!(world.body(ball)?.velocity().y < 0.0);
/// # Ok::<(), drystone::WorldError>(())
/// ```
#[derive(Debug)]
pub enum World {
    /// World on the CPU.
    Cpu(Box<CpuWorld>),
    /// World on the GPU.
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
    /// Makes a world from a scene, on the CPU, on one thread.
    ///
    /// # Errors
    /// If the scene is not valid.
    pub fn new(scene: &Scene) -> Result<Self, WorldError> {
        CpuWorld::new(scene).map(Self::from)
    }

    /// Makes a world from a scene, on `count` threads of the CPU. Their number does not change the result.
    ///
    /// # Errors
    /// If the scene is not valid, or the operating system refuses to start the threads.
    pub fn on_threads(scene: &Scene, count: usize) -> Result<Self, WorldError> {
        CpuWorld::new(scene)?.with_threads(count).map(Self::from)
    }

    /// Makes a world from a scene, on the GPU.
    ///
    /// # Errors
    /// If the scene is not valid or does not fit the device.
    #[cfg(feature = "gpu")]
    pub fn on_gpu(context: &crate::gpu::Context, scene: &Scene) -> Result<Self, WorldError> {
        GpuWorld::new(context, scene).map(Self::from)
    }

    world_verbs!();

    fn host(&self) -> &Host {
        match self {
            Self::Cpu(world) => world.host(),
            Self::Gpu(world) => world.host(),
        }
    }

    fn host_mut(&mut self) -> &mut Host {
        match self {
            Self::Cpu(world) => world.host_mut(),
            Self::Gpu(world) => world.host_mut(),
        }
    }

    fn stays_by(&self, slot: usize, command: Command) -> Option<Pose> {
        match self {
            Self::Cpu(world) => world.stays_by(slot, command),
            Self::Gpu(world) => world.stays_by(slot, command),
        }
    }

    /// Calls a function with the engine of the world.
    fn with_engine<T>(&mut self, what: impl FnOnce(&mut dyn WorldEngine) -> T) -> T {
        match self {
            Self::Cpu(world) => what(&mut **world),
            Self::Gpu(world) => world.with_engine(what),
        }
    }

    /// Advances the world by one step.
    ///
    /// # Errors
    /// Those of [`CpuWorld::step`] and [`GpuWorld::step`].
    pub fn step(&mut self) -> Result<(), WorldError> {
        match self {
            Self::Cpu(world) => world.step(),
            Self::Gpu(world) => world.step(),
        }
    }

    /// Sets the token by which another thread can end a step early, with [`WorldError::Cancelled`].
    pub fn set_cancel_token(&mut self, token: CancelToken) {
        match self {
            Self::Cpu(world) => world.set_cancel_token(token),
            Self::Gpu(world) => world.set_cancel_token(token),
        }
    }

    /// Advances the world by one step and measures its stages. On the GPU this waits for the device.
    ///
    /// # Errors
    /// Those of [`Self::step`].
    pub fn step_profiled(&mut self) -> Result<(), WorldError> {
        match self {
            Self::Cpu(world) => world.step_profiled(),
            Self::Gpu(world) => world.step_profiled(),
        }
    }

    /// Pushes bodies away from a point at the start of the next step: one impulse on each dynamic shape in reach.
    /// Returns the number of impulses. Sleeping bodies that are pushed wake. On the GPU this waits for the device and
    /// reads the poses back.
    ///
    /// # Errors
    /// If a value is out of range or the device is lost.
    pub fn explode(&mut self, explosion: &Explosion) -> Result<usize, WorldError> {
        // Before the device is waited for.
        explosion.check()?;
        let pushes = match self {
            Self::Cpu(world) => explosion.pushes(world.compiled(), world.poses()),
            Self::Gpu(world) => {
                let poses = world.read_poses()?;
                explosion.pushes(world.compiled(), &poses)
            }
        };
        Ok(self.host_mut().push(&pushes)?)
    }

    /// Lets a wind press on the shapes of dynamic bodies in the next step: drag and lift by the width that each edge
    /// turns towards it. Call it before each step in which it blows. Returns the number of impulses. On the GPU this
    /// waits for the device and reads the state back.
    ///
    /// # Errors
    /// If a value is out of range or the device is lost.
    pub fn apply_wind(&mut self, wind: &Wind) -> Result<usize, WorldError> {
        // Before the device is waited for.
        wind.check()?;
        let pushes = match self {
            Self::Cpu(world) => {
                let states: Vec<BodyState> = world.states().collect();
                wind.pushes(world.compiled(), world.poses(), &states)
            }
            Self::Gpu(world) => {
                let snapshot = world.snapshot()?;
                wind.pushes(world.compiled(), &snapshot.poses, &snapshot.states)
            }
        };
        Ok(self.host_mut().push(&pushes)?)
    }

    /// Returns the events since the last call, oldest first, if the scene has them switched on
    /// ([`crate::Settings::events`]). On the GPU: those that have arrived; after [`Self::wait`] that is all.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn take_events(&mut self) -> Result<Vec<Event>, WorldError> {
        match self {
            Self::Cpu(world) => Ok(world.take_events()),
            Self::Gpu(world) => world.take_events(),
        }
    }

    /// Answers a batch of queries about the world as it is now. Give all queries in one call: each call rebuilds the
    /// grid of the whole world, so that a single ray costs about fifty times what it costs in a batch of a hundred. On
    /// the GPU this waits for the device; `GpuWorld::query_async` does not.
    ///
    /// # Errors
    /// The first query with a value out of range; on the GPU also if the device is lost or has no memory for them.
    pub fn query(&mut self, queries: &[Query]) -> Result<Answers, WorldError> {
        match self {
            Self::Cpu(world) => world.query(queries),
            Self::Gpu(world) => world.query(queries),
        }
    }

    /// Answers a batch of queries like [`Self::query`], within bounds: if the effort is used up before the end, only
    /// the first queries have answers.
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
    /// Those of [`Self::query`]; [`WorldError::TooManyFound`].
    pub fn query_within(&mut self, queries: &[Query], bounds: QueryBounds) -> Result<Answers, WorldError> {
        match self {
            Self::Cpu(world) => world.query_within(queries, bounds),
            Self::Gpu(world) => world.query_within(queries, bounds),
        }
    }

    /// Moves characters among the bodies as they are now, all in the same few batches of casts. Nothing is pushed; move
    /// a body along, if others shall meet the character ([`Command::Target`]), in a category that it does not meet. On
    /// the GPU this waits for the device, some four to eight times.
    ///
    /// # Errors
    /// The first mover with a value out of range; those of [`Self::query`].
    pub fn move_characters(&mut self, movers: &[Mover]) -> Result<Vec<Moved>, WorldError> {
        move_characters(movers, |casts| {
            let casts: Vec<Query> = casts.iter().map(|(_, cast)| cast.clone()).collect();
            self.query(&casts)
        })
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

    /// Returns the state between two steps.
    ///
    /// # Errors
    /// If the device is lost, or a step was given up: then the state is that of no completed step.
    pub fn snapshot(&mut self) -> Result<Snapshot, WorldError> {
        self.with_engine(|engine| engine.snapshot())
    }

    /// Draws the world as it is now with a renderer of lines ([`DebugDraw`]). On the GPU this waits for the device and
    /// reads the state back.
    ///
    /// # Errors
    /// Those of [`Self::snapshot`].
    pub fn debug_draw(&mut self, draw: &mut impl DebugDraw, options: &DebugDrawOptions) -> Result<(), WorldError> {
        let snapshot = self.snapshot()?;
        debug_draw(self.compiled(), self.population(), &snapshot, options, draw);
        Ok(())
    }

    /// Returns the speed of the fastest dynamic body, m/s. On the GPU this waits for the device and reads the state
    /// back.
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

    /// Returns the forces and torques of all joints that are not removed, with their ids, in the order of their
    /// indices. On the GPU this waits for the device.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn joint_reactions(&mut self) -> Result<Vec<JointReaction>, WorldError> {
        let snapshot = self.snapshot()?;
        Ok(joint_reactions(self.compiled(), &snapshot))
    }

    /// Returns the state between two steps as bytes, versioned and checksummed, for [`Self::load`] of the same scene on
    /// either backend.
    ///
    /// # Errors
    /// If the device is lost.
    pub fn save(&mut self) -> Result<Vec<u8>, WorldError> {
        Ok(self.snapshot()?.to_bytes(self.compiled().fingerprint()))
    }

    /// Continues from the bytes of [`Self::save`], to the same bits on the same backend.
    ///
    /// # Errors
    /// If the bytes are damaged, of another version, or of another world, or the device is lost; then nothing has
    /// changed.
    pub fn load(&mut self, bytes: &[u8]) -> Result<(), WorldError> {
        self.load_with(bytes, &Journal::default())
    }

    /// Continues from the bytes of a world to or from which bodies or joints were added or removed by hand, with the
    /// journal of those changes. This world must be newly made from its scene, without a step.
    ///
    /// # Errors
    /// Those of [`Self::load`], and if this world has done a step or the journal does not fit it. Then the world cannot
    /// be used: make another.
    pub fn load_with(&mut self, bytes: &[u8], journal: &Journal) -> Result<(), WorldError> {
        self.with_engine(|engine| engine.load_with(bytes, journal))
    }

    /// Returns the mean time of each stage, ms, over the steps of [`Self::step_profiled`]; empty if there are none.
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

    /// Returns the number of dispatches of the last step on the GPU; `None` on the CPU.
    #[must_use]
    pub fn dispatches(&self) -> Option<u32> {
        match self {
            Self::Cpu(_) => None,
            Self::Gpu(world) => Some(world.dispatches()),
        }
    }

    /// Returns a body as it is now: position, velocities, mass. A body of the scene may be given by its index.
    ///
    /// On the CPU this takes some nanoseconds. On the GPU it waits for the device and reads the body back; for many
    /// bodies [`Self::transforms`] waits once, and [`Self::transforms_latest`] never does.
    ///
    /// ```
    /// use drystone::{Body, Command, Scene, Shape, World};
    ///
    /// let mut scene = Scene::new("hammer");
    /// let hammer = scene.add(Body::dynamic(1.0, 4.0).shape(Shape::half_box(0.2, 0.5).offset(1.0, 0.0)));
    /// let mut world = World::new(&scene)?;
    /// world.step()?;
    /// let body = world.body(hammer)?;
    /// // The position is that of the origin, not of the centre of mass: to set it again moves nothing.
    /// world.command(hammer, Command::teleport(body.position(), body.angle()))?;
    /// # Ok::<(), drystone::WorldError>(())
    /// ```
    ///
    /// # Errors
    /// The body does not exist or was removed; the device is lost; or a step was given up.
    pub fn body(&self, body: impl Into<BodyId>) -> Result<BodyView, WorldError> {
        match self {
            Self::Cpu(world) if world.has_given_up() => Err(WorldError::Cancelled),
            Self::Cpu(world) => world.body(body),
            Self::Gpu(world) => world.body(body),
        }
    }

    /// Returns true if the body exists and was not removed.
    #[must_use]
    pub fn contains(&self, body: impl Into<BodyId>) -> bool {
        slot_of(self.compiled(), self.population(), body.into()).is_ok()
    }

    /// Returns the body with a name ([`Body::id`](crate::Body::id)), if there is one. Compares every body.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<BodyId> {
        self.bodies().find(|id| self.compiled().ids[id.index as usize].as_deref() == Some(name))
    }

    /// Returns the ids of all bodies, by slot.
    pub fn bodies(&self) -> impl Iterator<Item = BodyId> + '_ {
        living(self.compiled(), self.population())
    }

    /// Writes the transform of every body as it is now, by slot. On the GPU this waits for the device.
    ///
    /// # Errors
    /// If the device is lost or a step was given up.
    pub fn transforms(&mut self, out: &mut Vec<BodyTransform>) -> Result<(), WorldError> {
        match self {
            Self::Cpu(world) if world.has_given_up() => return Err(WorldError::Cancelled),
            Self::Cpu(world) => world.transforms(out),
            Self::Gpu(world) => world.transforms(out)?,
        }
        Ok(())
    }

    /// Writes the newest transforms of all bodies that are known without a wait, and returns the number of steps done
    /// then. On the CPU they are the present ones. On the GPU each call starts a copy and returns the newest that has
    /// arrived: with a call a frame that is a frame or two old. `None`: none has arrived yet, and `out` is empty.
    ///
    /// # Errors
    /// If the device is lost or a step was given up.
    pub fn transforms_latest(&mut self, out: &mut Vec<BodyTransform>) -> Result<Option<u64>, WorldError> {
        match self {
            Self::Cpu(_) => self.transforms(out).map(|()| Some(self.steps())),
            Self::Gpu(world) => world.transforms_latest(out),
        }
    }

    fn population(&self) -> Option<&Population> {
        match self {
            Self::Cpu(world) => world.population(),
            Self::Gpu(world) => world.population(),
        }
    }
}

/// Returns the number of commands that a world has for its next step: a target or an impulse at a point is two.
#[must_use]
pub fn pending_commands(world: &World) -> usize {
    world.host().commands.len()
}

/// Returns the lineage that a snapshot of a world taken now would have, for a snapshot that is built from tables.
#[must_use]
pub fn lineage(world: &World) -> Lineage {
    world.host().lineage()
}
