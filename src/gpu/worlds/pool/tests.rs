//! Tests of pools: every pooled world equals the same world on its own, bitwise.

use glam::Vec2;

use super::*;
use crate::command::Command;
use crate::scene::{Body, Emitter, Scene, Shape, samples};
use crate::{AdapterChoice, state};

fn device() -> Context {
    Context::new(AdapterChoice::Any).expect("a hardware or software adapter")
}

/// Worlds that can share a pool: strict, with events and sleep.
fn pyramid(base: u16) -> Compiled {
    compiled(samples::pyramid(base))
}

fn compiled(mut scene: Scene) -> Compiled {
    scene.settings = samples::pyramid(3).settings;
    (scene.settings.strict, scene.settings.events, scene.settings.sleep) = (true, true, true);
    Compiled::new(&scene).unwrap()
}

fn kinds() -> Vec<Compiled> {
    let mut kinds: Vec<_> =
        [samples::pyramid(4), samples::cards(), samples::limbs(), samples::ball()].into_iter().map(compiled).collect();
    let mut fountain = Scene::new("fountain");
    fountain.add(Body::fixed(0.0, -1.0).shape(Shape::half_box(20.0, 1.0)));
    fountain.add(Body::dynamic(0.2, 0.5).shape(Shape::half_box(0.5, 0.5)));
    let drop = Body::dynamic(0.0, 3.0).shape(Shape::circle(0.2));
    fountain.emit(Emitter::new([drop]).every(7).keep(4));
    kinds.push(compiled(fountain));
    kinds
}

/// Long rods side by side, all turning: within half a turn each of them meets all others.
fn rods(count: u8) -> Compiled {
    let mut rods = Scene::new("rods").gravity(0.0, 0.0);
    for rod in 0..count {
        let rod = Body::dynamic(0.0, 0.4 * f32::from(rod)).shape(Shape::half_box(20.0, 0.05));
        rods.add(Body { angular_velocity: 1.5, ..rod });
    }
    compiled(rods)
}

fn alone(context: &Context, compiled: &Compiled) -> GpuWorld {
    GpuWorld::from_compiled(context, compiled.clone(), None).unwrap()
}

/// Steps several worlds, as the service does.
fn step(worlds: &mut [&mut PooledWorld]) -> BatchStepOutcome {
    let pool = worlds[0].pool().clone();
    let mut recorded = pool.record_step(worlds).unwrap();
    let context = pool.context();
    context.queue().submit(recorded.commands.take());
    pool.end_recorded(worlds, recorded, context.wait())
}

/// Steps several worlds, all of which must complete the step.
fn all_step(worlds: &mut [&mut PooledWorld]) -> u32 {
    let ended = step(worlds);
    assert!(ended.outcomes.iter().all(|outcome| matches!(outcome, StepOutcome::Done)), "{ended:?}");
    assert_eq!(ended.outcomes.len(), worlds.len());
    ended.dispatches
}

fn opened(context: &Context, compiled: &Compiled) -> PooledWorld {
    Pool::open(context, &newcomer(context, compiled)).unwrap()
}

fn newcomer(context: &Context, compiled: &Compiled) -> PoolCandidate {
    PoolCandidate::at_start(context, compiled).expect("a small world")
}

fn admitted(pool: &Arc<Pool>, compiled: &Compiled) -> PooledWorld {
    pool.admit(&newcomer(&pool.context(), compiled)).unwrap().expect("a free slot")
}

fn push(world: f32) -> Command {
    Command::Impulse { impulse: Vec2::new(0.7 + world, 2.0), point: None }
}

/// Random worlds step while others pause, and worlds come and go: each equals the same world alone.
#[test]
fn worlds_of_different_owners_equal_single_worlds() {
    let context = device();
    let kinds = kinds();
    let mut pooled = vec![opened(&context, &kinds[0])];
    let pool = pooled[0].pool().clone();
    pooled.extend((1..6).map(|index| admitted(&pool, &kinds[index % 5])));
    let mut singles: Vec<_> = (0..6).map(|index| alone(&context, &kinds[index % 5])).collect();
    let (mut random, mut compared) = (17_u64, 0);
    let mut below = |most: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % most
    };
    let ball = [Body::dynamic(0.4, 7.0).shape(Shape::circle(0.4).restitution(0.5))];
    for _ in 0..80 {
        #[allow(clippy::cast_possible_truncation, reason = "below six")]
        let world = below(6) as usize;
        match below(8) {
            0 => {
                // The removed world frees its slot for the new one, often the same slot.
                #[allow(clippy::cast_possible_truncation, reason = "below five")]
                let kind = below(5) as usize;
                pooled[world] = admitted(&pool, &kinds[kind]);
                singles[world] = alone(&context, &kinds[kind]);
            }
            1 => {
                let (ids, expected) = (pooled[world].add_bodies(&ball), singles[world].add_bodies(&ball));
                assert_eq!(ids.unwrap(), expected.unwrap());
            }
            2 if singles[world].compiled().bodies.len() > 2 => {
                let last = singles[world].compiled().bodies.len() - 1;
                if let Some(id) = singles[world].body_id(last) {
                    assert_eq!(pooled[world].body_id(last), Some(id));
                    pooled[world].remove_bodies(&[id]).unwrap();
                    singles[world].remove_bodies(&[id]).unwrap();
                }
            }
            3 => {
                let (one, other) = (pooled[world].command(1, push(0.1)), singles[world].command(1, push(0.1)));
                assert_eq!(one.is_ok(), other.is_ok());
            }
            _ => {}
        }
        let which: Vec<bool> = (0..6).map(|_| below(3) > 0).collect();
        let mut those: Vec<_> =
            pooled.iter_mut().zip(&which).filter(|(_, which)| **which).map(|(world, _)| world).collect();
        if !those.is_empty() {
            all_step(&mut those);
        }
        singles.iter_mut().zip(&which).filter(|(_, which)| **which).for_each(|(world, _)| world.step().unwrap());
        #[allow(clippy::cast_possible_truncation, reason = "below six")]
        let world = below(6) as usize;
        let expected = singles[world].snapshot().unwrap();
        assert!(pooled[world].snapshot().unwrap() == expected, "{world} after {}", expected.step);
        compared += u32::from(expected.step > 5);
    }
    assert!(compared > 30, "{compared}");
    for (pooled, single) in pooled.iter_mut().zip(&mut singles) {
        assert_eq!(pooled.take_events(), single.take_events().unwrap());
        let down = [Query::ray([0.2, 20.0], [0.2, -1.0]), Query::aabb([-9.0, 0.0], [9.0, 9.0])];
        assert_eq!(pooled.query_within(&down, QueryBounds::default()).unwrap(), single.query(&down).unwrap());
    }
    // Negative control: different impulses give different states.
    let hash = |world: &mut PooledWorld| state::hash(&world.snapshot().unwrap());
    pooled[0].command(1, push(0.2)).unwrap();
    singles[0].command(1, push(0.3)).unwrap();
    all_step(&mut [&mut pooled[0]]);
    singles[0].step().unwrap();
    assert_ne!(hash(&mut pooled[0]), state::hash(&singles[0].snapshot().unwrap()));
}

/// Slots are added while worlds use them, and reused; the dispatches are those of one world.
#[test]
fn places_are_made_and_given_back() {
    let context = device();
    let compiled = pyramid(3);
    let mut worlds = vec![opened(&context, &compiled)];
    let pool = worlds[0].pool().clone();
    let mut single = alone(&context, &compiled);
    let of_one = (0..12).map(|_| all_step(&mut [&mut worlds[0]])).last().unwrap();
    (0..12).for_each(|_| single.step().unwrap());
    while let Some(world) = pool.admit(&newcomer(&context, &compiled)).unwrap() {
        worlds.push(world);
        if worlds.len() % 13 == 0 {
            let mut all: Vec<_> = worlds.iter_mut().collect();
            all_step(&mut all);
            single.step().unwrap();
        }
    }
    assert_eq!(worlds.len(), MAX_SLOTS);
    let of_all = (0..12).map(|_| all_step(&mut worlds.iter_mut().collect::<Vec<_>>())).last().unwrap();
    // One more dispatch copies the contacts of worlds that have done an odd number of steps fewer.
    assert!((of_one..=of_one + 1).contains(&of_all), "{of_one} for one, {of_all} for all");
    (0..12).for_each(|_| single.step().unwrap());
    assert!(worlds[0].snapshot().unwrap() == single.snapshot().unwrap());
    let steps: Vec<u64> = worlds.iter().map(PooledWorld::steps).collect();
    assert!(steps[0] == single.steps() && steps[0] > steps[63], "{steps:?}");

    let (held, places) = (worlds[5].slot, pool.lock().all.len());
    drop(worlds.remove(5));
    worlds.push(admitted(&pool, &compiled));
    assert_eq!((worlds[63].slot, worlds[63].steps(), pool.lock().all.len()), (held, 0, places));
    assert_eq!(Arc::strong_count(&pool), 65);
    drop(worlds);
    assert_eq!(Arc::strong_count(&pool), 1, "no world holds the pool");
    let mut other = compiled.settings;
    other.sleep = false;
    let other = Compiled { settings: other, ..compiled };
    assert!(pool.admit(&newcomer(&context, &other)).unwrap().is_none(), "its settings run other stages");
}

/// A world whose contacts increase repeats some steps with larger buffers while others have done theirs; when it is no
/// longer small it continues outside, bitwise.
#[test]
fn outgrowing_a_slot_affects_no_other_world() {
    let context = device();
    let (turning, calm) = (rods(70), pyramid(4));
    let mut world = opened(&context, &turning);
    let pool = world.pool().clone();
    let mut beside = admitted(&pool, &calm);
    let (mut single, mut other) = (alone(&context, &turning), alone(&context, &calm));
    let first = pool.lock().engine.contact_capacity;
    let mut moved = None;
    for _ in 0..40 {
        single.step().unwrap();
        other.step().unwrap();
        if let Some(moved) = &mut moved {
            GpuWorld::step(moved).unwrap();
            all_step(&mut [&mut beside]);
        } else {
            let ended = step(&mut [&mut world, &mut beside]);
            assert!(matches!(ended.outcomes[1], StepOutcome::Done), "{ended:?}");
            if matches!(ended.outcomes[0], StepOutcome::Outgrown) {
                let mut out = world.move_out().unwrap();
                assert_eq!(out.steps() + 1, single.steps(), "the undone step is repeated outside");
                out.step().unwrap();
                moved = Some(out);
            }
        }
        assert_eq!(beside.steps(), other.steps());
    }
    let moved = moved.as_mut().expect("it had to move");
    let grown = pool.lock().engine.contact_capacity;
    assert!(grown > first && u64::from(grown) < MAX_CONTACTS * 3 / 2, "{first} to {grown}");
    assert!(moved.snapshot().unwrap() == single.snapshot().unwrap());
    assert_eq!(moved.take_events().unwrap(), single.take_events().unwrap());
    assert!(moved.overflowed_steps().is_empty() && beside.overflowed_steps().is_empty());
    assert!(beside.snapshot().unwrap() == other.snapshot().unwrap());
    assert_eq!(beside.take_events(), other.take_events().unwrap());
    // Negative control: a small world stays.
    let mut few = admitted(&pool, &rods(12));
    for _ in 0..40 {
        all_step(&mut [&mut few, &mut beside]);
    }
}

/// Additions by hand and checkpoints are refused if the world would not stay small.
#[test]
fn additions_that_outgrow_a_pool_are_refused() {
    let context = device();
    let compiled = pyramid(3);
    let mut world = opened(&context, &compiled);
    let body = Body::dynamic(0.0, 20.0).shape(Shape::circle(0.3));
    let more = |count: usize| PartCounts::of_bodies(&vec![body.clone(); count]);
    let room = MAX_PARTS - world.compiled().bodies.len();
    assert!(world.holds(more(room)) && !world.holds(more(room + 1)));
    assert!(world.holds(PartCounts { joints: MAX_PARTS, ..PartCounts::default() }));
    assert!(!world.holds(PartCounts { joints: MAX_PARTS + 1, ..PartCounts::default() }));

    let mut large = alone(&context, &rods(70));
    (0..30).for_each(|_| large.step().unwrap());
    let bytes = large.snapshot().unwrap().to_bytes(large.compiled().fingerprint());
    let mut pooled = admitted(world.pool(), &rods(70));
    assert!(!pooled.load_with(&bytes, &Journal::default()).unwrap());
    assert_eq!(pooled.steps(), 0, "nothing has changed");
    assert!(world.load_with(&bytes, &Journal::default()).is_err(), "a snapshot of another world");
    let mut small = alone(&context, &rods(12));
    (0..30).for_each(|_| small.step().unwrap());
    let bytes = small.snapshot().unwrap().to_bytes(small.compiled().fingerprint());
    let mut pooled = admitted(world.pool(), &rods(12));
    assert!(pooled.load_with(&bytes, &Journal::default()).unwrap());
    assert!(pooled.snapshot().unwrap() == small.snapshot().unwrap());
    all_step(&mut [&mut pooled, &mut world]);
    small.step().unwrap();
    assert!(pooled.snapshot().unwrap() == small.snapshot().unwrap());
}

/// Worlds move out of a pool and into another, with added and removed bodies, pending commands and events not yet
/// taken.
#[test]
fn worlds_keep_their_state_when_moved() {
    let context = device();
    let mut beside = opened(&context, &pyramid(3));
    let ball = [Body::dynamic(0.4, 7.0).shape(Shape::circle(0.4).restitution(0.5))];
    for kind in kinds() {
        let (mut own, mut single) = (alone(&context, &kind), alone(&context, &kind));
        for world in [&mut own, &mut single] {
            (0..20).for_each(|_| world.step().unwrap());
            let ids = world.add_bodies(&[&ball[..], &ball[..]].concat()).unwrap();
            world.step().unwrap();
            world.remove_bodies(&ids[..1]).unwrap();
            assert!(world.command(ids[1], push(0.4)).is_ok());
        }
        let mut pooled =
            beside.pool().admit(&PoolCandidate::of(&mut own).unwrap().expect("it is small")).unwrap().expect("a place");
        assert!(pooled.snapshot().unwrap() == single.snapshot().unwrap());
        for _ in 0..15 {
            all_step(&mut [&mut beside, &mut pooled]);
            single.step().unwrap();
        }
        let mut own = pooled.move_out().unwrap();
        let mut pooled = Pool::open(&context, &PoolCandidate::of(&mut own).unwrap().expect("it is small")).unwrap();
        for _ in 0..15 {
            all_step(&mut [&mut pooled]);
            single.step().unwrap();
        }
        assert!(pooled.snapshot().unwrap() == single.snapshot().unwrap());
        assert_eq!(pooled.take_events(), single.take_events().unwrap());
    }
    let mut turning = alone(&context, &rods(70));
    (0..30).for_each(|_| turning.step().unwrap());
    assert!(PoolCandidate::of(&mut turning).unwrap().is_none(), "no longer small");
}

/// A lost device is reported to all worlds, and none has done the step.
#[test]
fn a_lost_device_is_lost_to_all() {
    let context = device();
    let compiled = pyramid(3);
    let mut one = opened(&context, &compiled);
    let mut other = admitted(one.pool(), &compiled);
    all_step(&mut [&mut one, &mut other]);
    context.device().destroy();
    let pool = one.pool().clone();
    let mut worlds = [&mut one, &mut other];
    let failed = match pool.record_step(&mut worlds) {
        Err(error) => vec![copy_error(&error), error],
        Ok(mut recorded) => {
            context.queue().submit(recorded.commands.take());
            let ended = pool.end_recorded(&mut worlds, recorded, context.wait());
            let error = |outcome| if let StepOutcome::Failed(error) = outcome { Some(error) } else { None };
            ended.outcomes.into_iter().filter_map(error).collect()
        }
    };
    assert_eq!(failed.len(), 2);
    assert!(failed.iter().all(|error| matches!(error, WorldError::Device(_))), "{failed:?}");
    assert!(pool.admit(&newcomer(&context, &compiled)).is_err());
}
