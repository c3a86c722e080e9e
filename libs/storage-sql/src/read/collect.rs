//! Cutting a page out of rows that come one after the other: skip, take, look one further.

use armadex_storage::PageBudget;

use crate::sql::select::Candidate;

/// Counts rows off until a page is full.
#[derive(Debug)]
pub(crate) struct Collector {
    skip: u64,
    wanted: usize,
    pub(crate) found: Vec<Candidate>,
}

impl Collector {
    /// One row more than a page holds, to know whether another page follows.
    pub(crate) fn new(skip: u64, budget: PageBudget) -> Self {
        let rows = usize::try_from(budget.rows.max(1)).unwrap_or(usize::MAX);
        Self {
            skip,
            wanted: rows.saturating_add(1),
            found: Vec::new(),
        }
    }

    /// How many rows of an order decide the page: what is skipped, what it holds and one more.
    pub(crate) fn reach(&self) -> usize {
        self.wanted
            .saturating_add(usize::try_from(self.skip).unwrap_or(usize::MAX))
    }

    /// How many rows are still worth reading; 0 when the page is full.
    pub(crate) fn missing(&self) -> usize {
        let missing = self.wanted.saturating_sub(self.found.len());
        let skip = usize::try_from(self.skip).unwrap_or(usize::MAX);
        match missing {
            0 => 0,
            missing => missing.saturating_add(skip).min(MOST_AT_ONCE.max(missing)),
        }
    }

    pub(crate) fn extend(&mut self, rows: Vec<Candidate>) {
        for row in rows {
            if self.skip > 0 {
                self.skip -= 1;
            } else if self.found.len() < self.wanted {
                self.found.push(row);
            }
        }
    }

    /// The page within its budget, and whether rows were left over.
    pub(crate) fn finish(self, budget: PageBudget) -> (Vec<Candidate>, bool) {
        let found = self.found.len();
        let mut bytes = 0_usize;
        let mut page = Vec::with_capacity(found);
        for row in self.found.into_iter().take(self.wanted - 1) {
            bytes = bytes.saturating_add(usize::try_from(row.size).unwrap_or(usize::MAX));
            if bytes > budget.bytes && !page.is_empty() {
                break;
            }
            page.push(row);
        }
        let more = page.len() < found;
        (page, more)
    }
}

/// While rows are skipped they are read in portions of this size, so that a large offset takes time but no memory.
const MOST_AT_ONCE: usize = 5000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::form::version::MemberVersion;

    fn rows(sizes: &[i64]) -> Vec<Candidate> {
        let row = |(index, &size): (usize, &i64)| Candidate {
            oid: index as i64,
            nsid: 0,
            name: String::new(),
            uid: String::new(),
            created: 0,
            version: MemberVersion::Number(0),
            size,
            rev: 0,
        };
        sizes.iter().enumerate().map(row).collect()
    }

    #[track_caller]
    fn check(skip: u64, rows_allowed: u32, bytes: usize, sizes: &[i64], ids: &[i64], more: bool) {
        let budget = PageBudget {
            rows: rows_allowed,
            bytes,
        };
        let mut collector = Collector::new(skip, budget);
        collector.extend(rows(sizes));
        let (page, left) = collector.finish(budget);
        assert_eq!(page.iter().map(|row| row.oid).collect::<Vec<_>>(), ids);
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
