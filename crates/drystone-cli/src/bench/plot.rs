//! Plot of step time against the number of bodies, both logarithmic: one panel per scene, one line per backend, and a
//! circle where the GPU becomes faster than another. Uses built-in bitmap fonts, so that the machine needs none.

use std::convert::Infallible;

use drystone_draw::{DrawError, Image};
use embedded_graphics::mono_font::MonoTextStyle;
use embedded_graphics::mono_font::ascii::{FONT_7X13, FONT_10X20};
use embedded_graphics::pixelcolor::Rgb888;
use embedded_graphics::prelude::{DrawTarget, Drawable, OriginDimensions, Pixel, Point, Primitive, RgbColor, Size};
use embedded_graphics::primitives::{Circle, Line, PrimitiveStyle, PrimitiveStyleBuilder, Rectangle, Triangle};
use embedded_graphics::text::{Alignment, Text};

use super::super::report::{group, significant};
use super::crossover::{self, Crossover};
use super::row::{BenchRow, Results};

/// Size of a panel, px.
const PANEL: (i32, i32) = (860, 520);
/// Margins of a panel: left, right, top, bottom, px. The legend is in the right margin, where no line is drawn.
const MARGINS: (i32, i32, i32, i32) = (90, 164, 64, 60);
/// Maximum number of panels side by side.
const ACROSS: usize = 2;
const INK: Rgb888 = Rgb888::new(0x22, 0x22, 0x22);
const GRID: Rgb888 = Rgb888::new(0xe4, 0xe4, 0xe4);
const PAPER: Rgb888 = Rgb888::WHITE;

/// Returns the colour of a backend, distinguishable with colour blindness (Okabe and Ito); the colour of another engine
/// is never close to that of its rival.
fn color(backend: &str) -> Rgb888 {
    match backend {
        "gpu" => Rgb888::new(0xd5, 0x5e, 0x00),
        "cpu1" => Rgb888::new(0x00, 0x72, 0xb2),
        "cpuN" => Rgb888::new(0x56, 0xb4, 0xe9),
        "box2d" => Rgb888::new(0x00, 0x9e, 0x73),
        "box2dN" => Rgb888::new(0x99, 0xb8, 0x33),
        _ => Rgb888::new(0xcc, 0x79, 0xa7),
    }
}

/// Returns the plot as a PNG file.
///
/// # Errors
/// If the encoder fails.
pub fn png(results: &Results) -> Result<Vec<u8>, DrawError> {
    draw(&results.rows).to_png()
}

fn draw(rows: &[BenchRow]) -> Image {
    let mut families: Vec<&str> = Vec::new();
    for row in rows {
        if !families.contains(&row.family()) {
            families.push(row.family());
        }
    }
    let across = families.len().clamp(1, ACROSS);
    let down = families.len().div_ceil(across).max(1);
    let mut canvas = PlotCanvas::new(across, down);
    for (index, family) in families.iter().enumerate() {
        let place = |index: usize, size: i32| i32::try_from(index).unwrap_or(0) * size;
        let corner = Point::new(place(index % across, PANEL.0), place(index / across, PANEL.1));
        let Ok(()) = panel(&mut canvas, corner, rows, family);
    }
    canvas.image
}

/// A logarithmic axis.
struct Axis {
    low: f64,
    high: f64,
    from: i32,
    to: i32,
}

impl Axis {
    /// Creates an axis around the values, with margins, so that no point lies on the frame.
    fn around(values: impl Iterator<Item = f64> + Clone, from: i32, to: i32) -> Self {
        let low = values.clone().fold(f64::INFINITY, f64::min).log10();
        let high = values.fold(0.0, f64::max).log10();
        let (low, high) = if low.is_finite() && high.is_finite() { (low, high) } else { (0.0, 0.0) };
        let air = 0.05 + 0.08 * (high - low);
        // At least half a decade, as a narrower axis might have no label: from 2 to 5 it is 0.4.
        let air = air.max((0.5 - (high - low)) / 2.0);
        Self { low: low - air, high: high + air, from, to }
    }

    fn place(&self, value: f64) -> i32 {
        let share = (value.log10() - self.low) / (self.high - self.low);
        #[allow(clippy::cast_possible_truncation, reason = "within a picture")]
        let offset = (share.clamp(-1.0, 2.0) * f64::from(self.to - self.from)).round() as i32;
        self.from + offset
    }

    /// Returns the ticks, and whether they are labelled: decades, and on short axes also 2 and 5 times a decade.
    fn ticks(&self) -> Vec<(f64, bool)> {
        #[allow(clippy::cast_possible_truncation, reason = "exponents")]
        let (first, last) = (self.low.floor() as i32, self.high.ceil() as i32);
        let few = self.high - self.low <= 2.0;
        let mut ticks = Vec::new();
        for decade in first..=last {
            for digit in 1..10 {
                let value = f64::from(digit) * 10_f64.powi(decade);
                if (self.low..=self.high).contains(&value.log10()) {
                    ticks.push((value, digit == 1 || (few && matches!(digit, 2 | 5))));
                }
            }
        }
        ticks
    }
}

fn panel(canvas: &mut PlotCanvas, corner: Point, rows: &[BenchRow], family: &str) -> Result<(), Infallible> {
    let (left, right, top, bottom) = MARGINS;
    let (x_0, x_1) = (corner.x + left, corner.x + PANEL.0 - right);
    let (y_0, y_1) = (corner.y + PANEL.1 - bottom, corner.y + top);
    let backends = crossover::backends(rows, family);
    let lines: Vec<(&BenchRow, Vec<(f64, f64)>)> =
        backends.iter().map(|row| (*row, crossover::line(rows, family, &row.backend))).collect();
    let points = || lines.iter().flat_map(|(_, line)| line.iter().copied());
    let across = Axis::around(points().map(|point| point.0), x_0, x_1);
    let up = Axis::around(points().map(|point| point.1), y_0, y_1);

    let large = MonoTextStyle::new(&FONT_10X20, INK);
    let small = MonoTextStyle::new(&FONT_7X13, INK);
    let thin = PrimitiveStyle::with_stroke(GRID, 1);
    for (value, written) in across.ticks() {
        let x = across.place(value);
        Line::new(Point::new(x, y_0), Point::new(x, y_1)).into_styled(thin).draw(canvas)?;
        if written {
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a size")]
            let text = if value >= 1.0 { group(value.round() as u64) } else { significant(value) };
            Text::with_alignment(&text, Point::new(x, y_0 + 18), small, Alignment::Center).draw(canvas)?;
        }
    }
    for (value, written) in up.ticks() {
        let y = up.place(value);
        Line::new(Point::new(x_0, y), Point::new(x_1, y)).into_styled(thin).draw(canvas)?;
        if written {
            let text = plain(value);
            Text::with_alignment(&text, Point::new(x_0 - 8, y + 4), small, Alignment::Right).draw(canvas)?;
        }
    }
    let frame = Rectangle::with_corners(Point::new(x_0, y_1), Point::new(x_1, y_0));
    frame.into_styled(PrimitiveStyle::with_stroke(INK, 1)).draw(canvas)?;
    Text::new(family, Point::new(x_0, corner.y + 26), large).draw(canvas)?;
    let middle = Point::new(i32::midpoint(x_0, x_1), y_0 + 42);
    Text::with_alignment("bodies", middle, small, Alignment::Center).draw(canvas)?;
    Text::new("ms per step, median", Point::new(x_0, y_1 - 10), small).draw(canvas)?;

    for (index, (row, line)) in lines.iter().enumerate() {
        let color = color(&row.backend);
        let place = |&(size, ms): &(f64, f64)| Point::new(across.place(size), up.place(ms));
        for pair in line.windows(2) {
            let stroke = PrimitiveStyle::with_stroke(color, 3);
            Line::new(place(&pair[0]), place(&pair[1])).into_styled(stroke).draw(canvas)?;
        }
        for point in line {
            mark(canvas, place(point), &row.backend)?;
        }
        // Legend, beside the lines.
        let at = Point::new(x_1 + 24, y_1 + 20 + 20 * i32::try_from(index).unwrap_or(0));
        Line::new(at - Point::new(12, 0), at + Point::new(12, 0))
            .into_styled(PrimitiveStyle::with_stroke(color, 3))
            .draw(canvas)?;
        mark(canvas, at, &row.backend)?;
        Text::new(&row.label(), at + Point::new(20, 4), small).draw(canvas)?;
    }
    let Some((gpu, mine)) = lines.iter().find(|(row, _)| row.backend == "gpu") else { return Ok(()) };
    for (row, theirs) in lines.iter().filter(|(row, _)| row.backend != gpu.backend) {
        if let Some(Crossover::From(size, ms)) = crossover::find(mine, theirs) {
            let at = Point::new(across.place(size), up.place(ms));
            let ring = PrimitiveStyleBuilder::new().stroke_color(INK).stroke_width(2).build();
            Circle::with_center(at, 17).into_styled(ring).draw(canvas)?;
            let text = format!("{}: {}", row.label(), crossover::round(size));
            Text::new(&text, at + Point::new(10, 18), small).draw(canvas)?;
        }
    }
    Ok(())
}

/// Formats the label of an axis.
fn plain(value: f64) -> String {
    if (1e-3..1e6).contains(&value) { format!("{}", (value * 1e6).round() / 1e6) } else { format!("{value:e}") }
}

/// Draws a point of a line: round for Drystone, square for Box2D, triangular for Rapier.
fn mark(canvas: &mut PlotCanvas, at: Point, backend: &str) -> Result<(), Infallible> {
    let fill = PrimitiveStyle::with_fill(color(backend));
    match backend {
        "box2d" | "box2dN" => Rectangle::with_center(at, Size::new(10, 10)).into_styled(fill).draw(canvas),
        "rapier" => {
            let corners = [Point::new(-6, 5), Point::new(6, 5), Point::new(0, -6)].map(|corner| at + corner);
            Triangle::new(corners[0], corners[1], corners[2]).into_styled(fill).draw(canvas)
        }
        _ => Circle::with_center(at, 11).into_styled(fill).draw(canvas),
    }
}

/// Image as a draw target.
struct PlotCanvas {
    image: Image,
}

impl PlotCanvas {
    fn new(across: usize, down: usize) -> Self {
        let size = |count: usize, each: i32| u32::try_from(count).unwrap_or(1) * each.unsigned_abs();
        let (width, height) = (size(across, PANEL.0), size(down, PANEL.1));
        Self { image: Image { width, height, rgba: vec![PAPER.r(); (width * height * 4) as usize] } }
    }
}

impl OriginDimensions for PlotCanvas {
    fn size(&self) -> Size {
        Size::new(self.image.width, self.image.height)
    }
}

impl DrawTarget for PlotCanvas {
    type Color = Rgb888;
    type Error = Infallible;

    fn draw_iter<I: IntoIterator<Item = Pixel<Rgb888>>>(&mut self, pixels: I) -> Result<(), Infallible> {
        for Pixel(at, color) in pixels {
            let (Ok(x), Ok(y)) = (usize::try_from(at.x), usize::try_from(at.y)) else { continue };
            let (width, height) = (self.image.width as usize, self.image.height as usize);
            if x < width && y < height {
                let start = 4 * (y * width + x);
                self.image.rgba[start..start + 4].copy_from_slice(&[color.r(), color.g(), color.b(), 255]);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(gpu: [f64; 2]) -> Vec<BenchRow> {
        let row = |backend: &str, size: u64, ms: f64| {
            let spread = serde_json::json!({ "median": ms, "min": ms, "max": ms });
            let row = serde_json::json!({ "scene": "a", "backend": backend, "size": size, "ms_per_step": spread });
            serde_json::from_value::<BenchRow>(row).unwrap()
        };
        vec![row("gpu", 100, gpu[0]), row("gpu", 10_000, gpu[1]), row("cpu1", 100, 0.1), row("cpu1", 10_000, 10.0)]
    }

    fn count(image: &Image, color: Rgb888) -> usize {
        let wanted = [color.r(), color.g(), color.b(), 255];
        image.rgba.chunks_exact(4).filter(|pixel| **pixel == wanted).count()
    }

    #[test]
    fn a_line_for_each_and_a_ring_where_they_cross() {
        let image = draw(&rows([1.0, 1.0]));
        assert_eq!((image.width, image.height), (860, 520));
        for backend in ["gpu", "cpu1"] {
            assert!(count(&image, color(backend)) > 500, "{backend}");
        }
        assert_eq!(count(&image, color("box2d")), 0);
        // Without a crossing, the circle and its label are missing.
        let apart = draw(&rows([0.01, 1.0]));
        let (with, without) = (count(&image, INK), count(&apart, INK));
        assert!(with > without + 50, "{with} {without}");
        assert!(image.to_png().unwrap().starts_with(b"\x89PNG"));
    }

    /// The legend does not depend on the lines; the panel does.
    #[test]
    fn no_line_reaches_the_legend() {
        let strip = |image: &Image, from: i32, to: i32| -> Vec<u8> {
            let [from, to] = [from, to].map(|x| 4 * usize::try_from(x).unwrap());
            let columns = |row: &[u8]| row[from..to].to_vec();
            image.rgba.chunks_exact(4 * image.width as usize).flat_map(columns).collect()
        };
        let (rises, falls) = (draw(&rows([0.01, 1000.0])), draw(&rows([1000.0, 0.01])));
        // A mark on the frame extends a few pixels beyond it.
        let frame = PANEL.0 - MARGINS.1;
        assert!(strip(&rises, frame + 8, PANEL.0) == strip(&falls, frame + 8, PANEL.0));
        assert!(strip(&rises, MARGINS.0, frame) != strip(&falls, MARGINS.0, frame));
        assert!(strip(&rises, frame + 8, PANEL.0).iter().any(|&byte| byte != 255), "the legend is drawn");
    }

    #[test]
    fn decades_are_where_they_should_be() {
        let axis = Axis::around([100.0, 10_000.0].into_iter(), 100, 500);
        let places = [100.0, 1e3, 1e4].map(|value| axis.place(value));
        assert_eq!(places, [135, 300, 465]);
        let written = |low: f64, high: f64| -> Vec<f64> {
            let axis = Axis::around([low, high].into_iter(), 0, 100);
            axis.ticks().into_iter().filter(|tick| tick.1).map(|tick| tick.0).collect()
        };
        assert_eq!(written(100.0, 1e4), [100.0, 1e3, 1e4]);
        assert_eq!(written(150.0, 1_900.0), [200.0, 500.0, 1_000.0, 2_000.0]);
        assert!(!written(3.0, 3.0).is_empty(), "one size still has an axis");
        // An empty plot is valid.
        assert_eq!(Axis::around(std::iter::empty(), 0, 10).place(1.0), 5);
        assert_eq!(draw(&[]).width, 860);
    }

    #[test]
    fn numbers_of_axes_are_short() {
        assert_eq!([0.001, 0.02, 0.1, 0.3, 5.0, 1e3].map(plain), ["0.001", "0.02", "0.1", "0.3", "5", "1000"]);
        assert_eq!(plain(1e-4), "1e-4");
    }
}
