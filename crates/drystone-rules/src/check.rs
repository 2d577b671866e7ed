//! Parses a text together with its prelude, and finds the function to compile.

use naga::valid::{Capabilities, ModuleInfo, ValidationFlags, Validator};
use naga::{Function, Handle, Module, Span, Type, TypeInner};

use crate::code::RuleCode;
use crate::compile;
use crate::error::{Position, RuleError};
use crate::messages;

/// Prelude and text, one after the other as the parser reads them.
pub(crate) struct Source {
    whole: String,
    /// Offset of the text.
    start: usize,
}

impl Source {
    fn new(prelude: &str, text: &str) -> Self {
        Self { whole: format!("{prelude}\n{text}"), start: prelude.len() + 1 }
    }

    fn text(&self) -> &str {
        &self.whole[self.start..]
    }

    /// True if `span` is in the user's text.
    pub(crate) fn is_in_text(&self, span: Span) -> bool {
        span.to_range().is_some_and(|range| range.start >= self.start)
    }

    /// Returns the position of `span` in the user's text, or the start of the text if it is in the prelude.
    pub(crate) fn position(&self, span: Span) -> Position {
        let start = span.to_range().map_or(0, |range| range.start);
        Position::at(self.text(), start.saturating_sub(self.start))
    }

    /// Returns the error of the text, or of the prelude, for a fault at `span`.
    pub(crate) fn invalid(&self, span: Span, message: impl Into<String>) -> RuleError {
        let message = message.into();
        if self.is_in_text(span) || !span.is_defined() {
            RuleError::Invalid { position: self.position(span), message }
        } else {
            let start = span.to_range().map_or(0, |range| range.start);
            RuleError::Prelude { position: Position::at(&self.whole, start), message }
        }
    }

    /// Returns the error for a fault with several places: the first in the text counts.
    fn invalid_at(&self, spans: impl Iterator<Item = Span>, message: String) -> RuleError {
        let spans: Vec<Span> = spans.filter(Span::is_defined).collect();
        let span = spans.iter().find(|span| self.is_in_text(**span)).or(spans.first());
        self.invalid(span.copied().unwrap_or_default(), message)
    }
}

/// Parses, validates and compiles `function` of `text`.
pub(crate) fn compile(prelude: &str, text: &str, function: &str, structure: &str) -> Result<RuleCode, RuleError> {
    let source = Source::new(prelude, text);
    // The front end panics on some faulty texts.
    let parsed = std::panic::catch_unwind(|| parse(&source));
    let fault = "the parser fails on this text, expected valid WGSL";
    let (module, info) = parsed.unwrap_or_else(|_| Err(source.invalid(Span::default(), fault)))?;
    check_globals(&source, &module)?;
    let structure_type = find_struct(&source, &module, structure)?;
    let function = find_function(&source, &module, function, (structure, structure_type))?;
    compile::compile(&source, &module, &info, function, structure_type)
}

fn parse(source: &Source) -> Result<(Module, ModuleInfo), RuleError> {
    let module = naga::front::wgsl::parse_str(&source.whole)
        .map_err(|error| source.invalid_at(error.labels().map(|(span, _)| span), messages::parsing(&error)))?;
    let mut validator = Validator::new(ValidationFlags::all(), Capabilities::empty());
    let info = validator.validate(&module).map_err(|error| {
        let spans: Vec<Span> = error.spans().map(|(span, _)| *span).collect();
        source.invalid_at(spans.into_iter().rev(), messages::validation(&module, error.as_inner()))
    })?;
    Ok((module, info))
}

/// Refuses all that has a place outside functions. The scan refuses the words already.
fn check_globals(source: &Source, module: &Module) -> Result<(), RuleError> {
    let variables = module.global_variables.iter().map(|(handle, _)| module.global_variables.get_span(handle));
    let overrides = module.overrides.iter().map(|(handle, _)| module.overrides.get_span(handle));
    if let Some(span) = variables.chain(overrides).find(|span| source.is_in_text(*span)) {
        return Err(source.invalid(span, "a rule has no variables outside functions"));
    }
    if !module.entry_points.is_empty() {
        return Err(source.invalid(Span::default(), "a rule has no entry points"));
    }
    Ok(())
}

fn find_struct(source: &Source, module: &Module, name: &str) -> Result<Handle<Type>, RuleError> {
    let is_struct = |kind: &Type| kind.name.as_deref() == Some(name) && matches!(kind.inner, TypeInner::Struct { .. });
    let found = module.types.iter().find(|(_, kind)| is_struct(kind)).map(|(handle, _)| handle);
    found.ok_or_else(|| RuleError::Prelude {
        position: source.position(Span::default()),
        message: format!("expected a struct `{name}`"),
    })
}

fn find_function(
    source: &Source,
    module: &Module,
    name: &str,
    (structure, handle): (&str, Handle<Type>),
) -> Result<Handle<Function>, RuleError> {
    let is_function = |handle, function: &Function| {
        function.name.as_deref() == Some(name) && source.is_in_text(module.functions.get_span(handle))
    };
    let Some((found, function)) = module.functions.iter().find(|(handle, function)| is_function(*handle, function))
    else {
        return Err(RuleError::MissingFunction { function: name.into(), structure: structure.into() });
    };
    let takes = function.arguments.len() == 1 && function.arguments[0].ty == handle;
    let returns = function.result.as_ref().is_some_and(|result| result.ty == handle);
    if takes && returns {
        return Ok(found);
    }
    let position = source.position(module.functions.get_span(found));
    Err(RuleError::Signature { position, function: name.into(), structure: structure.into() })
}
