//! Limits of the service on requests, worlds, connections and memory, with their defaults.

use serde::{Deserialize, Serialize};

/// Limits of the service. A request beyond them is refused: bodies, joints and steps with 422, bytes with 413, the
/// others with 429.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Bytes of a request.
    pub bytes: usize,
    /// Number of worlds.
    pub worlds: usize,
    /// Bodies of a world, including those that arrive while it runs.
    pub bodies: usize,
    /// Joints of a world.
    pub joints: usize,
    /// Contacts of a world. A step with more is refused.
    pub contacts: usize,
    /// Work of a step of a world: (bodies or shapes, whichever are more, plus joints) × substeps × iterations. A
    /// million takes about a seventh of a second.
    pub step_work: u64,
    /// Bodies of all worlds, in memory or not. With several tokens an owner may have half of them, at least
    /// `bodies`.
    pub total_bodies: usize,
    /// Bodies of the worlds in memory. Idle worlds are written to disk to make room. With several tokens an owner
    /// may have half of them, at least `bodies`.
    pub resident_bodies: usize,
    /// Seconds of a time slice, in which a world does one or more steps. While one takes longer, the service is not
    /// ready.
    pub turn_seconds: f64,
    /// Steps of a request.
    pub steps: u64,
    /// Commands of a request.
    pub commands: usize,
    /// Queries of a request.
    pub queries: usize,
    /// Shapes found by all queries of a request together.
    pub found: usize,
    /// Seconds of computing for the queries of a request.
    pub query_seconds: f64,
    /// Shapes of a world.
    pub shapes: usize,
    /// Waiting requests for steps of a world. Together they may ask for four times `steps`.
    pub goals: usize,
    /// Bodies and joints added or removed at run time over the life of a world, as its checkpoints record each of
    /// them.
    pub alterations: usize,
    /// Named checkpoints of a world.
    pub checkpoints: usize,
    /// Waiting requests of a world.
    pub inbox: usize,
    /// Number of streams.
    pub sockets: usize,
    /// Number of connections, including streams. One more gets 503. With several tokens each may have half of them.
    pub connections: u32,
    /// Number of connections that have not shown a token yet, up to half of `connections`. One more replaces the
    /// oldest, or the oldest of the address that has the most, if that address has more than an eighth of them.
    pub strangers: u32,
    /// Seconds within which a connection must show a token.
    pub stranger_seconds: f64,
    /// Seconds for which a connection may send nothing, leave the head of a request unfinished, or read nothing of
    /// an answer.
    pub idle_seconds: f64,
    /// Seconds for the arrival of a request's body.
    pub body_seconds: f64,
    /// Bytes of request and answer bodies in transit, together. Each token has a share
    /// ([`Token::memory_bytes`](super::Token::memory_bytes)), plus 4 MiB reserved for bodies up to 64 KiB.
    pub memory_bytes: usize,
    /// Minimum bytes per second at which a client must read an answer, after the first `idle_seconds`.
    pub min_speed: u64,
    /// Requests per second and token; messages of streams count.
    pub rate: f64,
    /// Seconds for which a request for steps may wait.
    pub step_seconds: f64,
    /// Events kept per world.
    pub events: usize,
    /// Bytes of the journal of bodies and joints added and removed at run time, over the life of a world.
    pub journal_bytes: usize,
    /// Answers kept per world for requests with an `Idempotency-Key`.
    pub keys: usize,
    /// Bytes in the store; 0: no limit but the disk.
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
