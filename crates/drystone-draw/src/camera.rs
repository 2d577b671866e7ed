//! What part of the plane a picture shows.

use glam::Vec2;

use super::framing;
use drystone::ViewBox;
use drystone::low_level::math::rotate;
use drystone::low_level::types::{BOX, CIRCLE, GEOMETRY_MASK, HALF_PLANE, NO_SHAPE, Pose, Shape};

/// px.
pub const DEFAULT_SIZE: [u32; 2] = [1600, 900];

/// An axis-aligned rectangle, m.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Left and bottom.
    pub min: Vec2,
    /// Right and top.
    pub max: Vec2,
}

impl From<ViewBox> for Bounds {
    fn from(ViewBox { min, max }: ViewBox) -> Self {
        Self { min, max }
    }
}

impl Bounds {
    /// Around a shape; `None` if it is not finite or has no body, and for half planes, which have no end.
    #[must_use]
    pub fn of(shape: &Shape, poses: &[Pose]) -> Option<Self> {
        let pose = poses.get(shape.body as usize)?;
        let rotation = Vec2::from(pose.rotation);
        let center = Vec2::from(pose.position) + rotate(rotation, shape.offset.into());
        let q = rotate(rotation, shape.rotation.into()).abs();
        let half = match shape.kind & GEOMETRY_MASK {
            CIRCLE => Vec2::splat(shape.radius),
            BOX => {
                let [x, y] = shape.half;
                Vec2::new(q.x * x + q.y * y, q.y * x + q.x * y) + shape.radius
            }
            HALF_PLANE | NO_SHAPE => return None,
            _ => Vec2::splat(shape.bound),
        };
        let bounds = Self { min: center - half, max: center + half };
        (bounds.min.is_finite() && bounds.max.is_finite()).then_some(bounds)
    }

    /// Around both.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        Self { min: self.min.min(other.min), max: self.max.max(other.max) }
    }

    /// What both cover; `None` if nothing.
    #[must_use]
    pub fn intersection(self, other: Self) -> Option<Self> {
        let both = Self { min: self.min.max(other.min), max: self.max.min(other.max) };
        both.min.cmple(both.max).all().then_some(both)
    }

    /// True if the other is inside.
    #[must_use]
    pub fn contains(self, other: Self) -> bool {
        self.min.cmple(other.min).all() && self.max.cmpge(other.max).all()
    }

    /// Larger by a distance on every side, m.
    #[must_use]
    pub fn grow(self, by: f32) -> Self {
        Self { min: self.min - by, max: self.max + by }
    }

    /// m.
    #[must_use]
    pub fn size(self) -> Vec2 {
        self.max - self.min
    }

    /// m.
    #[must_use]
    pub fn center(self) -> Vec2 {
        // Halved first: the sum of two large numbers may overflow.
        0.5 * self.min + 0.5 * self.max
    }

    /// Around all of them.
    pub(super) fn around(all: &[Self]) -> Option<Self> {
        all.iter().copied().reduce(Self::union)
    }
}

/// Where a picture looks, how close, and how large it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Camera {
    /// In the middle of the picture, m.
    pub center: Vec2,
    /// Scale, above 0. Pixels are square.
    pub metres_per_pixel: f32,
    /// Width and height of the picture, px.
    pub size: [u32; 2],
    /// Its top left corner on the target, px: zero unless it shares a window with something else.
    pub origin: Vec2,
}

impl Default for Camera {
    /// Ten metres high about the origin.
    fn default() -> Self {
        Self::new(Vec2::ZERO, 10.0, DEFAULT_SIZE)
    }
}

#[allow(clippy::cast_precision_loss, reason = "pictures are far smaller than 2²⁴ pixels a side")]
impl Camera {
    /// By what is in the middle and how much is visible from bottom to top, m.
    #[must_use]
    pub fn new(center: Vec2, height: f32, size: [u32; 2]) -> Self {
        Self { center, metres_per_pixel: height / size[1].max(1) as f32, size, origin: Vec2::ZERO }
    }

    /// Shows a rectangle, with `margin` times its size free on each side.
    #[must_use]
    pub fn fit(bounds: Bounds, size: [u32; 2], margin: f32) -> Self {
        let height = framing::visible_height(bounds, size) * (1.0 + 2.0 * margin);
        let height = if height.is_finite() && height > 0.0 { height } else { 10.0 };
        let center = if bounds.center().is_finite() { bounds.center() } else { Vec2::ZERO };
        Self::new(center, height, size)
    }

    /// Shows a scene: all that moves, and as much of the static shapes as is near it.
    ///
    /// In scenes of more than 200 moving shapes the farthest 0.5 % are left out where that brings the rest at least a
    /// quarter closer. A scene of static shapes alone is shown whole; an empty one is ten metres high. What a scene says
    /// of its view, of its gravity and of what turns is in none of these tables: [`Framing`](super::Framing) knows it.
    #[must_use]
    pub fn fit_scene(poses: &[Pose], shapes: &[Shape], size: [u32; 2]) -> Self {
        framing::fit(poses, shapes, size)
    }

    /// Metres from the bottom of the picture to its top.
    #[must_use]
    pub fn height(&self) -> f32 {
        self.metres_per_pixel * self.size[1] as f32
    }

    /// The part of the plane that the picture shows, m.
    #[must_use]
    pub fn seen(&self) -> Bounds {
        let half = 0.5 * self.metres_per_pixel * Vec2::new(self.size[0] as f32, self.size[1] as f32);
        Bounds { min: self.center - half, max: self.center + half }
    }

    /// Where a point in the world (m) is on the target (px, y down).
    #[must_use]
    pub fn to_pixel(&self, point: Vec2) -> Vec2 {
        let away = (point - self.center) / self.metres_per_pixel;
        self.middle() + Vec2::new(away.x, -away.y)
    }

    /// The point in the world (m) under a pixel of the target.
    #[must_use]
    pub fn to_world(&self, pixel: Vec2) -> Vec2 {
        let away = (pixel - self.middle()) * self.metres_per_pixel;
        self.center + Vec2::new(away.x, -away.y)
    }

    /// Comes closer (`factor` below 1) or goes away; what is under `pixel` stays there.
    pub fn zoom(&mut self, pixel: Vec2, factor: f32) {
        let under = self.to_world(pixel);
        self.metres_per_pixel *= factor;
        self.center += under - self.to_world(pixel);
    }

    /// Drags the world along by some pixels.
    pub fn pan(&mut self, pixels: Vec2) {
        self.center += Vec2::new(-pixels.x, pixels.y) * self.metres_per_pixel;
    }

    fn middle(&self) -> Vec2 {
        self.origin + 0.5 * Vec2::new(self.size[0] as f32, self.size[1] as f32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pixels_and_metres_are_inverse() {
        let mut camera = Camera::new(Vec2::new(3.0, -2.0), 18.0, [1600, 900]);
        assert_eq!(camera.to_pixel(camera.center), Vec2::new(800.0, 450.0));
        assert_eq!(camera.to_pixel(Vec2::new(3.0, 7.0)), Vec2::new(800.0, 0.0), "up is up");
        camera.origin = Vec2::new(100.0, 0.0);
        let pixel = Vec2::new(333.0, 444.0);
        let under = camera.to_world(pixel);
        assert!(camera.to_pixel(under).distance(pixel) < 1e-2);
        camera.zoom(pixel, 0.5);
        assert!(camera.to_world(pixel).distance(under) < 1e-4, "zoom keeps what is under the pointer");
        camera.pan(Vec2::new(10.0, -20.0));
        assert!(camera.to_world(pixel + Vec2::new(10.0, -20.0)).distance(under) < 1e-4, "pan drags it along");
    }
}
