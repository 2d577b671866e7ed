//! Structs and constants shared by Rust and WGSL are equal on both sides: names, order, offsets, types, values.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::mem::offset_of;
use std::path::Path;

use drystone::low_level::gpu::shader::{Composer, SHADERS, SHARED};
use drystone::low_level::{constants, types};
use wgpu::naga;

/// A struct member: name, offset, and element type.
type Member = (String, usize, Made);
/// A scalar (`f32`, `u32`, `i32`) or a struct by name, and the count. `vec2<f32>` and `[f32; 2]` are both `("f32", 2)`.
type Made = (String, usize);

#[derive(Debug, PartialEq)]
struct Layout {
    size: usize,
    members: Vec<Member>,
}

/// The element type and count of a Rust type.
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
        half_plane_count, joint_count, sleep_speed, sleep_steps, stick_speed, preload_rate, exclusion_heads, exclusion_links,
        field_count, late_plane_count, pressing_threshold, impact_time, fixed_levels, unload_overlap,
        max_disc_spin, friction_mix, restitution_mix, mass_per_impulse, pair_friction, pair_kinetic_friction,
        pair_restitution, springs, pair_springs, late_planes, fields, levels,
    }
    FieldData { position, force, acceleration, core, pad_0, pad_1 }
    Sweep { first_color, end_color, flags, round }
    BodyData {
        inv_mass, inv_inertia, linear_damping, angular_damping, force, force_point, torque, gravity_scale, extent,
        min_extent, kind, can_sleep, color, sleep_speed,
    }
    CcdBody { extent, min_extent, next, reach, stop_position, stop_rotation }
    Pose { position, rotation, low, pad }
    BodyState { velocity, angular_velocity, status, delta_position, delta_rotation }
    BodyMotion { moved, turned, extent }
    Accumulator { velocity, angular_velocity, asked_mass }
    ShapeData {
        half, radius, kind, offset, rotation, friction, restitution, body, level, category, mask, group, bound,
        kinetic_friction, tangent_speed, rolling_resistance, first_vertex,
    }
    Surface { kinetic_friction, tangent_speed, rolling_resistance, rolling_impulse }
    RuleContact {
        normal, velocity, separation, friction, kinetic_friction, restitution, tangent_speed, rolling_resistance, touches,
        is_new, material_a, material_b, category_a, category_b, body_a, body_b, shape_a, shape_b,
    }
    EventData { kind, shape_a, shape_b, approach_speed, point, normal }
    CommandData { kind, body, row, world, value, other, low, pad }
    Aabb { min, max }
    Ray { origin, delta, category, mask, group, world, ignore, flags, pad }
    Hit { point, normal, fraction, shape, depth, pad }
    Region { min, max, center, radius, count, category, mask, group, world, delta, ignore, flags, points }
    ContactPoint {
        anchor_a, anchor_b, base_separation, separation, normal_impulse, tangent_impulse,
    }
    Contact { shape_a, shape_b, body_a, body_b, flags, color, features, rolling_impulse }
    Manifold { normal, cached_rotation_a, cached_rotation_b, cached_position, points, preloads, pad }
    SleepingContact { contact, manifold }
    ConstraintTile { links, frames, inv_masses, r_a, r_b, measured, impulses }
    Rebound { restitution, radii, acceleration, between, radius_a, pad, impulses }
    JointData {
        body_a, body_b, first_row, flags, anchor_a, anchor_b, axis, reference_angle, id, break_force, break_torque,
        generation, ratio,
    }
    JointRow { kind, goal, max_impulse, goal_y, softness, ground_y }
    JointState { angle, status, turns }
    JointFrame {
        body_a, body_b, first_row, flags, r_a, r_b, between, axis, inv_mass_a, inv_inertia_a, inv_mass_b,
        inv_inertia_b, angle, ratio, pad,
    }
    TreeRow { push, inv_inertia, inverse, mass, matrix, at, rest, most }
    Counters {
        pairs_found, contacts, touching, recycled, overflow_bits, quarantined, uncolored, rounds, color_starts,
        continuous, awake, was_awake, sleeping_contacts, woken, slept, wake_flags, again, awake_levels, left,
    }
}

constants! {
    NONE LANES COLOR_BLOCK TILE_LANES DYNAMIC_COLORS OVERFLOW_COLOR FIXED_COLORS_START COLOR_COUNT CLAIM_SLOTS MAX_COLOR_ROUNDS
    MIN_SPLIT_SHAPES MAX_SPLITS SHARE_CHUNK SPLIT_COUNT HUB_COUNT SHARE_COUNT HUB_WORDS SPLIT_DONE HUB_A HUB_B
    CIRCLE BOX GEOMETRY_MASK FIXED_SHAPE KINEMATIC_SHAPE JOINED_SHAPE BULLET_SHAPE NO_SHAPE MOVING_WALLS BULLETS
    ONLY_BULLETS STATIC KINEMATIC DYNAMIC VACANT QUARANTINED ASLEEP WOKEN READY MASS_SHIFT MASS_MASK QUIET_SHIFT QUIET_MASK SLEEP
    ISLAND_WAKE ISLAND_BLOCKED AWAKE_HALF_PLANE UPRIGHT_SHAPE LINK_SHAPE ONE_WAY_SHAPE
    POINT_COUNT_MASK FIXED_A FIXED_B RECYCLED CACHED TOUCHED MARKED RETURNED PAST_COLOR_SHIFT SENSOR SENSOR_B OVERLAPS IMPACT INITIAL LOADED ROUND_A ROUND_B SPRING_SHIFT SPRING_MASK SENSOR_SHAPE
    EVENT_BEGIN EVENT_END EVENT_SENSOR_BEGIN EVENT_SENSOR_END EVENT_JOINT_BROKE BREAK_TOLD
    ACCUMULATE RECYCLE FORCE_OVERFLOW MIX_MIN MIX_MAX MIX_GEOMETRIC MIX_MEAN MIX_PRODUCT MATERIAL_PAIRS MATERIAL_SPRINGS RULED WARM_START BOUNCES
    USE_BIAS USE_FRICTION WITHDRAW DEPOSIT LEAVE_IMPACTS FRESH MEASURED OVERFLOW_CONTACTS OVERFLOW_CROWD
    POLYGON HALF_PLANE HALF_PLANE_ROW MATERIAL_SHIFT MATERIAL_MASK VERTEX_COUNT_SHIFT MAX_VERTICES KINETIC_FRICTION CONVEYORS ROLLING SURFACES
    COMMAND_IMPULSE COMMAND_ANGULAR_IMPULSE COMMAND_FORCE COMMAND_TORQUE COMMAND_VELOCITY COMMAND_ANGULAR_VELOCITY
    COMMAND_TELEPORT COMMAND_TARGET COMMAND_WAKE WAKE_TOUCHED COMMAND_WAKE_ALL WAKE_ALL WAKE_MOVED
    COMMAND_JOINT_GOAL COMMAND_JOINT_MOTOR COMMAND_JOINT_ANCHOR
    COMMAND_JOINT_REFERENCE COMMAND_JOINT_ENABLE COMMAND_JOINT_FIXED JOINT_VACANT JOINT_APART JOINT_FRESH JOINT_TYPE_SHIFT
    JOINT_GEAR JOINT_PULLEY DISENGAGED ROW_MEASURE
    JOINT_COLORS JOINT_OVERFLOW JOINT_TREES TREE_CHILD_A RAY_ITEM_WORDS FINDS_HITS SOLID_ONLY HELD HELD_ALONE ROW_COUNT_MASK WORLD_A JOINT_FIXED_A JOINT_FIXED_B JOINT_DISABLED BROKEN
    ROW_ALONG ROW_AXIS ROW_ACROSS ROW_ANGLE ROW_POINT ROW_PULLEY ROW_GEOMETRY
    MAX_OPS OP_END OP_WARM_START OP_WARM_START_JOINTS OP_INTEGRATE_VELOCITIES OP_SOLVE_JOINTS
    OP_SOLVE OP_INTEGRATE_POSITIONS OP_PROJECT_JOINTS OP_PROJECT OP_RESTITUTION
    ROW_EQUALITY ROW_LOWER ROW_UPPER ROW_MOTOR ROW_SPRING ROW_ROLE ROW_BY_MASS ROW_RANGED
}

const WGSL: &str = include_str!("../shaders/types.wgsl");
const NUMBERS: &str = include_str!("../shaders/constants.wgsl");

/// Returns the text of `src/types.rs` and of the files in `src/types/`.
fn rust() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let files = fs::read_dir(root.join("types")).unwrap().map(|entry| entry.unwrap().path());
    files.chain([root.join("types.rs")]).map(|path| fs::read_to_string(path).unwrap()).collect()
}

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

/// Returns the first difference of the two sides as an error.
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

/// The lists above contain everything that `src/types/` declares, so that no struct is left out of the comparison.
#[test]
fn the_lists_are_complete() {
    let rust = rust();
    let declared = |keyword: &str| {
        let mut names: Vec<&str> = rust
            .lines()
            .filter_map(|line| line.strip_prefix(keyword))
            .map(|rest| rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap())
            .collect();
        names.sort_unstable();
        names
    };
    let mut structs = declared("pub struct ");
    // On the device it is part of a tile.
    structs.retain(|&name| name != "Constraint");
    assert_eq!(structs, rust_structs().keys().collect::<Vec<_>>());
    let mut constants = declared("pub const ");
    // Array lengths are compared with those of the WGSL arrays.
    let lengths = ["MAX_LEVELS", "MAX_FIELDS", "MAX_LATE_PLANES", "MAX_MATERIALS", "MAX_MATERIAL_PAIRS", "MAX_SPRINGS"];
    constants.retain(|name| !lengths.contains(name));
    assert_eq!(constants, rust_constants().keys().collect::<Vec<_>>());
}

/// A struct consists of whole 16-byte rows, and no member crosses a row unless it begins with one.
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

/// Negative control: for any single change to the WGSL, the comparison names it.
#[test]
fn a_changed_wgsl_is_detected() {
    for (from, to, complaint) in [
        ("    dt: f32,\n    h: f32,", "    h: f32,\n    dt: f32,", "Params: member"),
        ("    inv_mass: f32,", "    mass: f32,", "BodyData: member"),
        ("    group: i32,\n    bound", "    group: u32,\n    bound", "ShapeData: member"),
        ("    origin: vec2<f32>,", "    origin: vec3<f32>,", "Ray: member"),
        ("    points: array<vec2<f32>, 8>,", "    points: array<vec2<f32>, 6>,", "Region: member"),
        ("    features: u32,", "    features: vec2<u32>,", "Contact: member"),
        ("    levels: array<Level, 24>,", "    levels: array<Level, 25>,", "Params: member"),
        ("    r_b: array<vec2<f32>, TILE_LANES>,\n", "", "ConstraintTile: member"),
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

macro_rules! numbers {
    ($($name:ident)+) => {
        /// Numbers of the physics that shaders need, from Rust.
        fn rust_numbers() -> BTreeMap<String, f64> {
            BTreeMap::from([$((stringify!($name).to_owned(), f64::from(constants::$name))),+])
        }
    };
}

numbers! {
    MIN_LENGTH RECYCLE_COS FACE_PREFERENCE EDGE_PREFERENCE PASSING_MOTION PASSING_SHARE SAME_FACE FAST SWEPT
    LINK_SLACK LINK_OVERLAP PARALLEL MIN_CORNER_ANGLE ROUNDING GAP
    MAX_PRELOAD UNLOAD_SHARE UNLOAD_RATE CALM SCALED_FLOOR SCALED_SPREAD DAMPED_SHARE UNTOUCHED TREE_RATIO TREE_PULL MAX_SWING MIN_DETERMINANT
    MAX_ANGULAR_CORRECTION MAX_SUM FAR_MARGIN FAR CORE STOUT STOP_SHARE STOP_THICKNESS STOP_EXTENT STOP_TOLERANCE TOUCH MAX_ADVANCES
    MOVED_SHARE MAX_QUIET RAY_SLACK SLICE_CELLS CROWD
}

/// Returns the numeric constants of a module.
fn wgsl_numbers(module: &naga::Module) -> BTreeMap<String, f64> {
    let mut found = BTreeMap::new();
    for (_, constant) in module.constants.iter() {
        let (Some(name), naga::Expression::Literal(literal)) =
            (&constant.name, &module.global_expressions[constant.init])
        else {
            continue;
        };
        let value = match *literal {
            naga::Literal::F32(value) => f64::from(value),
            naga::Literal::U32(value) => f64::from(value),
            naga::Literal::I32(value) => f64::from(value),
            _ => continue,
        };
        found.insert(name.clone(), value);
    }
    found
}

/// Returns the names of constants that differ, or that one side lacks.
fn different_numbers(wgsl: &str) -> Vec<String> {
    let (ours, theirs) = (rust_numbers(), wgsl_numbers(&parse(wgsl)));
    let names: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
    names.into_iter().filter(|&name| ours.get(name) != theirs.get(name)).cloned().collect()
}

/// Constants agree to the last bit, independently of their spelling.
#[test]
fn numbers_of_the_physics_agree() {
    assert_eq!(different_numbers(NUMBERS), [] as [&str; 0]);
}

/// Negative control: a changed constant is detected.
#[test]
fn a_changed_number_is_detected() {
    for (from, to, name) in [
        ("0.13962634", "0.13962635", "MAX_ANGULAR_CORRECTION"),
        ("GAP: f32 = 1e-3", "GAP: f32 = 1.001e-3", "GAP"),
        ("MAX_ADVANCES: u32 = 32u", "MAX_ADVANCES: u32 = 33u", "MAX_ADVANCES"),
        ("const TOUCH: f32 = 2.0;\n", "", "TOUCH"),
        ("const TOUCH", "const MORE: f32 = 1.0;\nconst TOUCH", "MORE"),
    ] {
        assert_eq!(NUMBERS.matches(from).count(), 1, "{from:?} is not in constants.wgsl exactly once");
        assert_eq!(different_numbers(&NUMBERS.replacen(from, to, 1)), [name], "{from:?} → {to:?}");
    }
}

/// A number of `src/constants.rs` is declared nowhere else, in Rust or WGSL.
#[test]
fn numbers_of_the_physics_have_one_home() {
    let home = declared("src", "rs").into_iter().filter(|constant| constant.place.ends_with("src/constants.rs"));
    let names: Vec<String> = home.map(|constant| constant.name).collect();
    assert!(names.len() > 50 && rust_numbers().keys().all(|name| names.contains(name)), "{names:?}");
    let elsewhere = |place: &str| !place.ends_with("src/constants.rs") && !place.ends_with("shaders/constants.wgsl");
    let mut all = declared("src", "rs");
    all.extend(declared("shaders", "wgsl"));
    // Scalars only: a constant of another type has another meaning.
    let scalars = ["f32", "f64", "u32", "usize"];
    let twice = all.iter().filter(|constant| elsewhere(&constant.place) && scalars.contains(&constant.kind.as_str()));
    let twice: Vec<_> = twice.filter(|constant| names.contains(&constant.name)).collect();
    assert!(twice.is_empty(), "use crate::constants, or //#import constants: {twice:?}");
    let parsed = wgsl_numbers(&Composer::SOLVER.compose("types").unwrap().module().unwrap().0);
    assert!(parsed.keys().all(|name| !names.contains(name)));
}

/// A constant declared on one line of a file.
#[derive(Debug)]
struct Declared {
    name: String,
    kind: String,
    value: String,
    place: String,
}

/// Returns the constants of one line, declared at the start of it, in the files of a folder.
fn declared(folder: &str, extension: &str) -> Vec<Declared> {
    let mut found = Vec::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|found| found == extension) {
                for line in fs::read_to_string(&path).unwrap().lines() {
                    let starts = ["pub const ", "pub(crate) const ", "pub(super) const ", "const "];
                    let Some(rest) = starts.iter().find_map(|start| line.strip_prefix(start)) else { continue };
                    let Some(((name, kind), value)) =
                        rest.split_once('=').and_then(|(head, value)| Some((head.split_once(':')?, value)))
                    else {
                        continue;
                    };
                    let value = value.split(';').next().unwrap().trim().replace('_', "");
                    found.push(Declared {
                        name: name.trim().to_owned(),
                        kind: kind.trim().to_owned(),
                        value: value.trim_end_matches('u').to_owned(),
                        place: path.display().to_string(),
                    });
                }
            }
        }
    }
    found
}

/// Returns the value of a literal: decimal, hexadecimal or with an exponent. Other expressions have no unique spelling.
fn literal(value: &str) -> Option<f64> {
    match value.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok().map(f64::from),
        None if value == "u32::MAX" => Some(f64::from(u32::MAX)),
        None => value.parse().ok(),
    }
}

/// A constant that both a shader and Rust declare, of the physics or of one stage, has the same value, in every module
/// of the solver and in the shaders of pictures.
#[test]
fn constants_declared_on_both_sides_agree() {
    let mut rust = BTreeMap::<String, Vec<(f64, String)>>::new();
    for folder in ["src", "crates/drystone-draw/src", "crates/drystone-view/src"] {
        for constant in declared(folder, "rs") {
            if let Some(value) = literal(&constant.value) {
                rust.entry(constant.name).or_default().push((value, constant.place));
            }
        }
    }
    let mut wgsl: Vec<(String, f64, String)> = Vec::new();
    for source in SHARED.iter().chain(SHADERS) {
        // Shared files may need tables of their importers; those that do declare no constants that the importers lack.
        if let Ok((module, _)) = Composer::SOLVER.compose(source.name).unwrap().module() {
            let named = wgsl_numbers(&module).into_iter();
            wgsl.extend(named.map(|(name, value)| (name, value, source.name.to_owned())));
        }
    }
    for folder in ["crates/drystone-draw/shaders", "crates/drystone-view/shaders"] {
        for constant in declared(folder, "wgsl") {
            if let Some(value) = literal(&constant.value) {
                wgsl.push((constant.name, value, constant.place));
            }
        }
    }
    let (compared, different) = compare_twice_stated(&wgsl, &rust);
    assert!(different.is_empty(), "{different:?}");
    for name in ["GAP", "SCAN_BLOCK", "PARTNER_WORDS", "LINE"] {
        assert!(compared.contains(name), "{name} was not compared");
    }
    // Negative control.
    wgsl.push(("SCAN_BLOCK".to_owned(), 1023.0, "nowhere".to_owned()));
    assert_eq!(compare_twice_stated(&wgsl, &rust).1.len(), 1);
}

/// Returns the names that both sides have, and the differing values.
fn compare_twice_stated(
    wgsl: &[(String, f64, String)],
    rust: &BTreeMap<String, Vec<(f64, String)>>,
) -> (BTreeSet<String>, Vec<String>) {
    let (mut compared, mut different) = (BTreeSet::new(), Vec::new());
    // Constants of the tables have a test of their own; their short names may have other meanings elsewhere.
    let of_tables = rust_constants();
    for (name, value, place) in wgsl.iter().filter(|(name, ..)| !of_tables.contains_key(name)) {
        for (other, other_place) in rust.get(name).into_iter().flatten() {
            compared.insert(name.clone());
            #[allow(clippy::cast_possible_truncation, reason = "shaders compute in f32")]
            if *value as f32 != *other as f32 {
                different.push(format!("{name} is {value} in {place}, {other} in {other_place}"));
            }
        }
    }
    (compared, different)
}

/// All test files are part of an executable; others would never run.
#[test]
fn every_test_file_is_run() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let main = fs::read_to_string(root.join("main.rs")).unwrap();
    let missing = |main: &str| -> Vec<String> {
        fs::read_dir(&root)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "rs") || path.join("mod.rs").exists())
            .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
            .filter(|name| !["main", "allocations"].contains(&name.as_str()))
            .filter(|name| !main.contains(&format!("\nmod {name};\n")))
            .collect()
    };
    assert_eq!(missing(&main), [""; 0], "not in tests/main.rs");
    assert_eq!(missing(&main.replace("\nmod layout;\n", "\n")), ["layout"], "the negative control");
}
