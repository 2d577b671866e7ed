//! Bodies that an outline overlaps while it is drawn: its ghost is red there, and a message names them when it is
//! dropped.
//!
//! Such a body is made all the same: one may build by overlapping and then weld or hinge the parts, which ends the
//! contact between the two. Without a joint the solver pushes the shapes apart, and the deeper they overlap the harder.

use glam::Vec2;

use super::app::App;
use super::build::{Draft, DrawnOutline, Tool};
use super::run::WorldRun;
use drystone::low_level::gpu::PendingQuery;
use drystone::low_level::types::{DYNAMIC, SENSOR_SHAPE};
use drystone::{Answers, Geometry, Query};
use drystone::{BodyType, World, WorldError};

/// Share of an outline that is asked about, from its middle: an outline that only touches overlaps nothing.
const INNER: f32 = 0.98;
/// In worlds of more shapes the ghost is not checked, as each query lays a grid of all shapes; the drawn body is.
const MAX_CHECKED_SHAPES: usize = 50_000;

/// Overlaps of the outline that is being drawn.
#[derive(Debug, Default)]
pub(crate) struct Overlap {
    /// The outline of the last query, and the step at which it was asked.
    asked: Option<(DrawnOutline, u64)>,
    /// A query on the device that is not answered yet.
    pending: Option<PendingQuery>,
    /// Names of the bodies that are overlapped.
    pub bodies: Option<String>,
}

impl App {
    /// The outline that would be drawn if the pointer, at this place, ended it.
    pub(super) fn drafted(&self, to: Vec2) -> Option<DrawnOutline> {
        match &self.build.draft {
            Draft::Drag(from) if self.build.tool == Tool::Box => Some(DrawnOutline::Box(*from, to)),
            Draft::Drag(from) => Some(DrawnOutline::Circle(*from, to)),
            Draft::Corners(corners) if corners.len() >= 2 => {
                Some(DrawnOutline::Polygon(corners.iter().copied().chain([to]).collect()))
            }
            _ => None,
        }
    }

    /// Asks once a frame, all worlds being settled, which bodies the ghost overlaps.
    ///
    /// # Errors
    /// If the device is lost.
    pub(super) fn look_at_overlap(&mut self) -> Result<(), WorldError> {
        let outline = self.pointer.pixel.and_then(|pixel| self.drafted(self.world_at(pixel)));
        let Some(outline) = outline.filter(|_| self.facts().shapes <= MAX_CHECKED_SHAPES) else {
            self.build.overlap = Overlap::default();
            return Ok(());
        };
        if let Some(mut pending) = self.build.overlap.pending.take() {
            match self.run.here_mut().map(WorldRun::world_mut) {
                Some(World::Gpu(world)) => match world.query_poll(&mut pending) {
                    Ok(Some(answers)) => self.build.overlap.bodies = self.overlapped(&answers),
                    Ok(None) => {
                        self.build.overlap.pending = Some(pending);
                        return Ok(());
                    }
                    Err(WorldError::Device(error)) => return Err(WorldError::Device(error)),
                    // Another world was asked: the backend has changed since.
                    Err(_) => {}
                },
                _ => self.build.overlap = Overlap::default(),
            }
        }
        let asked = Some((outline, self.run.steps()));
        if self.build.overlap.asked == asked {
            return Ok(());
        }
        let query = asked.as_ref().and_then(|(outline, _)| self.overlap_query(outline));
        self.build.overlap.asked = asked;
        let Some(query) = query else {
            self.build.overlap.bodies = None;
            return Ok(());
        };
        match self.run.here_mut().map(WorldRun::world_mut) {
            Some(World::Gpu(world)) => self.build.overlap.pending = Some(world.query_async(&query)?),
            Some(World::Cpu(world)) => {
                let answers = world.query(&query)?;
                self.build.overlap.bodies = self.overlapped(&answers);
            }
            None => {}
        }
        Ok(())
    }

    /// Names the bodies that an outline overlaps, if there are any. Waits for the device.
    pub(super) fn overlaps(&mut self, outline: &DrawnOutline) -> Option<String> {
        let query = self.overlap_query(outline)?;
        let answers = self.run.here_mut()?.world_mut().query(&query).ok()?;
        self.overlapped(&answers)
    }

    /// The queries about the shapes of an outline; `None` where the outline makes no body.
    fn overlap_query(&self, outline: &DrawnOutline) -> Option<Vec<Query>> {
        let body = self.build.stock.body(outline).ok()?;
        let inner = |geometry: &Geometry| match geometry {
            Geometry::Box { half, radius } => Geometry::Box { half: *half * INNER, radius: radius * INNER },
            Geometry::Circle { radius } => Geometry::Circle { radius: radius * INNER },
            Geometry::Polygon { points, radius } => {
                #[allow(clippy::cast_precision_loss, reason = "at most 8")]
                let middle = points.iter().sum::<Vec2>() / points.len() as f32;
                Geometry::Polygon {
                    points: points.iter().map(|point| middle.lerp(*point, INNER)).collect(),
                    radius: radius * INNER,
                }
            }
            other => other.clone(),
        };
        Some(body.shapes.iter().map(|shape| Query::overlap(inner(&shape.geometry), body.position, 0.0)).collect())
    }

    /// Names the bodies among those found that a new body would be pushed apart from: no sensors, and of two bodies at
    /// least one that can move.
    fn overlapped(&self, answers: &Answers) -> Option<String> {
        let compiled = self.run.here()?.world().compiled();
        let moves = self.build.stock.kind == BodyType::Dynamic;
        let mut bodies: Vec<usize> = (0..answers.len())
            .flat_map(|query| answers.found(query))
            .filter(|found| compiled.shapes.get(found.shape).is_some_and(|shape| shape.kind & SENSOR_SHAPE == 0))
            .map(|found| found.body)
            .filter(|&body| moves || compiled.bodies.get(body).is_some_and(|body| body.kind == DYNAMIC))
            .collect();
        bodies.sort_unstable();
        bodies.dedup();
        let first = *bodies.first()?;
        let name = compiled.ids.get(first).and_then(Clone::clone).unwrap_or_else(|| format!("body {first}"));
        Some(match bodies.len() {
            1 => name,
            n => format!("{name} and {} more", n - 1),
        })
    }
}
