//! `drystone serve`, as a client sees it: the real binary, real files, real sockets.

#![allow(clippy::cast_possible_truncation, reason = "small numbers, chosen by dice")]
#![allow(clippy::result_large_err, reason = "as the crate for sockets has it")]
#![cfg(all(feature = "serve", unix))]

#[path = "service/batches.rs"]
mod batches;
#[path = "service/browser.rs"]
mod browser;
#[cfg(feature = "s3")]
#[path = "service/bucket.rs"]
mod bucket;
#[path = "service/client.rs"]
mod client;
#[path = "service/connections.rs"]
mod connections;
#[path = "service/crash.rs"]
mod crash;
#[path = "service/device.rs"]
mod device;
#[path = "service/faults.rs"]
mod faults;
#[path = "service/limits.rs"]
mod limits;
#[path = "service/page.rs"]
mod page;
#[path = "service/pools.rs"]
mod pools;
#[path = "service/requests.rs"]
mod requests;
#[cfg(feature = "s3")]
#[path = "service/s3.rs"]
mod s3;
#[path = "service/sockets.rs"]
mod sockets;
