//! Contact rules: a user's law about contacts, in WGSL on the device and as a Rust function on the CPU.

use std::collections::BTreeSet;

use drystone::low_level::gpu::shader::Composer;
use drystone::low_level::scene::ContactRule;
use drystone::low_level::types::RuleContact;
use drystone::low_level::{CpuWorld, GpuWorld};
use drystone::{Body, EventKind, Filter, Material, Scene, Shape, World, WorldBatch};
use drystone_rules::contact_rule;
use drystone_validate::{ValidationOptions, validate};
use wgpu::naga;

use crate::common::{Backend, near};
use crate::support::changes::{advance, floor};
use crate::support::{assert_equal_to_reference, context, cpu, full_hash, hash_of, on_all, pile};

const BACKENDS: [Backend; 3] = [Backend::Cpu1, Backend::Cpu3, Backend::Gpu];

/// Shapes of category 2 pass through all others.
const GHOSTS: &str = "
fn rule(contact: RuleContact) -> RuleContact {
    var solved = contact;
    if contact.category_a != contact.category_b && ((contact.category_a | contact.category_b) & 2u) != 0u {
        solved.touches = 0u;
    }
    return solved;
}";

/// Changes friction, restitution and speed of surfaces by speed and material, and drops some contacts.
const MIXED: &str = "
const FAST = 2.0;

fn is_even(body: u32) -> bool {
    return body % 2u == 0u;
}

fn rule(contact: RuleContact) -> RuleContact {
    var solved = contact;
    let speed = length(contact.velocity);
    if speed > FAST {
        solved.friction = 0.5 * contact.friction;
        solved.restitution = min(0.1 * speed, 0.4);
    }
    if is_even(contact.body_b) && contact.separation < 0.01 {
        solved.tangent_speed = 0.3;
    }
    let slots = 7u; /* a table's name // and @compute */
    if contact.is_new == 1u && contact.body_a % slots == 3u {
        solved.touches = 0u;
    }
    return solved;
}";

/// Gives a scene a rule.
fn rule(scene: &mut Scene, wgsl: &str) {
    scene.contact_rule = Some(contact_rule(wgsl).expect("a valid rule"));
}

fn of_category(shape: Shape, category: u32) -> Shape {
    shape.filter(Filter { category, ..Filter::default() })
}

/// A ghost falls as if alone, to the bit, and without an event; the body beside it lands.
#[test]
fn refused_contacts_are_no_contacts() {
    let mut scene = floor();
    (scene.settings.events, scene.settings.continuous) = (true, false);
    let [ghost, ball] = [(2, 10.0), (1, 5.0)].map(|(category, x)| {
        let shape = of_category(Shape::half_box(0.5, 0.5), category);
        scene.add(Body::dynamic(x, 1.0).shape(shape))
    });
    let mut alone = scene.clone();
    alone.bodies[0].position.y = -1000.0;
    rule(&mut scene, GHOSTS);
    for ((name, mut world), (_, mut alone)) in on_all(&scene).into_iter().zip(on_all(&alone)) {
        advance(&mut world, 60);
        advance(&mut alone, 60);
        assert_eq!(world.body(ghost).unwrap().position(), alone.body(ghost).unwrap().position(), "{name}");
        near("the other one lands", world.body(ball).unwrap().position().y, 0.5, 0.01);
        let begun = world.take_events().unwrap().into_iter().filter(|event| event.kind == EventKind::Begin).count();
        assert_eq!(begun, 1, "{name}");
    }
}

/// Friction, restitution and surface speed of a rule act as those of materials do.
#[test]
fn a_rule_acts_as_the_material_would() {
    type Change = fn(&mut Material);
    let cases: [(&str, &str, Change); 4] = [
        ("friction", "solved.friction = 0.1; solved.kinetic_friction = 0.1;", |material| {
            (material.friction, material.kinetic_friction) = (0.1, None);
        }),
        ("restitution", "solved.restitution = 0.8;", |material| material.restitution = 0.8),
        ("surface speed", "solved.tangent_speed = 3.0;", |material| material.tangent_speed = 1.5),
        ("rolling", "if max(contact.body_a, contact.body_b) == 2u { solved.rolling_resistance = 0.1; }", |material| {
            material.rolling_resistance = 0.2;
        }),
    ];
    for (what, line, change) in cases {
        let build = |material: Material| {
            let mut scene = floor();
            scene.bodies[0].shapes[0].material = material;
            let box_shape = Shape { material, ..Shape::half_box(0.5, 0.5) };
            let ball = Shape { material, ..Shape::circle(0.5) };
            scene.add(Body::dynamic(0.0, 2.0).velocity(4.0, 0.0).shape(box_shape));
            scene.add(Body::dynamic(-9.0, 2.0).velocity(4.0, 0.0).shape(ball));
            scene
        };
        let mut changed = Material::default();
        change(&mut changed);
        let mut by_rule = build(Material::default());
        rule(
            &mut by_rule,
            &format!("fn rule(contact: RuleContact) -> RuleContact {{ var solved = contact; {line} return solved; }}"),
        );
        for backend in BACKENDS {
            let position = |scene: &Scene| {
                let mut world = backend.world(scene);
                advance(&mut world, 120);
                [1, 2].map(|body| world.body(body).unwrap().position())
            };
            let (ruled, by_material, plain) =
                (position(&by_rule), position(&build(changed)), position(&build(Material::default())));
            for (ruled, wanted) in ruled.iter().zip(by_material) {
                assert!(ruled.distance(wanted) < 2e-4, "{what} on {backend:?}: {ruled} instead of {wanted}");
            }
            assert!(ruled[0].distance(plain[0]) > 0.1 || ruled[1].distance(plain[1]) > 0.1, "control: {what}");
        }
    }
}

/// A rule sees what touches: normal, velocity, separation, materials, bodies.
#[test]
fn a_rule_sees_the_contact() {
    let (send, receive) = std::sync::mpsc::channel();
    let mut scene = floor();
    scene.settings.continuous = false;
    let category = 4;
    scene.add(Body::dynamic(1.0, 0.505).velocity(3.0, -1.0).shape(of_category(Shape::half_box(0.5, 0.5), category)));
    scene.contact_rule =
        Some(ContactRule::new("fn rule(c: RuleContact) -> RuleContact { return c; }", move |contact| {
            let _ = send.send(contact);
            contact
        }));
    let mut world: World = cpu(&scene).into();
    advance(&mut world, 2);
    let seen: Vec<RuleContact> = receive.try_iter().collect();
    let first = seen[0];
    // Whichever of the two is A.
    let sign = if first.body_a == 1 { -1.0 } else { 1.0 };
    near("normal", sign * first.normal[1], 1.0, 1e-5);
    near("along", sign * first.velocity[0], 3.0, 1e-5);
    near("across", sign * first.velocity[1], -1.0, 1e-5);
    near("separation", first.separation, 0.005, 1e-4);
    assert_eq!((first.touches, first.is_new, first.category_a | first.category_b), (1, 1, 5));
    assert_eq!(first.body_a + first.body_b, 1);
    assert_eq!(seen.last().unwrap().is_new, 0, "it touched before");
}

/// A rule that changes nothing leaves every bit, and one that does not, does not; both are the same on the reference,
/// and on any number of threads with any schedule.
#[test]
fn engines_of_the_cpu_agree() {
    let mut scene = pile(7, 60);
    rule(&mut scene, "fn rule(contact: RuleContact) -> RuleContact { return contact; }");
    let hash = |world: CpuWorld| {
        let mut world = world;
        for _ in 0..120 {
            world.step().unwrap();
        }
        full_hash(&world.snapshot())
    };
    let idle = hash(cpu(&scene));
    rule(&mut scene, MIXED);
    let ruled = hash(cpu(&scene));
    assert_ne!(ruled, idle);
    assert_eq!(hash(cpu(&scene).with_threads(3).unwrap().with_sharing_from(0)), ruled);
    assert_eq!(hash(cpu(&scene).with_island_batches_of(4)), ruled);
    scene.settings.sleep = true;
    let mut worlds = [cpu(&scene), cpu(&scene).with_threads(3).unwrap().with_sharing_from(0)];
    assert_equal_to_reference("a ruled pile", &mut worlds, 90, |_, _| {});
}

/// The device follows the reference stage by stage; a rule whose two forms differ is found.
#[test]
fn the_device_follows_the_reference() {
    let mut scene = pile(11, 40);
    scene.settings.sleep = true;
    rule(&mut scene, MIXED);
    let report = |scene: &Scene| {
        let options = ValidationOptions { steps: 90, ..ValidationOptions::default() };
        validate(context(), scene, options, |_| {}).expect("a run")
    };
    let same = report(&scene);
    assert!(same.passed(), "{:#?}", same.first_difference);
    scene.contact_rule = Some(ContactRule::new(MIXED, |contact| contact));
    assert!(!report(&scene).passed(), "control");
}

/// Worlds of a batch step as alone, on both engines. On a device they need the same rule; a pile without one joins no
/// ruled batch.
#[test]
fn batches_have_rules() {
    let scenes: Vec<Scene> = [3, 4, 5]
        .map(|seed| {
            let mut scene = pile(seed, 20);
            rule(&mut scene, MIXED);
            scene
        })
        .into();
    let engines = [WorldBatch::on_cpu(&scenes, 2).unwrap(), WorldBatch::on_gpu(context(), &scenes).unwrap()];
    for (is_gpu, mut batch) in [false, true].into_iter().zip(engines) {
        for _ in 0..60 {
            batch.step().unwrap();
        }
        for (scene, hash) in scenes.iter().zip(batch.hashes().unwrap()) {
            let mut alone = if is_gpu { Backend::Gpu.world(scene) } else { Backend::Cpu1.world(scene) };
            advance(&mut alone, 60);
            assert_eq!(hash, hash_of(&mut alone));
        }
        batch.leave_empty(1).unwrap();
        batch.replace(1, &scenes[0]).unwrap();
        let other = batch.replace(2, &pile(5, 20));
        assert_eq!(other.is_ok(), !is_gpu);
        if let Err(error) = other {
            assert!(error.to_string().contains("contact rule"), "{error}");
        }
    }
    let mixed = [scenes[0].clone(), pile(4, 20)];
    assert!(WorldBatch::on_gpu(context(), &mixed).unwrap_err().to_string().contains("contact rule"));
}

/// Snapshots belong to worlds with the same rule.
#[test]
fn snapshots_know_the_rule() {
    let mut scene = pile(3, 20);
    rule(&mut scene, MIXED);
    for (_, mut world) in on_all(&scene) {
        advance(&mut world, 30);
        let before = world.snapshot().unwrap();
        advance(&mut world, 30);
        let after = hash_of(&mut world);
        world.restore(&before).unwrap();
        advance(&mut world, 30);
        assert_eq!(hash_of(&mut world), after);
    }
    let mut plain: World = cpu(&pile(3, 20)).into();
    let mut ruled: World = cpu(&scene).into();
    assert!(plain.restore(&ruled.snapshot().unwrap()).is_err());
    assert!(ruled.restore(&plain.snapshot().unwrap()).is_err());
}

/// WGSL that a device cannot compile is an error that names its line; values that are no numbers, or out of range, do
/// no harm.
#[test]
fn bad_rules_do_no_harm() {
    let mut scene = pile(3, 20);
    let same = |contact| contact;
    scene.contact_rule =
        Some(ContactRule::new("fn rule(contact: RuleContact) -> RuleContact {\n    retrun contact;\n}", same));
    let error = GpuWorld::new(context(), &scene).unwrap_err().to_string();
    assert!(error.contains("own_rule.wgsl:2"), "{error}");
    // Infinity and a NaN that no compiler knows in advance.
    let wild = "fn rule(contact: RuleContact) -> RuleContact {
        var solved = contact;
        let zero = contact.normal.x * 0.0;
        solved.friction = 1.0 / zero;
        solved.kinetic_friction = -4.0;
        solved.restitution = zero / zero;
        solved.tangent_speed = log(zero - 1.0);
        solved.rolling_resistance = -1.0;
        return solved;
    }";
    rule(&mut scene, wild);
    for (name, mut world) in on_all(&scene) {
        advance(&mut world, 60);
        for body in 0..world.compiled().bodies.len() {
            assert!(world.body(body).unwrap().position().is_finite(), "{name}");
        }
    }
}

/// A name that the kernel has is refused by the check of a rule, and not only where a GPU compiles it.
#[test]
fn names_of_the_kernel_are_taken() {
    let names = |text: &str| -> BTreeSet<String> {
        let module =
            naga::front::wgsl::parse_str(text).unwrap_or_else(|error| panic!("{}", error.emit_to_string(text)));
        let functions = module.functions.iter().filter_map(|(_, function)| function.name.clone());
        let tables = module.global_variables.iter().filter_map(|(_, table)| table.name.clone());
        let constants = module.constants.iter().filter_map(|(_, constant)| constant.name.clone());
        let types = module.types.iter().filter_map(|(_, of)| of.name.clone());
        let points = module.entry_points.iter().map(|point| point.name.clone());
        functions.chain(tables).chain(constants).chain(types).chain(points).collect()
    };
    let known = names(ContactRule::PRELUDE);
    let kernel = Composer::SOLVER.compose("rule").unwrap();
    for text in [kernel.text().to_owned(), kernel.clone().batched().text().to_owned()] {
        let free: Vec<_> = names(&text).difference(&known).cloned().collect();
        assert_eq!(free, ["rule"]);
    }
    let error = contact_rule("fn velocity_at() {}\nfn rule(c: RuleContact) -> RuleContact { return c; }").unwrap_err();
    assert!(error.to_string().contains("velocity_at"), "{error}");
}
