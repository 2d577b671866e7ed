// Structs that Rust and WGSL share (src/types/, where each field is explained). tests/layout.rs compares the two.

const NONE: u32 = 0xffffffffu;
const LANES: u32 = 64u;
const COLOR_BLOCK: u32 = 256u;
const TILE_LANES: u32 = 32u;
const DYNAMIC_COLORS: u32 = 23u;
const OVERFLOW_COLOR: u32 = 23u;
const FIXED_COLORS_START: u32 = 24u;
const COLOR_COUNT: u32 = 32u;
const CLAIM_SLOTS: u32 = 8u;
const MAX_COLOR_ROUNDS: u32 = 31u;
const MIN_SPLIT_SHAPES: u32 = 64u;
const MAX_SPLITS: u32 = 0x20000u;
const SHARE_CHUNK: u32 = 128u;
const SPLIT_COUNT: u32 = 33u;
const HUB_COUNT: u32 = 34u;
const SHARE_COUNT: u32 = 35u;
const HUB_WORDS: u32 = 36u;

const CIRCLE: u32 = 0u;
const BOX: u32 = 1u;
const POLYGON: u32 = 2u;
const HALF_PLANE: u32 = 3u;
const NO_SHAPE: u32 = 4u;
const GEOMETRY_MASK: u32 = 0xffu;
const FIXED_SHAPE: u32 = 0x100u;
const KINEMATIC_SHAPE: u32 = 0x200u;
const UPRIGHT_SHAPE: u32 = 0x100000u;
const JOINED_SHAPE: u32 = 0x400u;
const SENSOR_SHAPE: u32 = 0x800u;
const BULLET_SHAPE: u32 = 0x10000u;
const LINK_SHAPE: u32 = 0x20000u;
const ONE_WAY_SHAPE: u32 = 0x40000u;
const MATERIAL_SHIFT: u32 = 24u;
const MATERIAL_MASK: u32 = 0x1fu;
const VERTEX_COUNT_SHIFT: u32 = 12u;
const MAX_VERTICES: u32 = 8u;

const HALF_PLANE_ROW: u32 = 2u;

const STATIC: u32 = 0u;
const KINEMATIC: u32 = 1u;
const DYNAMIC: u32 = 2u;
const VACANT: u32 = 3u;

const EVENT_BEGIN: u32 = 0u;
const EVENT_END: u32 = 1u;
const EVENT_SENSOR_BEGIN: u32 = 2u;
const EVENT_SENSOR_END: u32 = 3u;
const EVENT_JOINT_BROKE: u32 = 4u;

const COMMAND_IMPULSE: u32 = 0u;
const COMMAND_ANGULAR_IMPULSE: u32 = 1u;
const COMMAND_FORCE: u32 = 2u;
const COMMAND_TORQUE: u32 = 3u;
const COMMAND_VELOCITY: u32 = 4u;
const COMMAND_ANGULAR_VELOCITY: u32 = 5u;
const COMMAND_TELEPORT: u32 = 6u;
const COMMAND_TARGET: u32 = 7u;
const COMMAND_WAKE: u32 = 8u;
const WAKE_TOUCHED: u32 = 1u;
const COMMAND_WAKE_ALL: u32 = 9u;
const COMMAND_JOINT_GOAL: u32 = 10u;
const COMMAND_JOINT_MOTOR: u32 = 11u;
const COMMAND_JOINT_ANCHOR: u32 = 12u;
const COMMAND_JOINT_REFERENCE: u32 = 13u;
const COMMAND_JOINT_ENABLE: u32 = 14u;
const COMMAND_JOINT_FIXED: u32 = 15u;

const QUARANTINED: u32 = 1u;
const ASLEEP: u32 = 2u;
const WOKEN: u32 = 4u;
const READY: u32 = 8u;
const MASS_SHIFT: u32 = 5u;
const MASS_MASK: u32 = 0xffe0u;
const QUIET_SHIFT: u32 = 16u;
const QUIET_MASK: u32 = 0xffff0000u;

const ISLAND_WAKE: u32 = 1u;
const ISLAND_BLOCKED: u32 = 2u;

const AWAKE_HALF_PLANE: u32 = 0x80000000u;

const WAKE_ALL: u32 = 1u;
const WAKE_MOVED: u32 = 2u;

const POINT_COUNT_MASK: u32 = 3u;
const FIXED_A: u32 = 4u;
const FIXED_B: u32 = 8u;
const HUB_A: u32 = 8192u;
const HUB_B: u32 = 16384u;
const RECYCLED: u32 = 16u;
const CACHED: u32 = 32u;
const TOUCHED: u32 = 64u;
const MARKED: u32 = 128u;
const RETURNED: u32 = 0x200000u;
const PAST_COLOR_SHIFT: u32 = 24u;
const SENSOR: u32 = 256u;
const SENSOR_B: u32 = 0x100000u;
const OVERLAPS: u32 = 512u;
const IMPACT: u32 = 1024u;
const INITIAL: u32 = 2048u;
const LOADED: u32 = 4096u;
const ROUND_A: u32 = 32768u;
const ROUND_B: u32 = 65536u;
const SPRING_SHIFT: u32 = 17u;
const SPRING_MASK: u32 = 0xe0000u;

const ACCUMULATE: u32 = 1u;
const RECYCLE: u32 = 2u;
const FORCE_OVERFLOW: u32 = 4u;
const BOUNCES: u32 = 32u;
const WARM_START: u32 = 16u;
const KINETIC_FRICTION: u32 = 64u;
const CONVEYORS: u32 = 128u;
const ROLLING: u32 = 256u;
const MOVING_WALLS: u32 = 512u;
const BULLETS: u32 = 1024u;
const SLEEP: u32 = 2048u;
const MATERIAL_PAIRS: u32 = 4096u;
const MATERIAL_SPRINGS: u32 = 8192u;
const RULED: u32 = 16384u;
const SURFACES: u32 = 448u;

const MIX_MIN: u32 = 0u;
const MIX_MAX: u32 = 1u;
const MIX_GEOMETRIC: u32 = 2u;
const MIX_MEAN: u32 = 3u;
const MIX_PRODUCT: u32 = 4u;

const JOINT_COLORS: u32 = 32u;
const JOINT_OVERFLOW: u32 = 31u;
const JOINT_TREES: u32 = 64u;
const TREE_CHILD_A: u32 = 0x80000000u;
const FINDS_HITS: u32 = 1u;
const SOLID_ONLY: u32 = 2u;
const RAY_ITEM_WORDS: u32 = 4u;

const ROW_COUNT_MASK: u32 = 7u;
const WORLD_A: u32 = 8u;
const JOINT_FIXED_A: u32 = 16u;
const JOINT_FIXED_B: u32 = 32u;
const JOINT_DISABLED: u32 = 64u;
const JOINT_VACANT: u32 = 128u;
const JOINT_APART: u32 = 256u;
const JOINT_FRESH: u32 = 512u;
const JOINT_TYPE_SHIFT: u32 = 12u;
const JOINT_GEAR: u32 = 9u;
const JOINT_PULLEY: u32 = 10u;

const BROKEN: u32 = 1u;
const BREAK_TOLD: u32 = 2u;
const DISENGAGED: u32 = 4u;

const ROW_ALONG: u32 = 0u;
const ROW_AXIS: u32 = 1u;
const ROW_ACROSS: u32 = 2u;
const ROW_ANGLE: u32 = 3u;
const ROW_POINT: u32 = 4u;
const ROW_PULLEY: u32 = 5u;
const ROW_GEOMETRY: u32 = 0xfu;
const ROW_EQUALITY: u32 = 0x00u;
const ROW_LOWER: u32 = 0x10u;
const ROW_UPPER: u32 = 0x20u;
const ROW_MOTOR: u32 = 0x30u;
const ROW_SPRING: u32 = 0x40u;
const ROW_ROLE: u32 = 0xf0u;
const ROW_BY_MASS: u32 = 0x100u;
const ROW_MEASURE: u32 = 0x200u;
const ROW_RANGED: u32 = 0x400u;

const USE_BIAS: u32 = 1u;
const USE_FRICTION: u32 = 2u;
const WITHDRAW: u32 = 4u;
const FRESH: u32 = 8u;
const MEASURED: u32 = 16u;
const ONLY_BULLETS: u32 = 32u;
const DEPOSIT: u32 = 64u;
const LEAVE_IMPACTS: u32 = 128u;
const HELD: u32 = 256u;
const HELD_ALONE: u32 = 1024u;
const SPLIT_DONE: u32 = 512u;

const OVERFLOW_CONTACTS: u32 = 1u;
const OVERFLOW_CROWD: u32 = 2u;

const MAX_OPS: u32 = 512u;
const OP_END: u32 = 0u;
const OP_WARM_START: u32 = 1u;
const OP_WARM_START_JOINTS: u32 = 2u;
const OP_INTEGRATE_VELOCITIES: u32 = 3u;
const OP_SOLVE_JOINTS: u32 = 4u;
const OP_SOLVE: u32 = 5u;
const OP_INTEGRATE_POSITIONS: u32 = 6u;
const OP_PROJECT_JOINTS: u32 = 7u;
const OP_PROJECT: u32 = 8u;
const OP_RESTITUTION: u32 = 9u;

struct Level {
    inv_cell: vec2<f32>,
    half_cell: vec2<f32>,
    log2_width: u32,
    log2_height: u32,
    first_cell: u32,
    bands: u32,
}

struct FieldData {
    position: vec2<f32>,
    force: f32,
    acceleration: f32,
    core: f32,
    pad_0: u32,
    pad_1: vec2<u32>,
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
    half_plane_count: u32,
    joint_count: u32,
    sleep_speed: f32,
    sleep_steps: u32,
    stick_speed: f32,
    preload_rate: f32,
    exclusion_heads: u32,
    exclusion_links: u32,
    field_count: u32,
    late_plane_count: u32,
    pressing_threshold: f32,
    impact_time: f32,
    fixed_levels: u32,
    unload_overlap: f32,
    max_disc_spin: f32,
    friction_mix: u32,
    restitution_mix: u32,
    mass_per_impulse: f32,
    pair_friction: array<vec4<f32>, 34>,
    pair_kinetic_friction: array<vec4<f32>, 34>,
    pair_restitution: array<vec4<f32>, 34>,
    springs: array<vec4<f32>, 16>,
    pair_springs: array<vec4<u32>, 5>,
    late_planes: array<vec4<u32>, 4>,
    fields: array<FieldData, 4>,
    levels: array<Level, 24>,
}

struct Sweep {
    first_color: u32,
    end_color: u32,
    flags: u32,
    round: u32,
}

struct BodyData {
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
    can_sleep: u32,
    color: u32,
    sleep_speed: f32,
}

struct CcdBody {
    extent: f32,
    min_extent: f32,
    next: u32,
    reach: atomic<u32>,
    stop_position: vec2<f32>,
    stop_rotation: vec2<f32>,
}

struct Pose {
    position: vec2<f32>,
    rotation: vec2<f32>,
    low: vec2<f32>,
    pad: vec2<f32>,
}

struct BodyState {
    velocity: vec2<f32>,
    angular_velocity: f32,
    status: u32,
    delta_position: vec2<f32>,
    delta_rotation: vec2<f32>,
}

struct BodyMotion {
    moved: vec2<f32>,
    turned: f32,
    extent: f32,
}

struct Accumulator {
    velocity: vec2<f32>,
    angular_velocity: f32,
    asked_mass: f32,
}

struct ShapeData {
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
    kinetic_friction: f32,
    tangent_speed: f32,
    rolling_resistance: f32,
    first_vertex: u32,
}

struct Surface {
    kinetic_friction: f32,
    tangent_speed: f32,
    rolling_resistance: f32,
    rolling_impulse: f32,
}

struct RuleContact {
    normal: vec2<f32>,
    velocity: vec2<f32>,
    separation: f32,
    friction: f32,
    kinetic_friction: f32,
    restitution: f32,
    tangent_speed: f32,
    rolling_resistance: f32,
    touches: u32,
    is_new: u32,
    material_a: u32,
    material_b: u32,
    category_a: u32,
    category_b: u32,
    body_a: u32,
    body_b: u32,
    shape_a: u32,
    shape_b: u32,
}

struct EventData {
    kind: u32,
    shape_a: u32,
    shape_b: u32,
    approach_speed: f32,
    point: vec2<f32>,
    normal: vec2<f32>,
}

struct CommandData {
    kind: u32,
    body: u32,
    row: u32,
    world: u32,
    value: vec2<f32>,
    other: vec2<f32>,
    low: vec2<f32>,
    pad: vec2<f32>,
}

struct Aabb {
    min: vec2<f32>,
    max: vec2<f32>,
}

struct Ray {
    origin: vec2<f32>,
    delta: vec2<f32>,
    category: u32,
    mask: u32,
    group: i32,
    world: u32,
    ignore: u32,
    flags: u32,
    pad: array<u32, 2>,
}

struct Hit {
    point: vec2<f32>,
    normal: vec2<f32>,
    fraction: f32,
    shape: u32,
    depth: f32,
    pad: u32,
}

struct Region {
    min: vec2<f32>,
    max: vec2<f32>,
    center: vec2<f32>,
    radius: f32,
    count: u32,
    category: u32,
    mask: u32,
    group: i32,
    world: u32,
    delta: vec2<f32>,
    ignore: u32,
    flags: u32,
    points: array<vec2<f32>, 8>,
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
    flags: u32,
    color: u32,
    features: u32,
    rolling_impulse: f32,
}

struct Manifold {
    normal: vec2<f32>,
    cached_rotation_a: vec2<f32>,
    cached_rotation_b: vec2<f32>,
    cached_position: vec2<f32>,
    points: array<ContactPoint, 2>,
    preloads: vec2<f32>,
    pad: array<u32, 2>,
}

struct SleepingContact {
    contact: Contact,
    manifold: Manifold,
}

struct ConstraintTile {
    links: array<vec4<u32>, TILE_LANES>,
    frames: array<vec4<f32>, TILE_LANES>,
    inv_masses: array<vec4<f32>, TILE_LANES>,
    r_a: array<vec4<f32>, TILE_LANES>,
    r_b: array<vec2<f32>, TILE_LANES>,
    measured: array<vec2<f32>, TILE_LANES>,
    impulses: array<vec4<f32>, TILE_LANES>,
}

struct Rebound {
    restitution: f32,
    radii: f32,
    acceleration: vec2<f32>,
    between: vec2<f32>,
    radius_a: f32,
    pad: u32,
    impulses: vec4<f32>,
}

struct JointData {
    body_a: u32,
    body_b: u32,
    first_row: u32,
    flags: u32,
    anchor_a: vec2<f32>,
    anchor_b: vec2<f32>,
    axis: vec2<f32>,
    reference_angle: f32,
    id: u32,
    break_force: f32,
    break_torque: f32,
    generation: u32,
    ratio: f32,
}

struct JointRow {
    kind: u32,
    goal: f32,
    max_impulse: f32,
    goal_y: f32,
    softness: array<f32, 3>,
    ground_y: f32,
}

struct JointState {
    angle: f32,
    status: u32,
    turns: vec2<f32>,
}

struct JointFrame {
    body_a: u32,
    body_b: u32,
    first_row: u32,
    flags: u32,
    r_a: vec2<f32>,
    r_b: vec2<f32>,
    between: vec2<f32>,
    axis: vec2<f32>,
    inv_mass_a: f32,
    inv_inertia_a: f32,
    inv_mass_b: f32,
    inv_inertia_b: f32,
    angle: f32,
    ratio: f32,
    pad: array<u32, 2>,
}

struct TreeRow {
    push: array<f32, 3>,
    inv_inertia: f32,
    inverse: array<f32, 3>,
    mass: f32,
    matrix: array<f32, 6>,
    at: array<f32, 2>,
    rest: array<f32, 3>,
    most: f32,
}

struct Counters {
    pairs_found: u32,
    contacts: u32,
    touching: atomic<u32>,
    recycled: atomic<u32>,
    overflow_bits: atomic<u32>,
    quarantined: atomic<u32>,
    uncolored: atomic<u32>,
    rounds: atomic<u32>,
    color_starts: array<u32, 33>,
    continuous: atomic<u32>,
    awake: atomic<u32>,
    was_awake: u32,
    sleeping_contacts: atomic<u32>,
    woken: atomic<u32>,
    slept: atomic<u32>,
    wake_flags: atomic<u32>,
    again: atomic<u32>,
    awake_levels: atomic<u32>,
    left: array<atomic<u32>, 2>,
}
