//! Messages for texts that are not valid WGSL: in types of WGSL instead of numbers of the intermediate representation.

use std::error::Error;

use naga::common::wgsl::TypeContext;
use naga::front::wgsl::ParseError;
use naga::valid::{CallError, ExpressionError, FunctionError, ValidationError};
use naga::{Handle, Module, Type, TypeInner};

/// Returns the parser's message with its notes, which list the expected types.
pub(crate) fn parsing(error: &ParseError) -> String {
    // Types that rules do not have.
    let is_other = |kind: &str| ["Abstract", "f16", "f64", "i64", "u64"].iter().any(|other| kind.contains(other));
    let (mut notes, mut types) = (String::new(), Vec::new());
    for note in error.notes() {
        match note.strip_prefix("allowed type: ") {
            Some(kind) if is_other(kind) => {}
            Some(kind) => types.push(kind),
            None => notes = format!("{notes}; {note}"),
        }
    }
    let space = if types.is_empty() { "" } else { " " };
    format!("{}{notes}{space}{}", error.message(), types.join(", "))
}

/// Returns the message for a fault that the validator found.
pub(crate) fn validation(module: &Module, error: &ValidationError) -> String {
    let message = match error {
        ValidationError::Function { source, .. } => function(module, source),
        _ => None,
    };
    message.unwrap_or_else(|| deepest(error))
}

fn function(module: &Module, error: &FunctionError) -> Option<String> {
    Some(match error {
        FunctionError::InvalidReturnType { expected_ty: Some(expected), .. } => {
            format!("expected to return `{}`", named(module, *expected))
        }
        FunctionError::InvalidReturnType { expected_ty: None, .. } => "expected to return no value".into(),
        FunctionError::InvalidIfType(_) => "expected a condition of type `bool`".into(),
        FunctionError::InvalidSwitchType(_) => "expected a selector of type `i32` or `u32`".into(),
        FunctionError::InvalidStoreTypes { .. } => "expected a value of the type of the variable".into(),
        FunctionError::InvalidStorePointer(_) => "expected a variable, declared by `var`".into(),
        FunctionError::InvalidCall { function, error } => {
            let name = module.functions[*function].name.as_deref().unwrap_or_default();
            match error {
                CallError::ArgumentType { index, required, .. } => {
                    format!("expected `{}` as argument {} of `{name}`", named(module, *required), index + 1)
                }
                CallError::ArgumentCount { required, seen } => {
                    format!("expected {required} arguments of `{name}`, found {seen}")
                }
                _ => return None,
            }
        }
        FunctionError::Expression { source, .. } => match source {
            ExpressionError::InvalidBinaryOperandTypes { lhs_type, rhs_type, .. } => {
                let (left, right) = (inner(module, lhs_type), inner(module, rhs_type));
                format!(
                    "this operator does not take `{left}` and `{right}`, expected equal types that it is defined for"
                )
            }
            ExpressionError::InvalidUnaryOperandType(..) => "this operator does not take a value of this type".into(),
            _ => return None,
        },
        _ => return None,
    })
}

fn named(module: &Module, kind: Handle<Type>) -> String {
    module.to_ctx().type_to_string(kind)
}

fn inner(module: &Module, kind: &TypeInner) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = module.to_ctx().write_type_inner(kind, &mut text);
    text
}

/// Message of the innermost error, which names the fault; those around it name function and expression by number.
fn deepest(error: &dyn Error) -> String {
    let mut deepest = error;
    while let Some(source) = deepest.source() {
        deepest = source;
    }
    deepest.to_string()
}
