//! Goes over all that a parsed Go template names and calls, in its order, for those who look at it before it is rendered.

use super::{
    functions::call::Function,
    parse::Parsed,
    tree::{Call, Cases, Command, Expr, List, Names, Node, Pipeline, Term},
};

/// Who looks. What is about anything else than the whole, as a dot in a `range` is, is not told of.
pub(super) trait Visitor {
    /// Why nothing more is looked at.
    type Stop;

    /// Fields of what the whole template is rendered over.
    fn path(&mut self, names: &Names, at: usize) -> Result<(), Self::Stop>;

    /// All of what the whole template is rendered over.
    fn all(&mut self) -> Result<(), Self::Stop> {
        Ok(())
    }

    /// A function with so many arguments.
    fn call(&mut self, _: &Function, _: usize, _: usize) -> Result<(), Self::Stop> {
        Ok(())
    }

    /// A template that is rendered here.
    fn template(&mut self, _: &Call) -> Result<(), Self::Stop> {
        Ok(())
    }
}

/// Over a template and those that it defines, in which both `.` and `$` are what their callers give them.
pub(super) fn walk<V: Visitor>(parsed: &Parsed, visitor: &mut V) -> Result<(), V::Stop> {
    let (whole, given) = (Roots::BOTH, Roots::NONE);
    Walk(visitor).list(&parsed.body, whole)?;
    let mut defined = parsed.defined.values();
    defined.try_for_each(|list| Walk(visitor).list(list, given))
}

/// Which of the two are what the whole template is rendered over.
#[derive(Clone, Copy)]
struct Roots {
    dot: bool,
    dollar: bool,
}

impl Roots {
    const BOTH: Self = Self {
        dot: true,
        dollar: true,
    };
    const NONE: Self = Self {
        dot: false,
        dollar: false,
    };

    /// Where a `range` or `with` is about something else.
    fn inside(self) -> Self {
        Self { dot: false, ..self }
    }
}

struct Walk<'v, V>(&'v mut V);

impl<V: Visitor> Walk<'_, V> {
    fn list(&mut self, list: &List, roots: Roots) -> Result<(), V::Stop> {
        list.iter().try_for_each(|node| self.node(node, roots))
    }

    fn node(&mut self, node: &Node, roots: Roots) -> Result<(), V::Stop> {
        match node {
            Node::Text(_) | Node::Break | Node::Continue => Ok(()),
            Node::Action(pipeline) => self.pipeline(pipeline, roots),
            Node::If(cases) => self.cases(cases, roots, roots),
            Node::With(cases) => self.cases(cases, roots, roots.inside()),
            Node::Range(range) => {
                self.pipeline(&range.over, roots)?;
                self.list(&range.body, roots.inside())?;
                self.list(&range.otherwise, roots)
            }
            Node::Template(call) => {
                self.0.template(call)?;
                let mut with = call.with.iter();
                with.try_for_each(|pipeline| self.pipeline(pipeline, roots))
            }
        }
    }

    fn cases(&mut self, cases: &Cases, roots: Roots, inside: Roots) -> Result<(), V::Stop> {
        for (pipeline, list) in &cases.cases {
            self.pipeline(pipeline, roots)?;
            self.list(list, inside)?;
        }
        self.list(&cases.otherwise, roots)
    }

    fn pipeline(&mut self, pipeline: &Pipeline, roots: Roots) -> Result<(), V::Stop> {
        let commands = pipeline.commands.iter().enumerate();
        for (place, Command { first, arguments }) in commands {
            if let Term::Function(function) = first.term {
                let count = arguments.len() + usize::from(place > 0);
                self.0.call(function, count, first.at)?;
            } else {
                self.expr(first, roots)?;
            }
            let mut arguments = arguments.iter();
            arguments.try_for_each(|argument| self.expr(argument, roots))?;
        }
        Ok(())
    }

    fn expr(&mut self, expr: &Expr, roots: Roots) -> Result<(), V::Stop> {
        match &expr.term {
            Term::Dot if roots.dot => self.0.all(),
            Term::Fields(names) if roots.dot => self.0.path(names, expr.at),
            Term::Variable(name, names) if roots.dollar && &**name == "$" => match names.len() {
                0 => self.0.all(),
                _ => self.0.path(names, expr.at),
            },
            Term::Function(function) => self.0.call(function, 0, expr.at),
            Term::Pipeline(pipeline) => self.pipeline(pipeline, roots),
            Term::Chain(of, _) => self.expr(of, roots),
            _ => Ok(()),
        }
    }
}
