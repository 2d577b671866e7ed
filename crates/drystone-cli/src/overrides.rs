//! Settings that the command line takes over from the scene.

use clap::{Args, ValueEnum};
use drystone::{Mode, Scene};

/// Options of several commands.
#[derive(Args, Debug)]
pub struct Overrides {
    /// Substeps a step, 1 to 64, instead of the scene's
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    substeps: Option<u32>,
    /// Equations to solve, instead of the scene's
    #[arg(long, value_enum)]
    mode: Option<ModeName>,
    /// Let bodies at rest fall asleep, until something touches them
    #[arg(long)]
    sleep: bool,
}

/// `--mode`.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum ModeName {
    /// Soft contacts in substeps, then a relaxing sweep (Box2D's)
    Soft,
    /// Sequential impulses with Baumgarte's bias
    Baumgarte,
    /// Sequential impulses, then a projection of the positions
    Projection,
}

impl Overrides {
    /// Changes the scene.
    pub fn apply(&self, scene: &mut Scene) {
        let settings = &mut scene.settings;
        settings.substeps = self.substeps.or(settings.substeps);
        settings.sleep |= self.sleep;
        settings.mode = match self.mode {
            None => settings.mode,
            Some(ModeName::Soft) => Mode::Soft,
            Some(ModeName::Baumgarte) => Mode::Baumgarte,
            Some(ModeName::Projection) => Mode::Projection,
        };
    }
}
