//! SQL as a value: text that only this crate wrote, and parameters.
//!
//! [`Sql`] takes text as `&'static str` and values as parameters, so no value can become SQL text. Parameters are written `?`, in
//! order; a dialect that numbers them does so when it executes.

use std::borrow::Cow;
use std::fmt;

use crate::sql::dialect::Dialect;

/// The most rows in one multi-row statement: 2,816 parameters at 11 columns, below every database's limit.
pub(crate) const MAX_ROWS: usize = 256;
/// Up to here a piece has the rows that there are: small writes are one statement, and their texts are few enough to stay prepared.
const EXACT_ROWS: usize = 16;
/// The most values in one `IN` list.
pub(crate) const MAX_LIST: usize = 512;

/// One statement with its parameters.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Statement {
    /// What it is for, in logs and errors.
    pub(crate) name: &'static str,
    pub(crate) sql: Cow<'static, str>,
    pub(crate) params: Vec<Param>,
}

/// A bound value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Param {
    /// No text: some databases want to know the type even of nothing.
    NoText,
    Int(i64),
    Text(String),
    Blob(Vec<u8>),
}

impl Statement {
    /// A statement whose text is known when this crate is compiled.
    pub(crate) fn fixed<const N: usize>(
        name: &'static str,
        sql: &'static str,
        params: [Param; N],
    ) -> Self {
        debug_assert_eq!(sql.matches('?').count(), N, "{name}");
        Self {
            name,
            sql: sql.into(),
            params: params.into(),
        }
    }
}

impl fmt::Display for Statement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}", self.name, self.sql)?;
        let params: Vec<String> = self.params.iter().map(ToString::to_string).collect();
        write!(f, "  [{}]", params.join(", "))
    }
}

impl fmt::Display for Param {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoText => f.write_str("null"),
            Self::Int(value) => write!(f, "{value}"),
            Self::Text(value) => write!(f, "{value:?}"),
            Self::Blob(bytes) => write!(f, "{} bytes", bytes.len()),
        }
    }
}

/// Builds a statement whose text depends on how many values there are.
pub(crate) struct Sql {
    name: &'static str,
    sql: String,
    params: Vec<Param>,
}

impl Sql {
    pub(crate) fn new(name: &'static str, text: &'static str) -> Self {
        Self {
            name,
            sql: text.to_owned(),
            params: Vec::new(),
        }
    }

    /// Appends text.
    pub(crate) fn push(mut self, text: &'static str) -> Self {
        self.sql.push_str(text);
        self
    }

    /// Appends a parameter.
    pub(crate) fn bind(mut self, value: impl Into<Param>) -> Self {
        self.sql.push('?');
        self.params.push(value.into());
        self
    }

    /// Appends text whose `?` are these parameters.
    pub(crate) fn bound<const N: usize>(mut self, text: &'static str, params: [Param; N]) -> Self {
        debug_assert_eq!(text.matches('?').count(), N, "{}", self.name);
        self.sql.push_str(text);
        self.params.extend(params);
        self
    }

    /// Appends `(?, ?, ...)`. The last value is repeated up to a power of two, so that lists of many lengths are few statements.
    pub(crate) fn list<P: Into<Param> + Clone>(mut self, values: &[P]) -> Self {
        let padded = values.len().next_power_of_two();
        let last = values.last().expect("a list has at least one value");
        let values = values.iter().chain(std::iter::repeat(last)).take(padded);
        self.params.extend(values.cloned().map(Into::into));
        self.tuple(padded);
        self
    }

    /// Appends tuples as the dialect lists them after `IN`. The last one is repeated up to a power of two, as in [`Sql::list`].
    pub(crate) fn keys<const N: usize>(
        mut self,
        dialect: Dialect,
        keys: impl ExactSizeIterator<Item = [Param; N]>,
    ) -> Self {
        let (open, close) = dialect.tuple_list();
        let repeated = keys.len().next_power_of_two() - keys.len();
        self.sql.push_str(open);
        let mut last = None;
        for (index, key) in keys.enumerate() {
            self.sql.push_str(if index > 0 { ", " } else { "" });
            self.tuple(N);
            self.params.extend(key.iter().cloned());
            last = Some(key);
        }
        let last = last.expect("a list has at least one key");
        for _ in 0..repeated {
            self.sql.push_str(", ");
            self.tuple(N);
            self.params.extend(last.iter().cloned());
        }
        self.sql.push_str(close);
        self
    }

    /// Appends `(?, ?), (?, ?), ...`, one tuple for each row of `width` values.
    pub(crate) fn tuples(
        mut self,
        width: usize,
        rows: impl IntoIterator<Item = impl IntoIterator<Item = Param>>,
    ) -> Self {
        for (index, row) in rows.into_iter().enumerate() {
            if index > 0 {
                self.sql.push_str(", ");
            }
            self.tuple(width);
            self.params.extend(row);
        }
        self
    }

    pub(crate) fn build(self) -> Statement {
        debug_assert_eq!(
            self.sql.matches('?').count(),
            self.params.len(),
            "{}",
            self.name
        );
        Statement {
            name: self.name,
            sql: self.sql.into(),
            params: self.params,
        }
    }

    fn tuple(&mut self, width: usize) {
        self.sql.push('(');
        for index in 0..width {
            self.sql.push_str(if index == 0 { "?" } else { ", ?" });
        }
        self.sql.push(')');
    }
}

/// Cuts rows into pieces of [`MAX_ROWS`], then smaller powers of two, then what is left, so that multi-row statements have few distinct
/// texts.
pub(crate) fn pieces<T>(rows: &[T]) -> impl Iterator<Item = &[T]> {
    let mut rest = rows;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let size = match rest.len() {
            few @ ..=EXACT_ROWS => few,
            many => MAX_ROWS.min(1 << many.ilog2()),
        };
        let (piece, tail) = rest.split_at(size);
        rest = tail;
        Some(piece)
    })
}

impl From<i64> for Param {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<i32> for Param {
    fn from(value: i32) -> Self {
        Self::Int(value.into())
    }
}

impl From<u32> for Param {
    fn from(value: u32) -> Self {
        Self::Int(value.into())
    }
}

impl From<bool> for Param {
    fn from(value: bool) -> Self {
        Self::Int(value.into())
    }
}

impl From<&str> for Param {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl From<&String> for Param {
    fn from(value: &String) -> Self {
        Self::Text(value.clone())
    }
}

impl From<String> for Param {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

impl From<Vec<u8>> for Param {
    fn from(value: Vec<u8>) -> Self {
        Self::Blob(value)
    }
}

impl From<Option<&str>> for Param {
    fn from(value: Option<&str>) -> Self {
        value.map_or(Self::NoText, Into::into)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_powers_of_two_and_a_rest_and_lose_nothing() {
        let rows: Vec<usize> = (0..700).collect();
        let sizes: Vec<usize> = pieces(&rows).map(<[usize]>::len).collect();
        assert_eq!(sizes, [256, 256, 128, 32, 16, 12]);
        assert_eq!(pieces(&rows).flatten().copied().collect::<Vec<_>>(), rows);
    }

    #[test]
    fn lists_are_padded_with_their_last_value() {
        let statement = Sql::new("test", "x IN ").list(&[1_i64, 2, 3]).build();
        assert_eq!(
            statement.to_string(),
            "test: x IN (?, ?, ?, ?)\n  [1, 2, 3, 3]"
        );
    }
}
