//! The page that names an equivalent and a test for each call of Box2D and Rapier: what it names exists, and no call is
//! there twice or without a reason.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Page with the tables.
const PAGE: &str = "docs/book/src/porting-table.md";
/// Heading of the calls without an equivalent, at the end of the page.
const MISSING: &str = "\n## Without an equivalent\n";
/// Rows there must be fewer.
const MAX_MISSING: usize = 20;
/// Crates whose names are not those of Drystone.
const OTHERS: [&str; 4] = ["std", "glam", "f32", "wgpu"];

/// Public names and tests of the workspace.
#[derive(Default)]
struct Known {
    /// Public types.
    types: BTreeSet<String>,
    /// Public methods, fields and variants, as `Type::item`, and public names of files, as `file::name`.
    items: BTreeSet<String>,
    /// Texts of files, by the path of their module.
    modules: BTreeMap<String, String>,
}

impl Known {
    fn new() -> Self {
        let mut known = Self::default();
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let crates = fs::read_dir(root.join("crates")).unwrap().map(|entry| entry.unwrap().path());
        for package in crates.chain([root.to_owned()]) {
            for folder in ["src", "tests"] {
                known.read(&package.join(folder), "");
            }
        }
        let verbs = known.modules["host::verbs"].lines().filter_map(|line| name_after(line, "        pub fn "));
        known.items.extend(verbs.map(|verb| format!("World::{verb}")).collect::<Vec<_>>());
        known
    }

    /// Reads the sources in a folder, whose module has this path.
    fn read(&mut self, folder: &Path, module: &str) {
        let Ok(entries) = fs::read_dir(folder) else { return };
        for path in entries.map(|entry| entry.unwrap().path()) {
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            let own = if module.is_empty() { name.clone() } else { format!("{module}::{name}") };
            if path.is_dir() {
                self.read(&path, &own);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                let above = folder.file_name().unwrap().to_str().unwrap();
                for file in [name.as_str(), above] {
                    self.add(file, &text);
                }
                let own = if name == "mod" { module } else { &own };
                self.modules.entry(own.to_owned()).or_default().push_str(&text);
            }
        }
    }

    /// Adds the public names of one file, laid out by rustfmt.
    fn add(&mut self, file: &str, text: &str) {
        let (mut of, mut start) = ("", "");
        for line in text.lines() {
            if line == "}" {
                of = "";
            } else if let Some((kind, name)) = head(line) {
                (start, of) = (member_start(kind), name);
                if kind != "impl" {
                    self.types.insert(name.to_owned());
                }
            } else if let Some(rest) = line.strip_prefix(start).filter(|_| !of.is_empty()) {
                let rest = rest.strip_prefix("const ").unwrap_or(rest);
                let name = rest.strip_prefix("fn ").unwrap_or(rest).split(['(', '<', ':', ',', ' ']).next().unwrap();
                self.items.insert(format!("{of}::{name}"));
            }
            if let Some(rest) = line.strip_prefix("pub ") {
                let names = rest.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|name| !name.is_empty());
                self.items.extend(names.map(|name| format!("{file}::{name}")));
            }
        }
    }

    fn has_name(&self, name: &str) -> bool {
        let parts: Vec<&str> = name.split("::").collect();
        match parts[..] {
            [first, ..] if OTHERS.contains(&first) => true,
            // Names of a crate are those of its `lib.rs`.
            [owner, item] if owner.starts_with("drystone") => self.items.contains(&format!("lib::{item}")),
            [.., owner, item] => self.items.contains(&format!("{owner}::{item}")),
            _ => self.types.contains(name),
        }
    }

    fn has_test(&self, test: &str) -> bool {
        let Some((module, name)) = test.rsplit_once("::") else { return false };
        let Some(text) = self.modules.get(module).map(String::as_str).or_else(|| self.inner(module)) else {
            return false;
        };
        let is_on_backends = text.contains(&format!("\nfn {name}(backend: Backend) {{\n"));
        let is_test = text.split("#[test]\n").skip(1).any(|rest| name_after(rest.trim_start(), "fn ") == Some(name));
        is_test || is_on_backends
    }

    /// Text of a module within a file.
    fn inner(&self, module: &str) -> Option<&str> {
        let (file, name) = module.rsplit_once("::")?;
        let (_, text) = self.modules.get(file)?.split_once(&format!("\nmod {name} {{\n"))?;
        text.split("\n}\n").next()
    }
}

/// Name that follows a prefix of a text.
fn name_after<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    text.strip_prefix(prefix)?.split(['(', '<']).next()
}

/// Kind and name of the type that a line begins to define; of a trait for a type, none.
fn head(line: &str) -> Option<(&str, &str)> {
    let (kind, rest) = line.strip_prefix("pub ").unwrap_or(line).split_once([' ', '<'])?;
    let is_public = line.starts_with("pub ");
    match kind {
        "impl" if !rest.contains(" for ") => {
            let rest = if line.starts_with("impl<") { rest.split_once("> ")?.1 } else { rest };
            Some((kind, rest.split([' ', '<']).next()?))
        }
        "struct" | "enum" | "trait" if is_public => Some((kind, rest.split([' ', '<', '(', ';', ':']).next()?)),
        _ => None,
    }
}

/// Beginning of a line with a public member.
fn member_start(kind: &str) -> &'static str {
    match kind {
        "enum" => "    ",
        "trait" => "    fn ",
        _ => "    pub ",
    }
}

/// Rows of the tables in a part of the page, without their heads.
fn rows(part: &str) -> Vec<Vec<&str>> {
    let lines: Vec<&str> = part.lines().collect();
    let is_head = |index: usize| lines.get(index + 1).is_some_and(|line| line.starts_with("|---"));
    let is_row = |(index, line): &(usize, &&str)| line.starts_with("| ") && !is_head(*index);
    let rows = lines.iter().enumerate().filter(is_row);
    rows.map(|(_, line)| line.trim_matches('|').split(" | ").map(str::trim).collect()).collect()
}

/// Code spans of a cell.
fn spans(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

/// Names in a code span that are paths, or types.
fn names(span: &str) -> impl Iterator<Item = &str> {
    let words = span.split(|c: char| !c.is_alphanumeric() && c != '_' && c != ':').map(|word| word.trim_matches(':'));
    words.filter(|word| word.contains("::") || word.starts_with(|first: char| first.is_uppercase()))
}

/// Functions of Box2D in a part of the page.
fn functions(part: &str) -> Vec<&str> {
    let cells = rows(part).into_iter().flatten();
    cells.flat_map(spans).filter(|span| span.starts_with("b2")).collect()
}

/// Describes each name that does not exist, and each count that is wrong.
fn faults(page: &str, known: &Known) -> Vec<String> {
    let mut faults = Vec::new();
    let (tables, missing) = page.split_once(MISSING).expect("the calls without an equivalent");
    for row in rows(tables) {
        let [call, ours, tests] = row[..] else {
            faults.push(format!("{row:?} has not three cells"));
            continue;
        };
        let found: Vec<&str> = spans(ours).flat_map(names).collect();
        if found.is_empty() || spans(tests).next().is_none() {
            faults.push(format!("{call}: no name or no test"));
        }
        let unknown = found.into_iter().filter(|name| !known.has_name(name));
        faults.extend(unknown.map(|name| format!("{call}: there is no {name}")));
        let untested = spans(tests).filter(|test| !known.has_test(test));
        faults.extend(untested.map(|test| format!("{call}: there is no test {test}")));
    }
    let reasons = rows(missing);
    if reasons.len() >= MAX_MISSING {
        faults.push(format!("{} rows have no equivalent, not fewer than {MAX_MISSING}", reasons.len()));
    }
    let bare = reasons.iter().filter(|row| row.len() != 4 || row[3].len() < 20);
    faults.extend(bare.map(|row| format!("{row:?}: no reason")));
    let words = reasons.iter().flat_map(|row| row.iter().skip(3)).flat_map(|reason| spans(reason)).flat_map(names);
    faults.extend(words.filter(|name| !known.has_name(name)).map(|name| format!("a reason: there is no {name}")));
    let all = functions(page);
    let mut seen = BTreeSet::new();
    faults.extend(all.iter().filter(|name| !seen.insert(**name)).map(|name| format!("{name} is there twice")));
    for stated in [format!("declares {} functions", all.len()), format!("; {} of them have", functions(missing).len())]
    {
        if !page.contains(&stated) {
            faults.push(format!("the page does not say that Box2D {stated:?}"));
        }
    }
    faults
}

fn page() -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE)).unwrap()
}

#[test]
fn every_call_has_an_equivalent_and_a_test() {
    let page = page();
    let faults = faults(&page, &Known::new());
    assert!(functions(&page).len() > 450, "only {} functions", functions(&page).len());
    assert!(faults.is_empty(), "{} faults in {PAGE}:\n{}", faults.len(), faults.join("\n"));
}

/// Negative controls: each kind of fault is found in a changed page.
#[test]
fn a_wrong_name_is_noticed() {
    let (page, known) = (page(), Known::new());
    for (from, to, complaint) in [
        ("`World::set_gravity`", "`World::set_gravitas`", "there is no World::set_gravitas"),
        ("`Settings::sleep`", "`Settings::asleep`", "there is no Settings::asleep"),
        ("`Property::Bullet`", "`Property::Shell`", "there is no Property::Shell"),
        ("`low_level::state::hash`", "`low_level::state::dash`", "there is no low_level::state::dash"),
        ("`BodyView::mass`", "`BodyVie`", "there is no BodyVie"),
        ("`queries::filters_select_shapes`", "`queries::filters`", "there is no test queries::filters"),
        ("`queries::filters_select_shapes`", "`queries::start`", "there is no test queries::start"),
        ("`queries::filters_select_shapes`", "–", "no name or no test"),
        ("`Settings::mass_scaling`", "`Settings::mass`", "a reason: there is no Settings::mass"),
        ("`b2World_Step`", "`b2CreateWorld`", "b2CreateWorld is there twice"),
        ("`b2World_Step`", "the step", "does not say that Box2D \"declares"),
        (MISSING, "\n## Without an equivalent\n\n| a | `b2A` | – | no |\n", "no reason"),
    ] {
        let changed = page.replacen(from, to, 1);
        assert_ne!(changed, page, "{from} is not on the page");
        let found = faults(&changed, &known);
        assert!(found.iter().any(|fault| fault.contains(complaint)), "{from} to {to}: {found:?}");
    }
}

#[test]
fn names_are_found_where_they_are() {
    let mut known = Known::default();
    known.add(
        "a",
        "pub struct B<T> {\n    pub c: T,\n    d: u8,\n}\nimpl<'a> B<'a> {\n    pub const fn e() {}\n    fn f() {}\n}\n\
         impl Clone for B {\n    fn g() {}\n}\npub enum H {\n    /// I.\n    I,\n    J(u8),\n}\nenum K {\n    L,\n}\n\
         pub trait M {\n    fn n(&self);\n}\npub use o::{P, q};\n",
    );
    for name in ["B::c", "B::e", "H::I", "H::J", "M::n", "a::q", "B", "M", "std::mem::drop", "x::B::c"] {
        assert!(known.has_name(name), "{name}");
    }
    for name in ["B::d", "B::f", "B::g", "K::L", "K", "L", "a::f", "H::K"] {
        assert!(!known.has_name(name), "{name}");
    }
    assert_eq!(rows("| a | b |\n|---|---|\n| `c` | d `e` |\n"), [["`c`", "d `e`"]]);
    assert_eq!(names("World::set(id, Property::Kind(kind))").collect::<Vec<_>>(), ["World::set", "Property::Kind"]);
}
