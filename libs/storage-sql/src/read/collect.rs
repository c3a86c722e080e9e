//! Cutting a page out of rows that come one after the other: skip, take, look one further.

use armadex_storage::PageBudget;

use super::place::Located;

/// Counts rows off until a page is full.
#[derive(Debug)]
pub(crate) struct Collector {
    skip: u64,
    wanted: usize,
    found: Vec<Located>,
}

impl Collector {
    /// One row more than a page holds, to know whether another page follows.
    pub(crate) fn new(skip: u64, rows: usize) -> Self {
        Self {
            skip,
            wanted: rows.saturating_add(1),
            found: Vec::new(),
        }
    }

    /// Rows that are still to be skipped.
    pub(crate) fn skip(&self) -> u64 {
        self.skip
    }

    /// Notes that rows were skipped without being looked at.
    pub(crate) fn skipped(&mut self, rows: u64) {
        self.skip = self.skip.saturating_sub(rows);
    }

    /// How many rows of an order decide the page: what is skipped, what it holds and one more.
    pub(crate) fn reach(&self) -> usize {
        self.wanted
            .saturating_add(usize::try_from(self.skip).unwrap_or(usize::MAX))
    }

    /// How many rows are still worth reading; 0 when the page is full.
    pub(crate) fn missing(&self) -> usize {
        match self.wanted.saturating_sub(self.found.len()) {
            0 => 0,
            missing => missing.saturating_add(usize::try_from(self.skip).unwrap_or(usize::MAX)),
        }
    }

    pub(crate) fn extend(&mut self, rows: impl IntoIterator<Item = Located>) {
        for row in rows {
            if self.skip > 0 {
                self.skip -= 1;
            } else if self.found.len() < self.wanted {
                self.found.push(row);
            }
        }
    }

    /// Takes whatever comes; for rows that are drained as they come.
    pub(crate) fn endless() -> Self {
        Self::new(0, usize::MAX)
    }

    /// The rows that were taken so far.
    pub(crate) fn drain(&mut self) -> Vec<Located> {
        std::mem::take(&mut self.found)
    }

    /// The page within its budget, and whether rows were left over.
    pub(crate) fn finish(self, budget: PageBudget) -> (Vec<Located>, bool) {
        let found = self.found.len();
        let mut bytes = 0_usize;
        let mut page = Vec::with_capacity(found);
        for row in self.found.into_iter().take(self.wanted - 1) {
            bytes = bytes.saturating_add(usize::try_from(row.object.size).unwrap_or(usize::MAX));
            if bytes > budget.bytes && !page.is_empty() {
                break;
            }
            page.push(row);
        }
        let more = page.len() < found;
        (page, more)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::form::version::MemberVersion;
    use crate::read::place::Place;
    use crate::sql::select::Candidate;

    fn rows(sizes: &[i64]) -> Vec<Located> {
        let place = Arc::new(Place {
            index: 0,
            cluster: armadex_model::ClusterName::new("a").expect("a name"),
            namespace: "".into(),
            nsid: 0,
            objects: 0,
        });
        let row = |(index, &size): (usize, &i64)| Located {
            place: Arc::clone(&place),
            object: Candidate {
                id: index as i64,
                nsid: 0,
                name: String::new(),
                uid: String::new(),
                created: 0,
                version: MemberVersion::Number(0),
                size,
                rev: 0,
            },
        };
        sizes.iter().enumerate().map(row).collect()
    }

    #[track_caller]
    fn check(skip: u64, rows_allowed: u32, bytes: usize, sizes: &[i64], ids: &[i64], more: bool) {
        let budget = PageBudget {
            rows: rows_allowed,
            bytes,
        };
        let mut collector = Collector::new(skip, rows_allowed as usize);
        collector.extend(rows(sizes));
        let (page, left) = collector.finish(budget);
        assert_eq!(
            page.iter().map(|row| row.object.id).collect::<Vec<_>>(),
            ids
        );
        assert_eq!(left, more);
    }

    #[test]
    fn a_page_ends_at_its_rows_or_its_bytes() {
        check(0, 2, 100, &[1, 1, 1], &[0, 1], true);
        check(0, 3, 100, &[1, 1, 1], &[0, 1, 2], false);
        check(1, 2, 100, &[1, 1, 1], &[1, 2], false);
        check(5, 2, 100, &[1, 1, 1], &[], false);
        check(0, 3, 5, &[4, 4, 4], &[0], true);
        check(0, 3, 5, &[9], &[0], false);
        check(0, 3, 5, &[9, 1], &[0], true);
    }
}
