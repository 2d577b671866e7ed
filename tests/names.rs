//! Naming rules: a stage has one name and two files, and the map in the docs of `low_level` matches the actual plan.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use drystone::Settings;
use drystone::low_level::gpu::shader::{Composed, Composer, SHADERS, SHARED};
use drystone::low_level::step::{Stage, plan};
use wgpu::naga;

/// Shader of kernels shared by several stages; not a stage.
const SCAN: &str = "scan";
/// Queries: not a stage, but a shader with a module of the same name, `src/query.rs`.
const QUERY: &str = "query";
/// The fused kernel: not a stage, but all sweeps of a step in one kernel, made of the functions of their shaders.
const FUSED: &str = "fused";
/// The parity copy: not a stage, but copies the state of worlds that skip a step while others of their batch step.
const PARITY_COPY: &str = "parity_copy";
/// Lines before and after the map in the docs of `low_level`.
const MAP: (&str, &str) = ("//! ```text\n", "//! ```\n");

fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Returns the stems of the files with this extension in a folder.
fn stems(folder: &str, extension: &str) -> BTreeSet<String> {
    fs::read_dir(root(folder))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
        .collect()
}

/// Returns the name of a stage's two files. The relax stages share those of solve.
fn file_of(stage: Stage) -> &'static str {
    match stage {
        Stage::Relax => "solve",
        Stage::RelaxJoints => "solve_joints",
        _ => stage.name(),
    }
}

fn words() -> BTreeSet<String> {
    Stage::ALL.iter().map(|&stage| file_of(stage).to_owned()).collect()
}

#[test]
fn a_stage_is_one_word() {
    let names: BTreeSet<&str> = Stage::ALL.iter().map(|stage| stage.name()).collect();
    assert_eq!(names.len(), Stage::ALL.len(), "two stages share a name");
    for stage in Stage::ALL {
        let snake = stage.name().chars().all(|c| c.is_ascii_lowercase() || c == '_');
        assert!(snake, "{} is not snake case", stage.name());
        let camel: String = stage.name().split('_').map(|word| word[..1].to_uppercase() + &word[1..]).collect();
        assert_eq!(format!("{stage:?}"), camel, "variant and name differ");
        assert_eq!(Stage::ALL[stage as usize], stage, "ALL is not in the order of the variants");
    }
}

#[test]
fn a_stage_is_two_files() {
    let mut rust = stems("src/stages", "rs");
    assert!(rust.remove("mod"));
    assert_eq!(rust, words(), "src/stages");

    let mut shaders = stems("shaders", "wgsl");
    for shared in SHARED {
        assert!(shaders.remove(shared.name), "shaders/{}.wgsl is gone: take it off the list", shared.name);
    }
    assert!(shaders.remove(SCAN), "shaders/{SCAN}.wgsl is gone");
    assert!(shaders.remove(QUERY), "shaders/{QUERY}.wgsl is gone");
    assert!(shaders.remove(FUSED), "shaders/{FUSED}.wgsl is gone");
    assert!(shaders.remove(PARITY_COPY), "shaders/{PARITY_COPY}.wgsl is gone");
    assert_eq!(shaders, words(), "shaders");
}

/// Queries follow the rules of stages: the reference and the kernels have the same name and refer to each other.
#[test]
fn queries_are_one_word_too() {
    assert!(!words().contains(QUERY));
    assert!(stems("src", "rs").contains(QUERY), "src/{QUERY}.rs is gone");
    let shader = fs::read_to_string(root(&format!("shaders/{QUERY}.wgsl"))).unwrap();
    assert!(shader.lines().next().unwrap().contains(&format!("src/{QUERY}.rs")));
    for file in ["narrow", "walk"] {
        let text = fs::read_to_string(root(&format!("src/{QUERY}/{file}.rs"))).unwrap();
        assert!(text.contains(&format!("shaders/{QUERY}.wgsl")), "src/{QUERY}/{file}.rs does not name its twin");
    }
}

#[test]
fn a_stage_is_one_documented_function() {
    for word in words() {
        let text = fs::read_to_string(root(&format!("src/stages/{word}.rs"))).unwrap();
        assert!(text.starts_with(&format!("//! **{word}**")), "src/stages/{word}.rs does not begin with its name");
        let function = format!("\npub fn {word}");
        assert!(
            text.match_indices(&function).any(|(at, _)| text[at + function.len()..].starts_with(['(', '<'])),
            "src/stages/{word}.rs has no `pub fn {word}`"
        );
        let shader = fs::read_to_string(root(&format!("shaders/{word}.wgsl"))).unwrap();
        let first = shader.lines().next().unwrap();
        assert!(first.contains(&format!("src/stages/{word}.rs")), "shaders/{word}.wgsl does not name its twin");
    }
}

/// Words that plain scalar code does not need.
const NOT_PLAIN: [&str; 9] =
    ["crate::threads", "crate::cpu", "rayon", "std::sync", "Atomic", "Simd", "dispatch!", "<const ", "unsafe"];
/// Shader files used by a single stage, and counted as part of it.
const OWN_SHADERS: [(&str, &str); 3] = [("collide", "hull"), ("solve_joints", "joint_sweep"), ("bin", "grid")];

/// Returns the reason why a stage of the reference cannot be read beside its kernel; `None` if it can.
fn hindrance(rust: &str, shader: &str) -> Option<String> {
    let mut code = rust.lines().filter(|line| !line.trim_start().starts_with("//"));
    let found = code.find_map(|line| NOT_PLAIN.iter().find(|word| line.contains(*word)).map(|word| (word, line)));
    if let Some((word, line)) = found {
        return Some(format!("{word:?} in {line:?}"));
    }
    let (rust, shader) = (rust.lines().count(), shader.lines().count());
    (rust > 2 * shader).then(|| format!("{rust} lines beside {shader}"))
}

/// Returns the text of a stage with the files in its folder, and of its shader with the files that only it uses.
fn both_sides(word: &str) -> (String, String) {
    let mut rust = fs::read_to_string(root(&format!("src/stages/{word}.rs"))).unwrap();
    if root(&format!("src/stages/{word}")).is_dir() {
        for part in stems(&format!("src/stages/{word}"), "rs") {
            rust += &fs::read_to_string(root(&format!("src/stages/{word}/{part}.rs"))).unwrap();
        }
    }
    let own = OWN_SHADERS.iter().filter(|(stage, _)| *stage == word).map(|(_, own)| *own);
    let read = |name: &str| fs::read_to_string(root(&format!("shaders/{name}.wgsl"))).unwrap();
    (rust, std::iter::once(word).chain(own).map(read).collect())
}

#[test]
fn the_reference_is_plain_and_about_as_long_as_its_shader() {
    for word in words() {
        let (rust, shader) = both_sides(&word);
        assert_eq!(hindrance(&rust, &shader), None, "src/stages/{word}.rs");
        // Negative controls: each word is detected, and so is a file that is too long.
        for found in NOT_PLAIN {
            assert!(hindrance(&format!("{rust}\nlet more = {found};"), &shader).is_some(), "{found} in {word}");
        }
        let longer = rust.clone() + &"// Once more.\n".repeat(2 * shader.lines().count());
        assert!(hindrance(&longer, &shader).is_some(), "{word}");
    }
}

/// The stages of the CPU engine have the names of the reference's.
#[test]
fn the_engine_has_stages_of_the_same_names() {
    let mut fast = stems("src/cpu/stages", "rs");
    assert!(fast.remove("mod"));
    let unknown: Vec<_> = fast.difference(&words()).cloned().collect();
    assert!(unknown.is_empty(), "{unknown:?}");
    for word in fast {
        let text = fs::read_to_string(root(&format!("src/cpu/stages/{word}.rs"))).unwrap();
        assert!(
            text.contains(&format!("crate::stages::{word}")),
            "src/cpu/stages/{word}.rs does not name its reference"
        );
    }
}

#[test]
fn entry_points_bear_the_name_of_their_file() {
    let compiled: BTreeSet<String> = SHADERS.iter().map(|shader| shader.name.to_owned()).collect();
    let mut expected = words();
    expected.extend([SCAN.to_owned(), QUERY.to_owned(), FUSED.to_owned(), PARITY_COPY.to_owned()]);
    assert_eq!(compiled, expected);
    for shader in SHADERS {
        let uses = uses(shader.name);
        assert!(!uses.is_empty(), "{} has no entry point", shader.name);
        for point in uses.keys() {
            let own = point == shader.name || point.starts_with(&format!("{}_", shader.name));
            assert!(own, "entry point {point} of shaders/{}.wgsl", shader.name);
        }
    }
}

/// Storage buffers that an entry point accesses: names read, names written. Accesses count, declarations do not.
type Uses = (BTreeSet<String>, BTreeSet<String>);

fn uses(shader: &str) -> BTreeMap<String, Uses> {
    uses_in(&Composer::SOLVER.compose(shader).unwrap())
}

fn uses_in(composed: &Composed) -> BTreeMap<String, Uses> {
    let (module, info) = composed.module().unwrap();
    let mut points = BTreeMap::new();
    for (index, point) in module.entry_points.iter().enumerate() {
        let (mut reads, mut writes) = (BTreeSet::new(), BTreeSet::new());
        for (handle, global) in module.global_variables.iter() {
            if !matches!(global.space, naga::AddressSpace::Storage { .. }) {
                continue;
            }
            let name = global.name.clone().unwrap();
            let done = info.get_entry_point(index)[handle];
            if done.intersects(naga::valid::GlobalUse::READ | naga::valid::GlobalUse::ATOMIC) {
                reads.insert(name.clone());
            }
            if done.intersects(naga::valid::GlobalUse::WRITE | naga::valid::GlobalUse::ATOMIC) {
                writes.insert(name);
            }
        }
        points.insert(point.name.clone(), (reads, writes));
    }
    points
}

/// Returns the accesses of all kernels of a stage.
fn uses_of(stage: Stage) -> Uses {
    let mut all = Uses::default();
    for (reads, writes) in uses(file_of(stage)).into_values() {
        all.0.extend(reads);
        all.1.extend(writes);
    }
    all
}

/// Returns true if a stage runs in every substep, found by doubling the number of substeps.
fn is_in_substep(stage: Stage) -> bool {
    let count = |substeps: u32| {
        let mut count = 0;
        for mode in [drystone::Mode::Soft, drystone::Mode::Projection] {
            let settings =
                Settings { substeps: Some(substeps), mode, events: true, sleep: true, ..Settings::default() };
            count += plan(&settings, true, true).iter().filter(|op| op.stage == stage).count();
        }
        count
    };
    assert!(count(2) > 0, "{} never runs", stage.name());
    count(4) > count(2)
}

/// Returns the map generated from the plan.
fn map() -> String {
    const STAGE: usize = 22;
    const READS: usize = 44;
    const WRITES: usize = 48;
    let wrap = |words: &BTreeSet<String>, width: usize| {
        let mut lines = vec![String::new()];
        for word in words {
            let last = lines.last_mut().unwrap();
            if last.is_empty() {
                last.push_str(word);
            } else if last.len() + 1 + word.len() <= width {
                last.push(' ');
                last.push_str(word);
            } else {
                lines.push(word.clone());
            }
        }
        lines
    };
    let mut text = format!("{:STAGE$}{:READS$}writes\n", "stage", "reads");
    let mut group = "";
    for stage in Stage::ALL {
        let own = match (is_in_substep(stage), group) {
            (true, _) => "each substep",
            (false, "" | "each step") => "each step",
            (false, _) => "at the end of the step",
        };
        if own != group {
            group = own;
            text += &format!("── {own} {}\n", "─".repeat(STAGE + READS + WRITES - own.len() - 6));
        }
        let (reads, writes) = uses_of(stage);
        let (reads, writes) = (wrap(&reads, READS - 2), wrap(&writes, WRITES));
        for line in 0..reads.len().max(writes.len()) {
            let cell = |lines: &[String]| lines.get(line).cloned().unwrap_or_default();
            let name = if line == 0 { stage.name() } else { "" };
            text += format!("{name:STAGE$}{:READS$}{}", cell(&reads), cell(&writes)).trim_end();
            text += "\n";
        }
    }
    text
}

/// Returns the map in the docs of `low_level`.
fn documented() -> String {
    let text = fs::read_to_string(root("src/low_level.rs")).unwrap();
    let start = text.find(MAP.0).expect("the docs of low_level have no map") + MAP.0.len();
    let end = start + text[start..].find(MAP.1).unwrap();
    text[start..end]
        .lines()
        .map(|line| line.trim_start_matches("//!").trim_start_matches(' ').to_owned() + "\n")
        .collect()
}

/// Splits a map into words, so that blanks are ignored.
fn words_of(map: &str) -> Vec<Vec<&str>> {
    map.lines().map(|line| line.split_whitespace().collect()).collect()
}

#[test]
fn the_map_in_the_crate_docs_is_the_pipeline() {
    let (ours, theirs) = (map(), documented());
    let lines: String = ours.lines().map(|line| format!("//! {line}").trim_end().to_owned() + "\n").collect();
    assert!(words_of(&ours) == words_of(&theirs), "the map in src/low_level.rs should read\n\n{lines}");
}

/// Negative control: a kernel that reads or writes one more buffer is detected.
#[test]
fn one_more_access_is_detected() {
    let composed = Composer::SOLVER.compose("bound").unwrap();
    let bound = composed.text();
    let more = |statement: &str| {
        let at = bound.rfind('}').unwrap();
        let declared = "@group(0) @binding(99) var<storage, read_write> more: array<u32>;\n";
        let text = format!("{declared}{}{statement}{}", &bound[..at], &bound[at..]);
        uses_in(&Composed::from_text("bound", &text)).remove("bound").unwrap()
    };
    let before = uses_in(&composed).remove("bound").unwrap();
    let read = more("aabbs[0].min.x = f32(more[0]);");
    assert_eq!(read.0.difference(&before.0).collect::<Vec<_>>(), ["more"]);
    assert_eq!(read.1, before.1);
    let written = more("more[0] = 1u;");
    assert_eq!(written.1.difference(&before.1).collect::<Vec<_>>(), ["more"]);
}

/// Examples that cannot run in a terminal alone.
const UNTRIED: [&str; 1] = ["embed_in_your_renderer"];

/// Every example of the library runs to its end and prints something. They are built with the tests.
#[test]
fn examples_run() {
    let tests = std::env::current_exe().unwrap();
    let folder = tests.parent().and_then(Path::parent).expect("the folder of the build").join("examples");
    let names = stems("examples", "rs");
    let tried: Vec<_> = names.iter().filter(|name| !UNTRIED.contains(&name.as_str())).collect();
    assert!(tried.len() >= 12, "{tried:?}");
    for name in tried {
        let program = folder.join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
        assert!(program.exists(), "{} is not there: `cargo build --examples` makes it", program.display());
        let run = std::process::Command::new(&program).output().unwrap();
        assert!(run.status.success(), "{name}: {}", String::from_utf8_lossy(&run.stderr));
        assert!(run.stdout.len() > 40, "{name} tells {:?}", String::from_utf8_lossy(&run.stdout));
    }
}

/// Examples of one idea each are short, and the book or the front page of the documentation names each.
#[test]
fn examples_are_short_and_named() {
    let text = |path: &str| fs::read_to_string(root(path)).unwrap();
    let named = text("docs/book/src/getting-started.md") + &text("src/lib.rs");
    for name in stems("examples", "rs") {
        let lines = text(&format!("examples/{name}.rs")).lines().count();
        assert!(lines <= 80 || UNTRIED.contains(&name.as_str()), "{name}: {lines} lines");
        let is_hello = name == "hello";
        assert!(is_hello || named.contains(&format!("examples/{name}.rs")), "nothing names examples/{name}.rs");
    }
}
