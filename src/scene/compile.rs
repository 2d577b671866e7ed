//! From a [`Scene`] to the flat arrays that both backends start from.

mod body;
mod fingerprint;
mod grid;
mod mass;
mod params;
mod shape;

use glam::Vec2;

pub use mass::MassProperties;
pub(super) use mass::{mass_properties, never_turns};
use params::params;
pub(super) use params::soft;
pub(crate) use shape::Outline;

use super::emitter::Script;
use super::joint_table::Joints;
use super::{Scene, SceneError, Settings, ViewBox};
use crate::state::Fnv;
use crate::types::{self, BodyState, Params, Pose};

/// The flat arrays a world starts from. Bodies are in scene order; so are shapes, half planes first.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// As in the scene.
    pub name: String,
    /// As in the scene.
    pub settings: Settings,
    /// Constants of a step.
    pub params: Params,
    /// One a body.
    pub bodies: Vec<types::Body>,
    /// One a body, of its centre of mass.
    pub poses: Vec<Pose>,
    /// One a body.
    pub states: Vec<BodyState>,
    /// One a body.
    pub mass: Vec<MassProperties>,
    /// One a body.
    pub ids: Vec<Option<String>>,
    /// Shapes of all bodies.
    pub shapes: Vec<types::Shape>,
    /// One a shape: what sweeps fast bodies.
    pub movers: Vec<types::Mover>,
    /// Vertices of all polygons, about the centre of their shape, m.
    pub vertices: Vec<[f32; 2]>,
    /// Whether two shapes can bounce at all; if not, the restitution stage is left out.
    pub bounces: bool,
    /// Whether there are, or were, shapes beside circles and boxes with sharp corners.
    pub hulls: bool,
    /// Joints.
    pub joints: Joints,
    /// Bodies that are led along paths.
    pub paths: Vec<Led>,
    /// Part of the plane that pictures show, as in the scene.
    pub view: Option<ViewBox>,
    /// Slots of the bodies that the scene and its emitters bring: colours run over so many, whatever comes later.
    pub scene_slots: u32,
    /// What comes and goes.
    pub(crate) script: Script,
}

/// A body that is led along a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Led {
    /// Index.
    pub body: u32,
    /// About which it swings, m.
    pub position: Vec2,
    /// About which it turns, rad.
    pub angle: f32,
    /// How.
    pub path: super::Path,
}

impl Compiled {
    /// Whether bodies come and go by the scene's emitters.
    #[must_use]
    pub fn emits(&self) -> bool {
        !self.script.is_empty()
    }

    /// Sets gravity, m/s². Returns true if it differs from before, bit by bit: a journal that is gone through again sets
    /// −0 as well.
    pub(crate) fn change_gravity(&mut self, gravity: [f32; 2]) -> bool {
        let before = std::mem::replace(&mut self.params.gravity, gravity);
        before.map(f32::to_bits) != gravity.map(f32::to_bits)
    }

    /// Returns true if the scene's emitters bring joints.
    #[must_use]
    pub fn emits_joints(&self) -> bool {
        self.script.most.joints > 0
    }

    /// Moves the places at which the scene's emitters put dynamic bodies: each by what `away` returns for its number and
    /// its place, m.
    pub fn nudge_emitters(&mut self, away: impl Fn(u32, Vec2) -> Vec2) {
        self.script.nudge(away);
    }

    /// The same world with nothing that comes or goes any more.
    #[must_use]
    pub fn without_emitters(mut self) -> Self {
        self.script = Script::default();
        self
    }

    /// Checks the scene and lays it out.
    ///
    /// # Errors
    /// The first value that is out of range ([`Scene::check`]).
    pub fn new(scene: &Scene) -> Result<Self, SceneError> {
        scene.check()?;
        let mut compiled = Self {
            name: scene.name.clone(),
            settings: scene.settings,
            params: params(scene),
            bodies: Vec::with_capacity(scene.bodies.len()),
            poses: Vec::with_capacity(scene.bodies.len()),
            states: Vec::with_capacity(scene.bodies.len()),
            mass: Vec::with_capacity(scene.bodies.len()),
            ids: scene.bodies.iter().map(|b| b.id.clone()).collect(),
            shapes: Vec::new(),
            movers: Vec::new(),
            vertices: Vec::new(),
            bounces: false,
            hulls: false,
            joints: Joints::default(),
            paths: Vec::new(),
            view: scene.view,
            scene_slots: 0,
            script: Script::new(scene),
        };
        compiled.scene_slots = u32_from(compiled.most_slots().max(scene.bodies.len()));
        let mut shapes = Vec::with_capacity(scene.bodies.len());
        for (index, body) in (0_u32..).zip(&scene.bodies) {
            let mut laid = Self::lay_body(body, index);
            compiled.lead(body, index, 0, &mut laid.pose);
            compiled.bodies.push(laid.body);
            compiled.poses.push(laid.pose);
            compiled.states.push(laid.state);
            compiled.mass.push(laid.mass);
            for (mut shape, vertices) in laid.shapes {
                if !vertices.is_empty() {
                    shape.first_vertex = u32_from(compiled.vertices.len());
                    compiled.vertices.extend(vertices);
                }
                let half_plane = shape.kind & types::GEOMETRY_MASK == types::HALF_PLANE;
                if half_plane { &mut compiled.shapes } else { &mut shapes }.push(shape);
            }
        }
        compiled.params.half_plane_count = u32_from(compiled.shapes.len());
        compiled.shapes.append(&mut shapes);
        compiled.link_all();
        compiled.joints = Joints::new(scene, &compiled.mass);
        let heads = &compiled.joints.ties.heads;
        for shape in compiled.shapes.iter_mut().filter(|shape| heads[shape.body as usize][1] > 0) {
            shape.kind |= types::JOINED_SHAPE;
        }
        compiled.prepare_for_all();
        compiled.refresh_switches();
        if !compiled.script.is_empty() {
            let world = compiled.fingerprint();
            let script = Fnv(world).bytes(format!("{:?}", compiled.script.emitters).as_bytes());
            compiled.script.fingerprint = Some(script.0);
        }
        Ok(compiled)
    }

    /// Says of every body which shapes it has.
    fn link_all(&mut self) {
        let mut own = vec![Vec::new(); self.bodies.len()];
        for (place, shape) in (0_u32..).zip(&self.shapes) {
            own[shape.body as usize].push(place);
        }
        for places in own {
            self.link(&places);
        }
    }

    /// Says that these shapes, and no others, are those of one body.
    pub(crate) fn link(&mut self, places: &[u32]) {
        self.movers.resize(self.shapes.len(), types::Mover::default());
        for (index, &place) in places.iter().enumerate() {
            let next = places.get(index + 1).copied().unwrap_or(types::NONE);
            self.movers[place as usize] = types::Mover { next, ..types::Mover::default() };
        }
        if let Some(&first) = places.first() {
            let body = &self.bodies[self.shapes[first as usize].body as usize];
            let mover = &mut self.movers[first as usize];
            mover.extent = body.extent;
            if body.kind == types::DYNAMIC {
                mover.min_extent = body.min_extent;
            }
        }
    }
}


pub(super) fn u32_from(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

