//! How many rows and values one statement takes.

use crate::sql::dialect::{Dialect, Many};

/// The most values of a list that a reader makes, and that a statement has whose text grows with them.
pub(crate) const MAX_LIST: usize = 512;
/// The most rows of a statement whose text grows with them: 2,816 parameters at 11 columns, below every database's limit. With 1,024 a batch of 4,000 objects is
/// some 45 statements for MariaDB instead of 90, which is no faster on one machine, and 40 MB more of its memory: 5 KB for each row of each text that it keeps
/// prepared.
const MAX_ROWS: usize = 256;
/// Up to here a piece has the rows that there are: small writes are one statement, and their texts are few enough to stay prepared.
const EXACT_ROWS: usize = 16;
/// The most rows of a statement that takes arrays: as many as a transaction writes objects.
const MAX_ARRAY: usize = 8192;
/// The most bytes of one statement, where rows are large: a quarter of what MariaDB takes in one packet if nobody has said anything else.
const MAX_BYTES: usize = 4 << 20;
/// The most keys times ranges of one statement. Each is a place of its own in an index: they take some 6 µs, and a statement 35.
const MOST_RANGES: usize = 64;

impl Dialect {
    /// The most values or keys of one list.
    pub(crate) fn most_values(self) -> usize {
        match self.many() {
            Many::Arrays => MAX_ARRAY,
            Many::Values | Many::Selects => MAX_LIST,
        }
    }

    /// To how many a list is filled up, so that there are few texts.
    pub(crate) fn padded(self, values: usize) -> usize {
        match self.many() {
            Many::Arrays => values,
            Many::Values | Many::Selects => values.next_power_of_two(),
        }
    }

    /// Cuts ranges of ids into pieces that one statement goes through for so many keys.
    pub(crate) fn ranges(
        self,
        ranges: &[(i64, i64)],
        keys: usize,
    ) -> impl Iterator<Item = &[(i64, i64)]> {
        let most = (MOST_RANGES / keys.max(1)).max(1);
        ranges.chunks(most).flat_map(move |part| self.pieces(part))
    }

    /// Cuts rows into pieces: as many as one statement takes, then smaller powers of two, then what is left, so that multi-row statements have
    /// few distinct texts.
    pub(crate) fn pieces<T>(self, rows: &[T]) -> impl Iterator<Item = &[T]> {
        self.pieces_of(rows, |_| 0)
    }

    /// The same for rows whose size is worth looking at.
    pub(crate) fn pieces_of<T>(
        self,
        rows: &[T],
        bytes: fn(&T) -> usize,
    ) -> impl Iterator<Item = &[T]> {
        let mut rest = rows;
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let mut size = self.rows_of(rest.len());
            while size > 1 && rest[..size].iter().map(bytes).sum::<usize>() > MAX_BYTES {
                size = size.div_ceil(2);
            }
            let (piece, tail) = rest.split_at(size);
            rest = tail;
            Some(piece)
        })
    }

    /// How many of so many rows the next statement takes.
    fn rows_of(self, rows: usize) -> usize {
        match self.many() {
            Many::Arrays => rows.min(MAX_ARRAY),
            Many::Values | Many::Selects if rows <= EXACT_ROWS => rows,
            Many::Values | Many::Selects => MAX_ROWS.min(1 << rows.ilog2()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(dialect: Dialect, rows: usize, bytes: fn(&usize) -> usize, expected: &[usize]) {
        let rows: Vec<usize> = (0..rows).collect();
        let pieces: Vec<&[usize]> = dialect.pieces_of(&rows, bytes).collect();
        let sizes: Vec<usize> = pieces.iter().map(|piece| piece.len()).collect();
        assert_eq!(sizes, expected);
        assert_eq!(pieces.concat(), rows);
    }

    #[test]
    fn pieces_are_powers_of_two_and_a_rest_and_lose_nothing() {
        check(Dialect::Sqlite, 700, |_| 0, &[256, 256, 128, 32, 16, 12]);
        check(Dialect::MySql, 20, |_| 0, &[16, 4]);
    }

    #[test]
    fn arrays_take_thousands_of_rows() {
        check(Dialect::Postgres, 10_000, |_| 0, &[8192, 1808]);
    }

    #[test]
    fn large_rows_make_small_pieces_and_the_largest_one_of_its_own() {
        check(Dialect::Postgres, 4, |_| MAX_BYTES / 2, &[2, 2]);
        check(Dialect::MySql, 3, |_| 2 * MAX_BYTES, &[1, 1, 1]);
    }
}
