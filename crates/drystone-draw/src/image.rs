//! A picture in memory, with PNG encoding and decoding.

use std::path::Path;

use super::DrawError;

/// Opaque pixels, sRGB-encoded, rows from the top.
#[derive(Clone, PartialEq, Eq)]
pub struct Image {
    /// Width, px.
    pub width: u32,
    /// Height, px.
    pub height: u32,
    /// Red, green, blue, 255 for each pixel; `width · height · 4` bytes.
    pub rgba: Vec<u8>,
}

impl std::fmt::Debug for Image {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Image({} × {})", self.width, self.height)
    }
}

impl Image {
    /// Returns a pixel, counted from the top left; `None` outside of the picture.
    #[must_use]
    pub fn pixel(&self, x: u32, y: u32) -> Option<[u8; 4]> {
        if x >= self.width || y >= self.height {
            return None;
        }
        let at = (y as usize * self.width as usize + x as usize) * 4;
        self.rgba.get(at..at + 4)?.try_into().ok()
    }

    /// Encodes the picture as a PNG file, 24 bits per pixel.
    ///
    /// # Errors
    /// [`DrawError::Png`] if the length of `rgba` does not match the size.
    pub fn to_png(&self) -> Result<Vec<u8>, DrawError> {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, self.width, self.height);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_source_srgb(png::SrgbRenderingIntent::Perceptual);
        encoder.set_compression(png::Compression::Balanced);
        let rgb: Vec<u8> = self.rgba.chunks_exact(4).flat_map(|p| [p[0], p[1], p[2]]).collect();
        let mut writer = encoder.write_header()?;
        writer.write_image_data(&rgb)?;
        writer.finish()?;
        Ok(bytes)
    }

    /// Decodes a PNG file; `None` unless it has 8 bits per channel and the channels red, green, blue and optionally
    /// alpha, which is dropped.
    #[must_use]
    pub fn from_png(bytes: &[u8]) -> Option<Self> {
        let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().ok()?;
        let mut pixels = vec![0; reader.output_buffer_size()?];
        let info = reader.next_frame(&mut pixels).ok()?;
        let has_color = matches!(info.color_type, png::ColorType::Rgb | png::ColorType::Rgba);
        if info.bit_depth != png::BitDepth::Eight || !has_color {
            return None;
        }
        let pixels = pixels.get(..info.buffer_size())?.chunks_exact(info.color_type.samples());
        let rgba = pixels.flat_map(|p| [p[0], p[1], p[2], 255]).collect();
        Some(Self { width: info.width, height: info.height, rgba })
    }

    /// Writes a PNG file.
    ///
    /// # Errors
    /// Those of [`Self::to_png`], and [`DrawError::File`].
    pub fn write_png(&self, path: impl AsRef<Path>) -> Result<(), DrawError> {
        let path = path.as_ref();
        std::fs::write(path, self.to_png()?)
            .map_err(|source| DrawError::File { path: path.display().to_string(), source })
    }
}
