//! Constants of the physics, each defined once: its unit, the source of its value, and what breaks with another value.
//!
//! Lengths, speeds, times and frequencies are for bodies of 0.1 m to 10 m under the gravity of Earth. For another scale
//! worlds multiply them by the [units of their scene](crate::scene::Units). Fields that a scene sets
//! ([`Settings`](crate::Settings), [`Material`](crate::Material)) have their usual values here as `DEFAULT_…`.
//!
//! Constants that a shader needs are in `shaders/constants.wgsl` too, under the same names; `tests/layout.rs` compares
//! the two files and fails on a third definition. Bits, kinds and sizes of the shared tables are in
//! [`types`](crate::types); numbers that only affect speed are where they are used.

// ── Defaults of a scene ──

/// Gravity, m/s², downwards. Box2D's scenes have 10.
pub const DEFAULT_GRAVITY: f32 = 9.81;
/// Length of a step, s. Longer: bodies sink and jump further, and contacts are softer.
pub const DEFAULT_DT: f32 = 1.0 / 60.0;
/// Substeps a step of the soft solver; Box2D's. Fewer: stacks sag, heavy loads sink. More cost in proportion.
pub const DEFAULT_SUBSTEPS: u32 = 4;
/// Sweeps a step of the solvers without substeps. Fewer: stacks sag.
pub const DEFAULT_ITERATIONS: u32 = 10;
/// Share of the penetration beyond the slop that a step of the solvers without substeps corrects. Much more: stacks
/// jitter.
pub const DEFAULT_BAUMGARTE: f32 = 0.2;
/// Contact damping ratio; far above critical, so that contacts do not ring. Box2D.
pub const DEFAULT_CONTACT_DAMPING_RATIO: f32 = 10.0;
/// Fastest push-out, m/s. Box2D. More: bodies that start inside each other fly apart.
pub const DEFAULT_PUSH_SPEED: f32 = 3.0;
/// Penetration that is not corrected, m; Box2D's linear slop. Less: contacts at rest come and go. More is visible.
pub const DEFAULT_SLOP: f32 = 0.005;
/// Approach speed from which on bodies bounce that already press on each other, m/s; Box2D's, for all. Less: loads that
/// settle in a heap bounce through it.
pub const DEFAULT_PRESSING_THRESHOLD: f32 = 1.0;
/// Approach speed from which on other bodies bounce, as a multiple of what gravity adds in a substep: 0.25 m/s at the
/// default step. Less: tall stacks of bodies that bounce rock. More: bounces end early.
pub const DEFAULT_IMPACT_SUBSTEPS: f32 = 6.0;
/// Coefficient of friction; Box2D's.
pub const DEFAULT_FRICTION: f32 = 0.6;

// ── Bounds of a scene ──

/// Shortest length (radius, half width, rod), m. Less: moments of inertia, which go with its fourth power, leave the
/// range in which an f32 can be divided and squared.
pub const MIN_LENGTH: f32 = 1e-5;
/// Longest length, m.
pub const MAX_LENGTH: f32 = 1e5;
/// Largest coordinate of a position in the world, m. At this distance an f32 resolves 1 m, and the two of a body's
/// position 60 nm.
pub const MAX_POSITION: f32 = 1e7;
/// Largest coordinate that texts give with the digits of an f32, m; they are 0.03 mm off there.
pub const MAX_SHORT_POSITION: f32 = 1024.0;
/// Largest angle, rad. At this size an f32 still resolves 0.008 rad.
pub const MAX_ANGLE: f32 = 1e5;
/// Largest velocity, force and any other value that only has to be finite; its square still fits an f32.
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
/// Most commands in the timeline of a scene. More: each step of a ramp looks through all of them.
pub const MAX_TIMED_COMMANDS: usize = 4096;
/// Most steps of all ramps of a scene together, four and a half hours at 60 a second. More: restoring a snapshot
/// repeats them and takes seconds.
pub const MAX_RAMP_STEPS: u64 = 1_000_000;
/// Most corners of an outline that is split into convex shapes. More: splitting takes longer than loading the scene.
pub const MAX_OUTLINE_CORNERS: usize = 1024;
/// Most tiles of a grid that is made into chains.
pub const MAX_TILES: usize = 1 << 22;
/// Highest frequency, Hz, and damping ratio of a spring or a joint; far above what a step can follow.
pub const MAX_HERTZ: f32 = 1e6;
/// Largest difference from 1 of the length of a normal or an axis. A unit vector computed in f32 is off by 1e-7.
pub const UNIT_TOLERANCE: f32 = 1e-5;
/// Longest name of a scene or id of a body or a joint, in bytes.
pub const MAX_NAME: usize = 256;

// ── Units ──

/// Typical size of the dynamic shapes of a scene, m, for which the length unit is 1 m. Wider: contacts of small bodies
/// are soft for their size. Narrower: scenes that differ by little get different constants.
pub const USUAL_SIZES: [f64; 2] = [0.1, 10.0];
/// Gravity, in multiples of [`DEFAULT_GRAVITY`], that counts as that of Earth: its unit of time is that of bodies that
/// fall by their own size.
pub const USUAL_GRAVITIES: [f64; 2] = [0.1, 10.0];

// ── Broad phase ──

/// Distance below which shapes are in contact, m; four slops, as in Box2D. Less: bodies sink before a contact stops
/// them. More: shapes that pass by are found and solved in vain.
pub const SPECULATIVE_DISTANCE: f32 = 0.02;
/// Ratio of length to thickness from which on a shape counts as long: its level of the grid may have a band of its own.
pub const LONG: f32 = 4.0;
/// Number of long shapes of one size that need no band: testing them all costs less than visiting more cells.
pub const FEW_LONG: usize = 8;
/// Most shapes in a run of neighbouring cells, about three, that a device searches for pairs; the shapes of a larger
/// run do not meet through it, and the step reports an overflow. More: shapes at one point, of which each searches all
/// others, hold the device for seconds. Less: particles that pass through each other are reported where they are dense.
pub const CROWD: u32 = 1 << 14;

// ── Manifolds ──

/// Motion up to which touching pairs keep their manifold, m; ten slops, as in Box2D. Less: aligned stacks fall. More:
/// contact points lag behind the shapes.
pub const RECYCLE_DISTANCE: f32 = 0.05;
/// Cosine of the turn up to which a pair keeps its manifold: about 11.5°. Box2D.
pub const RECYCLE_COS: f32 = 0.98;
/// Share of the slop by which another face must be better to become the reference. With 0 rounding decides between two
/// faces, which changes points from step to step and loses their impulses.
pub const FACE_PREFERENCE: f32 = 0.1;
/// Approach to a contact in a step from which on a pair may pass by another face, as a share of the slop; 0.03 m/s at
/// the default step. More: bodies that slide slowly over flush tiles hop. Less: contacts at rest come and go.
pub const PASSING_MOTION: f32 = 0.1;
/// Largest share of the approach to a contact by which a pair may approach the face that it passes by; also the
/// largest cosine between the normals of the two faces of a corner. More: bodies that land on a corner count as sliding
/// past it. Less: they catch on the next tile of a floor on which they bounce a little.
pub const PASSING_SHARE: f32 = 0.5;
/// Cosine between the normals of two faces from which on points on the one are points on the other, too: 15°. More: a
/// body that slides fast and is tilted a little passes by the floor. Less: it catches on the foot of a steep slope.
pub const SAME_FACE: f32 = 0.966;
/// Difference of cosines by which another edge must face the reference face more squarely to become the incident one.
/// With 0 rounding decides.
pub const EDGE_PREFERENCE: f32 = 1e-6;
/// Difference of cosines by which a normal may lie outside the angles of a link of a chain. With 0 rounding decides
/// whether a corner between two links has a contact; with more, corners that stand up by some degrees are bumps.
pub const LINK_SLACK: f32 = 2e-7;
/// Share of its radius by which a disc may be beyond the end of a link and still lie on it. With 0 a disc at a joint of
/// two links may touch neither; with more it stands on air where a chain ends.
pub const LINK_OVERLAP: f32 = 1e-3;
/// Angle above which segments that meet at their ends are halved, rad.
pub const MIN_CORNER_ANGLE: f32 = 0.5;
/// Sine of the angle up to which two edges of shapes in a cast count as one. With 0 a hit between two nearly parallel
/// faces may be missed by both; with much more, corners are cut off.
pub const PARALLEL: f32 = 1e-6;
/// Share of the size of two shapes below which the separation of their cores is rounding noise.
pub const ROUNDING: f32 = 1e-6;

// ── Motions ──

/// Extent ([`BodyMotion::extent`](crate::low_level::types::BodyMotion::extent)) of a body that is too fast for its
/// manifolds to be kept: any negative number.
pub const FAST: f32 = -1.0;
/// Extent of a fast body that is swept and does not look ahead: another one.
pub const SWEPT: f32 = -2.0;

// ── Contacts ──

/// Largest stiffness of a contact or joint, as a share of the substep rate. Box2D. More: a substep overshoots.
pub const MAX_HERTZ_SHARE: f32 = 0.25;
/// Default stiffness of a contact, as a share of the substep rate: 30 Hz at the default step, as in Box2D, which stays
/// at 30 Hz when the step is refined. More: tall stacks take longer to come to rest, and jitter at fewer than four
/// substeps. Less: they sag.
pub const DEFAULT_HERTZ_SHARE: f32 = 0.125;
/// Rate at which a contact at rest preloads its spring, as a share of the overlap beyond the slop, 1/s. More: tall
/// stacks rock. Less: heaps sag for seconds before they rise again.
pub const PRELOAD_RATE: f32 = 1.0;
/// Largest preload of a contact's spring, and largest overlap at which it grows, as a multiple of the slop. More: a
/// press that nothing can open never comes to rest. Less: heaps above some hundred rows overlap by more than the slop.
pub const MAX_PRELOAD: f32 = 20.0;
/// Overlap of a contact below which its preload shrinks, as a share of the slop; where that has fallen by as much again
/// it is lost. From there to the slop the preload stays, so that a contact at rest does not search for its load for
/// ever. With loads from the start ([`Settings::initial_loads`](crate::Settings)) it shrinks across a gap only: bodies
/// placed side by side do not overlap. More: loads sink. Less: bodies whose load is taken away hop.
pub const UNLOAD_SHARE: f32 = 0.5;
/// Share of the missing overlap by which a preload shrinks in a step. More: bodies whose load is taken away jump less,
/// but a stack that rocks loses its preload.
pub const UNLOAD_RATE: f32 = 0.2;
/// Largest position correction in one sweep, m. Box2D 2.4.
pub const MAX_CORRECTION: f32 = 0.2;
/// Rounds of impacts a substep, in worlds that bounce. An impulse passes through at least as many touching bodies.
/// Fewer: what still approaches afterwards loses its rebound. More cost in proportion.
pub const RESTITUTION_ROUNDS: u32 = 4;
/// Slowest approach that is an impact, as a multiple of the speed that gravity adds in a substep, at any threshold that
/// a scene sets.
/// Less: stacks of bodies that bounce tremble and fall at a threshold of 0. More: bounces end early.
pub const MIN_IMPACT_SUBSTEPS: f32 = 2.0;
/// Determinant of the inverse masses of two points of a contact, as a share of the product of its diagonal, below which
/// an impact takes them for one: they are closer than 3 % of the height of a box on them. Less: rounding decides how
/// they share the impulse. More: narrow boxes that fall flat begin to rock.
pub const MIN_DETERMINANT: f32 = 0.01;
/// Smallest gap between two shapes, as a share of the slop; below it they count as touching. The formulae for gap and
/// touch differ by a few per cent of the impulse; with a bound at zero rounding would choose between them for bodies
/// placed exactly side by side.
pub const GAP: f32 = 1e-3;
/// Sliding speed below which a contact still counts as at rest after its friction at rest was solved, m/s. Without it,
/// a load that slips for one substep, as it may while impulses converge, would never hold again.
pub const STICK_SPEED: f32 = 0.01;

// ── Loads at the start ──

/// Speed at which a body counts as held, as a share of what gravity adds in a substep. More: heaps of hundreds of rows
/// begin with loads that do not balance. Less: rounding keeps the search going.
pub const HELD_SHARE: f32 = 1e-5;
/// Separation up to which a contact carries a load, as a share of the slop. More: bodies are held across gaps.
pub const NEAR_SHARE: f32 = 0.1;
/// Cosine of the angle between a normal and the vertical from which on the upper body stands on the lower one. More:
/// wedges are not held by their sides. With 0 rounding decides which of two bodies side by side holds the other.
pub const STEEP: f32 = 1e-3;

// ── Joints ──

/// Damping ratio of a rigid joint, whose stiffness is [`MAX_HERTZ_SHARE`] of the substep rate: 60 Hz at the default
/// step, as in Box2D. Less: chains ring.
pub const RIGID_DAMPING_RATIO: f32 = 2.0;
/// Default stiffness of a mouse joint, Hz. Box2D's samples.
pub const MOUSE_HERTZ: f32 = 5.0;
/// Default damping ratio of a mouse joint. Box2D's samples.
pub const MOUSE_DAMPING_RATIO: f32 = 0.7;
/// Largest `k h² K` of a spring, without unit: stiffness, substep, inverse effective mass. At 4 a chain of light and
/// heavy bodies gains energy.
pub const MAX_SWING: f32 = 2.0;
/// Largest correction of an angle in one sweep, rad: 8°. Box2D 2.4.
pub const MAX_ANGULAR_CORRECTION: f32 = 8.0_f32.to_radians();

/// Ratio of the masses of bodies that hinges connect above which these are solved exactly, as trees. More: a heavy end
/// stretches its chain. Less: chains that sweeps hold are solved one body after the other. Also the ratio to the
/// heaviest body above which a body of a tree is light.
pub const TREE_RATIO: f32 = 30.0;

/// [`Accumulator::asked_mass`](crate::types::Accumulator::asked_mass) of a body that has no contact in this step:
/// negative, as no contact asks for that. Nothing depends on its size.
pub const UNTOUCHED: f32 = -1.0;

/// Fastest pull by which a joint of a tree takes back what it has stretched, as a share of the push-out speed, beside
/// what the turning of its bodies adds. More: a mechanism whose joints were swept while it touched something is pulled
/// together so fast that it makes energy. Less: it stays stretched for longer.
pub const TREE_PULL: f32 = 1.0 / 32.0;

/// Ratio of masses above which welds and sliders of a mechanism that hangs on something fixed are solved with its
/// hinges. Below, swept ones bend by less than an eighth, and do not mind what touches the light bodies.
pub const STIFF_RATIO: f32 = 300.0;
/// Most bodies of a tree of hinges. More: on a GPU one thread solves a tree, and everything waits for it.
pub const MAX_TREE: usize = 256;
/// Most hinges beyond those of a tree that its bodies may have, which are swept. More: a net is not a tree.
pub const MAX_LOOPS: usize = 4;

// ── Mass scaling ──

/// Overlap up to which the most loaded contact of a body is pressed, as a share of the slop: then its mass is scaled
/// (`src/mass_scale.rs`). Less: more bodies are heavier than they are. More: small stones sink into large ones.
pub const SCALED_OVERLAP: f32 = 0.6;
/// Sum of the forces of a body's contacts, as a share of the weight of the mass that they ask for, above which the body
/// is hit and not loaded: then its mass shrinks to its own. Less: small stones in heaps that settle lose their mass.
/// More: impacts change the momentum.
pub const CALM: f32 = 4.0;
/// Factor up to which the mass of any loaded body grows. More: tall heaps of equal bodies that fall fall apart.
pub const SCALED_FLOOR: f32 = 4.0;
/// Share of the scaled mass of a neighbour up to which a body's mass grows. At 1 the mass of one heavy body would
/// spread through a whole heap.
pub const SCALED_SPREAD: f32 = 0.9;
/// Share of the true mass of a body in its scaled mass down to which the damping ratio of its contacts grows, as the
/// inverse: 4 times. More: heaps swing longer. Less: small stones in them come to rest later.
pub const DAMPED_SHARE: f32 = 0.25;

// ── Motion ──

/// Largest speed, m/s; faster bodies are slowed to it. Box2D. Above it a step moves a body by more than 6 m.
pub const MAX_SPEED: f32 = 400.0;
/// Largest turn in a step, rad. Box2D. The solver takes the motion of a step for a straight line and a small turn.
pub const MAX_TURN: f32 = 0.25 * std::f32::consts::PI;
/// Largest turn of a disc in a substep, rad. Contacts do not notice how it turns. More: its angle would not be a
/// number.
pub const MAX_DISC_TURN: f32 = 1000.0;
/// Largest sum of impulses, m/s and rad/s: an infinite sum would stay infinite.
pub const MAX_SUM: f32 = 1e30;
/// Bound on the rounding of a coordinate of an AABB, relative to the coordinate of its body: four times the largest
/// error of one rounding. Less: far from (0, 0) the search misses pairs.
pub const FAR_MARGIN: f32 = 2.5e-7;
/// Value above any computed length, m, and above the square of any, m².
pub const FAR: f32 = 1e30;

// ── Fast bodies ──

/// Radius of a fast body's core, as a share of its half thickness. More: bodies in contact lock up. Less: they sink
/// deeper before they are stopped.
pub const CORE: f32 = 0.5;
/// Reach of a shape from its middle, in half thicknesses, above which it stops also where only an end would pass
/// through. A square is below; a capsule twice as long as wide is above: with an end between two segments of a wall,
/// each would push it against the other instead of back.
pub const STOUT: f32 = 1.5;
/// Distance from the obstacle at which a fast body stops, as a share of the speculative distance: near enough for a
/// contact in the next step.
pub const STOP_SHARE: f32 = 0.25;
/// Distance at which a small body stops, as a share of its half thickness.
pub const STOP_THICKNESS: f32 = 0.1;
/// Distance at which a body without thickness stops, as a share of its extent.
pub const STOP_EXTENT: f32 = 1e-3;
/// Tolerance of the time of impact, as a share of the distance at which a body stops.
pub const STOP_TOLERANCE: f32 = 0.01;
/// Tolerances by which a wall may be nearer than the stopping distance and still count as touched: one is for the error
/// of the stop, the rest for rounding since then. With one alone rounding would decide whether a body that was just
/// stopped is stopped again before it has moved, or moves on.
pub const TOUCH: f32 = 2.0;
/// Most conservative advances of a time of impact; then the body stops at the last safe position. Without spin one or
/// two are enough; each reduces the rest by the share of spin in the motion.
pub const MAX_ADVANCES: u32 = 32;

// ── Sleep ──

/// Speed below which a body is quiet, m/s. Box2D. More: creeping bodies freeze. Less: piles never sleep.
pub const SLEEP_SPEED: f32 = 0.05;
/// Time for which a body must be quiet before it may fall asleep, s. Box2D. Less: bodies fall asleep at the top of
/// their path, where they turn back.
pub const SLEEP_TIME: f32 = 0.5;
/// Share that counts as motion of the speed at which a body was moved in a step, including being pushed out. Box2D.
pub const MOVED_SHARE: f32 = 0.5;
/// Most quiet steps that a body's status can count.
pub const MAX_QUIET: u32 = 0xffff;
/// Speed below which reports call a world at rest, m/s: [`SLEEP_SPEED`].
pub const REST_SPEED: f64 = 0.05;

// ── Queries ──

/// Most queries in a batch.
pub const MAX_QUERIES: usize = 1 << 22;
/// Length below which rays are points, m.
pub const MIN_RAY: f32 = 1e-10;
/// Slack around a ray, as a share of its largest coordinate: more than all rounding on its way. Less: rays miss shapes
/// that they graze.
pub const RAY_SLACK: f32 = 2e-6;
/// Slack around the box of a region, as a share of its largest coordinate: more than rounding.
pub const REGION_SLACK: f32 = 1e-6;
/// Approximate cost of a slice of a ray, in cells. A level with fewer cells is searched whole.
pub const SLICE_CELLS: u32 = 4;
