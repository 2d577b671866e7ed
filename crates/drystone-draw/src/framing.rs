//! Automatic camera placement: chooses centre and scale so that a picture shows the moving bodies of a scene and what
//! they touch.
//!
//! A scene with a view of its own ([`Scene::view`](drystone::Scene::view)) is shown with that view. Otherwise the
//! picture contains the dynamic bodies, the static shapes on which they lie or will fall, and all positions of
//! kinematic bodies that turn in place or move on a path.

use glam::Vec2;

use super::{Bounds, Camera};
use drystone::low_level::scene::Compiled;
use drystone::low_level::types::{FIXED_SHAPE, KINEMATIC, KINEMATIC_SHAPE, Pose, ShapeData};

/// Free space on each side of a fitted scene, as a share of its size.
const MARGIN: f32 = 0.06;
/// Below this number of dynamic shapes, all of them are in the picture, however far away.
const SMALL_SCENE: usize = 200;
/// Ratio of all shapes to those that may be ignored as outliers, if that makes the view of the others much closer.
const OUTLIER_RATIO: usize = 200;
/// A shape this many times as large as the typical one is never ignored.
const LARGE_SHAPE: f32 = 4.0;
/// Ratio of the two view heights from which ignoring outliers is worth it.
const MIN_OUTLIER_GAIN: f32 = 1.25;
/// Minimum height of a picture, in typical shapes (centre to corner), so that a single box has space around it.
const MIN_HEIGHT: f32 = 7.0;
/// Maximum size of a small fixed shape, relative to all moving shapes. A small one is shown whole …
const SMALL_FIXED: f32 = 0.5;
/// … if that makes the picture at most this much higher.
const MAX_GROWTH_WHOLE: f32 = 1.4;
/// For larger fixed shapes the near side is shown if that does not make the picture more than this much higher …
const MAX_GROWTH_NEAR_SIDE: f32 = 1.6;
/// … or than this many typical shapes: the ground onto which a single shape will fall.
const MAX_REACH: f32 = 24.0;
/// For shapes below, the limit is this factor of the height: a ragdoll is larger than its bones.
const MAX_GROWTH_BELOW: f32 = 8.0;
/// Fixed shapes are cut off this far past everything else, as a share of its size.
const CLIP_MARGIN: f32 = 0.06;
/// A body farther than this from the first picture, in multiples of its size, has left the scene if most others have
/// not.
const LEFT_SCENE: f32 = 1.5;
/// Maximum height of a picture that shows two moments, relative to the higher of the two.
const MAX_GROWTH_LATER: f32 = 3.0;

/// The shapes of a world, sorted by their role in a picture.
#[derive(Clone, Debug, Default)]
struct SortedShapes {
    moving: Vec<Bounds>,
    /// Bounding boxes of kinematic bodies over their whole motion.
    driven: Vec<Bounds>,
    fixed: Vec<Bounds>,
    /// Radius of a typical moving shape, centre to corner, m.
    typical: f32,
    /// Direction of gravity; zero if there is none or it is unknown.
    down: Vec2,
}

impl SortedShapes {
    fn new(poses: &[Pose], shapes: &[ShapeData]) -> Self {
        let mut sorted = Self::default();
        let mut reaches = Vec::new();
        for shape in shapes {
            let Some(bounds) = Bounds::of(shape, poses) else {
                continue;
            };
            match (shape.kind & FIXED_SHAPE != 0, shape.kind & KINEMATIC_SHAPE != 0) {
                (false, _) => {
                    sorted.moving.push(bounds);
                    reaches.push(shape.bound);
                }
                (true, true) => sorted.driven.push(bounds),
                (true, false) => sorted.fixed.push(bounds),
            }
        }
        sorted.typical = median(&mut reaches).unwrap_or(0.0);
        sorted
    }

    /// Sorts a world's shapes, and adds gravity and the motion of kinematic bodies, which shapes alone do not tell.
    fn of_world(compiled: &Compiled, poses: &[Pose], shapes: &[ShapeData]) -> Self {
        let mut sorted = Self::new(poses, shapes);
        sorted.down = Vec2::from(compiled.params.gravity).normalize_or_zero();
        for shape in shapes.iter().filter(|shape| shape.kind & KINEMATIC_SHAPE != 0) {
            sorted.driven.extend(swept(compiled, shape, poses));
        }
        sorted
    }

    /// Returns the camera for the moving shapes in `core`.
    fn frame(&self, core: Option<Bounds>, size: [u32; 2]) -> Camera {
        let mut fixed = self.fixed.clone();
        let mut core = core;
        // A drum or a pusher belongs in the picture; a conveyor many times as long as the pile does not.
        for &bounds in &self.driven {
            match core {
                Some(have) if visible_height(bounds, size) > 4.0 * visible_height(have, size) => fixed.push(bounds),
                Some(have) => core = Some(have.union(bounds)),
                None => core = Some(bounds),
            }
        }
        let Some(core) = core else {
            return Bounds::around(&fixed)
                .map_or_else(|| Camera::new(Vec2::ZERO, 10.0, size), |all| Camera::fit(all, size, MARGIN));
        };
        let typical = self.typical;
        // Shapes that moving ones touch or will touch: small fixed shapes whole, the near side of large ones …
        let seen = visible_height(core, size);
        let roomy = seen.max(MIN_HEIGHT * typical);
        let near_side = (MAX_GROWTH_NEAR_SIDE * seen).max(MAX_REACH * typical);
        let mut near = core;
        for &bounds in &fixed {
            let nearest =
                Bounds { min: core.min.clamp(bounds.min, bounds.max), max: core.max.clamp(bounds.min, bounds.max) };
            let small = visible_height(bounds, size) <= SMALL_FIXED * roomy;
            let with_nearest = visible_height(core.union(nearest), size);
            if small && visible_height(core.union(bounds), size) <= MAX_GROWTH_WHOLE * roomy {
                near = near.union(bounds);
            } else if with_nearest <= near_side
                || (with_nearest <= MAX_GROWTH_BELOW * seen && self.is_below(bounds, core))
            {
                near = near.union(nearest);
            }
        }
        // … with a margin.
        let rim = near.grow(CLIP_MARGIN * near.size().max_element().max(MIN_HEIGHT * typical));
        let all = fixed.iter().filter_map(|bounds| bounds.intersection(rim)).fold(near, Bounds::union);
        let camera = Camera::fit(all, size, MARGIN);
        #[allow(clippy::cast_precision_loss, reason = "pixels")]
        let least = MIN_HEIGHT * typical / size[1].max(1) as f32;
        Camera { metres_per_pixel: camera.metres_per_pixel.max(least), ..camera }
    }

    /// Returns true if a body in `core` that falls straight down would hit the shape.
    fn is_below(&self, shape: Bounds, core: Bounds) -> bool {
        let overlaps = |axis: usize| shape.min[axis] <= core.max[axis] && core.min[axis] <= shape.max[axis];
        let (along, across) = if self.down.x.abs() > self.down.y.abs() { (0, 1) } else { (1, 0) };
        let ahead = (shape.center()[along] - core.center()[along]) * self.down[along] > 0.0;
        self.down != Vec2::ZERO && ahead && overlaps(across)
    }
}

/// Returns the bounding box of a kinematic body's shape over its whole motion, turning in place or moving on a path.
fn swept(compiled: &Compiled, shape: &ShapeData, poses: &[Pose]) -> Option<Bounds> {
    let index = shape.body as usize;
    let body = compiled.bodies.get(index).filter(|body| body.kind == KINEMATIC)?;
    let center = Vec2::from(poses.get(index)?.position);
    let around = |center: Vec2| {
        let reach = Vec2::splat(Vec2::from(shape.offset).length() + shape.bound);
        Bounds { min: center - reach, max: center + reach }
    };
    let turns = compiled.states.get(index).is_some_and(|state| state.angular_velocity != 0.0);
    let bounds = match compiled.paths.iter().find(|led| led.body == shape.body) {
        Some(led) => {
            let still = if led.path.turn == 0.0 { Bounds::of(shape, poses)? } else { around(center) };
            // From the present position to the extreme positions on both sides.
            let [low, high] = [-1.0, 1.0].map(|side| led.position.as_vec2() + side * led.path.amplitude - center);
            let moved = |by: Vec2| Bounds { min: still.min + by, max: still.max + by };
            moved(low).union(moved(high))
        }
        None if turns && body.extent > 0.0 => around(center),
        None => return None,
    };
    (bounds.min.is_finite() && bounds.max.is_finite()).then_some(bounds)
}

/// Camera placement for pictures of a world: for one moment, or for all moments of a movie.
#[derive(Clone, Debug)]
pub struct Framing {
    view: Option<Bounds>,
    size: [u32; 2],
    sorted: SortedShapes,
    /// Bounding box of moving shapes over all moments.
    core: Option<Bounds>,
    /// Bounding box of the first picture: bodies far outside have left the scene.
    stage: Bounds,
}

impl Framing {
    /// Frames a world whose bodies are at `poses`, with the bodies that its emitters will add, for pictures of a size,
    /// px.
    ///
    /// Takes time in proportion to the number of shapes: about 10 ms for a million.
    #[must_use]
    pub fn new(compiled: &Compiled, poses: &[Pose], size: [u32; 2]) -> Self {
        Self { view: compiled.view.map(Bounds::from), ..Self::of_bodies(compiled, poses, size) }
    }

    /// Frames the bodies and ignores the scene's own view.
    #[must_use]
    pub fn of_bodies(compiled: &Compiled, poses: &[Pose], size: [u32; 2]) -> Self {
        let sorted = if compiled.emits() {
            let (poses, shapes) = compiled.with_what_comes(poses);
            SortedShapes::of_world(compiled, &poses, &shapes)
        } else {
            SortedShapes::of_world(compiled, poses, &compiled.shapes)
        };
        let core = without_outliers(&sorted.moving, size);
        let first = sorted.frame(core, size).seen();
        Self { view: None, size, sorted, core, stage: first.grow(LEFT_SCENE * first.size().max_element()) }
    }

    /// Frames a given rectangle.
    #[must_use]
    pub fn of_view(view: Bounds, size: [u32; 2]) -> Self {
        Self { view: Some(view), size, sorted: SortedShapes::default(), core: None, stage: view }
    }

    /// Returns the bounding box of all moving shapes over all moments; an empty box at the picture's centre if there is
    /// none.
    #[must_use]
    pub fn bodies(&self) -> Bounds {
        let middle = self.camera().center;
        self.core.unwrap_or(Bounds { min: middle, max: middle })
    }

    /// Returns true if the rectangle is given; later moments then change nothing.
    #[must_use]
    pub fn is_given(&self) -> bool {
        self.view.is_some()
    }

    /// Extends the frame for the same world at another moment. Bodies that have left the scene, such as those that fell
    /// off the ground, are ignored while at least half of all bodies are inside.
    pub fn add(&mut self, compiled: &Compiled, poses: &[Pose]) {
        if self.is_given() {
            return;
        }
        let now = SortedShapes::of_world(compiled, poses, &compiled.shapes);
        let there: Vec<Bounds> =
            now.moving.iter().copied().filter(|bounds| bounds.intersection(self.stage).is_some()).collect();
        let counted = if 2 * there.len() >= now.moving.len() { there } else { now.moving };
        if let Some(core) = without_outliers(&counted, self.size) {
            self.core = Some(self.core.map_or(core, |have| have.union(core)));
        }
        // Kinematic bodies that travel: union of old and new positions.
        if now.driven.len() == self.sorted.driven.len() {
            self.sorted.driven.iter_mut().zip(now.driven).for_each(|(have, now)| *have = have.union(now));
        } else {
            // Bodies were added or removed: one union of all, so that the list does not grow with each moment.
            let all = self.sorted.driven.drain(..).chain(now.driven).reduce(Bounds::union);
            self.sorted.driven.extend(all);
        }
    }

    /// Returns the camera that shows everything framed so far.
    #[must_use]
    pub fn camera(&self) -> Camera {
        match self.view {
            Some(view) => Camera::fit(view, self.size, 0.0),
            None => self.sorted.frame(self.core, self.size),
        }
    }

    /// Returns the camera for a later moment of a framed world. It shows both moments, unless bodies have moved so far
    /// that they would be small; then it shows their present positions.
    #[must_use]
    pub fn camera_later(&self, compiled: &Compiled, poses: &[Pose]) -> Camera {
        let first = self.camera();
        if self.is_given() {
            return first;
        }
        let mut both = self.clone();
        both.add(compiled, poses);
        let (both, now) = (both.camera(), Self::new(compiled, poses, self.size).camera());
        if both.height() <= MAX_GROWTH_LATER * first.height().max(now.height()) { both } else { now }
    }

    /// Returns true if a camera sees any dynamic body; `None` if the world has none.
    #[must_use]
    pub fn sees_any(camera: &Camera, shapes: &[ShapeData], poses: &[Pose]) -> Option<bool> {
        let seen = camera.seen();
        let mut bounds =
            shapes.iter().filter(|shape| shape.kind & FIXED_SHAPE == 0).filter_map(|shape| Bounds::of(shape, poses));
        let first = bounds.next()?;
        Some(std::iter::once(first).chain(bounds).any(|bounds| bounds.intersection(seen).is_some()))
    }
}

/// Implements [`Camera::fit_scene`].
pub(super) fn fit(poses: &[Pose], shapes: &[ShapeData], size: [u32; 2]) -> Camera {
    let sorted = SortedShapes::new(poses, shapes);
    sorted.frame(without_outliers(&sorted.moving, size), size)
}

/// Returns the visible height that shows a rectangle whole, m.
#[allow(clippy::cast_precision_loss, reason = "pixels")]
pub(super) fn visible_height(bounds: Bounds, size: [u32; 2]) -> f32 {
    let Vec2 { x: width, y: height } = bounds.size();
    height.max(width * size[1].max(1) as f32 / size[0].max(1) as f32)
}

/// Returns the median; reorders the values.
fn median(values: &mut [f32]) -> Option<f32> {
    let middle = values.len() / 2;
    if values.is_empty() {
        return None;
    }
    Some(*values.select_nth_unstable_by(middle, f32::total_cmp).1)
}

fn without_outliers(moving: &[Bounds], size: [u32; 2]) -> Option<Bounds> {
    let all = Bounds::around(moving)?;
    if moving.len() < SMALL_SCENE {
        return Some(all);
    }
    let middle = Vec2::new(
        median(&mut moving.iter().map(|b| b.center().x).collect::<Vec<_>>())?,
        median(&mut moving.iter().map(|b| b.center().y).collect::<Vec<_>>())?,
    );
    let mut by_distance: Vec<Bounds> = moving.to_vec();
    let keep = moving.len() - moving.len() / OUTLIER_RATIO;
    if keep < by_distance.len() {
        by_distance.select_nth_unstable_by(keep, |a, b| {
            a.center().distance_squared(middle).total_cmp(&b.center().distance_squared(middle))
        });
        by_distance.truncate(keep);
    }
    // The block that is thrown at a wall of bricks is no outlier.
    let side = |bounds: &Bounds| bounds.size().max_element();
    let least = LARGE_SHAPE * median(&mut moving.iter().map(side).collect::<Vec<_>>())?;
    let large = moving.iter().copied().filter(|bounds| side(bounds) > least);
    let most = large.fold(Bounds::around(&by_distance)?, Bounds::union);
    if visible_height(most, size) * MIN_OUTLIER_GAIN < visible_height(all, size) { Some(most) } else { Some(all) }
}
