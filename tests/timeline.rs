//! Timed commands of a scene: what they do by formula, the step at which they act, that they are the same as commands
//! given by hand at those steps, on every backend and after a snapshot was restored.

use crate::support::{context, cpu, gpu, gpu_with, hash_of, on_all};
use drystone::low_level::scene::{StartCondition, TimedAction, TimedCommand};
use drystone::low_level::{CpuWorld, GpuWorld, state};
use drystone::{Body, BodyId, Command, Joint, JointCommand, JointKind, Motor, Scene, Shape, World, WorldBatch};
use glam::Vec2;

const DT: f32 = 1.0 / 60.0;

fn run(world: &mut World, until: u64) {
    while world.steps() < until {
        world.step().unwrap();
    }
}

fn velocity(world: &mut World, body: usize) -> Vec2 {
    world.snapshot().unwrap().states[body].velocity.into()
}

fn gravity(x: f32, y: f32) -> TimedAction {
    TimedAction::Gravity(Vec2::new(x, y))
}

fn ramp(at: f64, over: f64, action: TimedAction) -> TimedCommand {
    TimedCommand { over, ..TimedCommand::at(at, action) }
}

/// A ball in empty space.
fn ball() -> Scene {
    let mut scene = Scene::new("ball").gravity(0.0, 0.0);
    scene.add(Body::dynamic(0.0, 0.0).shape(Shape::circle(0.5)));
    scene
}

/// Gravity grows from 0 to g over a time T: the velocity is the integral, g·t²/2T, at the end of each step.
#[test]
fn ramped_gravity_gives_the_integrated_velocity() {
    let mut scene = ball();
    scene.timeline = vec![ramp(0.5, 1.0, gravity(3.0, -10.0))];
    let mut sudden = scene.clone();
    sudden.timeline[0].over = 0.0;
    for (name, mut world) in on_all(&scene) {
        for step in [29_u16, 30, 31, 45, 60, 90, 120] {
            run(&mut world, step.into());
            let t = f32::from(step) * DT - 0.5;
            let share = if t <= 0.0 { 0.0 } else { 0.5 * t.min(1.0).powi(2) + (t - 1.0).max(0.0) };
            let (found, expected) = (velocity(&mut world, 0), Vec2::new(3.0, -10.0) * share);
            assert!((found - expected).length() < 2e-5, "{name}, step {step}: {found}, expected {expected}");
        }
    }
    // The control: at once it is twice as fast at the end of the ramp.
    let mut world = World::from(cpu(&sudden));
    run(&mut world, 90);
    assert!((velocity(&mut world, 0).y + 10.0).abs() < 1e-4);
}

/// A ramp begins at the value that the command before has reached, and ends that one.
#[test]
fn a_later_ramp_continues_from_the_earlier_one() {
    let mut scene = ball();
    // Half of the first ramp: from 0 to −5; then to 10 within half a second.
    scene.timeline = vec![ramp(0.0, 2.0, gravity(0.0, -10.0)), ramp(1.0, 0.5, gravity(0.0, 10.0))];
    let mut world = World::from(cpu(&scene));
    run(&mut world, 60);
    assert!((velocity(&mut world, 0).y + 2.5).abs() < 2e-5);
    run(&mut world, 90);
    // ∫ from −5 to 10 in 0.5 s = 1.25 m/s.
    assert!((velocity(&mut world, 0).y + 1.25).abs() < 2e-5, "{}", velocity(&mut world, 0));
    run(&mut world, 150);
    assert!((velocity(&mut world, 0).y - 8.75).abs() < 2e-4, "{}", velocity(&mut world, 0));
}

/// A force that grows to F over T gives the momentum F·T/2, a torque τ·T/2.
#[test]
fn ramps_of_forces_and_torques_give_their_impulse() {
    let mut scene = ball();
    scene.timeline = vec![
        ramp(0.0, 1.0, TimedAction::Body(0, Command::force([4.0, 0.0]))),
        ramp(0.0, 1.0, TimedAction::Body(0, Command::Torque(0.5))),
        TimedCommand::at(1.0, TimedAction::Body(0, Command::force([0.0, 0.0]))),
        TimedCommand::at(1.0, TimedAction::Body(0, Command::Torque(0.0))),
    ];
    for (name, mut world) in on_all(&scene) {
        run(&mut world, 100);
        let mass = f64::from(world.compiled().mass[0].mass);
        let inertia = f64::from(world.compiled().mass[0].inertia);
        let now = world.snapshot().unwrap().states[0];
        assert!((f64::from(now.velocity[0]) * mass - 2.0).abs() < 1e-4, "{name}: {now:?}");
        assert!((f64::from(now.angular_velocity) * inertia - 0.25).abs() < 1e-4, "{name}: {now:?}");
    }
}

/// A ball that hangs on a pin.
fn pinned() -> Scene {
    let mut scene = Scene::new("pinned").gravity(0.0, -10.0);
    scene.add(Body::dynamic(0.0, 0.0).id("ball").shape(Shape::circle(0.5)));
    let pin = scene.join(Joint::to_world(JointKind::hinge(), 0).anchors([0.0, 1.0], [0.0, 1.0]).id("pin"));
    let gone = TimedAction::Remove { bodies: Vec::new(), joints: vec![pin] };
    scene.timeline = vec![TimedCommand::at(1.0, gone)];
    scene
}

/// The pin is gone at 1 s: step 60, counted from 0, is the first of the free fall.
#[test]
fn free_fall_begins_in_the_step_in_which_the_pin_is_removed() {
    for (name, mut world) in on_all(&pinned()) {
        run(&mut world, 60);
        assert!(velocity(&mut world, 0).length() < 1e-3, "{name}: it hangs for a second");
        assert_eq!(world.compiled().joints.count(), 1, "{name}");
        let before = velocity(&mut world, 0);
        for step in 1..=30_u8 {
            world.step().unwrap();
            let fallen = velocity(&mut world, 0) - before;
            let expected = -10.0 * DT * f32::from(step);
            assert!((fallen.y - expected).abs() < 1e-4, "{name}, {step} steps later: {fallen}, expected {expected}");
        }
        assert_eq!(world.compiled().joints.count(), 0, "{name}");
    }
    // The control: without the command it hangs on.
    let mut world = World::from(cpu(&Scene { timeline: Vec::new(), ..pinned() }));
    run(&mut world, 90);
    assert!(velocity(&mut world, 0).length() < 1e-3);
}

#[test]
fn a_motor_follows_its_ramp() {
    let mut scene = Scene::new("wheel").gravity(0.0, 0.0);
    scene.add(Body::dynamic(0.0, 0.0).shape(Shape::circle(0.5)));
    let motor = Motor { speed: 0.0, max: 1e4 };
    let kind = JointKind::Revolute { reference_angle: None, limits: None, motor: Some(motor), spring: None };
    scene.join(Joint::to_world(kind, 0));
    let faster = TimedAction::Joint(0, JointCommand::Motor { speed: 6.0, max: 1e4 });
    scene.timeline = vec![ramp(0.5, 1.0, faster)];
    for (name, mut world) in on_all(&scene) {
        for (step, expected) in [(30_u64, 0.0), (60, 3.0), (90, 6.0), (100, 6.0)] {
            run(&mut world, step);
            let spin = world.snapshot().unwrap().states[0].angular_velocity;
            // The value of a step is that at its middle, so that it is half a step behind: 0.05 rad/s.
            assert!((spin - expected).abs() < 0.051, "{name}, step {step}: {spin}, expected {expected}");
        }
    }
}

/// A scene with a stack, a wall and a pendulum, and a command of each kind.
fn busy(sleep: bool) -> Scene {
    let mut scene = Scene::new("busy").gravity(0.0, -10.0);
    scene.settings.sleep = sleep;
    scene.add(Body::fixed(0.0, -0.5).shape(Shape::half_box(20.0, 0.5)));
    for row in 0..4_u8 {
        scene.add(Body::dynamic(0.0, 0.5 + f32::from(row)).shape(Shape::half_box(0.5, 0.5)));
    }
    let wall = scene.add(Body::fixed(0.75, 2.0).id("wall").shape(Shape::half_box(0.25, 2.0)));
    let bob = scene.add(Body::dynamic(-6.0, 4.0).id("bob").shape(Shape::circle(0.4)));
    let pin = scene.join(Joint::to_world(JointKind::hinge(), bob).anchors([-5.0, 4.0], [1.0, 0.0]));
    scene.timeline = vec![
        ramp(0.25, 0.5, gravity(4.0, -8.0)),
        TimedCommand::at(0.4, TimedAction::Body(bob, Command::impulse([0.5, 0.25]))),
        TimedCommand::at(0.5, TimedAction::Remove { bodies: vec![wall], joints: vec![] }),
        TimedCommand::at(0.6, TimedAction::Remove { bodies: vec![], joints: vec![pin] }),
        TimedCommand::at(0.9, gravity(0.0, -10.0)),
    ];
    scene
}

/// Gives the commands of [`busy`] by hand, before a step.
fn by_hand(world: &mut World, step: u64) {
    let body = |index| BodyId { index, generation: 0 };
    if (15..=45).contains(&step) {
        #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "a few steps")]
        let share = ((step as f64 + 0.5 - 15.0) / 30.0).min(1.0);
        #[allow(clippy::cast_possible_truncation, reason = "rounded to f32 on purpose")]
        let blend = |from: f64, to: f64| if share < 1.0 { (from + (to - from) * share) as f32 } else { to as f32 };
        world.set_gravity(Vec2::new(blend(0.0, 4.0), blend(-10.0, -8.0))).unwrap();
    }
    match step {
        24 => world.command(body(6), Command::impulse([0.5, 0.25])).unwrap(),
        30 => world.remove_bodies(&[body(5)]).unwrap(),
        36 => world.remove_joints(&[world.joint_id(0).unwrap()]).unwrap(),
        54 => world.set_gravity(Vec2::new(0.0, -10.0)).unwrap(),
        _ => {}
    }
}

#[test]
fn timed_commands_equal_those_by_hand() {
    for sleep in [false, true] {
        let scene = busy(sleep);
        let bare = Scene { timeline: Vec::new(), ..scene.clone() };
        let mut differs = false;
        for ((name, mut timed), (_, mut hand)) in on_all(&scene).into_iter().zip(on_all(&bare)) {
            let mut idle = World::from(cpu(&bare));
            for step in 0..90 {
                timed.step().unwrap();
                by_hand(&mut hand, step);
                hand.step().unwrap();
                idle.step().unwrap();
                assert_eq!(hash_of(&mut timed), hash_of(&mut hand), "{name}, sleep {sleep}, step {step}");
            }
            differs |= hash_of(&mut timed) != hash_of(&mut idle);
        }
        assert!(differs, "the commands change something");
    }
}

#[test]
fn batches_have_the_bits_of_single_worlds() {
    let scene = busy(false);
    let later = Scene {
        timeline: scene
            .timeline
            .iter()
            .map(|command| TimedCommand { at: command.at + 0.1, ..command.clone() })
            .collect(),
        ..scene.clone()
    };
    let scenes = [scene, later.clone(), Scene { timeline: Vec::new(), ..later }];
    let gpu_alone = |scene: &Scene| World::from(gpu(scene));
    let cpu_alone = |scene: &Scene| World::from(cpu(scene));
    let on_gpu = WorldBatch::on_gpu(context(), &scenes).unwrap();
    let on_cpu = WorldBatch::on_cpu(&scenes, 2).unwrap();
    for (mut batch, alone) in [(on_cpu, &cpu_alone as &dyn Fn(&Scene) -> World), (on_gpu, &gpu_alone)] {
        let mut alone: Vec<World> = scenes.iter().map(alone).collect();
        for step in 0..70 {
            batch.step().unwrap();
            for world in &mut alone {
                world.step().unwrap();
            }
            if step % 7 == 0 || step == 69 {
                let hashes: Vec<u64> = alone.iter_mut().map(hash_of).collect();
                assert_eq!(batch.hashes().unwrap(), hashes, "step {step}");
            }
        }
        let ended = batch.hashes().unwrap();
        assert!(ended[0] != ended[1] && ended[1] != ended[2], "each has its own timeline");
        // To the start, and the same again.
        batch.reset(&[0, 1]).unwrap();
        for _ in 0..70 {
            batch.step_some(&[0, 1]).unwrap();
        }
        assert_eq!(batch.hashes().unwrap(), ended);
    }
}

/// From every tenth step on to the same bits: in the world itself, and from bytes in a new one.
#[test]
fn snapshots_continue_to_the_same_bits() {
    let mut waiting = busy(true);
    waiting.timeline.push(TimedCommand {
        at: 1.0,
        ..TimedCommand::when(StartCondition::SpeedBelow(4.0), TimedAction::Body(1, Command::impulse([0.0, 6.0])))
    });
    for scene in [busy(false), waiting] {
        for (name, mut world) in on_all(&scene) {
            let mut moments = Vec::new();
            while world.steps() < 100 {
                if world.steps().is_multiple_of(10) {
                    moments.push((world.snapshot().unwrap(), world.save().unwrap()));
                }
                world.step().unwrap();
            }
            let end = hash_of(&mut world);
            for (moment, bytes) in moments.iter().rev() {
                world.restore(moment).unwrap();
                assert_eq!(&world.snapshot().unwrap(), moment, "{name}");
                run(&mut world, 100);
                assert_eq!(hash_of(&mut world), end, "{name}, from step {}", moment.step);
                let mut other = if name == "gpu" { World::from(gpu(&scene)) } else { World::from(cpu(&scene)) };
                other.load(bytes).unwrap();
                run(&mut other, 100);
                assert_eq!(hash_of(&mut other), end, "{name}, from bytes of step {}", moment.step);
            }
        }
    }
}

/// Strict mode repeats steps that outgrow a buffer, with the commands of that step.
#[test]
fn repeated_steps_act_once() {
    let mut scene = busy(false);
    scene.settings.strict = true;
    let mut small = gpu_with(&scene, 1);
    let mut roomy = gpu(&scene);
    for _ in 0..60 {
        small.step().unwrap();
        roomy.step().unwrap();
    }
    assert_eq!(state::hash(&GpuWorld::snapshot(&mut small).unwrap()), state::hash(&roomy.snapshot().unwrap()));
}

/// A ball falls on a floor, which goes once the ball has come to rest, half a second after the start at the earliest.
fn trapdoor() -> Scene {
    let mut scene = Scene::new("trapdoor").gravity(0.0, -10.0);
    let floor = scene.add(Body::fixed(0.0, -0.5).shape(Shape::half_box(20.0, 0.5)));
    scene.add(Body::dynamic(0.0, 1.5).shape(Shape::circle(0.5)));
    let open = TimedAction::Remove { bodies: vec![floor], joints: vec![] };
    scene.timeline = vec![TimedCommand { at: 0.25, ..TimedCommand::when(StartCondition::SpeedBelow(0.01), open) }];
    scene
}

/// The step is found by a world without commands, in which the speed is read after every step.
#[test]
fn a_condition_acts_in_the_first_step_after_it_holds() {
    let scene = trapdoor();
    let bare = Scene { timeline: Vec::new(), ..scene.clone() };
    for ((name, mut world), (_, mut watched)) in on_all(&scene).into_iter().zip(on_all(&bare)) {
        while watched.steps() < 15 || watched.max_speed().unwrap() >= 0.01 {
            watched.step().unwrap();
        }
        assert!(watched.steps() > 20, "{name}: it has to fall first");
        run(&mut world, watched.steps());
        assert_eq!(hash_of(&mut world), hash_of(&mut watched), "{name}: nothing has acted yet");
        let before = velocity(&mut world, 1).y;
        world.step().unwrap();
        let gained = velocity(&mut world, 1).y - before;
        assert!((gained + 10.0 * DT).abs() < 1e-5, "{name}: {gained}");
        run(&mut world, watched.steps() + 30);
        assert!(velocity(&mut world, 1).y < -4.9, "{name}");
    }
    let mut batch = WorldBatch::on_gpu(context(), &[scene.clone(), bare]).unwrap();
    for _ in 0..120 {
        batch.step().unwrap();
    }
    let mut alone = World::from(gpu(&scene));
    run(&mut alone, 120);
    assert_eq!(batch.hashes().unwrap()[0], hash_of(&mut alone));
}

#[test]
fn a_number_of_bodies_is_a_condition() {
    let mut scene = ball();
    scene.emit(drystone::Emitter::new([Body::dynamic(5.0, 0.0).shape(Shape::circle(0.1))]).every(10).count(4));
    scene.timeline = vec![TimedCommand::when(StartCondition::Bodies(4), gravity(0.0, -6.0))];
    for (name, mut world) in on_all(&scene) {
        // The third batch comes before step 20, so that there are four bodies before step 21.
        run(&mut world, 21);
        assert_eq!(velocity(&mut world, 0), Vec2::ZERO, "{name}");
        run(&mut world, 22);
        assert!((velocity(&mut world, 0).y + 0.1).abs() < 1e-6, "{name}");
    }
}

#[test]
fn commands_to_bodies_that_are_gone_do_nothing() {
    let mut scene = ball();
    scene.add(Body::dynamic(5.0, 0.0).shape(Shape::circle(0.5)));
    scene.timeline = vec![
        TimedCommand::at(0.2, TimedAction::Body(0, Command::impulse([1.0, 0.0]))),
        TimedCommand::at(0.3, TimedAction::Remove { bodies: vec![0, 1], joints: vec![] }),
    ];
    let mut world = World::from(cpu(&scene));
    world.remove_bodies(&[BodyId { index: 0, generation: 0 }]).unwrap();
    run(&mut world, 3);
    // Another body has the slot, and is none of the scene's.
    let other = world.add_bodies(&[Body::dynamic(0.0, 0.0).shape(Shape::circle(0.5))]).unwrap()[0];
    assert_eq!(other.index, 0);
    run(&mut world, 30);
    assert_eq!(velocity(&mut world, 0), Vec2::ZERO);
    assert!(world.contains(other) && world.body_id(1).is_none());
}

#[test]
fn mistakes_name_their_place() {
    let with = |command: TimedCommand| {
        let mut scene = pinned();
        scene.add(Body::fixed(9.0, 9.0).shape(Shape::circle(0.5)));
        scene.timeline.push(command);
        CpuWorld::new(&scene).map(drop).unwrap_err().to_string()
    };
    let joint = |command| TimedCommand::at(0.0, TimedAction::Joint(0, command));
    for (command, expected) in [
        (TimedCommand::at(-1.0, gravity(0.0, 0.0)), "timeline[1].at: is -1; expected a time from 0 to 1e9 s"),
        (TimedCommand::at(f64::NAN, gravity(0.0, 0.0)), "timeline[1].at: is NaN"),
        (TimedCommand::at(0.0, gravity(0.0, f32::NAN)), "timeline[1].gravity[1]: is not a number"),
        (
            TimedCommand::at(0.0, TimedAction::Body(1, Command::force([1.0, 0.0]))),
            "timeline[1].force: is for a body that is static; expected one that is dynamic",
        ),
        (TimedCommand::at(0.0, TimedAction::Body(7, Command::Torque(1.0))), "timeline[1].body: refers to number 7"),
        (
            joint(JointCommand::Motor { speed: 1.0, max: 1.0 }),
            "timeline[1].motor: is for a joint of type revolute; expected a joint with a motor",
        ),
        (
            ramp(0.0, 1.0, TimedAction::Body(0, Command::impulse([1.0, 0.0]))),
            "timeline[1].over: makes a ramp of `impulse`",
        ),
        (ramp(0.0, 1e6, gravity(0.0, 0.0)), "timeline[1].over: brings the steps of all ramps to"),
        (
            TimedCommand::at(0.0, TimedAction::Remove { bodies: vec![0, 0], joints: vec![] }),
            "timeline[1].remove.bodies[1]: is given twice",
        ),
        (
            TimedCommand::when(StartCondition::SpeedBelow(0.0), gravity(0.0, 0.0)),
            "timeline[1].when.speed_below: is 0; expected a speed above 0",
        ),
    ] {
        let error = with(command);
        assert!(error.contains(expected), "{error:?}, expected {expected:?}");
    }
    assert!(CpuWorld::new(&pinned()).is_ok(), "the control");
}
