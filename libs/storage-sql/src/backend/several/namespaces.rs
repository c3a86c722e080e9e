//! A namespace whose last object goes while the empty ones are looked for.

use std::sync::Arc;

use armadex_storage::StoreError;
use armadex_storage::conformance::{Writer, object};
use async_trait::async_trait;

use super::place::{Home, fixture_of, wait_until_somebody_waits};
use crate::backend::{Connection, RowSink, row};
use crate::sql::dialect::Dialect;
use crate::sql::namespace;
use crate::sql::statement::Statement;
use crate::store::SqlStore;
use crate::write::purge::sweep_namespaces;

/// A purge beside which another process takes the last object of the namespace, just before the empty ones are noted.
struct Overtaken<'a> {
    purge: &'a mut dyn Connection,
    other: Arc<SqlStore>,
    pods: Writer,
}

#[async_trait]
impl Connection for Overtaken<'_> {
    fn dialect(&self) -> Dialect {
        self.purge.dialect()
    }

    async fn execute(&mut self, statement: Statement) -> Result<u64, StoreError> {
        if statement.name == "ns.note_empty" {
            fixture_of(&self.other)
                .delete(&self.pods, "ns", &["a"])
                .await;
        }
        self.purge.execute(statement).await
    }

    async fn fetch(&mut self, statement: Statement, each: RowSink<'_>) -> Result<(), StoreError> {
        self.purge.fetch(statement, each).await
    }
}

/// The log names it by what was deleted last.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_namespace_that_is_emptied_meanwhile_is_noted_no_earlier_than_the_log_names_it() {
    for place in Home::on_each_server() {
        let (one, other) = (place.store().await, place.store().await);
        let pods = fixture_of(&other).pods_of("m").await;
        fixture_of(&other).put(&pods, [object("ns", "a")]).await;
        let mut purge = one.database.write().await.expect("a transaction");
        let mut overtaken = Overtaken {
            purge: &mut *purge,
            other: Arc::clone(&other),
            pods,
        };
        let swept = sweep_namespaces(&mut overtaken, &mut None, 10).await;
        assert!(swept.expect("swept"));
        purge.commit().await.expect("committed");
        // One revision made the object, another its tombstone.
        assert_eq!(noted(&one).await.1, 2);
    }
}

/// The log and histories name it by what is deleted after that.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_namespace_that_is_filled_again_while_the_empty_ones_are_noted_is_not_noted() {
    for place in Home::on_each_server() {
        let (one, other) = (place.store().await, place.store().await);
        let fixture = fixture_of(&other);
        let pods = fixture.pods_of("m").await;
        fixture.put(&pods, [object("ns", "a")]).await;
        fixture.delete(&pods, "ns", &["a"]).await;
        let nsid = noted(&one).await.0;
        let mut fills = other.database.write().await.expect("a transaction");
        let occupy = namespace::occupy(fills.dialect(), 1, &[nsid]);
        fills.execute(occupy).await.expect("filled");
        let sweeping = tokio::spawn(async move {
            let mut purge = one.database.write().await.expect("a transaction");
            let swept = sweep_namespaces(&mut *purge, &mut None, 10).await;
            purge.commit().await.expect("committed");
            (one, swept)
        });
        wait_until_somebody_waits(&place, &other).await;
        fills.commit().await.expect("filled");
        let (one, swept) = sweeping.await.expect("no panic");
        swept.expect("swept");
        assert_eq!(noted(&one).await.1, 0);
    }
}

/// A namespace, and at which revision it was found empty.
async fn noted(store: &SqlStore) -> (i64, i64) {
    let mut reader = store.database.write().await.expect("a transaction");
    let noted = Statement::fixed("test.emptied", "SELECT nsid, emptied FROM ns", []);
    let noted = row(&mut *reader, noted, |row| Ok((row.int(0)?, row.int(1)?))).await;
    reader.rollback().await.expect("ended");
    noted.expect("read").expect("a namespace")
}
