//! The hash of states and scenes.

/// A hash in the making: FNV-1a, word by word.
#[derive(Clone, Copy, Debug)]
pub struct Fnv(pub u64);

impl Fnv {
    /// Offset basis of FNV-1a.
    pub const START: Self = Self(0xcbf2_9ce4_8422_2325);

    /// Returns the hash continued over some bytes.
    #[must_use]
    pub fn bytes(self, bytes: &[u8]) -> Self {
        Self(bytes.iter().fold(self.0, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)))
    }

    /// Returns the hash continued over a word.
    #[must_use]
    pub fn word(self, word: u32) -> Self {
        self.bytes(&word.to_le_bytes())
    }
}
