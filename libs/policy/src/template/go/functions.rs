//! The functions of Go templates: Go's own, and those of sprig that depend on nothing but their arguments, each with the types that Go
//! holds its arguments to.
//!
//! Absent on purpose: what reads the environment, the clock, the network or chance, what changes a value that others hold, and what
//! is a library of its own.

mod builtin;
pub(super) mod call;
mod encoding;
mod from_json;
mod letters;
mod lists;
mod maps;
mod numbers;
mod paths;
mod refused;
mod texts;
mod values;

use call::Function;

/// Every function that is offered, by where it is from.
pub(in crate::template) fn all() -> impl Iterator<Item = &'static Function> {
    let tables = [
        builtin::FUNCTIONS,
        encoding::FUNCTIONS,
        lists::FUNCTIONS,
        maps::FUNCTIONS,
        numbers::FUNCTIONS,
        paths::FUNCTIONS,
        texts::FUNCTIONS,
        values::FUNCTIONS,
    ];
    tables.into_iter().flatten()
}

/// The names of all of them, in order.
pub(super) fn names() -> Vec<&'static str> {
    let mut names: Vec<_> = all().map(|function| function.name).collect();
    names.sort_unstable();
    names
}

/// The function of a name, or why there is none.
pub(super) fn find(name: &str) -> Result<&'static Function, String> {
    if let Some(function) = all().find(|function| function.name == name) {
        return Ok(function);
    }
    Err(match refused::why(name) {
        Some(why) => format!("{name} is not offered: {why}"),
        None if matches!(name, "source" | "references") => {
            format!("{name} is no function that Go templates have: write .{name}")
        }
        None => format!("{name} is no function that Go templates have"),
    })
}
