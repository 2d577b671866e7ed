//! GPU against CPU, stage by stage, step by step and by the run's metrics, with a negative control for each check.

use crate::support::joint_kinds;
use drystone::low_level::GpuWorld;
use drystone::low_level::gpu::kernel::Patch;
use drystone::low_level::math::{inv_rotate, rotation};
use drystone::low_level::step::Stage;
use drystone::{AdapterChoice, Body, Context, Joint, JointKind, Mode, Scene, Shape};
use drystone_scenes::catalogue;
use drystone_validate::{ValidationOptions, ValidationReport, compare, validate};

fn context() -> Context {
    Context::new(AdapterChoice::Any).expect("these tests need a Vulkan adapter; lavapipe will do")
}

fn check(spec: &str, steps: u64) {
    let scene = catalogue::build(spec).expect("a catalogue scene");
    let report = validate(&context(), &scene, ValidationOptions { steps, ..ValidationOptions::default() }, |_| {})
        .expect("a run");
    assert_passed(spec, &report);
    assert!(report.stages.len() >= 14, "{spec}: only {} stages were compared", report.stages.len());
}

fn assert_passed(spec: &str, report: &ValidationReport) {
    let failed: Vec<_> = report.metrics.iter().filter(|metric| !metric.passed).collect();
    assert!(report.passed(), "{spec}: {:#?} {failed:#?}", report.first_difference);
}

/// Generates a test for each scene of the catalogue. Large scenes are reduced; `drystone validate` runs them whole.
macro_rules! scenes {
    ($($name:ident: $spec:literal, $steps:literal;)*) => {
        $(#[test] fn $name() { check($spec, $steps); })*

        #[test]
        fn every_scene_has_a_test() {
            let tested = [$($spec),*].map(|spec: &str| spec.split(':').next().unwrap_or(spec).to_owned());
            for entry in catalogue::entries() {
                assert!(tested.iter().any(|name| name == entry.name), "{} has no test here", entry.name);
            }
        }
    };
}

scenes! {
    large_pyramid: "large_pyramid:base=40,drop=1", 300;
    many_pyramids: "many_pyramids:rows=3,columns=3", 300;
    vertical_stack: "vertical_stack:pitch=1.5", 300;
    pendulum: "pendulum:bobs=2", 300;
    card_house: "card_house", 300;
    overlap_recovery: "overlap_recovery", 300;
    circle_stack: "circle_stack", 300;
    confined: "confined", 120;
    smash: "smash:columns=30,rows=20", 200;
    tumbler: "tumbler:grid=12", 300;
    high_mass_ratio_1: "high_mass_ratio_1", 300;
    high_mass_ratio_2: "high_mass_ratio_2", 300;
    high_mass_ratio_3: "high_mass_ratio_3", 300;
    friction_ramp: "friction_ramp", 300;
    far_pyramid: "far_pyramid", 300;
    far_stack: "far_stack", 300;
    domino: "domino", 300;
    small_si: "small_si", 300;
    circle_masses: "circle_masses", 300;
    bouncing_ball: "bouncing_ball", 300;
    slope: "slope", 300;
    thruster: "thruster", 300;
    joint_grid: "joint_grid:size=20", 200;
    washer: "washer:grid=16", 200;
    spinner: "spinner:bodies=400", 300;
    compounds: "compounds:columns=8,rows=20", 200;
    junkyard: "junkyard:columns=8,rows=20", 200;
    // Two columns; the first falls to its floor and is removed after 220 steps.
    mixed_sizes: "mixed_sizes:bodies=150", 200;
    loaded_plate: "loaded_plate:boxes=200", 100;
    rain: "rain:rows=1,columns=2,group=4,delay=110,stay=1", 300;
    arch: "arch", 300;
    rush: "rush:count=60", 200;
    bridge: "bridge:planks=40", 300;
    ball_and_chain: "ball_and_chain:links=20", 300;
    ragdoll: "ragdoll", 300;
    particles_in_a_turning_box: "particles_in_a_turning_box", 300;
    rod_chain: "rod_chain", 300;
    rope_winch_piston: "rope_winch_piston", 300;
    naphy_bridge: "naphy_bridge", 300;
    springs: "springs", 300;
    motors: "motors", 300;
    gears: "gears", 200;
    pulleys: "pulleys", 200;
    weeble: "weeble", 200;
    bounce_house: "bounce_house:shape=2", 120;
    ghost_bumps: "ghost_bumps:shape=1", 200;
    pinball: "pinball:balls=10", 200;
    sensor_funnel: "sensor_funnel:rings=9", 120;
    convex_hull: "convex_hull:bodies=49", 150;
    rolling_resistance: "rolling_resistance", 120;
    restitution: "restitution", 200;
    platformer: "platformer", 200;
    static_and_kinetic: "static_and_kinetic", 180;
    conveyor: "conveyor", 300;
}

/// Cards of 2 mm lean on each other with their corners. Where these are a tenth of a millimetre apart, the direction
/// between them has four significant digits. The cards also fall fast enough for continuous collision detection, on
/// their corners.
#[test]
fn cards_agree_as_far_as_their_corners_are_known() {
    check("card_house", 19);
    check("card_house:levels=8", 20);
    check("card_house:levels=3,friction=0.2", 39);
    // A wrong direction, by more than that and less than is visible.
    let scene = catalogue::build("card_house").expect("a catalogue scene");
    let from = "let out = rotate(turn_ref, gap / distance);";
    let to = "let out = rotate(turn_ref, rotate(vec2<f32>(1.0, 3e-4), gap / distance));";
    let gpu = GpuWorld::patched(&context(), &scene, &[Patch { shader: "collide", from, to }]).expect("patched");
    let report =
        compare(gpu, &scene, ValidationOptions { steps: 19, ..ValidationOptions::default() }, |_| {}).expect("a run");
    assert_eq!(report.first_failure(), Some("collide"), "{:?}", report.first_difference);
}

/// Returns small boxes that slide fast along a tile far from the centre of its body: their stopping positions are only
/// known to the motion during which the distance to the tile changes by one rounding.
fn sliding() -> Scene {
    let mut scene = Scene::new("sliding").gravity(0.0, -10.0);
    let tile = |at: f32| Shape::half_box(4.0, 1.0).offset(at, -1.0);
    scene.add(Body::fixed(0.0, 0.0).shape(tile(46.0)).shape(tile(-46.0)));
    for index in 0..24_u8 {
        let side = if index % 2 == 0 { 46.0 } else { -46.0 };
        let body = Body::dynamic(side + 0.3 * f32::from(index) - 3.6, 0.02 + 0.003 * f32::from(index % 5));
        let body = body.velocity(f32::from(index) - 12.5, -0.5).angle(0.2 * f32::from(index));
        scene.add(body.shape(Shape::half_box(0.006, 0.014).friction(0.3)));
    }
    scene
}

#[test]
fn bodies_that_slide_along_a_wall_agree() {
    let options = ValidationOptions { steps: 40, ..ValidationOptions::default() };
    let report = validate(&context(), &sliding(), options, |_| {}).expect("a run");
    println!("{:?}", report.stages.iter().find(|stage| stage.stage == "continuous"));
    assert_passed("sliding", &report);
    // They stop a tenth of a millimetre too early.
    let (from, to) = ("time += (gap.distance - goal)", "time += (gap.distance - 1.2 * goal)");
    let gpu = GpuWorld::patched(&context(), &sliding(), &[Patch { shader: "continuous", from, to }]).expect("patched");
    let report = compare(gpu, &sliding(), options, |_| {}).expect("a run");
    assert_eq!(report.first_failure(), Some("continuous"), "{:?}", report.first_difference);
}

/// Returns boxes and circles that fall, bounce, slide and rest.
fn lively(mode: Mode) -> Scene {
    let mut scene = Scene::new("lively").gravity(0.0, -10.0);
    scene.settings.mode = mode;
    scene.settings.events = true;
    scene.add(Body::fixed(0.0, -1.0).shape(Shape::half_box(20.0, 1.0).restitution(0.5)));
    for index in 0_u8..12 {
        let x = f32::from(index % 4) * 1.05 - 2.0;
        let y = 0.45 + f32::from(index / 4) * 1.1;
        let shape = if index % 5 == 3 { Shape::circle(0.5) } else { Shape::half_box(0.5, 0.5) };
        let body = Body::dynamic(x, y).angle(0.1 * f32::from(index)).velocity(f32::from(index) - 5.0, -3.0);
        scene.add(body.shape(shape.restitution(0.5)));
    }
    scene
}

fn mode_for(stage: Stage) -> Mode {
    if matches!(stage, Stage::Project | Stage::ProjectJoints) { Mode::Projection } else { Mode::Soft }
}

/// Returns a scene with joints of every kind between the bodies, for the stages of joints.
fn jointed(mode: Mode) -> Scene {
    let mut scene = lively(mode);
    let motor =
        JointKind::Motor { linear_offset: [0.3, 0.2].into(), angular_offset: 0.1, max_force: 50.0, max_torque: 5.0 };
    let drive = JointKind::velocity([1.0, -0.5], 0.5, 20.0, 2.0);
    let kinds = joint_kinds().into_iter().chain([motor, drive]);
    // Anchors coincide half way between the bodies; those of rods and springs are the bodies' origins.
    let meet = |scene: &Scene, joint: Joint| {
        let (a, b) = (&scene.bodies[joint.a.expect("two bodies")], &scene.bodies[joint.b]);
        let middle = 0.5 * (a.position + b.position);
        let local = |body: &Body| inv_rotate(rotation(body.angle), middle - body.position);
        let anchors = (local(a), local(b));
        joint.anchors(anchors.0, anchors.1)
    };
    for (index, kind) in kinds.enumerate() {
        let joint = Joint::new(kind, index + 1, index + 2);
        scene.join(if index < 3 { joint } else { meet(&scene, joint) });
    }
    scene.join(Joint::to_world(JointKind::Mouse { target: [1.0, 3.0].into(), max_force: 100.0 }, 12));
    // This one breaks during the run.
    scene.join(Joint::new(JointKind::rod(), 10, 11).break_force(30.0));
    let soft = meet(&scene, Joint::new(JointKind::weld(), 12, 0)).soft(4.0, 0.5);
    scene.join(soft);
    let along = glam::Vec2::new(0.6, 0.8);
    let (axis, velocity, angular_velocity) = (Some(along), along, -1.0);
    let drive = JointKind::Velocity { axis, velocity, angular_velocity, max_force: 10.0, max_torque: 1.0 };
    scene.join(meet(&scene, Joint::new(drive, 11, 12)));
    scene.join(Joint::new(JointKind::spring(300.0, 1.0).length(0.2), 3, 9).spring_range(-6.0, 0.5));
    scene.join(Joint::new(JointKind::Gear { ratio: -1.5 }, 4, 8));
    scene.join(Joint::new(JointKind::Gear { ratio: 0.3 }, 5, 7).soft(5.0, 0.2));
    let (ground_a, ground_b) = ([-3.0, 7.0].into(), [4.0, 8.0].into());
    let rope = |ratio, length| JointKind::Pulley { ground_a, ground_b, ratio, length };
    scene.join(meet(&scene, Joint::new(rope(1.0, None), 2, 9)));
    scene.join(Joint::new(rope(2.5, Some(9.0)), 6, 10));
    scene
}

/// Returns fast bodies of every kind at walls that stand, turn and fly.
fn fast() -> Scene {
    let mut scene = lively(Mode::Soft);
    scene.add(Body::fixed(8.0, 3.0).angle(0.3).shape(Shape::half_box(0.02, 5.0)));
    scene.add(Body::fixed(-8.0, 3.0).shape(Shape::segment([0.0, -5.0], [0.5, 5.0])));
    scene.add(Body::fixed(0.0, 9.0).shape(Shape::half_plane([0.0, -1.0], 0.0)));
    scene.add(Body::kinematic(0.0, 4.0).angular_velocity(6.0).shape(Shape::half_box(1.5, 0.02)));
    for index in 0..60_u8 {
        let shape = match index % 5 {
            0 => Shape::circle(0.1),
            1 => Shape::half_box(0.1, 0.07),
            2 => Shape::capsule([-0.2, 0.0], [0.2, 0.0], 0.03),
            3 => Shape::polygon([[-0.1, -0.1], [0.1, -0.05], [0.0, 0.1]]),
            _ => Shape::particle(0.05),
        };
        let across = f32::from(index % 10);
        let mut body = Body::dynamic(0.8 * across - 3.6, 4.0 + 0.5 * f32::from(index / 10));
        body.bullet = index % 3 == 0;
        let velocity = [37.0 * f32::from(index % 11) - 180.0, 29.0 * f32::from(index % 7) - 90.0];
        body = body.velocity(velocity[0], velocity[1]).angular_velocity(4.0 * f32::from(index % 9) - 16.0);
        scene.add(body.shape(shape.restitution(0.8)));
    }
    scene
}

/// Returns pairs of boxes at rest that fall asleep after eight steps, some of them connected, and for each pair a ball
/// that hits its second box some steps later, one pair every other step.
fn sleepy() -> Scene {
    let mut scene = Scene::new("sleepy").gravity(0.0, 0.0);
    scene.settings.sleep = true;
    scene.settings.events = true;
    // They fall asleep in the eighth step, which is one of those compared stage by stage.
    scene.settings.dt = 0.0625;
    for index in 0_u8..16 {
        let y = 3.0 * f32::from(index);
        let first = scene.add(Body::dynamic(0.0, y).shape(Shape::half_box(0.5, 0.5)));
        let gap = f32::from(index % 2);
        let second = scene.add(Body::dynamic(1.0 + gap, y).shape(Shape::half_box(0.5, 0.5).restitution(0.3)));
        if index % 2 == 1 {
            scene.join(Joint::new(JointKind::rod(), first, second));
        }
        // The ball's front reaches the box after eleven steps, plus two for each pair before: half of these steps are
        // compared stage by stage.
        let steps = 11.0 + 2.0 * f32::from(index);
        let ball = Body::dynamic(1.8 + gap + 0.25 * steps, y + 0.1).velocity(-4.0, 0.0);
        scene.add(ball.shape(Shape::circle(0.3).restitution(0.3)));
    }
    scene.add(Body::kinematic(0.0, -10.0).velocity(1.0, 0.0).shape(Shape::half_box(0.5, 0.5)));
    scene
}

#[test]
fn sleepy_scenes_agree() {
    let options = ValidationOptions { steps: 60, ..ValidationOptions::default() };
    assert_passed("sleepy", &validate(&context(), &sleepy(), options, |_| {}).expect("a run"));
    for mut scene in [lively(Mode::Soft), jointed(Mode::Soft), fast()] {
        scene.settings.sleep = true;
        let report =
            validate(&context(), &scene, ValidationOptions { steps: 60, ..ValidationOptions::default() }, |_| {});
        assert_passed(&scene.name, &report.expect("a run"));
    }
}

fn scene_for(stage: Stage) -> Scene {
    match stage {
        Stage::Wake | Stage::Sleep => sleepy(),
        Stage::Continuous => fast(),
        _ if stage.name().ends_with("_joints") => jointed(mode_for(stage)),
        _ => lively(mode_for(stage)),
    }
}

#[test]
fn fast_scenes_agree() {
    let report = validate(&context(), &fast(), ValidationOptions { steps: 60, ..ValidationOptions::default() }, |_| {})
        .expect("a run");
    println!("{:?}", report.stages);
    assert_passed("fast", &report);
}

#[test]
fn lively_scenes_agree_in_every_mode() {
    for mode in [Mode::Soft, Mode::Baumgarte, Mode::Projection] {
        for scene in [lively(mode), jointed(mode)] {
            let report =
                validate(&context(), &scene, ValidationOptions { steps: 60, ..ValidationOptions::default() }, |_| {});
            assert_passed(&format!("{mode:?}"), &report.expect("a run"));
        }
    }
}

/// Negative control: a CPU that leaves out any one stage is detected, and the stage is named.
#[test]
fn a_stage_missing_on_the_cpu_is_detected() {
    let context = context();
    // No body receives commands here; tests/commands.rs covers that stage.
    for stage in Stage::ALL.into_iter().filter(|&stage| stage != Stage::Command) {
        let options = ValidationOptions { steps: 40, cpu_fault: Some(stage) };
        let report = validate(&context, &scene_for(stage), options, |_| {}).expect("a run");
        assert_eq!(report.first_failure(), Some(stage.name()), "{:?}", report.first_difference);
    }
}

/// Negative control: a slightly wrong shader is detected, and the stage is named.
#[test]
fn a_wrong_shader_is_detected() {
    let context = context();
    let faults = [
        (
            Stage::Quarantine,
            "quarantine",
            "state.delta_rotation = vec2<f32>(1.0, 0.0);",
            "state.delta_rotation = vec2<f32>(1.0, 1e-3);",
        ),
        (Stage::Bound, "bound", "Aabb(center - reach, center + reach)", "Aabb(center - reach, center + reach * 0.99)"),
        (Stage::Bin, "bin", "if cell_unsorted[slot] < shape {", "if cell_unsorted[slot] > shape {"),
        (
            Stage::Pair,
            "pair",
            "var is_producer = !own_level || index < other;",
            "var is_producer = !own_level || index > other;",
        ),
        (Stage::MatchContacts, "match_contacts", "contacts[index].color = old;", "contacts[index].color = old + 1u;"),
        (
            Stage::Collide,
            "collide",
            "manifold.separations[index] = separation;",
            "manifold.separations[index] = separation + 1e-4;",
        ),
        (
            Stage::Wake,
            "wake",
            "atomicOr(&island_flags[islands[sleeper]], ISLAND_WAKE);",
            "atomicOr(&island_flags[sleeper], ISLAND_WAKE);",
        ),
        (Stage::CollectEvents, "collect_events", "let approach = -dot(", "let approach = -1.01 * dot("),
        (
            Stage::Color,
            "color",
            "return countTrailingZeros(dynamic);",
            "return 22u - countLeadingZeros(dynamic << 9u);",
        ),
        (Stage::Prepare, "prepare", "        r_b_0,\n", "        0.999 * r_b_0,\n"),
        (Stage::PrepareJoints, "prepare_joints", "+ (r_b - r_a)", "+ (r_b - 1.001 * r_a)"),
        (
            Stage::WarmStart,
            "warm_start",
            "accumulators[b].velocity += impulse *",
            "accumulators[b].velocity += 1.01 * impulse *",
        ),
        (
            Stage::WarmStartJoints,
            "warm_start_joints",
            "accumulate(joint, stance_now(joint), 1.0);",
            "accumulate(joint, stance_now(joint), 2.0);",
        ),
        (Stage::Restitution, "restitution", "let kept = restitution * restitution;", "let kept = 0.9 * restitution;"),
        (
            Stage::IntegrateVelocities,
            "integrate_velocities",
            "params.gravity * bodies[index].gravity_scale",
            "params.gravity * bodies[index].gravity_scale * 1.01",
        ),
        (Stage::SolveJoints, "solve_joints", "theta = 0.5 - 0.125 / swing;", "theta = 0.5;"),
        (
            Stage::Solve,
            "solve",
            "bias = max(mass_scale * softness.x * depth,",
            "bias = max(0.95 * mass_scale * softness.x * depth,",
        ),
        (
            Stage::IntegratePositions,
            "integrate_positions",
            "state.velocity * params.h",
            "state.velocity * params.h * 1.01",
        ),
        (
            Stage::RelaxJoints,
            "solve_joints",
            "wanted = -solve_symmetric(k, velocity);",
            "wanted = -0.99 * solve_symmetric(k, velocity);",
        ),
        (
            Stage::Relax,
            "solve",
            "let wanted_0 = held_0 - tangent_mass_0 * slip_0;",
            "let wanted_0 = held_0 - 0.95 * tangent_mass_0 * slip_0;",
        ),
        (Stage::ProjectJoints, "project_joints", "let wanted = min(max(", "let wanted = 0.9 * min(max("),
        (Stage::Project, "project", "let correction = max(depth,", "let correction = max(0.9 * depth,"),
        (
            Stage::StoreImpulses,
            "store_impulses",
            "vec4<f32>(point_1.xy, impulses.zw)",
            "vec4<f32>(point_1.xy, impulses.zz)",
        ),
        (
            Stage::Continuous,
            "continuous",
            "time += (gap.distance - goal) / fastest;",
            "time += 0.98 * (gap.distance - 2.0 * goal) / fastest;",
        ),
        (Stage::Finalize, "finalize", "= states[index].delta_position +", "= 1.01 * states[index].delta_position +"),
        (Stage::Sleep, "sleep", "atomicStore(&islands[index], root);", "atomicStore(&islands[index], index);"),
    ];
    let tested: Vec<Stage> = faults.iter().map(|fault| fault.0).collect();
    let others: Vec<Stage> = Stage::ALL.into_iter().filter(|&stage| stage != Stage::Command).collect();
    assert_eq!(tested, others, "every stage has its fault");
    for (stage, shader, from, to) in faults {
        let scene = scene_for(stage);
        let gpu = GpuWorld::patched(&context, &scene, &[Patch { shader, from, to }]).expect("a patched shader");
        let report = compare(gpu, &scene, ValidationOptions { steps: 40, ..ValidationOptions::default() }, |_| {})
            .expect("a run");
        assert_eq!(report.first_failure(), Some(stage.name()), "{:?}", report.first_difference);
    }
}

/// The choice between two formulae for a contact counts as a tie only where rounding decides.
#[test]
fn a_wrong_choice_of_contact_formula_is_detected() {
    let context = context();
    let scene = lively(Mode::Soft);
    let patch = Patch { shader: "constants", from: "const GAP: f32 = 1e-3;", to: "const GAP: f32 = 0.1;" };
    let gpu = GpuWorld::patched(&context, &scene, &[patch]).expect("a patched shader");
    let report =
        compare(gpu, &scene, ValidationOptions { steps: 100, ..ValidationOptions::default() }, |_| {}).expect("a run");
    assert!(matches!(report.first_failure(), Some("solve" | "relax")), "{:?}", report.first_difference);
}

#[test]
fn a_patch_that_does_not_match_is_rejected() {
    let patch = Patch { shader: "solve", from: "no such text", to: "" };
    let error = GpuWorld::patched(&context(), &lively(Mode::Soft), &[patch]).expect_err("a patch without a place");
    assert!(error.to_string().contains("found 0 times"), "{error}");
}

/// The comparison of whole runs detects errors that no single stage shows: here a world with 20 % more gravity.
#[test]
fn a_different_world_is_detected_by_its_metrics() {
    let mut other = lively(Mode::Soft);
    other.gravity.y *= 1.2;
    let gpu = GpuWorld::new(&context(), &other).expect("a world");
    let report =
        compare(gpu, &lively(Mode::Soft), ValidationOptions { steps: 40, ..ValidationOptions::default() }, |_| {})
            .expect("a run");
    assert!(!report.passed());
}

/// Returns a scene with all surface properties.
fn surfaces() -> Scene {
    let mut scene = lively(Mode::Soft);
    for (index, body) in (0_u8..).zip(&mut scene.bodies) {
        for shape in &mut body.shapes {
            shape.material.kinetic_friction = Some(0.2 + 0.02 * f32::from(index));
            shape.material.tangent_speed = 0.3 * f32::from(index % 3);
            shape.material.rolling_resistance = 0.05;
        }
    }
    scene
}

#[test]
fn surfaces_agree_and_a_wrong_one_is_detected() {
    let context = context();
    let options = ValidationOptions { steps: 60, ..ValidationOptions::default() };
    assert_passed("surfaces", &validate(&context, &surfaces(), options, |_| {}).expect("a run"));
    for (stage, shader, from, to) in [
        (Stage::Prepare, "material", "shapes[shape_a].tangent_speed +", "1.01 * shapes[shape_a].tangent_speed +"),
        (Stage::Prepare, "prepare", "acceleration = pushed(", "acceleration = 0.999 * pushed("),
        (Stage::Relax, "solve", "kinetic = surface.kinetic_friction;", "kinetic = 0.9 * surface.kinetic_friction;"),
        (Stage::Relax, "solve", "let most = surface.rolling_resistance", "let most = 0.9 * surface.rolling_resistance"),
        (Stage::WarmStart, "warm_start", "rolling = surfaces[slot].rolling_impulse;", "rolling = 0.0;"),
        (Stage::StoreImpulses, "store_impulses", "= surfaces[slot].rolling_impulse;", "= 0.0;"),
    ] {
        let gpu = GpuWorld::patched(&context, &surfaces(), &[Patch { shader, from, to }]).expect("a valid patch");
        let report = compare(gpu, &surfaces(), ValidationOptions { steps: 40, ..ValidationOptions::default() }, |_| {})
            .expect("a run");
        assert_eq!(report.first_failure(), Some(stage.name()), "{from}: {:?}", report.first_difference);
    }
}
