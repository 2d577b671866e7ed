//! Helpers for tests of the window: a display, a window that plays a script, and comparisons of screenshots.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// Time after which a window that has not ended counts as hanging.
const PATIENCE: Duration = Duration::from_secs(150);

/// X server without a screen.
pub struct Display {
    server: Child,
    number: String,
}

impl Display {
    pub fn new() -> Self {
        let mut server = Command::new("Xvfb")
            // Without `-noreset` the server restarts when a window is closed, and refuses the next one while it does.
            .args(["-displayfd", "1", "-screen", "0", "1600x1000x24", "-nolisten", "tcp", "-noreset"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("Xvfb: `.ci/setup tests` installs it");
        let mut number = String::new();
        let mut byte = [0];
        let output = server.stdout.as_mut().expect("piped");
        while output.read(&mut byte).expect("Xvfb says its display") == 1 && byte[0] != b'\n' {
            number.push(byte[0].into());
        }
        assert!(!number.is_empty(), "Xvfb found no free display");
        Self { server, number }
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// Display for a window, and a folder for the files that it writes.
pub struct Stage {
    display: Display,
    pub folder: tempfile::TempDir,
}

/// Exit code and output of a window that has ended.
pub struct Ended {
    pub code: Option<i32>,
    pub stderr: String,
}

impl Stage {
    pub fn new() -> Self {
        Self { display: Display::new(), folder: tempfile::tempdir().expect("a folder") }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Plays a script, in which `@` stands for the folder, to its end.
    pub fn play(&self, arguments: &[&str], script: &str) {
        let ended = self.play_anyhow(arguments, script);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        assert!(!ended.stderr.contains("panicked") && !ended.stderr.contains("bug in"), "{}", ended.stderr);
    }

    /// Plays a script to its end, with any exit code.
    pub fn play_anyhow(&self, arguments: &[&str], script: &str) -> Ended {
        self.begin(arguments, script).end()
    }

    /// Begins to play a script.
    pub fn begin(&self, arguments: &[&str], script: &str) -> Running {
        let file = self.path("script.txt");
        let folder = self.folder.path().display().to_string();
        std::fs::write(&file, script.replace('@', &folder)).expect("a script");
        let mut command = self.command(arguments);
        command.arg("--script").arg(&file);
        Running::begin(&mut command)
    }

    /// Value of `DISPLAY`.
    pub fn display_name(&self) -> String {
        format!(":{}", self.display.number)
    }

    /// Waits for a file that a window writes.
    pub fn wait_for(&self, name: &str) {
        let begin = Instant::now();
        while !self.path(name).exists() {
            assert!(begin.elapsed() < PATIENCE, "{name} was never written");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Command that opens a window on this display, with a configuration and a cache of its own.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_drystone"));
        command.arg("view").args(arguments).env("DISPLAY", format!(":{}", self.display.number));
        command
            .env_remove("WAYLAND_DISPLAY")
            .env("XDG_CONFIG_HOME", self.path("config"))
            .env("XDG_CACHE_HOME", self.path("cache"))
            // Shaders that the driver has compiled serve all windows: two seconds of a core each.
            .env("MESA_SHADER_CACHE_DIR", env!("CARGO_TARGET_TMPDIR"))
            .env("NODEVICE_SELECT", "1");
        command.current_dir(self.folder.path());
        command
    }

    /// Reads a report that a script wrote.
    pub fn report(&self, name: &str) -> Value {
        let text = std::fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        serde_json::from_str(&text).expect("a report is JSON")
    }

    /// Reads a screenshot that a script wrote.
    pub fn shot(&self, name: &str) -> Picture {
        Picture::read(&self.path(name))
    }
}

/// Runs a command to its end, which must come in time.
pub fn end(command: &mut Command) -> Ended {
    Running::begin(command).end()
}

/// Open window. Dropping it ends the window.
pub struct Running(Option<Child>);

impl Running {
    fn begin(command: &mut Command) -> Self {
        let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Self(Some(command.spawn().expect("drystone starts")))
    }

    /// Waits for the end, which must come in time.
    pub fn end(mut self) -> Ended {
        let mut child = self.0.take().expect("it ends once");
        let begin = Instant::now();
        loop {
            if child.try_wait().expect("a child").is_some() {
                let Output { status, stderr, .. } = child.wait_with_output().expect("a child");
                return Ended { code: status.code(), stderr: String::from_utf8_lossy(&stderr).into_owned() };
            }
            if begin.elapsed() > PATIENCE {
                let _ = child.kill();
                let output = child.wait_with_output().expect("a child");
                panic!("the window hangs: {}", String::from_utf8_lossy(&output.stderr));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Picture of 8-bit colours.
pub struct Picture {
    pub size: [usize; 2],
    pub rgb: Vec<[u8; 3]>,
}

/// Difference of two pictures.
#[derive(Debug)]
pub struct Unlike {
    /// Mean difference of a channel, 0 – 255.
    pub mean: f64,
    /// Share of pixels that differ by more than [`VISIBLE`] in a channel.
    pub share: f64,
}

/// Difference of a channel that is visible: blends along edges differ by less between versions of a driver.
const VISIBLE: u8 = 40;

impl Picture {
    pub fn read(path: &Path) -> Self {
        let file = std::fs::File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let mut reader = png::Decoder::new(std::io::BufReader::new(file)).read_info().expect("a PNG");
        let mut bytes = vec![0; reader.output_buffer_size().expect("its size")];
        let info = reader.next_frame(&mut bytes).expect("a picture");
        let channels = info.color_type.samples();
        let rgb = bytes[..info.buffer_size()].chunks_exact(channels).map(|p| [p[0], p[1], p[2]]).collect();
        Self { size: [info.width as usize, info.height as usize], rgb }
    }

    pub fn unlike(&self, other: &Self) -> Unlike {
        assert_eq!(self.size, other.size);
        let (mut sum, mut visible) = (0_u64, 0_u64);
        for (a, b) in self.rgb.iter().zip(&other.rgb) {
            let differences = [0, 1, 2].map(|c| a[c].abs_diff(b[c]));
            sum += differences.iter().map(|&d| u64::from(d)).sum::<u64>();
            visible += u64::from(differences.iter().any(|&d| d > VISIBLE));
        }
        let pixels = self.rgb.len() as f64;
        Unlike { mean: sum as f64 / (3.0 * pixels), share: visible as f64 / pixels }
    }

    /// Number of different colours.
    pub fn colors(&self) -> usize {
        self.rgb.iter().collect::<std::collections::HashSet<_>>().len()
    }
}

/// Checks that a screenshot is like its reference, up to differences between drivers; writes the reference on request.
pub fn assert_as_kept(stage: &Stage, name: &str) {
    let reference = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/view/references").join(name);
    if std::env::var_os("DRYSTONE_NEW_REFERENCES").is_some() {
        std::fs::copy(stage.path(name), &reference).expect("a reference is written");
    }
    let unlike = stage.shot(name).unlike(&Picture::read(&reference));
    assert!(is_alike(&unlike), "{name}: {unlike:?}; compare {} with the reference", stage.path(name).display());
}

/// Returns true if letters and edges differ by a shade only, and at most a hundredth of the pixels by more.
pub fn is_alike(unlike: &Unlike) -> bool {
    unlike.mean < 1.0 && unlike.share < 0.01
}

/// Pixel of a place in the world, by the camera of a report.
pub fn pixel_of(report: &Value, [x, y]: [f64; 2]) -> [f64; 2] {
    let camera = &report["camera"];
    let read = |key: &str, index: usize| camera[key][index].as_f64().unwrap();
    let scale = camera["metres_per_pixel"].as_f64().unwrap();
    [
        read("origin", 0) + read("size", 0) / 2.0 + (x - read("center", 0)) / scale,
        read("origin", 1) + read("size", 1) / 2.0 - (y - read("center", 1)) / scale,
    ]
}

/// Stage with a scene, a file, and the report of a window that shows it.
pub struct Yard {
    pub stage: Stage,
    pub start: Value,
    backend: &'static str,
    options: &'static [&'static str],
}

impl Yard {
    pub fn new(scene: &str, backend: &'static str, options: &'static [&'static str]) -> Self {
        let stage = Stage::new();
        std::fs::write(stage.path("yard.json"), scene).unwrap();
        let mut yard = Self { stage, start: Value::Null, backend, options };
        yard.play("report @/start.json\n");
        yard.start = yard.report("start");
        yard
    }

    pub fn play(&self, script: &str) {
        let scene = self.stage.path("yard.json");
        let mut arguments = vec![scene.to_str().unwrap(), "--backend", self.backend, "--paused", "--fresh"];
        arguments.extend(self.options);
        self.stage.play(&arguments, &format!("size 1000 700\nframes 3\nfolder @\n{script}"));
    }

    pub fn report(&self, name: &str) -> Value {
        self.stage.report(&format!("{name}.json"))
    }

    /// Text of a place in the world for a script, px.
    pub fn px(&self, at: [f64; 2]) -> String {
        self.px_beside(at, 0.0)
    }

    /// Text of a place in the world for a script, px, moved to the right by a number of pixels.
    pub fn px_beside(&self, at: [f64; 2], beside: f64) -> String {
        let [x, y] = pixel_of(&self.start, at);
        format!("{} {y}", x + beside)
    }

    pub fn drag(&self, from: [f64; 2], to: [f64; 2]) -> String {
        format!("drag {} {} 4\nsettle\n", self.px(from), self.px(to))
    }

    pub fn click(&self, at: [f64; 2]) -> String {
        format!("click {}\nsettle\n", self.px(at))
    }
}
