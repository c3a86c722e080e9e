//! What of its source object a Go template reads. Where it can't be told, it is everything.

use std::convert::Infallible;

use super::{
    parse::Parsed,
    tree::Names,
    walk::{Visitor, walk},
};
use crate::template::{reads::Reads, rules::SOURCE};

/// Of a template and those that it defines. These, and what stands in a `range` or `with`, are about what was given to them, which is
/// read where it is given; so is what is in a variable.
pub(super) fn of(parsed: &Parsed) -> Reads {
    let mut found = Found(Reads::default());
    let Ok(()) = walk(parsed, &mut found);
    found.0
}

struct Found(Reads);

impl Visitor for Found {
    type Stop = Infallible;

    fn path(&mut self, names: &Names, _: usize) -> Result<(), Infallible> {
        // What else is there is none of the source object.
        if let Some((first, rest)) = names.split_first()
            && &**first == SOURCE
        {
            self.0.path(rest.iter().map(ToString::to_string));
        }
        Ok(())
    }

    fn all(&mut self) -> Result<(), Infallible> {
        self.0.all();
        Ok(())
    }
}
