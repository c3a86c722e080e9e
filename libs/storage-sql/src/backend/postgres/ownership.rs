//! Whose the tables are that a store finds, and who else may make something beside them. Another's tables may run what they like in our name (a trigger, a rule, a
//! view) and show us what they like; so may a function or an operator that our statements would mean, which is why none of them can mean one: they name
//! what takes any type with its schema. Pure but for two queries.

use armadex_storage::StoreError;
use tracing::warn;

use crate::backend::error::broken;
use crate::backend::{Connection, Row, rows};
use crate::location::Server;
use crate::sql::statement::{Param, Statement};

/// Whoever may have the tables: the user itself and the roles whose rights it has (a superuser has those of all, which says nothing), the owners of the schema and of the
/// database, a superuser, and whom somebody has allowed to make tables there, which says something only where not everybody may. Where no store
/// is found yet one is made in the first schema in which names are looked up, and hides what is in those behind it.
const OTHERS: &str = "SELECT CAST(c.relname AS TEXT), CAST(n.nspname AS TEXT), CAST(r.rolname AS TEXT) FROM pg_catalog.pg_class c \
     JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace JOIN pg_catalog.pg_roles r ON r.oid = c.relowner \
     JOIN pg_catalog.pg_roles own ON own.rolname = current_user \
     JOIN pg_catalog.pg_database d ON d.datname = pg_catalog.current_database() \
     WHERE c.relname = ANY(?) AND pg_catalog.pg_table_is_visible(c.oid) \
     AND (n.nspname = current_schema() OR pg_catalog.to_regclass('migration') IS NOT NULL) AND NOT (r.rolsuper OR r.oid = own.oid OR r.oid = n.nspowner OR r.oid = d.datdba \
     OR (NOT own.rolsuper AND pg_catalog.pg_has_role(r.oid, 'MEMBER')) \
     OR (pg_catalog.has_schema_privilege(r.oid, n.oid, 'CREATE') AND NOT pg_catalog.has_schema_privilege('public', n.oid, 'CREATE'))) \
     ORDER BY 1 LIMIT 1";

const OPEN: &str = "SELECT CAST(n.nspname AS TEXT), CAST(pg_catalog.pg_get_userbyid(n.nspowner) AS TEXT) FROM pg_catalog.pg_namespace n \
     WHERE n.nspname = ANY(pg_catalog.current_schemas(false)) AND pg_catalog.has_schema_privilege('public', n.oid, 'CREATE') ORDER BY 1";

/// A schema in which names are looked up, and in which everybody may make something.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct OpenSchema {
    name: String,
    owner: String,
}

/// Refuses tables that are somebody else's; which schemas are open to everybody.
pub(super) async fn check(
    connection: &mut dyn Connection,
    server: &Server,
    relations: &[&str],
) -> Result<Vec<OpenSchema>, StoreError> {
    let found = rows(connection, others(relations), decode_other).await?;
    if let Some((name, schema, owner)) = found.into_iter().next() {
        return Err(broken(format!(
            "{server}: {name:?} in the schema {schema:?} belongs to the role {owner:?}, who is neither the user, nor one whose rights the user has, nor the \
             owner of the schema or the database, and could read and change all that is kept there: DROP it where nobody knows it; where {owner:?} is to own the \
             store: REVOKE CREATE ON SCHEMA {schema:?} FROM PUBLIC and GRANT CREATE ON SCHEMA {schema:?} TO {owner:?}"
        )));
    }
    rows(connection, open_to_everybody(), |row| {
        Ok(OpenSchema {
            name: row.text(0)?,
            owner: row.text(1)?,
        })
    })
    .await
}

/// Says of each what is to be done about it.
pub(super) fn tell(open: &[OpenSchema], server: &Server) {
    for OpenSchema { name, owner } in open {
        warn!(
            schema = ?name,
            "every role of the server may make tables and functions in the schema {name:?} of {server}: as {owner:?}, its owner, \
             run REVOKE CREATE ON SCHEMA {name:?} FROM PUBLIC"
        );
    }
}

fn decode_other(row: &dyn Row) -> Result<(String, String, String), StoreError> {
    Ok((row.text(0)?, row.text(1)?, row.text(2)?))
}

pub(super) fn others(relations: &[&str]) -> Statement {
    let names = relations.iter().map(|name| Some((*name).to_owned()));
    Statement::fixed("ownership.others", OTHERS, [Param::Texts(names.collect())])
}

pub(super) fn open_to_everybody() -> Statement {
    Statement::fixed("ownership.open", OPEN, [])
}
