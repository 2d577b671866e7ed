//! WebSocket of a world: frames to the client, commands from the client.
//!
//! The client may send JSON texts: `{"id": 1, "commands": [...]}`, `{"id": 2, "step": {"steps": 10}}`, `{"id": 3,
//! "play": {}}`, `{"id": 4, "pause": {}}`, `{"id": 5, "stream": {"rate": 10}}`, optionally with `"key"`, an
//! idempotency key. Each is answered with `{"id": …, "ok": …}` or `{"id": …, "problem": …}` once it is durable. A
//! number of messages may be sent ahead and wait in order; further ones are refused (429), so that the service
//! always reads the socket.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use axum::body::Bytes;
use axum::extract::rejection::QueryRejection;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket, WebSocketUpgrade, close_code};
use axum::extract::{Extension, Query, State as FromState};
use axum::response::Response;
use futures_util::{SinkExt, StreamExt};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio::task::JoinSet;
use utoipa::IntoParams;

use super::content::{command_bytes, read_aside, reading_bytes};
use super::guard::{Caller, OwnWorld};
use super::memory_budget::{ReservedMemory, charge};
use super::run::{Nothing, PlayRequest, StepRequest};
use super::{ApiState, make_key, parameters};
use crate::listen::ConnectionInfo;
use crate::op::{Op, read_commands, read_json};
use crate::problem::Problem;
use crate::session::{Answer, Handle, SessionRequest};
use crate::stream::{ClientView, FrameDrops, StreamFrame, Wish};

/// Largest text of a client, bytes.
const MAX_TEXT: usize = 1 << 20;
/// Number of a client's requests in progress.
const MAX_AT_ONCE: usize = 32;
/// Number of a client's messages that wait for a request to end.
const MAX_WAITING: usize = 256;
/// Bytes of the waiting messages, except the first.
const MAX_WAITING_BYTES: usize = 256 << 10;
/// Longest `id` of a message, bytes.
const MAX_ID: usize = 256;
/// Number of bodies above which a frame is encoded on a thread that may block.
const LARGE_FRAME: usize = 1000;
/// Memory per body of a large frame, bytes: the client's values, the rows to send, and their encoding.
const FRAME_BYTES: usize = 192;
/// Largest frame rate, Hz.
const MAX_RATE: f64 = 240.0;
/// Time for the client's close frame, and for sending the service's.
const GOODBYE: Duration = Duration::from_secs(1);
/// Number of pings without a reply and without a sent frame after which a client counts as gone.
const MAX_SILENT: u32 = 3;
/// WebSocket subprotocol.
const PROTOCOL: &str = "drystone.v1";

/// Settings of a stream.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct StreamRequest {
    /// Maximum frames per second, up to 240. [default: 30]
    rate: Option<f64>,
    /// `full` or `delta`. [default: delta]
    format: Option<String>,
    /// Only bodies whose origin is in `x0,y0,x1,y1`, m.
    region: Option<String>,
}

/// Settings of a stream, in a message.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct StreamChange {
    rate: Option<f64>,
    format: Option<String>,
    region: Option<[f32; 4]>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Said {
    #[serde(default)]
    id: Option<Box<RawValue>>,
    #[serde(default)]
    key: Option<String>,
    #[serde(default)]
    commands: Option<Box<RawValue>>,
    #[serde(default)]
    step: Option<StepRequest>,
    #[serde(default)]
    play: Option<PlayRequest>,
    #[serde(default)]
    pause: Option<Nothing>,
    #[serde(default)]
    stream: Option<StreamChange>,
}

fn wish(rate: Option<f64>, format: Option<&str>, region: Option<[f32; 4]>) -> Result<Wish, Problem> {
    let rate = rate.unwrap_or(30.0);
    if !(rate > 0.0 && rate <= MAX_RATE) {
        return Err(Problem::malformed(format!("rate is {rate}; expected a number above 0, up to {MAX_RATE}")));
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
    // Slower rates are raised to one frame per hour.
    let interval = Duration::from_secs_f64((1.0 / rate).min(3600.0));
    Ok(Wish { interval, delta, region })
}

fn region(text: &str) -> Result<[f32; 4], Problem> {
    let wrong = || Problem::malformed(format!("region is {text:?}; expected four numbers x0,y0,x1,y1"));
    let numbers: Result<Vec<f32>, _> = text.split(',').map(|part| part.trim().parse::<f32>()).collect();
    numbers.ok().and_then(|numbers| numbers.try_into().ok()).ok_or_else(wrong)
}

/// Streams frames of a world over a WebSocket, which also accepts commands.
///
/// The subprotocol is `drystone.v1`; where a header cannot be sent, add `bearer.TOKEN`, or `bearer-hex.` and the
/// bytes of the token in hexadecimal. A frame is binary, as described in `src/stream.rs` and `python/CLIENT.md`: all
/// bodies, or those that moved since the last frame, in quanta. A slow client gets the newest frame and the number
/// of skipped ones.
#[utoipa::path(get, path = "/v1/worlds/{id}/stream", tag = "watch", params(("id" = String, Path), StreamRequest),
    responses((status = 101, description = "Switched to WebSocket")))]
pub async fn stream(
    FromState(state): FromState<ApiState>,
    Extension(caller): Extension<Arc<Caller>>,
    line: Option<Extension<Arc<ConnectionInfo>>>,
    OwnWorld(id): OwnWorld,
    query: Result<Query<StreamRequest>, QueryRejection>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Problem> {
    let wanted = parameters(query)?;
    let region = wanted.region.as_deref().map(region).transpose()?;
    let wish = wish(wanted.rate, wanted.format.as_deref(), region)?;
    let handle = state.scheduler.existing(&id)?;
    let upgrade = upgrade.map_err(|rejection| Problem::malformed(rejection.body_text()))?;
    let full = |_| Problem::too_many("too many streams are open (limits.sockets)", 5);
    let places = [state.sockets.clone().try_acquire_owned(), caller.sockets.clone().try_acquire_owned()];
    let [place, own] = places;
    let permits = [place.map_err(full)?, own.map_err(full)?];
    if let Some(Extension(line)) = line {
        line.become_stream();
    }
    Ok(upgrade
        .protocols([PROTOCOL])
        .max_message_size(MAX_TEXT)
        .max_frame_size(MAX_TEXT)
        .on_upgrade(move |socket| serve(state, handle, caller, socket, wish, permits)))
}

/// Open stream: counted, with its slots, until dropped.
struct StreamCount(
    Arc<Handle>,
    u64,
    #[allow(dead_code, reason = "released when dropped")] [OwnedSemaphorePermit; 2],
    ApiState,
);

impl Drop for StreamCount {
    fn drop(&mut self) {
        self.0.leave(self.1);
        // Without a viewer the world may be idle.
        self.3.scheduler.poke(&self.0.id);
        metrics::gauge!("drystone_streams").decrement(1.0);
    }
}

async fn serve(
    state: ApiState,
    handle: Arc<Handle>,
    caller: Arc<Caller>,
    socket: WebSocket,
    wish: Wish,
    permits: [OwnedSemaphorePermit; 2],
) {
    metrics::gauge!("drystone_streams").increment(1.0);
    // Before the stream is announced, so that its first frame is a new one rather than one published long ago.
    let frames = handle.frames.subscribe();
    let open = StreamCount(handle.clone(), handle.join(wish.interval), permits, state.clone());
    state.scheduler.poke(&handle.id);
    let (sender, mut receiver) = socket.split();
    let (answers, answered) = mpsc::channel::<String>(MAX_AT_ONCE);
    let (wishes, wished) = mpsc::channel::<Wish>(4);
    let heard = Arc::new(AtomicBool::new(false));
    let hears = Hears { frames, answered, wished, heard: heard.clone(), caller: caller.clone() };
    let mut writer = tokio::spawn(write(state.clone(), open, sender, ClientView::new(wish), hears));
    // A separate task, so that it works while sending is blocked. Dropping the set ends it with the stream.
    let mut ending = JoinSet::new();
    let (own, stop) = (caller.clone(), writer.abort_handle());
    ending.spawn(async move {
        own.ended().await;
        tokio::time::sleep(GOODBYE).await;
        stop.abort();
    });
    let at_once = Arc::new(Semaphore::new(MAX_AT_ONCE));
    let mut waiting = WaitingMessages::default();
    loop {
        let message = tokio::select! {
            message = receiver.next() => message,
            slot = at_once.clone().acquire_owned(), if !waiting.texts.is_empty() => {
                let (Ok(slot), Some((text, reserved))) = (slot, waiting.next()) else { break };
                let said = dispatch_message(&state, &handle, &caller, text, reserved).await;
                let (id, outcome) = match said {
                    Err((id, problem)) => (id, Err(problem)),
                    Ok((id, Heard::Wish(change), _)) => {
                        let outcome = wish_of(&change);
                        if let Ok(wish) = &outcome
                            && wishes.send(*wish).await.is_err()
                        {
                            break;
                        }
                        (id, outcome.map(|_| Answer::json(&Nothing {})))
                    }
                    Ok((id, Heard::Asked(answer), reserved)) => {
                        let answers = answers.clone();
                        tokio::spawn(async move {
                            let outcome = answer.await;
                            let outcome = outcome.unwrap_or_else(|_| Err(Problem::unavailable("the world was deleted")));
                            let _ = answers.send(encode_answer(id.as_deref(), outcome)).await;
                            drop((slot, reserved));
                        });
                        continue;
                    }
                };
                if answers.send(encode_answer(id.as_deref(), outcome)).await.is_err() {
                    break;
                }
                continue;
            }
            _ = &mut writer => {
                // The writer may have sent a close frame; the client may answer it.
                let rest = async { while matches!(receiver.next().await, Some(Ok(_))) {} };
                let _ = tokio::time::timeout(GOODBYE, rest).await;
                return;
            }
        };
        let Some(Ok(message)) = message else { break };
        heard.store(true, Ordering::Relaxed);
        let text = match message {
            Message::Text(text) => text,
            Message::Close(_) => break,
            _ => continue,
        };
        if let Err(problem) = waiting.put(&caller, &text) {
            let refused = encode_answer(id_of(text.as_str()).as_deref(), Err(problem));
            // The writer closes a client that sends on without reading answers.
            if answers.send(refused).await.is_err() {
                break;
            }
        }
    }
    writer.abort();
}

/// Messages in order that wait for a request to end.
#[derive(Default)]
struct WaitingMessages {
    texts: VecDeque<(Utf8Bytes, ReservedMemory)>,
    bytes: usize,
}

impl WaitingMessages {
    fn put(&mut self, caller: &Caller, text: &Utf8Bytes) -> Result<(), Problem> {
        let is_full = self.texts.len() >= MAX_WAITING || self.bytes + text.len() > MAX_WAITING_BYTES;
        if is_full && !self.texts.is_empty() {
            let detail = format!("{MAX_AT_ONCE} messages are in progress, and the queue of waiting ones is full");
            return Err(Problem::too_many(detail, 1));
        }
        let reserved = caller.memory_budget.take(text.len())?;
        self.bytes += text.len();
        self.texts.push_back((text.clone(), reserved));
        Ok(())
    }

    fn next(&mut self) -> Option<(Utf8Bytes, ReservedMemory)> {
        let next = self.texts.pop_front()?;
        self.bytes -= next.0.len();
        Some(next)
    }
}

/// Returns the `id` of a message that is not parsed otherwise, for the answer.
fn id_of(text: &str) -> Option<Box<RawValue>> {
    #[derive(Deserialize)]
    struct Named {
        id: Option<Box<RawValue>>,
    }
    let named: Named = serde_json::from_str(text).ok()?;
    named.id.filter(|id| id.get().len() <= MAX_ID)
}

/// Encodes an answer as text. A repeated answer may be a problem.
fn encode_answer(id: Option<&RawValue>, outcome: Result<Answer, Problem>) -> String {
    let (word, body) = match outcome {
        Ok(answer) if answer.status < 400 => ("ok", String::from_utf8_lossy(&answer.body).into_owned()),
        Ok(answer) => ("problem", String::from_utf8_lossy(&answer.body).into_owned()),
        Err(problem) => ("problem", serde_json::to_string(&problem).unwrap_or_default()),
    };
    let body = if body.is_empty() { "{}" } else { body.as_str() };
    format!(r#"{{"id":{},"{word}":{body}}}"#, id.map_or("null", RawValue::get))
}

enum Heard {
    Asked(tokio::sync::oneshot::Receiver<Result<Answer, Problem>>),
    Wish(StreamChange),
}

type Id = Option<Box<RawValue>>;

fn wish_of(change: &StreamChange) -> Result<Wish, Problem> {
    wish(change.rate, change.format.as_deref(), change.region)
}

/// Puts a message of the client into the inbox, in the order of arrival.
///
/// Memory for the parsed values is reserved as for the body of a request. It is returned for as long as the message
/// waits.
async fn dispatch_message(
    state: &ApiState,
    handle: &Arc<Handle>,
    caller: &Arc<Caller>,
    text: Utf8Bytes,
    reserved: ReservedMemory,
) -> Result<(Id, Heard, Option<ReservedMemory>), (Id, Problem)> {
    let (mut held, length) = (Some(reserved), text.len());
    if let Err(problem) = caller.take().and_then(|()| charge(&caller.memory_budget, &mut held, reading_bytes(length))) {
        return Err((id_of(text.as_str()), problem));
    }
    let (state, handle, own) = (state.clone(), handle.clone(), caller.clone());
    let read = move || {
        let (id, heard) = parse_message(&state, &handle, &own, text.as_str(), &mut held)?;
        Ok((id, heard, held))
    };
    read_aside(caller, length, read).await.unwrap_or_else(|problem| Err((None, problem)))
}

fn parse_message(
    state: &ApiState,
    handle: &Arc<Handle>,
    caller: &Caller,
    text: &str,
    held: &mut Option<ReservedMemory>,
) -> Result<(Id, Heard), (Id, Problem)> {
    let read = read_json::<Said>(text.as_bytes());
    let mut said = read.map_err(|problem| (id_of(text), problem))?;
    let id = said.id.take();
    if let Some(long) = id.as_ref().map(|id| id.get().len()).filter(|long| *long > MAX_ID) {
        let detail = format!("the id is {long} bytes long; at most {MAX_ID}");
        return Err((None, Problem::malformed(detail).at("id")));
    }
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
    let asked = ask(state, handle, caller, &said, text, held);
    match asked {
        Ok(receiver) => Ok((id, Heard::Asked(receiver))),
        Err(problem) => Err((id, problem)),
    }
}

fn ask(
    state: &ApiState,
    handle: &Arc<Handle>,
    caller: &Caller,
    said: &Said,
    text: &str,
    held: &mut Option<ReservedMemory>,
) -> Result<tokio::sync::oneshot::Receiver<Result<Answer, Problem>>, Problem> {
    let (op, deadline) = if let Some(step) = &said.step {
        let (op, deadline) = step.op(state).map_err(|problem| problem.within("step"))?;
        (op, Some(deadline))
    } else if let Some(play) = &said.play {
        (play.op(&state.config).map_err(|problem| problem.within("play"))?, None)
    } else if said.pause.is_some() {
        (Op::Pause, None)
    } else {
        // The same checks as over HTTP.
        let batch = format!(r#"{{"commands":{}}}"#, said.commands.as_deref().map_or("[]", RawValue::get));
        let commands = read_commands(batch.as_bytes(), &state.config.limits);
        // Line and column would refer to text that the client did not write.
        let commands = commands.map_err(|problem| Problem { line: None, column: None, ..problem })?;
        charge(&caller.memory_budget, held, command_bytes(commands.len()))?;
        (Op::Commands(commands), None)
    };
    let key = match &said.key {
        None => None,
        Some(key) if (1..=super::MAX_KEY).contains(&key.len()) => {
            let path = format!("/v1/worlds/{}/stream", handle.id);
            // The hash covers the whole message, which is the same in a retry.
            Some(make_key(key, &path, text.as_bytes()))
        }
        Some(_) => return Err(Problem::malformed("the key is empty or too long").at("key")),
    };
    let (reply, receiver) = tokio::sync::oneshot::channel();
    handle.put(SessionRequest::Write { op, key, deadline, reply }, state.config.limits.inbox)?;
    state.scheduler.poke(&handle.id);
    Ok(receiver)
}

type Sink = futures_util::stream::SplitSink<WebSocket, Message>;

/// Inputs of the writing task: from the world, and from the reading task.
struct Hears {
    frames: watch::Receiver<Option<Arc<StreamFrame>>>,
    answered: mpsc::Receiver<String>,
    wished: mpsc::Receiver<Wish>,
    /// True if the client has sent something recently.
    heard: Arc<AtomicBool>,
    caller: Arc<Caller>,
}

/// Memory reserved for the frames of a stream, and the number of bodies it suffices for.
#[derive(Default)]
struct FrameRoom {
    bodies: usize,
    reserved: Option<ReservedMemory>,
}

impl FrameRoom {
    /// Reserves memory for a large frame, and keeps it for later frames.
    fn grow(&mut self, caller: &Caller, bodies: usize) -> Result<(), Problem> {
        if bodies <= LARGE_FRAME || bodies <= self.bodies {
            return Ok(());
        }
        let more = caller.memory_budget.take_large((bodies - self.bodies).saturating_mul(FRAME_BYTES))?;
        match &mut self.reserved {
            Some(reserved) => reserved.merge(more),
            None => self.reserved = Some(more),
        }
        self.bodies = bodies;
        Ok(())
    }
}

/// Encodes a frame for a view, a large one on a thread that may block.
async fn encode(
    mut view: ClientView,
    frame: Arc<StreamFrame>,
    dropped: u32,
    time_slices: &Arc<Semaphore>,
) -> Option<(ClientView, Vec<u8>)> {
    if frame.len() <= LARGE_FRAME {
        let bytes = view.encode(&frame, dropped);
        return Some((view, bytes));
    }
    let time_slice = time_slices.clone().acquire_owned().await.ok()?;
    let encoded = tokio::task::spawn_blocking(move || {
        let bytes = view.encode(&frame, dropped);
        drop(time_slice);
        (view, bytes)
    });
    encoded.await.ok()
}

async fn stopped(stopping: &mut watch::Receiver<bool>) {
    // A dropped sender means that the service has stopped, too.
    let _ = stopping.wait_for(|stopping| *stopping).await;
}

/// Sends frames and answers until the client disconnects, the world is deleted, or the service stops.
async fn write(state: ApiState, mut open: StreamCount, mut sink: Sink, mut view: ClientView, mut hears: Hears) {
    let handle = open.0.clone();
    let mut stopping = state.stopping.subscribe();
    let mut pace = FrameDrops::new();
    let idle = Duration::from_secs_f64(state.config.limits.idle_seconds);
    let mut ping = tokio::time::interval_at(tokio::time::Instant::now() + idle, idle);
    ping.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut silent = 0;
    let mut memory_budget = FrameRoom::default();
    loop {
        let next = tokio::time::Instant::from_std(pace.next(view.wish().interval));
        let ready = async {
            // The newest frame once it is time: earlier ones are never sent. In this order, because a noticed change
            // would be lost if another branch of the select completed in between.
            tokio::time::sleep_until(next).await;
            hears.frames.changed().await
        };
        let farewell = |code, reason: &'static str| Message::Close(Some(CloseFrame { code, reason: reason.into() }));
        let (message, last) = tokio::select! {
            answer = hears.answered.recv() => match answer {
                Some(answer) => (Message::Text(answer.into()), false),
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
            () = hears.caller.ended() => (farewell(close_code::POLICY, "the token is no longer valid"), true),
            () = handle.gone() => (farewell(close_code::NORMAL, "the world was deleted"), true),
            _ = ping.tick() => {
                // A client that reads frames is alive; others must answer pings.
                silent = if hears.heard.swap(false, Ordering::Relaxed) { 0 } else { silent + 1 };
                if silent > MAX_SILENT {
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
                if memory_budget.grow(&hears.caller, frame.len()).is_err() {
                    let last = farewell(close_code::AGAIN, "no memory for this stream at the moment");
                    let _ = tokio::time::timeout(idle, sink.send(last)).await;
                    return;
                }
                let begun = Instant::now();
                let encoded = encode(view, frame, pace.dropped, &hears.caller.encoding).await;
                let Some((next, bytes)) = encoded else { return };
                view = next;
                // A client that does not read a frame within this time is disconnected.
                let sent = tokio::time::timeout(idle, sink.send(Message::Binary(bytes.into()))).await;
                if !matches!(sent, Ok(Ok(()))) {
                    return;
                }
                silent = 0;
                pace.sent(begun, view.wish().interval);
                continue;
            }
        };
        if !matches!(tokio::time::timeout(idle, sink.send(message)).await, Ok(Ok(()))) || last {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hosted::Hosted;
    use drystone::World;
    use drystone::low_level::CpuWorld;
    use drystone_scenes::catalogue;

    fn frame(scene: &str) -> Arc<StreamFrame> {
        let world: World = CpuWorld::new(&catalogue::build(scene).unwrap()).unwrap().into();
        Arc::new(StreamFrame::take(&mut Hosted::Own(world)).unwrap())
    }

    /// While a large frame is encoded the thread serves other tasks; a small frame is encoded in place.
    #[test]
    fn large_frames_keep_nobody_waiting() {
        let wish = wish(None, None, None).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        for (scene, is_large) in [("large_pyramid:base=60", true), ("large_pyramid:base=3", false)] {
            let frame = frame(scene);
            assert_eq!(frame.len() > LARGE_FRAME, is_large);
            let inline = ClientView::new(wish).encode(&frame, 3);
            runtime.block_on(async {
                // A large frame waits for its slot, which only the other task provides: without that it would wait
                // forever.
                let time_slices = Arc::new(Semaphore::new(0));
                let giver = time_slices.clone();
                let other = tokio::spawn(async move { giver.add_permits(1) });
                let (_, bytes) = encode(ClientView::new(wish), frame, 3, &time_slices).await.unwrap();
                assert_eq!(other.is_finished(), is_large, "{scene}");
                assert_eq!(bytes, inline);
            });
        }
    }

    #[test]
    fn answers_name_the_message() {
        let id = id_of(r#"{"id": {"a": [1.50]}, "step": 7}"#);
        let refused = encode_answer(id.as_deref(), Err(Problem::too_many("x", 1)));
        let refused: serde_json::Value = serde_json::from_str(&refused).unwrap();
        assert_eq!((&refused["id"]["a"][0], &refused["problem"]["status"]), (&1.5.into(), &429.into()));
        assert_eq!(encode_answer(None, Ok(Answer::json(&Nothing {}))), r#"{"id":null,"ok":{}}"#);
        let before = Answer { status: 409, body: br#"{"status":409}"#.to_vec(), ..Answer::json(&()) };
        assert_eq!(encode_answer(None, Ok(before)), r#"{"id":null,"problem":{"status":409}}"#);
        for none in ["{", "[]", "{}", &format!(r#"{{"id":"{}"}}"#, "x".repeat(300))] {
            assert!(id_of(none).is_none(), "{none}");
        }
    }
}
