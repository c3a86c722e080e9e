//! Where a store is: `sqlite:PATH`.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use armadex_storage::StoreError;

use crate::backend::schema::SchemaStanding;
use crate::backend::sqlite::{SqliteDatabase, look, migrate_file};
use crate::options::Options;
use crate::store::SqlStore;

/// A store's place, as `--store` takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// A file of this machine.
    Sqlite(PathBuf),
}

/// A text that is no location. Of a URL no more than its scheme is kept: the rest may hold a password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no store: expected sqlite:PATH")]
pub struct InvalidLocation(String);

impl InvalidLocation {
    fn new(text: &str) -> Self {
        let shown = match text.split_once("://") {
            Some((scheme, _)) => format!("{scheme}://..."),
            None => text.to_owned(),
        };
        Self(shown)
    }
}

impl FromStr for Location {
    type Err = InvalidLocation;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.strip_prefix("sqlite:") {
            Some(path) if !path.is_empty() && !path.starts_with(':') => {
                let path = path.strip_prefix("//").unwrap_or(path);
                Ok(Self::Sqlite(path.into()))
            }
            _ => Err(InvalidLocation::new(text)),
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

/// Opens a store, which is made if it is not there, and brings its schema up to date.
pub async fn open(location: &Location) -> Result<SqlStore, StoreError> {
    open_with(location, &Options::default()).await
}

/// Opens a store with other options than the usual ones.
pub async fn open_with(location: &Location, options: &Options) -> Result<SqlStore, StoreError> {
    match location {
        Location::Sqlite(path) => SqlStore::sqlite(path, options).await,
    }
}

/// Only brings the schema of a store up to date.
pub async fn migrate(location: &Location) -> Result<(), StoreError> {
    match location {
        Location::Sqlite(path) => migrate_file(path, &Options::default()).await,
    }
}

/// How the schema of a store stands to this binary, without changing it.
pub async fn schema_standing(location: &Location) -> Result<SchemaStanding, StoreError> {
    match location {
        Location::Sqlite(path) => look(path).await,
    }
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

    #[test]
    fn a_password_is_not_repeated() {
        let refused = "postgres://armadex:secret@db/fleet".parse::<Location>();
        let refused = refused.expect_err("no such store yet").to_string();
        assert_eq!(
            refused,
            r#""postgres://..." is no store: expected sqlite:PATH"#
        );
    }
}
