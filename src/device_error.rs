//! Errors of a GPU device: lost, out of memory, or a refused call.

/// Error of a GPU device.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeviceError {
    /// The device is lost: driver reset, unplugged, destroyed. Worlds on it cannot continue; a snapshot taken before
    /// can be restored on another device or the CPU.
    #[error("the device is lost: {0}")]
    Lost(String),
    /// The device has no memory left.
    #[error("out of device memory: {0}")]
    OutOfMemory(String),
    /// A call was refused.
    #[error("refused by the device: {0}")]
    Validation(String),
}
