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
pub enum ModeName {
    /// Soft contacts with substeps and a relaxing sweep (Box2D's Soft Step)
    Soft,
    /// Sequential impulses with Baumgarte stabilisation; not for large stacks: 5,050 boxes blow apart
    Baumgarte,
    /// Sequential impulses with a projection of positions; not for joints that turn freely: they lose momentum
    Projection,
}

impl Overrides {
    /// Applies the options to a scene.
    pub fn apply(&self, scene: &mut Scene) {
        let settings = &mut scene.settings;
        settings.substeps = self.substeps.or(settings.substeps);
        settings.sleep |= self.sleep;
        settings.mode = self.mode.map_or(settings.mode, Mode::from);
    }
}

impl From<ModeName> for Mode {
    fn from(name: ModeName) -> Self {
        match name {
            ModeName::Soft => Self::Soft,
            ModeName::Baumgarte => Self::Baumgarte,
            ModeName::Projection => Self::Projection,
        }
    }
}
