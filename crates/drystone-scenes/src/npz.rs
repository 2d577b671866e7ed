//! Writes states of worlds as NumPy archives, for `--state`, the service, and other programs.
//!
//! ```
//! use drystone::low_level::state::body_slots;
//! use drystone::{Body, Scene, Shape, World};
//! use drystone_scenes::npz::write_state;
//!
//! let mut scene = Scene::new("ball");
//! scene.add(Body::dynamic(0.0, 4.0).shape(Shape::circle(0.5)));
//! let mut world = World::new(&scene)?;
//! let snapshot = world.snapshot()?;
//! let mut file = std::io::Cursor::new(Vec::new());
//! write_state(&mut file, &body_slots(world.compiled(), &snapshot), false)?;
//! assert!(file.into_inner().starts_with(b"PK"), "an archive for numpy.load");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::io::{self, Seek, Write};

use npyz::npz::NpzWriter;
use npyz::zip::write::FileOptions;
use npyz::zip::{CompressionMethod, DateTime};
use npyz::{AutoSerialize, WriterBuilder};

use drystone::low_level::state::ReportedBody;

/// Writes the state of a world: arrays `position (n,2)` of the origins of the bodies' frames, `angle (n)`, `velocity
/// (n,2)` of the centres of mass, `angular_velocity (n)`, all f32, and `body_index (n)` u32, the slots of the bodies;
/// if sleeping is enabled also `asleep (n)`, bool.
///
/// # Errors
/// Those of the writer.
pub fn write_state(writer: impl Write + Seek, slots: &[Option<ReportedBody>], sleep: bool) -> io::Result<()> {
    let mut npz = NpzWriter::new(writer);
    let bodies: Vec<&ReportedBody> = slots.iter().flatten().collect();
    let n = bodies.len() as u64;
    array(&mut npz, "position", &[n, 2], bodies.iter().flat_map(|b| b.position))?;
    array(&mut npz, "angle", &[n], bodies.iter().map(|b| b.angle))?;
    array(&mut npz, "velocity", &[n, 2], bodies.iter().flat_map(|b| b.velocity))?;
    array(&mut npz, "angular_velocity", &[n], bodies.iter().map(|b| b.angular_velocity))?;
    let indices = body_indices(slots.len() as u64).zip(slots).filter(|(_, slot)| slot.is_some());
    array(&mut npz, "body_index", &[n], indices.map(|(index, _)| index))?;
    if sleep {
        array(&mut npz, "asleep", &[n], bodies.iter().map(|b| b.asleep))?;
    }
    npz.zip_writer().finish()?;
    Ok(())
}

/// Writes the states of several worlds, with a leading axis for the worlds: one row per slot of `shape`, NaN for empty
/// slots.
///
/// # Errors
/// Those of the writer.
pub fn write_states(
    writer: impl Write + Seek,
    slots: &[Option<ReportedBody>],
    shape: &[u64; 2],
    sleep: bool,
) -> io::Result<()> {
    let mut npz = NpzWriter::new(writer);
    let [worlds, n] = *shape;
    let pairs =
        |of: fn(&ReportedBody) -> [f32; 2]| slots.iter().flat_map(move |body| body.as_ref().map_or([f32::NAN; 2], of));
    let numbers = |of: fn(&ReportedBody) -> f32| slots.iter().map(move |body| body.as_ref().map_or(f32::NAN, of));
    array(&mut npz, "position", &[worlds, n, 2], pairs(|body| body.position))?;
    array(&mut npz, "angle", &[worlds, n], numbers(|body| body.angle))?;
    array(&mut npz, "velocity", &[worlds, n, 2], pairs(|body| body.velocity))?;
    array(&mut npz, "angular_velocity", &[worlds, n], numbers(|body| body.angular_velocity))?;
    array(&mut npz, "body_index", &[n], body_indices(n))?;
    if sleep {
        let asleep = slots.iter().map(|body| body.as_ref().is_some_and(|body| body.asleep));
        array(&mut npz, "asleep", &[worlds, n], asleep)?;
    }
    npz.zip_writer().finish()?;
    Ok(())
}

/// Returns the indices of `n` slots.
#[must_use]
pub fn body_indices(n: u64) -> std::ops::Range<u32> {
    0..u32::try_from(n).unwrap_or(u32::MAX)
}

/// Adds an array to an archive.
///
/// # Errors
/// Those of the writer.
pub fn array<T: AutoSerialize>(
    npz: &mut NpzWriter<impl Write + Seek>,
    name: &str,
    shape: &[u64],
    items: impl Iterator<Item = T>,
) -> io::Result<()> {
    let mut array = npz.array(name, options())?.default_dtype().shape(shape).begin_nd()?;
    array.extend(items)?;
    array.finish()
}

/// Returns the archive options: uncompressed (as `numpy.savez`; floats hardly shrink), more than 4 GiB allowed, and no
/// date, so that equal states make equal files.
#[must_use]
pub fn options() -> FileOptions {
    FileOptions::default()
        .compression_method(CompressionMethod::Stored)
        .last_modified_time(DateTime::default())
        .large_file(true)
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use npyz::npz::NpzArchive;

    use super::*;

    fn body(x: f32) -> ReportedBody {
        ReportedBody {
            id: None,
            position: [x, -x],
            position_low: [0.0; 2],
            angle: 0.5 * x,
            velocity: [2.0 * x, 3.0 * x],
            angular_velocity: 4.0 * x,
            asleep: false,
        }
    }

    fn floats(npz: &mut NpzArchive<impl io::Read + Seek>, name: &str) -> (Vec<u64>, Vec<f32>) {
        let array = npz.by_name(name).unwrap().unwrap();
        (array.shape().to_vec(), array.into_vec().unwrap())
    }

    #[test]
    fn state_reads_back() {
        let mut bytes = Cursor::new(Vec::new());
        let sleeper = ReportedBody { asleep: true, ..body(2.0) };
        write_state(&mut bytes, &[Some(body(1.0)), None, Some(sleeper.clone())], true).unwrap();
        let mut npz = NpzArchive::new(bytes).unwrap();
        assert_eq!(floats(&mut npz, "position"), (vec![2, 2], vec![1.0, -1.0, 2.0, -2.0]));
        assert_eq!(floats(&mut npz, "angle"), (vec![2], vec![0.5, 1.0]));
        assert_eq!(floats(&mut npz, "velocity"), (vec![2, 2], vec![2.0, 3.0, 4.0, 6.0]));
        assert_eq!(floats(&mut npz, "angular_velocity"), (vec![2], vec![4.0, 8.0]));
        let index = npz.by_name("body_index").unwrap().unwrap();
        assert_eq!(index.into_vec::<u32>().unwrap(), [0, 2]);
        let asleep = npz.by_name("asleep").unwrap().unwrap();
        assert_eq!(asleep.into_vec::<bool>().unwrap(), [false, true]);
        let mut bytes = Cursor::new(Vec::new());
        write_state(&mut bytes, &[Some(sleeper)], false).unwrap();
        assert!(NpzArchive::new(bytes).unwrap().by_name("asleep").unwrap().is_none());
    }
}
