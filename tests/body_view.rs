//! Reading bodies, and ids: the id of a removed body never refers to another body.

use crate::support::{context, cpu, gpu};
use drystone::{
    Body, BodyId, BodyType, Command, CommandError, Event, EventKind, PopulationError, Query, Scene, Shape, World,
    WorldBatch, WorldError,
};
use glam::Vec2;

/// A ground, and a hammer whose centre of mass is a metre from its origin.
fn scene() -> (Scene, usize) {
    let mut scene = Scene::new("hammer");
    scene.settings.events = true;
    scene.add(Body::fixed(0.0, -1.0).shape(Shape::half_box(50.0, 1.0)).id("ground"));
    let hammer = Body::dynamic(1.0, 6.0).angle(0.3).velocity(1.0, 0.5).angular_velocity(1.7);
    let hammer = scene.add(hammer.shape(Shape::half_box(0.2, 0.5).offset(1.0, 0.0)).id("hammer"));
    (scene, hammer)
}

fn worlds(scene: &Scene) -> [World; 2] {
    [cpu(scene).into(), gpu(scene).into()]
}

#[test]
fn position_is_that_of_the_origin_and_to_set_it_moves_nothing() {
    let (scene, hammer) = scene();
    for (mut world, mut twin) in worlds(&scene).into_iter().zip(worlds(&scene)) {
        let first = world.body(hammer).unwrap();
        assert!(first.position().distance(scene.bodies[hammer].position) < 1e-6, "{first:?}");
        assert!((first.angle() - 0.3).abs() < 1e-6 && first.center().distance(first.position()) > 0.99);
        assert!(first.to_local(first.center()).distance(first.local_center()) < 1e-6);
        for _ in 0..40 {
            let body = world.body(hammer).unwrap();
            world.command(hammer, Command::teleport(body.position(), body.angle())).unwrap();
            world.step().unwrap();
            twin.step().unwrap();
        }
        let (moved, still) = (world.body(hammer).unwrap(), twin.body(hammer).unwrap());
        if matches!(world, World::Cpu(_)) {
            assert_eq!(moved, still);
        } else {
            assert!(moved.position().distance(still.position()) < 1e-4, "{moved:?} {still:?}");
        }
        // The centre of mass, given as the origin by mistake, moves it.
        world.command(hammer, Command::teleport(moved.center(), moved.angle())).unwrap();
        world.step().unwrap();
        twin.step().unwrap();
        let away = world.body(hammer).unwrap().position().distance(twin.body(hammer).unwrap().position());
        assert!((away - 1.0).abs() < 1e-2, "{away}");
    }
}

#[test]
fn views_say_what_snapshots_do() {
    let (scene, hammer) = scene();
    for mut world in worlds(&scene) {
        (0..30).for_each(|_| world.step().unwrap());
        let snapshot = world.snapshot().unwrap();
        let body = world.body(hammer).unwrap();
        assert_eq!(body.velocity(), Vec2::from(snapshot.states[hammer].velocity));
        assert_eq!(body.angular_velocity(), snapshot.states[hammer].angular_velocity);
        assert_eq!(body.center(), Vec2::from(snapshot.poses[hammer].position));
        assert_eq!((body.kind(), body.is_awake(), body.is_quarantined()), (BodyType::Dynamic, true, false));
        assert!((body.mass() - 0.4).abs() < 1e-6 && body.inertia() > 0.0);
        assert_eq!(world.find("hammer"), Some(body.id()));
        assert_eq!(world.find("nail"), None);
        let mut places = Vec::new();
        world.transforms(&mut places).unwrap();
        assert_eq!(places.len(), 2);
        assert_eq!((places[1].id, places[1].position, places[1].angle()), (body.id(), body.position(), body.angle()));
        assert!(places[1].to_world([1.0, 0.0]).distance(body.to_world([1.0, 0.0])) < 1e-5);
        let (tip, along) = (body.to_world([2.0, 0.0]), body.rotation().rotate(Vec2::X));
        assert!((tip - body.position()).distance(2.0 * along) < 1e-5, "{along}");
        let turning = body.velocity() + body.angular_velocity() * (tip - body.center()).perp();
        assert!(body.velocity_at(tip).distance(turning) < 1e-5, "{turning}");
    }
}

#[test]
fn a_stale_id_is_an_error_and_never_another_body() {
    let (scene, hammer) = scene();
    let ball = Body::dynamic(4.0, 2.0).shape(Shape::circle(0.5));
    for mut world in worlds(&scene) {
        let old: BodyId = hammer.into();
        assert!(world.contains(old));
        world.remove_bodies(&[old]).unwrap();
        assert!(!world.contains(old));
        world.step().unwrap();
        let new = world.add_bodies(std::slice::from_ref(&ball)).unwrap()[0];
        assert_eq!((new.index, new.generation), (old.index, 1), "the slot is given out again");
        world.step().unwrap();
        let speed = |world: &World| world.body(new).unwrap().velocity().x;
        let away = Command::velocity([50.0, 0.0]);
        assert_eq!(world.command(old, away), Err(CommandError::Gone(old)));
        assert_eq!(world.command(hammer, away), Err(CommandError::Gone(old)), "an index of the scene is no slot");
        assert_eq!(world.command(9, away), Err(CommandError::NoBody { body: 9, count: 2 }));
        assert!(matches!(world.body(old), Err(WorldError::Command(CommandError::Gone(_)))));
        assert!(matches!(
            world.remove_bodies(&[old]),
            Err(WorldError::Population(PopulationError::Gone(id))) if id == old
        ));
        world.step().unwrap();
        assert!(speed(&world).abs() < 1e-3, "{}", speed(&world));
        // The same command by the id of the new body.
        world.command(new, away).unwrap();
        world.step().unwrap();
        assert!(speed(&world) > 49.0, "{}", speed(&world));
        assert_eq!(world.bodies().collect::<Vec<_>>(), [0.into(), new]);
        let at = world.body(new).unwrap().position();
        let answers = world.query(&[Query::ray(at + 3.0 * Vec2::Y, at), Query::point(at)]).unwrap();
        assert_eq!(answers.hit(0).map(|hit| hit.id), Some(new));
        assert_eq!(answers.found(1)[0].id, new);
    }
    let mut many = [WorldBatch::on_cpu(&vec![scene.clone(); 2], 1).unwrap(), {
        WorldBatch::on_gpu(context(), &vec![scene.clone(); 2]).unwrap()
    }];
    for worlds in &mut many {
        worlds.remove_bodies(1, &[hammer.into()]).unwrap();
        worlds.step().unwrap();
        let new = worlds.add_bodies(1, std::slice::from_ref(&ball)).unwrap()[0];
        assert!(matches!(worlds.command(1, hammer, Command::Wake), Err(WorldError::Command(CommandError::Gone(_)))));
        worlds.command(1, new, Command::Wake).unwrap();
        worlds.command(0, hammer, Command::Wake).unwrap();
        let at = Query::point([4.0, 2.0]);
        assert_eq!(worlds.query(&[(1, at)]).unwrap().found(0)[0].id, new);
    }
}

#[test]
fn events_name_the_bodies_of_their_step() {
    let (scene, hammer) = scene();
    let ball = Body::dynamic(4.0, 0.51).shape(Shape::circle(0.5));
    let mut told: Vec<Vec<Event>> = Vec::new();
    let mut ids = Vec::new();
    for mut world in worlds(&scene) {
        ids = vec![BodyId::from(hammer)];
        // On the GPU some events arrive when the slots have other bodies.
        for _ in 0..6 {
            world.remove_bodies(&ids[ids.len() - 1..]).unwrap();
            world.step().unwrap();
            ids.push(world.add_bodies(std::slice::from_ref(&ball)).unwrap()[0]);
            world.step().unwrap();
        }
        world.wait().unwrap();
        told.push(world.take_events().unwrap());
        let now = world.body(ids[6]).unwrap().id();
        let stale = told.last().unwrap().iter().filter(|event| !event.ids.contains(&Some(now))).count();
        assert!(stale > 6, "most are of bodies that have gone: {stale}");
    }
    for events in &told {
        let of = |kind| events.iter().filter(move |event| event.kind == kind);
        let begun: Vec<_> = of(EventKind::Begin).flat_map(|event| event.ids).flatten().collect();
        let ended: Vec<_> = of(EventKind::End).flat_map(|event| event.ids).flatten().collect();
        for id in &ids[1..6] {
            assert!(begun.contains(id) && ended.contains(id), "{id}: {begun:?} {ended:?}");
        }
        assert!(begun.contains(&ids[6]) && !ended.contains(&ids[6]));
        for event in events {
            assert_eq!(event.ids.map(|id| id.map(|id| id.index)), event.bodies.map(Some));
        }
    }
    let brief = |event: &Event| (event.step, event.kind, event.ids);
    assert_eq!(told[0].iter().map(brief).collect::<Vec<_>>(), told[1].iter().map(brief).collect::<Vec<_>>());
}

#[test]
fn newest_transforms_come_without_a_wait_and_are_those_of_their_step() {
    let (scene, hammer) = scene();
    for mut world in worlds(&scene) {
        let (mut places, mut exact, mut all) = (Vec::new(), Vec::new(), Vec::new());
        let mut last = None;
        for step in 1..=30 {
            world.step().unwrap();
            world.transforms(&mut exact).unwrap();
            all.push(exact.clone());
            let Some(of) = world.transforms_latest(&mut places).unwrap() else {
                assert!(places.is_empty());
                continue;
            };
            assert!(of <= step && last <= Some(of), "{of} {last:?}");
            assert_eq!(places, all[usize::try_from(of).unwrap() - 1], "at step {step}, of step {of}");
            last = Some(of);
            if step == 15 {
                world.remove_bodies(&[hammer.into()]).unwrap();
            }
        }
        assert!(last > Some(20), "{last:?}");
        assert_ne!(all[10], all[11], "a copy of another step would differ");
        assert_eq!((all[14].len(), all[15].len()), (2, 1));
    }
}
