//! The behaviour suite on SQLite: as it is opened by users, and with budgets of next to nothing, so that every continuation is taken.

#[path = "fixture/audited.rs"]
mod audited;
#[path = "fixture/options.rs"]
mod options;

use std::sync::Arc;

use armadex_storage::conformance::Fixture;
use armadex_storage_sql::{Options, SqlStore};
use audited::audited;
use options::tiny;

mod usual {
    armadex_storage::conformance!(super::empty_store(super::Options::default(), false));
}

mod tiny {
    armadex_storage::conformance!(super::empty_store(super::tiny(), true));
}

async fn empty_store(options: Options, tiny: bool) -> Fixture {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("store.db");
    let store = SqlStore::sqlite(&path, &options).await.expect("a store");
    let store = Arc::new(store);
    Fixture {
        tiny,
        ..audited(&store).guarded(directory)
    }
}
