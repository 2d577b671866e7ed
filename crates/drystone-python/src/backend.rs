//! Selection of the backend: `auto`, `cpu` or `gpu`.

use std::sync::{Mutex, PoisonError};

use drystone::low_level::gpu::is_software;
use drystone::{AdapterChoice, Context};

use crate::call::CallError;

/// Backend that the caller asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackendWish {
    /// Hardware GPU if there is one, else the CPU.
    Auto,
    /// CPU.
    Cpu,
    /// GPU, or a software adapter, which is then named as such.
    Gpu,
}

/// Device, or the reason why there is none.
type DeviceSearch = Result<Context, String>;

/// Devices found so far: of hardware alone, and of any kind. A device takes a tenth of a second to open, and worlds on
/// the same one share its kernels.
static DEVICES: [Mutex<Option<DeviceSearch>>; 2] = [const { Mutex::new(None) }; 2];

impl BackendWish {
    /// Returns the backend with a name.
    ///
    /// # Errors
    /// The name is none of the three.
    pub fn named(name: &str) -> Result<Self, CallError> {
        match name {
            "auto" => Ok(Self::Auto),
            "cpu" => Ok(Self::Cpu),
            "gpu" => Ok(Self::Gpu),
            _ => Err(CallError::argument("backend", format!("is {name:?}"), "\"auto\", \"cpu\" or \"gpu\"")),
        }
    }

    /// Returns the device to use; `None` for the CPU.
    ///
    /// # Errors
    /// A GPU was asked for and there is none.
    pub fn device(self) -> Result<Option<Context>, CallError> {
        match self {
            Self::Cpu => Ok(None),
            Self::Auto => Ok(open(AdapterChoice::Hardware).ok()),
            Self::Gpu => open(AdapterChoice::Any)
                .map(Some)
                .map_err(|reason| CallError::Device(format!("{reason}; backend=\"cpu\" needs no GPU"))),
        }
    }
}

fn open(choice: AdapterChoice) -> DeviceSearch {
    let mut known = DEVICES[usize::from(choice == AdapterChoice::Any)].lock().unwrap_or_else(PoisonError::into_inner);
    let is_lost = matches!(&*known, Some(Ok(context)) if context.check().is_err());
    if known.is_none() || is_lost {
        *known = Some(Context::new(choice).map_err(|error| error.to_string()));
    }
    known.clone().unwrap_or_else(|| Err("no device was looked for".to_owned()))
}

/// Returns the name of a device. A software adapter is never called a GPU.
pub fn describe(context: &Context) -> String {
    let info = context.info();
    if is_software(info) { format!("software adapter {}, not a GPU", info.name) } else { info.name.clone() }
}

/// Returns the number of threads to use on the CPU.
///
/// # Errors
/// The caller asks for none, or for more than 256.
pub fn threads(asked: Option<i64>) -> Result<usize, CallError> {
    let available = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let Some(asked) = asked else { return Ok(available()) };
    let count = usize::try_from(asked).ok().filter(|count| (1..=256).contains(count));
    count.ok_or_else(|| CallError::argument("threads", format!("is {asked}"), "1 to 256"))
}
