//! Sweeps over the constraints: their colours, their flags, and the op list of the fused kernel (`shaders/fused.wgsl`),
//! which runs a whole step's sweeps in one workgroup.

use bytemuck::{Pod, Zeroable};

/// Threads in a workgroup of the kernels that need no barrier.
pub const LANES: u32 = 64;
/// Contacts that one workgroup ranks when constraints are put into colour order (`shaders/color.wgsl`).
pub const COLOR_BLOCK: u32 = 256;
/// Number of colours for contacts between two dynamic bodies: 0 … 22, assigned from the lowest. Box2D has 20.
pub const DYNAMIC_COLORS: u32 = 23;
/// Overflow colour: contacts that found no colour, solved one after the other, in order of their index, after the
/// dynamic colours.
pub const OVERFLOW_COLOR: u32 = 23;
/// First colour of contacts with a static or kinematic body: 24 … 31, assigned from the highest. A sweep solves them
/// last, so that their push wins: fewer bodies are pushed through walls.
pub const FIXED_COLORS_START: u32 = 24;
/// Number of colours. A sweep solves them in the order of their numbers.
pub const COLOR_COUNT: u32 = 32;
/// Minimum number of shapes of a world whose overflow is split ([`crate::stages::color::split`]). In a smaller one it
/// is short, and solved in order.
pub const MIN_SPLIT_SHAPES: u32 = 64;
/// Maximum number of contacts that are split. Those beyond are solved in order.
pub const MAX_SPLITS: u32 = 1 << 17;
/// Shares of a hub that are summed up one after the other; chunks may be summed up in parallel.
pub const SHARE_CHUNK: u32 = 128;
/// Word behind the colour starts: number of contacts that are split.
pub const SPLIT_COUNT: u32 = COLOR_COUNT + 1;
/// Word behind the colour starts: number of hubs.
pub const HUB_COUNT: u32 = COLOR_COUNT + 2;
/// Word behind the colour starts: number of shares.
pub const SHARE_COUNT: u32 = COLOR_COUNT + 3;
/// First word of the hubs behind the colour starts, three each: body, first share, number of shares. Behind all hubs
/// that there may be, the shares, two words each: row, body.
pub const HUB_WORDS: u32 = COLOR_COUNT + 4;
/// Claims a body can hold at a time while colouring; colour `c` uses slot `c % CLAIM_SLOTS`.
pub const CLAIM_SLOTS: u32 = 8;
/// Rounds after which a contact without a colour goes to [`OVERFLOW_COLOR`]. The 5,050-box pyramid needs 9 when all
/// its contacts are new.
pub const MAX_COLOR_ROUNDS: u32 = 31;
/// [`Sweep::flags`]: push penetrating bodies apart.
pub const USE_BIAS: u32 = 1;
/// [`Sweep::flags`]: solve friction.
pub const USE_FRICTION: u32 = 2;
/// [`Sweep::flags`], joints only: the last sweep before bodies move; afterwards a joint subtracts its impulses from the
/// accumulators.
pub const WITHDRAW: u32 = 4;
/// [`Sweep::flags`]: start from zero impulses (warm starting is off).
pub const FRESH: u32 = 8;
/// [`Sweep::flags`]: no body has moved since the previous sweep, so its separations still hold.
pub const MEASURED: u32 = 16;
/// [`Sweep::flags`]: `continuous` stops bullets at dynamic bodies, not every body at all others.
pub const ONLY_BULLETS: u32 = 32;
/// [`Sweep::flags`], joints only: the first sweep after bodies moved; before it a joint adds its impulses back, in
/// their new directions.
pub const DEPOSIT: u32 = 64;
/// [`Sweep::flags`], relax in worlds that bounce: approaches faster than the threshold are left to the next impacts,
/// which would otherwise find nothing to reflect.
pub const LEAVE_IMPACTS: u32 = 128;
/// [`Sweep::flags`], joints of a tree only: rows that hold a point, an angle or a place are left to the tree's solve.
pub const HELD: u32 = 256;
/// [`Sweep::flags`], joints of a tree only: those rows alone, of a tree that is swept.
pub const HELD_ALONE: u32 = 1024;
/// [`Sweep::flags`], tails only: the contacts that are split have been visited.
pub const SPLIT_DONE: u32 = 512;
/// Most ops in the list of the fused kernel (`shaders/fused.wgsl`). 8 KiB; usual plans have less than a hundred.
pub const MAX_OPS: u32 = 512;
/// Op of the fused kernel: end of the list (`shaders/fused.wgsl`).
pub const OP_END: u32 = 0;
/// Op of the fused kernel: [`crate::step::Stage::WarmStart`].
pub const OP_WARM_START: u32 = 1;
/// Op of the fused kernel: [`crate::step::Stage::WarmStartJoints`].
pub const OP_WARM_START_JOINTS: u32 = 2;
/// Op of the fused kernel: [`crate::step::Stage::IntegrateVelocities`].
pub const OP_INTEGRATE_VELOCITIES: u32 = 3;
/// Op of the fused kernel: [`crate::step::Stage::SolveJoints`], and relax.
pub const OP_SOLVE_JOINTS: u32 = 4;
/// Op of the fused kernel: [`crate::step::Stage::Solve`], and relax.
pub const OP_SOLVE: u32 = 5;
/// Op of the fused kernel: [`crate::step::Stage::IntegratePositions`].
pub const OP_INTEGRATE_POSITIONS: u32 = 6;
/// Op of the fused kernel: [`crate::step::Stage::ProjectJoints`].
pub const OP_PROJECT_JOINTS: u32 = 7;
/// Op of the fused kernel: [`crate::step::Stage::Project`].
pub const OP_PROJECT: u32 = 8;
/// Op of the fused kernel: [`crate::step::Stage::Restitution`].
pub const OP_RESTITUTION: u32 = 9;

/// Colours and flags of one dispatch of a sweep. Uniform, one for each dispatch.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Pod, Zeroable)]
pub struct Sweep {
    /// First colour.
    pub first_color: u32,
    /// End of the colours, one past the last.
    pub end_color: u32,
    /// Flags: [`USE_BIAS`], [`USE_FRICTION`], [`WITHDRAW`], [`DEPOSIT`], …
    pub flags: u32,
    /// Colouring round (`color_claim`, `color_commit`).
    pub round: u32,
}
