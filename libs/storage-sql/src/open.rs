//! From a place to an open store.

use std::path::Path;
use std::sync::Arc;

use armadex_storage::StoreError;

use crate::backend::error::with_place;
use crate::backend::mysql::{self, MysqlDatabase};
use crate::backend::postgres::{self, PostgresDatabase};
use crate::backend::schema::SchemaStanding;
use crate::backend::sqlite::{self, Compacted, SqliteDatabase, look, migrate_file};
use crate::backend::{SharedDatabase, head_row, incarnation, schema};
use crate::location::{Engine, Location, Server};
use crate::options::Options;
use crate::sql::head;
use crate::store::SqlStore;

/// Opens a store, which is made if it is not there, and brings its schema up to date.
pub async fn open(location: &Location) -> Result<SqlStore, StoreError> {
    open_with(location, &Options::default()).await
}

/// Opens a store with other options than the usual ones.
pub async fn open_with(location: &Location, options: &Options) -> Result<SqlStore, StoreError> {
    match location {
        Location::Sqlite(path) => SqlStore::sqlite(path, options).await,
        Location::Server(server) => {
            let opened = match server.engine {
                Engine::Mysql => SqlStore::mysql(server, options).await,
                Engine::Postgres => SqlStore::postgres(server, options).await,
            };
            opened.map_err(|err| with_place(err, server))
        }
    }
}

/// Opens a replica of a store, to be searched: it has what the store has, a little later. What is asked of it beside that is refused as unsupported. Nothing of it
/// is changed; its schema is that of the store, which a binary of this release has brought up to date.
///
/// Where a replica answers that is behind what was read before, under the same name or after another one was chosen, reads are refused as unavailable until
/// it has caught up: no list goes back.
pub async fn open_replica(location: &Location, options: &Options) -> Result<SqlStore, StoreError> {
    let Location::Server(server) = location else {
        return Err(StoreError::Unsupported {
            what: "a file has no replicas".into(),
        });
    };
    let (standing, database): (_, SharedDatabase) = match server.engine {
        Engine::Mysql => (
            mysql::look_at_replica(server).await?,
            Arc::new(MysqlDatabase::replica(server, options)),
        ),
        Engine::Postgres => (
            postgres::look_at_replica(server).await?,
            Arc::new(PostgresDatabase::replica(server, options)),
        ),
    };
    standing.check_as_replica()?;
    SqlStore::follow(database, options).await
}

/// Opens a store that is there with the schema that it has: what an earlier release has left is refused and stays that release's, for whoever only looks
/// after a store is not to end those who work with it.
pub async fn open_as_it_is(location: &Location, options: &Options) -> Result<SqlStore, StoreError> {
    check_schema(location).await?;
    open_with(location, options).await
}

/// Migrations only go forward, so where none is to be run none will be by whoever opens the store next.
async fn check_schema(location: &Location) -> Result<(), StoreError> {
    schema_standing(location).await?.check_as_it_is()
}

/// Opens the database of a store alone, and brings its schema up to date.
pub(crate) async fn database(
    location: &Location,
    options: &Options,
) -> Result<SharedDatabase, StoreError> {
    Ok(match location {
        Location::Sqlite(path) => Arc::new(SqliteDatabase::open(path, options).await?),
        Location::Server(server) => match server.engine {
            Engine::Mysql => Arc::new(MysqlDatabase::open(server, options).await?),
            Engine::Postgres => Arc::new(PostgresDatabase::open(server, options).await?),
        },
    })
}

/// Only brings the schema of a store up to date.
pub async fn migrate(location: &Location) -> Result<(), StoreError> {
    match location {
        Location::Sqlite(path) => migrate_file(path, &Options::default()).await,
        Location::Server(server) => {
            let migrated = match server.engine {
                Engine::Mysql => mysql::migrate(server).await,
                Engine::Postgres => postgres::migrate(server).await,
            };
            migrated.map_err(|err| with_place(err, server))
        }
    }
}

/// How the schema of a store stands to this binary, without changing it.
pub async fn schema_standing(location: &Location) -> Result<SchemaStanding, StoreError> {
    match location {
        Location::Sqlite(path) => look(path).await,
        Location::Server(server) => {
            let standing = match server.engine {
                Engine::Mysql => mysql::look(server).await,
                Engine::Postgres => postgres::look(server).await,
            };
            standing.map_err(|err| with_place(err, server))
        }
    }
}

/// Gives a store another incarnation, as whoever sees that it was rewound does: positions of clients expire, and processes that write to it end. Says which
/// revision is its last one. What an earlier release has left is refused, as by [`open_as_it_is`].
pub async fn renew(location: &Location) -> Result<i64, StoreError> {
    check_schema(location).await?;
    let database = database(location, &Options::default()).await?;
    let renewed = give_another_incarnation(&database).await;
    database.close().await;
    renewed
}

async fn give_another_incarnation(database: &SharedDatabase) -> Result<i64, StoreError> {
    let mut transaction = database.write().await?;
    let head = head_row::read(&mut *transaction).await?;
    schema::check(database.dialect(), head.serves)?;
    let incarnation = incarnation::draw();
    let given = head::set_incarnation(&incarnation, &head.incarnation);
    // Nothing to note where somebody else has given it one.
    let is_given = transaction.execute(given).await? > 0;
    transaction.commit().await?;
    if is_given {
        database.note_committed(&incarnation, head.revision);
    }
    Ok(head.revision)
}

/// Writes a SQLite file anew, without free space.
pub async fn compact(location: &Location) -> Result<Compacted, StoreError> {
    let what = match location {
        Location::Sqlite(path) => return sqlite::compact(path, &Options::default()).await,
        Location::Server(server) => match server.engine {
            Engine::Postgres => {
                "only a SQLite file is written anew: PostgreSQL uses again what was freed by itself, and `REINDEX INDEX CONCURRENTLY` of `ver_pkey` and `obj_pkey` gives \
                 back what these two keep"
            }
            Engine::Mysql => {
                "only a SQLite file is written anew: MySQL and MariaDB use again what was freed by themselves, and `OPTIMIZE TABLE ver` gives it back to the disk, for which \
                 it copies the table"
            }
        },
    };
    Err(StoreError::Unsupported { what: what.into() })
}

impl SqlStore {
    /// Opens a store in a SQLite file.
    pub async fn sqlite(path: &Path, options: &Options) -> Result<Self, StoreError> {
        let database = SqliteDatabase::open(path, options).await?;
        Self::start(Arc::new(database), options).await
    }

    /// Opens a store in a database of MySQL or MariaDB.
    pub async fn mysql(server: &Server, options: &Options) -> Result<Self, StoreError> {
        let database = MysqlDatabase::open(server, options).await?;
        Self::start(Arc::new(database), options).await
    }

    /// Opens a store in a database of PostgreSQL.
    pub async fn postgres(server: &Server, options: &Options) -> Result<Self, StoreError> {
        let database = PostgresDatabase::open(server, options).await?;
        Self::start(Arc::new(database), options).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_server_is_not_compacted_and_what_gives_space_back_there_is_named() {
        for (url, statement) in [
            (
                "postgres://u@db.example/fleet",
                "`REINDEX INDEX CONCURRENTLY`",
            ),
            ("mysql://u@db.example/fleet", "`OPTIMIZE TABLE ver`"),
        ] {
            let location = url.parse().expect("a location");
            let refused = compact(&location).await.expect_err("it is a server");
            let refused = refused.to_string();
            assert!(refused.contains(statement), "{refused}");
        }
    }
}
