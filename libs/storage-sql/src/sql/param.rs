//! Bound values: one by one, or a whole column of them.

use std::fmt;

/// A bound value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Param {
    /// No text: some databases want to know the type even of nothing.
    NoText,
    Int(i64),
    Text(String),
    Blob(Vec<u8>),
    /// A column of numbers.
    Ints(Vec<i64>),
    /// A column of texts, of which some may be none.
    Texts(Vec<Option<String>>),
    /// A column of blobs.
    Blobs(Vec<Vec<u8>>),
}

impl Param {
    /// An empty column for values like this one.
    fn column(&self, rows: usize) -> Self {
        match self {
            Self::Int(_) | Self::Ints(_) => Self::Ints(Vec::with_capacity(rows)),
            Self::NoText | Self::Text(_) | Self::Texts(_) => Self::Texts(Vec::with_capacity(rows)),
            Self::Blob(_) | Self::Blobs(_) => Self::Blobs(Vec::with_capacity(rows)),
        }
    }

    /// Puts a value at a column's end.
    fn append(&mut self, value: Self) {
        match (self, value) {
            (Self::Ints(column), Self::Int(value)) => column.push(value),
            (Self::Texts(column), Self::Text(value)) => column.push(Some(value)),
            (Self::Texts(column), Self::NoText) => column.push(None),
            (Self::Blobs(column), Self::Blob(value)) => column.push(value),
            (column, value) => unreachable!("{value} in a column of {column}"),
        }
    }
}

/// The values of a row.
pub(crate) trait Cells: AsRef<[Param]> + IntoIterator<Item = Param> {}

impl<R: AsRef<[Param]> + IntoIterator<Item = Param>> Cells for R {}

/// Rows, turned into one parameter for each column. There has to be a row.
pub(super) fn columns(rows: impl ExactSizeIterator<Item = impl Cells>) -> Vec<Param> {
    let count = rows.len();
    let mut columns: Vec<Param> = Vec::new();
    for row in rows {
        if columns.is_empty() {
            let cells = row.as_ref().iter();
            columns.extend(cells.map(|value| value.column(count)));
        }
        for (column, value) in columns.iter_mut().zip(row) {
            column.append(value);
        }
    }
    columns
}

/// Values, turned into one parameter.
pub(super) fn column<P: Into<Param> + Clone>(values: &[P]) -> Param {
    let rows = values.iter().map(|value| [value.clone().into()]);
    columns(rows).pop().expect("a list has at least one value")
}

impl fmt::Display for Param {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoText => f.write_str("null"),
            Self::Int(value) => write!(f, "{value}"),
            Self::Text(value) => write!(f, "{value:?}"),
            Self::Blob(bytes) => write!(f, "{} bytes", bytes.len()),
            Self::Ints(values) => write_column(f, values.iter().map(i64::to_string)),
            Self::Texts(values) => {
                let shown = |value: &Option<String>| match value {
                    Some(value) => format!("{value:?}"),
                    None => "null".to_owned(),
                };
                write_column(f, values.iter().map(shown))
            }
            Self::Blobs(values) => {
                let shown = |value: &Vec<u8>| format!("{} bytes", value.len());
                write_column(f, values.iter().map(shown))
            }
        }
    }
}

fn write_column(f: &mut fmt::Formatter<'_>, values: impl Iterator<Item = String>) -> fmt::Result {
    write!(f, "{{{}}}", Vec::from_iter(values).join(", "))
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
    fn rows_become_columns_that_know_what_they_hold() {
        let rows = [
            [1_i64.into(), None.into(), vec![1].into()],
            [2_i64.into(), Some("b").into(), vec![].into()],
        ];
        let expected = [
            Param::Ints(vec![1, 2]),
            Param::Texts(vec![None, Some("b".into())]),
            Param::Blobs(vec![vec![1], vec![]]),
        ];
        let found = columns(rows.into_iter());
        assert_eq!(found, expected);
        let shown: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["{1, 2}", "{null, \"b\"}", "{1 bytes, 0 bytes}"]);
    }
}
