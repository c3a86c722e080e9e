//! How much is copied at a time, and what is told meanwhile. Values.

use std::time::Duration;

/// How a store is copied.
#[derive(Clone, Debug)]
pub struct Pace {
    /// How long it is watched that nobody does the periodic work of the store that is read, if somebody did and never said that they ended.
    pub patience: Duration,
    /// The most rows of a transaction.
    pub rows: u32,
    /// The most bytes of rows that may be large, of a transaction that has more than one.
    pub bytes: i64,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            // Who does the periodic work takes a step every 24 s at the latest.
            patience: Duration::from_secs(60),
            // As many as a transaction of the writer has, which is what a commit is worth.
            rows: 8000,
            bytes: 4 << 20,
        }
    }
}

/// Rows that are looked at first: few, for they may be large, and a server may read them to say how large they are.
const FIRST: usize = 256;

impl Pace {
    /// The most rows that are looked at for a transaction, if the last one of the same table took so many: of large ones not many more than fit.
    pub(super) fn look(&self, last: Option<usize>) -> u32 {
        let next = last.map_or(FIRST, |last| last.saturating_mul(2));
        u32::try_from(next).map_or(self.rows, |next| next.clamp(1, self.rows.max(1)))
    }
}

/// What is told of a copy that goes on.
#[derive(Clone, Debug, PartialEq)]
pub enum CopyStep {
    /// A process did the periodic work of the store that is read; for this long it is watched whether it still does.
    Watching(Duration),
    /// Rows of a table were copied.
    Rows {
        /// The table.
        table: &'static str,
        /// The how manieth it is.
        number: usize,
        /// How many there are.
        tables: usize,
        /// How much of it is copied, from 0 to 1, as far as its keys tell.
        share: Option<f64>,
        /// The rows that were copied so far, of all tables and since the copy began.
        rows: u64,
    },
    /// All rows were copied; those of both are counted.
    Counting,
}

/// Is told of each step.
pub(super) type Tell<'a> = &'a mut (dyn FnMut(CopyStep) + Send);

/// What was copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copied {
    /// The last revision, of both stores.
    pub revision: i64,
    /// The rows of all tables.
    pub rows: u64,
    /// It was whole before, and nothing was written.
    pub was_whole: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_rows_are_looked_at_than_twice_what_was_taken() {
        let pace = Pace::default();
        assert_eq!(pace.look(None), 256);
        assert_eq!(pace.look(Some(20)), 40);
        assert_eq!(pace.look(Some(1)), 2);
        assert_eq!(pace.look(Some(4001)), pace.rows);
        assert_eq!(pace.look(Some(usize::MAX)), pace.rows);
        let small = Pace { rows: 7, ..pace };
        assert_eq!(small.look(None), 7);
    }
}
