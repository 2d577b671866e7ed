//! Frame pacing: turns real time into steps of the worlds, done by worker threads on the CPU or submitted to the
//! device, so that the window responds however long a step takes. Steps that take longer than a frame are submitted in
//! parts.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::app::App;
use super::camera_follow::Fit;
use super::figures::{Figures, Sample};
use super::run::{On, WorldRun};
use super::worker::{StepsDone, WorkerHandle, WorkerOrder};
use drystone::low_level::gpu::is_software;
use drystone::{World, WorldError};

/// Maximum number of steps per frame: a world that falls further behind runs slower than real time, with the same
/// results.
const MAX_STEPS: u32 = 8;
/// Time after which a frame begins no more steps; one step is always done.
const STEP_BUDGET: Duration = Duration::from_millis(24);
/// Maximum number of submissions that the device has not finished. More would only delay the response of the window.
const MAX_IN_FLIGHT: u64 = 2;
/// Time of a step on the device above which it is submitted in parts, ms.
const LONG: f64 = 40.0;
/// Minimum and maximum time of a part, ms. Between them a part takes as long as a picture, so that each gets half of
/// the time.
const PART: [f64; 2] = [24.0, 120.0];
/// Assumed time of a step on a software adapter before one was measured, ms per body.
const GUESS: f64 = 0.01;
/// Steps per measured step on the device while the panel shows the times.
const PROFILE_EVERY: u64 = 4;
/// Steps per measured step while it does not.
const PROBE_EVERY: u64 = 24;
/// Time below which a frame waits for its steps on the CPU, to show them in the same frame.
const QUICK: Duration = Duration::from_millis(5);

/// State of the stepping: due time, steps to submit, and measured times.
#[derive(Debug, Default)]
pub(super) struct FramePacing {
    /// Steps that are still to be submitted to the device: those due, or those by which its world is behind that on the
    /// CPU.
    pub follow: u64,
    /// True if steps on the CPU are repeated by the copy on the device.
    paired: bool,
    /// Time of the steps of the last frame on the CPU.
    took: Duration,
    /// Simulated time that is due, s.
    due: f64,
    /// Running mean of the time until a picture is on the screen, without the work of the device before it, ms.
    picture_ms: f64,
    /// Expected time of the last submitted part of a step, ms.
    part_ms: f64,
    /// Number of submissions that the device has finished.
    submitted: Arc<AtomicU64>,
    /// Time of the last steps on the device, with the pictures between them, ns per step.
    device_ns: Arc<AtomicU64>,
    /// Number of submissions.
    sent: u64,
}

impl FramePacing {
    /// State for a new world; the times of pictures stay.
    pub fn of_another_world(&self) -> Self {
        Self { picture_ms: self.picture_ms, part_ms: self.part_ms, ..Self::default() }
    }
}

impl App {
    /// Returns true if nothing new can be shown before a worker thread or the device is done; polls the device.
    pub fn must_wait(&mut self) -> bool {
        // The next frame finds and handles an error.
        let _ = self.context.poll(wgpu::PollType::Poll);
        let away = self.run.is_still_away() || self.twin.as_mut().is_some_and(WorkerHandle::is_still_away);
        if away && self.frame_pacing.follow == 0 {
            return true;
        }
        self.frame_pacing.follow > 0 && self.in_flight() > 0
    }

    /// Returns true if the device has finished a part of a step and the next part can be submitted.
    pub fn awaits_parts(&self) -> bool {
        self.frame_pacing.follow > 0
            && self.workers().iter().any(|worker| worker.is_mid_step())
            && self.in_flight() == 0
    }

    /// Handle of the world on a backend.
    fn seat_on(&mut self, on: On) -> Option<&mut WorkerHandle> {
        std::iter::once(&mut self.run).chain(&mut self.twin).find(|worker| worker.on() == on)
    }

    /// Takes over finished jobs and opened scenes, and submits the next parts of steps.
    ///
    /// # Errors
    /// If the device is lost or a buffer outgrows it.
    pub fn go_on(&mut self) -> Result<(), WorldError> {
        self.context.poll(wgpu::PollType::Poll)?;
        self.take_back(Some(Duration::ZERO))?;
        self.look_at_opening()?;
        self.give_device()?;
        self.take_times();
        Ok(())
    }

    /// Waits until all worlds are between two steps.
    ///
    /// # Errors
    /// As [`Self::go_on`].
    pub fn settle(&mut self) -> Result<(), WorldError> {
        self.take_back(None)?;
        while self.frame_pacing.follow > 0 {
            self.context.wait()?;
            let before = (self.frame_pacing.follow, self.frame_pacing.sent);
            self.give_device()?;
            if before == (self.frame_pacing.follow, self.frame_pacing.sent) {
                break;
            }
        }
        self.take_times();
        Ok(())
    }

    /// Advances the worlds by the real time since the last frame, s. Steps always have the length that the scene gives;
    /// when frames are slow there are fewer steps.
    ///
    /// # Errors
    /// If the device is lost or a buffer outgrows it.
    pub fn advance(&mut self, seconds: f64) -> Result<(), WorldError> {
        let dt = self.dt();
        if self.playing {
            self.frame_pacing.due = (self.frame_pacing.due + seconds * self.speed).min(dt * f64::from(MAX_STEPS));
        }
        // Waits for the first view of a scene, and for answers about the world as it is now.
        if self.opened > 0 && self.is_settled() && self.fit == Fit::Done && !self.pointer.stops_time() {
            self.begin(dt)?;
        } else if self.twin.is_some() && self.seeks() {
            self.seek_on();
        }
        // Time that could not be made up is dropped: the world runs slower, with the same results.
        self.frame_pacing.due = self.frame_pacing.due.min(dt * 1.999);
        if self.patient {
            self.settle()?;
        } else {
            self.give_device()?;
            if self.frame_pacing.took < QUICK && self.background_job.is_none() {
                self.take_back(Some(QUICK))?;
                self.give_device()?;
            }
        }
        if self.is_settled()
            && self.wants.quality
            && Figures::measures_itself(self.run.facts().bodies)
            && self.figures.is_due(self.run.steps(), self.run.facts().bodies)
        {
            self.measure();
        }
        self.figures.poll();
        Ok(())
    }

    /// Begins the steps that are due. All worlds must be settled.
    fn begin(&mut self, dt: f64) -> Result<(), WorldError> {
        let mut due = 0;
        if self.playing {
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most MOST_STEPS")]
            let whole = (self.frame_pacing.due / dt + 1e-6).floor() as u64;
            due = whole;
        }
        let mut steps = self.owed + due;
        if let Some(target) = self.run.target() {
            steps = steps.max(target - self.run.steps().min(target));
        }
        // A movie gets a picture after every step.
        if self.recording.is_some() {
            steps = steps.min(1);
        }
        self.frame_pacing.paired = self.twin.is_some();
        let on_device = self.seat_on(On::Cpu).is_none();
        if on_device {
            steps = steps.min(if self.in_flight() < MAX_IN_FLIGHT { self.most_steps() } else { 0 });
        }
        if steps == 0 {
            return Ok(());
        }
        #[allow(clippy::cast_precision_loss, reason = "a few steps")]
        let used = steps.saturating_sub(self.owed).min(due) as f64 * dt;
        self.frame_pacing.due = (self.frame_pacing.due - used).max(0.0);
        if on_device {
            self.frame_pacing.follow = steps;
            self.give_device()
        } else {
            self.refresh();
            self.lend(steps);
            Ok(())
        }
    }

    /// Steps two worlds on towards their targets, each at its own pace.
    fn seek_on(&mut self) {
        self.frame_pacing.paired = false;
        let left = |worker: &WorkerHandle| worker.target().map(|target| target.saturating_sub(worker.steps()));
        if let Some(steps) = self.seat_on(On::Cpu).filter(|worker| !worker.is_away()).and_then(|worker| left(worker)) {
            self.lend(steps);
        }
        if self.frame_pacing.follow == 0
            && let Some(steps) = self.seat_on(On::Gpu).and_then(|worker| left(worker))
        {
            self.frame_pacing.follow = steps;
        }
    }

    /// Hands the world on the CPU to its worker to be stepped.
    fn lend(&mut self, steps: u64) {
        let wake = self.wake.clone();
        if let Some(worker) = self.seat_on(On::Cpu) {
            worker.lend(WorkerOrder::Steps(steps, STEP_BUDGET), &wake);
        }
    }

    /// Takes over the results of worker threads that end within this time; `None`: waits for all.
    pub(super) fn take_back(&mut self, wait: Option<Duration>) -> Result<(), WorldError> {
        let mut result = Ok(());
        if let Some(outcome) = self.run.take_back(wait) {
            result = self.arrived(outcome);
        }
        if let Some(outcome) = self.twin.as_mut().and_then(|twin| twin.take_back(wait)) {
            result = result.and(self.arrived(outcome));
        }
        if self.workers().iter().all(|worker| !worker.is_away()) {
            self.background_job = None;
        }
        result
    }

    /// Takes over the result of steps on the CPU.
    pub(super) fn stepped(&mut self, stepped: StepsDone) -> Result<(), WorldError> {
        let StepsDone { steps, took, samples, seen, result } = stepped;
        self.frame_pacing.took = took;
        if self.frame_pacing.paired {
            self.frame_pacing.follow += steps;
        }
        if self.run.on() == On::Cpu {
            for sample in samples {
                self.figures.note(sample);
            }
            self.watch.note(seen);
            self.done(steps);
            self.record_frame();
        }
        result
    }

    /// Counts steps of the first world that are done.
    fn done(&mut self, steps: u64) {
        self.owed = self.owed.saturating_sub(steps);
    }

    /// Submits steps to the device, or a part of one, unless it has enough work already.
    fn give_device(&mut self) -> Result<(), WorldError> {
        let (begin, mut given) = (Instant::now(), 0);
        let leads = self.run.on() == On::Gpu;
        while self.frame_pacing.follow > 0 {
            let step_ms = self.step_ms();
            let wants = self.wants.stages && leads;
            let Some(worker) = self.seat_on(On::Gpu) else { break };
            let mid_step = worker.is_mid_step();
            let parts = if step_ms > LONG && !self.patient {
                (step_ms / self.frame_pacing.picture_ms.clamp(PART[0], PART[1])).ceil()
            } else {
                1.0
            };
            let in_parts = mid_step || parts > 1.0;
            let room = if in_parts { self.in_flight() == 0 } else { self.in_flight() < MAX_IN_FLIGHT };
            // Several whole steps are counted as one.
            if (in_parts && given > 0) || (given == 0 && !room) {
                break;
            }
            if in_parts && !mid_step {
                let of = if leads { &self.run } else { self.twin.as_ref().unwrap_or(&self.run) };
                self.drawing.keep(&self.context, of, &self.layers);
            }
            let Some(worker) = self.seat_on(On::Gpu) else { break };
            let Some(run) = worker.here_mut() else { break };
            let complete = if in_parts {
                run.step_part(1.0 / parts)?
            } else {
                let every = if wants { PROFILE_EVERY } else { PROBE_EVERY };
                let measured = run.steps().is_multiple_of(every);
                run.step_measured(measured)?;
                true
            };
            if complete {
                worker.follow();
                self.frame_pacing.follow -= 1;
                if leads {
                    self.done(1);
                    self.send_watched();
                    self.record_frame();
                }
            }
            given += 1;
            if in_parts {
                self.frame_pacing.part_ms = step_ms / parts;
                self.note_submission(None);
                return Ok(());
            }
            if begin.elapsed() > STEP_BUDGET {
                break;
            }
        }
        if given > 0 {
            self.note_submission(Some(given));
        }
        Ok(())
    }

    /// Notes that a picture is on the screen, and its time.
    pub fn painted(&mut self, took: Duration) {
        self.meanwhile += u64::from(self.opening.is_some() || self.background_job.is_some());
        let before =
            if self.workers().iter().any(|worker| worker.is_mid_step()) { self.frame_pacing.part_ms } else { 0.0 };
        self.frame_pacing.picture_ms +=
            0.2 * ((1e3 * took.as_secs_f64() - before).max(0.0) - self.frame_pacing.picture_ms);
    }

    /// Measured or assumed time of a step on the device, ms.
    #[allow(clippy::cast_precision_loss, reason = "a time")]
    fn step_ms(&mut self) -> f64 {
        if is_software(self.context.info()) {
            let Some(worker) = self.seat_on(On::Gpu) else { return 0.0 };
            let bodies = worker.facts().bodies;
            let measured = match worker.here().map(WorldRun::world) {
                Some(World::Gpu(world)) => world.measured_ms(),
                _ => None,
            };
            return measured.unwrap_or(bodies as f64 * GUESS);
        }
        self.frame_pacing.device_ns.load(Ordering::Acquire) as f64 * 1e-6
    }

    /// Takes over the times of stages that have arrived from the device.
    fn take_times(&mut self) {
        let leads = self.run.on() == On::Gpu;
        let Some(worker) = self.seat_on(On::Gpu) else { return };
        worker.follow();
        let counters = worker.facts().counters;
        let Some(run) = worker.here_mut() else { return };
        let all = run.take_times();
        for times in &all {
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "ns of a step")]
            let ns = times.ops.iter().map(|(_, ms)| 1e6 * ms).sum::<f64>() as u64;
            self.frame_pacing.device_ns.store(ns, Ordering::Release);
            let of_step = counters.filter(|(step, _)| step + 1 == times.step).map(|(_, counters)| counters);
            if leads && let Some(sample) = Sample::new(times.step, times.stages(), of_step.or(counters.map(|c| c.1))) {
                self.figures.note(sample);
            }
        }
    }

    /// Number of submissions that the device has not finished.
    fn in_flight(&self) -> u64 {
        self.frame_pacing.sent - self.frame_pacing.submitted.load(Ordering::Acquire).min(self.frame_pacing.sent)
    }

    /// Number of steps that the device is expected to do within a frame, at least 1. A picture can be shown only after
    /// them.
    fn most_steps(&self) -> u64 {
        let each = self.frame_pacing.device_ns.load(Ordering::Acquire).max(1);
        (u64::try_from(STEP_BUDGET.as_nanos()).unwrap_or(u64::MAX) / each).max(1)
    }

    /// Counts a submission, and measures the time until the device has finished it; with `steps`, also the time per
    /// step.
    fn note_submission(&mut self, steps: Option<u64>) {
        self.frame_pacing.sent += 1;
        let (mark, reached, each, begin) = (
            self.frame_pacing.sent,
            self.frame_pacing.submitted.clone(),
            self.frame_pacing.device_ns.clone(),
            Instant::now(),
        );
        self.context.queue().on_submitted_work_done(move || {
            reached.fetch_max(mark, Ordering::AcqRel);
            if let Some(steps) = steps {
                let ns = u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX);
                each.store(ns / steps.max(1), Ordering::Release);
            }
        });
    }
}
