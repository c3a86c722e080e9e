//! What is MySQL's own: how MariaDB runs each statement, its schema, and connections that die.

mod reads;

use armadex_databases::{Database as TestDatabase, Engine};

use super::*;
use crate::backend::error::is_full;
use crate::backend::pool::Connect as _;
use crate::backend::several::place::patient;
use crate::backend::{Connection, Row, rows};
use crate::location::Location;
use crate::sql::samples::samples;
use crate::sql::statement::Statement;

fn connector(server: &Server) -> Connector {
    Connector::of_schema(server, Hosts::of_primary(server))
}

/// A database of its own for a test, and where it is.
struct Home {
    server: Server,
    database: TestDatabase,
}

impl Home {
    /// `None` where there can be none, which has been said then.
    fn new() -> Option<Self> {
        let database = TestDatabase::for_test(Engine::Mysql).expect("a server")?;
        let server = server(patient(&database));
        Some(Self { server, database })
    }

    async fn open(&self) -> Result<MysqlDatabase, StoreError> {
        MysqlDatabase::open(&self.server, &Options::default()).await
    }
}

fn server(location: Location) -> Server {
    match location {
        Location::Server(server) => *server,
        Location::Sqlite(path) => panic!("{path:?}"),
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
    let Some(place) = Home::new() else { return };
    let database = place.open().await.expect("a database");
    let mut transaction = database.write().await.expect("a transaction");
    let version = texts(&mut *transaction, "SELECT VERSION()").await;
    if !version[0].contains("MariaDB") {
        let why = "it is MySQL, whose plans are told in other words";
        armadex_databases::note_not_run(why).expect("noted");
        return;
    }
    let mut plans = Vec::new();
    for statement in samples(Dialect::MySql) {
        plans.push(explain(&mut *transaction, &statement).await);
    }
    let plans = plans.join("\n").replace(place.database.name(), "here");
    insta::assert_snapshot!(plans);
}

/// Runs a statement on the server, by the way that an administrator would.
fn administer(place: &Home, sql: &str) -> String {
    let name = place.database.name();
    let done =
        armadex_databases::administer(place.database.server(), &format!("USE {name}; {sql}"));
    done.expect("done")
}

#[tokio::test]
async fn a_migration_that_was_interrupted_is_finished_and_two_at_once_are_one() {
    let Some(place) = Home::new() else { return };
    // As a process leaves it that dies in the middle: some tables, some rows, no version.
    place.open().await.expect("a database").close().await;
    administer(
        &place,
        "DELETE FROM migration; DROP TABLE stream; DROP TABLE counter",
    );
    administer(
        &place,
        "UPDATE allocation SET next = 77 WHERE name = 'object'",
    );
    assert_eq!(look(&place.server).await.expect("a standing").version, None);
    let (one, other) = tokio::join!(migrate(&place.server), migrate(&place.server));
    one.expect("migrated");
    other.expect("migrated");
    let standing = look(&place.server).await.expect("a standing");
    assert_eq!((standing.version, standing.pending), (Some(9), vec![]));
    let kept = administer(&place, "SELECT next FROM allocation WHERE name = 'object'");
    assert_eq!(kept.trim(), "77");
    let tables = administer(
        &place,
        "SELECT COUNT(*) FROM stream; SELECT COUNT(*) FROM counter",
    );
    assert_eq!(tables.split_whitespace().collect::<Vec<_>>(), ["0", "0"]);
}

#[tokio::test]
async fn many_that_begin_with_an_empty_database_make_one_store() {
    let Some(place) = Home::new() else { return };
    let opened = (0..4).map(|_| place.open());
    for opened in futures::future::join_all(opened).await {
        opened.expect("a database").close().await;
    }
    let heads = administer(
        &place,
        "SELECT COUNT(*) FROM head; SELECT COUNT(*) FROM meta",
    );
    assert_eq!(heads.split_whitespace().collect::<Vec<_>>(), ["1", "1"]);
}

#[tokio::test]
async fn a_database_that_serves_newer_binaries_only_is_refused_in_clear_words() {
    let Some(place) = Home::new() else { return };
    place.open().await.expect("a database").close().await;
    administer(
        &place,
        "INSERT INTO migration (version, name) VALUES (99, 'later')",
    );
    place.open().await.expect("still served").close().await;
    let standing = look(&place.server).await.expect("a standing");
    standing.check_served().expect("it serves this binary");
    administer(&place, "UPDATE head SET serves = 99");
    let standing = look(&place.server).await.expect("a standing");
    assert!(standing.check_served().is_err());
    let refused = place.open().await.map(|_| ()).expect_err("refused");
    let refused = refused.to_string();
    for words in ["version 99", "newer binary"] {
        assert!(refused.contains(words), "{refused}");
    }
}

#[tokio::test]
async fn what_other_nodes_have_committed_is_waited_for_where_a_server_may_have_others() {
    let Some(place) = Home::new() else { return };
    let database = place.open().await.expect("a database");
    let unset = "SHOW SESSION VARIABLES WHERE variable_name = 'wsrep_sync_wait' AND value <> '7'";
    for begun in [
        database.read(Lane::Search).await,
        database.read(Lane::Whole).await,
        database.write().await,
    ] {
        let mut transaction = begun.expect("a transaction");
        assert_eq!(texts(&mut *transaction, unset).await, [""; 0]);
        transaction.rollback().await.expect("ended");
    }
    let connected = connector(&place.server).connect().await;
    let mut connection = connected.expect("a connection");
    let unknown = connect::set_where_known(&mut connection, "SET SESSION nobody_has_this = 7");
    unknown.await.expect("it is left as it is");
    let wrong = connect::set_where_known(&mut connection, "SET SESSION sql_mode = 'nonsense'");
    wrong.await.expect_err("that is an error");
}

/// No column has a collation, by which names that differ in their case alone, or by a space at their end, would be the same: whatever that of the database is.
#[tokio::test]
async fn texts_are_compared_byte_by_byte() {
    let Some(place) = Home::new() else { return };
    let database = place.open().await.expect("a database");
    let mut transaction = database.write().await.expect("a transaction");
    let columns = "SELECT CAST(CONCAT(table_name, '.', column_name, ': ', COALESCE(collation_name, 'none')) AS BINARY) \
                   FROM information_schema.columns WHERE table_schema = DATABASE() ORDER BY 1";
    let columns = texts(&mut *transaction, columns).await;
    transaction.rollback().await.expect("ended");
    let others = columns.iter().filter(|text| !text.ends_with(": none"));
    assert_eq!(Vec::from_iter(others), [""; 0]);
    for column in ["obj.name: none", "cluster.labels: none"] {
        assert!(columns.contains(&column.to_owned()), "{columns:#?}");
    }
}

/// What is set on a connection holds whatever the server's administrator set.
#[tokio::test]
async fn texts_are_never_cut_or_folded_and_reads_do_not_write() {
    let Some(place) = Home::new() else { return };
    let database = place.open().await.expect("a database");
    let mut transaction = database.write().await.expect("a transaction");
    let name = |length| {
        format!(
            "INSERT INTO owner (name, seen) VALUES ('{}', 1)",
            "x".repeat(length)
        )
    };
    let long = Statement {
        name: "test",
        sql: name(1025).into(),
        params: vec![],
    };
    let cut = transaction.execute(long).await;
    assert!(matches!(cut, Err(StoreError::Broken { .. })), "{cut:?}");
    transaction.rollback().await.expect("rolled back");
    let mut transaction = database.write().await.expect("a transaction");
    for name in ["'a'", "'A'", "'a '", "'ä'"] {
        let insert = Statement {
            name: "test",
            sql: format!("INSERT INTO owner (name, seen) VALUES ({name}, 1)").into(),
            params: vec![],
        };
        transaction.execute(insert).await.expect("another name");
    }
    let found = texts(&mut *transaction, "SELECT name FROM owner ORDER BY name").await;
    assert_eq!(found, ["A", "a", "a ", "ä"]);
    transaction.rollback().await.expect("rolled back");
    let mut reading = database.read(Lane::Short).await.expect("a snapshot");
    let written = reading.execute(statement("DELETE FROM owner")).await;
    written.expect_err("nothing is written here");
    database.close().await;
}

#[tokio::test]
async fn a_snapshot_stays_as_it_was_when_it_began() {
    let Some(place) = Home::new() else { return };
    let database = place.open().await.expect("a database");
    let mut reading = database.read(Lane::Search).await.expect("a snapshot");
    administer(&place, "INSERT INTO owner (name, seen) VALUES ('later', 1)");
    assert!(
        texts(&mut *reading, "SELECT name FROM owner")
            .await
            .is_empty()
    );
    reading.rollback().await.expect("ended");
    let mut reading = database.read(Lane::Search).await.expect("a snapshot");
    assert_eq!(
        texts(&mut *reading, "SELECT name FROM owner").await,
        ["later"]
    );
}

#[tokio::test]
async fn connections_that_the_server_closed_meanwhile_are_nobodys_trouble() {
    let Some(place) = Home::new() else { return };
    let database = place.open().await.expect("a database");
    for _ in 0..2 {
        let mut reading = database.read(Lane::Short).await.expect("a snapshot");
        texts(&mut *reading, "SELECT name FROM owner").await;
        reading.rollback().await.expect("ended");
        let ours = "SELECT id FROM information_schema.processlist WHERE db = DATABASE() AND id <> CONNECTION_ID()";
        for id in administer(&place, ours).lines() {
            administer(&place, &format!("KILL {id}"));
        }
    }
    database
        .write()
        .await
        .expect("a transaction")
        .rollback()
        .await
        .expect("ended");
}

/// Who gives a read up in the middle of an answer leaves nothing of it to the next one.
#[tokio::test]
async fn what_nobody_waited_for_to_its_end_is_not_answered_to_the_next() {
    let Some(place) = Home::new() else { return };
    let database = place.open().await.expect("a database");
    administer(
        &place,
        "INSERT INTO owner (name, seen) VALUES ('one', 1), ('two', 2)",
    );
    for _ in 0..8 {
        let mut reading = database.read(Lane::Short).await.expect("a snapshot");
        let slow = statement("SELECT SLEEP(0.2), name FROM owner ORDER BY name");
        let mut nothing = |_: &dyn Row| Ok(());
        let given_up = reading.fetch(slow, &mut nothing);
        tokio::select! {
            biased;
            done = given_up => panic!("not so soon: {done:?}"),
            () = tokio::task::yield_now() => {}
        }
        drop(reading);
        let mut next = database.read(Lane::Short).await.expect("a snapshot");
        let found = texts(&mut *next, "SELECT name FROM owner ORDER BY name").await;
        assert_eq!(found, ["one", "two"]);
        next.rollback().await.expect("ended");
    }
}

/// A migration that another process runs meanwhile: what is asked is done anew, and is no fault of the store.
#[tokio::test]
async fn a_table_that_was_changed_after_a_snapshot_was_taken_is_read_anew() {
    let Some(place) = Home::new() else { return };
    let database = place.open().await.expect("a database");
    let mut reading = database.read(Lane::Short).await.expect("a snapshot");
    administer(&place, "ALTER TABLE owner ADD COLUMN later BIGINT, FORCE");
    let read = statement("SELECT name FROM owner");
    let read = rows(&mut *reading, read, |row| row.text(0)).await;
    let refused = read.expect_err("the table is newer");
    assert!(refused.is_transient(), "{refused}");
    reading.rollback().await.expect("ended");
    let mut reading = database.read(Lane::Short).await.expect("a snapshot");
    let found = texts(&mut *reading, "SELECT name FROM owner").await;
    assert!(found.is_empty());
    database.close().await;
}

#[tokio::test]
async fn who_reads_everything_has_more_time_than_a_page() {
    let Some(mut place) = Home::new() else {
        return;
    };
    place.server.timeouts.statement = std::time::Duration::from_millis(300);
    let database = place.open().await.expect("a database");
    for (lane, has_time) in [(Lane::Search, false), (Lane::Whole, true)] {
        let mut reading = database.read(lane).await.expect("a snapshot");
        let done = rows(&mut *reading, statement("SELECT SLEEP(1)"), |row| {
            row.int(0)
        });
        // MySQL says of a sleep that was ended that it was ended, MariaDB that it took too long.
        let done = done.await.is_ok_and(|ended| ended == [0]);
        assert_eq!(done, has_time, "{lane:?}");
        reading.rollback().await.expect("ended");
    }
    database.close().await;
}

/// How many statements a connection closed of so many with texts of their own that it ran.
async fn closed_of(connection: &mut dyn Connection, texts: usize) -> i64 {
    for number in 0..texts {
        let sql = format!("SELECT {number}").into();
        let own = Statement {
            name: "test",
            sql,
            params: vec![],
        };
        let found = rows(connection, own, |row| row.int(0)).await;
        found.expect("a sound statement");
    }
    let status = statement("SHOW SESSION STATUS LIKE 'Com_stmt_close'");
    let closed = rows(connection, status, |row| row.text(1)).await;
    closed.expect("a status")[0].parse().expect("a number")
}

#[tokio::test]
async fn who_writes_keeps_more_statements_prepared_than_who_reads() {
    let Some(place) = Home::new() else { return };
    let database = place.open().await.expect("a database");
    let mut writing = database.write().await.expect("a transaction");
    assert_eq!(closed_of(&mut *writing, 500).await, 0);
    writing.rollback().await.expect("rolled back");
    let mut reading = database.read(Lane::Search).await.expect("a snapshot");
    assert_eq!(closed_of(&mut *reading, 180).await, 0);
    assert!(closed_of(&mut *reading, 500).await > 0);
    reading.rollback().await.expect("ended");
    database.close().await;
}

/// The connection that there is goes on; one more is refused by what a server says of all, and of a user's.
#[tokio::test]
async fn a_user_with_a_connection_too_many_is_told_that_there_is_no_place() {
    let Some(place) = Home::new() else {
        return;
    };
    let (database, admin) = (&place.database, place.database.server());
    let user = format!("one_of_{}", database.name());
    let make = format!(
        "CREATE USER '{user}'@'%' IDENTIFIED BY 'one' WITH MAX_USER_CONNECTIONS 1; GRANT SELECT ON {}.* TO '{user}'@'%'",
        database.name()
    );
    let made = database.make_beside(&make, format!("DROP USER '{user}'@'%'"));
    let _user = made.expect("a user");
    let other = format!("{}:{}@", admin.user(), admin.password());
    let url = database.patient_url();
    let url = url.replacen(&other, &format!("{user}:one@"), 1);
    let connector = connector(&server(url.parse().expect("a location")));
    let first = connector.connect().await.expect("a connection");
    let refused = connector.connect().await.map(|_| ());
    let refused = refused.expect_err("one too many");
    assert!(is_full(&refused) && refused.is_transient(), "{refused:?}");
    connector.close(first).await;
}

/// Whoever asks for a table behind a change that waits for it waits as well.
#[tokio::test]
async fn a_change_of_the_schema_waits_for_a_reader_no_longer_than_for_a_row() {
    let Some(mut place) = Home::new() else {
        return;
    };
    place.server.timeouts.lock = std::time::Duration::from_secs(1);
    let database = place.open().await.expect("a database");
    let mut reading = database.read(Lane::Search).await.expect("a snapshot");
    texts(&mut *reading, "SELECT name FROM owner").await;
    let connector = connector(&place.server);
    let mut changes = crate::backend::pool::Connect::connect(&connector)
        .await
        .expect("a connection");
    let change = sqlx::raw_sql("ALTER TABLE owner ADD COLUMN later BIGINT");
    let refused = change.execute(&mut changes).await.map(|_| ());
    let refused = error::classify("a change", refused.expect_err("it is read"));
    assert!(crate::backend::error::is_collision(&refused), "{refused}");
    reading.rollback().await.expect("ended");
    database.close().await;
}
