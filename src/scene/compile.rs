//! [`Compiled`]: the tables of a world, made from a [`Scene`]. [`Compiled::new`] checks the scene and goes through
//! these steps: constants (`params.rs`), bodies and their masses (`body.rs`, `mass.rs`), shapes (`shape.rs`), joints,
//! the broadphase grid (`grid.rs`), and the fingerprint of all constant data (`fingerprint.rs`). Both backends start
//! from the result.

pub(super) mod body;
mod emitters;
mod fingerprint;
mod grid;
pub(super) mod mass;
pub(super) mod params;
pub(super) mod shape;

use glam::{DVec2, Vec2};

use body::BodyTraits;
use mass::MassProperties;
use params::params;

use super::emitter::EmitterScript;
use super::joint_table::JointTable;
use super::{ContactRule, NamedMaterial, Scene, SceneError, Settings, Units, ViewBox};
use crate::hash::Fnv;
use crate::types::{self, BodyState, Params, Pose, u32_from};

/// The tables of a world at its start, and the host's copy of them while bodies and joints are added and removed.
/// Bodies are in scene order; so are shapes, with half planes first.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// Name of the scene.
    pub name: String,
    /// Settings of the scene.
    pub settings: Settings,
    /// Units of length and time that the constants of the solver follow.
    pub units: Units,
    /// Constants of a step.
    pub params: Params,
    /// Materials with a name, as in the scene.
    pub materials: Vec<NamedMaterial>,
    /// Constant properties of the bodies.
    pub bodies: Vec<types::BodyData>,
    /// Poses of the bodies' centres of mass.
    pub poses: Vec<Pose>,
    /// Velocities and status of the bodies.
    pub states: Vec<BodyState>,
    /// Mass, inertia and centre of mass of the bodies.
    pub mass: Vec<MassProperties>,
    /// Properties of the bodies that no stage reads.
    pub(crate) traits: Vec<BodyTraits>,
    /// Names of the bodies.
    pub ids: Vec<Option<String>>,
    /// Shapes of all bodies.
    pub shapes: Vec<types::ShapeData>,
    /// Data for continuous collision, one row a shape.
    pub ccd_bodies: Vec<types::CcdBody>,
    /// Vertices of all polygons, about the centre of their shape, m.
    pub vertices: Vec<[f32; 2]>,
    /// True if two shapes can bounce; if not, the restitution stage is left out.
    pub bounces: bool,
    /// True if there are, or were, shapes other than circles and boxes with sharp corners.
    pub hulls: bool,
    /// Tables of the joints.
    pub joints: JointTable,
    /// Kinematic bodies on paths.
    pub paths: Vec<PathBody>,
    /// Part of the plane that pictures show, as in the scene.
    pub view: Option<ViewBox>,
    /// Rule about contacts, as in the scene.
    pub contact_rule: Option<ContactRule>,
    /// Slots of the bodies of the scene and its emitters. Colouring runs over this many, also if bodies are added by
    /// hand.
    pub scene_slots: u32,
    /// Emitters of the scene, the slots reserved for them, and its timeline.
    pub(crate) script: EmitterScript,
}

/// A kinematic body on a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathBody {
    /// Index of the body.
    pub body: u32,
    /// Position about which it moves, m.
    pub position: DVec2,
    /// Angle about which it turns, rad.
    pub angle: f32,
    /// The path.
    pub path: super::Path,
}

impl Compiled {
    /// Returns the number of the user's of the body in a slot ([`Body::user_data`](super::Body::user_data)); 0 if there
    /// is none.
    #[must_use]
    pub fn user_data(&self, slot: usize) -> u64 {
        self.traits.get(slot).map_or(0, |traits| traits.user_data)
    }

    /// Returns true if the scene has emitters.
    #[must_use]
    pub fn emits(&self) -> bool {
        !self.script.emitters.is_empty()
    }

    /// Returns true if the scene has timed commands.
    #[must_use]
    pub fn has_timeline(&self) -> bool {
        !self.script.timeline.is_empty()
    }

    /// Sets gravity, m/s². Returns true if it differs from before, bit by bit: a replayed journal sets −0 as well.
    pub(crate) fn change_gravity(&mut self, gravity: [f32; 2]) -> bool {
        let before = std::mem::replace(&mut self.params.gravity, gravity);
        before.map(f32::to_bits) != gravity.map(f32::to_bits)
    }

    /// Returns true if the scene's emitters make joints.
    #[must_use]
    pub fn emits_joints(&self) -> bool {
        self.script.most.joints > 0
    }

    /// Moves the positions at which emitters make dynamic bodies by what `away` returns for the index and the position,
    /// m.
    pub fn nudge_emitters(&mut self, away: impl Fn(u32, Vec2) -> Vec2) {
        self.script.nudge(away);
    }

    /// Returns the world without its emitters and timeline.
    #[must_use]
    pub fn without_emitters(mut self) -> Self {
        self.script = EmitterScript::default();
        self
    }

    /// Checks the scene and makes its tables.
    ///
    /// # Errors
    /// The first value that is out of range ([`Scene::check`]).
    pub fn new(scene: &Scene) -> Result<Self, SceneError> {
        scene.check()?;
        let units = Units::of(scene);
        let mut compiled = Self {
            name: scene.name.clone(),
            settings: scene.settings,
            units,
            params: params(scene, &units),
            materials: scene.materials.clone(),
            bodies: Vec::with_capacity(scene.bodies.len()),
            poses: Vec::with_capacity(scene.bodies.len()),
            states: Vec::with_capacity(scene.bodies.len()),
            mass: Vec::with_capacity(scene.bodies.len()),
            traits: Vec::with_capacity(scene.bodies.len()),
            ids: scene.bodies.iter().map(|b| b.id.clone()).collect(),
            shapes: Vec::new(),
            ccd_bodies: Vec::new(),
            vertices: Vec::new(),
            bounces: false,
            hulls: false,
            joints: JointTable::default(),
            paths: Vec::new(),
            view: scene.view,
            contact_rule: scene.contact_rule.clone(),
            scene_slots: 0,
            script: EmitterScript::new(scene),
        };
        compiled.scene_slots = u32_from(compiled.most_slots().max(scene.bodies.len()));
        let mut shapes = Vec::with_capacity(scene.bodies.len());
        for (index, body) in (0_u32..).zip(&scene.bodies) {
            let mut laid = Self::compile_body(body, index);
            compiled.add_path(body, index, 0, &mut laid.pose);
            compiled.bodies.push(laid.body);
            compiled.poses.push(laid.pose);
            compiled.states.push(laid.state);
            compiled.mass.push(laid.mass);
            compiled.traits.push(laid.traits);
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
        compiled.joints = JointTable::new(scene, &units, &compiled.mass);
        let heads = &compiled.joints.exclusions.heads;
        for shape in compiled.shapes.iter_mut().filter(|shape| heads[shape.body as usize][1] > 0) {
            shape.kind |= types::JOINED_SHAPE;
        }
        compiled.prepare_for_all();
        compiled.refresh_switches();
        if !compiled.script.is_empty() {
            let world = compiled.fingerprint();
            // Without low parts the text is that of earlier releases.
            let text = format!("{:?}", compiled.script.emitters).replace("position_low: Vec2(0.0, 0.0), ", "");
            let mut script = Fnv(world).bytes(text.as_bytes());
            if compiled.has_timeline() {
                script = script.bytes(compiled.script.timeline.description().as_bytes());
            }
            compiled.script.fingerprint = Some(script.0);
        }
        Ok(compiled)
    }

    /// Links the shapes of every body.
    fn link_all(&mut self) {
        let mut own = vec![Vec::new(); self.bodies.len()];
        for (place, shape) in (0_u32..).zip(&self.shapes) {
            own[shape.body as usize].push(place);
        }
        for places in own {
            self.link(&places);
        }
    }

    /// Links these shapes as all those of one body, in the rows for continuous collision.
    pub(crate) fn link(&mut self, places: &[u32]) {
        self.ccd_bodies.resize(self.shapes.len(), types::CcdBody::default());
        for (index, &place) in places.iter().enumerate() {
            let next = places.get(index + 1).copied().unwrap_or(types::NONE);
            self.ccd_bodies[place as usize] = types::CcdBody { next, ..types::CcdBody::default() };
        }
        if let Some(&first) = places.first() {
            let body = &self.bodies[self.shapes[first as usize].body as usize];
            let ccd_body = &mut self.ccd_bodies[first as usize];
            ccd_body.extent = body.extent;
            if body.kind == types::DYNAMIC {
                ccd_body.min_extent = body.min_extent;
            }
        }
    }
}
