//! The interactive window: shows a running scene, drawn from the solver's own buffers, and lets the user grab, build
//! and change bodies while it runs.
//!
//! ```no_run
//! use drystone_view::{WindowOptions, WindowScene, run};
//!
//! run(WindowOptions { scene: WindowScene::Spec("large_pyramid:base=40".to_owned()), ..WindowOptions::default() })?;
//! # Ok::<(), drystone_view::ViewError>(())
//! ```
//!
//! The surface is on the device that steps the world, so nothing is read back on the way to the screen. Worlds on the
//! CPU are uploaded and drawn by the same shaders. `examples/embed_in_your_renderer.rs` draws a world in a render loop
//! of your own instead.
//!
//! | file | content |
//! |---|---|
//! | `window.rs`, `screen.rs` | event loop and frames; the surface, and its recovery when it is lost |
//! | `app.rs`, `camera_follow.rs` | state of the window; its camera |
//! | `act.rs`, `action.rs` | actions of the user: the queue that carries them out, and their list |
//! | `frame_pacing.rs` | frame pacing: number of steps in each frame, on the CPU and on the device |
//! | `run.rs`, `edit.rs` | a world with its history: exact steps back, undo, change of backend and settings |
//! | `worker.rs`, `background_jobs.rs` | handle on a world that a worker thread may have; long jobs for that thread |
//! | `opening.rs`, `cancel.rs`, `left.rs` | scenes opened in the background; worlds left for them, which Z brings back |
//! | `pointer.rs`, `inspect.rs` | grab, drop, shoot, explode; queries for the body under the pointer |
//! | `build.rs`, `overlap.rs` | bodies and joints drawn with the pointer |
//! | `select.rs`, `joint.rs` | the selected body and the selected joint, and their changes |
//! | `panel/` | bar at the bottom, panel at the right, tools and cards over the picture |
//! | `drawing.rs`, `figures.rs`, `export.rs` | drawing of worlds; measurements; files that the window writes |
//! | `watch.rs`, `thumbs.rs` | motion of graphed bodies, step by step; small pictures of scenes for the list |
//! | `prefs.rs`, `source.rs`, `script.rs` | remembered choices; origins of scenes; a scripted user for tests |
//!
//! # Restart and undo
//!
//! A drawn body, a joint, a removed body and a change on the card are edits of the scene, and a restart (R) keeps them:
//! bodies begin where they were drawn or where the card put them, jointed bodies where they were when the joint was
//! made, and gravity stays as it was set. Dropped and shot bodies, pushes and pulls are not edits: a restart discards
//! them, unless something was built onto them (`run/rebuild.rs`).
//!
//! Undo (Z) reverts the last change at the present step where it can: a built body is removed, a removed one comes back
//! where it was, a property gets its old value. A push, a place or a velocity cannot be reverted at a later step: the
//! world goes back to the step before it, and the message says which (`run/deeds.rs`).

mod act;
mod action;
mod app;
mod background_jobs;
mod build;
mod camera_follow;
mod cancel;
mod drawing;
mod edit;
mod export;
mod figures;
mod frame_pacing;
mod inspect;
mod joint;
mod left;
mod opening;
mod overlap;
mod panel;
mod pointer;
mod prefs;
mod run;
mod screen;
mod script;
mod select;
mod source;
mod thumbs;
mod watch;
mod window;
mod worker;

use std::path::PathBuf;

use drystone::WorldError;
use drystone::low_level::gpu::ContextError;

/// Settings of a window.
#[derive(Clone, Debug)]
pub struct WindowOptions {
    /// The scene that it opens.
    pub scene: WindowScene,
    /// Backend that steps the world at first; the user can change it.
    pub backend: ViewBackend,
    /// Threads of the CPU backend.
    pub threads: usize,
    /// Begins paused.
    pub paused: bool,
    /// Lets bodies at rest sleep, also in scenes that do not enable it.
    pub sleep: bool,
    /// Size of the window at first, in logical pixels; `None` for the last size.
    pub size: Option<[u32; 2]>,
    /// Dark or light colours; `None`: those of the last session.
    pub dark: Option<bool>,
    /// Starts with the choices of the last session, and saves those of this one.
    pub remember: bool,
    /// File with the lines of a scripted user, for tests and pictures.
    #[doc(hidden)]
    pub script: Option<PathBuf>,
    /// Seconds after which the window prints its frame rate and the delay of the pointer, and closes.
    #[doc(hidden)]
    pub measure: Option<f64>,
}

impl Default for WindowOptions {
    fn default() -> Self {
        Self {
            scene: WindowScene::Spec("large_pyramid:base=40,drop=2".to_owned()),
            backend: ViewBackend::Auto,
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

/// Scene of a window.
#[derive(Clone, Debug)]
pub enum WindowScene {
    /// Scene of the catalogue, such as `large_pyramid:base=40`, or the path of a file, which is reloaded when it
    /// changes.
    Spec(String),
    /// Scene built by the caller.
    Given(Box<drystone::Scene>),
}

/// Backend that steps the world of a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ViewBackend {
    /// The device that draws if it is hardware, else the CPU.
    #[default]
    Auto,
    /// The device that draws, even if it is a software adapter.
    Gpu,
    /// The CPU.
    Cpu,
}

/// Error that keeps a window from opening, or ends it.
#[derive(Debug, thiserror::Error)]
pub enum ViewError {
    /// No display was found.
    #[error("no window: {0}")]
    Display(String),
    /// No adapter can draw in the window.
    #[error(transparent)]
    Adapter(ContextError),
    /// The first scene cannot be opened.
    #[error("{0}")]
    Scene(String),
    /// The device failed, and a new one as well.
    #[error("the window cannot continue: {0}")]
    World(#[from] WorldError),
    /// A script has a line that cannot be read or done.
    #[error("{0}")]
    Script(String),
}

impl ViewError {
    /// Makes a display error with the system's reason, without the source location that winit puts before it, which is
    /// a path of the machine that built this.
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
/// If there is no display or no adapter that can draw on it, or the scene is not valid.
pub fn run(options: WindowOptions) -> Result<(), ViewError> {
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
