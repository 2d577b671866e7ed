//! Test of the public items on which users may rely: it compares them with the list in tests/public_items.txt, so that
//! additions and removals are seen in a review.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// Most items outside `low_level`.
const MAX_ITEMS: usize = 340;
/// Environment variable that makes the test rewrite the list.
const REWRITE: &str = "DRYSTONE_WRITE_PUBLIC_ITEMS";

fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn sources(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            // Rows of tables, some of which have the names of public types.
            if !path.ends_with("src/types") {
                sources(&path, out);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") && !path.ends_with("gpu_absent.rs") {
            out.push(path);
        }
    }
}

/// Names that the crate's root exports, without `low_level`.
fn exported(lib: &str) -> BTreeSet<String> {
    let statements = lib.split(';').filter_map(|statement| statement.split_once("pub use ").map(|(_, path)| path));
    let names = |path: &str| -> Vec<String> {
        let list = path.split_once('{').map_or_else(|| path.rsplit("::").next().unwrap(), |(_, list)| list);
        let names = list.trim_end_matches(['}', '\n', ' ']).split(',').map(str::trim);
        names.filter(|name| !name.is_empty()).map(str::to_owned).collect()
    };
    let mut all: BTreeSet<String> = statements.flat_map(names).collect();
    for line in lib.lines() {
        let mut words = line.split([' ', ':', ';', '(']);
        if let (Some("pub"), Some("const" | "mod" | "fn"), Some(name)) = (words.next(), words.next(), words.next())
            && name != "low_level"
        {
            all.insert(name.to_owned());
        }
    }
    all
}

/// Methods in one file, laid out by rustfmt, of the types in `names`.
fn methods(text: &str, names: &BTreeSet<String>, out: &mut BTreeSet<String>) {
    let (mut of, mut is_hidden) = (None, false);
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("impl") {
            let rest = if rest.starts_with('<') {
                rest.split_once("> ").map_or("", |(_, rest)| rest)
            } else {
                rest.trim_start()
            };
            let name = rest.split([' ', '<']).next().unwrap_or_default();
            of = (!rest.contains(" for ") && names.contains(name)).then(|| name.to_owned());
        } else if line == "}" {
            of = None;
        } else if let (Some(of), "    world_verbs!();") = (&of, line) {
            out.extend(verbs().into_iter().map(|verb| format!("{of}::{verb}")));
        } else if let (Some(of), Some(rest)) = (&of, line.strip_prefix("    pub ")) {
            let rest = rest.strip_prefix("const ").unwrap_or(rest);
            let name = rest.strip_prefix("fn ").unwrap_or(rest).split(['(', '<', ':']).next().unwrap_or_default();
            if !std::mem::take(&mut is_hidden) {
                out.insert(format!("{of}::{name}"));
            }
        } else if line.trim_start().starts_with("#[doc(hidden)]") {
            is_hidden = true;
        } else if !line.trim_start().starts_with(['#', '/']) {
            is_hidden = false;
        }
    }
}

/// Methods that `world_verbs!` writes.
fn verbs() -> Vec<String> {
    let text = fs::read_to_string(root("src/host/verbs.rs")).unwrap();
    let heads = text.lines().filter_map(|line| line.strip_prefix("        pub fn "));
    heads.map(|head| head.split(['(', '<']).next().unwrap_or_default().to_owned()).collect()
}

fn public_items() -> BTreeSet<String> {
    let names = exported(&fs::read_to_string(root("src/lib.rs")).unwrap());
    let mut files = Vec::new();
    sources(&root("src"), &mut files);
    let mut items = names.clone();
    for file in &files {
        methods(&fs::read_to_string(file).unwrap(), &names, &mut items);
    }
    items
}

#[test]
fn public_items_are_those_of_the_list() {
    let items = public_items();
    println!("{} public items outside low_level", items.len());
    let text: String = items.iter().map(|item| format!("{item}\n")).collect();
    let list = root("tests/public_items.txt");
    if env::var_os(REWRITE).is_some() {
        fs::write(&list, &text).unwrap();
    }
    let listed = fs::read_to_string(&list).unwrap_or_default();
    let listed: BTreeSet<String> = listed.lines().map(str::to_owned).collect();
    let (new, gone): (Vec<_>, Vec<_>) = (items.difference(&listed).collect(), listed.difference(&items).collect());
    assert!(
        new.is_empty() && gone.is_empty(),
        "tests/public_items.txt lacks {new:?} and has {gone:?}; write it again with {REWRITE}=1 if that is meant"
    );
    assert!(items.len() <= MAX_ITEMS, "{} public items, at most {MAX_ITEMS}", items.len());
}

/// Negative control: public, hidden and private items are distinguished.
#[test]
fn items_are_found_where_they_are() {
    let lib = "pub mod low_level;\nmod cpu;\npub const X: u32 = 1;\npub use a::{B,\n    C};\npub use d::E;\n";
    let names = exported(lib);
    assert_eq!(names.iter().map(String::as_str).collect::<Vec<_>>(), ["B", "C", "E", "X"]);
    let text = "impl B {\n    pub fn seen(&self) {\n    }\n\n    fn own() {}\n\n    /// Docs.\n    #[doc(hidden)]\n    \
                #[must_use]\n    pub fn hidden() {}\n}\nimpl<'a> C<'a> {\n    pub const fn also<T>() {}\n}\n\
                impl Clone for B {\n}\nimpl E {\n    world_verbs!();\n}\nimpl Other {\n    pub fn other() {}\n}\n";
    let mut found = BTreeSet::new();
    methods(text, &names, &mut found);
    let by_hand: Vec<_> = found.iter().filter(|name| !name.starts_with("E::")).map(String::as_str).collect();
    assert_eq!(by_hand, ["B::seen", "C::also"]);
    assert!(found.contains("E::add_bodies") && found.contains("E::command"), "{found:?}");
}
