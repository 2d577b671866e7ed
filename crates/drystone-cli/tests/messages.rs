//! Messages of the command: no path of the machine that built it, and nothing of graphics drivers without a display.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::build_paths::build_paths;
use crate::{drystone, finished, folder, run_in};

/// Files of a folder with which something is wrong, by their names.
fn broken_files(folder: &Path) -> Vec<&'static str> {
    let well = r#"{ "version": 1, "bodies": [ { "shapes": [ { "circle": { "radius": 1 } } ] } ] }"#;
    let files: [(&str, Vec<u8>); 12] = [
        ("syntax.json", br#"{ "version": 1, "bodies": [ }"#.to_vec()),
        ("empty.json", Vec::new()),
        ("word.json", b"hello".to_vec()),
        ("binary.json", vec![0xff, 0xfe, 0x00, 0x80]),
        ("version.json", well.replace("1,", "77,").into_bytes()),
        ("key.json", well.replace("shapes", "shape").into_bytes()),
        ("value.json", well.replace(": 1 }", ": -1 }").into_bytes()),
        ("type.json", well.replace(": 1 }", ": [] }").into_bytes()),
        ("deep.json", "[".repeat(10_000).into_bytes()),
        ("syntax.ron", b"(version: 1, bodies: [".to_vec()),
        ("key.ron", b"(version: 1, bodies: [(shape: [])])".to_vec()),
        ("saved.snap", b"no saved world".to_vec()),
    ];
    for (name, bytes) in &files {
        fs::write(folder.join(name), bytes).expect("writable");
    }
    fs::create_dir(folder.join("folder.json")).expect("writable");
    files.iter().map(|(name, _)| *name).chain(["folder.json", "missing.json"]).collect()
}

/// Commands that fail, or that say something on standard error. `serve` and `view` end at once with these.
const COMMANDS: [&str; 38] = [
    "run",
    "run tumblr",
    "run tumbler:grid=-1",
    "run tumbler:grid=x",
    "run tumbler:colour=3",
    "run large_pyramid:base=100000",
    "run large_pyramid --steps -1",
    "run large_pyramid --substeps 900",
    "run large_pyramid --wind 3",
    "run large_pyramid --backend tpu",
    "run large_pyramid:base=3 --steps 1 --backend cpu --picture no/such/folder.png",
    "run large_pyramid:base=3 --steps 1 --backend cpu --picture a.bmp",
    "run large_pyramid:base=3 --steps 1 --backend cpu --movie no/such/folder.gif",
    "run large_pyramid:base=3 --steps 1 --backend cpu --json no/such/folder.json",
    "run large_pyramid:base=3 --steps 1 --backend cpu --trace folder.json",
    "run large_pyramid:base=3 --steps 1 --backend cpu --picture a.png --view 1,2,3",
    "run large_pyramid:base=3 --steps 1 --backend cpu --hash=0000",
    "run large_pyramid:base=3 --steps 1 --backend gpu --layers contacts --picture a.png",
    "run --resume missing.snap",
    "run --resume saved.snap",
    "run --resume syntax.json",
    "validate",
    "validate tumblr",
    "validate --scenes tumblr",
    "bench --scenes tumblr",
    "bench --backends abacus",
    "bench --compare missing.json",
    "bench --compare syntax.json",
    "scenes tumblr",
    "info --what",
    "view tumblr",
    "view syntax.json",
    "view tumbler",
    "view saved.snap",
    "serve --listen nowhere",
    "serve --listen 127.0.0.1:0 --store value.json",
    "serve --config missing.toml",
    "serve --config syntax.json",
];

#[test]
fn no_message_has_a_path_of_the_build() {
    let folder = folder();
    let files = broken_files(folder.path());
    let mut failed = 0;
    let of_files = files.iter().flat_map(|name| [format!("run {name} --steps 1"), format!("view {name}")]);
    for arguments in COMMANDS.into_iter().map(str::to_owned).chain(of_files) {
        let mut command = drystone(folder.path());
        command.args(arguments.split_whitespace());
        for name in ["DISPLAY", "WAYLAND_DISPLAY", "WAYLAND_SOCKET"] {
            command.env_remove(name);
        }
        let ran = finished(command.output().expect("starts"));
        failed += u32::from(ran.code != 0);
        assert!(ran.code != 70 && !ran.stderr.contains("bug in"), "{arguments}: {}", ran.stderr);
        assert_eq!(build_paths(&ran.stderr), Vec::<String>::new(), "{arguments}: {}", ran.stderr);
        assert_eq!(build_paths(&ran.stdout), Vec::<String>::new(), "{arguments}");
    }
    assert!(failed > 50, "{failed} commands failed");
}

/// Displays that cannot be reached.
#[cfg(all(feature = "view", target_os = "linux"))]
#[test]
fn no_message_about_a_display_has_a_path_of_the_build() {
    let folder = folder();
    for (name, value) in [("DISPLAY", ":54321"), ("DISPLAY", "nonsense"), ("WAYLAND_DISPLAY", "/no/such/socket")] {
        let mut command = drystone(folder.path());
        command.args(["view", "tumbler", "--fresh"]);
        for other in ["DISPLAY", "WAYLAND_DISPLAY", "WAYLAND_SOCKET"] {
            command.env_remove(other);
        }
        let ran = finished(command.env(name, value).output().expect("starts"));
        assert!(ran.code != 0 && !ran.stderr.is_empty(), "{name}={value}: {} {}", ran.code, ran.stderr);
        assert_eq!(build_paths(&ran.stderr), Vec::<String>::new(), "{name}={value}: {}", ran.stderr);
    }
}

/// The control: paths of a build are found, in the words of the standard library, of winit and of a driver.
#[test]
fn paths_of_a_build_are_found() {
    let here = std::panic::Location::caller().to_string();
    for text in [
        here.as_str(),
        "thread 'main' panicked at crates/drystone-cli/src/main.rs:90:5:",
        "os error at /root/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/winit-0.30.13/src/x11/mod.rs:788: no display",
        "called `Option::unwrap()` at /rustc/59807616e1b2/library/core/src/option.rs:7",
        concat!("cannot read ", env!("CARGO_MANIFEST_DIR"), "/a.json"),
        r"bug at C:\build\drystone\src\run.rs:7",
    ] {
        assert!(!build_paths(text).is_empty(), "{text}");
    }
    for text in [
        "a.json:3:7: bodies[0].kind: unknown key; expected type",
        "cannot write no/such/folder.png: no such file or directory",
        "bug in drystone 0.1.0: no message (drystone-cli run, line 12); please report this line",
        "0.167 s, 10 steps of 16.7 ms, in 0.138 s",
    ] {
        assert_eq!(build_paths(text), Vec::<String>::new(), "{text}");
    }
}

/// Command in an environment without a display and without what `.ci/test` sets for quiet drivers.
#[cfg(target_os = "linux")]
fn without_display(folder: &Path, arguments: &str) -> Command {
    let mut command = drystone(folder);
    for name in ["DISPLAY", "WAYLAND_DISPLAY", "WAYLAND_SOCKET", "XDG_RUNTIME_DIR", "NODEVICE_SELECT"] {
        command.env_remove(name);
    }
    command.args(arguments.split_whitespace());
    command
}

/// Drivers write nothing where there is no display: pictures and adapters are had in silence, with the same output as
/// otherwise.
#[cfg(target_os = "linux")]
#[test]
fn drivers_are_quiet_without_a_display() {
    let folder = folder();
    let scene = "large_pyramid:base=3 --steps 2 --backend gpu -q";
    for arguments in [
        "info".to_owned(),
        format!("run {scene} --picture a.png"),
        format!("run {scene} --layers contacts --picture b.png"),
        "run large_pyramid:base=3 --steps 2 -q --picture c.png".to_owned(),
    ] {
        let ran = finished(without_display(folder.path(), &arguments).output().expect("starts"));
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{arguments}");
        assert_eq!(ran.stdout, run_in(folder.path(), &arguments).stdout, "{arguments}");
    }
    assert!(["a.png", "b.png", "c.png"].iter().all(|name| folder.path().join(name).exists()));
    // A mistake has its own message and code only.
    let ran = finished(without_display(folder.path(), "run tumblr").output().expect("starts"));
    let usual = run_in(folder.path(), "run tumblr");
    assert_eq!((ran.code, ran.stderr, ran.stdout), (2, usual.stderr, usual.stdout));
    // The control: a display that cannot be reached is asked for, and Mesa's layer says so.
    let layer = Path::new("/usr/share/vulkan/implicit_layer.d/VkLayer_MESA_device_select.json");
    let mut loud = without_display(folder.path(), "info");
    let ran = finished(loud.env("DISPLAY", ":54321").output().expect("starts"));
    assert!(!layer.exists() || ran.stderr.contains("XDG_RUNTIME_DIR"), "{}", ran.stderr);
}
