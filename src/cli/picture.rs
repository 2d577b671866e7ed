//! Drawings of a world, by the rasteriser: the same from every backend.

use drystone::Snapshot;
use drystone::draw::{Camera, Image, Style, raster};
use drystone::scene::Compiled;

use super::failure::{Code, Failure};
use super::output::Destination;

/// From where a state is seen whole, and what emitters will make where it comes. Compute it once for a movie, so that
/// nothing but bodies moves.
pub fn camera(compiled: &Compiled, snapshot: &Snapshot, (width, height): (u32, u32)) -> Camera {
    let (poses, shapes) = compiled.with_what_comes(&snapshot.poses);
    Camera::fit_scene(&poses, &shapes, [width, height])
}

/// Draws a state.
///
/// # Errors
/// The camera sees nothing finite.
pub fn draw(compiled: &Compiled, snapshot: &Snapshot, camera: &Camera) -> Result<Image, Failure> {
    raster::picture(&snapshot.poses, &compiled.shapes, &compiled.vertices, camera, &Style::default())
        .map_err(|error| Failure::new(Code::Check, error))
}

/// Draws a state into a PNG file.
///
/// # Errors
/// As [`draw`], and those of files.
pub fn write(
    destination: &mut Destination,
    compiled: &Compiled,
    snapshot: &Snapshot,
    size: (u32, u32),
) -> Result<(), Failure> {
    let image = draw(compiled, snapshot, &camera(compiled, snapshot, size))?;
    let png = image.to_png().map_err(|error| Failure::write(&destination.shown, &error))?;
    destination.fill(&png)
}
