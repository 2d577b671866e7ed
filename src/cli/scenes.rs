//! `drystone scenes`: the catalogue.

use std::path::PathBuf;

use super::failure::Failure;

/// List the built-in scenes, or show one with its parameters
#[derive(clap::Args, Debug)]
pub struct Options {
    /// One scene, with or without parameters
    name: Option<String>,
    /// Write it as a scene file (.json)
    #[arg(long, value_name = "FILE", requires = "name")]
    write: Option<PathBuf>,
}

/// Runs the command.
///
/// # Errors
/// No such scene; the file cannot be written.
pub fn run(_options: &Options) -> Result<(), Failure> {
    Ok(())
}
