//! Rewinding: to the same bits, durable, within the kept history, and consistent when the service is killed.

use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::client::{Answer, Dice, Service};
use crate::crash::{OUTSIDE, scene};

fn back(service: &Service, world: &str, steps: u64) -> Answer {
    service.post(&format!("{world}/rewind"), &json!({ "steps": steps })).unwrap()
}

fn step(service: &Service, world: &str, steps: u64) -> u64 {
    service.tell(&format!("{world}/step"), &json!({ "steps": steps }))["step"].as_u64().unwrap()
}

fn steps_of(service: &Service, world: &str) -> u64 {
    service.ask(world)["step"].as_u64().unwrap()
}

#[test]
fn a_world_goes_back_and_comes_forth_the_same() {
    let folder = tempfile::tempdir().unwrap();
    goes_back_and_forth(&|| Service::start(folder.path(), &[]));
}

/// Rewinds by several steps, by one, past steps that were rewound before, and after a kill.
pub fn goes_back_and_forth(start: &dyn Fn() -> Service) {
    let mut service = start();
    let world = service.make(&scene());
    let mut hashes = vec![service.hash(&world)];
    let ball = json!({ "position": [0.2, 5], "shapes": [ { "circle": { "radius": 0.3 } } ] });
    for now in 1..=60 {
        assert_eq!(step(&service, &world, 1), now);
        hashes.push(service.hash(&world));
        let command = match now {
            20 => json!({ "gravity": { "gravity": [2, -4] } }),
            30 => json!({ "velocity": { "body": "a", "velocity": [3, 2] } }),
            50 => json!({ "spawn": { "bodies": [ball] } }),
            _ => continue,
        };
        service.tell(&format!("{world}/commands"), &json!({ "commands": [command] }));
        hashes[now as usize] = service.hash(&world);
    }
    let bodies = service.ask(&world)["bodies"].as_u64().unwrap();
    // By five, by one, by the default, and within rewound history.
    let last = back(&service, &world, 5);
    assert_eq!((last.status, last.json()), (200, json!({ "step": 55 })));
    assert_eq!(service.hash(&world), hashes[55]);
    let answer = service.post_once(&format!("{world}/rewind"), &json!({ "steps": 5 }), "five").unwrap();
    assert_eq!((answer.status, answer.json(), service.hash(&world)), (200, json!({ "step": 50 }), hashes[50].clone()));
    assert_eq!(service.ask(&world)["bodies"], bodies, "what was asked after step 50 and before 51 is there");
    service.kill();
    service = start();
    assert_eq!((steps_of(&service, &world), service.hash(&world)), (50, hashes[50].clone()));
    let again = service.post_once(&format!("{world}/rewind"), &json!({ "steps": 5 }), "five").unwrap();
    assert_eq!((again.header("idempotency-replayed"), again.json()), (Some("true"), json!({ "step": 50 })));
    assert_eq!(service.tell(&format!("{world}/rewind"), &json!({})), json!({ "step": 49 }));
    assert_eq!((service.hash(&world), service.ask(&world)["bodies"].clone()), (hashes[49].clone(), json!(bodies - 1)));
    // Discarded steps do not return, earlier commands do: gravity, and the push at step 30.
    assert_eq!(back(&service, &world, 19).status, 200);
    assert_eq!((steps_of(&service, &world), service.hash(&world)), (30, hashes[30].clone()));
    assert_eq!(service.ask(&world)["gravity"], json!([2.0, -4.0]));
    step(&service, &world, 19);
    assert_eq!(service.hash(&world), hashes[49]);
    assert_eq!(back(&service, &world, 49).json(), json!({ "step": 0 }));
    assert_eq!((service.hash(&world), service.ask(&world)["state"].clone()), (hashes[0].clone(), json!("paused")));
    step(&service, &world, 20);
    assert_eq!(service.hash(&world), hashes[20]);
}

/// Counts the checkpoints and logs of the only world of a folder.
fn files(folder: &std::path::Path) -> [usize; 2] {
    let world = std::fs::read_dir(folder.join("worlds")).unwrap().next().unwrap().unwrap().path();
    let names: Vec<String> =
        std::fs::read_dir(world).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    ["checkpoint-", "log-"].map(|kind| names.iter().filter(|name| name.starts_with(kind)).count())
}

#[test]
fn going_back_again_and_again_takes_no_more_space() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    let world = service.make(&scene());
    let first = service.hash(&world);
    step(&service, &world, 30);
    for _ in 0..30 {
        assert_eq!(back(&service, &world, 1).status, 200);
    }
    let [checkpoints, logs] = files(folder.path());
    assert!(checkpoints <= 2 && logs == 31, "{checkpoints} checkpoints, {logs} logs");
    // Beyond the limit of logs the history is discarded.
    for _ in 0..240 {
        step(&service, &world, 1);
        assert_eq!(back(&service, &world, 1).status, 200);
    }
    let [checkpoints, logs] = files(folder.path());
    assert!(checkpoints <= 2 && logs < 200, "{checkpoints} checkpoints, {logs} logs");
    assert_eq!((steps_of(&service, &world), service.hash(&world)), (0, first));
}

#[test]
fn what_cannot_go_back_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(folder.path(), &[]);
    let world = service.make(&scene());
    step(&service, &world, 40);
    let refused = |steps: u64, status: u16, path: &str, detail: &str| {
        let answer = back(&service, &world, steps);
        let problem = answer.json();
        assert_eq!((answer.status, problem["path"].as_str().unwrap_or_default()), (status, path), "{problem}");
        assert!(problem["detail"].as_str().unwrap().contains(detail), "{problem}");
    };
    refused(41, 422, "steps", "steps is 41; the world has done 40");
    refused(0, 422, "steps", "expected 1 to");
    let (late, now) = (json!({ "steps": 40, "timeout": 1e-9 }), service.hash(&world));
    let answer = service.post(&format!("{world}/rewind"), &late).unwrap();
    assert_eq!((answer.status, answer.json()["path"].as_str()), (422, Some("timeout")), "{answer:?}");
    // The world is open again by the time its state is read.
    assert_eq!((service.hash(&world), steps_of(&service, &world)), (now, 40));
    service.tell(&format!("{world}/play"), &json!({ "speed": 0.001 }));
    refused(1, 409, "", "pause it");
    service.tell(&format!("{world}/pause"), &json!({}));

    // History ends at a restored state.
    service.tell(&format!("{world}/checkpoint"), &json!({ "name": "here" }));
    let kept = steps_of(&service, &world);
    step(&service, &world, 20);
    service.tell(&format!("{world}/restore"), &json!({ "name": "here" }));
    let here = service.hash(&world);
    step(&service, &world, 3);
    let says = format!("step {} is no longer available: the earliest step is {kept}", kept - 1);
    refused(4, 422, "steps", &says);
    assert_ne!(service.hash(&world), here);
    assert_eq!(steps_of(&service, &world), kept + 3, "it is where it was");
    assert_eq!((back(&service, &world, 3).status, service.hash(&world)), (200, here));
}

/// A random walk: steps, rewinds, pushes, kills. Each revisited state has its earlier bits.
#[test]
fn any_way_back_comes_to_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let [went, refused, redone] = walks(120, &|| Service::start(folder.path(), &WALK));
    assert!(went > 10 && refused > 2 && redone > 5, "{went} went back, {refused} could not, {redone} were done again");
}

/// Settings of a walk: checkpoints are only written at stops, so that it is reproducible.
pub const WALK: [(&str, &str); 2] = [("CHECKPOINT_SECONDS", "1000"), OUTSIDE];

/// Walks for some rounds. Returns how often the world was rewound, refused to, and was stepped and rewound again.
pub fn walks(rounds: u32, start: &dyn Fn() -> Service) -> [u32; 3] {
    let mut service = start();
    let world = service.make(&scene());
    let mut dice = Dice::new(7);
    let mut past = vec![service.hash(&world)];
    let (mut went, mut refused, mut redone) = (0, 0, 0);
    for round in 0..rounds {
        let now = past.len() as u64 - 1;
        match dice.below(12) {
            0..5 => {
                for _ in 0..=dice.below(6) {
                    step(&service, &world, 1);
                    past.push(service.hash(&world));
                }
            }
            5..7 => {
                let push = json!({ "velocity": { "body": "b", "velocity": [2.0 * dice.unit(), 3.0 * dice.unit()] } });
                service.tell(&format!("{world}/commands"), &json!({ "commands": [push] }));
                past[now as usize] = service.hash(&world);
            }
            7 => {
                if dice.below(3) == 0 {
                    assert_eq!(service.stop(), Some(0));
                } else {
                    service.kill();
                }
                service = start();
            }
            _ if now > 0 => {
                let steps = 1 + dice.below(now.min(30));
                let answer = back(&service, &world, steps);
                let wanted = now - steps;
                if answer.status == 422 {
                    let detail = answer.json()["detail"].as_str().unwrap().to_owned();
                    let earliest: u64 = detail.rsplit(' ').next().unwrap().parse().expect(&detail);
                    assert!(wanted < earliest && earliest <= now, "round {round}: {detail}");
                    refused += 1;
                    continue;
                }
                assert_eq!(answer.json(), json!({ "step": wanted }), "round {round}");
                assert_eq!(service.hash(&world), past[wanted as usize], "round {round}: {now} to {wanted}");
                went += 1;
                past.truncate(wanted as usize + 1);
            }
            _ => {}
        }
        let now = past.len() as u64 - 1;
        assert_eq!((steps_of(&service, &world), &service.hash(&world)), (now, &past[now as usize]), "round {round}");
        // Forward from here, back, and forward again.
        if dice.below(4) == 0 {
            step(&service, &world, 4);
            let on = service.hash(&world);
            if back(&service, &world, 4).status == 200 {
                assert_eq!(service.hash(&world), past[now as usize], "round {round}");
                step(&service, &world, 4);
                assert_eq!(service.hash(&world), on, "round {round}");
                redone += 1;
            }
            past.extend((1..4).map(|_| String::new()));
            past.push(on);
            // The states in between are recorded by rewinding through them.
            for place in (now + 1..now + 4).rev() {
                if back(&service, &world, 1).status == 200 {
                    past.truncate(place as usize + 1);
                    past[place as usize] = service.hash(&world);
                } else {
                    break;
                }
            }
            let now = past.len() - 1;
            past[now] = service.hash(&world);
        }
    }
    [went, refused, redone]
}

/// A world killed during a rewind is in its old state or in the wanted one.
#[test]
fn killed_while_it_goes_back() {
    let folder = tempfile::tempdir().unwrap();
    is_killed_on_its_way(&[0, 3, 10, 30, 60, 120, 400], &|| Service::start(folder.path(), &[OUTSIDE]));
}

/// Rewinds by 20 steps and kills the service after a number of milliseconds, repeatedly.
pub fn is_killed_on_its_way(waits: &[u64], start: &dyn Fn() -> Service) {
    let mut service = start();
    let world = service.make(&scene());
    let mut hashes = vec![service.hash(&world)];
    for _ in 0..400 {
        step(&service, &world, 1);
        hashes.push(service.hash(&world));
    }
    let mut seen = [0, 0];
    for &wait in waits {
        let from = steps_of(&service, &world);
        let pid = service.pid();
        let killer = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(wait));
            assert!(Command::new("kill").args(["-KILL", &pid.to_string()]).status().unwrap().success());
        });
        let answer = service.post(&format!("{world}/rewind"), &json!({ "steps": 20 }));
        killer.join().unwrap();
        service.kill();
        service = start();
        let now = steps_of(&service, &world);
        assert!(now == from || now == from - 20, "{now}, from {from}");
        assert!(answer.is_err() || now == from - 20, "acknowledged and not done: {answer:?}");
        assert_eq!(service.hash(&world), hashes[now as usize]);
        seen[usize::from(now != from)] += 1;
    }
    let last: Value = back(&service, &world, 1).json();
    assert!(last["step"].is_u64(), "{last}, after {seen:?}");
}
