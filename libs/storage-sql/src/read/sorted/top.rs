//! The first rows of an order, out of many that come in none.

use armadex_model::query::OrderBy;

use crate::read::place::Located;
use crate::read::plan::order::{Rank, compare};

/// Keeps the first rows of an order after a place.
pub(crate) struct Top<'a> {
    order: &'a [OrderBy],
    after: Option<&'a Rank>,
    wanted: usize,
    best: Vec<Located>,
}

impl<'a> Top<'a> {
    pub(crate) fn new(order: &'a [OrderBy], after: Option<&'a Rank>, wanted: usize) -> Self {
        Self {
            order,
            after,
            wanted,
            best: Vec::new(),
        }
    }

    /// Takes more rows into account. What cannot be among the first any more is dropped now and then, so that memory stays
    /// at half as much again as is wanted and what is taken at once.
    pub(crate) fn extend(&mut self, rows: impl IntoIterator<Item = Located>) {
        let (after, order) = (self.after, self.order);
        let is_meant = |row: &Located| after.is_none_or(|after| after.is_before(row, order));
        self.best.extend(rows.into_iter().filter(is_meant));
        if self.best.len() > self.wanted.saturating_add(self.wanted / 2) {
            self.settle();
        }
    }

    fn settle(&mut self) {
        let order = self.order;
        self.best.sort_by(|a, b| compare(a, b, order));
        self.best.truncate(self.wanted);
    }

    /// How many of the rows, or at least as many as are wanted, are such.
    pub(crate) fn count(&self, is_meant: impl Fn(&Located) -> bool) -> usize {
        self.best.iter().filter(|row| is_meant(row)).count()
    }

    /// Takes rows out again. What was dropped for them has to come once more.
    pub(crate) fn retain(&mut self, stays: impl Fn(&Located) -> bool) {
        self.best.retain(stays);
    }

    /// The first rows in order.
    pub(crate) fn finish(mut self) -> Vec<Located> {
        self.settle();
        self.best
    }
}
