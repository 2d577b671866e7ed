//! Text of the scale bar and the legend: the font of the window's panel, rasterised on the CPU with smooth edges.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use ab_glyph::{Font, FontRef, Glyph, PxScale, ScaleFont, point};

/// Height of a row of text, in legend units (a unit is a whole number of pixels).
pub(crate) const HEIGHT: f32 = 6.0;
/// Font size in legend units, and its minimum, px.
const EM: f32 = 7.5;
const MIN_EM: f32 = 11.0;
/// Height of capitals and digits relative to the font size.
const CAPITALS: f32 = 0.693;
/// Exponent on the coverage; below 1 it strengthens thin strokes.
const STRENGTH: f32 = 0.7;
/// Maximum number of cached texts; more occur only if a user zooms for a long time.
const MAX_KEPT: usize = 512;

/// Cache of rasterised texts, by their letters and the bits of their unit.
type TextCache = HashMap<(String, u32), Arc<TextStrip>>;

/// A rasterised text: coverage of each pixel, rows from the top.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TextStrip {
    /// Width, px.
    pub width: u32,
    /// Height, px.
    pub height: u32,
    /// Offset from the top of the strip to the top of its row, px: negative, as letters need more space than the row's
    /// height.
    pub rise: i32,
    /// Coverage, 0 to 255, `width · height` values.
    pub coverage: Vec<u8>,
}

/// Rasterises a text at a unit, px; empty if there is no font or no letter.
pub(crate) fn strip(text: &str, unit: f32) -> Arc<TextStrip> {
    static KEPT: OnceLock<Mutex<TextCache>> = OnceLock::new();
    let mut kept = KEPT.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
    let key = (text.to_owned(), unit.to_bits());
    if let Some(strip) = kept.get(&key) {
        return strip.clone();
    }
    if kept.len() >= MAX_KEPT {
        kept.clear();
    }
    let strip = Arc::new(draw(text, unit));
    kept.insert(key, strip.clone());
    strip
}

/// Returns the width of a letter, px; 0 for a blank.
pub(crate) fn advance(letter: char, unit: f32) -> u32 {
    if letter == ' ' { 0 } else { strip(&letter.to_string(), unit).width }
}

/// Rasterises a letter left-aligned in a cell; all cells of a unit have the same size. Also returns the width of a
/// digit, px.
pub(crate) fn cell(letter: char, unit: f32) -> (TextStrip, u32) {
    let own = strip(&letter.to_string(), unit);
    let digit = strip("0", unit).width;
    let width = strip("m", unit).width.max(digit);
    let mut cell = TextStrip { width, coverage: vec![0; (width * own.height) as usize], ..(*own).clone() };
    let copied = own.width.min(width);
    for (from, to) in
        own.coverage.chunks_exact(own.width.max(1) as usize).zip(cell.coverage.chunks_exact_mut(width.max(1) as usize))
    {
        to[..copied as usize].copy_from_slice(&from[..copied as usize]);
    }
    (cell, digit)
}

fn font() -> Option<&'static FontRef<'static>> {
    static FONT: OnceLock<Option<FontRef<'static>>> = OnceLock::new();
    FONT.get_or_init(|| FontRef::try_from_slice(epaint_default_fonts::UBUNTU_LIGHT).ok()).as_ref()
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    clippy::cast_possible_wrap,
    reason = "a few hundred pixels; `as` clamps"
)]
fn draw(text: &str, unit: f32) -> TextStrip {
    let Some(font) = font() else { return TextStrip::default() };
    let em = (EM * unit).max(MIN_EM);
    let scale = PxScale::from(em * font.height_unscaled() / font.units_per_em().unwrap_or(1000.0));
    let scaled = font.as_scaled(scale);
    let (height, baseline) = ((1.4 * em).ceil(), (1.05 * em).round());
    let mut pen = 0.0;
    let mut before = None;
    let mut glyphs: Vec<Glyph> = Vec::new();
    for letter in text.chars() {
        let mut glyph = scaled.scaled_glyph(letter);
        pen += before.map_or(0.0, |before| scaled.kern(before, glyph.id));
        before = Some(glyph.id);
        glyph.position = point(pen, baseline);
        pen += scaled.h_advance(glyph.id);
        glyphs.push(glyph);
    }
    let (width, height) = (pen.ceil().clamp(0.0, 4096.0) as u32, height.clamp(0.0, 1024.0) as u32);
    let mut coverage = vec![0; (width * height) as usize];
    for outline in glyphs.into_iter().filter_map(|glyph| font.outline_glyph(glyph)) {
        let low = outline.px_bounds().min;
        outline.draw(|x, y, covered| {
            let (x, y) = (low.x as i64 + i64::from(x), low.y as i64 + i64::from(y));
            if (0..i64::from(width)).contains(&x) && (0..i64::from(height)).contains(&y) {
                let pixel = &mut coverage[(y * i64::from(width) + x) as usize];
                let strong = covered.clamp(0.0, 1.0).powf(STRENGTH) * 255.0 + 0.5;
                *pixel = (*pixel).max(strong as u8);
            }
        });
    }
    // Capitals are vertically centred in the row.
    let rise = (0.5 * (HEIGHT * unit + CAPITALS * em) - baseline).round() as i32;
    TextStrip { width, height, rise, coverage }
}

/// Returns true if the font has the letter.
#[cfg(test)]
pub(crate) fn has(letter: char) -> bool {
    font().is_some_and(|font| font.glyph_id(letter).0 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Letters are inside their strip and smooth at their edges, and capitals are centred in their row.
    #[test]
    fn letters_are_smooth_and_in_their_row() {
        for unit in [1.0, 2.0, 5.0_f32] {
            let strip = strip("H", unit);
            let rows: Vec<usize> = (0..strip.height as usize)
                .filter(|row| {
                    strip.coverage[row * strip.width as usize..][..strip.width as usize].iter().any(|&c| c > 100)
                })
                .collect();
            let middle = (rows[0] + rows[rows.len() - 1] + 1) as f32 / 2.0 + strip.rise as f32;
            assert!((middle - 0.5 * HEIGHT * unit).abs() <= 1.0, "unit {unit}: {middle}");
            let word = super::strip("ogy·µ 5", unit);
            assert!(word.coverage.iter().any(|&c| c > 200) && word.coverage.iter().any(|&c| (20..200).contains(&c)));
            let first_row = &word.coverage[..word.width as usize];
            let last_row = &word.coverage[word.coverage.len() - word.width as usize..];
            assert!(first_row.iter().chain(last_row).all(|&c| c == 0), "a letter is cut off");
        }
        assert_eq!(strip("", 1.0).width, 0);
        assert!(has('µ') && has('·') && !has('\u{e000}'));
    }

    #[test]
    fn cells_are_all_as_large() {
        let sizes: Vec<_> =
            "0123456789.nµm ".chars().map(|c| cell(c, 2.0)).map(|(c, d)| (c.width, c.height, d)).collect();
        assert!(sizes.windows(2).all(|pair| pair[0] == pair[1]), "{sizes:?}");
        assert_eq!([' ', '0', '.'].map(|letter| advance(letter, 2.0) == strip("0", 2.0).width), [false, true, false]);
        assert_eq!(advance(' ', 2.0), 0);
        assert!(advance('.', 2.0) < advance('m', 2.0));
    }
}
