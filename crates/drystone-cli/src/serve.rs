//! `drystone serve`: the service.

use std::io::IsTerminal;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use drystone::AdapterChoice;
use drystone_serve as serve;
use drystone_serve::{Config, Device, ServeError};

use super::backend::{self, About, Backend, Choice};
use super::console;
use super::failure::{Code, Failure};

/// Serve worlds over HTTP and WebSocket, and keep them on disk
///
/// Open the address it prints in a browser to make a world and watch it. Programs: /api/openapi.json describes the
/// API, python/ has a client.
#[derive(Args, Debug)]
#[command(after_long_help = MORE)]
pub struct Options {
    /// Address and port [default: 127.0.0.1:7878]; any but a loopback address demands a token. Port 0 takes a free one
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
    /// Folder for the worlds [default: drystone-worlds], or s3://BUCKET/PREFIX, or memory, which forgets them at the end
    #[arg(long, value_name = "PLACE")]
    store: Option<String>,
    /// Settings, as TOML
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// What worlds run on; auto is a hardware GPU if there is one, else the CPU
    #[arg(long, value_enum, default_value_t)]
    backend: Backend,
    /// Threads of each world on the CPU; worlds run side by side, so one is enough for many
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    threads: u32,
    /// Print the settings that result from all of the above, as TOML, and exit
    #[arg(long)]
    print_config: bool,
}

/// Text below the options. A paragraph is one line, which is wrapped to the width of the terminal.
const MORE: &str = "\
Settings come from the file of --config, then from the environment, then from the command line, each over the one before. \
Every key of the file has a variable: DRYSTONE_STORE, DRYSTONE_LIMITS_BODIES, DRYSTONE_LOG_FORMAT (text or json), \
DRYSTONE_LOG_LEVEL. `drystone serve --print-config` shows all keys with their defaults.

A token: DRYSTONE_TOKEN, or in the file
  [[tokens]]
  name = \"lab\"
  token = \"at least sixteen characters\"
Clients send it as `Authorization: Bearer TOKEN`. A world belongs to the token that made it: other tokens do not see it, \
except one with `admin = true`. SIGHUP reads the tokens of --config again. For TLS put a reverse proxy in front; deploy/ has \
one.

A bucket of an object store that speaks S3, in a build with the feature s3: settings that are not in the section [s3] of the \
file come from the usual variables: AWS_REGION, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_ENDPOINT_URL.

SIGTERM and Ctrl-C write all worlds out and end the service; a restart goes on with them. A service that is killed loses \
nothing that it has acknowledged.";

/// Runs the command.
///
/// # Errors
/// Bad settings, no backend, a store or an address that cannot be used.
pub fn run(options: &Options) -> Result<(), Failure> {
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
        Choice::Cpu { reason } => {
            let threads = options.threads as usize;
            (Device::cpu(threads), About::cpu(threads, reason))
        }
        Choice::Gpu { context, reason } => {
            let about = About::gpu(&context, reason);
            let choice = if options.backend == Backend::Auto { AdapterChoice::Hardware } else { AdapterChoice::Any };
            (Device::gpu(context, choice), about)
        }
    };
    log_to(&config);
    // A bug in one world is not the end of the others.
    std::panic::set_hook(Box::new(|info| {
        let message = info.payload_as_str().unwrap_or("no message");
        let place = info.location().map(ToString::to_string).unwrap_or_default();
        serve::log_bug(message, &place);
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
    // Fails only if one is installed already.
    let _ = if config.log.format == "json" { builder.json().with_target(true).try_init() } else { builder.try_init() };
}

impl From<ServeError> for Failure {
    fn from(error: ServeError) -> Self {
        let code =
            if matches!(error, ServeError::System(_) | ServeError::Taken(_)) { Code::Check } else { Code::Usage };
        Self::new(code, error)
    }
}
