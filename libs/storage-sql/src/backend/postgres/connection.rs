//! Statements on a transaction of PostgreSQL.

use std::future::Future;
use std::io::ErrorKind;
use std::time::Duration;

use armadex_storage::StoreError;
use async_trait::async_trait;
use futures::TryStreamExt;
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::query::Query;
use sqlx::{AssertSqlSafe, Postgres};
use tokio::time::timeout;

use super::begin::{self, Purpose};
use super::connect::Connector;
use super::error::{classify, is_lost, is_usable_after};
use super::limits::{GRACE, Limits};
use super::numbered::numbered;
use crate::backend::pool::{Lent, Pool};
use crate::backend::stopwatch::Stopwatch;
use crate::backend::{Connection, RowSink, Transaction};
use crate::sql::dialect::Dialect;
use crate::sql::statement::{Param, Statement};

/// A server that waits for a standby which is away would end that wait with the time of a statement, and answer as if the standby had the commit. We wait no longer
/// than ever, and have no answer then.
const COMMIT: &str = "SET LOCAL statement_timeout = 0; COMMIT";

/// An open transaction. Dropped, it takes its connection along, and the server rolls it back.
pub(super) struct PostgresTransaction {
    lent: Lent<Connector>,
    limits: Limits,
    /// No statement is under way, and none has failed in a way that leaves the connection unfit.
    is_sound: bool,
}

impl PostgresTransaction {
    /// Begins one. A connection that lay idle may be dead, which is nobody's trouble.
    pub(super) async fn begin(
        pool: &Pool<Connector>,
        purpose: Purpose,
        limits: Limits,
    ) -> Result<Self, StoreError> {
        let begun = Self::begun(pool, purpose, limits, None).await?;
        Ok(begun.0)
    }

    /// Begins one that reads, and asks the first query in the same message.
    pub(super) async fn begin_with(
        pool: &Pool<Connector>,
        first: Statement,
        limits: Limits,
        each: RowSink<'_>,
    ) -> Result<Self, StoreError> {
        let begun = Self::begun(pool, Purpose::Read, limits, Some(&first.sql)).await?;
        let (transaction, rows) = begun;
        rows.iter().try_for_each(|row| each(row))?;
        Ok(transaction)
    }

    /// Begins one, with a query or without; the rows that answer it.
    async fn begun(
        pool: &Pool<Connector>,
        purpose: Purpose,
        limits: Limits,
        query: Option<&str>,
    ) -> Result<(Self, Vec<PgRow>), StoreError> {
        let opening = |err| classify("opening a transaction", err);
        let mut lent = pool.lend().await?;
        let _running = Stopwatch::new("transaction.begin");
        let rows = match begin(&mut lent, purpose, limits, query).await {
            Err(err) if lent.was_idle() && is_lost(&err) => {
                lent = pool.renew(lent).await?;
                begin(&mut lent, purpose, limits, query).await
            }
            begun => begun,
        };
        let rows = rows.map_err(opening)?;
        let transaction = Self {
            lent,
            limits,
            is_sound: true,
        };
        Ok((transaction, rows))
    }

    /// Runs statements that are known when this crate is compiled, and take no parameters.
    pub(super) async fn run(&mut self, doing: &str, sql: &'static str) -> Result<(), StoreError> {
        self.is_sound = false;
        let done = sqlx::raw_sql(sql).execute(&mut self.lent.connection).await;
        self.note(doing, done).map(drop)
    }

    /// Ends it by a statement, and gives the connection back.
    async fn end(mut self, doing: &str, how: &'static str) -> Result<(), StoreError> {
        let limit = self.limits.silence;
        let ended = sqlx::raw_sql(how).execute(&mut self.lent.connection);
        let ended = within(limit, ended).await;
        ended.map_err(|err| classify(doing, err))?;
        self.lent.give_back().await;
        Ok(())
    }

    /// Notes what came of a statement. One that was refused leaves a connection that goes on after a rollback; whatever else went wrong may have
    /// left it in any state, or says that another server is to be asked.
    fn note<T>(&mut self, doing: &str, done: Result<T, sqlx::Error>) -> Result<T, StoreError> {
        self.is_sound = match &done {
            Ok(_) => true,
            Err(err) => is_usable_after(err),
        };
        done.map_err(|err| classify(doing, err))
    }
}

async fn begin(
    lent: &mut Lent<Connector>,
    purpose: Purpose,
    limits: Limits,
    query: Option<&str>,
) -> Result<Vec<PgRow>, sqlx::Error> {
    let forgets = limits.prepared && lent.forgets_plans();
    let text = begin::text(purpose, limits, lent.version, forgets, query);
    // Numbers, constants and the text of a statement, nothing that anybody typed.
    let begun = sqlx::raw_sql(AssertSqlSafe(text)).fetch_all(&mut lent.connection);
    within(limits.begin, begun).await
}

#[async_trait]
impl Connection for PostgresTransaction {
    fn dialect(&self) -> Dialect {
        Dialect::Postgres
    }

    async fn execute(&mut self, statement: Statement) -> Result<u64, StoreError> {
        let _running = Stopwatch::new(statement.name);
        let name = statement.name;
        self.is_sound = false;
        let done = query(statement, self.limits.prepared).execute(&mut self.lent.connection);
        let done = within(self.limits.statement + GRACE, done).await;
        self.note(name, done).map(|done| done.rows_affected())
    }

    async fn fetch(&mut self, statement: Statement, each: RowSink<'_>) -> Result<(), StoreError> {
        let _running = Stopwatch::new(statement.name);
        let name = statement.name;
        self.is_sound = false;
        let between = self.limits.between(&statement);
        let mut found = query(statement, self.limits.prepared).fetch(&mut self.lent.connection);
        let mut refused = None;
        let reading = async {
            // What comes first may have to be looked for as long as all of it.
            let mut limit = None;
            while let Some(row) = within_any(limit, found.try_next()).await? {
                if let Err(err) = each(&row) {
                    refused = Some(err);
                    break;
                }
                limit = between;
            }
            Ok(())
        };
        let done = within(self.limits.statement + GRACE, reading).await;
        drop(found);
        match refused {
            // In the middle of an answer: the connection is not used again.
            Some(err) => Err(err),
            None => self.note(name, done),
        }
    }
}

#[async_trait]
impl Transaction for PostgresTransaction {
    async fn commit(self: Box<Self>) -> Result<(), StoreError> {
        (*self).end("the commit", COMMIT).await
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
    let silence = || Err(sqlx::Error::Io(ErrorKind::TimedOut.into()));
    timeout(limit, done).await.unwrap_or_else(|_| silence())
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

/// The text is safe because [`crate::sql::statement::Sql`] is the only maker of texts that are not constants.
fn query(statement: Statement, prepared: bool) -> Query<'static, Postgres, PgArguments> {
    let Statement {
        name: _,
        sql,
        params,
    } = statement;
    let text = AssertSqlSafe(numbered(&sql));
    params.into_iter().fold(
        sqlx::query(text).persistent(prepared),
        |query, param| match param {
            Param::NoText => query.bind(None::<String>),
            Param::Int(value) => query.bind(value),
            Param::Text(value) => query.bind(value),
            Param::Blob(value) => query.bind(value),
            Param::Ints(values) => query.bind(values),
            Param::Texts(values) => query.bind(values),
            Param::Blobs(values) => query.bind(values),
        },
    )
}
