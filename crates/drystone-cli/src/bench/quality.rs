//! Quality of a final state, measured by the same code for every engine, so that no engine appears faster by solving
//! less accurately.

use drystone::low_level::CpuWorld;
use drystone::low_level::scene::Compiled;
use drystone::low_level::state::metrics;
use drystone::low_level::types::DYNAMIC;
use drystone::{Snapshot, WorldError};
use serde::{Deserialize, Serialize};

/// Quality of the final state of a run. `None` for values that are not finite.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Quality {
    /// Distance by which the body that started highest has sunk, m.
    pub sink: Option<f64>,
    /// Horizontal displacement of that body, m.
    pub drift: Option<f64>,
    /// Largest distance of a dynamic body from its place at the start, m. `None` also if the scene adds bodies.
    #[serde(default)]
    pub moved: Option<f64>,
    /// Deepest overlap of two shapes, m.
    pub max_penetration: Option<f64>,
    /// Mean over overlapping contact points, m.
    pub mean_penetration: Option<f64>,
    /// Largest distance between a joint's anchors and where it holds them, m.
    pub joint_error: Option<f64>,
    /// Kinetic energy, J.
    pub kinetic_energy: Option<f64>,
    /// Largest speed of a body, m/s.
    pub max_speed: Option<f64>,
    /// Pairs of shapes within the speculative distance.
    pub pairs: u32,
    /// Pairs with at least one contact point.
    pub touching: u32,
}

/// Measures poses and velocities. Contacts in the snapshot are ignored; they are found again by the same code for every
/// engine.
///
/// # Errors
/// If the snapshot belongs to another scene.
pub fn measure(compiled: &Compiled, end: &Snapshot) -> Result<Quality, WorldError> {
    let mut probe = CpuWorld::from_compiled(compiled.clone().without_emitters());
    let bare = Snapshot { poses: end.poses.clone(), states: end.states.clone(), ..probe.snapshot() };
    probe.restore(&bare)?;
    // A step finds its contacts before moving anything, so they belong to the given poses.
    probe.step()?;
    let counters = *probe.counters();
    let found = metrics(compiled, &Snapshot { poses: bare.poses, states: bare.states, ..probe.snapshot() });
    let finite = |x: f64| x.is_finite().then_some(x);
    let distance = |body: usize| {
        let [[x, y], [from_x, from_y]] = [&end.poses, &compiled.poses].map(|poses| poses[body].position);
        f64::from(x - from_x).hypot(f64::from(y - from_y))
    };
    let dynamic = (0..compiled.poses.len()).filter(|&body| compiled.bodies[body].kind == DYNAMIC);
    let moved =
        dynamic.map(distance).fold(0.0, |most: f64, moved| if moved > most || moved.is_nan() { moved } else { most });
    Ok(Quality {
        sink: finite(found.top_sink),
        drift: finite(found.top_lean),
        moved: finite(moved).filter(|_| !compiled.emits()),
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

    /// Contacts in a snapshot have no influence; a moved body has.
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
        assert!(whole.moved.unwrap() < 0.01 && (pressed.moved.unwrap() - 0.25).abs() < 0.01, "{pressed:?}");
    }
}
