//! The first rows of an order, out of many that come in none.

use std::cmp::Ordering;

use armadex_model::query::OrderBy;

use crate::read::place::Located;
use crate::read::plan::order::Rank;

/// Keeps the first rows of an order after a place.
pub(crate) struct Top<'a> {
    order: &'a [OrderBy],
    after: Option<&'a Rank>,
    wanted: usize,
    best: Vec<(Rank, Located)>,
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
    /// at twice what is wanted and what is taken at once.
    pub(crate) fn extend(&mut self, rows: impl IntoIterator<Item = Located>) {
        for row in rows {
            let rank = Rank::of_row(&row, self.order);
            let later = |after: &Rank| rank.compare(after, self.order) == Ordering::Greater;
            if self.after.is_none_or(later) {
                self.best.push((rank, row));
            }
        }
        if self.best.len() > self.wanted.saturating_mul(2) {
            self.settle();
        }
    }

    fn settle(&mut self) {
        let order = self.order;
        self.best.sort_by(|(a, _), (b, _)| a.compare(b, order));
        self.best.truncate(self.wanted);
    }

    /// How many of the rows, or at least as many as are wanted, have such a place.
    pub(crate) fn count(&self, is_meant: impl Fn(&Rank) -> bool) -> usize {
        self.best.iter().filter(|(rank, _)| is_meant(rank)).count()
    }

    /// Takes rows out again. What was dropped for them has to come once more.
    pub(crate) fn retain(&mut self, stays: impl Fn(&Rank) -> bool) {
        self.best.retain(|(rank, _)| stays(rank));
    }

    /// The first rows in order.
    pub(crate) fn finish(mut self) -> Vec<(Rank, Located)> {
        self.settle();
        self.best
    }
}
