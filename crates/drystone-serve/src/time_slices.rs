//! Time slices of one world, or of several small worlds on a device: a step of each in one submission, with one
//! wait.
//!
//! A submission and a wait cost about as much as a small step, so small worlds share them. They share dispatches,
//! too: the worlds of one pool step by the same series of dispatches ([`Pool`]), in any number. The result
//! of a world does not depend on the others. Each world is charged the time of its own work and its part of the
//! shared waiting time: by its time on the device, or if that is unknown by its number of dispatches. The time of a
//! shared series is divided by bodies and contacts, plus a fixed amount per batch slot.
//!
//! A long step, according to its work or to the previous one, has a submission to itself, in batches between which
//! it can be cancelled ([`drystone::low_level::GpuWorld::step`]). A short one that is submitted with others cannot
//! be cancelled.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::hosted::Hosted;
use super::queue::Expected;
use super::session::{NextWake, Session};
use super::suspects::{MARK_STEPS, RiskyWork, Suspects};
use drystone::low_level::gpu::pool::{BatchStepOutcome, Pool, PooledWorld, Recorded, StepOutcome, copy_error};
use drystone::low_level::gpu::{DeviceError, StepStart};
use drystone::{Context, World, WorldError};

/// Length of a time slice, unless a single step takes longer.
pub const TIME_SLICE: Duration = Duration::from_millis(4);

/// Number of steps of a world on the CPU of which one is profiled: in a small world that takes twice as long.
const MEASURE_EVERY: u64 = 16;

/// World in a time slice.
#[derive(Debug)]
pub struct SliceMember {
    pub id: String,
    pub session: Box<Session>,
    /// Expected content of the time slice.
    pub expected: Expected,
    /// True if the world is opened or replays its log in this time slice.
    pub is_opening: bool,
    /// Time at which the next time slice is wanted, once this one has ended.
    pub wake: Option<NextWake>,
    /// Seconds charged to the world.
    pub took: f64,
    /// Number of steps done.
    pub steps: u32,
    /// Duration of the current step so far.
    step: Duration,
}

/// Progress of a step.
#[allow(clippy::large_enum_variant, reason = "one at a time, moved once")]
enum StepProgress {
    Done(Result<(), WorldError>),
    /// Ready to be submitted.
    Recorded(Context, StepStart, wgpu::CommandBuffer),
    /// To be recorded together with the other worlds of the pool.
    Shared(Arc<Pool>),
}

/// Dispatches to submit, and the worlds they belong to.
struct Series {
    /// Indices of the members of the time slice.
    which: Vec<usize>,
    of: Of,
}

enum Of {
    One(StepStart),
    /// Pool, its recorded dispatches, and the duration of the recording.
    Several(Arc<Pool>, Recorded, Duration),
}

impl SliceMember {
    pub fn new(id: String, session: Box<Session>, expected: Expected) -> Self {
        let is_opening = session.is_opening();
        Self { id, session, expected, is_opening, wake: None, took: 0.0, steps: 0, step: Duration::ZERO }
    }

    /// Runs a function on the session and charges the world for it. None after a panic, a bug that fails the world.
    fn guarded<T>(&mut self, what: impl FnOnce(&mut Session) -> T) -> Option<T> {
        let start = Instant::now();
        let outcome = catch_unwind(AssertUnwindSafe(|| what(&mut self.session)));
        self.charge(start.elapsed());
        let given_up = |panic: Box<dyn Any + Send>| {
            tracing::error!(world = self.id, panic = panic_message(&*panic), "a bug: the world is failed");
            self.session.fail_after_panic("a bug in the solver stopped this world");
        };
        outcome.map_err(given_up).ok()
    }

    /// Returns the due step, for the marks of suspects.
    fn place(&self) -> Option<(&str, RiskyWork)> {
        let steps = self.session.steps().filter(|_| self.wake.is_none())?;
        Some((&self.id, RiskyWork::Step(steps)))
    }

    fn charge(&mut self, time: Duration) {
        self.took += time.as_secs_f64();
        self.step += time;
    }

    /// Begins the due step, if there is one. On the CPU, and for a long step on a device, this completes it.
    fn begin_step(&mut self) -> Option<StepProgress> {
        self.step = Duration::ZERO;
        self.guarded(|session| {
            if !session.is_due() {
                return None;
            }
            session.enter_step();
            Some(match session.world()? {
                Hosted::Own(World::Cpu(world)) => {
                    let is_measured = world.steps().is_multiple_of(MEASURE_EVERY);
                    StepProgress::Done(if is_measured { world.step_profiled() } else { world.step() })
                }
                // In a submission of its own, so that it can be cancelled between two batches.
                Hosted::Own(World::Gpu(world)) if world.is_long() => {
                    let done = world.step();
                    metrics::counter!("drystone_dispatches_total").increment(u64::from(world.dispatches()));
                    // It is charged by wall time.
                    let _ = world.take_device_seconds();
                    StepProgress::Done(done)
                }
                Hosted::Own(World::Gpu(world)) => match world.record_step() {
                    Ok(Some((start, commands))) => StepProgress::Recorded(world.context().clone(), start, commands),
                    Ok(None) => StepProgress::Done(Ok(())),
                    Err(error) => StepProgress::Done(Err(error)),
                },
                Hosted::Pooled(world) => StepProgress::Shared(world.pool().clone()),
            })
        })?
    }

    /// Ends a separate step that was submitted.
    fn end_step(
        &mut self,
        start: &StepStart,
        ran: Result<(), DeviceError>,
        waited: Duration,
    ) -> Option<BatchStepOutcome> {
        self.guarded(|session| {
            let Some(Hosted::Own(World::Gpu(world))) = session.world() else { return None };
            let dispatches = world.dispatches().max(1);
            let outcome = match ran.map_err(WorldError::from).and_then(|()| world.end_recorded(start, waited)) {
                Ok(()) => StepOutcome::Done,
                Err(error) => StepOutcome::Failed(error),
            };
            Some(BatchStepOutcome {
                outcomes: vec![outcome],
                seconds: world.take_device_seconds(),
                dispatches,
                parts: vec![1.0],
            })
        })?
    }

    /// Returns the world that is to step in a pool.
    fn pooled(&mut self) -> Option<&mut PooledWorld> {
        match self.session.world()? {
            Hosted::Pooled(world) => Some(world),
            Hosted::Own(_) => None,
        }
    }

    /// Repeats a step outside of the pool that was too large for the world's slot there.
    fn step_outside(&mut self) {
        let outcome = self.guarded(|session| match session.world() {
            Some(world) => world.move_out().and_then(World::step),
            None => Ok(()),
        });
        if let Some(outcome) = outcome {
            tracing::info!(world = self.id, "the world has outgrown its pool and now steps separately");
            self.end_round(outcome);
        }
    }

    /// Ends the world's part of the time slice unless a step is due: its clients do not wait for steps of others.
    fn finish_unless_due(&mut self) {
        if self.wake.is_none() && !self.session.is_due() {
            self.finish();
        }
    }

    fn finish(&mut self) {
        let finished = self.guarded(Session::finish);
        // After a bug the clients still get their answers.
        self.wake = Some(finished.unwrap_or_else(|| self.session.finish()));
    }

    fn end_round(&mut self, outcome: Result<(), WorldError>) {
        self.steps += 1;
        let step = self.step;
        self.guarded(|session| session.stepped(outcome, step));
    }
}

/// Runs a time slice of about [`TIME_SLICE`], with at least one step of each world that has one to do. With `draining`
/// nothing new is begun. The worker marks the worlds that it steps, in case the process ends during a step.
pub fn run(members: &mut [SliceMember], draining: bool, suspects: &Suspects, worker: usize) {
    let end = Instant::now() + TIME_SLICE;
    let mut is_marked = members.iter().any(|member| member.is_opening);
    if is_marked {
        let opening = members.iter().filter(|member| member.is_opening);
        suspects.mark(worker, opening.map(|member| (member.id.as_str(), RiskyWork::Open)));
    }
    for member in &mut *members {
        member.guarded(|session| session.begin(draining));
    }
    members.iter_mut().for_each(SliceMember::finish_unless_due);
    let mut rounds = 0;
    while members.iter().any(|member| member.wake.is_none()) {
        if rounds % MARK_STEPS == 0 {
            is_marked = true;
            suspects.mark(worker, members.iter().filter_map(SliceMember::place));
        }
        rounds += 1;
        round(members);
        members.iter_mut().for_each(SliceMember::finish_unless_due);
        if Instant::now() >= end {
            break;
        }
    }
    members.iter_mut().filter(|member| member.wake.is_none()).for_each(SliceMember::finish);
    if is_marked {
        suspects.clear(worker);
    }
}

/// Does one step of all worlds that have one to do.
fn round(members: &mut [SliceMember]) {
    let (mut all, mut commands, mut device) = (Vec::new(), Vec::new(), None);
    let mut pools: Vec<(Arc<Pool>, Vec<usize>)> = Vec::new();
    for (index, member) in members.iter_mut().enumerate() {
        match member.begin_step() {
            None => {}
            Some(StepProgress::Done(outcome)) => member.end_round(outcome),
            Some(StepProgress::Recorded(context, start, recorded)) => {
                device.get_or_insert(context);
                commands.push(recorded);
                all.push(Series { which: vec![index], of: Of::One(start) });
                metrics::histogram!("drystone_series_worlds").record(1.0);
            }
            Some(StepProgress::Shared(pool)) => match pools.iter_mut().find(|(other, _)| Arc::ptr_eq(other, &pool)) {
                Some((_, which)) => which.push(index),
                None => pools.push((pool, vec![index])),
            },
        }
    }
    let mut worlds = commands.len();
    for (pool, which) in pools {
        let Some((mut recorded, took)) = record(members, &pool, &which) else { continue };
        if let Some(recorded) = recorded.commands.take() {
            device.get_or_insert_with(|| pool.context());
            commands.push(recorded);
        }
        if recorded.worlds > 0 {
            worlds += recorded.worlds;
            metrics::histogram!("drystone_series_worlds").record(recorded.worlds as f64);
        }
        all.push(Series { which, of: Of::Several(pool, recorded, took) });
    }
    let begun = Instant::now();
    let ran = match device {
        Some(device) => {
            metrics::histogram!("drystone_batch_worlds").record(worlds as f64);
            run_on(&device, commands)
        }
        None => Ok(()),
    };
    let waited = begun.elapsed();
    let mut ended = Vec::with_capacity(all.len());
    for series in all {
        ended.extend(end(members, series, &ran, waited));
    }
    // Worlds of a series without dispatches had no part.
    let seconds = |ended: &BatchStepOutcome| if ended.dispatches == 0 { Some(0.0) } else { ended.seconds };
    let weights: Vec<_> = ended.iter().map(|(_, _, ended)| (seconds(ended), f64::from(ended.dispatches))).collect();
    for ((which, pool, ended), share) in ended.into_iter().zip(shares(&weights)) {
        metrics::counter!("drystone_dispatches_total").increment(u64::from(ended.dispatches));
        let time = waited.mul_f64(share);
        if let Some((pool, took)) = pool.filter(|_| ended.dispatches > 0) {
            pool.record_duration((took + time).as_secs_f64());
        }
        for ((index, outcome), part) in which.into_iter().zip(ended.outcomes).zip(ended.parts) {
            let member = &mut members[index];
            member.charge(time.mul_f64(part));
            match outcome {
                StepOutcome::Done => member.end_round(Ok(())),
                StepOutcome::Outgrown => member.step_outside(),
                StepOutcome::Failed(error) => member.end_round(Err(error)),
            }
        }
    }
}

/// Submits the recorded commands and waits for them.
fn run_on(device: &Context, commands: Vec<wgpu::CommandBuffer>) -> Result<(), DeviceError> {
    let ran = catch_unwind(AssertUnwindSafe(|| {
        device.queue().submit(commands);
        device.wait()
    }));
    // It is unknown which world has the bug, so it counts as a loss of the device: all are reopened, each alone.
    ran.unwrap_or_else(|panic| Err(given_up(&*panic)))
}

fn given_up(panic: &(dyn Any + Send)) -> DeviceError {
    tracing::error!(panic = panic_message(panic), "a bug: the device is abandoned");
    DeviceError::Lost("a bug stopped it".to_owned())
}

/// Runs a function on the worlds of a time slice that are in a pool; `which` holds their indices in ascending order.
/// Charges each world an equal part of the duration, and returns the duration.
fn together<T>(
    members: &mut [SliceMember],
    which: &[usize],
    what: impl FnOnce(&mut [&mut PooledWorld]) -> Result<T, WorldError>,
) -> (Result<T, WorldError>, Duration) {
    let begun = Instant::now();
    let those = members.iter_mut().enumerate().filter(|(index, _)| which.binary_search(index).is_ok());
    let mut worlds: Vec<_> = those.filter_map(|(_, member)| member.pooled()).collect();
    let outcome = catch_unwind(AssertUnwindSafe(|| what(&mut worlds)));
    let took = begun.elapsed();
    let each = took / u32::try_from(which.len().max(1)).unwrap_or(u32::MAX);
    for &index in which {
        members[index].charge(each);
    }
    (outcome.unwrap_or_else(|panic| Err(given_up(&*panic).into())), took)
}

/// Records a step of worlds in a pool. None if the device is lost; each of the worlds has then been informed.
fn record(members: &mut [SliceMember], pool: &Pool, which: &[usize]) -> Option<(Recorded, Duration)> {
    let (recorded, took) = together(members, which, |worlds| pool.record_step(worlds));
    match recorded {
        Ok(recorded) => Some((recorded, took)),
        Err(error) => {
            for &index in which {
                members[index].end_round(Err(copy_error(&error)));
            }
            None
        }
    }
}

/// Members of a series, its pool with the time spent there beside the shared wait, and its result.
type Whose = (Vec<usize>, Option<(Arc<Pool>, Duration)>, BatchStepOutcome);

/// Ends a series that has run. None after a bug, which fails the world.
fn end(
    members: &mut [SliceMember],
    Series { which, of }: Series,
    ran: &Result<(), DeviceError>,
    waited: Duration,
) -> Option<Whose> {
    match of {
        Of::One(start) => {
            let ended = members[which[0]].end_step(&start, ran.clone(), waited)?;
            Some((which, None, ended))
        }
        Of::Several(pool, recorded, recording) => {
            let (ended, ending) =
                together(members, &which, |worlds| Ok(pool.end_recorded(worlds, recorded, ran.clone())));
            let ended = ended.unwrap_or_else(|error| BatchStepOutcome::all_failed(which.len(), &error));
            Some((which, Some((pool, recording + ending)), ended))
        }
    }
}

/// Returns the parts of the shared waiting time: by seconds on the device, or if one is unknown, by dispatches.
fn shares(weights: &[(Option<f64>, f64)]) -> Vec<f64> {
    let seconds: Option<Vec<f64>> = weights.iter().map(|(seconds, _)| *seconds).collect();
    let seconds = seconds.filter(|seconds| seconds.iter().sum::<f64>() > 0.0);
    let weights = seconds.unwrap_or_else(|| weights.iter().map(|(_, dispatches)| *dispatches).collect());
    let sum: f64 = weights.iter().sum();
    let even = 1.0 / weights.len().max(1) as f64;
    weights.iter().map(|weight| if sum > 0.0 { weight / sum } else { even }).collect()
}

/// Returns the message of a panic.
fn panic_message(panic: &(dyn Any + Send)) -> &str {
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
        assert_eq!(shares(&[(None, 0.0), (None, 0.0)]), [0.5, 0.5], "equal parts without any weights");
        assert_eq!(shares(&[]), [0.0; 0]);
    }
}
