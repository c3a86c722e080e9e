//! For how many hours CAs of others have been seen in a bundle, as an annotation of the APIService says it. Pure.
//!
//! Anybody who may write the APIService may write it. What is no count is none, and what is read is bounded.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

/// The annotation.
pub(crate) const ANNOTATION: &str = "armadex.dev/ca-seen-hours";
/// Characters of a mark: no two of a handful of CAs have the same by chance.
const MARK: usize = 16;
/// CAs that are counted: those of others that may be in a bundle, and as many of ours.
const COUNTED: usize = 16;
/// As long as all that are counted: a mark, `=`, a count of two digits and a comma.
const LONGEST: usize = COUNTED * (MARK + 4);
/// A day is the longest that is ever counted.
const MOST: u8 = 23;

/// What a CA is told by.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Mark(String);

/// Hours, of those that have been seen for one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts(BTreeMap<Mark, u8>);

impl Mark {
    /// Of a certificate's text without what breaks its lines.
    pub(crate) fn of(certificate: &str) -> Self {
        let mut mark = String::new();
        for byte in &Sha256::digest(certificate)[..MARK / 2] {
            write!(mark, "{byte:02x}").expect("a text takes all");
        }
        Self(mark)
    }
}

impl Counts {
    /// What an annotation says.
    pub(crate) fn read(annotation: &str) -> Self {
        let mut counts = Self::default();
        if annotation.len() <= LONGEST {
            for (mark, count) in annotation
                .split(',')
                .filter_map(|item| item.split_once('='))
            {
                let is_mark =
                    mark.len() == MARK && mark.bytes().all(|sign| sign.is_ascii_hexdigit());
                if let (true, Ok(count)) = (is_mark, count.parse()) {
                    counts.set(Mark(mark.to_owned()), count);
                }
            }
        }
        counts
    }

    /// How the annotation says it.
    pub(crate) fn written(&self) -> String {
        let items = self
            .0
            .iter()
            .map(|(Mark(mark), count)| format!("{mark}={count}"));
        Vec::from_iter(items).join(",")
    }

    /// Of this one.
    pub(crate) fn of(&self, mark: &Mark) -> u8 {
        self.0.get(mark).copied().unwrap_or(0)
    }

    /// Counts this one so.
    pub(crate) fn set(&mut self, mark: Mark, count: u8) {
        if (1..=MOST).contains(&count) && self.0.len() < COUNTED {
            self.0.insert(mark, count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_what_is_read() {
        let mut counts = Counts::default();
        for number in 0..COUNTED {
            counts.set(Mark::of(&number.to_string()), MOST);
        }
        assert_eq!(Counts::read(&counts.written()), counts);
        assert_eq!(counts.of(&Mark::of("0")), MOST);
    }

    #[test]
    fn what_is_no_count_is_none() {
        let mark = "0123456789abcdef";
        let long = format!("{mark}=3,").repeat(100);
        for annotation in [
            "",
            "nonsense",
            "=,=,,",
            "short=3",
            &format!("{mark}=-1"),
            &format!("{mark}=0"),
            &format!("{mark}=24"),
            &format!("{mark}=999999999999"),
            &long,
        ] {
            let counts = Counts::read(annotation);
            assert_eq!(counts, Counts::default(), "{annotation}");
        }
    }
}
