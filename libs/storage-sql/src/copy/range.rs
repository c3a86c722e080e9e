//! How much of a table lies behind a key, as far as its first column tells: numbers are handed out in order, and terms are as good as drawn by lot. Pure.

use crate::sql::statement::Param;

/// The first and the last key of a table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Range(Option<(f64, f64)>);

impl Range {
    pub(super) fn of(first: Option<&[Param]>, last: Option<&[Param]>) -> Self {
        Self(first.and_then(number).zip(last.and_then(number)))
    }

    /// From 0 to 1; `None` where keys are no numbers, or there is but one.
    pub(super) fn share(&self, key: &[Param]) -> Option<f64> {
        let (first, last) = self.0?;
        let share = (number(key)? - first) / (last - first);
        share.is_finite().then(|| share.clamp(0.0, 1.0))
    }
}

/// Not to the last digit: it becomes a percentage.
fn number(key: &[Param]) -> Option<f64> {
    match key.first() {
        Some(Param::Int(number)) => Some(*number as f64),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_says_how_much_is_behind_it() {
        let key = |number: i64| [Param::Int(number), "web".into()];
        let range = Range::of(Some(&key(i64::MIN)), Some(&key(i64::MAX)));
        assert_eq!(range.share(&key(0)), Some(0.5));
        assert_eq!(range.share(&key(i64::MAX)), Some(1.0));
        assert_eq!(range.share(&["a".into()]), None);
        assert_eq!(Range::of(Some(&key(3)), Some(&key(3))).share(&key(3)), None);
        assert_eq!(Range::of(None, None).share(&key(3)), None);
    }
}
