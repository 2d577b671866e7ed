//! Body of a tree while the tree is solved: the mass that it shows its parent, and what pushes it.

use glam::Vec2;

use super::Stance;
use crate::math::{cross, cross_scalar};
use crate::types::{TREE_CHILD_A, TreeRow};

/// A hinge as the elimination sees it.
pub(super) struct HingeArms {
    /// Lever arm on the body on the side of the leaves, m.
    child: Vec2,
    /// Lever arm on the body on the side of the root, m.
    parent: Vec2,
    /// 1 if the child is B, −1 if it is A.
    pub side: f32,
}

impl HingeArms {
    pub(super) fn new(joint: u32, stance: &Stance) -> Self {
        if joint & TREE_CHILD_A != 0 {
            Self { child: stance.arm_a, parent: stance.arm_b, side: -1.0 }
        } else {
            Self { child: stance.arm_b, parent: stance.arm_a, side: 1.0 }
        }
    }

    /// Returns the lever arm of the child's point of reference on the parent, m.
    fn on_parent(&self, child: &TreeRow) -> Vec2 {
        Vec2::from(child.at) + (self.parent - self.child)
    }
}

impl TreeRow {
    /// Takes mass and inertia from what a hinge sees of the body.
    pub(super) fn see(&mut self, [inv_mass, inv_inertia]: [f32; 2]) {
        self.mass = 1.0 / inv_mass;
        self.inv_inertia = self.inv_inertia.min(inv_inertia);
    }

    /// Adds the body's own mass to what its children add to it, and replaces the sum by its factors: the inverse pivots
    /// in the places of the diagonal.
    pub(super) fn factor(&mut self) {
        let (mass, at) = (self.mass, Vec2::from(self.at));
        let [xx, xy, xw, yy, yw, ww] = self.matrix;
        let (xw, yw) = (xw + mass * at.y, yw - mass * at.x);
        let first = mass + xx;
        let (to_y, to_w) = (xy / first, xw / first);
        let second = (mass + (yy - to_y * xy)).max(mass);
        let mixed = yw - to_y * xw;
        let across = mixed / second;
        let felt = ((ww + mass * at.length_squared()) - to_w * xw) - across * mixed;
        // An infinite inertia has the inverse 0.
        let third = self.inv_inertia / (1.0 + self.inv_inertia * felt.max(0.0));
        self.matrix = [1.0 / first, to_y, to_w, 1.0 / second, across, third];
    }

    /// Adds the body's own mass to what its children add to it.
    fn gather(&mut self) {
        let (mass, at) = (self.mass, Vec2::from(self.at));
        let [xx, xy, xw, yy, yw, ww] = self.matrix;
        let turn = ww + (mass * at.length_squared() + 1.0 / self.inv_inertia);
        self.matrix = [mass + xx, xy, xw + mass * at.y, mass + yy, yw - mass * at.x, turn];
    }

    /// Shows the parent the mass of a body on a hinge, with the missing velocity of the anchor.
    pub(super) fn show_hinge(&mut self, parent: Option<&mut Self>, hinge: &HingeArms, missing: Vec2) {
        self.factor();
        let arm = hinge.child - Vec2::from(self.at);
        let (of_x, of_y) = (self.answer([1.0, 0.0, -arm.y]), self.answer([0.0, 1.0, arm.x]));
        let xx = of_x[0] - arm.y * of_x[2];
        let xy = of_y[0] - arm.y * of_y[2];
        let yy = of_y[1] + arm.x * of_y[2];
        self.inverse = inverse_of([xx, xy, yy]);
        let rest = missing - self.velocity_at(self.answer(self.push), hinge.child);
        self.rest = [rest.x, rest.y, 0.0];
        if let Some(parent) = parent {
            parent.load(self.inverse, hinge.parent);
            parent.push_at(-apply(self.inverse, rest), hinge.parent);
        }
    }

    /// Shows the parent the mass of a body on a weld: all of it, and what its missing velocity and its children push.
    pub(super) fn show_weld(&mut self, parent: Option<&mut Self>, hinge: &HingeArms, missing: Vec2, spin: f32) {
        self.gather();
        let at = missing + cross_scalar(spin, Vec2::from(self.at) - hinge.child);
        self.rest = [at.x, at.y, spin];
        if let Some(parent) = parent {
            let ([x, y, turn], push) = (times(&self.matrix, self.rest), self.push);
            let push = [push[0] - x, push[1] - y, push[2] - turn];
            parent.load_at(self.matrix, push, hinge.on_parent(self));
        }
    }

    /// Shows the parent the mass of a body on a slider: that across it, and against turning.
    pub(super) fn show_slider(
        &mut self,
        parent: Option<&mut Self>,
        hinge: &HingeArms,
        across: Vec2,
        missing: [f32; 2],
    ) {
        self.factor();
        let [velocity, spin] = missing;
        let velocity = velocity + across.dot(cross_scalar(spin, Vec2::from(self.at) - hinge.child));
        let (pushed, turned) = (self.answer([across.x, across.y, 0.0]), self.answer([0.0, 0.0, 1.0]));
        let mass = inverse_of([across.dot(Vec2::new(pushed[0], pushed[1])), pushed[2], turned[2]]);
        let [x, y, turn] = self.answer(self.push);
        let rest = Vec2::new(velocity - across.dot(Vec2::new(x, y)), spin - turn);
        (self.inverse, self.rest) = (mass, [rest.x, rest.y, 0.0]);
        if let Some(parent) = parent {
            let [both, mixed, turning] = mass;
            let by = across * both;
            let shown =
                [across.x * by.x, across.x * by.y, across.x * mixed, across.y * by.y, across.y * mixed, turning];
            let impulse = -apply(mass, rest);
            let push = [across.x * impulse.x, across.y * impulse.x, impulse.y];
            parent.load_at(shown, push, hinge.on_parent(self));
        }
    }

    /// Adds the impulse of the hinge to the parent to the push, and returns it, N·s.
    pub(super) fn pull_hinge(&mut self, parent: Option<&Self>, hinge: &HingeArms) -> Vec2 {
        let [x, y, _] = self.rest;
        let mut missing = Vec2::new(x, y);
        if let Some(parent) = parent {
            missing += parent.velocity_at(parent.push, hinge.parent);
        }
        let impulse = apply(self.inverse, missing);
        self.push_at(impulse, hinge.child);
        impulse
    }

    /// Replaces the push by the motion of a body that follows its parent. Returns impulse and angular impulse of the
    /// weld, N·s and N·m·s.
    pub(super) fn pull_weld(&mut self, parent: Option<&Self>, hinge: &HingeArms) -> (Vec2, f32) {
        let [mut x, mut y, mut turn] = self.rest;
        if let Some(parent) = parent {
            let moved = parent.velocity_at(parent.push, hinge.on_parent(self));
            (x, y, turn) = (x + moved.x, y + moved.y, turn + parent.push[2]);
        }
        let [on_x, on_y, on_turn] = times(&self.matrix, [x, y, turn]);
        let [push_x, push_y, push_turn] = self.push;
        self.push = [x, y, turn];
        let impulse = Vec2::new(on_x - push_x, on_y - push_y);
        (impulse, (on_turn - push_turn) + cross(Vec2::from(self.at) - hinge.child, impulse))
    }

    /// Adds the impulse of the slider to the push. Returns it, across the slider, N·s, and its angular impulse, N·m·s.
    pub(super) fn pull_slider(&mut self, parent: Option<&Self>, hinge: &HingeArms, across: Vec2) -> [f32; 2] {
        let [x, y, _] = self.rest;
        let mut missing = Vec2::new(x, y);
        if let Some(parent) = parent {
            let moved = parent.velocity_at(parent.push, hinge.on_parent(self));
            missing += Vec2::new(across.dot(moved), parent.push[2]);
        }
        let size = apply(self.inverse, missing);
        let impulse = across * size.x;
        let [push_x, push_y, push_turn] = self.push;
        self.push = [push_x + impulse.x, push_y + impulse.y, push_turn + size.y];
        [size.x, size.y + cross(Vec2::from(self.at) - hinge.child, impulse)]
    }

    /// Returns the change of velocity by a push, given the factors. Both are those of the point of reference.
    pub(super) fn answer(&self, [x, y, turn]: [f32; 3]) -> [f32; 3] {
        let [first, to_y, to_w, second, across, third] = self.matrix;
        let y_alone = y - to_y * x;
        let turned = third * ((turn - to_w * x) - across * y_alone);
        let moved_y = second * y_alone - across * turned;
        let moved_x = (first * x - to_y * moved_y) - to_w * turned;
        [moved_x, moved_y, turned]
    }

    /// Adds an impulse at a lever arm.
    fn push_at(&mut self, impulse: Vec2, arm: Vec2) {
        let turn = cross(arm - Vec2::from(self.at), impulse);
        self.push = [self.push[0] + impulse.x, self.push[1] + impulse.y, self.push[2] + turn];
    }

    /// Adds the mass that a child shows at a lever arm. The largest decides the point of reference: seen from another
    /// point, the small inertia of a light body about a heavy one would be the difference of large numbers.
    fn load(&mut self, [xx, xy, yy]: [f32; 3], arm: Vec2) {
        if xx + yy > self.most {
            self.most = xx + yy;
            self.refer_to(arm);
        }
        let arm = arm - Vec2::from(self.at);
        let (of_x, of_y) = (arm.x * xy - arm.y * xx, arm.x * yy - arm.y * xy);
        let matrix = &mut self.matrix;
        matrix[0] += xx;
        matrix[1] += xy;
        matrix[2] += of_x;
        matrix[3] += yy;
        matrix[4] += of_y;
        matrix[5] += arm.x * of_y - arm.y * of_x;
    }

    /// Adds the mass that a child shows at a lever arm, with moments, and its push.
    fn load_at(&mut self, shown: [f32; 6], [x, y, turn]: [f32; 3], arm: Vec2) {
        let [xx, _, _, yy, ..] = shown;
        if xx + yy > self.most {
            self.most = xx + yy;
            self.refer_to(arm);
        }
        let added = seen_from(shown, Vec2::from(self.at) - arm);
        self.matrix.iter_mut().zip(added).for_each(|(sum, part)| *sum += part);
        self.push_at(Vec2::new(x, y), arm);
        self.push[2] += turn;
    }

    /// Moves the point of reference.
    fn refer_to(&mut self, at: Vec2) {
        let by = at - Vec2::from(self.at);
        self.matrix = seen_from(self.matrix, by);
        let [x, y, spin] = self.push;
        self.push = [x, y, spin - cross(by, Vec2::new(x, y))];
        self.at = at.into();
    }

    /// Returns the velocity of a point at a lever arm, given that of the point of reference.
    pub(super) fn velocity_at(&self, [x, y, turn]: [f32; 3], arm: Vec2) -> Vec2 {
        let arm = arm - Vec2::from(self.at);
        Vec2::new(x - turn * arm.y, y + turn * arm.x)
    }
}

/// Returns a mass, as [`TreeRow::matrix`], for a point of reference that is elsewhere by a vector, m.
fn seen_from([xx, xy, xw, yy, yw, ww]: [f32; 6], by: Vec2) -> [f32; 6] {
    let (of_x, of_y) = (xx * by.y - xy * by.x, xy * by.y - yy * by.x);
    let turn = ww + 2.0 * (xw * by.y - yw * by.x) + (of_x * by.y - of_y * by.x);
    [xx, xy, xw + of_x, yy, yw + of_y, turn]
}

/// Returns a mass times a velocity.
fn times(&[xx, xy, xw, yy, yw, ww]: &[f32; 6], [x, y, turn]: [f32; 3]) -> [f32; 3] {
    [xx * x + xy * y + xw * turn, xy * x + yy * y + yw * turn, xw * x + yw * y + ww * turn]
}

/// Returns the inverse of a symmetric matrix; 0 if it has none.
fn inverse_of([xx, xy, yy]: [f32; 3]) -> [f32; 3] {
    let determinant = xx * yy - xy * xy;
    if determinant > 0.0 { [yy / determinant, -xy / determinant, xx / determinant] } else { [0.0; 3] }
}

/// Returns a symmetric matrix times a vector.
fn apply([xx, xy, yy]: [f32; 3], v: Vec2) -> Vec2 {
    Vec2::new(xx * v.x + xy * v.y, xy * v.x + yy * v.y)
}
