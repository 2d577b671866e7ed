//! Runs Box2D and Rapier on Drystone's scenes, for `drystone bench` or to compare their results with Drystone's.

mod box2d;
mod push;
mod rapier;
mod serve;
mod side_by_side;

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::{Parser, Subcommand};

/// Box2D and Rapier on Drystone's scenes
#[derive(Debug, Parser)]
#[command(version, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
#[allow(clippy::doc_markdown, reason = "the help is plain text")]
enum Command {
    /// Run the jobs that `drystone bench` sends on standard input
    Serve,
    /// Compare results of Box2D and Drystone (rest heights, joint errors, tumbling) with stated bounds
    Quality {
        /// Compare only scenes whose name contains this text
        #[arg(long, value_name = "TEXT")]
        only: Option<String>,
        /// Write the results to this file (.json)
        #[arg(long, value_name = "FILE")]
        json: Option<PathBuf>,
    },
}

fn main() -> Result<()> {
    match Arguments::parse().command {
        Command::Serve => serve::serve(std::io::stdin().lock(), std::io::stdout().lock()),
        Command::Quality { only, json } => {
            let outcomes = side_by_side::compare(only.as_deref())?;
            println!("{}", side_by_side::table(&outcomes));
            if let Some(path) = json {
                let text = serde_json::to_string_pretty(&outcomes)?;
                std::fs::write(&path, text + "\n").with_context(|| path.display().to_string())?;
            }
            Ok(())
        }
    }
}
