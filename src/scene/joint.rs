//! What ties bodies together: joints, springs, motors. Plain data with builder methods, as in [`super::model`].
//!
//! A joint acts between an anchor on body A and one on body B. Without a body A it holds B to the world, and
//! `anchor_a` is a place in it. What is not given (a length, a reference angle) is as the bodies stand when the scene
//! starts.

use glam::Vec2;

/// A tie between two bodies, or between a body and the world.
#[derive(Clone, Debug, PartialEq)]
pub struct Joint {
    /// Name for reports; unique among the joints of the scene.
    pub id: Option<String>,
    /// Index of body A; `None` is the world.
    pub a: Option<usize>,
    /// Index of body B.
    pub b: usize,
    /// In A's frame (its origin, not its centre of mass), m.
    pub anchor_a: Vec2,
    /// In B's frame (its origin, not its centre of mass), m.
    pub anchor_b: Vec2,
    /// What it holds and what it leaves free.
    pub kind: JointKind,
    /// Whether the two bodies touch each other.
    pub collide: bool,
    /// Stiffness of what the joint holds, Hz, above 0; never above a quarter of the substep rate. `None`: 60, which is
    /// rigid to the eye.
    pub hertz: Option<f32>,
    /// Damping of what the joint holds, at least 0; 1 is critical. `None`: 2.
    pub damping_ratio: Option<f32>,
    /// Breaks when it pulls or pushes harder than this, N, above 0.
    pub break_force: Option<f32>,
    /// Breaks when it turns harder than this, N·m, above 0.
    pub break_torque: Option<f32>,
    /// A joint that is switched off does nothing.
    pub enabled: bool,
}

/// A motor: it drives towards a speed with what force it has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Motor {
    /// m/s, or rad/s where it turns. Positive lengthens, moves B along the axis, or turns B counter-clockwise.
    pub speed: f32,
    /// Largest force, N, or torque, N·m; at least 0.
    pub max: f32,
}

/// A spring about a rest position, stated by how it swings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spring {
    /// Frequency at which the two bodies would swing on it, Hz, above 0.
    pub hertz: f32,
    /// 1 is critical; at least 0.
    pub damping_ratio: f32,
    /// Rest position: m along the axis, or rad.
    pub target: f32,
}

/// What a joint holds and what it leaves free.
#[derive(Clone, Debug, PartialEq)]
pub enum JointKind {
    /// Holds the distance of the anchors: a rod. With limits and without [`Joint::hertz`](Joint::hertz) the distance is
    /// free between them: a rope, with limits from 0, or a piston. With a motor as well: a winch.
    Distance {
        /// m. `None`: as the scene starts.
        length: Option<f32>,
        /// Shortest and longest, m.
        limits: Option<[f32; 2]>,
        /// Drives the distance, m/s.
        motor: Option<Motor>,
    },
    /// Hooke's spring between the anchors. Stiffer springs than a substep can follow act as the stiffest it can: one on which
    /// the two bodies swing at 54 Hz at the default rate (√2 rad a substep).
    Spring {
        /// m. `None`: as the scene starts.
        rest_length: Option<f32>,
        /// N/m, at least 0.
        stiffness: f32,
        /// N·s/m, at least 0.
        damping: f32,
    },
    /// Holds the anchors together: a hinge.
    Revolute {
        /// Angle of B against A that counts as 0, rad. `None`: as the scene starts.
        reference_angle: Option<f32>,
        /// Least and greatest angle, rad.
        limits: Option<[f32; 2]>,
        /// Turns B against A.
        motor: Option<Motor>,
        /// Pulls towards an angle.
        spring: Option<Spring>,
    },
    /// Leaves B free to slide along an axis of A, and holds its angle.
    Prismatic {
        /// In A's frame, of length 1.
        axis: Vec2,
        /// Angle of B against A that is held, rad. `None`: as the scene starts.
        reference_angle: Option<f32>,
        /// Least and greatest travel, m.
        limits: Option<[f32; 2]>,
        /// Drives along the axis.
        motor: Option<Motor>,
        /// Pulls towards a place on the axis.
        spring: Option<Spring>,
    },
    /// Leaves B free to slide along an axis of A and to turn: a wheel on its suspension.
    Wheel {
        /// In A's frame, of length 1: the way of the suspension.
        axis: Vec2,
        /// Least and greatest travel, m.
        limits: Option<[f32; 2]>,
        /// Turns B.
        motor: Option<Motor>,
        /// The suspension.
        spring: Option<Spring>,
    },
    /// Holds place and angle. [`Joint::hertz`] is the stiffness of the place.
    Weld {
        /// Angle of B against A that is held, rad. `None`: as the scene starts.
        reference_angle: Option<f32>,
        /// Stiffness of the angle, Hz. `None`: as [`Joint::hertz`].
        angular_hertz: Option<f32>,
        /// Damping of the angle. `None`: as [`Joint::damping_ratio`].
        angular_damping_ratio: Option<f32>,
    },
    /// Drives B to a place and an angle against A, with limited force: for what shall be moved and may be stopped.
    Motor {
        /// Of B's anchor against A's, in A's frame, m.
        linear_offset: Vec2,
        /// rad.
        angular_offset: f32,
        /// N, at least 0.
        max_force: f32,
        /// N·m, at least 0.
        max_torque: f32,
    },
    /// Pulls B's anchor towards a place in the world, softly. `a` is `None`.
    Mouse {
        /// In the world, m.
        target: Vec2,
        /// N, at least 0.
        max_force: f32,
    },
}

impl Joint {
    /// Between two bodies, at their origins.
    #[must_use]
    pub fn new(kind: JointKind, a: usize, b: usize) -> Self {
        Self { a: Some(a), ..Self::to_world(kind, b) }
    }

    /// Between a body and the world.
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
            enabled: true,
        }
    }

    /// With anchors in the frames of the bodies, m.
    #[must_use]
    pub fn anchors(mut self, a: impl Into<Vec2>, b: impl Into<Vec2>) -> Self {
        self.anchor_a = a.into();
        self.anchor_b = b.into();
        self
    }

    /// Not rigid but swinging at this frequency, Hz, with this damping ratio.
    #[must_use]
    pub fn soft(mut self, hertz: f32, damping_ratio: f32) -> Self {
        self.hertz = Some(hertz);
        self.damping_ratio = Some(damping_ratio);
        self
    }

    /// The two bodies touch each other.
    #[must_use]
    pub fn collide(mut self) -> Self {
        self.collide = true;
        self
    }

    /// Breaks above this force, N.
    #[must_use]
    pub fn break_force(mut self, force: f32) -> Self {
        self.break_force = Some(force);
        self
    }

    /// Breaks above this torque, N·m.
    #[must_use]
    pub fn break_torque(mut self, torque: f32) -> Self {
        self.break_torque = Some(torque);
        self
    }

    /// Named.
    #[must_use]
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }
}

impl JointKind {
    /// A rod that keeps the length it starts with.
    #[must_use]
    pub fn rod() -> Self {
        Self::Distance { length: None, limits: None, motor: None }
    }

    /// A rope: slack up to `length`, m.
    #[must_use]
    pub fn rope(length: f32) -> Self {
        Self::Distance { length: None, limits: Some([0.0, length]), motor: None }
    }

    /// A spring of the length it starts with: stiffness in N/m, damping in N·s/m.
    #[must_use]
    pub fn spring(stiffness: f32, damping: f32) -> Self {
        Self::Spring { rest_length: None, stiffness, damping }
    }

    /// A hinge.
    #[must_use]
    pub fn hinge() -> Self {
        Self::Revolute { reference_angle: None, limits: None, motor: None, spring: None }
    }

    /// A slider along an axis of body A.
    #[must_use]
    pub fn slider(axis: impl Into<Vec2>) -> Self {
        Self::Prismatic { axis: axis.into(), reference_angle: None, limits: None, motor: None, spring: None }
    }

    /// A wheel on a suspension along an axis of body A.
    #[must_use]
    pub fn wheel(axis: impl Into<Vec2>, spring: Spring) -> Self {
        Self::Wheel { axis: axis.into(), limits: None, motor: None, spring: Some(spring) }
    }

    /// Holds the bodies as they stand.
    #[must_use]
    pub fn weld() -> Self {
        Self::Weld { reference_angle: None, angular_hertz: None, angular_damping_ratio: None }
    }

    /// The number of the type on the device, as [`types::Joint::flags`](crate::types::Joint::flags) say it.
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
        }
    }

    /// The words for them in scene files, by number.
    pub const NAMES: [&'static str; 8] =
        ["distance", "spring", "revolute", "prismatic", "wheel", "weld", "motor", "mouse"];

    /// The word for it in scene files.
    #[must_use]
    pub fn name(&self) -> &'static str {
        Self::NAMES[self.number() as usize]
    }
}
