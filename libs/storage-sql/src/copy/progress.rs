//! How far a copy is: a text in the store that is written, changed with each transaction that writes rows. Pure.
//!
//! Which rows of a table are there the table itself says, for they come in the order of their keys.

use crate::sql::copy::{Standing, TABLES};
use crate::sql::head::HeadRow;

/// The first word. Another one is another binary's.
const FORM: &str = "2";

/// How far a copy is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Progress {
    /// What is copied, as it was when the copy began.
    pub(super) from: Standing,
    /// The incarnation that the store that was read gets in the end.
    pub(super) next: String,
    /// The place in [`TABLES`] of the one that is copied.
    pub(super) table: usize,
    /// The rows that are copied.
    pub(super) rows: u64,
}

impl Progress {
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let Self {
            from:
                Standing {
                    head:
                        HeadRow {
                            revision,
                            pruned,
                            catalog,
                            floor,
                            incarnation,
                            serves,
                            history,
                        },
                    numbers,
                    beat,
                },
            next,
            table,
            rows,
        } = self;
        let table = TABLES[*table].name;
        let text = format!(
            "{FORM} {incarnation} {next} {revision} {pruned} {catalog} {floor} {serves} {history} {numbers} {beat} {rows} {table}"
        );
        text.into_bytes()
    }

    /// `None` if it is not of this form.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes).ok()?;
        let mut words = text.strip_prefix(FORM)?.strip_prefix(' ')?.split(' ');
        let mut word = || words.next();
        let (incarnation, next) = (word()?.to_owned(), word()?.to_owned());
        let mut number = || word()?.parse().ok();
        let head = HeadRow {
            revision: number()?,
            pruned: number()?,
            catalog: number()?,
            floor: number()?,
            incarnation,
            serves: number()?,
            history: number()?,
        };
        let from = Standing {
            head,
            numbers: number()?,
            beat: number()?,
        };
        let rows = word()?.parse().ok()?;
        let name = word()?;
        let table = TABLES.iter().position(|table| table.name == name)?;
        Some(Self {
            from,
            next,
            table,
            rows,
        })
    }

    /// Whether rows of the table in this place of [`TABLES`] are copied.
    pub(super) fn has_begun(&self, number: usize) -> bool {
        number < self.table || (number == self.table && self.rows > 0)
    }

    /// Whether a store that is found like this is the one that the copy was begun from, and has not been written since. It has its next incarnation
    /// where only the last step is missing.
    pub(super) fn is_of(&self, found: &Standing) -> bool {
        let mut expected = self.from.clone();
        if found.head.incarnation == self.next {
            expected.head.incarnation.clone_from(&self.next);
        }
        expected == *found
    }

    /// Whether a copy that serves, and what it was made of, are as the last step left them.
    pub(super) fn is_whole(&self, from: &Standing, to: &HeadRow) -> bool {
        let expected = HeadRow {
            serves: to.serves,
            ..self.from.head.clone()
        };
        from.head.incarnation == self.next && self.is_of(from) && expected == *to
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn progress() -> Progress {
        Progress {
            from: Standing {
                head: HeadRow {
                    revision: 40,
                    pruned: 35,
                    catalog: 10,
                    floor: 3,
                    incarnation: "first".into(),
                    serves: 4,
                    history: 30,
                },
                numbers: 77,
                beat: 12,
            },
            next: "second".into(),
            table: TABLES.len() - 1,
            rows: 123,
        }
    }

    #[test]
    fn what_is_written_down_is_read_back_and_nothing_else_is() {
        let written = progress().to_bytes();
        assert_eq!(Progress::parse(&written), Some(progress()));
        let text = String::from_utf8(written).expect("text");
        for other in [
            "",
            "1",
            "2 ",
            &text[..text.len() - 1],
            &text.replace("40", "x"),
        ] {
            assert_eq!(Progress::parse(other.as_bytes()), None, "{other}");
        }
        assert_eq!(Progress::parse(&[0xff]), None);
    }

    #[test]
    fn a_table_has_begun_with_its_first_row() {
        let at = |table, rows| Progress {
            table,
            rows,
            ..progress()
        };
        assert!(!at(0, 0).has_begun(0));
        assert!(at(0, 1).has_begun(0));
        assert!(at(3, 7).has_begun(2) && at(3, 7).has_begun(3));
        assert!(!at(3, 7).has_begun(4));
    }

    #[test]
    fn only_what_was_not_written_since_is_the_same() {
        let found = progress().from;
        assert!(progress().is_of(&found));
        let other = |change: fn(&mut Standing)| {
            let mut other = found.clone();
            change(&mut other);
            progress().is_of(&other)
        };
        assert!(!other(|found| found.head.revision += 1));
        assert!(!other(|found| found.head.catalog += 1));
        assert!(!other(|found| found.numbers += 1));
        assert!(!other(|found| found.beat += 1));
        assert!(!other(|found| found.head.incarnation = "third".into()));
        assert!(other(|found| found.head.incarnation = "second".into()));
    }

    #[test]
    fn a_copy_is_whole_where_nobody_wrote_to_either_since_the_last_step() {
        let (mut from, mut to) = (progress().from, progress().from.head);
        to.serves = 9;
        assert!(!progress().is_whole(&from, &to), "it has not been retired");
        from.head.incarnation = "second".into();
        assert!(progress().is_whole(&from, &to));
        to.revision += 1;
        assert!(!progress().is_whole(&from, &to));
        to.revision -= 1;
        from.numbers += 1;
        assert!(!progress().is_whole(&from, &to));
    }
}
