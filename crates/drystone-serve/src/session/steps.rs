//! Execution of logged records, of steps, and of frames for streams.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::give_up::{DEADLINE, GONE, PAUSED};
use super::live::{Live, Playback, RequestOutcome};
use super::open::contact_key;
use super::time_slice::SliceProgress;
use super::{Answer, Broken, NextWake, ReplySender, Session, StepWaiter};
use crate::op::{LogRecord, Op};
use crate::stream::StreamFrame;
use drystone::WorldError;

/// Longest delay of a playing world, s. Beyond it the lost time is skipped.
const MAX_BEHIND: f64 = 0.25;

impl Session {
    /// Executes a logged record.
    pub(super) fn apply(
        &mut self,
        live: &mut Live,
        record: LogRecord,
        reply: Option<ReplySender>,
        deadline: Option<Instant>,
    ) -> Result<(), Broken> {
        let LogRecord { op, key, .. } = record;
        let outcome: RequestOutcome = match op {
            Op::Commands(commands) => live.command(&commands),
            Op::Step { steps } => {
                let has_key = key.is_some();
                live.memory.unwatched = None;
                let request = live.ask_steps(steps, key);
                // Clients that waited before a step was cancelled still wait during the replay.
                self.waiting.entry(request).or_insert(StepWaiter { reply, deadline, has_key });
                return Ok(());
            }
            Op::Reached { request, answer } => {
                // During a replay the completion was noticed, and is already in the log.
                self.own.retain(|(op, ..)| !matches!(op, Op::Reached { request: own, .. } if *own == request));
                Ok(answer)
            }
            Op::Told { status, answer } => {
                let answer = Answer::with_status(status, &answer);
                if let Some(key) = key {
                    live.remember_as(key, status, String::from_utf8_lossy(&answer.body).into_owned());
                }
                if let Some(reply) = reply {
                    self.answer(reply, Ok(answer));
                }
                return Ok(());
            }
            Op::Halt { request, reason, limit } => {
                if let Some((request, outcome)) = live.halt(request, &reason, limit) {
                    self.answer_steps(request, outcome);
                }
                if limit {
                    self.stalled = Some(reason);
                }
                Ok(Value::Null)
            }
            Op::Play { speed, unwatched } => {
                live.memory.play = Some(Playback { speed, unwatched });
                live.memory.unwatched = None;
                self.anchor = None;
                Ok(json!({ "step": live.world.steps(), "playing": true, "speed": speed }))
            }
            Op::PauseUnwatched => {
                live.memory.unwatched = live.memory.play.take().and_then(|play| play.unwatched);
                Ok(Value::Null)
            }
            Op::Pause => {
                live.memory.play = None;
                live.memory.unwatched = None;
                let requests: Vec<u64> = live.memory.goals.iter().map(|goal| goal.request).collect();
                for request in requests {
                    if let Some((request, outcome)) = live.halt(request, PAUSED, false) {
                        self.answer_steps(request, outcome);
                    }
                }
                Ok(json!({ "step": live.world.steps(), "playing": false }))
            }
        };
        if let Err(problem) = &outcome
            && problem.status == 503
        {
            if let Some(reply) = reply {
                self.answer(reply, Err(problem.clone()));
            }
            return Err(Broken::Device(problem.detail.clone()));
        }
        live.remember(key, &outcome);
        self.handle.fresh.store(true, Ordering::SeqCst);
        if let Some(reply) = reply {
            self.answer(reply, outcome.map(|body| Answer::json(&body)));
        }
        Ok(())
    }

    /// Answers the client that waits for steps.
    pub(super) fn answer_steps(&mut self, request: u64, outcome: RequestOutcome) {
        if let Some(reply) = self.waiting.remove(&request).and_then(|waiting| waiting.reply) {
            self.answer(reply, outcome.map(|answer| Answer::json(&answer)));
        }
    }

    pub(super) fn done_step(&mut self, live: &mut Live) {
        self.changed = true;
        if let Some((goal, answer)) = live.stepped() {
            let request = goal.request;
            let reply = self.waiting.remove(&request).and_then(|waiting| waiting.reply);
            self.own.push((Op::Reached { request, answer }, goal.key, reply));
        }
    }

    /// Determines whether a step is due: a requested one, or one of a playing world.
    pub(super) fn next_step(&mut self, live: &Live) -> SliceProgress {
        let now = Instant::now();
        if live.memory.goals.is_empty() {
            if self.end_unwatched(live) {
                return SliceProgress::Stepped(if now < self.next_try {
                    NextWake::At(self.next_try)
                } else {
                    NextWake::Now
                });
            }
            let due = live.memory.play.map(|play| self.due(live, play, now));
            return match due {
                None => SliceProgress::Stepped(NextWake::Idle),
                Some(Some(at)) => SliceProgress::Stepped(NextWake::At(at)),
                Some(None) => SliceProgress::Due,
            };
        }
        if !self.end_overdue(live) {
            return SliceProgress::Due;
        }
        // The log must be writable again first.
        SliceProgress::Stepped(if now < self.next_try { NextWake::At(self.next_try) } else { NextWake::Now })
    }

    /// Returns the first request for steps that must end, with the reason: its deadline has passed, or its client
    /// has disconnected.
    fn overdue(&self, live: &Live, now: Instant) -> Option<(u64, &'static str)> {
        live.memory.goals.iter().find_map(|goal| {
            let waiting = self.waiting.get(&goal.request)?;
            let late = waiting.deadline.is_some_and(|deadline| now >= deadline);
            let gone = !waiting.has_key && waiting.reply.as_ref().is_some_and(oneshot::Sender::is_closed);
            let reason = if late { Some(DEADLINE) } else { gone.then_some(GONE) };
            Some((goal.request, reason?))
        })
    }

    /// Returns true if a request for steps must end and the log can record that. While the log is not writable, a
    /// time slice for this would only keep the world from workers that can answer other requests.
    pub(super) fn is_overdue(&self, live: &Live, now: Instant) -> bool {
        now >= self.next_try && self.overdue(live, now).is_some()
    }

    /// Ends a request for steps whose deadline has passed or whose client has disconnected. Returns false if there
    /// is none.
    pub(super) fn end_overdue(&mut self, live: &Live) -> bool {
        let Some((request, reason)) = self.overdue(live, Instant::now()) else { return false };
        if self.own.is_empty() {
            self.own.push((Op::Halt { request, reason: reason.to_owned(), limit: false }, None, None));
        }
        true
    }

    /// Pauses a playing world that no client has watched for the chosen time. Returns false if it plays on.
    fn end_unwatched(&mut self, live: &Live) -> bool {
        let Some(seconds) = live.memory.play.and_then(|play| play.unwatched) else { return false };
        if self.handle.is_watched_within(seconds) {
            return false;
        }
        if self.own.is_empty() {
            tracing::info!(world = self.handle.id, seconds, "pausing the world: no client watches it");
            metrics::counter!("drystone_worlds_unwatched_total").increment(1);
            self.own.push((Op::PauseUnwatched, None, None));
        }
        true
    }

    /// Handles the result of a step, and determines whether another one is due.
    pub(super) fn after_step(
        &mut self,
        live: &mut Live,
        outcome: Result<(), WorldError>,
        took: Duration,
    ) -> Result<SliceProgress, Broken> {
        match outcome.and_then(|()| live.collect_events()) {
            Ok(()) => {
                self.stalled = None;
                self.record_series(live)?;
            }
            Err(WorldError::Device(error)) => return Err(Broken::of(&error)),
            Err(WorldError::Cancelled) => return Err(self.end_given_up(live)),
            Err(error) => {
                // The world is as it was before the step, and cannot continue.
                let key = match error {
                    WorldError::TooManyContacts { limit, .. } => Some(contact_key(limit, &self.shared.config.limits)),
                    _ => None,
                };
                let (limit, reason) = (key.is_some(), key.map_or(error.to_string(), |key| format!("{error} ({key})")));
                tracing::warn!(world = self.handle.id, reason, "the world cannot continue");
                let halts = live.memory.goals.iter();
                let halts = halts.map(|goal| Op::Halt { request: goal.request, reason: reason.clone(), limit });
                self.own.extend(halts.chain([Op::Pause]).map(|op| (op, None, None)));
                self.stalled = Some(reason);
                if limit {
                    // The step may have begun: commands were executed, bodies woken. After reopening, the world is
                    // in the state that the log describes.
                    return Err(Broken::GivenUp);
                }
                return Ok(SliceProgress::Stepped(NextWake::Now));
            }
        }
        if std::mem::take(&mut self.failures) > 0 && self.shared.config.pools {
            // The world did not cause the device loss, so it may join a pool again.
            let joined = self.shared.device.join_others(&mut live.world, live.device);
            joined.map_err(|error| Broken::of_world(&error))?;
        }
        self.cost += took;
        self.ms_per_step = 0.9 * self.ms_per_step + 0.1 * 1e3 * took.as_secs_f64();
        metrics::counter!("drystone_steps_total").increment(1);
        self.done_step(live);
        Ok(if self.own.is_empty() { self.next_step(live) } else { SliceProgress::Stepped(NextWake::Now) })
    }

    /// Returns the time of the next step of a playing world, or None if it is due now.
    pub(super) fn due(&mut self, live: &Live, play: Playback, now: Instant) -> Option<Instant> {
        let speed = play.speed?;
        let steps = live.world.steps();
        let (since, first) = *self.anchor.get_or_insert((now, steps));
        let dt = f64::from(live.world.compiled().settings.dt) / speed;
        let at = since + Duration::try_from_secs_f64((steps + 1 - first) as f64 * dt).unwrap_or(Duration::MAX / 4);
        if at > now {
            return Some(at);
        }
        if (now - at).as_secs_f64() > MAX_BEHIND.max(dt) {
            self.anchor = Some((now, steps));
        }
        None
    }

    /// Takes a frame if a stream wants one and the time slice may take long. Returns the time of the next wanted
    /// frame.
    pub(super) fn frame(&mut self, live: &mut Live) -> Result<Option<Instant>, Broken> {
        // In a large world this takes long: a later time slice does it.
        if !self.may_take_long {
            return Ok(None);
        }
        let Some(interval) = self.handle.interval() else { return Ok(None) };
        let fresh = self.handle.fresh.load(Ordering::SeqCst);
        let joined = self.handle.joined.swap(false, Ordering::SeqCst);
        let (now, steps) = (Instant::now(), live.world.steps());
        if let Some((at, step)) = self.framed
            && !joined
        {
            if step == steps && !fresh {
                return Ok(None);
            }
            let next = at + interval.mul_f64(0.9);
            if next > now && !(fresh && step == steps) {
                return Ok(Some(next));
            }
        }
        self.handle.fresh.store(false, Ordering::SeqCst);
        let frame = match StreamFrame::take(&mut live.world) {
            Ok(frame) => frame,
            Err(WorldError::Device(error)) => return Err(Broken::of(&error)),
            Err(_) => return Ok(None),
        };
        self.framed = Some((now, steps));
        metrics::counter!("drystone_frames_total").increment(1);
        self.shown = Some(Arc::new(frame));
        Ok(None)
    }
}
