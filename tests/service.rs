//! `drystone serve`, as a client sees it: the real binary, real files, real sockets.
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
