//! Runs every scene of the catalogue for 20 seconds on the CPU: no body is lost, nothing explodes, joints hold.

use drystone::low_level::CpuWorld;
use drystone::low_level::state::{body_states, joint_reactions, metrics};
use drystone::low_level::types::NONE;
use drystone::{BodyType, Joint, JointKind, Scene};
use drystone_scenes::catalogue;
use glam::Vec2;

use super::catalogue::unfolded;

/// Duration of a run, s.
const SECONDS: f32 = 20.0;
/// Steps between two checks.
const EVERY: u32 = 3;

/// Limits of a run.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    /// Maximum speed of a dynamic body, m/s: from falling through the scene, or from what drives it, with a margin for
    /// the whip of a limb.
    speed: f64,
    /// Left, lowest, right and highest position of a dynamic body's origin, m. Infinite where the scene is open.
    region: [f32; 4],
    /// Maximum distance of the anchors of a hinge or a weld, or deviation of a rod from its length, m.
    gap: f32,
}

const OPEN: [f32; 4] = [f32::NEG_INFINITY, f32::NEG_INFINITY, f32::INFINITY, f32::INFINITY];

/// Returns the region above a height: there is ground everywhere but beyond its ends.
const fn above(y: f32) -> [f32; 4] {
    [f32::NEG_INFINITY, y, f32::INFINITY, f32::INFINITY]
}

/// Returns the largest error of a joint's constraint, m.
fn gap(joint: &Joint, between: f32, start: f32) -> f32 {
    match &joint.kind {
        JointKind::Revolute { .. } | JointKind::Weld { .. } => between,
        JointKind::Distance { limits: Some([low, high]), .. } => (between - high).max(low - between).max(0.0),
        JointKind::Distance { length, motor: None, .. } => (between - length.unwrap_or(start)).abs(),
        _ => 0.0,
    }
}

/// Runs the scene and returns the first violation, or the extremes reached.
fn run(scene: &Scene, bounds: Bounds) -> Result<String, String> {
    let mut world = CpuWorld::new(scene).map_err(|error| error.to_string())?;
    let span = |world: &CpuWorld| -> Vec<f32> {
        let joints = joint_reactions(world.compiled(), &world.snapshot());
        joints.iter().map(|joint| joint.between[0].hypot(joint.between[1])).collect()
    };
    let start = span(&world);
    let (mut speed, mut worst, mut lowest, mut widest) = (0.0_f64, 0.0_f32, f32::INFINITY, 0.0_f32);
    let mut step = 0_u32;
    let dt = f64::from(scene.settings.dt);
    while f64::from(step) * dt < f64::from(SECONDS) {
        world.step().unwrap();
        step += 1;
        if !step.is_multiple_of(EVERY) {
            continue;
        }
        let snapshot = world.snapshot();
        if snapshot.counters.quarantined != 0 {
            return Err(format!("step {step}: {} bodies were quarantined", snapshot.counters.quarantined));
        }
        let metrics = metrics(world.compiled(), &snapshot);
        speed = speed.max(metrics.max_speed);
        // Written so that a NaN fails.
        if !(metrics.max_speed <= bounds.speed && metrics.kinetic_energy.is_finite()) {
            return Err(format!("step {step}: the speed is {} m/s", metrics.max_speed));
        }
        let bodies = body_states(world.compiled(), &snapshot);
        let [left, low, right, high] = bounds.region;
        // Bodies that come later are dynamic.
        let falls = |index: usize| scene.bodies.get(index).is_none_or(|body| body.kind == BodyType::Dynamic);
        for (index, body) in bodies.iter().enumerate().filter(|&(index, _)| falls(index)) {
            let [x, y] = body.position;
            lowest = lowest.min(y);
            widest = widest.max(x.abs());
            if !(x >= left && y >= low && x <= right && y <= high && body.angle.is_finite()) {
                return Err(format!("step {step}: body {index} is at {:?}", body.position));
            }
        }
        // Joints of an emitter are alike, so their order does not matter.
        let later = scene.emitters.iter().flat_map(|emitter| &emitter.joints).cycle();
        for (index, (&between, joint)) in span(&world).iter().zip(scene.joints.iter().chain(later)).enumerate() {
            let gap = gap(joint, between, start.get(index).copied().unwrap_or_default());
            worst = worst.max(gap);
            if gap.is_nan() || gap > bounds.gap {
                return Err(format!("step {step}: joint {index} is {gap} m apart"));
            }
        }
    }
    let contacts = world.snapshot().contacts;
    let touching = contacts.iter().filter(|contact| contact.color != NONE).count();
    Ok(format!(
        "fastest {speed:.3} m/s, gap {worst:.4} m, lowest {lowest:.3} m, widest {widest:.3} m, {touching} touch"
    ))
}

fn check(spec: &str, bounds: Bounds) {
    let scene = catalogue::build(spec).expect("a catalogue scene");
    assert!(unfolded(&scene).bodies.iter().any(|body| body.kind == BodyType::Dynamic), "{spec}: nothing moves");
    match run(&scene, bounds) {
        Ok(said) => println!("{spec}: {said}"),
        Err(wrong) => panic!("{spec}: {wrong}"),
    }
}

/// Generates a test for each scene of the catalogue; large scenes are reduced.
macro_rules! runs {
    ($($name:ident: $spec:literal, $speed:literal, $region:expr, $gap:literal;)*) => {
        $(#[test] fn $name() { check($spec, Bounds { speed: $speed, region: $region, gap: $gap }); })*

        #[test]
        fn every_scene_has_a_run() {
            let tested = [$($spec),*].map(|spec: &str| spec.split(':').next().unwrap_or(spec).to_owned());
            for entry in catalogue::entries() {
                assert!(tested.iter().any(|name| name == entry.name), "{} has no run here", entry.name);
            }
        }
    };
}

// Speeds: √(2·g·height) for falling bodies, the block's for smash, the bar's tip (100 m/s) and the bodies that it
// flings for spinner. Bodies that leave the ground fall for the rest of the 20 s, with 200 m/s at most, as do those
// that the bar flings.
runs! {
    large_pyramid: "large_pyramid:base=20", 1.0, above(0.0), 0.0;
    many_pyramids: "many_pyramids:rows=2,columns=2,base=8", 1.0, above(0.0), 0.0;
    many_pyramids_on_segments: "many_pyramids:rows=2,columns=2,base=8,segments=1", 1.0, above(0.0), 0.0;
    joint_grid: "joint_grid:size=20", 5.0, OPEN, 0.05;
    smash: "smash:columns=20,rows=12", 60.0, OPEN, 0.0;
    tumbler: "tumbler:grid=10", 12.0, [-4.3, 5.7, 4.3, 14.3], 0.0;
    tumbler_on_a_motor: "tumbler:grid=10,motor=1", 12.0, [-4.3, 5.7, 4.3, 14.3], 0.01;
    washer: "washer:grid=12", 30.0, [-16.2, -6.2, 16.2, 26.2], 0.0;
    // Where they meet, the tip of the bar and the vessel overlap by 20 cm, as in Box2D, with or without a body in
    // between.
    spinner: "spinner:bodies=200", 400.0, OPEN, 1.0;
    compounds: "compounds:columns=6,rows=12", 25.0, [-40.0, 0.0, 40.0, 40.0], 0.0;
    junkyard: "junkyard:columns=12,rows=10", 30.0, [-80.0, 0.0, 80.0, 40.0], 0.0;
    // Each column is removed five seconds after it was added, two of them on the floor. A fall of 40 m ends at 28 m/s,
    // and in that step hinges give by 0.12 m to 0.14 m, as they do where all ragdolls exist from the start; two steps
    // later by 0.05 m.
    rain: "rain:rows=1,columns=3,group=3,delay=100,stay=1", 40.0, above(0.0), 0.2;
    mixed_sizes: "mixed_sizes:bodies=120", 30.0, above(0.0), 0.0;
    loaded_plate: "loaded_plate:boxes=80", 6.0, above(0.0), 0.0;
    vertical_stack: "vertical_stack", 1.0, above(0.0), 0.0;
    card_house: "card_house", 2.0, above(0.0), 0.0;
    // Their common origin sinks with them.
    arch: "arch", 2.0, above(-0.5), 0.0;
    domino: "domino", 5.0, above(0.0), 0.0;
    high_mass_ratio_1: "high_mass_ratio_1", 10.0, above(0.0), 0.0;
    high_mass_ratio_2: "high_mass_ratio_2", 20.0, above(0.0), 0.0;
    high_mass_ratio_3: "high_mass_ratio_3", 20.0, above(0.0), 0.0;
    friction_ramp: "friction_ramp", 200.0, OPEN, 0.0;
    overlap_recovery: "overlap_recovery", 5.0, above(0.0), 0.0;
    circle_stack: "circle_stack", 20.0, above(0.0), 0.0;
    // They start 18 cm inside each other, 22 per row, and push each other away.
    confined: "confined:grid=22", 20.0, [-10.0, 0.5, 10.0, 20.0], 0.0;
    confined_by_capsules: "confined:grid=22,capsules=1", 20.0, [-10.0, 0.5, 10.0, 20.0], 0.0;
    // 1000 N on 79 kg: up to 20 m/s after 16 m.
    rush: "rush:count=120", 30.0, OPEN, 0.0;
    bridge: "bridge:planks=40", 15.0, OPEN, 0.05;
    // The chain stretches: 40 hinges, each with up to three times the ball's weight on it.
    ball_and_chain: "ball_and_chain", 31.0, OPEN, 0.25;
    ragdoll: "ragdoll", 15.0, above(0.0), 0.1;
    far_pyramid: "far_pyramid:base=5", 10.0, above(-80_000.0), 0.0;
    far_stack: "far_stack", 10.0, above(-25_000.0), 0.0;
    small_si: "small_si", 15.0, [-9.0, 0.0, 9.0, 20.0], 0.0;
    thruster: "thruster", 1.0, OPEN, 0.0;
    particles_in_a_turning_box: "particles_in_a_turning_box", 15.0, [-1.45, -1.45, 1.45, 1.45], 0.0;
    circle_masses: "circle_masses", 4.0, OPEN, 0.0;
    pendulum: "pendulum", 1.6, [-0.5, -1.01, 0.5, -0.87], 0.001;
    // All its energy in one bob, 41.7 J, would give 9.13 m/s.
    double_pendulum: "pendulum:bobs=2,angle=2", 9.14, [-2.01, -2.01, 2.01, 2.01], 0.01;
    rod_chain: "rod_chain", 20.0, OPEN, 0.05;
    rope_winch_piston: "rope_winch_piston", 10.0, above(0.0), 0.05;
    naphy_bridge: "naphy_bridge", 10.0, OPEN, 0.0;
    springs: "springs", 5.0, OPEN, 0.0;
    motors: "motors", 15.0, above(0.0), 0.05;
    gears: "gears", 15.0, above(0.0), 0.01;
    pulleys: "pulleys", 15.0, above(0.0), 0.01;
    weeble: "weeble:angle=2.98", 10.0, above(0.0), 0.0;
    bounce_house: "bounce_house", 22.37, [-9.6, -9.6, 9.6, 9.6], 0.0;
    bounce_house_of_a_box: "bounce_house:shape=2", 22.4, [-10.0, -10.0, 10.0, 10.0], 0.0;
    ghost_bumps: "ghost_bumps", 20.0, [-29.0, 0.2, 29.0, 18.1], 0.0;
    ghost_bumps_of_boxes: "ghost_bumps:shape=2,chain=0", 20.0, [-29.0, 0.2, 29.0, 18.1], 0.0;
    // Flippers strike their limits at 20 rad/s; bars press rings against the ledges with 200 N·m.
    pinball: "pinball:balls=3", 60.0, [-8.0, -2.0, 8.0, 20.0], 0.1;
    sensor_funnel: "sensor_funnel:rings=9", 40.0, [-17.0, -31.1, 17.0, 31.1], 0.5;
    convex_hull: "convex_hull", 20.0, above(-0.5), 0.0;
    rolling_resistance: "rolling_resistance", 200.0, OPEN, 0.0;
    restitution: "restitution", 30.0, above(0.2), 0.0;
    platformer: "platformer", 20.0, above(0.2), 0.0;
    static_and_kinetic: "static_and_kinetic", 200.0, OPEN, 0.0;
    conveyor: "conveyor", 15.0, above(0.0), 0.0;
    // It falls at 13.7 m/s, 23 cm per step, and bounces a quarter of a step before or after it touches.
    bouncing_ball: "bouncing_ball", 15.0, above(0.25), 0.0;
    slope: "slope", 0.1, OPEN, 0.0;
}

/// Negative control: each of the checks above fails on a faulty run.
#[test]
fn faulty_runs_are_detected() {
    let bounds = Bounds { speed: 40.0, region: OPEN, gap: 0.5 };
    let found = |scene: &Scene, bounds: Bounds, what: &str| {
        let wrong = run(scene, bounds).expect_err(what);
        assert!(wrong.contains(what), "{wrong}");
    };
    let mut thrown = catalogue::build("circle_masses").expect("a scene");
    thrown.bodies[0].velocity.x = 50.0;
    found(&thrown, bounds, "the speed is");
    let mut loose = catalogue::build("bridge:planks=40").expect("a scene");
    for joint in &mut loose.joints {
        joint.hertz = Some(1.0);
    }
    found(&loose, bounds, "m apart");
    // Without the ground.
    let mut falling = catalogue::build("vertical_stack").expect("a scene");
    falling.bodies.remove(0);
    found(&falling, Bounds { region: above(0.0), ..bounds }, "is at");
}

/// Returns the period of the first bob, s: the mean over 20 s, between passages through the lowest point.
fn period(scene: &Scene) -> f64 {
    let mut world = CpuWorld::new(scene).expect("a world");
    let dt = f64::from(scene.settings.dt);
    let mut passages = Vec::new();
    let mut last = f64::from(body_states(world.compiled(), &world.snapshot())[1].position[0]);
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "some hundred steps")]
    for step in 1..=(f64::from(SECONDS) / dt) as u32 {
        world.step().expect("a step");
        let x = f64::from(body_states(world.compiled(), &world.snapshot())[1].position[0]);
        if last > 0.0 && x <= 0.0 {
            passages.push((f64::from(step) - x / (x - last)) * dt);
        }
        last = x;
    }
    let [first, .., end] = passages[..] else { panic!("{passages:?}") };
    (end - first) / (passages.len() - 1) as f64
}

/// Returns the period of a simple pendulum: 2π√(L/g), and the series in the largest angle.
fn simple_pendulum(length: f64, gravity: f64, angle: f64) -> f64 {
    let square = angle * angle;
    let series = 1.0 + square / 16.0 + 11.0 * square * square / 3072.0 + 173.0 * square.powi(3) / 737_280.0;
    std::f64::consts::TAU * (length / gravity).sqrt() * series
}

#[test]
fn a_pendulum_has_the_period_of_the_textbook() {
    for (length, gravity, angle) in
        [(1.0, 9.81, 0.05), (1.0, 9.81, 0.5), (2.0, 9.81, 1.0), (0.5, 1.62, 0.5), (4.0, 25.0, -0.3)]
    {
        let spec = format!("pendulum:length={length},gravity={gravity},angle={angle}");
        let found = period(&catalogue::build(&spec).expect("a scene"));
        let expected = simple_pendulum(length, gravity, angle);
        let off = (found / expected - 1.0).abs();
        println!("{spec}: {found} s, expected {expected} s, off by {off:.1e}");
        assert!(off < 5e-4, "{spec}: {found} s, expected {expected} s");
        // The test distinguishes small from large swings, and other lengths or gravities.
        let small = simple_pendulum(length, gravity, 0.0);
        assert!(angle.abs() < 0.2 || (found / small - 1.0).abs() > 5e-4, "{spec}: as for small swings");
        let other = simple_pendulum(1.01 * length, gravity, angle);
        assert!((found / other - 1.0).abs() > 5e-4, "{spec}: a longer one swings alike");
    }
}

/// A double pendulum that starts at a large angle is chaotic: a change of 10⁻⁵ of its angle grows to a different
/// motion.
#[test]
fn a_double_pendulum_is_chaotic_and_a_single_one_is_not() {
    let end = |spec: &str| {
        let scene = catalogue::build(spec).expect("a scene");
        let mut world = CpuWorld::new(&scene).expect("a world");
        (0..1_200).for_each(|_| world.step().expect("a step"));
        Vec2::from(body_states(world.compiled(), &world.snapshot()).last().expect("a bob").position)
    };
    let apart = |bobs: u32| {
        end(&format!("pendulum:bobs={bobs},angle=2")).distance(end(&format!("pendulum:bobs={bobs},angle=2.00001")))
    };
    let (single, double) = (apart(1), apart(2));
    assert!(single < 0.01, "{single} m");
    assert!(double > 0.1, "{double} m");
}

/// With few columns ragdolls stay as long as with many: they reach their floor before others take their place. The
/// control: rounds without a pause remove them in the air.
#[test]
fn rain_of_few_columns_reaches_the_floor() {
    let lowest = |spec: &str| {
        let mut world = CpuWorld::new(&catalogue::build(spec).expect("a scene")).expect("a world");
        let mut lowest = f32::INFINITY;
        for step in 0..700 {
            world.step().expect("a step");
            if step % 10 == 0 {
                let bodies = body_states(world.compiled(), &world.snapshot());
                // The first body is the floor.
                lowest = bodies[1..].iter().fold(lowest, |lowest, body| lowest.min(body.position[1]));
            }
        }
        lowest
    };
    for spec in ["rain:rows=1,columns=4,group=1", "rain:rows=2,columns=1,group=1,delay=1"] {
        let (found, hurried) = (lowest(spec), lowest(&format!("{spec},stay=1")));
        assert!((0.0..1.0).contains(&found) && hurried > 30.0, "{spec}: {found} m, without a pause {hurried} m");
    }
}
