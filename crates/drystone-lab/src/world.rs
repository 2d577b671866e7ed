//! Worlds of the laws: the backend and the mode they run with, and what is read from them, in double precision.

use std::f64::consts::TAU;

use drystone::low_level::state::{Metrics, ReportedContact, contact_points, metrics};
use drystone::{Body, Context, Mode, Scene, Settings, Shape, World, WorldError};
use glam::{DVec2, Vec2};
use thiserror::Error;

use crate::law::{Disturbance, LawValues};

/// Errors of laws.
#[derive(Debug, Error)]
pub enum LabError {
    /// No law has this name.
    #[error("there is no law {name:?}{}", hint(.nearest.as_deref()))]
    UnknownLaw {
        /// Name as given.
        name: String,
        /// Nearest name, if one is near.
        nearest: Option<&'static str>,
    },
    /// The law has no such parameter.
    #[error("{law} has no parameter {name:?}{}", hint(.nearest.as_deref()))]
    UnknownParameter {
        /// Name of the law.
        law: &'static str,
        /// Name as given.
        name: String,
        /// Nearest name, if one is near.
        nearest: Option<&'static str>,
    },
    /// A value is out of range.
    #[error("{law}: {parameter} is {value}, expected {range}")]
    OutOfRange {
        /// Name of the law.
        law: &'static str,
        /// Name of the parameter.
        parameter: &'static str,
        /// Value as given.
        value: f64,
        /// Range in words.
        range: String,
    },
    /// The law was stopped.
    #[error("stopped")]
    Stopped,
    /// A world could not be made or stepped.
    #[error(transparent)]
    World(#[from] WorldError),
}

fn hint(nearest: Option<&str>) -> String {
    nearest.map_or(String::new(), |nearest| format!("; do you mean {nearest:?}?"))
}

/// Backend on which laws run.
#[derive(Clone, Copy, Debug, Default)]
pub enum LabBackend<'a> {
    /// The CPU, on one thread.
    #[default]
    Cpu,
    /// A device.
    Gpu(&'a Context),
}

/// Backend, mode and fault of a series of laws.
#[derive(Clone, Copy, Debug, Default)]
pub struct LabSetup<'a> {
    /// Backend.
    pub backend: LabBackend<'a>,
    /// Mode of the solver.
    pub mode: Mode,
    /// True to run the worlds with the law's disturbance, which the expected value does not know: the law must be
    /// missed.
    pub disturbed: bool,
    /// Asked between steps; true stops the law with [`LabError::Stopped`].
    pub stopped: Option<fn() -> bool>,
}

/// State of a body, in double precision.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LabBody {
    /// Origin of the body's frame, m.
    pub position: DVec2,
    /// Angle, rad, in (−π, π].
    pub angle: f64,
    /// Velocity of the centre of mass, m/s.
    pub velocity: DVec2,
    /// Angular velocity, rad/s.
    pub spin: f64,
}

/// A law at work: makes scenes and worlds with its settings.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lab<'a> {
    pub setup: LabSetup<'a>,
    pub disturbance: Disturbance,
    pub dt: f64,
    pub substeps: f64,
}

impl<'a> Lab<'a> {
    pub fn new(setup: LabSetup<'a>, disturbance: Disturbance, values: &LawValues) -> Self {
        Self { setup, disturbance, dt: values.get("dt"), substeps: values.get("substeps") }
    }

    /// Returns the same law with a step of another length, s.
    pub fn with_dt(self, dt: f64) -> Self {
        Self { dt, ..self }
    }

    /// Returns an empty scene under this gravity, m/s², downwards.
    pub fn scene(&self, name: &str, gravity: f64) -> Scene {
        self.scene_along(name, 0.0, -gravity)
    }

    /// Returns an empty scene under this gravity, m/s².
    pub fn scene_along(&self, name: &str, x: f64, y: f64) -> Scene {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 64")]
        let substeps = (self.substeps > 0.0).then_some(self.substeps as u32);
        let mut scene = Scene::new(name).gravity(f(x), f(y));
        scene.settings = Settings { dt: f(self.dt), substeps, mode: self.setup.mode, ..Settings::default() };
        scene
    }

    /// Starts the world of a scene, disturbed if that is asked for.
    pub fn start(&self, scene: &Scene) -> Result<LabWorld, LabError> {
        let mut scene = scene.clone();
        if self.setup.disturbed {
            (self.disturbance.apply)(&mut scene);
        }
        let world = match self.setup.backend {
            LabBackend::Cpu => World::new(&scene)?,
            LabBackend::Gpu(context) => World::on_gpu(context, &scene)?,
        };
        Ok(LabWorld { world, dt: f64::from(scene.settings.dt), stopped: self.setup.stopped })
    }
}

/// A running world of a law.
#[derive(Debug)]
pub(crate) struct LabWorld {
    pub world: World,
    pub dt: f64,
    stopped: Option<fn() -> bool>,
}

impl LabWorld {
    /// Advances by a number of steps.
    pub fn advance(&mut self, steps: usize) -> Result<&mut Self, LabError> {
        for _ in 0..steps {
            if self.stopped.is_some_and(|stopped| stopped()) {
                return Err(LabError::Stopped);
            }
            self.world.step()?;
        }
        Ok(self)
    }

    /// Advances to a time, s, rounded to steps.
    pub fn run_to(&mut self, seconds: f64) -> Result<&mut Self, LabError> {
        let steps = self.steps_of(seconds).saturating_sub(usize::try_from(self.world.steps()).unwrap_or(usize::MAX));
        self.advance(steps)
    }

    /// Returns the number of steps in a time.
    pub fn steps_of(&self, seconds: f64) -> usize {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded by the parameters")]
        let steps = (seconds / self.dt).round() as usize;
        steps
    }

    /// Returns the simulated time, s.
    pub fn time(&self) -> f64 {
        self.world.steps() as f64 * self.dt
    }

    /// Returns a body of the scene.
    pub fn body(&self, index: usize) -> Result<LabBody, LabError> {
        let body = self.world.body(index)?;
        Ok(LabBody {
            position: body.position().as_dvec2(),
            angle: f64::from(body.angle()),
            velocity: body.velocity().as_dvec2(),
            spin: f64::from(body.angular_velocity()),
        })
    }

    /// Returns bodies of the scene, from `first` on.
    pub fn bodies(&mut self, first: usize) -> Result<Vec<LabBody>, LabError> {
        if let World::Cpu(_) = self.world {
            let count = self.world.bodies().count();
            return (first..count).map(|index| self.body(index)).collect();
        }
        let snapshot = self.world.snapshot()?;
        let states = drystone::low_level::state::body_states(self.world.compiled(), &snapshot);
        let read = |body: &drystone::low_level::state::ReportedBody| LabBody {
            position: Vec2::from(body.position).as_dvec2(),
            angle: f64::from(body.angle),
            velocity: Vec2::from(body.velocity).as_dvec2(),
            spin: f64::from(body.angular_velocity),
        };
        Ok(states.iter().skip(first).map(read).collect())
    }

    /// Returns energies, momenta and overlaps.
    pub fn metrics(&mut self) -> Result<Metrics, LabError> {
        let snapshot = self.world.snapshot()?;
        Ok(metrics(self.world.compiled(), &snapshot))
    }

    /// Returns all contact points with their forces.
    pub fn contacts(&mut self) -> Result<Vec<ReportedContact>, LabError> {
        let snapshot = self.world.snapshot()?;
        Ok(contact_points(self.world.compiled(), &snapshot))
    }

    /// Returns mass, kg, and moment of inertia, kg·m², of a body.
    pub fn mass(&self, index: usize) -> Result<[f64; 2], LabError> {
        let body = self.world.body(index)?;
        Ok([f64::from(body.mass()), f64::from(body.inertia())])
    }
}

/// Rounds to the precision of scenes.
#[allow(clippy::cast_possible_truncation, reason = "scenes are in single precision")]
pub(crate) fn f(value: f64) -> f32 {
    value as f32
}

/// Returns a static half plane below y = 0 with this friction.
pub(crate) fn floor(friction: f64) -> Body {
    Body::fixed(0.0, 0.0).shape(Shape::half_plane([0.0, 1.0], 0.0).friction(f(friction)))
}

/// Returns a dynamic body at a point, m.
pub(crate) fn at(x: f64, y: f64) -> Body {
    Body::dynamic(f(x), f(y))
}

/// Returns a box by its width and height, m.
pub(crate) fn brick(width: f64, height: f64) -> Shape {
    Shape::half_box(f(0.5 * width), f(0.5 * height))
}

/// Returns a disc by its radius, m.
pub(crate) fn disc(radius: f64) -> Shape {
    Shape::circle(f(radius))
}

/// Returns a point, m.
pub(crate) fn point(x: f64, y: f64) -> Vec2 {
    Vec2::new(f(x), f(y))
}

/// Returns the number of a whole parameter.
pub(crate) fn whole(value: f64) -> usize {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be whole and in range")]
    let whole = value as usize;
    whole
}

/// Returns the angle nearest to `before` that differs from `angle` by whole turns.
pub(crate) fn wound(before: f64, angle: f64) -> f64 {
    angle + TAU * ((before - angle) / TAU).round()
}

/// Returns the place between `low` and `high` where `holds` turns from true to false, by halving.
pub(crate) fn last_that_holds(
    [mut low, mut high]: [f64; 2],
    rounds: usize,
    mut holds: impl FnMut(f64) -> Result<bool, LabError>,
) -> Result<f64, LabError> {
    for _ in 0..rounds {
        let middle = 0.5 * (low + high);
        if holds(middle)? {
            low = middle;
        } else {
            high = middle;
        }
    }
    Ok(0.5 * (low + high))
}
