//! Four joints of a colour at a time, to the same bits as [`solve_joints`](super::solve_joints), which says what they
//! mean. Each function here is the one of the same name there, on lanes; the joints of a block have the same rows, so
//! what kind a row is of is asked once.

use super::{MAX_SWING, visit};
use crate::joint_blocks::{JointBlock, JointBlocks, RowBlock, of_color};
use crate::lanes::{Vec2x4, WIDTH, angle_of, clamped, cross, cross_scalar, f32x4, inv_rotate, rotate, turned};
use crate::threads::{Row, Rows, Threads};
use crate::types::{
    ACCUMULATE, Accumulator, BodyState, DEPOSIT, FRESH, JOINT_FIXED_A, JOINT_FIXED_B, JOINT_OVERFLOW, JointFrame,
    JointRow, NONE, Params, ROW_ACROSS, ROW_ALONG, ROW_ANGLE, ROW_AXIS, ROW_BY_MASS, ROW_EQUALITY, ROW_GEOMETRY,
    ROW_LOWER, ROW_MOTOR, ROW_POINT, ROW_ROLE, ROW_SPRING, ROW_UPPER, USE_BIAS, WARM_START, WITHDRAW, WORLD_A,
};

/// The sweeps of the soft step, with bias and without.
const BIASED: u32 = USE_BIAS | WITHDRAW;
const RELAX: u32 = DEPOSIT;
/// Any sweep.
const ANY: u32 = u32::MAX;

/// One sweep. The blocks are those of the frames and rows.
pub fn solve_joints(
    threads: &Threads,
    params: &Params,
    flags: u32,
    joint_starts: &[u32],
    joint_frames: &[JointFrame],
    joint_rows: &[JointRow],
    joint_blocks: &JointBlocks,
    joint_impulses: &Rows<[f32; 2], 1>,
    states: &Rows<BodyState, 4>,
    accumulators: &Rows<Accumulator, 2>,
) {
    const USUAL: u32 = ACCUMULATE | WARM_START;
    let plain = params.switches & USUAL == USUAL;
    // As for contacts: where it is known what is done, nothing is asked.
    match flags {
        BIASED if plain => sweep::<BIASED>(threads, params, flags, joint_blocks, joint_impulses, states, accumulators),
        RELAX if plain => sweep::<RELAX>(threads, params, flags, joint_blocks, joint_impulses, states, accumulators),
        _ => sweep::<ANY>(threads, params, flags, joint_blocks, joint_impulses, states, accumulators),
    }
    for &place in of_color(joint_starts, JOINT_OVERFLOW as usize) {
        let frame = &joint_frames[place as usize];
        visit(params, flags, frame, joint_rows, joint_impulses, states, accumulators);
    }
}

/// One sweep over all blocks, with the flags `KNOWN`, if these are not [`ANY`], of impulses that are kept, accumulated and
/// clamped.
fn sweep<const KNOWN: u32>(
    threads: &Threads,
    params: &Params,
    flags: u32,
    joint_blocks: &JointBlocks,
    joint_impulses: &Rows<[f32; 2], 1>,
    states: &Rows<BodyState, 4>,
    accumulators: &Rows<Accumulator, 2>,
) {
    joint_blocks.for_each(threads, |block, rows| match rows {
        [rule] if KNOWN != ANY && rule.kind & ROW_GEOMETRY == ROW_POINT && rule.kind & ROW_ROLE == ROW_EQUALITY => {
            visit_hinges(KNOWN, block, rule, joint_impulses, states, accumulators);
        }
        _ => visit_block(params, flags, block, rows, joint_impulses, states, accumulators),
    });
}

/// Visits a block of joints that hold a point and do nothing else: the same as [`visit_block`], in a third of the
/// instructions.
#[inline(always)]
fn visit_hinges(
    flags: u32,
    block: &JointBlock,
    rule: &RowBlock,
    joint_impulses: &Rows<[f32; 2], 1>,
    states: &Rows<BodyState, 4>,
    accumulators: &Rows<Accumulator, 2>,
) {
    let zero = f32x4::splat(0.0);
    // As in `total`: the sign of a zero is a bit, too.
    let sum = |impulse: Vec2x4| Vec2x4::new(zero, zero) + impulse;
    let bodies = Bodies::new(block, states);
    let stance = Stance::new(block, bodies);
    let old = rotate(stance.axis, impulses(rule, joint_impulses));
    if flags & DEPOSIT != 0 {
        add_up(block, &stance, sum(old), zero, 1.0, accumulators);
    }
    let ([v_a_x, v_a_y, w_a, status_a], [v_b_x, v_b_y, w_b, status_b]) = bodies.load(block, 0);
    let (v_a, v_b) = (Vec2x4::new(v_a_x, v_a_y), Vec2x4::new(v_b_x, v_b_y));
    let mut motion = Motion { v_a, w_a, v_b, w_b };
    let k = inverse_point_mass(block, stance.arm_a, stance.arm_b);
    let velocity = motion.velocity(&stance);
    let wanted = if flags & USE_BIAS != 0 {
        let [bias_rate, mass_scale, impulse_scale] = rule.softness;
        -solve_symmetric(&k, velocity + stance.between * bias_rate) * mass_scale - old * impulse_scale
    } else {
        -solve_symmetric(&k, velocity)
    };
    let new = shortened(old + wanted, rule.max_impulse);
    motion.apply(block, &stance, new - old, zero);
    let kept = inv_rotate(stance.axis, new);
    store_impulses(rule, kept, joint_impulses);
    bodies.store(block, &motion, [status_a, status_b]);
    if flags & WITHDRAW != 0 {
        add_up(block, &stance, sum(rotate(stance.axis, kept)), zero, -1.0, accumulators);
    }
}

/// Visits a block.
#[inline(always)]
fn visit_block(
    params: &Params,
    flags: u32,
    block: &JointBlock,
    rows: &[RowBlock],
    joint_impulses: &Rows<[f32; 2], 1>,
    states: &Rows<BodyState, 4>,
    accumulators: &Rows<Accumulator, 2>,
) {
    let bodies = Bodies::new(block, states);
    let stance = Stance::new(block, bodies);
    let warm = params.switches & WARM_START != 0;
    if warm && flags & DEPOSIT != 0 {
        accumulate(block, rows, joint_impulses, &stance, 1.0, accumulators);
    }
    let ([v_a_x, v_a_y, w_a, status_a], [v_b_x, v_b_y, w_b, status_b]) = bodies.load(block, 0);
    let (v_a, v_b) = (Vec2x4::new(v_a_x, v_a_y), Vec2x4::new(v_b_x, v_b_y));
    let mut motion = Motion { v_a, w_a, v_b, w_b };
    let zero = f32x4::splat(0.0);
    for rule in rows {
        let geometry = rule.kind & ROW_GEOMETRY;
        if rule.kind & ROW_ROLE == ROW_SPRING && flags & USE_BIAS == 0 {
            continue;
        }
        let old = if flags & FRESH == 0 { impulses(rule, joint_impulses) } else { Vec2x4::new(zero, zero) };
        let new = if geometry == ROW_POINT {
            let old = rotate(stance.axis, old);
            let new = solve_point(params, flags, block, rule, &stance, &motion, old);
            motion.apply(block, &stance, new - old, zero);
            inv_rotate(stance.axis, new)
        } else {
            let direction = stance.direction(geometry);
            let new = solve_row(params, flags, block, rule, &stance, direction, &motion, old.x);
            let size = side(rule) * (new - old.x);
            if geometry == ROW_ANGLE {
                motion.apply(block, &stance, Vec2x4::new(zero, zero), size);
            } else {
                motion.apply(block, &stance, direction * size, zero);
            }
            Vec2x4::new(new, zero)
        };
        store_impulses(rule, new, joint_impulses);
    }
    bodies.store(block, &motion, [status_a, status_b]);
    if warm && flags & WITHDRAW != 0 {
        accumulate(block, rows, joint_impulses, &stance, -1.0, accumulators);
    }
}

/// Writes the impulses of a row.
#[inline(always)]
fn store_impulses(rule: &RowBlock, new: Vec2x4, joint_impulses: &Rows<[f32; 2], 1>) {
    let zero = f32x4::splat(0.0);
    for (&at, row) in rule.impulses.iter().zip(f32x4::transpose([new.x, new.y, zero, zero])) {
        if at != NONE {
            joint_impulses.set_two_lanes(at as usize, row);
        }
    }
}

/// Whether all bodies of a block are moved by it.
#[inline(always)]
fn all_move(block: &JointBlock) -> bool {
    block.flags.iter().fold(0, |all, flags| all | flags) & (JOINT_FIXED_A | JOINT_FIXED_B) == 0
}

/// As [`warm_start_joints`](crate::stages::warm_start_joints::warm_start_joints).
pub fn warm_start_joints(
    threads: &Threads,
    joint_starts: &[u32],
    joint_frames: &[JointFrame],
    joint_rows: &[JointRow],
    joint_blocks: &JointBlocks,
    joint_impulses: &Rows<[f32; 2], 1>,
    states: &Rows<BodyState, 4>,
    accumulators: &Rows<Accumulator, 2>,
) {
    joint_blocks.for_each(threads, |block, rows| {
        accumulate(block, rows, joint_impulses, &Stance::new(block, Bodies::new(block, states)), 1.0, accumulators);
    });
    for &place in of_color(joint_starts, JOINT_OVERFLOW as usize) {
        let frame = &joint_frames[place as usize];
        let (state_a, state_b) = super::states_of(frame, states);
        let stance = super::Stance::new(frame, &state_a, &state_b);
        super::accumulate(frame, joint_rows, joint_impulses, &stance, 1.0, accumulators);
    }
}

/// Rows of states, four of bodies A and four of bodies B.
#[derive(Clone, Copy)]
struct Bodies<'a> {
    a: [Row<'a, 4>; WIDTH],
    b: [Row<'a, 4>; WIDTH],
}

impl<'a> Bodies<'a> {
    #[inline(always)]
    fn new(block: &JointBlock, states: &'a Rows<BodyState, 4>) -> Self {
        let rows = |[a, b, c, d]: [u32; WIDTH]| {
            let row = |body: u32| states.row(body as usize);
            [row(a), row(b), row(c), row(d)]
        };
        Self { a: rows(block.body_a), b: rows(block.body_b) }
    }

    /// Half a row of the states of both bodies of each joint; the world is one that rests.
    #[inline(always)]
    fn load(self, block: &JointBlock, half: usize) -> ([f32x4; 4], [f32x4; 4]) {
        let a = |lane: usize| {
            if block.flags[lane] & WORLD_A == 0 {
                self.a[lane].lanes(half)
            } else {
                f32x4::from([0.0, 0.0, if half == 0 { 0.0 } else { 1.0 }, 0.0])
            }
        };
        let b = |lane: usize| self.b[lane].lanes(half);
        (f32x4::transpose([a(0), a(1), a(2), a(3)]), f32x4::transpose([b(0), b(1), b(2), b(3)]))
    }

    /// Writes the velocities of bodies that are moved, and nothing else of their states.
    #[inline(always)]
    fn store(self, block: &JointBlock, motion: &Motion, [status_a, status_b]: [f32x4; 2]) {
        let rows_a = f32x4::transpose([motion.v_a.x, motion.v_a.y, motion.w_a, status_a]);
        let rows_b = f32x4::transpose([motion.v_b.x, motion.v_b.y, motion.w_b, status_b]);
        let all_move = all_move(block);
        for lane in 0..WIDTH {
            if all_move || block.flags[lane] & JOINT_FIXED_A == 0 {
                self.a[lane].set_lanes(0, rows_a[lane]);
            }
            if all_move || block.flags[lane] & JOINT_FIXED_B == 0 {
                self.b[lane].set_lanes(0, rows_b[lane]);
            }
        }
    }
}

/// The impulses of a row.
#[inline(always)]
fn impulses(rule: &RowBlock, joint_impulses: &Rows<[f32; 2], 1>) -> Vec2x4 {
    let row = |lane: usize| match rule.impulses[lane] {
        NONE => f32x4::splat(0.0),
        at => joint_impulses.two_lanes(at as usize),
    };
    let [x, y, ..] = f32x4::transpose([row(0), row(1), row(2), row(3)]);
    Vec2x4::new(x, y)
}

struct Stance {
    arm_a: Vec2x4,
    arm_b: Vec2x4,
    between: Vec2x4,
    axis: Vec2x4,
    angle: f32x4,
    turn_a: Vec2x4,
    turn_b: Vec2x4,
}

impl Stance {
    #[inline(always)]
    fn new(block: &JointBlock, bodies: Bodies) -> Self {
        let ([p_a_x, p_a_y, q_a_x, q_a_y], [p_b_x, p_b_y, q_b_x, q_b_y]) = bodies.load(block, 1);
        let (turn_a, turn_b) = (Vec2x4::new(q_a_x, q_a_y), Vec2x4::new(q_b_x, q_b_y));
        let moved = Vec2x4::new(p_b_x, p_b_y) - Vec2x4::new(p_a_x, p_a_y);
        let between = block.between + (moved + (turned(turn_b, block.r_b) - turned(turn_a, block.r_a)));
        Self {
            arm_a: rotate(turn_a, block.r_a) + between,
            arm_b: rotate(turn_b, block.r_b),
            between,
            axis: rotate(turn_a, block.axis),
            angle: block.angle,
            turn_a,
            turn_b,
        }
    }

    #[inline(always)]
    fn direction(&self, geometry: u32) -> Vec2x4 {
        let zero = f32x4::splat(0.0);
        match geometry {
            ROW_AXIS => self.axis,
            ROW_ACROSS => Vec2x4::new(-self.axis.y, self.axis.x),
            ROW_ALONG => {
                let length = self.between.length();
                let up = Vec2x4::new(zero, f32x4::splat(1.0));
                (self.between / length).where_else(length.simd_gt(zero), up)
            }
            _ => Vec2x4::new(zero, zero),
        }
    }

    #[inline(always)]
    fn position(&self, geometry: u32, direction: Vec2x4) -> f32x4 {
        match geometry {
            ROW_ANGLE => self.angle + angle_of(inv_rotate(self.turn_a, self.turn_b)),
            ROW_ALONG => self.between.length(),
            _ => self.between.dot(direction),
        }
    }
}

struct Motion {
    v_a: Vec2x4,
    w_a: f32x4,
    v_b: Vec2x4,
    w_b: f32x4,
}

impl Motion {
    #[inline(always)]
    fn velocity(&self, stance: &Stance) -> Vec2x4 {
        (self.v_b + cross_scalar(self.w_b, stance.arm_b)) - (self.v_a + cross_scalar(self.w_a, stance.arm_a))
    }

    #[inline(always)]
    fn apply(&mut self, block: &JointBlock, stance: &Stance, impulse: Vec2x4, spin: f32x4) {
        self.v_a -= impulse * block.inv_mass_a;
        self.w_a -= block.inv_inertia_a * (cross(stance.arm_a, impulse) + spin);
        self.v_b += impulse * block.inv_mass_b;
        self.w_b += block.inv_inertia_b * (cross(stance.arm_b, impulse) + spin);
    }
}

#[inline(always)]
fn side(rule: &RowBlock) -> f32x4 {
    f32x4::splat(if rule.kind & ROW_ROLE == ROW_UPPER { -1.0 } else { 1.0 })
}

#[inline(always)]
fn inverse_mass(block: &JointBlock, stance: &Stance, geometry: u32, direction: Vec2x4) -> f32x4 {
    if geometry == ROW_ANGLE {
        return block.inv_inertia_a + block.inv_inertia_b;
    }
    let (arm_a, arm_b) = (cross(stance.arm_a, direction), cross(stance.arm_b, direction));
    block.inv_mass_a + block.inv_mass_b + block.inv_inertia_a * arm_a * arm_a + block.inv_inertia_b * arm_b * arm_b
}

/// Four symmetric matrices.
struct Symmetric {
    xx: f32x4,
    xy: f32x4,
    yy: f32x4,
}

#[inline(always)]
fn inverse_point_mass(block: &JointBlock, r_a: Vec2x4, r_b: Vec2x4) -> Symmetric {
    let (i_a, i_b) = (block.inv_inertia_a, block.inv_inertia_b);
    let both = block.inv_mass_a + block.inv_mass_b;
    Symmetric {
        xx: both + i_a * r_a.y * r_a.y + i_b * r_b.y * r_b.y,
        xy: -i_a * r_a.x * r_a.y - i_b * r_b.x * r_b.y,
        yy: both + i_a * r_a.x * r_a.x + i_b * r_b.x * r_b.x,
    }
}

#[inline(always)]
fn solve_symmetric(k: &Symmetric, b: Vec2x4) -> Vec2x4 {
    let zero = f32x4::splat(0.0);
    let determinant = k.xx * k.yy - k.xy * k.xy;
    let solved = Vec2x4::new(k.yy * b.x - k.xy * b.y, k.xx * b.y - k.xy * b.x) / determinant;
    solved.where_else(determinant.simd_gt(zero), Vec2x4::new(zero, zero))
}

#[inline(always)]
fn spring(params: &Params, rule: &RowBlock, k: f32x4, stated: f32x4) -> (f32x4, f32x4) {
    let (zero, one, h) = (f32x4::splat(0.0), f32x4::splat(1.0), f32x4::splat(params.h));
    let mut scale = one;
    if rule.kind & ROW_BY_MASS != 0 {
        scale = stated.simd_gt(zero).bitselect(one / stated, zero);
    }
    let (mut stiffness, damping) = (rule.softness[0] * scale, rule.softness[1] * scale);
    let mut swing = stiffness * h * h * k;
    let most = f32x4::splat(MAX_SWING);
    let stiff = swing.simd_gt(most);
    stiffness = stiff.bitselect(stiffness * (most / swing), stiffness);
    swing = stiff.bitselect(most, swing);
    let theta = f32x4::splat(0.5) - f32x4::splat(0.125) / swing;
    let theta = swing.simd_gt(f32x4::splat(0.25)).bitselect(theta, zero);
    (stiffness, h * (damping + theta * h * stiffness))
}

#[inline(always)]
fn solve_row(
    params: &Params,
    flags: u32,
    block: &JointBlock,
    rule: &RowBlock,
    stance: &Stance,
    direction: Vec2x4,
    motion: &Motion,
    old: f32x4,
) -> f32x4 {
    let (zero, one, h) = (f32x4::splat(0.0), f32x4::splat(1.0), f32x4::splat(params.h));
    let geometry = rule.kind & ROW_GEOMETRY;
    let role = rule.kind & ROW_ROLE;
    let k = inverse_mass(block, stance, geometry, direction);
    let mass = k.simd_gt(zero).bitselect(one / k, zero);
    let sign = side(rule);
    let velocity = if geometry == ROW_ANGLE {
        sign * (motion.w_b - motion.w_a)
    } else {
        sign * motion.velocity(stance).dot(direction)
    };
    let limit = role == ROW_LOWER || role == ROW_UPPER;
    let wanted = if role == ROW_MOTOR {
        -mass * (velocity - rule.goal)
    } else {
        let error = sign * (stance.position(geometry, direction) - rule.goal);
        if role == ROW_SPRING {
            let (stiffness, a) = spring(params, rule, k, k);
            -(h * stiffness * error + a * velocity + old) / (one + a * k)
        } else {
            let touching = if flags & USE_BIAS != 0 {
                let [bias_rate, mass_scale, impulse_scale] = rule.softness;
                -mass * mass_scale * (velocity + bias_rate * error) - impulse_scale * old
            } else {
                -mass * velocity
            };
            if limit { error.simd_gt(zero).bitselect(-mass * (velocity + error / h), touching) } else { touching }
        }
    };
    let low = if limit { zero } else { -rule.max_impulse };
    if params.switches & ACCUMULATE != 0 {
        clamped(old + wanted, low, rule.max_impulse)
    } else {
        old + clamped(wanted, low, rule.max_impulse)
    }
}

#[inline(always)]
fn solve_point(
    params: &Params,
    flags: u32,
    block: &JointBlock,
    rule: &RowBlock,
    stance: &Stance,
    motion: &Motion,
    old: Vec2x4,
) -> Vec2x4 {
    let k = inverse_point_mass(block, stance.arm_a, stance.arm_b);
    let velocity = motion.velocity(stance);
    let wanted = if rule.kind & ROW_ROLE == ROW_SPRING {
        let met = inverse_point_mass(block, stance.arm_a - stance.between, stance.arm_b);
        let (half, one) = (f32x4::splat(0.5), f32x4::splat(1.0));
        let (stiffness, a) = spring(params, rule, half * (k.xx + k.yy), half * (met.xx + met.yy));
        let damped = Symmetric { xx: one + a * k.xx, xy: a * k.xy, yy: one + a * k.yy };
        -solve_symmetric(&damped, stance.between * (f32x4::splat(params.h) * stiffness) + velocity * a + old)
    } else if flags & USE_BIAS != 0 {
        let [bias_rate, mass_scale, impulse_scale] = rule.softness;
        -solve_symmetric(&k, velocity + stance.between * bias_rate) * mass_scale - old * impulse_scale
    } else {
        -solve_symmetric(&k, velocity)
    };
    if params.switches & ACCUMULATE != 0 {
        shortened(old + wanted, rule.max_impulse)
    } else {
        old + shortened(wanted, rule.max_impulse)
    }
}

#[inline(always)]
fn shortened(v: Vec2x4, most: f32x4) -> Vec2x4 {
    let length = v.length();
    let long = length.simd_gt(most);
    // Hardly any is: without the branch all would wait for a root and a division.
    if long.any() { (v * (most / length)).where_else(long, v) } else { v }
}

#[inline(always)]
fn total(rows: &[RowBlock], joint_impulses: &Rows<[f32; 2], 1>, stance: &Stance) -> (Vec2x4, f32x4) {
    let zero = f32x4::splat(0.0);
    let (mut impulse, mut spin) = (Vec2x4::new(zero, zero), zero);
    for rule in rows {
        let part = impulses(rule, joint_impulses);
        match rule.kind & ROW_GEOMETRY {
            ROW_POINT => impulse += rotate(stance.axis, part),
            ROW_ANGLE => spin += side(rule) * part.x,
            geometry => impulse += stance.direction(geometry) * (side(rule) * part.x),
        }
    }
    (impulse, spin)
}

#[inline(always)]
fn accumulate(
    block: &JointBlock,
    rows: &[RowBlock],
    joint_impulses: &Rows<[f32; 2], 1>,
    stance: &Stance,
    share: f32,
    accumulators: &Rows<Accumulator, 2>,
) {
    let (impulse, spin) = total(rows, joint_impulses, stance);
    add_up(block, stance, impulse, spin, share, accumulators);
}

/// Adds a share of what impulses do to the velocities of the bodies.
#[inline(always)]
fn add_up(
    block: &JointBlock,
    stance: &Stance,
    impulse: Vec2x4,
    spin: f32x4,
    share: f32,
    accumulators: &Rows<Accumulator, 2>,
) {
    let (zero, share) = (f32x4::splat(0.0), f32x4::splat(share));
    let (impulse, spin) = (impulse * share, spin * share);
    let (push_a, push_b) = (impulse * block.inv_mass_a, impulse * block.inv_mass_b);
    let turn_a = block.inv_inertia_a * (cross(stance.arm_a, impulse) + spin);
    let turn_b = block.inv_inertia_b * (cross(stance.arm_b, impulse) + spin);
    let rows_a = f32x4::transpose([push_a.x, push_a.y, turn_a, zero]);
    let rows_b = f32x4::transpose([push_b.x, push_b.y, turn_b, zero]);
    let all_move = all_move(block);
    for lane in 0..WIDTH {
        if all_move || block.flags[lane] & JOINT_FIXED_A == 0 {
            let sum = accumulators.row(block.body_a[lane] as usize);
            sum.set_lanes(0, sum.lanes(0) - rows_a[lane]);
        }
        if all_move || block.flags[lane] & JOINT_FIXED_B == 0 {
            let sum = accumulators.row(block.body_b[lane] as usize);
            sum.set_lanes(0, sum.lanes(0) + rows_b[lane]);
        }
    }
}
