//! Additions of a command to a world (bodies, joints, journal bytes), checked against the limits.

use super::CommandRecord;
use super::lists::shapes_of;
use crate::config::Limits;
use crate::problem::Problem;

/// Upper bound of what commands add to a world's population and journal.
#[derive(Clone, Copy, Debug, Default)]
pub struct Additions {
    /// Bodies.
    pub bodies: usize,
    /// Joints.
    pub joints: usize,
    /// Shapes.
    pub shapes: usize,
    /// Bodies and joints added or removed at run time.
    pub alterations: usize,
    /// Bytes of the journal.
    pub bytes: usize,
}

/// Bytes of a journal entry beside its content.
pub const ENTRY_BYTES: usize = 64;
/// Bytes of an id in a journal, with its overhead.
pub const ID_BYTES: usize = 32;

impl Additions {
    /// Sums up the additions of commands.
    #[must_use]
    pub fn of(commands: &[CommandRecord]) -> Self {
        commands.iter().map(Self::of_one).fold(Self::default(), Self::plus)
    }

    fn of_one(command: &CommandRecord) -> Self {
        let none = Self::default();
        match command {
            CommandRecord::Spawn { bodies, joints } => Self {
                bodies: bodies.len(),
                joints: joints.len(),
                shapes: bodies.shapes(),
                alterations: bodies.len() + joints.len(),
                bytes: 2 * ENTRY_BYTES + bodies.bytes() + joints.bytes() + 2 * ID_BYTES * bodies.len(),
            },
            CommandRecord::Join { joint, .. } => {
                let bytes = ENTRY_BYTES + 2 * ID_BYTES + joint.get().len();
                Self { joints: 1, alterations: 1, bytes, ..none }
            }
            CommandRecord::Mouse { body: Some(_), .. } => {
                Self { joints: 1, alterations: 1, bytes: 4 * ENTRY_BYTES, ..none }
            }
            CommandRecord::Remove { bodies } => {
                Self { alterations: 1, bytes: ENTRY_BYTES + ID_BYTES * bodies.len(), ..none }
            }
            // The body has a shape already.
            CommandRecord::Replace { with, .. } => Self {
                shapes: shapes_of(with).saturating_sub(1),
                alterations: 1,
                bytes: ENTRY_BYTES + ID_BYTES + with.get().len(),
                ..none
            },
            CommandRecord::SetShapes { shapes, .. } => Self {
                shapes: shapes.len().saturating_sub(1),
                alterations: 1,
                bytes: ENTRY_BYTES + ID_BYTES + shapes.bytes(),
                ..none
            },
            CommandRecord::Unjoin { joints } => {
                Self { alterations: 1, bytes: ENTRY_BYTES + ID_BYTES * joints.len(), ..none }
            }
            _ => none,
        }
    }

    /// Returns the sum of both.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            bodies: self.bodies + other.bodies,
            joints: self.joints + other.joints,
            shapes: self.shapes + other.shapes,
            alterations: self.alterations + other.alterations,
            bytes: self.bytes + other.bytes,
        }
    }

    /// Returns true if the commands add and remove nothing.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.bodies + self.joints + self.alterations == 0
    }

    /// Checks the additions to a world that already has `now`.
    ///
    /// # Errors
    /// The first limit that would be exceeded.
    pub fn check(&self, now: &Self, limits: &Limits) -> Result<(), Problem> {
        for (what, key, now, more, most) in [
            ("bodies", "bodies", now.bodies, self.bodies, limits.bodies),
            ("joints", "joints", now.joints, self.joints, limits.joints),
            ("shapes", "shapes", now.shapes, self.shapes, limits.shapes),
            (
                "bodies and joints added or removed at run time",
                "alterations",
                now.alterations,
                self.alterations,
                limits.alterations,
            ),
            (
                "bytes of bodies and joints added at run time",
                "journal_bytes",
                now.bytes,
                self.bytes,
                limits.journal_bytes,
            ),
        ] {
            if more > 0 && now + more > most {
                let detail = format!("the world would have {} {what}; at most {most} (limits.{key})", now + more);
                return Err(Problem::limit(detail).at("commands"));
            }
        }
        Ok(())
    }
}
