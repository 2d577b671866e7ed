//! Keeps graphics drivers quiet where there is no display.

/// Variable that switches off the layer of Mesa's Vulkan drivers that asks the display for its GPU.
#[cfg(target_os = "linux")]
const NO_DEVICE_SELECT: &str = "NODEVICE_SELECT";

/// Restarts this process, once, without the layer that asks the display for its GPU, if there is no display: the layer
/// would write "`XDG_RUNTIME_DIR` is invalid" to standard error each time that adapters are listed. Adapters are ranked
/// here in any case. If the process cannot be restarted it goes on, and the lines are written.
#[cfg(target_os = "linux")]
pub fn keep_quiet() {
    use std::os::unix::process::CommandExt;
    use std::path::Path;

    let is_set = |name: &str| std::env::var_os(name).is_some();
    let is_path = |name: &str| std::env::var_os(name).is_some_and(|path| Path::new(&path).is_absolute());
    let has_display = is_set("DISPLAY") || is_set("WAYLAND_SOCKET") || is_path("WAYLAND_DISPLAY");
    if is_set(NO_DEVICE_SELECT) || has_display || is_path("XDG_RUNTIME_DIR") {
        return;
    }
    let Ok(program) = std::env::current_exe() else { return };
    let mut arguments = std::env::args_os();
    let mut command = std::process::Command::new(program);
    if let Some(name) = arguments.next() {
        command.arg0(name);
    }
    // Returns only if it fails.
    let _ = command.args(arguments).env(NO_DEVICE_SELECT, "1").exec();
}

/// Does nothing: only Mesa's drivers on Linux write to standard error without a display.
#[cfg(not(target_os = "linux"))]
pub fn keep_quiet() {}
