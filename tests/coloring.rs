//! Contact coloring: valid after every step, equal on both backends, few colors, few rounds, and kept while a contact
//! exists.

use std::collections::HashMap;
use std::sync::atomic::AtomicU32;

use crate::support::{
    assert_colored, build, chaotic, colors_used, compile, context, cpu, gpu, is_finite, is_touching, pile, trace_cpu,
};
use drystone::low_level::cpu::stages::color::{ColorScratch, color, color_sort};
use drystone::low_level::scene::Compiled;
use drystone::low_level::stages::color::claim_key;
use drystone::low_level::threads::{Rows, Threads};
use drystone::low_level::types::{
    Contact, FIXED_A, FIXED_B, FIXED_COLORS_START, HUB_A, HUB_B, MAX_COLOR_ROUNDS, NONE, OVERFLOW_COLOR,
};
use drystone::low_level::{CpuWorld, GpuWorld, state};
use drystone::{Body, Scene, Shape, Snapshot, World};
use glam::Vec2;

/// Returns scenes of every kind: stacks, piles, drums, circles, overlaps, compound bodies.
fn scenes() -> Vec<Scene> {
    let mut scenes: Vec<Scene> = [
        "large_pyramid:base=10",
        "vertical_stack:count=30",
        "card_house",
        "domino",
        "circle_stack",
        "overlap_recovery",
        "confined:grid=20",
        "many_pyramids:rows=2,columns=2,base=4",
        "high_mass_ratio_1:base=6",
        "small_si",
        "far_pyramid:base=6",
    ]
    .map(build)
    .into();
    scenes.extend(chaotic());
    scenes
}

fn both(scene: &Scene) -> [World; 2] {
    [cpu(scene).into(), gpu(scene).into()]
}

fn step_and_look(world: &mut World) -> Snapshot {
    world.step().expect("a step");
    world.snapshot().expect("a snapshot")
}

fn name(world: &World) -> &'static str {
    if matches!(world, World::Cpu(_)) { "cpu" } else { "gpu" }
}

type Pair = (u32, u32);

fn by_pair(snapshot: &Snapshot) -> HashMap<Pair, &Contact> {
    snapshot.contacts.iter().map(|contact| ((contact.shape_a, contact.shape_b), contact)).collect()
}

/// Returns the contacts as they were before coloring: those after the step, with the colors from before, and the flags
/// of hubs.
fn before_coloring(before: &Snapshot, after: &Snapshot) -> Vec<Contact> {
    let old = by_pair(before);
    let mut contacts = after.contacts.clone();
    for contact in &mut contacts {
        let old = old.get(&(contact.shape_a, contact.shape_b));
        contact.color = if is_touching(contact) { old.map_or(NONE, |old| old.color) } else { NONE };
        let hubs = old.map_or(0, |old| old.flags & (HUB_A | HUB_B));
        contact.flags = contact.flags & !(HUB_A | HUB_B) | hubs;
    }
    contacts
}

/// Colors the contacts of `after` again with the reference, from the colors of `before`, and compares everything.
/// Colors, rounds and starts are integers, so both backends must match exactly.
fn assert_reference_agrees(compiled: &Compiled, before: &Snapshot, after: &Snapshot, what: &str) {
    let mut contacts = before_coloring(before, after);
    let (mut scratch, mut slots, mut counters) = (ColorScratch::default(), Vec::new(), before.counters);
    let alone = Threads::default();
    color(&alone, &compiled.params, &Rows::new(&after.states), &mut contacts, &mut scratch, &mut counters);
    color_sort(&alone, &mut scratch, &mut slots, &counters);
    let slots: Vec<u32> = slots.into_iter().map(AtomicU32::into_inner).collect();
    let differs = contacts.iter().zip(&after.contacts).position(|(mine, theirs)| mine.color != theirs.color);
    assert_eq!(differs, None, "{what}: the contact whose colour differs");
    assert_eq!(counters.color_starts, after.counters.color_starts, "{what}");
    let told = [after.counters.touching, after.counters.uncolored, after.counters.rounds];
    assert_eq!([counters.touching, counters.uncolored, counters.rounds], told, "{what}: touching, uncoloured, rounds");
    let order: Vec<(u32, u32)> = slots.iter().map(|&slot| (contacts[slot as usize].color, slot)).collect();
    assert!(order.is_sorted(), "{what}: slots by colour, then by index");
    assert_eq!(slots.len(), after.counters.touching as usize, "{what}");
}

/// The main contract, over many scenes and steps on both backends.
#[test]
fn colors_are_valid_inherited_and_equal_to_the_reference() {
    let (mut inherited, mut fresh) = (0, 0);
    for scene in scenes() {
        for mut world in both(&scene) {
            let backend = name(&world);
            let mut before = world.snapshot().expect("a snapshot");
            let (mut most_rounds, mut overflow) = (0, 0);
            for step in 0..40 {
                let after = step_and_look(&mut world);
                let what = format!("{} on {backend} in step {step}", scene.name);
                assert_colored(&after, &what);
                assert_reference_agrees(world.compiled(), &before, &after, &what);
                let old = by_pair(&before);
                for contact in after.contacts.iter().filter(|contact| is_touching(contact)) {
                    let Some(last) = old.get(&(contact.shape_a, contact.shape_b)) else { continue };
                    // A new hub gives the colours of its contacts back.
                    let is_of_hub = contact.flags & (HUB_A | HUB_B) != 0;
                    if last.color != NONE && last.color != OVERFLOW_COLOR && !is_of_hub {
                        assert_eq!(contact.color, last.color, "{what}: a contact that lives on");
                        inherited += 1;
                    }
                }
                fresh += after.counters.uncolored;
                most_rounds = most_rounds.max(after.counters.rounds);
                overflow = overflow.max(after.counters.color_size(OVERFLOW_COLOR));
                assert!(after.counters.rounds <= MAX_COLOR_ROUNDS, "{what}");
                before = after;
            }
            let colors = colors_used(&before);
            println!("{} on {backend}: {most_rounds} rounds, {colors} colours, {overflow} overflowed", scene.name);
        }
    }
    println!("{inherited} colours inherited, {fresh} found");
    assert!(inherited > 10_000 && fresh > 1_000, "{inherited} inherited, {fresh} found: too few to tell");
}

/// Negative control: detects a neighbour's color, a free color other than the reference's, and a wrong count.
#[test]
fn the_checks_find_bad_colors() {
    let mut world = cpu(&build("large_pyramid:base=6"));
    trace_cpu(&mut world, 3);
    let before = world.snapshot();
    world.step().unwrap();
    let good = world.snapshot();
    let is_bad = |snapshot: &Snapshot| std::panic::catch_unwind(|| assert_colored(snapshot, "bad")).is_err();
    let differs = |snapshot: &Snapshot| {
        let compiled = world.compiled();
        std::panic::catch_unwind(|| assert_reference_agrees(compiled, &before, snapshot, "bad")).is_err()
    };
    assert!(!is_bad(&good) && !differs(&good));
    // Two contacts that share a box, and therefore need different colors.
    let free =
        |index: usize| is_touching(&good.contacts[index]) && good.contacts[index].flags & (FIXED_A | FIXED_B) == 0;
    let first = (0..good.contacts.len()).find(|&index| free(index)).expect("boxes touch");
    let body = good.contacts[first].body_a;
    let second = (first + 1..good.contacts.len())
        .find(|&index| free(index) && [good.contacts[index].body_a, good.contacts[index].body_b].contains(&body))
        .expect("the box touches another");
    assert_ne!(good.contacts[first].color, good.contacts[second].color);

    let mut neighbours = good.clone();
    neighbours.contacts[second].color = good.contacts[first].color;
    let mut none = good.clone();
    none.contacts[first].color = NONE;
    let mut uncounted = good.clone();
    uncounted.contacts[first].color = OVERFLOW_COLOR;
    let mut miscounted = good.clone();
    miscounted.counters.touching += 1;
    for (index, bad) in [neighbours, none, uncounted, miscounted].iter().enumerate() {
        assert!(is_bad(bad) && differs(bad), "change {index} was not found");
    }
    // Valid, but different from the reference: two colors exchanged everywhere.
    let mut exchanged = good.clone();
    for contact in &mut exchanged.contacts {
        contact.color = match contact.color {
            0 => 1,
            1 => 0,
            other => other,
        };
    }
    let sizes = [good.counters.color_size(0), good.counters.color_size(1)];
    exchanged.counters.color_starts[1] = sizes[1];
    assert!(!is_bad(&exchanged) && differs(&exchanged));
}

/// From the same snapshot, both backends assign the same colors in the same number of rounds.
#[test]
fn backends_agree_on_colors_from_one_snapshot() {
    for scene in [build("large_pyramid:base=20"), build("vertical_stack:count=100"), pile(3, 120)] {
        let (mut here, mut there) = (cpu(&scene), gpu(&scene));
        for at in [0, 1, 20] {
            while here.steps() < at {
                here.step().unwrap();
            }
            let mut other = cpu(&scene);
            other.restore(&here.snapshot()).expect("a snapshot of this world");
            there.restore(&here.snapshot()).expect("a snapshot of this world");
            other.step().unwrap();
            there.step().expect("a step");
            let (mine, theirs) = (other.snapshot(), there.snapshot().expect("a snapshot"));
            let list = |snapshot: &Snapshot| -> Vec<(u32, u32, u32)> {
                snapshot.contacts.iter().map(|c| (c.shape_a, c.shape_b, c.color)).collect()
            };
            assert_eq!(list(&mine), list(&theirs), "{} from step {at}", scene.name);
            assert_eq!(mine.counters.rounds, theirs.counters.rounds, "{} from step {at}", scene.name);
            assert_eq!(mine.counters.color_starts, theirs.counters.color_starts, "{} from step {at}", scene.name);
        }
    }
}

#[test]
fn a_column_of_a_thousand_takes_few_rounds() {
    let scene = build("vertical_stack:count=1000");
    for mut world in both(&scene) {
        let backend = name(&world);
        let first = step_and_look(&mut world);
        assert_colored(&first, backend);
        println!("column on {backend}: {} rounds, {} colours", first.counters.rounds, colors_used(&first));
        assert!(first.counters.touching >= 1000, "{:?}", first.counters);
        assert!(first.counters.rounds <= 10, "{backend}: {} rounds", first.counters.rounds);
        for step in 1..20 {
            let rounds = step_and_look(&mut world).counters.rounds;
            assert!(rounds <= 3, "{backend} in step {step}: {rounds} rounds");
        }
    }
}

#[test]
fn a_pyramid_of_5050_takes_few_rounds_and_colors() {
    let scene = build("large_pyramid:base=100");
    for (mut world, steps) in both(&scene).into_iter().zip([10, 3]) {
        let backend = name(&world);
        let first = step_and_look(&mut world);
        assert_colored(&first, backend);
        let (rounds, colors) = (first.counters.rounds, colors_used(&first));
        println!("pyramid on {backend}: {rounds} rounds, {colors} colours, {} touching", first.counters.touching);
        assert!(first.counters.touching > 10_000, "{:?}", first.counters);
        assert!(rounds <= 12 && colors <= 12, "{backend}: {rounds} rounds, {colors} colours");
        for step in 1..steps {
            let counters = step_and_look(&mut world).counters;
            assert!(counters.rounds <= 3, "{backend} in step {step}: {} rounds", counters.rounds);
            assert_eq!(counters.color_size(OVERFLOW_COLOR), 0, "{backend} in step {step}");
        }
    }
}

/// A fixed body needs no color: a thousand boxes on one ground are solved in parallel.
#[test]
fn fixed_bodies_take_no_color() {
    for ground in [Body::fixed(0.0, -0.5), Body::kinematic(0.0, -0.5)] {
        let kind = ground.kind;
        let mut scene = Scene::new("row");
        scene.add(ground.shape(Shape::half_box(1_100.0, 0.5)));
        for index in 0..1_000_u16 {
            scene.add(Body::dynamic(2.0 * f32::from(index) - 1_000.0, 0.5).shape(Shape::half_box(0.5, 0.5)));
        }
        for mut world in both(&scene) {
            let snapshot = step_and_look(&mut world);
            let counters = &snapshot.counters;
            let what = format!("{kind:?} on {}: {counters:?}", name(&world));
            assert_eq!((counters.touching, counters.rounds, colors_used(&snapshot)), (1_000, 1, 1), "{what}");
            let last = snapshot.contacts.iter().all(|contact| contact.color >= FIXED_COLORS_START);
            assert!(last && snapshot.contacts.iter().all(|c| c.flags & (FIXED_A | FIXED_B) != 0), "{what}");
        }
    }
}

/// Returns a plate on the ground that carries a thousand boxes: more contacts than there are colors.
fn loaded_plate(plate: f32, density: f32) -> Scene {
    let mut scene = Scene::new("loaded plate");
    scene.add(Body::fixed(0.0, -0.5).shape(Shape::half_box(200.0, 0.5)));
    scene.add(Body::dynamic(0.0, 1.0).shape(Shape::half_box(105.0, 1.0).density(plate)));
    for index in 0..1_000_u16 {
        let x = 0.2 * f32::from(index) - 100.0;
        scene.add(Body::dynamic(x, 2.075).shape(Shape::half_box(0.075, 0.075).density(density)));
    }
    scene
}

/// Returns a plate at rest on a thousand small boxes on the ground.
fn carried_plate(plate: f32) -> Scene {
    let mut scene = Scene::new("carried plate");
    scene.add(Body::fixed(0.0, -0.5).shape(Shape::half_box(200.0, 0.5)));
    scene.add(Body::dynamic(0.0, 0.65).shape(Shape::half_box(105.0, 0.5).density(plate)));
    for index in 0..1_000_u16 {
        let x = 0.2 * f32::from(index) - 100.0;
        scene.add(Body::dynamic(x, 0.075).shape(Shape::half_box(0.075, 0.075)));
    }
    scene
}

/// A body with a thousand contacts starts at rest and stays at rest, also one that carries five times its own weight.
#[test]
fn hubs_overflow_and_stay_at_rest() {
    for scene in [loaded_plate(1.0, 1.0), loaded_plate(0.01, 1.0), carried_plate(0.05)] {
        for mut world in both(&scene) {
            let start = std::time::Instant::now();
            let mut deepest = 0.0_f64;
            let mut last = Snapshot::default();
            for step in 0..120 {
                world.step().expect("a step");
                if step % 10 > 0 && step < 119 {
                    continue;
                }
                last = world.snapshot().expect("a snapshot");
                let what = format!("{} on {} in step {step}", scene.name, name(&world));
                assert!(is_finite(&last), "{what}: a NaN");
                assert_colored(&last, &what);
                let overflow = last.counters.color_size(OVERFLOW_COLOR);
                assert_eq!(overflow, 1_000, "{what}: {:?}", last.counters);
                deepest = deepest.max(state::metrics(world.compiled(), &last).max_penetration);
            }
            let what = format!("{} on {}", scene.name, name(&world));
            let metrics = state::metrics(world.compiled(), &last);
            let moved = last.poses.iter().zip(&world.compiled().poses);
            let moved = moved
                .map(|(now, then)| (Vec2::from(now.position) - Vec2::from(then.position)).length())
                .fold(0.0_f32, f32::max);
            println!(
                "{what}: deepest {deepest:.5} m, fastest {:.5} m/s, moved {moved:.5} m, ground {:?}, {:?}",
                metrics.max_speed,
                metrics.ground_impulse_ratio,
                start.elapsed()
            );
            assert!(deepest < 1e-4, "{what}: {deepest} m deep");
            assert!(moved < 1e-4, "{what}: a body moved by {moved} m");
            assert!(metrics.max_speed < 1e-3, "{what}: {metrics:?}");
            let ground = metrics.ground_impulse_ratio.expect("there is gravity");
            assert!(ground.abs() < 0.001, "{what}: {metrics:?}");
        }
    }
}

#[test]
fn forced_overflow_still_stands() {
    let scene = build("vertical_stack:count=5");
    let worlds: [[World; 2]; 2] = [
        [cpu(&scene).into(), cpu(&scene).with_forced_overflow().into()],
        [gpu(&scene).into(), gpu(&scene).with_forced_overflow().into()],
    ];
    for [mut normal, mut forced] in worlds {
        let backend = name(&normal);
        for step in 0..300 {
            normal.step().expect("a step");
            let now = step_and_look(&mut forced);
            let counters = &now.counters;
            assert_eq!(counters.color_size(OVERFLOW_COLOR), counters.touching, "{backend} in step {step}");
            assert!(counters.touching >= 5, "{backend} in step {step}: {counters:?}");
            assert_colored(&now, backend);
        }
        let (plain, ordered) = (normal.snapshot().expect("a snapshot"), forced.snapshot().expect("a snapshot"));
        assert_ne!(state::hash(&plain), state::hash(&ordered), "{backend}: the order of constraints must matter");
        let metrics = state::metrics(forced.compiled(), &ordered);
        println!("{backend}: {metrics:?}");
        assert!(metrics.top_sink.abs() < 0.02 && metrics.top_lean < 0.01, "{backend}: {metrics:?}");
        assert!(metrics.max_speed < 0.01 && metrics.max_penetration < 0.01, "{backend}: {metrics:?}");
    }
}

/// All contacts in the overflow, in a pile whose contacts change: one lane solves them in order, on both backends.
#[test]
fn forced_overflow_survives_a_pile() {
    let scene = pile(2, 80);
    let worlds: [World; 2] = [cpu(&scene).with_forced_overflow().into(), gpu(&scene).with_forced_overflow().into()];
    for mut world in worlds {
        for _ in 0..180 {
            world.step().expect("a step");
        }
        let last = world.snapshot().expect("a snapshot");
        let metrics = state::metrics(world.compiled(), &last);
        assert!(is_finite(&last) && metrics.max_penetration < 0.05, "{}: {metrics:?}", name(&world));
    }
}

/// No two contacts have the same claim key, or both would win a body: a million indices, in several rounds.
#[test]
fn claim_keys_are_unique() {
    const COUNT: u32 = 1 << 20;
    for round in [1, 2, MAX_COLOR_ROUNDS] {
        let mut keys: Vec<u32> = (0..COUNT).map(|contact| claim_key(round, contact)).collect();
        assert!(keys.iter().all(|&key| key >> 27 == round && key != 0), "round {round}");
        // Keys are not monotonic, or chains of claims would be resolved one by one.
        let rising = keys.windows(2).filter(|pair| pair[0] < pair[1]).count();
        assert!((450_000..600_000).contains(&rising), "{rising} of {COUNT} rise");
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), COUNT as usize, "round {round}");
    }
    // The far end of the index range too.
    let mut keys: Vec<u32> =
        ((1 << 27) - COUNT..1 << 27).chain(0..COUNT).map(|contact| claim_key(1, contact)).collect();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), 2 * COUNT as usize);
    // A later round has precedence over an earlier one.
    assert!((0..COUNT).step_by(97).all(|contact| claim_key(3, contact) > claim_key(2, COUNT - contact)));
}

/// The key's permutation covers all of its 27 bits: odd factors and right shifts are invertible.
#[test]
fn claim_keys_fill_their_range() {
    let mut seen = vec![0_u64; 1 << 21];
    for contact in 0..1_u32 << 27 {
        let key = claim_key(0, contact);
        seen[(key >> 6) as usize] |= 1 << (key & 63);
    }
    assert!(seen.iter().all(|&bits| bits == u64::MAX));
}

/// Worlds of one context do not share coloring tables.
#[test]
fn colors_of_two_worlds_do_not_mix() {
    let scene = build("large_pyramid:base=12");
    let mut alone = gpu(&scene);
    alone.step().expect("a step");
    let mut first = GpuWorld::from_compiled(context(), compile(&scene), None).expect("a world");
    let mut second = gpu(&pile(1, 100));
    first.step().expect("a step");
    second.step().expect("a step");
    let colors = |world: &mut GpuWorld| -> Vec<u32> {
        world.snapshot().expect("a snapshot").contacts.iter().map(|contact| contact.color).collect()
    };
    assert_eq!(colors(&mut first), colors(&mut alone));
    let mut reference = CpuWorld::from_compiled(compile(&scene));
    reference.step().unwrap();
    assert_eq!(reference.snapshot().contacts.iter().map(|c| c.color).collect::<Vec<_>>(), colors(&mut first));
}
