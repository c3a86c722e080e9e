//! Where Armadex keeps its copy of a fleet: a file in the fleet's folder, or a database on a server that is started for it.

use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
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

/// Where a store is, as a command of Armadex is told.
#[derive(Debug)]
struct StoreUrl {
    /// Without the password.
    url: String,
    /// The file that the password lies in.
    password: Option<PathBuf>,
}

/// The store of a fleet.
#[derive(Debug)]
pub struct Store {
    place: StoreUrl,
    /// Dropped with it, on a server that was named.
    _database: Option<Database>,
    server: Option<Mutex<Server>>,
}

impl Store {
    /// The file in the fleet's folder.
    pub(crate) fn file(folder: &Folder) -> Self {
        let place = StoreUrl {
            url: format!("sqlite:{}", folder.store().display()),
            password: None,
        };
        Self {
            place,
            _database: None,
            server: None,
        }
    }

    /// A database that somebody else keeps, by its URL with a password.
    pub fn at(url: &str, folder: &Folder) -> Result<Self> {
        Ok(Self {
            place: StoreUrl::new(url, folder)?,
            _database: None,
            server: None,
        })
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
            _database: database,
            server,
            ..Self::at(&url, folder)?
        })
    }

    /// How a process of Armadex is told of it.
    #[must_use]
    pub fn arguments(&self) -> Vec<String> {
        let store = format!("--store={}", self.place.url);
        let password = self.place.password_for("store");
        [store].into_iter().chain(password).collect()
    }

    /// How `armadex store copy` is told to copy all of it into another one.
    pub(crate) fn arguments_to_copy(&self, to: &Self) -> Vec<String> {
        let (from, to) = (&self.place, &to.place);
        let copy = [
            "store".into(),
            "copy".into(),
            from.url.clone(),
            to.url.clone(),
        ];
        let passwords = [from.password_for("from"), to.password_for("to")];
        copy.into_iter()
            .chain(passwords.into_iter().flatten())
            .collect()
    }

    /// The server, if it was started for this fleet alone: to be stopped and paused.
    #[must_use]
    pub fn server(&self) -> Option<MutexGuard<'_, Server>> {
        let server = self.server.as_ref()?;
        Some(server.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl StoreUrl {
    /// That of a URL, whose password is written into a file.
    fn new(url: &str, folder: &Folder) -> Result<Self> {
        let (scheme, rest) = url.split_once("://").context("no URL")?;
        let (user, place) = rest.split_once('@').context("a URL without a user")?;
        let (user, password) = user.split_once(':').context("a URL without a password")?;
        let path = folder.store_passwords().join(scheme);
        let mut file = std::fs::OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&path)?;
        writeln!(file, "{password}")?;
        Ok(Self {
            url: format!("{scheme}://{user}@{place}"),
            password: Some(path),
        })
    }

    /// The flag that names the file, of the store that is called so there.
    fn password_for(&self, store: &str) -> Option<String> {
        let path = self.password.as_ref()?;
        Some(format!("--{store}-password-file={}", path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_told_by_its_file_alone() {
        let place = tempfile::tempdir().expect("a folder");
        let folder = Folder::new(place.path()).expect("a path");
        folder.create().expect("made");
        let place = StoreUrl::new("mysql://me:hunter2@127.0.0.1:1/fleet", &folder).expect("told");
        assert_eq!(place.url, "mysql://me@127.0.0.1:1/fleet");
        let flag = place.password_for("store").expect("a password");
        let path = flag.strip_prefix("--store-password-file=");
        let text = std::fs::read_to_string(path.expect("a file")).expect("readable");
        assert_eq!(text, "hunter2\n");
    }
}
