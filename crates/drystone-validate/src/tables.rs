//! Compares all tables of the two backends after a stage.

use super::roundings::{ROUNDINGS, Roundings, TreeSums, sums_of_impulses};
use super::{Difference, STAGE_TOLERANCE, TIES};
use drystone::low_level::scene::Compiled;
use drystone::low_level::step::{PlannedStage, Stage};
use drystone::low_level::tables::Tables;
use drystone::low_level::types::{
    ASLEEP, BodyState, Constraint, Contact, ContactPoint, Counters, EventData, MASS_MASK, MASS_SHIFT, Manifold, NONE,
    POINT_COUNT_MASK, Rebound, Surface,
};

/// Relative tolerance of a solver sweep, in which errors propagate through up to 32 colours.
const SWEEP_TOLERANCE: f64 = 1e-4;
/// Maximum difference of two manifolds for a decision to be a tie, m.
const TIE_DISTANCE: f64 = 1e-4;

/// Result of comparing all tables after a stage.
pub(super) struct StageComparison {
    stage: &'static str,
    tolerance: f64,
    pub worst: f64,
    pub ties: u32,
    pub first: Option<Difference>,
}

impl StageComparison {
    fn fail(&mut self, table: &'static str, index: usize, cpu: String, gpu: String, error: f64) {
        self.worst = self.worst.max(if error.is_finite() { error / self.tolerance } else { f64::INFINITY });
        if self.first.is_none() {
            let (stage, tolerance) = (self.stage, self.tolerance);
            self.first = Some(Difference { step: 0, stage, table, index, cpu, gpu, error, tolerance });
        }
    }

    /// Compares rows that must be bitwise equal.
    fn exact<T: PartialEq + std::fmt::Debug>(&mut self, table: &'static str, cpu: &[T], gpu: &[T]) {
        if cpu.len() != gpu.len() {
            self.fail(table, 0, format!("{} rows", cpu.len()), format!("{} rows", gpu.len()), f64::INFINITY);
            return;
        }
        if let Some(index) = (0..cpu.len()).find(|&index| cpu[index] != gpu[index]) {
            self.fail(table, index, format!("{:?}", cpu[index]), format!("{:?}", gpu[index]), f64::INFINITY);
        }
    }

    /// Compares the codes of the masses of bodies. They are rounded up, so they may differ by one.
    fn masses(&mut self, cpu: &[BodyState], gpu: &[BodyState]) {
        let code = |state: &BodyState| (state.status & MASS_MASK) >> MASS_SHIFT;
        let codes = cpu.iter().map(code).zip(gpu.iter().map(code));
        if let Some((index, (here, there))) = codes.enumerate().find(|(_, (here, there))| here.abs_diff(*there) > 1) {
            self.fail("masses", index, here.to_string(), there.to_string(), f64::INFINITY);
        }
    }

    /// Compares rows whose floats may differ by rounding.
    fn close<T: std::fmt::Debug>(
        &mut self,
        table: &'static str,
        cpu: &[T],
        gpu: &[T],
        floats: impl Fn(&T) -> Vec<f32>,
    ) {
        self.close_beside(table, cpu, gpu, |row| (floats(row), Vec::new()));
    }

    /// Compares rows whose floats were computed from other numbers, given beside them, whose rounding counts as well.
    fn close_beside<T: std::fmt::Debug>(
        &mut self,
        table: &'static str,
        cpu: &[T],
        gpu: &[T],
        floats: impl Fn(&T) -> (Vec<f32>, Vec<f32>),
    ) {
        if cpu.len() != gpu.len() {
            self.fail(table, 0, format!("{} rows", cpu.len()), format!("{} rows", gpu.len()), f64::INFINITY);
            return;
        }
        for index in 0..cpu.len() {
            let ((here, beside), (there, _)) = (floats(&cpu[index]), floats(&gpu[index]));
            let error = distance_beside(&here, &there, &beside);
            self.worst = self.worst.max(error / self.tolerance);
            if error > self.tolerance {
                self.fail(table, index, format!("{:?}", cpu[index]), format!("{:?}", gpu[index]), error);
                return;
            }
        }
    }
}

/// Returns the largest difference of two rows, relative to 1 or to the value. Infinite if a value is NaN.
pub(super) fn distance(cpu: &[f32], gpu: &[f32]) -> f64 {
    distance_beside(cpu, gpu, &[])
}

/// Returns the largest difference of two rows, relative also to the numbers in `beside` from which they were computed.
fn distance_beside(cpu: &[f32], gpu: &[f32], beside: &[f32]) -> f64 {
    let mut worst = 0.0_f64;
    for (index, (&a, &b)) in cpu.iter().zip(gpu).enumerate() {
        if a.to_bits() == b.to_bits() {
            continue;
        }
        let (a, b) = (f64::from(a), f64::from(b));
        let scale = beside.get(index).map_or(1.0, |&value| f64::from(value).abs().max(1.0));
        let error = (a - b).abs() / a.abs().max(b.abs()).max(scale);
        worst = if error.is_nan() { f64::INFINITY } else { worst.max(error) };
    }
    worst
}

/// Returns the scale by which to divide a difference that may be as large as a rounding plus a tolerance.
fn scale(rounding: f32, tolerance: f64) -> f32 {
    #[allow(clippy::cast_possible_truncation, reason = "an f32 holds seven digits of a tolerance")]
    let tolerance = tolerance as f32;
    1.0 + rounding / tolerance
}

/// Compares all tables after a stage. `stops` is the result of [`stops_by_rounding`](super::ties::stops_by_rounding).
pub(super) fn compare_tables(
    op: PlannedStage,
    compiled: &Compiled,
    stops: &[f64],
    cpu: &Tables,
    gpu: &Tables,
) -> StageComparison {
    let sweep = matches!(
        op.stage,
        Stage::WarmStart
            | Stage::WarmStartJoints
            | Stage::SolveJoints
            | Stage::Solve
            | Stage::RelaxJoints
            | Stage::Relax
            | Stage::ProjectJoints
            | Stage::Project
            | Stage::Restitution
    );
    let tolerance = if sweep { SWEEP_TOLERANCE } else { STAGE_TOLERANCE };
    let mut outcome = StageComparison { stage: op.stage.name(), tolerance, worst: 0.0, ties: 0, first: None };
    outcome.close("poses", &cpu.poses, &gpu.poses, |pose| [pose.position, pose.rotation].concat());
    if op.stage == Stage::Continuous {
        compare_stops(&mut outcome, &cpu.states, &gpu.states, stops);
        // A body that just passes, or just does not, is counted by only one backend.
        if cpu.counters.continuous.abs_diff(gpu.counters.continuous) > outcome.ties {
            outcome.exact("continuous", &[cpu.counters.continuous], &[gpu.counters.continuous]);
        }
    } else {
        outcome.close("states", &cpu.states, &gpu.states, floats_of_state);
    }
    let status = |tables: &Tables| tables.states.iter().map(|state| state.status & !MASS_MASK).collect::<Vec<_>>();
    outcome.exact("status", &status(cpu), &status(gpu));
    outcome.masses(&cpu.states, &gpu.states);
    // Differences of velocities: for small ones of a fast body, only the rounding of the velocity is left. Sums of
    // impulses, which may cancel.
    let of_impulses = if op.stage == Stage::WarmStart { sums_of_impulses(cpu) } else { Vec::new() };
    let of_hinges = match op.stage {
        Stage::WarmStartJoints | Stage::SolveJoints | Stage::RelaxJoints => TreeSums::of(compiled, cpu),
        _ => TreeSums::default(),
    };
    let sums = |tables: &Tables| {
        let pairs = tables.accumulators.iter().zip(&tables.states).enumerate();
        let beside = |index: usize, state: &BodyState| {
            let sums = of_impulses.get(index).or_else(|| of_hinges.bodies.get(index));
            let [push, spin] = sums.copied().unwrap_or_default();
            let [push, spin] = [push, spin].map(|sum| scale(ROUNDINGS * f32::EPSILON * sum, tolerance));
            let turning = state.angular_velocity.abs().max(spin);
            [state.velocity.map(|speed| speed.abs().max(push)), [turning; 2]].concat()
        };
        pairs.map(|(index, (sum, state))| (*sum, beside(index, state))).collect::<Vec<_>>()
    };
    outcome.close_beside("accumulators", &sums(cpu), &sums(gpu), |(sum, beside)| {
        ([sum.velocity, [sum.angular_velocity; 2]].concat(), beside.clone())
    });
    outcome.close("motions", &cpu.motions, &gpu.motions, |motion| {
        let [x, y] = motion.moved;
        vec![x, y, motion.turned, motion.extent]
    });
    outcome.close("aabbs", &cpu.aabbs, &gpu.aabbs, |aabb| [aabb.min, aabb.max].concat());
    // Grid, pairs and slots are those of the previous step until their stage has run.
    if op.stage >= Stage::Bin {
        outcome.exact("cell_ends", &cpu.cell_ends, &gpu.cell_ends);
        let binned = cpu.cell_ends.last().map_or(0, |&end| end as usize).min(gpu.cell_shapes.len());
        outcome.exact("cell_shapes", &cpu.cell_shapes[..binned], &gpu.cell_shapes[..binned]);
    }
    if op.stage >= Stage::Pair {
        outcome.exact("pair_starts", &cpu.pair_starts, &gpu.pair_starts);
        // After bodies woke, the device has put their contacts back, and pair runs again.
        if op.stage != Stage::Wake || gpu.counters.again == 0 {
            let (cpu, gpu) = ((&cpu.contacts[..], &cpu.manifolds[..]), (&gpu.contacts[..], &gpu.manifolds[..]));
            compare_contacts(op, compiled, &mut outcome, cpu, gpu);
        }
    }
    compare_sleep(op, compiled, &mut outcome, cpu, gpu);
    if op.stage >= Stage::Color {
        outcome.exact("slots", &cpu.slots, &gpu.slots);
        let (a, b) = (&cpu.counters, &gpu.counters);
        outcome.exact("color_starts", &a.color_starts, &b.color_starts);
        outcome.exact(
            "rounds, uncolored, touching",
            &[a.rounds, a.uncolored, a.touching],
            &[b.rounds, b.uncolored, b.touching],
        );
    }
    if op.stage >= Stage::Prepare {
        compare_constraints(&mut outcome, &cpu.constraints, &gpu.constraints);
        compare_rebounds(&mut outcome, &cpu.rebounds, &gpu.rebounds);
        compare_surfaces(&mut outcome, &cpu.surfaces, &gpu.surfaces);
    }
    compare_joints(&mut outcome, cpu, gpu, &of_hinges.impulses);
    if op.stage == Stage::CollectEvents {
        compare_events(&mut outcome, &cpu.events, &gpu.events);
    }
    outcome
}

/// Compares sleeping bodies, their islands and archived contacts.
fn compare_sleep(op: PlannedStage, compiled: &Compiled, outcome: &mut StageComparison, cpu: &Tables, gpu: &Tables) {
    let roots = |tables: &Tables| {
        let rows = tables.islands.iter().zip(&tables.states);
        rows.map(|(&root, state)| if state.status & ASLEEP == 0 { NONE } else { root }).collect::<Vec<_>>()
    };
    outcome.exact("islands", &roots(cpu), &roots(gpu));
    outcome.exact("island_flags", &cpu.island_flags, &gpu.island_flags);
    outcome.exact("sleeping_starts", &cpu.sleeping_starts, &gpu.sleeping_starts);
    if op.stage == Stage::Wake {
        outcome.exact("pair_starts_previous", &cpu.pair_starts_previous, &gpu.pair_starts_previous);
        let cpu = (&cpu.contacts_previous[..], &cpu.manifolds_previous[..]);
        compare_contacts(op, compiled, outcome, cpu, (&gpu.contacts_previous, &gpu.manifolds_previous));
    }
    if op.stage == Stage::Sleep {
        let put_by = |tables: &Tables| -> (Vec<Contact>, Vec<Manifold>) {
            tables.sleeping.iter().map(|put_by| (put_by.contact, put_by.manifold)).unzip()
        };
        let (cpu, gpu) = (put_by(cpu), put_by(gpu));
        compare_contacts(op, compiled, outcome, (&cpu.0, &cpu.1), (&gpu.0, &gpu.1));
    }
    let counts = |c: &Counters| {
        [c.awake, c.was_awake, c.sleeping_contacts, c.woken, c.slept, c.wake_flags, c.again, c.awake_levels]
    };
    outcome.exact("counts of sleepers", &[counts(&cpu.counters)], &[counts(&gpu.counters)]);
}

pub(super) fn floats_of_state(state: &BodyState) -> Vec<f32> {
    let mut row = [state.velocity, state.delta_position, state.delta_rotation].concat();
    row.push(state.angular_velocity);
    row
}

/// Compares the stopping positions of fast bodies. Differences explained by rounding are ties.
fn compare_stops(outcome: &mut StageComparison, cpu: &[BodyState], gpu: &[BodyState], by_rounding: &[f64]) {
    for (index, (a, b)) in cpu.iter().zip(gpu).enumerate() {
        let error = distance(&floats_of_state(a), &floats_of_state(b));
        if error > outcome.tolerance && error <= outcome.tolerance + by_rounding.get(index).copied().unwrap_or(0.0) {
            outcome.ties += 1;
            continue;
        }
        outcome.worst = outcome.worst.max(error / outcome.tolerance);
        if error > outcome.tolerance {
            outcome.fail("states", index, format!("{a:?}"), format!("{b:?}"), error);
            return;
        }
    }
}

/// Compares contacts and, once computed, their manifolds.
fn compare_contacts(
    op: PlannedStage,
    compiled: &Compiled,
    outcome: &mut StageComparison,
    (cpu, cpu_manifolds): (&[Contact], &[Manifold]),
    (gpu, gpu_manifolds): (&[Contact], &[Manifold]),
) {
    let pair = |contact: &Contact| [contact.shape_a, contact.shape_b, contact.body_a, contact.body_b];
    let pairs = |contacts: &[Contact]| contacts.iter().map(pair).collect::<Vec<_>>();
    outcome.exact("pairs", &pairs(cpu), &pairs(gpu));
    if cpu.len() != gpu.len() || outcome.first.is_some() {
        return;
    }
    if matches!(op.stage, Stage::Pair | Stage::MatchContacts) {
        let rest = |c: &Contact| (c.flags, c.color, c.features, c.rolling_impulse.to_bits());
        let rests = |contacts: &[Contact]| contacts.iter().map(rest).collect::<Vec<_>>();
        outcome.exact("contacts", &rests(cpu), &rests(gpu));
        return;
    }
    let (cpu_rows, gpu_rows) = (cpu.iter().zip(cpu_manifolds), gpu.iter().zip(gpu_manifolds));
    let mut ties = 0;
    for (index, (a, b)) in cpu_rows.zip(gpu_rows).enumerate() {
        let decided = |contact: &Contact| (contact.flags, contact.features, contact.color);
        if decided(a.0) != decided(b.0) {
            if op.stage == Stage::Collide && is_tie(a, b) {
                ties += 1;
                continue;
            }
            outcome.fail("contacts", index, format!("{a:?}"), format!("{b:?}"), f64::INFINITY);
            return;
        }
        let exact = |(contact, manifold): (&Contact, &Manifold)| {
            let mut row = [manifold.cached_rotation_a, manifold.cached_rotation_b, manifold.cached_position].concat();
            row.push(contact.rolling_impulse);
            row.extend(manifold.points.iter().flat_map(|point| [point.normal_impulse, point.tangent_impulse]));
            row
        };
        let places = |manifold: &Manifold| {
            let of = |p: &ContactPoint| [p.anchor_a, p.anchor_b, [p.base_separation, p.separation]].concat();
            manifold.points.iter().flat_map(of).collect::<Vec<_>>()
        };
        let roundings = Roundings::of(compiled, a.0, a.1);
        // Each relative to its own bound, in units of the tolerance.
        let turned = distance(&a.1.normal, &b.1.normal);
        if turned > outcome.tolerance && roundings.is_face_tie && op.stage == Stage::Collide && is_tie(a, b) {
            ties += 1;
            continue;
        }
        let turned = turned * outcome.tolerance / (outcome.tolerance + f64::from(roundings.normal));
        let lengths = [scale(roundings.place, outcome.tolerance); 12];
        let moved = distance_beside(&places(a.1), &places(b.1), &lengths);
        let error = distance(&exact(a), &exact(b)).max(moved).max(turned);
        outcome.worst = outcome.worst.max(error / outcome.tolerance);
        if error > outcome.tolerance {
            outcome.fail("manifolds", index, format!("{a:?}"), format!("{b:?}"), error);
            return;
        }
    }
    outcome.ties += ties;
    #[allow(clippy::cast_precision_loss, reason = "a count")]
    if f64::from(ties) > (cpu.len() as f64 * TIES).max(1.0) {
        outcome.fail("contacts", 0, "no ties".to_owned(), format!("{ties} ties"), f64::INFINITY);
    }
}

/// Returns true if two manifolds of one pair describe the same contact with another reference face, or with one more or
/// one less point at the limit of being a contact.
fn is_tie(a: (&Contact, &Manifold), b: (&Contact, &Manifold)) -> bool {
    let deepest = |(contact, manifold): (&Contact, &Manifold)| {
        manifold.points[..(contact.flags & POINT_COUNT_MASK) as usize]
            .iter()
            .map(|point| f64::from(point.separation))
            .fold(0.02, f64::min)
    };
    (deepest(a) - deepest(b)).abs() < TIE_DISTANCE
}

fn compare_constraints(outcome: &mut StageComparison, cpu: &[Constraint], gpu: &[Constraint]) {
    let exact =
        |constraints: &[Constraint]| constraints.iter().map(|c| (c.body_a, c.body_b, c.flags)).collect::<Vec<_>>();
    outcome.exact("constraints", &exact(cpu), &exact(gpu));
    outcome.close("constraints", cpu, gpu, |c| {
        let mut row =
            vec![c.normal[0], c.normal[1], c.inv_mass_a, c.inv_inertia_a, c.inv_mass_b, c.inv_inertia_b, c.friction];
        row.extend([c.separations, c.r_a[0], c.r_a[1], c.r_b, c.measured].concat());
        row.extend(c.impulses);
        row
    });
}

fn compare_rebounds(outcome: &mut StageComparison, cpu: &[Rebound], gpu: &[Rebound]) {
    outcome.close("rebounds", cpu, gpu, |r| {
        [&[r.restitution, r.radii, r.radius_a][..], &r.acceleration, &r.between, &r.impulses].concat()
    });
}

fn compare_surfaces(outcome: &mut StageComparison, cpu: &[Surface], gpu: &[Surface]) {
    outcome.close("surfaces", cpu, gpu, |s| {
        vec![s.kinetic_friction, s.tangent_speed, s.rolling_resistance, s.rolling_impulse]
    });
}

fn compare_events(outcome: &mut StageComparison, cpu: &[EventData], gpu: &[EventData]) {
    let exact = |events: &[EventData]| events.iter().map(|e| (e.kind, e.shape_a, e.shape_b)).collect::<Vec<_>>();
    outcome.exact("events", &exact(cpu), &exact(gpu));
    outcome.close("events", cpu, gpu, |e| vec![e.approach_speed, e.point[0], e.point[1], e.normal[0], e.normal[1]]);
}

/// Compares the tables of joints. `of_trees` are the sums of which the impulses of hinges in trees consist.
fn compare_joints(outcome: &mut StageComparison, cpu: &Tables, gpu: &Tables, of_trees: &[f32]) {
    let heads = |tables: &Tables| {
        tables.joint_frames.iter().map(|f| (f.body_a, f.body_b, f.first_row, f.flags)).collect::<Vec<_>>()
    };
    outcome.exact("joint_frames", &heads(cpu), &heads(gpu));
    outcome.close("joint_frames", &cpu.joint_frames, &gpu.joint_frames, |f| {
        let mut row = [f.r_a, f.r_b, f.between, f.axis].concat();
        row.extend([f.inv_mass_a, f.inv_inertia_a, f.inv_mass_b, f.inv_inertia_b, f.angle]);
        row
    });
    let status = |tables: &Tables| tables.joint_states.iter().map(|state| state.status).collect::<Vec<_>>();
    outcome.exact("joint status", &status(cpu), &status(gpu));
    outcome.close("joint_states", &cpu.joint_states, &gpu.joint_states, |state| vec![state.angle]);
    let tolerance = outcome.tolerance;
    let impulses = |tables: &Tables| {
        let sum = |row: usize| of_trees.get(row).copied().unwrap_or_default();
        let rows = tables.joint_impulses.iter().enumerate();
        rows.map(|(row, &impulse)| (impulse, scale(ROUNDINGS * f32::EPSILON * sum(row), tolerance))).collect::<Vec<_>>()
    };
    outcome.close_beside("joint_impulses", &impulses(cpu), &impulses(gpu), |&(impulse, beside)| {
        (impulse.to_vec(), vec![beside; 2])
    });
}
