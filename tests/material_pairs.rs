//! Friction and restitution by the table of pairs of materials, against laws that hold for the values of the table, on
//! all backends and in batches.

use crate::support::{BACKENDS, alone, context, cpu, gpu, hash_of, together};
use drystone::low_level::reference::Reference;
use drystone::low_level::scene::Compiled;
use drystone::{
    Body, BodyId, Emitter, Material, MaterialPair, Mixing, Property, Scene, Settings, Shape, ShapeProperty, World,
    WorldBatch, WorldError,
};
use drystone_validate::{ValidationOptions, validate};
use glam::Vec2;

const GRAVITY: f32 = 10.0;

/// A scene on one of the backends.
enum Runner {
    Reference(Box<Reference>),
    Alone(Box<World>),
    /// World of a batch, beside worlds with other tables and without one.
    InBatch(Box<WorldBatch>),
}

impl Runner {
    /// Returns position and velocity of a body after a step.
    fn step(&mut self, body: usize) -> (Vec2, Vec2) {
        let (pose, state) = match self {
            Self::Reference(reference) => {
                reference.step();
                let tables = reference.tables();
                (tables.poses[body], tables.states[body])
            }
            Self::Alone(world) => {
                world.step().unwrap();
                let snapshot = world.snapshot().unwrap();
                (snapshot.poses[body], snapshot.states[body])
            }
            Self::InBatch(worlds) => {
                worlds.step().unwrap();
                let snapshot = worlds.snapshot(1).unwrap();
                (snapshot.poses[body], snapshot.states[body])
            }
        };
        (pose.position.into(), state.velocity.into())
    }
}

/// Returns the scene on every backend, with its name.
fn runners(scene: &Scene) -> Vec<(String, Runner)> {
    let mut other = scene.clone();
    for pair in &mut other.material_pairs {
        pair.friction = pair.friction.map(|friction| 0.5 * friction);
        (pair.kinetic_friction, pair.restitution) = (None, pair.restitution.map(|restitution| 0.5 * restitution));
    }
    let plain = Scene { material_pairs: Vec::new(), ..scene.clone() };
    let threads = cpu(scene).with_threads(3).unwrap().with_sharing_from(0);
    let mut all = vec![
        ("reference".to_owned(), Runner::Reference(Box::new(Reference::new(scene).unwrap()))),
        ("3 threads".to_owned(), Runner::Alone(Box::new(threads.into()))),
    ];
    for backend in BACKENDS {
        all.push((backend.to_owned(), Runner::Alone(Box::new(alone(backend, scene)))));
        let worlds = together(backend, &[plain.clone(), scene.clone(), other.clone()]);
        all.push((format!("batch, {backend}"), Runner::InBatch(Box::new(worlds))));
    }
    all
}

fn of_friction(friction: f32) -> Material {
    Material { friction, ..Material::default() }
}

/// Returns a scene with a ground of rubber, and materials whose pairs with it have values of their own.
fn rink() -> Scene {
    let mut scene = Scene::new("rink").gravity(0.0, -GRAVITY);
    scene.add_material("ice", of_friction(0.05));
    let rubber = scene.add_material("rubber", Material { restitution: 0.8, ..of_friction(0.9) });
    scene.add_material("steel", of_friction(0.4));
    scene.add_material("cork", of_friction(0.7));
    scene.add_material_pair(MaterialPair::new("ice", "rubber").friction(0.3).restitution(0.5));
    scene.add_material_pair(MaterialPair::new("rubber", "rubber").friction(0.5));
    scene.add_material_pair(MaterialPair::new("rubber", "cork").friction(0.9).kinetic_friction(0.25));
    // No two shapes of these touch.
    scene.add_material_pair(MaterialPair::new("ice", "steel").friction(2.0).restitution(1.0));
    scene.add(Body::fixed(0.0, 0.0).shape(Shape::half_plane([0.0, 1.0], 0.0).material(rubber)));
    scene
}

fn crate_of(material: Material) -> Shape {
    Shape::half_box(0.5, 0.25).material(material)
}

/// Bodies on the ground with the coefficient of friction that acts while they slide.
fn sliders(scene: &Scene) -> [(Shape, f32); 6] {
    let of = |name: &str| crate_of(scene.material(name).expect(name));
    [
        (of("ice"), 0.3),
        (of("rubber"), 0.5),
        (of("cork"), 0.25),
        // In no pair with rubber, and without a name: mixed.
        (of("steel"), 0.6),
        (crate_of(of_friction(0.1)), 0.3),
        // The table holds for a shape with a friction of its own, too.
        (of("ice").friction(0.9), 0.3),
    ]
}

/// Returns the way of a box with 3 m/s until it rests, m.
fn way(runner: &mut Runner) -> f32 {
    let mut last = Vec2::ZERO;
    for _ in 0..150 {
        let (position, velocity) = runner.step(1);
        last = position;
        if velocity.x.abs() < 1e-3 {
            break;
        }
    }
    last.x
}

#[test]
fn boxes_slide_by_the_friction_of_the_table() {
    for (index, (shape, friction)) in sliders(&rink()).into_iter().enumerate() {
        let mut scene = rink();
        scene.add(Body::dynamic(0.0, 0.25).velocity(3.0, 0.0).shape(shape));
        let expected = 9.0 / (2.0 * friction * GRAVITY);
        for (name, mut runner) in runners(&scene) {
            let way = way(&mut runner);
            // A step's way at the first speed is the resolution of the time.
            assert!((way - expected).abs() < 0.01 * expected + 0.01, "{name}, {index}: {way} m, not {expected}");
        }
    }
}

/// Control: without the table, mixing misses its law by far.
#[test]
fn without_the_table_its_laws_are_missed() {
    for index in [0, 1, 2, 5] {
        let mut scene = rink();
        let (shape, friction) = sliders(&scene).into_iter().nth(index).unwrap();
        scene.material_pairs.clear();
        scene.add(Body::dynamic(0.0, 0.25).velocity(3.0, 0.0).shape(shape));
        let expected = 9.0 / (2.0 * friction * GRAVITY);
        for (name, mut runner) in runners(&scene) {
            let way = way(&mut runner);
            assert!((way - expected).abs() > 0.1 * expected, "{name}, {index}: {way} m, {expected} by the table");
        }
    }
}

/// A box of cork at rest holds up to the static friction of its pair, and slides by the kinetic one.
#[test]
fn static_friction_of_a_pair_holds() {
    for (push, holds) in [(0.87, true), (0.93, false)] {
        let mut scene = rink().gravity(push * GRAVITY, -GRAVITY);
        let cork = scene.material("cork").unwrap();
        scene.add(Body::dynamic(0.0, 0.1).shape(Shape::half_box(0.5, 0.1).material(cork)));
        for (name, mut runner) in runners(&scene) {
            let speed = (0..30).map(|_| runner.step(1).1.x).last().unwrap();
            let expected = if holds { 0.0 } else { (push - 0.25) * GRAVITY * 0.5 };
            assert!((speed - expected).abs() < 0.06 * expected + 0.01, "{name}, {push}: {speed}, not {expected}");
        }
    }
}

/// Height that a ball reaches after its first bounce, above the height at which it touches the ground, m.
fn height(runner: &mut Runner) -> f32 {
    let (mut highest, mut has_bounced) = (0.0_f32, false);
    for _ in 0..70 {
        let (position, velocity) = runner.step(1);
        has_bounced |= velocity.y > 0.0;
        if has_bounced {
            highest = highest.max(position.y - 0.5);
        }
    }
    highest
}

#[test]
fn balls_bounce_by_the_restitution_of_the_table() {
    // Ice does not bounce by itself, nor does steel, which is in no pair with rubber; rubber with itself has a friction
    // in the table and no restitution, which is mixed.
    for (name, restitution) in [("ice", 0.5_f32), ("steel", 0.0), ("rubber", 0.8)] {
        let mut scene = rink();
        let material = scene.material(name).unwrap();
        scene.add(Body::dynamic(0.0, 1.7).shape(Shape::circle(0.5).material(material)));
        let expected = 1.2 * restitution * restitution;
        for (backend, mut runner) in runners(&scene) {
            let height = height(&mut runner);
            assert!((height - expected).abs() < 0.02, "{backend}, {name}: {height} m, not {expected}");
        }
        if name == "ice" {
            scene.material_pairs.clear();
            for (backend, mut runner) in runners(&scene) {
                let height = height(&mut runner);
                assert!(height < 0.02, "{backend}, without the table: {height} m");
            }
        }
    }
}

/// A pair that does not bounce stops a ball that would by the mixing rule.
#[test]
fn a_pair_without_restitution_does_not_bounce() {
    for (table, expected) in [(Some(0.0), 0.0), (None, 1.2 * 0.64)] {
        let mut scene = rink().settings(Settings::default().restitution_mix(Mixing::Max));
        let steel = scene.material("steel").unwrap();
        if let Some(restitution) = table {
            scene.add_material_pair(MaterialPair::new("steel", "rubber").restitution(restitution));
        }
        scene.add(Body::dynamic(0.0, 1.7).shape(Shape::circle(0.5).material(steel)));
        for (name, mut runner) in runners(&scene) {
            let height = height(&mut runner);
            assert!((height - expected).abs() < 0.02, "{name}, {table:?}: {height} m, not {expected}");
        }
    }
}

/// Bodies that emitters make, that are added later and that are replaced slide by the table; setters keep the material.
#[test]
fn bodies_of_a_running_world_are_in_the_table() {
    let mut scene = rink();
    let [ice, cork] = ["ice", "cork"].map(|name| scene.material(name).unwrap());
    let slider = |x: f32, material: Material| Body::dynamic(x, 0.25).velocity(3.0, 0.0).shape(crate_of(material));
    scene.emit(Emitter::new([slider(100.0, ice)]));
    for (name, mut world) in [("cpu", cpu(&scene).into()), ("gpu", gpu(&scene).into())] as [(&str, World); 2] {
        world.step().unwrap();
        let late = world.add_bodies(&[slider(200.0, ice), slider(300.0, cork), slider(400.0, cork)]).unwrap();
        world.replace_body(late[2], &slider(400.0, ice)).unwrap();
        world.set(late[0], Property::Shapes(ShapeProperty::Friction(0.9))).unwrap();
        let foreign = slider(500.0, Material { index: Some(4), ..Material::default() });
        for result in
            [world.add_bodies(std::slice::from_ref(&foreign)).map(drop), world.replace_body(late[1], &foreign)]
        {
            let message = result.unwrap_err().to_string();
            let expected =
                "bodies[0].shapes[0].material: is 4; expected the index of a material of the scene, at most 3";
            assert!(message.contains(expected), "{message}");
        }
        (0..150).for_each(|_| world.step().unwrap());
        let ids: Vec<BodyId> = world.bodies().skip(1).collect();
        let starts = [100.0, 200.0, 300.0, 400.0];
        let ways: Vec<f32> =
            ids.iter().zip(starts).map(|(&id, start)| world.body(id).unwrap().position().x - start).collect();
        for (way, friction) in ways.iter().zip([0.3, 0.3, 0.25, 0.3]) {
            let expected = 9.0 / (2.0 * friction * GRAVITY);
            assert!((way - expected).abs() < 0.01 * expected + 0.01, "{name}: {ways:?}");
        }
    }
}

/// Every pair of sixteen materials has its own row of the table, in both orders of the names and of the shapes.
#[test]
fn each_of_all_pairs_has_its_own_values() {
    let mut scene = Scene::new("all pairs");
    let names: Vec<String> = (0..16).map(|index| format!("material {index}")).collect();
    for name in &names {
        let material = scene.add_material(name, Material::default());
        scene.add(Body::dynamic(0.0, 0.0).shape(Shape::circle(1.0).material(material)));
    }
    let value = |a: usize, b: usize| 0.01 * (16.0 * a.min(b) as f32 + a.max(b) as f32);
    for b in 0..16 {
        for a in 0..=b {
            let [first, second] = if (a + b) % 2 == 0 { [a, b] } else { [b, a] };
            let pair = MaterialPair::new(&names[first], &names[second]);
            scene.add_material_pair(pair.friction(value(a, b)).restitution(0.1 * value(a, b)));
        }
    }
    assert_eq!(scene.material_pairs.len(), drystone::low_level::types::MAX_MATERIAL_PAIRS);
    let compiled = Compiled::new(&scene).unwrap();
    for (a, shape_a) in compiled.shapes.iter().enumerate() {
        for (b, shape_b) in compiled.shapes.iter().enumerate() {
            let params = &compiled.params;
            let found = |table| params.of_pair(table, shape_a, shape_b);
            assert_eq!(found(&params.pair_friction), Some(value(a, b)), "{a}, {b}");
            assert_eq!(found(&params.pair_kinetic_friction), Some(value(a, b)), "{a}, {b}");
            assert_eq!(found(&params.pair_restitution), Some(0.1 * value(a, b)), "{a}, {b}");
        }
    }
    scene.add_material("one more", Material::default());
    assert_eq!(scene.check().unwrap_err().to_string(), "materials: has 17 materials; expected at most 16");
}

/// Returns bodies of all materials that fall on each other.
fn heap() -> Scene {
    let mut scene = rink();
    let materials = ["ice", "rubber", "steel", "cork"].map(|name| scene.material(name).unwrap());
    for index in 0..24_u8 {
        let material = if index % 5 == 4 { of_friction(0.3) } else { materials[usize::from(index % 5)] };
        let (x, y) = (f32::from(index % 4) * 0.7, 0.6 + f32::from(index / 4) * 1.1);
        let shape = if index % 3 == 0 { Shape::circle(0.4) } else { Shape::half_box(0.4, 0.3) };
        scene.add(Body::dynamic(x, y).velocity(1.0 - f32::from(index % 3), 0.0).shape(shape.material(material)));
    }
    scene
}

#[test]
fn backends_agree_on_a_heap_of_materials() {
    let report = validate(context(), &heap(), ValidationOptions { steps: 120, ..ValidationOptions::default() }, |_| {})
        .expect("a run");
    assert!(report.passed(), "{:?}", report.first_difference);
    let (mut reference, mut engine) = (Reference::new(&heap()).unwrap(), cpu(&heap()));
    let mut threads = cpu(&heap()).with_threads(3).unwrap().with_sharing_from(0);
    for step in 0..120 {
        reference.step();
        engine.step().unwrap();
        threads.step().unwrap();
        let tables = reference.tables();
        for (name, world) in [("cpu", &mut engine), ("3 threads", &mut threads)] {
            let snapshot = world.snapshot();
            assert!(snapshot.poses == tables.poses && snapshot.states == tables.states, "{name}, step {step}");
        }
    }
}

/// Names alone change nothing; another table is another world, and its snapshots are refused.
#[test]
fn snapshots_fit_worlds_with_the_same_table() {
    let nameless = |mut scene: Scene| {
        scene.material_pairs.clear();
        scene.materials.clear();
        let shapes = scene.bodies.iter_mut().flat_map(|body| &mut body.shapes);
        shapes.for_each(|shape| shape.material.index = None);
        scene
    };
    let run = |scene: &Scene| {
        let mut world: World = cpu(scene).into();
        (0..60).for_each(|_| world.step().unwrap());
        world
    };
    let mut world = run(&heap());
    let named = Scene { material_pairs: Vec::new(), ..heap() };
    assert_eq!(hash_of(&mut run(&named)), hash_of(&mut run(&nameless(heap()))));
    assert_ne!(hash_of(&mut world), hash_of(&mut run(&named)));
    let bytes = world.save().unwrap();
    let mut again: World = cpu(&heap()).into();
    again.load(&bytes).unwrap();
    let mut device: World = gpu(&heap()).into();
    device.load(&bytes).unwrap();
    for world in [&mut world, &mut again] {
        (0..60).for_each(|_| world.step().unwrap());
    }
    assert_eq!(hash_of(&mut world), hash_of(&mut again));
    let mut other = heap();
    other.material_pairs[0].restitution = Some(0.25);
    for scene in [other, named] {
        let error = World::from(cpu(&scene)).load(&bytes).unwrap_err();
        assert!(matches!(error, WorldError::Snapshot(_) | WorldError::SnapshotFile(_)), "{error}");
    }
}

/// Fingerprints of worlds with emitters contain the text of materials, which earlier releases wrote without an index.
#[test]
fn the_text_of_a_material_without_a_name_is_that_of_earlier_releases() {
    let expected = "Material { friction: 0.6, kinetic_friction: None, restitution: 0.0, tangent_speed: 0.0, \
                    rolling_resistance: 0.0 }";
    assert_eq!(format!("{:?}", Material::default()), expected);
    let named = Material { index: Some(3), ..Material::default() };
    assert_eq!(format!("{named:?}"), expected.replace(" }", ", index: 3 }"));
}

#[test]
fn mistakes_are_named_with_their_place() {
    type Change = fn(&mut Scene);
    let cases: [(Change, &str); 15] = [
        (
            |s| s.materials[1].material.index = None,
            "materials[1].index: is None; expected Some(1), as Scene::add_material sets it",
        ),
        (|s| s.materials[1].name.clear(), "materials[1].name: is empty; expected a name"),
        (
            |s| s.materials[2].name = "ice".into(),
            "materials[2].name: is \"ice\", as materials[0].name is; expected a name of its own",
        ),
        (|s| s.materials[0].material.friction = f32::NAN, "materials[0].friction: is not a number (NaN)"),
        (|s| s.materials[1].material.restitution = 1.5, "materials[1].restitution: is 1.5; expected a restitution"),
        (
            |s| s.material_pairs[1].materials[1] = "snow".into(),
            "material_pairs[1].materials[1]: is \"snow\", and no material has this name",
        ),
        (
            |s| s.add_material_pair(MaterialPair::new("rubber", "ice").friction(0.1)),
            "material_pairs[4].materials: is the pair of \"rubber\" and \"ice\", as material_pairs[0] is; expected each \
             pair once",
        ),
        (|s| s.material_pairs[0].friction = Some(-0.5), "material_pairs[0].friction: is -0.5; expected a coefficient"),
        (|s| s.material_pairs[0].friction = Some(f32::NAN), "material_pairs[0].friction: is not a number (NaN)"),
        (|s| s.material_pairs[0].restitution = Some(1.01), "material_pairs[0].restitution: is 1.01"),
        (|s| s.material_pairs[0].restitution = Some(f32::INFINITY), "material_pairs[0].restitution: is infinite"),
        (|s| s.material_pairs[2].kinetic_friction = Some(1.0), "material_pairs[2].kinetic_friction: is 1; expected a"),
        (
            |s| s.material_pairs[2].friction = None,
            "material_pairs[2].kinetic_friction: is given without friction; expected `friction` as well, or neither",
        ),
        (
            |s| s.material_pairs[1].friction = None,
            "material_pairs[1]: has neither friction, restitution nor contact_hertz; expected at least one of them",
        ),
        (
            |s| s.bodies[0].shapes[0].material.index = Some(9),
            "bodies[0].shapes[0].material: is 9; expected the index of a material of the scene, at most 3",
        ),
    ];
    for (change, expected) in cases {
        let mut scene = rink();
        scene.check().unwrap();
        change(&mut scene);
        let message = scene.check().unwrap_err().to_string();
        assert!(message.starts_with(expected), "{message}");
        assert!(World::new(&scene).is_err());
    }
    let mut scene = Scene::new("no materials");
    let shape = Shape::circle(1.0).material(Material { index: Some(0), ..Material::default() });
    scene.emit(Emitter::new([Body::dynamic(0.0, 0.0).shape(shape)]));
    let message = scene.check().unwrap_err().to_string();
    let expected =
        "emitters[0].bodies[0].shapes[0].material: is 0; expected no material, as the scene has none with a name";
    assert_eq!(message, expected);
}
