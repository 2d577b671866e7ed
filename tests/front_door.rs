//! Checks of what a newcomer reads first: links lead somewhere, files that are named exist, every setting is described,
//! and pictures made from the code are those of the code. `DRYSTONE_WRITE_PICTURES=1` writes these pictures.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// Sources of the book.
const BOOK: &str = "docs/book/src";
/// Pages outside the book.
const PAGES: [&str; 8] = [
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "CODE_OF_CONDUCT.md",
    "SECURITY.md",
    "python/README.md",
    "python/CLIENT.md",
];
/// Most lines of the front page.
const README_LINES: usize = 120;
/// Most lines of the first page of the library's documentation.
const LIBRARY_LINES: usize = 80;

fn root(path: impl AsRef<Path>) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn text(path: impl AsRef<Path>) -> String {
    let path = root(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Chapters of the book, as `SUMMARY.md` lists them.
fn chapters() -> Vec<String> {
    links(&text(format!("{BOOK}/SUMMARY.md")))
}

/// A page with everything within backticks left out, and the code spans that stood there.
fn prose_and_code(page: &str) -> (String, Vec<String>) {
    let (mut prose, mut spans, mut in_block) = (String::new(), Vec::new(), false);
    for line in page.lines() {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
        } else if !in_block {
            for (index, part) in line.split('`').enumerate() {
                if index % 2 == 0 {
                    prose += part;
                } else {
                    spans.push(part.to_owned());
                }
            }
        }
        prose.push('\n');
    }
    (prose, spans)
}

/// Targets of the links and pictures of a page.
fn links(page: &str) -> Vec<String> {
    let (prose, _) = prose_and_code(page);
    prose.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0.to_owned())).collect()
}

/// Anchors of the headings of a page, as GitHub and mdBook make them.
fn anchors(page: &str) -> BTreeSet<String> {
    let mut in_block = false;
    let mut found = BTreeSet::new();
    for line in page.lines() {
        in_block ^= line.starts_with("```");
        if !in_block && line.starts_with('#') {
            let title = line.trim_start_matches('#').trim().to_lowercase();
            let kept = title.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
            found.insert(kept.map(|c| if c == ' ' { '-' } else { c }).collect());
        }
    }
    found
}

/// Describes each link of a page that leads nowhere. In the book, pages outside it cannot be linked to: mdBook makes
/// `.html` of `.md`.
fn broken_links(path: &str, page: &str, in_book: &[String]) -> Vec<String> {
    let folder = Path::new(path).parent().unwrap_or(Path::new(""));
    let mut broken = Vec::new();
    for link in links(page).iter().filter(|link| !link.contains("://")) {
        let (file, anchor) = link.split_once('#').map_or((link.as_str(), None), |(file, anchor)| (file, Some(anchor)));
        let target = if file.is_empty() { root(path) } else { root(folder.join(file)) };
        if !target.exists() {
            broken.push(format!("{path}: {link} is not there"));
        } else if !in_book.is_empty() && is_page(file) && !in_book.iter().any(|chapter| chapter == file) {
            broken.push(format!("{path}: {link} is no chapter of the book"));
        } else if let Some(anchor) = anchor {
            let found = fs::read_to_string(&target).map(|page| anchors(&page)).unwrap_or_default();
            if !found.contains(anchor) {
                broken.push(format!("{path}: {link} has no such heading"));
            }
        }
    }
    broken
}

/// Describes each file of the repository that a page names and that is not there.
fn missing_files(path: &str, page: &str) -> Vec<String> {
    const FOLDERS: [&str; 12] = [
        ".ci/",
        "benches/",
        "crates/",
        "deploy/",
        "docs/",
        "examples/",
        "fuzz/",
        "python/",
        "schema/",
        "shaders/",
        "src/",
        "tests/",
    ];
    let (_, spans) = prose_and_code(page);
    let is_name = |span: &String| {
        FOLDERS.iter().any(|folder| span.starts_with(folder)) && !span.contains(|c: char| " *{<…".contains(c))
    };
    let named = spans.into_iter().filter(is_name).filter(|span| !span.contains("WORD") && !span.contains("MACHINE"));
    named.filter(|span| !root(span).exists()).map(|span| format!("{path}: `{span}` is not there")).collect()
}

/// Returns true for the name of a page.
fn is_page(file: &str) -> bool {
    Path::new(file).extension().is_some_and(|extension| extension == "md")
}

#[test]
fn links_lead_somewhere() {
    let chapters = chapters();
    assert!(chapters.len() > 10, "{chapters:?}");
    let mut broken = Vec::new();
    for page in PAGES {
        broken.extend(broken_links(page, &text(page), &[]));
        broken.extend(missing_files(page, &text(page)));
    }
    for chapter in chapters.iter().map(String::as_str).chain(["SUMMARY.md"]) {
        let path = format!("{BOOK}/{chapter}");
        let page = text(&path);
        if let Some(included) = page.strip_prefix("{{#include ").and_then(|rest| rest.split_once("}}")) {
            assert!(root(BOOK).join(included.0).exists(), "{path}: {} is not there", included.0);
        }
        broken.extend(broken_links(&path, &page, &chapters));
        broken.extend(missing_files(&path, &page));
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn a_broken_link_is_noticed() {
    let chapters = ["index.md".to_owned()];
    for (page, complaint) in [
        ("[a](gone.md)", "not there"),
        ("![a](pictures/gone.png)", "not there"),
        ("[a](index.md#no-such-heading)", "no such heading"),
        ("[a](../../../README.md)", "no chapter"),
    ] {
        let broken = broken_links(&format!("{BOOK}/index.md"), page, &chapters);
        assert!(broken.len() == 1 && broken[0].contains(complaint), "{page}: {broken:?}");
    }
    assert_eq!(missing_files("a.md", "see `src/gone.rs`, `src/lib.rs` and `src/`").len(), 1);
    assert_eq!(anchors("# A b-c: d?\n```\n# no\n```\n"), BTreeSet::from(["a-b-c-d".to_owned()]));
}

#[test]
fn every_page_is_a_chapter_and_every_program_a_test() {
    let chapters: BTreeSet<String> = chapters().into_iter().collect();
    let library = text("src/lib.rs");
    for file in fs::read_dir(root(BOOK)).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()) {
        if !is_page(&file) || file == "SUMMARY.md" {
            continue;
        }
        assert!(chapters.contains(&file), "{file} is not in SUMMARY.md");
        let has_program = text(format!("{BOOK}/{file}")).contains("```rust");
        let is_tested = library.contains(&format!("../{BOOK}/{file}"));
        assert_eq!(has_program, is_tested, "{file}: src/lib.rs tests the programs of all chapters that have any");
    }
}

/// Keys of a part of the schema of scene files.
fn keys(schema: &str, part: &str) -> Vec<String> {
    let start = schema.find(&format!("\n    \"{part}\": {{")).unwrap_or_else(|| panic!("{part} is not in the schema"));
    let part = &schema[start + 1..];
    let part = &part[..part.find("\n    }").expect("it ends")];
    let keys = part.lines().filter_map(|line| line.strip_prefix("        \"")?.strip_suffix("\": {"));
    keys.map(str::to_owned).collect()
}

#[test]
fn every_key_is_described() {
    let schema = text("schema/scene-v1.schema.json");
    let (settings, reference) = (text(format!("{BOOK}/settings.md")), text(format!("{BOOK}/keys.md")));
    let found = keys(&schema, "Settings");
    assert!(found.len() >= 16, "{found:?}");
    for key in found {
        assert!(settings.contains(&format!("\n## {key}\n")), "settings.md does not describe {key}");
        assert!(settings.contains(&format!("| [`{key}`](#{key}) |")), "the table of settings.md has not {key}");
    }
    for part in [
        "Body",
        "Shape",
        "Material",
        "MaterialPair",
        "Filter",
        "Joint",
        "Motor",
        "Spring",
        "Path",
        "PointField",
        "Emitter",
        "TimedCommand",
        "When",
        "Remove",
    ] {
        for key in keys(&schema, part) {
            assert!(reference.contains(&format!("| `{key}` |")), "keys.md has not {key} of {part}: run .ci/pictures");
        }
    }
}

#[test]
fn the_front_page_is_short() {
    let lines = text("README.md").lines().count();
    assert!(lines <= README_LINES, "README.md has {lines} lines: the rest belongs into the book");
    let lines = text("src/lib.rs").lines().filter(|line| line.starts_with("//!")).count();
    assert!((20..=LIBRARY_LINES).contains(&lines), "the docs of src/lib.rs have {lines} lines, not {LIBRARY_LINES}");
}

/// Settings of a page that have neither a picture nor a sentence that says why there is none.
fn settings_without_picture(page: &str, keys: &[String]) -> Vec<String> {
    let section = |key: &str| page.split("\n## ").find(|part| part.lines().next() == Some(key)).unwrap_or_default();
    let is_shown = |key: &&String| {
        let section = section(key);
        section.contains("](pictures/") || section.contains("no picture")
    };
    keys.iter().filter(|key| !is_shown(key)).cloned().collect()
}

#[test]
fn every_setting_has_a_picture() {
    let page = text(format!("{BOOK}/settings.md"));
    let keys = keys(&text("schema/scene-v1.schema.json"), "Settings");
    assert_eq!(settings_without_picture(&page, &keys), [""; 0]);
    // Negative control.
    let bare = "a\n## dt\n\n![a](pictures/a.png)\n## slop\n\nLess is less.\n";
    assert_eq!(settings_without_picture(bare, &["dt".to_owned(), "slop".to_owned()]), ["slop"]);
}

/// Public modules that a file declares, each with the docs at its declaration.
fn public_modules(source: &str) -> Vec<(String, String)> {
    let (mut found, mut docs) = (Vec::new(), String::new());
    for line in source.lines().map(str::trim) {
        if let Some(doc) = line.strip_prefix("///") {
            docs += doc;
            docs.push('\n');
        } else if !line.starts_with("#[") {
            if let Some(name) =
                line.strip_prefix("pub mod ").and_then(|rest| rest.strip_suffix(';').or(rest.strip_suffix(" {")))
            {
                found.push((name.to_owned(), docs.clone()));
            }
            docs.clear();
        }
    }
    found
}

/// Returns true if docs begin with a sentence and have an example.
fn has_example(docs: &str) -> bool {
    let first = docs.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    !first.starts_with("```") && first.contains(' ') && docs.lines().filter(|line| line.trim() == "```").count() >= 1
}

/// Lines of a source's own docs.
fn own_docs(source: &str) -> String {
    source.lines().filter_map(|line| Some(line.strip_prefix("//!")?.to_owned() + "\n")).collect()
}

#[test]
fn public_modules_begin_with_their_purpose_and_an_example() {
    let mut without = Vec::new();
    let mut count = 0;
    for entry in fs::read_dir(root("crates")).unwrap().map(|entry| entry.unwrap().path()).chain([root("")]) {
        let Ok(library) = fs::read_to_string(entry.join("src/lib.rs")) else { continue };
        let mut modules = vec![(entry.join("src/lib.rs").display().to_string(), own_docs(&library))];
        for (name, docs) in public_modules(&library) {
            let paths = [format!("src/{name}.rs"), format!("src/{name}/mod.rs")].map(|path| entry.join(path));
            let path = paths.iter().find(|path| path.exists()).unwrap();
            modules.push((path.display().to_string(), docs + &own_docs(&fs::read_to_string(path).unwrap())));
        }
        count += modules.len();
        without.extend(modules.into_iter().filter(|(_, docs)| !has_example(docs)).map(|(name, _)| name));
    }
    // The engine's modules, whose docs stand where they are exported.
    let modules = public_modules(&text("src/low_level.rs"));
    count += modules.len();
    without.extend(modules.into_iter().filter(|(_, docs)| !has_example(docs)).map(|(name, _)| name));
    println!("{count} public modules");
    assert!(count > 30, "only {count} public modules were found");
    assert!(without.is_empty(), "no example in {}", without.join(", "));
}

#[test]
fn a_module_without_an_example_is_noticed() {
    let modules = public_modules("/// Numbers.\npub mod a;\nmod b;\n/// Of b.\n#[cfg(x)]\npub mod c;\n");
    assert_eq!(modules, [("a".to_owned(), " Numbers.\n".to_owned()), ("c".to_owned(), " Of b.\n".to_owned())]);
    assert!(!has_example(" Numbers of things.\n"));
    assert!(!has_example(" ```\n a();\n ```\n"));
    assert!(has_example(" Numbers of things.\n\n ```\n a();\n ```\n"));
}

/// Compares a picture with what the code says, or writes it.
fn compare_picture(path: &str, fresh: &str) {
    if std::env::var_os("DRYSTONE_WRITE_PICTURES").is_some() {
        fs::write(root(path), fresh).unwrap();
    }
    let found = fs::read_to_string(root(path)).unwrap_or_default();
    assert!(
        found == fresh,
        "{path} is stale: DRYSTONE_WRITE_PICTURES=1 cargo test -p drystone --test solver front_door writes it"
    );
}

/// Begins a picture on a light card, which is readable on a dark page too.
fn svg(width: usize, height: usize) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\" font-family=\"system-ui, sans-serif\" font-size=\"12\" fill=\"#333\">\n\
         <rect width=\"{width}\" height=\"{height}\" rx=\"6\" fill=\"#f6f4ee\"/>\n"
    )
}

/// Packages of the workspace, and which of the others each builds on.
fn packages() -> BTreeMap<String, BTreeSet<String>> {
    let mut manifests = vec![root("Cargo.toml")];
    manifests.extend(fs::read_dir(root("crates")).unwrap().map(|entry| entry.unwrap().path().join("Cargo.toml")));
    let mut found = BTreeMap::new();
    for manifest in manifests {
        let (mut section, mut name, mut others) = ("", String::new(), BTreeSet::new());
        let toml = fs::read_to_string(manifest).unwrap();
        for line in toml.lines() {
            if line.starts_with('[') {
                section = line;
            } else if let ("[package]", Some(value)) = (section, line.strip_prefix("name = ")) {
                value.trim_matches('"').clone_into(&mut name);
            } else if section == "[dependencies]" && line.starts_with("drystone") {
                others.insert(line.split(['.', ' ']).next().unwrap().to_owned());
            }
        }
        found.insert(name, others);
    }
    // Only build scripts use it.
    found.remove("drystone-fingerprint");
    found
}

/// Packages in layers, each above what it builds on; a line that others imply is left out.
fn picture_of_packages(packages: &BTreeMap<String, BTreeSet<String>>) -> String {
    const BOX: (usize, usize) = (140, 34);
    const WIDTH: usize = 900;
    const ROW: usize = 78;
    // Rows from the top: the command, then what only it uses.
    fn layer_of(packages: &BTreeMap<String, BTreeSet<String>>, name: &str) -> usize {
        let users = packages.iter().filter(|(_, others)| others.contains(name));
        users.map(|(user, _)| layer_of(packages, user) + 1).max().unwrap_or(0)
    }
    fn reaches(packages: &BTreeMap<String, BTreeSet<String>>, from: &str, to: &str) -> bool {
        packages[from].iter().any(|other| other == to || reaches(packages, other, to))
    }
    let mut layers: Vec<Vec<&str>> = Vec::new();
    for name in packages.keys() {
        let layer = layer_of(packages, name);
        layers.resize(layers.len().max(layer + 1), Vec::new());
        layers[layer].push(name);
    }
    let mut places = BTreeMap::new();
    for (layer, names) in layers.iter().enumerate() {
        for (index, &name) in names.iter().enumerate() {
            let x = WIDTH * (2 * index + 1) / (2 * names.len());
            places.insert(name, (x, 16 + ROW * layer));
        }
    }
    let mut picture = svg(WIDTH, ROW * layers.len() - (ROW - BOX.1) + 32);
    for (name, others) in packages {
        for other in others {
            let is_implied = others.iter().any(|between| between != other && reaches(packages, between, other));
            if !is_implied {
                let ((x0, y0), (x1, y1)) = (places[name.as_str()], places[other.as_str()]);
                let y0 = y0 + BOX.1;
                writeln!(picture, "<path d=\"M{x0} {y0}L{x1} {y1}\" stroke=\"#9a958a\" stroke-width=\"1.5\"/>")
                    .unwrap();
            }
        }
    }
    for (name, (x, y)) in places {
        let fill = if name == "drystone" { "#2f6f8f" } else { "#e4dfd2" };
        let ink = if name == "drystone" { "#fff" } else { "#333" };
        let (left, base) = (x - BOX.0 / 2, y + 21);
        let (width, height) = BOX;
        writeln!(
            picture,
            "<rect x=\"{left}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"5\" fill=\"{fill}\"/>\
             <text x=\"{x}\" y=\"{base}\" fill=\"{ink}\" text-anchor=\"middle\">{name}</text>"
        )
        .unwrap();
    }
    picture + "</svg>\n"
}

#[test]
fn the_picture_of_packages_is_the_workspace() {
    let mut packages = packages();
    compare_picture("docs/crates.svg", &picture_of_packages(&packages));
    let before = picture_of_packages(&packages);
    packages.get_mut("drystone-draw").unwrap().insert("drystone-scenes".to_owned());
    assert_ne!(picture_of_packages(&packages), before);
}

/// A line of the map of a step: a stage, the tables it reads and those it writes.
struct Line {
    group: String,
    stage: String,
    reads: BTreeSet<String>,
    writes: BTreeSet<String>,
}

/// The map of a step in the docs of the library. `names.rs` compares it with the shaders.
fn map_of_step() -> Vec<Line> {
    let library = text("src/low_level.rs");
    let map = library.split("//! ```text\n").nth(1).expect("the map").split("//! ```\n").next().unwrap();
    let mut lines: Vec<Line> = Vec::new();
    let mut group = String::new();
    for line in map.lines().skip(1).map(|line| line.strip_prefix("//! ").unwrap_or_default()) {
        if let Some(title) = line.strip_prefix("── ") {
            title.trim_end_matches('─').trim().clone_into(&mut group);
            continue;
        }
        let cell = |from: usize, to: usize| line.get(from.min(line.len())..to.min(line.len())).unwrap_or_default();
        let stage = cell(0, 22).trim();
        if !stage.is_empty() {
            let (group, stage) = (group.clone(), stage.to_owned());
            lines.push(Line { group, stage, reads: BTreeSet::new(), writes: BTreeSet::new() });
        }
        let last = lines.last_mut().expect("a stage before its tables");
        last.reads.extend(cell(22, 66).split_whitespace().map(str::to_owned));
        last.writes.extend(cell(66, usize::MAX).split_whitespace().map(str::to_owned));
    }
    lines
}

/// Stages down, tables across in the order in which they are first written.
fn picture_of_step(lines: &[Line]) -> String {
    const LEFT: usize = 176;
    const TOP: usize = 128;
    const CELL: usize = 17;
    let mut tables: Vec<&String> = Vec::new();
    for table in lines.iter().flat_map(|line| &line.writes).chain(lines.iter().flat_map(|line| &line.reads)) {
        if !tables.contains(&table) {
            tables.push(table);
        }
    }
    let groups: BTreeSet<&String> = lines.iter().map(|line| &line.group).collect();
    let width = LEFT + CELL * tables.len() + 70;
    let height = TOP + CELL * (lines.len() + groups.len()) + 12;
    let mut picture = svg(width, height);
    for (column, table) in tables.iter().enumerate() {
        let x = LEFT + CELL * column + CELL / 2;
        writeln!(picture, "<path d=\"M{x} {TOP}V{}\" stroke=\"#e4dfd2\"/>", height - 12).unwrap();
        writeln!(picture, "<text transform=\"translate({} {}) rotate(-55)\">{table}</text>", x + 3, TOP - 6).unwrap();
    }
    let (mut y, mut group) = (TOP, "");
    for line in lines {
        if line.group != group {
            group = &line.group;
            y += CELL;
            writeln!(picture, "<text x=\"10\" y=\"{}\" font-weight=\"bold\" fill=\"#2f6f8f\">{group}</text>", y - 4)
                .unwrap();
        }
        let middle = y + CELL / 2;
        writeln!(picture, "<text x=\"22\" y=\"{}\">{}</text>", middle + 4, line.stage).unwrap();
        writeln!(picture, "<path d=\"M{LEFT} {middle}H{}\" stroke=\"#e4dfd2\"/>", width - 66).unwrap();
        for (column, &table) in tables.iter().enumerate() {
            let x = LEFT + CELL * column + CELL / 2;
            let (reads, writes) = (line.reads.contains(table), line.writes.contains(table));
            if reads {
                let circle = "fill=\"#f6f4ee\" stroke=\"#2f6f8f\" stroke-width=\"1.5\"";
                writeln!(picture, "<circle cx=\"{x}\" cy=\"{middle}\" r=\"6\" {circle}/>").unwrap();
            }
            if writes {
                let radius = if reads { 3 } else { 5 };
                writeln!(picture, "<circle cx=\"{x}\" cy=\"{middle}\" r=\"{radius}\" fill=\"#8f3f5f\"/>").unwrap();
            }
        }
        y += CELL;
    }
    picture + "</svg>\n"
}

#[test]
fn the_picture_of_a_step_is_its_map() {
    let mut lines = map_of_step();
    assert!(lines.len() > 20 && lines.iter().all(|line| !line.writes.is_empty()));
    compare_picture("docs/step.svg", &picture_of_step(&lines));
    let before = picture_of_step(&lines);
    lines[0].writes.remove("bodies");
    assert_ne!(picture_of_step(&lines), before);
}
