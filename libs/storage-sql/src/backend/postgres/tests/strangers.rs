//! What a role that has nothing to do with the store may make beside its tables means nothing to us.

use std::collections::BTreeSet;

use super::*;
use crate::backend::postgres::schema::statements;

/// Where functions have bodies of SQL whose parts the server notes as theirs.
const NOTES_PARTS: i64 = 140_000;

/// Every operator for each two of these types, and every function in `named` of one or two of them, that the server has not got itself.
const TRAPS: &str = r#"
DO $$
DECLARE
    types CONSTANT TEXT[] := ARRAY['bool', 'int2', 'int4', 'int8', 'numeric', 'float8', 'text', 'name', 'bytea', 'oid', 'regclass', '"char"', 'varchar', 'inet',
        'timestamptz', 'int8[]', 'text[]', 'bytea[]', 'name[]'];
    one TEXT; other TEXT; what TEXT;
BEGIN
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog', true);
    FOREACH one IN ARRAY types LOOP
        FOREACH what IN ARRAY named LOOP
            CONTINUE WHEN to_regprocedure(format('pg_catalog.%I(%s)', what, one)) IS NOT NULL;
            EXECUTE format('CREATE FUNCTION public.%I(%s) RETURNS bool LANGUAGE sql AS ''SELECT true''', what, one);
        END LOOP;
        FOREACH other IN ARRAY types LOOP
            EXECUTE format('CREATE FUNCTION public.trap(%s, %s) RETURNS bool LANGUAGE sql AS ''SELECT true''', one, other);
            FOREACH what IN ARRAY ARRAY['=', '<>', '<', '<=', '>', '>=', '+', '-', '*', '/', '%', '||', '>>'] LOOP
                CONTINUE WHEN to_regoperator(format('pg_catalog.%s(%s, %s)', what, one, other)) IS NOT NULL;
                EXECUTE format('CREATE OPERATOR public.%s (LEFTARG = %s, RIGHTARG = %s, FUNCTION = public.trap)', what, one, other);
            END LOOP;
            FOREACH what IN ARRAY named LOOP
                CONTINUE WHEN to_regprocedure(format('pg_catalog.%I(%s, %s)', what, one, other)) IS NOT NULL;
                EXECUTE format('CREATE FUNCTION public.%I(%s, %s) RETURNS bool LANGUAGE sql AS ''SELECT true''', what, one, other);
            END LOOP;
        END LOOP;
    END LOOP;
END $$
"#;

const CAUGHT: &str = "SELECT p.proname::TEXT || ' means ' || pg_catalog.pg_describe_object(d.refclassid, d.refobjid, 0) FROM pg_catalog.pg_depend d \
     JOIN pg_catalog.pg_proc p ON p.oid OPERATOR(pg_catalog.=) d.objid AND d.classid OPERATOR(pg_catalog.=) 1255::pg_catalog.oid \
     WHERE p.proname OPERATOR(pg_catalog.~) '^probe of ' AND d.refclassid OPERATOR(pg_catalog.=) ANY (ARRAY[1255, 2617]::pg_catalog.oid[]) ORDER BY 1";

/// A function of a type, or an operator between two, that the server itself has only for any type, or for types that it would turn ours into, is the better match
/// for ours: it would do in our name what its maker likes.
#[tokio::test]
async fn no_statement_means_what_somebody_else_has_made() {
    let Some((_place, server)) = place() else {
        return;
    };
    let database = open(&server).await.expect("a database");
    let version = "SELECT CAST(current_setting('server_version_num') AS BIGINT)";
    let version = asked(&database, version, |row| row.int(0)).await;
    if version[0] < NOTES_PARTS {
        return;
    }
    let statements = [samples(Dialect::Postgres), statements()].concat();
    let texts = statements.iter().map(|one| &*one.sql);
    let named = functions(texts);
    assert!(named.contains("count") && named.contains("unnest"));
    let list = Vec::from_iter(named.iter().map(|name| format!("'{name}'"))).join(", ");
    let one = "one TEXT;";
    let traps = TRAPS.replacen(
        one,
        &format!("named CONSTANT TEXT[] := ARRAY[{list}]; {one}"),
        1,
    );
    run(&database, traps).await;
    let mut caught = Vec::new();
    for one in statements.iter().enumerate() {
        // What a trap gives may have no place in the statement.
        if let Err(err) = made(&database, probe(one)).await {
            caught.push(format!("{}: {err}", one.1.name));
        }
    }
    caught.extend(asked(&database, CAUGHT, |row| row.text(0)).await);
    assert_eq!(caught, Vec::<String>::new());
    database.close().await;
}

async fn made(database: &PostgresDatabase, sql: String) -> Result<(), StoreError> {
    let mut transaction = database.write().await?;
    let statement = Statement {
        name: "test",
        sql: sql.into(),
        params: vec![],
    };
    transaction.execute(statement).await?;
    transaction.commit().await
}

async fn asked<T: Send>(
    database: &PostgresDatabase,
    sql: &'static str,
    decode: fn(&dyn crate::backend::Row) -> Result<T, StoreError>,
) -> Vec<T> {
    let mut transaction = database.write().await.expect("a transaction");
    let found = rows(&mut *transaction, Statement::fixed("test", sql, []), decode).await;
    transaction.rollback().await.expect("ended");
    found.expect("an answer")
}

/// What the texts call without a schema.
fn functions<'a>(texts: impl Iterator<Item = &'a str>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for text in texts {
        for (at, _) in text.match_indices('(') {
            let before = &text[..at];
            let from = before.rfind(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            let name = before[from.map_or(0, |from| from + 1)..].to_ascii_lowercase();
            if !name.is_empty() {
                found.insert(name);
            }
        }
    }
    found
}

/// A function of which the server knows what its statement means.
fn probe((at, statement): (usize, &Statement)) -> String {
    let types = statement.params.iter().map(type_of);
    let types = Vec::from_iter(types).join(", ");
    let (name, text) = (statement.name, numbered::numbered(&statement.sql));
    format!(
        "CREATE FUNCTION public.\"probe of {name} {at}\"({types}) RETURNS void BEGIN ATOMIC {text}; END"
    )
}

/// Whoever starts a store where that is so is told, and once nobody is.
#[tokio::test]
async fn a_schema_in_which_everybody_may_make_something_is_found() {
    let Some((place, server)) = place() else {
        return;
    };
    let connection = sqlx::PgConnection::connect(&place.url()).await;
    let mut connection = connection.expect("a connection");
    let pool = Pool::new(connector(&server), 1);
    for (sql, expected) in [
        ("REVOKE CREATE ON SCHEMA public FROM PUBLIC", 0),
        ("GRANT CREATE ON SCHEMA public TO PUBLIC", 1),
    ] {
        let done = sqlx::raw_sql(sql).execute(&mut connection).await;
        done.expect("changed");
        let begun = PostgresTransaction::begin(&pool, Purpose::Read, Limits::of(&server));
        let mut transaction = begun.await.expect("a transaction");
        let found = ownership::check(&mut transaction, &server, &["head"]).await;
        assert_eq!(found.expect("an answer").len(), expected, "{sql}");
        Box::new(transaction).rollback().await.expect("ended");
    }
    look(&server).await.expect("it is told of, and no more");
}
