//! Hubs: bodies with more contacts than there are colours. Contacts beyond get shares of the hub (`color/split.rs`):
//! the same bits in every schedule, the laws of mechanics, and the rest of a solution in order.

use crate::support::{assert_equal_to_reference, build, context, cpu, gpu, gpu_with, is_finite};
use drystone::low_level::gpu::kernel::Patch;
use drystone::low_level::reference::Reference;
use drystone::low_level::types::OVERFLOW_COLOR;
use drystone::low_level::{CpuWorld, GpuWorld, state};
use drystone::{Body, Mixing, Mode, Scene, Shape, World};
use drystone_validate::{ValidationOptions, compare, validate};
use glam::Vec2;

/// Returns plates side by side on the ground, onto which boxes fall one after the other; some bounce, some roll.
fn plates(count: u16, boxes: u16) -> Scene {
    let mut scene = Scene::new("plates");
    scene.add(Body::fixed(0.0, 0.0).shape(Shape::half_plane([0.0, 1.0], 0.0)));
    for plate in 0..count {
        let width = 0.3 * f32::from(boxes);
        let middle = f32::from(plate) * (width + 1.0);
        scene.add(Body::dynamic(middle, 0.2).shape(Shape::half_box(0.5 * width, 0.2)));
        for index in 0..boxes {
            let x = middle + 0.3 * (f32::from(index) + 0.5) - 0.5 * width;
            let body = Body::dynamic(x, 0.54 + 0.02 * f32::from(index % 9));
            scene.add(if index % 4 == 0 {
                body.shape(Shape::circle(0.1).restitution(0.4).rolling_resistance(0.05))
            } else {
                body.shape(Shape::half_box(0.12, 0.1))
            });
        }
    }
    scene.settings.restitution_mix = Mixing::Max;
    scene
}

/// Returns a disc in space, onto which smaller ones fly from the upper half.
fn bombarded() -> Scene {
    const COUNT: u16 = 240;
    let mut scene = Scene::new("bombarded").gravity(0.0, 0.0);
    scene.add(Body::dynamic(0.0, 0.0).shape(Shape::circle(30.0)));
    for index in 0..COUNT {
        let out = Vec2::from_angle(std::f32::consts::PI * (f32::from(index) + 0.5) / f32::from(COUNT));
        let body = Body::dynamic(30.3 * out.x, 30.3 * out.y).velocity(-4.0 * out.x, -4.0 * out.y);
        scene.add(body.shape(Shape::circle(0.18).density(8.0)));
    }
    scene
}

/// Returns circles at one place: every pair touches, and there are more contacts than can be split.
fn crowd(circles: usize) -> Scene {
    let mut scene = Scene::new("crowd");
    scene.add(Body::fixed(0.0, -20.0).shape(Shape::half_box(50.0, 1.0)));
    for _ in 0..circles {
        scene.add(Body::dynamic(0.0, 0.0).shape(Shape::circle(0.5)));
    }
    scene
}

/// Returns engines with every schedule.
fn engines(scene: &Scene) -> Vec<CpuWorld> {
    let shared = |threads| cpu(scene).with_threads(threads).expect("threads").with_sharing_from(0);
    vec![
        cpu(scene).with_island_batches_of(0),
        cpu(scene).with_island_batches_of(9),
        shared(2).with_island_batches_of(0),
        shared(3).with_island_batches_of(0),
        shared(3).with_island_batches_of(40),
    ]
}

#[test]
fn every_schedule_gives_the_bits_of_the_reference() {
    let mut scenes = vec![plates(5, 60), plates(1, 200), bombarded(), crowd(80)];
    for mode in [Mode::Baumgarte, Mode::Projection] {
        let mut scene = plates(3, 50);
        scene.settings.mode = mode;
        scenes.push(scene);
    }
    let mut asleep = plates(2, 60);
    asleep.settings.sleep = true;
    scenes.push(asleep);
    for scene in scenes {
        let mut worlds = engines(&scene);
        let mut most = 0;
        assert_equal_to_reference(&scene.name, &mut worlds, 50, |_, world| {
            most = most.max(world.counters().color_size(OVERFLOW_COLOR));
        });
        assert!(most > 20, "{}: no hub", scene.name);
        assert!(scene.name == "crowd" || worlds[2].team_steps() > 0, "{}: no team", scene.name);
    }
    let mut worlds = engines(&plates(5, 60));
    assert_equal_to_reference("batches", &mut worlds, 30, |_, _| {});
    assert!(worlds[4].island_batch_count() > 1);
}

/// A device agrees with the reference stage by stage, also where more contacts overflow than can be split. Negative
/// control: shares that weigh as much as their body.
#[test]
fn a_device_agrees_with_the_reference() {
    let options = ValidationOptions { steps: 40, ..ValidationOptions::default() };
    for scene in [plates(2, 90), bombarded(), crowd(70)] {
        let steps = if scene.name == "crowd" { 3 } else { 40 };
        let report = validate(context(), &scene, ValidationOptions { steps, ..options }, |_| {}).expect("a run");
        assert_eq!(report.first_failure(), None, "{}: {:?}", scene.name, report.first_difference);
    }
    let scene = plates(2, 90);
    let patch = Patch {
        shader: "prepare",
        from: "inv *= vec4<f32>(vec2<f32>(f32(shares_a)), vec2<f32>(f32(shares_b)));",
        to: "",
    };
    let broken = GpuWorld::patched(context(), &scene, &[patch]).expect("patched");
    let report = compare(broken, &scene, options, |_| {}).expect("a run");
    assert_eq!(report.first_failure(), Some("prepare"), "{:?}", report.first_difference);
    let patch = Patch { shader: "hub", from: "states[body].velocity += sum.velocity / count;", to: "" };
    let broken = GpuWorld::patched(context(), &scene, &[patch]).expect("patched");
    let report = compare(broken, &scene, options, |_| {}).expect("a run");
    assert_eq!(report.first_failure(), Some("restitution"), "{:?}", report.first_difference);
}

/// Momentum and angular momentum of bodies in space stay, however many touch the hub. Negative control: a hub that
/// moves by twice the mean of its shares.
#[test]
fn a_hub_keeps_momentum() {
    let scene = bombarded();
    let change = |mut world: World| {
        let before = world.snapshot().expect("a snapshot");
        let first = state::metrics(world.compiled(), &before);
        let mut most = 0;
        for _ in 0..60 {
            world.step().expect("a step");
            most = most.max(world.snapshot().expect("a snapshot").counters.color_size(OVERFLOW_COLOR));
        }
        assert!(most > 200, "{most} contacts in the overflow");
        let after = world.snapshot().expect("a snapshot");
        let last = state::metrics(world.compiled(), &after);
        let hub_moved = last.max_speed;
        assert!(hub_moved < 4.5, "{hub_moved} m/s");
        let [x, y] = [0, 1].map(|axis| last.momentum[axis] - first.momentum[axis]);
        x.hypot(y) / first.momentum[1].abs()
    };
    for world in [cpu(&scene).into(), gpu(&scene).into()] {
        let change = change(world);
        assert!(change < 1e-4, "momentum changed by {change} of itself");
    }
    let patch = Patch {
        shader: "hub",
        from: "states[body].velocity += sum.velocity / count;",
        to: "states[body].velocity += 2.0 * sum.velocity / count;",
    };
    let broken = change(GpuWorld::patched(context(), &scene, &[patch]).expect("patched").into());
    assert!(broken > 0.01, "{broken}");
}

/// Depth, drift and rest are those of the contacts solved in order, one after the other.
#[test]
fn as_good_as_in_order() {
    for scene in [build("loaded_plate:boxes=300"), build("loaded_plate:boxes=300,thickness=0.2"), plates(2, 120)] {
        let [split, ordered] = [cpu(&scene), cpu(&scene).with_forced_overflow()].map(|mut world| {
            for _ in 0..300 {
                world.step().expect("a step");
            }
            let last = world.snapshot();
            assert!(is_finite(&last));
            state::metrics(world.compiled(), &last)
        });
        println!("{}: {split:?}\n{ordered:?}", scene.name);
        assert!(split.max_penetration < ordered.max_penetration.max(0.005) + 0.001, "{split:?}\n{ordered:?}");
        assert!(split.max_speed < ordered.max_speed.max(0.01) * 2.0, "{split:?}\n{ordered:?}");
        assert!((split.top_sink - ordered.top_sink).abs() < 0.01, "{split:?}\n{ordered:?}");
    }
}

/// Hubs come and go, and tables grow, without a trace: a world with little capacity, and one that
/// goes on from a snapshot.
#[test]
fn growth_leaves_no_trace() {
    let scene = plates(3, 80);
    let mut strict = scene.clone();
    strict.settings.strict = true;
    let mut little = gpu_with(&strict, 64);
    let mut ample = gpu_with(&strict, 4_096);
    for step in 0..40 {
        little.step().expect("a step");
        ample.step().expect("a step");
        if step == 20 {
            let snapshot = ample.snapshot().expect("a snapshot");
            ample = gpu_with(&strict, 8_192);
            ample.restore(&snapshot).expect("a snapshot of this world");
        }
        if step % 5 == 4 {
            let hashes = [&mut little, &mut ample].map(|world| state::hash(&world.snapshot().expect("a snapshot")));
            assert_eq!(hashes[0], hashes[1], "step {step}");
        }
    }
    // More bodies than the tables hold move the rows of the shares.
    let more: Vec<Body> =
        (0..700_u16).map(|index| Body::dynamic(0.1 * f32::from(index), 4.0).shape(Shape::circle(0.04))).collect();
    for world in [&mut little, &mut ample] {
        world.add_bodies(&more).expect("bodies");
        for _ in 0..20 {
            world.step().expect("a step");
        }
    }
    let hashes = [&mut little, &mut ample].map(|world| state::hash(&world.snapshot().expect("a snapshot")));
    assert_eq!(hashes[0], hashes[1]);
}

/// The reference splits the overflow by contact: without the split the plates move differently.
#[test]
fn splitting_matters() {
    let scene = plates(1, 90);
    let (mut split, mut ordered) =
        (Reference::new(&scene).unwrap(), Reference::new(&scene).unwrap().with_forced_overflow());
    for _ in 0..40 {
        split.step();
        ordered.step();
    }
    assert_ne!(split.tables().states, ordered.tables().states);
}
