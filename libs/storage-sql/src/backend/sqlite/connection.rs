//! Statements on a SQLite transaction.

use armadex_storage::StoreError;
use async_trait::async_trait;
use futures::TryStreamExt;
use sqlx::query::Query;
use sqlx::sqlite::SqliteArguments;
use sqlx::{AssertSqlSafe, SqlSafeStr, Sqlite};

use super::error::classify;
use crate::backend::stopwatch::Stopwatch;
use crate::backend::{Connection, RowSink, Transaction};
use crate::sql::dialect::Dialect;
use crate::sql::statement::{Param, Statement};

#[async_trait]
impl Connection for sqlx::Transaction<'static, Sqlite> {
    fn dialect(&self) -> Dialect {
        Dialect::Sqlite
    }

    async fn execute(&mut self, statement: Statement) -> Result<u64, StoreError> {
        let _running = Stopwatch::new(statement.name);
        let name = statement.name;
        let done = query(statement).execute(&mut **self).await;
        Ok(done.map_err(|err| classify(name, err))?.rows_affected())
    }

    async fn fetch(&mut self, statement: Statement, each: RowSink<'_>) -> Result<(), StoreError> {
        let _running = Stopwatch::new(statement.name);
        let name = statement.name;
        let mut found = query(statement).fetch(&mut **self);
        while let Some(row) = found.try_next().await.map_err(|err| classify(name, err))? {
            each(&row)?;
        }
        Ok(())
    }
}

#[async_trait]
impl Transaction for sqlx::Transaction<'static, Sqlite> {
    async fn commit(self: Box<Self>) -> Result<(), StoreError> {
        (*self)
            .commit()
            .await
            .map_err(|err| classify("the commit", err))
    }

    async fn rollback(self: Box<Self>) -> Result<(), StoreError> {
        let done = (*self).rollback().await;
        done.map_err(|err| classify("the rollback", err))
    }
}

/// The text is safe because [`crate::sql::statement::Sql`] is the only maker of texts that are not constants.
fn query(statement: Statement) -> Query<'static, Sqlite, SqliteArguments> {
    let Statement { name, sql, params } = statement;
    let text = match sql {
        std::borrow::Cow::Borrowed(text) => text.into_sql_str(),
        std::borrow::Cow::Owned(text) => AssertSqlSafe(text).into_sql_str(),
    };
    params
        .into_iter()
        .fold(sqlx::query(text), |query, param| match param {
            Param::NoText => query.bind(None::<String>),
            Param::Int(value) => query.bind(value),
            Param::Text(value) => query.bind(value),
            Param::Blob(value) => query.bind(value),
            // The dialect writes each value out.
            Param::Ints(_) | Param::Texts(_) | Param::Blobs(_) => {
                unreachable!("{name} has an array")
            }
        })
}
