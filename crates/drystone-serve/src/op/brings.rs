//! Bodies, joints and bytes that commands bring a world, against its limits.

use super::CommandRecord;
use crate::config::Limits;
use crate::problem::Problem;

/// Population and journal that commands bring a world at most.
#[derive(Clone, Copy, Debug, Default)]
pub struct Brings {
    /// Bodies.
    pub bodies: usize,
    /// Joints.
    pub joints: usize,
    /// Shapes.
    pub shapes: usize,
    /// Bodies and joints added or removed by hand.
    pub alterations: usize,
    /// Bytes of the journal.
    pub bytes: usize,
}

/// Bytes that an entry of a journal takes beside what it holds, and so does an id in it.
pub const ENTRY_BYTES: usize = 64;
/// Bytes of an id in a journal, and around it.
pub const ID_BYTES: usize = 32;

impl Brings {
    /// Sums up some commands.
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
            CommandRecord::Unjoin { joints } => {
                Self { alterations: 1, bytes: ENTRY_BYTES + ID_BYTES * joints.len(), ..none }
            }
            _ => none,
        }
    }

    /// The sum of both.
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

    /// True if nothing comes or goes.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.bodies + self.joints + self.alterations == 0
    }

    /// Checks what comes to a world that has `now` already.
    ///
    /// # Errors
    /// The first limit that is exceeded.
    pub fn check(&self, now: &Self, limits: &Limits) -> Result<(), Problem> {
        for (what, key, now, more, most) in [
            ("bodies", "bodies", now.bodies, self.bodies, limits.bodies),
            ("joints", "joints", now.joints, self.joints, limits.joints),
            ("shapes", "shapes", now.shapes, self.shapes, limits.shapes),
            (
                "bodies and joints added or removed by hand",
                "alterations",
                now.alterations,
                self.alterations,
                limits.alterations,
            ),
            ("bytes of bodies and joints added by hand", "journal_bytes", now.bytes, self.bytes, limits.journal_bytes),
        ] {
            if more > 0 && now + more > most {
                let detail = format!("the world would come to {} {what}; at most {most} (limits.{key})", now + more);
                return Err(Problem::limit(detail).at("commands"));
            }
        }
        Ok(())
    }
}
