//! `drystone view`: the window.

use std::path::PathBuf;

use clap::Args;
use drystone_scenes::{SavedWorld, SavedWorldError};
use drystone_view as view;
use drystone_view::{Backend, ViewError};

use super::failure::{Code, Failure};

/// Open a window on a scene: run it, grab it, take it apart
///
/// Press ? in the window for its keys. A file is opened anew whenever it changes.
#[derive(Args, Debug)]
pub struct Options {
    /// A scene file (.json, .ron), a saved world (.snap), or a built-in scene with parameters, such as large_pyramid:base=20
    #[arg(default_value = "large_pyramid:base=40")]
    scene: String,
    /// Backend to run on; the window can change it later
    #[arg(long, value_enum, default_value_t)]
    backend: super::backend::Backend,
    /// Threads of the CPU backend [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    threads: Option<u32>,
    /// Start paused
    #[arg(long)]
    paused: bool,
    /// Let no body sleep unless the scene says so
    #[arg(long)]
    no_sleep: bool,
    /// Dark colours, whatever was chosen last
    #[arg(long)]
    dark: bool,
    /// Forget what was chosen last, and remember nothing
    #[arg(long)]
    fresh: bool,
    /// Does what a file says instead of what a user does; for tests and pictures
    #[arg(long, value_name = "FILE", hide = true)]
    script: Option<PathBuf>,
    /// Runs for so many seconds and tells how many frames there were and how soon the pointer was followed
    #[arg(long, value_name = "SECONDS", hide = true)]
    measure: Option<f64>,
}

/// Runs it until the window is closed.
///
/// # Errors
/// No display, no adapter, or the scene is wrong.
pub fn run(options: &Options) -> Result<(), Failure> {
    // A scene that is wrong is told with its place in the file, before any window is there.
    let path = std::path::Path::new(&options.scene);
    let scene = if super::source::is_saved_world(path) {
        let wrong = |error| Failure::usage(format_args!("{}: {error}", path.display()));
        let saved = SavedWorld::read(path).map_err(|error| match error {
            SavedWorldError::OnlyState => wrong(error)
                .hint("`drystone run SCENE --resume FILE` goes on with it, and --save writes it with its scene"),
            error => wrong(error),
        })?;
        saved.scene
    } else {
        super::source::load(&options.scene)?.scene
    };
    scene.check().map_err(Failure::usage)?;
    let settings = view::Options {
        scene: view::Scene::Spec(options.scene.clone()),
        backend: match options.backend {
            super::backend::Backend::Auto => Backend::Auto,
            super::backend::Backend::Gpu => Backend::Gpu,
            super::backend::Backend::Cpu => Backend::Cpu,
        },
        threads: options.threads.map_or_else(super::backend::default_threads, |n| n as usize),
        paused: options.paused,
        sleep: !options.no_sleep,
        dark: options.dark.then_some(true),
        remember: !options.fresh,
        script: options.script.clone(),
        measure: options.measure,
    };
    // Standard input can be read once.
    let settings = if options.scene == "-" {
        view::Options { scene: view::Scene::Given(Box::new(scene)), ..settings }
    } else {
        settings
    };
    view::run(settings).map_err(|error| match &error {
        ViewError::Adapter(_) => {
            Failure::new(Code::NoGpu, format_args!("the window needs something to draw with: {error}"))
                .hint("Debian's mesa-vulkan-drivers has a software adapter; `drystone run --picture` needs none")
        }
        ViewError::Display(_) => {
            Failure::usage(&error).hint("`drystone run SCENE --picture F.png` and `--movie F.gif` need no display")
        }
        ViewError::Scene(_) => Failure::usage(&error),
        ViewError::Script(_) | ViewError::World(_) => Failure::new(Code::Check, &error),
    })
}
