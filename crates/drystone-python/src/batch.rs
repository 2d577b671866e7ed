//! `Batch`: many worlds that step together, on the CPU or in the same dispatches of a GPU.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use drystone::{Answers, BodyId, Filter, Query, Scene, Snapshot, WorldBatch, WorldError};
use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::types::{PyBytes, PyDict};
use pyo3::{Bound, Py, PyAny, PyResult, Python, pyclass, pymethods};

use crate::arrays::{ColumnArrays, rows};
use crate::backend::{BackendWish, describe, threads};
use crate::bulk::{self, BodyValues, NumberArray, slice};
use crate::call::{CallError, detached, guarded, lock, repeat, wait_for};
use crate::columns::{BodyColumns, Column, ColumnChoice};
use crate::contacts::ContactColumns;
use crate::loads::{LoadArray, LoadChange, LoadKind, loads_of};
use crate::picture::{PictureSize, picture_of_view};
use crate::pushes::{Air, Blast, explosion, wind};
use crate::rays::{HitColumns, queries};
use crate::scene::{SceneHandle, parse_body, parse_properties, parse_shapes};
use crate::touches::Touches;

/// Worlds of a batch, and the values of their bodies that were read last.
#[derive(Debug)]
struct OwnedBatch {
    worlds: WorldBatch,
    columns: BodyColumns,
    touches: Touches,
    stride: usize,
}

/// Worlds that come back from steps, and the result of these.
type ReturnedBatch = (Box<OwnedBatch>, Result<(), CallError>);

/// Steps in a thread of their own.
#[derive(Debug)]
struct Underway {
    /// Gets the worlds back. Behind a lock, as a receiver alone is not shared between threads.
    returned: Mutex<Receiver<ReturnedBatch>>,
    stop: Arc<AtomicBool>,
}

#[derive(Debug)]
enum BatchPlace {
    Here(Box<OwnedBatch>),
    Away(Arc<Underway>),
    /// A thread panicked with the worlds.
    Lost,
}

/// Arrays that the caller has.
#[derive(Debug, Default)]
struct BatchArrays {
    columns: ColumnArrays,
    loads: [Option<LoadArray>; 2],
}

/// Many worlds.
#[pyclass(name = "Batch", module = "drystone._drystone", frozen)]
#[derive(Debug)]
pub struct BatchHandle {
    place: Mutex<BatchPlace>,
    arrays: Mutex<BatchArrays>,
    count: usize,
    backend: &'static str,
    device: String,
    threads: Option<usize>,
}

impl OwnedBatch {
    /// Returns the number of bodies of the largest world.
    fn stride(&self) -> usize {
        (0..self.worlds.count()).map(|world| self.body_count(world)).max().unwrap_or(0)
    }

    fn body_count(&self, world: usize) -> usize {
        self.worlds.compiled(world).map_or(0, |compiled| compiled.bodies.len())
    }

    /// Computes the wanted columns. On the GPU this waits for the device and reads the state back once.
    fn read(&mut self, choice: ColumnChoice) -> Result<(), CallError> {
        self.columns.clear();
        self.stride = self.stride();
        let bodies = self.worlds.bodies()?;
        for world in 0..self.worlds.count() {
            if let Some(compiled) = self.worlds.compiled(world) {
                let states = bodies.states(world).iter().copied();
                self.columns.push_world(choice, compiled, bodies.poses(world), states, self.stride);
            }
        }
        Ok(())
    }

    /// Forgets the contacts of worlds that were put to their start.
    fn restart(&mut self, which: &[usize]) -> Result<(), CallError> {
        which.iter().try_for_each(|&world| self.touches.restart(&mut self.worlds, world, None))
    }

    fn command(&mut self, change: &LoadChange) -> Result<(), CallError> {
        let id = self.worlds.body_id(change.world, change.body);
        let id = id.ok_or_else(|| CallError::Missing(format!("is not 0, and there is no body {}", change.body)))?;
        Ok(self.worlds.command(change.world, id, change.command)?)
    }
}

fn here(place: &mut BatchPlace) -> Result<&mut OwnedBatch, CallError> {
    match place {
        BatchPlace::Here(owned) => Ok(owned),
        BatchPlace::Away(_) => Err(CallError::Pending),
        BatchPlace::Lost => Err(CallError::Broken),
    }
}

impl BatchHandle {
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut OwnedBatch) -> Result<T, CallError> + Send,
    ) -> Result<T, CallError> {
        detached(py, || work(here(&mut *lock(&self.place)?)?))
    }

    /// Works on the worlds without the interpreter lock, then writes the arrays.
    fn change<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut OwnedBatch) -> Result<T, CallError> + Send,
    ) -> Result<T, CallError> {
        let done = self.with(py, work)?;
        self.refresh(py)?;
        Ok(done)
    }

    /// Locks the arrays. Held while the interpreter lock is held, and never across its release.
    fn arrays(&self) -> MutexGuard<'_, BatchArrays> {
        self.arrays.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes the arrays that the caller has.
    fn refresh(&self, py: Python<'_>) -> Result<(), CallError> {
        let choice = self.arrays().columns.choice();
        if choice != ColumnChoice::default() {
            self.with(py, |owned| owned.read(choice))?;
        }
        self.write(py, choice)
    }

    /// Writes the columns that were read last into the arrays that the caller has.
    fn write(&self, py: Python<'_>, choice: ColumnChoice) -> Result<(), CallError> {
        let mut place = lock(&self.place)?;
        let owned = here(&mut place)?;
        let mut arrays = self.arrays();
        if choice != ColumnChoice::default() {
            arrays.columns.write(py, &[self.count, owned.stride], &owned.columns)?;
        }
        let stride = owned.stride();
        for load in arrays.loads.iter_mut().flatten().filter(|load| !load.fits(stride)) {
            *load = load.grown(py, stride)?;
        }
        Ok(())
    }

    /// Writes the loads of bodies that were added or removed into the arrays.
    fn set_loads(&self, py: Python<'_>, world: usize, ids: &[BodyId]) -> Result<(), CallError> {
        let mut place = lock(&self.place)?;
        let owned = here(&mut place)?;
        for load in self.arrays().loads.iter_mut().flatten() {
            for id in ids {
                let body = id.index as usize;
                let force = owned.worlds.compiled(world).and_then(|compiled| loads_of(compiled).nth(body));
                load.set(py, world, body, force.unwrap_or_default())?;
            }
        }
        Ok(())
    }

    /// Gives worlds the loads of their scenes.
    fn reset_loads(&self, py: Python<'_>, which: &[usize]) -> Result<(), CallError> {
        let mut place = lock(&self.place)?;
        let owned = here(&mut place)?;
        for load in self.arrays().loads.iter_mut().flatten() {
            for &world in which {
                load.reset(py, world, owned.worlds.compiled(world).into_iter().flat_map(loads_of))?;
            }
        }
        Ok(())
    }

    /// Gives the bodies the loads that the caller has written since the last call.
    fn apply_loads(&self, py: Python<'_>) -> Result<(), CallError> {
        let mut changes = [const { Vec::new() }; 2];
        for (load, changes) in self.arrays().loads.iter().zip(&mut changes) {
            if let Some(load) = load {
                *changes = load.changes(py)?;
            }
        }
        if changes.iter().all(Vec::is_empty) {
            return Ok(());
        }
        let done = self.with(py, |owned| {
            Ok(changes.each_ref().map(|changes| {
                let mut done = 0;
                let refused = changes.iter().try_for_each(|change| owned.command(change).map(|()| done += 1));
                (done, refused)
            }))
        })?;
        let mut arrays = self.arrays();
        let mut result = Ok(());
        for ((load, changes), (done, refused)) in arrays.loads.iter_mut().zip(&changes).zip(done) {
            let Some(load) = load else { continue };
            changes[..done].iter().for_each(|change| load.accept(change));
            if let Err(error) = refused {
                result = Err(changes.get(done).map_or(CallError::Broken, |change| load.refused(change, error)));
            }
        }
        result
    }
}

#[pymethods]
impl BatchHandle {
    /// Makes a world from each scene.
    #[new]
    #[pyo3(signature = (scenes, backend, threads))]
    fn make(py: Python<'_>, scenes: Vec<Py<SceneHandle>>, backend: &str, threads: Option<i64>) -> PyResult<Self> {
        let (wish, count) = (BackendWish::named(backend)?, self::threads(threads)?);
        let shared: Vec<Arc<Scene>> = scenes.iter().map(|scene| Arc::clone(scene.get().scene())).collect();
        let made = detached(py, || {
            let scenes: Vec<Scene> = shared.iter().map(|scene| Scene::clone(scene)).collect();
            let on_cpu = || -> Result<_, CallError> {
                let worlds = WorldBatch::on_cpu(&scenes, count)?;
                Ok((worlds, "cpu", format!("CPU, {count} threads"), Some(count)))
            };
            match wish.device()? {
                None => on_cpu(),
                Some(context) => match WorldBatch::on_gpu(&context, &scenes) {
                    Ok(worlds) => Ok((worlds, "gpu", describe(&context), None)),
                    Err(error @ WorldError::Scene(_)) => Err(error.into()),
                    Err(_) if wish == BackendWish::Auto => on_cpu(),
                    Err(WorldError::Many(text)) => {
                        Err(CallError::argument("scenes", text, "scenes that fit the same kernels; or backend=\"cpu\""))
                    }
                    Err(error) => Err(CallError::Device(error.to_string())),
                },
            }
        });
        let (worlds, backend, device, threads) = made?;
        let count = worlds.count();
        let mut owned = OwnedBatch { worlds, columns: BodyColumns::default(), touches: Touches::default(), stride: 0 };
        owned.stride = owned.stride();
        let place = Mutex::new(BatchPlace::Here(Box::new(owned)));
        Ok(Self { place, arrays: Mutex::default(), count, backend, device, threads })
    }

    /// Advances all worlds.
    fn step(&self, py: Python<'_>, count: u64) -> PyResult<()> {
        self.apply_loads(py)?;
        let stepped = repeat(py, count, || Ok(here(&mut *lock(&self.place)?)?.worlds.step()?));
        self.refresh(py)?;
        Ok(stepped?)
    }

    /// Advances some worlds by one step.
    fn step_some(&self, py: Python<'_>, which: Vec<usize>) -> PyResult<()> {
        self.apply_loads(py)?;
        Ok(self.change(py, |owned| Ok(owned.worlds.step_some(&which)?))?)
    }

    /// Begins to advance all worlds, in a thread of its own.
    fn step_async(&self, py: Python<'_>, count: u64) -> PyResult<()> {
        self.apply_loads(py)?;
        let choice = self.arrays().columns.choice();
        let mut place = lock(&self.place)?;
        here(&mut place)?;
        let (sender, receiver) = sync_channel(1);
        let stop = Arc::new(AtomicBool::new(false));
        let away = BatchPlace::Away(Arc::new(Underway { returned: Mutex::new(receiver), stop: Arc::clone(&stop) }));
        let BatchPlace::Here(mut owned) = std::mem::replace(&mut *place, away) else {
            return Err(CallError::Broken.into());
        };
        let work = move || {
            let stepped = guarded(|| {
                for _ in 0..count {
                    if stop.load(Ordering::Relaxed) {
                        break;
                    }
                    owned.worlds.step()?;
                }
                if choice == ColumnChoice::default() { Ok(owned.worlds.wait()?) } else { owned.read(choice) }
            });
            // Fails if the batch was dropped meanwhile.
            let _ = sender.send((owned, stepped));
        };
        let started = std::thread::Builder::new().name("drystone batch".to_owned()).spawn(work);
        if let Err(error) = started {
            *place = BatchPlace::Lost;
            return Err(CallError::Other(format!("the system starts no thread: {error}")).into());
        }
        Ok(())
    }

    /// Waits for the end of `step_async`, or for the device.
    fn wait(&self, py: Python<'_>) -> PyResult<()> {
        let underway = match &mut *lock(&self.place)? {
            BatchPlace::Here(_) => None,
            BatchPlace::Away(underway) => Some(Arc::clone(underway)),
            BatchPlace::Lost => return Err(CallError::Broken.into()),
        };
        let Some(underway) = underway else {
            return Ok(self.change(py, |owned| Ok(owned.worlds.wait()?))?);
        };
        let poll = |patience: Duration| {
            let Ok(receiver) = underway.returned.lock() else { return Some(None) };
            match receiver.recv_timeout(patience) {
                Ok(returned) => Some(Some(returned)),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => Some(None),
            }
        };
        let (returned, signals) = wait_for(py, poll, || underway.stop.store(true, Ordering::Relaxed));
        let mut place = lock(&self.place)?;
        let Some((owned, stepped)) = returned else {
            // Another thread has waited too and was first, or the worlds are gone.
            if matches!(&*place, BatchPlace::Away(_)) {
                *place = BatchPlace::Lost;
                return Err(CallError::Broken.into());
            }
            return signals;
        };
        *place = BatchPlace::Here(owned);
        drop(place);
        let choice = self.arrays().columns.choice();
        if stepped.is_ok() {
            self.write(py, choice)?;
        } else {
            // The worlds may have done some steps. If they cannot be read either, the first error says more.
            let _ = self.refresh(py);
        }
        signals?;
        Ok(stepped?)
    }

    /// Returns true between `step_async` and `wait`.
    #[getter]
    fn pending(&self) -> PyResult<bool> {
        Ok(matches!(&*lock(&self.place)?, BatchPlace::Away(_)))
    }

    /// Returns the read-only array of a column.
    fn column(&self, py: Python<'_>, name: &str) -> PyResult<Py<PyAny>> {
        let column = Column::named(name)?;
        if let Some(view) = self.arrays().columns.view(py, column) {
            return Ok(view);
        }
        let mut choice = self.arrays().columns.choice();
        choice[column as usize] = true;
        self.with(py, |owned| owned.read(choice))?;
        let mut place = lock(&self.place)?;
        let owned = here(&mut place)?;
        Ok(self.arrays().columns.open(py, column, &[self.count, owned.stride], &owned.columns)?)
    }

    /// Returns the array of forces or torques, which the caller writes.
    fn loads(&self, py: Python<'_>, name: &str) -> PyResult<Py<PyAny>> {
        let kind = match name {
            "forces" => LoadKind::Forces,
            "torques" => LoadKind::Torques,
            _ => return Err(CallError::argument("name", format!("is {name:?}"), "forces or torques").into()),
        };
        let mut place = lock(&self.place)?;
        let mut arrays = self.arrays();
        if let Some(load) = &arrays.loads[kind as usize] {
            return Ok(load.array(py));
        }
        let owned = here(&mut place)?;
        let scenes = (0..self.count).map(|world| owned.worlds.compiled(world));
        let load = LoadArray::new(py, kind, scenes, owned.stride())?;
        let array = load.array(py);
        arrays.loads[kind as usize] = Some(load);
        Ok(array)
    }

    /// Puts worlds back to their start.
    fn reset(&self, py: Python<'_>, which: Vec<usize>) -> PyResult<()> {
        self.with(py, |owned| {
            owned.worlds.reset(&which)?;
            owned.restart(&which)
        })?;
        self.reset_loads(py, &which)?;
        Ok(self.refresh(py)?)
    }

    /// Replaces worlds by a world of another scene.
    fn replace(&self, py: Python<'_>, world: usize, scene: &SceneHandle) -> PyResult<()> {
        let scene = Arc::clone(scene.scene());
        self.with(py, |owned| {
            owned.worlds.replace(world, &scene)?;
            owned.restart(&[world])
        })?;
        self.write(py, ColumnChoice::default())?;
        self.reset_loads(py, &[world])?;
        Ok(self.refresh(py)?)
    }

    /// Replaces worlds by variants of a scene: a row of each array for each world. NaN leaves a value as in the scene.
    #[pyo3(signature = (which, scene, positions, angles, velocities, angular_velocities, segments))]
    #[allow(clippy::too_many_arguments, reason = "one for each array")]
    fn vary<'py>(
        &self,
        py: Python<'py>,
        which: Vec<usize>,
        scene: &SceneHandle,
        positions: NumberArray<'py>,
        angles: NumberArray<'py>,
        velocities: NumberArray<'py>,
        angular_velocities: NumberArray<'py>,
        segments: NumberArray<'py>,
    ) -> PyResult<()> {
        let scene = Arc::clone(scene.scene());
        let values = BodyValues {
            positions: slice(&positions)?,
            angles: slice(&angles)?,
            velocities: slice(&velocities)?,
            angular_velocities: slice(&angular_velocities)?,
        };
        let segments = slice(&segments)?;
        self.with(py, |owned| {
            bulk::vary(&mut owned.worlds, &which, &scene, &values, segments)?;
            owned.restart(&which)
        })?;
        self.write(py, ColumnChoice::default())?;
        self.reset_loads(py, &which)?;
        Ok(self.refresh(py)?)
    }

    /// Gives bodies impulses at the start of the next step: (worlds, bodies, 2) and (worlds, bodies), flat.
    #[pyo3(signature = (impulses, angular_impulses))]
    fn push<'py>(
        &self,
        py: Python<'py>,
        impulses: NumberArray<'py>,
        angular_impulses: NumberArray<'py>,
    ) -> PyResult<()> {
        let (linear, angular) = (slice(&impulses)?, slice(&angular_impulses)?);
        Ok(self.with(py, |owned| {
            let stride = owned.stride().max(1);
            bulk::push(&mut owned.worlds, linear, angular, stride)
        })?)
    }

    /// Sets speed and strength of motors from the next step on: (worlds, `joints`), flat.
    fn drive<'py>(
        &self,
        py: Python<'py>,
        speeds: PyReadonlyArray1<'py, f32>,
        strengths: PyReadonlyArray1<'py, f32>,
        joints: usize,
    ) -> PyResult<()> {
        let (speeds, strengths) = (speeds.as_slice()?, strengths.as_slice()?);
        Ok(self.with(py, |owned| bulk::drive(&mut owned.worlds, speeds, strengths, joints.max(1)))?)
    }

    /// Puts bodies at other poses and velocities at the start of the next step: (worlds, bodies, …), flat.
    #[pyo3(signature = (positions, angles, velocities, angular_velocities))]
    fn place<'py>(
        &self,
        py: Python<'py>,
        positions: NumberArray<'py>,
        angles: NumberArray<'py>,
        velocities: NumberArray<'py>,
        angular_velocities: NumberArray<'py>,
    ) -> PyResult<()> {
        let values = BodyValues {
            positions: slice(&positions)?,
            angles: slice(&angles)?,
            velocities: slice(&velocities)?,
            angular_velocities: slice(&angular_velocities)?,
        };
        Ok(self.with(py, |owned| {
            let stride = owned.stride();
            bulk::place(&mut owned.worlds, &values, stride)
        })?)
    }

    /// Returns true for each body that touches another one, (worlds, bodies), as far as events tell.
    fn touching<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let (flags, stride) = self.with(py, |owned| {
            owned.touches.follow(&mut owned.worlds)?;
            Ok((owned.touches.flags(owned.worlds.count(), owned.stride()), owned.stride()))
        })?;
        Ok(PyArray1::from_vec(py, flags).reshape([self.count, stride])?.into_any())
    }

    /// Returns world and bodies of each pair of bodies that touch, (pairs, 3), as far as events tell.
    fn touching_pairs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let pairs = self.with(py, |owned| {
            owned.touches.follow(&mut owned.worlds)?;
            Ok(owned.touches.pairs())
        })?;
        rows(py, pairs, 3)
    }

    /// Draws a world: (height, width, 3), rows from the top. `view` has the lower left and the upper right corner, m.
    fn picture<'py>(
        &self,
        py: Python<'py>,
        world: usize,
        width: u32,
        height: u32,
        view: Option<[f32; 4]>,
        dark: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let size = PictureSize::new(width, height)?;
        let image = self.with(py, |owned| {
            let snapshot = owned.worlds.snapshot(world)?;
            let compiled = owned.worlds.compiled(world).ok_or(CallError::Broken)?;
            picture_of_view(compiled, &snapshot, size, view, dark)
        })?;
        let pixels: Vec<u8> = image.rgba.chunks_exact(4).flat_map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect();
        Ok(PyArray1::from_vec(py, pixels).reshape([height as usize, width as usize, 3])?.into_any())
    }

    /// Returns the number of worlds.
    #[getter]
    fn count(&self) -> usize {
        self.count
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

    /// Returns the number of body slots of each world.
    fn body_counts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let counts = self.with(py, |owned| {
            let count = |world| i64::try_from(owned.body_count(world)).unwrap_or(i64::MAX);
            Ok((0..owned.worlds.count()).map(count).collect::<Vec<_>>())
        })?;
        Ok(PyArray1::from_vec(py, counts))
    }

    /// Returns the number of steps of each world.
    fn steps<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<u64>>> {
        let steps = self.with(py, |owned| {
            Ok((0..owned.worlds.count()).map(|world| owned.worlds.steps(world)).collect::<Vec<_>>())
        })?;
        Ok(PyArray1::from_vec(py, steps))
    }

    /// Returns the hash of each world's state.
    fn hashes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<u64>>> {
        let hashes = self.with(py, |owned| Ok(owned.worlds.hashes()?))?;
        Ok(PyArray1::from_vec(py, hashes))
    }

    /// Returns the contact points of all worlds as arrays.
    fn contacts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let contacts = self.with(py, |owned| {
            let mut contacts = ContactColumns::default();
            for world in 0..owned.worlds.count() {
                let snapshot = owned.worlds.snapshot(world)?;
                if let Some(compiled) = owned.worlds.compiled(world) {
                    contacts.push_world(world, compiled, &snapshot);
                }
            }
            Ok(contacts)
        })?;
        contacts.into_dict(py)
    }

    /// Casts rays, four numbers each: first those of the first world, then as many of the next.
    fn query<'py>(
        &self,
        py: Python<'py>,
        rays: PyReadonlyArray1<'py, f32>,
        category: u32,
        mask: u32,
    ) -> PyResult<Bound<'py, PyDict>> {
        let rays = rays.as_slice()?;
        let filter = Filter { category, mask, group: 0 };
        let hits = self.with(py, |owned| {
            let each = rays.len() / 4 / owned.worlds.count().max(1);
            let asked: Vec<(usize, Query)> =
                queries(rays, filter).enumerate().map(|(index, query)| (index / each.max(1), query)).collect();
            let answers = if asked.is_empty() { Answers::default() } else { owned.worlds.query(&asked)? };
            Ok(HitColumns::of_rays(rays, &answers))
        })?;
        hits.into_dict(py)
    }

    /// Returns the state of a world as bytes.
    fn save<'py>(&self, py: Python<'py>, world: usize) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.with(py, |owned| {
            let snapshot = owned.worlds.snapshot(world)?;
            let compiled = owned.worlds.compiled(world).ok_or(CallError::Broken)?;
            Ok(snapshot.to_bytes(compiled.fingerprint()))
        })?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Continues worlds from the bytes of `save`, none if those of one do not fit.
    fn load(&self, py: Python<'_>, which: Vec<usize>, data: Vec<Vec<u8>>) -> PyResult<()> {
        let snapshots = self.with(py, |owned| {
            let parse = |(&world, data): (&usize, &Vec<u8>)| {
                let compiled = owned.worlds.compiled(world).ok_or(CallError::Broken)?;
                Ok(Snapshot::from_bytes(data, compiled.fingerprint()).map_err(WorldError::from)?)
            };
            let snapshots = which.iter().zip(&data).map(parse).collect::<Result<Vec<_>, CallError>>()?;
            let each: Vec<_> = which.iter().copied().zip(&snapshots).collect();
            owned.worlds.restore(&each)?;
            for (world, snapshot) in each {
                owned.touches.restart(&mut owned.worlds, world, Some(snapshot))?;
            }
            Ok(snapshots)
        })?;
        for load in self.arrays().loads.iter_mut().flatten() {
            for (&world, snapshot) in which.iter().zip(&snapshots) {
                load.reset(py, world, snapshot.forces.iter().copied())?;
            }
        }
        Ok(self.refresh(py)?)
    }

    /// Sets gravity of a world, m/s².
    fn set_gravity(&self, py: Python<'_>, world: usize, gravity: [f32; 2]) -> PyResult<()> {
        Ok(self.with(py, |owned| Ok(owned.worlds.set_gravity(world, gravity.into())?))?)
    }

    /// Pushes bodies of a world away from a point in its next step. Returns the number of impulses.
    fn explode(&self, py: Python<'_>, world: usize, position: [f32; 2], blast: Blast) -> PyResult<usize> {
        Ok(self.with(py, |owned| Ok(owned.worlds.explode(&[(world, explosion(position, blast))])?))?)
    }

    /// Lets winds press on the bodies of worlds in their next step: one velocity for each. Returns the number of
    /// impulses.
    fn apply_wind(&self, py: Python<'_>, which: Vec<usize>, velocities: Vec<[f32; 2]>, air: Air) -> PyResult<usize> {
        let winds: Vec<_> = which.into_iter().zip(velocities.into_iter().map(|velocity| wind(velocity, air))).collect();
        Ok(self.with(py, |owned| Ok(owned.worlds.apply_wind(&winds)?))?)
    }

    /// Adds bodies, JSON texts, to a world, all or none.
    fn add_bodies(&self, py: Python<'_>, world: usize, texts: Vec<String>) -> PyResult<Vec<(u32, u32)>> {
        let ids = self.change(py, |owned| {
            let materials = owned.worlds.compiled(world).map_or(&[][..], |compiled| &compiled.materials);
            let bodies = texts.iter().map(|text| parse_body(text, materials)).collect::<Result<Vec<_>, _>>()?;
            Ok(owned.worlds.add_bodies(world, &bodies)?)
        })?;
        self.set_loads(py, world, &ids)?;
        Ok(ids.into_iter().map(|id| (id.index, id.generation)).collect())
    }

    /// Sets properties, JSON, of bodies of a world, all or none.
    fn set(&self, py: Python<'_>, world: usize, ids: Vec<(u32, u32)>, text: &str) -> PyResult<()> {
        Ok(self.with(py, |owned| {
            let properties = parse_properties(text)?;
            let ids = ids.into_iter().map(|(index, generation)| BodyId { index, generation });
            let all: Vec<_> = ids.flat_map(|id| properties.iter().map(move |&property| (id, property))).collect();
            Ok(owned.worlds.set_all(world, &all)?)
        })?)
    }

    /// Replaces the shapes of a body of a world, a list in JSON.
    fn set_shapes(&self, py: Python<'_>, world: usize, id: (u32, u32), text: &str) -> PyResult<()> {
        Ok(self.change(py, |owned| {
            let materials = owned.worlds.compiled(world).map_or(&[][..], |compiled| &compiled.materials);
            let shapes = parse_shapes(text, materials)?;
            Ok(owned.worlds.set_shapes(world, BodyId { index: id.0, generation: id.1 }, &shapes)?)
        })?)
    }

    /// Removes bodies of a world, all or none.
    fn remove_bodies(&self, py: Python<'_>, world: usize, ids: Vec<(u32, u32)>) -> PyResult<()> {
        let ids: Vec<_> = ids.into_iter().map(|(index, generation)| BodyId { index, generation }).collect();
        self.change(py, |owned| Ok(owned.worlds.remove_bodies(world, &ids)?))?;
        Ok(self.set_loads(py, world, &ids)?)
    }
}
