//! Metrics: their names and descriptions, and initial zeros for counters.
//!
//! A counter that first appears with the value 1 hides that 1 from `increase()`: Prometheus sees no earlier value.
//! Alert rules on rare failures (deploy/alerts.yaml) need all counters from the start.

use metrics::{counter, describe_counter, describe_gauge, describe_histogram};

/// Counters without labels.
const COUNTERS: [(&str, &str); 21] = [
    ("drystone_checkpoint_failures_total", "Checkpoints that could not be written; the log goes on"),
    ("drystone_checkpoints_damaged_total", "Checkpoints found damaged when a world was opened"),
    ("drystone_checkpoints_total", "Checkpoints written"),
    ("drystone_connections_refused_total", "Connections beyond limits.connections"),
    ("drystone_connections_stuck_total", "Connections closed because their client did not read the answer"),
    ("drystone_devices_lost_total", "Device losses"),
    ("drystone_dispatches_total", "Compute dispatches submitted to the device"),
    ("drystone_frames_dropped_total", "Frames skipped for slow streams"),
    ("drystone_frames_total", "Frames created for streams"),
    ("drystone_inbox_full_total", "Requests refused because limits.inbox requests already waited for the world"),
    ("drystone_log_appends_total", "Changes written to logs and synced"),
    ("drystone_log_failures_total", "Changes that could not be written or synced, and were refused"),
    ("drystone_memory_full_total", "Requests refused because limits.memory_bytes were in use"),
    (
        "drystone_replays_of_other_builds_total",
        "Worlds that replayed a log of another build, with possibly different bits",
    ),
    ("drystone_steps_given_up_total", "Steps cancelled midway"),
    ("drystone_steps_total", "Steps of all worlds"),
    ("drystone_strangers_evicted_total", "Connections without a token that were closed in favour of newer ones"),
    ("drystone_strangers_late_total", "Connections closed because they showed no token in time"),
    ("drystone_worlds_put_to_disk_total", "Idle worlds that left memory"),
    ("drystone_writer_panics_total", "Bugs in threads that write checkpoints"),
    ("drystone_wrong_tokens_total", "Requests with a wrong token"),
];

/// Gauges.
const GAUGES: [(&str, &str); 11] = [
    ("drystone_connections", "Open connections, streams included"),
    ("drystone_owner_worlds", "Worlds per owner"),
    ("drystone_process_resident_bytes", "Memory of the process"),
    ("drystone_ready", "1 while /health/ready answers 200, else 0"),
    ("drystone_store_bytes", "Bytes in the store"),
    ("drystone_store_limit_bytes", "limits.store_bytes; 0 is no limit"),
    ("drystone_streams", "Open streams"),
    ("drystone_turn_longest_seconds", "Age in seconds of the oldest time slice in progress; 0 if there is none"),
    ("drystone_worlds", "Worlds"),
    ("drystone_worlds_failed", "Worlds in the state `failed`"),
    ("drystone_worlds_starting", "Worlds in the state `starting`"),
];

/// Histograms, and counters with labels: they appear with their first value.
const OTHERS: [(&str, &str); 5] = [
    ("drystone_batch_worlds", "Worlds per submission"),
    ("drystone_log_seconds", "Seconds to write and sync a batch of changes"),
    ("drystone_request_seconds", "Seconds to answer a request, by path"),
    ("drystone_series_worlds", "Worlds per series of dispatches"),
    ("drystone_turn_seconds", "Seconds of a time slice of one or more worlds"),
];

/// Describes the metrics and sets the counters to 0. Requires an installed recorder.
pub fn begin() {
    for (name, meaning) in COUNTERS {
        describe_counter!(name, meaning);
        counter!(name).absolute(0);
    }
    for (name, meaning) in GAUGES {
        describe_gauge!(name, meaning);
    }
    for (name, meaning) in OTHERS {
        describe_histogram!(name, meaning);
    }
    describe_counter!("drystone_requests_total", "Requests by method, path and status");
    describe_counter!("drystone_owner_compute_microseconds_total", "Microseconds of computing per owner");
    describe_counter!("drystone_token_requests_total", "Requests by token and class of status");
    describe_counter!("drystone_worlds_outgrown_total", "Worlds that grew too large for shared dispatches");
}
