//! Places of panics in messages, without paths of the machine that built this.

use std::panic::PanicHookInfo;

/// Returns the message of a panic and its place in the code.
pub fn describe(info: &PanicHookInfo<'_>) -> (String, String) {
    let message = info.payload_as_str().unwrap_or("no message").to_owned();
    let place = info.location().map(|location| place(location.file(), location.line())).unwrap_or_default();
    (message, place)
}

/// Returns the place of a line as crate, module and line: `drystone-serve api::worlds, line 12`.
fn place(file: &str, line: u32) -> String {
    let file = file.replace('\\', "/");
    let file = file.strip_suffix(".rs").unwrap_or(&file);
    let (before, module) = match file.rfind("/src/") {
        Some(at) => (&file[..at], &file[at + 5..]),
        // A path within the workspace.
        None => match file.strip_prefix("src/") {
            Some(module) => ("drystone", module),
            None => file.rsplit_once('/').map_or(("", file), |(_, name)| ("", name)),
        },
    };
    let of_crate = before.rsplit('/').next().unwrap_or_default();
    let module = module.strip_suffix("/mod").unwrap_or(module).replace('/', "::");
    format!("{of_crate} {module}, line {line}").trim_start().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_named_without_folders_of_the_build() {
        for (file, wanted) in [
            ("src/gpu/context.rs", "drystone gpu::context, line 7"),
            ("crates/drystone-serve/src/api/mod.rs", "drystone-serve api, line 7"),
            (
                "/root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/wgpu-30.0.1/src/lib.rs",
                "wgpu-30.0.1 lib, line 7",
            ),
            ("/rustc/59807616e1b2/library/core/src/option.rs", "core option, line 7"),
            (r"C:\Users\me\drystone\crates\drystone-cli\src\run.rs", "drystone-cli run, line 7"),
            ("/build/target/out/generated.rs", "generated, line 7"),
        ] {
            assert_eq!(place(file, 7), wanted);
        }
    }

    /// The message of a real panic of this crate and of the standard library.
    #[test]
    fn panics_are_described() {
        let described = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
        let (keep, before) = (described.clone(), std::panic::take_hook());
        std::panic::set_hook(Box::new(move |info| {
            keep.lock().unwrap().push((describe(info), info.location().map(ToString::to_string)));
        }));
        let fails = std::panic::catch_unwind(|| panic!("on purpose {}", 1));
        std::panic::set_hook(before);
        assert!(fails.is_err());
        let described = described.lock().unwrap();
        // Other tests of this process may panic on purpose as well.
        let ((_, place), raw) = described.iter().find(|((message, _), _)| message == "on purpose 1").unwrap();
        assert!(place.starts_with("drystone-cli bug, line "), "{place}");
        // The control: as the standard library writes it.
        assert!(raw.as_ref().unwrap().contains("src/bug.rs:"), "{raw:?}");
    }
}
