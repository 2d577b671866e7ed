//! Box2D and Rapier on Drystone's scenes: run for `drystone bench`, or compared with Drystone by what comes out.

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
    /// Run what `drystone bench` asks for on standard input
    Serve,
    /// What comes out of Box2D and of Drystone (rest heights, joints' errors, tumbling), next to stated bounds
    Quality {
        /// Only of scenes whose name holds this
        #[arg(long, value_name = "TEXT")]
        only: Option<String>,
        /// Write it to this file
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
