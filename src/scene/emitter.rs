//! Bodies that come and go by the scene's own script, a batch at a time.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::compile::{Outline, u32_from};
use super::{Body, BodyType, Compiled, Geometry, Joint, Scene};
use crate::types::{GEOMETRY_MASK, HALF_PLANE, Pose};

/// Rows of a joint, at most.
pub(crate) const MOST_ROWS: usize = 7;

/// Makes a batch of bodies, with joints among them, at the start of a step; again and again, if it says so.
///
/// One that goes on for ever must let go of what it made: by [`keep`](Self::keep) or [`lifetime`](Self::lifetime). So
/// it is known from the start how many bodies there can be, and memory is set aside for them.
///
/// Each batch is as the emitter says, wherever the one before went. Names of its bodies ([`Body::id`](Body::id)) are for
/// the emitter's own joints and are in no report. At the start of a step old batches go before new ones come. A slot that a
/// body left is given out again one step later, so the bodies that come in the same step live in other slots.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Emitter {
    /// Of a batch, at least one. No half planes.
    pub bodies: Vec<Body>,
    /// Of a batch. Their bodies are indices in [`Self::bodies`], or the world.
    pub joints: Vec<Joint>,
    /// Steps done when the first batch comes.
    pub start: u32,
    /// Steps from one batch to the next, at least 1. `None`: there is only one.
    pub every: Option<u32>,
    /// How many batches there are in all, at least 1. `None`: no end.
    pub count: Option<u32>,
    /// How many of its batches there may be at a time, at least 1: as another comes the oldest goes.
    pub keep: Option<u32>,
    /// Steps that a batch takes part in before it goes, at least 1.
    pub lifetime: Option<u32>,
}

impl Emitter {
    /// One that makes a batch of these bodies before the first step, and no other.
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

    /// With the first batch after so many steps.
    #[must_use]
    pub fn start(mut self, step: u32) -> Self {
        self.start = step;
        self
    }

    /// With another batch every so many steps.
    #[must_use]
    pub fn every(mut self, steps: u32) -> Self {
        self.every = Some(steps);
        self
    }

    /// With so many batches in all.
    #[must_use]
    pub fn count(mut self, batches: u32) -> Self {
        self.count = Some(batches);
        self
    }

    /// With so many batches at a time; the oldest goes as another comes.
    #[must_use]
    pub fn keep(mut self, batches: u32) -> Self {
        self.keep = Some(batches);
        self
    }

    /// With batches that go after so many steps.
    #[must_use]
    pub fn lifetime(mut self, steps: u32) -> Self {
        self.lifetime = Some(steps);
        self
    }

    /// The step before which batch `number`, from 0, comes, if there is one.
    pub(crate) fn comes(&self, number: u64) -> Option<u64> {
        let most = if self.every.is_none() { 1 } else { self.count.map_or(u64::MAX, u64::from) };
        let after = u64::from(self.every.unwrap_or(0)).checked_mul(number)?;
        (number < most).then_some(u64::from(self.start) + after)
    }

    /// Number of batches that come before step `until`.
    pub(crate) fn batches_before(&self, until: u64) -> u64 {
        let Some(last) = until.checked_sub(1 + u64::from(self.start)) else { return 0 };
        let Some(every) = self.every else { return 1 };
        let made = (last / u64::from(every.max(1))).saturating_add(1);
        self.count.map_or(made, |most| made.min(most.into()))
    }

    /// Batches that there are at a time, at most; `None` if there is no limit.
    #[must_use]
    pub(crate) fn most_batches(&self) -> Option<u64> {
        let Some(every) = self.every else { return Some(1) };
        let living = self.lifetime.map(|steps| u64::from(steps).div_ceil(u64::from(every.max(1))));
        [self.count.map(u64::from), self.keep.map(u64::from), living].into_iter().flatten().min()
    }

    /// The last digit of a clock with so many steps at which its batches go, if they do.
    fn goes(&self, clock: u64) -> Option<u64> {
        let replaced = self.keep.map(|batches| u64::from(batches) * u64::from(self.every.unwrap_or(0)));
        let age = [replaced, self.lifetime.map(u64::from)].into_iter().flatten().min()?;
        let at = u64::from(self.start) + age;
        Some(if clock == 0 { at } else { at % clock })
    }
}

/// Rows of tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Amount {
    pub bodies: usize,
    pub shapes: usize,
    pub vertices: usize,
    pub joints: usize,
}

impl Amount {
    /// Of one batch.
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

    /// Number by number.
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

/// What there is at most at a time of all that emitters make; with `leaving`, slots that were left and are not free yet
/// included. One that goes on for ever counts once: the check refuses it.
pub(crate) fn most(emitters: &[Emitter], leaving: bool) -> Amount {
    let batches = |emitter: &Emitter| emitter.most_batches().unwrap_or(1);
    let all = emitters.iter().map(|emitter| Amount::of(emitter).times(batches(emitter)));
    let living = all.fold(Amount::default(), Amount::plus);
    if !leaving {
        return living;
    }
    // Batches of two emitters go at the same step only if they do so on the clock that divides all periods. That of an
    // emitter with a single batch divides nothing.
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
        if let Some(at) = emitter.goes(clock) {
            let sum = together.entry(at).or_default();
            *sum = sum.plus(Amount::of(emitter));
        }
    }
    living.plus(together.into_values().fold(Amount::default(), Amount::max))
}

/// The emitters of a world, and what it set aside for them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Script {
    /// Their bodies have no ids. Shared: worlds are copied for backups.
    pub emitters: Arc<[Emitter]>,
    /// Slots that they may come to take up beside those of the scene.
    pub most: Amount,
    /// Bodies of the scene itself.
    pub first: usize,
    /// Of the world as it began, as what comes later changes the tables.
    pub fingerprint: Option<u64>,
}

impl Script {
    pub fn new(scene: &Scene) -> Self {
        let nameless = |emitter: &Emitter| {
            let mut emitter = emitter.clone();
            emitter.bodies.iter_mut().for_each(|body| body.id = None);
            emitter.joints.iter_mut().for_each(|joint| joint.id = None);
            emitter
        };
        Self {
            emitters: scene.emitters.iter().map(nameless).collect(),
            most: most(&scene.emitters, true),
            first: scene.bodies.len(),
            fingerprint: None,
        }
    }

    /// Moves where dynamic bodies come, by their number among all and their place.
    pub fn nudge(&mut self, away: impl Fn(u32, glam::Vec2) -> glam::Vec2) {
        let mut emitters = self.emitters.to_vec();
        let bodies = emitters.iter_mut().flat_map(|emitter| &mut emitter.bodies);
        for (index, body) in (0..).zip(bodies).filter(|(_, body)| body.kind == BodyType::Dynamic) {
            body.position += away(index, body.position);
        }
        self.emitters = emitters.into();
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.emitters.is_empty()
    }
}

impl Scene {
    /// Bodies that there are at most at a time, those that its emitters make included.
    #[must_use]
    pub fn most_bodies(&self) -> usize {
        self.bodies.len().saturating_add(most(&self.emitters, false).bodies)
    }

    /// Number of shapes that there are at most at a time, those of bodies that its emitters make included.
    #[must_use]
    pub fn most_shapes(&self) -> usize {
        let own: usize = self.bodies.iter().map(|body| body.shapes.len()).sum();
        own.saturating_add(most(&self.emitters, false).shapes)
    }

    /// The scene with one batch of each emitter as if it had been there from the start: what it is about, all at once.
    #[must_use]
    pub fn unfolded(&self) -> Self {
        let mut scene = Self { emitters: Vec::new(), ..self.clone() };
        for emitter in &self.emitters {
            let first = scene.bodies.len();
            scene.bodies.extend(emitter.bodies.iter().map(|body| Body { id: None, ..body.clone() }));
            scene.joints.extend(emitter.joints.iter().map(|joint| Joint {
                a: joint.a.map(|a| first + a),
                b: first + joint.b,
                id: None,
                ..joint.clone()
            }));
        }
        scene
    }
}

impl Compiled {
    /// Slots of bodies that there are at most, as far as the scene's emitters go.
    #[must_use]
    pub fn most_slots(&self) -> usize {
        self.bodies.len().max(self.script.first + self.script.most.bodies)
    }

    /// The poses and shapes of a world, and behind them those of one batch of each emitter where it will come: what a
    /// picture of the whole run should have room for.
    #[must_use]
    pub fn with_what_comes(&self, poses: &[Pose]) -> (Vec<Pose>, Vec<crate::types::Shape>) {
        let (mut poses, mut shapes) = (poses.to_vec(), self.shapes.clone());
        for body in self.script.emitters.iter().flat_map(|emitter| &emitter.bodies) {
            let laid = Self::lay_body(body, u32_from(poses.len()));
            poses.push(laid.pose);
            shapes.extend(laid.shapes.into_iter().map(|(shape, _)| shape));
        }
        (poses, shapes)
    }

    /// Lays the grid, and switches on what shapes need, for those of the scene and those that its emitters will make:
    /// then nothing has to grow when they come.
    pub(super) fn prepare_for_all(&mut self) {
        let own = (self.shapes.len(), self.vertices.len(), self.poses.len());
        for emitter in self.script.emitters.clone().iter() {
            for body in &emitter.bodies {
                // As often as it will be there: the grid is as large as there are shapes.
                let copies = usize::try_from(emitter.most_batches().unwrap_or(1)).unwrap_or(usize::MAX);
                let laid = Self::lay_body(body, u32_from(self.poses.len()));
                self.poses.push(laid.pose);
                for (mut shape, vertices) in laid.shapes {
                    debug_assert!(shape.kind & GEOMETRY_MASK != HALF_PLANE, "refused by the check");
                    shape.first_vertex = u32_from(self.vertices.len());
                    self.vertices.extend(vertices);
                    self.shapes.extend(std::iter::repeat_n(shape, copies));
                }
            }
        }
        self.lay_grid();
        self.refresh_switches();
        self.shapes.truncate(own.0);
        self.vertices.truncate(own.1);
        self.poses.truncate(own.2);
    }
}
