//! Looks over a parsed Go template for what can't be well whatever it is rendered over: names that nothing has, templates that are not
//! defined, calls with too many arguments or too few.

use super::{
    parse::{Parsed, Wrong},
    tree::{Cases, Command, Expr, List, Names, Node, Pipeline, Term},
};
use crate::template::rules::Scope;

type Checked = Result<(), Wrong>;

/// Checks all of it.
pub(super) fn check(parsed: &Parsed, scope: Scope<'_>) -> Checked {
    let check = Check { parsed, scope };
    check.list(&parsed.body, true)?;
    // What a template is about that is called is for its callers to say.
    let mut defined = parsed.defined.values();
    defined.try_for_each(|list| check.list(list, false))
}

struct Check<'a> {
    parsed: &'a Parsed,
    scope: Scope<'a>,
}

/// `root`: the dot is what the whole template is rendered over.
impl Check<'_> {
    fn list(&self, list: &List, root: bool) -> Checked {
        list.iter().try_for_each(|node| self.node(node, root))
    }

    fn node(&self, node: &Node, root: bool) -> Checked {
        match node {
            Node::Text(_) | Node::Break | Node::Continue => Ok(()),
            Node::Action(pipeline) => self.pipeline(pipeline, root),
            Node::If(cases) => self.cases(cases, root, root),
            Node::With(cases) => self.cases(cases, root, false),
            Node::Range(range) => {
                self.pipeline(&range.over, root)?;
                self.list(&range.body, false)?;
                self.list(&range.otherwise, root)
            }
            Node::Template(call) => {
                if !self.parsed.defined.contains_key(&call.name) {
                    let message = format!("the template {} is not defined", call.name);
                    return Err(Wrong::rule(call.at, message));
                }
                let mut with = call.with.iter();
                with.try_for_each(|pipeline| self.pipeline(pipeline, root))
            }
        }
    }

    fn cases(&self, cases: &Cases, root: bool, inside: bool) -> Checked {
        for (pipeline, list) in &cases.cases {
            self.pipeline(pipeline, root)?;
            self.list(list, inside)?;
        }
        self.list(&cases.otherwise, root)
    }

    fn pipeline(&self, pipeline: &Pipeline, root: bool) -> Checked {
        let commands = pipeline.commands.iter().enumerate();
        for (place, Command { first, arguments }) in commands {
            if let Term::Function(function) = first.term {
                let count = arguments.len() + usize::from(place > 0);
                let checked = function.check_count(count);
                checked.map_err(|message| Wrong::rule(first.at, message))?;
            } else {
                self.expr(first, root)?;
            }
            arguments
                .iter()
                .try_for_each(|argument| self.expr(argument, root))?;
        }
        Ok(())
    }

    fn expr(&self, expr: &Expr, root: bool) -> Checked {
        let wrong = |message| Wrong::rule(expr.at, message);
        match &expr.term {
            Term::Fields(names) if root => self.names(names).map_err(wrong),
            Term::Function(function) => function.check_count(0).map_err(wrong),
            Term::Pipeline(pipeline) => self.pipeline(pipeline, root),
            Term::Chain(of, _) => self.expr(of, root),
            _ => Ok(()),
        }
    }

    /// Names that begin at the top.
    fn names(&self, names: &Names) -> Result<(), String> {
        let mut names = names.iter().map(|name| &**name);
        match (names.next(), self.scope) {
            (Some("references"), Scope::References(keys)) => match names.next() {
                Some(key) if !keys.contains(&key) => Err(format!("no reference has the key {key}")),
                _ => Ok(()),
            },
            (Some("references"), Scope::Source) => {
                Err("references can't be used here: only source is known".to_owned())
            }
            (Some("source") | None, _) => Ok(()),
            (Some(name), _) => Err(format!(
                ".{name} is unknown: a path begins with .source or .references"
            )),
        }
    }
}
