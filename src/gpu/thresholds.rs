//! Bounds by which a recorder chooses between kernels that give the same result, for hardware and for software
//! adapters.

/// Bounds that depend on the kind of adapter.
#[derive(Clone, Copy, Debug)]
pub(super) struct Thresholds {
    /// Maximum length of a list scanned by one workgroup; for longer lists three dispatches are faster.
    pub scan_alone: u32,
    /// Minimum constraints of a colour for a dispatch of its own; smaller neighbouring colours share a workgroup.
    pub wide_color: u32,
    /// Minimum contacts that are split for dispatches of their own.
    pub wide_split: u32,
    /// Maximum number of contacts, of bodies and of joints for which the fused kernel runs all sweeps in one workgroup.
    /// Hardly any colour of such a world is wide, so that each sweep is one workgroup anyway, and the launches are
    /// saved.
    pub fused: u32,
}

/// Measured on an NVIDIA H100, where a dispatch takes 2.2 µs (`benches/NOTES.md`). One lane solves 32 contacts in the
/// time of three dispatches.
const HARDWARE: Thresholds = Thresholds { scan_alone: 1 << 13, wide_color: 256, wide_split: 32, fused: 4096 };

/// Measured on lavapipe, where a lane is as fast as any other and a dispatch slow.
const SOFTWARE: Thresholds = Thresholds { scan_alone: 1 << 15, wide_color: 640, wide_split: 640, fused: 2048 };

impl Thresholds {
    /// Returns the bounds for an adapter.
    pub const fn of(is_software: bool) -> Self {
        if is_software { SOFTWARE } else { HARDWARE }
    }

    /// Returns the bounds with their names.
    pub const fn named(self) -> [(&'static str, u32); 4] {
        let Self { scan_alone, wide_color, wide_split, fused } = self;
        [("scan_alone", scan_alone), ("wide_color", wide_color), ("wide_split", wide_split), ("fused", fused)]
    }
}
