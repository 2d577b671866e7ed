//! The `drystone` command line: parses arguments and dispatches to one file per subcommand (`run`, `validate`, `bench`,
//! `scenes`, `lab`, `export`, `info`, `view`, `serve`); the other files are shared by several of them.

mod backend;
mod bench;
mod bug;
mod console;
mod drivers;
mod energy;
mod export;
mod failure;
mod info;
mod lab;
mod npz;
mod number;
mod output;
mod overrides;
mod picture;
mod progress;
mod report;
mod run;
mod scenes;
mod series;
#[cfg(feature = "serve")]
mod serve;
mod snapshot;
mod source;
mod stop;
mod validate;
#[cfg(feature = "view")]
mod view;
mod worlds;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use drystone_scenes::time;

use failure::{Code, Failure};

/// Text printed by `drystone` without arguments.
const WELCOME: &str = "\
Drystone simulates rigid bodies in 2D, on the GPU or the CPU.

Three commands to try:
  drystone run large_pyramid             simulate 5,050 boxes and print a summary
  drystone view tumbler                  watch a turning drum with 2,025 boxes, and grab them
  drystone scenes                        list the built-in scenes

`drystone help` lists all commands, `drystone help run` the options of one.
";

/// Exit codes, printed below the help.
const EXIT_CODES: &str = "\
Exit codes: 0 success; 1 a check or the simulation failed; 2 invalid usage or input;
3 no usable GPU although one was required; 70 internal error; 74 a file could not be written;
130 interrupted";

/// Simulates rigid bodies in 2D, on the GPU or the CPU
#[derive(Debug, Parser)]
#[command(name = "drystone", version, after_help = EXIT_CODES, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Option<CliCommand>,
}

#[derive(Debug, Subcommand)]
enum CliCommand {
    Run(Box<run::RunOptions>),
    Validate(validate::ValidateOptions),
    Bench(Box<bench::BenchOptions>),
    Scenes(scenes::ScenesOptions),
    Lab(lab::LabOptions),
    Export(export::ExportOptions),
    Info(info::InfoOptions),
    #[cfg(feature = "view")]
    View(Box<view::ViewOptions>),
    #[cfg(not(feature = "view"))]
    #[command(hide = true, disable_help_flag = true)]
    View(Later),
    #[cfg(feature = "serve")]
    Serve(serve::ServeOptions),
    #[cfg(not(feature = "serve"))]
    #[command(hide = true, disable_help_flag = true)]
    Serve(Later),
}

/// Ignored arguments of a command that this build does not have.
#[cfg(not(all(feature = "view", feature = "serve")))]
#[derive(Debug, clap::Args)]
struct Later {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    _rest: Vec<std::ffi::OsString>,
}

/// Runs the command line of this process and returns its exit code.
pub fn main() -> ExitCode {
    std::panic::set_hook(Box::new(report_bug));
    failure::install_theme();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return show(&error),
    };
    match dispatch(cli.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.print();
            ExitCode::from(failure.code as u8)
        }
    }
}

fn dispatch(command: Option<CliCommand>) -> Result<(), Failure> {
    if !matches!(command, None | Some(CliCommand::Scenes(_))) {
        drivers::keep_quiet();
    }
    match command {
        None => console::print(WELCOME),
        Some(CliCommand::Run(options)) => run::run(&options),
        Some(CliCommand::Validate(options)) => validate::run(&options),
        Some(CliCommand::Bench(options)) => bench::run(&options),
        Some(CliCommand::Scenes(options)) => scenes::run(&options),
        Some(CliCommand::Lab(options)) => lab::run(&options),
        Some(CliCommand::Export(options)) => export::run(&options),
        Some(CliCommand::Info(options)) => info::run(&options),
        #[cfg(feature = "view")]
        Some(CliCommand::View(options)) => view::run(&options),
        #[cfg(not(feature = "view"))]
        Some(CliCommand::View(_)) => Err(Failure::usage("this build has no `drystone view`")),
        #[cfg(feature = "serve")]
        Some(CliCommand::Serve(options)) => serve::run(&options),
        #[cfg(not(feature = "serve"))]
        Some(CliCommand::Serve(_)) => Err(Failure::usage("this build has no `drystone serve`")
            .hint("build it with `cargo build --release --features serve`")),
    }
}

/// Prints help and version to standard output with exit code 0, usage errors to standard error with 2.
fn show(error: &clap::Error) -> ExitCode {
    // A closed terminal cannot be helped.
    let _ = error.print();
    if error.use_stderr() { ExitCode::from(Code::Usage as u8) } else { ExitCode::SUCCESS }
}

/// Prints a panic as one line with its location, without a backtrace, and exits: a panic is always a bug.
fn report_bug(info: &std::panic::PanicHookInfo<'_>) {
    let (message, place) = bug::describe(info);
    console::note(&format!(
        "bug in drystone {}: {message} ({place}); please report this line with the command you ran",
        env!("CARGO_PKG_VERSION")
    ));
    stop::exit_now(Code::Bug)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_line_is_consistent() {
        <Cli as clap::CommandFactory>::command().debug_assert();
    }
}
