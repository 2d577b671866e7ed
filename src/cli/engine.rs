//! Stand-in for the solver until it lands: same names and signatures as `drystone::{World, Snapshot, state}`, but
//! bodies only fall.

use drystone::Scene;
use drystone::scene::{Compiled, SceneError};
use drystone::types::{BodyState, Contact, Counters, Pose};
use serde::Serialize;

use super::movie::Image;

#[derive(Clone)]
pub struct Snapshot {
    pub step: u64,
    pub poses: Vec<Pose>,
    pub states: Vec<BodyState>,
    pub contacts: Vec<Contact>,
    pub counters: Counters,
}

pub struct World {
    compiled: Compiled,
    snapshot: Snapshot,
}

impl World {
    pub fn cpu(scene: &Scene, _threads: usize) -> Result<Self, SceneError> {
        let compiled = Compiled::new(scene)?;
        let snapshot = Snapshot {
            step: 0,
            poses: compiled.poses.clone(),
            states: compiled.states.clone(),
            contacts: Vec::new(),
            counters: Counters::default(),
        };
        Ok(Self { compiled, snapshot })
    }
    pub fn compiled(&self) -> &Compiled {
        &self.compiled
    }
    pub fn step(&mut self) -> Result<(), SceneError> {
        let dt = self.compiled.params.dt;
        for (pose, state) in self.snapshot.poses.iter_mut().zip(&mut self.snapshot.states) {
            state.velocity[1] -= 9.81 * dt;
            pose.position[1] += state.velocity[1] * dt;
        }
        self.snapshot.step += 1;
        Ok(())
    }
    pub fn wait(&mut self) -> Result<(), SceneError> {
        Ok(())
    }
    pub fn snapshot(&mut self) -> Result<Snapshot, SceneError> {
        Ok(self.snapshot.clone())
    }
    pub fn stage_times(&self) -> Vec<(&'static str, f64)> {
        vec![("bound", 0.0)]
    }
    pub fn dispatches_per_step(&self) -> Option<u32> {
        None
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReportedBody {
    pub id: Option<String>,
    pub position: [f32; 2],
    pub angle: f32,
    pub velocity: [f32; 2],
    pub angular_velocity: f32,
}

#[derive(Clone, Debug, Default, Serialize)]
pub struct Metrics {
    pub max_penetration: f64,
    pub mean_penetration: f64,
    pub kinetic_energy: f64,
    pub potential_energy: f64,
    pub momentum: [f64; 2],
    pub angular_momentum: f64,
    pub max_speed: f64,
    pub ground_impulse_ratio: f64,
    pub complementarity: f64,
    pub cone_violation: f64,
}

pub fn body_states(compiled: &Compiled, snapshot: &Snapshot) -> Vec<ReportedBody> {
    let bodies = compiled.ids.iter().zip(snapshot.poses.iter().zip(&snapshot.states));
    bodies
        .map(|(id, (pose, state))| ReportedBody {
            id: id.clone(),
            position: pose.position,
            angle: pose.rotation[1].atan2(pose.rotation[0]),
            velocity: state.velocity,
            angular_velocity: state.angular_velocity,
        })
        .collect()
}

pub fn metrics(_: &Compiled, _: &Snapshot) -> Metrics {
    Metrics::default()
}

pub fn hash(snapshot: &Snapshot) -> u64 {
    snapshot.poses.iter().fold(0, |h, p| h * 31 + u64::from(p.position[1].to_bits()))
}

pub struct Camera;
pub fn fit(_: &Compiled) -> Camera {
    Camera
}
pub fn draw(_: &Compiled, _: &Snapshot, _: &Camera, width: u32, height: u32) -> Image {
    Image { width, height, pixels: vec![255; (width * height * 4) as usize] }
}
pub fn load(_name: &str) -> Scene {
    let mut scene = Scene::new("fake");
    scene.add(drystone::Body::dynamic(0.0, 10.0).shape(drystone::Shape::circle(0.5)));
    scene
}
