//! CPU rasteriser: draws the same pictures without a GPU.
//!
//! ```
//! use drystone::{Body, Scene, Shape, World};
//! use drystone_draw::{Camera, Style, raster};
//!
//! let mut scene = Scene::new("ball");
//! scene.add(Body::dynamic(0.0, 4.0).shape(Shape::circle(0.5)));
//! let mut world = World::new(&scene)?;
//! let snapshot = world.snapshot()?;
//! let image = raster::picture_of_world(world.compiled(), &snapshot, true, &Camera::default(), &Style::light())?;
//! assert_eq!([image.width, image.height], Camera::default().size);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use glam::Vec2;
use rayon::prelude::*;

use super::marks::Mark;
use super::sprite::{Sprite, SpriteInputs};
use super::text::TextStrip;
use super::view::{View, bar_text};
use super::{Camera, DrawError, Image, Layers, Rgb, Scale, Style, backdrop, joints, palette};
use drystone::Snapshot;
use drystone::low_level::scene::Compiled;
use drystone::low_level::types::{FIXED_SHAPE, Pose, ShapeData};

/// Maximum side length of a picture, px: an f32 resolves quarter pixels up to there, and no screen is larger.
const MAX_SIDE: u32 = 32_768;
/// Rows per task of a thread.
const BAND: usize = 16;

/// Draws shapes and bodies; matches [`Offscreen::picture`](super::Offscreen::picture). Shapes with a NaN or an
/// infinity, and shapes whose body is not in `poses` or whose vertices are not in `vertices`, are left out.
///
/// # Errors
/// [`DrawError::Size`] and [`DrawError::Camera`].
pub fn picture(
    poses: &[Pose],
    shapes: &[ShapeData],
    vertices: &[[f32; 2]],
    camera: &Camera,
    style: &Style,
) -> Result<Image, DrawError> {
    let view = view(camera, style, shapes, poses)?;
    Ok(paint(
        &view,
        &bar_text(camera, style),
        &sprites(&view, shapes, &SpriteInputs { poses, vertices, bodies: &[] }),
        &[],
    ))
}

/// Draws a world from a snapshot, optionally with lines and signs of its joints; matches
/// [`Offscreen::layered_picture`](super::Offscreen::layered_picture) with [`Layers::joints`].
///
/// # Errors
/// Those of [`picture`].
pub fn picture_of_world(
    compiled: &Compiled,
    snapshot: &Snapshot,
    with_joints: bool,
    camera: &Camera,
    style: &Style,
) -> Result<Image, DrawError> {
    let poses = &snapshot.poses;
    let mut view = view(camera, style, &compiled.shapes, poses)?;
    view.ramp_bodies = compiled.scene_slots;
    view.put_layers(&Layers { joints: with_joints, ..Layers::default() }, Some(Scale::of(compiled)));
    let inputs = SpriteInputs { poses, vertices: &compiled.vertices, bodies: &compiled.bodies };
    let sprites = sprites(&view, &compiled.shapes, &inputs);
    let of_joints = if with_joints { &compiled.joints.joints[..] } else { &[] };
    Ok(paint(
        &view,
        &bar_text(camera, style),
        &sprites,
        &joints::marks(&view, of_joints, &compiled.joints.rows, &snapshot.joint_states, poses),
    ))
}

fn view(camera: &Camera, style: &Style, shapes: &[ShapeData], poses: &[Pose]) -> Result<View, DrawError> {
    let [width, height] = camera.size;
    let fits = |side: u32| (1..=MAX_SIDE).contains(&side);
    if !fits(width) || !fits(height) {
        return Err(DrawError::Size { width, height, limit: MAX_SIDE });
    }
    View::new(camera, style, count(shapes.len()), count(poses.len()))
}

fn sprites(view: &View, shapes: &[ShapeData], world: &SpriteInputs<'_>) -> Vec<Sprite> {
    let mut sprites = Vec::new();
    // Fixed bodies first, so that they lie below.
    for fixed in [true, false] {
        sprites.par_extend(
            shapes
                .par_iter()
                .filter(|shape| (shape.kind & FIXED_SHAPE != 0) == fixed)
                .filter_map(|shape| Sprite::new(view, shape, world)),
        );
    }
    sprites
}

fn paint(view: &View, text: &TextStrip, sprites: &[Sprite], marks: &[Mark]) -> Image {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "sizes are whole")]
    let [width, height] = view.size.map(|side| side as u32);
    let columns: Vec<f32> = (0..width).map(|x| backdrop::grid_strength(view, 0, middle(x))).collect();
    let row_bytes = width as usize * 4;
    let mut rgba = vec![0; row_bytes * height as usize];
    rgba.par_chunks_mut(row_bytes * BAND).enumerate().for_each(|(band, bytes)| {
        let top = count(band * BAND);
        let mut canvas = Canvas::new(view, top, count(bytes.len() / row_bytes), &columns);
        for sprite in sprites {
            canvas.blend(sprite.low, sprite.high, |pixel| sprite.shade(view, pixel));
        }
        for mark in marks {
            canvas.blend(mark.low, mark.high, |pixel| mark.shade(view, pixel));
        }
        if view.has_bar() {
            canvas.bar(view, &text.coverage);
        }
        canvas.write(bytes);
    });
    Image { width, height, rgba }
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

#[allow(clippy::cast_precision_loss, reason = "LONGEST_SIDE fits an f32")]
fn middle(pixel: u32) -> f32 {
    pixel as f32 + 0.5
}

/// A band of rows of the picture.
struct Canvas {
    top: u32,
    rows: u32,
    width: u32,
    pixels: Vec<Rgb>,
}

impl Canvas {
    /// Creates a band filled with the background.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "sizes are whole")]
    fn new(view: &View, top: u32, rows: u32, columns: &[f32]) -> Self {
        let mut pixels = Vec::with_capacity(columns.len() * rows as usize);
        for y in top..top + rows {
            let row = backdrop::grid_strength(view, 1, middle(y));
            pixels.extend(columns.iter().map(|&column| backdrop::background(view, row.max(column))));
        }
        Self { top, rows, width: view.size[0] as u32, pixels }
    }

    /// Blends the pixels from `low` to `high` (exclusive), as far as they are in this band.
    #[inline]
    fn blend(&mut self, low: [u32; 2], high: [u32; 2], shade: impl Fn(Vec2) -> Option<(Rgb, f32)>) {
        let (top, bottom) = (low[1].max(self.top), high[1].min(self.top + self.rows));
        let (left, right) = (low[0].min(self.width), high[0].min(self.width));
        for y in top..bottom {
            let start = ((y - self.top) * self.width) as usize;
            let row = &mut self.pixels[start + left as usize..start + right as usize];
            for (x, below) in (left..right).zip(row) {
                if let Some((color, alpha)) = shade(Vec2::new(middle(x), middle(y))) {
                    *below = palette::mix(*below, color, alpha);
                }
            }
        }
    }

    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "`as` clamps at 0, blend at the picture"
    )]
    fn bar(&mut self, view: &View, text: &[u8]) {
        let [x, y, width, height] = backdrop::plate(view);
        let high = [(x + width).floor() as u32, (y + height).floor() as u32];
        self.blend([x.floor() as u32, y.floor() as u32], high, |pixel| Some(backdrop::bar(view, text, pixel)));
    }

    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 – 255 by construction, else clamped")]
    fn write(&self, bytes: &mut [u8]) {
        for (color, out) in self.pixels.iter().zip(bytes.chunks_exact_mut(4)) {
            let [r, g, b] = color.map(|c| (c * 255.0 + 0.5) as u8);
            out.copy_from_slice(&[r, g, b, 255]);
        }
    }
}
