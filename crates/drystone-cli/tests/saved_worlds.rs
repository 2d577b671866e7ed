//! Saved worlds: saved after any change, they are resumed from the file alone to the same bits, or refused with a
//! reason.

#[path = "../../../tests/support/mod.rs"]
mod support;

use std::process::Command as Process;

use drystone::low_level::{Alteration, Journal};
use drystone::low_level::{CpuWorld, state};
use drystone::{Body, Emitter, Joint, JointCommand, JointKind, Scene, Shape, World};
use drystone_scenes::SavedWorld;
use support::{cpu, gpu, pile};

fn hash(world: &mut World) -> u64 {
    state::hash(&world.snapshot().unwrap())
}

fn steps(world: &mut World, count: u32) {
    (0..count).for_each(|_| world.step().unwrap());
}

/// Scene with a sleeping heap, a motor, a spring without a given length, and an emitter.
fn scene() -> Scene {
    let mut scene = pile(3, 30);
    scene.settings.sleep = true;
    let a = scene.add(Body::dynamic(20.0, 3.0).id("a").shape(Shape::half_box(0.5, 0.1)));
    let b = scene.add(Body::dynamic(21.0, 3.0).shape(Shape::circle(0.3)));
    let mut hinge = Joint::to_world(JointKind::hinge(), a).anchors([20.0, 3.0], [0.0, 0.0]);
    if let JointKind::Revolute { motor, .. } = &mut hinge.kind {
        *motor = Some(drystone::Motor { speed: 2.0, max: 50.0 });
    }
    scene.join(hinge);
    scene.join(Joint::new(JointKind::Spring { rest_length: None, stiffness: 40.0, damping: 0.5 }, a, b));
    scene.emit(Emitter {
        every: Some(20),
        count: Some(6),
        ..Emitter::new([Body::dynamic(0.0, 30.0).shape(Shape::circle(0.25))])
    });
    scene
}

/// Makes the changes of a user in a world, and writes them into a journal.
fn change(world: &mut World) -> Journal {
    let mut journal = Journal::default();
    let mut note = |world: &mut World, change: Alteration| journal.push(world.steps(), change);
    steps(world, 15);
    let bodies = vec![
        Body::dynamic(-1.0, 25.0).shape(Shape::half_box(0.4, 0.4)),
        Body::fixed(4.0, 10.0).shape(Shape::half_box(2.0, 0.2)),
    ];
    let ids = world.add_bodies(&bodies).unwrap();
    note(world, Alteration::AddBodies(bodies));
    steps(world, 10);
    let pull = Joint::to_world(JointKind::Mouse { target: [3.0, 12.0].into(), max_force: 500.0 }, 0);
    let hinge = Joint::new(JointKind::weld(), 0, 0).anchors([1.0, 1.0], [0.0, 0.0]);
    let ties = vec![(None, ids[0], pull), (Some(ids[1]), ids[0], hinge)];
    let joints = world.add_joints_between(&ties).unwrap();
    note(world, Alteration::AddJointsBetween(ties));
    world.command_joint(joints[0], JointCommand::Target([2.0, 14.0].into())).unwrap();
    steps(world, 10);
    world.remove_joints(&joints[1..]).unwrap();
    note(world, Alteration::RemoveJoints(joints[1..].to_vec()));
    let old = world.body_id(2).unwrap();
    world.remove_bodies(&[old]).unwrap();
    note(world, Alteration::RemoveBodies(vec![old]));
    steps(world, 1);
    // Reuses the slot of the removed body.
    let late = vec![Body::dynamic(-3.0, 20.0).shape(Shape::circle(0.4))];
    world.add_bodies(&late).unwrap();
    note(world, Alteration::AddBodies(late));
    let arm = world.joint_id(0).unwrap();
    world.command_joint(arm, JointCommand::Motor { speed: -3.0, max: 60.0 }).unwrap();
    world.command(0, drystone::Command::Wake).unwrap_or_default();
    steps(world, 20);
    journal
}

#[test]
fn a_changed_world_goes_on_alone_to_the_same_bits() {
    for make in [|scene: &Scene| World::from(cpu(scene)), |scene: &Scene| World::from(gpu(scene))] {
        let mut first = make(&scene());
        let journal = change(&mut first);
        let bytes = SavedWorld::new(&scene(), journal.clone(), &mut first).unwrap().to_bytes().unwrap();
        let saved = SavedWorld::from_bytes(&bytes).unwrap();
        assert_eq!((saved.steps(), &saved.scene, &saved.journal), (first.steps(), &scene(), &journal));
        let mut second = make(&saved.scene);
        saved.resume(&mut second).unwrap();
        assert_eq!(SavedWorld::new(&saved.scene, journal.clone(), &mut second).unwrap().to_bytes().unwrap(), bytes);
        for step in 0..100 {
            first.step().unwrap();
            second.step().unwrap();
            assert_eq!(hash(&mut first), hash(&mut second), "{step} steps on");
        }
        // Without the changes the state differs.
        let bare = {
            let mut bare = saved;
            bare.journal = Journal::default();
            bare
        };
        assert!(bare.resume(&mut make(&bare.scene)).is_err());
    }
}

/// Changes of gravity, which the window makes, are read from the journal.
#[test]
fn gravity_of_the_journal_counts() {
    let scene = pile(3, 4);
    let mut heavy = scene.clone();
    heavy.gravity = [0.0, -3.0].into();
    let mut world: World = cpu(&heavy).into();
    let mut saved = SavedWorld::new(&scene, Journal::default(), &mut world).unwrap();
    assert!(saved.resume(&mut cpu(&scene).into()).is_err(), "the gravity is another one");
    saved.journal.push(0, Alteration::Gravity(heavy.gravity));
    for make in [|scene: &Scene| World::from(cpu(scene)), |scene: &Scene| World::from(gpu(scene))] {
        let [mut one, mut other] = [make(&heavy), make(&scene)];
        saved.resume(&mut other).unwrap();
        steps(&mut one, 30);
        steps(&mut other, 30);
        assert_eq!(hash(&mut one), hash(&mut other));
    }
    saved.journal.push(0, Alteration::Gravity([f32::NAN, 0.0].into()));
    assert!(saved.resume(&mut cpu(&scene).into()).is_err());
}

#[test]
fn every_changed_byte_is_noticed_and_told_where() {
    let scene = pile(5, 6);
    let mut world: World = cpu(&scene).into();
    steps(&mut world, 30);
    let mut journal = Journal::default();
    journal.push(30, Alteration::Gravity([0.0, -1.0].into()));
    let bytes = SavedWorld::new(&scene, journal, &mut world).unwrap().to_bytes().unwrap();
    SavedWorld::from_bytes(&bytes).unwrap();
    let part_of = |at: usize| {
        let length = |part: usize| u64::from_le_bytes(bytes[16 + 12 * part..][..8].try_into().unwrap());
        let ends = [52, 52 + length(0), 52 + length(0) + length(1)];
        ["directory", "scene", "edits", "state"][ends.iter().filter(|&&end| at as u64 >= end).count()]
    };
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 1 << (at % 8);
        let error = SavedWorld::from_bytes(&changed).unwrap_err().to_string();
        match at {
            0..8 => assert!(error.contains("is not a saved world"), "byte {at}: {error}"),
            8..12 => assert!(error.contains("has version"), "byte {at}: {error}"),
            _ => assert!(error.contains(&format!("is damaged in its {}, bytes ", part_of(at))), "byte {at}: {error}"),
        }
    }
    for length in 0..bytes.len() {
        let error = SavedWorld::from_bytes(&bytes[..length]).unwrap_err().to_string();
        match length {
            0..8 => assert!(error.contains("is not a saved world"), "{length}: {error}"),
            _ => assert!(error.contains(&format!("it is truncated in its {}", part_of(length))), "{length}: {error}"),
        }
    }
    let longer = [&bytes[..], b"x"].concat();
    assert!(SavedWorld::from_bytes(&longer).unwrap_err().to_string().contains("extra bytes follow its state"));
    // A stated length allocates no memory before its content is read.
    let mut endless = bytes.clone();
    endless[16..24].fill(0xff);
    let sealed = crc32fast::hash(&endless[16..52]);
    endless[12..16].copy_from_slice(&sealed.to_le_bytes());
    assert!(SavedWorld::from_bytes(&endless).unwrap_err().to_string().contains("it is truncated in its scene"));
    let state = world.save().unwrap();
    assert!(SavedWorld::from_bytes(&state).unwrap_err().to_string().contains("a state and no scene"));
}

/// Saved world with another number of steps, and valid checksums.
fn forged(mut bytes: Vec<u8>, steps: u64) -> Vec<u8> {
    let length = |part: usize| u64::from_le_bytes(bytes[16 + 12 * part..][..8].try_into().unwrap());
    let state = usize::try_from(52 + length(0) + length(1)).unwrap();
    bytes[state + 24..][..8].copy_from_slice(&steps.to_le_bytes());
    let end = bytes.len() - 4;
    let seals = [(end, state..end), (48, state..end + 4), (12, 16..52)];
    for (at, range) in seals {
        let seal = crc32fast::hash(&bytes[range]);
        bytes[at..at + 4].copy_from_slice(&seal.to_le_bytes());
    }
    bytes
}

/// The steps that a file claims are not replayed one by one, only those at which bodies come or go: a file that claims
/// many steps opens at once, and is refused at once if emitters would have too much to do.
#[test]
fn many_steps_that_a_file_claims_take_no_time() {
    for make in [|scene: &Scene| World::from(cpu(scene)), |scene: &Scene| World::from(gpu(scene))] {
        let resume = |scene: &Scene, until: u64, claimed: u64| {
            let mut world = make(scene);
            let late = vec![Body::dynamic(5.0, 25.0).shape(Shape::circle(0.5))];
            world.add_bodies(&late).unwrap();
            let mut journal = Journal::default();
            journal.push(0, Alteration::AddBodies(late));
            while world.steps() < until {
                world.step().unwrap();
            }
            let bytes = SavedWorld::new(scene, journal, &mut world).unwrap().to_bytes().unwrap();
            assert_eq!(forged(bytes.clone(), until), bytes, "nothing but the number of steps is changed");
            let saved = SavedWorld::from_bytes(&forged(bytes, claimed)).map_err(|error| error.to_string())?;
            let mut other = make(scene);
            saved.resume(&mut other).map_err(|error| error.to_string())?;
            other.step().unwrap();
            saved.to_scene().map_err(|error| error.to_string())?;
            Ok::<u64, String>(other.steps())
        };
        let far = 1 << 52;
        assert_eq!(resume(&pile(2, 2), 3, far), Ok(far + 1));
        let error = resume(&pile(2, 2), 3, 1 << 62).unwrap_err();
        assert!(error.contains("is of step 4611686018427387904; expected at most"), "{error}");
        let mut rain = pile(2, 2);
        let drop = Emitter::new([Body::dynamic(0.0, 30.0).shape(Shape::circle(0.25))]).every(1);
        // All drops came long before: the bodies are the same.
        rain.emit(drop.clone().count(3));
        assert_eq!(resume(&rain, 9, far), Ok(far + 1));
        rain.emit(drop.keep(2));
        let error = resume(&rain, 9, far).unwrap_err();
        assert!(error.contains("steps with batches of emitters to replay, or more"), "{error}");
    }
}

/// A saved world names its difference from another scene.
#[test]
fn another_scene_is_told_apart() {
    let scene = scene();
    let mut world: World = cpu(&scene).into();
    let saved = SavedWorld::new(&scene, Journal::default(), &mut world).unwrap();
    let differs = |change: fn(&mut Scene)| {
        let mut other = scene.clone();
        change(&mut other);
        saved.difference(&other).unwrap_or_default()
    };
    assert_eq!(differs(|_| ()), "");
    assert_eq!(differs(|scene| "another name".clone_into(&mut scene.name)), "");
    assert_eq!(
        differs(|scene| scene.settings.sleep = false),
        "settings.sleep is at its default, but true in the saved world"
    );
    let substeps = differs(|scene| scene.settings.substeps = Some(8));
    assert_eq!(substeps, "settings.substeps is 8, but at its default in the saved world");
    assert!(differs(|scene| scene.gravity.x = 1.0).starts_with("gravity is "));
    assert!(differs(|scene| drop(scene.bodies.pop())).contains("bodies, the saved one "));
    assert_eq!(differs(|scene| scene.bodies[4].position.x += 1.0), "bodies[4] differs");
    assert_eq!(differs(|scene| scene.joints[1].collide = true), "joints[1] differs");
}

/// A scene made of a world starts with the state of the world, and needs no other file.
#[test]
fn a_world_becomes_a_scene() {
    let mut world: World = cpu(&scene()).into();
    let journal = change(&mut world);
    let saved = SavedWorld::new(&scene(), journal, &mut world).unwrap();
    let now = saved.to_scene().unwrap();
    let text = drystone_scenes::file::write_json(&now);
    assert_eq!(drystone_scenes::file::parse(&text, "now.json").unwrap(), now);
    let snapshot = world.snapshot().unwrap();
    let before = state::body_states(world.compiled(), &snapshot);
    let mut again: World = cpu(&now).into();
    let first = again.snapshot().unwrap();
    let after = state::body_states(again.compiled(), &first);
    assert_eq!(before.len(), after.len());
    for (index, (before, after)) in before.iter().zip(&after).enumerate() {
        let near = |a: &[f32], b: &[f32]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-5);
        assert!(near(&before.position, &after.position), "body {index}: {before:?} {after:?}");
        assert!(near(&[before.angle.sin(), before.angle.cos()], &[after.angle.sin(), after.angle.cos()]));
        assert_eq!((before.velocity, &before.id), (after.velocity, &after.id));
    }
    // The mouse joint is left out; the motor keeps its command, and the spring its measured length.
    assert_eq!(now.joints.len(), 2);
    assert!(matches!(&now.joints[0].kind, JointKind::Revolute { motor: Some(motor), .. } if motor.speed == -3.0));
    assert!(
        matches!(&now.joints[1].kind, JointKind::Spring { rest_length: Some(length), .. } if (length - 1.0).abs() < 1e-6)
    );
    // Three batches came in 56 steps; the next comes at step 60.
    assert_eq!((now.emitters[0].start, now.emitters[0].count), (4, Some(3)));
    let reactions = |world: &mut World| world.joint_reactions().unwrap();
    let (old, new) = (reactions(&mut world), reactions(&mut again));
    assert!((old[0].angle - new[0].angle).abs() < 1e-4, "full turns are counted on: {} {}", old[0].angle, new[0].angle);
    steps(&mut again, 60);
    steps(&mut world, 60);
    assert_eq!(again.compiled().bodies.len(), world.compiled().bodies.len(), "the emitter goes on");
    // A world without a step becomes the scene from which it was made.
    for spec in ["large_pyramid:base=4", "rod_chain", "ragdoll", "bridge", "springs", "particles_in_a_turning_box"] {
        let scene = drystone_scenes::catalogue::build(spec).unwrap();
        let mut world: World = cpu(&scene).into();
        let now = SavedWorld::new(&scene, Journal::default(), &mut world).unwrap().to_scene().unwrap();
        assert_eq!(hash(&mut cpu(&now).into()), hash(&mut world), "{spec}");
        let mut again: World = cpu(&now).into();
        steps(&mut world, 20);
        steps(&mut again, 20);
        assert_eq!(hash(&mut again), hash(&mut world), "{spec}");
    }
}

/// Every scene of the catalogue is the same after being written and read as text.
#[test]
fn scenes_of_the_catalogue_are_carried() {
    for entry in drystone_scenes::catalogue::entries() {
        let scene = drystone_scenes::catalogue::build(entry.name).unwrap();
        if scene.bodies.len() > 4000 {
            continue;
        }
        let mut world: World = CpuWorld::new(&scene).unwrap().into();
        let bytes = SavedWorld::new(&scene, Journal::default(), &mut world).unwrap().to_bytes().unwrap();
        let saved = SavedWorld::from_bytes(&bytes).unwrap();
        assert_eq!(saved.difference(&scene), None, "{}", entry.name);
        saved.resume(&mut CpuWorld::new(&saved.scene).unwrap().into()).unwrap();
    }
}

/// The command resumes a file alone; with another scene or other settings it names the difference; files of earlier
/// releases are resumed with their scene.
#[test]
fn the_command_goes_on_with_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let run = |arguments: &[&str]| {
        let output = Process::new(env!("CARGO_BIN_EXE_drystone"))
            .args(["run", "--backend", "cpu", "--hash", "--quiet"])
            .args(arguments)
            .output()
            .unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
    };
    let stack = "vertical_stack:count=5,friction=0.4";
    let whole = run(&[stack, "--sleep", "--substeps", "3", "--steps", "20"]).unwrap();
    let (snap, old, json) = (path("a.snap"), path("old.snap"), path("now.json"));
    run(&[stack, "--sleep", "--substeps", "3", "--steps", "8", "--save", &snap]).unwrap();
    let alone = run(&["--resume", &snap, "--steps", "12", "--save-scene", &json]).unwrap();
    assert_eq!(alone, whole);
    assert_ne!(run(&["--resume", &snap, "--steps", "11"]).unwrap(), whole);
    assert_eq!(run(&[stack, "--sleep", "--substeps", "3", "--resume", &snap, "--steps", "12"]).unwrap(), whole);
    // The scene made of it starts with its last state.
    run(&[&json, "--steps", "10"]).unwrap();
    let error = run(&["--resume", &snap, "--substeps", "4"]).unwrap_err();
    assert!(error.contains("settings.substeps is 4, but 3 in the saved world"), "{error}");
    let error = run(&["vertical_stack:count=6", "--sleep", "--substeps", "3", "--resume", &snap]).unwrap_err();
    assert!(error.contains("a.snap: saved from another world: the scene has 7 bodies, the saved one 6"), "{error}");
    assert!(error.contains("without a scene and settings"), "{error}");
    let error = run(&[&snap]).unwrap_err();
    assert!(error.contains("--resume") && error.contains("drystone view"), "{error}");
    // A file as an earlier release wrote it.
    let scene = drystone_scenes::catalogue::build(stack).unwrap();
    let mut world: World = cpu(&scene).into();
    steps(&mut world, 8);
    std::fs::write(&old, world.save().unwrap()).unwrap();
    assert_eq!(run(&[stack, "--resume", &old, "--steps", "12"]), run(&[stack, "--steps", "20"]));
    let error = run(&["--resume", &old]).unwrap_err();
    assert!(error.contains("without its scene") && error.contains("run SCENE --resume"), "{error}");
    let error = run(&[]).unwrap_err();
    assert!(error.contains("SCENE"), "{error}");
    let mut damaged = std::fs::read(&snap).unwrap();
    damaged[100] ^= 1;
    std::fs::write(&snap, damaged).unwrap();
    let error = run(&["--resume", &snap]).unwrap_err();
    assert!(error.contains("is damaged in its scene, bytes 52 to "), "{error}");
}

/// Bodies of an emitter have no names, as all its batches would have the same ones; nor have they in a scene made of
/// the world.
#[test]
fn batches_have_no_ids() {
    let mut scene = scene();
    scene.emitters[0].bodies[0].id = Some("ball".to_owned());
    let mut world: World = cpu(&scene).into();
    steps(&mut world, 50);
    let now = SavedWorld::new(&scene, Journal::default(), &mut world).unwrap().to_scene().unwrap();
    let balls = now.bodies.iter().filter(|body| body.id.as_deref() == Some("ball")).count();
    assert_eq!((now.bodies.len(), balls), (scene.bodies.len() + 3, 0));
}

/// A running world gets other settings: those of another scene, which starts from its state.
#[test]
fn a_running_world_gets_other_settings() {
    let mut scene = Scene::new("fall").gravity(0.0, -10.0);
    let ball = scene.add(Body::dynamic(0.0, 50.0).shape(Shape::circle(0.5)));
    let mut slow = scene.clone();
    slow.settings.max_speed = Some(5.0);
    for make in [|scene: &Scene| World::from(cpu(scene)), |scene: &Scene| World::from(gpu(scene))] {
        let (mut first, mut second) = (make(&scene), make(&slow));
        steps(&mut first, 60);
        let saved = SavedWorld::new(&scene, Journal::default(), &mut first).unwrap();
        assert_eq!(saved.start(&mut second, false).unwrap().bodies, 1);
        let [before, now] = [&first, &second].map(|world| world.body(ball).unwrap());
        assert_eq!((before.position(), before.velocity()), (now.position(), now.velocity()));
        steps(&mut first, 1);
        steps(&mut second, 1);
        let [free, slowed] = [&first, &second].map(|world| world.body(ball).unwrap().velocity().length());
        assert!(free > 10.0 && (slowed - 5.0).abs() < 0.1, "{free} m/s and {slowed} m/s");
    }
}
