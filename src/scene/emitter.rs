//! Emitters of a scene: they add bodies with their joints to a running world in batches, and remove old batches. As
//! they are part of the scene, the maximum number of bodies is known from the start.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::compile::shape::Outline;
use super::timeline::Timeline;
use super::{Body, BodyType, Geometry, Joint, Scene};

/// Most rows of a joint.
pub(crate) const MAX_ROWS: usize = 7;

/// An emitter: adds a batch of bodies, with joints among them, at the start of a step, once or periodically.
///
/// ```
/// use drystone::{Body, Emitter, Scene, Shape, World};
///
/// // A ball every 30 steps, of which the newest three stay.
/// let ball = Body::dynamic(0.0, 4.0).shape(Shape::circle(0.5));
/// let mut scene = Scene::new("tap");
/// scene.emit(Emitter::new([ball]).every(30).keep(3));
/// let mut world = World::new(&scene)?;
/// for _ in 0..300 {
///     world.step()?;
/// }
/// assert_eq!(world.bodies().count(), 3);
/// # Ok::<(), drystone::WorldError>(())
/// ```
///
/// An emitter without end must remove what it made, by [`keep`](Self::keep) or [`lifetime`](Self::lifetime). So the
/// most bodies that there can be is known from the start, and memory is reserved for them.
///
/// All batches start at the same positions. Names of the bodies ([`Body::id`](Body::id)) are for the emitter's own
/// joints and are in no report. At the start of a step old batches are removed before new ones are added. A vacated
/// slot is reused one step later, so bodies added in the same step get other slots.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Emitter {
    /// Bodies of a batch, at least one. No half planes.
    pub bodies: Vec<Body>,
    /// Joints of a batch. Their bodies are indices in [`Self::bodies`], or the world.
    pub joints: Vec<Joint>,
    /// Number of steps before the first batch.
    pub start: u32,
    /// Steps from one batch to the next, at least 1. `None`: only one batch.
    pub every: Option<u32>,
    /// Total number of batches, at least 1. `None`: no end.
    pub count: Option<u32>,
    /// Most batches of this emitter at a time, at least 1: a new one removes the oldest. `None`: no limit.
    pub keep: Option<u32>,
    /// Steps after which a batch is removed, at least 1. `None`: never.
    pub lifetime: Option<u32>,
}

impl Emitter {
    /// Returns an emitter of a single batch of these bodies, before the first step.
    #[must_use]
    pub fn new(bodies: impl IntoIterator<Item = Body>) -> Self {
        Self { bodies: bodies.into_iter().collect(), ..Self::default() }
    }

    /// Adds a body and returns its index among those of a batch.
    pub fn add(&mut self, body: Body) -> usize {
        self.bodies.push(body);
        self.bodies.len() - 1
    }

    /// Adds a joint between bodies of a batch and returns its index.
    pub fn join(&mut self, joint: Joint) -> usize {
        self.joints.push(joint);
        self.joints.len() - 1
    }

    /// Returns the emitter with its first batch after this number of steps.
    #[must_use]
    pub fn start(mut self, step: u32) -> Self {
        self.start = step;
        self
    }

    /// Returns the emitter with this number of steps from one batch to the next.
    #[must_use]
    pub fn every(mut self, steps: u32) -> Self {
        self.every = Some(steps);
        self
    }

    /// Returns the emitter with this total number of batches.
    #[must_use]
    pub fn count(mut self, batches: u32) -> Self {
        self.count = Some(batches);
        self
    }

    /// Returns the emitter with at most this number of batches at a time; a new one removes the oldest.
    #[must_use]
    pub fn keep(mut self, batches: u32) -> Self {
        self.keep = Some(batches);
        self
    }

    /// Returns the emitter with batches that are removed after this number of steps.
    #[must_use]
    pub fn lifetime(mut self, steps: u32) -> Self {
        self.lifetime = Some(steps);
        self
    }

    /// Returns the step before which batch `number`, from 0, is added, if there is one.
    pub(crate) fn batch_step(&self, number: u64) -> Option<u64> {
        let most = if self.every.is_none() { 1 } else { self.count.map_or(u64::MAX, u64::from) };
        let after = u64::from(self.every.unwrap_or(0)).checked_mul(number)?;
        (number < most).then_some(u64::from(self.start) + after)
    }

    /// Returns the number of batches that are added before step `until`.
    pub(crate) fn batches_before(&self, until: u64) -> u64 {
        let Some(last) = until.checked_sub(1 + u64::from(self.start)) else { return 0 };
        let Some(every) = self.every else { return 1 };
        let made = (last / u64::from(every.max(1))).saturating_add(1);
        self.count.map_or(made, |most| made.min(most.into()))
    }

    /// Returns the most batches that there are at a time; `None` if there is no limit.
    #[must_use]
    pub(crate) fn max_batches(&self) -> Option<u64> {
        let Some(every) = self.every else { return Some(1) };
        let living = self.lifetime.map(|steps| u64::from(steps).div_ceil(u64::from(every.max(1))));
        [self.count.map(u64::from), self.keep.map(u64::from), living].into_iter().flatten().min()
    }

    /// Returns the step, modulo `clock`, at which batches are removed, if they are. With a clock of 0 it is not
    /// reduced.
    fn removal_step(&self, clock: u64) -> Option<u64> {
        let replaced = self.keep.map(|batches| u64::from(batches) * u64::from(self.every.unwrap_or(0)));
        let age = [replaced, self.lifetime.map(u64::from)].into_iter().flatten().min()?;
        let at = u64::from(self.start) + age;
        Some(if clock == 0 { at } else { at % clock })
    }
}

/// Numbers of rows in the tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Amount {
    pub bodies: usize,
    pub shapes: usize,
    pub vertices: usize,
    pub joints: usize,
}

impl Amount {
    /// Returns the rows of one batch.
    fn of(emitter: &Emitter) -> Self {
        let shapes = || emitter.bodies.iter().flat_map(|body| &body.shapes);
        let vertices = shapes().map(|shape| match &shape.geometry {
            Geometry::Circle { .. } | Geometry::Particle { .. } | Geometry::Box { .. } => 0,
            other => Outline::of(other).points.len(),
        });
        Self {
            bodies: emitter.bodies.len(),
            shapes: shapes().count(),
            vertices: vertices.sum(),
            joints: emitter.joints.len(),
        }
    }

    /// Combines two amounts field by field.
    fn with(self, other: Self, join: impl Fn(usize, usize) -> usize) -> Self {
        Self {
            bodies: join(self.bodies, other.bodies),
            shapes: join(self.shapes, other.shapes),
            vertices: join(self.vertices, other.vertices),
            joints: join(self.joints, other.joints),
        }
    }

    fn times(self, factor: u64) -> Self {
        let factor = usize::try_from(factor).unwrap_or(usize::MAX);
        self.with(self, |own, _| own.saturating_mul(factor))
    }

    fn plus(self, other: Self) -> Self {
        self.with(other, usize::saturating_add)
    }

    fn max(self, other: Self) -> Self {
        self.with(other, usize::max)
    }
}

/// Returns the most rows that there are at a time of all that emitters make; with `leaving`, including vacated slots
/// that are not free yet. An emitter without limit counts once: the check refuses it.
pub(crate) fn most(emitters: &[Emitter], leaving: bool) -> Amount {
    let batches = |emitter: &Emitter| emitter.max_batches().unwrap_or(1);
    let all = emitters.iter().map(|emitter| Amount::of(emitter).times(batches(emitter)));
    let living = all.fold(Amount::default(), Amount::plus);
    if !leaving {
        return living;
    }
    // Batches of two emitters can be removed at the same step only if their steps are equal modulo the greatest common
    // divisor of all periods. An emitter with a single batch has period 0, which leaves the divisor as it is.
    let divisor = |a: u64, b: u64| {
        let (mut a, mut b) = (a, b);
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    let clock = emitters.iter().map(|emitter| u64::from(emitter.every.unwrap_or(0))).fold(0, divisor);
    let mut together: BTreeMap<u64, Amount> = BTreeMap::new();
    for emitter in emitters {
        if let Some(at) = emitter.removal_step(clock) {
            let sum = together.entry(at).or_default();
            *sum = sum.plus(Amount::of(emitter));
        }
    }
    living.plus(together.into_values().fold(Amount::default(), Amount::max))
}

/// The emitters of a world, with the slots that it reserves for them, and its timeline.
#[derive(Clone, Debug, Default)]
pub(crate) struct EmitterScript {
    /// Emitters, without the names of their bodies. Shared, as worlds are copied for backups.
    pub emitters: Arc<[Emitter]>,
    /// Commands with a time.
    pub timeline: Timeline,
    /// Most slots that they take beside those of the scene.
    pub most: Amount,
    /// Bodies of the scene itself.
    pub first: usize,
    /// Fingerprint of the world as it began, as later bodies change the tables.
    pub fingerprint: Option<u64>,
}

impl EmitterScript {
    pub fn new(scene: &Scene) -> Self {
        let nameless = |emitter: &Emitter| {
            let mut emitter = emitter.clone();
            emitter.bodies.iter_mut().for_each(|body| body.id = None);
            emitter.joints.iter_mut().for_each(|joint| joint.id = None);
            emitter
        };
        Self {
            emitters: scene.emitters.iter().map(nameless).collect(),
            timeline: Timeline::new(scene),
            most: most(&scene.emitters, true),
            first: scene.bodies.len(),
            fingerprint: None,
        }
    }

    /// Moves the positions of dynamic bodies by what `away` returns for their index among all bodies and their
    /// position, m.
    pub fn nudge(&mut self, away: impl Fn(u32, glam::Vec2) -> glam::Vec2) {
        let mut emitters = self.emitters.to_vec();
        let bodies = emitters.iter_mut().flat_map(|emitter| &mut emitter.bodies);
        for (index, body) in (0..).zip(bodies).filter(|(_, body)| body.kind == BodyType::Dynamic) {
            body.position += away(index, body.position);
        }
        self.emitters = emitters.into();
    }

    /// Returns true if there are neither emitters nor timed commands.
    pub fn is_empty(&self) -> bool {
        self.emitters.is_empty() && self.timeline.is_empty()
    }
}

/// Numbers of bodies, shapes and joints.
#[derive(Clone, Copy, Debug, Default)]
pub struct PartCounts {
    /// Number of bodies.
    pub bodies: usize,
    /// Number of shapes of all bodies.
    pub shapes: usize,
    /// Number of joints.
    pub joints: usize,
}

impl PartCounts {
    /// Returns the numbers of bodies and their shapes, without joints.
    #[must_use]
    pub fn of_bodies(bodies: &[Body]) -> Self {
        Self { bodies: bodies.len(), shapes: bodies.iter().map(|body| body.shapes.len()).sum(), joints: 0 }
    }
}

impl Scene {
    /// Returns the most bodies, shapes and joints that there are at a time, including those of emitters.
    #[must_use]
    pub fn most_parts(&self) -> PartCounts {
        let (own, emitted) = (PartCounts::of_bodies(&self.bodies), most(&self.emitters, false));
        PartCounts {
            bodies: own.bodies.saturating_add(emitted.bodies),
            shapes: own.shapes.saturating_add(emitted.shapes),
            joints: self.joints.len().saturating_add(emitted.joints),
        }
    }
}
