//! Changes of many worlds in one call, from arrays: variants of a scene, impulses, motors, placements. NaN leaves a
//! value as it is.

use drystone::{BodyId, Command, Geometry, JointCommand, Scene, WorldBatch, WorldError};
use glam::Vec2;
use numpy::PyReadonlyArray1;
use pyo3::PyResult;

use crate::call::CallError;

/// Optional array of float32, contiguous.
pub type NumberArray<'py> = Option<PyReadonlyArray1<'py, f32>>;

/// Returns the values of an optional array; empty without one.
///
/// # Errors
/// The array is not contiguous.
pub fn slice<'a>(values: &'a NumberArray<'_>) -> PyResult<&'a [f32]> {
    Ok(values.as_ref().map_or(Ok(&[][..]), |values| values.as_slice())?)
}

/// Returns a row of an array, or nothing if there is no array.
fn row(values: &[f32], index: usize, rows: usize) -> &[f32] {
    let width = values.len() / rows.max(1);
    values.get(index * width..(index + 1) * width).unwrap_or(&[])
}

fn pair(values: &[f32], index: usize) -> Option<Vec2> {
    let pair = values.get(2 * index..2 * index + 2)?;
    (!pair[0].is_nan() && !pair[1].is_nan()).then(|| Vec2::new(pair[0], pair[1]))
}

fn single(values: &[f32], index: usize) -> Option<f32> {
    values.get(index).copied().filter(|value| !value.is_nan())
}

/// NumberArray of bodies, a row for each world; an empty list leaves all as they are.
#[derive(Clone, Copy, Debug)]
pub struct BodyValues<'a> {
    /// Positions of the origins, m.
    pub positions: &'a [f32],
    /// Angles, rad.
    pub angles: &'a [f32],
    /// Velocities of the centres of mass, m/s.
    pub velocities: &'a [f32],
    /// Angular velocities, rad/s.
    pub angular_velocities: &'a [f32],
}

impl BodyValues<'_> {
    fn row(&self, index: usize, rows: usize) -> Self {
        Self {
            positions: row(self.positions, index, rows),
            angles: row(self.angles, index, rows),
            velocities: row(self.velocities, index, rows),
            angular_velocities: row(self.angular_velocities, index, rows),
        }
    }
}

/// Writes the values of a variant into a copy of its scene. `segments` has both ends of each segment, in the order of
/// bodies and shapes.
fn patch(scene: &mut Scene, values: &BodyValues<'_>, segments: &[f32]) {
    for (index, body) in scene.bodies.iter_mut().enumerate() {
        if let Some(position) = pair(values.positions, index) {
            body.position = position;
        }
        if let Some(angle) = single(values.angles, index) {
            body.angle = angle;
        }
        if let Some(velocity) = pair(values.velocities, index) {
            body.velocity = velocity;
        }
        if let Some(speed) = single(values.angular_velocities, index) {
            body.angular_velocity = speed;
        }
    }
    if segments.is_empty() {
        return;
    }
    let mut count = 0;
    for shape in scene.bodies.iter_mut().flat_map(|body| &mut body.shapes) {
        if let Geometry::Segment { a, b } = &mut shape.geometry {
            *a = pair(segments, count).unwrap_or(*a);
            *b = pair(segments, count + 1).unwrap_or(*b);
            count += 2;
        }
    }
}

/// Replaces worlds by variants of a scene, a row of each array for each of them.
///
/// # Errors
/// A variant is not valid. The worlds before it are replaced.
pub fn vary(
    worlds: &mut WorldBatch,
    which: &[usize],
    scene: &Scene,
    values: &BodyValues<'_>,
    segments: &[f32],
) -> Result<(), CallError> {
    for (index, &world) in which.iter().enumerate() {
        let mut variant = scene.clone();
        patch(&mut variant, &values.row(index, which.len()), row(segments, index, which.len()));
        worlds.replace(world, &variant)?;
    }
    Ok(())
}

/// Names the value of an array that was refused.
fn named(error: WorldError, argument: &str, world: usize, index: usize) -> CallError {
    match CallError::from(error) {
        CallError::Argument(_, problem, expected) => {
            CallError::argument(format!("{argument}[{world}, {index}]"), problem, expected)
        }
        CallError::Missing(text) => {
            CallError::argument(format!("{argument}[{world}, {index}]"), text, "NaN or 0 where there is nothing")
        }
        error => error,
    }
}

fn body_of(worlds: &WorldBatch, world: usize, body: usize, argument: &str) -> Result<BodyId, CallError> {
    let problem = || format!("is not 0, and there is no body {body}");
    let missing = || CallError::argument(format!("{argument}[{world}, {body}]"), problem(), "0 or NaN there");
    worlds.body_id(world, body).ok_or_else(missing)
}

/// Gives bodies impulses at their centres of mass, and angular ones. Zero gives nothing.
///
/// # Errors
/// A body takes no impulse, or a value is not finite. The impulses before it are given.
pub fn push(worlds: &mut WorldBatch, linear: &[f32], angular: &[f32], stride: usize) -> Result<(), CallError> {
    for (place, values) in linear.chunks_exact(2).enumerate().filter(|(_, values)| **values != [0.0, 0.0]) {
        let (world, body) = (place / stride, place % stride);
        let id = body_of(worlds, world, body, "impulses")?;
        let command = Command::impulse([values[0], values[1]]);
        worlds.command(world, id, command).map_err(|error| named(error, "impulses", world, body))?;
    }
    for (place, &value) in angular.iter().enumerate().filter(|(_, value)| **value != 0.0) {
        let (world, body) = (place / stride, place % stride);
        let id = body_of(worlds, world, body, "angular_impulses")?;
        let given = worlds.command(world, id, Command::AngularImpulse(value));
        given.map_err(|error| named(error, "angular_impulses", world, body))?;
    }
    Ok(())
}

/// Sets speed and strength of motors, a row of joints for each world.
///
/// # Errors
/// There is no such joint or it has no motor, or a value is out of range. The motors before it are set.
pub fn drive(worlds: &mut WorldBatch, speeds: &[f32], strengths: &[f32], joints: usize) -> Result<(), CallError> {
    for (place, (&speed, &max)) in speeds.iter().zip(strengths).enumerate() {
        if speed.is_nan() || max.is_nan() {
            continue;
        }
        let (world, joint) = (place / joints, place % joints);
        let Some(id) = worlds.joint_id(world, joint) else {
            let problem = format!("is {speed}, and there is no joint {joint}");
            return Err(CallError::argument(format!("speeds[{world}, {joint}]"), problem, "NaN there"));
        };
        let given = worlds.command_joint(world, id, JointCommand::Motor { speed, max });
        given.map_err(|error| named(error, "speeds", world, joint))?;
    }
    Ok(())
}

/// Puts bodies at other poses and velocities.
///
/// # Errors
/// A body does not take a value. Those before it have theirs.
pub fn place(worlds: &mut WorldBatch, values: &BodyValues<'_>, stride: usize) -> Result<(), CallError> {
    for world in 0..worlds.count() {
        let values = values.row(world, worlds.count());
        for body in 0..stride {
            let teleport = pair(values.positions, body).zip(single(values.angles, body));
            let teleport = teleport.map(|(position, angle)| Command::Teleport { position: position.into(), angle });
            let velocity = pair(values.velocities, body).map(Command::Velocity);
            let speed = single(values.angular_velocities, body).map(Command::AngularVelocity);
            let commands = [("positions", teleport), ("velocities", velocity), ("angular_velocities", speed)];
            for (argument, command) in commands {
                if let Some(command) = command {
                    let id = body_of(worlds, world, body, argument)?;
                    worlds.command(world, id, command).map_err(|error| named(error, argument, world, body))?;
                }
            }
        }
    }
    Ok(())
}
