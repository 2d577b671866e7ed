//! The camera: centre, scale and size of a picture, and axis-aligned rectangles of the world.

use glam::Vec2;

use super::framing;
use drystone::ViewBox;
use drystone::low_level::math::rotate;
use drystone::low_level::types::{BOX, CIRCLE, GEOMETRY_MASK, HALF_PLANE, NO_SHAPE, Pose, ShapeData};

/// Default width and height of a picture, px.
pub const DEFAULT_SIZE: [u32; 2] = [1600, 900];

/// An axis-aligned rectangle, m.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Lower left corner.
    pub min: Vec2,
    /// Upper right corner.
    pub max: Vec2,
}

impl From<ViewBox> for Bounds {
    fn from(ViewBox { min, max }: ViewBox) -> Self {
        Self { min, max }
    }
}

impl Bounds {
    /// Returns the bounding box of a shape; `None` if it is not finite or has no body, and for half planes, which are
    /// unbounded.
    #[must_use]
    pub fn of(shape: &ShapeData, poses: &[Pose]) -> Option<Self> {
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

    /// Returns the smallest rectangle that contains both.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        Self { min: self.min.min(other.min), max: self.max.max(other.max) }
    }

    /// Returns the overlap of both; `None` if they do not overlap.
    #[must_use]
    pub fn intersection(self, other: Self) -> Option<Self> {
        let both = Self { min: self.min.max(other.min), max: self.max.min(other.max) };
        both.min.cmple(both.max).all().then_some(both)
    }

    /// Returns true if the other rectangle is inside this one.
    #[must_use]
    pub fn contains(self, other: Self) -> bool {
        self.min.cmple(other.min).all() && self.max.cmpge(other.max).all()
    }

    /// Returns this rectangle extended by a distance on every side, m.
    #[must_use]
    pub fn grow(self, by: f32) -> Self {
        Self { min: self.min - by, max: self.max + by }
    }

    /// Returns width and height, m.
    #[must_use]
    pub fn size(self) -> Vec2 {
        self.max - self.min
    }

    /// Returns the centre, m.
    #[must_use]
    pub fn center(self) -> Vec2 {
        // Halved before the sum, which may overflow.
        0.5 * self.min + 0.5 * self.max
    }

    /// Returns the smallest rectangle that contains all of them; `None` for an empty list.
    pub(super) fn around(all: &[Self]) -> Option<Self> {
        all.iter().copied().reduce(Self::union)
    }
}

/// Position, scale and size of a picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Camera {
    /// World position of the centre of the picture, m.
    pub center: Vec2,
    /// Scale, m/px, above 0. Pixels are square.
    pub metres_per_pixel: f32,
    /// Width and height of the picture, px.
    pub size: [u32; 2],
    /// Upper left corner of the picture on its target, px. Zero unless the picture shares a window with other content.
    pub origin: Vec2,
}

impl Default for Camera {
    /// Returns a camera that shows ten metres from bottom to top, centred at the origin.
    fn default() -> Self {
        Self::new(Vec2::ZERO, 10.0, DEFAULT_SIZE)
    }
}

#[allow(clippy::cast_precision_loss, reason = "pictures are far smaller than 2²⁴ pixels a side")]
impl Camera {
    /// Creates a camera from its centre and the visible height, both m.
    #[must_use]
    pub fn new(center: Vec2, height: f32, size: [u32; 2]) -> Self {
        Self { center, metres_per_pixel: height / size[1].max(1) as f32, size, origin: Vec2::ZERO }
    }

    /// Creates a camera that shows a rectangle, with `margin` times its size free on each side.
    #[must_use]
    pub fn fit(bounds: Bounds, size: [u32; 2], margin: f32) -> Self {
        let height = framing::visible_height(bounds, size) * (1.0 + 2.0 * margin);
        let height = if height.is_finite() && height > 0.0 { height } else { 10.0 };
        let center = if bounds.center().is_finite() { bounds.center() } else { Vec2::ZERO };
        Self::new(center, height, size)
    }

    /// Creates a camera that shows a scene: all moving shapes, and the nearby part of the static ones.
    ///
    /// In scenes of more than 200 moving shapes, the farthest 0.5 % are ignored if that makes the view of the others at
    /// least 25 % closer. A scene of static shapes alone is shown whole; an empty scene is shown ten metres high. These
    /// tables contain neither the scene's own view nor gravity nor motors; use [`Framing`](super::Framing) where they
    /// matter.
    #[must_use]
    pub fn fit_scene(poses: &[Pose], shapes: &[ShapeData], size: [u32; 2]) -> Self {
        framing::fit(poses, shapes, size)
    }

    /// Returns the visible height, m.
    #[must_use]
    pub fn height(&self) -> f32 {
        self.metres_per_pixel * self.size[1] as f32
    }

    /// Returns the visible rectangle of the world, m.
    #[must_use]
    pub fn seen(&self) -> Bounds {
        let half = 0.5 * self.metres_per_pixel * Vec2::new(self.size[0] as f32, self.size[1] as f32);
        Bounds { min: self.center - half, max: self.center + half }
    }

    /// Converts a point of the world, m, to pixels of the target, y down.
    #[must_use]
    pub fn to_pixel(&self, point: Vec2) -> Vec2 {
        let away = (point - self.center) / self.metres_per_pixel;
        self.middle() + Vec2::new(away.x, -away.y)
    }

    /// Converts a pixel of the target to a point of the world, m.
    #[must_use]
    pub fn to_world(&self, pixel: Vec2) -> Vec2 {
        let away = (pixel - self.middle()) * self.metres_per_pixel;
        self.center + Vec2::new(away.x, -away.y)
    }

    /// Zooms in (`factor` below 1) or out; the point under `pixel` stays fixed.
    pub fn zoom(&mut self, pixel: Vec2, factor: f32) {
        let under = self.to_world(pixel);
        self.metres_per_pixel *= factor;
        self.center += under - self.to_world(pixel);
    }

    /// Moves the view so that the world follows a drag by some pixels.
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
        assert!(camera.to_world(pixel).distance(under) < 1e-4, "zooming keeps the point under the pointer");
        camera.pan(Vec2::new(10.0, -20.0));
        assert!(
            camera.to_world(pixel + Vec2::new(10.0, -20.0)).distance(under) < 1e-4,
            "panning moves the world with the pointer"
        );
    }
}
