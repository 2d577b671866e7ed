//! Which hinges, welds and sliders form trees that are solved exactly ([`crate::stages::solve_joints::tree`]). Where
//! nothing else is said, welds and sliders count as hinges.

use std::collections::VecDeque;

use super::compile::mass::MassProperties;
use crate::constants::{MAX_LOOPS, MAX_TREE, TREE_RATIO};
use crate::stages::solve_joints::tree::is_hinge;
use crate::types::{
    JOINT_VACANT, JointData, JointRow, NONE, ROW_ACROSS, ROW_ANGLE, ROW_COUNT_MASK, ROW_EQUALITY, ROW_GEOMETRY,
    ROW_POINT, ROW_ROLE, TREE_CHILD_A, u32_from,
};

/// A tree of hinges, as [`crate::scene::JointTable::starts`] has it without its place in the table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct JointTree {
    /// For each body, children before parents: the slot of the hinge to its parent, with [`TREE_CHILD_A`], and the
    /// position of the parent in this list, or [`NONE`] if that is fixed; for a root without such a hinge [`NONE`]
    /// and the body.
    pub bodies: Vec<[u32; 2]>,
}

impl JointTree {
    /// Returns the slots of the hinges.
    pub fn joints(&self) -> impl Iterator<Item = u32> + '_ {
        self.bodies.iter().filter(|[joint, _]| *joint != NONE).map(|[joint, _]| joint & !TREE_CHILD_A)
    }
}

/// Hinges between dynamic bodies, and from them to fixed ones.
struct HingeGraph {
    /// Dynamic bodies with a hinge, in ascending order.
    bodies: Vec<u32>,
    /// For each hinge its slot and the positions of A and B in `bodies`, or `None` for a fixed end. By slot.
    ends: Vec<(u32, [Option<usize>; 2])>,
}

/// Returns the trees of a world: a function of its joints and masses alone.
pub(super) fn find_trees(joints: &[JointData], rows: &[JointRow], masses: &[MassProperties]) -> Vec<JointTree> {
    let hinges = HingeGraph::of(joints, rows, masses);
    let mass = |at: usize| masses[hinges.bodies[at] as usize].mass;
    let range = |all: &mut dyn Iterator<Item = usize>| {
        all.map(mass).fold([f32::MAX, 0.0], |[least, most]: [f32; 2], mass| [least.min(mass), most.max(mass)])
    };
    // Nearly no world has bodies of such different masses on hinges.
    let [least, most] = range(&mut (0..hinges.bodies.len()));
    if hinges.bodies.is_empty() || most <= TREE_RATIO * least {
        return Vec::new();
    }
    let mut around = vec![Vec::new(); hinges.bodies.len()];
    for (at, (_, ends)) in hinges.ends.iter().enumerate() {
        ends.iter().flatten().for_each(|&body| around[body].push(at));
    }
    let mut seen = vec![false; hinges.bodies.len()];
    let mut trees = Vec::new();
    for body in 0..hinges.bodies.len() {
        if seen[body] {
            continue;
        }
        let group = hinges.group(body, &around, &mut seen);
        let [least, most] = range(&mut group.iter().copied());
        if most > TREE_RATIO * least && group.len() <= MAX_TREE {
            trees.extend(hinges.tree(&group, &around, mass));
        }
    }
    trees
}

impl HingeGraph {
    fn of(joints: &[JointData], rows: &[JointRow], masses: &[MassProperties]) -> Self {
        // Their moments of inertia are inverted.
        let turns = |body: &u32| masses[*body as usize].inertia.recip().is_normal();
        let turn = |joint: &JointData| joint.moving_ends().iter().flatten().all(turns);
        let chosen: Vec<(u32, [Option<u32>; 2])> = (0_u32..)
            .zip(joints)
            .filter(|(_, joint)| is_hinge(own_rows(joint, rows)) || (holds_angle(joint, rows) && turn(joint)))
            .map(|(place, joint)| (place, joint.moving_ends()))
            .filter(|(_, ends)| ends.iter().any(Option::is_some))
            .collect();
        let mut bodies: Vec<u32> = chosen.iter().flat_map(|(_, ends)| ends).flatten().copied().collect();
        bodies.sort_unstable();
        bodies.dedup();
        let position = |body: u32| bodies.binary_search(&body).ok();
        let ends = chosen.iter().map(|&(place, ends)| (place, ends.map(|body| body.and_then(position)))).collect();
        Self { bodies, ends }
    }

    /// Returns the bodies that hinges connect with a body, and marks them as seen.
    fn group(&self, first: usize, around: &[Vec<usize>], seen: &mut [bool]) -> Vec<usize> {
        let mut group = vec![first];
        seen[first] = true;
        let mut next = 0;
        while let Some(&body) = group.get(next) {
            next += 1;
            for other in around[body].iter().flat_map(|&hinge| self.ends[hinge].1).flatten() {
                if !std::mem::replace(&mut seen[other], true) {
                    group.push(other);
                }
            }
        }
        group
    }

    /// Returns the tree of a group of bodies, from its first hinge to a fixed body, or from its heaviest body. There is
    /// none if hinges form a net, or if there is one alone, which a sweep solves exactly.
    fn tree(&self, group: &[usize], around: &[Vec<usize>], mass: impl Fn(usize) -> f32) -> Option<JointTree> {
        let mut own: Vec<usize> = group.iter().flat_map(|&body| around[body].iter().copied()).collect();
        own.sort_unstable();
        own.dedup();
        let anchor = own.iter().copied().find(|&hinge| self.ends[hinge].1.iter().any(Option::is_none));
        let joints = group.len() - usize::from(anchor.is_none());
        if joints < 2 || own.len() - joints > MAX_LOOPS {
            return None;
        }
        let heaviest = || {
            let heavier = |best: usize, body: usize| if mass(body) > mass(best) { body } else { best };
            let mut bodies = group.to_vec();
            bodies.sort_unstable();
            bodies.into_iter().reduce(heavier)
        };
        let root = anchor.map_or_else(heaviest, |hinge| self.ends[hinge].1.into_iter().flatten().next())?;
        // From the root outwards; the elimination goes the other way.
        let mut outwards: Vec<(usize, Option<usize>, Option<usize>)> = vec![(root, anchor, None)];
        let mut place = vec![None; self.bodies.len()];
        place[root] = Some(0);
        let mut open = VecDeque::from([0]);
        while let Some(at) = open.pop_front() {
            let body = outwards[at].0;
            for &hinge in &around[body] {
                let [Some(a), Some(b)] = self.ends[hinge].1 else { continue };
                let other = if a == body { b } else { a };
                if place[other].is_none() {
                    place[other] = Some(outwards.len());
                    open.push_back(outwards.len());
                    outwards.push((other, Some(hinge), Some(at)));
                }
            }
        }
        let last = outwards.len() - 1;
        let entry = |&(body, hinge, parent): &(usize, Option<usize>, Option<usize>)| {
            let Some(hinge) = hinge else { return [NONE, self.bodies[body]] };
            let (slot, [a, _]) = self.ends[hinge];
            let side = if a == Some(body) { TREE_CHILD_A } else { 0 };
            [slot | side, parent.map_or(NONE, |parent| u32_from(last - parent))]
        };
        Some(JointTree { bodies: outwards.iter().rev().map(entry).collect() })
    }
}

/// Returns true for a rigid weld or slider: its last two rows hold the angle, and a point or the place across an axis.
fn holds_angle(joint: &JointData, rows: &[JointRow]) -> bool {
    let [.., angle, place] = own_rows(joint, rows) else { return false };
    is_rigid(angle, ROW_ANGLE) && (is_rigid(place, ROW_POINT) || is_rigid(place, ROW_ACROSS))
}

fn is_rigid(row: &JointRow, geometry: u32) -> bool {
    row.kind & (ROW_GEOMETRY | ROW_ROLE) == geometry | ROW_EQUALITY
}

/// Returns the rows of a joint; none for a free slot.
fn own_rows<'a>(joint: &JointData, rows: &'a [JointRow]) -> &'a [JointRow] {
    let first = joint.first_row as usize;
    let count = if joint.flags & JOINT_VACANT == 0 { joint.flags & ROW_COUNT_MASK } else { 0 };
    &rows[first..first + count as usize]
}
