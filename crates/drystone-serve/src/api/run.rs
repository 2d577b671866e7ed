//! Handlers that run a world: step, commands, play, pause.

use std::time::{Duration, Instant};

use axum::extract::State as FromState;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, OneOfBuilder, Schema, Type};

use super::ApiState;
use super::asked::{HandlerResult, Keyed, read_or_empty, write};
use super::content::command_bytes;
use super::guard::OwnWorld;
use crate::answers;
use crate::config::Config;
use crate::op::{CommandRecord, Op, read_commands};
use crate::problem::Problem;

/// Number of steps, and the time for them.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = Step)]
#[serde(deny_unknown_fields)]
pub struct StepRequest {
    /// Number of steps.
    #[serde(default = "one")]
    #[schema(minimum = 1)]
    pub steps: u64,
    /// Seconds the steps may take; afterwards the world stops where it is and says so. [default:
    /// limits.step_seconds]
    #[schema(exclusive_minimum = 0)]
    pub timeout: Option<f64>,
}

pub(super) fn one() -> u64 {
    1
}

/// Result of a request for steps.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Stepped)]
pub struct StepAnswer {
    /// Total number of steps of the world.
    step: u64,
    /// Simulated seconds of the world.
    time: f64,
    /// Number of steps done by this request.
    steps: u64,
    /// Reason for an early end.
    stopped: Option<String>,
}

impl StepRequest {
    /// Returns the operation and its deadline.
    pub fn op(&self, state: &ApiState) -> Result<(Op, Instant), Problem> {
        Ok((Op::Step { steps: self.steps }, check_steps(self.steps, self.timeout, state)?))
    }
}

/// Checks a number of steps and their time limit. Returns the deadline.
pub(super) fn check_steps(steps: u64, timeout: Option<f64>, state: &ApiState) -> Result<Instant, Problem> {
    let limits = &state.config.limits;
    if !(1..=limits.steps).contains(&steps) {
        let detail = format!("steps is {steps}; expected 1 to {}", limits.steps);
        return Err(Problem::limit(detail).at("steps"));
    }
    let most = limits.step_seconds;
    let seconds = timeout.unwrap_or(most);
    if !(seconds > 0.0 && seconds <= most) {
        let detail = format!("timeout is {seconds}; expected a number above 0, up to {most}");
        return Err(Problem::invalid(detail).at("timeout"));
    }
    Ok(Instant::now() + Duration::from_secs_f64(seconds))
}

/// Steps a world, and answers when the steps are done.
///
/// If the client disconnects without an `Idempotency-Key`, the steps are cancelled; with a key they are completed.
#[utoipa::path(post, path = "/v1/worlds/{id}/step", tag = "run", request_body = Option<StepRequest>,
    params(("id" = String, Path), ("Idempotency-Key" = Option<String>, Header, description = "Makes retries safe: the request is executed once per key")),
    responses((status = 200, body = StepAnswer)))]
pub async fn step(FromState(state): FromState<ApiState>, OwnWorld(id): OwnWorld, asked: Keyed) -> HandlerResult {
    let (key, step) = asked.read(read_or_empty::<StepRequest>).await?;
    let (op, deadline) = step.op(&state)?;
    write(&state, &id, op, key, Some(deadline)).await
}

/// Commands, executed in order.
#[derive(Debug, ToSchema)]
#[schema(as = Batch)]
#[allow(dead_code, reason = "for the API description only; the body is parsed as a list")]
pub struct CommandBatch {
    /// Commands, at least one.
    commands: Vec<CommandRecord>,
}

/// Results of commands.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Done)]
pub struct CommandResults {
    /// Number of steps done before the commands.
    step: u64,
    /// Results, one per command: `{}`, or ids of what it created.
    results: Vec<Value>,
}

/// Executes commands on bodies and joints before the next step.
///
/// The answer follows once the commands are durable. If one is refused, those before it stay executed; `applied` is
/// their number.
#[utoipa::path(post, path = "/v1/worlds/{id}/commands", tag = "run", request_body = CommandBatch,
    params(("id" = String, Path), ("Idempotency-Key" = Option<String>, Header, description = "Makes retries safe: the request is executed once per key")),
    responses((status = 200, body = CommandResults)))]
pub async fn commands(FromState(state): FromState<ApiState>, OwnWorld(id): OwnWorld, asked: Keyed) -> HandlerResult {
    let config = state.config.clone();
    let (key, commands, mut content) = asked.read_and_keep(move |body| read_commands(body, &config.limits)).await?;
    content.charge(command_bytes(commands.len()))?;
    // The memory stays reserved while the commands wait, even if the client disconnects.
    let done = tokio::spawn(async move {
        let answer = write(&state, &id, Op::Commands(commands), key, None).await;
        drop(content);
        answer
    });
    done.await.map_err(|_| Problem::internal("internal server error; see the log"))?
}

/// Play mode.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[schema(as = Play)]
#[serde(deny_unknown_fields)]
pub struct PlayRequest {
    /// Speed as a multiple of real time, 0.001 to 1000, or `"max"` for as fast as possible. [default: 1]
    #[serde(default)]
    #[schema(schema_with = speed_schema)]
    pub speed: Speed,
    /// Seconds without a stream or a request about the world after which it pauses, up to 1e9; 0: never. [default:
    /// pause_unwatched_seconds]
    #[schema(minimum = 0)]
    pub unwatched: Option<f64>,
}

/// Returns the schema of a speed: a number or a word.
fn speed_schema() -> RefOr<Schema> {
    let times = ObjectBuilder::new().schema_type(Type::Number).minimum(Some(0.001)).maximum(Some(1000.0));
    let word = ObjectBuilder::new().schema_type(Type::String).enum_values(Some(["max"]));
    OneOfBuilder::new().item(times).item(word).into()
}

/// Speed of play.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(untagged)]
pub enum Speed {
    /// Multiple of real time.
    Times(f64),
    /// Unlimited speed: as fast as possible.
    Word(Most),
}

/// The word `"max"`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Most {
    /// Unlimited speed: as fast as possible.
    Max,
}

impl Default for Speed {
    fn default() -> Self {
        Self::Times(1.0)
    }
}

impl PlayRequest {
    /// Returns the operation.
    pub fn op(&self, config: &Config) -> Result<Op, Problem> {
        let speed = match self.speed {
            Speed::Word(Most::Max) => None,
            Speed::Times(speed) if (0.001..=1000.0).contains(&speed) => Some(speed),
            Speed::Times(speed) => {
                let problem = Problem::invalid(format!("speed is {speed}")).at("speed");
                return Err(problem.expected("a number from 0.001 to 1000, or \"max\""));
            }
        };
        let seconds = self.unwatched.unwrap_or(config.pause_unwatched_seconds);
        if !(0.0..=1e9).contains(&seconds) {
            let problem = Problem::invalid(format!("unwatched is {seconds}")).at("unwatched");
            return Err(problem.expected("a number from 0 to 1e9"));
        }
        Ok(Op::Play { speed, unwatched: (seconds > 0.0).then_some(seconds) })
    }
}

/// Lets a world step by itself.
#[utoipa::path(post, path = "/v1/worlds/{id}/play", tag = "run", request_body = Option<PlayRequest>,
    params(("id" = String, Path), ("Idempotency-Key" = Option<String>, Header, description = "Makes retries safe: the request is executed once per key")),
    responses((status = 200, body = answers::Played)))]
pub async fn play(FromState(state): FromState<ApiState>, OwnWorld(id): OwnWorld, asked: Keyed) -> HandlerResult {
    let config = state.config.clone();
    let (key, op) = asked.read(move |body| read_or_empty::<PlayRequest>(body)?.op(&config)).await?;
    write(&state, &id, op, key, None).await
}

/// Pauses a world, and ends unfinished requests for steps.
#[utoipa::path(post, path = "/v1/worlds/{id}/pause", tag = "run",
    params(("id" = String, Path), ("Idempotency-Key" = Option<String>, Header, description = "Makes retries safe: the request is executed once per key")),
    responses((status = 200, body = answers::Played)))]
pub async fn pause(FromState(state): FromState<ApiState>, OwnWorld(id): OwnWorld, asked: Keyed) -> HandlerResult {
    let (key, Nothing {}) = asked.read(read_or_empty).await?;
    write(&state, &id, Op::Pause, key, None).await
}

/// Empty body.
#[derive(Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}
