//! What a statement has many of: values of a list, keys, rows. A dialect that knows arrays takes one for each column, so that there is one
//! text however many there are; the others write each value out, and repeat the last one up to a power of two where that changes nothing, so
//! that lists of many lengths are few texts.

use crate::sql::dialect::Many;
use crate::sql::param::{Cells, Param, column, columns};
use crate::sql::statement::Sql;

/// A list of one tuple is no reason for MySQL and MariaDB to look at an index:
/// <https://dev.mysql.com/doc/refman/8.0/en/range-optimization.html#row-constructor-range-optimization>.
const LEAST_TUPLES: usize = 2;

/// Rows that an update takes its values from.
pub(crate) struct Given {
    pub(crate) alias: &'static str,
    pub(crate) columns: &'static [&'static str],
}

/// An update of each row of a table that a given one names.
pub(crate) struct UpdateFrom {
    pub(crate) table: &'static str,
    pub(crate) given: Given,
    /// Columns and what they become; `?` are bound after the rows.
    pub(crate) set: &'static [(&'static str, &'static str)],
    /// Which row is meant; without parameters.
    pub(crate) on: &'static str,
}

impl Sql {
    /// Appends a test that a column has one of these values.
    pub(crate) fn within<P: Into<Param> + Clone>(self, name: &'static str, values: &[P]) -> Self {
        let sql = self.push(name);
        match sql.dialect.many() {
            Many::Arrays => sql.push(" = ANY(").bind(column(values)).push(")"),
            Many::Values | Many::Selects => sql.push(" IN ").list(values),
        }
    }

    /// Appends a test, written `a >= ? AND a < ?`, that a column is in one of these ranges. MySQL and MariaDB read each part of a union to its end,
    /// whatever the limit of the whole; they find several ranges in an index themselves.
    pub(crate) fn within_ranges(self, test: &'static str, ranges: &[(i64, i64)]) -> Self {
        self.push("(")
            .for_each(" OR ", ranges, |sql, &(low, high)| {
                sql.bound(test, [low.into(), high.into()])
            })
            .push(")")
    }

    /// Appends a test that these columns, written `(a, b)`, have the values of one of these keys.
    pub(crate) fn keys<const N: usize>(
        self,
        names: &'static str,
        keys: impl ExactSizeIterator<Item = [Param; N]>,
    ) -> Self {
        let sql = self.push(names).push(" IN (");
        let sql = match sql.dialect.many() {
            Many::Arrays => sql.arrays(keys),
            Many::Values => sql.push("VALUES ").padded(keys, 1),
            Many::Selects => sql.padded(keys, LEAST_TUPLES),
        };
        sql.push(")")
    }

    /// Appends rows to insert.
    pub(crate) fn rows(self, rows: impl ExactSizeIterator<Item = impl Cells>) -> Self {
        match self.dialect.many() {
            Many::Arrays => self.arrays(rows),
            Many::Values | Many::Selects => self.push("VALUES ").tuples(rows),
        }
    }

    /// Appends rows that the rest of the statement reads like a table: `WITH k (a, b) AS (...) `.
    pub(crate) fn given<const N: usize>(
        mut self,
        given: &Given,
        rows: impl ExactSizeIterator<Item = [Param; N]>,
    ) -> Self {
        debug_assert_eq!(given.columns.len(), N, "{}", given.alias);
        let columns = given.columns.join(", ");
        let Given { alias, .. } = given;
        self.sql.push_str(&format!("WITH {alias} ({columns}) AS ("));
        let sql = match self.dialect.many() {
            Many::Arrays => self.arrays(rows),
            Many::Values => self.push("VALUES ").tuples(rows),
            Many::Selects => self.selects(&[], rows),
        };
        sql.push(") ")
    }

    /// Appends an update of the rows that these rows name.
    pub(crate) fn update_from<const N: usize, const M: usize>(
        self,
        update: &UpdateFrom,
        rows: impl ExactSizeIterator<Item = [Param; N]>,
        params: [Param; M],
    ) -> Self {
        let mut sql = match self.dialect.many() {
            Many::Arrays | Many::Values => self.update_of_given(update, rows),
            Many::Selects => self.update_of_joined(update, rows),
        };
        sql.params.extend(params);
        sql
    }

    fn update_of_given<const N: usize>(
        self,
        update: &UpdateFrom,
        rows: impl ExactSizeIterator<Item = [Param; N]>,
    ) -> Self {
        let UpdateFrom {
            table,
            given,
            set,
            on,
        } = update;
        let set: Vec<String> = set
            .iter()
            .map(|(column, value)| format!("{column} = {value}"))
            .collect();
        let (set, alias) = (set.join(", "), given.alias);
        let mut sql = self.given(given, rows);
        let text = format!("UPDATE {table} SET {set} FROM {alias} WHERE {on}");
        sql.sql.push_str(&text);
        sql
    }

    fn update_of_joined<const N: usize>(
        mut self,
        update: &UpdateFrom,
        rows: impl ExactSizeIterator<Item = [Param; N]>,
    ) -> Self {
        let UpdateFrom {
            table,
            given,
            set,
            on,
        } = update;
        let set: Vec<String> = set
            .iter()
            .map(|(column, value)| format!("{table}.{column} = {value}"))
            .collect();
        let (set, alias) = (set.join(", "), given.alias);
        self.sql.push_str("UPDATE (");
        let mut sql = self.selects(given.columns, rows);
        let (join, by_key) = (sql.dialect.then_join(), sql.dialect.by_key());
        let text = format!(") {alias}{join}{table}{by_key} ON {on} SET {set}");
        sql.sql.push_str(&text);
        sql
    }

    /// Appends rows as a table, for a dialect that takes arrays: a statement that looks up each of them by itself is planned alike whatever the
    /// database believes of its tables.
    pub(crate) fn table<const N: usize>(
        mut self,
        alias: &'static str,
        rows: impl ExactSizeIterator<Item = [Param; N]>,
    ) -> Self {
        self = self.unnest(columns(rows));
        self.push(" AS ").push(alias)
    }

    /// `SELECT * FROM unnest(?, ?)`.
    fn arrays(mut self, rows: impl ExactSizeIterator<Item = impl Cells>) -> Self {
        let columns = columns(rows);
        self.sql.push_str("SELECT * FROM ");
        self.unnest(columns)
    }

    /// The function that somebody else has made for this very type would be meant before the server's own, which takes any: it is named with its schema.
    /// Of several arrays at once the word is the language's, and has none.
    fn unnest(mut self, columns: Vec<Param>) -> Self {
        if columns.len() == 1 {
            self.sql.push_str("pg_catalog.");
        }
        self.sql.push_str("unnest");
        self.tuple(columns.len());
        self.params.extend(columns);
        self
    }

    /// `SELECT ? AS a, ? AS b UNION ALL SELECT ?, ?`, each with its type: MySQL takes a value for a text where nothing else says what it is, and
    /// finds no row by the index of a number then.
    fn selects<const N: usize>(
        mut self,
        names: &[&str],
        rows: impl ExactSizeIterator<Item = [Param; N]>,
    ) -> Self {
        for (index, row) in rows.enumerate() {
            let typed = |value: &Param| match value {
                Param::Int(_) => "CAST(? AS SIGNED)",
                _ => "CAST(? AS BINARY)",
            };
            let columns = row.iter().enumerate().map(|(at, value)| {
                match names.get(at).filter(|_| index == 0) {
                    Some(name) => format!("{} AS {name}", typed(value)),
                    None => typed(value).to_owned(),
                }
            });
            let columns = Vec::from_iter(columns).join(", ");
            let verb = if index == 0 {
                "SELECT "
            } else {
                " UNION ALL SELECT "
            };
            self.sql.push_str(verb);
            self.sql.push_str(&columns);
            self.params.extend(row);
        }
        self
    }

    /// `(?, ?, ...)`.
    fn list<P: Into<Param> + Clone>(mut self, values: &[P]) -> Self {
        let padded = values.len().next_power_of_two();
        let last = values.last().expect("a list has at least one value");
        let values = values.iter().chain(std::iter::repeat(last)).take(padded);
        self.params.extend(values.cloned().map(Into::into));
        self.tuple(padded);
        self
    }

    /// `(?, ?), (?, ?), ...`, the last one repeated.
    fn padded<const N: usize>(
        self,
        keys: impl ExactSizeIterator<Item = [Param; N]>,
        least: usize,
    ) -> Self {
        let repeated = keys.len().next_power_of_two().max(least) - keys.len();
        let mut keys: Vec<[Param; N]> = keys.collect();
        let last = keys.last().expect("a list has at least one key").clone();
        keys.extend(std::iter::repeat_n(last, repeated));
        self.tuples(keys.into_iter())
    }

    /// `(?, ?), (?, ?), ...`
    fn tuples(mut self, rows: impl ExactSizeIterator<Item = impl Cells>) -> Self {
        for (index, row) in rows.enumerate() {
            if index > 0 {
                self.sql.push_str(", ");
            }
            self.tuple(row.as_ref().len());
            self.params.extend(row);
        }
        self
    }

    fn tuple(&mut self, width: usize) {
        self.sql.push('(');
        for index in 0..width {
            self.sql.push_str(if index == 0 { "?" } else { ", ?" });
        }
        self.sql.push(')');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::dialect::Dialect;

    #[test]
    fn lists_are_padded_with_their_last_value_or_are_one_array() {
        let of = |dialect| {
            let sql = Sql::new(dialect, "test", "").within("x", &[1_i64, 2, 3]);
            sql.build().to_string()
        };
        assert_eq!(
            of(Dialect::Sqlite),
            "test: x IN (?, ?, ?, ?)\n  [1, 2, 3, 3]"
        );
        assert_eq!(of(Dialect::Postgres), "test: x = ANY(?)\n  [{1, 2, 3}]");
    }
}
