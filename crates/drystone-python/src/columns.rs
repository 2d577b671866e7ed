//! Values of bodies, a column for each quantity, in the layout of the arrays that show them.

use crate::call::CallError;
use drystone::low_level::scene::Compiled;
use drystone::low_level::types::{ASLEEP, BodyState, DYNAMIC, Pose, VACANT};

/// Quantity of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// Origin of the body's frame, m.
    Positions,
    /// Angle, rad, in (−π, π].
    Angles,
    /// Velocity of the centre of mass, m/s.
    Velocities,
    /// Angular velocity, rad/s.
    AngularVelocities,
    /// False while a dynamic body sleeps.
    Awake,
}

impl Column {
    /// Number of columns.
    pub const COUNT: usize = 5;

    /// Returns the column with a name.
    ///
    /// # Errors
    /// There is none.
    pub fn named(name: &str) -> Result<Self, CallError> {
        match name {
            "positions" => Ok(Self::Positions),
            "angles" => Ok(Self::Angles),
            "velocities" => Ok(Self::Velocities),
            "angular_velocities" => Ok(Self::AngularVelocities),
            "awake" => Ok(Self::Awake),
            _ => Err(CallError::argument("name", format!("is {name:?}"), "the name of a column")),
        }
    }

    /// Returns the number of values of a body.
    pub fn width(self) -> usize {
        if matches!(self, Self::Positions | Self::Velocities) { 2 } else { 1 }
    }
}

/// Columns that are wanted, by [`Column`].
pub type ColumnChoice = [bool; Column::COUNT];

/// Values of the wanted columns. In worlds of a batch with fewer bodies than others the last rows are padding: NaN, and
/// not awake, as in slots without a body.
#[derive(Clone, Debug, Default)]
pub struct BodyColumns {
    floats: [Vec<f32>; Column::COUNT - 1],
    awake: Vec<bool>,
    rows: usize,
}

impl BodyColumns {
    /// Removes all values.
    pub fn clear(&mut self) {
        self.floats.iter_mut().for_each(Vec::clear);
        self.awake.clear();
        self.rows = 0;
    }

    /// Returns the values of a column of numbers, one row after the other.
    pub fn floats(&self, column: Column) -> &[f32] {
        self.floats.get(column as usize).map_or(&[], Vec::as_slice)
    }

    /// Returns true for each body that does not sleep.
    pub fn awake(&self) -> &[bool] {
        &self.awake
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Appends the bodies of a world, and padding up to `stride` rows.
    pub fn push_world(
        &mut self,
        choice: ColumnChoice,
        compiled: &Compiled,
        poses: &[Pose],
        states: impl Iterator<Item = BodyState>,
        stride: usize,
    ) {
        let count = poses.len().min(compiled.bodies.len());
        let slots = || compiled.bodies[..count].iter().map(|body| body.kind != VACANT).zip(poses).enumerate();
        if choice[Column::Positions as usize] {
            let values = &mut self.floats[Column::Positions as usize];
            values.extend(slots().flat_map(|(slot, (is_there, pose))| {
                let center = compiled.mass[slot].center;
                present(is_there, pose.origin(center).as_vec2().into())
            }));
        }
        if choice[Column::Angles as usize] {
            let values = &mut self.floats[Column::Angles as usize];
            values.extend(slots().flat_map(|(_, (is_there, pose))| {
                let [cosine, sine] = pose.rotation;
                present(is_there, [sine.atan2(cosine)])
            }));
        }
        let [.., velocities, angular_velocities, awake] = choice;
        if velocities || angular_velocities || awake {
            for ((_, (is_there, _)), (body, state)) in slots().zip(compiled.bodies.iter().zip(states)) {
                if velocities {
                    self.floats[Column::Velocities as usize].extend(present(is_there, state.velocity));
                }
                if angular_velocities {
                    let value = present(is_there, [state.angular_velocity]);
                    self.floats[Column::AngularVelocities as usize].extend(value);
                }
                if awake {
                    self.awake.push(is_there && (body.kind != DYNAMIC || state.status & ASLEEP == 0));
                }
            }
        }
        self.rows += stride;
        for (column, values) in [Column::Positions, Column::Angles, Column::Velocities, Column::AngularVelocities]
            .into_iter()
            .zip(&mut self.floats)
        {
            if choice[column as usize] {
                values.resize(self.rows * column.width(), f32::NAN);
            }
        }
        if awake {
            self.awake.resize(self.rows, false);
        }
    }
}

/// Returns the values of a body, or NaN where there is none.
fn present<const WIDTH: usize>(is_there: bool, values: [f32; WIDTH]) -> [f32; WIDTH] {
    if is_there { values } else { [f32::NAN; WIDTH] }
}
