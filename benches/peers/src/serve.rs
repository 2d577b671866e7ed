//! Answers the requests of `drystone bench`, one per line ([`drystone_bench`]).

use std::io::{BufRead, Write};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use drystone::Scene;
use drystone_bench::{PROTOCOL, PeerEngine, PeerInfo, PeerJob, PeerReply, PeerRequest, PeerRun, PeerTimes};
use drystone_scenes::file;

use crate::box2d::{self, Box2d};
use crate::rapier::{self, Rapier};

/// Interval between progress messages.
const ALIVE: Duration = Duration::from_secs(1);

/// World of another engine.
pub trait World {
    /// Sets the inputs of the next step ([`crate::push`]). Not timed.
    fn push(&mut self) -> Result<()>;
    /// Advances the world by one step.
    fn step(&mut self) -> Result<()>;
    /// Records the stage times of the last step. Not timed.
    fn note_profile(&mut self) -> Result<()>;
    /// Returns the total milliseconds of each stage over all recorded steps.
    fn stage_ms(&self) -> &[(&'static str, f64)];
    /// Returns the state of all bodies, as in [`PeerRun::bodies`].
    fn bodies(&mut self) -> Result<Vec<[f32; 7]>>;
}

/// Answers requests until the input ends.
///
/// # Errors
/// If the input is not a request, or the output cannot be written.
pub fn serve(input: impl BufRead, mut output: impl Write) -> Result<()> {
    for line in input.lines() {
        let line = line?;
        let reply = match serde_json::from_str(&line).with_context(|| format!("invalid request: {line}"))? {
            PeerRequest::About => PeerReply::About(about()),
            PeerRequest::Run(job) => match run(&job, &mut output) {
                Ok(ran) => PeerReply::Ran(ran),
                Err(error) => PeerReply::Refused(format!("{error:#}").replace('\n', " ")),
            },
        };
        send(&mut output, &reply)?;
    }
    Ok(())
}

fn send(output: &mut impl Write, reply: &PeerReply) -> Result<()> {
    serde_json::to_writer(&mut *output, reply)?;
    output.write_all(b"\n")?;
    Ok(output.flush()?)
}

fn about() -> PeerInfo {
    let box2d = format!("{} ({}, -O2 {})", box2d::VERSION, box2d::SIMD, env!("PEERS_CFLAGS"));
    PeerInfo {
        protocol: PROTOCOL,
        engines: vec![
            PeerEngine { name: "box2d".into(), version: box2d, most_threads: 32 },
            PeerEngine { name: "rapier".into(), version: rapier::VERSION.into(), most_threads: 1 },
        ],
    }
}

fn run(job: &PeerJob, output: &mut impl Write) -> Result<PeerRun> {
    let scene = file::read(&job.scene)?;
    let threads = job.threads as usize;
    let mut world: Box<dyn World> = match job.engine.as_str() {
        "box2d" => Box::new(Box2d::new(&scene, box2d::Options { threads, continuous: true })?),
        "rapier" => {
            ensure!(threads == 1, "rapier is built for one thread");
            Box::new(Rapier::new(&scene)?)
        }
        other => bail!("unknown engine {other}"),
    };
    step(&scene, world.as_mut(), job, output)
}

fn step(scene: &Scene, world: &mut dyn World, job: &PeerJob, output: &mut impl Write) -> Result<PeerRun> {
    let mut spoke = Instant::now();
    let times = PeerTimes::of(job.steps, job.threads as usize, |watch, index| {
        world.push()?;
        watch.time(|| world.step())?;
        if index > 0 {
            world.note_profile()?;
        }
        if spoke.elapsed() > ALIVE {
            send(output, &PeerReply::Alive(index))?;
            spoke = Instant::now();
        }
        anyhow::Ok(())
    })?;
    let steps = f64::from(job.steps.max(1));
    let stages_ms = world.stage_ms().iter().map(|&(name, ms)| (name.to_owned(), ms / steps)).collect();
    let bodies = world.bodies()?;
    ensure!(
        bodies.len() == scene.bodies.len(),
        "the engine has {} bodies, the scene {}",
        bodies.len(),
        scene.bodies.len()
    );
    ensure!(bodies.as_flattened().iter().all(|x| x.is_finite()), "the state of a body is NaN or infinite");
    Ok(PeerRun { times, stages_ms, bodies })
}

#[cfg(test)]
mod tests {
    use drystone::Snapshot;
    use drystone::low_level::CpuWorld;
    use drystone_scenes::catalogue;

    use super::*;

    fn asked(lines: &str) -> Result<Vec<PeerReply>> {
        let mut output = Vec::new();
        serve(lines.as_bytes(), &mut output)?;
        Ok(String::from_utf8(output)?.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
    }

    fn job(spec: &str, engine: &str, threads: u32) -> (std::path::PathBuf, String) {
        let name = format!("peers-{}-{}-{engine}-{threads}.json", std::process::id(), spec.replace([':', '='], "-"));
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, file::write_json(&catalogue::build(spec).unwrap())).unwrap();
        let request = PeerRequest::Run(PeerJob { scene: path.clone(), engine: engine.into(), threads, steps: 20 });
        (path, serde_json::to_string(&request).unwrap())
    }

    fn run(spec: &str, engine: &str, threads: u32) -> PeerReply {
        let (path, line) = job(spec, engine, threads);
        let reply = asked(&line).unwrap().pop().unwrap();
        std::fs::remove_file(path).unwrap();
        reply
    }

    #[test]
    fn it_says_who_it_is() {
        let replies = asked("\"about\"\n\"about\"\n").unwrap();
        let [PeerReply::About(about), _] = &replies[..] else { panic!("{replies:?}") };
        assert_eq!(about.protocol, PROTOCOL);
        let names: Vec<&str> = about.engines.iter().map(|engine| engine.name.as_str()).collect();
        assert_eq!(names, ["box2d", "rapier"]);
        assert!(asked("hello\n").is_err());
    }

    /// A scene with the same result in all engines, read from a file; bitwise equal on two threads.
    #[test]
    fn a_scene_is_run() {
        let mut world = CpuWorld::new(&catalogue::build("large_pyramid:base=5").unwrap()).unwrap();
        (0..21).for_each(|_| world.step().unwrap());
        let Snapshot { poses, .. } = world.snapshot();
        let mut first = None;
        for (engine, threads) in [("box2d", 1), ("box2d", 2), ("rapier", 1)] {
            let PeerReply::Ran(ran) = run("large_pyramid:base=5", engine, threads) else { panic!("{engine}") };
            assert!(ran.times.ms > 0.0 && ran.times.first_ms > 0.0, "{:?}", ran.times);
            assert_eq!(ran.bodies.len(), poses.len());
            for (theirs, ours) in ran.bodies.iter().zip(&poses) {
                assert!((theirs[1] - ours.position[1]).abs() < 0.01, "{engine}: {theirs:?} {ours:?}");
            }
            if engine == "box2d" {
                assert_eq!(*first.get_or_insert(ran.bodies.clone()), ran.bodies, "{threads} threads");
            }
        }
    }

    #[test]
    fn what_cannot_be_done_is_refused() {
        for (spec, engine, threads, says) in [
            ("small_si", "box2d", 1, "`mode`"),
            ("small_si", "rapier", 1, "`mode`"),
            ("slope", "rapier", 2, "one thread"),
            ("bouncing_ball", "rapier", 1, "`restitution`"),
            ("slope", "havok", 1, "unknown engine havok"),
        ] {
            let PeerReply::Refused(why) = run(spec, engine, threads) else { panic!("{spec} {engine}") };
            assert!(why.contains(says), "{spec} {engine}: {why}");
        }
        let missing = r#"{"run":{"scene":"/nowhere/a.json","engine":"box2d","threads":1,"steps":1}}"#;
        assert!(matches!(&asked(missing).unwrap()[..], [PeerReply::Refused(why)] if why.contains("/nowhere/a.json")));
    }
}
