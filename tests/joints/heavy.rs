//! Light links with heavy bodies at their ends, which swing: nothing may create energy, and trees of hinges hold.

use drystone::low_level::GpuWorld;
use drystone::low_level::cpu::tree_blocks::TreeBlocks;
use drystone::low_level::gpu::kernel::Patch;
use drystone::low_level::lanes::WIDTH;
use drystone::low_level::reference::Reference;
use drystone::low_level::scene::JointTable;
use drystone::low_level::stages::solve_joints::tree::trees;
use drystone::low_level::state::ReportedBody;
use drystone::low_level::types::{JointData, JointFrame, NONE, ROW_COUNT_MASK};
use drystone::{Body, BodyId, Joint, JointCommand, JointKind, Mode, Motor, Scene, Settings, Shape, World, WorldBatch};
use drystone_validate::{ValidationOptions, compare, validate};

use crate::common::{Backend, Sim, between, near};
use crate::joints::world;
use crate::support::{assert_equal_to_reference, compile, context, cpu};

on_every_backend!(heavy_ends_gain_no_energy, heavy_ends_stretch_nothing, a_free_tree_keeps_its_momentum);

/// Gravity, m/s².
pub const GRAVITY: f64 = 10.0;
/// Radius of the ball, m.
const RADIUS: f64 = 0.5;

/// Returns a chain of links of 1 m and 1 kg that lies level, hinged to the world at the origin, with a ball at its end.
pub fn chain(links: usize, ball: f32) -> Scene {
    let mut scene = world(10.0);
    let mut last = None;
    for link in 0..links {
        #[allow(clippy::cast_precision_loss, reason = "few links")]
        let mut body = Body::dynamic(link as f32 + 0.5, 0.0).shape(Shape::half_box(0.5, 0.1));
        body.mass = Some(1.0);
        let body = scene.add(body);
        scene.join(match last {
            None => Joint::to_world(JointKind::hinge(), body).anchors([0.0, 0.0], [-0.5, 0.0]),
            Some(last) => Joint::new(JointKind::hinge(), last, body).anchors([0.5, 0.0], [-0.5, 0.0]),
        });
        last = Some(body);
    }
    #[allow(clippy::cast_precision_loss, reason = "few links")]
    let mut body = Body::dynamic(links as f32, 0.0).shape(Shape::circle(0.5));
    body.mass = Some(ball);
    let body = scene.add(body);
    let last = last.expect("a link");
    scene.join(Joint::new(JointKind::hinge(), last, body).anchors([0.5, 0.0], [0.0, 0.0]));
    scene
}

/// Returns the energy of a [`chain`], J: kinetic, and potential above the anchor. It starts with none.
pub fn energy(sim: &mut Sim, ball: f32) -> f64 {
    let bodies = sim.bodies();
    let last = bodies.len() - 1;
    let of = |(index, body): (usize, &ReportedBody)| {
        let [mass, inertia] =
            if index == last { [f64::from(ball), 0.5 * f64::from(ball) * RADIUS * RADIUS] } else { [1.0, 1.04 / 12.0] };
        let [vx, vy] = body.velocity.map(f64::from);
        let spin = f64::from(body.angular_velocity);
        0.5 * mass * (vx * vx + vy * vy) + 0.5 * inertia * spin * spin + mass * GRAVITY * f64::from(body.position[1])
    };
    bodies.iter().enumerate().map(of).sum()
}

/// Energy is conserved by mechanics and may only be lost: 1 % of `M g L`, what the ball has to fall through, is for the
/// error of the scheme. Without the inertia that a tension gives its links ([`stiffened`]), a link at 3000 : 1 flies
/// away at more than 10¹⁹ m/s, and five at 1000 : 1 reach 249 m/s.
///
/// [`stiffened`]: drystone::low_level::stages::prepare_joints::stiffened
fn heavy_ends_gain_no_energy(backend: Backend) {
    for (links, seconds) in [(1, 15), (5, 15), (20, 15), (50, 8)] {
        for ball in [1000.0, 3000.0, 10_000.0] {
            #[allow(clippy::cast_precision_loss, reason = "few links")]
            let scale = f64::from(ball) * GRAVITY * links as f64;
            let mut sim = backend.start(&chain(links, ball));
            let steps = if backend == Backend::Gpu { 60 } else { 60 * seconds };
            for step in 0..steps {
                let gained = energy(sim.advance(1), ball) / scale;
                assert!(gained <= 0.01, "{links} links, {ball} : 1, step {step}: {gained} of M g L gained");
            }
        }
    }
}

/// Returns the sum of the errors of all hinges of a [`chain`], m.
fn stretch(sim: &mut Sim) -> f64 {
    let bodies = sim.bodies();
    let last = bodies.len() - 1;
    let point = |body: &ReportedBody, at: f64| {
        let (sin, cos) = f64::from(body.angle).sin_cos();
        [f64::from(body.position[0]) + at * cos, f64::from(body.position[1]) + at * sin]
    };
    let mut before = [0.0; 2];
    let mut sum = 0.0;
    for (index, body) in bodies.iter().enumerate() {
        let anchor = point(body, if index == last { 0.0 } else { -0.5 });
        sum += (anchor[0] - before[0]).hypot(anchor[1] - before[1]);
        before = point(body, 0.5);
    }
    sum
}

/// Returns the largest stretch of a chain while it falls, as a share of its length.
pub fn largest_stretch(backend: Backend, scene: &Scene, links: usize, seconds: usize) -> f64 {
    let mut sim = backend.start(scene);
    let steps = if backend == Backend::Gpu { 60 } else { 60 * seconds };
    #[allow(clippy::cast_precision_loss, reason = "few links")]
    let length = links as f64;
    (0..steps).map(|_| stretch(sim.advance(1)) / length).fold(0.0, f64::max)
}

/// A tree keeps the error of a substep: links turn by ωh, and move along the tangent: a part of (ωh)²/2 of
/// their length, of which a quarter is taken back per substep. A link that falls from the horizontal reaches ω² = 2g/L,
/// so that is below 0.1 %. The issue asks for 2 % of five links and 5 % of 50.
fn heavy_ends_stretch_nothing(backend: Backend) {
    for (links, ball, seconds) in
        [(1, 3000.0, 10), (1, 10_000.0, 10), (5, 1000.0, 10), (5, 10_000.0, 15), (20, 10_000.0, 15), (50, 3000.0, 8)]
    {
        let found = largest_stretch(backend, &chain(links, ball), links, seconds);
        between(&format!("{links} links, {ball} : 1"), found, 0.0, 0.001);
    }
}

/// Returns a chain with four hinges more beside its first, which are too many for a tree.
fn net(links: usize, ball: f32) -> Scene {
    let mut scene = chain(links, ball);
    for _ in 0..5 {
        let joint = scene.joints[1].clone();
        scene.join(joint);
    }
    scene
}

/// Swept, the same chains stretch, but no energy comes from nothing. On the CPU alone: trees do not differ there.
#[test]
fn swept_hinges_gain_no_energy() {
    for (links, ball) in [(1, 3000.0), (5, 1000.0), (5, 10_000.0), (20, 1000.0), (50, 300.0)] {
        #[allow(clippy::cast_precision_loss, reason = "few links")]
        let scale = f64::from(ball) * GRAVITY * links as f64;
        let scene = net(links, ball);
        assert_eq!(trees(&compile(&scene).joints.starts).count(), 0, "a net is no tree");
        let mut sim = Backend::Cpu1.start(&scene);
        for step in 0..600 {
            let gained = energy(sim.advance(1), ball) / scale;
            assert!(gained <= 0.01, "{links} links, {ball} : 1, step {step}: {gained} of M g L gained");
        }
    }
}

/// Negative control: swept, the same chain stretches by more than a tenth, at 10 : 1 by less.
#[test]
fn swept_hinges_stretch() {
    assert_eq!(trees(&compile(&net(5, 1000.0)).joints.starts).count(), 0, "a net is no tree");
    between("1000 : 1", largest_stretch(Backend::Cpu1, &net(5, 1000.0), 5, 10), 0.1, 10.0);
    assert_eq!(trees(&compile(&chain(5, 10.0)).joints.starts).count(), 0, "these are swept");
    between("10 : 1", largest_stretch(Backend::Cpu1, &chain(5, 10.0), 5, 10), 0.0, 0.04);
}

/// Returns a heavy disc with four arms of three links, without gravity, that turns and drifts.
fn star() -> Scene {
    let mut scene = world(0.0);
    let mut hub = Body::dynamic(0.0, 0.0).shape(Shape::circle(0.3)).velocity(0.5, 0.25).angular_velocity(2.0);
    hub.mass = Some(500.0);
    let hub = scene.add(hub);
    for arm in 0..4_u8 {
        let (sin, cos) = (f32::from(arm) * std::f32::consts::FRAC_PI_2).sin_cos();
        let mut last = hub;
        for link in 0..3_u8 {
            let at = 0.3 + 0.25 + 0.5 * f32::from(link);
            let mut body = Body::dynamic(cos * at, sin * at).angle(f32::from(arm) * std::f32::consts::FRAC_PI_2);
            body.mass = Some(0.5);
            let body = scene.add(body.shape(Shape::half_box(0.25, 0.03)).velocity(0.5, 0.25));
            let inner = if link == 0 { [0.3 * cos, 0.3 * sin] } else { [0.25, 0.0] };
            // Also with the leaf as A.
            scene.join(if arm % 2 == 0 {
                Joint::new(JointKind::hinge(), last, body).anchors(inner, [-0.25, 0.0])
            } else {
                Joint::new(JointKind::hinge(), body, last).anchors([-0.25, 0.0], inner)
            });
            last = body;
        }
    }
    scene
}

/// A tree without a fixed body keeps its momentum, 506 kg at (0.5, 0.25) m/s, to the rounding of single precision over
/// 480 solves, and its centre of mass moves with it.
fn a_free_tree_keeps_its_momentum(backend: Backend) {
    let scene = star();
    let compiled = compile(&scene);
    assert_eq!(trees(&compiled.joints.starts).map(|tree| tree.joints().count()).collect::<Vec<_>>(), [12]);
    let mut sim = backend.start(&scene);
    let steps = if backend == Backend::Gpu { 30 } else { 120 };
    let bodies = sim.advance(steps).bodies();
    for (axis, want) in [(0, 0.5), (1, 0.25)] {
        let mass = |index: usize| if index == 0 { 500.0 } else { 0.5 };
        let sum: f64 = bodies.iter().enumerate().map(|(i, body)| mass(i) * f64::from(body.velocity[axis])).sum();
        near("momentum", sum / 506.0, want, 1e-4);
        let place: f64 = bodies.iter().enumerate().map(|(i, body)| mass(i) * f64::from(body.position[axis])).sum();
        #[allow(clippy::cast_precision_loss, reason = "few steps")]
        let gone = steps as f64 / 60.0;
        near("centre", place / 506.0, want * gone, 1e-3);
    }
    // The arms did turn.
    let turned = bodies[1..].iter().map(|body| f64::from(body.angular_velocity).abs()).fold(0.0, f64::max);
    between("fastest link, rad/s", turned, 0.5, 47.0);
}

/// Adds the bodies and joints of a scene to another, moved by `x`, m.
pub fn add_beside(scene: &mut Scene, part: &Scene, x: f32) {
    let base = scene.bodies.len();
    for body in &part.bodies {
        let mut body = body.clone();
        body.position.x += x;
        scene.add(body);
    }
    for joint in &part.joints {
        let mut joint = joint.clone();
        match &mut joint.a {
            Some(a) => *a += base,
            None => joint.anchor_a.x += x,
        }
        joint.b += base;
        scene.join(joint);
    }
}

/// Returns trees of all sorts: a chain with limits, a motor, a hinge that breaks, a loop and an arm with its leaf as A,
/// which touches a floor and may sleep; beside it a swept chain, and a star.
fn zoo(mode: Mode) -> Scene {
    let mut scene = star();
    for body in &mut scene.bodies {
        body.position.x += 9.0;
    }
    scene = scene.gravity(0.0, -10.0);
    scene.settings = Settings { mode, events: true, ..scene.settings };
    scene.add(Body::fixed(0.0, -3.0).shape(Shape::half_box(30.0, 0.5)));
    let first = scene.bodies.len();
    for (offset, ball) in [(0.0, 300.0), (-12.0, 5.0)] {
        add_beside(&mut scene, &chain(4, ball), offset);
    }
    let last = scene.joints.len() - 10;
    let motor = Some(Motor { speed: 2.0, max: 20.0 });
    scene.joints[last].kind = JointKind::Revolute { reference_angle: None, limits: None, motor, spring: None };
    let limits = Some([-0.3, 0.3]);
    scene.joints[last + 1].kind = JointKind::Revolute { reference_angle: None, limits, motor: None, spring: None };
    scene.joints[last + 3] = scene.joints[last + 3].clone().break_force(9000.0);
    let arm = scene.add(Body::dynamic(1.5, -0.5).shape(Shape::half_box(0.1, 0.4)));
    scene.join(Joint::new(JointKind::hinge(), arm, first + 1).anchors([0.0, 0.5], [0.0, 0.0]));
    // A loop.
    scene.join(Joint::new(JointKind::hinge(), first, arm).anchors([0.5, 0.0], [-0.5, 0.5]));
    scene
}

/// Fails unless the CPU engine equals the reference bit for bit, in every mode, without warm starting, and while bodies
/// sleep, and unless the scenes have `count` trees.
pub fn equal_the_reference(scene_of: impl Fn(Mode) -> Scene, count: usize) {
    for mode in [Mode::Soft, Mode::Baumgarte, Mode::Projection] {
        for (warm_start, relax, sleep) in [(true, true, false), (false, true, false), (true, false, true)] {
            let mut scene = scene_of(mode);
            scene.settings = Settings { warm_start, relax, sleep, ..scene.settings };
            assert_eq!(trees(&compile(&scene).joints.starts).count(), count);
            let mut worlds = [cpu(&scene), cpu(&scene).with_threads(3).expect("threads").with_sharing_from(0)];
            assert_equal_to_reference(&format!("{mode:?} {warm_start} {relax}"), &mut worlds, 90, |_, _| {});
        }
    }
}

#[test]
fn trees_equal_the_reference() {
    equal_the_reference(zoo, 2);
}

/// Returns chains that hang beside each other: eleven of one form, unlike in mass, place and speed, and three of
/// another, with limits.
fn crowd(mode: Mode) -> Scene {
    let mut scene = world(10.0);
    scene.settings = Settings { mode, ..scene.settings };
    for index in 0_u8..14 {
        let number = f32::from(index);
        let mut chain = chain(3, 100.0 + 40.0 * number);
        if index % 5 == 2 {
            let limits = Some([-0.2, 0.1]);
            chain.joints[1].kind = JointKind::Revolute { reference_angle: None, limits, motor: None, spring: None };
        }
        for body in &mut chain.bodies {
            body.velocity = [0.3 * number, 1.0 - 0.2 * number].into();
        }
        add_beside(&mut scene, &chain, 9.0 * number);
    }
    scene
}

/// Trees of one form, which the CPU engine solves side by side, equal the reference bit for bit; also while a hinge of
/// one is off.
#[test]
fn trees_side_by_side_equal_the_reference() {
    for mode in [Mode::Soft, Mode::Baumgarte, Mode::Projection] {
        for (warm_start, relax) in [(true, true), (false, true), (true, false)] {
            let mut scene = crowd(mode);
            scene.settings = Settings { warm_start, relax, ..scene.settings };
            let mut worlds = [cpu(&scene), cpu(&scene).with_threads(3).expect("threads").with_sharing_from(0)];
            assert_equal_to_reference(&format!("{mode:?} {warm_start} {relax}"), &mut worlds, 60, |step, world| {
                for (when, on) in [(20, false), (40, true)] {
                    if step == when {
                        let joint = world.joint_id(17).expect("it is there");
                        world.command_joint(joint, JointCommand::Enable(on)).expect("a hinge");
                    }
                }
            });
        }
    }
}

/// Returns the number of lanes in use of each block of trees of a scene, without those of the joints in `off`.
fn lanes(scene: &Scene, off: &[usize]) -> Vec<usize> {
    let JointTable { starts, joints, rows, .. } = compile(scene).joints;
    let frame = |(slot, joint): (usize, &JointData)| {
        let flags = if off.contains(&slot) { joint.flags & !ROW_COUNT_MASK } else { joint.flags };
        JointFrame { first_row: joint.first_row, flags, ..JointFrame::default() }
    };
    let frames: Vec<JointFrame> = joints.iter().enumerate().map(frame).collect();
    let mut blocks = TreeBlocks::default();
    blocks.lay_out(&starts, &frames, &rows, &mut Vec::new(), &mut Vec::new());
    let out = trees(&starts).count();
    let used: Vec<usize> =
        blocks.parts().0.iter().map(|block| (0..WIDTH).filter(|&lane| block.uses(lane)).count()).collect();
    assert_eq!(used.iter().sum::<usize>() + blocks.alone(&starts).count(), out, "each tree once");
    used
}

/// Trees share a block if they are of one form: with the same kinds of rows, on the same sides, all in use.
#[test]
fn trees_of_one_form_share_a_block() {
    let scene = crowd(Mode::Soft);
    assert_eq!(lanes(&scene, &[]), [8, 3, 3]);
    let mut turned = scene.clone();
    let joint = turned.joints[1].clone();
    turned.joints[1] = Joint::new(joint.kind, joint.b, joint.a.expect("a link")).anchors([-0.5, 0.0], [0.5, 0.0]);
    let mut blocks = lanes(&turned, &[]);
    blocks.sort_unstable();
    assert_eq!(blocks, [1, 2, 3, 8], "one is held by the other side");
    let slot = trees(&compile(&scene).joints.starts).next().and_then(|tree| tree.joints().next()).expect("a hinge");
    let mut blocks = lanes(&scene, &[slot]);
    blocks.sort_unstable();
    assert_eq!(blocks, [2, 3, 8], "one has a hinge without rows");
}

/// Negative control: a reference whose trees are left out differs.
#[test]
fn a_reference_without_trees_is_detected() {
    let scene = zoo(Mode::Soft);
    let (mut world, mut compiled) = (cpu(&scene), compile(&scene));
    compiled.joints.starts[drystone::low_level::types::JOINT_TREES as usize + 1] = 0;
    let mut reference = Reference::from_compiled(compiled);
    reference.step();
    world.step().expect("a step");
    assert_ne!(crate::support::difference(&reference.tables(), &world.tables()), None);
}

/// Fails unless GPU and reference agree stage by stage, in every mode.
pub fn have_a_twin(scene_of: impl Fn(Mode) -> Scene) {
    for mode in [Mode::Soft, Mode::Baumgarte, Mode::Projection] {
        let options = ValidationOptions { steps: 60, ..ValidationOptions::default() };
        let report = validate(context(), &scene_of(mode), options, |_| {}).expect("a run");
        assert!(report.passed(), "{mode:?}: {:#?}", report.first_difference);
    }
}

/// Fails unless a change of the shader is found in a sweep over the joints.
pub fn is_detected(scene: &Scene, from: &'static str, to: &'static str) {
    let gpu = GpuWorld::patched(context(), scene, &[Patch { shader: "solve_joints", from, to }]);
    let options = ValidationOptions { steps: 20, ..ValidationOptions::default() };
    let report = compare(gpu.expect("patched"), scene, options, |_| {}).expect("a run");
    let found = report.first_failure();
    assert!(matches!(found, Some("solve_joints" | "relax_joints")), "{from}: {:?}", report.first_difference);
}

#[test]
fn trees_have_a_twin() {
    have_a_twin(zoo);
}

/// Negative control: a mass that is wrong by a thousandth is found.
#[test]
fn a_wrong_tree_is_detected() {
    let from = "let inverse = inverse_of(vec3<f32>(xx, xy, yy));";
    is_detected(&zoo(Mode::Soft), from, "let inverse = inverse_of(vec3<f32>(xx, xy, 0.999 * yy));");
}

/// Returns the hinges of each tree of a world, by slot.
fn hinges(world: &World) -> Vec<usize> {
    trees(&world.compiled().joints.starts).map(|tree| tree.joints().count()).collect()
}

/// Trees follow the joints of a running world, with the same bits as a reference that takes over its tables.
#[test]
fn trees_come_and_go() {
    let scene = chain(6, 2.0);
    let mut worlds = [cpu(&scene), cpu(&scene).with_threads(3).expect("threads").with_sharing_from(0)];
    let mut ball = Body::dynamic(6.0, -1.0).shape(Shape::circle(0.2));
    ball.mass = Some(400.0);
    let mut added: Vec<(BodyId, usize)> = Vec::new();
    assert_equal_to_reference("comes and goes", &mut worlds, 80, |step, world| {
        if step == 10 {
            let id = world.add_bodies(std::slice::from_ref(&ball)).expect("room")[0];
            let slot = world.compiled().bodies.len() - 1;
            let joint = Joint::new(JointKind::hinge(), 6, slot).anchors([0.0, 0.0], [0.0, 1.0]);
            world.add_joints(&[joint]).expect("room");
            assert_eq!(trees(&world.compiled().joints.starts).map(|tree| tree.joints().count()).sum::<usize>(), 8);
            added.push((id, slot));
        }
        if step == 50 {
            world.remove_bodies(&[added[0].0]).expect("it is there");
            assert_eq!(trees(&world.compiled().joints.starts).count(), 0);
        }
    });
}

/// A chain in a batch equals the chain alone, on both engines, beside others of its form, another chain and a world
/// without trees.
#[test]
fn trees_in_a_batch_are_those_of_a_world_alone() {
    let masses = [1000.0, 2.0, 400.0, 2000.0, 300.0, 700.0, 9000.0, 50.0, 80.0, 4000.0, 600.0];
    let scenes: Vec<Scene> = masses.into_iter().map(|ball| chain(5, ball)).chain([chain(3, 9000.0)]).collect();
    for backend in ["cpu", "gpu"] {
        let mut worlds: WorldBatch = crate::support::together(backend, &scenes);
        for _ in 0..20 {
            worlds.step().expect("a step");
        }
        for (index, scene) in scenes.iter().enumerate() {
            let mut world = crate::support::alone(backend, scene);
            for _ in 0..20 {
                world.step().expect("a step");
            }
            assert_eq!(hinges(&world).len(), usize::from(index != 1));
            let (expected, found) =
                (world.snapshot().expect("a snapshot"), worlds.snapshot(index).expect("a snapshot"));
            assert!(found == expected, "{backend}: world {index}");
        }
    }
}

/// Which hinges form trees.
#[test]
fn trees_are_chosen_by_masses() {
    let shape = |scene: &Scene| -> Vec<(usize, bool)> {
        let starts = compile(scene).joints.starts;
        // A root with a hinge to a fixed body leaves no body without a hinge.
        trees(&starts)
            .map(|tree| (tree.joints().count(), !starts.contains(&NONE) || tree.joints().count() > 0))
            .collect()
    };
    assert_eq!(shape(&chain(5, 31.0)).len(), 1, "above the ratio");
    assert_eq!(shape(&chain(5, 30.0)).len(), 0, "at the ratio");
    assert_eq!(shape(&chain(1, 1000.0))[0].0, 2);
    assert_eq!(shape(&chain(300, 1000.0)).len(), 0, "too long");
    let mut welded = chain(5, 1000.0);
    welded.joints.iter_mut().for_each(|joint| joint.kind = JointKind::weld());
    assert_eq!(shape(&welded)[0].0, 6, "welds, too");
    let mut soft = chain(5, 1000.0);
    soft.joints.iter_mut().for_each(|joint| *joint = joint.clone().soft(2.0, 1.0));
    assert_eq!(shape(&soft).len(), 0, "springs are swept");
    // From a second anchor on, hinges are swept.
    let mut bridge = chain(5, 1000.0);
    bridge.join(Joint::to_world(JointKind::hinge(), 5).anchors([5.0, 0.0], [0.0, 0.0]));
    assert_eq!(shape(&bridge)[0].0, 6);
}

/// Prints the table of the book: run with `--ignored --nocapture`.
#[test]
#[ignore = "a measurement"]
fn measure() {
    let sets: &[(&str, Backend, &[usize])] =
        &[("cpu", Backend::Cpu1, &[1, 2, 5, 20, 50, 100]), ("gpu", Backend::Gpu, &[1, 5, 50])];
    for &(name, backend, all) in sets {
        for &links in all {
            for ball in [10.0, 20.0, 29.0, 31.0, 100.0, 1000.0, 3000.0, 10_000.0, 100_000.0] {
                let seconds = if backend == Backend::Gpu {
                    2
                } else if links > 20 {
                    8
                } else {
                    15
                };
                let mut sim = backend.start(&chain(links, ball));
                #[allow(clippy::cast_precision_loss, reason = "few links")]
                let (length, mut most, mut gained) = (links as f64, 0.0_f64, f64::MIN);
                let mut last = 0.0;
                for _ in 0..60 * seconds {
                    most = most.max(stretch(sim.advance(1)) / length);
                    last = energy(&mut sim, ball) / (f64::from(ball) * GRAVITY * length);
                    gained = gained.max(last);
                }
                println!(
                    "{name} {links} {ball}: stretch {:.4} %, energy at most {gained:+.5}, at the end {last:+.5}",
                    100.0 * most
                );
            }
        }
    }
}
