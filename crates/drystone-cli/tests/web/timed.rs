//! Scenes with a timeline: their timed commands act in a page as in the library.

use drystone::low_level::CpuWorld;
use drystone::low_level::scene::{TimedAction, TimedCommand};
use drystone::{Body, Command, Joint, JointCommand, JointKind, Motor, Scene, Shape};
use glam::Vec2;

use crate::{OpenPage, apart};

/// Returns a scene in which gravity turns in a ramp, a box is pushed, a wheel on a motor speeds up, and a rod lets go.
fn timed_scene() -> Scene {
    let mut scene = Scene::new("timed");
    scene.settings.sleep = true;
    scene.add(Body::fixed(0.0, -1.0).shape(Shape::half_box(20.0, 1.0)));
    let pushed = scene.add(Body::dynamic(-4.0, 0.5).shape(Shape::half_box(0.5, 0.5)));
    scene.add(Body::dynamic(0.0, 0.5).shape(Shape::half_box(0.5, 0.5)));
    let wheel = scene.add(Body::dynamic(6.0, 3.0).shape(Shape::half_box(1.0, 0.2)));
    let hung = scene.add(Body::dynamic(-8.0, 4.0).shape(Shape::circle(0.4)));
    let motor = Some(Motor { speed: 0.0, max: 1000.0 });
    let hinge = JointKind::Revolute { limits: None, motor, spring: None, reference_angle: None };
    let turns = scene.join(Joint::to_world(hinge, wheel).anchors([6.0, 3.0], [0.0, 0.0]));
    let rod = JointKind::Distance { length: Some(2.0), limits: None, motor: None };
    let holds = scene.join(Joint::to_world(rod, hung).anchors([-8.0, 6.0], [0.0, 0.0]));
    let at = |step: u32, action| TimedCommand::at(f64::from(step) * f64::from(1.0_f32 / 60.0), action);
    let over = |time, command| TimedCommand { over: time, ..command };
    scene.timeline = vec![
        at(80, TimedAction::Body(pushed, Command::impulse([3.0, 1.0]))),
        over(0.25, at(60, TimedAction::Joint(turns, JointCommand::Motor { speed: 4.0, max: 1000.0 }))),
        at(70, TimedAction::Joint(holds, JointCommand::Enable(false))),
        // Long after all bodies sleep.
        over(0.5, at(150, TimedAction::Gravity(Vec2::new(4.0, -9.0)))),
        at(170, TimedAction::Body(pushed, Command::Force { force: Vec2::new(0.0, 20.0), point: None })),
    ];
    scene
}

#[test]
fn timed_commands_act_as_natively() {
    let scene = timed_scene();
    let mut open = OpenPage::new(&scene);
    let mut world = CpuWorld::new(&scene).unwrap();
    let mut without = CpuWorld::new(&Scene { timeline: Vec::new(), ..scene.clone() }).unwrap();
    for steps in [75, 65, 60] {
        open.step(steps);
        (0..steps).for_each(|_| world.step().unwrap());
        (0..steps).for_each(|_| without.step().unwrap());
        let poses = open.poses();
        let away = apart(&poses, world.poses());
        assert!(away < 2e-3, "after {} steps: {away} m", world.steps());
        // The wheel turns in place.
        let turned = poses[3][2] * world.poses()[3].rotation[0] + poses[3][3] * world.poses()[3].rotation[1];
        assert!(turned > 0.9999, "{turned}");
    }
    // Negative control.
    let away = apart(&open.poses(), without.poses());
    assert!(away > 1.0, "{away} m without the timeline");
    // From the start all of it acts again.
    open.browser.eval("drystone.restart().then(() => true)");
    open.step(200);
    let away = apart(&open.poses(), world.poses());
    assert!(away < 2e-3, "again: {away} m");
    open.check();
}
