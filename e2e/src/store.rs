//! Where Armadex keeps its copy of a fleet: a file in the fleet's folder, or a database on a server that is started for it.

use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::{Context as _, Result, bail};
use armadex_databases::{Database, Engine, Server, Setup};

use crate::folder::Folder;

/// The kind of store of every fleet whose test does not say another.
const VARIABLE: &str = "ARMADEX_E2E_STORE";

/// The kinds of stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreKind {
    /// A file.
    Sqlite,
    /// A database of PostgreSQL.
    Postgres,
    /// A database of MariaDB.
    Mariadb,
}

impl StoreKind {
    /// The one that the environment names; a file if it names none.
    pub fn of_environment() -> Result<Self> {
        let named = std::env::var(VARIABLE).unwrap_or_default();
        Ok(match named.as_str() {
            "" | "sqlite" => Self::Sqlite,
            "postgres" => Self::Postgres,
            "mariadb" => Self::Mariadb,
            other => bail!("${VARIABLE} is {other:?}: expected sqlite, postgres or mariadb"),
        })
    }

    /// Whether there can be one on this machine. If not, it is said that the test was not run.
    pub fn is_there(self) -> Result<bool> {
        let Some(engine) = self.engine() else {
            return Ok(true);
        };
        Ok(Database::for_test(engine)?.is_some())
    }

    fn engine(self) -> Option<Engine> {
        match self {
            Self::Sqlite => None,
            Self::Postgres => Some(Engine::Postgres),
            Self::Mariadb => Some(Engine::Mysql),
        }
    }
}

/// The store of a fleet.
#[derive(Debug)]
pub struct Store {
    arguments: Vec<String>,
    /// Dropped with it, on a server that was named.
    _database: Option<Database>,
    server: Option<Mutex<Server>>,
}

impl Store {
    /// The file in the fleet's folder.
    pub(crate) fn file(folder: &Folder) -> Self {
        Self {
            arguments: vec![format!("--store=sqlite:{}", folder.store().display())],
            _database: None,
            server: None,
        }
    }

    /// A store of this kind, on the server that the environment names for tests, or on one of its own.
    pub(crate) fn start(kind: StoreKind, folder: &Folder) -> Result<Self> {
        let Some(engine) = kind.engine() else {
            return Ok(Self::file(folder));
        };
        let is_named = std::env::var_os(engine.variable()).is_some_and(|url| !url.is_empty());
        let (url, database, server) = match is_named {
            true => {
                let database = Database::for_test(engine)?.context("no server of the name")?;
                (database.url(), Some(database), None)
            }
            false => {
                // One that forgets what it acknowledged when it is killed is another one to a store.
                let setup = Setup {
                    durable: true,
                    ..Setup::default()
                };
                let server = Server::start(engine, &setup)?;
                (server.create("fleet")?, None, Some(Mutex::new(server)))
            }
        };
        Ok(Self {
            arguments: arguments(&url, folder)?,
            _database: database,
            server,
        })
    }

    /// How a process of Armadex is told of it.
    #[must_use]
    pub fn arguments(&self) -> &[String] {
        &self.arguments
    }

    /// The server, if it was started for this fleet alone: to be stopped and paused.
    #[must_use]
    pub fn server(&self) -> Option<MutexGuard<'_, Server>> {
        let server = self.server.as_ref()?;
        Some(server.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The URL without its password, which lies in a file.
fn arguments(url: &str, folder: &Folder) -> Result<Vec<String>> {
    let (scheme, rest) = url.split_once("://").context("no URL")?;
    let (user, place) = rest.split_once('@').context("a URL without a user")?;
    let (user, password) = user.split_once(':').context("a URL without a password")?;
    let path = folder.root().join("state/store-password");
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&path)?;
    writeln!(file, "{password}")?;
    Ok(vec![
        format!("--store={scheme}://{user}@{place}"),
        format!("--store-password-file={}", path.display()),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_told_by_its_file_alone() {
        let place = tempfile::tempdir().expect("a folder");
        let folder = Folder::new(place.path()).expect("a path");
        folder.create().expect("made");
        let told = arguments("mysql://me:hunter2@127.0.0.1:1/fleet", &folder).expect("told");
        assert_eq!(told[0], "--store=mysql://me@127.0.0.1:1/fleet");
        let path = told[1].strip_prefix("--store-password-file=");
        let text = std::fs::read_to_string(path.expect("a file")).expect("readable");
        assert_eq!(text, "hunter2\n");
    }
}
