//! Where a store is: `sqlite:PATH`.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use armadex_storage::StoreError;

use crate::backend::sqlite::{SqliteDatabase, migrate_file};
use crate::store::{Options, SqlStore};

/// A store's place, as `--store` takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// A file of this machine.
    Sqlite(PathBuf),
}

/// A text that is no location.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no store: expected sqlite:PATH")]
pub struct InvalidLocation(String);

impl FromStr for Location {
    type Err = InvalidLocation;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.strip_prefix("sqlite:") {
            Some(path) if !path.is_empty() && !path.starts_with(':') => {
                let path = path.strip_prefix("//").unwrap_or(path);
                Ok(Self::Sqlite(path.into()))
            }
            _ => Err(InvalidLocation(text.to_owned())),
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => write!(f, "sqlite:{}", path.display()),
        }
    }
}

/// Opens the store at `url`, which is made if it is not there, and brings its schema up to date.
pub async fn open(url: &str) -> Result<SqlStore, StoreError> {
    open_with(&parse(url)?, &Options::default()).await
}

/// Opens a store with other options than the usual ones.
pub async fn open_with(location: &Location, options: &Options) -> Result<SqlStore, StoreError> {
    match location {
        Location::Sqlite(path) => SqlStore::sqlite(path, options).await,
    }
}

/// Only brings the schema of the store at `url` up to date.
pub async fn migrate(url: &str) -> Result<(), StoreError> {
    match parse(url)? {
        Location::Sqlite(path) => migrate_file(&path, &Options::default()).await,
    }
}

fn parse(url: &str) -> Result<Location, StoreError> {
    url.parse()
        .map_err(|err: InvalidLocation| StoreError::Unsupported {
            what: err.to_string(),
        })
}

impl SqlStore {
    /// Opens a store in a SQLite file.
    pub async fn sqlite(path: &Path, options: &Options) -> Result<Self, StoreError> {
        let database = SqliteDatabase::open(path, options).await?;
        Self::start(Arc::new(database), options).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_is_a_scheme_and_a_path() {
        for (text, path) in [
            ("sqlite:store.db", "store.db"),
            ("sqlite:/var/lib/store.db", "/var/lib/store.db"),
            ("sqlite:///var/lib/store.db", "/var/lib/store.db"),
        ] {
            assert_eq!(text.parse(), Ok(Location::Sqlite(path.into())));
        }
        for text in ["", "store.db", "sqlite:", "sqlite::memory:", "mysql://x"] {
            assert!(text.parse::<Location>().is_err(), "{text}");
        }
    }
}
