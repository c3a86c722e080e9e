//! Which store: the flag that every process with a data path has.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use armadex_storage_sql::{Location, Options, SqlStore};
use clap::Args;
use tokio::runtime::Handle;

/// Where the copy is kept.
#[derive(Clone, Debug, Args)]
pub(crate) struct StoreFlags {
    /// The store: `sqlite:PATH`. The file is made if it is missing, and its schema is brought up to date.
    #[arg(
        long,
        value_name = "URL",
        default_value = "sqlite:armadex.db",
        env = "ARMADEX_STORE"
    )]
    pub(crate) store: String,
    /// How long versions that were superseded and traces of what was deleted are kept in the store, in seconds, for those who follow changes. 0: not
    /// at all. All processes that write one store should have the same.
    #[arg(long, value_name = "SECONDS", default_value_t = 60 * 60)]
    pub(crate) watch_window: u64,
}

impl StoreFlags {
    /// Where the store is. What is no location may be a URL of another database with a password in it: it is not repeated.
    pub(crate) fn location(&self) -> anyhow::Result<Location> {
        self.store.parse().context("--store")
    }

    /// Opens the store; it serves both traits, and writes on the threads of `writes`.
    pub(crate) async fn open(&self, writes: &Handle) -> anyhow::Result<Arc<SqlStore>> {
        let location = self.location()?;
        let options = Options {
            writes: Some(writes.clone()),
            watch_window: Duration::from_secs(self.watch_window),
            ..Options::default()
        };
        let store = armadex_storage_sql::open_with(&location, &options)
            .await
            .with_context(|| format!("cannot open the store {location}"))?;
        Ok(Arc::new(store))
    }
}
