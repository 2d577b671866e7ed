//! Every array of a step, as plain vectors: what the two backends are compared by, stage for stage.

use crate::types::{
    Aabb, Accumulator, BodyState, Constraint, Contact, Counters, Event, Joint, JointFrame, JointRow, JointState,
    Manifold, Pose, Rebound, SleepingContact, Surface,
};

/// A copy of all arrays, cut to what is in use.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tables {
    /// One a body, of its centre of mass.
    pub poses: Vec<Pose>,
    /// Velocities and status, one a body.
    pub states: Vec<BodyState>,
    /// Sums of the sweeps, one a body.
    pub accumulators: Vec<Accumulator>,
    /// Turning that the relaxing sweep took back, one a body.
    pub swings: Vec<f32>,
    /// One a shape.
    pub aabbs: Vec<Aabb>,
    /// Ends of the cells' runs in `cell_shapes`, one a cell and one more.
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
    /// Points at which they touch, one a contact.
    pub manifolds: Vec<Manifold>,
    /// Roots of islands asleep, one a body.
    pub islands: Vec<u32>,
    /// Marks of islands that are to wake, one a body.
    pub island_flags: Vec<u32>,
    /// First sleeping contact of each shape, and the end.
    pub sleeping_starts: Vec<u32>,
    /// Contacts of bodies asleep, with their impulses.
    pub sleeping: Vec<SleepingContact>,
    /// Contacts and sensors that began or ended, in order.
    pub events: Vec<Event>,
    /// Place of each contact among the constraints.
    pub slots: Vec<u32>,
    /// Normal parts of the contacts, by colour.
    pub constraints: Vec<Constraint>,
    /// Speeds before impact, by colour.
    pub rebounds: Vec<Rebound>,
    /// Friction parts of the contacts, by colour.
    pub surfaces: Vec<Surface>,
    /// As compiled.
    pub joints: Vec<Joint>,
    /// Rows of the joints' equations.
    pub joint_rows: Vec<JointRow>,
    /// Anchors and masses of this step, one a joint.
    pub joint_frames: Vec<JointFrame>,
    /// One a joint.
    pub joint_states: Vec<JointState>,
    /// Impulses of a row, in N·s or N·m·s: kept, and of this step.
    pub joint_impulses: Vec<[f32; 2]>,
    /// Counts of the step.
    pub counters: Counters,
}
