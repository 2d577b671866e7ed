//! What `drystone bench` and a program that runs other engines for it have in common: what they say to each other, and
//! the watch they time with. Feature `bench`.
//!
//! The program reads a [`Request`] a line from standard input and writes [`Reply`]s, one a line, to standard output,
//! JSON either way; it ends when its input ends. Standard error is for people. After a [`Request::About`] comes one
//! [`Reply::About`]; after a [`Request::Run`] come any number of [`Reply::Alive`], then [`Reply::Ran`] or
//! [`Reply::Refused`].
//!
//! ```
//! use drystone_bench::{Job, Request};
//! let job = Job { scene: "/tmp/a.json".into(), engine: "box2d".into(), threads: 1, steps: 100 };
//! let line = r#"{"run":{"scene":"/tmp/a.json","engine":"box2d","threads":1,"steps":100}}"#;
//! assert_eq!(serde_json::to_string(&Request::Run(job)).unwrap(), line);
//! ```

use std::path::PathBuf;
use std::time::Instant;

use serde::{Deserialize, Serialize};

/// Version of the protocol. Changes when old programs would be misunderstood.
pub const PROTOCOL: u32 = 1;

/// A line to the program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// Who are you?
    About,
    /// Run a scene from its start.
    Run(Job),
}

/// A run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// A scene file.
    pub scene: PathBuf,
    /// One of [`About::engines`], by name.
    pub engine: String,
    /// That step the world.
    pub threads: u32,
    /// Timed ones, after a first that is timed by itself.
    pub steps: u32,
}

/// A line from the program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Reply {
    /// What there is.
    About(About),
    /// Still running, so many steps done. At least every few seconds, or the program counts as hung; between steps, so
    /// that it costs no time that is measured.
    Alive(u32),
    /// Done.
    Ran(Ran),
    /// The engine cannot do the scene, and why: one line, naming what it cannot do.
    Refused(String),
}

/// What a program can run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct About {
    /// [`PROTOCOL`].
    pub protocol: u32,
    /// At least one.
    pub engines: Vec<Engine>,
}

/// An engine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Engine {
    /// For [`Job::engine`].
    pub name: String,
    /// Version, commit and how it was built, for a person.
    pub version: String,
    /// Threads it can use at most.
    pub most_threads: u32,
}

/// A finished run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ran {
    /// How long it took.
    pub times: Times,
    /// ms a step by stage, in the engine's own words, over the steps after the first. May be empty.
    pub stages_ms: Vec<(String, f64)>,
    /// The end, in the order of the scene's bodies: place of the centre of mass (m), cosine and sine of the angle,
    /// velocity of the centre of mass (m/s), angular velocity (rad/s).
    pub bodies: Vec<[f32; 7]>,
}

/// How long the steps of one run took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Times {
    /// The first step, ms of wall time.
    pub first_ms: f64,
    /// Mean over the steps after the first, ms of wall time.
    pub ms: f64,
    /// Likewise of the processor, where one thread does all the work and the system tells. Other programs disturb it
    /// less than wall time.
    pub cpu_ms: Option<f64>,
}

impl Times {
    /// Steps `1 + steps` times. What a step does outside of [`Watch::time`] is not timed.
    ///
    /// # Errors
    /// That of the step.
    pub fn of<E>(
        steps: u32,
        threads: usize,
        mut step: impl FnMut(&mut Watch, u32) -> Result<(), E>,
    ) -> Result<Self, E> {
        let mut watch = Watch::default();
        step(&mut watch, 0)?;
        let first_ms = watch.wall_ms;
        watch = Watch::default();
        for index in 1..=steps {
            step(&mut watch, index)?;
        }
        let count = f64::from(steps.max(1));
        let cpu_ms = if threads == 1 { watch.cpu_ms.map(|ms| ms / count) } else { None };
        Ok(Self { first_ms, ms: watch.wall_ms / count, cpu_ms })
    }
}

/// Sums of wall time and of the calling thread's processor time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Watch {
    /// ms.
    pub wall_ms: f64,
    /// ms, if the system tells.
    pub cpu_ms: Option<f64>,
}

impl Watch {
    /// Adds how long something takes.
    pub fn time<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let (wall, cpu) = (Instant::now(), thread_ms());
        let result = work();
        self.wall_ms += 1e3 * wall.elapsed().as_secs_f64();
        if let (Some(before), Some(after)) = (cpu, thread_ms()) {
            *self.cpu_ms.get_or_insert(0.0) += after - before;
        }
        result
    }
}

/// Processor time of the calling thread, ms.
#[cfg(target_os = "linux")]
#[allow(clippy::unnecessary_wraps, reason = "other systems do not tell")]
fn thread_ms() -> Option<f64> {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Some(now.tv_sec as f64 * 1e3 + now.tv_nsec as f64 * 1e-6)
}

#[cfg(not(target_os = "linux"))]
fn thread_ms() -> Option<f64> {
    None
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_first_step_and_what_is_around_a_step_are_left_out() {
        let mut seen = Vec::new();
        let times = Times::of(4, 1, |watch, index| {
            std::thread::sleep(Duration::from_millis(20));
            let ms = if index == 0 { 30 } else { 5 };
            watch.time(|| std::thread::sleep(Duration::from_millis(ms)));
            seen.push(index);
            Ok::<_, ()>(())
        })
        .unwrap();
        assert_eq!(seen, [0, 1, 2, 3, 4]);
        assert!(times.first_ms >= 30.0 && times.ms >= 5.0, "{times:?}");
        // Were the first step or the pauses in it, it would be 10 or 25. Sleeping takes no processor time.
        let cpu = times.cpu_ms.unwrap_or(0.0);
        assert!(cpu < 2.0, "{times:?}");
        assert_eq!(Times::of(4, 2, |_, _| Ok::<_, ()>(())).unwrap().cpu_ms, None, "one thread of two tells nothing");
        assert_eq!(Times::of(4, 1, |_, index| if index == 2 { Err("no") } else { Ok(()) }), Err("no"));
    }

    #[test]
    fn lines_are_read_back() {
        let ran = Ran {
            times: Times { first_ms: 1.0, ms: 0.1, cpu_ms: None },
            stages_ms: vec![("solve".to_owned(), 0.25)],
            bodies: vec![[0.1, f32::MIN_POSITIVE, 1.0 / 3.0, 0.0, -0.0, 1e10, 3.0]],
        };
        for reply in [Reply::Ran(ran), Reply::Alive(3), Reply::Refused("no".to_owned())] {
            let line = serde_json::to_string(&reply).unwrap();
            assert!(!line.contains('\n'));
            assert_eq!(serde_json::from_str::<Reply>(&line).unwrap(), reply);
        }
        // What is not finite becomes `null`, which is no number.
        let lost = serde_json::to_string(&[f32::NAN; 7]).unwrap();
        assert!(serde_json::from_str::<[f32; 7]>(&lost).is_err());
        assert!(serde_json::from_str::<Reply>(r#"{"ran":{"bodies":[]}}"#).is_err());
    }
}
