//! Geometry of eight joints: the fast form of [`Stance`](crate::stages::solve_joints::Stance).

use super::{StateLanes, load, side};
use crate::constants::MIN_LENGTH;
use crate::cpu::joint_blocks::{JointBlock, RowBlock};
use crate::lanes::{Select, Simd, SimdBase, SimdMask, Vec2x8, angle_of, f32x8, inv_rotate, rotate, turned};
use crate::threads::Halves;
use crate::types::{
    ROW_ACROSS, ROW_ALONG, ROW_ANGLE, ROW_AXIS, ROW_EQUALITY, ROW_GEOMETRY, ROW_POINT, ROW_PULLEY, ROW_ROLE,
};

pub(super) struct StanceLanes<S: Simd> {
    pub arm_a: Vec2x8<S>,
    pub arm_b: Vec2x8<S>,
    pub between: Vec2x8<S>,
    pub axis: Vec2x8<S>,
    pub angle: f32x8<S>,
    pub turn_a: Vec2x8<S>,
    pub turn_b: Vec2x8<S>,
    pub ratio: f32x8<S>,
}

impl<S: Simd> StanceLanes<S> {
    #[inline(always)]
    pub fn new(simd: S, block: &JointBlock, bodies: StateLanes<impl Halves>) -> Self {
        let [[p_a_x, p_a_y, q_a_x, q_a_y], [p_b_x, p_b_y, q_b_x, q_b_y]] = bodies.half(simd, block, 1);
        let (turn_a, turn_b) = (Vec2x8::new(q_a_x, q_a_y), Vec2x8::new(q_b_x, q_b_y));
        let moved = Vec2x8::new(p_b_x, p_b_y) - Vec2x8::new(p_a_x, p_a_y);
        let (r_a, r_b) = (block.r_a.on(simd), block.r_b.on(simd));
        let between = block.between.on(simd) + (moved + (turned(turn_b, r_b) - turned(turn_a, r_a)));
        Self {
            arm_a: rotate(turn_a, r_a) + between,
            arm_b: rotate(turn_b, r_b),
            between,
            axis: rotate(turn_a, block.axis.on(simd)),
            angle: block.angle.on(simd),
            turn_a,
            turn_b,
            ratio: block.ratio.on(simd),
        }
    }

    /// As [`Self::new`], also for a block of pulleys, which `rows` tell.
    #[inline(always)]
    pub fn of_rows(simd: S, block: &JointBlock, rows: &[RowBlock], bodies: StateLanes<impl Halves>) -> Self {
        let stance = Self::new(simd, block, bodies);
        if rows.first().is_none_or(|rule| rule.kind & ROW_GEOMETRY != ROW_PULLEY) {
            return stance;
        }
        let [[p_a_x, p_a_y, ..], [p_b_x, p_b_y, ..]] = bodies.half(simd, block, 1);
        let (r_a, r_b) = (block.r_a.on(simd), block.r_b.on(simd));
        let between = block.between.on(simd) + (Vec2x8::new(p_b_x, p_b_y) + turned(stance.turn_b, r_b));
        let axis = block.axis.on(simd) + (Vec2x8::new(p_a_x, p_a_y) + turned(stance.turn_a, r_a));
        Self { arm_a: rotate(stance.turn_a, r_a), between, axis, ..stance }
    }

    #[inline(always)]
    pub fn direction(&self, geometry: u32) -> Vec2x8<S> {
        let simd = self.angle.simd;
        match geometry {
            ROW_AXIS => self.axis,
            ROW_ACROSS => Vec2x8::new(-self.axis.y, self.axis.x),
            ROW_ALONG => line(self.between),
            ROW_PULLEY => rope(self.between) * self.ratio,
            _ => Vec2x8::zero(simd),
        }
    }

    #[inline(always)]
    pub fn on_a(&self, geometry: u32, size: f32x8<S>, on_b: Vec2x8<S>) -> Vec2x8<S> {
        if geometry == ROW_PULLEY { rope(self.axis) * -size } else { on_b }
    }

    #[inline(always)]
    pub fn position(&self, geometry: u32, direction: Vec2x8<S>) -> f32x8<S> {
        match geometry {
            ROW_ANGLE => {
                let angle = self.angle + angle_of(inv_rotate(self.turn_a, self.turn_b));
                let counts_otherwise = !self.ratio.simd_eq(1.0);
                // Hardly any joint is a gear.
                if !counts_otherwise.any_true() {
                    return angle;
                }
                let geared = self.angle + (angle_of(self.turn_b) - self.ratio * angle_of(self.turn_a));
                counts_otherwise.select(geared, angle)
            }
            ROW_ALONG => self.between.length(),
            ROW_PULLEY => self.axis.length() + self.ratio * self.between.length(),
            _ => self.between.dot(direction),
        }
    }
}

/// Returns the direction from anchor to anchor; up where they coincide.
#[inline(always)]
fn line<S: Simd>(between: Vec2x8<S>) -> Vec2x8<S> {
    let length = between.length();
    let up = Vec2x8::new(f32x8::splat(length.simd, 0.0), f32x8::splat(length.simd, 1.0));
    (between / length).where_else(length.simd_gt(0.0), up)
}

#[inline(always)]
pub(super) fn rope<S: Simd>(line: Vec2x8<S>) -> Vec2x8<S> {
    let length = line.length();
    (line / length).where_else(length.simd_gt(MIN_LENGTH), Vec2x8::zero(length.simd))
}

/// As [`tension`](crate::stages::prepare_joints::tension), for eight joints.
#[inline(always)]
pub(in crate::cpu) fn tension<S: Simd, R: Halves>(
    simd: S,
    rows: &[RowBlock],
    impulses: &impl Fn(usize) -> R,
    axis: Vec2x8<S>,
    between: Vec2x8<S>,
) -> Vec2x8<S> {
    let mut sum = Vec2x8::zero(simd);
    for (index, rule) in rows.iter().enumerate() {
        match rule.kind & ROW_GEOMETRY {
            ROW_POINT => sum += rotate(axis, load(simd, impulses(index))),
            ROW_ALONG => sum += line(between) * (load(simd, impulses(index)).x * side(rule)),
            ROW_ANGLE if rule.kind & ROW_ROLE == ROW_EQUALITY => return Vec2x8::zero(simd),
            _ => {}
        }
    }
    sum
}
