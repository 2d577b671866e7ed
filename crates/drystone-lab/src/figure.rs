//! Figures of laws as SVG, in the look of the book's plots.

use std::fmt::Write as _;

use crate::check::short;

/// Colors of lines.
const COLORS: [&str; 6] = ["#2f6f8f", "#d08a2e", "#8f3f5f", "#5f8f4f", "#6f5fa0", "#777777"];
/// Width of a figure, and height of its frame, px.
const SIZE: [f64; 2] = [560.0, 260.0];
/// Margins of the frame: left, right, bottom, px. Title and legend are above it.
const MARGINS: [f64; 3] = [72.0, 16.0, 46.0];
/// Largest number of characters in a line of the title.
const MAX_TITLE: usize = 64;

/// Style of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LineStyle {
    /// Measured values, joined.
    #[default]
    Solid,
    /// Measured values as points.
    Dots,
    /// Expected values.
    Dashed,
}

/// A line of a figure.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FigureLine {
    /// Label in the legend; empty: none.
    pub label: String,
    /// Points.
    pub points: Vec<[f64; 2]>,
    /// Style.
    pub style: LineStyle,
}

/// A figure with two axes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LawFigure {
    /// Label of the horizontal axis.
    pub x: String,
    /// Label of the vertical axis.
    pub y: String,
    /// Lines.
    pub lines: Vec<FigureLine>,
    /// Logarithmic axes.
    pub log: [bool; 2],
    /// True if both axes have the same scale.
    pub to_scale: bool,
}

impl LawFigure {
    pub(crate) fn new(x: impl Into<String>, y: impl Into<String>) -> Self {
        Self { x: x.into(), y: y.into(), ..Self::default() }
    }

    pub(crate) fn logarithmic(mut self, x: bool, y: bool) -> Self {
        self.log = [x, y];
        self
    }

    pub(crate) fn with_equal_scales(mut self) -> Self {
        self.to_scale = true;
        self
    }

    fn line(mut self, label: impl Into<String>, style: LineStyle, points: impl IntoIterator<Item = [f64; 2]>) -> Self {
        self.lines.push(FigureLine { label: label.into(), points: points.into_iter().collect(), style });
        self
    }

    pub(crate) fn expected(self, label: impl Into<String>, points: impl IntoIterator<Item = [f64; 2]>) -> Self {
        self.line(label, LineStyle::Dashed, points)
    }

    pub(crate) fn measured(self, label: impl Into<String>, points: impl IntoIterator<Item = [f64; 2]>) -> Self {
        self.line(label, LineStyle::Solid, points)
    }

    pub(crate) fn dots(self, label: impl Into<String>, points: impl IntoIterator<Item = [f64; 2]>) -> Self {
        self.line(label, LineStyle::Dots, points)
    }

    /// Returns the figure as SVG on a light card, readable on a dark page too. Points that are no numbers, or not
    /// positive on a logarithmic axis, are left out.
    #[must_use]
    pub fn svg(&self, title: &str) -> String {
        let width = SIZE[0];
        let [left, right, bottom] = MARGINS;
        let title = wrapped(title);
        let (legend, top) = self.legend(12.0 + 16.0 * title.len() as f64);
        let height = top + SIZE[1] + bottom;
        let lines: Vec<Vec<[f64; 2]>> = self.lines.iter().map(|line| self.drawable(&line.points)).collect();
        let frame = [[left, width - right], [height - bottom, top]];
        let mut axes = [0, 1].map(|axis| {
            FigureAxis::around(lines.iter().flatten().map(|point| point[axis]), self.log[axis], frame[axis])
        });
        if self.to_scale {
            equalise(&mut axes);
        }
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
             height=\"{height}\" font-family=\"system-ui, sans-serif\" font-size=\"12\" fill=\"#333\">\n\
             <rect width=\"{width}\" height=\"{height}\" rx=\"6\" fill=\"#f6f4ee\"/>\n"
        );
        for (row, line) in title.iter().enumerate() {
            let y = 20.0 + 16.0 * row as f64;
            let text = escape(line);
            let _ = writeln!(svg, "<text x=\"16\" y=\"{y}\" font-size=\"13\" font-weight=\"600\">{text}</text>");
        }
        svg += &legend;
        let (down, up) = (height - bottom, top);
        for value in axes[0].ticks() {
            let x = axes[0].place(value);
            let _ = writeln!(svg, "<path d=\"M{x:.1} {up}V{down}\" stroke=\"#ddd9cf\"/>");
            let y = down + 16.0;
            let _ =
                writeln!(svg, "<text x=\"{x:.1}\" y=\"{y}\" text-anchor=\"middle\">{}</text>", axes[0].label(value));
        }
        for value in axes[1].ticks() {
            let y = axes[1].place(value);
            let _ = writeln!(svg, "<path d=\"M{left} {y:.1}H{}\" stroke=\"#ddd9cf\"/>", width - right);
            let (x, y) = (left - 6.0, y + 4.0);
            let _ = writeln!(svg, "<text x=\"{x}\" y=\"{y:.1}\" text-anchor=\"end\">{}</text>", axes[1].label(value));
        }
        for (index, (line, points)) in self.lines.iter().zip(&lines).enumerate() {
            draw(&mut svg, line.style, COLORS[index % COLORS.len()], points, &axes);
        }
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            0.5 * (left + width - right),
            height - 10.0,
            escape(&self.x)
        );
        let middle = 0.5 * (up + down);
        let _ = writeln!(
            svg,
            "<text transform=\"translate(16 {middle}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n</svg>",
            escape(&self.y)
        );
        svg
    }

    fn drawable(&self, points: &[[f64; 2]]) -> Vec<[f64; 2]> {
        let fits =
            |point: &&[f64; 2]| (0..2).all(|axis| point[axis].is_finite() && (!self.log[axis] || point[axis] > 0.0));
        points.iter().filter(fits).copied().collect()
    }

    /// Returns the legend in rows below a height, and the height at which it ends, px.
    fn legend(&self, top: f64) -> (String, f64) {
        let (mut svg, mut x, mut y) = (String::new(), 16.0, top + 14.0);
        let labelled = self.lines.iter().enumerate().filter(|(_, line)| !line.label.is_empty());
        let mut any = false;
        for (index, line) in labelled {
            let wide = 44.0 + 6.6 * line.label.chars().count() as f64;
            if any && x + wide > SIZE[0] {
                (x, y) = (16.0, y + 18.0);
            }
            any = true;
            let color = COLORS[index % COLORS.len()];
            match line.style {
                LineStyle::Dots => circle(&mut svg, color, [x + 10.0, y - 4.0]),
                style => polyline(&mut svg, style, color, &[[x, y - 4.0], [x + 20.0, y - 4.0]]),
            }
            let _ = writeln!(svg, "<text x=\"{:.1}\" y=\"{y}\">{}</text>", x + 26.0, escape(&line.label));
            x += wide;
        }
        (svg, if any { y + 10.0 } else { top + 6.0 })
    }
}

/// Breaks a title into lines.
fn wrapped(title: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in title.split_whitespace() {
        let last = lines.len() - 1;
        if !lines[last].is_empty() && lines[last].chars().count() + 1 + word.chars().count() > MAX_TITLE {
            lines.push(word.to_owned());
        } else {
            if !lines[last].is_empty() {
                lines[last].push(' ');
            }
            lines[last] += word;
        }
    }
    lines
}

fn draw(svg: &mut String, style: LineStyle, color: &str, points: &[[f64; 2]], axes: &[FigureAxis; 2]) {
    let places: Vec<[f64; 2]> = points.iter().map(|point| [0, 1].map(|axis| axes[axis].place(point[axis]))).collect();
    if style == LineStyle::Dots {
        for &place in &places {
            circle(svg, color, place);
        }
    } else {
        polyline(svg, style, color, &places);
    }
}

fn circle(svg: &mut String, color: &str, [x, y]: [f64; 2]) {
    let _ = writeln!(svg, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{color}\"/>");
}

/// Writes a line without the points that are nearer than half a pixel to the one before.
fn polyline(svg: &mut String, style: LineStyle, color: &str, places: &[[f64; 2]]) {
    let mut text = String::new();
    let mut before = [f64::INFINITY; 2];
    for (index, &[x, y]) in places.iter().enumerate() {
        if index + 1 == places.len() || (x - before[0]).abs() + (y - before[1]).abs() > 0.5 {
            let _ = write!(text, "{x:.1},{y:.1} ");
            before = [x, y];
        }
    }
    let dash = if style == LineStyle::Dashed { " stroke-dasharray=\"6 4\"" } else { "" };
    let text = text.trim_end();
    let _ = writeln!(svg, "<polyline points=\"{text}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"2\"{dash}/>");
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Axis from values to pixels.
struct FigureAxis {
    low: f64,
    high: f64,
    log: bool,
    pixels: [f64; 2],
}

impl FigureAxis {
    fn around(values: impl Iterator<Item = f64>, log: bool, pixels: [f64; 2]) -> Self {
        let [mut low, mut high] =
            values.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], value| [low.min(value), high.max(value)]);
        if !low.is_finite() || !high.is_finite() {
            [low, high] = if log { [1.0, 10.0] } else { [0.0, 1.0] };
        }
        if log {
            let air = (high / low).powf(0.05).max(1.2);
            return Self { low: low / air, high: high * air, log, pixels };
        }
        // Roundings are not blown up to the height of the figure.
        let least = 1e-3 * high.abs().max(low.abs());
        if high - low < least {
            let middle = 0.5 * (low + high);
            (low, high) = (middle - 0.5 * least, middle + 0.5 * least);
        }
        // Zero is shown unless the values are far from it.
        if low > 0.0 && low < 0.5 * high {
            low = 0.0;
        }
        let air = if high > low { 0.04 * (high - low) } else { 0.5 * high.abs().max(1e-9) };
        Self { low: if low == 0.0 { 0.0 } else { low - air }, high: high + air, log, pixels }
    }

    fn place(&self, value: f64) -> f64 {
        let share = if self.log {
            (value / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        self.pixels[0] + share * (self.pixels[1] - self.pixels[0])
    }

    /// Returns the distance of two ticks.
    fn step(&self) -> f64 {
        let span = self.high - self.low;
        let power = 10_f64.powf((span / 2.0).log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power).into_iter().find(|step| span / step <= 7.0);
        step.unwrap_or(span)
    }

    /// Returns the text of a tick, with the digits that tell it from the next.
    fn label(&self, value: f64) -> String {
        let step = self.step();
        if self.log || step < 1e-6 || value.abs() >= 1e6 {
            return short(value);
        }
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "few digits")]
        let digits = (-step.log10() - 1e-9).ceil().max(0.0) as usize;
        format!("{:.digits$}", if value.abs() < 1e-9 * step { 0.0 } else { value })
    }

    fn ticks(&self) -> Vec<f64> {
        if self.log {
            #[allow(clippy::cast_possible_truncation, reason = "exponents")]
            let decades = self.low.log10().floor() as i32..=self.high.log10().ceil() as i32;
            let all: Vec<f64> = decades
                .flat_map(|power| [1.0, 2.0, 5.0].map(|digit| digit * 10_f64.powi(power)))
                .filter(|value| (self.low..=self.high).contains(value))
                .collect();
            let whole = |value: &f64| (value.log10() - value.log10().round()).abs() < 1e-6;
            return if all.len() > 8 { all.into_iter().filter(whole).collect() } else { all };
        }
        let step = self.step();
        #[allow(clippy::cast_possible_truncation, reason = "few ticks")]
        let (first, last) = ((self.low / step - 1e-9).ceil() as i64, (self.high / step + 1e-9).floor() as i64);
        (first..=last).map(|index| index as f64 * step).collect()
    }
}

/// Gives both axes the same scale by making one of them longer.
fn equalise(axes: &mut [FigureAxis; 2]) {
    let per_pixel = axes.each_ref().map(|axis| (axis.high - axis.low) / (axis.pixels[1] - axis.pixels[0]).abs());
    let largest = per_pixel[0].max(per_pixel[1]);
    for axis in axes {
        let middle = 0.5 * (axis.low + axis.high);
        let half = 0.5 * largest * (axis.pixels[1] - axis.pixels[0]).abs();
        (axis.low, axis.high) = (middle - half, middle + half);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_place_their_ends_at_the_frame() {
        let axis = FigureAxis::around([0.0, 100.0].into_iter(), false, [50.0, 154.0]);
        assert!((axis.place(0.0) - 50.0).abs() < 1e-9 && (axis.place(100.0) - 150.0).abs() < 1e-9);
        assert_eq!(axis.ticks(), [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        let log = FigureAxis::around([1.0, 1e4].into_iter(), true, [0.0, 100.0]);
        assert!((log.place(100.0) - 50.0).abs() < 1e-9);
        assert_eq!(FigureAxis::around(std::iter::empty(), false, [0.0, 1.0]).ticks().len(), 6);
    }

    #[test]
    fn figures_are_svg() {
        let figure = LawFigure::new("time, s", "a < b")
            .expected("law", [[0.0, 0.0], [1.0, 1.0]])
            .dots("measured", [[0.5, f64::NAN], [0.5, 0.5]]);
        let svg = figure.svg("A & B");
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"), "{svg}");
        assert_eq!(svg.matches("<polyline").count(), 2, "the line and its sign in the legend");
        assert_eq!(svg.matches("<circle").count(), 2, "a point that is no number is left out");
        assert!(svg.contains("A &amp; B") && svg.contains("a &lt; b"));
        assert!(!svg.contains("NaN"));
    }
}
