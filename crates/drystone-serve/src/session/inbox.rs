//! Inbox of a session: requests are answered, refused, or collected for the log.

use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::bodies::NoRoom;
use super::keys::{self, differs};
use super::live::Live;
use super::read::Asking;
use super::time_slice::SliceProgress;
use super::{
    Answer, Broken, LogBatch, NextWake, Read, ReplySender, Session, SessionRequest, StepWaiter, check_work, lock,
    population, read,
};
use crate::op::{Additions, LogRecord, Op, RequestKey};
use crate::problem::Problem;
use crate::writer::{JobUrgency, WriteJob};
use drystone::WorldError;
use drystone::low_level::scene::Compiled;

/// Largest number of requests read in a time slice.
const MAX_TAKEN: usize = 256;
/// Time for requests in a time slice, not counting the first. The remaining ones wait for the next time slice.
const READING: Duration = Duration::from_millis(4);
/// Largest number of waiting steps, as a multiple of `limits.steps`.
const MAX_REQUESTED: u64 = 4;

/// Knowledge about a key.
enum KeyState {
    /// No answer exists.
    Nothing,
    /// Answer in memory.
    Answer(Answer),
    /// Files of the store that may contain the answer.
    Files(Vec<u64>),
}

impl Session {
    /// Reads the inbox: answers what needs no log, and adds the other requests to the batch for the log.
    pub(super) fn receive(&mut self, live: &mut Live, draining: bool, batch: &mut LogBatch) -> Result<(), Broken> {
        if let Some(spill) = self.spilled.take() {
            live.spilled(spill);
        }
        let (at, end) = (live.world.steps(), Instant::now() + READING);
        self.blocked = false;
        if Instant::now() >= self.next_try {
            batch.extend(self.own.drain(..).map(|(op, key, reply)| (LogRecord { at, op, key }, reply, None)));
        }
        let asking = self.asking.take();
        let has_asked = asking.is_some();
        if let Some(asking) = asking {
            self.continue_queries(live, asking, end, draining)?;
        }
        for _ in 0..MAX_TAKEN {
            if self.asking.is_some() {
                break;
            }
            let Some(request) = lock(&self.handle.inbox).pop_front() else { break };
            if !self.may_take_long && !request.is_short() {
                lock(&self.handle.inbox).push_front(request);
                break;
            }
            match request {
                request @ SessionRequest::Delete(..) => {
                    lock(&self.handle.inbox).push_front(request);
                    break;
                }
                SessionRequest::Write { op, key, deadline, reply } => {
                    if draining {
                        let _ = reply.send(Err(Problem::unavailable("the service is stopping")));
                        continue;
                    }
                    // A request already in progress without a waiting client, since a restart: it is in the log, or
                    // will be.
                    let batched = batch.iter_mut().map(|(record, to, _)| (&record.key, to));
                    let mut done = batched.chain(self.own.iter_mut().map(|(_, key, to)| (&*key, to)));
                    let same = done.find(|(of, to)| {
                        key.is_some() && **of == key && to.as_ref().is_none_or(oneshot::Sender::is_closed)
                    });
                    if let Some((_, to)) = same {
                        *to = Some(reply);
                        continue;
                    }
                    let Some(reply) = self.join(live, key.as_ref(), deadline, reply) else { continue };
                    // An answer to remember comes from the holder of the claim on its key.
                    let known = if matches!(op, Op::Told { .. }) { None } else { key.as_ref() };
                    if let Some(Err(problem)) = known.map(|key| self.handle.check_claim(key)) {
                        let _ = reply.send(Err(problem));
                        continue;
                    }
                    let Some(reply) = self.recall_or_keep(live, known, batch, reply) else { continue };
                    match self.admit(live, &op, batch) {
                        Ok(()) => batch.push((LogRecord { at, op, key }, Some(reply), deadline)),
                        Err(problem) => {
                            let _ = reply.send(Err(problem));
                        }
                    }
                }
                SessionRequest::Read(Read::Query(questions), reply) if batch.is_empty() && !has_asked => {
                    self.continue_queries(live, Asking::new(questions, reply), end, draining)?;
                }
                request @ SessionRequest::Read(Read::Query(_), _) => {
                    // The answer may take several time slices. Earlier requests are therefore executed first, and
                    // steps may run between two queries.
                    lock(&self.handle.inbox).push_front(request);
                    break;
                }
                SessionRequest::Read(mut what, reply) => {
                    if reply.is_closed() {
                        continue;
                    }
                    let answer = match &mut what {
                        Read::Series(asked) => self.series(live, asked),
                        what => read::answer(live, what),
                    };
                    match answer {
                        Err(WorldError::Device(error)) => {
                            let _ = reply.send(Err(Problem::device(error.to_string())));
                            return Err(Broken::of(&error));
                        }
                        Err(error) => {
                            let _ = reply.send(Err(Problem::from(error)));
                        }
                        Ok(answer) => {
                            let _ = reply.send(answer);
                        }
                    }
                }
                SessionRequest::Recall(key, reply) => {
                    if let Some(reply) = self.recall_or_keep(live, Some(&key), batch, reply) {
                        let _ = reply.send(Ok(Answer::unknown()));
                    }
                }
                special @ (SessionRequest::Save(..) | SessionRequest::Restore(..) | SessionRequest::Rewind(..))
                    if !batch.is_empty()
                        || (self.writing.is_some() && !matches!(special, SessionRequest::Save(..))) =>
                {
                    // Waits for its turn behind earlier requests.
                    lock(&self.handle.inbox).push_front(special);
                    self.blocked = batch.is_empty();
                    break;
                }
                SessionRequest::Save(name, reply) => self.save(live, name, reply)?,
                SessionRequest::Restore(_, _, reply) | SessionRequest::Rewind(_, _, reply) if !self.own.is_empty() => {
                    // A checkpoint that replaces the state would not contain them.
                    let detail = "the store cannot record the end of earlier requests at the moment: retry";
                    let _ = reply.send(Err(Problem::unavailable(detail)));
                }
                SessionRequest::Rewind(steps, (key, deadline), reply) => {
                    if let Some(reply) = self.recall_or_keep(live, key.as_ref(), batch, reply) {
                        self.rewind(live, steps, (key, deadline), reply)?;
                    }
                }
                SessionRequest::Restore(name, key, reply) => {
                    if let Some(reply) = self.recall_or_keep(live, key.as_ref(), batch, reply) {
                        self.restore(live, &name, key, reply);
                        break;
                    }
                }
            }
            if Instant::now() >= end {
                break;
            }
        }
        Ok(())
    }

    /// Deletes the world if a request asks for it, ahead of earlier requests that are not in the log. None if there
    /// is no such request.
    pub(super) fn accept_delete(&mut self, live: &Live) -> Option<SliceProgress> {
        if !self.handle.has_delete() {
            return None;
        }
        let Some(SessionRequest::Delete(tombstone, reply)) = self.handle.take_delete() else { return None };
        let key = tombstone.as_ref().map(|tombstone| &tombstone.key);
        // The answer goes to the tombstone, so the world's number of keys does not matter.
        if let Some(reply) = self.recall(live, key, &LogBatch::new(), reply) {
            // The writer executes the jobs of a world in order: the deletion follows a checkpoint in progress.
            self.delete(tombstone, reply);
            return Some(SliceProgress::Over(self.refuse_overdue()));
        }
        Some(SliceProgress::Over(NextWake::Now))
    }

    /// Refuses requests for steps whose deadline passes while the world is being deleted: nothing is logged any
    /// more, and the store may take long. Returns the next deadline.
    pub(super) fn refuse_overdue(&mut self) -> NextWake {
        let now = Instant::now();
        let problem = Problem::conflict("the world is being deleted, and the deadline has passed");
        let mut soonest = self.handle.refuse_overdue(now, &problem);
        for waiting in self.waiting.values_mut().filter(|waiting| waiting.reply.is_some()) {
            match waiting.deadline {
                Some(deadline) if deadline > now => {
                    soonest = Some(soonest.map_or(deadline, |soonest| soonest.min(deadline)));
                }
                Some(_) => self.outbox.extend(waiting.reply.take().map(|reply| (reply, Err(problem.clone())))),
                None => {}
            }
        }
        soonest.map_or(NextWake::Idle, NextWake::At)
    }

    /// Continues queries. Those not done by `end` wait for the next time slice.
    fn continue_queries(
        &mut self,
        live: &mut Live,
        mut asking: Asking,
        end: Instant,
        draining: bool,
    ) -> Result<(), Broken> {
        if draining {
            let _ = asking.into_reply().send(Err(Problem::unavailable("the service is stopping")));
            return Ok(());
        }
        match asking.continue_queries(live, &self.shared.config.limits, end) {
            Ok(None) => self.asking = Some(asking),
            Ok(Some(answer)) => {
                // The client may have disconnected.
                let _ = asking.into_reply().send(answer);
            }
            Err(WorldError::Device(error)) => {
                let _ = asking.into_reply().send(Err(Problem::device(error.to_string())));
                return Err(Broken::of(&error));
            }
            Err(error) => {
                let _ = asking.into_reply().send(Err(Problem::from(error)));
            }
        }
        Ok(())
    }

    /// Answers a request whose key is known or invalid. Returns the reply channel if the request is to be executed.
    fn recall(
        &mut self,
        live: &Live,
        key: Option<&RequestKey>,
        batch: &LogBatch,
        reply: ReplySender,
    ) -> Option<ReplySender> {
        let Some(key) = key else { return Some(reply) };
        match self.known(live, key, batch) {
            Ok(KeyState::Nothing) => Some(reply),
            Ok(KeyState::Answer(answer)) => {
                let _ = reply.send(Ok(answer));
                None
            }
            Ok(KeyState::Files(files)) => {
                let (id, key) = (self.handle.id.clone(), key.clone());
                let own = id.clone();
                let work = move |store: &_| {
                    let _ = reply.send(keys::read(store, &own, &files, &key));
                    Ok(())
                };
                self.shared.writer.give(WriteJob::Slow {
                    id,
                    kind: JobUrgency::World,
                    work: Box::new(work),
                    done: Box::new(drop),
                });
                None
            }
            Err(problem) => {
                let _ = reply.send(Err(problem));
                None
            }
        }
    }

    /// Looks up a key: its request may be done or in progress.
    fn known(&self, live: &Live, key: &RequestKey, batch: &LogBatch) -> Result<KeyState, Problem> {
        if let Some(answered) = live.answered(key) {
            return if answered.key.hash == key.hash { Ok(KeyState::Answer(answered.again())) } else { Err(differs()) };
        }
        if let Some(same) = self.asked(live, batch).find(|asked| asked.name == key.name) {
            return Err(if same.hash == key.hash { Problem::busy() } else { differs() });
        }
        let files = live.answered_in(key);
        if !files.is_empty() {
            return Ok(KeyState::Files(files));
        }
        Ok(KeyState::Nothing)
    }

    /// Returns the keys of requests in progress.
    fn asked<'a>(&'a self, live: &'a Live, batch: &'a LogBatch) -> impl Iterator<Item = &'a RequestKey> {
        let goals = live.memory.goals.iter().filter_map(|goal| goal.key.as_ref());
        let batched = batch.iter().filter_map(|(record, ..)| record.key.as_ref());
        goals.chain(batched).chain(self.own.iter().filter_map(|(_, key, _)| key.as_ref()))
    }

    /// Answers a request whose key is known, or whose answer could not be kept in addition to those in progress.
    /// Returns the reply channel if the request is to be executed.
    fn recall_or_keep(
        &mut self,
        live: &Live,
        key: Option<&RequestKey>,
        batch: &LogBatch,
        reply: ReplySender,
    ) -> Option<ReplySender> {
        let reply = self.recall(live, key, batch, reply)?;
        let waiting = self.asked(live, batch).count();
        match key.map_or(Ok(()), |_| live.check_keys(waiting, self.shared.config.limits.keys)) {
            Ok(()) => Some(reply),
            Err(problem) => {
                let _ = reply.send(Err(problem));
                None
            }
        }
    }

    /// Attaches a retried request for steps to the one in progress if that has no waiting client, for example after
    /// a restart.
    pub(super) fn join(
        &mut self,
        live: &Live,
        key: Option<&RequestKey>,
        deadline: Option<Instant>,
        reply: ReplySender,
    ) -> Option<ReplySender> {
        let same = live.memory.goals.iter().find(|goal| key.is_some() && goal.key.as_ref() == key);
        let Some(goal) = same else { return Some(reply) };
        let waiting = self.waiting.entry(goal.request);
        let waiting = waiting.or_insert(StepWaiter { reply: None, deadline: None, has_key: true });
        if waiting.reply.as_ref().is_some_and(|reply| !reply.is_closed()) {
            return Some(reply);
        }
        (waiting.reply, waiting.deadline) = (Some(reply), deadline);
        None
    }

    /// Checks a change before it is logged: from then on its result depends on the world alone.
    pub(super) fn admit(&self, live: &Live, op: &Op, batch: &LogBatch) -> Result<(), Problem> {
        let limits = &self.shared.config.limits;
        match op {
            Op::Step { .. } if live.memory.play.is_some() => {
                Err(Problem::conflict("the world plays; pause it before asking for steps"))
            }
            Op::Step { steps } => {
                let in_batch = batch.iter().filter_map(|(record, ..)| match record.op {
                    Op::Step { steps } => Some(steps),
                    _ => None,
                });
                let waiting = live.memory.goals.iter().map(|goal| goal.remaining).chain(in_batch);
                let (count, sum) = waiting.fold((0, *steps), |(count, sum), steps| (count + 1, sum + steps));
                if count >= limits.goals {
                    let detail = format!("{count} requests for steps already wait for this world (limits.goals)");
                    return Err(Problem::too_many(detail, 1));
                }
                let most = MAX_REQUESTED * limits.steps;
                if sum > most {
                    let detail = format!(
                        "{sum} steps would wait for this world; at most {most}, {MAX_REQUESTED} times limits.steps"
                    );
                    return Err(Problem::too_many(detail, 1));
                }
                Ok(())
            }
            Op::Play { .. } if !live.memory.goals.is_empty() => {
                Err(Problem::conflict("the world has unfinished steps; wait for them, or pause it"))
            }
            Op::Commands(commands) => {
                let additions = Additions::of(commands);
                if additions.is_nothing() {
                    return Ok(());
                }
                let waiting = batch.iter().filter_map(|(record, ..)| match &record.op {
                    Op::Commands(commands) => Some(Additions::of(commands)),
                    _ => None,
                });
                let before = waiting.fold(live.has(), Additions::plus);
                additions.check(&before, limits)?;
                self.check_growth(live, &additions, &before)
            }
            _ => Ok(()),
        }
    }

    /// Checks added bodies and joints, on top of `before`, against the work of a step and the bodies of all worlds.
    fn check_growth(&self, live: &Live, more: &Additions, before: &Additions) -> Result<(), Problem> {
        let Compiled { settings, .. } = live.world.compiled();
        if more.bodies + more.joints + more.shapes > 0 {
            let parts = before.bodies.max(before.shapes) + before.joints + more.bodies.max(more.shapes) + more.joints;
            let (substeps, iterations) = (settings.substep_count(), settings.iteration_count());
            check_work(parts, substeps, iterations, &self.shared).map_err(|problem| problem.at("commands"))?;
        }
        let limit = self.shared.config.limits.total_bodies;
        let coming = more.bodies + before.bodies - population(live).0;
        let checked = self.shared.total.check(&self.handle.facts.owner, coming, limit, self.shared.share(limit));
        if more.bodies > 0
            && let Err(NoRoom { there, most, is_own }) = checked
        {
            let (of, part) = if is_own { ("this token", "half of ") } else { ("this service", "") };
            let detail = format!(
                "the worlds of {of} have {there} bodies, and {coming} would be added; at most {most} \
                 ({part}limits.total_bodies): delete a world"
            );
            return Err(Problem::too_many(detail, 60));
        }
        Ok(())
    }
}
