//! The structs that Rust and WGSL share, byte for byte (`shaders/types.wgsl`).
//!
//! Every struct is made of 16-byte rows, so that a row is one `vec4` load on the device and no padding is left to
//! chance. `tests/layout.rs` parses the WGSL and compares names, sizes and offsets with these definitions: change
//! one side alone and it fails.
//!
//! SI units, y up, angles counter-clockwise. World frames are centre-of-mass frames: a [`Pose`] places a body's centre
//! of mass, and [`Shape::offset`] is relative to it.

use bytemuck::{Pod, Zeroable};

/// "No such index": no cell, no colour, no contact.
pub const NONE: u32 = u32::MAX;

/// Threads in a workgroup of the kernels that need no barrier.
pub const LANES: u32 = 64;
/// Contacts that one workgroup ranks when constraints are put into colour order (`shaders/color.wgsl`).
pub const COLOR_BLOCK: u32 = 256;

/// Colours 0 … 22, for contacts between two dynamic bodies, given out from the lowest. Box2D has 20.
pub const DYNAMIC_COLORS: u32 = 23;
/// Contacts that found no colour; solved one after the other, in order of their index, after the dynamic colours.
pub const OVERFLOW_COLOR: u32 = 23;
/// Colours 24 … 31, for contacts with a static or kinematic body, given out from the highest. They come last in a
/// sweep, which gives them the last word: fewer bodies are pushed through walls.
pub const FIRST_FIXED_COLOR: u32 = 24;
/// All of them, in the order in which a sweep solves them.
pub const COLOR_COUNT: u32 = 32;
/// Claims a body can hold at a time while colouring; colour `c` uses slot `c % CLAIM_SLOTS`.
pub const CLAIM_SLOTS: u32 = 8;
/// Rounds after which a contact without a colour goes to [`OVERFLOW_COLOR`]. The 5,050-box pyramid needs 9 when all
/// its contacts are new.
pub const MAX_COLOR_ROUNDS: u32 = 31;

/// Grid levels: for each of eight sizes of shapes one of square cells and two bands, of low and of narrow ones.
pub const MAX_LEVELS: usize = 24;

/// Half planes that can be added to a running world.
pub const MAX_LATE_PLANES: usize = 16;
/// Fields that a scene can have.
pub const MAX_FIELDS: usize = 4;

/// [`Shape::kind`], low byte.
pub const CIRCLE: u32 = 0;
/// [`Shape::kind`], low byte. With or without a radius.
pub const BOX: u32 = 1;
/// [`Shape::kind`], low byte: [`VERTEX_COUNT_SHIFT`] vertices from [`Shape::first_vertex`] on, counter-clockwise, and a
/// radius. Two vertices are a segment or a capsule.
pub const POLYGON: u32 = 2;
/// [`Shape::kind`], low byte: everything below the line through the shape's centre along its x axis. These come first
/// among the shapes.
pub const HALF_PLANE: u32 = 3;
/// [`Shape::kind`], low byte: a place that no shape has.
pub const NO_SHAPE: u32 = 4;
/// [`Shape::kind`]: the low byte is the geometry.
pub const GEOMETRY_MASK: u32 = 0xff;
/// [`Shape::kind`]: the body is static or kinematic.
pub const FIXED_SHAPE: u32 = 0x100;

/// [`Shape::kind`]: the body is kinematic. Set beside [`FIXED_SHAPE`]; only pictures tell the two apart.
pub const KINEMATIC_SHAPE: u32 = 0x200;
/// [`Shape::kind`]: the body is, or was, jointed to one that it does not touch ([`crate::scene::Ties`]).
pub const JOINED_SHAPE: u32 = 0x400;
/// [`Shape::kind`]: the shape notices what overlaps it and touches nothing.
pub const SENSOR_SHAPE: u32 = 0x800;
/// [`Shape::kind`]: the body is dynamic and a bullet: it does not jump over other dynamic bodies either.
pub const BULLET_SHAPE: u32 = 0x1_0000;
/// [`Shape::kind`]: the body is dynamic and nothing turns it. Only pictures ask.
pub const UPRIGHT_SHAPE: u32 = 0x10_0000;
/// [`Shape::kind`]: where the number of vertices begins, four bits.
pub const VERTEX_COUNT_SHIFT: u32 = 12;
/// Vertices that a polygon can have.
pub const MAX_VERTICES: u32 = 8;

/// [`Aabb::min`], x, of a half plane, as a float: above any coordinate of a normal.
pub const HALF_PLANE_ROW: u32 = 2;

/// [`Body::kind`].
pub const STATIC: u32 = 0;
/// [`Body::kind`].
pub const KINEMATIC: u32 = 1;
/// [`Body::kind`].
pub const DYNAMIC: u32 = 2;
/// [`Body::kind`]: a slot that no body has.
pub const VACANT: u32 = 3;

/// [`Event::kind`].
pub const EVENT_BEGIN: u32 = 0;
/// [`Event::kind`].
pub const EVENT_END: u32 = 1;
/// [`Event::kind`].
pub const EVENT_SENSOR_BEGIN: u32 = 2;
/// [`Event::kind`].
pub const EVENT_SENSOR_END: u32 = 3;
/// [`Event::kind`]: then `shape_a` is the joint's index, `shape_b` its generation, and `point` holds the indices of its
/// bodies, −1 for the world: the joint may be gone when the host hears of it.
pub const EVENT_JOINT_BROKE: u32 = 4;

/// [`Command::kind`].
pub const COMMAND_IMPULSE: u32 = 0;
/// [`Command::kind`].
pub const COMMAND_ANGULAR_IMPULSE: u32 = 1;
/// [`Command::kind`].
pub const COMMAND_FORCE: u32 = 2;
/// [`Command::kind`].
pub const COMMAND_TORQUE: u32 = 3;
/// [`Command::kind`].
pub const COMMAND_VELOCITY: u32 = 4;
/// [`Command::kind`].
pub const COMMAND_ANGULAR_VELOCITY: u32 = 5;
/// [`Command::kind`].
pub const COMMAND_TELEPORT: u32 = 6;
/// [`Command::kind`].
pub const COMMAND_TARGET: u32 = 7;
/// [`Command::kind`]. Also of a slot whose body was removed: what slept with it wakes.
pub const COMMAND_WAKE: u32 = 8;
/// [`Command::kind`]: wakes every body.
pub const COMMAND_WAKE_ALL: u32 = 9;
/// [`Command::kind`], of a joint like all that follow: the goal of a row.
pub const COMMAND_JOINT_GOAL: u32 = 10;
/// [`Command::kind`]: the goal of a row and its largest impulse.
pub const COMMAND_JOINT_MOTOR: u32 = 11;
/// [`Command::kind`]: the anchor on A, or in the world.
pub const COMMAND_JOINT_ANCHOR: u32 = 12;
/// [`Command::kind`]: the reference angle.
pub const COMMAND_JOINT_REFERENCE: u32 = 13;
/// [`Command::kind`]: on if the value is not 0, or off.
pub const COMMAND_JOINT_ENABLE: u32 = 14;

/// [`BodyState::status`]: the body held a NaN or an infinity and was taken out of the simulation.
pub const QUARANTINED: u32 = 1;

/// [`BodyState::status`]: the body does not move and needs no contact with others that do not: a dynamic body that
/// sleeps, or a static body or a kinematic one at rest. Only with [`SLEEP`].
pub const ASLEEP: u32 = 2;
/// [`BodyState::status`]: woken since the last `wake`, by a command or by its own velocity.
pub const WOKEN: u32 = 4;
/// [`BodyState::status`]: quiet for long enough to fall asleep. Only while `sleep` runs.
pub const READY: u32 = 8;
/// [`BodyState::status`]: above this many bits, the steps for which the body has been quiet, at most 65,535.
pub const QUIET_SHIFT: u32 = 16;
/// [`BodyState::status`]: the bits of that count.
pub const QUIET_MASK: u32 = 0xffff_0000;

/// A flag of an island, at its root: it wakes.
pub const ISLAND_WAKE: u32 = 1;
/// A flag of an island, at its root: something that touches it is awake, so it cannot fall asleep.
pub const ISLAND_BLOCKED: u32 = 2;

/// [`Counters::awake_levels`]: a half plane is not [`ASLEEP`].
pub const AWAKE_HALF_PLANE: u32 = 0x8000_0000;

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

/// [`Params::switches`]: clamp the accumulated impulse (right) instead of each increment (wrong, for teaching).
pub const ACCUMULATE: u32 = 1;
/// [`Params::switches`]: keep manifolds while the pair moves little.
pub const RECYCLE: u32 = 2;
/// [`Params::switches`]: give every contact [`OVERFLOW_COLOR`] (tests).
pub const FORCE_OVERFLOW: u32 = 4;
/// [`Params::switches`]: mix restitution by the larger value, not the smaller.
pub const RESTITUTION_MAX: u32 = 8;
/// [`Params::switches`]: some shapes bounce, so the largest impulses of a step are kept.
pub const BOUNCES: u32 = 32;
/// [`Params::switches`]: carry impulses over from the step before.
pub const WARM_START: u32 = 16;
/// [`Params::switches`]: some shapes hold better at rest than while sliding.
pub const KINETIC_FRICTION: u32 = 64;
/// [`Params::switches`]: some surfaces run along themselves.
pub const CONVEYORS: u32 = 128;
/// [`Params::switches`]: some shapes resist rolling.
pub const ROLLING: u32 = 256;
/// [`Params::switches`]: there are kinematic bodies.
pub const MOVING_WALLS: u32 = 512;
/// [`Params::switches`]: there are bullets.
pub const BULLETS: u32 = 1024;
/// [`Params::switches`]: bodies at rest fall asleep.
pub const SLEEP: u32 = 2048;

/// [`Params::switches`]: constraints have a [`Surface`].
pub const SURFACES: u32 = KINETIC_FRICTION | CONVEYORS | ROLLING;

/// Colours of joints; the last is their overflow, solved in order.
pub const JOINT_COLORS: u32 = 32;
/// The last colour of joints.
pub const JOINT_OVERFLOW: u32 = JOINT_COLORS - 1;

/// [`Joint::flags`]: the number of rows, 1 … 7.
pub const ROW_COUNT_MASK: u32 = 7;
/// [`Joint::flags`]: body A is the world; [`Joint::body_a`] repeats body B and is not used. Set beside
/// [`JOINT_FIXED_A`].
pub const WORLD_A: u32 = 8;
/// [`Joint::flags`]: body A is static, kinematic or the world.
pub const JOINT_FIXED_A: u32 = 16;
/// [`Joint::flags`]: body B is static or kinematic.
pub const JOINT_FIXED_B: u32 = 32;
/// [`Joint::flags`]: switched off.
pub const JOINT_DISABLED: u32 = 64;
/// [`Joint::flags`]: a place that no joint has. Set beside [`JOINT_DISABLED`], without rows.
pub const JOINT_VACANT: u32 = 128;
/// [`Joint::flags`]: the two bodies do not touch each other while the joint holds.
pub const JOINT_APART: u32 = 256;
/// [`Joint::flags`]: came while the world runs; its reference angle, and the goals of its rows with [`ROW_MEASURE`], are
/// as the bodies stand when the next step begins.
pub const JOINT_FRESH: u32 = 512;
/// [`Joint::flags`]: where the type begins, four bits: the places in [`crate::scene::JointKind`], from 0.
pub const JOINT_TYPE_SHIFT: u32 = 12;

/// [`JointState::status`]: the joint broke.
pub const BROKEN: u32 = 1;
/// [`JointState::status`]: an event has told so.
pub const BREAK_TOLD: u32 = 2;

/// [`JointRow::kind`], low nibble: along the line from anchor to anchor; the position is their distance.
pub const ROW_ALONG: u32 = 0;
/// [`JointRow::kind`]: along A's axis.
pub const ROW_AXIS: u32 = 1;
/// [`JointRow::kind`]: across A's axis, to its left.
pub const ROW_ACROSS: u32 = 2;
/// [`JointRow::kind`]: the angle of B against A.
pub const ROW_ANGLE: u32 = 3;
/// [`JointRow::kind`]: both coordinates of anchor B against anchor A, as one block of two.
pub const ROW_POINT: u32 = 4;
/// [`JointRow::kind`]: the part that says what moves.
pub const ROW_GEOMETRY: u32 = 0xf;
/// [`JointRow::kind`], second nibble: holds the position at the goal. Its coefficients are bias rate, mass scale and
/// impulse scale, as a contact's.
pub const ROW_EQUALITY: u32 = 0x00;
/// [`JointRow::kind`]: the position is at least the goal.
pub const ROW_LOWER: u32 = 0x10;
/// [`JointRow::kind`]: the position is at most the goal.
pub const ROW_UPPER: u32 = 0x20;
/// [`JointRow::kind`]: drives the velocity to the goal.
pub const ROW_MOTOR: u32 = 0x30;
/// [`JointRow::kind`]: pulls towards the goal. Its coefficients are stiffness and damping.
pub const ROW_SPRING: u32 = 0x40;
/// [`JointRow::kind`]: the part that says what happens to it.
pub const ROW_ROLE: u32 = 0xf0;
/// [`JointRow::kind`]: stiffness and damping of a spring are for one kilogram of effective mass: (2πf)² and 2ζ·2πf.
pub const ROW_BY_MASS: u32 = 0x100;
/// [`JointRow::kind`]: the goal is the distance of the anchors when the next step begins ([`JOINT_FRESH`]).
pub const ROW_MEASURE: u32 = 0x200;

/// [`Sweep::flags`]: push penetrating bodies apart.
pub const USE_BIAS: u32 = 1;
/// [`Sweep::flags`]: solve friction.
pub const USE_FRICTION: u32 = 2;
/// [`Sweep::flags`], of joints: the last visit before bodies move; afterwards a joint takes its impulses out of the
/// accumulators.
pub const WITHDRAW: u32 = 4;
/// [`Sweep::flags`]: forget the impulses of the substep before (warm starting is off).
pub const FRESH: u32 = 8;
/// [`Sweep::flags`]: nothing has moved since the sweep before, so that its separations still hold.
pub const MEASURED: u32 = 16;
/// [`Sweep::flags`]: `continuous` stops bullets at dynamic bodies, not every body at all others.
pub const ONLY_BULLETS: u32 = 32;

/// [`Sweep::flags`], of joints: the first visit after bodies moved; before it a joint puts its impulses back, in their
/// new directions.
pub const DEPOSIT: u32 = 64;

/// [`Counters::overflow_bits`]: more pairs than contact capacity.
pub const OVERFLOW_CONTACTS: u32 = 1;

/// Lines of a list of what one workgroup does alone, at most (`shaders/alone.wgsl`). 8 KiB; usual
/// plans have less than a hundred.
pub const MOST_OPS: u32 = 512;
/// In a list of what one workgroup does alone: its end (`shaders/alone.wgsl`).
pub const OP_END: u32 = 0;
/// In such a list: [`crate::step::Stage::WarmStart`].
pub const OP_WARM_START: u32 = 1;
/// In such a list: [`crate::step::Stage::WarmStartJoints`].
pub const OP_WARM_START_JOINTS: u32 = 2;
/// In such a list: [`crate::step::Stage::IntegrateVelocities`].
pub const OP_INTEGRATE_VELOCITIES: u32 = 3;
/// In such a list: [`crate::step::Stage::SolveJoints`], and relax.
pub const OP_SOLVE_JOINTS: u32 = 4;
/// In such a list: [`crate::step::Stage::Solve`], and relax.
pub const OP_SOLVE: u32 = 5;
/// In such a list: [`crate::step::Stage::IntegratePositions`].
pub const OP_INTEGRATE_POSITIONS: u32 = 6;
/// In such a list: [`crate::step::Stage::ProjectJoints`].
pub const OP_PROJECT_JOINTS: u32 = 7;
/// In such a list: [`crate::step::Stage::Project`].
pub const OP_PROJECT: u32 = 8;
/// In such a list: [`crate::step::Stage::Restitution`].
pub const OP_RESTITUTION: u32 = 9;

/// One level of the broadphase grid. The plane is wrapped around a torus of `2^log2_width × 2^log2_height` cells, so
/// no body is ever outside: cells that share a slot only cost a test.
///
/// The levels go from fine to coarse. Where many long shapes lie flat or upright, the level of their size is followed
/// by up to two bands, whose cells are as long but thinner; in square cells every small shape would meet all of them.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Level {
    /// 1 / width and 1 / height of a cell, in 1/m.
    pub inv_cell: [f32; 2],
    /// Half the width and height of a cell, in m. No shape of this level reaches further from its middle, margin
    /// included.
    pub half_cell: [f32; 2],
    /// Cells from west to east, as a power of two, at least 2 (four cells).
    pub log2_width: u32,
    /// Cells from south to north, likewise.
    pub log2_height: u32,
    /// Index of this level's first cell.
    pub first_cell: u32,
    /// The bands of this level, which follow it. 0 for a band itself.
    pub bands: u32,
}

/// What is constant for a whole step. Uniform.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Params {
    /// m/s².
    pub gravity: [f32; 2],
    /// Length of the step, s.
    pub dt: f32,
    /// Length of a substep, s.
    pub h: f32,
    /// Bodies in the world.
    pub body_count: u32,
    /// Shapes in the world.
    pub shape_count: u32,
    /// Contacts that fit. The CPU's is `u32::MAX`.
    pub contact_capacity: u32,
    /// Grid cells of all levels.
    pub cell_count: u32,
    /// Between two dynamic bodies: bias rate 1/s, mass scale, impulse scale, slop m.
    pub contact_softness: [f32; 4],
    /// With a static or kinematic body, likewise.
    pub fixed_softness: [f32; 4],
    /// Fastest push-out, m/s. Larger values let deep overlaps explode.
    pub push_speed: f32,
    /// Shapes closer than this are in contact, m.
    pub speculative_distance: f32,
    /// Impacts slower than this do not bounce, m/s.
    pub restitution_threshold: f32,
    /// A touching pair keeps its manifold while it moves less than this, m.
    pub recycle_distance: f32,
    /// A pair that does not touch keeps being apart while it moves less than this, m.
    pub recycle_distance_apart: f32,
    /// Added to every AABB on each side, m.
    pub aabb_margin: f32,
    /// Faster bodies are slowed to this, m/s.
    pub max_speed: f32,
    /// Faster spins are slowed to this, rad/s.
    pub max_spin: f32,
    /// Share of the penetration that one position sweep removes (projection mode).
    pub projection_rate: f32,
    /// Largest position correction of one sweep, m (projection mode).
    pub max_correction: f32,
    /// Penetration that position correction leaves alone, m.
    pub linear_slop: f32,
    /// [`ACCUMULATE`], [`RECYCLE`], …
    pub switches: u32,
    /// Levels in use.
    pub level_count: u32,
    /// Blocks of [`COLOR_BLOCK`] contacts in the colour histogram.
    pub color_blocks: u32,
    /// Half planes of the scene, which are the first shapes.
    pub half_plane_count: u32,
    /// Places of joints in the world.
    pub joint_count: u32,
    /// Slower bodies are quiet, m/s.
    pub sleep_speed: f32,
    /// Bodies that have been quiet for this many steps may fall asleep.
    pub sleep_steps: u32,
    /// Unused.
    pub pad: [u32; 2],
    /// Where in the device's `partners` the ties of bodies begin ([`crate::scene::Ties`]): two words a body.
    pub tie_heads: u32,
    /// Where in it the links of the ties begin: four words a place of a joint.
    pub tie_links: u32,
    /// Fields in use.
    pub field_count: u32,
    /// Half planes that came while the world runs.
    pub late_plane_count: u32,
    /// Where those are among the shapes, four a row.
    pub late_planes: [[u32; 4]; MAX_LATE_PLANES / 4],
    /// What draws bodies to places.
    pub fields: [Field; MAX_FIELDS],
    /// The grid.
    pub levels: [Level; MAX_LEVELS],
}

/// Draws dynamic bodies to a point.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Field {
    /// m.
    pub position: [f32; 2],
    /// N.
    pub force: f32,
    /// m/s².
    pub acceleration: f32,
    /// Not felt up to this distance, m.
    pub core: f32,
    /// Unused.
    pub pad_0: u32,
    /// Unused.
    pub pad_1: [u32; 2],
}

impl Params {
    /// All half planes, by their places among the shapes: every shape looks at each of them.
    pub fn planes(&self) -> impl Iterator<Item = u32> + '_ {
        let late = self.late_planes.as_flattened().iter().take(self.late_plane_count as usize);
        (0..self.half_plane_count).chain(late.copied())
    }
}

/// Which colours one dispatch of a sweep solves, and how. Uniform, one for each dispatch.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Pod, Zeroable)]
pub struct Sweep {
    /// First colour.
    pub first_color: u32,
    /// One past the last colour.
    pub end_color: u32,
    /// [`USE_BIAS`], [`USE_FRICTION`], [`WITHDRAW`], [`DEPOSIT`].
    pub flags: u32,
    /// Colouring round (`color_claim`, `color_commit`).
    pub round: u32,
}

/// What does not change while a body moves.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Body {
    /// 1/kg; 0 for static and kinematic bodies.
    pub inv_mass: f32,
    /// 1/(kg·m²) about the centre of mass; 0 also for fixed rotation.
    pub inv_inertia: f32,
    /// 1/s.
    pub linear_damping: f32,
    /// 1/s.
    pub angular_damping: f32,
    /// Constant force in world axes, N.
    pub force: [f32; 2],
    /// Where it acts, a point fixed on the body, relative to its centre of mass, m.
    pub force_point: [f32; 2],
    /// Constant torque, N·m.
    pub torque: f32,
    /// Factor on gravity.
    pub gravity_scale: f32,
    /// Distance from the centre of mass to the farthest point of its shapes, m. Sensors and half planes do not count.
    pub extent: f32,
    /// Distance from the centre of mass to the nearest surface, or the thinnest shape's half width, m; likewise.
    pub min_extent: f32,
    /// [`STATIC`], [`KINEMATIC`], [`DYNAMIC`].
    pub kind: u32,
    /// 1 if the body may fall asleep, else 0.
    pub can_sleep: u32,
    /// Unused.
    pub pad: [u32; 2],
}

/// What `continuous` needs beside a [`Shape`], one a shape. All of it is in the row of a body's first shape.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub struct Mover {
    /// As [`Body::extent`], m; 0 where this is not the first shape of its body.
    pub extent: f32,
    /// As [`Body::min_extent`], m; `f32::MAX` where the body is not dynamic, or this not its first shape.
    pub min_extent: f32,
    /// Index of the next shape of the body, or [`NONE`].
    pub next: u32,
    /// In row 0, how far kinematic bodies move in this step, m, as the bits of a float.
    pub reach: u32,
    /// Where the body stops, as [`BodyState::delta_position`], m.
    pub stop_position: [f32; 2],
    /// Likewise, as [`BodyState::delta_rotation`]; zero if the body does not stop.
    pub stop_rotation: [f32; 2],
}

impl Default for Mover {
    fn default() -> Self {
        Self {
            extent: 0.0,
            min_extent: f32::MAX,
            next: NONE,
            reach: 0,
            stop_position: [0.0; 2],
            stop_rotation: [0.0; 2],
        }
    }
}

/// Where a body is.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub struct Pose {
    /// Centre of mass, m.
    pub position: [f32; 2],
    /// Cosine and sine of the angle.
    pub rotation: [f32; 2],
}

impl Default for Pose {
    fn default() -> Self {
        Self { position: [0.0; 2], rotation: [1.0, 0.0] }
    }
}

/// How a body moves, and how far it has moved since the step began.
///
/// The deltas are kept apart from the [`Pose`] so that small motions far from the origin are not rounded away.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub struct BodyState {
    /// Of the centre of mass, m/s.
    pub velocity: [f32; 2],
    /// rad/s.
    pub angular_velocity: f32,
    /// [`QUARANTINED`], [`ASLEEP`], …, [`QUIET_SHIFT`].
    pub status: u32,
    /// m.
    pub delta_position: [f32; 2],
    /// Cosine and sine.
    pub delta_rotation: [f32; 2],
}

impl Default for BodyState {
    fn default() -> Self {
        Self {
            velocity: [0.0; 2],
            angular_velocity: 0.0,
            status: 0,
            delta_position: [0.0; 2],
            delta_rotation: [1.0, 0.0],
        }
    }
}

/// What the impulses of a body's contacts do to its velocity; added at the start of the next substep.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Accumulator {
    /// m/s.
    pub velocity: [f32; 2],
    /// rad/s.
    pub angular_velocity: f32,
    /// Unused.
    pub pad: u32,
}

/// A collider.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Shape {
    /// Half width and half height of a box, m.
    pub half: [f32; 2],
    /// Of a circle, or of the rounding, m.
    pub radius: f32,
    /// [`CIRCLE`], [`BOX`], [`POLYGON`] or [`HALF_PLANE`], the number of vertices, and [`FIXED_SHAPE`],
    /// [`KINEMATIC_SHAPE`], [`BULLET_SHAPE`], [`JOINED_SHAPE`], [`UPRIGHT_SHAPE`].
    pub kind: u32,
    /// Centre, relative to the body's centre of mass, in its frame, m.
    pub offset: [f32; 2],
    /// Cosine and sine of the angle on the body.
    pub rotation: [f32; 2],
    /// Coulomb's coefficient, at rest; two are mixed by √(ab).
    pub friction: f32,
    /// Share of the approach speed that is given back.
    pub restitution: f32,
    /// Index of the body.
    pub body: u32,
    /// Grid level of its size. Where it lies in a step may also be one of that level's bands.
    pub level: u32,
    /// What this shape is, as bits.
    pub category: u32,
    /// What it meets, as bits.
    pub mask: u32,
    /// Equal and positive: always meet; equal and negative: never; else by category and mask.
    pub group: i32,
    /// Distance from the shape's centre to its farthest point, m. 0 for a half plane.
    pub bound: f32,
    /// Coulomb's coefficient while sliding, mixed likewise.
    pub kinetic_friction: f32,
    /// Speed of the surface along itself, clockwise around the shape, m/s. Those of two shapes add up.
    pub tangent_speed: f32,
    /// Largest torque against rolling, as a share of normal force times radius; the larger of two counts.
    pub rolling_resistance: f32,
    /// Of a polygon, in the vertex table.
    pub first_vertex: u32,
}

/// What only some materials need of a constraint, in its order: sliding friction, belts, resistance to rolling. Worlds
/// without such materials ([`SURFACES`]) have none.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Surface {
    /// Mixed.
    pub kinetic_friction: f32,
    /// Sum of both, m/s: friction drives the speed of B against A along the tangent towards it.
    pub tangent_speed: f32,
    /// Mixed, times the larger radius, m.
    pub rolling_resistance: f32,
    /// Accumulated, of the substep, N·m·s.
    pub rolling_impulse: f32,
}

/// Something that happened to a pair of shapes in a step.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Event {
    /// [`EVENT_BEGIN`], …
    pub kind: u32,
    /// Index: the producer of the pair.
    pub shape_a: u32,
    /// Index.
    pub shape_b: u32,
    /// When a contact begins, m/s.
    pub approach_speed: f32,
    /// Likewise, in the world, m.
    pub point: [f32; 2],
    /// Likewise, from A to B.
    pub normal: [f32; 2],
}

/// Something asked of a body or a joint between two steps.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Command {
    /// [`COMMAND_IMPULSE`], …
    pub kind: u32,
    /// Index of the body, or place of the joint.
    pub body: u32,
    /// Of a joint, index of the row.
    pub row: u32,
    /// Which of many worlds; 0 for one alone.
    pub world: u32,
    /// Impulse N·s, force N, velocity m/s, place of the centre of mass m; or an angular value, then with a 0.
    pub value: [f32; 2],
    /// Point from the centre of mass, in the body's frame, m; or cosine and sine.
    pub other: [f32; 2],
}

impl Command {
    /// Whether it is a joint that something is asked of.
    #[must_use]
    pub fn is_for_joint(&self) -> bool {
        self.kind >= COMMAND_JOINT_GOAL
    }

    /// Tells a copy of the body what stays with it.
    pub(crate) fn mirror(&self, body: &mut Body) {
        match self.kind {
            COMMAND_FORCE => (body.force, body.force_point) = (self.value, self.other),
            COMMAND_TORQUE => body.torque = self.value[0],
            _ => {}
        }
    }
}

/// An axis-aligned box, margin included. Empty (`min.x > max.x`) for quarantined bodies.
///
/// A half plane's row is empty by the same rule, and says where its surface is in the world: `min` is
/// ([`HALF_PLANE_ROW`], offset along the normal, margin included), `max` the normal. A shape's own margin alone would do
/// for the speculative distance; that the plane has one too makes room for rounding 100 km from the origin.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Aabb {
    /// m.
    pub min: [f32; 2],
    /// m.
    pub max: [f32; 2],
}

impl Aabb {
    /// Whether anything may be in it. Half planes and who is quarantined have no room.
    #[inline(always)]
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.min[0] <= self.max[0]
    }
}

/// A ray of a query (`src/query.rs`).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Ray {
    /// Where it starts, m.
    pub origin: [f32; 2],
    /// From its start to its end, m; exactly 0 if it is a point.
    pub delta: [f32; 2],
    /// What it is, as bits.
    pub category: u32,
    /// What it hits, as bits.
    pub mask: u32,
    /// As [`Shape::group`].
    pub group: i32,
    /// Which of many worlds; 0 for one alone.
    pub world: u32,
}

/// What a [`Ray`] hits first.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Hit {
    /// m.
    pub point: [f32; 2],
    /// Out of the shape.
    pub normal: [f32; 2],
    /// Of the ray's length.
    pub fraction: f32,
    /// Index, or [`NONE`].
    pub shape: u32,
    /// Unused.
    pub pad: [u32; 2],
}

/// A place of a query that shapes lie in or reach into: a point, a convex polygon with a radius, or a box that is
/// compared with the boxes of shapes.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Region {
    /// Low corner of what to search, m.
    pub min: [f32; 2],
    /// High corner likewise.
    pub max: [f32; 2],
    /// m.
    pub center: [f32; 2],
    /// Around the polygon, m.
    pub radius: f32,
    /// Vertices; 0 for a box, whose corners are the first two points.
    pub count: u32,
    /// What it is, as bits.
    pub category: u32,
    /// What it meets, as bits.
    pub mask: u32,
    /// As [`Shape::group`].
    pub group: i32,
    /// Which of many worlds; 0 for one alone.
    pub world: u32,
    /// Vertices from the centre, world axes, counter-clockwise, m. A box's corners are in the world.
    pub points: [[f32; 2]; 8],
}

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
    /// Likewise, along the tangent (the normal turned clockwise).
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
    /// [`NONE`] while not touching. From `recall` to `collide`, the index of this contact in the step before, or [`NONE`].
    pub color: u32,
    /// Which vertex of A met which of B, 16 bits a point, those of point 0 first.
    pub features: u32,
    /// Accumulated against rolling, of the last substep, N·m·s.
    pub rolling_impulse: f32,
}

/// How the two shapes of a [`Contact`] touch, and how they lay when that was found.
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
    /// As many as the contact's `flags & POINT_COUNT_MASK` are valid.
    pub points: [ContactPoint; 2],
}

/// A contact that was put by, as both bodies sleep. It is moved as a whole, and hardly ever looked at; as two tables, a
/// kernel that moves it would need more buffers than a device need have.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct SleepingContact {
    /// As it was.
    pub contact: Contact,
    /// Likewise.
    pub manifold: Manifold,
}

/// A contact as a sweep on the device sees it, in colour order: what sweeps read and nothing else, as they are bound by
/// memory. Effective masses are worked out on the way, and the second arm on B is `r_a[1] + (r_b − r_a[0])`, as both
/// points have the same vector from A to B between their arms. The contact is that of the slot.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Constraint {
    /// Index.
    pub body_a: u32,
    /// Index.
    pub body_b: u32,
    /// From A to B.
    pub normal: [f32; 2],
    /// 1/kg.
    pub inv_mass_a: f32,
    /// 1/(kg·m²).
    pub inv_inertia_a: f32,
    /// 1/kg.
    pub inv_mass_b: f32,
    /// 1/(kg·m²).
    pub inv_inertia_b: f32,
    /// As [`Contact::flags`]. Of a point that there is not, all is zero.
    pub flags: u32,
    /// Mixed.
    pub friction: f32,
    /// Separation of points 0 and 1 when the step began, m. Later it is
    /// `separation + (Δp_b + (Δq_b − 1) r_b − Δp_a − (Δq_a − 1) r_a)·n`.
    pub separations: [f32; 2],
    /// Lever arms on A of points 0 and 1, m.
    pub r_a: [[f32; 2]; 2],
    /// Lever arm on B of point 0, m.
    pub r_b: [f32; 2],
    /// Separation of points 0 and 1 as last measured by a sweep, m ([`MEASURED`]).
    pub measured: [f32; 2],
    /// Normal and tangent impulse of point 0, then of point 1, N·s.
    pub impulses: [f32; 4],
}

/// What a [`Constraint`] needs beside it in worlds in which something bounces ([`BOUNCES`]).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Rebound {
    /// Mixed.
    pub restitution: f32,
    /// Zero.
    pub pad_0: u32,
    /// Approach speed of points 0 and 1 when the step began, before gravity, m/s. Negative is approaching.
    pub relative_velocities: [f32; 2],
    /// Largest normal impulse of points 0 and 1 over the step, N·s.
    pub max_impulses: [f32; 2],
    /// Zero.
    pub pad_1: [u32; 2],
}

/// A joint, as it stays. No two of a colour move the same body ([`crate::scene::Joints::starts`]).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct Joint {
    /// Index.
    pub body_a: u32,
    /// Index.
    pub body_b: u32,
    /// Index of the first row.
    pub first_row: u32,
    /// [`ROW_COUNT_MASK`], [`WORLD_A`], …
    pub flags: u32,
    /// From A's centre of mass, in its frame, m; in the world if A is the world.
    pub anchor_a: [f32; 2],
    /// From B's centre of mass, in its frame, m.
    pub anchor_b: [f32; 2],
    /// Unit vector in A's frame.
    pub axis: [f32; 2],
    /// Angle of B against A that counts as 0, rad.
    pub reference_angle: f32,
    /// Index, as in the scene.
    pub id: u32,
    /// Breaks above this, N; `f32::MAX` if it never does.
    pub break_force: f32,
    /// Breaks above this, N·m; `f32::MAX` if it never does.
    pub break_torque: f32,
    /// How many joints had this place before.
    pub generation: u32,
    /// Unused.
    pub pad: u32,
}

/// One thing that a joint does: a constraint of one velocity, or of two for [`ROW_POINT`].
///
/// A joint is a list of these, so that a rod does not pay for a wheel, and a new kind of joint is a new list.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct JointRow {
    /// What moves ([`ROW_ALONG`] …), what happens to it ([`ROW_EQUALITY`] …), [`ROW_BY_MASS`].
    pub kind: u32,
    /// Position, m or rad; of a motor speed, m/s or rad/s. Of a point it is 0.
    pub goal: f32,
    /// Largest impulse of a substep, N·s or N·m·s; `f32::MAX` where nothing limits it.
    pub max_impulse: f32,
    /// Unused.
    pub pad_0: u32,
    /// Bias rate 1/s, mass scale, impulse scale; of a spring stiffness N/m (or N·m/rad), damping N·s/m, and 0.
    pub softness: [f32; 3],
    /// Unused.
    pub pad_1: u32,
}

/// What a joint carries from step to step, beside the impulses of its rows.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct JointState {
    /// Angle of B against A when the step began, rad: counted on over full turns, reference angle taken off.
    pub angle: f32,
    /// [`BROKEN`].
    pub status: u32,
    /// Unused.
    pub pad: [u32; 2],
}

/// A joint as the solver sees it, made anew each step.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub struct JointFrame {
    /// Index.
    pub body_a: u32,
    /// Index.
    pub body_b: u32,
    /// Index of the first row.
    pub first_row: u32,
    /// As [`Joint::flags`], with no rows if the joint is switched off, broken, or holds a quarantined body.
    pub flags: u32,
    /// Anchor from A's centre of mass when the step began, world axes, m.
    pub r_a: [f32; 2],
    /// Anchor from B's centre of mass likewise.
    pub r_b: [f32; 2],
    /// From anchor to anchor likewise, m.
    pub between: [f32; 2],
    /// A's axis likewise.
    pub axis: [f32; 2],
    /// 1/kg.
    pub inv_mass_a: f32,
    /// 1/(kg·m²).
    pub inv_inertia_a: f32,
    /// 1/kg.
    pub inv_mass_b: f32,
    /// 1/(kg·m²).
    pub inv_inertia_b: f32,
    /// As [`JointState::angle`], rad.
    pub angle: f32,
    /// Unused.
    pub pad: [u32; 3],
}

/// What the device counts. The host learns it a few steps later, without waiting.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct Counters {
    /// Pairs found, also those that did not fit.
    pub pairs_found: u32,
    /// Pairs kept: contacts, touching or not.
    pub contacts: u32,
    /// Contacts with at least one point.
    pub touching: u32,
    /// Contacts that kept their manifold.
    pub recycled: u32,
    /// [`OVERFLOW_CONTACTS`].
    pub overflow_bits: u32,
    /// Bodies taken out so far.
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
    /// [`SLEEP`].
    pub awake: u32,
    /// As `awake`, of the step before.
    pub was_awake: u32,
    /// Contacts put by, between bodies that are both [`ASLEEP`].
    pub sleeping_contacts: u32,
    /// Bodies woken in this step.
    pub woken: u32,
    /// 1 if a body fell asleep in this step, or a kinematic one came to rest.
    pub slept: u32,
    /// 1 from the command that wakes every body until `sleep` has run.
    pub wake_all: u32,
    /// 1 while `pair`, `recall` and `collide` have something to do: first, and once more when bodies woke.
    pub again: u32,
    /// Grid levels with a shape that is not [`ASLEEP`], as bits; [`AWAKE_HALF_PLANE`].
    pub awake_levels: u32,
    /// Unused.
    pub pad: [u32; 2],
}

impl Default for Counters {
    fn default() -> Self {
        Self::zeroed()
    }
}

impl Counters {
    /// Constraints of one colour. 0 if the starts fall, as they may in a snapshot that is not ours.
    #[must_use]
    pub fn color_size(&self, color: u32) -> u32 {
        self.color_starts[color as usize + 1].saturating_sub(self.color_starts[color as usize])
    }
}
