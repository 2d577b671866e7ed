//! Tests of `drystone serve` from a client's side, with the real binary, files and sockets.

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
mod build_paths;
#[path = "service/client.rs"]
mod client;
#[path = "service/connections.rs"]
mod connections;
#[path = "service/costs.rs"]
mod costs;
#[path = "service/crash.rs"]
mod crash;
#[path = "service/device.rs"]
mod device;
#[path = "service/faults.rs"]
mod faults;
#[path = "service/gravity.rs"]
mod gravity;
#[path = "service/hibernate.rs"]
mod hibernate;
#[path = "service/hostile.rs"]
mod hostile;
#[path = "service/keys.rs"]
mod keys;
#[path = "service/limits.rs"]
mod limits;
#[path = "service/messages.rs"]
mod messages;
#[path = "service/page.rs"]
mod page;
#[path = "service/page_build.rs"]
mod page_build;
#[path = "service/page_edit.rs"]
mod page_edit;
#[path = "service/page_files.rs"]
mod page_files;
#[path = "service/page_scenes.rs"]
mod page_scenes;
#[path = "service/page_time.rs"]
mod page_time;
#[path = "service/pools.rs"]
mod pools;
#[cfg(target_os = "linux")]
#[path = "service/power.rs"]
mod power;
#[path = "service/pushes.rs"]
mod pushes;
#[path = "service/replace.rs"]
mod replace;
#[path = "service/requests.rs"]
mod requests;
#[path = "service/rewind.rs"]
mod rewind;
#[path = "service/rules.rs"]
mod rules;
#[cfg(feature = "s3")]
#[path = "service/s3.rs"]
mod s3;
#[path = "service/series.rs"]
mod series;
#[path = "service/sockets.rs"]
mod sockets;
#[path = "service/strangers.rs"]
mod strangers;
#[path = "service/tokens.rs"]
mod tokens;
