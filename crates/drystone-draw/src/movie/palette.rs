//! A palette of up to 255 colours for a drawing.

use std::collections::HashMap;

use color_quant::NeuQuant;

/// Red, green, blue.
pub type Color = [u8; 3];

/// Maximum number of colours. One of the 256 indices is reserved for unchanged pixels.
const SIZE: usize = 255;
/// A colour on at least one in this many pixels is flat: it is kept exactly.
const FLAT_SHARE: usize = 2000;
/// Maximum number of flat colours.
const MAX_FLAT_COLORS: usize = 127;
/// Sampling factor of the quantiser: 1 (all pixels) to 30.
const SAMPLING: i32 = 5;
/// Squared distance above which a colour looks wrong, and the accepted share of such pixels, one in this many.
const WRONG_DISTANCE: u32 = 24 * 24;
const WRONG_SHARE: usize = 10_000;

/// Up to 255 colours, with a cached search for the nearest one.
pub struct Palette {
    colors: Vec<Color>,
    /// Nearest index and squared distance of the colours looked up so far: a drawing has few.
    nearest: HashMap<Color, (u8, u32)>,
}

impl Palette {
    /// Computes a palette. Exact if the drawing has at most 255 colours. Otherwise its flat colours are exact, and the
    /// blends along edges share the other entries.
    pub fn of(pixels: &[Color]) -> Self {
        let mut counts: HashMap<Color, usize> = HashMap::new();
        for &pixel in pixels {
            *counts.entry(pixel).or_default() += 1;
        }
        let mut by_count: Vec<(Color, usize)> = counts.into_iter().collect();
        // Ties are broken by colour, so that equal drawings make equal files.
        by_count.sort_unstable_by_key(|&(color, count)| (std::cmp::Reverse(count), color));
        let exact = if by_count.len() <= SIZE {
            by_count.len()
        } else {
            by_count.iter().take(MAX_FLAT_COLORS).take_while(|(_, count)| count * FLAT_SHARE >= pixels.len()).count()
        };
        let mut colors: Vec<Color> = by_count[..exact].iter().map(|&(color, _)| color).collect();
        let blends: Vec<u8> = by_count[exact..]
            .iter()
            // Frequent blends weigh more, but never suppress the rare ones.
            .flat_map(|&(color, count)| std::iter::repeat_n(color, 1 + count.ilog2() as usize))
            .flat_map(|[r, g, b]| [r, g, b, 255])
            .collect();
        if !blends.is_empty() {
            // The quantiser needs at least a few hundred pixels.
            let sampling = if blends.len() < 1 << 16 { 1 } else { SAMPLING };
            let quantised = NeuQuant::new(sampling, SIZE - exact, &blends).color_map_rgb();
            colors.extend(quantised.chunks_exact(3).map(|c| [c[0], c[1], c[2]]));
        }
        Self { colors, nearest: HashMap::new() }
    }

    /// Returns the index of the nearest colour and the squared distance to it.
    pub fn nearest(&mut self, color: Color) -> (u8, u32) {
        *self.nearest.entry(color).or_insert_with(|| {
            let distance =
                |other: &Color| color.iter().zip(other).map(|(&a, &b)| u32::from(a.abs_diff(b)).pow(2)).sum::<u32>();
            let best = (0_u8..).zip(&self.colors).map(|(index, other)| (distance(other), index)).min();
            best.map_or((0, 0), |(distance, index)| (index, distance))
        })
    }

    /// Returns true if almost no pixel of a drawing would look wrong.
    pub fn suits(&mut self, pixels: &[Color]) -> bool {
        let wrong = pixels.iter().filter(|&&color| self.nearest(color).1 > WRONG_DISTANCE).count();
        wrong * WRONG_SHARE <= pixels.len()
    }

    /// Returns the 256 entries of three bytes each; the last is black.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes: Vec<u8> = self.colors.iter().flatten().copied().collect();
        bytes.resize(3 * (SIZE + 1), 0);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_colours_are_exact() {
        let pixels: Vec<Color> = (0..255).map(|i| [i, 255 - i, 7]).collect();
        let mut palette = Palette::of(&pixels);
        for &color in &pixels {
            assert_eq!(palette.nearest(color).1, 0, "{color:?}");
        }
    }

    #[test]
    fn flat_colours_stay_exact_among_many_blends() {
        let (background, body) = ([250, 250, 247], [31, 119, 180]);
        let mut pixels = vec![background; 60_000];
        pixels.extend(vec![body; 20_000]);
        for i in 0..1000_u32 {
            #[allow(clippy::cast_possible_truncation, reason = "between two bytes")]
            let mix = |a: u8, b: u8| ((u32::from(a) * i + u32::from(b) * (999 - i)) / 999) as u8;
            pixels.push(std::array::from_fn(|k| mix(background[k], body[k])));
        }
        let mut palette = Palette::of(&pixels);
        assert_eq!(palette.nearest(background).1, 0);
        assert_eq!(palette.nearest(body).1, 0);
        assert!(palette.suits(&pixels));
        assert!(!palette.suits(&[[255, 0, 0]; 10]), "a palette of blues does not suit red");
    }
}
