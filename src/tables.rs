//! Every array of a step, as plain vectors: what the two backends are compared by, stage for stage.

use crate::types::{
    Aabb, Accumulator, BodyState, Constraint, Contact, Counters, Event, Joint, JointFrame, JointRow, JointState,
    Manifold, Pose, Rebound, SleepingContact, Surface,
};

/// A copy of all arrays, cut to what is in use.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Tables {
    pub poses: Vec<Pose>,
    pub states: Vec<BodyState>,
    pub accumulators: Vec<Accumulator>,
    pub swings: Vec<f32>,
    pub aabbs: Vec<Aabb>,
    pub cell_ends: Vec<u32>,
    pub cell_shapes: Vec<u32>,
    pub pair_starts_previous: Vec<u32>,
    pub contacts_previous: Vec<Contact>,
    pub manifolds_previous: Vec<Manifold>,
    pub pair_starts: Vec<u32>,
    pub contacts: Vec<Contact>,
    pub manifolds: Vec<Manifold>,
    pub islands: Vec<u32>,
    pub island_flags: Vec<u32>,
    pub sleeping_starts: Vec<u32>,
    pub sleeping: Vec<SleepingContact>,
    pub events: Vec<Event>,
    pub slots: Vec<u32>,
    pub constraints: Vec<Constraint>,
    pub rebounds: Vec<Rebound>,
    pub surfaces: Vec<Surface>,
    pub joints: Vec<Joint>,
    pub joint_rows: Vec<JointRow>,
    pub joint_frames: Vec<JointFrame>,
    pub joint_states: Vec<JointState>,
    pub joint_impulses: Vec<[f32; 2]>,
    pub counters: Counters,
}
