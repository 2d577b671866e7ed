//! Chooses what a picture shows of a scene.
//!
//! A scene that says its view ([`Scene::view`](drystone::Scene::view)) is shown so. Of any other the picture has room for
//! the dynamic bodies, for the static shapes that they lie on or fall onto, and for all places of kinematic bodies that
//! turn in place or swing on a path.

use glam::Vec2;

use super::{Bounds, Camera};
use drystone::low_level::scene::Compiled;
use drystone::low_level::types::{FIXED_SHAPE, KINEMATIC, KINEMATIC_SHAPE, Pose, Shape};

/// Free space on each side of a fitted scene, as a share of its size.
const MARGIN: f32 = 0.06;
/// Below this many dynamic shapes every one is in the picture, however far away.
const SMALL_SCENE: usize = 200;
/// One in this many may be left out, if that brings the others much closer.
const OUTLIERS: usize = 200;
/// A shape this many times as large as a typical one is never left out.
const LARGE: f32 = 4.0;
/// Factor of the closer view.
const WORTH_LEAVING_OUT: f32 = 1.25;
/// A picture is at least this many typical shapes (centre to corner) high, so that a lone box has room around it.
const LEAST_HEIGHT: f32 = 7.0;
/// A fixed shape at most this large, against all that moves, is shown whole …
const SMALL_FIXED: f32 = 0.5;
/// … if that makes the picture at most this much higher; …
const WHOLE: f32 = 1.4;
/// … of others the near side is shown, if that does not make it more than this much higher …
const NEAR_SIDE: f32 = 1.6;
/// … or than this many typical shapes: what a lone shape will fall on; …
const REACH: f32 = 24.0;
/// … or, of what lies below, than this many times as high: a ragdoll is larger than its bones.
const FALL: f32 = 8.0;
/// Fixed shapes are cut off this far past everything else, as a share of its size.
const CLIP: f32 = 0.06;
/// A body that is farther than this from the first picture, in its sizes, has left the scene if most others have not.
const STAGE: f32 = 1.5;
/// A picture that shows two moments is at most this many times as high as the higher of the two.
const APART: f32 = 3.0;

/// The shapes of a world, sorted by what they mean for a picture.
#[derive(Clone, Debug, Default)]
struct Cast {
    moving: Vec<Bounds>,
    /// Extent of kinematic bodies, with every place that they will turn or swing through.
    driven: Vec<Bounds>,
    fixed: Vec<Bounds>,
    /// Radius of a typical moving shape, centre to corner, m.
    typical: f32,
    /// Direction of gravity; zero if there is none, or if it is not known.
    down: Vec2,
}

impl Cast {
    fn new(poses: &[Pose], shapes: &[Shape]) -> Self {
        let mut cast = Self::default();
        let mut reaches = Vec::new();
        for shape in shapes {
            let Some(bounds) = Bounds::of(shape, poses) else {
                continue;
            };
            match (shape.kind & FIXED_SHAPE != 0, shape.kind & KINEMATIC_SHAPE != 0) {
                (false, _) => {
                    cast.moving.push(bounds);
                    reaches.push(shape.bound);
                }
                (true, true) => cast.driven.push(bounds),
                (true, false) => cast.fixed.push(bounds),
            }
        }
        cast.typical = median(&mut reaches).unwrap_or(0.0);
        cast
    }

    /// Adds what shapes do not say: gravity, and the motion of kinematic bodies.
    fn of_world(compiled: &Compiled, poses: &[Pose], shapes: &[Shape]) -> Self {
        let mut cast = Self::new(poses, shapes);
        cast.down = Vec2::from(compiled.params.gravity).normalize_or_zero();
        for shape in shapes.iter().filter(|shape| shape.kind & KINEMATIC_SHAPE != 0) {
            cast.driven.extend(swept(compiled, shape, poses));
        }
        cast
    }

    /// The camera for what moves in `core`.
    fn frame(&self, core: Option<Bounds>, size: [u32; 2]) -> Camera {
        let mut fixed = self.fixed.clone();
        let mut core = core;
        // A drum or a pusher belongs to the picture, a conveyor many times as long as the pile does not.
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
        // Shapes that moving ones meet or will meet: small fixed shapes whole, the near side of large ones …
        let seen = visible_height(core, size);
        let roomy = seen.max(LEAST_HEIGHT * typical);
        let near_side = (NEAR_SIDE * seen).max(REACH * typical);
        let mut near = core;
        for &bounds in &fixed {
            let nearest =
                Bounds { min: core.min.clamp(bounds.min, bounds.max), max: core.max.clamp(bounds.min, bounds.max) };
            let small = visible_height(bounds, size) <= SMALL_FIXED * roomy;
            let with_nearest = visible_height(core.union(nearest), size);
            if small && visible_height(core.union(bounds), size) <= WHOLE * roomy {
                near = near.union(bounds);
            } else if with_nearest <= near_side || (with_nearest <= FALL * seen && self.is_below(bounds, core)) {
                near = near.union(nearest);
            }
        }
        // … with a rim.
        let rim = near.grow(CLIP * near.size().max_element().max(LEAST_HEIGHT * typical));
        let all = fixed.iter().filter_map(|bounds| bounds.intersection(rim)).fold(near, Bounds::union);
        let camera = Camera::fit(all, size, MARGIN);
        #[allow(clippy::cast_precision_loss, reason = "pixels")]
        let least = LEAST_HEIGHT * typical / size[1].max(1) as f32;
        Camera { metres_per_pixel: camera.metres_per_pixel.max(least), ..camera }
    }

    /// True if something in `core` that falls straight down would meet the shape.
    fn is_below(&self, shape: Bounds, core: Bounds) -> bool {
        let overlaps = |axis: usize| shape.min[axis] <= core.max[axis] && core.min[axis] <= shape.max[axis];
        let (along, across) = if self.down.x.abs() > self.down.y.abs() { (0, 1) } else { (1, 0) };
        let ahead = (shape.center()[along] - core.center()[along]) * self.down[along] > 0.0;
        self.down != Vec2::ZERO && ahead && overlaps(across)
    }
}

/// Every place that a shape of a kinematic body will come to while the body turns in place or swings on its path.
fn swept(compiled: &Compiled, shape: &Shape, poses: &[Pose]) -> Option<Bounds> {
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
            // From where it is now to where it swings to on either side.
            let [low, high] = [-1.0, 1.0].map(|side| led.position + side * led.path.amplitude - center);
            let moved = |by: Vec2| Bounds { min: still.min + by, max: still.max + by };
            moved(low).union(moved(high))
        }
        None if turns && body.extent > 0.0 => around(center),
        None => return None,
    };
    (bounds.min.is_finite() && bounds.max.is_finite()).then_some(bounds)
}

/// Frame of pictures of a world: one moment of it, or all that it was told of, as for a movie.
#[derive(Clone, Debug)]
pub struct Framing {
    view: Option<Bounds>,
    size: [u32; 2],
    cast: Cast,
    /// Around what moves, at all moments.
    core: Option<Bounds>,
    /// Around the first picture: what leaves it has left the scene.
    stage: Bounds,
}

impl Framing {
    /// Frames a world whose bodies are at `poses`, and what its emitters will make, for pictures of a size, px.
    ///
    /// Takes time in proportion to the number of shapes: about 10 ms for a million.
    #[must_use]
    pub fn new(compiled: &Compiled, poses: &[Pose], size: [u32; 2]) -> Self {
        Self { view: compiled.view.map(Bounds::from), ..Self::of_bodies(compiled, poses, size) }
    }

    /// Frames the bodies whatever the scene says of its view.
    #[must_use]
    pub fn of_bodies(compiled: &Compiled, poses: &[Pose], size: [u32; 2]) -> Self {
        let cast = if compiled.emits() {
            let (poses, shapes) = compiled.with_what_comes(poses);
            Cast::of_world(compiled, &poses, &shapes)
        } else {
            Cast::of_world(compiled, poses, &compiled.shapes)
        };
        let core = without_outliers(&cast.moving, size);
        let first = cast.frame(core, size).seen();
        Self { view: None, size, cast, core, stage: first.grow(STAGE * first.size().max_element()) }
    }

    /// The same for one given rectangle.
    #[must_use]
    pub fn of_view(view: Bounds, size: [u32; 2]) -> Self {
        Self { view: Some(view), size, cast: Cast::default(), core: None, stage: view }
    }

    /// Extent of all that moves, at all moments; empty about the middle of the picture if nothing does.
    #[must_use]
    pub fn bodies(&self) -> Bounds {
        let middle = self.camera().center;
        self.core.unwrap_or(Bounds { min: middle, max: middle })
    }

    /// True if the rectangle is given: then other moments change nothing.
    #[must_use]
    pub fn is_given(&self) -> bool {
        self.view.is_some()
    }

    /// Makes room for the same world at another moment. Bodies that have left the scene, such as those that fell off its
    /// ground, do not count as long as at least half of all bodies are there.
    pub fn add(&mut self, compiled: &Compiled, poses: &[Pose]) {
        if self.is_given() {
            return;
        }
        let now = Cast::of_world(compiled, poses, &compiled.shapes);
        let there: Vec<Bounds> =
            now.moving.iter().copied().filter(|bounds| bounds.intersection(self.stage).is_some()).collect();
        let counted = if 2 * there.len() >= now.moving.len() { there } else { now.moving };
        if let Some(core) = without_outliers(&counted, self.size) {
            self.core = Some(self.core.map_or(core, |have| have.union(core)));
        }
        // Kinematic bodies that move along: where each of them was and is.
        if now.driven.len() == self.cast.driven.len() {
            self.cast.driven.iter_mut().zip(now.driven).for_each(|(have, now)| *have = have.union(now));
        } else {
            // Some came or went: all of them together, so that the list does not grow with each moment.
            let all = self.cast.driven.drain(..).chain(now.driven).reduce(Bounds::union);
            self.cast.driven.extend(all);
        }
    }

    /// The camera that shows all of it.
    #[must_use]
    pub fn camera(&self) -> Camera {
        match self.view {
            Some(view) => Camera::fit(view, self.size, 0.0),
            None => self.cast.frame(self.core, self.size),
        }
    }

    /// The camera for a later moment of a world that was framed first: it shows both, unless bodies have gone so far that
    /// they would be small; then it shows where they are now.
    #[must_use]
    pub fn camera_later(&self, compiled: &Compiled, poses: &[Pose]) -> Camera {
        let first = self.camera();
        if self.is_given() {
            return first;
        }
        let mut both = self.clone();
        both.add(compiled, poses);
        let (both, now) = (both.camera(), Self::new(compiled, poses, self.size).camera());
        if both.height() <= APART * first.height().max(now.height()) { both } else { now }
    }

    /// Returns true if a camera sees any dynamic body; `None` if there is none.
    #[must_use]
    pub fn sees_any(camera: &Camera, shapes: &[Shape], poses: &[Pose]) -> Option<bool> {
        let seen = camera.seen();
        let mut bounds =
            shapes.iter().filter(|shape| shape.kind & FIXED_SHAPE == 0).filter_map(|shape| Bounds::of(shape, poses));
        let first = bounds.next()?;
        Some(std::iter::once(first).chain(bounds).any(|bounds| bounds.intersection(seen).is_some()))
    }
}

/// See [`Camera::fit_scene`].
pub(super) fn fit(poses: &[Pose], shapes: &[Shape], size: [u32; 2]) -> Camera {
    let cast = Cast::new(poses, shapes);
    cast.frame(without_outliers(&cast.moving, size), size)
}

/// Metres from bottom to top that show a rectangle whole.
#[allow(clippy::cast_precision_loss, reason = "pixels")]
pub(super) fn visible_height(bounds: Bounds, size: [u32; 2]) -> f32 {
    let Vec2 { x: width, y: height } = bounds.size();
    height.max(width * size[1].max(1) as f32 / size[0].max(1) as f32)
}

/// The middle one; reorders.
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
    let keep = moving.len() - moving.len() / OUTLIERS;
    if keep < by_distance.len() {
        by_distance.select_nth_unstable_by(keep, |a, b| {
            a.center().distance_squared(middle).total_cmp(&b.center().distance_squared(middle))
        });
        by_distance.truncate(keep);
    }
    // The one block that is thrown at a wall of bricks is no outlier.
    let side = |bounds: &Bounds| bounds.size().max_element();
    let least = LARGE * median(&mut moving.iter().map(side).collect::<Vec<_>>())?;
    let large = moving.iter().copied().filter(|bounds| side(bounds) > least);
    let most = large.fold(Bounds::around(&by_distance)?, Bounds::union);
    if visible_height(most, size) * WORTH_LEAVING_OUT < visible_height(all, size) { Some(most) } else { Some(all) }
}
