//! Protocol between `drystone bench` and the program that runs other engines for it (`benches/peers`), and the
//! stopwatch that both use.
//!
//! The program reads one [`PeerRequest`] per line from standard input and writes one [`PeerReply`] per line to standard
//! output, both as JSON; it ends when its input ends. Standard error is for users. [`PeerRequest::About`] is answered
//! by one [`PeerReply::About`]; [`PeerRequest::Run`] by any number of [`PeerReply::Alive`], then [`PeerReply::Ran`] or
//! [`PeerReply::Refused`].
//!
//! ```
//! use drystone_bench::{PeerJob, PeerRequest};
//! let job = PeerJob { scene: "/tmp/a.json".into(), engine: "box2d".into(), threads: 1, steps: 100 };
//! let line = r#"{"run":{"scene":"/tmp/a.json","engine":"box2d","threads":1,"steps":100}}"#;
//! assert_eq!(serde_json::to_string(&PeerRequest::Run(job)).unwrap(), line);
//! ```

use std::path::PathBuf;
use std::time::Instant;

use serde::{Deserialize, Serialize};

/// Version of the protocol, changed when older programs would misunderstand it.
pub const PROTOCOL: u32 = 1;

/// Request to the program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum PeerRequest {
    /// Ask for the engines of the program.
    About,
    /// Run a scene from its start.
    Run(PeerJob),
}

/// Parameters of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PeerJob {
    /// Path of a scene file.
    pub scene: PathBuf,
    /// Name of one of [`PeerInfo::engines`].
    pub engine: String,
    /// Number of threads that step the world.
    pub threads: u32,
    /// Number of timed steps, after a first step that is timed separately.
    pub steps: u32,
}

/// Answer of the program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum PeerReply {
    /// Engines of the program.
    About(PeerInfo),
    /// Progress: number of steps done. Sent every few seconds, or the program counts as hung; between steps, so that it
    /// does not affect measured times.
    Alive(u32),
    /// Result of a finished run.
    Ran(PeerRun),
    /// Reason why the engine cannot run the scene: one line that names the missing feature.
    Refused(String),
}

/// Engines that a program can run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PeerInfo {
    /// Version of the protocol, [`PROTOCOL`].
    pub protocol: u32,
    /// Engines; at least one.
    pub engines: Vec<PeerEngine>,
}

/// Description of an engine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PeerEngine {
    /// Name used in [`PeerJob::engine`].
    pub name: String,
    /// Version, commit and build options, for users.
    pub version: String,
    /// Maximum number of threads.
    pub most_threads: u32,
}

/// Result of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PeerRun {
    /// Times of the steps.
    pub times: PeerTimes,
    /// Milliseconds per step by stage, named by the engine, over the steps after the first. May be empty.
    pub stages_ms: Vec<(String, f64)>,
    /// Final state, in the order of the scene's bodies: position of the centre of mass (m), cosine and sine of the
    /// angle, velocity of the centre of mass (m/s), angular velocity (rad/s).
    pub bodies: Vec<[f32; 7]>,
}

/// Times of the steps of one run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PeerTimes {
    /// Wall-clock time of the first step, ms.
    pub first_ms: f64,
    /// Mean wall-clock time of the steps after the first, ms.
    pub ms: f64,
    /// Mean processor time of the steps after the first, ms, if one thread does all the work and the system reports it.
    /// Other programs disturb it less than wall-clock time.
    pub cpu_ms: Option<f64>,
}

impl PeerTimes {
    /// Calls `step` `1 + steps` times. Work outside of [`Stopwatch::time`] is not timed.
    ///
    /// # Errors
    /// Errors of `step`.
    pub fn of<E>(
        steps: u32,
        threads: usize,
        mut step: impl FnMut(&mut Stopwatch, u32) -> Result<(), E>,
    ) -> Result<Self, E> {
        let mut watch = Stopwatch::default();
        step(&mut watch, 0)?;
        let first_ms = watch.wall_ms;
        watch = Stopwatch::default();
        for index in 1..=steps {
            step(&mut watch, index)?;
        }
        let count = f64::from(steps.max(1));
        let cpu_ms = if threads == 1 { watch.cpu_ms.map(|ms| ms / count) } else { None };
        Ok(Self { first_ms, ms: watch.wall_ms / count, cpu_ms })
    }
}

/// Stopwatch that sums wall-clock time and the calling thread's processor time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stopwatch {
    /// Wall-clock time, ms.
    pub wall_ms: f64,
    /// Processor time, ms, if the system reports it.
    pub cpu_ms: Option<f64>,
}

impl Stopwatch {
    /// Adds the duration of a function call.
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

/// Returns the processor time of the calling thread, ms.
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
        let times = PeerTimes::of(4, 1, |watch, index| {
            std::thread::sleep(Duration::from_millis(20));
            let ms = if index == 0 { 30 } else { 5 };
            watch.time(|| std::thread::sleep(Duration::from_millis(ms)));
            seen.push(index);
            Ok::<_, ()>(())
        })
        .unwrap();
        assert_eq!(seen, [0, 1, 2, 3, 4]);
        assert!(times.first_ms >= 30.0 && times.ms >= 5.0, "{times:?}");
        // If the first step or the pauses were included, it would be 10 or 25. Sleeping takes no processor time.
        let cpu = times.cpu_ms.unwrap_or(0.0);
        assert!(cpu < 2.0, "{times:?}");
        assert_eq!(
            PeerTimes::of(4, 2, |_, _| Ok::<_, ()>(())).unwrap().cpu_ms,
            None,
            "the time of one thread of two is meaningless"
        );
        assert_eq!(PeerTimes::of(4, 1, |_, index| if index == 2 { Err("no") } else { Ok(()) }), Err("no"));
    }

    #[test]
    fn lines_are_read_back() {
        let ran = PeerRun {
            times: PeerTimes { first_ms: 1.0, ms: 0.1, cpu_ms: None },
            stages_ms: vec![("solve".to_owned(), 0.25)],
            bodies: vec![[0.1, f32::MIN_POSITIVE, 1.0 / 3.0, 0.0, -0.0, 1e10, 3.0]],
        };
        for reply in [PeerReply::Ran(ran), PeerReply::Alive(3), PeerReply::Refused("no".to_owned())] {
            let line = serde_json::to_string(&reply).unwrap();
            assert!(!line.contains('\n'));
            assert_eq!(serde_json::from_str::<PeerReply>(&line).unwrap(), reply);
        }
        // Values that are not finite are written as `null`, which does not read back as a number.
        let lost = serde_json::to_string(&[f32::NAN; 7]).unwrap();
        assert!(serde_json::from_str::<[f32; 7]>(&lost).is_err());
        assert!(serde_json::from_str::<PeerReply>(r#"{"ran":{"bodies":[]}}"#).is_err());
    }
}
