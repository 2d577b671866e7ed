//! `drystone view`: opens a scene in the interactive window of `drystone_view`.

use std::path::PathBuf;

use clap::Args;
use drystone_scenes::{SavedWorld, SavedWorldError};
use drystone_view as view;
use drystone_view::{ViewBackend, ViewError};

use super::failure::{Code, Failure};
use super::number::{self, whole};

/// Open an interactive window on a scene
///
/// Press ? in the window for its keys. Drag bodies with the mouse. A scene file is reloaded whenever it changes.
#[derive(Args, Debug)]
pub struct ViewOptions {
    /// A scene file (.json, .ron), a saved world (.snap), or a built-in scene with parameters, such as
    /// large_pyramid:base=20
    #[arg(default_value = "large_pyramid:base=40,drop=2")]
    scene: String,
    /// Backend; can be changed in the window
    #[arg(long, value_enum, default_value_t)]
    backend: super::backend::Backend,
    /// Threads of the CPU backend [default: all cores]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole::<u32>(1..=256))]
    threads: Option<u32>,
    /// Start paused
    #[arg(long)]
    paused: bool,
    /// Let bodies sleep only if the scene says so
    #[arg(long)]
    no_sleep: bool,
    /// Size of the window in logical pixels, 360x300 to 8192x8192 [default: the last size]
    #[arg(long, value_name = "WxH", value_parser = number::window_size)]
    size: Option<(u32, u32)>,
    /// Dark colours, regardless of the saved preference
    #[arg(long)]
    dark: bool,
    /// Ignore saved preferences, and save none
    #[arg(long)]
    fresh: bool,
    /// Run a script instead of reading mouse and keyboard; an unknown word lists all script commands
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,
    /// Run for this many seconds, then print the frame rate and the pointer latency
    #[arg(long, value_name = "SECONDS", hide = true)]
    measure: Option<f64>,
}

/// Runs the window until it is closed.
///
/// # Errors
/// No display, no adapter, or an invalid scene.
pub fn run(options: &ViewOptions) -> Result<(), Failure> {
    // An invalid scene is reported with its location in the file before a window opens.
    let path = std::path::Path::new(&options.scene);
    let scene = if super::source::is_saved_world(path) {
        let wrong = |error| Failure::usage(format_args!("{}: {error}", path.display()));
        let saved = SavedWorld::read(path).map_err(|error| match error {
            SavedWorldError::OnlyState => {
                wrong(error).hint("`drystone run SCENE --resume FILE` continues it, and --save then includes its scene")
            }
            error => wrong(error),
        })?;
        saved.scene
    } else {
        super::source::load(&options.scene)?.scene
    };
    scene.check().map_err(Failure::usage)?;
    let settings = view::WindowOptions {
        scene: view::WindowScene::Spec(options.scene.clone()),
        backend: match options.backend {
            super::backend::Backend::Auto => ViewBackend::Auto,
            super::backend::Backend::Gpu => ViewBackend::Gpu,
            super::backend::Backend::Cpu => ViewBackend::Cpu,
        },
        threads: options.threads.map_or_else(super::backend::default_threads, |n| n as usize),
        paused: options.paused,
        sleep: !options.no_sleep,
        size: options.size.map(|(width, height)| [width, height]),
        dark: options.dark.then_some(true),
        remember: !options.fresh,
        script: options.script.clone(),
        measure: options.measure,
    };
    // Standard input can be read only once.
    let settings = if options.scene == "-" {
        view::WindowOptions { scene: view::WindowScene::Given(Box::new(scene)), ..settings }
    } else {
        settings
    };
    view::run(settings).map_err(|error| match &error {
        ViewError::Adapter(_) => {
            Failure::new(Code::NoGpu, format_args!("the window needs a graphics adapter: {error}")).hint(
                "Debian's mesa-vulkan-drivers contains a software adapter; `drystone run --picture` needs no adapter",
            )
        }
        ViewError::Display(_) => {
            Failure::usage(&error).hint("`drystone run SCENE --picture F.png` and `--movie F.gif` need no display")
        }
        ViewError::Scene(_) => Failure::usage(&error),
        ViewError::Script(_) | ViewError::World(_) => Failure::new(Code::Check, &error),
    })
}
