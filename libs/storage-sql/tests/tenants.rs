//! A store in a schema of PostgreSQL where everybody may make something, as up to version 14 everybody may: nothing that another role of the server puts there is
//! taken for the store's, or for the server's own.

#[path = "fixture/pods.rs"]
mod pods;

use armadex_databases::{Engine, Server, Setup};
use armadex_storage_sql::{Options, SqlStore, migrate, open_as_it_is, open_with, schema_standing};
use pods::{OBJECTS, location, open_pods, write};
use sqlx::{Connection as _, PgConnection};

/// What a tenant's functions and operators do is noted with in whose name.
const TRAPS: &str = "
CREATE TABLE caught (who TEXT);
GRANT INSERT ON caught TO PUBLIC;
CREATE FUNCTION note() RETURNS void LANGUAGE sql AS 'INSERT INTO public.caught VALUES (current_user)';
CREATE FUNCTION unnest(bigint[]) RETURNS SETOF bigint LANGUAGE plpgsql AS 'BEGIN PERFORM public.note(); RETURN QUERY SELECT pg_catalog.unnest($1); END';
CREATE FUNCTION unnest(text[]) RETURNS SETOF text LANGUAGE plpgsql AS 'BEGIN PERFORM public.note(); RETURN QUERY SELECT pg_catalog.unnest($1); END';
CREATE FUNCTION count(integer) RETURNS bigint LANGUAGE plpgsql AS 'BEGIN PERFORM public.note(); RETURN 1; END';
CREATE FUNCTION same(oid, regclass) RETURNS bool LANGUAGE plpgsql AS 'BEGIN PERFORM public.note(); RETURN $1 = CAST($2 AS OID); END';
CREATE OPERATOR = (LEFTARG = oid, RIGHTARG = regclass, FUNCTION = same);
";

/// A server whose database `fleet` belongs to `keeper`, and where everybody may make something in `public`.
struct Open {
    server: Server,
    admin: String,
}

impl Open {
    async fn start() -> Option<Self> {
        let server = Server::for_test(Engine::Postgres, &Setup::default());
        let server = server.expect("no trouble")?;
        let admin = server.create("fleet").expect("a database");
        let open = Self { server, admin };
        for sql in [
            "CREATE ROLE keeper LOGIN PASSWORD 'word'",
            "CREATE ROLE tenant LOGIN PASSWORD 'word'",
            "CREATE ROLE worker LOGIN PASSWORD 'word'",
            "ALTER DATABASE fleet OWNER TO keeper",
            "GRANT CREATE ON SCHEMA public TO PUBLIC",
        ] {
            open.run_as_admin(sql).await;
        }
        Some(open)
    }

    fn url_of(&self, role: &str) -> String {
        let port = self.server.address().port();
        format!("postgres://{role}:word@127.0.0.1:{port}/fleet?connect_timeout=60s")
    }

    async fn run_as_admin(&self, sql: &str) {
        run(&self.admin, sql).await;
    }

    async fn run_as(&self, role: &str, sql: &str) {
        let url = self.url_of(role);
        run(url.split('?').next().unwrap_or_default(), sql).await;
    }

    async fn open_as(&self, role: &str) -> Result<SqlStore, String> {
        let opened = open_with(&location(&self.url_of(role)), &Options::default()).await;
        opened.map_err(|err| err.to_string())
    }

    async fn number(&self, sql: &'static str) -> i64 {
        let mut connection = PgConnection::connect(&self.admin).await.expect("connected");
        let number = sqlx::query_scalar(sql).fetch_one(&mut connection).await;
        number.expect("a number")
    }
}

async fn run(url: &str, sql: &str) {
    let mut connection = PgConnection::connect(url).await.expect("connected");
    let sql = sqlx::raw_sql(sqlx::AssertSqlSafe(sql.to_owned()));
    sql.execute(&mut connection).await.expect("executed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_tenant_makes_is_never_run_in_the_name_of_the_store() {
    let Some(open) = Open::start().await else {
        return;
    };
    open.run_as("tenant", TRAPS).await;
    let store = open.open_as("keeper").await.expect("a store");
    let writer = open_pods(&store).await;
    for batch in 1..=2 {
        write(&store, &writer, batch).await.expect("written");
    }
    let report = store.check().await.expect("a report");
    assert_eq!(
        (report.objects, report.faults),
        (OBJECTS as u64, Vec::<String>::new())
    );
    store.stats().await.expect("stats");
    store.shutdown().await;
    assert_eq!(open.number("SELECT COUNT(*) FROM caught").await, 0);
}

/// The tables of a tenant would run its triggers in our name.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tables_that_a_tenant_made_are_refused_with_the_way_out() {
    let Some(open) = Open::start().await else {
        return;
    };
    let tables = "CREATE TABLE head (id BIGINT); GRANT ALL ON head TO PUBLIC";
    open.run_as("tenant", tables).await;
    let standing = schema_standing(&location(&open.url_of("keeper"))).await;
    let standing = standing.expect_err("refused").to_string();
    let opened = open.open_as("keeper").await.map(drop).expect_err("refused");
    let by_superuser = migrate(&location(&open.admin)).await;
    let by_superuser = by_superuser.expect_err("refused").to_string();
    for refused in [standing, opened, by_superuser] {
        for words in [
            r#""head" in the schema "public" belongs to the role "tenant""#,
            r#"REVOKE CREATE ON SCHEMA "public" FROM PUBLIC"#,
        ] {
            assert!(refused.contains(words), "{refused}");
        }
    }
    open.run_as_admin("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
        .await;
    assert!(open.open_as("keeper").await.is_err(), "it is still there");
    open.run_as_admin("DROP TABLE head; GRANT CREATE ON SCHEMA public TO keeper")
        .await;
    let store = open.open_as("keeper").await.expect("a store");
    store.shutdown().await;
}

/// The role that has the tables need not have the database: that somebody has allowed it to make them is enough, where not everybody is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tables_of_a_role_that_may_make_them_are_used_by_others() {
    let Some(open) = Open::start().await else {
        return;
    };
    let closed = "REVOKE CREATE ON SCHEMA public FROM PUBLIC; GRANT CREATE ON SCHEMA public TO tenant; ALTER DATABASE fleet OWNER TO armadex";
    open.run_as_admin(closed).await;
    let migrated = migrate(&location(&open.url_of("tenant"))).await;
    migrated.expect("it may");
    let granted = "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO worker";
    open.run_as("tenant", granted).await;
    let worker = location(&open.url_of("worker"));
    let store = open_as_it_is(&worker, &Options::default()).await;
    store.expect("a store").shutdown().await;
    open.run_as_admin("GRANT CREATE ON SCHEMA public TO PUBLIC")
        .await;
    let refused = open_as_it_is(&worker, &Options::default()).await;
    let refused = refused.map(drop).expect_err("refused").to_string();
    assert!(
        refused.contains(r#"belongs to the role "tenant""#),
        "{refused}"
    );
}

/// What is behind the schema in which the store is made is hidden by it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_in_a_schema_of_its_own_begins_beside_a_tenants_tables() {
    let Some(open) = Open::start().await else {
        return;
    };
    open.run_as("tenant", "CREATE TABLE type (id BIGINT)").await;
    let refused = open.open_as("keeper").await.map(drop);
    let refused = refused.expect_err("the store would be beside it");
    assert!(
        refused.contains(r#""type" in the schema "public""#),
        "{refused}"
    );
    open.run_as_admin("CREATE SCHEMA store AUTHORIZATION keeper; ALTER ROLE keeper SET search_path = store, public")
        .await;
    let store = open.open_as("keeper").await.expect("a store");
    let writer = open_pods(&store).await;
    write(&store, &writer, 1).await.expect("written");
    store.shutdown().await;
    let found = open.number("SELECT COUNT(*) FROM public.type").await;
    assert_eq!(found, 0);
    open.run_as("tenant", "CREATE TABLE head (id BIGINT)").await;
    let store = open.open_as("keeper").await.expect("the same store");
    let report = store.check().await.expect("a report");
    assert_eq!(report.objects, OBJECTS as u64);
    store.shutdown().await;
}
