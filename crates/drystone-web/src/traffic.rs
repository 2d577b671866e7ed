//! Memory traffic of a step: the part of the model of `drystone bench` that does not depend on the machine.
//!
//! A stage reads each row it needs once, completely, and writes each changed value once. Rows read by many threads (the
//! state of a body, for each of its contacts) count once per reader. Data visited by a search (grid cells, a shape's
//! contacts of the last step) count as one row. This is a lower bound: a stage that reaches half of the copy speed by
//! this count may move more in reality.
//!
//! ```
//! use drystone::low_level::scene::Compiled;
//! use drystone::low_level::step::plan;
//! use drystone::{Body, Scene, Shape};
//! use drystone_web::traffic::{RowCounts, bytes};
//!
//! let mut scene = Scene::new("ball");
//! scene.add(Body::dynamic(0.0, 4.0).shape(Shape::circle(0.5)));
//! let compiled = Compiled::new(&scene)?;
//! let plan = plan(&compiled.settings, compiled.bounces, false);
//! let moved = |contacts| bytes(&plan, &RowCounts::of(&compiled, contacts, contacts));
//! let total = |contacts| moved(contacts).iter().map(|(_, bytes)| bytes).sum::<u64>();
//! assert!(total(10) > total(0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::mem::size_of;

use drystone::low_level::scene::Compiled;
use drystone::low_level::step::{PlannedStage, Stage};
use drystone::low_level::types::{
    Aabb, Accumulator, BodyData, BodyState, COLOR_COUNT, CcdBody, Constraint, Contact, Counters, JointData, JointFrame,
    JointRow, JointState, MEASURED, Manifold, Pose, Rebound, SURFACES, ShapeData, Surface,
};

/// Numbers of rows of the tables.
#[derive(Clone, Copy, Debug)]
pub struct RowCounts {
    bodies: u64,
    shapes: u64,
    cells: u64,
    pairs: u64,
    constraints: u64,
    /// Equal to the constraints, or 0.
    surfaces: u64,
    /// Equal to the constraints, or 0.
    rebounds: u64,
    joints: u64,
    rows: u64,
}

impl RowCounts {
    /// Counts the rows of a world after a step with these counters.
    #[must_use]
    pub fn new(compiled: &Compiled, counters: &Counters) -> Self {
        let constraints = u64::from(counters.color_starts[COLOR_COUNT as usize]);
        Self::of(compiled, u64::from(counters.contacts), constraints)
    }

    /// Counts the rows of a world with this number of pairs, and of constraints among them.
    #[must_use]
    pub fn of(compiled: &Compiled, pairs: u64, constraints: u64) -> Self {
        Self {
            bodies: compiled.bodies.len() as u64,
            shapes: compiled.shapes.len() as u64,
            cells: u64::from(compiled.params.cell_count),
            pairs,
            constraints,
            surfaces: if compiled.params.switches & SURFACES == 0 { 0 } else { constraints },
            rebounds: if compiled.bounces { constraints } else { 0 },
            joints: compiled.joints.joints.len() as u64,
            rows: compiled.joints.rows.len() as u64,
        }
    }
}

const fn of<T>() -> u64 {
    size_of::<T>() as u64
}

/// Size of an index or a count.
const WORD: u64 = of::<u32>();
/// Size of velocity and angular velocity, which a sweep changes per body.
const VELOCITY: u64 = of::<[f32; 3]>();
/// Size of the change of position and rotation since the start of the step.
const DELTA: u64 = of::<[f32; 4]>();
/// Size of the impulses of two points, which a sweep changes per contact.
const IMPULSES: u64 = of::<[f32; 4]>();
/// Size of two separations.
const SEPARATIONS: u64 = of::<[f32; 2]>();
/// Size of the accumulated impulse of a joint row.
const ROW_IMPULSE: u64 = of::<[f32; 2]>();

/// Returns the traffic of one run of a stage, as (number of rows, bytes per row).
fn traffic(op: PlannedStage, n: &RowCounts) -> Vec<(u64, u64)> {
    let per_body = |bytes| (n.bodies, bytes);
    let per_shape = |bytes| (n.shapes, bytes);
    let per_pair = |bytes| (n.pairs, bytes);
    let per_constraint = |bytes| (n.constraints, bytes);
    let per_joint = |bytes| (n.joints, bytes);
    match op.stage {
        // Proportional to changes, not to the size of the world.
        Stage::Command | Stage::Wake | Stage::CollectEvents | Stage::Sleep => vec![],
        Stage::Quarantine => {
            vec![per_body(of::<BodyData>() + of::<Pose>() + of::<BodyState>() + of::<Accumulator>() + WORD)]
        }
        Stage::Bound => vec![per_shape(of::<ShapeData>() + of::<Pose>() + of::<Aabb>())],
        // Cells are cleared, counted and scanned; a box is read, its cell written and read, its position in the cell
        // written twice and read.
        Stage::Bin => vec![(n.cells, 3 * WORD), per_shape(of::<Aabb>() + 5 * WORD)],
        // Both the counting and the emitting pass read a shape, its box and those of its neighbours, whose number is
        // that of the pairs.
        Stage::Pair => vec![
            per_shape(2 * (of::<ShapeData>() + of::<Aabb>() + WORD) + 3 * WORD),
            per_pair(of::<Aabb>() + of::<Contact>()),
        ],
        // The contact, that of the previous step, and the values copied from it.
        Stage::MatchContacts => vec![per_shape(2 * WORD), per_pair(2 * of::<Contact>() + 4 * WORD)],
        // Contact and manifold of the previous step are read and the new ones written; on both sides shape, pose and
        // motion extent.
        Stage::Collide => {
            vec![per_pair(2 * (of::<Contact>() + of::<Manifold>() + of::<ShapeData>() + of::<Pose>() + WORD))]
        }
        // Colour and flags are read to inherit, to count and to place.
        Stage::Color => vec![per_pair(3 * 2 * WORD), per_constraint(WORD)],
        Stage::Prepare => vec![
            per_constraint(
                WORD + of::<Contact>()
                    + of::<Manifold>()
                    + of::<Constraint>()
                    + 2 * (of::<BodyData>() + of::<ShapeData>()),
            ),
            (n.surfaces, of::<Surface>()),
            (n.rebounds, of::<Rebound>() + 2 * of::<BodyState>()),
        ],
        Stage::WarmStart => {
            vec![per_constraint(of::<Constraint>() + 2 * 2 * of::<Accumulator>()), (n.surfaces, of::<Surface>())]
        }
        Stage::IntegrateVelocities => vec![per_body(of::<BodyData>() + 2 * VELOCITY + 2 * of::<Accumulator>())],
        Stage::Solve | Stage::Relax => {
            let measured = if op.flags & MEASURED == 0 { 2 * DELTA + SEPARATIONS } else { 0 };
            vec![
                per_constraint(of::<Constraint>() + IMPULSES + 2 * 2 * VELOCITY + measured),
                (n.surfaces, of::<Surface>() + WORD),
            ]
        }
        Stage::IntegratePositions => vec![per_body(VELOCITY + 2 * DELTA)],
        Stage::Project => vec![per_constraint(of::<Constraint>() + 2 * 2 * DELTA)],
        Stage::Restitution => vec![(n.rebounds, of::<Rebound>() + of::<Constraint>() + 2 * VELOCITY)],
        Stage::StoreImpulses => vec![per_constraint(2 * IMPULSES + WORD), (n.surfaces, 2 * WORD)],
        Stage::Continuous => vec![per_shape(of::<CcdBody>() + of::<BodyState>())],
        Stage::Finalize => vec![per_body(of::<BodyState>() + 2 * of::<Pose>())],
        Stage::PrepareJoints => vec![
            per_joint(of::<JointData>() + 2 * of::<JointState>() + of::<JointFrame>()),
            per_joint(2 * (of::<BodyData>() + of::<Pose>() + of::<BodyState>())),
            (n.rows, 2 * ROW_IMPULSE),
        ],
        Stage::WarmStartJoints => vec![
            per_joint(of::<JointFrame>() + 2 * DELTA + 2 * 2 * of::<Accumulator>()),
            (n.rows, of::<JointRow>() + ROW_IMPULSE),
        ],
        Stage::SolveJoints | Stage::RelaxJoints => vec![
            per_joint(of::<JointFrame>() + 2 * (2 * VELOCITY + DELTA) + 2 * 2 * of::<Accumulator>()),
            (n.rows, of::<JointRow>() + 2 * ROW_IMPULSE),
        ],
        Stage::ProjectJoints => vec![per_joint(of::<JointFrame>() + 2 * 2 * DELTA), (n.rows, of::<JointRow>())],
    }
}

/// Returns the bytes that a step moves, by stage, in the order of the plan.
#[must_use]
pub fn bytes(plan: &[PlannedStage], counts: &RowCounts) -> Vec<(Stage, u64)> {
    let mut sums: Vec<(Stage, u64)> = Vec::new();
    for &op in plan {
        let moved: u64 = traffic(op, counts).iter().map(|&(rows, bytes)| rows.saturating_mul(bytes)).sum();
        match sums.iter_mut().find(|(stage, _)| *stage == op.stage) {
            Some((_, sum)) => *sum += moved,
            None => sums.push((op.stage, moved)),
        }
    }
    sums.retain(|&(_, sum)| sum > 0);
    sums
}

/// Kernels that measure a device: `copy` copies 16 bytes per thread; `touch` does almost nothing.
pub const SPEED_KERNELS: &str = "
@group(0) @binding(0) var<storage, read> source: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read_write> target_: array<vec4<u32>>;
@compute @workgroup_size(256)
fn copy(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let index = id.x + id.y * groups.x * 256u;
    if index < arrayLength(&target_) {
        target_[index] = source[index];
    }
}
@compute @workgroup_size(1)
fn touch() {
    target_[0].x += source[0].x;
}
";

#[cfg(test)]
mod tests {
    use drystone::Mode;
    use drystone::Settings;
    use drystone::low_level::CpuWorld;
    use drystone::low_level::step::plan;
    use drystone::low_level::types::USE_FRICTION;
    use drystone_scenes::catalogue;

    use super::*;

    /// Counted by hand for a sweep: the constraint, its impulses, and of both bodies the velocities twice and the
    /// deltas once.
    #[test]
    fn a_sweep_moves_what_it_must() {
        let n = RowCounts {
            bodies: 0,
            shapes: 0,
            cells: 0,
            pairs: 0,
            constraints: 1000,
            surfaces: 0,
            rebounds: 0,
            joints: 0,
            rows: 0,
        };
        let constraint = size_of::<Constraint>() as u64;
        let op = |flags| [PlannedStage { stage: Stage::Solve, flags }];
        assert_eq!(bytes(&op(MEASURED), &n), [(Stage::Solve, 1000 * (constraint + 16 + 48))]);
        assert_eq!(bytes(&op(USE_FRICTION), &n), [(Stage::Solve, 1000 * (constraint + 16 + 48 + 32 + 8))]);
        let rough = RowCounts { surfaces: 1000, ..n };
        assert!(bytes(&op(MEASURED), &rough)[0].1 > bytes(&op(MEASURED), &n)[0].1);
    }

    /// In every mode, each stage that works on all bodies, contacts or joints has a line in the table.
    #[test]
    fn every_stage_is_in_the_table() {
        let n = RowCounts {
            bodies: 10,
            shapes: 10,
            cells: 10,
            pairs: 10,
            constraints: 10,
            surfaces: 10,
            rebounds: 10,
            joints: 10,
            rows: 10,
        };
        for mode in [Mode::Soft, Mode::Baumgarte, Mode::Projection] {
            let settings = Settings { mode, sleep: true, events: true, ..Settings::default() };
            let plan = plan(&settings, true, true);
            let moved = bytes(&plan, &n);
            for op in &plan {
                let on_demand = matches!(op.stage, Stage::Command | Stage::Wake | Stage::CollectEvents | Stage::Sleep);
                assert_eq!(moved.iter().any(|(stage, _)| *stage == op.stage), !on_demand, "{}", op.stage.name());
            }
        }
    }

    /// More bodies move more bytes; twice the substeps move nearly twice as many.
    #[test]
    fn bytes_grow_with_the_world() {
        let total = |spec: &str, substeps| {
            let mut scene = catalogue::build(spec).unwrap();
            scene.settings.substeps = Some(substeps);
            let mut world = CpuWorld::new(&scene).unwrap();
            (0..3).for_each(|_| world.step().unwrap());
            let counts = RowCounts::new(world.compiled(), world.counters());
            bytes(world.plan(), &counts).iter().map(|(_, bytes)| bytes).sum::<u64>() as f64
        };
        let (small, large) = (total("large_pyramid:base=10", 4), total("large_pyramid:base=40", 4));
        assert!((large / small - 820.0 / 55.0).abs() < 4.0, "{small} {large}");
        let ratio = total("large_pyramid:base=40", 8) / large;
        // Half of the bytes are those of substeps.
        assert!((1.45..2.0).contains(&ratio), "{ratio}");
    }
}
