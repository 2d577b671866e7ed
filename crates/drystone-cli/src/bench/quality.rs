//! How good a run is, measured the same way for everybody, so that nobody wins by doing less.

use drystone::low_level::CpuWorld;
use drystone::low_level::scene::Compiled;
use drystone::low_level::state::metrics;
use drystone::{Snapshot, WorldError};
use serde::{Deserialize, Serialize};

/// What is left at the end of a run. `None` where it is not finite.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Quality {
    /// How far the body that began highest has sunk, m.
    pub sink: Option<f64>,
    /// How far it has moved sideways, m.
    pub drift: Option<f64>,
    /// Deepest overlap of two shapes, m.
    pub max_penetration: Option<f64>,
    /// Mean over overlapping contact points, m.
    pub mean_penetration: Option<f64>,
    /// How far a joint's anchors are from where it holds them, m: the largest.
    pub joint_error: Option<f64>,
    /// J.
    pub kinetic_energy: Option<f64>,
    /// m/s.
    pub max_speed: Option<f64>,
    /// Pairs of shapes within the speculative distance.
    pub pairs: u32,
    /// Those with a contact point.
    pub touching: u32,
}

/// Measures poses and velocities. Whatever contacts the snapshot has are not believed: they are found anew, by the same
/// code for every engine.
///
/// # Errors
/// If the snapshot is of another scene.
pub fn measure(compiled: &Compiled, end: &Snapshot) -> Result<Quality, WorldError> {
    let mut probe = CpuWorld::from_compiled(compiled.clone().without_emitters());
    let bare = Snapshot { poses: end.poses.clone(), states: end.states.clone(), ..probe.snapshot() };
    probe.restore(&bare)?;
    // A step finds its contacts before it moves anything, so they are those of the poses that went in.
    probe.step()?;
    let counters = *probe.counters();
    let found = metrics(compiled, &Snapshot { poses: bare.poses, states: bare.states, ..probe.snapshot() });
    let finite = |x: f64| x.is_finite().then_some(x);
    Ok(Quality {
        sink: finite(found.top_sink),
        drift: finite(found.top_lean),
        max_penetration: finite(found.max_penetration),
        mean_penetration: finite(found.mean_penetration),
        joint_error: finite(found.joint_error),
        kinetic_energy: finite(found.kinetic_energy),
        max_speed: finite(found.max_speed),
        pairs: counters.contacts,
        touching: counters.touching,
    })
}

#[cfg(test)]
mod tests {
    use drystone_scenes::catalogue;

    use super::*;

    /// Contacts that a snapshot brings along change nothing, a body that is moved does.
    #[test]
    fn only_poses_and_velocities_count() {
        let scene = catalogue::build("large_pyramid:base=4").unwrap();
        let compiled = Compiled::new(&scene).unwrap();
        let mut world = CpuWorld::new(&scene).unwrap();
        (0..60).for_each(|_| world.step().unwrap());
        let end = world.snapshot();
        let whole = measure(&compiled, &end).unwrap();
        let Snapshot { poses, states, .. } = end.clone();
        let mut bare = Snapshot { poses, states, ..Snapshot::default() };
        assert_eq!(measure(&compiled, &bare).unwrap(), whole);
        assert!(whole.touching >= 10 && whole.max_penetration.unwrap() < 0.01, "{whole:?}");
        let top = bare.poses.len() - 1;
        bare.poses[top].position[1] -= 0.25;
        let pressed = measure(&compiled, &bare).unwrap();
        assert!(pressed.max_penetration.unwrap() > 0.2 && pressed.sink.unwrap() > 0.2, "{pressed:?}");
    }
}
