//! Pulleys: a rope from one body over two points of the world to another.

use drystone::{Body, Joint, JointCommand, JointKind, Mode, Scene, Shape};

use crate::common::{Backend, Sim, between, far, near};
use crate::joints::{block, point, world};

on_every_backend!(
    weights_accelerate_as_atwood_found,
    a_ratio_of_two_balances_twice_the_weight,
    a_rope_pulls_and_never_pushes,
    a_rope_pulls_at_the_anchor,
    a_swinging_atwood_machine_gains_no_energy,
    a_weight_stops_at_its_point,
    a_rope_is_wound_and_breaks,
    pulleys_are_added_changed_and_restored,
);

const MODES: [Mode; 3] = [Mode::Soft, Mode::Baumgarte, Mode::Projection];

/// Returns two weights of these masses, kg, 5 m below their points, and a pulley between them.
fn machine(masses: [f32; 2], ratio: f32, mode: Mode) -> Scene {
    let mut scene = world(10.0);
    scene.settings.mode = mode;
    let [a, b] = [-1.0, 1.0].map(|x| scene.add(point(x, 0.0)));
    (scene.bodies[a].mass, scene.bodies[b].mass) = (Some(masses[0]), Some(masses[1]));
    scene.join(Joint::new(rope(ratio), a, b));
    scene
}

fn rope(ratio: f32) -> JointKind {
    JointKind::Pulley { ground_a: [-1.0, 5.0].into(), ground_b: [1.0, 5.0].into(), ratio, length: None }
}

/// Length of the rope of [`machine`], m: A's side and `ratio` times B's side.
fn length(sim: &mut Sim, ratio: f64) -> f64 {
    let side = |sim: &mut Sim, body: usize, x: f64| {
        let [at_x, at_y] = sim.body(body).position.map(f64::from);
        (at_x - x).hypot(at_y - 5.0)
    };
    side(sim, 0, -1.0) + ratio * side(sim, 1, 1.0)
}

/// 3 kg and 1 kg: `(3 − 1) g/(3 + 1)`, and a tension of `2·3·1 g/(3 + 1)`. Negative control: without the rope both
/// fall.
fn weights_accelerate_as_atwood_found(backend: Backend) {
    for mode in MODES {
        for is_on in [true, false] {
            let mut scene = machine([3.0, 1.0], 1.0, mode);
            scene.joints[0].enabled = is_on;
            let mut sim = backend.start(&scene);
            sim.advance(30);
            let name = |what: &str| format!("{mode:?}, {is_on}: {what}");
            let [v_a, v_b, tension] = if is_on { [-2.5, 2.5, 15.0] } else { [-5.0, -5.0, 0.0] };
            near(&name("A"), sim.body(0).velocity[1], v_a, 0.025);
            near(&name("B"), sim.body(1).velocity[1], v_b, 0.025);
            near(&name("tension"), sim.joints()[0].force[1], tension, 0.15);
            if is_on {
                near(&name("rope"), length(&mut sim, 1.0), 10.0, 5e-3);
            }
        }
    }
}

/// The rope pulls B with twice the force on A. Negative control: half a weight more on B sinks with
/// `g (m_b − 2 m_a)/(m_b + 4 m_a)`, and A rises twice as fast.
fn a_ratio_of_two_balances_twice_the_weight(backend: Backend) {
    for mode in MODES {
        let mut sim = backend.start(&machine([1.0, 2.0], 2.0, mode));
        sim.advance(60);
        let name = |what: &str| format!("{mode:?}: {what}");
        near(&name("A rests"), sim.body(0).velocity[1], 0.0, 1e-3);
        near(&name("B rests"), sim.body(1).position[1], 0.0, 5e-3);
        near(&name("force on B"), sim.joints()[0].force[1], 20.0, 0.1);

        let mut sim = backend.start(&machine([1.0, 3.0], 2.0, mode));
        sim.advance(30);
        near(&name("B sinks"), sim.body(1).velocity[1], -5.0 / 7.0, 0.01);
        near(&name("A rises"), sim.body(0).velocity[1], 10.0 / 7.0, 0.02);
        near(&name("rope"), length(&mut sim, 2.0), 15.0, 5e-3);
    }
}

/// Thrown up, B flies for 0.8 s as without a rope, but for half a step of gravity; then the rope holds it. Negative
/// control: a rod holds it at once.
fn a_rope_pulls_and_never_pushes(backend: Backend) {
    for mode in MODES {
        for is_rope in [true, false] {
            let mut scene = world(10.0);
            scene.settings.mode = mode;
            let hook = scene.add(Body::fixed(-1.0, 0.0).shape(Shape::circle(0.1)));
            let weight = scene.add(point(1.0, 0.0).velocity(0.0, 4.0));
            let rod = Joint::to_world(JointKind::rod(), weight).anchors([1.0, 5.0], [0.0, 0.0]);
            scene.join(if is_rope { Joint::new(rope(1.0), hook, weight) } else { rod });
            let mut sim = backend.start(&scene);
            sim.advance(24);
            let name = |what: &str| format!("{mode:?}: {what}");
            if !is_rope {
                far(&name("a rod lets nothing fly"), sim.body(1).position[1], 0.8, 0.5);
                continue;
            }
            near(&name("flies"), sim.body(1).position[1], 0.8, 0.04);
            near(&name("at the top"), sim.body(1).velocity[1], 0.0, 1e-3);
            near(&name("slack"), sim.joints()[0].force[1], 0.0, 1e-6);
            sim.advance(60);
            near(&name("is held again"), sim.body(1).position[1], 0.0, 0.01);
            near(&name("carries"), sim.joints()[0].force[1], 10.0, 0.1);
        }
    }
}

/// A block on a rope at the middle of its side: the rope sees `1/m + r²/I` = 2.5/kg and pulls with 4 N, which turn it
/// with 12 rad/s². Negative control: held at its centre it does not turn.
fn a_rope_pulls_at_the_anchor(backend: Backend) {
    for (arm, turning) in [(0.5, 0.2), (0.0, 0.0)] {
        let mut scene = world(10.0);
        let hook = scene.add(Body::fixed(-1.0, 0.0).shape(Shape::circle(0.1)));
        let hung = scene.add(block(1.0 - arm, 0.0));
        scene.join(Joint::new(rope(1.0), hook, hung).anchors([0.0, 0.0], [arm, 0.0]));
        let mut sim = backend.start(&scene);
        sim.advance(1);
        near("turns", sim.body(1).angular_velocity, turning, 0.005);
    }
}

/// A weight that swings at one end, and one at the other that balances its mean tension. The energy is off by the
/// steps' own error, a hundredth of that of the swing where steps have no substeps, and it does not grow: the last
/// quarter is not above the first. Negative control: kinetic energy alone swings by far more.
fn a_swinging_atwood_machine_gains_no_energy(backend: Backend) {
    let steps = if backend == Backend::Gpu { 60 } else { 1200 };
    for mode in MODES {
        let mut scene = machine([1.1, 1.0], 1.0, mode);
        scene.bodies[1].position = [4.0, 1.0].into();
        let mut sim = backend.start(&scene);
        let start = sim.metrics().total_energy;
        let (mut high, mut kinetic) = ([f64::MIN; 4], 0.0_f64);
        for step in 0..steps {
            let found = sim.advance(1).metrics();
            let quarter = &mut high[4 * step / steps];
            *quarter = quarter.max(found.total_energy - start);
            kinetic = kinetic.max(found.kinetic_energy);
        }
        between(&format!("{mode:?}: energy gained"), high.into_iter().fold(f64::MIN, f64::max), -1.0, 0.15);
        between(&format!("{mode:?}: energy gained since the first quarter"), high[3] - high[0], -1.0, 0.03);
        between(&format!("{mode:?}: kinetic energy"), kinetic, 1.0, 1e3);
    }
}

/// A is pulled up to its point and swings through it, until B hangs still: the rope is never longer than it was, and
/// nothing flies away. Negative control: a rope without a bound would let B fall by 20 m.
fn a_weight_stops_at_its_point(backend: Backend) {
    for mode in MODES {
        for depth in [0.0, 0.5] {
            let mut scene = machine([1.0, 3.0], 1.0, mode);
            scene.bodies[0].position.y = 5.0 - depth;
            let mut sim = backend.start(&scene);
            for _ in 0..8 {
                sim.advance(15);
                let name = |what: &str| format!("{mode:?}, {depth} m: {what}");
                between(&name("rope"), length(&mut sim, 1.0), 0.0, f64::from(5.0 + depth) + 0.1);
                between(&name("B"), sim.body(1).position[1], -f64::from(depth) - 0.1, 0.5);
            }
        }
    }
}

/// A pulley is a winch if its length changes. It breaks where it pulls B with more than its force allows: 15 N here.
fn a_rope_is_wound_and_breaks(backend: Backend) {
    let mut sim = backend.start(&machine([2.0, 2.0], 1.0, Mode::Soft));
    let id = sim.world().joint_id(0).unwrap();
    sim.world().command_joint(id, JointCommand::Length(9.0)).unwrap();
    sim.advance(60);
    near("wound", length(&mut sim, 1.0), 9.0, 0.02);
    let refused = sim.world().command_joint(id, JointCommand::Limits([0.0, 1.0]));
    assert!(refused.is_err(), "a pulley has no lower limit");

    for (force, is_broken) in [(14.0, true), (16.0, false)] {
        let mut scene = machine([3.0, 1.0], 1.0, Mode::Soft);
        scene.joints[0].break_force = Some(force);
        let mut sim = backend.start(&scene);
        sim.advance(30);
        assert_eq!(sim.joints()[0].broken, is_broken, "{force} N");
    }
}

/// A pulley that comes later has the length that its rope has then; a changed one keeps it. A restored world goes on to
/// the bit.
fn pulleys_are_added_changed_and_restored(backend: Backend) {
    let mut scene = machine([3.0, 1.0], 1.0, Mode::Soft);
    let pulley = scene.joints.pop().unwrap();
    let mut sim = backend.start(&scene);
    sim.advance(10);
    let before = length(&mut sim, 1.0);
    let id = sim.world().add_joints(std::slice::from_ref(&pulley)).unwrap()[0];
    sim.advance(10);
    near("added", length(&mut sim, 1.0), before, 0.02);
    let snapshot = sim.world().snapshot().unwrap();
    sim.advance(10);
    let end = sim.world().snapshot().unwrap();
    sim.world().restore(&snapshot).unwrap();
    sim.advance(10);
    assert_eq!(sim.world().snapshot().unwrap(), end);

    let kind =
        JointKind::Pulley { ground_a: [-1.0, 5.0].into(), ground_b: [1.0, 4.0].into(), ratio: 1.0, length: None };
    sim.world().replace_joint(id, &Joint { kind, ..pulley }).unwrap();
    sim.advance(30);
    near("one point lower", length(&mut sim, 1.0), before + 1.0, 0.03);
}
