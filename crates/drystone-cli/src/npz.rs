//! Writes states over time as NumPy archives (`--trace`). Single states: [`drystone_scenes::npz`].

use std::fs::File;
use std::io::{self, BufWriter, Seek, Write};

use drystone::low_level::scene::{Compiled, MassProperties};
use drystone::low_level::state::ReportedBody;
use drystone::low_level::types::{BodyData, GEOMETRY_MASK, MAX_VERTICES, NO_SHAPE, VACANT, VERTEX_COUNT_SHIFT};
use drystone_scenes::npz::{array, body_indices, options};
use npyz::npz::NpzWriter;
use npyz::{AutoSerialize, WriterBuilder};

use super::failure::Failure;
use super::output::Destination;

/// Additional bytes per frame: step (u64) and time (f64).
const BYTES_PER_FRAME: u64 = 16;
/// Maximum size of a trace, in bytes. Assembling it needs twice as much disk space.
pub const MAX_TRACE_BYTES: u64 = 16 << 30;

/// Arrays of a trace besides `step`, `time` and `body_index`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "one for each word of the option")]
pub struct TraceArrays {
    position: bool,
    angle: bool,
    velocity: bool,
    angular_velocity: bool,
    asleep: bool,
    mass: bool,
    shapes: bool,
}

impl Default for TraceArrays {
    fn default() -> Self {
        Self {
            asleep: false,
            position: true,
            angle: true,
            velocity: true,
            angular_velocity: true,
            mass: true,
            shapes: true,
        }
    }
}

impl TraceArrays {
    /// Parses a value of `--arrays`.
    ///
    /// # Errors
    /// A word that is no array.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut this = Self {
            position: false,
            angle: false,
            velocity: false,
            angular_velocity: false,
            asleep: false,
            mass: false,
            shapes: false,
        };
        for word in text.split(',') {
            let array = match word.trim() {
                "position" => &mut this.position,
                "angle" => &mut this.angle,
                "velocity" => &mut this.velocity,
                "angular_velocity" => &mut this.angular_velocity,
                "asleep" => &mut this.asleep,
                "mass" => &mut this.mass,
                "shapes" => &mut this.shapes,
                other => {
                    return Err(format!(
                        "{other:?} is not position, angle, velocity, angular_velocity, asleep, mass or shapes"
                    ));
                }
            };
            *array = true;
        }
        Ok(this)
    }

    /// Returns the bytes per body and frame.
    fn bytes_per_body(self) -> u64 {
        8 * u64::from(self.position)
            + 4 * u64::from(self.angle)
            + 8 * u64::from(self.velocity)
            + 4 * u64::from(self.angular_velocity)
            + u64::from(self.asleep)
    }
}

/// Mass and outlines of the body in a slot.
#[derive(Clone, Debug)]
struct TraceSlot {
    mass: f32,
    inertia: f32,
    /// Centre of mass in the body's frame, m.
    center: [f32; 2],
    shapes: Vec<TraceShape>,
}

/// Outline of a shape, about the origin of its body's frame.
#[derive(Clone, Debug)]
struct TraceShape {
    kind: u32,
    radius: f32,
    half: [f32; 2],
    offset: [f32; 2],
    angle: f32,
    vertices: Vec<[f32; 2]>,
}

impl TraceSlot {
    fn all(compiled: &Compiled) -> Vec<Option<Self>> {
        let record = |(body, mass): (&BodyData, &MassProperties)| {
            (body.kind != VACANT).then(|| Self {
                mass: mass.mass,
                inertia: mass.inertia,
                center: mass.center.into(),
                shapes: Vec::new(),
            })
        };
        let mut all: Vec<Option<Self>> = compiled.bodies.iter().zip(&compiled.mass).map(record).collect();
        for shape in compiled.shapes.iter().filter(|shape| shape.kind & GEOMETRY_MASK != NO_SHAPE) {
            let Some(Some(slot)) = all.get_mut(shape.body as usize) else { continue };
            let ([x, y], [c_x, c_y], [cos, sin]) = (shape.offset, slot.center, shape.rotation);
            let (first, count) = (shape.first_vertex as usize, (shape.kind >> VERTEX_COUNT_SHIFT & 0xf) as usize);
            slot.shapes.push(TraceShape {
                kind: shape.kind & GEOMETRY_MASK,
                radius: shape.radius,
                half: shape.half,
                offset: [x + c_x, y + c_y],
                angle: sin.atan2(cos),
                vertices: compiled.vertices.get(first..first + count).map(<[_]>::to_vec).unwrap_or_default(),
            });
        }
        all
    }
}

/// A trace in progress: the state arrays with a leading time axis, and `step (t)` u64, `time (t)` f64 in s. There is
/// one row for every slot that may ever hold a body, NaN while it holds none; a slot may hold another body later. With
/// several worlds, a second axis is the world.
///
/// Without a time axis, of the last body in each slot (in several worlds, those of the first): `mass (n)`, kg,
/// `inertia (n)` about the centre of mass, kg·m², `center (n, 2)`, the centre of mass in the body's frame, m; and of
/// all their shapes: `shape_body (m)`, the slots, `shape_kind (m)` (0 circle, 1 box, 2 polygon, capsule or segment, 3
/// half plane), `shape_radius (m)` of a circle or a rounding, m, `shape_half (m, 2)` of a box, m, `shape_offset (m, 2)`
/// and
/// `shape_angle (m)` of the shape's centre in the body's frame, m and rad, `shape_vertices (m, 8, 2)` about it, m, NaN
/// after the last one.
///
/// An archive stores arrays one after another, but they grow simultaneously: each is spooled to an unnamed file beside
/// the destination. Memory holds one state, however long the run.
pub struct Trace {
    destination: Destination,
    /// Shape of a frame: slots of bodies, or worlds and slots.
    shape: Vec<u64>,
    arrays: TraceArrays,
    pushed: u64,
    slots: Vec<Option<TraceSlot>>,
    /// Number that told apart the populations that were described.
    described: Option<u64>,
    step: Spool,
    time: Spool,
    position: Spool,
    angle: Spool,
    velocity: Spool,
    angular_velocity: Spool,
    asleep: Spool,
}

impl Trace {
    /// Creates a trace for `frames` states of a shape: slots of bodies, or worlds and slots.
    ///
    /// # Errors
    /// If the trace would be larger than [`MAX_TRACE_BYTES`].
    pub fn new(destination: Destination, shape: &[u64], frames: u64, arrays: TraceArrays) -> Result<Self, Failure> {
        let bodies = shape.iter().product();
        check_size(&destination, bodies, frames, arrays)?;
        let spool = || Spool::new(&destination).map_err(|e| Failure::write(&destination.shown, &e));
        Ok(Self {
            step: spool()?,
            time: spool()?,
            position: spool()?,
            angle: spool()?,
            velocity: spool()?,
            angular_velocity: spool()?,
            asleep: spool()?,
            destination,
            shape: shape.to_vec(),
            arrays,
            pushed: 0,
            slots: Vec::new(),
            described: None,
        })
    }

    /// Keeps masses and outlines of the bodies that a world has now, unless `population` is as in the last call.
    pub fn describe(&mut self, compiled: &Compiled, population: u64) {
        if self.described.replace(population) == Some(population) || !(self.arrays.mass || self.arrays.shapes) {
            return;
        }
        for (slot, record) in TraceSlot::all(compiled).into_iter().enumerate() {
            self.slots.resize(self.slots.len().max(slot + 1), None);
            if record.is_some() {
                self.slots[slot] = record;
            }
        }
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
            if self.arrays.position {
                self.position.floats(&pair(|body| body.position))?;
            }
            if self.arrays.angle {
                self.angle.floats(&[number(|body| body.angle)])?;
            }
            if self.arrays.velocity {
                self.velocity.floats(&pair(|body| body.velocity))?;
            }
            if self.arrays.angular_velocity {
                self.angular_velocity.floats(&[number(|body| body.angular_velocity)])?;
            }
            if self.arrays.asleep {
                self.asleep.write(&[u8::from(body.is_some_and(|body| body.asleep))])?;
            }
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
        if self.arrays.position {
            self.position.append::<f32>(&mut npz, "position", &pairs)?;
        }
        if self.arrays.angle {
            self.angle.append::<f32>(&mut npz, "angle", &frames)?;
        }
        if self.arrays.velocity {
            self.velocity.append::<f32>(&mut npz, "velocity", &pairs)?;
        }
        if self.arrays.angular_velocity {
            self.angular_velocity.append::<f32>(&mut npz, "angular_velocity", &frames)?;
        }
        if self.arrays.asleep {
            self.asleep.append::<bool>(&mut npz, "asleep", &frames)?;
        }
        array(&mut npz, "body_index", &[n], body_indices(n))?;
        self.slots.resize(usize::try_from(n).unwrap_or(usize::MAX), None);
        if self.arrays.mass {
            write_masses(&mut npz, &self.slots)?;
        }
        if self.arrays.shapes {
            write_shapes(&mut npz, &self.slots)?;
        }
        npz.zip_writer().finish()?;
        Ok(())
    }
}

fn write_masses(npz: &mut NpzWriter<impl Write + Seek>, slots: &[Option<TraceSlot>]) -> io::Result<()> {
    let n = slots.len() as u64;
    let numbers = |of: fn(&TraceSlot) -> f32| slots.iter().map(move |slot| slot.as_ref().map_or(f32::NAN, of));
    array(npz, "mass", &[n], numbers(|slot| slot.mass))?;
    array(npz, "inertia", &[n], numbers(|slot| slot.inertia))?;
    let centers = slots.iter().flat_map(|slot| slot.as_ref().map_or([f32::NAN; 2], |slot| slot.center));
    array(npz, "center", &[n, 2], centers)
}

fn write_shapes(npz: &mut NpzWriter<impl Write + Seek>, slots: &[Option<TraceSlot>]) -> io::Result<()> {
    let slots = || (0_u32..).zip(slots).filter_map(|(index, slot)| Some((index, slot.as_ref()?)));
    let shapes = || slots().flat_map(|(_, slot)| &slot.shapes);
    let m = shapes().count() as u64;
    let bodies = slots().flat_map(|(index, slot)| std::iter::repeat_n(index, slot.shapes.len()));
    array(npz, "shape_body", &[m], bodies)?;
    array(npz, "shape_kind", &[m], shapes().map(|shape| shape.kind))?;
    array(npz, "shape_radius", &[m], shapes().map(|shape| shape.radius))?;
    array(npz, "shape_half", &[m, 2], shapes().flat_map(|shape| shape.half))?;
    array(npz, "shape_offset", &[m, 2], shapes().flat_map(|shape| shape.offset))?;
    array(npz, "shape_angle", &[m], shapes().map(|shape| shape.angle))?;
    let vertex = |shape: &TraceShape, index: usize| shape.vertices.get(index).copied().unwrap_or([f32::NAN; 2]);
    let vertices = shapes().flat_map(|shape| (0..MAX_VERTICES as usize).flat_map(move |index| vertex(shape, index)));
    array(npz, "shape_vertices", &[m, MAX_VERTICES.into(), 2], vertices)
}

fn check_size(destination: &Destination, bodies: u64, frames: u64, arrays: TraceArrays) -> Result<(), Failure> {
    let frame = bodies * arrays.bytes_per_body() + BYTES_PER_FRAME;
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
    fn trace_reads_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.npz");
        let destination = Destination::open("--trace", &path, &["npz"]).unwrap();
        let mut trace = Trace::new(destination, &[3], 2, TraceArrays::default()).unwrap();
        let mut scene = drystone::Scene::new("two");
        scene.add(drystone::Body::dynamic(0.0, 0.0).shape(drystone::Shape::circle(0.5).offset(1.0, 0.0)));
        scene.add(drystone::Body::fixed(0.0, 0.0).shape(drystone::Shape::half_box(2.0, 1.0)));
        trace.describe(&Compiled::new(&scene).unwrap(), 0);
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
        let (shape, masses) = floats(&mut npz, "mass");
        assert_eq!(shape, [3]);
        assert!((masses[0] - std::f32::consts::FRAC_PI_4).abs() < 1e-5 && masses[2].is_nan(), "{masses:?}");
        assert_eq!(floats(&mut npz, "center").1[..2], [1.0, 0.0], "in the body's frame");
        assert_eq!(npz.by_name("shape_body").unwrap().unwrap().into_vec::<u32>().unwrap(), [0, 1]);
        assert_eq!(floats(&mut npz, "shape_radius").1, [0.5, 0.0]);
        assert_eq!(floats(&mut npz, "shape_offset").1, [1.0, 0.0, 0.0, 0.0], "from the origin of the body's frame");
        assert_eq!(floats(&mut npz, "shape_half").1[2..], [2.0, 1.0]);
        assert_eq!(floats(&mut npz, "shape_vertices").0, [2, 8, 2]);
        assert!(npz.by_name("asleep").unwrap().is_none(), "not asked for");
    }

    #[test]
    fn arrays_can_be_chosen() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.npz");
        let destination = Destination::open("--trace", &path, &["npz"]).unwrap();
        let arrays = TraceArrays::parse("position, asleep").unwrap();
        assert_eq!(arrays.bytes_per_body(), 9);
        let mut trace = Trace::new(destination, &[1], 1, arrays).unwrap();
        trace.push(0, 0.0, &[Some(ReportedBody { asleep: true, ..body(1.0) })]).unwrap();
        publish(vec![trace.finish().unwrap()]).unwrap();
        let mut npz = NpzArchive::open(&path).unwrap();
        let mut names: Vec<String> = npz.array_names().map(str::to_owned).collect();
        names.sort();
        assert_eq!(names, ["asleep", "body_index", "position", "step", "time"]);
        assert_eq!(npz.by_name("asleep").unwrap().unwrap().into_vec::<bool>().unwrap(), [true]);
        assert!(TraceArrays::parse("position,colour").unwrap_err().contains("colour"));
    }

    #[test]
    fn oversized_traces_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let open = || Destination::open("--trace", &folder.path().join("a.npz"), &["npz"]).unwrap();
        let frame = 1000 * 24 + BYTES_PER_FRAME;
        let new = |frames| Trace::new(open(), &[1000], frames, TraceArrays::default());
        assert!(new(MAX_TRACE_BYTES / frame).is_ok());
        assert!(new(MAX_TRACE_BYTES / frame + 1).is_err());
        assert!(new(u64::MAX).is_err());
    }
}
