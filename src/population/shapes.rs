//! Shapes of a body that are added, removed or changed while a world runs: the rows of the tables that follow.

use std::collections::BTreeSet;

use glam::Vec2;

use super::property::describe_mass;
use super::{BodyId, Population, PopulationChange, PopulationError};
use crate::math::{cross_scalar, rotate};
use crate::scene::{
    Body, BodyType, Compiled, CompiledBody, Geometry, MAX_SHAPES, SceneError, Shape, check_materials_of,
};
use crate::types::{
    BodyState, CcdBody, DYNAMIC, GEOMETRY_MASK, HALF_PLANE, JOINED_SHAPE, KINEMATIC, LINK_SHAPE, NO_SHAPE, POLYGON,
    Pose, ShapeData, VERTEX_COUNT_SHIFT, u32_from,
};

/// Distance between a shape and its former self up to which it is the same one, as a share of its size: rounding, where
/// the centre of mass has moved.
const MAX_OFFSET: f32 = 1e-4;

/// New shapes of a body, and the change that follows from them.
#[derive(Debug, Default)]
pub(crate) struct ShapeEffects {
    /// Rows that changed.
    pub change: PopulationChange,
    /// Displacement of the centre of mass in the frame of the body, m.
    pub shift: Vec2,
}

impl Population {
    /// Replaces the shapes of a body. Shapes that are as before keep their slots, and so their contacts. `steps` is the
    /// number of steps done; `now` is the present pose and state of the body, if its world goes on from here.
    pub(crate) fn set_shapes(
        &mut self,
        compiled: &mut Compiled,
        id: BodyId,
        shapes: &[Shape],
        steps: u64,
        now: Option<(Pose, BodyState)>,
    ) -> Result<ShapeEffects, PopulationError> {
        let slot = id.index as usize;
        if self.id(compiled, slot) != Some(id) {
            return Err(PopulationError::Gone(id));
        }
        let body = described(compiled, slot, shapes);
        self.check_description(compiled, slot, &body).map_err(|error| match error.path.strip_prefix("bodies[0].") {
            Some(path) => SceneError { path: path.to_owned(), ..error },
            None => error,
        })?;
        let mut laid = Compiled::compile_body(&body, id.index);
        let shift = laid.mass.center - compiled.mass[slot].center;
        let mut effects = ShapeEffects { shift, ..ShapeEffects::default() };
        let change = &mut effects.change;
        self.history = self.history.bytes(b"shapes").bytes(&id.index.to_le_bytes());
        set_rows(compiled, slot, &laid, shift);
        self.place_shapes(compiled, id, &mut laid, shift, steps, change);
        if let Some((pose, state)) = now {
            (compiled.poses[slot], compiled.states[slot]) = moved(&laid, shift, pose, state);
            change.moved.insert(id.index);
        }
        compiled.joints.shift_anchors(id.index, shift, &mut change.joints);
        compiled.joints.find_trees(&compiled.mass, &mut change.joints);
        change.properties.insert(id.index);
        change.woken.insert(id.index);
        if let Some(models) = &mut self.models
            && let Some(Some(model)) = models.bodies.get_mut(slot)
        {
            model.shapes = shapes.to_vec();
            if body.mass.is_some() || body.inertia.is_some() {
                describe_mass(model, laid.traits.mass);
            }
        }
        self.by_hand = true;
        Ok(effects)
    }

    /// Checks a new description of a body. Errors name it `bodies[0]`.
    pub(super) fn check_description(&self, compiled: &Compiled, slot: usize, body: &Body) -> Result<(), SceneError> {
        body.check(0)?;
        check_materials_of(body, 0, compiled.materials.len())?;
        let planes = body.shapes.iter().filter(|shape| matches!(shape.geometry, Geometry::HalfPlane { .. })).count();
        let had = self.shapes[slot].iter().filter(|&&place| is_plane(&compiled.shapes[place as usize])).count();
        if planes != had {
            let problem = format!("has {planes} half planes, and the body has {had}");
            return Err(SceneError::new("bodies[0].shapes", problem, "as many half planes as before"));
        }
        let own = self.shapes[slot].len() + self.spare_shapes.get(&u32_from(slot)).map_or(0, Vec::len);
        let more = body.shapes.len().saturating_sub(own + self.free_shapes.len());
        if compiled.shapes.len() + compiled.script.most.shapes + more > MAX_SHAPES {
            let problem = format!("has {} shapes", body.shapes.len());
            let expected = format!("at most {MAX_SHAPES} shapes in a world");
            return Err(SceneError::new("bodies[0].shapes", problem, expected));
        }
        Ok(())
    }

    /// Puts the shapes of a body, which has other rows now, into the slots of those that they continue, into vacant
    /// slots of the body, or into free ones. Slots that are left over stay with the body, vacant: contacts of the last
    /// step still refer to them, so that another shape there would continue these. `shift` is the displacement of the
    /// centre of mass in the frame of the body, m.
    pub(super) fn place_shapes(
        &mut self,
        compiled: &mut Compiled,
        id: BodyId,
        laid: &mut CompiledBody,
        shift: Vec2,
        steps: u64,
        change: &mut PopulationChange,
    ) {
        let slot = id.index as usize;
        // Half planes come first, as in the tables of a scene.
        laid.shapes.sort_by_key(|(shape, _)| !is_plane(shape));
        let old = std::mem::take(&mut self.shapes[slot]);
        let mut continued = continued(compiled, &old, laid, shift);
        // Bodies may sleep on a shape that goes, and will not touch it any more.
        change.fixed |= laid.body.kind != DYNAMIC && continued.iter().flatten().count() < old.len();
        // The points of a contact are stored from the centre of mass, until its bodies have moved by the recycle
        // distance since it was made. If the centre has moved by too little for that to be certain, none is continued.
        let by = shift.length();
        if by > MAX_OFFSET * laid.body.extent && by < 2.0 * compiled.params.recycle_distance {
            let others = continued.iter_mut().zip(&laid.shapes).filter(|(_, (shape, _))| !is_plane(shape));
            others.for_each(|(place, _)| *place = None);
        }
        let kept: BTreeSet<u32> = continued.iter().flatten().copied().collect();
        let mut spare = self.spare_shapes.remove(&id.index).unwrap_or_default();
        spare.extend(old.iter().filter(|place| !kept.contains(place)).map(|&place| (steps, place)));
        // In this order the first polygon gets back its own vertices.
        for &place in old.iter().rev() {
            self.release_shape(compiled, place, change);
        }
        let is_joined = compiled.joints.exclusions.heads[slot][1] > 0;
        let removed = std::mem::take(&mut change.shapes);
        for (place, (shape, vertices)) in continued.into_iter().zip(&laid.shapes) {
            let vacant = || Some(spare.remove(spare.iter().position(|&(since, _)| since < steps)?).1);
            let place = place.or_else(vacant).unwrap_or_else(|| self.take_shape_slot(compiled, id, steps));
            let mut shape = *shape;
            shape.first_vertex = self.place_vertices(compiled, vertices);
            shape.kind |= if is_joined { JOINED_SHAPE } else { 0 };
            self.history = self.history.bytes(bytemuck::bytes_of(&shape));
            compiled.shapes[place as usize] = shape;
            self.shapes[slot].push(place);
            change.shapes.insert(place);
        }
        if !spare.is_empty() {
            self.spare_shapes.insert(id.index, spare);
        }
        compiled.link(&self.shapes[slot]);
        self.finish_adding(compiled, change);
        change.shapes.extend(removed);
    }

    /// Makes the slot of a shape vacant. It still belongs to its body.
    pub(super) fn release_shape(&mut self, compiled: &mut Compiled, place: u32, change: &mut PopulationChange) {
        let shape = &mut compiled.shapes[place as usize];
        let count = (shape.kind >> VERTEX_COUNT_SHIFT & 0xf) as usize;
        if shape.kind & GEOMETRY_MASK == POLYGON {
            let cosines = usize::from(shape.kind & LINK_SHAPE != 0);
            self.free_vertices[count + cosines].push(shape.first_vertex);
        }
        *shape = ShapeData { kind: NO_SHAPE, body: shape.body, ..ShapeData::default() };
        compiled.ccd_bodies[place as usize] = CcdBody::default();
        change.shapes.insert(place);
    }
}

/// Returns the description of a body with other shapes, as far as masses follow from it.
fn described(compiled: &Compiled, slot: usize, shapes: &[Shape]) -> Body {
    let traits = &compiled.traits[slot];
    Body {
        kind: BodyType::of_number(compiled.bodies[slot].kind),
        mass: traits.has_own_mass.then_some(traits.mass.mass),
        inertia: traits.has_own_inertia.then_some(traits.mass.inertia),
        fixed_rotation: traits.fixed_rotation,
        bullet: traits.bullet,
        user_data: traits.user_data,
        shapes: shapes.to_vec(),
        ..Body::dynamic(0.0, 0.0)
    }
}

fn is_plane(shape: &ShapeData) -> bool {
    shape.kind & GEOMETRY_MASK == HALF_PLANE
}

/// Returns the slot of the shape that each new shape continues, if there is one: of the same outline, at the same place
/// on the body. Half planes continue those of before, in their order. `shift` is the displacement of the centre of
/// mass, m.
fn continued(compiled: &Compiled, old: &[u32], laid: &CompiledBody, shift: Vec2) -> Vec<Option<u32>> {
    let outline = |shape: &ShapeData| shape.kind & (GEOMETRY_MASK | LINK_SHAPE | 0xf << VERTEX_COUNT_SHIFT);
    let is_same = |old: &ShapeData, (new, vertices): &(ShapeData, Vec<[f32; 2]>)| {
        let offset = Vec2::from(old.offset) - Vec2::from(new.offset) - shift;
        let own_vertices = compiled.vertices.get(old.first_vertex as usize..).unwrap_or_default();
        (outline(old), old.half, old.radius, old.rotation) == (outline(new), new.half, new.radius, new.rotation)
            && offset.length() <= MAX_OFFSET * new.bound
            && own_vertices.starts_with(vertices)
    };
    let mut is_taken = vec![false; old.len()];
    let mut next = 0;
    let find = |new: &(ShapeData, Vec<[f32; 2]>)| {
        let continues = |at: usize| {
            let shape = &compiled.shapes[old[at] as usize];
            if is_plane(&new.0) { is_plane(shape) } else { is_same(shape, new) }
        };
        // From the one behind the last found on: most lists have changed at one place.
        let found = (next..old.len()).chain(0..next).find(|&at| !is_taken[at] && continues(at))?;
        is_taken[found] = true;
        next = found + 1;
        Some(old[found])
    };
    laid.shapes.iter().map(find).collect()
}

/// Sets the row of a body and its mass. A force that acts at a point keeps it.
fn set_rows(compiled: &mut Compiled, slot: usize, laid: &CompiledBody, shift: Vec2) {
    let row = &mut compiled.bodies[slot];
    (row.inv_mass, row.inv_inertia) = (laid.body.inv_mass, laid.body.inv_inertia);
    (row.extent, row.min_extent) = (laid.body.extent, laid.body.min_extent);
    row.force_point = shifted(row.force_point, shift);
    (compiled.mass[slot], compiled.traits[slot]) = (laid.mass, laid.traits);
}

/// Returns pose and state of a body whose centre of mass has moved in its frame: its points stay where they are, and
/// keep their velocities.
fn moved(laid: &CompiledBody, shift: Vec2, mut pose: Pose, state: BodyState) -> (Pose, BodyState) {
    let arm = rotate(pose.rotation.into(), shift);
    pose.move_by(arm);
    let turns = laid.body.kind == KINEMATIC || laid.body.inv_inertia > 0.0;
    let velocity = Vec2::from(state.velocity) + cross_scalar(state.angular_velocity, arm);
    let angular_velocity = if turns { state.angular_velocity } else { 0.0 };
    (pose, BodyState { velocity: velocity.into(), angular_velocity, ..state })
}

/// Returns a point of a body, from its centre of mass, after this has moved; 0 is the centre of mass itself.
pub(crate) fn shifted(point: [f32; 2], shift: Vec2) -> [f32; 2] {
    if point == [0.0; 2] { point } else { (Vec2::from(point) - shift).into() }
}
