//! Bodies and joints that are added to and removed from a running world: their ids, slots and generations.
//!
//! A body has a slot: the index of its rows in the tables. A vacated slot is reused, the lowest first, once a step has
//! run without it. Each time its generation is raised, so that a [`BodyId`] kept from before never means the new body.
//! Joints are the same, except that their index is free at once, as no contact is matched by it; the joints of a
//! removed body are removed with it. A length or reference angle that a new [`Joint`] does not give is measured when
//! the next step begins. All of this happens on the host and is the same for both backends. The scene's emitters
//! ([`Emitter`](crate::Emitter)) add and remove in the same way.

mod emission;
mod joints;
mod journal;
mod owners;
mod property;
mod shapes;
mod timeline;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt;

use emission::Emitted;
pub use journal::{Alteration, Journal};
use owners::Owners;
pub(crate) use owners::{body_in_step, body_of_slot, living, owner, owner_of_shape};
pub(crate) use property::PropertyEffects;
pub(crate) use shapes::{ShapeEffects, shifted};
pub(crate) use timeline::TimelineEffects;

use crate::hash::Fnv;
use crate::scene::{
    Body, Compiled, Geometry, Joint, JointChange, MAX_BODIES, MAX_SHAPES, MassProperties, Scene, SceneError,
    check_materials_of,
};
use crate::types::{
    self, DYNAMIC, GEOMETRY_MASK, JOINT_VACANT, MAX_LATE_PLANES, MAX_VERTICES, ShapeData, VACANT, WORLD_A,
};

/// Id of a body: its slot, and a generation that tells it from later bodies in that slot.
///
/// ```
/// use drystone::{Body, Scene, Shape, World};
///
/// let mut world = World::new(&Scene::new("empty"))?;
/// let ball = Body::dynamic(0.0, 4.0).shape(Shape::circle(0.5));
/// let old = world.add_bodies(&[ball.clone()])?[0];
/// world.step()?;
/// world.remove_bodies(&[old])?;
/// world.step()?;
/// let new = world.add_bodies(&[ball])?[0];
/// // The new body has the old slot, and the old id is no longer valid.
/// assert_eq!((new.index, new.generation), (old.index, old.generation + 1));
/// assert!(world.contains(new) && !world.contains(old));
/// # Ok::<(), drystone::WorldError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BodyId {
    /// Slot: the index of its pose, its state and in reports.
    pub index: u32,
    /// Number of bodies that had the slot before.
    pub generation: u32,
}

impl fmt::Display for BodyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.index, self.generation)
    }
}

impl From<usize> for BodyId {
    /// Returns the id of the body with an index in the scene: the first one in its slot. It never means a later body in
    /// the slot.
    fn from(index: usize) -> Self {
        Self { index: u32::try_from(index).unwrap_or(u32::MAX), generation: 0 }
    }
}

/// Id of a joint: its index, and a generation that tells it from later joints with that index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct JointId {
    /// Index of the joint, used in reports. Joints of the scene have their index there.
    pub index: u32,
    /// Number of joints that had the index before.
    pub generation: u32,
}

impl fmt::Display for JointId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.index, self.generation)
    }
}

/// Returns the slot of a joint in the tables.
#[must_use]
pub fn joint_place(compiled: &Compiled, id: JointId) -> Option<usize> {
    let place = compiled.joints.place(id.index)?;
    (joint_id(compiled, id.index as usize)? == id).then_some(place)
}

/// Returns the id of the joint with an index.
pub(crate) fn joint_id(compiled: &Compiled, index: usize) -> Option<JointId> {
    let place = compiled.joints.place(u32::try_from(index).ok()?)?;
    let joint = &compiled.joints.joints[place];
    (joint.flags & JOINT_VACANT == 0).then_some(JointId { index: joint.id, generation: joint.generation })
}

/// Returns the bodies of a joint.
pub(crate) fn ends(joint: &types::JointData) -> impl Iterator<Item = u32> {
    let a = (joint.flags & WORLD_A == 0).then_some(joint.body_a);
    a.into_iter().chain([joint.body_b])
}

/// Error of adding or removing bodies or joints. Nothing has changed.
#[derive(Debug, thiserror::Error)]
pub enum PopulationError {
    /// A value of a body or a joint is out of range.
    #[error(transparent)]
    Value(#[from] SceneError),
    /// The body does not exist or was removed.
    #[error("there is no body {0}")]
    Gone(BodyId),
    /// The body is given twice.
    #[error("body {0} is given twice")]
    Twice(BodyId),
    /// The joint does not exist or was removed.
    #[error("there is no joint {0}")]
    NoJoint(JointId),
    /// The joint is given twice.
    #[error("joint {0} is given twice")]
    JointTwice(JointId),
}

/// Rows of the tables that an addition or a removal changed, for the engine to copy.
#[derive(Clone, Debug, Default)]
pub(crate) struct PopulationChange {
    /// Slots of bodies, each once.
    pub bodies: BTreeSet<u32>,
    /// Slots of shapes, each once.
    pub shapes: BTreeSet<u32>,
    /// True if the grid was rebuilt, so that all shapes have other levels.
    pub grid: bool,
    /// Joints that were added or removed.
    pub joints: JointChange,
    /// True if bodies that are not dynamic, or shapes of theirs, went: sleeping islands may have rested on them.
    pub fixed: bool,
    /// Bodies of joints that were added or removed, and bodies whose properties changed.
    pub woken: BTreeSet<u32>,
    /// Slots of bodies whose constant properties changed; their poses and velocities stay.
    pub properties: BTreeSet<u32>,
    /// Slots of bodies that have another centre of mass, and so another pose and state; they keep their island.
    pub moved: BTreeSet<u32>,
}

impl PopulationChange {
    /// Returns the change of all rows.
    pub(crate) fn all(compiled: &Compiled) -> Self {
        #[allow(clippy::cast_possible_truncation, reason = "what is in tables is counted in u32")]
        let upto = |count: usize| (0..count as u32).collect::<BTreeSet<u32>>();
        let joints = &compiled.joints;
        Self {
            bodies: upto(compiled.bodies.len()),
            shapes: upto(compiled.shapes.len()),
            grid: true,
            joints: JointChange {
                places: upto(joints.joints.len()),
                rows: upto(joints.rows.len()),
                order: BTreeSet::new(),
                relaid: true,
                heads: upto(joints.exclusions.heads.len()),
                links: upto(joints.exclusions.links.len()),
                anchors: BTreeSet::new(),
            },
            fixed: false,
            woken: BTreeSet::new(),
            properties: BTreeSet::new(),
            moved: BTreeSet::new(),
        }
    }
}

/// Descriptions with which bodies and joints were added, by slot and by id.
#[derive(Clone, Debug, Default)]
pub struct Models {
    /// Bodies by slot; a vacant slot keeps its last body.
    pub bodies: Vec<Option<Body>>,
    /// All joints that were ever added, with the slots of their bodies; true if by hand.
    pub joints: Vec<(JointId, Joint, bool)>,
}

/// Slots of a world: generations, shapes, free slots, and the state of its emitters.
#[derive(Clone, Debug)]
pub struct Population {
    generations: Vec<u32>,
    /// Shapes of each body.
    shapes: Vec<Vec<u32>>,
    free_bodies: BTreeSet<u32>,
    free_shapes: BTreeSet<u32>,
    /// Vacant slots of shapes that still belong to a body, by the slot of the body, each with the number of steps done
    /// when it was vacated.
    spare_shapes: BTreeMap<u32, Vec<(u64, u32)>>,
    /// First vertices of free runs of vertices, by their length.
    free_vertices: [Vec<u32>; MAX_VERTICES as usize + 1],
    /// Slots vacated since the last step: contacts of that step still refer to them.
    vacated: Vec<u32>,
    /// Number of shapes for which the grid was built.
    laid_for: usize,
    /// Hash of all additions and removals so far.
    history: Fnv,
    /// State of each emitter of the scene.
    emitted: Vec<Emitted>,
    /// Step before which an emitter or the timeline acts next.
    pub(crate) next: u64,
    /// Steps before which the commands of the timeline begin to act; `u64::MAX` for those that wait for a condition.
    starts: Vec<u64>,
    /// Number of steps before which the timeline has acted.
    acted: u64,
    /// True if bodies or joints were added by hand.
    by_hand: bool,
    /// Descriptions of bodies and joints, kept only if the world is to be written as a scene.
    models: Option<Box<Models>>,
    owners: Owners,
}

/// A population and the scene laid out for it, as a snapshot carries them.
#[derive(Debug)]
pub(crate) struct SavedPopulation {
    pub compiled: Compiled,
    pub population: Population,
}

impl Population {
    /// Returns the population of a world as its scene made it.
    #[must_use]
    pub fn new(compiled: &Compiled) -> Self {
        let mut shapes = vec![Vec::new(); compiled.bodies.len()];
        for (index, shape) in (0_u32..).zip(&compiled.shapes) {
            shapes[shape.body as usize].push(index);
        }
        let mut population = Self {
            generations: vec![0; compiled.bodies.len()],
            shapes,
            free_bodies: BTreeSet::new(),
            free_shapes: BTreeSet::new(),
            spare_shapes: BTreeMap::new(),
            free_vertices: std::array::from_fn(|_| Vec::new()),
            vacated: Vec::new(),
            laid_for: compiled.shapes.len() + compiled.script.most.shapes,
            history: Fnv::START,
            emitted: vec![Emitted::default(); compiled.script.emitters.len()],
            next: 0,
            starts: compiled.script.timeline.first_starts(),
            acted: 0,
            by_hand: false,
            models: None,
            owners: Owners::default(),
        };
        population.next = population.next_emission(compiled);
        population
    }

    /// Returns the population of a world with emitters or a timeline, else `None`.
    pub(crate) fn of_script(compiled: &Compiled) -> Option<Self> {
        (!compiled.script.is_empty()).then(|| Self::new(compiled))
    }

    /// Keeps the descriptions of all bodies and joints from here on, including those of the scene.
    pub fn keep_models(&mut self, compiled: &Compiled, scene: &Scene) {
        let joints = (0..scene.joints.len()).filter_map(|index| joint_id(compiled, index)).zip(&scene.joints);
        self.models = Some(Box::new(Models {
            bodies: scene.bodies.iter().cloned().map(Some).collect(),
            joints: joints.map(|(id, joint)| (id, joint.clone(), false)).collect(),
        }));
    }

    /// Takes the descriptions, if they were kept.
    pub fn take_models(&mut self) -> Option<Box<Models>> {
        self.models.take()
    }

    /// Returns the id of the body in a slot.
    #[must_use]
    pub fn id(&self, compiled: &Compiled, index: usize) -> Option<BodyId> {
        let generation = *self.generations.get(index)?;
        #[allow(clippy::cast_possible_truncation, reason = "bodies are counted in u32")]
        let index_u32 = index as u32;
        (compiled.bodies[index].kind != VACANT).then_some(BodyId { index: index_u32, generation })
    }

    /// Returns the generation of a slot: the number of bodies that had it before its present one.
    pub(crate) fn generation(&self, slot: usize) -> u32 {
        self.generations[slot]
    }

    /// Returns a hash of all additions and removals so far.
    #[must_use]
    pub fn history(population: Option<&Self>) -> u64 {
        population.map_or(Fnv::START, |population| population.history).0
    }

    /// Returns the slots vacated since the last step; none without a population.
    pub(crate) fn vacated(population: Option<&Self>) -> &[u32] {
        population.map_or(&[], |population| &population.vacated)
    }

    /// Sets the slots that were vacated since the last step.
    pub(crate) fn restore(&mut self, compiled: &Compiled, vacated: &[u32]) {
        self.stepped();
        for &body in vacated {
            if self.free_bodies.remove(&body) {
                let own = |place: &u32| compiled.shapes[*place as usize].body == body;
                let shapes: Vec<u32> = self.free_shapes.iter().copied().filter(own).collect();
                self.free_shapes.retain(|place| !own(place));
                self.shapes[body as usize] = shapes;
                self.vacated.push(body);
            }
        }
    }

    /// Ends a step: the slots vacated before it are free.
    pub(crate) fn stepped(&mut self) {
        for body in self.vacated.drain(..) {
            self.free_bodies.insert(body);
            self.free_shapes.extend(std::mem::take(&mut self.shapes[body as usize]));
        }
    }

    /// Adds bodies, all or none. `steps` is the number of steps done, from the start of which paths count their time.
    pub(crate) fn add(
        &mut self,
        compiled: &mut Compiled,
        bodies: &[Body],
        steps: u64,
    ) -> Result<(Vec<BodyId>, PopulationChange), PopulationError> {
        check(compiled, bodies)?;
        self.by_hand = true;
        let mut change = PopulationChange::default();
        let ids = bodies.iter().map(|body| self.insert(compiled, body, steps, &mut change)).collect();
        self.finish_adding(compiled, &mut change);
        Ok((ids, change))
    }

    /// Updates grid, switches, joints and history for added bodies.
    fn finish_adding(&mut self, compiled: &mut Compiled, change: &mut PopulationChange) {
        let room = compiled.fit_levels(&change.shapes);
        // With many more shapes than the grid was built for, cells would hold many shapes each.
        if !room || compiled.shapes.len() > 4 * self.laid_for.max(64) {
            compiled.build_grid();
            self.laid_for = compiled.shapes.len();
            change.grid = true;
        }
        compiled.joints.resize_bodies(compiled.bodies.len(), &mut change.joints);
        compiled.refresh_switches();
    }

    fn insert(&mut self, compiled: &mut Compiled, body: &Body, steps: u64, change: &mut PopulationChange) -> BodyId {
        #[allow(clippy::cast_possible_truncation, reason = "bodies and shapes are counted in u32")]
        let index = self.free_bodies.pop_first().unwrap_or(compiled.bodies.len() as u32);
        let mut laid = Compiled::compile_body(body, index);
        compiled.add_path(body, index, steps, &mut laid.pose);
        let slot = index as usize;
        if slot == compiled.bodies.len() {
            compiled.bodies.push(laid.body);
            compiled.poses.push(laid.pose);
            compiled.states.push(laid.state);
            compiled.mass.push(laid.mass);
            compiled.traits.push(laid.traits);
            compiled.ids.push(body.id.clone());
            self.generations.push(0);
            self.shapes.push(Vec::new());
        } else {
            compiled.put_body(slot, &laid, body.id.as_deref());
            self.generations[slot] = self.generations[slot].wrapping_add(1);
            self.owners.reuse_body(steps, index);
        }
        let id = BodyId { index, generation: self.generations[slot] };
        if let Some(models) = &mut self.models {
            let length = models.bodies.len().max(slot + 1);
            models.bodies.resize(length, None);
            models.bodies[slot] = Some(body.clone());
        }
        self.history = self.history.bytes(bytemuck::bytes_of(&laid.body)).bytes(laid.pose.known_bytes());
        self.history = self.history.bytes(&index.to_le_bytes());
        for (mut shape, own_vertices) in laid.shapes {
            shape.first_vertex = self.place_vertices(compiled, &own_vertices);
            self.history = self.history.bytes(bytemuck::bytes_of(&shape));
            let place = self.take_shape_slot(compiled, id, steps);
            compiled.shapes[place as usize] = shape;
            self.shapes[slot].push(place);
            if shape.kind & GEOMETRY_MASK == types::HALF_PLANE {
                compiled.add_plane(place);
            }
            change.shapes.insert(place);
        }
        compiled.link(&self.shapes[slot]);
        change.bodies.insert(index);
        id
    }

    /// Returns the lowest free slot of a shape, which belongs to this body from now on.
    fn take_shape_slot(&mut self, compiled: &mut Compiled, id: BodyId, steps: u64) -> u32 {
        let place = self.free_shapes.pop_first().unwrap_or(types::u32_from(compiled.shapes.len()));
        if place as usize == compiled.shapes.len() {
            self.owners.own_shape(steps, place, None, id);
            compiled.shapes.push(ShapeData::default());
        } else {
            self.owners.own_shape(steps, place, Some(compiled.shapes[place as usize].body), id);
        }
        place
    }

    fn place_vertices(&mut self, compiled: &mut Compiled, vertices: &[[f32; 2]]) -> u32 {
        if let Some(first) = self.free_vertices[vertices.len()].pop() {
            compiled.vertices[first as usize..][..vertices.len()].copy_from_slice(vertices);
            return first;
        }
        #[allow(clippy::cast_possible_truncation, reason = "vertices are counted in u32")]
        let first = compiled.vertices.len() as u32;
        compiled.vertices.extend_from_slice(vertices);
        if vertices.is_empty() { 0 } else { first }
    }

    /// Replaces the description of a body, which keeps its slot and id; its joints are removed. `steps` is the number
    /// of steps done, from the start of which a path counts its time.
    pub(crate) fn replace(
        &mut self,
        compiled: &mut Compiled,
        id: BodyId,
        body: &Body,
        steps: u64,
    ) -> Result<PopulationChange, PopulationError> {
        let slot = id.index as usize;
        if self.id(compiled, slot) != Some(id) {
            return Err(PopulationError::Gone(id));
        }
        self.check_description(compiled, slot, body)?;
        let is_other = |(index, name): (usize, &Option<String>)| index != slot && *name == body.id;
        if let Some(name) = &body.id
            && compiled.ids.iter().enumerate().any(is_other)
        {
            let problem = format!("is {name:?}, as another body's");
            return Err(SceneError::new("bodies[0].id", problem, "an id of its own").into());
        }
        let mut laid = Compiled::compile_body(body, id.index);
        let mut change = PopulationChange::default();
        change.bodies.insert(id.index);
        // Sleeping bodies may rest on it, and its own island is lost.
        change.fixed = true;
        for place in compiled.joints.of_bodies(&change.bodies) {
            compiled.joints.remove(place, &mut change.joints);
        }
        compiled.joints.update_trees(&compiled.mass, &mut change.joints);
        compiled.paths.retain(|led| led.body != id.index);
        compiled.add_path(body, id.index, steps, &mut laid.pose);
        // Marked, so that the history differs from that of an addition.
        self.history = self.history.bytes(b"replace").bytes(bytemuck::bytes_of(&laid.body));
        self.history = self.history.bytes(laid.pose.known_bytes()).bytes(&id.index.to_le_bytes());
        let shift = laid.mass.center - compiled.mass[slot].center;
        compiled.put_body(slot, &laid, body.id.as_deref());
        self.place_shapes(compiled, id, &mut laid, shift, steps, &mut change);
        if let Some(models) = &mut self.models {
            models.bodies[slot] = Some(body.clone());
        }
        self.by_hand = true;
        Ok(change)
    }

    /// Removes bodies and their joints, all or none.
    pub(crate) fn remove(
        &mut self,
        compiled: &mut Compiled,
        ids: &[BodyId],
    ) -> Result<PopulationChange, PopulationError> {
        let mut seen = HashSet::new();
        for &id in ids {
            if self.id(compiled, id.index as usize) != Some(id) {
                return Err(PopulationError::Gone(id));
            }
            if !seen.insert(id) {
                return Err(PopulationError::Twice(id));
            }
        }
        Ok(self.remove_checked(compiled, ids))
    }

    /// Removes bodies that exist, each given once.
    fn remove_checked(&mut self, compiled: &mut Compiled, ids: &[BodyId]) -> PopulationChange {
        let mut change = PopulationChange::default();
        for id in ids {
            let slot = id.index as usize;
            change.fixed |= compiled.bodies[slot].kind != DYNAMIC;
            self.history = self.history.bytes(&id.index.to_le_bytes());
            compiled.bodies[slot] = types::BodyData { kind: VACANT, ..types::BodyData::default() };
            compiled.poses[slot] = types::Pose::default();
            compiled.states[slot] = types::BodyState::default();
            compiled.mass[slot] = MassProperties::default();
            compiled.ids[slot] = None;
            let mut places = std::mem::take(&mut self.shapes[slot]);
            places.extend(self.spare_shapes.remove(&id.index).into_iter().flatten().map(|(_, place)| place));
            for &place in &places {
                self.release_shape(compiled, place, &mut change);
            }
            // Half planes of the scene stay in front: their slots are not reused.
            places.retain(|&place| place >= compiled.params.half_plane_count);
            self.shapes[slot] = places;
            change.bodies.insert(id.index);
            self.vacated.push(id.index);
        }
        compiled.drop_planes();
        compiled.paths.retain(|led| !change.bodies.contains(&led.body));
        for place in compiled.joints.of_bodies(&change.bodies) {
            compiled.joints.remove(place, &mut change.joints);
        }
        compiled.joints.update_trees(&compiled.mass, &mut change.joints);
        change
    }
}

/// Checks that these bodies can be added to the world.
fn check(compiled: &Compiled, bodies: &[Body]) -> Result<(), PopulationError> {
    let named = bodies.iter().any(|body| body.id.is_some());
    let taken = compiled.ids.iter().filter(|_| named).flatten().map(String::as_str);
    let mut names: HashSet<&str> = taken.collect();
    // The slots that the scene's emitters may need stay free, so that they never fail.
    let most = compiled.script.most;
    let (mut body_count, mut shape_count) = (compiled.bodies.len() + most.bodies, compiled.shapes.len() + most.shapes);
    let mut planes = compiled.params.late_plane_count as usize;
    for (index, body) in bodies.iter().enumerate() {
        body.check(index)?;
        check_materials_of(body, index, compiled.materials.len())?;
        let at = |key: &str| format!("bodies[{index}]{key}");
        for (number, shape) in body.shapes.iter().enumerate() {
            planes += usize::from(matches!(shape.geometry, Geometry::HalfPlane { .. }));
            if planes > MAX_LATE_PLANES {
                let problem = "is one half plane too many";
                let expected = format!("at most {MAX_LATE_PLANES} beside those of the scene");
                return Err(SceneError::new(at(&format!(".shapes[{number}]")), problem, expected).into());
            }
        }
        if let Some(id) = &body.id
            && !names.insert(id)
        {
            return Err(SceneError::new(at(".id"), format!("is {id:?}, as another body's"), "an id of its own").into());
        }
        body_count += 1;
        shape_count += body.shapes.len();
        if body_count > MAX_BODIES || shape_count > MAX_SHAPES {
            let expected = format!("at most {MAX_BODIES} bodies and {MAX_SHAPES} shapes in a world");
            return Err(SceneError::new(at(""), "is one too many", expected).into());
        }
    }
    Ok(())
}
