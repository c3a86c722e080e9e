//! Looks over a parsed Go template for what can't be well whatever it is rendered over: names that nothing has, templates that are not
//! defined, calls with too many arguments or too few.

use super::{
    functions::call::Function,
    parse::{Parsed, Wrong},
    tree::{Call, Names},
    walk::{Visitor, walk},
};
use crate::template::rules::Scope;

/// Checks all of it.
pub(super) fn check(parsed: &Parsed, scope: Scope<'_>) -> Result<(), Wrong> {
    walk(parsed, &mut Check { parsed, scope })
}

struct Check<'a> {
    parsed: &'a Parsed,
    scope: Scope<'a>,
}

impl Visitor for Check<'_> {
    type Stop = Wrong;

    fn path(&mut self, names: &Names, at: usize) -> Result<(), Wrong> {
        let mut names = names.iter().map(|name| &**name);
        let checked = match (names.next(), self.scope) {
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
        };
        checked.map_err(|message| Wrong::rule(at, message))
    }

    fn call(&mut self, function: &Function, count: usize, at: usize) -> Result<(), Wrong> {
        let checked = function.check_count(count);
        checked.map_err(|message| Wrong::rule(at, message))
    }

    fn template(&mut self, call: &Call) -> Result<(), Wrong> {
        if self.parsed.defined.contains_key(&call.name) {
            return Ok(());
        }
        let message = format!("the template {} is not defined", call.name);
        Err(Wrong::rule(call.at, message))
    }
}
