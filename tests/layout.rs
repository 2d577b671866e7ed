//! The structs and constants that Rust and WGSL share are the same on both sides: names, order, offsets, types, values.

use std::collections::BTreeMap;
use std::mem::offset_of;

use drystone::low_level::types;
use wgpu::naga;

/// One member: name, offset, and what it is made of.
type Member = (String, usize, Made);
/// A scalar (`f32`, `u32`, `i32`) or a struct by name, and how many. `vec2<f32>` and `[f32; 2]` are both `("f32", 2)`.
type Made = (String, usize);

#[derive(Debug, PartialEq)]
struct Layout {
    size: usize,
    members: Vec<Member>,
}

/// What a Rust type is made of.
trait Describe {
    fn made() -> Made;
}

macro_rules! scalars {
    ($($scalar:ident)*) => { $(impl Describe for $scalar {
        fn made() -> Made {
            (stringify!($scalar).to_owned(), 1)
        }
    })* };
}
scalars!(f32 u32 i32);

impl<T: Describe, const N: usize> Describe for [T; N] {
    fn made() -> Made {
        let (name, count) = T::made();
        (name, count * N)
    }
}

fn member<S, T: Describe>(name: &str, offset: usize, _: fn(&S) -> &T) -> Member {
    (name.to_owned(), offset, T::made())
}

macro_rules! structs {
    ($($name:ident { $($field:ident),+ $(,)? })+) => {
        $(impl Describe for types::$name {
            fn made() -> Made {
                (stringify!($name).to_owned(), 1)
            }
        })+

        /// Layouts of the Rust structs. Does not compile if a field is left out.
        fn rust_structs() -> BTreeMap<String, Layout> {
            $(let _ = |all: types::$name| {
                let types::$name { $($field: _),+ } = all;
            };)+
            BTreeMap::from([$((stringify!($name).to_owned(), Layout {
                size: size_of::<types::$name>(),
                members: vec![$(member(
                    stringify!($field),
                    offset_of!(types::$name, $field),
                    |all: &types::$name| &all.$field,
                )),+],
            })),+])
        }
    };
}

macro_rules! constants {
    ($($name:ident)+) => {
        fn rust_constants() -> BTreeMap<String, u32> {
            BTreeMap::from([$((stringify!($name).to_owned(), types::$name)),+])
        }
    };
}

structs! {
    Level { inv_cell, half_cell, log2_width, log2_height, first_cell, bands }
    Params {
        gravity, dt, h, body_count, shape_count, contact_capacity, cell_count, contact_softness, fixed_softness,
        push_speed, speculative_distance, restitution_threshold, recycle_distance, recycle_distance_apart, aabb_margin,
        max_speed, max_spin, projection_rate, max_correction, linear_slop, switches, level_count, color_blocks,
        half_plane_count, joint_count, sleep_speed, sleep_steps, pad, tie_heads, tie_links, field_count,
        late_plane_count, late_planes, fields, levels,
    }
    Field { position, force, acceleration, core, pad_0, pad_1 }
    Sweep { first_color, end_color, flags, round }
    Body {
        inv_mass, inv_inertia, linear_damping, angular_damping, force, force_point, torque, gravity_scale, extent,
        min_extent, kind, can_sleep, pad,
    }
    Mover { extent, min_extent, next, reach, stop_position, stop_rotation }
    Pose { position, rotation }
    BodyState { velocity, angular_velocity, status, delta_position, delta_rotation }
    Accumulator { velocity, angular_velocity, pad }
    Shape {
        half, radius, kind, offset, rotation, friction, restitution, body, level, category, mask, group, bound,
        kinetic_friction, tangent_speed, rolling_resistance, first_vertex,
    }
    Surface { kinetic_friction, tangent_speed, rolling_resistance, rolling_impulse }
    Event { kind, shape_a, shape_b, approach_speed, point, normal }
    Command { kind, body, row, world, value, other }
    Aabb { min, max }
    Ray { origin, delta, category, mask, group, world }
    Hit { point, normal, fraction, shape, pad }
    Region { min, max, center, radius, count, category, mask, group, world, points }
    ContactPoint {
        anchor_a, anchor_b, base_separation, separation, normal_impulse, tangent_impulse,
    }
    Contact { shape_a, shape_b, body_a, body_b, flags, color, features, rolling_impulse }
    Manifold { normal, cached_rotation_a, cached_rotation_b, cached_position, points }
    SleepingContact { contact, manifold }
    Constraint {
        body_a, body_b, normal, inv_mass_a, inv_inertia_a, inv_mass_b, inv_inertia_b, flags, friction, separations,
        r_a, r_b, measured, impulses,
    }
    Rebound { restitution, pad_0, relative_velocities, max_impulses, pad_1 }
    Joint {
        body_a, body_b, first_row, flags, anchor_a, anchor_b, axis, reference_angle, id, break_force, break_torque,
        generation, pad,
    }
    JointRow { kind, goal, max_impulse, pad_0, softness, pad_1 }
    JointState { angle, status, pad }
    JointFrame {
        body_a, body_b, first_row, flags, r_a, r_b, between, axis, inv_mass_a, inv_inertia_a, inv_mass_b,
        inv_inertia_b, angle, pad,
    }
    Counters {
        pairs_found, contacts, touching, recycled, overflow_bits, quarantined, uncolored, rounds, color_starts,
        continuous, awake, was_awake, sleeping_contacts, woken, slept, wake_all, again, awake_levels, pad,
    }
}

constants! {
    NONE LANES COLOR_BLOCK DYNAMIC_COLORS OVERFLOW_COLOR FIRST_FIXED_COLOR COLOR_COUNT CLAIM_SLOTS MAX_COLOR_ROUNDS
    CIRCLE BOX GEOMETRY_MASK FIXED_SHAPE KINEMATIC_SHAPE JOINED_SHAPE BULLET_SHAPE NO_SHAPE MOVING_WALLS BULLETS
    ONLY_BULLETS STATIC KINEMATIC DYNAMIC VACANT QUARANTINED ASLEEP WOKEN READY QUIET_SHIFT QUIET_MASK SLEEP
    ISLAND_WAKE ISLAND_BLOCKED AWAKE_HALF_PLANE UPRIGHT_SHAPE
    POINT_COUNT_MASK FIXED_A FIXED_B RECYCLED CACHED TOUCHED MARKED PAST_COLOR_SHIFT SENSOR OVERLAPS SENSOR_SHAPE
    EVENT_BEGIN EVENT_END EVENT_SENSOR_BEGIN EVENT_SENSOR_END EVENT_JOINT_BROKE BREAK_TOLD
    ACCUMULATE RECYCLE FORCE_OVERFLOW RESTITUTION_MAX WARM_START BOUNCES
    USE_BIAS USE_FRICTION WITHDRAW DEPOSIT FRESH MEASURED OVERFLOW_CONTACTS
    POLYGON HALF_PLANE HALF_PLANE_ROW VERTEX_COUNT_SHIFT MAX_VERTICES KINETIC_FRICTION CONVEYORS ROLLING SURFACES
    COMMAND_IMPULSE COMMAND_ANGULAR_IMPULSE COMMAND_FORCE COMMAND_TORQUE COMMAND_VELOCITY COMMAND_ANGULAR_VELOCITY
    COMMAND_TELEPORT COMMAND_TARGET COMMAND_WAKE COMMAND_WAKE_ALL
    COMMAND_JOINT_GOAL COMMAND_JOINT_MOTOR COMMAND_JOINT_ANCHOR
    COMMAND_JOINT_REFERENCE COMMAND_JOINT_ENABLE JOINT_VACANT JOINT_APART JOINT_FRESH JOINT_TYPE_SHIFT
    ROW_MEASURE
    JOINT_COLORS JOINT_OVERFLOW ROW_COUNT_MASK WORLD_A JOINT_FIXED_A JOINT_FIXED_B JOINT_DISABLED BROKEN
    ROW_ALONG ROW_AXIS ROW_ACROSS ROW_ANGLE ROW_POINT ROW_GEOMETRY
    MOST_OPS OP_END OP_WARM_START OP_WARM_START_JOINTS OP_INTEGRATE_VELOCITIES OP_SOLVE_JOINTS
    OP_SOLVE OP_INTEGRATE_POSITIONS OP_PROJECT_JOINTS OP_PROJECT OP_RESTITUTION
    ROW_EQUALITY ROW_LOWER ROW_UPPER ROW_MOTOR ROW_SPRING ROW_ROLE ROW_BY_MASS
}

const RUST: &str = include_str!("../src/types.rs");
const WGSL: &str = include_str!("../shaders/types.wgsl");

fn parse(text: &str) -> naga::Module {
    naga::front::wgsl::parse_str(text).unwrap_or_else(|error| panic!("{}", error.emit_to_string(text)))
}

fn wgsl_structs(module: &naga::Module) -> BTreeMap<String, Layout> {
    let mut found = BTreeMap::new();
    for (_, ty) in module.types.iter() {
        let (Some(name), naga::TypeInner::Struct { members, span }) = (&ty.name, &ty.inner) else { continue };
        let members = members
            .iter()
            .map(|member| {
                let name = member.name.clone().expect("WGSL members have names");
                (name, member.offset as usize, wgsl_made(module, member.ty))
            })
            .collect();
        found.insert(name.clone(), Layout { size: *span as usize, members });
    }
    found
}

fn wgsl_made(module: &naga::Module, ty: naga::Handle<naga::Type>) -> Made {
    let scalar = |scalar: naga::Scalar| {
        let kind = match scalar.kind {
            naga::ScalarKind::Float => 'f',
            naga::ScalarKind::Uint => 'u',
            naga::ScalarKind::Sint => 'i',
            other => panic!("{other:?} is not shared with Rust"),
        };
        format!("{kind}{}", 8 * scalar.width)
    };
    match module.types[ty].inner {
        naga::TypeInner::Scalar(one) | naga::TypeInner::Atomic(one) => (scalar(one), 1),
        naga::TypeInner::Vector { size, scalar: one } => (scalar(one), size as usize),
        naga::TypeInner::Array { base, size: naga::ArraySize::Constant(count), stride } => {
            let (name, inner) = wgsl_made(module, base);
            assert_eq!(stride % 4, 0);
            (name, inner * count.get() as usize)
        }
        naga::TypeInner::Struct { .. } => (module.types[ty].name.clone().expect("a named struct"), 1),
        ref other => panic!("{other:?} is not shared with Rust"),
    }
}

fn wgsl_constants(module: &naga::Module) -> BTreeMap<String, u32> {
    let mut found = BTreeMap::new();
    for (_, constant) in module.constants.iter() {
        let name = constant.name.clone().expect("WGSL constants have names");
        match module.global_expressions[constant.init] {
            naga::Expression::Literal(naga::Literal::U32(value)) => found.insert(name, value),
            ref other => panic!("{name} is {other:?}, not a u32"),
        };
    }
    found
}

/// The first place where the two sides differ.
fn difference(wgsl: &str) -> Result<(), String> {
    let module = parse(wgsl);
    let (ours, theirs) = (rust_structs(), wgsl_structs(&module));
    let (our_names, their_names): (Vec<_>, Vec<_>) = (ours.keys().collect(), theirs.keys().collect());
    if our_names != their_names {
        return Err(format!("structs: Rust has {our_names:?}, WGSL {their_names:?}"));
    }
    for (name, layout) in &ours {
        let their = &theirs[name];
        for index in 0..layout.members.len().max(their.members.len()) {
            let (our, their) = (layout.members.get(index), their.members.get(index));
            if our != their {
                return Err(format!("{name}: member {index} is {our:?} in Rust, {their:?} in WGSL"));
            }
        }
        if layout.size != their.size {
            return Err(format!("{name}: {} bytes in Rust, {} in WGSL", layout.size, their.size));
        }
    }
    let (ours, theirs) = (rust_constants(), wgsl_constants(&module));
    for name in ours.keys().chain(theirs.keys()) {
        if ours.get(name) != theirs.get(name) {
            return Err(format!("{name} is {:?} in Rust, {:?} in WGSL", ours.get(name), theirs.get(name)));
        }
    }
    Ok(())
}

#[test]
fn rust_and_wgsl_agree() {
    difference(WGSL).unwrap();
}

/// Everything that `types.rs` declares is on the lists above, so that nothing is compared with nothing.
#[test]
fn the_lists_are_complete() {
    let declared = |keyword: &str| {
        let mut names: Vec<&str> = RUST
            .lines()
            .filter_map(|line| line.strip_prefix(keyword))
            .map(|rest| rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap())
            .collect();
        names.sort_unstable();
        names
    };
    assert_eq!(declared("pub struct "), rust_structs().keys().collect::<Vec<_>>());
    let mut constants = declared("pub const ");
    // The lengths of arrays; as such they are compared with those of the WGSL arrays.
    constants.retain(|name| !["MAX_LEVELS", "MAX_FIELDS", "MAX_LATE_PLANES"].contains(name));
    assert_eq!(constants, rust_constants().keys().collect::<Vec<_>>());
}

/// A struct is whole 16-byte rows, and no member straddles two unless it begins with one.
#[test]
fn structs_are_rows_of_16_bytes() {
    for (name, layout) in rust_structs() {
        assert_eq!(layout.size % 16, 0, "{name} is {} bytes", layout.size);
        for (member, offset, (made, count)) in layout.members {
            if matches!(made.as_str(), "f32" | "u32" | "i32") {
                let row_end = offset / 16 * 16 + 16;
                assert!(offset % 16 == 0 || offset + 4 * count <= row_end, "{name}.{member} straddles two rows");
            } else {
                assert_eq!(offset % 16, 0, "{name}.{member} does not begin with a row");
            }
        }
    }
}

/// Negative control: one change to the WGSL, and the comparison says what it is.
#[test]
fn a_changed_wgsl_is_noticed() {
    for (from, to, complaint) in [
        ("    dt: f32,\n    h: f32,", "    h: f32,\n    dt: f32,", "Params: member"),
        ("    inv_mass: f32,", "    mass: f32,", "Body: member"),
        ("    group: i32,\n    bound", "    group: u32,\n    bound", "Shape: member"),
        ("    origin: vec2<f32>,", "    origin: vec3<f32>,", "Ray: member"),
        ("    points: array<vec2<f32>, 8>,", "    points: array<vec2<f32>, 6>,", "Region: member"),
        ("    features: u32,", "    features: vec2<u32>,", "Contact: member"),
        ("    levels: array<Level, 24>,", "    levels: array<Level, 25>,", "Params: member"),
        ("    separations: vec2<f32>,\n", "", "Constraint: member"),
        ("struct Aabb", "struct Box", "structs:"),
        ("const FRESH: u32 = 8u;", "const FRESH: u32 = 9u;", "FRESH"),
        ("const CACHED: u32 = 32u;", "", "CACHED"),
        ("const NONE", "const MORE: u32 = 1u;\nconst NONE", "MORE"),
    ] {
        assert_eq!(WGSL.matches(from).count(), 1, "{from:?} is not in types.wgsl exactly once");
        let error = difference(&WGSL.replacen(from, to, 1)).expect_err(to);
        assert!(error.starts_with(complaint), "{from:?} → {to:?}: {error}");
    }
}

/// Constants of one stage, stated in its shader and again in Rust.
#[test]
fn constants_that_are_stated_twice_agree() {
    let collect = |folder: &str, extension: &str, keyword: &[&str]| {
        let mut found: Vec<(String, String, String)> = Vec::new();
        let mut folders = vec![std::path::PathBuf::from(folder)];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|found| found == extension) {
                    for line in std::fs::read_to_string(&path).unwrap().lines() {
                        let Some(rest) = keyword.iter().find_map(|keyword| line.strip_prefix(keyword)) else {
                            continue;
                        };
                        let Some((name, value)) = rest.split_once('=') else { continue };
                        let name = name.split(':').next().unwrap().trim();
                        let mut value = value.split(';').next().unwrap().trim().replace('_', "");
                        if value.ends_with('u') {
                            value.pop();
                        }
                        found.push((name.to_owned(), value, path.display().to_string()));
                    }
                }
            }
        }
        found
    };
    let root = env!("CARGO_MANIFEST_DIR");
    let all = |folder: &str, extension, starts: &[&str]| -> Vec<_> {
        let crates = [root.to_owned(), format!("{root}/crates/drystone-draw"), format!("{root}/crates/drystone-view")];
        crates.iter().flat_map(|of| collect(&format!("{of}/{folder}"), extension, starts)).collect()
    };
    let rust = all("src", "rs", &["pub const ", "pub(crate) const ", "const "]);
    let wgsl = all("shaders", "wgsl", &["const "]);
    let mut compared = 0;
    for (name, value, place) in wgsl.iter().filter(|(.., place)| !place.ends_with("types.wgsl")) {
        for (_, other, other_place) in rust.iter().filter(|(other, ..)| other == name) {
            // A value that is computed, such as `1 << 3`, has no one spelling.
            if other.parse::<f64>().is_ok() && value.parse::<f64>().is_ok() {
                assert_eq!(value.parse::<f64>(), other.parse::<f64>(), "{name}: {place} and {other_place}");
                compared += 1;
            }
        }
    }
    assert!(compared >= 2, "only {compared} constants were compared");
}
