//! Renders a parsed Go template: walks over what it says and writes what that gives. Each node, command and name takes a step, and
//! whatever stands in each other is counted, so a rendering ends and stays on its stack.

use std::mem;

use super::{
    functions::call::{Function, Takes},
    parse::Parsed,
    print,
    stop::{Failure, Stop},
    tree::{Call, Cases, Command, Expr, List, Names, Node, Pipeline, Range, Term},
    value::{self, Value},
};
use crate::template::{
    bounded::Bounded,
    budget::Budget,
    rules::{BYTES_OF_STEP, RUN_DEPTH_LIMIT},
};

type Ran<T> = Result<T, Stop>;

/// Where a list of nodes leads to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flow {
    On,
    Break,
    Continue,
}

/// A rendering.
pub(super) struct Run<'r, 'a> {
    parsed: &'a Parsed,
    budget: &'r Budget,
    out: &'r mut Bounded,
    /// Of the template that is rendered, the innermost last.
    variables: Vec<(&'a str, Value<'a>)>,
    depth: usize,
}

impl<'r, 'a> Run<'r, 'a> {
    pub(super) fn of(parsed: &'a Parsed, budget: &'r Budget, out: &'r mut Bounded) -> Self {
        Self {
            parsed,
            budget,
            out,
            variables: Vec::new(),
            depth: 0,
        }
    }

    /// Over these values.
    pub(super) fn over(mut self, data: &Value<'a>) -> Ran<()> {
        self.variables = vec![("$", data.clone())];
        let parsed = self.parsed;
        self.list(&parsed.body, data).map(drop)
    }

    fn list(&mut self, list: &'a List, dot: &Value<'a>) -> Ran<Flow> {
        for node in list {
            self.budget.spend_steps(1)?;
            let flow = self.node(node, dot)?;
            if flow != Flow::On {
                return Ok(flow);
            }
        }
        Ok(Flow::On)
    }

    fn node(&mut self, node: &'a Node, dot: &Value<'a>) -> Ran<Flow> {
        match node {
            Node::Text(text) => self.out.put(text).map_err(|_| Stop::Full)?,
            Node::Action(pipeline) => {
                let value = self.pipeline(pipeline, dot)?;
                if pipeline.variables.is_empty() {
                    self.print(&value)?;
                }
            }
            Node::If(cases) => return self.deeper(|run| run.cases(cases, dot, false)),
            Node::With(cases) => return self.deeper(|run| run.cases(cases, dot, true)),
            Node::Range(range) => return self.deeper(|run| run.range(range, dot)),
            Node::Template(call) => self.deeper(|run| run.template(call, dot))?,
            Node::Break => return Ok(Flow::Break),
            Node::Continue => return Ok(Flow::Continue),
        }
        Ok(Flow::On)
    }

    fn print(&mut self, value: &Value<'a>) -> Ran<()> {
        if matches!(value, Value::Missing | Value::Nil) {
            return self.out.put(print::NO_VALUE).map_err(|_| Stop::Full);
        }
        let value = std::slice::from_ref(value);
        print::print(self.out, value).map_err(|_| Stop::Full)
    }

    /// One level deeper, with the variables that are known afterwards as before.
    fn deeper<T>(&mut self, run: impl FnOnce(&mut Self) -> Ran<T>) -> Ran<T> {
        if self.depth == RUN_DEPTH_LIMIT {
            return Err(Stop::TooDeep);
        }
        self.depth += 1;
        let ran = run(self);
        self.depth -= 1;
        ran
    }

    /// `rebinds`: what is true is the dot of its list.
    fn cases(&mut self, cases: &'a Cases, dot: &Value<'a>, rebinds: bool) -> Ran<Flow> {
        let known = self.variables.len();
        let mut flow = None;
        for (pipeline, list) in &cases.cases {
            let value = self.pipeline(pipeline, dot)?;
            if value.is_true() {
                flow = Some(self.list(list, if rebinds { &value } else { dot })?);
                break;
            }
        }
        let flow = match flow {
            Some(flow) => flow,
            None => self.list(&cases.otherwise, dot)?,
        };
        self.variables.truncate(known);
        Ok(flow)
    }

    fn range(&mut self, range: &'a Range, dot: &Value<'a>) -> Ran<Flow> {
        let known = self.variables.len();
        let over = self.pipeline(&range.over, dot)?;
        let at = range.over.at;
        let flow = match &over {
            Value::Int(count) => self.count(range, *count, Value::Int)?,
            Value::Int64(count) => self.count(range, *count, Value::Int64)?,
            Value::Byte(count) => {
                let number = |number| Value::Byte(u8::try_from(number).unwrap_or(u8::MAX));
                self.count(range, i64::from(*count), number)?
            }
            Value::List(list) => self.items(range, list)?,
            Value::Map(map) => {
                self.budget.spend_bytes(map.price())?;
                self.fields(range, map.fields())?
            }
            Value::Missing | Value::Nil => None,
            _ => return Err(Stop::at(at, "range goes over lists, maps and integers")),
        };
        let flow = match flow {
            Some(()) => Flow::On,
            // For Go this is in the range: `break` leaves it, and no range around it.
            None => match self.list(&range.otherwise, dot)? {
                Flow::Break => Flow::On,
                flow => flow,
            },
        };
        self.variables.truncate(known);
        Ok(flow)
    }

    /// None if there was nothing to go over.
    fn count(
        &mut self,
        range: &'a Range,
        count: i64,
        value: impl Fn(i64) -> Value<'a>,
    ) -> Ran<Option<()>> {
        if range.over.variables.len() > 1 {
            let message = "an integer gives one variable";
            return Err(Stop::at(range.over.at, message));
        }
        for number in 0..count {
            if self.pass(range, Value::Missing, &value(number))? == Flow::Break {
                break;
            }
        }
        Ok((count > 0).then_some(()))
    }

    fn items(&mut self, range: &'a Range, list: &value::List<'a>) -> Ran<Option<()>> {
        for (place, item) in list.iter().enumerate() {
            let place = Value::Int(i64::try_from(place).unwrap_or(i64::MAX));
            if self.pass(range, place, &item)? == Flow::Break {
                break;
            }
        }
        Ok((list.len() > 0).then_some(()))
    }

    fn fields(
        &mut self,
        range: &'a Range,
        fields: Vec<(value::Text<'a>, Value<'a>)>,
    ) -> Ran<Option<()>> {
        let some = (!fields.is_empty()).then_some(());
        for (name, field) in fields {
            if self.pass(range, Value::Text(name), &field)? == Flow::Break {
                break;
            }
        }
        Ok(some)
    }

    fn pass(&mut self, range: &'a Range, place: Value<'a>, item: &Value<'a>) -> Ran<Flow> {
        self.budget.spend_steps(1)?;
        let known = self.variables.len();
        let over = &range.over;
        let values = match over.variables.as_slice() {
            [] => vec![],
            [one] => vec![(one, item.clone())],
            [first, second, ..] => vec![(first, place), (second, item.clone())],
        };
        let count = values.len();
        for (number, (name, value)) in values.into_iter().enumerate() {
            if over.assigns {
                self.assign(over.at, name, value)?;
            } else if let Some(variable) = self.variables.get_mut(known - count + number) {
                variable.1 = value;
            }
        }
        let flow = self.list(&range.body, item)?;
        self.variables.truncate(known);
        Ok(flow)
    }

    fn template(&mut self, call: &'a Call, dot: &Value<'a>) -> Ran<()> {
        let value = match &call.with {
            Some(pipeline) => self.pipeline(pipeline, dot)?,
            None => Value::Missing,
        };
        let list = self.parsed.defined.get(&call.name);
        let list = list.ok_or_else(|| Stop::at(call.at, "there is no such template"))?;
        let variables = vec![("$", value.clone())];
        let outer = mem::replace(&mut self.variables, variables);
        self.list(list, &value)?;
        self.variables = outer;
        Ok(())
    }

    fn pipeline(&mut self, pipeline: &'a Pipeline, dot: &Value<'a>) -> Ran<Value<'a>> {
        let mut value = None;
        for command in &pipeline.commands {
            self.budget.spend_steps(1)?;
            value = Some(self.command(command, dot, value)?.unwrapped());
        }
        let value = value.unwrap_or(Value::Missing);
        for name in &pipeline.variables {
            if pipeline.assigns {
                self.assign(pipeline.at, name, value.clone())?;
            } else {
                self.variables.push((name, value.clone()));
            }
        }
        Ok(value)
    }

    fn assign(&mut self, at: usize, name: &str, value: Value<'a>) -> Ran<()> {
        self.pay_for_lookup()?;
        let mut known = self.variables.iter_mut().rev();
        match known.find(|(known, _)| *known == name) {
            Some(variable) => variable.1 = value,
            None => return Err(Stop::at(at, "the variable has no value here")),
        }
        Ok(())
    }

    /// Many variables take long to look through.
    fn pay_for_lookup(&self) -> Ran<()> {
        let steps = 1 + self.variables.len() / BYTES_OF_STEP;
        Ok(self.budget.spend_steps(steps)?)
    }

    fn command(
        &mut self,
        command: &'a Command,
        dot: &Value<'a>,
        piped: Option<Value<'a>>,
    ) -> Ran<Value<'a>> {
        let Command { first, arguments } = command;
        let given = !arguments.is_empty() || piped.is_some();
        match &first.term {
            Term::Function(function) => {
                return self.call(first.at, function, arguments, piped, dot);
            }
            Term::Fields(names) => return self.fields_of(first.at, dot.clone(), names, given),
            Term::Chain(of, names) => {
                let value = self.argument(of, Takes::Value, dot)?;
                return self.fields_of(first.at, value, names, given);
            }
            Term::Variable(name, names) if !names.is_empty() => {
                let value = self.variable(first.at, name)?;
                return self.fields_of(first.at, value, names, given);
            }
            Term::Nil => return Err(Stop::at(first.at, "nil is no value of its own")),
            _ => {}
        }
        if given {
            return Err(Stop::at(first.at, "what is no function takes no arguments"));
        }
        self.plain(first, dot)
    }

    /// The value of a term.
    fn plain(&mut self, expr: &'a Expr, dot: &Value<'a>) -> Ran<Value<'a>> {
        self.budget.spend_steps(1)?;
        Ok(match &expr.term {
            Term::Dot => dot.clone(),
            Term::Nil => Value::Nil,
            Term::Bool(holds) => (*holds).into(),
            Term::Text(text) => (&**text).into(),
            Term::Number(number) if number.is_float => Value::Float(number.float),
            Term::Number(number) => match number.integer {
                Some(integer) => Value::Int(integer),
                None => return Err(Stop::at(expr.at, "the number is too large")),
            },
            Term::Fields(names) => self.fields_of(expr.at, dot.clone(), names, false)?,
            Term::Variable(name, names) => {
                let value = self.variable(expr.at, name)?;
                self.fields_of(expr.at, value, names, false)?
            }
            Term::Function(function) => self.call(expr.at, function, &[], None, dot)?,
            Term::Pipeline(pipeline) => self.deeper(|run| run.pipeline(pipeline, dot))?,
            Term::Chain(of, names) => {
                let value = self.argument(of, Takes::Value, dot)?;
                self.fields_of(expr.at, value, names, false)?
            }
        })
    }

    fn variable(&mut self, at: usize, name: &str) -> Ran<Value<'a>> {
        self.pay_for_lookup()?;
        let mut known = self.variables.iter().rev();
        let found = known.find(|(known, _)| *known == name);
        let found = found.map(|(_, value)| value.clone());
        found.ok_or_else(|| Stop::at(at, "the variable has no value here"))
    }

    /// `given`: with arguments, which no field takes.
    fn fields_of(
        &mut self,
        at: usize,
        mut value: Value<'a>,
        names: &'a Names,
        given: bool,
    ) -> Ran<Value<'a>> {
        for (place, name) in names.iter().enumerate() {
            self.budget.spend_steps(1 + name.len() / BYTES_OF_STEP)?;
            let is_last = place + 1 == names.len();
            value = match value {
                Value::Missing => Value::Missing,
                Value::Map(_) if given && is_last => {
                    let message = "a field takes no arguments";
                    return Err(Stop::at(at, message));
                }
                Value::Map(map) => map.get(name).unwrap_or(Value::Missing),
                Value::Nil => return Err(no_field(at, name, "null")),
                value => return Err(no_field(at, name, kind(&value))),
            };
        }
        Ok(value)
    }

    fn call(
        &mut self,
        at: usize,
        function: &'a Function,
        arguments: &'a [Expr],
        piped: Option<Value<'a>>,
        dot: &Value<'a>,
    ) -> Ran<Value<'a>> {
        if let Some(decided) = function.short_circuits() {
            return self.one_of(decided, arguments, piped, dot);
        }
        let takes = |place| function.takes_at(place).unwrap_or(Takes::Anything);
        let mut values = Vec::with_capacity(arguments.len() + 1);
        for (place, argument) in arguments.iter().enumerate() {
            let value = self.argument(argument, takes(place), dot);
            values.push(value.map_err(|stop| named(stop, function.name))?);
        }
        if let Some(piped) = piped {
            let piped = held(at, piped, takes(values.len()));
            values.push(piped.map_err(|stop| named(stop, function.name))?);
        }
        if let Err(message) = function.check_count(values.len()) {
            return Err(Stop::at(at, message));
        }
        let answer = function.call(values, self.budget);
        answer.map_err(|failure| match (failure, written(arguments)) {
            (Failure::Told, Some(message)) => Stop::of(at, function.name, Failure::of(message)),
            (failure, _) => Stop::of(at, function.name, failure),
        })
    }

    /// The first argument that is as said, or the last one.
    fn one_of(
        &mut self,
        decided: bool,
        arguments: &'a [Expr],
        piped: Option<Value<'a>>,
        dot: &Value<'a>,
    ) -> Ran<Value<'a>> {
        let mut value = Value::Missing;
        for argument in arguments {
            value = self.argument(argument, Takes::Value, dot)?;
            if value.is_true() == decided {
                return Ok(value);
            }
        }
        Ok(piped.unwrap_or(value))
    }

    /// An argument, held to what is taken in its place.
    fn argument(&mut self, expr: &'a Expr, takes: Takes, dot: &Value<'a>) -> Ran<Value<'a>> {
        let at = expr.at;
        let wrong = || Err(Stop::at(at, format!("an argument is not {}", takes.name())));
        match (&expr.term, takes) {
            (Term::Nil, Takes::Anything) => Ok(Value::Nil),
            (Term::Nil, takes) if takes.takes_nil() => Ok(Value::Missing),
            (Term::Nil, _) => wrong(),
            (Term::Number(number), Takes::Int) => match number.integer {
                Some(integer) => Ok(Value::Int(integer)),
                None => wrong(),
            },
            (Term::Number(number), Takes::Float) => Ok(Value::Float(number.float)),
            _ => {
                let value = self.plain(expr, dot)?;
                held(at, value, takes)
            }
        }
    }
}

/// The text that a call has as its only argument, where that is written in the template as it is.
fn written(arguments: &[Expr]) -> Option<&str> {
    match arguments {
        [
            Expr {
                term: Term::Text(text),
                ..
            },
        ] => Some(text),
        _ => None,
    }
}

/// A value where this is taken. A list of texts is no list of anything, and one that is null is no map.
fn held<'a>(at: usize, value: Value<'a>, takes: Takes) -> Ran<Value<'a>> {
    let holds = match (takes, &value) {
        (Takes::Anything, Value::Missing) => return Ok(Value::Nil),
        (Takes::Anything | Takes::Value, _)
        | (Takes::Text, Value::Text(_))
        | (Takes::Int, Value::Int(_))
        | (Takes::Float, Value::Float(_))
        | (Takes::Bool, Value::Bool(_))
        | (Takes::Map, Value::Missing) => true,
        (Takes::Map, Value::Map(map)) => map.of() == value::Of::Anything,
        _ => false,
    };
    if holds {
        return Ok(value);
    }
    let message = format!("an argument is {}, and not {}", kind(&value), takes.name());
    Err(Stop::at(at, message))
}

/// What a value is, in words that say nothing of it.
fn kind(value: &Value<'_>) -> &'static str {
    match value {
        Value::Missing => "not there",
        Value::Nil => "null",
        Value::Bool(_) => "true or false",
        Value::Int(_) | Value::Int64(_) | Value::Byte(_) => "an integer",
        Value::Float(_) => "a floating point number",
        Value::Text(_) => "text",
        Value::List(_) => "a list",
        Value::Map(_) => "a map",
    }
}

fn no_field(at: usize, name: &str, kind: &str) -> Stop {
    Stop::at(at, format!("what is {kind} has no field {name}"))
}

/// With the name of the function that was called.
fn named(stop: Stop, name: &str) -> Stop {
    match stop {
        Stop::Failed { at, message } if message.starts_with("an argument ") => {
            Stop::at(at, format!("{name}: {message}"))
        }
        stop => stop,
    }
}
