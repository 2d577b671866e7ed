//! Reads bodies of a running world: [`BodyView`] and [`BodyTransform`]. Positions are those of the origin of the body's
//! frame, as in a scene and in [`Command::Teleport`], not of the centre of mass.

use glam::Vec2;

use crate::command::Command;
use crate::cpu::CpuWorld;
use crate::math::{cross_scalar, inv_rotate, rotate};
use crate::population::{BodyId, Population, living, slot_of};
use crate::scene::{BodyType, Compiled, MassProperties};
use crate::types::{ASLEEP, BodyState, DYNAMIC, KINEMATIC, Pose, QUARANTINED};
use crate::world::{World, WorldError};

/// A copy of a body's state between two steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BodyView {
    id: BodyId,
    kind: BodyType,
    pose: Pose,
    state: BodyState,
    mass: MassProperties,
}

impl BodyView {
    /// Returns the view of a body that exists.
    pub(crate) fn new(compiled: &Compiled, id: BodyId, pose: Pose, state: BodyState) -> Self {
        let slot = id.index as usize;
        let kind = match compiled.bodies[slot].kind {
            DYNAMIC => BodyType::Dynamic,
            KINEMATIC => BodyType::Kinematic,
            _ => BodyType::Static,
        };
        Self { id, kind, pose, state, mass: compiled.mass[slot] }
    }

    /// Returns the id of the body.
    #[must_use]
    pub fn id(&self) -> BodyId {
        self.id
    }

    /// Returns the type of the body.
    #[must_use]
    pub fn kind(&self) -> BodyType {
        self.kind
    }

    /// Returns the origin of the body's frame, m: the position that a scene and [`Command::Teleport`] set.
    #[must_use]
    pub fn position(&self) -> Vec2 {
        origin(self.pose, self.mass.center)
    }

    /// Returns the angle of the body, rad, in (−π, π].
    #[must_use]
    pub fn angle(&self) -> f32 {
        angle(self.pose.rotation.into())
    }

    /// Returns the cosine and sine of the body's angle.
    #[must_use]
    pub fn rotation(&self) -> Vec2 {
        self.pose.rotation.into()
    }

    /// Returns the centre of mass in the world, m.
    #[must_use]
    pub fn center(&self) -> Vec2 {
        self.pose.position.into()
    }

    /// Returns the centre of mass in the body's frame, m.
    #[must_use]
    pub fn local_center(&self) -> Vec2 {
        self.mass.center
    }

    /// Returns the velocity of the centre of mass, m/s: the one that [`Command::Velocity`] sets.
    #[must_use]
    pub fn velocity(&self) -> Vec2 {
        self.state.velocity.into()
    }

    /// Returns the angular velocity, rad/s.
    #[must_use]
    pub fn angular_velocity(&self) -> f32 {
        self.state.angular_velocity
    }

    /// Returns the velocity of the body's material at a point of the world, m/s.
    #[must_use]
    pub fn velocity_at(&self, point: impl Into<Vec2>) -> Vec2 {
        self.velocity() + cross_scalar(self.angular_velocity(), point.into() - self.center())
    }

    /// Returns the mass, kg; 0 for static and kinematic bodies.
    #[must_use]
    pub fn mass(&self) -> f32 {
        self.mass.mass
    }

    /// Returns the moment of inertia about the centre of mass, kg·m²; 0 for bodies that no torque turns.
    #[must_use]
    pub fn inertia(&self) -> f32 {
        self.mass.inertia
    }

    /// Returns true unless the body is dynamic and sleeps ([`Settings::sleep`](crate::Settings::sleep)).
    #[must_use]
    pub fn is_awake(&self) -> bool {
        self.kind != BodyType::Dynamic || self.state.status & ASLEEP == 0
    }

    /// Returns true if a value of the body became NaN or infinite and it was taken out of the simulation.
    #[must_use]
    pub fn is_quarantined(&self) -> bool {
        self.state.status & QUARANTINED != 0
    }

    /// Returns the position in the world, m, of a point of the body's frame.
    #[must_use]
    pub fn to_world(&self, point: impl Into<Vec2>) -> Vec2 {
        self.center() + rotate(self.rotation(), point.into() - self.mass.center)
    }

    /// Returns the position in the body's frame, m, of a point of the world: for anchors of joints and points of
    /// forces.
    #[must_use]
    pub fn to_local(&self, point: impl Into<Vec2>) -> Vec2 {
        inv_rotate(self.rotation(), point.into() - self.center()) + self.mass.center
    }

    /// Returns the present pose if a command puts the body exactly there.
    pub(crate) fn stays_by(&self, command: Command) -> Option<Pose> {
        match command {
            Command::Teleport { position, angle } if (position, angle) == (self.position(), self.angle()) => {
                Some(self.pose)
            }
            _ => None,
        }
    }
}

/// Position and rotation of a body's frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BodyTransform {
    /// Id of the body.
    pub id: BodyId,
    /// Position of the origin, m.
    pub position: Vec2,
    /// Cosine and sine of the angle.
    pub rotation: Vec2,
}

impl BodyTransform {
    pub(crate) fn new(id: BodyId, pose: Pose, center: Vec2) -> Self {
        Self { id, position: origin(pose, center), rotation: pose.rotation.into() }
    }

    /// Returns the angle, rad, in (−π, π].
    #[must_use]
    pub fn angle(&self) -> f32 {
        angle(self.rotation)
    }

    /// Returns the position in the world, m, of a point of the body's frame.
    #[must_use]
    pub fn to_world(&self, point: impl Into<Vec2>) -> Vec2 {
        self.position + rotate(self.rotation, point.into())
    }
}

/// Returns the origin of the frame of a body with its centre of mass at `center` in that frame.
fn origin(pose: Pose, center: Vec2) -> Vec2 {
    Vec2::from(pose.position) - rotate(pose.rotation.into(), center)
}

fn angle(rotation: Vec2) -> f32 {
    rotation.y.atan2(rotation.x)
}

/// Writes the transform of every body, by slot.
pub(crate) fn transforms_of(
    compiled: &Compiled,
    population: Option<&Population>,
    poses: &[Pose],
    out: &mut Vec<BodyTransform>,
) {
    out.clear();
    let place = |id: BodyId| {
        let slot = id.index as usize;
        BodyTransform::new(id, poses[slot], compiled.mass[slot].center)
    };
    out.extend(living(compiled, population).map(place));
}

impl CpuWorld {
    /// Returns a body as it is now. A body of the scene may be given by its index. This takes some nanoseconds.
    ///
    /// # Errors
    /// The body does not exist or was removed.
    pub fn body(&self, body: impl Into<BodyId>) -> Result<BodyView, WorldError> {
        let slot = slot_of(self.compiled(), self.population(), body.into())?;
        self.body_in(slot).ok_or(WorldError::Cancelled)
    }

    /// Returns the body in a slot, if there is one.
    pub(crate) fn body_in(&self, slot: usize) -> Option<BodyView> {
        let id = self.body_id(slot)?;
        Some(BodyView::new(self.compiled(), id, *self.poses().get(slot)?, self.body_state(slot)?))
    }

    /// Writes the transform of every body as it is now, by slot.
    pub fn transforms(&self, out: &mut Vec<BodyTransform>) {
        transforms_of(self.compiled(), self.population(), self.poses(), out);
    }

    /// Returns the ids of all bodies, by slot.
    pub fn bodies(&self) -> impl Iterator<Item = BodyId> + '_ {
        living(self.compiled(), self.population())
    }
}

impl World {
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

#[cfg(test)]
mod tests;
