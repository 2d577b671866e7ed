//! Tests of the window, on a display of their own (Xvfb) and with any adapter that draws there. A scripted user
//! (`--script`) drives it; reports and screenshots are checked.
//!
//! Screenshots are compared with `references/`; `DRYSTONE_NEW_REFERENCES=1` writes new ones.

#![cfg(all(feature = "view", target_os = "linux"))]

mod building;
mod camera_follow;
mod clarity;
mod files;
mod graphs;
mod hands;
mod joints;
mod kit;
mod large;
mod losses;
mod opening;
mod past;
mod pictures;
mod real_keys;
mod scenes;
mod slow;
mod small;
