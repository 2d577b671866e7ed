//! Numbers of the physics, each once: unit, where its usual value comes from, what goes wrong with another.
//!
//! Lengths are for bodies of 0.1 m to 10 m. A scene that is to work at another scale is scaled, not these numbers. What a
//! scene may set ([`Settings`](crate::Settings), [`Material`](crate::Material)) has its usual value here as `DEFAULT_…`.
//!
//! Those that a shader needs stand in `shaders/constants.wgsl` under the same names; `tests/layout.rs` compares the two and
//! sees to it that none stands in a third place. Bits, kinds and sizes of the shared tables are in [`types`](crate::types);
//! numbers that only decide how fast a result comes are where they are used.

// ── What a scene sets ──

/// Gravity, m/s², downwards. Box2D's scenes have 10.
pub const DEFAULT_GRAVITY: f32 = 9.81;
/// Length of a step, s. A longer one lets bodies sink and jump further, and makes contacts softer.
pub const DEFAULT_DT: f32 = 1.0 / 60.0;
/// Substeps a step of the soft solver; Box2D's. Fewer: stacks sag, heavy loads sink; more cost in proportion.
pub const DEFAULT_SUBSTEPS: u32 = 4;
/// Sweeps a step of the solvers without substeps. Fewer: stacks sag.
pub const DEFAULT_ITERATIONS: u32 = 10;
/// Share of the penetration beyond the slop that a step of those solvers takes back. Much more, and stacks jitter.
pub const DEFAULT_BAUMGARTE: f32 = 0.2;
/// Contact stiffness, Hz; never above [`DEFAULT_HERTZ_SHARE`] of the substep rate. Box2D. More, and tall stacks take longer to come to rest; less,
/// and they sag.
pub const DEFAULT_CONTACT_HERTZ: f32 = 30.0;
/// Contact damping ratio; far above critical, so that nothing rings. Box2D.
pub const DEFAULT_CONTACT_DAMPING_RATIO: f32 = 10.0;
/// Fastest push-out, m/s. Box2D. More, and bodies that start inside each other fly apart.
pub const DEFAULT_PUSH_SPEED: f32 = 3.0;
/// Penetration that is left alone, m; Box2D's linear slop. Less, and contacts at rest come and go; more is seen.
pub const DEFAULT_SLOP: f32 = 0.005;
/// Approach speed from which on bodies bounce, m/s; Box2D's. Less, and what rests trembles.
pub const DEFAULT_RESTITUTION_THRESHOLD: f32 = 1.0;
/// Coefficient of friction; Box2D's.
pub const DEFAULT_FRICTION: f32 = 0.6;

// ── What a scene may be ──

/// Shortest length (radius, half width, rod), m. Contacts are resolved to a few millimetres; less is noise.
pub const MIN_LENGTH: f32 = 1e-4;
/// Longest length, m.
pub const MAX_LENGTH: f32 = 1e5;
/// Largest coordinate of a position or an offset, m. At this distance an f32 still resolves 8 mm.
pub const MAX_POSITION: f32 = 1e5;
/// Largest angle, rad. At this size an f32 still resolves 0.008 rad.
pub const MAX_ANGLE: f32 = 1e5;
/// Largest velocity, force and everything else that only has to be finite; its square still fits an f32.
pub const MAX_VALUE: f32 = 1e15;
/// Shortest step, s. A 64th of it and its inverse still fit an f32 with room to square.
pub const MIN_DT: f32 = 1e-9;
/// Longest step, s.
pub const MAX_DT: f32 = 1e3;
/// Most substeps a step.
pub const MAX_SUBSTEPS: u32 = 64;
/// Most sweeps a substep.
pub const MAX_ITERATIONS: u32 = 64;
/// Most bodies in a scene.
pub const MAX_BODIES: usize = 4_000_000;
/// Most shapes in a scene, over all bodies.
pub const MAX_SHAPES: usize = 8_000_000;
/// Most joints in a scene.
pub const MAX_JOINTS: usize = 4_000_000;
/// Most emitters in a scene.
pub const MAX_EMITTERS: usize = 10_000;
/// Highest frequency, Hz, and damping ratio of a spring or a joint; far above what a step can follow.
pub const MAX_HERTZ: f32 = 1e6;
/// Largest difference from 1 of the length of a normal or an axis. Those a user computes in f32 are off by 1e-7.
pub const UNIT_TOLERANCE: f32 = 1e-5;
/// Longest name of a scene or id of a body or a joint, in bytes.
pub const MAX_NAME: usize = 256;

// ── Which shapes meet ──

/// Distance below which shapes are in contact, m; four slops, as in Box2D. Less, and bodies sink before a contact stops
/// them; more, and what passes by is found and solved in vain.
pub const SPECULATIVE_DISTANCE: f32 = 0.02;
/// Length to thickness of a shape from which on it counts as long: its level of the grid may have a band of its own.
pub const LONG: f32 = 4.0;
/// Long shapes of one size that need no band: testing them all costs less than looking into more cells.
pub const FEW_LONG: usize = 8;

// ── Manifolds ──

/// Motion up to which touching pairs keep their manifold, m; ten slops, as in Box2D. Less, and aligned stacks fall; more, and
/// contacts stay where they no longer are.
pub const RECYCLE_DISTANCE: f32 = 0.05;
/// Cosine of the turn up to which a pair keeps its manifold: about 11.5°. Box2D.
pub const RECYCLE_COS: f32 = 0.98;
/// Share of the slop by which another face must be better to become the reference. None, and roundings decide between two
/// faces, which changes points from step to step and loses their impulses.
pub const FACE_PREFERENCE: f32 = 0.1;
/// Difference of cosines by which another edge must look at the reference face more squarely to become the incident one.
/// None, and roundings decide.
pub const EDGE_PREFERENCE: f32 = 1e-6;
/// Angle above which segments that meet at their ends are halved, rad.
pub const MIN_CORNER_ANGLE: f32 = 0.5;
/// Share of the size of two shapes below which the separation of their cores is rounded.
pub const ROUNDING: f32 = 1e-6;

// ── Contacts ──

/// Share of the substep rate above which no stiffness of a contact or joint acts. Box2D. More, and a substep overshoots.
pub const MAX_HERTZ_SHARE: f32 = 0.25;
/// Share of the substep rate that bounds [`DEFAULT_CONTACT_HERTZ`]. At a quarter, fewer than four substeps let stacks jitter.
pub const DEFAULT_HERTZ_SHARE: f32 = 0.125;
/// Largest position correction in one sweep, m. Box2D 2.4.
pub const MAX_CORRECTION: f32 = 0.2;
/// Share of the slop from which on a gap counts as one. The formulae for gap and touch differ by a few per cent of the
/// impulse; bodies placed exactly side by side would be handed to either by rounding if the line were at zero.
pub const GAP: f32 = 1e-3;
/// Sliding speed below which a contact still counts as at rest, after friction did what it can at rest, m/s. Without
/// it, a load that lets go for one substep, as it may while impulses settle, would never hold again.
pub const STICK_SPEED: f32 = 0.01;

// ── Joints ──

/// Stiffness of a joint that is meant to be rigid, Hz; never above a quarter of the substep rate. Box2D. Less, and chains
/// stretch.
pub const RIGID_HERTZ: f32 = 60.0;
/// Damping ratio of such a joint. Box2D. Less, and chains ring.
pub const RIGID_DAMPING_RATIO: f32 = 2.0;
/// Stiffness of a mouse joint that names none, Hz. Box2D's samples.
pub const MOUSE_HERTZ: f32 = 5.0;
/// Damping ratio of such a joint. Box2D's samples.
pub const MOUSE_DAMPING_RATIO: f32 = 0.7;
/// Largest `k h² K` of a spring, without unit. At 4 a chain of light and heavy bodies gains energy.
pub const MAX_SWING: f32 = 2.0;
/// Largest correction of an angle in one sweep, rad: 8°. Box2D 2.4.
pub const MAX_ANGULAR_CORRECTION: f32 = 8.0_f32.to_radians();

// ── Motion ──

/// Speed above which bodies are slowed down, m/s. Box2D. Above it a step moves a body by more than 6 m.
pub const MAX_SPEED: f32 = 400.0;
/// Largest turn in a step, rad. Box2D. The motion of a step is taken for a straight line and a small turn.
pub const MAX_TURN: f32 = 0.25 * std::f32::consts::PI;
/// Bound on sums of impulses, m/s and rad/s: what once was infinite would stay so.
pub const MAX_SUM: f32 = 1e30;
/// Length above any that is computed, m, and square of a length above any such square, m².
pub const FAR: f32 = 1e30;

// ── Fast bodies ──

/// Radius of the core, as a share of the body's half thickness. More, and bodies in contact lock up; less, and they
/// sink deeper before they are stopped.
pub const CORE: f32 = 0.5;
/// Reach of a shape from its middle, in half thicknesses, above which it stops also where only an end would pass. A
/// square is stout; a capsule twice as long as wide is not: with an end between two segments of a wall, each would push it
/// against the other instead of back.
pub const STOUT: f32 = 1.5;
/// Distance at which a body stops, as a share of the speculative distance: near enough for a contact in the next step.
pub const STOP_SHARE: f32 = 0.25;
/// Distance at which a small body stops, as a share of its half thickness.
pub const STOP_THICKNESS: f32 = 0.1;
/// Distance at which a body without thickness stops, as a share of its extent.
pub const STOP_EXTENT: f32 = 1e-3;
/// Share of the distance at which a body stops, to which an impact is found.
pub const STOP_TOLERANCE: f32 = 0.01;
/// Tolerances up to which a wall that is nearer than where a shape would stop is touched: one is how far off it may have
/// stopped, the rest is for roundings since then. With one alone they would decide whether what has just been stopped is
/// stopped again, before it has moved, or goes on.
pub const TOUCH: f32 = 2.0;
/// Advances after which a body stops where it is known to be safe. Without spin one or two do; each makes the rest
/// smaller by the share of spin in the motion.
pub const MAX_ADVANCES: u32 = 32;

// ── Sleep ──

/// Speed below which a body is quiet, m/s. Box2D. More, and what creeps freezes; less, and piles never sleep.
pub const SLEEP_SPEED: f32 = 0.05;
/// Time for which a body must be quiet before it may fall asleep, s. Box2D. Less, and what turns back at the top of its
/// path falls asleep there.
pub const SLEEP_TIME: f32 = 0.5;
/// Share of the speed by which a body was moved, also by being pushed out, that counts as motion. Box2D.
pub const MOVED_SHARE: f32 = 0.5;
/// Steps of quiet that a status has room for.
pub const MAX_QUIET: u32 = 0xffff;
/// Speed below which a world is at rest in reports, m/s: [`SLEEP_SPEED`].
pub const REST_SPEED: f64 = 0.05;

// ── Queries ──

/// Most queries in a batch.
pub const MAX_QUERIES: usize = 1 << 22;
/// Length below which rays are points, m.
pub const MIN_RAY: f32 = 1e-10;
/// Slack around a ray, as a share of its largest coordinate: more than all rounding on its way. Less, and rays miss what they
/// graze.
pub const RAY_SLACK: f32 = 2e-6;
/// Slack around the box of a region, as a share of its largest coordinate: more than rounding.
pub const REGION_SLACK: f32 = 1e-6;
/// Cost of a slice of a ray, in cells, about. A level with fewer cells is looked at whole.
pub const SLICE_CELLS: u32 = 4;
