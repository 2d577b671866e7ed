//! Checks of a text before it is parsed: words that rules do not have, names that are taken, and depth of nesting.
//!
//! The parser, the validator and shader compilers work recursively. A text of a few kilobytes can nest so deeply that
//! they overflow the stack, and doubles the size of a type with each struct that holds two others. The limits here
//! exclude both.

use std::collections::HashSet;

use crate::error::{Position, RuleError};
use crate::words;

/// Largest depth of nesting: brackets, blocks and branches of an `else if` chain.
const MAX_NESTING: usize = 24;
/// Largest number of operators, member accesses and calls in sequence, in all expressions that are open at a place.
const MAX_CHAIN: usize = 128;
/// Largest number of functions, constants and structs.
const MAX_DECLARATIONS: usize = 64;
/// Largest number of elements of an array.
const MAX_ARRAY: usize = 256;

/// Kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Word,
    Number,
    Symbol(u8),
}

/// Token of a text.
#[derive(Clone, Copy, Debug)]
struct WgslToken<'a> {
    kind: Kind,
    text: &'a str,
    offset: usize,
}

impl WgslToken<'_> {
    fn is(&self, symbol: u8) -> bool {
        self.kind == Kind::Symbol(symbol)
    }
}

/// Checks `text`, whose names must differ from those that `prelude` declares.
pub(crate) fn check(prelude: &str, text: &str) -> Result<(), RuleError> {
    if text.len() > crate::MAX_TEXT_BYTES {
        return Err(RuleError::TooLong { bytes: text.len() });
    }
    let tokens = tokens(text).map_err(|offset| forbidden_character(text, offset))?;
    let taken = prelude_names(prelude)?;
    let scan = Scan { text, tokens: &tokens };
    scan.words()?;
    scan.nesting()?;
    let declared = scan.declarations(&taken)?;
    scan.arrays()?;
    scan.members(&declared)
}

/// Names that `prelude` declares outside functions.
fn prelude_names(prelude: &str) -> Result<HashSet<&str>, RuleError> {
    let tokens = tokens(prelude).map_err(|offset| RuleError::Prelude {
        position: Position::at(prelude, offset),
        message: "expected ASCII characters outside comments".into(),
    })?;
    Ok(declarations(&tokens).map(|(_, name)| name.text).collect())
}

fn forbidden_character(text: &str, offset: usize) -> RuleError {
    let rest = &text[offset..];
    let (found, reason) = if rest.starts_with("/*") {
        ("/*".into(), "this comment has no end")
    } else {
        let found = rest.chars().next().unwrap_or(' ').escape_debug().to_string();
        (found, "expected letters, digits and signs of WGSL in ASCII; comments may have other letters")
    };
    RuleError::Forbidden { position: Position::at(text, offset), found, reason }
}

/// Line breaks of Unicode, which end a comment, and control characters except tab, line feed and carriage return.
fn is_hidden_break(character: char) -> bool {
    match character {
        '\t' | '\n' | '\r' => false,
        '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2028}' | '\u{2029}' | '\u{2066}'..='\u{2069}' => true,
        _ => character.is_control(),
    }
}

/// Splits a text into tokens, or returns the offset of a character that no token has.
fn tokens(text: &str) -> Result<Vec<WgslToken<'_>>, usize> {
    if let Some((offset, _)) = text.char_indices().find(|(_, character)| is_hidden_break(*character)) {
        return Err(offset);
    }
    let bytes = text.as_bytes();
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let rest = &bytes[at..];
        if byte.is_ascii_whitespace() {
            at += 1;
        } else if rest.starts_with(b"//") {
            at += rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')).unwrap_or(rest.len());
        } else if rest.starts_with(b"/*") {
            at += comment_length(rest).ok_or(at)?;
        } else if byte.is_ascii_graphic() {
            let is_word = byte.is_ascii_alphanumeric() || byte == b'_';
            let length = if is_word { word_length(rest) } else { 1 };
            let kind = match byte {
                _ if !is_word => Kind::Symbol(byte),
                b'0'..=b'9' => Kind::Number,
                _ => Kind::Word,
            };
            tokens.push(WgslToken { kind, text: &text[at..at + length], offset: at });
            at += length;
        } else {
            return Err(at);
        }
    }
    Ok(tokens)
}

fn word_length(rest: &[u8]) -> usize {
    rest.iter().position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_').unwrap_or(rest.len())
}

/// Length of the comment, which may contain others, at the start of `rest`. None if it has no end.
fn comment_length(rest: &[u8]) -> Option<usize> {
    let (mut depth, mut at) = (0, 0);
    while at < rest.len() {
        if rest[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return Some(at);
            }
        } else {
            at += 1;
        }
    }
    None
}

/// Keyword and name of each declaration outside functions.
fn declarations<'t, 'a>(tokens: &'t [WgslToken<'a>]) -> impl Iterator<Item = (&'t WgslToken<'a>, &'t WgslToken<'a>)> {
    let mut depth = 0_usize;
    tokens.iter().enumerate().filter_map(move |(index, token)| {
        match token.kind {
            Kind::Symbol(b'{') => depth += 1,
            Kind::Symbol(b'}') => depth = depth.saturating_sub(1),
            Kind::Word if depth == 0 => {
                let name = match token.text {
                    "fn" | "const" | "struct" | "alias" | "override" => tokens.get(index + 1),
                    "var" => tokens[index + 1..].iter().find(|token| is_variable_name(token)),
                    _ => None,
                };
                return name.map(|name| (token, name));
            }
            _ => {}
        }
        None
    })
}

fn is_variable_name(token: &WgslToken<'_>) -> bool {
    token.kind == Kind::Word
        && !matches!(token.text, "private" | "storage" | "uniform" | "workgroup" | "read" | "read_write")
}

/// Open bracket or block.
#[derive(Clone, Copy, Default)]
struct NestingLevel {
    /// Operators since the last separator.
    operators: usize,
    /// Branches of the `else if` chain.
    branches: usize,
}

struct Scan<'t, 'a> {
    text: &'a str,
    tokens: &'t [WgslToken<'a>],
}

impl Scan<'_, '_> {
    fn position(&self, token: &WgslToken<'_>) -> Position {
        Position::at(self.text, token.offset)
    }

    fn forbid(&self, token: &WgslToken<'_>, reason: &'static str) -> RuleError {
        RuleError::Forbidden { position: self.position(token), found: token.text.into(), reason }
    }

    fn words(&self) -> Result<(), RuleError> {
        for (index, token) in self.tokens.iter().enumerate() {
            let reason = match token.kind {
                Kind::Word if token.text == "var" && self.next_is(index, b'<') => Some(words::GLOBAL_VARIABLE),
                Kind::Word => words::forbidden(token.text),
                Kind::Number if token.text.contains(['h', 'l']) => Some("expected a number of 32 bits"),
                Kind::Symbol(b'@') => Some("a rule has no attributes and no entry points"),
                Kind::Symbol(b'"' | b'#' | b'$' | b'\'' | b'?' | b'\\' | b'`') => Some("WGSL does not have this sign"),
                _ => None,
            };
            if let Some(reason) = reason {
                return Err(self.forbid(token, reason));
            }
        }
        Ok(())
    }

    fn next_is(&self, index: usize, symbol: u8) -> bool {
        self.tokens.get(index + 1).is_some_and(|next| next.is(symbol))
    }

    fn nesting(&self) -> Result<(), RuleError> {
        let mut levels = vec![NestingLevel::default()];
        for (index, token) in self.tokens.iter().enumerate() {
            let Kind::Symbol(symbol) = token.kind else { continue };
            let level = levels.last_mut().expect("the outermost level stays");
            match symbol {
                b'{' => {
                    level.operators = 0;
                    levels.push(NestingLevel::default());
                }
                b'(' | b'[' => {
                    level.operators += 1;
                    levels.push(NestingLevel::default());
                }
                b'}' | b')' | b']' => {
                    if levels.len() > 1 {
                        levels.pop();
                    }
                    if symbol == b'}' {
                        let level = levels.last_mut().expect("the outermost level stays");
                        let is_continued = self.tokens.get(index + 1).is_some_and(|next| next.text == "else");
                        level.branches = if is_continued { level.branches + 1 } else { 0 };
                        level.operators = 0;
                    }
                }
                b',' | b';' | b':' => level.operators = 0,
                // The point of a number.
                b'.' if self.tokens.get(index + 1).is_none_or(|next| next.kind != Kind::Word) => {}
                _ => level.operators += 1,
            }
            let nesting = levels.len() - 1 + levels.iter().map(|level| level.branches).sum::<usize>();
            let chain = levels.iter().map(|level| level.operators).sum::<usize>();
            self.limit(token, "nested brackets, blocks and branches", nesting, MAX_NESTING)?;
            self.limit(token, "operators in one expression", chain, MAX_CHAIN)?;
        }
        Ok(())
    }

    fn limit(
        &self,
        token: &WgslToken<'_>,
        measure: &'static str,
        number: usize,
        limit: usize,
    ) -> Result<(), RuleError> {
        if number > limit {
            return Err(RuleError::TooComplex { position: self.position(token), measure, limit });
        }
        Ok(())
    }

    /// Returns the names of structs.
    fn declarations(&self, taken: &HashSet<&str>) -> Result<HashSet<&str>, RuleError> {
        let mut structs = HashSet::new();
        for (count, (keyword, name)) in declarations(self.tokens).enumerate() {
            self.limit(keyword, "declarations", count + 1, MAX_DECLARATIONS)?;
            if keyword.text == "var" {
                return Err(self.forbid(keyword, words::GLOBAL_VARIABLE));
            }
            let owner = match name.text {
                name if words::is_declared(name) => Some("WGSL"),
                name if taken.contains(name) => Some("the solver"),
                _ => None,
            };
            if let Some(owner) = owner {
                return Err(RuleError::NameTaken { position: self.position(name), name: name.text.into(), owner });
            }
            if keyword.text == "struct" {
                structs.insert(name.text);
            }
        }
        Ok(structs)
    }

    /// Arrays must have the form `array<T, N>`, T a scalar or vector and N a number.
    fn arrays(&self) -> Result<(), RuleError> {
        for (index, token) in self.tokens.iter().enumerate().filter(|(_, token)| token.text == "array") {
            let mut rest = self.tokens[index + 1..].iter();
            let mut next_is = |symbol: u8| rest.next().is_some_and(|token| token.is(symbol));
            let mut is_right = next_is(b'<');
            is_right &= rest.next().is_some_and(|token| words::is_number(token.text));
            let mut next = rest.next();
            if next.is_some_and(|token| token.is(b'<')) {
                is_right &= rest.next().is_some_and(|token| words::is_number(token.text));
                is_right &= rest.next().is_some_and(|token| token.is(b'>'));
                next = rest.next();
            }
            is_right &= next.is_some_and(|token| token.is(b','));
            let length = rest.next().filter(|token| token.kind == Kind::Number);
            is_right &= rest.next().is_some_and(|token| token.is(b'>') || token.is(b','));
            let Some(length) = length.filter(|_| is_right) else {
                return Err(self.forbid(token, "expected `array<T, N>` with a scalar or vector T and a number N"));
            };
            let number = length.text.trim_end_matches(['i', 'u']).parse().unwrap_or(usize::MAX);
            self.limit(length, "elements of an array", number, MAX_ARRAY)?;
        }
        Ok(())
    }

    /// Members of structs must not be structs of the text.
    fn members(&self, structs: &HashSet<&str>) -> Result<(), RuleError> {
        let mut is_struct = false;
        for (index, token) in self.tokens.iter().enumerate() {
            match token.kind {
                Kind::Word if token.text == "struct" => is_struct = true,
                Kind::Symbol(b'}') => is_struct = false,
                Kind::Symbol(b':') if is_struct => {
                    if let Some(member) = self.tokens.get(index + 1).filter(|next| structs.contains(next.text)) {
                        return Err(
                            self.forbid(member, "members are scalars, vectors, arrays or structs of the solver")
                        );
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
}
