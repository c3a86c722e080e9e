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
    let audited = Arc::clone(&store);
    let audit = move || -> futures::future::BoxFuture<'static, Vec<String>> {
        let store = Arc::clone(&audited);
        Box::pin(async move { store.check().await.expect("a check").faults })
    };
    Fixture {
        sink: Arc::clone(&store) as _,
        search: store,
        audit: Box::new(audit),
        guard: Box::new(directory),
    }
}
