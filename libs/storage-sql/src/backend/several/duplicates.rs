//! A row that should not be there.

use armadex_storage::conformance::object;
use armadex_storage::{Change, StoreError};

use super::place::{Home, execute, fixture_of};
use crate::sql::statement::Statement;

/// Nobody else writes it, so no try finds it gone: who waits for that waits for ever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_version_beyond_the_head_is_told_as_damage() {
    for place in Home::on_each_server() {
        let store = place.store().await;
        let fixture = fixture_of(&store);
        let pods = fixture.pods_of("m").await;
        fixture.put(&pods, [object("ns", "a")]).await;
        let stray = "INSERT INTO ver (rev, prev_rev, obj, op, type, nsid, name, dict, terms, body) \
                     SELECT 2, 0, obj, op, type, nsid, name, dict, terms, body FROM ver WHERE rev = 1";
        execute(&store, Statement::fixed("test.stray", stray, [])).await;
        let written = fixture.write(&pods, [Change::Put(object("ns", "b").build())]);
        let refused = written.await.expect_err("refused");
        assert!(matches!(refused, StoreError::Broken { .. }), "{refused:?}");
        let words = refused.to_string();
        assert!(words.contains("armadex store check"), "{words}");
        store.shutdown().await;
    }
}
