//! How good a run is, measured the same way for everybody, so that nobody wins by doing less.

use anyhow::Result;
use drystone::scene::Compiled;
use drystone::state::metrics;
use drystone::{CpuWorld, Snapshot};
use serde::Serialize;

/// What is left at the end of a run.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Quality {
    /// How far the body that began highest has sunk, m.
    pub top_sink: f64,
    /// How far it has moved sideways, m.
    pub top_drift: f64,
    /// Deepest overlap of two shapes, m.
    pub max_penetration: f64,
    /// Mean over overlapping contact points, m.
    pub mean_penetration: f64,
    /// J.
    pub kinetic_energy: f64,
    /// m/s.
    pub max_speed: f64,
    /// Pairs of shapes within the speculative distance.
    pub contacts: u32,
    /// Those with a contact point.
    pub touching: u32,
}

/// Measures poses and velocities. Whatever contacts the snapshot has are not believed: they are found anew, by the same
/// code for every engine.
///
/// # Errors
/// If the snapshot is of another scene.
pub fn measure(compiled: &Compiled, end: &Snapshot) -> Result<Quality> {
    let mut probe = CpuWorld::from_compiled(compiled.clone());
    let bare = Snapshot { poses: end.poses.clone(), states: end.states.clone(), ..probe.snapshot() };
    probe.restore(&bare)?;
    // A step finds its contacts before it moves anything, so they are those of the poses that went in.
    probe.step();
    let counters = *probe.counters();
    let metrics = metrics(compiled, &Snapshot { poses: bare.poses, states: bare.states, ..probe.snapshot() });
    Ok(Quality {
        top_sink: metrics.top_sink,
        top_drift: metrics.top_lean,
        max_penetration: metrics.max_penetration,
        mean_penetration: metrics.mean_penetration,
        kinetic_energy: metrics.kinetic_energy,
        max_speed: metrics.max_speed,
        contacts: counters.contacts,
        touching: counters.touching,
    })
}
