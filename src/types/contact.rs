//! Contacts: pairs of shapes whose boxes overlap, and how they touch.

use bytemuck::{Pod, Zeroable};

/// [`Contact::flags`]: the number of points, 0 … 2.
pub const POINT_COUNT_MASK: u32 = 3;
/// [`Contact::flags`]: body A is static or kinematic.
pub const FIXED_A: u32 = 4;
/// [`Contact::flags`]: body B is static or kinematic.
pub const FIXED_B: u32 = 8;
/// [`Contact::flags`]: the manifold was kept from an earlier step, only its separations are new.
pub const RECYCLED: u32 = 16;
/// [`Contact::flags`]: one of the two is a sensor; there are no points.
pub const SENSOR: u32 = 256;
/// [`Contact::flags`]: something overlaps the sensor.
pub const OVERLAPS: u32 = 512;
/// [`Contact::flags`]: the cached pose and manifold are valid (not the first step of this pair).
pub const CACHED: u32 = 32;
/// [`Contact::flags`]: in the step before the pair touched, or overlapped if one is a sensor.
pub const TOUCHED: u32 = 64;
/// [`Contact::flags`]: one that `wake` or `sleep` is about to move. Only on the device, and only while they run.
pub const MARKED: u32 = 128;
/// [`Contact::flags`]: above this many bits, from `recall` to `collide`, the colour of the step before; 255 for none.
pub const PAST_COLOR_SHIFT: u32 = 24;

/// One point of a [`Manifold`].
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct ContactPoint {
    /// From A's centre of mass, world axes, as of the step that made the manifold, m.
    pub anchor_a: [f32; 2],
    /// From B's centre of mass, likewise.
    pub anchor_b: [f32; 2],
    /// Separation when the manifold was made, m. Negative is penetration.
    pub base_separation: f32,
    /// Separation now, m.
    pub separation: f32,
    /// Accumulated, of the last substep, N·s.
    pub normal_impulse: f32,
    /// Impulse along the tangent (the normal turned clockwise), N·s.
    pub tangent_impulse: f32,
}

/// A pair of shapes whose AABBs overlap: what most stages ask of it. How the two touch is its [`Manifold`], at the same
/// place of another table, so that who looks for a pair, a body or a colour does not fetch four times as much. It
/// lives on from step to step as long as they overlap.
///
/// Shape A is the producer: the one on the finer grid level, or of the lower index.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Contact {
    /// Index.
    pub shape_a: u32,
    /// Index.
    pub shape_b: u32,
    /// Index.
    pub body_a: u32,
    /// Index.
    pub body_b: u32,
    /// [`POINT_COUNT_MASK`], [`FIXED_A`], …
    pub flags: u32,
    /// [`NONE`](super::NONE) while not touching. From `recall` to `collide`, the index of this contact in the step before,
    /// or `NONE`.
    pub color: u32,
    /// Which vertex of A met which of B, 16 bits a point, those of point 0 first.
    pub features: u32,
    /// Accumulated against rolling, of the last substep, N·m·s.
    pub rolling_impulse: f32,
}

/// Contact points of the two shapes of a [`Contact`], and their relative pose when these were found.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Manifold {
    /// Unit vector from A to B, world axes; zero while not touching.
    pub normal: [f32; 2],
    /// Rotation of A when the manifold was made.
    pub cached_rotation_a: [f32; 2],
    /// Rotation of B likewise.
    pub cached_rotation_b: [f32; 2],
    /// B's position in A's frame likewise, or, if B is a half plane, in B's frame from A, m.
    pub cached_position: [f32; 2],
    /// Points, of which the first `flags & POINT_COUNT_MASK` of the contact are valid.
    pub points: [ContactPoint; 2],
}

/// A contact that was put by, as both bodies sleep. It is moved as a whole, and hardly ever looked at; as two tables, a
/// kernel that moves it would need more buffers than a device need have.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct SleepingContact {
    /// The contact when its bodies fell asleep.
    pub contact: Contact,
    /// Its manifold then.
    pub manifold: Manifold,
}
