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
    /// Whether the first `wanted` of `best` were the first of all that came before, the last of them in its place.
    is_settled: bool,
}

impl<'a> Top<'a> {
    pub(crate) fn new(order: &'a [OrderBy], after: Option<&'a Rank>, wanted: usize) -> Self {
        Self {
            order,
            after,
            wanted,
            best: Vec::new(),
            is_settled: false,
        }
    }

    /// Takes more rows into account. What cannot be among the first any more is dropped now and then, so that memory stays
    /// at an eighth more than is wanted and what is taken at once.
    pub(crate) fn extend(&mut self, rows: impl IntoIterator<Item = Located>) {
        for row in rows {
            if self.may_be_first(&row) {
                self.best.push(row);
            }
        }
        if self.best.len() > self.wanted.saturating_add(self.wanted / 8) {
            self.settle();
        }
    }

    fn may_be_first(&self, row: &Located) -> bool {
        let is_meant = |after: &Rank| after.is_before(row, self.order);
        let last = self.wanted.checked_sub(1).filter(|_| self.is_settled);
        let last = last.and_then(|last| self.best.get(last));
        self.after.is_none_or(is_meant)
            && last.is_none_or(|last| compare(row, last, self.order).is_lt())
    }

    /// Drops what comes after the wanted ones: in its place, and without sorting.
    fn settle(&mut self) {
        let order = self.order;
        if let Some(last) = self.wanted.checked_sub(1)
            && last < self.best.len()
        {
            self.best
                .select_nth_unstable_by(last, |a, b| compare(a, b, order));
            self.is_settled = true;
        }
        self.best.truncate(self.wanted);
    }

    /// How many of the rows, or at least as many as are wanted, are such.
    pub(crate) fn count(&self, is_meant: impl Fn(&Located) -> bool) -> usize {
        self.best.iter().filter(|row| is_meant(row)).count()
    }

    /// Takes rows out again. What was dropped for them has to come once more.
    pub(crate) fn retain(&mut self, stays: impl Fn(&Located) -> bool) {
        self.best.retain(stays);
        self.is_settled = false;
    }

    /// The first rows in order.
    pub(crate) fn finish(mut self) -> Vec<Located> {
        self.settle();
        let order = self.order;
        self.best.sort_unstable_by(|a, b| compare(a, b, order));
        self.best
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use armadex_model::ClusterName;
    use armadex_model::query::OrderField;
    use rand::rngs::StdRng;
    use rand::seq::SliceRandom as _;
    use rand::{Rng as _, SeedableRng as _};

    use super::*;
    use crate::form::version::MemberVersion;
    use crate::read::place::Place;
    use crate::sql::select::Candidate;

    /// A row of one of two types.
    fn row(created: i64) -> Located {
        Located {
            place: Arc::new(Place {
                index: usize::from(created % 2 == 0),
                cluster: ClusterName::new("member1").expect("a name"),
                namespace: "ns".into(),
                nsid: 1,
                objects: 1,
            }),
            object: Candidate {
                id: created,
                nsid: 1,
                name: format!("a{created}"),
                uid: String::new(),
                created,
                version: MemberVersion::new("1"),
                size: 1,
                rev: created,
            },
        }
    }

    fn by_age(descending: bool) -> [OrderBy; 1] {
        let field = OrderField::CreatedAt;
        [OrderBy { field, descending }]
    }

    fn ages(rows: &[Located]) -> Vec<i64> {
        rows.iter().map(|row| row.object.created).collect()
    }

    #[test]
    fn the_first_after_a_place_are_kept_in_whatever_portions_they_come() {
        let random = &mut StdRng::seed_from_u64(7);
        for wanted in [0, 1, 2, 9, 40, 99, 200] {
            let order = by_age(wanted % 2 == 0);
            let after = Rank::of_row(&row(random.random_range(0..100)), &order);
            let mut all: Vec<i64> = (0..100).collect();
            all.shuffle(random);
            let mut top = Top::new(&order, Some(&after), wanted);
            for portion in all.chunks(random.random_range(1..20)) {
                top.extend(portion.iter().map(|age| row(*age)));
                assert!(top.best.len() <= wanted + wanted / 8);
            }
            let mut rows: Vec<_> = all.iter().map(|age| row(*age)).collect();
            rows.retain(|row| after.is_before(row, &order));
            rows.sort_by(|a, b| compare(a, b, &order));
            rows.truncate(wanted);
            assert_eq!(ages(&top.finish()), ages(&rows), "{wanted}");
        }
    }

    #[test]
    fn what_comes_after_all_that_are_wanted_is_not_taken() {
        let order = by_age(false);
        let mut top = Top::new(&order, None, 16);
        top.extend((0..19).map(row));
        assert_eq!(top.best.len(), 16);
        top.extend([16, 99].map(row));
        assert_eq!(top.best.len(), 16, "so few are not too many");
        top.extend([-1, -2].map(row));
        assert_eq!(top.best.len(), 18, "not more than an eighth");
        assert_eq!(ages(&top.finish()), Vec::from_iter(-2..14));
    }

    #[test]
    fn what_was_dropped_comes_once_more_where_others_were_taken_out() {
        let order = by_age(false);
        let mut top = Top::new(&order, None, 3);
        top.extend([5, 7, 9, 10].map(row));
        assert_eq!(top.count(|_| true), 3);
        top.retain(|row| row.object.created != 7);
        top.extend([1, 10, 6].map(row));
        assert_eq!(ages(&top.finish()), [1, 5, 6]);
    }
}
