//! Random numbers that repeat, for scenes, studies and tests.
//!
//! ```
//! use drystone_scenes::random::{SplitMix, mixed};
//!
//! let mut dice = SplitMix(7);
//! assert_eq!((dice.bits(), dice.0), (mixed(7), 7 + 0x9e37_79b9_7f4a_7c15));
//! assert!((0.0..1.0).contains(&dice.unit()));
//! ```

/// Step of the state between two numbers.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Hashes a number by SplitMix64 (Steele, Lea and Flood 2014).
#[must_use]
pub const fn mixed(seed: u64) -> u64 {
    let mut x = seed.wrapping_add(STEP);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// Sequence of random numbers, with its state: [`mixed`] of equally spaced numbers.
#[derive(Clone, Copy, Debug)]
pub struct SplitMix(pub u64);

impl SplitMix {
    /// Returns the next number: 64 random bits.
    pub fn bits(&mut self) -> u64 {
        let bits = mixed(self.0);
        self.0 = self.0.wrapping_add(STEP);
        bits
    }

    /// Returns the next number, evenly spread from 0 to below 1.
    pub fn unit(&mut self) -> f32 {
        // 24 bits, which an f32 holds exactly.
        (self.bits() >> 40) as f32 / (1_u64 << 24) as f32
    }
}
