//! Watches the energy of a run: energy that nothing in the scene explains means that the solver has diverged.

use drystone::low_level::scene::Compiled;
use drystone::low_level::state::{self, Energies};
use drystone::low_level::types::{DYNAMIC, KINEMATIC, ROW_BY_MASS, ROW_MOTOR, ROW_RANGED, ROW_ROLE, ROW_SPRING};
use drystone::{Snapshot, World};
use serde::Serialize;

/// Steps between two measurements on the CPU. A GPU is read only at the end.
const EVERY: u64 = 30;
/// Largest ratio of the kinetic energy to what explains it. Joints that begin apart make some energy without a
/// divergence.
const MAX_RATIO: f64 = 2.0;

/// Time at which a run has diverged.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Divergence {
    /// Simulated time, s.
    pub time: f64,
    /// Kinetic energy, J.
    pub kinetic: f64,
    /// Kinetic energy that the start, gravity, springs and overlaps explain, J.
    pub explained: f64,
}

/// Watch over the energy of a run.
#[derive(Debug)]
pub struct EnergyWatch {
    start: Energies,
    /// Energy that overlaps can give, J: that of all bodies at the push speed, to and fro.
    pushed: f64,
    found: Option<Divergence>,
}

impl EnergyWatch {
    /// Begins to watch a world at its present state. `None` if its scene has something that does work: motors, bodies
    /// on paths, belts, constant forces, emitters, commands with a time.
    pub fn new(compiled: &Compiled, snapshot: &Snapshot) -> Option<Self> {
        if does_work(compiled) {
            return None;
        }
        let dynamic = || compiled.bodies.iter().zip(&compiled.mass).filter(|(body, _)| body.kind == DYNAMIC);
        let mass: f64 = dynamic().map(|(_, mass)| f64::from(mass.mass)).sum();
        // In the other modes overlaps are pushed out by shares of themselves; no speed bounds that.
        let speed = f64::from(compiled.params.push_speed).min(3.0 * f64::from(compiled.units.speed()));
        Some(Self { start: state::energies(compiled, snapshot), pushed: mass * speed * speed, found: None })
    }

    /// Measures the world after a step, at times; at the end of a run always.
    ///
    /// # Errors
    /// The device is lost.
    pub fn measure(&mut self, world: &mut World, is_last: bool) -> Result<(), drystone::WorldError> {
        let due = is_last || (matches!(world, World::Cpu(_)) && world.steps().is_multiple_of(EVERY));
        if !due || self.found.is_some() {
            return Ok(());
        }
        let snapshot = world.snapshot()?;
        let compiled = world.compiled();
        let Energies { kinetic, potential, elastic } = state::energies(compiled, &snapshot);
        let gained = (self.start.potential - potential) + (self.start.elastic - elastic);
        let explained = (self.start.kinetic + gained).max(0.0) + self.pushed;
        if kinetic > MAX_RATIO * explained {
            let time = snapshot.step as f64 * f64::from(compiled.params.dt);
            self.found = Some(Divergence { time, kinetic, explained });
        }
        Ok(())
    }

    /// Returns the divergence, if there was one.
    pub fn found(&self) -> Option<Divergence> {
        self.found
    }
}

/// Returns true if something in the world can do work without end.
fn does_work(compiled: &Compiled) -> bool {
    let forced = compiled.bodies.iter().zip(&compiled.poses).any(|(body, _)| {
        let [x, y] = body.force;
        body.kind == KINEMATIC || (body.kind == DYNAMIC && [x, y, body.torque].iter().any(|value| *value != 0.0))
    });
    let driven = compiled.joints.rows.iter().any(|row| {
        // A range makes a spring's force another function of its length.
        let limited_spring =
            row.kind & (ROW_ROLE | ROW_BY_MASS | ROW_RANGED) == ROW_SPRING | ROW_BY_MASS && row.max_impulse < f32::MAX;
        row.kind & ROW_ROLE == ROW_MOTOR || limited_spring
    });
    forced
        || driven
        || compiled.emits()
        || compiled.has_timeline()
        || compiled.shapes.iter().any(|shape| shape.tangent_speed != 0.0)
}
