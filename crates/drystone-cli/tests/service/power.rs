//! Power failures at any moment: acknowledged changes survive, with any part of the others.
//!
//! A library preloaded into the service (power.c) records its file operations and its answers in order. A model of a
//! disk replays the record up to some point and keeps what a disk must keep: the synced bytes, under the names whose
//! folders were synced. A service is started on the result. Negative controls: disks that ignore one kind of sync
//! each, which must be noticed.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::client::{Dice, Service, command};
use crate::connections::until;

/// Service under observation.
struct Observed {
    folder: tempfile::TempDir,
    library: PathBuf,
}

/// Name of the part of the observed folder that exists before the service starts.
const BEFORE: &str = "before";

impl Observed {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let library = folder.path().join("power.so");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/service/power.c");
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(source);
        assert!(compiler.status().expect("a C compiler: `.ci/setup` installs it").success());
        fs::create_dir_all(folder.path().join("root").join(BEFORE)).unwrap();
        Self { folder, library }
    }

    fn store(&self) -> PathBuf {
        self.folder.path().join("root").join(BEFORE).join("new/store")
    }

    /// Makes syncs of files fail, or end the service.
    fn rule(&self, rule: Option<&str>) {
        let place = self.folder.path().join("rule");
        let _ = fs::remove_file(&place);
        if let Some(rule) = rule {
            let beside = self.folder.path().join("rule.new");
            fs::write(&beside, rule).unwrap();
            fs::rename(beside, place).unwrap();
        }
    }

    fn start(&self) -> Service {
        let mut command = command(&self.store(), &[("CHECKPOINT_SECONDS", "0.01")]);
        command.args(["--backend", "cpu"]).env("LD_PRELOAD", &self.library);
        command.env("POWER_LOG", self.folder.path().join("notes")).env("POWER_ROOT", self.folder.path().join("root"));
        command.env("POWER_RULE", self.folder.path().join("rule"));
        Service::run(command)
    }

    fn length(&self) -> usize {
        usize::try_from(fs::metadata(self.folder.path().join("notes")).map_or(0, |notes| notes.len())).unwrap()
    }

    fn notes(&self) -> Vec<Note> {
        let bytes = fs::read(self.folder.path().join("notes")).unwrap();
        let (mut notes, mut at) = (Vec::new(), 0);
        while at < bytes.len() {
            let begin = at;
            let int = |place: usize| i32::from_le_bytes(bytes[at + place..at + place + 4].try_into().unwrap());
            let size = |place: usize| usize::try_from(int(place)).unwrap();
            let (kind, fd, result) = (bytes[at], int(1), int(5));
            let (path, second, data) = (size(9), size(13), size(17));
            let offset = u64::from_le_bytes(bytes[at + 21..at + 29].try_into().unwrap());
            at += 29;
            let mut text = |length: usize| {
                at += length;
                String::from_utf8(bytes[at - length..at].to_vec()).unwrap()
            };
            let (path, second) = (text(path), text(second));
            let data = bytes[at..at + data].to_vec();
            at += data.len();
            notes.push(Note { begin, kind, fd, result, path, second, offset, data });
        }
        notes
    }
}

/// Recorded file operation of the service.
#[derive(Debug)]
struct Note {
    /// Position among the bytes of all notes.
    begin: usize,
    kind: u8,
    fd: i32,
    result: i32,
    path: String,
    second: String,
    offset: u64,
    data: Vec<u8>,
}

/// Kinds of syncs, by what they sync.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Sync {
    Records,
    LogHead,
    LogAtOpening,
    FirstLog,
    Scene,
    Checkpoint,
    Saved,
    NewWorldsFolder,
    WorldsFolder,
    FolderOfWorlds,
    FolderOfStore,
}

impl Sync {
    const ALL: [Self; 11] = [
        Self::Records,
        Self::LogHead,
        Self::LogAtOpening,
        Self::FirstLog,
        Self::Scene,
        Self::Checkpoint,
        Self::Saved,
        Self::NewWorldsFolder,
        Self::WorldsFolder,
        Self::FolderOfWorlds,
        Self::FolderOfStore,
    ];

    fn of(note: &Note) -> Self {
        let parts: Vec<&str> = note.path.split('/').collect();
        let last = *parts.last().unwrap();
        let new = parts.iter().any(|part| part.starts_with(".new-"));
        let depth = parts.iter().position(|part| *part == "worlds").map_or(0, |place| parts.len() - place);
        match (depth, note.kind) {
            (0, _) => Self::FolderOfStore,
            (1, _) => Self::FolderOfWorlds,
            (2, _) if new => Self::NewWorldsFolder,
            (2, _) => Self::WorldsFolder,
            (_, _) if new && last == "world" => Self::Scene,
            (_, _) if new => Self::FirstLog,
            (_, _) if last.starts_with(".log-") => Self::LogHead,
            (_, _) if last.starts_with(".checkpoint-") => Self::Checkpoint,
            (_, _) if last.starts_with(".saved-") => Self::Saved,
            (_, b'S') => Self::Records,
            (_, _) if last.starts_with("log-") => Self::LogAtOpening,
            _ => panic!("a sync of a kind that is not tested: {note:?}"),
        }
    }
}

/// File or folder, as programs see it and as the disk has it.
#[derive(Clone, Debug, Default)]
struct Inode {
    is_folder: bool,
    bytes: Vec<u8>,
    names: BTreeMap<String, usize>,
    kept_bytes: Vec<u8>,
    kept_names: BTreeMap<String, usize>,
    /// Writes since the last sync.
    pending: Vec<(usize, Option<Vec<u8>>)>,
    /// Changes of names since the last sync; each survives completely or not at all.
    changes: Vec<Vec<(String, Option<usize>)>>,
    /// True after a failed sync: no later one recovers the lost writes.
    is_broken: bool,
}

/// Model of a disk.
#[derive(Clone, Debug)]
struct Disk {
    inodes: Vec<Inode>,
    open: HashMap<i32, usize>,
    unheeded: Option<Sync>,
}

impl Disk {
    fn new(unheeded: Option<Sync>) -> Self {
        let folder = Inode { is_folder: true, ..Inode::default() };
        let names = BTreeMap::from([(BEFORE.to_owned(), 1)]);
        let root = Inode { names: names.clone(), kept_names: names, ..folder.clone() };
        Self { inodes: vec![root, folder], open: HashMap::new(), unheeded }
    }

    fn find(&self, path: &str) -> Option<usize> {
        let mut parts = path.split('/').filter(|part| !part.is_empty());
        parts.try_fold(0, |at, part| self.inodes[at].names.get(part).copied())
    }

    fn above<'a>(&self, path: &'a str) -> (usize, &'a str) {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        (self.find(folder).unwrap_or_else(|| panic!("{path}")), name)
    }

    fn change(&mut self, folder: usize, changes: &[(&str, Option<usize>)]) {
        let inode = &mut self.inodes[folder];
        for (name, to) in changes {
            match to {
                Some(to) => inode.names.insert((*name).to_owned(), *to),
                None => inode.names.remove(*name),
            };
        }
        inode.changes.push(changes.iter().map(|(name, to)| ((*name).to_owned(), *to)).collect());
    }

    fn make(&mut self, path: &str, is_folder: bool) -> usize {
        let (folder, name) = self.above(path);
        self.inodes.push(Inode { is_folder, ..Inode::default() });
        let new = self.inodes.len() - 1;
        self.change(folder, &[(name, Some(new))]);
        new
    }

    fn does(&mut self, note: &Note) {
        let offset = usize::try_from(note.offset).unwrap();
        match note.kind {
            b'P' => self.open.clear(),
            b'O' => {
                let inode = self.find(&note.path).unwrap_or_else(|| self.make(&note.path, false));
                self.open.insert(note.fd, inode);
                if note.offset == 2 {
                    self.inodes[inode].bytes.clear();
                    self.inodes[inode].pending.push((0, None));
                }
            }
            b'W' | b'T' => {
                let inode = &mut self.inodes[self.open[&note.fd]];
                let write = (offset, (note.kind == b'W').then(|| note.data.clone()));
                put(&mut inode.bytes, &write);
                inode.pending.push(write);
            }
            b'R' => {
                let inode = self.find(&note.path).unwrap();
                let ((from, old), (to, new)) = (self.above(&note.path), self.above(&note.second));
                assert_eq!(from, to, "a rename into another folder: {note:?}");
                self.change(from, &[(old, None), (new, Some(inode))]);
            }
            b'U' | b'D' => {
                let (folder, name) = self.above(&note.path);
                self.change(folder, &[(name, None)]);
            }
            b'M' => {
                self.make(&note.path, true);
            }
            b'F' | b'S' => {
                let heeded = self.unheeded != Some(Sync::of(note));
                let inode = &mut self.inodes[self.open[&note.fd]];
                if note.result != 0 {
                    inode.is_broken = true;
                    inode.pending.clear();
                }
                if heeded && !inode.is_broken {
                    inode.kept_bytes.clone_from(&inode.bytes);
                    inode.kept_names.clone_from(&inode.names);
                    inode.pending.clear();
                    inode.changes.clear();
                }
            }
            b'A' => {}
            other => panic!("{other}"),
        }
    }

    /// Returns the files after a power failure: the guaranteed minimum, or with dice, also any part of the rest.
    fn cut(&self, mut dice: Option<&mut Dice>) -> BTreeMap<String, Option<Vec<u8>>> {
        let mut tree = BTreeMap::new();
        let mut folders = vec![(String::new(), 0)];
        while let Some((path, folder)) = folders.pop() {
            let inode = &self.inodes[folder];
            let mut names = inode.kept_names.clone();
            if let Some(dice) = dice.as_deref_mut() {
                for (name, to) in inode.changes.iter().filter(|_| dice.below(2) == 0).flatten() {
                    match to {
                        Some(to) => names.insert(name.clone(), *to),
                        None => names.remove(name),
                    };
                }
            }
            for (name, at) in names {
                let inode = &self.inodes[at];
                let path = format!("{path}/{name}");
                if inode.is_folder {
                    tree.insert(path.clone(), None);
                    folders.push((path, at));
                    continue;
                }
                let mut bytes = inode.kept_bytes.clone();
                if let Some(dice) = dice.as_deref_mut() {
                    // The first writes, the last of which is torn; its bytes may be missing though its length was
                    // written.
                    let count = dice.below(inode.pending.len() as u64 + 1) as usize;
                    for (number, write) in inode.pending[..count].iter().enumerate() {
                        let mut write = write.clone();
                        if let Some(bytes) = write.1.as_mut().filter(|_| number + 1 == count) {
                            let whole = dice.below(bytes.len() as u64 + 1) as usize;
                            if dice.below(2) == 0 { bytes.truncate(whole) } else { bytes[whole..].fill(0) }
                        }
                        put(&mut bytes, &write);
                    }
                }
                tree.insert(path, Some(bytes));
            }
        }
        tree
    }
}

fn put(bytes: &mut Vec<u8>, (at, write): &(usize, Option<Vec<u8>>)) {
    match write {
        None => bytes.resize(*at, 0),
        Some(data) => {
            bytes.resize(bytes.len().max(at + data.len()), 0);
            bytes[*at..at + data.len()].copy_from_slice(data);
        }
    }
}

/// Data that must exist once an answer was sent.
#[derive(Clone, Debug, Default)]
struct Expected {
    /// Hashes of worlds, by path.
    worlds: BTreeMap<String, String>,
    /// Hashes of named checkpoints, by world and name.
    saved: BTreeMap<(String, String), String>,
}

/// Answer that was sent.
#[derive(Debug)]
struct Mark {
    /// Bytes of notes when the request began, and when it had been answered.
    asked: usize,
    answered: usize,
    expected: Expected,
}

/// Client that records the answers.
struct Client<'a> {
    observed: &'a Observed,
    service: Option<Service>,
    expected: Expected,
    marks: Vec<Mark>,
    keys: u32,
}

impl<'a> Client<'a> {
    fn new(observed: &'a Observed) -> Self {
        let service = Some(observed.start());
        Self { observed, service, expected: Expected::default(), marks: Vec::new(), keys: 0 }
    }

    fn service(&self) -> &Service {
        self.service.as_ref().unwrap()
    }

    /// Records the expected data from the answer at the end of `ask` on.
    fn marked<T>(&mut self, ask: impl FnOnce(&Service) -> T, learn: impl FnOnce(&mut Expected, &Service, &T)) -> T {
        let asked = self.observed.length();
        let answer = ask(self.service.as_ref().unwrap());
        let answered = self.observed.length();
        learn(&mut self.expected, self.service.as_ref().unwrap(), &answer);
        self.marks.push(Mark { asked, answered, expected: self.expected.clone() });
        answer
    }

    fn make(&mut self, scene: &Value) -> String {
        let learn = |expected: &mut Expected, service: &Service, world: &String| {
            expected.worlds.insert(world.clone(), service.hash(world));
        };
        self.marked(|service| service.make(scene), learn)
    }

    fn tell(&mut self, world: &str, what: &str, body: &Value) {
        self.keys += 1;
        let (path, key) = (format!("{world}/{what}"), format!("key {}", self.keys));
        self.once(world, &path, body, &key);
    }

    fn once(&mut self, world: &str, path: &str, body: &Value, key: &str) {
        let ask = |service: &Service| {
            let answer = service.post_once(path, body, key).unwrap();
            assert_eq!(answer.status, 200, "{path}: {answer:?}");
        };
        self.marked(ask, |expected, service, ()| {
            expected.worlds.insert(world.to_owned(), service.hash(world));
        });
    }

    fn save(&mut self, world: &str, name: &str) {
        let ask = |service: &Service| service.tell(&format!("{world}/checkpoint"), &json!({ "name": name }));
        self.marked(ask, |expected, service, _| {
            expected.saved.insert((world.to_owned(), name.to_owned()), service.hash(world));
        });
    }

    /// Stops the service in order, which writes checkpoints, and starts it again.
    fn restart(&mut self) {
        assert_eq!(self.service.as_mut().unwrap().stop(), Some(0));
        self.service = Some(self.observed.start());
    }

    fn delete(&mut self, world: &str) {
        let ask = |service: &Service| assert_eq!(service.send("DELETE", world, &[], b"").unwrap().status, 204);
        self.marked(ask, |expected, _, ()| {
            expected.worlds.remove(world);
        });
    }
}

fn push(body: u32, by: f64) -> Value {
    json!({ "commands": [ { "impulse": { "body": body, "impulse": [by, 2.0 * by] } } ] })
}

/// Runs a service through all its operations, with checkpoints in between; it is killed once where it would sync a
/// record.
fn life(observed: &Observed) -> Vec<Mark> {
    // It falls: a world at rest needs few checkpoints.
    let scene = json!({ "scene": "large_pyramid:base=7,drop=5" });
    let mut client = Client::new(observed);
    let (world, other) = (client.make(&scene), client.make(&json!({ "scene": "large_pyramid:base=3" })));
    client.tell(&other, "commands", &push(2, 1.0));
    for round in 1..8 {
        // On a quick machine few are due by computing time.
        if [3, 6].contains(&round) {
            client.restart();
        }
        client.tell(&world, "commands", &push(round, 0.5));
        client.tell(&world, "step", &json!({ "steps": 150 }));
    }
    let gone = client.make(&scene);
    client.save(&world, "early");
    client.delete(&gone);
    for round in 1..3 {
        client.tell(&world, "step", &json!({ "steps": 150 }));
        client.tell(&world, "commands", &push(round, 1.5));
    }
    client.tell(&world, "restore", &json!({ "name": "early" }));
    client.tell(&world, "commands", &push(3, 1.5));

    // A record that is written but not synced exists after the restart, and its request is answered.
    std::thread::sleep(Duration::from_millis(300));
    let asked = observed.length();
    observed.rule(Some("kill log-"));
    let path = format!("{other}/commands");
    let circle = json!({ "position": [0, 30], "shapes": [ { "circle": { "radius": 0.5 } } ] });
    let spawn = json!({ "commands": [ { "spawn": { "bodies": [circle] } } ] });
    assert!(client.service().post_once(&path, &spawn, "cut off").is_err());
    observed.rule(None);
    client.service = None;
    client.service = Some(observed.start());
    let before = client.expected.worlds[&other].clone();
    client.once(&other, &path, &spawn, "cut off");
    assert_ne!(client.expected.worlds[&other], before);
    client.marks.last_mut().unwrap().asked = asked;
    client.tell(&other, "step", &json!({ "steps": 10 }));
    client.tell(&world, "step", &json!({ "steps": 150 }));
    client.save(&world, "late");
    client.restart();
    client.tell(&world, "step", &json!({ "steps": 150 }));
    client.tell(&world, "step", &json!({ "steps": 3 }));
    client.marks
}

/// Waits until a world is idle.
fn settled(service: &Service, world: &str) -> Result<Option<String>, String> {
    for _ in 0..12_000 {
        let answer = service.get(world).map_err(|error| error.to_string())?;
        if answer.status == 404 {
            return Ok(None);
        }
        let status = answer.json();
        if status["state"] == "failed" {
            return Err(format!("{world}: {status}"));
        }
        if status["state"] == "paused" {
            return Ok(Some(service.hash(world)));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Err(format!("{world} does not come to rest"))
}

/// Starts a service on the remaining files, and checks that they hold the acknowledged changes, perhaps with the
/// next one.
fn check(tree: &BTreeMap<String, Option<Vec<u8>>>, last: &Expected, next: &Expected) -> Result<(), String> {
    let folder = tempfile::tempdir().unwrap();
    for (path, bytes) in tree {
        let place = folder.path().join(&path[1..]);
        match bytes {
            None => fs::create_dir(place).unwrap(),
            Some(bytes) => fs::write(place, bytes).unwrap(),
        }
    }
    let store = folder.path().join(BEFORE).join("new/store");
    let service = catch_unwind(AssertUnwindSafe(|| Service::start(&store, &[])));
    let service = service.map_err(|_| "the service does not start".to_owned())?;
    for world in last.worlds.keys().chain(next.worlds.keys()).collect::<BTreeSet<_>>() {
        let found = settled(&service, world)?;
        let (before, after) = (last.worlds.get(world), next.worlds.get(world));
        if found.as_ref() != before && found.as_ref() != after {
            return Err(format!("{world} is {found:?}; expected {before:?} or {after:?}"));
        }
    }
    for ((world, name), hash) in &last.saved {
        if !last.worlds.contains_key(world) || !next.worlds.contains_key(world) {
            continue;
        }
        let restored = service.post(&format!("{world}/restore"), &json!({ "name": name })).unwrap();
        if restored.status != 200 || service.hash(world) != *hash {
            return Err(format!("{name} of {world}: {restored:?}"));
        }
    }
    Ok(())
}

/// Cuts the power at points of the record, and returns the faults found.
fn cuts(
    notes: &[Note],
    marks: &[Mark],
    unheeded: Option<Sync>,
    seed: Option<u64>,
    most: usize,
) -> (usize, Vec<String>) {
    let mut states = Vec::new();
    let (mut disk, mut dice, mut seen) = (Disk::new(unheeded), seed.map(Dice::new), HashSet::new());
    // The last answer requested before has been sent by then.
    let sent: Vec<usize> = marks
        .iter()
        .map(|mark| {
            let within = notes.iter().filter(|note| note.begin >= mark.asked && note.begin < mark.answered);
            within.filter(|note| note.kind == b'A').map(|note| note.begin).next_back().expect("it was answered")
        })
        .collect();
    for note in notes {
        disk.does(note);
        let told = sent.iter().filter(|begin| **begin <= note.begin).count();
        if told == 0 {
            continue;
        }
        let mark = |count: usize| marks.get(count - 1).map(|mark| &mark.expected);
        let last = mark(told).unwrap();
        let asked = marks.get(told).is_some_and(|next| next.asked <= note.begin);
        let next = if asked { mark(told + 1).unwrap() } else { last };
        let random = dice.as_mut();
        if random.is_some() && !matches!(note.kind, b'W' | b'R' | b'T' | b'O') {
            continue;
        }
        let tree = disk.cut(random);
        let mut hasher = DefaultHasher::new();
        (&tree, told, asked).hash(&mut hasher);
        if seen.insert(hasher.finish()) {
            states.push((tree, last, next, note));
        }
    }
    // Controls are mostly detected late, when there is much to lose.
    let every = states.len().div_ceil(most).max(1);
    let (mut wrong, mut tried) = (Vec::new(), 0);
    for (tree, last, next, note) in states.iter().rev().step_by(every) {
        tried += 1;
        if let Err(problem) = check(tree, last, next) {
            wrong.push(format!("after {} {} {}: {problem}", char::from(note.kind), note.path, note.second));
            if unheeded.is_some() {
                break;
            }
        }
    }
    (tried, wrong)
}

#[test]
fn nothing_acknowledged_is_lost_when_the_power_is_cut() {
    let observed = Observed::new();
    let marks = life(&observed);
    let notes = observed.notes();
    let syncs: BTreeSet<Sync> = notes.iter().filter(|note| matches!(note.kind, b'F' | b'S')).map(Sync::of).collect();
    assert_eq!(syncs, Sync::ALL.into_iter().collect(), "each kind is there");
    let checkpoints = notes.iter().filter(|note| note.kind == b'R' && note.second.contains("/checkpoint-")).count();
    assert!(checkpoints > 4, "{checkpoints} checkpoints");
    // Negative controls first.
    let mut missed = Vec::new();
    for unheeded in Sync::ALL {
        let (tried, wrong) = cuts(&notes, &marks, Some(unheeded), None, 1000);
        eprintln!("without {unheeded:?}: {tried} cuts; {wrong:?}");
        if wrong.is_empty() {
            missed.push(unheeded);
        }
    }
    assert_eq!(missed, [], "syncs that make no difference");
    let (least, wrong) = cuts(&notes, &marks, None, None, 150);
    assert!(wrong.is_empty(), "{wrong:#?}");
    let (random, wrong) = cuts(&notes, &marks, None, Some(5), 80);
    assert!(wrong.is_empty(), "{wrong:#?}");
    eprintln!("{} notes, {} answers, {least} and {random} cuts", notes.len(), marks.len());
}

/// A failed sync leaves the disk's content unknown. The client gets a 503 and retries.
#[test]
fn a_failed_sync_is_in_doubt() {
    let observed = Observed::new();
    let mut client = Client::new(&observed);
    let scene = json!({ "scene": "large_pyramid:base=4" });
    let (world, twin) = (client.make(&scene), client.make(&scene));
    for one in [&world, &twin] {
        client.tell(one, "commands", &push(2, 1.0));
        client.tell(one, "step", &json!({ "steps": 5 }));
    }
    let path = format!("{world}/commands");
    for round in 0..3_u32 {
        let asked = observed.length();
        observed.rule(Some("fail log-"));
        let (body, key) = (push(2 + round, 2.0), format!("doubt {round}"));
        let answer = client.service().post_once(&path, &body, &key).unwrap();
        assert_eq!(
            (answer.status, answer.json()["type"].as_str()),
            (503, Some("urn:drystone:store-away")),
            "{answer:?}"
        );
        assert!(
            answer.json()["detail"].as_str().unwrap().contains("not known yet whether the data was written"),
            "{answer:?}"
        );
        observed.rule(None);
        let again = (0..2400).find_map(|_| {
            let answer = client.service().post_once(&path, &body, &key).unwrap();
            std::thread::sleep(Duration::from_millis(25));
            (answer.status != 503).then_some(answer)
        });
        assert_eq!(again.expect("it comes back").status, 200);
        client.once(&world, &path, &body, &key);
        client.marks.last_mut().unwrap().asked = asked;
        client.tell(&twin, "commands", &body);
        for one in [&world, &twin] {
            client.tell(one, "step", &json!({ "steps": 5 }));
        }
        assert_eq!(client.expected.worlds[&world], client.expected.worlds[&twin], "once, in round {round}");
    }
    // The model's disk never has what it failed to sync: the data must be in another file.
    let notes = observed.notes();
    assert!(notes.iter().any(|note| note.result != 0));
    let (tried, wrong) = cuts(&notes, &client.marks, None, None, 60);
    assert!(tried > 10 && wrong.is_empty(), "{wrong:#?}");
}

/// A log whose beginning or end is in doubt, while a world plays without requests: the world stops and reports the
/// doubt, then continues from the disk's content, to the same bits.
#[test]
fn a_log_in_doubt_at_its_begin_or_end() {
    let observed = Observed::new();
    let service = observed.start();
    let scene = json!({ "scene": "large_pyramid:base=7" });
    let (world, twin) = (service.make(&scene), service.make(&scene));
    let id = world.rsplit('/').next().unwrap();
    let step = || service.ask(&world)["step"].as_u64().unwrap();
    // Syncs of the world's folder, with which a log begins; and of existing logs, with which they end.
    for rule in [format!("fail /{id}"), "fail /log-".to_owned()] {
        service.tell(&format!("{world}/play"), &json!({ "speed": "max" }));
        let before = step();
        until("plays", || step() > before);
        observed.rule(Some(&rule));
        until("in doubt", || {
            let answer = service.get(&format!("{world}/metrics")).unwrap();
            let told = answer.json()["detail"]
                .as_str()
                .unwrap_or_default()
                .contains("not known yet whether the data was written");
            answer.status == 503 && told
        });
        observed.rule(None);
        until("back", || service.get(&format!("{world}/metrics")).unwrap().status == 200);
        until("paused", || service.post(&format!("{world}/pause"), &json!({})).unwrap().status == 200);
        let steps = step() - service.ask(&twin)["step"].as_u64().unwrap();
        assert!(steps > 0, "{rule}");
        service.tell(&format!("{twin}/step"), &json!({ "steps": steps }));
        assert_eq!(service.hash(&world), service.hash(&twin), "{rule}");
    }
    let (hash, last) = (service.hash(&world), step());
    drop(service);
    let service = observed.start();
    assert_eq!((service.hash(&world), service.ask(&world)["step"].as_u64()), (hash, Some(last)));
}
