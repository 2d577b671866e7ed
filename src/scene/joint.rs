//! Joints, springs and motors of a scene. Plain data with builder methods, as in [`super::model`].
//!
//! A joint acts between an anchor on body A and one on body B. Without a body A it connects B to the world, and
//! `anchor_a` is a point of the world. A length or reference angle that is not given is measured when the scene starts.

use glam::Vec2;

use crate::types::{JOINT_GEAR, JOINT_PULLEY, JOINT_TYPE_SHIFT, JointData};

/// A joint between two bodies, or between a body and the world.
///
/// ```
/// use drystone::{Body, Joint, JointKind, Scene, Shape, World};
///
/// // A pendulum: a ball on a rod of 1 m.
/// let mut scene = Scene::new("pendulum");
/// let ball = scene.add(Body::dynamic(1.0, 0.0).shape(Shape::circle(0.1)));
/// scene.join(Joint::to_world(JointKind::rod(), ball));
/// let mut world = World::new(&scene)?;
/// for _ in 0..60 {
///     world.step()?;
/// }
/// assert!((world.body(ball)?.position().length() - 1.0).abs() < 0.01);
/// # Ok::<(), drystone::WorldError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Joint {
    /// Name for reports; unique among the joints of the scene.
    pub id: Option<String>,
    /// Index of body A; `None` is the world.
    pub a: Option<usize>,
    /// Index of body B.
    pub b: usize,
    /// Anchor in A's frame (from its origin, not its centre of mass), m.
    pub anchor_a: Vec2,
    /// Anchor in B's frame (from its origin, not its centre of mass), m.
    pub anchor_b: Vec2,
    /// Type of the joint: the motions that it constrains.
    pub kind: JointKind,
    /// True if the two bodies collide with each other. Default false.
    pub collide: bool,
    /// Stiffness of the joint's constraints, Hz, above 0; never above a quarter of the substep rate. `None`: 60, which
    /// looks rigid.
    pub hertz: Option<f32>,
    /// Damping ratio of the joint's constraints, at least 0; 1 is critical. `None`: 2.
    pub damping_ratio: Option<f32>,
    /// Force above which the joint breaks, N, above 0. `None`: never.
    pub break_force: Option<f32>,
    /// Torque above which the joint breaks, N·m, above 0. `None`: never.
    pub break_torque: Option<f32>,
    /// Smallest and largest force of the joint's spring, N, or torque, N·m; positive pushes the anchors apart, B along
    /// the axis, or B counter-clockwise. `[-1e15, 0.0]` is a bungee cord, which only pulls. `None`: without bounds.
    pub spring_range: Option<[f32; 2]>,
    /// False switches the joint off: it does not act.
    pub enabled: bool,
}

/// A motor: drives towards a speed with limited force or torque.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Motor {
    /// Target speed, m/s, or rad/s for motors that turn. Positive lengthens, moves B along the axis, or turns B
    /// counter-clockwise.
    pub speed: f32,
    /// Largest force, N, or torque, N·m; at least 0.
    pub max: f32,
}

/// A spring about a rest position, by frequency and damping ratio.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spring {
    /// Frequency at which the two bodies would swing on it, Hz, above 0.
    pub hertz: f32,
    /// Damping ratio, at least 0; 1 is critical.
    pub damping_ratio: f32,
    /// Rest position: m along the axis, or rad.
    pub target: f32,
}

/// Type of a joint: the motions that it constrains and those that it leaves free.
#[derive(Clone, Debug, PartialEq)]
pub enum JointKind {
    /// Rod: holds the distance of the anchors. With limits and without [`Joint::hertz`](Joint::hertz) the distance is
    /// free between them: a rope, with limits from 0, or a piston. With a motor as well: a winch.
    Distance {
        /// Length, m. `None`: measured when the scene starts.
        length: Option<f32>,
        /// Shortest and longest distance, m.
        limits: Option<[f32; 2]>,
        /// Motor that drives the distance, m/s.
        motor: Option<Motor>,
    },
    /// Hooke's spring between the anchors. A spring too stiff for the substep acts as the stiffest possible one: at the
    /// default rate the two bodies swing on it at 54 Hz (√2 rad a substep).
    Spring {
        /// Rest length, m. `None`: measured when the scene starts.
        rest_length: Option<f32>,
        /// Stiffness, N/m, at least 0.
        stiffness: f32,
        /// Damping, N·s/m, at least 0.
        damping: f32,
    },
    /// Hinge: holds the anchors together.
    Revolute {
        /// Angle of B against A that counts as 0, rad. `None`: measured when the scene starts.
        reference_angle: Option<f32>,
        /// Lower and upper angle, rad.
        limits: Option<[f32; 2]>,
        /// Motor that turns B against A.
        motor: Option<Motor>,
        /// Spring that pulls towards an angle.
        spring: Option<Spring>,
    },
    /// Slider: lets B slide along an axis of A, and holds its angle.
    Prismatic {
        /// Axis in A's frame, of length 1.
        axis: Vec2,
        /// Angle of B against A that is held, rad. `None`: measured when the scene starts.
        reference_angle: Option<f32>,
        /// Lower and upper travel, m.
        limits: Option<[f32; 2]>,
        /// Motor that drives B along the axis.
        motor: Option<Motor>,
        /// Spring that pulls towards a position on the axis.
        spring: Option<Spring>,
    },
    /// Wheel on a suspension: lets B slide along an axis of A and turn.
    Wheel {
        /// Axis of the suspension in A's frame, of length 1.
        axis: Vec2,
        /// Lower and upper travel, m.
        limits: Option<[f32; 2]>,
        /// Motor that turns B.
        motor: Option<Motor>,
        /// Spring of the suspension.
        spring: Option<Spring>,
    },
    /// Weld: holds position and angle. [`Joint::hertz`] is the stiffness of the position.
    Weld {
        /// Angle of B against A that is held, rad. `None`: measured when the scene starts.
        reference_angle: Option<f32>,
        /// Stiffness of the angle, Hz. `None`: as [`Joint::hertz`].
        angular_hertz: Option<f32>,
        /// Damping of the angle. `None`: as [`Joint::damping_ratio`].
        angular_damping_ratio: Option<f32>,
    },
    /// Motor joint: drives B to a position and angle against A with limited force. For bodies that are moved but can be
    /// stopped.
    Motor {
        /// Target of B's anchor against A's, in A's frame, m.
        linear_offset: Vec2,
        /// Target angle of B against A, rad.
        angular_offset: f32,
        /// Largest force, N, at least 0.
        max_force: f32,
        /// Largest torque, N·m, at least 0.
        max_torque: f32,
    },
    /// Velocity joint: drives the velocity of B against A, at B's anchor, with limited force. At velocity 0 it is the
    /// friction of a body that is seen from above.
    Velocity {
        /// Axis in A's frame, of length 1: only the velocity along it is driven. `None`: both directions are, and the
        /// force is limited in all of them alike.
        axis: Option<Vec2>,
        /// Target velocity of B's anchor against A, in A's frame, m/s.
        velocity: Vec2,
        /// Target angular velocity of B against A, rad/s.
        angular_velocity: f32,
        /// Largest force, N, at least 0.
        max_force: f32,
        /// Largest torque, N·m, at least 0.
        max_torque: f32,
    },
    /// Gear: keeps the turns of A and B in a ratio. It acts on angles alone: each body needs an axle of its own, as a
    /// rule a hinge to the world, which carries the torque that one body takes and the other does not get.
    /// [`Joint::hertz`] makes it a belt that gives. Switched off and on it is a clutch, which engages at any angle.
    /// A wheel may turn by less than half a turn in a step, 188 rad/s at the default step; only discs turn faster.
    Gear {
        /// Turns of B for a turn of A, from 0.001 to 1000, or negative: wheels whose teeth meet turn against each
        /// other, by minus the radius of A over that of B. A belt, or a wheel inside a ring, has a positive ratio.
        ratio: f32,
    },
    /// Pulley: a rope from the anchor of A over a fixed point, to another fixed point, and down to the anchor of B. It
    /// pulls and never pushes: the distance of A's anchor from its point and `ratio` times that of B's anchor from its
    /// own are together at most `length`. It pulls B with `ratio` times the force on A, as a block and tackle does.
    /// [`Joint::break_force`] counts the force on B. An anchor at its point is not pulled, and the rope holds the other
    /// body alone.
    Pulley {
        /// Point of the world over which the rope goes to A, m.
        ground_a: Vec2,
        /// Point of the world over which the rope goes to B, m.
        ground_b: Vec2,
        /// Factor of B's distance, from 0.001 to 1000.
        ratio: f32,
        /// Longest sum of A's distance and `ratio` times B's, m. `None`: measured when the scene starts.
        length: Option<f32>,
    },
    /// Mouse joint: pulls B's anchor softly towards a point of the world. `a` is `None`.
    Mouse {
        /// Point of the world, m.
        target: Vec2,
        /// Largest force, N, at least 0.
        max_force: f32,
    },
}

impl Joint {
    /// Returns a joint between two bodies, at their origins.
    #[must_use]
    pub fn new(kind: JointKind, a: usize, b: usize) -> Self {
        Self { a: Some(a), ..Self::to_world(kind, b) }
    }

    /// Returns a joint between a body and the world.
    #[must_use]
    pub fn to_world(kind: JointKind, b: usize) -> Self {
        Self {
            id: None,
            a: None,
            b,
            anchor_a: Vec2::ZERO,
            anchor_b: Vec2::ZERO,
            kind,
            collide: false,
            hertz: None,
            damping_ratio: None,
            break_force: None,
            break_torque: None,
            spring_range: None,
            enabled: true,
        }
    }

    /// Returns the joint with these anchors in the frames of the bodies, m.
    #[must_use]
    pub fn anchors(mut self, a: impl Into<Vec2>, b: impl Into<Vec2>) -> Self {
        self.anchor_a = a.into();
        self.anchor_b = b.into();
        self
    }

    /// Returns the joint as a soft one of this frequency, Hz, and damping ratio.
    #[must_use]
    pub fn soft(mut self, hertz: f32, damping_ratio: f32) -> Self {
        self.hertz = Some(hertz);
        self.damping_ratio = Some(damping_ratio);
        self
    }

    /// Returns the joint with collisions between its two bodies.
    #[must_use]
    pub fn collide(mut self) -> Self {
        self.collide = true;
        self
    }

    /// Returns the joint with this force above which it breaks, N.
    #[must_use]
    pub fn break_force(mut self, force: f32) -> Self {
        self.break_force = Some(force);
        self
    }

    /// Returns the joint with this torque above which it breaks, N·m.
    #[must_use]
    pub fn break_torque(mut self, torque: f32) -> Self {
        self.break_torque = Some(torque);
        self
    }

    /// Returns the joint with a smallest and a largest force of its spring, N, or torque, N·m
    /// ([`Joint::spring_range`](field@Joint::spring_range)).
    #[must_use]
    pub fn spring_range(mut self, low: f32, high: f32) -> Self {
        self.spring_range = Some([low, high]);
        self
    }

    /// Returns the joint with a name.
    #[must_use]
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }
}

impl JointKind {
    /// Returns a rod of the length it starts with.
    #[must_use]
    pub fn rod() -> Self {
        Self::Distance { length: None, limits: None, motor: None }
    }

    /// Returns a rope: slack up to `length`, m.
    #[must_use]
    pub fn rope(length: f32) -> Self {
        Self::Distance { length: None, limits: Some([0.0, length]), motor: None }
    }

    /// Returns a spring of the length it starts with: stiffness in N/m, damping in N·s/m.
    #[must_use]
    pub fn spring(stiffness: f32, damping: f32) -> Self {
        Self::Spring { rest_length: None, stiffness, damping }
    }

    /// Returns a hinge.
    #[must_use]
    pub fn hinge() -> Self {
        Self::Revolute { reference_angle: None, limits: None, motor: None, spring: None }
    }

    /// Returns a slider along an axis of body A.
    #[must_use]
    pub fn slider(axis: impl Into<Vec2>) -> Self {
        Self::Prismatic { axis: axis.into(), reference_angle: None, limits: None, motor: None, spring: None }
    }

    /// Returns a wheel on a suspension along an axis of body A.
    #[must_use]
    pub fn wheel(axis: impl Into<Vec2>, spring: Spring) -> Self {
        Self::Wheel { axis: axis.into(), limits: None, motor: None, spring: Some(spring) }
    }

    /// Returns a weld, which holds the bodies as they start.
    #[must_use]
    pub fn weld() -> Self {
        Self::Weld { reference_angle: None, angular_hertz: None, angular_damping_ratio: None }
    }

    /// Returns the type's number in [`types::JointData::flags`](crate::types::JointData::flags).
    pub(crate) fn number(&self) -> u32 {
        match self {
            Self::Distance { .. } => 0,
            Self::Spring { .. } => 1,
            Self::Revolute { .. } => 2,
            Self::Prismatic { .. } => 3,
            Self::Wheel { .. } => 4,
            Self::Weld { .. } => 5,
            Self::Motor { .. } => 6,
            Self::Mouse { .. } => 7,
            Self::Velocity { .. } => 8,
            Self::Gear { .. } => JOINT_GEAR,
            Self::Pulley { .. } => JOINT_PULLEY,
        }
    }

    /// Names of the types in scene files, by number.
    const NAMES: [&'static str; 11] = [
        "distance",
        "spring",
        "revolute",
        "prismatic",
        "wheel",
        "weld",
        "motor",
        "mouse",
        "velocity",
        "gear",
        "pulley",
    ];

    /// Returns the name of the type in scene files.
    #[must_use]
    pub fn name(&self) -> &'static str {
        Self::NAMES[self.number() as usize]
    }
}

impl JointData {
    /// Returns the name of the joint's type in scene files.
    #[must_use]
    pub fn kind_name(&self) -> &'static str {
        JointKind::NAMES[(self.flags >> JOINT_TYPE_SHIFT) as usize & 15]
    }
}
