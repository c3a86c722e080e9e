//! Where searches are read from, if not from the store itself: the flags of who does nothing else.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;
use armadex_storage_sql::{Options, SqlStore};
use clap::Args;

use super::StoreFlags;
use super::named;

/// Where searches are read from.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Store")]
pub(crate) struct ReplicaFlags {
    /// A replica of the store that searches are read from: `postgres://...` or `mysql://...`. They are as old as it is, and no list goes back. --store is
    /// not opened then. A password stands in a file, or in the environment: everybody sees it here.
    #[arg(
        long,
        value_name = "URL",
        env = "ARMADEX_READ_STORE",
        hide_env_values = true
    )]
    read_store: Option<String>,
    /// File with the password of the replica's user. Else it is taken from a URL in $ARMADEX_READ_STORE, or from where that of the store is: --store-password-file,
    /// $ARMADEX_STORE_PASSWORD, $PGPASSWORD or $MYSQL_PWD.
    #[arg(long, value_name = "FILE", requires = "read_store")]
    read_store_password_file: Option<PathBuf>,
}

impl ReplicaFlags {
    /// Opens the replica, if one is named, with as many connections as the store would be given.
    pub(crate) async fn open(&self, store: &StoreFlags) -> anyhow::Result<Option<Arc<SqlStore>>> {
        let Some(url) = &self.read_store else {
            return Ok(None);
        };
        let file = self.read_store_password_file.as_deref();
        let location = named::location_of_replica(url, file, store.store_password_file.as_deref())?;
        let mut options = Options::default();
        if let Some(connections) = store.told()?.connections {
            options = options.with_connections(connections);
        }
        let replica = armadex_storage_sql::open_replica(&location, &options)
            .await
            .with_context(|| format!("cannot open --read-store {location}"))?;
        Ok(Some(Arc::new(replica)))
    }
}
