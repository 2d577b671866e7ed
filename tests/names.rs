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
/// Regions of queries, whose items have another length than the hits of rays.
const REGION: &str = "region";
/// The fused kernel: not a stage, but all sweeps of a step in one kernel, made of the functions of their shaders.
const FUSED: &str = "fused";
/// The parity copy: not a stage, but copies the state of worlds that skip a step while others of their batch step.
const PARITY_COPY: &str = "parity_copy";
/// Kernels that sweeps run before and after the contacts of hubs.
const SHARES: &str = "shares";
/// Kernels that call the rule of a scene, for `collide` and `prepare`.
const RULE: &str = "rule";
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
    assert!(shaders.remove(REGION), "shaders/{REGION}.wgsl is gone");
    assert!(shaders.remove(FUSED), "shaders/{FUSED}.wgsl is gone");
    assert!(shaders.remove(PARITY_COPY), "shaders/{PARITY_COPY}.wgsl is gone");
    assert!(shaders.remove(SHARES), "shaders/{SHARES}.wgsl is gone");
    assert!(shaders.remove(RULE), "shaders/{RULE}.wgsl is gone");
    assert_eq!(shaders, words(), "shaders");
}

/// Queries follow the rules of stages: the reference and the kernels have the same name and refer to each other.
#[test]
fn queries_are_one_word_too() {
    assert!(!words().contains(QUERY));
    assert!(stems("src", "rs").contains(QUERY), "src/{QUERY}.rs is gone");
    let shader = fs::read_to_string(root(&format!("shaders/{QUERY}.wgsl"))).unwrap();
    assert!(shader.lines().next().unwrap().contains(&format!("src/{QUERY}.rs")));
    for (file, shader) in [("cast", QUERY), ("walk", QUERY), ("walk", REGION), ("narrow", "ray"), ("narrow", REGION)] {
        let text = fs::read_to_string(root(&format!("src/{QUERY}/{file}.rs"))).unwrap();
        assert!(text.contains(&format!("shaders/{shader}.wgsl")), "src/{QUERY}/{file}.rs does not name its twin");
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
const OWN_SHADERS: [(&str, &str); 6] = [
    ("collide", "hull"),
    ("solve_joints", "joint_sweep"),
    ("bin", "grid"),
    ("restitution", "impact"),
    ("prepare", "material"),
    ("collide", "rule"),
];

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
    expected.extend([SCAN, QUERY, REGION, FUSED, PARITY_COPY, SHARES, RULE].map(str::to_owned));
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

/// Most lines of a function of the library without a reason, and of a file.
const MAX_FUNCTION: usize = 70;
const MAX_FILE: usize = 700;
/// Attribute that gives the reason for a longer function, for instance that it is a table.
const REASON: &str = "#[allow(clippy::too_many_lines, reason = \"";

/// Returns the functions of a source that are too long and give no reason.
fn long_functions(source: &str) -> Vec<String> {
    let lines: Vec<&str> = source.lines().collect();
    let mut found = Vec::new();
    for (start, line) in lines.iter().enumerate() {
        let code = line.trim_start();
        let is_head = |word: &str| matches!(word, "pub" | "const" | "async" | "unsafe") || word.starts_with("pub(");
        let mut words = code.split(' ').skip_while(|word| is_head(word) || word.ends_with(')'));
        if words.next() != Some("fn") {
            continue;
        }
        // Sources are formatted: a function ends at the first brace as far to the left as its beginning.
        let margin = &line[..line.len() - code.len()];
        let is_end = |line: &&str| {
            let rest = line.strip_prefix(margin).unwrap_or_default();
            rest == "}" || (rest.starts_with(')') && rest.ends_with(';'))
        };
        let is_short = line.ends_with(['}', ';']);
        let length = if is_short { 1 } else { lines[start..].iter().position(is_end).unwrap_or(0) + 1 };
        let above = lines[..start].iter().rev().map(|line| line.trim_start());
        let has_reason = above.take_while(|line| line.starts_with("#[")).any(|line| line.starts_with(REASON));
        if length > MAX_FUNCTION && !has_reason {
            found.push(format!("{} lines from line {} on: {code}", length, start + 1));
        }
    }
    found
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// A function is as long as a reader keeps in view, or says why not.
#[test]
fn functions_and_files_are_short() {
    let mut files = Vec::new();
    sources(&root("src"), &mut files);
    assert!(files.len() > 150, "{}", files.len());
    let mut found = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let lines = text.lines().count();
        if lines > MAX_FILE {
            found.push(format!("{}: {lines} lines", file.display()));
        }
        found.extend(long_functions(&text).into_iter().map(|why| format!("{}: {why}", file.display())));
    }
    assert!(found.is_empty(), "split, or give the reason by `{REASON}…\")]`:\n{}", found.join("\n"));
}

/// Negative control: a function is noticed by its length, also in an `impl`, unless it gives a reason.
#[test]
fn a_long_function_is_noticed() {
    let function = |head: &str, margin: &str, lines: usize| {
        let body = format!("{margin}    step();\n").repeat(lines - 2);
        format!("{margin}{head} {{\n{body}{margin}}}\n")
    };
    for head in ["fn a()", "pub fn a<T: Copy>(of: T)", "pub(in crate::cpu) fn a()", "const fn a()"] {
        for margin in ["", "    "] {
            assert_eq!(long_functions(&function(head, margin, MAX_FUNCTION)), Vec::<String>::new());
            let long = function(head, margin, MAX_FUNCTION + 1);
            assert_eq!(long_functions(&long).len(), 1, "{long}");
            let twice = function(head, margin, 60) + &long;
            assert_eq!(long_functions(&twice).len(), 1, "{twice}");
            assert_eq!(long_functions(&format!("{margin}{REASON}a table\")]\n{long}")).len(), 0);
            assert_eq!(long_functions(&format!("{margin}#[inline]\n{long}")).len(), 1);
        }
    }
}

/// Modules of the library from the ground up, also in ARCHITECTURE.md.
const LAYERS: [&[&str]; 11] = [
    &["cancel", "constants", "device_error", "hash", "math", "types"],
    &["body_rows", "lanes", "mass_scale", "scene", "tables"],
    &["population", "stages", "step", "threads"],
    &["command", "event", "initial_loads", "query", "snapshot"],
    &["body_view", "explosion", "wind", "geometry", "state", "world_error"],
    &["debug_draw"],
    &["host", "mover", "reference"],
    &["cpu"],
    &["gpu"],
    &["world", "worlds"],
    &["low_level"],
];
/// Imports from above: the grid of a scene has cells for the boxes that the stages will compute, and its timeline holds
/// commands, checks them as the world will, and gives them back when they are due.
const UPWARD: [(&str, &str); 4] =
    [("scene", "stages"), ("scene", "command"), ("scene", "population"), ("population", "command")];

fn layer(module: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&module))
}

/// Returns the modules that a source of a module imports and that do not lie below it.
fn imports_from_above(module: &str, source: &str) -> BTreeSet<String> {
    let library = source.split("#[cfg(test)]\nmod tests {").next().unwrap();
    let code = library.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n");
    let named = code.split("crate::").enumerate().skip(1).flat_map(|(_, rest)| {
        let list = rest.strip_prefix('{').map_or(rest, |list| list.split('}').next().unwrap());
        let count = if rest.starts_with('{') { usize::MAX } else { 1 };
        let word =
            |part: &str| part.trim().chars().take_while(|&c| c.is_alphanumeric() || c == '_').collect::<String>();
        list.split(',').take(count).map(word).collect::<Vec<String>>()
    });
    let is_above = |other: &String| {
        other != module && !UPWARD.contains(&(module, other)) && layer(other).is_none_or(|of| Some(of) >= layer(module))
    };
    named.filter(|other| !other.is_empty()).filter(is_above).collect()
}

#[test]
fn a_file_imports_only_from_below() {
    let mut files = Vec::new();
    sources(&root("src"), &mut files);
    for file in files {
        let path = file.strip_prefix(root("src")).unwrap().to_string_lossy().replace('\\', "/");
        let module = path.split('/').next().unwrap().trim_end_matches(".rs");
        if module == "lib" || path.ends_with("tests.rs") || path.ends_with("public_items.rs") {
            continue;
        }
        // The stand-in for the GPU is in its layer. The macro that lists shaders is for users too.
        let module = if module == "gpu_absent" { "gpu" } else { module };
        assert!(layer(module).is_some(), "src/{path}: give its module a layer");
        let mut found = imports_from_above(module, &fs::read_to_string(&file).unwrap());
        if path == "gpu/shader.rs" {
            found.remove("low_level");
        }
        assert!(found.is_empty(), "src/{path} imports {found:?}, which do not lie below {module}");
    }
}

/// Negative control: imports from above are noticed in every form, and comments and tests are none.
#[test]
fn an_import_from_above_is_noticed() {
    let found = |source: &str| imports_from_above("host", source).into_iter().collect::<Vec<_>>();
    assert_eq!(found("use crate::cpu::CpuWorld;\nuse crate::types::Pose;\n"), ["cpu"]);
    assert_eq!(found("use crate::{types, world};\n"), ["world"]);
    assert_eq!(found("fn a() -> $crate::gpu::GpuWorld {}\n"), ["gpu"]);
    assert_eq!(found("use crate::reference::ReferenceWorld;\n"), ["reference"], "one beside it");
    assert_eq!(found("use crate::unheard_of::Thing;\n"), ["unheard_of"]);
    assert_eq!(found("use crate::host::Books;\n/// As [`crate::cpu`].\n"), [""; 0]);
    assert_eq!(found("#[cfg(test)]\nmod tests {\n    use crate::World;\n}\n"), [""; 0]);
}
