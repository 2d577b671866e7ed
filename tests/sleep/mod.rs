//! Sleeping: when bodies fall asleep, together with which others, and what wakes them, on every backend.
//!
//! As in `tests/physics`: an oracle is a function of a backend, and comparisons have negative controls.

mod islands;
mod population;
mod replay;
mod waking;

use crate::common::Sim;
use drystone::low_level::types::{ASLEEP, DYNAMIC, Pose};
use drystone::{Body, Command, Scene, Shape, Snapshot};

/// Number of steps of rest before a body falls asleep.
const REST: usize = 30;

/// Returns an empty world with sleeping enabled and gravity along −y, m/s².
fn world(gravity: f32) -> Scene {
    let mut scene = Scene::new("sleep").gravity(0.0, -gravity);
    scene.settings.sleep = true;
    scene
}

/// Returns an empty world with sleeping enabled and a floor, body 0.
fn floor() -> Scene {
    let mut scene = world(10.0);
    scene.add(Body::fixed(0.0, -0.5).shape(Shape::half_box(50.0, 0.5)));
    scene
}

/// Returns a box of 1 m and 1 kg.
fn block(x: f32, y: f32) -> Body {
    Body::dynamic(x, y).shape(Shape::half_box(0.5, 0.5))
}

/// Adds a stack of boxes on the floor.
fn stack(scene: &mut Scene, x: f32, count: u8) {
    for index in 0..count {
        scene.add(block(x, 0.5 + f32::from(index)));
    }
}

/// Returns true for each body that sleeps.
fn sleepers(sim: &mut Sim) -> Vec<bool> {
    let snapshot = sim.snapshot();
    let bodies = sim.world().compiled().bodies.iter();
    bodies.zip(&snapshot.states).map(|(body, state)| body.kind == DYNAMIC && state.status & ASLEEP != 0).collect()
}

/// Returns the number of sleeping bodies in a range.
fn asleep(sim: &mut Sim, bodies: std::ops::Range<usize>) -> usize {
    sleepers(sim)[bodies].iter().filter(|&&sleeps| sleeps).count()
}

/// Runs until `count` bodies sleep.
fn settle(sim: &mut Sim, count: usize, most: usize) {
    for _ in 0..most {
        let all = sim.world().compiled().bodies.len();
        if asleep(sim, 0..all) >= count {
            return;
        }
        sim.advance(1);
    }
    panic!("after {most} steps only {:?} sleep, expected {count}", sleepers(sim));
}

fn poses(sim: &mut Sim) -> Vec<Pose> {
    sim.snapshot().poses
}

fn command(sim: &mut Sim, body: usize, command: Command) {
    sim.world().command(body, command).expect("a command");
}

/// Returns the momentum along x of the dynamic bodies, kg·m/s.
fn momentum(sim: &mut Sim) -> f64 {
    sim.metrics().momentum[0]
}

fn speed(snapshot: &Snapshot) -> f64 {
    snapshot.states.iter().map(|state| f64::from(state.velocity[0].hypot(state.velocity[1]))).fold(0.0, f64::max)
}
