//! The window: a scene that runs, drawn from the solver's own buffers, to be watched, grabbed and taken apart.
//!
//! ```no_run
//! use drystone_view::{Options, Scene, run};
//!
//! run(Options { scene: Scene::Spec("large_pyramid:base=40".to_owned()), ..Options::default() })?;
//! # Ok::<(), drystone_view::ViewError>(())
//! ```
//!
//! The surface is on the device that steps the world, so nothing is read back on the way to the screen. Worlds on the CPU
//! are drawn by the same shaders from what is uploaded of them. To draw a world in a window of your own instead, in your
//! own render loop: `examples/embed_in_your_renderer.rs`.
//!
//! | file | what |
//! |---|---|
//! | `window.rs`, `screen.rs` | events of the window, or lines of a script; its surface, lost and found |
//! | `app.rs`, `sight.rs` | what there is to see, and from where |
//! | `act.rs`, `action.rs` | what was asked for |
//! | `pace.rs` | how time passes: so many steps a frame, and what waits for what |
//! | `run.rs`, `edit.rs` | a world with its past: exact steps back, backends and settings changed while it runs |
//! | `seat.rs`, `errands.rs` | where it is: here, or in a thread of its own, for steps and for what takes longer |
//! | `opening.rs`, `cancel.rs`, `left.rs` | a scene is opened by a thread, while the one before it stays; Z brings that one back |
//! | `pointer.rs`, `inspect.rs` | grab, drop, shoot, explode; what is under the pointer |
//! | `build.rs`, `select.rs` | bodies and joints drawn with the pointer; the selected body, and changes of it |
//! | `panel/` | transport, panel, keys |
//! | `drawing.rs`, `figures.rs`, `export.rs` | pictures, measurements, files |
//! | `watch.rs` | how watched bodies move, step by step |
//! | `prefs.rs`, `source.rs`, `script.rs` | what is remembered; where scenes come from; a user made of text, for tests |

//!
//! # What is built, and what only happens
//!
//! A body that is drawn, a joint, a body that is removed, and what the card changes belong to the scene as it is edited. A
//! restart (R) keeps them: bodies begin where they were drawn or put by the card, those that hang together by a joint where
//! they were when it was made, and gravity stays as it was set. What is dropped, shot, pushed or pulled belongs to the moment
//! and is gone, unless something was built to it. `run/rebuild.rs`
//!
//! Z takes the last change back where the world is, and the time goes on: a built body goes, a removed one comes back where
//! it was, a property has its old value. Pushes, places and velocities have no such opposite: the world goes back to the step
//! before them, and the message says to which. `run/deeds.rs`

mod act;
mod action;
mod app;
mod build;
mod cancel;
mod drawing;
mod edit;
mod errands;
mod export;
mod figures;
mod inspect;
mod left;
mod opening;
mod pace;
mod panel;
mod pointer;
mod prefs;
mod run;
mod screen;
mod script;
mod seat;
mod select;
mod sight;
mod source;
mod thumbs;
mod watch;
mod window;

use std::path::PathBuf;

use drystone::WorldError;
use drystone::low_level::gpu::ContextError;

/// What to open a window on.
#[derive(Clone, Debug)]
pub struct Options {
    /// What runs in it.
    pub scene: Scene,
    /// Where it is stepped at first.
    pub backend: Backend,
    /// Threads of the CPU backend.
    pub threads: usize,
    /// Does not run until it is told to.
    pub paused: bool,
    /// Bodies at rest fall asleep also in scenes that do not ask for it.
    pub sleep: bool,
    /// Size of the window at first, in logical pixels; `None` for the last size.
    pub size: Option<[u32; 2]>,
    /// Dark or light colours; `None`: as last time.
    pub dark: Option<bool>,
    /// Starts from the choices of last time, and keeps those of this time.
    pub remember: bool,
    /// A file that says what happens, in place of a user; for tests and pictures.
    #[doc(hidden)]
    pub script: Option<PathBuf>,
    /// Runs for so many seconds, tells how many frames there were and how soon the pointer was followed, and ends.
    #[doc(hidden)]
    pub measure: Option<f64>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            scene: Scene::Spec("large_pyramid:base=40".to_owned()),
            backend: Backend::Auto,
            threads: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            paused: false,
            sleep: true,
            size: None,
            dark: None,
            remember: true,
            script: None,
            measure: None,
        }
    }
}

/// A scene for a window.
#[derive(Clone, Debug)]
pub enum Scene {
    /// Of the catalogue, such as `large_pyramid:base=40`, or the path of a file, which is then watched.
    Spec(String),
    /// This one.
    Given(Box<drystone::Scene>),
}

/// Where the world of a window is stepped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backend {
    /// On the device that draws if that is hardware, else on the CPU.
    #[default]
    Auto,
    /// On the device that draws, also if that is a software adapter.
    Gpu,
    /// On the CPU.
    Cpu,
}

/// Why there is no window, or no longer.
#[derive(Debug, thiserror::Error)]
pub enum ViewError {
    /// No display to open it on.
    #[error("no window: {0}")]
    Display(String),
    /// Nothing that can draw in it.
    #[error(transparent)]
    Adapter(ContextError),
    /// The scene cannot be opened.
    #[error("{0}")]
    Scene(String),
    /// The device failed, and another one as well.
    #[error("the window cannot go on: {0}")]
    World(#[from] WorldError),
    /// A script says something that cannot be done.
    #[error("{0}")]
    Script(String),
}

impl ViewError {
    /// No display, with the system's reason and without the place in the source that winit puts before it: a path of the
    /// machine that built this.
    pub(crate) fn display(error: &dyn std::fmt::Display) -> Self {
        let text = error.to_string();
        let reason = text.split_once("os error at ").and_then(|(before, rest)| {
            let (place, reason) = rest.split_once(": ")?;
            let line = place.rsplit(':').next()?;
            line.bytes().all(|byte| byte.is_ascii_digit()).then(|| format!("{before}{reason}"))
        });
        Self::Display(reason.unwrap_or(text))
    }
}

/// Opens a window and runs it until it is closed. Call it on the main thread.
///
/// # Errors
/// If there is no display or nothing that can draw on it, or the scene is wrong.
pub fn run(options: Options) -> Result<(), ViewError> {
    window::run(options)
}

#[cfg(test)]
mod tests {
    use super::ViewError;

    #[test]
    fn no_message_has_a_path_of_the_build() {
        for (from, to) in [
            (
                "os error at /build/winit/src/x11/mod.rs:788: Failed to open connection",
                "no window: Failed to open connection",
            ),
            ("os error at C:\\build\\mod.rs:7: no: really", "no window: no: really"),
            ("neither WAYLAND_DISPLAY nor DISPLAY is set", "no window: neither WAYLAND_DISPLAY nor DISPLAY is set"),
            ("os error at noon", "no window: os error at noon"),
        ] {
            assert_eq!(ViewError::display(&from).to_string(), to);
        }
    }
}
