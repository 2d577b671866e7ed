//! Contact rules of the solver from WGSL alone.

use bytemuck::{Zeroable, bytes_of, bytes_of_mut};
use drystone::low_level::scene::ContactRule;
use drystone::low_level::types::RuleContact;

use crate::{RuleError, RuleProgram};

/// Makes a contact rule from WGSL. The text has a function `rule` that takes a `RuleContact` and returns it; it can use
/// the declarations of [`ContactRule::PRELUDE`] and the language described in the [crate docs](crate).
///
/// ```
/// use drystone::{Body, Scene, Shape, World};
///
/// let mut scene = Scene::new("ice").gravity(0.0, -10.0);
/// scene.add(Body::fixed(0.0, 0.0).shape(Shape::half_plane([0.0, 1.0], 0.0)));
/// let puck = scene.add(Body::dynamic(0.0, 0.5).velocity(5.0, 0.0).shape(Shape::half_box(0.5, 0.5)));
/// // Fast bodies melt the ice.
/// scene.contact_rule = Some(drystone_rules::contact_rule("
///     fn rule(contact: RuleContact) -> RuleContact {
///         var solved = contact;
///         if length(contact.velocity) > 1.0 {
///             solved.friction = 0.0;
///             solved.kinetic_friction = 0.0;
///         }
///         return solved;
///     }")?);
/// let mut world = World::new(&scene)?;
/// for _ in 0..60 {
///     world.step()?;
/// }
/// assert!(world.body(puck)?.velocity().x > 4.9);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// Returns the first reason for which the text is refused, with its position.
pub fn contact_rule(wgsl: &str) -> Result<ContactRule, RuleError> {
    let program = RuleProgram::new(ContactRule::PRELUDE, wgsl, "rule", "RuleContact")?;
    Ok(ContactRule::new(wgsl, move |contact| {
        let mut solved = RuleContact::zeroed();
        program.call(bytes_of(&contact), bytes_of_mut(&mut solved));
        solved
    }))
}
