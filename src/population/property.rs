//! Properties of bodies that change while a world runs ([`Property`]): the rows of the tables that follow.

use std::collections::{BTreeMap, BTreeSet};

use super::{BodyId, Models, Population, PopulationChange, PopulationError};
use crate::scene::{
    Body, BodyTraits, BodyType, Compiled, Geometry, MassProperties, Property, SceneError, Shape, ShapeProperty,
    check_kinetic_friction,
};
use crate::types::{
    BULLET_SHAPE, BodyData, DYNAMIC, FIXED_SHAPE, GEOMETRY_MASK, HALF_PLANE, KINEMATIC, KINEMATIC_SHAPE, LINK_SHAPE,
    STATIC, ShapeData, UPRIGHT_SHAPE,
};

/// Distance between the origin of a body that was made kinematic and its centre of mass, as a share of its size, up to
/// which it may become dynamic: rounding of the integrals.
const MAX_OFF_CENTER: f32 = 1e-5;

/// Rows of a body, to take a change back.
struct SavedRows {
    body: BodyData,
    mass: MassProperties,
    traits: BodyTraits,
    shapes: Vec<ShapeData>,
}

/// Effects of properties that are not rows of the tables.
#[derive(Debug, Default)]
pub(crate) struct PropertyEffects {
    /// Rows that changed.
    pub change: PopulationChange,
    /// Bodies that lose their velocity.
    pub stopped: BTreeSet<u32>,
    /// Bodies that lose their angular velocity.
    pub unturned: BTreeSet<u32>,
    /// Joints, by slot, of bodies whose type changed.
    pub joints: Vec<u32>,
}

impl Population {
    /// Sets properties of bodies, all or none.
    pub(crate) fn set(
        &mut self,
        compiled: &mut Compiled,
        changes: &[(BodyId, Property)],
    ) -> Result<PropertyEffects, PopulationError> {
        let mut before = BTreeMap::new();
        let set = self.set_rows(compiled, changes, &mut before);
        let joints = set.and_then(|()| Ok(Self::check_joints(compiled, &before)?));
        let joints = joints.inspect_err(|_| {
            for (&slot, rows) in &before {
                self.put_rows(compiled, slot, rows);
            }
        })?;
        Ok(self.finish_setting(compiled, changes, &before, joints))
    }

    /// Sets the rows of all changes. `before` gets the rows of each body as they were.
    fn set_rows(
        &self,
        compiled: &mut Compiled,
        changes: &[(BodyId, Property)],
        before: &mut BTreeMap<u32, SavedRows>,
    ) -> Result<(), PopulationError> {
        for (index, (id, property)) in changes.iter().enumerate() {
            let slot = id.index as usize;
            if self.id(compiled, slot) != Some(*id) {
                return Err(PopulationError::Gone(*id));
            }
            before.entry(id.index).or_insert_with(|| self.rows(compiled, slot));
            let is_set = property.check().and_then(|()| self.set_property(compiled, slot, *property));
            is_set.map_err(
                |error| if changes.len() > 1 { error.within(&format!("properties[{index}]")) } else { error },
            )?;
        }
        Ok(())
    }

    fn rows(&self, compiled: &Compiled, slot: usize) -> SavedRows {
        SavedRows {
            body: compiled.bodies[slot],
            mass: compiled.mass[slot],
            traits: compiled.traits[slot],
            shapes: self.shapes[slot].iter().map(|&place| compiled.shapes[place as usize]).collect(),
        }
    }

    fn put_rows(&self, compiled: &mut Compiled, slot: u32, rows: &SavedRows) {
        let slot = slot as usize;
        (compiled.bodies[slot], compiled.mass[slot], compiled.traits[slot]) = (rows.body, rows.mass, rows.traits);
        for (&place, shape) in self.shapes[slot].iter().zip(&rows.shapes) {
            compiled.shapes[place as usize] = *shape;
        }
    }

    /// Sets the rows of one property, whose value is in range.
    fn set_property(&self, compiled: &mut Compiled, slot: usize, property: Property) -> Result<(), SceneError> {
        let body = &mut compiled.bodies[slot];
        let traits = &mut compiled.traits[slot];
        match property {
            Property::Kind(kind) => {
                self.check_kind(compiled, slot, kind)?;
                compiled.bodies[slot].kind = kind.number();
            }
            Property::Mass(mass) => {
                let scale = f64::from(mass) / f64::from(traits.mass.mass);
                #[allow(clippy::cast_possible_truncation, reason = "rounded to f32 on purpose")]
                let inertia = (f64::from(traits.mass.inertia) * scale) as f32;
                traits.mass =
                    MassProperties { mass, inertia: if scale.is_finite() { inertia } else { 0.0 }, ..traits.mass };
                traits.has_own_mass = true;
            }
            Property::Inertia(inertia) => (traits.mass.inertia, traits.has_own_inertia) = (inertia, true),
            Property::FixedRotation(is_fixed) => traits.fixed_rotation = is_fixed,
            Property::Bullet(is_bullet) => traits.bullet = is_bullet,
            Property::CanSleep(can_sleep) => body.can_sleep = u32::from(can_sleep),
            Property::SleepSpeed(speed) => body.sleep_speed = speed,
            Property::GravityScale(scale) => body.gravity_scale = scale,
            Property::LinearDamping(rate) => body.linear_damping = rate,
            Property::AngularDamping(rate) => body.angular_damping = rate,
            Property::UserData(number) => traits.user_data = number,
            Property::Shape(number, set) => {
                let own = &self.shapes[slot];
                let Some(&place) = own.get(number) else {
                    let problem = format!("is of shape {number}, and the body has {}", own.len());
                    let expected = format!("a number from 0 to {}", own.len().saturating_sub(1));
                    return Err(SceneError::new(property.name().to_string(), problem, expected));
                };
                set_shape(&mut compiled.shapes[place as usize], set, property)?;
            }
            Property::Shapes(set) => {
                for &place in &self.shapes[slot] {
                    set_shape(&mut compiled.shapes[place as usize], set, property)?;
                }
            }
        }
        self.follow_traits(compiled, slot, property)
    }

    /// Checks that the body may have a type.
    fn check_kind(&self, compiled: &Compiled, slot: usize, kind: BodyType) -> Result<(), SceneError> {
        if kind != BodyType::Dynamic || compiled.bodies[slot].kind == DYNAMIC {
            return Ok(());
        }
        let stays = |&place: &u32| {
            let kind = compiled.shapes[place as usize].kind;
            kind & GEOMETRY_MASK == HALF_PLANE || kind & LINK_SHAPE != 0
        };
        if self.shapes[slot].iter().any(stays) {
            let problem = "is dynamic, and the body has a half plane or a chain";
            return Err(SceneError::new("type", problem, "a static or kinematic body"));
        }
        let off = compiled.traits[slot].mass.center.distance(compiled.mass[slot].center);
        if off > MAX_OFF_CENTER * compiled.bodies[slot].extent {
            let problem = format!("is dynamic, and the body was made kinematic with its centre of mass {off} m off");
            return Err(SceneError::new("type", problem, "a body with its centre of mass at its origin"));
        }
        Ok(())
    }

    /// Sets the rows that follow from the type and the dynamic traits of a body.
    fn follow_traits(&self, compiled: &mut Compiled, slot: usize, property: Property) -> Result<(), SceneError> {
        let (traits, kind) = (compiled.traits[slot], compiled.bodies[slot].kind);
        let turns = !(traits.fixed_rotation || traits.is_particle);
        let (mass, inertia) = match kind {
            DYNAMIC => (traits.mass.mass, if turns { traits.mass.inertia } else { 0.0 }),
            _ => (0.0, 0.0),
        };
        let fits = |x: f32| x > 0.0 && x.is_normal() && (1.0 / x).is_normal();
        for (name, value, is_needed) in
            [("a mass", mass, kind == DYNAMIC), ("a moment of inertia", inertia, kind == DYNAMIC && turns)]
        {
            if is_needed && !fits(value) {
                let problem = format!("gives {name} of {value}");
                return Err(SceneError::new(property.name().to_string(), problem, "one from 1.2e-38 to 8.5e37"));
            }
        }
        let invert = |x: f32| if x > 0.0 { 1.0 / x } else { 0.0 };
        let body = &mut compiled.bodies[slot];
        (body.inv_mass, body.inv_inertia) = (invert(mass), invert(inertia));
        let center = compiled.mass[slot].center;
        compiled.mass[slot] = MassProperties { mass, inertia, center };
        for &place in &self.shapes[slot] {
            let shape = &mut compiled.shapes[place as usize];
            for (on, flag) in [
                (kind != DYNAMIC, FIXED_SHAPE),
                (kind == KINEMATIC, KINEMATIC_SHAPE),
                (kind == DYNAMIC && traits.bullet, BULLET_SHAPE),
                (kind == DYNAMIC && !turns, UPRIGHT_SHAPE),
            ] {
                shape.kind = if on { shape.kind | flag } else { shape.kind & !flag };
            }
        }
        Ok(())
    }

    /// Returns the joints of bodies whose type has changed.
    ///
    /// # Errors
    /// A joint would have no dynamic body.
    fn check_joints(compiled: &Compiled, before: &BTreeMap<u32, SavedRows>) -> Result<Vec<u32>, SceneError> {
        let retyped =
            |(&slot, rows): (&u32, &SavedRows)| (rows.body.kind != compiled.bodies[slot as usize].kind).then_some(slot);
        let retyped: BTreeSet<u32> = before.iter().filter_map(retyped).collect();
        if retyped.is_empty() {
            return Ok(Vec::new());
        }
        let joints = compiled.joints.of_bodies(&retyped);
        for &place in &joints {
            let joint = &compiled.joints.joints[place as usize];
            if super::ends(joint).all(|body| compiled.bodies[body as usize].kind != DYNAMIC) {
                let problem = format!("leaves joint {} without a dynamic body", joint.id);
                return Err(SceneError::new("type", problem, "the joint removed before"));
            }
        }
        Ok(joints)
    }

    /// Updates joints, switches, paths, descriptions and the history, and lists the rows that changed.
    fn finish_setting(
        &mut self,
        compiled: &mut Compiled,
        changes: &[(BodyId, Property)],
        before: &BTreeMap<u32, SavedRows>,
        joints: Vec<u32>,
    ) -> PropertyEffects {
        let mut effects = PropertyEffects::default();
        let mut has_new_shapes = false;
        for (&index, rows) in before {
            let slot = index as usize;
            let (body, kind) = (compiled.bodies[slot], rows.body.kind);
            if body != rows.body {
                effects.change.properties.insert(index);
            }
            if body.kind != kind {
                compiled.paths.retain(|path| path.body != index);
                compiled.link(&self.shapes[slot]);
                if body.kind == STATIC {
                    effects.stopped.insert(index);
                }
            }
            if kind == DYNAMIC && rows.body.inv_inertia > 0.0 && body.inv_inertia == 0.0 {
                effects.unturned.insert(index);
            }
            let is_new = |(place, shape): &(&u32, &ShapeData)| compiled.shapes[**place as usize] != **shape;
            let new_shapes: Vec<u32> =
                self.shapes[slot].iter().zip(&rows.shapes).filter(is_new).map(|(&place, _)| place).collect();
            has_new_shapes |= !new_shapes.is_empty();
            if body != rows.body || !new_shapes.is_empty() {
                effects.change.woken.insert(index);
            }
            effects.change.shapes.extend(new_shapes);
        }
        for &place in &joints {
            compiled.joints.set_fixed_ends(place, &compiled.bodies, &mut effects.change.joints);
        }
        let weighs = |property: &Property| {
            matches!(property, Property::Mass(_) | Property::Inertia(_) | Property::FixedRotation(_))
        };
        if !joints.is_empty() || changes.iter().any(|(_, property)| weighs(property)) {
            compiled.joints.find_trees(&compiled.mass, &mut effects.change.joints);
        }
        effects.joints = joints;
        if has_new_shapes {
            compiled.refresh_switches();
        }
        for (id, property) in changes {
            self.history = self.history.bytes(b"set").bytes(format!("{id} {property:?}").as_bytes());
            if let Some(models) = &mut self.models {
                let slot = id.index as usize;
                models.set(slot, *property, &compiled.traits[slot]);
            }
        }
        self.by_hand = true;
        effects
    }
}

/// Sets a property of a shape, whose value is in range.
fn set_shape(shape: &mut ShapeData, set: ShapeProperty, property: Property) -> Result<(), SceneError> {
    match set {
        ShapeProperty::Friction(friction) => {
            if shape.kinetic_friction == shape.friction {
                shape.kinetic_friction = friction;
            }
            if friction < shape.kinetic_friction {
                let problem = format!("is {friction}");
                let expected = format!("at least the friction while sliding, {}", shape.kinetic_friction);
                return Err(SceneError::new(property.name().to_string(), problem, expected));
            }
            shape.friction = friction;
        }
        ShapeProperty::KineticFriction(kinetic) => {
            check_kinetic_friction(kinetic, shape.friction, format_args!("{}", property.name()))?;
            shape.kinetic_friction = kinetic;
        }
        ShapeProperty::Restitution(restitution) => shape.restitution = restitution,
        ShapeProperty::TangentSpeed(speed) => shape.tangent_speed = speed,
        ShapeProperty::RollingResistance(resistance) => shape.rolling_resistance = resistance,
        ShapeProperty::Filter(filter) => {
            (shape.category, shape.mask, shape.group) = (filter.category, filter.mask, filter.group);
        }
    }
    Ok(())
}

impl Models {
    /// Sets a property in the description of a body. `traits` are those that the body has now.
    fn set(&mut self, slot: usize, property: Property, traits: &BodyTraits) {
        let Some(Some(body)) = self.bodies.get_mut(slot) else { return };
        match property {
            Property::Kind(kind) => (body.kind, body.path) = (kind, None),
            Property::Mass(_) | Property::Inertia(_) => describe_mass(body, traits.mass),
            Property::FixedRotation(is_fixed) => body.fixed_rotation = is_fixed,
            Property::Bullet(is_bullet) => body.bullet = is_bullet,
            Property::CanSleep(can_sleep) => body.can_sleep = can_sleep,
            Property::SleepSpeed(speed) => body.sleep_speed = Some(speed),
            Property::GravityScale(scale) => body.gravity_scale = scale,
            Property::LinearDamping(rate) => body.linear_damping = rate,
            Property::AngularDamping(rate) => body.angular_damping = rate,
            Property::UserData(number) => body.user_data = number,
            Property::Shape(number, set) => {
                if let Some(shape) = in_table_order(body).nth(number) {
                    describe_shape(shape, set);
                }
            }
            Property::Shapes(set) => body.shapes.iter_mut().for_each(|shape| describe_shape(shape, set)),
        }
    }
}

/// Returns the shapes of a body in the order of their slots: half planes come first.
fn in_table_order(body: &mut Body) -> impl Iterator<Item = &mut Shape> {
    let (planes, others): (Vec<_>, Vec<_>) =
        body.shapes.iter_mut().partition(|shape| matches!(shape.geometry, Geometry::HalfPlane { .. }));
    planes.into_iter().chain(others)
}

/// Sets mass and moment of inertia in the description of a body: both, so that a scene of these descriptions has the
/// masses of this world to the last bit.
pub(super) fn describe_mass(body: &mut Body, mass: MassProperties) {
    (body.mass, body.inertia) = (Some(mass.mass), (mass.inertia > 0.0).then_some(mass.inertia));
}

fn describe_shape(shape: &mut Shape, set: ShapeProperty) {
    let material = &mut shape.material;
    match set {
        ShapeProperty::Friction(friction) => material.friction = friction,
        ShapeProperty::KineticFriction(kinetic) => {
            material.kinetic_friction = (kinetic < material.friction).then_some(kinetic);
        }
        ShapeProperty::Restitution(restitution) => material.restitution = restitution,
        ShapeProperty::TangentSpeed(speed) => material.tangent_speed = speed,
        ShapeProperty::RollingResistance(resistance) => material.rolling_resistance = resistance,
        ShapeProperty::Filter(filter) => shape.filter = filter,
    }
}
