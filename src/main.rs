//! The `drystone` command. It only dispatches; see [`cli`].

mod cli;

fn main() -> std::process::ExitCode {
    cli::main()
}
