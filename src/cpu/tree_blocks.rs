//! Trees of hinges as structs of arrays: a block holds eight trees of one form, one per SIMD lane.
//!
//! The hinges at one place of the trees are a block of joints, and their bodies a row of the tables here. Trees have
//! one form if the same bodies hang on the same others, by the same side and with the same kinds of rows: worlds of one
//! kind that step together, or ragdolls of one kind. A tree without another of its form has a block of its own, which
//! is still faster than one joint at a time. A tree with a weld or a slider, or with a hinge that has no rows to
//! solve, as it is disabled or asleep, stays out: [`Tree`] solves it.

use std::collections::BTreeMap;

use bytemuck::{Pod, Zeroable};

use super::joint_blocks::{JointBlock, RowBlock, likeness};
use crate::constants::FAR;
use crate::lanes::{Lanes, Select, Simd, SimdBase, VecLanes, WIDTH, f32x8};
use crate::stages::solve_joints::rows_of;
use crate::stages::solve_joints::tree::{Tree, is_hinge, trees};
use crate::types::{JointFrame, JointRow, NONE, TREE_CHILD_A};

/// Eight trees of one form.
#[derive(Clone, Copy, Debug)]
pub struct TreeBlock {
    /// First of its bodies, and their number.
    bodies: [usize; 2],
    /// Number of lanes in use.
    used: usize,
}

impl TreeBlock {
    /// Returns the range of its bodies, children before parents.
    #[inline(always)]
    #[must_use]
    pub fn bodies(&self) -> std::ops::Range<usize> {
        self.bodies[0]..self.bodies[0] + self.bodies[1]
    }

    /// Returns true for a lane with a tree.
    #[inline(always)]
    #[must_use]
    pub fn uses(&self, lane: usize) -> bool {
        lane < self.used
    }
}

/// Body of each of eight trees.
#[derive(Clone, Copy, Debug)]
pub struct TreeBody {
    /// Joint block of the hinges to the parents; none for roots without such a hinge.
    pub hinge: Option<usize>,
    /// Parent, among the bodies of all blocks; none if it is fixed.
    pub parent: Option<usize>,
    /// True if these are the bodies A of their hinges.
    pub is_a: bool,
    /// Indices of roots without a hinge.
    roots: [u32; WIDTH],
}

impl TreeBody {
    /// Returns the indices of the bodies; 0 in a lane that is not in use.
    #[inline(always)]
    #[must_use]
    pub fn indices(&self, joints: &[JointBlock]) -> [u32; WIDTH] {
        match self.hinge {
            Some(hinge) if self.is_a => joints[hinge].body_a,
            Some(hinge) => joints[hinge].body_b,
            None => self.roots,
        }
    }
}

/// [`TreeRow`](crate::types::TreeRow) of eight trees, with what their sweep knows of the bodies.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub struct TreeLanes {
    /// Masses, as [`TreeRow::mass`](crate::types::TreeRow::mass).
    pub mass: Lanes,
    /// Least inverse inertias, as [`TreeRow::inv_inertia`](crate::types::TreeRow::inv_inertia).
    pub inv_inertia: Lanes,
    /// Pushes, as [`TreeRow::push`](crate::types::TreeRow::push).
    pub push: [Lanes; 3],
    /// Masses that the bodies show, or their factors, as [`TreeRow::matrix`](crate::types::TreeRow::matrix).
    pub matrix: [Lanes; 6],
    /// Points of reference, as [`TreeRow::at`](crate::types::TreeRow::at).
    pub at: VecLanes,
    /// Largest masses that children add, as [`TreeRow::most`](crate::types::TreeRow::most).
    pub most: Lanes,
    /// Inverse matrices of the hinges, as [`TreeRow::inverse`](crate::types::TreeRow::inverse).
    pub inverse: [Lanes; 3],
    /// Missing velocities of the hinges, as [`TreeRow::rest`](crate::types::TreeRow::rest).
    pub rest: VecLanes,
    /// Velocities of the bodies, m/s.
    pub velocity: VecLanes,
    /// Their angular velocities, rad/s.
    pub spin: Lanes,
    /// Column of their states with the status.
    pub status: Lanes,
    /// Lever arms of the hinges on the bodies, m.
    pub child: VecLanes,
    /// Lever arms of the hinges on their parents, m.
    pub parent: VecLanes,
    /// Vectors between the anchors of the hinges, m.
    pub between: VecLanes,
    /// Axes of the hinges.
    pub axis: VecLanes,
}

/// Trees of a step that are solved side by side.
#[derive(Debug, Default)]
pub struct TreeBlocks {
    blocks: Vec<TreeBlock>,
    bodies: Vec<TreeBody>,
    lanes: Vec<TreeLanes>,
    /// For each tree of the world whether it is solved alone.
    alone: Vec<bool>,
}

/// Body in the form of a tree: its parent and side, and the kinds of the rows of its hinge.
type FormEntry = ([u32; 2], u128);

impl TreeBlocks {
    /// Assigns each tree a block and a lane, and its hinges joint blocks after those that there are.
    pub fn lay_out(
        &mut self,
        joint_starts: &[u32],
        joint_frames: &[JointFrame],
        joint_rows: &[JointRow],
        joints: &mut Vec<JointBlock>,
        rows: &mut Vec<RowBlock>,
    ) {
        self.blocks.clear();
        self.bodies.clear();
        self.alone.clear();
        let mut forms: BTreeMap<Vec<FormEntry>, Vec<Tree>> = BTreeMap::new();
        for tree in trees(joint_starts) {
            let form = form_of(tree, joint_frames, joint_rows);
            self.alone.push(form.is_none());
            if let Some(form) = form {
                forms.entry(form).or_default().push(tree);
            }
        }
        for (form, trees) in &forms {
            for trees in trees.chunks(WIDTH) {
                let first = self.bodies.len();
                self.blocks.push(TreeBlock { bodies: [first, form.len()], used: trees.len() });
                for (place, &([parent, side], _)) in form.iter().enumerate() {
                    let entries = trees.iter().map(|tree| tree.bodies()[place]);
                    let mut body = TreeBody { hinge: None, parent: None, is_a: side != 0, roots: [0; WIDTH] };
                    if let Some([NONE, _]) = entries.clone().next() {
                        body.roots.iter_mut().zip(entries).for_each(|(root, [_, body])| *root = body);
                    } else {
                        let hinges = entries.map(|[joint, _]| joint & !TREE_CHILD_A);
                        let one = hinges.clone().next().map_or(0, |joint| joint as usize);
                        body.parent = (parent != NONE).then(|| first + parent as usize);
                        body.hinge = Some(joints.len());
                        joints.push(JointBlock::of(hinges, &joint_rows[rows_of(&joint_frames[one])], rows));
                    }
                    self.bodies.push(body);
                }
            }
        }
        self.lanes.resize(self.bodies.len(), TreeLanes::zeroed());
    }

    /// Returns true if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Returns the trees that are solved alone.
    pub fn alone<'a>(&'a self, joint_starts: &'a [u32]) -> impl Iterator<Item = Tree<'a>> {
        trees(joint_starts).zip(&self.alone).filter_map(|(tree, &alone)| alone.then_some(tree))
    }

    /// Returns the blocks, the bodies of all, and their lanes.
    pub fn parts(&mut self) -> (&[TreeBlock], &[TreeBody], &mut [TreeLanes]) {
        (&self.blocks, &self.bodies, &mut self.lanes)
    }

    /// Sets mass and inertia of the bodies from what their hinges see of them, as [`Tree`] does for one tree.
    #[inline(always)]
    pub fn weigh<S: Simd>(&mut self, simd: S, joints: &[JointBlock]) {
        let Self { bodies, lanes, .. } = self;
        for body in &mut *lanes {
            body.inv_inertia.put(f32x8::splat(simd, FAR));
        }
        for (at, body) in bodies.iter().enumerate() {
            let Some(hinge) = body.hinge else { continue };
            let joint = &joints[hinge];
            let (a, b) = ([&joint.inv_mass_a, &joint.inv_inertia_a], [&joint.inv_mass_b, &joint.inv_inertia_b]);
            let [child, parent] = if body.is_a { [a, b] } else { [b, a] };
            lanes[at].see(simd, child);
            if let Some(other) = body.parent {
                lanes[other].see(simd, parent);
            }
        }
    }
}

impl TreeLanes {
    #[inline(always)]
    fn see<S: Simd>(&mut self, simd: S, [inv_mass, inv_inertia]: [&Lanes; 2]) {
        self.mass.put(f32x8::splat(simd, 1.0) / inv_mass.on(simd));
        let (least, other) = (self.inv_inertia.on(simd), inv_inertia.on(simd));
        self.inv_inertia.put(least.simd_lt(other).select(least, other));
    }
}

/// Returns the form of a tree; none if it has a weld, a slider, or a hinge without rows to solve.
fn form_of(tree: Tree, joint_frames: &[JointFrame], joint_rows: &[JointRow]) -> Option<Vec<FormEntry>> {
    let place = |&[joint, parent]: &[u32; 2]| {
        if joint == NONE {
            return Some(([NONE, 0], 0));
        }
        let rows = rows_of(&joint_frames[(joint & !TREE_CHILD_A) as usize]);
        let parent = if parent == NONE { NONE } else { tree.place(parent) };
        let rules = &joint_rows[rows];
        is_hinge(rules).then(|| ([parent, joint & TREE_CHILD_A], likeness(rules)))
    };
    tree.bodies().iter().map(place).collect()
}
