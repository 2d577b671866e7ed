//! Rewinding of a world. It is opened from a checkpoint before the wanted step and replays its log up to there; the
//! result becomes its newest checkpoint, as a restore does. Until that is stored, the world is what it was.

use std::collections::VecDeque;
use std::time::Instant;

use super::keep::{first_part, prune};
use super::keys::{Recent, RecordedAnswer};
use super::live::{Live, SessionMemory};
use super::time_slice::SliceProgress;
use super::{Broken, NextWake, PendingWrite, Phase, ReplySender, Session};
use crate::answers::Restored;
use crate::op::{LogRecord, RequestKey};
use crate::problem::Problem;
use crate::store::{LogEnd, LogHead, Store, checkpoint_name};
use crate::unix_seconds;
use crate::writer::{JobUrgency, WriteJob};

/// Request to rewind, in progress.
pub(super) struct Rewinding {
    /// Wanted step.
    target: u64,
    key: Option<RequestKey>,
    deadline: Instant,
    reply: ReplySender,
    /// Answers that stay known after the rewind.
    answers: Recent,
    /// Number of requests for steps so far.
    requests: u64,
    /// Checkpoints that are obsolete after the rewind.
    needless: Vec<u64>,
}

/// Largest number of logs in the history. Beyond it the history is discarded, because a rewind replays all of them.
const MAX_LOGS: usize = 256;
/// Largest number of logs in the history in a store behind a network, where each takes several requests.
const MAX_REMOTE_LOGS: usize = 32;

impl Session {
    /// Returns the step to which the world is being rewound, if it is.
    pub(super) fn rewind_target(&self) -> Option<u64> {
        self.rewinding.as_ref().map(|rewinding| rewinding.target)
    }

    /// Notes the checkpoints that are obsolete after the rewind.
    pub(super) fn note_needless(&mut self, needless: Vec<u64>) {
        if let Some(rewinding) = &mut self.rewinding {
            rewinding.needless = needless;
        }
    }

    /// Begins to rewind by a number of steps. The world is to be reopened in its earlier state.
    pub(super) fn rewind(
        &mut self,
        live: &mut Live,
        steps: u64,
        (key, deadline): (Option<RequestKey>, Instant),
        reply: ReplySender,
    ) -> Result<(), Broken> {
        let now = live.world.steps();
        let problem = match now.checked_sub(steps) {
            _ if live.memory.play.is_some() || !live.memory.goals.is_empty() => {
                Problem::conflict("the world is stepping; pause it before you rewind it")
            }
            None => Problem::invalid(format!("steps is {steps}; the world has done {now}")).at("steps"),
            Some(target) => {
                let (answers, requests) = (live.memory.answers.clone(), live.memory.requests);
                self.rewinding =
                    Some(Rewinding { target, key, deadline, reply, answers, requests, needless: Vec::new() });
                self.ring = Some(live.take_ring());
                self.phase = Phase::Closed(Instant::now());
                return Err(Broken::Reopen);
            }
        };
        // The client may have disconnected.
        let _ = reply.send(Err(problem));
        Ok(())
    }

    /// Cancels the rewind: the world is reopened as it was before.
    pub(super) fn give_up_rewind(&mut self, problem: &Problem) -> NextWake {
        self.refuse_restored(problem);
        // The replay recorded these.
        self.own.clear();
        self.waiting.clear();
        self.phase = Phase::Closed(Instant::now());
        NextWake::Now
    }

    /// Returns the reason to cancel the rewind: its deadline has passed, or its client has disconnected.
    pub(super) fn overdue_rewind(&self) -> Option<Problem> {
        let rewinding = self.rewinding.as_ref()?;
        if Instant::now() >= rewinding.deadline {
            let detail = "the rewind takes longer than allowed (timeout); the world is unchanged";
            return Some(Problem::limit(detail).at("timeout"));
        }
        let gone = rewinding.key.is_none() && rewinding.reply.is_closed();
        gone.then(|| Problem::conflict("the client has disconnected; the world is unchanged"))
    }

    /// Steps on to the wanted step after the replay, then writes the result as a checkpoint.
    pub(super) fn end_rewind(&mut self, mut live: Box<Live>, rewinding: Rewinding) -> SliceProgress {
        let steps = live.world.steps();
        if steps < rewinding.target {
            self.rewinding = Some(rewinding);
            self.phase = Phase::Replaying(live, VecDeque::<LogRecord>::new());
            return SliceProgress::Due;
        }
        let Rewinding { key, reply, mut answers, requests, needless, .. } = rewinding;
        self.own.clear();
        self.waiting.clear();
        live.end_replay();
        let snapshot = match live.world.save() {
            Ok(snapshot) => snapshot,
            Err(error) => {
                self.answer(reply, Err(Problem::device(error.to_string())));
                return SliceProgress::Over(self.lost(&error.to_string()));
            }
        };
        if let Some(key) = key {
            let body = serde_json::to_string(&Restored { step: steps }).unwrap_or_default();
            answers.push_back(RecordedAnswer { key, status: 200, body, at: unix_seconds() });
        }
        let own_memory = std::mem::take(&mut live.memory);
        let memory =
            SessionMemory { requests, answers, goals: VecDeque::new(), play: None, unwatched: None, ..own_memory };
        let head = LogHead { rewound: true, ..self.next_head(steps, true) };
        let first = first_part(&head, &serde_json::to_vec(&memory).unwrap_or_default());
        let (id, number) = (self.handle.id.clone(), head.log);
        let own = id.clone();
        let work = move |store: &Store| {
            store.write(&own, &checkpoint_name(number), &first, &snapshot)?;
            // With its log the rewind takes effect: without it the checkpoint does not count.
            store.begin_now(&own, &LogEnd::new(head)?)?;
            let names: Vec<String> = needless.into_iter().filter(|&old| old != number).map(checkpoint_name).collect();
            store.prune(&own, &names);
            let most = if store.is_remote() { MAX_REMOTE_LOGS } else { MAX_LOGS };
            if store.list(&own).is_ok_and(|listing| listing.logs.len() > most) {
                prune(store, &own, number);
            }
            Ok(())
        };
        let (slot, done) = self.slot();
        self.shared.writer.give(WriteJob::Slow { id, kind: JobUrgency::World, work: Box::new(work), done });
        self.hold = Some(PendingWrite::Rewind(reply, slot, number));
        self.phase = Phase::Live(live);
        SliceProgress::Over(NextWake::Idle)
    }

    /// Answers the request to rewind with a problem, if there is one.
    pub(super) fn refuse_rewind(&mut self, problem: &Problem) {
        if let Some(Rewinding { reply, .. }) = self.rewinding.take() {
            self.answer(reply, Err(problem.clone()));
        }
    }
}
