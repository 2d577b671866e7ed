//! Ties: decisions that depend on rounding. The CPU repeats them with the input moved by a rounding, or shows how much
//! depends on one.

use super::STAGE_TOLERANCE;
use super::roundings::ROUNDINGS;
use super::tables::{distance, floats_of_state};
use drystone::low_level::reference::Reference;
use drystone::low_level::scene::Compiled;
use drystone::low_level::stages::collide::Drift;
use drystone::low_level::stages::solve::GAP;
use drystone::low_level::step::{PlannedStage, Stage};
use drystone::low_level::tables::Tables;
use drystone::low_level::types::{MEASURED, POINT_COUNT_MASK, RECYCLED};

/// Maximum difference of a gap for which "separated" on one backend and "touching" on the other is a tie, m: a few
/// roundings of the motion in a step.
const TIE_GAP: f32 = 1e-6;
/// Maximum difference of the motion of a pair since its manifold was computed for a tie, as a fraction of 1 m plus
/// their distance.
const TIE_DRIFT: f32 = 1e-6;
/// Number of positions around its own from which the sweep of a fast body is repeated.
const NUDGES: u8 = 8;

/// Moves contacts by a rounding where the backends decide differently between separated and touching, for which a sweep
/// uses different formulas ([`GAP`]), so that the CPU repeats the sweep with the GPU's decision. Returns the number of
/// ties.
pub(super) fn settle_gap_ties(
    op: PlannedStage,
    linear_slop: f32,
    before: &mut Tables,
    cpu: &Tables,
    gpu: &Tables,
) -> u32 {
    let measures = matches!(op.stage, Stage::Solve | Stage::Relax) && op.flags & MEASURED == 0;
    if !measures || cpu.constraints.len() != gpu.constraints.len() || cpu.constraints.len() != before.constraints.len()
    {
        return 0;
    }
    let gap = GAP * linear_slop;
    let mut ties = 0;
    for ((row, cpu), gpu) in before.constraints.iter_mut().zip(&cpu.constraints).zip(&gpu.constraints) {
        for point in 0..(row.flags & POINT_COUNT_MASK).min(2) as usize {
            let (here, there) = (cpu.measured[point], gpu.measured[point]);
            if (here > gap) != (there > gap) && (here - there).abs() <= TIE_GAP {
                row.separations[point] += 2.0 * (there - here);
                ties += 1;
            }
        }
    }
    ties
}

/// Moves the reference position of pairs by a few roundings where the backends decide differently whether a manifold is
/// recycled, so that the CPU repeats the stage with the GPU's decision. A manifold is kept while its pair has moved
/// less than a limit and recomputed above; the two can differ by millimetres. Returns the number of ties.
pub(super) fn settle_recycle_ties(
    op: PlannedStage,
    compiled: &Compiled,
    before: &mut Tables,
    cpu: &Tables,
    gpu: &Tables,
) -> u32 {
    if op.stage != Stage::Collide || cpu.contacts.len() != gpu.contacts.len() {
        return 0;
    }
    let mut ties = 0;
    for (index, (here, there)) in cpu.contacts.iter().zip(&gpu.contacts).enumerate() {
        let kept = there.flags & RECYCLED != 0;
        if (here.flags & RECYCLED != 0) == kept || before.contacts.len() != cpu.contacts.len() {
            continue;
        }
        let head = &before.contacts[index];
        let (a, b) = (head.body_a as usize, head.body_b as usize);
        let on_plane = head.shape_b < compiled.params.half_plane_count;
        let Some(old) = before.manifolds_previous.get_mut(head.color as usize) else { continue };
        let (extents, poses) = ([a, b].map(|body| before.motions[body].extent), &before.poses);
        let drift = Drift::new(&compiled.params, extents, &poses[a], &poses[b], on_plane, head.flags, old);
        let missing = drift.limit - drift.moved.length() - drift.turned;
        let slack = TIE_DRIFT * (1.0 + drift.between.length());
        if missing.abs() > slack || missing.is_nan() {
            continue;
        }
        let further = missing + if kept { -slack } else { slack };
        let away = drift.moved.try_normalize().unwrap_or(glam::Vec2::X) * further;
        old.cached_position = (glam::Vec2::from(old.cached_position) - away).into();
        ties += 1;
    }
    ties
}

/// Returns how far rounding can move the stopping position of each body, as measured by [`distance`]; empty if both
/// backends agree.
///
/// The search for an impact ends within a tolerance, and a core that just passes is not stopped at all: where rounding
/// decides, a body sliding along a wall can differ by its whole motion while its distance changes by a rounding. The
/// CPU shows by how much: it repeats the sweeps from positions shifted by the rounding of a gap.
pub(super) fn stops_by_rounding(
    op: PlannedStage,
    twin: &mut Reference,
    before: &Tables,
    cpu: &Tables,
    gpu: &Tables,
) -> Vec<f64> {
    let far = |one: &Tables, other: &Tables| -> Vec<f64> {
        let rows = one.states.iter().zip(&other.states);
        rows.map(|(a, b)| distance(&floats_of_state(a), &floats_of_state(b))).collect()
    };
    if op.stage != Stage::Continuous || far(cpu, gpu).iter().all(|&error| error <= STAGE_TOLERANCE) {
        return Vec::new();
    }
    let mut most = vec![0.0_f64; cpu.states.len()];
    for nudge in 0..NUDGES {
        let angle = std::f32::consts::TAU * f32::from(nudge) / f32::from(NUDGES);
        twin.load(before);
        twin.nudge_sweeps(glam::Vec2::from_angle(angle) * ROUNDINGS);
        twin.run(op);
        for (most, error) in most.iter_mut().zip(far(cpu, &twin.tables())) {
            *most = most.max(error);
        }
    }
    twin.nudge_sweeps(glam::Vec2::ZERO);
    most
}

#[cfg(test)]
mod tests {
    use super::super::tables::compare_tables;
    use super::*;
    use drystone::low_level::types::{Contact, RECYCLED};
    use drystone::{Body, Scene, Shape};

    /// A box above a floor has moved by almost the recycling limit: one backend keeps the manifold, the other does not.
    #[test]
    fn recycling_is_a_tie_within_rounding_only() {
        let mut scene = Scene::new("a box on a floor").gravity(0.0, 0.0);
        scene.add(Body::fixed(0.0, -0.5).shape(Shape::half_box(5.0, 0.5)));
        scene.add(Body::dynamic(0.0, 0.5).shape(Shape::half_box(0.5, 0.5)));
        let collide = PlannedStage { stage: Stage::Collide, flags: 0 };
        let mut world = Reference::from_compiled(Compiled::new(&scene).expect("a scene"));
        world.step();
        let contact = world.tables().contacts[0];
        let mut old = world.tables().manifolds[0];
        // A millimetre wrong by now, so that the decision matters.
        for point in &mut old.points {
            point.base_separation += 1e-3;
        }
        // Runs collide with a manifold whose reference position is this far aside.
        let run = |aside: f32| {
            let mut before = world.tables();
            before.manifolds_previous = vec![old];
            before.manifolds_previous[0].cached_position[0] += aside;
            before.contacts = vec![Contact { color: 0, ..contact }];
            let mut twin = Reference::from_compiled(world.compiled().clone());
            twin.load(&before);
            twin.run(collide);
            (before, twin)
        };
        let limit = world.compiled().params.recycle_distance;
        let kept = |tables: &Tables| tables.contacts[0].flags & RECYCLED != 0;
        for (off, excused) in [(2e-7, true), (2e-5, false)] {
            for sign in [-1.0, 1.0] {
                let (mut before, mut cpu) = run(limit + sign * off);
                let (_, gpu) = run(limit - sign * off);
                let (here, there) = (cpu.tables(), gpu.tables());
                assert!(kept(&here) != kept(&there), "{off}: the decisions must differ");
                let ties = settle_recycle_ties(collide, cpu.compiled(), &mut before, &here, &there);
                assert_eq!(ties, u32::from(excused), "{off}");
                cpu.load(&before);
                cpu.run(collide);
                let outcome = compare_tables(collide, cpu.compiled(), &[], &cpu.tables(), &there);
                assert_eq!(outcome.first.is_none(), excused, "{off}: {:?}", outcome.first);
            }
        }
    }
}
