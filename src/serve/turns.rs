//! Turns of one world, or of several small ones on a device: a step of each in one submission, with one wait.
//!
//! A submission and a wait cost about as much as a small step, so small worlds have them together. What a world comes to
//! does not depend on who else is there ([`GpuWorld::record_step`](crate::GpuWorld)). Each is charged the time of its own
//! work, and of what all waited for its part: by its time on the device, or where that is not known by its dispatches.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use super::queue::Expected;
use super::session::{Session, Wake};
use crate::gpu::{DeviceError, StepStart};
use crate::{Context, World, WorldError};

/// How long a turn is, unless a single step takes longer.
pub const TURN: Duration = Duration::from_millis(4);

/// A world that has a turn.
#[derive(Debug)]
pub struct Member {
    pub id: String,
    pub session: Box<Session>,
    /// What it was thought to do with it.
    pub expected: Expected,
    /// When the next turn is wanted, once this one has ended.
    pub wake: Option<Wake>,
    /// Seconds that it is charged.
    pub took: f64,
    /// Steps that it did.
    pub steps: u32,
    /// What its step has taken so far.
    step: Duration,
}

/// How far a step is.
enum Step {
    Done(Result<(), WorldError>),
    /// It is to be submitted.
    Recorded(Context, StepStart, wgpu::CommandBuffer),
}

impl Member {
    pub fn new(id: String, session: Box<Session>, expected: Expected) -> Self {
        Self { id, session, expected, wake: None, took: 0.0, steps: 0, step: Duration::ZERO }
    }

    /// Does something with the session, which is charged for it. None if that is a bug: the world is given up then.
    fn guarded<T>(&mut self, what: impl FnOnce(&mut Session) -> T) -> Option<T> {
        let start = Instant::now();
        let outcome = catch_unwind(AssertUnwindSafe(|| what(&mut self.session)));
        self.charge(start.elapsed());
        let given_up = |panic: Box<dyn Any + Send>| {
            tracing::error!(world = self.id, panic = told(&*panic), "a bug: the world is given up");
            self.session.broke("a bug in the solver stopped this world");
        };
        outcome.map_err(given_up).ok()
    }

    fn charge(&mut self, time: Duration) {
        self.took += time.as_secs_f64();
        self.step += time;
    }

    /// Begins the step that is due, if there is one. On the CPU that is all of it.
    fn begin_step(&mut self) -> Option<Step> {
        self.step = Duration::ZERO;
        self.guarded(|session| {
            Some(match session.world()? {
                World::Cpu(world) => {
                    world.step();
                    Step::Done(Ok(()))
                }
                World::Gpu(world) => match world.record_step() {
                    Ok(Some((start, commands))) => Step::Recorded(world.context().clone(), start, commands),
                    Ok(None) => Step::Done(Ok(())),
                    Err(error) => Step::Done(Err(error)),
                },
            })
        })?
    }

    /// Ends a step that was submitted. Returns how it went, and its weight among those that were submitted with it:
    /// seconds on the device, if they are known, and dispatches.
    fn end_step(&mut self, start: &StepStart, ran: Result<(), DeviceError>) -> Ended {
        let ended = self.guarded(|session| {
            let Some(World::Gpu(world)) = session.world() else { return None };
            let dispatches = f64::from(world.dispatches().max(1));
            let outcome = ran.map_err(WorldError::from).and_then(|()| world.end_recorded(start));
            Some((outcome, world.take_device_seconds(), dispatches))
        });
        ended.flatten().unwrap_or((Ok(()), None, 0.0))
    }

    /// Ends the turn, unless a step is due: who waits for an answer does not wait for the steps of others.
    fn finish_unless_due(&mut self) {
        if self.wake.is_none() && !self.session.is_due() {
            self.finish();
        }
    }

    fn finish(&mut self) {
        let finished = self.guarded(Session::finish);
        // Given up; who waits is told.
        self.wake = Some(finished.unwrap_or_else(|| self.session.finish()));
    }

    fn end_round(&mut self, outcome: Result<(), WorldError>) {
        self.steps += 1;
        let step = self.step;
        self.guarded(|session| session.stepped(outcome, step));
    }
}

/// How a step went, its seconds on the device, and its dispatches.
type Ended = (Result<(), WorldError>, Option<f64>, f64);

/// Runs a turn: for about [`TURN`], but one step of each at least, if there is one to do. With `draining` nothing new is
/// begun.
pub fn run(members: &mut [Member], draining: bool) {
    let end = Instant::now() + TURN;
    for member in &mut *members {
        member.guarded(|session| session.begin(draining));
    }
    members.iter_mut().for_each(Member::finish_unless_due);
    while members.iter().any(|member| member.wake.is_none()) {
        round(members);
        members.iter_mut().for_each(Member::finish_unless_due);
        if Instant::now() >= end {
            break;
        }
    }
    members.iter_mut().filter(|member| member.wake.is_none()).for_each(Member::finish);
}

/// A step of all worlds that have one to do.
fn round(members: &mut [Member]) {
    let (mut waiting, mut commands, mut device) = (Vec::new(), Vec::new(), None);
    for (index, member) in members.iter_mut().enumerate() {
        match member.begin_step() {
            None => {}
            Some(Step::Done(outcome)) => member.end_round(outcome),
            Some(Step::Recorded(context, start, recorded)) => {
                device.get_or_insert(context);
                commands.push(recorded);
                waiting.push((index, start));
            }
        }
    }
    let Some(device) = device else { return };
    metrics::histogram!("drystone_batch_worlds").record(commands.len() as f64);
    let begun = Instant::now();
    let ran = catch_unwind(AssertUnwindSafe(|| {
        device.queue().submit(commands);
        device.wait()
    }));
    // Nobody knows of which of them it is a bug, so it is taken for the device's: they are opened anew, each alone.
    let ran = ran.unwrap_or_else(|panic| {
        tracing::error!(panic = told(&*panic), "a bug: the device is given up");
        Err(DeviceError::Lost("a bug stopped it".to_owned()))
    });
    let waited = begun.elapsed();
    let mut ended = Vec::with_capacity(waiting.len());
    for (index, start) in &waiting {
        ended.push(members[*index].end_step(start, ran.clone()));
    }
    let shares = shares(&ended.iter().map(|(_, seconds, dispatches)| (*seconds, *dispatches)).collect::<Vec<_>>());
    for (((index, _), (outcome, ..)), share) in waiting.into_iter().zip(ended).zip(shares) {
        members[index].charge(waited.mul_f64(share));
        members[index].end_round(outcome);
    }
}

/// What part each has in what all waited for: by seconds on the device, or if those of one are not known by dispatches.
fn shares(weights: &[(Option<f64>, f64)]) -> Vec<f64> {
    let seconds: Option<Vec<f64>> = weights.iter().map(|(seconds, _)| *seconds).collect();
    let seconds = seconds.filter(|seconds| seconds.iter().sum::<f64>() > 0.0);
    let weights = seconds.unwrap_or_else(|| weights.iter().map(|(_, dispatches)| *dispatches).collect());
    let sum: f64 = weights.iter().sum();
    let even = 1.0 / weights.len().max(1) as f64;
    weights.iter().map(|weight| if sum > 0.0 { weight / sum } else { even }).collect()
}

/// What a panic said.
fn told(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message")
}

#[cfg(test)]
mod tests {
    use super::shares;

    #[test]
    fn what_all_waited_for_is_shared_out() {
        assert_eq!(shares(&[(Some(3.0), 10.0), (Some(1.0), 10.0)]), [0.75, 0.25], "by time on the device");
        assert_eq!(shares(&[(Some(3.0), 30.0), (None, 10.0)]), [0.75, 0.25], "else by dispatches");
        assert_eq!(shares(&[(Some(0.0), 10.0), (Some(0.0), 10.0)]), [0.5, 0.5]);
        assert_eq!(shares(&[(None, 0.0), (None, 0.0)]), [0.5, 0.5], "all of it, whatever is known");
        assert_eq!(shares(&[]), [0.0; 0]);
    }
}
