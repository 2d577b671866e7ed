//! Compiles a function of naga's IR to instructions.
//!
//! Calls are inlined: WGSL has no recursion. There are no loops, thus all jumps go forward. Expressions are evaluated
//! where the IR emits them, each into registers of its own. Those that a `let` names keep them until the block ends,
//! all others until the next assignment. Members of values and arguments of calls are not copied, as values do not
//! change.

use std::collections::{HashMap, HashSet};

use naga::valid::{FunctionInfo, ModuleInfo};
use naga::{Block, Expression, Function, Handle, Module, Span, Statement, SwitchCase, SwitchValue, Type, TypeInner};

use crate::check::Source;
use crate::code::{Instruction, Opcode, Register, RuleCode};
use crate::error::RuleError;
use crate::run::MAX_REGISTERS;
use crate::types::{self, TypeFault};

/// Largest number of statements and expressions to run in one call, branches not taken included.
const MAX_OPERATIONS: usize = 10_000;
/// Largest depth of calls.
const MAX_CALLS: usize = 16;
/// Bit of a register that is an index into the constants until compilation ends.
const CONSTANT: Register = 0x8000;

/// Operand of an expression.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Operand {
    /// First register of a value.
    Value(Register),
    /// First register of a variable; the register `offset` is added if there is one.
    Pointer { base: Register, offset: Option<Register> },
}

/// State of one inlined call.
pub(crate) struct CallFrame<'a> {
    pub function: &'a Function,
    pub info: &'a FunctionInfo,
    /// Operands of the expressions so far.
    operands: Vec<Option<Operand>>,
    /// Expressions of the open block that have no name, and their number before that block.
    temporaries: Vec<Handle<Expression>>,
    outer_temporaries: usize,
    /// First register after those that the open block must keep.
    kept: Register,
    arguments: Vec<Operand>,
    locals: Vec<Register>,
    /// Registers of the result: first and number.
    result: Option<(Register, u16)>,
    /// Jumps to the end of the function.
    returns: Vec<usize>,
    /// Jumps to the end of each open `switch`.
    breaks: Vec<Vec<usize>>,
}

impl CallFrame<'_> {
    pub(crate) fn span(&self, expression: Handle<Expression>) -> Span {
        self.function.expressions.get_span(expression)
    }

    pub(crate) fn kind<'b>(&'b self, module: &'b Module, expression: Handle<Expression>) -> &'b TypeInner {
        self.info[expression].ty.inner_with(&module.types)
    }
}

/// Compiler of one function and those that it calls.
pub(crate) struct Compiler<'a> {
    pub source: &'a Source,
    pub module: &'a Module,
    info: &'a ModuleInfo,
    instructions: Vec<Instruction>,
    pub constants: Vec<u32>,
    /// Register of each sequence of constants.
    pool: HashMap<Vec<u32>, Register>,
    /// Next free register, and the largest that has been so.
    next: Register,
    peak: Register,
    operations: usize,
    calls: usize,
    /// Largest destination of a jump so far.
    label: usize,
    compiled: HashSet<Handle<Function>>,
    /// Last place in the text, for limits that are exceeded in the prelude.
    place: Span,
}

/// Compiles `function`, and checks that all other functions of the text can be compiled.
pub(crate) fn compile(
    source: &Source,
    module: &Module,
    info: &ModuleInfo,
    function: Handle<Function>,
    structure: Handle<Type>,
) -> Result<RuleCode, RuleError> {
    let mut compiler = Compiler::new(source, module, info);
    let (argument, result) = compiler.root(function)?;
    let mut compiled = std::mem::take(&mut compiler.compiled);
    for (other, _) in module.functions.iter().rev() {
        if !compiled.contains(&other) && source.is_in_text(module.functions.get_span(other)) {
            let mut compiler = Compiler::new(source, module, info);
            compiler.root(other)?;
            compiled.extend(compiler.compiled);
        }
    }
    compiler.finish(structure, argument, result, module.functions.get_span(function))
}

impl<'a> Compiler<'a> {
    fn new(source: &'a Source, module: &'a Module, info: &'a ModuleInfo) -> Self {
        Self {
            source,
            module,
            info,
            instructions: Vec::new(),
            constants: Vec::new(),
            pool: HashMap::new(),
            next: 0,
            peak: 0,
            operations: 0,
            calls: 0,
            label: 0,
            compiled: HashSet::new(),
            place: Span::default(),
        }
    }

    /// Compiles a function that is called from outside. Returns the registers of its first argument and its result.
    fn root(&mut self, handle: Handle<Function>) -> Result<(Register, Register), RuleError> {
        let function = &self.module.functions[handle];
        let span = self.module.functions.get_span(handle);
        let mut arguments = Vec::new();
        for argument in &function.arguments {
            let words = self.words(&self.module.types[argument.ty].inner, span)?;
            arguments.push(self.allocate(words, span)?);
        }
        let operands = arguments.iter().map(|register| Operand::Value(*register)).collect();
        let result = self.call(handle, operands, span)?;
        Ok((arguments.first().copied().unwrap_or(0), result.unwrap_or(0)))
    }

    /// Places constants before the other registers.
    fn finish(
        mut self,
        structure: Handle<Type>,
        argument: Register,
        result: Register,
        span: Span,
    ) -> Result<RuleCode, RuleError> {
        let registers = self.constants.len() + usize::from(self.peak);
        let Some(first) = Register::try_from(self.constants.len()).ok().filter(|_| registers <= MAX_REGISTERS) else {
            return Err(self.too_complex(span, "values", MAX_REGISTERS));
        };
        let placed = |register: Register| {
            if register & CONSTANT == 0 { register + first } else { register & !CONSTANT }
        };
        for instruction in &mut self.instructions {
            instruction.target = placed(instruction.target);
            instruction.a = placed(instruction.a);
            instruction.b = placed(instruction.b);
            instruction.c = placed(instruction.c);
        }
        let kind = &self.module.types[structure].inner;
        let mut code = RuleCode {
            instructions: self.instructions,
            constants: self.constants,
            argument: Vec::new(),
            result: Vec::new(),
            registers,
            span: kind.size(self.module.to_ctx()) as usize,
        };
        let place = self.module.types.get_span(structure);
        let fault =
            |_| self.source.invalid(place, "the struct has members without layout, expected numbers and vectors");
        types::fields(self.module, kind, 0, &mut placed(argument), &mut code.argument).map_err(fault)?;
        types::fields(self.module, kind, 0, &mut placed(result), &mut code.result).map_err(fault)?;
        Ok(code)
    }

    pub(crate) fn too_complex(&self, span: Span, measure: &'static str, limit: usize) -> RuleError {
        let span = if self.source.is_in_text(span) { span } else { self.place };
        RuleError::TooComplex { position: self.source.position(span), measure, limit }
    }

    /// Error for a part of WGSL that rules do not have.
    pub(crate) fn unsupported(&self, span: Span, part: &str) -> RuleError {
        self.source.invalid(span, format!("{part} is not available in rules"))
    }

    pub(crate) fn fault(&self, fault: TypeFault, span: Span) -> RuleError {
        match fault {
            TypeFault::Unsupported => self.unsupported(span, "this type"),
            TypeFault::TooLarge => self.too_complex(span, "values", MAX_REGISTERS),
        }
    }

    pub(crate) fn words(&self, kind: &TypeInner, span: Span) -> Result<u16, RuleError> {
        types::words(self.module, kind).map_err(|fault| self.fault(fault, span))
    }

    pub(crate) fn count(&mut self, span: Span) -> Result<(), RuleError> {
        self.operations += 1;
        if self.source.is_in_text(span) {
            self.place = span;
        }
        if self.operations > MAX_OPERATIONS {
            return Err(self.too_complex(span, "operations, those of called functions included", MAX_OPERATIONS));
        }
        Ok(())
    }

    pub(crate) fn allocate(&mut self, words: u16, span: Span) -> Result<Register, RuleError> {
        let register = self.next;
        self.next += words;
        self.peak = self.peak.max(self.next);
        if usize::from(self.next) > MAX_REGISTERS {
            return Err(self.too_complex(span, "values", MAX_REGISTERS));
        }
        Ok(register)
    }

    /// Returns registers that hold constants.
    pub(crate) fn constant(&mut self, words: &[u32], span: Span) -> Result<Register, RuleError> {
        if let Some(register) = self.pool.get(words) {
            return Ok(*register);
        }
        if self.constants.len() + words.len() > MAX_REGISTERS {
            return Err(self.too_complex(span, "values", MAX_REGISTERS));
        }
        let register = CONSTANT | Register::try_from(self.constants.len()).unwrap_or_default();
        self.constants.extend(words);
        self.pool.insert(words.to_vec(), register);
        Ok(register)
    }

    pub(crate) fn push(&mut self, op: Opcode, n: u16, target: Register, [a, b, c]: [Register; 3], immediate: u32) {
        // Large copies count as several operations.
        self.operations += usize::from(n / 16);
        self.instructions.push(Instruction { op, n, target, a, b, c, immediate });
    }

    pub(crate) fn copy(&mut self, target: Register, from: Register, words: u16) {
        self.push(Opcode::Copy, words, target, [from, 0, 0], 0);
    }

    /// Appends a jump and returns its index.
    fn jump(&mut self, op: Opcode, a: Register, b: Register) -> usize {
        self.push(op, 0, 0, [a, b, 0], 0);
        self.instructions.len() - 1
    }

    /// Lets jumps lead to the next instruction.
    fn land(&mut self, jumps: &[usize]) {
        let here = self.instructions.len();
        for jump in jumps {
            self.instructions[*jump].immediate = u32::try_from(here).unwrap_or(u32::MAX);
            self.label = here;
        }
    }

    /// True if the next instruction is not reached.
    fn is_unreachable(&self) -> bool {
        let is_jump = self.instructions.last().is_some_and(|last| last.op == Opcode::Jump);
        is_jump && self.label < self.instructions.len()
    }

    /// Inlines a call. Returns the registers of the result, if the function has one.
    fn call(
        &mut self,
        handle: Handle<Function>,
        arguments: Vec<Operand>,
        span: Span,
    ) -> Result<Option<Register>, RuleError> {
        self.count(span)?;
        if self.calls == MAX_CALLS {
            return Err(self.too_complex(span, "nested calls", MAX_CALLS));
        }
        self.compiled.insert(handle);
        let function = &self.module.functions[handle];
        let mut result = None;
        if let Some(declared) = &function.result {
            let words = self.words(&self.module.types[declared.ty].inner, span)?;
            result = Some((self.allocate(words, span)?, words));
        }
        let free = self.next;
        let mut frame = CallFrame {
            function,
            info: &self.info[handle],
            operands: vec![None; function.expressions.len()],
            temporaries: Vec::new(),
            outer_temporaries: 0,
            kept: free,
            arguments,
            locals: Vec::new(),
            result,
            returns: Vec::new(),
            breaks: Vec::new(),
        };
        self.calls += 1;
        self.locals(&mut frame)?;
        self.block(&mut frame, &function.body)?;
        self.calls -= 1;
        if frame.returns.last().is_some_and(|last| last + 1 == self.instructions.len()) && self.is_unreachable() {
            self.instructions.pop();
            frame.returns.pop();
        }
        self.land(&frame.returns);
        self.next = free;
        Ok(result.map(|(register, _)| register))
    }

    /// Allocates local variables and sets their first values.
    fn locals(&mut self, frame: &mut CallFrame<'a>) -> Result<(), RuleError> {
        let variables = &frame.function.local_variables;
        for (handle, variable) in variables.iter() {
            let span = variables.get_span(handle);
            self.count(span)?;
            let words = self.words(&self.module.types[variable.ty].inner, span)?;
            let register = self.allocate(words, span)?;
            frame.locals.push(register);
            match variable.init {
                Some(init) => {
                    let value = self.value(frame, init)?;
                    self.copy(register, value, words);
                }
                // Variables without a name are those of `&&` and `||`: both branches set them.
                None if variable.name.is_none() => {}
                None => self.push(Opcode::Zero, words, register, [0; 3], 0),
            }
        }
        Ok(())
    }

    fn block(&mut self, frame: &mut CallFrame<'a>, block: &'a Block) -> Result<(), RuleError> {
        let free = self.next;
        let kept = std::mem::replace(&mut frame.kept, free);
        let outer = std::mem::replace(&mut frame.outer_temporaries, frame.temporaries.len());
        for (statement, span) in block.span_iter() {
            self.count(*span)?;
            self.statement(frame, statement, *span)?;
        }
        frame.temporaries.truncate(frame.outer_temporaries);
        frame.outer_temporaries = outer;
        frame.kept = kept;
        self.next = free;
        Ok(())
    }

    fn statement(&mut self, frame: &mut CallFrame<'a>, statement: &'a Statement, span: Span) -> Result<(), RuleError> {
        match statement {
            Statement::Emit(range) => {
                for expression in range.clone() {
                    self.count(frame.span(expression))?;
                    let operand = self.expression(frame, expression)?;
                    self.record(frame, expression, operand);
                }
                Ok(())
            }
            Statement::Block(block) => self.block(frame, block),
            Statement::If { condition, accept, reject } => {
                let condition = self.value(frame, *condition)?;
                self.branch(frame, condition, accept, reject)
            }
            Statement::Switch { selector, cases } => {
                let selector = self.value(frame, *selector)?;
                self.switch(frame, selector, cases, span)
            }
            Statement::Break if !frame.breaks.is_empty() => {
                let jump = self.jump(Opcode::Jump, 0, 0);
                frame.breaks.last_mut().into_iter().for_each(|breaks| breaks.push(jump));
                Ok(())
            }
            Statement::Return { value } => {
                if let (Some(value), Some((register, words))) = (value, frame.result) {
                    let value = self.value(frame, *value)?;
                    self.copy(register, value, words);
                }
                let jump = self.jump(Opcode::Jump, 0, 0);
                frame.returns.push(jump);
                Ok(())
            }
            Statement::Store { pointer, value } => self.store(frame, *pointer, *value, span),
            Statement::Call { function, arguments, result } => {
                let mut operands = Vec::new();
                for argument in arguments {
                    operands.push(self.operand(frame, *argument)?);
                }
                let register = self.call(*function, operands, span)?;
                if let (Some(result), Some(register)) = (result, register) {
                    self.record(frame, *result, Operand::Value(register));
                }
                Ok(())
            }
            Statement::Loop { .. } => Err(self.unsupported(span, "a loop")),
            _ => Err(self.unsupported(span, "this statement")),
        }
    }

    fn branch(
        &mut self,
        frame: &mut CallFrame<'a>,
        condition: Register,
        accept: &'a Block,
        reject: &'a Block,
    ) -> Result<(), RuleError> {
        let over = self.jump(Opcode::JumpIfZero, condition, 0);
        self.block(frame, accept)?;
        if reject.is_empty() {
            self.land(&[over]);
            return Ok(());
        }
        let end = if self.is_unreachable() { None } else { Some(self.jump(Opcode::Jump, 0, 0)) };
        self.land(&[over]);
        self.block(frame, reject)?;
        self.land(end.as_slice());
        Ok(())
    }

    /// Tests of all cases come first, then their bodies.
    fn switch(
        &mut self,
        frame: &mut CallFrame<'a>,
        selector: Register,
        cases: &'a [SwitchCase],
        span: Span,
    ) -> Result<(), RuleError> {
        let mut entries = vec![Vec::new(); cases.len()];
        let mut default = None;
        for (index, case) in cases.iter().enumerate() {
            self.count(span)?;
            let value = match case.value {
                SwitchValue::I32(value) => value.cast_unsigned(),
                SwitchValue::U32(value) => value,
                SwitchValue::Default => {
                    default = Some(index);
                    continue;
                }
            };
            let value = self.constant(&[value], span)?;
            entries[index].push(self.jump(Opcode::JumpIfEqual, selector, value));
        }
        let other = self.jump(Opcode::Jump, 0, 0);
        let mut ends = Vec::new();
        match default {
            Some(index) => entries[index].push(other),
            None => ends.push(other),
        }
        frame.breaks.push(Vec::new());
        for (case, entries) in cases.iter().zip(&entries) {
            self.land(entries);
            self.block(frame, &case.body)?;
            if !case.fall_through && !self.is_unreachable() {
                ends.push(self.jump(Opcode::Jump, 0, 0));
            }
        }
        ends.extend(frame.breaks.pop().unwrap_or_default());
        self.land(&ends);
        Ok(())
    }

    fn store(
        &mut self,
        frame: &mut CallFrame<'a>,
        pointer: Handle<Expression>,
        value: Handle<Expression>,
        span: Span,
    ) -> Result<(), RuleError> {
        let words = self.words(frame.kind(self.module, value), span)?;
        let value = self.value(frame, value)?;
        match self.operand(frame, pointer)? {
            Operand::Pointer { base, offset: None } => self.copy(base, value, words),
            Operand::Pointer { base, offset: Some(offset) } => {
                self.push(Opcode::StoreAt, words, base, [value, offset, 0], 0);
            }
            Operand::Value(_) => return Err(self.unsupported(span, "this assignment")),
        }
        self.free(frame);
        Ok(())
    }

    /// Keeps the operand of an expression for those that use it.
    fn record(&mut self, frame: &mut CallFrame<'a>, expression: Handle<Expression>, operand: Operand) {
        frame.operands[expression.index()] = Some(operand);
        if frame.function.named_expressions.contains_key(&expression) {
            frame.kept = self.next;
        } else {
            frame.temporaries.push(expression);
        }
    }

    /// Frees the registers of expressions without name after an assignment, which no later statement uses.
    fn free(&mut self, frame: &mut CallFrame<'a>) {
        for expression in frame.temporaries.drain(frame.outer_temporaries..) {
            frame.operands[expression.index()] = None;
        }
        self.next = frame.kept;
    }

    /// Returns the operand of an expression that has been emitted, or needs no instruction.
    pub(crate) fn operand(
        &mut self,
        frame: &CallFrame<'a>,
        expression: Handle<Expression>,
    ) -> Result<Operand, RuleError> {
        if let Some(operand) = frame.operands[expression.index()] {
            return Ok(operand);
        }
        let span = frame.span(expression);
        match &frame.function.expressions[expression] {
            Expression::FunctionArgument(index) => Ok(frame.arguments[*index as usize]),
            Expression::LocalVariable(variable) => {
                Ok(Operand::Pointer { base: frame.locals[variable.index()], offset: None })
            }
            _ => match self.constant_expression(&frame.function.expressions, expression, span)? {
                Some(register) => Ok(Operand::Value(register)),
                None => Err(self.unsupported(span, "this expression")),
            },
        }
    }

    /// Returns the first register of a value.
    pub(crate) fn value(
        &mut self,
        frame: &CallFrame<'a>,
        expression: Handle<Expression>,
    ) -> Result<Register, RuleError> {
        match self.operand(frame, expression)? {
            Operand::Value(register) => Ok(register),
            Operand::Pointer { .. } => Err(self.unsupported(frame.span(expression), "this pointer")),
        }
    }
}
