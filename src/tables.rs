//! All tables of a step as plain vectors, by which tests compare the two backends stage by stage.

use crate::types::{
    Aabb, Accumulator, BodyMotion, BodyState, Constraint, Contact, Counters, EventData, JointData, JointFrame,
    JointRow, JointState, Manifold, Pose, Rebound, SleepingContact, Surface,
};

/// A copy of all tables, cut to the rows in use.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tables {
    /// Pose of each body's centre of mass.
    pub poses: Vec<Pose>,
    /// Velocities and status of each body.
    pub states: Vec<BodyState>,
    /// Sums of the impulses of contacts and joints on each body.
    pub accumulators: Vec<Accumulator>,
    /// Motion of each body in the step.
    pub motions: Vec<BodyMotion>,
    /// Box of each shape, margin included.
    pub aabbs: Vec<Aabb>,
    /// End of each cell's run in `cell_shapes`, and one more.
    pub cell_ends: Vec<u32>,
    /// Shapes in the order of their cells.
    pub cell_shapes: Vec<u32>,
    /// `pair_starts` of the step before.
    pub pair_starts_previous: Vec<u32>,
    /// `contacts` of the step before.
    pub contacts_previous: Vec<Contact>,
    /// `manifolds` of the step before.
    pub manifolds_previous: Vec<Manifold>,
    /// First contact of each shape, and the end.
    pub pair_starts: Vec<u32>,
    /// Pairs of shapes whose boxes overlap.
    pub contacts: Vec<Contact>,
    /// Contact points of each contact.
    pub manifolds: Vec<Manifold>,
    /// Root of the sleeping island of each body.
    pub islands: Vec<u32>,
    /// Flags of islands at their roots: to wake, or blocked. One row for each body.
    pub island_flags: Vec<u32>,
    /// First sleeping contact of each shape, and the end.
    pub sleeping_starts: Vec<u32>,
    /// Archived contacts of sleeping bodies, with their impulses.
    pub sleeping: Vec<SleepingContact>,
    /// Contacts and sensors that began or ended, in order.
    pub events: Vec<EventData>,
    /// Index of each contact's constraint.
    pub slots: Vec<u32>,
    /// Normal parts of the contacts, by colour.
    pub constraints: Vec<Constraint>,
    /// Speeds before impact, by colour.
    pub rebounds: Vec<Rebound>,
    /// Friction parts of the contacts, by colour.
    pub surfaces: Vec<Surface>,
    /// Constant properties of the joints.
    pub joints: Vec<JointData>,
    /// Rows of the joints' equations.
    pub joint_rows: Vec<JointRow>,
    /// Anchors and masses of each joint in this step.
    pub joint_frames: Vec<JointFrame>,
    /// State of each joint.
    pub joint_states: Vec<JointState>,
    /// Impulses of each row, N·s or N·m·s: the one kept and that of this step.
    pub joint_impulses: Vec<[f32; 2]>,
    /// Counts of the step.
    pub counters: Counters,
}
