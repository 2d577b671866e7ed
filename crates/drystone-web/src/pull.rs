//! The joint by which a visitor pulls a body: a mouse joint as in the window. Its slot is vacant until a body is held.
//!
//! Colours of joints are assigned on the host, by bodies. This joint is in the overflow colour, whose joints are solved
//! one after the other, so the page can give it any body.

use bytemuck::bytes_of;
use drystone::low_level::gpu::recipe::StepRecipe;
use drystone::low_level::scene::Compiled;
use drystone::low_level::types::{JointData, JointRow, JointState};
use drystone::{Joint, JointKind};
use serde_json::{Value, json};
use std::mem::{offset_of, size_of};

use super::data::{Blob, lines};

/// Largest force on a held body, in units of its weight on earth, as in the window.
const PULL: f32 = 60.0;
/// Gravity on earth, m/s².
const EARTH: f32 = 9.81;
/// Frequency of the joint, Hz, as in the window.
const PULL_HERTZ: f32 = 5.0;
/// Damping ratio of the joint, as in the window.
const PULL_DAMPING: f32 = 1.0;

/// Joint by which a visitor pulls a body, and the steps while it does.
#[derive(Debug)]
pub(crate) struct PullJoint {
    /// Steps in which the joint is there.
    pub recipe: StepRecipe,
    slot: usize,
    joint: JointData,
    row: JointRow,
    /// Words of the lists of joints by colour: index, while a body is held, and while none is.
    words: Vec<[u32; 3]>,
}

/// Returns the joint for a body. The page replaces anchors, body and largest force.
pub(crate) fn joint(body: usize) -> Joint {
    Joint::to_world(JointKind::mouse([0.0, 0.0], 1.0), body).soft(PULL_HERTZ, PULL_DAMPING)
}

impl PullJoint {
    /// Takes the joint in a slot from tables in which it is there, for a world in which the slot is vacant.
    pub fn new(world: &Compiled, alive: &Compiled, slot: usize) -> Self {
        let mut held = world.clone();
        held.joints = alive.joints.clone();
        held.joints.move_to_overflow(slot);
        let (joint, starts) = (held.joints.joints[slot], &held.joints.starts);
        // Lists of joints have spare capacity, so nothing moves.
        debug_assert_eq!(starts.len(), world.joints.starts.len());
        let words = (0..).zip(starts.iter().zip(&world.joints.starts));
        let words =
            words.filter(|(_, (held, free))| held != free).map(|(at, (&held, &free))| [at, held, free]).collect();
        let row = held.joints.rows[joint.first_row as usize];
        Self { recipe: StepRecipe::new(held), slot, joint, row, words }
    }

    /// Returns the part of a page's data about it.
    pub fn json(&self, blob: &mut Blob) -> Value {
        let settings = &self.recipe.compiled().settings;
        #[allow(clippy::cast_precision_loss, reason = "at most 64")]
        let h = self.recipe.compiled().settings.dt / settings.substep_count() as f32;
        let program = self.recipe.uniforms().into_iter().find(|(name, _)| *name == "program");
        json!({
            "lines": lines(&self.recipe), "program": program.map(|(_, bytes)| blob.push(&bytes)),
            "fused": self.recipe.fused().iter().map(|&(_, name)| name).collect::<Vec<_>>(),
            "slot": self.slot, "joint": blob.push(bytes_of(&self.joint)), "row": blob.push(bytes_of(&self.row)),
            "first_row": self.joint.first_row, "words": self.words,
            "joint_bytes": size_of::<JointData>(), "row_bytes": size_of::<JointRow>(),
            "state_bytes": size_of::<JointState>(),
            "body_a": offset_of!(JointData, body_a) / 4, "body_b": offset_of!(JointData, body_b) / 4,
            "anchor_a": offset_of!(JointData, anchor_a), "anchor_b": offset_of!(JointData, anchor_b) / 4,
            "max_impulse": offset_of!(JointRow, max_impulse) / 4,
            // Largest change of speed in a substep, m/s.
            "max_speed_change": PULL * EARTH * h,
        })
    }
}
