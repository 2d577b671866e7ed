//! `drystone serve`: starts the HTTP and WebSocket service of `drystone_serve`.

use std::io::{ErrorKind, IsTerminal};
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;

use clap::Args;
use drystone::AdapterChoice;
use drystone_serve as serve;
use drystone_serve::{Config, Device, ServeError};

use super::backend::{self, Backend, BackendChoice, BackendInfo};
use super::console;
use super::failure::{Code, Failure};
use super::number::whole;

/// Serve worlds over HTTP and WebSocket, and store them on disk
///
/// Open the printed address in a browser to create and watch a world. For programs: /api/openapi.json describes the
/// API, and python/ contains a client.
#[derive(Args, Debug)]
#[command(after_long_help = MORE)]
pub struct ServeOptions {
    /// Address and port [default: 127.0.0.1:7878]; all but loopback addresses require a token. Port 0 selects a free
    /// port
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    listen: Option<SocketAddr>,
    /// Folder for the worlds [default: drystone-worlds], s3://BUCKET/PREFIX, or memory, which is lost on exit
    #[arg(long, value_name = "LOCATION")]
    store: Option<String>,
    /// Settings file (TOML)
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Backend of the worlds; auto is a hardware GPU if available, else the CPU
    #[arg(long, value_enum, default_value_t)]
    backend: Backend,
    /// Threads per world on the CPU; worlds run in parallel, so one is enough if there are many
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true,
        value_parser = whole::<u32>(1..=1024))]
    threads: u32,
    /// Print the resulting settings as TOML and exit
    #[arg(long)]
    print_config: bool,
}

/// Parses an address with a port, also by the name of the host.
fn address(text: &str) -> Result<SocketAddr, String> {
    let named = || text.to_socket_addrs().ok().and_then(|mut found| found.next());
    let expected = "expected an address and a port, such as 127.0.0.1:7878 or localhost:7878";
    text.parse().ok().or_else(named).ok_or_else(|| expected.to_owned())
}

/// Text below the options. Each paragraph is one line, which clap wraps to the width of the terminal.
const MORE: &str = "\
Settings are read from the file of --config, then from the environment, then from the command line; later values win. \
Every key of the file has a variable: DRYSTONE_STORE, DRYSTONE_LIMITS_BODIES, DRYSTONE_LOG_FORMAT (text or json), \
DRYSTONE_LOG_LEVEL. `drystone serve --print-config` shows all keys with their defaults.

A token: DRYSTONE_TOKEN, or in the file
  [[tokens]]
  name = \"lab\"
  token = \"at least sixteen characters\"
Clients send it as `Authorization: Bearer TOKEN`. A world belongs to the token that created it and is invisible to other tokens, \
except those with `admin = true`. SIGHUP reloads the tokens of --config. For TLS use a reverse proxy; deploy/ contains \
one.

S3-compatible object stores need a build with the feature s3. Settings missing in the section [s3] of the \
file are taken from the usual variables: AWS_REGION, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_ENDPOINT_URL.

SIGTERM and Ctrl-C save all worlds and stop the service; a restart continues them. A killed service loses \
nothing that it has acknowledged.";

/// Runs the command.
///
/// # Errors
/// Invalid settings, no backend, or a store or address that cannot be used.
pub fn run(options: &ServeOptions) -> Result<(), Failure> {
    let environment: Vec<(String, String)> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    let file = options.config.clone();
    let load = move || Config::load(file.as_deref(), &environment);
    let mut config = load()?;
    if let Some(listen) = options.listen {
        config.listen = listen;
    }
    if let Some(store) = &options.store {
        config.store.clone_from(store);
    }
    config.check()?;
    if options.print_config {
        return console::print(&config.to_toml());
    }
    let (device, about) = match backend::choose(options.backend)? {
        BackendChoice::Cpu { reason } => {
            let threads = options.threads as usize;
            (Device::cpu(threads), BackendInfo::cpu(threads, reason))
        }
        BackendChoice::Gpu { context, reason } => {
            let about = BackendInfo::gpu(&context, reason);
            let choice = if options.backend == Backend::Auto { AdapterChoice::Hardware } else { AdapterChoice::Any };
            (Device::gpu(context, choice), about)
        }
    };
    log_to(&config);
    // A panic in one world must not end the others.
    std::panic::set_hook(Box::new(|info| {
        let (message, place) = super::bug::describe(info);
        serve::log_bug(&message, &place);
    }));
    console::note(&format!("worlds run on {}", about.used()));
    let reload = options.config.as_ref().map(|_| Box::new(load) as serve::Reload);
    serve::run(config, device, reload, |address| console::note(&format!("listening on http://{address}")))?;
    Ok(())
}

fn log_to(config: &Config) {
    let level = config.level().unwrap_or(serve::Level::INFO);
    let has_colors =
        std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let builder = serve::log_builder().with_max_level(level).with_ansi(has_colors).with_writer(std::io::stderr);
    // Fails only if a logger is installed already.
    let _ = if config.log.format == "json" { builder.json().with_target(true).try_init() } else { builder.try_init() };
}

/// Returns what helps against an address that cannot be used.
fn remedy(error: &ServeError) -> Option<String> {
    let ServeError::Listen { address, source } = error else { return None };
    let free = SocketAddr::new(address.ip(), 0);
    match source.kind() {
        ErrorKind::AddrInUse => Some(format!(
            "another program listens there, perhaps a service that you started before: stop it, or choose another \
             port; `--listen {free}` takes a free one"
        )),
        ErrorKind::PermissionDenied => {
            Some(format!("ports below 1024 need rights; choose another one, or `--listen {free}` for a free one"))
        }
        ErrorKind::AddrNotAvailable => {
            Some("this machine has no such address; 0.0.0.0 is all of its addresses, 127.0.0.1 the local one".into())
        }
        _ => None,
    }
}

impl From<ServeError> for Failure {
    fn from(error: ServeError) -> Self {
        let code =
            if matches!(error, ServeError::System(_) | ServeError::Taken(_)) { Code::Check } else { Code::Usage };
        let hint = remedy(&error);
        let failure = Self::new(code, error);
        if let Some(hint) = hint { failure.hint(hint) } else { failure }
    }
}
