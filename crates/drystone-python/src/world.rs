//! `World`: one world on either backend, with its scene and the journal of changes by hand, so that it can be saved.

use std::sync::{Arc, Mutex, PoisonError};

use drystone::low_level::state::hash;
use drystone::low_level::types::{Pose, WORLD_A};
use drystone::low_level::{Alteration, Journal};
use drystone::{
    Body, BodyId, BodyType, Command, Context, Event, Filter, Joint, JointCommand, JointId, Property, Scene, Snapshot,
    World, WorldError,
};
use drystone_scenes::SavedWorld;
use glam::{DVec2, Vec2};
use numpy::{PyReadonlyArray1, PyUntypedArrayMethods};
use pyo3::types::{PyBytes, PyDict};
use pyo3::{Bound, Py, PyAny, PyResult, Python, pyclass, pymethods};

use crate::arrays::ColumnArrays;
use crate::backend::{BackendWish, describe, threads};
use crate::call::{CallError, detached, lock, repeat};
use crate::columns::{BodyColumns, Column, ColumnChoice};
use crate::contacts::ContactColumns;
use crate::outlines::OutlineColumns;
use crate::picture::{Film, PictureSize, picture};
use crate::pushes::{Air, Blast, explosion, wind};
use crate::rays::{AllHitColumns, Gait, HitColumns, MovedColumns, casts, ignoring, movers, queries, queries_for_all};
use crate::scene::{SceneHandle, parse_body, parse_joint, parse_properties, parse_shape, parse_shapes};

/// Body as Python gets it: id, type, name, position, angle, velocity, angular velocity, centre of mass, mass, moment of
/// inertia, awake, the user's number.
type BodyTuple =
    ((u32, u32), &'static str, Option<String>, [f64; 2], f32, [f32; 2], f32, [f32; 2], f32, f32, bool, u64);
/// Event as Python gets it: step, kind, ids of the bodies, id of the joint, point, normal, approach speed.
type EventTuple = (u64, String, [Option<(u32, u32)>; 2], Option<(u32, u32)>, [f32; 2], [f32; 2], f32);

/// A world with everything that is needed to save it.
#[derive(Debug)]
pub struct OwnedWorld {
    /// The world.
    pub world: World,
    scene: Arc<Scene>,
    journal: Journal,
    columns: BodyColumns,
    /// Poses at the start, by which pictures are framed.
    pub start: Vec<Pose>,
}

/// One world.
#[pyclass(name = "World", module = "drystone._drystone", frozen)]
#[derive(Debug)]
pub struct WorldHandle {
    owned: Mutex<OwnedWorld>,
    arrays: Mutex<ColumnArrays>,
    backend: &'static str,
    device: String,
    threads: Option<usize>,
}

/// State of a world, in memory.
#[pyclass(name = "Snapshot", module = "drystone._drystone", frozen)]
#[derive(Debug)]
pub struct SnapshotHandle {
    snapshot: Snapshot,
    journal: Journal,
}

#[pymethods]
impl SnapshotHandle {
    /// Returns the number of steps done.
    #[getter]
    fn steps(&self) -> u64 {
        self.snapshot.step
    }
}

/// A new world with a description of its backend.
struct Opened {
    world: World,
    backend: &'static str,
    device: String,
    threads: Option<usize>,
}

fn open(scene: &Scene, wish: BackendWish, threads: usize) -> Result<Opened, CallError> {
    if let Some(context) = wish.device()? {
        match World::on_gpu(&context, scene) {
            Ok(world) => return Ok(on_gpu(world, &context)),
            Err(error @ WorldError::Scene(_)) => return Err(error.into()),
            Err(error) if wish == BackendWish::Gpu => return Err(CallError::Device(error.to_string())),
            // A world that a GPU cannot hold runs on the CPU.
            Err(_) => {}
        }
    }
    let world = World::on_threads(scene, threads)?;
    Ok(Opened { world, backend: "cpu", device: format!("CPU, {threads} threads"), threads: Some(threads) })
}

fn on_gpu(world: World, context: &Context) -> Opened {
    Opened { world, backend: "gpu", device: describe(context), threads: None }
}

impl OwnedWorld {
    fn new(world: World, scene: Arc<Scene>, journal: Journal) -> Result<Self, CallError> {
        let mut owned = Self { world, scene, journal, columns: BodyColumns::default(), start: Vec::new() };
        owned.start = owned.poses()?;
        Ok(owned)
    }

    /// Returns the poses of the centres of mass, by slot.
    fn poses(&mut self) -> Result<Vec<Pose>, CallError> {
        match &mut self.world {
            World::Cpu(world) => Ok(world.poses().to_vec()),
            world @ World::Gpu(_) => Ok(world.snapshot()?.poses),
        }
    }

    /// Computes the wanted columns. On the GPU this waits for the device and reads the state back once.
    fn read(&mut self, choice: ColumnChoice) -> Result<(), CallError> {
        self.columns.clear();
        match &mut self.world {
            World::Cpu(world) => {
                let rows = world.poses().len();
                self.columns.push_world(choice, world.compiled(), world.poses(), world.states(), rows);
            }
            world @ World::Gpu(_) => {
                let Snapshot { poses, states, .. } = world.snapshot()?;
                let rows = poses.len();
                self.columns.push_world(choice, world.compiled(), &poses, states.into_iter(), rows);
            }
        }
        Ok(())
    }

    /// Returns a new world of the scene on the same backend.
    fn beginning(&self, threads: Option<usize>) -> Result<World, CallError> {
        Ok(match &self.world {
            World::Cpu(_) => World::on_threads(&self.scene, threads.unwrap_or(1))?,
            World::Gpu(world) => World::on_gpu(world.context(), &self.scene)?,
        })
    }

    fn note(&mut self, alteration: Alteration) {
        self.journal.push(self.world.steps(), alteration);
    }

    /// Returns everything that is needed to continue this world.
    fn saved(&mut self) -> Result<SavedWorld, CallError> {
        Ok(SavedWorld::new(&self.scene, self.journal.clone(), &mut self.world)?)
    }
}

impl WorldHandle {
    fn new(opened: Opened, scene: Arc<Scene>, journal: Journal) -> Result<Self, CallError> {
        let Opened { world, backend, device, threads } = opened;
        let owned = Mutex::new(OwnedWorld::new(world, scene, journal)?);
        Ok(Self { owned, arrays: Mutex::default(), backend, device, threads })
    }

    /// Works on the world without the interpreter lock.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut OwnedWorld) -> Result<T, CallError> + Send,
    ) -> Result<T, CallError> {
        detached(py, || work(&mut *lock(&self.owned)?))
    }

    /// Works on the world without the interpreter lock, then writes the arrays.
    fn change<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut OwnedWorld) -> Result<T, CallError> + Send,
    ) -> Result<T, CallError> {
        let done = self.with(py, work)?;
        self.refresh(py)?;
        Ok(done)
    }

    fn choice(&self) -> ColumnChoice {
        // Held while the interpreter lock is held, and never across its release.
        self.arrays.lock().unwrap_or_else(PoisonError::into_inner).choice()
    }

    /// Writes the arrays that the caller has.
    fn refresh(&self, py: Python<'_>) -> Result<(), CallError> {
        let choice = self.choice();
        if choice == ColumnChoice::default() {
            return Ok(());
        }
        self.with(py, |owned| owned.read(choice))?;
        let owned = lock(&self.owned)?;
        self.arrays.lock().unwrap_or_else(PoisonError::into_inner).write(py, &[owned.columns.rows()], &owned.columns)
    }
}

fn joint_of((index, generation): (u32, u32)) -> JointId {
    JointId { index, generation }
}

fn body_of((index, generation): (u32, u32)) -> BodyId {
    BodyId { index, generation }
}

fn pair(id: BodyId) -> (u32, u32) {
    (id.index, id.generation)
}

/// Returns a command from its name and values.
fn command(name: &str, values: &[f64], point: Option<[f32; 2]>) -> Result<Command, CallError> {
    let point = point.map(Vec2::from);
    let two = |x, y| DVec2::new(x, y).as_vec2();
    #[allow(clippy::cast_possible_truncation, reason = "rounded to f32 on purpose")]
    let single = |value: f64| value as f32;
    Ok(match (name, values) {
        ("impulse", &[x, y]) => Command::Impulse { impulse: two(x, y), point },
        ("angular_impulse", &[value]) => Command::AngularImpulse(single(value)),
        ("force", &[x, y]) => Command::Force { force: two(x, y), point },
        ("torque", &[value]) => Command::Torque(single(value)),
        ("velocity", &[x, y]) => Command::Velocity(two(x, y)),
        ("angular_velocity", &[value]) => Command::AngularVelocity(single(value)),
        ("teleport", &[x, y, angle]) => Command::teleport([x, y], single(angle)),
        ("target", &[x, y, angle]) => Command::target([x, y], single(angle)),
        ("wake", []) => Command::Wake,
        _ => return Err(CallError::argument("name", format!("is {name:?}"), "a command with its values")),
    })
}

/// Returns a command to a joint from its name and values.
fn joint_command(name: &str, values: &[f32]) -> Result<JointCommand, CallError> {
    Ok(match (name, values) {
        ("motor", &[speed, max]) => JointCommand::Motor { speed, max },
        ("limits", &[lower, upper]) => JointCommand::Limits([lower, upper]),
        ("target", &[x, y]) => JointCommand::Target(Vec2::new(x, y)),
        ("velocity", &[x, y, angular]) => JointCommand::Velocity { linear: Vec2::new(x, y), angular },
        ("offset", &[x, y, angular]) => JointCommand::Offset { linear: Vec2::new(x, y), angular },
        ("length", &[length]) => JointCommand::Length(length),
        ("spring_target", &[target]) => JointCommand::SpringTarget(target),
        ("enabled", &[enabled]) => JointCommand::Enable(enabled != 0.0),
        _ => return Err(CallError::argument("name", format!("is {name:?}"), "a command with its values")),
    })
}

#[pymethods]
impl WorldHandle {
    /// Makes a world from a scene.
    #[new]
    #[pyo3(signature = (scene, backend, threads))]
    fn make(py: Python<'_>, scene: &SceneHandle, backend: &str, threads: Option<i64>) -> PyResult<Self> {
        let (wish, count) = (BackendWish::named(backend)?, self::threads(threads)?);
        let scene = Arc::clone(scene.scene());
        Ok(detached(py, || Self::new(open(&scene, wish, count)?, scene, Journal::default()))?)
    }

    /// Makes a world from the bytes of `save`.
    #[staticmethod]
    #[pyo3(signature = (data, backend, threads))]
    fn resume(py: Python<'_>, data: &[u8], backend: &str, threads: Option<i64>) -> PyResult<Self> {
        let (wish, count) = (BackendWish::named(backend)?, self::threads(threads)?);
        let data = data.to_vec();
        Ok(detached(py, || {
            let saved = SavedWorld::from_bytes(&data)?;
            let scene = Arc::new(saved.scene.clone());
            let made = Self::new(open(&scene, wish, count)?, scene, Journal::default())?;
            {
                let owned = &mut *lock(&made.owned)?;
                saved.resume(&mut owned.world)?;
                owned.journal = saved.journal;
            }
            Ok(made)
        })?)
    }

    /// Continues from the bytes of `save` of the same scene.
    fn load(&self, py: Python<'_>, data: &[u8]) -> PyResult<()> {
        let data = data.to_vec();
        Ok(self.change(py, |owned| {
            let saved = SavedWorld::from_bytes(&data)?;
            if let Some(difference) = saved.difference(&owned.scene) {
                return Err(CallError::Snapshot(format!("is of another world: {difference}")));
            }
            // A new world, as this one may have a history that the bytes do not know.
            let mut world = owned.beginning(self.threads)?;
            saved.resume(&mut world)?;
            owned.world = world;
            owned.journal = saved.journal;
            Ok(())
        })?)
    }

    /// Returns the present state.
    fn snapshot(&self, py: Python<'_>) -> PyResult<SnapshotHandle> {
        Ok(self.with(py, |owned| {
            Ok(SnapshotHandle { snapshot: owned.world.snapshot()?, journal: owned.journal.clone() })
        })?)
    }

    /// Goes back to the state of `snapshot`.
    fn restore(&self, py: Python<'_>, snapshot: &SnapshotHandle) -> PyResult<()> {
        Ok(self.change(py, |owned| {
            owned.world.restore(&snapshot.snapshot)?;
            owned.journal.clone_from(&snapshot.journal);
            Ok(())
        })?)
    }

    /// Returns the world as bytes: scene, changes by hand, state.
    fn save<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.with(py, |owned| Ok(owned.saved()?.to_bytes()?))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Returns the present state as a scene.
    fn scene(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.with(py, |owned| Ok(drystone_scenes::file::write_json(&owned.saved()?.to_scene()?)))?)
    }

    /// Puts the world back to its start.
    fn reset(&self, py: Python<'_>) -> PyResult<()> {
        Ok(self.change(py, |owned| {
            owned.world = owned.beginning(self.threads)?;
            owned.journal = Journal::default();
            Ok(())
        })?)
    }

    /// Advances the world.
    fn step(&self, py: Python<'_>, count: u64) -> PyResult<()> {
        let stepped = repeat(py, count, || Ok(lock(&self.owned)?.world.step()?));
        self.refresh(py)?;
        Ok(stepped?)
    }

    /// Returns the read-only array of a column.
    fn column(&self, py: Python<'_>, name: &str) -> PyResult<Py<PyAny>> {
        let column = Column::named(name)?;
        if let Some(view) = self.arrays.lock().unwrap_or_else(PoisonError::into_inner).view(py, column) {
            return Ok(view);
        }
        let mut choice = self.choice();
        choice[column as usize] = true;
        self.with(py, |owned| owned.read(choice))?;
        let owned = lock(&self.owned)?;
        let mut arrays = self.arrays.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(arrays.open(py, column, &[owned.columns.rows()], &owned.columns)?)
    }

    /// Returns the number of steps done.
    #[getter]
    fn steps(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.with(py, |owned| Ok(owned.world.steps()))?)
    }

    /// Returns the length of a step, s.
    #[getter]
    fn dt(&self, py: Python<'_>) -> PyResult<f32> {
        Ok(self.with(py, |owned| Ok(owned.world.compiled().params.dt))?)
    }

    /// Returns the name of the scene.
    #[getter]
    fn name(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.with(py, |owned| Ok(owned.scene.name.clone()))?)
    }

    /// Returns the backend, "cpu" or "gpu".
    #[getter]
    fn backend(&self) -> &'static str {
        self.backend
    }

    /// Returns a description of the device.
    #[getter]
    fn device(&self) -> &str {
        &self.device
    }

    /// Returns the number of threads on the CPU.
    #[getter]
    fn threads(&self) -> Option<usize> {
        self.threads
    }

    /// Returns gravity, m/s².
    #[getter]
    fn gravity(&self, py: Python<'_>) -> PyResult<[f32; 2]> {
        Ok(self.with(py, |owned| Ok(owned.world.compiled().params.gravity))?)
    }

    /// Sets gravity, m/s².
    fn set_gravity(&self, py: Python<'_>, gravity: [f32; 2]) -> PyResult<()> {
        Ok(self.with(py, |owned| {
            owned.world.set_gravity(gravity.into()).map_err(|error| match error {
                WorldError::Scene(error) => CallError::Argument("gravity".to_owned(), error.problem, error.expected),
                error => error.into(),
            })?;
            owned.note(Alteration::Gravity(gravity.into()));
            Ok(())
        })?)
    }

    /// Pushes bodies away from a point in the next step. Returns the number of impulses.
    fn explode(&self, py: Python<'_>, position: [f32; 2], blast: Blast) -> PyResult<usize> {
        Ok(self.with(py, |owned| Ok(owned.world.explode(&explosion(position, blast))?))?)
    }

    /// Lets a wind press on bodies in the next step. Returns the number of impulses.
    fn apply_wind(&self, py: Python<'_>, velocity: [f32; 2], air: Air) -> PyResult<usize> {
        Ok(self.with(py, |owned| Ok(owned.world.apply_wind(&wind(velocity, air))?))?)
    }

    /// Returns the hash of the state.
    fn hash(&self, py: Python<'_>) -> PyResult<u64> {
        Ok(self.with(py, |owned| Ok(hash(&owned.world.snapshot()?)))?)
    }

    /// Returns the ids of all bodies, by slot.
    fn bodies(&self, py: Python<'_>) -> PyResult<Vec<(u32, u32)>> {
        Ok(self.with(py, |owned| Ok(owned.world.bodies().map(pair).collect()))?)
    }

    /// Returns the id of the body with a name.
    fn find(&self, py: Python<'_>, name: &str) -> PyResult<Option<(u32, u32)>> {
        Ok(self.with(py, |owned| Ok(owned.world.find(name).map(pair)))?)
    }

    /// Returns the id of the body in a slot.
    fn body_id(&self, py: Python<'_>, slot: usize) -> PyResult<Option<(u32, u32)>> {
        Ok(self.with(py, |owned| Ok(owned.world.body_id(slot).map(pair)))?)
    }

    /// Returns a body.
    fn body(&self, py: Python<'_>, id: (u32, u32)) -> PyResult<BodyTuple> {
        Ok(self.with(py, |owned| {
            let body = owned.world.body(body_of(id))?;
            let kind = match body.kind() {
                BodyType::Static => "static",
                BodyType::Kinematic => "kinematic",
                BodyType::Dynamic => "dynamic",
            };
            let name = owned.world.compiled().ids[id.0 as usize].clone();
            let (position, velocity, center) =
                (body.position_f64().into(), body.velocity().into(), body.center().into());
            let (angle, spin) = (body.angle(), body.angular_velocity());
            let (mass, inertia, number) = (body.mass(), body.inertia(), body.user_data());
            let awake = body.is_awake();
            Ok((pair(body.id()), kind, name, position, angle, velocity, spin, center, mass, inertia, awake, number))
        })?)
    }

    /// Gives a command to a body.
    #[pyo3(signature = (id, name, values, point))]
    fn command(
        &self,
        py: Python<'_>,
        id: (u32, u32),
        name: &str,
        values: Vec<f64>,
        point: Option<[f32; 2]>,
    ) -> PyResult<()> {
        let command = command(name, &values, point)?;
        Ok(self.with(py, |owned| Ok(owned.world.command(body_of(id), command)?))?)
    }

    /// Adds bodies, JSON texts, all or none.
    fn add_bodies(&self, py: Python<'_>, texts: Vec<String>) -> PyResult<Vec<(u32, u32)>> {
        Ok(self.change(py, |owned| {
            let materials = &owned.world.compiled().materials;
            let bodies = texts.iter().map(|text| parse_body(text, materials)).collect::<Result<Vec<Body>, _>>()?;
            let ids = owned.world.add_bodies(&bodies)?;
            owned.note(Alteration::AddBodies(bodies));
            Ok(ids.into_iter().map(pair).collect())
        })?)
    }

    /// Removes bodies, all or none.
    fn remove_bodies(&self, py: Python<'_>, ids: Vec<(u32, u32)>) -> PyResult<()> {
        let ids: Vec<BodyId> = ids.into_iter().map(body_of).collect();
        Ok(self.change(py, |owned| {
            owned.world.remove_bodies(&ids)?;
            owned.note(Alteration::RemoveBodies(ids));
            Ok(())
        })?)
    }

    /// Sets properties, JSON, of bodies, all or none.
    fn set(&self, py: Python<'_>, ids: Vec<(u32, u32)>, text: &str) -> PyResult<()> {
        Ok(self.with(py, |owned| {
            let properties = parse_properties(text)?;
            let ids = ids.into_iter().map(body_of);
            let all: Vec<(BodyId, Property)> =
                ids.flat_map(|id| properties.iter().map(move |&property| (id, property))).collect();
            owned.world.set_all(&all)?;
            owned.note(Alteration::SetProperties(all));
            Ok(())
        })?)
    }

    /// Replaces the shapes of a body, a list in JSON.
    fn set_shapes(&self, py: Python<'_>, id: (u32, u32), text: &str) -> PyResult<()> {
        let id = body_of(id);
        Ok(self.change(py, |owned| {
            let shapes = parse_shapes(text, &owned.world.compiled().materials)?;
            owned.world.set_shapes(id, &shapes)?;
            owned.note(Alteration::SetShapes(id, shapes));
            Ok(())
        })?)
    }

    /// Replaces a joint by a description, JSON, without its bodies.
    fn replace_joint(&self, py: Python<'_>, id: (u32, u32), fields: &str) -> PyResult<()> {
        let id = joint_of(id);
        Ok(self.with(py, |owned| {
            let joints = &owned.world.compiled().joints.joints;
            let is_to_world = joints.get(id.index as usize).is_none_or(|joint| joint.flags & WORLD_A != 0);
            let ends = if is_to_world { "\"b\":1" } else { "\"a\":0,\"b\":1" };
            let rest = fields.strip_prefix('{').unwrap_or(fields);
            let joint = parse_joint(&format!("{{{ends},{rest}"))?;
            owned.world.replace_joint(id, &joint)?;
            owned.note(Alteration::ReplaceJoint(id, Box::new(joint)));
            Ok(())
        })?)
    }

    /// Adds a joint, JSON, between bodies; the world if there is no first one.
    fn add_joint(
        &self,
        py: Python<'_>,
        text: &str,
        first: Option<(u32, u32)>,
        second: (u32, u32),
    ) -> PyResult<(u32, u32)> {
        Ok(self.with(py, |owned| {
            let joint: Joint = parse_joint(text)?;
            let joints = vec![(first.map(body_of), body_of(second), joint)];
            let ids = owned.world.add_joints_between(&joints)?;
            owned.note(Alteration::AddJointsBetween(joints));
            ids.first().map(|id| (id.index, id.generation)).ok_or(CallError::Broken)
        })?)
    }

    /// Removes joints, all or none.
    fn remove_joints(&self, py: Python<'_>, ids: Vec<(u32, u32)>) -> PyResult<()> {
        let ids: Vec<JointId> = ids.into_iter().map(joint_of).collect();
        Ok(self.with(py, |owned| {
            owned.world.remove_joints(&ids)?;
            owned.note(Alteration::RemoveJoints(ids));
            Ok(())
        })?)
    }

    /// Returns the id of the joint with an index or, in the scene, a name.
    #[pyo3(signature = (index, name))]
    fn joint_id(&self, py: Python<'_>, index: usize, name: Option<&str>) -> PyResult<Option<(u32, u32)>> {
        Ok(self.with(py, |owned| {
            let named = |name: &str| owned.scene.joints.iter().position(|joint| joint.id.as_deref() == Some(name));
            let index = name.map_or(Some(index), named);
            let id = index.and_then(|index| owned.world.joint_id(index));
            Ok(id.map(|id| (id.index, id.generation)))
        })?)
    }

    /// Gives a command to a joint.
    fn command_joint(&self, py: Python<'_>, id: (u32, u32), name: &str, values: Vec<f32>) -> PyResult<()> {
        let command = joint_command(name, &values)?;
        Ok(self.with(py, |owned| Ok(owned.world.command_joint(joint_of(id), command)?))?)
    }

    /// Returns the events since the last call.
    fn events(&self, py: Python<'_>) -> PyResult<Vec<EventTuple>> {
        let event = |event: Event| {
            let joint = event.joint.map(|id| (id.index, id.generation));
            let ids = event.ids.map(|id| id.map(pair));
            (event.step, event.kind.to_string(), ids, joint, event.point, event.normal, event.approach_speed)
        };
        Ok(self.with(py, |owned| Ok(owned.world.take_events()?.into_iter().map(event).collect()))?)
    }

    /// Returns the contact points as arrays.
    fn contacts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let contacts = self.with(py, |owned| {
            let snapshot = owned.world.snapshot()?;
            let mut contacts = ContactColumns::default();
            contacts.push_world(0, owned.world.compiled(), &snapshot);
            Ok(contacts)
        })?;
        contacts.into_dict(py)
    }

    /// Returns the outlines of all shapes but half planes, and the centres of mass of the bodies, as arrays.
    fn outlines<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let outlines = self.with(py, |owned| {
            let snapshot = owned.world.snapshot()?;
            Ok(OutlineColumns::new(owned.world.compiled(), &snapshot))
        })?;
        outlines.into_dict(py)
    }

    /// Casts rays, four numbers each.
    #[pyo3(signature = (rays, category, mask, ignore))]
    fn query<'py>(
        &self,
        py: Python<'py>,
        rays: PyReadonlyArray1<'py, f32>,
        category: u32,
        mask: u32,
        ignore: Option<(u32, u32)>,
    ) -> PyResult<Bound<'py, PyDict>> {
        debug_assert!(rays.len().is_multiple_of(4), "the package checks shapes");
        let rays = rays.as_slice()?;
        let hits = self.with(py, |owned| {
            let asked = ignoring(queries(rays, Filter { category, mask, group: 0 }), ignore.map(body_of));
            Ok(HitColumns::of_rays(rays, &owned.world.query(&asked)?))
        })?;
        hits.into_dict(py)
    }

    /// Casts rays, four numbers each, and returns all their hits.
    #[pyo3(signature = (rays, category, mask, ignore))]
    fn query_all<'py>(
        &self,
        py: Python<'py>,
        rays: PyReadonlyArray1<'py, f32>,
        category: u32,
        mask: u32,
        ignore: Option<(u32, u32)>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let rays = rays.as_slice()?;
        let hits = self.with(py, |owned| {
            let asked = ignoring(queries_for_all(rays, Filter { category, mask, group: 0 }), ignore.map(body_of));
            Ok(AllHitColumns::new(&owned.world.query(&asked)?))
        })?;
        hits.into_dict(py)
    }

    /// Casts a shape, JSON: position, angle and motion, five numbers each.
    #[pyo3(signature = (shape, rows, category, mask, ignore))]
    fn cast<'py>(
        &self,
        py: Python<'py>,
        shape: &str,
        rows: PyReadonlyArray1<'py, f32>,
        category: u32,
        mask: u32,
        ignore: Option<(u32, u32)>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let (shape, rows) = (parse_shape(shape)?, rows.as_slice()?);
        let hits = self.with(py, |owned| {
            let asked = ignoring(casts(&shape, rows, Filter { category, mask, group: 0 }), ignore.map(body_of));
            Ok(HitColumns::of_casts(rows, &owned.world.query(&asked)?))
        })?;
        hits.into_dict(py)
    }

    /// Moves characters with a shape, JSON: position and motion, four numbers each.
    fn move_characters<'py>(
        &self,
        py: Python<'py>,
        shape: &str,
        rows: PyReadonlyArray1<'py, f32>,
        gait: Gait,
        category: u32,
        mask: u32,
    ) -> PyResult<Bound<'py, PyDict>> {
        let (shape, rows) = (parse_shape(shape)?, rows.as_slice()?);
        let moved = self.with(py, |owned| {
            let movers = movers(&shape, rows, gait, Filter { category, mask, group: 0 });
            Ok(MovedColumns::new(&owned.world.move_characters(&movers)?))
        })?;
        moved.into_dict(py)
    }

    /// Draws the world as a PNG file.
    fn picture<'py>(&self, py: Python<'py>, width: u32, height: u32, dark: bool) -> PyResult<Bound<'py, PyBytes>> {
        let size = PictureSize::new(width, height)?;
        let bytes = self.with(py, |owned| {
            let snapshot = owned.world.snapshot()?;
            Ok(picture(&owned.world, &owned.start, &snapshot, size, dark)?.to_png()?)
        })?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Advances the world and films it as a GIF file.
    fn movie<'py>(
        &self,
        py: Python<'py>,
        count: u64,
        width: u32,
        height: u32,
        dark: bool,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let size = PictureSize::new(width, height)?;
        let film = Film::new(size, dark);
        let start = self.with(py, |owned| Ok(owned.world.snapshot()?))?;
        // The world runs twice: the camera must show all that will happen.
        let mut framing = self.with(py, |owned| Ok(film.framing(&owned.world, &start)))?;
        let framed = repeat(py, count, || {
            let owned = &mut *lock(&self.owned)?;
            owned.world.step()?;
            Film::frame(&mut framing, &mut owned.world, start.step, count)
        });
        self.with(py, |owned| Ok(owned.world.restore(&start)?))?;
        framed?;
        let mut roll = self.with(py, |owned| film.begin(&framing, &owned.world, &start))?;
        let filmed = repeat(py, count, || {
            let owned = &mut *lock(&self.owned)?;
            owned.world.step()?;
            roll.shoot(&mut owned.world, start.step, count)
        });
        self.refresh(py)?;
        filmed?;
        let bytes = detached(py, || roll.finish(count))?;
        Ok(PyBytes::new(py, &bytes))
    }
}
