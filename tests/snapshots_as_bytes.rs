//! Snapshots as bytes: continued to the last bit, or rejected with a reason.

use crate::support::{cpu, gpu, pile};
use drystone::low_level::{CpuWorld, state};
use drystone::{Command, Scene, Snapshot, World, WorldError};

fn scene() -> Scene {
    pile(3, 60)
}

fn worlds(scene: &Scene) -> [World; 2] {
    [cpu(scene).into(), gpu(scene).into()]
}

fn hash(world: &mut World) -> u64 {
    state::hash(&world.snapshot().unwrap())
}

#[test]
fn a_run_continues_to_the_last_bit() {
    let scene = scene();
    for (mut first, mut second) in worlds(&scene).into_iter().zip(worlds(&scene)) {
        (0..40).for_each(|_| first.step().unwrap());
        let bytes = first.save().unwrap();
        second.load(&bytes).unwrap();
        assert_eq!(second.steps(), 40);
        assert_eq!(second.save().unwrap(), bytes);
        for step in 0..40 {
            first.step().unwrap();
            second.step().unwrap();
            assert_eq!(hash(&mut first), hash(&mut second), "{step} steps on");
        }
        // Negative control: without contacts the first step has no impulses to start from.
        let mut bare = Snapshot::from_bytes(&bytes, first.compiled().fingerprint()).unwrap();
        bare.contacts.clear();
        bare.manifolds.clear();
        bare.pair_starts.clear();
        second.restore(&bare).unwrap();
        (0..40).for_each(|_| second.step().unwrap());
        assert_ne!(hash(&mut first), hash(&mut second), "a snapshot without contacts was as good");
    }
}

#[test]
fn every_changed_byte_is_detected() {
    let mut world: World = cpu(&pile(5, 6)).into();
    (0..30).for_each(|_| world.step().unwrap());
    let bytes = world.save().unwrap();
    let before = hash(&mut world);
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 1 << (at % 8);
        assert!(world.load(&changed).is_err(), "byte {at} of {}", bytes.len());
    }
    for length in 0..bytes.len() {
        assert!(world.load(&bytes[..length]).is_err(), "cut off after {length} bytes");
    }
    assert_eq!(hash(&mut world), before, "a refused snapshot changed the world");
    world.load(&bytes).unwrap();
}

/// Corrects the checksum of changed bytes: the checksum can be right and the content wrong.
fn resealed(mut bytes: Vec<u8>, change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    bytes.truncate(bytes.len() - 4);
    change(&mut bytes);
    let checksum = crc32fast::hash(&bytes);
    bytes.extend(checksum.to_le_bytes());
    bytes
}

#[test]
fn unknown_formats_are_rejected() {
    let mut world: World = cpu(&pile(5, 6)).into();
    (0..60).for_each(|_| world.step().unwrap());
    let bytes = world.save().unwrap();
    let mut other: World = cpu(&pile(6, 6)).into();
    other.step().unwrap();
    let foreign = other.save().unwrap();
    let mut message = |bytes: &[u8]| world.load(bytes).unwrap_err().to_string();

    let not = "this is not a snapshot: expected the bytes DRYSNAP at its start and at least 32 of them";
    assert_eq!(message(b"{}"), not);
    assert_eq!(message(&[b'x'; 100]), not);
    // A newer version; from before manifolds had a table of their own; from before joints kept impulses in A's frame;
    // and from before bodies slept.
    for version in [9, 3, 2, 1] {
        let other = resealed(bytes.clone(), |bytes| bytes[8] = version);
        let expected = format!("the snapshot has version {version}; expected 4 to 8, those that this release reads");
        assert_eq!(message(&other), expected);
    }
    assert!(message(&bytes[..bytes.len() - 1]).starts_with("the snapshot is damaged: its checksum is "));
    assert!(message(&foreign).starts_with("the snapshot was taken of another world, "));
    let renamed = resealed(bytes.clone(), |bytes| bytes[32] = b'x');
    assert_eq!(message(&renamed), "the snapshot has section \"xoun\" at byte 32; expected section \"coun\"");
    let resized = resealed(bytes.clone(), |bytes| bytes[36] = 8);
    assert!(message(&resized).contains("elements of 8 bytes in section \"coun\" at byte 32; expected"));
    let endless = resealed(bytes.clone(), |bytes| bytes[40..48].fill(0xff));
    assert!(
        message(&endless).contains("18446744073709551615 elements in section \"coun\" at byte 32; expected at most")
    );
    let late = resealed(bytes.clone(), |bytes| bytes[24..32].copy_from_slice(&(1_u64 << 62).to_le_bytes()));
    assert_eq!(message(&late), "the snapshot is of step 4611686018427387904; expected at most 9007199254740992");
    let longer = resealed(bytes.clone(), |bytes| bytes.extend([0; 3]));
    assert!(message(&longer).contains("3 more bytes at byte"));
    // A contact between shapes that do not exist.
    let fingerprint = cpu(&pile(5, 6)).compiled().fingerprint();
    let mut broken = Snapshot::from_bytes(&bytes, fingerprint).unwrap();
    broken.contacts[0].shape_b = 1_000_000;
    assert!(
        message(&broken.to_bytes(fingerprint)).contains("shape of a contact, below the expected number: found 1000000")
    );
}

/// Returns the bytes as version 7 wrote them: without what positions have beyond 32 bits.
fn version_7(bytes: &[u8]) -> Vec<u8> {
    let (mut at, mut cut) = (32, bytes[..32].to_vec());
    cut[8] = 7;
    while at < bytes.len() - 4 {
        let size = u32::from_le_bytes(bytes[at + 4..at + 8].try_into().unwrap()) as usize;
        let count = usize::try_from(u64::from_le_bytes(bytes[at + 8..at + 16].try_into().unwrap())).unwrap();
        let kept = if [b"pose", b"cmds"].iter().any(|name| bytes[at..at + 4] == name[..]) { size - 16 } else { size };
        cut.extend(&bytes[at..at + 4]);
        cut.extend(u32::try_from(kept).unwrap().to_le_bytes());
        cut.extend(&bytes[at + 8..at + 16]);
        let rows = bytes[at + 16..at + 16 + size * count].chunks(size);
        rows.for_each(|row| cut.extend(&row[..kept]));
        at += 16 + size * count;
    }
    cut.extend([0; 4]);
    resealed(cut, |_| {})
}

#[test]
fn positions_of_older_snapshots_have_no_low_part() {
    for mut world in worlds(&scene()) {
        (0..40).for_each(|_| world.step().unwrap());
        world.command(5, Command::teleport([1.0, 20.0], 0.5)).unwrap();
        let bytes = world.save().unwrap();
        let mut snapshot = world.snapshot().unwrap();
        snapshot.poses.iter_mut().for_each(|pose| pose.low = [0.0; 2]);
        world.load(&version_7(&bytes)).unwrap();
        assert_eq!(world.snapshot().unwrap(), snapshot);
        // Negative control: the world has low parts.
        world.load(&bytes).unwrap();
        assert_ne!(world.snapshot().unwrap(), snapshot);
    }
}

#[test]
fn other_settings_are_another_world() {
    let scene = scene();
    let mut finer = scene.clone();
    finer.settings.substeps = Some(8);
    let mut world: World = cpu(&scene).into();
    let bytes = world.save().unwrap();
    let error = World::from(cpu(&finer)).load(&bytes).unwrap_err();
    assert!(matches!(error, WorldError::SnapshotFile(_)), "{error}");
    // Changes by commands and growth do not make it a different world.
    world.command(1, Command::Torque(1.0)).unwrap();
    world.step().unwrap();
    let bytes = world.save().unwrap();
    World::from(CpuWorld::new(&scene).unwrap()).load(&bytes).unwrap();
    World::from(gpu(&scene)).load(&bytes).unwrap();
}
