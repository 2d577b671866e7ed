//! Sweeps over the joints (`solve_joints`, `relax_joints`, `warm_start_joints`), eight joints of a colour at a time,
//! shared among threads; the fast form of [`crate::stages::solve_joints`], to the same bits. Each function here is the
//! one of the same name there, on lanes. The joints of a block have the same kinds of rows, so that branches on the
//! kind are taken once per block.

mod stance;
mod tree;

pub(in crate::cpu) use self::stance::tension;
use self::stance::{StanceLanes, rope};
use crate::cpu::joint_blocks::{JointBatch, JointBlock, RowBlock, of_color};
use crate::cpu::{BodyTables, JointTables};
use crate::lanes::{
    Select, Simd, SimdBase, SimdCombine, SimdMask, SimdSplit, Vec2x8, VecLanes, WIDTH, clamped, cross, cross_scalar,
    dispatch, f32x8, inv_rotate, inverse, rotate, u32x8,
};
use crate::scene::{Compiled, JointTable};
use crate::stages::solve_joints::tree::{Tree, row_count, trees};
use crate::stages::solve_joints::{self as one, BodyPair, MAX_SWING, rows_of, solve_joint};
use crate::threads::{Eight, HEAVY, Halves, RowTable, Rows, Threads};
use crate::types::{
    ACCUMULATE, Accumulator, BodyState, DEPOSIT, FRESH, HELD, HELD_ALONE, JOINT_COLORS, JOINT_FIXED_A, JOINT_FIXED_B,
    JOINT_OVERFLOW, JointFrame, JointRow, Params, ROW_ANGLE, ROW_BY_MASS, ROW_COUNT_MASK, ROW_EQUALITY, ROW_GEOMETRY,
    ROW_LOWER, ROW_MOTOR, ROW_POINT, ROW_PULLEY, ROW_RANGED, ROW_ROLE, ROW_SPRING, ROW_UPPER, TreeRow, USE_BIAS,
    WARM_START, WITHDRAW, WORLD_A,
};

/// Flags of the soft step's sweeps, with bias and without.
const BIASED: u32 = USE_BIAS | WITHDRAW;
const RELAX: u32 = DEPOSIT;
/// Value for any other flags.
const ANY: u32 = u32::MAX;

/// Makes one sweep over all joints. The blocks must have been built from these frames and rows.
pub fn solve_joints(
    threads: &Threads,
    compiled: &Compiled,
    flags: u32,
    joint_tables: &mut JointTables,
    tables: &mut BodyTables,
) {
    let Compiled { params, joints: JointTable { starts: joint_starts, rows: joint_rows, .. }, .. } = compiled;
    let JointTables { frames: joint_frames, blocks: joint_blocks, impulses: joint_impulses, trees: tree_rows, .. } =
        joint_tables;
    let BodyTables { states, accumulators, .. } = tables;
    if threads.count() == 1 {
        let (run, impulses) = joint_blocks.alone();
        solve_run(params, flags, run, impulses, states.alone(), accumulators.alone());
    } else {
        let (states, accumulators) = (&*states, &*accumulators);
        joint_blocks.for_each_run(threads, |run, impulses| {
            solve_run(params, flags, run, impulses, states, accumulators);
        });
    }
    for &place in of_color(joint_starts, JOINT_OVERFLOW as usize) {
        let frame = &joint_frames[place as usize];
        visit_one(frame, joint_rows, joint_impulses, states, accumulators, |rows, impulses, ends| {
            solve_joint(params, flags, frame, rows, impulses, ends);
        });
    }
    let (in_lanes, blocks, impulses) = joint_blocks.trees();
    if !in_lanes.is_empty() {
        let (states, sums) = (states.alone(), accumulators.alone());
        dispatch!(simd => tree::solve(simd, params, flags, in_lanes, blocks, impulses, states, sums));
    }
    tree_rows.resize(row_count(joint_starts), TreeRow::default());
    let (mut joint_impulses, mut states, mut sums) = (&*joint_impulses, &*states, &*accumulators);
    for tree in joint_blocks.lone_trees(joint_starts) {
        let (impulses, states, sums) = (&mut joint_impulses, &mut states, &mut sums);
        tree.solve(params, flags, joint_frames, joint_rows, impulses, states, sums, tree_rows);
    }
}

/// Makes one sweep over some blocks.
fn solve_run(
    params: &Params,
    flags: u32,
    run: JointBatch,
    impulses: impl RowTable<Item = VecLanes>,
    states: impl RowTable<Item = BodyState>,
    accumulators: impl RowTable<Item = Accumulator>,
) {
    const USUAL: u32 = ACCUMULATE | WARM_START;
    let plain = params.switches & USUAL == USUAL;
    // As for contacts: known flags select specialised code.
    dispatch!(simd => match flags {
        BIASED if plain => visit_run::<BIASED, _>(simd, params, flags, run, impulses, states, accumulators),
        RELAX if plain => visit_run::<RELAX, _>(simd, params, flags, run, impulses, states, accumulators),
        _ => visit_run::<ANY, _>(simd, params, flags, run, impulses, states, accumulators),
    });
}

/// Solves blocks one by one. `KNOWN` are the flags of the sweep, or [`ANY`] if they are known only at run time. Known
/// flags imply that impulses are kept, accumulated and clamped.
#[inline(always)]
fn visit_run<const KNOWN: u32, S: Simd>(
    simd: S,
    params: &Params,
    flags: u32,
    run: JointBatch,
    impulses: impl RowTable<Item = VecLanes>,
    states: impl RowTable<Item = BodyState>,
    accumulators: impl RowTable<Item = Accumulator>,
) {
    for (block, rows, first) in run.blocks() {
        match rows {
            [rule] if KNOWN != ANY && rule.kind & ROW_GEOMETRY == ROW_POINT && rule.kind & ROW_ROLE == ROW_EQUALITY => {
                visit_hinges(simd, KNOWN, block, rule, impulses.row(first), states, accumulators);
            }
            _ => visit_block(simd, params, flags, block, rows, |row| impulses.row(first + row), states, accumulators),
        }
    }
}

/// Solves a block of joints that have a point row and nothing else: [`visit_block`] in a third of the instructions.
#[inline(always)]
fn visit_hinges<S: Simd>(
    simd: S,
    flags: u32,
    block: &JointBlock,
    rule: &RowBlock,
    impulses: impl Halves,
    states: impl RowTable<Item = BodyState>,
    accumulators: impl RowTable<Item = Accumulator>,
) {
    let zero = f32x8::splat(simd, 0.0);
    // As in `total`: the sign of a zero is a bit, too.
    let sum = |impulse: Vec2x8<S>| Vec2x8::zero(simd) + impulse;
    let bodies = StateLanes::new(block, states);
    let stance = StanceLanes::new(simd, block, bodies);
    let old = rotate(stance.axis, load(simd, impulses));
    if flags & DEPOSIT != 0 {
        add_up(simd, block, &stance, [sum(old); 2], zero, 1.0, accumulators);
    }
    let (mut motion, status) = bodies.motion(simd, block);
    let k = inverse_point_mass(simd, block, stance.arm_a, stance.arm_b);
    let velocity = motion.velocity(&stance);
    let wanted = if flags & USE_BIAS != 0 {
        let [bias_rate, mass_scale, impulse_scale] = rule.softness.each_ref().map(|value| value.on(simd));
        -solve_symmetric(&k, velocity + stance.between * bias_rate) * mass_scale - old * impulse_scale
    } else {
        -solve_symmetric(&k, velocity)
    };
    let new = shortened(old + wanted, rule.max_impulse.on(simd));
    motion.apply(simd, block, &stance, [new - old; 2], zero);
    let kept = inv_rotate(stance.axis, new);
    store(kept, impulses);
    bodies.store(block, &motion, status);
    if flags & WITHDRAW != 0 {
        add_up(simd, block, &stance, [sum(rotate(stance.axis, kept)); 2], zero, -1.0, accumulators);
    }
}

/// Solves one block.
#[inline(always)]
fn visit_block<S: Simd, R: Halves>(
    simd: S,
    params: &Params,
    flags: u32,
    block: &JointBlock,
    rows: &[RowBlock],
    impulses: impl Fn(usize) -> R,
    states: impl RowTable<Item = BodyState>,
    accumulators: impl RowTable<Item = Accumulator>,
) {
    let bodies = StateLanes::new(block, states);
    let stance = StanceLanes::of_rows(simd, block, rows, bodies);
    let warm = params.switches & WARM_START != 0;
    if warm && flags & DEPOSIT != 0 {
        accumulate(simd, block, rows, &impulses, &stance, 1.0, accumulators);
    }
    let (mut motion, status) = bodies.motion(simd, block);
    sweep_rows(simd, params, flags, block, rows, &impulses, &stance, &mut motion);
    bodies.store(block, &motion, status);
    if warm && flags & WITHDRAW != 0 {
        accumulate(simd, block, rows, &impulses, &stance, -1.0, accumulators);
    }
}

/// Solves the rows of one block.
#[inline(always)]
fn sweep_rows<S: Simd, R: Halves>(
    simd: S,
    params: &Params,
    flags: u32,
    block: &JointBlock,
    rows: &[RowBlock],
    impulses: &impl Fn(usize) -> R,
    stance: &StanceLanes<S>,
    motion: &mut MotionLanes<S>,
) {
    let zero = f32x8::splat(simd, 0.0);
    for (index, rule) in rows.iter().enumerate() {
        let geometry = rule.kind & ROW_GEOMETRY;
        if rule.kind & ROW_ROLE == ROW_SPRING && flags & USE_BIAS == 0 {
            continue;
        }
        if flags & HELD != 0 && rule.kind & ROW_ROLE == ROW_EQUALITY {
            if flags & FRESH != 0 {
                store(Vec2x8::zero(simd), impulses(index));
            }
            continue;
        }
        if flags & HELD_ALONE != 0 && rule.kind & ROW_ROLE != ROW_EQUALITY {
            continue;
        }
        let old = if flags & FRESH == 0 { load(simd, impulses(index)) } else { Vec2x8::zero(simd) };
        let new = if geometry == ROW_POINT {
            let old = rotate(stance.axis, old);
            let new = solve_point(simd, params, flags, block, rule, stance, motion, old);
            motion.apply(simd, block, stance, [new - old; 2], zero);
            inv_rotate(stance.axis, new)
        } else {
            let direction = stance.direction(geometry);
            let new = solve_row(simd, params, flags, block, rule, stance, direction, motion, old.x);
            let size = (new - old.x) * side(rule);
            if geometry == ROW_ANGLE {
                motion.apply(simd, block, stance, [Vec2x8::zero(simd); 2], size);
            } else {
                let on_b = direction * size;
                motion.apply(simd, block, stance, [stance.on_a(geometry, size, on_b), on_b], zero);
            }
            Vec2x8::new(new, zero)
        };
        store(new, impulses(index));
    }
}

/// Loads the impulses of a row.
#[inline(always)]
fn load<S: Simd>(simd: S, row: impl Halves) -> Vec2x8<S> {
    let eight = |half: usize| row.lanes(simd, half).combine(row.lanes(simd, half + 1));
    Vec2x8::new(eight(0), eight(2))
}

/// Writes the impulses of a row.
#[inline(always)]
fn store<S: Simd>(new: Vec2x8<S>, row: impl Halves) {
    let ((x_0, x_1), (y_0, y_1)) = (new.x.split(), new.y.split());
    row.set_lanes(0, x_0);
    row.set_lanes(1, x_1);
    row.set_lanes(2, y_0);
    row.set_lanes(3, y_1);
}

/// Adds the joint impulses to `accumulators`; the fast form of [`crate::stages::warm_start_joints`].
pub fn warm_start_joints(threads: &Threads, joints: &JointTable, joint_tables: &mut JointTables, tables: &BodyTables) {
    let JointTable { starts: joint_starts, rows: joint_rows, .. } = joints;
    let JointTables { frames: joint_frames, blocks: joint_blocks, impulses: joint_impulses, trees: tree_rows, .. } =
        joint_tables;
    let BodyTables { states, accumulators, .. } = tables;
    joint_blocks.for_each_run(threads, |run, table| {
        dispatch!(simd => for (block, rows, first) in run.blocks() {
            let stance = StanceLanes::of_rows(simd, block, rows, StateLanes::new(block, states));
            let impulses = |row| table.row(first + row);
            accumulate(simd, block, rows, &impulses, &stance, 1.0, accumulators);
        });
    });
    for &place in of_color(joint_starts, JOINT_OVERFLOW as usize) {
        let frame = &joint_frames[place as usize];
        visit_one(frame, joint_rows, joint_impulses, states, accumulators, |rows, impulses, ends| {
            let stance = one::Stance::new(frame, &ends.states[0], &ends.states[1]);
            one::accumulate(frame, rows, impulses, &stance, 1.0, &mut ends.sums);
        });
    }
    let (in_lanes, blocks, impulses) = joint_blocks.trees();
    if !in_lanes.is_empty() {
        dispatch!(simd => tree::warm_start(simd, in_lanes, blocks, impulses, states, accumulators));
    }
    tree_rows.resize(row_count(joint_starts), TreeRow::default());
    let (joint_impulses, mut states, mut sums) = (&*joint_impulses, states, accumulators);
    for tree in joint_blocks.lone_trees(joint_starts) {
        tree.warm_start(joint_frames, joint_rows, &joint_impulses, &mut states, &mut sums, tree_rows);
    }
}

/// State rows of the bodies A and the bodies B of eight joints.
#[derive(Clone, Copy)]
struct StateLanes<R> {
    a: Eight<R>,
    b: Eight<R>,
}

impl<R: Halves> StateLanes<R> {
    /// Looks up the rows. The world has none: its lanes point to the first row, and [`Self::half`] replaces them by a
    /// body at rest.
    #[inline(always)]
    fn new(block: &JointBlock, states: impl RowTable<Row = R>) -> Self {
        Self { a: states.eight(block.body_a), b: states.eight(block.body_b) }
    }

    /// Loads half a row of the states of both bodies of each joint. The world is a body at rest.
    #[inline(always)]
    fn half<S: Simd>(self, simd: S, block: &JointBlock, half: usize) -> [[f32x8<S>; 4]; 2] {
        let mut a = self.a.columns(simd, half);
        let of_body = (u32x8::load_array(simd, block.flags) & WORLD_A).simd_eq(0);
        if !of_body.all_true() {
            let rest = [0.0, 0.0, if half == 0 { 0.0 } else { 1.0 }, 0.0];
            for (column, value) in a.iter_mut().zip(rest) {
                *column = of_body.select(*column, f32x8::splat(simd, value));
            }
        }
        [a, self.b.columns(simd, half)]
    }

    /// Returns the velocities of the bodies, and the columns of their status.
    #[inline(always)]
    fn motion<S: Simd>(self, simd: S, block: &JointBlock) -> (MotionLanes<S>, [f32x8<S>; 2]) {
        let [[v_a_x, v_a_y, w_a, status_a], [v_b_x, v_b_y, w_b, status_b]] = self.half(simd, block, 0);
        let (v_a, v_b) = (Vec2x8::new(v_a_x, v_a_y), Vec2x8::new(v_b_x, v_b_y));
        (MotionLanes { v_a, w_a, v_b, w_b }, [status_a, status_b])
    }

    /// Writes the velocities of the moved bodies, and nothing else of their states.
    #[inline(always)]
    fn store<S: Simd>(self, block: &JointBlock, motion: &MotionLanes<S>, [status_a, status_b]: [f32x8<S>; 2]) {
        let moves = Moves::of(motion.w_a.simd, block);
        self.a.set_columns(0, [motion.v_a.x, motion.v_a.y, motion.w_a, status_a], |lane| moves.a(lane));
        self.b.set_columns(0, [motion.v_b.x, motion.v_b.y, motion.w_b, status_b], |lane| moves.b(lane));
    }
}

/// Bodies of a block that the joints move.
struct Moves {
    all: bool,
    flags: [u32; WIDTH],
}

impl Moves {
    #[inline(always)]
    fn of<S: Simd>(simd: S, block: &JointBlock) -> Self {
        let fixed = u32x8::load_array(simd, block.flags) & (JOINT_FIXED_A | JOINT_FIXED_B);
        Self { all: fixed.simd_eq(0).all_true(), flags: block.flags }
    }

    #[inline(always)]
    fn a(&self, lane: usize) -> bool {
        self.all || self.flags[lane] & JOINT_FIXED_A == 0
    }

    #[inline(always)]
    fn b(&self, lane: usize) -> bool {
        self.all || self.flags[lane] & JOINT_FIXED_B == 0
    }
}

struct MotionLanes<S: Simd> {
    v_a: Vec2x8<S>,
    w_a: f32x8<S>,
    v_b: Vec2x8<S>,
    w_b: f32x8<S>,
}

impl<S: Simd> MotionLanes<S> {
    #[inline(always)]
    fn velocity(&self, stance: &StanceLanes<S>) -> Vec2x8<S> {
        self.between(stance.arm_a, stance.arm_b)
    }

    /// Returns the velocity of B relative to A, given the lever arms.
    #[inline(always)]
    fn between(&self, arm_a: Vec2x8<S>, arm_b: Vec2x8<S>) -> Vec2x8<S> {
        (self.v_b + cross_scalar(self.w_b, arm_b)) - (self.v_a + cross_scalar(self.w_a, arm_a))
    }

    #[inline(always)]
    fn along(&self, stance: &StanceLanes<S>, geometry: u32, direction: Vec2x8<S>) -> f32x8<S> {
        if geometry == ROW_PULLEY {
            let at_a = self.v_a + cross_scalar(self.w_a, stance.arm_a);
            let at_b = self.v_b + cross_scalar(self.w_b, stance.arm_b);
            return at_a.dot(rope(stance.axis)) + at_b.dot(direction);
        }
        self.velocity(stance).dot(direction)
    }

    #[inline(always)]
    fn apply(
        &mut self,
        simd: S,
        block: &JointBlock,
        stance: &StanceLanes<S>,
        [on_a, on_b]: [Vec2x8<S>; 2],
        spin: f32x8<S>,
    ) {
        self.v_a -= on_a * block.inv_mass_a.on(simd);
        self.w_a -= block.inv_inertia_a.on(simd) * (cross(stance.arm_a, on_a) + stance.ratio * spin);
        self.v_b += on_b * block.inv_mass_b.on(simd);
        self.w_b += block.inv_inertia_b.on(simd) * (cross(stance.arm_b, on_b) + spin);
    }
}

#[inline(always)]
fn side(rule: &RowBlock) -> f32 {
    if rule.kind & ROW_ROLE == ROW_UPPER { -1.0 } else { 1.0 }
}

#[inline(always)]
fn inverse_mass<S: Simd>(
    simd: S,
    block: &JointBlock,
    stance: &StanceLanes<S>,
    geometry: u32,
    direction: Vec2x8<S>,
) -> f32x8<S> {
    let (i_a, i_b) = (block.inv_inertia_a.on(simd), block.inv_inertia_b.on(simd));
    if geometry == ROW_ANGLE {
        return i_a * (stance.ratio * stance.ratio) + i_b;
    }
    if geometry == ROW_PULLEY {
        let at_a = rope(stance.axis);
        let (arm_a, arm_b) = (cross(stance.arm_a, at_a), cross(stance.arm_b, direction));
        let masses = block.inv_mass_a.on(simd) * at_a.dot(at_a) + block.inv_mass_b.on(simd) * direction.dot(direction);
        return masses + i_a * arm_a * arm_a + i_b * arm_b * arm_b;
    }
    let (arm_a, arm_b) = (cross(stance.arm_a, direction), cross(stance.arm_b, direction));
    block.inv_mass_a.on(simd) + block.inv_mass_b.on(simd) + i_a * arm_a * arm_a + i_b * arm_b * arm_b
}

/// Eight symmetric matrices, one per lane.
struct Symmetric<S: Simd> {
    xx: f32x8<S>,
    xy: f32x8<S>,
    yy: f32x8<S>,
}

#[inline(always)]
fn inverse_point_mass<S: Simd>(simd: S, block: &JointBlock, r_a: Vec2x8<S>, r_b: Vec2x8<S>) -> Symmetric<S> {
    let (i_a, i_b) = (block.inv_inertia_a.on(simd), block.inv_inertia_b.on(simd));
    let both = block.inv_mass_a.on(simd) + block.inv_mass_b.on(simd);
    Symmetric {
        xx: both + i_a * r_a.y * r_a.y + i_b * r_b.y * r_b.y,
        xy: -i_a * r_a.x * r_a.y - i_b * r_b.x * r_b.y,
        yy: both + i_a * r_a.x * r_a.x + i_b * r_b.x * r_b.x,
    }
}

#[inline(always)]
fn solve_symmetric<S: Simd>(k: &Symmetric<S>, b: Vec2x8<S>) -> Vec2x8<S> {
    let determinant = k.xx * k.yy - k.xy * k.xy;
    let solved = Vec2x8::new(k.yy * b.x - k.xy * b.y, k.xx * b.y - k.xy * b.x) / determinant;
    solved.where_else(determinant.simd_gt(0.0), Vec2x8::zero(determinant.simd))
}

#[inline(always)]
fn spring<S: Simd>(simd: S, params: &Params, rule: &RowBlock, k: f32x8<S>, stated: f32x8<S>) -> (f32x8<S>, f32x8<S>) {
    let (zero, one, h) = (f32x8::splat(simd, 0.0), f32x8::splat(simd, 1.0), f32x8::splat(simd, params.h));
    let scale = if rule.kind & ROW_BY_MASS == 0 { one } else { inverse(simd, stated) };
    let (mut stiffness, damping) = (rule.softness[0].on(simd) * scale, rule.softness[1].on(simd) * scale);
    let mut swing = stiffness * h * h * k;
    let most = f32x8::splat(simd, MAX_SWING);
    let stiff = swing.simd_gt(most);
    stiffness = stiff.select(stiffness * (most / swing), stiffness);
    swing = stiff.select(most, swing);
    let theta = f32x8::splat(simd, 0.5) - f32x8::splat(simd, 0.125) / swing;
    let theta = swing.simd_gt(0.25).select(theta, zero);
    (stiffness, h * (damping + theta * h * stiffness))
}

#[inline(always)]
fn solve_row<S: Simd>(
    simd: S,
    params: &Params,
    flags: u32,
    block: &JointBlock,
    rule: &RowBlock,
    stance: &StanceLanes<S>,
    direction: Vec2x8<S>,
    motion: &MotionLanes<S>,
    old: f32x8<S>,
) -> f32x8<S> {
    let (zero, one, h) = (f32x8::splat(simd, 0.0), f32x8::splat(simd, 1.0), f32x8::splat(simd, params.h));
    let geometry = rule.kind & ROW_GEOMETRY;
    let role = rule.kind & ROW_ROLE;
    let k = inverse_mass(simd, block, stance, geometry, direction);
    let mass = inverse(simd, k);
    let (sign, goal) = (side(rule), rule.goal.on(simd));
    let velocity = if geometry == ROW_ANGLE {
        (motion.w_b - stance.ratio * motion.w_a) * sign
    } else {
        motion.along(stance, geometry, direction) * sign
    };
    let limit = role == ROW_LOWER || role == ROW_UPPER;
    let wanted = if role == ROW_MOTOR {
        -mass * (velocity - goal)
    } else {
        let error = (stance.position(geometry, direction) - goal) * sign;
        if role == ROW_SPRING {
            let (stiffness, a) = spring(simd, params, rule, k, k);
            -(h * stiffness * error + a * velocity + old) / (one + a * k)
        } else {
            let touching = if flags & USE_BIAS != 0 {
                let [bias_rate, mass_scale, impulse_scale] = rule.softness.each_ref().map(|value| value.on(simd));
                -mass * mass_scale * (velocity + bias_rate * error) - impulse_scale * old
            } else {
                -mass * velocity
            };
            if limit { error.simd_gt(0.0).select(-mass * (velocity + error / h), touching) } else { touching }
        }
    };
    let most = rule.max_impulse.on(simd);
    let low = if limit {
        zero
    } else if rule.kind & ROW_RANGED != 0 {
        rule.softness[2].on(simd)
    } else {
        -most
    };
    if params.switches & ACCUMULATE != 0 { clamped(old + wanted, low, most) } else { old + clamped(wanted, low, most) }
}

#[inline(always)]
fn solve_point<S: Simd>(
    simd: S,
    params: &Params,
    flags: u32,
    block: &JointBlock,
    rule: &RowBlock,
    stance: &StanceLanes<S>,
    motion: &MotionLanes<S>,
    old: Vec2x8<S>,
) -> Vec2x8<S> {
    let k = inverse_point_mass(simd, block, stance.arm_a, stance.arm_b);
    let velocity = motion.velocity(stance);
    let wanted = if rule.kind & ROW_ROLE == ROW_SPRING {
        let met = inverse_point_mass(simd, block, stance.arm_a - stance.between, stance.arm_b);
        let half = f32x8::splat(simd, 0.5);
        let mean = half * (met.xx + met.yy);
        let (stiffness, a) = spring(simd, params, rule, half * (k.xx + k.yy), mean);
        let scale = inverse(simd, mean);
        let shape = Symmetric { xx: met.xx * scale, xy: met.xy * scale, yy: met.yy * scale };
        let kept = Vec2x8::new(shape.xx * old.x + shape.xy * old.y, shape.xy * old.x + shape.yy * old.y);
        let damped = Symmetric { xx: shape.xx + k.xx * a, xy: shape.xy + k.xy * a, yy: shape.yy + k.yy * a };
        -solve_symmetric(&damped, stance.between * (f32x8::splat(simd, params.h) * stiffness) + velocity * a + kept)
    } else if rule.kind & ROW_ROLE == ROW_MOTOR {
        let goal = Vec2x8::new(rule.goal.on(simd), rule.softness[0].on(simd));
        -solve_symmetric(&k, velocity - rotate(stance.axis, goal))
    } else if flags & USE_BIAS != 0 {
        let [bias_rate, mass_scale, impulse_scale] = rule.softness.each_ref().map(|value| value.on(simd));
        -solve_symmetric(&k, velocity + stance.between * bias_rate) * mass_scale - old * impulse_scale
    } else {
        -solve_symmetric(&k, velocity)
    };
    let most = rule.max_impulse.on(simd);
    if params.switches & ACCUMULATE != 0 { shortened(old + wanted, most) } else { old + shortened(wanted, most) }
}

#[inline(always)]
fn shortened<S: Simd>(v: Vec2x8<S>, most: f32x8<S>) -> Vec2x8<S> {
    let length = v.length();
    let long = length.simd_gt(most);
    // Hardly any is: without the branch all would wait for a root and a division.
    if long.any_true() { (v * (most / length)).where_else(long, v) } else { v }
}

#[inline(always)]
fn total<S: Simd, R: Halves>(
    simd: S,
    rows: &[RowBlock],
    impulses: &impl Fn(usize) -> R,
    stance: &StanceLanes<S>,
) -> (Vec2x8<S>, f32x8<S>) {
    let (mut impulse, mut spin) = (Vec2x8::zero(simd), f32x8::splat(simd, 0.0));
    for (index, rule) in rows.iter().enumerate() {
        let part = load(simd, impulses(index));
        match rule.kind & ROW_GEOMETRY {
            ROW_POINT => impulse += rotate(stance.axis, part),
            ROW_ANGLE => spin += part.x * side(rule),
            geometry => impulse += stance.direction(geometry) * (part.x * side(rule)),
        }
    }
    (impulse, spin)
}

#[inline(always)]
fn total_on_a<S: Simd, R: Halves>(
    simd: S,
    rows: &[RowBlock],
    impulses: &impl Fn(usize) -> R,
    stance: &StanceLanes<S>,
    on_b: Vec2x8<S>,
) -> Vec2x8<S> {
    match rows.first() {
        Some(rule) if rule.kind & ROW_GEOMETRY == ROW_PULLEY => {
            stance.on_a(ROW_PULLEY, load(simd, impulses(0)).x * side(rule), on_b)
        }
        _ => on_b,
    }
}

#[inline(always)]
fn accumulate<S: Simd, R: Halves>(
    simd: S,
    block: &JointBlock,
    rows: &[RowBlock],
    impulses: &impl Fn(usize) -> R,
    stance: &StanceLanes<S>,
    share: f32,
    accumulators: impl RowTable<Item = Accumulator>,
) {
    let (impulse, spin) = total(simd, rows, impulses, stance);
    let on_a = total_on_a(simd, rows, impulses, stance, impulse);
    add_up(simd, block, stance, [on_a, impulse], spin, share, accumulators);
}

/// Adds a share of the velocity changes due to impulses to the sums of the bodies.
#[inline(always)]
fn add_up<S: Simd>(
    simd: S,
    block: &JointBlock,
    stance: &StanceLanes<S>,
    [on_a, on_b]: [Vec2x8<S>; 2],
    spin: f32x8<S>,
    share: f32,
    accumulators: impl RowTable<Item = Accumulator>,
) {
    let zero = f32x8::splat(simd, 0.0);
    let ([on_a, on_b], spin) = ([on_a, on_b].map(|impulse| impulse * f32x8::splat(simd, share)), spin * share);
    let (push_a, push_b) = (on_a * block.inv_mass_a.on(simd), on_b * block.inv_mass_b.on(simd));
    let turn_a = block.inv_inertia_a.on(simd) * (cross(stance.arm_a, on_a) + stance.ratio * spin);
    let turn_b = block.inv_inertia_b.on(simd) * (cross(stance.arm_b, on_b) + spin);
    let moves = Moves::of(simd, block);
    accumulators.eight(block.body_a).update(
        [push_a.x, push_a.y, turn_a, zero],
        |lane| moves.a(lane),
        |sum, lanes| sum.set_lanes(0, sum.lanes(simd, 0) - lanes),
    );
    accumulators.eight(block.body_b).update(
        [push_b.x, push_b.y, turn_b, zero],
        |lane| moves.b(lane),
        |sum, lanes| sum.set_lanes(0, sum.lanes(simd, 0) + lanes),
    );
}

/// Solves one joint of the overflow.
fn visit_one(
    frame: &JointFrame,
    joint_rows: &[JointRow],
    joint_impulses: &Rows<[f32; 2], 1>,
    states: &Rows<BodyState, 4>,
    accumulators: &Rows<Accumulator, 2>,
    visit: impl FnOnce(&[JointRow], &mut [[f32; 2]], &mut BodyPair),
) {
    let rows = rows_of(frame);
    let mut impulses = [[0.0; 2]; ROW_COUNT_MASK as usize];
    for (impulse, row) in impulses.iter_mut().zip(rows.clone()) {
        *impulse = joint_impulses.get(row);
    }
    let [state_a, state_b] = states_of(frame, states);
    let sum_of = |body: u32, fixed: u32| {
        if frame.flags & fixed == 0 { accumulators.get(body as usize) } else { Accumulator::default() }
    };
    let sums = [sum_of(frame.body_a, JOINT_FIXED_A), sum_of(frame.body_b, JOINT_FIXED_B)];
    let mut ends = BodyPair { states: [state_a, state_b], sums };
    visit(&joint_rows[rows.clone()], &mut impulses[..rows.len()], &mut ends);
    for (impulse, row) in impulses.into_iter().zip(rows) {
        joint_impulses.set(row, impulse);
    }
    for (end, body, fixed) in [(0, frame.body_a, JOINT_FIXED_A), (1, frame.body_b, JOINT_FIXED_B)] {
        if frame.flags & fixed == 0 {
            states.set(body as usize, ends.states[end]);
            accumulators.set(body as usize, ends.sums[end]);
        }
    }
}

/// Returns the states of both bodies. The world is a body at rest.
pub(super) fn states_of(frame: &JointFrame, states: &Rows<BodyState, 4>) -> [BodyState; 2] {
    let state_a = if frame.flags & WORLD_A != 0 { BodyState::default() } else { states.get(frame.body_a as usize) };
    [state_a, states.get(frame.body_b as usize)]
}

/// Visits the joints colour by colour. Those of one colour may be visited in parallel; the overflow is visited one by
/// one, in order, and then the hinges of trees.
pub(super) fn for_joints(threads: &Threads, joint_starts: &[u32], each: impl Fn(usize) + Sync) {
    for color in 0..JOINT_COLORS as usize {
        let places = of_color(joint_starts, color);
        let visit = |places: &[u32]| places.iter().for_each(|&place| each(place as usize));
        if color == JOINT_OVERFLOW as usize {
            visit(places);
        } else {
            threads.for_ranges(HEAVY, places.len(), |first, last| visit(&places[first..last]));
        }
    }
    trees(joint_starts).flat_map(Tree::joints).for_each(each);
}
