//! Counters of a step: pairs, contacts, colours, sleeping bodies, and the overflow bits.

use bytemuck::{Pod, Zeroable};

/// [`Counters::overflow_bits`]: more pairs than contact capacity.
pub const OVERFLOW_CONTACTS: u32 = 1;
/// [`Counters::overflow_bits`]: more shapes near each other than [`CROWD`](crate::constants::CROWD); on a device.
pub const OVERFLOW_CROWD: u32 = 2;

/// [`Counters::wake_flags`]: every body wakes.
pub const WAKE_ALL: u32 = 1;
/// [`Counters::wake_flags`]: a command moved a static or kinematic body; bodies that touched it wake.
pub const WAKE_MOVED: u32 = 2;

/// Counters of a step. The host learns them a few steps later, without waiting.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct Counters {
    /// Pairs found, including those that did not fit.
    pub pairs_found: u32,
    /// Pairs kept: contacts, touching or not.
    pub contacts: u32,
    /// Contacts with at least one point.
    pub touching: u32,
    /// Contacts that kept their manifold.
    pub recycled: u32,
    /// Overflow bits: [`OVERFLOW_CONTACTS`], [`OVERFLOW_CROWD`].
    pub overflow_bits: u32,
    /// Bodies quarantined since the world began.
    pub quarantined: u32,
    /// Touching contacts that had no colour when the step began.
    pub uncolored: u32,
    /// Colouring rounds that were needed.
    pub rounds: u32,
    /// Constraints of colour `c` are `color_starts[c] .. color_starts[c + 1]`.
    pub color_starts: [u32; 33],
    /// Fast bodies stopped before what they would have jumped over.
    pub continuous: u32,
    /// Bodies awake when the step ended: dynamic ones, and kinematic ones that move. This and all below only with
    /// [`SLEEP`](super::SLEEP).
    pub awake: u32,
    /// Value of `awake` in the step before.
    pub was_awake: u32,
    /// Archived contacts, between bodies that are both [`ASLEEP`](super::ASLEEP).
    pub sleeping_contacts: u32,
    /// Bodies woken in this step.
    pub woken: u32,
    /// 1 if a body fell asleep in this step, or a kinematic one came to rest.
    pub slept: u32,
    /// [`WAKE_ALL`], [`WAKE_MOVED`]: from the commands of a step until `sleep` has run.
    pub wake_flags: u32,
    /// 1 while `pair`, `match_contacts` and `collide` have work: in their first run, and in the second if bodies woke.
    pub again: u32,
    /// Grid levels with a shape that is not [`ASLEEP`](super::ASLEEP), as bits;
    /// [`AWAKE_HALF_PLANE`](super::AWAKE_HALF_PLANE).
    pub awake_levels: u32,
    /// Lengths of the two lists of contacts without a colour, while the device colours; else 0.
    pub left: [u32; 2],
}

impl Default for Counters {
    fn default() -> Self {
        Self::zeroed()
    }
}

impl Counters {
    /// Returns the number of constraints of a colour; 0 if the starts decrease, as they may in a damaged snapshot.
    #[must_use]
    pub fn color_size(&self, color: u32) -> u32 {
        self.color_starts[color as usize + 1].saturating_sub(self.color_starts[color as usize])
    }
}
