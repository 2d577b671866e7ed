//! Options that override settings of the scene.

use clap::{Args, ValueEnum};
use drystone::{Mode, Scene};

use super::number::whole;

/// Options shared by several commands.
#[derive(Args, Debug)]
pub struct Overrides {
    /// Substeps per step, 1 to 64, instead of the scene's
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole::<u32>(1..=64))]
    substeps: Option<u32>,
    /// Solver, instead of the scene's
    #[arg(long, value_enum)]
    mode: Option<ModeName>,
    /// Let resting bodies sleep until something touches them
    #[arg(long)]
    sleep: bool,
}

/// Value of `--mode`.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum ModeName {
    /// Soft contacts with substeps and a relaxing sweep (Box2D's Soft Step)
    Soft,
    /// Sequential impulses with Baumgarte stabilisation
    Baumgarte,
    /// Sequential impulses with a projection of positions
    Projection,
}

impl Overrides {
    /// Applies the options to a scene.
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
