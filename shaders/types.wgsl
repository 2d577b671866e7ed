// The structs that Rust and WGSL share (src/types.rs, where each field is explained). tests/layout.rs compares the two.

const NONE: u32 = 0xffffffffu;
const LANES: u32 = 64u;
const COLOR_BLOCK: u32 = 256u;
const DYNAMIC_COLORS: u32 = 23u;
const OVERFLOW_COLOR: u32 = 23u;
const FIRST_FIXED_COLOR: u32 = 24u;
const COLOR_COUNT: u32 = 32u;
const CLAIM_SLOTS: u32 = 8u;
const MAX_COLOR_ROUNDS: u32 = 31u;

const CIRCLE: u32 = 0u;
const BOX: u32 = 1u;
const GEOMETRY_MASK: u32 = 0xffu;
const FIXED_SHAPE: u32 = 0x100u;
const KINEMATIC_SHAPE: u32 = 0x200u;

const STATIC: u32 = 0u;
const KINEMATIC: u32 = 1u;
const DYNAMIC: u32 = 2u;

const QUARANTINED: u32 = 1u;

const POINT_COUNT_MASK: u32 = 3u;
const FIXED_A: u32 = 4u;
const FIXED_B: u32 = 8u;
const RECYCLED: u32 = 16u;
const CACHED: u32 = 32u;

const ACCUMULATE: u32 = 1u;
const RECYCLE: u32 = 2u;
const FORCE_OVERFLOW: u32 = 4u;
const RESTITUTION_MAX: u32 = 8u;
const BOUNCES: u32 = 32u;
const WARM_START: u32 = 16u;

const USE_BIAS: u32 = 1u;
const USE_FRICTION: u32 = 2u;
const LAST_SWEEP: u32 = 4u;
const FRESH: u32 = 8u;
const MEASURED: u32 = 16u;

const OVERFLOW_CONTACTS: u32 = 1u;

struct Level {
    inv_cell: f32,
    half_cell: f32,
    log2_width: u32,
    log2_height: u32,
    first_cell: u32,
    shape_count: u32,
    pad: vec2<u32>,
}

struct Params {
    gravity: vec2<f32>,
    dt: f32,
    h: f32,
    body_count: u32,
    shape_count: u32,
    contact_capacity: u32,
    cell_count: u32,
    contact_softness: vec4<f32>,
    fixed_softness: vec4<f32>,
    push_speed: f32,
    speculative_distance: f32,
    restitution_threshold: f32,
    recycle_distance: f32,
    recycle_distance_apart: f32,
    aabb_margin: f32,
    max_speed: f32,
    max_spin: f32,
    projection_rate: f32,
    max_correction: f32,
    linear_slop: f32,
    switches: u32,
    level_count: u32,
    color_blocks: u32,
    pad: vec2<u32>,
    levels: array<Level, 8>,
}

struct Sweep {
    first_color: u32,
    end_color: u32,
    flags: u32,
    round: u32,
}

struct Body {
    inv_mass: f32,
    inv_inertia: f32,
    linear_damping: f32,
    angular_damping: f32,
    force: vec2<f32>,
    force_point: vec2<f32>,
    torque: f32,
    gravity_scale: f32,
    extent: f32,
    min_extent: f32,
    kind: u32,
    pad: array<u32, 3>,
}

struct Pose {
    position: vec2<f32>,
    rotation: vec2<f32>,
}

struct BodyState {
    velocity: vec2<f32>,
    angular_velocity: f32,
    status: u32,
    delta_position: vec2<f32>,
    delta_rotation: vec2<f32>,
}

struct Accumulator {
    velocity: vec2<f32>,
    angular_velocity: f32,
    pad: u32,
}

struct Shape {
    half: vec2<f32>,
    radius: f32,
    kind: u32,
    offset: vec2<f32>,
    rotation: vec2<f32>,
    friction: f32,
    restitution: f32,
    body: u32,
    level: u32,
    category: u32,
    mask: u32,
    group: i32,
    bound: f32,
}

struct Aabb {
    min: vec2<f32>,
    max: vec2<f32>,
}

struct ContactPoint {
    anchor_a: vec2<f32>,
    anchor_b: vec2<f32>,
    base_separation: f32,
    separation: f32,
    normal_impulse: f32,
    tangent_impulse: f32,
}

struct Contact {
    shape_a: u32,
    shape_b: u32,
    body_a: u32,
    body_b: u32,
    normal: vec2<f32>,
    flags: u32,
    color: u32,
    cached_rotation_a: vec2<f32>,
    cached_rotation_b: vec2<f32>,
    cached_position: vec2<f32>,
    features: vec2<u32>,
    points: array<ContactPoint, 2>,
}

struct ConstraintPoint {
    r_a: vec2<f32>,
    r_b: vec2<f32>,
    separation: f32,
    normal_mass: f32,
    tangent_mass: f32,
    relative_velocity: f32,
}

struct Constraint {
    body_a: u32,
    body_b: u32,
    normal: vec2<f32>,
    inv_mass_a: f32,
    inv_inertia_a: f32,
    inv_mass_b: f32,
    inv_inertia_b: f32,
    friction: f32,
    restitution: f32,
    flags: u32,
    contact: u32,
    points: array<ConstraintPoint, 2>,
    impulses: vec4<f32>,
    max_impulses: vec2<f32>,
    separations: vec2<f32>,
}

struct Counters {
    pairs_found: u32,
    contacts: u32,
    touching: atomic<u32>,
    recycled: atomic<u32>,
    overflow_bits: u32,
    quarantined: atomic<u32>,
    uncolored: atomic<u32>,
    rounds: atomic<u32>,
    color_starts: array<u32, 33>,
    pad: array<u32, 3>,
}
