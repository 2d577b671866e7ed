//! Whether something that another thread does is still wanted.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Shared by who asked and who does it. Who does it looks at it between two parts of the work, each of which is done whole.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// It is not wanted any more.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}
