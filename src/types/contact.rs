//! Contacts, pairs of shapes whose boxes overlap, and their manifolds, the points at which they touch.

use bytemuck::{Pod, Zeroable};

/// [`Contact::flags`]: the number of points, 0 … 2.
pub const POINT_COUNT_MASK: u32 = 3;
/// [`Contact::flags`]: body A is static or kinematic.
pub const FIXED_A: u32 = 4;
/// [`Contact::flags`]: body B is static or kinematic.
pub const FIXED_B: u32 = 8;
/// [`Contact::flags`]: body A is a hub ([`crate::stages::color::split`]). The contact asks for no colour.
pub const HUB_A: u32 = 8192;
/// [`Contact::flags`]: body B is a hub. The contact asks for no colour.
pub const HUB_B: u32 = 16384;
/// [`Contact::flags`]: the manifold was kept from an earlier step, only its separations are new.
pub const RECYCLED: u32 = 16;
/// [`Contact::flags`]: one of the two shapes is a sensor; there are no points.
pub const SENSOR: u32 = 256;
/// [`Contact::flags`]: the shape of B is the sensor, and that of A is none.
pub const SENSOR_B: u32 = 1 << 20;
/// [`Contact::flags`]: the shape overlaps the sensor.
pub const OVERLAPS: u32 = 512;
/// [`Contact::flags`]: the impulses of the points include those of impacts, with which no step begins. From `collide`
/// on: the pair is apart and meets within the step.
pub const IMPACT: u32 = 1024;
/// [`Contact::flags`]: the contact is one of those with which a world begins: it has impulses, and was in no step.
pub const INITIAL: u32 = 2048;
/// [`Constraint::flags`](super::Constraint::flags): a preload is larger than any that grows in steps. The fastest
/// push-out, which is for overlaps, does not bound the force of such a spring.
pub const LOADED: u32 = 4096;
/// [`Constraint::flags`](super::Constraint::flags): the shape of A is a disc about the centre of mass. Its arm follows
/// the normal, and does not turn with the body.
pub const ROUND_A: u32 = 32768;
/// [`Constraint::flags`](super::Constraint::flags): the shape of B is a disc about the centre of mass.
pub const ROUND_B: u32 = 65536;
/// [`Constraint::flags`](super::Constraint::flags): first bit of the kind of the contact's spring, three bits
/// ([`Params::springs`](super::Params::springs)).
pub const SPRING_SHIFT: u32 = 17;
/// [`Constraint::flags`](super::Constraint::flags): mask of the kind of the spring.
pub const SPRING_MASK: u32 = 0xe_0000;
/// [`Contact::flags`]: the cached pose and manifold are valid (not the first step of this pair).
pub const CACHED: u32 = 32;
/// [`Contact::flags`]: in the previous step the pair touched, or overlapped if one is a sensor.
pub const TOUCHED: u32 = 64;
/// [`Contact::flags`]: `wake` or `sleep` is about to move this contact. Set only on the device and while they run.
pub const MARKED: u32 = 128;
/// [`Contact::flags`], of an archived contact: `wake` has restored it in this step. `sleep` drops it.
pub const RETURNED: u32 = 1 << 21;
/// [`Contact::flags`]: first bit of the colour in the previous step, 255 for none. Set from `match_contacts` to
/// `collide`.
pub const PAST_COLOR_SHIFT: u32 = 24;

/// A contact point of a [`Manifold`].
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct ContactPoint {
    /// Point from A's centre of mass, world axes, in the step that made the manifold, m.
    pub anchor_a: [f32; 2],
    /// Point from B's centre of mass, world axes, in the step that made the manifold, m.
    pub anchor_b: [f32; 2],
    /// Separation when the manifold was made, m. Negative is penetration.
    pub base_separation: f32,
    /// Separation now, m.
    pub separation: f32,
    /// Normal impulse accumulated in the last substep, and those of the step's impacts ([`IMPACT`]), N·s.
    pub normal_impulse: f32,
    /// Impulse along the tangent (the normal turned clockwise) accumulated in the last substep, and those of the step's
    /// impacts ([`IMPACT`]), N·s.
    pub tangent_impulse: f32,
}

/// A pair of shapes whose AABBs overlap. It lives from step to step as long as they do. Its points are in the
/// [`Manifold`] at the same index of another table, so that stages that look for a pair, a body or a colour need not
/// fetch four times as much.
///
/// Shape A is the producer: the one on the finer grid level; on one level the one that is not fixed, or of the lower
/// index.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Contact {
    /// Index of shape A.
    pub shape_a: u32,
    /// Index of shape B.
    pub shape_b: u32,
    /// Index of body A.
    pub body_a: u32,
    /// Index of body B.
    pub body_b: u32,
    /// Flags: [`POINT_COUNT_MASK`], [`FIXED_A`], …
    pub flags: u32,
    /// Colour, or [`NONE`](super::NONE) while not touching. From `match_contacts` to `collide`: the index of this
    /// contact in the previous step, or `NONE`.
    pub color: u32,
    /// Vertices of A and B that made each point: 16 bits a point, point 0 in the low ones.
    pub features: u32,
    /// Impulse against rolling accumulated in the last substep, N·m·s.
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
    /// Rotation of B when the manifold was made.
    pub cached_rotation_b: [f32; 2],
    /// Position of B in A's frame when the manifold was made, m. If B is a half plane: of A in B's frame.
    pub cached_position: [f32; 2],
    /// Points, of which the first `flags & POINT_COUNT_MASK` of the contact are valid.
    pub points: [ContactPoint; 2],
    /// Preload of the spring of each point, m: by so much less the contact overlaps there under its load at rest than
    /// the spring alone would let it.
    pub preloads: [f32; 2],
    /// Unused, zero.
    pub pad: [u32; 2],
}

impl Manifold {
    /// Returns the points in the order of their depth, the deepest first, by the flags of the contact. Constraints have
    /// them in this order.
    #[inline]
    #[must_use]
    pub fn by_depth(&self, flags: u32) -> [usize; 2] {
        let is_pair = flags & POINT_COUNT_MASK > 1;
        if is_pair && self.points[1].separation < self.points[0].separation { [1, 0] } else { [0, 1] }
    }
}

/// An archived contact: both bodies sleep. It is moved as a whole and hardly ever read. As two tables it would make the
/// kernels that move it need more buffers than every device has.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct SleepingContact {
    /// The contact when its bodies fell asleep.
    pub contact: Contact,
    /// The manifold when its bodies fell asleep.
    pub manifold: Manifold,
}
