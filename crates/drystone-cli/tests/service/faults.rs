//! Faults outside of the service (full disks, damaged files, unauthorized clients, overload) are reported, and the
//! rest works.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::client::{Service, command};
use crate::connections::until;

fn files(store: &Path, world: &str, prefix: &str) -> Vec<PathBuf> {
    let folder = store.join("worlds").join(world.rsplit('/').next().unwrap());
    let mut found: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.file_name().unwrap().to_string_lossy().starts_with(prefix))
        .collect();
    found.sort();
    found
}

/// Flips a bit of a file, another one each time.
fn spoil(file: &Path, bit: u8) {
    let mut bytes = fs::read(file).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1 << bit;
    fs::write(file, bytes).unwrap();
}

fn push(body: u32) -> serde_json::Value {
    json!({ "commands": [ { "impulse": { "body": body, "impulse": [0.5, 1] } } ] })
}

#[test]
fn a_damaged_checkpoint_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let settings = [("CHECKPOINT_SECONDS", "0.01")];
    let mut service = Service::start(folder.path(), &settings);
    let (world, other) = (
        service.make(&json!({ "scene": "large_pyramid:base=10" })),
        service.make(&json!({ "scene": "large_pyramid:base=4" })),
    );
    let spawn = json!({ "commands": [ { "spawn": { "bodies": [ { "position": [0, 20], "shapes": [ { "circle": { "radius": 1 } } ] } ] } } ] });
    service.tell(&format!("{world}/commands"), &spawn);
    for round in 0..6 {
        service.tell(&format!("{world}/step"), &json!({ "steps": 300 }));
        service.tell(&format!("{world}/commands"), &push(round + 1));
    }
    // They are due by computing time.
    until("two checkpoints are there", || {
        service.tell(&format!("{world}/step"), &json!({ "steps": 300 }));
        files(folder.path(), &world, "checkpoint-").len() >= 2
    });
    let hash = service.hash(&world);
    let two = |service: &mut Service| {
        service.kill();
        let found = files(folder.path(), &world, "checkpoint-");
        assert!(found.len() >= 2, "{found:?}");
        found
    };
    let found = two(&mut service);
    spoil(found.last().unwrap(), 6);
    service = Service::start(folder.path(), &settings);
    assert_eq!(service.hash(&world), hash, "from the older one, and two logs");

    service.kill();
    for file in files(folder.path(), &world, "checkpoint-") {
        spoil(&file, 3);
    }
    service = Service::start(folder.path(), &settings);
    assert_eq!(service.ask(&world)["state"], "failed");
    let answer = service.get(&format!("{world}/state")).unwrap();
    assert_eq!((answer.status, answer.json()["type"].as_str()), (500, Some("urn:drystone:damaged")));
    assert!(answer.json()["detail"].as_str().unwrap().contains("checksum"));
    assert_eq!(service.tell(&format!("{other}/step"), &json!({}))["step"], 1, "the other world works");
    assert_eq!(service.send("DELETE", &world, &[], b"").unwrap().status, 204);
    assert_eq!(service.get(&world).unwrap().status, 404);
}

#[test]
fn a_full_store_refuses_and_recovers() {
    let folder = tempfile::tempdir().unwrap();
    let mut service = Service::start(folder.path(), &[("LIMITS_STORE_BYTES", "12000")]);
    let world = service.make(&json!({ "scene": "large_pyramid:base=3" }));
    let other = service.make(&json!({ "scene": "large_pyramid:base=3" }));
    let path = format!("{world}/commands");
    let mut done = 0;
    let refused = loop {
        let answer = service.post(&path, &push(1 + done % 6)).unwrap();
        if answer.status != 200 {
            break answer;
        }
        done += 1;
        assert!(done < 1000, "the store never fills");
    };
    assert_eq!((refused.status, refused.json()["type"].as_str()), (507, Some("urn:drystone:store")));
    assert!(refused.header("retry-after").is_some());
    assert_eq!(service.ask(&format!("{world}/state"))["step"], 0, "asking still works");
    assert_eq!(service.post("/v1/worlds", &json!({ "scene": "slope" })).unwrap().status, 507);
    assert_eq!(service.send("DELETE", &other, &[], b"").unwrap().status, 204);
    service.tell(&path, &push(1));
    service.tell(&format!("{world}/step"), &json!({ "steps": 5 }));
    let hash = service.hash(&world);
    service.kill();
    let service = Service::start(folder.path(), &[]);
    assert_eq!(service.hash(&world), hash, "what was refused has not happened, what was not has");
    // The same changes in another world.
    let twin = service.make(&json!({ "scene": "large_pyramid:base=3" }));
    for index in 0..done {
        service.tell(&format!("{twin}/commands"), &push(1 + index % 6));
    }
    service.tell(&format!("{twin}/commands"), &push(1));
    service.tell(&format!("{twin}/step"), &json!({ "steps": 5 }));
    assert_eq!(service.hash(&twin), hash);
}

/// The operating system's own error: no file may exceed 8 KiB, as on a full or read-only disk.
#[test]
fn a_disk_that_takes_no_more() {
    let folder = tempfile::tempdir().unwrap();
    let plain = command(folder.path(), &[]);
    let mut limited = Command::new("sh");
    limited.args(["-c", "trap '' XFSZ; ulimit -f \"$0\"; exec \"$@\"", "8"]).arg(plain.get_program());
    limited.args(plain.get_args()).args(["--backend", "cpu"]);
    let mut service = Service::run(limited);
    let world = service.make(&json!({ "scene": "large_pyramid:base=3" }));
    let path = format!("{world}/commands");
    let mut done = 0;
    let refused = loop {
        let answer = service.post(&path, &push(1 + done % 6)).unwrap();
        if answer.status != 200 {
            break answer;
        }
        done += 1;
        assert!(done < 1000, "the disk never fills");
    };
    assert_eq!(refused.status, 507, "{refused:?}");
    assert_eq!(service.post("/v1/worlds", &json!({ "scene": "large_pyramid:base=40" })).unwrap().status, 507);
    assert_eq!(service.ask(&format!("{world}/state"))["step"], 0);
    let hash = service.hash(&world);
    service.kill();
    let service = Service::start(folder.path(), &[]);
    assert_eq!(service.hash(&world), hash);
    service.tell(&path, &push(1));
    assert_eq!(service.ask("/v1/worlds")["worlds"].as_array().unwrap().len(), 1, "nothing half made is left");
}

/// A torn end of a log after a power failure is dropped; earlier damage is reported, and other worlds are not
/// affected.
#[test]
fn a_log_that_is_torn_or_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let mut service = Service::start(folder.path(), &[]);
    let scene = json!({ "scene": "large_pyramid:base=4" });
    let (world, other) = (service.make(&scene), service.make(&scene));
    let one = |service: &Service, world: &str| {
        service.tell(&format!("{world}/commands"), &push(2));
        service.tell(&format!("{world}/step"), &json!({ "steps": 7 }));
        service.hash(world)
    };
    let mut hash = one(&service, &world);
    let record = b"\x40\0\0\x80\x11\x22\x33\x44{\"at\":1,\"op\":";
    for tail in [&[0; 4096][..], &record[..], &record[..5], b"\xff\xff\xff\xff\xff\xff\xff\xff\xff", b"\n"] {
        service.kill();
        let log = files(folder.path(), &world, "log-").pop().unwrap();
        let whole = fs::read(&log).unwrap();
        fs::write(&log, [&whole, tail].concat()).unwrap();
        service = Service::start(folder.path(), &[]);
        assert_eq!(service.hash(&world), hash, "{tail:?}");
        // Later changes are kept.
        let next = one(&service, &world);
        assert_ne!(next, hash, "it moves");
        hash = next;
    }
    service.kill();
    service = Service::start(folder.path(), &[]);
    assert_eq!(service.hash(&world), hash);
    service.kill();
    spoil(&files(folder.path(), &world, "log-").pop().unwrap(), 0);
    service = Service::start(folder.path(), &[]);
    let status = service.ask(&world);
    assert_eq!(status["state"], "failed", "no acknowledged command is lost without a word");
    assert!(status["problem"].as_str().unwrap().contains("was acknowledged"), "{status}");
    assert_eq!(service.get(&format!("{world}/state")).unwrap().json()["type"], "urn:drystone:damaged");
    one(&service, &other);
}

/// Copies the files of a store to another folder.
fn copied(store: &Path) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    for world in fs::read_dir(store.join("worlds")).unwrap().map(Result::unwrap) {
        let folder = copy.path().join("worlds").join(world.file_name());
        fs::create_dir_all(&folder).unwrap();
        for file in fs::read_dir(world.path()).unwrap().map(Result::unwrap) {
            fs::copy(file.path(), folder.join(file.file_name())).unwrap();
        }
    }
    copy
}

/// Removes something from a store. Returns the name that the error must contain.
type Loss<'a> = Box<dyn Fn(&Path) -> Option<String> + 'a>;

/// Missing or truncated logs and checkpoints, as after a partial backup, are named.
#[test]
fn what_is_missing_is_named() {
    let folder = tempfile::tempdir().unwrap();
    // Checkpoints are only written at stops, so that there are two, with records after each of them.
    let settings = [("CHECKPOINT_SECONDS", "1000")];
    let mut service = Service::start(folder.path(), &settings);
    let world = service.make(&json!({ "scene": "large_pyramid:base=10" }));
    for round in 0..9 {
        if [3, 6].contains(&round) {
            assert_eq!(service.stop(), Some(0));
            service = Service::start(folder.path(), &settings);
        }
        service.tell(&format!("{world}/step"), &json!({ "steps": 150 }));
        service.tell(&format!("{world}/commands"), &push(round + 1));
    }
    let young = service.make(&json!({ "scene": "large_pyramid:base=3" }));
    service.tell(&format!("{young}/commands"), &push(1));
    let (hash, young_hash) = (service.hash(&world), service.hash(&young));
    service.kill();
    let name = |file: &Path| file.file_name().unwrap().to_string_lossy().into_owned();
    let of = |store: &Path, world: &str, prefix: &str| files(store, world, prefix);
    assert!(!of(folder.path(), &world, "log-").iter().any(|file| name(file) == "log-00000000"), "it is long gone");

    let losses: [(&str, &str, Loss); 7] = [
        ("nothing", &world, Box::new(|_| None)),
        (
            "the newest checkpoint, which the one before and its logs stand in for",
            &world,
            Box::new(|store| {
                fs::remove_file(of(store, &world, "checkpoint-").last().unwrap()).unwrap();
                None
            }),
        ),
        (
            "the newest log",
            &world,
            Box::new(|store| {
                let file = of(store, &world, "log-").pop().unwrap();
                fs::remove_file(&file).unwrap();
                Some(format!("{} of world", name(&file)))
            }),
        ),
        (
            "all bytes of the newest log",
            &world,
            Box::new(|store| {
                let file = of(store, &world, "log-").pop().unwrap();
                fs::write(&file, "").unwrap();
                Some(name(&file))
            }),
        ),
        (
            "all checkpoints",
            &world,
            Box::new(|store| {
                for file in of(store, &world, "checkpoint-") {
                    fs::remove_file(file).unwrap();
                }
                Some("log-00000000".to_owned())
            }),
        ),
        (
            "the last record of a log that is needed",
            &world,
            Box::new(|store| {
                fs::remove_file(of(store, &world, "checkpoint-").last().unwrap()).unwrap();
                let file = of(store, &world, "log-").remove(0);
                // Rows that end before this length, and their marks: the last append and the closing row are cut
                // off.
                let bytes = fs::read(&file).unwrap();
                let firsts: Vec<usize> = (8..bytes.len() - 12)
                    .filter(|at| bytes[at + 3] == 0x80 && bytes[at + 7] == 0 && bytes[at + 12] == b'{')
                    .collect();
                assert!(firsts.len() > 2, "{firsts:?}");
                fs::write(&file, &bytes[..firsts[firsts.len() - 2]]).unwrap();
                Some(name(&file))
            }),
        ),
        (
            "the first log",
            &young,
            Box::new(|store| {
                fs::remove_file(of(store, &young, "log-").pop().unwrap()).unwrap();
                Some("log-00000000".to_owned())
            }),
        ),
    ];
    for (what, one, lose) in losses {
        let copy = copied(folder.path());
        let named = lose(copy.path());
        let service = Service::start(copy.path(), &[]);
        let status = service.ask(one);
        let other = if one == world { (&young, &young_hash) } else { (&world, &hash) };
        assert_eq!(service.hash(other.0), *other.1, "{what}");
        let Some(named) = named else {
            assert_eq!(service.hash(one), hash, "{what}: {status}");
            continue;
        };
        assert_eq!(status["state"], "failed", "{what}: {status}");
        assert!(status["problem"].as_str().unwrap().contains(&named), "{what}, {named}: {status}");
        assert_eq!(service.get(&format!("{one}/state")).unwrap().json()["type"], "urn:drystone:damaged");
    }
}

/// A store written by earlier versions: files of version 1, logs without headers. New changes are checked.
#[test]
fn an_old_store_opens() {
    let folder = tempfile::tempdir().unwrap();
    let mut service = Service::start(folder.path(), &[]);
    let scene = json!({ "scene": "large_pyramid:base=4" });
    let (world, twin) = (service.make(&scene), service.make(&scene));
    service.tell(&format!("{twin}/commands"), &push(2));
    service.tell(&format!("{twin}/step"), &json!({ "steps": 12 }));
    assert_eq!(service.stop(), Some(0));
    let file = files(folder.path(), &world, "world").pop().unwrap();
    let mut bytes = fs::read(&file).unwrap();
    bytes[8] = 1;
    let end = bytes.len() - 4;
    let checksum = crc32fast::hash(&bytes[..end]);
    bytes[end..].copy_from_slice(&checksum.to_le_bytes());
    fs::write(&file, &bytes).unwrap();
    let mut log = Vec::new();
    let records = [
        json!({ "at": 0, "op": { "commands": push(2)["commands"] } }),
        json!({ "at": 0, "op": { "step": { "steps": 12 } } }),
    ];
    for record in records.map(|record| record.to_string()) {
        log.extend((u32::try_from(record.len()).unwrap() | 1 << 31).to_le_bytes());
        log.extend(crc32fast::hash(record.as_bytes()).to_le_bytes());
        log.extend(record.as_bytes());
    }
    let place = files(folder.path(), &world, "log-").pop().unwrap();
    fs::write(&place, &log).unwrap();

    let mut service = Service::start(folder.path(), &[]);
    let steps = |service: &Service| service.ask(&world)["step"].as_u64().unwrap();
    while steps(&service) < 12 || service.ask(&world)["state"] != "paused" {
        std::thread::sleep(Duration::from_millis(5));
    }
    for one in [&world, &twin] {
        service.tell(&format!("{one}/commands"), &push(3));
        service.tell(&format!("{one}/step"), &json!({ "steps": 5 }));
    }
    let hash = service.hash(&world);
    assert_eq!(hash, service.hash(&twin));
    service.kill();
    service = Service::start(folder.path(), &[]);
    assert_eq!((service.hash(&world), service.hash(&twin)), (hash.clone(), hash));
}

/// A log written by another build is replayed with a warning, or not at all.
#[test]
fn a_log_of_another_build() {
    let folder = tempfile::tempdir().unwrap();
    let mut service = Service::start(folder.path(), &[]);
    let scene = json!({ "scene": "large_pyramid:base=4" });
    let (world, idle) = (service.make(&scene), service.make(&scene));
    service.tell(&format!("{world}/step"), &json!({ "steps": 12 }));
    let hash = service.hash(&world);
    service.kill();
    for one in [&world, &idle] {
        // The version in the header, and the checksum of that row.
        let place = files(folder.path(), one, "log-").pop().unwrap();
        let mut bytes = fs::read(&place).unwrap();
        let length = u32::from_le_bytes(bytes[8..12].try_into().unwrap()) & !(1 << 31);
        let head = 20..20 + length as usize;
        let text = String::from_utf8(bytes[head.clone()].to_vec()).unwrap();
        let other = text.replacen(concat!("\"", env!("CARGO_PKG_VERSION"), "+"), "\"9.9.9+", 1);
        assert!(other != text && other.len() == text.len(), "{text}");
        bytes[head].copy_from_slice(other.as_bytes());
        let seed = crc32fast::hash(format!("{}/log-00000000", one.rsplit('/').next().unwrap()).as_bytes());
        let mut hasher = crc32fast::Hasher::new_with_initial(seed);
        hasher.update(&bytes[8..16]);
        hasher.update(other.as_bytes());
        bytes[16..20].copy_from_slice(&hasher.finalize().to_le_bytes());
        fs::write(&place, &bytes).unwrap();
    }
    let copy = copied(folder.path());
    let service = Service::start(copy.path(), &[("OTHER_BUILD", "refuse")]);
    let status = service.ask(&world);
    assert_eq!(status["state"], "failed");
    let problem = status["problem"].as_str().unwrap();
    assert!(problem.contains("9.9.9+") && problem.contains("SIGTERM"), "{problem}");
    assert_eq!(service.ask(&idle)["state"], "paused", "its log has nothing to replay");
    drop(service);

    let mut service = Service::start(folder.path(), &[]);
    assert_eq!(service.hash(&world), hash, "it was no other build in truth");
    let replays = |service: &Service| {
        let text = String::from_utf8(service.get("/metrics").unwrap().body).unwrap();
        text.lines().any(|line| line.starts_with("drystone_replays_of_other_builds_total 1"))
    };
    assert!(replays(&service));
    service.tell(&format!("{idle}/step"), &json!({ "steps": 1 }));
    assert_eq!(service.stop(), Some(0));
    service = Service::start(folder.path(), &[("OTHER_BUILD", "refuse")]);
    assert_eq!(service.hash(&world), hash);
    assert!(!replays(&service), "it is of this build now");
}

/// Returns a service in its own mount namespace, with its own file system at the place of the store.
fn mounted(store: &Path, how: &str, settings: &[(&str, &str)]) -> Command {
    let plain = command(store, settings);
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", "--mount", "sh", "-c"]).arg(format!("{how} && exec \"$@\"")).arg(store);
    command.arg(plain.get_program()).args(plain.get_args());
    command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command
}

fn may_mount() -> bool {
    let probe = ["--map-root-user", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"];
    let may = Command::new("unshare").args(probe).output().is_ok_and(|output| output.status.success());
    if !may {
        eprintln!("not tested: nothing can be mounted here");
    }
    may
}

/// A real disk of 200 KiB: checkpoints fail as well as logs.
#[test]
fn a_disk_that_is_full() {
    if !may_mount() {
        return;
    }
    let (folder, calm) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let settings = [("CHECKPOINT_SECONDS", "0.01")];
    let mut small = mounted(folder.path(), "mount -t tmpfs -o size=200k none \"$0\"", &settings);
    let service = Service::run({
        small.args(["--backend", "cpu"]);
        small
    });
    let twin = Service::start(calm.path(), &[]);
    let scene = json!({ "scene": "large_pyramid:base=5" });
    let (world, ballast, same) = (service.make(&scene), service.make(&scene), twin.make(&scene));
    let batch = json!({ "commands": vec![push(3)["commands"][0].clone(); 100] });
    let step = json!({ "steps": 20 });
    while service.post(&format!("{ballast}/commands"), &batch).unwrap().status == 200 {}
    let (mut done, mut refused) = (0, 0);
    while refused < 5 {
        for (what, body) in [("commands", &batch), ("step", &step)] {
            let answer = service.post(&format!("{world}/{what}"), body).unwrap();
            match answer.status {
                200 => {
                    done += 1;
                    twin.tell(&format!("{same}/{what}"), body);
                }
                status => {
                    assert_eq!(status, 507, "{answer:?}");
                    assert!(answer.json()["detail"].as_str().unwrap().contains("No space left"), "{answer:?}");
                    refused += 1;
                }
            }
        }
        assert!(done < 1000, "the disk never fills");
    }
    assert_eq!(service.hash(&world), twin.hash(&same), "asking goes on, and what was refused has not happened");
    assert_eq!(service.send("DELETE", &ballast, &[], b"").unwrap().status, 204);
    until("there is room again", || service.post(&format!("{world}/step"), &step).unwrap().status == 200);
    twin.tell(&format!("{same}/step"), &step);
    assert_eq!(service.hash(&world), twin.hash(&same));
}

#[test]
fn a_store_that_is_read_only() {
    if !may_mount() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut service = Service::start(folder.path(), &[]);
    let world = service.make(&json!({ "scene": "large_pyramid:base=4" }));
    service.kill();
    let how = "mount --bind \"$0\" \"$0\" && mount -o remount,bind,ro \"$0\"";
    let said = fails(mounted(folder.path(), how, &[]));
    assert!(said.contains("error: store ") && said.contains("Read-only file system"), "{said}");
    let service = Service::start(folder.path(), &[]);
    assert_eq!(service.tell(&format!("{world}/step"), &json!({}))["step"], 1, "as soon as it can be written");
}

/// During the run the file size limit drops to zero, and rises again.
#[test]
#[cfg(target_os = "linux")]
fn a_disk_that_takes_nothing_for_a_while() {
    let (folder, calm) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let plain = command(folder.path(), &[("CHECKPOINT_SECONDS", "0.01")]);
    let mut deaf = Command::new("sh");
    deaf.args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\""]).arg(plain.get_program()).args(plain.get_args());
    deaf.args(["--backend", "cpu"]).env("DRYSTONE_CHECKPOINT_SECONDS", "0.01");
    let mut service = Service::run(deaf);
    let twin = Service::start(calm.path(), &[]);
    let limit = |service: &Service, bytes: &str| {
        let pid = service.pid().to_string();
        let done = Command::new("prlimit").args(["--pid", &pid, &format!("--fsize={bytes}:unlimited")]).status();
        assert!(done.unwrap().success());
    };
    let scene = json!({ "scene": "large_pyramid:base=8" });
    let (world, playing, same) = (service.make(&scene), service.make(&scene), twin.make(&scene));
    service.tell(&format!("{playing}/play"), &json!({}));
    let step = json!({ "steps": 30 });
    let both = |service: &Service| {
        service.tell(&format!("{world}/commands"), &push(3));
        service.tell(&format!("{world}/step"), &step);
        twin.tell(&format!("{same}/commands"), &push(3));
        twin.tell(&format!("{same}/step"), &step);
        assert_eq!(service.hash(&world), twin.hash(&same));
    };
    both(&service);
    limit(&service, "0");
    let before = service.ask(&playing)["step"].as_u64().unwrap();
    let asked = [
        (format!("{world}/commands"), push(2)),
        (format!("{world}/step"), step.clone()),
        (format!("{world}/checkpoint"), json!({ "name": "here" })),
        ("/v1/worlds".to_owned(), scene.clone()),
    ];
    for (path, body) in asked.iter().chain(&asked) {
        let answer = service.post(path, body).unwrap();
        assert_eq!((answer.status, answer.json()["type"].as_str()), (507, Some("urn:drystone:store")), "{path}");
        assert!(answer.header("retry-after").is_some() && answer.json()["detail"].is_string(), "{answer:?}");
    }
    assert_eq!(service.hash(&world), twin.hash(&same), "what was refused has not happened");
    assert_eq!(service.get("/health/ready").unwrap().status, 200);
    while service.ask(&playing)["step"].as_u64().unwrap() < before + 5 {
        std::thread::sleep(Duration::from_millis(10));
    }
    limit(&service, "unlimited");
    until("it takes bytes again", || service.post(&format!("{world}/pause"), &json!({})).unwrap().status == 200);
    both(&service);
    assert_eq!(service.ask("/v1/worlds")["worlds"].as_array().unwrap().len(), 2, "nothing half made is left");
    service.kill();
    service = Service::start(folder.path(), &[]);
    assert_eq!(service.hash(&world), twin.hash(&same));
    assert_eq!(service.ask(&playing)["state"], "playing");
}

/// During the run the store's folder becomes read-only, and writable again.
#[test]
fn a_store_that_turns_read_only() {
    if !may_mount() {
        return;
    }
    let (folder, flags) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (flag, done) = (flags.path().join("read-only"), flags.path().join("done"));
    // The mount covers the folder for files opened from then on. Logs that are open stay writable.
    let change = |how: &str| format!("{how} && echo >>'{}'", done.display());
    let mount = change("mount --bind \"$0\" \"$0\" && mount -o remount,bind,ro \"$0\"");
    // Limited in time, should the test fail.
    let there = flags.path().display();
    let poll = |test: &str| format!("while [ -d '{there}' ] && [ {test} '{}' ]; do sleep 0.02; done", flag.display());
    let (appears, goes, unmount) = (poll("! -e"), poll("-e"), change("umount \"$0\""));
    let how = format!("{{ ({appears}; {mount}; {goes}; {unmount}) & }}");
    let settings = [("CHECKPOINT_SECONDS", "0.01")];
    let mut mounted = mounted(folder.path(), &how, &settings);
    mounted.args(["--backend", "cpu"]);
    let mut service = Service::run(mounted);
    let wait = |lines: usize| {
        while fs::read_to_string(&done).unwrap_or_default().len() < lines {
            std::thread::sleep(Duration::from_millis(10));
        }
    };
    let scene = json!({ "scene": "large_pyramid:base=8" });
    let world = service.make(&scene);
    let step = format!("{world}/step");
    service.tell(&step, &json!({ "steps": 30 }));
    fs::write(&flag, "").unwrap();
    wait(1);
    for (path, body) in [("/v1/worlds".to_owned(), &scene), (format!("{world}/checkpoint"), &json!({ "name": "a" }))] {
        let answer = service.post(&path, body).unwrap();
        assert_eq!((answer.status, answer.json()["type"].as_str()), (507, Some("urn:drystone:store")), "{path}");
        assert!(answer.json()["detail"].as_str().unwrap().contains("Read-only file system"), "{answer:?}");
    }
    // Steps are accepted only while their log is open; no acknowledged one is lost.
    let mut steps = 30;
    for _ in 0..5 {
        let answer = service.post(&step, &json!({ "steps": 20 })).unwrap();
        assert!(matches!(answer.status, 200 | 507), "{answer:?}");
        steps += if answer.status == 200 { 20 } else { 0 };
    }
    assert_eq!(service.ask(&format!("{world}/state"))["step"], steps);
    fs::remove_file(&flag).unwrap();
    wait(2);
    until("it can be written to again", || service.post(&step, &json!({ "steps": 1 })).unwrap().status == 200);
    service.tell(&format!("{world}/checkpoint"), &json!({ "name": "a" }));
    service.make(&scene);
    let (hash, step) = (service.hash(&world), service.ask(&world)["step"].clone());
    service.kill();
    let service = Service::start(folder.path(), &[]);
    assert_eq!((service.hash(&world), &service.ask(&world)["step"]), (hash, &step));
    assert_eq!(service.ask("/v1/worlds")["worlds"].as_array().unwrap().len(), 2, "nothing half made is left");
}

/// Only the creation date of a new world depends on the wall clock.
#[test]
#[cfg(target_os = "linux")]
fn a_clock_that_jumps() {
    let library = fs::read_dir("/usr/lib").unwrap().filter_map(Result::ok);
    let library = library.map(|entry| entry.path().join("faketime/libfaketime.so.1")).find(|path| path.exists());
    let library = library.expect("libfaketime: `.ci/setup tests` installs it (Debian: faketime)");
    let folder = tempfile::tempdir().unwrap();
    let clock = folder.path().join("clock");
    let store = folder.path().join("store");
    let set = |by: &str| fs::write(&clock, by).unwrap();
    set("+0d");
    // Far fewer requests per second than the slowest machine makes.
    let mut faked = command(&store, &[("LIMITS_RATE", "10")]);
    faked.args(["--backend", "cpu"]);
    faked.env("LD_PRELOAD", library).env("FAKETIME_TIMESTAMP_FILE", &clock);
    faked.env("FAKETIME_NO_CACHE", "1").env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
    let mut service = Service::run(faked);
    let scene = json!({ "scene": "large_pyramid:base=4" });
    let (world, playing) = (service.make(&scene), service.make(&scene));
    service.tell(&format!("{playing}/play"), &json!({ "speed": 4 }));
    let created = |service: &Service, world: &str| service.ask(world)["created"].as_i64().unwrap();
    let (mut made, now) = (vec![world.clone()], created(&service, &world));
    for (round, (by, years)) in [("-3650d", -10), ("+3650d", 10), ("+0d", 0)].into_iter().enumerate() {
        set(by);
        let before = service.ask(&playing)["step"].as_u64().unwrap();
        let path = format!("{world}/step");
        let (body, key) = (json!({ "steps": 10, "timeout": 50 }), format!("key {round}"));
        let first = service.post_once(&path, &body, &key).unwrap().json();
        assert_eq!((&first["steps"], &first["stopped"]), (&json!(10), &json!(null)), "{by}");
        assert_eq!(service.post_once(&path, &body, &key).unwrap().json(), first);
        service.tell(&format!("{world}/checkpoint"), &json!({ "name": format!("at-{round}") }));
        // Two seconds of simulation in half a second, neither none nor ten years.
        let (start, mut steps) = (Instant::now(), 0);
        while steps < 10 {
            assert!(start.elapsed() < Duration::from_mins(1), "{by}: {steps} steps");
            std::thread::sleep(Duration::from_millis(500));
            steps = service.ask(&playing)["step"].as_u64().unwrap() - before;
        }
        assert!(steps < 5000, "{by}: {steps} steps");
        // The rate limit uses real time, too: a clock jump neither fills nor empties it for years.
        let answers: Vec<u16> = (0..120).map(|_| service.get(&world).unwrap().status).collect();
        assert!(answers.contains(&200) && answers.contains(&429), "{by}");
        std::thread::sleep(Duration::from_secs(1));
        let new = service.make(&scene);
        let off = created(&service, &new) - now - years * 365 * 86400;
        assert!(off.abs() < 3600, "the clock did jump: {off} s");
        made.push(new);
    }
    let hash = service.hash(&world);
    service.kill();
    let service = Service::start(&store, &[]);
    assert_eq!(service.hash(&world), hash);
    assert_eq!(service.ask(&playing)["state"], "playing");
    assert!(made.iter().all(|world| service.get(world).unwrap().status == 200));
}

fn fails(mut command: Command) -> String {
    let output = command.stdin(Stdio::null()).args(["--backend", "cpu"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_store_that_cannot_be_used() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    assert!(fails(command(&file, &[])).contains("error: store "));
    let store = folder.path().join("store");
    let _service = Service::start(&store, &[]);
    assert!(fails(command(&store, &[])).contains("another service uses it"));
}

#[test]
fn strangers_stay_outside() {
    let folder = tempfile::tempdir().unwrap();
    let mut open = command(&folder.path().join("a"), &[]);
    open.args(["--listen", "0.0.0.0:0"]);
    let said = {
        // A later --listen would be a duplicate; settings by the environment are not.
        let mut open = Command::new(env!("CARGO_BIN_EXE_drystone"));
        open.args(["serve", "--listen", "0.0.0.0:0", "--store", "memory"]);
        fails(open)
    };
    assert!(said.contains("not a loopback address: set a token"), "{said}");
    drop(open);
    let token = "correct-horse-battery";
    let service = Service::start(folder.path(), &[("TOKEN", token)]);
    let status = |value: &str| service.send("GET", "/v1/worlds", &[("Authorization", value)], b"").unwrap().status;
    assert_eq!(status(&format!("Bearer {token}")), 200);
    for wrong in ["", "Bearer", "Bearer x", &format!("Basic {token}"), &format!("Bearer {token}x")] {
        assert_eq!(status(wrong), 401, "{wrong}");
    }
    let none = [("Authorization", "")];
    for (path, expected) in [("/health/live", 200), ("/", 200), ("/api/openapi.json", 200), ("/metrics", 401)] {
        assert_eq!(service.send("GET", path, &none, b"").unwrap().status, expected, "{path}");
    }
}

#[test]
fn too_much_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let settings = [("LIMITS_RATE", "5"), ("LIMITS_SOCKETS", "1"), ("LIMITS_INBOX", "3")];
    let service = Service::start(folder.path(), &settings);
    let world = service.make(&json!({ "scene": "large_pyramid:base=4" }));
    let answers: Vec<_> = (0..60).map(|_| service.get(&world).unwrap()).collect();
    let refused: Vec<_> = answers.iter().filter(|answer| answer.status == 429).collect();
    assert!(!refused.is_empty() && refused.len() < 60);
    assert_eq!(refused[0].header("retry-after"), Some("1"));
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(service.get(&world).unwrap().status, 200);
    drop(service);
    // A busy world accepts a limited number of requests.
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[("LIMITS_INBOX", "1"), ("LIMITS_RATE", "100000")]);
    let world = service.make(&json!({ "scene": "large_pyramid:base=60" }));
    service.tell(&format!("{world}/play"), &json!({ "speed": "max" }));
    let path = format!("{world}/events");
    let ask = || (0..40).map(|_| service.get(&path).unwrap()).collect::<Vec<_>>();
    let answers: Vec<_> = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..8).map(|_| scope.spawn(ask)).collect();
        clients.into_iter().flat_map(|client| client.join().unwrap()).collect()
    });
    let (done, refused): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.status == 200);
    assert!(!done.is_empty() && !refused.is_empty(), "{} done, {} refused", done.len(), refused.len());
    for answer in refused {
        assert_eq!((answer.status, answer.header("retry-after")), (429, Some("1")), "{answer:?}");
    }
}

/// A disconnected client or an expired deadline ends the steps.
#[test]
fn steps_end_with_whom_they_are_for() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    let world = service.make(&json!({ "scene": "large_pyramid:base=20" }));
    let path = format!("{world}/step");
    let answer = service.tell(&path, &json!({ "steps": 1_000_000, "timeout": 2 }));
    assert_eq!(answer["stopped"], "the deadline has passed");
    assert!((1..1_000_000).contains(&answer["steps"].as_u64().unwrap()));
    let body = json!({ "steps": 1_000_000 }).to_string();
    let text = format!(
        "POST {path} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        service.address,
        body.len()
    );
    let mut stream = std::net::TcpStream::connect(&service.address).unwrap();
    std::io::Write::write_all(&mut stream, text.as_bytes()).unwrap();
    while service.ask(&world)["state"] != "stepping" {
        std::thread::sleep(Duration::from_millis(5));
    }
    drop(stream);
    until("paused", || service.ask(&world)["state"] == "paused");
    let status = service.ask(&world);
    assert_eq!((&status["state"], &status["steps_to_go"]), (&json!("paused"), &json!(0)));
    // Small worlds step in between.
    let small = service.make(&json!({ "scene": "slope" }));
    service.tell(&format!("{world}/play"), &json!({ "speed": "max" }));
    assert_eq!(service.post(&path, &json!({})).unwrap().status, 409);
    assert_eq!(service.tell(&format!("{small}/step"), &json!({ "steps": 10 }))["steps"], 10);
    assert_eq!(service.tell(&format!("{world}/pause"), &json!({}))["playing"], false);
}
