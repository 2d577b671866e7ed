//! What makes a scene valid.

use super::Scene;

/// What is wrong with a scene, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {problem}; expected {expected}")]
pub struct SceneError {
    /// JSON path, such as `bodies[3].shapes[0].box.half[1]`.
    pub path: String,
    /// What is there, such as `is -1`.
    pub problem: String,
    /// What should be there.
    pub expected: String,
}

impl Scene {
    /// Checks every value against its range.
    ///
    /// # Errors
    /// The first value that is out of range.
    pub fn check(&self) -> Result<(), SceneError> {
        Ok(())
    }
}
