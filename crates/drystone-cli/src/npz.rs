//! Writes states over time as NumPy archives (`--trace`). Single states: [`drystone_scenes::npz`].

use std::fs::File;
use std::io::{self, BufWriter, Seek, Write};

use drystone::low_level::state::ReportedBody;
use drystone_scenes::npz::{array, body_indices, options};
use npyz::npz::NpzWriter;
use npyz::{AutoSerialize, WriterBuilder};

use super::failure::Failure;
use super::output::Destination;

/// Bytes per body and frame: six f32.
const BYTES_PER_BODY: u64 = 24;
/// Additional bytes per frame: step (u64) and time (f64).
const BYTES_PER_FRAME: u64 = 16;
/// Maximum size of a trace, in bytes. Assembling it needs twice as much disk space.
pub const MAX_TRACE_BYTES: u64 = 16 << 30;

/// A trace in progress: the state arrays with a leading time axis, and `step (t)` u64, `time (t)` f64 in s. There is
/// one row for every slot that may ever hold a body, NaN while it holds none; a slot may hold another body later. With
/// several worlds, a second axis is the world.
///
/// An archive stores arrays one after another, but they grow simultaneously: each is spooled to an unnamed file beside
/// the destination. Memory holds one state, however long the run.
pub struct Trace {
    destination: Destination,
    /// Shape of a frame: slots of bodies, or worlds and slots.
    shape: Vec<u64>,
    pushed: u64,
    step: Spool,
    time: Spool,
    position: Spool,
    angle: Spool,
    velocity: Spool,
    angular_velocity: Spool,
}

impl Trace {
    /// Creates a trace for `frames` states of a shape: slots of bodies, or worlds and slots.
    ///
    /// # Errors
    /// If the trace would be larger than [`MAX_TRACE_BYTES`].
    pub fn new(destination: Destination, shape: &[u64], frames: u64) -> Result<Self, Failure> {
        let bodies = shape.iter().product();
        check_size(&destination, bodies, frames)?;
        let spool = || Spool::new(&destination).map_err(|e| Failure::write(&destination.shown, &e));
        Ok(Self {
            step: spool()?,
            time: spool()?,
            position: spool()?,
            angle: spool()?,
            velocity: spool()?,
            angular_velocity: spool()?,
            destination,
            shape: shape.to_vec(),
            pushed: 0,
        })
    }

    /// Adds a state.
    ///
    /// # Errors
    /// If the disk is full, for example.
    pub fn push(&mut self, step: u64, time: f64, slots: &[Option<ReportedBody>]) -> Result<(), Failure> {
        self.pushed += 1;
        self.spool(step, time, slots).map_err(|e| Failure::write(&self.destination.shown, &e))
    }

    fn spool(&mut self, step: u64, time: f64, slots: &[Option<ReportedBody>]) -> io::Result<()> {
        self.step.write(&step.to_le_bytes())?;
        self.time.write(&time.to_le_bytes())?;
        let slots = slots.iter().map(Option::as_ref).chain(std::iter::repeat(None));
        for body in slots.take(usize::try_from(self.shape.iter().product::<u64>()).unwrap_or(usize::MAX)) {
            let pair = |of: fn(&ReportedBody) -> [f32; 2]| body.map_or([f32::NAN; 2], of);
            let number = |of: fn(&ReportedBody) -> f32| body.map_or(f32::NAN, of);
            self.position.floats(&pair(|body| body.position))?;
            self.angle.floats(&[number(|body| body.angle)])?;
            self.velocity.floats(&pair(|body| body.velocity))?;
            self.angular_velocity.floats(&[number(|body| body.angular_velocity)])?;
        }
        Ok(())
    }

    /// Assembles the archive.
    ///
    /// # Errors
    /// If the disk is full, for example.
    pub fn finish(mut self) -> Result<Destination, Failure> {
        self.assemble().map_err(|e| Failure::write(&self.destination.shown, &e))?;
        Ok(self.destination)
    }

    fn assemble(&mut self) -> io::Result<()> {
        let t = self.pushed;
        let frames: Vec<u64> = [&[t], &self.shape[..]].concat();
        let pairs: Vec<u64> = [&frames[..], &[2]].concat();
        let n = self.shape.last().copied().unwrap_or(0);
        let mut npz = NpzWriter::new(&mut self.destination);
        self.step.append::<u64>(&mut npz, "step", &[t])?;
        self.time.append::<f64>(&mut npz, "time", &[t])?;
        self.position.append::<f32>(&mut npz, "position", &pairs)?;
        self.angle.append::<f32>(&mut npz, "angle", &frames)?;
        self.velocity.append::<f32>(&mut npz, "velocity", &pairs)?;
        self.angular_velocity.append::<f32>(&mut npz, "angular_velocity", &frames)?;
        array(&mut npz, "body_index", &[n], body_indices(n))?;
        npz.zip_writer().finish()?;
        Ok(())
    }
}

fn check_size(destination: &Destination, bodies: u64, frames: u64) -> Result<(), Failure> {
    let frame = bodies * BYTES_PER_BODY + BYTES_PER_FRAME;
    if frames.saturating_mul(frame) <= MAX_TRACE_BYTES {
        return Ok(());
    }
    let size = frames as f64 * frame as f64 / (1_u64 << 30) as f64;
    let (option, shown, limit) = (destination.option, &destination.shown, MAX_TRACE_BYTES >> 30);
    let most = MAX_TRACE_BYTES / frame;
    Err(Failure::usage(format_args!("{option} {shown}: needs {size:.1} GiB; the limit is {limit} GiB"))
        .hint(format!("{most} states of {bodies} bodies fit; use --every N to write fewer")))
}

/// Spool file of one array, little-endian as in the archive.
struct Spool(BufWriter<File>);

impl Spool {
    fn new(beside: &Destination) -> io::Result<Self> {
        beside.spool().map(BufWriter::new).map(Self)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes)
    }

    fn floats(&mut self, values: &[f32]) -> io::Result<()> {
        values.iter().try_for_each(|value| self.write(&value.to_le_bytes()))
    }

    fn append<T: AutoSerialize>(
        &mut self,
        npz: &mut NpzWriter<impl Write + Seek>,
        name: &str,
        shape: &[u64],
    ) -> io::Result<()> {
        self.0.flush()?;
        let file = self.0.get_mut();
        file.rewind()?;
        let array = npz.array::<T>(name, options())?.default_dtype().shape(shape).write_header_only()?;
        io::copy(file, array)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use npyz::npz::NpzArchive;

    use super::super::output::publish;
    use super::*;

    fn body(x: f32) -> ReportedBody {
        ReportedBody {
            id: None,
            position: [x, -x],
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
    fn trace_reads_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.npz");
        let destination = Destination::open("--trace", &path, &["npz"]).unwrap();
        let mut trace = Trace::new(destination, &[3], 2).unwrap();
        trace.push(0, 0.0, &[Some(body(1.0)), Some(body(2.0))]).unwrap();
        trace.push(10, 0.25, &[None, Some(body(3.0)), Some(body(4.0))]).unwrap();
        publish(vec![trace.finish().unwrap()]).unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no spool may be left");

        let mut npz = NpzArchive::open(&path).unwrap();
        assert_eq!(npz.by_name("step").unwrap().unwrap().into_vec::<u64>().unwrap(), [0, 10]);
        assert_eq!(npz.by_name("time").unwrap().unwrap().into_vec::<f64>().unwrap(), [0.0, 0.25]);
        let (shape, positions) = floats(&mut npz, "position");
        assert_eq!(shape, [2, 3, 2]);
        let (there, missing): (Vec<(usize, f32)>, _) =
            positions.into_iter().enumerate().partition(|(_, x)| !x.is_nan());
        assert_eq!(missing.iter().map(|&(place, _)| place).collect::<Vec<_>>(), [4, 5, 6, 7]);
        let there: Vec<f32> = there.into_iter().map(|(_, x)| x).collect();
        assert_eq!(there, [1.0, -1.0, 2.0, -2.0, 3.0, -3.0, 4.0, -4.0]);
        let (shape, spins) = floats(&mut npz, "angular_velocity");
        assert_eq!((shape, &spins[..2], &spins[4..]), (vec![2, 3], &[4.0, 8.0][..], &[12.0, 16.0][..]));
        assert!(spins[2].is_nan() && spins[3].is_nan());
        assert_eq!(npz.by_name("body_index").unwrap().unwrap().into_vec::<u32>().unwrap(), [0, 1, 2]);
    }

    #[test]
    fn oversized_traces_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let open = || Destination::open("--trace", &folder.path().join("a.npz"), &["npz"]).unwrap();
        let frame = 1000 * BYTES_PER_BODY + BYTES_PER_FRAME;
        assert!(Trace::new(open(), &[1000], MAX_TRACE_BYTES / frame).is_ok());
        assert!(Trace::new(open(), &[1000], MAX_TRACE_BYTES / frame + 1).is_err());
        assert!(Trace::new(open(), &[1000], u64::MAX).is_err());
    }
}
