//! Stiffness and damping of contacts by material: the sag of a body at rest is that of its spring, whichever of two
//! materials gives it, on all backends and in batches.

use std::f32::consts::TAU;

use crate::support::{BACKENDS, alone, context, cpu, together};
use drystone::low_level::reference::Reference;
use drystone::{Body, Material, MaterialPair, Scene, Shape, World, WorldBatch};
use drystone_validate::{ValidationOptions, validate};

const GRAVITY: f32 = 9.81;
/// Stiffnesses, Hz.
const RUBBER: f32 = 10.0;
const FOAM: f32 = 6.0;
const FOAM_ON_STEEL: f32 = 8.0;

/// Balls of different materials, each on a slab: three of steel, then two of rubber.
fn balls() -> Scene {
    let mut scene = Scene::new("balls").gravity(0.0, -GRAVITY);
    let steel = scene.add_material("steel", Material::default());
    let rubber = scene.add_material("rubber", Material::default());
    let foam = scene.add_material("foam", Material::default());
    (scene.materials[1].contact_hertz, scene.materials[1].contact_damping_ratio) = (Some(RUBBER), Some(1.0));
    scene.materials[2].contact_hertz = Some(FOAM);
    scene.add_material_pair(MaterialPair::new("foam", "steel").contact_softness(FOAM_ON_STEEL, 2.0));
    let ground = |x: f32, material: Material| Body::fixed(x, -0.5).shape(Shape::half_box(1.9, 0.5).material(material));
    for (place, under) in [(0.0, steel), (4.0, steel), (8.0, steel), (12.0, rubber), (16.0, rubber)] {
        scene.add(ground(place, under));
    }
    let unnamed = Material::default();
    for (place, of) in [(0.0, steel), (4.0, rubber), (8.0, foam), (12.0, unnamed), (16.0, foam)] {
        scene.add(Body::dynamic(place, 0.5).shape(Shape::circle(0.5).material(of)));
    }
    scene
}

/// Sag on a fixed body, whose contacts have twice the frequency, m.
fn sag(hertz: f32) -> f32 {
    GRAVITY / (TAU * 2.0 * hertz).powi(2)
}

/// Returns the sag of each ball of [`balls`], m.
fn sags() -> [f32; 5] {
    // Steel on steel has the spring of the settings, preloaded: nothing.
    [0.0, sag(RUBBER), sag(FOAM_ON_STEEL), sag(RUBBER), sag(FOAM)]
}

fn check(name: &str, heights: &[f32]) {
    for (ball, (height, expected)) in heights.iter().zip(sags()).enumerate() {
        let sag = 0.5 - height;
        assert!((sag - expected).abs() <= 0.01 * expected + 2e-5, "{name}, ball {ball}: {sag}, expected {expected}");
    }
    // The kinds differ by more than the tolerance, so that a wrong one is noticed.
    let [_, rubber, foam_on_steel, _, foam] = sags();
    assert!(foam_on_steel > 1.2 * rubber && foam > 1.2 * foam_on_steel);
}

#[test]
fn balls_sag_by_their_springs() {
    let scene = balls();
    let heights = |positions: &[[f32; 2]]| positions.iter().skip(5).map(|position| position[1]).collect::<Vec<_>>();
    let mut reference = Reference::new(&scene).unwrap();
    (0..300).for_each(|_| reference.step());
    let poses: Vec<[f32; 2]> = reference.tables().poses.iter().map(|pose| pose.position).collect();
    check("reference", &heights(&poses));
    let threads: World = cpu(&scene).with_threads(3).unwrap().with_sharing_from(0).into();
    let mut worlds = vec![("3 threads", threads)];
    worlds.extend(BACKENDS.map(|backend| (backend, alone(backend, &scene))));
    for (name, mut world) in worlds {
        (0..300).for_each(|_| world.step().unwrap());
        let found: Vec<[f32; 2]> = world.snapshot().unwrap().poses.iter().map(|pose| pose.position).collect();
        check(name, &heights(&found));
        assert!(name == "gpu" || found == poses, "{name}: the bits of the reference");
    }
    for backend in BACKENDS {
        let plain = Scene { materials: Vec::new(), material_pairs: Vec::new(), ..Scene::new("plain") };
        let mut batch: WorldBatch = together(backend, &[plain, scene.clone()]);
        (0..300).for_each(|_| batch.step().unwrap());
        let poses: Vec<[f32; 2]> = batch.snapshot(1).unwrap().poses.iter().map(|pose| pose.position).collect();
        check(&format!("batch, {backend}"), &heights(&poses));
    }
}

/// Both engines agree stage by stage.
#[test]
fn springs_have_a_twin() {
    let options = ValidationOptions { steps: 40, ..ValidationOptions::default() };
    let report = validate(context(), &balls(), options, |_| {}).unwrap();
    assert!(report.passed(), "{:?}", report.first_difference);
}

/// A spring of high damping gives way more slowly, and as far in the end.
#[test]
fn damping_is_that_of_the_pair() {
    const HERTZ: f32 = 3.0;
    let sags = |damping_ratio: f32| {
        let mut scene = Scene::new("sag").gravity(0.0, -GRAVITY);
        let rubber = scene.add_material("rubber", Material::default());
        scene.add_material_pair(MaterialPair::new("rubber", "rubber").contact_softness(HERTZ, damping_ratio));
        scene.add(Body::fixed(0.0, -0.5).shape(Shape::half_box(2.0, 0.5).material(rubber)));
        let ball = scene.add(Body::dynamic(0.0, 0.5).shape(Shape::circle(0.5).material(rubber)));
        let mut world = World::new(&scene).unwrap();
        [12, 1_200].map(|steps| {
            (0..steps).for_each(|_| world.step().unwrap());
            0.5 - world.body(ball).unwrap().position().y
        })
    };
    let [[soon, end], [late, late_end]] = [1.0, 20.0].map(sags);
    assert!(soon > 2.0 * late, "{soon}, {late}");
    for end in [end, late_end] {
        assert!((end - sag(HERTZ)).abs() < 0.01 * sag(HERTZ), "{end}, expected {}", sag(HERTZ));
    }
}

type Change = fn(&mut Scene);

/// Values out of range, a damping ratio alone and too many different springs are refused with the place.
#[test]
fn mistakes_are_refused() {
    let with = |change: Change| {
        let mut scene = balls();
        change(&mut scene);
        scene.check().map_or_else(|error| error.to_string(), |()| "nothing".to_owned())
    };
    let cases: [(Change, &str); 4] = [
        (|s| s.materials[1].contact_hertz = Some(0.0), "materials[1].contact_hertz: is 0; expected a frequency"),
        (|s| s.materials[1].contact_hertz = None, "materials[1].contact_damping_ratio: is given without contact_hertz"),
        (
            |s| s.material_pairs[0].contact_damping_ratio = Some(f32::NAN),
            "material_pairs[0].contact_damping_ratio: is not a number",
        ),
        (
            |s| {
                for index in 0..8_u8 {
                    s.add_material(format!("{index}"), Material::default());
                    s.materials.last_mut().unwrap().contact_hertz = Some(20.0 + f32::from(index));
                }
            },
            "materials: has 11 different contact springs",
        ),
    ];
    for (change, expected) in cases {
        let message = with(change);
        assert!(message.starts_with(expected), "{message}");
    }
}
