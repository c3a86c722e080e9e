//! SQL as a value: text that only this crate wrote, and parameters.
//!
//! [`Sql`] takes text as `&'static str` and values as parameters, so no value can become SQL text. Parameters are written `?`, in
//! order; a dialect that numbers them does so when it executes. Whatever is there many times, values of a list or rows, is one call here
//! that means the same in all dialects: see [`crate::sql::lists`].

use std::borrow::Cow;
use std::fmt;

use crate::sql::dialect::Dialect;
pub(crate) use crate::sql::param::Param;

/// One statement with its parameters.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Statement {
    /// What it is for, in logs and errors.
    pub(crate) name: &'static str,
    pub(crate) sql: Cow<'static, str>,
    pub(crate) params: Vec<Param>,
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

    /// Whether each of its rows may take as long as all of them: they are sums, or the few that differ of many.
    pub(crate) fn adds_up(&self) -> bool {
        self.sql.contains(" GROUP BY ") || self.sql.starts_with("SELECT DISTINCT ")
    }
}

impl fmt::Display for Statement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}", self.name, self.sql)?;
        let params: Vec<String> = self.params.iter().map(ToString::to_string).collect();
        write!(f, "  [{}]", params.join(", "))
    }
}

/// Builds a statement whose text depends on the dialect, or on how many values there are.
pub(crate) struct Sql {
    pub(super) dialect: Dialect,
    name: &'static str,
    pub(super) sql: String,
    pub(super) params: Vec<Param>,
}

impl Sql {
    pub(crate) fn new(dialect: Dialect, name: &'static str, text: &'static str) -> Self {
        Self {
            dialect,
            name,
            sql: text.to_owned(),
            params: Vec::new(),
        }
    }

    /// The beginning of a statement that changes rows that it finds by the primary key.
    pub(crate) fn update(dialect: Dialect, name: &'static str, table: &'static str) -> Self {
        let by_key = dialect.by_key();
        Self::new(dialect, name, "UPDATE ")
            .push(table)
            .push(by_key)
            .push(" SET ")
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

    /// Appends a part for each of these, with text between them.
    pub(crate) fn for_each<T>(
        self,
        between: &'static str,
        parts: &[T],
        part: impl Fn(Self, &T) -> Self,
    ) -> Self {
        let parts = parts.iter().enumerate();
        parts.fold(self, |sql, (index, one)| {
            part(sql.push(if index == 0 { "" } else { between }), one)
        })
    }

    /// Appends names with commas between them.
    pub(crate) fn names(self, names: impl Iterator<Item = &'static str>) -> Self {
        let names: Vec<&'static str> = names.collect();
        self.for_each(", ", &names, |sql, name| sql.push(name))
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
}
