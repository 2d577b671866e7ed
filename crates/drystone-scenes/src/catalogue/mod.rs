//! Built-in scenes, shared by the viewer, the benchmarks, the tests and the service.
//!
//! A *spec* selects a scene: `large_pyramid`, or `large_pyramid:base=200`, or
//! `vertical_stack:count=15,jitter=0.01,pitch=1.1,friction=0.3`. Sizes are parameters, each with a default, a range and
//! a description; the default is the size of the source. Building is deterministic: random numbers have a seed.
//!
//! Numbers come from Box2D's benchmarks and samples (commit 617d32ab), solver2d's samples (d178a568) and the tutorials
//! on which this project is based. Each [`Entry::source`] names the source, and the differences from it with their
//! reasons. Three differences are common: in scenes written before segments were supported, a ground *segment* is a box
//! with its top on the segment; sleeping is disabled; and scenes from Box2D and solver2d mix restitution by the
//! maximum, those from the tutorials by the minimum. [`seeds`] maps the ideas of the tutorials to scenes.
//!
//! ```
//! let scene = drystone_scenes::catalogue::build("large_pyramid:base=20")?;
//! assert_eq!(scene.bodies.len(), 211); // 20·21/2 boxes and the ground
//! # Ok::<(), drystone_scenes::catalogue::CatalogueError>(())
//! ```

mod box2d;
mod heaps;
mod mechanisms;
mod ragdoll;
mod samples;
mod search;
pub mod seeds;
mod sizes;
mod solver2d;
mod spec;

pub use search::search;
pub use spec::CatalogueError;

use glam::Vec2;

use drystone::low_level::scene::MAX_POSITION;
use drystone::{Body, Mixing, Scene, Shape, ViewBox};

/// Maximum number of bodies of a built-in scene; checked before anything is allocated.
pub const MAX_BODIES: u64 = 20_000_000;
/// Approximate number of bodies of a scene in a small picture: in a larger one bodies could not be told apart.
pub const THUMBNAIL_BODIES: u64 = 300;

/// All scenes, in the order of lists shown to the user.
static ENTRIES: [Entry; 54] = [
    box2d::LARGE_PYRAMID,
    box2d::MANY_PYRAMIDS,
    box2d::JOINT_GRID,
    box2d::SMASH,
    box2d::TUMBLER,
    box2d::WASHER,
    box2d::SPINNER,
    box2d::COMPOUNDS,
    box2d::JUNKYARD,
    box2d::RAIN,
    heaps::MIXED_SIZES,
    heaps::LOADED_PLATE,
    mechanisms::GEARS,
    mechanisms::PULLEYS,
    solver2d::VERTICAL_STACK,
    solver2d::CARD_HOUSE,
    solver2d::ARCH,
    solver2d::DOMINO,
    solver2d::HIGH_MASS_RATIO_1,
    solver2d::HIGH_MASS_RATIO_2,
    solver2d::HIGH_MASS_RATIO_3,
    solver2d::FRICTION_RAMP,
    solver2d::OVERLAP_RECOVERY,
    solver2d::CIRCLE_STACK,
    solver2d::CONFINED,
    solver2d::RUSH,
    solver2d::BRIDGE,
    solver2d::BALL_AND_CHAIN,
    solver2d::RAGDOLL,
    solver2d::FAR_PYRAMID,
    solver2d::FAR_STACK,
    samples::WEEBLE,
    samples::BOUNCE_HOUSE,
    samples::GHOST_BUMPS,
    samples::PINBALL,
    samples::SENSOR_FUNNEL,
    samples::CONVEX_HULL,
    samples::ROLLING_RESISTANCE,
    samples::RESTITUTION,
    samples::PLATFORMER,
    seeds::SMALL_SI,
    seeds::THRUSTER,
    mechanisms::PARTICLES_IN_A_TURNING_BOX,
    seeds::CIRCLE_MASSES,
    mechanisms::PENDULUM,
    mechanisms::ROD_CHAIN,
    mechanisms::ROPE_WINCH_PISTON,
    mechanisms::NAPHY_BRIDGE,
    mechanisms::SPRINGS,
    mechanisms::MOTORS,
    mechanisms::STATIC_AND_KINETIC,
    mechanisms::CONVEYOR,
    seeds::BOUNCING_BALL,
    seeds::SLOPE,
];

/// Planned scenes, each with the feature that it requires.
static WAITING: [(&str, &str); 0] = [];

/// A numeric parameter of a scene.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameter {
    /// Name, on the left of the `=`.
    pub name: &'static str,
    /// Value if the spec does not set one.
    pub default: f64,
    /// Minimum value.
    pub min: f64,
    /// Maximum value.
    pub max: f64,
    /// True if the value must be a whole number.
    pub integer: bool,
    /// Description, with unit.
    pub meaning: &'static str,
}

impl Parameter {
    /// Returns true if a slider for this parameter should be logarithmic: on a linear one, usual values would be a few
    /// pixels from its left end.
    #[must_use]
    pub fn is_logarithmic(&self) -> bool {
        self.min >= 0.0 && self.max > 20.0 * self.default.abs().max(1.0)
    }

    /// Returns the unit, which ends the first clause of the meaning: "speed of the drum, rad/s; …". `None` for counts,
    /// ratios and switches.
    #[must_use]
    pub fn unit(&self) -> Option<&'static str> {
        let clause = self.meaning.split(';').next()?;
        let (_, unit) = clause.rsplit_once(", ")?;
        (!unit.contains(' ')).then_some(unit)
    }

    /// Returns the meaning without the unit, for lists that show the unit beside the value.
    #[must_use]
    pub fn description(&self) -> String {
        match self.unit() {
            Some(unit) => self.meaning.replacen(&format!(", {unit}"), "", 1),
            None => self.meaning.to_owned(),
        }
    }

    const fn whole(name: &'static str, default: u32, min: u32, max: u32, meaning: &'static str) -> Self {
        Self { name, default: default as f64, min: min as f64, max: max as f64, integer: true, meaning }
    }

    const fn real(name: &'static str, default: f64, min: f64, max: f64, meaning: &'static str) -> Self {
        Self { name, default, min, max, integer: false, meaning }
    }
}

/// Topic of a scene, used to group lists of scenes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Topic {
    /// Stacks and arches that should stand.
    Stacks,
    /// Thousands of moving bodies.
    Crowds,
    /// Hinges, rods, springs and motors.
    Joints,
    /// Slopes, ramps and belts.
    Friction,
    /// Scenes of few bodies with a known motion.
    Motion,
}

impl Topic {
    /// All topics, in the order of lists.
    pub const ALL: [Self; 5] = [Self::Stacks, Self::Joints, Self::Motion, Self::Friction, Self::Crowds];

    /// Returns the heading of the topic.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Stacks => "Stacks",
            Self::Crowds => "Crowds",
            Self::Joints => "Joints and mechanisms",
            Self::Friction => "Friction",
            Self::Motion => "Motion and impacts",
        }
    }
}

/// A built-in scene.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Name, used in specs.
    pub name: &'static str,
    /// Topic, for lists.
    pub topic: Topic,
    /// Description of the picture in one sentence.
    pub summary: &'static str,
    /// Origin of the numbers, and differences from it.
    pub source: &'static str,
    /// Parameters.
    pub parameters: &'static [Parameter],
    /// Number of steps that show the purpose of the scene; for Box2D's scenes the benchmark's count.
    pub steps: u32,
    /// Returns the maximum number of simultaneous bodies; called before anything is allocated.
    count: fn(&Values) -> u64,
    construct: fn(&Values) -> Scene,
}

impl Entry {
    /// Builds the scene with the given parameters by name, and defaults for the others. The scene's name becomes the
    /// shortest spec that builds it again.
    ///
    /// # Errors
    /// A parameter that is unknown, given twice, out of range or not whole; more than [`MAX_BODIES`] bodies.
    pub fn build(&self, given: &[(&str, f64)]) -> Result<Scene, CatalogueError> {
        let values = spec::values(self, given)?;
        let bodies = (self.count)(&values);
        if bodies > MAX_BODIES {
            return Err(CatalogueError::TooManyBodies { scene: self.name, bodies });
        }
        let mut scene = (self.construct)(&values);
        scene.name = spec::shortest(self, &values);
        Ok(scene)
    }

    /// Returns the gravity of the scene with the default parameters, m/s².
    #[must_use]
    pub fn gravity(&self) -> Vec2 {
        // No parameter that makes a scene small changes it.
        self.build_small(1).or_else(|_| self.build(&[])).map_or(Vec2::ZERO, |scene| scene.gravity)
    }

    /// Returns the maximum number of simultaneous bodies of the scene that [`Entry::build`] would make, static ones and
    /// those of emitters included.
    ///
    /// # Errors
    /// Those of [`Entry::build`], without the limit on the number of bodies.
    pub fn body_count(&self, given: &[(&str, f64)]) -> Result<u64, CatalogueError> {
        Ok((self.count)(&spec::values(self, given)?))
    }
}

/// Returns the built-in scenes of each topic, in the order of lists.
#[must_use]
pub fn by_topic() -> Vec<(Topic, Vec<&'static Entry>)> {
    let of = |topic| entries().iter().filter(move |entry| entry.topic == topic).collect();
    Topic::ALL.into_iter().map(|topic| (topic, of(topic))).collect()
}

/// Returns all scenes.
#[must_use]
pub fn entries() -> &'static [Entry] {
    &ENTRIES
}

/// Returns the names of planned scenes, each with the feature that it requires.
#[must_use]
pub fn waiting() -> &'static [(&'static str, &'static str)] {
    &WAITING
}

/// Finds a scene by its name, without parameters.
///
/// # Errors
/// Unknown scene (with the nearest names), or planned scene (with the feature that it requires).
pub fn find(name: &str) -> Result<&'static Entry, CatalogueError> {
    if let Some(entry) = ENTRIES.iter().find(|entry| entry.name == name) {
        return Ok(entry);
    }
    if let Some(&(name, waits_for)) = WAITING.iter().find(|(waiting, _)| *waiting == name) {
        return Err(CatalogueError::NotYet { name, waits_for });
    }
    Err(CatalogueError::unknown_scene(name))
}

/// Builds a scene from its spec: `name`, or `name:key=value,key=value`.
///
/// # Errors
/// An invalid spec, and those of [`find`] and [`Entry::build`].
pub fn build(spec: &str) -> Result<Scene, CatalogueError> {
    let (name, given) = spec::parse(spec)?;
    find(name)?.build(&given)
}

/// Returns the number of bodies that [`build`] would make of a spec, static ones included, without building it.
///
/// # Errors
/// Those of [`build`].
pub fn check(spec: &str) -> Result<u64, CatalogueError> {
    let (name, given) = spec::parse(spec)?;
    let entry = find(name)?;
    let bodies = entry.body_count(&given)?;
    if bodies > MAX_BODIES { Err(CatalogueError::TooManyBodies { scene: entry.name, bodies }) } else { Ok(bodies) }
}

/// Values of an entry's parameters, all in range.
struct Values {
    parameters: &'static [Parameter],
    values: Vec<f64>,
}

impl Values {
    /// Returns a value by name. Panics if the entry has no such parameter; the tests build every scene.
    fn get(&self, name: &str) -> f64 {
        let index = self.parameters.iter().position(|p| p.name == name).expect("a parameter of this entry");
        self.values[index]
    }

    fn real(&self, name: &str) -> f32 {
        #[allow(clippy::cast_possible_truncation, reason = "rounded to f32 on purpose")]
        let value = self.get(name) as f32;
        value
    }

    fn count(&self, name: &str) -> u64 {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole, and in the entry's range")]
        let value = self.get(name) as u64;
        value
    }
}

/// Converts a count or an index to a coordinate; all are far below 2²⁴.
fn real(n: u64) -> f32 {
    #[allow(clippy::cast_precision_loss, reason = "parameter ranges are far below 2^24")]
    let value = n as f32;
    value
}

/// Returns an empty scene with the defaults of Box2D and solver2d: gravity 10, maximum restitution.
fn box2d_scene() -> Scene {
    let mut scene = Scene::default().gravity(0.0, -10.0);
    scene.settings.restitution_mix = Mixing::Max;
    scene
}

/// Sets the scene's view to the rectangle from `min` to `max`, within coordinate limits. Used only where bodies reach
/// positions that the initial state does not show: a swinging chain, a turning box.
fn show(scene: &mut Scene, min: impl Into<Vec2>, max: impl Into<Vec2>) {
    let within = |corner: Vec2| corner.clamp(Vec2::splat(-MAX_POSITION), Vec2::splat(MAX_POSITION));
    scene.view = Some(ViewBox { min: within(min.into()), max: within(max.into()) });
}

/// Returns Box2D's usual ground, 2 m thick with its top at y = 0.
fn ground(half_width: f32) -> Body {
    Body::fixed(0.0, -1.0).shape(Shape::half_box(half_width, 1.0))
}

/// Returns a replacement for a ground segment from −`half_width` to `half_width` at y = 0: a box 1 m thick with its top
/// there.
fn ground_line(half_width: f32) -> Shape {
    Shape::half_box(half_width, 0.5).offset(0.0, -0.5)
}

/// Returns the number of boxes in a pyramid.
fn pyramid_count(base: u64) -> u64 {
    base * (base + 1) / 2
}

/// Adds a pyramid of squares in the order of Box2D and solver2d: rows from the bottom, each from the left. `shift` is
/// half the distance between neighbours, `left` and `bottom` are the lower left corner of the first row.
fn pyramid(scene: &mut Scene, base: u64, half: f32, shift: f32, [left, bottom]: [f32; 2]) {
    for row in 0..base {
        let y = (2.0 * real(row) + 1.0) * shift + bottom;
        for column in 0..base - row {
            let x = (real(row) + 1.0) * shift + 2.0 * real(column) * shift + left;
            scene.add(Body::dynamic(x, y).shape(Shape::half_box(half, half)));
        }
    }
}
