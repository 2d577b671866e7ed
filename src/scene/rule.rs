//! Contact rules: a user's own law about which contacts are solved, and with which friction, restitution, ….

use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

use crate::types::RuleContact;

/// A user's rule about contacts: a function of one [`RuleContact`] that is called for each pair of shapes that touch,
/// in every step, before the contact wakes, tells or pushes anything. It returns the contact as it is to be solved:
/// with another friction, restitution, …, or not at all ([`RuleContact::touches`]). Sensors have no rule.
///
/// It is given twice: as WGSL, which a GPU compiles into its kernels, and as a Rust function, which the CPU calls, on
/// several threads at once. Both must return the same. The crate `drystone-rules` makes the second from the first, and
/// `drystone validate` compares them on a scene. Steps repeat to the same bits if the result depends on the argument
/// alone.
///
/// Shape A is the one on the finer grid level, or not fixed, or of the lower index: a rule asks for both orders. Fast
/// bodies still stop at all that they meet ([`Settings::continuous`](crate::Settings::continuous)).
///
/// ```
/// use drystone::low_level::scene::ContactRule;
/// use drystone::low_level::types::RuleContact;
/// use drystone::{Body, Scene, Shape, World};
///
/// const GHOST: u32 = 2;
///
/// let mut scene = Scene::new("ghosts").gravity(0.0, -10.0);
/// scene.add(Body::fixed(0.0, 0.0).shape(Shape::half_plane([0.0, 1.0], 0.0)));
/// let [ball, ghost] = [1, GHOST].map(|category| {
///     let shape = Shape::circle(0.5).filter(drystone::Filter { category, ..Default::default() });
///     scene.add(Body::dynamic(3.0 * category as f32, 0.5).shape(shape))
/// });
/// let wgsl = "fn rule(contact: RuleContact) -> RuleContact {
///     var solved = contact;
///     if ((contact.category_a | contact.category_b) & 2u) == 2u && contact.category_a != contact.category_b {
///         solved.touches = 0u;
///     }
///     return solved;
/// }";
/// let call = |contact: RuleContact| {
///     let is_one = contact.category_a != contact.category_b;
///     let is_ghost = is_one && (contact.category_a | contact.category_b) & GHOST != 0;
///     RuleContact { touches: u32::from(!is_ghost), ..contact }
/// };
/// scene.contact_rule = Some(ContactRule::new(wgsl, call));
///
/// let mut world = World::new(&scene)?;
/// for _ in 0..30 {
///     world.step()?;
/// }
/// assert!(world.body(ball)?.position().y > 0.49 && world.body(ghost)?.position().y < -0.5);
/// # Ok::<(), drystone::WorldError>(())
/// ```
#[derive(Clone)]
pub struct ContactRule {
    wgsl: Arc<str>,
    call: Arc<dyn Fn(RuleContact) -> RuleContact + Send + Sync>,
}

impl ContactRule {
    /// Declarations that the WGSL of a rule can use: `RuleContact`, and the types and functions of the kernels; and
    /// names that it cannot take, as empty functions.
    pub const PRELUDE: &str = concat!(
        include_str!("../../shaders/types.wgsl"),
        include_str!("../../shaders/math.wgsl"),
        include_str!("../../shaders/rule_names.wgsl"),
    );

    /// Creates a rule from its two forms. `wgsl` has a function `rule`, as in the example, and may have functions,
    /// constants and structs of its own, but no entry points, and no names of the solver's. If it is not valid, worlds
    /// on a GPU report that when they are created.
    #[must_use]
    pub fn new(wgsl: &str, call: impl Fn(RuleContact) -> RuleContact + Send + Sync + 'static) -> Self {
        Self { wgsl: wgsl.into(), call: Arc::new(call) }
    }

    /// Returns the WGSL.
    #[must_use]
    pub fn wgsl(&self) -> &str {
        &self.wgsl
    }

    /// Returns a contact as it is to be solved, by the Rust function. A result out of range is brought into it:
    /// friction, restitution and rolling resistance are at least 0, restitution is at most 1, kinetic friction at most
    /// the one at rest, and values that are no numbers are those of the argument.
    #[must_use]
    pub fn call(&self, contact: RuleContact) -> RuleContact {
        let solved = (self.call)(contact);
        let number = |value: f32, usual: f32| if value.is_finite() { value } else { usual };
        let positive = |value: f32, usual: f32| number(value, usual).max(0.0);
        let friction = positive(solved.friction, contact.friction);
        RuleContact {
            friction,
            kinetic_friction: positive(solved.kinetic_friction, contact.kinetic_friction).min(friction),
            restitution: positive(solved.restitution, contact.restitution).min(1.0),
            tangent_speed: number(solved.tangent_speed, contact.tangent_speed),
            rolling_resistance: positive(solved.rolling_resistance, contact.rolling_resistance),
            touches: solved.touches,
            ..contact
        }
    }
}

// Its result depends on the argument alone, so a panic leaves nothing half-done.
impl UnwindSafe for ContactRule {}
impl RefUnwindSafe for ContactRule {}

/// Two rules are equal if their WGSL is.
impl PartialEq for ContactRule {
    fn eq(&self, other: &Self) -> bool {
        self.wgsl == other.wgsl
    }
}

impl fmt::Debug for ContactRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ContactRule").field(&self.wgsl).finish()
    }
}
