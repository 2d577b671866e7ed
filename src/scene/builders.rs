//! Builder methods for the less common fields of scenes, settings, bodies, shapes and joints; the common ones are in
//! [`model`](super::model) and [`joint`](super::joint).

use glam::{DVec2, Vec2};

use super::{Body, Field, Filter, Geometry, JointKind, Material, Mixing, Mode, Motor, Scene, Settings, Shape, Spring};
use crate::math::{rotate, rotation};
use crate::types::{join_position, split_position};

impl Scene {
    /// Returns the scene with these settings.
    #[must_use]
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// Returns the scene with one more field.
    #[must_use]
    pub fn field(mut self, field: Field) -> Self {
        self.fields.push(field);
        self
    }
}

impl Settings {
    /// Returns the settings with this length of a step, s. Above 0. Default 1/60.
    #[must_use]
    pub fn dt(mut self, seconds: f32) -> Self {
        self.dt = seconds;
        self
    }

    /// Returns the settings with this number of substeps a step, 1 – 64.
    #[must_use]
    pub fn substeps(mut self, count: u32) -> Self {
        self.substeps = Some(count);
        self
    }

    /// Returns the settings with this number of solver sweeps a substep, 1 – 64.
    #[must_use]
    pub fn iterations(mut self, count: u32) -> Self {
        self.iterations = Some(count);
        self
    }

    /// Returns the settings with this method of the solver.
    #[must_use]
    pub fn mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// Returns the settings with or without the relax sweep, which follows the motion and has no bias.
    #[must_use]
    pub fn relax(mut self, on: bool) -> Self {
        self.relax = on;
        self
    }

    /// Returns the settings with warm starting on or off: steps start from the impulses of the previous step, or from
    /// zero.
    #[must_use]
    pub fn warm_start(mut self, on: bool) -> Self {
        self.warm_start = on;
        self
    }

    /// Returns the settings with loads at the start on or off: bodies that rest on each other when the world begins
    /// press on their contacts from the first step on, as by default, or sink until these carry them.
    #[must_use]
    pub fn initial_loads(mut self, on: bool) -> Self {
        self.initial_loads = on;
        self
    }

    /// Returns the settings with mass scaling on or off: bodies that are squeezed between others count with more mass,
    /// as by default, or with their own.
    #[must_use]
    pub fn mass_scaling(mut self, on: bool) -> Self {
        self.mass_scaling = on;
        self
    }

    /// Returns the settings with the accumulated impulse clamped, or each increment, which is wrong.
    #[must_use]
    pub fn accumulate(mut self, on: bool) -> Self {
        self.accumulate = on;
        self
    }

    /// Returns the settings with this share of the penetration removed in a step or sweep, 0 – 1. Default 0.2.
    #[must_use]
    pub fn baumgarte(mut self, share: f32) -> Self {
        self.baumgarte = share;
        self
    }

    /// Returns the settings with this penetration that is not corrected, m. Default 0.005 length units.
    #[must_use]
    pub fn slop(mut self, depth: f32) -> Self {
        self.slop = Some(depth);
        self
    }

    /// Returns the settings with correction of penetration on or off.
    #[must_use]
    pub fn correct_position(mut self, on: bool) -> Self {
        self.correct_position = on;
        self
    }

    /// Returns the settings with recycling of contact manifolds on or off: kept while a pair hardly moves, or computed
    /// in every step.
    #[must_use]
    pub fn recycle(mut self, on: bool) -> Self {
        self.recycle = on;
        self
    }

    /// Returns the settings with continuous collision on or off: fast bodies stop at walls, or can get through.
    #[must_use]
    pub fn continuous(mut self, on: bool) -> Self {
        self.continuous = on;
        self
    }

    /// Returns the settings with this stiffness of contacts in soft mode, Hz, of which at most a quarter of the substep
    /// rate acts, and this damping ratio. Default an eighth of the substep rate, and 10.
    #[must_use]
    pub fn contact_softness(mut self, hertz: f32, damping_ratio: f32) -> Self {
        (self.contact_hertz, self.contact_damping_ratio) = (Some(hertz), damping_ratio);
        self
    }

    /// Returns the settings in which overlaps are pushed out at most at this speed in soft mode, m/s. Default 3 for
    /// bodies of about 1 m.
    #[must_use]
    pub fn push_speed(mut self, speed: f32) -> Self {
        self.push_speed = Some(speed);
        self
    }

    /// Returns the settings with this approach speed, m/s, below which bodies do not bounce. Default 1 for
    /// bodies of about 1 m.
    #[must_use]
    pub fn restitution_threshold(mut self, speed: f32) -> Self {
        self.restitution_threshold = Some(speed);
        self
    }

    /// Returns the settings with this mixing rule for the restitution of two materials.
    #[must_use]
    pub fn restitution_mix(mut self, mix: Mixing) -> Self {
        self.restitution_mix = mix;
        self
    }

    /// Returns the settings with this mixing rule for friction.
    #[must_use]
    pub fn friction_mix(mut self, mix: Mixing) -> Self {
        self.friction_mix = mix;
        self
    }

    /// Returns the settings with strict mode on or off: a step that outgrew a buffer is repeated, or solves the
    /// contacts that fit.
    #[must_use]
    pub fn strict(mut self, on: bool) -> Self {
        self.strict = on;
        self
    }

    /// Returns the settings with or without events.
    #[must_use]
    pub fn events(mut self, on: bool) -> Self {
        self.events = on;
        self
    }

    /// Returns the settings with sleeping on or off.
    #[must_use]
    pub fn sleep(mut self, on: bool) -> Self {
        self.sleep = on;
        self
    }
}

impl Body {
    /// Returns the body with its origin at this position, m, in double precision.
    #[must_use]
    pub fn position(mut self, position: impl Into<DVec2>) -> Self {
        [self.position, self.position_low] = split_position(position.into());
        self
    }

    /// Returns the position of the body's origin, m, in double precision.
    pub(crate) fn place(&self) -> DVec2 {
        join_position([self.position, self.position_low])
    }

    /// Returns the place in the world of a point of the body, m.
    pub(super) fn place_of(&self, anchor: Vec2) -> DVec2 {
        self.place() + rotate(rotation(self.angle), anchor).as_dvec2()
    }

    /// Returns the body with several more shapes.
    #[must_use]
    pub fn shapes(mut self, shapes: impl IntoIterator<Item = Shape>) -> Self {
        self.shapes.extend(shapes);
        self
    }

    /// Returns the body with this speed below which it counts as at rest, m/s.
    #[must_use]
    pub fn sleep_speed(mut self, speed: f32) -> Self {
        self.sleep_speed = Some(speed);
        self
    }

    /// Returns the body with this factor on gravity.
    #[must_use]
    pub fn gravity_scale(mut self, factor: f32) -> Self {
        self.gravity_scale = factor;
        self
    }

    /// Returns the body with this damping of its velocity and of its angular velocity, 1/s, at least 0.
    #[must_use]
    pub fn damping(mut self, linear: f32, angular: f32) -> Self {
        (self.linear_damping, self.angular_damping) = (linear, angular);
        self
    }

    /// Returns the body as one that never turns.
    #[must_use]
    pub fn fixed_rotation(mut self) -> Self {
        self.fixed_rotation = true;
        self
    }

    /// Returns the body as a bullet, which does not tunnel through dynamic bodies either when it is fast.
    #[must_use]
    pub fn bullet(mut self) -> Self {
        self.bullet = true;
        self
    }

    /// Returns the body with a number of the user's ([`Body::user_data`]).
    #[must_use]
    pub fn user_data(mut self, number: u64) -> Self {
        self.user_data = number;
        self
    }

    /// Returns the body with a constant force on its centre of mass, in world axes, N.
    #[must_use]
    pub fn force(mut self, force: impl Into<Vec2>) -> Self {
        (self.force, self.force_point) = (force.into(), None);
        self
    }

    /// Returns the body with a constant force, in world axes, N, at a point of its frame, m.
    #[must_use]
    pub fn force_at(mut self, force: impl Into<Vec2>, point: impl Into<Vec2>) -> Self {
        (self.force, self.force_point) = (force.into(), Some(point.into()));
        self
    }

    /// Returns the body with a constant torque, N·m.
    #[must_use]
    pub fn torque(mut self, torque: f32) -> Self {
        self.torque = torque;
        self
    }

    /// Returns the body with this mass, kg, in place of that of its shapes; its inertia is scaled with it.
    #[must_use]
    pub fn mass(mut self, mass: f32) -> Self {
        self.mass = Some(mass);
        self
    }

    /// Returns the body with this moment of inertia about its centre of mass, kg·m².
    #[must_use]
    pub fn inertia(mut self, inertia: f32) -> Self {
        self.inertia = Some(inertia);
        self
    }
}

impl Shape {
    /// Returns the shape with this material.
    #[must_use]
    pub fn material(mut self, material: Material) -> Self {
        self.material = material;
        self
    }

    /// Returns the box or polygon with rounded corners: `radius` is added on all sides, m. Other outlines stay as they
    /// are.
    #[must_use]
    pub fn rounded(mut self, rounding: f32) -> Self {
        if let Geometry::Box { radius, .. } | Geometry::Polygon { radius, .. } = &mut self.geometry {
            *radius = rounding;
        }
        self
    }
}

impl Filter {
    /// Returns a filter of every category that meets every category: as that of a query it finds all shapes but those
    /// whose own filter meets none.
    #[must_use]
    pub fn everything() -> Self {
        Self { category: u32::MAX, mask: u32::MAX, group: 0 }
    }

    /// Returns the filter with a group: two shapes of one positive group always meet, of one negative group never.
    #[must_use]
    pub fn group(mut self, group: i32) -> Self {
        self.group = group;
        self
    }
}

/// Methods for fields that the type of joint does not have change nothing.
impl JointKind {
    /// Returns a motor joint that drives B's anchor to a position against A's, in A's frame, m, and an angle, rad, with
    /// limited force, N, and torque, N·m.
    #[must_use]
    pub fn drive(offset: impl Into<Vec2>, angle: f32, max_force: f32, max_torque: f32) -> Self {
        Self::Motor { linear_offset: offset.into(), angular_offset: angle, max_force, max_torque }
    }

    /// Returns a velocity joint that drives B's anchor at a velocity against A, in A's frame, m/s, and B at an angular
    /// velocity, rad/s, with limited force, N, and torque, N·m. Velocity 0 is the friction of a body seen from above.
    #[must_use]
    pub fn velocity(velocity: impl Into<Vec2>, angular_velocity: f32, max_force: f32, max_torque: f32) -> Self {
        Self::Velocity { axis: None, velocity: velocity.into(), angular_velocity, max_force, max_torque }
    }

    /// Returns a mouse joint that pulls B's anchor softly towards a point of the world, m, with at most this force, N.
    #[must_use]
    pub fn mouse(target: impl Into<Vec2>, max_force: f32) -> Self {
        Self::Mouse { target: target.into(), max_force }
    }

    /// Returns the rod, spring or pulley with this length, m, instead of the initial one.
    #[must_use]
    pub fn length(mut self, new: f32) -> Self {
        if let Self::Distance { length, .. } | Self::Spring { rest_length: length, .. } | Self::Pulley { length, .. } =
            &mut self
        {
            *length = Some(new);
        }
        self
    }

    /// Returns the rod, hinge, slider or wheel with limits: lowest and highest length, angle or travel, m or rad.
    #[must_use]
    pub fn limits(mut self, low: f32, high: f32) -> Self {
        if let Self::Distance { limits, .. }
        | Self::Revolute { limits, .. }
        | Self::Prismatic { limits, .. }
        | Self::Wheel { limits, .. } = &mut self
        {
            *limits = Some([low, high]);
        }
        self
    }

    /// Returns the rod, hinge, slider or wheel with a motor: its speed, m/s or rad/s, and largest force, N, or torque,
    /// N·m.
    #[must_use]
    pub fn motor(mut self, speed: f32, max: f32) -> Self {
        if let Self::Distance { motor, .. }
        | Self::Revolute { motor, .. }
        | Self::Prismatic { motor, .. }
        | Self::Wheel { motor, .. } = &mut self
        {
            *motor = Some(Motor { speed, max });
        }
        self
    }

    /// Returns the hinge, slider or wheel with a spring.
    #[must_use]
    pub fn sprung(mut self, new: Spring) -> Self {
        if let Self::Revolute { spring, .. } | Self::Prismatic { spring, .. } | Self::Wheel { spring, .. } = &mut self {
            *spring = Some(new);
        }
        self
    }

    /// Returns the hinge, slider or weld with this angle of B against A as 0, rad, in place of the one it starts with.
    #[must_use]
    pub fn reference_angle(mut self, angle: f32) -> Self {
        if let Self::Revolute { reference_angle, .. }
        | Self::Prismatic { reference_angle, .. }
        | Self::Weld { reference_angle, .. } = &mut self
        {
            *reference_angle = Some(angle);
        }
        self
    }

    /// Returns the weld with this stiffness, Hz, and damping of its angle.
    #[must_use]
    pub fn angular_soft(mut self, hertz: f32, damping_ratio: f32) -> Self {
        if let Self::Weld { angular_hertz, angular_damping_ratio, .. } = &mut self {
            (*angular_hertz, *angular_damping_ratio) = (Some(hertz), Some(damping_ratio));
        }
        self
    }
}

impl Shape {
    /// Returns a half plane: all points with `normal·x ≤ offset`, m, for a normal of length 1.
    #[must_use]
    pub fn half_plane(normal: impl Into<Vec2>, offset: f32) -> Self {
        Self::new(Geometry::HalfPlane { normal: normal.into(), offset })
    }

    /// Returns a particle: a disc that never turns.
    #[must_use]
    pub fn particle(radius: f32) -> Self {
        Self::new(Geometry::Particle { radius })
    }

    /// Returns the links of an open chain through these points, m, at least 2: a ground without bumps. Bodies touch its
    /// right side, so a ground goes from right to left, as in Box2D. Box2D's chains leave out the first and the last
    /// segment; these have all.
    ///
    /// ```
    /// use drystone::{Body, Scene, Shape, World};
    ///
    /// let mut scene = Scene::new("hills");
    /// let hill = |x: i16| [f32::from(-x), (0.5 * f32::from(x)).sin()];
    /// scene.add(Body::fixed(0.0, 0.0).shapes(Shape::chain((-20..=20).map(hill))));
    /// let ball = scene.add(Body::dynamic(0.0, 3.0).shape(Shape::circle(0.3)));
    /// let mut world = World::new(&scene)?;
    /// (0..120).try_for_each(|_| world.step())?;
    /// assert!(world.body(ball)?.position().y > -1.0);
    /// # Ok::<(), drystone::WorldError>(())
    /// ```
    #[must_use]
    pub fn chain(points: impl IntoIterator<Item = impl Into<Vec2>>) -> Vec<Self> {
        links(&points.into_iter().map(Into::into).collect::<Vec<Vec2>>(), false)
    }

    /// Returns the links of a closed chain through these points, m, at least 3. Bodies touch it from outside if the
    /// points go counter-clockwise, and from inside, as in a bowl, if they go clockwise.
    #[must_use]
    pub fn chain_loop(points: impl IntoIterator<Item = impl Into<Vec2>>) -> Vec<Self> {
        links(&points.into_iter().map(Into::into).collect::<Vec<Vec2>>(), true)
    }

    /// Returns the shape as a platform that bodies pass from the inside. Links of a chain only.
    #[must_use]
    pub fn one_way(mut self) -> Self {
        self.one_way = true;
        self
    }
}

/// Returns the links between consecutive points.
fn links(points: &[Vec2], is_closed: bool) -> Vec<Shape> {
    let count = points.len();
    let point = |index: Option<usize>| match index {
        Some(index) if index < count => Some(points[index]),
        _ if is_closed && count > 0 => index.map_or(points.last().copied(), |index| Some(points[index % count])),
        _ => None,
    };
    let last = if is_closed { count } else { count.saturating_sub(1) };
    let link = |index: usize| Geometry::Link {
        a: points[index],
        b: points[(index + 1) % count],
        before: point(index.checked_sub(1)),
        after: point(Some(index + 2)),
    };
    (0..last).map(|index| Shape::new(link(index))).collect()
}
