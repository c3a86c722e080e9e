//! What is MySQL's own: how MariaDB runs each statement, its schema, and connections that die.

use armadex_databases::{Database as TestDatabase, Engine};

use super::*;
use crate::backend::{Connection, Row, rows};
use crate::location::Location;
use crate::sql::samples::samples;
use crate::sql::statement::Statement;

/// A database of its own for a test, and where it is.
struct Place {
    server: Server,
    database: TestDatabase,
}

impl Place {
    /// `None` where there can be none, which has been said then.
    fn new() -> Option<Self> {
        let database = TestDatabase::for_test(Engine::Mysql).expect("a server")?;
        let server = server(&database.url());
        Some(Self { server, database })
    }

    async fn open(&self) -> Result<MysqlDatabase, StoreError> {
        MysqlDatabase::open(&self.server, &Options::default()).await
    }
}

fn server(url: &str) -> Server {
    match url.parse() {
        Ok(Location::Server(server)) => *server,
        other => panic!("expected a server, got {other:?}"),
    }
}

fn statement(sql: &'static str) -> Statement {
    Statement {
        name: "test",
        sql: sql.into(),
        params: vec![],
    }
}

async fn texts(connection: &mut dyn Connection, sql: &'static str) -> Vec<String> {
    let found = rows(connection, statement(sql), |row| row.text(0)).await;
    found.expect("a sound statement")
}

/// How a statement is run, a line for each table: how it is found, along which key, by how many bytes of it or which columns, and what else.
fn step(row: &dyn Row) -> Result<String, StoreError> {
    let mut words = Vec::new();
    for column in [2, 3, 5, 6, 7, 9] {
        words.extend(row.optional_text(column)?.filter(|word| !word.is_empty()));
    }
    Ok(words.join(" "))
}

async fn explain(connection: &mut dyn Connection, statement: &Statement) -> String {
    let Statement { name, sql, params } = statement.clone();
    let sql = format!("EXPLAIN {sql}").into();
    let explained = Statement { name, sql, params };
    let steps = rows(connection, explained, step).await;
    format!(
        "{name}\n  {}",
        steps.expect("a sound statement").join("\n  ")
    )
}

#[tokio::test]
async fn every_statement_is_run_along_the_index_that_is_meant() {
    let Some(place) = Place::new() else { return };
    let database = place.open().await.expect("a database");
    let mut transaction = database.write().await.expect("a transaction");
    let version = texts(&mut *transaction, "SELECT VERSION()").await;
    if !version[0].contains("MariaDB") {
        // Its plans are told in other words.
        return;
    }
    let mut plans = Vec::new();
    for statement in samples(Dialect::MySql) {
        plans.push(explain(&mut *transaction, &statement).await);
    }
    insta::assert_snapshot!(plans.join("\n"));
}
