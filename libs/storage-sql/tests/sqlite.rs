//! The behaviour suite on SQLite.

use std::sync::Arc;

use armadex_storage::conformance::Fixture;
use armadex_storage_sql::{Options, SqlStore};

armadex_storage::conformance!(empty_store());

async fn empty_store() -> Fixture {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("store.db");
    let store = SqlStore::sqlite(&path, &Options::default())
        .await
        .expect("a store");
    let store = Arc::new(store);
    Fixture {
        sink: Arc::clone(&store) as _,
        search: store,
        guard: Box::new(directory),
    }
}
