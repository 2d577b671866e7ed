//! Tests of the solver in one executable: the library and its dependencies are linked only once.
//!
//! `allocations.rs` is separate, since it installs a counting allocator.

#[macro_use]
mod common;
mod support;

mod body_view;
mod capacity;
mod chains;
mod coloring;
mod commands;
mod contact_hook;
mod contact_rules;
mod contact_springs;
mod continuous;
mod debug_drawing;
mod determinism;
mod emitters;
mod events;
mod explosion;
mod far;
mod front_door;
mod fused;
mod geometry;
mod hubs;
#[cfg(target_os = "linux")]
mod isa;
mod island_batches;
mod issue_002_fixed_rotation;
mod issue_002_snapshot_impulses;
mod joints;
mod journal;
mod layout;
mod material_pairs;
mod math;
mod mixing;
mod movers;
mod names;
mod physics;
mod pipelines;
mod population;
mod porting;
mod properties;
mod queries;
mod search;
mod serial_depth;
mod set_shapes;
mod setters;
mod shapes;
mod shortcuts;
mod sleep;
mod snapshots_as_bytes;
mod timeline;
mod twins;
mod wind;
mod words;
mod worker_team;
mod worlds;
mod worlds_learning;
mod worlds_population;
mod worlds_slots;
mod worlds_some;
