//! The loss of a device costs no world: waiting clients get a 503, and a retry continues to the same bits.

use std::sync::Arc;
use std::time::Duration;

use drystone::{AdapterChoice, Context};
use drystone_scenes::{catalogue, file};
use drystone_serve::config::S3;
use drystone_serve::op::{CommandRecord, Op, RequestKey};
use drystone_serve::problem::Problem;
use drystone_serve::scheduler::Scheduler;
use drystone_serve::session::{Answer, Format, Read, ReplySender, SessionRequest, WorldFacts};
use drystone_serve::store::Store;
use drystone_serve::{Config, Device};
use serde_json::{Value, json};

struct Worlds {
    scheduler: Arc<Scheduler>,
    runtime: tokio::runtime::Runtime,
}

impl Worlds {
    /// Starts the service without its sockets: its device cannot be taken away from outside.
    fn on(device: Device) -> Self {
        let config = Config { store: "memory".to_owned(), ..Config::default() };
        let store = Arc::new(Store::open("memory", &S3::default(), 0).unwrap());
        let scheduler = Scheduler::start(Arc::new(config), device, store).unwrap();
        Self { scheduler, runtime: tokio::runtime::Runtime::new().unwrap() }
    }

    fn make(&self, id: &str, spec: &str) {
        let facts = WorldFacts { name: id.to_owned(), created: 0, key: None, owner: String::new(), bodies: 0 };
        let text = file::write_json(&catalogue::build(spec).unwrap());
        let store = &self.scheduler.shared().store;
        store.create(id, &serde_json::to_vec(&facts).unwrap(), text.as_bytes()).unwrap();
        let place = self.scheduler.reserve("", 10).unwrap();
        self.scheduler.add(id, facts, place);
    }

    fn ask(&self, id: &str, request: impl FnOnce(ReplySender) -> SessionRequest) -> Result<Answer, Problem> {
        self.runtime.block_on(self.scheduler.ask(id, request))
    }

    fn change(&self, id: &str, op: Op, key: &str) -> Result<Answer, Problem> {
        let key = Some(RequestKey { name: key.to_owned(), hash: 0 });
        self.ask(id, |reply| SessionRequest::Write { op, key, deadline: None, reply })
    }

    /// Retries as long as the answer says that this may help.
    fn surely(&self, id: &str, op: &Op, key: &str) -> Value {
        for _ in 0..600 {
            match self.change(id, op.clone(), key) {
                Ok(answer) => return serde_json::from_slice(&answer.body).unwrap(),
                Err(problem) => assert!(matches!(problem.status, 409 | 503), "{problem:?}"),
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("the world does not come back");
    }

    fn hash(&self, id: &str) -> Value {
        for _ in 0..600 {
            match self.ask(id, |reply| SessionRequest::Read(Read::State(Format::Json, Box::new(|_| Ok(()))), reply)) {
                Ok(answer) => return serde_json::from_slice::<Value>(&answer.body).unwrap()["hash"].clone(),
                Err(problem) => assert_eq!(problem.status, 503, "{problem:?}"),
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("the world does not come back");
    }
}

fn push(body: u32) -> Op {
    let record = json!({ "impulse": { "body": body, "impulse": [2, 3] } });
    Op::Commands(vec![serde_json::from_value::<CommandRecord>(record).unwrap()])
}

#[test]
fn worlds_survive_their_device() {
    let context = Context::new(AdapterChoice::Any).expect("a device, if only a software one");
    let worlds = Worlds::on(Device::gpu(context, AdapterChoice::Any));
    for id in ["lost", "other", "twin"] {
        worlds.make(id, "large_pyramid:base=5");
    }
    let script = |id: &str, lose: bool| {
        let mut told = Vec::new();
        for round in 0..3_u32 {
            told.push(worlds.surely(id, &Op::Step { steps: 10 }, &format!("step {round}")));
            told.push(worlds.surely(id, &push(1 + round), &format!("push {round}")));
            if lose && round == 1 {
                worlds.scheduler.device().destroy();
                // The first request after the loss gets a 503; the world has not failed.
                let problem = worlds.change(id, Op::Step { steps: 5 }, "cut off").unwrap_err();
                assert_eq!((problem.status, problem.kind.as_str()), (503, "urn:drystone:device"));
                assert!(problem.retry_after.is_some());
            }
            if round == 1 {
                told.push(worlds.surely(id, &Op::Step { steps: 5 }, "cut off"));
            }
        }
        told
    };
    let (lost, twin) = (script("lost", true), script("twin", false));
    assert_eq!(worlds.scheduler.device().generation(), 1, "it was another device");
    assert_eq!(lost, twin);
    assert_eq!(worlds.hash("lost"), worlds.hash("twin"));
    // A world without requests at that time survives as well.
    assert_eq!(worlds.surely("other", &Op::Step { steps: 1 }, "a")["step"], 1);
    assert_ne!(worlds.hash("other"), worlds.hash("twin"), "worlds differ if what was asked does");
    assert!(worlds.scheduler.worlds().iter().all(|handle| handle.status().state == "paused"));
    assert!(worlds.scheduler.stop(Duration::from_mins(1)));
}

/// A device lost within a batch of requests: each is answered or to be retried, and each is executed once.
#[test]
fn a_batch_survives_its_device() {
    let context = Context::new(AdapterChoice::Any).expect("a device, if only a software one");
    let worlds = Worlds::on(Device::gpu(context, AdapterChoice::Any));
    for id in ["lost", "twin"] {
        worlds.make(id, "large_pyramid:base=5");
        worlds.surely(id, &Op::Step { steps: 5 }, "before");
    }
    let ball =
        json!({ "spawn": { "bodies": [ { "position": [0, 30], "shapes": [ { "circle": { "radius": 0.5 } } ] } ] } });
    let spawn = || Op::Commands(vec![serde_json::from_value::<CommandRecord>(ball.clone()).unwrap()]);
    let ops = [push(1), spawn(), push(2), spawn(), push(3), Op::Step { steps: 5 }];
    // All are in the inbox before the world's time slice, so they go to the log together.
    let handle = worlds.scheduler.world("lost").unwrap();
    worlds.scheduler.device().destroy();
    let answers: Vec<_> = (0..)
        .zip(&ops)
        .map(|(number, op)| {
            let (reply, answer) = tokio::sync::oneshot::channel();
            let key = Some(RequestKey { name: format!("part {number}"), hash: 0 });
            handle.put(SessionRequest::Write { op: op.clone(), key, deadline: None, reply }, 64).unwrap();
            answer
        })
        .collect();
    worlds.scheduler.poke("lost");
    let mut refused = 0;
    for answer in answers {
        match worlds.runtime.block_on(answer).expect("each is answered") {
            Ok(_) => {}
            Err(problem) => {
                assert_eq!(problem.status, 503, "{problem:?}");
                assert!(problem.retry_after.is_some());
                refused += 1;
            }
        }
    }
    assert!(refused > 0, "the device was lost in it");
    let script = |id: &str| {
        let told = (0..).zip(&ops).map(|(number, op)| worlds.surely(id, op, &format!("part {number}")));
        told.collect::<Vec<_>>()
    };
    let (lost, twin) = (script("lost"), script("twin"));
    assert_eq!(worlds.scheduler.device().generation(), 1, "it was another device");
    let ids =
        |told: &[Value]| told.iter().filter_map(|told| told["results"][0].get("bodies").cloned()).collect::<Vec<_>>();
    assert_eq!((ids(&lost).len(), ids(&lost)), (2, ids(&twin)));
    for id in ["lost", "twin"] {
        worlds.surely(id, &Op::Step { steps: 5 }, "after");
    }
    assert_eq!(worlds.hash("lost"), worlds.hash("twin"), "no push and no body came twice");
    assert!(worlds.scheduler.stop(Duration::from_mins(1)));
}

/// Worlds that step together and lose their device repeatedly: each returns to its own bits, and none is blamed for
/// a loss that may be another's.
#[test]
fn worlds_that_step_together_survive_their_device() {
    let context = Context::new(AdapterChoice::Any).expect("a device, if only a software one");
    let worlds = Worlds::on(Device::gpu(context, AdapterChoice::Any));
    let ids = ["a", "b", "c", "d", "twin"];
    for id in ids {
        worlds.make(id, "large_pyramid:base=3");
    }
    let script = |id: &str, body: u32| {
        for round in 0..10 {
            worlds.surely(id, &Op::Step { steps: 30 }, &format!("step {round}"));
            worlds.surely(id, &push(body), &format!("push {round}"));
        }
        worlds.hash(id)
    };
    let twin = script("twin", 2);
    let steps = || ids.map(|id| worlds.scheduler.world(id).unwrap().status().step);
    std::thread::scope(|scope| {
        let script = &script;
        let clients: Vec<_> = ids[..4].iter().map(|id| scope.spawn(move || script(id, 2))).collect();
        // More losses than one world may have in a row; but each steps or finishes in between.
        for _ in 0..4 {
            worlds.scheduler.device().destroy();
            let before = steps();
            while clients
                .iter()
                .zip(before)
                .zip(steps())
                .any(|((client, before), now)| !client.is_finished() && now <= before)
            {
                std::thread::sleep(Duration::from_millis(10));
            }
        }
        for client in clients {
            assert_eq!(client.join().unwrap(), twin);
        }
    });
    assert!(worlds.scheduler.device().generation() > 0, "it was lost while they stepped");
    assert!(worlds.scheduler.worlds().iter().all(|handle| handle.status().state == "paused"));
    // Negative control: another push is another state.
    worlds.surely("a", &push(2), "one more");
    worlds.surely("a", &Op::Step { steps: 1 }, "and a step");
    assert_ne!(worlds.hash("a"), twin);
    assert!(worlds.scheduler.stop(Duration::from_mins(1)));
}
