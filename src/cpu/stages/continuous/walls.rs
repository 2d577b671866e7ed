//! Few shapes that can stop anybody, as the ground and walls of a scene are: a body looks at each of those, and not into the
//! grid. What it stops at is the same, as the device finds it there.

use glam::Vec2;

use crate::math::{inv_rotate, mul_rotation, rotate};
use crate::stages::continuous::{CORE, Motion, STOP_SHARE, STOP_TOLERANCE, Size, TOUCH};
use crate::threads::Rows;
use crate::types::{
    BOX, BodyState, FIXED_SHAPE, GEOMETRY_MASK, NONE, POLYGON, Params, Pose, Shape, VERTEX_COUNT_SHIFT,
};

/// Shapes up to which it is quicker to look at each that may stop a body than to look for them.
pub(super) const MOST_WALLS: usize = 16;

/// A shape that may stop bodies, and what of it does not depend on who they are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wall {
    pub shape: u32,
    /// Where it lies in the grid.
    pub cell: u32,
    /// Of its body, m.
    position: Vec2,
    /// From there to the middle of the shape, m.
    offset: Vec2,
    /// How the shape is turned in the world.
    frame: Vec2,
    /// Half the size of a box that has it within `radius`, m.
    half: Vec2,
    radius: f32,
    /// How far its body moves, m, and how far it turns, rad.
    moved: f32,
    rate: f32,
}

/// What of a body that is swept does not depend on what it may meet.
pub(super) struct Travel {
    base: Vec2,
    /// From there to the middle of the shape, m.
    offset: Vec2,
    /// How near it has to be to be looked at, if nothing moved.
    reach: f32,
    moved: f32,
    rate: f32,
    arm: f32,
    bound: f32,
}

impl Travel {
    pub fn new(params: &Params, size: &Size, base: Vec2, motion: &Motion, shape: &Shape) -> Self {
        let offset = Vec2::from(shape.offset);
        let least = params.speculative_distance * STOP_SHARE * (1.0 + TOUCH * STOP_TOLERANCE);
        Self {
            base,
            offset: rotate(motion.rotation, offset),
            reach: shape.bound + size.half * CORE + least,
            moved: motion.moved.length(),
            rate: motion.rates().0.abs(),
            arm: offset.length() + shape.bound,
            bound: shape.bound,
        }
    }
}

impl Wall {
    fn new(shape: &Shape, index: u32, cell: u32, vertices: &[[f32; 2]], pose: &Pose, state: &BodyState) -> Self {
        let motion = Motion::new(pose.position.into(), pose, state);
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
            offset,
            frame,
            half,
            radius,
            moved: motion.moved.length(),
            rate: motion.rates().0.abs(),
        }
    }

    /// Whether [`far_apart`] would say so, by bounds on its terms that cost less.
    #[inline]
    pub fn is_beyond(&self, travel: &Travel) -> bool {
        let between = travel.base - self.position;
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

/// Shapes that may stop bodies, kept from step to step.
#[derive(Debug, Default)]
pub struct Walls {
    /// Which they are, once they were looked for; one more than there may be if they are many.
    shapes: Vec<u32>,
    known: bool,
    pub(super) now: Vec<Wall>,
}

impl Walls {
    /// Shapes have changed.
    pub fn forget(&mut self) {
        self.known = false;
    }

    /// Takes them as they are in this step. Returns false if there are too many to look at each.
    pub fn take(
        &mut self,
        shapes: &[Shape],
        vertices: &[[f32; 2]],
        cells: &[u32],
        poses: &[Pose],
        states: &Rows<BodyState, 4>,
    ) -> bool {
        if !std::mem::replace(&mut self.known, true) {
            self.shapes.clear();
            let stop = (0..).zip(shapes).filter(|(_, shape)| shape.kind & FIXED_SHAPE != 0).map(|(index, _)| index);
            self.shapes.extend(stop.take(MOST_WALLS + 1));
        }
        if self.shapes.len() > MOST_WALLS {
            return false;
        }
        let there = self.shapes.iter().filter(|&&index| cells[index as usize] != NONE);
        self.now.clear();
        self.now.extend(there.map(|&index| {
            let shape = &shapes[index as usize];
            let body = shape.body as usize;
            Wall::new(shape, index, cells[index as usize], vertices, &poses[body], &states.get(body))
        }));
        true
    }
}
