//! Roofline of a step: the minimum time for its memory traffic at the machine's copy speed, plus the overhead of its
//! dispatches.
//!
//! **Bytes.** `traffic` is the table: a stage reads each row it needs once, completely, and writes each changed value
//! once. Rows read by many threads (the state of a body, for each of its contacts) count once per reader. Data visited
//! by a search (grid cells, a shape's contacts of the last step) count as one row. This is a lower bound: a stage that
//! reaches half of the copy speed by this count may move more in reality.
//!
//! **Copy speed** counts bytes read and bytes written, for buffers larger than the caches, best of several rounds: on a
//! device by a compute shader that copies 16 bytes per thread, on the CPU by as many threads as the backend has.
//!
//! **Dispatch cost** is the mean over a thousand dispatches in one pass that all access the same word, so that each has
//! to wait for the one before.
//!
//! `limit = bytes / copy speed + dispatches · dispatch cost`; the share is the limit divided by the median. It exceeds
//! 1 if the data fit into caches, which are faster than memory.

use std::mem::size_of;
use std::time::Instant;

use drystone::low_level::scene::Compiled;
use drystone::low_level::step::{PlannedStage, Stage};
use drystone::low_level::types::{
    Aabb, Accumulator, BodyData, BodyState, COLOR_COUNT, CcdBody, Constraint, Contact, Counters, JointData, JointFrame,
    JointRow, JointState, MEASURED, Manifold, Pose, Rebound, SURFACES, ShapeData, Surface,
};
use drystone::{Context, WorldError};
use serde::{Deserialize, Serialize};

use super::super::report::significant;
use super::row::in_order;

/// Measured speeds of the machine.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Speeds {
    /// Copy speed, GB/s, by backend.
    #[serde(default, with = "in_order")]
    pub copy_gb_s: Vec<(String, f64)>,
    /// Cost of a dispatch of the backend `gpu`, µs.
    #[serde(default)]
    pub dispatch_us: Option<f64>,
}

impl Speeds {
    /// Returns the copy speed of a backend, GB/s.
    pub fn copy(&self, backend: &str) -> Option<f64> {
        self.copy_gb_s.iter().find(|(name, _)| name == backend).map(|&(_, speed)| speed)
    }

    /// Returns the speeds as text for users.
    pub fn text(&self) -> String {
        if self.copy_gb_s.is_empty() {
            return String::new();
        }
        let speeds: Vec<String> =
            self.copy_gb_s.iter().map(|(name, speed)| format!("{name} {} GB/s", significant(*speed))).collect();
        let dispatch = self
            .dispatch_us
            .map_or_else(String::new, |us| format!("; an empty dispatch of backend gpu takes {} µs", significant(us)));
        format!("copies (read and written): {}{dispatch}\n", speeds.join(", "))
    }
}

/// Limit of one row.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Limit {
    /// Bytes that a step must move.
    pub bytes: u64,
    /// Minimum time of a step, ms.
    pub ms: f64,
    /// Limit divided by the median of the row. 1 is as fast as memory; caches can be faster.
    pub share: f64,
    /// Bytes by stage.
    #[serde(with = "in_order")]
    pub stages_bytes: Vec<(String, f64)>,
    /// Fraction of the copy speed that each timed stage reaches.
    #[serde(with = "in_order")]
    pub stages_share: Vec<(String, f64)>,
}

/// Numbers of rows of the tables.
#[derive(Clone, Copy, Debug)]
pub struct Counts {
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

impl Counts {
    /// Counts the rows of a world after a step with these counters.
    pub fn new(compiled: &Compiled, counters: &Counters) -> Self {
        let constraints = u64::from(counters.color_starts[COLOR_COUNT as usize]);
        Self {
            bodies: compiled.bodies.len() as u64,
            shapes: compiled.shapes.len() as u64,
            cells: u64::from(compiled.params.cell_count),
            pairs: u64::from(counters.contacts),
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
fn traffic(op: PlannedStage, n: &Counts) -> Vec<(u64, u64)> {
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
pub fn bytes(plan: &[PlannedStage], counts: &Counts) -> Vec<(Stage, u64)> {
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

/// Returns the limit of a backend with these measured times.
pub fn limit(
    moved: &[(Stage, u64)],
    dispatches: Option<u32>,
    median: f64,
    stages_ms: &[(String, f64)],
    copy_gb_s: f64,
    dispatch_us: Option<f64>,
) -> Limit {
    let ms_of = |bytes: u64| bytes as f64 / (copy_gb_s * 1e6);
    let bytes = moved.iter().map(|(_, bytes)| bytes).sum();
    let ms = ms_of(bytes) + f64::from(dispatches.unwrap_or(0)) * dispatch_us.unwrap_or(0.0) * 1e-3;
    let timed = |stage: Stage| stages_ms.iter().find(|(name, _)| name == stage.name()).map(|&(_, ms)| ms);
    Limit {
        bytes,
        ms,
        share: if median > 0.0 { ms / median } else { 0.0 },
        stages_bytes: moved.iter().map(|&(stage, bytes)| (stage.name().to_owned(), bytes as f64)).collect(),
        stages_share: moved
            .iter()
            .filter_map(|&(stage, bytes)| {
                let took = timed(stage).filter(|&ms| ms > 0.0)?;
                Some((stage.name().to_owned(), ms_of(bytes) / took))
            })
            .collect(),
    }
}

/// Size of the copied buffers on hardware devices, in bytes; larger than caches.
const COPIED: usize = 256 << 20;
/// Size of the copied buffers in main memory, which is shared with other programs, in bytes.
const COPIED_BY_CPU: usize = 64 << 20;
/// Rounds, of which the fastest counts.
const ROUNDS: u32 = 5;

/// Measures the copy speed of this many threads, GB/s, counting reads and writes.
pub fn copy_on_cpu(threads: usize) -> f64 {
    let from = vec![1_u8; COPIED_BY_CPU];
    let mut to = vec![0_u8; COPIED_BY_CPU];
    let share = COPIED_BY_CPU.div_ceil(threads.max(1));
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        std::thread::scope(|scope| {
            for (from, to) in from.chunks(share).zip(to.chunks_mut(share)) {
                scope.spawn(|| to.copy_from_slice(from));
            }
        });
        best = best.min(start.elapsed().as_secs_f64());
    }
    std::hint::black_box(&to);
    2.0 * COPIED_BY_CPU as f64 / best * 1e-9
}

/// Shaders: `copy` copies 16 bytes per thread; `touch` does almost nothing.
const KERNELS: &str = "
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
/// Dispatches in the timed pass.
const EMPTY: u32 = 1000;

/// Measures the copy speed of a device, GB/s, and the cost of a dispatch, µs.
///
/// # Errors
/// If the device is lost or has rejected a command.
pub fn measure_device(context: &Context) -> Result<(f64, f64), WorldError> {
    let device = context.device();
    let limits = device.limits();
    let most = limits.max_storage_buffer_binding_size.min(limits.max_buffer_size);
    let software = drystone::low_level::gpu::is_software(context.info());
    let wanted = if software { COPIED_BY_CPU } else { COPIED } as u64;
    let bytes = wanted.min(most) / 4096 * 4096;
    let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST;
    let buffer = |label, size| {
        device.create_buffer(&wgpu::BufferDescriptor { label: Some(label), size, usage, mapped_at_creation: false })
    };
    let (source, target) = (buffer("source", bytes), buffer("target", bytes));
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: Some("limit"),
        source: wgpu::ShaderSource::Wgsl(KERNELS.into()),
    });
    let pipeline = |name: &str| {
        device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(name),
            layout: None,
            module: &module,
            entry_point: Some(name),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            cache: None,
        })
    };
    let timed = |name: &str, source: &wgpu::Buffer, target: &wgpu::Buffer, groups: u64, dispatches: u32| {
        let pipeline = pipeline(name);
        let group = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("limit"),
            layout: &pipeline.get_bind_group_layout(0),
            entries: &[
                wgpu::BindGroupEntry { binding: 0, resource: source.as_entire_binding() },
                wgpu::BindGroupEntry { binding: 1, resource: target.as_entire_binding() },
            ],
        });
        #[allow(clippy::cast_possible_truncation, reason = "a share of a buffer's limit")]
        let groups = groups as u32;
        let (x, y) = (groups.min(65_535), groups.div_ceil(65_535));
        let mut best = f64::INFINITY;
        // The first round may include compiling and clearing.
        for round in 0..=ROUNDS {
            let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("limit") });
            {
                let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
                pass.set_pipeline(&pipeline);
                pass.set_bind_group(0, &group, &[]);
                (0..dispatches).for_each(|_| pass.dispatch_workgroups(x, y, 1));
            }
            let recorded = encoder.finish();
            let start = Instant::now();
            context.queue().submit([recorded]);
            context.wait()?;
            if round > 0 {
                best = best.min(start.elapsed().as_secs_f64());
            }
        }
        Ok::<_, WorldError>(best / f64::from(dispatches))
    };
    // Enough copies to make the submission cost negligible.
    let copies = if software { 2 } else { 16 };
    let copy = timed("copy", &source, &target, bytes / (16 * 256), copies)?;
    // New buffers contain zeros.
    let small = buffer("small", 256);
    let touch = timed("touch", &source, &small, 1, EMPTY)?;
    Ok((2.0 * bytes as f64 / copy * 1e-9, touch * 1e6))
}

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
        let n = Counts {
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
        let rough = Counts { surfaces: 1000, ..n };
        assert!(bytes(&op(MEASURED), &rough)[0].1 > bytes(&op(MEASURED), &n)[0].1);
    }

    /// In every mode, each stage that works on all bodies, contacts or joints has a line in the table.
    #[test]
    fn every_stage_is_in_the_table() {
        let n = Counts {
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
            let counts = Counts::new(world.compiled(), world.counters());
            bytes(world.plan(), &counts).iter().map(|(_, bytes)| bytes).sum::<u64>() as f64
        };
        let (small, large) = (total("large_pyramid:base=10", 4), total("large_pyramid:base=40", 4));
        assert!((large / small - 820.0 / 55.0).abs() < 4.0, "{small} {large}");
        let ratio = total("large_pyramid:base=40", 8) / large;
        assert!((1.5..2.0).contains(&ratio), "{ratio}");
    }

    #[test]
    fn a_limit_adds_memory_and_dispatches() {
        let moved = [(Stage::Solve, 3_000_000), (Stage::Quarantine, 1_000_000)];
        let stages = [("solve".to_owned(), 0.6)];
        let limit = limit(&moved, Some(100), 8.0, &stages, 10.0, Some(5.0));
        assert_eq!(limit.bytes, 4_000_000);
        assert!((limit.ms - (0.4 + 0.5)).abs() < 1e-12, "{limit:?}");
        assert!((limit.share - 0.9 / 8.0).abs() < 1e-12);
        assert_eq!(limit.stages_share.len(), 1, "the guard stage was not timed");
        assert!((limit.stages_share[0].1 - 0.5).abs() < 1e-12);
    }

    #[test]
    fn copying_takes_time() {
        let speed = copy_on_cpu(1);
        assert!((0.05..1e4).contains(&speed), "{speed} GB/s");
    }
}
