//! Joint constraints, their reactions, breaking thresholds, and disabled joints.

use std::f64::consts::TAU;

use drystone::{Body, Joint, JointKind, Mode, Scene, Shape};

use crate::common::{Backend, between, far, near};
use crate::joints::{block, point, world};

on_every_backend!(
    a_hanging_mass_pulls_with_its_weight,
    a_joint_breaks_above_its_threshold_and_not_below,
    a_soft_hinge_sags_by_its_frequency,
    a_weld_holds_a_cantilever,
    a_weld_is_soft_in_its_angle_alone,
    free_pairs_keep_their_momenta,
    jointed_bodies_collide_only_if_enabled,
    a_spring_without_strength_only_keeps_bodies_from_touching,
    a_disabled_joint_does_nothing,
    the_other_modes_hold_too,
    without_correction_a_hinge_drifts,
    fixed_bodies_stay_where_they_are,
    a_lost_body_is_let_go,
    errors_are_measured,
);

/// A bar that hangs from a hinge sags by g/(2πf)², along the bar and, on two hinges, across it. At most a quarter of
/// the substep rate acts: 60 Hz with 4 substeps, 600 Hz with 40.
fn a_soft_hinge_sags_by_its_frequency(backend: Backend) {
    let cases =
        [(2.0, 4, 2.0), (20.0, 4, 20.0), (53.0, 4, 53.0), (57.0, 4, 57.0), (600.0, 4, 60.0), (600.0, 40, 600.0)];
    for (hertz, substeps, acts) in cases {
        let mut scene = world(10.0);
        scene.settings.substeps = Some(substeps);
        let hanging = scene.add(Body::dynamic(0.0, -1.0).shape(Shape::half_box(0.1, 1.0)));
        scene.join(Joint {
            hertz: Some(hertz),
            ..Joint::to_world(JointKind::hinge(), hanging).anchors([0.0, 0.0], [0.0, 1.0])
        });
        let lying = scene.add(Body::dynamic(5.0, 0.0).shape(Shape::half_box(1.0, 0.1)));
        for x in [-1.0, 1.0] {
            let hinge = Joint::to_world(JointKind::hinge(), lying).anchors([5.0 + x, 0.0], [x, 0.0]);
            scene.join(Joint { hertz: Some(hertz), ..hinge });
        }
        let mut sim = backend.start(&scene);
        let bodies = sim.advance(if substeps == 4 { 300 } else { 60 }).bodies();
        let sag = 10.0 / (TAU * acts).powi(2);
        let what = format!("{hertz} Hz, {substeps} substeps");
        // The spring is damped with ratio 2, so that it has come to rest; positions of 1 m round to 6e-8.
        near(&format!("sag along the bar, {what}"), -1.0 - f64::from(bodies[0].position[1]), sag, 0.01 * sag + 2e-7);
        // The effective mass of one end of a bar of width w and length l is 1/(1/m + l²/(4I)); two of them carry it.
        let share = 0.5 * (1.0 + 3.0 / 1.01);
        near(
            &format!("sag across it, {what}"),
            -f64::from(bodies[1].position[1]),
            share * sag,
            0.01 * share * sag + 2e-7,
        );
        // The mean of both directions, which an isotropic spring has, is noticed.
        far("sag of the mean mass", -1.0 - f64::from(bodies[0].position[1]), 0.5 * (2.0 + 3.0 / 1.01) * sag, 0.5 * sag);
    }
}

/// The reaction is mg for a rod and a hinge; the torque of a hinge is zero.
fn a_hanging_mass_pulls_with_its_weight(backend: Backend) {
    for kind in [JointKind::rod(), JointKind::hinge()] {
        let mut scene = world(10.0);
        let mut body = block(0.0, -2.0);
        body.mass = Some(3.0);
        let body = scene.add(body);
        let top = if kind == JointKind::rod() { [0.0, 0.0] } else { [0.0, 2.0] };
        scene.join(Joint::to_world(kind, body).anchors([0.0, 0.0], top).id("hook"));
        let mut sim = backend.start(&scene);
        sim.advance(300);
        let hook = &sim.joints()[0];
        assert_eq!(hook.id.as_deref(), Some("hook"));
        near("force along x", hook.force[0], 0.0, 1e-3);
        near("force along y", hook.force[1], 30.0, 0.01);
        near("torque", hook.torque, 0.0, 1e-6);
        near("height", sim.body(0).position[1], -2.0, 1e-4);
    }
}

/// A joint that carries 10 N breaks at a threshold of 9.5 N, and not at 10.5 N; a weld breaks by its torque.
fn a_joint_breaks_above_its_threshold_and_not_below(backend: Backend) {
    for (threshold, breaks) in [(10.5, false), (9.5, true)] {
        let mut scene = world(10.0);
        let body = scene.add(point(0.0, -2.0));
        scene.join(Joint::to_world(JointKind::rod(), body).break_force(threshold));
        let mut sim = backend.start(&scene);
        sim.advance(60);
        assert_eq!(sim.joints()[0].broken, breaks, "{threshold} N");
        let height = sim.body(0).position[1];
        if breaks {
            assert!(height < -4.0, "still hangs at {height} m");
            assert_eq!(sim.joints()[0].force, [0.0; 2]);
        } else {
            near("height", height, -2.0, 1e-3);
        }
    }
    // A cantilever of 1 kg whose middle is 0.5 m out: 5 N·m; a suddenly applied load pulls up to twice as hard.
    for (threshold, breaks) in [(10.0, false), (4.7, true)] {
        let mut scene = world(10.0);
        let body = scene.add(block(0.5, 0.0));
        let weld = Joint::to_world(JointKind::weld(), body).anchors([0.0, 0.0], [-0.5, 0.0]);
        scene.join(weld.break_torque(threshold));
        let mut sim = backend.start(&scene);
        sim.advance(60);
        assert_eq!(sim.joints()[0].broken, breaks, "{threshold} N·m");
    }
}

/// Three boxes out from a wall: the wall carries 30 N and 1 + 3 + 5 halves of 10 N·m.
fn a_weld_holds_a_cantilever(backend: Backend) {
    let mut scene = world(10.0);
    let mut last = None;
    for index in 0_u8..3 {
        let body = scene.add(block(f32::from(index) + 0.5, 0.0));
        let (anchor_a, anchor_b) = ([if last.is_some() { 0.5 } else { 0.0 }, 0.0], [-0.5, 0.0]);
        let joint =
            last.map_or_else(|| Joint::to_world(JointKind::weld(), body), |a| Joint::new(JointKind::weld(), a, body));
        scene.join(joint.anchors(anchor_a, anchor_b));
        last = Some(body);
    }
    let mut sim = backend.start(&scene);
    sim.advance(600);
    let joints = sim.joints();
    near("force on the wall", joints[0].force[1], 30.0, 0.1);
    near("torque on the wall", joints[0].torque, 45.0, 0.5);
    // Each joint yields like a spring of 60 Hz on its effective mass: 45 N·m / (m_eff (2π·60)²) with at least 1/12
    // kg·m², less than 4 mrad at the wall, half of that at the next; over 3 m some 15 mm.
    between("tip", sim.body(2).position[1], -0.03, 0.001);
    between("speed", sim.metrics().max_speed, 0.0, 0.01);
}

/// A weld that is soft in its angle turns under a torque by τ/(I(2πf)²), and holds its place.
fn a_weld_is_soft_in_its_angle_alone(backend: Backend) {
    let mut scene = world(0.0);
    let body = scene.add(block(0.0, 0.0).torque(0.5));
    scene.join(Joint::to_world(JointKind::weld().angular_soft(2.0, 1.0), body));
    let body = backend.start(&scene).advance(300).body(0);
    near("angle", body.angle, 0.5 * 6.0 / (2.0 * TAU).powi(2), 1e-4);
    near("x", body.position[0], 0.0, 1e-6);
    near("y", body.position[1], 0.0, 1e-6);
}

/// Two boxes on a hinge, a rod, a weld and a soft weld, tumbling in empty space.
fn free_pairs_keep_their_momenta(backend: Backend) {
    let soft = |kind| Joint::new(kind, 0, 1).soft(2.0, 0.3);
    for joint in [
        Joint::new(JointKind::hinge(), 0, 1),
        Joint::new(JointKind::rod(), 0, 1),
        Joint::new(JointKind::weld(), 0, 1),
        Joint::new(JointKind::slider([0.6, 0.8]), 0, 1),
        Joint::new(JointKind::spring(20.0, 1.0), 0, 1),
        soft(JointKind::weld()),
        soft(JointKind::hinge()),
    ] {
        let mut scene = world(0.0);
        scene.add(block(-1.0, 0.0).velocity(0.0, 1.0).angular_velocity(2.0));
        let mut heavy = block(1.0, 0.0).velocity(0.5, -1.0).angular_velocity(-1.0);
        heavy.mass = Some(2.0);
        scene.add(heavy);
        let rod = joint.kind == JointKind::rod() || matches!(joint.kind, JointKind::Spring { .. });
        scene.join(if rod { joint } else { joint.anchors([1.0, 0.0], [-1.0, 0.0]) });
        let mut sim = backend.start(&scene);
        let before = sim.metrics();
        sim.advance(300);
        let after = sim.metrics();
        let what = format!("{:?}", scene.joints[0].kind);
        // 1,200 substeps of a few roundings each, which mostly cancel.
        near(&format!("{what}: px"), after.momentum[0], before.momentum[0], 2e-4);
        near(&format!("{what}: py"), after.momentum[1], before.momentum[1], 2e-4);
        near(&format!("{what}: L"), after.angular_momentum, before.angular_momentum, 5e-3);
        assert!(after.kinetic_energy <= before.kinetic_energy * 1.001, "{what}: energy from nothing");
    }
}

/// The metrics report the error of joints whose constraint is violated; computed by hand.
fn errors_are_measured(backend: Backend) {
    let on = |joint: Joint| {
        let mut scene = world(0.0);
        scene.add(Body::fixed(0.0, 0.0).shape(Shape::circle(0.1)));
        scene.add(block(2.0, 0.0).angle(0.5));
        scene.join(joint);
        let metrics = backend.start(&scene).metrics();
        [metrics.joint_error, metrics.joint_angle_error]
    };
    let tied = |kind| Joint::new(kind, 0, 1);
    let hinge = |limits| JointKind::Revolute { reference_angle: Some(0.0), limits, motor: None, spring: None };
    let rod = |length| JointKind::Distance { length: Some(length), limits: None, motor: None };
    let weld = JointKind::Weld { reference_angle: Some(0.2), angular_hertz: None, angular_damping_ratio: None };
    let mut off = tied(rod(1.5));
    off.enabled = false;
    // Both backends share the code of the measurement; for a GPU one case shows that it has the data.
    let cases = if backend == Backend::Gpu { 1 } else { usize::MAX };
    let all = [
        ("hinge", tied(hinge(None)).anchors([2.0, 0.3], [0.0, 0.0]), [0.3, 0.0]),
        ("hinge that fits", tied(hinge(None)).anchors([2.0, 0.0], [0.0, 0.0]), [0.0, 0.0]),
        ("upper limit", tied(hinge(Some([-0.1, 0.1]))).anchors([2.0, 0.0], [0.0, 0.0]), [0.0, 0.4]),
        ("lower limit", tied(hinge(Some([0.6, 0.9]))).anchors([2.0, 0.0], [0.0, 0.0]), [0.0, 0.1]),
        ("within limits", tied(hinge(Some([0.1, 0.9]))).anchors([2.0, 0.0], [0.0, 0.0]), [0.0, 0.0]),
        ("weld", tied(weld).anchors([2.4, 0.0], [0.0, 0.0]), [0.4, 0.3]),
        ("rod", tied(rod(1.5)), [0.5, 0.0]),
        ("rope", tied(JointKind::rope(1.8)), [0.2, 0.0]),
        ("slack rope", tied(JointKind::rope(3.0)), [0.0, 0.0]),
        ("spring", tied(JointKind::spring(20.0, 1.0)), [0.0, 0.0]),
        ("switched off", off, [0.0, 0.0]),
    ];
    for (what, joint, want) in all.into_iter().take(cases) {
        let got = on(joint);
        near(&format!("{what}: length"), got[0], want[0], 1e-5);
        near(&format!("{what}: angle"), got[1], want[1], 1e-5);
    }
}

/// Two boxes half inside each other on a hinge stay there; with collision enabled they are pushed apart.
fn jointed_bodies_collide_only_if_enabled(backend: Backend) {
    for collide in [false, true] {
        let mut scene = world(0.0);
        let a = scene.add(block(0.0, 0.0));
        let b = scene.add(block(0.5, 0.0));
        let c = scene.add(block(0.0, 3.0));
        let d = scene.add(block(0.5, 3.0));
        // A slack rope: the bodies may be far from each other.
        let joint = Joint::new(JointKind::rope(50.0), a, b);
        scene.join(if collide { joint.collide() } else { joint });
        let mut sim = backend.start(&scene);
        sim.advance(120);
        let bodies = sim.bodies();
        let gap = |a: usize, b: usize| bodies[b].position[0] - bodies[a].position[0];
        if collide {
            between("collision enabled", gap(a, b), 0.9, 3.0);
        } else {
            near("jointed", gap(a, b), 0.5, 0.0);
        }
        between("not jointed", gap(c, d), 0.9, 3.0);
    }
}

/// Two boxes half inside each other: one flies through the other, as if alone.
fn a_spring_without_strength_only_keeps_bodies_from_touching(backend: Backend) {
    let mut scene = world(0.0);
    let a = scene.add(block(0.0, 0.0));
    let b = scene.add(block(0.5, 0.0).velocity(-2.0, 0.0));
    scene.join(Joint::new(JointKind::spring(0.0, 0.0), a, b));
    let bodies = backend.start(&scene).advance(60).bodies();
    near("at rest", bodies[a].position[0], 0.0, 0.0);
    near("on its way", bodies[b].position[0], -1.5, 1e-4);
    near("speed", bodies[b].velocity[0], -2.0, 0.0);
}

/// A scene with a disabled joint equals the scene without it, to the bit.
fn a_disabled_joint_does_nothing(backend: Backend) {
    let build = |joint: bool| {
        let mut scene = world(10.0);
        let a = scene.add(block(0.0, 0.0).angular_velocity(1.0));
        let b = scene.add(block(2.0, 0.0).velocity(0.0, 1.0));
        if joint {
            scene.join(Joint::new(JointKind::weld(), a, b));
            scene.joints[0].enabled = false;
        }
        scene
    };
    let (mut with, mut without) = (backend.start(&build(true)), backend.start(&build(false)));
    assert_eq!(with.advance(60).bodies(), without.advance(60).bodies());
}

/// A chain between two walls, a hanging chain, and a pendulum under Baumgarte's and projected position correction.
fn the_other_modes_hold_too(backend: Backend) {
    for mode in [Mode::Baumgarte, Mode::Projection] {
        let mut scene = world(10.0);
        scene.settings.mode = mode;
        let mut last = None;
        for index in 0_u8..8 {
            let body = scene.add(block(f32::from(index) + 0.5, 0.0));
            let joint = last
                .map_or_else(|| Joint::to_world(JointKind::hinge(), body), |a| Joint::new(JointKind::hinge(), a, body));
            scene.join(joint.anchors([if last.is_some() { 0.5 } else { 0.0 }, 0.0], [-0.5, 0.0]));
            last = Some(body);
        }
        scene.join(Joint::to_world(JointKind::hinge(), 7).anchors([8.0, 0.0], [0.5, 0.0]));
        let mut sim = backend.start(&scene);
        sim.advance(600);
        let worst = sim.joints().iter().map(|j| j.between[0].hypot(j.between[1])).fold(0.0, f32::max);
        println!("{mode:?}: {worst} m");
        between(&format!("{mode:?}: gap"), worst, 0.0, 0.02);
        scene.joints.pop();
        for (index, body) in (0_u8..).zip(&mut scene.bodies) {
            body.position = [0.0, -f32::from(index) - 0.5].into();
            body.angle = -std::f32::consts::FRAC_PI_2;
        }
        let mut sim = backend.start(&scene);
        near(&format!("{mode:?}: load"), sim.advance(600).joints()[0].force[1], 80.0, 0.8);
        // A pendulum must not gain energy from tension along the rod's old direction.
        let mut scene = world(10.0);
        scene.settings.mode = mode;
        let bob = scene.add(point(2.0, 0.0));
        scene.join(Joint::to_world(JointKind::rod(), bob));
        let mut sim = backend.start(&scene);
        let mut highest = f64::MIN;
        for _ in 0..600 {
            highest = highest.max(f64::from(sim.advance(1).body(0).position[1]));
        }
        between(&format!("{mode:?}: swings up to"), highest, -1.0, 0.05);
    }
}

/// Without position correction a pendulum's hinge drifts outwards; with correction it does not.
fn without_correction_a_hinge_drifts(backend: Backend) {
    let drift = |mode, correct| {
        let mut scene = world(10.0);
        scene.settings.mode = mode;
        scene.settings.correct_position = correct;
        let body = scene.add(block(1.0, 0.0));
        scene.join(Joint::to_world(JointKind::hinge(), body).anchors([0.0, 0.0], [-1.0, 0.0]));
        let mut sim = backend.start(&scene);
        sim.advance(300);
        let [x, y] = sim.joints()[0].between;
        f64::from(x.hypot(y))
    };
    for mode in [Mode::Soft, Mode::Baumgarte, Mode::Projection] {
        let (with, without) = (drift(mode, true), drift(mode, false));
        println!("{mode:?}: {with} m, uncorrected {without} m");
        between(&format!("{mode:?}: corrected"), with, 0.0, 0.01);
        far(&format!("{mode:?}: uncorrected"), without, with, 0.01);
    }
}

/// A kinematic body drives attached bodies and is unaffected; a static one does not move.
fn fixed_bodies_stay_where_they_are(backend: Backend) {
    let mut scene = world(10.0);
    let post = scene.add(Body::fixed(0.0, 0.0).shape(Shape::circle(0.1)));
    let crank = scene.add(Body::kinematic(3.0, 0.0).shape(Shape::circle(0.1)).angular_velocity(1.0));
    let rod = scene.add(block(1.0, 0.0));
    let arm = scene.add(block(4.0, 0.0));
    scene.join(Joint::new(JointKind::hinge(), post, rod).anchors([0.0, 0.0], [-1.0, 0.0]));
    scene.join(Joint::new(JointKind::weld(), crank, arm).anchors([0.0, 0.0], [-1.0, 0.0]));
    // B may be the fixed one too.
    let hook = scene.add(Body::fixed(-3.0, 0.0).shape(Shape::circle(0.1)));
    let bob = scene.add(point(-3.0, -1.0));
    scene.join(Joint::new(JointKind::rod(), bob, hook));
    let mut sim = backend.start(&scene);
    sim.advance(60);
    let bodies = sim.bodies();
    assert_eq!((bodies[post].position, bodies[post].velocity), ([0.0; 2], [0.0; 2]));
    assert_eq!((bodies[crank].position, bodies[crank].angular_velocity), ([3.0, 0.0], 1.0));
    near("arm", bodies[arm].angle, 1.0, 5e-3);
    near("arm, y", bodies[arm].position[1], 1.0_f64.sin(), 0.02);
    near("bob", bodies[bob].position[1], -1.0, 1e-3);
}

/// A NaN in one end of a chain quarantines that body, and the others keep swinging.
fn a_lost_body_is_let_go(backend: Backend) {
    let mut scene = world(10.0);
    let a = scene.add(point(1.0, 0.0));
    let b = scene.add(point(2.0, 0.0));
    scene.join(Joint::to_world(JointKind::rod(), a));
    scene.join(Joint::new(JointKind::rod(), a, b));
    let mut sim = backend.start(&scene);
    let mut snapshot = sim.advance(10).snapshot();
    snapshot.states[b].velocity[0] = f32::NAN;
    let world = sim.world();
    world.restore(&snapshot).expect("a snapshot of this world");
    for _ in 0..60 {
        world.step().expect("a step");
    }
    let after = world.snapshot().expect("a snapshot");
    assert_eq!(after.counters.quarantined, 1);
    let [x, y] = after.poses[a].position;
    near("the other swings on", x.hypot(y), 1.0, 1e-3);
    assert!(after.states[a].velocity != [0.0; 2]);
    assert_eq!(world.joint_reactions().expect("a snapshot")[1].force, [0.0; 2]);
}

#[test]
fn a_scene_without_joints_has_the_plan_it_had() {
    let scene: Scene = world(10.0);
    let names: Vec<_> =
        drystone::low_level::step::plan(&scene.settings, true, false).iter().map(|op| op.stage.name()).collect();
    assert!(names.iter().all(|name| !name.contains("joint")), "{names:?}");
    let with = drystone::low_level::step::plan(&scene.settings, true, true);
    // prepare, warm start, and in each of four substeps a solve and a relax sweep.
    assert_eq!(with.len(), names.len() + 2 + 2 * 4);
}
