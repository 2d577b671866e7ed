//! Contact rules: functions that a user writes in WGSL, checked and run on the CPU.
//!
//! A rule is a few lines of WGSL that the solver compiles into its kernels on a GPU. The CPU engine runs the same text:
//! [`RuleProgram::new`] parses it, refuses all that could run without end or reach outside the function, and translates
//! it to a flat list of instructions; [`RuleProgram::call`] runs them. [`contact_rule`] makes a rule for a scene.
//!
//! ```
//! let prelude = "struct Contact { friction: f32, speed: f32 }";
//! let text = "
//!     fn rule(contact: Contact) -> Contact {
//!         var result = contact;
//!         if contact.speed > 0.1 { result.friction *= 0.5; }
//!         return result;
//!     }";
//! let program = drystone_rules::RuleProgram::new(prelude, text, "rule", "Contact")?;
//! let value: Vec<u8> = [0.8_f32, 2.0].iter().flat_map(|number| number.to_le_bytes()).collect();
//! let mut result = [0; 8];
//! program.call(&value, &mut result);
//! assert_eq!(result[..4], 0.4_f32.to_le_bytes());
//!
//! let error = drystone_rules::RuleProgram::new(prelude, "fn rule() {\n  loop {}\n}", "rule", "Contact").unwrap_err();
//! assert_eq!(error.to_string(), "line 2, column 3: `loop` is not allowed: loops could run without end");
//! # Ok::<(), drystone_rules::RuleError>(())
//! ```
//!
//! # Language
//!
//! A text may declare functions, constants and structs. Types are `bool`, `i32`, `u32`, `f32`, vectors of them, arrays
//! of these with a constant length, and structs. Statements are declarations, assignments, `if`, `switch`, `return`
//! and calls; all operators and numeric built-in functions of WGSL are available, except those that pack, unpack,
//! split or use matrices.
//!
//! Arithmetic is that of WGSL: integers wrap, `x / 0` is `x` and `x % 0` is 0, shifts use the lowest 5 bits of the
//! right side, indices are clamped to the array, and conversions of floats to integers are clamped. Floats are
//! computed in single precision in the order of the text, without fusing; a GPU may differ by rounding.
//!
//! # Limits
//!
//! All limits are checked before the text runs; they bound stack, memory and time of parser, shader compiler and rule.
//! A text has at most 4,096 bytes and 64 declarations, nests brackets and blocks 24 deep and has 128 operators in an
//! expression. Arrays are written `array<T, N>`, with a scalar or vector `T` and a number `N` up to 256; members of
//! structs are scalars, vectors, arrays, or structs of the prelude. Calls nest 16 deep; a rule runs at most 10,000
//! operations, those of called functions included, and holds 2,048 numbers at a time.

mod check;
mod code;
mod compile;
mod contact_rule;
mod error;
mod expressions;
mod math;
mod messages;
mod numbers;
mod run;
mod scan;
mod types;
mod words;

use std::sync::Arc;

pub use contact_rule::contact_rule;
pub use error::{Position, RuleError};

/// Largest length of a text, bytes.
pub const MAX_TEXT_BYTES: usize = 4096;

/// Checked function of a WGSL text, ready to run. Clones share their instructions.
#[derive(Clone, Debug)]
pub struct RuleProgram {
    code: Arc<code::RuleCode>,
}

impl RuleProgram {
    /// Parses and checks `text`.
    ///
    /// `prelude` is trusted WGSL text with the structs, constants and functions that `text` may use. `function` is the
    /// name of a function of `text` that takes one value of the struct `structure` and returns another. Functions that
    /// `function` does not call are checked, too.
    ///
    /// # Errors
    ///
    /// Returns the first reason for which the text is refused, with its position in `text`.
    pub fn new(prelude: &str, text: &str, function: &str, structure: &str) -> Result<Self, RuleError> {
        scan::check(prelude, text)?;
        let code = check::compile(prelude, text, function, structure)?;
        Ok(Self { code: Arc::new(code) })
    }

    /// Runs the function on `value` and writes its `result`.
    ///
    /// Both are the bytes of the struct in WGSL's layout, little-endian, [`size`](Self::size) bytes long. Missing bytes
    /// of `value` are 0; bytes of `result` that no member has are set to 0. Does not allocate and never panics; time is
    /// bounded, as instructions run at most once each.
    pub fn call(&self, value: &[u8], result: &mut [u8]) {
        run::call(&self.code, value, result);
    }

    /// Returns the size of the struct, bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        self.code.span
    }
}
