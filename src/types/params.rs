//! Constants of a world: the uniform `params`, its switches, force fields and grid levels.

use bytemuck::{Pod, Zeroable};

use super::grid::{Level, MAX_LEVELS};
use super::shape::ShapeData;

/// Most half planes that can be added to a running world.
pub const MAX_LATE_PLANES: usize = 16;
/// Most force fields of a scene.
pub const MAX_FIELDS: usize = 4;
/// Most materials with a name in a scene.
pub const MAX_MATERIALS: usize = 16;
/// Most pairs of materials: every pair once, and each material with itself.
pub const MAX_MATERIAL_PAIRS: usize = MAX_MATERIALS * (MAX_MATERIALS + 1) / 2;
/// Most kinds of springs of contacts, the one of the settings included.
pub const MAX_SPRINGS: usize = 8;
/// [`Params::switches`]: clamp the accumulated impulse (right) instead of each increment (wrong, for teaching).
pub const ACCUMULATE: u32 = 1;
/// [`Params::switches`]: keep manifolds while the pair moves little.
pub const RECYCLE: u32 = 2;
/// [`Params::switches`]: give every contact [`OVERFLOW_COLOR`](super::OVERFLOW_COLOR) (tests).
pub const FORCE_OVERFLOW: u32 = 4;
/// [`Params::switches`]: some pairs of shapes bounce, so the largest impulses of a step are kept.
pub const BOUNCES: u32 = 32;
/// [`Params::switches`]: start from the impulses of the previous step.
pub const WARM_START: u32 = 16;
/// [`Params::switches`]: some shapes have less friction while sliding than at rest.
pub const KINETIC_FRICTION: u32 = 64;
/// [`Params::switches`]: some surfaces are conveyor belts.
pub const CONVEYORS: u32 = 128;
/// [`Params::switches`]: some shapes resist rolling.
pub const ROLLING: u32 = 256;
/// [`Params::switches`]: the world has kinematic bodies.
pub const MOVING_WALLS: u32 = 512;
/// [`Params::switches`]: the world has bullets.
pub const BULLETS: u32 = 1024;
/// [`Params::switches`]: bodies at rest fall asleep.
pub const SLEEP: u32 = 2048;
/// [`Params::switches`]: the scene has a table of pairs of materials ([`Params::pair_friction`]).
pub const MATERIAL_PAIRS: u32 = 4096;
/// [`Params::switches`]: contacts of some materials have springs of their own ([`Params::springs`]).
pub const MATERIAL_SPRINGS: u32 = 8192;
/// [`Params::switches`]: the scene has a rule about contacts.
pub const RULED: u32 = 16384;
/// [`Params::switches`]: constraints have a [`Surface`](super::Surface).
pub const SURFACES: u32 = KINETIC_FRICTION | CONVEYORS | ROLLING;

/// [`Params::friction_mix`], [`Params::restitution_mix`]: the smaller of two coefficients.
pub const MIX_MIN: u32 = 0;
/// [`Params::friction_mix`], [`Params::restitution_mix`]: the larger of two coefficients.
pub const MIX_MAX: u32 = 1;
/// [`Params::friction_mix`], [`Params::restitution_mix`]: the geometric mean.
pub const MIX_GEOMETRIC: u32 = 2;
/// [`Params::friction_mix`], [`Params::restitution_mix`]: the mean.
pub const MIX_MEAN: u32 = 3;
/// [`Params::friction_mix`], [`Params::restitution_mix`]: the product.
pub const MIX_PRODUCT: u32 = 4;

/// Values of all pairs of materials, four a row.
pub type PairTable = [[f32; 4]; MAX_MATERIAL_PAIRS / 4];

/// Constants of a step. Uniform.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub struct Params {
    /// Gravity, m/s².
    pub gravity: [f32; 2],
    /// Length of the step, s.
    pub dt: f32,
    /// Length of a substep, s.
    pub h: f32,
    /// Number of body slots in the world.
    pub body_count: u32,
    /// Number of shape slots in the world.
    pub shape_count: u32,
    /// Contacts that fit the tables; `u32::MAX` on the CPU.
    pub contact_capacity: u32,
    /// Grid cells of all levels.
    pub cell_count: u32,
    /// Between two dynamic bodies: bias rate 1/s, mass scale, impulse scale, slop m.
    pub contact_softness: [f32; 4],
    /// With a static or kinematic body: bias rate 1/s, mass scale, impulse scale, slop m.
    pub fixed_softness: [f32; 4],
    /// Fastest push-out, m/s. Larger values let deep overlaps explode.
    pub push_speed: f32,
    /// Distance below which shapes are in contact, m.
    pub speculative_distance: f32,
    /// Approach speed below which bodies do not bounce, m/s.
    pub restitution_threshold: f32,
    /// Motion up to which a touching pair keeps its manifold, m.
    pub recycle_distance: f32,
    /// Motion up to which a pair that does not touch is not tested again, m.
    pub recycle_distance_apart: f32,
    /// Margin added to every AABB on each side, m.
    pub aabb_margin: f32,
    /// Largest speed, m/s; faster bodies are slowed to it.
    pub max_speed: f32,
    /// Largest angular speed, rad/s; faster spins are slowed to it. Discs have [`Self::max_disc_spin`].
    pub max_spin: f32,
    /// Share of the penetration that one position sweep removes (projection mode).
    pub projection_rate: f32,
    /// Largest position correction of one sweep, m (projection mode).
    pub max_correction: f32,
    /// Penetration that position correction does not correct, m.
    pub linear_slop: f32,
    /// Switches: [`ACCUMULATE`], [`RECYCLE`], …
    pub switches: u32,
    /// Number of grid levels in use.
    pub level_count: u32,
    /// Blocks of [`COLOR_BLOCK`](super::COLOR_BLOCK) contacts in the colour histogram.
    pub color_blocks: u32,
    /// Half planes of the scene, which are the first shapes.
    pub half_plane_count: u32,
    /// Slots of joints in the world.
    pub joint_count: u32,
    /// Speed below which a body is quiet, m/s.
    pub sleep_speed: f32,
    /// Number of quiet steps after which a body may fall asleep.
    pub sleep_steps: u32,
    /// Sliding speed below which a contact with kinetic friction counts as at rest, m/s.
    pub stick_speed: f32,
    /// Share of the overlap beyond the slop by which a contact's preload grows in a step; 0 if contacts have none.
    pub preload_rate: f32,
    /// Word of the device's `partners` at which the pair exclusions' heads begin ([`crate::scene::PairExclusions`]):
    /// two words a body.
    pub exclusion_heads: u32,
    /// Word of `partners` at which the exclusions' links begin: four words a slot of a joint.
    pub exclusion_links: u32,
    /// Number of force fields in use.
    pub field_count: u32,
    /// Number of half planes added to the running world.
    pub late_plane_count: u32,
    /// Approach speed below which a point that carries an impulse does not bounce, m/s.
    pub pressing_threshold: f32,
    /// Time in which gravity adds the slowest approach that is an impact, s.
    pub impact_time: f32,
    /// Grid levels on which static or kinematic shapes may lie, as bits.
    pub fixed_levels: u32,
    /// Mean overlap of a contact below which its preload shrinks, m.
    pub unload_overlap: f32,
    /// Largest angular speed of a body that is a disc about its centre of mass, rad/s.
    pub max_disc_spin: f32,
    /// Mixing rule for friction: [`MIX_MIN`], ….
    pub friction_mix: u32,
    /// Mixing rule for restitution: [`MIX_MIN`], ….
    pub restitution_mix: u32,
    /// Mass that a body needs for an impulse of a contact between moving bodies, kg/(N·s); 0 if masses are not scaled
    /// (`src/mass_scale.rs`).
    pub mass_per_impulse: f32,
    /// Friction at rest between two materials, four pairs a row; below 0 where the mixing rule holds. The index of the
    /// pair of materials `a ≤ b`, numbered from 1, is `b (b − 1) / 2 + a − 1`. Read only with [`MATERIAL_PAIRS`].
    pub pair_friction: PairTable,
    /// Friction while sliding between two materials, by the same index.
    pub pair_kinetic_friction: PairTable,
    /// Restitution between two materials, by the same index.
    pub pair_restitution: PairTable,
    /// Bias rate, mass scale, impulse scale and slop of the springs of contacts by kind: between moving bodies, and
    /// with fixed ones. Kind 0 is that of the settings. Read only with [`MATERIAL_SPRINGS`].
    pub springs: [[[f32; 4]; 2]; MAX_SPRINGS],
    /// Kind of the spring between two materials, four bits each, eight a word. The index of the pair `a ≤ b`, numbered
    /// from 1, with 0 for shapes without a named one, is `b (b + 1) / 2 + a`.
    pub pair_springs: [[u32; 4]; 5],
    /// Indices of the half planes added to the running world among the shapes, four a row.
    pub late_planes: [[u32; 4]; MAX_LATE_PLANES / 4],
    /// Force fields that attract bodies.
    pub fields: [FieldData; MAX_FIELDS],
    /// Levels of the grid.
    pub levels: [Level; MAX_LEVELS],
}

/// A force field that attracts dynamic bodies to a point.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct FieldData {
    /// Point to which it attracts, m.
    pub position: [f32; 2],
    /// Force on every body, N.
    pub force: f32,
    /// Acceleration of every body, m/s².
    pub acceleration: f32,
    /// Distance up to which the field does not act, m.
    pub core: f32,
    /// Unused.
    pub pad_0: u32,
    /// Unused.
    pub pad_1: [u32; 2],
}

impl Default for Params {
    fn default() -> Self {
        Self::zeroed()
    }
}

impl Params {
    /// Returns the value of a table for the materials of two shapes; `None` where the mixing rule holds.
    #[inline]
    #[must_use]
    pub fn of_pair(&self, table: &PairTable, a: &ShapeData, b: &ShapeData) -> Option<f32> {
        if self.switches & MATERIAL_PAIRS == 0 {
            return None;
        }
        let (a, b) = (a.material(), b.material());
        let value = table.as_flattened().get(Self::pair_index(a.min(b), a.max(b))?);
        value.copied().filter(|&value| value >= 0.0)
    }

    /// Returns the index of the pair of the materials `a ≤ b`, numbered from 1; `None` if `a` is 0.
    #[inline]
    #[must_use]
    pub fn pair_index(a: usize, b: usize) -> Option<usize> {
        (a > 0).then(|| b * (b - 1) / 2 + a - 1)
    }

    /// Returns the kind of the spring between the materials of two shapes.
    #[inline]
    #[must_use]
    pub fn spring_of(&self, a: &ShapeData, b: &ShapeData) -> u32 {
        if self.switches & MATERIAL_SPRINGS == 0 {
            return 0;
        }
        let (word, shift) = Self::spring_place(a.material(), b.material());
        self.pair_springs.as_flattened().get(word).map_or(0, |kinds| kinds >> shift & 15)
    }

    /// Returns the word and the shift of the kind of the spring between two materials, numbered from 1.
    #[inline]
    #[must_use]
    pub fn spring_place(a: usize, b: usize) -> (usize, usize) {
        let (least, most) = (a.min(b), a.max(b));
        let index = most * (most + 1) / 2 + least;
        (index / 8, index % 8 * 4)
    }

    /// Returns the indices of all half planes among the shapes; every shape is tested against each of them.
    pub fn planes(&self) -> impl Iterator<Item = u32> + '_ {
        let late = self.late_planes.as_flattened().iter().take(self.late_plane_count as usize);
        (0..self.half_plane_count).chain(late.copied())
    }
}
