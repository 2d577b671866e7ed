//! Events: begin and end of contacts, and sensor overlaps; equal on every backend, and none is lost.

use crate::support::{context, cpu, gpu, pile};
use drystone::low_level::gpu::kernel::Patch;
use drystone::low_level::step::Stage;
use drystone::low_level::types::NONE;
use drystone::low_level::{GpuWorld, state};
use drystone::{
    Body, BodyType, Command, Event, EventKind, Filter, Joint, JointKind, Property, Scene, Shape, ShapeProperty, World,
};
use drystone_validate::{ValidationOptions, compare, validate};
use glam::Vec2;

fn floor() -> Scene {
    let mut scene = Scene::new("events").gravity(0.0, -10.0);
    scene.settings.events = true;
    scene.add(Body::fixed(0.0, -0.5).shape(Shape::half_box(200.0, 0.5)));
    scene
}

fn worlds(scene: &Scene) -> Vec<(&'static str, World)> {
    vec![
        ("cpu", cpu(scene).into()),
        ("3 threads", cpu(scene).with_threads(3).unwrap().with_sharing_from(0).into()),
        ("gpu", gpu(scene).into()),
    ]
}

/// Runs some steps and returns all their events.
fn run(world: &mut World, steps: usize) -> Vec<Event> {
    (0..steps).for_each(|_| world.step().unwrap());
    world.wait().unwrap();
    world.take_events().unwrap()
}

fn kinds(events: &[Event]) -> Vec<EventKind> {
    events.iter().map(|event| event.kind).collect()
}

#[test]
fn a_box_that_lands_begins_to_touch_once() {
    let mut scene = floor();
    let falling = scene.add(Body::dynamic(3.0, 5.5).shape(Shape::half_box(0.5, 0.5)));
    for (name, mut world) in worlds(&scene) {
        let events = run(&mut world, 180);
        assert_eq!(kinds(&events), [EventKind::Begin], "{name}");
        let event = events[0];
        // The smaller shape index comes first.
        assert_eq!(event.bodies, [1, 0], "{name}");
        // From 5 m: 10 m/s after 1 s. The event is reported in the step before, up to 1/6 m above the floor.
        assert!((event.approach_speed - 10.0).abs() < 0.2, "{name}: {} m/s", event.approach_speed);
        assert!((58..=60).contains(&event.step), "{name}: step {}", event.step);
        assert!((event.point[0] - 3.0).abs() < 0.51 && event.point[1].abs() < 0.02, "{name}: at {:?}", event.point);
        assert!((event.normal[1] + 1.0).abs() < 1e-4, "{name}: {:?}", event.normal);
        assert!(event.is_hit(9.0) && !event.is_hit(11.0), "{name}");
        // At rest there are no events; removal ends the contact.
        assert_eq!(run(&mut world, 60), [], "{name}");
        world.command(falling, Command::Teleport { position: Vec2::new(3.0, 9.0).into(), angle: 0.0 }).unwrap();
        let events = run(&mut world, 1);
        assert_eq!(kinds(&events), [EventKind::End], "{name}");
        assert_eq!((events[0].bodies, events[0].step), ([1, 0], 240), "{name}");
    }
}

#[test]
fn a_sensor_reports_and_does_not_collide() {
    let drop = |sensor: bool| {
        let mut scene = floor();
        if sensor {
            scene.add(Body::fixed(0.0, 5.0).shape(Shape::half_box(2.0, 0.5).sensor()));
        } else {
            scene.add(Body::fixed(100.0, 5.0).shape(Shape::half_box(2.0, 0.5)));
        }
        scene.add(Body::dynamic(0.0, 8.0).shape(Shape::circle(0.25)));
        scene
    };
    for ((name, mut sensed), (_, mut free)) in worlds(&drop(true)).into_iter().zip(worlds(&drop(false))) {
        let events = run(&mut sensed, 120);
        assert_eq!(kinds(&events), [EventKind::SensorBegin, EventKind::SensorEnd, EventKind::Begin], "{name}");
        // The ball's edge is 2.25 m above the sensor's, and 3.75 m above where it has left it.
        for (event, way) in events.iter().zip([2.25_f32, 3.75]) {
            let due = (2.0 * way / 10.0).sqrt() * 60.0;
            #[allow(clippy::cast_precision_loss, reason = "a small number of steps")]
            let step = event.step as f32;
            assert!((step - due).abs() < 1.6, "{name}: step {step}, expected about {due}");
        }
        run(&mut free, 120);
        let last = |world: &mut World| world.snapshot().unwrap().poses[2];
        assert_eq!(last(&mut sensed), last(&mut free), "{name}: the sensor changed the motion");
    }
}

/// Sensors of static, kinematic and dynamic bodies notice bodies of all three kinds, also ones that slept; their events
/// name the sensor first.
#[test]
fn sensors_notice_visitors_of_every_kind() {
    let body = |kind: usize, x: f32, y: f32| match kind {
        0 => Body::fixed(x, y),
        1 => Body::kinematic(x, y),
        _ => Body::dynamic(x, y),
    };
    let build = |sleep: bool, is_sensor: bool| {
        let mut scene = Scene::new("visitors").gravity(0.0, 0.0);
        (scene.settings.events, scene.settings.sleep) = (true, sleep);
        for place in 0..9 {
            let x = 20.0 * place as f32;
            let zone = Shape::half_box(1.0, 1.0);
            scene.add(body(place / 3, x, 0.0).shape(if is_sensor { zone.sensor() } else { zone }));
            scene.add(body(place % 3, x, 5.0).shape(Shape::circle(0.4)));
        }
        scene
    };
    let all: Vec<[u32; 2]> = (0..9).map(|place| [2 * place, 2 * place + 1]).collect();
    for sleep in [false, true] {
        let scene = build(sleep, true);
        for ((name, mut world), (_, mut solid)) in worlds(&scene).into_iter().zip(worlds(&build(sleep, false))) {
            let move_to = |world: &mut World, y: f32| {
                for place in 0..9 {
                    let (id, x) = (world.body_id(2 * place + 1).unwrap(), 20.0 * place as f32);
                    world.command(id, Command::Teleport { position: Vec2::new(x, y).into(), angle: 0.0 }).unwrap();
                }
            };
            let pairs = |events: &[Event], kind: EventKind| {
                assert!(events.iter().all(|event| event.kind == kind), "{name}, sleep {sleep}: {events:?}");
                let mut pairs: Vec<_> = events.iter().map(|event| event.bodies).collect();
                pairs.sort_unstable();
                pairs
            };
            assert_eq!(run(&mut world, 40), [], "{name}, sleep {sleep}");
            move_to(&mut world, 0.0);
            assert_eq!(pairs(&run(&mut world, 2), EventKind::SensorBegin), all, "{name}, sleep {sleep}");
            assert_eq!(run(&mut world, 40), [], "{name}, sleep {sleep}");
            move_to(&mut world, 5.0);
            assert_eq!(pairs(&run(&mut world, 2), EventKind::SensorEnd), all, "{name}, sleep {sleep}");
            // Control: of shapes that are no sensors, the four pairs without a dynamic body have no contact.
            run(&mut solid, 40);
            move_to(&mut solid, 0.0);
            assert_eq!(pairs(&run(&mut solid, 1), EventKind::Begin).len(), 5, "{name}, sleep {sleep}");
        }
    }
}

/// A platform that enters a region that sleeps is noticed as it comes and as it goes; while it rests inside no event is
/// sent.
#[test]
fn a_kinematic_body_passes_through_a_static_sensor() {
    let mut scene = Scene::new("passage");
    (scene.settings.events, scene.settings.sleep) = (true, true);
    scene.add(Body::fixed(0.0, 0.0).shape(Shape::half_box(1.0, 1.0).sensor()));
    scene.add(Body::kinematic(-4.0, 0.0).shape(Shape::half_box(0.5, 0.25)));
    for (name, mut world) in worlds(&scene) {
        let platform = world.body_id(1).unwrap();
        let go = |world: &mut World, speed: f32| {
            world.command(platform, Command::Velocity(Vec2::new(speed, 0.0))).unwrap();
        };
        assert_eq!(run(&mut world, 40), [], "{name}");
        // Its edge is 2.5 m away, and 3 m later it has left.
        go(&mut world, 6.0);
        let events = run(&mut world, 40);
        assert_eq!(kinds(&events), [EventKind::SensorBegin], "{name}");
        assert!(events[0].step.abs_diff(40 + 25) <= 1, "{name}: step {}", events[0].step);
        go(&mut world, 0.0);
        assert_eq!(run(&mut world, 60), [], "{name}: at rest inside");
        go(&mut world, 6.0);
        assert_eq!(kinds(&run(&mut world, 30)), [EventKind::SensorEnd], "{name}");
    }
}

#[test]
fn removing_a_body_ends_its_contacts() {
    let mut scene = floor();
    scene.add(Body::dynamic(0.0, 0.5).shape(Shape::half_box(0.5, 0.5)));
    for (name, mut world) in worlds(&scene) {
        assert_eq!(kinds(&run(&mut world, 30)), [EventKind::Begin], "{name}");
        let id = world.body_id(1).unwrap();
        world.remove_bodies(&[id]).unwrap();
        let events = run(&mut world, 2);
        assert_eq!((kinds(&events), events[0].bodies), (vec![EventKind::End], [1, 0]), "{name}");
    }
}

#[test]
fn events_are_off_by_default() {
    let mut scene = floor();
    scene.settings.events = false;
    scene.add(Body::dynamic(0.0, 0.5).shape(Shape::half_box(0.5, 0.5)));
    for (name, mut world) in worlds(&scene) {
        assert_eq!(run(&mut world, 30), [], "{name}");
    }
    // Enabling events changes nothing else.
    let (mut silent, mut reporting) = (pile(7, 60), pile(7, 60));
    (silent.settings.events, reporting.settings.events) = (false, true);
    for ((name, mut silent), (_, mut reporting)) in worlds(&silent).into_iter().zip(worlds(&reporting)) {
        run(&mut silent, 60);
        assert!(run(&mut reporting, 60).len() > 60, "{name}: a pile falls without touching");
        let hash = |world: &mut World| state::hash(&world.snapshot().unwrap());
        assert_eq!(hash(&mut silent), hash(&mut reporting), "{name}");
    }
}

/// Every event is true, and none is missing: touching pairs are those that began and did not end.
#[test]
fn begin_and_end_events_balance() {
    let mut scene = pile(11, 120);
    scene.settings.events = true;
    for (name, mut world) in worlds(&scene) {
        let mut touching = std::collections::BTreeSet::new();
        for step in 0..150_u64 {
            let events = run(&mut world, 1);
            assert!(events.iter().all(|event| event.step == step), "{name}");
            for event in events {
                let fresh = match event.kind {
                    EventKind::Begin => touching.insert(event.shapes),
                    _ => touching.remove(&event.shapes),
                };
                assert!(fresh, "{name}, step {step}: {event:?} is reported twice");
            }
            let snapshot = world.snapshot().unwrap();
            let there = snapshot.contacts.iter().filter(|contact| contact.flags & 3 != 0);
            let there: std::collections::BTreeSet<_> =
                there.map(|contact| [contact.shape_a, contact.shape_b]).collect();
            assert_eq!(touching, there, "{name}, step {step}");
        }
        assert!(touching.len() > 100, "{name}: {} pairs", touching.len());
    }
}

#[test]
fn threads_and_runs_report_the_same_events() {
    let mut scene = pile(5, 150);
    scene.settings.events = true;
    let stories: Vec<_> = worlds(&scene).into_iter().map(|(_, mut world)| run(&mut world, 100)).collect();
    assert_eq!(stories[0], stories[1]);
    let again = run(&mut gpu(&scene).into(), 100);
    assert_eq!(stories[2], again);
}

/// More events in one step than the initial capacity: the overflow is reported, and with `strict` no event is missing.
#[test]
fn a_step_with_many_events() {
    let mut scene = floor();
    for column in 0..1500_u16 {
        scene.add(Body::dynamic(f32::from(column) * 0.25 - 187.0, 0.11).shape(Shape::half_box(0.1, 0.1)));
    }
    let lines = |world: &mut World| {
        let events = run(world, 1);
        (events.len(), world.overflowed_steps().to_vec())
    };
    assert_eq!(lines(&mut cpu(&scene).into()), (1500, vec![]));
    let (reported, overflowed) = lines(&mut gpu(&scene).into());
    assert!(reported < 1500, "the capacity of {reported} was not exceeded, so the test has no effect");
    assert_eq!(overflowed, [0]);
    scene.settings.strict = true;
    assert_eq!(lines(&mut gpu(&scene).into()), (1500, vec![]));
}

#[test]
fn both_backends_agree_and_a_wrong_shader_is_detected() {
    let mut scene = pile(3, 80);
    scene.settings.events = true;
    let options = ValidationOptions { steps: 60, ..ValidationOptions::default() };
    let report = validate(context(), &scene, options, |_| {}).unwrap();
    assert!(report.passed(), "{:?}", report.first_difference);
    for (from, to) in [
        ("let approach = -dot(", "let approach = -1.01 * dot("),
        ("&& !goes_on(producer, index)", ""),
        ("&& (contacts[index].flags & TOUCHED) == 0u", ""),
    ] {
        let patched = GpuWorld::patched(context(), &scene, &[Patch { shader: "collect_events", from, to }]).unwrap();
        let report = compare(patched, &scene, options, |_| {}).unwrap();
        assert_eq!(report.first_failure(), Some(Stage::CollectEvents.name()), "{from}: {:?}", report.first_difference);
    }
}

/// A rod that breaks at 20 N breaks in the first step under a load of 30 N, one of 40 N never; it is reported once, in
/// the step after.
#[test]
fn a_broken_joint_is_reported_once() {
    let mut scene = floor();
    for (x, limit) in [(0.0, 40.0), (5.0, 20.0)] {
        let load = scene.add(Body::dynamic(x, 5.0).shape(Shape::half_box(0.5, 0.5).density(3.0)));
        let rod = JointKind::Distance { length: None, limits: None, motor: None };
        scene.join(Joint::to_world(rod, load).anchors([x, 8.0], [0.0, 0.0]).break_force(limit));
    }
    for (name, mut world) in worlds(&scene) {
        let events = run(&mut world, 30);
        assert_eq!(kinds(&events), [EventKind::JointBroke], "{name}: {events:?}");
        let event = events[0];
        assert_eq!((event.joint, event.bodies, event.shapes), (world.joint_id(1), [NONE, 2], [NONE; 2]), "{name}");
        assert!((1..10).contains(&event.step), "{name}: reported in step {}", event.step);
        assert_eq!(kinds(&run(&mut world, 90)), [EventKind::Begin], "{name}: the load lands");
    }
}

/// A sensor that is moved onto a sleeping body and away again: the archive of contacts must forget the pair, or the
/// next visit would count as one that never ended.
#[test]
fn each_visit_to_a_sleeping_body_begins_and_ends() {
    let mut scene = Scene::new("visits").gravity(0.0, 0.0);
    (scene.settings.events, scene.settings.sleep) = (true, true);
    let sleeper = scene.add(Body::dynamic(0.0, 0.0).shape(Shape::circle(0.5)));
    let sensor = scene.add(Body::fixed(0.0, 5.0).shape(Shape::circle(0.5).sensor()));
    for (name, mut world) in worlds(&scene) {
        assert_eq!(run(&mut world, 60), [], "{name}");
        assert!(!world.body(sleeper).unwrap().is_awake(), "{name}");
        for visit in 0..3 {
            for (y, kind) in [(0.0, EventKind::SensorBegin), (5.0, EventKind::SensorEnd)] {
                world.command(sensor, Command::teleport([0.0, y], 0.0)).unwrap();
                assert_eq!(kinds(&run(&mut world, 5)), [kind], "{name}, visit {visit}");
            }
        }
    }
}

/// A body that is switched off while it sleeps, and on again, as a game does with things that it keeps for later.
#[test]
fn each_time_a_sleeping_body_is_switched_off_and_on_its_contact_ends_and_begins() {
    let mut scene = floor();
    scene.settings.sleep = true;
    let body = scene.add(Body::dynamic(3.0, 0.5).shape(Shape::half_box(0.5, 0.5)));
    let nothing = Filter { category: 0, mask: 0, group: 0 };
    for (name, mut world) in worlds(&scene) {
        assert_eq!(kinds(&run(&mut world, 60)), [EventKind::Begin], "{name}");
        for turn in 0..3 {
            world.set(body, Property::Kind(BodyType::Static)).unwrap();
            world.set(body, Property::Shapes(ShapeProperty::Filter(nothing))).unwrap();
            assert_eq!(kinds(&run(&mut world, 5)), [EventKind::End], "{name}, off, turn {turn}");
            world.set(body, Property::Shapes(ShapeProperty::Filter(Filter::default()))).unwrap();
            world.set(body, Property::Kind(BodyType::Dynamic)).unwrap();
            assert_eq!(kinds(&run(&mut world, 5)), [EventKind::Begin], "{name}, on, turn {turn}");
        }
    }
}

#[test]
fn a_shape_that_becomes_a_sensor_ends_its_contact_and_begins_to_overlap() {
    for sleeps in [false, true] {
        let mut scene = floor();
        scene.settings.sleep = sleeps;
        let body = scene.add(Body::dynamic(3.0, 0.5).shape(Shape::half_box(0.5, 0.5)));
        for (name, mut world) in worlds(&scene) {
            assert_eq!(kinds(&run(&mut world, 60)), [EventKind::Begin], "{name}");
            world.set_shapes(body, &[Shape::half_box(0.5, 0.5).sensor()]).unwrap();
            let events = run(&mut world, 1);
            assert_eq!(kinds(&events), [EventKind::End, EventKind::SensorBegin], "{name}, sleep {sleeps}");
            world.set_shapes(body, &[Shape::half_box(0.5, 0.5)]).unwrap();
            let events = run(&mut world, 1);
            assert_eq!(kinds(&events), [EventKind::SensorEnd, EventKind::Begin], "{name}, sleep {sleeps}");
        }
    }
}
