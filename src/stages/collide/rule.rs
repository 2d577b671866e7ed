//! Calls the scene's rule for each contact that touches ([`ContactRule`]; `shaders/rule.wgsl`): in `collide` it drops
//! contacts, and in `prepare` the others get the friction, restitution, … that it returns.
//!
//! Reads contacts, manifolds, shapes and states; writes contacts and manifolds. The rows that the rule returns are kept
//! until `prepare`; the device calls it again there.

use glam::Vec2;

use crate::math::{cross_scalar, smaller};
use crate::scene::{Compiled, ContactRule};
use crate::stages::prepare::{friction, kinetic_friction, prepare_surface, restitution};
use crate::tables::Tables;
use crate::types::{
    BodyState, CACHED, Contact, IMPACT, Manifold, NONE, POINT_COUNT_MASK, Params, RuleContact, SENSOR, ShapeData,
    TOUCHED, u32_from,
};

/// Calls the rule for all contacts, if the scene has one. `ruled` gets a row for each, which is zero where nothing
/// touches.
pub fn rule(compiled: &Compiled, tables: &mut Tables, ruled: &mut Vec<RuleContact>) {
    let Compiled { params, shapes, contact_rule: Some(rule), .. } = compiled else { return };
    let Tables { states, contacts, manifolds, .. } = tables;
    ruled.clear();
    for (contact, manifold) in contacts.iter_mut().zip(manifolds) {
        let solved = rule_contact(rule, params, shapes, |body| states[body as usize], contact, manifold);
        drop_by_rule(&solved, contact, manifold);
        ruled.push(solved);
    }
}

/// Drops a contact if the rule does not let it touch.
pub fn drop_by_rule(solved: &RuleContact, contact: &mut Contact, manifold: &mut Manifold) {
    if is_solid(contact) && solved.touches == 0 {
        drop_points(contact, manifold);
    }
}

/// Takes the points of a contact.
pub fn drop_points(contact: &mut Contact, manifold: &mut Manifold) {
    // Not cached either: in the next step the shapes are compared again, also where they have not moved.
    contact.flags &= !(POINT_COUNT_MASK | CACHED | IMPACT);
    (contact.color, contact.features, contact.rolling_impulse) = (NONE, 0, 0.0);
    *manifold = Manifold::default();
}

/// Returns true if there is something to solve.
#[must_use]
pub fn is_solid(contact: &Contact) -> bool {
    contact.flags & POINT_COUNT_MASK != 0 && contact.flags & SENSOR == 0
}

/// Calls the rule for one contact. Returns its row, which is zero if there is nothing to solve.
pub fn rule_contact(
    rule: &ContactRule,
    params: &Params,
    shapes: &[ShapeData],
    state_of: impl Fn(u32) -> BodyState,
    contact: &Contact,
    manifold: &Manifold,
) -> RuleContact {
    if !is_solid(contact) {
        return RuleContact::default();
    }
    let pair = [contact.shape_a, contact.shape_b].map(|shape| &shapes[shape as usize]);
    let states = [contact.body_a, contact.body_b].map(state_of);
    rule.call(seen_by_rule(params, pair, states, contact, manifold))
}

/// Returns a contact as the rule sees it.
fn seen_by_rule(
    params: &Params,
    [shape_a, shape_b]: [&ShapeData; 2],
    [state_a, state_b]: [BodyState; 2],
    contact: &Contact,
    manifold: &Manifold,
) -> RuleContact {
    let [first, second] = &manifold.points;
    let has_two = contact.flags & POINT_COUNT_MASK > 1;
    let middle = |first: [f32; 2], second: [f32; 2]| {
        let (first, second) = (Vec2::from(first), Vec2::from(second));
        if has_two { (first + second) * 0.5 } else { first }
    };
    let (r_a, r_b) = (middle(first.anchor_a, second.anchor_a), middle(first.anchor_b, second.anchor_b));
    let velocity_at = |state: &BodyState, r| Vec2::from(state.velocity) + cross_scalar(state.angular_velocity, r);
    let separation = if has_two { smaller(first.separation, second.separation) } else { first.separation };
    let surface = prepare_surface(params, [shape_a, shape_b], contact);
    RuleContact {
        normal: manifold.normal,
        velocity: (velocity_at(&state_b, r_b) - velocity_at(&state_a, r_a)).into(),
        separation,
        friction: friction(params, shape_a, shape_b),
        kinetic_friction: kinetic_friction(params, shape_a, shape_b),
        restitution: restitution(params, shape_a, shape_b),
        tangent_speed: surface.tangent_speed,
        rolling_resistance: surface.rolling_resistance,
        touches: 1,
        is_new: u32::from(contact.flags & TOUCHED == 0),
        material_a: u32_from(shape_a.material()),
        material_b: u32_from(shape_b.material()),
        category_a: shape_a.category,
        category_b: shape_b.category,
        body_a: contact.body_a,
        body_b: contact.body_b,
        shape_a: contact.shape_a,
        shape_b: contact.shape_b,
    }
}
