//! Joints as lists of constraint rows, and the state that they carry from step to step.

use bytemuck::{Pod, Zeroable};

/// Number of joint colours; the last is the overflow, whose joints are solved one after the other.
pub const JOINT_COLORS: u32 = 32;
/// Overflow colour of joints: their last.
pub const JOINT_OVERFLOW: u32 = JOINT_COLORS - 1;
/// First of two words of [`JointTable::starts`](crate::scene::JointTable::starts): the start of the list of trees, and
/// their number. The colours are before it.
pub const JOINT_TREES: u32 = 2 * JOINT_COLORS;
/// Set in the word of a hinge of a tree: A is the body on the side of the leaves.
pub const TREE_CHILD_A: u32 = 0x8000_0000;
/// [`JointData::flags`]: the number of rows, 1 … 7.
pub const ROW_COUNT_MASK: u32 = 7;
/// [`JointData::flags`]: body A is the world; [`JointData::body_a`] repeats body B and is not used. Set beside
/// [`JOINT_FIXED_A`].
pub const WORLD_A: u32 = 8;
/// [`JointData::flags`]: body A is static, kinematic or the world.
pub const JOINT_FIXED_A: u32 = 16;
/// [`JointData::flags`]: body B is static or kinematic.
pub const JOINT_FIXED_B: u32 = 32;
/// [`JointData::flags`]: switched off.
pub const JOINT_DISABLED: u32 = 64;
/// [`JointData::flags`]: a vacant slot, without rows. Set beside [`JOINT_DISABLED`].
pub const JOINT_VACANT: u32 = 128;
/// [`JointData::flags`]: the two bodies do not touch each other while the joint holds.
pub const JOINT_APART: u32 = 256;
/// [`JointData::flags`]: added to a running world. Its reference angle, and the goals of its rows with [`ROW_MEASURE`],
/// are measured when the next step begins.
pub const JOINT_FRESH: u32 = 512;
/// [`JointData::flags`]: first bit of the type, four bits: the variant's number in [`crate::scene::JointKind`], from 0.
pub const JOINT_TYPE_SHIFT: u32 = 12;
/// Type of a gear, as it stands from [`JOINT_TYPE_SHIFT`] on.
pub const JOINT_GEAR: u32 = 9;
/// Type of a pulley.
pub const JOINT_PULLEY: u32 = 10;
/// [`JointState::status`]: the joint broke.
pub const BROKEN: u32 = 1;
/// [`JointState::status`]: the event of the break has been written.
pub const BREAK_TOLD: u32 = 2;
/// [`JointState::status`]: the gear did not act in the last step. It engages at the angles that its bodies have.
pub const DISENGAGED: u32 = 4;
/// [`JointRow::kind`], low nibble, the coordinate: along the line from anchor to anchor; the position is their
/// distance.
pub const ROW_ALONG: u32 = 0;
/// [`JointRow::kind`]: the position along A's axis.
pub const ROW_AXIS: u32 = 1;
/// [`JointRow::kind`]: the position across A's axis, to its left.
pub const ROW_ACROSS: u32 = 2;
/// [`JointRow::kind`]: the angle of B against A, whose turn counts [`JointData::ratio`] times.
pub const ROW_ANGLE: u32 = 3;
/// [`JointRow::kind`]: both coordinates of anchor B against anchor A, as one block of two.
pub const ROW_POINT: u32 = 4;
/// [`JointRow::kind`]: the length of a pulley's rope: on A's side, and [`JointData::ratio`] times that on B's side. The
/// only row of its joint.
pub const ROW_PULLEY: u32 = 5;
/// [`JointRow::kind`]: mask of the coordinate.
pub const ROW_GEOMETRY: u32 = 0xf;
/// [`JointRow::kind`], second nibble, the role: holds the position at the goal. Its coefficients are bias rate, mass
/// scale and impulse scale, as a contact's.
pub const ROW_EQUALITY: u32 = 0x00;
/// [`JointRow::kind`]: the position is at least the goal.
pub const ROW_LOWER: u32 = 0x10;
/// [`JointRow::kind`]: the position is at most the goal.
pub const ROW_UPPER: u32 = 0x20;
/// [`JointRow::kind`]: drives the velocity to the goal.
pub const ROW_MOTOR: u32 = 0x30;
/// [`JointRow::kind`]: pulls towards the goal. Its coefficients are stiffness and damping.
pub const ROW_SPRING: u32 = 0x40;
/// [`JointRow::kind`]: mask of the role.
pub const ROW_ROLE: u32 = 0xf0;
/// [`JointRow::kind`]: stiffness and damping of a spring are for one kilogram of effective mass: (2πf)² and 2ζ·2πf.
pub const ROW_BY_MASS: u32 = 0x100;
/// [`JointRow::kind`]: the goal is set to the distance of the anchors when the next step begins ([`JOINT_FRESH`]).
pub const ROW_MEASURE: u32 = 0x200;
/// [`JointRow::kind`]: the spring has a smallest impulse, its third coefficient.
pub const ROW_RANGED: u32 = 0x400;

/// Constant properties of a joint. No two joints of a colour move the same body ([`crate::scene::JointTable::starts`]).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct JointData {
    /// Index of body A.
    pub body_a: u32,
    /// Index of body B.
    pub body_b: u32,
    /// Index of the first row.
    pub first_row: u32,
    /// Flags: [`ROW_COUNT_MASK`], [`WORLD_A`], …
    pub flags: u32,
    /// Anchor from A's centre of mass, in A's frame, m; in the world if A is the world.
    pub anchor_a: [f32; 2],
    /// Anchor from B's centre of mass, in B's frame, m.
    pub anchor_b: [f32; 2],
    /// Axis of a slider or wheel: a unit vector in A's frame. Of a pulley, A's ground point, in the world, m.
    pub axis: [f32; 2],
    /// Angle of B against A that counts as 0, rad.
    pub reference_angle: f32,
    /// Index of the joint, as in the scene.
    pub id: u32,
    /// Force above which the joint breaks, N; `f32::MAX` if it never does.
    pub break_force: f32,
    /// Torque above which the joint breaks, N·m; `f32::MAX` if it never does.
    pub break_torque: f32,
    /// Number of joints that had this slot before.
    pub generation: u32,
    /// Turns of B for a turn of A that keep the angle of a gear joint; factor of the length on B's side of a pulley; 1
    /// for all other joints.
    pub ratio: f32,
}

impl JointData {
    /// Returns true if the joint is a gear. Its angle is counted from the turns of its bodies ([`JointState::turns`]).
    pub(crate) fn is_gear(&self) -> bool {
        type_of(self.flags) == JOINT_GEAR
    }

    /// Returns true if the joint is a pulley.
    pub(crate) fn is_pulley(&self) -> bool {
        type_of(self.flags) == JOINT_PULLEY
    }

    /// Returns the ground points of a pulley on the sides of A and B, in the world, m, given its row; `None` for other
    /// joints.
    #[must_use]
    pub fn ground_points(&self, rows: &[JointRow]) -> Option<[[f32; 2]; 2]> {
        let row = rows.first().filter(|_| self.is_pulley())?;
        Some([self.axis, [row.goal_y, row.ground_y]])
    }

    /// Returns bodies A and B; `None` for an end that does not move.
    pub(crate) fn moving_ends(&self) -> [Option<u32>; 2] {
        let end = |fixed: u32, body: u32| (self.flags & fixed == 0).then_some(body);
        [end(JOINT_FIXED_A, self.body_a), end(JOINT_FIXED_B, self.body_b)]
    }
}

/// Returns the type of a joint with these flags ([`JOINT_TYPE_SHIFT`]).
fn type_of(flags: u32) -> u32 {
    flags >> JOINT_TYPE_SHIFT & 15
}

/// Returns true for the kind of a row whose goal is a length: of a rod, a spring or a pulley's rope.
pub(crate) fn is_length(kind: u32) -> bool {
    match kind & ROW_GEOMETRY {
        ROW_ALONG => matches!(kind & ROW_ROLE, ROW_EQUALITY | ROW_SPRING),
        geometry => geometry == ROW_PULLEY,
    }
}

/// A constraint row of a joint: of one velocity, or of two for [`ROW_POINT`].
///
/// A joint is a list of rows, so that a rod does not pay for a wheel, and a new kind of joint is a new list.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct JointRow {
    /// Coordinate ([`ROW_ALONG`] …), role ([`ROW_EQUALITY`] …), [`ROW_BY_MASS`].
    pub kind: u32,
    /// Position, m or rad; for a motor its speed, m/s or rad/s, at a point along x in A's frame; 0 for other points.
    pub goal: f32,
    /// Largest impulse of a substep, N·s or N·m·s; `f32::MAX` where nothing limits it.
    pub max_impulse: f32,
    /// Speed of a motor at a point along y in A's frame, m/s; for [`ROW_PULLEY`] x of the ground point on B's side, in
    /// the world, m; 0 for other rows.
    pub goal_y: f32,
    /// Bias rate, 1/s, mass scale, impulse scale; for a spring stiffness, N/m (or N·m/rad), damping, N·s/m, and the
    /// smallest impulse of a substep, N·s or N·m·s, with [`ROW_RANGED`], otherwise 0.
    pub softness: [f32; 3],
    /// For [`ROW_PULLEY`] y of the ground point on B's side, in the world, m; 0 for other rows.
    pub ground_y: f32,
}

/// State that a joint carries from step to step, beside the impulses of its rows.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct JointState {
    /// Angle of B against A when the step began, less the reference angle, full turns counted, rad. If the
    /// joint is a gear, by what angle B is ahead of A's turn times the ratio.
    pub angle: f32,
    /// Status bits: [`BROKEN`], [`BREAK_TOLD`], [`DISENGAGED`].
    pub status: u32,
    /// Angles of A and B when the last step began, from −π to π, rad, if the joint is a gear.
    pub turns: [f32; 2],
}

/// A joint as the solver reads it, computed in each step.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct JointFrame {
    /// Index of body A.
    pub body_a: u32,
    /// Index of body B.
    pub body_b: u32,
    /// Index of the first row.
    pub first_row: u32,
    /// Copy of [`JointData::flags`], with no rows if the joint is switched off, broken, or holds a quarantined body.
    pub flags: u32,
    /// Anchor from A's centre of mass when the step began, world axes, m.
    pub r_a: [f32; 2],
    /// Anchor from B's centre of mass, world axes, when the step began, m.
    pub r_b: [f32; 2],
    /// From the anchor on A to that on B when the step began, m. Of a pulley, from the ground point on B's side to the
    /// anchor on B.
    pub between: [f32; 2],
    /// A's axis, world axes, when the step began. Of a pulley, from the ground point on A's side to the anchor on A, m.
    pub axis: [f32; 2],
    /// Inverse mass of A, 1/kg.
    pub inv_mass_a: f32,
    /// Inverse inertia of A, 1/(kg·m²).
    pub inv_inertia_a: f32,
    /// Inverse mass of B, 1/kg.
    pub inv_mass_b: f32,
    /// Inverse inertia of B, 1/(kg·m²).
    pub inv_inertia_b: f32,
    /// Copy of [`JointState::angle`], rad.
    pub angle: f32,
    /// Copy of [`JointData::ratio`].
    pub ratio: f32,
    /// Unused.
    pub pad: [u32; 2],
}

impl JointFrame {
    /// Returns true if the joint is a pulley.
    pub(crate) fn is_pulley(&self) -> bool {
        type_of(self.flags) == JOINT_PULLEY
    }
}

/// A body of a tree of hinges and welds while the tree is solved ([`crate::stages::solve_joints::tree`]).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct TreeRow {
    /// Impulse of the children's hinges at the point of reference, N·s and N·m·s; then the change of velocity, m/s and
    /// rad/s.
    pub push: [f32; 3],
    /// Least inverse inertia that a hinge sees of the body, 1/(kg·m²).
    pub inv_inertia: f32,
    /// Inverse of the effective inverse mass at the hinge to the parent: xx, xy, yy, kg.
    pub inverse: [f32; 3],
    /// Mass, kg.
    pub mass: f32,
    /// Mass that the children add: xx, xy, x and turn, yy, y and turn, turn. Then the factors of the whole, or of a
    /// child on a weld the whole.
    pub matrix: [f32; 6],
    /// Point of reference from the centre of mass, m: the hinge of the child that adds the largest mass.
    pub at: [f32; 2],
    /// Velocity that the joint to the parent has to make up for, while the parent keeps its own, m/s, and for a weld
    /// the angular velocity, rad/s.
    pub rest: [f32; 3],
    /// Largest mass that a child adds, kg: xx and yy together.
    pub most: f32,
}
