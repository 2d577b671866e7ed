//! Which hinges, welds and sliders form trees that are solved exactly ([`crate::stages::solve_joints::tree`]). Where
//! nothing else is said, welds and sliders count as hinges.

use std::collections::{BTreeSet, VecDeque};

use super::compile::mass::MassProperties;
use crate::constants::{MAX_LOOPS, MAX_TREE, STIFF_RATIO, TREE_RATIO};
use crate::stages::solve_joints::tree::{holds_angle, is_hinge};
use crate::types::{
    JOINT_VACANT, JointData, JointRow, NONE, ROW_COUNT_MASK, ROW_LOWER, ROW_ROLE, ROW_UPPER, TREE_CHILD_A, u32_from,
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
    /// Hinges of each body, as positions in `ends`.
    around: Vec<Vec<usize>>,
}

/// Returns the trees of a world: a function of its joints and masses alone.
pub(super) fn find_trees(joints: &[JointData], rows: &[JointRow], masses: &[MassProperties]) -> Vec<JointTree> {
    // Moments of inertia on welds and sliders are inverted.
    let turns = |body: u32| masses[body as usize].inertia.recip().is_normal();
    let is_turning = |joint: &JointData| joint.moving_ends().into_iter().flatten().all(turns);
    let is_stiff = |joint: &JointData| holds_angle(own_rows(joint, rows)) && is_turning(joint);
    let all = HingeGraph::of(joints, |joint| is_hinge(own_rows(joint, rows)) || is_stiff(joint));
    let range = |graph: &HingeGraph, group: &mut dyn Iterator<Item = usize>| {
        let masses = group.map(|at| masses[graph.bodies[at] as usize].mass);
        masses.fold([f32::MAX, 0.0], |[least, most]: [f32; 2], mass| [least.min(mass), most.max(mass)])
    };
    let differ = |[least, most]: [f32; 2], ratio: f32| most > ratio * least;
    // Nearly no world has bodies of such different masses on hinges.
    if all.bodies.is_empty() || !differ(range(&all, &mut (0..all.bodies.len())), TREE_RATIO) {
        return Vec::new();
    }
    // Contacts and limits see the mass of one body, not that of all that is welded to it. So what stands on light feet
    // or leans on a limit keeps its welds and sliders out: only what hangs on something fixed has them in its tree, and
    // only if sweeps would fail.
    let bears = |group: &[usize]| {
        let hinges = all.joints(group);
        differ(range(&all, &mut group.iter().copied()), STIFF_RATIO)
            && hinges.iter().any(|&hinge| all.is_anchor(hinge))
            && !hinges.iter().any(|&hinge| all.is_limited(hinge, joints, rows))
    };
    let groups = all.groups();
    let swept: BTreeSet<u32> =
        groups.iter().filter(|group| !bears(group)).flatten().map(|&body| all.bodies[body]).collect();
    let is_swept = |joint: &JointData| joint.moving_ends().iter().flatten().any(|body| swept.contains(body));
    let chosen = |joint: &JointData| is_hinge(own_rows(joint, rows)) || (is_stiff(joint) && !is_swept(joint));
    let hinges = HingeGraph::of(joints, chosen);
    let mass = |at: usize| masses[hinges.bodies[at] as usize].mass;
    let groups = hinges.groups();
    let uneven = groups.iter().filter(|group| differ(range(&hinges, &mut group.iter().copied()), TREE_RATIO));
    uneven.filter(|group| group.len() <= MAX_TREE).filter_map(|group| hinges.tree(group, mass)).collect()
}

impl HingeGraph {
    fn of(joints: &[JointData], is_chosen: impl Fn(&JointData) -> bool) -> Self {
        let chosen: Vec<(u32, [Option<u32>; 2])> = (0_u32..)
            .zip(joints)
            .filter(|(_, joint)| is_chosen(joint))
            .map(|(place, joint)| (place, joint.moving_ends()))
            .filter(|(_, ends)| ends.iter().any(Option::is_some))
            .collect();
        let mut bodies: Vec<u32> = chosen.iter().flat_map(|(_, ends)| ends).flatten().copied().collect();
        bodies.sort_unstable();
        bodies.dedup();
        let position = |body: u32| bodies.binary_search(&body).ok();
        let ends: Vec<(u32, [Option<usize>; 2])> =
            chosen.iter().map(|&(place, ends)| (place, ends.map(|body| body.and_then(position)))).collect();
        let mut around = vec![Vec::new(); bodies.len()];
        for (at, (_, ends)) in ends.iter().enumerate() {
            ends.iter().flatten().for_each(|&body| around[body].push(at));
        }
        Self { bodies, ends, around }
    }

    /// Returns the groups of bodies that hinges connect, by their first bodies.
    fn groups(&self) -> Vec<Vec<usize>> {
        let mut seen = vec![false; self.bodies.len()];
        let mut groups = Vec::new();
        for body in 0..self.bodies.len() {
            if !seen[body] {
                groups.push(self.group(body, &mut seen));
            }
        }
        groups
    }

    /// Returns the hinges of a group, in ascending order.
    fn joints(&self, group: &[usize]) -> Vec<usize> {
        let mut own: Vec<usize> = group.iter().flat_map(|&body| self.around[body].iter().copied()).collect();
        own.sort_unstable();
        own.dedup();
        own
    }

    /// Returns true for a hinge to something fixed.
    fn is_anchor(&self, hinge: usize) -> bool {
        self.ends[hinge].1.iter().any(Option::is_none)
    }

    /// Returns true for a hinge with limits.
    fn is_limited(&self, hinge: usize, joints: &[JointData], rows: &[JointRow]) -> bool {
        let own = own_rows(&joints[self.ends[hinge].0 as usize], rows);
        own.iter().any(|row| matches!(row.kind & ROW_ROLE, ROW_LOWER | ROW_UPPER))
    }

    /// Returns the bodies that hinges connect with a body, and marks them as seen.
    fn group(&self, first: usize, seen: &mut [bool]) -> Vec<usize> {
        let mut group = vec![first];
        seen[first] = true;
        let mut next = 0;
        while let Some(&body) = group.get(next) {
            next += 1;
            for other in self.around[body].iter().flat_map(|&hinge| self.ends[hinge].1).flatten() {
                if !std::mem::replace(&mut seen[other], true) {
                    group.push(other);
                }
            }
        }
        group
    }

    /// Returns the tree of a group of bodies, from its first hinge to a fixed body, or from its heaviest body. There is
    /// none if hinges form a net, or if there is one alone, which a sweep solves exactly.
    fn tree(&self, group: &[usize], mass: impl Fn(usize) -> f32) -> Option<JointTree> {
        let own = self.joints(group);
        let anchor = own.iter().copied().find(|&hinge| self.is_anchor(hinge));
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
            for &hinge in &self.around[body] {
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

/// Returns the rows of a joint; none for a free slot.
fn own_rows<'a>(joint: &JointData, rows: &'a [JointRow]) -> &'a [JointRow] {
    let first = joint.first_row as usize;
    let count = if joint.flags & JOINT_VACANT == 0 { joint.flags & ROW_COUNT_MASK } else { 0 };
    &rows[first..first + count as usize]
}
