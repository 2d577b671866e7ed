//! Shader composer: combines WGSL files into modules, for the stages of a step, for drawing and for batches of worlds.
//!
//! A [`ShaderSource`] is a named WGSL file. It declares the files it depends on in lines of its own, which other WGSL
//! tools read as comments:
//!
//! ```text
//! //#import grid          the whole file `grid.wgsl`, once per module
//! //#functions solve      the functions of `solve.wgsl`: everything before its first entry point, without its bindings
//! ```
//!
//! `functions` is for a kernel that calls functions of other kernels with bindings of its own (`shaders/fused.wgsl`);
//! files imported by those are included without bindings, too. Unknown names, import cycles and malformed directives
//! are errors that name file and line.
//!
//! A [`Composed`] module is made in three passes, each optional:
//!
//! [`Patch`]es change the text of files, for tests that break a stage on purpose. A patch applies in every module that
//! includes the file.
//! [`Composer::compose`] resolves imports, depth first. Each file is included once per module.
//! [`Composed::batched`] turns the module for one world into one for many (`src/gpu/shader/batch.rs`).
//!
//! Each line of a module keeps its [`SourceLine`], so that errors of naga name the file and its line.
//!
//! Helpers that need a table of their importer call functions that the importer defines, as WGSL cannot pass pointers
//! to storage buffers: `sweep.wgsl` calls `each_constraint`, `union_find.wgsl` calls `parent_of`.

mod batch;

use std::borrow::Cow;
use std::error::Error;

use wgpu::naga;

pub(super) use batch::LAYERS;

/// WGSL file.
#[derive(Clone, Copy, Debug)]
pub struct ShaderSource {
    /// Name in imports: the file's stem, with a prefix where several crates have shaders (`draw/`).
    pub name: &'static str,
    /// Text of the file.
    pub text: &'static str,
}

/// Lists files of the calling crate's folder `shaders/` as [`ShaderSource`](crate::gpu::shader::ShaderSource)s:
/// `shader_sources!("draw/": "view", "palette")` names `shaders/view.wgsl` `draw/view`.
#[macro_export]
macro_rules! shader_sources {
    ($prefix:literal: $($name:literal),+ $(,)?) => {
        &[$($crate::low_level::gpu::shader::ShaderSource {
            name: concat!($prefix, $name),
            text: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/shaders/", $name, ".wgsl")),
        }),+]
    };
}

/// Files without entry points: tables, arithmetic, and helpers shared by several kernels.
pub const SHARED: &[ShaderSource] = shader_sources!("":
    "types", "math", "constants", "pose", "rope", "grid", "cells", "joined", "partners", "disc", "mass_scale", "outline", "hull", "sweep", "impact", "joint_sweep",
    "hub", "material", "own_rule", "rule_names", "prefix_sum", "union_find", "ray", "meeting", "constraint", "manifold_rows",
);

/// File in whose place the rule of a scene stands.
pub(super) const OWN_RULE: &str = "own_rule";

/// Files with entry points: the stages, and `scan`, `parity_copy`, `query`, `region` and `fused`. The name of an entry
/// point is that of its file, optionally followed by an underscore and more.
pub const SHADERS: &[ShaderSource] = shader_sources!("":
    "command", "quarantine", "bound", "bin", "scan", "pair", "match_contacts", "parity_copy", "collide", "rule", "wake", "collect_events", "color", "shares", "prepare",
    "prepare_joints", "warm_start", "warm_start_joints", "integrate_velocities", "solve_joints", "solve",
    "integrate_positions", "project_joints", "project", "restitution", "store_impulses", "continuous", "finalize", "sleep",
    "query", "region", "fused",
);

/// Shader that could not be composed or validated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShaderError {
    /// The WGSL of a module does not parse or validate.
    #[error("shader {shader}: {reason}")]
    Invalid {
        /// Name of the module.
        shader: String,
        /// Message of naga, with positions in the files.
        reason: String,
    },
    /// An import names a file that no library has.
    #[error("{place}: no shader file is named {name}: add it to its crate's list of sources, or correct the name")]
    Missing {
        /// Name in the import.
        name: String,
        /// Line of the import, as `file.wgsl:line`.
        place: String,
    },
    /// Imports form a cycle.
    #[error("{place}: import cycle: {path}; move the common parts to a third file")]
    Circle {
        /// Line of the import that closes the cycle, as `file.wgsl:line`.
        place: String,
        /// Files of the cycle, in the order of their imports.
        path: String,
    },
    /// A line looks like a directive and is malformed.
    #[error(
        "{place}: {line:?} is not a directive: expected //#import NAME or //#functions NAME, at the start of the line"
    )]
    Directive {
        /// Line, as `file.wgsl:line`.
        place: String,
        /// Text of the line.
        line: String,
    },
    /// A file that was included without its bindings is imported with them later.
    #[error("{place}: {name} is already in the module without its bindings: import it before the //#functions line")]
    Partial {
        /// Line of the import, as `file.wgsl:line`.
        place: String,
        /// Name in the import.
        name: String,
    },
    /// A patch does not match exactly once.
    #[error("patch for shader {shader}: found {count} times, expected once: {from}")]
    Patch {
        /// Name of the file.
        shader: String,
        /// Number of occurrences.
        count: usize,
        /// Text that was searched for.
        from: String,
    },
}

/// Change of a file's text, for tests that break a stage on purpose.
#[derive(Clone, Copy, Debug)]
pub struct Patch {
    /// Name of the file, such as `solve`.
    pub shader: &'static str,
    /// Text that occurs exactly once.
    pub from: &'static str,
    /// Replacement.
    pub to: &'static str,
}

/// Composer over libraries of files. If two libraries have the same name, the earlier one is used.
#[derive(Clone, Copy, Debug)]
pub struct Composer<'a> {
    libraries: &'a [&'static [ShaderSource]],
    patches: &'a [Patch],
    /// WGSL of the scene's rule, in place of `own_rule.wgsl`.
    rule: Option<&'a str>,
}

impl Composer<'static> {
    /// Composer of the solver's own shaders.
    pub const SOLVER: Self = Self::new(&[SHARED, SHADERS]);
}

impl<'a> Composer<'a> {
    /// Creates a composer over these libraries. With [`SHARED`] among them, shaders can read the tables of the solver.
    #[must_use]
    pub const fn new(libraries: &'a [&'static [ShaderSource]]) -> Self {
        Self { libraries, patches: &[], rule: None }
    }

    /// Adds patches, which are applied in order.
    #[must_use]
    pub const fn with_patches(self, patches: &'a [Patch]) -> Self {
        Self { patches, ..self }
    }

    /// Puts the WGSL of a scene's rule in place of the rule that changes nothing.
    #[must_use]
    pub const fn with_rule(self, rule: Option<&'a str>) -> Self {
        Self { rule, ..self }
    }

    /// Composes the module of a file and everything it imports.
    ///
    /// # Errors
    /// If an import names no file, is part of a cycle or is malformed, or if a patch of one of the files does not match
    /// exactly once.
    pub fn compose(&self, name: &str) -> Result<Composed, ShaderError> {
        let mut module = Composed { name: name.to_owned(), ..Composed::default() };
        self.include(name, false, &mut Vec::new(), &mut Vec::new(), &mut module)?;
        Ok(module)
    }

    /// Checks that every patch applies.
    ///
    /// # Errors
    /// If a patch does not match exactly once.
    pub fn check_patches(&self) -> Result<(), ShaderError> {
        for &Patch { shader, from, .. } in self.patches {
            let Some(source) = self.find(shader) else {
                return Err(ShaderError::Patch { shader: shader.to_owned(), count: 0, from: from.to_owned() });
            };
            self.text_of(source)?;
        }
        Ok(())
    }

    /// Returns a file by its name.
    fn find(&self, name: &str) -> Option<&'static ShaderSource> {
        self.libraries.iter().flat_map(|library| library.iter()).find(|source| source.name == name)
    }

    /// Returns the text of a file with its patches applied.
    fn text_of(&self, source: &ShaderSource) -> Result<Cow<'static, str>, ShaderError> {
        let mut text = Cow::Borrowed(source.text);
        for &Patch { shader, from, to } in self.patches.iter().filter(|patch| patch.shader == source.name) {
            let count = text.matches(from).count();
            if count != 1 {
                return Err(ShaderError::Patch { shader: shader.to_owned(), count, from: from.to_owned() });
            }
            text = Cow::Owned(text.replacen(from, to, 1));
        }
        Ok(text)
    }

    /// Appends a file after its imports. `path` holds the imports that led to it, `included` the files already in the
    /// module and whether they were included without bindings.
    fn include(
        &self,
        name: &str,
        functions: bool,
        path: &mut Vec<SourceLine>,
        included: &mut Vec<(&'static str, bool)>,
        module: &mut Composed,
    ) -> Result<(), ShaderError> {
        let place = || path.last().map_or_else(|| "composer".to_owned(), SourceLine::to_string);
        let Some(source) = self.find(name) else {
            return Err(ShaderError::Missing { name: name.to_owned(), place: place() });
        };
        if let Some(start) = path.iter().position(|place| place.file == source.name) {
            let files = path[start..].iter().map(|place| place.file).chain([source.name]);
            return Err(ShaderError::Circle { place: place(), path: files.collect::<Vec<_>>().join(" → ") });
        }
        if let Some(&(_, partly)) = included.iter().find(|(file, _)| *file == source.name) {
            let has_bindings = || source.text.lines().any(is_binding);
            if partly && !functions && has_bindings() {
                return Err(ShaderError::Partial { place: place(), name: name.to_owned() });
            }
            return Ok(());
        }
        if let Some(rule) = self.rule.filter(|_| source.name == OWN_RULE) {
            // Not one of our files: its comments are none of our directives.
            let places = (1..).map(|line| SourceLine { file: OWN_RULE, line });
            rule.lines().zip(places).for_each(|(line, place)| module.push(line, place));
            included.push((source.name, functions));
            return Ok(());
        }
        let text = self.text_of(source)?;
        for (place, line) in (1..).map(|line| SourceLine { file: source.name, line }).zip(text.lines()) {
            match directive(line) {
                Ok(None) if functions && is_entry_point(line) => break,
                Ok(None) if functions && is_binding(line) => {}
                Ok(None) => module.push(line, place),
                Ok(Some(directive)) => {
                    path.push(place);
                    self.include(directive.name, functions || directive.functions, path, included, module)?;
                    path.pop();
                }
                Err(()) => {
                    return Err(ShaderError::Directive { place: place.to_string(), line: line.to_owned() });
                }
            }
        }
        included.push((source.name, functions));
        Ok(())
    }
}

/// Line that includes another file.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Directive<'a> {
    name: &'a str,
    functions: bool,
}

/// Parses a line: `None` for plain WGSL, an error for a malformed directive.
fn directive(line: &str) -> Result<Option<Directive<'_>>, ()> {
    if !line.trim_start().trim_start_matches('/').trim_start().starts_with('#') {
        return Ok(None);
    }
    let (word, name) = line.strip_prefix("//#").and_then(|rest| rest.split_once(' ')).ok_or(())?;
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "_/".contains(c));
    match word {
        "import" | "functions" if is_name => Ok(Some(Directive { name, functions: word == "functions" })),
        _ => Err(()),
    }
}

fn is_binding(line: &str) -> bool {
    line.starts_with("@group(")
}

fn is_entry_point(line: &str) -> bool {
    ["@compute", "@vertex", "@fragment"].iter().any(|stage| line.starts_with(stage))
}

/// Position of a line in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceLine {
    /// Name of the file; empty for a generated line.
    pub file: &'static str,
    /// Number of the line, from 1.
    pub line: usize,
}

impl std::fmt::Display for SourceLine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { file, line } = self;
        if file.is_empty() { write!(f, "generated:{line}") } else { write!(f, "{file}.wgsl:{line}") }
    }
}

/// Text of a module, with the origin of every line.
#[derive(Clone, Debug, Default)]
pub struct Composed {
    name: String,
    text: String,
    /// Origin of each line.
    places: Vec<SourceLine>,
    strided: Vec<String>,
}

impl Composed {
    /// Creates a module from one file, for shaders without imports.
    #[must_use]
    pub fn from_text(name: &'static str, text: &str) -> Self {
        let mut module = Self { name: name.to_owned(), ..Self::default() };
        for (line, text) in (1..).zip(text.lines()) {
            module.push(text, SourceLine { file: name, line });
        }
        module
    }

    fn push(&mut self, line: &str, place: SourceLine) {
        self.text.push_str(line);
        self.text.push('\n');
        self.places.push(place);
    }

    /// Name of the file that the module was composed for.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the WGSL text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the origin of a line of the text, counted from 1.
    #[must_use]
    pub fn place(&self, line: usize) -> Option<SourceLine> {
        self.places.get(line.checked_sub(1)?).copied()
    }

    /// Returns the tables that hold rows of every world, in the order of the uniform `strides`. Empty before
    /// [`Composed::batched`].
    #[must_use]
    pub fn strided(&self) -> &[String] {
        &self.strided
    }

    /// Returns true if the module contains lines of this file.
    #[must_use]
    pub fn has(&self, file: &str) -> bool {
        self.places.iter().any(|place| place.file == file)
    }

    /// Parses and validates.
    ///
    /// # Errors
    /// If the WGSL is not valid; the message names file and line.
    pub fn module(&self) -> Result<(naga::Module, naga::valid::ModuleInfo), ShaderError> {
        self.module_with(naga::valid::Capabilities::all())
    }

    /// Parses and validates for a device that has these capabilities and no others.
    ///
    /// # Errors
    /// Those of [`Composed::module`].
    pub fn module_with(
        &self,
        capabilities: naga::valid::Capabilities,
    ) -> Result<(naga::Module, naga::valid::ModuleInfo), ShaderError> {
        let module = naga::front::wgsl::parse_str(&self.text)
            .map_err(|error| self.invalid(error.message(), error.labels().map(|(span, label)| (span, label.into()))))?;
        let info = naga::valid::Validator::new(naga::valid::ValidationFlags::all(), capabilities)
            .validate(&module)
            .map_err(|error| self.invalid(&chain(error.as_inner()), error.spans().cloned()))?;
        Ok((module, info))
    }

    /// Converts an error of naga: prefixes the first position, and appends each labelled position with its line of
    /// text.
    fn invalid(&self, message: &str, labels: impl Iterator<Item = (naga::Span, String)>) -> ShaderError {
        let mut reason = message.to_owned();
        let mut first = None;
        for (span, label) in labels.filter(|(span, _)| span.is_defined()) {
            let at = span.location(&self.text);
            let line = at.line_number as usize;
            let Some(place) = self.place(line) else { continue };
            let place = format!("{place}:{}", at.line_position);
            let text = self.text.lines().nth(line - 1).unwrap_or_default().trim();
            reason.push_str(&format!("\n  {place}: {label}\n    {text}"));
            first.get_or_insert(place);
        }
        if let Some(place) = first {
            reason = format!("{place}: {reason}");
        }
        ShaderError::Invalid { shader: self.name.clone(), reason }
    }
}

/// Returns the messages of an error and its causes.
fn chain(error: &dyn Error) -> String {
    let causes = std::iter::successors(Some(error), |&error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILES: &[ShaderSource] = &[
        ShaderSource { name: "base", text: "// base\nconst ONE: u32 = 1u;\n" },
        ShaderSource {
            name: "left",
            text: "// left\n//#import base\n@group(0) @binding(0) var<storage, read_write> table: array<u32>;\n\
                   fn left() -> u32 {\n    return ONE;\n}\n@compute @workgroup_size(1)\nfn left_main() {\n    table[0] = left();\n}\n",
        },
        ShaderSource { name: "right", text: "//#import base\nfn right() -> u32 {\n    return ONE;\n}\n" },
        ShaderSource {
            name: "both",
            text: "//#import left\n//#import right\nfn both() -> u32 {\n    return left() + right();\n}\n",
        },
        ShaderSource { name: "part", text: "//#functions left\nfn part() -> u32 {\n    return left();\n}\n" },
        ShaderSource { name: "late", text: "//#functions left\n//#import left\n" },
        ShaderSource { name: "bad", text: "//#import right\nfn bad() -> u32 {\n    return right() + 1.5;\n}\n" },
        ShaderSource { name: "odd", text: "//#import right\nfn odd() -> u32 {\n    retrun right();\n}\n" },
        ShaderSource { name: "lost", text: "fn lost() {}\n//#import nowhere\n" },
        ShaderSource { name: "round", text: "//#import about\n" },
        ShaderSource { name: "about", text: "//\n//#import round\n" },
    ];

    fn compose(name: &str) -> Result<Composed, ShaderError> {
        Composer::new(&[FILES]).compose(name)
    }

    fn message(name: &str) -> String {
        match compose(name).and_then(|composed| composed.module().map(|_| composed)) {
            Ok(composed) => panic!("{name} composes: {}", composed.text()),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn each_file_is_there_once_and_after_what_it_imports() {
        let both = compose("both").unwrap();
        let order: Vec<usize> = ["const ONE", "fn left()", "fn right()", "fn both()"]
            .iter()
            .map(|word| {
                assert_eq!(both.text().matches(word).count(), 1, "{word}");
                both.text().find(word).unwrap()
            })
            .collect();
        assert!(order.is_sorted(), "{}", both.text());
        both.module().unwrap();
    }

    #[test]
    fn functions_come_without_bindings_and_entry_points() {
        let part = compose("part").unwrap();
        assert!(part.text().contains("fn left()") && part.text().contains("const ONE"));
        assert!(!part.text().contains("@group") && !part.text().contains("@compute"), "{}", part.text());
        part.module().unwrap();
        assert!(compose("left").unwrap().text().contains("@compute"), "control");
        assert_eq!(
            message("late"),
            "late.wgsl:2: left is already in the module without its bindings: import it before the //#functions line"
        );
    }

    #[test]
    fn every_line_knows_its_place() {
        let both = compose("both").unwrap();
        for (line, text) in (1..).zip(both.text().lines()) {
            let place = both.place(line).unwrap();
            let file = FILES.iter().find(|file| file.name == place.file).unwrap();
            assert_eq!(file.text.lines().nth(place.line - 1), Some(text), "{place}");
        }
        assert_eq!(both.place(0), None);
        assert_eq!(both.place(both.text().lines().count() + 1), None);
    }

    #[test]
    fn errors_name_file_and_line() {
        assert_eq!(
            message("lost"),
            "lost.wgsl:2: no shader file is named nowhere: add it to its crate's list of sources, or correct the name"
        );
        assert_eq!(
            message("round"),
            "about.wgsl:2: import cycle: round → about → round; move the common parts to a third file"
        );
        let (bad, odd) = (message("bad"), message("odd"));
        assert!(bad.starts_with("shader bad: bad.wgsl:"), "{bad}");
        assert!(odd.starts_with("shader odd: odd.wgsl:3:"), "{odd}");
        assert!(odd.contains("retrun right();"), "{odd}");
    }

    #[test]
    fn a_line_like_a_directive_is_one_or_an_error() {
        assert_eq!(directive("//#import a_b/c2"), Ok(Some(Directive { name: "a_b/c2", functions: false })));
        assert_eq!(directive("//#functions a"), Ok(Some(Directive { name: "a", functions: true })));
        for plain in ["", "// import a", "let a = 1u; // #3", "/// a", "fn a() {"] {
            assert_eq!(directive(plain), Ok(None), "{plain}");
        }
        for wrong in
            ["#import a", "// #import a", "//#imports a", "//#import", "//#import ", "//#import a b", "  //#import a"]
        {
            assert_eq!(directive(wrong), Err(()), "{wrong}");
        }
    }

    #[test]
    fn patches_reach_every_module_that_the_file_is_in() {
        let patches = [Patch { shader: "base", from: "1u", to: "2u" }, Patch { shader: "base", from: "2u", to: "3u" }];
        let composer = Composer::new(&[FILES]).with_patches(&patches);
        composer.check_patches().unwrap();
        for name in ["left", "right", "both", "part"] {
            assert!(composer.compose(name).unwrap().text().contains("const ONE: u32 = 3u;"), "{name}");
            assert!(compose(name).unwrap().text().contains("const ONE: u32 = 1u;"), "{name}");
        }
        for (shader, from, count) in [("base", "4u", 0), ("left", "left", 4), ("nowhere", "1u", 0)] {
            let patches = [Patch { shader, from, to: "" }];
            let error = Composer::new(&[FILES]).with_patches(&patches).check_patches().unwrap_err();
            assert_eq!(error, ShaderError::Patch { shader: shader.into(), count, from: from.into() });
        }
    }

    /// Names are unique, and every file of the solver composes to a valid module with an entry point of its own.
    #[test]
    fn the_solver_composes() {
        let mut names: Vec<&str> = [SHARED, SHADERS].concat().iter().map(|source| source.name).collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
        for source in SHADERS {
            for composed in [
                Composer::SOLVER.compose(source.name).unwrap(),
                Composer::SOLVER.compose(source.name).unwrap().batched(),
            ] {
                let (module, _) = composed.module().unwrap_or_else(|error| panic!("{error}"));
                assert!(!module.entry_points.is_empty(), "{}", source.name);
            }
        }
        for source in SHARED {
            assert!(!source.text.lines().any(is_entry_point), "{} has an entry point", source.name);
        }
    }

    /// A batched module keeps the origin of every line, after the generated lines.
    #[test]
    fn a_batch_keeps_its_places() {
        for source in SHADERS {
            let one = Composer::SOLVER.compose(source.name).unwrap();
            let many = one.clone().batched();
            let made = many.places.iter().take_while(|place| place.file.is_empty()).count();
            assert_eq!(many.places[made..], one.places, "{}", source.name);
            assert_eq!(many.text().lines().count(), many.places.len(), "{}", source.name);
            for (line, text) in many.text().lines().enumerate().skip(made) {
                let word = |text: &str| text.split(|c: char| !c.is_alphanumeric()).next().map(str::to_owned);
                let original = one.text().lines().nth(line - made).unwrap();
                let original = original.split_once("//").map_or(original, |(code, _)| code);
                assert_eq!(word(text.trim_start()), word(original.trim_start()), "{}", source.name);
            }
        }
    }
}
