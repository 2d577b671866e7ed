//! Laws of physics against which the solver is measured. Each has a source, parameters, a value that a formula or a
//! published table expects, a bound, a figure, and a disturbance by which it must be missed.
//!
//! ```
//! use drystone_lab::{LabSetup, find};
//!
//! let law = find("pendulum_large").expect("a law");
//! let values = law.values(&[("amplitude".to_owned(), 90.0)]).expect("its parameters");
//! let report = law.run(&LabSetup::default(), &values);
//! assert!(report.held(), "{report:?}");
//! ```

mod check;
mod figure;
mod known;
mod law;
mod laws;
mod world;

pub use check::LawCheck;
pub use figure::{FigureLine, LawFigure, LineStyle};
pub use law::{Disturbance, KnownMiss, Law, LawFindings, LawParameter, LawReport, LawValues, LawVerdict};
pub use world::{LabBackend, LabBody, LabError, LabSetup};

/// Returns all laws, by group.
#[must_use]
pub fn all() -> Vec<&'static Law> {
    laws::GROUPS.iter().flat_map(|group| group.iter()).collect()
}

/// Returns the misses that are known, of all modes.
#[must_use]
pub fn known_misses() -> &'static [KnownMiss] {
    known::KNOWN
}

/// Returns the law with a name.
///
/// # Errors
/// If there is none; the message suggests the nearest name.
pub fn find(name: &str) -> Result<&'static Law, LabError> {
    let all = all();
    all.iter().find(|law| law.name == name).copied().ok_or_else(|| LabError::UnknownLaw {
        name: name.to_owned(),
        nearest: law::nearest(name, all.iter().map(|law| law.name)),
    })
}
