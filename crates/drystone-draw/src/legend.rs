//! The legend of colours and arrow lengths, laid out for `shaders/legend.wgsl`. The device writes the largest measured
//! value into it.

use bytemuck::{Pod, Zeroable};

use super::text::{self, HEIGHT, TextStrip};
use super::view::{View, letter_unit};
use super::{Coloring, Layers, Rgb, Scale, keys};

/// [`Plate::kind`]: one colour.
const PLATE_FILL: u32 = 0;
/// [`Plate::kind`]: a text, by its coverage.
const PLATE_LETTER: u32 = 1;
/// [`Plate::kind`]: the scale from end to end.
const PLATE_SCALE: u32 = 2;
/// [`Plate::kind`]: from awake to asleep.
const PLATE_SLEEP: u32 = 3;
/// [`Plate::kind`]: a graph colour.
const PLATE_GRAPH: u32 = 4;
/// Letters from which the device composes the value, in its order.
const CHOICE: [char; 15] = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', '.', 'n', 'µ', 'm', ' '];
/// Letters that the device writes, after the first plate.
const VALUE_LETTERS: usize = 5;

/// Length of the colour scale, in legend units.
const LENGTH: f32 = 176.0;
/// Minimum gap between two texts, in legend units.
const TEXT_GAP: f32 = 4.0;
/// Distance from the picture's edges, and padding around the legend, in legend units.
const MARGIN: f32 = 12.0;
/// Minimum size of a picture that has a legend, px.
const LEAST: [f32; 2] = [240.0, 120.0];

/// A rectangle with a colour, a ramp or a text; `Plate` in `legend.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub(crate) struct Plate {
    /// Left, top, width and height, px.
    pub place: [f32; 4],
    pub kind: u32,
    pub color: u32,
    /// Index of the first byte of its coverage.
    pub bits: u32,
    /// Width of a letter from which the device composes the value, px; 0 for other plates.
    pub advance: u32,
}

/// Returns the plates in drawing order, none if there is nothing to explain, and the coverage of their texts, which is
/// placed after `used` bytes of other texts.
pub(crate) fn plates(view: &View, layers: &Layers, scale: Option<Scale>, used: usize) -> (Vec<Plate>, Vec<u8>) {
    let explained =
        matches!(layers.coloring, Coloring::Speed | Coloring::Difference | Coloring::Sleep | Coloring::GraphColor);
    let explained = explained || layers.constraints && layers.coloring == Coloring::Body;
    if !layers.legend || view.size[0] < LEAST[0] || view.size[1] < LEAST[1] {
        return (Vec::new(), Vec::new());
    }
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a size in whole pixels")]
    let wanted = letter_unit(view.size[1] as u32).max(view.unit.round());
    // The legend fits the smallest picture at a unit of one pixel.
    let most = (view.size[0] / LEAST[0]).min(view.size[1] / LEAST[1]).floor();
    let (unit, length) = (wanted.min(most).max(1.0), LENGTH);
    let left = (view.size[0] - (length + MARGIN) * unit).floor();
    let ground = (view.size[1] - 18.0 * unit).floor();
    let mut sheet = Sheet { unit, left, plates: Vec::new(), glyphs: Vec::new(), used };
    let ramp = ground - (3.0 + HEIGHT) * unit;
    let title = ramp - 9.0 * unit;
    let bottom = ground + 10.0 * unit;
    if !explained {
        keys::lay(&mut sheet, view, layers, scale, bottom);
        return (sheet.plates, sheet.glyphs);
    }
    // The device writes into the plates after the first.
    sheet.back(view, title - 4.0 * unit, bottom);
    colors(&mut sheet, view, layers, [title, ramp, ground]);
    keys::lay(&mut sheet, view, layers, scale, title - 6.0 * unit);
    if has_value(layers) {
        for letter in CHOICE {
            let (cell, _) = text::cell(letter, unit);
            let (bits, advance) = (sheet.keep(&cell), text::advance(letter, unit));
            sheet.plates.push(Plate { place: [0.0; 4], kind: PLATE_LETTER, color: 0, bits, advance });
        }
    }
    (sheet.plates, sheet.glyphs)
}

/// Lays out title, scale and labels of the colours at these heights, px.
fn colors(sheet: &mut Sheet, view: &View, layers: &Layers, [title, ramp, ground]: [f32; 3]) {
    let (unit, left, length) = (sheet.unit, sheet.left, LENGTH);
    let scale = |kind| Plate { place: [left, ramp, length * unit, HEIGHT * unit], kind, color: 0, bits: 0, advance: 0 };
    match layers.coloring {
        Coloring::Speed | Coloring::Difference => {
            let (what, measure) = if layers.coloring == Coloring::Speed { ("speed", "m/s") } else { ("distance", "m") };
            // Number, prefix and unit, right-aligned. The device moves the letters and `max` together, as it alone
            // knows the widths.
            let (cell, digit) = text::cell(' ', unit);
            let [cell_width, digit] = [cell.width, digit].map(|width| width as f32 / unit);
            let unit_at = length - sheet.width(measure);
            let prefix_at = unit_at - cell_width;
            let value_at = prefix_at - digit * 4.0;
            for index in 0..VALUE_LETTERS {
                let at = if index == 4 { prefix_at } else { value_at + digit * index as f32 };
                sheet.cell(at, title, &cell);
            }
            sheet.text(unit_at, title, measure);
            let most_at = value_at - TEXT_GAP - sheet.width("max");
            sheet.text(most_at, title, "max");
            sheet.text(0.0, title, what);
            sheet.plates.push(scale(PLATE_SCALE));
            if let Some([low, high]) = layers.scale_range() {
                sheet.ticks(view, low, high, length, ramp, ground, layers.coloring == Coloring::Speed);
            }
        }
        Coloring::Sleep => {
            sheet.text(0.0, title, "sleep");
            sheet.plates.push(scale(PLATE_SLEEP));
            sheet.text(0.0, ground, "awake");
            let middle = 0.5 * (length - sheet.width("quiet"));
            sheet.text(middle, ground, "quiet");
            sheet.text_to_right(ground, "asleep");
        }
        _ => {
            sheet.text(0.0, title, "graph colours");
            let each = (length / 32.0 * unit).floor();
            for color in 0..32 {
                let place = [left + each * color as f32, ramp, each - 1.0, HEIGHT * unit];
                sheet.plates.push(Plate { place, kind: PLATE_GRAPH, color, bits: 0, advance: 0 });
            }
            sheet.text(0.0, ground, "moving");
            sheet.text(each / unit * 24.0, ground, "fixed");
        }
    }
}

/// Returns true if the first plates hold a value that the device measures.
pub(crate) fn has_value(layers: &Layers) -> bool {
    layers.scale_range().is_some()
}

/// Builder for the legend's plates.
pub(super) struct Sheet {
    /// Size of a legend unit, px.
    pub unit: f32,
    /// Left edge, px.
    pub left: f32,
    plates: Vec<Plate>,
    /// Coverage of the texts, concatenated, and the number of bytes before them.
    glyphs: Vec<u8>,
    used: usize,
}

#[allow(clippy::cast_possible_truncation, reason = "exponents of floats")]
impl Sheet {
    /// Adds a plain rectangle: left, top, width and height, px.
    pub fn fill(&mut self, place: [f32; 4], color: Rgb, opacity: f32) {
        self.plates.push(Plate { place, kind: PLATE_FILL, color: packed(color, opacity), bits: 0, advance: 0 });
    }

    /// Adds the background between two heights, px.
    pub fn back(&mut self, view: &View, top: f32, bottom: f32) {
        let [r, g, b, _] = view.background;
        let unit = self.unit;
        self.fill([self.left - 5.0 * unit, top, (LENGTH + 10.0) * unit, bottom - top], [r, g, b], 1.0);
    }

    /// Returns the width of a text, in legend units.
    pub fn width(&self, text: &str) -> f32 {
        text::strip(text, self.unit).width as f32 / self.unit
    }

    /// Adds a right-aligned text; `y` in pixels.
    pub fn text_to_right(&mut self, y: f32, text: &str) {
        self.text(LENGTH - self.width(text), y, text);
    }

    /// Stores the coverage of a text and returns its offset.
    fn keep(&mut self, strip: &TextStrip) -> u32 {
        let at = self.used + self.glyphs.len();
        self.glyphs.extend(&strip.coverage);
        u32::try_from(at).unwrap_or(u32::MAX)
    }

    /// Returns the rectangle of a text in a row: `x` in legend units from the left edge, `y` in pixels.
    fn place(&self, x: f32, y: f32, strip: &TextStrip) -> [f32; 4] {
        let top = y.floor() + strip.rise as f32;
        [(self.left + x * self.unit).floor(), top, strip.width as f32, strip.height as f32]
    }

    /// Adds a cell for a letter that the device chooses.
    fn cell(&mut self, x: f32, y: f32, cell: &TextStrip) {
        let place = self.place(x, y, cell);
        self.plates.push(Plate { place, kind: PLATE_LETTER, color: 0, bits: 0, advance: 0 });
    }

    /// Adds a text: `x` in legend units from the left edge, `y` in pixels.
    pub fn text(&mut self, x: f32, y: f32, text: &str) {
        let strip = text::strip(text, self.unit);
        let (place, bits) = (self.place(x, y, &strip), self.keep(&strip));
        self.plates.push(Plate { place, kind: PLATE_LETTER, color: 0, bits, advance: 0 });
    }

    /// Adds ticks at powers of ten, with as many labels as fit.
    fn ticks(&mut self, view: &View, low: f32, high: f32, length: f32, ramp: f32, ground: f32, plain: bool) {
        if !(low > 0.0 && high > low && high.is_finite()) {
            return;
        }
        let [r, g, b, _] = view.ink;
        let mut free_from = f32::MIN;
        let (first, last) = ((low.log10() - 1e-3).ceil() as i32, (high.log10() + 1e-3).floor() as i32);
        for exponent in first..=last {
            let share = (exponent as f32 * std::f32::consts::LOG2_10 - view.scale_low) * view.scale_per_octave;
            let x = share.clamp(0.0, 1.0) * length;
            let place = [(self.left + x * self.unit - 0.5).floor(), ramp, 1.0, (HEIGHT + 2.0) * self.unit];
            self.plates.push(Plate { place, kind: PLATE_FILL, color: packed([r, g, b], 0.7), bits: 0, advance: 0 });
            let Some(label) = label(exponent, plain) else { continue };
            let width = self.width(&label);
            let start = (x - 0.5 * width).min(length - width).max(0.0);
            if start >= free_from {
                self.text(start, ground, &label);
                free_from = start + width + TEXT_GAP;
            }
        }
    }
}

/// Formats a power of ten as a plain number, or as metres with a prefix, which not every power has.
fn label(exponent: i32, plain: bool) -> Option<String> {
    if plain {
        return Some(match exponent {
            0..=4 => format!("1{}", "0".repeat(exponent.unsigned_abs() as usize)),
            -4..0 => format!("0.{}1", "0".repeat(exponent.unsigned_abs() as usize - 1)),
            _ => return None,
        });
    }
    let prefix = match exponent {
        -9 => "n",
        -6 => "µ",
        -3 => "m",
        0 => "",
        3 => "k",
        _ => return None,
    };
    Some(format!("1 {prefix}m"))
}

/// Packs a colour to four bytes, red lowest.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 255")]
fn packed([r, g, b]: Rgb, opacity: f32) -> u32 {
    u32::from_le_bytes([r, g, b, opacity].map(|c| (c.clamp(0.0, 1.0) * 255.0 + 0.5) as u8))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Camera, Style};

    fn laid(layers: &Layers, size: [u32; 2]) -> Vec<Plate> {
        let mut view = View::new(&Camera { size, ..Camera::default() }, &Style::light(), 0, 0).unwrap();
        let scale = Scale { length: 0.5, impulse: 0.02, weight: 4.8, speed: 2.2 };
        view.put_layers(layers, Some(scale));
        view.joint_count = 1;
        plates(&view, layers, Some(scale), 0).0
    }

    /// All kinds of legends lie inside their picture, however small, and all letters are readable.
    #[test]
    fn legends_are_inside_the_picture() {
        for coloring in Coloring::ALL {
            for size in [[240, 120], [1280, 720], [3840, 2160], [300, 2000]] {
                for (line_scale, arrows) in [(1.0, false), (2.0, true), (40.0, false), (40.0, true)] {
                    let [velocities, forces, impulses, friction] = [arrows; 4];
                    let layers =
                        Layers { coloring, impulses, friction, forces, velocities, line_scale, ..Layers::default() };
                    let plates = laid(&layers, size);
                    let explains = arrows || !matches!(coloring, Coloring::Body | Coloring::Island);
                    assert_eq!(!plates.is_empty(), explains, "{coloring:?} at {size:?}");
                    for (index, plate) in plates.iter().enumerate() {
                        let [x, y, w, h] = plate.place;
                        let [width, height] = size.map(|n| n as f32);
                        let fits = x >= 0.0 && y >= 0.0 && x + w <= width && y + h <= height;
                        assert!(fits, "{coloring:?} at {size:?}: {plate:?}");
                        let of_value = has_value(&layers) && (1..=VALUE_LETTERS).contains(&index);
                        assert!(!of_value || plate.kind == PLATE_LETTER, "the device writes letters: {plate:?}");
                    }
                }
            }
        }
        assert_eq!(laid(&Layers { coloring: Coloring::Speed, ..Layers::default() }, [200, 200]), []);
        assert_eq!(laid(&Layers { coloring: Coloring::Speed, legend: false, ..Layers::default() }, [1280, 720]), []);
    }

    #[test]
    fn plate_matches_shader() {
        let (module, _) = crate::programs::COMPOSER.compose("draw/legend").unwrap().module().unwrap();
        let (_, plate) = module.types.iter().find(|(_, t)| t.name.as_deref() == Some("Plate")).unwrap();
        let wgpu::naga::TypeInner::Struct { members, span } = &plate.inner else { panic!("Plate is a struct") };
        assert_eq!(*span as usize, size_of::<Plate>());
        let theirs: Vec<_> = members.iter().map(|m| (m.name.as_deref().unwrap_or(""), m.offset as usize)).collect();
        macro_rules! offsets {
            ($($field:ident),*) => { vec![$((stringify!($field), std::mem::offset_of!(Plate, $field))),*] };
        }
        assert_eq!(theirs, offsets!(place, kind, color, bits, advance));
    }

    #[test]
    fn powers_of_ten_have_readable_units() {
        let plain: Vec<_> = (-3..=3).filter_map(|exponent| label(exponent, true)).collect();
        assert_eq!(plain, ["0.001", "0.01", "0.1", "1", "10", "100", "1000"]);
        let metres: Vec<_> = (-9..=3).filter_map(|exponent| label(exponent, false)).collect();
        assert_eq!(metres, ["1 nm", "1 µm", "1 mm", "1 m", "1 km"]);
    }
}
