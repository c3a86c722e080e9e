//! How many statements a count takes. SQLite.

use std::sync::Arc;

use armadex_model::Query;
use armadex_model::label::Requirement;
use armadex_storage::conformance::fixture::all_pods;
use armadex_storage::conformance::{Fixture, object};
use async_trait::async_trait;

use super::*;
use crate::backend::{Connection, Lane, RowSink};
use crate::options::Options;
use crate::read::plan::plan;
use crate::read::reading::Tuning;
use crate::sql::dialect::Dialect;
use crate::sql::statement::Statement;
use crate::store::SqlStore;

/// A connection that counts statements.
struct Counted<'a> {
    connection: &'a mut dyn Connection,
    statements: usize,
}

#[async_trait]
impl Connection for Counted<'_> {
    fn dialect(&self) -> Dialect {
        self.connection.dialect()
    }

    async fn execute(&mut self, statement: Statement) -> Result<u64, StoreError> {
        self.connection.execute(statement).await
    }

    async fn fetch(&mut self, statement: Statement, each: RowSink<'_>) -> Result<(), StoreError> {
        self.statements += 1;
        self.connection.fetch(statement, each).await
    }
}

/// Objects with a label that leads to more blocks than are looked through are added up cluster by cluster, not asked for cluster by cluster.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn counting_a_frequent_label_takes_a_statement_for_many_clusters() {
    const CLUSTERS: usize = 150;
    let directory = tempfile::tempdir().expect("a directory");
    let tuning = Tuning {
        probe: 20,
        ..Tuning::default()
    };
    let options = Options {
        tuning: tuning.clone(),
        ..Options::default()
    };
    let store = SqlStore::sqlite(&directory.path().join("store.db"), &options).await;
    let store = Arc::new(store.expect("a store"));
    let fixture = Fixture::of(&store);
    for cluster in 0..CLUSTERS {
        let pods = fixture.pods_of(&format!("c-{cluster:03}")).await;
        let web = ["a", "b"].map(|name| object("ns", name).label("app", "web"));
        fixture.put(&pods, web).await;
    }
    let web = Query {
        labels: vec![Requirement::is_in("app", ["web"])],
        ..all_pods()
    };
    let mut moment = store.moment(Lane::Search).await.expect("a reader");
    let plan = plan(&web, &moment.snapshot, &store.hasher).expect("a plan");
    let mut counted = Counted {
        connection: &mut *moment.transaction,
        statements: 0,
    };
    let mut reading = Reading::new(&mut counted, store.database.dialect(), &tuning);
    let rows = count(&mut reading, &plan).await.expect("a count");
    let looked_at = reading.looked_at;
    assert_eq!(rows, Some(2 * CLUSTERS as u64));
    assert!(
        looked_at >= 2 * CLUSTERS as u64,
        "each cluster is work: {looked_at}"
    );
    assert!(counted.statements <= 8, "{} statements", counted.statements);
}
