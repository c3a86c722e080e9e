//! Statements on a transaction of MySQL or MariaDB.

use std::borrow::Cow;
use std::future::Future;
use std::io::ErrorKind;
use std::time::Duration;

use armadex_storage::StoreError;
use async_trait::async_trait;
use futures::TryStreamExt;
use sqlx::mysql::{MySqlArguments, MySqlRow};
use sqlx::query::Query;
use sqlx::{AssertSqlSafe, MySql, SqlSafeStr, SqlStr};
use tokio::time::timeout;

use super::connect::Connector;
use super::error::{classify, is_lost};
use super::limits::Limits;
use crate::backend::error::is_collision;
use crate::backend::pool::{Lent, Pool};
use crate::backend::stopwatch::Stopwatch;
use crate::backend::{Connection, RowSink, Transaction};
use crate::sql::dialect::Dialect;
use crate::sql::statement::{Param, Statement};

/// How one that reads begins: with its snapshot.
pub(super) const READ: &str = "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY";
/// How one that writes begins.
pub(super) const WRITE: &str = "START TRANSACTION";

/// An open transaction. Dropped, it takes its connection along, and the server rolls it back.
pub(super) struct MysqlTransaction {
    lent: Lent<Connector>,
    limits: Limits,
    /// No statement is under way, and none has failed in a way that leaves the connection unfit.
    is_sound: bool,
}

impl MysqlTransaction {
    /// Begins one, with one of the texts above.
    pub(super) async fn begin(
        pool: &Pool<Connector>,
        how: &'static str,
        limits: Limits,
    ) -> Result<Self, StoreError> {
        let begun = Self::begun(pool, how.into_sql_str(), limits).await?;
        Ok(begun.0)
    }

    /// Begins one that reads, and asks the first query in the same message.
    pub(super) async fn begin_with(
        pool: &Pool<Connector>,
        first: Statement,
        limits: Limits,
        each: RowSink<'_>,
    ) -> Result<Self, StoreError> {
        let both = safe(format!("{READ}; {}", first.sql).into());
        let (transaction, rows) = Self::begun(pool, both, limits).await?;
        rows.iter().try_for_each(|row| each(row))?;
        Ok(transaction)
    }

    /// Begins one by a text; the rows that answer it. A connection that lay idle may be dead, which is nobody's trouble.
    async fn begun(
        pool: &Pool<Connector>,
        text: SqlStr,
        limits: Limits,
    ) -> Result<(Self, Vec<MySqlRow>), StoreError> {
        let mut lent = pool.lend().await?;
        let _running = Stopwatch::new("transaction.begin");
        let rows = match begin(&mut lent, text.clone(), limits).await {
            Err(err) if lent.was_idle() && is_lost(&err) => {
                lent = pool.renew(lent).await?;
                begin(&mut lent, text, limits).await
            }
            begun => begun,
        };
        let rows = rows.map_err(|err| classify("opening a transaction", err))?;
        let transaction = Self {
            lent,
            limits,
            is_sound: true,
        };
        Ok((transaction, rows))
    }

    /// Ends it by a statement, and gives the connection back.
    async fn end(mut self, doing: &str, how: &'static str) -> Result<(), StoreError> {
        let ended = sqlx::raw_sql(how).execute(&mut *self.lent);
        let ended = within(self.limits.silence, ended).await;
        ended.map_err(|err| classify(doing, err))?;
        self.lent.give_back().await;
        Ok(())
    }

    /// Notes what came of a statement. After a collision the server has rolled back and goes on; whatever else went wrong may have left the
    /// connection in any state, or says that another server is to be asked.
    fn note<T>(&mut self, done: Result<T, StoreError>) -> Result<T, StoreError> {
        self.is_sound = match &done {
            Ok(_) => true,
            Err(err) => is_collision(err),
        };
        done
    }
}

async fn begin(
    lent: &mut Lent<Connector>,
    text: SqlStr,
    limits: Limits,
) -> Result<Vec<MySqlRow>, sqlx::Error> {
    let begun = sqlx::raw_sql(text).fetch_all(&mut **lent);
    within(limits.begin, begun).await
}

#[async_trait]
impl Connection for MysqlTransaction {
    fn dialect(&self) -> Dialect {
        Dialect::MySql
    }

    async fn execute(&mut self, statement: Statement) -> Result<u64, StoreError> {
        let _running = Stopwatch::new(statement.name);
        let name = statement.name;
        self.is_sound = false;
        let done = query(statement, self.limits.prepared).execute(&mut *self.lent);
        let done = within(self.limits.statement, done).await;
        let done = done.map_err(|err| classify(name, err));
        self.note(done.map(|done| done.rows_affected()))
    }

    async fn fetch(&mut self, statement: Statement, each: RowSink<'_>) -> Result<(), StoreError> {
        let _running = Stopwatch::new(statement.name);
        let name = statement.name;
        self.is_sound = false;
        let between = self.limits.between(&statement);
        let mut found = query(statement, self.limits.prepared).fetch(&mut *self.lent);
        let reading = async {
            // What comes first may have to be looked for as long as all of it.
            let mut limit = None;
            while let Some(row) = within_any(limit, found.try_next())
                .await
                .map_err(|err| classify(name, err))?
            {
                each(&row)?;
                limit = between;
            }
            Ok(())
        };
        let done = timeout(self.limits.statement, reading).await;
        let done = done.unwrap_or_else(|_| Err(classify(name, silence())));
        drop(found);
        self.note(done)
    }
}

#[async_trait]
impl Transaction for MysqlTransaction {
    async fn commit(self: Box<Self>) -> Result<(), StoreError> {
        (*self).end("the commit", "COMMIT").await
    }

    async fn rollback(self: Box<Self>) -> Result<(), StoreError> {
        match self.is_sound {
            true => (*self).end("the rollback", "ROLLBACK").await,
            // Closing the connection rolls back.
            false => Ok(()),
        }
    }

    fn leave(self: Box<Self>) {
        self.lent.leave();
    }
}

/// The driver waits for ever. What was given up is in the middle of an answer, so its connection is not used again.
async fn within<T>(
    limit: Duration,
    done: impl Future<Output = Result<T, sqlx::Error>>,
) -> Result<T, sqlx::Error> {
    timeout(limit, done)
        .await
        .unwrap_or_else(|_| Err(silence()))
}

/// The same, where there is a limit.
async fn within_any<T>(
    limit: Option<Duration>,
    done: impl Future<Output = Result<T, sqlx::Error>>,
) -> Result<T, sqlx::Error> {
    match limit {
        Some(limit) => within(limit, done).await,
        None => done.await,
    }
}

fn silence() -> sqlx::Error {
    sqlx::Error::Io(ErrorKind::TimedOut.into())
}

/// The text is safe because [`crate::sql::statement::Sql`] is the only maker of texts that are not constants.
fn safe(text: Cow<'static, str>) -> SqlStr {
    match text {
        Cow::Borrowed(text) => text.into_sql_str(),
        Cow::Owned(text) => AssertSqlSafe(text).into_sql_str(),
    }
}

/// Texts are bound as bytes, as the columns have them.
fn query(statement: Statement, prepared: bool) -> Query<'static, MySql, MySqlArguments> {
    let Statement {
        name: _,
        sql,
        params,
    } = statement;
    params.into_iter().fold(
        sqlx::query(safe(sql)).persistent(prepared),
        |query, param| match param {
            Param::NoText => query.bind(None::<Vec<u8>>),
            Param::Int(value) => query.bind(value),
            Param::Text(value) => query.bind(value.into_bytes()),
            Param::Blob(value) => query.bind(value),
            Param::Ints(_) | Param::Texts(_) | Param::Blobs(_) => {
                unreachable!("this dialect has no arrays")
            }
        },
    )
}
