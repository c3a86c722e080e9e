//! What is PostgreSQL's own: its schema, and how it runs each statement.

mod strangers;

use armadex_databases::{Database as TestDatabase, Engine};
use armadex_storage::StoreError;
use sqlx::Connection as _;

use super::*;
use crate::backend::error::is_full;
use crate::backend::pool::{Connect as _, Pool};
use crate::backend::rows;
use crate::backend::several::place::patient;
use crate::location::Location;
use crate::sql::samples::samples;
use crate::sql::statement::{Param, Statement};

/// An empty database; `None` where there is no server, which has been said then.
fn place() -> Option<(TestDatabase, Server)> {
    let database = TestDatabase::for_test(Engine::Postgres).expect("a server")?;
    let server = server(patient(&database));
    Some((database, server))
}

fn server(location: Location) -> Server {
    match location {
        Location::Server(server) => *server,
        Location::Sqlite(path) => panic!("{path:?}"),
    }
}

fn connector(server: &Server) -> Connector {
    Connector::of_schema(server, Hosts::of_primary(server))
}

async fn open(server: &Server) -> Result<PostgresDatabase, StoreError> {
    PostgresDatabase::open(server, &Options::default()).await
}

/// Runs a statement of the test's own and commits it.
async fn run(database: &PostgresDatabase, sql: String) {
    let mut transaction = database.write().await.expect("a transaction");
    let statement = Statement {
        name: "test",
        sql: sql.into(),
        params: vec![],
    };
    transaction.execute(statement).await.expect("executed");
    transaction.commit().await.expect("committed");
}

/// How PostgreSQL runs a statement, by the values of its parameters, as a transaction of ours plans it: once, without them.
async fn explain(database: &PostgresDatabase, statement: &Statement) -> String {
    let mut transaction = database.write().await.expect("a transaction");
    let types = statement.params.iter().map(type_of);
    let values = statement.params.iter().map(literal);
    let (types, values) = (
        Vec::from_iter(types).join(", "),
        Vec::from_iter(values).join(", "),
    );
    let listed = |list: String| match list.is_empty() {
        true => list,
        false => format!("({list})"),
    };
    let text = numbered::numbered(&statement.sql);
    let prepare = format!("PREPARE explained {} AS {text}", listed(types));
    let explain = format!("EXPLAIN (COSTS OFF) EXECUTE explained {}", listed(values));
    let of = |sql: String| Statement {
        name: statement.name,
        sql: sql.into(),
        params: vec![],
    };
    transaction
        .execute(of(prepare))
        .await
        .expect(statement.name);
    let steps = rows(&mut *transaction, of(explain), |row| row.text(0)).await;
    transaction
        .execute(of("DEALLOCATE explained".into()))
        .await
        .expect("forgotten");
    transaction.rollback().await.expect("rolled back");
    let steps = steps.expect("a sound statement");
    format!("{}\n  {}", statement.name, steps.join("\n  "))
}

fn type_of(param: &Param) -> &'static str {
    match param {
        Param::Int(_) => "BIGINT",
        Param::Text(_) | Param::NoText => "TEXT",
        Param::Blob(_) => "BYTEA",
        Param::Ints(_) => "BIGINT[]",
        Param::Texts(_) => "TEXT[]",
        Param::Blobs(_) => "BYTEA[]",
    }
}

/// Values are not looked at; how many there are might be.
fn literal(param: &Param) -> String {
    let array = |count: usize, one: &str, of: &str| {
        let ones = vec![one; count].join(", ");
        format!("ARRAY[{ones}]::{of}")
    };
    match param {
        Param::Int(value) => value.to_string(),
        Param::Text(_) => "'x'".into(),
        Param::NoText => "NULL".into(),
        Param::Blob(_) => "'x'::BYTEA".into(),
        Param::Ints(values) => array(values.len(), "1", type_of(param)),
        Param::Texts(values) => array(values.len(), "'x'", type_of(param)),
        Param::Blobs(values) => array(values.len(), "'x'", type_of(param)),
    }
}

async fn plans(database: &PostgresDatabase) -> Vec<String> {
    let mut plans = Vec::new();
    for statement in samples(Dialect::Postgres) {
        plans.push(explain(database, &statement).await);
    }
    plans
}

/// Where rows are changed in place there is room for it, and of tables that grow with objects what is deleted is given back soon, however large they are.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tables_leave_room_and_are_vacuumed_as_they_are_used() {
    let Some((_guard, server)) = place() else {
        return;
    };
    let database = open(&server).await.expect("opened");
    let options = Statement::fixed(
        "test",
        "SELECT relname::TEXT || ': ' || COALESCE(array_to_string(reloptions, ', '), 'as the server is set') FROM pg_class \
         WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY relname",
        [],
    );
    let mut transaction = database.write().await.expect("a transaction");
    let options = rows(&mut *transaction, options, |row| row.text(0)).await;
    transaction.rollback().await.expect("ended");
    insta::assert_snapshot!(options.expect("tables").join("\n"));
}

/// In a database that sorts as a dictionary does, as those of the tests are made: a migration may forget the word for one column.
#[tokio::test]
async fn all_texts_are_compared_byte_by_byte() {
    let Some((_guard, server)) = place() else {
        return;
    };
    let database = open(&server).await.expect("opened");
    let texts = Statement::fixed(
        "test",
        "SELECT c.relname || '.' || a.attname || ': ' || o.collname FROM pg_attribute a \
         JOIN pg_class c ON c.oid = a.attrelid JOIN pg_collation o ON o.oid = a.attcollation \
         WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'i') AND NOT a.attisdropped ORDER BY 1",
        [],
    );
    let mut transaction = database.write().await.expect("a transaction");
    let texts = rows(&mut *transaction, texts, |row| row.text(0)).await;
    transaction.rollback().await.expect("ended");
    let texts = texts.expect("columns");
    let others = texts.iter().filter(|text| !text.ends_with(": C"));
    assert_eq!(Vec::from_iter(others), [""; 0]);
    for column in ["obj.name: C", "obj_key.name: C"] {
        assert!(texts.contains(&column.to_owned()), "{texts:#?}");
    }
}

/// On tables of which nobody has counted anything, as they are when a store is made and filled.
#[tokio::test]
async fn every_statement_is_run_along_the_index_that_is_meant() {
    let Some((_place, server)) = place() else {
        return;
    };
    let database = open(&server).await.expect("a database");
    insta::assert_snapshot!(plans(&database).await.join("\n"));
    database.close().await;
}

/// Once there are some rows and the server has counted them, nothing that is asked of large tables is done in another way.
#[tokio::test]
async fn plans_do_not_change_with_what_the_server_counts() {
    let Some((_place, server)) = place() else {
        return;
    };
    let database = open(&server).await.expect("a database");
    let before = plans(&database).await;
    for sql in [
        "INSERT INTO stream SELECT c, t, 1, 1, 2, '1', 'm', 0, 0, 1, 0 FROM generate_series(1, 20) c, generate_series(1, 20) t",
        "INSERT INTO cluster (id, name, incarnation, active, next_namespace, seq) \
         SELECT c, 'c' || c, 'i', 1, 2, 0 FROM generate_series(1, 400) c",
        "INSERT INTO type SELECT t, 'g' || t, 'v1', 'r' || t, 'K', 1, 's', '', '', 0 FROM generate_series(1, 400) t",
        "INSERT INTO ns SELECT c * 4294967296 + n, c, 'n' || n, 1, 0 FROM generate_series(1, 20) c, generate_series(1, 20) n",
        "INSERT INTO counter SELECT t, 1, 'n' || n, 4294967296 + n, 1 FROM generate_series(1, 20) t, generate_series(1, 50) n",
        "INSERT INTO obj SELECT t * 1000 + n, t, 4294967296 + n % 50, 'o' || n, 'u', n % 7, 1, NULL, 9, t * 1000 + n, 0 \
         FROM generate_series(1, 10) t, generate_series(1, 500) n",
        "INSERT INTO ver SELECT rev, 0, id, 1, type, nsid, name, 1, '', '' FROM obj",
        "INSERT INTO post SELECT n, t, 4294967296 + n % 50, n, 1, '' FROM generate_series(1, 10) t, generate_series(1, 500) n",
        "ANALYZE",
    ] {
        run(&database, sql.into()).await;
    }
    let after = plans(&database).await;
    for (before, after) in before.iter().zip(&after) {
        // Tables of some hundred rows; what reads all of a table; what reads or sorts all of a type, along whichever index; what is read once in minutes.
        let may_change = [
            "cluster.",
            "owner.",
            "check.",
            "copy.count",
            "stream.all_objects",
            "dict.large_types",
            "dict.clusters",
        ];
        let may_change = may_change.iter().any(|name| before.starts_with(name))
            || before.starts_with("sort.along") && before.contains("Sort Key");
        if !may_change {
            assert_eq!(before, after);
        }
    }
    database.close().await;
}

/// Of two indexes that would do just as well the younger one is taken, and one that is made anew is the youngest.
#[tokio::test]
async fn plans_do_not_change_with_an_index_that_is_made_anew() {
    let Some((place, server)) = place() else {
        return;
    };
    let database = open(&server).await.expect("a database");
    let before = plans(&database).await;
    let connection = sqlx::PgConnection::connect(&place.url()).await;
    let mut connection = connection.expect("a connection");
    for anew in [
        "REINDEX INDEX CONCURRENTLY ver_pkey",
        "REINDEX INDEX CONCURRENTLY obj_pkey",
    ] {
        let done = sqlx::raw_sql(anew).execute(&mut connection).await;
        done.expect(anew);
    }
    let after = plans(&database).await;
    for (before, after) in before.iter().zip(&after) {
        // All rows of a table are counted along whichever index.
        if !before.starts_with("copy.count") {
            assert_eq!(before, after);
        }
    }
    database.close().await;
}

#[tokio::test]
async fn two_processes_that_start_at_once_make_one_schema() {
    let Some((_place, server)) = place() else {
        return;
    };
    let (first, second) = tokio::join!(open(&server), open(&server));
    let (first, second) = (first.expect("a database"), second.expect("a database"));
    let mut heads = Vec::new();
    for database in [&first, &second] {
        let mut transaction = database.read(Lane::Short).await.expect("a transaction");
        let statement = crate::sql::head::select();
        let found = rows(&mut *transaction, statement, crate::sql::head::decode).await;
        heads.push(found.expect("a head"));
        transaction.rollback().await.expect("ended");
    }
    assert_eq!(heads[0], heads[1]);
    assert_eq!(heads[0].len(), 1);
}

#[tokio::test]
async fn a_schema_that_serves_newer_binaries_only_is_refused_in_clear_words() {
    let Some((_place, server)) = place() else {
        return;
    };
    let database = open(&server).await.expect("a database");
    run(
        &database,
        "INSERT INTO migration (version, name) VALUES (99, 'later')".into(),
    )
    .await;
    open(&server).await.expect("it still serves this binary");
    run(&database, "UPDATE head SET serves = 99".into()).await;
    match open(&server).await.map(|_| ()) {
        Err(StoreError::Broken { reason }) => assert!(reason.contains("newer binary"), "{reason}"),
        other => panic!("expected a refusal, got {other:?}"),
    }
    let standing = look(&server).await.expect("a standing");
    assert!(standing.is_ahead() && standing.pending.is_empty());
    assert!(standing.check_served().is_err());
}

#[tokio::test]
async fn readers_cannot_write_and_see_one_moment() {
    let Some((_place, server)) = place() else {
        return;
    };
    let database = open(&server).await.expect("a database");
    let mut reader = database.read(Lane::Short).await.expect("a transaction");
    let head = crate::backend::head_row::read(&mut *reader);
    let before = head.await.expect("a head");
    run(&database, "UPDATE head SET rev = rev + 7".into()).await;
    let head = crate::backend::head_row::read(&mut *reader);
    assert_eq!(head.await.expect("a head"), before);
    let refused = reader.execute(crate::sql::head::advance(1)).await;
    assert!(refused.is_err_and(|err| err.is_transient()));
}

#[tokio::test]
async fn connections_that_the_server_has_ended_are_nobodys_trouble() {
    let Some((_place, server)) = place() else {
        return;
    };
    let database = open(&server).await.expect("a database");
    for _ in 0..3 {
        let reader = database.read(Lane::Short).await.expect("a transaction");
        reader.rollback().await.expect("ended");
        let others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                      WHERE datname = current_database() AND pid <> pg_backend_pid()";
        run(&database, others.into()).await;
    }
}

#[tokio::test]
async fn without_prepared_statements_all_goes_on_the_same() {
    let Some((_place, mut server)) = place() else {
        return;
    };
    server.prepared = false;
    let database = open(&server).await.expect("a database");
    let mut transaction = database.write().await.expect("a transaction");
    for _ in 0..3 {
        let advance = crate::sql::head::advance(1);
        assert_eq!(transaction.execute(advance).await.expect("advanced"), 1);
    }
    let kept = Statement::fixed("kept", "SELECT COUNT(*) FROM pg_prepared_statements", []);
    let kept = crate::backend::row(&mut *transaction, kept, |row| row.int(0)).await;
    assert_eq!(kept.expect("an answer"), Some(0));
}

/// No transaction of ours is of the kind that PostgreSQL itself ends so, but for readings that a replica cancels: another engine that speaks as it does may.
#[tokio::test]
async fn a_transaction_that_cannot_be_put_in_order_with_others_is_done_anew() {
    let Some((place, server)) = place() else {
        return;
    };
    open(&server).await.expect("a database");
    let connect = async || {
        let connection = sqlx::PgConnection::connect(&place.url()).await;
        connection.expect("a connection")
    };
    let (mut one, mut other) = (connect().await, connect().await);
    let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT rev FROM head";
    let advance = "UPDATE head SET rev = rev + 1";
    for connection in [&mut one, &mut other] {
        let begun = sqlx::raw_sql(begin).execute(connection).await;
        begun.expect("begun");
    }
    let both = "UPDATE head SET rev = rev + 1; COMMIT";
    sqlx::raw_sql(both).execute(&mut one).await.expect("faster");
    let refused = sqlx::raw_sql(advance).execute(&mut other).await;
    let refused = refused.expect_err("it sees what was before");
    let code = refused.as_database_error();
    let code = code.and_then(sqlx::error::DatabaseError::code);
    assert_eq!(code.as_deref(), Some("40001"));
    assert_eq!(
        error::class(&refused),
        crate::backend::error::Class::Collision
    );
}

/// As in [`super::limits`], for whatever a page asks.
const SHORT: std::time::Duration = std::time::Duration::from_millis(300);

#[tokio::test]
async fn who_reads_everything_has_more_time_than_a_page() {
    let Some((_place, mut server)) = place() else {
        return;
    };
    server.timeouts.statement = SHORT;
    let database = open(&server).await.expect("a database");
    for (lane, has_time) in [(Lane::Search, false), (Lane::Whole, true)] {
        let mut reader = database.read(lane).await.expect("a transaction");
        let long = Statement::fixed("test", "SELECT CAST(pg_sleep(1) AS TEXT)", []);
        let done = rows(&mut *reader, long, |row| row.text(0)).await;
        assert_eq!(done.is_ok(), has_time, "{lane:?}: {done:?}");
        reader.rollback().await.expect("ended");
    }
}

/// The connection that there is goes on; one more is refused by what a server says of all, of a database's and of a role's.
#[tokio::test]
async fn a_role_with_a_connection_too_many_is_told_that_there_is_no_place() {
    let Some((place, _)) = place() else {
        return;
    };
    let (admin, role) = (place.server(), format!("one_of_{}", place.name()));
    let make = format!("CREATE ROLE {role} LOGIN PASSWORD 'one' CONNECTION LIMIT 1");
    let made = place.make_beside(&make, format!("DROP ROLE {role}"));
    let _role = made.expect("a role");
    let other = format!("{}:{}@", admin.user(), admin.password());
    let url = place
        .patient_url()
        .replacen(&other, &format!("{role}:one@"), 1);
    let connector = connector(&server(url.parse().expect("a location")));
    let first = connector.connect().await.expect("a connection");
    let refused = connector.connect().await.map(|_| ());
    let refused = refused.expect_err("one too many");
    assert!(is_full(&refused) && refused.is_transient(), "{refused:?}");
    connector.close(first).await;
}

#[tokio::test]
async fn a_database_of_another_encoding_is_refused_with_the_way_out() {
    let Some((place, _)) = place() else {
        return;
    };
    let name = format!("{}_latin1", place.name());
    let make = format!("CREATE DATABASE {name} ENCODING 'LATIN1' TEMPLATE template0 LOCALE 'C'");
    let made = place.make_beside(&make, format!("DROP DATABASE {name}"));
    let _database = made.expect("a database");
    let url = place.patient_url().replacen(place.name(), &name, 1);
    let refused = open(&server(url.parse().expect("a location")))
        .await
        .map(|_| ())
        .expect_err("no UTF-8");
    let refused = refused.to_string();
    for words in [
        "keeps texts in LATIN1",
        "ENCODING 'UTF8' TEMPLATE template0",
    ] {
        assert!(refused.contains(words), "{refused}");
    }
}

/// The driver refuses it by itself, and names the character.
#[tokio::test]
async fn a_password_that_cannot_be_sent_is_refused_without_any_of_it() {
    let Some((place, _)) = place() else {
        return;
    };
    let given = format!(":{}@", place.server().password());
    let url = place.patient_url().replacen(&given, ":hunter%072@", 1);
    let refused = open(&server(url.parse().expect("a location"))).await;
    let refused = refused.map(drop).expect_err("no password");
    let refused = crate::backend::error::chain(&refused);
    assert!(refused.contains("give the role another one"), "{refused}");
    for part in ["\u{7}", "\\u{7}", "hunter"] {
        assert!(!refused.contains(part), "{refused}");
    }
}

/// More tries than there once were.
const TRIES: usize = 6;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_schema_that_another_process_changes_is_waited_for_as_long_as_that_takes() {
    let Some((place, mut server)) = place() else {
        return;
    };
    server.timeouts.lock = SHORT;
    let pool = Pool::new(connector(&server), 1);
    let limits = Limits::of(&server);
    let begun = PostgresTransaction::begin(&pool, Purpose::Migrate, limits).await;
    let mut changes = begun.expect("a transaction");
    let makes = "CREATE TABLE migration (version BIGINT NOT NULL PRIMARY KEY, name TEXT COLLATE \"C\" NOT NULL)";
    changes.run("test", makes).await.expect("made");
    let waits = tokio::spawn(async move { open(&server).await.map(|_| ()) });
    let mut tries = std::collections::BTreeSet::new();
    while tries.len() < TRIES {
        assert!(!waits.is_finished(), "{:?}", waits.await);
        let waiting = format!(
            "SELECT xact_start FROM pg_stat_activity WHERE datname = '{}' AND wait_event_type = 'Lock'",
            place.name()
        );
        let waiting = armadex_databases::administer(place.server(), &waiting);
        let waiting = waiting.expect("an answer");
        tries.extend(waiting.split_whitespace().last().map(String::from));
        tokio::task::yield_now().await;
    }
    Box::new(changes).rollback().await.expect("ended");
    waits.await.expect("no panic").expect("migrated");
}

/// Whoever is at the schema, and whoever reads a table that is to be changed.
#[tokio::test]
async fn who_keeps_the_schema_from_being_changed_is_named() {
    let Some((_place, server)) = place() else {
        return;
    };
    open(&server).await.expect("a database");
    let pool = Pool::new(connector(&server), 3);
    let named = async || {
        let found = schema::holder(&pool, &server).await.expect("an answer");
        found.unwrap_or_default()
    };
    assert_eq!(named().await, "");
    let begin = async |text| {
        let begun = PostgresTransaction::begin(&pool, Purpose::Migrate, Limits::of(&server));
        let mut transaction = begun.await.expect("a transaction");
        transaction.run("test", text).await.expect("run");
        let statement = Statement::fixed("test", "SELECT CAST(pg_backend_pid() AS TEXT)", []);
        let own = rows(&mut transaction, statement, |row| row.text(0)).await;
        let own = format!(
            "process {} of the server (armadex at ",
            own.expect("a number")[0]
        );
        (transaction, own)
    };
    let (reads, reader) = begin("SELECT COUNT(*) FROM type").await;
    let found = named().await;
    assert!(found.starts_with(&reader), "{found} is not {reader}");
    let (changes, changer) = begin("LOCK TABLE migration IN SHARE ROW EXCLUSIVE MODE").await;
    let found = named().await;
    assert!(found.starts_with(&changer), "{found} is not {changer}");
    for transaction in [reads, changes] {
        Box::new(transaction).rollback().await.expect("ended");
    }
}
