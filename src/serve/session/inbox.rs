//! What comes in: answered, refused, or to be logged.

use std::time::Instant;

use super::live::Live;
use super::{Answer, Batch, Broken, Reply, Request, Session, Waiting, lock, population, read};
use crate::WorldError;
use crate::serve::op::{CommandRecord, Key, Op, Record};
use crate::serve::problem::Problem;

/// Requests taken in a turn.
const MOST_TAKEN: usize = 256;

impl Session {
    /// Reads the inbox: answers what can be answered now, and gives back what has to be logged first.
    pub(super) fn receive(&mut self, live: &mut Live, draining: bool) -> Result<Batch, Broken> {
        let mut batch: Batch = Vec::new();
        let at = live.world.steps();
        self.blocked = false;
        if Instant::now() >= self.next_try {
            batch.extend(self.own.drain(..).map(|(op, key, reply)| (Record { at, op, key }, reply, None)));
        }
        for _ in 0..MOST_TAKEN {
            let Some(request) = lock(&self.handle.inbox).pop_front() else { break };
            match request {
                Request::Write { op, key, deadline, reply } => {
                    if draining {
                        let _ = reply.send(Err(Problem::unavailable("the service is stopping")));
                        continue;
                    }
                    // Done just now, and nobody waits for it since a restart.
                    let same =
                        batch.iter_mut().find(|(record, to, _)| to.is_none() && key.is_some() && record.key == key);
                    if let Some((_, to, _)) = same {
                        *to = Some(reply);
                        continue;
                    }
                    let Some(reply) = self.join(live, key.as_ref(), deadline, reply) else { continue };
                    match self.admit(live, &op, key.as_ref(), &batch) {
                        Ok(None) => batch.push((Record { at, op, key }, Some(reply), deadline)),
                        Ok(Some(answer)) => {
                            let _ = reply.send(answer);
                        }
                        Err(problem) => {
                            let _ = reply.send(Err(problem));
                        }
                    }
                }
                Request::Read(what, reply) => {
                    if reply.is_closed() {
                        continue;
                    }
                    match read::answer(live, what) {
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
                special if !batch.is_empty() || (self.writing.is_some() && !matches!(special, Request::Save(..))) => {
                    // In its turn, after what came before it.
                    lock(&self.handle.inbox).push_front(special);
                    self.blocked = batch.is_empty();
                    break;
                }
                Request::Save(name, reply) => self.save(live, name, reply)?,
                Request::Restore(name, reply) => {
                    self.restore(live, &name, reply);
                    break;
                }
                Request::Delete(reply) => {
                    self.delete(reply);
                    break;
                }
            }
        }
        Ok(batch)
    }

    /// Who asks again for steps that nobody waits for any more, after a restart perhaps, waits for those.
    pub(super) fn join(
        &mut self,
        live: &Live,
        key: Option<&Key>,
        deadline: Option<Instant>,
        reply: Reply,
    ) -> Option<Reply> {
        let same = live.memory.goals.iter().find(|goal| key.is_some() && goal.key.as_ref() == key);
        let Some(goal) = same else { return Some(reply) };
        let waiting = self.waiting.entry(goal.request);
        let waiting = waiting.or_insert(Waiting { reply: None, deadline: None, has_key: true });
        if waiting.reply.as_ref().is_some_and(|reply| !reply.is_closed()) {
            return Some(reply);
        }
        (waiting.reply, waiting.deadline) = (Some(reply), deadline);
        None
    }

    /// Whether a change may be logged: beyond this point its outcome depends on the world alone. Or its answer, if it was
    /// given before.
    pub(super) fn admit(
        &self,
        live: &Live,
        op: &Op,
        key: Option<&Key>,
        batch: &Batch,
    ) -> Result<Option<Result<Answer, Problem>>, Problem> {
        if let Some(key) = key {
            let differs = || Problem::invalid("the key was used for another request").at("Idempotency-Key");
            if let Some(answered) = live.answered(key) {
                if answered.key.hash != key.hash {
                    return Err(differs());
                }
                let content_type = if answered.status >= 400 { "application/problem+json" } else { "application/json" };
                let (status, body) = (answered.status, answered.body.clone().into_bytes());
                return Ok(Some(Ok(Answer { status, content_type, body, again: true })));
            }
            let asked = live.memory.goals.iter().filter_map(|goal| goal.key.as_ref());
            let asked = asked.chain(batch.iter().filter_map(|(record, ..)| record.key.as_ref()));
            if let Some(same) = asked.into_iter().find(|asked| asked.name == key.name) {
                let busy = Problem::conflict("the first request with this key is still being worked on");
                return Err(if same.hash == key.hash { busy } else { differs() });
            }
        }
        let limits = &self.shared.config.limits;
        match op {
            Op::Step { .. } if live.memory.play.is_some() => {
                Err(Problem::conflict("the world plays; pause it before asking for steps"))
            }
            Op::Play { .. } if !live.memory.goals.is_empty() => {
                Err(Problem::conflict("the world has steps to do; wait for them, or pause it"))
            }
            Op::Commands(commands) => {
                let (bodies, joints, alterations) = brings(commands);
                let waiting = batch.iter().filter_map(|(record, ..)| match &record.op {
                    Op::Commands(commands) => Some(brings(commands)),
                    _ => None,
                });
                let before = waiting.fold((0, 0, 0), |sum, more| (sum.0 + more.0, sum.1 + more.1, sum.2 + more.2));
                if bodies + joints + alterations == 0 {
                    return Ok(None);
                }
                let (now_bodies, now_joints) = population(live);
                for (what, now, more, most) in [
                    ("bodies", now_bodies, before.0 + bodies, limits.bodies),
                    ("joints", now_joints, before.1 + joints, limits.joints),
                    (
                        "bodies and joints added or removed by hand",
                        live.memory.journal.len(),
                        before.2 + alterations,
                        limits.alterations,
                    ),
                ] {
                    if more > 0 && now + more > most {
                        let detail = format!("the world would come to {} {what}; at most {most}", now + more);
                        return Err(Problem::limit(detail).at("commands"));
                    }
                }
                Ok(None)
            }
            _ => Ok(None),
        }
    }
}

/// Bodies, joints and entries of the journal that commands bring at most.
fn brings(commands: &[CommandRecord]) -> (usize, usize, usize) {
    commands.iter().fold((0, 0, 0), |(b, j, a), command| match command {
        CommandRecord::Spawn { bodies, joints } => {
            (b + bodies.len(), j + joints.len(), a + bodies.len() + joints.len())
        }
        CommandRecord::Join { .. } | CommandRecord::Mouse { body: Some(_), .. } => (b, j + 1, a + 1),
        CommandRecord::Remove { .. } | CommandRecord::Unjoin { .. } => (b, j, a + 1),
        _ => (b, j, a),
    })
}
