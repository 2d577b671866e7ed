//! Animated GIFs, encoded frame by frame: memory use is two drawings, independent of the movie's length.
//!
//! A frame stores only the rectangle that changed, and in it only the pixels that changed.
//!
//! ```
//! use drystone::{Body, Scene, Shape, World};
//! use drystone_draw::movie::Movie;
//! use drystone_draw::{Camera, Style, raster};
//!
//! let mut scene = Scene::new("ball");
//! scene.add(Body::dynamic(0.0, 4.0).shape(Shape::circle(0.5)));
//! let mut world = World::new(&scene)?;
//! let mut draw = |world: &mut World| -> Result<_, Box<dyn std::error::Error>> {
//!     let snapshot = world.snapshot()?;
//!     Ok(raster::picture_of_world(world.compiled(), &snapshot, false, &Camera::default(), &Style::light())?)
//! };
//! let mut movie = Movie::new(Vec::new(), &draw(&mut world)?)?;
//! for step in 1..=3 {
//!     world.step()?;
//!     movie.push(f64::from(step) / 60.0, &draw(&mut world)?)?;
//! }
//! assert!(movie.finish(0.1)?.starts_with(b"GIF89a"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod palette;

use std::io::Write;

use gif::{DisposalMethod, Encoder, EncodingError, Frame, Repeat};

use crate::Image;
use palette::{Color, Palette};

/// Frames per second of simulated time. GIF delays are multiples of 1/100 s; below 2/100 s browsers slow down.
const FRAME_RATE: f64 = 25.0;
/// Palette index that leaves a pixel as it is.
const UNCHANGED: u8 = 255;

/// Returns true if a frame is due after this step: the first step, and every step after which another 1/25 s has
/// passed.
#[must_use]
pub fn is_due(step: u64, dt: f64) -> bool {
    let frames = |step: u64| (step as f64 * dt * FRAME_RATE + 1e-6).floor();
    step == 0 || frames(step) > frames(step - 1)
}

/// A movie being written. It plays at the speed of simulated time, in an endless loop.
pub struct Movie<W: Write> {
    encoder: Encoder<W>,
    width: u16,
    height: u16,
    palette: Palette,
    /// True if the palette differs from the one in the file's header: frames then carry their own.
    own_palette: bool,
    /// Pixels of the last frame, as the viewer sees them.
    screen: Vec<Color>,
    /// The last frame, kept until its duration is known, and its time, in hundredths of a second.
    pending: (Frame<'static>, u64),
}

impl<W: Write> std::fmt::Debug for Movie<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Movie").field("width", &self.width).field("height", &self.height).finish_non_exhaustive()
    }
}

impl<W: Write> Movie<W> {
    /// Starts the movie with the drawing of the first moment.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn new(destination: W, first: &Image) -> Result<Self, EncodingError> {
        let side = |n: u32| u16::try_from(n).unwrap_or(u16::MAX);
        let (width, height) = (side(first.width), side(first.height));
        let screen = colors(first);
        let mut palette = Palette::of(&screen);
        let mut encoder = Encoder::new(destination, width, height, &palette.bytes())?;
        encoder.set_repeat(Repeat::Infinite)?;
        let buffer: Vec<u8> = screen.iter().map(|&color| palette.nearest(color).0).collect();
        let frame = Frame { width, height, buffer: buffer.into(), dispose: DisposalMethod::Keep, ..Frame::default() };
        Ok(Self { encoder, width, height, palette, own_palette: false, screen, pending: (frame, 0) })
    }

    /// Adds the drawing at a simulated time, s, which must be later than all before.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn push(&mut self, time: f64, image: &Image) -> Result<(), EncodingError> {
        let drawn = colors(image);
        let Some(area) = Area::changed(&self.screen, &drawn, self.width, self.height) else { return Ok(()) };
        if !self.palette.suits(&drawn) {
            self.palette = Palette::of(&drawn);
            self.own_palette = true;
        }
        let mut buffer = Vec::with_capacity(usize::from(area.width) * usize::from(area.height));
        for row in area.rows(self.width) {
            buffer.extend(
                self.screen[row.clone()]
                    .iter()
                    .zip(&drawn[row])
                    .map(|(old, &new)| if *old == new { UNCHANGED } else { self.palette.nearest(new).0 }),
            );
        }
        let frame = Frame {
            left: area.left,
            top: area.top,
            width: area.width,
            height: area.height,
            buffer: buffer.into(),
            palette: self.own_palette.then(|| self.palette.bytes()),
            transparent: Some(UNCHANGED),
            dispose: DisposalMethod::Keep,
            ..Frame::default()
        };
        let now = hundredths(time);
        self.write_pending(now)?;
        self.pending = (frame, now);
        self.screen = drawn;
        Ok(())
    }

    /// Ends the movie at a simulated time, s.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn finish(mut self, time: f64) -> Result<W, EncodingError> {
        self.write_pending(hundredths(time))?;
        self.encoder.into_inner()
    }

    fn write_pending(&mut self, until: u64) -> Result<(), EncodingError> {
        let (frame, since) = &mut self.pending;
        frame.delay = u16::try_from(until.saturating_sub(*since)).unwrap_or(u16::MAX).max(2);
        self.encoder.write_frame(frame)
    }
}

fn colors(image: &Image) -> Vec<Color> {
    image.rgba.chunks_exact(4).map(|p| [p[0], p[1], p[2]]).collect()
}

/// Rounds a time to hundredths of a second. Delays are differences of rounded times, so that rounding errors do not add
/// up.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "times are positive and short")]
fn hundredths(time: f64) -> u64 {
    (100.0 * time).round() as u64
}

/// A rectangle of pixels.
#[derive(Debug, PartialEq, Eq)]
struct Area {
    left: u16,
    top: u16,
    width: u16,
    height: u16,
}

impl Area {
    /// Returns the bounding rectangle of all pixels that differ.
    fn changed(old: &[Color], new: &[Color], width: u16, height: u16) -> Option<Self> {
        let row = |y: u16| usize::from(y) * usize::from(width)..(usize::from(y) + 1) * usize::from(width);
        let differs = |y: &u16| old[row(*y)] != new[row(*y)];
        let top = (0..height).find(differs)?;
        let bottom = (0..height).rev().find(differs)?;
        let (mut left, mut right) = (width, 0);
        for y in top..=bottom {
            let pixels = || (0_u16..).zip(old[row(y)].iter().zip(&new[row(y)])).filter(|(_, (old, new))| old != new);
            left = pixels().next().map_or(left, |(x, _)| left.min(x));
            right = pixels().last().map_or(right, |(x, _)| right.max(x));
        }
        Some(Self { left, top, width: right - left + 1, height: bottom - top + 1 })
    }

    /// Returns the index range of each row in a drawing of this width.
    fn rows(&self, width: u16) -> impl Iterator<Item = std::ops::Range<usize>> + use<> {
        let (left, length, width) = (usize::from(self.left), usize::from(self.width), usize::from(width));
        (self.top..self.top + self.height).map(move |y| {
            let start = usize::from(y) * width + left;
            start..start + length
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a white drawing with a black square of 4 pixels at `x`.
    fn drawing(x: u32) -> Image {
        let (width, height) = (40, 20);
        let rgba = (0..height)
            .flat_map(|j| (0..width).map(move |i| (i, j)))
            .flat_map(|(i, j)| if (x..x + 4).contains(&i) && (8..12).contains(&j) { [0, 0, 0, 255] } else { [255; 4] })
            .collect();
        Image { width, height, rgba }
    }

    #[test]
    fn frames_are_due_25_times_a_second() {
        let due: Vec<u64> = (0..=12).filter(|&step| is_due(step, 1.0 / 60.0)).collect();
        assert_eq!(due, [0, 3, 5, 8, 10, 12]);
        assert_eq!((1..=6000).filter(|&step| is_due(step, 1.0 / 60.0)).count(), 2500);
        assert_eq!((1..=100).filter(|&step| is_due(step, 0.1)).count(), 100, "every long step is a frame");
    }

    #[test]
    fn plays_back_what_was_drawn_at_the_speed_of_time() {
        let mut movie = Movie::new(Vec::new(), &drawing(0)).unwrap();
        for frame in 1..30 {
            // The drawing of frame 10 is repeated once: it stays longer instead of being stored twice.
            let x = if frame == 11 { 10 } else { frame };
            movie.push(f64::from(frame) / 30.0, &drawing(x)).unwrap();
        }
        let gif = movie.finish(1.0).unwrap();

        let mut options = gif::DecodeOptions::new();
        options.set_color_output(gif::ColorOutput::RGBA);
        let mut decoder = options.read_info(&gif[..]).unwrap();
        let mut screen = drawing(0).rgba;
        let mut delays = 0;
        let mut count = 0;
        while let Some(frame) = decoder.read_next_frame().unwrap() {
            for (index, pixel) in frame.buffer.chunks_exact(4).enumerate() {
                let (width, left, top) = (usize::from(frame.width), usize::from(frame.left), usize::from(frame.top));
                let at = 4 * ((top + index / width) * 40 + left + index % width);
                if pixel[3] != 0 {
                    screen[at..at + 4].copy_from_slice(pixel);
                }
            }
            let x = if count < 11 { count } else { count + 1 };
            assert!(screen == drawing(x).rgba, "frame {count}");
            assert!(count == 0 || frame.width <= 6, "only the changed rectangle is stored");
            delays += frame.delay;
            count += 1;
        }
        assert_eq!(count, 29);
        assert_eq!(delays, 100);
    }

    #[test]
    fn a_new_colour_gets_a_new_palette() {
        let mut movie = Movie::new(Vec::new(), &drawing(0)).unwrap();
        let mut red = drawing(3);
        for pixel in red.rgba.chunks_exact_mut(4).filter(|p| p[0] == 0) {
            pixel.copy_from_slice(&[200, 20, 30, 255]);
        }
        movie.push(0.04, &red).unwrap();
        let gif = movie.finish(0.08).unwrap();
        let mut options = gif::DecodeOptions::new();
        options.set_color_output(gif::ColorOutput::RGBA);
        let mut decoder = options.read_info(&gif[..]).unwrap();
        decoder.read_next_frame().unwrap();
        let second = decoder.read_next_frame().unwrap().unwrap();
        assert!(second.buffer.chunks_exact(4).any(|p| p == [200, 20, 30, 255]));
    }

    #[test]
    fn area_is_tight() {
        let (old, new) = (colors(&drawing(0)), colors(&drawing(1)));
        assert_eq!(Area::changed(&old, &new, 40, 20), Some(Area { left: 0, top: 8, width: 5, height: 4 }));
        assert_eq!(Area::changed(&old, &old, 40, 20), None);
    }
}
