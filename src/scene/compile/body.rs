//! Rows of the tables for one body of a scene, and kinematic bodies on paths.

use glam::Vec2;

use super::mass::{MassProperties, acting_mass, dynamic_mass, never_turns};
use super::shape::{flatten_shape, thickness};
use super::{Compiled, PathBody};
use crate::math::{self, rotation};
use crate::scene::{Body, BodyType, Geometry};
use crate::types::{self, BodyState, Pose};

/// Rows of [`Compiled`] for one body.
pub(crate) struct CompiledBody {
    pub body: types::BodyData,
    pub pose: Pose,
    pub state: BodyState,
    pub mass: MassProperties,
    pub traits: BodyTraits,
    /// Shapes, each with its vertices.
    pub shapes: Vec<(types::ShapeData, Vec<[f32; 2]>)>,
}

impl BodyType {
    /// Returns the type's number in [`types::BodyData::kind`].
    pub(crate) fn number(self) -> u32 {
        match self {
            Self::Static => types::STATIC,
            Self::Kinematic => types::KINEMATIC,
            Self::Dynamic => types::DYNAMIC,
        }
    }

    /// Returns the type with a number.
    pub(crate) fn of_number(number: u32) -> Self {
        match number {
            types::DYNAMIC => Self::Dynamic,
            types::KINEMATIC => Self::Kinematic,
            _ => Self::Static,
        }
    }
}

/// Properties of a body that no stage reads: those that it has while it is dynamic, and the user's number.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct BodyTraits {
    /// Mass, kg, and moment of inertia, kg·m², of a body that turns, and centre of mass.
    pub mass: MassProperties,
    /// True if the body does not turn.
    pub fixed_rotation: bool,
    /// True for a particle, which never turns.
    pub is_particle: bool,
    /// True for a bullet.
    pub bullet: bool,
    /// True if the mass was given, and does not follow from the shapes.
    pub has_own_mass: bool,
    /// True if the moment of inertia was given.
    pub has_own_inertia: bool,
    /// Number of the user's.
    pub user_data: u64,
}

impl BodyTraits {
    /// Returns the traits of a body with this mass, if it is dynamic and turns.
    fn of(body: &Body, mass: MassProperties) -> Self {
        Self {
            mass,
            fixed_rotation: body.fixed_rotation,
            is_particle: body.shapes.iter().any(|shape| matches!(shape.geometry, Geometry::Particle { .. })),
            bullet: body.bullet,
            has_own_mass: body.mass.is_some(),
            has_own_inertia: body.inertia.is_some(),
            user_data: body.user_data,
        }
    }
}

impl Compiled {
    /// Sets the rows of the body in a slot, without its shapes.
    pub(crate) fn put_body(&mut self, slot: usize, laid: &CompiledBody, name: Option<&str>) {
        self.bodies[slot] = laid.body;
        self.poses[slot] = laid.pose;
        self.states[slot] = laid.state;
        self.mass[slot] = laid.mass;
        self.traits[slot] = laid.traits;
        self.ids[slot] = name.map(str::to_owned);
    }

    /// Returns the rows of one body and its shapes. The vertices are not in the table yet.
    pub(crate) fn compile_body(body: &Body, index: u32) -> CompiledBody {
        let full = dynamic_mass(body);
        let mass = acting_mass(body, full);
        let turn = rotation(body.angle);
        let mut flags = 0;
        if body.kind != BodyType::Dynamic {
            flags |= types::FIXED_SHAPE;
        }
        if body.kind == BodyType::Kinematic {
            flags |= types::KINEMATIC_SHAPE;
        }
        if body.kind == BodyType::Dynamic && body.bullet {
            flags |= types::BULLET_SHAPE;
        }
        if body.kind == BodyType::Dynamic && never_turns(body) {
            flags |= types::UPRIGHT_SHAPE;
        }
        let (mut extent, mut min_extent) = (0.0_f32, 1e5_f32);
        let mut shapes = Vec::with_capacity(body.shapes.len());
        for shape in &body.shapes {
            let mut vertices = Vec::new();
            let mut flat = flatten_shape(shape, mass.center, &mut vertices);
            flat.body = index;
            flat.kind |= flags | if shape.sensor { types::SENSOR_SHAPE } else { 0 };
            // A sensor touches nothing, so it makes a body neither thin nor wide.
            if flat.kind & types::GEOMETRY_MASK != types::HALF_PLANE && !shape.sensor {
                extent = extent.max(Vec2::from(flat.offset).length() + flat.bound);
                min_extent = min_extent.min(thickness(&shape.geometry));
            }
            shapes.push((flat, vertices));
        }
        let invert = |x: f32| if x > 0.0 { 1.0 / x } else { 0.0 };
        let moves = body.kind != BodyType::Static;
        let turns = moves && !never_turns(body);
        CompiledBody {
            body: types::BodyData {
                inv_mass: invert(mass.mass),
                inv_inertia: invert(mass.inertia),
                linear_damping: body.linear_damping,
                angular_damping: body.angular_damping,
                force: body.force.into(),
                force_point: (body.force_point.unwrap_or(mass.center) - mass.center).into(),
                torque: body.torque,
                gravity_scale: body.gravity_scale,
                extent,
                min_extent,
                kind: body.kind.number(),
                can_sleep: u32::from(body.can_sleep),
                color: body.color_index.map_or(0, |index| index.saturating_add(1)),
                sleep_speed: body.sleep_speed.unwrap_or(0.0),
            },
            pose: Pose::new(body.place() + math::rotate(turn, mass.center).as_dvec2(), turn),
            state: BodyState {
                velocity: if moves { body.velocity.into() } else { [0.0; 2] },
                angular_velocity: if turns { body.angular_velocity } else { 0.0 },
                ..BodyState::default()
            },
            mass,
            traits: BodyTraits::of(body, full),
            shapes,
        }
    }

    /// Registers the path of a body, if it has one, and sets its pose to the one after `steps` steps.
    pub(crate) fn add_path(&mut self, body: &Body, index: u32, steps: u64, pose: &mut Pose) {
        let Some(path) = body.path else { return };
        self.paths.push(PathBody { body: index, position: body.place(), angle: body.angle, path });
        // The centre of a kinematic body is its origin.
        let (position, angle) = path.place(body.place(), body.angle, steps, self.settings.dt);
        *pose = Pose::new(position, rotation(angle));
    }

    /// Inserts the targets of bodies on paths for the end of the next step before the other commands.
    pub(crate) fn lead_on(&self, commands: &mut Vec<types::CommandData>, steps: u64) {
        let targets = self.paths.iter().map(|led| {
            let (position, angle) = led.path.place(led.position, led.angle, steps.saturating_add(1), self.settings.dt);
            types::CommandData::place(types::COMMAND_TARGET, led.body, &Pose::new(position, rotation(angle)))
        });
        commands.splice(0..0, targets);
    }
}
