//! Compiles expressions.

use naga::{
    Arena, BinaryOperator, Expression, Handle, Literal, RelationalFunction, ScalarKind, Span, SwizzleComponent,
    TypeInner, UnaryOperator,
};

use crate::code::{Opcode, Register};
use crate::compile::{CallFrame, Compiler, Operand};
use crate::error::RuleError;
use crate::math::{self, Form};
use crate::run::MAX_REGISTERS;
use crate::types;

impl<'a> Compiler<'a> {
    /// Appends the instructions of an expression and returns its operand.
    pub(crate) fn expression(
        &mut self,
        frame: &mut CallFrame<'a>,
        expression: Handle<Expression>,
    ) -> Result<Operand, RuleError> {
        let span = frame.span(expression);
        if let Some(register) = self.constant_expression(&frame.function.expressions, expression, span)? {
            return Ok(Operand::Value(register));
        }
        let kind = frame.kind(self.module, expression);
        let value = match &frame.function.expressions[expression] {
            Expression::AccessIndex { base, index } => return self.access_index(frame, *base, *index, span),
            Expression::Access { base, index } => return self.access(frame, expression, *base, *index),
            Expression::Load { pointer } => {
                let words = self.words(kind, span)?;
                let pointer = self.operand(frame, *pointer)?;
                self.load(pointer, words, span)?
            }
            Expression::Compose { components, .. } => {
                let target = self.allocate(self.words(kind, span)?, span)?;
                let mut next = target;
                for component in components {
                    self.count(span)?;
                    let words = self.words(frame.kind(self.module, *component), span)?;
                    let value = self.value(frame, *component)?;
                    self.copy(next, value, words);
                    next += words;
                }
                target
            }
            Expression::Splat { size, value } => {
                let value = self.value(frame, *value)?;
                self.splat(value, *size as u16, span)?
            }
            Expression::Swizzle { size, vector, pattern } => {
                let vector = self.value(frame, *vector)?;
                let target = self.allocate(*size as u16, span)?;
                self.push(Opcode::Swizzle, *size as u16, target, [vector, 0, 0], packed(*pattern));
                target
            }
            Expression::Unary { op, expr } => self.unary(frame, *op, *expr, span)?,
            Expression::Binary { op, left, right } => self.binary(frame, *op, [*left, *right], span)?,
            Expression::Select { condition, accept, reject } => {
                let n = self.words(kind, span)?;
                let values = [*reject, *accept, *condition].map(Some);
                self.lanes(frame, Opcode::Select, n, values, span)?
            }
            Expression::Relational { fun, argument } => {
                let op = match fun {
                    RelationalFunction::All => Opcode::All,
                    RelationalFunction::Any => Opcode::Any,
                    _ => return Err(self.unsupported(span, "this built-in function")),
                };
                let n = self.words(frame.kind(self.module, *argument), span)?;
                let (argument, target) = (self.value(frame, *argument)?, self.allocate(1, span)?);
                self.push(op, n, target, [argument, 0, 0], 0);
                target
            }
            Expression::Math { fun, arg, arg1, arg2, arg3 } => {
                self.math(frame, *fun, *arg, [*arg1, *arg2, *arg3], expression)?
            }
            Expression::As { expr, kind, convert } => return self.conversion(frame, *expr, *kind, *convert, span),
            _ => return self.operand(frame, expression),
        };
        Ok(Operand::Value(value))
    }

    /// Returns registers with the value of a constant expression; None if it is not constant.
    pub(crate) fn constant_expression(
        &mut self,
        arena: &Arena<Expression>,
        expression: Handle<Expression>,
        span: Span,
    ) -> Result<Option<Register>, RuleError> {
        let mut words = Vec::new();
        if !self.constant_words(arena, expression, &mut words) {
            return Ok(None);
        }
        self.constant(&words, span).map(Some)
    }

    /// Appends the words of a constant expression. Returns false if it is not constant or too large.
    fn constant_words(&self, arena: &Arena<Expression>, expression: Handle<Expression>, words: &mut Vec<u32>) -> bool {
        if words.len() > MAX_REGISTERS {
            return false;
        }
        match &arena[expression] {
            Expression::Literal(literal) => {
                words.push(match *literal {
                    Literal::F32(value) => value.to_bits(),
                    Literal::U32(value) => value,
                    Literal::I32(value) => value.cast_unsigned(),
                    Literal::Bool(value) => u32::from(value),
                    _ => return false,
                });
                true
            }
            Expression::Constant(constant) => {
                self.constant_words(&self.module.global_expressions, self.module.constants[*constant].init, words)
            }
            Expression::ZeroValue(kind) => {
                let count = types::words(self.module, &self.module.types[*kind].inner);
                words.extend(std::iter::repeat_n(0, usize::from(count.unwrap_or(0))));
                count.is_ok()
            }
            Expression::Compose { components, .. } => {
                components.iter().all(|component| self.constant_words(arena, *component, words))
            }
            Expression::Splat { size, value } => {
                let start = words.len();
                let is_constant = self.constant_words(arena, *value, words);
                if let Some(value) = words.get(start).copied() {
                    words.resize(start + *size as usize, value);
                }
                is_constant
            }
            _ => false,
        }
    }

    /// Type that a value or a pointer has or points to.
    fn pointee<'b>(&'b self, frame: &'b CallFrame<'a>, expression: Handle<Expression>) -> &'b TypeInner {
        match frame.kind(self.module, expression) {
            TypeInner::Pointer { base, .. } => &self.module.types[*base].inner,
            other => other,
        }
    }

    fn access_index(
        &mut self,
        frame: &CallFrame<'a>,
        base: Handle<Expression>,
        index: u32,
        span: Span,
    ) -> Result<Operand, RuleError> {
        let part = types::part(self.module, self.pointee(frame, base), u16::try_from(index).unwrap_or(u16::MAX));
        let part = part.map_err(|fault| self.fault(fault, span))?;
        Ok(match self.operand(frame, base)? {
            Operand::Value(register) => Operand::Value(register + part),
            Operand::Pointer { base, offset } => Operand::Pointer { base: base + part, offset },
        })
    }

    fn access(
        &mut self,
        frame: &CallFrame<'a>,
        expression: Handle<Expression>,
        base: Handle<Expression>,
        index: Handle<Expression>,
    ) -> Result<Operand, RuleError> {
        let span = frame.span(expression);
        let elements = types::element(self.module, self.pointee(frame, base));
        let elements = elements.map_err(|fault| self.fault(fault, span))?;
        let index = self.value(frame, index)?;
        let operand = self.operand(frame, base)?;
        let (base, offset) = match operand {
            Operand::Value(register) => (register, None),
            Operand::Pointer { base, offset } => (base, offset),
        };
        let offset = match offset {
            Some(offset) => offset,
            None => self.constant(&[0], span)?,
        };
        let target = self.allocate(1, span)?;
        let immediate = u32::from(elements.stride) << 16 | (elements.length - 1);
        self.push(Opcode::Index, 1, target, [offset, index, 0], immediate);
        let pointer = Operand::Pointer { base, offset: Some(target) };
        if matches!(operand, Operand::Pointer { .. }) {
            return Ok(pointer);
        }
        let words = self.words(frame.kind(self.module, expression), span)?;
        self.load(pointer, words, span).map(Operand::Value)
    }

    /// Copies a value out of a variable.
    fn load(&mut self, pointer: Operand, words: u16, span: Span) -> Result<Register, RuleError> {
        let target = self.allocate(words, span)?;
        match pointer {
            Operand::Pointer { base, offset: None } => self.copy(target, base, words),
            Operand::Pointer { base, offset: Some(offset) } => {
                self.push(Opcode::LoadAt, words, target, [base, offset, 0], 0);
            }
            Operand::Value(_) => return Err(self.unsupported(span, "this expression")),
        }
        Ok(target)
    }

    fn splat(&mut self, value: Register, n: u16, span: Span) -> Result<Register, RuleError> {
        let target = self.allocate(n, span)?;
        self.push(Opcode::Splat, n, target, [value, 0, 0], 0);
        Ok(target)
    }

    /// Appends an operation on each of `n` components. Scalars count as vectors of equal components.
    fn lanes(
        &mut self,
        frame: &CallFrame<'a>,
        op: Opcode,
        n: u16,
        values: [Option<Handle<Expression>>; 3],
        span: Span,
    ) -> Result<Register, RuleError> {
        let mut registers = [0; 3];
        for (register, value) in registers.iter_mut().zip(values) {
            let Some(value) = value else { continue };
            *register = self.value(frame, value)?;
            if self.words(frame.kind(self.module, value), span)? < n {
                *register = self.splat(*register, n, span)?;
            }
        }
        let target = self.allocate(n, span)?;
        self.push(op, n, target, registers, 0);
        Ok(target)
    }

    fn scalar_kind(
        &self,
        frame: &CallFrame<'a>,
        expression: Handle<Expression>,
        span: Span,
    ) -> Result<ScalarKind, RuleError> {
        match frame.kind(self.module, expression) {
            TypeInner::Scalar(scalar) | TypeInner::Vector { scalar, .. } => Ok(scalar.kind),
            _ => Err(self.unsupported(span, "an operation on this type")),
        }
    }

    fn unary(
        &mut self,
        frame: &CallFrame<'a>,
        operator: UnaryOperator,
        value: Handle<Expression>,
        span: Span,
    ) -> Result<Register, RuleError> {
        let op = match (operator, self.scalar_kind(frame, value, span)?) {
            (UnaryOperator::Negate, ScalarKind::Float) => Opcode::NegF,
            (UnaryOperator::Negate, _) => Opcode::NegI,
            (UnaryOperator::LogicalNot, _) => Opcode::Not,
            (UnaryOperator::BitwiseNot, _) => Opcode::Complement,
        };
        let n = self.words(frame.kind(self.module, value), span)?;
        self.lanes(frame, op, n, [Some(value), None, None], span)
    }

    fn binary(
        &mut self,
        frame: &CallFrame<'a>,
        operator: BinaryOperator,
        [left, right]: [Handle<Expression>; 2],
        span: Span,
    ) -> Result<Register, RuleError> {
        let kind = self.scalar_kind(frame, left, span)?;
        self.scalar_kind(frame, right, span)?;
        let n = self.words(frame.kind(self.module, left), span)?;
        let n = n.max(self.words(frame.kind(self.module, right), span)?);
        let (op, is_swapped) = math::binary(operator, kind);
        let values = if is_swapped { [right, left] } else { [left, right] };
        self.lanes(frame, op, n, [Some(values[0]), Some(values[1]), None], span)
    }

    fn conversion(
        &mut self,
        frame: &CallFrame<'a>,
        value: Handle<Expression>,
        to: ScalarKind,
        width: Option<u8>,
        span: Span,
    ) -> Result<Operand, RuleError> {
        let from = self.scalar_kind(frame, value, span)?;
        let n = self.words(frame.kind(self.module, value), span)?;
        if width.is_some_and(|width| to != ScalarKind::Bool && width != 4) {
            return Err(self.unsupported(span, "this type"));
        }
        let op = match math::conversion(from, to) {
            Some(op) if width.is_some() => op,
            // The bits stay.
            _ => return self.operand(frame, value),
        };
        self.lanes(frame, op, n, [Some(value), None, None], span).map(Operand::Value)
    }

    fn math(
        &mut self,
        frame: &CallFrame<'a>,
        function: naga::MathFunction,
        first: Handle<Expression>,
        [second, third, fourth]: [Option<Handle<Expression>>; 3],
        expression: Handle<Expression>,
    ) -> Result<Register, RuleError> {
        let span = frame.span(expression);
        let kind = self.scalar_kind(frame, first, span)?;
        let Some((op, form)) = math::function(function, kind) else {
            return Err(self.unsupported(span, "this built-in function"));
        };
        let n = self.words(frame.kind(self.module, first), span)?;
        let words = self.words(frame.kind(self.module, expression), span)?;
        if form == Form::Lanes {
            return self.lanes(frame, op, words, [Some(first), second, third], span);
        }
        let mut registers = [0; 3];
        for (register, value) in registers.iter_mut().zip([Some(first), second, third]) {
            if let Some(value) = value {
                *register = self.value(frame, value)?;
            }
        }
        if let (Some(_), Some(fourth)) = (third, fourth) {
            // First bit and number of bits.
            let pair = self.allocate(2, span)?;
            let fourth = self.value(frame, fourth)?;
            self.copy(pair, registers[2], 1);
            self.copy(pair + 1, fourth, 1);
            registers[2] = pair;
        }
        let target = self.allocate(words, span)?;
        self.push(op, n, target, registers, 0);
        Ok(target)
    }
}

/// Components of a swizzle, one byte each.
fn packed(pattern: [SwizzleComponent; 4]) -> u32 {
    pattern.into_iter().rev().fold(0, |packed, component| packed << 8 | component as u32)
}
