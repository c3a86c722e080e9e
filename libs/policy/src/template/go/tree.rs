//! What a Go template says, parsed.

use super::{functions::call::Function, literals::Number};

/// Nodes one after the other.
pub(super) type List = Vec<Node>;

#[derive(Clone, Debug)]
pub(super) enum Node {
    Text(Box<str>),
    Action(Pipeline),
    If(Cases),
    With(Cases),
    Range(Box<Range>),
    Template(Call),
    Break,
    Continue,
}

/// Of an `if` or `with`: the first pipeline that is true says which list counts.
#[derive(Clone, Debug)]
pub(super) struct Cases {
    pub(super) cases: Vec<(Pipeline, List)>,
    pub(super) otherwise: List,
}

#[derive(Clone, Debug)]
pub(super) struct Range {
    pub(super) over: Pipeline,
    pub(super) body: List,
    pub(super) otherwise: List,
}

/// A call of a template that was defined.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) at: usize,
    pub(super) name: Box<str>,
    pub(super) with: Option<Pipeline>,
}

/// Commands of which each gives its value to the next one as last argument.
#[derive(Clone, Debug)]
pub(super) struct Pipeline {
    pub(super) at: usize,
    pub(super) variables: Vec<Box<str>>,
    /// It sets variables that are there, and declares none.
    pub(super) assigns: bool,
    pub(super) commands: Vec<Command>,
}

/// A term and its arguments.
#[derive(Clone, Debug)]
pub(super) struct Command {
    pub(super) first: Expr,
    pub(super) arguments: Vec<Expr>,
}

#[derive(Clone, Debug)]
pub(super) struct Expr {
    pub(super) at: usize,
    pub(super) term: Term,
}

#[derive(Clone, Debug)]
pub(super) enum Term {
    Dot,
    Nil,
    Bool(bool),
    Number(Number),
    Text(Box<str>),
    /// Of the dot.
    Fields(Names),
    Variable(Box<str>, Names),
    Function(&'static Function),
    Pipeline(Box<Pipeline>),
    /// Of what a function or a pipeline gives.
    Chain(Box<Expr>, Names),
}

pub(super) type Names = Vec<Box<str>>;
