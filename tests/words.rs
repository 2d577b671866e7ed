//! The words of the sources: how docs begin, which words are not used, one name for one meaning. CONTRIBUTING.md has
//! the glossary.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// Folders of the workspace with sources.
const FOLDERS: [&str; 6] = ["src", "shaders", "crates", "tests", "examples", "benches"];
/// Further places with texts: pages, scripts, configuration.
const PROSE: [&str; 9] = [".ci", ".github", "benches", "crates", "deploy", "docs", "examples", "python", "schema"];
/// Endings of the files there that are read.
const PROSE_ENDINGS: [&str; 13] =
    ["md", "py", "js", "html", "css", "toml", "yaml", "yml", "conf", "service", "c", "json", "proto"];
/// Folders that are built or measured, not written.
const MADE: [&str; 5] = ["target", "html", "results", "bad_scenes", "node_modules"];
/// This file, which quotes the words.
const OWN: &str = "tests/words.rs";
/// Columns of a comment line.
const MAX_COLUMNS: usize = 120;
/// Share of the docs that may begin with one of [`OPENINGS`], %.
const MAX_OPENINGS: f64 = 1.0;

/// Words with which a doc does not begin: relative clauses, inversions, leftovers of a list.
const OPENINGS: [&str; 23] = [
    "What", "Who", "Whose", "Whom", "How", "Of", "As", "Whether", "One", "Ones", "Where", "Likewise", "So", "Nothing",
    "Nobody", "Somebody", "Nor", "Which", "That", "When", "If", "Because", "Ditto",
];
/// Beginnings of docs that mean nothing without the doc before.
const LEANING: [&str; 6] = ["Likewise", "The same", "Same as", "See the module", "See module", "Ditto"];
/// Prefixes of constants, and the ones in use instead.
const PREFIXES: [(&str, &str); 7] = [
    ("MOST_", "MAX_"),
    ("LEAST_", "MIN_"),
    ("FIRST_", "INITIAL_ or _START"),
    ("BIGGEST_", "MAX_"),
    ("LARGEST_", "MAX_"),
    ("SMALLEST_", "MIN_"),
    ("LONGEST_", "MAX_"),
];
/// Words and phrases that are not used in comments and texts.
const FORBIDDEN: [&str; 28] = [
    "whoever",
    "whatever",
    "somebody",
    "someone",
    "someone's",
    "nobody",
    "so many",
    "anew",
    "put by",
    "likewise",
    "all the while",
    "thereby",
    "thereof",
    "kin",
    "is told",
    "was told",
    "are told",
    "whereupon",
    "wherever",
    "whence",
    "all of a sudden",
    "for good",
    "hereby",
    "hereof",
    "therein",
    "thereupon",
    "whereby",
    "on its own account",
];

/// Types that are defined twice on purpose.
const TWICE: [(&str, &str); 3] = [
    ("GpuWorld", "src/gpu_absent.rs stands in for src/gpu.rs without the feature `gpu`"),
    ("Context", "src/gpu_absent.rs stands in for src/gpu.rs without the feature `gpu`"),
    ("Recorder", "src/host.rs has an empty one without the feature `gpu`"),
];
/// Where types may have the name of another: a reader of the libraries does not meet them.
const FREE_TYPES: [(&str, &str); 3] = [
    ("tests/", "tests are programs of their own"),
    ("examples/", "examples show one idea each, in a user's words"),
    ("benches/peers/", "a package of its own, which wraps Box2D and Rapier in their words"),
];

/// A source file.
struct Source {
    path: String,
    text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Code,
    Comment,
    Text,
}

/// Part of a source: code, a comment or a string literal.
#[derive(Debug)]
struct Piece<'a> {
    kind: Kind,
    /// Line of its first character, from 1.
    line: usize,
    text: &'a str,
}

/// Consecutive comment lines as one text.
struct Block {
    /// First line, from 1.
    line: usize,
    is_doc: bool,
    text: String,
}

/// All sources of the workspace, in the order of their paths.
fn sources() -> Vec<Source> {
    let mut found = Vec::new();
    for folder in FOLDERS {
        walk(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder), folder, &mut found);
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

fn walk(folder: &Path, name: &str, found: &mut Vec<Source>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let file = entry.file_name().into_string().unwrap();
        let path = format!("{name}/{file}");
        if entry.path().is_dir() {
            if file != "target" {
                walk(&entry.path(), &path, found);
            }
        } else if has_extension(&path, "rs") || has_extension(&path, "wgsl") {
            found.push(Source { text: fs::read_to_string(entry.path()).unwrap(), path });
        }
    }
}

/// Files with texts that are not sources: those of [`PROSE`] and of the root, and scripts, which have no ending.
fn prose() -> Vec<Source> {
    let mut found = Vec::new();
    let mut folders: Vec<_> = PROSE.iter().map(|&folder| folder.to_owned()).collect();
    folders.push(String::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(&folder)).unwrap().map(Result::unwrap) {
            let name = entry.file_name().into_string().unwrap();
            let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
            if entry.path().is_dir() {
                if !folder.is_empty() && !name.starts_with('.') && !MADE.contains(&name.as_str()) {
                    folders.push(path);
                }
            } else if PROSE_ENDINGS.iter().any(|ending| has_extension(&path, ending)) || folder == ".ci" {
                found.push(Source { text: fs::read_to_string(entry.path()).unwrap(), path });
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

/// Lines of a text with one of [`FORBIDDEN`], also across a break of lines.
fn forbidden_in_prose(source: &Source) -> Vec<String> {
    let lines: Vec<&str> = source.text.lines().collect();
    let mut found = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let (own, next) = (plain(line), lines.get(index + 1).map_or(String::new(), |next| plain(next)));
        let next = next.trim_start_matches(['#', '/', '*', '-', ' ']);
        for word in FORBIDDEN {
            let is_broken = word.contains(' ') && has_phrase(&format!("{own} {next}"), word) && !has_phrase(next, word);
            if has_phrase(&own, word) || is_broken {
                found.push(format!("{}:{}: {word:?} in {own:.100}", source.path, index + 1));
            }
        }
    }
    found
}

fn has_extension(path: &str, wanted: &str) -> bool {
    Path::new(path).extension().is_some_and(|extension| extension == wanted)
}

/// Length of a string or character literal at the start of a text, with its quotes.
fn literal_length(text: &str) -> Option<usize> {
    let body = text.trim_start_matches(['b', 'c']);
    let prefix = text.len() - body.len();
    if prefix > 1 {
        return None;
    }
    if let Some(raw) = body.strip_prefix('r') {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        let quoted = raw[hashes..].strip_prefix('"')?;
        let close = format!("\"{}", "#".repeat(hashes));
        let end = quoted.find(&close).map_or(quoted.len(), |at| at + close.len());
        return Some(prefix + 1 + hashes + 1 + end);
    }
    let quote = body.chars().next().filter(|first| matches!(first, '"' | '\''))?;
    let mut characters = body.char_indices().skip(1).peekable();
    while let Some((at, character)) = characters.next() {
        if character == '\\' {
            characters.next();
        } else if character == quote {
            // `''` is no character, and `'a, 'b` are lifetimes.
            return (quote == '"' || at > 1).then_some(prefix + at + 1);
        } else if quote == '\'' && (at > 1 && !body[1..].starts_with('\\')) {
            return None;
        }
    }
    None
}

/// Splits Rust or WGSL into code, comments and literals.
fn pieces(text: &str) -> Vec<Piece<'_>> {
    let (mut found, mut start, mut at, mut line) = (Vec::new(), 0, 0, 1);
    let mut was_name = false;
    while at < text.len() {
        let rest = &text[at..];
        let (kind, length) = if rest.starts_with("//") {
            (Kind::Comment, rest.find('\n').unwrap_or(rest.len()))
        } else if rest.starts_with("/*") {
            (Kind::Comment, rest.find("*/").map_or(rest.len(), |end| end + 2))
        } else if let Some(length) = (!was_name).then(|| literal_length(rest)).flatten() {
            (Kind::Text, length)
        } else {
            let character = rest.chars().next().unwrap();
            was_name = character.is_alphanumeric() || character == '_';
            at += character.len_utf8();
            continue;
        };
        for (kind, from, to) in [(Kind::Code, start, at), (kind, at, at + length)] {
            if from < to {
                found.push(Piece { kind, line, text: &text[from..to] });
                line += text[from..to].matches('\n').count();
            }
        }
        was_name = false;
        at += length;
        start = at;
    }
    found.push(Piece { kind: Kind::Code, line, text: &text[start..] });
    found
}

/// Comments of a source; lines that follow each other and begin alike are one block.
fn blocks(source: &Source) -> Vec<Block> {
    let mut found: Vec<(Block, usize, &str)> = Vec::new();
    for piece in pieces(&source.text).iter().filter(|piece| piece.kind == Kind::Comment) {
        let slashes = &piece.text[..piece.text.len() - piece.text.trim_start_matches(['/', '!', '*']).len()];
        let text = piece.text[slashes.len()..].trim();
        let is_doc = matches!(slashes, "///" | "//!");
        match found.last_mut() {
            Some((block, last, own)) if *last + 1 == piece.line && *own == slashes => {
                block.text.push(' ');
                block.text.push_str(text);
                *last = piece.line;
            }
            _ => found.push((Block { line: piece.line, is_doc, text: text.to_owned() }, piece.line, slashes)),
        }
    }
    found.into_iter().map(|(block, ..)| block).collect()
}

fn docs(source: &Source) -> impl Iterator<Item = Block> {
    blocks(source).into_iter().filter(|block| block.is_doc)
}

/// First word of a doc, without quotes and brackets around it.
fn opening(doc: &str) -> &str {
    let doc = doc.trim_start_matches(['`', '*', '[', '(', '"']);
    doc.split(|character: char| !character.is_alphabetic() && character != '\'').next().unwrap_or_default()
}

/// Returns true if a phrase is in a text, in any case and between word boundaries.
fn has_phrase(text: &str, phrase: &str) -> bool {
    let is_word = |character: Option<char>| character.is_some_and(|c| c.is_alphanumeric() || c == '_');
    text.match_indices(phrase)
        .any(|(at, _)| !is_word(text[..at].chars().next_back()) && !is_word(text[at + phrase.len()..].chars().next()))
}

/// Text in lower case, with single spaces, and without the breaks of long string literals.
fn plain(text: &str) -> String {
    let text = text.replace("\\\n", " ").to_lowercase();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Docs that begin with one of [`OPENINGS`], as `file:line: doc`.
fn odd_openings(source: &Source) -> Vec<String> {
    let odd = docs(source).filter(|doc| OPENINGS.contains(&opening(&doc.text)));
    odd.map(|doc| format!("{}:{}: {}", source.path, doc.line, doc.text)).collect()
}

/// Docs that do not stand alone.
fn leaning_docs(source: &Source) -> Vec<String> {
    let leans = |doc: &Block| {
        LEANING.iter().any(|start| {
            doc.text.strip_prefix(start).is_some_and(|rest| !rest.starts_with(|next: char| next.is_alphanumeric()))
        })
    };
    docs(source).filter(leans).map(|doc| format!("{}:{}: {}", source.path, doc.line, doc.text)).collect()
}

/// Name that a line defines as a type, at the outermost level of a file laid out by rustfmt.
fn type_of(line: &str) -> Option<&str> {
    if line.starts_with(' ') {
        return None;
    }
    let line = match line.strip_prefix("pub") {
        Some(rest) => rest.strip_prefix('(').map_or(rest, |rest| rest.split_once(')').map_or("", |(_, rest)| rest)),
        None => line,
    };
    let mut words = line.split_whitespace();
    let kind = words.next().filter(|word| matches!(*word, "struct" | "enum" | "trait" | "type" | "union"))?;
    let name = words.next()?.split(|character: char| !character.is_alphanumeric() && character != '_').next()?;
    (!kind.is_empty() && !name.is_empty()).then_some(name)
}

/// Names with more than one definition, but for [`TWICE`].
fn shared_names(sources: &[Source]) -> Vec<String> {
    let mut places: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let is_free = |path: &str| {
        FREE_TYPES.iter().any(|(folder, _)| path.starts_with(folder) || path.contains(&format!("/{folder}")))
            || path.ends_with("/tests.rs")
    };
    for source in sources.iter().filter(|source| has_extension(&source.path, "rs") && !is_free(&source.path)) {
        for (line, name) in (1..).zip(source.text.lines()).filter_map(|(line, text)| Some((line, type_of(text)?))) {
            places.entry(name).or_default().push(format!("{}:{line}", source.path));
        }
    }
    places.retain(|name, places| places.len() > 1 && !TWICE.iter().any(|(twice, _)| twice == name));
    places.into_iter().map(|(name, places)| format!("{name}: {}", places.join(", "))).collect()
}

/// Constants whose names begin with one of [`PREFIXES`].
fn odd_constants(source: &Source) -> Vec<String> {
    let mut found = Vec::new();
    for piece in pieces(&source.text).iter().filter(|piece| piece.kind == Kind::Code) {
        for (line, text) in (piece.line..).zip(piece.text.split('\n')) {
            let mut words = text.split(|character: char| !character.is_alphanumeric() && character != '_');
            let is_constant = |word: &&str| matches!(*word, "const" | "static");
            let Some(name) = words.find(is_constant).and_then(|_| words.next()) else { continue };
            if let Some((prefix, instead)) = PREFIXES.iter().find(|(prefix, _)| name.starts_with(prefix)) {
                found.push(format!("{}:{line}: {name}: write {instead} for {prefix}", source.path));
            }
        }
    }
    found
}

/// Comment lines that are too long. Rows of tables and what has no blank cannot be broken.
fn long_lines(source: &Source) -> Vec<String> {
    let lines: Vec<&str> = source.text.lines().collect();
    let mut found = Vec::new();
    for piece in pieces(&source.text).iter().filter(|piece| piece.kind == Kind::Comment) {
        let columns = lines[piece.line - 1].chars().count();
        let text = piece.text.trim_start_matches(['/', '!', ' ']);
        if columns > MAX_COLUMNS && !text.starts_with('|') && text.contains(' ') {
            found.push(format!("{}:{}: {columns} columns", source.path, piece.line));
        }
    }
    found
}

/// Comments and string literals with one of [`FORBIDDEN`]. Literals without a blank are names and paths, not prose.
fn forbidden_words(source: &Source) -> Vec<String> {
    if source.path == OWN {
        return Vec::new();
    }
    let mut texts: Vec<(usize, String)> =
        blocks(source).into_iter().map(|block| (block.line, plain(&block.text))).collect();
    let all = pieces(&source.text);
    let literals = all.iter().filter(|piece| piece.kind == Kind::Text && piece.text.contains(' '));
    texts.extend(literals.map(|piece| (piece.line, plain(piece.text))));
    let mut found = Vec::new();
    for (line, text) in texts {
        for word in FORBIDDEN.iter().filter(|word| has_phrase(&text, word)) {
            found.push(format!("{}:{line}: {word:?} in {text:.100}", source.path));
        }
    }
    found
}

/// Fails with one finding a line.
#[track_caller]
fn assert_none(what: &str, found: &[String]) {
    let list = found.iter().fold(String::new(), |mut list, line| {
        let _ = writeln!(list, "{line}");
        list
    });
    assert!(found.is_empty(), "{} {what}:\n{list}", found.len());
}

fn made_up(text: &str) -> Source {
    Source { path: "src/made_up.rs".to_owned(), text: text.to_owned() }
}

fn all(check: impl Fn(&Source) -> Vec<String>) -> Vec<String> {
    sources().iter().flat_map(check).collect()
}

#[test]
fn docs_begin_with_a_verb_or_a_noun() {
    let odd = all(odd_openings);
    let count: usize = sources().iter().map(|source| docs(source).count()).sum();
    let share = 100.0 * odd.len() as f64 / count as f64;
    println!("{} of {count} docs begin with a relative clause or an inversion: {share:.2} %", odd.len());
    assert!(count > 5_000, "only {count} docs were found");
    if share >= MAX_OPENINGS {
        assert_none(&format!("docs of {count} begin with a word of OPENINGS; at most {MAX_OPENINGS} % may"), &odd);
    }
}

#[test]
fn docs_stand_alone() {
    assert_none("docs mean nothing without another", &all(leaning_docs));
}

#[test]
fn a_type_name_has_one_meaning() {
    let sources = sources();
    assert_none("names are given to several types", &shared_names(&sources));
    for (name, reason) in TWICE {
        let text = |path: &str| &sources.iter().find(|source| source.path == path).unwrap().text;
        let path = reason.split(' ').next().unwrap();
        assert!(text(path).lines().any(|line| type_of(line.trim()) == Some(name)), "{name} is gone from {path}");
    }
}

#[test]
fn bounds_are_named_max_and_min() {
    assert_none("constants have another prefix", &all(odd_constants));
}

#[test]
fn comment_lines_are_not_too_long() {
    assert_none(&format!("comment lines have more than {MAX_COLUMNS} columns"), &all(long_lines));
}

#[test]
fn words_are_plain() {
    let mut found = all(forbidden_words);
    let prose = prose();
    assert!(prose.len() > 100, "only {} texts were found", prose.len());
    found.extend(prose.iter().flat_map(forbidden_in_prose));
    println!("{} sources and {} texts have {} words of FORBIDDEN", sources().len(), prose.len(), found.len());
    assert_none("places have a word of FORBIDDEN", &found);
}

/// Negative controls: each fault is found in a made-up source, and its correct form is not.
#[test]
fn faults_are_found() {
    let odd = made_up("/// What it is.\nstruct A;\n/// Width, m.\nstruct B;\n//! [`Of`] all.\n// What no doc says.\n");
    assert_eq!(odd_openings(&odd), ["src/made_up.rs:1: What it is.", "src/made_up.rs:5: [`Of`] all."]);

    let leaning =
        made_up("/// Likewise.\n/// Likewise\n\n/// The same, up.\n\n/// The samezone.\n\n/// Ditto\nfn a() {}\n");
    assert_eq!(leaning_docs(&leaning).len(), 3, "{:?}", leaning_docs(&leaning));

    let types = "pub struct A<T>(T);\n    struct Inner;\nenum B {}\npub(crate) type C = u8;\nfn f() {}\n";
    let names: Vec<_> = types.lines().filter_map(type_of).collect();
    assert_eq!(names, ["A", "B", "C"]);
    let twice = [made_up("pub struct A;\n"), made_up("pub(super) enum A {}\n"), made_up("pub enum Context {}\n")];
    assert_eq!(shared_names(&twice), ["A: src/made_up.rs:1, src/made_up.rs:1"]);
    let in_test = Source { path: "tests/a.rs".to_owned(), text: "struct A;\n".to_owned() };
    assert_eq!(shared_names(&[made_up("struct A;\n"), in_test]), [""; 0]);

    let constants =
        "const MOST_ROWS: u32 = 1;\npub static LEAST_X: u8 = 0;\nconst MAX_ROWS: u32 = 1;\nconst fn first() {}\n";
    assert_eq!(odd_constants(&made_up(constants)).len(), 2);
    assert_eq!(
        odd_constants(&Source { path: "a.wgsl".to_owned(), text: "const FIRST_A: u32 = 1u;".to_owned() }).len(),
        1
    );

    let long = format!("// {}\n/// | {0} |\n// {}\nlet a = 1; // {0}\n", "a b ".repeat(30), "x".repeat(130));
    let lines = long_lines(&made_up(&long));
    assert_eq!(lines, ["src/made_up.rs:1: 123 columns", "src/made_up.rs:4: 134 columns"]);

    let words = "// So\n// many bodies.\nlet somebody = \"Nobody \\\n  moved\";\n// Akin, anewt.\nlet c = '\"'; // anew\nlet id = \"/a/nobody\";\n";
    let found = forbidden_words(&made_up(words));
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(found[0].starts_with("src/made_up.rs:1: \"so many\""), "{found:?}");
    assert!(found[1].starts_with("src/made_up.rs:5: \"anew\""), "{found:?}");
    assert!(found[2].starts_with("src/made_up.rs:3: \"nobody\""), "{found:?}");

    let prose = made_up("Somebody\n# sees so\n# many, anewt.\n");
    let found = forbidden_in_prose(&prose);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].contains(":1: \"somebody\"") && found[1].contains(":2: \"so many\""), "{found:?}");
}

#[test]
fn sources_are_split_into_code_comments_and_literals() {
    let text = "let a = \"// no\"; // yes \"\nlet b: &'static str = r#\"a \"b\" c\"#; let c = '\\''; let d = b'\"'; /* e */ f::<'a>(\"\\\\\")";
    let of = |kind| pieces(text).iter().filter(|piece| piece.kind == kind).map(|piece| piece.text).collect::<Vec<_>>();
    assert_eq!(of(Kind::Comment), ["// yes \"", "/* e */"]);
    assert_eq!(of(Kind::Text), ["\"// no\"", "r#\"a \"b\" c\"#", "'\\''", "b'\"'", "\"\\\\\""]);
    let whole: String = pieces(text).iter().map(|piece| piece.text).collect();
    assert_eq!(whole, text);
}
