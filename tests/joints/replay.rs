//! Determinism of joints: the same bits for any number of threads, in repeated runs, in worlds side by side, and from a
//! snapshot.

use drystone::low_level::reference::Reference;
use drystone::low_level::scene::check::has_spring;
use drystone::low_level::{CpuWorld, GpuWorld, state};
use drystone::{AdapterChoice, Body, Context, Joint, JointKind, Mode, Motor, Scene, Shape, Spring, World};

use crate::joints::crowds::bridge;
use crate::joints::{block, world};

/// Returns a scene with joints of every kind, and more bodies in one color than a thread takes at once.
fn zoo(mode: Mode) -> Scene {
    let mut scene = world(10.0);
    scene.settings.mode = mode;
    scene.add(Body::fixed(0.0, -6.0).shape(Shape::half_box(100.0, 1.0)));
    let kinds = [
        JointKind::rod(),
        JointKind::rope(1.5),
        JointKind::spring(50.0, 1.0),
        JointKind::Revolute {
            reference_angle: None,
            limits: Some([-1.0, 1.0]),
            motor: Some(Motor { speed: 3.0, max: 5.0 }),
            spring: None,
        },
        JointKind::slider([0.6, 0.8]),
        JointKind::weld(),
    ];
    for row in 0_u8..6 {
        let mut last = scene.add(block(-20.0, 2.0 * f32::from(row)));
        for (column, kind) in (1_u8..20).zip(kinds.iter().cycle().skip(usize::from(row))) {
            let next = scene.add(block(-20.0 + 1.5 * f32::from(column), 2.0 * f32::from(row)));
            let joint = Joint::new(kind.clone(), last, next).anchors([0.5, 0.1], [-0.5, -0.1]);
            scene.join(if column == 7 { joint.break_force(60.0) } else { joint });
            last = next;
        }
    }
    // Enough for several threads and for a wide dispatch.
    for index in 0_u16..1400 {
        let bob = scene.add(Body::dynamic(0.05 * f32::from(index), 30.0).shape(Shape::circle(0.01)));
        let rod = JointKind::Distance { length: Some(1.0), limits: None, motor: None };
        scene.join(Joint::to_world(rod, bob).anchors([0.05 * f32::from(index), 30.9], [0.0, 0.0]));
    }
    scene
}

fn hashes(world: &mut World, steps: usize) -> Vec<u64> {
    (0..steps)
        .map(|_| {
            world.step().expect("a step");
            state::hash(&world.snapshot().expect("a snapshot"))
        })
        .collect()
}

fn cpu(scene: &Scene, threads: usize) -> World {
    CpuWorld::new(scene).expect("a scene").with_threads(threads).expect("threads").with_sharing_from(0).into()
}

fn gpu(scene: &Scene) -> World {
    let context = Context::new(AdapterChoice::Any).expect("an adapter");
    GpuWorld::new(&context, scene).expect("a scene").into()
}

#[test]
fn threads_leave_no_trace() {
    for mode in [Mode::Soft, Mode::Baumgarte, Mode::Projection] {
        let scene = zoo(mode);
        let one = hashes(&mut cpu(&scene, 1), 60);
        assert_eq!(one, hashes(&mut cpu(&scene, 3), 60), "{mode:?}");
        assert!(one.windows(2).all(|pair| pair[0] != pair[1]), "nothing moves");
    }
}

/// Returns a scene with every kind of joint in every role that a row can have, some of them soft, weak or disabled,
/// hubs that overflow the colors, and sleeping bodies.
fn mixed(mode: Mode) -> Scene {
    let mut scene = zoo(mode);
    scene.settings.sleep = mode == Mode::Soft;
    let motor = |speed, max| Some(Motor { speed, max });
    let spring = |target| Some(Spring { hertz: 2.0, damping_ratio: 0.5, target });
    let axis = [0.6, 0.8].into();
    let kinds = [
        JointKind::Distance { length: None, limits: Some([0.9, 1.2]), motor: motor(0.5, 20.0) },
        JointKind::Revolute { reference_angle: None, limits: None, motor: None, spring: spring(0.3) },
        JointKind::Prismatic {
            axis,
            reference_angle: None,
            limits: Some([-0.1, 0.3]),
            motor: motor(1.0, 30.0),
            spring: spring(0.1),
        },
        JointKind::Wheel { axis, limits: Some([-0.2, 0.2]), motor: motor(3.0, 5.0), spring: spring(0.0) },
        JointKind::Weld { reference_angle: Some(0.1), angular_hertz: Some(3.0), angular_damping_ratio: Some(0.2) },
        JointKind::Motor { linear_offset: [0.5, 0.2].into(), angular_offset: 0.3, max_force: 8.0, max_torque: 2.0 },
        JointKind::rod(),
        JointKind::velocity([0.4, 0.3], 1.0, 8.0, 2.0),
        JointKind::Velocity {
            axis: Some(axis),
            velocity: axis,
            angular_velocity: -1.0,
            max_force: 6.0,
            max_torque: 1.0,
        },
        JointKind::Gear { ratio: -0.7 },
        JointKind::Pulley { ground_a: [0.0, 64.0].into(), ground_b: [3.0, 64.0].into(), ratio: 1.5, length: None },
    ];
    for (index, kind) in (0_u8..70).zip(kinds.iter().cycle()) {
        let at = 3.0 * f32::from(index) - 100.0;
        let [a, b] = [scene.add(block(at, 60.0)), scene.add(block(at + 1.2, 60.3).angle(0.2))];
        let mut joint = Joint::new(kind.clone(), a, b).anchors([0.5, 0.1], [-0.5, 0.0]);
        let is_stiff = matches!(kind, JointKind::Velocity { .. } | JointKind::Spring { .. } | JointKind::Pulley { .. });
        if index % 3 == 0 && !is_stiff {
            joint = joint.soft(4.0, 0.3);
        }
        if index % 2 == 0 && has_spring(&joint) {
            joint = joint.spring_range(-4.0, 1.5);
        }
        joint.enabled = index % 11 != 5;
        scene.join(joint);
        let mouse = JointKind::Mouse { target: [at, 63.0].into(), max_force: 10.0 + f32::from(index) };
        scene.join(Joint::to_world(mouse, b).anchors([0.0, 0.0], [0.3, 0.0]));
    }
    let hub = scene.add(block(0.0, 90.0));
    for index in 0_u8..40 {
        let (sin, cos) = (f32::from(index) * 0.157).sin_cos();
        let arm = scene.add(block(3.0 * cos, 90.0 + 3.0 * sin));
        let kind = if index % 2 == 0 { JointKind::hinge() } else { JointKind::rope(3.0) };
        scene.join(Joint::new(kind, hub, arm).anchors([0.5 * cos, 0.5 * sin], [0.0, 0.0]));
    }
    scene
}

/// Returns all bits of the state after a step.
fn bits(world: &mut CpuWorld) -> Vec<u8> {
    world.step().unwrap();
    let snapshot = world.snapshot();
    let mut bits = bytemuck::cast_slice(&snapshot.poses).to_vec();
    bits.extend_from_slice(bytemuck::cast_slice(&snapshot.states));
    bits.extend_from_slice(bytemuck::cast_slice(&snapshot.joint_states));
    bits.extend_from_slice(bytemuck::cast_slice(&snapshot.joint_impulses));
    bits
}

/// Returns all bits of the reference's state after a step.
fn reference_bits(reference: &mut Reference) -> Vec<u8> {
    reference.step();
    let tables = reference.tables();
    let mut bits = bytemuck::cast_slice(&tables.poses).to_vec();
    bits.extend_from_slice(bytemuck::cast_slice(&tables.states));
    bits.extend_from_slice(bytemuck::cast_slice(&tables.joint_states));
    bits.extend_from_slice(bytemuck::cast_slice(&tables.joint_impulses));
    bits
}

#[test]
fn eight_rows_at_a_time_equal_one_by_one() {
    for mode in [Mode::Soft, Mode::Baumgarte, Mode::Projection] {
        for (warm_start, accumulate, relax) in [(true, true, true), (false, true, true), (true, false, false)] {
            let mut scene = mixed(mode);
            let settings = &mut scene.settings;
            (settings.warm_start, settings.accumulate, settings.relax) = (warm_start, accumulate, relax);
            let start = || CpuWorld::new(&scene).expect("a scene");
            let (mut one_by_one, mut by_four) = (Reference::new(&scene).expect("a scene"), start());
            let mut shared = start().with_threads(3).expect("threads").with_sharing_from(0);
            for step in 0..40 {
                let wanted = reference_bits(&mut one_by_one);
                let what = format!("{mode:?}, warm start {warm_start}, relax {relax}, step {step}");
                assert!(bits(&mut by_four) == wanted, "{what}");
                assert!(bits(&mut shared) == wanted, "{what}, three threads");
            }
            // Negative control: a ten-thousandth of one impulse is detected.
            let mut snapshot = by_four.snapshot();
            let at = snapshot.joint_impulses.iter().rposition(|impulse| impulse[0] != 0.0).expect("a joint that pulls");
            let [impulse, _] = &mut snapshot.joint_impulses[at];
            *impulse = f32::from_bits(impulse.to_bits() ^ (1 << 10));
            by_four.restore(&snapshot).expect("a snapshot of this world");
            assert!(
                !warm_start || bits(&mut by_four) != reference_bits(&mut one_by_one),
                "{mode:?}: nothing would be noticed"
            );
        }
    }
}

#[test]
fn two_runs_on_the_adapter_agree_also_side_by_side() {
    let (zoo, bridge) = (zoo(Mode::Soft), bridge(40));
    let (first, other) = (hashes(&mut gpu(&zoo), 20), hashes(&mut gpu(&bridge), 20));
    let (mut a, mut b) = (gpu(&zoo), gpu(&bridge));
    for step in 0..20 {
        assert_eq!(hashes(&mut a, 1), [first[step]], "step {step}");
        assert_eq!(hashes(&mut b, 1), [other[step]], "step {step}");
    }
}

#[test]
fn a_snapshot_continues_to_the_same_bits() {
    let scene = zoo(Mode::Soft);
    for make in [|scene: &Scene| cpu(scene, 1), |scene: &Scene| gpu(scene)] {
        let mut world = make(&scene);
        hashes(&mut world, 10);
        let snapshot = world.snapshot().expect("a snapshot");
        assert!(snapshot.joint_impulses.iter().any(|impulse| impulse[0] != 0.0), "no joint pulls");
        let straight = hashes(&mut world, 10);
        let mut other = make(&scene);
        other.restore(&snapshot).expect("a snapshot of this world");
        assert_eq!(hashes(&mut other, 10), straight);
        // The accumulated impulses are part of the snapshot.
        let mut forgot = snapshot.clone();
        forgot.joint_impulses.fill([0.0; 2]);
        let mut other = make(&scene);
        other.restore(&forgot).expect("a snapshot of this world");
        assert_ne!(hashes(&mut other, 1)[0], straight[0]);
    }
}

#[test]
fn snapshots_of_other_joints_are_rejected() {
    let scene = bridge(10);
    let mut world = cpu(&scene, 1);
    hashes(&mut world, 2);
    let good = world.snapshot().expect("a snapshot");
    let mut bad = good.clone();
    bad.joint_impulses.pop();
    assert!(world.restore(&bad).expect_err("too short").to_string().contains("joint impulses"));
    let mut bad = good.clone();
    bad.joint_states.push(bad.joint_states[0]);
    assert!(world.restore(&bad).expect_err("too long").to_string().contains("joint states"));
    let mut bad = good.clone();
    bad.joint_impulses[3][1] = f32::NAN;
    assert!(world.restore(&bad).expect_err("poisoned").to_string().contains("not finite"));
    let mut bad = good.clone();
    bad.joint_states[3].angle = f32::INFINITY;
    assert!(world.restore(&bad).expect_err("poisoned").to_string().contains("angles"));
    let mut bad = good.clone();
    bad.joint_states[3].turns[1] = f32::NAN;
    assert!(world.restore(&bad).expect_err("poisoned").to_string().contains("angles"));
    world.restore(&good).expect("the good one");
}
