//! The behaviour suite on SQLite: as it is opened by users, and with budgets of next to nothing, so that every continuation is taken.

use std::sync::Arc;

use armadex_storage::conformance::Fixture;
use armadex_storage_sql::{Options, Portions, SqlStore, Tuning};

mod usual {
    armadex_storage::conformance!(super::empty_store(super::Options::default(), false));
}

mod tiny {
    armadex_storage::conformance!(super::empty_store(super::tiny(), true));
}

fn tiny() -> Options {
    let tuning = Tuning {
        work: 4,
        probe: 3,
        blocks: 2,
        places: 2,
        rows: 3,
        sorted: 2,
        refetched: 6,
        most_sorted: 100_000,
        ties: 2,
        most_skipped: 100_000,
        list: 3,
        lookups: 4,
        named: 4,
        ranges: 4,
        clusters: 2,
        first_places: 2,
        few: 2,
    };
    Options {
        // Every version goes with the one that supersedes it.
        watch_window: std::time::Duration::ZERO,
        label_sample: 4,
        tuning,
        portions: Portions {
            orders: 3,
            changes: 30,
            ids_in_block: 4,
            removed: 2,
        },
        ..Options::default()
    }
}

async fn empty_store(options: Options, tiny: bool) -> Fixture {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("store.db");
    let store = SqlStore::sqlite(&path, &options).await.expect("a store");
    let store = Arc::new(store);
    let audited = Arc::clone(&store);
    let fixture = Fixture::of(&store).audited(move || faults(Arc::clone(&audited)));
    Fixture {
        tiny,
        ..fixture.guarded(directory)
    }
}

async fn faults(store: Arc<SqlStore>) -> Vec<String> {
    store.check().await.expect("a report").faults
}
