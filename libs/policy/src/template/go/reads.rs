//! What of its source object a Go template reads. Where it can't be told, it is everything.

use super::{
    parse::Parsed,
    tree::{Cases, Command, Expr, List, Names, Node, Pipeline, Term},
};
use crate::template::{reads::Reads, rules::SOURCE};

/// Of a template and those that it defines. These, and what stands in a `range` or `with`, are about what was given to them, which is
/// read where it is given; so is what is in a variable.
pub(super) fn of(parsed: &Parsed) -> Reads {
    let mut found = Found(Reads::default());
    found.list(&parsed.body, true);
    for list in parsed.defined.values() {
        found.list(list, false);
    }
    found.0
}

struct Found(Reads);

impl Found {
    fn list(&mut self, list: &List, root: bool) {
        for node in list {
            self.node(node, root);
        }
    }

    fn node(&mut self, node: &Node, root: bool) {
        match node {
            Node::Text(_) | Node::Break | Node::Continue => {}
            Node::Action(pipeline) => self.pipeline(pipeline, root),
            Node::If(cases) => self.cases(cases, root, root),
            Node::With(cases) => self.cases(cases, root, false),
            Node::Range(range) => {
                self.pipeline(&range.over, root);
                self.list(&range.body, false);
                self.list(&range.otherwise, root);
            }
            Node::Template(call) => {
                if let Some(pipeline) = &call.with {
                    self.pipeline(pipeline, root);
                }
            }
        }
    }

    fn cases(&mut self, cases: &Cases, root: bool, inside: bool) {
        for (pipeline, list) in &cases.cases {
            self.pipeline(pipeline, root);
            self.list(list, inside);
        }
        self.list(&cases.otherwise, root);
    }

    fn pipeline(&mut self, pipeline: &Pipeline, root: bool) {
        for Command { first, arguments } in &pipeline.commands {
            for expr in [first].into_iter().chain(arguments) {
                self.expr(expr, root);
            }
        }
    }

    fn expr(&mut self, expr: &Expr, root: bool) {
        match &expr.term {
            Term::Dot if root => self.0.all(),
            Term::Fields(names) if root => self.names(names),
            // In a template that was defined it is what that was given.
            Term::Variable(name, names) if &**name == "$" => self.names(names),
            Term::Pipeline(pipeline) => self.pipeline(pipeline, root),
            Term::Chain(of, _) => self.expr(of, root),
            _ => {}
        }
    }

    fn names(&mut self, names: &Names) {
        match names.split_first() {
            Some((first, rest)) if &**first == SOURCE => {
                self.0.path(rest.iter().map(ToString::to_string));
            }
            // What else is there is none of the source object.
            Some(_) => {}
            None => self.0.all(),
        }
    }
}
