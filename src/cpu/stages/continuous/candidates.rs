//! Continuous collision of moving bodies with a few fixed shapes, such as the ground and the walls of a scene: tests
//! them one by one instead of searching the grid. The stops are the same as those that the GPU finds through the grid.

use glam::Vec2;

use crate::cpu::BodyTables;
use crate::math::{inv_rotate, mul_rotation, rotate};
use crate::scene::Compiled;
use crate::stages::continuous::{CORE, STOP_SHARE, STOP_TOLERANCE, Size, SweepMotion, TOUCH};
use crate::types::{
    BOX, BodyState, FIXED_SHAPE, GEOMETRY_MASK, NONE, POLYGON, Params, Pose, ShapeData, VERTEX_COUNT_SHIFT,
};

/// Number of fixed shapes up to which testing each is faster than a search of the grid.
pub(super) const MAX_CANDIDATES: usize = 16;

/// Fixed shape that can stop bodies, with everything about it that does not depend on the body.
#[derive(Clone, Copy, Debug)]
pub(super) struct CcdCandidate {
    pub shape: u32,
    /// Grid cell of the shape.
    pub cell: u32,
    /// Centre of mass of its body ([`Pose::position`], [`Pose::low`]), m.
    position: Vec2,
    low: Vec2,
    /// Vector from there to the middle of the shape, m.
    offset: Vec2,
    /// Rotation of the shape in the world.
    frame: Vec2,
    /// Half the size of a box, in that frame, that contains the shape up to `radius`, m.
    half: Vec2,
    radius: f32,
    /// Motion of its body in the step, m, and its rotation, rad.
    moved: f32,
    rate: f32,
}

/// Shape of a swept body, with everything about its motion that does not depend on the wall.
pub(super) struct Travel {
    base: Pose,
    /// Vector from there to the middle of the shape, m.
    offset: Vec2,
    /// Distance below which a wall must be examined if nothing moved, m.
    reach: f32,
    moved: f32,
    rate: f32,
    arm: f32,
    bound: f32,
}

impl Travel {
    pub fn new(params: &Params, size: &Size, base: &Pose, motion: &SweepMotion, shape: &ShapeData) -> Self {
        let offset = Vec2::from(shape.offset);
        let least = params.speculative_distance * STOP_SHARE * (1.0 + TOUCH * STOP_TOLERANCE);
        Self {
            base: *base,
            offset: rotate(motion.rotation, offset),
            reach: shape.bound + size.half * CORE + least,
            moved: motion.moved.length(),
            rate: motion.rates().0.abs(),
            arm: offset.length() + shape.bound,
            bound: shape.bound,
        }
    }
}

impl CcdCandidate {
    fn new(shape: &ShapeData, index: u32, cell: u32, vertices: &[[f32; 2]], pose: &Pose, state: &BodyState) -> Self {
        let motion = SweepMotion::new(pose, pose, state);
        let mut frame = mul_rotation(motion.rotation, shape.rotation.into());
        let mut offset = rotate(motion.rotation, shape.offset.into());
        let (half, radius) = match (shape.kind & GEOMETRY_MASK, &vertices[shape.first_vertex as usize..]) {
            (BOX, _) => (shape.half.into(), shape.radius),
            (POLYGON, &[start, end, ..]) if shape.kind >> VERTEX_COUNT_SHIFT & 0xf == 2 => {
                let (start, end) = (Vec2::from(start), Vec2::from(end));
                offset += rotate(frame, 0.5 * (start + end));
                frame = mul_rotation(frame, (end - start).normalize_or(Vec2::X));
                (Vec2::new(0.5 * (end - start).length(), 0.0), shape.radius)
            }
            _ => (Vec2::ZERO, shape.bound),
        };
        Self {
            shape: index,
            cell,
            position: pose.position.into(),
            low: pose.low.into(),
            offset,
            frame,
            half,
            radius,
            moved: motion.moved.length(),
            rate: motion.rates().0.abs(),
        }
    }

    /// Returns true only if [`far_apart`] does, by bounds on its terms that cost less.
    #[inline]
    pub fn is_beyond(&self, travel: &Travel) -> bool {
        let Pose { position, low, .. } = travel.base;
        let between = (Vec2::from(position) - self.position) + (Vec2::from(low) - self.low);
        let at = inv_rotate(self.frame, between + travel.offset - self.offset);
        let away = (at.abs() - self.half).max(Vec2::ZERO);
        let distance = between.abs().element_sum();
        let velocity = travel.moved + self.moved;
        let apart = distance + velocity;
        let fastest = velocity
            + 2.0 * self.rate * (apart + velocity)
            + self.rate * self.rate * apart
            + (travel.rate + self.rate) * travel.arm;
        let least = travel.reach + self.radius + 1.01 * fastest + 1e-3 * (distance + travel.bound);
        away.length_squared() > 1.001 * least * least
    }
}

/// Fixed shapes of the world, kept from step to step.
#[derive(Debug, Default)]
pub struct CcdCandidates {
    /// Indices of the fixed shapes, if `known`; at most one more than [`MAX_CANDIDATES`].
    shapes: Vec<u32>,
    known: bool,
    pub(super) now: Vec<CcdCandidate>,
}

impl CcdCandidates {
    /// Invalidates the list after shapes have changed.
    pub fn forget(&mut self) {
        self.known = false;
    }

    /// Updates the walls to this step. Returns false if there are too many to test each.
    pub fn update(&mut self, compiled: &Compiled, cells: &[u32], tables: &BodyTables) -> bool {
        let Compiled { shapes, vertices, .. } = compiled;
        let BodyTables { poses, states, .. } = tables;
        if !std::mem::replace(&mut self.known, true) {
            self.shapes.clear();
            let stop = (0..).zip(shapes).filter(|(_, shape)| shape.kind & FIXED_SHAPE != 0).map(|(index, _)| index);
            self.shapes.extend(stop.take(MAX_CANDIDATES + 1));
        }
        if self.shapes.len() > MAX_CANDIDATES {
            return false;
        }
        let there = self.shapes.iter().filter(|&&index| cells[index as usize] != NONE);
        self.now.clear();
        self.now.extend(there.map(|&index| {
            let shape = &shapes[index as usize];
            let body = shape.body as usize;
            CcdCandidate::new(shape, index, cells[index as usize], vertices, &poses[body], &states.get(body))
        }));
        true
    }
}
