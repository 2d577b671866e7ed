//! The window itself, on a display of its own (Xvfb) and with whatever adapter draws there: a user made of text drives
//! it (`--script`), and what it shows and says is looked at.
//!
//! Screenshots are compared with `references/`; `DRYSTONE_NEW_REFERENCES=1` writes them anew.

#![cfg(all(feature = "view", target_os = "linux"))]

mod building;
mod clarity;
mod files;
mod graphs;
mod hands;
mod kit;
mod losses;
mod opening;
mod past;
mod pictures;
mod real_keys;
mod scenes;
mod sight;
mod slow;
mod small;
