//! `drystone serve`, as a client sees it: the real binary, real files, real sockets.

#![allow(clippy::cast_possible_truncation, reason = "small numbers, chosen by dice")]
#![allow(clippy::result_large_err, reason = "as the crate for sockets has it")]
#![cfg(all(feature = "serve", unix))]

#[path = "service/client.rs"]
mod client;
#[path = "service/crash.rs"]
mod crash;
#[path = "service/faults.rs"]
mod faults;
#[path = "service/requests.rs"]
mod requests;
#[path = "service/sockets.rs"]
mod sockets;
