//! The WebSocket of a world: frames out, commands in.
//!
//! The client may send JSON texts: `{"id": 1, "commands": [...]}`, `{"id": 2, "step": {"steps": 10}}`,
//! `{"id": 3, "play": {}}`, `{"id": 4, "pause": {}}`, `{"id": 5, "stream": {"rate": 10}}`, with `"key"` beside them as an
//! `Idempotency-Key`. Each is answered with `{"id": …, "ok": …}` or `{"id": …, "problem": …}`, when it is durable.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use axum::body::Bytes;
use axum::extract::rejection::QueryRejection;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade, close_code};
use axum::extract::{Extension, Query, State as FromState};
use axum::response::Response;
use futures_util::{SinkExt, StreamExt};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use utoipa::IntoParams;

use super::guard::Caller;
use super::worlds::{Nothing, Play, Step};
use super::{Path, State, make_key, parameters};
use crate::serve::op::{CommandRecord, Op, read_commands, read_json};
use crate::serve::problem::Problem;
use crate::serve::session::{Answer, Handle, Request};
use crate::serve::stream::{Frame, Pace, View, Wish};

/// Largest text of a client, bytes.
const MOST_TEXT: usize = 1 << 20;
/// Requests of a client that are being worked on.
const MOST_AT_ONCE: usize = 32;
/// Frames a second, at most.
const MOST_RATE: f64 = 240.0;
/// A client that does not take a frame for so long is let go.
const PATIENCE: Duration = Duration::from_secs(30);
/// For the client's good-bye, and for the way of ours.
const GOODBYE: Duration = Duration::from_secs(1);
/// Pings without an answer, and without a frame that was sent, after which a client is gone.
const MOST_SILENT: u32 = 3;
/// Of what the client may choose among.
const PROTOCOL: &str = "drystone.v1";

/// What to send.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    /// Frames a second at most, up to 240. [default: 30]
    rate: Option<f64>,
    /// `full` or `delta`. [default: delta]
    format: Option<String>,
    /// Only bodies whose origin is in `x0,y0,x1,y1`, m.
    region: Option<String>,
}

/// The same in a message.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Change {
    rate: Option<f64>,
    format: Option<String>,
    region: Option<[f32; 4]>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Said {
    #[serde(default)]
    id: Value,
    #[serde(default)]
    key: Option<String>,
    #[serde(default)]
    commands: Option<Vec<CommandRecord>>,
    #[serde(default)]
    step: Option<Step>,
    #[serde(default)]
    play: Option<Play>,
    #[serde(default)]
    pause: Option<Nothing>,
    #[serde(default)]
    stream: Option<Change>,
}

fn wish(rate: Option<f64>, format: Option<&str>, region: Option<[f32; 4]>) -> Result<Wish, Problem> {
    let rate = rate.unwrap_or(30.0);
    if !(rate > 0.0 && rate <= MOST_RATE) {
        return Err(Problem::malformed(format!("rate is {rate}; expected a number above 0, up to {MOST_RATE}")));
    }
    let delta = match format {
        None | Some("delta") => true,
        Some("full") => false,
        Some(other) => return Err(Problem::malformed(format!("format is {other:?}; expected full or delta"))),
    };
    if let Some([x0, y0, x1, y1]) = region
        && !(x0 <= x1 && y0 <= y1)
    {
        return Err(Problem::malformed("region: expected x0,y0,x1,y1 with the low corner first"));
    }
    // Slower than one an hour is one an hour.
    let interval = Duration::from_secs_f64((1.0 / rate).min(3600.0));
    Ok(Wish { interval, delta, region })
}

fn region(text: &str) -> Result<[f32; 4], Problem> {
    let wrong = || Problem::malformed(format!("region is {text:?}; expected four numbers x0,y0,x1,y1"));
    let numbers: Result<Vec<f32>, _> = text.split(',').map(|part| part.trim().parse::<f32>()).collect();
    numbers.ok().and_then(|numbers| numbers.try_into().ok()).ok_or_else(wrong)
}

/// Frames of a world over a WebSocket, and commands over the same.
///
/// The protocol is `drystone.v1`; where a header cannot be sent, `bearer.TOKEN` beside it, or `bearer-hex.` and the
/// bytes of the token in hexadecimal. A frame is binary, as `src/serve/stream.rs` and `python/README.md` describe it:
/// all bodies, or what moved since the last frame, in quanta. A slow client gets the newest frame, and how many were
/// left out.
#[utoipa::path(get, path = "/v1/worlds/{id}/stream", tag = "watch", params(("id" = String, Path), Wanted),
    responses((status = 101, description = "Switched to WebSocket")))]
pub async fn stream(
    FromState(state): FromState<State>,
    Extension(caller): Extension<Arc<Caller>>,
    Path(id): Path<String>,
    query: Result<Query<Wanted>, QueryRejection>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Problem> {
    let wanted = parameters(query)?;
    let region = wanted.region.as_deref().map(region).transpose()?;
    let wish = wish(wanted.rate, wanted.format.as_deref(), region)?;
    let missing = || Problem::not_found(format!("there is no world {id}"));
    let handle = state.scheduler.world(&id).ok_or_else(missing)?;
    let upgrade = upgrade.map_err(|rejection| Problem::malformed(rejection.body_text()))?;
    let full = |_| Problem::too_many("as many streams are open already as may be (limits.sockets)", 5);
    let places = [state.sockets.clone().try_acquire_owned(), caller.sockets.clone().try_acquire_owned()];
    let [place, own] = places;
    let permits = [place.map_err(full)?, own.map_err(full)?];
    Ok(upgrade
        .protocols([PROTOCOL])
        .max_message_size(MOST_TEXT)
        .max_frame_size(MOST_TEXT)
        .on_upgrade(move |socket| serve(state, handle, caller, socket, wish, permits)))
}

/// Counts the open streams.
struct Open(Arc<Handle>, u64, #[allow(dead_code, reason = "given back when dropped")] [OwnedSemaphorePermit; 2]);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.leave(self.1);
        metrics::gauge!("drystone_streams").decrement(1.0);
    }
}

async fn serve(
    state: State,
    handle: Arc<Handle>,
    caller: Arc<Caller>,
    socket: WebSocket,
    wish: Wish,
    permits: [OwnedSemaphorePermit; 2],
) {
    metrics::gauge!("drystone_streams").increment(1.0);
    // Before the stream is announced: the first frame is one that was taken for it, not one that others saw long ago.
    let frames = handle.frames.subscribe();
    let open = Open(handle.clone(), handle.join(wish.interval), permits);
    state.scheduler.poke(&handle.id);
    let (sender, mut receiver) = socket.split();
    let (answers, answered) = mpsc::channel::<Value>(MOST_AT_ONCE);
    let (wishes, wished) = mpsc::channel::<Wish>(4);
    let heard = Arc::new(AtomicBool::new(false));
    let hears = Hears { frames, answered, wished, heard: heard.clone() };
    let mut writer = tokio::spawn(write(state.clone(), open, sender, View::new(wish), hears));
    let at_once = Arc::new(Semaphore::new(MOST_AT_ONCE));
    loop {
        let message = tokio::select! {
            message = receiver.next() => message,
            _ = &mut writer => {
                // It has said good-bye, perhaps; the client may say it, too.
                let rest = async { while matches!(receiver.next().await, Some(Ok(_))) {} };
                let _ = tokio::time::timeout(GOODBYE, rest).await;
                return;
            }
        };
        let Some(Ok(message)) = message else { break };
        heard.store(true, Ordering::Relaxed);
        let Message::Text(text) = message else {
            if matches!(message, Message::Close(_)) {
                break;
            }
            continue;
        };
        // Whoever sends more than is worked on waits; the order stays.
        let Ok(slot) = at_once.clone().acquire_owned().await else { break };
        let said = hear(&state, &handle, &caller, text.as_str());
        let (id, outcome) = match said {
            Err((id, problem)) => (id, Err(problem)),
            Ok((id, Heard::Wish(change))) => {
                let outcome = wish_of(&change);
                if let Ok(wish) = &outcome
                    && wishes.send(*wish).await.is_err()
                {
                    break;
                }
                (id, outcome.map(|_| json!({})))
            }
            Ok((id, Heard::Asked(answer))) => {
                let answers = answers.clone();
                tokio::spawn(async move {
                    let outcome = answer.await.unwrap_or_else(|_| Err(Problem::unavailable("the world is gone")));
                    let _ = answers.send(told(&id, outcome.and_then(|answer| as_value(&answer)))).await;
                    drop(slot);
                });
                continue;
            }
        };
        if answers.send(told(&id, outcome)).await.is_err() {
            break;
        }
    }
    writer.abort();
}

fn told(id: &Value, outcome: Result<Value, Problem>) -> Value {
    match outcome {
        Ok(value) => json!({ "id": id, "ok": value }),
        Err(problem) => json!({ "id": id, "problem": problem }),
    }
}

/// An answer that was given before may be a problem.
fn as_value(answer: &Answer) -> Result<Value, Problem> {
    let value: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    if answer.status < 400 {
        return Ok(value);
    }
    let detail = value.get("detail").and_then(Value::as_str).unwrap_or_default();
    let mut problem = Problem::invalid(detail);
    problem.status = answer.status;
    if let Some(kind) = value.get("type").and_then(Value::as_str) {
        kind.clone_into(&mut problem.kind);
    }
    Err(problem)
}

enum Heard {
    Asked(tokio::sync::oneshot::Receiver<Result<Answer, Problem>>),
    Wish(Change),
}

fn wish_of(change: &Change) -> Result<Wish, Problem> {
    wish(change.rate, change.format.as_deref(), change.region)
}

/// Puts what a client said into the inbox, in the order in which it came.
fn hear(state: &State, handle: &Arc<Handle>, caller: &Caller, text: &str) -> Result<(Value, Heard), (Value, Problem)> {
    let read = caller.take().and_then(|()| read_json::<Said>(text.as_bytes()));
    let mut said = read.map_err(|problem| {
        // So that the client knows which, if that can be read.
        let id = serde_json::from_str::<Value>(text).ok().and_then(|value| value.get("id").cloned());
        (id.unwrap_or_default(), problem)
    })?;
    let id = std::mem::take(&mut said.id);
    let count = [
        said.commands.is_some(),
        said.step.is_some(),
        said.play.is_some(),
        said.pause.is_some(),
        said.stream.is_some(),
    ];
    if count.iter().filter(|there| **there).count() != 1 {
        let detail = "expected one of commands, step, play, pause and stream in a message";
        return Err((id, Problem::invalid(detail)));
    }
    if let Some(change) = said.stream.take() {
        return Ok((id, Heard::Wish(change)));
    }
    let asked = ask(state, handle, &said, text);
    asked.map(|receiver| (id.clone(), Heard::Asked(receiver))).map_err(|problem| (id, problem))
}

fn ask(
    state: &State,
    handle: &Arc<Handle>,
    said: &Said,
    text: &str,
) -> Result<tokio::sync::oneshot::Receiver<Result<Answer, Problem>>, Problem> {
    let (op, deadline) = if let Some(step) = &said.step {
        let (op, deadline) = step.op(state).map_err(|problem| problem.within("step"))?;
        (op, Some(deadline))
    } else if let Some(play) = &said.play {
        (play.op().map_err(|problem| problem.within("play"))?, None)
    } else if said.pause.is_some() {
        (Op::Pause, None)
    } else {
        // The same checks as over HTTP.
        let batch = json!({ "commands": said.commands }).to_string();
        (Op::Commands(read_commands(batch.as_bytes(), state.config.limits.commands)?), None)
    };
    let key = match &said.key {
        None => None,
        Some(key) if (1..=super::LONGEST_KEY).contains(&key.len()) => {
            let path = format!("/v1/worlds/{}/stream", handle.id);
            // With the message as a whole: asked again, it is the same.
            Some(make_key(key, &path, text.as_bytes()))
        }
        Some(_) => return Err(Problem::malformed("the key is empty or too long").at("key")),
    };
    let (reply, receiver) = tokio::sync::oneshot::channel();
    handle.put(Request::Write { op, key, deadline, reply }, state.config.limits.inbox)?;
    state.scheduler.poke(&handle.id);
    Ok(receiver)
}

type Sink = futures_util::stream::SplitSink<WebSocket, Message>;

/// What the one who writes hears of the world, and of the one who reads.
struct Hears {
    frames: watch::Receiver<Option<Arc<Frame>>>,
    answered: mpsc::Receiver<Value>,
    wished: mpsc::Receiver<Wish>,
    /// The client has said something lately.
    heard: Arc<AtomicBool>,
}

async fn stopped(stopping: &mut watch::Receiver<bool>) {
    // Without its sender the service has stopped as well.
    let _ = stopping.wait_for(|stopping| *stopping).await;
}

/// Sends frames and answers until the client is gone, or the world, or the service.
async fn write(state: State, mut open: Open, mut sink: Sink, mut view: View, mut hears: Hears) {
    let handle = open.0.clone();
    let mut stopping = state.stopping.subscribe();
    let mut pace = Pace::new();
    let idle = Duration::from_secs_f64(state.config.limits.idle_seconds);
    let mut ping = tokio::time::interval_at(tokio::time::Instant::now() + idle, idle);
    ping.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut silent = 0;
    loop {
        let next = tokio::time::Instant::from_std(pace.next(view.wish().interval));
        let ready = async {
            // The newest, once it is time: what came before is never sent. In this order, as a change that was noticed is
            // lost when something else comes in between.
            tokio::time::sleep_until(next).await;
            hears.frames.changed().await
        };
        let farewell = |code, reason: &'static str| Message::Close(Some(CloseFrame { code, reason: reason.into() }));
        let (message, last) = tokio::select! {
            answer = hears.answered.recv() => match answer {
                Some(answer) => (Message::Text(answer.to_string().into()), false),
                None => return,
            },
            wish = hears.wished.recv() => {
                let Some(wish) = wish else { return };
                view.change(wish);
                open.0.leave(open.1);
                open.1 = open.0.join(wish.interval);
                hears.frames.mark_changed();
                state.scheduler.poke(&open.0.id);
                continue;
            }
            () = stopped(&mut stopping) => (farewell(close_code::AWAY, "the service is stopping"), true),
            () = handle.gone() => (farewell(close_code::NORMAL, "the world is gone"), true),
            _ = ping.tick() => {
                // Somebody who takes frames is there; of others an answer to a ping is heard.
                silent = if hears.heard.swap(false, Ordering::Relaxed) { 0 } else { silent + 1 };
                if silent > MOST_SILENT {
                    return;
                }
                (Message::Ping(Bytes::new()), false)
            }
            changed = ready => {
                if changed.is_err() {
                    return;
                }
                let frame = hears.frames.borrow_and_update().clone();
                let Some(frame) = frame else { continue };
                let begun = Instant::now();
                let bytes = view.encode(&frame, pace.dropped);
                let sent = tokio::time::timeout(PATIENCE, sink.send(Message::Binary(bytes.into()))).await;
                if !matches!(sent, Ok(Ok(()))) {
                    return;
                }
                silent = 0;
                pace.sent(begun, view.wish().interval);
                continue;
            }
        };
        if !matches!(tokio::time::timeout(PATIENCE, sink.send(message)).await, Ok(Ok(()))) || last {
            return;
        }
    }
}
