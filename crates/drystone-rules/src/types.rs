//! Sizes and layouts of types.
//!
//! In registers all types are packed: a boolean, a number and each component of a vector take one register. Bytes of
//! the argument and the result have WGSL's layout, with gaps.

use naga::{ArraySize, Module, Scalar, ScalarKind, TypeInner};

use crate::code::{Register, WordSpan};
use crate::run::MAX_REGISTERS;

/// Reason for which the CPU cannot hold a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TypeFault {
    Unsupported,
    TooLarge,
}

/// Returns the number of registers of a type.
pub(crate) fn words(module: &Module, kind: &TypeInner) -> Result<u16, TypeFault> {
    let words = match kind {
        TypeInner::Scalar(scalar) if is_supported(*scalar) => 1,
        TypeInner::Vector { size, scalar } if is_supported(*scalar) => *size as usize,
        TypeInner::Array { base, size: ArraySize::Constant(length), .. } => {
            usize::from(words(module, &module.types[*base].inner)?).saturating_mul(length.get() as usize)
        }
        TypeInner::Struct { members, .. } => {
            let mut sum = 0_usize;
            for member in members {
                sum += usize::from(words(module, &module.types[member.ty].inner)?);
            }
            sum
        }
        _ => return Err(TypeFault::Unsupported),
    };
    u16::try_from(words).ok().filter(|_| words <= MAX_REGISTERS).ok_or(TypeFault::TooLarge)
}

fn is_supported(scalar: Scalar) -> bool {
    match scalar.kind {
        ScalarKind::Bool => true,
        ScalarKind::Sint | ScalarKind::Uint | ScalarKind::Float => scalar.width == 4,
        ScalarKind::AbstractInt | ScalarKind::AbstractFloat => false,
    }
}

/// Returns the offset in registers of a member, element or component.
pub(crate) fn part(module: &Module, kind: &TypeInner, index: u16) -> Result<u16, TypeFault> {
    match kind {
        TypeInner::Vector { .. } | TypeInner::ValuePointer { .. } => Ok(index),
        TypeInner::Array { .. } => Ok(element(module, kind)?.stride.saturating_mul(index)),
        TypeInner::Struct { members, .. } => {
            let mut offset = 0;
            for member in members.iter().take(usize::from(index)) {
                offset += words(module, &module.types[member.ty].inner)?;
            }
            Ok(offset)
        }
        _ => Err(TypeFault::Unsupported),
    }
}

/// Number of elements of an array or vector, and registers of each.
pub(crate) struct Elements {
    pub length: u32,
    pub stride: u16,
}

/// Returns number and size of the elements of an array or vector.
pub(crate) fn element(module: &Module, kind: &TypeInner) -> Result<Elements, TypeFault> {
    match kind {
        TypeInner::Vector { size, .. } | TypeInner::ValuePointer { size: Some(size), .. } => {
            Ok(Elements { length: *size as u32, stride: 1 })
        }
        TypeInner::Array { base, size: ArraySize::Constant(length), .. } => {
            Ok(Elements { length: length.get(), stride: words(module, &module.types[*base].inner)? })
        }
        _ => Err(TypeFault::Unsupported),
    }
}

/// Appends the fields of a type that starts at byte `offset`, in registers from `next` on. Adjacent fields are merged.
/// Booleans have no layout.
pub(crate) fn fields(
    module: &Module,
    kind: &TypeInner,
    offset: u32,
    next: &mut Register,
    fields_of: &mut Vec<WordSpan>,
) -> Result<(), TypeFault> {
    match kind {
        TypeInner::Scalar(scalar) | TypeInner::Vector { scalar, .. } if scalar.kind == ScalarKind::Bool => {
            Err(TypeFault::Unsupported)
        }
        TypeInner::Scalar(_) => {
            push(fields_of, offset, next, 1);
            Ok(())
        }
        TypeInner::Vector { size, .. } => {
            push(fields_of, offset, next, *size as u16);
            Ok(())
        }
        TypeInner::Array { base, size: ArraySize::Constant(length), stride } => {
            for index in 0..length.get() {
                fields(module, &module.types[*base].inner, offset + index * stride, next, fields_of)?;
            }
            Ok(())
        }
        TypeInner::Struct { members, .. } => {
            for member in members {
                fields(module, &module.types[member.ty].inner, offset + member.offset, next, fields_of)?;
            }
            Ok(())
        }
        _ => Err(TypeFault::Unsupported),
    }
}

fn push(fields: &mut Vec<WordSpan>, offset: u32, next: &mut Register, words: u16) {
    let register = *next;
    *next += words;
    match fields.last_mut() {
        Some(last) if last.offset + 4 * u32::from(last.words) == offset => last.words += words,
        _ => fields.push(WordSpan { offset, register, words }),
    }
}
