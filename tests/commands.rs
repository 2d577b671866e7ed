//! Commands to bodies take effect in order, on every backend, and survive snapshots.

use crate::common::{Backend, near};
use drystone::low_level::gpu::kernel::Patch;
use drystone::low_level::{CpuWorld, GpuWorld, state};
use drystone::{AdapterChoice, Body, Command, CommandError, Context, Scene, Shape};
use glam::Vec2;

const BACKENDS: [Backend; 3] = [Backend::Cpu1, Backend::Cpu3, Backend::Gpu];

/// Returns a weightless scene: a wall, a box of 2 kg rotated by a right angle, and a pusher whose origin is off its
/// centre.
fn scene() -> Scene {
    let mut scene = Scene::new("commands").gravity(0.0, 0.0);
    scene.add(Body::fixed(0.0, -100.0).shape(Shape::half_box(1.0, 1.0)));
    let quarter = std::f32::consts::FRAC_PI_2;
    scene.add(Body::dynamic(3.0, 4.0).angle(quarter).shape(Shape::half_box(1.0, 0.25).density(2.0)));
    scene.add(Body::kinematic(-20.0, 0.0).shape(Shape::half_box(0.5, 0.5).offset(1.0, 0.0)));
    scene
}

fn context() -> Context {
    Context::new(AdapterChoice::Any).expect("an adapter; a software one will do")
}

/// Returns velocity and angular velocity of a body after the commands and one step.
fn after(backend: Backend, body: usize, commands: &[Command]) -> (Vec2, f32) {
    let mut world = backend.world(&scene());
    world.step().unwrap();
    for &command in commands {
        world.command(body, command).unwrap();
    }
    world.step().unwrap();
    let state = world.snapshot().unwrap().states[body];
    (state.velocity.into(), state.angular_velocity)
}

#[test]
fn an_impulse_changes_the_momentum() {
    for backend in BACKENDS {
        let (velocity, spin) = after(backend, 1, &[Command::Impulse { impulse: Vec2::new(6.0, -1.0), point: None }]);
        near("6 N·s on 2 kg", velocity.x, 3.0, 1e-6);
        near("−1 N·s on 2 kg", velocity.y, -0.5, 1e-6);
        near("through the centre", spin, 0.0, 1e-6);
        // At the end of the long axis, which points up: r = (0, 1), J = (6, 0), r × J = −6; I = 2·(4 + 0.25)/12.
        let push = Command::Impulse { impulse: Vec2::new(6.0, 0.0), point: Some(Vec2::new(1.0, 0.0)) };
        let (velocity, spin) = after(backend, 1, &[push]);
        near("as through the centre", velocity.x, 3.0, 1e-6);
        near("r × J / I", spin, -6.0 / (2.0 * 4.25 / 12.0), 2e-5);
        let (_, spin) = after(backend, 1, &[Command::AngularImpulse(1.0)]);
        near("1/I", spin, 12.0 / 8.5, 1e-5);
    }
}

#[test]
fn a_force_lasts_until_it_is_changed() {
    for backend in BACKENDS {
        let mut world = backend.world(&scene());
        world.command(1, Command::Force { force: Vec2::new(4.0, 0.0), point: None }).unwrap();
        world.command(1, Command::Torque(0.5)).unwrap();
        (0..30).for_each(|_| world.step().unwrap());
        world.command(1, Command::Force { force: Vec2::ZERO, point: None }).unwrap();
        world.command(1, Command::Torque(0.0)).unwrap();
        (0..30).for_each(|_| world.step().unwrap());
        let state = world.snapshot().unwrap().states[1];
        near("2 m/s² for half a second", state.velocity[0], 1.0, 1e-4);
        near("τ/I for half a second", state.angular_velocity, 0.25 * 12.0 / 8.5, 1e-4);
    }
}

#[test]
fn commands_of_a_body_keep_their_order() {
    let push = Command::Impulse { impulse: Vec2::new(2.0, 0.0), point: None };
    let set = Command::Velocity(Vec2::new(10.0, 0.0));
    for backend in BACKENDS {
        near("set, then pushed", after(backend, 1, &[set, push]).0.x, 11.0, 1e-5);
        near("pushed, then set", after(backend, 1, &[push, set]).0.x, 10.0, 1e-5);
        let spin = after(backend, 1, &[Command::AngularVelocity(2.0), Command::AngularImpulse(0.0)]).1;
        near("spun", spin, 2.0, 1e-6);
    }
}

#[test]
fn teleports_set_the_origin() {
    let quarter = std::f32::consts::FRAC_PI_2;
    for backend in BACKENDS {
        let mut world = backend.world(&scene());
        let there = Vec2::new(-8.0, 2.0);
        world.command(2, Command::Target { position: there.into(), angle: quarter / 3.0 }).unwrap();
        world.command(1, Command::Teleport { position: Vec2::new(50.0, 60.0).into(), angle: 1.0 }).unwrap();
        world.step().unwrap();
        let snapshot = world.snapshot().unwrap();
        let bodies = state::body_states(world.compiled(), &snapshot);
        near("teleported", bodies[1].position[0], 50.0, 1e-5);
        near("teleported", bodies[1].position[1], 60.0, 1e-5);
        near("turned", bodies[1].angle, 1.0, 1e-6);
        // 12 m in a step: only rounding errors are allowed.
        near("on target", bodies[2].position[0], -8.0, 2e-5);
        near("on target", bodies[2].position[1], 2.0, 2e-5);
        near("turned to the target", bodies[2].angle, f64::from(quarter) / 3.0, 2e-5);
    }
}

/// A pusher driven by targets pushes a box and stays exactly on its path.
#[test]
fn a_target_pushes_bodies_in_its_path() {
    let mut scene = Scene::new("pusher").gravity(0.0, -10.0);
    scene.add(Body::fixed(0.0, -1.0).shape(Shape::half_box(50.0, 1.0)));
    let pusher = scene.add(Body::kinematic(0.0, 0.6).shape(Shape::half_box(0.5, 0.5)));
    let cargo = scene.add(Body::dynamic(1.1, 0.5).shape(Shape::half_box(0.5, 0.5)));
    for backend in BACKENDS {
        let mut world = backend.world(&scene);
        for step in 1_u16..=120 {
            let position = Vec2::new(f32::from(step) / 60.0 * 3.0, 0.6);
            world.command(pusher, Command::Target { position: position.into(), angle: 0.0 }).unwrap();
            world.step().unwrap();
        }
        let snapshot = world.snapshot().unwrap();
        let bodies = state::body_states(world.compiled(), &snapshot);
        near("the pusher, after 2 s at 3 m/s", bodies[pusher].position[0], 6.0, 1e-4);
        near("the box in front of it", bodies[cargo].position[0], 7.0, 0.03);
        near("its speed", bodies[cargo].velocity[0], 3.0, 0.05);
    }
}

#[test]
fn invalid_commands_are_rejected_and_change_nothing() {
    for backend in BACKENDS {
        let mut world = backend.world(&scene());
        let before = world.snapshot().unwrap();
        let push = Command::Impulse { impulse: Vec2::X, point: None };
        let error = world.command(3, push).unwrap_err();
        assert_eq!(error.to_string(), "there is no body 3; the world has 3 slots");
        let error = world.command(0, push).unwrap_err();
        assert_eq!(error.to_string(), "body 0 is static; expected dynamic");
        let error = world.command(1, Command::Target { position: Vec2::ZERO.into(), angle: 0.0 }).unwrap_err();
        assert_eq!(error.to_string(), "body 1 is dynamic; expected kinematic");
        for (command, message) in [
            (
                Command::Velocity(Vec2::new(0.0, f32::NAN)),
                "the velocity is NaN; expected a number of at most 1e15 in size",
            ),
            (Command::Torque(f32::INFINITY), "the torque is inf; expected a number of at most 1e15 in size"),
            (
                Command::Teleport { position: Vec2::new(1e8, 0.0).into(), angle: 0.0 },
                "the position is 100000000; expected a number within 10,000 km of (0, 0)",
            ),
            (
                Command::Teleport { position: Vec2::ZERO.into(), angle: -2e5 },
                "the angle is -200000; expected a number within 100,000 rad of 0",
            ),
            (
                Command::Teleport { position: Vec2::ZERO.into(), angle: f32::NAN },
                "the angle is NaN; expected a number within 100,000 rad of 0",
            ),
        ] {
            let error: CommandError = world.command(1, command).unwrap_err();
            assert_eq!(error.to_string(), message);
        }
        assert_eq!(world.snapshot().unwrap(), before);
    }
}

/// Pending commands and changed forces are part of a snapshot, and move to the other backend with it.
#[test]
fn a_snapshot_keeps_pending_commands() {
    let context = context();
    let mut first = GpuWorld::new(&context, &scene()).unwrap();
    first.command(1, Command::Force { force: Vec2::new(1.0, 2.0), point: Some(Vec2::new(0.5, 0.0)) }).unwrap();
    first.step().unwrap();
    first.command(1, Command::Impulse { impulse: Vec2::new(0.3, 0.7), point: None }).unwrap();
    let kept = first.snapshot().unwrap();
    let mut second = GpuWorld::new(&context, &scene()).unwrap();
    second.restore(&kept).unwrap();
    let mut cpu = CpuWorld::new(&scene()).unwrap();
    cpu.restore(&kept).unwrap();
    for _ in 0..20 {
        first.step().unwrap();
        second.step().unwrap();
        cpu.step().unwrap();
    }
    let (first, second) = (first.snapshot().unwrap(), second.snapshot().unwrap());
    assert_eq!(state::hash(&first), state::hash(&second));
    assert_eq!(first, second);
    let cpu = cpu.snapshot();
    for (gpu, cpu) in first.states[1].velocity.iter().zip(cpu.states[1].velocity) {
        near("velocity on either backend", *gpu, f64::from(cpu), 1e-4);
    }
    let mut foreign = kept;
    foreign.commands[0].body = 3;
    let error = CpuWorld::new(&scene()).unwrap().restore(&foreign).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the snapshot does not belong to this world: index of a body, below the expected number: found 3, expected 3"
    );
}

/// A step that is repeated after a buffer overflow applies commands exactly once.
#[test]
fn a_repeated_step_applies_commands_once() {
    let mut scene = scene();
    scene.settings.strict = true;
    for column in 0_u8..20 {
        scene.add(Body::dynamic(f32::from(column) * 0.9, 20.0).shape(Shape::circle(0.5)));
    }
    let compiled = drystone::low_level::scene::Compiled::new(&scene).unwrap();
    let mut world = GpuWorld::from_compiled(&context(), compiled, Some(2)).unwrap();
    world.command(1, Command::Impulse { impulse: Vec2::new(6.0, 0.0), point: None }).unwrap();
    world.step().unwrap();
    assert!(world.contact_capacity() > 2, "the step did not outgrow its buffers, so the test has no effect");
    near("6 N·s on 2 kg", world.snapshot().unwrap().states[1].velocity[0], 3.0, 1e-6);
}

/// Negative control: the tests above detect a shader that ignores every impulse.
#[test]
fn a_wrong_command_shader_is_detected() {
    let patch = Patch {
        shader: "command",
        from: "states[body].velocity += value * bodies[body].inv_mass;",
        to: "states[body].velocity += value * 0.0;",
    };
    let mut world = GpuWorld::patched(&context(), &scene(), &[patch]).unwrap();
    world.command(1, Command::Impulse { impulse: Vec2::new(6.0, 0.0), point: None }).unwrap();
    world.step().unwrap();
    let velocity = world.snapshot().unwrap().states[1].velocity[0];
    assert!((velocity - 3.0).abs() > 1.0, "the fault was not noticed: {velocity} m/s");
}
