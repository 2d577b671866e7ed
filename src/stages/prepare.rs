//! **prepare**: builds the contact constraints of a step in colour order: lever arms, effective masses, separations,
//! and restitution data. Box2D: `b2PrepareContactsTask`.
//!
//! Reads slots, contacts, manifolds, bodies, shapes (materials) and states; writes constraints with their rebounds, and
//! surfaces if any material has one. Visits one constraint after the other. Masses are copied into the constraint so
//! that a sweep reads nothing but constraints and states.
//!
//! The table on the device leaves out what can be derived ([`Constraint`]): the arm of the second point on B, which the
//! device derives up to a rounding error, and the effective masses.

use glam::Vec2;

use super::color::split::{ConstraintShares, Splits};
use crate::constants::MAX_PRELOAD;
use crate::mass_scale::{scaled, softening_at};
use crate::math::{effective_mass, larger, right_perp, turned};
use crate::types::{
    ASLEEP, BOUNCES, BodyData, BodyState, Constraint, Contact, LOADED, MASS_MASK, MIX_MAX, MIX_MEAN, MIX_MIN,
    MIX_PRODUCT, Manifold, POINT_COUNT_MASK, Params, ROUND_A, ROUND_B, Rebound, RuleContact, SLEEP, SPRING_MASK,
    SPRING_SHIFT, SURFACES, ShapeData, Surface, WARM_START,
};

/// Fills `constraints` and, if any material needs more than friction and restitution, `surfaces`. `ruled`: the rows
/// that the scene's rule has returned for the contacts; empty if it has none.
pub fn prepare(
    params: &Params,
    bodies: &[BodyData],
    shapes: &[ShapeData],
    states: &[BodyState],
    contacts: &[Contact],
    manifolds: &[Manifold],
    slots: &[u32],
    splits: &Splits,
    ruled: &[RuleContact],
    constraints: &mut Vec<ContactConstraint>,
    surfaces: &mut Vec<Surface>,
) {
    constraints.clear();
    surfaces.clear();
    for (slot, &index) in slots.iter().enumerate() {
        let contact = &contacts[index as usize];
        let (a, b) = (contact.body_a as usize, contact.body_b as usize);
        let shapes = [&shapes[contact.shape_a as usize], &shapes[contact.shape_b as usize]];
        let mut constraint = prepare_contact(
            params,
            [&bodies[a], &bodies[b]],
            shapes,
            [states[a], states[b]],
            contact,
            &manifolds[index as usize],
        );
        let solved = ruled.get(index as usize);
        if let Some(solved) = solved {
            constraint.follow(solved);
        }
        if let Some(split) = splits.split_at(slot) {
            constraint.split(splits.shares(split, contact));
        }
        constraint.find_masses();
        constraints.push(constraint);
        if params.switches & SURFACES != 0 {
            surfaces.push(surface_by_rule(prepare_surface(params, shapes, contact), solved));
        }
    }
}

/// Returns the constraint of a contact, without effective masses ([`ContactConstraint::find_masses`]). States are read
/// only if bodies may sleep or their masses are scaled.
#[inline(always)]
#[must_use]
pub fn prepare_contact(
    params: &Params,
    [mut body_a, mut body_b]: [&BodyData; 2],
    [shape_a, shape_b]: [&ShapeData; 2],
    [state_a, state_b]: [BodyState; 2],
    contact: &Contact,
    manifold: &Manifold,
) -> ContactConstraint {
    let bounces = params.switches & BOUNCES != 0;
    // A sleeping body acts as a static one. It has no contact to solve, unless a buffer was too small.
    let resting = BodyData::default();
    if params.switches & SLEEP != 0 && state_a.status & ASLEEP != 0 {
        body_a = &resting;
    }
    if params.switches & SLEEP != 0 && state_b.status & ASLEEP != 0 {
        body_b = &resting;
    }
    let [true_a, true_b] = [body_a, body_b];
    let (scaled_a, scaled_b);
    let is_scaled = params.mass_per_impulse > 0.0 && (state_a.status | state_b.status) & MASS_MASK != 0;
    if is_scaled {
        (scaled_a, scaled_b) = (scaled(body_a, state_a.status), scaled(body_b, state_b.status));
        (body_a, body_b) = (&scaled_a, &scaled_b);
    }
    let spring = params.spring_of(shape_a, shape_b);
    // A stiffness of the user's choice is a spring, which sags under its load.
    let mut preloads = if spring == 0 { manifold.preloads } else { [0.0; 2] };
    let mut constraint = ContactConstraint {
        body_a: contact.body_a,
        body_b: contact.body_b,
        normal: manifold.normal,
        inv_mass_a: body_a.inv_mass,
        inv_inertia_a: body_a.inv_inertia,
        inv_mass_b: body_b.inv_mass,
        inv_inertia_b: body_b.inv_inertia,
        friction: friction(params, shape_a, shape_b),
        flags: contact.flags & !SPRING_MASK | spring << SPRING_SHIFT,
        ..ContactConstraint::default()
    };
    for (shape, flag) in [(shape_a, ROUND_A), (shape_b, ROUND_B)] {
        if shape.is_centred_disc() {
            constraint.flags |= flag;
        }
    }
    if bounces {
        constraint.rebound = prepare_rebound(params, [body_a, body_b], [shape_a, shape_b], manifold);
    }
    let count = (contact.flags & POINT_COUNT_MASK) as usize;
    for (end, at) in manifold.by_depth(contact.flags).into_iter().enumerate().take(count) {
        let (point, preload) = (&manifold.points[at], &mut preloads[at]);
        let [r_a, r_b] = arms(constraint.flags, [shape_a, shape_b], manifold, at);
        if is_scaled {
            let inv = |a: &BodyData, b: &BodyData| [a.inv_mass, a.inv_inertia, b.inv_mass, b.inv_inertia];
            let (scaled, unscaled) = (inv(body_a, body_b), inv(true_a, true_b));
            *preload *= softening_at(scaled, unscaled, r_a.into(), r_b.into(), manifold.normal.into());
        }
        constraint.points[end] =
            ConstraintPoint { r_a, r_b, separation: point.separation - *preload, ..ConstraintPoint::default() };
        if params.switches & WARM_START != 0 {
            constraint.impulses[2 * end] = point.normal_impulse;
            constraint.impulses[2 * end + 1] = point.tangent_impulse;
        }
    }
    if larger(preloads[0], preloads[1]) > MAX_PRELOAD * params.linear_slop {
        constraint.flags |= LOADED;
    }
    constraint
}

/// Returns the arms of a point: those of discs are along the normal.
#[inline(always)]
fn arms(flags: u32, [shape_a, shape_b]: [&ShapeData; 2], manifold: &Manifold, end: usize) -> [[f32; 2]; 2] {
    let (normal, point) = (Vec2::from(manifold.normal), &manifold.points[end]);
    [
        if flags & ROUND_A != 0 { (normal * shape_a.radius).into() } else { point.anchor_a },
        if flags & ROUND_B != 0 { (normal * -shape_b.radius).into() } else { point.anchor_b },
    ]
}

/// Returns the restitution data of a contact.
fn prepare_rebound(
    params: &Params,
    [body_a, body_b]: [&BodyData; 2],
    [shape_a, shape_b]: [&ShapeData; 2],
    manifold: &Manifold,
) -> Rebound {
    let pushed = |body: &BodyData| {
        if body.inv_mass > 0.0 {
            Vec2::from(params.gravity) * body.gravity_scale + Vec2::from(body.force) * body.inv_mass
        } else {
            Vec2::ZERO
        }
    };
    let mut rebound = Rebound {
        restitution: restitution(params, shape_a, shape_b),
        acceleration: (pushed(body_b) - pushed(body_a)).into(),
        ..Rebound::default()
    };
    if shape_a.is_centred_disc() && shape_b.is_centred_disc() {
        let point = &manifold.points[0];
        rebound.radii = shape_a.radius + shape_b.radius;
        rebound.between = (Vec2::from(point.anchor_a) - Vec2::from(point.anchor_b)).into();
        rebound.radius_a = shape_a.radius;
    }
    rebound
}

/// Returns the coefficient of friction at rest of two shapes: that of their pair of materials, or mixed.
#[inline]
#[must_use]
pub fn friction(params: &Params, a: &ShapeData, b: &ShapeData) -> f32 {
    let own = params.of_pair(&params.pair_friction, a, b);
    own.unwrap_or_else(|| mix(params.friction_mix, a.friction, b.friction))
}

/// Returns the coefficient of friction while sliding of two shapes: that of their pair of materials, or mixed.
pub(super) fn kinetic_friction(params: &Params, a: &ShapeData, b: &ShapeData) -> f32 {
    let own = params.of_pair(&params.pair_kinetic_friction, a, b);
    own.unwrap_or_else(|| mix(params.friction_mix, a.kinetic_friction, b.kinetic_friction))
}

/// Returns the coefficient of restitution of two shapes: that of their pair of materials, or mixed.
pub(super) fn restitution(params: &Params, a: &ShapeData, b: &ShapeData) -> f32 {
    let own = params.of_pair(&params.pair_restitution, a, b);
    own.unwrap_or_else(|| mix(params.restitution_mix, a.restitution, b.restitution))
}

/// Returns a coefficient of two shapes by a mixing rule: friction, at rest or while sliding, or restitution.
#[inline]
fn mix(rule: u32, a: f32, b: f32) -> f32 {
    match rule {
        MIX_MIN => a.min(b),
        MIX_MAX => a.max(b),
        MIX_MEAN => 0.5 * (a + b),
        MIX_PRODUCT => a * b,
        _ => (a * b).sqrt(),
    }
}

/// Returns the material parameters of a contact beside friction and restitution.
#[must_use]
pub fn prepare_surface(params: &Params, [a, b]: [&ShapeData; 2], contact: &Contact) -> Surface {
    Surface {
        kinetic_friction: kinetic_friction(params, a, b),
        tangent_speed: a.tangent_speed + b.tangent_speed,
        rolling_resistance: a.rolling_resistance.max(b.rolling_resistance) * a.radius.max(b.radius),
        rolling_impulse: if params.switches & WARM_START == 0 { 0.0 } else { contact.rolling_impulse },
    }
}

/// Returns the material parameters of a contact, with those that the scene's rule has returned in place of its own.
#[inline]
#[must_use]
pub fn surface_by_rule(surface: Surface, solved: Option<&RuleContact>) -> Surface {
    let Some(&RuleContact { kinetic_friction, tangent_speed, rolling_resistance, .. }) = solved else { return surface };
    Surface { kinetic_friction, tangent_speed, rolling_resistance, ..surface }
}

/// Constraint of one contact, with everything a sweep needs.
#[derive(Clone, Copy, Debug, Default)]
pub struct ContactConstraint {
    /// Index of body A, as in [`Constraint::body_a`].
    pub body_a: u32,
    /// Index of body B, as in [`Constraint::body_b`].
    pub body_b: u32,
    /// Flags of the contact, as in [`Constraint::flags`].
    pub flags: u32,
    /// Unit normal from A to B, as in [`Constraint::normal`].
    pub normal: [f32; 2],
    /// Inverse mass of A, 1/kg, as in [`Constraint::inv_mass_a`].
    pub inv_mass_a: f32,
    /// Inverse inertia of A, 1/(kg·m²), as in [`Constraint::inv_inertia_a`].
    pub inv_inertia_a: f32,
    /// Inverse mass of B, 1/kg, as in [`Constraint::inv_mass_b`].
    pub inv_mass_b: f32,
    /// Inverse inertia of B, 1/(kg·m²), as in [`Constraint::inv_inertia_b`].
    pub inv_inertia_b: f32,
    /// Friction coefficient, as in [`Constraint::friction`].
    pub friction: f32,
    /// Contact points: the first `flags & POINT_COUNT_MASK` are valid, the others zero.
    pub points: [ConstraintPoint; 2],
    /// Accumulated impulses, N·s, as in [`Constraint::impulses`].
    pub impulses: [f32; 4],
    /// Separations at the last sweep after a motion, m, as in [`Constraint::measured`].
    pub measured: [f32; 2],
    /// Restitution data; zero unless a material bounces.
    pub rebound: Rebound,
}

/// Contact point of a [`ContactConstraint`].
#[derive(Clone, Copy, Debug, Default)]
pub struct ConstraintPoint {
    /// Lever arm on A, m.
    pub r_a: [f32; 2],
    /// Lever arm on B, m.
    pub r_b: [f32; 2],
    /// Separation when the step begins, less the preload, m, as in [`Constraint::separations`].
    pub separation: f32,
    /// Effective mass along the normal, kg.
    pub normal_mass: f32,
    /// Effective mass along the tangent, kg.
    pub tangent_mass: f32,
}

/// Returns the rotation of an arm since the start of the step: that of its body, unless the shape is round there
/// ([`ROUND_A`], [`ROUND_B`]).
#[inline]
#[must_use]
pub fn turn_of_arm(round: u32, rotation: Vec2) -> Vec2 {
    if round == 0 { rotation } else { Vec2::X }
}

impl ContactConstraint {
    /// Computes the separations of the points after the motion of the bodies so far.
    #[inline]
    pub fn measure(&mut self, state_a: &BodyState, state_b: &BodyState) {
        let moved = Vec2::from(state_b.delta_position) - Vec2::from(state_a.delta_position);
        let [turn_a, turn_b] = self.turns([state_a, state_b]);
        for (point, measured) in self.points.iter().zip(&mut self.measured) {
            let swung = turned(turn_b, point.r_b.into()) - turned(turn_a, point.r_a.into());
            *measured = point.separation + (moved + swung).dot(self.normal.into());
        }
    }

    /// Returns the rotations of the arms on A and on B since the start of the step.
    #[inline]
    #[must_use]
    pub fn turns(&self, [state_a, state_b]: [&BodyState; 2]) -> [Vec2; 2] {
        [
            turn_of_arm(self.flags & ROUND_A, state_a.delta_rotation.into()),
            turn_of_arm(self.flags & ROUND_B, state_b.delta_rotation.into()),
        ]
    }

    /// Takes over friction and restitution that the scene's rule has returned.
    #[inline]
    pub fn follow(&mut self, solved: &RuleContact) {
        self.friction = solved.friction;
        self.rebound.restitution = solved.restitution;
    }

    /// Refers the constraint to shares of its bodies ([`Splits`]), whose mass is that of the body over their number.
    #[allow(clippy::cast_precision_loss, reason = "at most 2^18 shares")]
    pub fn split(&mut self, ConstraintShares { rows, counts }: ConstraintShares) {
        let [count_a, count_b] = counts.map(|count| count as f32);
        [self.body_a, self.body_b] = rows;
        self.inv_mass_a *= count_a;
        self.inv_inertia_a *= count_a;
        self.inv_mass_b *= count_b;
        self.inv_inertia_b *= count_b;
    }

    /// Computes the effective masses of the valid points. The others keep 0 and so take no impulse.
    pub fn find_masses(&mut self) {
        let normal = Vec2::from(self.normal);
        let inv = [self.inv_mass_a, self.inv_inertia_a, self.inv_mass_b, self.inv_inertia_b];
        for point in &mut self.points[..(self.flags & POINT_COUNT_MASK) as usize] {
            let (r_a, r_b) = (Vec2::from(point.r_a), Vec2::from(point.r_b));
            point.normal_mass = effective_mass(inv, r_a, r_b, normal);
            point.tangent_mass = effective_mass(inv, r_a, r_b, right_perp(normal));
        }
    }

    /// Returns the row of the device's table for this constraint.
    #[must_use]
    pub fn constraint(&self) -> Constraint {
        let [p_0, p_1] = &self.points;
        Constraint {
            body_a: self.body_a,
            body_b: self.body_b,
            normal: self.normal,
            inv_mass_a: self.inv_mass_a,
            inv_inertia_a: self.inv_inertia_a,
            inv_mass_b: self.inv_mass_b,
            inv_inertia_b: self.inv_inertia_b,
            flags: self.flags,
            friction: self.friction,
            separations: [p_0.separation, p_1.separation],
            r_a: [p_0.r_a, p_1.r_a],
            r_b: p_0.r_b,
            measured: self.measured,
            impulses: self.impulses,
        }
    }

    /// Rebuilds a constraint from the device's tables.
    #[must_use]
    pub fn from_device(c: &Constraint, rebound: Rebound) -> Self {
        let between = Vec2::from(c.r_b) - Vec2::from(c.r_a[0]);
        let arms_b = [c.r_b, (Vec2::from(c.r_a[1]) + between).into()];
        let mut points = [ConstraintPoint::default(); 2];
        for (end, point) in points[..(c.flags & POINT_COUNT_MASK) as usize].iter_mut().enumerate() {
            (point.r_a, point.r_b, point.separation) = (c.r_a[end], arms_b[end], c.separations[end]);
        }
        let mut constraint = Self {
            body_a: c.body_a,
            body_b: c.body_b,
            flags: c.flags,
            normal: c.normal,
            inv_mass_a: c.inv_mass_a,
            inv_inertia_a: c.inv_inertia_a,
            inv_mass_b: c.inv_mass_b,
            inv_inertia_b: c.inv_inertia_b,
            friction: c.friction,
            points,
            impulses: c.impulses,
            measured: c.measured,
            rebound,
        };
        constraint.find_masses();
        constraint
    }
}
