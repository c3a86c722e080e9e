//! Where a store is measured: in a file, or on a server that is started for it and keeps what it acknowledged through a loss of power.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use armadex_databases::{Engine, Server, Setup, administer};
use armadex_storage_sql::{Location, Password, Secret};
use tempfile::TempDir;

use super::server_time;

/// The kinds of stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A file.
    Sqlite,
    /// PostgreSQL.
    Postgres,
    /// MariaDB.
    Mysql,
}

impl Kind {
    /// As it is chosen.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
            Self::Mysql => "mysql",
        }
    }
}

/// A place for a store.
pub(super) enum Backing {
    File(TempDir),
    Server(Box<Server>),
}

const DATABASE: &str = "armadex_bench";

impl Backing {
    pub(super) fn new(kind: Kind) -> Result<Self> {
        let engine = match kind {
            Kind::Sqlite => {
                return Ok(Self::File(tempfile::tempdir()?));
            }
            Kind::Postgres => Engine::Postgres,
            Kind::Mysql => Engine::Mysql,
        };
        let setup = Setup {
            durable: true,
            ..Setup::default()
        };
        let server = Server::start(engine, &setup)?;
        server.create(DATABASE)?;
        Ok(Self::Server(Box::new(server)))
    }

    /// Where the store is.
    pub(super) fn location(&self) -> Result<Location> {
        match self {
            Self::File(folder) => Ok(Location::Sqlite(file_in(folder))),
            Self::Server(server) => {
                let address = server.address();
                let scheme = match address.engine() {
                    Engine::Postgres => "postgres",
                    Engine::Mysql => "mysql",
                };
                let (user, host, port) = (address.user(), address.host(), address.port());
                let url = format!("{scheme}://{user}@{host}:{port}/{DATABASE}");
                let password = Password::Given(Secret::new(address.password()));
                let location: Location = url.parse()?;
                Ok(location.with_password(password))
            }
        }
    }

    /// Bytes that the store takes, without what a server keeps for recovery alone.
    pub(super) fn bytes(&self) -> Result<u64> {
        let server = match self {
            // None at first.
            Self::File(folder) => {
                return Ok(std::fs::metadata(file_in(folder)).map_or(0, |file| file.len()));
            }
            Self::Server(server) => server,
        };
        let address = server.address();
        let asked = match address.engine() {
            Engine::Postgres => format!("SELECT pg_database_size('{DATABASE}')"),
            Engine::Mysql => format!(
                "SELECT SUM(file_size) FROM information_schema.innodb_sys_tablespaces WHERE name LIKE '{DATABASE}/%'"
            ),
        };
        let told = administer(address, &asked)?;
        match told.trim() {
            "NULL" => Ok(0),
            told => told
                .parse()
                .with_context(|| format!("no size of a database: {told:?}")),
        }
    }

    /// Processor time of the server so far.
    pub(super) fn server_seconds(&self) -> Result<f64> {
        match self {
            Self::File(..) => Ok(0.0),
            Self::Server(server) => server_time::seconds(server.folder()),
        }
    }
}

fn file_in(folder: &TempDir) -> PathBuf {
    folder.path().join("store.db")
}
