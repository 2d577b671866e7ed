//! Limits of a service.

use serde::{Deserialize, Serialize};

/// Limits beyond which requests are refused. Bodies, joints and steps: 422; bytes: 413; the others: 429.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Bytes of a request.
    pub bytes: usize,
    /// Worlds at a time.
    pub worlds: usize,
    /// Bodies of a world, those that come while it runs included.
    pub bodies: usize,
    /// Joints of a world.
    pub joints: usize,
    /// Contacts of a world. A step that finds more is refused.
    pub contacts: usize,
    /// Work of a step of a world: bodies (or shapes, if these are more) and joints × substeps × iterations. A million is
    /// about a seventh of a second.
    pub step_work: u64,
    /// Bodies of all worlds, in memory or not. With several tokens an owner may have half of them, at least `bodies`.
    pub total_bodies: usize,
    /// Bodies of the worlds in memory. Idle ones are put to disk to make room. With several tokens an owner may have half
    /// of them, at least `bodies`.
    pub resident_bodies: usize,
    /// Seconds of a turn, in which a world does one step or several: beyond, the service is not ready.
    pub turn_seconds: f64,
    /// Steps of a request.
    pub steps: u64,
    /// Commands of a request.
    pub commands: usize,
    /// Queries of a request.
    pub queries: usize,
    /// Shapes that the queries of a request find together.
    pub found: usize,
    /// Seconds of computing for the queries of a request.
    pub query_seconds: f64,
    /// Shapes of a world.
    pub shapes: usize,
    /// Requests for steps that wait for a world. Together they may ask for four times `steps`.
    pub goals: usize,
    /// Bodies and joints that are added or removed by hand in the life of a world, as its checkpoints remember each.
    pub alterations: usize,
    /// Checkpoints with a name, of a world.
    pub checkpoints: usize,
    /// Requests that wait for a world.
    pub inbox: usize,
    /// Streams at a time.
    pub sockets: usize,
    /// Connections at a time, streams included. One more is told 503. With several tokens one may have half of them.
    pub connections: u32,
    /// Connections at a time that have not shown a token yet, up to half of `connections`. One more takes the place of
    /// the oldest; of the address that has the most, if that has more than an eighth.
    pub strangers: u32,
    /// Seconds within which a connection shows a token, or ends.
    pub stranger_seconds: f64,
    /// Seconds for which a connection may say nothing, not end the head of a request, or take nothing of an answer.
    pub idle_seconds: f64,
    /// Seconds that the body of a request may take to come.
    pub body_seconds: f64,
    /// Bodies of requests and answers that are on their way, together. Each token has a part of it
    /// ([`Token::memory_bytes`](super::Token::memory_bytes)), and besides 4 MiB for those up to 64 KiB, which large ones leave alone.
    pub memory_bytes: usize,
    /// Bytes a second that a client takes of an answer, at least, after the first `idle_seconds`.
    pub min_speed: u64,
    /// Requests a second, of a token; messages of streams count.
    pub rate: f64,
    /// Seconds for which a request for steps may wait.
    pub step_seconds: f64,
    /// Events that a world keeps.
    pub events: usize,
    /// Bytes of what is added and removed by hand in the life of a world, as its checkpoints remember it.
    pub journal_bytes: usize,
    /// Answers that are kept for requests with an `Idempotency-Key`, of a world.
    pub keys: usize,
    /// In the store; 0: as many as the disk holds.
    pub store_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            bytes: 64 << 20,
            worlds: 256,
            bodies: 1_000_000,
            joints: 1_000_000,
            contacts: 4_000_000,
            step_work: 50_000_000,
            total_bodies: 4_000_000,
            resident_bodies: 2_000_000,
            turn_seconds: 10.0,
            steps: 1_000_000,
            commands: 10_000,
            queries: 10_000,
            found: 1_000_000,
            query_seconds: 10.0,
            shapes: 4_000_000,
            goals: 32,
            alterations: 100_000,
            checkpoints: 16,
            inbox: 64,
            sockets: 256,
            connections: 1024,
            strangers: 512,
            stranger_seconds: 5.0,
            idle_seconds: 30.0,
            body_seconds: 120.0,
            memory_bytes: 1 << 30,
            min_speed: 32 << 10,
            rate: 1000.0,
            step_seconds: 600.0,
            events: 10_000,
            journal_bytes: 64 << 20,
            keys: 1_000_000,
            store_bytes: 0,
        }
    }
}
