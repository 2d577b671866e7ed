//! Built-in scenes: written once, for the viewer, the benchmarks, the tests and the service.
//!
//! A scene is named by a *spec*: `large_pyramid`, or `large_pyramid:base=200`, or
//! `vertical_stack:count=15,jitter=0.01,pitch=1.1,friction=0.3`. Sizes are parameters, each with a default, a range
//! and a meaning, and the default is the size of the source. Building is deterministic: nothing is random.
//!
//! Numbers come from Box2D's benchmarks (commit 617d32ab), solver2d's samples (d178a568) and the tutorials that this
//! project began with; each [`Entry::source`] says which, and where a scene differs from it and why. Three
//! differences are common: in scenes that are older than segments here, a ground *segment* is a box with its top on the
//! segment; nothing sleeps; and scenes from Box2D and solver2d mix restitution by the larger value, the tutorials' by
//! the smaller. [`seeds`] is the table of which idea of a tutorial is where.
//!
//! ```
//! let scene = drystone_scenes::catalogue::build("large_pyramid:base=20")?;
//! assert_eq!(scene.bodies.len(), 211); // 20·21/2 boxes and the ground
//! # Ok::<(), drystone_scenes::catalogue::CatalogueError>(())
//! ```

mod box2d;
mod mechanisms;
mod ragdoll;
mod search;
pub mod seeds;
mod sizes;
mod solver2d;
mod spec;

pub use search::search;
pub use spec::CatalogueError;

use glam::Vec2;

use drystone::low_level::scene::MAX_POSITION;
use drystone::{Body, RestitutionMix, Scene, Shape, ViewBox};

/// Scenes with more bodies than this are refused before anything is allocated.
pub const MAX_BODIES: u64 = 20_000_000;

/// Every scene that can be built, in the order in which they are listed to the user.
static ENTRIES: [Entry; 41] = [
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

/// Scenes that are planned, and what they wait for.
static WAITING: [(&str, &str); 0] = [];

/// A number that a scene can be built with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameter {
    /// Left of the `=`.
    pub name: &'static str,
    /// Taken when the spec does not say.
    pub default: f64,
    /// Smallest value.
    pub min: f64,
    /// Largest value.
    pub max: f64,
    /// Whether only whole numbers are taken.
    pub integer: bool,
    /// What it is, with its unit.
    pub meaning: &'static str,
}

impl Parameter {
    const fn whole(name: &'static str, default: u32, min: u32, max: u32, meaning: &'static str) -> Self {
        Self { name, default: default as f64, min: min as f64, max: max as f64, integer: true, meaning }
    }

    const fn real(name: &'static str, default: f64, min: f64, max: f64, meaning: &'static str) -> Self {
        Self { name, default, min, max, integer: false, meaning }
    }
}

/// Topic of a scene, by which lists of scenes are grouped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Topic {
    /// Bodies that stand, or should.
    Stacks,
    /// Thousands of bodies that move.
    Crowds,
    /// Hinges, rods, springs and motors.
    Joints,
    /// Slopes, ramps and belts.
    Friction,
    /// One or a few bodies whose motion is known.
    Motion,
}

impl Topic {
    /// All of them, in the order in which they are listed.
    pub const ALL: [Self; 5] = [Self::Stacks, Self::Joints, Self::Motion, Self::Friction, Self::Crowds];

    /// Words for a heading.
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
    /// By which it is called.
    pub name: &'static str,
    /// Topic, for lists.
    pub topic: Topic,
    /// What one sees, in a sentence.
    pub summary: &'static str,
    /// Where its numbers are from, and how it differs from there.
    pub source: &'static str,
    /// What can be changed.
    pub parameters: &'static [Parameter],
    /// How many steps show what it is for; the benchmark's count for Box2D's scenes.
    pub steps: u32,
    /// How many bodies it would have, at most at a time: asked before anything is allocated.
    count: fn(&Values) -> u64,
    construct: fn(&Values) -> Scene,
}

impl Entry {
    /// Builds the scene with the parameters that are given by name, and defaults for the others. The scene's name
    /// becomes the shortest spec that builds it again.
    ///
    /// # Errors
    /// A parameter that is unknown, given twice, out of range or not whole; or more than [`MAX_BODIES`] bodies.
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

    /// How many bodies there would be in what [`Entry::build`] makes, static ones and those of emitters included: the
    /// most at a time.
    ///
    /// # Errors
    /// As [`Entry::build`], but any number of bodies is fine.
    pub fn body_count(&self, given: &[(&str, f64)]) -> Result<u64, CatalogueError> {
        Ok((self.count)(&spec::values(self, given)?))
    }
}

/// Every scene that can be built.
#[must_use]
pub fn entries() -> &'static [Entry] {
    &ENTRIES
}

/// Names of scenes that are planned, each with what it waits for.
#[must_use]
pub fn waiting() -> &'static [(&'static str, &'static str)] {
    &WAITING
}

/// The scene of this name, without parameters.
///
/// # Errors
/// No such scene (with the nearest names), or one that is not supported yet (with what it waits for).
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
/// A spec that cannot be read, and as [`find`] and [`Entry::build`].
pub fn build(spec: &str) -> Result<Scene, CatalogueError> {
    let (name, given) = spec::parse(spec)?;
    find(name)?.build(&given)
}

/// How many bodies [`build`] would make of a spec, static ones included. Nothing is built.
///
/// # Errors
/// As [`build`].
pub fn check(spec: &str) -> Result<u64, CatalogueError> {
    let (name, given) = spec::parse(spec)?;
    let entry = find(name)?;
    let bodies = entry.body_count(&given)?;
    if bodies > MAX_BODIES { Err(CatalogueError::TooManyBodies { scene: entry.name, bodies }) } else { Ok(bodies) }
}

/// A value for each parameter of an entry, all in range.
struct Values {
    parameters: &'static [Parameter],
    values: Vec<f64>,
}

impl Values {
    /// By name, which the entry that asks has declared: the tests build every scene.
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

/// A count or an index as a coordinate; none comes near 2²⁴.
fn real(n: u64) -> f32 {
    #[allow(clippy::cast_precision_loss, reason = "parameter ranges are far below 2^24")]
    let value = n as f32;
    value
}

/// Box2D's and solver2d's defaults: gravity 10, the larger restitution.
fn box2d_scene() -> Scene {
    let mut scene = Scene::default().gravity(0.0, -10.0);
    scene.settings.restitution_mix = RestitutionMix::Max;
    scene
}

/// The rectangle from `min` to `max` as the view of a scene, as far as coordinates go. Only for scenes in which bodies
/// come to places that their start does not show: a chain that swings, a box that turns.
fn show(scene: &mut Scene, min: impl Into<Vec2>, max: impl Into<Vec2>) {
    let within = |corner: Vec2| corner.clamp(Vec2::splat(-MAX_POSITION), Vec2::splat(MAX_POSITION));
    scene.view = Some(ViewBox { min: within(min.into()), max: within(max.into()) });
}

/// Box2D's usual ground, 2 m thick with its top at y = 0.
fn ground(half_width: f32) -> Body {
    Body::fixed(0.0, -1.0).shape(Shape::half_box(half_width, 1.0))
}

/// In place of a ground segment from −`half_width` to `half_width` at y = 0: a box 1 m thick with its top there.
fn ground_line(half_width: f32) -> Shape {
    Shape::half_box(half_width, 0.5).offset(0.0, -0.5)
}

/// Boxes in a pyramid.
fn pyramid_count(base: u64) -> u64 {
    base * (base + 1) / 2
}

/// A pyramid of squares, as Box2D and solver2d lay it: row by row from below, each row from the left. `shift` is half
/// the distance between neighbours, `left` and `bottom` the corner that the first row starts from.
fn pyramid(scene: &mut Scene, base: u64, half: f32, shift: f32, [left, bottom]: [f32; 2]) {
    for row in 0..base {
        let y = (2.0 * real(row) + 1.0) * shift + bottom;
        for column in 0..base - row {
            let x = (real(row) + 1.0) * shift + 2.0 * real(column) * shift + left;
            scene.add(Body::dynamic(x, y).shape(Shape::half_box(half, half)));
        }
    }
}
