//! Checks that a snapshot is of a world, before it is restored.

use super::{JointGoal, RowGoal, Snapshot, SnapshotError};
use crate::math::is_finite;
use crate::population::Population;
use crate::scene::Compiled;
use crate::types::{COMMAND_JOINT_FIXED, Contact, Manifold, POINT_COUNT_MASK, ROW_MEASURE, VACANT};

/// Refuses a number that is not the expected one.
fn equal(what: &'static str, found: usize, expected: usize) -> Result<(), SnapshotError> {
    if found == expected { Ok(()) } else { Err(SnapshotError { what, found, expected }) }
}

/// Refuses an index that is not below the expected number.
fn below(what: &'static str, found: usize, expected: usize) -> Result<(), SnapshotError> {
    if found < expected { Ok(()) } else { Err(SnapshotError { what, found, expected }) }
}

impl Snapshot {
    /// Checks that the snapshot belongs to this world, before anything is overwritten. As it may come from a file,
    /// every index and count is checked, and every float that reaches more than one body; other values may be anything.
    ///
    /// # Errors
    /// The first table or value that does not fit.
    pub(crate) fn check(&self, compiled: &Compiled, population: Option<&Population>) -> Result<(), SnapshotError> {
        self.check_sizes(compiled, population)?;
        self.check_population(compiled, population)?;
        self.check_commands(compiled)?;
        self.check_islands(compiled.bodies.len())?;
        self.check_starts(compiled.shapes.len())?;
        let archived = self.sleeping.iter().map(|archived| (&archived.contact, &archived.manifold));
        for (contact, manifold) in self.contacts.iter().zip(&self.manifolds).chain(archived) {
            check_contact(contact, manifold, compiled)?;
        }
        self.check_joints()
    }

    fn check_sizes(&self, compiled: &Compiled, population: Option<&Population>) -> Result<(), SnapshotError> {
        let (bodies, shapes) = (compiled.bodies.len(), compiled.shapes.len());
        equal("poses", self.poses.len(), bodies)?;
        equal("states", self.states.len(), bodies)?;
        equal("forces", self.forces.len(), bodies)?;
        equal("joint states", self.joint_states.len(), compiled.joints.states.len())?;
        equal("joint impulses", self.joint_impulses.len(), compiled.joints.rows.len())?;
        equal("goals of joints", self.joint_goals.len(), compiled.joints.joints.len())?;
        equal("goals of rows", self.row_goals.len(), compiled.joints.rows.len())?;
        let timed = population.map_or(0, |population| population.timed_starts(compiled).len());
        equal("starts of timed commands", self.timed_starts.len(), timed)?;
        if compiled.settings.sleep {
            equal("islands", self.islands.len(), bodies)?;
        } else {
            equal("islands", self.islands.len(), 0)?;
            equal("contacts asleep", self.sleeping.len(), 0)?;
        }
        if !self.pair_starts.is_empty() || !self.contacts.is_empty() {
            equal("pair starts", self.pair_starts.len(), shapes + 1)?;
        }
        Ok(())
    }

    fn check_population(&self, compiled: &Compiled, population: Option<&Population>) -> Result<(), SnapshotError> {
        if self.population != Population::history(population) {
            let what = "same additions and removals of bodies (1 if so)";
            return Err(SnapshotError { what, found: 0, expected: 1 });
        }
        let vacant = |body: &u32| compiled.bodies.get(*body as usize).is_some_and(|body| body.kind == VACANT);
        match self.vacated.iter().find(|&body| !vacant(body)) {
            Some(&body) => {
                Err(SnapshotError { what: "occupied slot listed as vacated", found: body as usize, expected: 0 })
            }
            None => Ok(()),
        }
    }

    fn check_commands(&self, compiled: &Compiled) -> Result<(), SnapshotError> {
        for command in &self.commands {
            let index = command.body as usize;
            let rows = if command.is_for_joint() {
                below("index of a joint, below the expected number", index, compiled.joints.joints.len())?;
                compiled.joints.rows.len()
            } else {
                below("index of a body, below the expected number", index, compiled.bodies.len())?;
                usize::MAX
            };
            let kinds = COMMAND_JOINT_FIXED as usize + 1;
            below("kind of a command, below the expected number", command.kind as usize, kinds)?;
            below("row of a command, below the expected number", command.row as usize, rows)?;
            below("world of a command, below the expected number", command.world as usize, 1)?;
        }
        Ok(())
    }

    fn check_islands(&self, bodies: usize) -> Result<(), SnapshotError> {
        for &island in &self.islands {
            below("island of a body, below the expected number", island as usize, bodies)?;
        }
        match self.islands.iter().find(|&&island| self.islands[island as usize] != island) {
            Some(&island) => {
                Err(SnapshotError { what: "islands without a root, such as", found: island as usize, expected: 0 })
            }
            None => Ok(()),
        }
    }

    /// Checks where the contacts of each shape begin, and that each contact has a manifold.
    fn check_starts(&self, shapes: usize) -> Result<(), SnapshotError> {
        // Shapes that were added later have no archived contacts.
        if self.sleeping_starts.len() > shapes + 1 {
            return equal("sleeping starts", self.sleeping_starts.len(), shapes + 1);
        }
        let lengths = [(&self.pair_starts, self.contacts.len()), (&self.sleeping_starts, self.sleeping.len())];
        for (starts, contacts) in lengths {
            let last = starts.last().map_or(0, |&end| end as usize);
            let first = starts.first().map_or(0, |&start| start as usize);
            if first != 0 || last != contacts || !starts.is_sorted() {
                return Err(SnapshotError { what: "contacts", found: contacts, expected: last });
            }
        }
        equal("manifolds", self.manifolds.len(), self.contacts.len())
    }

    fn check_joints(&self) -> Result<(), SnapshotError> {
        let impulses = self.joint_impulses.iter().flatten().filter(|&&impulse| !is_finite(impulse)).count();
        let angles = self.joint_states.iter().flat_map(|state| [state.angle, state.turns[0], state.turns[1]]);
        let angles = angles.filter(|&angle| !is_finite(angle)).count();
        let flags = self.joint_goals.iter().filter(|goal| goal.flags & !JointGoal::FLAGS != 0).count()
            + self.row_goals.iter().filter(|goal| goal.kind & !ROW_MEASURE != 0).count();
        let finite = |goal: &&JointGoal| goal.anchor_a.into_iter().chain([goal.reference_angle]).all(is_finite);
        let finite_row = |row: &&RowGoal| [row.goal, row.goal_y, row.max_impulse].into_iter().all(is_finite);
        let goals = self.joint_goals.iter().filter(|goal| !finite(goal)).count()
            + self.row_goals.iter().filter(|row| !finite_row(row)).count();
        equal("joint impulses that are not finite", impulses, 0)?;
        equal("joint angles that are not finite", angles, 0)?;
        equal("goals of joints that are not finite", goals, 0)?;
        equal("joints with unknown flags", flags, 0)
    }
}

fn check_contact(contact: &Contact, manifold: &Manifold, compiled: &Compiled) -> Result<(), SnapshotError> {
    for shape in [contact.shape_a, contact.shape_b] {
        below("shape of a contact, below the expected number", shape as usize, compiled.shapes.len())?;
    }
    for body in [contact.body_a, contact.body_b] {
        below("body of a contact, below the expected number", body as usize, compiled.bodies.len())?;
    }
    let points = (contact.flags & POINT_COUNT_MASK) as usize;
    below("points of a contact, below the expected number", points, manifold.points.len() + 1)?;
    // A body with a NaN is quarantined; one in an impulse would reach both bodies before that.
    let impulses = manifold.points.iter().flat_map(|point| [point.normal_impulse, point.tangent_impulse]);
    equal("impulses that are not finite", impulses.filter(|&impulse| !is_finite(impulse)).count(), 0)
}
