//! Pictures and movies of a world, and the window.

use std::path::PathBuf;

use drystone::low_level::scene::Compiled;
use drystone::low_level::types::Pose;
use drystone::{Snapshot, World};
use drystone_draw::movie::{self, Movie};
use drystone_draw::{Bounds, Camera, Framing, Image, Style, raster};
use drystone_view::{ViewBackend, ViewError, WindowOptions, WindowScene};
use pyo3::{PyResult, Python, pyfunction};

use crate::backend::BackendWish;
use crate::call::{CallError, detached};

/// Limits of the side of a picture, px.
const MIN_SIDE: u32 = 16;
const MAX_SIDE: u32 = 4096;

/// Size of a picture, px.
#[derive(Clone, Copy, Debug)]
pub struct PictureSize([u32; 2]);

impl PictureSize {
    /// Returns the size.
    ///
    /// # Errors
    /// A side is out of range.
    pub fn new(width: u32, height: u32) -> Result<Self, CallError> {
        let fits = |side| (MIN_SIDE..=MAX_SIDE).contains(&side);
        if fits(width) && fits(height) {
            return Ok(Self([width, height]));
        }
        let expected = format!("{MIN_SIDE} to {MAX_SIDE} pixels a side");
        Err(CallError::argument("size", format!("is ({width}, {height})"), expected))
    }
}

fn style(dark: bool) -> Style {
    if dark { Style::dark() } else { Style::light() }
}

/// Draws a world as it is in a snapshot. `start` has the poses of its start, by which the camera stands.
///
/// # Errors
/// If no body is at a finite position.
pub fn picture(
    world: &World,
    start: &[Pose],
    snapshot: &Snapshot,
    PictureSize(size): PictureSize,
    dark: bool,
) -> Result<Image, CallError> {
    let camera = Framing::new(world.compiled(), start, size).camera_later(world.compiled(), &snapshot.poses);
    Ok(raster::picture_of_world(world.compiled(), snapshot, true, &camera, &style(dark))?)
}

/// Draws a rectangle of a world as it is in a snapshot: lower left and upper right corner, m. Without it, all bodies.
///
/// # Errors
/// The rectangle is empty, or no body is at a finite position.
pub fn picture_of_view(
    compiled: &Compiled,
    snapshot: &Snapshot,
    PictureSize(size): PictureSize,
    view: Option<[f32; 4]>,
    dark: bool,
) -> Result<Image, CallError> {
    let framing = match view {
        None => Framing::new(compiled, &snapshot.poses, size),
        Some([left, bottom, right, top]) if left < right && bottom < top => {
            Framing::of_view(Bounds { min: [left, bottom].into(), max: [right, top].into() }, size)
        }
        Some(view) => {
            let expected = "left, bottom, right, top, m, with left < right and bottom < top";
            return Err(CallError::argument("view", format!("is {view:?}"), expected));
        }
    };
    Ok(raster::picture_of_world(compiled, snapshot, true, &framing.camera(), &style(dark))?)
}

/// Settings of a movie.
#[derive(Clone, Copy, Debug)]
pub struct Film {
    size: [u32; 2],
    dark: bool,
}

/// Returns true if a frame is due after a number of steps since the beginning of a movie, which has `count` of them.
fn is_due(world: &World, since: u64, count: u64) -> bool {
    movie::is_due(since, f64::from(world.compiled().params.dt)) || since == count
}

impl Film {
    /// Returns the settings.
    pub fn new(PictureSize(size): PictureSize, dark: bool) -> Self {
        Self { size, dark }
    }

    /// Frames the first moment.
    pub fn framing(&self, world: &World, first: &Snapshot) -> Framing {
        Framing::new(world.compiled(), &first.poses, self.size)
    }

    /// Extends the frame by the present moment, if it will be filmed.
    ///
    /// # Errors
    /// The device is lost.
    pub fn frame(framing: &mut Framing, world: &mut World, start: u64, count: u64) -> Result<(), CallError> {
        if !framing.is_given() && is_due(world, world.steps() - start, count) {
            let snapshot = world.snapshot()?;
            framing.add(world.compiled(), &snapshot.poses);
        }
        Ok(())
    }

    /// Begins the movie with the first moment.
    ///
    /// # Errors
    /// If no body is at a finite position.
    pub fn begin(&self, framing: &Framing, world: &World, first: &Snapshot) -> Result<FilmRoll, CallError> {
        let (camera, style) = (framing.camera(), style(self.dark));
        let image = raster::picture_of_world(world.compiled(), first, true, &camera, &style)?;
        let movie = Movie::new(Vec::new(), &image).map_err(|error| CallError::Other(error.to_string()))?;
        Ok(FilmRoll { movie, camera, style, dt: f64::from(world.compiled().params.dt) })
    }
}

/// Movie that is being shot.
#[derive(Debug)]
pub struct FilmRoll {
    movie: Movie<Vec<u8>>,
    camera: Camera,
    style: Style,
    dt: f64,
}

impl FilmRoll {
    /// Adds the present moment, if a frame is due.
    ///
    /// # Errors
    /// If no body is at a finite position, or the device is lost.
    #[allow(clippy::cast_precision_loss, reason = "steps of a movie")]
    pub fn shoot(&mut self, world: &mut World, start: u64, count: u64) -> Result<(), CallError> {
        let since = world.steps() - start;
        if !is_due(world, since, count) {
            return Ok(());
        }
        let snapshot = world.snapshot()?;
        let image = raster::picture_of_world(world.compiled(), &snapshot, true, &self.camera, &self.style)?;
        self.movie.push(since as f64 * self.dt, &image).map_err(|error| CallError::Other(error.to_string()))
    }

    /// Returns the file of the movie.
    ///
    /// # Errors
    /// The encoder fails.
    #[allow(clippy::cast_precision_loss, reason = "steps of a movie")]
    pub fn finish(self, count: u64) -> Result<Vec<u8>, CallError> {
        self.movie.finish(count as f64 * self.dt).map_err(|error| CallError::Other(error.to_string()))
    }
}

/// Opens a window on a saved world or a scene, and runs it until it is closed. Once a process, on its main thread.
#[pyfunction]
#[pyo3(signature = (scene, backend, paused, dark, remember, script))]
pub fn open_window(
    py: Python<'_>,
    scene: String,
    backend: &str,
    paused: bool,
    dark: Option<bool>,
    remember: bool,
    script: Option<PathBuf>,
) -> PyResult<()> {
    let backend = match BackendWish::named(backend)? {
        BackendWish::Auto => ViewBackend::Auto,
        BackendWish::Cpu => ViewBackend::Cpu,
        BackendWish::Gpu => ViewBackend::Gpu,
    };
    let scene = WindowScene::Spec(scene);
    let options = WindowOptions { scene, backend, paused, dark, remember, script, ..WindowOptions::default() };
    Ok(detached(py, || {
        drystone_view::run(options).map_err(|error| match error {
            ViewError::World(error) => error.into(),
            error => CallError::Device(error.to_string()),
        })
    })?)
}
